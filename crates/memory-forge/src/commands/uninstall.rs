//! `uninstall`: takes out what `setup` put into the files of agent clients,
//! and nothing else. State and knowledge stay.

use clap::Args;
use forge_clients::setup::{self, AgentClient, SetupScope};

use super::setup::{confirm_and_apply, exit_status, setup_json};
use crate::choice::{client_parser, parser};
use crate::paths;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::Ui;

/// Take out what `setup` put into the files of agent clients
///
/// Files without later edits become what they were before `setup`, to the
/// byte; from others only our entries are removed. `.mind/` and `knowledge/` stay.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge uninstall --dry-run            Show what would leave, from all clients
  memory-forge uninstall claude               Show it, ask, take it out
  memory-forge uninstall --scope user --yes   Only what is in your home")]
pub(crate) struct UninstallArgs {
    /// The clients to take it from; all of them unless named
    #[arg(value_name = "CLIENT", value_parser = client_parser(AgentClient::ALL))]
    pub(crate) clients: Vec<AgentClient>,

    /// Take out the merge driver alone
    #[arg(long)]
    pub(crate) git: bool,

    /// Where to take it out; both unless named
    #[arg(long, value_name = "SCOPE", value_parser = parser::<SetupScope>())]
    pub(crate) scope: Option<SetupScope>,

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

pub(crate) fn run_uninstall(
    args: UninstallArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let workspace = paths::open_workspace(settings, ui)?;
    let around = settings.surroundings(&workspace);
    let from_git = args.git || args.clients.is_empty() && args.scope != Some(SetupScope::User);
    let clients = if args.git {
        args.clients
    } else if args.clients.is_empty() {
        AgentClient::ALL.to_vec()
    } else {
        args.clients
    };
    let scopes = args
        .scope
        .map_or(SetupScope::ALL.to_vec(), |scope| vec![scope]);
    let plan = setup::plan_uninstall(&around, &clients, &scopes, from_git)?;
    let applied = confirm_and_apply(&around, &plan, args.dry_run, args.yes, args.json, ui)?;
    if args.json {
        ui.print_json(&setup_json(&around, &plan, &applied))?;
    }
    Ok(exit_status(&applied))
}
