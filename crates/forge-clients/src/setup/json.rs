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
pub struct JsonItem {
    /// The keys that lead to the container.
    pub path: Vec<String>,
    /// The key of a property; none for an element of an array.
    pub name: Option<String>,
    /// The value of the entry.
    pub value: Value,
}

/// Selector of an item of a container.
#[derive(Debug, Clone, Copy)]
pub(super) enum ItemSelector<'a> {
    Element(usize),
    Property(&'a str),
}

/// Reason why a file cannot be edited, with the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxProblem {
    /// The line, counted from one.
    pub line: usize,
    /// What is wrong there.
    pub what: String,
}

/// Returns the value of a text. An empty text counts as `{}`, as clients treat
/// it.
pub fn read_value(text: &str) -> Result<Value, SyntaxProblem> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    if text.trim().is_empty() {
        return Ok(Value::Object(Default::default()));
    }
    Ok(parse_json(text)?.value.into())
}

/// Returns the text with all items in it. A property that exists already stays.
pub(super) fn add_items(text: &str, items: &[JsonItem]) -> Result<String, SyntaxProblem> {
    let (bom, body) = split_bom(text);
    let mut body = if body.trim().is_empty() {
        format!("{{}}{body}")
    } else {
        body.to_owned()
    };
    for item in items {
        body = add_item(&body, item)?;
    }
    Ok(format!("{bom}{body}"))
}

/// Returns the text without one item. Containers below the root that become
/// empty are removed too.
pub(super) fn remove_item(
    text: &str,
    path: &[&str],
    which: ItemSelector<'_>,
) -> Result<String, SyntaxProblem> {
    let (bom, body) = split_bom(text);
    let body = remove_from_body(body, path, which)?;
    Ok(format!("{bom}{body}"))
}

/// Returns the text without one element of the array `key` in an element of the
/// array at `path`.
pub(super) fn remove_inner_item(
    text: &str,
    path: &[&str],
    outer: usize,
    key: &str,
    inner: usize,
) -> Result<String, SyntaxProblem> {
    let (bom, body) = split_bom(text);
    let parsed = parse_json(body)?;
    let mut node = &parsed.value;
    for step in path {
        let object = parsed.as_object(node, "What holds it")?;
        match parsed.find_property(object, step)? {
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
    let Some(list @ Node::Array(_)) = parsed.find_property(group, key)? else {
        return Ok(text.to_owned());
    };
    let container = parsed.container_of(list);
    let Some(item) = container.items.get(inner) else {
        return Ok(text.to_owned());
    };
    Ok(format!("{bom}{}", cut_item(&parsed, &container, item)))
}

const BYTE_ORDER_MARK: char = '\u{feff}';

fn split_bom(text: &str) -> (&str, &str) {
    text.split_at(if text.starts_with(BYTE_ORDER_MARK) {
        BYTE_ORDER_MARK.len_utf8()
    } else {
        0
    })
}

/// Text with its parsed value and tokens.
struct ParsedJson<'a> {
    text: &'a str,
    value: Node<'a>,
    tokens: Vec<TokenAndRange<'a>>,
}

fn parse_json(text: &str) -> Result<ParsedJson<'_>, SyntaxProblem> {
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
    let result = parse_to_ast(text, &collect, &options).map_err(|error| SyntaxProblem {
        line: error.line_display(),
        what: error.kind().to_string(),
    })?;
    let (Some(value), Some(tokens)) = (result.value, result.tokens) else {
        return Err(SyntaxProblem {
            line: 1,
            what: "There is no value".to_owned(),
        });
    };
    Ok(ParsedJson {
        text,
        value,
        tokens,
    })
}

/// Spans of an object or array, as far as editing needs them.
struct JsonContainer {
    /// The span with its brackets.
    range: Range<usize>,
    items: Vec<Range<usize>>,
}

impl<'a> ParsedJson<'a> {
    fn line_at(&self, offset: usize) -> usize {
        1 + self.text[..offset].matches('\n').count()
    }

    fn problem_at(&self, at: &Node<'_>, what: String) -> SyntaxProblem {
        SyntaxProblem {
            line: self.line_at(at.range().start),
            what,
        }
    }

