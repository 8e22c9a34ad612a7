//! Runs operations that rewrite many files: one at a time, with a log, and not
//! twice a day by accident. A use case calls [`run_under_lock`] with its work; the door
//! decides whether to confirm a repeated run that [`cooldown_question`] reports.
//!
//! The names of locks and logs are a public surface, shared with other tools,
//! and never change.

use std::fmt::{Display, Write as _};

use jiff::{SignedDuration, Timestamp};

use crate::workspace::{RelPath, Workspace, WorkspaceError};

/// Age after which a lock counts as abandoned.
const MAX_LOCK_AGE: SignedDuration = SignedDuration::from_mins(30);
/// Time after a successful run during which another one needs a confirmation.
const RUN_COOLDOWN: SignedDuration = SignedDuration::from_hours(24);

/// Kind of a bulk run; its lock and its log are named after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BulkSkill {
    /// Condensing decisions and drawing the graph.
    Consolidate,
    /// Building closets.
    Reindex,
    /// Renewing summaries.
    Resummarize,
    /// Bringing a workspace to the current version.
    Upgrade,
}

impl BulkSkill {
    /// Returns the name that locks, logs and commands use.
    pub fn name(self) -> &'static str {
        match self {
            BulkSkill::Consolidate => "consolidate",
            BulkSkill::Reindex => "reindex",
            BulkSkill::Resummarize => "resummarize",
            BulkSkill::Upgrade => "upgrade",
        }
    }

    /// Returns the name that messages use.
    fn title(self) -> &'static str {
        match self {
            BulkSkill::Consolidate => "Consolidate",
            BulkSkill::Reindex => "Reindex",
            BulkSkill::Resummarize => "Resummarize",
            BulkSkill::Upgrade => "Upgrade",
        }
    }

    /// Returns the path of the lock of this kind of run.
    pub fn lock_path(self) -> RelPath {
        self.file_with_suffix(".lock")
    }

    /// Returns the path of the log of this kind of run.
    pub fn log_path(self) -> RelPath {
        self.file_with_suffix("-runs.log")
    }

    /// Returns the path of a file of this kind of run in `memory/`.
    fn file_with_suffix(self, end: &str) -> RelPath {
        let path = format!("memory/.{}{end}", self.name());
        RelPath::new(&path).expect("a constant name in a folder")
    }
}

/// Owner of a run, shown to others that find its lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunOwner {
    /// Id of the process.
    pub pid: u32,
    /// Name of the program or the agent that runs.
    pub agent: String,
}

/// Final status of a run, as its log records it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunStatus {
    /// All of it was done.
    Ok,
    /// A part of it could not be done.
    Partial,
}

/// Status and counts of a run, which become a line of its log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunReport {
    status: RunStatus,
    counts: Vec<(&'static str, String)>,
}

impl RunReport {
    /// Returns a report without counts.
    pub fn new(status: RunStatus) -> RunReport {
        RunReport {
            status,
            counts: Vec::new(),
        }
    }

    /// Appends a count, after those that are there.
    pub fn with_count(mut self, name: &'static str, value: impl Display) -> RunReport {
        self.counts.push((name, value.to_string()));
        self
    }
}

/// The value of a run, and the abandoned lock that it replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BulkOutcome<T> {
    /// What the run returned.
    pub value: T,
    /// The abandoned lock of an earlier run.
    pub took_over: Option<String>,
}

/// Runs `body` under the lock of its kind and writes its report to the log.
///
/// After an error the lock stays for half an hour on purpose, so that a person
/// sees the unfinished work before the next run. Runs of different kinds may be
/// nested.
pub fn run_under_lock<T, E: From<WorkspaceError>>(
    workspace: &Workspace,
    skill: BulkSkill,
    now: Timestamp,
    who: &RunOwner,
    body: impl FnOnce() -> Result<(T, RunReport), E>,
) -> Result<BulkOutcome<T>, E> {
    let run = BulkRun::begin(workspace, skill, now, who)?;
    let took_over = run.took_over.clone();
    // An error returns here on purpose, without a release of the lock: `BulkRun`
    // has no `Drop`.
    let (value, report) = body()?;
    run.finish(&report)?;
    Ok(BulkOutcome { value, took_over })
}

