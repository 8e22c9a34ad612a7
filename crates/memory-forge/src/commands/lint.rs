//! `lint`: nine checks of a workspace's health, and their repairs.

use clap::Args;
use forge_app::check::{self, CheckReport, CheckSeverity, CheckView, WorkspaceSurvey};
use serde_json::{Value, json};

use crate::paths;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::{Ui, escape_hidden};

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

pub(crate) fn run_lint(
    args: LintArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let workspace = paths::open_workspace(settings, ui)?;
    let reading = ui.show_busy("Reading notes");
    let mut survey = WorkspaceSurvey::from_workspace(&workspace, settings.now);
    // The first check needs every note.
    survey.vault();
    drop(reading);
    if survey.manifest().is_none() && !survey.mind.has_state_files() {
        return Err(
            CommandError::failure("There is no _MANIFEST.md and no state here to check")
                .hint("`memory-forge init --workspace` starts a workspace with a manifest, `memory-forge mind set` the state"),
        );
    }
    for problem in survey.vault().problems.iter().take(10) {
        ui.warn(&escape_hidden(&problem.to_string()));
    }
    let mut changes = Vec::new();
    if args.fix {
        changes = fix_findings(&survey, &args, settings, ui)?;
        // A new survey, since the repair has changed files.
        survey = WorkspaceSurvey::from_workspace(&workspace, settings.now);
    }
    let checking = ui.show_busy("Checking");
    let report = CheckView::Lint.run(&survey);
    drop(checking);
    if args.json {
        ui.print_json(&report_json(&report, &changes))?
    } else {
        ui.print_lines(&escape_hidden(&render_report(&report)))?
    }
    Ok(if report.has_failure(CheckView::Lint) {
        CommandExit::Failure
    } else {
        CommandExit::Success
    })
}

/// Repairs, and returns the ids under which that can be undone.
fn fix_findings(
    survey: &WorkspaceSurvey<'_>,
    args: &LintArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<Vec<String>, CommandError> {
    let mut fixes = check::plan_lint_fix(survey)?;
    let removals = std::mem::take(&mut fixes.removals);
    if !args.json {
        for file in fixes.proposed_files() {
            let before = file.before.as_deref().unwrap_or("");
            ui.print_diff(file.path.as_str(), before, &file.after)?;
        }
    }
    let mut changes = fixes.apply(survey.workspace, settings.now)?;
    let mut agreed = Vec::new();
    for removal in removals {
        // Without a terminal the answer is no.
        match ui.confirm(&escape_hidden(&removal.question), args.yes) {
            Ok(true) => agreed.push(removal),
            Ok(false) => {}
            Err(_) => ui.note(&format!(
                "Skipped without `--yes`: {}",
                escape_hidden(&removal.question)
            )),
        }
    }
    if !agreed.is_empty() {
        let receipt = check::remove_rows(survey.workspace, &agreed, settings.now)?;
        changes.extend(receipt.id);
    }
    for id in &changes {
        ui.note(&format!("`memory-forge doctor --undo {id}` reverts it"));
    }
    Ok(changes)
}

/// Upper bound for the findings of one check that are shown.
const MAX_SHOWN_FINDINGS: usize = 20;

fn level_name(severity: CheckSeverity) -> &'static str {
    match severity {
        CheckSeverity::Info => "INFO",
        CheckSeverity::Warning | CheckSeverity::Error => "WARN",
    }
}

/// Renders the report as text, in the form that other tools know.
fn render_report(report: &CheckReport) -> String {
    let mut out = String::from("Workspace Health Report\n\n");
    let mut actions = String::new();
    for result in &report.results {
        let (title, found) = (result.check.title, result.outcome.findings());
        let advice = |it: &check::CheckFinding| it.advice.clone().unwrap_or_default();
        match found {
            [] => out.push_str(&format!("{title}: PASS\n")),
            [first, ..] => {
                out.push_str(&format!("{title}: {} issues\n", found.len()));
                actions.push_str(&format!("- {title}: {}\n", advice(first)));
            }
        }
        for it in found.iter().take(MAX_SHOWN_FINDINGS) {
            let (level, fix) = (level_name(it.severity), advice(it));
            out.push_str(&format!("  [{level}] {} -- fix: {fix}\n", it.message));
        }
        if found.len() > MAX_SHOWN_FINDINGS {
            let more = found.len() - MAX_SHOWN_FINDINGS;
            out.push_str(&format!("  and {more} more; `--json` lists them all\n"));
        }
    }
    let (warnings, infos) = (
        report.count_severity(CheckSeverity::Warning),
        report.count_severity(CheckSeverity::Info),
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
            |it| json!({ "level": level_name(it.severity), "message": it.message, "fix": it.advice }),
        );
        json!({
            "name": result.check.title, "pass": found.is_empty(),
            "findings": findings.collect::<Vec<_>>(),
        })
    });
    json!({
        "version": 1,
        "warnings": report.count_severity(CheckSeverity::Warning),
        "info": report.count_severity(CheckSeverity::Info),
        "checks": checks.collect::<Vec<_>>(),
        "changes": changes,
    })
}
