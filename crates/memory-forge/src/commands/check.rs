//! `check`: every check of notes and state at once, by file, and their repairs
//! as one change. It changes nothing without `--fix` and a yes.

use std::collections::BTreeMap;
use std::fmt::Write;

use clap::Args;
use forge_app::check::{
    self, CHECK_REGISTRY, CheckFinding, CheckOutcome, CheckReport, CheckSeverity, CheckView,
    WorkspaceSurvey,
};
use forge_app::counts::count_noun;
use serde_json::{Value, json};

use super::links::read_survey_vault;
use crate::paths;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::{Ui, escape_hidden, style};

/// Check notes and state; exits with 1 when something is wrong
///
/// Runs what `lint`, `links check`, `graph check`, `closets check`,
/// `consolidate` and `mind health` look for, once, and lists the findings file
/// by file. What a workspace does not have is skipped; `--verbose` names it.
/// Exits with 1 at a warning or an error, and with 0 where there is no more than
/// information. `--fix` does what loses nothing, shortens a file of decisions
/// that is nearly full, and drops rows of the manifest that lead nowhere, after
/// a diff and one question.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge check
  memory-forge check --only links --only state.stale
  memory-forge check --fix --dry-run    Show the repair as a diff
  memory-forge check --fix
  memory-forge check --list             What is checked, with ids")]
pub(crate) struct CheckArgs {
    /// Run this check or group only; give it once for each
    #[arg(long, value_name = "ID")]
    only: Vec<String>,

    /// Repair what can be repaired, then check again
    #[arg(long)]
    fix: bool,

    /// With `--fix`: show what would change and change nothing
    #[arg(long, requires = "fix")]
    dry_run: bool,

    /// Do not ask
    #[arg(long, short, requires = "fix")]
    yes: bool,

    /// Show at most this many findings
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,

    /// List every check with its id
    #[arg(long, conflicts_with_all = ["fix", "only"])]
    list: bool,

    /// Print the result as JSON, without a limit
    #[arg(long)]
    json: bool,
}

pub(crate) fn run_check(
    args: CheckArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    if args.list {
        return list_checks(&args, ui);
    }
    let checks = check::select_checks(&args.only).map_err(unknown_check)?;
    let workspace = paths::open_workspace(settings, ui)?;
    let mut changes = Vec::new();
    if args.fix {
        let survey = WorkspaceSurvey::from_workspace(&workspace, settings.now);
        read_survey_vault(&survey, ui);
        changes = fix_findings(&survey, &args, settings, ui)?;
    }
    let checking = ui.show_busy("Checking");
    let around = settings.surroundings(&workspace);
    // A new survey, since a repair may have changed files.
    let survey =
        WorkspaceSurvey::from_workspace(&workspace, settings.now).with_surroundings(around);
    let report = check::check_workspace(&survey, &checks);
    drop(checking);
    if args.json {
        ui.print_json(&report_json(&report, &changes))?;
    } else {
        show_report(&report, &args, ui)?;
    }
    Ok(if report.has_failure(CheckView::All) {
        CommandExit::Failure
    } else {
        CommandExit::Success
    })
}

fn unknown_check(word: &str) -> CommandError {
    let error = CommandError::usage(format!("There is no check `{}`", escape_hidden(word)));
    let ids = CHECK_REGISTRY.iter().map(|it| it.id.as_str());
    let groups = CHECK_REGISTRY.iter().map(|it| it.id.group());
    let error = match paths::nearest_name(word, ids.chain(groups)) {
        Some(name) => error.hint(format!("Did you mean `{name}`?")),
        None => error,
    };
    error.hint("`memory-forge check --list` lists them")
}

