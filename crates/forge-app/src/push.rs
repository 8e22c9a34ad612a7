//! Brings memory to an action without a request, and explains what was brought
//! and why. The decision is `forge_memory::push`; here are the files around it.
//! An action is never blocked or changed, and what cannot be logged is not
//! brought.

use std::cell::OnceCell;
use std::fs::FileType;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::Value;

use crate::evidence::{
    KEPT_PUSH_LINES, MAX_PUSH_LINES, TranscriptSource, new_entries, read_keys, read_pushes,
    short_id, statement_at,
};
use crate::knowledge::refresh::RefreshError;
use crate::retractions::Corrections;
use crate::tokens::estimate_tokens;
use crate::workspace::{PushMode, RelPath, Workspace, WorkspaceError, git};
use forge_memory::evidence::{EvidenceEntry, WorkPlace, planned_action};
use forge_memory::push::{
    ActionSurroundings, PushChoice, PushItem, PushLog, PushRecord, PushSubject, choose_item,
};

pub use forge_memory::push::{PUSHES_FILE, PushOutcome, PushStanding};
pub use summary::{PushSummary, summarize_pushes};

mod after;
mod answer;
mod helper;
mod summary;

pub use after::{FailureRequest, push_after_failure};
pub use helper::{HelperEnd, HelperRequest, helper_session, judge_helper, push_to_helper};

/// Size above which Claude Code reads no file whole.
pub const MAX_CLAUDE_READ_BYTES: u64 = 256 << 10;

/// An action that an agent is about to take.
#[derive(Debug, Clone, Copy)]
pub struct ActionRequest<'a> {
    /// The client's name for the event.
    pub event: &'a str,
    /// The client's session id; empty outside of a session.
    pub session: &'a str,
    /// The client's id of the call; empty if there is none.
    pub call: &'a str,
    /// The client's name for the tool.
    pub tool: &'a str,
    /// The arguments of the call.
    pub input: &'a Value,
    /// The folder in which the tool will run.
    pub cwd: &'a Path,
    /// The session so far, where the client keeps it.
    pub transcript: Option<TranscriptSource<'a>>,
    /// The folders in which the shell looks for programs.
    pub program_folders: &'a [PathBuf],
    /// The size above which the client reads no file whole, if known.
    pub max_whole_read: Option<u64>,
    /// The value from which the marks around quoted text are derived.
    pub nonce: &'a str,
    /// The current time.
    pub now: Timestamp,
}

/// Returns the line for the agent, where a key of this action is known, and
/// logs it.
pub fn push_before_action(
    workspace: &Workspace,
    request: &ActionRequest<'_>,
) -> Result<Option<String>, WorkspaceError> {
    if workspace.config().recall.push == PushMode::Off {
        return Ok(None);
    }
    let Some(item) = choose(workspace, request).item else {
        return Ok(None);
    };
    let shown = ShownItem {
        event: request.event,
        session: request.session,
        call: request.call,
        nonce: request.nonce,
        now: request.now,
    };
    log_item(workspace, item, &shown)
}

/// A prompt of the user.
#[derive(Debug, Clone, Copy)]
pub struct PromptRequest<'a> {
    /// The client's session id; empty outside of a session.
    pub session: &'a str,
    /// The whole text of the prompt.
    pub prompt: &'a str,
    /// The session so far, where the client keeps it.
    pub transcript: Option<TranscriptSource<'a>>,
    /// The model file that the user's environment names.
    pub model: Option<&'a Path>,
    /// The value from which the marks around quoted text are derived.
    pub nonce: &'a str,
    /// The current time.
    pub now: Timestamp,
}

impl PromptRequest<'_> {
    /// Returns the part of the prompt that is compared; a log that was pasted
    /// is longer.
    fn compared_text(&self) -> &str {
        const MAX_PROMPT_BYTES: usize = 16 << 10;
        &self.prompt[..self.prompt.floor_char_boundary(MAX_PROMPT_BYTES)]
    }
}

/// Returns the correction of a fact that a prompt repeats, or else a pointer
/// to the document that answers its question, where the settings allow it.
pub fn push_at_prompt(
    workspace: &Workspace,
    request: &PromptRequest<'_>,
) -> Result<Option<String>, RefreshError> {
    if workspace.config().recall.push != PushMode::All {
        return Ok(None);
    }
    let shown = ShownItem {
        event: "UserPromptSubmit",
        session: request.session,
        call: request.prompt.trim(),
        nonce: request.nonce,
        now: request.now,
    };
    if let Some(item) = correction_of(workspace, request)? {
        return Ok(log_item(workspace, item, &shown)?);
    }
    let prompt = request.compared_text();
    let Ok(pointer) = answer::choose_answer(workspace, request, prompt)? else {
        return Ok(None);
    };
    let Some(text) = pointer.render(request.nonce) else {
        return Ok(None);
    };
    let line = ShownLine {
        item: pointer.item(),
        version: pointer.version().to_owned(),
        subject: pointer.subject(),
        text,
    };
    Ok(log_line(workspace, line, &shown)?)
}

