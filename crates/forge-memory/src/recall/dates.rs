//! Boosts documents of the time that a query names: "last March", "two weeks
//! ago".

use jiff::civil::Date;

use super::Hit;
use crate::document::when;

/// Boost for a document whose own date is in the time that the query names,
/// relative to 1 for the best text match.
const DATED: f32 = 0.15;

/// Boosts hits that are dated in the time that the query names.
pub(super) fn lift(hits: &mut [Hit], question: &str, today: Option<Date>) {
    let asked = when::find(question, today);
    if asked.is_empty() {
        return;
    }
    for hit in hits {
        let own = hit.passage.date.as_deref().and_then(when::read);
        if own.is_some_and(|(from, to)| asked.iter().any(|when| when.overlaps(from, to))) {
            hit.score += DATED;
            hit.evidence.dated = true;
        }
    }
}
