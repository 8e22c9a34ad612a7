//! What `graph` does with a graph server: push, status, drop, free queries. The
//! password comes from the environment and goes nowhere else.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use forge_app::graph::Graph;
use forge_app::workspace::{Workspace, identity};
use memory_forge_engines::bolt::{self, Address, Scope, Server};
use serde_json::{Value, json};

use crate::report::{CommandError, Exit};
use crate::servers;
use crate::settings::Settings;
use crate::ui::{Ui, printable};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  MEMORY_FORGE_GRAPH_URL=bolt://localhost:7687 memory-forge graph push
  memory-forge graph push --force                  Compare all, whatever the server says")]
pub(super) struct PushArgs {
    /// Compare with every node, even where the server says that nothing changed
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
pub(super) struct StatusArgs {
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge graph drop                          Asks first
  memory-forge graph drop --yes")]
pub(super) struct DropArgs {
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
pub(super) struct CypherArgs {
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

/// How long a question to the server may take, a free query, and a push.
const QUESTION: Duration = Duration::from_secs(30);
const FREE_QUERY: Duration = Duration::from_secs(120);
const PUSH: Duration = Duration::from_secs(30 * 60);

/// Connects to the server that environment or settings name; all that follows
/// has to be done within `limit`.
pub(super) fn connect(
    workspace: &Workspace,
    settings: &Settings,
    limit: Duration,
    ui: &mut Ui,
) -> Result<Server, CommandError> {
    let (config, given) = (&workspace.config().graph, &settings.graph);
    let or_else = |given: &Option<String>, set: &str| {
        let set = Some(set.to_owned()).filter(|it| !it.is_empty());
        given.clone().or(set)
    };
    let url = or_else(&given.url, &config.url).ok_or_else(|| {
        CommandError::failure("No graph server is set")
            .hint("Set `MEMORY_FORGE_GRAPH_URL`, or `url` below `[graph]` in `memory-forge.toml`")
            .hint("`graph ask --engine embedded` needs no server")
    })?;
    let inside = config.authority.as_ref().map(|it| workspace.absolute(it));
    let authority = given.authority.as_ref().map(PathBuf::from).or(inside);
    let address = Address {
        url,
        user: or_else(&given.user, &config.user).unwrap_or_default(),
        password: given.password.clone().unwrap_or_default(),
        database: or_else(&given.database, &config.database),
        authority,
    };
    address.check().map_err(error)?;
    if given.url.is_none() && !address.is_near() {
        servers::agreed(
            &address.place(),
            "MEMORY_FORGE_GRAPH_URL",
            settings,
            Some(ui),
        )?;
    }
    if address.is_in_the_clear() {
        ui.warn("The password travels unencrypted; `bolt+s://` would keep it to yourself");
    }
    let server = Server::connect(&address, scope(workspace)?).map_err(error)?;
    Ok(server.within(limit))
}

fn scope(workspace: &Workspace) -> Result<Scope, CommandError> {
    let config = &workspace.config().graph;
    let name = match config.workspace.as_str() {
        "" => identity(workspace).map(|it| it.id()).ok_or_else(|| {
            CommandError::usage("This workspace has no git history to take a name from")
                .hint("Set `workspace` below `[graph]` in `memory-forge.toml`")
        })?,
        name => name.to_owned(),
    };
    Scope::new(&config.tenant, &name).map_err(error)
}

/// A server that has this workspace, with a remark where it is behind.
pub(super) fn pushed(
    graph: &Graph,
    workspace: &Workspace,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<Server, CommandError> {
    let mut server = connect(workspace, settings, QUESTION, ui)?;
    let standing = server.standing().map_err(error)?;
    let standing = standing.ok_or_else(|| {
        CommandError::failure("This workspace was never pushed to the graph server")
            .hint("`memory-forge graph push` does it")
    })?;
    if !standing.complete {
        ui.warn("The last push did not end; `graph push` completes it");
    } else if standing.digest != bolt::digest(graph, server.scope()) {
        ui.note("The server's graph is not that of the files; `graph push` brings it up to date");
    }
    Ok(server)
}

pub(super) fn push(
    args: &PushArgs,
    graph: &Graph,
    workspace: &Workspace,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<Exit, CommandError> {
    let mut server = connect(workspace, settings, PUSH, ui)?;
    let at = settings.now.to_string();
    let pushed = server.push(graph, &at, args.force).map_err(error)?;
    let changed = pushed.written + pushed.removed > 0;
    if args.json {
        ui.json(&json!({
            "version": 1, "changed": changed, "nodes": pushed.nodes,
            "relations": pushed.relations, "written": pushed.written, "removed": pushed.removed,
            "tenant": server.scope().tenant(), "workspace": server.scope().workspace(),
        }))?;
        return Ok(Exit::Success);
    }
    let (nodes, relations) = (pushed.nodes, pushed.relations);
    ui.line(&if changed {
        format!(
            "Pushed {nodes} nodes and {relations} relations: {} written, {} removed",
            pushed.written, pushed.removed
        )
    } else {
        format!("Unchanged: {nodes} nodes and {relations} relations")
    })?;
    Ok(Exit::Success)
}

pub(super) fn status(
    args: &StatusArgs,
    graph: &Graph,
    workspace: &Workspace,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<Exit, CommandError> {
    let mut server = connect(workspace, settings, QUESTION, ui)?;
    let standing = server.standing().map_err(error)?;
    let digest = bolt::digest(graph, server.scope());
    let current = standing
        .as_ref()
        .is_some_and(|it| it.complete && it.digest == digest);
    if args.json {
        ui.json(&json!({
            "version": 1, "tenant": server.scope().tenant(),
            "workspace": server.scope().workspace(), "current": current,
            "pushed": standing.as_ref().map(|it| json!({
                "complete": it.complete, "at": it.at, "nodes": it.nodes,
                "relations": it.relations,
            })),
        }))?;
        return Ok(Exit::Success);
    }
    let (tenant, name) = (server.scope().tenant(), server.scope().workspace());
    ui.line(&format!("Tenant {tenant}, workspace {name}"))?;
    ui.line(&match &standing {
        None => "Never pushed".to_owned(),
        Some(it) if !it.complete => "The last push did not end".to_owned(),
        Some(it) => format!(
            "Pushed at {}: {} nodes and {} relations, {}",
            printable(&it.at),
            it.nodes,
            it.relations,
            if current {
                "as the files are"
            } else {
                "and the files have changed since"
            }
        ),
    })?;
    Ok(Exit::Success)
}

pub(super) fn drop_all(
    args: &DropArgs,
    workspace: &Workspace,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<Exit, CommandError> {
    let mut server = connect(workspace, settings, PUSH, ui)?;
    let question = format!(
        "Take the nodes of workspace {} (tenant {}) from the server?",
        server.scope().workspace(),
        server.scope().tenant()
    );
    if !ui.confirm(&question, args.yes)? {
        return Ok(Exit::Failure);
    }
    // The time to answer is the user's own.
    server = server.within(PUSH);
    let removed = server.drop_all().map_err(error)?;
    if args.json {
        ui.json(&json!({ "version": 1, "removed": removed }))?
    } else {
        ui.line(&format!(
            "Removed {removed} nodes; the files are as they were"
        ))?
    }
    Ok(Exit::Success)
}

pub(super) fn cypher(
    args: &CypherArgs,
    workspace: &Workspace,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<Exit, CommandError> {
    if !args.write
        && let Some(word) = bolt::writing_clause(&args.query)
    {
        return Err(error(bolt::Error::Writes(word)));
    }
    let mut server = connect(workspace, settings, FREE_QUERY, ui)?;
    if args.write && !ui.confirm("Let this query write to the server?", args.yes)? {
        return Ok(Exit::Failure);
    }
    server = server.within(FREE_QUERY);
    let table = server
        .cypher(&args.query, args.write, args.limit)
        .map_err(error)?;
    if args.json {
        ui.json(&json!({
            "version": 1, "columns": table.columns, "rows": table.rows, "more": table.more,
        }))?;
        return Ok(Exit::Success);
    }
    if !table.columns.is_empty() {
        ui.line(&printable(&table.columns.join("\t")))?;
    }
    for row in &table.rows {
        let cells: Vec<String> = row.iter().map(cell).collect();
        ui.line(&cells.join("\t"))?;
    }
    if table.more {
        let limit = args.limit;
        ui.note(&format!(
            "Only the first {limit} rows; `--limit` shows more"
        ));
    }
    Ok(Exit::Success)
}

/// A value on one line, without what a terminal would act on.
fn cell(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.replace(['\t', '\n', '\r'], " "),
        value => value.to_string(),
    };
    printable(&text).into_owned()
}

/// Returns the server's error with its advice, safe for a terminal.
pub(super) fn error(error: bolt::Error) -> CommandError {
    error.into()
}
