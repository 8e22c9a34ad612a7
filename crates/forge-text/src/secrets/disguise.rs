//! Removes the disguise of a text and keeps the way back to the original:
//! invisible characters are dropped, and escapes are read as the letters that
//! they mean. JSON inside of JSON leaves `\u0041` behind, Markdown `\_`.

use std::ops::Range;

/// A text without its disguise.
pub(super) struct PlainText {
    pub(super) text: String,
    /// Where a piece begins here and there, and how long it is there; pieces
    /// that stand for one letter are longer there than here.
    pieces: Vec<(usize, usize, usize)>,
}

impl PlainText {
    /// Maps a span of this text to the original.
    pub(super) fn original_span(&self, span: &Range<usize>) -> Range<usize> {
        let piece = |at: usize| {
            let next = self.pieces.partition_point(|(here, _, _)| *here <= at);
            self.pieces[next.saturating_sub(1)]
        };
        let (here, there, long) = piece(span.start);
        // A piece that encodes one letter is included as a whole.
        let start = there + (span.start - here).min(long);
        let (here, there, long) = piece(span.end.saturating_sub(1));
        let is_letter = self.pieces.partition_point(|(at, _, _)| *at <= here);
        let short = self
            .pieces
            .get(is_letter)
            .map_or(self.text.len(), |next| next.0)
            - here;
        let end = if short < long {
            there + long
        } else {
            there + (span.end - here)
        };
        start..end
    }
}

/// Removes the disguise of a text; `None` if it has none.
pub(super) fn remove_disguise(text: &str) -> Option<PlainText> {
    let hides = |c: char| !c.is_ascii() && is_unseen(c);
    let escapes = text.contains("\\u00") || text.contains("\\_");
    if !escapes && (text.is_ascii() || !text.chars().any(hides)) {
        return None;
    }
    let mut plain = PlainText {
        text: String::with_capacity(text.len()),
        // Every place has a piece at or before it.
        pieces: vec![(0, 0, 0)],
    };
    let mut at = 0;
    // Whether the last piece can grow.
    let mut open = false;
    while let Some(c) = text[at..].chars().next() {
        if let Some((letter, long)) = parse_escape(&text[at..]) {
            plain.pieces.push((plain.text.len(), at, long));
            plain.text.push(letter);
            (at, open) = (at + long, false);
            continue;
        }
        if is_unseen(c) {
            open = false;
        } else {
            match (open, plain.pieces.last_mut()) {
                (true, Some(last)) => last.2 += c.len_utf8(),
                _ => plain.pieces.push((plain.text.len(), at, c.len_utf8())),
            }
            plain.text.push(c);
            open = true;
        }
        at += c.len_utf8();
    }
    Some(plain)
}

/// Parses `\u0041` at the start, if it means a visible ASCII character, or
/// `\_`; returns the character and the length.
fn parse_escape(text: &str) -> Option<(char, usize)> {
    if text.starts_with("\\_") {
        return Some(('_', 2));
    }
    let digits = text.strip_prefix("\\u00")?.get(..2)?;
    let code = u8::from_str_radix(digits, 16).ok()?;
    code.is_ascii_graphic().then_some((char::from(code), 6))
}

/// Returns `true` for characters that can be between the letters of a word
/// without being seen.
pub fn is_unseen(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_lead_back_to_the_text_as_it_stands() {
        let text = "a\u{200b}b \\u0041\\u0042c \\_d \u{feff}e\u{ad}";
        let plain = remove_disguise(text).expect("it is disguised");
        assert_eq!(plain.text, "ab ABc _d e");
        let check = |part: &str, expect: &str| {
            let at = plain.text.find(part).expect("it is there");
            assert_eq!(&text[plain.original_span(&(at..at + part.len()))], expect);
        };
        check("ab", "a\u{200b}b");
        check("ABc", "\\u0041\\u0042c");
        check("A", "\\u0041");
        check("_d", "\\_d");
        check("c _", "c \\_");
        check("e", "e");
        assert!(remove_disguise("plain é text").is_none());
    }
}
