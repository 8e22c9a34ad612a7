//! `agent`: what agents remember for themselves. Each subcommand has a file of
//! its own and works on one memory, or on all of them.

use clap::{Args, Subcommand};
use forge::agents::{Error, Home};
use forge::workspace::Workspace;

use crate::memory;
use crate::report::{CommandError, Exit};
use crate::settings::Settings;
use crate::ui::{Ui, printable};

mod context;
mod index;

/// Keep what agents remember: pointers, topics, learnings
///
/// Each agent has a folder `.agents/memory/<squad>/<agent>/` with one file for
/// each topic and `MEMORY.md`, which points to them and is always loaded.
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "\
Examples:
  memory-forge agent index --check"
)]
pub(crate) struct AgentArgs {
    #[command(subcommand)]
    command: AgentCommand,
}

#[derive(Debug, Subcommand)]
enum AgentCommand {
    Context(context::ContextArgs),
    Index(index::IndexArgs),
}

/// Whose memory is meant.
#[derive(Debug, Args)]
pub(super) struct Whose {
    /// The agent: `squad/agent`, or `agent` where one squad only has it, or
    /// `knowledge` for what all of them share
    #[arg(long, short, value_name = "AGENT")]
    agent: Option<String>,
}

impl Whose {
    /// The memory that was named, or the only one there is.
    fn one(&self, workspace: &Workspace) -> Result<Home, CommandError> {
        if let Some(name) = &self.agent {
            return Ok(Home::find(workspace, name)?);
        }
        match Home::all(workspace).as_slice() {
            [one] => Ok(one.clone()),
            [] => Err(Error::NoMemory.into()),
            homes => Err(named(
                CommandError::usage("Several agents have a memory here; say which with `--agent`"),
                homes,
            )),
        }
    }

    /// The memory that was named, or all there are.
    fn all(&self, workspace: &Workspace) -> Result<Vec<Home>, CommandError> {
        if let Some(name) = &self.agent {
            return Ok(vec![Home::find(workspace, name)?]);
        }
        Ok(Home::all(workspace))
    }
}

pub(crate) fn run(args: AgentArgs, settings: &Settings, ui: &mut Ui) -> Result<Exit, CommandError> {
    let workspace = memory::workspace(settings, ui)?;
    match args.command {
        AgentCommand::Context(args) => context::run(&args, &workspace, settings, ui),
        AgentCommand::Index(args) => index::run(&args, &workspace, ui),
    }
}

impl From<Error> for CommandError {
    fn from(error: Error) -> CommandError {
        let told = printable(&error.to_string()).into_owned();
        match error {
            Error::Workspace(error) => error.into(),
            Error::NoMemory => CommandError::failure(told).hint(
                "Name a squad and an agent: `--agent eng/builder`; `remember` makes the folder",
            ),
            Error::Unknown { homes, .. } => named(CommandError::failure(told), &homes),
            Error::Ambiguous { .. } => CommandError::failure(told).hint("Name the squad as well"),
            Error::Segment { .. } | Error::Path(_) => CommandError::usage(told),
        }
    }
}

/// Agents named in an error at most.
const MOST: usize = 10;

fn named(error: CommandError, homes: &[Home]) -> CommandError {
    let names: Vec<String> = homes
        .iter()
        .take(MOST)
        .map(|home| printable(&home.to_string()).into_owned())
        .collect();
    let more = match homes.len() > MOST {
        true => format!(" and {} more", homes.len() - MOST),
        false => String::new(),
    };
    error.hint(format!("There are {}{more}", names.join(", ")))
}
