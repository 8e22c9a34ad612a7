//! Parses values as people write them into state files (placeholders, list
//! items, dates, escapes), and formats new entries the way those files do. Pure
//! text, no files.

use std::ops::Range;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::document::{self, Document, TextEdit, escape_markdown_block, escape_markdown_line};

use super::MindError;

/// Returns `true` for a placeholder: `None.`, `Not set`, `[Phase Name]`,
/// `{{phase}}`.
pub(crate) fn is_unset(text: &str) -> bool {
    if is_filler(text) {
        return true;
    }
    let text = text.trim().trim_matches(['*', '_', '`']).trim();
    let inside = |open: &str, close: &str| {
        text.strip_prefix(open)
            .and_then(|rest| rest.strip_suffix(close))
    };
    if let Some(inner) = inside("{{", "}}") {
        return !inner.contains("}}");
    }
    // A link, a wikilink or the box of a task is a value, not a placeholder.
    inside("[", "]")
        .is_some_and(|inner| !inner.contains([']', '[']) && !matches!(inner.trim(), "" | "x" | "X"))
}

/// Returns `true` for one of the words that stand for no value. Bracketed text
/// is not among them: a person may have meant its content.
pub(super) fn is_filler(text: &str) -> bool {
    let whole = text.trim();
    let text = whole.trim_matches(['*', '_', '`']).trim();
    // A fence or a rule consists of such marks and is not an empty value.
    if text.is_empty() {
        return whole.is_empty();
    }
    let bare = text.trim_end_matches('.').to_lowercase();
    matches!(
        bare.as_str(),
        "none" | "not set" | "n/a" | "-" | "–" | "—" | "nothing"
    )
}

/// Returns a value on one line, without escaping backslashes and without
/// characters that a terminal or a prompt would act on.
pub(crate) fn plain_value(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut space = false;
    while let Some(c) = chars.next() {
        let c = match c {
            '\\' if chars.peek().is_some_and(char::is_ascii_punctuation) => {
                chars.next().unwrap_or('\\')
            }
            c => c,
        };
        if c.is_whitespace() {
            space = !out.is_empty();
        } else if !c.is_control()
            && !matches!(c, '\u{feff}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        {
            if std::mem::take(&mut space) {
                out.push(' ');
            }
            out.push(c);
        }
    }
    out
}

/// Returns the text of a span without standalone HTML comments, trimmed.
pub(super) fn strip_comments(document: &Document, span: &Range<usize>) -> String {
    let mut out = String::new();
    let mut at = span.start;
    // Comments are sorted, and a binary search skips those before the span:
    // each of many sections may be read in turn.
    let first = document
        .comments
        .partition_point(|it| it.start < span.start);
    for comment in &document.comments[first..] {
        if comment.start >= span.end {
            break;
        }
        if comment.start >= at && comment.end <= span.end {
            out.push_str(&document.text[at..comment.start]);
            at = comment.end;
        }
    }
    out.push_str(&document.text[at..span.end]);
    out.trim().to_owned()
}

/// Splits free text into list entries: an item with its continuation lines, or
/// a paragraph if there is no list.
pub(super) fn split_items(text: &str) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    let mut open = false;
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.is_empty() {
            open = false;
            continue;
        }
        let indent = line.len() - line.trim_start().len();
        let item = list_marker_length(trimmed).map(|length| &trimmed[length..]);
        match item {
            Some(item) if indent < 2 || items.is_empty() => {
                items.push(item.trim().to_owned());
                open = true;
            }
            _ if (open || indent >= 2) && !items.is_empty() => {
                let last = items.last_mut().expect("checked");
                last.push(' ');
                last.push_str(item.unwrap_or(trimmed).trim());
            }
            _ => {
                items.push(trimmed.to_owned());
                open = true;
            }
        }
    }
    items
}

/// Returns the length of a list marker at the start of a line, including the
/// space.
pub(crate) fn list_marker_length(line: &str) -> Option<usize> {
    let bytes = line.as_bytes();
    let digits = bytes.iter().take_while(|b| b.is_ascii_digit()).count();
    let mark = match bytes.get(digits)? {
        b'-' | b'*' | b'+' if digits == 0 => 1,
        b'.' | b')' if (1..=9).contains(&digits) => digits + 1,
        _ => return None,
    };
    match bytes.get(mark) {
        None => Some(mark),
        Some(b' ' | b'\t') => Some(mark + 1),
        Some(_) => None,
    }
}

