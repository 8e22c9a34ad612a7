//! Answers with the state of the work and the cost of memory.

use forge_app::audit::{self, AuditLevel, AuditReport, AuditView, FileOrigin};
use forge_app::client::AgentClient;
use forge_app::tokens::Tokenizer;
use forge_app::workspace::{PRIVATE_SUFFIX, RelPath, git};
use forge_app::{documents, status};
use serde_json::{Value, json};

use super::{PageAnswer, PageRefusal, QuestionContext, QuestionInput, clean_text};
use crate::status::StatusView;

/// Upper bound for the files of a bar that are named; the others are one part.
const MAX_BAR_PARTS: usize = 7;
/// Upper bound for the points of the trend.
const MAX_TREND_POINTS: usize = 40;
/// Digits of a commit's id, enough to find it.
const COMMIT_DIGITS: usize = 10;

pub(super) fn answer_overview(
    visit: &QuestionContext,
    _: &QuestionInput,
) -> Result<PageAnswer, PageRefusal> {
    let workspace = &visit.workspace;
    let around = visit.settings.surroundings(workspace);
    let gathered = status::WorkspaceStatus::gather(&around);
    let status = StatusView(&gathered).to_json();
    let reports = audit_reports(visit);
    let known = visit.known_documents();
    let briefing = gathered.cost.briefing;
    let mut clients = Vec::new();
    for client in AgentClient::with_audit() {
        let tokenizer = audit::tokenizer_of(client).unwrap_or(Tokenizer::O200k);
        let views = vec![AuditView::Client(client)];
        let is_hooked = gathered.is_hooked(client);
        for report in run_visible_audit(visit, views, Some(tokenizer)) {
            let briefing = if is_hooked { briefing } else { 0 };
            clients.push(client_bar(&report, client, tokenizer, briefing));
        }
    }
    let limits = reports[0].total_limits;
    let own = visit.service.audience == documents::DocumentAudience::Owner;
    let count = |level| reports[0].findings_at(level).count();
    let root = workspace.root();
    let name = root.file_name().map_or_else(
        || "memory".to_owned(),
        |it| it.to_string_lossy().into_owned(),
    );
    let commit = git::head_commit(root).map(|mut id| {
        id.truncate(COMMIT_DIGITS);
        id
    });
    let mut value = json!({
        "version": 1,
        "program": env!("CARGO_PKG_VERSION"),
        "now": visit.now,
        "workspace": { "name": clean_text(&name), "commit": commit },
        "state": status["state"],
        "tokens": status["tokens"],
        "cost": {
            "tokenizer": reports[0].judge.label(),
            "warn": limits.warn, "critical": limits.critical,
            "clients": clients,
        },
        "documents": known.documents().count(),
        "findings": {
            "critical": count(AuditLevel::Critical),
            "warnings": count(AuditLevel::Warning),
            "notices": count(AuditLevel::Notice),
        },
    });
    if own {
        value["workspace"]["root"] = clean_text(&root.display().to_string()).into();
        value["index"] = status["index"].clone();
        value["pushes"] = status["pushes"].clone();
        value["installed"] = status["installed"].clone();
    }
    Ok(value.into())
}

/// Audits all files, then what each client loads.
pub(super) fn audit_reports(visit: &QuestionContext) -> Vec<AuditReport> {
    let clients = AgentClient::with_audit().map(AuditView::Client);
    let views = std::iter::once(AuditView::Plain).chain(clients).collect();
    run_visible_audit(visit, views, None)
}

/// Audits these views, and leaves out what the audience may not see.
fn run_visible_audit(
    visit: &QuestionContext,
    views: Vec<AuditView>,
    tokenizer: Option<Tokenizer>,
) -> Vec<AuditReport> {
    let own = visit.service.audience == documents::DocumentAudience::Owner;
    let request = audit::AuditRequest {
        views,
        tokenizer,
        // A copy for others holds nothing of the user's home.
        home: visit.settings.home.as_deref().filter(|_| own),
        ..audit::AuditRequest::for_plain_view(visit.now)
    };
    let mut reports = audit::run_audit(&visit.workspace, &request).reports;
    if !own {
        for report in &mut reports {
            let private = |path: &str| RelPath::new(path).is_ok_and(|it| it.is_private());
            report
                .items
                .retain(|item| item.origin == FileOrigin::Project && !private(&item.path));
            let inside = |file: &str| !file.starts_with(['/', '~']);
            // The message of a finding elsewhere may name a private file too.
            report.findings.retain(|it| {
                let texts = [Some(&it.message), it.advice.as_ref()];
                let speaks = |text: &String| text.contains(PRIVATE_SUFFIX);
                let speaks = texts.into_iter().flatten().any(speaks);
                inside(&it.file) && !private(&it.file) && !speaks
            });
        }
    }
    reports
}

/// Renders what one client loads at every start, the heaviest file first. The
/// numbers are those of `status`: counted as the client counts.
fn client_bar(
    report: &AuditReport,
    client: AgentClient,
    tokenizer: Tokenizer,
    briefing: usize,
) -> Value {
    let own = report
        .items
        .iter()
        .filter(|it| it.origin == FileOrigin::Project && !it.nested);
    let mut items: Vec<_> = own.filter(|it| it.always > 0).collect();
    items.sort_by_key(|it| (std::cmp::Reverse(it.always), it.path.as_str()));
    let total: usize = items.iter().map(|it| it.always).sum();
    let rest = items.split_off(items.len().min(MAX_BAR_PARTS));
    let parts: Vec<Value> = items
        .iter()
        .map(|it| json!({ "path": clean_text(&it.path), "tokens": it.always, "why": it.why }))
        .collect();
    json!({
        "client": client.name(), "name": client.title(), "tokens": total,
        "tokenizer": tokenizer.label(),
        "level": report.total.map(|(level, _)| level.name().to_lowercase()),
        "parts": parts,
        "more": { "files": rest.len(), "tokens": rest.iter().map(|it| it.always).sum::<usize>() },
        "briefing": briefing,
        "yours": report.summary.beyond_tokens,
    })
}

pub(super) fn answer_trend(
    visit: &QuestionContext,
    _: &QuestionInput,
) -> Result<PageAnswer, PageRefusal> {
    let found = audit::trend::compute_trend(
        &visit.workspace,
        visit.workspace.config().audit.tokenizer,
        MAX_TREND_POINTS,
    );
    // A folder without a repository has no past, which is no failure.
    let (points, all) = match found {
        Ok(found) => found,
        Err(error) => {
            let none: [Value; 0] = [];
            let why = clean_text(&error.to_string());
            return Ok(json!({ "version": 1, "points": none, "why": why }).into());
        }
    };
    let shown: Vec<Value> = points
        .iter()
        .map(|point| {
            json!({
                "commit": &point.commit[..point.commit.len().min(COMMIT_DIGITS)],
                "date": point.date, "subject": clean_text(&point.subject),
                "tokens": point.tokens, "files": point.files, "documents": point.documents,
            })
        })
        .collect();
    let left_out = all - shown.len();
    Ok(json!({ "version": 1, "points": shown, "leftOut": left_out }).into())
}
