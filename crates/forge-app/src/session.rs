//! A session of work from its first to its last minute: what an agent is told
//! when it starts, and what is written down when it ends.
//!
//! What happened is for the agent to say; everything that follows from it is
//! done here. Ending a session twice leaves the same bytes as ending it once.

mod blockers;
mod closes;
mod end;
mod start;
mod untracked;

pub use blockers::{StaleBlocker, stale};
pub use closes::{FILE as CLOSES, log_close};
pub use end::{Ended, Ending, end};
pub(crate) use end::{SHORTEN, SHORTEN_BY_HAND};
pub use start::{Briefing, LastSession, Start, overview, start};
pub use untracked::{SKIPPED, Untracked, is_skipped};

use jiff::civil::Date;

/// How many days lie between; negative when `then` is still to come.
pub(crate) fn days_since(then: Date, today: Date) -> i64 {
    i64::from((today - then).get_days())
}
