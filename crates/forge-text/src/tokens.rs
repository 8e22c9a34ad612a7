//! Tokenizers by name, and an estimate of what a text costs. An exact count
//! loads a vocabulary (about 100 ms): `forge-tokens` has it, so that a crate on
//! the path of a hook cannot reach one by mistake.
//! A number shown to a person must never be parted from its
//! [label](Tokenizer::label): counts of two vocabularies do not compare.

use std::fmt;
use std::str::FromStr;

use crate::diagnostic::Diagnostic;

/// A way to count. The first two are exact, the others are rules of thumb.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Tokenizer {
    /// OpenAI's vocabulary of 200,000 entries.
    #[default]
    O200k,
    /// OpenAI's older vocabulary of 100,000 entries.
    Cl100k,
    /// Characters divided by three. No vocabulary of Claude's is public; this
    /// is the rule that Claude Code itself applies when it is offline.
    Claude,
    /// Characters divided by four, as many tools do.
    Chars4,
}

impl Tokenizer {
    /// All tokenizers, the exact ones first.
    pub const ALL: [Tokenizer; 4] = [
        Tokenizer::O200k,
        Tokenizer::Cl100k,
        Tokenizer::Claude,
        Tokenizer::Chars4,
    ];

    /// Returns `true` if the tokenizer estimates instead of counting.
    pub fn is_estimate(self) -> bool {
        matches!(self, Tokenizer::Claude | Tokenizer::Chars4)
    }

    /// Returns the name to print after a count; estimates carry a tilde.
    pub fn label(self) -> &'static str {
        match self {
            Tokenizer::O200k => "o200k",
            Tokenizer::Cl100k => "cl100k",
            Tokenizer::Claude => "~claude",
            Tokenizer::Chars4 => "~chars4",
        }
    }

    fn name(self) -> &'static str {
        self.label().trim_start_matches('~')
    }
}

impl fmt::Display for Tokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// An error for a tokenizer that does not exist: the user's name for it is
/// wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Unknown tokenizer `{0}`; use `o200k`, `cl100k`, `claude` or `chars4`")]
pub struct UnknownTokenizer(pub String);

impl Diagnostic for UnknownTokenizer {
    fn code(&self) -> &'static str {
        "tokens.unknown-tokenizer"
    }

    fn is_usage(&self) -> bool {
        true
    }
}

impl FromStr for Tokenizer {
    type Err = UnknownTokenizer;

    fn from_str(name: &str) -> Result<Tokenizer, UnknownTokenizer> {
        Tokenizer::ALL
            .into_iter()
            .find(|tokenizer| tokenizer.name().eq_ignore_ascii_case(name.trim()))
            .ok_or_else(|| UnknownTokenizer(name.to_owned()))
    }
}

/// Estimates the tokens of a text as `o200k` counts them, in one pass over the
/// characters and without a vocabulary: a few per cent off on English prose and
/// Markdown, more on other scripts and on dense data.
pub fn estimate_tokens(text: &str) -> usize {
    if text.is_empty() {
        return 0;
    }
    let (mut words, mut digits, mut punctuation, mut newlines) = (0u64, 0u64, 0u64, 0u64);
    let mut before = CharClass::Space;
    let mut digits_in_run = 0u64;
    for c in text.chars() {
        let kind = CharClass::of_char(c);
        digits_in_run = if kind == CharClass::Digit {
            digits_in_run + 1
        } else {
            0
        };
        match kind {
            CharClass::Letter => words += u64::from(before != CharClass::Letter),
            CharClass::Ideograph => words += 1,
            // The vocabulary knows numbers of up to three digits.
            CharClass::Digit => digits += u64::from(digits_in_run % 3 == 1),
            CharClass::Punctuation => punctuation += 1,
            CharClass::Newline => newlines += 1,
            CharClass::Space => {}
        }
        before = kind;
    }
    // In hundredths, so that the same text gives the same number everywhere.
    let hundredths = 104 * words + 78 * digits + 55 * punctuation + 65 * newlines + 500;
    hundredths.div_ceil(100) as usize
}

/// Formats `1284` as `1,284`.
pub fn format_thousands(n: usize) -> String {
    let digits = n.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[derive(Clone, Copy, PartialEq)]
enum CharClass {
    Letter,
    /// Scripts without spaces between words: every character is a word.
    Ideograph,
    Digit,
    Punctuation,
    Newline,
    Space,
}

impl CharClass {
    fn of_char(c: char) -> CharClass {
        match c {
            'a'..='z' | 'A'..='Z' => CharClass::Letter,
            '0'..='9' => CharClass::Digit,
            '\n' => CharClass::Newline,
            ' ' | '\t' | '\r' => CharClass::Space,
            '\0'..='\x7f' => CharClass::Punctuation,
            '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' => {
                CharClass::Ideograph
            }
            _ if c.is_alphabetic() => CharClass::Letter,
            _ if c.is_numeric() => CharClass::Digit,
            _ if c.is_whitespace() => CharClass::Space,
            _ => CharClass::Punctuation,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_labels() {
        for tokenizer in Tokenizer::ALL {
            assert_eq!(tokenizer.to_string().parse(), Ok(tokenizer));
            assert_eq!(tokenizer.label().starts_with('~'), tokenizer.is_estimate());
        }
        assert_eq!(Tokenizer::default(), Tokenizer::O200k);
        assert_eq!("CL100K".parse(), Ok(Tokenizer::Cl100k));
        assert_eq!(
            "gpt2".parse::<Tokenizer>().unwrap_err().to_string(),
            "Unknown tokenizer `gpt2`; use `o200k`, `cl100k`, `claude` or `chars4`"
        );
    }

    #[test]
    fn estimate_grows_with_the_text() {
        let mut last = 0;
        for n in 1..200 {
            let now = estimate_tokens(&"word 12345, 日本\n".repeat(n));
            assert!(now > last);
            last = now;
        }
    }

    #[test]
    fn thousands_groups_by_three() {
        fn check(n: usize, expect: &str) {
            assert_eq!(format_thousands(n), expect);
        }
        check(0, "0");
        check(999, "999");
        check(1284, "1,284");
        check(100_000, "100,000");
        check(1_234_567, "1,234,567");
    }
}
