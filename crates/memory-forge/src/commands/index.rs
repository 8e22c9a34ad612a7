//! `index`: brings the derived index up to date with `knowledge/`, and the list
//! in `knowledge/README.md` where it has one. It changes no other Markdown.

use clap::Args;
use forge_app::index::IndexCounts;
use forge_app::indexing::{self, FileOutcome};

use crate::library;
use crate::paths;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::{Ui, escape_hidden, style};

/// Bring the index of `knowledge/` up to date
///
/// Only files whose text changed are read again. The index is a cache in
/// `.memory-forge/`: deleting it loses nothing. A search does all this by
/// itself; run it to see the details or to prepare a large repository. Unlike
/// a search, it also updates the list of documents between the two marks in
/// `knowledge/README.md`, where `init` or `doctor --fix` began one.
///
/// Files that agents load at every start (`CLAUDE.md`, `AGENTS.md`, `.claude/`
/// and the like) are never indexed; `audit` looks at those.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge index               Read what changed
  memory-forge index --force       Forget the index and build it anew
  memory-forge index --json        The same, for a program")]
pub(crate) struct IndexArgs {
    /// Build the index anew instead of reading only what changed
    #[arg(long, short)]
    pub(crate) force: bool,

    /// Leave vectors out; searches by meaning find these files later
    #[arg(long)]
    pub(crate) no_vectors: bool,

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
        vectors: if args.no_vectors {
            indexing::VectorBudget::Nothing
        } else {
            indexing::VectorBudget::ToTheEnd
        },
        must_be_kept: true,
        now: settings.now,
    };
    let done = indexing::update_index(&mut library, &request, &mut ui.watch_stages())?;
    ui.show_remarks(&done.remarks);
    if let Some(why) = done.not_kept {
        return Err(
            CommandError::failure(format!("The index could not be kept: {why}"))
                .hint("Searches are still answered, from memory"),
        );
    }
    let (mut files, listed, counts) = (done.files, done.is_list_written, done.counts);
    if listed && let Some(list) = files.iter_mut().find(|(path, _)| path == indexing::LIST) {
        list.1 = FileOutcome::Reindexed;
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
        if let FileOutcome::Skipped(why) = outcome {
            ui.warn(&format!("`{path}` is not in the index: {why}"));
        }
    }
    if files.is_empty() {
        ui.note(forge_app::library::NO_KNOWLEDGE_MESSAGE);
    }
    if !args.no_vectors && counts.embedded < counts.chunks {
        ui.note(&format!(
            "{} of {} passages have a vector",
            counts.embedded, counts.chunks
        ));
    }
    Ok(CommandExit::Success)
}

/// Upper bound for unchanged files that are listed; more are counted.
const MAX_LISTED_UNCHANGED: usize = 200;

fn show_outcomes(
    files: &[(String, FileOutcome)],
    all: bool,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    let count = indexing::OutcomeCounts::from_files(files);
    let unchanged = count.unchanged;
    let fold = !all && unchanged > MAX_LISTED_UNCHANGED;
    for (path, outcome) in files {
        let (style, sign, word) = match outcome {
            FileOutcome::Unchanged if fold => continue,
            FileOutcome::Unchanged => (style::FAINT, '✓', "unchanged"),
            FileOutcome::Indexed => (style::GOOD, '+', "indexed"),
            FileOutcome::Reindexed => (style::WARNING, '↻', "reindexed"),
            FileOutcome::Removed => (style::REMOVED, '✗', "removed from index"),
            FileOutcome::Skipped(_) => (style::CRITICAL, '!', "skipped"),
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
    files: &[(String, FileOutcome)],
    counts: IndexCounts,
    listed: bool,
) -> serde_json::Value {
    let changed: Vec<_> = files
        .iter()
        .filter_map(|(path, outcome)| {
            let (what, why) = match outcome {
                FileOutcome::Unchanged => return None,
                FileOutcome::Indexed => ("indexed", None),
                FileOutcome::Reindexed => ("reindexed", None),
                FileOutcome::Removed => ("removed", None),
                FileOutcome::Skipped(why) => ("skipped", Some(why)),
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
