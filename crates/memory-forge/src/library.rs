//! Opens the library of a workspace for a door, with the model that the user
//! chose. Remarks about the index are printed here alone.

use forge_app::library::KnowledgeLibrary;
use forge_app::workspace::Workspace;

use crate::report::CommandError;
use crate::settings::Settings;
use crate::ui::Ui;

/// Returns the library of a workspace, with the model that the user chose.
pub(crate) fn open_library(workspace: Workspace, settings: &Settings) -> KnowledgeLibrary {
    KnowledgeLibrary::new(workspace, settings.model.clone())
}

/// Opens the library of a workspace and brings it up to date for a command.
pub(crate) fn open_refreshed(
    workspace: &Workspace,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<KnowledgeLibrary, CommandError> {
    let mut library = open_library(workspace.clone(), settings);
    let (_, remarks) = library.refresh_index(settings.now, false, &mut ui.watch_stages())?;
    ui.show_remarks(&remarks);
    Ok(library)
}
