//! Plans the files of a request with their text before and after, and writes
//! them: all of it or nothing. Nothing is written before everything that could
//! be refused was checked.

use std::path::Path;

use crate::document::{self, LinkKind};
use crate::teams::private;
use crate::workspace::git::{self, MergeDriver};
use crate::workspace::{
    BackupAction, OutsideChange, OutsideFile, RelPath, Workspace, WorkspaceError, change_outside,
};
use serde_json::{Value, json};

use super::entries::{self, SERVER_NAME};
use super::found::{self, ClientPresence};
use super::hooks::{self, HookSet, ProgramPath};
use super::json::{JsonItem, SyntaxProblem};
use super::{
    AgentClient, ClientFile, SetupError, SetupScope, SetupSurroundings, plugin, skills, stub, toml,
};

/// Request to connect clients.
#[derive(Clone, Debug)]
pub struct SetupRequest {
    /// The clients to connect.
    pub clients: Vec<AgentClient>,
    /// Where to write.
    pub scope: SetupScope,
    /// Which hooks to install.
    pub hooks: HookSet,
    /// Whether to register the MCP server.
    pub mcp: bool,
    /// Whether to add the lines about memory.
    pub stub: bool,
    /// Whether to install the skills and agents of the plugin.
    pub skills: bool,
    /// Whether to install although the other scope, or the predecessor, has it.
    pub force: bool,
    /// Whether to remove the predecessor's entries first.
    pub migrate: bool,
    /// Whether to name the running program by its path.
    pub absolute: bool,
    /// Whether to have git merge memory files entry by entry.
    pub git: bool,
}

/// File that is to change; a text of `None` means that there is no file.
#[derive(Debug)]
pub struct PlannedFile {
    /// Where it is.
    pub place: ClientFile,
    /// Its text today.
    pub before: Option<String>,
    /// Its text afterwards.
    pub after: Option<String>,
    /// Whether the file had nothing of ours before.
    first: bool,
}

/// Changes that are planned, with what a person should know about them.
#[derive(Debug, Default)]
pub struct SetupPlan {
    what: String,
    removes: bool,
    /// The files that are to change.
    pub files: Vec<PlannedFile>,
    /// The driver of this clone, where it is to change.
    pub git: Option<super::git::DriverSetting>,
    /// Remarks that are good to know.
    pub notes: Vec<String>,
    /// Reports on what was left out or will not work.
    pub warnings: Vec<String>,
}

/// Plans the changes of a request.
pub fn plan_install(
    around: &SetupSurroundings<'_>,
    ask: &SetupRequest,
) -> Result<SetupPlan, SetupError> {
    let mut draft = SetupDraft::new(around);
    let mut plan = SetupPlan {
        what: match ask.clients[..] {
            [] => "Set up git".to_owned(),
            _ => format!("Set up {}", client_titles(&ask.clients)),
        },
        ..SetupPlan::default()
    };
    let program = choose_program(around, ask, &mut plan)?;
    let mut clients = ask.clients.clone();
    // Clients are handled in one order, whatever order they were typed in: the
    // files of one client decide about the next.
    clients.sort();
    clients.dedup();
    for &client in &clients {
        let elsewhere = found::client_presence(around, client, ask.scope.other_scope());
        if ask.migrate {
            remove_predecessors(&mut draft, client)?;
        }
        install_hooks(&mut draft, &mut plan, ask, client, &program, &elsewhere)?;
        if ask.mcp {
            install_server(&mut draft, &mut plan, ask.scope, client, &program)?;
        }
        if ask.stub {
            install_stub(&mut draft, &mut plan, ask, client, &elsewhere)?;
        }
        if ask.skills {
            install_skills(&mut draft, &mut plan, ask, client)?;
        }
        plan.notes
            .extend(found::setup_advice(client, ask.scope).map(str::to_owned));
    }
    if ask.git {
        install_git(&mut draft, &mut plan, &program)?;
    }
    plan.files = draft.finish();
    Ok(plan)
}

/// Adds the driver. Files that all clones share name it; its command is a
/// setting of each clone, since git runs it.
fn install_git(
    draft: &mut SetupDraft<'_>,
    plan: &mut SetupPlan,
    program: &ProgramPath,
) -> Result<(), SetupError> {
    let workspace = draft.around.workspace;
    let before = match git::merge_driver(workspace.root()) {
        MergeDriver::NoRepository => {
            return Err(SetupError::NoRepository);
        }
        MergeDriver::Missing => None,
        MergeDriver::Set(it) => Some(it),
    };
    let place = draft.project_file(super::git::ATTRIBUTES_FILE)?;
    draft.edit_file(&place, |file| {
        Ok(Some(super::git::with_driver_lines(file.now)))
    })?;
    if let Some(rule) = private::propose_ignore_rule(workspace)? {
        let place = ClientFile::Project(rule.path);
        draft.edit_file(&place, |_| Ok(Some(rule.after)))?;
    }
    let after = Some(super::git::driver_command(program));
    if before != after {
        plan.git = Some(super::git::DriverSetting { before, after });
    }
    Ok(())
}

