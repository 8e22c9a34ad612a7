//! Thresholds for old, long and large. Every number that a check or a remark
//! compares with has its name here, so that two places cannot drift apart;
//! values that a person may change are in the configuration instead
//! (`mind.stale_seconds`, `[audit]`).

use jiff::SignedDuration;

/// Number of days after which the status is stale, by the date in its text.
pub const STATUS_STALE_DAYS: i64 = 3;
/// Seconds after which the state file counts as untouched, by its modification
/// time. Differs from [`STATUS_STALE_DAYS`]: a file may be written daily and
/// keep an old date.
pub const STATE_UNTOUCHED_SECONDS: i64 = 24 * 60 * 60;
/// Number of log entries that mention a blocker from which it is stale.
pub const BLOCKER_STALE_ENTRIES: usize = 3;
/// Number of days after which a blocker is stale.
pub const BLOCKER_STALE_DAYS: i64 = 7;
/// Time after the end of a session in which its last writes may still happen.
pub const UNCLEAN_CLOSE_GRACE: SignedDuration = SignedDuration::from_mins(5);
/// Number of days without consolidation after which the end of a session
/// mentions it.
pub const CONSOLIDATE_NAG_DAYS: i64 = 14;

/// Maximum number of lines of a file of decisions.
pub const MAX_DECISION_LINES: usize = 100;
/// Number of lines from which a file of decisions is nearly full.
pub const NEARLY_FULL_DECISION_LINES: usize = 95;
/// Number of lines from which `consolidate --fix` gathers decisions.
pub const MIN_LINES_TO_GATHER: usize = 60;

/// Maximum total size of the state files in bytes.
pub const MAX_STATE_BYTES: u64 = 50_000;
/// Maximum size of the MCP server's error log in bytes.
pub const MAX_ERROR_LOG_BYTES: u64 = 100 * 1024;
