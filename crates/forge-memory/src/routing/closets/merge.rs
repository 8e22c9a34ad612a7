//! Merges an entry that an agent refined with its changed file (D14): values
//! that the text still supports stay, new ones are added.

use std::collections::HashSet;

use super::extract::{clean_value, entry_overhead};
use super::prose::plain_text;
use super::words;
use super::{ClosetEntry, ClosetField, MAX_ENTRY_CHARS};
use crate::document::Document;

/// Merges a refined entry with the one extracted from the new text. Claims that
/// are still in the text are never dropped, not even for length.
pub(super) fn merge_refined(
    refined: &ClosetEntry,
    fresh: &ClosetEntry,
    document: &Document,
    name: &str,
) -> ClosetEntry {
    let text = normalize_claim(&plain_text(document.span_text(&document.body)));
    let words: HashSet<&str> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let mut out = ClosetEntry::default();
    let mut kept = [0; 5];
    for (at, field) in ClosetField::ALL[..5].iter().copied().enumerate() {
        let mut values: Vec<String> = refined
            .values(field)
            .iter()
            .filter(|value| is_still_stated(field, value, &text, &words))
            .cloned()
            .collect();
        kept[at] = values.len();
        for value in fresh.values(field) {
            let new = normalize_claim(value);
            let known = values.iter().any(|old| {
                let old = normalize_claim(old);
                old == new
                    || field == ClosetField::Claims && (old.contains(&new) || new.contains(&old))
            });
            if !known {
                values.push(value.clone());
            }
        }
        if let Some(list) = out.values_mut(field) {
            *list = values;
        }
    }
    // `active` is the extractor's default for a file that states no status.
    out.status = match fresh.status.as_str() {
        "active" if !refined.status.is_empty() => refined.status.clone(),
        _ => fresh.status.clone(),
    };
    shorten_merged(&mut out, &kept, name);
    out
}

/// Returns `true` if the text still supports a value.
fn is_still_stated(field: ClosetField, value: &str, text: &str, words: &HashSet<&str>) -> bool {
    let wanted = normalize_claim(value);
    if field == ClosetField::Claims || text.contains(&wanted) {
        return text.contains(&wanted);
    }
    if field == ClosetField::Dates {
        let quoted = value.split('"').nth(1).map(normalize_claim);
        return quoted.is_some_and(|words| !words.is_empty() && text.contains(&words))
            || value
                .split(" (")
                .next()
                .is_some_and(|day| text.contains(&normalize_claim(day)));
    }
    let telling: Vec<&str> = wanted
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty() && words::word_weight(word) > 0.0)
        .collect();
    let there = telling.iter().filter(|word| words.contains(**word)).count();
    !telling.is_empty() && there * 2 >= telling.len()
}

/// Normalizes a claim for comparison: as the extractor writes it, in lower
/// case, without escapes.
fn normalize_claim(text: &str) -> String {
    let written = clean_value(text, ClosetField::Claims).to_lowercase();
    let mut out = String::with_capacity(written.len());
    let mut chars = written.chars().peekable();
    while let Some(c) = chars.next() {
        let escapes = c == '\\' && chars.peek().is_some_and(char::is_ascii_punctuation);
        if !escapes {
            out.push(c);
        }
    }
    out.trim().to_owned()
}

/// Removes values while an entry is too long: new ones first, then an agent's;
/// claims that are in the text are never removed.
fn shorten_merged(entry: &mut ClosetEntry, kept: &[usize; 5], name: &str) {
    let length = |entry: &ClosetEntry| {
        let lines = entry.render_lines();
        entry_overhead(name)
            + lines
                .iter()
                .map(|line| line.chars().count() + 1)
                .sum::<usize>()
    };
    while length(entry) > MAX_ENTRY_CHARS {
        let longest = |least: &dyn Fn(usize) -> usize| {
            (0..5)
                .filter(|at| entry.values(ClosetField::ALL[*at]).len() > least(*at))
                .max_by_key(|at| entry.render_field(ClosetField::ALL[*at]).chars().count())
        };
        let claims = ClosetField::Claims as usize;
        let at = longest(&|at| kept[at])
            .or_else(|| longest(&|at| if at == claims { usize::MAX } else { 0 }));
        match at.and_then(|at| entry.values_mut(ClosetField::ALL[at])) {
            Some(values) => values.pop(),
            None => break,
        };
    }
}
