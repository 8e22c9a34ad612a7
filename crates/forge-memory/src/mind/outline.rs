//! Cuts a very long file down to the parts that a hook needs, found by line
//! starts alone.
//!
//! A hook has a few milliseconds. Parsing a megabyte of Markdown takes longer,
//! and so does a scan for credentials. So a long text is first cut to the
//! sections that matter; what is left is redacted for an agent that did not
//! request it, and then parsed. Never used by writers.

use std::borrow::Cow;
use std::ops::Range;

use crate::quote;

/// Size in bytes up to which a text is read whole.
const MAX_WHOLE_TEXT_BYTES: usize = 24 << 10;
/// Maximum bytes kept of one section, and of all sections together.
const MAX_SECTION_BYTES: usize = 6 << 10;
const MAX_OUTLINE_BYTES: usize = 24 << 10;
/// Bytes kept of the two ends of a log, and of one long line.
const LOG_HEAD_BYTES: usize = 12 << 10;
const LOG_TAIL_BYTES: usize = 12 << 10;
const MAX_LINE_BYTES: usize = 1 << 10;

/// Returns `true` if only parts of a text are read.
pub(crate) fn is_long(text: &str) -> bool {
    text.len() > MAX_WHOLE_TEXT_BYTES
}

/// Redacts what [`outline_sections`] and [`outline_ends`] keep.
fn redact_outline(kept: Cow<'_, str>) -> String {
    match kept {
        Cow::Borrowed(whole) => quote::sanitize_unrequested(whole).into_owned(),
        Cow::Owned(part) => match quote::sanitize_unrequested_part(&part) {
            Cow::Borrowed(_) => part,
            Cow::Owned(sanitized) => sanitized,
        },
    }
}

/// Returns the sections whose level and lower-case title are `wanted`, each cut
/// to a fair share, so that a long one does not displace those after it.
pub(super) fn outline_sections(text: &str, wanted: impl FnMut(usize, &str) -> bool) -> String {
    redact_outline(cut_to_sections(text, wanted))
}

/// Returns the beginning and the end of a log, cut between entries.
pub(super) fn outline_ends(text: &str) -> String {
    redact_outline(cut_to_ends(text))
}

fn cut_to_sections(text: &str, mut wanted: impl FnMut(usize, &str) -> bool) -> Cow<'_, str> {
    if !is_long(text) {
        return Cow::Borrowed(text);
    }
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut open = false;
    for at in heading_offsets(text) {
        if let Some(range) = found.last_mut().filter(|_| open) {
            range.end = at;
        }
        let line = text[at..].lines().next().unwrap_or("");
        let title = line.trim_start_matches('#');
        open = wanted(line.len() - title.len(), &title.trim().to_lowercase());
        if open {
            found.push(at..text.len());
        }
    }
    let room = MAX_SECTION_BYTES.min(fair_share(found.iter().map(Range::len).collect()));
    let mut out = String::with_capacity(MAX_OUTLINE_BYTES);
    for range in found {
        out.push_str(truncate_to_lines(&text[range], room));
        close_open_block(&mut out);
    }
    Cow::Owned(out)
}

/// Computes the size limit per section so that all fit: room that short
/// sections do not need goes to longer ones.
fn fair_share(mut sizes: Vec<usize>) -> usize {
    sizes.sort_unstable();
    let (mut left, count) = (MAX_OUTLINE_BYTES, sizes.len());
    for (before, size) in sizes.into_iter().enumerate() {
        let fair = left / (count - before);
        if size > fair {
            return fair;
        }
        left -= size;
    }
    MAX_OUTLINE_BYTES
}

fn cut_to_ends(text: &str) -> Cow<'_, str> {
    if !is_long(text) {
        return Cow::Borrowed(text);
    }
    let mut out = truncate_to_lines(text, LOG_HEAD_BYTES).to_owned();
    let head = out.len();
    close_open_block(&mut out);
    // The entry with which the tail begins; the last entry may be longer than
    // the tail.
    let mut from = None;
    for at in heading_offsets(text).filter(|at| *at >= head) {
        from = Some(at);
        if at >= text.len() - LOG_TAIL_BYTES {
            break;
        }
    }
    let from = from.unwrap_or_else(|| {
        // Everything after the head belongs to one entry. The beginning of a
        // very long line is kept, because it states the topic.
        let from = next_line_start(text, text.len() - LOG_TAIL_BYTES).max(head);
        let line = text[head..from].lines().next().unwrap_or_default();
        if line.len() > MAX_LINE_BYTES {
            out.push_str(truncate_to_lines(line, MAX_LINE_BYTES));
            out.push_str(" […]\n");
        }
        from
    });
    out.push('\n');
    out.push_str(truncate_to_lines(&text[from..], LOG_TAIL_BYTES));
    Cow::Owned(out)
}

/// Closes a fence or comment that a cut left open; it would swallow the text
/// after it.
fn close_open_block(text: &mut String) {
    let fence = find_open_fence(text);
    let comment = text.rfind("<!--") > text.rfind("-->");
    if !text.ends_with('\n') {
        text.push('\n');
    }
    if let Some((mark, length)) = fence {
        text.extend(std::iter::repeat_n(char::from(mark), length));
        text.push('\n');
    } else if comment {
        text.push_str("-->\n");
    }
}