/// Removes the driver. The rule on private files stays: without it, they would
/// be one `git add` away from everyone.
fn uninstall_git(draft: &mut SetupDraft<'_>, plan: &mut SetupPlan) -> Result<(), SetupError> {
    let place = draft.project_file(super::git::ATTRIBUTES_FILE)?;
    if draft
        .draft_text(&place)?
        .as_deref()
        .is_some_and(super::git::has_driver_lines)
    {
        draft.edit_file(&place, |file| {
            Ok(file.now.and_then(super::git::without_driver_lines))
        })?;
    }
    if let MergeDriver::Set(before) = git::merge_driver(draft.around.workspace.root()) {
        plan.git = Some(super::git::DriverSetting {
            before: Some(before),
            after: None,
        });
    }
    Ok(())
}

/// Plans how to disconnect clients in these scopes.
pub fn plan_uninstall(
    around: &SetupSurroundings<'_>,
    clients: &[AgentClient],
    scopes: &[SetupScope],
    from_git: bool,
) -> Result<SetupPlan, SetupError> {
    let mut draft = SetupDraft::new(around);
    let mut plan = SetupPlan {
        what: match clients {
            [] => "Uninstall from git".to_owned(),
            _ => format!("Uninstall from {}", client_titles(clients)),
        },
        removes: true,
        ..SetupPlan::default()
    };
    for &scope in scopes {
        // Without a home nothing can be installed there.
        if scope == SetupScope::User && around.places.home.is_none() {
            continue;
        }
        // Lines that another client still reads stay for it.
        let mut needed = Vec::new();
        for other in AgentClient::ALL
            .into_iter()
            .filter(|c| !clients.contains(c))
        {
            if !found::client_presence(around, other, scope).is_empty_but_for_stub() {
                needed.extend(possible_stub_files(around, other, scope)?);
            }
        }
        for &client in clients {
            uninstall_client(&mut draft, &mut plan, client, scope)?;
            for place in possible_stub_files(around, client, scope)? {
                if !needed.contains(&place) && found::mentions_us(around, &place) {
                    draft.edit_file(&place, |file| match file.now {
                        Some(text) => stub::without_stub(text),
                        None => Ok(None),
                    })?;
                }
            }
        }
    }
    if from_git {
        uninstall_git(&mut draft, &mut plan)?;
    }
    plan.files = draft.finish();
    Ok(plan)
}

fn client_titles(clients: &[AgentClient]) -> String {
    let names: Vec<&str> = clients.iter().map(|client| client.title()).collect();
    names.join(", ")
}

/// Chooses how entries call the program. A project's files are shared, so they
/// leave it to the `PATH`; files in a home may name the one that is there.
fn choose_program(
    around: &SetupSurroundings<'_>,
    ask: &SetupRequest,
    plan: &mut SetupPlan,
) -> Result<ProgramPath, SetupError> {
    let on_path = found::find_on_path(around.places, "memory-forge");
    let absolute = ask.absolute || (ask.scope == SetupScope::User && on_path.is_none());
    if !absolute {
        if on_path.is_none() {
            plan.warnings.push(
                "`memory-forge` is not on your `PATH`: hooks stay silent until it is. \
                 Install it there, or use `--absolute`"
                    .to_owned(),
            );
        }
        return Ok(ProgramPath::OnPath);
    }
    let path = around.places.binary.and_then(Path::to_str);
    path.map(|path| ProgramPath::At(path.to_owned()))
        .ok_or(SetupError::UnwritableProgram)
}

/// Returns the files of a client in both scopes that hold entries of the
/// predecessor, with the entries. Its hooks fire from either scope.
fn predecessor_entries(
    around: &SetupSurroundings<'_>,
    client: AgentClient,
) -> Vec<(ClientFile, Vec<String>)> {
    let mut all: Vec<(ClientFile, Vec<String>)> = Vec::new();
    for scope in SetupScope::ALL {
        let files = [
            around.hooks_file(client, scope),
            around.server_file(client, scope),
        ];
        for place in files.into_iter().flatten() {
            let text = found::peek_text(around, &place).unwrap_or_default();
            let entries = entries::predecessor_names(&text);
            if !entries.is_empty() && all.iter().all(|(known, _)| *known != place) {
                all.push((place, entries));
            }
        }
    }
    all
}

