//! Audits what agents load, in one way for every door: which views, whose files
//! in the home, and whether the next audit compares with this one.
//!
//! What each client loads is knowledge of `forge-clients`; this module decides
//! what to request from it. Only a request with `keep_baseline` changes the
//! baseline, so that opening a page does not hide what is new.

use std::path::Path;

use jiff::Timestamp;

use crate::tokens::Tokenizer;
use crate::workspace::{Workspace, WorkspaceError};

pub use forge_clients::audit::{
    AuditFinding, AuditFindingKind, AuditItem, AuditLevel, AuditReport, AuditSummary, AuditView,
    FileOrigin, MergedFinding, STATE_FILE, TokenLimits, merge_findings, plugin, render_svg,
    to_json, trend,
};
use forge_clients::audit::{AuditOptions, audit_views, audit_workspace, autoload_cost};

/// A request to audit the files that agents load.
#[derive(Debug, Clone)]
pub struct AuditRequest<'a> {
    /// The views that are wanted; what they share is read once.
    pub views: Vec<AuditView>,
    /// The tokenizer of all figures; `None` means the configured one.
    pub tokenizer: Option<Tokenizer>,
    /// The home with a person's own instructions; `None` skips these.
    pub home: Option<&'a Path>,
    /// Whether to store the result as the baseline that the next audit compares
    /// with.
    pub keep_baseline: bool,
    /// The moment of the request.
    pub now: Timestamp,
}

impl AuditRequest<'_> {
    /// Returns a request for the plain view, without a home and without keeping
    /// a baseline.
    pub fn for_plain_view(now: Timestamp) -> AuditRequest<'static> {
        AuditRequest {
            views: vec![AuditView::Plain],
            tokenizer: None,
            home: None,
            keep_baseline: false,
            now,
        }
    }
}

/// The reports of an audit, one for each view.
#[derive(Debug)]
pub struct AuditResponse {
    /// A report for each view, in their order.
    pub reports: Vec<AuditReport>,
    /// Why the baseline could not be stored. It affects only the comparison of
    /// the next audit.
    pub baseline_error: Option<WorkspaceError>,
}

/// Audits a workspace in every requested view.
pub fn run_audit(workspace: &Workspace, request: &AuditRequest<'_>) -> AuditResponse {
    let options = build_audit_options(workspace, request);
    let reports = audit_views(workspace, &options, &request.views);
    let kept = match reports.first() {
        Some(report) => keep_baseline(workspace, request, report),
        None => Ok(()),
    };
    AuditResponse {
        reports,
        baseline_error: kept.err(),
    }
}

/// Audits the plain view alone, for a door that shows one.
pub fn audit_plain_view(workspace: &Workspace, request: &AuditRequest<'_>) -> AuditReport {
    let report = audit_workspace(workspace, &build_audit_options(workspace, request));
    // A baseline that cannot be stored affects only the next comparison, so the
    // error is dropped and the report still shown.
    let _ = keep_baseline(workspace, request, &report);
    report
}

/// Writes the baseline of the next audit, if the request has `keep_baseline`
/// set.
fn keep_baseline(
    workspace: &Workspace,
    request: &AuditRequest<'_>,
    report: &AuditReport,
) -> Result<(), WorkspaceError> {
    match report.state.as_ref().filter(|_| request.keep_baseline) {
        Some(state) => workspace.write_marked(STATE_FILE, state.to_json().as_bytes()),
        None => Ok(()),
    }
}

/// Returns what the files that agents load cost in the plain view, without
/// reading any knowledge.
pub fn measure_autoload(workspace: &Workspace, request: &AuditRequest<'_>) -> AuditSummary {
    autoload_cost(workspace, &build_audit_options(workspace, request))
}

fn build_audit_options<'a>(workspace: &Workspace, request: &AuditRequest<'a>) -> AuditOptions<'a> {
    AuditOptions {
        // `run_each` takes the views of the request instead.
        view: AuditView::Plain,
        tokenizer: request
            .tokenizer
            .unwrap_or(workspace.config().audit.tokenizer),
        home: request.home,
        now: request.now,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_request_that_says_so_changes_the_baseline() {
        let dir = tempfile::tempdir().expect("a folder can be made");
        std::fs::write(dir.path().join("AGENTS.md"), "# A\n").expect("written");
        let workspace = Workspace::open(dir.path()).expect("it can be opened");
        let now = "2026-03-01T09:00:00Z".parse().expect("a time");
        let look = AuditRequest::for_plain_view(now);
        let keep = AuditRequest {
            keep_baseline: true,
            ..look.clone()
        };
        let baseline = || workspace.read_marked(STATE_FILE);
        assert_eq!(run_audit(&workspace, &look).reports.len(), 1);
        assert_eq!(baseline(), None);
        assert!(run_audit(&workspace, &keep).baseline_error.is_none());
        let first = baseline();
        assert!(first.is_some());
        std::fs::write(dir.path().join("CLAUDE.md"), "# B\n").expect("written");
        let _ = run_audit(&workspace, &look);
        assert_eq!(baseline(), first);
    }
}
