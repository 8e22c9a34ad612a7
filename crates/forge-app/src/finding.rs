//! What a check found: one type for every command that shows findings. It
//! checks nothing and prints nothing.

use std::fmt;

use crate::workspace::RelPath;

/// The stable name of a check: a group and a word, such as `state.stale`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CheckId(&'static str);

/// Every id, once. They are a public surface: scripts and `--only` use them.
impl CheckId {
    pub const STATE_STALE: CheckId = CheckId("state.stale");
    pub const STATE_BLOCKED: CheckId = CheckId("state.blocked");
    pub const STATE_MISSING: CheckId = CheckId("state.missing");
    pub const STATE_UNREADABLE: CheckId = CheckId("state.unreadable");
    pub const STATE_UNTOUCHED: CheckId = CheckId("state.untouched");
    pub const STATE_LARGE: CheckId = CheckId("state.large");
    pub const STATE_ERROR_LOG: CheckId = CheckId("state.error-log");
    pub const STATE_CONFLICT: CheckId = CheckId("state.conflict");
    pub const DECISIONS_SUPERSEDED: CheckId = CheckId("decisions.superseded");
    pub const DECISIONS_FULL: CheckId = CheckId("decisions.full");
    pub const MANIFEST_UNLISTED: CheckId = CheckId("manifest.unlisted");
    pub const MANIFEST_FOLDERS: CheckId = CheckId("manifest.folders");
    pub const MANIFEST_SUMMARIES: CheckId = CheckId("manifest.summaries");
    pub const MANIFEST_ENTRIES: CheckId = CheckId("manifest.entries");
    pub const NOTES_DUPLICATE: CheckId = CheckId("notes.duplicate");
    pub const LINKS_MISSING: CheckId = CheckId("links.missing");
    pub const LINKS_PLACE: CheckId = CheckId("links.place");
    pub const LINKS_AMBIGUOUS: CheckId = CheckId("links.ambiguous");
    pub const LINKS_CLOSETS: CheckId = CheckId("links.closets");
    pub const GRAPH_DANGLING: CheckId = CheckId("graph.dangling");
    pub const CLOSETS_COVERAGE: CheckId = CheckId("closets.coverage");
    pub const CLOSETS_NO_FILE: CheckId = CheckId("closets.no-file");
    pub const CLOSETS_NO_MARKER: CheckId = CheckId("closets.no-marker");
    pub const CLOSETS_MISSING: CheckId = CheckId("closets.missing");
    pub const CLOSETS_STALE: CheckId = CheckId("closets.stale");
    pub const CLOSETS_UNSTAMPED: CheckId = CheckId("closets.unstamped");
    pub const CLOSETS_ORPHAN: CheckId = CheckId("closets.orphan");
    pub const CLOSETS_TWICE: CheckId = CheckId("closets.twice");
    pub const CLOSETS_TOO_LONG: CheckId = CheckId("closets.too-long");
    pub const CLOSETS_UNREADABLE: CheckId = CheckId("closets.unreadable");
    pub const SETTINGS_INVALID: CheckId = CheckId("settings.invalid");
    pub const CLIENTS_UNCONNECTED: CheckId = CheckId("clients.unconnected");
    pub const CLIENTS_PROGRAM: CheckId = CheckId("clients.program");
    pub const KNOWLEDGE_UNREADABLE: CheckId = CheckId("knowledge.unreadable");
    pub const KNOWLEDGE_FRONT_MATTER: CheckId = CheckId("knowledge.front-matter");
    pub const KNOWLEDGE_README: CheckId = CheckId("knowledge.readme");
    pub const KNOWLEDGE_FORGOTTEN: CheckId = CheckId("knowledge.forgotten");
    pub const FILES_SECRET: CheckId = CheckId("files.secret");
    pub const FILES_LEFTOVER: CheckId = CheckId("files.leftover");
    pub const INDEX_DAMAGED: CheckId = CheckId("index.damaged");
    pub const INDEX_SEARCH: CheckId = CheckId("index.search");
    pub const AUTOLOAD_SIZE: CheckId = CheckId("autoload.size");
    pub const UNDO_JOURNAL: CheckId = CheckId("undo.journal");
    pub const HOOKS_FAILED: CheckId = CheckId("hooks.failed");
    pub const GIT_TRACKED: CheckId = CheckId("git.tracked");
    pub const AGENTS_POINTER: CheckId = CheckId("agents.pointer");
    pub const AGENTS_INDEX: CheckId = CheckId("agents.index");
    pub const AGENTS_UNREADABLE: CheckId = CheckId("agents.unreadable");
    pub const AGENTS_CLAUDE: CheckId = CheckId("agents.claude");

