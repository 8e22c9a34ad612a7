//! Opens a session, and closes the one before it if it is still open: not every
//! client reports the end of a session.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::brief::SessionStartReason;
use crate::mind::{EventLog, MindError, MindFile, MindStore, NewSession, SessionCapture};
use crate::state_files::MIND_FOLDER;
use crate::workspace::{RelPath, git};

/// File that describes the open session: id, start and commit.
const OPEN_SESSION_FILE: &str = ".mind/.open-session";

/// File with the size of the state after the last compression.
const COMPRESSED_SIZE_FILE: &str = ".mind/.compressed";
const MIN_GROWTH_BYTES: u64 = 4_096;
/// State size above which compressing takes longer than a start may; `mind
/// compress` does it.
const MAX_BYTES_AT_START: u64 = 512 << 10;

/// A log written within this many seconds describes the session.
const FRESH_LOG_SECONDS: i64 = 30 * 60;

/// Entries of each hook log that a new session receives.
const MAX_RECENT_EVENTS: usize = 5;

/// A report of a client that a session begins.
#[derive(Debug, Clone, Copy)]
pub struct SessionOpenRequest<'a> {
    /// The client's id of the session.
    pub id: &'a str,
    /// How the session came to start.
    pub reason: SessionStartReason,
    /// How long git may take to list what changed. If it does not answer in
    /// time, the session stays open and the next start tries again.
    pub git_wait: Duration,
    /// The time of the start.
    pub now: Timestamp,
}

/// News of earlier sessions, for a new one.
#[derive(Debug, Default)]
pub struct SessionNews {
    /// What happened, one line each.
    pub lines: Vec<String>,
    /// Failures, which do not stop the rest.
    pub problems: Vec<MindError>,
}

/// Opens a session: closes one that was left open, archives old entries, and
/// returns what happened since.
pub fn open_session(mind: &MindStore<'_>, opening: &SessionOpenRequest<'_>) -> SessionNews {
    let mut news = SessionNews::default();
    if mind.has_state_files() {
        match begin_session(mind, opening) {
            Ok(line) => news.lines.extend(line),
            Err(error) => news.problems.push(error),
        }
        if let Err(error) = compress_if_grown(mind, opening.now) {
            news.problems.push(error);
        }
    }
    // A second layout hides what was written to it, so it is always reported.
    news.lines.extend(mind.describe_layout_conflict());
    // Both sides are shown as they are; only people can decide.
    news.lines
        // Both sides of the merge are shown as they are: only a person can
        // decide.
        .extend(mind.find_unfinished_merges().iter().map(|(path, line)| {
            format!("{path}:{line} has an unfinished git merge in it; ask which side holds")
        }));
    news.lines.extend(list_recent_work(mind));
    news
}

/// Closes the previous session, and records that this one is open.
fn begin_session(
    mind: &MindStore<'_>,
    opening: &SessionOpenRequest<'_>,
) -> Result<Option<String>, MindError> {
    let open = OpenSession::read(mind);
    // A start after a compaction continues the session, whatever its id.
    let continues = open.as_ref().is_some_and(|it| it.id == opening.id)
        || opening.reason == SessionStartReason::Compact;
    if continues {
        return Ok(None);
    }
    let line = match &open {
        Some(open) => open.close(mind, "unknown", opening.git_wait, opening.now)?,
        None => None,
    };
    OpenSession {
        id: opening.id.to_owned(),
        started: opening.now,
        commit: git::head_commit(mind.workspace().root()),
    }
    .write(mind)?;
    Ok(line)
}

