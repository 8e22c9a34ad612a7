//! Imports memory from elsewhere as documents of the workspace: sessions of
//! Claude Code and Codex, Claude's own memory, a memory bank, claude-mem's
//! database, basic-memory's notes.
//!
//! Importing is idempotent: a document records its origin and is written only
//! if that has changed and the document was not edited here. Sources are never
//! written. All text passes one gate,
//! [`admit_import`](crate::admit::admit_import), which removes secrets.

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

pub use crate::admit::ImportTally;
pub use crate::evidence::ImportedEvidence;
pub use jsonl::BadLine;
pub use page::count_entries;

/// Options that all imports share.
#[derive(Clone, Copy, Debug)]
pub struct ImportOptions {
    /// The time of the import.
    pub now: Timestamp,
    /// Whether to decide about every document without writing.
    pub dry_run: bool,
    /// Whether to replace also documents that were edited here; an undo
    /// restores them.
    pub force: bool,
    /// Only what was last changed on this day or later.
    pub since: Option<Date>,
    /// At most so many documents, the newest.
    pub limit: Option<usize>,
}

/// Errors that end an import.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A file of the workspace could not be read or written.
    #[error(transparent)]
    Workspace(#[from] workspace::WorkspaceError),
    /// The caller named a source that does not exist.
    #[error("There is nothing at `{}`", path.display())]
    Missing {
        /// The path that was given.
        path: PathBuf,
    },
    /// The caller named a file where a folder is needed.
    #[error("`{}` is not a folder", path.display())]
    NotAFolder {
        /// The path that was given.
        path: PathBuf,
    },
    /// The source exists and cannot be read.
    #[error("Could not read `{}`: {why}", path.display())]
    Unreadable {
        /// The source.
        path: PathBuf,
        /// The reason of the system or of the format.
        why: String,
    },
    /// Every name that the document could get is taken.
    #[error("`{path}` and a thousand names like it are taken")]
    NoName {
        /// The page for which no name is free.
        path: RelPath,
    },
}

impl Diagnostic for ImportError {
    fn code(&self) -> &'static str {
        match self {
            ImportError::Workspace(error) => error.code(),
            ImportError::Missing { .. } => "import.missing",
            ImportError::NotAFolder { .. } => "import.not-a-folder",
            ImportError::Unreadable { .. } => "import.unreadable",
            ImportError::NoName { .. } => "import.no-free-name",
        }
    }

    fn hints(&self) -> Vec<String> {
        let hint = match self {
            ImportError::Workspace(error) => return error.hints(),
            ImportError::Missing { .. } | ImportError::NotAFolder { .. } => {
                "Name what is to be imported; `memory-forge import --help` has examples"
            }
            ImportError::Unreadable { .. } => "Nothing was imported from it",
            ImportError::NoName { .. } => "Rename some of them",
        };
        vec![hint.to_owned()]
    }

    fn is_usage(&self) -> bool {
        matches!(
            self,
            ImportError::Missing { .. } | ImportError::NotAFolder { .. }
        )
    }
}

/// Outcome of one imported document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ImportOutcome {
    /// It did not exist here.
    New,
    /// Its source has changed, and it was not edited here.
    Updated,
    /// Its source is the one that was imported before.
    Unchanged,
    /// Its source has changed, but it was edited here and is left alone.
    Kept,
    /// It was edited here and replaced because of `force`.
    Replaced,
}

/// A document that an import wrote or considered.
#[derive(Clone, Debug)]
pub struct ImportedDocument {
    /// The document.
    pub path: RelPath,
    /// The id of its source, by which a later import recognizes it.
    pub source_id: String,
    /// What happened to it.
    pub outcome: ImportOutcome,
    /// How many entries it was made from; 1 for a note.
    pub entries: usize,
    /// What was taken out of the text.
    pub tally: ImportTally,
}

/// A source from which nothing was imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedSource {
    /// The source, as a person would name it.
    pub what: String,
    /// Why nothing was imported.
    pub why: String,
    /// Whether the caller named it, so that skipping it is a failure.
    pub failed: bool,
}

/// A line of a source that could not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportProblem {
    /// The file of the source.
    pub file: String,
    /// The line, where the format has lines.
    pub line: Option<usize>,
    /// Why it could not be used.
    pub why: String,
}

/// An entry for the state files, which a person accepts or drops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateProposal {
    /// The note that contains it.
    pub from: String,
    /// The section that it belongs to.
    pub what: StateProposalKind,
    /// The entry in the words of its source.
    pub text: String,
}

