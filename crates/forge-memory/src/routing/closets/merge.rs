//! An entry that an agent refined, after its file changed (D14): what the text
//! still bears out stays, what is new joins it.

use std::collections::HashSet;

use super::extract::{overhead, value};
use super::prose::plain;
use super::words;
use super::{Entry, Field, LONGEST_ENTRY};
use crate::document::Document;

/// The refined entry brought up to date with what was extracted from the new
/// text. Claims that the text still has are never dropped, not even for length.
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
    // The extractor says `active` where the file says nothing.
    out.status = match fresh.status.as_str() {
        "active" if !refined.status.is_empty() => refined.status.clone(),
        _ => fresh.status.clone(),
    };
    shorten(&mut out, &kept, name);
    out
}

/// Whether the text still says what a value says.
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

/// Text in the form in which claims are compared: as the extractor would write
/// it, in small letters, without escapes.
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

/// New values go first, then an agent's, claims last and never those that the
/// text has.
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
