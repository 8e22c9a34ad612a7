//! `agent init`: writes how agents remember, once.

use clap::Args;
use forge_app::agents::system;
use forge_app::workspace::Workspace;

use crate::commands::doctor::show_diff;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::Ui;

/// Write `.agents/SYSTEM.md`, which teaches agents to save in two steps
///
/// Agents write a memory to a file of its own and then add a line to
/// `MEMORY.md`, as this file states. `agent context` puts it first. A file that
/// is there stays as it is.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge agent init
  memory-forge agent init --dry-run    Show the text")]
pub(crate) struct AgentInitArgs {
    /// Show what would be written and change nothing
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn run_agent_init(
    args: &AgentInitArgs,
    workspace: &Workspace,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let proposal = system::propose_system_file(workspace);
    if proposal.is_empty() {
        ui.print_line(&format!(
            "✓ {} exists and stays unchanged",
            system::SYSTEM_FILE
        ))?;
        return Ok(CommandExit::Success);
    }
    if args.dry_run {
        show_diff(&proposal, ui)?;
        ui.note("Nothing was changed (`--dry-run`)");
        return Ok(CommandExit::Success);
    }
    proposal.apply(workspace, "Write how agents remember", settings.now)?;
    ui.print_line(&format!("✓ Created {}", system::SYSTEM_FILE))?;
    ui.note(
        "`memory-forge agent context --agent <squad>/<agent> --prompt` puts it before an agent",
    );
    Ok(CommandExit::Success)
}
