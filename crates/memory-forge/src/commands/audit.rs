//! `audit`: what agents load at every start, and what it costs. It reports and
//! never changes a file of the user's.

use clap::{Args, ValueEnum};

use crate::report::{CommandError, Exit};
use crate::settings::Settings;
use crate::ui::Ui;

/// Show what agents load at every start and what it costs in tokens
///
/// It counts each file as the client loads it, compares with the limits, and
/// looks for repeated text, hidden characters and secrets. It changes nothing;
/// `doctor --fix` does.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge audit
  memory-forge audit --client codex
  memory-forge audit --ci warning      Exit with 1 at a warning or worse")]
pub(crate) struct AuditArgs {
    /// Count as this client loads; without it, the plain view of all files
    #[arg(long)]
    pub(crate) client: Option<ClientChoice>,

    /// Count with this tokenizer; limits are meant for `o200k`
    #[arg(long)]
    pub(crate) tokenizer: Option<TokenizerChoice>,

    /// Exit with 1 at this level or worse [without a value: critical]
    #[arg(long, value_name = "LEVEL", num_args = 0..=1, default_missing_value = "critical")]
    pub(crate) ci: Option<Level>,

    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// The clients whose ways of loading are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Client {
    Claude,
    Codex,
    Opencode,
    Gemini,
    Copilot,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClientChoice {
    Claude,
    Codex,
    Opencode,
    Gemini,
    Copilot,
    /// Each of them in turn
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TokenizerChoice {
    O200k,
    Cl100k,
    /// An estimate, marked with `~`: no public vocabulary exists
    Claude,
    /// Characters divided by four
    Chars4,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Level {
    Warning,
    Critical,
}

pub(crate) fn run(_: AuditArgs, _: &Settings, _: &mut Ui) -> Result<Exit, CommandError> {
    Err(super::not_in_this_build("audit"))
}
