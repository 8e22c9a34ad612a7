//! Runs `graph ask`: ready questions, to the files or to the server.

use clap::{Args, Subcommand, ValueEnum};
use forge_app::document::day_of_timestamp;
use forge_app::graph::ask::{
    self, EmbeddedGraph, GraphAnswer, GraphPath, GraphQuestion, NodeSummary,
};
use forge_app::graph::{NodeKind, WorkspaceGraph};
use forge_app::links::NoteVault;
use forge_app::workspace::Workspace;
use jiff::ToSpan;
use serde_json::{Value, json};

use super::{find_node, note_more_rows, server};
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::{Ui, escape_hidden};

#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "\
Examples:
  memory-forge graph ask blocked                   What waits, and for what
  memory-forge graph ask critical-path --json      The longest chain of open work
  memory-forge graph ask done --days 7
  memory-forge graph ask impact DEC-007            What a decision touched
  memory-forge graph ask path rye ovens --engine server"
)]
pub(super) struct GraphAskArgs {
    #[command(subcommand)]
    question: GraphAskCommand,

    /// Who answers; the setting `graph.engine` otherwise
    #[arg(long, value_enum, global = true)]
    engine: Option<GraphEngineChoice>,

    /// Show at most this many rows
    #[arg(long, value_name = "N", default_value_t = 50, global = true)]
    limit: usize,

