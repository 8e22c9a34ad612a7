//! Parses a query into terms, "phrases" that must occur verbatim, and
//! prefixes*. There are no other operators, so that a flag, a path or a line of
//! code can be searched as it is.

use std::collections::HashMap;

use super::common;
use crate::index::terms::{TermSplitter, fold_text};
use crate::index::{PrefixTerm, TextQuery};

/// A parsed query.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedQuestion {
    /// The words without quotation marks and asterisks, trimmed.
    pub plain: String,
    /// The terms of the words, as the index has them.
    pub terms: Vec<String>,
    /// The weight of each term.
    weights: Vec<f32>,
    /// The words as they were typed, with their terms.
    pub(super) tokens: Vec<QuestionToken>,
    /// Terms that follow each other, by their places in `terms`.
    pairs: Vec<(usize, usize)>,
    /// Phrases, folded, with white space collapsed.
    pub phrases: Vec<String>,
    /// The terms of which only the beginning is known.
    pub prefixes: Vec<PrefixTerm>,
}

/// A word of a question.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct QuestionToken {
    pub(super) text: String,
    /// Places in `terms`: the whole word first, then its parts.
    pub(super) terms: Vec<usize>,
}

impl QuestionToken {
    /// Whether it looks like code rather than language, so that a passage
    /// without it is about something else.
    pub(super) fn is_code(&self) -> bool {
        let text = self.text.as_str();
        let letters = text.chars().any(char::is_alphabetic);
        if !text.is_ascii() || !letters || text.len() < 3 {
            return false;
        }
        let digits = text.bytes().any(|b| b.is_ascii_digit());
        let upper = text.bytes().skip(1).any(|b| b.is_ascii_uppercase());
        let lower = text.bytes().any(|b| b.is_ascii_lowercase());
        // A dot between one letter and another is an abbreviation: "e.g".
        let dotted = text.split('.').all(|part| part.len() > 1) && text.contains('.');
        text.contains('_')
            || text.contains("::")
            || text.starts_with("--")
            || text.matches('/').count() > 1
            || dotted
            || digits && !text.contains('-')
            || upper && lower && !text.contains(['-', '\''])
    }
}

impl ParsedQuestion {
    /// Whether it is nothing but one identifier.
    pub(super) fn is_identifier(&self) -> bool {
        matches!(&self.tokens[..], [only] if only.is_code())
    }

    /// Parses a question: phrases, prefixes, words and their weights.
    pub fn read(text: &str) -> ParsedQuestion {
        let mut phrases = Vec::new();
        let mut prefixes = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some((before, phrase, after)) = split_quoted(rest) {
            collect_words(before, &mut plain, &mut prefixes);
            collect_words(phrase, &mut plain, &mut Vec::new());
            let phrase = collapse_whitespace(&fold_text(phrase));
            if !phrase.is_empty() {
                phrases.push(phrase);
            }
            rest = after;
        }
        collect_words(rest, &mut plain, &mut prefixes);
        let mut terms = TermSplitter::default().distinct_terms(&plain);
        // The stem of a prefix is not a search term of its own.
        let mut of_prefixes = TermSplitter::default();
        for prefix in &prefixes {
            for term in of_prefixes.distinct_terms(&prefix.0) {
                if !contains_word(&plain, &prefix.0) {
                    terms.retain(|t| *t != term);
                }
            }
        }
        let pairs = neighbour_pairs(&plain, &terms);
        ParsedQuestion {
            tokens: tokens(&plain, &terms),
            plain: plain.trim().to_owned(),
            weights: common::weigh_terms(&terms),
            pairs,
            terms,
            phrases,
            prefixes,
        }
    }

    /// Returns the part of the query that full text ranks by.
    pub fn query_words(&self) -> TextQuery<'_> {
        TextQuery {
            terms: &self.terms,
            weights: &self.weights,
            pairs: &self.pairs,
            prefixes: &self.prefixes,
        }
    }

    /// Estimates how far an English model can be trusted with this query.
    pub(super) fn english_share(&self) -> f32 {
        common::english_share(&self.plain, &self.terms)
    }

    /// Returns `true` if a passage contains the phrases that the query
    /// requires.
    pub fn allows_passage(&self, text: &str) -> bool {
        if self.phrases.is_empty() && (self.prefixes.is_empty() || !self.terms.is_empty()) {
            return true;
        }
        let text = collapse_whitespace(&fold_text(text));
        if !self.phrases.is_empty() {
            return self.phrases.iter().all(|p| text.contains(p.as_str()));
        }
        self.prefixes
            .iter()
            .any(|p| has_word_prefix(&text, &fold_text(&p.0)))
    }

    /// Returns `true` if a folded text contains the whole query as one string.
    pub fn occurs_in(&self, folded: &str) -> bool {
        let wanted = fold_text(&self.plain);
        wanted.chars().count() >= 3
            && self.terms.len() >= 2
            && memchr::memmem::find(folded.as_bytes(), wanted.as_bytes()).is_some()
    }
}

