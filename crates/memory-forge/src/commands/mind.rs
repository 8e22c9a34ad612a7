//! `mind`: where the work stands, as an agent or a person keeps it. Each
//! subcommand reads or changes one of the state files and says what it did.

use clap::{Args, Subcommand, ValueEnum};
use forge::mind::{
    Compression, Decision, Error, Health, Layout, Mind, NewDecision, NewSession, Progress, Session,
    Severity, Source, State, StateChange,
};
use serde_json::{Value, json};

use crate::memory;
use crate::report::{CommandError, Exit};
use crate::settings::Settings;
use crate::ui::{Ui, printable, style};

/// Keep and show where the work stands: state, tasks, decisions, sessions
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
    Show(ShowArgs),
    /// Change parts of the state; the others stay
    Set(SetArgs),
    /// Record a decision under the next id
    Decide(DecideArgs),
    /// Add a task, or tick one
    Task(TaskArgs),
    /// Write an entry into the session log
    Log(LogArgs),
    /// Keep a copy of state and open work
    Checkpoint(CheckpointArgs),
    /// Move what is old to the archive, word for word
    Compress(CompressArgs),
    /// Check the files; exits with 1 when something needs attention
    Health(HealthArgs),
}

#[derive(Debug, Args)]
struct ShowArgs {
    /// Which part
    #[arg(default_value = "all")]
    what: What,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// State, open tasks, decisions and the last session
    All,
    State,
    /// Every task with its section
    Progress,
    /// Every decision in full
    Decisions,
    /// Every session in full
    Sessions,
    /// What an agent is told at its start
    Briefing,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge mind set --next \"Ship it\"
  memory-forge mind set --active \"Login\" --active \"Search\"
  memory-forge mind set --blocked \"\"     Nothing is blocked any more")]
struct SetArgs {
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
struct DecideArgs {
    /// What it is about, in a few words
    title: String,

    /// What was decided
    #[arg(long, short)]
    decision: String,

    /// Why
    #[arg(long, short)]
    rationale: Option<String>,

