//! Finds passwords, keys and tokens in a text so that they are never stored,
//! shown or sent on. It never returns the secret itself, only where it is.
//!
//! One pass looks for the literal that every rule begins with; only there is a
//! pattern tried, anchored and within a bounded window, so that the time is
//! linear in the text. What looks like a placeholder is left alone.

pub(crate) mod hints;
mod rules;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::Range;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secret {
    /// The name of the rule, such as `github-token`.
    pub rule: &'static str,
    /// The secret alone, without the name or the quotes around it.
    pub span: Range<usize>,
}

/// In the order of the text, never overlapping.
pub fn find(text: &str) -> Vec<Secret> {
    merged(rules::matches(text))
}

/// As [`find`], in a piece of a longer text: lines that may belong to a key
/// whose first or last line is not in it count as well.
pub fn find_in_part(text: &str) -> Vec<Secret> {
    let mut found = rules::matches(text);
    found.extend(rules::pieces_of_keys(text));
    merged(found)
}

/// Each place once. The index of the rule goes along: earlier rules are more
/// specific.
fn merged(mut found: Vec<(Range<usize>, usize)>) -> Vec<Secret> {
    found.sort_by_key(|(span, rule)| (span.start, *rule));
    let mut merged: Vec<(Range<usize>, usize)> = Vec::new();
    for (span, rule) in found {
        match merged.last_mut() {
            // A token inside a longer value: all of it goes, under the more
            // telling name.
            Some((last, last_rule)) if span.start < last.end => {
                last.end = last.end.max(span.end);
                *last_rule = rule.min(*last_rule);
            }
            _ => merged.push((span, rule)),
        }
    }
    merged
        .into_iter()
        .map(|(span, rule)| Secret {
            rule: rules::RULES[rule].name,
            span,
        })
        .collect()
}

/// Each secret as `‹redacted: rule›`, everything else byte for byte. Doing it
/// twice changes nothing more.
pub fn redact(text: &str) -> Cow<'_, str> {
    let secrets = find(text);
    match secrets.is_empty() {
        true => Cow::Borrowed(text),
        false => Cow::Owned(replaced(text, &secrets)),
    }
}

/// The text with these secrets of it, in their order, as placeholders.
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
