//! The small files that hooks keep: who started and stopped, what was done,
//! which files were touched. They are logs of events for the next briefing,
//! cheap to add to, kept short, and never the only place of a fact.

use std::collections::HashSet;

use jiff::Timestamp;

use super::{Error, FOLDER, File, Mind, values};
use crate::admit::{self, AdmittedText};
use crate::document::inert_line;
use crate::quote;
use crate::workspace::{RelPath, Workspace};

/// A log of events.
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
    pub const ALL: [Log; 3] = [Log::Agents, Log::Tasks, Log::Sessions];

    pub fn name(self) -> &'static str {
        match self {
            Log::Agents => ".agent-activity",
            Log::Tasks => ".task-completions",
            Log::Sessions => ".session-tracking",
        }
    }
}

/// Where hooks note what they could not do, for `doctor` to show.
pub const HOOK_FAILURES: &str = ".mind/.hook-failures";

/// Failures that are kept; their number goes on being counted.
const MOST_FAILURES: usize = 100;

/// What hooks could not do so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failures {
    /// All of them, of which the newest are kept.
    pub count: usize,
    pub latest: String,
}

/// Reads what hooks noted; none where nothing went wrong.
pub fn failures(workspace: &Workspace) -> Option<Failures> {
    let path = RelPath::new(HOOK_FAILURES).ok()?;
    let bytes = workspace.read(&path).ok()?;
    failures_in(&String::from_utf8_lossy(&bytes))
}

/// Each line says the how manieth it is, because old ones are dropped.
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

/// A log is cut down to its newest lines once it has twice as many.
const ROTATE_AT: usize = 2;
/// What an agent said at its end, in a line.
const MOST_SAID: usize = 160;
/// No event needs more than this.
const MOST_CHARACTERS: usize = 500;

impl Mind<'_> {
    pub fn agent_started(&self, kind: &str, id: &str, now: Timestamp) -> Result<(), Error> {
        self.agent("STARTED", kind, id, "", now)
    }

    pub fn agent_stopped(&self, kind: &str, id: &str, now: Timestamp) -> Result<(), Error> {
        self.agent("STOPPED", kind, id, "", now)
    }

    /// The same with what the agent said at its end, as far as a line holds it.
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

    /// Returns the line that asks for the task list to be updated after an agent
    /// has stopped. Its kind and the path come from the repository.
    pub fn agent_stop_line(&self, kind: &str, id: &str) -> String {
        let (kind, id) = (inert_line(kind), inert_line(id));
        format!(
            "[Memory] Agent completed: {} ({}). Check task status and update {} if work was completed.",
            quote::value(&kind),
            quote::value(&id),
            quote::outside(self.file(File::Progress).as_str()),
        )
    }

    /// What each agent did last, the newest last, and how many agents are left
    /// out.
    pub fn last_of_each_agent(&self, most: usize) -> (Vec<String>, usize) {
        let events = self.events(Log::Agents);
        let mut seen = HashSet::new();
        let mut last: Vec<String> = Vec::new();
        let mut more = 0;
        for line in events.iter().rev() {
            // `[time] STOPPED: kind (id) — what it said`
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

    /// Counts something that a hook could not do.
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

    /// Adds a line to a log. A log that has grown long loses its oldest lines.
    pub fn note(&self, log: Log, line: &str) -> Result<(), Error> {
        let keep = self.workspace.config().mind.tracking_max_lines;
        let line = event(line, MOST_CHARACTERS);
        let path = machine(log.name())?;
        self.workspace
            .append_machine(&path, &line, keep * ROTATE_AT, keep)?;
        Ok(())
    }

    /// The lines of a log, the newest last.
    pub fn events(&self, log: Log) -> Vec<String> {
        let lines = self.lines(log.name());
        lines
            .into_iter()
            .filter(|line| !line.trim().is_empty())
            .collect()
    }

    /// Notes that something happened just now.
    pub fn touch(&self, now: Timestamp) -> Result<(), Error> {
        let text = format!("{}\n", values::seconds(now));
        self.workspace
            .put_machine(&machine(LAST_ACTIVITY)?, text.as_bytes())?;
        Ok(())
    }

    pub fn last_activity(&self) -> Option<Timestamp> {
        self.lines(LAST_ACTIVITY).first()?.trim().parse().ok()
    }

    /// Adds the names that are not there yet, whole names compared with whole
    /// names. Gives how many there are now.
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

    pub fn tracked_files(&self) -> Vec<String> {
        let lines = self.lines(FILE_TRACKER);
        lines
            .iter()
            .filter(|line| !line.starts_with('#') && !line.trim().is_empty())
            .map(|line| unquoted(line))
            .collect()
    }

    pub fn forget_tracked_files(&self) -> Result<(), Error> {
        self.workspace.remove_machine(&machine(FILE_TRACKER)?)?;
        Ok(())
    }

    /// The lines of one of the small files; none where it cannot be read.
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

/// Returns what a client or an agent reports, redacted, as one line.
fn event(text: &str, most: usize) -> AdmittedText<String> {
    admit::redact(text).edited(|text| values::cut(&one_line(text), most))
}

/// A line that stays one line, whatever it holds.
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

/// A name on a line of its own; one that could be mistaken is quoted as JSON.
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
