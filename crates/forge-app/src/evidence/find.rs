//! Answers `search --scope evidence`: commands that worked or failed, files and
//! corrections, by their words. Texts are cleaned here, since every door shows
//! them; nothing is written.

use jiff::Timestamp;
use jiff::civil::Date;

use super::worktrees::{EvidenceCollection, read_everywhere};
use crate::document::day_of_timestamp;
use crate::quote;
use crate::workspace::Workspace;
use forge_memory::evidence::{EvidenceFact, TestTally, find_entries, kind_name, main_text};

/// A question about evidence.
#[derive(Debug, Clone, Copy)]
pub struct EvidenceRequest<'a> {
    /// Words of a command, a path, an error or a correction.
    pub question: &'a str,
    /// The number of results to return.
    pub limit: usize,
    /// Only what was observed on this day or later.
    pub since: Option<Date>,
    /// The current time.
    pub now: Timestamp,
}

/// The results, and how many more match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EvidenceAnswer {
    /// The results, the best first.
    pub results: Vec<EvidenceResult>,
    /// Number of results beyond the limit.
    pub more: usize,
    /// Number of entries that were scanned.
    pub entries: usize,
}

/// One result: what was observed, once or several times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvidenceResult {
    /// `worked`, `failed`, `refused`, `corrected`, `changed`, `read`, `missing`
    /// or `too large`.
    pub kind: &'static str,
    /// The command, the path, or the words of a correction.
    pub text: String,
    /// The folder of a command; empty for the root and for other kinds.
    pub dir: String,
    /// The error line of a command, or the words of a refusal; empty if none.
    pub detail: String,
    /// The exit code of a command; `None` if the client reports none.
    pub exit: Option<i32>,
    /// The tests that a command counted.
    pub tests: Option<TestTally>,
    /// How often it was observed.
    pub times: usize,
    /// The time of the last observation.
    pub at: Timestamp,
    /// The file with the entry.
    pub path: String,
    /// The entry's line in it.
    pub line: usize,
}

impl EvidenceResult {
    /// Returns how long ago it was observed, in words.
    pub fn age(&self, now: Timestamp) -> String {
        match (now.as_second() - self.at.as_second()) / 86_400 {
            ..=0 => "today".to_owned(),
            1 => "1 day ago".to_owned(),
            days => format!("{days} days ago"),
        }
    }

    /// Returns where, how often and when it was observed.
    pub fn circumstances(&self, now: Timestamp) -> String {
        let mut parts = Vec::new();
        if !self.dir.is_empty() {
            parts.push(format!("in {}", self.dir));
        }
        if let Some(exit) = self.exit.filter(|code| *code != 0) {
            parts.push(format!("exit code {exit}"));
        }
        if let Some(tests) = self.tests {
            parts.push(format!("{} passed, {} failed", tests.passed, tests.failed));
        }
        let age = self.age(now);
        parts.push(match self.times {
            1 => age,
            times => format!("{times} times, last {age}"),
        });
        parts.join(", ")
    }
}

/// Finds entries by their words, in this checkout and in others of the same
/// repository.
pub fn search_evidence(workspace: &Workspace, request: &EvidenceRequest<'_>) -> EvidenceAnswer {
    let mut all = read_everywhere(workspace);
    let is_wanted = |at: i64| {
        let Some(since) = request.since else {
            return true;
        };
        Timestamp::from_second(at).is_ok_and(|it| day_of_timestamp(it) >= since)
    };
    all.retain(|_, entry| is_wanted(entry.at));
    let found = find_entries(&all.entries, request.question);
    let results = found
        .iter()
        .take(request.limit)
        .filter_map(|it| describe(&all, it.at, it.times));
    EvidenceAnswer {
        results: results.collect(),
        more: found.len().saturating_sub(request.limit),
        entries: all.entries.len(),
    }
}

fn describe(all: &EvidenceCollection, at: usize, times: usize) -> Option<EvidenceResult> {
    let entry = &all.entries[at];
    let (dir, detail, exit, tests) = match &entry.fact {
        EvidenceFact::Command(it) => (it.dir.as_str(), it.error.as_str(), it.exit, it.tests),
        EvidenceFact::Refused { words, .. } => ("", words.as_str(), None, None),
        _ => ("", "", None, None),
    };
    let (path, line) = all.place(at);
    Some(EvidenceResult {
        kind: kind_name(&entry.fact),
        text: one_line(main_text(&entry.fact)),
        dir: one_line(dir),
        detail: one_line(detail),
        exit,
        tests,
        times,
        at: Timestamp::from_second(entry.at).ok()?,
        path,
        line,
    })
}

/// Returns a text of the log on one line, without orders to an agent: a line of
/// a result is never passed on as advice.
fn one_line(text: &str) -> String {
    let clean = quote::sanitize_unrequested(text);
    let line = clean.trim().chars();
    line.map(|c| if c.is_control() { ' ' } else { c }).collect()
}
