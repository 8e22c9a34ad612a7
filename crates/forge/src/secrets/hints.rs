//! A table of rules over a text: what a match begins with is looked for all at
//! once, and a rule's pattern is tried only where one of its hints stands.

use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, MatchKind};
use regex::Regex;

pub(crate) struct Hints {
    finder: AhoCorasick,
    /// The rule that each hint belongs to.
    rule_of: Vec<usize>,
    /// Made when a hint is first met: most texts meet none, and hooks have
    /// milliseconds.
    patterns: Vec<OnceLock<Regex>>,
}

impl Hints {
    /// From the hints of each rule, in the order of the table.
    pub(crate) fn new<'a>(any_case: bool, rules: impl Iterator<Item = Vec<&'a str>>) -> Hints {
        let (mut hints, mut rule_of, mut patterns) = (Vec::new(), Vec::new(), Vec::new());
        for (rule, own) in rules.enumerate() {
            rule_of.extend(own.iter().map(|_| rule));
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

    /// Each rule that may match, and where.
    pub(crate) fn places(&self, text: &str) -> impl Iterator<Item = (usize, usize)> {
        let hits = self.finder.find_overlapping_iter(text);
        hits.map(|hit| (self.rule_of[hit.pattern().as_usize()], hit.start()))
    }

    /// The pattern of a rule, which matches at the beginning of a text.
    pub(crate) fn pattern(&self, rule: usize, text: impl FnOnce() -> String) -> &Regex {
        self.patterns[rule]
            .get_or_init(|| Regex::new(&format!(r"\A(?:{})", text())).expect("the table is tested"))
    }
}
