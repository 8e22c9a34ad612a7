//! `index`: brings the derived index up to date with `knowledge/`, and the list
//! in `knowledge/README.md` where it has one. It changes no other Markdown.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use clap::Args;
use forge_app::inclusion;
use forge_app::index::IndexCounts;
use forge_app::indexing;

use crate::library;
use crate::paths;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::{Ui, escape_hidden, style};

/// Bring the index of `knowledge/` up to date
///
/// Only files whose text changed are read again. The index is a cache in
/// `.memory-forge/`: deleting it loses nothing. A search does all this
/// automatically; run it to see the details or to prepare a large repository. Unlike
/// a search, it also updates the list of documents between the two marks in
/// `knowledge/README.md`, where `init` or `doctor --fix` began one.
///
/// Files that agents load at every start (`CLAUDE.md`, `AGENTS.md`, `.claude/`
/// and the like) are never indexed; `audit` looks at those.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge index               Read what changed
  memory-forge index --force       Delete the index and rebuild it
  memory-forge index --background  Let the vectors of many documents follow
  memory-forge index --json        The same, for a program")]
pub(crate) struct IndexArgs {
    /// Rebuild the index instead of reading only what changed
    #[arg(long, short)]
    pub(crate) force: bool,

    /// Leave vectors out; searches by meaning find these files later
    #[arg(long)]
    pub(crate) no_vectors: bool,

    /// Compute vectors for at most this long; the next run continues from there
    #[arg(long, value_name = "SECONDS", conflicts_with = "no_vectors")]
    pub(crate) seconds: Option<u32>,

    /// Return once words can be found; vectors follow, for at most 10 minutes
    /// or `--seconds`
    #[arg(long, conflicts_with = "no_vectors")]
    pub(crate) background: bool,

    /// Leave the list in `knowledge/README.md` as it is
    #[arg(long)]
    pub(crate) no_readme: bool,

