//! Reverts a change from the journal, for the command, `doctor --undo` and the
//! page. It keeps what was edited after that change, and restores all of its
//! files or none.

pub mod removal;

use jiff::Timestamp;

use crate::diagnostic::Diagnostic;
use crate::workspace::{self, JournalEntry, RelPath, Workspace};

/// Files that an undo restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoReceipt {
    /// The change that was reverted, and what it had been.
    pub undid: String,
    /// The description of the change that was reverted.
    pub what: String,
    /// The files that were restored.
    pub files: Vec<RestoredFile>,
    /// The journal entry of the undo itself; undoing that one redoes the
    /// change.
    pub id: Option<String>,
}

/// A file whose earlier bytes were restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoredFile {
    /// The path relative to the root.
    pub path: RelPath,
    /// Whether the change had created it, so that it is gone again.
    pub is_removed: bool,
}

/// Errors for which nothing was reverted.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    /// A file was edited after the change.
    #[error("`{path}` was edited after that change; nothing was restored")]
    Edited {
        /// The file that was edited.
        path: String,
    },
    /// The caller named a change that is not in the journal.
    #[error("There is no change `{id}` to undo")]
    NoSuchChange {
        /// The id that the caller named.
        id: String,
        /// The newest changes.
        recent: Vec<JournalEntry>,
    },
    /// The journal or a file could not be read or written.
    #[error(transparent)]
    Workspace(#[from] workspace::WorkspaceError),
}

/// Changes that an error lists as alternatives.
const MAX_RECENT_CHANGES: usize = 5;

impl Diagnostic for UndoError {
    fn code(&self) -> &'static str {
        match self {
            UndoError::Edited { .. } => "undo.edited",
            UndoError::NoSuchChange { .. } => "undo.no-such-change",
            UndoError::Workspace(error) => error.code(),
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            UndoError::Edited { .. } => vec![
                "The bytes before the change are in `.memory-forge/undo/`, one folder for each \
                 change"
                    .to_owned(),
            ],
            UndoError::NoSuchChange { recent, .. } => recent
                .iter()
                .map(|it| format!("{}: {}", it.id, it.what))
                .collect(),
            UndoError::Workspace(error) => error.hints(),
        }
    }

    fn is_usage(&self) -> bool {
        match self {
            UndoError::Edited { .. } | UndoError::NoSuchChange { .. } => false,
            UndoError::Workspace(error) => error.is_usage(),
        }
    }
}

/// Reverts the change `id`, or the newest one that a user requested.
pub fn undo_change(
    workspace: &Workspace,
    id: Option<&str>,
    now: Timestamp,
) -> Result<UndoReceipt, UndoError> {
    let undone = workspace
        .undo(id, now)
        .map_err(|error| explain_undo_error(workspace, error))?;
    let restored = |path: RelPath| RestoredFile {
        // The undo has already happened, so a missing file is one that the
        // change had created.
        is_removed: workspace.absolute_path(&path).symlink_metadata().is_err(),
        path,
    };
    Ok(UndoReceipt {
        undid: undone.undid,
        what: undone.what,
        files: undone.files.into_iter().map(restored).collect(),
        id: undone.id,
    })
}

/// Returns the change that [`undo_change`] would revert.
pub fn preview_undo(workspace: &Workspace, id: Option<&str>) -> Result<JournalEntry, UndoError> {
    let number = |id: &str| id.trim_start_matches('0').to_owned();
    let is_meant = |entry: &JournalEntry| match id {
        Some(id) => number(&entry.id) == number(id),
        None => entry.is_candidate_for_undo(),
    };
    let found = workspace.history()?.into_iter().find(is_meant);
    found.ok_or_else(|| {
        let error = match id {
            Some(id) => workspace::WorkspaceError::NoSuchChange { id: id.to_owned() },
            None => workspace::WorkspaceError::NothingToUndo,
        };
        explain_undo_error(workspace, error)
    })
}

/// Converts an error of the journal, with the newest changes as alternatives.
fn explain_undo_error(workspace: &Workspace, error: workspace::WorkspaceError) -> UndoError {
    match error {
        workspace::WorkspaceError::ChangedSince { path } => {
            let path = path.strip_prefix(workspace.root()).unwrap_or(&path);
            UndoError::Edited {
                path: path.display().to_string(),
            }
        }
        workspace::WorkspaceError::NoSuchChange { id } => {
            let mut recent = workspace.history().unwrap_or_default();
            recent.truncate(MAX_RECENT_CHANGES);
            UndoError::NoSuchChange { id, recent }
        }
        other => UndoError::Workspace(other),
    }
}
