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

pub use blockers::{StaleBlocker, find_stale_blockers};
pub use checkpoint::Checkpoint;
pub use compress::{CompressionReport, EventLogRotation, FileCompression};
pub use decisions::{Decision, DecisionSpan, NewDecision, Supersession};
pub use health::{FileInfo, HealthProblem, StateHealth};
pub use ideas::{Idea, IdeaOutcome, NewIdea};
pub use layout::{LayoutReason, MindFile, StateLayout, StateLayoutKind};
pub use progress::{ProgressTasks, TaskBucket, TaskEntry};
pub use record::{RecordOutcome, SessionLogOutcome, SessionRecord, StateWriteOutcome};
pub use sessions::{NewSession, SessionCapture, SessionEntry};
pub use state::{StateChange, StateSetOutcome, WorkState};
pub use tracking::{EventLog, HOOK_FAILURES_FILE, HookFailures, read_hook_failures};
pub use values::{days_since, duration_in_words};

/// Functions with which a briefing reads only the parts of a file that it
/// needs.
pub(crate) mod parts {
    pub(crate) use super::checkpoint::{has_known_form, lost_since_checkpoint};
    pub(crate) use super::decisions::recent_decisions;
    pub(crate) use super::outline::is_long;
    pub(crate) use super::progress::{WorkLine, work_document, work_lines};
    pub(crate) use super::sessions::recent_sessions;
    pub(crate) use super::state::{StatePart, state_at_a_glance};
}

pub use crate::state_files::MIND_FOLDER as FOLDER;

/// The state files of a workspace, and how their text is redacted when it is
/// read.
#[derive(Debug, Clone)]
pub struct MindStore<'a> {
    workspace: &'a Workspace,
    files: StateLayout,
    /// Redacts the text of files that are read.
    sanitize: fn(&str) -> Cow<'_, str>,
}

impl<'a> MindStore<'a> {
    /// Resolves where this workspace keeps its state. Looks at names only,
    /// except where a manifest may state other places.
    pub fn open(workspace: &'a Workspace) -> MindStore<'a> {
        MindStore {
            workspace,
            files: StateLayout::resolve(workspace),
            sanitize: |text| Cow::Borrowed(text),
        }
    }

    /// Returns a read-only view whose text has no credentials and shows hidden
    /// characters as escapes.
    pub fn redact_for_display(&self) -> MindStore<'a> {
        MindStore {
            sanitize: quote::sanitize_text,
            ..self.clone()
        }
    }

