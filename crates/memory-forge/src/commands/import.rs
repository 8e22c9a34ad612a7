//! Runs `import`: brings in memory from other tools. The library decides what
//! becomes of each document; the command parses and reports.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use forge_app::import::{self, ImportOptions, ImportReport, claude_mem, transcripts};
use forge_app::workspace::Workspace;
use jiff::civil::Date;

use crate::paths;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::Ui;

mod show;

/// Bring in sessions, notes and other tools' memory
///
/// Sources are read and never changed, and everything lands in this workspace
/// as Markdown whose front matter names its origin. Importing again
/// writes only what has changed at the source; what you edited here stays as
/// it is and is named, unless you say `--force`. Secrets are replaced by
/// `‹redacted: rule›`, hidden characters are written out, and text from
/// sessions stays text. `doctor --undo` takes an import back.
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "\
Examples:
  memory-forge import transcripts --dry-run      What this project's sessions would become
  memory-forge import transcripts --since 2026-01-01
  memory-forge import native                     Claude Code's own memory of this project
  memory-forge import memory-bank memory-bank/
  memory-forge import claude-mem
  memory-forge import basic-memory ~/basic-memory"
)]
pub(crate) struct ImportArgs {
    #[command(subcommand)]
    source: ImportCommand,
}

#[derive(Debug, Subcommand)]
enum ImportCommand {
    /// Claude Code's own memory of this project, and that of its agents
    ///
    /// Topic files become `knowledge/claude/<topic>.md`, those of agents
    /// `.agents/memory/claude/<agent>/<topic>.md`. An index that only points
    /// to them is left out.
    Native(ImportNativeArgs),
    /// Sessions of Claude Code and Codex, a page each
    ///
    /// Pages are `knowledge/sessions/<date>-<first prompt>-<id>.md`: prompts,
    /// answers, and one line for each tool with the head of its result.
    /// Thoughts, reminders and what hooks put in are left out; sub-agents are
    /// folded, compactions and abandoned branches marked. A page has at most
    /// 512 KiB and prints what it left out.
    Transcripts(ImportTranscriptsArgs),
    /// A memory bank: projectbrief.md, activeContext.md, progress.md and others
    ///
    /// They become `knowledge/memory-bank/<name>.md`. Where there is `.mind/`,
    /// open work is proposed for it as commands, and nothing is written there.
    #[command(after_help = "\
Examples:
  memory-forge import memory-bank memory-bank/ --dry-run
  memory-forge import memory-bank memory-bank/")]
    MemoryBank(ImportFolderArgs),
    /// The database of claude-mem, a page for each session
    ///
    /// Pages are `knowledge/imported/claude-mem/<date>-<title>-<id>.md`. The
    /// database is opened for reading only, also while claude-mem runs.
    ClaudeMem(ClaudeMemArgs),
    /// The notes of basic-memory
    ///
    /// They become `knowledge/basic-memory/<folder>/<name>.md`, word for word;
    /// `[[Title]]` and permalinks still find them.
    #[command(after_help = "\
Examples:
  memory-forge import basic-memory ~/basic-memory --dry-run
  memory-forge import basic-memory ~/basic-memory")]
    BasicMemory(ImportFolderArgs),
}

#[derive(Debug, Args)]
struct ImportCommonArgs {
    /// Show what would be written and write nothing
    #[arg(long)]
    dry_run: bool,

    /// Replace also what was edited here since; `doctor --undo` has the edits
    #[arg(long)]
    force: bool,

    /// Only what was last changed on this day or later
    #[arg(long, value_name = "YYYY-MM-DD", value_parser = date)]
    since: Option<Date>,

    /// Maximum number of documents, newest first
    #[arg(long, short = 'n', value_name = "N")]
    limit: Option<usize>,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge import native --dry-run
  memory-forge import native")]
struct ImportNativeArgs {
    #[command(flatten)]
    common: ImportCommonArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge import transcripts                         Those of this project
  memory-forge import transcripts ~/.codex/sessions/2026  All below a folder
  memory-forge import transcripts old/session.jsonl --json")]
struct ImportTranscriptsArgs {
    /// Files and folders [default: what Claude Code and Codex keep of this project]
    paths: Vec<PathBuf>,

    #[command(flatten)]
    common: ImportCommonArgs,
}

#[derive(Debug, Args)]
struct ImportFolderArgs {
    /// The folder
    folder: PathBuf,

    #[command(flatten)]
    common: ImportCommonArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge import claude-mem --dry-run
  memory-forge import claude-mem --project other-name
  memory-forge import claude-mem backup/claude-mem.db --all-projects")]
struct ClaudeMemArgs {
    /// The database [default: ~/.claude-mem/claude-mem.db]
    database: Option<PathBuf>,

