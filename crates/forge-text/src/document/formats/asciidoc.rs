//! AsciiDoc: `==` before a heading, and blocks between lines of one sign.

use super::{push_blank, split_end};

/// Returns the text with its headings and code as Markdown has them.
pub(super) fn prose(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut code: Option<&str> = None;
    for line in text.split_inclusive('\n') {
        let (body, end) = split_end(line);
        let marks = body.trim_end();
        let is_delimiter =
            marks.len() >= 4 && (is_only(marks, '-') || is_only(marks, '.')) && body == marks;
        if is_delimiter && code.is_none_or(|open| open == marks) {
            code = if code.is_some() { None } else { Some(marks) };
            out.extend(std::iter::repeat_n('`', marks.len()));
        } else if code.is_some() {
            out.push_str(body);
        } else if let Some(level) = heading(body) {
            out.extend(std::iter::repeat_n('#', level));
            out.push_str(&body[level..]);
        } else if is_frame(marks) || is_attribute(marks) {
            push_blank(&mut out, body);
        } else {
            out.push_str(body);
        }
        out.push_str(end);
    }
    out
}

fn heading(line: &str) -> Option<usize> {
    let level = line.len() - line.trim_start_matches('=').len();
    let titled = line[level..].starts_with(' ') && !line[level..].trim().is_empty();
    ((1..=6).contains(&level) && titled).then_some(level)
}

/// Lines around an example, a quote, a sidebar, a table.
fn is_frame(line: &str) -> bool {
    line == "|==="
        || line == "--"
        || line.len() >= 4
            && ['=', '*', '_', '+', '/']
                .iter()
                .any(|sign| is_only(line, *sign))
}

/// `:name: value` of the document, and `[name]` of the block that follows.
fn is_attribute(line: &str) -> bool {
    let named = line.strip_prefix(':').and_then(|rest| rest.split_once(':'));
    named.is_some_and(|(name, value)| {
        !name.is_empty() && !name.contains(' ') && (value.is_empty() || value.starts_with(' '))
    }) || line.starts_with('[') && line.ends_with(']') && !line.contains("](")
}

fn is_only(line: &str, sign: char) -> bool {
    !line.is_empty() && line.chars().all(|c| c == sign)
}
