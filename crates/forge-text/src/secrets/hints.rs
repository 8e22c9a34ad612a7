//! Runs a table of rules over a text: all hints are searched at once, and a
//! rule's pattern is tried only at one of its hints.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use aho_corasick::{AhoCorasick, MatchKind};
use regex::bytes::Regex;

/// White space as a class, also for use within other brackets.
const SPACE_CLASS: &str = r"[\t-\r \u{a0}\u{2028}\u{3000}]";

/// Bytes that are searched hint by hint before an automaton is built. Building
/// it takes a millisecond, which is more than the rest of a hook at a prompt,
/// and a hook shows a few lines.
const MAX_PLAIN_BYTES: usize = 4096;

pub(crate) struct HintTable {
    any_case: bool,
    hints: Vec<&'static str>,
    /// The numbers of the hints, ordered by their first byte.
    by_first: Vec<usize>,
    /// The places in `by_first` where the hints of each first byte start.
    starts: [usize; 257],
    /// The number of bytes that were searched without the automaton.
    plain_bytes: AtomicUsize,
    finder: OnceLock<AhoCorasick>,
    /// The rule that each hint belongs to, and which of its hints it is.
    rule_of: Vec<(usize, usize)>,
    /// Made when a hint is first met: most texts meet none, and hooks have
    /// milliseconds.
    patterns: Vec<OnceLock<Regex>>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct HintMatch {
    pub(crate) rule: usize,
    pub(crate) hint: usize,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl HintTable {
    /// Builds the table from the hints of each rule, in the order of the rules.
    pub(crate) fn new(any_case: bool, rules: impl Iterator<Item = Vec<&'static str>>) -> HintTable {
        let (mut hints, mut rule_of, mut patterns) = (Vec::new(), Vec::new(), Vec::new());
        for (rule, own) in rules.enumerate() {
            rule_of.extend((0..own.len()).map(|nth| (rule, nth)));
            hints.extend(own);
            patterns.push(OnceLock::new());
        }
        let first = |hint: &&str| {
            let first = hint.bytes().next().unwrap_or_default();
            usize::from(fold_byte(first, any_case))
        };
        // Sorted by counting: comparing them would cost a hook at a prompt a
        // tenth of its time.
        let mut starts = [0; 257];
        for hint in &hints {
            starts[first(hint) + 1] += 1;
        }
        for byte in 0..256 {
            starts[byte + 1] += starts[byte];
        }
        let mut free = starts;
        let mut by_first = vec![0; hints.len()];
        for (nth, hint) in hints.iter().enumerate() {
            let place = &mut free[first(hint)];
            by_first[*place] = nth;
            *place += 1;
        }
        HintTable {
            any_case,
            hints,
            by_first,
            starts,
            plain_bytes: AtomicUsize::new(0),
            finder: OnceLock::new(),
            rule_of,
            patterns,
        }
    }

    /// Finds each place where a rule may match, with the hint that matched
    /// there, ordered by where the hints end.
    pub(crate) fn find_hints(&self, text: &str) -> impl Iterator<Item = HintMatch> {
        // `Relaxed` is enough: the count only decides when the automaton pays
        // off.
        let searched = self.plain_bytes.fetch_add(text.len(), Ordering::Relaxed);
        let is_short = searched.saturating_add(text.len()) <= MAX_PLAIN_BYTES;
        let (plain, rest) = match self.finder.get() {
            None if is_short => (self.find_one_by_one(text), None),
            _ => (Vec::new(), Some(self.find_with_automaton(text))),
        };
        plain.into_iter().chain(rest.into_iter().flatten())
    }

    fn find_with_automaton(&self, text: &str) -> impl Iterator<Item = HintMatch> {
        let finder = self.finder.get_or_init(|| {
            AhoCorasick::builder()
                .ascii_case_insensitive(self.any_case)
                .match_kind(MatchKind::Standard)
                .build(&self.hints)
                .expect("the hints are few and short")
        });
        let hits = finder.find_overlapping_iter(text);
        hits.map(|hit| self.hint_match(hit.pattern().as_usize(), hit.start()))
    }

    /// Compares every hint with the text at every place.
    fn find_one_by_one(&self, text: &str) -> Vec<HintMatch> {
        let text = text.as_bytes();
        let mut found: Vec<(usize, usize)> = Vec::new();
        for (start, byte) in text.iter().enumerate() {
            let byte = usize::from(fold_byte(*byte, self.any_case));
            for &nth in &self.by_first[self.starts[byte]..self.starts[byte + 1]] {
                let hint = self.hints[nth].as_bytes();
                let is_here = text.get(start..start + hint.len()).is_some_and(|there| {
                    let same = |(a, b): (&u8, &u8)| {
                        fold_byte(*a, self.any_case) == fold_byte(*b, self.any_case)
                    };
                    there.iter().zip(hint).all(same)
                });
                if is_here {
                    found.push((nth, start));
                }
            }
        }
        found.sort_unstable_by_key(|&(nth, start)| (start + self.hints[nth].len(), start, nth));
        let places = found.into_iter();
        places
            .map(|(nth, start)| self.hint_match(nth, start))
            .collect()
    }

    fn hint_match(&self, nth: usize, start: usize) -> HintMatch {
        let (rule, hint) = self.rule_of[nth];
        HintMatch {
            rule,
            hint,
            start,
            end: start + self.hints[nth].len(),
        }
    }

    /// Returns the pattern of a rule, which matches at the beginning of a text.
    pub(crate) fn compiled_pattern(&self, rule: usize, text: impl FnOnce() -> String) -> &Regex {
        self.patterns[rule].get_or_init(|| {
            let text = simplify_classes(&text());
            Regex::new(&format!(r"\A(?:{text})")).expect("the table is tested")
        })
    }
}

/// Rewrites a pattern so that it compiles fast, since a hook waits for it.
///
/// Spaces and word boundaries are those that people type, and a negated class
/// takes bytes: as characters, each repetition of one compiles to dozens of
/// states, and a single `[^\s]{1,64}` costs more than the rest of a hook. So a
/// match may end inside a character, and bounds of negated classes count bytes.
fn simplify_classes(pattern: &str) -> String {
    let mut simple = String::with_capacity(pattern.len() * 2);
    let mut rest = pattern;
    while let Some(start) = rest.find("[^") {
        let Some(end) = find_class_end(&rest[start..]) else {
            break;
        };
        let (before, class) = (&rest[..start], &rest[start..start + end]);
        push_simplified(&mut simple, before);
        if class.is_ascii() {
            simple.push_str("(?-u:");
            simple.push_str(&class.replace(r"\s", r"\t-\r "));
            simple.push(')');
        } else {
            push_simplified(&mut simple, class);
        }
        rest = &rest[start + end..];
    }
    push_simplified(&mut simple, rest);
    simple
}

fn push_simplified(simple: &mut String, part: &str) {
    simple.push_str(&part.replace(r"\b", r"(?-u:\b)").replace(r"\s", SPACE_CLASS));
}

/// Returns where a class without nested brackets ends.
fn find_class_end(class: &str) -> Option<usize> {
    let mut is_escaped = false;
    for (at, byte) in class.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b']' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

fn fold_byte(byte: u8, any_case: bool) -> u8 {
    if any_case {
        byte.to_ascii_lowercase()
    } else {
        byte
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// A hook at a prompt builds no automaton, and hides the same secrets.
        #[test]
        fn short_texts_have_the_same_places_without_an_automaton(
            text in "[aAbB-]{0,60}",
            any_case: bool,
        ) {
            let rules = [vec!["ab", "AB-", "b"], vec!["a", "-"], vec!["ab", "bab"]];
            let hints = HintTable::new(any_case, rules.into_iter());
            let short: Vec<HintMatch> = hints.find_hints(&text).collect();
            prop_assert!(hints.finder.get().is_none());
            let long: Vec<HintMatch> = hints.find_with_automaton(&text).collect();
            prop_assert_eq!(short, long);
        }
    }

    #[test]
    fn many_short_texts_are_searched_with_an_automaton() {
        let hints = HintTable::new(false, [vec!["ab"]].into_iter());
        for _ in 0..MAX_PLAIN_BYTES {
            assert_eq!(hints.find_hints("cab").count(), 1);
        }
        assert!(hints.finder.get().is_some());
    }
}
