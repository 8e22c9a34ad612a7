//! `graph`: the notes and what connects them. Only `write` and `pull` change a
//! file, and what they write is derived from the others.

use clap::{Args, Subcommand, ValueEnum};
use forge_app::check::{CheckView, WorkspaceSurvey};
use forge_app::graph::{
    self, EdgeKind, GRAPH_FILE, GraphEdge, GraphFilter, GraphNode, NodeKind, WorkspaceGraph,
};
use forge_app::links::{LinkResolution, NoteVault, fold_name, reference_target};
use forge_app::mind::MindStore;
use forge_app::workspace::{RelPath, Workspace};
use serde_json::{Value, json};

use super::links::{read_survey_vault, read_vault};
use crate::paths;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::{Ui, escape_hidden};

mod ask;
mod pull;
mod server;

/// Show, check and export the graph of notes
///
/// Front matter gives typed edges (`people`, `projects`, `supersedes`,
/// `superseded-by`, `blocks`, `blocked-by`, `assigned-to`, `part-of`,
/// `produced`, `made-by`, `checked-by`, `verified-by`, `commands`,
/// `reports-to`, `knows`), links between notes give `links`. Decisions and
/// tasks of the state files are nodes too. A graph server, such as Neo4j, can
/// hold a copy.
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "\
Examples:
  memory-forge graph show roadmap                  What it leads to, and what leads to it
  memory-forge graph check                         Typed edges to notes that are not there
  memory-forge graph query --type decision --status active
  memory-forge graph path alice q3-launch          How one leads to the other
  memory-forge graph export --format svg > graph.svg
  memory-forge graph write                         Bring memory/.graph.md up to date
  memory-forge graph ask blocked                   What waits, and for what
  memory-forge graph push                          Copy the graph to a server"
)]
pub(crate) struct GraphArgs {
    #[command(subcommand)]
    command: GraphCommand,
}

#[derive(Debug, Subcommand)]
enum GraphCommand {
    /// Show a node and its edges
    #[command(after_help = "\
Examples:
  memory-forge graph show billing-engine")]
    Show(GraphShowArgs),
    /// List typed edges that dangle; exits with 1 when there are any
    #[command(after_help = "\
Examples:
  memory-forge graph check")]
    Check(GraphCheckArgs),
    /// List nodes, or edges of a kind
    Query(GraphQueryArgs),
    /// Find the shortest way between two nodes
    #[command(after_help = "\
Examples:
  memory-forge graph path billing-engine release-plan")]
    Path(GraphPathArgs),
    /// Print the graph in another format
    #[command(after_help = "\
Examples:
  memory-forge graph export --format svg > graph.svg
  memory-forge graph export --format dot --around billing-engine")]
    Export(GraphExportArgs),
    /// Write memory/.graph.md, if it differs
    #[command(after_help = "\
Examples:
  memory-forge graph write")]
    Write(GraphWriteArgs),
    /// Ask what is blocked, who is idle, what takes longest, and more
    Ask(ask::GraphAskArgs),
    /// Write what the graph derives into the state file
    Pull(pull::GraphPullArgs),
    /// Copy the graph to a server that speaks Bolt: what differs, and no more
    Push(server::GraphPushArgs),
    /// Show what the graph server has of this workspace
    Status(server::GraphStatusArgs),
    /// Ask the graph server in openCypher; for reading, unless `--write`
    Cypher(server::GraphCypherArgs),
    /// Take this workspace's nodes from the graph server
    Drop(server::GraphDropArgs),
}

#[derive(Debug, Args)]
struct GraphShowArgs {
    /// A note by its name or path, `DEC-007`, or a person
    node: String,

    /// How many steps around it
    #[arg(long, value_name = "N", default_value_t = 1)]
    depth: usize,

    /// Show at most this many edges
    #[arg(long, value_name = "N", default_value_t = 200)]
    limit: usize,

