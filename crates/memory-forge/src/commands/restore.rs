//! `restore`: brings forgotten documents back into searches. It never touches
//! the files themselves.

use clap::{ArgGroup, Args};

use crate::report::{CommandError, Exit};
use crate::settings::Settings;
use crate::ui::Ui;

/// Bring forgotten documents back into searches
#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("what").required(true),
    after_help = "\
Examples:
  memory-forge restore knowledge/old-billing.md
  memory-forge restore --all"
)]
pub(crate) struct RestoreArgs {
    /// Documents to bring back
    #[arg(group = "what", value_name = "PATH")]
    pub(crate) paths: Vec<String>,

    /// Bring all of them back
    #[arg(long, group = "what")]
    pub(crate) all: bool,

    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(_: RestoreArgs, _: &Settings, _: &mut Ui) -> Result<Exit, CommandError> {
    Err(super::not_in_this_build("restore"))
}
