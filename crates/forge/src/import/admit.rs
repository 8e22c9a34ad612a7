//! The one gate for text from outside. What passes holds no secret that we
//! know, hides nothing, and is counted; it is not yet inert Markdown.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::audit::hidden;
use crate::secrets;

/// What was done to texts on their way in. Values are never kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Secrets that were taken out, by rule.
    pub redacted: BTreeMap<&'static str, usize>,
    /// Invisible characters that were written out.
    pub hidden: usize,
}

impl Tally {
    pub(super) fn add(&mut self, other: &Tally) {
        for (rule, count) in &other.redacted {
            *self.redacted.entry(rule).or_default() += count;
        }
        self.hidden += other.hidden;
    }
}

/// Every imported text goes through here, whole and before it is cut: a secret
/// that was cut in two is no longer known as one.
pub(super) fn admit(text: &str, tally: &mut Tally) -> String {
    let seen = unmasked(text);
    let secrets = secrets::find(&seen);
    for secret in &secrets {
        *tally.redacted.entry(secret.rule).or_default() += 1;
    }
    let clean = match secrets.is_empty() {
        true => seen,
        false => Cow::Owned(secrets::redact(&seen).into_owned()),
    };
    let (shown, hidden) = hidden::revealed(&clean);
    tally.hidden += hidden;
    shown.into_owned()
}

/// The text as an attentive reader would see it, where that shows more secrets
/// than the text as it stands: without invisible characters in between, and
/// with `\u0041` read as the letter that it means. JSON inside of JSON leaves
/// such escapes behind.
fn unmasked(text: &str) -> Cow<'_, str> {
    let (_, hidden) = hidden::revealed(text);
    if hidden == 0 && !text.contains("\\u00") {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some(letter) = escaped(rest) {
            plain.push(letter);
            rest = &rest[6..];
            continue;
        }
        if !is_unseen(c) {
            plain.push(c);
        }
        rest = &rest[c.len_utf8()..];
    }
    let count = |text: &str| secrets::find(text).len();
    match count(&plain) > count(text) {
        true => Cow::Owned(plain),
        false => Cow::Borrowed(text),
    }
}

/// `\u0041` at the start, as long as it means a visible ASCII character.
fn escaped(text: &str) -> Option<char> {
    let digits = text.strip_prefix("\\u00")?.get(..2)?;
    let code = u8::from_str_radix(digits, 16).ok()?;
    code.is_ascii_graphic().then_some(char::from(code))
}

fn is_unseen(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{e0000}'..='\u{e01ef}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_does_not_pass_in_disguise() {
        let key = format!("{}{}", concat!("AK", "IA"), "Q7ZX2MBT9WKY4DHF");
        let masked = [
            key.clone(),
            format!("{}\u{200b}{}", &key[..7], &key[7..]),
            key.replace('A', "\\u0041"),
        ];
        for text in masked {
            let mut tally = Tally::default();
            let admitted = admit(&format!("use {text} here"), &mut tally);
            assert_eq!(admitted, "use ‹redacted: aws-access-key› here", "{text}");
            assert_eq!(tally.redacted["aws-access-key"], 1);
        }
    }

    #[test]
    fn hidden_characters_are_shown_and_escapes_without_secrets_stay() {
        let mut tally = Tally::default();
        assert_eq!(
            admit("a\u{202e}b \\u0041", &mut tally),
            "a‹U+202E›b \\u0041"
        );
        assert_eq!((tally.hidden, tally.redacted.len()), (1, 0));
    }
}
