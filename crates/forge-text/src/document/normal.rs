//! Normalizes the text that is hashed: CRLF as LF, no trailing spaces. Changes
//! nothing else, and never what is stored on disk.

use std::borrow::Cow;

use sha2::{Digest, Sha256};

/// Normalizes CRLF to LF and removes trailing spaces and tabs from each line. A
/// carriage return that would then be before a line feed is removed too, which
/// makes it idempotent.
pub fn normalize_text(text: &str) -> Cow<'_, str> {
    let mut pieces = NormalPieces::new(text);
    let first = pieces.next().unwrap_or("");
    if first.len() == text.len() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    out.push_str(first);
    pieces.for_each(|piece| out.push_str(piece));
    Cow::Owned(out)
}

/// Returns the SHA-256 of the normalised text in lower-case hex.
pub fn content_hash(text: &str) -> String {
    let mut hasher = Sha256::new();
    NormalPieces::new(text).for_each(|piece| hasher.update(piece.as_bytes()));
    let mut hex = String::with_capacity(64);
    for byte in hasher.finalize() {
        for nibble in [byte >> 4, byte & 15] {
            hex.push(char::from_digit(u32::from(nibble), 16).expect("a nibble is below 16"));
        }
    }
    hex
}

/// The normalised text as slices of the original, each as long as possible.
struct NormalPieces<'a> {
    text: &'a str,
    /// Start of the slice that is being built.
    start: usize,
    /// Everything before is known to be normal or was dropped.
    seen: usize,
}

impl<'a> NormalPieces<'a> {
    fn new(text: &'a str) -> Self {
        NormalPieces {
            text,
            start: 0,
            seen: 0,
        }
    }
}

impl<'a> Iterator for NormalPieces<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let bytes = self.text.as_bytes();
        while self.seen < bytes.len() {
            let line_end = memchr::memchr(b'\n', &bytes[self.seen..]).map(|at| self.seen + at);
            let end = line_end.unwrap_or(bytes.len());
            let mut kept = end;
            while kept > self.seen {
                let blank = match bytes[kept - 1] {
                    b' ' | b'\t' => true,
                    b'\r' => line_end.is_some(),
                    _ => false,
                };
                if !blank {
                    break;
                }
                kept -= 1;
            }
            self.seen = line_end.map_or(bytes.len(), |at| at + 1);
            if kept < end {
                let piece = &self.text[self.start..kept];
                self.start = end;
                if !piece.is_empty() {
                    return Some(piece);
                }
            }
        }
        let piece = &self.text[self.start..];
        self.start = self.text.len();
        (!piece.is_empty()).then_some(piece)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expect: &str) {
        assert_eq!(normalize_text(text), expect, "{text:?}");
    }

    #[test]
    fn line_ends_and_trailing_spaces() {
        check("", "");
        check("a\nb\n", "a\nb\n");
        check("a\r\nb\r\n", "a\nb\n");
        check("a \t\n  b  ", "a\n  b");
        check("a  \r\n\r\n \n", "a\n\n\n");
        check("a\rb\r", "a\rb\r");
        check("a\r\r\n", "a\n");
        check("\u{feff}ä \n", "\u{feff}ä\n");
        check("   ", "");
        assert!(matches!(normalize_text("a\n\nb"), Cow::Borrowed(_)));
    }

    #[test]
    fn the_hash_is_of_the_normal_form() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(content_hash(""), empty);
        assert_eq!(content_hash(" \t"), empty);
        assert_eq!(content_hash("a \r\nb"), content_hash("a\nb"));
        assert_ne!(content_hash("a\nb"), content_hash("a b"));
    }

    proptest! {
        #[test]
        fn twice_is_once(text in "[ab \t\r\n]{0,40}") {
            let once = normalize_text(&text).into_owned();
            prop_assert_eq!(&*normalize_text(&once), &once);
            prop_assert_eq!(content_hash(&once), content_hash(&text));
        }
    }
}
