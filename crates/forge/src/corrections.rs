//! Facts that a person said are wrong, kept as a list in Markdown, and the one
//! check of a text against them. What the list names is found however it is
//! spelled, and never by sharing words alone; files that repeat it stay as
//! they are.
//!
//! Without a list nothing is compared: the check costs one look for a file.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use aho_corasick::AhoCorasick;
use jiff::civil::Date;

use crate::quote;
use crate::workspace::{self, Workspace};

mod list;
mod normal;
#[cfg(test)]
mod tests;

pub use list::{Corrected, Error, LIST, Lifted, New, SECTION, correct, lift};
use normal::{comparable, phrase};

/// A fact that is wrong, and what a person said about it.
#[derive(Debug, Clone, PartialEq, Eq)]
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
        let finder = match texts.is_empty() {
            true => None,
            // Nobody writes so many facts that an automaton could not hold them.
            false => AhoCorasick::new(&texts).ok(),
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
        let mut said: Vec<(usize, Range<usize>)> = Vec::new();
        // Of each correction the places of its replacement, in order.
        let mut right: HashMap<usize, Vec<Range<usize>>> = HashMap::new();
        for found in finder.automaton.find_overlapping_iter(&text) {
            let (index, replaces) = finder.patterns[found.pattern().as_usize()];
            match replaces {
                true => right.entry(index).or_default().push(found.range()),
                false => said.push((index, found.range())),
            }
        }
        // All places of a replacement are of one length, so the last that
        // begins in time reaches farthest.
        let within = |index: usize, place: &Range<usize>| {
            let right = right.get(&index).map_or(&[][..], Vec::as_slice);
            let before = right.partition_point(|it| it.start <= place.start);
            before > 0 && place.end <= right[before - 1].end
        };
        let mut hits: BTreeSet<usize> = BTreeSet::new();
        for (index, place) in said {
            if !within(index, &place) {
                hits.insert(index);
            }
        }
        hits.into_iter().map(|index| &self.all[index]).collect()
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

/// Refuses texts that are about to be written and hold a secret, or repeat what
/// was corrected. Everyone who writes what somebody says calls this before
/// writing.
pub fn refuse(workspace: &Workspace, texts: &[&str]) -> Result<(), Refused> {
    let mut rules: Vec<&'static str> = Vec::new();
    for text in texts {
        rules.extend(quote::cleaned(text).secrets);
    }
    if !rules.is_empty() {
        rules.sort_unstable();
        rules.dedup();
        return Err(Refused::Secret { rules });
    }
    let corrections = Corrections::read(workspace)?;
    if corrections.is_empty() {
        return Ok(());
    }
    let mut hits: Vec<Correction> = Vec::new();
    for hit in texts.iter().flat_map(|text| corrections.check(text)) {
        if !hits.contains(hit) {
            hits.push(hit.clone());
        }
    }
    match hits.is_empty() {
        true => Ok(()),
        false => Err(Refused::Corrected(hits)),
    }
}

/// Why a text was not taken. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    #[error(transparent)]
    Workspace(#[from] workspace::Error),
    #[error("The text repeats what was corrected. {}", told(.0))]
    Corrected(Vec<Correction>),
    #[error("The text looks as if it held a secret ({}); nothing was written", rules.join(", "))]
    Secret { rules: Vec<&'static str> },
}

impl Refused {
    /// What can be done about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Refused::Workspace(_) => None,
            Refused::Secret { .. } => {
                Some("Take it out, and name the place where it is kept instead".to_owned())
            }
            Refused::Corrected(hits) => {
                let lift = hits.first().map(Correction::lifted_by).unwrap_or_default();
                Some(format!(
                    "Say what holds; if the correction itself is wrong, lift it with `{lift}`"
                ))
            }
        }
    }
}

/// So many corrections are shown of a text that repeats them.
const MOST_TOLD: usize = 5;

fn told(hits: &[Correction]) -> String {
    let mut lines: Vec<String> = hits.iter().take(MOST_TOLD).map(Correction::told).collect();
    if hits.len() > MOST_TOLD {
        lines.push(format!("and {} more", hits.len() - MOST_TOLD));
    }
    lines.join("; ")
}
