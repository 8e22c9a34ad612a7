//! A session from its start to its end, which may never be told. What one left
//! open is closed by the next: clients do not always say that a session ends.

use std::time::Duration;

use forge_app::mind::{Captured, Log, Mind, NewSession, Source};
use forge_app::mind::{Error, File};
use forge_app::workspace::{RelPath, git};
use jiff::Timestamp;
use serde_json::{Value, json};

/// The session that is open now: id, start and commit.
const OPEN: &str = ".mind/.open-session";

/// Bytes of state after the last compression.
const COMPRESSED: &str = ".mind/.compressed";
const WORTH_ANOTHER_TRY: u64 = 4_096;
/// Beyond this, compressing takes longer than a start may; `mind compress`
/// does it.
const TOO_MUCH_FOR_A_HOOK: u64 = 512 << 10;

/// How long git may take for a question at a start, and at an end, which has
/// less time. A session that it cannot tell about stays open, and the next
/// start asks again.
const GIT_WAIT: Duration = Duration::from_millis(1_200);
const GIT_WAIT_AT_END: Duration = Duration::from_millis(500);

/// A log written to within this many seconds was written by someone.
const FRESH_LOG: i64 = 30 * 60;

/// Notes that a session began, and closes one that was left open. Gives lines
/// for the briefing.
pub(super) fn begin(
    mind: &Mind,
    id: &str,
    source: Source,
    now: Timestamp,
) -> Result<Vec<String>, Error> {
    let mut said = Vec::new();
    let open = Open::read(mind);
    // The same session goes on after a compaction.
    let goes_on = open.as_ref().is_some_and(|it| it.id == id) || source == Source::Compact;
    if let Some(open) = open.filter(|_| !goes_on) {
        said.extend(close(mind, &open, "not told", GIT_WAIT, now)?);
    }
    if !goes_on {
        Open {
            id: id.to_owned(),
            started: now,
            commit: git::head(mind.workspace().root()),
        }
        .write(mind)?;
    }
    Ok(said)
}

/// Archives old entries once the files have grown. What cannot be made smaller
/// is not tried again until it has grown some more.
pub(super) fn compress(mind: &Mind, now: Timestamp) -> Result<(), Error> {
    let path = RelPath::new(COMPRESSED)?;
    let before = mind.state_bytes();
    let last = mind.workspace().read(&path).ok();
    let last: u64 = last
        .and_then(|bytes| String::from_utf8(bytes).ok()?.trim().parse().ok())
        .unwrap_or(0);
    let grown = mind.wants_compression() && before >= last.saturating_add(WORTH_ANOTHER_TRY);
    if !grown || before > TOO_MUCH_FOR_A_HOOK {
        return Ok(());
    }
    mind.compress(false, now)?;
    mind.workspace()
        .put_machine(&path, format!("{}\n", mind.state_bytes()).as_bytes())?;
    Ok(())
}

/// Notes that a session ended, and writes its entry if nobody did.
pub(super) fn end(mind: &Mind, reason: &str, now: Timestamp) -> Result<(), Error> {
    mind.touch(now)?;
    mind.session_ended(reason, now)?;
    mind.session_end_checkpoint(reason, now)?;
    if let Some(open) = Open::read(mind) {
        close(mind, &open, reason, GIT_WAIT_AT_END, now)?;
    }
    Ok(())
}

/// The newest tasks and what each helper did last, for the briefing.
pub(super) fn recent_work(mind: &Mind) -> Vec<String> {
    const MOST: usize = 5;
    let tasks = mind.events(Log::Tasks);
    let mut lines: Vec<String> = tasks.iter().rev().take(MOST).rev().cloned().collect();
    let (agents, more) = mind.last_of_each_agent(MOST);
    lines.extend(agents);
    if more > 0 {
        let log = Log::Agents.name();
        lines.push(format!("{more} more agents in .mind/{log}"));
    }
    lines
}

/// Adds a line to what `doctor` shows. Failing to do so is the one thing that
/// cannot be told.
pub(super) fn note_failure(mind: &Mind, what: &str, now: Timestamp) {
    if mind.exists() {
        let _ = mind.hook_failed(what, now);
    }
}

struct Open {
    id: String,
    started: Timestamp,
    commit: Option<String>,
}

impl Open {
    fn read(mind: &Mind) -> Option<Open> {
        let bytes = mind.workspace().read(&RelPath::new(OPEN).ok()?).ok()?;
        let value: Value = serde_json::from_slice(&bytes).ok()?;
        Some(Open {
            id: value["id"].as_str()?.to_owned(),
            started: value["started"].as_str()?.parse().ok()?,
            commit: value["commit"].as_str().map(str::to_owned),
        })
    }

    fn write(&self, mind: &Mind) -> Result<(), Error> {
        let value =
            json!({ "id": self.id, "started": self.started.to_string(), "commit": self.commit });
        mind.workspace()
            .put_machine(&RelPath::new(OPEN)?, format!("{value}\n").as_bytes())?;
        Ok(())
    }
}

/// Writes an entry for a session that changed files and that nobody described.
fn close(
    mind: &Mind,
    open: &Open,
    reason: &str,
    wait: Duration,
    now: Timestamp,
) -> Result<Option<String>, Error> {
    let described = mind
        .modified(File::SessionLog)
        .is_some_and(|at| at >= open.started || now.as_second() - at.as_second() < FRESH_LOG);
    let mut said = None;
    if !described {
        let files = git::changed_since(
            mind.workspace().root(),
            open.commit.as_deref(),
            open.started,
            wait,
        )?;
        let files: Vec<String> = files
            .into_iter()
            .filter(|f| !f.starts_with(".mind/"))
            .collect();
        if !files.is_empty() {
            let count = files.len();
            let captured = Captured {
                reason: reason.to_owned(),
                files,
            };
            let new = NewSession {
                captured: Some(captured),
                ..NewSession::default()
            };
            let (number, _) = mind.log(&new, now)?;
            said = Some(format!(
                "Session {number} was closed without a summary; {count} files changed in it"
            ));
        }
    }
    let _ = mind.workspace().remove_machine(&RelPath::new(OPEN)?);
    Ok(said)
}
