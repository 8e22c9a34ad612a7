//! Builds what an agent receives without a request of its own: at a start, a
//! prompt, a sub-agent's start, a compaction, an overview and a context by
//! role.
//!
//! This module decides which files an occasion reads and for how long;
//! `forge_memory` makes the texts and enforces their caps. No index, model or
//! vocabulary is loaded, since hooks wait for the result.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use jiff::Timestamp;

pub use forge_memory::brief::context::{
    ContextError, ContextReport, ContextRequest, ContextScope, LayerReport, LayerState,
};
pub use forge_memory::brief::overview::SessionOverview;
pub use forge_memory::brief::{
    BriefBudget, BriefDetail, BriefInput, BriefPart, BriefPartState, MAX_BRIEF_BYTES,
    MAX_BRIEF_TOKENS, RenderedBrief, SESSION_BUDGET, SessionStartReason, brief_helper,
    brief_prompt, brief_start, context, overview, pointers,
};

use crate::mind::{Checkpoint, MindStore};
use crate::routing::manifest;
use crate::workspace::Workspace;

/// A request for a briefing: the occasion, and its limits.
#[derive(Debug, Clone, Copy)]
pub struct BriefRequest<'a> {
    /// The occasion, which decides what the text contains.
    pub occasion: BriefOccasion<'a>,
    /// The caps of a start and of a helper; the other occasions have their own.
    pub budget: BriefBudget,
    /// The nonce of the fence around text from memory: one per session, since
    /// clients drop context that they have already, or one per call.
    pub nonce: &'a str,
    /// The time against which ages are counted.
    pub now: Timestamp,
}

