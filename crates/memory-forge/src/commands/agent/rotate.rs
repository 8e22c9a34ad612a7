//! Runs `agent rotate`: shortens files that grow, and loses nothing.

use clap::Args;
use forge_app::agents::pointers;
use forge_app::agents::rotate::{self, RotationReport};
use forge_app::workspace::{RelPath, Workspace};
use serde_json::json;

use super::AgentSelector;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::{Ui, escape_hidden};

/// Move the oldest entries of long state files to an archive, word for word
///
/// Looks at `state.md`, `learnings.md`, `output.md` and `feedback.md` of every
/// agent and at what squads share. Entries have a date; the newest stay, and a
/// line names the file with the others, `<name>-archive.md` in the same folder. An
/// index that is too long is brought within its caps.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge agent rotate --dry-run
  memory-forge agent rotate --agent eng/builder --max-bytes 8000")]
pub(crate) struct RotateArgs {
    #[command(flatten)]
    whose: AgentSelector,

    /// Leave files alone that have no more than this
    #[arg(long, value_name = "BYTES", default_value_t = rotate::ROTATE_ABOVE_BYTES)]
    max_bytes: usize,

    /// Say what would move and change nothing
    #[arg(long)]
    dry_run: bool,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run_agent_rotate(
    args: &RotateArgs,
    workspace: &Workspace,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let homes = args.whose.select_all(workspace)?;
    let mut files: Vec<RelPath> = Vec::new();
    for home in homes.iter().filter(|home| home.squad_and_agent().is_some()) {
        files.extend(rotate::list_agent_files(home)?);
    }
    if args.whose.agent.is_none() {
        files.extend(rotate::list_shared_files(workspace));
    }
    let done = rotate::rotate_files(
        workspace,
        &files,
        args.max_bytes,
        args.dry_run,
        settings.now,
    )?;
    let mut indexed = Vec::new();
    for home in &homes {
        let found = pointers::check_pointer_indexes(workspace, home, settings.now)?;
        let too_long = found.files.iter().filter(|file| file.was_too_long);
        let too_long: Vec<RelPath> = too_long.map(|file| file.path.clone()).collect();
        if !too_long.is_empty() && !args.dry_run {
            pointers::update_pointer_indexes(workspace, home, false, settings.now)?;
        }
        indexed.extend(too_long);
    }
    if args.json {
        ui.print_json(&rotation_json(args, &done, &indexed))?;
    } else {
        show_rotation(args, &done, &indexed, ui)?;
    }
    Ok(CommandExit::Success)
}

fn show_rotation(
    args: &RotateArgs,
    done: &RotationReport,
    indexed: &[RelPath],
    ui: &mut Ui,
) -> Result<(), CommandError> {
    let moved = if args.dry_run { "would move" } else { "moved" };
    for file in &done.files {
        let path = escape_hidden(file.path.as_str());
        if file.moved > 0 {
            ui.print_line(&format!(
                "{path}: {} entries {moved} to {} ({} → {} bytes)",
                file.moved,
                escape_hidden(file.archive.as_str()),
                file.before,
                file.after
            ))?;
        }
        if file.is_too_long(args.max_bytes) {
            ui.warn(&format!(
                "{path} has {} bytes and no older entries with a date to move; shorten it by hand",
                file.after
            ));
        }
    }
    let brought = if args.dry_run {
        "is too long"
    } else {
        "was brought within its caps"
    };
    for path in indexed {
        ui.print_line(&format!("{} {brought}", escape_hidden(path.as_str())))?;
    }
    if done.files.is_empty() && indexed.is_empty() {
        ui.print_line(&format!("No file has more than {} bytes", args.max_bytes))?;
    }
    Ok(())
}

fn rotation_json(
    args: &RotateArgs,
    done: &RotationReport,
    indexed: &[RelPath],
) -> serde_json::Value {
    let files: Vec<_> = done
        .files
        .iter()
        .map(|file| {
            json!({
                "path": file.path.as_str(), "archive": file.archive.as_str(),
                "moved": file.moved, "before": file.before, "after": file.after,
                "tooLong": file.is_too_long(args.max_bytes),
            })
        })
        .collect();
    json!({
        "version": 1, "dryRun": args.dry_run, "files": files,
        "indexes": indexed.iter().map(|it| it.as_str()).collect::<Vec<_>>(),
        "change": done.receipt.as_ref().and_then(|it| it.id.clone()),
    })
}
