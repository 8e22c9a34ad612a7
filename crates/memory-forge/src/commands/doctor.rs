//! `doctor`: checks the installation and repairs what the audit found. It
//! changes nothing without `--fix` and a yes, and every change can be undone.

use std::path::PathBuf;

use clap::Args;
use forge_app::check::{CheckOutcome, CheckReport, CheckView, Finding, Severity, Survey};
use forge_app::doctor::{self, ReadingDepth, Repair, Step};
use forge_app::knowledge::proposal::Proposal;
use forge_app::tokens::thousands;
use forge_app::workspace::{RelPath, Workspace};

use super::undo::{self, UndoArgs};
use crate::library;
use crate::paths;
use crate::report::{CommandError, Exit};
use crate::settings::Settings;
use crate::ui::{Ui, printable, style};

mod sections;

/// Check the workspace; with `--fix`, repair what the audit found
///
/// A repair shows its diff and asks first; on a terminal it shows the sections
/// before that, and each can be kept or moved. It moves explanations and leaves
/// rules, commands and imports where they are: from `CLAUDE.md` and `AGENTS.md`
/// to `knowledge/legacy/`, from a `SKILL.md` to `references/` beside it. Files
/// in parts of the project are changed only when they are named. The bytes
/// before the change stay in the undo journal.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge doctor                    Check
  memory-forge doctor --fix --dry-run    Show the repair as a diff
  memory-forge doctor --fix              Show it, ask, repair
  memory-forge doctor --fix packages/api/CLAUDE.md
  memory-forge doctor --undo             Take back the latest change you asked for")]
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

    /// Read every document, also where there are very many and the index says
    /// that most are unchanged
    #[arg(long)]
    pub(crate) deep: bool,

    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,

    /// Take a change back: the latest one, or the one with this id
    #[arg(long, value_name = "ID", num_args = 0..=1, conflicts_with = "fix")]
    pub(crate) undo: Option<Option<String>>,

    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(
    args: DoctorArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<Exit, CommandError> {
    let workspace = paths::workspace(settings, ui)?;
    match (&args.undo, args.fix) {
        (Some(id), _) => {
            let args = UndoArgs {
                id: id.clone(),
                dry_run: args.dry_run,
                json: args.json,
            };
            undo::undo_or_preview(&workspace, &args, settings, ui)
        }
        (None, true) => fix(&workspace, &args, settings, ui),
        (None, false) => check(&workspace, &args, settings, ui),
    }
}

/// Runs the library's checks, with the programs that clients call, which it
/// cannot know alone.
fn diagnose(workspace: &Workspace, args: &DoctorArgs, settings: &Settings) -> CheckReport {
    let depth = if args.deep {
        ReadingDepth::Full
    } else {
        // Another share of the files each time, so that several runs read them
        // all.
        let turn = settings.now.as_second().unsigned_abs();
        ReadingDepth::Sample {
            most: doctor::MAX_SAMPLE,
            turn,
        }
    };
    let around = settings.surroundings(workspace);
    let survey = Survey::of(workspace, settings.now)
        .with_surroundings(around)
        .with_depth(depth);
    CheckView::Doctor.run(&survey)
}

fn check(
    workspace: &Workspace,
    args: &DoctorArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<Exit, CommandError> {
    let checking = ui.busy("Checking");
    let diagnosis = diagnose(workspace, args, settings);
    drop(checking);
    if args.json {
        ui.json(&json::diagnosis(&diagnosis))?;
    } else {
        show(&diagnosis, ReportPart::All, ui)?;
        ui.line(&format!(
            "\nSummary: {} ok, {}, {}",
            passed(&diagnosis),
            several(diagnosis.count(Severity::Warning), "warning"),
            several(diagnosis.count(Severity::Error), "problem"),
        ))?;
    }
    Ok(exit(&diagnosis))
}

fn exit(diagnosis: &CheckReport) -> Exit {
    if diagnosis.fails(CheckView::Doctor) {
        Exit::Failure
    } else {
        Exit::Success
    }
}

/// Returns the number of checks that report success. A few have nothing to
/// report.
fn passed(diagnosis: &CheckReport) -> usize {
    let outcomes = diagnosis.results.iter().map(|it| &it.outcome);
    let stated = outcomes.filter(|it| matches!(it, CheckOutcome::Passed(Some(_))));
    stated.count()
}

fn level_name(severity: Severity) -> &'static str {
    match severity {
        Severity::Info | Severity::Warning => "warning",
        Severity::Error => "problem",
    }
}

/// Part of a report that is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReportPart {
    All,
    /// Findings, without checks that passed or were skipped.
    Findings,
}

