//! Keeps the small files of hooks: which agents started and stopped, what was
//! completed, which files were touched. They are event logs for the next
//! briefing: cheap to append to, kept short, and never the only place of a
//! fact.

use std::collections::HashSet;

use jiff::Timestamp;

use super::{Error, FOLDER, File, Mind, values};
use crate::admit::{self, AdmittedText};
use crate::document::inert_line;
use crate::quote;
use crate::workspace::{RelPath, Workspace};

/// An event log of the hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Log {
    /// `.agent-activity`.
    Agents,
    /// `.task-completions`.
    Tasks,
    /// `.session-tracking`.
    Sessions,
}

impl Log {
    /// Every event log.
    pub const ALL: [Log; 3] = [Log::Agents, Log::Tasks, Log::Sessions];

    /// Returns the file name of the log.
    pub fn name(self) -> &'static str {
        match self {
            Log::Agents => ".agent-activity",
            Log::Tasks => ".task-completions",
            Log::Sessions => ".session-tracking",
        }
    }
}

/// The file in which hooks record failures, for `doctor` to show.
pub const HOOK_FAILURES: &str = ".mind/.hook-failures";

/// Number of failures that are kept; the counter continues beyond it.
const MOST_FAILURES: usize = 100;

/// Failures that hooks recorded so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failures {
    /// Number of all failures; only the newest are kept.
    pub count: usize,
    pub latest: String,
}

/// Reads the failures that hooks recorded; returns none if there are none.
pub fn failures(workspace: &Workspace) -> Option<Failures> {
    let path = RelPath::new(HOOK_FAILURES).ok()?;
    let bytes = workspace.read(&path).ok()?;
    failures_in(&String::from_utf8_lossy(&bytes))
}

/// Parses failures. Each line carries its running number, because old lines are
/// dropped and counting lines would be too low.
fn failures_in(text: &str) -> Option<Failures> {
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    let latest = lines().next_back()?;
    let number = latest.split_once("] #").and_then(|(_, rest)| {
        let digits = rest.split_once(' ').map_or(rest, |(digits, _)| digits);
        digits.parse().ok()
    });
    Some(Failures {
        count: number.unwrap_or_else(|| lines().count()),
        latest: latest.to_owned(),
    })
}

const LAST_ACTIVITY: &str = ".last-activity";
const FILE_TRACKER: &str = ".file-tracker";

/// A log is rotated once it has this many times the lines that are kept, so
/// that not every append rewrites it.
const ROTATE_AT: usize = 2;
/// Maximum characters of an agent's last message in the log.
const MOST_SAID: usize = 160;
/// Maximum characters of an event.
const MOST_CHARACTERS: usize = 500;