/// Maximum number of adjacent pairs; a long text has more than ranking is
/// worth.
const MAX_TERM_PAIRS: usize = 100;

/// Groups terms by the word that gave them.
fn tokens(plain: &str, terms: &[String]) -> Vec<QuestionToken> {
    let places: HashMap<&str, usize> = terms.iter().map(String::as_str).zip(0..).collect();
    let mut tokens: Vec<QuestionToken> = Vec::new();
    let mut last = None;
    TermSplitter::default().for_each_with_place(plain, |place, term| {
        let Some(at) = places.get(term).copied() else {
            return;
        };
        if last.as_ref() == Some(&place)
            && let Some(token) = tokens.last_mut()
        {
            token.terms.push(at);
        } else {
            let text = plain[place.clone()].trim_end_matches(|c: char| !c.is_alphanumeric());
            let text =
                text.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '-' && c != '_');
            tokens.push(QuestionToken {
                text: text.to_owned(),
                terms: vec![at],
            });
            last = Some(place);
        }
    });
    tokens
}

fn neighbour_pairs(plain: &str, terms: &[String]) -> Vec<(usize, usize)> {
    let places: HashMap<&str, usize> = terms.iter().map(String::as_str).zip(0..).collect();
    let mut pairs = Vec::new();
    let mut before: Option<usize> = None;
    TermSplitter::default().for_each_term(plain, |term| {
        let here = places.get(term).copied();
        if let (Some(a), Some(b)) = (before, here)
            && a != b
            && pairs.len() < MAX_TERM_PAIRS
        {
            pairs.push((a, b));
        }
        before = here;
    });
    pairs
}

fn split_quoted(text: &str) -> Option<(&str, &str, &str)> {
    let open = text.find(['"', '“'])?;
    let inside = open + text[open..].chars().next()?.len_utf8();
    let close = inside + text[inside..].find(['"', '”'])?;
    let after = close + text[close..].chars().next()?.len_utf8();
    Some((&text[..open], &text[inside..close], &text[after..]))
}

fn collect_words(text: &str, plain: &mut String, prefixes: &mut Vec<PrefixTerm>) {
    for word in text.split_whitespace() {
        if let Some(stem) = word.strip_suffix('*')
            && stem.chars().filter(|c| c.is_alphanumeric()).count() >= 2
            && !stem.contains('*')
        {
            prefixes.push(PrefixTerm(stem.to_owned()));
            continue;
        }
        if !plain.is_empty() {
            plain.push(' ');
        }
        plain.push_str(word);
    }
}

fn contains_word(plain: &str, word: &str) -> bool {
    plain.split_whitespace().any(|w| w == word)
}

fn collapse_whitespace(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn has_word_prefix(text: &str, prefix: &str) -> bool {
    memchr::memmem::find_iter(text.as_bytes(), prefix.as_bytes()).any(|at| {
        text[..at]
            .chars()
            .next_back()
            .is_none_or(|c| !c.is_alphanumeric())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_words_phrases_and_prefixes() {
        let q = ParsedQuestion::read(r#"how "Retry  Policy" authent* --dry-run"#);
        assert_eq!(q.plain, "how Retry Policy --dry-run");
        assert_eq!(q.phrases, ["retry policy"]);
        assert_eq!(q.prefixes, [PrefixTerm("authent".into())]);
        assert!(q.terms.contains(&"--dry-run".to_owned()));
        assert!(!q.terms.contains(&"authent".to_owned()));
    }

    #[test]
    fn tokens_that_look_like_code_are_known() {
        let code = |text: &str| {
            ParsedQuestion::read(text)
                .tokens
                .iter()
                .any(QuestionToken::is_code)
        };
        for yes in [
            "ERR_LEDGER_4471",
            "retry_policy",
            "parseHTTPHeader",
            "std::fmt",
            "--dry-run",
            "src/billing/charge.rs",
            "charge.rs",
            "E0433",
            "OAuth2",
            "PostgreSQL",
            "`S3Bucket`,",
        ] {
            assert!(code(yes), "{yes}");
        }
        for no in [
            "retry",
            "HTTP",
            "pre-commit",
            "e.g.",
            "and/or",
            "2024",
            "3.12",
            "don't",
            "Refunds",
            "設計",
            "mid-2024",
            "end.",
        ] {
            assert!(!code(no), "{no}");
        }
    }

    #[test]
    fn an_open_quotation_mark_is_text() {
        let q = ParsedQuestion::read(r#"5" screen"#);
        assert!(q.phrases.is_empty());
        assert_eq!(q.plain, r#"5" screen"#);
    }

    #[test]
    fn phrases_are_required_and_folded() {
        let q = ParsedQuestion::read("\"Café au lait\"");
        assert!(q.allows_passage("a CAFE\n au lait, please"));
        assert!(!q.allows_passage("lait au cafe"));
    }

    #[test]
    fn a_lone_prefix_must_begin_a_word() {
        let q = ParsedQuestion::read("authentica*");
        assert!(q.allows_passage("Authentication is hard"));
        assert!(!q.allows_passage("an authentic text, unauthenticated"));
    }
}
