//! Finds stale blockers: those that appear in three entries of the log, or that
//! are older than a week.

use jiff::civil::Date;

use super::values::days_since;
use super::{SessionEntry, WorkState, content_words, first_date};
use crate::thresholds::{BLOCKER_STALE_DAYS, BLOCKER_STALE_ENTRIES};

/// A blocker that has been open for too long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaleBlocker {
    /// The blocker as the state has it.
    pub text: String,
    /// Number of log entries that mention it.
    pub entries: usize,
    /// The first day on which it is known to exist.
    pub since: Option<Date>,
}

/// Returns the blockers of a state that are stale.
pub fn find_stale_blockers(
    state: &WorkState,
    sessions: &[SessionEntry],
    today: Date,
) -> Vec<StaleBlocker> {
    let words: Vec<_> = sessions.iter().map(|it| content_words(&it.text)).collect();
    let mut found = Vec::new();
    for blocker in &state.blocked {
        let own = content_words(blocker);
        let speaks = |at: &usize| {
            let shared = own.intersection(&words[*at]).count();
            !own.is_empty() && shared * 10 >= own.len() * 6
        };
        let entries: Vec<usize> = (0..sessions.len()).filter(speaks).collect();
        let logged = entries.iter().filter_map(|at| sessions[*at].date).min();
        let since = [first_date(blocker), logged].into_iter().flatten().min();
        // Without a date of its own, a blocker is at least as old as the state.
        let since = since.or(state.updated);
        let long = since.is_some_and(|day| days_since(day, today) > BLOCKER_STALE_DAYS);
        if entries.len() >= BLOCKER_STALE_ENTRIES || long {
            found.push(StaleBlocker {
                text: blocker.clone(),
                entries: entries.len(),
                since,
            });
        }
    }
    found
}
