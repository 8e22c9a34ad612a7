//! Restores the bytes of a text that went through a text box, which knows one
//! kind of line ending and no byte order mark.
//!
//! Lines that were not edited keep their bytes.

use std::borrow::Cow;

use similar::{Algorithm, DiffOp, capture_diff_slices};

const BYTE_ORDER_MARK: char = '\u{feff}';

/// Normalizes a text to what a text box holds: LF, and no byte order mark.
pub fn normalize_newlines_for_textarea(text: &str) -> Cow<'_, str> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    if text.contains('\r') {
        Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Restores what the file held around text that was edited in a text box that
/// showed `before`: the byte order mark, the line ends of lines that stayed,
/// and the usual line end on new lines.
pub fn restore_line_endings(before: &str, typed: &str) -> String {
    let typed = normalize_newlines_for_textarea(typed);
    let mut out = String::with_capacity(typed.len() + 16);
    if before.starts_with(BYTE_ORDER_MARK) {
        out.push(BYTE_ORDER_MARK);
    }
    let old = split_line_endings(before.strip_prefix(BYTE_ORDER_MARK).unwrap_or(before));
    let new = split_line_endings(&typed);
    let usual = dominant_line_ending(&old);
    let plain = |lines: &[(&str, &str)]| -> Vec<String> {
        let ended = |(text, end): &(&str, &str)| format!("{text}{}", u8::from(!end.is_empty()));
        lines.iter().map(ended).collect()
    };
    // The lines are compared without their ends, which the text box has lost.
    for op in capture_diff_slices(Algorithm::Myers, &plain(&old), &plain(&new)) {
        if let DiffOp::Equal { old_index, len, .. } = op {
            for (text, end) in &old[old_index..old_index + len] {
                push_line(&mut out, text, end);
            }
            continue;
        }
        for (text, end) in &new[op.new_range()] {
            push_line(&mut out, text, if end.is_empty() { "" } else { usual });
        }
    }
    out
}

/// Adds a line, and keeps two line ends side by side from becoming one.
fn push_line(out: &mut String, text: &str, end: &str) {
    let merges = text.is_empty() && end == "\n" && out.ends_with('\r');
    out.push_str(text);
    out.push_str(if merges { "\r" } else { end });
}

/// Returns a hash of the bytes, by which an edit names the version that it was
/// made from.
pub fn text_version(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..32].to_owned()
}

/// Splits a text into lines, each with its line end.
fn split_line_endings(text: &str) -> Vec<(&str, &str)> {
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['\n', '\r']) {
        let length = if rest[at..].starts_with("\r\n") { 2 } else { 1 };
        lines.push((&rest[..at], &rest[at..at + length]));
        rest = &rest[at + length..];
    }
    if !rest.is_empty() {
        lines.push((rest, ""));
    }
    lines
}

fn dominant_line_ending(lines: &[(&str, &str)]) -> &'static str {
    let count = |ending: &str| lines.iter().filter(|(_, end)| *end == ending).count();
    let (unix, windows, old) = (count("\n"), count("\r\n"), count("\r"));
    match () {
        () if windows > unix && windows >= old => "\r\n",
        () if old > unix => "\r",
        () => "\n",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(before: &str, typed: &str, expect: &str) {
        assert_eq!(
            restore_line_endings(before, typed),
            expect,
            "{before:?} {typed:?}"
        );
    }

    #[test]
    fn untouched_lines_keep_their_bytes() {
        check("a\r\nb\nc\r\n", "a\nb\nc\n", "a\r\nb\nc\r\n");
        check("a\r\nb\nc\r\n", "a\nnew\nb\nc\n", "a\r\nnew\r\nb\nc\r\n");
        check("\u{feff}a\r\n", "b\n", "\u{feff}b\r\n");
        check("a\rb\rc", "a\nb2\nc", "a\rb2\rc");
        check("a\r\nb", "a\nb\nc", "a\r\nb\r\nc");
        check("", "a\n", "a\n");
        check("a\r\n", "", "");
    }

    proptest! {
        #[test]
        fn what_came_back_unchanged_changes_nothing(before in "(\u{feff})?([ab]|\r\n|\n|\r){0,12}") {
            prop_assert_eq!(restore_line_endings(&before, &normalize_newlines_for_textarea(&before)), before);
        }

        #[test]
        fn what_was_typed_is_what_is_read(
            before in "(\u{feff})?([ab]|\r\n|\n|\r){0,12}", typed in "([ab]|\n){0,12}"
        ) {
            let after = restore_line_endings(&before, &typed);
            let shown = normalize_newlines_for_textarea(&after);
            prop_assert_eq!(shown.as_ref(), typed.as_str());
        }
    }
}
