//! Reads transcripts of Claude Code and Codex as steps of a session: prompts,
//! calls and results. Each run reads what was added since the last one, up to a
//! limit; lines of an unknown form are skipped.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{TranscriptSource, short_id};
use crate::system;
use crate::workspace::{RelPath, Workspace, WorkspaceError};
use forge_memory::evidence::{
    EvidenceEntry, ToolAction, ToolOutcome, WorkPlace, observe_prompt, observe_result,
    planned_action,
};
use forge_store::regular::{self, LinkPolicy};

/// Bytes that are parsed at once, which bounds memory.
const PIECE_BYTES: u64 = 4 << 20;
/// Bytes that a hook reads where an answer waits for it.
pub(super) const MAX_QUICK_READ_BYTES: u64 = PIECE_BYTES;
/// Bytes that one run reads when a turn ends. A transcript with more that is
/// new is read from its end.
pub(super) const MAX_READ_BYTES: u64 = 32 << 20;
/// Bytes of a past session that an import reads.
pub(super) const MAX_IMPORTED_BYTES: u64 = 256 << 20;
/// Bytes before the end in which a call may still wait for its result.
const MAX_WAITING_BYTES: usize = 1 << 20;
/// Transcripts whose position is kept.
const MAX_POSITIONS: usize = 400;
/// The file with the positions.
const POSITIONS_FILE: &str = ".mind/evidence/positions.jsonl";

/// Where the reading of a transcript ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct TranscriptPosition {
    transcript: String,
    offset: u64,
}

/// A step of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionStep {
    /// Seconds since 1970; 0 where the line has no time.
    pub at: i64,
    /// Identifies the call or the prompt.
    pub id: String,
    /// The prompt, call or result itself.
    pub kind: StepKind,
}

/// The kinds of steps.
#[derive(Debug, Clone, PartialEq)]
pub enum StepKind {
    /// A prompt that the user typed.
    Prompt(String),
    /// A call of a tool whose action is known.
    Call(ToolAction),
    /// The result of a call; its step has the id of the call.
    Result {
        /// The text of the result, neither redacted nor shortened.
        text: String,
        /// Whether the client marks it as an error; for Codex, whether it has
        /// an exit code other than 0.
        is_error: bool,
    },
}

/// What one run read.
#[derive(Debug, Default)]
pub(super) struct TranscriptPart {
    pub(super) entries: Vec<EvidenceEntry>,
    /// Where the next run begins.
    pub(super) end: u64,
    /// Whether an earlier run read the beginning.
    pub(super) was_read: bool,
}

/// Reads what was added to a transcript, at most `most` bytes; `None` for a file
/// that is not one of the user's transcripts.
pub(super) fn read_new(
    workspace: &Workspace,
    source: &TranscriptSource<'_>,
    most: u64,
) -> Option<TranscriptPart> {
    let mut file = open_transcript(source)?;
    let size = file.metadata().ok()?.len();
    let known = position_of(workspace, source.path);
    // A shorter file is another one of the same name.
    let known = if known > size { 0 } else { known };
    let mut part = TranscriptPart {
        entries: Vec::new(),
        end: known.max(size.saturating_sub(most)),
        was_read: known > 0,
    };
    // After a jump, the first line begins in its middle and is not JSON.
    while part.end < size {
        let piece = read_piece(&mut file, part.end, workspace, source)?;
        part.entries.extend(piece.entries);
        if piece.end == part.end {
            break;
        }
        part.end = piece.end;
    }
    Some(part)
}

/// Opens a transcript, if it is a regular file where clients keep them.
fn open_transcript(source: &TranscriptSource<'_>) -> Option<File> {
    if source.path.extension().is_none_or(|it| it != "jsonl") {
        return None;
    }
    let real = system::canonicalize(source.path).ok()?;
    let is_of_user = source
        .homes
        .iter()
        .any(|home| system::canonicalize(home).is_ok_and(|home| real.starts_with(home)));
    if !is_of_user {
        return None;
    }
    regular::open_regular(source.path, LinkPolicy::Refuse).ok()
}

