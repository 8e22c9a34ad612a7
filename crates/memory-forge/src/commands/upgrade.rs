//! Runs `upgrade`: brings a workspace of an older format to the current one.

use clap::Args;
use forge_app::bulk::{self, Skill};
use forge_app::routing::manifest::VERSION;
use forge_app::upkeep::upgrade::{self, Signal};
use serde_json::json;

use crate::paths;
use crate::report::{CommandError, Exit};
use crate::settings::Settings;
use crate::ui::{Ui, printable};

/// Bring an older workspace to the current format
///
/// Summaries first, then closets, the marker last. Notes are not touched. A
/// run that was cut off goes on where it stopped, and where everything is
/// current nothing is done.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge workspace upgrade --dry-run    What is old, and what would be done
  memory-forge workspace upgrade              Do it")]
pub(crate) struct UpgradeArgs {
    /// Take every step, needed or not, and do not ask when it ran today
    #[arg(long, short)]
    force: bool,

    /// Show what would be done; takes no lock
    #[arg(long)]
    dry_run: bool,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(
    args: UpgradeArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<Exit, CommandError> {
    let workspace = paths::workspace(settings, ui)?;
    let plan = upgrade::plan(&workspace, args.force)?;
    let steps = plan.steps();
    let signals: Vec<String> = plan.signals.iter().map(said).collect();
    if !args.json {
        for signal in &signals {
            ui.line(&format!("• {}", printable(signal)))?;
        }
        for (number, step) in steps.iter().enumerate() {
            ui.line(&format!("{}. {}", number + 1, printable(step)))?;
        }
    }
    let mut done = None;
    if !args.dry_run && !steps.is_empty() {
        if let Some(question) = bulk::cooldown(&workspace, Skill::Upgrade, settings.now)
            && !ui.confirm_or(&question, args.force, super::FORCE_OR_LOOK)?
        {
            ui.note("Nothing was changed");
            return Ok(Exit::Success);
        }
        done = Some(upgrade::run(
            &workspace,
            &plan,
            settings.now,
            &super::who(),
        )?);
    }
    for remark in done.iter().flat_map(|done| &done.remarks) {
        ui.note(&printable(remark));
    }
    if args.json {
        ui.json(&json!({
            "version": 1, "from": plan.from, "to": VERSION, "dryRun": args.dry_run,
            "signals": signals, "steps": steps, "changed": done.is_some(),
            "summaries": done.as_ref().map(|it| it.summaries),
            "hubs": done.as_ref().map(|it| it.hubs), "files": done.as_ref().map(|it| it.files),
        }))?;
    } else if steps.is_empty() {
        ui.line(&format!("✓ The workspace is current (version {VERSION})"))?;
    } else if args.dry_run {
        ui.note("Nothing was changed (`--dry-run`); `memory-forge upgrade` does it");
    } else if let Some(done) = done {
        ui.line(&format!(
            "✓ Upgraded to {VERSION}: {} summaries, {} hubs, {} files",
            done.summaries, done.hubs, done.files
        ))?;
        if done.partial {
            ui.warn(
                "Some rows lead to no file; `memory-forge manifest refresh --dry-run` names them",
            );
        }
    }
    Ok(Exit::Success)
}

fn said(signal: &Signal) -> String {
    match signal {
        Signal::Marker(from) if from.is_empty() => "The marker has no version".to_owned(),
        Signal::Marker(from) => format!("The marker is of version {from}"),
        Signal::SummaryFormat(None) => "Summaries are of the first format".to_owned(),
        Signal::SummaryFormat(Some(n)) => format!("Summaries are of format {n}"),
        Signal::Coverage(hubs) => format!("No closets: {}", hubs.join(", ")),
        Signal::ClosetsFormat(hubs) => format!("Closets without a version: {}", hubs.join(", ")),
        Signal::MemoryClosets => "`memory/` has no closets of the current format".to_owned(),
    }
}
