//! `domain`: adds a domain to the workspace and lists those that it has.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use forge_app::counts::count_noun;
use forge_app::routing::hubs;
use forge_app::upkeep::domain;
use serde_json::json;

use super::doctor::show_diff;
use crate::paths;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::{Ui, escape_hidden};

/// Add a domain to the workspace, or list them
///
/// A domain is a folder of notes about one subject, with closets that say what
/// is in each note, and a row in the Hub Map of `_MANIFEST.md`. Its notes are
/// searched as knowledge.
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "\
Examples:
  memory-forge workspace domain list
  memory-forge workspace domain add legal
  memory-forge workspace domain add \"Customer research\" --move notes/interviews.md"
)]
pub(crate) struct DomainArgs {
    #[command(subcommand)]
    command: DomainCommand,
}

#[derive(Debug, Subcommand)]
enum DomainCommand {
    /// Make a folder with closets and list it in the manifest
    #[command(after_help = "\
Examples:
  memory-forge workspace domain add recipes")]
    Add(DomainAddArgs),
    /// List the domains and how many notes each has
    #[command(after_help = "\
Examples:
  memory-forge workspace domain list")]
    List(DomainListArgs),
}

#[derive(Debug, Args)]
struct DomainAddArgs {
    /// What it is about; the folder is named after it
    name: String,

    /// Files to move there; links to them are rewritten
    #[arg(long = "move", value_name = "FILE", num_args = 1..)]
    files: Vec<PathBuf>,

    /// Show what would change and change nothing
    #[arg(long)]
    dry_run: bool,

    /// Do not ask before files are moved
    #[arg(long, short)]
    yes: bool,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct DomainListArgs {
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run_domain(
    args: DomainArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    match args.command {
        DomainCommand::Add(args) => add_domain(args, settings, ui),
        DomainCommand::List(args) => list_domains(args, settings, ui),
    }
}

fn add_domain(
    args: DomainAddArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let workspace = paths::open_workspace(settings, ui)?;
    let files = args
        .files
        .iter()
        .map(|file| paths::resolve_path(&workspace, settings, file))
        .collect::<Result<Vec<_>, _>>()?;
    let plan = domain::plan_domain(&workspace, &args.name, &files)?;
    for similar in plan.similar.iter().filter(|_| !plan.exists) {
        ui.warn(&format!(
            "The domain `{}` exists already; is it about the same subject?",
            escape_hidden(similar)
        ));
    }
    for (file, line) in &plan.left_alone {
        ui.warn(&format!(
            "`{file}` line {line} has a link that could not be rewritten"
        ));
    }
    if !args.json && (args.dry_run || !plan.proposal.moves.is_empty()) {
        for it in &plan.proposal.moves {
            ui.print_line(&format!(
                "Move {} to {}",
                escape_hidden(it.from.as_str()),
                escape_hidden(it.to.as_str())
            ))?;
        }
        show_diff(&plan.proposal, ui)?;
    }
    let mut change = None;
    if !args.dry_run && !plan.proposal.is_empty() {
        let moves = plan.proposal.moves.len();
        let question = format!("Move {} to `{}`?", count_noun(moves, "file"), plan.folder);
        if moves > 0 && !ui.confirm(&question, args.yes)? {
            ui.note("Nothing was changed");
            return Ok(CommandExit::Success);
        }
        let what = format!("Add the domain {}", plan.folder);
        change = plan.proposal.apply(&workspace, &what, settings.now)?.id;
    }
    if args.json {
        ui.print_json(&json!({
            "version": 1, "folder": plan.folder.as_str(), "existed": plan.exists, "dryRun": args.dry_run,
            "changed": change.is_some(), "change": change, "similar": plan.similar,
            "moves": plan.proposal.moves.iter().map(|it| json!({ "from": it.from.as_str(), "to": it.to.as_str() })).collect::<Vec<_>>(),
            "links": plan.links,
        }))?;
        return Ok(CommandExit::Success);
    }
    if args.dry_run {
        ui.note("Nothing was changed (`--dry-run`)");
    } else if change.is_none() {
        ui.print_line(&format!("✓ The domain {} exists already", plan.folder))?;
    } else {
        let searched = match domain::count_searched(&workspace, &plan.folder) {
            0 => String::new(),
            1 => "; 1 document of it is searched".to_owned(),
            files => format!("; {files} documents of it are searched"),
        };
        ui.print_line(&format!("✓ Domain {} added{searched}", plan.folder))?;
        ui.note("`memory-forge closets build` describes its notes, `memory-forge doctor --undo` reverts it");
    }
    Ok(CommandExit::Success)
}

fn list_domains(
    args: DomainListArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let workspace = paths::open_workspace(settings, ui)?;
    let mut hubs = hubs::load_hubs(&workspace)?;
    hubs.retain(|hub| !hub.is_memory_hub());
    if args.json {
        let rows: Vec<_> = hubs
            .iter()
            .map(|hub| {
                json!({
                    "name": hub.name, "folder": hub.folder.as_str(), "files": hub.members.len(),
                    "closets": workspace.absolute_path(&hub.closets_path()).is_file(),
                    "page": hub.index.as_ref().map(|it| it.as_str()),
                })
            })
            .collect();
        ui.print_json(&json!({ "version": 1, "domains": rows }))?;
        return Ok(CommandExit::Success);
    }
    if hubs.is_empty() {
        ui.print_line("There are no domains.")?;
        ui.note("`memory-forge domain add <name>` makes one");
    }
    for hub in &hubs {
        let closets = if workspace.absolute_path(&hub.closets_path()).is_file() {
            ""
        } else {
            ", no closets"
        };
        ui.print_line(&format!(
            "{} · {} · {}{closets}",
            escape_hidden(&hub.name),
            escape_hidden(hub.folder.as_str()),
            count_noun(hub.members.len(), "file")
        ))?;
    }
    Ok(CommandExit::Success)
}
