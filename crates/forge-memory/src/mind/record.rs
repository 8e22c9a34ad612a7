//! Records the outcome of a session in one change: the state, decisions, an
//! entry in the log. Recording the same outcome again changes nothing.

use std::collections::HashMap;

use jiff::Timestamp;

use super::archive::StateArchive;
use super::compress::MAX_DATED_SESSIONS;
use super::decisions::{self, NewDecision};
use super::sessions::{self, NewSession};
use super::state::{StateChange, strip_update_date};
use super::{MindError, MindFile, MindStore, StateLayoutKind};
use crate::document::{self, day_of_timestamp};
use crate::workspace::WorkspaceChange;

/// The outcome of a session, to record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionRecord {
    /// The values of the state to change.
    pub state: StateChange,
    /// The decisions to add.
    pub decisions: Vec<NewDecision>,
    /// The entry for the session log; none adds no entry.
    pub session: Option<NewSession>,
    /// Whether a new date alone counts as a change of the state.
    pub refresh_date: bool,
    /// Whether decisions that are stated to be replaced get marked.
    pub annotate: bool,
}

/// Records that were written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordOutcome {
    /// How the state file changed.
    pub state: StateWriteOutcome,
    /// Ids of the added decisions, and the number of those that already
    /// existed.
    pub decided: Vec<String>,
    /// Number of decisions that the file had already.
    pub known_decisions: usize,
    /// Number of decisions that were marked as replaced.
    pub annotated: usize,
    /// Number of lines of the file of decisions afterwards.
    pub decision_lines: usize,
    /// The entry in the session log; none if none was added.
    pub session: Option<SessionLogOutcome>,
}

/// Change of the state file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StateWriteOutcome {
    /// The file did not exist before.
    Created,
    /// The file has other values.
    Updated,
    /// The file has the same bytes.
    #[default]
    Unchanged,
}

/// The entry that a session got in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionLogOutcome {
    /// The heading of the entry.
    pub title: String,
    /// `false` if the log already has the same entry of that day.
    pub added: bool,
    /// Number of old entries that moved to the archive.
    pub archived: usize,
}

/// Number of decisions from which supersessions are marked automatically; the
/// author can keep track of fewer.
const MIN_DECISIONS_TO_ANNOTATE: usize = 5;