    /// Returns a read-only view for text that an agent receives without asking
    /// for it: in addition to what `shown` redacts, it drops lines that give
    /// the agent orders.
    pub fn redact_for_briefing(&self) -> MindStore<'a> {
        MindStore {
            sanitize: quote::sanitize_unrequested,
            ..self.clone()
        }
    }

    /// Returns the workspace that the state belongs to.
    pub fn workspace(&self) -> &'a Workspace {
        self.workspace
    }

    /// Returns which of the two layouts the state files have.
    pub fn layout_kind(&self) -> StateLayoutKind {
        self.files.layout
    }

    /// Lists state files of the other layout, which nothing reads or writes
    /// while this layout is in use.
    pub fn unused_state_files(&self) -> Vec<RelPath> {
        self.files.shadowed_files(self.workspace)
    }

    /// Describes which files hold the state if both layouts have some; returns
    /// none if only one layout is present.
    pub fn describe_layout_conflict(&self) -> Option<String> {
        let unused = self.unused_state_files();
        if unused.is_empty() {
            return None;
        }
        let unused: Vec<String> = unused.iter().map(|it| format!("`{it}`")).collect();
        let used = self.file_path(MindFile::State);
        Some(format!(
            "The state is in `{used}`; {} also exist{} and {} ignored",
            unused.join(", "),
            if unused.len() == 1 { "s" } else { "" },
            if unused.len() == 1 { "is" } else { "are" },
        ))
    }

    /// Returns `true` if at least one state file exists.
    pub fn has_state_files(&self) -> bool {
        [
            MindFile::State,
            MindFile::Progress,
            MindFile::Decisions,
            MindFile::SessionLog,
        ]
        .iter()
        .any(|which| self.absolute_path(*which).is_file())
    }

    /// Returns the path of a state file, whether or not it exists.
    pub fn file_path(&self, which: MindFile) -> RelPath {
        self.files.path(which).clone()
    }

    /// Finds state files with unresolved merge conflicts, and the line of the
    /// first conflict marker.
    pub fn find_unfinished_merges(&self) -> Vec<(RelPath, usize)> {
        let files = [
            MindFile::State,
            MindFile::Progress,
            MindFile::Decisions,
            MindFile::SessionLog,
        ];
        let found = files.into_iter().filter_map(|which| {
            let text = self.read_text(which).ok().flatten()?;
            Some((self.file_path(which), document::find_merge_marker(&text)?))
        });
        found.collect()
    }

    fn absolute_path(&self, which: MindFile) -> std::path::PathBuf {
        self.workspace.absolute_path(self.files.path(which))
    }

    /// Lists every file with current or past state, including those that hooks
    /// write, for callers that scan all texts.
    pub fn list_all_files(workspace: &Workspace) -> Vec<RelPath> {
        let mut all: Vec<RelPath> = [CHECKPOINTS_FOLDER]
            .iter()
            .chain(&STATE_FOLDERS)
            .flat_map(|folder| workspace.markdown_files_in(folder))
            .collect();
        let logs = EventLog::ALL.map(|log| format!("{FOLDER}/{}", log.name()));
        let kept = logs.iter().map(String::as_str).chain([HOOK_FAILURES_FILE]);
        let kept = kept.chain(["MEMORY.md", "MEMORY.local.md"]);
        all.extend(
            kept.filter_map(|path| RelPath::new(path).ok())
                .filter(|path| workspace.absolute_path(path).is_file()),
        );
        all
    }

    /// Reads a state file; returns none if it does not exist.
    pub(crate) fn read_text(&self, which: MindFile) -> Result<Option<String>, MindError> {
        let text = self
            .workspace
            .read_text_if_present(self.files.path(which))?;
        Ok(text.map(|text| match (self.sanitize)(&text) {
            Cow::Owned(sanitize) => sanitize,
            Cow::Borrowed(_) => text,
        }))
    }

    /// Reads `STATE.local.md` next to the state, which belongs to one person,
    /// and returns its path and text. An unreadable file counts as missing.
    pub(crate) fn read_private_state(&self) -> Option<(String, String)> {
        let state = self.files.path(MindFile::State).as_str();
        let path = format!(
            "{}{}",
            state.strip_suffix(".md")?,
            workspace::PRIVATE_SUFFIX
        );
        let text = self
            .workspace
            .read_text_if_present(&RelPath::new(&path).ok()?);
        let text = text.ok().flatten().filter(|it| !it.trim().is_empty())?;
        Some((path, text))
    }

    fn parse_document(&self, which: MindFile) -> Result<Option<Document>, MindError> {
        Ok(self.read_text(which)?.map(document::parse_document))
    }

    /// Reads the corrected facts; an unreadable list counts as empty.
    pub(crate) fn read_corrections(&self) -> Corrections {
        Corrections::read(self.workspace).unwrap_or_default()
    }

    /// Returns when a file was last written; none if it does not exist.
    pub fn modified_at(&self, which: MindFile) -> Option<Timestamp> {
        file_modified_at(&self.absolute_path(which))
    }

    /// Checks a text that is about to be written, and refuses it if it contains
    /// a secret or a corrected fact.
    fn admit_text<T: SubmittedText>(&self, text: T) -> Result<AdmittedText<T>, MindError> {
        Ok(admit::admit_text(self.workspace, text)?)
    }

    /// Reads a file, passes its text to `f` and writes the result, all under
    /// the workspace lock. `f` receives none if the file does not exist yet.
    /// The receipt contains the file before and after, so that a caller can
    /// show the difference.
    fn rewrite_file<T>(
        &self,
        which: MindFile,
        what: &str,
        now: Timestamp,
        f: impl FnOnce(
            &mut workspace::WorkspaceChange<'_>,
            Option<String>,
        ) -> Result<(String, T), MindError>,
    ) -> Result<(T, workspace::ChangeReceipt), MindError> {
        let path = self.files.path(which);
        self.change_workspace(what, now, |change| {
            let before = change.read_text(path)?;
            let (after, value) = f(change, before)?;
            change.write(path, after);
            Ok(value)
        })
    }

    /// Changes files under the workspace lock, with a closure that returns this
    /// module's error.
    fn change_workspace<T>(
        &self,
        what: &str,
        now: Timestamp,
        f: impl FnOnce(&mut workspace::WorkspaceChange<'_>) -> Result<T, MindError>,
    ) -> Result<(T, workspace::ChangeReceipt), MindError> {
        self.workspace.change_with(what, now, f)
    }
}

