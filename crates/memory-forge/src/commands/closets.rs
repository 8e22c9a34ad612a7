//! Runs `closets`: the contents of each file, by field. `build` keeps
//! `_CLOSETS.md` up to date with the files, `check` only looks, `show` answers
//! from them.

use clap::{Args, Subcommand, ValueEnum};
use forge_app::bulk::{self, Skill};
use forge_app::check::{CheckView, Survey};
use forge_app::closets::{self, BuildRequest, BuildResponse, ShowRequest};
use forge_app::graph::GRAPH_FILE;
use forge_app::knowledge::maps::Mapped;
use forge_app::quote;
use forge_app::recall::closets::reasons;
use forge_app::recall::{Answer, Hit, context};
use forge_app::routing::closets::{Field, Listed};
use forge_app::routing::hubs::Hub;
use forge_app::workspace::Workspace;
use serde_json::{Value, json};

use crate::hits::thousandths;
use crate::paths;
use crate::report::{CommandError, Exit};
use crate::settings::Settings;
use crate::ui::{Ui, printable, style};

/// Keep and ask the closets: what is in each file, by field
///
/// Every hub of the manifest, and `memory/`, has a `_CLOSETS.md` with one entry
/// a file: subjects, people, claims, decisions, dates and status. What you or an
/// agent write into an entry is kept; when its file changes, what the text still
/// says stays and what is new joins it. Without a manifest, `knowledge/` is the
/// one hub.
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "\
Examples:
  memory-forge workspace closets build                      Bring every _CLOSETS.md up to date
  memory-forge workspace closets check                      What is missing or out of date
  memory-forge workspace closets show \"why did we leave Stripe\"
  memory-forge workspace closets show Maria --field people"
)]
pub(crate) struct ClosetsArgs {
    #[command(subcommand)]
    command: ClosetsCommand,
}

