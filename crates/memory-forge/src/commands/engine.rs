//! `engine`: the index that many workspaces share, on a PostgreSQL server.
//! Markdown in git stays the truth; what is there can be dropped and pushed
//! again at any time.

use std::time::Duration;

use clap::{Args, Subcommand};
use forge_app::publish::{self, Include};
use forge_app::search::SearchScope;
use forge_app::workspace::{Workspace, git, identity, slug};
use memory_forge_engines::postgres::{Engine, HostRole, Member, Push, Status, WaitPolicy};
use serde_json::json;

mod admin;

use super::search::{self, SearchArgs};
use crate::paths;
use crate::report::{CommandError, Exit};
use crate::settings::Settings;
use crate::ui::{Ui, printable};
use forge_app::model;

use crate::servers::shared_index::{open_engine, tenant};

/// Share one index between many workspaces, on PostgreSQL
///
/// The server is `engine.url` of `memory-forge.toml` or MEMORY_FORGE_ENGINE_URL;
/// PGHOST, PGUSER, PGPASSWORD, `~/.pgpass` and their like are understood as
/// well. Secrets are masked, private notes and what agents remember stay here.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge engine init --tenant acme --member ann:payments   Prepare the server, once
  memory-forge engine member add bob --team payments --read      Let somebody in
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
    /// Run by whoever administers the server. Logins that do not exist are made
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
    /// Run by whoever administers the server. Nothing is lost: it is one
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
    /// Run by whoever administers the server. Exits with 1 where something is
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