fn list_checks(args: &CheckArgs, ui: &mut Ui) -> Result<CommandExit, CommandError> {
    let usual: Vec<_> = CheckView::All.checks().map(|it| it.id).collect();
    if args.json {
        let checks = CHECK_REGISTRY.iter().map(|it| {
            json!({
                "id": it.id.as_str(), "group": it.id.group(), "about": it.about,
                "default": usual.contains(&it.id),
            })
        });
        ui.print_json(&json!({ "version": 1, "checks": checks.collect::<Vec<_>>() }))?;
        return Ok(CommandExit::Success);
    }
    let width = CHECK_REGISTRY.iter().map(|it| it.id.as_str().len()).max();
    let width = width.unwrap_or_default();
    for check in &CHECK_REGISTRY {
        let only = if usual.contains(&check.id) {
            ""
        } else {
            " (only with `--only`)"
        };
        let id = check.id.as_str();
        ui.print_line(&format!("{id:width$}  {}{only}", check.about))?;
    }
    Ok(CommandExit::Success)
}

/// Repairs, and returns the ids under which that can be undone.
fn fix_findings(
    survey: &WorkspaceSurvey<'_>,
    args: &CheckArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<Vec<String>, CommandError> {
    let fix = check::plan_check_fix(survey)?;
    let count = fix.proposed_files().count();
    if count == 0 {
        ui.note("Nothing to repair");
        return Ok(Vec::new());
    }
    if !args.json {
        for file in fix.proposed_files() {
            let before = file.before.as_deref().unwrap_or_default();
            ui.print_diff(file.path.as_str(), before, &file.after)?;
        }
    }
    if args.dry_run {
        ui.note("Nothing was changed (`--dry-run`)");
        return Ok(Vec::new());
    }
    if !ui.confirm(&format!("Change {}?", count_noun(count, "file")), args.yes)? {
        ui.note("Nothing was changed");
        return Ok(Vec::new());
    }
    let changes = fix.apply(survey.workspace, &super::lock_holder(), settings.now)?;
    for id in &changes {
        ui.note(&format!("`memory-forge undo {id}` reverts it"));
    }
    Ok(changes)
}

/// Upper bound for the findings of one file that are shown.
const MAX_FINDINGS_PER_FILE: usize = 10;

fn show_report(report: &CheckReport, args: &CheckArgs, ui: &mut Ui) -> Result<(), CommandError> {
    let files = group_by_file(report);
    let mut left = args.limit;
    let mut left_out: Vec<&CheckFinding> = Vec::new();
    for (path, findings) in &files {
        let shown = findings.len().min(MAX_FINDINGS_PER_FILE).min(left);
        left -= shown;
        left_out.extend(&findings[shown..]);
        if shown == 0 {
            continue;
        }
        let heading = style::HEADING;
        let name = path.unwrap_or("The workspace");
        ui.print_line(&format!("{heading}{}{heading:#}", escape_hidden(name)))?;
        for finding in &findings[..shown] {
            show_finding(finding, ui)?;
        }
        ui.print_line("")?;
    }
    if !left_out.is_empty() {
        show_left_out(&left_out, ui)?;
    }
    for result in &report.results {
        if let CheckOutcome::Skipped(why) = &result.outcome {
            ui.detail(&format!("Skipped {}: {why}", result.check.id));
        }
    }
    show_summary(report, files.len(), args, ui)
}

/// Groups findings by file, the files with the worst ones first; those without
/// a file form a group.
fn group_by_file(report: &CheckReport) -> Vec<(Option<&str>, Vec<&CheckFinding>)> {
    let mut files: BTreeMap<Option<&str>, Vec<&CheckFinding>> = BTreeMap::new();
    for finding in report.findings() {
        files.entry(finding.path()).or_default().push(finding);
    }
    let mut files: Vec<_> = files.into_iter().collect();
    for (_, findings) in &mut files {
        findings.sort_by_key(|it| (std::cmp::Reverse(it.severity), it.line()));
    }
    let worst = |findings: &[&CheckFinding]| findings.iter().map(|it| it.severity).max();
    files.sort_by_key(|(_, findings)| std::cmp::Reverse(worst(findings)));
    files
}

fn show_finding(finding: &CheckFinding, ui: &mut Ui) -> Result<(), CommandError> {
    let (style, sign) = match finding.severity {
        CheckSeverity::Info => (style::FAINT, "·"),
        CheckSeverity::Warning => (style::WARNING, "⚠"),
        CheckSeverity::Error => (style::CRITICAL, "✗"),
    };
    let line = finding.line().map(|line| format!("line {line}: "));
    let severity = finding.severity.name();
    ui.print_line(&format!(
        "  {style}{sign}{style:#} {style}{severity}:{style:#} {}{} ({})",
        line.unwrap_or_default(),
        escape_hidden(message_without_place(finding)),
        finding.check
    ))?;
    match &finding.advice {
        Some(advice) => ui.print_line(&format!("      → {}", escape_hidden(advice))),
        None => Ok(()),
    }
}

/// Returns the message without the place, which the heading shows already.
fn message_without_place(finding: &CheckFinding) -> &str {
    let message = finding.message.as_str();
    let Some(place) = &finding.place else {
        return message;
    };
    let rest = message
        .strip_prefix(&place.to_string())
        .or_else(|| message.strip_prefix(&place.path));
    rest.and_then(|it| it.strip_prefix(' ')).unwrap_or(message)
}

fn show_left_out(left_out: &[&CheckFinding], ui: &mut Ui) -> Result<(), CommandError> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for finding in left_out {
        *counts.entry(finding.check.as_str()).or_default() += 1;
    }
    let mut each = String::new();
    for (id, count) in counts {
        let comma = if each.is_empty() { "" } else { ", " };
        let _ = write!(each, "{comma}{count} {id}");
    }
    ui.print_line(&format!(
        "… and {}: {each}; `--only <id> --limit <n>` shows them, `--json` all",
        format_args!("{} more", left_out.len())
    ))?;
    ui.print_line("")
}

