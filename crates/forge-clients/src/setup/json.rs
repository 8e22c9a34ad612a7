//! Adds entries to JSON that people keep by hand, and removes them again. Every
//! byte that is not part of an entry stays: comments, order, trailing commas,
//! line ends, a BOM. It never formats what it did not write.
//!
//! The places come from the ranges of a parse; the edit itself is an insertion
//! of text. A tree that prints itself was tried and tidies blank lines away.

use std::ops::Range;

use jsonc_parser::ast::{Object, Value as Node};
use jsonc_parser::common::Ranged;
use jsonc_parser::tokens::{Token, TokenAndRange};
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};
use serde_json::Value;

/// Entry to add: an element of the array at `path`, or, with a name, a property
/// of the object there. Missing containers are created.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// The keys that lead to the container.
    pub path: Vec<String>,
    /// The key of a property; none for an element of an array.
    pub name: Option<String>,
    /// The value of the entry.
    pub value: Value,
}

/// Selector of an item of a container.
#[derive(Debug, Clone, Copy)]
pub(super) enum Which<'a> {
    Element(usize),
    Property(&'a str),
}

/// Reason why a file cannot be edited, with the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The line, counted from one.
    pub line: usize,
    /// What is wrong there.
    pub what: String,
}

/// Returns the value of a text. An empty text counts as `{}`, as clients treat
/// it.
pub fn read(text: &str) -> Result<Value, Broken> {
    let text = text.strip_prefix(BOM).unwrap_or(text);
    if text.trim().is_empty() {
        return Ok(Value::Object(Default::default()));
    }
    Ok(parse(text)?.value.into())
}

/// Returns the text with all items in it. A property that exists already stays.
pub(super) fn add_all(text: &str, items: &[Item]) -> Result<String, Broken> {
    let (bom, body) = split_bom(text);
    let mut body = if body.trim().is_empty() {
        format!("{{}}{body}")
    } else {
        body.to_owned()
    };
    for item in items {
        body = add(&body, item)?;
    }
    Ok(format!("{bom}{body}"))
}

/// Returns the text without one item. Containers below the root that become
/// empty are removed too.
pub(super) fn remove(text: &str, path: &[&str], which: Which<'_>) -> Result<String, Broken> {
    let (bom, body) = split_bom(text);
    let body = remove_from(body, path, which)?;
    Ok(format!("{bom}{body}"))
}

/// Returns the text without one element of the array `key` in an element of the
/// array at `path`.
pub(super) fn remove_inner(
    text: &str,
    path: &[&str],
    outer: usize,
    key: &str,
    inner: usize,
) -> Result<String, Broken> {
    let (bom, body) = split_bom(text);
    let parsed = parse(body)?;
    let mut node = &parsed.value;
    for step in path {
        let object = parsed.object(node, "What holds it")?;
        match parsed.get(object, step)? {
            Some(next) => node = next,
            None => return Ok(text.to_owned()),
        }
    }
    let group = match node {
        Node::Array(array) => array.elements.get(outer),
        _ => None,
    };
    let Some(Node::Object(group)) = group else {
        return Ok(text.to_owned());
    };
    let Some(list @ Node::Array(_)) = parsed.get(group, key)? else {
        return Ok(text.to_owned());
    };
    let container = parsed.container(list);
    let Some(item) = container.items.get(inner) else {
        return Ok(text.to_owned());
    };
    Ok(format!("{bom}{}", cut(&parsed, &container, item)))
}

const BOM: char = '\u{feff}';

fn split_bom(text: &str) -> (&str, &str) {
    text.split_at(if text.starts_with(BOM) {
        BOM.len_utf8()
    } else {
        0
    })
}

/// Text with its parsed value and tokens.
struct Parsed<'a> {
    text: &'a str,
    value: Node<'a>,
    tokens: Vec<TokenAndRange<'a>>,
}