    fn as_object<'n>(
        &self,
        node: &'n Node<'a>,
        name: &str,
    ) -> Result<&'n Object<'a>, SyntaxProblem> {
        let Node::Object(object) = node else {
            return Err(self.problem_at(node, format!("{name} is not an object")));
        };
        Ok(object)
    }

    /// Returns the value of a key. Fails for a key that appears twice, whose
    /// meaning differs between clients.
    fn find_property<'n>(
        &self,
        object: &'n Object<'a>,
        key: &str,
    ) -> Result<Option<&'n Node<'a>>, SyntaxProblem> {
        let mut found = object.properties.iter().filter(|p| p.name.as_str() == key);
        let first = found.next();
        if let Some(second) = found.next() {
            return Err(self.problem_at(&second.value, format!("`{key}` appears twice")));
        }
        Ok(first.map(|property| &property.value))
    }

    fn container_of(&self, node: &Node<'_>) -> JsonContainer {
        let span = |range: jsonc_parser::common::Range| range.start..range.end;
        match node {
            Node::Object(object) => JsonContainer {
                range: span(object.range),
                items: object.properties.iter().map(|p| span(p.range)).collect(),
            },
            Node::Array(array) => JsonContainer {
                range: span(array.range),
                items: array.elements.iter().map(|e| span(e.range())).collect(),
            },
            other => JsonContainer {
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
    fn end_of_comments(&self, mut offset: usize) -> usize {
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

    fn line_ending(&self) -> &'static str {
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
    fn indent_unit(&self) -> &'a str {
        let root = self.container_of(&self.value);
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
fn add_item(text: &str, item: &JsonItem) -> Result<String, SyntaxProblem> {
    let parsed = parse_json(text)?;
    let mut node = &parsed.value;
    let mut name = "The file's value".to_owned();
    for (depth, key) in item.path.iter().enumerate() {
        let object = parsed.as_object(node, &name)?;
        let Some(next) = parsed.find_property(object, key)? else {
            let value = wrap_in_containers(&item.path[depth + 1..], item);
            return Ok(insert_item(&parsed, node, Some(key), &value));
        };
        node = next;
        name = format!("`{}`", item.path[..=depth].join("."));
    }
    match &item.name {
        Some(key) => {
            let object = parsed.as_object(node, &name)?;
            if parsed.find_property(object, key)?.is_some() {
                return Ok(text.to_owned());
            }
        }
        None if !matches!(node, Node::Array(_)) => {
            return Err(parsed.problem_at(node, format!("{name} is not an array")));
        }
        None => {}
    }
    Ok(insert_item(
        &parsed,
        node,
        item.name.as_deref(),
        &item.value,
    ))
}

/// Wraps an item in the containers that are still missing.
fn wrap_in_containers(path: &[String], item: &JsonItem) -> Value {
    let inner = match &item.name {
        Some(name) => single_key_object(name, item.value.clone()),
        None => Value::Array(vec![item.value.clone()]),
    };
    path.iter()
        .rev()
        .fold(inner, |value, key| single_key_object(key, value))
}

fn single_key_object(key: &str, value: Value) -> Value {
    Value::Object([(key.to_owned(), value)].into_iter().collect())
}

/// Inserts an item behind the last one.
fn insert_item(
    parsed: &ParsedJson<'_>,
    node: &Node<'_>,
    name: Option<&str>,
    value: &Value,
) -> String {
    let (text, newline, unit) = (parsed.text, parsed.line_ending(), parsed.indent_unit());
    let JsonContainer { range, items } = parsed.container_of(node);
    let outer = parsed.indent_of(range.start);
    let one_line = !text[range.clone()].contains('\n');
    let render = |style: &JsonStyle<'_>| {
        let key = name.map(|name| format!("{}: ", quote_json_string(name)));
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
        let style = JsonStyle::Lines {
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
    let at = parsed.end_of_comments(comma.as_ref().map_or(last.end, |comma| comma.end));
    let mut new = if one_line {
        format!(" {}", render(&JsonStyle::OneLine))
    } else {
        let indent = if parsed.is_first_on_its_line(last.start) {
            parsed.indent_of(last.start).to_owned()
        } else {
            format!("{outer}{unit}")
        };
        let style = JsonStyle::Lines {
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

fn remove_from_body(
    text: &str,
    path: &[&str],
    which: ItemSelector<'_>,
) -> Result<String, SyntaxProblem> {
    let parsed = parse_json(text)?;
    let mut node = &parsed.value;
    for key in path {
        let object = parsed.as_object(node, "What holds it")?;
        match parsed.find_property(object, key)? {
            Some(next) => node = next,
            None => return Ok(text.to_owned()),
        }
    }
    let container = parsed.container_of(node);
    let index = match (which, node) {
        (ItemSelector::Element(index), Node::Array(_)) => Some(index),
        (ItemSelector::Property(key), Node::Object(object)) => object
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
        return remove_from_body(text, above, ItemSelector::Property(own));
    }
    Ok(cut_item(&parsed, &container, item))
}

/// Removes an item with the comma and the white space that came with it.
fn cut_item(parsed: &ParsedJson<'_>, container: &JsonContainer, item: &Range<usize>) -> String {
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
enum JsonStyle<'a> {
    OneLine,
    Lines {
        newline: &'a str,
        unit: &'a str,
        /// The indentation of the line on which the value begins.
        indent: &'a str,
    },
}

impl JsonStyle<'_> {
    fn render(&self, value: &Value) -> String {
        let parts: Vec<String> = match value {
            Value::Object(map) if !map.is_empty() => map
                .iter()
                .map(|(key, value)| {
                    format!("{}: {}", quote_json_string(key), self.render_deeper(value))
                })
                .collect(),
            Value::Array(list) if !list.is_empty() => {
                list.iter().map(|value| self.render_deeper(value)).collect()
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
            JsonStyle::Lines {
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

    fn render_deeper(&self, value: &Value) -> String {
        match self {
            JsonStyle::OneLine => self.render(value),
            JsonStyle::Lines {
                newline,
                unit,
                indent,
            } => JsonStyle::Lines {
                newline,
                unit,
                indent: &format!("{indent}{unit}"),
            }
            .render(value),
        }
    }
}

fn quote_json_string(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}

#[cfg(test)]
#[path = "json/tests.rs"]
mod tests;