fn remove_predecessors(draft: &mut SetupDraft<'_>, client: AgentClient) -> Result<(), SetupError> {
    for (place, _) in predecessor_entries(draft.around, client) {
        draft.edit_file(&place, |file| {
            file.now.map(entries::remove_predecessors).transpose()
        })?;
    }
    Ok(())
}

fn install_hooks(
    draft: &mut SetupDraft<'_>,
    plan: &mut SetupPlan,
    ask: &SetupRequest,
    client: AgentClient,
    program: &ProgramPath,
    elsewhere: &ClientPresence,
) -> Result<(), SetupError> {
    if ask.hooks == HookSet::None {
        return Ok(());
    }
    if !elsewhere.hooks.is_empty() && !ask.force {
        plan.warnings.push(format!(
            "{} already has these hooks in the {} scope (`{}`); a second set would fire twice \
             and was left out. `--force` installs it anyway",
            client.title(),
            ask.scope.other_scope().name(),
            elsewhere.hooks_file,
        ));
        return Ok(());
    }
    let theirs = if ask.migrate || ask.force {
        Vec::new()
    } else {
        predecessor_entries(draft.around, client)
    };
    if let [(place, events), ..] = &theirs[..] {
        plan.warnings.push(format!(
            "MemoryForge's scripts run in {} (`{}`: {}); a second set of hooks would brief twice \
             and was left out. `--migrate` replaces theirs, `--force` installs in addition to them",
            client.title(),
            draft.around.display_path(place),
            events.join(", "),
        ));
        return Ok(());
    }
    if client == AgentClient::Copilot && ask.scope == SetupScope::Project && !ask.force {
        let claude = draft
            .around
            .hooks_file(AgentClient::Claude, SetupScope::Project)?;
        let shared = draft
            .draft_text(&claude)?
            .is_some_and(|text| has_hooks(&text));
        if shared {
            plan.notes.push(
                "Copilot CLI reads the hooks in `.claude/settings.json` too, so it needs none \
                 of its own"
                    .to_owned(),
            );
            return Ok(());
        }
    }
    let place = draft.around.hooks_file(client, ask.scope)?;
    if client == AgentClient::OpenCode {
        return install_plugin(draft, plan, ask, &place, program);
    }
    if client == AgentClient::Claude && ask.scope == SetupScope::Project {
        let copilot =
            found::client_presence(draft.around, AgentClient::Copilot, SetupScope::Project);
        if !copilot.hooks.is_empty() && !ask.force {
            plan.warnings.push(
                "Copilot CLI reads `.claude/settings.json` besides `.github/hooks/`, and would \
                 fire twice: run `memory-forge uninstall copilot --scope project`"
                    .to_owned(),
            );
        }
    }
    if hooks::needs_path_entry(client, program) {
        plan.warnings.push(format!(
            "{} cannot run hooks by `{}` on Windows, since the path has to be quoted: they call \
             `memory-forge` on your `PATH`",
            client.title(),
            program.as_word(),
        ));
    }
    let wanted = hooks::hook_items(client, ask.hooks, program);
    let is_hook = |item: &JsonItem| item.name.is_none();
    draft.replace_entries(&place, &hooks::hook_seeds(client), is_hook, &wanted)
}

fn install_plugin(
    draft: &mut SetupDraft<'_>,
    plan: &mut SetupPlan,
    ask: &SetupRequest,
    place: &ClientFile,
    program: &ProgramPath,
) -> Result<(), SetupError> {
    let edited = draft
        .draft_text(place)?
        .is_some_and(|text| !plugin::is_our_plugin(&text));
    if edited && !ask.force {
        plan.warnings.push(format!(
            "`{}` was edited and is left alone; `--force` overwrites it",
            draft.around.display_path(place)
        ));
        return Ok(());
    }
    draft.edit_file(place, |_| Ok(Some(plugin::plugin_text(program))))
}

fn install_skills(
    draft: &mut SetupDraft<'_>,
    plan: &mut SetupPlan,
    ask: &SetupRequest,
    client: AgentClient,
) -> Result<(), SetupError> {
    let files = skills::skill_files(client, ask.scope);
    if files.is_empty() {
        plan.notes
            .push(format!("{} has no place for skills", client.title()));
    }
    for file in files {
        let place = draft.around.client_file(client, ask.scope, &file.name)?;
        let theirs = draft
            .draft_text(&place)?
            .is_some_and(|text| !skills::is_our_skill_file(&text));
        if theirs && !ask.force {
            plan.warnings.push(format!(
                "`{}` was edited and is left alone; `--force` overwrites it",
                draft.around.display_path(&place)
            ));
            continue;
        }
        draft.edit_file(&place, |_| Ok(Some(file.text)))?;
    }
    Ok(())
}