/// Finds the start offsets of headings at the left edge, outside fences and
/// comments. It goes from one mark that could begin any of these to the next,
/// because a hook has no time to look at every line of a long file.
fn heading_offsets(text: &str) -> impl Iterator<Item = usize> + '_ {
    let bytes = text.as_bytes();
    let mut at = 0;
    // Both are kept until they are passed: looking for one again behind each of
    // the other would take the square of the length.
    let next_mark = |at: usize| Some(at + memchr::memchr3(b'#', b'`', b'~', bytes.get(at..)?)?);
    let next_bracket = |at: usize| Some(at + memchr::memchr(b'<', bytes.get(at..)?)?);
    let (mut mark, mut bracket) = (next_mark(0), next_bracket(0));
    std::iter::from_fn(move || {
        loop {
            if mark.is_some_and(|it| it < at) {
                mark = next_mark(at);
            }
            if bracket.is_some_and(|it| it < at) {
                bracket = next_bracket(at);
            }
            let here = mark.into_iter().chain(bracket).min()?;
            at = here + 1;
            match bytes[here] {
                b'#' if is_line_start(bytes, here) && is_heading_line(&bytes[here..]) => {
                    return Some(here);
                }
                b'<' if is_line_start(bytes, here) && bytes[here..].starts_with(b"<!--") => {
                    let close = memchr::memmem::find(&bytes[here..], b"-->")?;
                    at = line_end(bytes, here + close);
                }
                mark @ (b'`' | b'~') => {
                    let indent = bytes[..here].iter().rev().take(3);
                    let start = here - indent.take_while(|byte| **byte == b' ').count();
                    if !is_line_start(bytes, start) {
                        continue;
                    }
                    let run = fence_run(&bytes[start..], mark);
                    if run >= 3 {
                        at = fence_end(bytes, here, (mark, run))?;
                    }
                }
                _ => {}
            }
        }
    })
}

fn is_line_start(bytes: &[u8], at: usize) -> bool {
    at == 0 || bytes[at - 1] == b'\n'
}

/// Returns the end of the line at an offset, line end excluded.
fn line_end(bytes: &[u8], at: usize) -> usize {
    memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |it| at + it)
}

/// Returns the end of the line that closes a fence; `at` is in the line that
/// opens it.
fn fence_end(bytes: &[u8], at: usize, (mark, length): (u8, usize)) -> Option<usize> {
    let mut end = line_end(bytes, at);
    while end < bytes.len() {
        let start = end + 1;
        end = line_end(bytes, start);
        let line = &bytes[start..end];
        let is_bare = line.trim_ascii().iter().all(|byte| *byte == mark);
        if is_bare && fence_run(line, mark) >= length {
            return Some(end);
        }
    }
    None
}

fn is_heading_line(line: &[u8]) -> bool {
    let level = line.iter().take_while(|b| **b == b'#').count();
    level <= 6 && matches!(line.get(level), None | Some(b' ' | b'\t' | b'\n' | b'\r'))
}

/// Counts the fence marks at the start of a line, after at most three spaces.
fn fence_run(line: &[u8], mark: u8) -> usize {
    let indent = line.iter().take_while(|b| **b == b' ').count();
    match indent {
        0..=3 => line[indent..].iter().take_while(|b| **b == mark).count(),
        _ => 0,
    }
}

/// Returns the mark and length of a fence that a text leaves open.
fn find_open_fence(text: &str) -> Option<(u8, usize)> {
    let mut fence: Option<(u8, usize)> = None;
    for line in text.lines() {
        let line = line.as_bytes();
        match fence {
            Some((mark, length)) => {
                if fence_run(line, mark) >= length && line.trim_ascii().iter().all(|b| *b == mark) {
                    fence = None;
                }
            }
            None => {
                fence = [b'`', b'~']
                    .into_iter()
                    .map(|mark| (mark, fence_run(line, mark)))
                    .find(|(_, run)| *run >= 3);
            }
        }
    }
    fence
}

/// Returns the whole lines that fit into `most` bytes, or the beginning of a
/// longer line, cut between words: a truncated key would escape redaction.
fn truncate_to_lines(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    match memchr::memrchr(b'\n', &text.as_bytes()[..most]) {
        Some(end) if end * 2 > most => &text[..end + 1],
        _ => {
            let end = text.floor_char_boundary(most);
            let word = text[..end].rfind(char::is_whitespace);
            &text[..word.filter(|at| at * 2 > most).unwrap_or(end)]
        }
    }
}

