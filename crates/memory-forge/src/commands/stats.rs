//! `stats`: what the index holds and how it is used. It changes nothing.

use clap::Args;
use forge_app::index::Index;
use forge_app::stats::IndexStats;

use crate::paths;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::Ui;

/// Show what the index holds, what is used and what was forgotten
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge stats
  memory-forge stats --json")]
pub(crate) struct StatsArgs {
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run_stats(
    args: StatsArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let workspace = paths::open_workspace(settings, ui)?;
    let Some(index) = Index::open_existing(&workspace.derived_folder())? else {
        if args.json {
            ui.print_json(&serde_json::json!({ "version": 1, "index": null }))?;
        } else {
            ui.print_line("No index found. Run `memory-forge index` to create one.")?;
        }
        return Ok(CommandExit::Success);
    };
    let stats = IndexStats::gather(&workspace, &index)?;
    if args.json {
        ui.print_json(&stats.to_json())?;
        return Ok(CommandExit::Success);
    }
    ui.print(&stats.render_text())?;
    Ok(CommandExit::Success)
}
