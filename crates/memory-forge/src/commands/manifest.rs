//! `manifest`: shows the map of the workspace, and keeps its summaries right.

use clap::{Args, Subcommand};
use forge_app::bulk::{self, BulkSkill};
use forge_app::routing::manifest::{
    MANIFEST_FORMAT_VERSION, Manifest, ManifestEntry, ManifestMode, ManifestPart, VersionAge,
};
use forge_app::upkeep::resummarize;
use serde_json::json;

use super::doctor::show_diff;
use crate::paths;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::{Ui, escape_hidden, style};

/// Show the map of the workspace, or renew its summaries
///
/// `_MANIFEST.md` shows an agent what there is, so that it opens little. It is
/// read with and without a marker, and whatever people wrote in it stays.
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "\
Examples:
  memory-forge workspace manifest show                What the manifest contains
  memory-forge workspace manifest refresh --dry-run   Which summaries would change
  memory-forge workspace manifest refresh             Change them"
)]
pub(crate) struct ManifestArgs {
    #[command(subcommand)]
    command: ManifestCommand,
}

#[derive(Debug, Subcommand)]
enum ManifestCommand {
    /// List what the manifest contains
    #[command(after_help = "\
Examples:
  memory-forge workspace manifest show")]
    Show(ManifestShowArgs),
    /// Renew the summaries of rows whose files changed
    #[command(after_help = "\
Examples:
  memory-forge workspace manifest refresh --dry-run
  memory-forge workspace manifest refresh")]
    Refresh(ManifestRefreshArgs),
}

#[derive(Debug, Args)]
struct ManifestShowArgs {
    /// Show at most this many rows of each part
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,

    /// Print it as JSON, without a limit
    #[arg(long)]
    json: bool,
}

/// Renew the summaries of rows whose files changed
///
/// Rows of Tier 1, of the Hub Map and of hub pages. A row that a person wrote
/// stays; one that only repeats the name is replaced. At most 250
/// characters each.
#[derive(Debug, Args)]
struct ManifestRefreshArgs {
    /// Renew people's rows too, and do not ask when it ran today
    #[arg(long, short)]
    force: bool,

