//! Defines what a check found: one type for every command that shows findings.
//! It checks nothing and prints nothing.

use std::fmt;

use crate::workspace::RelPath;

/// The stable name of a check: a group and a word, such as `state.stale`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CheckId(&'static str);

/// Every id, once. They are a public surface: scripts and `--only` use them.
impl CheckId {
    /// The state is missing, undated or stale.
    pub const STATE_STALE: CheckId = CheckId("state.stale");
    /// An entry has been blocked for too long.
    pub const STATE_BLOCKED: CheckId = CheckId("state.blocked");
    /// The workspace has no state files.
    pub const STATE_MISSING: CheckId = CheckId("state.missing");
    /// A state file cannot be read.
    pub const STATE_UNREADABLE: CheckId = CheckId("state.unreadable");
    /// The state file was not written for a day.
    pub const STATE_UNTOUCHED: CheckId = CheckId("state.untouched");
    /// The state files are too large together.
    pub const STATE_LARGE: CheckId = CheckId("state.large");
    /// The error log of the MCP server is too large.
    pub const STATE_ERROR_LOG: CheckId = CheckId("state.error-log");
    /// State files conflict: an unfinished merge, two places, or rivals for a
    /// name.
    pub const STATE_CONFLICT: CheckId = CheckId("state.conflict");
    /// A later decision replaces an earlier one that is not marked.
    pub const DECISIONS_SUPERSEDED: CheckId = CheckId("decisions.superseded");
    /// The file of decisions is nearly full.
    pub const DECISIONS_FULL: CheckId = CheckId("decisions.full");
    /// A document is in no list of its hub, or a list names a missing file.
    pub const MANIFEST_UNLISTED: CheckId = CheckId("manifest.unlisted");
    /// A folder with Markdown is not in the Hub Map.
    pub const MANIFEST_FOLDERS: CheckId = CheckId("manifest.folders");
    /// The summaries of the manifest have an older format.
    pub const MANIFEST_SUMMARIES: CheckId = CheckId("manifest.summaries");
    /// An entry of the manifest names a missing file or has no summary.
    pub const MANIFEST_ENTRIES: CheckId = CheckId("manifest.entries");
    /// Notes have nearly the same name or the same links.
    pub const NOTES_DUPLICATE: CheckId = CheckId("notes.duplicate");
    /// A link leads to a missing file.
    pub const LINKS_MISSING: CheckId = CheckId("links.missing");
    /// A link leads to a missing heading or block.
    pub const LINKS_PLACE: CheckId = CheckId("links.place");
    /// A link matches several files.
    pub const LINKS_AMBIGUOUS: CheckId = CheckId("links.ambiguous");
    /// Closets name a missing file or have no version marker.
    pub const LINKS_CLOSETS: CheckId = CheckId("links.closets");
    /// Front matter names a missing document.
    pub const GRAPH_DANGLING: CheckId = CheckId("graph.dangling");
    /// A hub has no file of closets.
    pub const CLOSETS_COVERAGE: CheckId = CheckId("closets.coverage");
    /// A hub has no closets, in the view of `closets check`.
    pub const CLOSETS_NO_FILE: CheckId = CheckId("closets.no-file");
    /// A file of closets has no version marker.
    pub const CLOSETS_NO_MARKER: CheckId = CheckId("closets.no-marker");
    /// A document has no closet entry.
    pub const CLOSETS_MISSING: CheckId = CheckId("closets.missing");
    /// A closet entry is older than its document.
    pub const CLOSETS_STALE: CheckId = CheckId("closets.stale");
    /// A closet entry has no hash of the text that it describes.
    pub const CLOSETS_UNSTAMPED: CheckId = CheckId("closets.unstamped");
    /// A closet entry describes a missing file.
    pub const CLOSETS_ORPHAN: CheckId = CheckId("closets.orphan");
    /// Two closet entries describe one document.
    pub const CLOSETS_TWICE: CheckId = CheckId("closets.twice");
    /// A closet entry is too long.
    pub const CLOSETS_TOO_LONG: CheckId = CheckId("closets.too-long");
    /// A document of a hub or its closets cannot be read.
    pub const CLOSETS_UNREADABLE: CheckId = CheckId("closets.unreadable");
    /// A setting is invalid.
    pub const SETTINGS_INVALID: CheckId = CheckId("settings.invalid");
    /// The project has no MCP server or hooks in its own settings.
    pub const CLIENTS_UNCONNECTED: CheckId = CheckId("clients.unconnected");
    /// A client is configured to call a missing program.
    pub const CLIENTS_PROGRAM: CheckId = CheckId("clients.program");
    /// A document cannot be read as text.
    pub const KNOWLEDGE_UNREADABLE: CheckId = CheckId("knowledge.unreadable");
    /// Front matter is malformed.
    pub const KNOWLEDGE_FRONT_MATTER: CheckId = CheckId("knowledge.front-matter");
    /// The list in `knowledge/README.md` is missing or outdated.
    pub const KNOWLEDGE_README: CheckId = CheckId("knowledge.readme");
    /// The list of forgotten documents names a missing one.
    pub const KNOWLEDGE_FORGOTTEN: CheckId = CheckId("knowledge.forgotten");
    /// A file appears to contain a secret.
    pub const FILES_SECRET: CheckId = CheckId("files.secret");
    /// A temporary file was left behind.
    pub const FILES_LEFTOVER: CheckId = CheckId("files.leftover");
    /// The index is missing, damaged or outdated.
    pub const INDEX_DAMAGED: CheckId = CheckId("index.damaged");
    /// A query made from an indexed passage does not find it.
    pub const INDEX_SEARCH: CheckId = CheckId("index.search");
    /// A file that agents load is above its size limit.
    pub const AUTOLOAD_SIZE: CheckId = CheckId("autoload.size");
    /// A change was interrupted or cannot be undone.
    pub const UNDO_JOURNAL: CheckId = CheckId("undo.journal");
    /// A hook failed.
    pub const HOOKS_FAILED: CheckId = CheckId("hooks.failed");
    /// Git tracks derived or private files, or lacks the merge driver.
    pub const GIT_TRACKED: CheckId = CheckId("git.tracked");
    /// Something that hooks brought was ignored or wrong three times.
    pub const PUSH_SILENCED: CheckId = CheckId("push.silenced");
    /// An `applies-to:` cannot be read.
    pub const PUSH_APPLIES_TO: CheckId = CheckId("push.applies-to");
    /// A pattern of an `applies-to:` can fit nothing.
    pub const PUSH_NO_MATCH: CheckId = CheckId("push.no-match");
    /// The index of an agent's memory points to a missing file.
    pub const AGENTS_POINTER: CheckId = CheckId("agents.pointer");
    /// The index of an agent's memory differs from its topics.
    pub const AGENTS_INDEX: CheckId = CheckId("agents.index");
    /// A topic of an agent cannot be read.
    pub const AGENTS_UNREADABLE: CheckId = CheckId("agents.unreadable");
    /// Claude Code's own memory index is too long or outdated.
    pub const AGENTS_CLAUDE: CheckId = CheckId("agents.claude");

