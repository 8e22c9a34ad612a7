//! `doctor`: checks the installation and repairs what the audit found. It
//! changes nothing without `--fix` and a yes, and every change can be undone.

use std::path::PathBuf;

use clap::Args;
use forge_app::check::{
    CheckFinding, CheckOutcome, CheckReport, CheckSeverity, CheckView, WorkspaceSurvey,
};
use forge_app::doctor::{self, ReadingDepth, RepairPlan, RepairStep};
use forge_app::knowledge::proposal::ChangeProposal;
use forge_app::tokens::format_thousands;
use forge_app::workspace::{RelPath, Workspace};

use super::undo::{self, UndoArgs};
use crate::library;
use crate::paths;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::{Ui, escape_hidden, style};

mod sections;
mod own;

/// Check the workspace; with `--fix`, repair what the audit found
///
/// A repair shows its diff and asks first; on a terminal it shows the sections
/// before that, and each can be kept or moved. It moves explanations and leaves
/// rules, commands and imports where they are: from `CLAUDE.md` and `AGENTS.md`
/// to `knowledge/legacy/`, from a `SKILL.md` to `references/` in its folder. Files
/// in parts of the project are changed only when they are named. The bytes
/// before the change stay in the undo journal.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge doctor                    Check
  memory-forge doctor --fix --dry-run    Show the repair as a diff
  memory-forge doctor --fix              Show it, ask, repair
  memory-forge doctor --fix packages/api/CLAUDE.md
  memory-forge doctor --undo             Revert the latest change that you made
  memory-forge doctor --self             Compare this program with its release")]
pub(crate) struct DoctorArgs {
    /// Repair what can be repaired
    #[arg(long)]
    pub(crate) fix: bool,

    /// With `--fix`: shorten these files, also in parts of the project, instead
    /// of those at its root
    #[arg(value_name = "FILE", requires = "fix")]
    pub(crate) files: Vec<PathBuf>,

    /// Show what would change and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Read every document, even if there are very many and the index reports
    /// that most are unchanged
    #[arg(long)]
    pub(crate) deep: bool,

    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,

    /// Revert a change: the latest one, or the one with this id
    #[arg(long, value_name = "ID", num_args = 0..=1, conflicts_with = "fix")]
    pub(crate) undo: Option<Option<String>>,

    /// Compare this program with the signed checksums beside it, and check
    /// nothing else
    #[arg(long = "self", conflicts_with_all = ["fix", "undo", "deep", "dry_run"])]
    pub(crate) this_program: bool,

    /// With `--self`: a file with the public key of minisign, instead of the key
    /// that is compiled in
    #[arg(long, value_name = "FILE", requires = "this_program")]
    pub(crate) key: Option<PathBuf>,

    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run_doctor(
    args: DoctorArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    if args.this_program {
        return own::check_this_program(&args, settings, ui);
    }
    let workspace = paths::open_workspace(settings, ui)?;
    match (&args.undo, args.fix) {
        (Some(id), _) => {
            let args = UndoArgs {
                id: id.clone(),
                dry_run: args.dry_run,
                json: args.json,
            };
            undo::undo_or_preview(&workspace, &args, settings, ui)
        }
        (None, true) => fix_workspace(&workspace, &args, settings, ui),
        (None, false) => check_workspace(&workspace, &args, settings, ui),
    }
}

/// Runs the library's checks, with the programs that clients call, which it
/// cannot know alone.
fn run_doctor_checks(workspace: &Workspace, args: &DoctorArgs, settings: &Settings) -> CheckReport {
    let depth = if args.deep {
        ReadingDepth::Full
    } else {
        // Another share of the files each time, so that several runs read them
        // all.
        let turn = settings.now.as_second().unsigned_abs();
        ReadingDepth::Sample {
            most: doctor::MAX_SAMPLE_DOCUMENTS,
            turn,
        }
    };
    let around = settings.surroundings(workspace);
    let survey = WorkspaceSurvey::from_workspace(workspace, settings.now)
        .with_surroundings(around)
        .with_depth(depth);
    CheckView::Doctor.run(&survey)
}

fn check_workspace(
    workspace: &Workspace,
    args: &DoctorArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let checking = ui.show_busy("Checking");
    let diagnosis = run_doctor_checks(workspace, args, settings);
    drop(checking);
    if args.json {
        ui.print_json(&json::diagnosis_json(&diagnosis))?;
    } else {
        show_report(&diagnosis, DoctorReportPart::All, ui)?;
        ui.print_line(&format!(
            "\nSummary: {} ok, {}, {}",
            count_passed(&diagnosis),
            count_with_noun(diagnosis.count_severity(CheckSeverity::Warning), "warning"),
            count_with_noun(diagnosis.count_severity(CheckSeverity::Error), "problem"),
        ))?;
    }
    Ok(exit_status(&diagnosis))
}

fn exit_status(diagnosis: &CheckReport) -> CommandExit {
    if diagnosis.has_failure(CheckView::Doctor) {
        CommandExit::Failure
    } else {
        CommandExit::Success
    }
}

/// Returns the number of checks that report success. A few have nothing to
/// report.
fn count_passed(diagnosis: &CheckReport) -> usize {
    let outcomes = diagnosis.results.iter().map(|it| &it.outcome);
    let stated = outcomes.filter(|it| matches!(it, CheckOutcome::Passed(Some(_))));
    stated.count()
}

fn level_name(severity: CheckSeverity) -> &'static str {
    match severity {
        CheckSeverity::Info | CheckSeverity::Warning => "warning",
        CheckSeverity::Error => "problem",
    }
}

