//! Adds lines of ours to the end of a file that others own, and removes them so
//! that the file is what it was, to the byte.

use std::ops::Range;

/// Appends our lines to a text. The line ends around them record how the file
/// ended, so that removing them restores that.
pub(super) fn append_block(text: &str, ours: &str, newline: &str) -> String {
    if text.is_empty() {
        ours.to_owned()
    } else if text.ends_with('\n') {
        format!("{text}{newline}{ours}{newline}")
    } else {
        format!("{text}{newline}{newline}{ours}")
    }
}

/// Removes lines that were appended. Returns `None` if the file was created for
/// them.
pub(super) fn cut_block(text: &str, span: Range<usize>) -> Option<String> {
    // The rest of the file may have other line ends; what came with our lines
    // has theirs.
    let newline = newline_of(&text[span.clone()]);
    let (mut before, mut after) = (&text[..span.start], &text[span.end..]);
    let own_line = after.strip_prefix(newline);
    if before.is_empty() && own_line == Some("") {
        return None;
    }
    match own_line {
        Some(rest) => {
            after = rest;
            // The blank line before our lines came with them.
            if let Some(shorter) = before.strip_suffix(newline)
                && shorter.ends_with('\n')
            {
                before = shorter;
            }
        }
        None => {
            for _ in 0..2 {
                before = before.strip_suffix(newline).unwrap_or(before);
            }
        }
    }
    Some(format!("{before}{after}"))
}

/// Returns the line end of a text, or the one that it would get.
pub(super) fn newline_of(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_goes_and_not_a_byte_more() {
        for text in [
            "",
            "\n",
            "a",
            "a\n",
            "a\n\n",
            "a\r\nb\r\n",
            "a\nb\r",
            "\r",
            "a\r\nb\n",
        ] {
            let newline = newline_of(text);
            let ours = ["one", "two"].join(newline);
            let with = append_block(text, &ours, newline);
            let at = with.find("one").expect("it was added");
            let cut = cut_block(&with, at..at + ours.len());
            assert_eq!(cut.as_deref(), Some(text), "{with:?}");
        }
    }
}
