//! `workspace`: commands for a folder of many notes: its map, its domains, and
//! what keeps both up to date. Each has a file of its own.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::init::{self, InitArgs};
use super::{archive, closets, domain, manifest, sources, upgrade};
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::Ui;

/// Keep many notes in order: map, domains, closets, archive
///
/// A workspace has a manifest, `_MANIFEST.md`, which lists its domains. Every
/// command here also works without `workspace` before it.
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "\
Examples:
  memory-forge workspace organise
  memory-forge workspace manifest show
  memory-forge workspace domain add legal
  memory-forge workspace closets build"
)]
pub(crate) struct WorkspaceArgs {
    #[command(subcommand)]
    command: WorkspaceCommand,
}

#[derive(Debug, Subcommand)]
enum WorkspaceCommand {
    Manifest(manifest::ManifestArgs),
    Domain(domain::DomainArgs),
    Closets(closets::ClosetsArgs),
    Archive(archive::ArchiveArgs),
    #[command(visible_alias = "organize")]
    Organise(OrganiseArgs),
    Upgrade(upgrade::UpgradeArgs),
    Sources(sources::SourcesArgs),
}

/// Propose an order for existing notes, or carry a plan out
///
/// Reads the notes and writes a plan to a file; nothing moves before `--apply`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge workspace organise --dry-run
  memory-forge workspace organise
  memory-forge workspace organise --apply memory-forge-plan.toml")]
struct OrganiseArgs {
    /// Where to write the plan
    #[arg(long, value_name = "FILE", conflicts_with = "apply")]
    plan: Option<PathBuf>,

    /// Carry out a plan
    #[arg(long, value_name = "FILE")]
    apply: Option<PathBuf>,

    /// Show the plan or its changes and write nothing
    #[arg(long, short = 'n')]
    dry_run: bool,

    /// Do not ask
    #[arg(long, short, requires = "apply")]
    yes: bool,

    /// Leave the lines for agents out of `CLAUDE.md`
    #[arg(long)]
    no_claude_md: bool,

    /// Print the plan as JSON
    #[arg(long, conflicts_with = "apply")]
    json: bool,
}

pub(crate) fn run_workspace(
    args: WorkspaceArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    match args.command {
        WorkspaceCommand::Manifest(args) => manifest::run_manifest(args, settings, ui),
        WorkspaceCommand::Domain(args) => domain::run_domain(args, settings, ui),
        WorkspaceCommand::Closets(args) => closets::run_closets(args, settings, ui),
        WorkspaceCommand::Archive(args) => archive::run_archive(args, settings, ui),
        WorkspaceCommand::Organise(args) => init::run_init(args.into(), settings, ui),
        WorkspaceCommand::Upgrade(args) => upgrade::run_upgrade(args, settings, ui),
        WorkspaceCommand::Sources(args) => sources::run_sources(args, settings, ui),
    }
}

impl From<OrganiseArgs> for InitArgs {
    fn from(args: OrganiseArgs) -> InitArgs {
        InitArgs {
            organise: args.apply.is_none(),
            plan: args.plan,
            apply: args.apply,
            dry_run: args.dry_run,
            yes: args.yes,
            no_claude_md: args.no_claude_md,
            json: args.json,
            ..InitArgs::default()
        }
    }
}
