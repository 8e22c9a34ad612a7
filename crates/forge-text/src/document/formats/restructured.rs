//! reStructuredText: headings by a line of signs below them, and often above.

use super::{push_blank, split_end};

const SIGNS: &str = "=-~^\"'`#*+:.<>_!$%&,/;?@\\|";

/// Returns the text with two levels of headings as Markdown has them: the
/// first kind of underline, and all others.
pub(super) fn prose(text: &str) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let body_of = |at: usize| lines.get(at).map_or("", |line| split_end(line).0);
    let mut out = String::with_capacity(text.len());
    let mut first: Option<(char, bool)> = None;
    let mut is_underline = false;
    for (at, line) in lines.iter().enumerate() {
        let (body, end) = split_end(line);
        if std::mem::take(&mut is_underline) {
            let over = at >= 2 && is_line_of_signs(body_of(at - 2)) == is_line_of_signs(body);
            let kind = (body.chars().next().unwrap_or('='), over);
            let is_first = *first.get_or_insert(kind) == kind;
            let sign = if is_first { '=' } else { '-' };
            let signs = body.trim_end();
            out.extend(std::iter::repeat_n(sign, signs.len()));
            push_blank(&mut out, &body[signs.len()..]);
        } else if is_line_of_signs(body).is_some() {
            // Above a heading, or between two paragraphs.
            push_blank(&mut out, body);
        } else {
            is_underline = is_underline_of(body_of(at + 1), body);
            out.push_str(body);
        }
        out.push_str(end);
    }
    out
}

fn is_line_of_signs(line: &str) -> Option<char> {
    let line = line.trim_end();
    let sign = line.chars().next().filter(|sign| SIGNS.contains(*sign))?;
    (line.len() >= 3 && line.chars().all(|c| c == sign)).then_some(sign)
}

fn is_underline_of(line: &str, title: &str) -> bool {
    let title = title.trim();
    !title.is_empty()
        && is_line_of_signs(line).is_some()
        && line.trim_end().len() + 1 >= title.chars().count()
}
