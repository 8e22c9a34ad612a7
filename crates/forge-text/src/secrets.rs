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
pub const RULES_HASH: u64 = {
    let mut hash = FNV_BASIS;
    let mut nth = 0;
    while nth < RULE_SOURCES.len() {
        let (source, mut at) = (RULE_SOURCES[nth].1, 0);
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
const RULE_SOURCES: [(&str, &[u8]); 7] = [
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
pub struct SecretSpan {
    /// The name of the rule, such as `github-token`.
    pub rule: &'static str,
    /// The secret alone, without the name or the quotes around it.
    pub span: Range<usize>,
}

/// Finds every secret, also one that is disguised by invisible characters or
/// escapes; in the order of the text, never overlapping.
pub fn find_secrets(text: &str) -> Vec<SecretSpan> {
    find_with_disguise(text, rules::match_rules)
}

/// Finds secrets as [`find_secrets`], in a piece of a longer text: lines that may
/// belong to a key whose first or last line is missing count as well.
pub fn find_secrets_in_part(text: &str) -> Vec<SecretSpan> {
    find_with_disguise(text, |text| {
        let mut found = rules::match_rules(text);
        let pieces = keys::find_key_pieces(text).into_iter();
        found.extend(pieces.map(|span| (span, 0, keys::PRIVATE_KEY_RULE)));
        found
    })
}

fn find_with_disguise(
    text: &str,
    find: impl Fn(&str) -> Vec<rules::RankedMatch>,
) -> Vec<SecretSpan> {
    let mut all = find(text);
    if let Some(plain) = disguise::remove_disguise(text) {
        let more = find(&plain.text).into_iter();
        all.extend(more.map(|(span, rank, rule)| (plain.original_span(&span), rank, rule)));
    }
    merge_overlaps(all)
}

/// Returns the prefixes of all tokens. Measurements repeat each of them,
/// because the number of prefixes decides how much a scanner works.
pub fn token_prefixes() -> impl Iterator<Item = &'static str> {
    tokens::all_prefixes()
}

/// Returns the words and marks that start a search for a secret; see
/// [`token_prefixes`].
pub fn hint_words() -> impl Iterator<Item = &'static str> {
    rules::all_hints()
}

/// Merges overlapping matches and names each by its most specific rule.
fn merge_overlaps(mut found: Vec<rules::RankedMatch>) -> Vec<SecretSpan> {
    // Of matches that begin together, the most specific rule comes first.
    found.sort_by_key(|(span, rank, _)| (span.start, *rank));
    let mut merged: Vec<rules::RankedMatch> = Vec::new();
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
    let secret = |(span, _, rule)| SecretSpan { rule, span };
    merged.into_iter().map(secret).collect()
}

/// Redacts each secret as `‹redacted: rule›`; all other bytes stay. Idempotent.
pub fn redact_secrets(text: &str) -> Cow<'_, str> {
    let secrets = find_secrets(text);
    if secrets.is_empty() {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(replace_secrets(text, &secrets))
    }
}

/// Redacts as [`redact_secrets`] and keeps the number of lines, so that line numbers
/// stay valid.
pub fn redact_keeping_lines(text: &str) -> Cow<'_, str> {
    let secrets = find_secrets(text);
    if secrets.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut kept = 0;
    for SecretSpan { rule, span } in &secrets {
        clean.push_str(&text[kept..span.start]);
        clean.push_str(&format!("{}{rule}›", rules::PLACEHOLDER_PREFIX));
        let ends = text[span.clone()].matches('\n').count();
        clean.extend(std::iter::repeat_n('\n', ends));
        kept = span.end;
    }
    clean.push_str(&text[kept..]);
    Cow::Owned(clean)
}

/// Replaces the given secrets, which are in text order, by placeholders.
pub(crate) fn replace_secrets(text: &str, secrets: &[SecretSpan]) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut kept = 0;
    for SecretSpan { rule, span } in secrets {
        clean.push_str(&text[kept..span.start]);
        clean.push_str(rules::PLACEHOLDER_PREFIX);
        clean.push_str(rule);
        clean.push('›');
        kept = span.end;
    }
    clean.push_str(&text[kept..]);
    clean
}
