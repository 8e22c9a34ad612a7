//! `setup`: connects agent clients to this memory. It shows what it would
//! change, asks, and changes all of it or nothing.

use clap::Args;
use forge_app::audit;
use forge_app::tokens::{self, format_thousands};
use forge_app::workspace::Workspace;
use forge_clients::setup::{
    self, AgentClient, ClientFile, HookSet, SetupPlan, SetupRequest, SetupScope, SetupSurroundings,
    found, hooks,
};
use serde_json::json;

use crate::choice::{client_parser, parser};
use crate::paths;
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::status;
use crate::ui::{Ui, style};

/// Connect agents (hooks, MCP server) and git (merge driver)
///
/// Entries are merged into the clients' own files; what others wrote there
/// stays as it is, to the byte. Without a client, those that are in use here
/// are found, and each is asked about with the files that it would change;
/// `--all` takes all of them. `memory-forge uninstall` takes everything out
/// again.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge setup                       Find the clients in use here, ask about each
  memory-forge setup --all                 Connect all that are found, without being asked
  memory-forge setup claude --dry-run      Show the changes for Claude Code as a diff
  memory-forge setup claude codex --yes    Set up two clients without a question
  memory-forge setup codex --scope user    For all your projects, in your home
  memory-forge setup claude --skills       With the skills that the plugin has
  memory-forge setup --git                 Have git merge memory entry by entry")]
pub(crate) struct SetupArgs {
    /// The clients to set up
    #[arg(value_name = "CLIENT", value_parser = client_parser(AgentClient::ALL))]
    pub(crate) clients: Vec<AgentClient>,

    /// Connect every client that is found, without being asked
    #[arg(long, conflicts_with = "clients")]
    pub(crate) all: bool,

    /// Where to write
    #[arg(long, value_name = "SCOPE", default_value = "project", value_parser = parser::<SetupScope>())]
    pub(crate) scope: SetupScope,

    /// Which hooks to install
    #[arg(long, value_name = "SET", default_value = "default", value_parser = parser::<HookSet>())]
    pub(crate) hooks: HookSet,

    /// Add the MCP server; this is the default
    #[arg(long, overrides_with = "no_mcp")]
    pub(crate) mcp: bool,

    /// Do not add the MCP server
    #[arg(long)]
    pub(crate) no_mcp: bool,

    /// Leave `CLAUDE.md`, `AGENTS.md` and their like alone
    #[arg(long)]
    pub(crate) no_claude_md: bool,

    /// Add the plugin's skills and agents, for clients without the plugin
    #[arg(long)]
    pub(crate) skills: bool,

    /// Call this very program by its path, not the one on the `PATH`
    #[arg(long)]
    pub(crate) absolute: bool,

    /// Have git merge memory files entry by entry, and ignore `*.local.md`
    ///
    /// Each clone needs this once: git calls only what its own settings name.
    #[arg(long)]
    pub(crate) git: bool,

    /// Install although the other scope, or MemoryForge's scripts, have hooks already
    #[arg(long)]
    pub(crate) force: bool,