/// Returns the correction of a fact that a prompt repeats, unless it was shown.
fn correction_of(
    workspace: &Workspace,
    request: &PromptRequest<'_>,
) -> Result<Option<PushItem>, WorkspaceError> {
    let corrections = Corrections::read(workspace)?;
    let found = corrections.check_text(request.compared_text());
    let Some(correction) = found.first() else {
        return Ok(None);
    };
    let item = PushItem::of_correction(&correction.describe(), correction.line);
    let session = short_id(request.session);
    let is_spent = read_pushes(workspace).is_spent(&session, &item.item, &item.version);
    Ok((!is_spent).then_some(item))
}

/// Decides as [`push_at_prompt`] and logs nothing.
pub fn explain_prompt(
    workspace: &Workspace,
    request: &PromptRequest<'_>,
) -> Result<ActionExplanation, RefreshError> {
    let mut explained = ActionExplanation {
        mode: workspace.config().recall.push.name(),
        keys: read_keys(workspace).keys.len(),
        ..ActionExplanation::default()
    };
    if let Some(item) = correction_of(workspace, request)? {
        explained.text = item.render(request.nonce, request.now.as_second());
        return Ok(explained);
    }
    match answer::choose_answer(workspace, request, request.compared_text())? {
        Ok(pointer) => explained.text = pointer.render(request.nonce),
        Err(why) => explained.silences.push(why),
    }
    Ok(explained)
}

/// Where and when an item is shown.
struct ShownItem<'a> {
    event: &'a str,
    session: &'a str,
    call: &'a str,
    nonce: &'a str,
    now: Timestamp,
}

/// Logs an item and returns its line. Without the log, it would come again in
/// the same session, so an error of the log means that it is not shown.
fn log_item(
    workspace: &Workspace,
    item: PushItem,
    shown: &ShownItem<'_>,
) -> Result<Option<String>, WorkspaceError> {
    let Some(text) = item.render(shown.nonce, shown.now.as_second()) else {
        return Ok(None);
    };
    let line = ShownLine {
        item: item.item,
        version: item.version,
        subject: item.subject,
        text,
    };
    log_line(workspace, line, shown)
}

/// A line for the agent, and what it is about.
struct ShownLine {
    item: String,
    version: String,
    subject: PushSubject,
    text: String,
}

fn log_line(
    workspace: &Workspace,
    line: ShownLine,
    shown: &ShownItem<'_>,
) -> Result<Option<String>, WorkspaceError> {
    let text = line.text;
    let record = PushRecord {
        at: shown.now.as_second(),
        session: short_id(shown.session),
        event: shown.event.chars().take(40).collect(),
        call: short_id(shown.call),
        item: line.item,
        version: line.version,
        subject: line.subject,
        tokens: estimate_tokens(&text),
        text: text.clone(),
    };
    let Ok(line) = serde_json::to_string(&record) else {
        return Ok(None);
    };
    let path = RelPath::new(PUSHES_FILE)?;
    let mut is_new = true;
    let line_unless_shown = |there: &str| {
        // A client that calls tools in parallel runs this hook in parallel.
        let log = PushLog::parse(there);
        is_new = !log.was_shown(&record.session, &record.item, &record.version);
        if is_new { line } else { String::new() }
    };
    workspace.append_machine_after(&path, line_unless_shown, MAX_PUSH_LINES, KEPT_PUSH_LINES)?;
    Ok(is_new.then_some(text))
}

fn choose(workspace: &Workspace, request: &ActionRequest<'_>) -> PushChoice {
    let place = WorkPlace {
        root: workspace.root(),
        cwd: request.cwd,
    };
    let Some(action) = planned_action(request.tool, request.input, place) else {
        return PushChoice::default();
    };
    let around = FilesAround {
        workspace,
        request,
        newer: OnceCell::new(),
        pushes: OnceCell::new(),
    };
    choose_item(&read_keys(workspace), &action, &around)
}

/// The files on disk. What is rarely needed is read when it is.
struct FilesAround<'a> {
    workspace: &'a Workspace,
    request: &'a ActionRequest<'a>,
    newer: OnceCell<Vec<EvidenceEntry>>,
    pushes: OnceCell<PushLog>,
}

impl FilesAround<'_> {
    fn absolute(&self, path: &str) -> PathBuf {
        self.workspace.root().join(path)
    }
}

