//! Boosts documents of the time that a query names: "last March", "two weeks
//! ago".

use jiff::civil::Date;

use super::RecallHit;
use crate::document::when;

/// Boost for a document whose own date is in the time that the query names,
/// relative to 1 for the best text match.
const DATE_MATCH_BOOST: f32 = 0.15;

/// Boosts hits that are dated in the time that the query names.
pub(super) fn boost_dated_hits(hits: &mut [RecallHit], question: &str, today: Option<Date>) {
    let wanted_ranges = when::find_date_ranges(question, today);
    if wanted_ranges.is_empty() {
        return;
    }
    for hit in hits {
        let own = hit.passage.date.as_deref().and_then(when::parse_date_range);
        if own.is_some_and(|(from, to)| wanted_ranges.iter().any(|when| when.overlaps(from, to))) {
            hit.score += DATE_MATCH_BOOST;
            hit.evidence.dated = true;
        }
    }
}