fn parse(text: &str) -> Result<Parsed<'_>, Broken> {
    let collect = CollectOptions {
        comments: CommentCollectionStrategy::AsTokens,
        tokens: true,
    };
    // Clients accept comments and trailing commas; the rest of JSON5 would be
    // accepted here and then break the client.
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let result = parse_to_ast(text, &collect, &options).map_err(|error| Broken {
        line: error.line_display(),
        what: error.kind().to_string(),
    })?;
    let (Some(value), Some(tokens)) = (result.value, result.tokens) else {
        return Err(Broken {
            line: 1,
            what: "There is no value".to_owned(),
        });
    };
    Ok(Parsed {
        text,
        value,
        tokens,
    })
}

/// Spans of an object or array, as far as editing needs them.
struct Container {
    /// The span with its brackets.
    range: Range<usize>,
    items: Vec<Range<usize>>,
}

impl<'a> Parsed<'a> {
    fn line(&self, offset: usize) -> usize {
        1 + self.text[..offset].matches('\n').count()
    }

    fn broken(&self, at: &Node<'_>, what: String) -> Broken {
        Broken {
            line: self.line(at.range().start),
            what,
        }
    }

    fn object<'n>(&self, node: &'n Node<'a>, name: &str) -> Result<&'n Object<'a>, Broken> {
        let Node::Object(object) = node else {
            return Err(self.broken(node, format!("{name} is not an object")));
        };
        Ok(object)
    }

    /// Returns the value of a key. Fails for a key that appears twice, whose
    /// meaning differs between clients.
    fn get<'n>(&self, object: &'n Object<'a>, key: &str) -> Result<Option<&'n Node<'a>>, Broken> {
        let mut found = object.properties.iter().filter(|p| p.name.as_str() == key);
        let first = found.next();
        if let Some(second) = found.next() {
            return Err(self.broken(&second.value, format!("`{key}` is there twice")));
        }
        Ok(first.map(|property| &property.value))
    }

    fn container(&self, node: &Node<'_>) -> Container {
        let span = |range: jsonc_parser::common::Range| range.start..range.end;
        match node {
            Node::Object(object) => Container {
                range: span(object.range),
                items: object.properties.iter().map(|p| span(p.range)).collect(),
            },
            Node::Array(array) => Container {
                range: span(array.range),
                items: array.elements.iter().map(|e| span(e.range())).collect(),
            },
            other => Container {
                range: span(other.range()),
                items: Vec::new(),
            },
        }
    }

    /// Returns the first token from `offset` on that is not a comment.
    fn token_after(&self, offset: usize) -> Option<&TokenAndRange<'a>> {
        let at = self.tokens.partition_point(|t| t.range.start < offset);
        self.tokens[at..].iter().find(|t| !is_comment(&t.token))
    }

    fn comma_after(&self, offset: usize) -> Option<Range<usize>> {
        let token = self.token_after(offset)?;
        (token.token == Token::Comma).then_some(token.range.start..token.range.end)
    }

    /// Returns the end of the comments that follow on the same line.
    fn after_comments(&self, mut offset: usize) -> usize {
        let at = self.tokens.partition_point(|t| t.range.start < offset);
        for token in &self.tokens[at..] {
            let between = &self.text[offset..token.range.start];
            if !is_comment(&token.token) || between.contains('\n') {
                break;
            }
            offset = token.range.end;
        }
        offset
    }

    fn newline(&self) -> &'static str {
        if self.text.contains("\r\n") {
            "\r\n"
        } else {
            "\n"
        }
    }

    /// Returns the white space at the beginning of the line of `offset`.
    fn indent_of(&self, offset: usize) -> &'a str {
        let start = self.text[..offset].rfind('\n').map_or(0, |at| at + 1);
        let line = &self.text[start..];
        &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
    }

    fn is_first_on_its_line(&self, offset: usize) -> bool {
        let before = self.text[..offset].trim_end_matches([' ', '\t']);
        before.ends_with('\n')
    }

    /// Returns one step of indentation, as the file has it.
    fn unit(&self) -> &'a str {
        let root = self.container(&self.value);
        match root.items.first() {
            Some(first) if self.is_first_on_its_line(first.start) => {
                let outer = self.indent_of(root.range.start);
                let inner = self.indent_of(first.start);
                inner.strip_prefix(outer).filter(|unit| !unit.is_empty())
            }
            _ => None,
        }
        .unwrap_or("  ")
    }
}

