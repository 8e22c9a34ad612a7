//! Runs `engine`: the index that many workspaces share, on a PostgreSQL server.
//! Markdown in git stays the truth; the shared copy can be dropped and pushed
//! again at any time.

use clap::{Args, Subcommand};
use forge_app::counts::count_noun;
use forge_app::publish::{self, PublishScope};
use forge_app::search::SearchScope;
use forge_app::wire;
use forge_app::workspace::{Workspace, slugify_name};
use serde_json::json;

mod admin;

use super::search::{self, SearchArgs};
use crate::paths;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::{Ui, escape_hidden};
use forge_app::model;

use crate::servers::shared_index::{SharedIndexClient, resolve_tenant};

/// Share one index between many workspaces, on PostgreSQL
///
/// The server is `engine.url` of `memory-forge.toml` or MEMORY_FORGE_ENGINE_URL;
/// PGHOST, PGUSER, PGPASSWORD, `~/.pgpass` and their like are understood as
/// well. Secrets are masked, private notes and what agents remember stay here.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge engine init --tenant acme --member ann:payments   Prepare the server, once
  memory-forge engine member add bob --team payments --read      Give a login access
  memory-forge engine tenant list                                Who shares the server
  memory-forge engine check                                      Audit the installation
  memory-forge engine upgrade                                    Move an older format forward
  memory-forge engine push                                       Publish this workspace
  memory-forge engine search retry policy                        Ask the organisation
  memory-forge engine pull billing                               Read another workspace
  memory-forge engine status                                     What is there
  memory-forge engine drop                                       Take this workspace out of it")]
