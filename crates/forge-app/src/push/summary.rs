//! Summarizes the log of pushes for `status` and the page. It reads one file
//! and judges nothing.

use jiff::Timestamp;

use crate::evidence::read_pushes;
use crate::workspace::Workspace;
use forge_memory::push::{PushOutcome, PushStanding};

/// What was brought to agents and what followed, as far back as the log goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PushSummary {
    /// The setting `recall.push`.
    pub mode: &'static str,
    /// Number of items that were brought.
    pub pushes: usize,
    /// Estimated number of tokens of these items.
    pub tokens: usize,
    /// What an item warned of was not done again.
    pub avoided: usize,
    /// It was done again, and failed again.
    pub ignored: usize,
    /// The action worked: the item was wrong.
    pub contradicted: usize,
    /// The document that it points to was read.
    pub used: usize,
    /// What followed may still be seen.
    pub open: usize,
    /// What followed was not seen, or calls of tools cannot show it.
    pub unknown: usize,
    /// Items that are not brought any more.
    pub silenced: usize,
}

/// Counts the items in the log of pushes.
pub fn summarize_pushes(workspace: &Workspace, now: Timestamp) -> PushSummary {
    let log = read_pushes(workspace);
    let count = |standing: PushStanding| {
        let same = |it: &&_| log.standing(it, now.as_second()) == standing;
        log.pushes.iter().filter(same).count()
    };
    let judged = |outcome| count(PushStanding::Judged(outcome));
    PushSummary {
        mode: workspace.config().recall.push.name(),
        pushes: log.pushes.len(),
        tokens: log.pushes.iter().map(|it| it.tokens).sum(),
        avoided: judged(PushOutcome::Avoided),
        ignored: judged(PushOutcome::Ignored),
        contradicted: judged(PushOutcome::Contradicted),
        used: judged(PushOutcome::Used),
        open: count(PushStanding::Open),
        unknown: count(PushStanding::Unknown),
        silenced: log.silenced_items().len(),
    }
}
