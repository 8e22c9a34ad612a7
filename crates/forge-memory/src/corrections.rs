//! Facts that a person said are wrong, kept as a list in Markdown, and the one
//! check of a text against them. What the list names is found however it is
//! spelled, and never by sharing words alone; files that repeat it stay as
//! they are.
//!
//! Without a list nothing is compared: the check costs one look for a file.

use std::collections::VecDeque;
use std::ops::Range;

use aho_corasick::AhoCorasick;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use crate::workspace::{self, Workspace};

mod list;
mod normal;
#[cfg(test)]
mod tests;

pub use list::{Corrected, Error, LIST, Lifted, New, SECTION, correct, lift};
use normal::{comparable, phrase};

/// A fact that is wrong, and what a person said about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Correction {
    /// The wrong statement, as it was given.
    pub fact: String,
    /// What holds instead.
    pub instead: Option<String>,
    pub reason: Option<String>,
    pub date: Option<Date>,
    /// Where it stands in the list.
    pub line: usize,
}

impl Correction {
    /// Returns the correction as every answer for a program has it.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "fact": self.fact, "instead": self.instead, "reason": self.reason,
            "date": self.date.map(|date| date.to_string()), "told": self.told(),
        })
    }

    /// The command that lifts it, safe to be pasted into a shell.
    pub fn lifted_by(&self) -> String {
        let fact = self.fact.replace('\'', "'\\''");
        format!("memory-forge restore --fact '{fact}'")
    }

    /// The correction in plain words, on one line.
    pub fn told(&self) -> String {
        let mut text = "Corrected".to_owned();
        if let Some(date) = self.date {
            text.push_str(&format!(" {date}"));
        }
        text.push_str(&format!(": \"{}\" is wrong", self.fact));
        if let Some(instead) = &self.instead {
            text.push_str(&format!("; instead: \"{instead}\""));
        }
        if let Some(reason) = &self.reason {
            text.push_str(&format!(" ({reason})"));
        }
        text
    }
}

/// Every correction of a workspace, ready to be looked for in texts.
#[derive(Debug, Clone, Default)]
pub struct Corrections {
    all: Vec<Correction>,
    finder: Option<Finder>,
}

/// One automaton for all facts and those replacements that repeat theirs.
#[derive(Debug, Clone)]
struct Finder {
    automaton: AhoCorasick,
    /// For each pattern the correction, and whether it is its replacement.
    patterns: Vec<(usize, bool)>,
}

/// What was seen of one correction up to a place in a text.
#[derive(Default)]
struct Seen {
    /// Whether its replacement repeats the fact.
    is_repeated: bool,
    is_said: bool,
    /// The fact, where a replacement around it may still end. No more of them
    /// than fit into one replacement.
    waiting: VecDeque<Range<usize>>,
    /// The last replacement.
    right: Range<usize>,
}

impl Seen {
    fn fact(&mut self, place: Range<usize>) {
        if self.right.start <= place.start && place.end <= self.right.end {
            return;
        }
        if !self.is_repeated || self.waiting.len() == MAX_WAITING {
            self.is_said = true;
            self.waiting = VecDeque::new();
            return;
        }
        self.waiting.push_back(place);
    }

    /// Every waiting place ends before this one does.
    fn replacement(&mut self, place: Range<usize>) {
        let is_outside = |it: &Range<usize>| it.start < place.start;
        if self.waiting.front().is_some_and(is_outside) {
            self.is_said = true;
        }
        self.waiting.clear();
        self.right = place;
    }
}

/// A replacement has at most so many bytes, and a place for each.
const MAX_WAITING: usize = 4 * list::LONGEST;

/// No corrections, for whoever has none to give.
pub static NONE: Corrections = Corrections {
    all: Vec::new(),
    finder: None,
};

impl Corrections {
    /// Those of a workspace; none where there is no list.
    pub fn read(workspace: &Workspace) -> Result<Corrections, workspace::Error> {
        Ok(Corrections::of(list::read(workspace)?))
    }

    pub fn of(all: Vec<Correction>) -> Corrections {
        let mut patterns = Vec::new();
        let mut texts = Vec::new();
        for (index, one) in all.iter().enumerate() {
            let fact = phrase(&one.fact);
            if fact.trim().is_empty() {
                continue;
            }
            if let Some(instead) = one.instead.as_deref().map(phrase)
                && instead.contains(&fact)
            {
                patterns.push((index, true));
                texts.push(instead);
            }
            patterns.push((index, false));
            texts.push(fact);
        }
        let finder = if texts.is_empty() {
            None
        } else {
            // Nobody writes so many facts that an automaton could not hold them.
            AhoCorasick::new(&texts).ok()
        };
        let finder = finder.map(|automaton| Finder {
            automaton,
            patterns,
        });
        Corrections { all, finder }
    }

    pub fn all(&self) -> &[Correction] {
        &self.all
    }

    pub fn is_empty(&self) -> bool {
        self.finder.is_none()
    }

    /// The corrections of what a text says as a whole phrase, in the order of
    /// the list. A fact within its own replacement is not said.
    pub fn check(&self, text: &str) -> Vec<&Correction> {
        let Some(finder) = &self.finder else {
            return Vec::new();
        };
        let text = comparable(text);
        let mut told: Vec<Seen> = self.all.iter().map(|_| Seen::default()).collect();
        for (index, replaces) in &finder.patterns {
            told[*index].is_repeated |= replaces;
        }
        let mut open = told.len();
        // Places come in the order of their ends, the longer first.
        for found in finder.automaton.find_overlapping_iter(&text) {
            let (index, replaces) = finder.patterns[found.pattern().as_usize()];
            let seen = &mut told[index];
            if seen.is_said {
                continue;
            }
            if replaces {
                seen.replacement(found.range())
            } else {
                seen.fact(found.range())
            }
            open -= usize::from(seen.is_said);
            if open == 0 {
                break;
            }
        }
        let said = self.all.iter().zip(&told);
        said.filter(|(_, seen)| seen.is_said || !seen.waiting.is_empty())
            .map(|(correction, _)| correction)
            .collect()
    }

    /// The same as lines that can stand beside the text.
    pub fn told_of(&self, text: &str) -> Vec<String> {
        self.check(text).into_iter().map(Correction::told).collect()
    }
}

/// What a text says that was corrected.
pub fn check(workspace: &Workspace, text: &str) -> Result<Vec<Correction>, workspace::Error> {
    let corrections = Corrections::read(workspace)?;
    Ok(corrections.check(text).into_iter().cloned().collect())
}
