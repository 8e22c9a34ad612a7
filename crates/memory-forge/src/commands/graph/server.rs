//! Runs what `graph` does with a graph server: push, status, drop, free
//! queries, each by the worker. No password is known here.

use clap::Args;
use forge_app::graph::ask::{GraphAnswer, GraphQuestion};
use forge_app::wire;
use forge_app::workspace::Workspace;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::report::{CommandError, CommandExit};
use crate::servers::worker::EngineWorker;
use crate::settings::Settings;
use crate::ui::{Ui, escape_hidden};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  MEMORY_FORGE_GRAPH_URL=bolt://localhost:7687 memory-forge graph push
  memory-forge graph push --force                  Compare all nodes with the server")]
pub(super) struct GraphPushArgs {
    /// Compare every node, even if the server reports no change
    #[arg(long)]
    force: bool,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge graph status --json")]
pub(super) struct GraphStatusArgs {
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge graph drop                          Asks first
  memory-forge graph drop --yes")]
pub(super) struct GraphDropArgs {
    /// Do not ask
    #[arg(long, short)]
    yes: bool,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge graph cypher 'MATCH (t:Task {workspace: $workspace}) RETURN t.name, t.standing'
  memory-forge graph cypher 'MATCH (n {tenant: $tenant}) RETURN n.kind, count(*)' --json")]
pub(super) struct GraphCypherArgs {
    /// openCypher; `$tenant` and `$workspace` are set. It sees the whole database
    query: String,

    /// Let it write; asks first
    #[arg(long)]
    write: bool,

    /// Do not ask
    #[arg(long, short, requires = "write")]
    yes: bool,

    /// Show at most this many rows
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: usize,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Graph server of a workspace, for one command.
struct GraphServer<'a>(EngineWorker<'a>);

impl GraphServer<'_> {
    fn call<T: DeserializeOwned>(
        &mut self,
        operation: wire::GraphOperation,
        ui: &mut Ui,
    ) -> Result<T, CommandError> {
        let operation = wire::WorkerOperation::Graph(operation);
        Ok(self.0.call(&operation, Some(ui))?.value)
    }
}

fn graph_server<'a>(workspace: &'a Workspace, settings: &'a Settings) -> GraphServer<'a> {
    GraphServer(EngineWorker::new(workspace, settings))
}

/// Puts questions to the server, which needs a copy of this workspace.
pub(super) fn ask_server(
    questions: &[GraphQuestion],
    workspace: &Workspace,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<Vec<GraphAnswer>, CommandError> {
    let questions = questions.to_vec();
    graph_server(workspace, settings).call(wire::GraphOperation::Ask { questions }, ui)
}

pub(super) fn push_graph(
    args: &GraphPushArgs,
    workspace: &Workspace,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let operation = wire::GraphOperation::Push { force: args.force };
    let (pushed, scope): (wire::GraphPushReport, wire::GraphScope) =
        graph_server(workspace, settings).call(operation, ui)?;
    let changed = pushed.written + pushed.removed > 0;
    if args.json {
        ui.print_json(&json!({
            "version": 1, "changed": changed, "nodes": pushed.nodes,
            "relations": pushed.relations, "written": pushed.written, "removed": pushed.removed,
            "tenant": scope.tenant, "workspace": scope.workspace,
        }))?;
        return Ok(CommandExit::Success);
    }
    let (nodes, relations) = (pushed.nodes, pushed.relations);
    ui.print_line(&if changed {
        format!(
            "Pushed {nodes} nodes and {relations} relations: {} written, {} removed",
            pushed.written, pushed.removed
        )
    } else {
        format!("Unchanged: {nodes} nodes and {relations} relations")
    })?;
    Ok(CommandExit::Success)
}

pub(super) fn show_status(
    args: &GraphStatusArgs,
    workspace: &Workspace,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let status: wire::GraphStatus =
        graph_server(workspace, settings).call(wire::GraphOperation::Status, ui)?;
    let (scope, current) = (&status.scope, status.is_current);
    if args.json {
        ui.print_json(&json!({
            "version": 1, "tenant": scope.tenant,
            "workspace": scope.workspace, "current": current,
            "pushed": status.pushed.as_ref().map(|it| json!({
                "complete": it.is_complete, "at": it.at, "nodes": it.nodes,
                "relations": it.relations,
            })),
        }))?;
        return Ok(CommandExit::Success);
    }
    ui.print_line(&format!(
        "Tenant {}, workspace {}",
        scope.tenant, scope.workspace
    ))?;
    ui.print_line(&match &status.pushed {
        None => "Never pushed".to_owned(),
        Some(it) if !it.is_complete => "The last push did not end".to_owned(),
        Some(it) => format!(
            "Pushed at {}: {} nodes and {} relations, {}",
            escape_hidden(&it.at),
            it.nodes,
            it.relations,
            if current {
                "as the files are"
            } else {
                "and the files have changed since"
            }
        ),
    })?;
    Ok(CommandExit::Success)
}

pub(super) fn drop_nodes(
    args: &GraphDropArgs,
    workspace: &Workspace,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let mut server = graph_server(workspace, settings);
    // An unreachable server is reported before the question.
    let scope: wire::GraphScope = server.call(wire::GraphOperation::Connect, ui)?;
    let question = format!(
        "Take the nodes of workspace {} (tenant {}) from the server?",
        scope.workspace, scope.tenant
    );
    if !ui.confirm(&question, args.yes)? {
        return Ok(CommandExit::Failure);
    }
    let removed: usize = server.call(wire::GraphOperation::Drop, ui)?;
    if args.json {
        ui.print_json(&json!({ "version": 1, "removed": removed }))?
    } else {
        ui.print_line(&format!(
            "Removed {removed} nodes; the files are as they were"
        ))?
    }
    Ok(CommandExit::Success)
}

pub(super) fn run_cypher(
    args: &GraphCypherArgs,
    workspace: &Workspace,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let mut server = graph_server(workspace, settings);
    if args.write {
        // An unreachable server is reported before the question.
        server.call::<wire::GraphScope>(wire::GraphOperation::Connect, ui)?;
        if !ui.confirm("Let this query write to the server?", args.yes)? {
            return Ok(CommandExit::Failure);
        }
    }
    let operation = wire::GraphOperation::Cypher {
        query: args.query.clone(),
        write: args.write,
        limit: args.limit,
    };
    let table: wire::QueryTable = server.call(operation, ui)?;
    if args.json {
        ui.print_json(&json!({
            "version": 1, "columns": table.columns, "rows": table.rows, "more": table.more,
        }))?;
        return Ok(CommandExit::Success);
    }
    if !table.columns.is_empty() {
        ui.print_line(&escape_hidden(&table.columns.join("\t")))?;
    }
    for row in &table.rows {
        let cells: Vec<String> = row.iter().map(render_cell).collect();
        ui.print_line(&cells.join("\t"))?;
    }
    if table.more {
        let limit = args.limit;
        ui.note(&format!(
            "Only the first {limit} rows; `--limit` shows more"
        ));
    }
    Ok(CommandExit::Success)
}

/// Returns a value on one line, without characters that drive a terminal.
fn render_cell(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.replace(['\t', '\n', '\r'], " "),
        value => value.to_string(),
    };
    escape_hidden(&text).into_owned()
}
