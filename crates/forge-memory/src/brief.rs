//! Briefings: the text that an agent receives without a request. A session gets
//! the state of the work, a prompt one line, a helper its own memory; there are
//! a checkpoint before a compaction, an overview of the workspace, and a
//! context by role.
//!
//! One packer holds the caps of all of them, and names what was left out. Text
//! from memory is data: it is fenced, except for the definitions of agents,
//! whose purpose is to instruct. Nothing here opens the index or loads a model
//! or a vocabulary, since hooks call it.

use std::borrow::Cow;

use jiff::Timestamp;

use crate::tokens::estimate_tokens;
use crate::workspace::RelPath;

mod compaction;
pub mod context;
mod fence;
mod helper;
pub mod overview;
mod pack;
pub mod pointers;
mod prompt;
mod start;

pub use compaction::brief_compaction;
pub use helper::brief_helper;
pub use pack::BriefBudget;
pub use pointers::PointerIndex;
pub use prompt::{MAX_PROMPT_CHARS, brief_prompt};
pub use start::brief_start;

/// Maximum number of tokens of a briefing, by estimate.
pub const MAX_BRIEF_TOKENS: usize = 2_500;
/// A briefing has fewer bytes than this: clients replace longer text by a
/// preview of it.
pub const MAX_BRIEF_BYTES: usize = 10_000;

/// The caps of a briefing.
pub const SESSION_BUDGET: BriefBudget = BriefBudget::of_text(MAX_BRIEF_TOKENS, MAX_BRIEF_BYTES);

/// Reason why a session starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionStartReason {
    /// A new session.
    Startup,
    /// A session that continues.
    Resume,
    /// A context that was cleared.
    Clear,
    /// A context that was compacted.
    Compact,
    /// A copy of another session.
    Fork,
}

/// The input from which the briefing of a session or a helper is made, in
/// addition to the state files.
#[derive(Debug, Clone, Copy)]
pub struct BriefInput<'a> {
    /// How the session came to start.
    pub reason: SessionStartReason,
    /// [`SESSION_BUDGET`] by default. The text stays below its bytes.
    pub budget: BriefBudget,
    /// A value that the author of a file cannot know.
    pub nonce: &'a str,
    /// The time against which ages are counted.
    pub now: Timestamp,
    /// Lines about helpers, tasks and sessions that were left open.
    pub events: &'a [String],
    /// Lines about a workspace with a manifest: its domains, ideas, and what
    /// needs attention, from [`overview::list_remarks`].
    pub overview: &'a [String],
    /// The index of topics, if there is one: for a session that of the
    /// workspace, for a helper its own.
    pub pointers: Option<&'a PointerIndex>,
}

/// The text that an agent receives, and the outcome of each part of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RenderedBrief {
    /// The text that the agent reads.
    pub text: String,
    /// Empty if the text is one line.
    pub parts: Vec<BriefPart>,
    /// The parts that did not fit, in words.
    pub left_out: Vec<String>,
    /// What the brief has beyond its text.
    pub detail: BriefDetail,
}

/// The data that a kind of brief has in addition to its text, for public JSON
/// shapes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum BriefDetail {
    /// Nothing more.
    #[default]
    TextAlone,
    /// The parts of an overview.
    Overview(Box<overview::SessionOverview>),
    /// The report of a context's layers.
    Context(Box<context::ContextReport>),
}

/// One part of a brief: a section, or a layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BriefPart {
    /// The name of the part.
    pub key: Cow<'static, str>,
    /// The file it comes from.
    pub source: Option<RelPath>,
    /// What became of it.
    pub state: BriefPartState,
    /// Number of characters in the text.
    pub chars: usize,
    /// The age of its file in days, if that is known.
    pub age_days: Option<i64>,
}

/// The outcome of a part of a brief.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BriefPartState {
    /// Shown in full.
    Shown,
    /// Shown in part.
    Cut,
    /// Left out because there was no room.
    Evicted,
    /// Nothing to show.
    Missing,
}

impl RenderedBrief {
    /// Returns a brief without parts.
    pub fn from_text(text: String) -> RenderedBrief {
        RenderedBrief {
            text,
            ..RenderedBrief::default()
        }
    }

    /// Returns the tokens of the text, by estimate.
    pub fn estimate_tokens(&self) -> usize {
        estimate_tokens(&self.text)
    }
}
