//! Defines the commands that show findings, each as a selection of checks with
//! its own threshold for failing.

use super::survey::WorkspaceSurvey;
use super::{CHECK_REGISTRY, CheckDefinition, CheckReport, run_checks};
use crate::finding::{CheckFinding, CheckId, CheckSeverity};

/// A command that shows findings: the checks that it selects, in its order, and
/// the findings that make it fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CheckView {
    /// `check`: everything about the notes and the state.
    All,
    /// `doctor`.
    Doctor,
    /// `lint`.
    Lint,
    /// `links check`.
    Links,
    /// `graph check`.
    Graph,
    /// `closets check`.
    Closets,
    /// `consolidate`.
    Consolidate,
    /// `mind health`.
    Health,
    /// `agent index --check`.
    Agents,
}

impl CheckView {
    /// All views.
    pub const ALL: [CheckView; 9] = [
        CheckView::All,
        CheckView::Doctor,
        CheckView::Lint,
        CheckView::Links,
        CheckView::Graph,
        CheckView::Closets,
        CheckView::Consolidate,
        CheckView::Health,
        CheckView::Agents,
    ];

    /// Returns the checks that the view runs.
    pub fn checks(self) -> impl Iterator<Item = &'static CheckDefinition> {
        self.check_ids()
            .iter()
            .filter_map(|id| CHECK_REGISTRY.iter().find(|it| it.id == *id))
    }

    /// Returns the ids of the checks, in the order of the view.
    pub(super) fn check_ids(self) -> &'static [CheckId] {
        match self {
            CheckView::All => &ALL_CHECKS,
            CheckView::Doctor => &DOCTOR_CHECKS,
            CheckView::Lint => &LINT_CHECKS,
            CheckView::Links => &LINKS_CHECKS,
            CheckView::Graph => &[CheckId::GRAPH_DANGLING],
            CheckView::Closets => &CLOSETS_CHECKS,
            CheckView::Consolidate => &CONSOLIDATE_CHECKS,
            CheckView::Health => &HEALTH_CHECKS,
            CheckView::Agents => &AGENTS_CHECKS,
        }
    }

    /// Returns `true` if a finding makes the view exit with 1. Each has its own
    /// threshold, which scripts rely on.
    pub fn is_failure(self, finding: &CheckFinding) -> bool {
        match self {
            CheckView::All | CheckView::Lint | CheckView::Health => {
                finding.severity >= CheckSeverity::Warning
            }
            CheckView::Doctor => finding.severity == CheckSeverity::Error,
            CheckView::Links => finding.check == CheckId::LINKS_MISSING,
            CheckView::Consolidate => finding.check == CheckId::DECISIONS_FULL,
            CheckView::Graph | CheckView::Closets | CheckView::Agents => true,
        }
    }

    /// Runs the checks of the view.
    pub fn run(self, survey: &WorkspaceSurvey<'_>) -> CheckReport {
        run_checks(survey, self.checks())
    }
}

const LINT_CHECKS: [CheckId; 9] = [
    CheckId::STATE_STALE,
    CheckId::DECISIONS_SUPERSEDED,
    CheckId::MANIFEST_UNLISTED,
    CheckId::MANIFEST_FOLDERS,
    CheckId::STATE_BLOCKED,
    CheckId::CLOSETS_COVERAGE,
    CheckId::GRAPH_DANGLING,
    CheckId::MANIFEST_SUMMARIES,
    CheckId::MANIFEST_ENTRIES,
];

const LINKS_CHECKS: [CheckId; 4] = [
    CheckId::LINKS_MISSING,
    CheckId::LINKS_PLACE,
    CheckId::LINKS_AMBIGUOUS,
    CheckId::LINKS_CLOSETS,
];

const CLOSETS_CHECKS: [CheckId; 9] = [
    CheckId::CLOSETS_NO_FILE,
    CheckId::CLOSETS_NO_MARKER,
    CheckId::CLOSETS_MISSING,
    CheckId::CLOSETS_STALE,
    CheckId::CLOSETS_UNSTAMPED,
    CheckId::CLOSETS_ORPHAN,
    CheckId::CLOSETS_TWICE,
    CheckId::CLOSETS_TOO_LONG,
    CheckId::CLOSETS_UNREADABLE,
];

