//! Lines of ours at the end of a file that is somebody else's, put in and taken
//! out so that the file is what it was, to the byte.

use std::ops::Range;

/// A text with our lines at its end. The two ends of what is added tell how the
/// file ended, so that taking it out again restores that.
pub(super) fn appended(text: &str, ours: &str, newline: &str) -> String {
    if text.is_empty() {
        ours.to_owned()
    } else if text.ends_with('\n') {
        format!("{text}{newline}{ours}{newline}")
    } else {
        format!("{text}{newline}{newline}{ours}")
    }
}

/// A text without lines that [`appended`] put there; none where the file was
/// made for them.
pub(super) fn cut_out(text: &str, span: Range<usize>) -> Option<String> {
    // Theirs may be others: what came with ours has the line ends of ours.
    let newline = newline_of(&text[span.clone()]);
    let (mut before, mut after) = (&text[..span.start], &text[span.end..]);
    let own_line = after.strip_prefix(newline);
    if before.is_empty() && own_line == Some("") {
        return None;
    }
    match own_line {
        Some(rest) => {
            after = rest;
            // The blank line before it came with it.
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

/// The line end that a text has, or would get.
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
            let with = appended(text, &ours, newline);
            let at = with.find("one").expect("it was added");
            let cut = cut_out(&with, at..at + ours.len());
            assert_eq!(cut.as_deref(), Some(text), "{with:?}");
        }
    }
}
