//! Checks texts against corrected facts. A fact is found in any spelling, and
//! never by shared words alone. Without a list nothing is compared.

use std::collections::VecDeque;
use std::ops::Range;

use aho_corasick::AhoCorasick;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::normal::{normalize_phrase, normalize_text};
use crate::workspace::{self, Workspace};

/// Maximum length of a fact. A fact is a statement, not a document; longer
/// ones, which a person or a cloned repository may contain, are ignored.
pub(super) const MAX_FACT_CHARS: usize = 500;

/// A fact that is wrong, and how a person corrected it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Correction {
    /// The wrong statement, as the person wrote it.
    pub fact: String,
    /// The right statement.
    pub instead: Option<String>,
    /// Why the fact is wrong, if the line has a reason.
    pub reason: Option<String>,
    /// The day of the correction, if the line names one.
    pub date: Option<Date>,
    /// Line number in the list.
    pub line: usize,
}

impl Correction {
    /// Returns the correction in the form of every machine-readable answer.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "fact": self.fact, "instead": self.instead, "reason": self.reason,
            "date": self.date.map(|date| date.to_string()), "told": self.describe(),
        })
    }

    /// Returns the command that removes the correction, quoted for a shell.
    pub fn restore_command(&self) -> String {
        let fact = self.fact.replace('\'', "'\\''");
        format!("memory-forge restore --fact '{fact}'")
    }

    /// Describes the correction on one line.
    pub fn describe(&self) -> String {
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

/// All corrections of a workspace, compiled for searching in texts.
#[derive(Debug, Clone, Default)]
pub struct Corrections {
    all: Vec<Correction>,
    finder: Option<FactFinder>,
}

/// One automaton for all facts, and for replacements that contain their fact.
#[derive(Debug, Clone)]
struct FactFinder {
    automaton: AhoCorasick,
    /// For each pattern, the index of its correction and whether it is the
    /// replacement.
    patterns: Vec<(usize, bool)>,
}

/// Occurrences of one correction, up to the current offset of a text.
#[derive(Default)]
struct FactSighting {
    /// Whether its replacement contains the fact.
    is_repeated: bool,
    is_stated: bool,
    /// Occurrences of the fact that an enclosing replacement may still cover.
    /// Bounded by how many fit into one replacement.
    waiting: VecDeque<Range<usize>>,
    /// The last occurrence of the replacement.
    right: Range<usize>,
}

impl FactSighting {
    fn note_fact(&mut self, place: Range<usize>) {
        if self.right.start <= place.start && place.end <= self.right.end {
            return;
        }
        if !self.is_repeated || self.waiting.len() == MAX_WAITING_FACTS {
            self.is_stated = true;
            self.waiting = VecDeque::new();
            return;
        }
        self.waiting.push_back(place);
    }

    /// Notes an occurrence of the replacement. Matches arrive by their ends, so
    /// every waiting fact ends before this replacement does.
    fn note_replacement(&mut self, place: Range<usize>) {
        let is_outside = |it: &Range<usize>| it.start < place.start;
        if self.waiting.front().is_some_and(is_outside) {
            self.is_stated = true;
        }
        self.waiting.clear();
        self.right = place;
    }
}

/// Maximum number of waiting occurrences: a replacement has at most this many
/// bytes, and so this many facts.
const MAX_WAITING_FACTS: usize = 4 * MAX_FACT_CHARS;

/// An empty list, for callers without corrections.
pub static NO_CORRECTIONS: Corrections = Corrections {
    all: Vec::new(),
    finder: None,
};

impl Corrections {
    /// Reads the corrections of a workspace; empty if there is no list.
    pub fn read(workspace: &Workspace) -> Result<Corrections, workspace::WorkspaceError> {
        Ok(Corrections::from_list(super::read_facts(workspace)?))
    }

    /// Compiles a list of corrections.
    pub fn from_list(all: Vec<Correction>) -> Corrections {
        let mut patterns = Vec::new();
        let mut texts = Vec::new();
        for (index, one) in all.iter().enumerate() {
            let fact = normalize_phrase(&one.fact);
            if fact.trim().is_empty() {
                continue;
            }
            if let Some(instead) = one.instead.as_deref().map(normalize_phrase)
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
            // Building fails only above the automaton's size limit, which no
            // hand-written list reaches.
            AhoCorasick::new(&texts).ok()
        };
        let finder = finder.map(|automaton| FactFinder {
            automaton,
            patterns,
        });
        Corrections { all, finder }
    }

    /// Returns the corrections in the order of the list.
    pub fn all(&self) -> &[Correction] {
        &self.all
    }

    /// Returns `true` if there is nothing to search for.
    pub fn is_empty(&self) -> bool {
        self.finder.is_none()
    }

    /// Finds the corrections of facts that a text repeats as a whole phrase, in
    /// the order of the list. A fact inside its own replacement does not count.
    pub fn check_text(&self, text: &str) -> Vec<&Correction> {
        let Some(finder) = &self.finder else {
            return Vec::new();
        };
        let text = normalize_text(text);
        let mut sightings: Vec<FactSighting> =
            self.all.iter().map(|_| FactSighting::default()).collect();
        for (index, replaces) in &finder.patterns {
            sightings[*index].is_repeated |= replaces;
        }
        let mut open = sightings.len();
        // Matches are ordered by their ends, longer ones first.
        for found in finder.automaton.find_overlapping_iter(&text) {
            let (index, replaces) = finder.patterns[found.pattern().as_usize()];
            let seen = &mut sightings[index];
            if seen.is_stated {
                continue;
            }
            if replaces {
                seen.note_replacement(found.range())
            } else {
                seen.note_fact(found.range())
            }
            open -= usize::from(seen.is_stated);
            if open == 0 {
                break;
            }
        }
        let paired = self.all.iter().zip(&sightings);
        paired
            .filter(|(_, seen)| seen.is_stated || !seen.waiting.is_empty())
            .map(|(correction, _)| correction)
            .collect()
    }

    /// Describes the corrections of facts that a text repeats, one line each.
    pub fn describe_found(&self, text: &str) -> Vec<String> {
        self.check_text(text)
            .into_iter()
            .map(Correction::describe)
            .collect()
    }
}
