//! Stores what files held before a change, to undo it.
//!
//! An entry is a folder in `.memory-forge/undo/`: `entry.json` and the bytes
//! before, one file each, so that a person can restore them by hand. The
//! folder's name is its state: `0042.pending` while files are being changed,
//! `0042` when done. Restoring goes through the one writer; nothing here
//! overwrites what was edited since.

use std::collections::HashSet;

use jiff::Timestamp;

mod journal;
mod trace;

use super::write::{ChangePlan, PlannedWrite};
use super::{RelPath, Workspace, WorkspaceError};
use journal::{DROPPED_SUFFIX, FileState, INTERRUPTED_SUFFIX, PENDING_SUFFIX, parse_paths};

pub(super) use journal::Journal;
pub use trace::{ChangeAuthor, TracedFile};

/// One change that can be undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalEntry {
    /// The id by which `doctor --undo` finds it.
    pub id: String,
    /// The description of the change.
    pub what: String,
    /// When it was made.
    pub time: Timestamp,
    /// The files that it changed.
    pub files: Vec<JournalFile>,
    /// The change that this one took back.
    pub undoes: Option<String>,
    /// Made by the program on its own, such as a list derived from other files.
    pub automatic: bool,
    /// Whether a later entry took this one back.
    pub undone: bool,
    /// Cut off by a crash, and a file was edited before it could be rolled
    /// back: the edit was kept, and so is this entry with the bytes before.
    pub interrupted: bool,
}

/// A file of a change, and what happened to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalFile {
    /// The path relative to the root.
    pub path: RelPath,
    /// What happened to it.
    pub effect: FileEffect,
}

/// The effect of a change on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileEffect {
    /// The file did not exist before.
    Created,
    /// The file had other bytes before.
    Changed,
    /// The file existed before, and is gone.
    Removed,
}

/// An entry that cannot be undone as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnfinishedEntry {
    /// A change under way, or one that a crash cut off.
    Pending {
        /// The id of the entry.
        id: String,
    },
    /// Cut off, and a file was edited before it could be rolled back.
    Interrupted {
        /// The id of the entry.
        id: String,
    },
    /// An entry whose record cannot be read.
    Damaged {
        /// The id of the entry.
        id: String,
        /// What is wrong with it.
        why: String,
    },
}

/// The result of an undo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoReport {
    /// The entry of the undo itself; undoing that one redoes the change.
    pub id: Option<String>,
    /// The change that was undone, and its description.
    pub undid: String,
    /// The description of the change that was undone.
    pub what: String,
    /// The files that were restored.
    pub files: Vec<RelPath>,
}

impl JournalEntry {
    /// Returns `true` if an undo without an id may choose this entry: it was
    /// requested by a person or an agent, and nothing took it back yet.
    pub fn is_candidate_for_undo(&self) -> bool {
        !self.automatic && !self.undone && !self.interrupted && self.undoes.is_none()
    }
}

