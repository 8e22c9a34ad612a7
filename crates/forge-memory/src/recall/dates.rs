//! A question may say when: "last March", "two weeks ago". Documents of that
//! time stand higher.

use jiff::civil::Date;

use super::Hit;
use crate::document::when;

/// What a document's own date adds when it lies in the time that was asked
/// for, where the best text match counts as 1.
const DATED: f32 = 0.15;

/// Lifts what is dated in the time that the question names.
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
