//! Records evidence: from transcripts, read from where the last reading ended,
//! and from events of hooks. It keeps the log, the table of keys and what
//! followed each push. A client's files are only read, and nothing is recorded
//! where there is no memory yet.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::Value;

use crate::mind::MindStore;
use crate::workspace::{RelPath, Workspace, WorkspaceError};
use forge_memory::evidence::{
    CommandFact, EVIDENCE_FILE, EvidenceEntry, EvidenceFact, EvidenceLimits, EvidenceLog,
    ToolOutcome, WorkPlace, observe_prompt, observe_result, planned_action,
};
use forge_memory::push::{KEYS_FILE, KeyTable, OutcomeRecord, PUSHES_FILE, PushKey, PushLog};

mod find;
mod past;
mod rules;
mod summary;
mod transcript;
mod worktrees;

pub use find::{EvidenceAnswer, EvidenceRequest, EvidenceResult, search_evidence};
pub use past::ImportedEvidence;
pub(crate) use past::PastEvidence;
pub(crate) use rules::{
    APPLIES_TO_KEY, MAX_PATTERNS, documents_with_patterns, loaded_documents, statement_at,
};
pub use summary::summarize_session;
pub use transcript::{SessionStep, StepKind, parse_steps, to_entries};
pub(crate) use transcript::{StartedHelper, find_helper_task, read_ended};

/// Lines of the log of pushes, and how many are kept when it is cut.
pub(crate) const MAX_PUSH_LINES: usize = 1_000;
pub(crate) const KEPT_PUSH_LINES: usize = 500;

/// A transcript that a client names.
#[derive(Debug, Clone, Copy)]
pub struct TranscriptSource<'a> {
    /// The transcript's file.
    pub path: &'a Path,
    /// The client's session id.
    pub session: &'a str,
    /// The folder in which the session runs.
    pub cwd: &'a Path,
    /// Folders of the user in which clients keep transcripts; a file elsewhere
    /// is not read.
    pub homes: &'a [PathBuf],
}

/// Records what is new in a transcript. Returns how many entries are new.
pub fn record_transcript(
    workspace: &Workspace,
    source: &TranscriptSource<'_>,
    now: Timestamp,
) -> Result<usize, WorkspaceError> {
    if !keeps_evidence(workspace) {
        return Ok(0);
    }
    let Some(read) = transcript::read_new(workspace, source, transcript::MAX_READ_BYTES) else {
        return Ok(0);
    };
    let added = store_entries(workspace, read.entries.clone(), source.session, now)?;
    transcript::keep_position(workspace, source.path, read.end)?;
    Ok(added)
}

/// The end of a call of a tool, as a hook reports it.
#[derive(Debug, Clone, Copy)]
pub struct ToolEvent<'a> {
    /// The client's session id.
    pub session: &'a str,
    /// The client's id of the call.
    pub call: &'a str,
    /// The client's name for the tool.
    pub tool: &'a str,
    /// The arguments of the call.
    pub input: &'a Value,
    /// The result, in any form that clients use.
    pub response: &'a Value,
    /// Whether the client reports the call as failed.
    pub is_error: bool,
    /// The folder in which the tool ran.
    pub cwd: &'a Path,
}

/// Records the end of a call.
pub fn record_tool_event(
    workspace: &Workspace,
    event: &ToolEvent<'_>,
    now: Timestamp,
) -> Result<usize, WorkspaceError> {
    if !keeps_evidence(workspace) {
        return Ok(0);
    }
    let facts = observe_event(workspace, event).into_iter();
    let entries = facts.map(|fact| EvidenceEntry {
        at: now.as_second(),
        session: short_id(event.session),
        id: short_id(event.call),
        fact,
    });
    store_entries(workspace, entries.collect(), event.session, now)
}

/// Returns the facts of a call that has ended.
fn observe_event(workspace: &Workspace, event: &ToolEvent<'_>) -> Vec<EvidenceFact> {
    let place = WorkPlace {
        root: workspace.root(),
        cwd: event.cwd,
    };
    let Some(action) = planned_action(event.tool, event.input, place) else {
        return Vec::new();
    };
    let text = transcript::response_text(event.response);
    let outcome = ToolOutcome {
        text: &text,
        is_error: event.is_error,
        bytes: transcript::size_on_disk(workspace.root(), &action),
    };
    observe_result(&action, outcome)
}

/// Returns the command of a call, if it failed.
pub(crate) fn failed_command(workspace: &Workspace, event: &ToolEvent<'_>) -> Option<CommandFact> {
    let facts = observe_event(workspace, event).into_iter();
    let mut commands = facts.filter_map(|fact| match fact {
        EvidenceFact::Command(fact) if !fact.worked => Some(fact),
        _ => None,
    });
    commands.next()
}

/// Records a prompt, if it corrects what was done.
pub fn record_prompt(
    workspace: &Workspace,
    session: &str,
    prompt: &str,
    now: Timestamp,
) -> Result<usize, WorkspaceError> {
    let Some(fact) = observe_prompt(prompt) else {
        return Ok(0);
    };
    if !keeps_evidence(workspace) {
        return Ok(0);
    }
    let entry = EvidenceEntry {
        at: now.as_second(),
        session: short_id(session),
        // A transcript reports the same prompt with another id.
        id: short_id(prompt.trim()),
        fact,
    };
    store_entries(workspace, vec![entry], session, now)
}

