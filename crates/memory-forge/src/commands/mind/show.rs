//! Renders what `mind` shows: text for people, JSON for programs. It changes
//! nothing.

use forge_app::brief::{BriefRequest, build_brief};
use forge_app::check::{CheckReport, CheckSeverity, CheckView, WorkspaceSurvey};
use forge_app::mind::{
    CompressionReport, Decision, MindStore, ProgressTasks, SessionEntry, StateHealth,
    StateLayoutKind, WorkState,
};
use forge_app::workspace::{RelPath, Workspace};
use serde_json::{Value, json};

use super::{MindHealthArgs, MindPart, MindShowArgs};
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::{Ui, escape_hidden, style};

pub(super) fn show_mind(
    mind: &MindStore<'_>,
    args: &MindShowArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    if args.what == MindPart::Briefing {
        let nonce = settings.nonce();
        let request = BriefRequest::for_session(&nonce, settings.now);
        let briefing = build_brief(mind, &request)?.unwrap_or_default();
        return if args.json {
            ui.print_json(&json!({
                "version": 1, "text": briefing.text, "leftOut": briefing.left_out,
                "tokens": briefing.estimate_tokens(), "tokenizer": "~o200k",
            }))
        } else {
            ui.print(&escape_hidden(&briefing.text))
        };
    }
    // Shown values hold no credentials, and hidden characters are written out.
    let mind = &mind.redact_for_display();
    let wanted = |what: MindPart| args.what == MindPart::All || args.what == what;
    let state = if wanted(MindPart::State) {
        mind.read_state()?
    } else {
        None
    };
    let progress = if wanted(MindPart::Progress) {
        mind.read_progress()?
    } else {
        None
    };
    let decisions = if wanted(MindPart::Decisions) {
        mind.read_decisions()?
    } else {
        Vec::new()
    };
    let sessions = if wanted(MindPart::Sessions) {
        mind.read_sessions()?
    } else {
        Vec::new()
    };
    if args.json {
        let mut out = json!({ "version": 1, "layout": match mind.layout_kind() {
            StateLayoutKind::Mind => "mind",
            StateLayoutKind::Manifest => "manifest",
        }});
        if wanted(MindPart::State) {
            out["state"] = state.as_ref().map_or(Value::Null, state_json);
        }
        if wanted(MindPart::Progress) {
            out["tasks"] = progress.as_ref().map_or(json!([]), tasks_json);
        }
        if wanted(MindPart::Decisions) {
            out["decisions"] = decisions.iter().map(decision_json).collect();
        }
        if wanted(MindPart::Sessions) {
            out["sessions"] = sessions.iter().map(session_json).collect();
        }
        return ui.print_json(&out);
    }
    if !mind.has_state_files() {
        return ui
            .print_line("No state found. `memory-forge mind set --phase …` writes the first.");
    }
    match args.what {
        MindPart::State => ui.print(&escape_hidden(&state.map(|it| it.text).unwrap_or_default())),
        MindPart::Progress => show_tasks(&progress.unwrap_or_default(), true, ui),
        MindPart::Decisions => print_each(decisions.iter().map(|it| &it.text), ui),
        MindPart::Sessions => print_each(sessions.iter().map(|it| &it.text), ui),
        MindPart::All | MindPart::Briefing => {
            show_state(&state.unwrap_or_default(), ui)?;
            show_tasks(&progress.unwrap_or_default(), false, ui)?;
            show_latest(&decisions, &sessions, ui)
        }
    }
}

fn print_each<'a>(
    texts: impl Iterator<Item = &'a String>,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    for (index, text) in texts.enumerate() {
        if index > 0 {
            ui.print_line("")?;
        }
        ui.print_line(&escape_hidden(text))?;
    }
    Ok(())
}

fn show_state(state: &WorkState, ui: &mut Ui) -> Result<(), CommandError> {
    let or_unset = |text: &Option<String>| text.clone().unwrap_or_else(|| "not set".to_owned());
    let list = |items: &[String]| {
        if items.is_empty() {
            "none".to_owned()
        } else {
            items.join("; ")
        }
    };
    for (label, value) in [
        ("Phase", or_unset(&state.phase)),
        ("Status", or_unset(&state.status)),
        ("Active", list(&state.active)),
        ("Blocked", list(&state.blocked)),
        ("Next", or_unset(&state.next)),
        (
            "Updated",
            state
                .updated
                .map_or("not set".to_owned(), |it| it.to_string()),
        ),
    ] {
        let bold = style::HEADING;
        ui.print_line(&format!(
            "{bold}{label:<8}{bold:#} {}",
            escape_hidden(&value)
        ))?;
    }
    Ok(())
}

