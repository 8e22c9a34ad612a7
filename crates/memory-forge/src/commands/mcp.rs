//! `mcp`: the memory as a server for agent clients, on standard input and
//! output or on loopback HTTP. Nothing but the protocol goes to standard
//! output while it serves.

use std::path::PathBuf;

use clap::Args;
use forge_app::tokens::{Tokenizer, count_tokens};
use forge_app::workspace::regular;

use crate::mcp::{McpServer, tools};
use crate::paths;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::Ui;

/// Serve the memory to agent clients (Model Context Protocol)
///
/// Clients start this themselves after `setup` added it. It speaks
/// on standard input and output and ends with its client. With `--http` it
/// listens on this machine alone, and every request must bear the token.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge mcp                          What a client runs
  memory-forge mcp --list                   The tools that are listed, and what they cost
  memory-forge mcp --tools all              List all thirteen tools
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

pub(crate) fn run_mcp(
    args: McpArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let listed = tools::select_tools(&args.tools).map_err(unknown_tool)?;
    if args.list {
        return list_tools(&listed, args.json, ui);
    }
    let workspace = paths::open_workspace(settings, ui)?;
    let server = McpServer::start_server(workspace, settings, &listed)?;
    if args.http {
        listen_http(&args, server, settings, ui)?
    } else {
        forge_serve::serve_stdio(server).map_err(serve_error)?
    }
    Ok(CommandExit::Success)
}

fn unknown_tool(name: String) -> CommandError {
    let names: Vec<&str> = tools::ALL_TOOLS.iter().map(|spec| spec.name).collect();
    CommandError::usage(format!("There is no tool `{name}`"))
        .hint(format!("The tools are {}", names.join(", ")))
}

fn serve_error(error: forge_serve::ServeError) -> CommandError {
    CommandError::failure(error.to_string())
}

fn list_tools(
    listed: &[&'static tools::ToolSpec],
    json: bool,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let all: Vec<_> = listed.iter().map(|spec| spec.to_tool()).collect();
    let total = token_cost(&all);
    if json {
        let tools: Vec<_> = all
            .iter()
            .map(|tool| serde_json::json!({ "name": tool.name, "tokens": token_cost(tool) }))
            .collect();
        ui.print_json(&serde_json::json!({
            "version": 1, "tokenizer": "o200k", "tokens": total, "tools": tools, "listing": all,
        }))?;
        return Ok(CommandExit::Success);
    }
    ui.print_line("Tools that clients see, in tokens (o200k):")?;
    for tool in &all {
        let about = tool.description.as_deref().unwrap_or_default();
        ui.print_line(&format!(
            "  {:>5}  {:22} {about}",
            token_cost(tool),
            tool.name
        ))?;
    }
    ui.print_line(&format!("  {total:>5}  in all"))?;
    let others = tools::ALL_TOOLS.len() - listed.len();
    if others > 0 {
        ui.note(&format!(
            "{others} more can be called by name; `--tools all` lists them"
        ));
    }
    Ok(CommandExit::Success)
}

/// Returns the tokens of what is sent.
fn token_cost(sent: &impl serde::Serialize) -> usize {
    let text = serde_json::to_string(sent).expect("tools are plain data");
    count_tokens(Tokenizer::O200k, &text)
}

/// Lower bound for a token; a shorter one could be guessed.
const MIN_TOKEN_CHARS: usize = 16;

fn listen_http(
    args: &McpArgs,
    server: McpServer,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    let (token, from) = resolve_token(args, settings)?;
    // Only a person is shown the token: a log keeps what is written to it.
    let shown = match (from, settings.stderr_terminal) {
        (TokenOrigin::MadeUp, true) => format!("Authorization: Bearer {token}"),
        (TokenOrigin::MadeUp, false) => {
            return Err(CommandError::usage(
                "No token is set, and there is no terminal to show a new one on",
            )
            .hint("Name a file with `--token-file`, or set `MEMORY_FORGE_MCP_TOKEN`"));
        }
        (TokenOrigin::File, _) => "Authorization: Bearer <the token in the file>".to_owned(),
        (TokenOrigin::Environment, _) => {
            "Authorization: Bearer <the token in MEMORY_FORGE_MCP_TOKEN>".to_owned()
        }
    };
    let options = forge_serve::HttpOptions {
        port: args.port,
        token,
    };
    let ready = |address| {
        ui.note(&format!("Listening on http://{address}/mcp"));
        ui.note(&format!("Each request needs the header `{shown}`"));
    };
    forge_serve::serve_http(move || server.clone(), options, ready).map_err(serve_error)
}

/// Origin of the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TokenOrigin {
    File,
    Environment,
    MadeUp,
}

/// Upper bound for the file of a token; a longer one holds none.
const MAX_TOKEN_BYTES: u64 = 64 << 10;

fn resolve_token(
    args: &McpArgs,
    settings: &Settings,
) -> Result<(String, TokenOrigin), CommandError> {
    let (token, from) = match (&args.token_file, &settings.mcp_token) {
        (Some(file), _) => {
            let text = regular::read_user_file(file, MAX_TOKEN_BYTES).map_err(|error| {
                CommandError::failure(format!("Cannot read `{}`: {error}", file.display()))
            })?;
            (text.trim().to_owned(), TokenOrigin::File)
        }
        (None, Some(token)) => (token.clone(), TokenOrigin::Environment),
        (None, None) => (forge_serve::new_token(), TokenOrigin::MadeUp),
    };
    let plain = token.bytes().all(|byte| byte.is_ascii_graphic());
    if from != TokenOrigin::MadeUp && (token.len() < MIN_TOKEN_CHARS || !plain) {
        return Err(CommandError::usage(format!(
            "A token has at least {MIN_TOKEN_CHARS} visible ASCII characters and no spaces"
        )));
    }
    Ok((token, from))
}
