//! Follows a session of work from start to end: what is closed when it starts,
//! what is kept at each turn, and what is recorded when it ends.
//!
//! The agent describes what happened; everything that follows from it is done
//! here. Ending a session is idempotent: a second time leaves the same bytes.

use jiff::Timestamp;

mod close;
mod closes;
mod open;

pub(crate) use close::{SHORTEN_BY_HAND_ADVICE, SHORTEN_COMMAND};
pub use close::{SessionCloseRequest, SessionEnding, SessionReport, close_session};
pub use closes::CLOSE_LOG_FILE as CLOSES;
pub use open::{SessionNews, SessionOpenRequest, open_session};

pub(crate) use crate::mind::days_since;
use crate::mind::{MindError, MindStore};
pub use crate::mind::{StaleBlocker, find_stale_blockers as stale};
pub use crate::routing::untracked::{SKIPPED_FOLDERS, UntrackedContent, is_skipped_path};

/// Follow-up of a turn's end.
#[derive(Debug, Default)]
pub struct TurnEnd {
    /// A reminder to update the state, if the last update is long ago.
    pub reminder: Option<String>,
    /// Why no checkpoint of this turn was written.
    pub problem: Option<MindError>,
}

/// Records the end of a turn and keeps a checkpoint if anything changed:
/// clients do not always report the end of a session, so each turn counts as a
/// possible last one.
pub fn end_turn(mind: &MindStore<'_>, now: Timestamp) -> Result<TurnEnd, MindError> {
    if !mind.has_state_files() {
        return Ok(TurnEnd::default());
    }
    mind.touch_activity(now)?;
    Ok(TurnEnd {
        problem: mind.write_checkpoint_if_changed("stop", now).err(),
        reminder: mind.stale_reminder(now),
    })
}
