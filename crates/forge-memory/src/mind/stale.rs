//! Determines how old the state is, and reminds the agent at a stop to write it
//! down. Looks at file times and reads no state file.

use jiff::Timestamp;

use super::{MindFile, MindStore, values};
use crate::quote;

impl MindStore<'_> {
    /// Returns a reminder to write the state down if it is stale.
    pub fn stale_reminder(&self, now: Timestamp) -> Option<String> {
        self.stale_duration(now)?;
        let path = self.files.path(MindFile::State);
        let folder = path
            .parent()
            .filter(|it| quote::path_outside_fence(it.as_str()) == it.as_str());
        let folder = folder.map_or(String::new(), |it| format!("{it}/ "));
        let path = quote::path_outside_fence(path.as_str());
        let minutes = self.stale_after_seconds() / 60;
        Some(format!(
            "[Memory] Reminder: {path} has not been updated in {minutes}+ minutes. If significant work was done, update {folder}files to preserve progress.",
        ))
    }

    /// Returns the age of the state in words if it is stale.
    pub fn stale_duration(&self, now: Timestamp) -> Option<String> {
        let seconds = now.as_second() - self.modified_at(MindFile::State)?.as_second();
        (seconds >= self.stale_after_seconds()).then(|| values::duration_in_words(seconds))
    }

    /// Returns the age of the state if it was already stale when the last turn
    /// ended. Clients such as Claude Code cannot take context at that moment
    /// without continuing the turn, so the next prompt brings the reminder. A
    /// state that is old only because nothing was done needs no reminder.
    pub(crate) fn overdue_at_last_stop(&self, now: Timestamp) -> Option<String> {
        let stopped = self
            .read_last_activity()
            .filter(|stopped| *stopped <= now)?;
        self.stale_duration(stopped)?;
        self.stale_duration(now)
    }

    fn stale_after_seconds(&self) -> i64 {
        i64::try_from(self.workspace.config().mind.stale_seconds).unwrap_or(i64::MAX)
    }
}
