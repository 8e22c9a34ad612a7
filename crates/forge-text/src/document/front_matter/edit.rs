//! Changes one entry of the front matter and leaves every other byte alone.
//! Never renders YAML that is already there, unless no line holds the entry alone.

use std::ops::Range;

use super::super::{Document, TextEdit, lines};
use super::yaml::{self, YamlValue};

impl Document {
    /// Sets `key` to a text, number or flag. Comments, order and all other
    /// entries stay as they are; the block is created where there is none.
    pub fn set_front_matter(&self, key: &str, value: &str) -> TextEdit {
        self.set_entry(key, &format_scalar(value), |old| match old {
            YamlValue::List(_) | YamlValue::Map(_) | YamlValue::Null => false,
            scalar => scalar.to_string() == value,
        })
    }

    /// Sets `key` to a list of texts.
    pub fn set_front_matter_list(&self, key: &str, values: &[&str]) -> TextEdit {
        let list = YamlValue::List(
            values
                .iter()
                .map(|value| YamlValue::Text((*value).to_owned()))
                .collect(),
        );
        self.set_entry(key, &format_flow(&list), |old| *old == list)
    }

    fn set_entry(&self, key: &str, value: &str, is_same: impl Fn(&YamlValue) -> bool) -> TextEdit {
        let newline = self.newline();
        let key_text = format_scalar(key);
        let Some(front_matter) = &self.front_matter else {
            let at = self.body.start;
            let rest = &self.text[at..];
            // A return of ours and a feed of theirs would be one line end.
            let merges = newline == "\r" && rest.starts_with('\n');
            let blank = rest.trim_ascii().is_empty() || rest.starts_with(['\n', '\r']);
            let gap = if blank && !merges { "" } else { newline };
            let text = format!("---{newline}{key_text}: {value}{newline}---{newline}{gap}");
            return TextEdit { span: at..at, text };
        };
        let span = front_matter.yaml.clone();
        let source = lines::with_line_feeds(&self.text);
        let yaml = &source[span.clone()];
        let old = yaml::parse_yaml(yaml).ok();
        if old.is_some() && front_matter.get(key).is_some_and(is_same) {
            return TextEdit {
                span: span.start..span.start,
                text: String::new(),
            };
        }
        let edit = edit_entry_lines(yaml, key, &key_text, value, newline);
        let edit = match old {
            Some(old) if !keeps_other_entries(yaml, &edit, key, &old) => {
                // The entry shares its lines with others, as in `{a: 1, b: 2}`.
                rewrite_mapping(yaml, &old, key, value, newline)
            }
            _ => edit,
        };
        TextEdit {
            span: span.start + edit.span.start..span.start + edit.span.end,
            text: edit.text,
        }
    }
}

/// An entry at the outermost level, by its lines.
pub(super) struct EntryLines {
    pub(super) key: String,
    /// From the key to the end of the value's last line, line end included.
    pub(super) lines: Range<usize>,
    /// The value without a comment behind it; may be several lines.
    pub(super) value: Range<usize>,
    /// A comment on the key's line, `#` included.
    comment: Option<Range<usize>>,
}

/// Returns the entries of a block mapping. Works line by line, so that it also
/// works where the YAML as a whole is broken.
pub(super) fn find_entries(yaml: &str) -> Vec<EntryLines> {
    let mut entries: Vec<EntryLines> = Vec::new();
    let mut at = 0;
    for line in lines::split_lines(yaml) {
        let span = at..at + line.len();
        at = span.end;
        if line.trim_ascii().is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some((key, colon)) = split_key(line) {
            let (value, comment) = split_value(line, colon + 1);
            let shift = |range: Range<usize>| span.start + range.start..span.start + range.end;
            entries.push(EntryLines {
                key,
                value: shift(value),
                comment: comment.map(shift),
                lines: span,
            });
        } else if let Some(last) = entries.last_mut() {
            last.lines.end = span.end;
            last.value.end = lines::trim_line_end(yaml, span).end;
        }
    }
    entries
}