fn install_server(
    draft: &mut SetupDraft<'_>,
    plan: &mut SetupPlan,
    scope: SetupScope,
    client: AgentClient,
    program: &ProgramPath,
) -> Result<(), SetupError> {
    let around = draft.around;
    if client == AgentClient::Copilot && scope == SetupScope::Project {
        let claude = around.server_file(AgentClient::Claude, SetupScope::Project)?;
        if draft
            .draft_text(&claude)?
            .is_some_and(|text| has_server(&text))
        {
            plan.notes
                .push("Copilot CLI reads the server in `.mcp.json` too".to_owned());
            return Ok(());
        }
    }
    let place = around.server_file(client, scope)?;
    let mut foreign = false;
    if client == AgentClient::Codex {
        draft.edit_file(&place, |file| {
            let there = file.now.map(toml::server_table).transpose()?;
            foreign = there == Some(toml::ServerTable::Foreign);
            if foreign {
                return Ok(file.now.map(str::to_owned));
            }
            toml::with_server(file.now, program.as_word()).map(Some)
        })?;
    } else {
        let item = server_item(client, scope, program);
        if let Some(text) = draft.draft_text(&place)? {
            let found = entries::has_foreign_server(&text);
            foreign = found.map_err(|broken| around.broken_file(&place, broken))?;
        }
        if !foreign {
            let is_server = |item: &JsonItem| item.name.is_some();
            draft.replace_entries(&place, &server_seeds(client), is_server, &[item])?;
        }
    }
    if foreign {
        plan.warnings.push(format!(
            "`{}` has a server `{SERVER_NAME}` that is not ours; it was left alone",
            around.display_path(&place)
        ));
    }
    Ok(())
}

fn server_item(client: AgentClient, scope: SetupScope, program: &ProgramPath) -> JsonItem {
    let word = program.as_word();
    let (key, value) = match (client, scope) {
        (AgentClient::OpenCode, _) => (
            "mcp",
            json!({"type": "local", "command": [word, "mcp"], "enabled": true}),
        ),
        (AgentClient::Copilot, SetupScope::User) => (
            "mcpServers",
            json!({"type": "local", "command": word, "args": ["mcp"], "tools": ["*"]}),
        ),
        _ => ("mcpServers", json!({"command": word, "args": ["mcp"]})),
    };
    JsonItem {
        path: vec![key.to_owned()],
        name: Some(SERVER_NAME.to_owned()),
        value,
    }
}

fn server_seeds(client: AgentClient) -> Vec<JsonItem> {
    let schema = || JsonItem {
        path: Vec::new(),
        name: Some("$schema".to_owned()),
        value: Value::from("https://opencode.ai/config.json"),
    };
    match client {
        AgentClient::OpenCode => vec![schema()],
        _ => Vec::new(),
    }
}

fn install_stub(
    draft: &mut SetupDraft<'_>,
    plan: &mut SetupPlan,
    ask: &SetupRequest,
    client: AgentClient,
    elsewhere: &ClientPresence,
) -> Result<(), SetupError> {
    if let (Some(place), false) = (&elsewhere.stub, ask.force) {
        plan.notes.push(format!(
            "{} finds the lines about memory in `{place}` already",
            client.title()
        ));
        return Ok(());
    }
    let Some(place) = stub_place(draft, client, ask.scope)? else {
        plan.notes.push(format!(
            "{} has no file for lines that hold in all projects; use `--scope project`",
            client.title()
        ));
        return Ok(());
    };
    if is_claude_folder_file(&place) {
        plan.notes.push(format!(
            "{} finds the lines about memory in `{CLAUDE_FOLDER_FILE}` already",
            client.title()
        ));
        return Ok(());
    }
    let creates_agents = draft.draft_text(&place)?.is_none()
        && matches!(&place, ClientFile::Project(path) if path.as_str() == "AGENTS.md");
    if creates_agents && client != AgentClient::Claude && draft.has_file("CLAUDE.md")? {
        plan.notes
            .push("OpenCode reads `AGENTS.md` instead of `CLAUDE.md` once there is one".to_owned());
    }
    let lines = super::stub_lines_for(draft.around.workspace, ask.scope);
    draft.edit_file(&place, |file| stub::with_stub(file.now, lines).map(Some))
}

