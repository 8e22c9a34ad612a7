//! Keeps the small files of hooks: which agents started and stopped, what was
//! completed, which files were touched. They are event logs for the next
//! briefing: cheap to append to, kept short, and never the only place of a
//! fact.

use std::collections::HashSet;

use jiff::Timestamp;

use super::{FOLDER, MindError, MindFile, MindStore, values};
use crate::admit::{self, AdmittedText};
use crate::document::escape_markdown_line;
use crate::quote;
use crate::workspace::{RelPath, Workspace};

/// An event log of the hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventLog {
    /// `.agent-activity`.
    Agents,
    /// `.task-completions`.
    Tasks,
    /// `.session-tracking`.
    Sessions,
}

impl EventLog {
    /// Every event log.
    pub const ALL: [EventLog; 3] = [EventLog::Agents, EventLog::Tasks, EventLog::Sessions];

    /// Returns the file name of the log.
    pub fn name(self) -> &'static str {
        match self {
            EventLog::Agents => ".agent-activity",
            EventLog::Tasks => ".task-completions",
            EventLog::Sessions => ".session-tracking",
        }
    }
}

/// The file in which hooks record failures, for `doctor` to show.
pub const HOOK_FAILURES_FILE: &str = ".mind/.hook-failures";

/// Number of failures that are kept; the counter continues beyond it.
const MAX_KEPT_FAILURES: usize = 100;

/// Failures that hooks recorded so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookFailures {
    /// Number of all failures; only the newest are kept.
    pub count: usize,
    /// The newest failure, as it was recorded.
    pub latest: String,
}

/// Reads the failures that hooks recorded; returns none if there are none.
pub fn read_hook_failures(workspace: &Workspace) -> Option<HookFailures> {
    let path = RelPath::new(HOOK_FAILURES_FILE).ok()?;
    let bytes = workspace.read(&path).ok()?;
    parse_hook_failures(&String::from_utf8_lossy(&bytes))
}

/// Parses failures. Each line carries its running number, because old lines are
/// dropped and counting lines would be too low.
fn parse_hook_failures(text: &str) -> Option<HookFailures> {
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    let latest = lines().next_back()?;
    let number = latest.split_once("] #").and_then(|(_, rest)| {
        let digits = rest.split_once(' ').map_or(rest, |(digits, _)| digits);
        digits.parse().ok()
    });
    Some(HookFailures {
        count: number.unwrap_or_else(|| lines().count()),
        latest: latest.to_owned(),
    })
}

const LAST_ACTIVITY_FILE: &str = ".last-activity";
const TRACKED_FILES_FILE: &str = ".file-tracker";

/// A log is rotated once it has this many times the lines that are kept, so
/// that not every append rewrites it.
const ROTATE_AT_FACTOR: usize = 2;
/// Maximum characters of an agent's last message in the log.
const MAX_AGENT_MESSAGE_CHARS: usize = 160;
/// Maximum characters of an event.
const MAX_EVENT_CHARS: usize = 500;

