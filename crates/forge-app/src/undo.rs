//! Undo: reverts a change from the journal, for the command, `doctor --undo`
//! and the page. It changes nothing that was edited after that change, and
//! restores all of its files or none.

use jiff::Timestamp;

use crate::diagnostic::Diagnostic;
use crate::workspace::{self, JournalEntry, RelPath, Workspace};

/// What an undo restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoReceipt {
    /// The change that was reverted, and what it had been.
    pub undid: String,
    pub what: String,
    pub files: Vec<RestoredFile>,
    /// The entry of the undo itself; undoing that one redoes the change.
    pub id: Option<String>,
}

/// A file with its bytes from before a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoredFile {
    pub path: RelPath,
    /// The change had created it, so it is gone again.
    pub is_removed: bool,
}

/// Why nothing was reverted.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    #[error("`{path}` was edited after that change; nothing was restored")]
    Edited { path: String },
    #[error("There is no change `{id}` to undo")]
    NoSuchChange {
        id: String,
        /// The newest changes.
        recent: Vec<JournalEntry>,
    },
    #[error(transparent)]
    Workspace(#[from] workspace::Error),
}

/// Changes that a refusal names.
const MAX_RECENT: usize = 5;

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

/// Reverts the change `id`, or the newest one that was requested.
pub fn undo(
    workspace: &Workspace,
    id: Option<&str>,
    now: Timestamp,
) -> Result<UndoReceipt, UndoError> {
    let undone = workspace
        .undo(id, now)
        .map_err(|error| explain(workspace, error))?;
    let restored = |path: RelPath| RestoredFile {
        is_removed: workspace.absolute(&path).symlink_metadata().is_err(),
        path,
    };
    Ok(UndoReceipt {
        undid: undone.undid,
        what: undone.what,
        files: undone.files.into_iter().map(restored).collect(),
        id: undone.id,
    })
}

/// Returns the change that [`undo`] would revert.
pub fn preview_undo(workspace: &Workspace, id: Option<&str>) -> Result<JournalEntry, UndoError> {
    let number = |id: &str| id.trim_start_matches('0').to_owned();
    let is_meant = |entry: &JournalEntry| match id {
        Some(id) => number(&entry.id) == number(id),
        None => entry.is_candidate_for_undo(),
    };
    let found = workspace.history()?.into_iter().find(is_meant);
    found.ok_or_else(|| {
        let error = match id {
            Some(id) => workspace::Error::NoSuchChange { id: id.to_owned() },
            None => workspace::Error::NothingToUndo,
        };
        explain(workspace, error)
    })
}

fn explain(workspace: &Workspace, error: workspace::Error) -> UndoError {
    match error {
        workspace::Error::ChangedSince { path } => {
            let path = path.strip_prefix(workspace.root()).unwrap_or(&path);
            UndoError::Edited {
                path: path.display().to_string(),
            }
        }
        workspace::Error::NoSuchChange { id } => {
            let mut recent = workspace.history().unwrap_or_default();
            recent.truncate(MAX_RECENT);
            UndoError::NoSuchChange { id, recent }
        }
        other => UndoError::Workspace(other),
    }
}
