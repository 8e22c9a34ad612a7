//! `doctor`: checks the installation and repairs what the audit found. It
//! changes nothing without `--fix` and a yes, and every change can be undone.

use std::path::PathBuf;

use clap::Args;
use forge_app::doctor::{self, Depth, Diagnosis, Finding, Level, Repair, Step};
use forge_app::knowledge::proposal::Proposal;
use forge_app::tokens::thousands;
use forge_app::workspace::{RelPath, Workspace};
use forge_clients::setup::found;

use super::undo::{self, UndoArgs};
use crate::library;
use crate::paths;
use crate::report::{CommandError, Exit};
use crate::settings::Settings;
use crate::ui::{Ui, printable, style};

/// Check the workspace; with `--fix`, repair what the audit found
///
/// A repair shows its diff and asks first. It moves explanations and leaves
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
            undo::undo(&workspace, &args, settings, ui)
        }
        (None, true) => fix(&workspace, &args, settings, ui),
        (None, false) => check(&workspace, &args, settings, ui),
    }
}

/// The library's checks, and those of what clients call, which it cannot know.
fn diagnose(workspace: &Workspace, args: &DoctorArgs, settings: &Settings) -> Diagnosis {
    let depth = if args.deep {
        Depth::Full
    } else {
        // Another share of the files each time.
        let turn = settings.now.as_second().unsigned_abs();
        Depth::Sample {
            most: doctor::MAX_SAMPLE,
            turn,
        }
    };
    let mut diagnosis = doctor::diagnose(workspace, depth);
    let around = settings.surroundings(workspace);
    for missing in found::missing_programs(&around) {
        let (client, program) = (missing.client, &missing.program);
        let message = if program.contains(['/', '\\']) {
            format!(
                "{} is to call `{program}`, which is not there",
                client.title()
            )
        } else {
            format!(
                "{} is to call `{program}`, which is not on the `PATH`",
                client.title()
            )
        };
        diagnosis.findings.push(Finding {
            check: "clients",
            level: Level::Problem,
            message: format!("{message}: its hooks keep silent and nothing is remembered"),
            path: Some(missing.file),
            line: None,
            next: Some(format!(
                "Install the program there, or run `memory-forge setup {}` again",
                client.name()
            )),
        });
    }
    diagnosis
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
        show(&diagnosis.findings, ui)?;
        ui.line(&format!(
            "\nSummary: {} ok, {}, {}",
            diagnosis.count(Level::Ok),
            several(diagnosis.count(Level::Warning), "warning"),
            several(diagnosis.count(Level::Problem), "problem"),
        ))?;
    }
    Ok(exit(&diagnosis))
}

fn exit(diagnosis: &Diagnosis) -> Exit {
    match diagnosis.worst() {
        Level::Problem => Exit::Failure,
        Level::Ok | Level::Skipped | Level::Warning => Exit::Success,
    }
}

/// More findings of one check than this are counted instead of shown.
const MOST: usize = 20;

fn show(findings: &[Finding], ui: &mut Ui) -> Result<(), CommandError> {
    for same in findings.chunk_by(|a, b| a.check == b.check) {
        for finding in same.iter().take(MOST) {
            show_one(finding, ui)?;
        }
        if same.len() > MOST {
            let more = same.len() - MOST;
            ui.line(&format!(
                "  {more} more like this; `--json` lists all of them"
            ))?;
        }
    }
    Ok(())
}

fn show_one(finding: &Finding, ui: &mut Ui) -> Result<(), CommandError> {
    let (style, sign) = match finding.level {
        Level::Ok => (style::GOOD, "✓"),
        Level::Skipped => (style::FAINT, "–"),
        Level::Warning => (style::WARNING, "⚠"),
        Level::Problem => (style::CRITICAL, "✗"),
    };
    let level = match finding.level {
        Level::Ok => String::new(),
        level => format!("{}: ", level.name()),
    };
    let place = match (&finding.path, finding.line) {
        (Some(path), Some(line)) => format!("{}:{line}: ", printable(path)),
        (Some(path), None) => format!("{}: ", printable(path)),
        (None, _) => String::new(),
    };
    let message = printable(&finding.message);
    ui.line(&format!(
        "{style}{sign}{style:#} {}: {style}{level}{style:#}{place}{message}",
        finding.check
    ))?;
    if let Some(next) = &finding.next {
        ui.line(&format!("    → {}", printable(next)))?;
    }
    Ok(())
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
    let repair = doctor::plan(workspace, &named, settings.now);
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
            report(&repair.steps, ui)?;
        }
        ui.note(&format!(
            "`memory-forge doctor --undo {id}` takes it back, byte for byte"
        ));
    } else if repair.proposal.is_empty() && !args.json {
        ui.line(if repair.left_alone.is_empty() {
            "✓ Nothing to repair"
        } else {
            "Nothing was repaired"
        })?;
    }
    if args.json {
        ui.json(&json::repair(&repair, change.as_deref()))?;
    }
    if args.dry_run {
        return Ok(Exit::Success);
    }
    // What a repair cannot put right is still said.
    let mut after = diagnose(workspace, args, settings);
    after
        .findings
        .retain(|finding| finding.level > Level::Skipped);
    for one in &repair.left_alone {
        let about = |finding: &&mut Finding| finding.path.as_deref() == Some(one.path.as_str());
        for finding in after.findings.iter_mut().filter(about) {
            finding.next = Some("Left alone, see above; shorten it by hand".to_owned());
        }
    }
    if !args.json && !after.findings.is_empty() {
        ui.line("\nStill open:")?;
        show(&after.findings, ui)?;
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

fn report(steps: &[Step], ui: &mut Ui) -> Result<(), CommandError> {
    let good = style::GOOD;
    for step in steps {
        match step {
            Step::Stub {
                path,
                legacy,
                before,
                after,
            } => {
                ui.line(&format!("{good}✓{good:#} Stub generated in {path}"))?;
                ui.line(&format!("{good}✓{good:#} Legacy content moved to {legacy}"))?;
                ui.note(&format!(
                    "`{path}`: {} → {} tokens (o200k)",
                    thousands(*before),
                    thousands(*after)
                ));
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
                ui.note(&format!(
                    "`{path}`: {} → {} tokens (o200k)",
                    thousands(*before),
                    thousands(*after)
                ));
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

fn several(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

/// The answers for programs.
mod json {
    use super::{Diagnosis, Level, Repair, Step};
    use serde_json::{Value, json};

    pub(super) fn diagnosis(diagnosis: &Diagnosis) -> Value {
        let findings: Vec<Value> = diagnosis
            .findings
            .iter()
            .map(|f| {
                json!({
                    "check": f.check, "level": f.level.name(), "message": f.message,
                    "path": f.path, "line": f.line, "next": f.next,
                })
            })
            .collect();
        json!({
            "version": 1,
            "worst": diagnosis.worst().name(),
            "findings": findings,
            "summary": {
                "ok": diagnosis.count(Level::Ok),
                "skipped": diagnosis.count(Level::Skipped),
                "warnings": diagnosis.count(Level::Warning),
                "problems": diagnosis.count(Level::Problem),
            },
        })
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
