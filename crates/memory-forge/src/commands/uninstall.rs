//! `uninstall`: takes out what `setup` put into the files of agent clients and,
//! with `--all`, what `init` made as well. What people and agents wrote stays.

use clap::Args;
use forge_app::undo;
use forge_app::workspace::{DERIVED_FOLDER, Workspace};
use forge_clients::setup::{self, AgentClient, ClientFile, SetupPlan, SetupScope};
use serde_json::json;

use super::setup::{PlanOutcome, confirm_and_apply, exit_status, setup_json};
use crate::choice::{client_parser, parser};
use crate::paths;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::{Ui, escape_hidden};

/// Take out what `setup` put into the files of agent clients
///
/// Files without later edits become what they were before `setup`, to the
/// byte; from others only our entries are removed. What `init` made stays and is
/// listed; `--all` removes it as well, with the cache and with repairs that
/// are not committed. `.mind/` and your documents in `knowledge/` always stay.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge uninstall --dry-run            Show what would leave, from all clients
  memory-forge uninstall claude               Show it, ask, take it out
  memory-forge uninstall --all                Everything that the program made here
  memory-forge uninstall --scope user --yes   Only what is in your home")]
pub(crate) struct UninstallArgs {
    /// The clients to take it from; all of them unless named
    #[arg(value_name = "CLIENT", value_parser = client_parser(AgentClient::ALL))]
    pub(crate) clients: Vec<AgentClient>,

    /// Take out what `init` made as well, and the cache
    #[arg(long, conflicts_with_all = ["clients", "git", "scope"])]
    pub(crate) all: bool,

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
    let clients = if args.clients.is_empty() && !args.git {
        AgentClient::ALL.to_vec()
    } else {
        args.clients.clone()
    };
    let scopes = args
        .scope
        .map_or(SetupScope::ALL.to_vec(), |scope| vec![scope]);
    let plan = setup::plan_uninstall(&around, &clients, &scopes, from_git)?;
    if args.all {
        return remove_everything(&args, &plan, settings, ui);
    }
    let is_complete = args.scope.is_none() && clients.len() == AgentClient::ALL.len();
    let applied = confirm_and_apply(&around, &plan, args.dry_run, args.yes, args.json, ui)?;
    if args.json {
        ui.print_json(&setup_json(&around, &plan, &applied))?;
    } else if is_complete && !matches!(applied, PlanOutcome::Refused) {
        note_remainder(&workspace, &plan, ui)?;
    }
    Ok(exit_status(&applied))
}

/// Names what stays after the clients are disconnected, and what removes it.
fn note_remainder(
    workspace: &Workspace,
    plan: &SetupPlan,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    let removal = undo::removal::WorkspaceRemoval::plan(workspace, &pending_files(plan))?;
    let mut parts: Vec<String> = removal
        .files
        .iter()
        .map(|file| format!("`{}`", file.path))
        .collect();
    if removal.drops_cache {
        parts.push(format!("the cache `{DERIVED_FOLDER}/`"));
    }
    if !parts.is_empty() {
        ui.note(&escape_hidden(&format!(
            "Still here: {}; `memory-forge uninstall --all` takes that out too",
            parts.join(", ")
        )));
    }
    note_written(&removal, ui);
    Ok(())
}

fn note_written(removal: &undo::removal::WorkspaceRemoval, ui: &mut Ui) {
    for kept in &removal.kept {
        ui.note(&escape_hidden(&format!(
            "`{}` stays: {}",
            kept.path, kept.why
        )));
    }
    if !removal.written.is_empty() {
        let places: Vec<String> = removal.written.iter().map(|it| format!("`{it}`")).collect();
        ui.note(&format!(
            "What you and your agents wrote stays: {}",
            places.join(", ")
        ));
    }
}

/// Returns the workspace's files that a plan changes, with their new bytes.
fn pending_files(plan: &SetupPlan) -> undo::removal::PendingFiles {
    let files = plan.files.iter().filter_map(|file| match &file.place {
        ClientFile::Project(path) => {
            let after = file.after.as_ref().map(|text| text.clone().into_bytes());
            Some((path.clone(), after))
        }
        ClientFile::User(_) => None,
    });
    files.collect()
}

/// Disconnects the clients and takes out everything that the program made, in
/// one question.
fn remove_everything(
    args: &UninstallArgs,
    plan: &SetupPlan,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let workspace = paths::open_workspace(settings, ui)?;
    let around = settings.surroundings(&workspace);
    let removal = undo::removal::WorkspaceRemoval::plan(&workspace, &pending_files(plan))?;
    for warning in &plan.warnings {
        ui.warn(warning);
    }
    let has_work = !plan.files.is_empty() || plan.git.is_some() || !removal.is_empty();
    let shows_diff = !args.json && (args.dry_run || !args.yes);
    if shows_diff {
        for file in &plan.files {
            let before = file.before.as_deref().unwrap_or_default();
            let after = file.after.as_deref().unwrap_or_default();
            ui.print_diff(&around.display_path(&file.place), before, after)?;
        }
        for file in &removal.files {
            let before = String::from_utf8_lossy(&file.before);
            let after = String::from_utf8_lossy(file.after.as_deref().unwrap_or_default());
            ui.print_diff(file.path.as_str(), &before, &after)?;
        }
        if removal.drops_cache {
            ui.print_line(&format!(
                "- {DERIVED_FOLDER}/ (the index, and the journal of changes)"
            ))?;
        }
    }
    let outcome = if !has_work {
        "nothing"
    } else if args.dry_run {
        "dry-run"
    } else if ui.confirm("Take all of this out? It cannot be undone", args.yes)? {
        plan.apply(&around)?;
        // Planned again, from the files as the uninstallation left them.
        undo::removal::WorkspaceRemoval::plan(&workspace, &undo::removal::PendingFiles::new())?
            .apply(&workspace, settings.now)?;
        "done"
    } else {
        "refused"
    };
    let mut files: Vec<(String, bool)> = plan
        .files
        .iter()
        .map(|file| (around.display_path(&file.place), file.after.is_some()))
        .collect();
    for file in &removal.files {
        files.retain(|(path, _)| path != file.path.as_str());
        files.push((file.path.to_string(), file.after.is_some()));
    }
    if removal.drops_cache {
        files.push((format!("{DERIVED_FOLDER}/"), false));
    }
    let effect = |stays: bool| if stays { "changed" } else { "removed" };
    if args.json {
        let one =
            |(path, stays): &(String, bool)| json!({ "path": path, "effect": effect(*stays) });
        ui.print_json(&json!({
            "version": 1,
            "result": outcome,
            "files": files.iter().map(one).collect::<Vec<_>>(),
            "kept": removal.kept.iter()
                .map(|it| json!({ "path": it.path.as_str(), "why": it.why }))
                .collect::<Vec<_>>(),
            "written": removal.written,
            "warnings": plan.warnings,
        }))?;
    } else {
        match outcome {
            "nothing" => ui.print_line("Nothing of ours is here")?,
            "refused" => ui.note("Nothing was changed"),
            "done" => {
                for (path, stays) in &files {
                    ui.print_line(&escape_hidden(&format!("{:<8} {path}", effect(*stays))))?;
                }
            }
            _ => {}
        }
        note_written(&removal, ui);
    }
    Ok(match outcome {
        "refused" => CommandExit::Failure,
        _ => CommandExit::Success,
    })
}