    pub fn as_str(self) -> &'static str {
        self.0
    }

    /// Returns the part before the dot.
    pub fn group(self) -> &'static str {
        self.0.split_once('.').map_or(self.0, |(group, _)| group)
    }
}

impl fmt::Display for CheckId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// How much a finding matters, the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; nothing has to be done.
    Info,
    /// Works, and could be better.
    Warning,
    /// Missing, at risk, or broken.
    Error,
}

impl Severity {
    pub fn name(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// Where a finding is: a file, relative to the root where it is inside, and a
/// line counted from one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FindingPlace {
    pub path: String,
    pub line: Option<usize>,
}

impl fmt::Display for FindingPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}", self.path),
            None => f.write_str(&self.path),
        }
    }
}

/// A repair of [`crate::check::plan_fix`] that ends a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RepairId {
    /// Marks a decision that a later one replaced.
    MarkDecision,
    /// Drops an entry or a row of a file that is gone.
    DropEntry,
    /// Fills in a summary that is missing.
    FillSummary,
    /// Gathers decisions and moves old ones to their archive.
    ShortenDecisions,
}

/// Something to know or to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub check: CheckId,
    pub severity: Severity,
    pub place: Option<FindingPlace>,
    /// The entry, link or note that it is about.
    pub subject: Option<String>,
    /// A sentence without a full stop.
    pub message: String,
    /// What to do about it.
    pub advice: Option<String>,
    /// What `check --fix` does about it.
    pub repair: Option<RepairId>,
}

impl Finding {
    pub fn new(check: CheckId, severity: Severity, message: impl Into<String>) -> Finding {
        Finding {
            check,
            severity,
            place: None,
            subject: None,
            message: message.into(),
            advice: None,
            repair: None,
        }
    }

    /// Adds its place.
    pub fn at(mut self, path: impl Into<String>, line: Option<usize>) -> Finding {
        let path = path.into();
        self.place = Some(FindingPlace { path, line });
        self
    }

    /// Adds a file of the workspace as its place.
    pub fn in_file(self, path: &RelPath) -> Finding {
        self.at(path.as_str(), None)
    }

    /// Adds what it is about.
    pub fn about(mut self, subject: impl Into<String>) -> Finding {
        self.subject = Some(subject.into());
        self
    }

    /// Adds what to do.
    pub fn advice(mut self, advice: impl Into<String>) -> Finding {
        self.advice = Some(advice.into());
        self
    }

    /// Adds what repairs it.
    pub fn repaired_by(mut self, repair: RepairId) -> Finding {
        self.repair = Some(repair);
        self
    }

    /// Returns the path of its place.
    pub fn path(&self) -> Option<&str> {
        self.place.as_ref().map(|place| place.path.as_str())
    }

    /// Returns the line of its place.
    pub fn line(&self) -> Option<usize> {
        self.place.as_ref().and_then(|place| place.line)
    }
}

/// How a check came out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckOutcome {
    /// Nothing is wrong, with what was looked at where that is worth a line.
    Passed(Option<String>),
    /// There was no way to look, so nothing is claimed, for this reason.
    Skipped(String),
    /// What is wrong, in the order in which to show it.
    Found(Vec<Finding>),
}

impl CheckOutcome {
    /// Returns what a check found, or that it passed when that is nothing.
    pub fn of(findings: Vec<Finding>) -> CheckOutcome {
        if findings.is_empty() {
            CheckOutcome::Passed(None)
        } else {
            CheckOutcome::Found(findings)
        }
    }

    pub fn findings(&self) -> &[Finding] {
        match self {
            CheckOutcome::Found(findings) => findings,
            CheckOutcome::Passed(_) | CheckOutcome::Skipped(_) => &[],
        }
    }
}