pub(crate) fn run(
    args: EngineArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<Exit, CommandError> {
    if let EngineCommand::Search(mut search) = args.command {
        search.scope = Some(SearchScope::Org);
        return search::run(search, settings, ui);
    }
    let workspace = paths::workspace(settings, ui)?;
    let tenant = tenant(&workspace, args.tenant.as_deref())?;
    let waits = waits(&args.command);
    let open = |ui: &mut Ui| {
        let (need, limit) = waits;
        let patience = WaitPolicy::of_each(limit);
        open_engine(&workspace, settings, &tenant, (need, patience), ui)
    };
    match args.command {
        EngineCommand::Init { member, json } => {
            init(&workspace, &open(ui)?, &member, json, settings, ui)
        }
        EngineCommand::Push {
            private,
            agents,
            force,
            dry_run,
            json,
        } => {
            let include = Include { private, agents };
            let how = How {
                include,
                force,
                dry_run,
                json,
            };
            push(workspace.clone(), open, &how, settings, ui)
        }
        EngineCommand::Pull {
            workspace: name,
            tracked,
            json,
        } => {
            let how = HowToPull { tracked, json };
            pull(&workspace, &open(ui)?, &name, &how, settings, ui)
        }
        EngineCommand::Status { json } => status(&open(ui)?, &tenant, json, ui),
        EngineCommand::Drop { everything, yes } => {
            drop_it(&workspace, &open(ui)?, everything, yes, ui)
        }
        EngineCommand::Upgrade { yes } => admin::upgrade(&open(ui)?, yes, ui),
        EngineCommand::Member(command) => admin::member(command, &open(ui)?, &tenant, ui),
        EngineCommand::Tenant(command) => admin::tenant(command, &open(ui)?, ui),
        EngineCommand::Check { json } => admin::check(&open(ui)?, json, ui),
        EngineCommand::Search(_) => unreachable!("answered above"),
    }
}

/// Which host a command needs, and how long it waits for each of its
/// transactions; a push for each statement, since a large one takes its time.
fn waits(command: &EngineCommand) -> (HostRole, Duration) {
    const MINUTE: u64 = 60;
    let (need, seconds) = match command {
        EngineCommand::Status { .. } => (HostRole::Any, 30),
        EngineCommand::Pull { .. } | EngineCommand::Search(_) => (HostRole::Any, 10 * MINUTE),
        EngineCommand::Push { .. }
        | EngineCommand::Member(_)
        | EngineCommand::Tenant(_)
        | EngineCommand::Check { .. } => (HostRole::Primary, 10 * MINUTE),
        // These may rewrite every passage of every organisation.
        EngineCommand::Init { .. } | EngineCommand::Upgrade { .. } | EngineCommand::Drop { .. } => {
            (HostRole::Primary, 120 * MINUTE)
        }
    };
    (need, Duration::from_secs(seconds))
}

/// What the workspace is called there.
fn name(workspace: &Workspace) -> Result<String, CommandError> {
    let configured = &workspace.config().engine.workspace;
    if !configured.is_empty() {
        return Ok(configured.clone());
    }
    let folder = workspace.root().file_name();
    let folder = folder.map(|it| it.to_string_lossy().into_owned());
    let name = folder.and_then(|it| slug(&it).ok());
    let name = name.filter(|it| it.is_ascii() && it.len() <= 60);
    name.ok_or_else(|| {
        CommandError::usage("The folder's name is none for a workspace")
            .hint("Set `engine.workspace` in `memory-forge.toml`")
    })
}

fn init(
    workspace: &Workspace,
    engine: &Engine,
    members: &[String],
    json: bool,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<Exit, CommandError> {
    let members: Result<Vec<Member>, _> = members.iter().map(|it| Member::read(it)).collect();
    let model = model::of(workspace, settings.model.as_deref()).map_err(CommandError::failure)?;
    let done = engine.init(model.id(), model.dimensions(), &members?)?;
    if json {
        ui.json(&json!({
            "version": 1, "created": done.created, "newLogins": done.new_logins, "notes": done.notes,
        }))?;
        return Ok(Exit::Success);
    }
    ui.line(&if done.created {
        format!("✓ Prepared {}", engine.shown)
    } else {
        format!("✓ {} is prepared", engine.shown)
    })?;
    admin::remark(&done, ui);
    Ok(Exit::Success)
}

struct How {
    include: Include,
    force: bool,
    dry_run: bool,
    json: bool,
}

fn push(
    workspace: Workspace,
    open: impl Fn(&mut Ui) -> Result<Engine, CommandError>,
    how: &How,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<Exit, CommandError> {
    let name = name(&workspace)?;
    let team = workspace.config().engine.team.clone();
    let mut memory = crate::library::open(workspace.clone(), settings);
    let (_, remarks) = memory.refreshed(settings.now, false, &mut ui.watch())?;
    ui.remarks(&remarks);
    let engine = if how.dry_run { None } else { Some(open(ui)?) };
    let mut embedder = model::of(&workspace, settings.model.as_deref()).ok();
    if let (Some(engine), Some(model)) = (&engine, embedder) {
        let there = engine.model()?;
        if there != format!("{}/{}", model.id(), model.dimensions()) {
            ui.warn(&format!(
                "The vectors there are of the model `{}`, not of this workspace's; it will be found by its words alone",
                printable(&there)
            ));
            embedder = None;
        } else {
            ui.remarks(&memory.embed(None, &mut ui.watch())?);
        }
    }
    memory.release();
    let fresh = memory.fresh().expect("it was refreshed above");
    let model = embedder.map(|it| it.id());
    let (items, kept) = publish::list(
        &workspace,
        &fresh.index,
        &fresh.catalogue,
        how.include,
        model,
    )?;
    let Some(engine) = engine else {
        return dry_run(&items, kept, how.json, ui);
    };
    let edges = publish::edges(&workspace, &items);
    let commit = git::head(workspace.root());
    let identity = identity(&workspace).map_or_else(String::new, |it| it.id());
    let root = workspace.root().to_owned();
    let push = Push {
        workspace: &name,
        identity: &identity,
        team: &team,
        commit: commit.as_deref(),
        items: &items,
        edges: &edges,
        knows: &|commit| git::has(&root, commit),
        force: how.force,
    };
    let mut watch = ui.watch();
    let done = engine.push(
        &push,
        &mut |item| {
            publish::read(&workspace, &fresh.index, item, embedder, how.include).map_err(Into::into)
        },
        &mut |done, total| watch("Pushing", done, total),
    )?;
    drop(watch);
    if how.json {
        ui.json(&json!({
            "version": 1, "workspace": name, "team": team, "generation": done.generation,
            "commit": commit, "added": done.added, "changed": done.changed,
            "removed": done.removed, "unchanged": done.unchanged, "passages": done.chunks,
            "secretsMasked": done.secrets, "kept": kept,
        }))?;
        return Ok(Exit::Success);
    }
    ui.line(&format!(
        "✓ Pushed `{name}` to {}: {} new, {} changed, {} removed, {} unchanged (generation {})",
        engine.shown, done.added, done.changed, done.removed, done.unchanged, done.generation
    ))?;
    if done.secrets > 0 {
        ui.note(&format!(
            "{} secret(s) were masked in what was sent",
            done.secrets
        ));
    }
    if kept > 0 {
        ui.note(&format!(
            "{kept} document(s) stay here: private, forgotten, of agents (`--private`, `--agents` send those), or with a secret in their name"
        ));
    }
    Ok(Exit::Success)
}

fn dry_run(
    items: &[publish::Item],
    kept: usize,
    json: bool,
    ui: &mut Ui,
) -> Result<Exit, CommandError> {
    /// Paths that are shown.
    const MOST: usize = 200;
    if json {
        let paths: Vec<&str> = items.iter().map(|it| it.path.as_str()).collect();
        ui.json(&json!({ "version": 1, "dryRun": true, "documents": paths, "kept": kept }))?;
        return Ok(Exit::Success);
    }
    for item in items.iter().take(MOST) {
        ui.line(&printable(item.path.as_str()))?;
    }
    if items.len() > MOST {
        ui.line(&format!("… and {} more", items.len() - MOST))?;
    }
    ui.note(&format!(
        "{} document(s) would be published, {kept} stay here; nothing was sent (`--dry-run`)",
        items.len()
    ));
    Ok(Exit::Success)
}

struct HowToPull {
    tracked: bool,
    json: bool,
}

fn pull(
    workspace: &Workspace,
    engine: &Engine,
    name: &str,
    how: &HowToPull,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<Exit, CommandError> {
    let pulled = engine.pull(name)?;
    let commit = pulled.commit.as_deref();
    let name = &name.replace('/', "-");
    let landed = publish::land(
        workspace,
        name,
        commit,
        &pulled.documents,
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
            "`{}` is no path for a document and was left out",
            printable(path)
        ));
    }
    if how.json {
        ui.json(&json!({
            "version": 1, "workspace": name, "generation": pulled.generation, "commit": commit,
            "folder": format!("{}/{name}", publish::PULLED), "written": paths(&landed.written),
            "removed": paths(&landed.removed), "unchanged": landed.unchanged,
            "kept": paths(&landed.kept), "refused": landed.refused, "change": landed.change,
        }))?;
        return Ok(Exit::Success);
    }
    ui.line(&format!(
        "✓ Pulled `{}` to {}/{}: {} written, {} removed, {} unchanged",
        printable(name),
        publish::PULLED,
        printable(name),
        landed.written.len(),
        landed.removed.len(),
        landed.unchanged
    ))?;
    if let Some(id) = &landed.change {
        ui.note(&format!("`memory-forge doctor --undo {id}` takes it back"));
    }
    Ok(Exit::Success)
}

/// Workspaces that are listed to people.
const MOST_LISTED: usize = 100;

fn status(engine: &Engine, tenant: &str, json: bool, ui: &mut Ui) -> Result<Exit, CommandError> {
    let status = engine.status()?;
    if json {
        ui.json(&status_json(engine, tenant, &status))?;
        return Ok(Exit::Success);
    }
    let replica = if status.replica { ", a replica" } else { "" };
    ui.line(&format!(
        "Server      {} (PostgreSQL {}{replica})",
        engine.shown, status.server
    ))?;
    ui.line(&format!(
        "Login       {}, tenant {tenant}",
        printable(&status.login)
    ))?;
    ui.line(&format!(
        "Teams       {}",
        printable(&status.teams.join(", "))
    ))?;
    ui.line(&format!(
        "Format      {}, model {}",
        status.schema,
        printable(&status.model)
    ))?;
    if status.teams.is_empty() {
        ui.note("You are no member of this tenant, so nothing is shown");
    }
    for one in status.workspaces.iter().take(MOST_LISTED) {
        let commit = one
            .commit
            .as_deref()
            .map_or("no commit", |it| &it[..it.len().min(12)]);
        ui.line(&format!(
            "\n{}  (team {})\n    {} documents, {} passages, {} with a vector\n    generation {}, {commit}, {} by {}",
            printable(&one.name),
            printable(&one.team),
            one.documents,
            one.chunks,
            one.embedded,
            one.generation,
            one.pushed_at,
            printable(&one.pushed_by)
        ))?;
    }
    if status.workspaces.len() > MOST_LISTED {
        let more = status.workspaces.len() - MOST_LISTED;
        ui.line(&format!(
            "\n… and {more} more workspaces; `--json` lists all"
        ))?;
    }
    Ok(Exit::Success)
}

fn status_json(engine: &Engine, tenant: &str, status: &Status) -> serde_json::Value {
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
        "version": 1, "server": engine.shown, "postgres": status.server, "login": status.login,
        "tenant": tenant, "replica": status.replica, "format": status.schema,
        "model": status.model, "teams": status.teams, "workspaces": workspaces,
    })
}

