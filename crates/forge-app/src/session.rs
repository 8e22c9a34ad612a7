//! Follows a session of work from start to end: what is closed when it starts,
//! what is kept at each turn, and what is recorded when it ends.
//!
//! The agent describes what happened; everything that follows from it is done
//! here. Ending a session is idempotent: a second time leaves the same bytes.

use jiff::Timestamp;

mod close;
mod closes;
mod open;

pub(crate) use close::{SHORTEN, SHORTEN_BY_HAND};
pub use close::{SessionClosing, SessionEnding, SessionReport, close_session};
pub use closes::FILE as CLOSES;
pub use open::{SessionNews, SessionOpening, open_session};

pub(crate) use crate::mind::days_since;
use crate::mind::{Error, Mind};
pub use crate::mind::{StaleBlocker, stale_blockers as stale};
pub use crate::routing::untracked::{SKIPPED, Untracked, is_skipped};

/// Follow-up of a turn's end.
#[derive(Debug, Default)]
pub struct TurnEnd {
    /// A reminder to update the state, if the last update is long ago.
    pub reminder: Option<String>,
    /// Why no checkpoint of this turn was written.
    pub problem: Option<Error>,
}

/// Records the end of a turn and keeps a checkpoint if anything changed:
/// clients do not always report the end of a session, so each turn counts as a
/// possible last one.
pub fn end_turn(mind: &Mind<'_>, now: Timestamp) -> Result<TurnEnd, Error> {
    if !mind.exists() {
        return Ok(TurnEnd::default());
    }
    mind.touch(now)?;
    Ok(TurnEnd {
        problem: mind.checkpoint_if_changed("stop", now).err(),
        reminder: mind.stale_reminder(now),
    })
}
