//! `share`: a private note becomes everyone's, or the other way round. Links
//! and pointers follow; nothing with a secret in it is shared.

use std::path::PathBuf;

use clap::Args;
use forge_app::share;
use serde_json::json;

use super::doctor::show_diff;
use crate::paths;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::{Ui, escape_hidden};

/// Share a private note (`*.local.md`), or make one private
///
/// Private notes are searched and briefed like others, and git ignores them.
/// Sharing renames `x.local.md` to `x.md`, rewrites the links and pointers to
/// it, and refuses text that looks like a secret. `--private` goes back.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge share knowledge/plan.local.md             Show it, ask, share it
  memory-forge share --private knowledge/plan.md         Take it back
  memory-forge share knowledge/plan.local.md --dry-run   Only show it")]
pub(crate) struct ShareArgs {
    /// The note
    pub(crate) file: PathBuf,

    /// Make a shared note private
    #[arg(long)]
    pub(crate) private: bool,

    /// Show what would change and change nothing
    #[arg(long, short = 'n')]
    pub(crate) dry_run: bool,

    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,

    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run_share(
    args: ShareArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let workspace = paths::open_workspace(settings, ui)?;
    let from = paths::resolve_path(&workspace, settings, &args.file)?;
    let direction = if args.private {
        share::ShareDirection::MakePrivate
    } else {
        share::ShareDirection::Share
    };
    let plan = share::plan_sharing(&workspace, from, direction)?;
    for (path, line) in &plan.left_alone {
        ui.warn(&format!(
            "`{path}` line {line} is left alone: change that link by hand"
        ));
    }
    let (from, to) = (&plan.from, &plan.to);
    let (verb, done) = if args.private {
        ("Make it private", "Made private")
    } else {
        ("Share it with everyone", "Shared")
    };
    if !args.json {
        let (from, to) = (escape_hidden(from.as_str()), escape_hidden(to.as_str()));
        ui.print_line(&format!("{from} → {to}"))?;
        if !args.private {
            ui.print_diff(&to, "", &plan.text)?;
        }
        show_diff(&plan.proposal, ui)?;
    }
    let mut change = None;
    if args.dry_run {
        ui.note("Nothing was changed (`--dry-run`)");
    } else if ui.confirm(&format!("{verb}?"), args.yes)? {
        change = plan.apply(&workspace, settings.now)?.id;
    } else {
        ui.note("Nothing was changed");
        return Ok(CommandExit::Success);
    }
    if args.json {
        ui.print_json(&json!({
            "version": 1, "changed": change.is_some(), "change": change,
            "from": from.as_str(), "to": to.as_str(), "links": plan.links,
        }))?;
    } else if let Some(id) = &change {
        ui.print_line(&format!("✓ {done}: {}", escape_hidden(to.as_str())))?;
        ui.note(&format!("`memory-forge doctor --undo {id}` reverts it"));
        if args.private {
            ui.note("What was committed before stays in git's history");
        } else {
            ui.note(&format!(
                "`git add {to}` and a commit share it with the others"
            ));
        }
    }
    Ok(CommandExit::Success)
}