/// A run that holds its lock. If it is dropped without [`BulkRun::finish`], as
/// after an error, the lock stays.
#[derive(Debug)]
#[must_use = "the lock stays until `finish` is called"]
struct BulkRun<'a> {
    workspace: &'a Workspace,
    skill: BulkSkill,
    now: Timestamp,
    line: String,
    /// The abandoned lock of an earlier run.
    took_over: Option<String>,
}

impl<'a> BulkRun<'a> {
    /// Takes the lock. Fails if another run has it.
    fn begin(
        workspace: &'a Workspace,
        skill: BulkSkill,
        now: Timestamp,
        who: &RunOwner,
    ) -> Result<BulkRun<'a>, WorkspaceError> {
        let line = format!(
            "{}  pid={}  agent={}\n",
            format_utc(now),
            who.pid,
            to_log_word(&who.agent)
        );
        let mut took_over = None;
        workspace.claim_machine(&skill.lock_path(), line.as_bytes(), |there, modified| {
            let there = String::from_utf8_lossy(there).trim().to_owned();
            let since =
                parse_leading_time(&there).or_else(|| Timestamp::from_second(modified).ok());
            // `abs`, because a clock that was set back produces a lock from the
            // future, which must not block for ever.
            let young = since.is_none_or(|since| now.duration_since(since).abs() < MAX_LOCK_AGE);
            if young {
                let (title, lock) = (skill.title(), skill.lock_path());
                return Err(WorkspaceError::Refused(format!(
                    "{title} already running (lock at {lock}). Wait until it is done; \
                     a lock of more than 30 minutes is taken over, and one that was left \
                     behind by an error may be deleted"
                )));
            }
            took_over = Some(there);
            Ok(())
        })?;
        Ok(BulkRun {
            workspace,
            skill,
            now,
            line,
            took_over,
        })
    }

    /// Writes the log and releases the lock.
    fn finish(self, report: &RunReport) -> Result<(), WorkspaceError> {
        let mut line = format_utc(self.now);
        line.push(' ');
        for (name, value) in &report.counts {
            let _ = write!(line, " {name}={}", to_log_word(value));
        }
        let status = match report.status {
            RunStatus::Ok => "ok",
            RunStatus::Partial => "partial",
        };
        let _ = write!(line, "  status={status}");
        // The log is written before the lock is released, so that the next run
        // finds this one in it.
        let (log, lock) = (self.skill.log_path(), self.skill.lock_path());
        self.workspace.append_machine(&log, &line, usize::MAX, 0)?;
        // Another run may have replaced this lock as abandoned; it is removed
        // only while it still has our line.
        match self.workspace.read(&lock) {
            Ok(there) if there == self.line.as_bytes() => self.workspace.remove_machine(&lock),
            _ => Ok(()),
        }
    }
}

/// An entry of a run log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunLogEntry {
    /// Time of the end of the run.
    pub when: Timestamp,
    counts: Vec<(String, String)>,
    /// Whether the run succeeded.
    pub ok: bool,
}

