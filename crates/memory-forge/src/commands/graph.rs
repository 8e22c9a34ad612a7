//! `graph`: the notes and what connects them. Only `write` and `pull` change a
//! file, and what they write is derived from the others.

use clap::{Args, Subcommand, ValueEnum};
use forge_app::check::{CheckView, Survey};
use forge_app::graph::{self, Edge, EdgeKind, Filter, GRAPH_FILE, Graph, Kind, Node};
use forge_app::links::{Resolution, Vault, fold, name_in};
use forge_app::mind::Mind;
use forge_app::workspace::{RelPath, Workspace};
use serde_json::{Value, json};

use super::links::{survey_vault, vault};
use crate::paths;
use crate::report::{CommandError, Exit};
use crate::settings::Settings;
use crate::ui::{Ui, printable};

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
    Show(ShowArgs),
    /// List typed edges that dangle; exits with 1 when there are any
    #[command(after_help = "\
Examples:
  memory-forge graph check")]
    Check(CheckArgs),
    /// List nodes, or edges of a kind
    Query(QueryArgs),
    /// Find the shortest way between two nodes
    #[command(after_help = "\
Examples:
  memory-forge graph path billing-engine release-plan")]
    Path(PathArgs),
    /// Print the graph in another format
    #[command(after_help = "\
Examples:
  memory-forge graph export --format svg > graph.svg
  memory-forge graph export --format dot --around billing-engine")]
    Export(ExportArgs),
    /// Write memory/.graph.md, if it differs
    #[command(after_help = "\
Examples:
  memory-forge graph write")]
    Write(WriteArgs),
    /// Ask what is blocked, who is idle, what takes longest, and more
    Ask(ask::AskArgs),
    /// Write what the graph derives into the state file
    Pull(pull::PullArgs),
    /// Copy the graph to a server that speaks Bolt: what differs, and no more
    Push(server::PushArgs),
    /// Show what the graph server has of this workspace
    Status(server::StatusArgs),
    /// Ask the graph server in openCypher; for reading, unless `--write`
    Cypher(server::CypherArgs),
    /// Take this workspace's nodes from the graph server
    Drop(server::DropArgs),
}

#[derive(Debug, Args)]
struct ShowArgs {
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
struct CheckArgs {
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
struct QueryArgs {
    /// Nodes of this kind, as a graph database names it
    #[arg(long, value_enum, ignore_case = true)]
    kind: Option<KindName>,

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
    edge: Vec<EdgeName>,

    /// Show at most this many
    #[arg(long, value_name = "N", default_value_t = 200)]
    limit: usize,

