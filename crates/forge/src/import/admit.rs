//! The one gate for text from outside. What passes holds no secret that we
//! know, hides nothing, and is counted; it is not yet inert Markdown.

use std::collections::BTreeMap;

use crate::quote;

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
    let shown = quote::cleaned(text);
    for rule in shown.secrets {
        *tally.redacted.entry(rule).or_default() += 1;
    }
    tally.hidden += shown.hidden;
    shown.text.into_owned()
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
