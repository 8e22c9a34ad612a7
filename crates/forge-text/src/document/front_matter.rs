//! The YAML block at the top of a document.
//!
//! A broken block never costs the body: it becomes a problem, and the entries
//! that can be read alone are kept.

use std::ops::Range;

use super::{ParseProblem, lines};

mod edit;
mod yaml;

pub use yaml::{YamlError, YamlValue, parse_yaml};

/// The entries of the front matter, with the place of the block.
#[derive(Debug, Clone, PartialEq)]
pub struct FrontMatter {
    /// Both delimiter lines included.
    pub span: Range<usize>,
    /// The lines between the delimiters.
    pub yaml: Range<usize>,
    /// In the order of the file. Dates are text.
    pub entries: Vec<(String, YamlValue)>,
}

impl FrontMatter {
    /// Returns the value of the first entry with this key.
    pub fn get(&self, key: &str) -> Option<&YamlValue> {
        self.entries
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value)
    }

    /// Returns the value of a key if it is a text.
    pub fn text(&self, key: &str) -> Option<&str> {
        match self.get(key)? {
            YamlValue::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the value of a key if it is a whole number.
    pub fn int(&self, key: &str) -> Option<i64> {
        match self.get(key)? {
            YamlValue::Int(number) => Some(*number),
            _ => None,
        }
    }

    /// Returns `true` if the value is `true`.
    pub fn flag(&self, key: &str) -> bool {
        matches!(self.get(key), Some(YamlValue::Bool(true)))
    }

    /// Returns the texts of a list; a single text counts as a list of one.
    pub fn list(&self, key: &str) -> Vec<&str> {
        fn as_text(value: &YamlValue) -> Option<&str> {
            match value {
                YamlValue::Text(text) => Some(text),
                _ => None,
            }
        }
        match self.get(key) {
            Some(YamlValue::List(values)) => values.iter().filter_map(as_text).collect(),
            Some(value) => as_text(value).into_iter().collect(),
            None => Vec::new(),
        }
    }

    /// Returns the place of each entry in the document's `text`, as whole
    /// lines. Works line by line, so that it also works where the YAML as a
    /// whole is broken.
    pub fn entry_spans(&self, text: &str) -> Vec<(String, Range<usize>)> {
        let shift =
            |lines: Range<usize>| self.yaml.start + lines.start..self.yaml.start + lines.end;
        edit::find_entries(&text[self.yaml.clone()])
            .into_iter()
            .map(|entry| (entry.key, shift(entry.lines)))
            .collect()
    }

    /// Returns the source text of a value on one line, for values where YAML's
    /// reading loses something, as with numbers.
    pub(super) fn scalar_source<'a>(&self, text: &'a str, key: &str) -> Option<&'a str> {
        let yaml = &text[self.yaml.clone()];
        let entry = edit::find_entries(yaml)
            .into_iter()
            .find(|entry| entry.key == key)?;
        Some(&yaml[entry.value]).filter(|value| !value.is_empty())
    }
}

/// Finds and reads the front matter; the second value is the body.
pub(super) fn read_front_matter(
    source: &str,
    line_starts: &[usize],
    problems: &mut Vec<ParseProblem>,
) -> (Option<FrontMatter>, Range<usize>) {
    let start = if source.starts_with('\u{feff}') {
        '\u{feff}'.len_utf8()
    } else {
        0
    };
    let whole = start..source.len();
    let mut at = start;
    let mut rest = lines::split_lines(&source[start..]).map(|line| {
        at += line.len();
        (line.trim_ascii_end(), at - line.len()..at)
    });
    let Some(("---", open)) = rest.next() else {
        return (None, whole);
    };
    let mut blank_first = false;
    let close = rest.enumerate().find_map(|(index, (line, span))| {
        blank_first |= index == 0 && line.is_empty();
        matches!(line, "---" | "...").then_some(span)
    });
    let Some(close) = close else {
        // With a blank line behind it, `---` is a rule and nothing is missing.
        if !blank_first {
            problems.push(ParseProblem {
                span: lines::trim_line_end(source, open),
                line: 1,
                message: "Front matter opens with `---` and is never closed; the whole text is \
                          read as Markdown"
                    .to_owned(),
            });
        }
        return (None, whole);
    };
    let yaml = open.end..close.start;
    let read = yaml::parse_yaml(&source[yaml.clone()]);
    if blank_first {
        // These are most likely two rules with text between them: if the text
        // decided, adding `a: b` to it would turn it into front matter.
        let meant = read.is_ok_and(|entries| !entries.is_empty())
            && !source[yaml.clone()].trim_ascii_start().starts_with('#');
        if meant {
            problems.push(ParseProblem {
                span: lines::trim_line_end(source, open),
                line: 1,
                message:
                    "Front matter must follow `---` without a blank line; it is read as Markdown"
                        .to_owned(),
            });
        }
        return (None, whole);
    }
    let entries = read.unwrap_or_else(|error| {
        problems.push(yaml_problem(source, line_starts, &yaml, &error));
        salvage_entries(&source[yaml.clone()])
    });
    let body = close.end..source.len();
    (
        Some(FrontMatter {
            span: start..close.end,
            yaml,
            entries,
        }),
        body,
    )
}

fn yaml_problem(
    source: &str,
    line_starts: &[usize],
    yaml: &Range<usize>,
    error: &yaml::YamlError,
) -> ParseProblem {
    let first = lines::line_number_of(line_starts, yaml.start);
    let last = lines::line_number_of(line_starts, yaml.end.saturating_sub(1).max(yaml.start));
    let line = (first + error.line.saturating_sub(1)).min(last);
    let start = line_starts[line - 1];
    let end = lines::line_end_of(line_starts, start, source.len());
    let column = match error.column {
        0 => String::new(),
        column => format!(" (column {column})"),
    };
    ParseProblem {
        span: lines::trim_line_end(source, start..end),
        line,
        message: format!("Front matter is not valid YAML: {}{column}", error.message),
    }
}

/// Reads each entry of broken YAML alone and keeps those that are valid. The
/// first of two entries with one key counts.
fn salvage_entries(yaml: &str) -> Vec<(String, YamlValue)> {
    let mut kept: Vec<(String, YamlValue)> = Vec::new();
    let mut known = std::collections::HashSet::new();
    for entry in edit::find_entries(yaml) {
        if !known.insert(entry.key.clone()) {
            continue;
        }
        let value = &yaml[entry.value.clone()];
        match yaml::parse_yaml(&yaml[entry.lines.clone()]) {
            Ok(read) if read.len() == 1 => kept.extend(read),
            // The usual mistake is a colon in unquoted text, and what was
            // meant is plain.
            _ if !value.is_empty()
                && !value.contains(['\n', '\r'])
                && !value.starts_with(['"', '\'', '[', '{', '&', '*', '!', '|', '>']) =>
            {
                kept.push((entry.key, YamlValue::Text(value.to_owned())));
            }
            _ => {}
        }
    }
    kept
}

#[cfg(test)]
mod tests;
