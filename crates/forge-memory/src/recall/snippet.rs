//! Selects which parts of a passage to show: the places that match the query,
//! and the window with most of them.

use std::collections::HashSet;
use std::ops::Range;

use super::ParsedQuestion;
use crate::index::terms::{TermSplitter, fold_text};

/// Finds the ranges that match terms, prefixes or phrases of the query, in
/// order and without overlap.
pub fn find_matches(text: &str, question: &ParsedQuestion) -> Vec<Range<usize>> {
    // "a", "is", "of" match everywhere and show nothing, unless the query has
    // nothing else.
    let telling = |term: &&str| term.len() > 2 || !term.is_ascii();
    let all = question.terms.iter().map(String::as_str);
    let mut wanted: HashSet<&str> = all.clone().filter(telling).collect();
    if wanted.is_empty() {
        wanted.extend(all);
    }
    let prefixes: Vec<String> = question.prefixes.iter().map(|p| fold_text(&p.0)).collect();
    let mut found: Vec<Range<usize>> = Vec::new();
    TermSplitter::default().for_each_with_place(text, |place, term| {
        let hit = wanted.contains(term)
            || (!prefixes.is_empty() && {
                let word = fold_text(&text[place.clone()]);
                prefixes.iter().any(|p| word.starts_with(p.as_str()))
            });
        if hit {
            found.push(trim_word(text, place));
        }
    });
    found.sort_by_key(|r| (r.start, r.end));
    let mut merged: Vec<Range<usize>> = Vec::new();
    for range in found {
        match merged.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// Trims punctuation around a word; a flag keeps its dashes.
fn trim_word(text: &str, place: Range<usize>) -> Range<usize> {
    let word = text[place.clone()].trim_end_matches(|c: char| !c.is_alphanumeric());
    let inner = word.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '-');
    let end = place.start + word.len();
    end - inner.len()..end
}

/// Returns the part of at most `width` bytes with most matches, cut at line
/// ends or between words.
pub fn best_window(text: &str, matches: &[Range<usize>], width: usize) -> Range<usize> {
    let body = front_matter_end(text);
    if text.len() - body <= width {
        return body..text.len();
    }
    // Show front matter only if nothing else matches.
    let in_body = matches.partition_point(|m| m.start < body);
    let matches = if in_body < matches.len() {
        &matches[in_body..]
    } else {
        matches
    };
    let best = (0..matches.len())
        // A quarter of the width is reserved for context before the match.
        .max_by_key(|first| {
            let start = matches[*first].start;
            let held = matches[*first..]
                .iter()
                .take_while(|m| m.end <= start + width * 3 / 4)
                .count();
            (held, std::cmp::Reverse(*first))
        })
        .map_or(body, |first| matches[first].start);
    // Include some text before the first match for context.
    let start = floor_boundary(text, best.saturating_sub(width / 4));
    let start = match text[start..best.max(start)].rfind('\n') {
        Some(line) if best - (start + line) < width / 2 => start + line + 1,
        _ => word_start(text, start),
    };
    let end = floor_boundary(text, (start + width).min(text.len()));
    let end = if end == text.len() {
        end
    } else {
        word_end(text, start, end)
    };
    start..end
}

/// Returns the offset after leading front matter.
fn front_matter_end(text: &str) -> usize {
    let Some(rest) = text.strip_prefix("---\n") else {
        return 0;
    };
    match rest.find("\n---\n") {
        Some(end) => text.len() - rest[end + 5..].trim_start_matches('\n').len(),
        None => 0,
    }
}

fn floor_boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn word_start(text: &str, at: usize) -> usize {
    if at == 0 {
        return 0;
    }
    text[at..]
        .char_indices()
        .take(40)
        .find(|(_, c)| c.is_whitespace())
        .map_or(at, |(i, c)| at + i + c.len_utf8())
}

fn word_end(text: &str, start: usize, end: usize) -> usize {
    text[start..end]
        .char_indices()
        .rev()
        .take(40)
        .find(|(_, c)| c.is_whitespace())
        .map_or(end, |(i, _)| start + i)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matched_words_are_marked_whatever_their_form() {
        let text = "We retry payments. Retries use `retry_policy`.";
        let found: Vec<&str> = find_matches(text, &ParsedQuestion::read("retrying"))
            .into_iter()
            .map(|r| &text[r])
            .collect();
        assert_eq!(found, ["retry", "Retries", "retry_policy"]);
    }

    #[test]
    fn the_window_holds_the_matches() {
        let text = format!(
            "{} the needle is here {}",
            "hay ".repeat(200),
            "straw ".repeat(200)
        );
        let m = find_matches(&text, &ParsedQuestion::read("needle"));
        let w = best_window(&text, &m, 120);
        assert!(text[w.clone()].contains("needle"), "{:?}", &text[w]);
        assert!(w.len() <= 120);
    }

    #[test]
    fn front_matter_is_not_what_is_shown() {
        let text = "---\ntitle: Needle\n---\n\n# Needle\n\nIt is here.\n";
        let m = find_matches(text, &ParsedQuestion::read("needle"));
        assert_eq!(
            &text[best_window(text, &m, 200)],
            "# Needle\n\nIt is here.\n"
        );
        assert_eq!(&text[best_window(text, &m, 12)], "# Needle\n");
    }

    #[test]
    fn a_window_never_cuts_a_character() {
        let text = "é".repeat(500);
        for width in 1..60 {
            let w = best_window(&text, &[], width);
            assert!(text.get(w).is_some());
        }
    }
}