/// Returns the one file that gets the lines for a client, so that clients which
/// read the same file share them.
fn stub_place(
    draft: &mut SetupDraft<'_>,
    client: AgentClient,
    scope: SetupScope,
) -> Result<Option<ClientFile>, SetupError> {
    let around = draft.around;
    let mut failed = None;
    let read = stub_files_in_use(around, client, scope, &mut |place| {
        let text = draft.draft_text(place);
        text.unwrap_or_else(|error| {
            failed = Some(error);
            None
        })
    })?;
    // A file that would be skipped must not be mistaken for one that is absent.
    if let Some(error) = failed {
        return Err(error);
    }
    for place in &read {
        if draft
            .draft_text(place)?
            .is_some_and(|text| stub::has_stub(&text))
        {
            return Ok(Some(place.clone()));
        }
    }
    if let Some(first) = read.into_iter().find(|place| !is_claude_folder_file(place)) {
        return Ok(Some(first));
    }
    if scope == SetupScope::User {
        return Ok(possible_stub_files(around, client, scope)?
            .into_iter()
            .next());
    }
    let own = draft.has_file("CLAUDE.local.md")? || draft.has_file(CLAUDE_FOLDER_FILE)?;
    let name = match client {
        AgentClient::Claude if own || is_below_claude_files(around) => "CLAUDE.md",
        AgentClient::Gemini => "GEMINI.md",
        _ => "AGENTS.md",
    };
    around.client_file(client, scope, name).map(Some)
}

/// Returns the files from which a client can take such lines.
fn possible_stub_files(
    around: &SetupSurroundings<'_>,
    client: AgentClient,
    scope: SetupScope,
) -> Result<Vec<ClientFile>, SetupError> {
    let names: &[&str] = match (client, scope) {
        (AgentClient::Claude, SetupScope::Project) => {
            &["CLAUDE.md", ".claude/CLAUDE.md", "AGENTS.md"]
        }
        (AgentClient::Codex, SetupScope::Project) => &["AGENTS.override.md", "AGENTS.md"],
        (AgentClient::OpenCode, SetupScope::Project) => &["AGENTS.md", "CLAUDE.md"],
        (AgentClient::Gemini, SetupScope::Project) => &["GEMINI.md", "AGENTS.md"],
        (AgentClient::Copilot, SetupScope::Project) => &[
            "AGENTS.md",
            "CLAUDE.md",
            "GEMINI.md",
            ".github/copilot-instructions.md",
        ],
        (AgentClient::Cursor, SetupScope::Project) => &["AGENTS.md"],
        (AgentClient::Claude, SetupScope::User) => &["CLAUDE.md"],
        (AgentClient::Codex | AgentClient::OpenCode, SetupScope::User) => &["AGENTS.md"],
        (AgentClient::Gemini, SetupScope::User) => &["GEMINI.md"],
        (AgentClient::Copilot, SetupScope::User) => &["copilot-instructions.md"],
        (AgentClient::Cursor, SetupScope::User) => &[],
    };
    let mut places = Vec::new();
    for name in names {
        let place = around.client_file(client, scope, name)?;
        // A link and the file that it names are one.
        if !places.contains(&place) {
            places.push(place);
        }
    }
    if (client, scope) == (AgentClient::OpenCode, SetupScope::User) {
        places.push(around.client_file(AgentClient::Claude, SetupScope::User, "CLAUDE.md")?);
    }
    Ok(places)
}

/// Returns those of these files that the client reads as the files are now.
/// `text` returns a file's text, or `None`.
pub(super) fn stub_files_in_use(
    around: &SetupSurroundings<'_>,
    client: AgentClient,
    scope: SetupScope,
    text: &mut dyn FnMut(&ClientFile) -> Option<String>,
) -> Result<Vec<ClientFile>, SetupError> {
    let all = possible_stub_files(around, client, scope)?;
    let mut there: Vec<ClientFile> = Vec::new();
    for place in all {
        if text(&place).is_some() {
            there.push(place);
        }
    }
    let mut project = |name: &str| -> Result<Option<String>, SetupError> {
        let place = around.client_file(client, SetupScope::Project, name)?;
        Ok(text(&place))
    };
    match (client, scope) {
        // Claude Code's own files keep it from reading `AGENTS.md`, unless they
        // import it.
        (AgentClient::Claude, SetupScope::Project) => {
            let mut own = Vec::new();
            let mut is_link = false;
            for name in CLAUDE_FILES {
                own.extend(project(name)?);
                is_link |= is_agents_file(&around.client_file(client, scope, name)?);
            }
            if is_link || own.iter().any(|text| imports_agents(text)) {
                // Other clients read that one too, so it comes first.
                there.sort_by_key(|place| !is_agents_file(place));
            } else if !own.is_empty() || is_below_claude_files(around) {
                there.retain(|place| !is_agents_file(place));
            }
        }
        (AgentClient::Gemini, SetupScope::Project) => {
            let settings = project(".gemini/settings.json")?.unwrap_or_default();
            if !lists_agents(&settings) {
                there.retain(|place| !is_agents_file(place));
            }
        }
        // These clients read the first file alone.
        (AgentClient::Codex, SetupScope::Project) | (AgentClient::OpenCode, _) => there.truncate(1),
        _ => {}
    }
    Ok(there)
}

