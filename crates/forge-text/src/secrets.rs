//! Finds passwords, keys and tokens in a text so that they are never stored,
//! shown or sent on. It never returns the secret itself, only where it is.
//!
//! One pass looks for what every rule begins with; only there is it tried, and
//! within a bounded window, so that the time is linear in the text. What looks
//! like a placeholder is left alone.

mod assigned;
mod checks;
mod disguise;
pub(crate) mod hints;
mod keys;
mod rules;
#[cfg(test)]
mod tests;
mod tokens;

use std::borrow::Cow;
use std::ops::Range;

pub use disguise::is_unseen;

/// Identifies the rules: a hash of their source, tables and checks alike. An
/// index stores it with the passages from which secrets were removed, and is
/// filled again when it differs. A version number would one day not be raised,
/// and what a new rule finds would stay in every index; the price is that a
/// changed comment also fills indexes again.
pub const RULES: u64 = {
    let mut hash = FNV_BASIS;
    let mut nth = 0;
    while nth < SOURCES.len() {
        let (source, mut at) = (SOURCES[nth].1, 0);
        while at < source.len() {
            hash = (hash ^ source[at] as u64).wrapping_mul(FNV_PRIME);
            at += 1;
        }
        nth += 1;
    }
    hash
};

const FNV_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

/// Every file that decides what is redacted; a test holds it to the folder.
const SOURCES: [(&str, &[u8]); 7] = [
    ("assigned.rs", include_bytes!("secrets/assigned.rs")),
    ("checks.rs", include_bytes!("secrets/checks.rs")),
    ("disguise.rs", include_bytes!("secrets/disguise.rs")),
    ("hints.rs", include_bytes!("secrets/hints.rs")),
    ("keys.rs", include_bytes!("secrets/keys.rs")),
    ("rules.rs", include_bytes!("secrets/rules.rs")),
    ("tokens.rs", include_bytes!("secrets/tokens.rs")),
];

/// A secret in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secret {
    /// The name of the rule, such as `github-token`.
    pub rule: &'static str,
    /// The secret alone, without the name or the quotes around it.
    pub span: Range<usize>,
}

/// Finds every secret, also one that is disguised by invisible characters or
/// escapes; in the order of the text, never overlapping.
pub fn find(text: &str) -> Vec<Secret> {
    found(text, rules::matches)
}

/// Finds secrets as [`find`], in a piece of a longer text: lines that may
/// belong to a key whose first or last line is missing count as well.
pub fn find_in_part(text: &str) -> Vec<Secret> {
    found(text, |text| {
        let mut found = rules::matches(text);
        let pieces = keys::pieces(text).into_iter();
        found.extend(pieces.map(|span| (span, 0, keys::RULE)));
        found
    })
}

fn found(text: &str, find: impl Fn(&str) -> Vec<rules::Found>) -> Vec<Secret> {
    let mut all = find(text);
    if let Some(plain) = disguise::lifted(text) {
        let more = find(&plain.text).into_iter();
        all.extend(more.map(|(span, rank, rule)| (plain.original(&span), rank, rule)));
    }
    merged(all)
}

/// Returns the prefixes of all tokens. Measurements repeat each of them,
/// because the number of prefixes decides how much a scanner works.
pub fn beginnings() -> impl Iterator<Item = &'static str> {
    tokens::prefixes()
}

/// Returns the words and marks that start a search for a secret; see
/// [`beginnings`].
pub fn telling_words() -> impl Iterator<Item = &'static str> {
    rules::hints()
}

/// Merges overlapping matches and names each by its most specific rule.
fn merged(mut found: Vec<rules::Found>) -> Vec<Secret> {
    // Of matches that begin together, the most specific rule comes first.
    found.sort_by_key(|(span, rank, _)| (span.start, *rank));
    let mut merged: Vec<rules::Found> = Vec::new();
    for (span, rank, rule) in found {
        match merged.last_mut() {
            // A token inside a longer value: all of it goes.
            Some((last, last_rank, last_rule)) if span.start < last.end => {
                last.end = last.end.max(span.end);
                if rank < *last_rank {
                    (*last_rank, *last_rule) = (rank, rule);
                }
            }
            _ => merged.push((span, rank, rule)),
        }
    }
    let secret = |(span, _, rule)| Secret { rule, span };
    merged.into_iter().map(secret).collect()
}

/// Redacts each secret as `‹redacted: rule›`; all other bytes stay. Idempotent.
pub fn redact(text: &str) -> Cow<'_, str> {
    let secrets = find(text);
    if secrets.is_empty() {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(replaced(text, &secrets))
    }
}

/// Redacts as [`redact`] and keeps the number of lines, so that line numbers
/// stay valid.
pub fn redact_in_place(text: &str) -> Cow<'_, str> {
    let secrets = find(text);
    if secrets.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut kept = 0;
    for Secret { rule, span } in &secrets {
        clean.push_str(&text[kept..span.start]);
        clean.push_str(&format!("{}{rule}›", rules::PLACEHOLDER));
        let ends = text[span.clone()].matches('\n').count();
        clean.extend(std::iter::repeat_n('\n', ends));
        kept = span.end;
    }
    clean.push_str(&text[kept..]);
    Cow::Owned(clean)
}

/// Replaces the given secrets, which are in text order, by placeholders.
pub(crate) fn replaced(text: &str, secrets: &[Secret]) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut kept = 0;
    for Secret { rule, span } in secrets {
        clean.push_str(&text[kept..span.start]);
        clean.push_str(rules::PLACEHOLDER);
        clean.push_str(rule);
        clean.push('›');
        kept = span.end;
    }
    clean.push_str(&text[kept..]);
    clean
}
