//! The best of a session's evidence, for the briefing after a compaction, whose
//! summary keeps hardly any command and path.

use std::collections::{HashMap, HashSet};

use super::{read_evidence, short_id};
use crate::counts::count_noun;
use crate::quote;
use crate::tokens::estimate_tokens;
use crate::workspace::Workspace;
use forge_memory::evidence::{
    CommandFact, EVIDENCE_FILE, EvidenceEntry, EvidenceFact, parse_command,
};

/// Tokens of the summary, by the estimate that needs no vocabulary.
const MAX_SUMMARY_TOKENS: usize = 800;
/// Tokens of the line with changed files.
const MAX_CHANGED_TOKENS: usize = 200;
/// Lines about refusals, and about failures that nothing has solved.
const MAX_OPEN_LINES: usize = 10;
/// Characters of a command and of an error.
const MAX_SHOWN_CHARS: usize = 160;

/// Returns what changed, failed and worked, within the tokens of a summary and
/// within `room` bytes. In this order, and of each the newest first: changed
/// files, refused commands, failures without a later success, commands that
/// worked, failures that were solved, commands that only read. What does not
/// fit is dropped from the end, and the last line states how to find it.
pub fn summarize_session(
    workspace: &Workspace,
    session: &str,
    nonce: &str,
    room: usize,
) -> Option<String> {
    let session = short_id(session);
    let log = read_evidence(workspace);
    let entries = log.entries.iter().filter(|it| it.session == session);
    let entries: Vec<&EvidenceEntry> = entries.collect();
    let lines = rank_lines(&entries);
    if lines.is_empty() {
        return None;
    }
    let mark = quote::fence_mark(nonce, lines.iter().map(String::as_str));
    let head = format!("What this session showed before ({EVIDENCE_FILE}):\n<data {mark}>");
    let tail = format!("</data {mark}>{}", more_line(&entries));
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

/// Returns all lines, the most valuable first.
fn rank_lines(entries: &[&EvidenceEntry]) -> Vec<String> {
    let (mut changed, mut open, mut worked) = (Vec::new(), Vec::new(), Vec::new());
    let (mut solved, mut readers) = (Vec::new(), Vec::new());
    let mut times: HashMap<&str, usize> = HashMap::new();
    for entry in entries {
        if let EvidenceFact::Command(it) = &entry.fact
            && it.worked
        {
            *times.entry(it.command.as_str()).or_default() += 1;
        }
    }
    let mut seen: HashSet<String> = HashSet::new();
    // From the end, so that what worked later is known at a failure.
    let mut has_worked: HashSet<&str> = HashSet::new();
    for entry in entries.iter().rev() {
        let (list, line) = match &entry.fact {
            EvidenceFact::Command(it) if it.worked => {
                has_worked.insert(&it.command);
                let line = worked_line(it, times.get(it.command.as_str()).copied());
                let list = if only_reads(&it.command) {
                    &mut readers
                } else {
                    &mut worked
                };
                (list, line)
            }
            EvidenceFact::Command(it) => {
                let is_solved = has_worked.contains(it.command.as_str());
                let list = if is_solved { &mut solved } else { &mut open };
                (list, failed_line(it))
            }
            EvidenceFact::Refused { command, words } => {
                let wrote = if words.is_empty() {
                    String::new()
                } else {
                    format!("; the user wrote {}", shown(words))
                };
                (&mut open, format!("- refused: {}{wrote}", shown(command)))
            }
            EvidenceFact::Changed { path } => (&mut changed, shown(path)),
            _ => continue,
        };
        if seen.insert(line.clone()) {
            list.push(line);
        }
    }
    // Stable: refusals first, and each the newest first.
    open.sort_by_key(|line| !line.starts_with("- refused"));
    let rest = open.split_off(open.len().min(MAX_OPEN_LINES));
    let mut lines = Vec::new();
    lines.extend(changed_line(&changed));
    lines.extend(open);
    lines.extend(worked);
    lines.extend(rest);
    lines.extend(solved);
    lines.extend(readers);
    lines
}

fn worked_line(fact: &CommandFact, times: Option<usize>) -> String {
    let mut notes = Vec::new();
    if let Some(times) = times.filter(|times| *times > 1) {
        notes.push(format!("{times} times"));
    }
    if let Some(tests) = fact.tests {
        notes.push(format!("{} passed, {} failed", tests.passed, tests.failed));
    }
    let notes = if notes.is_empty() {
        String::new()
    } else {
        format!(" ({})", notes.join(", "))
    };
    format!("- worked: {}{}{notes}", shown(&fact.command), place(fact))
}

fn failed_line(fact: &CommandFact) -> String {
    let because = if fact.error.is_empty() {
        String::new()
    } else {
        format!(" because {}", shown(&fact.error))
    };
    format!("- failed: {}{}{because}", shown(&fact.command), place(fact))
}

fn place(fact: &CommandFact) -> String {
    if fact.dir.is_empty() {
        String::new()
    } else {
        format!(" in {}", shown(&fact.dir))
    }
}

/// Returns the changed files on one line, as many as fit.
fn changed_line(changed: &[String]) -> Option<String> {
    let mut line = format!("- changed: {}", changed.first()?);
    for path in &changed[1..] {
        let longer = format!("{line}, {path}");
        if estimate_tokens(&longer) > MAX_CHANGED_TOKENS {
            break;
        }
        line = longer;
    }
    Some(line)
}

/// Returns the line that states how to find the rest.
fn more_line(entries: &[&EvidenceEntry]) -> String {
    let (mut commands, mut files) = (HashSet::new(), HashSet::new());
    for entry in entries {
        match &entry.fact {
            EvidenceFact::Command(it) => {
                commands.insert(it.command.as_str());
            }
            fact => files.extend(fact.path()),
        }
    }
    format!(
        "\n`memory-forge search --scope evidence <words>` finds all {} and {}.",
        count_noun(commands.len(), "command"),
        count_noun(files.len(), "file")
    )
}

/// Returns `true` for a command that only shows something.
fn only_reads(command: &str) -> bool {
    const READERS: [&str; 17] = [
        "ls", "cat", "head", "tail", "cd", "pwd", "echo", "grep", "rg", "find", "wc", "sed",
        "sort", "uniq", "which", "tree", "stat",
    ];
    let commands = parse_command(command);
    commands.iter().all(|it| READERS.contains(&it.program()))
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