    /// Print the result as JSON, without a limit
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct GraphCheckArgs {
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge graph query --kind person
  memory-forge graph query --type meeting --since 2026-01-01
  memory-forge graph query --edge blocks --edge blocked-by")]
struct GraphQueryArgs {
    /// Nodes of this kind, as a graph database names it
    #[arg(long, value_enum, ignore_case = true)]
    kind: Option<NodeKindChoice>,

    /// Notes with this `type`; `other` for those without
    #[arg(long = "type", value_name = "TYPE")]
    type_name: Option<String>,

    /// Notes with this `status`
    #[arg(long)]
    status: Option<String>,

    /// Dated on this day or later
    #[arg(long, value_name = "DATE")]
    since: Option<String>,

    /// Dated on this day or earlier
    #[arg(long, value_name = "DATE")]
    until: Option<String>,

    /// List edges of this kind instead; give it once for each
    #[arg(long, value_enum, value_name = "EDGE")]
    edge: Vec<EdgeKindChoice>,

    /// Show at most this many
    #[arg(long, value_name = "N", default_value_t = 200)]
    limit: usize,

    /// Print the result as JSON, without a limit
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct GraphPathArgs {
    from: String,
    to: String,

    /// Follow edges in their direction only
    #[arg(long)]
    directed: bool,

    /// Use edges of this kind only; give it once for each
    #[arg(long, value_enum, value_name = "EDGE")]
    edge: Vec<EdgeKindChoice>,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct GraphExportArgs {
    #[arg(long, value_enum)]
    format: GraphFormatChoice,

    /// Only what is around this node
    #[arg(long, value_name = "NODE")]
    around: Option<String>,

    /// How many steps around it
    #[arg(long, value_name = "N", default_value_t = 2, requires = "around")]
    depth: usize,

    /// Typed edges only, and the nodes that have any
    #[arg(long)]
    typed: bool,
}

#[derive(Debug, Args)]
struct GraphWriteArgs {
    /// Say what would be written and write nothing
    #[arg(long)]
    dry_run: bool,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum GraphFormatChoice {
    Dot,
    Graphml,
    Json,
    Markdown,
    Svg,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum NodeKindChoice {
    Project,
    Task,
    Agent,
    Person,
    Decision,
    Artifact,
    Knowledge,
    Missing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum EdgeKindChoice {
    People,
    Projects,
    Supersedes,
    SupersededBy,
    Blocks,
    BlockedBy,
    MadeBy,
    AssignedTo,
    PartOf,
    Produced,
    CheckedBy,
    VerifiedBy,
    Commands,
    ReportsTo,
    Knows,
    Links,
}

impl From<NodeKindChoice> for NodeKind {
    fn from(name: NodeKindChoice) -> NodeKind {
        NodeKind::ALL[name as usize]
    }
}

impl From<EdgeKindChoice> for EdgeKind {
    fn from(name: EdgeKindChoice) -> EdgeKind {
        EdgeKind::ALL[name as usize]
    }
}

pub(crate) fn run_graph(
    args: GraphArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let workspace = paths::open_workspace(settings, ui)?;
    // These commands need no graph here, or no more than a check.
    match &args.command {
        GraphCommand::Cypher(args) => return server::run_cypher(args, &workspace, settings, ui),
        GraphCommand::Drop(args) => return server::drop_nodes(args, &workspace, settings, ui),
        // The worker builds the graph itself.
        GraphCommand::Push(args) => return server::push_graph(args, &workspace, settings, ui),
        GraphCommand::Status(args) => return server::show_status(args, &workspace, settings, ui),
        GraphCommand::Check(args) => return check_graph(args, &workspace, settings, ui),
        _ => {}
    }
    let vault = read_vault(&workspace, ui);
    let notes = graph::build_graph(&vault);
    let whole = |notes: WorkspaceGraph| notes.with_state(&vault, &MindStore::open(&workspace));
    // The embedded engine answers only from what a server may have as well, so
    // that both give the same rows.
    let shared =
        |notes: WorkspaceGraph| whole(notes).shared_part_by(&|path| workspace.is_private(path));
    match args.command {
        GraphCommand::Write(args) => write_graph(&workspace, &notes, &args, settings, ui),
        GraphCommand::Show(args) => show_node(&whole(notes), &vault, &args, ui),
        GraphCommand::Query(args) => query_graph(&whole(notes), &args, ui),
        GraphCommand::Path(args) => show_path(&whole(notes), &vault, &args, ui),
        GraphCommand::Export(args) => export_graph(whole(notes), &vault, &args, ui),
        GraphCommand::Ask(args) => {
            ask::run_graph_ask(&args, &shared(notes), &vault, &workspace, settings, ui)
        }
        GraphCommand::Pull(args) => {
            pull::run_graph_pull(&args, &shared(notes), &workspace, settings, ui)
        }
        GraphCommand::Cypher(_)
        | GraphCommand::Drop(_)
        | GraphCommand::Push(_)
        | GraphCommand::Status(_)
        | GraphCommand::Check(_) => unreachable!("answered above"),
    }
}

fn check_graph(
    args: &GraphCheckArgs,
    workspace: &Workspace,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let survey = WorkspaceSurvey::from_workspace(workspace, settings.now);
    read_survey_vault(&survey, ui);
    let graph = survey.graph();
    let dangling: Vec<&GraphEdge> = graph.dangling_edges().collect();
    let (with, all) = (graph.count_front_matter(), graph.notes);
    let edges = graph.typed_edges().count();
    if args.json {
        ui.print_json(&json!({
            "version": 1, "notes": all, "with_front_matter": with, "edges": edges,
            "dangling": dangling.iter().map(|edge| edge_json(graph, edge)).collect::<Vec<_>>(),
        }))?;
    } else if dangling.is_empty() {
        ui.print_line(&format!(
            "CLEAN — {with}/{all} files have frontmatter, {edges} edges, no danglers"
        ))?;
    } else {
        ui.print_line(&format!("DANGLING ({} found):", dangling.len()))?;
        for edge in &dangling {
            let (from, to) = (graph.node(edge.from), graph.node(edge.to));
            let (from, to) = (escape_hidden(&from.name), escape_hidden(&to.name));
            ui.print_line(&format!("  {from} {} -> {to}", edge.kind.name()))?;
        }
    }
    let result = CheckView::Graph.run(&survey);
    Ok(if result.has_failure(CheckView::Graph) {
        CommandExit::Failure
    } else {
        CommandExit::Success
    })
}

fn write_graph(
    workspace: &Workspace,
    graph: &WorkspaceGraph,
    args: &GraphWriteArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let text = graph::render_graph_file(graph);
    let path =
        RelPath::new(GRAPH_FILE).map_err(|error| CommandError::failure(error.to_string()))?;
    let current = workspace.read_text_if_present(&path)?;
    let differs = current.as_deref() != Some(text.as_str());
    if differs && !args.dry_run {
        workspace.change("Write the graph", settings.now, |change| {
            change.write(&path, text.as_bytes());
            Ok(())
        })?;
    }
    let (nodes, edges) = (graph.count_front_matter(), graph.typed_edges().count());
    let dangling = graph.dangling_edges().count();
    if args.json {
        ui.print_json(&json!({
            "version": 1, "path": GRAPH_FILE, "changed": differs && !args.dry_run,
            "nodes": nodes, "edges": edges, "dangling": dangling,
        }))?;
        return Ok(CommandExit::Success);
    }
    let done = match (differs, args.dry_run) {
        (true, false) => "Wrote",
        (true, true) => "Would write",
        (false, _) => "Unchanged:",
    };
    ui.print_line(&format!(
        "{done} {GRAPH_FILE} — {nodes} nodes, {edges} edges, {dangling} dangling"
    ))?;
    Ok(CommandExit::Success)
}

/// Finds the node that a person means: a note, a decision, a person, a task.
fn find_node(graph: &WorkspaceGraph, vault: &NoteVault, name: &str) -> Result<u32, CommandError> {
    let wanted = reference_target(name);
    let known = graph.position_of(wanted).or_else(|| {
        [
            "person",
            "agent",
            "task",
            "artifact",
            "knowledge",
            "missing",
        ]
        .iter()
        .find_map(|what| graph.position_of(&format!("{what}:{}", fold_name(wanted))))
    });
    match vault.names.resolve(wanted, "") {
        LinkResolution::File(file) => {
            let path = vault.file(file).path.as_str();
            if let Some(node) = graph.position_of(path) {
                return Ok(node);
            }
        }
        LinkResolution::Ambiguous(files) if known.is_none() => {
            let mut error = CommandError::usage(format!("`{wanted}` names several notes"));
            for file in files.iter().take(5) {
                error = error.hint(format!("`{}`", vault.file(*file).path));
            }
            return Err(error);
        }
        _ => {}
    }
    known
        .or_else(|| {
            let same = |node: &GraphNode| fold_name(&node.name) == fold_name(wanted);
            let found = graph.nodes.iter().position(same);
            found.map(|index| index as u32)
        })
        .ok_or_else(|| {
            let error = CommandError::failure(format!("There is no `{wanted}` in the graph"));
            let names = graph.nodes.iter().map(|node| node.name.as_str());
            let error = match paths::nearest_name(wanted, names) {
                Some(name) => error.hint(format!("Did you mean `{name}`?")),
                None => error,
            };
            error.hint("`memory-forge graph query` lists what there is")
        })
}

fn show_node(
    graph: &WorkspaceGraph,
    vault: &NoteVault,
    args: &GraphShowArgs,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let node = find_node(graph, vault, &args.node)?;
    let around = graph.nodes_around(node, args.depth, &GraphFilter::default());
    let part = graph.subgraph_of(&around);
    if args.json {
        ui.print_json(&json!({
            "version": 1, "node": node_json(graph.node(node)), "depth": args.depth,
            "nodes": part.nodes.iter().map(node_json).collect::<Vec<_>>(),
            "edges": part.edges.iter().map(|edge| edge_json(&part, edge)).collect::<Vec<_>>(),
        }))?;
        return Ok(CommandExit::Success);
    }
    ui.print_line(&describe_node(graph.node(node)))?;
    let within = args.depth > 1;
    let touches = |edge: &&GraphEdge| within || edge.from == node || edge.to == node;
    let inside = |edge: &&GraphEdge| {
        around.binary_search(&edge.from).is_ok() && around.binary_search(&edge.to).is_ok()
    };
    let edges: Vec<&GraphEdge> = graph.edges.iter().filter(touches).filter(inside).collect();
    for edge in edges.iter().take(args.limit) {
        let (from, to) = (graph.node(edge.from), graph.node(edge.to));
        let kind = edge.kind.name();
        let line = if edge.from == node {
            format!("  {kind} → {}", node_name(to))
        } else if edge.to == node {
            format!("  {} → {kind} → this", node_name(from))
        } else {
            format!("  {} → {kind} → {}", node_name(from), node_name(to))
        };
        ui.print_line(&line)?;
    }
    if edges.is_empty() {
        ui.print_line("  nothing is connected to it")?;
    }
    note_more_rows(edges.len(), args.limit, ui)?;
    Ok(CommandExit::Success)
}

fn query_graph(
    graph: &WorkspaceGraph,
    args: &GraphQueryArgs,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    for date in [&args.since, &args.until].into_iter().flatten() {
        let digits = date.bytes().all(|it| it.is_ascii_digit() || it == b'-');
        if !digits || date.len() < 4 {
            return Err(CommandError::usage(format!("`{date}` is not a date"))
                .hint("Write it as 2026-03-01, 2026-03 or 2026"));
        }
    }
    let filter = GraphFilter {
        kind: args.kind.map(NodeKind::from),
        type_name: args.type_name.clone(),
        status: args.status.clone(),
        since: args.since.clone(),
        until: args.until.clone(),
        edges: args.edge.iter().map(|it| EdgeKind::from(*it)).collect(),
    };
    if args.edge.is_empty() {
        let nodes = graph.select_nodes(&filter);
        if args.json {
            let nodes = nodes.iter().map(|it| node_json(graph.node(*it)));
            ui.print_json(&json!({ "version": 1, "nodes": nodes.collect::<Vec<_>>() }))?;
            return Ok(CommandExit::Success);
        }
        for node in nodes.iter().take(args.limit) {
            ui.print_line(&describe_node(graph.node(*node)))?;
        }
        return note_more_rows(nodes.len(), args.limit, ui).map(|()| CommandExit::Success);
    }
    let edges = graph.select_edges(&filter);
    if args.json {
        let edges = edges.iter().map(|edge| edge_json(graph, edge));
        ui.print_json(&json!({ "version": 1, "edges": edges.collect::<Vec<_>>() }))?;
        return Ok(CommandExit::Success);
    }
    for edge in edges.iter().take(args.limit) {
        let (from, to) = (graph.node(edge.from), graph.node(edge.to));
        ui.print_line(&format!(
            "{} → {} → {}",
            node_name(from),
            edge.kind.name(),
            node_name(to)
        ))?;
    }
    note_more_rows(edges.len(), args.limit, ui).map(|()| CommandExit::Success)
}

fn show_path(
    graph: &WorkspaceGraph,
    vault: &NoteVault,
    args: &GraphPathArgs,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let (from, to) = (
        find_node(graph, vault, &args.from)?,
        find_node(graph, vault, &args.to)?,
    );
    let filter = GraphFilter {
        edges: args.edge.iter().map(|it| EdgeKind::from(*it)).collect(),
        ..GraphFilter::default()
    };
    let steps = graph.shortest_path(from, to, &filter, args.directed);
    if args.json {
        let steps = steps.as_ref().map(|steps| {
            let one = |step: &graph::PathStep| {
                let mut value = edge_json(graph, &step.edge);
                value["against"] = step.against.into();
                value
            };
            steps.iter().map(one).collect::<Vec<_>>()
        });
        let found = steps.is_some();
        ui.print_json(&json!({ "version": 1, "found": found, "steps": steps }))?;
    } else if let Some(steps) = &steps {
        ui.print_line(&node_name(graph.node(from)))?;
        for step in steps {
            let kind = step.edge.kind.name();
            let line = if step.against {
                format!("  ← {kind} ← {}", node_name(graph.node(step.edge.from)))
            } else {
                format!("  → {kind} → {}", node_name(graph.node(step.edge.to)))
            };
            ui.print_line(&line)?;
        }
    } else {
        let (from, to) = (node_name(graph.node(from)), node_name(graph.node(to)));
        ui.print_line(&format!("There is no path from {from} to {to}"))?;
    }
    Ok(match steps {
        Some(_) => CommandExit::Success,
        None => CommandExit::Failure,
    })
}

fn export_graph(
    mut graph: WorkspaceGraph,
    vault: &NoteVault,
    args: &GraphExportArgs,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    if args.typed {
        graph.edges.retain(|edge| edge.kind.is_typed());
        let mut used: Vec<u32> = graph.edges.iter().flat_map(|it| [it.from, it.to]).collect();
        used.sort_unstable();
        used.dedup();
        graph = graph.subgraph_of(&used);
    }
    if let Some(name) = &args.around {
        let node = find_node(&graph, vault, name)?;
        graph = graph.subgraph_of(&graph.nodes_around(node, args.depth, &GraphFilter::default()));
    }
    match args.format {
        GraphFormatChoice::Dot => ui.print(&graph::render_dot(&graph))?,
        GraphFormatChoice::Graphml => ui.print(&graph::render_graphml(&graph))?,
        GraphFormatChoice::Markdown => ui.print(&graph::render_markdown(&graph))?,
        GraphFormatChoice::Json => ui.print_json(&json!({
            "version": 1,
            "nodes": graph.nodes.iter().map(node_json).collect::<Vec<_>>(),
            "edges": graph.edges.iter().map(|edge| edge_json(&graph, edge)).collect::<Vec<_>>(),
        }))?,
        GraphFormatChoice::Svg => {
            ui.print(&graph::render_svg(&graph))?;
            if graph.nodes.len() > graph::MAX_DRAWN_NODES {
                let (drawn, all) = (graph::MAX_DRAWN_NODES, graph.nodes.len());
                ui.note(&format!(
                    "The {drawn} of {all} nodes with the most edges are drawn; `--around` chooses others"
                ));
            }
        }
    }
    Ok(CommandExit::Success)
}

fn note_more_rows(count: usize, limit: usize, ui: &mut Ui) -> Result<(), CommandError> {
    if count > limit {
        let more = count - limit;
        ui.print_line(&format!(
            "… and {more} more; `--limit` shows more, `--json` all"
        ))?;
    }
    Ok(())
}

fn node_name(node: &GraphNode) -> String {
    let name = escape_hidden(&node.name);
    match (node.kind, &node.path) {
        (NodeKind::Missing, _) => format!("[[{name}]] (missing)"),
        (_, Some(_)) => format!("[[{name}]]"),
        (_, None) => name.into_owned(),
    }
}

fn describe_node(node: &GraphNode) -> String {
    let mut about = vec![node.kind.name().to_owned()];
    about.extend(
        node.type_name
            .as_deref()
            .map(|it| format!("type {}", escape_hidden(it))),
    );
    about.extend(
        node.status
            .as_deref()
            .map(|it| escape_hidden(it).into_owned()),
    );
    about.extend(
        node.date
            .as_deref()
            .map(|it| escape_hidden(it).into_owned()),
    );
    let title = match &node.title {
        Some(title) if *title != node.name => format!(": {}", escape_hidden(title)),
        _ => String::new(),
    };
    format!("{} ({}){title}", node_name(node), about.join(", "))
}

fn node_json(node: &GraphNode) -> Value {
    json!({
        "id": node.id, "name": node.name, "kind": node.kind.name(),
        "path": node.path.as_ref().map(|it| it.as_str()), "title": node.title,
        "type": node.type_name, "status": node.status, "date": node.date,
    })
}

fn edge_json(graph: &WorkspaceGraph, edge: &GraphEdge) -> Value {
    let (relation, reversed) = edge.kind.to_relation();
    json!({
        "from": graph.node(edge.from).id, "edge": edge.kind.name(),
        "to": graph.node(edge.to).id, "relation": relation.name(), "reversed": reversed,
    })
}