impl Workspace {
    /// Undoes the change `id`, or the newest one that was requested and is not
    /// undone: called again without an id, it goes one further back. Automatic
    /// changes of the same files since then are reverted too; what they derive
    /// is derived again. Undoing an undo by its id redoes the change.
    pub fn undo(&self, id: Option<&str>, now: Timestamp) -> Result<UndoReport, WorkspaceError> {
        let _lock = self.lock_for_writing(self.lock_wait)?;
        let journal = Journal::of(self);
        let entries = self.history()?;
        let entry = match id {
            Some(id) => entries.iter().find(|entry| is_same_id(&entry.id, id)),
            None => entries.iter().find(|entry| entry.is_candidate_for_undo()),
        };
        let entry = match (entry, id) {
            (Some(entry), _) => entry,
            (None, Some(id)) => return Err(WorkspaceError::NoSuchChange { id: id.to_string() }),
            (None, None) => return Err(WorkspaceError::NothingToUndo),
        };
        let folder = journal.entry_folder(entry);
        let record = journal.read_record(&folder)?;
        let newer = entries.iter().take_while(|it| it.id != entry.id);
        let mut later: Vec<&JournalEntry> = newer.filter(|it| it.automatic && !it.undone).collect();
        // Oldest first: each began where the one before ended.
        later.reverse();
        let mut files = Vec::new();
        for (index, file) in record.files.iter().enumerate() {
            let (path, current, state) = journal.file_state_of(file)?;
            match state {
                // Already as before, for example because it was restored by
                // hand.
                FileState::Before => continue,
                FileState::After => {}
                FileState::Other
                    if journal.is_automatic_since(file, current.as_deref(), &later)? => {}
                FileState::Other => {
                    return Err(WorkspaceError::ChangedSince {
                        path: self.absolute_path(&path),
                    });
                }
            }
            let after = journal.bytes_before(&folder, index, file)?;
            files.push(PlannedWrite {
                path,
                before: current,
                after,
                mode: file.mode,
            });
        }
        let plan = ChangePlan {
            what: match &record.undoes {
                None => format!("Undo {}: {}", record.id, record.what),
                Some(_) => format!("Redo by undoing {}: {}", record.id, record.what),
            },
            time: now,
            undoes: Some(record.id.clone()),
            is_automatic: false,
            files,
            folders_to_drop: parse_paths(&record.folders)?,
        };
        let receipt = self.commit_plan(plan)?;
        Ok(UndoReport {
            id: receipt.id,
            undid: record.id,
            what: record.what,
            files: receipt.files,
        })
    }

    /// Lists entries that [`Workspace::history`] does not offer to undo, oldest
    /// first. Nothing is repaired here: the next change does that.
    pub fn unfinished_entries(&self) -> Result<Vec<UnfinishedEntry>, WorkspaceError> {
        let journal = Journal::of(self);
        let mut folders = journal.entry_folders()?;
        folders.sort_by_key(|folder| folder.number);
        let mut unfinished = Vec::new();
        for folder in folders {
            let id = format!("{:04}", folder.number);
            match (folder.state, journal.read_record(&folder.path)) {
                (DROPPED_SUFFIX, _) => {}
                (PENDING_SUFFIX, _) => unfinished.push(UnfinishedEntry::Pending { id }),
                (_, Err(e)) => {
                    let why = e.to_string();
                    unfinished.push(UnfinishedEntry::Damaged { id, why });
                }
                (INTERRUPTED_SUFFIX, Ok(_)) => unfinished.push(UnfinishedEntry::Interrupted { id }),
                (_, Ok(_)) => {}
            }
        }
        Ok(unfinished)
    }

    /// Lists the changes that can be undone, newest first.
    pub fn history(&self) -> Result<Vec<JournalEntry>, WorkspaceError> {
        let journal = Journal::of(self);
        let mut folders = journal.entry_folders()?;
        folders.retain(|folder| matches!(folder.state, "" | INTERRUPTED_SUFFIX));
        folders.sort_by_key(|folder| std::cmp::Reverse(folder.number));
        let mut undone: HashSet<String> = HashSet::new();
        let mut entries = Vec::new();
        for folder in folders {
            // One that is damaged must not keep the others from being undone.
            let Ok(record) = journal.read_record(&folder.path) else {
                continue;
            };
            let is_undone = undone.contains(&record.id);
            // An undo that was itself undone has no effect any more.
            if let (Some(target), false) = (&record.undoes, is_undone) {
                undone.insert(target.clone());
            }
            entries.push(record.into_entry(is_undone, folder.state == INTERRUPTED_SUFFIX)?);
        }
        Ok(entries)
    }
}

/// Returns `true` if both name the same entry: `0042` may be typed as `42`.
fn is_same_id(id: &str, given: &str) -> bool {
    match (id.parse::<u64>(), given.parse::<u64>()) {
        (Ok(a), Ok(b)) => a == b,
        _ => id == given,
    }
}

#[cfg(test)]
mod tests;