/// Part of a report that is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DoctorReportPart {
    All,
    /// Findings, without checks that passed or were skipped.
    Findings,
}

/// Upper bound for the findings of one check that are shown; more are counted.
const MAX_SHOWN_FINDINGS: usize = 20;

fn show_report(
    diagnosis: &CheckReport,
    part: DoctorReportPart,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    for result in &diagnosis.results {
        let title = result.check.title;
        match &result.outcome {
            CheckOutcome::Passed(Some(summary)) if part == DoctorReportPart::All => {
                show_result(title, (style::GOOD, "✓", ""), "", summary, ui)?;
            }
            CheckOutcome::Skipped(why) if part == DoctorReportPart::All => {
                show_result(title, (style::FAINT, "–", "skipped: "), "", why, ui)?;
            }
            CheckOutcome::Passed(_) | CheckOutcome::Skipped(_) => {}
            CheckOutcome::Found(findings) => {
                for finding in findings.iter().take(MAX_SHOWN_FINDINGS) {
                    show_finding(title, finding, ui)?;
                }
                if findings.len() > MAX_SHOWN_FINDINGS {
                    let more = findings.len() - MAX_SHOWN_FINDINGS;
                    ui.print_line(&format!(
                        "  {more} more like this; `--json` lists all of them"
                    ))?;
                }
            }
        }
    }
    Ok(())
}

fn show_finding(title: &str, finding: &CheckFinding, ui: &mut Ui) -> Result<(), CommandError> {
    let look = match finding.severity {
        CheckSeverity::Info | CheckSeverity::Warning => (style::WARNING, "⚠", "warning: "),
        CheckSeverity::Error => (style::CRITICAL, "✗", "problem: "),
    };
    let place = finding.place.as_ref().map(|it| format!("{it}: "));
    let place = place.unwrap_or_default();
    show_result(title, look, &escape_hidden(&place), &finding.message, ui)?;
    match &finding.advice {
        Some(advice) => ui.print_line(&format!("    → {}", escape_hidden(advice))),
        None => Ok(()),
    }
}

fn show_result(
    title: &str,
    (style, sign, level): (anstyle::Style, &str, &str),
    place: &str,
    message: &str,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    let message = escape_hidden(message);
    ui.print_line(&format!(
        "{style}{sign}{style:#} {title}: {style}{level}{style:#}{place}{message}"
    ))
}