    /// Replace the hooks and the server of MemoryForge's scripts by ours
    #[arg(long)]
    pub(crate) migrate: bool,

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

pub(crate) fn run_setup(
    args: SetupArgs,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let workspace = paths::open_workspace(settings, ui)?;
    let around = settings.surroundings(&workspace);
    let mut ask = SetupRequest {
        clients: args.clients.clone(),
        scope: args.scope,
        hooks: args.hooks,
        mcp: (args.mcp || setup::MCP_BY_DEFAULT) && !args.no_mcp,
        stub: !args.no_claude_md,
        skills: args.skills,
        force: args.force,
        migrate: args.migrate,
        absolute: args.absolute,
        git: args.git,
    };
    let agrees = args.yes || args.all;
    if args.clients.is_empty() && (args.all || !args.git) {
        let found = find_clients(&around, ui)?;
        ask.clients = if agrees || args.dry_run || args.json || found.len() == 1 || !ui.can_ask() {
            found
        } else {
            choose_clients(&around, &ask, &found, ui)?
        };
        if ask.clients.is_empty() {
            ui.note("Nothing was changed");
            return Ok(CommandExit::Success);
        }
    }
    let plan = setup::plan_install(&around, &ask)?;
    let others = found::find_other_memories(&around);
    for other in &others {
        ui.note(&format!(
            "Found {} (`{}`): {}",
            other.system, other.evidence, other.note
        ));
    }
    let applied = confirm_and_apply(&around, &plan, args.dry_run, agrees, args.json, ui)?;
    if args.json {
        let clients: Vec<&str> = ask.clients.iter().map(|client| client.name()).collect();
        let mut value = setup_json(&around, &plan, &applied);
        value["scope"] = args.scope.name().into();
        value["clients"] = json!(clients);
        value["others"] = status::others_json(&others);
        ui.print_json(&value)?;
    } else if matches!(applied, PlanOutcome::Done(_) | PlanOutcome::DryRun) {
        if !ask.clients.is_empty() {
            show_costs(&ask, around.workspace, ui)?;
        }
        for note in &plan.notes {
            ui.note(&format!("note: {note}"));
        }
    }
    Ok(exit_status(&applied))
}

/// Finds the clients that seem to be in use, and prints where.
fn find_clients(
    around: &SetupSurroundings<'_>,
    ui: &mut Ui,
) -> Result<Vec<AgentClient>, CommandError> {
    let found = found::detect_clients(around);
    if found.is_empty() {
        let names: Vec<&str> = AgentClient::ALL
            .iter()
            .map(|client| client.name())
            .collect();
        return Err(
            CommandError::usage("No agent client was found here").hint(format!(
                "Name one: `memory-forge setup <{}>`",
                names.join("|")
            )),
        );
    }
    for (client, why) in &found {
        ui.note(&format!("Found {} ({why})", client.title()));
    }
    Ok(found.into_iter().map(|(client, _)| client).collect())
}

/// Asks about each client, with the files that it would change.
fn choose_clients(
    around: &SetupSurroundings<'_>,
    ask: &SetupRequest,
    found: &[AgentClient],
    ui: &mut Ui,
) -> Result<Vec<AgentClient>, CommandError> {
    let mut chosen = Vec::new();
    for &client in found {
        let alone = SetupRequest {
            clients: vec![client],
            git: false,
            ..ask.clone()
        };
        let plan = setup::plan_install(around, &alone)?;
        let files: Vec<String> = plan
            .files
            .iter()
            .map(|file| around.display_path(&file.place))
            .collect();
        if files.is_empty() {
            ui.note(&format!("{} is connected already", client.title()));
            continue;
        }
        let question = format!("Connect {} ({})?", client.title(), files.join(", "));
        match ui.ask_line(&format!("{question} [Y/n]"))? {
            None => return Ok(Vec::new()),
            Some(answer) => {
                if matches!(answer.to_lowercase().as_str(), "" | "y" | "yes") {
                    chosen.push(client);
                }
            }
        }
    }
    Ok(chosen)
}

/// Outcome of a plan.
pub(super) enum PlanOutcome {
    Nothing,
    DryRun,
    Refused,
    Done(Option<String>),
}

pub(super) fn exit_status(applied: &PlanOutcome) -> CommandExit {
    match applied {
        PlanOutcome::Refused => CommandExit::Failure,
        _ => CommandExit::Success,
    }
}

/// Shows a plan, asks and applies it.
pub(super) fn confirm_and_apply(
    around: &SetupSurroundings<'_>,
    plan: &SetupPlan,
    dry_run: bool,
    yes: bool,
    json: bool,
    ui: &mut Ui,
) -> Result<PlanOutcome, CommandError> {
    for warning in &plan.warnings {
        ui.warn(warning);
    }
    if plan.files.is_empty() && plan.git.is_none() {
        if !json {
            ui.print_line("Nothing to do")?;
        }
        return Ok(PlanOutcome::Nothing);
    }
    let quietly = json || (yes && !dry_run);
    if !quietly {
        for file in &plan.files {
            let before = file.before.as_deref().unwrap_or_default();
            let after = file.after.as_deref().unwrap_or_default();
            ui.print_diff(&around.display_path(&file.place), before, after)?;
        }
        if let Some(setting) = &plan.git {
            for (sign, value) in [("-", &setting.before), ("+", &setting.after)] {
                if let Some(value) = value {
                    ui.print_line(&format!(
                        "{sign} git config merge.memory-forge.driver: {value}"
                    ))?;
                }
            }
        }
    }
    if dry_run {
        return Ok(PlanOutcome::DryRun);
    }
    let count = plan.files.len();
    let files = format!("{count} {}", if count == 1 { "file" } else { "files" });
    let question = match (count, &plan.git) {
        (0, _) => "Change the settings of this clone?".to_owned(),
        (_, Some(_)) => format!("Change {files} and the settings of this clone?"),
        (_, None) => format!("Change {files}?"),
    };
    if !ui.confirm(&question, yes)? {
        ui.note("Nothing was changed");
        return Ok(PlanOutcome::Refused);
    }
    let id = plan.apply(around)?;
    if !json {
        for file in &plan.files {
            let (path, plain) = (style::PATH, style::PATH.render_reset());
            let name = around.display_path(&file.place);
            ui.print_line(&format!(
                "{:<8} {path}{name}{plain}",
                effect_word(file.before.is_some(), file.after.is_some())
            ))?;
        }
        if let Some(setting) = &plan.git {
            let effect = effect_word(setting.before.is_some(), setting.after.is_some());
            ui.print_line(&format!("{effect:<8} git config merge.memory-forge.driver"))?;
        }
        if let Some(id) = &id {
            ui.note(&format!("`memory-forge doctor --undo {id}` reverts this"));
        } else if plan
            .files
            .iter()
            .any(|file| matches!(file.place, ClientFile::User(_)))
        {
            ui.detail(
                "Files that existed before have a backup next to them, `*.memory-forge-backup`",
            );
        }
    }
    Ok(PlanOutcome::Done(id))
}

/// Renders the JSON of `setup` and `uninstall`.
pub(super) fn setup_json(
    around: &SetupSurroundings<'_>,
    plan: &SetupPlan,
    applied: &PlanOutcome,
) -> serde_json::Value {
    let files: Vec<_> = plan
        .files
        .iter()
        .map(|file| {
            json!({
                "path": around.display_path(&file.place),
                "effect": effect_word(file.before.is_some(), file.after.is_some()),
            })
        })
        .collect();
    let (applied, undo) = match applied {
        PlanOutcome::Nothing => ("nothing", None),
        PlanOutcome::DryRun => ("dry-run", None),
        PlanOutcome::Refused => ("refused", None),
        PlanOutcome::Done(id) => ("done", id.clone()),
    };
    json!({
        "version": 1,
        "result": applied,
        "files": files,
        "git": plan.git.as_ref().map(|it| json!({ "before": it.before, "after": it.after })),
        "undo": undo,
        "warnings": plan.warnings,
        "notes": plan.notes,
    })
}

fn effect_word(before: bool, after: bool) -> &'static str {
    match (before, after) {
        (false, _) => "created",
        (true, true) => "changed",
        (true, false) => "removed",
    }
}

