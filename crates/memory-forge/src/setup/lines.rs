//! Lines of ours at the end of a file that is somebody else's, put in and taken
//! out so that the file is what it was, to the byte.

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
pub(super) fn cut_out(text: &str, span: std::ops::Range<usize>) -> Option<String> {
    let (mut before, mut after) = (&text[..span.start], &text[span.end..]);
    let own_line = after.strip_prefix("\r\n").or(after.strip_prefix('\n'));
    if before.is_empty() && own_line == Some("") {
        return None;
    }
    let cut = |text: &str| {
        text.strip_suffix('\n')
            .map(|t| t.strip_suffix('\r').unwrap_or(t).len())
    };
    match own_line {
        Some(rest) => {
            after = rest;
            // The blank line before it came with it.
            if let Some(shorter) = cut(before)
                && before[..shorter].ends_with('\n')
            {
                before = &before[..shorter];
            }
        }
        None => {
            for _ in 0..2 {
                before = cut(before).map_or(before, |shorter| &before[..shorter]);
            }
        }
    }
    Some(format!("{before}{after}"))
}