/// Upper bound for the findings of one check that are shown; more are counted.
const MAX_SHOWN: usize = 20;

fn show(diagnosis: &CheckReport, part: ReportPart, ui: &mut Ui) -> Result<(), CommandError> {
    for result in &diagnosis.results {
        let title = result.check.title;
        match &result.outcome {
            CheckOutcome::Passed(Some(said)) if part == ReportPart::All => {
                show_one(title, (style::GOOD, "✓", ""), "", said, ui)?;
            }
            CheckOutcome::Skipped(why) if part == ReportPart::All => {
                show_one(title, (style::FAINT, "–", "skipped: "), "", why, ui)?;
            }
            CheckOutcome::Passed(_) | CheckOutcome::Skipped(_) => {}
            CheckOutcome::Found(findings) => {
                for finding in findings.iter().take(MAX_SHOWN) {
                    show_finding(title, finding, ui)?;
                }
                if findings.len() > MAX_SHOWN {
                    let more = findings.len() - MAX_SHOWN;
                    ui.line(&format!(
                        "  {more} more like this; `--json` lists all of them"
                    ))?;
                }
            }
        }
    }
    Ok(())
}

fn show_finding(title: &str, finding: &Finding, ui: &mut Ui) -> Result<(), CommandError> {
    let look = match finding.severity {
        Severity::Info | Severity::Warning => (style::WARNING, "⚠", "warning: "),
        Severity::Error => (style::CRITICAL, "✗", "problem: "),
    };
    let place = finding.place.as_ref().map(|it| format!("{it}: "));
    let place = place.unwrap_or_default();
    show_one(title, look, &printable(&place), &finding.message, ui)?;
    match &finding.advice {
        Some(advice) => ui.line(&format!("    → {}", printable(advice))),
        None => Ok(()),
    }
}

fn show_one(
    title: &str,
    (style, sign, level): (anstyle::Style, &str, &str),
    place: &str,
    message: &str,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    let message = printable(message);
    ui.line(&format!(
        "{style}{sign}{style:#} {title}: {style}{level}{style:#}{place}{message}"
    ))
}

fn fix(
    workspace: &Workspace,
    args: &DoctorArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<Exit, CommandError> {
    let named: Vec<RelPath> = args
        .files
        .iter()
        .map(|file| paths::path_in(workspace, settings, file))
        .collect::<Result<_, _>>()?;
    // A person sees the sections and can change what becomes of each.
    let repair = if ui.can_ask() && !args.yes && !args.json && !args.dry_run {
        sections::review(workspace, &named, settings, ui)?
    } else {
        doctor::plan(workspace, &named, settings.now)
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
            let what = "Repair by `doctor --fix`";
            change = repair.proposal.apply(workspace, what, settings.now)?.id;
        } else {
            ui.note("Nothing was changed");
            return Ok(Exit::Success);
        }
    }
    if let Some(id) = &change {
        library::in_step(workspace, settings, ui)?;
        if !args.json {
            report(&repair, ui)?;
        }
        ui.note(&format!(
            "`memory-forge doctor --undo {id}` takes it back, byte for byte"
        ));
    } else if repair.proposal.is_empty() && !args.json {
        ui.line(if repair.left_alone.is_empty() {
            "✓ Nothing to repair"
        } else {
            "Nothing can move: what these files hold has to stay where agents load it"
        })?;
    }
    if args.json {
        ui.json(&json::repair(&repair, change.as_deref()))?;
    }
    if args.dry_run {
        return Ok(Exit::Success);
    }
    // Problems that a repair cannot fix are still shown.
    let mut after = diagnose(workspace, args, settings);
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
        ui.line("\nStill open:")?;
        show(&after, ReportPart::Findings, ui)?;
    }
    Ok(exit(&after))
}

