//! `list`, `clear` and `preload`: commands that an earlier knowledge tool had.
//! Each does what its work is here, or names the command that does; none of
//! them writes a file. `memory` was another name for `stats`.

use clap::Args;
use forge_app::routing;
use forge_app::workspace::Role;

use crate::paths;
use crate::report::{CommandError, Exit};
use crate::settings::Settings;
use crate::ui::{Ui, printable};
use forge_app::model;

/// List the documents that searches look through
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge list
  memory-forge index --all    The same, with what changed")]
pub(crate) struct ListArgs {
    /// Has no effect: all documents are always listed
    #[arg(long, hide = true)]
    discover: bool,
}

/// Say how to rebuild or remove the index
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge clear
  memory-forge index --force    Rebuild the index")]
pub(crate) struct ClearArgs {}

/// Check that the model for searches by meaning is ready
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge preload
  memory-forge index    Compute the vectors now")]
pub(crate) struct PreloadArgs {}

pub(crate) fn list(_: ListArgs, settings: &Settings, ui: &mut Ui) -> Result<Exit, CommandError> {
    let workspace = paths::workspace(settings, ui)?;
    let scan = routing::scan(&workspace);
    let documents = scan.files.iter().filter(|it| it.role == Role::Knowledge);
    let mut count = 0;
    for document in documents {
        ui.line(&printable(document.path.as_str()))?;
        count += 1;
    }
    match count {
        0 => ui.note(forge_app::library::NO_KNOWLEDGE),
        count => ui.note(&format!(
            "{count} document(s); `memory-forge index --all` says what changed, `memory-forge stats` what is used"
        )),
    }
    Ok(Exit::Success)
}

pub(crate) fn clear(_: ClearArgs, settings: &Settings, ui: &mut Ui) -> Result<Exit, CommandError> {
    let workspace = paths::workspace(settings, ui)?;
    let derived = workspace.derived();
    if derived.join("index.db").symlink_metadata().is_err() {
        ui.line("No index found.")?;
        return Ok(Exit::Success);
    }
    ui.line("Nothing was removed: the index follows the files, so there is nothing to clear.")?;
    ui.line("`memory-forge index --force` rebuilds it and keeps the usage statistics.")?;
    ui.line(&format!(
        "Deleting `{}` removes it, with the usage statistics and the undo journal.",
        printable(&derived.display().to_string())
    ))?;
    Ok(Exit::Success)
}

pub(crate) fn preload(
    _: PreloadArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<Exit, CommandError> {
    let workspace = paths::workspace(settings, ui)?;
    let model = model::of(&workspace, settings.model.as_deref())
        .map_err(|why| CommandError::failure(printable(&why).into_owned()))?;
    ui.line(&format!(
        "✓ The model {} is ready ({} dimensions); nothing has to be downloaded",
        printable(model.id()),
        model.dimensions()
    ))?;
    ui.note("`memory-forge index` computes the vectors of all documents now; a search does it too");
    Ok(Exit::Success)
}
