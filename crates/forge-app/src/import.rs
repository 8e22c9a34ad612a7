//! Memory that was kept elsewhere, brought in as documents of the workspace:
//! sessions of Claude Code and Codex, Claude's own memory, a memory bank,
//! claude-mem's database, basic-memory's notes.
//!
//! Twice is once: a document knows its origin and is written only when that has
//! changed and nobody edited it here. Sources are read and never written. All
//! text goes through one gate, [`admit_import`](crate::admit::admit_import), where secrets stay behind.

use std::path::PathBuf;

use jiff::Timestamp;
use jiff::civil::Date;

use crate::diagnostic::Diagnostic;
use crate::workspace::{self, RelPath};

pub mod basic_memory;
pub mod claude_mem;
mod jsonl;
mod land;
pub mod memory_bank;
pub mod native;
mod notes;
mod page;
pub mod transcripts;

pub use crate::admit::Tally;
pub use jsonl::BadLine;
pub use page::entries;

#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub now: Timestamp,
    /// Decide about everything and write nothing.
    pub dry_run: bool,
    /// Replace also what was edited here; the bytes before can be undone to.
    pub force: bool,
    /// Only what was last changed on this day or later.
    pub since: Option<Date>,
    /// At most so many documents, the newest.
    pub limit: Option<usize>,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Workspace(#[from] workspace::Error),
    #[error("There is nothing at `{}`", path.display())]
    Missing { path: PathBuf },
    #[error("`{}` is not a folder", path.display())]
    NotAFolder { path: PathBuf },
    #[error("Could not read `{}`: {why}", path.display())]
    Unreadable { path: PathBuf, why: String },
    #[error("`{path}` and a thousand names like it are taken")]
    NoName { path: RelPath },
}

impl Diagnostic for Error {
    fn code(&self) -> &'static str {
        match self {
            Error::Workspace(error) => error.code(),
            Error::Missing { .. } => "import.missing",
            Error::NotAFolder { .. } => "import.not-a-folder",
            Error::Unreadable { .. } => "import.unreadable",
            Error::NoName { .. } => "import.no-free-name",
        }
    }

    fn hints(&self) -> Vec<String> {
        let hint = match self {
            Error::Workspace(error) => return error.hints(),
            Error::Missing { .. } | Error::NotAFolder { .. } => {
                "Name what is to be imported; `memory-forge import --help` has examples"
            }
            Error::Unreadable { .. } => "Nothing was imported from it",
            Error::NoName { .. } => "Rename some of them",
        };
        vec![hint.to_owned()]
    }

    fn is_usage(&self) -> bool {
        matches!(self, Error::Missing { .. } | Error::NotAFolder { .. })
    }
}

/// What became of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    New,
    /// Its source has changed, and nobody had edited it.
    Updated,
    Unchanged,
    /// Its source has changed, but it was edited here and stays as it is.
    Kept,
    /// It was edited here and replaced on demand.
    Replaced,
}

#[derive(Clone, Debug)]
pub struct Landed {
    pub path: RelPath,
    pub source_id: String,
    pub outcome: Outcome,
    /// How many entries it was made from; 1 for a note.
    pub entries: usize,
    pub tally: Tally,
}

/// A source of which nothing was imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    pub what: String,
    pub why: String,
    /// It was asked for by name, so that leaving it out is a failure.
    pub failed: bool,
}

/// A line of a source that could not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub file: String,
    pub line: Option<usize>,
    pub why: String,
}

/// Something for the state files that a person decides about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateProposal {
    /// The document that it stands in.
    pub from: String,
    pub what: Proposed,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proposed {
    Task,
    Active,
    Next,
}

/// What an import did, or would do.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub files: Vec<Landed>,
    pub skipped: Vec<Skipped>,
    pub problems: Vec<Problem>,
    /// Further problems, beyond those that are listed.
    pub more_problems: usize,
    /// Left alone because of `since` and `limit`.
    pub older: usize,
    pub beyond_limit: usize,
    /// Over all files.
    pub tally: Tally,
    pub proposals: Vec<StateProposal>,
    /// What can be undone, oldest first.
    pub changes: Vec<String>,
}

impl Report {
    pub fn count(&self, outcome: Outcome) -> usize {
        let same = self.files.iter().filter(|file| file.outcome == outcome);
        same.count()
    }

    fn skip(&mut self, what: impl Into<String>, why: impl Into<String>) {
        self.skipped.push(Skipped {
            what: what.into(),
            why: why.into(),
            failed: false,
        });
    }

    fn problem(&mut self, file: &str, line: Option<usize>, why: impl Into<String>) {
        if self.problems.len() >= MOST_PROBLEMS {
            self.more_problems += 1;
            return;
        }
        self.problems.push(Problem {
            file: file.to_owned(),
            line,
            why: why.into(),
        });
    }
}

const MOST_PROBLEMS: usize = 200;

/// The beginning of a file's name, made from words of a text.
fn name_from(words: &str) -> Option<String> {
    let words: String = words
        .chars()
        .take(120)
        .map(|c| if matches!(c, '/' | '\\') { ' ' } else { c })
        .collect();
    let slug = workspace::slug(&words).ok()?;
    if slug.len() <= MOST_NAME {
        return Some(slug);
    }
    let cut = &slug[..slug.floor_char_boundary(MOST_NAME)];
    // A word is left out rather than cut, unless it is all there is.
    let whole = cut.rfind('-').filter(|at| *at >= MOST_NAME / 2);
    Some(
        cut[..whole.unwrap_or(cut.len())]
            .trim_end_matches('-')
            .to_owned(),
    )
}

const MOST_NAME: usize = 60;

/// Eight characters that tell one id from another.
fn short(id: &str) -> String {
    let hex = |range: &str| {
        range
            .bytes()
            .all(|b| b.is_ascii_hexdigit() && !b.is_ascii_uppercase())
    };
    // A random UUID begins with what people know it by. Others begin with the
    // time, which two of them may share.
    let random = id.len() == 36 && id.as_bytes()[14] == b'4' && id.is_char_boundary(8);
    if random && hex(&id[..8]) {
        id[..8].to_owned()
    } else {
        blake3::hash(id.as_bytes()).to_hex()[..8].to_owned()
    }
}

/// A moment as a source writes it, if it is one that files can be named after.
fn moment(text: &str) -> Option<Timestamp> {
    usual(text.parse().ok()?)
}

fn usual(moment: Timestamp) -> Option<Timestamp> {
    let (first, last) = (0, 4_102_444_800);
    (first..last)
        .contains(&moment.as_second())
        .then_some(moment)
}

/// The day on which a file was last changed.
fn modified(path: &std::path::Path) -> Option<Timestamp> {
    let modified = std::fs::metadata(path).ok()?.modified().ok()?;
    usual(Timestamp::try_from(modified).ok()?)
}
