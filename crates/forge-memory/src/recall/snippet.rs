//! Selects which parts of a passage to show: the places that match the query,
//! and the window with most of them.

use std::collections::HashMap;
use std::ops::Range;

use super::ParsedQuestion;
use crate::document::without_heading_anchor;
use crate::index::terms::{TermSplitter, fold_text};

/// Finds the ranges that match terms, prefixes or phrases of the query, in
/// order and without overlap.
pub fn find_matches(text: &str, question: &ParsedQuestion) -> Vec<Range<usize>> {
    matches_of(text, question, &marks(text, question))
}

/// The place of every term of the question in the text, with the number of the
/// term, in order.
pub(super) fn marks(text: &str, question: &ParsedQuestion) -> Vec<(Range<usize>, usize)> {
    let wanted: HashMap<&str, usize> = question.terms.iter().map(String::as_str).zip(0..).collect();
    let mut marks = Vec::new();
    TermSplitter::default().for_each_with_place(text, |place, term| {
        if let Some(at) = wanted.get(term) {
            marks.push((place, *at));
        }
    });
    marks
}

/// The same as [`find_matches`], from the places that [`marks`] found.
pub(super) fn matches_of(
    text: &str,
    question: &ParsedQuestion,
    marks: &[(Range<usize>, usize)],
) -> Vec<Range<usize>> {
    // "a", "is", "of" match everywhere and show nothing, unless they are all
    // of the query.
    let telling = |at: usize| {
        let term = question.terms[at].as_str();
        term.len() > 2 || !term.is_ascii()
    };
    let any = (0..question.terms.len()).any(telling);
    let marks = marks.iter().filter(|it| !any || telling(it.1));
    let mut found: Vec<Range<usize>> = marks.map(|it| trim_word(text, it.0.clone())).collect();
    if !question.prefixes.is_empty() {
        let prefixes: Vec<String> = question.prefixes.iter().map(|p| fold_text(&p.0)).collect();
        TermSplitter::default().for_each_with_place(text, |place, _| {
            let word = fold_text(&text[place.clone()]);
            if prefixes.iter().any(|p| word.starts_with(p.as_str())) {
                found.push(trim_word(text, place));
            }
        });
    }
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

/// The whole sentences, list items or lines of code, of at most `width` bytes
/// together, that match best. Front matter and the headings above the passage,
/// which are shown next to it, are not repeated.
pub fn excerpt(
    text: &str,
    matches: &[Range<usize>],
    headings: &[String],
    width: usize,
) -> Range<usize> {
    let body = headings_end(text, front_matter_end(text), headings);
    let end = text.trim_end().len();
    if end <= body {
        return best_window(text, matches, width);
    }
    if end - body <= width {
        return body..end;
    }
    let units = units(text, body..end);
    let mut best = (0usize, units[0].clone());
    for first in 0..units.len() {
        let start = units[first].start;
        let fits = units[first..]
            .iter()
            .take_while(|it| it.end <= start + width);
        let Some(last) = fits.last() else { continue };
        let inside = |found: &&Range<usize>| start <= found.start && found.end <= last.end;
        let mut words: Vec<String> = Vec::new();
        let mut opens = false;
        for found in matches.iter().filter(inside) {
            opens |= found.start < units[first].end;
            // Forms of one word begin alike.
            let word: String = text[found.clone()].chars().take(STEM_CHARS).collect();
            let word = word.to_lowercase();
            if !words.contains(&word) {
                words.push(word);
            }
        }
        // A snippet begins with a match, and what follows explains it.
        if opens && words.len() > best.0 {
            best = (words.len(), start..last.end);
        }
    }
    let whole = best.0 > 0 || best.1.len() <= width;
    if !whole {
        return best_window(text, matches, width);
    }
    if best.0 == 0 {
        let fits = units.iter().take_while(|it| it.end <= best.1.start + width);
        let range = fits
            .last()
            .map_or(best.1.clone(), |last| best.1.start..last.end);
        return without_open_fence(text, range);
    }
    without_open_fence(text, best.1)
}

/// Leaves out a fence at the end, of which no line of code is shown.
fn without_open_fence(text: &str, range: Range<usize>) -> Range<usize> {
    let shown = &text[range.clone()];
    let last = shown.rfind('\n').map_or(0, |at| at + 1);
    let is_fence = |line: &str| line.trim_start().starts_with("```");
    let is_open = shown.lines().filter(|line| is_fence(line)).count() % 2 == 1;
    if last > 0 && is_open && is_fence(&shown[last..]) {
        range.start..range.start + shown[..last].trim_end().len()
    } else {
        range
    }
}

const STEM_CHARS: usize = 5;

/// Returns the end of the leading headings that are in `headings`.
fn headings_end(text: &str, body: usize, headings: &[String]) -> usize {
    let mut at = body;
    loop {
        let line = text[at..].split_inclusive('\n').next().unwrap_or_default();
        let content = line.trim();
        let title = content.trim_matches('#').trim();
        let title = without_heading_anchor(title);
        let is_known = content.starts_with('#') && headings.iter().any(|it| it == title);
        if line.is_empty() || !(content.is_empty() || is_known) {
            return at;
        }
        at += line.len();
    }
}

/// Sentences, list items, rows and lines of code, each without the white space
/// around it.
fn units(text: &str, range: Range<usize>) -> Vec<Range<usize>> {
    let mut cuts = Vec::new();
    let mut in_fence = false;
    let mut at = range.start;
    for line in text[range.clone()].split_inclusive('\n') {
        let content = line.trim();
        let is_fence = content.starts_with("```") || content.starts_with("~~~");
        let marker = content.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_item = content.starts_with(['-', '*', '+', '#', '|', '>'])
            || marker.len() < content.len() && marker.starts_with(['.', ')']);
        if in_fence || is_fence || is_item || content.is_empty() {
            cuts.push(at);
        }
        if content.starts_with('#') && !in_fence {
            cuts.push(at + line.len());
        }
        if is_fence {
            in_fence = !in_fence;
        } else if !in_fence {
            sentence_ends(line, |end| cuts.push(at + end));
        }
        at += line.len();
    }
    cuts.push(range.end);
    let mut units = Vec::new();
    let mut start = range.start;
    for cut in cuts {
        let cut = cut.min(range.end);
        let part = &text[start..cut.max(start)];
        if !part.trim().is_empty() {
            let from = start + part.len() - part.trim_start().len();
            units.push(from..start + part.trim_end().len());
        }
        start = cut.max(start);
    }
    units
}

/// Calls `each` with the end of every sentence that ends in a line. "e.g. this"
/// is not an end, since the next word begins with a small letter.
fn sentence_ends(line: &str, mut each: impl FnMut(usize)) {
    let mut rest = line.char_indices().peekable();
    while let Some((at, c)) = rest.next() {
        if matches!(c, '。' | '！' | '？') {
            each(at + c.len_utf8());
        }
        let is_end = matches!(c, '.' | '!' | '?')
            && rest.peek().is_none_or(|(_, next)| next.is_whitespace());
        // `2. ` before an item is a number and not a sentence.
        let is_number = line[..at].trim().bytes().all(|b| b.is_ascii_digit());
        if is_end && !is_number {
            let after = line[at + 1..].trim_start().chars().next();
            if after.is_none_or(|next| !next.is_lowercase()) {
                each(at + 1);
            }
        }
    }
}

/// Returns the end of a leading front matter.
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
    fn an_excerpt_has_whole_sentences_about_the_match() {
        let filler = "Nothing of interest is written in this sentence. ".repeat(12);
        let text = format!(
            "## Limits\n\n{filler}The limit, e.g. for uploads, is\nnine megabytes. {filler}"
        );
        let m = find_matches(&text, &ParsedQuestion::read("upload limit"));
        let shown = &text[excerpt(&text, &m, &["Guide".into(), "Limits".into()], 120)];
        assert_eq!(
            shown,
            "The limit, e.g. for uploads, is\nnine megabytes. \
             Nothing of interest is written in this sentence."
        );
    }

    #[test]
    fn an_excerpt_does_not_repeat_the_heading() {
        let text = "---\ntitle: x\n---\n\n# Guide\n\n## Limits ##\n\nNine.\n\n### More\n";
        let known = ["Guide".to_owned(), "Limits".to_owned()];
        assert_eq!(&text[excerpt(text, &[], &known, 200)], "Nine.\n\n### More");
        // A passage of nothing but its heading shows it.
        let alone = "# Guide\n";
        assert_eq!(&alone[excerpt(alone, &[], &known, 200)], "# Guide\n");
    }

    #[test]
    fn an_excerpt_keeps_items_and_code_whole() {
        let text = format!(
            "{}- one needle\n- two needle haystack\n\n```\nlet needle = 1;\n```\n",
            "- item without it\n".repeat(30)
        );
        let m = find_matches(&text, &ParsedQuestion::read("needle haystack"));
        assert_eq!(&text[excerpt(&text, &m, &[], 30)], "- two needle haystack");
    }

    #[test]
    fn an_excerpt_is_never_longer_than_asked_and_never_cuts_a_character() {
        let text = format!("# Ü\n\n{}. Ja! {}", "é".repeat(300), "ü ".repeat(200));
        let m = find_matches(&text, &ParsedQuestion::read("ja ü"));
        for width in 1..90 {
            let range = excerpt(&text, &m, &[], width);
            assert!(range.len() <= width.max(4), "{width}: {range:?}");
            assert!(text.get(range).is_some());
        }
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