fn show_tasks(progress: &ProgressTasks, all: bool, ui: &mut Ui) -> Result<(), CommandError> {
    let mut section = None;
    for task in progress.tasks.iter().filter(|task| all || !task.done) {
        if section != Some(&task.section) {
            section = Some(&task.section);
            let bold = style::HEADING;
            ui.print_line(&format!("\n{bold}{}{bold:#}", escape_hidden(&task.section)))?;
        }
        let mark = if task.done { 'x' } else { ' ' };
        let done = task.completed.map(|it| format!(" (completed {it})"));
        ui.print_line(&format!(
            "- [{mark}] {}{}",
            escape_hidden(&task.text),
            done.unwrap_or_default()
        ))?;
    }
    Ok(())
}

fn show_latest(
    decisions: &[Decision],
    sessions: &[SessionEntry],
    ui: &mut Ui,
) -> Result<(), CommandError> {
    let bold = style::HEADING;
    let latest: Vec<&Decision> = decisions.iter().rev().take(3).collect();
    if !latest.is_empty() {
        ui.print_line(&format!(
            "\n{bold}Decisions{bold:#} ({}, newest first)",
            decisions.len()
        ))?;
    }
    for decision in latest {
        let id = decision
            .id
            .as_ref()
            .map(|id| format!("{id}: "))
            .unwrap_or_default();
        let void = if decision.superseded {
            " (superseded)"
        } else {
            ""
        };
        ui.print_line(&format!("- {id}{}{void}", escape_hidden(&decision.title)))?;
    }
    if let Some(last) = sessions.last() {
        let gist = last.one_line_summary().unwrap_or_default();
        ui.print_line(&format!("\n{bold}Last session{bold:#}"))?;
        ui.print_line(&format!(
            "{}: {}",
            escape_hidden(&last.title),
            escape_hidden(&gist)
        ))?;
    }
    Ok(())
}

fn state_json(state: &WorkState) -> Value {
    json!({
        "phase": state.phase, "status": state.status, "active": state.active,
        "blocked": state.blocked, "next": state.next,
        "updated": state.updated.map(|it| it.to_string()), "text": state.text,
    })
}

fn tasks_json(progress: &ProgressTasks) -> Value {
    let task = |task: &forge_app::mind::TaskEntry| {
        json!({
            "text": task.text, "done": task.done, "section": task.section,
            "completed": task.completed.map(|it| it.to_string()), "line": task.line,
        })
    };
    progress.tasks.iter().map(task).collect()
}

fn decision_json(decision: &Decision) -> Value {
    json!({
        "id": decision.id, "title": decision.title, "date": decision.date.map(|it| it.to_string()),
        "decidedBy": decision.decided_by, "decision": decision.decision,
        "rationale": decision.rationale, "status": decision.status,
        "superseded": decision.superseded, "line": decision.line,
    })
}

fn session_json(session: &SessionEntry) -> Value {
    json!({
        "number": session.number, "date": session.date.map(|it| it.to_string()),
        "title": session.title, "text": session.text, "line": session.line,
    })
}

pub(super) fn show_compression(done: &CompressionReport, ui: &mut Ui) -> Result<(), CommandError> {
    let (sessions, decisions) = (&done.sessions, &done.decisions);
    let rotated = done.tracking.iter().filter(|(_, it)| it.before > it.after);
    if done.is_noop() && rotated.clone().next().is_none() {
        return ui.print_line(&format!(
            "Nothing to compress (sessions: {}, decisions: {})",
            sessions.entries, decisions.entries
        ));
    }
    let would = if done.dry_run { "would move" } else { "moved" };
    for (name, store) in [("Sessions", sessions), ("Decisions", decisions)] {
        if store.compressed > 0 {
            ui.print_line(&format!(
                "{name}: {} of {} {would} to the archive, ~{} tokens saved",
                store.compressed,
                store.entries,
                store.saved_tokens()
            ))?;
        }
    }
    if done.tasks > 0 {
        ui.print_line(&format!("Tasks: {} {would} to the archive", done.tasks))?;
    }
    for (name, lines) in rotated {
        ui.print_line(&format!(
            "{name}: {} of {} lines kept",
            lines.after, lines.before
        ))?;
    }
    ui.print_line(&format!("Total saved: ~{} tokens", done.saved_tokens()))?;
    if let Some(id) = &done.change {
        ui.note(&format!("`memory-forge doctor --undo {id}` reverts it"));
    }
    Ok(())
}

