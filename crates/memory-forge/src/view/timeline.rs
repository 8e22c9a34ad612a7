//! Answers with sessions, decisions with what replaced them, and checkpoints,
//! by day. It only renders JSON.

use forge_app::timeline::WorkspaceTimeline;
use serde_json::{Value, json};

use super::{PageAnswer, PageRefusal, QuestionContext, QuestionInput, clean_text};

/// Upper bound for the text of one entry.
const MAX_ENTRY_CHARS: usize = 1_500;

pub(super) fn answer_timeline(
    visit: &QuestionContext,
    _: &QuestionInput,
) -> Result<PageAnswer, PageRefusal> {
    let timeline = WorkspaceTimeline::read(&visit.workspace);
    let sessions: Vec<Value> = timeline
        .sessions
        .iter()
        .map(|it| {
            json!({
                "kind": "session", "date": it.date.map(|date| date.to_string()),
                "number": it.number, "title": it.title, "gist": it.one_line_summary(),
                "text": shorten_entry(&it.text), "path": timeline.log.as_str(), "line": it.line,
            })
        })
        .collect();
    let decisions: Vec<Value> = timeline
        .decisions
        .iter()
        .map(|dated| {
            let (it, by) = (&dated.decision, dated.superseded_by);
            json!({
                "kind": "decision", "date": it.date.map(|date| date.to_string()),
                "number": dated.number, "id": it.id, "title": it.title, "decision": it.decision,
                "rationale": it.rationale, "by": it.decided_by, "status": it.status,
                "superseded": it.superseded || by.is_some(), "supersededBy": by,
                "text": shorten_entry(&it.text), "path": timeline.decided.as_str(), "line": it.line,
            })
        })
        .collect();
    let checkpoints: Vec<Value> = timeline
        .checkpoints
        .iter()
        .map(|path| {
            // `compact-2026-03-01T09-00-00-000Z.md`
            let stamp = path.stem().trim_start_matches("compact-");
            json!({
                "kind": "checkpoint", "date": stamp.get(..10), "time": stamp.get(11..16),
                "title": "Checkpoint before compaction", "path": path.as_str(),
            })
        })
        .collect();
    let problems: Vec<String> = timeline.problems.iter().map(|it| clean_text(it)).collect();
    Ok(json!({
        "version": 1, "sessions": sessions, "decisions": decisions, "checkpoints": checkpoints,
        "leftOut": timeline.left_out, "problems": problems,
    })
    .into())
}

fn shorten_entry(text: &str) -> String {
    let mut kept: String = text.chars().take(MAX_ENTRY_CHARS).collect();
    if kept.len() < text.len() {
        kept.push('…');
    }
    kept
}