fn is_comment(token: &Token<'_>) -> bool {
    matches!(token, Token::CommentLine(_) | Token::CommentBlock(_))
}

/// Adds one item. Parses again each time, since the spans of an edited text are
/// no longer valid.
fn add(text: &str, item: &Item) -> Result<String, Broken> {
    let parsed = parse(text)?;
    let mut node = &parsed.value;
    let mut name = "The file's value".to_owned();
    for (depth, key) in item.path.iter().enumerate() {
        let object = parsed.object(node, &name)?;
        let Some(next) = parsed.get(object, key)? else {
            let value = nested(&item.path[depth + 1..], item);
            return Ok(insert(&parsed, node, Some(key), &value));
        };
        node = next;
        name = format!("`{}`", item.path[..=depth].join("."));
    }
    match &item.name {
        Some(key) => {
            let object = parsed.object(node, &name)?;
            if parsed.get(object, key)?.is_some() {
                return Ok(text.to_owned());
            }
        }
        None if !matches!(node, Node::Array(_)) => {
            return Err(parsed.broken(node, format!("{name} is not an array")));
        }
        None => {}
    }
    Ok(insert(&parsed, node, item.name.as_deref(), &item.value))
}

/// Wraps an item in the containers that are still missing.
fn nested(path: &[String], item: &Item) -> Value {
    let inner = match &item.name {
        Some(name) => object_of(name, item.value.clone()),
        None => Value::Array(vec![item.value.clone()]),
    };
    path.iter()
        .rev()
        .fold(inner, |value, key| object_of(key, value))
}

fn object_of(key: &str, value: Value) -> Value {
    Value::Object([(key.to_owned(), value)].into_iter().collect())
}

/// Inserts an item behind the last one.
fn insert(parsed: &Parsed<'_>, node: &Node<'_>, name: Option<&str>, value: &Value) -> String {
    let (text, newline, unit) = (parsed.text, parsed.newline(), parsed.unit());
    let Container { range, items } = parsed.container(node);
    let outer = parsed.indent_of(range.start);
    let one_line = !text[range.clone()].contains('\n');
    let render = |style: &Style<'_>| {
        let key = name.map(|name| format!("{}: ", quoted(name)));
        format!("{}{}", key.unwrap_or_default(), style.render(value))
    };
    let mut result = text.to_owned();
    let Some(last) = items.last() else {
        // Behind comments, if there are any, which were there first.
        let inside = range.start + 1..range.end - 1;
        let comment = parsed.tokens.iter().rfind(|t| {
            is_comment(&t.token) && t.range.start >= inside.start && t.range.end <= inside.end
        });
        let at = comment.map_or(inside.start, |comment| comment.range.end);
        let indent = format!("{outer}{unit}");
        let style = Style::Lines {
            newline,
            unit,
            indent: &indent,
        };
        let mut new = format!("{newline}{indent}{}", render(&style));
        if !text[at..inside.end].contains('\n') {
            new.push_str(newline);
            new.push_str(outer);
        }
        result.insert_str(at, &new);
        return result;
    };
    let comma = parsed.comma_after(last.end);
    // A comment on the same line belongs to the last item.
    let at = parsed.after_comments(comma.as_ref().map_or(last.end, |comma| comma.end));
    let mut new = if one_line {
        format!(" {}", render(&Style::OneLine))
    } else {
        let indent = if parsed.is_first_on_its_line(last.start) {
            parsed.indent_of(last.start).to_owned()
        } else {
            format!("{outer}{unit}")
        };
        let style = Style::Lines {
            newline,
            unit,
            indent: &indent,
        };
        format!("{newline}{indent}{}", render(&style))
    };
    if comma.is_some() {
        new.push(',');
    }
    // The later place first, so that the earlier offset stays valid.
    result.insert_str(at, &new);
    if comma.is_none() {
        result.insert(last.end, ',');
    }
    result
}