/// Section of the state files that a proposal belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateProposalKind {
    /// A task for the list of tasks.
    Task,
    /// Something that is being worked on.
    Active,
    /// The next action.
    Next,
}

/// The result of an import, or of its dry run.
#[derive(Clone, Debug, Default)]
pub struct ImportReport {
    /// The documents that were written or considered.
    pub files: Vec<ImportedDocument>,
    /// The sources that were skipped.
    pub skipped: Vec<SkippedSource>,
    /// Lines that could not be used.
    pub problems: Vec<ImportProblem>,
    /// Further problems, beyond those that are listed.
    pub more_problems: usize,
    /// Sources skipped because of `since`.
    pub older: usize,
    /// Sources skipped because of `limit`.
    pub beyond_limit: usize,
    /// Over all files.
    pub tally: ImportTally,
    /// Entries for the state files.
    pub proposals: Vec<StateProposal>,
    /// Evidence of the sessions.
    pub evidence: ImportedEvidence,
    /// Ids of the changes, for undo, oldest first.
    pub changes: Vec<String>,
}

impl ImportReport {
    /// Counts the documents with this outcome.
    pub fn count_outcome(&self, outcome: ImportOutcome) -> usize {
        let same = self.files.iter().filter(|file| file.outcome == outcome);
        same.count()
    }

    /// Records a source from which nothing was imported.
    fn add_skipped(&mut self, what: impl Into<String>, why: impl Into<String>) {
        self.skipped.push(SkippedSource {
            what: what.into(),
            why: why.into(),
            failed: false,
        });
    }

    /// Records a line that could not be used, up to a limit.
    fn add_problem(&mut self, file: &str, line: Option<usize>, why: impl Into<String>) {
        if self.problems.len() >= MAX_LISTED_PROBLEMS {
            self.more_problems += 1;
            return;
        }
        self.problems.push(ImportProblem {
            file: file.to_owned(),
            line,
            why: why.into(),
        });
    }
}

const MAX_LISTED_PROBLEMS: usize = 200;

/// Derives the stem of a file name from the first words of a text.
fn derive_file_stem(words: &str) -> Option<String> {
    let words: String = words
        .chars()
        .take(120)
        .map(|c| if matches!(c, '/' | '\\') { ' ' } else { c })
        .collect();
    let slug = workspace::slugify_name(&words).ok()?;
    if slug.len() <= MAX_STEM_BYTES {
        return Some(slug);
    }
    let cut = &slug[..slug.floor_char_boundary(MAX_STEM_BYTES)];
    // The last word is dropped rather than cut, unless too little would remain.
    let whole = cut.rfind('-').filter(|at| *at >= MAX_STEM_BYTES / 2);
    Some(
        cut[..whole.unwrap_or(cut.len())]
            .trim_end_matches('-')
            .to_owned(),
    )
}

const MAX_STEM_BYTES: usize = 60;

/// Shortens an id to eight characters that distinguish it.
fn shorten_id(id: &str) -> String {
    let hex = |range: &str| {
        range
            .bytes()
            .all(|b| b.is_ascii_hexdigit() && !b.is_ascii_uppercase())
    };
    // A random UUID (version 4) is known by its first characters. Others begin
    // with the time, which two sessions may share, so they are hashed.
    let random = id.len() == 36 && id.as_bytes()[14] == b'4' && id.is_char_boundary(8);
    if random && hex(&id[..8]) {
        id[..8].to_owned()
    } else {
        blake3::hash(id.as_bytes()).to_hex()[..8].to_owned()
    }
}

/// Parses a time of a source, if files can be named after it.
fn parse_moment(text: &str) -> Option<Timestamp> {
    keep_plausible_moment(text.parse().ok()?)
}

/// Returns the time if it is between 1970 and 2100: a wrong unit or a broken
/// clock gives times that no file should be named after.
fn keep_plausible_moment(moment: Timestamp) -> Option<Timestamp> {
    let (first, last) = (0, 4_102_444_800);
    (first..last)
        .contains(&moment.as_second())
        .then_some(moment)
}

/// Returns the time at which a file was last modified.
fn read_modified_time(path: &std::path::Path) -> Option<Timestamp> {
    let modified = std::fs::metadata(path).ok()?.modified().ok()?;
    keep_plausible_moment(Timestamp::try_from(modified).ok()?)
}
