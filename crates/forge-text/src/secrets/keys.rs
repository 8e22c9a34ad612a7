//! Keys of several lines: from the line that opens one to the line that closes
//! it, however long, and pieces of one whose first or last line is missing.

use std::ops::Range;

use crate::work::record_work;

use super::checks::has_char;

pub(super) const PRIVATE_KEY_RULE: &str = "private-key";

/// Finds the key that begins at `at`, where `-----BEGIN ` is.
pub(super) fn find_pem_key(text: &str, at: usize) -> Option<Range<usize>> {
    let head = line_at(text, at);
    let title = head.strip_prefix("-----BEGIN ")?;
    let title = &title[..title.find("-----")?];
    if !title.contains("PRIVATE KEY") {
        return None;
    }
    let body = at + "-----BEGIN ".len() + title.len() + "-----".len();
    // The next line of dashes closes it, or opens another.
    let dashes = text[body..].find("-----").map(|found| body + found);
    let closing = dashes.filter(|&it| text[it..].starts_with("-----END "));
    if let Some(end) = closing
        && let rest = line_at(text, end + 9)
        && let Some(close) = rest.find("-----")
        && rest[..close].contains("PRIVATE KEY")
    {
        return has_key_body(&text[body..end]).then_some(at..end + 9 + close + 5);
    }
    // Cut off: as far as there are lines of Base64.
    let mut end = body;
    for piece in text[body..].split_inclusive(|c: char| c.is_ascii_whitespace()) {
        let word = piece.trim_end();
        let long = word.bytes().take_while(|&it| is_base64_byte(it)).count();
        if long < word.len() || (long > 0 && long < 40 && text[body..end].trim().is_empty()) {
            end += if long >= 40 { long } else { 0 };
            break;
        }
        end += piece.len();
    }
    let end = body + text[body..end].trim_end().len();
    has_key_body(&text[body..end]).then_some(at..end)
}

/// Returns the beginning of a line, as long as a title can be.
fn line_at(text: &str, at: usize) -> &str {
    let near = &text[at..text.floor_char_boundary(at + 80)];
    near.split(['\n', '\r']).next().unwrap_or(near)
}

/// Returns `true` if there are lines of a key. A text that only mentions the
/// first and last line of a key has none.
fn has_key_body(text: &str) -> bool {
    let mut lines = text.as_bytes().split(|&byte| !is_base64_byte(byte));
    lines.any(|line| line.len() >= 32)
}

fn is_base64_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// Finds the private lines of a PuTTY key at `Private-Lines: `. Also returns
/// where they end, key or not: no other key can begin before that.
pub(super) fn find_putty_lines(text: &str, at: usize) -> (Option<Range<usize>>, usize) {
    let line = line_at(text, at);
    record_work(line.len());
    let head = at + line.len();
    let rest = text[head..].trim_start_matches('\r');
    if !rest.starts_with('\n') {
        return (None, at);
    }
    let head = text.len() - rest.len() + 1;
    let mut end = head;
    for line in text[head..].split_inclusive('\n') {
        record_work(line.len());
        let word = line.trim();
        if word.is_empty() || !word.bytes().all(is_base64_byte) {
            break;
        }
        end += line.len();
    }
    let body = text[head..end].trim_end();
    let span = has_key_body(body).then(|| head..head + body.len());
    (span, end)
}

/// Finds lines of a key whose first or last line is missing: runs of Base64
/// lines of one length, or what is before the last line of a key.
pub(super) fn find_key_pieces(text: &str) -> Vec<Range<usize>> {
    const MIN_KEY_LINES: usize = 3;
    let mut found = Vec::new();
    let mut run: Option<(Range<usize>, usize, usize)> = None;
    let mut public = false;
    let mut at = 0;
    let mut close = |run: &mut Option<(Range<usize>, usize, usize)>, must: bool, public: bool| {
        if let Some((span, lines, _)) = run.take()
            && (must || lines >= MIN_KEY_LINES && !public)
        {
            found.push(span);
        }
    };
    for line in text.split_inclusive('\n') {
        let start = at + line.len() - line.trim_start().len();
        let body = line.trim();
        at += line.len();
        let base64 = body.len() >= 16
            && body.bytes().all(is_base64_byte)
            && has_char(body, |c| c.is_ascii_uppercase())
            && has_char(body, |c| c.is_ascii_lowercase());
        if !base64 {
            let last = body.starts_with("-----END ") && body.contains("PRIVATE KEY");
            close(&mut run, last, public);
            // The content of a certificate is public.
            public = body.starts_with("-----BEGIN ") && !body.contains("PRIVATE KEY");
            continue;
        }
        let end = start + body.len();
        match &mut run {
            Some((span, lines, length)) if body.len() <= *length => {
                // A shorter line is the last.
                let last = body.len() < *length;
                (span.end, *lines) = (end, *lines + 1);
                if last {
                    *length = 0;
                }
            }
            _ => {
                close(&mut run, false, public);
                run = matches!(body.len(), 60..=80).then_some((start..end, 1, body.len()));
            }
        }
    }
    close(&mut run, false, public);
    found
}
