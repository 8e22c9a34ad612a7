//! `status`: one screen on where the work stands, what is stale, what memory
//! costs and what is installed where. It changes nothing.

use clap::Args;

use crate::report::{CommandError, Exit};
use crate::settings::Settings;
use crate::ui::Ui;

/// Show where the work stands, what memory costs and what is installed
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

pub(crate) fn run(_: StatusArgs, _: &Settings, _: &mut Ui) -> Result<Exit, CommandError> {
    Err(super::not_in_this_build("status"))
}
