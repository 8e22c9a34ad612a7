//! `manifest`: shows the map of the workspace, and keeps its summaries right.

use clap::{Args, Subcommand};
use forge_app::bulk::{self, Skill};
use forge_app::routing::manifest::{Age, Entry, Manifest, Mode, Part, VERSION};
use forge_app::upkeep::resummarize;
use serde_json::json;

use super::doctor::show_diff;
use crate::paths;
use crate::report::{CommandError, Exit};
use crate::settings::Settings;
use crate::ui::{Ui, printable, style};

/// Show the map of the workspace, or renew its summaries
///
/// `_MANIFEST.md` tells an agent what there is, so that it opens little. It is
/// read with and without a marker, and whatever people wrote in it stays.
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "\
Examples:
  memory-forge workspace manifest show                What the manifest says
  memory-forge workspace manifest refresh --dry-run   Which summaries would change
  memory-forge workspace manifest refresh             Change them"
)]
pub(crate) struct ManifestArgs {
    #[command(subcommand)]
    command: ManifestCommand,
}

#[derive(Debug, Subcommand)]
enum ManifestCommand {
    /// List what the manifest says
    #[command(after_help = "\
Examples:
  memory-forge workspace manifest show")]
    Show(ShowArgs),
    /// Renew the summaries of rows whose files changed
    #[command(after_help = "\
Examples:
  memory-forge workspace manifest refresh --dry-run
  memory-forge workspace manifest refresh")]
    Refresh(RefreshArgs),
}

#[derive(Debug, Args)]
struct ShowArgs {
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
/// stays; one that says no more than the name beside it is filled. At most 250
/// characters each.
#[derive(Debug, Args)]
struct RefreshArgs {
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

pub(crate) fn run(
    args: ManifestArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<Exit, CommandError> {
    match args.command {
        ManifestCommand::Show(args) => show(args, settings, ui),
        ManifestCommand::Refresh(args) => refresh(args, settings, ui),
    }
}

const PARTS: [(Part, &str, &str); 5] = [
    (Part::Tier1, "tier1", "Tier 1"),
    (Part::Tier2, "tier2", "Tier 2"),
    (Part::Tier3, "tier3", "Tier 3"),
    (Part::HubMap, "hubMap", "Hub Map"),
    (Part::Config, "config", "Config"),
];

fn show(args: ShowArgs, settings: &Settings, ui: &mut Ui) -> Result<Exit, CommandError> {
    let workspace = paths::workspace(settings, ui)?;
    let manifest = Manifest::load(&workspace)?;
    let mode = manifest.as_ref().map_or(Mode::Absent, Manifest::mode);
    let mode_name = match mode {
        Mode::Full => "full",
        Mode::Compatible => "compatible",
        Mode::Absent => "absent",
    };
    let Some(manifest) = manifest.filter(|_| mode != Mode::Absent) else {
        if args.json {
            ui.json(&json!({ "version": 1, "mode": mode_name }))?;
        } else {
            ui.line("There is no manifest.")?;
            ui.note("`memory-forge init --workspace` makes one");
        }
        return Ok(Exit::Success);
    };
    if args.json {
        let row = |entry: &Entry| json!({ "name": entry.name, "target": entry.target, "text": entry.text, "note": entry.note });
        let mut answer = json!({
            "version": 1, "mode": mode_name, "format": manifest.version(),
            "summaryFormat": manifest.summary_format(), "domains": manifest.domains(),
        });
        for (part, key, _) in PARTS {
            answer[key] = manifest.part(part).map(row).collect();
        }
        ui.json(&answer)?;
        return Ok(Exit::Success);
    }
    let version = match manifest.version() {
        Some("") => ", no version".to_owned(),
        Some(version) => format!(", version {version}"),
        None => String::new(),
    };
    ui.line(&format!("Mode: {mode_name}{}", printable(&version)))?;
    for (part, _, title) in PARTS {
        let entries: Vec<&Entry> = manifest.part(part).collect();
        if entries.is_empty() {
            continue;
        }
        let heading = style::HEADING;
        ui.line(&format!(
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
            ui.line(&format!("  {}", printable(&parts.join(" · "))))?;
        }
        if entries.len() > args.limit {
            let more = entries.len() - args.limit;
            ui.line(&format!("  … and {more} more (`--limit`)"))?;
        }
    }
    if manifest.age() == Some(Age::Older) {
        ui.note(&format!(
            "The format is {VERSION} now; `memory-forge upgrade` brings it there, and `--dry-run` shows how"
        ));
    }
    Ok(Exit::Success)
}

/// Hint on how to agree to a second run of the day without a terminal.
const AGAIN: &str = "Pass `--force` to run it again now, which also renews summaries that people \
                     wrote, or `--dry-run` to see what would happen";

fn refresh(args: RefreshArgs, settings: &Settings, ui: &mut Ui) -> Result<Exit, CommandError> {
    let workspace = paths::workspace(settings, ui)?;
    let reading = ui.busy("Reading notes");
    let plan = resummarize::plan(&workspace, args.force)?;
    drop(reading);
    for (file, target) in plan.lost.iter().take(20) {
        let target = printable(target);
        ui.warn(&format!(
            "`{file}` lists `{target}`, which leads to no file"
        ));
    }
    if !args.json && args.dry_run {
        show_diff(&plan.proposal, ui)?;
    }
    let mut change = None;
    if !args.dry_run && !plan.proposal.is_empty() {
        if let Some(question) = bulk::cooldown(&workspace, Skill::Resummarize, settings.now)
            && !ui.confirm_or(&question, args.force, AGAIN)?
        {
            ui.note("Nothing was changed");
            return Ok(Exit::Success);
        }
        let receipt = resummarize::run(&workspace, &plan, settings.now, &super::who())?;
        change = receipt.and_then(|it| it.id);
    }
    if args.json {
        ui.json(&json!({
            "version": 1, "dryRun": args.dry_run, "changed": change.is_some(), "change": change,
            "tier1": plan.tier1, "hubMap": plan.hub_map, "hubPages": plan.hub_pages, "kept": plan.kept,
            "lost": plan.lost.iter().map(|(file, target)| json!({ "file": file.as_str(), "target": target })).collect::<Vec<_>>(),
        }))?;
        return Ok(Exit::Success);
    }
    if args.dry_run {
        ui.note("Nothing was changed (`--dry-run`)");
    } else if change.is_none() {
        ui.line("✓ Every summary is up to date")?;
    } else {
        ui.line(&format!(
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
    Ok(Exit::Success)
}
