//! Runs `graph pull`: writes what the graph derives into files that people
//! read.

use clap::Args;
use forge_app::graph::ask::{GraphAnswer, GraphQuestion};
use forge_app::graph::{self, WorkspaceGraph};
use forge_app::mind::MindStore;
use forge_app::workspace::Workspace;
use serde_json::json;

use super::ask::{GraphEngineChoice, ask_engine};
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::Ui;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge graph pull --state                  Blocked and active work, into STATE.md
  memory-forge graph pull --state --engine server --dry-run
  memory-forge graph pull --state --remove         Take that part out again")]
pub(super) struct GraphPullArgs {
    /// Write blocked and active work into the state file, as a part of its own
    #[arg(long, required = true)]
    state: bool,

    /// Take the part out again
    #[arg(long)]
    remove: bool,

    /// Who answers; the setting `graph.engine` otherwise
    #[arg(long, value_enum)]
    engine: Option<GraphEngineChoice>,

    /// Say what would be written and write nothing
    #[arg(long)]
    dry_run: bool,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run_graph_pull(
    args: &GraphPullArgs,
    graph: &WorkspaceGraph,
    workspace: &Workspace,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let mind = MindStore::open(workspace);
    let found = if args.remove {
        Vec::new()
    } else {
        let engine = GraphEngineChoice::select_engine(args.engine, workspace);
        let questions = [GraphQuestion::Blocked, GraphQuestion::Active];
        ask_engine(&questions, engine, graph, workspace, settings, ui)?
    };
    let view = match &found[..] {
        [GraphAnswer::Blocked(blocked), GraphAnswer::Active(active)] => {
            Some((blocked.as_slice(), active.as_slice()))
        }
        _ => None,
    };
    let pulled = graph::pull_state(&mind, view, args.dry_run, settings.now)?;
    let path = &pulled.path;
    if args.json {
        ui.print_json(&json!({
            "version": 1, "path": path.as_str(), "changed": pulled.changed && !args.dry_run,
        }))?;
        return Ok(CommandExit::Success);
    }
    let done = match (pulled.changed, args.dry_run) {
        (true, false) => "Wrote",
        (true, true) => "Would write",
        (false, _) => "Unchanged:",
    };
    ui.print_line(&format!("{done} {path}"))?;
    Ok(CommandExit::Success)
}
