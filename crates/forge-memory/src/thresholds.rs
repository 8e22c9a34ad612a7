//! From when on something counts as old, long or large. Every number that a
//! check or a remark compares with has its name here, so that two places cannot
//! drift apart; what a person may change is in the configuration instead
//! (`mind.stale_seconds`, `[audit]`).

use jiff::SignedDuration;

/// Days after which the status is stale, by the date that is written in it.
pub const STATUS_STALE_DAYS: i64 = 3;
/// Time after which the state file counts as untouched, by its modification
/// time. Another question than [`STATUS_STALE_DAYS`]: a file may be written
/// daily and keep an old date.
pub const STATE_UNTOUCHED_SECONDS: i64 = 24 * 60 * 60;
/// Entries of the session log in which a blocker may appear.
pub const BLOCKER_STALE_ENTRIES: usize = 3;
/// Days for which something may be blocked.
pub const BLOCKER_STALE_DAYS: i64 = 7;
/// Time after the end of a session in which its last writes may still happen.
pub const UNCLEAN_CLOSE: SignedDuration = SignedDuration::from_mins(5);
/// Days without a consolidation after which the end of a session mentions it.
pub const CONSOLIDATE_NAG_DAYS: i64 = 14;

/// Lines that a file of decisions may have.
pub const MAX_DECISION_LINES: usize = 100;
/// Lines from which a file of decisions counts as nearly full.
pub const DECISIONS_NEARLY_FULL: usize = 95;
/// Lines from which `consolidate --fix` gathers decisions.
pub const MIN_LINES_TO_GATHER: usize = 60;

/// Bytes that the files of the state may have together.
pub const MAX_STATE_BYTES: u64 = 50_000;
/// Bytes that the log of the MCP server's errors may have.
pub const MAX_ERROR_LOG_BYTES: u64 = 100 * 1024;