fn is_agents_file(place: &ClientFile) -> bool {
    matches!(place, ClientFile::Project(path) if path.as_str() == "AGENTS.md")
}

/// Files of Claude Code's own. If one of them is in the project, or in a folder
/// above it, Claude Code reads no `AGENTS.md`.
const CLAUDE_FILES: [&str; 3] = ["CLAUDE.md", CLAUDE_FOLDER_FILE, "CLAUDE.local.md"];

/// File that Claude Code reads and that people or other tools keep: no lines
/// are added to it.
const CLAUDE_FOLDER_FILE: &str = ".claude/CLAUDE.md";

fn is_claude_folder_file(place: &ClientFile) -> bool {
    matches!(place, ClientFile::Project(path) if path.as_str() == CLAUDE_FOLDER_FILE)
}

/// Returns `true` if a folder above the project has such a file. A user's own
/// `~/.claude` does not count, for Claude Code either.
fn is_below_claude_files(around: &SetupSurroundings<'_>) -> bool {
    let home = around.places.home;
    let above = around.workspace.root().ancestors().skip(1);
    above.take(MAX_FOLDERS_ABOVE).any(|folder| {
        CLAUDE_FILES.iter().any(|name| {
            let is_a_persons = *name == CLAUDE_FOLDER_FILE && Some(folder) == home;
            !is_a_persons && folder.join(name).is_file()
        })
    })
}

/// Upper bound for the folders above a project that are searched.
const MAX_FOLDERS_ABOVE: usize = 64;

fn imports_agents(text: &str) -> bool {
    document::parse_document(text).links.iter().any(|link| {
        let target = link
            .target
            .trim_start_matches("./")
            .trim_start_matches("../");
        link.kind == LinkKind::Import && target == "AGENTS.md"
    })
}

/// Returns `true` if the settings of Gemini CLI name `AGENTS.md`.
fn lists_agents(settings: &str) -> bool {
    let Ok(value) = super::json::read_value(settings) else {
        return false;
    };
    let names = &value["context"]["fileName"];
    let listed = names.as_array().into_iter().flatten().chain([names]);
    listed
        .filter_map(Value::as_str)
        .any(|name| name == "AGENTS.md")
}

fn uninstall_client(
    draft: &mut SetupDraft<'_>,
    plan: &mut SetupPlan,
    client: AgentClient,
    scope: SetupScope,
) -> Result<(), SetupError> {
    let around = draft.around;
    let hooks_file = around.hooks_file(client, scope)?;
    let server_file = around.server_file(client, scope)?;
    if client == AgentClient::OpenCode {
        let text = if found::mentions_us(around, &hooks_file) {
            draft.draft_text(&hooks_file)?
        } else {
            None
        };
        match text {
            Some(text) if plugin::is_our_plugin(&text) => {
                draft.edit_file(&hooks_file, |_| Ok(None))?
            }
            Some(_) => plan.warnings.push(format!(
                "`{}` was edited and still runs; delete it if you do not want it",
                around.display_path(&hooks_file)
            )),
            None => {}
        }
    } else if found::mentions_us(around, &hooks_file) {
        draft.replace_entries(&hooks_file, &hooks::hook_seeds(client), |_| true, &[])?;
    }
    for file in skills::skill_files(client, scope) {
        let place = around.client_file(client, scope, &file.name)?;
        if !found::mentions_us(around, &place) {
            continue;
        }
        match draft.draft_text(&place)? {
            Some(text) if skills::is_our_skill_file(&text) => {
                draft.edit_file(&place, |_| Ok(None))?
            }
            Some(_) => plan.warnings.push(format!(
                "`{}` was edited and stays; delete it if you do not want it",
                around.display_path(&place)
            )),
            None => {}
        }
    }
    if !found::mentions_us(around, &server_file) {
        return Ok(());
    }
    if client == AgentClient::Codex {
        return draft.edit_file(&server_file, |file| match file.now {
            Some(text) => toml::without_server(text),
            None => Ok(None),
        });
    }
    let seeds = server_seeds(client);
    draft.replace_entries(&server_file, &seeds, |_| true, &[])
}

pub(super) fn has_hooks(text: &str) -> bool {
    let items = entries::our_entries(text).unwrap_or_default();
    items.iter().any(|item| item.name.is_none())
}

