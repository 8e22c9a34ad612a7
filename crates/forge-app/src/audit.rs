//! Audits what agents load, in one way for every door: which views, whose files
//! in the home, and whether the next audit compares with this one.
//!
//! What each client loads is knowledge of `forge-clients`; this module decides
//! what to request from it. Only a request with `keep_baseline` changes the
//! baseline, so that opening a page does not hide what is new.

use std::path::Path;

use jiff::Timestamp;

use crate::client::AgentClient;
use crate::tokens::Tokenizer;
use crate::workspace::{Workspace, WorkspaceError};

pub use forge_clients::audit::{
    AuditFinding, AuditFindingKind, AuditItem, AuditLevel, AuditReport, AuditSummary, AuditView,
    FileOrigin, MergedFinding, STATE_FILE, TokenLimits, merge_findings, plugin, render_svg,
    to_json, tokenizer_of, trend,
};
use forge_clients::audit::{AuditOptions, audit_views, audit_workspace, start_costs};
use forge_clients::setup::{SetupScope, SetupSurroundings, found};

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

/// Text that a client loads at each start, in its own tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartCost {
    /// The client.
    pub client: AgentClient,
    /// Tokenizer of the counts: the client's own if it is public.
    pub tokenizer: Tokenizer,
    /// Tokens from files of the project.
    pub tokens: usize,
    /// Number of these files.
    pub files: usize,
    /// Tokens from the person's own files and from folders above the project.
    pub beyond_tokens: usize,
}

/// Returns what each client that is connected or in use here really loads at a
/// start; where there is none, what each client would that loads anything.
/// Knowledge is not read for it.
pub fn measure_starts(around: &SetupSurroundings<'_>) -> Vec<StartCost> {
    let in_use = found::detect_clients(around);
    let is_here = |client: &AgentClient| {
        let is_connected = |scope| {
            let presence = found::client_presence(around, *client, scope);
            !presence.is_empty_but_for_stub()
        };
        in_use.iter().any(|(it, _)| it == client) || SetupScope::ALL.into_iter().any(is_connected)
    };
    let mut clients: Vec<AgentClient> = AgentClient::with_audit().filter(is_here).collect();
    let is_known = !clients.is_empty();
    if !is_known {
        clients = AgentClient::with_audit().collect();
    }
    let request = AuditRequest {
        tokenizer: Some(Tokenizer::O200k),
        home: around.places.home,
        ..AuditRequest::for_plain_view(around.now)
    };
    let views: Vec<AuditView> = clients.iter().copied().map(AuditView::Client).collect();
    let costs = start_costs(
        around.workspace,
        &build_audit_options(around.workspace, &request),
        &views,
    );
    let costs = clients.into_iter().zip(costs);
    costs
        .map(|(client, (tokenizer, summary))| StartCost {
            client,
            tokenizer,
            tokens: summary.autoload_tokens - summary.nested_tokens,
            files: summary.autoload_files - summary.nested_files,
            beyond_tokens: summary.beyond_tokens,
        })
        .filter(|cost| is_known || cost.files > 0)
        .collect()
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
