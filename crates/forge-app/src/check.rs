//! The registry of checks. Commands that show findings (`check`, `doctor`,
//! `lint`, `links check`, `graph check`, `closets check`, `consolidate`, `mind
//! health`, `agent index --check`) are views of it: each selects checks and has
//! its own threshold for failing. Checks read and never write; repairs are
//! proposals.

mod applies_to;
mod consolidation;
mod duplicates;
mod fix;
mod memory;
mod registry;
mod survey;
mod view;
mod whole;
mod workspace;

#[cfg(test)]
mod tests;

pub use consolidation::{
    ConsolidationPlan, ConsolidationReport, DecisionFile, can_consolidate, plan_consolidation,
    run_consolidation,
};
pub use duplicates::{DuplicateCandidate, DuplicateReason};
pub use fix::{CheckFix, LintFix, RowRemoval, plan_check_fix, plan_lint_fix, remove_rows};
pub use registry::CHECK_REGISTRY;
pub use survey::{WorkspaceSurvey, find_homes_with_index};
pub use view::CheckView;
pub use whole::{check_workspace, select_checks};

pub use crate::finding::{
    CheckFinding, CheckId, CheckOutcome, CheckSeverity, FindingPlace, RepairId,
};

/// A check: its id, its description, and the function that runs it.
#[derive(Clone, Copy)]
pub struct CheckDefinition {
    /// The stable id, by which it is selected.
    pub id: CheckId,
    /// The title in the view's own report; `check` prints ids instead.
    pub title: &'static str,
    /// What it looks for, as a sentence.
    pub about: &'static str,
    run: fn(&WorkspaceSurvey<'_>, CheckId) -> CheckOutcome,
}

impl CheckDefinition {
    /// Runs the check.
    pub fn run_check(&self, survey: &WorkspaceSurvey<'_>) -> CheckOutcome {
        (self.run)(survey, self.id)
    }
}

/// Runs these checks in their order.
pub fn run_checks(
    survey: &WorkspaceSurvey<'_>,
    checks: impl IntoIterator<Item = &'static CheckDefinition>,
) -> CheckReport {
    let results = checks.into_iter().map(|check| CheckResult {
        check,
        outcome: check.run_check(survey),
    });
    CheckReport {
        results: results.collect(),
    }
}

/// A check with its outcome.
pub struct CheckResult {
    /// The check that ran.
    pub check: &'static CheckDefinition,
    /// What it found.
    pub outcome: CheckOutcome,
}

/// The results of several checks.
pub struct CheckReport {
    /// One result for each check that was selected.
    pub results: Vec<CheckResult>,
}

impl CheckReport {
    /// Returns all findings, in the order of the checks.
    pub fn findings(&self) -> impl Iterator<Item = &CheckFinding> {
        self.results.iter().flat_map(|it| it.outcome.findings())
    }

    /// Returns the number of findings of this severity.
    pub fn count_severity(&self, severity: CheckSeverity) -> usize {
        self.findings().filter(|it| it.severity == severity).count()
    }

    /// Returns the severity of the worst finding, or `None` without findings.
    pub fn worst_severity(&self) -> Option<CheckSeverity> {
        self.findings().map(|it| it.severity).max()
    }

    /// Returns `true` if a view with these results exits with 1.
    pub fn has_failure(&self, view: CheckView) -> bool {
        self.findings().any(|it| view.is_failure(it))
    }
}
