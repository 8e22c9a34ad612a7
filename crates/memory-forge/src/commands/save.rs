//! `save`: writes down something learnt. It never overwrites a file.

use clap::{Args, ValueEnum};

use super::audit::Client;
use crate::report::{CommandError, Exit};
use crate::settings::Settings;
use crate::ui::Ui;

/// Write down a skill or a piece of knowledge as a new file
///
/// `context` becomes `knowledge/<name>.md` and can be searched at once.
/// `skill` goes where agents load skills from; it is audited, not indexed.
/// A file that exists is never overwritten.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge save context retry-policy --content \"Retry three times, then park.\"
  memory-forge save context retry-policy < notes.md
  memory-forge save skill flaky-webhooks --description \"Webhook tests fail at random\" \\
      --trigger \"timeout in webhook_spec\" --content \"Freeze the clock.\"")]
pub(crate) struct SaveArgs {
    /// What it is
    pub(crate) kind: SaveKind,

    /// Its name; the file's name is made from it
    pub(crate) name: String,

    /// The text; read from standard input when this is absent
    #[arg(long, short)]
    pub(crate) content: Option<String>,

    /// Skill: what it is about, in a sentence
    #[arg(long, short)]
    pub(crate) description: Option<String>,

    /// Skill: when an agent should think of it
    #[arg(long, short)]
    pub(crate) trigger: Option<String>,

    /// Skill: the problem that it solves
    #[arg(long)]
    pub(crate) problem: Option<String>,

    /// From 1 to 10; from 8 on it is never forgotten
    #[arg(
        long,
        short,
        value_name = "1-10",
        default_value = "5",
        value_parser = clap::value_parser!(u8).range(1..=10)
    )]
    pub(crate) importance: u8,

    /// Skill: write it for these clients, separated by commas
    #[arg(long, value_delimiter = ',')]
    pub(crate) client: Vec<Client>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SaveKind {
    /// How to solve a problem that comes back
    Skill,
    /// A fact, a decision, a convention
    Context,
}

pub(crate) fn run(_: SaveArgs, _: &Settings, _: &mut Ui) -> Result<Exit, CommandError> {
    Err(super::not_in_this_build("save"))
}
