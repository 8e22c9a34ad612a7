//! Adds the few lines about memory to a file that agents load at every start.
//! They are between two comments, are added once, and leave no trace when they
//! are removed; everything around them is the author's.

use crate::document;
use crate::tokens;

use super::json::SyntaxProblem;
use super::lines::{append_block, cut_block, newline_of};

const BEGIN_MARKER: &str = "<!-- memory-forge:begin -->";
const END_MARKER: &str = "<!-- memory-forge:end -->";

/// Text of at most six lines, because every session of every client pays for
/// them.
const USUAL_TEXT: &str = "\
## Memory
- Where the work stands: `memory-forge mind show`. Read it before you plan.
- Before you ask or assume: `memory-forge search \"<question>\"`; what is known is in `knowledge/`.
- When it happens, note it: `memory-forge mind set`, `mind decide`, `mind task`.
- Lasting facts go to `knowledge/<topic>.md` with `memory-forge save`, not into this file.";

/// Text for a workspace with a manifest, whose sessions have a start and an
/// end, and whose notes link to one another.
const WORKSPACE_TEXT: &str = "\
## Memory
- First action of every session: `memory-forge session start`. `_MANIFEST.md` lists what to read when.
- Before you ask or assume: `memory-forge search \"<question>\"`.
- When it happens, note it: `memory-forge session update`. Lasting facts: `memory-forge save`.
- Last action of every session: `memory-forge session end --title \"<about>\" --did \"<sentence>\"`.
- Write every reference to a file as a wikilink: `[[filename]]`.";

/// Kind of lines that a file gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StubLines {
    /// Those of any project.
    Usual,
    /// Those of a workspace with a manifest.
    Workspace,
}

impl StubLines {
    /// Returns the lines.
    pub fn text(self) -> &'static str {
        match self {
            StubLines::Usual => USUAL_TEXT,
            StubLines::Workspace => WORKSPACE_TEXT,
        }
    }

    /// Returns the cost of the lines in each session, by estimate.
    pub fn tokens(self) -> usize {
        tokens::estimate_tokens(self.text())
    }
}

/// Returns `true` if our lines are in the text.
pub fn has_stub(text: &str) -> bool {
    matches!(find_block(text), Ok(Some(_)))
}

/// Returns the text with our lines in it, at the end unless they are there
/// already.
pub fn with_stub(current: Option<&str>, which: StubLines) -> Result<String, SyntaxProblem> {
    let Some(text) = current else {
        return Ok(format!("{}\n", render_lines(which, "\n")));
    };
    if let Some(span) = find_block(text)? {
        let ours = render_lines(which, newline_of(&text[span.clone()]));
        let mut text = text.to_owned();
        text.replace_range(span, &ours);
        return Ok(text);
    }
    let newline = newline_of(text);
    let ours = render_lines(which, newline);
    let with = append_block(text, &ours, newline);
    if find_block(&with)?.is_none() {
        // Inside an open code block the lines would be an example: the next run
        // would not find them and add them again.
        let document = document::parse_document(text);
        let open = document.code.last().map_or(0, |code| code.span.start);
        return Err(SyntaxProblem {
            line: document.line_number_at(open),
            what: "The code block is never closed, and what is added would be part of it".into(),
        });
    }
    Ok(with)
}

/// Returns the text without our lines; none where the file was made for them.
pub fn without_stub(text: &str) -> Result<Option<String>, SyntaxProblem> {
    let Some(span) = find_block(text)? else {
        return Ok(Some(text.to_owned()));
    };
    Ok(cut_block(text, span))
}

/// Our lines as they were at the end of a file, comments included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StubBlock(String);

/// Splits a text into what is not ours and our lines at its end, for those who
/// change the rest: [`put_block`] adds them as they would have been added to
/// the changed text. Lines that are elsewhere, or alone, stay in the text.
pub fn take_block(text: &str) -> (String, Option<StubBlock>) {
    let whole = || (text.to_owned(), None);
    let Ok(Some(span)) = find_block(text) else {
        return whole();
    };
    if !text[span.end..].trim().is_empty() {
        return whole();
    }
    let ours = text[span.clone()].to_owned();
    match cut_block(text, span) {
        Some(rest) if append_block(&rest, &ours, newline_of(&ours)) == text => {
            (rest, Some(StubBlock(ours)))
        }
        _ => whole(),
    }
}