impl MindStore<'_> {
    /// Logs that an agent started.
    pub fn log_agent_start(&self, kind: &str, id: &str, now: Timestamp) -> Result<(), MindError> {
        self.log_agent_event("STARTED", kind, id, "", now)
    }

    /// Logs that an agent stopped, with its last message truncated to one line.
    pub fn log_agent_report(
        &self,
        kind: &str,
        id: &str,
        report: &str,
        now: Timestamp,
    ) -> Result<(), MindError> {
        let report = redact_event(report, MAX_AGENT_MESSAGE_CHARS);
        let report = if report.is_empty() {
            String::new()
        } else {
            format!(" — {}", *report)
        };
        self.log_agent_event("STOPPED", kind, id, &report, now)
    }

    /// Renders the line that requests an update of the task list after an agent
    /// has stopped. Its kind and the path come from the repository, so they are
    /// quoted.
    pub fn render_agent_stop(&self, kind: &str, id: &str) -> String {
        let (kind, id) = (escape_markdown_line(kind), escape_markdown_line(id));
        format!(
            "[Memory] Agent completed: {} ({}). Check task status and update {} if work was completed.",
            quote::value_outside_fence(&kind),
            quote::value_outside_fence(&id),
            quote::path_outside_fence(self.file_path(MindFile::Progress).as_str()),
        )
    }

    /// Returns the last event of each agent, the newest last, and how many
    /// agents were left out.
    pub fn last_event_per_agent(&self, most: usize) -> (Vec<String>, usize) {
        let events = self.read_events(EventLog::Agents);
        let mut seen = HashSet::new();
        let mut last: Vec<String> = Vec::new();
        let mut more = 0;
        for line in events.iter().rev() {
            // Format: `[time] STOPPED: kind (id) — message`
            let kind = line.split_once(": ").map_or(line.as_str(), |it| it.1);
            let kind = kind.split_once(" (").map_or(kind, |it| it.0);
            if !seen.insert(kind) {
                continue;
            }
            if last.len() < most {
                last.push(line.clone())
            } else {
                more += 1
            }
        }
        last.reverse();
        (last, more)
    }

    /// Logs that a task was completed.
    pub fn log_task_completion(
        &self,
        id: &str,
        subject: &str,
        by: &str,
        now: Timestamp,
    ) -> Result<(), MindError> {
        let (id, subject, by) = (
            truncate_or_unknown(id),
            truncate_or_unknown(subject),
            truncate_or(by, "self"),
        );
        let line = format!(
            "[{}] COMPLETED: #{id} — {subject} (by: {by})",
            values::format_seconds(now)
        );
        self.append_event(EventLog::Tasks, &line)
    }

    /// Records a failure of a hook and increments the counter.
    pub fn log_hook_failure(&self, what: &str, now: Timestamp) -> Result<(), MindError> {
        let line = |there: &str| {
            let before = parse_hook_failures(there).map_or(0, |it| it.count);
            let what = redact_event(what, MAX_EVENT_CHARS);
            format!(
                "[{}] #{} {}",
                values::format_seconds(now),
                before + 1,
                *what
            )
        };
        self.workspace.append_machine_after(
            &RelPath::new(HOOK_FAILURES_FILE)?,
            line,
            MAX_KEPT_FAILURES * ROTATE_AT_FACTOR,
            MAX_KEPT_FAILURES,
        )?;
        Ok(())
    }

    /// Logs that a session ended, with the reason.
    pub fn log_session_end(&self, reason: &str, now: Timestamp) -> Result<(), MindError> {
        let line = format!(
            "Session ended: {} (reason: {})",
            values::format_seconds(now),
            truncate_or_unknown(reason)
        );
        self.append_event(EventLog::Sessions, &line)
    }

    fn log_agent_event(
        &self,
        what: &str,
        kind: &str,
        id: &str,
        report: &str,
        now: Timestamp,
    ) -> Result<(), MindError> {
        let line = format!(
            "[{}] {what}: {} ({}){report}",
            values::format_seconds(now),
            truncate_or_unknown(kind),
            truncate_or_unknown(id)
        );
        self.append_event(EventLog::Agents, &line)
    }

    /// Appends a line to a log, and drops the oldest lines of a log that has
    /// grown too long.
    pub fn append_event(&self, log: EventLog, line: &str) -> Result<(), MindError> {
        // Not journaled: an event at every turn would displace what can be
        // undone, and cost a sync each time.
        let keep = self.workspace.config().mind.tracking_max_lines;
        let line = redact_event(line, MAX_EVENT_CHARS);
        let path = tracking_path(log.name())?;
        self.workspace
            .append_machine(&path, &line, keep * ROTATE_AT_FACTOR, keep)?;
        Ok(())
    }

    /// Reads the lines of a log, the newest last.
    pub fn read_events(&self, log: EventLog) -> Vec<String> {
        let lines = self.read_lines(log.name());
        lines
            .into_iter()
            .filter(|line| !line.trim().is_empty())
            .collect()
    }

    /// Records the current time as that of the last activity.
    pub fn touch_activity(&self, now: Timestamp) -> Result<(), MindError> {
        let text = format!("{}\n", values::format_seconds(now));
        self.workspace
            .write_machine_unsynced(&tracking_path(LAST_ACTIVITY_FILE)?, text.as_bytes())?;
        Ok(())
    }

    /// Returns the time of the last activity.
    pub fn read_last_activity(&self) -> Option<Timestamp> {
        self.read_lines(LAST_ACTIVITY_FILE)
            .first()?
            .trim()
            .parse()
            .ok()
    }

    /// Adds names that are not listed yet, compared as whole names. Returns how
    /// many are listed afterwards.
    pub fn track_files(&self, names: &[String], now: Timestamp) -> Result<usize, MindError> {
        let known = self.read_tracked_files();
        let seen: HashSet<&str> = known.iter().map(String::as_str).collect();
        let mut added = HashSet::new();
        let new: Vec<&str> = names
            .iter()
            .map(String::as_str)
            .filter(|name| !name.is_empty() && !seen.contains(name) && added.insert(*name))
            .collect();
        if !new.is_empty() {
            let mut text = if self.read_lines(TRACKED_FILES_FILE).is_empty() {
                format!(
                    "# Session file changes (tracked since {})\n",
                    values::format_seconds(now)
                )
            } else {
                String::new()
            };
            for name in &new {
                text.push_str(&quote_name(name));
                text.push('\n');
            }
            let path = tracking_path(TRACKED_FILES_FILE)?;
            self.workspace
                .append_machine(&path, text.trim_end(), usize::MAX, usize::MAX)?;
        }
        Ok(known.len() + new.len())
    }

    /// Reads the names of the files that the session touched.
    pub fn read_tracked_files(&self) -> Vec<String> {
        let lines = self.read_lines(TRACKED_FILES_FILE);
        lines
            .iter()
            .filter(|line| !line.starts_with('#') && !line.trim().is_empty())
            .map(|line| unquote_name(line))
            .collect()
    }

    /// Removes the list of touched files.
    pub fn forget_tracked_files(&self) -> Result<(), MindError> {
        self.workspace
            .remove_machine(&tracking_path(TRACKED_FILES_FILE)?)?;
        Ok(())
    }

    /// Reads the lines of one of the small files; an unreadable file counts as
    /// empty.
    fn read_lines(&self, name: &str) -> Vec<String> {
        let bytes = tracking_path(name)
            .ok()
            .and_then(|path| self.workspace.read(&path).ok());
        let text = String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned();
        text.lines().map(str::to_owned).collect()
    }
}