/// Reads the whole transcript of a session that has ended and records nothing.
/// `None` if it is too long for that, or if it ends with another message:
/// clients write late, and then the last calls are missing.
pub(crate) fn read_ended(
    workspace: &Workspace,
    source: &TranscriptSource<'_>,
    last_message: &str,
) -> Option<Vec<EvidenceEntry>> {
    let mut file = open_transcript(source)?;
    let size = file.metadata().ok()?.len();
    if size > MAX_READ_BYTES || !ends_with_message(&read_end(&mut file)?, last_message) {
        return None;
    }
    let mut entries = Vec::new();
    let mut at = 0;
    while at < size {
        let piece = read_piece(&mut file, at, workspace, source)?;
        entries.extend(piece.entries);
        if piece.end == at {
            break;
        }
        at = piece.end;
    }
    Some(entries)
}

/// Returns `true` if the last message of a transcript is this answer. What
/// clients write behind it, such as texts of hooks, is no message.
fn ends_with_message(end: &str, message: &str) -> bool {
    let mut records = end
        .lines()
        .rev()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let last = records.find(|it| it["type"] == "assistant" || it["type"] == "user");
    last.is_some_and(|it| {
        it["type"] == "assistant"
            && response_text(&it["message"]["content"]).trim() == message.trim()
    })
}

/// Reads the end of a transcript; its first line may be cut.
fn read_end(file: &mut File) -> Option<String> {
    const MAX_END_BYTES: u64 = 256 << 10;
    let size = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(size.saturating_sub(MAX_END_BYTES)))
        .ok()?;
    let mut bytes = Vec::new();
    file.take(MAX_END_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// A helper whose task is looked up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StartedHelper<'a> {
    /// The client's name for the kind of helper.
    pub(crate) kind: &'a str,
    /// The helper's id.
    pub(crate) id: &'a str,
}

/// Returns the task of a helper that starts now. The result of the call names
/// the helper where the client runs it in the background; otherwise the only
/// call without a result is the one. With several of these, it is not known
/// which. Only the end of the transcript is read.
pub(crate) fn find_helper_task(
    source: &TranscriptSource<'_>,
    helper: StartedHelper<'_>,
) -> Option<String> {
    let text = read_end(&mut open_transcript(source)?)?;
    let mut ended: HashSet<String> = HashSet::new();
    let mut own = None;
    let mut waiting = Vec::new();
    for line in text.lines().rev() {
        let Ok(record) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        let names_helper = record["toolUseResult"]["agentId"] == helper.id;
        let blocks = record["message"]["content"].as_array();
        for block in blocks.into_iter().flatten().rev() {
            if let Some(id) = block["tool_use_id"].as_str() {
                if names_helper {
                    own = Some(id.to_owned());
                } else {
                    ended.insert(id.to_owned());
                }
            }
            let input = &block["input"];
            let kind = input["subagent_type"].as_str();
            let is_start = matches!(block["name"].as_str(), Some("Task" | "Agent"))
                && kind.is_none_or(|it| it == helper.kind);
            let (Some(id), Some(task)) = (block["id"].as_str(), input["prompt"].as_str()) else {
                continue;
            };
            if is_start && own.as_deref() == Some(id) {
                return Some(task.to_owned());
            }
            if is_start && !ended.contains(id) {
                waiting.push(task.to_owned());
            }
        }
    }
    match waiting.len() {
        1 => waiting.pop(),
        _ => None,
    }
}

/// Reads the complete lines of a piece.
fn read_piece(
    file: &mut File,
    start: u64,
    workspace: &Workspace,
    source: &TranscriptSource<'_>,
) -> Option<TranscriptPart> {
    file.seek(SeekFrom::Start(start)).ok()?;
    let mut bytes = Vec::new();
    file.take(PIECE_BYTES).read_to_end(&mut bytes).ok()?;
    let is_last = (bytes.len() as u64) < PIECE_BYTES;
    let complete = match memchr::memrchr(b'\n', &bytes) {
        Some(at) => at + 1,
        None if is_last => 0,
        // A line that is longer than a piece is passed over.
        None => bytes.len(),
    };
    let place = WorkPlace {
        root: workspace.root(),
        cwd: source.cwd,
    };
    let mut steps = Vec::new();
    let mut waiting: HashMap<String, usize> = HashMap::new();
    let mut at = 0;
    for line in bytes[..complete].split_inclusive(|byte| *byte == b'\n') {
        for step in parse_steps(&String::from_utf8_lossy(line), place) {
            match &step.kind {
                StepKind::Call(_) => {
                    waiting.insert(step.id.clone(), at);
                }
                StepKind::Result { .. } => {
                    waiting.remove(&step.id);
                }
                StepKind::Prompt(_) => {}
            }
            steps.push(step);
        }
        at += line.len();
    }
    // The next piece or run begins at a call without a result.
    let first_waiting = waiting.into_values().min();
    let end = first_waiting.filter(|at| complete - at <= MAX_WAITING_BYTES);
    Some(TranscriptPart {
        entries: to_entries(&steps, source.session, Some(workspace.root())),
        end: start + end.unwrap_or(complete) as u64,
        was_read: start > 0,
    })
}

