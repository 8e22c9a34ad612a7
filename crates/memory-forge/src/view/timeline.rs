//! Sessions, decisions with what replaced them, and checkpoints, by day.

use forge_app::mind::{File, Mind};
use serde_json::{Value, json};

use super::{Given, Refused, Told, Visit, clean};

/// Of each kind, the latest.
const MOST: usize = 400;
/// The text of one entry.
const MOST_CHARS: usize = 1_500;

pub(super) fn timeline(visit: &Visit, _: &Given) -> Result<Told, Refused> {
    let mind = Mind::open(&visit.workspace).shown();
    let mut problems: Vec<String> = Vec::new();
    let mut left_out = 0;
    let sessions = mind.sessions().unwrap_or_else(|error| {
        problems.push(error.to_string());
        Vec::new()
    });
    let log = mind.file(File::SessionLog);
    left_out += sessions.len().saturating_sub(MOST);
    // The file may have the oldest or the newest first; a date tells.
    let mut sessions: Vec<Value> = sessions
        .iter()
        .map(|it| {
            json!({
                "kind": "session", "date": it.date.map(|date| date.to_string()),
                "number": it.number, "title": it.title, "gist": it.gist(),
                "text": short(&it.text), "path": log.as_str(), "line": it.line,
            })
        })
        .collect();
    newest(&mut sessions);
    let decisions = mind.lineage().unwrap_or_else(|error| {
        problems.push(error.to_string());
        Vec::new()
    });
    let file = mind.file(File::Decisions);
    left_out += decisions.len().saturating_sub(MOST);
    let mut shown: Vec<Value> = decisions
        .iter()
        .enumerate()
        .map(|(number, (it, by))| {
            json!({
                "kind": "decision", "date": it.date.map(|date| date.to_string()),
                "number": number, "id": it.id, "title": it.title, "decision": it.decision,
                "rationale": it.rationale, "by": it.decided_by, "status": it.status,
                "superseded": it.superseded || by.is_some(), "supersededBy": by,
                "text": short(&it.text), "path": file.as_str(), "line": it.line,
            })
        })
        .collect();
    newest(&mut shown);
    let checkpoints = mind.checkpoints();
    left_out += checkpoints.len().saturating_sub(MOST);
    let checkpoints: Vec<Value> = checkpoints
        .iter()
        .rev()
        .take(MOST)
        .map(|path| {
            // `compact-2026-03-01T09-00-00-000Z.md`
            let stamp = path.stem().trim_start_matches("compact-");
            json!({
                "kind": "checkpoint", "date": stamp.get(..10), "time": stamp.get(11..16),
                "title": "Checkpoint before compaction", "path": path.as_str(),
            })
        })
        .collect();
    let problems: Vec<String> = problems.iter().map(|it| clean(it)).collect();
    Ok(json!({
        "version": 1, "sessions": sessions, "decisions": shown, "checkpoints": checkpoints,
        "leftOut": left_out, "problems": problems,
    })
    .into())
}

/// By date, the latest first, and no more than are shown. Entries of one day
/// stay in the order of their file, the later ones first.
fn newest(entries: &mut Vec<Value>) {
    entries.reverse();
    entries.sort_by(|a, b| b["date"].as_str().cmp(&a["date"].as_str()));
    entries.truncate(MOST);
}

fn short(text: &str) -> String {
    let mut kept: String = text.chars().take(MOST_CHARS).collect();
    if kept.len() < text.len() {
        kept.push('…');
    }
    kept
}