#[derive(Debug, Subcommand)]
enum ClosetsCommand {
    /// Write entries for new and changed files
    Build(BuildArgs),
    /// List what is out of date; exits with 1 when there is something
    #[command(after_help = "\
Examples:
  memory-forge workspace closets check")]
    Check(CheckArgs),
    /// Find the files that answer a question, by field
    Show(ShowArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge workspace closets build
  memory-forge workspace closets build --hub legal --dry-run")]
struct BuildArgs {
    /// Only this hub
    #[arg(long, value_name = "NAME")]
    hub: Option<String>,

    /// Read every file again, and do not ask after a recent run
    #[arg(long)]
    force: bool,

    /// Show what would change, and write nothing
    #[arg(long)]
    dry_run: bool,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct CheckArgs {
    /// Only this hub
    #[arg(long, value_name = "NAME")]
    hub: Option<String>,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge workspace closets show \"what changed in March\"
  memory-forge workspace closets show Maria --field people --json")]
struct ShowArgs {
    /// What to look for
    query: String,

    /// Look in one field only
    #[arg(long)]
    field: Option<FieldName>,

    /// Only this hub
    #[arg(long, value_name = "NAME")]
    hub: Option<String>,

    /// How many entries to show at most
    #[arg(long, short = 'n', default_value_t = 5)]
    limit: usize,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FieldName {
    Subjects,
    People,
    Claims,
    Decisions,
    Dates,
    Status,
}

impl FieldName {
    fn field(self) -> Field {
        // Both enums list the fields in one order.
        Field::ALL[self as usize]
    }
}

pub(crate) fn run(
    args: ClosetsArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<Exit, CommandError> {
    let workspace = paths::workspace(settings, ui)?;
    match args.command {
        ClosetsCommand::Build(args) => build_all(&args, &workspace, settings, ui),
        ClosetsCommand::Check(args) => check_all(&args, &workspace, settings, ui),
        ClosetsCommand::Show(args) => show(&args, &workspace, settings, ui),
    }
}

const NO_HUBS: &str = "There is no hub: neither a `_MANIFEST.md` with a Hub Map nor Markdown under `knowledge/`. `memory-forge init` makes a start.";

fn build_all(
    args: &BuildArgs,
    workspace: &Workspace,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<Exit, CommandError> {
    let hubs = closets::find_hubs(workspace, args.hub.as_deref())?;
    if hubs.is_empty() {
        ui.note(NO_HUBS);
    }
    let request = BuildRequest {
        hubs: hubs.iter().collect(),
        force: args.force,
        dry_run: args.dry_run,
        draw_graph: true,
    };
    // Only a person is asked about a recent run; a script builds again.
    if !args.force
        && !args.dry_run
        && settings.stdin_terminal
        && closets::is_logged(workspace, &request.hubs)
        && let Some(question) = bulk::cooldown(workspace, Skill::Reindex, settings.now)
        && !ui.confirm(&question, false)?
    {
        return Ok(Exit::Success);
    }
    let bar = ui.progress("Describing domains", hubs.len() as u64);
    let progress = |at: usize| bar.set(at as u64, hubs.len() as u64);
    let built = closets::build_in_run(workspace, &request, &super::who(), settings.now, progress)?;
    drop(bar);
    if let Some(old) = &built.took_over {
        ui.note(&format!(
            "Took over a lock that was left behind: {}",
            printable(old)
        ));
    }
    for (hub, report) in &built.hubs {
        if let Err(error) = report {
            ui.warn(&format!("`{}` was left as it is: {error}", hub.name));
        }
    }
    if built.is_graph_changed {
        ui.note(&format!("{GRAPH_FILE} was drawn anew"));
    }
    report_build(args, &built, ui)?;
    Ok(if built.is_complete() {
        Exit::Success
    } else {
        Exit::Failure
    })
}

fn report_build(
    args: &BuildArgs,
    built: &BuildResponse<'_>,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    for (_, report) in built.reports() {
        report.remarks.iter().for_each(|remark| ui.warn(remark));
    }
    if args.json {
        let hubs: Vec<Value> = built
            .reports()
            .map(|(hub, report)| {
                json!({
                    "hub": hub.name,
                    "folder": hub.folder.as_str(),
                    "files": report.files,
                    "refreshed": report.refreshed,
                    "skipped": report.skipped,
                    "removed": report.removed,
                    "promoted": report.promoted,
                    "demoted": report.demoted,
                    "archived": report.archived,
                    "changed": report.changes.iter().map(|it| it.0.as_str()).collect::<Vec<_>>(),
                    "remarks": report.remarks,
                })
            })
            .collect();
        return ui.json(&json!({ "version": 1, "dry_run": args.dry_run, "hubs": hubs }));
    }
    for (hub, report) in built.reports() {
        if args.dry_run {
            for (path, before, after) in &report.changes {
                ui.diff(path.as_str(), before, after)?;
            }
        }
        let mut line = format!(
            "{}: {} file(s), {} refreshed, {} skipped",
            printable(&hub.name),
            report.files,
            report.refreshed,
            report.skipped
        );
        for (count, what) in [
            (report.removed, "removed"),
            (report.promoted, "promoted"),
            (report.demoted, "archived now"),
            (report.archived, "in the archive"),
        ] {
            if count > 0 {
                line += &format!(", {count} {what}");
            }
        }
        ui.line(&line)?;
    }
    let counts: Vec<String> = built
        .counts()
        .iter()
        .map(|(name, n)| format!("{name}={n}"))
        .collect();
    ui.line(&counts.join(" "))
}

fn check_all(
    args: &CheckArgs,
    workspace: &Workspace,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<Exit, CommandError> {
    let hubs = closets::find_hubs(workspace, args.hub.as_deref())?;
    if hubs.is_empty() {
        ui.note(NO_HUBS);
    }
    let mut survey = Survey::of(workspace, settings.now);
    survey.check_closets(&hubs)?;
    let report = CheckView::Closets.run(&survey);
    // In the order of the files, whatever the order of the checks.
    let mismatches = survey.closets().unwrap_or_default();
    if args.json {
        let list: Vec<Value> = mismatches
            .iter()
            .map(|it| {
                json!({ "kind": it.kind.name(), "file": it.file.as_str(), "line": it.line,
                        "entry": it.entry, "message": it.message(), "fix": it.advice() })
            })
            .collect();
        ui.json(&json!({ "version": 1, "findings": list }))?;
    } else {
        for it in mismatches {
            ui.line(&format!(
                "{}: {} -- fix: {}",
                printable(&it.place()),
                printable(&it.message()),
                it.advice()
            ))?;
        }
        match mismatches.len() {
            0 => ui.note(&format!("{} hub(s), nothing to do", hubs.len())),
            n => ui.note(&format!("{n} finding(s)")),
        }
    }
    Ok(if report.fails(CheckView::Closets) {
        Exit::Failure
    } else {
        Exit::Success
    })
}

fn show(
    args: &ShowArgs,
    workspace: &Workspace,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<Exit, CommandError> {
    let hub: Option<Hub> = match &args.hub {
        Some(name) => closets::find_hubs(workspace, Some(name))?
            .into_iter()
            .next(),
        None => None,
    };
    let today = Some(forge_app::document::day_of(settings.now));
    let field = args.field.map(FieldName::field);
    let request = ShowRequest {
        question: &args.query,
        field,
        hub: hub.as_ref().map(|hub| hub.name.as_str()),
        limit: args.limit,
        now: settings.now,
    };
    let library = crate::library::open(workspace.clone(), settings);
    let shown = closets::show(&library, &request)?;
    ui.remarks(&shown.remarks);
    let Mapped {
        listing,
        answer,
        unread,
        notes,
    } = shown.mapped;
    unread.iter().for_each(|problem| ui.warn(problem));
    notes.iter().for_each(|note| ui.note(note));
    if listing.entries.is_empty() {
        ui.note("There are no closets yet. `memory-forge closets build` writes them.");
    }
    let answer = answer.unwrap_or_else(Answer::nothing);
    if let Some(note) = &answer.mode_note {
        ui.warn(&format!("Searched by full text alone: {note}"));
    }
    let hits = answer.hits.iter().map(|hit| {
        let listed = &listing.entries[hit.passage.chunk as usize];
        let fields = reasons(&listed.entry, &args.query, field, today);
        (hit, listed, fields)
    });
    if args.json {
        let results: Vec<Value> = hits
            .map(|(hit, listed, fields)| hit_json(hit, listed, &fields))
            .collect();
        let mut value = json!({ "version": 1, "query": args.query, "mode": answer.mode.name(), "results": results });
        if let Some(note) = &answer.mode_note {
            value["modeNote"] = note.as_str().into();
        }
        ui.json(&value)?;
        return Ok(Exit::Success);
    }
    for (hit, listed, fields) in hits {
        show_entry(hit, listed, &fields, ui)?;
    }
    if answer.hits.is_empty() && !listing.entries.is_empty() {
        ui.note("Nothing in the closets answers that. `memory-forge search` looks in the text.");
    }
    Ok(Exit::Success)
}

fn show_entry(
    hit: &Hit,
    listed: &Listed,
    fields: &[(Field, Vec<String>)],
    ui: &mut Ui,
) -> Result<(), CommandError> {
    let (heading, faint) = (style::HEADING, style::FAINT);
    let archived = if listed.archived { ", archived" } else { "" };
    ui.line(&format!(
        "{heading}[[{}]]{heading:#}  {faint}{}{archived}, {}{faint:#}",
        printable(&listed.name),
        printable(&listed.hub),
        printable(&listed.entry.status),
    ))?;
    for note in context::corrections(hit) {
        ui.line(&format!("  {}", printable(&note)))?;
    }
    for (field, values) in fields {
        let values: Vec<&str> = values.iter().take(4).map(String::as_str).collect();
        ui.line(&format!(
            "  {}: {}",
            field.name(),
            printable(&values.join("; "))
        ))?;
    }
    if fields.is_empty() {
        let subjects: Vec<&str> = listed
            .entry
            .subjects
            .iter()
            .take(6)
            .map(String::as_str)
            .collect();
        ui.line(&format!(
            "  like it by meaning: {}",
            printable(&quote::clean(&subjects.join(", ")))
        ))?;
    }
    Ok(())
}

fn hit_json(hit: &Hit, listed: &Listed, fields: &[(Field, Vec<String>)]) -> Value {
    let matched: serde_json::Map<String, Value> = fields
        .iter()
        .map(|(field, values)| (field.name().to_owned(), json!(values)))
        .collect();
    json!({
        "entry": listed.name,
        "path": listed.path,
        "hub": listed.hub,
        "archived": listed.archived,
        "status": listed.entry.status,
        "score": thousandths(hit.score),
        "matched": matched,
    })
}