/// Formats a text as a YAML scalar, quoted where it would be read as something
/// else. Numbers and flags that read back as they are written stay plain.
pub(super) fn format_scalar(value: &str) -> String {
    let plain = !value.is_empty()
        && value.trim() == value
        // A key of them would end the document.
        && !value.starts_with("---")
        && !value.starts_with("...")
        && !value.chars().any(needs_escape)
        // Newer YAML reads them as text, but other tools may still read older
        // YAML.
        && !is_old_boolean(value)
        && match yaml::parse_yaml(&format!("k: {value}\n")).as_deref() {
            Ok([(_, YamlValue::Text(text))]) => text == value,
            Ok([(_, read @ (YamlValue::Bool(_) | YamlValue::Int(_) | YamlValue::Float(_)))]) => {
                read.to_string() == value
            }
            _ => false,
        };
    if plain {
        value.to_owned()
    } else {
        quote_scalar(value)
    }
}

/// Formats a value on one line.
pub(super) fn format_flow(value: &YamlValue) -> String {
    match value {
        YamlValue::Null => "null".to_owned(),
        YamlValue::Bool(value) => value.to_string(),
        YamlValue::Int(value) => value.to_string(),
        YamlValue::Float(value) => format!("{value:?}"),
        YamlValue::Text(text) => format_flow_text(text),
        YamlValue::List(values) => {
            format!(
                "[{}]",
                values
                    .iter()
                    .map(format_flow)
                    .collect::<Vec<_>>()
                    .join(", ")
            )
        }
        YamlValue::Map(entries) => {
            let entry = |(key, value): &(String, YamlValue)| {
                format!("{}: {}", format_flow_text(key), format_flow(value))
            };
            format!(
                "{{{}}}",
                entries.iter().map(entry).collect::<Vec<_>>().join(", ")
            )
        }
    }
}

fn format_flow_text(text: &str) -> String {
    let simple = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'/'))
        && !is_old_boolean(text)
        && !["true", "false", "null"]
            .iter()
            .any(|word| word.eq_ignore_ascii_case(text));
    if simple {
        text.to_owned()
    } else {
        quote_scalar(text)
    }
}

fn edit_entry_lines(yaml: &str, key: &str, key_text: &str, value: &str, newline: &str) -> TextEdit {
    let Some(entry) = find_entries(yaml)
        .into_iter()
        .find(|entry| entry.key == key)
    else {
        return TextEdit {
            span: yaml.len()..yaml.len(),
            text: format!("{key_text}: {value}{newline}"),
        };
    };
    let before = yaml.as_bytes()[..entry.value.start].last();
    let space = if matches!(before, Some(b' ' | b'\t')) {
        ""
    } else {
        " "
    };
    // A comment behind a value of one line is outside of it and stays; one that
    // heads a value of several lines moves behind the new one.
    let comment = entry
        .comment
        .filter(|comment| comment.start < entry.value.end)
        .map(|comment| format!(" {}", &yaml[comment]))
        .unwrap_or_default();
    let after = yaml.as_bytes().get(entry.value.end);
    let gap = if after == Some(&b'#') { " " } else { "" };
    TextEdit {
        span: entry.value,
        text: format!("{space}{value}{comment}{gap}"),
    }
}

fn keeps_other_entries(
    yaml: &str,
    edit: &TextEdit,
    key: &str,
    old: &[(String, YamlValue)],
) -> bool {
    let mut text = yaml.to_owned();
    text.replace_range(edit.span.clone(), &edit.text);
    let others = |entries: &[(String, YamlValue)]| {
        entries
            .iter()
            .filter(|(name, _)| name != key)
            .cloned()
            .collect::<Vec<_>>()
    };
    yaml::parse_yaml(&text)
        .is_ok_and(|new| others(&new) == others(old) && new.iter().any(|(name, _)| name == key))
}

fn rewrite_mapping(
    yaml: &str,
    old: &[(String, YamlValue)],
    key: &str,
    value: &str,
    newline: &str,
) -> TextEdit {
    let mut text = String::new();
    let mut add = |name: &str, value: &str| {
        text.push_str(&format!("{}: {value}{newline}", format_scalar(name)));
    };
    let mut set = false;
    for (name, old) in old {
        if name == key {
            set = true;
            add(name, value);
        } else {
            add(name, &format_flow(old));
        }
    }
    if !set {
        add(key, value);
    }
    TextEdit {
        span: 0..yaml.len(),
        text,
    }
}

