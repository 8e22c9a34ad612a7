//! Reads and writes the state of the work: status, progress, decisions and
//! sessions, as Markdown that people and agents edit side by side.
//!
//! Readers accept a file as it is, and writers keep its format. No text is ever
//! dropped: old entries move to an archive word for word. Nothing here looks at
//! a clock, loads a vocabulary or opens the index, since hooks call it at every
//! prompt.

use std::borrow::Cow;
use std::path::Path;

use jiff::Timestamp;

use crate::admit::{self, AdmittedText, SubmittedText};
use crate::corrections::Corrections;
use crate::diagnostic::Diagnostic;
use crate::document::{self, Document, EditError};
use crate::quote;
use crate::state_files::{CHECKPOINTS_FOLDER, STATE_FOLDERS};
use crate::workspace::{self, RelPath, Workspace};

mod archive;
mod blockers;
mod checkpoint;
mod compress;
mod decisions;
pub(crate) mod fields;
mod health;
mod ideas;
mod layout;
mod outline;
mod progress;
mod record;
mod sessions;
mod stale;
mod state;
mod tracking;
mod values;

pub use blockers::{StaleBlocker, stale_blockers};
pub use checkpoint::Checkpoint;
pub use compress::{Compression, Rotation, Store};
pub use decisions::{Decided, Decision, NewDecision, Supersession};
pub use health::{FileInfo, Health, HealthProblem};
pub use ideas::{Idea, IdeaKept, NewIdea};
pub use layout::{File, Layout, LayoutReason, StateLayout};
pub use progress::{Bucket, Progress, TaskEntry};
pub use record::{Logged, Record, Recorded, Written};
pub use sessions::{Captured, NewSession, Session};
pub use state::{SetOutcome, State, StateChange};
pub use tracking::{Failures, HOOK_FAILURES, Log, failures};
pub use values::{days_since, duration_in_words};

/// Functions with which a briefing reads only the parts of a file that it
/// needs.
pub(crate) mod parts {
    pub(crate) use super::checkpoint::{differences as lost_since_checkpoint, has_known_form};
    pub(crate) use super::decisions::recent as recent_decisions;
    pub(crate) use super::outline::is_long;
    pub(crate) use super::progress::{WorkLine, work_document, work_lines};
    pub(crate) use super::sessions::recent as recent_sessions;
    pub(crate) use super::state::{Part, glance as state_at_a_glance};
}

pub use crate::state_files::MIND_FOLDER as FOLDER;

/// The state files of a workspace, and how their text is redacted when it is
/// read.
#[derive(Debug, Clone)]
pub struct Mind<'a> {
    workspace: &'a Workspace,
    files: StateLayout,
    /// Redacts the text of files that are read.
    told: fn(&str) -> Cow<'_, str>,
}

impl<'a> Mind<'a> {
    /// Resolves where this workspace keeps its state. Looks at names only,
    /// except where a manifest may state other places.
    pub fn open(workspace: &'a Workspace) -> Mind<'a> {
        Mind {
            workspace,
            files: StateLayout::resolve(workspace),
            told: |text| Cow::Borrowed(text),
        }
    }

    /// Returns a read-only view whose text has no credentials and shows hidden
    /// characters as escapes.
    pub fn shown(&self) -> Mind<'a> {
        Mind {
            told: quote::clean,
            ..self.clone()
        }
    }