fn fix_workspace(
    workspace: &Workspace,
    args: &DoctorArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let named: Vec<RelPath> = args
        .files
        .iter()
        .map(|file| paths::resolve_path(workspace, settings, file))
        .collect::<Result<_, _>>()?;
    // A person sees the sections and can change what becomes of each.
    let repair = if ui.can_ask() && !args.yes && !args.json && !args.dry_run {
        sections::review(workspace, &named, settings, ui)?
    } else {
        doctor::plan_repair(workspace, &named, settings.now)
    };
    for one in &repair.left_alone {
        ui.warn(&format!("`{}` is left alone: {}", one.path, one.why));
    }
    let mut change = None;
    if !repair.proposal.is_empty() {
        if !args.json {
            show_diff(&repair.proposal, ui)?;
        }
        if args.dry_run {
            ui.note("Nothing was changed (`--dry-run`)");
        } else if ui.confirm("Apply these changes?", args.yes)? {
            let what = doctor::REPAIR_TITLE;
            change = repair.proposal.apply(workspace, what, settings.now)?.id;
        } else {
            ui.note("Nothing was changed");
            return Ok(CommandExit::Success);
        }
    }
    if let Some(id) = &change {
        library::open_refreshed(workspace, settings, ui)?;
        if !args.json {
            show_steps(&repair, ui)?;
        }
        ui.note(&format!(
            "`memory-forge doctor --undo {id}` restores the exact bytes"
        ));
    } else if repair.proposal.is_empty() && !args.json {
        ui.print_line(if repair.left_alone.is_empty() {
            "✓ Nothing to repair"
        } else {
            "Nothing can move: the contents of these files must stay where agents load them"
        })?;
    }
    if args.json {
        ui.print_json(&json::repair_json(&repair, change.as_deref()))?;
    }
    if args.dry_run {
        return Ok(CommandExit::Success);
    }
    // Problems that a repair cannot fix are still shown.
    let mut after = run_doctor_checks(workspace, args, settings);
    let results = after.results.iter_mut();
    let findings = results.filter_map(|it| match &mut it.outcome {
        CheckOutcome::Found(findings) => Some(findings),
        CheckOutcome::Passed(_) | CheckOutcome::Skipped(_) => None,
    });
    for finding in findings.flatten() {
        let mut left_alone = repair.left_alone.iter();
        if left_alone.any(|it| finding.path() == Some(it.path.as_str())) {
            finding.advice = Some("Left alone, see above; shorten it by hand".to_owned());
        }
    }
    if !args.json && after.findings().next().is_some() {
        ui.print_line("\nStill open:")?;
        show_report(&after, DoctorReportPart::Findings, ui)?;
    }
    Ok(exit_status(&after))
}

/// Shows every file of a proposal as a diff.
pub(super) fn show_diff(proposal: &ChangeProposal, ui: &mut Ui) -> Result<(), CommandError> {
    for file in &proposal.files {
        let before = file.before.as_deref().unwrap_or_default();
        ui.print_diff(file.path.as_str(), before, &file.after)?;
    }
    Ok(())
}

fn show_steps(repair: &RepairPlan, ui: &mut Ui) -> Result<(), CommandError> {
    let good = style::GOOD;
    for step in &repair.steps {
        match step {
            RepairStep::Stub {
                path,
                legacy,
                before,
                after,
            } => {
                ui.print_line(&format!("{good}✓{good:#} Stub generated in {path}"))?;
                ui.print_line(&format!("{good}✓{good:#} Legacy content moved to {legacy}"))?;
                note_size(repair, path, *before, *after, ui);
            }
            RepairStep::Skill {
                path,
                reference,
                before,
                after,
            } => {
                ui.print_line(&format!(
                    "{good}✓{good:#} Explanations of {path} moved to {reference}"
                ))?;
                note_size(repair, path, *before, *after, ui);
            }
            RepairStep::Readme { created: true } => {
                ui.print_line(&format!("{good}✓{good:#} Created knowledge/README.md"))?;
            }
            RepairStep::Readme { created: false } => {
                ui.print_line(&format!("{good}✓{good:#} Updated knowledge/README.md"))?;
            }
        }
    }
    ui.print_line(&format!("{good}✓{good:#} Index updated"))
}