    /// List unchanged files however many there are
    #[arg(long)]
    pub(crate) all: bool,

    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run_index(
    args: IndexArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let mut library = library::open_library(paths::open_workspace(settings, ui)?, settings);
    let request = indexing::IndexRequest {
        force: args.force,
        keep_list: !args.no_readme,
        vectors: match (args.no_vectors || args.background, args.seconds) {
            (true, _) => indexing::VectorBudget::Nothing,
            (false, Some(seconds)) => {
                indexing::VectorBudget::For(Duration::from_secs(seconds.into()))
            }
            (false, None) => indexing::VectorBudget::ToTheEnd,
        },
        must_be_kept: true,
        now: settings.now,
    };
    let mut done = indexing::update_index(&mut library, &request, &mut ui.watch_stages())?;
    ui.show_remarks(&done.remarks);
    let vectors = done.vectors_line();
    if let Some(why) = done.not_kept.take() {
        return Err(
            CommandError::failure(format!("The index could not be kept: {why}"))
                .hint("Searches are still answered, from memory"),
        );
    }
    let (mut files, listed, counts) = (done.files, done.is_list_written, done.counts);
    if listed && let Some(list) = files.iter_mut().find(|(path, _)| path == indexing::LIST) {
        list.1 = indexing::FileOutcome::Reindexed;
    }
    if args.json {
        ui.print_json(&outcomes_json(&files, counts, listed))?;
    } else {
        show_outcomes(&files, args.all, ui)?;
    }
    if listed {
        ui.note(&format!(
            "Updated the list of documents in `{}`",
            indexing::LIST
        ));
    }
    for (path, outcome) in &files {
        if let indexing::FileOutcome::Skipped(why) = outcome {
            ui.warn(&format!("`{path}` is not in the index: {why}"));
        }
    }
    if files.is_empty() {
        ui.note(forge_app::library::NO_KNOWLEDGE_MESSAGE);
    }
    let left_out = library.workspace.scan().left_out;
    if let Some(line) = inclusion::left_out_line(&left_out) {
        ui.note(&line);
    }
    if let Some(vectors) = vectors.filter(|_| !args.no_vectors) {
        ui.note(&vectors);
        if args.background {
            let seconds = args.seconds.unwrap_or(BACKGROUND_SECONDS);
            begin_in_background(library.workspace.root(), seconds, settings, ui);
        }
    }
    Ok(CommandExit::Success)
}

/// Default time for vectors that are computed in the background.
const BACKGROUND_SECONDS: u32 = 600;

/// Starts a second process of this program, for the vectors alone. It ends when they are
/// done or its time is over, whichever comes first, and never twice at once:
/// the process that computes vectors holds a lock. Nothing stays behind.
fn begin_in_background(root: &Path, seconds: u32, settings: &Settings, ui: &mut Ui) {
    let program = settings
        .binary
        .as_deref()
        .unwrap_or(Path::new("memory-forge"));
    let started = {
        let mut command = Command::new(program);
        command
            .arg("--root")
            .arg(root)
            .args(["--quiet", "index", "--no-readme", "--seconds"])
            .arg(seconds.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        // A terminal that is closed must not end it.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command.spawn()
    };
    match started {
        Ok(_) => ui.note(&format!(
            "They are computed in the background, for at most {seconds} s"
        )),
        Err(error) => ui.warn(&format!(
            "They could not be computed in the background: {error}; `memory-forge index` computes them"
        )),
    }
}

/// More unchanged files than this are counted instead of listed.
const MAX_LISTED_UNCHANGED: usize = 200;

fn show_outcomes(
    files: &[(String, indexing::FileOutcome)],
    all: bool,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    let count = indexing::OutcomeCounts::from_files(files);
    let unchanged = count.unchanged;
    let fold = !all && unchanged > MAX_LISTED_UNCHANGED;
    for (path, outcome) in files {
        let (style, sign, word) = match outcome {
            indexing::FileOutcome::Unchanged if fold => continue,
            indexing::FileOutcome::Unchanged => (style::FAINT, '✓', "unchanged"),
            indexing::FileOutcome::Indexed => (style::GOOD, '+', "indexed"),
            indexing::FileOutcome::Reindexed => (style::WARNING, '↻', "reindexed"),
            indexing::FileOutcome::Removed => (style::REMOVED, '✗', "removed from index"),
            indexing::FileOutcome::Skipped(_) => (style::CRITICAL, '!', "skipped"),
        };
        ui.print_line(&format!(
            "{style}{sign}{style:#} {} ({word})",
            escape_hidden(path)
        ))?;
    }
    if fold {
        ui.print_line(&format!(
            "✓ {unchanged} more files (unchanged; `--all` lists them)"
        ))?;
    }
    ui.print_line(&format!(
        "\nSummary: {} indexed, {} updated, {} removed",
        count.added + unchanged,
        count.updated,
        count.removed
    ))
}

fn outcomes_json(
    files: &[(String, indexing::FileOutcome)],
    counts: IndexCounts,
    listed: bool,
) -> serde_json::Value {
    let changed: Vec<_> = files
        .iter()
        .filter_map(|(path, outcome)| {
            let (what, why) = match outcome {
                indexing::FileOutcome::Unchanged => return None,
                indexing::FileOutcome::Indexed => ("indexed", None),
                indexing::FileOutcome::Reindexed => ("reindexed", None),
                indexing::FileOutcome::Removed => ("removed", None),
                indexing::FileOutcome::Skipped(why) => ("skipped", Some(why)),
            };
            let mut file = serde_json::json!({ "path": path, "outcome": what });
            if let Some(why) = why {
                file["why"] = why.as_str().into();
            }
            Some(file)
        })
        .collect();
    let count = indexing::OutcomeCounts::from_files(files);
    let mut value = serde_json::json!({
        "version": 1,
        "files": changed,
        "summary": {
            "new": count.added, "updated": count.updated, "removed": count.removed,
            "unchanged": count.unchanged, "skipped": count.skipped,
        },
        "index": { "files": counts.files, "passages": counts.chunks, "embedded": counts.embedded },
    });
    if listed {
        value["readmeUpdated"] = true.into();
    }
    value
}
