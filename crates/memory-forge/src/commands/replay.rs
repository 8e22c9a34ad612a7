//! Runs `replay`: counts what hooks would have brought in past sessions. It
//! reads transcripts and writes nothing.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use forge_app::counts::count_noun;
use forge_app::replay;
use serde_json::{Value, json};

use crate::report::{CommandError, CommandExit};
use crate::ui::{Ui, escape_hidden};

/// Count what hooks would have brought in past sessions
///
/// Sessions are played in the order of time; each gets what earlier ones left.
/// A push is right where the action did what it warned of and, for a path, the
/// session used the path that was named. A need is an action that failed by
/// something that an earlier session had.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge replay ~/.claude/projects/-home-me-app
  memory-forge replay sessions/ --part second --json")]
pub(crate) struct ReplayArgs {
    /// Transcripts of Claude Code or Codex, or folders with them
    #[arg(required = true, value_name = "PATH")]
    pub(crate) transcripts: Vec<PathBuf>,

    /// Which sessions to count; the others still leave what they learned
    #[arg(long, value_enum, default_value_t)]
    pub(crate) part: ReplayHalf,

    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReplayHalf {
    /// Every session
    #[default]
    All,
    /// The earlier half, by time
    First,
    /// The later half
    Second,
}

pub(crate) fn run_replay(args: ReplayArgs, ui: &mut Ui) -> Result<CommandExit, CommandError> {
    let mut files = Vec::new();
    for path in &args.transcripts {
        if !path.exists() {
            let shown = path.display().to_string();
            return Err(CommandError::failure(format!(
                "No such file: `{}`",
                escape_hidden(&shown)
            )));
        }
        list_transcripts(path, MAX_FOLDER_DEPTH, &mut files);
    }
    files.sort();
    let part = match args.part {
        ReplayHalf::All => replay::ReplayPart::All,
        ReplayHalf::First => replay::ReplayPart::First,
        ReplayHalf::Second => replay::ReplayPart::Second,
    };
    let report = replay::replay_transcripts(&files, part);
    if args.json {
        ui.print_json(&report_json(&report))?;
        return Ok(CommandExit::Success);
    }
    let total = report.total();
    ui.print_line(&format!(
        "{} ({}, {}), {}",
        count_noun(report.sessions, "session"),
        count_noun(report.files, "file"),
        match report.copies {
            1 => "1 copy of another".to_owned(),
            copies => format!("{copies} copies of others"),
        },
        count_noun(report.moments, "moment")
    ))?;
    ui.print_line("")?;
    ui.print_line("key              pushes  right  contradicted  needs  met")?;
    let rows = report.by_key.iter().map(|(key, counts)| (*key, *counts));
    for (key, it) in rows.chain([("total", total)]) {
        ui.print_line(&format!(
            "{key:<16} {:>6} {:>6} {:>13} {:>6} {:>4}",
            it.pushes, it.right, it.contradicted, it.needs, it.met
        ))?;
    }
    ui.print_line("")?;
    let (items, right) = report.different_items();
    ui.print_line(&format!(
        "{}, {right} of them right each time",
        count_noun(items, "different item")
    ))?;
    if total.pushes >= replay::MIN_PUSHES_FOR_SHARES {
        let (low, high) = replay::share_interval(total.right, total.pushes);
        ui.print_line(&format!(
            "Precision {:.1} % (95 %: {:.1}–{:.1})",
            100.0 * total.right as f64 / total.pushes as f64,
            low as f64 / 10.0,
            high as f64 / 10.0
        ))?;
    }
    ui.print_line(&format!(
        "~{} tokens in all, ~{} a session",
        report.tokens,
        report.tokens / report.sessions.max(1)
    ))?;
    for push in &report.pushes {
        ui.detail(&format!(
            "{} session {} step {}: {}",
            if push.is_right { "right" } else { "wrong" },
            push.session,
            push.step,
            escape_hidden(&push.text)
        ));
    }
    for (session, step, what) in &report.missed {
        ui.detail(&format!(
            "missed session {session} step {step}: {}",
            escape_hidden(what)
        ));
    }
    Ok(CommandExit::Success)
}

fn report_json(report: &replay::ReplayReport) -> Value {
    let counts = |it: &replay::ReplayCounts| {
        json!({
            "pushes": it.pushes, "right": it.right, "contradicted": it.contradicted,
            "needs": it.needs, "met": it.met,
        })
    };
    let by_key: serde_json::Map<String, Value> = report
        .by_key
        .iter()
        .map(|(key, it)| ((*key).to_owned(), counts(it)))
        .collect();
    let pushes: Vec<Value> = report
        .pushes
        .iter()
        .map(|it| {
            json!({
                "session": it.session, "step": it.step, "key": it.key, "item": it.item,
                "text": it.text, "right": it.is_right,
            })
        })
        .collect();
    let missed: Vec<Value> = report
        .missed
        .iter()
        .map(|(session, step, what)| json!({ "session": session, "step": step, "needs": what }))
        .collect();
    let (items, right_items) = report.different_items();
    json!({
        "version": 1, "files": report.files, "copies": report.copies,
        "sessions": report.sessions, "moments": report.moments, "tokens": report.tokens,
        "total": counts(&report.total()), "by_key": by_key,
        "items": items, "right_items": right_items, "pushes": pushes, "missed": missed,
    })
}

/// Levels of folders that are searched for transcripts.
const MAX_FOLDER_DEPTH: usize = 8;

/// Lists transcripts below a folder, without those of subagents, whose calls
/// are not moments of the session. Links are not followed.
fn list_transcripts(path: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    if path.is_file() {
        files.push(path.to_owned());
        return;
    }
    let Ok(entries) = std::fs::read_dir(path) else {
        return;
    };
    for entry in entries.flatten() {
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        let name = entry.file_name().to_string_lossy().into_owned();
        if kind.is_dir() && depth > 0 {
            list_transcripts(&entry.path(), depth - 1, files);
        } else if kind.is_file() && name.ends_with(".jsonl") && !name.starts_with("agent-") {
            files.push(entry.path());
        }
    }
}