fn position_of(workspace: &Workspace, transcript: &Path) -> u64 {
    let path = RelPath::new(POSITIONS_FILE).ok();
    let bytes = path.and_then(|path| workspace.read_marked_machine(&path));
    let name = short_id(&transcript.to_string_lossy());
    let positions = parse_positions(&bytes.unwrap_or_default());
    let known = positions.iter().find(|it| it.transcript == name);
    known.map_or(0, |it| it.offset)
}

/// Keeps where the reading of a transcript ended.
pub(super) fn keep_position(
    workspace: &Workspace,
    transcript: &Path,
    end: u64,
) -> Result<(), WorkspaceError> {
    let name = short_id(&transcript.to_string_lossy());
    workspace.change_marked_machine(&RelPath::new(POSITIONS_FILE)?, |bytes| {
        let mut positions = parse_positions(bytes);
        if let Some(there) = positions.iter().position(|it| it.transcript == name) {
            if positions[there].offset == end {
                return None;
            }
            positions.remove(there);
        }
        positions.push(TranscriptPosition {
            transcript: name,
            offset: end,
        });
        let first = positions.len().saturating_sub(MAX_POSITIONS);
        let lines = positions[first..]
            .iter()
            .filter_map(|it| serde_json::to_string(it).ok());
        Some(
            lines
                .map(|line| line + "\n")
                .collect::<String>()
                .into_bytes(),
        )
    })
}