fn remove_from(text: &str, path: &[&str], which: Which<'_>) -> Result<String, Broken> {
    let parsed = parse(text)?;
    let mut node = &parsed.value;
    for key in path {
        let object = parsed.object(node, "What holds it")?;
        match parsed.get(object, key)? {
            Some(next) => node = next,
            None => return Ok(text.to_owned()),
        }
    }
    let container = parsed.container(node);
    let index = match (which, node) {
        (Which::Element(index), Node::Array(_)) => Some(index),
        (Which::Property(key), Node::Object(object)) => object
            .properties
            .iter()
            .position(|p| p.name.as_str() == key),
        _ => None,
    };
    let Some(item) = index.and_then(|index| container.items.get(index)) else {
        return Ok(text.to_owned());
    };
    // A comment in an otherwise empty container belongs to its author and keeps
    // it.
    let has_comments = parsed.tokens.iter().any(|t| {
        is_comment(&t.token)
            && t.range.start > container.range.start
            && t.range.end < container.range.end
            && !(item.start < t.range.start && t.range.end < item.end)
    });
    if let (1, false, [above @ .., own]) = (container.items.len(), has_comments, path) {
        return remove_from(text, above, Which::Property(own));
    }
    Ok(cut(&parsed, &container, item))
}

/// Removes an item with the comma and the white space that came with it.
fn cut(parsed: &Parsed<'_>, container: &Container, item: &Range<usize>) -> String {
    let text = parsed.text;
    let before = text[..item.start].trim_end().len();
    let own_line = text[before..item.start].contains('\n');
    let mut result = text.to_owned();
    if let Some(comma) = parsed.comma_after(item.end) {
        if own_line {
            result.replace_range(before..comma.end, "");
        } else {
            let rest = &text[comma.end..];
            let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
            result.replace_range(item.start..comma.end + blanks, "");
        }
        return result;
    }
    let previous = container
        .items
        .iter()
        .rfind(|other| other.end <= item.start);
    if let Some(previous) = previous {
        // The later range first, so that the earlier offset stays valid.
        result.replace_range(before..item.end, "");
        if let Some(comma) = parsed.comma_after(previous.end) {
            result.replace_range(comma, "");
        }
        return result;
    }
    let inside = container.range.start + 1..container.range.end - 1;
    let around = [&text[inside.start..item.start], &text[item.end..inside.end]];
    if around.iter().all(|part| part.trim().is_empty()) {
        result.replace_range(inside, "");
    } else {
        result.replace_range(before..item.end, "");
    }
    result
}

/// Layout of a new value.
enum Style<'a> {
    OneLine,
    Lines {
        newline: &'a str,
        unit: &'a str,
        /// The indentation of the line on which the value begins.
        indent: &'a str,
    },
}

impl Style<'_> {
    fn render(&self, value: &Value) -> String {
        let parts: Vec<String> = match value {
            Value::Object(map) if !map.is_empty() => map
                .iter()
                .map(|(key, value)| format!("{}: {}", quoted(key), self.deeper(value)))
                .collect(),
            Value::Array(list) if !list.is_empty() => {
                list.iter().map(|value| self.deeper(value)).collect()
            }
            scalar => return scalar.to_string(),
        };
        let (open, close) = if value.is_array() {
            ('[', ']')
        } else {
            ('{', '}')
        };
        let flat = |list: &Vec<Value>| list.iter().all(|v| !v.is_object() && !v.is_array());
        match self {
            Style::Lines {
                newline,
                unit,
                indent,
            } if !value.as_array().is_some_and(flat) => {
                let separator = format!(",{newline}{indent}{unit}");
                let parts = parts.join(&separator);
                format!("{open}{newline}{indent}{unit}{parts}{newline}{indent}{close}")
            }
            _ => format!("{open}{}{close}", parts.join(", ")),
        }
    }

    fn deeper(&self, value: &Value) -> String {
        match self {
            Style::OneLine => self.render(value),
            Style::Lines {
                newline,
                unit,
                indent,
            } => Style::Lines {
                newline,
                unit,
                indent: &format!("{indent}{unit}"),
            }
            .render(value),
        }
    }
}

fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}

#[cfg(test)]
#[path = "json/tests.rs"]
mod tests;
