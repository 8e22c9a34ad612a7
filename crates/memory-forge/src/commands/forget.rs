//! `forget`: takes documents out of searches until `restore` brings them
//! back. It never touches the files themselves.

use clap::{ArgGroup, Args};

use crate::report::{CommandError, Exit};
use crate::settings::Settings;
use crate::ui::Ui;

/// Take documents out of searches; their files stay as they are
///
/// Name the documents, or let `--max-files` and `--max-age` choose those that
/// matter least. Importance 8 and above is never chosen. `restore` lifts it,
/// `stats` shows it, and `index --force` does not change it.
#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("what").required(true).multiple(true),
    after_help = "\
Examples:
  memory-forge forget knowledge/old-billing.md
  memory-forge forget --max-age 180 --dry-run     Not found by a search for half a year
  memory-forge forget --max-files 500 --yes       Keep the 500 that matter most"
)]
pub(crate) struct ForgetArgs {
    /// Documents to forget
    #[arg(group = "what", value_name = "PATH")]
    pub(crate) paths: Vec<String>,

    /// Keep at most this many documents
    #[arg(long, group = "what", value_name = "N")]
    pub(crate) max_files: Option<usize>,

    /// Forget what no search has found for this many days
    #[arg(long, group = "what", value_name = "DAYS")]
    pub(crate) max_age: Option<u32>,

    /// Show what would be forgotten and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,

    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(_: ForgetArgs, _: &Settings, _: &mut Ui) -> Result<Exit, CommandError> {
    Err(super::not_in_this_build("forget"))
}