pub(crate) struct EngineArgs {
    /// The organisation; by default `engine.tenant` of the configuration
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) tenant: Option<String>,

    #[command(subcommand)]
    pub(crate) command: EngineCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EngineCommand {
    /// Prepare the server: schema, roles, policies, the tenant and its members
    ///
    /// For the server's administrator. Logins that do not exist are made
    /// without a password. Running it again changes nothing that is there.
    Init {
        /// `login` (reads the team `all`), `login:team` (reads and pushes),
        /// `login:team:read` or `login:team:push=workspace`; may be repeated
        #[arg(long, value_name = "MEMBER")]
        member: Vec<String>,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Bring an index of an older format forward, in place
    ///
    /// For the server's administrator. Nothing is lost: it is one
    /// transaction, and until its end others see the format before.
    Upgrade {
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
    /// List, add and remove those who may see and push
    #[command(subcommand)]
    Member(admin::MemberCommand),
    /// List and drop organisations
    #[command(subcommand)]
    Tenant(admin::TenantCommand),
    /// Look for rights that are too wide, missing indexes and old versions
    ///
    /// For the server's administrator. Exits with 1 where something is
    /// to be done.
    Check {
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Publish the documents of this workspace; only what changed is sent
    Push {
        /// Publish private notes (`*.local.md`) as well
        #[arg(long)]
        private: bool,
        /// Publish what agents remember as well
        #[arg(long)]
        agents: bool,
        /// Push although the index has commits that this checkout does not know
        #[arg(long)]
        force: bool,
        /// Say what would be published, and publish nothing
        #[arg(long, short = 'n')]
        dry_run: bool,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Find passages in everything that your organisation pushed
    Search(SearchArgs),
    /// Bring another workspace's documents to `org/<name>/`, to read
    Pull {
        /// The workspace's name, as `engine status` shows it
        workspace: String,
        /// Let git track what is pulled; otherwise `org/.gitignore` keeps it out
        #[arg(long)]
        tracked: bool,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show the server, your teams and the workspaces that you may see
    Status {
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Take this workspace out of the shared index
    Drop {
        /// Take everything away, of all workspaces and organisations
        #[arg(long)]
        everything: bool,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
}

pub(crate) fn run_engine(
    args: EngineArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    // `engine search` is `search --scope org` under another name.
    if let EngineCommand::Search(mut search) = args.command {
        search.scope = Some(SearchScope::Org);
        return search::run_search(search, settings, ui);
    }
    let workspace = paths::open_workspace(settings, ui)?;
    let tenant = resolve_tenant(&workspace, args.tenant.as_deref())?;
    let mut index = SharedIndexClient::new(&workspace, settings, &tenant);
    match args.command {
        EngineCommand::Init { member, json } => init_index(index, member, json, ui),
        EngineCommand::Push {
            private,
            agents,
            force,
            dry_run,
            json,
        } => {
            let include = PublishScope { private, agents };
            let how = PushOptions {
                include,
                force,
                json,
            };
            if dry_run {
                return preview_push(&workspace, &how, settings, ui);
            }
            push_workspace(&workspace, index, &how, settings, ui)
        }
        EngineCommand::Pull {
            workspace: name,
            tracked,
            json,
        } => {
            let how = PullOptions { tracked, json };
            pull_workspace(&workspace, index, &name, &how, settings, ui)
        }
        EngineCommand::Status { json } => show_status(index, &tenant, json, ui),
        EngineCommand::Drop { everything, yes } => {
            drop_workspace(&workspace, index, everything, yes, ui)
        }
        EngineCommand::Upgrade { yes } => admin::upgrade_format(index, yes, ui),
        EngineCommand::Member(command) => admin::run_member(command, &mut index, &tenant, ui),
        EngineCommand::Tenant(command) => admin::run_tenant(command, index, ui),
        EngineCommand::Check { json } => admin::check_installation(index, json, ui),
        EngineCommand::Search(_) => unreachable!("answered above"),
    }
}

/// Returns the name of the workspace in the shared index.
fn workspace_name(workspace: &Workspace) -> Result<String, CommandError> {
    let configured = &workspace.config().engine.workspace;
    if !configured.is_empty() {
        return Ok(configured.clone());
    }
    let folder = workspace.root().file_name();
    let folder = folder.map(|it| it.to_string_lossy().into_owned());
    let name = folder.and_then(|it| slugify_name(&it).ok());
    let name = name.filter(|it| it.is_ascii() && it.len() <= 60);
    name.ok_or_else(|| {
        CommandError::usage("The folder's name cannot be the name of a workspace")
            .hint("Set `engine.workspace` in `memory-forge.toml`")
    })
}

fn init_index(
    mut index: SharedIndexClient,
    members: Vec<String>,
    json: bool,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let wire::FromServer { shown, value: done } =
        index.call::<wire::InitReport>(wire::IndexOperation::Init { members }, Some(ui))?;
    if json {
        ui.print_json(&json!({
            "version": 1, "created": done.created, "newLogins": done.new_logins, "notes": done.notes,
        }))?;
        return Ok(CommandExit::Success);
    }
    ui.print_line(&if done.created {
        format!("✓ Prepared {shown}")
    } else {
        format!("✓ {shown} is prepared")
    })?;
    admin::note_init_report(&done, ui);
    Ok(CommandExit::Success)
}

struct PushOptions {
    include: PublishScope,
    force: bool,
    json: bool,
}

/// Publishes the workspace: refreshes its own index, embeds what is missing,
/// and lets the worker send what differs.
fn push_workspace(
    workspace: &Workspace,
    mut index: SharedIndexClient,
    how: &PushOptions,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let name = workspace_name(workspace)?;
    let team = &workspace.config().engine.team;
    let mut memory = crate::library::open_library(workspace.clone(), settings);
    let (_, remarks) = memory.refresh_index(settings.now, false, &mut ui.watch_stages())?;
    ui.show_remarks(&remarks);
    memory.release_lock();
    // Fails here, before anything is embedded, if the server cannot be reached.
    let there: String = index.call(wire::IndexOperation::Model, Some(ui))?.value;
    let mut with_vectors = false;
    // Vectors of two models cannot be compared, so they are sent only if the
    // server's model is ours.
    if let Ok(model) = model::model_for_workspace(workspace, settings.model.as_deref()) {
        with_vectors = there == format!("{}/{}", model.id(), model.dimensions());
        if with_vectors {
            ui.show_remarks(&memory.embed_passages(None, &mut ui.watch_stages())?);
        } else {
            ui.warn(&format!(
                "The shared index has vectors of the model `{}`, this workspace has others; its documents will be found by keywords only",
                escape_hidden(&there)
            ));
        }
    }
    // The worker reads the index itself.
    drop(memory);
    let operation = wire::IndexOperation::Push {
        name: name.clone(),
        include: how.include,
        with_vectors,
        force: how.force,
    };
    let wire::FromServer { shown, value: done } =
        index.call::<wire::IndexPushReport>(operation, Some(ui))?;
    if how.json {
        ui.print_json(&json!({
            "version": 1, "workspace": name, "team": team, "generation": done.generation,
            "commit": done.commit, "added": done.added, "changed": done.changed,
            "removed": done.removed, "unchanged": done.unchanged, "passages": done.chunks,
            "secretsMasked": done.secrets, "kept": done.kept,
        }))?;
        return Ok(CommandExit::Success);
    }
    ui.print_line(&format!(
        "✓ Pushed `{name}` to {shown}: {} new, {} changed, {} removed, {} unchanged (generation {})",
        done.added, done.changed, done.removed, done.unchanged, done.generation
    ))?;
    if done.secrets > 0 {
        ui.note(&format!(
            "Masked {} in the documents that were sent",
            count_noun(done.secrets, "secret")
        ));
    }
    if done.kept > 0 {
        ui.note(&format!(
            "Not sent: {} that are private, forgotten, of agents (`--private`, `--agents` send those), or with a secret in their name",
            count_noun(done.kept, "document")
        ));
    }
    Ok(CommandExit::Success)
}

/// Shows what a push would publish. It needs neither a server nor the worker.
fn preview_push(
    workspace: &Workspace,
    how: &PushOptions,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    workspace_name(workspace)?;
    let mut memory = crate::library::open_library(workspace.clone(), settings);
    let (fresh, remarks) = memory.refresh_index(settings.now, false, &mut ui.watch_stages())?;
    ui.show_remarks(&remarks);
    let (items, kept) =
        publish::list_publishable(workspace, &fresh.index, &fresh.catalogue, how.include, None)?;
    show_dry_run(&items, kept, how.json, ui)
}

fn show_dry_run(
    items: &[publish::PublishItem],
    kept: usize,
    json: bool,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    /// Upper bound for the paths that are shown.
    const MAX_SHOWN_PATHS: usize = 200;
    if json {
        let paths: Vec<&str> = items.iter().map(|it| it.path.as_str()).collect();
        ui.print_json(&json!({ "version": 1, "dryRun": true, "documents": paths, "kept": kept }))?;
        return Ok(CommandExit::Success);
    }
    for item in items.iter().take(MAX_SHOWN_PATHS) {
        ui.print_line(&escape_hidden(item.path.as_str()))?;
    }
    if items.len() > MAX_SHOWN_PATHS {
        ui.print_line(&format!("… and {} more", items.len() - MAX_SHOWN_PATHS))?;
    }
    ui.note(&format!(
        "{} would be published, {kept} would not; nothing was sent (`--dry-run`)",
        count_noun(items.len(), "document")
    ));
    Ok(CommandExit::Success)
}

struct PullOptions {
    tracked: bool,
    json: bool,
}

fn pull_workspace(
    workspace: &Workspace,
    mut index: SharedIndexClient,
    name: &str,
    how: &PullOptions,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let operation = wire::IndexOperation::Pull {
        workspace: name.to_owned(),
    };
    let reply = index.call_with_documents::<wire::PulledWorkspace>(operation, Some(ui))?;
    let pulled = reply.value.value;
    let commit = pulled.commit.as_deref();
    let name = &name.replace('/', "-");
    let landed = publish::land_documents(
        workspace,
        name,
        commit,
        &reply.documents,
        how.tracked,
        settings.now,
    )?;
    let paths = |all: &[forge_app::workspace::RelPath]| -> Vec<String> {
        all.iter().map(ToString::to_string).collect()
    };
    for path in &landed.kept {
        ui.warn(&format!("`{path}` was edited here and is left alone"));
    }
    for path in &landed.refused {
        ui.warn(&format!(
            "`{}` is not a valid path for a document and was left out",
            escape_hidden(path)
        ));
    }
    if how.json {
        ui.print_json(&json!({
            "version": 1, "workspace": name, "generation": pulled.generation, "commit": commit,
            "folder": format!("{}/{name}", publish::PULLED), "written": paths(&landed.written),
            "removed": paths(&landed.removed), "unchanged": landed.unchanged,
            "kept": paths(&landed.kept), "refused": landed.refused, "change": landed.change,
        }))?;
        return Ok(CommandExit::Success);
    }
    ui.print_line(&format!(
        "✓ Pulled `{}` to {}/{}: {} written, {} removed, {} unchanged",
        escape_hidden(name),
        publish::PULLED,
        escape_hidden(name),
        landed.written.len(),
        landed.removed.len(),
        landed.unchanged
    ))?;
    if let Some(id) = &landed.change {
        ui.note(&format!("`memory-forge doctor --undo {id}` reverts it"));
    }
    Ok(CommandExit::Success)
}

/// Upper bound for the workspaces that are listed to people.
const MAX_LISTED_WORKSPACES: usize = 100;

fn show_status(
    mut index: SharedIndexClient,
    tenant: &str,
    json: bool,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let wire::FromServer {
        shown,
        value: status,
    } = index.call::<wire::SharedIndexStatus>(wire::IndexOperation::Status, Some(ui))?;
    if json {
        ui.print_json(&status_json(&shown, tenant, &status))?;
        return Ok(CommandExit::Success);
    }
    let replica = if status.replica { ", a replica" } else { "" };
    ui.print_line(&format!(
        "Server      {shown} (PostgreSQL {}{replica})",
        status.server
    ))?;
    ui.print_line(&format!(
        "Login       {}, tenant {tenant}",
        escape_hidden(&status.login)
    ))?;
    ui.print_line(&format!(
        "Teams       {}",
        escape_hidden(&status.teams.join(", "))
    ))?;
    ui.print_line(&format!(
        "Format      {}, model {}",
        status.schema,
        escape_hidden(&status.model)
    ))?;
    if status.teams.is_empty() {
        ui.note("You are not a member of this tenant, so nothing is shown");
    }
    for one in status.workspaces.iter().take(MAX_LISTED_WORKSPACES) {
        let commit = one
            .commit
            .as_deref()
            .map_or("no commit", |it| &it[..it.len().min(12)]);
        ui.print_line(&format!(
            "\n{}  (team {})\n    {} documents, {} passages, {} with a vector\n    generation {}, {commit}, {} by {}",
            escape_hidden(&one.name),
            escape_hidden(&one.team),
            one.documents,
            one.chunks,
            one.embedded,
            one.generation,
            one.pushed_at,
            escape_hidden(&one.pushed_by)
        ))?;
    }
    if status.workspaces.len() > MAX_LISTED_WORKSPACES {
        let more = status.workspaces.len() - MAX_LISTED_WORKSPACES;
        ui.print_line(&format!(
            "\n… and {more} more workspaces; `--json` lists all"
        ))?;
    }
    Ok(CommandExit::Success)
}

fn status_json(shown: &str, tenant: &str, status: &wire::SharedIndexStatus) -> serde_json::Value {
    let workspaces: Vec<_> = status
        .workspaces
        .iter()
        .map(|it| {
            json!({
                "name": it.name, "team": it.team, "generation": it.generation,
                "commit": it.commit, "pushedAt": it.pushed_at, "pushedBy": it.pushed_by,
                "documents": it.documents, "passages": it.chunks, "embedded": it.embedded,
            })
        })
        .collect();
    json!({
        "version": 1, "server": shown, "postgres": status.server, "login": status.login,
        "tenant": tenant, "replica": status.replica, "format": status.schema,
        "model": status.model, "teams": status.teams, "workspaces": workspaces,
    })
}

fn drop_workspace(
    workspace: &Workspace,
    mut index: SharedIndexClient,
    everything: bool,
    yes: bool,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    if everything {
        return drop_everything(index, yes, ui);
    }
    let name = workspace_name(workspace)?;
    // An unreachable server is reported before the question.
    let there: wire::FromServer<()> = index.call(wire::IndexOperation::Connect, Some(ui))?;
    let question = format!("Remove `{name}` from {}?", there.shown);
    if !ui.confirm(&question, yes)? {
        ui.note("Nothing was changed");
        return Ok(CommandExit::Success);
    }
    let operation = wire::IndexOperation::DropWorkspace { name: name.clone() };
    if index.call::<bool>(operation, Some(ui))?.value {
        ui.print_line(&format!("✓ Removed `{name}`"))?;
        ui.note("`memory-forge engine push` puts it back");
    } else {
        ui.print_line(&format!("`{name}` does not exist"))?;
    }
    Ok(CommandExit::Success)
}

/// Names every organisation that would be lost before it asks.
fn drop_everything(
    mut index: SharedIndexClient,
    yes: bool,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let wire::FromServer {
        shown,
        value: tenants,
    } = index.call::<Vec<String>>(wire::IndexOperation::TenantNames, Some(ui))?;
    let whose = if tenants.is_empty() {
        "no organisation's".to_owned()
    } else {
        escape_hidden(&tenants.join(", ")).into_owned()
    };
    let question = format!("Drop everything at {shown} ({whose})?");
    if !ui.confirm(&question, yes)? {
        ui.note("Nothing was changed");
        return Ok(CommandExit::Success);
    }
    index.call::<()>(wire::IndexOperation::DropEverything, Some(ui))?;
    ui.print_line(&format!("✓ Dropped everything at {shown} ({whose})"))?;
    Ok(CommandExit::Success)
}
