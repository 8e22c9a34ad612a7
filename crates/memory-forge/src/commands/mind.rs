//! Runs `mind`: the state of the work, as an agent or a person keeps it. Each
//! subcommand reads or changes one of the state files and reports what it did.

use clap::{Args, Subcommand, ValueEnum};
use forge_app::mind::{MindStore, NewDecision, NewSession, StateChange};
use forge_app::record;
use forge_app::workspace::Workspace;
use forge_app::workspace::git;
use jiff::Timestamp;

use super::{idea, session};
use crate::paths;
use crate::recorded::recorded_line;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::{Ui, escape_hidden};

mod show;

/// Keep state, tasks, decisions, ideas and the log of sessions
///
/// The files are Markdown in `.mind/` (or a workspace's `memory/`) and may be
/// edited by hand at any time. What you do not name stays as it is, byte for
/// byte, and every change can be undone with `doctor --undo`.
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "\
Examples:
  memory-forge mind show
  memory-forge mind set --phase \"Phase 2: Build\" --next \"Finish the login page\"
  memory-forge mind decide \"Queue\" --decision \"Use the database as the queue\"
  memory-forge mind task add \"Write the migration\"
  memory-forge mind task done migration
  memory-forge mind log \"Login works end to end\" --next \"Sessions expire\"
  memory-forge mind compress --dry-run"
)]
pub(crate) struct MindArgs {
    #[command(subcommand)]
    command: MindCommand,
}

#[derive(Debug, Subcommand)]
enum MindCommand {
    /// Show where the work stands
    #[command(after_help = "\
Examples:
  memory-forge mind show
  memory-forge mind show decisions
  memory-forge mind show briefing      What an agent gets at its start")]
    Show(MindShowArgs),
    /// Change parts of the state; the others stay
    Set(MindSetArgs),
    /// Record a decision under the next id
    #[command(after_help = "\
Examples:
  memory-forge mind decide \"Queue\" --decision \"Use the database as the queue\"
  memory-forge mind decide \"Queue\" -d \"Use the database\" -r \"One thing less to run\" --by Ada")]
    Decide(MindDecideArgs),
    /// Add a task, or tick one
    #[command(after_help = "\
Examples:
  memory-forge mind task add \"Write the migration\"
  memory-forge mind task done migration")]
    Task(TaskArgs),
    /// Write an entry into the session log
    #[command(after_help = "\
Examples:
  memory-forge mind log \"Login works end to end\" --next \"Sessions expire\"
  memory-forge mind log \"Login works\" --completed \"Login form\" --blocker \"No test account\"")]
    Log(MindLogArgs),
    /// Keep a copy of state and open work
    #[command(after_help = "\
Examples:
  memory-forge mind checkpoint")]
    Checkpoint(CheckpointArgs),
    /// Move what is old to the archive, word for word
    #[command(after_help = "\
Examples:
  memory-forge mind compress --dry-run
  memory-forge mind compress")]
    Compress(CompressArgs),
    /// Check the files; exits with 1 when something needs attention
    #[command(after_help = "\
Examples:
  memory-forge mind health
  memory-forge mind health --json")]
    Health(MindHealthArgs),
    Session(session::SessionArgs),
    Idea(idea::IdeaArgs),
}

#[derive(Debug, Args)]
struct MindShowArgs {
    /// Which part
    #[arg(default_value = "all")]
    what: MindPart,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum MindPart {
    /// State, open tasks, decisions and the last session
    All,
    State,
    /// Every task with its section
    Progress,
    /// Every decision in full
    Decisions,
    /// Every session in full
    Sessions,
    /// What an agent gets at its start
    Briefing,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge mind set --next \"Ship it\"
  memory-forge mind set --active \"Login\" --active \"Search\"
  memory-forge mind set --blocked \"\"     Nothing is blocked any more")]
struct MindSetArgs {
    /// The phase of the project
    #[arg(long)]
    phase: Option<String>,

    /// How things are
    #[arg(long)]
    status: Option<String>,

    /// What is being worked on; give it once for each
    #[arg(long, value_name = "WORK")]
    active: Vec<String>,

    /// What is blocked, and on what; give it once for each
    #[arg(long, value_name = "ITEM")]
    blocked: Vec<String>,

    /// What to do next
    #[arg(long)]
    next: Option<String>,
}

#[derive(Debug, Args)]
struct MindDecideArgs {
    /// What it is about, in a few words
    title: String,

    /// What was decided
    #[arg(long, short)]
    decision: String,

    /// Why
    #[arg(long, short)]
    rationale: Option<String>,

    /// Who decided [default: agent; at a terminal, your name in git]
    #[arg(long, value_name = "NAME")]
    by: Option<String>,

    /// How firm it is [default: Final]
    #[arg(long)]
    status: Option<String>,
}

#[derive(Debug, Args)]
struct TaskArgs {
    #[command(subcommand)]
    command: TaskCommand,
}

