//! `undo`: reverts a change from the journal. It changes nothing that was
//! edited after that change.

use clap::Args;
use forge_app::workspace::{Error, JournalEntry, Workspace};

use crate::library;
use crate::paths;
use crate::report::{CommandError, Exit};
use crate::settings::Settings;
use crate::ui::{Ui, printable, style};

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

pub(crate) fn run(args: UndoArgs, settings: &Settings, ui: &mut Ui) -> Result<Exit, CommandError> {
    let workspace = paths::workspace(settings, ui)?;
    undo(&workspace, &args, settings, ui)
}

pub(super) fn undo(
    workspace: &Workspace,
    args: &UndoArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<Exit, CommandError> {
    if args.dry_run {
        return would_undo(workspace, args, ui);
    }
    let id = args.id.as_deref();
    let undone = workspace
        .undo(id, settings.now)
        .map_err(|error| cannot_undo(workspace, error))?;
    library::in_step(workspace, settings, ui)?;
    let files: Vec<&str> = undone.files.iter().map(|path| path.as_str()).collect();
    if args.json {
        ui.json(&serde_json::json!({
            "version": 1, "undid": undone.undid, "what": undone.what,
            "restored": files, "change": undone.id,
        }))?;
        return Ok(Exit::Success);
    }
    let good = style::GOOD;
    for path in &undone.files {
        // What the change had created is gone again.
        let there = workspace.absolute(path).symlink_metadata().is_ok();
        let done = if there { "Restored" } else { "Removed" };
        ui.line(&format!(
            "{good}✓{good:#} {done} {}",
            printable(path.as_str())
        ))?;
    }
    if files.is_empty() {
        ui.line("✓ Nothing had to be restored")?;
    }
    ui.line(&format!("{good}✓{good:#} Index updated"))?;
    let what = printable(&undone.what).into_owned();
    ui.note(&format!("Undid change {}: {what}", undone.undid));
    if let Some(id) = &undone.id {
        ui.note(&format!("`memory-forge doctor --undo {id}` does it again"));
    }
    Ok(Exit::Success)
}

fn would_undo(workspace: &Workspace, args: &UndoArgs, ui: &mut Ui) -> Result<Exit, CommandError> {
    let id = args.id.as_deref();
    let history = workspace.history()?;
    let wanted = |entry: &&JournalEntry| match id {
        Some(id) => entry.id.trim_start_matches('0') == id.trim_start_matches('0'),
        None => entry.is_candidate_for_undo(),
    };
    let Some(entry) = history.iter().find(wanted) else {
        let error = match id {
            Some(id) => Error::NoSuchChange { id: id.to_owned() },
            None => Error::NothingToUndo,
        };
        return Err(cannot_undo(workspace, error));
    };
    let files: Vec<&str> = entry.files.iter().map(|file| file.path.as_str()).collect();
    if args.json {
        ui.json(&serde_json::json!({
            "version": 1, "would_undo": entry.id, "what": entry.what, "files": files,
        }))?;
        return Ok(Exit::Success);
    }
    ui.line(&format!(
        "Would undo change {} of {}: {}",
        entry.id,
        entry.time,
        printable(&entry.what)
    ))?;
    for file in files {
        ui.line(&format!("  {}", printable(file)))?;
    }
    Ok(Exit::Success)
}

/// How many changes a hint names.
const RECENT: usize = 5;

fn cannot_undo(workspace: &Workspace, error: Error) -> CommandError {
    match error {
        Error::ChangedSince { path } => CommandError::failure(format!(
            "`{}` was edited after that change; nothing was restored",
            path.strip_prefix(workspace.root())
                .unwrap_or(&path)
                .display()
        ))
        .hint(
            "The bytes before the change are in `.memory-forge/undo/`, one folder for each change",
        ),
        Error::NoSuchChange { id } => {
            let mut error = CommandError::failure(format!("There is no change `{id}` to undo"));
            for entry in workspace.history().unwrap_or_default().iter().take(RECENT) {
                error = error.hint(format!("{}: {}", entry.id, printable(&entry.what)));
            }
            error
        }
        other => other.into(),
    }
}