    /// Show what would change and change nothing
    #[arg(long)]
    dry_run: bool,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run_manifest(
    args: ManifestArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    match args.command {
        ManifestCommand::Show(args) => show_manifest(args, settings, ui),
        ManifestCommand::Refresh(args) => refresh_summaries(args, settings, ui),
    }
}

const MANIFEST_PARTS: [(ManifestPart, &str, &str); 5] = [
    (ManifestPart::Tier1, "tier1", "Tier 1"),
    (ManifestPart::Tier2, "tier2", "Tier 2"),
    (ManifestPart::Tier3, "tier3", "Tier 3"),
    (ManifestPart::HubMap, "hubMap", "Hub Map"),
    (ManifestPart::Config, "config", "Config"),
];

fn show_manifest(
    args: ManifestShowArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let workspace = paths::open_workspace(settings, ui)?;
    let manifest = Manifest::load(&workspace)?;
    let mode = manifest
        .as_ref()
        .map_or(ManifestMode::Absent, Manifest::mode);
    let mode_name = match mode {
        ManifestMode::Full => "full",
        ManifestMode::Compatible => "compatible",
        ManifestMode::Absent => "absent",
    };
    let Some(manifest) = manifest.filter(|_| mode != ManifestMode::Absent) else {
        if args.json {
            ui.print_json(&json!({ "version": 1, "mode": mode_name }))?;
        } else {
            ui.print_line("There is no manifest.")?;
            ui.note("`memory-forge init --workspace` makes one");
        }
        return Ok(CommandExit::Success);
    };
    if args.json {
        let row = |entry: &ManifestEntry| json!({ "name": entry.name, "target": entry.target, "text": entry.text, "note": entry.note });
        let mut answer = json!({
            "version": 1, "mode": mode_name, "format": manifest.version(),
            "summaryFormat": manifest.summary_format(), "domains": manifest.domains(),
        });
        for (part, key, _) in MANIFEST_PARTS {
            answer[key] = manifest.entries_of(part).map(row).collect();
        }
        ui.print_json(&answer)?;
        return Ok(CommandExit::Success);
    }
    let version = match manifest.version() {
        Some("") => ", no version".to_owned(),
        Some(version) => format!(", version {version}"),
        None => String::new(),
    };
    ui.print_line(&format!("Mode: {mode_name}{}", escape_hidden(&version)))?;
    for (part, _, title) in MANIFEST_PARTS {
        let entries: Vec<&ManifestEntry> = manifest.entries_of(part).collect();
        if entries.is_empty() {
            continue;
        }
        let heading = style::HEADING;
        ui.print_line(&format!(
            "\n{heading}{title}{heading:#} ({})",
            entries.len()
        ))?;
        for entry in entries.iter().take(args.limit) {
            let parts = [&entry.name, &entry.target, &entry.text, &entry.note];
            let parts: Vec<&str> = parts
                .into_iter()
                .filter(|it| !it.is_empty())
                .map(String::as_str)
                .collect();
            ui.print_line(&format!("  {}", escape_hidden(&parts.join(" · "))))?;
        }
        if entries.len() > args.limit {
            let more = entries.len() - args.limit;
            ui.print_line(&format!("  … and {more} more (`--limit`)"))?;
        }
    }
    if manifest.age() == Some(VersionAge::Older) {
        ui.note(&format!(
            "The format is {MANIFEST_FORMAT_VERSION} now; `memory-forge upgrade` upgrades it, and `--dry-run` shows how"
        ));
    }
    Ok(CommandExit::Success)
}

/// Hint on how to agree to a second run of the day without a terminal.
const RUN_AGAIN_HINT: &str = "Pass `--force` to run it again now, which also renews summaries that people \
                     wrote, or `--dry-run` to see what would happen";

fn refresh_summaries(
    args: ManifestRefreshArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let workspace = paths::open_workspace(settings, ui)?;
    let reading = ui.show_busy("Reading notes");
    let plan = resummarize::plan_summaries(&workspace, args.force)?;
    drop(reading);
    for (file, target) in plan.lost.iter().take(20) {
        let target = escape_hidden(target);
        ui.warn(&format!(
            "`{file}` lists `{target}`, which leads to no file"
        ));
    }
    if !args.json && args.dry_run {
        show_diff(&plan.proposal, ui)?;
    }
    let mut change = None;
    if !args.dry_run && !plan.proposal.is_empty() {
        if let Some(question) =
            bulk::cooldown_question(&workspace, BulkSkill::Resummarize, settings.now)
            && !ui.confirm_or(&question, args.force, RUN_AGAIN_HINT)?
        {
            ui.note("Nothing was changed");
            return Ok(CommandExit::Success);
        }
        let receipt =
            resummarize::run_summaries(&workspace, &plan, settings.now, &super::lock_holder())?;
        change = receipt.and_then(|it| it.id);
    }
    if args.json {
        ui.print_json(&json!({
            "version": 1, "dryRun": args.dry_run, "changed": change.is_some(), "change": change,
            "tier1": plan.tier1, "hubMap": plan.hub_map, "hubPages": plan.hub_pages, "kept": plan.kept,
            "lost": plan.lost.iter().map(|(file, target)| json!({ "file": file.as_str(), "target": target })).collect::<Vec<_>>(),
        }))?;
        return Ok(CommandExit::Success);
    }
    if args.dry_run {
        ui.note("Nothing was changed (`--dry-run`)");
    } else if change.is_none() {
        ui.print_line("✓ Every summary is up to date")?;
    } else {
        ui.print_line(&format!(
            "✓ Summaries renewed: {} in the tiers, {} in the Hub Map, {} on hub pages",
            plan.tier1, plan.hub_map, plan.hub_pages
        ))?;
    }
    if plan.kept > 0 {
        ui.note(&format!(
            "{} summaries were written by people and stay; `--force` renews them too",
            plan.kept
        ));
    }
    Ok(CommandExit::Success)
}
