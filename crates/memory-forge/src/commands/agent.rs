//! `agent`: what agents remember for themselves. Each subcommand has a file of
//! its own and works on one memory, or on all of them.

use std::io::Read;

use clap::{Args, Subcommand};
use forge_app::agents::{AgentError, MemoryHome, suggest_agents};
use forge_app::workspace::Workspace;

use crate::paths;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::{Ui, escape_hidden};

mod context;
mod index;
mod init;
mod learn;
mod recall;
mod remember;
mod rotate;

/// Keep what agents remember: pointers, topics, learnings
///
/// Each agent has a folder `.agents/memory/<squad>/<agent>/` with one file for
/// each topic and `MEMORY.md`, which points to them and is always loaded: 200
/// lines and 25,000 bytes at most, one line for each topic.
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "\
Examples:
  memory-forge agent init
  memory-forge agent remember \"API migration\" --agent eng/builder --type project \\
      --content \"Revision 37 is deployed; 38 waits for the schema.\"
  memory-forge agent recall \"write the next migration\" --agent builder
  memory-forge agent learn \"Freezing the clock fixed the flaky tests\" --squad eng
  memory-forge agent context --for run --agent eng/builder
  memory-forge agent index --check
  memory-forge agent rotate --dry-run"
)]
pub(crate) struct AgentArgs {
    #[command(subcommand)]
    command: AgentCommand,
}

#[derive(Debug, Subcommand)]
enum AgentCommand {
    Context(context::ContextArgs),
    Index(index::AgentIndexArgs),
    Init(init::AgentInitArgs),
    Remember(remember::RememberArgs),
    Recall(recall::RecallArgs),
    Learn(learn::LearnArgs),
    Rotate(rotate::RotateArgs),
}

/// Whose memory is meant.
#[derive(Debug, Args)]
pub(super) struct AgentSelector {
    /// The agent: `squad/agent`, or `agent` where one squad only has it, or
    /// `knowledge` for what all of them share
    #[arg(long, short, value_name = "AGENT")]
    agent: Option<String>,
}

impl AgentSelector {
    /// Returns the memory that was named, or the only one there is.
    fn select_one(&self, workspace: &Workspace) -> Result<MemoryHome, CommandError> {
        if let Some(name) = &self.agent {
            return Ok(MemoryHome::find_by_name(workspace, name)?);
        }
        match MemoryHome::list_agent_homes(workspace).as_slice() {
            [one] => Ok(one.clone()),
            [] => Err(AgentError::NoMemory.into()),
            homes => Err(CommandError::usage(
                "Several agents have a memory here; say which with `--agent`",
            )
            .hint(escape_hidden(&suggest_agents(homes)))),
        }
    }

    /// Returns the memory that was named, or all there are; `knowledge/` counts
    /// once it has an index.
    fn select_all(&self, workspace: &Workspace) -> Result<Vec<MemoryHome>, CommandError> {
        if let Some(name) = &self.agent {
            return Ok(vec![MemoryHome::find_by_name(workspace, name)?]);
        }
        Ok(forge_app::check::find_homes_with_index(workspace)?)
    }
}

pub(crate) fn run_agent(
    args: AgentArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let workspace = paths::open_workspace(settings, ui)?;
    match args.command {
        AgentCommand::Context(args) => context::run_agent_context(&args, &workspace, settings, ui),
        AgentCommand::Index(args) => index::run_agent_index(&args, &workspace, settings, ui),
        AgentCommand::Init(args) => init::run_agent_init(&args, &workspace, settings, ui),
        AgentCommand::Remember(args) => {
            remember::run_agent_remember(&args, &workspace, settings, ui)
        }
        AgentCommand::Recall(args) => recall::run_agent_recall(&args, &workspace, settings, ui),
        AgentCommand::Learn(args) => learn::run_agent_learn(&args, &workspace, settings, ui),
        AgentCommand::Rotate(args) => rotate::run_agent_rotate(&args, &workspace, settings, ui),
    }
}

/// Returns text from an argument, or else from standard input.
fn text_or_input(given: Option<&str>, settings: &Settings) -> Result<String, CommandError> {
    if let Some(text) = given {
        return Ok(text.to_owned());
    }
    if settings.stdin_terminal {
        return Ok(String::new());
    }
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().read_to_end(&mut bytes);
    read.map_err(|error| CommandError::failure(format!("Cannot read standard input: {error}")))?;
    String::from_utf8(bytes).map_err(|_| {
        CommandError::failure("The text on standard input is not UTF-8").hint("Convert it first")
    })
}
