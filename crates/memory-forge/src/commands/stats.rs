//! `stats`: what the index holds and how it is used. It changes nothing.

use clap::Args;
use forge_app::index::Index;
use forge_app::stats::Stats;

use crate::paths;
use crate::report::{CommandError, Exit};
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

pub(crate) fn run(args: StatsArgs, settings: &Settings, ui: &mut Ui) -> Result<Exit, CommandError> {
    let workspace = paths::workspace(settings, ui)?;
    let Some(index) = Index::open_existing(&workspace.derived())? else {
        if args.json {
            ui.json(&serde_json::json!({ "version": 1, "index": null }))?;
        } else {
            ui.line("No index found. Run `memory-forge index` to create one.")?;
        }
        return Ok(Exit::Success);
    };
    let stats = Stats::gather(&workspace, &index)?;
    if args.json {
        ui.json(&stats.json())?;
        return Ok(Exit::Success);
    }
    ui.print(&stats.text())?;
    Ok(Exit::Success)
}
