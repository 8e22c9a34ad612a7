//! MDX: imports, exports, expressions and tags are not prose; the text
//! between tags is, and so are the titles of tags.

use super::{push_blank, split_end};

/// Attributes whose text a reader sees.
const SHOWN: [&str; 10] = [
    "title",
    "label",
    "description",
    "heading",
    "header",
    "summary",
    "caption",
    "question",
    "subtitle",
    "alt",
];

/// Maximum lines of a statement or tag; longer text is prose.
const MOST_LINES: usize = 200;

/// Returns the text with spaces in place of code, and what tags enclose moved
/// to the beginning of its lines, where Markdown looks for headings and lists.
pub(super) fn prose(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut lines = MdxLines::new(text);
    let mut fence: Option<(char, usize)> = None;
    let mut depth: usize = 0;
    let mut indent: Option<usize> = None;
    let mut is_front_matter = false;
    while let Some((number, line)) = lines.next() {
        let (body, end) = split_end(line);
        let plain = body.trim();
        if plain == "---" && (number == 0 || is_front_matter) {
            is_front_matter = !is_front_matter;
            out.push_str(line);
            continue;
        }
        if is_front_matter {
            out.push_str(line);
            continue;
        }
        if fence.is_none() && depth == 0 && is_statement(body) {
            push_blank(&mut out, body);
            out.push_str(end);
            lines.blank_statement(body, &mut out);
            continue;
        }
        let own = body.len() - body.trim_start_matches([' ', '\t']).len();
        if depth > 0 && indent.is_none() && !plain.is_empty() {
            indent = Some(own);
        }
        let moved = match indent {
            Some(indent) if depth > 0 => own.min(indent),
            _ => 0,
        };
        let body = &body[moved..];
        if let Some(open) = fence_of(body) {
            match fence {
                None => fence = Some(open),
                Some((sign, length)) if open.0 == sign && open.1 >= length => fence = None,
                Some(_) => {}
            }
            out.push_str(body);
        } else if fence.is_some() {
            out.push_str(body);
        } else if let Some(directive) = body.trim_start().strip_prefix(":::") {
            push_blank(&mut out, &body[..body.len() - directive.len()]);
            out.push_str(directive);
        } else {
            let before = depth;
            let open = inline(body, &mut depth, &mut out);
            if open {
                // A tag or an expression that continues in the next lines.
                push_moved(moved, end, &mut out);
                lines.blank_tag(&mut depth, &mut out);
                if depth != before {
                    indent = None;
                }
                continue;
            }
            if depth != before {
                indent = None;
            }
        }
        push_moved(moved, end, &mut out);
    }
    out
}

/// What was taken from the beginning of a line, put to its end.
fn push_moved(moved: usize, end: &str, out: &mut String) {
    out.extend(std::iter::repeat_n(' ', moved));
    out.push_str(end);
}

struct MdxLines<'a> {
    lines: std::iter::Peekable<std::iter::Enumerate<std::str::SplitInclusive<'a, char>>>,
}

