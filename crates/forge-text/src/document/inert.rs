//! Makes text from outside safe for a document: it reads the same and never
//! becomes a heading, list, table, fence, comment, link or import. Removes
//! nothing that a reader can see.

use super::{lines, links};

/// Escapes `text` as one line without structure. Line ends become spaces,
/// control characters are removed, and a backslash goes before what Markdown
/// would act on.
pub fn escape_markdown_line(text: &str) -> String {
    escape_markdown(&to_single_line(text))
}

/// Escapes `text` as lines without structure. Indentation is removed, since it
/// could make code or continue a list; blank lines stay.
pub fn escape_markdown_block(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut blank = 0;
    for line in lines::split_lines(text) {
        let line = escape_markdown_line(line);
        if line.is_empty() {
            blank += 1;
            continue;
        }
        if !out.is_empty() {
            out.extend(std::iter::repeat_n('\n', blank + 1));
        }
        blank = 0;
        out.push_str(&line);
    }
    out
}

/// Returns `text` as one line: line ends and tabs as spaces, no control
/// characters and none of those that reorder text on the screen, no outer
/// spaces.
pub(super) fn to_single_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '\n' | '\r' | '\t' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => {
                if !out.ends_with(' ') {
                    out.push(' ');
                }
            }
            '\u{feff}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {}
            char if char.is_control() => {}
            char => out.push(char),
        }
    }
    out.trim().to_owned()
}

fn escape_markdown(line: &str) -> String {
    let mut out = String::with_capacity(line.len() + 8);
    let marked = find_block_marker(line);
    let bytes = line.as_bytes();
    let mut escaped = false;
    for (at, char) in line.char_indices() {
        let next = bytes.get(at + 1);
        let acts = match char {
            _ if marked == Some(at) => true,
            '|' => true,
            '[' => next == Some(&b'['),
            '<' => line[at..].starts_with("<!--"),
            '@' => {
                (at == 0 || line[..at].ends_with(char::is_whitespace))
                    && links::parse_import_at(line, at).is_some()
            }
            '^' => is_block_id(line, at),
            '\\' => at + 1 == line.len(),
            _ => false,
        };
        if acts && !escaped {
            out.push('\\');
        }
        out.push(char);
        escaped = char == '\\' && !escaped;
    }
    out
}

/// Returns the byte before which a backslash keeps the line from beginning a
/// block.
fn find_block_marker(line: &str) -> Option<usize> {
    let bytes = line.as_bytes();
    let first = *bytes.first()?;
    let only = |allowed: &[u8]| bytes.iter().all(|byte| allowed.contains(byte));
    let blank_at = |at: usize| matches!(bytes.get(at), None | Some(b' '));
    let run = bytes.iter().take_while(|byte| **byte == first).count();
    let acts = match first {
        b'#' => run <= 6 && blank_at(run),
        b'>' => true,
        b'-' => blank_at(1) || only(b"-: |"),
        b'+' => blank_at(1) || line.starts_with("+++"),
        b'*' => blank_at(1) || only(b"* "),
        b'_' => only(b"_ "),
        // It would make a heading of the line above.
        b'=' => only(b"="),
        b':' => only(b"-: |") || blank_at(1),
        b'`' | b'~' => run >= 3,
        // It ends front matter.
        b'.' => line == "...",
        b'[' => {
            // Of a definition, the name may go on in the next line.
            line.contains("]:")
                || !has_closing_bracket(&line[1..])
                || (matches!(bytes.get(1), Some(b' ' | b'x' | b'X')) && bytes.get(2) == Some(&b']'))
        }
        b'<' => {
            let next = bytes.get(1);
            next.is_some_and(|b| b.is_ascii_alphabetic() || matches!(b, b'/' | b'!' | b'?'))
                && !line.starts_with("<http://")
                && !line.starts_with("<https://")
        }
        _ => {
            let digits = bytes
                .iter()
                .take_while(|byte| byte.is_ascii_digit())
                .count();
            let list = (1..=9).contains(&digits)
                && matches!(bytes.get(digits), Some(b'.' | b')'))
                && blank_at(digits + 1);
            return list.then_some(digits);
        }
    };
    acts.then_some(0)
}

/// Returns `true` if a bracket without a backslash before it closes the open
/// one.
fn has_closing_bracket(rest: &str) -> bool {
    let mut escaped = false;
    rest.bytes().any(|byte| {
        let closes = byte == b']' && !escaped;
        escaped = byte == b'\\' && !escaped;
        closes
    })
}

/// Returns `true` if a block id may begin here. What follows it does not
/// matter: emphasis around it may end before the line does.
fn is_block_id(line: &str, at: usize) -> bool {
    let begins = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    (at == 0 || line[..at].ends_with(' ')) && line[at + 1..].bytes().next().is_some_and(begins)
}