impl RunLogEntry {
    /// Parses a line of our log or of an older tool's. Returns `None` for any
    /// other line.
    pub fn parse(line: &str) -> Option<RunLogEntry> {
        let when = parse_leading_time(line)?;
        let mut counts: Vec<(String, String)> = line
            .split_whitespace()
            .filter_map(|field| field.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        // Every run has a status in its line, so a line without one is not a
        // run.
        let status = counts.iter().position(|(name, _)| name == "status")?;
        let (_, status) = counts.remove(status);
        Some(RunLogEntry {
            when,
            counts,
            ok: status == "ok",
        })
    }

    /// Returns a count by its name. Logs of consolidation have two sets of
    /// names.
    pub fn count(&self, name: &str) -> Option<&str> {
        let other = match name {
            "contradictions" => "decisions-contradictions",
            "compressed" => "decisions-compressed",
            _ => name,
        };
        let named = |it: &&(String, String)| it.0 == name || it.0 == other;
        self.counts.iter().find(named).map(|(_, n)| n.as_str())
    }
}

/// Returns the last successful run.
pub fn last_successful_run(workspace: &Workspace, skill: BulkSkill) -> Option<RunLogEntry> {
    let text = workspace.read_text(&skill.log_path()).ok()?;
    text.lines()
        .rev()
        .filter_map(RunLogEntry::parse)
        .find(|run| run.ok)
}

/// Returns the question to confirm a run that follows shortly after the last
/// one.
pub fn cooldown_question(
    workspace: &Workspace,
    skill: BulkSkill,
    now: Timestamp,
) -> Option<String> {
    let last = last_successful_run(workspace, skill)?.when;
    let ago = now.duration_since(last);
    (!ago.is_negative() && ago < RUN_COOLDOWN).then(|| {
        let (name, when) = (skill.title(), format_utc(last));
        format!("{name} ran less than a day ago ({when}). Run it again?")
    })
}

/// Formats a time for logs, in UTC and without fractions.
fn format_utc(now: Timestamp) -> String {
    now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Parses the time at the beginning of a line, with or without a zone.
fn parse_leading_time(line: &str) -> Option<Timestamp> {
    let field = line.split("  ").next()?.trim();
    let field = match field.parse::<Timestamp>() {
        Ok(when) => return Some(when),
        Err(_) => field,
    };
    // A time without a zone, as other tools write it, counts as UTC.
    let local: jiff::civil::DateTime = field.parse().ok()?;
    Some(local.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp())
}

/// Replaces whitespace in a value, since spaces separate the fields of a line.
fn to_log_word(text: &str) -> String {
    let shown: String = text
        .chars()
        .map(|c| {
            if c.is_whitespace() || c.is_control() {
                '-'
            } else {
                c
            }
        })
        .take(80)
        .collect();
    if shown.is_empty() {
        "-".to_owned()
    } else {
        shown
    }
}

#[cfg(test)]
mod tests {
    use testkit::TestWorkspace;

    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn me() -> RunOwner {
        RunOwner {
            pid: 42,
            agent: "a helper".to_owned(),
        }
    }

    #[test]
    fn a_run_locks_logs_and_lets_go() {
        let ws = TestWorkspace::empty();
        let workspace = Workspace::open(ws.root()).unwrap();
        let now = at("2026-03-01T09:00:00Z");
        let run = BulkRun::begin(&workspace, BulkSkill::Reindex, now, &me()).unwrap();
        assert_eq!(
            ws.read("memory/.reindex.lock"),
            "2026-03-01T09:00:00Z  pid=42  agent=a-helper\n"
        );
        let later = at("2026-03-01T09:29:59Z");
        let refused = BulkRun::begin(&workspace, BulkSkill::Reindex, later, &me()).unwrap_err();
        assert!(
            refused
                .to_string()
                .starts_with("Reindex already running (lock at memory/.reindex.lock). "),
            "{refused}"
        );
        // Another kind of run is another lock.
        drop(BulkRun::begin(&workspace, BulkSkill::Upgrade, now, &me()).unwrap());
        run.finish(
            &RunReport::new(RunStatus::Ok)
                .with_count("hubs", 2)
                .with_count("files", 7),
        )
        .unwrap();
        assert!(!ws.exists("memory/.reindex.lock"));
        assert!(ws.exists("memory/.upgrade.lock"), "left by an error");
        assert_eq!(
            ws.read("memory/.reindex-runs.log"),
            "2026-03-01T09:00:00Z  hubs=2 files=7  status=ok\n"
        );
        assert!(!ws.exists(".mind"), "bulk runs need no state of hooks");
    }

    #[test]
    fn an_old_lock_is_taken_over_and_only_its_owner_removes_it() {
        let ws = TestWorkspace::empty();
        let workspace = Workspace::open(ws.root()).unwrap();
        let first = BulkRun::begin(
            &workspace,
            BulkSkill::Upgrade,
            at("2026-03-01T09:00:00Z"),
            &me(),
        )
        .unwrap();
        let now = at("2026-03-01T09:30:00Z");
        let second = BulkRun::begin(&workspace, BulkSkill::Upgrade, now, &me()).unwrap();
        assert!(second.took_over.as_ref().unwrap().contains("09:00:00Z"));
        first.finish(&RunReport::new(RunStatus::Partial)).unwrap();
        assert!(ws.exists("memory/.upgrade.lock"));
        second.finish(&RunReport::new(RunStatus::Ok)).unwrap();
        assert!(!ws.exists("memory/.upgrade.lock"));
    }

    #[test]
    fn a_lock_without_a_time_is_judged_by_its_file() {
        let ws = TestWorkspace::files("//- memory/.upgrade.lock\nbusy\n");
        let workspace = Workspace::open(ws.root()).unwrap();
        let meta = std::fs::metadata(ws.path("memory/.upgrade.lock")).unwrap();
        let written = Timestamp::try_from(meta.modified().unwrap()).unwrap();
        let soon = written + SignedDuration::from_mins(5);
        assert!(BulkRun::begin(&workspace, BulkSkill::Upgrade, soon, &me()).is_err());
        let late = written + SignedDuration::from_mins(31);
        drop(BulkRun::begin(&workspace, BulkSkill::Upgrade, late, &me()).unwrap());
    }

    #[test]
    fn one_of_many_gets_the_lock() {
        let ws = TestWorkspace::empty();
        let workspace = Workspace::open(ws.root()).unwrap();
        let now = at("2026-03-01T09:00:00Z");
        let won = std::thread::scope(|scope| {
            let tries: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| {
                        BulkRun::begin(&workspace, BulkSkill::Reindex, now, &me()).is_ok()
                    })
                })
                .collect();
            tries
                .into_iter()
                .map(|t| t.join().unwrap())
                .filter(|won| *won)
                .count()
        });
        assert_eq!(won, 1);
    }

    #[test]
    fn the_next_run_of_the_day_is_asked_about() {
        let ws = TestWorkspace::files(
            "//- memory/.consolidate-runs.log\n2026-02-27T08:00:00Z  dedup=1 contradictions=0 orphans=0  status=ok\ngarbage\n2026-02-28T10:00:00Z  dedup=1  status=partial\n",
        );
        let workspace = Workspace::open(ws.root()).unwrap();
        let asks = |now| cooldown_question(&workspace, BulkSkill::Consolidate, at(now)).is_some();
        assert!(asks("2026-02-28T07:59:59Z"));
        assert!(
            !asks("2026-02-28T10:30:00Z"),
            "a partial run does not count"
        );
        assert!(!asks("2026-02-26T00:00:00Z"), "a log from the future");
    }

    #[test]
    fn w8_both_sets_of_counts_are_understood() {
        let one = RunLogEntry::parse(
            "2026-03-01T09:00:00Z  dedup=1 contradictions=2 orphans=3  status=ok",
        );
        let other = RunLogEntry::parse(
            "2026-03-01T09:00:00Z  dedup=1 decisions-contradictions=2 orphans=3 decisions-compressed=4  status=ok",
        );
        let (one, other) = (one.unwrap(), other.unwrap());
        assert_eq!(one.count("contradictions"), Some("2"));
        assert_eq!(other.count("contradictions"), Some("2"));
        assert_eq!(other.count("compressed"), Some("4"));
        assert_eq!(one.count("compressed"), None);
        assert!(other.ok);
        assert_eq!(RunLogEntry::parse("a title"), None);
    }
}
