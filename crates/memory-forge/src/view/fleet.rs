//! Answers with the user's registered workspaces, and the state of the work in
//! each. It reads there and writes nowhere.

use forge_app::audit;
use forge_app::federation::{SourceRegistry, SourceWorkspace};
use forge_app::mind::MindStore;
use forge_app::system;
use forge_app::workspace::Workspace;
use serde_json::{Value, json};

use super::{PageAnswer, PageRefusal, QuestionContext, QuestionInput, clean_text};
use crate::report::CommandError;

/// Upper bound for the workspaces that are opened.
const MAX_WORKSPACES: usize = 40;

pub(super) fn answer_fleet(
    visit: &QuestionContext,
    _: &QuestionInput,
) -> Result<PageAnswer, PageRefusal> {
    let registry =
        SourceRegistry::of_home(visit.settings.home.as_deref()).map_err(CommandError::from)?;
    let sources = registry.sources().map_err(CommandError::from)?;
    let here = visit.workspace.root();
    let shown: Vec<Value> = sources
        .iter()
        .take(MAX_WORKSPACES)
        .map(|source| {
            let mut value = workspace_json(source, visit);
            value["here"] = system::canonicalize(&source.path)
                .is_ok_and(|it| it == here)
                .into();
            value
        })
        .collect();
    Ok(json!({
        "version": 1, "now": visit.now, "registry": clean_text(&registry.path().display().to_string()),
        "workspaces": shown, "leftOut": sources.len().saturating_sub(MAX_WORKSPACES),
    })
    .into())
}

fn workspace_json(source: &SourceWorkspace, visit: &QuestionContext) -> Value {
    let mut value = json!({
        "name": clean_text(&source.name), "path": clean_text(&source.path.display().to_string()),
        "registered": source.registered, "searchable": source.searchable,
        "present": source.path.is_dir(),
    });
    let Ok(workspace) = Workspace::open(&source.path) else {
        return value;
    };
    let mind = MindStore::open(&workspace).redact_for_display();
    if let Ok(Some(state)) = mind.read_state() {
        value["state"] = json!({
            "phase": state.phase, "status": state.status, "next": state.next,
            "blocked": state.blocked.len(), "modified": state.modified,
        });
    }
    let report =
        audit::audit_plain_view(&workspace, &audit::AuditRequest::for_plain_view(visit.now));
    value["tokens"] = report.summary.autoload_tokens.into();
    value["documents"] = report.summary.knowledge_files.into();
    value["level"] = report
        .worst_level()
        .map(|level| level.name().to_lowercase())
        .into();
    value
}