    /// Returns the id as text, such as `state.stale`.
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

/// Severity of a finding, in ascending order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CheckSeverity {
    /// Worth knowing; nothing has to be done.
    Info,
    /// Works, and could be better.
    Warning,
    /// Missing, at risk, or broken.
    Error,
}

impl CheckSeverity {
    /// Returns the name that reports and scripts use.
    pub fn name(self) -> &'static str {
        match self {
            CheckSeverity::Info => "info",
            CheckSeverity::Warning => "warning",
            CheckSeverity::Error => "error",
        }
    }
}

/// Location of a finding: a file, relative to the root if it is inside, and a
/// line counted from one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FindingPlace {
    /// The file.
    pub path: String,
    /// The line, where one is at fault.
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

/// Id of a repair of [`crate::check::plan_check_fix`], which a finding names if one
/// ends it.
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

/// A finding of a check: its message, place and advice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckFinding {
    /// The check that found it.
    pub check: CheckId,
    /// How serious it is.
    pub severity: CheckSeverity,
    /// Where it is; none for the workspace as a whole.
    pub place: Option<FindingPlace>,
    /// The entry, link or note that it is about.
    pub subject: Option<String>,
    /// A sentence without a full stop.
    pub message: String,
    /// Advice for a person.
    pub advice: Option<String>,
    /// Change that `check --fix` makes.
    pub repair: Option<RepairId>,
}

impl CheckFinding {
    /// Returns a finding without a place, a subject or advice.
    pub fn new(
        check: CheckId,
        severity: CheckSeverity,
        message: impl Into<String>,
    ) -> CheckFinding {
        CheckFinding {
            check,
            severity,
            place: None,
            subject: None,
            message: message.into(),
            advice: None,
            repair: None,
        }
    }

    /// Sets the place.
    pub fn with_place(mut self, path: impl Into<String>, line: Option<usize>) -> CheckFinding {
        let path = path.into();
        self.place = Some(FindingPlace { path, line });
        self
    }

    /// Sets a file of the workspace as the place.
    pub fn in_file(self, path: &RelPath) -> CheckFinding {
        self.with_place(path.as_str(), None)
    }

    /// Sets the subject: the entry, link or note.
    pub fn with_subject(mut self, subject: impl Into<String>) -> CheckFinding {
        self.subject = Some(subject.into());
        self
    }

    /// Sets the advice.
    pub fn with_advice(mut self, advice: impl Into<String>) -> CheckFinding {
        self.advice = Some(advice.into());
        self
    }

    /// Sets the repair that ends the finding.
    pub fn with_repair(mut self, repair: RepairId) -> CheckFinding {
        self.repair = Some(repair);
        self
    }

    /// Returns the path of the place.
    pub fn path(&self) -> Option<&str> {
        self.place.as_ref().map(|place| place.path.as_str())
    }

    /// Returns the line of the place.
    pub fn line(&self) -> Option<usize> {
        self.place.as_ref().and_then(|place| place.line)
    }
}

/// Outcome of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckOutcome {
    /// Nothing is wrong; the text describes what was checked where that is
    /// worth a line.
    Passed(Option<String>),
    /// The check could not run, for this reason, and claims nothing.
    Skipped(String),
    /// The findings, in the order in which to show them.
    Found(Vec<CheckFinding>),
}

impl CheckOutcome {
    /// Returns `Found` with these findings, or `Passed` without any.
    pub fn from_findings(findings: Vec<CheckFinding>) -> CheckOutcome {
        if findings.is_empty() {
            CheckOutcome::Passed(None)
        } else {
            CheckOutcome::Found(findings)
        }
    }

    /// Returns the findings, if any.
    pub fn findings(&self) -> &[CheckFinding] {
        match self {
            CheckOutcome::Found(findings) => findings,
            CheckOutcome::Passed(_) | CheckOutcome::Skipped(_) => &[],
        }
    }
}
