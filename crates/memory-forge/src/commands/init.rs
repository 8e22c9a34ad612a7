//! `init`: makes a directory a workspace. It never overwrites a file.

use clap::Args;
use forge::knowledge::start;

use crate::memory;
use crate::report::{CommandError, Exit};
use crate::settings::Settings;
use crate::ui::Ui;

/// Prepare this directory: `knowledge/`, its README and the ignore rule
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge init               Show what would be added, ask, add it
  memory-forge init --dry-run     Only show it")]
pub(crate) struct InitArgs {
    /// Agree to what is proposed without being asked
    #[arg(long, short)]
    pub(crate) yes: bool,

    /// Show what would be created and change nothing
    #[arg(long, short = 'n')]
    pub(crate) dry_run: bool,
}

pub(crate) fn run(args: InitArgs, settings: &Settings, ui: &mut Ui) -> Result<Exit, CommandError> {
    let workspace = memory::workspace(settings, ui)?;
    let proposal = start::propose(&workspace)?;
    if proposal.is_empty() {
        ui.line("✓ Everything is in place")?;
        return Ok(Exit::Success);
    }
    super::doctor::show_diff(&proposal, ui)?;
    if args.dry_run {
        ui.note("Nothing was changed (`--dry-run`)");
        return Ok(Exit::Success);
    }
    let place = workspace.root().display();
    if !ui.confirm(&format!("Prepare `{place}` like this?"), args.yes)? {
        ui.note("Nothing was changed");
        return Ok(Exit::Success);
    }
    proposal.apply(&workspace, "Prepare the workspace", settings.now)?;
    for file in &proposal.files {
        let done = if file.before.is_some() {
            "Updated"
        } else {
            "Created"
        };
        ui.line(&format!("✓ {done} {}", file.path))?;
    }
    ui.note(
        "Write what the project knows as Markdown into `knowledge/`, then `memory-forge search` it",
    );
    Ok(Exit::Success)
}
