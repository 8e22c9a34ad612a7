//! `list`, `clear` and `preload`: commands that an earlier knowledge tool had.
//! Each does what its work is here, or names the command that does; none of
//! them writes a file. `memory` was another name for `stats`.

use clap::Args;
use forge_app::counts::count_noun;
use forge_app::workspace::FileRole;

use crate::paths;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::{Ui, escape_hidden};
use forge_app::model;

/// List the documents that searches look through
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge list
  memory-forge index --all    The same, with what changed")]
pub(crate) struct DocumentListArgs {
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
pub(crate) struct ClearIndexArgs {}

/// Check that the model for searches by meaning is ready
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge preload
  memory-forge index    Compute the vectors now")]
pub(crate) struct PreloadArgs {}

pub(crate) fn list_documents(
    _: DocumentListArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let workspace = paths::open_workspace(settings, ui)?;
    let scan = workspace.scan();
    let documents = scan
        .files
        .iter()
        .filter(|it| it.role == FileRole::Knowledge);
    let mut count = 0;
    for document in documents {
        ui.print_line(&escape_hidden(document.path.as_str()))?;
        count += 1;
    }
    match count {
        0 => ui.note(forge_app::library::NO_KNOWLEDGE_MESSAGE),
        count => ui.note(&format!(
            "{}; `memory-forge index --all` lists changes, `memory-forge stats` shows usage",
            count_noun(count, "document")
        )),
    }
    Ok(CommandExit::Success)
}

pub(crate) fn explain_clear(
    _: ClearIndexArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let workspace = paths::open_workspace(settings, ui)?;
    let derived = workspace.derived_folder();
    if derived.join("index.db").symlink_metadata().is_err() {
        ui.print_line("No index found.")?;
        return Ok(CommandExit::Success);
    }
    ui.print_line(
        "Nothing was removed: the index follows the files, so there is nothing to clear.",
    )?;
    ui.print_line("`memory-forge index --force` rebuilds it and keeps the usage statistics.")?;
    ui.print_line(&format!(
        "Deleting `{}` removes it, with the usage statistics and the undo journal.",
        escape_hidden(&derived.display().to_string())
    ))?;
    Ok(CommandExit::Success)
}

pub(crate) fn check_model(
    _: PreloadArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let workspace = paths::open_workspace(settings, ui)?;
    let model = model::model_for_workspace(&workspace, settings.model.as_deref())
        .map_err(|why| CommandError::failure(escape_hidden(&why).into_owned()))?;
    ui.print_line(&format!(
        "✓ The model {} is ready ({} dimensions); nothing has to be downloaded",
        escape_hidden(model.id()),
        model.dimensions()
    ))?;
    ui.note("`memory-forge index` computes the vectors of all documents now; a search does it too");
    Ok(CommandExit::Success)
}
