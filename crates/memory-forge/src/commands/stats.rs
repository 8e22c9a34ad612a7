//! `stats`: what the index holds and how it is used. It changes nothing.

use clap::Args;

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

pub(crate) fn run(_: StatsArgs, _: &Settings, _: &mut Ui) -> Result<Exit, CommandError> {
    Err(super::not_in_this_build("stats"))
}
