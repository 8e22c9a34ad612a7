//! Records entries of the state files (state, decisions, tasks, sessions and
//! ideas), in one way for every door.
//!
//! One entry is one change of one file. The response holds that file before and
//! after as the writer saw it under its lock: a door that read the file itself
//! could show what another process wrote in between. The caller's words are
//! never changed.

use jiff::Timestamp;

use crate::mind::{
    IdeaOutcome, MindError, MindFile, MindStore, NewDecision, NewIdea, NewSession, StateChange,
};
use crate::workspace::{ChangeReceipt, FileChange, RelPath, Workspace};

/// An entry to record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewStateEntry {
    /// Parts of the state; the others stay.
    State(StateChange),
    /// A decision under the next id.
    Decision(NewDecision),
    /// An open task.
    Task {
        /// The task.
        text: String,
        /// The section; one that is missing is added.
        section: String,
    },
    /// A task to mark as done.
    DoneTask {
        /// The task, or a part of it that no other open task has.
        text: String,
    },
    /// An entry of the session log.
    Session(NewSession),
    /// An idea for the inbox.
    Idea(NewIdea),
}

/// An entry as it was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordedEntry {
    /// The state was changed.
    State {
        /// Whether there was no file before.
        created: bool,
        /// The phase as it is now.
        phase: Option<String>,
    },
    /// A decision was added.
    Decision {
        /// `DEC-007`, or what the file's own form has in its place.
        id: String,
        /// Its title as it was given.
        title: String,
    },
    /// A task was added.
    Task {
        /// The title of its section in the file.
        section: String,
        /// The task as it was given.
        text: String,
    },
    /// A task was ticked.
    DoneTask {
        /// The task as the file has it.
        text: String,
    },
    /// A session was logged.
    Session {
        /// Its number.
        number: usize,
    },
    /// An idea was kept.
    Idea(IdeaOutcome),
}

/// The entry that [`record_entry`] wrote, with its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordResponse {
    /// The file that entries of this kind are kept in.
    pub file: RelPath,
    /// What was written.
    pub entry: RecordedEntry,
    /// The change for `undo`, and every file before and after.
    pub receipt: ChangeReceipt,
}

impl RecordResponse {
    /// Returns the entry's file before and after, where it changed, without the
    /// archive that old entries may have moved to.
    pub fn file_change(&self) -> Option<&FileChange> {
        self.receipt.change_of_file(&self.file)
    }
}

/// Records one entry in the state files of a workspace.
pub fn record_entry(
    workspace: &Workspace,
    new: NewStateEntry,
    now: Timestamp,
) -> Result<RecordResponse, MindError> {
    let mind = MindStore::open(workspace);
    let (file, entry, receipt) = match new {
        NewStateEntry::State(change) => {
            let (outcome, receipt) = mind.set_state(&change, now)?;
            let entry = RecordedEntry::State {
                created: outcome.created,
                phase: outcome.phase,
            };
            (mind.file_path(MindFile::State), entry, receipt)
        }
        NewStateEntry::Decision(new) => {
            let (id, receipt) = mind.add_decision(&new, now)?;
            let entry = RecordedEntry::Decision {
                id,
                title: new.title,
            };
            (mind.file_path(MindFile::Decisions), entry, receipt)
        }
        NewStateEntry::Task { text, section } => {
            let (section, receipt) = mind.add_task(&text, &section, now)?;
            let entry = RecordedEntry::Task { section, text };
            (mind.file_path(MindFile::Progress), entry, receipt)
        }
        NewStateEntry::DoneTask { text } => {
            let (text, receipt) = mind.complete_task(&text, now)?;
            let entry = RecordedEntry::DoneTask { text };
            (mind.file_path(MindFile::Progress), entry, receipt)
        }
        NewStateEntry::Session(new) => {
            let (number, receipt) = mind.log_session(&new, now)?;
            let entry = RecordedEntry::Session { number };
            (mind.file_path(MindFile::SessionLog), entry, receipt)
        }
        NewStateEntry::Idea(new) => {
            let (kept, receipt) = mind.add_idea(&new, now)?;
            (kept.path.clone(), RecordedEntry::Idea(kept), receipt)
        }
    };
    Ok(RecordResponse {
        file,
        entry,
        receipt,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_has_the_file_as_the_writer_saw_it() {
        let dir = tempfile::tempdir().expect("a folder can be made");
        let workspace = Workspace::open(dir.path()).expect("it can be opened");
        let now = "2026-03-01T09:00:00Z".parse().expect("a time");
        let phase = |text: &str| {
            NewStateEntry::State(StateChange {
                phase: Some(text.to_owned()),
                ..StateChange::default()
            })
        };
        let first = record_entry(&workspace, phase("One"), now).expect("it is written");
        let change = first.file_change().expect("the file was made");
        assert_eq!((&change.path, &change.before), (&first.file, &None));
        let second = record_entry(&workspace, phase("Two"), now).expect("it is written");
        let again = second.file_change().expect("the file was changed");
        assert_eq!(again.before, change.after, "nothing came in between");
        let there = workspace.read_text(&second.file).expect("it is there");
        assert_eq!(again.after_text(), there);
        assert!(again.before_text().contains("One") && there.contains("Two"));
        let same = record_entry(&workspace, phase("Two"), now).expect("nothing is wrong");
        assert_eq!((same.file_change(), same.receipt.id.as_ref()), (None, None));
    }

    #[test]
    fn every_kind_of_entry_names_its_own_file() {
        let dir = tempfile::tempdir().expect("a folder can be made");
        let workspace = Workspace::open(dir.path()).expect("it can be opened");
        let now = "2026-03-01T09:00:00Z".parse().expect("a time");
        let text = || "Ship it".to_owned();
        let decision = NewDecision {
            title: text(),
            decision: text(),
            ..NewDecision::default()
        };
        let session = NewSession {
            summary: text(),
            ..NewSession::default()
        };
        let idea = NewIdea {
            text: text(),
            ..NewIdea::default()
        };
        let section = "In Progress".to_owned();
        for (new, file) in [
            (NewStateEntry::Decision(decision), ".mind/DECISIONS.md"),
            (
                NewStateEntry::Task {
                    text: text(),
                    section,
                },
                ".mind/PROGRESS.md",
            ),
            (
                NewStateEntry::DoneTask { text: text() },
                ".mind/PROGRESS.md",
            ),
            (NewStateEntry::Session(session), ".mind/SESSION-LOG.md"),
            (NewStateEntry::Idea(idea), ".mind/IDEAS.md"),
        ] {
            let done = record_entry(&workspace, new, now).expect("it is written");
            assert_eq!(done.file.as_str(), file);
            assert_eq!(done.file_change().map(|it| it.path.as_str()), Some(file));
        }
    }
}