    /// Who decided [default: agent]
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
struct LogArgs {
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
struct HealthArgs {
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: MindArgs, settings: &Settings, ui: &mut Ui) -> Result<Exit, CommandError> {
    let workspace = memory::workspace(settings, ui)?;
    let mind = Mind::open(&workspace);
    let now = settings.now;
    let shown = |text: &str| printable(text).into_owned();
    match args.command {
        MindCommand::Show(args) => show(&mind, &args, settings, ui)?,
        MindCommand::Set(args) => {
            let change = args.change()?;
            let outcome = mind.set(&change, now)?;
            let done = if outcome.created {
                "created"
            } else {
                "updated"
            };
            let file = mind.file(forge::mind::File::State);
            let phase = outcome.phase.as_deref().unwrap_or("Not set");
            ui.line(&format!(
                "{} {done}. Phase: {}",
                file.file_name(),
                shown(phase)
            ))?;
        }
        MindCommand::Decide(args) => {
            let new = NewDecision {
                title: args.title,
                decision: args.decision,
                rationale: args.rationale,
                decided_by: args.by,
                status: args.status,
            };
            let id = mind.decide(&new, now)?;
            ui.line(&format!("Decision {id} saved: {}", shown(&new.title)))?;
        }
        MindCommand::Task(TaskArgs { command }) => match command {
            TaskCommand::Add { task, section } => {
                let section = mind.task_add(&task, &section, now)?;
                ui.line(&format!("Added to {}: {}", shown(&section), shown(&task)))?;
            }
            TaskCommand::Done { task } => {
                let done = mind.task_done(&task, now)?;
                ui.line(&format!("Marked complete: {}", shown(&done)))?;
            }
        },
        MindCommand::Log(args) => {
            let new = NewSession {
                summary: args.summary,
                completed: args.completed,
                decisions: args.decision,
                blockers: args.blocker,
                next: args.next,
                captured: None,
            };
            let number = mind.log(&new, now)?;
            ui.line(&format!("Session {number} logged."))?;
        }
        MindCommand::Checkpoint(args) => {
            let kept = mind.checkpoint(&args.trigger, now)?;
            ui.line(&format!("Checkpoint written: {}", kept.path))?;
            if let Some(copy) = kept.copy {
                ui.detail(&format!("Kept a copy: {copy}"));
            }
        }
        MindCommand::Compress(args) => {
            let done = mind.compress(args.dry_run, now)?;
            match args.json {
                true => ui.json(&compression_json(&done))?,
                false => show_compression(&done, ui)?,
            }
        }
        MindCommand::Health(args) => return health(&mind, &args, settings, ui),
    }
    Ok(Exit::Success)
}

impl From<Error> for CommandError {
    fn from(error: Error) -> CommandError {
        let told = printable(&error.to_string()).into_owned();
        match error {
            Error::Workspace(error) => error.into(),
            Error::Empty { .. } => CommandError::usage(told),
            Error::NoMatch { open, .. } if open.is_empty() => {
                CommandError::failure(told).hint("There are no open tasks")
            }
            Error::NoMatch { open, .. } => listed(CommandError::failure(told), "Open", &open),
            Error::Ambiguous { matching, .. } => {
                listed(CommandError::failure(told), "Matches", &matching)
                    .hint("Name one of them in full")
            }
            _ => CommandError::failure(told),
        }
    }
}

/// Tasks named in an error at most.
const MOST: usize = 10;

fn listed(mut error: CommandError, label: &str, tasks: &[String]) -> CommandError {
    for task in tasks.iter().take(MOST) {
        error = error.hint(format!("{label}: {}", printable(task)));
    }
    match tasks.len() > MOST {
        true => error.hint(format!("and {} more", tasks.len() - MOST)),
        false => error,
    }
}

impl SetArgs {
    fn change(self) -> Result<StateChange, CommandError> {
        let list = |values: Vec<String>| (!values.is_empty()).then_some(values);
        let change = StateChange {
            phase: self.phase,
            status: self.status,
            active: list(self.active),
            blocked: list(self.blocked),
            next: self.next,
        };
        match change.is_empty() {
            true => Err(CommandError::usage("Nothing to set").hint(
                "Name at least one of `--phase`, `--status`, `--active`, `--blocked`, `--next`",
            )),
            false => Ok(change),
        }
    }
}

fn show(
    mind: &Mind<'_>,
    args: &ShowArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    if args.what == What::Briefing {
        let briefing = mind.briefing(&forge::mind::BriefingAsk {
            source: Source::Startup,
            max_tokens: forge::mind::MAX_TOKENS,
            max_bytes: forge::mind::MAX_BYTES,
            // A person reads this, and nothing acts on it.
            nonce: "shown-to-a-person",
            now: settings.now,
            events: &[],
        });
        return match args.json {
            true => ui.json(&json!({
                "version": 1, "text": briefing.text, "leftOut": briefing.left_out,
                "tokens": forge::tokens::estimate(&briefing.text), "tokenizer": "~o200k",
            })),
            false => ui.print(&printable(&briefing.text)),
        };
    }
    let wanted = |what: What| args.what == What::All || args.what == what;
    let state = if wanted(What::State) {
        mind.state()?
    } else {
        None
    };
    let progress = if wanted(What::Progress) {
        mind.progress()?
    } else {
        None
    };
    let decisions = if wanted(What::Decisions) {
        mind.decisions()?
    } else {
        Vec::new()
    };
    let sessions = if wanted(What::Sessions) {
        mind.sessions()?
    } else {
        Vec::new()
    };
    if args.json {
        let mut out = json!({ "version": 1, "layout": match mind.layout() {
            Layout::Mind => "mind",
            Layout::Manifest => "manifest",
        }});
        if wanted(What::State) {
            out["state"] = state.as_ref().map_or(Value::Null, state_json);
        }
        if wanted(What::Progress) {
            out["tasks"] = progress.as_ref().map_or(json!([]), tasks_json);
        }
        if wanted(What::Decisions) {
            out["decisions"] = decisions.iter().map(decision_json).collect();
        }
        if wanted(What::Sessions) {
            out["sessions"] = sessions.iter().map(session_json).collect();
        }
        return ui.json(&out);
    }
    if !mind.exists() {
        return ui.line("No state found. `memory-forge mind set` writes the first.");
    }
    match args.what {
        What::State => ui.print(&printable(&state.map(|it| it.text).unwrap_or_default())),
        What::Progress => show_tasks(&progress.unwrap_or_default(), true, ui),
        What::Decisions => each(decisions.iter().map(|it| &it.text), ui),
        What::Sessions => each(sessions.iter().map(|it| &it.text), ui),
        What::All | What::Briefing => {
            show_state(&state.unwrap_or_default(), ui)?;
            show_tasks(&progress.unwrap_or_default(), false, ui)?;
            show_latest(&decisions, &sessions, ui)
        }
    }
}

fn each<'a>(texts: impl Iterator<Item = &'a String>, ui: &mut Ui) -> Result<(), CommandError> {
    for (index, text) in texts.enumerate() {
        if index > 0 {
            ui.line("")?;
        }
        ui.line(&printable(text))?;
    }
    Ok(())
}

fn show_state(state: &State, ui: &mut Ui) -> Result<(), CommandError> {
    let or_unset = |text: &Option<String>| text.clone().unwrap_or_else(|| "not set".to_owned());
    let list = |items: &[String]| match items.is_empty() {
        true => "none".to_owned(),
        false => items.join("; "),
    };
    for (label, value) in [
        ("Phase", or_unset(&state.phase)),
        ("Status", or_unset(&state.status)),
        ("Active", list(&state.active)),
        ("Blocked", list(&state.blocked)),
        ("Next", or_unset(&state.next)),
        (
            "Updated",
            state
                .updated
                .map_or("not set".to_owned(), |it| it.to_string()),
        ),
    ] {
        let bold = style::HEADING;
        ui.line(&format!("{bold}{label:<8}{bold:#} {}", printable(&value)))?;
    }
    Ok(())
}

fn show_tasks(progress: &Progress, all: bool, ui: &mut Ui) -> Result<(), CommandError> {
    let mut section = None;
    for task in progress.tasks.iter().filter(|task| all || !task.done) {
        if section != Some(&task.section) {
            section = Some(&task.section);
            let bold = style::HEADING;
            ui.line(&format!("\n{bold}{}{bold:#}", printable(&task.section)))?;
        }
        let mark = if task.done { 'x' } else { ' ' };
        let done = task.completed.map(|it| format!(" (completed {it})"));
        ui.line(&format!(
            "- [{mark}] {}{}",
            printable(&task.text),
            done.unwrap_or_default()
        ))?;
    }
    Ok(())
}

fn show_latest(
    decisions: &[Decision],
    sessions: &[Session],
    ui: &mut Ui,
) -> Result<(), CommandError> {
    let bold = style::HEADING;
    let latest: Vec<&Decision> = decisions.iter().rev().take(3).collect();
    if !latest.is_empty() {
        ui.line(&format!(
            "\n{bold}Decisions{bold:#} ({}, newest first)",
            decisions.len()
        ))?;
    }
    for decision in latest {
        let id = decision
            .id
            .as_ref()
            .map(|id| format!("{id}: "))
            .unwrap_or_default();
        let void = if decision.superseded {
            " (superseded)"
        } else {
            ""
        };
        ui.line(&format!("- {id}{}{void}", printable(&decision.title)))?;
    }
    if let Some(last) = sessions.last() {
        let gist = last.gist().unwrap_or_default();
        ui.line(&format!("\n{bold}Last session{bold:#}"))?;
        ui.line(&format!("{}: {}", printable(&last.title), printable(&gist)))?;
    }
    Ok(())
}

fn state_json(state: &State) -> Value {
    json!({
        "phase": state.phase, "status": state.status, "active": state.active,
        "blocked": state.blocked, "next": state.next,
        "updated": state.updated.map(|it| it.to_string()), "text": state.text,
    })
}

fn tasks_json(progress: &Progress) -> Value {
    let task = |task: &forge::mind::TaskEntry| {
        json!({
            "text": task.text, "done": task.done, "section": task.section,
            "completed": task.completed.map(|it| it.to_string()), "line": task.line,
        })
    };
    progress.tasks.iter().map(task).collect()
}

fn decision_json(decision: &Decision) -> Value {
    json!({
        "id": decision.id, "title": decision.title, "date": decision.date.map(|it| it.to_string()),
        "decidedBy": decision.decided_by, "decision": decision.decision,
        "rationale": decision.rationale, "status": decision.status,
        "superseded": decision.superseded, "line": decision.line,
    })
}

fn session_json(session: &Session) -> Value {
    json!({
        "number": session.number, "date": session.date.map(|it| it.to_string()),
        "title": session.title, "text": session.text, "line": session.line,
    })
}

fn show_compression(done: &Compression, ui: &mut Ui) -> Result<(), CommandError> {
    let (sessions, decisions) = (&done.sessions, &done.decisions);
    let rotated = done.tracking.iter().filter(|(_, it)| it.before > it.after);
    if done.is_nothing() && rotated.clone().next().is_none() {
        return ui.line(&format!(
            "Nothing to compress (sessions: {}, decisions: {})",
            sessions.entries, decisions.entries
        ));
    }
    let would = if done.dry_run { "would move" } else { "moved" };
    for (name, store) in [("Sessions", sessions), ("Decisions", decisions)] {
        if store.compressed > 0 {
            ui.line(&format!(
                "{name}: {} of {} {would} to the archive, ~{} tokens saved",
                store.compressed,
                store.entries,
                store.saved()
            ))?;
        }
    }
    if done.tasks > 0 {
        ui.line(&format!("Tasks: {} {would} to the archive", done.tasks))?;
    }
    for (name, lines) in rotated {
        ui.line(&format!(
            "{name}: {} of {} lines kept",
            lines.after, lines.before
        ))?;
    }
    ui.line(&format!("Total saved: ~{} tokens", done.saved()))?;
    if let Some(id) = &done.change {
        ui.note(&format!("`memory-forge doctor --undo {id}` takes it back"));
    }
    Ok(())
}

fn compression_json(done: &Compression) -> Value {
    let tracking: serde_json::Map<String, Value> = done
        .tracking
        .iter()
        .map(|(name, it)| {
            let value = match it.before > it.after {
                true => json!({ "rotated": true, "before": it.before, "after": it.after, "removed": it.before - it.after }),
                false => json!({ "rotated": false }),
            };
            ((*name).to_owned(), value)
        })
        .collect();
    let (sessions, decisions) = (&done.sessions, &done.decisions);
    json!({
        "dryRun": done.dry_run,
        "sessions": {
            "saved": sessions.saved(), "before": sessions.before, "after": sessions.after,
            "sessions": sessions.entries, "compressed": sessions.compressed, "kept": sessions.kept,
        },
        "decisions": {
            "saved": decisions.saved(), "before": decisions.before, "after": decisions.after,
            "decisions": decisions.entries, "compressed": decisions.compressed, "kept": decisions.kept,
        },
        "archive": { "archived": done.tasks },
        "tracking": tracking,
        "backupCleanup": { "removed": 0, "kept": 0 },
        "totalTokensSaved": done.saved(),
        "undo": done.change,
    })
}

fn health(
    mind: &Mind<'_>,
    args: &HealthArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<Exit, CommandError> {
    let health = mind.health(settings.now);
    let needs_attention = health.worst().is_some_and(|worst| worst > Severity::Info);
    if args.json {
        ui.json(&health_json(mind, &health))?;
    } else if health.findings.is_empty() {
        ui.line("The memory is in order.")?;
    }
    if !args.json {
        for finding in &health.findings {
            let style = match finding.severity {
                Severity::Error => style::CRITICAL,
                Severity::Warning => style::WARNING,
                Severity::Info => style::FAINT,
            };
            let name = finding.severity.name();
            ui.line(&format!(
                "{style}{name}:{style:#} {}",
                printable(&finding.message)
            ))?;
        }
    }
    Ok(match needs_attention {
        true => Exit::Failure,
        false => Exit::Success,
    })
}

fn health_json(mind: &Mind<'_>, health: &Health) -> Value {
    let info = |it: &forge::mind::FileInfo| {
        json!({
            "exists": it.exists, "size": it.size,
            "modified": it.modified.map(|it| it.to_string()), "ageSeconds": it.age_seconds,
        })
    };
    let files = |files: &[(String, forge::mind::FileInfo)]| -> Value {
        let map = files.iter().map(|(name, it)| (name.clone(), info(it)));
        Value::Object(map.collect())
    };
    let root = mind.workspace().root();
    let exists = |path: &str| json!({ "exists": root.join(path).is_file() });
    json!({
        "version": version_json(root),
        "mindDir": {
            "exists": health.folder_exists, "path": root.join(forge::mind::FOLDER),
            "totalStateSize": health.total_state_bytes,
        },
        "stateFiles": files(&health.state_files),
        "trackingFiles": files(&health.tracking_files),
        "config": {
            "exists": health.config_exists, "valid": health.config_problems.is_empty(),
            "issues": health.config_problems,
        },
        "errorLog": info(&health.error_log),
        "mcpConfig": exists(".mcp.json"),
        "hooksConfig": exists(".claude/settings.json"),
        "issues": health.findings.iter().map(|it| json!({
            "severity": it.severity.name(), "message": it.message,
        })).collect::<Vec<_>>(),
        "status": match health.worst() {
            Some(Severity::Error) => "error",
            Some(Severity::Warning) => "warning",
            _ => "healthy",
        },
    })
}

/// The program's version and that of whatever was installed by its predecessor.
fn version_json(root: &std::path::Path) -> Value {
    let current = env!("CARGO_PKG_VERSION");
    let installed = std::fs::read_to_string(root.join(".memoryforge-version")).ok();
    let installed = installed.map(|text| text.trim().to_owned());
    json!({
        "current": current,
        "installed": installed,
        "upToDate": installed.as_deref().is_none_or(|it| it == current),
    })
}