pub(super) fn tracking_path(name: &str) -> Result<RelPath, MindError> {
    Ok(RelPath::new(FOLDER)?.join(name)?)
}

/// Redacts text from a client or an agent and reduces it to one line.
fn redact_event(text: &str, most: usize) -> AdmittedText<String> {
    admit::redact_text(text).edit_with(|text| values::truncate_at_word(&to_one_line(text), most))
}

/// Replaces control characters, so that a line stays one line.
fn to_one_line(text: &str) -> String {
    let clean: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    clean.trim().to_owned()
}

fn truncate_or(text: &str, empty: &str) -> String {
    let line = values::truncate_at_word(&to_one_line(text), 200);
    if line.is_empty() {
        empty.to_owned()
    } else {
        line
    }
}

fn truncate_or_unknown(text: &str) -> String {
    truncate_or(text, "unknown")
}

/// Formats a name on a line of its own, as JSON if it could be mistaken for
/// something else.
fn quote_name(name: &str) -> String {
    let needs_quotes =
        name.starts_with(['#', '"']) || name.trim() != name || name.chars().any(char::is_control);
    if needs_quotes {
        serde_json::to_string(name).unwrap_or_else(|_| to_one_line(name))
    } else {
        name.to_owned()
    }
}

fn unquote_name(line: &str) -> String {
    if line.starts_with('"') {
        serde_json::from_str(line).unwrap_or_else(|_| line.to_owned())
    } else {
        line.to_owned()
    }
}
