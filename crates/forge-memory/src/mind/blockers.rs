//! Blockers that have stood for too long: in three entries of the log, or for
//! more than a week.

use jiff::civil::Date;

use super::values::days_since;
use super::{Session, State, content_words, first_date};
use crate::thresholds::{BLOCKER_STALE_DAYS, BLOCKER_STALE_ENTRIES};

/// A blocker that has stood for too long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaleBlocker {
    pub text: String,
    /// Entries of the log that speak of it.
    pub entries: usize,
    /// The first day that is known of it.
    pub since: Option<Date>,
}

/// Returns the blockers of a state that are stale.
pub fn stale_blockers(state: &State, sessions: &[Session], today: Date) -> Vec<StaleBlocker> {
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
        // A state that nobody touched for a week has its blockers for as long.
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