fn parse_positions(bytes: &[u8]) -> Vec<TranscriptPosition> {
    let text = String::from_utf8_lossy(bytes);
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

/// Turns steps into entries. `root` is the workspace on disk, where sizes of
/// files can be looked up.
pub fn to_entries(steps: &[SessionStep], session: &str, root: Option<&Path>) -> Vec<EvidenceEntry> {
    // A patch is one call that changes several files.
    let mut calls: HashMap<&str, Vec<&ToolAction>> = HashMap::new();
    let mut entries = Vec::new();
    let session = short_id(session);
    let mut now = 0;
    for step in steps {
        now = now.max(step.at);
        let mut add = |fact| {
            entries.push(EvidenceEntry {
                at: now,
                session: session.clone(),
                id: step.id.clone(),
                fact,
            });
        };
        match &step.kind {
            StepKind::Call(action) => {
                calls.entry(&step.id).or_default().push(action);
            }
            StepKind::Prompt(text) => observe_prompt(text).into_iter().for_each(add),
            StepKind::Result { text, is_error } => {
                for action in calls.remove(step.id.as_str()).unwrap_or_default() {
                    let outcome = ToolOutcome {
                        text,
                        is_error: *is_error,
                        bytes: root.and_then(|root| size_on_disk(root, action)),
                    };
                    observe_result(action, outcome)
                        .into_iter()
                        .for_each(&mut add);
                }
            }
        }
    }
    entries
}

/// Returns the size of the file that a read is about.
pub(super) fn size_on_disk(root: &Path, action: &ToolAction) -> Option<u64> {
    let ToolAction::Read { path, .. } = action else {
        return None;
    };
    let meta = std::fs::metadata(root.join(path)).ok()?;
    meta.is_file().then_some(meta.len())
}

/// Parses one line of a transcript.
pub fn parse_steps(line: &str, place: WorkPlace<'_>) -> Vec<SessionStep> {
    let Ok(record) = serde_json::from_str::<Value>(line) else {
        return Vec::new();
    };
    let at = record["timestamp"]
        .as_str()
        .and_then(|text| text.parse::<Timestamp>().ok())
        .map_or(0, Timestamp::as_second);
    let cwd = record["cwd"]
        .as_str()
        .or_else(|| record["payload"]["cwd"].as_str());
    let place = WorkPlace {
        cwd: cwd.map_or(place.cwd, Path::new),
        ..place
    };
    let step = |id: String, kind| SessionStep { at, id, kind };
    match record["type"].as_str() {
        Some("assistant" | "user") => {
            let content = &record["message"]["content"];
            let mut steps = Vec::new();
            for block in content.as_array().into_iter().flatten() {
                let id = |name: &str| block[name].as_str().map(short_id);
                match block["type"].as_str() {
                    Some("tool_use") => {
                        let name = block["name"].as_str().unwrap_or_default();
                        let action = planned_action(name, &block["input"], place);
                        if let (Some(id), Some(action)) = (id("id"), action) {
                            steps.push(step(id, StepKind::Call(action)));
                        }
                    }
                    Some("tool_result") => {
                        if let Some(id) = id("tool_use_id") {
                            let text = response_text(&block["content"]);
                            let is_error = block["is_error"] == true;
                            steps.push(step(id, StepKind::Result { text, is_error }));
                        }
                    }
                    _ => {}
                }
            }
            let is_typed = record["type"] == "user"
                && record["isMeta"] != true
                && record["isSidechain"] != true
                && record["isCompactSummary"] != true
                && steps.is_empty();
            if is_typed {
                let text = response_text(content);
                // Text in tags was put in by the client.
                if !text.trim().is_empty() && !text.trim_start().starts_with('<') {
                    steps.push(step(short_id(text.trim()), StepKind::Prompt(text)));
                }
            }
            steps
        }
        Some("response_item") => {
            let payload = &record["payload"];
            let id = payload["call_id"].as_str().map(short_id);
            match payload["type"].as_str() {
                Some("function_call") => {
                    let input = payload["arguments"].as_str().unwrap_or_default();
                    let input: Value = serde_json::from_str(input).unwrap_or_default();
                    let name = payload["name"].as_str().unwrap_or_default();
                    let action = planned_action(name, &input, place);
                    let call = id.zip(action).map(|(id, it)| step(id, StepKind::Call(it)));
                    call.into_iter().collect()
                }
                Some("custom_tool_call") if payload["name"] == "apply_patch" => {
                    let patch = payload["input"].as_str().unwrap_or_default();
                    let changes = files_of_patch(patch, place).into_iter();
                    let Some(id) = id else {
                        return Vec::new();
                    };
                    changes
                        .map(|change| step(id.clone(), StepKind::Call(change)))
                        .collect()
                }
                Some("function_call_output" | "custom_tool_call_output") => {
                    let text = response_text(&payload["output"]);
                    let succeeded = text.starts_with("Exit code 0\n");
                    let is_error = text.starts_with("Exit code ") && !succeeded;
                    let result = StepKind::Result { text, is_error };
                    id.map(|id| step(id, result)).into_iter().collect()
                }
                _ => Vec::new(),
            }
        }
        _ => Vec::new(),
    }
}

/// Returns the files that a patch of Codex's form changes.
fn files_of_patch(patch: &str, place: WorkPlace<'_>) -> Vec<ToolAction> {
    const MARKS: [&str; 4] = [
        "*** Add File: ",
        "*** Update File: ",
        "*** Delete File: ",
        "*** Move to: ",
    ];
    const MAX_PATCHED_FILES: usize = 50;
    let paths = patch
        .lines()
        .filter_map(|line| MARKS.iter().find_map(|mark| line.strip_prefix(mark)));
    let change =
        |path: &str| planned_action("Write", &serde_json::json!({ "file_path": path }), place);
    paths.filter_map(change).take(MAX_PATCHED_FILES).collect()
}

/// Returns the text of a result in any form that clients have.
pub(super) fn response_text(value: &Value) -> String {
    match value {
        Value::String(text) => match serde_json::from_str::<Value>(text) {
            Ok(Value::Object(fields)) if fields.contains_key("output") => {
                response_text(&Value::Object(fields))
            }
            _ => text.clone(),
        },
        Value::Array(parts) => {
            let texts = parts
                .iter()
                .filter_map(|it| it.as_str().or_else(|| it["text"].as_str()));
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Object(fields) => {
            let code = fields
                .get("metadata")
                .and_then(|it| it["exit_code"].as_i64());
            let part = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
            let output = [
                part("output"),
                part("stdout"),
                part("stderr"),
                part("error"),
            ];
            let output: Vec<&str> = output.into_iter().filter(|it| !it.is_empty()).collect();
            let text = match (output.is_empty(), fields.get("content")) {
                (true, Some(content)) => response_text(content),
                _ => output.join("\n"),
            };
            match code {
                Some(code) => format!("Exit code {code}\n{text}"),
                None => text,
            }
        }
        _ => String::new(),
    }
}
