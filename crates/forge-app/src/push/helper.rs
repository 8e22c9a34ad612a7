//! Brings keys of its task to a helper that starts: what failed before of the
//! commands that the task names, and rules about the files that it names. When
//! it ends, its calls show what followed. Nothing of them becomes evidence here.

use std::cell::OnceCell;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::Value;

use super::{ActionRequest, FilesAround, ShownItem, log_item};
use crate::evidence::{
    StartedHelper, TranscriptSource, find_helper_task, log_outcomes, read_ended, read_keys,
    read_pushes, short_id,
};
use crate::workspace::{PushMode, Workspace, WorkspaceError};
use forge_memory::evidence::{ToolAction, WorkPlace, parse_command, planned_action};
use forge_memory::push::choose_item;

/// Items that a helper gets at most.
const MAX_HELPER_ITEMS: usize = 3;
/// Commands and paths of a task that are looked up.
const MAX_NAMED_ACTIONS: usize = 40;

/// A helper that starts.
#[derive(Debug, Clone, Copy)]
pub struct HelperRequest<'a> {
    /// The client's name for the event.
    pub event: &'a str,
    /// The client's name for the kind of helper.
    pub kind: &'a str,
    /// The helper's id.
    pub id: &'a str,
    /// The session so far, which contains the helper's task.
    pub transcript: TranscriptSource<'a>,
    /// The longest time to wait for the client to write the task.
    pub wait: Duration,
    /// The folders in which the shell looks for programs.
    pub program_folders: &'a [PathBuf],
    /// The value from which the marks around quoted text are derived.
    pub nonce: &'a str,
    /// The current time.
    pub now: Timestamp,
}

/// Returns at most three items, a line each, where the settings allow it, and
/// logs them.
pub fn push_to_helper(
    workspace: &Workspace,
    request: &HelperRequest<'_>,
) -> Result<Vec<String>, WorkspaceError> {
    let mut lines = Vec::new();
    if workspace.config().recall.push != PushMode::All {
        return Ok(lines);
    }
    let helper = StartedHelper {
        kind: request.kind,
        id: request.id,
    };
    let find = || find_helper_task(&request.transcript, helper);
    let Some(task) = wait_until_written(request.wait, find) else {
        return Ok(lines);
    };
    let place = WorkPlace {
        root: workspace.root(),
        cwd: request.transcript.cwd,
    };
    let session = helper_session(request.transcript.session, request.id);
    let action = ActionRequest {
        event: request.event,
        session: &session,
        call: request.id,
        tool: "",
        input: &Value::Null,
        cwd: request.transcript.cwd,
        transcript: None,
        program_folders: request.program_folders,
        max_whole_read: None,
        nonce: request.nonce,
        now: request.now,
    };
    let around = FilesAround {
        workspace,
        request: &action,
        newer: OnceCell::new(),
        pushes: OnceCell::new(),
    };
    let table = read_keys(workspace);
    for named in named_actions(&task, place) {
        let Some(item) = choose_item(&table, &named, &around).item else {
            continue;
        };
        let shown = ShownItem {
            event: request.event,
            session: &session,
            call: request.id,
            nonce: request.nonce,
            now: request.now,
        };
        lines.extend(log_item(workspace, item, &shown)?);
        if lines.len() == MAX_HELPER_ITEMS {
            break;
        }
    }
    Ok(lines)
}

/// Tries until the client has written what is looked for: transcripts are some
/// milliseconds late.
fn wait_until_written<T>(limit: Duration, attempt: impl Fn() -> Option<T>) -> Option<T> {
    const PAUSE: Duration = Duration::from_millis(20);
    let begun = Instant::now();
    loop {
        let found = attempt();
        if found.is_some() || begun.elapsed() >= limit {
            return found;
        }
        std::thread::sleep(PAUSE);
    }
}

/// Returns the session id under which items for a helper are logged: it does not
/// see what its session was shown.
pub fn helper_session(session: &str, id: &str) -> String {
    format!("{session}/{id}")
}

/// A helper that has ended.
#[derive(Debug, Clone, Copy)]
pub struct HelperEnd<'a> {
    /// The helper's id.
    pub id: &'a str,
    /// The helper's own transcript, with the id of the session that started it.
    pub transcript: TranscriptSource<'a>,
    /// The helper's last message, with which its transcript ends.
    pub last_message: &'a str,
    /// The longest time to wait for the client to write that message.
    pub wait: Duration,
}

/// Judges what a helper got by its own calls, and logs what followed. Nothing is
/// logged if its transcript is not complete.
pub fn judge_helper(workspace: &Workspace, end: &HelperEnd<'_>) -> Result<(), WorkspaceError> {
    let session = helper_session(end.transcript.session, end.id);
    let pushes = read_pushes(workspace);
    if !pushes.has_open(&short_id(&session)) {
        return Ok(());
    }
    let transcript = TranscriptSource {
        session: &session,
        ..end.transcript
    };
    let read = || read_ended(workspace, &transcript, end.last_message);
    let Some(entries) = wait_until_written(end.wait, read) else {
        return Ok(());
    };
    let outcomes = pushes.judge_helper(&short_id(&session), &short_id(end.id), &entries);
    log_outcomes(workspace, &outcomes)
}

/// Returns the commands and paths that a task has in backticks or in blocks of
/// code. A path counts as one to be written: it may be one that the helper is
/// to create, so whether it exists says nothing.
fn named_actions(task: &str, place: WorkPlace<'_>) -> Vec<ToolAction> {
    let mut names: Vec<&str> = Vec::new();
    let mut is_code = false;
    for line in task.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if is_code {
            names.push(line.trim().trim_start_matches("$ "));
        } else {
            names.extend(line.split('`').skip(1).step_by(2));
        }
    }
    let action = |name: &&str| {
        let has_words = parse_command(name)
            .first()
            .is_some_and(|it| it.words.len() > 1);
        let (tool, input) = if has_words {
            ("Bash", serde_json::json!({ "command": name }))
        } else if name.contains('/') {
            ("Write", serde_json::json!({ "file_path": name }))
        } else {
            return None;
        };
        planned_action(tool, &input, place)
    };
    names
        .iter()
        .filter_map(action)
        .take(MAX_NAMED_ACTIONS)
        .collect()
}
