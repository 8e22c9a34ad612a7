//! `undo`: reverts a change from the journal. It changes nothing that was
//! edited after that change.

use clap::Args;
use forge_app::undo;
use forge_app::workspace::Workspace;

use crate::library;
use crate::paths;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::{Ui, escape_hidden, style};

/// Revert a change: the latest one, or the one with this id
///
/// Restores the exact bytes from before the change, of all its files or of
/// none. The same as `doctor --undo`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge undo --dry-run    Show what would be reverted
  memory-forge undo
  memory-forge undo 42")]
pub(crate) struct UndoArgs {
    /// The id of the change
    #[arg(value_name = "ID")]
    pub(super) id: Option<String>,

    /// Show what would change and change nothing
    #[arg(long)]
    pub(super) dry_run: bool,

    /// Print the result as JSON
    #[arg(long)]
    pub(super) json: bool,
}

pub(crate) fn run_undo(
    args: UndoArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let workspace = paths::open_workspace(settings, ui)?;
    undo_or_preview(&workspace, &args, settings, ui)
}

pub(super) fn undo_or_preview(
    workspace: &Workspace,
    args: &UndoArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    if args.dry_run {
        return preview_undo(workspace, args, ui);
    }
    let id = args.id.as_deref();
    let receipt = undo::undo_change(workspace, id, settings.now)?;
    library::open_refreshed(workspace, settings, ui)?;
    if args.json {
        let files = receipt.files.iter().map(|it| it.path.as_str());
        ui.print_json(&serde_json::json!({
            "version": 1, "undid": receipt.undid, "what": receipt.what,
            "restored": files.collect::<Vec<_>>(), "change": receipt.id,
        }))?;
        return Ok(CommandExit::Success);
    }
    let good = style::GOOD;
    for file in &receipt.files {
        let done = if file.is_removed {
            "Removed"
        } else {
            "Restored"
        };
        ui.print_line(&format!(
            "{good}✓{good:#} {done} {}",
            escape_hidden(file.path.as_str())
        ))?;
    }
    if receipt.files.is_empty() {
        ui.print_line("✓ Nothing had to be restored")?;
    }
    ui.print_line(&format!("{good}✓{good:#} Index updated"))?;
    let what = escape_hidden(&receipt.what).into_owned();
    ui.note(&format!("Undid change {}: {what}", receipt.undid));
    if let Some(id) = &receipt.id {
        ui.note(&format!("`memory-forge doctor --undo {id}` redoes it"));
    }
    Ok(CommandExit::Success)
}

fn preview_undo(
    workspace: &Workspace,
    args: &UndoArgs,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let entry = undo::preview_undo(workspace, args.id.as_deref())?;
    let files: Vec<&str> = entry.files.iter().map(|file| file.path.as_str()).collect();
    if args.json {
        ui.print_json(&serde_json::json!({
            "version": 1, "would_undo": entry.id, "what": entry.what, "files": files,
        }))?;
        return Ok(CommandExit::Success);
    }
    ui.print_line(&format!(
        "Would undo change {} of {}: {}",
        entry.id,
        entry.time,
        escape_hidden(&entry.what)
    ))?;
    for file in files {
        ui.print_line(&format!("  {}", escape_hidden(file)))?;
    }
    Ok(CommandExit::Success)
}