/// An error of reading or writing the state. Nothing was changed on disk.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MindError {
    /// The workspace could not be read or written.
    #[error(transparent)]
    Workspace(#[from] workspace::WorkspaceError),
    /// The text contains a secret or a corrected fact; the caller has to
    /// rephrase it.
    #[error(transparent)]
    Refused(#[from] admit::TextRefusal),
    /// The caller named a task that no open task matches.
    #[error("No open task matches `{text}`")]
    NoMatch {
        /// The words that the caller gave.
        text: String,
        /// The open tasks of the file.
        open: Vec<String>,
    },
    /// The caller named a task that several open tasks match.
    #[error("`{text}` matches {} open tasks", matching.len())]
    Ambiguous {
        /// The words that the caller gave.
        text: String,
        /// The tasks that match.
        matching: Vec<String>,
    },
    /// The caller passed an empty value for a required field.
    #[error("`{what}` is empty")]
    Empty {
        /// The field that is empty.
        what: &'static str,
    },
    /// An edit would change how the rest of the file is parsed, mostly because
    /// something above it is left open, which the user has to close.
    #[error("`{path}` could not be edited: {source}")]
    Edit {
        /// The file.
        path: String,
        /// What the edit would disturb.
        source: EditError,
    },
    /// The edited file would be parsed differently from what was intended,
    /// because of its existing structure; it was left unchanged.
    #[error("`{path}` could not be edited safely: {why}; nothing was changed")]
    Unsafe {
        /// The file.
        path: String,
        /// What would be read in another way.
        why: &'static str,
    },
}

/// Maximum number of tasks that an error names.
const MAX_TASKS_IN_HINTS: usize = 10;

impl Diagnostic for MindError {
    fn code(&self) -> &'static str {
        match self {
            MindError::Workspace(error) => error.code(),
            MindError::Refused(error) => error.code(),
            MindError::NoMatch { .. } => "mind.no-such-task",
            MindError::Ambiguous { .. } => "mind.several-tasks",
            MindError::Empty { .. } => "mind.empty",
            MindError::Edit { .. } => "mind.not-edited",
            MindError::Unsafe { .. } => "mind.unsafe-edit",
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            MindError::Workspace(error) => error.hints(),
            MindError::Refused(error) => error.hints(),
            MindError::NoMatch { open, .. } if open.is_empty() => {
                vec!["There are no open tasks".to_owned()]
            }
            MindError::NoMatch { open, .. } => list_tasks("Open", open),
            MindError::Ambiguous { matching, .. } => {
                let mut hints = list_tasks("Matches", matching);
                hints.push("Name one of them in full".to_owned());
                hints
            }
            MindError::Empty { .. } | MindError::Edit { .. } | MindError::Unsafe { .. } => {
                Vec::new()
            }
        }
    }

    fn is_usage(&self) -> bool {
        matches!(self, MindError::Empty { .. })
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

impl From<workspace::PathError> for MindError {
    fn from(error: workspace::PathError) -> MindError {
        MindError::Workspace(error.into())
    }
}

/// Truncates a text to `most` characters, between words where possible.
pub fn truncate_at_word(text: &str, most: usize) -> String {
    values::truncate_at_word(text, most)
}

/// Splits free text into list items, one plain line each, without placeholders.
pub fn list_items(text: &str) -> Vec<String> {
    let items = values::split_items(text).into_iter();
    items
        .filter(|it| !values::is_unset(it))
        .map(|it| values::plain_value(&it))
        .collect()
}

pub use decisions::condense::CondenseOutcome;
pub use decisions::condense::condense_decisions;
pub use decisions::shorten::{DecisionFullness, ShortenedDecisions};
pub use decisions::shorten::{decisions_archive_path, shorten_decisions};
pub use decisions::supersede::{content_words, mark_superseded_decisions};
pub(crate) use decisions::{decision_blocks, decision_lines, id_at_start};
pub(crate) use sessions::{session_blocks, session_number};
pub use values::first_date;
pub(crate) use values::{end_of_text, is_unset, list_marker_length, parse_labelled, plain_value};

fn file_modified_at(path: &Path) -> Option<Timestamp> {
    let time = std::fs::metadata(path).ok()?.modified().ok()?;
    Timestamp::try_from(time).ok()
}

#[cfg(test)]
mod tests;