/// Returns the first line start at or after an offset.
fn next_line_start(text: &str, at: usize) -> usize {
    memchr::memchr(b'\n', &text.as_bytes()[at..]).map_or(text.len(), |end| at + end + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Looks at every line, where [`heading_offsets`] skips most.
    fn headings_line_by_line(text: &str) -> Vec<usize> {
        let (mut found, mut at) = (Vec::new(), 0);
        let (mut fence, mut comment) = (None::<(u8, usize)>, false);
        for whole in text.split_inclusive('\n') {
            let line = whole.trim_end_matches('\n').as_bytes();
            if let Some((mark, length)) = fence {
                let is_bare = line.trim_ascii().iter().all(|byte| *byte == mark);
                if is_bare && fence_run(line, mark) >= length {
                    fence = None;
                }
            } else if comment || line.starts_with(b"<!--") {
                comment = memchr::memmem::find(line, b"-->").is_none();
            } else if line.starts_with(b"#") && is_heading_line(line) {
                found.push(at);
            } else {
                let runs = [b'`', b'~'].map(|mark| (mark, fence_run(line, mark)));
                fence = runs.into_iter().find(|(_, run)| *run >= 3);
            }
            at += whole.len();
        }
        found
    }

    proptest! {
        #[test]
        fn skipping_lines_finds_the_same_headings(
            parts in proptest::collection::vec(
                prop_oneof![
                    Just("#"), Just("## "), Just("```"), Just("~~~~"), Just("`"), Just(" "),
                    Just("   "), Just("<!--"), Just("-->"), Just("<"), Just("-"), Just("x é"),
                    Just("\n"), Just("\n"), Just("\r\n"),
                ],
                0..60,
            ),
        ) {
            let text = parts.concat();
            let found: Vec<usize> = heading_offsets(&text).collect();
            prop_assert_eq!(found, headings_line_by_line(&text), "{:?}", text);
        }
    }

    #[test]
    fn short_texts_stay_whole() {
        let text = "# A\n\n## B\nx\n";
        assert_eq!(outline_sections(text, |_, _| false), text);
        assert_eq!(outline_ends(text), text);
    }

    #[test]
    fn long_texts_keep_what_is_wanted() {
        let filler = "word ".repeat(20_000);
        let text = format!(
            "# State\n\n## Noise\n{filler}\n## Next Action\nShip it\n```\n## Next Action\n```\n## More\n{filler}\n"
        );
        let kept = outline_sections(&text, |_, title| title == "next action");
        assert_eq!(kept, "## Next Action\nShip it\n```\n## Next Action\n```\n");
    }

    #[test]
    fn long_sections_leave_room_for_the_last() {
        let filler = "word ".repeat(2_000);
        let titles = ["phase", "status", "active", "blocked"];
        let mut text: String = (titles.iter().chain(&titles))
            .map(|title| format!("## {title}\n{filler}\n"))
            .collect();
        text.push_str("## next\nShip it\n");
        let kept = outline_sections(&text, |_, _| true);
        assert!(kept.ends_with("## next\nShip it\n"), "{kept}");
        assert!(titles.iter().all(|title| kept.matches(title).count() == 2));
    }

    #[test]
    fn a_log_keeps_both_ends() {
        let entry = |n: usize| format!("## Session {n} — 2026-01-01\n- {}\n\n", "x".repeat(200));
        let text: String = (1..1000).map(entry).collect();
        let kept = outline_ends(&text);
        assert!(kept.len() < 64 << 10);
        assert!(kept.starts_with("## Session 1 ") && kept.contains("## Session 999 "));
        assert!(!kept.contains("## Session 500 "));
        let entries = kept.lines().filter(|line| line.starts_with('-'));
        assert!(
            entries.filter(|line| line.len() != 202).count() <= 1,
            "only the cut shows"
        );
    }

    #[test]
    fn the_newest_entry_may_be_longer_than_everything() {
        let long = "word ".repeat(30_000);
        let text = format!("# Log\n\n## One\n~~~~\n{long}\n~~~~\n\n## Two\n{long}\n");
        let kept = outline_ends(&text);
        assert!(kept.contains("\n## Two\nword") && kept.contains("\n## One\n"));
        assert_eq!(kept.matches("~~~~").count(), 2);
        assert!(kept.len() <= LOG_HEAD_BYTES + LOG_TAIL_BYTES + 9);
    }

    #[test]
    fn a_long_line_without_headings_is_no_trap() {
        let text = "é".repeat(100_000);
        assert!(outline_ends(&text).len() <= LOG_HEAD_BYTES + LOG_TAIL_BYTES + 2);
        assert_eq!(outline_sections(&text, |_, _| true), "");
        let text = format!("# S\n\n## Next Action\nShip {text}\n");
        let kept = outline_sections(&text, |_, title| title == "next action");
        assert!(kept.starts_with("## Next Action\nShip é") && kept.len() < 7 << 10);
    }

    #[test]
    fn a_long_line_of_the_newest_entry_shows_how_it_begins() {
        let long = "word ".repeat(10_000);
        let text = format!("# Log\n\n## One\n- **Summary:** Began {long}\n- **Next:** Ship\n");
        let kept = outline_ends(&text);
        assert!(kept.contains("## One\n- **Summary:** Began word"), "{kept}");
        assert!(
            kept.contains("[…]\n") && kept.contains("- **Next:** Ship"),
            "{kept}"
        );
    }
}
