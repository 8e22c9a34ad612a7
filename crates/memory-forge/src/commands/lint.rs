//! `lint`: nine checks of a workspace's health, and their repairs.

use clap::Args;
use forge_app::lint::{self, Report, Survey};
use serde_json::{Value, json};

use crate::paths;
use crate::report::{CommandError, Exit};
use crate::settings::Settings;
use crate::ui::{Ui, printable};

/// Check the health of a workspace; exits with 1 on warnings
///
/// Looks at the freshness of the status, decisions that contradict each other,
/// files and folders that no list knows, blockers that stand too long, closets,
/// the typed-edge graph, and the manifest. `--fix` marks superseded decisions,
/// drops entries of files that are gone and fills in missing summaries, as one
/// change that can be undone; rows of the manifest are dropped one by one, each
/// after a question.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge lint
  memory-forge lint --json
  memory-forge lint --fix
  memory-forge lint --fix --yes     Without questions")]
pub(crate) struct LintArgs {
    /// Repair what can be repaired, then check again
    #[arg(long)]
    fix: bool,

    /// Do not ask
    #[arg(long, short, requires = "fix")]
    yes: bool,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: LintArgs, settings: &Settings, ui: &mut Ui) -> Result<Exit, CommandError> {
    let workspace = paths::workspace(settings, ui)?;
    let reading = ui.busy("Reading notes");
    let mut survey = Survey::of(&workspace);
    drop(reading);
    if survey.manifest.is_none() && !survey.mind.exists() {
        return Err(
            CommandError::failure("There is no _MANIFEST.md and no state here to check")
                .hint("`memory-forge init --workspace` starts a workspace with a manifest, `memory-forge mind set` the state"),
        );
    }
    for problem in survey.vault.problems.iter().take(10) {
        ui.warn(&printable(&problem.to_string()));
    }
    let mut changes = Vec::new();
    if args.fix {
        changes = fix(&survey, &args, settings, ui)?;
        survey = Survey::of(&workspace);
    }
    let checking = ui.busy("Checking");
    let report = lint::lint(&survey, settings.now);
    drop(checking);
    if args.json {
        ui.json(&report_json(&report, &changes))?
    } else {
        ui.lines(&printable(&report.render()))?
    }
    Ok(match report.warnings() {
        0 => Exit::Success,
        _ => Exit::Failure,
    })
}

/// Repairs, and gives the ids under which it can be undone.
fn fix(
    survey: &Survey<'_>,
    args: &LintArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<Vec<String>, CommandError> {
    let mut fixes = lint::fixes(survey, settings.now)?;
    let removals = std::mem::take(&mut fixes.removals);
    if !args.json {
        for file in fixes.files() {
            let before = file.before.as_deref().unwrap_or("");
            ui.diff(file.path.as_str(), before, &file.after)?;
        }
    }
    let mut changes = fixes.apply(survey.workspace, settings.now)?;
    let mut agreed = Vec::new();
    for removal in removals {
        // Where nobody can answer, the answer is no.
        match ui.confirm(&printable(&removal.question), args.yes) {
            Ok(true) => agreed.push(removal),
            Ok(false) => {}
            Err(_) => ui.note(&format!(
                "Not done without a yes (`--yes`): {}",
                printable(&removal.question)
            )),
        }
    }
    if !agreed.is_empty() {
        let receipt = lint::remove(survey.workspace, &agreed, settings.now)?;
        changes.extend(receipt.id);
    }
    for id in &changes {
        ui.note(&format!("`memory-forge doctor --undo {id}` takes it back"));
    }
    Ok(changes)
}

fn report_json(report: &Report, changes: &[String]) -> Value {
    let checks: Vec<Value> = report
        .checks
        .iter()
        .map(|check| {
            let findings: Vec<Value> = check
                .findings
                .iter()
                .map(|it| json!({ "level": it.level.name(), "message": it.message, "fix": it.fix }))
                .collect();
            json!({ "name": check.name, "pass": findings.is_empty(), "findings": findings })
        })
        .collect();
    json!({
        "version": 1,
        "warnings": report.warnings(),
        "info": report.infos(),
        "checks": checks,
        "changes": changes,
    })
}
