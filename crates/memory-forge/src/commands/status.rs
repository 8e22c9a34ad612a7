//! Runs `status`: one screen on the state of the work, what is stale, what
//! memory costs and what is installed where. It changes nothing.

use clap::Args;
use forge_app::status;

use crate::paths;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::status::{MAX_SCREEN_COLUMNS, StatusView};
use crate::ui::Ui;

/// Show where the work stands, what it costs, what is installed
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge status
  memory-forge status --json")]
pub(crate) struct StatusArgs {
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run_status(
    args: StatusArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let workspace = paths::open_workspace(settings, ui)?;
    let around = settings.surroundings(&workspace);
    let looking = ui.show_busy("Looking");
    let status = status::WorkspaceStatus::gather(&around);
    drop(looking);
    let status = StatusView(&status);
    if args.json {
        ui.print_json(&status.to_json())?;
    } else {
        let width = settings.width.min(MAX_SCREEN_COLUMNS);
        ui.print(&status.render_screen(width))?;
    }
    Ok(CommandExit::Success)
}