impl ActionSurroundings for FilesAround<'_> {
    fn exists(&self, path: &str) -> bool {
        // What cannot be looked at may be there.
        !matches!(self.absolute(path).symlink_metadata(), Err(e) if e.kind() == std::io::ErrorKind::NotFound)
    }

    fn bytes(&self, path: &str) -> Option<u64> {
        let meta = std::fs::metadata(self.absolute(path)).ok()?;
        meta.is_file().then_some(meta.len())
    }

    fn has_program(&self, name: &str) -> bool {
        let mut folders = self.request.program_folders.iter();
        folders.any(|folder| folder.join(name).is_file())
    }

    fn paths_named(&self, name: &str) -> Vec<String> {
        git::list_tracked_named(self.workspace.root(), name).unwrap_or_default()
    }

    fn names_in(&self, path: &str, folders: bool) -> Vec<String> {
        /// A folder with more is no place in which one name stands out.
        const MAX_ENTRIES: usize = 2_000;
        if Path::new(path).is_absolute() {
            return Vec::new();
        }
        let Ok(entries) = std::fs::read_dir(self.absolute(path)) else {
            return Vec::new();
        };
        let entries = entries.take(MAX_ENTRIES).flatten();
        let is_asked = |kind: FileType| {
            if folders {
                kind.is_dir()
            } else {
                kind.is_file()
            }
        };
        entries
            .filter(|it| it.file_type().is_ok_and(is_asked))
            .filter_map(|it| it.file_name().into_string().ok())
            .collect()
    }

    fn root_name(&self) -> &str {
        let name = self.workspace.root().file_name();
        name.and_then(|it| it.to_str()).unwrap_or_default()
    }

    fn newer_entries(&self) -> &[EvidenceEntry] {
        self.newer.get_or_init(|| {
            let source = self.request.transcript.as_ref();
            source.map_or_else(Vec::new, |source| new_entries(self.workspace, source))
        })
    }

    fn document_line(&self, path: &str, line: usize) -> Option<String> {
        let text = self.workspace.read_text(&RelPath::new(path).ok()?).ok()?;
        statement_at(&text, line).map(str::to_owned)
    }

    fn is_spent(&self, item: &str, version: &str) -> Option<&'static str> {
        let pushes = self.pushes.get_or_init(|| read_pushes(self.workspace));
        if pushes.silenced_items().contains_key(item) {
            return Some("silenced, because it was ignored or contradicted three times");
        }
        let session = short_id(self.request.session);
        let was_shown = pushes.was_shown(&session, item, version);
        was_shown.then_some("shown in this session already")
    }

    fn max_whole_read(&self) -> Option<u64> {
        self.request.max_whole_read
    }
}

/// A push as it is explained.
#[derive(Debug, Clone)]
pub struct ExplainedPush {
    /// The time of the push.
    pub at: Timestamp,
    /// The client's name for the event.
    pub event: String,
    /// The name of the key that opened the gate.
    pub key: &'static str,
    /// Identifies the item by its kind and what it is about.
    pub item: String,
    /// The line shown to the agent.
    pub text: String,
    /// Estimated number of tokens in `text`.
    pub tokens: usize,
    /// What is known about what followed.
    pub standing: PushStanding,
}

impl ExplainedPush {
    /// Returns the name of what followed; `None` while it may still be seen.
    pub fn outcome_name(&self) -> Option<&'static str> {
        match self.standing {
            PushStanding::Judged(outcome) => Some(outcome.name()),
            PushStanding::Unknown => Some("unknown"),
            PushStanding::Open => None,
        }
    }

    /// Returns what is known about what followed, in words.
    pub fn describe_outcome(&self) -> &'static str {
        match self.standing {
            PushStanding::Judged(outcome) => outcome.name(),
            PushStanding::Unknown => "outcome unknown",
            PushStanding::Open => "outcome not known yet",
        }
    }
}

/// Returns the newest pushes, the newest first.
pub fn list_pushes(workspace: &Workspace, most: usize, now: Timestamp) -> Vec<ExplainedPush> {
    let log = read_pushes(workspace);
    let newest = log.pushes.iter().rev().take(most);
    newest
        .filter_map(|push| {
            Some(ExplainedPush {
                at: Timestamp::from_second(push.at).ok()?,
                event: push.event.clone(),
                key: push.subject.key_name(),
                item: push.item.clone(),
                text: push.text.clone(),
                tokens: push.tokens,
                standing: log.standing(push, now.as_second()),
            })
        })
        .collect()
}

/// Items that are not brought any more, with how often they failed.
pub fn silenced_pushes(workspace: &Workspace) -> Vec<(String, usize)> {
    read_pushes(workspace)
        .silenced_items()
        .into_iter()
        .collect()
}

/// What would be brought to an action, or why nothing is.
#[derive(Debug, Clone, Default)]
pub struct ActionExplanation {
    /// The setting `recall.push`.
    pub mode: &'static str,
    /// The line for the agent; `None` if nothing would be brought.
    pub text: Option<String>,
    /// Reasons why an item whose key matched is not brought.
    pub silences: Vec<String>,
    /// Number of keys that were compared.
    pub keys: usize,
}

/// Decides as [`push_before_action`] and logs nothing.
pub fn explain_action(workspace: &Workspace, request: &ActionRequest<'_>) -> ActionExplanation {
    let mut choice = choose(workspace, request);
    let mut text = None;
    if let Some(item) = &choice.item {
        text = item.render(request.nonce, request.now.as_second());
        if text.is_none() {
            let reason = "too long for a line, and a part of it would be of no use";
            choice.silences.push(format!("{}: {reason}", item.item));
        }
    }
    ActionExplanation {
        mode: workspace.config().recall.push.name(),
        text,
        silences: choice.silences,
        keys: read_keys(workspace).keys.len(),
    }
}
