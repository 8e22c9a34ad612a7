//! The log of evidence: reading, merging and shortening. Lines that cannot be
//! read are left out, never an error.

use std::collections::HashSet;

use super::entry::EvidenceEntry;

/// Limits of the log.
#[derive(Debug, Clone, Copy)]
pub struct EvidenceLimits {
    /// Size in bytes above which the log is shortened.
    pub max_bytes: usize,
    /// Size after shortening, so that not every addition shortens again.
    pub keep_bytes: usize,
    /// Age in seconds above which an entry is dropped.
    pub max_age_seconds: i64,
}

impl Default for EvidenceLimits {
    fn default() -> EvidenceLimits {
        EvidenceLimits {
            max_bytes: 512 << 10,
            keep_bytes: 384 << 10,
            max_age_seconds: 180 * 24 * 3600,
        }
    }
}

/// Entries, the oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EvidenceLog {
    /// The entries, sorted by time.
    pub entries: Vec<EvidenceEntry>,
}

impl EvidenceLog {
    /// Parses a log.
    pub fn parse(text: &str) -> EvidenceLog {
        let entries = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        EvidenceLog {
            entries: entries.collect(),
        }
    }

    /// Renders one JSON object a line.
    pub fn render(&self) -> String {
        let mut text = String::new();
        for entry in &self.entries {
            // Values without floats and odd keys always serialize.
            if let Ok(line) = serde_json::to_string(entry) {
                text.push_str(&line);
                text.push('\n');
            }
        }
        text
    }

    /// Adds entries that are not there yet, and shortens the log to its limits.
    /// Returns how many are new.
    pub fn add(&mut self, entries: Vec<EvidenceEntry>, now: i64, limits: &EvidenceLimits) -> usize {
        let mut known: HashSet<String> = self.entries.iter().map(EvidenceEntry::identity).collect();
        let before = self.entries.len();
        for entry in entries {
            if known.insert(entry.identity()) {
                self.entries.push(entry);
            }
        }
        let added = self.entries.len() - before;
        if added > 0 {
            // A hook and a transcript may report in another order.
            self.entries.sort_by_key(|entry| entry.at);
            self.shorten(now, limits);
        }
        added
    }

    /// Returns a test of whether an entry is in the log as it is now.
    pub fn membership(&self) -> impl Fn(&EvidenceEntry) -> bool + use<> {
        let known: HashSet<String> = self.entries.iter().map(EvidenceEntry::identity).collect();
        move |entry| known.contains(&entry.identity())
    }

    /// Drops, in this order: what is too old; and of a log that is too large
    /// repeated facts, files read, files changed, commands that worked, missing
    /// and too large paths, other failures, faults, corrections, refusals; of
    /// each kind the oldest first.
    fn shorten(&mut self, now: i64, limits: &EvidenceLimits) {
        let oldest = now.saturating_sub(limits.max_age_seconds);
        self.entries.retain(|entry| entry.at >= oldest);
        let sizes: Vec<usize> = self
            .entries
            .iter()
            .map(EvidenceEntry::rendered_bytes)
            .collect();
        let mut total: usize = sizes.iter().sum();
        if total <= limits.max_bytes {
            return;
        }
        let repeated = self.find_repeated();
        let mut order: Vec<usize> = (0..self.entries.len()).collect();
        order.sort_by_key(|&at| (!repeated[at], self.entries[at].fact.worth(), at));
        let mut dropped = vec![false; self.entries.len()];
        for at in order {
            if total <= limits.keep_bytes {
                break;
            }
            dropped[at] = true;
            total -= sizes[at];
        }
        let mut at = 0;
        self.entries.retain(|_| {
            at += 1;
            !dropped[at - 1]
        });
    }

    /// Marks entries that a newer one repeats.
    fn find_repeated(&self) -> Vec<bool> {
        let mut seen: HashSet<String> = HashSet::new();
        let mut repeated = vec![false; self.entries.len()];
        for (at, entry) in self.entries.iter().enumerate().rev() {
            if !entry.fact.repeats(&entry.fact) {
                continue;
            }
            let mut bare = entry.clone();
            (bare.at, bare.id, bare.session) = (0, String::new(), String::new());
            repeated[at] = !seen.insert(serde_json::to_string(&bare).unwrap_or_default());
        }
        repeated
    }
}

impl EvidenceEntry {
    /// Returns what makes it one entry: a call can yield several facts.
    fn identity(&self) -> String {
        let path = self.fact.path().unwrap_or_default();
        let kind = self.fact.worth();
        format!("{} {} {kind} {path}", self.session, self.id)
    }

    fn rendered_bytes(&self) -> usize {
        serde_json::to_string(self).map_or(0, |line| line.len() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::entry::{CommandFact, EvidenceFact};
    use super::*;

    fn entry(at: i64, id: &str, fact: EvidenceFact) -> EvidenceEntry {
        EvidenceEntry {
            at,
            session: "s".to_owned(),
            id: id.to_owned(),
            fact,
        }
    }

    fn read(path: &str) -> EvidenceFact {
        EvidenceFact::Read {
            path: path.to_owned(),
        }
    }

    fn refused(command: &str) -> EvidenceFact {
        EvidenceFact::Refused {
            command: command.to_owned(),
            words: String::new(),
        }
    }

    fn worked(command: &str) -> EvidenceFact {
        EvidenceFact::Command(CommandFact {
            dir: String::new(),
            command: command.to_owned(),
            worked: true,
            exit: None,
            error: String::new(),
            fault: None,
            tests: None,
        })
    }

    #[test]
    fn what_is_rendered_parses_back_and_garbage_is_left_out() {
        let mut log = EvidenceLog::default();
        let entries = vec![
            entry(5, "b", worked("ls \"é\"\t")),
            entry(1, "a", refused("go run .")),
            entry(5, "b", worked("ls \"é\"\t")),
        ];
        assert_eq!(log.add(entries, 10, &EvidenceLimits::default()), 2);
        assert_eq!(log.entries[0].at, 1);
        let text = log.render();
        assert_eq!(EvidenceLog::parse(&text), log);
        let torn = format!("{{\"at\":1\n\u{0}\n{text}[]\n{}", &text[..20]);
        assert_eq!(EvidenceLog::parse(&torn), log);
    }

    #[test]
    fn the_least_useful_goes_first() {
        let mut log = EvidenceLog::default();
        let limits = EvidenceLimits {
            max_bytes: 600,
            keep_bytes: 300,
            max_age_seconds: 100,
        };
        let mut entries = vec![
            entry(1, "old", refused("too old")),
            entry(950, "r", refused("go run .")),
        ];
        for i in 0..10 {
            entries.push(entry(
                960 + i,
                &format!("f{i}"),
                read(&format!("f{}.md", i % 5)),
            ));
            entries.push(entry(960 + i, &format!("c{i}"), worked("make")));
        }
        log.add(entries, 1000, &limits);
        let facts: Vec<&EvidenceFact> = log.entries.iter().map(|it| &it.fact).collect();
        assert!(facts.contains(&&refused("go run .")) && facts.contains(&&worked("make")));
        assert!(!facts.contains(&&refused("too old")));
        assert_eq!(facts.iter().filter(|it| ***it == worked("make")).count(), 1);
        assert!(log.render().len() <= limits.keep_bytes);
    }
}