fn drop_it(
    workspace: &Workspace,
    engine: &Engine,
    everything: bool,
    yes: bool,
    ui: &mut Ui,
) -> Result<Exit, CommandError> {
    if everything {
        return drop_everything(engine, yes, ui);
    }
    let name = name(workspace)?;
    let question = format!("Take `{name}` out of {}?", engine.shown);
    if !ui.confirm(&question, yes)? {
        ui.note("Nothing was changed");
        return Ok(Exit::Success);
    }
    if engine.drop_workspace(&name, &workspace.config().engine.team)? {
        ui.line(&format!("✓ Took `{name}` out"))?;
        ui.note("`memory-forge engine push` puts it back");
    } else {
        ui.line(&format!("`{name}` is not there"))?;
    }
    Ok(Exit::Success)
}

/// Names every organisation that would be gone before it asks.
fn drop_everything(engine: &Engine, yes: bool, ui: &mut Ui) -> Result<Exit, CommandError> {
    let tenants = engine.everyone_there()?;
    let whose = if tenants.is_empty() {
        "no organisation's".to_owned()
    } else {
        printable(&tenants.join(", ")).into_owned()
    };
    let question = format!("Drop everything at {} ({whose})?", engine.shown);
    if !ui.confirm(&question, yes)? {
        ui.note("Nothing was changed");
        return Ok(Exit::Success);
    }
    engine.drop_all()?;
    ui.line(&format!(
        "✓ Dropped everything at {} ({whose})",
        engine.shown
    ))?;
    Ok(Exit::Success)
}
