//! `init`: makes a directory a workspace. It never overwrites a file.

use clap::Args;

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

pub(crate) fn run(_: InitArgs, _: &Settings, _: &mut Ui) -> Result<Exit, CommandError> {
    Err(super::not_in_this_build("init"))
}
