//! One file per command: its arguments, whose doc comments are the help, and
//! a function that resolves them, calls one feature and renders the answer.
//! A command never reads the environment and never decides about colours;
//! it is handed [`Settings`] and [`Ui`].

pub(crate) mod agent;
pub(crate) mod archive;
pub(crate) mod audit;
pub(crate) mod check;
pub(crate) mod closets;
pub(crate) mod completion;
pub(crate) mod config;
pub(crate) mod consolidate;
pub(crate) mod doctor;
pub(crate) mod domain;
pub(crate) mod earlier;
pub(crate) mod engine;
pub(crate) mod export;
pub(crate) mod forget;
pub(crate) mod graph;
pub(crate) mod hook;
pub(crate) mod idea;
pub(crate) mod import;
pub(crate) mod index;
pub(crate) mod init;
pub(crate) mod links;
pub(crate) mod lint;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod manifest;
pub(crate) mod merge;
pub(crate) mod mind;
pub(crate) mod preview;
pub(crate) mod replay;
pub(crate) mod restore;
pub(crate) mod save;
pub(crate) mod search;
pub(crate) mod session;
pub(crate) mod setup;
pub(crate) mod share;
pub(crate) mod sources;
pub(crate) mod standing;
pub(crate) mod stats;
pub(crate) mod status;
pub(crate) mod undo;
pub(crate) mod uninstall;
pub(crate) mod upgrade;
pub(crate) mod view;
pub(crate) mod why;
pub(crate) mod workspace;

use forge_app::bulk::RunOwner;

use crate::cli::CliCommand;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::Ui;

/// Runs one command and flushes what it printed.
pub(crate) fn run_command(
    command: CliCommand,
    settings: &Settings,
) -> Result<CommandExit, CommandError> {
    with_ui(settings, |ui| dispatch_command(command, settings, ui))
}

/// Runs what the program does without a command.
pub(crate) fn stand(settings: &Settings) -> Result<CommandExit, CommandError> {
    with_ui(settings, |ui| standing::run(settings, ui))
}

fn with_ui(
    settings: &Settings,
    run: impl FnOnce(&mut Ui) -> Result<CommandExit, CommandError>,
) -> Result<CommandExit, CommandError> {
    let mut ui = Ui::new(settings);
    let result = run(&mut ui);
    // What a command printed before it failed is shown before the failure.
    let flushed = ui.finish();
    result.and_then(|exit| flushed.map(|()| exit))
}

/// Hint on how to agree to a second bulk run of the day without a terminal.
pub(crate) const FORCE_HINT: &str = "Pass `--force` to run it again now";
/// The same hint for commands that have a dry run.
pub(crate) const FORCE_OR_DRY_RUN_HINT: &str =
    "Pass `--force` to run it again now, or `--dry-run` to see what would happen";

/// Returns this process as the holder of the lock of a bulk run.
pub(crate) fn lock_holder() -> RunOwner {
    RunOwner {
        pid: std::process::id(),
        agent: "memory-forge".to_owned(),
    }
}

fn dispatch_command(
    command: CliCommand,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    match command {
        CliCommand::Init(args) => init::run_init(args, settings, ui),
        CliCommand::Index(args) => index::run_index(args, settings, ui),
        CliCommand::Search(args) => search::run_search(args, settings, ui),
        CliCommand::Save(args) => save::run_save(args, settings, ui),
        CliCommand::Forget(args) => forget::run_forget(args, settings, ui),
        CliCommand::Replay(args) => replay::run_replay(args, ui),
        CliCommand::Restore(args) => restore::run_restore(args, settings, ui),
        CliCommand::Stats(args) => stats::run_stats(args, settings, ui),
        CliCommand::Preview(args) => preview::run_preview(args, settings, ui),
        CliCommand::Audit(args) => audit::run_audit(args, settings, ui),
        CliCommand::Doctor(args) => doctor::run_doctor(args, settings, ui),
        CliCommand::Undo(args) => undo::run_undo(args, settings, ui),
        CliCommand::Workspace(args) => workspace::run_workspace(args, settings, ui),
        CliCommand::Mind(args) => mind::run_mind(args, settings, ui),
        CliCommand::Agent(args) => agent::run_agent(args, settings, ui),
        CliCommand::Check(args) => check::run_check(args, settings, ui),
        CliCommand::Lint(args) => lint::run_lint(args, settings, ui),
        CliCommand::Consolidate(args) => consolidate::run_consolidate(args, settings, ui),
        CliCommand::Mcp(args) => mcp::run_mcp(args, settings, ui),
        CliCommand::Why(args) => why::run_why(args, settings, ui),
        CliCommand::View(args) => view::run_view(args, settings, ui),
        CliCommand::Links(args) => links::run_links(args, settings, ui),
        CliCommand::Graph(args) => graph::run_graph(args, settings, ui),
        CliCommand::Engine(args) => engine::run_engine(args, settings, ui),
        CliCommand::Import(args) => import::run_import(args, settings, ui),
        CliCommand::Export(args) => export::run_export(args, settings, ui),
        CliCommand::Setup(args) => setup::run_setup(args, settings, ui),
        CliCommand::Uninstall(args) => uninstall::run_uninstall(args, settings, ui),
        CliCommand::Merge(args) => merge::run_merge(args, settings, ui),
        CliCommand::Share(args) => share::run_share(args, settings, ui),
        CliCommand::Status(args) => status::run_status(args, settings, ui),
        CliCommand::Config(args) => config::run_config(args, settings, ui),
        CliCommand::Hook(args) => hook::run_hook_command(args),
        CliCommand::Completion(args) => completion::run_completion(args, settings, ui),
        CliCommand::Man(args) => man::run_man(args, settings, ui),
        CliCommand::List(args) => earlier::list_documents(args, settings, ui),
        CliCommand::Clear(args) => earlier::explain_clear(args, settings, ui),
        CliCommand::Preload(args) => earlier::check_model(args, settings, ui),
    }
}
