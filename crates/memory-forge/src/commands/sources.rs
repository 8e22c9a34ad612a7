//! `sources`: which of the user's workspaces may be searched from one another.
//! It changes the registry in the home and nothing in any workspace.

use std::path::PathBuf;

use clap::{ArgAction, Args, Subcommand};
use forge_app::federation::{SourceRegistry, SourceWorkspace};
use forge_app::workspace::workspace_identity;

use crate::paths;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::{Ui, escape_hidden};

/// Register your other workspaces, to search them as well
///
/// The registry is `~/.memex/sources.md`, one for each person. Searching reads
/// other workspaces and never writes there.
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "\
Examples:
  memory-forge workspace sources add                        This workspace, under its folder's name
  memory-forge workspace sources add club ~/club
  memory-forge workspace sources list
  memory-forge workspace sources set club --searchable false     Registered, and out of every search
  memory-forge search mike --scope sources"
)]
pub(crate) struct SourcesArgs {
    #[command(subcommand)]
    command: SourcesCommand,
}

#[derive(Debug, Subcommand)]
enum SourcesCommand {
    /// Register a workspace
    #[command(after_help = "\
Examples:
  memory-forge workspace sources add             The workspace that you are in
  memory-forge workspace sources add shop ~/work/shop")]
    Add(SourcesAddArgs),
    /// Take a workspace off the list; its files stay as they are
    #[command(after_help = "\
Examples:
  memory-forge workspace sources remove shop")]
    Remove(SourcesRemoveArgs),
    /// Show what is registered
    #[command(after_help = "\
Examples:
  memory-forge workspace sources list")]
    List(SourcesListArgs),
    /// Change an entry
    #[command(after_help = "\
Examples:
  memory-forge workspace sources set shop --searchable false
  memory-forge workspace sources set shop --moved-to ~/archive/shop")]
    Set(SourcesSetArgs),
}

#[derive(Debug, Args)]
struct SourcesAddArgs {
    /// Its name [default: the name of its folder]
    name: Option<String>,

    /// Its folder [default: this workspace]
    path: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct SourcesRemoveArgs {
    name: String,
}

#[derive(Debug, Args)]
struct SourcesListArgs {
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(true))]
struct SourcesSetArgs {
    name: String,

    /// Whether searches may look into it
    #[arg(long, group = "what", action = ArgAction::Set, value_name = "true|false")]
    searchable: Option<bool>,

    /// Where it was moved to
    #[arg(long = "moved-to", group = "what", value_name = "DIR")]
    path: Option<PathBuf>,
}

pub(crate) fn run_sources(
    args: SourcesArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let registry = SourceRegistry::of_home(settings.home.as_deref())?;
    match args.command {
        SourcesCommand::Add(args) => add_source(&registry, args, settings, ui),
        SourcesCommand::Remove(args) => {
            registry.remove_source(&args.name)?;
            ui.print_line(&format!("Removed '{}'", escape_hidden(&args.name)))?;
            Ok(CommandExit::Success)
        }
        SourcesCommand::List(args) => list_sources(&registry, &args, settings, ui),
        SourcesCommand::Set(args) => set_source(&registry, &args, settings, ui),
    }
}

fn add_source(
    registry: &SourceRegistry,
    args: SourcesAddArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let path = match args.path {
        Some(path) => settings.cwd()?.join(path),
        None => paths::open_workspace(settings, ui)?.root().to_owned(),
    };
    let name = match args.name {
        Some(name) => name,
        None => path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .ok_or_else(|| CommandError::usage("This folder has no name; give one"))?,
    };
    let today = forge_app::document::day_of_timestamp(settings.now);
    let added = registry.add_source(&name, &path, today)?;
    ui.print_line(&format!(
        "Registered '{}' → {}",
        escape_hidden(name.trim()),
        escape_hidden(&added.path.display().to_string())
    ))?;
    if !added.has_memory {
        ui.warn("There is no `_MANIFEST.md` and no `knowledge/` yet, so nothing will be found");
    }
    Ok(CommandExit::Success)
}

fn list_sources(
    registry: &SourceRegistry,
    args: &SourcesListArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let sources = registry.sources()?;
    let lost = |source: &&SourceWorkspace| source.id.is_some() && !source.path.is_dir();
    if sources.iter().any(|source| lost(&source)) {
        let here = paths::open_workspace(settings, ui)?;
        let own = workspace_identity(&here).map(|it| it.id());
        for source in sources.iter().filter(lost).filter(|it| it.id == own) {
            ui.note(&format!(
                "'{}' seems to have moved here: `memory-forge sources set {:?} --moved-to .`",
                escape_hidden(&source.name),
                escape_hidden(&source.name)
            ));
        }
    }
    if args.json {
        let rows: Vec<_> = sources
            .iter()
            .map(|s| {
                serde_json::json!({
                    "name": s.name, "path": s.path, "registered": s.registered,
                    "searchable": s.searchable, "present": s.path.is_dir(), "id": s.id,
                })
            })
            .collect();
        ui.print_json(&serde_json::json!({
            "version": 1, "registry": registry.path(), "sources": rows,
        }))?;
        return Ok(CommandExit::Success);
    }
    if sources.is_empty() {
        ui.print_line(
            "No sources registered. Use `memory-forge sources add NAME PATH` to register one.",
        )?;
        ui.print_line(&format!("Registry: {}", registry.path().display()))?;
        return Ok(CommandExit::Success);
    }
    for source in &sources {
        let mark = if source.searchable { '✓' } else { '✗' };
        let since = match &source.registered {
            Some(date) => format!("  (registered {date})"),
            None => String::new(),
        };
        let gone = if source.path.is_dir() {
            ""
        } else {
            "  path missing"
        };
        let line = format!("{:<24} {}{since}{gone}", source.name, source.path.display());
        ui.print_line(&format!("  {mark} {}", escape_hidden(&line)))?;
    }
    ui.note(&format!("Registry: {}", registry.path().display()));
    Ok(CommandExit::Success)
}

fn set_source(
    registry: &SourceRegistry,
    args: &SourcesSetArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let name = escape_hidden(&args.name);
    if let Some(path) = &args.path {
        let path = registry.set_path(&args.name, &settings.cwd()?.join(path))?;
        ui.print_line(&format!("Source '{name}' → {}", path.display()))?;
    }
    if let Some(searchable) = args.searchable {
        registry.set_searchable(&args.name, searchable)?;
        ui.print_line(&format!("Source '{name}' searchable={searchable}"))?;
    }
    Ok(CommandExit::Success)
}
