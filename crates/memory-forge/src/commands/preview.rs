//! `preview`: how one file looks to a search. It changes nothing.

use std::path::PathBuf;

use clap::Args;

use crate::report::{CommandError, Exit};
use crate::settings::Settings;
use crate::ui::Ui;

/// Show how a file is cut into passages, and what was odd about it
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge preview knowledge/refunds.md
  memory-forge preview knowledge/refunds.md --json")]
pub(crate) struct PreviewArgs {
    /// The file to look at
    pub(crate) file: PathBuf,

    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(_: PreviewArgs, _: &Settings, _: &mut Ui) -> Result<Exit, CommandError> {
    Err(super::not_in_this_build("preview"))
}
