//! Opens the library of a workspace for a door, with the model that the user
//! chose. Remarks about the index are printed here alone.

use forge_app::library::Library;
use forge_app::workspace::Workspace;

use crate::report::CommandError;
use crate::settings::Settings;
use crate::ui::Ui;

/// Returns the library of a workspace, with the model that the user chose.
pub(crate) fn open(workspace: Workspace, settings: &Settings) -> Library {
    Library::new(workspace, settings.model.clone())
}

/// Opens the library of a workspace and brings it up to date for a command.
pub(crate) fn in_step(
    workspace: &Workspace,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<Library, CommandError> {
    let mut library = open(workspace.clone(), settings);
    let (_, remarks) = library.refreshed(settings.now, false, &mut ui.watch())?;
    ui.remarks(&remarks);
    Ok(library)
}