/// The occasion on which an agent receives a briefing.
#[derive(Debug, Clone, Copy)]
pub enum BriefOccasion<'a> {
    /// A session starts, or continues after a compaction.
    Start {
        /// How the session came to start.
        reason: SessionStartReason,
        /// What happened since the last one, a line each.
        events: &'a [String],
        /// How long the start may look around in the tree.
        look: WorkspaceLook,
    },
    /// A person sent a prompt.
    Prompt,
    /// A helper starts, by the name that its client has for it.
    Subagent(&'a str),
    /// The context is about to be compacted, and this checkpoint was kept of
    /// it.
    Compaction(&'a Checkpoint),
    /// A person or an agent requests the state of a workspace; the prompt is
    /// what they intend to do, where it is known.
    Overview {
        /// What the person intends to do; empty where it is not known.
        prompt: &'a str,
    },
    /// A program starts an agent, with a context by its role.
    Agent(ContextRequest<'a>),
}

/// The time that a start may spend on a walk over the tree of a workspace with
/// a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkspaceLook {
    /// No walk.
    Skip,
    /// A walk without a limit.
    Wait,
    /// A walk on a thread that is abandoned after this time, so that the rest
    /// of the briefing is not delayed.
    AtMost(Duration),
}

impl<'a> BriefRequest<'a> {
    /// Returns a request for the briefing of a new session, for callers that
    /// can wait.
    pub fn for_session(nonce: &'a str, now: Timestamp) -> BriefRequest<'a> {
        BriefRequest {
            occasion: BriefOccasion::Start {
                reason: SessionStartReason::Startup,
                events: &[],
                look: WorkspaceLook::Wait,
            },
            budget: SESSION_BUDGET,
            nonce,
            now,
        }
    }
}

/// Builds the briefing of an occasion. Returns `None` where there is nothing to
/// report, and fails only for a context by role that cannot be built.
pub fn build_brief(
    mind: &MindStore<'_>,
    request: &BriefRequest<'_>,
) -> Result<Option<RenderedBrief>, ContextError> {
    let workspace = mind.workspace();
    let input = BriefInput {
        reason: SessionStartReason::Startup,
        budget: request.budget,
        nonce: request.nonce,
        now: request.now,
        events: &[],
        overview: &[],
        pointers: None,
    };
    Ok(match request.occasion {
        BriefOccasion::Start {
            reason,
            events,
            look,
        } => {
            let known = pointers::find_session_index(workspace);
            Some(brief_start(
                mind,
                &BriefInput {
                    reason,
                    events,
                    overview: &collect_overview_lines(workspace, look, request.now),
                    pointers: known.as_ref(),
                    ..input
                },
            ))
        }
        BriefOccasion::Prompt => brief_prompt(mind, request.now),
        BriefOccasion::Subagent(name) => {
            // A sub-agent gets its own memory and no other, also in a workspace
            // without any state.
            let own = pointers::find_helper_index(workspace, name);
            if own.is_none() && !mind.has_state_files() {
                return Ok(None);
            }
            let pointers = own.as_ref();
            brief_helper(mind, &BriefInput { pointers, ..input })
        }
        BriefOccasion::Compaction(checkpoint) => Some(forge_memory::brief::brief_compaction(
            checkpoint,
            request.nonce,
            request.now,
        )),
        BriefOccasion::Overview { prompt } => {
            overview::brief_overview(workspace, prompt, request.now)
        }
        BriefOccasion::Agent(context) => Some(context::brief_agent(workspace, &context)?),
    })
}

/// Returns what needs attention in a workspace with a manifest, one line each.
fn collect_overview_lines(
    workspace: &Workspace,
    look: WorkspaceLook,
    now: Timestamp,
) -> Vec<String> {
    let longest = match look {
        WorkspaceLook::Skip => return Vec::new(),
        WorkspaceLook::Wait => return overview::list_remarks(workspace, now),
        WorkspaceLook::AtMost(longest) => longest,
    };
    let root = workspace.root().to_owned();
    if !root.join(manifest::MANIFEST_FILE).is_file() {
        return Vec::new();
    }
    // The walk runs on a thread of its own, which is abandoned when it takes
    // too long: a thread cannot be cancelled.
    let (send, receive) = mpsc::channel();
    let started = thread::Builder::new().spawn(move || {
        if let Ok(workspace) = Workspace::open(&root) {
            let _ = send.send(overview::list_remarks(&workspace, now));
        }
    });
    let found = started.ok().map(|_| receive.recv_timeout(longest));
    found.and_then(Result::ok).unwrap_or_else(|| {
        vec!["Skipped to save time; `memory-forge session start` shows it".to_owned()]
    })
}

#[cfg(test)]
mod tests {
    use testkit::TestWorkspace;

    use super::*;

    const MEMORY: &str = "
        //- .mind/STATE.md
        # Project State

        ## Current Phase
        Build

        ## Next Action
        Finish login
        //- knowledge/MEMORY.md
        - [Api](api.md) — everyone may know
        //- .agents/memory/eng/builder/MEMORY.md
        - [Own](own.md) — only the builder knows
        //- .agents/SYSTEM.md
        # Protocol
        Report what you did.
    ";

    fn now() -> Timestamp {
        "2026-03-01T09:00:00Z".parse().expect("a moment")
    }

    fn ask(files: &str, occasion: BriefOccasion<'_>) -> Option<RenderedBrief> {
        let files = TestWorkspace::files(files);
        let workspace = Workspace::open(files.root()).expect("a workspace");
        let request = BriefRequest {
            occasion,
            ..BriefRequest::for_session("n0nce", now())
        };
        build_brief(&MindStore::open(&workspace), &request).expect("a brief")
    }

    fn states(brief: &RenderedBrief) -> Vec<(&str, BriefPartState)> {
        let parts = brief.parts.iter();
        parts.map(|it| (it.key.as_ref(), it.state)).collect()
    }

    #[test]
    fn each_occasion_gets_its_own_and_names_its_parts() {
        let start = BriefRequest::for_session("", now()).occasion;
        let made = ask(MEMORY, start).expect("a briefing");
        assert!(made.text.contains("everyone may know") && made.text.contains("Finish login"));
        let state = ("state", BriefPartState::Shown);
        assert_eq!(states(&made)[0], state);
        assert!(states(&made).contains(&("pointers", BriefPartState::Shown)));
        assert!(states(&made).contains(&("decisions", BriefPartState::Missing)));
        assert!(made.estimate_tokens() > 0 && made.estimate_tokens() <= MAX_BRIEF_TOKENS);

        let made = ask(MEMORY, BriefOccasion::Subagent("eng/builder")).expect("a primer");
        assert_eq!(states(&made), [state, ("pointers", BriefPartState::Shown)]);
        assert!(made.text.contains("only the builder knows"));
        assert!(!made.text.contains("everyone may know"), "{}", made.text);

        let made = ask(MEMORY, BriefOccasion::Prompt).expect("a line");
        assert!(made.text.contains("Next: Finish login"), "{}", made.text);

        let made = ask(MEMORY, BriefOccasion::Overview { prompt: "" }).expect("an overview");
        assert!(matches!(&made.detail, BriefDetail::Overview(it) if it.phase.is_some()));

        let context = ContextRequest {
            scope: ContextScope::Run,
            squad: "eng",
            agent: "builder",
            role: None,
            now: now(),
        };
        let made = ask(MEMORY, BriefOccasion::Agent(context)).expect("a context");
        assert!(states(&made).contains(&("system", BriefPartState::Shown)));
        assert!(states(&made).contains(&("goals", BriefPartState::Missing)));
        assert!(matches!(made.detail, BriefDetail::Context(_)));
    }

    #[test]
    fn where_nothing_is_known_only_a_session_is_given_something() {
        for occasion in [
            BriefOccasion::Prompt,
            BriefOccasion::Subagent("builder"),
            BriefOccasion::Overview { prompt: "" },
        ] {
            assert_eq!(ask("", occasion), None, "{occasion:?}");
        }
        let start = BriefRequest::for_session("", now()).occasion;
        let made = ask("", start).expect("a briefing");
        assert!(made.text.contains("no state file found"));
    }

    #[test]
    fn what_does_not_fit_is_cut_and_named() {
        let long = format!(
            "//- .mind/STATE.md\n## Next Action\nShip\n## Notes\n{}\n",
            "word ".repeat(9_000)
        );
        let start = BriefRequest::for_session("", now()).occasion;
        let made = ask(&long, start).expect("a briefing");
        assert_eq!(states(&made)[0], ("state", BriefPartState::Cut));
        assert_eq!(made.left_out, ["a part of .mind/STATE.md"]);
    }
}
