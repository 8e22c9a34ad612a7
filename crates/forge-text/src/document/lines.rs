//! Lines of a text: LF, CRLF and a lone CR each end one.
//! Knows bytes only, never Markdown.

use std::borrow::Cow;
use std::ops::Range;

/// The characters that a blank line may have. Other white space, such as a form
/// feed, is text to Markdown.
pub(super) const BLANK_CHARS: [char; 4] = [' ', '\t', '\n', '\r'];

/// Returns the byte offset at which each line starts. A text that ends with a
/// line end has no further, empty line; the empty text has one line.
pub(super) fn find_line_starts(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let mut starts = Vec::with_capacity(bytes.len() / 40 + 1);
    starts.push(0);
    for at in memchr::memchr2_iter(b'\n', b'\r', bytes) {
        let next = at + 1;
        let half_of_crlf = bytes[at] == b'\r' && bytes.get(next) == Some(&b'\n');
        if !half_of_crlf && next < bytes.len() {
            starts.push(next);
        }
    }
    starts
}

/// The line starts of a text in which many places are looked up: counting line
/// ends for each of them would read the text again every time.
#[derive(Debug)]
pub struct LineNumbers {
    starts: Vec<usize>,
}

impl LineNumbers {
    /// Indexes the lines of a text.
    pub fn of(text: &str) -> LineNumbers {
        LineNumbers {
            starts: find_line_starts(text),
        }
    }

    /// Returns the number of the line that holds `offset`, counted from 1.
    pub fn line_number_at(&self, offset: usize) -> usize {
        line_number_of(&self.starts, offset)
    }
}

pub(super) fn line_number_of(starts: &[usize], offset: usize) -> usize {
    starts.partition_point(|start| *start <= offset).max(1)
}

/// Returns the start of the line that holds `offset`.
pub(super) fn line_start_of(starts: &[usize], offset: usize) -> usize {
    starts[line_number_of(starts, offset) - 1]
}

/// Returns the place behind the line end of the line that holds `offset`.
pub(super) fn line_end_of(starts: &[usize], offset: usize, len: usize) -> usize {
    starts
        .get(line_number_of(starts, offset))
        .copied()
        .unwrap_or(len)
}

/// Returns `span` without the line end that closes it.
pub(super) fn trim_line_end(text: &str, span: Range<usize>) -> Range<usize> {
    let line = &text[span.clone()];
    let kept = line
        .strip_suffix("\r\n")
        .or_else(|| line.strip_suffix(['\n', '\r']))
        .unwrap_or(line);
    span.start..span.start + kept.len()
}

/// Returns the text with each lone CR as LF: the offsets stay the same, and
/// readers that know only LF see the same lines.
pub(super) fn with_line_feeds(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let lone = |at: &usize| bytes.get(at + 1) != Some(&b'\n');
    let mut returns = memchr::memchr_iter(b'\r', bytes).filter(lone).peekable();
    if returns.peek().is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = bytes.to_vec();
    returns.for_each(|at| out[at] = b'\n');
    Cow::Owned(String::from_utf8(out).expect("one ASCII byte took the place of another"))
}

/// Splits `text` into lines with their line ends.
pub(super) fn split_lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let bytes = rest.as_bytes();
        let end = match memchr::memchr2(b'\n', b'\r', bytes) {
            None => bytes.len(),
            Some(at) if bytes[at] == b'\r' && bytes.get(at + 1) == Some(&b'\n') => at + 2,
            Some(at) => at + 1,
        };
        let (line, tail) = rest.split_at(end);
        rest = tail;
        Some(line)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_line_end_counts_once() {
        assert_eq!(find_line_starts(""), [0]);
        assert_eq!(find_line_starts("a"), [0]);
        assert_eq!(find_line_starts("a\n"), [0]);
        assert_eq!(find_line_starts("a\nb\r\nc\rd"), [0, 2, 5, 7]);
        assert_eq!(find_line_starts("\n\r\n\r"), [0, 1, 3]);
        assert_eq!(
            split_lines("a\nb\r\n\rd").collect::<Vec<_>>(),
            ["a\n", "b\r\n", "\r", "d"]
        );
    }

    #[test]
    fn an_offset_finds_its_line() {
        let starts = find_line_starts("ab\ncd");
        assert_eq!(
            [0, 2, 3, 5].map(|at| line_number_of(&starts, at)),
            [1, 1, 2, 2]
        );
        assert_eq!(line_start_of(&starts, 4), 3);
        assert_eq!(line_end_of(&starts, 0, 5), 3);
        assert_eq!(line_end_of(&starts, 4, 5), 5);
    }
}
