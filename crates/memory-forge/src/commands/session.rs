//! Runs `session`: briefs an agent at the start, and records what it leaves at
//! the end. Input comes by arguments or on standard input; the follow-up work
//! is done without further questions.

use std::io::Read;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use forge_app::brief::{
    BriefDetail, BriefOccasion, BriefRequest, RenderedBrief, SESSION_BUDGET, build_brief,
};
use forge_app::counts::count_noun;
use forge_app::mind::{
    MindStore, NewDecision, NewSession, SessionRecord, StateChange, StateWriteOutcome,
};
use forge_app::session::{SessionCloseRequest, SessionEnding, SessionReport, close_session};
use forge_app::workspace::regular::{self, FileReadError};
use serde_json::{Value, json};

use crate::paths;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::{Ui, escape_hidden};

/// Start, update and end a session of work
///
/// `start` prints where things stand; `update` keeps status and decisions in
/// between; `end` writes status, log entry and decisions, refreshes the maps of
/// the files that were touched, checks links and prints what it did. They work on
/// the files of a manifest (`memory/`), or on `.mind/` where there is none.
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "\
Examples:
  memory-forge mind session start
  memory-forge mind session update --next \"Call the printer\" --decision \"Print on A5\"
  memory-forge mind session end --title \"Spring letter\" --did \"Wrote the letter\" --next \"Send it\"
  memory-forge mind session end --from - < summary.json"
)]
pub(crate) struct SessionArgs {
    #[command(subcommand)]
    command: SessionCommand,
}

#[derive(Debug, Subcommand)]
enum SessionCommand {
    /// Print the briefing: status, last session, blockers, decisions, notices
    #[command(after_help = "\
Examples:
  memory-forge mind session start
  memory-forge mind session start finish the letter to the printer")]
    Start(SessionStartArgs),
    /// Write status and decisions; the log is left alone
    #[command(after_help = "\
Examples:
  memory-forge mind session update --next \"Call the printer\" --decision \"Print on A5\"")]
    Update(SessionUpdateArgs),
    /// Close the session; the same again changes nothing
    End(SessionEndArgs),
}

#[derive(Debug, Args)]
struct SessionStartArgs {
    /// What the session is about; domains that it names are pointed to
    prompt: Vec<String>,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct SessionFieldArgs {
    /// The phase of the project
    #[arg(long)]
    phase: Option<String>,

    /// What the work is about now
    #[arg(long)]
    focus: Option<String>,

    /// Something in progress; give it once for each, "" for nothing
    #[arg(long, value_name = "WORK")]
    in_progress: Vec<String>,

    /// Something that is blocked, and on what; give it once for each, "" for nothing
    #[arg(long, value_name = "ITEM")]
    blocked: Vec<String>,

    /// What to do next; give it once for each, the most important first
    #[arg(long, value_name = "PRIORITY")]
    next: Vec<String>,

    /// A decision, as a sentence; give it once for each
    #[arg(long, value_name = "DECISION")]
    decision: Vec<String>,
}

#[derive(Debug, Args)]
struct SessionUpdateArgs {
    #[command(flatten)]
    fields: SessionFieldArgs,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
With `--from -` a JSON object is read from standard input, with the keys title,
did, phase, focus, in_progress, blocked, next and decisions (a text or a list of
texts each), or Markdown: its first heading is the title, bullets below it are
what was done, and bullets below headings In Progress, Blocked, Next and
Decisions are those. Options win over what is read.

Examples:
  memory-forge mind session end --title \"Login\" --did \"Built the form\" --did \"Tested it\"
  echo '{\"title\": \"Login\", \"did\": [\"Built the form\"]}' | memory-forge mind session end --from -")]
struct SessionEndArgs {
    /// What the session was about, in a few words
    #[arg(long)]
    title: Option<String>,

    /// Something that was done, as a sentence; give it once for each
    #[arg(long, value_name = "SENTENCE")]
    did: Vec<String>,

    #[command(flatten)]
    fields: SessionFieldArgs,

    /// A file that was worked on; by their times unless given
    #[arg(long, value_name = "FILE")]
    touched: Vec<PathBuf>,

