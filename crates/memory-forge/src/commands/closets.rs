//! Runs `closets`: the contents of each file, by field. `build` keeps
//! `_CLOSETS.md` up to date with the files, `check` only looks, `show` answers
//! from them.

use clap::{Args, Subcommand, ValueEnum};
use forge_app::bulk::{self, BulkSkill};
use forge_app::check::{CheckView, WorkspaceSurvey};
use forge_app::closets::{self, ClosetBuildRequest, ClosetBuildResponse, ClosetSearchRequest};
use forge_app::counts::count_noun;
use forge_app::graph::GRAPH_FILE;
use forge_app::knowledge::maps::MapAnswer;
use forge_app::quote;
use forge_app::recall::closets::matching_fields;
use forge_app::recall::{RecallAnswer, RecallHit, context};
use forge_app::routing::closets::{ClosetField, ListedEntry};
use forge_app::routing::hubs::Hub;
use forge_app::workspace::Workspace;
use serde_json::{Value, json};

use crate::hits::round_to_thousandths;
use crate::paths;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::{Ui, escape_hidden, style};

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
    Build(ClosetsBuildArgs),
    /// List what is out of date; exits with 1 when there is something
    #[command(after_help = "\
Examples:
  memory-forge workspace closets check")]
    Check(ClosetsCheckArgs),
    /// Find the files that answer a question, by field
    Show(ClosetsShowArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge workspace closets build
  memory-forge workspace closets build --hub legal --dry-run")]
struct ClosetsBuildArgs {
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
struct ClosetsCheckArgs {
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
struct ClosetsShowArgs {
    /// What to look for
    query: String,

    /// Look in one field only
    #[arg(long)]
    field: Option<ClosetFieldChoice>,

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
enum ClosetFieldChoice {
    Subjects,
    People,
    Claims,
    Decisions,
    Dates,
    Status,
}

impl ClosetFieldChoice {
    fn to_field(self) -> ClosetField {
        // Both enums list the fields in one order.
        ClosetField::ALL[self as usize]
    }
}

pub(crate) fn run_closets(
    args: ClosetsArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let workspace = paths::open_workspace(settings, ui)?;
    match args.command {
        ClosetsCommand::Build(args) => build_closets(&args, &workspace, settings, ui),
        ClosetsCommand::Check(args) => check_closets(&args, &workspace, settings, ui),
        ClosetsCommand::Show(args) => show_closets(&args, &workspace, settings, ui),
    }
}

const NO_HUBS_NOTE: &str = "There is no hub: neither a `_MANIFEST.md` with a Hub Map nor Markdown under `knowledge/`. `memory-forge init` makes a start.";

fn build_closets(
    args: &ClosetsBuildArgs,
    workspace: &Workspace,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let hubs = closets::find_hubs(workspace, args.hub.as_deref())?;
    if hubs.is_empty() {
        ui.note(NO_HUBS_NOTE);
    }
    let request = ClosetBuildRequest {
        hubs: hubs.iter().collect(),
        force: args.force,
        dry_run: args.dry_run,
        draw_graph: true,
    };
    // The question about a recent run is for people; a script builds again.
    if !args.force
        && !args.dry_run
        && settings.stdin_terminal
        && closets::is_logged(workspace, &request.hubs)
        && let Some(question) = bulk::cooldown_question(workspace, BulkSkill::Reindex, settings.now)
        && !ui.confirm(&question, false)?
    {
        return Ok(CommandExit::Success);
    }
    let bar = ui.show_progress("Describing domains", hubs.len() as u64);
    let progress = |at: usize| bar.set(at as u64, hubs.len() as u64);
    let built = closets::build_closets_in_run(
        workspace,
        &request,
        &super::lock_holder(),
        settings.now,
        progress,
    )?;
    drop(bar);
    if let Some(old) = &built.took_over {
        ui.note(&format!(
            "Took over a lock that was left behind: {}",
            escape_hidden(old)
        ));
    }
    for (hub, report) in &built.hubs {
        if let Err(error) = report {
            ui.warn(&format!("`{}` was left as it is: {error}", hub.name));
        }
    }
    if built.is_graph_changed {
        ui.note(&format!("Rebuilt {GRAPH_FILE}"));
    }
    show_build(args, &built, ui)?;
    Ok(if built.is_complete() {
        CommandExit::Success
    } else {
        CommandExit::Failure
    })
}

fn show_build(
    args: &ClosetsBuildArgs,
    built: &ClosetBuildResponse<'_>,
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
        return ui.print_json(&json!({ "version": 1, "dry_run": args.dry_run, "hubs": hubs }));
    }
    for (hub, report) in built.reports() {
        if args.dry_run {
            for (path, before, after) in &report.changes {
                ui.print_diff(path.as_str(), before, after)?;
            }
        }
        let mut line = format!(
            "{}: {}, {} refreshed, {} skipped",
            escape_hidden(&hub.name),
            count_noun(report.files, "file"),
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
        ui.print_line(&line)?;
    }
    let counts: Vec<String> = built
        .log_counts()
        .iter()
        .map(|(name, n)| format!("{name}={n}"))
        .collect();
    ui.print_line(&counts.join(" "))
}

fn check_closets(
    args: &ClosetsCheckArgs,
    workspace: &Workspace,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let hubs = closets::find_hubs(workspace, args.hub.as_deref())?;
    if hubs.is_empty() {
        ui.note(NO_HUBS_NOTE);
    }
    let mut survey = WorkspaceSurvey::from_workspace(workspace, settings.now);
    survey.check_closets(&hubs)?;
    let report = CheckView::Closets.run(&survey);
    // In the order of the files, whatever the order of the checks.
    let mismatches = survey.closet_mismatches().unwrap_or_default();
    if args.json {
        let list: Vec<Value> = mismatches
            .iter()
            .map(|it| {
                json!({ "kind": it.kind.name(), "file": it.file.as_str(), "line": it.line,
                        "entry": it.entry, "message": it.message(), "fix": it.advice() })
            })
            .collect();
        ui.print_json(&json!({ "version": 1, "findings": list }))?;
    } else {
        for it in mismatches {
            ui.print_line(&format!(
                "{}: {} -- fix: {}",
                escape_hidden(&it.location()),
                escape_hidden(&it.message()),
                it.advice()
            ))?;
        }
        match mismatches.len() {
            0 => ui.note(&format!("{}, nothing to do", count_noun(hubs.len(), "hub"))),
            n => ui.note(&count_noun(n, "finding")),
        }
    }
    Ok(if report.has_failure(CheckView::Closets) {
        CommandExit::Failure
    } else {
        CommandExit::Success
    })
}

fn show_closets(
    args: &ClosetsShowArgs,
    workspace: &Workspace,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let hub: Option<Hub> = match &args.hub {
        Some(name) => closets::find_hubs(workspace, Some(name))?
            .into_iter()
            .next(),
        None => None,
    };
    let today = Some(forge_app::document::day_of_timestamp(settings.now));
    let field = args.field.map(ClosetFieldChoice::to_field);
    let request = ClosetSearchRequest {
        question: &args.query,
        field,
        hub: hub.as_ref().map(|hub| hub.name.as_str()),
        limit: args.limit,
        now: settings.now,
    };
    let library = crate::library::open_library(workspace.clone(), settings);
    let shown = closets::search_closets(&library, &request)?;
    ui.show_remarks(&shown.remarks);
    let MapAnswer {
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
    let answer = answer.unwrap_or_else(RecallAnswer::empty);
    if let Some(note) = &answer.mode_note {
        ui.warn(&format!("Searched by keyword only: {note}"));
    }
    let hits = answer.hits.iter().map(|hit| {
        let listed = &listing.entries[hit.passage.chunk as usize];
        let fields = matching_fields(&listed.entry, &args.query, field, today);
        (hit, listed, fields)
    });
    if args.json {
        let results: Vec<Value> = hits
            .map(|(hit, listed, fields)| entry_json(hit, listed, &fields))
            .collect();
        let mut value = json!({ "version": 1, "query": args.query, "mode": answer.mode.name(), "results": results });
        if let Some(note) = &answer.mode_note {
            value["modeNote"] = note.as_str().into();
        }
        ui.print_json(&value)?;
        return Ok(CommandExit::Success);
    }
    for (hit, listed, fields) in hits {
        show_entry(hit, listed, &fields, ui)?;
    }
    if answer.hits.is_empty() && !listing.entries.is_empty() {
        ui.note("The closets have no match. `memory-forge search` looks in the text.");
    }
    Ok(CommandExit::Success)
}

fn show_entry(
    hit: &RecallHit,
    listed: &ListedEntry,
    fields: &[(ClosetField, Vec<String>)],
    ui: &mut Ui,
) -> Result<(), CommandError> {
    let (heading, faint) = (style::HEADING, style::FAINT);
    let archived = if listed.archived { ", archived" } else { "" };
    ui.print_line(&format!(
        "{heading}[[{}]]{heading:#}  {faint}{}{archived}, {}{faint:#}",
        escape_hidden(&listed.name),
        escape_hidden(&listed.hub),
        escape_hidden(&listed.entry.status),
    ))?;
    for note in context::correction_notes(hit) {
        ui.print_line(&format!("  {}", escape_hidden(&note)))?;
    }
    for (field, values) in fields {
        let values: Vec<&str> = values.iter().take(4).map(String::as_str).collect();
        ui.print_line(&format!(
            "  {}: {}",
            field.name(),
            escape_hidden(&values.join("; "))
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
        ui.print_line(&format!(
            "  similar by meaning: {}",
            escape_hidden(&quote::sanitize_text(&subjects.join(", ")))
        ))?;
    }
    Ok(())
}

fn entry_json(
    hit: &RecallHit,
    listed: &ListedEntry,
    fields: &[(ClosetField, Vec<String>)],
) -> Value {
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
        "score": round_to_thousandths(hit.score),
        "matched": matched,
    })
}