impl Mind<'_> {
    /// Logs that an agent started.
    pub fn agent_started(&self, kind: &str, id: &str, now: Timestamp) -> Result<(), Error> {
        self.agent("STARTED", kind, id, "", now)
    }

    /// Logs that an agent stopped.
    pub fn agent_stopped(&self, kind: &str, id: &str, now: Timestamp) -> Result<(), Error> {
        self.agent("STOPPED", kind, id, "", now)
    }

    /// Logs that an agent stopped, with its last message truncated to one line.
    pub fn agent_reported(
        &self,
        kind: &str,
        id: &str,
        said: &str,
        now: Timestamp,
    ) -> Result<(), Error> {
        let said = event(said, MOST_SAID);
        let said = if said.is_empty() {
            String::new()
        } else {
            format!(" — {}", *said)
        };
        self.agent("STOPPED", kind, id, &said, now)
    }

    /// Renders the line that requests an update of the task list after an agent
    /// has stopped. Its kind and the path come from the repository, so they are
    /// quoted.
    pub fn agent_stop_line(&self, kind: &str, id: &str) -> String {
        let (kind, id) = (inert_line(kind), inert_line(id));
        format!(
            "[Memory] Agent completed: {} ({}). Check task status and update {} if work was completed.",
            quote::value(&kind),
            quote::value(&id),
            quote::outside(self.file(File::Progress).as_str()),
        )
    }

    /// Returns the last event of each agent, the newest last, and how many
    /// agents were left out.
    pub fn last_of_each_agent(&self, most: usize) -> (Vec<String>, usize) {
        let events = self.events(Log::Agents);
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
    pub fn task_completed(
        &self,
        id: &str,
        subject: &str,
        by: &str,
        now: Timestamp,
    ) -> Result<(), Error> {
        let (id, subject, by) = (or_unknown(id), or_unknown(subject), or(by, "self"));
        let line = format!(
            "[{}] COMPLETED: #{id} — {subject} (by: {by})",
            values::seconds(now)
        );
        self.note(Log::Tasks, &line)
    }

    /// Records a failure of a hook and increments the counter.
    pub fn hook_failed(&self, what: &str, now: Timestamp) -> Result<(), Error> {
        let line = |there: &str| {
            let before = failures_in(there).map_or(0, |it| it.count);
            let what = event(what, MOST_CHARACTERS);
            format!("[{}] #{} {}", values::seconds(now), before + 1, *what)
        };
        self.workspace.append_machine_after(
            &RelPath::new(HOOK_FAILURES)?,
            line,
            MOST_FAILURES * ROTATE_AT,
            MOST_FAILURES,
        )?;
        Ok(())
    }

    /// Logs that a session ended, with the reason.
    pub fn session_ended(&self, reason: &str, now: Timestamp) -> Result<(), Error> {
        let line = format!(
            "Session ended: {} (reason: {})",
            values::seconds(now),
            or_unknown(reason)
        );
        self.note(Log::Sessions, &line)
    }

    fn agent(
        &self,
        what: &str,
        kind: &str,
        id: &str,
        said: &str,
        now: Timestamp,
    ) -> Result<(), Error> {
        let line = format!(
            "[{}] {what}: {} ({}){said}",
            values::seconds(now),
            or_unknown(kind),
            or_unknown(id)
        );
        self.note(Log::Agents, &line)
    }

    /// Appends a line to a log, and drops the oldest lines of a log that has
    /// grown too long.
    pub fn note(&self, log: Log, line: &str) -> Result<(), Error> {
        // Not journaled: an event at every turn would displace what can be
        // undone, and cost a sync each time.
        let keep = self.workspace.config().mind.tracking_max_lines;
        let line = event(line, MOST_CHARACTERS);
        let path = machine(log.name())?;
        self.workspace
            .append_machine(&path, &line, keep * ROTATE_AT, keep)?;
        Ok(())
    }

    /// Reads the lines of a log, the newest last.
    pub fn events(&self, log: Log) -> Vec<String> {
        let lines = self.lines(log.name());
        lines
            .into_iter()
            .filter(|line| !line.trim().is_empty())
            .collect()
    }

    /// Records the current time as that of the last activity.
    pub fn touch(&self, now: Timestamp) -> Result<(), Error> {
        let text = format!("{}\n", values::seconds(now));
        self.workspace
            .put_machine(&machine(LAST_ACTIVITY)?, text.as_bytes())?;
        Ok(())
    }

    /// Returns the time of the last activity.
    pub fn last_activity(&self) -> Option<Timestamp> {
        self.lines(LAST_ACTIVITY).first()?.trim().parse().ok()
    }

    /// Adds names that are not listed yet, compared as whole names. Returns how
    /// many are listed afterwards.
    pub fn track_files(&self, names: &[String], now: Timestamp) -> Result<usize, Error> {
        let known = self.tracked_files();
        let seen: HashSet<&str> = known.iter().map(String::as_str).collect();
        let mut added = HashSet::new();
        let new: Vec<&str> = names
            .iter()
            .map(String::as_str)
            .filter(|name| !name.is_empty() && !seen.contains(name) && added.insert(*name))
            .collect();
        if !new.is_empty() {
            let mut text = if self.lines(FILE_TRACKER).is_empty() {
                format!(
                    "# Session file changes (tracked since {})\n",
                    values::seconds(now)
                )
            } else {
                String::new()
            };
            for name in &new {
                text.push_str(&quoted(name));
                text.push('\n');
            }
            let path = machine(FILE_TRACKER)?;
            self.workspace
                .append_machine(&path, text.trim_end(), usize::MAX, usize::MAX)?;
        }
        Ok(known.len() + new.len())
    }

    /// Reads the names of the files that the session touched.
    pub fn tracked_files(&self) -> Vec<String> {
        let lines = self.lines(FILE_TRACKER);
        lines
            .iter()
            .filter(|line| !line.starts_with('#') && !line.trim().is_empty())
            .map(|line| unquoted(line))
            .collect()
    }

    /// Removes the list of touched files.
    pub fn forget_tracked_files(&self) -> Result<(), Error> {
        self.workspace.remove_machine(&machine(FILE_TRACKER)?)?;
        Ok(())
    }

    /// Reads the lines of one of the small files; an unreadable file counts as
    /// empty.
    fn lines(&self, name: &str) -> Vec<String> {
        let bytes = machine(name)
            .ok()
            .and_then(|path| self.workspace.read(&path).ok());
        let text = String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned();
        text.lines().map(str::to_owned).collect()
    }
}

pub(super) fn machine(name: &str) -> Result<RelPath, Error> {
    Ok(RelPath::new(FOLDER)?.join(name)?)
}

/// Redacts text from a client or an agent and reduces it to one line.
fn event(text: &str, most: usize) -> AdmittedText<String> {
    admit::redact(text).edited(|text| values::cut(&one_line(text), most))
}

/// Replaces control characters, so that a line stays one line.
fn one_line(text: &str) -> String {
    let clean: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    clean.trim().to_owned()
}

fn or(text: &str, empty: &str) -> String {
    let line = values::cut(&one_line(text), 200);
    if line.is_empty() {
        empty.to_owned()
    } else {
        line
    }
}

fn or_unknown(text: &str) -> String {
    or(text, "unknown")
}

/// Formats a name on a line of its own, as JSON if it could be mistaken for
/// something else.
fn quoted(name: &str) -> String {
    let odd =
        name.starts_with(['#', '"']) || name.trim() != name || name.chars().any(char::is_control);
    if odd {
        serde_json::to_string(name).unwrap_or_else(|_| one_line(name))
    } else {
        name.to_owned()
    }
}

fn unquoted(line: &str) -> String {
    if line.starts_with('"') {
        serde_json::from_str(line).unwrap_or_else(|_| line.to_owned())
    } else {
        line.to_owned()
    }
}