    /// Read what happened as JSON or Markdown: a file, or `-`
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run_session(
    args: SessionArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    match args.command {
        SessionCommand::Start(args) => start_session(&args, settings, ui),
        SessionCommand::Update(args) => update_session(args, settings, ui),
        SessionCommand::End(args) => end_session(args, settings, ui),
    }
}

fn start_session(
    args: &SessionStartArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let workspace = paths::open_workspace(settings, ui)?;
    let prompt = args.prompt.join(" ");
    let request = BriefRequest {
        occasion: BriefOccasion::Overview { prompt: &prompt },
        budget: SESSION_BUDGET,
        nonce: "",
        now: settings.now,
    };
    match (build_brief(&MindStore::open(&workspace), &request)?, args.json) {
        (Some(made), true) => ui.print_json(&overview_json(&made))?,
        (Some(made), false) => ui.print_lines(&escape_hidden(&made.text))?,
        (None, true) => ui.print_json(&json!({ "version": 1, "found": false }))?,
        (None, false) => ui.print_line(
            "There is no _MANIFEST.md and no state here. Run `memory-forge init --workspace` to set up the workspace.",
        )?,
    }
    Ok(CommandExit::Success)
}

fn update_session(
    args: SessionUpdateArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let workspace = paths::open_workspace(settings, ui)?;
    let mind = MindStore::open(&workspace);
    let input = SessionInput::from(args.fields);
    let record = SessionRecord {
        refresh_date: true,
        annotate: true,
        ..input.to_record(None)
    };
    let recorded = mind.write_record("Update the session", &record, settings.now)?;
    let path = mind.file_path(forge_app::mind::MindFile::State);
    if args.json {
        let value = json!({
            "version": 1, "state": outcome_word(recorded.state), "decisions": recorded.decided,
            "known": recorded.known_decisions, "superseded": recorded.annotated,
        });
        ui.print_json(&value)?;
        return Ok(CommandExit::Success);
    }
    ui.print_line(&format!("{path} {}.", outcome_word(recorded.state)))?;
    for (id, text) in recorded.decided.iter().zip(&input.decisions) {
        ui.print_line(&escape_hidden(&format!("Decision {id} saved: {text}")))?;
    }
    if recorded.annotated > 0 {
        let count = recorded.annotated;
        ui.print_line(&format!(
            "Marked {}.",
            count_noun(count, "superseded decision")
        ))?;
    }
    Ok(CommandExit::Success)
}

fn end_session(
    args: SessionEndArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let workspace = paths::open_workspace(settings, ui)?;
    let mut input = match &args.from {
        Some(path) => SessionInput::parse_text(&read_summary(path, settings)?)?,
        None => SessionInput::default(),
    };
    input.override_with(SessionInput {
        title: args.title,
        did: args.did,
        ..SessionInput::from(args.fields)
    });
    let session = match (&input.title, input.did.is_empty()) {
        (Some(title), _) => Some(title.clone()),
        (None, false) => Some(input.did[0].clone()),
        (None, true) => None,
    };
    let session = session.map(|summary| NewSession {
        summary,
        did: input.did.clone(),
        next: input.next.first().cloned(),
        ..NewSession::default()
    });
    let mut touched = Vec::new();
    for file in &args.touched {
        touched.push(paths::resolve_path(&workspace, settings, file)?);
    }
    let closing = SessionCloseRequest {
        ending: SessionEnding::Described {
            record: Box::new(input.to_record(session)),
            touched: (!touched.is_empty()).then_some(touched),
        },
        log_folder: settings.claude_plugin_data.as_deref(),
        now: settings.now,
    };
    // Without a manifest or state there is no session to close.
    let busy = ui.show_busy("Closing the session");
    let ended = close_session(&MindStore::open(&workspace), &closing)?;
    drop(busy);
    let Some(ended) = ended else {
        ui.detail("There is no _MANIFEST.md and no state here: nothing to close");
        return Ok(CommandExit::Success);
    };
    if args.json {
        ui.print_json(&ended_json(&ended))?
    } else {
        ui.print_lines(&escape_hidden(&ended.render()))?
    }
    Ok(if ended.incomplete.is_empty() {
        CommandExit::Success
    } else {
        CommandExit::Failure
    })
}

fn read_summary(path: &std::path::Path, settings: &Settings) -> Result<String, CommandError> {
    const MAX_SUMMARY_BYTES: u64 = 1 << 20;
    let read = if path.as_os_str() == "-" {
        let mut text = String::new();
        let read = std::io::stdin()
            .lock()
            .take(MAX_SUMMARY_BYTES)
            .read_to_string(&mut text);
        read.map(|_| text).map_err(FileReadError::from)
    } else {
        regular::read_user_file(&settings.cwd()?.join(path), MAX_SUMMARY_BYTES)
    };
    read.map_err(|error| {
        CommandError::failure(format!("Cannot read `{}`: {error}", path.display()))
    })
}

/// Input about a session, from arguments or from standard input.
#[derive(Debug, Default)]
struct SessionInput {
    title: Option<String>,
    did: Vec<String>,
    phase: Option<String>,
    focus: Option<String>,
    in_progress: Vec<String>,
    blocked: Vec<String>,
    next: Vec<String>,
    decisions: Vec<String>,
}

impl From<SessionFieldArgs> for SessionInput {
    fn from(args: SessionFieldArgs) -> SessionInput {
        SessionInput {
            phase: args.phase,
            focus: args.focus,
            in_progress: args.in_progress,
            blocked: args.blocked,
            next: args.next,
            decisions: args.decision,
            ..SessionInput::default()
        }
    }
}

impl SessionInput {
    /// Parses JSON, or else Markdown.
    fn parse_text(text: &str) -> Result<SessionInput, CommandError> {
        let text = text.trim_start_matches('\u{feff}').trim();
        if text.starts_with('{') {
            SessionInput::from_json(text)
        } else {
            Ok(SessionInput::from_markdown(text))
        }
    }

