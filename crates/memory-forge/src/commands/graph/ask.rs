//! Runs `graph ask`: ready questions, to the files or to the server.

use clap::{Args, Subcommand, ValueEnum};
use forge_app::document::day_of;
use forge_app::graph::ask::{self, Answer, Embedded, Entry, Question, Way};
use forge_app::graph::{Graph, Kind};
use forge_app::links::Vault;
use forge_app::workspace::Workspace;
use jiff::ToSpan;
use serde_json::{Value, json};

use super::{and_more, find, server};
use crate::report::{CommandError, Exit};
use crate::settings::Settings;
use crate::ui::{Ui, printable};

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
pub(super) struct AskArgs {
    #[command(subcommand)]
    question: AskCommand,

    /// Who answers; the setting `graph.engine` otherwise
    #[arg(long, value_enum, global = true)]
    engine: Option<Engine>,

    /// Show at most this many rows
    #[arg(long, value_name = "N", default_value_t = 50, global = true)]
    limit: usize,

    /// Print the result as JSON, without a limit
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum AskCommand {
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
pub(super) enum Engine {
    /// The files of this workspace
    Embedded,
    /// What was pushed to the graph server
    Server,
}

impl Engine {
    /// Returns the flag, or else the setting.
    pub(super) fn chosen(flag: Option<Engine>, workspace: &Workspace) -> Engine {
        flag.unwrap_or(match workspace.config().graph.engine.as_str() {
            "server" => Engine::Server,
            _ => Engine::Embedded,
        })
    }
}

/// Puts questions to the engine that was chosen. No caller needs to know which
/// one answered.
pub(super) fn answers(
    questions: &[Question],
    engine: Engine,
    graph: &Graph,
    workspace: &Workspace,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<Vec<Answer>, CommandError> {
    let mut answers = Vec::new();
    match engine {
        Engine::Embedded => {
            let mut source = Embedded::new(graph);
            for question in questions {
                match ask::ask(&mut source, question) {
                    Ok(answer) => answers.push(answer),
                    Err(never) => match never {},
                }
            }
        }
        Engine::Server => answers = server::ask(questions, workspace, settings, ui)?,
    }
    Ok(answers)
}

pub(super) fn run(
    args: &AskArgs,
    graph: &Graph,
    vault: &Vault,
    workspace: &Workspace,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<Exit, CommandError> {
    let engine = Engine::chosen(args.engine, workspace);
    // The server may have nodes that these files lack, so it decides about an
    // unknown name.
    let id = |name: &str| match find(graph, vault, name) {
        Ok(node) => Ok(graph.node(node).id.clone()),
        Err(_) if engine == Engine::Server => Ok(name.to_owned()),
        Err(error) => Err(error),
    };
    let question = match &args.question {
        AskCommand::Blocked => Question::Blocked,
        AskCommand::Active => Question::Active,
        AskCommand::Idle => Question::Idle,
        AskCommand::CriticalPath => Question::CriticalPath,
        AskCommand::Done { days } => Question::Done {
            since: day_of(settings.now).saturating_sub(days.days()).to_string(),
        },
        AskCommand::Rejections => Question::Rejections,
        AskCommand::Impact { node, depth } => Question::Impact {
            id: id(node)?,
            depth: *depth,
        },
        AskCommand::Path { from, to } => Question::Path {
            from: id(from)?,
            to: id(to)?,
        },
    };
    let questions = std::slice::from_ref(&question);
    let mut all = answers(questions, engine, graph, workspace, settings, ui)?;
    let answer = all.pop().expect("one question has one answer");
    let told = tell(&answer)?;
    if args.json {
        ui.json(&told.json)?;
        return Ok(told.exit);
    }
    for line in told.lines.iter().take(args.limit) {
        ui.line(line)?;
    }
    and_more(told.lines.len(), args.limit, ui)?;
    for line in &told.behind {
        ui.line(line)?;
    }
    Ok(told.exit)
}

/// Answer for people and for programs.
struct Told {
    lines: Vec<String>,
    /// Lines below the rows.
    behind: Vec<String>,
    json: Value,
    exit: Exit,
}

fn tell(answer: &Answer) -> Result<Told, CommandError> {
    let told = |lines: Vec<String>, none: &str, json: Value| Told {
        behind: Vec::from_iter(lines.is_empty().then(|| none.to_owned())),
        lines,
        json,
        exit: Exit::Success,
    };
    Ok(match answer {
        Answer::Blocked(rows) => told(
            rows.iter()
                .map(|row| {
                    if row.by.is_empty() {
                        format!("{}: says that it is blocked", named(&row.item))
                    } else {
                        format!("{} ← waits for {}", named(&row.item), list(&row.by))
                    }
                })
                .collect(),
            "Nothing is blocked",
            json!({ "version": 1, "blocked": rows.iter().map(|row| json!({
                "item": entry(&row.item), "by": entries(&row.by),
            })).collect::<Vec<_>>() }),
        ),
        Answer::Active(rows) => told(
            rows.iter()
                .map(|row| {
                    if row.assigned.is_empty() {
                        named(&row.task)
                    } else {
                        format!("{}: {}", named(&row.task), list(&row.assigned))
                    }
                })
                .collect(),
            "No task is at work",
            json!({ "version": 1, "active": rows.iter().map(|row| json!({
                "task": entry(&row.task), "assigned": entries(&row.assigned),
            })).collect::<Vec<_>>() }),
        ),
        Answer::Idle(rows) => told(
            rows.iter().map(named).collect(),
            "Nobody is idle",
            json!({ "version": 1, "idle": entries(rows) }),
        ),
        Answer::CriticalPath(path) => {
            let steps = path.steps.iter().enumerate();
            let mut told = told(
                steps
                    .map(|(at, step)| format!("{}. {} ({})", at + 1, named(step), step.weight))
                    .collect(),
                "There is no open task",
                json!({
                    "version": 1, "steps": entries(&path.steps), "weight": path.weight,
                    "rings": path.rings.iter().map(|it| entries(it)).collect::<Vec<_>>(),
                }),
            );
            if !path.steps.is_empty() {
                told.behind.push(format!("Together: {}", path.weight));
            }
            for ring in &path.rings {
                told.behind.push(format!(
                    "warning: these wait for each other, and none can begin: {}",
                    list(ring)
                ));
            }
            told
        }
        Answer::Done(rows) => told(
            rows.iter()
                .map(|row| {
                    let day = row.completed.as_deref().unwrap_or("");
                    format!("{day} {}", named(row))
                })
                .collect(),
            "No task was done in that time",
            json!({ "version": 1, "done": entries(rows) }),
        ),
        Answer::Rejections(rows) => told(
            rows.iter()
                .map(|row| {
                    format!(
                        "{}: {} of {} tasks sent back ({:.0} %), {} times",
                        named(&row.maker),
                        row.rejected,
                        row.tasks,
                        100.0 * row.rejected as f64 / row.tasks.max(1) as f64,
                        row.rejections
                    )
                })
                .collect(),
            "No task names its maker",
            json!({ "version": 1, "makers": rows.iter().map(|row| json!({
                "maker": entry(&row.maker), "tasks": row.tasks, "rejected": row.rejected,
                "rejections": row.rejections,
                "rate": row.rejected as f64 / row.tasks.max(1) as f64,
            })).collect::<Vec<_>>() }),
        ),
        Answer::Impact(None) => return Err(unknown("that node")),
        Answer::Impact(Some(rows)) => told(
            rows.iter()
                .map(|row| {
                    let indent = "  ".repeat(row.distance - 1);
                    let (from, relation) = (printable(&row.from), row.relation.name());
                    format!("{indent}{} ({relation}, {from})", named(&row.node))
                })
                .collect(),
            "It touched nothing",
            json!({ "version": 1, "touched": rows.iter().map(|row| json!({
                "distance": row.distance, "node": entry(&row.node),
                "relation": row.relation.name(), "from": row.from,
            })).collect::<Vec<_>>() }),
        ),
        Answer::Path(Way::Unknown(id)) => return Err(unknown(&format!("`{id}`"))),
        Answer::Path(Way::None) => Told {
            lines: vec!["No way leads from one to the other".to_owned()],
            behind: Vec::new(),
            json: json!({ "version": 1, "found": false, "hops": null }),
            exit: Exit::Failure,
        },
        Answer::Path(Way::Found { start, hops }) => {
            let mut lines = vec![named(start)];
            lines.extend(hops.iter().map(|hop| {
                let relation = hop.relation.name();
                if hop.against {
                    format!("  ← {relation} ← {}", named(&hop.to))
                } else {
                    format!("  → {relation} → {}", named(&hop.to))
                }
            }));
            let hops = hops.iter().map(|hop| {
                json!({
                    "relation": hop.relation.name(), "against": hop.against, "to": entry(&hop.to),
                })
            });
            let json = json!({
                "version": 1, "found": true, "start": entry(start),
                "hops": hops.collect::<Vec<_>>(),
            });
            told(lines, "", json)
        }
    })
}

fn unknown(what: &str) -> CommandError {
    CommandError::failure(format!("There is no {} in the graph", printable(what)))
        .hint("`memory-forge graph query` lists what there is")
}

fn named(entry: &Entry) -> String {
    let name = printable(&entry.name);
    match entry.kind {
        Kind::Missing => format!("[[{name}]] (missing)"),
        _ if entry.name == entry.id => name.into_owned(),
        _ => format!("{name} [{}]", printable(&entry.id)),
    }
}

fn list(entries: &[Entry]) -> String {
    let names: Vec<String> = entries.iter().map(named).collect();
    names.join(", ")
}

fn entries(entries: &[Entry]) -> Vec<Value> {
    entries.iter().map(entry).collect()
}

fn entry(entry: &Entry) -> Value {
    json!({
        "id": entry.id, "name": entry.name, "kind": entry.kind.name(),
        "standing": entry.standing.name(), "status": entry.status,
        "completed": entry.completed, "weight": entry.weight, "rejections": entry.rejections,
    })
}
