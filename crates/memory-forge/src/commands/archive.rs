//! `archive`: takes a file out of what agents are led to, and leaves it where
//! it is.

use std::path::PathBuf;

use clap::Args;
use forge_app::upkeep::archive;
use serde_json::json;

use super::doctor::show_diff;
use crate::paths;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::{Ui, escape_hidden};

/// Put a file into the archive, with the reason
///
/// The manifest lists it in Tier 3, its hub and its closets say `archived`, and
/// searches show it last. The file itself is not touched. Files of Tier 1 are
/// refused.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge workspace archive legal/lease-2024.md --reason \"Replaced by the lease of 2026\"
  memory-forge workspace archive legal/lease-2024.md --reason Ended --dry-run
  memory-forge doctor --undo                Take the last change back")]
pub(crate) struct ArchiveArgs {
    /// The file
    file: PathBuf,

    /// Why it is no longer needed
    #[arg(long, short)]
    reason: String,

    /// Show what would change and change nothing
    #[arg(long)]
    dry_run: bool,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run_archive(
    args: ArchiveArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    if args.reason.trim().is_empty() {
        return Err(CommandError::usage("The reason is empty")
            .hint("Say why the file is no longer needed: it is all that is left in the manifest"));
    }
    let workspace = paths::open_workspace(settings, ui)?;
    let path = paths::resolve_path(&workspace, settings, &args.file)?;
    let proposal = archive::plan_archive(&workspace, &path, &args.reason, settings.now)?;
    if args.dry_run && !args.json {
        show_diff(&proposal, ui)?;
    }
    let change = if args.dry_run {
        None
    } else {
        proposal
            .apply(&workspace, &format!("Archive {path}"), settings.now)?
            .id
    };
    if args.json {
        let files: Vec<&str> = proposal.files.iter().map(|it| it.path.as_str()).collect();
        ui.print_json(&json!({
            "version": 1, "path": path.as_str(), "dryRun": args.dry_run,
            "changed": change.is_some(), "change": change, "files": files,
        }))?;
    } else if args.dry_run {
        ui.note("Nothing was changed (`--dry-run`)");
    } else if change.is_none() {
        ui.print_line(&format!(
            "✓ {} is in the archive already",
            escape_hidden(path.as_str())
        ))?;
    } else {
        ui.print_line(&format!("✓ Archived {}", escape_hidden(path.as_str())))?;
        ui.note("The file stays where it is; `memory-forge doctor --undo` reverts this");
    }
    Ok(CommandExit::Success)
}