    /// Print the result as JSON, without a limit
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct PathArgs {
    from: String,
    to: String,

    /// Follow edges in their direction only
    #[arg(long)]
    directed: bool,

    /// Use edges of this kind only; give it once for each
    #[arg(long, value_enum, value_name = "EDGE")]
    edge: Vec<EdgeName>,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct ExportArgs {
    #[arg(long, value_enum)]
    format: Format,

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
struct WriteArgs {
    /// Say what would be written and write nothing
    #[arg(long)]
    dry_run: bool,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Dot,
    Graphml,
    Json,
    Markdown,
    Svg,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum KindName {
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
enum EdgeName {
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

impl From<KindName> for Kind {
    fn from(name: KindName) -> Kind {
        Kind::ALL[name as usize]
    }
}

impl From<EdgeName> for EdgeKind {
    fn from(name: EdgeName) -> EdgeKind {
        EdgeKind::ALL[name as usize]
    }
}

pub(crate) fn run(args: GraphArgs, settings: &Settings, ui: &mut Ui) -> Result<Exit, CommandError> {
    let workspace = paths::workspace(settings, ui)?;
    // These commands need no graph here, or no more than a check.
    match &args.command {
        GraphCommand::Cypher(args) => return server::cypher(args, &workspace, settings, ui),
        GraphCommand::Drop(args) => return server::drop_all(args, &workspace, settings, ui),
        // The worker builds the graph itself.
        GraphCommand::Push(args) => return server::push(args, &workspace, settings, ui),
        GraphCommand::Status(args) => return server::status(args, &workspace, settings, ui),
        GraphCommand::Check(args) => return check(args, &workspace, settings, ui),
        _ => {}
    }
    let vault = vault(&workspace, ui);
    let notes = graph::build(&vault);
    let whole = |notes: Graph| notes.with_state(&vault, &Mind::open(&workspace));
    // The embedded engine answers only from what a server may have as well, so
    // that both give the same rows.
    let shared = |notes: Graph| whole(notes).shared_by(&|path| workspace.is_private(path));
    match args.command {
        GraphCommand::Write(args) => write(&workspace, &notes, &args, settings, ui),
        GraphCommand::Show(args) => show(&whole(notes), &vault, &args, ui),
        GraphCommand::Query(args) => query(&whole(notes), &args, ui),
        GraphCommand::Path(args) => path(&whole(notes), &vault, &args, ui),
        GraphCommand::Export(args) => export(whole(notes), &vault, &args, ui),
        GraphCommand::Ask(args) => {
            ask::run(&args, &shared(notes), &vault, &workspace, settings, ui)
        }
        GraphCommand::Pull(args) => pull::run(&args, &shared(notes), &workspace, settings, ui),
        GraphCommand::Cypher(_)
        | GraphCommand::Drop(_)
        | GraphCommand::Push(_)
        | GraphCommand::Status(_)
        | GraphCommand::Check(_) => unreachable!("answered above"),
    }
}

fn check(
    args: &CheckArgs,
    workspace: &Workspace,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<Exit, CommandError> {
    let survey = Survey::of(workspace, settings.now);
    survey_vault(&survey, ui);
    let graph = survey.graph();
    let dangling: Vec<&Edge> = graph.dangling().collect();
    let (with, all) = (graph.with_front_matter(), graph.notes);
    let edges = graph.typed().count();
    if args.json {
        ui.json(&json!({
            "version": 1, "notes": all, "with_front_matter": with, "edges": edges,
            "dangling": dangling.iter().map(|edge| edge_json(graph, edge)).collect::<Vec<_>>(),
        }))?;
    } else if dangling.is_empty() {
        ui.line(&format!(
            "CLEAN — {with}/{all} files have frontmatter, {edges} edges, no danglers"
        ))?;
    } else {
        ui.line(&format!("DANGLING ({} found):", dangling.len()))?;
        for edge in &dangling {
            let (from, to) = (graph.node(edge.from), graph.node(edge.to));
            let (from, to) = (printable(&from.name), printable(&to.name));
            ui.line(&format!("  {from} {} -> {to}", edge.kind.name()))?;
        }
    }
    let result = CheckView::Graph.run(&survey);
    Ok(if result.fails(CheckView::Graph) {
        Exit::Failure
    } else {
        Exit::Success
    })
}

fn write(
    workspace: &Workspace,
    graph: &Graph,
    args: &WriteArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<Exit, CommandError> {
    let text = graph::render_file(graph);
    let path =
        RelPath::new(GRAPH_FILE).map_err(|error| CommandError::failure(error.to_string()))?;
    let current = workspace.text_if_there(&path)?;
    let differs = current.as_deref() != Some(text.as_str());
    if differs && !args.dry_run {
        workspace.change("Write the graph", settings.now, |change| {
            change.write(&path, text.as_bytes());
            Ok(())
        })?;
    }
    let (nodes, edges) = (graph.with_front_matter(), graph.typed().count());
    let dangling = graph.dangling().count();
    if args.json {
        ui.json(&json!({
            "version": 1, "path": GRAPH_FILE, "changed": differs && !args.dry_run,
            "nodes": nodes, "edges": edges, "dangling": dangling,
        }))?;
        return Ok(Exit::Success);
    }
    let done = match (differs, args.dry_run) {
        (true, false) => "Wrote",
        (true, true) => "Would write",
        (false, _) => "Unchanged:",
    };
    ui.line(&format!(
        "{done} {GRAPH_FILE} — {nodes} nodes, {edges} edges, {dangling} dangling"
    ))?;
    Ok(Exit::Success)
}

/// Finds the node that a person means: a note, a decision, a person, a task.
fn find(graph: &Graph, vault: &Vault, name: &str) -> Result<u32, CommandError> {
    let wanted = name_in(name);
    let known = graph.position(wanted).or_else(|| {
        [
            "person",
            "agent",
            "task",
            "artifact",
            "knowledge",
            "missing",
        ]
        .iter()
        .find_map(|what| graph.position(&format!("{what}:{}", fold(wanted))))
    });
    match vault.names.resolve(wanted, "") {
        Resolution::File(file) => {
            let path = vault.file(file).path.as_str();
            if let Some(node) = graph.position(path) {
                return Ok(node);
            }
        }
        Resolution::Ambiguous(files) if known.is_none() => {
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
            let same = |node: &Node| fold(&node.name) == fold(wanted);
            let found = graph.nodes.iter().position(same);
            found.map(|index| index as u32)
        })
        .ok_or_else(|| {
            let error = CommandError::failure(format!("There is no `{wanted}` in the graph"));
            let names = graph.nodes.iter().map(|node| node.name.as_str());
            let error = match paths::nearest(wanted, names) {
                Some(name) => error.hint(format!("Did you mean `{name}`?")),
                None => error,
            };
            error.hint("`memory-forge graph query` lists what there is")
        })
}

fn show(graph: &Graph, vault: &Vault, args: &ShowArgs, ui: &mut Ui) -> Result<Exit, CommandError> {
    let node = find(graph, vault, &args.node)?;
    let around = graph.around(node, args.depth, &Filter::default());
    let part = graph.part(&around);
    if args.json {
        ui.json(&json!({
            "version": 1, "node": node_json(graph.node(node)), "depth": args.depth,
            "nodes": part.nodes.iter().map(node_json).collect::<Vec<_>>(),
            "edges": part.edges.iter().map(|edge| edge_json(&part, edge)).collect::<Vec<_>>(),
        }))?;
        return Ok(Exit::Success);
    }
    ui.line(&described(graph.node(node)))?;
    let within = args.depth > 1;
    let touches = |edge: &&Edge| within || edge.from == node || edge.to == node;
    let inside = |edge: &&Edge| {
        around.binary_search(&edge.from).is_ok() && around.binary_search(&edge.to).is_ok()
    };
    let edges: Vec<&Edge> = graph.edges.iter().filter(touches).filter(inside).collect();
    for edge in edges.iter().take(args.limit) {
        let (from, to) = (graph.node(edge.from), graph.node(edge.to));
        let kind = edge.kind.name();
        let line = if edge.from == node {
            format!("  {kind} → {}", named(to))
        } else if edge.to == node {
            format!("  {} → {kind} → this", named(from))
        } else {
            format!("  {} → {kind} → {}", named(from), named(to))
        };
        ui.line(&line)?;
    }
    if edges.is_empty() {
        ui.line("  nothing is connected to it")?;
    }
    and_more(edges.len(), args.limit, ui)?;
    Ok(Exit::Success)
}

fn query(graph: &Graph, args: &QueryArgs, ui: &mut Ui) -> Result<Exit, CommandError> {
    for date in [&args.since, &args.until].into_iter().flatten() {
        let digits = date.bytes().all(|it| it.is_ascii_digit() || it == b'-');
        if !digits || date.len() < 4 {
            return Err(CommandError::usage(format!("`{date}` is not a date"))
                .hint("Write it as 2026-03-01, 2026-03 or 2026"));
        }
    }
    let filter = Filter {
        kind: args.kind.map(Kind::from),
        type_name: args.type_name.clone(),
        status: args.status.clone(),
        since: args.since.clone(),
        until: args.until.clone(),
        edges: args.edge.iter().map(|it| EdgeKind::from(*it)).collect(),
    };
    if args.edge.is_empty() {
        let nodes = graph.select(&filter);
        if args.json {
            let nodes = nodes.iter().map(|it| node_json(graph.node(*it)));
            ui.json(&json!({ "version": 1, "nodes": nodes.collect::<Vec<_>>() }))?;
            return Ok(Exit::Success);
        }
        for node in nodes.iter().take(args.limit) {
            ui.line(&described(graph.node(*node)))?;
        }
        return and_more(nodes.len(), args.limit, ui).map(|()| Exit::Success);
    }
    let edges = graph.select_edges(&filter);
    if args.json {
        let edges = edges.iter().map(|edge| edge_json(graph, edge));
        ui.json(&json!({ "version": 1, "edges": edges.collect::<Vec<_>>() }))?;
        return Ok(Exit::Success);
    }
    for edge in edges.iter().take(args.limit) {
        let (from, to) = (graph.node(edge.from), graph.node(edge.to));
        ui.line(&format!(
            "{} → {} → {}",
            named(from),
            edge.kind.name(),
            named(to)
        ))?;
    }
    and_more(edges.len(), args.limit, ui).map(|()| Exit::Success)
}

fn path(graph: &Graph, vault: &Vault, args: &PathArgs, ui: &mut Ui) -> Result<Exit, CommandError> {
    let (from, to) = (
        find(graph, vault, &args.from)?,
        find(graph, vault, &args.to)?,
    );
    let filter = Filter {
        edges: args.edge.iter().map(|it| EdgeKind::from(*it)).collect(),
        ..Filter::default()
    };
    let steps = graph.path(from, to, &filter, args.directed);
    if args.json {
        let steps = steps.as_ref().map(|steps| {
            let one = |step: &graph::Step| {
                let mut value = edge_json(graph, &step.edge);
                value["against"] = step.against.into();
                value
            };
            steps.iter().map(one).collect::<Vec<_>>()
        });
        let found = steps.is_some();
        ui.json(&json!({ "version": 1, "found": found, "steps": steps }))?;
    } else if let Some(steps) = &steps {
        ui.line(&named(graph.node(from)))?;
        for step in steps {
            let kind = step.edge.kind.name();
            let line = if step.against {
                format!("  ← {kind} ← {}", named(graph.node(step.edge.from)))
            } else {
                format!("  → {kind} → {}", named(graph.node(step.edge.to)))
            };
            ui.line(&line)?;
        }
    } else {
        let (from, to) = (named(graph.node(from)), named(graph.node(to)));
        ui.line(&format!("No way leads from {from} to {to}"))?;
    }
    Ok(match steps {
        Some(_) => Exit::Success,
        None => Exit::Failure,
    })
}

fn export(
    mut graph: Graph,
    vault: &Vault,
    args: &ExportArgs,
    ui: &mut Ui,
) -> Result<Exit, CommandError> {
    if args.typed {
        graph.edges.retain(|edge| edge.kind.is_typed());
        let mut used: Vec<u32> = graph.edges.iter().flat_map(|it| [it.from, it.to]).collect();
        used.sort_unstable();
        used.dedup();
        graph = graph.part(&used);
    }
    if let Some(name) = &args.around {
        let node = find(&graph, vault, name)?;
        graph = graph.part(&graph.around(node, args.depth, &Filter::default()));
    }
    match args.format {
        Format::Dot => ui.print(&graph::dot(&graph))?,
        Format::Graphml => ui.print(&graph::graphml(&graph))?,
        Format::Markdown => ui.print(&graph::render_markdown(&graph))?,
        Format::Json => ui.json(&json!({
            "version": 1,
            "nodes": graph.nodes.iter().map(node_json).collect::<Vec<_>>(),
            "edges": graph.edges.iter().map(|edge| edge_json(&graph, edge)).collect::<Vec<_>>(),
        }))?,
        Format::Svg => {
            ui.print(&graph::svg(&graph))?;
            if graph.nodes.len() > graph::MOST_NODES {
                let (drawn, all) = (graph::MOST_NODES, graph.nodes.len());
                ui.note(&format!(
                    "The {drawn} of {all} nodes with the most edges are drawn; `--around` chooses others"
                ));
            }
        }
    }
    Ok(Exit::Success)
}

fn and_more(count: usize, limit: usize, ui: &mut Ui) -> Result<(), CommandError> {
    if count > limit {
        let more = count - limit;
        ui.line(&format!(
            "… and {more} more; `--limit` shows more, `--json` all"
        ))?;
    }
    Ok(())
}

fn named(node: &Node) -> String {
    let name = printable(&node.name);
    match (node.kind, &node.path) {
        (Kind::Missing, _) => format!("[[{name}]] (missing)"),
        (_, Some(_)) => format!("[[{name}]]"),
        (_, None) => name.into_owned(),
    }
}

fn described(node: &Node) -> String {
    let mut about = vec![node.kind.name().to_owned()];
    about.extend(
        node.type_name
            .as_deref()
            .map(|it| format!("type {}", printable(it))),
    );
    about.extend(node.status.as_deref().map(|it| printable(it).into_owned()));
    about.extend(node.date.as_deref().map(|it| printable(it).into_owned()));
    let title = match &node.title {
        Some(title) if *title != node.name => format!(": {}", printable(title)),
        _ => String::new(),
    };
    format!("{} ({}){title}", named(node), about.join(", "))
}

fn node_json(node: &Node) -> Value {
    json!({
        "id": node.id, "name": node.name, "kind": node.kind.name(),
        "path": node.path.as_ref().map(|it| it.as_str()), "title": node.title,
        "type": node.type_name, "status": node.status, "date": node.date,
    })
}

fn edge_json(graph: &Graph, edge: &Edge) -> Value {
    let (relation, reversed) = edge.kind.relation();
    json!({
        "from": graph.node(edge.from).id, "edge": edge.kind.name(),
        "to": graph.node(edge.to).id, "relation": relation.name(), "reversed": reversed,
    })
}
