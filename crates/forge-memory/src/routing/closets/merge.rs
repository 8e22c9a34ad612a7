//! Merges an entry that an agent refined with its changed file (D14): values
//! that the text still supports stay, new ones are added.

use std::collections::HashSet;

use super::extract::{overhead, value};
use super::prose::plain;
use super::words;
use super::{Entry, Field, LONGEST_ENTRY};
use crate::document::Document;

/// Merges a refined entry with the one extracted from the new text. Claims that
/// are still in the text are never dropped, not even for length.
pub(super) fn merge(refined: &Entry, fresh: &Entry, document: &Document, name: &str) -> Entry {
    let text = comparable(&plain(document.str(&document.body)));
    let words: HashSet<&str> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let mut out = Entry::default();
    let mut kept = [0; 5];
    for (at, field) in Field::ALL[..5].iter().copied().enumerate() {
        let mut values: Vec<String> = refined
            .values(field)
            .iter()
            .filter(|value| stands(field, value, &text, &words))
            .cloned()
            .collect();
        kept[at] = values.len();
        for value in fresh.values(field) {
            let new = comparable(value);
            let known = values.iter().any(|old| {
                let old = comparable(old);
                old == new || field == Field::Claims && (old.contains(&new) || new.contains(&old))
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
    shorten(&mut out, &kept, name);
    out
}

/// Returns `true` if the text still supports a value.
fn stands(field: Field, value: &str, text: &str, words: &HashSet<&str>) -> bool {
    let wanted = comparable(value);
    if field == Field::Claims || text.contains(&wanted) {
        return text.contains(&wanted);
    }
    if field == Field::Dates {
        let quoted = value.split('"').nth(1).map(comparable);
        return quoted.is_some_and(|words| !words.is_empty() && text.contains(&words))
            || value
                .split(" (")
                .next()
                .is_some_and(|day| text.contains(&comparable(day)));
    }
    let telling: Vec<&str> = wanted
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty() && words::weight(word) > 0.0)
        .collect();
    let there = telling.iter().filter(|word| words.contains(**word)).count();
    !telling.is_empty() && there * 2 >= telling.len()
}

/// Normalizes a claim for comparison: as the extractor writes it, in lower
/// case, without escapes.
fn comparable(text: &str) -> String {
    let written = value(text, Field::Claims).to_lowercase();
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
fn shorten(entry: &mut Entry, kept: &[usize; 5], name: &str) {
    let length = |entry: &Entry| {
        let lines = entry.lines();
        overhead(name)
            + lines
                .iter()
                .map(|line| line.chars().count() + 1)
                .sum::<usize>()
    };
    while length(entry) > LONGEST_ENTRY {
        let longest = |least: &dyn Fn(usize) -> usize| {
            (0..5)
                .filter(|at| entry.values(Field::ALL[*at]).len() > least(*at))
                .max_by_key(|at| entry.written(Field::ALL[*at]).chars().count())
        };
        let claims = Field::Claims as usize;
        let at = longest(&|at| kept[at])
            .or_else(|| longest(&|at| if at == claims { usize::MAX } else { 0 }));
        match at.and_then(|at| entry.values_mut(Field::ALL[at])) {
            Some(values) => values.pop(),
            None => break,
        };
    }
}