fn show_summary(
    report: &CheckReport,
    files: usize,
    args: &CheckArgs,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    let outcomes = report.results.iter().map(|it| &it.outcome);
    let skipped = outcomes.filter(|it| matches!(it, CheckOutcome::Skipped(_)));
    let skipped = skipped.count();
    let ran = count_noun(report.results.len() - skipped, "check");
    let skipped = match skipped {
        0 => String::new(),
        skipped => format!(", {skipped} skipped"),
    };
    if files == 0 {
        let good = style::GOOD;
        return ui.print_line(&format!(
            "{good}✓{good:#} {ran}{skipped}: nothing to report"
        ));
    }
    ui.print_line(&format!(
        "{}, {}, {} info in {} ({ran}{skipped})",
        count_noun(report.count_severity(CheckSeverity::Error), "error"),
        count_noun(report.count_severity(CheckSeverity::Warning), "warning"),
        report.count_severity(CheckSeverity::Info),
        count_noun(files, "place"),
    ))?;
    let repairable = report.findings().filter(|it| it.repair.is_some()).count();
    if repairable > 0 && !args.fix {
        ui.note(&format!(
            "`memory-forge check --fix` repairs {repairable} of them, after a diff"
        ));
    }
    Ok(())
}

fn report_json(report: &CheckReport, changes: &[String]) -> Value {
    let one = |it: &CheckFinding| {
        json!({
            "check": it.check.as_str(), "severity": it.severity.name(),
            "path": it.path(), "line": it.line(), "subject": it.subject,
            "message": it.message, "advice": it.advice, "fixable": it.repair.is_some(),
        })
    };
    let results = report.results.iter().map(|it| {
        let (outcome, why) = match &it.outcome {
            CheckOutcome::Passed(_) => ("passed", None),
            CheckOutcome::Skipped(why) => ("skipped", Some(why)),
            CheckOutcome::Found(_) => ("found", None),
        };
        json!({
            "id": it.check.id.as_str(), "outcome": outcome, "why": why,
            "findings": it.outcome.findings().len(),
        })
    });
    json!({
        "version": 1,
        "findings": report.findings().map(one).collect::<Vec<_>>(),
        "checks": results.collect::<Vec<_>>(),
        "summary": {
            "errors": report.count_severity(CheckSeverity::Error),
            "warnings": report.count_severity(CheckSeverity::Warning),
            "info": report.count_severity(CheckSeverity::Info),
        },
        "changes": changes,
    })
}
