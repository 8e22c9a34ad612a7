//! `doctor`: checks the installation and repairs what the audit found. It
//! changes nothing without `--fix` and a yes, and every change can be undone.

use clap::Args;

use crate::report::{CommandError, Exit};
use crate::settings::Settings;
use crate::ui::Ui;

/// Check the workspace and, with `--fix`, repair what the audit found
///
/// A repair shows its diff and asks first. The text that leaves `CLAUDE.md` or
/// `AGENTS.md` is kept word for word in `knowledge/legacy/`, and the bytes
/// before the change stay in the undo journal.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge doctor                    Check
  memory-forge doctor --fix --dry-run    Show the repair as a diff
  memory-forge doctor --fix              Show it, ask, repair
  memory-forge doctor --undo             Take the latest change back")]
pub(crate) struct DoctorArgs {
    /// Repair what can be repaired
    #[arg(long)]
    pub(crate) fix: bool,

    /// Show what would change and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,

    /// Take a change back: the latest one, or the one with this id
    #[arg(long, value_name = "ID", num_args = 0..=1, conflicts_with = "fix")]
    pub(crate) undo: Option<Option<String>>,

    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(_: DoctorArgs, _: &Settings, _: &mut Ui) -> Result<Exit, CommandError> {
    Err(super::not_in_this_build("doctor"))
}
