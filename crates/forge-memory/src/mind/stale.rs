//! How old the state is, and the reminder at a stop to write it down. It looks
//! at times of files and reads none.

use jiff::Timestamp;

use super::{File, Mind, values};
use crate::quote;

impl Mind<'_> {
    /// A reminder to write the state down when that is long ago.
    pub fn stale_reminder(&self, now: Timestamp) -> Option<String> {
        self.stale_for(now)?;
        let path = self.files.path(File::State);
        let folder = path
            .parent()
            .filter(|it| quote::outside(it.as_str()) == it.as_str());
        let folder = folder.map_or(String::new(), |it| format!("{it}/ "));
        let path = quote::outside(path.as_str());
        let minutes = self.stale_seconds() / 60;
        Some(format!(
            "[Memory] Reminder: {path} has not been updated in {minutes}+ minutes. If significant work was done, update {folder}files to preserve progress.",
        ))
    }

    /// How long ago the state was written, in words, where that counts as stale.
    pub fn stale_for(&self, now: Timestamp) -> Option<String> {
        let seconds = now.as_second() - self.modified(File::State)?.as_second();
        (seconds >= self.stale_seconds()).then(|| values::duration_in_words(seconds))
    }

    /// The age of the state, where it was already stale when the last turn
    /// ended. Clients such as Claude Code take no context at that moment without
    /// going on to talk, so the next prompt brings the reminder. A state that is
    /// old only because nobody worked is no reason for one.
    pub(crate) fn overdue_at_last_stop(&self, now: Timestamp) -> Option<String> {
        let stopped = self.last_activity().filter(|stopped| *stopped <= now)?;
        self.stale_for(stopped)?;
        self.stale_for(now)
    }

    fn stale_seconds(&self) -> i64 {
        i64::try_from(self.workspace.config().mind.stale_seconds).unwrap_or(i64::MAX)
    }
}
