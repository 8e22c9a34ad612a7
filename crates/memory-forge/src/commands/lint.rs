//! `lint`: nine checks of a workspace's health, and their repairs.

use clap::Args;
use forge_app::check::{self, CheckReport, CheckView, Severity, Survey};
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
    let mut survey = Survey::of(&workspace, settings.now);
    // The first check needs every note.
    survey.vault();
    drop(reading);
    if survey.manifest().is_none() && !survey.mind.exists() {
        return Err(
            CommandError::failure("There is no _MANIFEST.md and no state here to check")
                .hint("`memory-forge init --workspace` starts a workspace with a manifest, `memory-forge mind set` the state"),
        );
    }
    for problem in survey.vault().problems.iter().take(10) {
        ui.warn(&printable(&problem.to_string()));
    }
    let mut changes = Vec::new();
    if args.fix {
        changes = fix(&survey, &args, settings, ui)?;
        // A new survey, since the repair has changed files.
        survey = Survey::of(&workspace, settings.now);
    }
    let checking = ui.busy("Checking");
    let report = CheckView::Lint.run(&survey);
    drop(checking);
    if args.json {
        ui.json(&report_json(&report, &changes))?
    } else {
        ui.lines(&printable(&render(&report)))?
    }
    Ok(if report.fails(CheckView::Lint) {
        Exit::Failure
    } else {
        Exit::Success
    })
}

/// Repairs, and returns the ids under which that can be undone.
fn fix(
    survey: &Survey<'_>,
    args: &LintArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<Vec<String>, CommandError> {
    let mut fixes = check::plan_lint_fix(survey)?;
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
        // Without a terminal the answer is no.
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
        let receipt = check::remove(survey.workspace, &agreed, settings.now)?;
        changes.extend(receipt.id);
    }
    for id in &changes {
        ui.note(&format!("`memory-forge doctor --undo {id}` takes it back"));
    }
    Ok(changes)
}

/// Upper bound for the findings of one check that are shown.
const MAX_SHOWN: usize = 20;

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => "INFO",
        Severity::Warning | Severity::Error => "WARN",
    }
}

/// Renders the report as text, in the form that other tools know.
fn render(report: &CheckReport) -> String {
    let mut out = String::from("Workspace Health Report\n\n");
    let mut actions = String::new();
    for result in &report.results {
        let (title, found) = (result.check.title, result.outcome.findings());
        let advice = |it: &check::Finding| it.advice.clone().unwrap_or_default();
        match found {
            [] => out.push_str(&format!("{title}: PASS\n")),
            [first, ..] => {
                out.push_str(&format!("{title}: {} issues\n", found.len()));
                actions.push_str(&format!("- {title}: {}\n", advice(first)));
            }
        }
        for it in found.iter().take(MAX_SHOWN) {
            let (level, fix) = (level(it.severity), advice(it));
            out.push_str(&format!("  [{level}] {} -- fix: {fix}\n", it.message));
        }
        if found.len() > MAX_SHOWN {
            let more = found.len() - MAX_SHOWN;
            out.push_str(&format!("  and {more} more; `--json` lists them all\n"));
        }
    }
    let (warnings, infos) = (
        report.count(Severity::Warning),
        report.count(Severity::Info),
    );
    let checks = report.results.len();
    out.push_str(&format!(
        "\nSummary: {warnings} warnings, {infos} info across {checks} checks\n"
    ));
    if actions.is_empty() {
        out.push_str("All checks passed. Workspace is clean.\n");
    } else {
        out.push_str(&format!("\nSuggested next actions:\n{actions}"));
    }
    out
}

fn report_json(report: &CheckReport, changes: &[String]) -> Value {
    let results = report.results.iter();
    let checks = results.map(|result| {
        let found = result.outcome.findings();
        let findings = found.iter().map(
            |it| json!({ "level": level(it.severity), "message": it.message, "fix": it.advice }),
        );
        json!({
            "name": result.check.title, "pass": found.is_empty(),
            "findings": findings.collect::<Vec<_>>(),
        })
    });
    json!({
        "version": 1,
        "warnings": report.count(Severity::Warning),
        "info": report.count(Severity::Info),
        "checks": checks.collect::<Vec<_>>(),
        "changes": changes,
    })
}