/// Shows what the installed parts cost the model.
fn show_costs(ask: &SetupRequest, workspace: &Workspace, ui: &mut Ui) -> Result<(), CommandError> {
    let mut events: Vec<&hooks::HookEvent> = Vec::new();
    for &client in &ask.clients {
        for event in hooks::events_in_set(client, ask.hooks) {
            if !events.contains(&event) {
                events.push(event);
            }
        }
    }
    if events.is_empty() && !ask.stub && !ask.mcp {
        return Ok(());
    }
    ui.print_line("\nCost to the model (tokens by estimate):")?;
    for event in events {
        ui.print_line(&format!("  {:<17} {}", event.name, event.cost))?;
    }
    for &client in &ask.clients {
        let estimate = |text: &str| match audit::tokenizer_of(client) {
            Some(tokenizer) => tokens::count_tokens(tokenizer, text),
            None => tokens::estimate_tokens(text),
        };
        let mut parts = Vec::new();
        let mut sum = 0;
        if ask.stub {
            let lines = estimate(setup::stub_lines_for(workspace, ask.scope).text());
            parts.push(format!("lines in the file {}", format_thousands(lines)));
            sum += lines;
        }
        if ask.mcp {
            // Claude Code reads a tool's schema when it needs the tool.
            let (tools, what) = match client {
                AgentClient::Claude => (crate::mcp::tools::names(), "names of tools"),
                _ => (crate::mcp::tools::listing(), "tools"),
            };
            let server = estimate(&tools) + estimate(crate::mcp::SERVER_INSTRUCTIONS);
            parts.push(format!("{what} and server {}", format_thousands(server)));
            sum += server;
        }
        if !parts.is_empty() {
            ui.print_line(&format!(
                "  {:<17} ~{} tokens at each start: {}",
                client.title(),
                format_thousands(sum),
                parts.join(", ")
            ))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
