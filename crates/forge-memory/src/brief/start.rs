//! The briefing of a session at its start, and again after a compaction: the
//! state ranked by value. Nothing here fails: a file that cannot be read
//! becomes a line with the reason.

use self::frame::Frame;
pub(super) use self::sources::Sources;
use super::pack::{Budget, NOTHING, Packer, Shortening, shortened};
use super::{Brief, BriefInput, MAX_BYTES};
use crate::mind::{Decision, Mind, cut, plain};
use crate::retractions::Corrections;
use crate::tokens::estimate;

mod frame;
mod sources;

/// The part of the text in which a piece appears.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slot {
    State,
    Checkpoint,
    Events,
    /// Remarks about a workspace with a manifest.
    Overview,
    Progress,
    Blocked,
    Decisions,
    Session,
    /// The index of topics, a line each.
    Pointers,
}

/// Renders the state of the work for an agent that knows nothing yet.
pub fn brief_start(mind: &Mind<'_>, input: &BriefInput<'_>) -> Brief {
    let sources = Sources::read(mind);
    let corrections = mind.corrections();
    let frame = Frame::of(mind, &sources, input);
    let limit = limit(input);
    // The frame alone may exceed a very small cap.
    let Some(left) = frame.room_inside(limit) else {
        return smallest(&sources, limit, &corrections);
    };
    let mut packer = Packer::new(left, &corrections, input.nonce);
    let mut left_out = Vec::new();
    sources.fill(&mut packer, &frame, input, &mut left_out);
    let (text, parts) = frame.render(&mut packer, &left_out);
    if !fits(&text, limit) {
        return smallest(&sources, limit, &corrections);
    }
    Brief {
        parts,
        left_out,
        ..Brief::of_text(text)
    }
}

/// Returns the caps of a text as a whole.
pub(super) fn limit(input: &BriefInput<'_>) -> Budget {
    Budget {
        // A briefing has fewer bytes than its cap.
        bytes: input.budget.bytes.min(MAX_BYTES).saturating_sub(1),
        ..input.budget
    }
}

/// Returns `true` if a whole text is within the caps.
pub(super) fn fits(text: &str, limit: Budget) -> bool {
    estimate(text) <= limit.tokens && text.len() <= limit.bytes
}

/// Renders the next action alone, for caps that hold no briefing; empty if even
/// that does not fit.
fn smallest(sources: &Sources, limit: Budget, corrections: &Corrections) -> Brief {
    let state = sources.state.as_ref().ok().and_then(Option::as_ref);
    let next = state.and_then(|it| it.next.as_deref()).unwrap_or("not set");
    let next = if corrections.check(next).is_empty() {
        next
    } else {
        "see the state file"
    };
    let text = format!("[Memory] Next: {}", plain(next));
    // The estimate of a whole text has its constant again.
    let room = limit.minus(Budget {
        tokens: 5,
        ..NOTHING
    });
    let text = shortened(&text, room, Shortening::Marked).unwrap_or_default();
    Brief {
        left_out: vec!["everything but the next action".to_owned()],
        ..Brief::of_text(if fits(&text, limit) {
            text
        } else {
            String::new()
        })
    }
}

/// Renders a decision on one line: `DEC-007: title — decision`.
pub(super) fn in_a_line(decision: &Decision) -> String {
    let id = decision
        .id
        .as_ref()
        .map(|id| format!("{id}: "))
        .unwrap_or_default();
    let what = decision
        .decision
        .as_ref()
        .filter(|it| **it != decision.title)
        .map(|it| format!(" — {it}"))
        .unwrap_or_default();
    cut(&format!("{id}{}{what}", decision.title), 240)
}