impl MindStore<'_> {
    /// Records the outcome of a session in one change. Idempotent.
    pub fn write_record(
        &self,
        what: &str,
        record: &SessionRecord,
        now: Timestamp,
    ) -> Result<RecordOutcome, MindError> {
        let (recorded, _) = self.change_workspace(what, now, |change| {
            let mut recorded = RecordOutcome {
                state: self.record_state(change, record, now)?,
                ..RecordOutcome::default()
            };
            self.record_decisions(change, record, now, &mut recorded)?;
            if let Some(session) = &record.session {
                recorded.session = Some(self.record_session(change, session, now)?);
            }
            Ok(recorded)
        })?;
        Ok(recorded)
    }

    fn record_state(
        &self,
        change: &mut WorkspaceChange<'_>,
        record: &SessionRecord,
        now: Timestamp,
    ) -> Result<StateWriteOutcome, MindError> {
        let path = self.files.path(MindFile::State);
        let before = change.read_text(path)?;
        if before.is_none() && record.state.is_empty() && !record.refresh_date {
            return Ok(StateWriteOutcome::Unchanged);
        }
        let new = self.apply_state_change(before.clone(), &self.admit_text(&record.state)?, now)?;
        let after = new.text;
        let same = before.as_ref().is_some_and(|before| {
            if record.refresh_date {
                *before == after
            } else {
                strip_update_date(before) == strip_update_date(&after)
            }
        });
        if same {
            return Ok(StateWriteOutcome::Unchanged);
        }
        // In the same change, so that no crash can lose the replaced lines.
        self.archive_replaced_lines(change, &new.replaced, now)?;
        change.write(path, after);
        Ok(if new.outcome.created {
            StateWriteOutcome::Created
        } else {
            StateWriteOutcome::Updated
        })
    }

    fn record_decisions(
        &self,
        change: &mut WorkspaceChange<'_>,
        record: &SessionRecord,
        now: Timestamp,
        recorded: &mut RecordOutcome,
    ) -> Result<(), MindError> {
        let path = self.files.path(MindFile::Decisions);
        let before = change.read_text(path)?;
        let mut text = before.clone();
        let archive = match self.files.layout {
            StateLayoutKind::Mind => change.read_text(self.files.path(MindFile::Archive))?,
            StateLayoutKind::Manifest => None,
        };
        let archive = archive.unwrap_or_default();
        let today = day_of_timestamp(now);
        for new in &record.decisions {
            let existing = decisions::parse_decisions(&document::parse_document(
                text.clone().unwrap_or_default(),
            ));
            let mut known = false;
            for entry in &existing {
                known |= new.matches_entry(entry, today)?;
            }
            if known {
                recorded.known_decisions += 1;
                continue;
            }
            let (after, id) =
                self.text_with_decision(text, archive.clone(), &self.admit_text(new)?, now)?;
            recorded.decided.push(id);
            text = Some(after);
        }
        let Some(mut text) = text else { return Ok(()) };
        let count = decisions::parse_decisions(&document::parse_document(text.clone())).len();
        if record.annotate && count >= MIN_DECISIONS_TO_ANNOTATE {
            (text, recorded.annotated) =
                decisions::supersede::mark_superseded_decisions(path, text, today)?;
        }
        recorded.decision_lines = text.lines().count();
        if before.as_ref() != Some(&text) {
            change.write(path, text);
        }
        Ok(())
    }

    fn record_session(
        &self,
        change: &mut WorkspaceChange<'_>,
        session: &NewSession,
        now: Timestamp,
    ) -> Result<SessionLogOutcome, MindError> {
        let (log, archive) = (
            self.files.path(MindFile::SessionLog),
            self.files.path(MindFile::Archive),
        );
        let layout = self.files.layout;
        let archived = change.read_text(archive)?;
        let before = change.read_text(log)?;
        let known = |text: &str| {
            sessions::parse_sessions(&document::parse_document(text.to_owned()), layout)
        };
        let entries = before.as_deref().map(known).unwrap_or_default();
        let kept = archived.clone().unwrap_or_default();
        let (mut text, _) =
            self.text_with_session(before, kept, &self.admit_text(session)?, now)?;
        // Finds the new entry as the one that was not there before, since a log
        // may be in any order.
        let mut before: HashMap<&str, usize> = HashMap::new();
        for entry in &entries {
            *before.entry(&entry.text).or_default() += 1;
        }
        let new = known(&text).into_iter().find(|it| {
            let left = before.get_mut(it.text.as_str()).filter(|left| **left > 0);
            left.map(|left| *left -= 1).is_none()
        });
        let Some(new) = new else {
            return Err(MindError::Unsafe {
                path: log.to_string(),
                why: "the new entry would not be read as one",
            });
        };
        let body = |text: &str| text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
        let same = |it: &&sessions::SessionEntry| {
            it.date == new.date
                && body(&it.text) == body(&new.text)
                && (it.number.is_some() || it.title == new.title)
        };
        if let Some(same) = entries.iter().find(same) {
            return Ok(SessionLogOutcome {
                title: same.title.clone(),
                added: false,
                archived: 0,
            });
        }
        let mut moved = 0;
        if layout == StateLayoutKind::Manifest {
            let mut archive_text = StateArchive::new(archive, archived);
            let (store, shorter) = self.compress_sessions(
                text.clone(),
                MAX_DATED_SESSIONS,
                day_of_timestamp(now),
                &mut archive_text,
            )?;
            if let Some(shorter) = shorter {
                text = shorter;
                moved = store.compressed;
            }
            if let Some(after) = archive_text.finish()? {
                change.write(archive, after);
            }
        }
        change.write(log, text);
        Ok(SessionLogOutcome {
            title: new.title,
            added: true,
            archived: moved,
        })
    }
}
