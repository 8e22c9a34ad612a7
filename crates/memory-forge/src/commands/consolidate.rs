//! Runs `consolidate`: finds duplicates, contradictions, orphans and long files
//! of decisions, which gather over weeks.

use clap::Args;
use forge_app::bulk::{self, BulkSkill};
use forge_app::check::{self, CheckView, ConsolidationReport, DuplicateReason, WorkspaceSurvey};
use serde_json::{Value, json};

use crate::paths;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::{Ui, escape_hidden};

/// Find duplicates, contradictions and orphans; shorten decisions
///
/// Names notes that may be the same, decisions that a later one replaces, and
/// what is linked from nowhere, and rebuilds `memory/.graph.md`. With `--fix`
/// superseded decisions are marked, and a file of 60 lines and more is
/// gathered: a decision takes in the one it replaced, and those of a week about
/// one thing stand together, all in their own words. Notes are never merged.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge consolidate
  memory-forge consolidate --fix
  memory-forge consolidate --force     Also within a day of the last run")]
pub(crate) struct ConsolidateArgs {
    /// Mark superseded decisions and shorten the file
    #[arg(long)]
    fix: bool,

    /// Do not ask when the last run is less than a day ago
    #[arg(long, short, visible_alias = "yes")]
    force: bool,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run_consolidate(
    args: ConsolidateArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let workspace = paths::open_workspace(settings, ui)?;
    let now = settings.now;
    let reading = ui.show_busy("Reading notes");
    let survey = WorkspaceSurvey::from_workspace(&workspace, now);
    survey.vault();
    drop(reading);
    if !check::can_consolidate(&survey) {
        return Err(CommandError::failure("There is no _MANIFEST.md here")
            .hint("`memory-forge init --workspace` starts a workspace with a manifest"));
    }
    if let Some(question) = bulk::cooldown_question(&workspace, BulkSkill::Consolidate, now)
        && !ui.confirm_or(&question, args.force, super::FORCE_HINT)?
    {
        ui.note("Nothing was changed");
        return Ok(CommandExit::Success);
    }
    let comparing = ui.show_busy("Comparing notes");
    let (report, change) = check::run_consolidation(&survey, args.fix, &super::lock_holder())?;
    let is_urgent = CheckView::Consolidate
        .run(&survey)
        .has_failure(CheckView::Consolidate);
    drop(comparing);
    if args.json {
        ui.print_json(&report_json(&report, change.as_deref()))?
    } else {
        ui.print_lines(&escape_hidden(&report.render(args.fix)))?
    }
    if let Some(id) = change {
        ui.note(&format!("`memory-forge doctor --undo {id}` reverts it"));
    }
    Ok(if is_urgent && !args.fix {
        CommandExit::Failure
    } else {
        CommandExit::Success
    })
}

fn report_json(report: &ConsolidationReport, change: Option<&str>) -> Value {
    let duplicates: Vec<Value> = report
        .duplicates
        .iter()
        .map(|it| {
            let files: Vec<&str> = it.files.iter().map(|it| it.as_str()).collect();
            match it.why {
                DuplicateReason::Name(distance) => {
                    json!({ "files": files, "name_distance": distance })
                }
                DuplicateReason::Links(shared, of) => {
                    json!({ "files": files, "links": [shared, of] })
                }
            }
        })
        .collect();
    let contradictions: Vec<Value> = report
        .contradictions
        .iter()
        .map(|it| {
            json!({
                "older": { "line": it.older.line, "text": it.older.text },
                "newer": { "line": it.newer.line, "text": it.newer.text },
                "word": it.word,
            })
        })
        .collect();
    json!({
        "version": 1,
        "duplicates": duplicates,
        "contradictions": contradictions,
        "orphans": report.orphans,
        "decisions": {
            "lines": report.decisions.lines,
            "pairs": report.condensed.pairs,
            "clusters": report.condensed.clusters,
            "gathered": report.condensed.gathered,
            "archived": report.archived,
        },
        "last_run": report.last_run.as_ref().map(|it| it.when.to_string()),
        "change": change,
    })
}