/// Reads the documents that state what they apply to, for the table of keys.
pub fn refresh_rules(workspace: &Workspace) -> Result<(), WorkspaceError> {
    if !keeps_evidence(workspace) {
        return Ok(());
    }
    let rules = rules::find_rules(workspace);
    let path = RelPath::new(KEYS_FILE)?;
    let there = workspace.read_marked_machine(&path).unwrap_or_default();
    let mut table = KeyTable::parse(&String::from_utf8_lossy(&there));
    let is_rule = |key: &PushKey| matches!(key, PushKey::Rule { .. });
    let before: Vec<PushKey> = table.keys.extract_if(.., |key| is_rule(key)).collect();
    if before == rules {
        return Ok(());
    }
    table.keys.splice(0..0, rules);
    workspace.change_marked_machine(&path, |_| Some(table.render().into_bytes()))
}

/// Reads what is new in a transcript and records nothing.
pub(crate) fn new_entries(
    workspace: &Workspace,
    source: &TranscriptSource<'_>,
) -> Vec<EvidenceEntry> {
    let most = transcript::MAX_QUICK_READ_BYTES;
    let read = transcript::read_new(workspace, source, most);
    read.map_or_else(Vec::new, |read| read.entries)
}

/// Reads the log of evidence.
pub fn read_evidence(workspace: &Workspace) -> EvidenceLog {
    let path = RelPath::new(EVIDENCE_FILE).ok();
    let bytes = path.and_then(|path| workspace.read_marked_machine(&path));
    EvidenceLog::parse(&String::from_utf8_lossy(&bytes.unwrap_or_default()))
}

/// Reads the table of keys.
pub(crate) fn read_keys(workspace: &Workspace) -> KeyTable {
    let path = RelPath::new(KEYS_FILE).ok();
    let bytes = path.and_then(|path| workspace.read_marked_machine(&path));
    KeyTable::parse(&String::from_utf8_lossy(&bytes.unwrap_or_default()))
}

/// Reads the log of pushes.
pub(crate) fn read_pushes(workspace: &Workspace) -> PushLog {
    let path = RelPath::new(PUSHES_FILE).ok();
    let bytes = path.and_then(|path| workspace.read(&path).ok());
    PushLog::parse(&String::from_utf8_lossy(&bytes.unwrap_or_default()))
}

/// Returns `true` where there is a memory, which alone may get files of ours.
fn keeps_evidence(workspace: &Workspace) -> bool {
    MindStore::open(workspace).has_state_files() || workspace.root().join("knowledge").is_dir()
}

fn store_entries(
    workspace: &Workspace,
    entries: Vec<EvidenceEntry>,
    session: &str,
    now: Timestamp,
) -> Result<usize, WorkspaceError> {
    if entries.is_empty() {
        return Ok(0);
    }
    let mut log = None;
    let mut added = 0;
    workspace.change_marked_machine(&RelPath::new(EVIDENCE_FILE)?, |bytes| {
        let mut parsed = EvidenceLog::parse(&String::from_utf8_lossy(bytes));
        added = parsed.add(entries, now.as_second(), &EvidenceLimits::default());
        let text = parsed.render();
        log = (added > 0).then_some(parsed);
        (added > 0).then(|| text.into_bytes())
    })?;
    let Some(log) = log else {
        return Ok(0);
    };
    workspace.change_marked_machine(&RelPath::new(KEYS_FILE)?, |bytes| {
        let before = KeyTable::parse(&String::from_utf8_lossy(bytes));
        let is_rule = |key: &PushKey| matches!(key, PushKey::Rule { .. });
        let rules = before.keys.into_iter().filter(is_rule).collect();
        Some(build_keys(workspace, &log, rules).render().into_bytes())
    })?;
    let pushes = read_pushes(workspace);
    let outcomes = pushes.judge_session(&short_id(session), &log.entries);
    log_outcomes(workspace, &outcomes)?;
    Ok(added)
}

/// Adds what followed some pushes to their log.
pub(crate) fn log_outcomes(
    workspace: &Workspace,
    outcomes: &[OutcomeRecord],
) -> Result<(), WorkspaceError> {
    let path = RelPath::new(PUSHES_FILE)?;
    for outcome in outcomes {
        let Ok(line) = serde_json::to_string(outcome) else {
            continue;
        };
        workspace.append_machine(&path, &line, MAX_PUSH_LINES, KEPT_PUSH_LINES)?;
    }
    Ok(())
}

/// Makes the table of keys from the evidence of all checkouts.
fn build_keys(workspace: &Workspace, log: &EvidenceLog, rules: Vec<PushKey>) -> KeyTable {
    let mut all = worktrees::merge_others(workspace, log.clone());
    let merged = EvidenceLog {
        entries: std::mem::take(&mut all.entries),
    };
    let mut table = KeyTable::build(&merged, rules);
    // Lines count in the log of this checkout; 0 is an entry of another one.
    table.set_lines(|line| all.own_line(line.saturating_sub(2)).unwrap_or(0));
    table
}

/// Returns a short name for an id of a client. Ids are only compared.
pub(crate) fn short_id(id: &str) -> String {
    blake3::hash(id.as_bytes()).to_hex()[..12].to_owned()
}

#[cfg(test)]
mod tests;
