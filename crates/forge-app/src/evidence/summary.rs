//! The best of a session's evidence, for the briefing after a compaction, whose
//! summary keeps hardly any command and path.

use std::collections::HashSet;

use super::{read_evidence, short_id};
use crate::quote;
use crate::tokens::estimate_tokens;
use crate::workspace::Workspace;
use forge_memory::evidence::{EVIDENCE_FILE, EvidenceFact};

/// Tokens of the summary, by the estimate that needs no vocabulary.
const MAX_SUMMARY_TOKENS: usize = 800;
/// Characters of a command and of an error.
const MAX_SHOWN_CHARS: usize = 160;

/// Returns what worked, what failed and which files changed, the newest first,
/// within the tokens of a summary and within `room` bytes.
pub fn summarize_session(
    workspace: &Workspace,
    session: &str,
    nonce: &str,
    room: usize,
) -> Option<String> {
    let session = short_id(session);
    let log = read_evidence(workspace);
    let mut seen: HashSet<String> = HashSet::new();
    let mut lines: Vec<String> = Vec::new();
    let mut changed: Vec<String> = Vec::new();
    for entry in log.entries.iter().rev().filter(|it| it.session == session) {
        let line = match &entry.fact {
            EvidenceFact::Command(it) if it.worked => {
                let tests = it.tests.map_or_else(String::new, |tests| {
                    format!(" ({} passed, {} failed)", tests.passed, tests.failed)
                });
                format!("- worked: {}{tests}", shown(&it.command))
            }
            EvidenceFact::Command(it) => {
                format!("- failed: {}: {}", shown(&it.command), shown(&it.error))
            }
            EvidenceFact::Refused { command, .. } => format!("- refused: {}", shown(command)),
            EvidenceFact::Changed { path } => {
                if seen.insert(path.clone()) {
                    changed.push(shown(path));
                }
                continue;
            }
            _ => continue,
        };
        if seen.insert(line.clone()) {
            lines.push(line);
        }
    }
    if lines.is_empty() && changed.is_empty() {
        return None;
    }
    changed.truncate(30);
    if !changed.is_empty() {
        lines.insert(0, format!("- changed: {}", changed.join(", ")));
    }
    let mark = quote::fence_mark(nonce, lines.iter().map(String::as_str));
    let head = format!("What this session showed before ({EVIDENCE_FILE}):\n<data {mark}>");
    let tail = format!("</data {mark}>");
    let mut text = head;
    for line in lines {
        let longer = format!("{text}\n{line}");
        let whole = format!("{longer}\n{tail}");
        if estimate_tokens(&whole) > MAX_SUMMARY_TOKENS || whole.len() > room {
            break;
        }
        text = longer;
    }
    Some(format!("{text}\n{tail}")).filter(|it| it.len() <= room)
}

/// Returns a text on one line, without orders, in backticks.
fn shown(text: &str) -> String {
    let clean = quote::sanitize_unrequested(text);
    let line: String = clean
        .trim()
        .chars()
        .map(|c| if c.is_control() || c == '`' { ' ' } else { c })
        .take(MAX_SHOWN_CHARS)
        .collect();
    format!("`{line}`")
}
