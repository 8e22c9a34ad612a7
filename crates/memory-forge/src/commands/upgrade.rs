//! Runs `upgrade`: brings a workspace of an older format to the current one.

use clap::Args;
use forge_app::bulk::{self, BulkSkill};
use forge_app::routing::manifest::MANIFEST_FORMAT_VERSION;
use forge_app::upkeep::upgrade::{self, UpgradeSignal};
use serde_json::json;

use crate::paths;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::{Ui, escape_hidden};

/// Bring an older workspace to the current format
///
/// Summaries first, then closets, the marker last. Notes are not touched. An
/// interrupted run continues where it stopped, and where everything is
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

pub(crate) fn run_upgrade(
    args: UpgradeArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let workspace = paths::open_workspace(settings, ui)?;
    let plan = upgrade::plan_upgrade(&workspace, args.force)?;
    let steps = plan.list_steps();
    let signals: Vec<String> = plan.signals.iter().map(describe_signal).collect();
    if !args.json {
        for signal in &signals {
            ui.print_line(&format!("• {}", escape_hidden(signal)))?;
        }
        for (number, step) in steps.iter().enumerate() {
            ui.print_line(&format!("{}. {}", number + 1, escape_hidden(step)))?;
        }
    }
    let mut done = None;
    if !args.dry_run && !steps.is_empty() {
        if let Some(question) =
            bulk::cooldown_question(&workspace, BulkSkill::Upgrade, settings.now)
            && !ui.confirm_or(&question, args.force, super::FORCE_OR_DRY_RUN_HINT)?
        {
            ui.note("Nothing was changed");
            return Ok(CommandExit::Success);
        }
        done = Some(upgrade::run_upgrade(
            &workspace,
            &plan,
            settings.now,
            &super::lock_holder(),
        )?);
    }
    for remark in done.iter().flat_map(|done| &done.remarks) {
        ui.note(&escape_hidden(remark));
    }
    if args.json {
        ui.print_json(&json!({
            "version": 1, "from": plan.from, "to": MANIFEST_FORMAT_VERSION, "dryRun": args.dry_run,
            "signals": signals, "steps": steps, "changed": done.is_some(),
            "summaries": done.as_ref().map(|it| it.summaries),
            "hubs": done.as_ref().map(|it| it.hubs), "files": done.as_ref().map(|it| it.files),
        }))?;
    } else if steps.is_empty() {
        ui.print_line(&format!(
            "✓ The workspace is current (version {MANIFEST_FORMAT_VERSION})"
        ))?;
    } else if args.dry_run {
        ui.note("Nothing was changed (`--dry-run`); `memory-forge upgrade` does it");
    } else if let Some(done) = done {
        ui.print_line(&format!(
            "✓ Upgraded to {MANIFEST_FORMAT_VERSION}: {} summaries, {} hubs, {} files",
            done.summaries, done.hubs, done.files
        ))?;
        if done.partial {
            ui.warn(
                "Some rows lead to no file; `memory-forge manifest refresh --dry-run` names them",
            );
        }
    }
    Ok(CommandExit::Success)
}

fn describe_signal(signal: &UpgradeSignal) -> String {
    match signal {
        UpgradeSignal::Marker(from) if from.is_empty() => "The marker has no version".to_owned(),
        UpgradeSignal::Marker(from) => format!("The marker is of version {from}"),
        UpgradeSignal::SummaryFormat(None) => "Summaries are of the first format".to_owned(),
        UpgradeSignal::SummaryFormat(Some(n)) => format!("Summaries are of format {n}"),
        UpgradeSignal::Coverage(hubs) => format!("No closets: {}", hubs.join(", ")),
        UpgradeSignal::ClosetsFormat(hubs) => {
            format!("Closets without a version: {}", hubs.join(", "))
        }
        UpgradeSignal::MemoryClosets => "`memory/` has no closets of the current format".to_owned(),
    }
}