impl<'a> MdxLines<'a> {
    fn new(text: &'a str) -> MdxLines<'a> {
        MdxLines {
            lines: text.split_inclusive('\n').enumerate().peekable(),
        }
    }

    fn next(&mut self) -> Option<(usize, &'a str)> {
        self.lines.next()
    }

    /// Blanks the rest of a statement: up to the empty line behind its last
    /// bracket.
    fn blank_statement(&mut self, first: &str, out: &mut String) {
        let mut open = count_open_brackets(first);
        for _ in 0..MOST_LINES {
            let Some((_, line)) = self.lines.peek() else {
                return;
            };
            if open <= 0 && (line.trim().is_empty() || is_prose_start(line)) {
                return;
            }
            let (body, end) = split_end(line);
            open += count_open_brackets(body);
            push_blank(out, body);
            out.push_str(end);
            self.lines.next();
        }
    }

    /// Blanks the rest of a tag whose end is in a later line, apart from the
    /// titles that it carries.
    fn blank_tag(&mut self, depth: &mut usize, out: &mut String) {
        let mut braces = 0_i64;
        for _ in 0..MOST_LINES {
            let Some((_, line)) = self.lines.next() else {
                return;
            };
            let (body, end) = split_end(line);
            let close = tag_end(body, &mut braces);
            let attributes = &body[..close.unwrap_or(body.len())];
            push_attributes(attributes, out);
            if let Some(close) = close {
                if attributes.trim_end().ends_with('/') {
                    *depth = depth.saturating_sub(1);
                }
                out.push(' ');
                let mut ignored = *depth;
                inline(&body[close + 1..], &mut ignored, out);
                *depth = ignored;
                out.push_str(end);
                return;
            }
            out.push_str(end);
        }
    }
}

fn is_statement(line: &str) -> bool {
    ["import ", "import{", "export "]
        .iter()
        .any(|word| line.starts_with(word))
        && (line.contains(['{', '\'', '"', '=', '(']))
}

/// A heading, a list or a tag, which ends a statement.
fn is_prose_start(line: &str) -> bool {
    line.starts_with(['#', '<', '-', '*', '>'])
}

fn count_open_brackets(line: &str) -> i64 {
    line.chars()
        .map(|c| match c {
            '{' | '(' | '[' => 1,
            '}' | ')' | ']' => -1,
            _ => 0,
        })
        .sum()
}

fn fence_of(line: &str) -> Option<(char, usize)> {
    let line = line.trim_start();
    let sign = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = line.chars().take_while(|c| *c == sign).count();
    (length >= 3).then_some((sign, length))
}

/// Writes one line without its tags and expressions. Returns `true` if a tag
/// is open at its end.
fn inline(line: &str, depth: &mut usize, out: &mut String) -> bool {
    let mut rest = line;
    while let Some(at) = rest.find(['<', '{', '`']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if rest.starts_with('`') {
            let length = rest.len() - rest.trim_start_matches('`').len();
            let close = rest[length..].find(&rest[..length]);
            let whole = close.map_or(length, |close| length * 2 + close);
            out.push_str(&rest[..whole]);
            rest = &rest[whole..];
        } else if rest.starts_with('{') {
            let Some(close) = closing_brace(rest) else {
                out.push_str(rest);
                return false;
            };
            push_blank(out, &rest[..=close]);
            rest = &rest[close + 1..];
        } else {
            let Some(closes) = tag(rest) else {
                out.push('<');
                rest = &rest[1..];
                continue;
            };
            let mut braces = 0;
            let Some(close) = tag_end(rest, &mut braces) else {
                push_attributes(rest, out);
                if !closes {
                    *depth += 1;
                }
                return true;
            };
            let inner = &rest[..close];
            match () {
                () if closes => *depth = depth.saturating_sub(1),
                () if inner.ends_with('/') || is_void(inner) => {}
                () => *depth += 1,
            }
            push_attributes(inner, out);
            out.push(' ');
            rest = &rest[close + 1..];
        }
    }
    out.push_str(rest);
    false
}

/// Whether a tag begins here, and whether it is a closing one.
fn tag(text: &str) -> Option<bool> {
    let name = text[1..].strip_prefix('/');
    let first = name.unwrap_or(&text[1..]).chars().next();
    let begins = first.is_none_or(|c| c.is_ascii_alphabetic() || c == '>');
    // `<https://…>` is a link.
    let is_link = text[1..].starts_with("http:") || text[1..].starts_with("https:");
    (begins && !is_link).then_some(name.is_some())
}

/// Finds the `>` that ends a tag, outside strings and braces.
fn tag_end(text: &str, braces: &mut i64) -> Option<usize> {
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            (_, Some(_)) => {}
            ('"' | '\'', None) if *braces == 0 => quote = Some(c),
            ('{', None) => *braces += 1,
            ('}', None) => *braces -= 1,
            ('>', None) if *braces <= 0 => return Some(at),
            _ => {}
        }
    }
    None
}

fn closing_brace(text: &str) -> Option<usize> {
    let mut open = 0;
    for (at, c) in text.char_indices() {
        match c {
            '{' => open += 1,
            '}' => {
                open -= 1;
                if open == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

fn is_void(tag: &str) -> bool {
    let name = tag[1..].split([' ', '\t', '/']).next().unwrap_or_default();
    matches!(
        name,
        "br" | "hr" | "img" | "input" | "source" | "link" | "meta"
    )
}

/// Writes spaces for the inside of a tag, and the texts that it shows.
fn push_attributes(inner: &str, out: &mut String) {
    let mut at = 0;
    while let Some(found) = inner[at..].find("=\"") {
        let equals = at + found;
        let value = equals + 2;
        let Some(length) = inner[value..].find('"') else {
            break;
        };
        let before = &inner[at..equals];
        let name = before.rsplit([' ', '\t']).next().unwrap_or(before);
        push_blank(out, &inner[at..value]);
        if SHOWN.contains(&name) {
            out.push_str(&inner[value..value + length]);
        } else {
            push_blank(out, &inner[value..value + length]);
        }
        out.push(' ');
        at = value + length + 1;
    }
    push_blank(out, &inner[at..]);
}
