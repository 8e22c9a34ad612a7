//! Lists what happened when: sessions, decisions with their successors, and
//! checkpoints, the latest first. A file that cannot be read is reported as a
//! problem, and the other entries are still listed.

use jiff::civil::Date;

use crate::mind::{Decision, MindFile, MindStore, SessionEntry};
use crate::workspace::{RelPath, Workspace};

/// Latest entries of each kind that are listed.
const MAX_ENTRIES_PER_KIND: usize = 400;

/// The dated entries of a workspace.
#[derive(Debug)]
pub struct WorkspaceTimeline {
    /// The file of the sessions.
    pub log: RelPath,
    /// Sessions, the latest first.
    pub sessions: Vec<SessionEntry>,
    /// The file of the decisions.
    pub decided: RelPath,
    /// Decisions, the latest first.
    pub decisions: Vec<DatedDecision>,
    /// Checkpoints, the latest first.
    pub checkpoints: Vec<RelPath>,
    /// Number of entries that are not listed.
    pub left_out: usize,
    /// Why some entries cannot be read.
    pub problems: Vec<String>,
}

/// A decision with its position in the file and its successor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatedDecision {
    /// Its number in the order of the file.
    pub number: usize,
    /// The decision.
    pub decision: Decision,
    /// The number of the one that replaced it.
    pub superseded_by: Option<usize>,
}

impl WorkspaceTimeline {
    /// Reads the timeline of a workspace, redacted for display.
    pub fn read(workspace: &Workspace) -> WorkspaceTimeline {
        let mind = MindStore::open(workspace).redact_for_display();
        let mut problems = Vec::new();
        let mut sessions = mind.read_sessions().unwrap_or_else(|error| {
            problems.push(error.to_string());
            Vec::new()
        });
        let lineage = mind.read_decision_lineage().unwrap_or_else(|error| {
            problems.push(error.to_string());
            Vec::new()
        });
        let mut decisions: Vec<DatedDecision> = lineage
            .into_iter()
            .enumerate()
            .map(|(number, (decision, superseded_by))| DatedDecision {
                number,
                decision,
                superseded_by,
            })
            .collect();
        let mut checkpoints = mind.list_checkpoint_copies();
        let beyond = |count: usize| count.saturating_sub(MAX_ENTRIES_PER_KIND);
        let left_out = beyond(sessions.len()) + beyond(decisions.len()) + beyond(checkpoints.len());
        keep_latest(&mut sessions, |it| it.date);
        keep_latest(&mut decisions, |it| it.decision.date);
        checkpoints.reverse();
        checkpoints.truncate(MAX_ENTRIES_PER_KIND);
        WorkspaceTimeline {
            log: mind.file_path(MindFile::SessionLog),
            sessions,
            decided: mind.file_path(MindFile::Decisions),
            decisions,
            checkpoints,
            left_out,
            problems,
        }
    }
}

/// Sorts entries by date, latest first, and drops the oldest beyond the limit.
/// Entries of one day keep the order of their file, later ones first; those
/// without a date come last.
fn keep_latest<T>(entries: &mut Vec<T>, date: impl Fn(&T) -> Option<Date>) {
    // Reversed before the stable sort, so that of one day the entry that is
    // last in the file comes first.
    entries.reverse();
    entries.sort_by_key(|it| std::cmp::Reverse(date(it)));
    entries.truncate(MAX_ENTRIES_PER_KIND);
}