    /// Sessions of this project, by claude-mem's name for it [default: the
    /// name of this workspace's folder]
    #[arg(long, value_name = "NAME", conflicts_with = "all_projects")]
    project: Vec<String>,

    /// Sessions of all projects
    #[arg(long)]
    all_projects: bool,

    #[command(flatten)]
    common: ImportCommonArgs,
}

pub(crate) fn run_import(
    args: ImportArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let workspace = paths::open_workspace(settings, ui)?;
    let importing = ui.show_busy("Importing");
    let (common, report) = match args.source {
        ImportCommand::Native(args) => {
            let claude = claude_home(settings)?;
            let report = import::native::import_claude_memory(
                &workspace,
                &claude,
                &args.common.to_options(settings),
            )?;
            (args.common, report)
        }
        ImportCommand::Transcripts(args) => {
            let paths: Vec<PathBuf> = args
                .paths
                .iter()
                .map(|path| absolute_path(settings, path))
                .collect::<Result<_, _>>()?;
            let homes = transcripts::ClientHomes {
                claude: claude_home(settings).ok(),
                codex: codex_home(settings),
            };
            let options = args.common.to_options(settings);
            let report = transcripts::import_transcripts(&workspace, &paths, &homes, &options)?;
            (args.common, report)
        }
        ImportCommand::MemoryBank(args) => {
            let folder = absolute_path(settings, &args.folder)?;
            let options = args.common.to_options(settings);
            let report = import::memory_bank::import_memory_bank(&workspace, &folder, &options)?;
            (args.common, report)
        }
        ImportCommand::ClaudeMem(args) => {
            let database = match &args.database {
                Some(path) => absolute_path(settings, path)?,
                None => home_folder(settings)?.join(".claude-mem/claude-mem.db"),
            };
            let projects = selected_projects(&args, &workspace);
            let options = args.common.to_options(settings);
            let report = claude_mem::import_claude_mem(&workspace, &database, &projects, &options)?;
            (args.common, report)
        }
        ImportCommand::BasicMemory(args) => {
            let folder = absolute_path(settings, &args.folder)?;
            let options = args.common.to_options(settings);
            let report = import::basic_memory::import_basic_memory(&workspace, &folder, &options)?;
            (args.common, report)
        }
    };
    drop(importing);
    if common.json {
        ui.print_json(&show::report_json(&report, common.dry_run))?
    } else {
        show::show_report(&report, common.dry_run, ui)?
    }
    Ok(exit_status(&report))
}

/// Returns the exit code. A named source that could not be imported is a
/// failure; other files of a folder are not.
fn exit_status(report: &ImportReport) -> CommandExit {
    if report.skipped.iter().any(|skipped| skipped.failed) {
        CommandExit::Failure
    } else {
        CommandExit::Success
    }
}

impl ImportCommonArgs {
    fn to_options(&self, settings: &Settings) -> ImportOptions {
        ImportOptions {
            now: settings.now,
            dry_run: self.dry_run,
            force: self.force,
            since: self.since,
            limit: self.limit,
        }
    }
}

fn selected_projects(args: &ClaudeMemArgs, workspace: &Workspace) -> claude_mem::ProjectSelection {
    if args.all_projects {
        return claude_mem::ProjectSelection::All;
    }
    let mut names = args.project.clone();
    if names.is_empty() {
        let folder = workspace.root().file_name().unwrap_or_default();
        names.push(folder.to_string_lossy().into_owned());
    }
    claude_mem::ProjectSelection::Named(names)
}

fn date(text: &str) -> Result<Date, String> {
    text.parse()
        .map_err(|_| format!("`{text}` is not a date like 2026-03-01"))
}

fn absolute_path(settings: &Settings, path: &Path) -> Result<PathBuf, CommandError> {
    if path.is_absolute() {
        Ok(path.to_owned())
    } else {
        Ok(settings.cwd()?.join(path))
    }
}

fn home_folder(settings: &Settings) -> Result<&Path, CommandError> {
    settings.home.as_deref().ok_or_else(|| {
        CommandError::failure("There is no home directory to look into")
            .hint("Set `HOME`, or name what to import")
    })
}

/// Returns Claude Code's own folder.
pub(super) fn claude_home(settings: &Settings) -> Result<PathBuf, CommandError> {
    match &settings.claude_config_dir {
        Some(folder) => Ok(folder.clone()),
        None => Ok(home_folder(settings)?.join(".claude")),
    }
}

fn codex_home(settings: &Settings) -> Option<PathBuf> {
    let named = settings.codex_home.clone();
    named.or_else(|| Some(settings.home.as_ref()?.join(".codex")))
}
