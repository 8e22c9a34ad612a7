use super::*;
use crate::brief::{
    BriefBudget, BriefInput, MAX_BRIEF_BYTES, MAX_BRIEF_TOKENS, PointerIndex, SESSION_BUDGET,
    SessionStartReason, brief_helper, brief_prompt, brief_start,
};
use testkit::TestWorkspace;

mod basics;
mod briefings;
mod compression;
mod defects;
mod formats;
mod properties;
mod small_files;
mod supersede;

/// A workspace with these files, opened.
struct Fixture {
    files: TestWorkspace,
    workspace: Workspace,
}

impl Fixture {
    #[track_caller]
    fn new(fixture: &str) -> Fixture {
        let files = TestWorkspace::files(fixture);
        let workspace = Workspace::open(files.root()).unwrap();
        Fixture { files, workspace }
    }

    fn mind(&self) -> MindStore<'_> {
        MindStore::open(&self.workspace)
    }

    #[track_caller]
    fn read(&self, path: &str) -> String {
        self.files.read(path)
    }
}

fn now() -> Timestamp {
    "2026-03-01T09:00:00Z".parse().unwrap()
}

fn ask<'a>(reason: SessionStartReason, events: &'a [String]) -> BriefInput<'a> {
    BriefInput {
        reason,
        budget: SESSION_BUDGET,
        nonce: "n0nce",
        now: now(),
        events,
        overview: &[],
        pointers: None,
    }
}

fn helper_text(mind: &MindStore<'_>, input: &BriefInput<'_>) -> Option<String> {
    brief_helper(mind, input).map(|it| it.text)
}

fn prompt_line(mind: &MindStore<'_>, now: Timestamp) -> Option<String> {
    brief_prompt(mind, now).map(|it| it.text)
}

fn decision(title: &str, decision: &str) -> NewDecision {
    NewDecision {
        title: title.to_owned(),
        decision: decision.to_owned(),
        ..NewDecision::default()
    }
}

fn session(summary: &str) -> NewSession {
    NewSession {
        summary: summary.to_owned(),
        ..NewSession::default()
    }
}

fn days_later(days: i64) -> Timestamp {
    now() + jiff::SignedDuration::from_hours(24 * days)
}