/// States the size before and after, and what remains above the limit.
fn note_size(repair: &RepairPlan, path: &RelPath, before: usize, after: usize, ui: &mut Ui) {
    let (before, after) = (format_thousands(before), format_thousands(after));
    ui.note(&format!("`{path}`: {before} → {after} tokens (o200k)"));
    let review = repair.reviews.iter().find(|it| it.path == *path);
    if let Some(remaining) = review.and_then(doctor::FileReview::remaining) {
        ui.note(&format!("`{path}`: {remaining}"));
    }
}

fn count_with_noun(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

/// Renders the answers for programs.
mod json {
    use super::{CheckOutcome, CheckReport, CheckSeverity, RepairPlan, RepairStep};
    use super::{count_passed, level_name};
    use serde_json::{Value, json};

    pub(super) fn diagnosis_json(diagnosis: &CheckReport) -> Value {
        let results = diagnosis.results.iter();
        let outcomes = diagnosis.results.iter().map(|it| &it.outcome);
        let skipped = outcomes.filter(|it| matches!(it, CheckOutcome::Skipped(_)));
        let skipped = skipped.count();
        let worst = match diagnosis.worst_severity() {
            Some(severity) => level_name(severity),
            None if skipped > 0 => "skipped",
            None => "ok",
        };
        json!({
            "version": 1,
            "worst": worst,
            "findings": results
                .flat_map(|it| findings_json(it.check.title, &it.outcome))
                .collect::<Vec<_>>(),
            "summary": {
                "ok": count_passed(diagnosis),
                "skipped": skipped,
                "warnings": diagnosis.count_severity(CheckSeverity::Warning),
                "problems": diagnosis.count_severity(CheckSeverity::Error),
            },
        })
    }

    fn findings_json(title: &str, outcome: &CheckOutcome) -> Vec<Value> {
        let plain = |level: &str, message: &str| {
            vec![json!({
                "check": title, "level": level, "message": message,
                "path": null, "line": null, "next": null,
            })]
        };
        match outcome {
            CheckOutcome::Passed(None) => Vec::new(),
            CheckOutcome::Passed(Some(summary)) => plain("ok", summary),
            CheckOutcome::Skipped(why) => plain("skipped", why),
            CheckOutcome::Found(found) => found
                .iter()
                .map(|f| {
                    json!({
                        "check": title, "level": level_name(f.severity),
                        "message": f.message, "path": f.path(), "line": f.line(),
                        "next": f.advice,
                    })
                })
                .collect(),
        }
    }

    pub(super) fn repair_json(repair: &RepairPlan, change: Option<&str>) -> Value {
        let skills: Vec<Value> = repair
            .steps
            .iter()
            .filter_map(|step| match step {
                RepairStep::Skill {
                    path,
                    reference,
                    before,
                    after,
                } => Some(json!({
                    "path": path.as_str(), "reference": reference.as_str(),
                    "tokens_before": before, "tokens_after": after, "tokenizer": "o200k",
                })),
                RepairStep::Stub { .. } | RepairStep::Readme { .. } => None,
            })
            .collect();
        let stubs: Vec<Value> = repair
            .steps
            .iter()
            .filter_map(|step| match step {
                RepairStep::Stub {
                    path,
                    legacy,
                    before,
                    after,
                } => Some(json!({
                    "path": path.as_str(), "legacy": legacy.as_str(),
                    "tokens_before": before, "tokens_after": after, "tokenizer": "o200k",
                })),
                RepairStep::Skill { .. } | RepairStep::Readme { .. } => None,
            })
            .collect();
        let files: Vec<Value> = repair
            .proposal
            .files
            .iter()
            .map(|file| json!({ "path": file.path.as_str(), "created": file.before.is_none() }))
            .collect();
        let left_alone: Vec<Value> = repair
            .left_alone
            .iter()
            .map(|one| json!({ "path": one.path.as_str(), "why": one.why }))
            .collect();
        json!({
            "version": 1, "changed": change.is_some(), "change": change,
            "stubs": stubs, "skills": skills, "files": files, "left_alone": left_alone,
        })
    }
}