    fn from_json(text: &str) -> Result<SessionInput, CommandError> {
        let wrong = |what: String| {
            CommandError::usage(what).hint("`memory-forge session end --help` lists the keys")
        };
        let value: Value = serde_json::from_str(text)
            .map_err(|error| wrong(format!("The input is not valid JSON: {error}")))?;
        let mut input = SessionInput::default();
        for (key, value) in value.as_object().into_iter().flatten() {
            let texts: Option<Vec<String>> = match value {
                Value::String(text) => Some(vec![text.clone()]),
                Value::Array(list) => list
                    .iter()
                    .map(|it| it.as_str().map(str::to_owned))
                    .collect(),
                Value::Null => Some(Vec::new()),
                _ => None,
            };
            let texts = texts
                .ok_or_else(|| wrong(format!("`{key}` is neither a text nor a list of texts")))?;
            let one = || (!texts.is_empty()).then(|| texts.join(" "));
            match key.as_str() {
                "title" | "summary" => input.title = one(),
                "did" | "completed" => input.did = texts,
                "phase" => input.phase = one(),
                "focus" => input.focus = one(),
                "in_progress" => input.in_progress = texts,
                "blocked" => input.blocked = texts,
                "next" => input.next = texts,
                "decision" | "decisions" => input.decisions = texts,
                other => return Err(wrong(format!("`{other}` is not a key of a session"))),
            }
        }
        Ok(input)
    }

    fn from_markdown(text: &str) -> SessionInput {
        let document = forge_app::document::parse_document(text.to_owned());
        let mut input = SessionInput::default();
        for section in &document.sections {
            let items = forge_app::mind::list_items(document.span_text(&section.own));
            let title = section.title.to_lowercase();
            let list = match title.trim_start_matches("what's ").trim() {
                "in progress" => &mut input.in_progress,
                "blocked" | "blockers" => &mut input.blocked,
                "next" | "next priorities" | "next steps" => &mut input.next,
                "decisions" => &mut input.decisions,
                "phase" => {
                    input.phase = (!items.is_empty()).then(|| items.join(" "));
                    continue;
                }
                "focus" | "active focus" => {
                    input.focus = (!items.is_empty()).then(|| items.join(" "));
                    continue;
                }
                _ => {
                    if section.level > 0 && input.title.is_none() {
                        input.title = Some(section.title.clone());
                    }
                    &mut input.did
                }
            };
            list.extend(items);
        }
        input
    }

