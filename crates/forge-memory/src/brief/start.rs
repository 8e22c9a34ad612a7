//! The briefing of a session at its start, and again after a compaction: the
//! state ranked by value. Nothing here fails: a file that cannot be read
//! becomes a line with the reason.

use self::frame::BriefFrame;
pub(super) use self::sources::BriefSources;
use super::pack::{BriefBudget, BriefPacker, ShorteningRule, ZERO_COST, shorten_text};
use super::{BriefInput, MAX_BRIEF_BYTES, RenderedBrief};
use crate::mind::{Decision, MindStore, plain_value, truncate_at_word};
use crate::retractions::Corrections;
use crate::tokens::estimate_tokens;

mod frame;
mod sources;

/// The part of the text in which a piece appears.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BriefSlot {
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
pub fn brief_start(mind: &MindStore<'_>, input: &BriefInput<'_>) -> RenderedBrief {
    let sources = BriefSources::read(mind);
    let corrections = mind.read_corrections();
    let frame = BriefFrame::for_briefing(mind, &sources, input);
    let limit = briefing_limit(input);
    // The frame alone may exceed a very small cap.
    let Some(left) = frame.room_inside(limit) else {
        return brief_next_action(&sources, limit, &corrections);
    };
    let mut packer = BriefPacker::new(left, &corrections, input.nonce);
    let mut left_out = Vec::new();
    sources.fill_packer(&mut packer, &frame, input, &mut left_out);
    let (text, parts) = frame.render_text(&mut packer, &left_out);
    if !fits_limit(&text, limit) {
        return brief_next_action(&sources, limit, &corrections);
    }
    RenderedBrief {
        parts,
        left_out,
        ..RenderedBrief::from_text(text)
    }
}

/// Returns the caps of a text as a whole.
pub(super) fn briefing_limit(input: &BriefInput<'_>) -> BriefBudget {
    BriefBudget {
        // A briefing has fewer bytes than its cap.
        bytes: input.budget.bytes.min(MAX_BRIEF_BYTES).saturating_sub(1),
        ..input.budget
    }
}

/// Returns `true` if a whole text is within the caps.
pub(super) fn fits_limit(text: &str, limit: BriefBudget) -> bool {
    estimate_tokens(text) <= limit.tokens && text.len() <= limit.bytes
}

/// Renders the next action alone, for caps that hold no briefing; empty if even
/// that does not fit.
fn brief_next_action(
    sources: &BriefSources,
    limit: BriefBudget,
    corrections: &Corrections,
) -> RenderedBrief {
    let state = sources.state.as_ref().ok().and_then(Option::as_ref);
    let next = state.and_then(|it| it.next.as_deref()).unwrap_or("not set");
    let next = if corrections.check_text(next).is_empty() {
        next
    } else {
        "see the state file"
    };
    let text = format!("[Memory] Next: {}", plain_value(next));
    // The estimate of a whole text has its constant again.
    let room = limit.minus(BriefBudget {
        tokens: 5,
        ..ZERO_COST
    });
    let text = shorten_text(&text, room, ShorteningRule::Marked).unwrap_or_default();
    RenderedBrief {
        left_out: vec!["everything but the next action".to_owned()],
        ..RenderedBrief::from_text(if fits_limit(&text, limit) {
            text
        } else {
            String::new()
        })
    }
}

/// Renders a decision on one line: `DEC-007: title — decision`.
pub(super) fn render_decision_line(decision: &Decision) -> String {
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
    truncate_at_word(&format!("{id}{}{what}", decision.title), 240)
}
