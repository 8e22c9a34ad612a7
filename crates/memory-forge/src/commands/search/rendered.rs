//! Markdown of a snippet as a terminal shows it: bold, code, lists, links and
//! headings. Everything else stays as it was written. It only takes marks off
//! and puts styles on; no word is lost.

use std::ops::Range;

use anstyle::Style;

use crate::ui::{escape_hidden, style};

/// Renders a part of a passage that begins at byte `start` of it, with its
/// matches marked.
pub(super) fn for_terminal(text: &str, start: usize, matches: &[Range<usize>]) -> String {
    let mut out = TerminalText::new(text, start, matches);
    let mut fence: Option<&str> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let begin = at;
        at += line.len();
        let content = line.trim_end_matches(['\n', '\r']);
        let trimmed = content.trim_start();
        let indent = content.len() - trimmed.len();
        let opens = ["```", "~~~"]
            .into_iter()
            .find(|it| trimmed.starts_with(it));
        match (fence, opens) {
            (None, Some(_)) => fence = opens,
            (Some(open), Some(close)) if open == close => fence = None,
            (Some(_), _) => {
                out.put(begin..begin + content.len(), style::PATH);
                out.end_line();
            }
            (None, None) => {
                let body = begin + indent;
                out.put(begin..body, Style::new());
                let rest = body..begin + content.len();
                if let Some(marks) = heading_marks(trimmed) {
                    out.inline(rest.start + marks..rest.end, style::HEADING);
                } else if let Some(after) = trimmed.strip_prefix(['-', '*', '+'])
                    && after.starts_with(' ')
                {
                    out.add("• ", Style::new());
                    out.inline(rest.start + 2..rest.end, Style::new());
                } else {
                    out.inline(rest, Style::new());
                }
                out.end_line();
            }
        }
    }
    out.finish()
}

/// The length of `## ` before a heading.
fn heading_marks(line: &str) -> Option<usize> {
    let level = line.bytes().take_while(|b| *b == b'#').count();
    ((1..=6).contains(&level) && line[level..].starts_with(' ')).then_some(level + 1)
}

struct TerminalText<'a> {
    text: &'a str,
    start: usize,
    matches: &'a [Range<usize>],
    out: String,
}

impl<'a> TerminalText<'a> {
    fn new(text: &'a str, start: usize, matches: &'a [Range<usize>]) -> TerminalText<'a> {
        TerminalText {
            text,
            start,
            matches,
            out: String::with_capacity(text.len() * 2),
        }
    }

    /// Adds text with bold, code and links of one line rendered.
    fn inline(&mut self, range: Range<usize>, base: Style) {
        let text = self.text;
        let mut at = range.start;
        let mut plain = at;
        while at < range.end {
            let rest = &text[at..range.end];
            let found = code(rest).or_else(|| bold(rest)).or_else(|| link(rest));
            let Some((inside, length, kind)) = found else {
                at += rest.chars().next().map_or(1, char::len_utf8);
                continue;
            };
            self.put(plain..at, base);
            let inside = at + inside.start..at + inside.end;
            match kind {
                MarkKind::Code => self.put(inside, style::PATH),
                MarkKind::Bold => self.inline(inside, style::HEADING),
                MarkKind::Link => self.inline(inside, base),
            }
            at += length;
            plain = at;
        }
        self.put(plain..range.end, base);
    }

    /// Adds text as it is, with its matches marked.
    fn put(&mut self, range: Range<usize>, base: Style) {
        let (text, matches) = (self.text, self.matches);
        let mut at = range.start;
        for found in matches {
            let from = found.start.saturating_sub(self.start).max(at);
            let to = found.end.saturating_sub(self.start).min(range.end);
            let in_text = text.is_char_boundary(from) && text.is_char_boundary(to);
            if from >= to || !in_text {
                continue;
            }
            self.add(&text[at..from], base);
            self.add(&text[from..to], style::MATCH);
            at = to;
        }
        self.add(&text[at..range.end], base);
    }

    fn add(&mut self, text: &str, with: Style) {
        if text.is_empty() {
            return;
        }
        let text = escape_hidden(text);
        if with == Style::new() {
            self.out += &text;
        } else {
            self.out += &format!("{with}{text}{with:#}");
        }
    }

    fn end_line(&mut self) {
        self.out.push('\n');
    }

    fn finish(self) -> String {
        self.out
    }
}

enum MarkKind {
    Code,
    Bold,
    Link,
}

/// The text inside, and its length with its marks.
type InlineMark = (Range<usize>, usize, MarkKind);

fn code(rest: &str) -> Option<InlineMark> {
    let marks = rest.bytes().take_while(|b| *b == b'`').count();
    if marks == 0 {
        return None;
    }
    let end = rest[marks..].find(&rest[..marks])?;
    (end > 0).then_some((marks..marks + end, end + 2 * marks, MarkKind::Code))
}

fn bold(rest: &str) -> Option<InlineMark> {
    let marks = ["**", "__"].into_iter().find(|it| rest.starts_with(it))?;
    let inside = &rest[2..];
    let end = inside.find(marks)?;
    let word = inside[..end].trim();
    // `__init__` is a name, not a word in bold.
    let is_name = marks == "__" && !word.contains(' ');
    (end > 0 && word.len() == end && !is_name).then_some((2..2 + end, end + 4, MarkKind::Bold))
}

fn link(rest: &str) -> Option<InlineMark> {
    let inside = rest.strip_prefix('[')?;
    let end = inside.find("](")?;
    if inside[..end].contains(['[', '\n']) || end == 0 {
        return None;
    }
    let close = inside[end + 2..].find(')')?;
    Some((1..1 + end, end + close + 4, MarkKind::Link))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(&for_terminal(text, 0, &[])).to_string()
    }

    #[test]
    fn marks_are_taken_off_and_words_stay() {
        assert_eq!(
            plain("## Retry\n- **Never** run `a*b` in [the shop](shop.md).\n"),
            "Retry\n• Never run a*b in the shop.\n"
        );
        assert_eq!(plain("```sh\nls -l **x**\n```\n"), "ls -l **x**\n");
        for same in [
            "a * b * c",
            "__init__ and __x__",
            "[x] 2 [y",
            "a `b",
            "**",
            "é**ü",
        ] {
            assert_eq!(plain(same), format!("{same}\n"));
        }
    }

    #[test]
    fn matches_are_marked_inside_of_bold_and_code() {
        let text = "a **bold word** and `code`";
        let places = text.match_indices("word");
        let found: Vec<_> = places.map(|(at, it)| at..at + it.len()).collect();
        let out = for_terminal(text, 0, &found);
        let mark = style::MATCH;
        assert!(out.contains(&format!("{mark}word{mark:#}")), "{out:?}");
        let code = style::PATH;
        assert!(out.contains(&format!("{code}code{code:#}")), "{out:?}");
    }

    #[test]
    fn text_cannot_drive_the_terminal() {
        let out = plain("**\u{1b}[2J** `\u{7}`");
        assert!(!out.contains(['\u{1b}', '\u{7}']), "{out:?}");
    }
}
