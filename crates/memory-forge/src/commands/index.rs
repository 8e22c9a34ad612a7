//! `index`: brings the derived index up to date with `knowledge/`. It never
//! changes a Markdown file.

use clap::Args;

use crate::report::{CommandError, Exit};
use crate::settings::Settings;
use crate::ui::Ui;

/// Bring the index of `knowledge/` up to date
///
/// Only files whose text changed are read again. The index is a cache in
/// `.memory-forge/`: deleting it loses nothing. A search does all this by
/// itself; run it to see the details or to prepare a large repository.
///
/// Files that agents load at every start (`CLAUDE.md`, `AGENTS.md`, `.claude/`
/// and the like) are never indexed; `audit` looks at those.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge index               Read what changed
  memory-forge index --force       Forget the index and build it anew
  memory-forge index --json        The same, for a program")]
pub(crate) struct IndexArgs {
    /// Build the index anew instead of reading only what changed
    #[arg(long, short)]
    pub(crate) force: bool,

    /// Leave vectors out; searches by meaning find these files later
    #[arg(long)]
    pub(crate) no_vectors: bool,

    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(_: IndexArgs, _: &Settings, _: &mut Ui) -> Result<Exit, CommandError> {
    Err(super::not_in_this_build("index"))
}