pub(super) fn has_server(text: &str) -> bool {
    let items = entries::our_entries(text).unwrap_or_default();
    items.iter().any(|item| item.name.is_some())
}

/// Files as they would be after the change, each read once.
struct SetupDraft<'a> {
    around: &'a SetupSurroundings<'a>,
    files: Vec<DraftFile>,
}

struct DraftFile {
    place: ClientFile,
    before: Option<String>,
    now: Option<String>,
    /// State of the file before our entries, as text or as absence; `None` if
    /// unknown.
    record: Option<Option<String>>,
}

/// Input of an edit.
struct DraftView<'a> {
    now: Option<&'a str>,
    record: Option<Option<&'a str>>,
}

impl<'a> SetupDraft<'a> {
    fn new(around: &'a SetupSurroundings<'a>) -> SetupDraft<'a> {
        SetupDraft {
            around,
            files: Vec::new(),
        }
    }

    fn load_file(&mut self, place: &ClientFile) -> Result<usize, SetupError> {
        if let Some(index) = self.files.iter().position(|file| file.place == *place) {
            return Ok(index);
        }
        let text = self.around.read_file(place)?;
        // A text without our entries is itself the state before them, and makes
        // an older record obsolete.
        let record = if text.as_deref().is_some_and(has_our_content) {
            recorded_original(self.around, place)?
        } else {
            Some(text.clone())
        };
        self.files.push(DraftFile {
            place: place.clone(),
            before: text.clone(),
            now: text,
            record,
        });
        Ok(self.files.len() - 1)
    }

    fn draft_text(&mut self, place: &ClientFile) -> Result<Option<String>, SetupError> {
        let index = self.load_file(place)?;
        Ok(self.files[index].now.clone())
    }

    fn project_file(&self, name: &str) -> Result<ClientFile, SetupError> {
        self.around
            .client_file(AgentClient::Claude, SetupScope::Project, name)
    }

    /// Returns `true` if the project has, or would have, a file of this name.
    fn has_file(&mut self, name: &str) -> Result<bool, SetupError> {
        let place = self.project_file(name)?;
        Ok(self.draft_text(&place)?.is_some())
    }

    fn edit_file(
        &mut self,
        place: &ClientFile,
        f: impl FnOnce(DraftView<'_>) -> Result<Option<String>, SyntaxProblem>,
    ) -> Result<(), SetupError> {
        let index = self.load_file(place)?;
        let file = &mut self.files[index];
        let view = DraftView {
            now: file.now.as_deref(),
            record: file.record.as_ref().map(Option::as_deref),
        };
        let after = f(view).map_err(|broken| self.around.broken_file(place, broken))?;
        self.files[index].now = after;
        Ok(())
    }

    /// Replaces entries of ours: removes those that `goes` selects, keeps the
    /// others, and adds `wanted`.
    fn replace_entries(
        &mut self,
        place: &ClientFile,
        seeds: &[JsonItem],
        goes: impl Fn(&JsonItem) -> bool,
        wanted: &[JsonItem],
    ) -> Result<(), SetupError> {
        self.edit_file(place, |file| {
            let there = file
                .now
                .map(entries::our_entries)
                .transpose()?
                .unwrap_or_default();
            let mut target: Vec<JsonItem> = there.into_iter().filter(|item| !goes(item)).collect();
            target.extend(wanted.iter().cloned());
            // Hooks before servers, the order in which one run adds both.
            target.sort_by_key(|item| item.name.is_some());
            entries::with_entries(file.now, file.record, seeds, &target)
        })
    }

    fn finish(self) -> Vec<PlannedFile> {
        self.files
            .into_iter()
            .filter(|file| file.before != file.now)
            .map(|file| PlannedFile {
                first: !file.before.as_deref().is_some_and(has_our_content),
                place: file.place,
                before: file.before,
                after: file.now,
            })
            .collect()
    }
}

/// Returns `true` if a text of any kind has something of ours in it.
fn has_our_content(text: &str) -> bool {
    stub::has_stub(text)
        || plugin::is_our_plugin(text)
        || skills::is_our_skill_file(text)
        || entries::our_entries(text).is_ok_and(|items| !items.is_empty())
        || toml::server_table(text) == Ok(toml::ServerTable::Ours)
}

/// Returns the name of the record of a project's file.
fn record_file_name(path: &RelPath) -> String {
    format!("setup/{}.before.json", path.as_str().replace('/', "__"))
}