    /// Returns a read-only view for text that an agent receives without asking
    /// for it: in addition to what `shown` redacts, it drops lines that give
    /// the agent orders.
    pub fn unasked(&self) -> Mind<'a> {
        Mind {
            told: quote::unasked,
            ..self.clone()
        }
    }

    /// Returns the workspace that the state belongs to.
    pub fn workspace(&self) -> &'a Workspace {
        self.workspace
    }

    /// Returns which of the two layouts the state files have.
    pub fn layout(&self) -> Layout {
        self.files.layout
    }

    /// Returns which files hold the state, and why those were chosen.
    pub fn state_layout(&self) -> &StateLayout {
        &self.files
    }

    /// Lists state files of the other layout, which nothing reads or writes
    /// while this layout is in use.
    pub fn unused_state(&self) -> Vec<RelPath> {
        self.files.shadowed(self.workspace)
    }

    /// Describes which files hold the state if both layouts have some; returns
    /// none if only one layout is present.
    pub fn two_layouts(&self) -> Option<String> {
        let unused = self.unused_state();
        if unused.is_empty() {
            return None;
        }
        let unused: Vec<String> = unused.iter().map(|it| format!("`{it}`")).collect();
        let used = self.file(File::State);
        Some(format!(
            "The state is in `{used}`; {} also exist{} and {} ignored",
            unused.join(", "),
            if unused.len() == 1 { "s" } else { "" },
            if unused.len() == 1 { "is" } else { "are" },
        ))
    }

    /// Returns `true` if at least one state file exists.
    pub fn exists(&self) -> bool {
        [
            File::State,
            File::Progress,
            File::Decisions,
            File::SessionLog,
        ]
        .iter()
        .any(|which| self.absolute(*which).is_file())
    }

    /// Returns the path of a state file, whether or not it exists.
    pub fn file(&self, which: File) -> RelPath {
        self.files.path(which).clone()
    }

    /// Finds state files with unresolved merge conflicts, and the line of the
    /// first conflict marker.
    pub fn unmerged(&self) -> Vec<(RelPath, usize)> {
        let files = [
            File::State,
            File::Progress,
            File::Decisions,
            File::SessionLog,
        ];
        let found = files.into_iter().filter_map(|which| {
            let text = self.text(which).ok().flatten()?;
            Some((self.file(which), document::unmerged(&text)?))
        });
        found.collect()
    }

    fn absolute(&self, which: File) -> std::path::PathBuf {
        self.workspace.absolute(self.files.path(which))
    }

    /// Lists every file with current or past state, including those that hooks
    /// write, for callers that scan all texts.
    pub fn all_files(workspace: &Workspace) -> Vec<RelPath> {
        let mut all: Vec<RelPath> = [CHECKPOINTS_FOLDER]
            .iter()
            .chain(&STATE_FOLDERS)
            .flat_map(|folder| workspace.markdown_in(folder))
            .collect();
        let logs = Log::ALL.map(|log| format!("{FOLDER}/{}", log.name()));
        let kept = logs.iter().map(String::as_str).chain([HOOK_FAILURES]);
        let kept = kept.chain(["MEMORY.md", "MEMORY.local.md"]);
        all.extend(
            kept.filter_map(|path| RelPath::new(path).ok())
                .filter(|path| workspace.absolute(path).is_file()),
        );
        all
    }

    /// Reads a state file; returns none if it does not exist.
    pub(crate) fn text(&self, which: File) -> Result<Option<String>, Error> {
        let text = self.workspace.text_if_there(self.files.path(which))?;
        Ok(text.map(|text| match (self.told)(&text) {
            Cow::Owned(told) => told,
            Cow::Borrowed(_) => text,
        }))
    }

    /// Reads `STATE.local.md` next to the state, which belongs to one person,
    /// and returns its path and text. An unreadable file counts as missing.
    pub(crate) fn private_state(&self) -> Option<(String, String)> {
        let state = self.files.path(File::State).as_str();
        let path = format!("{}{}", state.strip_suffix(".md")?, workspace::PRIVATE);
        let text = self.workspace.text_if_there(&RelPath::new(&path).ok()?);
        let text = text.ok().flatten().filter(|it| !it.trim().is_empty())?;
        Some((path, text))
    }

    fn document(&self, which: File) -> Result<Option<Document>, Error> {
        Ok(self.text(which)?.map(document::parse))
    }

    /// Reads the corrected facts; an unreadable list counts as empty.
    pub(crate) fn corrections(&self) -> Corrections {
        Corrections::read(self.workspace).unwrap_or_default()
    }

    /// Returns when a file was last written; none if it does not exist.
    pub fn modified(&self, which: File) -> Option<Timestamp> {
        modified(&self.absolute(which))
    }

    /// Checks a text that is about to be written, and refuses it if it contains
    /// a secret or a corrected fact.
    fn admit<T: SubmittedText>(&self, text: T) -> Result<AdmittedText<T>, Error> {
        Ok(admit::admit(self.workspace, text)?)
    }

    /// Reads a file, passes its text to `f` and writes the result, all under
    /// the workspace lock. `f` receives none if the file does not exist yet.
    /// The receipt contains the file before and after, so that a caller can
    /// show the difference.
    fn rewrite<T>(
        &self,
        which: File,
        what: &str,
        now: Timestamp,
        f: impl FnOnce(&mut workspace::Change<'_>, Option<String>) -> Result<(String, T), Error>,
    ) -> Result<(T, workspace::Receipt), Error> {
        let path = self.files.path(which);
        self.change(what, now, |change| {
            let before = change.read_text(path)?;
            let (after, value) = f(change, before)?;
            change.write(path, after);
            Ok(value)
        })
    }

    /// Changes files under the workspace lock, with a closure that returns this
    /// module's error.
    fn change<T>(
        &self,
        what: &str,
        now: Timestamp,
        f: impl FnOnce(&mut workspace::Change<'_>) -> Result<T, Error>,
    ) -> Result<(T, workspace::Receipt), Error> {
        self.workspace.change_with(what, now, f)
    }
}

/// An error of reading or writing the state. Nothing was changed on disk.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The workspace could not be read or written.
    #[error(transparent)]
    Workspace(#[from] workspace::Error),
    /// The text contains a secret or a corrected fact; the caller has to
    /// rephrase it.
    #[error(transparent)]
    Refused(#[from] admit::Refusal),
    /// The caller named a task that no open task matches.
    #[error("No open task matches `{text}`")]
    NoMatch {
        text: String,
        /// The open tasks of the file.
        open: Vec<String>,
    },
    /// The caller named a task that several open tasks match.
    #[error("`{text}` matches {} open tasks", matching.len())]
    Ambiguous {
        text: String,
        /// The tasks that match.
        matching: Vec<String>,
    },
    /// The caller passed an empty value for a required field.
    #[error("`{what}` is empty")]
    Empty { what: &'static str },
    /// An edit would change how the rest of the file is parsed, mostly because
    /// something above it is left open, which the user has to close.
    #[error("`{path}` could not be edited: {source}")]
    Edit { path: String, source: EditError },
    /// The edited file would be parsed differently from what was intended,
    /// because of its existing structure; it was left unchanged.
    #[error("`{path}` could not be edited safely: {why}; nothing was changed")]
    Unsafe { path: String, why: &'static str },
}

/// Maximum number of tasks that an error names.
const MAX_TASKS_IN_HINTS: usize = 10;

impl Diagnostic for Error {
    fn code(&self) -> &'static str {
        match self {
            Error::Workspace(error) => error.code(),
            Error::Refused(error) => error.code(),
            Error::NoMatch { .. } => "mind.no-such-task",
            Error::Ambiguous { .. } => "mind.several-tasks",
            Error::Empty { .. } => "mind.empty",
            Error::Edit { .. } => "mind.not-edited",
            Error::Unsafe { .. } => "mind.unsafe-edit",
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Error::Workspace(error) => error.hints(),
            Error::Refused(error) => error.hints(),
            Error::NoMatch { open, .. } if open.is_empty() => {
                vec!["There are no open tasks".to_owned()]
            }
            Error::NoMatch { open, .. } => list_tasks("Open", open),
            Error::Ambiguous { matching, .. } => {
                let mut hints = list_tasks("Matches", matching);
                hints.push("Name one of them in full".to_owned());
                hints
            }
            Error::Empty { .. } | Error::Edit { .. } | Error::Unsafe { .. } => Vec::new(),
        }
    }

    fn is_usage(&self) -> bool {
        matches!(self, Error::Empty { .. })
    }
}

fn list_tasks(label: &str, tasks: &[String]) -> Vec<String> {
    let shown = tasks.iter().take(MAX_TASKS_IN_HINTS);
    let mut hints: Vec<String> = shown.map(|task| format!("{label}: {task}")).collect();
    if tasks.len() > MAX_TASKS_IN_HINTS {
        hints.push(format!("and {} more", tasks.len() - MAX_TASKS_IN_HINTS));
    }
    hints
}

impl From<workspace::PathError> for Error {
    fn from(error: workspace::PathError) -> Error {
        Error::Workspace(error.into())
    }
}

/// Truncates a text to `most` characters, between words where possible.
pub fn cut(text: &str, most: usize) -> String {
    values::cut(text, most)
}

/// Splits free text into list items, one plain line each, without placeholders.
pub fn list_items(text: &str) -> Vec<String> {
    let items = values::items(text).into_iter();
    items
        .filter(|it| !values::is_unset(it))
        .map(|it| values::plain(&it))
        .collect()
}

pub use decisions::condense::Condensed;
pub use decisions::condense::condensed;
pub use decisions::shorten::{Fullness, Shortened};
pub use decisions::shorten::{archive_of, shortened};
pub use decisions::supersede::{annotated, content_words};
pub(crate) use decisions::{blocks as decision_blocks, id_at_start, lines as decision_lines};
pub(crate) use sessions::{in_order as session_blocks, number_of as session_number};
pub use values::first_date;
pub(crate) use values::{end_of_text, is_unset, labelled, marker, plain};

fn modified(path: &Path) -> Option<Timestamp> {
    let time = std::fs::metadata(path).ok()?.modified().ok()?;
    Timestamp::try_from(time).ok()
}

#[cfg(test)]
mod tests;
