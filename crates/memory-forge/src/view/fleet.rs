//! Answers with the user's registered workspaces, and the state of the work in
//! each. It reads there and writes nowhere.

use forge_app::audit;
use forge_app::federation::{Registry, Source};
use forge_app::mind::Mind;
use forge_app::workspace::Workspace;
use serde_json::{Value, json};

use super::{Given, Refused, Told, Visit, clean};
use crate::report::CommandError;

/// Upper bound for the workspaces that are opened.
const MOST: usize = 40;

pub(super) fn fleet(visit: &Visit, _: &Given) -> Result<Told, Refused> {
    let registry = Registry::of_home(visit.settings.home.as_deref()).map_err(CommandError::from)?;
    let sources = registry.sources().map_err(CommandError::from)?;
    let here = visit.workspace.root();
    let shown: Vec<Value> = sources
        .iter()
        .take(MOST)
        .map(|source| {
            let mut value = one(source, visit);
            value["here"] = source.path.canonicalize().is_ok_and(|it| it == here).into();
            value
        })
        .collect();
    Ok(json!({
        "version": 1, "now": visit.now, "registry": clean(&registry.path().display().to_string()),
        "workspaces": shown, "leftOut": sources.len().saturating_sub(MOST),
    })
    .into())
}

fn one(source: &Source, visit: &Visit) -> Value {
    let mut value = json!({
        "name": clean(&source.name), "path": clean(&source.path.display().to_string()),
        "registered": source.registered, "searchable": source.searchable,
        "present": source.path.is_dir(),
    });
    let Ok(workspace) = Workspace::open(&source.path) else {
        return value;
    };
    let mind = Mind::open(&workspace).shown();
    if let Ok(Some(state)) = mind.state() {
        value["state"] = json!({
            "phase": state.phase, "status": state.status, "next": state.next,
            "blocked": state.blocked.len(), "modified": state.modified,
        });
    }
    let report = audit::audit_files(&workspace, &audit::AuditRequest::plain(visit.now));
    value["tokens"] = report.summary.autoload_tokens.into();
    value["documents"] = report.summary.knowledge_files.into();
    value["level"] = report
        .worst()
        .map(|level| level.name().to_lowercase())
        .into();
    value
}