/// Archives old entries once the files have grown. If they cannot be made
/// smaller, the next attempt waits for further growth.
fn compress_if_grown(mind: &MindStore<'_>, now: Timestamp) -> Result<(), MindError> {
    let path = RelPath::new(COMPRESSED_SIZE_FILE)?;
    let before = mind.total_state_bytes();
    let last = mind.workspace().read(&path).ok();
    let last: u64 = last
        .and_then(|bytes| String::from_utf8(bytes).ok()?.trim().parse().ok())
        .unwrap_or(0);
    let grown = mind.should_compress() && before >= last.saturating_add(MIN_GROWTH_BYTES);
    if !grown || before > MAX_BYTES_AT_START {
        return Ok(());
    }
    mind.compress_state(false, now)?;
    mind.workspace()
        .write_machine_unsynced(&path, format!("{}\n", mind.total_state_bytes()).as_bytes())?;
    Ok(())
}

/// Lists the newest tasks and the last action of each sub-agent.
fn list_recent_work(mind: &MindStore<'_>) -> Vec<String> {
    let tasks = mind.read_events(EventLog::Tasks);
    let newest = tasks.iter().rev().take(MAX_RECENT_EVENTS).rev();
    let mut lines: Vec<String> = newest.cloned().collect();
    let (agents, more) = mind.last_event_per_agent(MAX_RECENT_EVENTS);
    lines.extend(agents);
    if more > 0 {
        let log = EventLog::Agents.name();
        lines.push(format!("{more} more agents in {MIND_FOLDER}/{log}"));
    }
    lines
}

/// Returns `true` if the file is in the folder.
fn is_in_folder(file: &str, folder: &str) -> bool {
    let inside = file.strip_prefix(folder);
    inside.is_some_and(|it| it.starts_with('/'))
}

/// The open session, as recorded at its start.
pub(super) struct OpenSession {
    id: String,
    started: Timestamp,
    commit: Option<String>,
}

impl OpenSession {
    /// Reads the record of the open session; `None` without one.
    pub(super) fn read(mind: &MindStore<'_>) -> Option<OpenSession> {
        let bytes = mind
            .workspace()
            .read(&RelPath::new(OPEN_SESSION_FILE).ok()?)
            .ok()?;
        let value: Value = serde_json::from_slice(&bytes).ok()?;
        Some(OpenSession {
            id: value["id"].as_str()?.to_owned(),
            started: value["started"].as_str()?.parse().ok()?,
            commit: value["commit"].as_str().map(str::to_owned),
        })
    }

    /// Writes the record of the open session.
    fn write(&self, mind: &MindStore<'_>) -> Result<(), MindError> {
        let value =
            json!({ "id": self.id, "started": self.started.to_string(), "commit": self.commit });
        mind.workspace().write_machine_unsynced(
            &RelPath::new(OPEN_SESSION_FILE)?,
            format!("{value}\n").as_bytes(),
        )?;
        Ok(())
    }

    /// Writes a log entry for a session that changed files and has no
    /// description yet, and removes its record. Returns a line about it.
    pub(super) fn close(
        &self,
        mind: &MindStore<'_>,
        reason: &str,
        git_wait: Duration,
        now: Timestamp,
    ) -> Result<Option<String>, MindError> {
        let is_described = mind.modified_at(MindFile::SessionLog).is_some_and(|at| {
            at >= self.started || now.as_second() - at.as_second() < FRESH_LOG_SECONDS
        });
        let mut line = None;
        if !is_described {
            let root = mind.workspace().root();
            let commit = self.commit.as_deref();
            let mut files = git::files_changed_since(root, commit, self.started, git_wait)?;
            // The program writes these files itself, so they are no sign of
            // work.
            files.retain(|file| !is_in_folder(file, MIND_FOLDER));
            if !files.is_empty() {
                let count = files.len();
                let new = NewSession {
                    captured: Some(SessionCapture {
                        reason: reason.to_owned(),
                        files,
                    }),
                    ..NewSession::default()
                };
                let (number, _) = mind.log_session(&new, now)?;
                line = Some(format!(
                    "Session {number} was closed without a summary; {count} files changed in it"
                ));
            }
        }
        let _ = mind
            .workspace()
            .remove_machine(&RelPath::new(OPEN_SESSION_FILE)?);
        Ok(line)
    }
}