const CONSOLIDATE_CHECKS: [CheckId; 6] = [
    CheckId::NOTES_DUPLICATE,
    CheckId::DECISIONS_SUPERSEDED,
    CheckId::LINKS_MISSING,
    CheckId::MANIFEST_UNLISTED,
    CheckId::GRAPH_DANGLING,
    CheckId::DECISIONS_FULL,
];

const HEALTH_CHECKS: [CheckId; 10] = [
    CheckId::STATE_MISSING,
    CheckId::STATE_UNREADABLE,
    CheckId::STATE_UNTOUCHED,
    CheckId::STATE_LARGE,
    CheckId::STATE_ERROR_LOG,
    CheckId::CLIENTS_UNCONNECTED,
    CheckId::SETTINGS_INVALID,
    CheckId::PUSH_SILENCED,
    CheckId::PUSH_APPLIES_TO,
    CheckId::PUSH_NO_MATCH,
];

const DOCTOR_CHECKS: [CheckId; 15] = [
    CheckId::SETTINGS_INVALID,
    CheckId::KNOWLEDGE_UNREADABLE,
    CheckId::KNOWLEDGE_FRONT_MATTER,
    CheckId::FILES_SECRET,
    CheckId::STATE_CONFLICT,
    CheckId::INDEX_DAMAGED,
    CheckId::INDEX_SEARCH,
    CheckId::KNOWLEDGE_README,
    CheckId::KNOWLEDGE_FORGOTTEN,
    CheckId::AUTOLOAD_SIZE,
    CheckId::UNDO_JOURNAL,
    CheckId::HOOKS_FAILED,
    CheckId::GIT_TRACKED,
    CheckId::FILES_LEFTOVER,
    CheckId::CLIENTS_PROGRAM,
];

const AGENTS_CHECKS: [CheckId; 4] = [
    CheckId::AGENTS_POINTER,
    CheckId::AGENTS_INDEX,
    CheckId::AGENTS_UNREADABLE,
    CheckId::AGENTS_CLAUDE,
];

/// Checks of `lint`, `closets check`, `links check`, `graph check`,
/// `consolidate` and `mind health`, each once. Of several that see the same
/// fault, the one with the best advice comes first.
const ALL_CHECKS: [CheckId; 32] = [
    CheckId::STATE_STALE,
    CheckId::STATE_BLOCKED,
    CheckId::STATE_UNREADABLE,
    CheckId::STATE_UNTOUCHED,
    CheckId::STATE_LARGE,
    CheckId::STATE_ERROR_LOG,
    CheckId::DECISIONS_SUPERSEDED,
    CheckId::DECISIONS_FULL,
    CheckId::MANIFEST_FOLDERS,
    CheckId::MANIFEST_SUMMARIES,
    CheckId::MANIFEST_ENTRIES,
    CheckId::CLOSETS_NO_FILE,
    CheckId::CLOSETS_COVERAGE,
    CheckId::CLOSETS_NO_MARKER,
    CheckId::CLOSETS_MISSING,
    CheckId::CLOSETS_STALE,
    CheckId::CLOSETS_UNSTAMPED,
    CheckId::CLOSETS_ORPHAN,
    CheckId::CLOSETS_TWICE,
    CheckId::CLOSETS_TOO_LONG,
    CheckId::CLOSETS_UNREADABLE,
    CheckId::MANIFEST_UNLISTED,
    CheckId::LINKS_MISSING,
    CheckId::LINKS_PLACE,
    CheckId::LINKS_AMBIGUOUS,
    CheckId::LINKS_CLOSETS,
    CheckId::GRAPH_DANGLING,
    CheckId::NOTES_DUPLICATE,
    CheckId::CLIENTS_UNCONNECTED,
    CheckId::PUSH_SILENCED,
    CheckId::PUSH_APPLIES_TO,
    CheckId::PUSH_NO_MATCH,
];
