//! Brings keys of its task to a helper that starts: what failed before of the
//! commands that the task names, and rules about the files that it names.

use std::cell::OnceCell;
use std::path::PathBuf;

use jiff::Timestamp;
use serde_json::Value;

use super::{ActionRequest, FilesAround, ShownItem, log_item};
use crate::evidence::{TranscriptSource, find_helper_task, read_keys};
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
    let Some(task) = find_helper_task(&request.transcript, request.kind) else {
        return Ok(lines);
    };
    let place = WorkPlace {
        root: workspace.root(),
        cwd: request.transcript.cwd,
    };
    // A helper does not see what its session was shown.
    let session = format!("{}/{}", request.transcript.session, request.id);
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