/// Shows every file of a proposal as a diff.
pub(super) fn show_diff(proposal: &Proposal, ui: &mut Ui) -> Result<(), CommandError> {
    for file in &proposal.files {
        let before = file.before.as_deref().unwrap_or_default();
        ui.diff(file.path.as_str(), before, &file.after)?;
    }
    Ok(())
}

fn report(repair: &Repair, ui: &mut Ui) -> Result<(), CommandError> {
    let good = style::GOOD;
    for step in &repair.steps {
        match step {
            Step::Stub {
                path,
                legacy,
                before,
                after,
            } => {
                ui.line(&format!("{good}✓{good:#} Stub generated in {path}"))?;
                ui.line(&format!("{good}✓{good:#} Legacy content moved to {legacy}"))?;
                note_size(repair, path, *before, *after, ui);
            }
            Step::Skill {
                path,
                reference,
                before,
                after,
            } => {
                ui.line(&format!(
                    "{good}✓{good:#} Explanations of {path} moved to {reference}"
                ))?;
                note_size(repair, path, *before, *after, ui);
            }
            Step::Readme { created: true } => {
                ui.line(&format!("{good}✓{good:#} Created knowledge/README.md"))?;
            }
            Step::Readme { created: false } => {
                ui.line(&format!("{good}✓{good:#} Updated knowledge/README.md"))?;
            }
        }
    }
    ui.line(&format!("{good}✓{good:#} Index updated"))
}

/// States the size before and after, and what remains above the limit.
fn note_size(repair: &Repair, path: &RelPath, before: usize, after: usize, ui: &mut Ui) {
    let (before, after) = (thousands(before), thousands(after));
    ui.note(&format!("`{path}`: {before} → {after} tokens (o200k)"));
    let review = repair.reviews.iter().find(|it| it.path == *path);
    if let Some(remaining) = review.and_then(doctor::FileReview::remaining) {
        ui.note(&format!("`{path}`: {remaining}"));
    }
}

fn several(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

/// Renders the answers for programs.
mod json {
    use super::{CheckOutcome, CheckReport, Repair, Severity, Step};
    use super::{level_name, passed};
    use serde_json::{Value, json};

    pub(super) fn diagnosis(diagnosis: &CheckReport) -> Value {
        let results = diagnosis.results.iter();
        let outcomes = diagnosis.results.iter().map(|it| &it.outcome);
        let skipped = outcomes.filter(|it| matches!(it, CheckOutcome::Skipped(_)));
        let skipped = skipped.count();
        let worst = match diagnosis.worst() {
            Some(severity) => level_name(severity),
            None if skipped > 0 => "skipped",
            None => "ok",
        };
        json!({
            "version": 1,
            "worst": worst,
            "findings": results
                .flat_map(|it| findings(it.check.title, &it.outcome))
                .collect::<Vec<_>>(),
            "summary": {
                "ok": passed(diagnosis),
                "skipped": skipped,
                "warnings": diagnosis.count(Severity::Warning),
                "problems": diagnosis.count(Severity::Error),
            },
        })
    }

    fn findings(title: &str, outcome: &CheckOutcome) -> Vec<Value> {
        let plain = |level: &str, message: &str| {
            vec![json!({
                "check": title, "level": level, "message": message,
                "path": null, "line": null, "next": null,
            })]
        };
        match outcome {
            CheckOutcome::Passed(None) => Vec::new(),
            CheckOutcome::Passed(Some(said)) => plain("ok", said),
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

    pub(super) fn repair(repair: &Repair, change: Option<&str>) -> Value {
        let skills: Vec<Value> = repair
            .steps
            .iter()
            .filter_map(|step| match step {
                Step::Skill {
                    path,
                    reference,
                    before,
                    after,
                } => Some(json!({
                    "path": path.as_str(), "reference": reference.as_str(),
                    "tokens_before": before, "tokens_after": after, "tokenizer": "o200k",
                })),
                Step::Stub { .. } | Step::Readme { .. } => None,
            })
            .collect();
        let stubs: Vec<Value> = repair
            .steps
            .iter()
            .filter_map(|step| match step {
                Step::Stub {
                    path,
                    legacy,
                    before,
                    after,
                } => Some(json!({
                    "path": path.as_str(), "legacy": legacy.as_str(),
                    "tokens_before": before, "tokens_after": after, "tokenizer": "o200k",
                })),
                Step::Skill { .. } | Step::Readme { .. } => None,
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
