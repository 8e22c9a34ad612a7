//! `search`: a question to the memory, answered with passages and their
//! places. It refreshes the index first and never changes a Markdown file.

use clap::{Args, ValueEnum};

use crate::report::{CommandError, Exit};
use crate::settings::Settings;
use crate::ui::Ui;

/// Find passages that answer a question or contain some words
///
/// The index is brought up to date before every search. An exact string that
/// is there is always found: put it in quotes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge search how do refunds work
  memory-forge search '\"idempotency key\"' --mode text
  memory-forge search retry policy --budget 800 --context     Evidence for a prompt
  memory-forge search retry policy --as-of v1.4               What was known then
  memory-forge search -- --max-files                          Words that look like flags")]
pub(crate) struct SearchArgs {
    /// The question, or words to look for
    #[arg(required = true, value_name = "QUERY")]
    pub(crate) query: Vec<String>,

    /// Which documents to look at
    #[arg(long, short, default_value = "knowledge")]
    pub(crate) scope: Scope,

    /// How to look; by default as `search.mode` of the configuration says
    #[arg(long, short)]
    pub(crate) mode: Option<Mode>,

    /// Show at most this many passages [default: `search.limit`, 5]
    #[arg(long, short = 'n', value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: Option<u32>,

    /// Fit the evidence into this many tokens and name what was left out
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) budget: Option<u32>,

    /// Only documents of these kinds, separated by commas
    #[arg(long = "type", value_name = "KIND", value_delimiter = ',')]
    pub(crate) kinds: Vec<DocumentKind>,

    /// At most one passage of each file
    #[arg(long)]
    pub(crate) unique: bool,

    /// Only documents dated on or after this day
    #[arg(long, value_name = "DATE")]
    pub(crate) since: Option<String>,

    /// Search the tree as it was at this git revision or date
    #[arg(long, value_name = "REV_OR_DATE")]
    pub(crate) as_of: Option<String>,

    /// Say for each passage why it ranks where it does
    #[arg(long)]
    pub(crate) explain: bool,

    /// Print the result as JSON
    #[arg(long, conflicts_with = "context")]
    pub(crate) json: bool,

    /// Print the passages for a prompt, fenced as data
    #[arg(long)]
    pub(crate) context: bool,
}

impl SearchArgs {
    /// The words as one question.
    pub(crate) fn question(&self) -> String {
        self.query.join(" ")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scope {
    /// `knowledge/`
    Knowledge,
    /// The state of the current work
    State,
    /// What agents remembered for themselves
    Agents,
    /// What was put away
    Archive,
    /// Everything, archived documents last
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// Words and meaning together
    Hybrid,
    /// Words only
    Text,
    /// Meaning only
    Vector,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DocumentKind {
    /// Documents with a name and a description in their front matter
    Skill,
    /// All others
    Knowledge,
}

pub(crate) fn run(_: SearchArgs, _: &Settings, _: &mut Ui) -> Result<Exit, CommandError> {
    Err(super::not_in_this_build("search"))
}
