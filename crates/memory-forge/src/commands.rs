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
pub(crate) mod workspace;

use forge_app::bulk::Who;

use crate::cli::Command;
use crate::report::{CommandError, Exit};
use crate::settings::Settings;
use crate::ui::Ui;

/// Runs one command and flushes what it printed.
pub(crate) fn run(command: Command, settings: &Settings) -> Result<Exit, CommandError> {
    with_ui(settings, |ui| dispatch(command, settings, ui))
}

/// Runs what stands for no command at all.
pub(crate) fn stand(settings: &Settings) -> Result<Exit, CommandError> {
    with_ui(settings, |ui| standing::run(settings, ui))
}

fn with_ui(
    settings: &Settings,
    run: impl FnOnce(&mut Ui) -> Result<Exit, CommandError>,
) -> Result<Exit, CommandError> {
    let mut ui = Ui::new(settings);
    let result = run(&mut ui);
    // What a command printed before it failed is shown before the failure.
    let flushed = ui.finish();
    result.and_then(|exit| flushed.map(|()| exit))
}

/// Hint on how to agree to a second bulk run of the day without a terminal.
pub(crate) const FORCE: &str = "Pass `--force` to run it again now";
/// The same hint for commands that have a dry run.
pub(crate) const FORCE_OR_LOOK: &str =
    "Pass `--force` to run it again now, or `--dry-run` to see what would happen";

/// Returns this process as the holder of the lock of a bulk run.
pub(crate) fn who() -> Who {
    Who {
        pid: std::process::id(),
        agent: "memory-forge".to_owned(),
    }
}

fn dispatch(command: Command, settings: &Settings, ui: &mut Ui) -> Result<Exit, CommandError> {
    match command {
        Command::Init(args) => init::run(args, settings, ui),
        Command::Index(args) => index::run(args, settings, ui),
        Command::Search(args) => search::run(args, settings, ui),
        Command::Save(args) => save::run(args, settings, ui),
        Command::Forget(args) => forget::run(args, settings, ui),
        Command::Restore(args) => restore::run(args, settings, ui),
        Command::Stats(args) => stats::run(args, settings, ui),
        Command::Preview(args) => preview::run(args, settings, ui),
        Command::Audit(args) => audit::run(args, settings, ui),
        Command::Doctor(args) => doctor::run(args, settings, ui),
        Command::Undo(args) => undo::run(args, settings, ui),
        Command::Workspace(args) => workspace::run(args, settings, ui),
        Command::Mind(args) => mind::run(args, settings, ui),
        Command::Agent(args) => agent::run(args, settings, ui),
        Command::Check(args) => check::run(args, settings, ui),
        Command::Lint(args) => lint::run(args, settings, ui),
        Command::Consolidate(args) => consolidate::run(args, settings, ui),
        Command::Mcp(args) => mcp::run(args, settings, ui),
        Command::View(args) => view::run(args, settings, ui),
        Command::Links(args) => links::run(args, settings, ui),
        Command::Graph(args) => graph::run(args, settings, ui),
        Command::Engine(args) => engine::run(args, settings, ui),
        Command::Import(args) => import::run(args, settings, ui),
        Command::Export(args) => export::run(args, settings, ui),
        Command::Setup(args) => setup::run(args, settings, ui),
        Command::Uninstall(args) => uninstall::run(args, settings, ui),
        Command::Merge(args) => merge::run(args, settings, ui),
        Command::Share(args) => share::run(args, settings, ui),
        Command::Status(args) => status::run(args, settings, ui),
        Command::Config(args) => config::run(args, settings, ui),
        Command::Hook(args) => hook::run(args),
        Command::Completion(args) => completion::run(args, settings, ui),
        Command::Man(args) => man::run(args, settings, ui),
        Command::List(args) => earlier::list(args, settings, ui),
        Command::Clear(args) => earlier::clear(args, settings, ui),
        Command::Preload(args) => earlier::preload(args, settings, ui),
    }
}