/// Adds our lines to the end of a text.
pub fn put_block(text: &str, block: &StubBlock) -> String {
    let newline = newline_of(text);
    let ours = block.0.replace("\r\n", "\n").replace('\n', newline);
    append_block(text, &ours, newline)
}

fn render_lines(which: StubLines, newline: &str) -> String {
    let all = format!("{BEGIN_MARKER}\n{}\n{END_MARKER}", which.text());
    all.replace('\n', newline)
}

/// Returns the span of our lines, comments included. Comments in code are
/// examples; one that is never closed has no clear meaning and fails.
fn find_block(text: &str) -> Result<Option<std::ops::Range<usize>>, SyntaxProblem> {
    if !text.contains(BEGIN_MARKER) {
        return Ok(None);
    }
    let document = document::parse_document(text);
    let meant = |word: &str, from: usize| {
        let mut found = text[from..].match_indices(word).map(|(at, _)| from + at);
        found.find(|&at| !document.is_in_code(at))
    };
    let Some(start) = meant(BEGIN_MARKER, 0) else {
        return Ok(None);
    };
    match meant(END_MARKER, start) {
        Some(end) => Ok(Some(start..end + END_MARKER.len())),
        None => Err(SyntaxProblem {
            line: document.line_number_at(start),
            what: format!("`{BEGIN_MARKER}` is never closed by `{END_MARKER}`"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_code_block_does_not_swallow_them() {
        let text = "# A\n\n```\nlet x = 1;\n";
        let broken = with_stub(Some(text), StubLines::Usual).expect_err("they would be code");
        assert_eq!(broken.line, 3);
        assert!(with_stub(Some(&format!("{text}```\n")), StubLines::Usual).is_ok());
    }

    #[test]
    fn the_lines_are_few_and_cheap() {
        for which in [StubLines::Usual, StubLines::Workspace] {
            assert!(which.text().lines().count() <= 6);
            assert!(which.tokens() <= 150, "{}", which.tokens());
        }
    }

    #[test]
    fn any_end_of_a_file_comes_back() {
        for text in [
            "",
            "\n",
            "# A",
            "# A\n",
            "# A\n\n",
            "# A\n\n\n",
            "# A\r\n\r\ntext\r\n",
            "# A\r\ntext",
            "\u{feff}# A\n",
            "```\n<!-- memory-forge:begin -->\n```\n",
        ] {
            let with_it = with_stub(Some(text), StubLines::Usual).expect("nothing is broken");
            assert!(has_stub(&with_it), "{with_it:?}");
            assert_eq!(
                with_stub(Some(&with_it), StubLines::Usual),
                Ok(with_it.clone()),
                "twice is once"
            );
            assert_eq!(without_stub(&with_it), Ok(Some(text.to_owned())));
        }
        assert_eq!(
            without_stub(&with_stub(None, StubLines::Usual).expect("new")),
            Ok(None)
        );
    }

    #[test]
    fn text_that_was_written_around_it_stays() {
        let text = with_stub(Some("# A\n"), StubLines::Usual).expect("nothing is broken");
        let edited = format!("{text}\nMore.\n");
        assert_eq!(without_stub(&edited), Ok(Some("# A\n\nMore.\n".to_owned())));
        let fresh = format!(
            "Above.\n{}",
            with_stub(None, StubLines::Usual).expect("new")
        );
        assert_eq!(without_stub(&fresh), Ok(Some("Above.\n".to_owned())));
    }

    #[test]
    fn older_lines_are_replaced_where_they_are() {
        let text = format!("a\n\n{BEGIN_MARKER}\nold\n{END_MARKER}\n\nb\n");
        let new = with_stub(Some(&text), StubLines::Usual).expect("nothing is broken");
        assert_eq!(
            new,
            format!("a\n\n{}\n\nb\n", render_lines(StubLines::Usual, "\n"))
        );
    }

    #[test]
    fn a_block_that_is_not_closed_is_refused() {
        let broken = with_stub(
            Some("a\n<!-- memory-forge:begin -->\nb\n"),
            StubLines::Usual,
        )
        .expect_err("refused");
        assert_eq!(broken.line, 2);
    }
}
