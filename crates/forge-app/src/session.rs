//! A session of work from its first to its last minute: what is closed when it
//! starts, what is kept at each turn, and what is written down when it ends.
//!
//! What happened is for the agent to say; everything that follows from it is
//! done here. Ending a session twice leaves the same bytes as ending it once.

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

/// What is left to do at the end of a turn.
#[derive(Debug, Default)]
pub struct TurnEnd {
    /// A reminder to write the state down, where that is long ago.
    pub reminder: Option<String>,
    /// Why there is no checkpoint of this turn.
    pub problem: Option<Error>,
}

/// Notes that a turn ended and keeps a checkpoint if anything changed: clients
/// do not always report that a session ends, so each turn does.
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