/// Returns the state of a file before our entries: from its backup in a home,
/// from the derived files in a project.
fn recorded_original(
    around: &SetupSurroundings<'_>,
    place: &ClientFile,
) -> Result<Option<Option<String>>, SetupError> {
    match place {
        ClientFile::User(file) => {
            let backup = file.read_backup()?;
            Ok(backup
                .and_then(|bytes| String::from_utf8(bytes).ok())
                .map(Some))
        }
        ClientFile::Project(path) => {
            // Derived files may be gone, damaged or foreign; the state is
            // unknown then.
            let bytes = around.workspace.read_marked(&record_file_name(path));
            let value: Option<Value> = bytes.and_then(|it| serde_json::from_slice(&it).ok());
            Ok(value.and_then(|value| match &value["before"] {
                Value::Null => Some(None),
                Value::String(text) => Some(Some(text.clone())),
                _ => None,
            }))
        }
    }
}

impl SetupSurroundings<'_> {
    fn broken_file(&self, place: &ClientFile, broken: SyntaxProblem) -> SetupError {
        SetupError::BrokenFile {
            file: self.display_path(place),
            broken,
            hint: "Nothing was changed; repair that file and try again",
        }
    }
}

impl SetupPlan {
    /// Writes the changes. Returns the id under which a project's part can be
    /// undone.
    pub fn apply(&self, around: &SetupSurroundings<'_>) -> Result<Option<String>, SetupError> {
        let (mut project, mut user) = (Vec::new(), Vec::new());
        for file in &self.files {
            match &file.place {
                ClientFile::Project(path) => project.push((path, file)),
                ClientFile::User(place) => user.push((place, file)),
            }
        }
        let id = self.apply_project(around.workspace, around.now, &project)?;
        self.apply_user(&user)?;
        if let Some(setting) = &self.git {
            let root = around.workspace.root();
            match &setting.after {
                Some(command) => git::set_driver(root, command)?,
                None => git::clear_driver(root)?,
            }
        }
        Ok(id)
    }

    fn apply_project(
        &self,
        workspace: &Workspace,
        now: jiff::Timestamp,
        files: &[(&RelPath, &PlannedFile)],
    ) -> Result<Option<String>, SetupError> {
        if files.is_empty() {
            return Ok(None);
        }
        for (path, file) in files {
            // Our part of Markdown and TOML can be removed without a record.
            let is_json = path.as_str().ends_with(".json") || path.as_str().ends_with(".jsonc");
            if file.first && !self.removes && is_json {
                let record = json!({"path": path.as_str(), "before": file.before}).to_string();
                workspace.write_marked(&record_file_name(path), record.as_bytes())?;
            }
        }
        // Compares with the text that was planned from: an edit in between must
        // not be lost.
        let receipt = workspace.change(&self.what, now, |change| {
            for (path, file) in files {
                let there = change.read(path)?;
                if there.as_deref() != file.before.as_deref().map(str::as_bytes) {
                    return Err(WorkspaceError::ChangedSince {
                        path: workspace.absolute_path(path),
                    });
                }
                match &file.after {
                    Some(text) => change.write(path, text.as_bytes()),
                    None => change.remove(path),
                }
            }
            let mut folders: Vec<RelPath> = Vec::new();
            for (path, _) in files.iter().filter(|(_, file)| file.after.is_none()) {
                let mut folder = path.parent();
                while let Some(this) = folder {
                    folder = this.parent();
                    folders.push(this);
                }
            }
            folders.sort();
            folders.dedup();
            for folder in &folders {
                change.drop_folder_if_empty(folder);
            }
            Ok(())
        })?;
        Ok(receipt.id)
    }

    fn apply_user(&self, files: &[(&OutsideFile, &PlannedFile)]) -> Result<(), SetupError> {
        let bytes = |text: &Option<String>| text.as_ref().map(|text| text.clone().into_bytes());
        let mut changes = Vec::new();
        let mut folders: Vec<OutsideFile> = Vec::new();
        for (place, file) in files {
            changes.push(OutsideChange {
                file: (*place).clone(),
                before: bytes(&file.before),
                after: bytes(&file.after),
                backup: match (self.removes, file.first) {
                    (true, _) => BackupAction::Drop,
                    (false, true) => BackupAction::Take,
                    (false, false) => BackupAction::Leave,
                },
            });
            if file.after.is_none() {
                let above = place.path.ancestors().skip(1);
                let inside = above.take_while(|f| f.starts_with(&place.base) && **f != place.base);
                folders.extend(inside.map(|folder| OutsideFile {
                    base: place.base.clone(),
                    path: folder.to_owned(),
                }));
            }
        }
        // The deepest first: a folder that holds an empty folder is not empty
        // yet.
        folders.sort_by_key(|folder| std::cmp::Reverse(folder.path.components().count()));
        folders.dedup();
        Ok(change_outside(&changes, &folders)?)
    }
}
