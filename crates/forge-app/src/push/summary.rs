//! Summarizes the log of pushes for `status` and the page. It reads one file
//! and judges nothing.

use crate::evidence::read_pushes;
use crate::workspace::Workspace;
use forge_memory::push::PushOutcome;

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
    /// Items that are not brought any more.
    pub silenced: usize,
}

impl PushSummary {
    /// Returns how many items have no known outcome yet.
    pub fn open(&self) -> usize {
        self.pushes
            .saturating_sub(self.avoided + self.ignored + self.contradicted + self.used)
    }
}

/// Counts the items in the log of pushes.
pub fn summarize_pushes(workspace: &Workspace) -> PushSummary {
    let log = read_pushes(workspace);
    let count = |outcome: PushOutcome| {
        let same = |it: &&_| log.outcome(it) == Some(outcome);
        log.pushes.iter().filter(same).count()
    };
    PushSummary {
        mode: workspace.config().recall.push.name(),
        pushes: log.pushes.len(),
        tokens: log.pushes.iter().map(|it| it.tokens).sum(),
        avoided: count(PushOutcome::Avoided),
        ignored: count(PushOutcome::Ignored),
        contradicted: count(PushOutcome::Contradicted),
        used: count(PushOutcome::Used),
        silenced: log.silenced_items().len(),
    }
}