/// Parses `**Key:** value` or `**Key**: value`, with the key in lower case.
pub(crate) fn parse_labelled(line: &str) -> Option<(String, &str)> {
    let line = line.trim();
    if let Some(rest) = line.strip_prefix("**") {
        let (key, value) = rest.split_once("**")?;
        let (key, value) = match key.strip_suffix(':') {
            Some(key) => (key, value),
            None => (key, value.trim_start().strip_prefix(':')?),
        };
        return Some((key.trim().to_lowercase(), value.trim()));
    }
    None
}

/// Truncates to `most` characters, between words unless that loses much.
pub(super) fn truncate_at_word(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let end = text
        .char_indices()
        .nth(most.saturating_sub(1))
        .map_or(text.len(), |(at, _)| at);
    let head = &text[..end];
    let head = match head.rfind(char::is_whitespace) {
        Some(space) if space * 3 > head.len() * 2 => &head[..space],
        _ => head,
    };
    match most {
        0 => String::new(),
        _ => format!("{}…", head.trim_end()),
    }
}

/// Returns the days between two dates; negative if `then` is in the future.
pub fn days_since(then: Date, today: Date) -> i64 {
    i64::from((today - then).get_days())
}

/// Formats `2026-03-01 09:00:00`, in UTC.
pub(super) fn format_date_time(now: Timestamp) -> String {
    let time = now.to_zoned(TimeZone::UTC).datetime();
    time.strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// Formats `2026-03-01T09:00:00Z`.
pub(super) fn format_seconds(now: Timestamp) -> String {
    let time = now.to_zoned(TimeZone::UTC).datetime();
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Formats `2026-03-01T09:00:00.000Z`.
pub(super) fn format_milliseconds(now: Timestamp) -> String {
    format!("{:.3}", now)
}

/// Finds the first ISO date of a text.
pub fn first_date(text: &str) -> Option<Date> {
    text[first_date_span(text)?].parse().ok()
}

/// Returns the span of the first ISO date of a text.
pub(super) fn first_date_span(text: &str) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    (0..bytes.len().saturating_sub(9))
        .filter(|at| bytes[*at].is_ascii_digit() && bytes[at + 4] == b'-' && bytes[at + 7] == b'-')
        .filter(|at| *at == 0 || !bytes[at - 1].is_ascii_digit())
        .find(|at| {
            let date = text.get(*at..at + 10).map(str::parse::<Date>);
            date.is_some_and(|date| date.is_ok())
        })
        .map(|at| at..at + 10)
}

/// Returns `true` if a line contains a date, with or without a time, and
/// nothing else.
pub(super) fn is_date_alone(line: &str) -> bool {
    let line = line.trim().trim_matches(['*', '_', '`', '-']).trim();
    let Some(span) = first_date_span(line) else {
        return false;
    };
    let rest = &line[span.end..];
    let of_a_time = |c: char| c.is_ascii_digit() || matches!(c, ':' | '.' | '+' | '-' | ' ');
    let zone = rest.trim().trim_start_matches('T').trim_end_matches('Z');
    let zone = zone.trim_end().trim_end_matches("UTC");
    span.start == 0 && zone.chars().all(of_a_time)
}

/// Formats a duration in its largest fitting unit: `45 minutes`, `3 hours`.
pub fn duration_in_words(seconds: i64) -> String {
    let (count, unit) = match seconds {
        s if s < 2 * 3600 => (s / 60, "minute"),
        s if s < 2 * 86_400 => (s / 3600, "hour"),
        s => (s / 86_400, "day"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

/// Formats external text after a label: further lines are indented so that they
/// stay in the list item.
pub(super) fn indent_continuation(text: &str) -> String {
    let block = escape_markdown_block(text);
    let mut out = String::with_capacity(block.len());
    for (index, line) in block.lines().enumerate() {
        if index > 0 {
            out.push('\n');
            if !line.is_empty() {
                out.push_str("  ");
            }
        }
        out.push_str(line);
    }
    out
}

/// Returns external text as one inert line, or `empty` if nothing is left.
pub(super) fn inert_line_or(text: &str, empty: &str) -> String {
    let line = escape_markdown_line(text);
    if line.is_empty() {
        empty.to_owned()
    } else {
        line
    }
}

/// Renders external values as a bullet list; `None` for an empty one.
pub(super) fn render_bullets(values: &[String]) -> String {
    let lines: Vec<String> = values
        .iter()
        .map(|value| escape_markdown_line(value))
        .filter(|value| !value.is_empty())
        .map(|value| format!("- {value}"))
        .collect();
    if lines.is_empty() {
        "None".to_owned()
    } else {
        lines.join("\n")
    }
}

/// Returns the edit that adds an entry at the end: a heading with its text
/// directly below, as state files have it.
pub(super) fn append_entry(document: &Document, level: u8, title: &str, body: &str) -> TextEdit {
    let bare = document.append_section(level, title, "").text;
    let mut edit = document.append_section(level, title, body);
    if edit.text.len() > bare.len() {
        let blank = document.newline().len();
        edit.text = format!("{bare}{}", &edit.text[bare.len() + blank..]);
    }
    edit
}

/// Returns the edit that adds an entry of level 2 before an offset, else at the
/// end.
pub(super) fn add_entry(
    document: &Document,
    at: Option<usize>,
    title: &str,
    body: &str,
) -> TextEdit {
    let entry = append_entry(document, 2, title, body);
    let Some(at) = at else { return entry };
    let nl = document.newline();
    // Appended to an empty text, the edit is the entry alone.
    let empty = document::parse_document(nl);
    let alone = append_entry(&empty, 2, title, body).text;
    let alone = alone.trim_matches(['\n', '\r']);
    TextEdit {
        span: at..at,
        text: format!("{alone}{nl}{nl}"),
    }
}

/// Returns the edit that inserts a paragraph directly below the title.
pub(super) fn insert_below_title(document: &Document, line: &str) -> TextEdit {
    let nl = document.newline();
    let title = document.sections.iter().find(|section| section.level == 1);
    let at = title.map_or(document.body.start, |section| section.own.start);
    let before = if document.text[..at].ends_with(['\n', '\r']) {
        nl.to_owned()
    } else if title.is_some() {
        nl.repeat(2)
    } else {
        String::new()
    };
    let after = if document.text[at..].starts_with(['\n', '\r']) || at == document.text.len() {
        nl.to_owned()
    } else {
        nl.repeat(2)
    };
    TextEdit {
        span: at..at,
        text: format!("{before}{line}{after}"),
    }
}

/// Returns the end of the last non-blank line, without its line end.
pub(crate) fn end_of_text(text: &str) -> usize {
    let end = text.trim_end().len();
    let rest = &text[end..];
    end + rest.find(['\n', '\r']).unwrap_or(rest.len())
}

/// Applies one edit to a text.
pub(super) fn edit_text(
    path: &impl ToString,
    text: String,
    edit: impl FnOnce(&Document) -> TextEdit,
) -> Result<String, MindError> {
    let document = document::parse_document(text);
    let edit = edit(&document);
    apply_edits(path, &document.text, vec![edit])
}

pub(super) fn apply_edits(
    path: &impl ToString,
    text: &str,
    edits: Vec<TextEdit>,
) -> Result<String, MindError> {
    document::apply_edits(text, edits).map_err(|source| MindError::Edit {
        path: path.to_string(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_unset() {
        for unset in [
            "",
            "None",
            "None.",
            "none",
            "Not set",
            "[Phase Name]",
            "{{phase}}",
            "[YYYY-MM-DD]",
            " *None.* ",
            "-",
            "N/A",
        ] {
            assert!(is_unset(unset), "{unset:?}");
        }
        for set in [
            "P1",
            "[docs](a.md)",
            "[[note]]",
            "[ ]",
            "[x]",
            "None of the tests run",
            "[a] and [b]",
            "{{a}} and {{b}}",
            "```",
            "***",
        ] {
            assert!(!is_unset(set), "{set:?}");
        }
    }

    #[test]
    fn items_are_bullets_with_their_continuation() {
        let check = |text: &str, expect: &[&str]| assert_eq!(split_items(text), expect, "{text:?}");
        check("- a\n- b\n", &["a", "b"]);
        check("* a\n  more\n1. b\n2) c", &["a more", "b", "c"]);
        check("- a\n  - nested\n- b", &["a nested", "b"]);
        check("One\ntwo\n\nThree", &["One two", "Three"]);
        check("None.", &["None."]);
        check("-not a bullet", &["-not a bullet"]);
    }

    #[test]
    fn plain_takes_back_what_inert_added() {
        for text in ["# a", "a | b", "- x", "[[a]] b", "1. x", "<!-- c", "$& $1"] {
            assert_eq!(plain_value(&escape_markdown_line(text)), text);
        }
        assert_eq!(plain_value("a\n\tb\u{1b}[2J\u{202e}"), "a b[2J");
    }

    #[test]
    fn cuts_fall_between_words_and_never_in_a_character() {
        assert_eq!(truncate_at_word("short", 10), "short");
        assert_eq!(truncate_at_word("some longer words", 12), "some longer…");
        assert_eq!(truncate_at_word("ééééé", 3), "éé…");
        assert_eq!(truncate_at_word("ab", 0), "");
    }
}