/// Returns the key that a line at the outermost level begins with, and the
/// place of its colon.
fn split_key(line: &str) -> Option<(String, usize)> {
    let ends_key = |at: usize| {
        matches!(
            line.as_bytes().get(at + 1),
            None | Some(b' ' | b'\t' | b'\r' | b'\n')
        )
    };
    let first = line.chars().next()?;
    match first {
        '"' | '\'' => {
            let end = find_quote_end(line)?;
            let colon = end + line[end..].len() - line[end..].trim_start_matches([' ', '\t']).len();
            if line.as_bytes().get(colon) != Some(&b':') || !ends_key(colon) {
                return None;
            }
            let read = yaml::parse_yaml(&format!("k: {}\n", &line[..end])).ok()?;
            let (_, key) = read.into_iter().next()?;
            Some((key.to_string(), colon))
        }
        ' ' | '\t' | '#' | '[' | ']' | '{' | '}' | ',' | '&' | '*' | '!' | '|' | '>' | '%'
        | '@' | '`' => None,
        _ => {
            let colon = memchr::memchr_iter(b':', line.as_bytes()).find(|at| ends_key(*at))?;
            let key = line[..colon].trim_end();
            let item = key.starts_with("- ") || key.starts_with("? ");
            (!key.is_empty() && !item && !key.contains(" #")).then(|| (key.to_owned(), colon))
        }
    }
}

/// Returns the value that begins on a key's line behind the colon, and the
/// comment behind it.
fn split_value(line: &str, from: usize) -> (Range<usize>, Option<Range<usize>>) {
    let line = &line[..lines::trim_line_end(line, 0..line.len()).end];
    let rest = &line[from..];
    let start = from + rest.len() - rest.trim_start_matches([' ', '\t']).len();
    let value = &line[start..];
    let closed = match value.as_bytes().first() {
        Some(b'"' | b'\'') => find_quote_end(value),
        Some(b'[' | b'{') => find_flow_end(value),
        _ => Some(0),
    };
    let Some(closed) = closed else {
        return (start..line.len(), None);
    };
    let plain = &line[start + closed..];
    let hash = memchr::memchr_iter(b'#', plain.as_bytes()).find(|at| {
        let before = line.as_bytes()[..start + closed + at].last();
        matches!(before, Some(b' ' | b'\t'))
    });
    let end = start + closed + plain[..hash.unwrap_or(plain.len())].trim_end().len();
    if end == start {
        // Nothing on this line: the value may follow on the next ones.
        let comment = hash.map(|at| start + closed + at..line.trim_end().len());
        return (from..from, comment);
    }
    (
        start..end,
        hash.map(|at| start + closed + at..line.trim_end().len()),
    )
}

/// Returns the place behind the quote that closes the one at the start of
/// `text`.
fn find_quote_end(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let quote = bytes[0];
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if quote == b'"' => at += 1,
            byte if byte == quote => {
                if quote == b'\'' && bytes.get(at + 1) == Some(&quote) {
                    at += 1;
                } else {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// Returns the place behind the bracket that closes the one at the start of
/// `text`.
fn find_flow_end(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut depth = 0_usize;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            b'"' | b'\'' if !bytes[at - 1].is_ascii_alphanumeric() => {
                at += find_quote_end(&text[at..])?;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

fn quote_scalar(value: &str) -> String {
    let mut out = String::with_capacity(value.len() + 2);
    out.push('"');
    for char in value.chars() {
        match char {
            '"' | '\\' => out.extend(['\\', char]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            char if needs_escape(char) => match u32::from(char) {
                code @ 0..=0xff => out.push_str(&format!("\\x{code:02X}")),
                code @ 0x100..=0xffff => out.push_str(&format!("\\u{code:04X}")),
                code => out.push_str(&format!("\\U{code:08X}")),
            },
            char => out.push(char),
        }
    }
    out.push('"');
    out
}

fn needs_escape(char: char) -> bool {
    char.is_control()
        || matches!(
            char,
            '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
        )
}

/// Returns `true` for words that YAML 1.1 reads as booleans.
fn is_old_boolean(value: &str) -> bool {
    ["y", "n", "yes", "no", "on", "off"]
        .iter()
        .any(|word| word.eq_ignore_ascii_case(value))
}
