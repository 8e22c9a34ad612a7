//! `mcp`: the memory as a server for agent clients, on standard input and
//! output or on loopback HTTP. Nothing but the protocol goes to standard
//! output while it serves.

use std::path::PathBuf;

use clap::Args;
use forge_app::tokens::{Tokenizer, count_tokens};
use forge_app::workspace::regular;

use crate::mcp::{Server, tools};
use crate::paths;
use crate::report::{CommandError, Exit};
use crate::settings::Settings;
use crate::ui::Ui;

/// Serve the memory to agent clients (Model Context Protocol)
///
/// Clients start this themselves once `setup` has told them of it. It speaks
/// on standard input and output and ends with its client. With `--http` it
/// listens on this machine alone, and every request must bear the token.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge mcp                          What a client runs
  memory-forge mcp --list                   The tools that are listed, and what they cost
  memory-forge mcp --tools all              List all twelve tools
  memory-forge mcp --http --port 8931 --token-file ~/.config/memory-forge.token")]
pub(crate) struct McpArgs {
    /// Tools to list: `all`, or names separated by commas [default: those that
    /// a session needs]. The others can still be called
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) tools: Vec<String>,

    /// Print the listing and its cost in tokens, and end
    #[arg(long, conflicts_with = "http")]
    pub(crate) list: bool,

    /// With `--list`: print the result as JSON
    #[arg(long, requires = "list")]
    pub(crate) json: bool,

    /// Serve streamable HTTP on 127.0.0.1 instead
    #[arg(long)]
    pub(crate) http: bool,

    /// With `--http`: the port; any free one unless given
    #[arg(long, value_name = "N", requires = "http", default_value = "0")]
    pub(crate) port: u16,

    /// With `--http`: read the token from this file. Else it is taken from
    /// `MEMORY_FORGE_MCP_TOKEN`, or made up and shown on standard error
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) token_file: Option<PathBuf>,
}

pub(crate) fn run(args: McpArgs, settings: &Settings, ui: &mut Ui) -> Result<Exit, CommandError> {
    let listed = tools::chosen(&args.tools).map_err(unknown)?;
    if args.list {
        return list(&listed, args.json, ui);
    }
    let workspace = paths::workspace(settings, ui)?;
    let server = Server::start(workspace, settings, &listed)?;
    if args.http {
        http(&args, server, settings, ui)?
    } else {
        serve::stdio(server).map_err(failed)?
    }
    Ok(Exit::Success)
}

fn unknown(name: String) -> CommandError {
    let names: Vec<&str> = tools::ALL.iter().map(|spec| spec.name).collect();
    CommandError::usage(format!("There is no tool `{name}`"))
        .hint(format!("The tools are {}", names.join(", ")))
}

fn failed(error: serve::Error) -> CommandError {
    CommandError::failure(error.to_string())
}

fn list(listed: &[&'static tools::Spec], json: bool, ui: &mut Ui) -> Result<Exit, CommandError> {
    let all: Vec<_> = listed.iter().map(|spec| spec.listed()).collect();
    let total = cost(&all);
    if json {
        let tools: Vec<_> = all
            .iter()
            .map(|tool| serde_json::json!({ "name": tool.name, "tokens": cost(tool) }))
            .collect();
        ui.json(&serde_json::json!({
            "version": 1, "tokenizer": "o200k", "tokens": total, "tools": tools, "listing": all,
        }))?;
        return Ok(Exit::Success);
    }
    ui.line("Tools that clients are told of, in tokens (o200k):")?;
    for tool in &all {
        let about = tool.description.as_deref().unwrap_or_default();
        ui.line(&format!("  {:>5}  {:22} {about}", cost(tool), tool.name))?;
    }
    ui.line(&format!("  {total:>5}  in all"))?;
    let others = tools::ALL.len() - listed.len();
    if others > 0 {
        ui.note(&format!(
            "{others} more can be called by name; `--tools all` lists them"
        ));
    }
    Ok(Exit::Success)
}

/// Returns the tokens of what is sent.
fn cost(sent: &impl serde::Serialize) -> usize {
    let text = serde_json::to_string(sent).expect("tools are plain data");
    count_tokens(Tokenizer::O200k, &text)
}

/// Lower bound for a token; a shorter one could be guessed.
const SHORTEST_TOKEN: usize = 16;

fn http(
    args: &McpArgs,
    server: Server,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    let (token, from) = token(args, settings)?;
    // Only a person is shown the token: a log keeps what is written to it.
    let shown = match (from, settings.stderr_terminal) {
        (From::MadeUp, true) => format!("Authorization: Bearer {token}"),
        (From::MadeUp, false) => {
            return Err(
                CommandError::usage("There is no token, and nobody to show a new one to")
                    .hint("Name a file with `--token-file`, or set `MEMORY_FORGE_MCP_TOKEN`"),
            );
        }
        (From::File, _) => "Authorization: Bearer <the token in the file>".to_owned(),
        (From::Environment, _) => {
            "Authorization: Bearer <the token in MEMORY_FORGE_MCP_TOKEN>".to_owned()
        }
    };
    let options = serve::HttpOptions {
        port: args.port,
        token,
    };
    let ready = |address| {
        ui.note(&format!("Listening on http://{address}/mcp"));
        ui.note(&format!("Each request needs the header `{shown}`"));
    };
    serve::http(move || server.clone(), options, ready).map_err(failed)
}

/// Origin of the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum From {
    File,
    Environment,
    MadeUp,
}

/// Upper bound for the file of a token; a longer one holds none.
const MAX_TOKEN_BYTES: u64 = 64 << 10;

fn token(args: &McpArgs, settings: &Settings) -> Result<(String, From), CommandError> {
    let (token, from) = match (&args.token_file, &settings.mcp_token) {
        (Some(file), _) => {
            let text = regular::read_named(file, MAX_TOKEN_BYTES).map_err(|error| {
                CommandError::failure(format!("Cannot read `{}`: {error}", file.display()))
            })?;
            (text.trim().to_owned(), From::File)
        }
        (None, Some(token)) => (token.clone(), From::Environment),
        (None, None) => (serve::new_token(), From::MadeUp),
    };
    let plain = token.bytes().all(|byte| byte.is_ascii_graphic());
    if from != From::MadeUp && (token.len() < SHORTEST_TOKEN || !plain) {
        return Err(CommandError::usage(format!(
            "A token has at least {SHORTEST_TOKEN} visible ASCII characters and no spaces"
        )));
    }
    Ok((token, from))
}
