//! Runs `replay`: counts what hooks would have brought in past sessions. It
//! reads transcripts and writes nothing.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use forge_app::replay;

use crate::report::{CommandError, CommandExit};
use crate::ui::{Ui, escape_hidden};

mod html;
mod json;
mod text;

/// Count what hooks would have brought in past sessions
///
/// Sessions are played in the order of time; each gets what earlier ones left.
/// A push is right where the action did what it warned of and, for a path, the
/// session used the path that was named. A need is an action that failed by
/// something that an earlier session had. Steps are calls that failed by what a
/// right push warned of, turns are commands that the user refused all the same.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge replay ~/.claude/projects/-home-me-app
  memory-forge replay sessions/ --part second --json
  memory-forge replay sessions/ --html > replay.html")]
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

    /// Print the result as one HTML page that needs no other file
    #[arg(long, conflicts_with = "json")]
    pub(crate) html: bool,
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
        ui.print_json(&json::report_json(&report))?;
    } else if args.html {
        ui.print(&html::render_page(&report))?;
    } else {
        text::print_report(&report, ui)?;
    }
    Ok(CommandExit::Success)
}

/// Returns why a need was not met, as far as it is known.
fn explain_need(need: &replay::ReplayedNeed) -> String {
    let reason = match (need.timing, need.silences.first()) {
        (replay::NeedTiming::Late, _) => "brought only to a later action".to_owned(),
        (_, Some(silence)) => silence.clone(),
        (_, None) => "no key matched".to_owned(),
    };
    match &need.nearest {
        Some(entry) => format!("{reason}; nearest: {}", entry.text),
        None => reason,
    }
}

/// Returns a share with its interval in percent; `None` below the number of
/// pushes from which on a share means something.
fn describe_precision(report: &replay::ReplayReport) -> Option<String> {
    let total = report.total();
    if total.pushes < replay::MIN_PUSHES_FOR_SHARES {
        return None;
    }
    let (low, high) = replay::share_interval(total.right, total.pushes);
    let (low_items, high_items) = replay::resampled_interval(&report.items());
    let percent = |thousandths: usize| thousandths as f64 / 10.0;
    Some(format!(
        "Precision {:.1} % (95 %: {:.1}–{:.1}; by drawing the different items again: {:.1}–{:.1})",
        100.0 * total.right as f64 / total.pushes as f64,
        percent(low),
        percent(high),
        percent(low_items),
        percent(high_items),
    ))
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