    /// Print the result as JSON, without a limit
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum GraphAskCommand {
    /// What is blocked, and by what
    Blocked,
    /// Tasks at work, and who has them
    Active,
    /// Agents without an open task
    Idle,
    /// The longest chain of open work, by estimate, and rings that have no end
    CriticalPath,
    /// Tasks done in the last day, the newest first
    Done {
        /// How many days back
        #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(i64).range(0..=36500))]
        days: i64,
    },
    /// How much of each maker's work was sent back
    Rejections,
    /// What a decision, or any other node, touched
    Impact {
        /// `DEC-007`, or a note, task or person by its name
        node: String,

        /// How many steps away
        #[arg(long, value_name = "N", default_value_t = 3)]
        depth: usize,
    },
    /// The shortest way between two nodes; exits with 1 when there is none
    Path { from: String, to: String },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum GraphEngineChoice {
    /// The files of this workspace
    Embedded,
    /// What was pushed to the graph server
    Server,
}

impl GraphEngineChoice {
    /// Returns the flag, or else the setting.
    pub(super) fn select_engine(
        flag: Option<GraphEngineChoice>,
        workspace: &Workspace,
    ) -> GraphEngineChoice {
        flag.unwrap_or(match workspace.config().graph.engine.as_str() {
            "server" => GraphEngineChoice::Server,
            _ => GraphEngineChoice::Embedded,
        })
    }
}

/// Puts questions to the engine that was chosen. No caller needs to know which
/// one answered.
pub(super) fn ask_engine(
    questions: &[GraphQuestion],
    engine: GraphEngineChoice,
    graph: &WorkspaceGraph,
    workspace: &Workspace,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<Vec<GraphAnswer>, CommandError> {
    let mut answers = Vec::new();
    match engine {
        GraphEngineChoice::Embedded => {
            let mut source = EmbeddedGraph::new(graph);
            for question in questions {
                match ask::answer_question(&mut source, question) {
                    Ok(answer) => answers.push(answer),
                    Err(never) => match never {},
                }
            }
        }
        GraphEngineChoice::Server => {
            answers = server::ask_server(questions, workspace, settings, ui)?
        }
    }
    Ok(answers)
}

pub(super) fn run_graph_ask(
    args: &GraphAskArgs,
    graph: &WorkspaceGraph,
    vault: &NoteVault,
    workspace: &Workspace,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let engine = GraphEngineChoice::select_engine(args.engine, workspace);
    // The server may have nodes that these files lack, so it decides about an
    // unknown name.
    let id = |name: &str| match find_node(graph, vault, name) {
        Ok(node) => Ok(graph.node(node).id.clone()),
        Err(_) if engine == GraphEngineChoice::Server => Ok(name.to_owned()),
        Err(error) => Err(error),
    };
    let question = match &args.question {
        GraphAskCommand::Blocked => GraphQuestion::Blocked,
        GraphAskCommand::Active => GraphQuestion::Active,
        GraphAskCommand::Idle => GraphQuestion::Idle,
        GraphAskCommand::CriticalPath => GraphQuestion::CriticalPath,
        GraphAskCommand::Done { days } => GraphQuestion::Done {
            since: day_of_timestamp(settings.now)
                .saturating_sub(days.days())
                .to_string(),
        },
        GraphAskCommand::Rejections => GraphQuestion::Rejections,
        GraphAskCommand::Impact { node, depth } => GraphQuestion::Impact {
            id: id(node)?,
            depth: *depth,
        },
        GraphAskCommand::Path { from, to } => GraphQuestion::Path {
            from: id(from)?,
            to: id(to)?,
        },
    };
    let questions = std::slice::from_ref(&question);
    let mut all = ask_engine(questions, engine, graph, workspace, settings, ui)?;
    let answer = all.pop().expect("one question has one answer");
    let rendered = render_answer(&answer)?;
    if args.json {
        ui.print_json(&rendered.json)?;
        return Ok(rendered.exit);
    }
    for line in rendered.lines.iter().take(args.limit) {
        ui.print_line(line)?;
    }
    note_more_rows(rendered.lines.len(), args.limit, ui)?;
    for line in &rendered.behind {
        ui.print_line(line)?;
    }
    Ok(rendered.exit)
}

/// Answer for people and for programs.
struct RenderedAnswer {
    lines: Vec<String>,
    /// Lines below the rows.
    behind: Vec<String>,
    json: Value,
    exit: CommandExit,
}

fn render_answer(answer: &GraphAnswer) -> Result<RenderedAnswer, CommandError> {
    let rendered = |lines: Vec<String>, none: &str, json: Value| RenderedAnswer {
        behind: Vec::from_iter(lines.is_empty().then(|| none.to_owned())),
        lines,
        json,
        exit: CommandExit::Success,
    };
    Ok(match answer {
        GraphAnswer::Blocked(rows) => rendered(
            rows.iter()
                .map(|row| {
                    if row.by.is_empty() {
                        format!("{}: marked as blocked", entry_name(&row.item))
                    } else {
                        format!(
                            "{} ← waits for {}",
                            entry_name(&row.item),
                            join_entry_names(&row.by)
                        )
                    }
                })
                .collect(),
            "Nothing is blocked",
            json!({ "version": 1, "blocked": rows.iter().map(|row| json!({
                "item": entry_json(&row.item), "by": entries_json(&row.by),
            })).collect::<Vec<_>>() }),
        ),
        GraphAnswer::Active(rows) => rendered(
            rows.iter()
                .map(|row| {
                    if row.assigned.is_empty() {
                        entry_name(&row.task)
                    } else {
                        format!(
                            "{}: {}",
                            entry_name(&row.task),
                            join_entry_names(&row.assigned)
                        )
                    }
                })
                .collect(),
            "No task is in progress",
            json!({ "version": 1, "active": rows.iter().map(|row| json!({
                "task": entry_json(&row.task), "assigned": entries_json(&row.assigned),
            })).collect::<Vec<_>>() }),
        ),
        GraphAnswer::Idle(rows) => rendered(
            rows.iter().map(entry_name).collect(),
            "No one is idle",
            json!({ "version": 1, "idle": entries_json(rows) }),
        ),
        GraphAnswer::CriticalPath(path) => {
            let steps = path.steps.iter().enumerate();
            let mut rendered = rendered(
                steps
                    .map(|(at, step)| format!("{}. {} ({})", at + 1, entry_name(step), step.weight))
                    .collect(),
                "There is no open task",
                json!({
                    "version": 1, "steps": entries_json(&path.steps), "weight": path.weight,
                    "rings": path.rings.iter().map(|it| entries_json(it)).collect::<Vec<_>>(),
                }),
            );
            if !path.steps.is_empty() {
                rendered.behind.push(format!("Together: {}", path.weight));
            }
            for ring in &path.rings {
                rendered.behind.push(format!(
                    "warning: these wait for each other, and none can begin: {}",
                    join_entry_names(ring)
                ));
            }
            rendered
        }
        GraphAnswer::Done(rows) => rendered(
            rows.iter()
                .map(|row| {
                    let day = row.completed.as_deref().unwrap_or("");
                    format!("{day} {}", entry_name(row))
                })
                .collect(),
            "No task was done in that time",
            json!({ "version": 1, "done": entries_json(rows) }),
        ),
        GraphAnswer::Rejections(rows) => rendered(
            rows.iter()
                .map(|row| {
                    format!(
                        "{}: {} of {} tasks sent back ({:.0} %), {} times",
                        entry_name(&row.maker),
                        row.rejected,
                        row.tasks,
                        100.0 * row.rejected as f64 / row.tasks.max(1) as f64,
                        row.rejections
                    )
                })
                .collect(),
            "No task names its maker",
            json!({ "version": 1, "makers": rows.iter().map(|row| json!({
                "maker": entry_json(&row.maker), "tasks": row.tasks, "rejected": row.rejected,
                "rejections": row.rejections,
                "rate": row.rejected as f64 / row.tasks.max(1) as f64,
            })).collect::<Vec<_>>() }),
        ),
        GraphAnswer::Impact(None) => return Err(unknown_node("that node")),
        GraphAnswer::Impact(Some(rows)) => rendered(
            rows.iter()
                .map(|row| {
                    let indent = "  ".repeat(row.distance - 1);
                    let (from, relation) = (escape_hidden(&row.from), row.relation.name());
                    format!("{indent}{} ({relation}, {from})", entry_name(&row.node))
                })
                .collect(),
            "It touched no files",
            json!({ "version": 1, "touched": rows.iter().map(|row| json!({
                "distance": row.distance, "node": entry_json(&row.node),
                "relation": row.relation.name(), "from": row.from,
            })).collect::<Vec<_>>() }),
        ),
        GraphAnswer::Path(GraphPath::Unknown(id)) => return Err(unknown_node(&format!("`{id}`"))),
        GraphAnswer::Path(GraphPath::None) => RenderedAnswer {
            lines: vec!["There is no path between them".to_owned()],
            behind: Vec::new(),
            json: json!({ "version": 1, "found": false, "hops": null }),
            exit: CommandExit::Failure,
        },
        GraphAnswer::Path(GraphPath::Found { start, hops }) => {
            let mut lines = vec![entry_name(start)];
            lines.extend(hops.iter().map(|hop| {
                let relation = hop.relation.name();
                if hop.against {
                    format!("  ← {relation} ← {}", entry_name(&hop.to))
                } else {
                    format!("  → {relation} → {}", entry_name(&hop.to))
                }
            }));
            let hops = hops.iter().map(|hop| {
                json!({
                    "relation": hop.relation.name(), "against": hop.against, "to": entry_json(&hop.to),
                })
            });
            let json = json!({
                "version": 1, "found": true, "start": entry_json(start),
                "hops": hops.collect::<Vec<_>>(),
            });
            rendered(lines, "", json)
        }
    })
}

fn unknown_node(what: &str) -> CommandError {
    CommandError::failure(format!("There is no {} in the graph", escape_hidden(what)))
        .hint("`memory-forge graph query` lists what there is")
}

fn entry_name(entry: &NodeSummary) -> String {
    let name = escape_hidden(&entry.name);
    match entry.kind {
        NodeKind::Missing => format!("[[{name}]] (missing)"),
        _ if entry.name == entry.id => name.into_owned(),
        _ => format!("{name} [{}]", escape_hidden(&entry.id)),
    }
}

fn join_entry_names(entries: &[NodeSummary]) -> String {
    let names: Vec<String> = entries.iter().map(entry_name).collect();
    names.join(", ")
}

fn entries_json(entries: &[NodeSummary]) -> Vec<Value> {
    entries.iter().map(entry_json).collect()
}

fn entry_json(entry: &NodeSummary) -> Value {
    json!({
        "id": entry.id, "name": entry.name, "kind": entry.kind.name(),
        "standing": entry.standing.name(), "status": entry.status,
        "completed": entry.completed, "weight": entry.weight, "rejections": entry.rejections,
    })
}
