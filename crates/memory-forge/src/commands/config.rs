//! `config`: every key, its value here and where that comes from. It changes
//! nothing.

use clap::Args;

use crate::report::{CommandError, Exit};
use crate::settings::Settings;
use crate::ui::Ui;

/// Show every configuration key with its value, default and meaning
///
/// Keys are set in `memory-forge.toml` at the root of the workspace.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge config
  memory-forge config --json")]
pub(crate) struct ConfigArgs {
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(_: ConfigArgs, _: &Settings, _: &mut Ui) -> Result<Exit, CommandError> {
    Err(super::not_in_this_build("config"))
}
