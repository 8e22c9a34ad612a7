//! A table of rules over a text: what a match begins with is looked for all at
//! once, and a rule's pattern is tried only where one of its hints stands.

use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, MatchKind};
use regex::Regex;

/// Also within other brackets.
const SPACES: &str = r"[\t-\r \u{a0}\u{2028}\u{3000}]";

pub(crate) struct Hints {
    finder: AhoCorasick,
    /// The rule that each hint belongs to, and which of its hints it is.
    rule_of: Vec<(usize, usize)>,
    /// Made when a hint is first met: most texts meet none, and hooks have
    /// milliseconds.
    patterns: Vec<OnceLock<Regex>>,
}

pub(crate) struct Place {
    pub(crate) rule: usize,
    pub(crate) hint: usize,
    pub(crate) start: usize,
}

impl Hints {
    /// From the hints of each rule, in the order of the table.
    pub(crate) fn new<'a>(any_case: bool, rules: impl Iterator<Item = Vec<&'a str>>) -> Hints {
        let (mut hints, mut rule_of, mut patterns) = (Vec::new(), Vec::new(), Vec::new());
        for (rule, own) in rules.enumerate() {
            rule_of.extend((0..own.len()).map(|nth| (rule, nth)));
            hints.extend(own);
            patterns.push(OnceLock::new());
        }
        Hints {
            finder: AhoCorasick::builder()
                .ascii_case_insensitive(any_case)
                .match_kind(MatchKind::Standard)
                .build(hints)
                .expect("the hints are few and short"),
            rule_of,
            patterns,
        }
    }

    /// Each place where a rule may match, by which of its hints.
    pub(crate) fn places(&self, text: &str) -> impl Iterator<Item = Place> {
        let hits = self.finder.find_overlapping_iter(text);
        hits.map(|hit| {
            let (rule, hint) = self.rule_of[hit.pattern().as_usize()];
            Place {
                rule,
                hint,
                start: hit.start(),
            }
        })
    }

    /// The pattern of a rule, which matches at the beginning of a text. Spaces
    /// and words are those that people type: all that Unicode has of them makes
    /// a pattern ten times as large, which a hook would wait for.
    pub(crate) fn pattern(&self, rule: usize, text: impl FnOnce() -> String) -> &Regex {
        self.patterns[rule].get_or_init(|| {
            let text = text();
            let text = text.replace(r"\b", r"(?-u:\b)").replace(r"\s", SPACES);
            Regex::new(&format!(r"\A(?:{text})")).expect("the table is tested")
        })
    }
}