pub(super) fn compression_json(done: &CompressionReport) -> Value {
    let tracking: serde_json::Map<String, Value> = done
        .tracking
        .iter()
        .map(|(name, it)| {
            let value = if it.before > it.after {

                 json!({ "rotated": true, "before": it.before, "after": it.after, "removed": it.before - it.after })
} else {

                 json!({ "rotated": false })
};
            ((*name).to_owned(), value)
        })
        .collect();
    let (sessions, decisions) = (&done.sessions, &done.decisions);
    json!({
        "dryRun": done.dry_run,
        "sessions": {
            "saved": sessions.saved_tokens(), "before": sessions.before, "after": sessions.after,
            "sessions": sessions.entries, "compressed": sessions.compressed, "kept": sessions.kept,
        },
        "decisions": {
            "saved": decisions.saved_tokens(), "before": decisions.before, "after": decisions.after,
            "decisions": decisions.entries, "compressed": decisions.compressed, "kept": decisions.kept,
        },
        "archive": { "archived": done.tasks },
        "tracking": tracking,
        "backupCleanup": { "removed": 0, "kept": 0 },
        "totalTokensSaved": done.saved_tokens(),
        "undo": done.change,
    })
}

pub(super) fn show_health(
    mind: &MindStore<'_>,
    args: &MindHealthArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let survey = WorkspaceSurvey::from_workspace(mind.workspace(), settings.now);
    let report = CheckView::Health.run(&survey);
    if args.json {
        ui.print_json(&health_json(mind, survey.health(), &report))?;
    } else if report.worst_severity().is_none() {
        ui.print_line("The memory is in order.")?;
    }
    if !args.json {
        for finding in report.findings() {
            let style = match finding.severity {
                CheckSeverity::Error => style::CRITICAL,
                CheckSeverity::Warning => style::WARNING,
                CheckSeverity::Info => style::FAINT,
            };
            let name = finding.severity.name();
            ui.print_line(&format!(
                "{style}{name}:{style:#} {}",
                escape_hidden(&finding.message)
            ))?;
        }
    }
    Ok(if report.has_failure(CheckView::Health) {
        CommandExit::Failure
    } else {
        CommandExit::Success
    })
}

fn health_json(mind: &MindStore<'_>, health: &StateHealth, report: &CheckReport) -> Value {
    let info = |it: &forge_app::mind::FileInfo| {
        json!({
            "exists": it.exists, "size": it.size,
            "modified": it.modified.map(|it| it.to_string()), "ageSeconds": it.age_seconds,
        })
    };
    let files = |files: &[(String, forge_app::mind::FileInfo)]| -> Value {
        let map = files.iter().map(|(name, it)| (name.clone(), info(it)));
        Value::Object(map.collect())
    };
    let root = mind.workspace().root();
    let exists = |path: &str| json!({ "exists": root.join(path).is_file() });
    json!({
        "version": version_json(mind.workspace()),
        "mindDir": {
            "exists": health.folder_exists, "path": root.join(forge_app::mind::FOLDER),
            "totalStateSize": health.total_state_bytes,
        },
        "stateFiles": files(&health.state_files),
        "trackingFiles": files(&health.tracking_files),
        "config": {
            "exists": health.config_exists, "valid": health.config_problems.is_empty(),
            "issues": health.config_problems,
        },
        "errorLog": info(&health.error_log),
        "mcpConfig": exists(".mcp.json"),
        "hooksConfig": exists(".claude/settings.json"),
        "issues": report.findings().map(|it| json!({
            "severity": it.severity.name(), "message": it.message,
        })).collect::<Vec<_>>(),
        "status": match report.worst_severity() {
            Some(CheckSeverity::Error) => "error",
            Some(CheckSeverity::Warning) => "warning",
            _ => "healthy",
        },
    })
}

/// Returns the program's version and that of its predecessor's installation.
fn version_json(workspace: &Workspace) -> Value {
    const MAX_VERSION_BYTES: u64 = 256;
    let current = env!("CARGO_PKG_VERSION");
    let installed = RelPath::new(".memoryforge-version").ok();
    let installed =
        installed.and_then(|path| workspace.read_up_to_limit(&path, MAX_VERSION_BYTES).ok());
    let installed = installed.and_then(|bytes| String::from_utf8(bytes).ok());
    let installed = installed.map(|text| text.trim().to_owned());
    json!({
        "current": current,
        "installed": installed,
        "upToDate": installed.as_deref().is_none_or(|it| it == current),
    })
}