#[derive(Debug, Subcommand)]
enum TaskCommand {
    /// Add an open task to a section
    Add {
        /// The task
        task: String,
        /// The section; one that is missing is added
        #[arg(long, short, default_value = "In Progress")]
        section: String,
    },
    /// Tick the one open task that is this, or contains it
    Done {
        /// The task, or a part of it that no other task has
        task: String,
    },
}

#[derive(Debug, Args)]
struct MindLogArgs {
    /// What happened
    summary: String,

    /// Something that was completed; give it once for each
    #[arg(long, value_name = "WHAT")]
    completed: Vec<String>,

    /// A decision that was made; give it once for each
    #[arg(long, value_name = "WHAT")]
    decision: Vec<String>,

    /// Something that is in the way; give it once for each
    #[arg(long, value_name = "WHAT")]
    blocker: Vec<String>,

    /// What the next session should do
    #[arg(long)]
    next: Option<String>,
}

#[derive(Debug, Args)]
struct CheckpointArgs {
    /// What led to it
    #[arg(long, default_value = "manual")]
    trigger: String,
}

#[derive(Debug, Args)]
struct CompressArgs {
    /// Say what would move and change nothing
    #[arg(long)]
    dry_run: bool,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct MindHealthArgs {
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run_mind(
    args: MindArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    // These two open the workspace themselves, after reading their input.
    let command = match args.command {
        MindCommand::Session(args) => return session::run_session(args, settings, ui),
        MindCommand::Idea(args) => return idea::run_idea(args, settings, ui),
        command => command,
    };
    let workspace = paths::open_workspace(settings, ui)?;
    let mind = MindStore::open(&workspace);
    let now = settings.now;
    match command {
        MindCommand::Session(_) | MindCommand::Idea(_) => unreachable!("answered above"),
        MindCommand::Show(args) => show::show_mind(&mind, &args, settings, ui)?,
        MindCommand::Set(args) => record_entry(
            record::NewStateEntry::State(args.into_change()?),
            &workspace,
            now,
            ui,
        )?,
        MindCommand::Decide(args) => {
            let new = NewDecision {
                title: args.title,
                decision: args.decision,
                rationale: args.rationale,
                // At a terminal it is a person who decides; agents have none.
                decided_by: args.by.or_else(|| {
                    let is_person = ui.can_ask();
                    is_person
                        .then(|| git::user_name(workspace.root()))
                        .flatten()
                }),
                status: args.status,
            };
            record_entry(record::NewStateEntry::Decision(new), &workspace, now, ui)?;
        }
        MindCommand::Task(TaskArgs { command }) => {
            let new = match command {
                TaskCommand::Add { task, section } => record::NewStateEntry::Task {
                    text: task,
                    section,
                },
                TaskCommand::Done { task } => record::NewStateEntry::DoneTask { text: task },
            };
            record_entry(new, &workspace, now, ui)?;
        }
        MindCommand::Log(args) => {
            let new = NewSession {
                summary: args.summary,
                completed: args.completed,
                decisions: args.decision,
                blockers: args.blocker,
                next: args.next,
                ..NewSession::default()
            };
            record_entry(record::NewStateEntry::Session(new), &workspace, now, ui)?;
        }
        MindCommand::Checkpoint(args) => {
            let kept = mind.write_checkpoint(&args.trigger, now)?;
            ui.print_line(&format!("Checkpoint written: {}", kept.path))?;
            if let Some(copy) = kept.copy {
                ui.detail(&format!("Kept a copy: {copy}"));
            }
        }
        MindCommand::Compress(args) => {
            let done = mind.compress_state(args.dry_run, now)?;
            if args.json {
                ui.print_json(&show::compression_json(&done))?
            } else {
                show::show_compression(&done, ui)?
            }
        }
        MindCommand::Health(args) => return show::show_health(&mind, &args, settings, ui),
    }
    Ok(CommandExit::Success)
}

/// Writes one entry and reports it.
fn record_entry(
    new: record::NewStateEntry,
    workspace: &Workspace,
    now: Timestamp,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    let done = record::record_entry(workspace, new, now)?;
    let line = recorded_line(&done, str::to_owned);
    ui.print_line(&escape_hidden(&line))
}

impl MindSetArgs {
    fn into_change(self) -> Result<StateChange, CommandError> {
        // A flag that was not given leaves its part as it is.
        let list = |values: Vec<String>| (!values.is_empty()).then_some(values);
        let change = StateChange {
            phase: self.phase,
            status: self.status,
            active: list(self.active),
            blocked: list(self.blocked),
            next: self.next,
            priorities: None,
        };
        if change.is_empty() {
            Err(CommandError::usage("Nothing to set").hint(
                "Name at least one of `--phase`, `--status`, `--active`, `--blocked`, `--next`",
            ))
        } else {
            Ok(change)
        }
    }
}
