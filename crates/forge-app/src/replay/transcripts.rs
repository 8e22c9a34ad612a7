//! Reads whole transcripts of past sessions. A line that cannot be read is left
//! out; a file that is no transcript is skipped with its reason, never an error
//! of the replay.
//!
//! A glob in a folder that does not exist finds nothing, as one in a folder
//! without such files does. Where the folder has nothing that any session read
//! or changed, it is taken as missing.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::evidence::{SessionStep, StepKind, parse_steps, to_entries};
use forge_memory::evidence::{EvidenceEntry, EvidenceFact, ToolAction, WorkPlace};
use forge_store::regular::{self, LinkPolicy};

/// Bytes of the longest transcript that is replayed.
const MAX_TRANSCRIPT_BYTES: u64 = 256 << 20;
/// Size of a file that was too large: without the file, it is the least that
/// Claude Code refuses.
pub(super) const BYTES_OF_LARGE: u64 = crate::push::MAX_CLAUDE_READ_BYTES;
/// Lines in which the session's id and folder are looked for.
const MAX_HEAD_LINES: usize = 50;

/// A session as its transcript has it.
pub(super) struct PastSession {
    pub(super) id: String,
    pub(super) path: PathBuf,
    /// Its first moment with a time, in seconds since 1970.
    pub(super) started: i64,
    pub(super) steps: usize,
    pub(super) moments: usize,
    pub(super) actions: Vec<PastAction>,
    pub(super) entries: Vec<EvidenceEntry>,
    /// The name of the folder in which it ran.
    pub(super) root_name: String,
    /// Calls with a glob that found nothing: their folders may be missing.
    empty_globs: HashSet<String>,
}

impl PastSession {
    /// Adds the folders, of each path that was read or changed, to those that
    /// were there.
    pub(super) fn collect_folders<'a>(&'a self, folders: &mut HashSet<&'a str>) {
        for entry in &self.entries {
            let (EvidenceFact::Read { path } | EvidenceFact::Changed { path }) = &entry.fact else {
                continue;
            };
            folders.extend(path.match_indices('/').map(|(at, _)| &path[..at]));
        }
    }

    /// Forgets that the folder of a glob is missing, if it is one of these.
    pub(super) fn keep_missing(&mut self, is_there: impl Fn(&str) -> bool) {
        let empty = &self.empty_globs;
        self.entries.retain(|entry| match &entry.fact {
            EvidenceFact::Missing { path } if empty.contains(&entry.id) => !is_there(path),
            _ => true,
        });
    }
}

/// A call of a tool.
pub(super) struct PastAction {
    pub(super) step: usize,
    pub(super) line: usize,
    /// Seconds since 1970.
    pub(super) at: i64,
    /// The start of its turn: hooks of other sessions may have recorded what
    /// happened before that.
    pub(super) turn: i64,
    pub(super) id: String,
    pub(super) action: ToolAction,
}

/// Reads a transcript, or returns why it is skipped.
pub(super) fn read_session(path: &Path) -> Result<PastSession, String> {
    let bytes = regular::read_regular(path, LinkPolicy::Follow, MAX_TRANSCRIPT_BYTES)
        .map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&bytes);
    let (id, root) = find_origin(&text);
    let id = id.unwrap_or_else(|| path.to_string_lossy().into_owned());
    let root = PathBuf::from(root.unwrap_or_else(|| "/".to_owned()));
    let place = WorkPlace {
        root: &root,
        cwd: &root,
    };
    let mut steps: Vec<SessionStep> = Vec::new();
    let mut lines = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let of_line = parse_steps(line, place);
        lines.extend(of_line.iter().map(|_| at + 1));
        steps.extend(of_line);
    }
    let empty_globs = mark_empty_globs(&mut steps);
    let times = steps.iter().map(|it| it.at);
    let started = times
        .filter(|at| *at > 0)
        .min()
        .ok_or("no moment with a time that Claude Code or Codex would write")?;
    let mut entries = to_entries(&steps, &id, None);
    for entry in &mut entries {
        // An entry has a time, and a session none before its start.
        entry.at = entry.at.max(started);
        if let EvidenceFact::TooLarge { bytes, .. } = &mut entry.fact {
            *bytes = Some(BYTES_OF_LARGE);
        }
    }
    let is_moment = |it: &&SessionStep| !matches!(it.kind, StepKind::Result { .. });
    Ok(PastSession {
        id,
        path: path.to_owned(),
        started,
        steps: steps.len(),
        moments: steps.iter().filter(is_moment).count(),
        actions: list_actions(steps, &lines, started),
        entries,
        root_name: root
            .file_name()
            .map_or_else(String::new, |it| it.to_string_lossy().into_owned()),
        empty_globs,
    })
}

/// Lets globs that found nothing in a folder report that it is missing, and
/// returns their calls.
fn mark_empty_globs(steps: &mut [SessionStep]) -> HashSet<String> {
    let mut globs: HashSet<String> = HashSet::new();
    let mut empty = HashSet::new();
    for step in steps {
        match &mut step.kind {
            StepKind::Call(ToolAction::Search {
                path,
                is_glob: true,
            }) if path != "." => {
                globs.insert(step.id.clone());
            }
            StepKind::Result { text, .. }
                if globs.contains(&step.id) && text.trim() == "No files found" =>
            {
                "Directory does not exist".clone_into(text);
                empty.insert(step.id.clone());
            }
            _ => {}
        }
    }
    empty
}

fn list_actions(steps: Vec<SessionStep>, lines: &[usize], started: i64) -> Vec<PastAction> {
    let mut actions = Vec::new();
    let (mut now, mut turn) = (started, started);
    for (at, (step, line)) in steps.into_iter().zip(lines).enumerate() {
        now = now.max(step.at);
        match step.kind {
            StepKind::Prompt(_) => turn = now,
            StepKind::Call(action) => actions.push(PastAction {
                step: at,
                line: *line,
                at: now,
                turn,
                id: step.id,
                action,
            }),
            StepKind::Result { .. } => {}
        }
    }
    actions
}

/// Returns the client's id of the session and the folder in which it ran.
fn find_origin(text: &str) -> (Option<String>, Option<String>) {
    let (mut id, mut root) = (None, None);
    for line in text.lines().take(MAX_HEAD_LINES) {
        let Ok(record) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        let text = |value: &Value| value.as_str().map(str::to_owned);
        id = id
            .or_else(|| text(&record["sessionId"]))
            .or_else(|| text(&record["session_id"]))
            .or_else(|| text(&record["payload"]["id"]));
        root = root
            .or_else(|| text(&record["cwd"]))
            .or_else(|| text(&record["payload"]["cwd"]));
    }
    (id, root)
}
