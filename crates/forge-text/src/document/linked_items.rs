//! A line of a list that leads to a document: `- [label](target) — text`.
//! Whatever a file is called, the target leads back to it, and the label and
//! the text never become anything else than text.

use super::{Document, LinkKind, escape_markdown_line};

/// Formats `[label](target)` for a path relative to the file that holds the
/// line.
pub fn format_link(label: &str, path: &str) -> String {
    let mut out = String::from("[");
    // Whether the character at hand has a backslash of its own before it, put
    // there by `escape_markdown_line` or by a name that has one.
    let mut escaped = false;
    for c in escape_markdown_line(label).chars() {
        if matches!(c, '[' | ']' | '`' | '<' | '>' | '*') && !escaped {
            out.push('\\');
        }
        out.push(c);
        escaped = c == '\\' && !escaped;
    }
    if escaped {
        out.push('\\');
    }
    out.push_str("](");
    for c in path.chars() {
        if c.is_alphanumeric() || matches!(c, '-' | '.' | '_' | '/' | '~') {
            out.push(c);
        } else {
            let mut bytes = [0; 4];
            for byte in c.encode_utf8(&mut bytes).bytes() {
                out.push_str(&format!("%{byte:02X}"));
            }
        }
    }
    out.push(')');
    out
}

/// Returns the list items of a document that begin with a link. Links within
/// sentences are only mentions, and code is skipped.
pub fn find_linked_items(document: &Document) -> impl Iterator<Item = LinkedItem<'_>> {
    document
        .links
        .iter()
        .filter(|link| link.kind == LinkKind::Inline)
        .filter_map(|link| {
            let (line, _) = document.line_range(&link.span);
            let start = document.line_starts[line - 1];
            let end = document.line_starts.get(line).copied();
            let end = end.unwrap_or(document.text.len());
            is_list_marker(&document.text[start..link.span.start]).then(|| LinkedItem {
                // Behind a `?` or `#` there is no file name any more.
                target: &link.target,
                line,
                span: start..end,
                text: document.text[link.span.end.min(end)..end].trim(),
            })
        })
}

/// A list item that leads to a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkedItem<'a> {
    /// The path, relative to the file that holds the line.
    pub target: &'a str,
    /// Its line in the document, from one.
    pub line: usize,
    /// The whole line with its line end.
    pub span: std::ops::Range<usize>,
    /// The text behind the link.
    pub text: &'a str,
}

fn is_list_marker(before: &str) -> bool {
    let marker = before.trim_start_matches('\u{feff}').trim();
    matches!(marker, "-" | "*" | "+")
        || marker
            .strip_suffix(['.', ')'])
            .is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document;
    use proptest::prelude::*;

    fn check(text: &str, expect: &[(&str, usize, &str)]) {
        let document = document::parse_document(text);
        let got: Vec<_> = find_linked_items(&document)
            .map(|e| (e.target, e.line, e.text))
            .collect();
        assert_eq!(got, expect, "for {text:?}");
    }

    #[test]
    fn only_list_items_that_begin_with_a_link_count() {
        check("- [a](a.md) — why\n", &[("a.md", 1, "— why")]);
        check(
            "* [a](<a b.md>)\n1. [c](c.md)\n",
            &[("a b.md", 1, ""), ("c.md", 2, "")],
        );
        check("See [a](a.md).\n\n- about [b](b.md)\n", &[]);
        check("```\n- [a](a.md)\n```\n", &[]);
        check("<!--\n- [a](a.md)\n-->\n", &[]);
        check("- [x\\]y](x%20y.md) z\r\n", &[("x y.md", 1, "z")]);
    }

    proptest! {
        #[test]
        fn any_name_survives(
            names in prop::collection::vec("[a-z #%?()\\[\\]<>!&*_`'\"|@^~$:;,+=\\\\{}éß日.-]{1,12}", 1..4),
            text in "[ -~é\n]{0,30}",
        ) {
            let lines: String = names
                .iter()
                .map(|name| format!("- {} — {}\n", format_link(name, name), document::escape_markdown_line(&text)))
                .collect();
            let document = document::parse_document(format!("# List\n\n{lines}"));
            let got: Vec<&str> = find_linked_items(&document).map(|e| e.target).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            prop_assert_eq!(got, names, "{}", lines);
        }
    }
}