    /// Overrides what the other input states.
    fn override_with(&mut self, other: SessionInput) {
        let text = |own: &mut Option<String>, other: Option<String>| {
            if other.is_some() {
                *own = other;
            }
        };
        text(&mut self.title, other.title);
        text(&mut self.phase, other.phase);
        text(&mut self.focus, other.focus);
        let list = |own: &mut Vec<String>, other: Vec<String>| {
            if !other.is_empty() {
                *own = other;
            }
        };
        list(&mut self.did, other.did);
        list(&mut self.in_progress, other.in_progress);
        list(&mut self.blocked, other.blocked);
        list(&mut self.next, other.next);
        list(&mut self.decisions, other.decisions);
    }

    fn to_record(&self, session: Option<NewSession>) -> SessionRecord {
        let list = |it: &Vec<String>| (!it.is_empty()).then(|| it.clone());
        SessionRecord {
            state: StateChange {
                phase: self.phase.clone(),
                status: self.focus.clone(),
                active: list(&self.in_progress),
                blocked: list(&self.blocked),
                next: None,
                priorities: list(&self.next),
            },
            decisions: self
                .decisions
                .iter()
                .map(|it| NewDecision::from_statement(it))
                .collect(),
            session,
            refresh_date: false,
            annotate: false,
        }
    }
}

fn outcome_word(state: StateWriteOutcome) -> &'static str {
    match state {
        StateWriteOutcome::Created => "created",
        StateWriteOutcome::Updated => "updated",
        StateWriteOutcome::Unchanged => "unchanged",
    }
}

fn overview_json(made: &RenderedBrief) -> Value {
    let BriefDetail::Overview(briefing) = &made.detail else {
        return Value::Null;
    };
    let blockers: Vec<Value> = briefing
        .stale_blockers
        .iter()
        .map(|it| {
            let since = it.since.map(|day| day.to_string());
            json!({ "text": it.text, "entries": it.entries, "since": since })
        })
        .collect();
    let untracked = &briefing.untracked;
    json!({
        "version": 1,
        "found": true,
        "phase": briefing.phase,
        "focus": briefing.focus,
        "next": briefing.next,
        "stale": briefing.stale.as_ref().map(|(date, days)| json!({ "updated": date, "days": days })),
        "last_session": briefing.last_session.as_ref().map(|it| json!({
            "title": it.title, "bullets": it.bullets, "more": it.more, "path": it.path.as_str(),
        })),
        "in_flight": briefing.in_flight,
        "blocked": briefing.blocked,
        "stale_blockers": blockers,
        "decisions": briefing.decisions,
        "ideas": { "count": briefing.ideas.0, "newest": briefing.ideas.1 },
        "unclean": briefing.unclean.as_ref().map(|it| it.as_str()),
        "untracked": {
            "folders": untracked.folders.iter()
                .map(|(folder, files)| json!({ "folder": folder, "files": files }))
                .collect::<Vec<_>>(),
            "loose": untracked.loose.iter().map(|it| it.as_str()).collect::<Vec<_>>(),
        },
        "upgrade_from": briefing.old_version,
        "closets": briefing.closets.map(|(missing, all)| json!({ "missing": missing, "hubs": all })),
        "domains": briefing.domains.iter()
            .map(|(name, closets)| json!({ "name": name, "closets": closets.as_str() }))
            .collect::<Vec<_>>(),
        "notes": briefing.notes,
        "corrections": briefing.corrections,
        "text": made.text,
    })
}

fn ended_json(ended: &SessionReport) -> Value {
    let recorded = &ended.recorded;
    json!({
        "version": 1,
        "state": outcome_word(recorded.state),
        "session": recorded.session.as_ref().map(|it| json!({
            "title": it.title, "added": it.added, "archived": it.archived,
        })),
        "decisions": { "added": recorded.decided, "known": recorded.known_decisions },
        "touched": ended.touched.iter().map(|it| it.as_str()).collect::<Vec<_>>(),
        "hubs": ended.hubs.iter()
            .map(|(name, files)| json!({ "name": name, "files": files }))
            .collect::<Vec<_>>(),
        "manifest": ended.manifest,
        "hub_tables": ended.pages,
        "linked": ended.linked,
        "broken": ended.broken,
        "ideas": ended.ideas,
        "notes": ended.notes,
        "incomplete": ended.incomplete,
    })
}
