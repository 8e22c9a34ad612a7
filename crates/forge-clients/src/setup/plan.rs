//! Plans the files of a request with their text before and after, and writes
//! them: all of it or nothing. Nothing is written before everything that could
//! be refused was checked.

use std::path::Path;

use crate::document::{self, LinkKind};
use crate::teams::private;
use crate::workspace::git::{self, Driver};
use crate::workspace::{
    Backup, Error, OutsideChange, OutsideFile, RelPath, Workspace, change_outside,
};
use serde_json::{Value, json};

use super::entries::{self, SERVER};
use super::found::{self, Presence};
use super::hooks::{self, HookSet, Program};
use super::json::{Broken, Item};
use super::{Client, Place, Scope, SetupError, Surroundings, plugin, skills, stub, toml};

/// Request to connect clients.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The clients to connect.
    pub clients: Vec<Client>,
    /// Where to write.
    pub scope: Scope,
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
    pub place: Place,
    /// Its text today.
    pub before: Option<String>,
    /// Its text afterwards.
    pub after: Option<String>,
    /// Whether the file had nothing of ours before.
    first: bool,
}

/// Changes that are planned, with what a person should know about them.
#[derive(Debug, Default)]
pub struct Plan {
    what: String,
    removes: bool,
    /// The files that are to change.
    pub files: Vec<PlannedFile>,
    /// The driver of this clone, where it is to change.
    pub git: Option<super::git::Setting>,
    /// Remarks that are good to know.
    pub notes: Vec<String>,
    /// Reports on what was left out or will not work.
    pub warnings: Vec<String>,
}

/// Plans the changes of a request.
pub fn install(around: &Surroundings<'_>, ask: &Ask) -> Result<Plan, SetupError> {
    let mut draft = Draft::new(around);
    let mut plan = Plan {
        what: match ask.clients[..] {
            [] => "Set up git".to_owned(),
            _ => format!("Set up {}", names(&ask.clients)),
        },
        ..Plan::default()
    };
    let program = program(around, ask, &mut plan)?;
    let mut clients = ask.clients.clone();
    // Clients are handled in one order, whatever order they were typed in: the
    // files of one client decide about the next.
    clients.sort();
    clients.dedup();
    for &client in &clients {
        let elsewhere = found::presence(around, client, ask.scope.other());
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
            .extend(found::advice(client, ask.scope).map(str::to_owned));
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
    draft: &mut Draft<'_>,
    plan: &mut Plan,
    program: &Program,
) -> Result<(), SetupError> {
    let workspace = draft.around.workspace;
    let before = match git::driver(workspace.root()) {
        Driver::NoRepository => {
            return Err(SetupError::NoRepository);
        }
        Driver::Missing => None,
        Driver::Set(it) => Some(it),
    };
    let place = draft.project_file(super::git::ATTRIBUTES)?;
    draft.edit(&place, |file| Ok(Some(super::git::with(file.now))))?;
    if let Some(rule) = private::ignoring(workspace)? {
        let place = Place::Project(rule.path);
        draft.edit(&place, |_| Ok(Some(rule.after)))?;
    }
    let after = Some(super::git::driver(program));
    if before != after {
        plan.git = Some(super::git::Setting { before, after });
    }
    Ok(())
}

/// Removes the driver. The rule on private files stays: without it, they would
/// be one `git add` away from everyone.
fn uninstall_git(draft: &mut Draft<'_>, plan: &mut Plan) -> Result<(), SetupError> {
    let place = draft.project_file(super::git::ATTRIBUTES)?;
    if draft
        .text(&place)?
        .as_deref()
        .is_some_and(super::git::is_in)
    {
        draft.edit(&place, |file| Ok(file.now.and_then(super::git::without)))?;
    }
    if let Driver::Set(before) = git::driver(draft.around.workspace.root()) {
        plan.git = Some(super::git::Setting {
            before: Some(before),
            after: None,
        });
    }
    Ok(())
}

/// Plans how to disconnect clients in these scopes.
pub fn uninstall(
    around: &Surroundings<'_>,
    clients: &[Client],
    scopes: &[Scope],
    from_git: bool,
) -> Result<Plan, SetupError> {
    let mut draft = Draft::new(around);
    let mut plan = Plan {
        what: match clients {
            [] => "Uninstall from git".to_owned(),
            _ => format!("Uninstall from {}", names(clients)),
        },
        removes: true,
        ..Plan::default()
    };
    for &scope in scopes {
        // Without a home nothing can be installed there.
        if scope == Scope::User && around.places.home.is_none() {
            continue;
        }
        // Lines that another client still reads stay for it.
        let mut needed = Vec::new();
        for other in Client::ALL.into_iter().filter(|c| !clients.contains(c)) {
            if !found::presence(around, other, scope).is_empty_but_for_stub() {
                needed.extend(stub_files(around, other, scope)?);
            }
        }
        for &client in clients {
            uninstall_client(&mut draft, &mut plan, client, scope)?;
            for place in stub_files(around, client, scope)? {
                if !needed.contains(&place) && found::names_us(around, &place) {
                    draft.edit(&place, |file| match file.now {
                        Some(text) => stub::without(text),
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

fn names(clients: &[Client]) -> String {
    let names: Vec<&str> = clients.iter().map(|client| client.title()).collect();
    names.join(", ")
}

/// Chooses how entries call the program. A project's files are shared, so they
/// leave it to the `PATH`; files in a home may name the one that is there.
fn program(around: &Surroundings<'_>, ask: &Ask, plan: &mut Plan) -> Result<Program, SetupError> {
    let on_path = found::on_path(around.places, "memory-forge");
    let absolute = ask.absolute || (ask.scope == Scope::User && on_path.is_none());
    if !absolute {
        if on_path.is_none() {
            plan.warnings.push(
                "`memory-forge` is not on your `PATH`: hooks stay silent until it is. \
                 Install it there, or use `--absolute`"
                    .to_owned(),
            );
        }
        return Ok(Program::OnPath);
    }
    let path = around.places.binary.and_then(Path::to_str);
    path.map(|path| Program::At(path.to_owned()))
        .ok_or(SetupError::UnwritableProgram)
}

/// Returns the files of a client in both scopes that hold entries of the
/// predecessor, with the entries. Its hooks fire from either scope.
fn predecessors(around: &Surroundings<'_>, client: Client) -> Vec<(Place, Vec<String>)> {
    let mut all: Vec<(Place, Vec<String>)> = Vec::new();
    for scope in Scope::ALL {
        let files = [
            around.hooks_file(client, scope),
            around.server_file(client, scope),
        ];
        for place in files.into_iter().flatten() {
            let text = found::peek(around, &place).unwrap_or_default();
            let entries = entries::predecessors(&text);
            if !entries.is_empty() && all.iter().all(|(known, _)| *known != place) {
                all.push((place, entries));
            }
        }
    }
    all
}

fn remove_predecessors(draft: &mut Draft<'_>, client: Client) -> Result<(), SetupError> {
    for (place, _) in predecessors(draft.around, client) {
        draft.edit(&place, |file| {
            file.now.map(entries::without_predecessors).transpose()
        })?;
    }
    Ok(())
}

fn install_hooks(
    draft: &mut Draft<'_>,
    plan: &mut Plan,
    ask: &Ask,
    client: Client,
    program: &Program,
    elsewhere: &Presence,
) -> Result<(), SetupError> {
    if ask.hooks == HookSet::None {
        return Ok(());
    }
    if !elsewhere.hooks.is_empty() && !ask.force {
        plan.warnings.push(format!(
            "{} already has these hooks in the {} scope (`{}`); a second set would fire twice \
             and was left out. `--force` installs it all the same",
            client.title(),
            ask.scope.other().name(),
            elsewhere.hooks_file,
        ));
        return Ok(());
    }
    let theirs = if ask.migrate || ask.force {
        Vec::new()
    } else {
        predecessors(draft.around, client)
    };
    if let [(place, events), ..] = &theirs[..] {
        plan.warnings.push(format!(
            "MemoryForge's scripts run in {} (`{}`: {}); a second set of hooks would brief twice \
             and was left out. `--migrate` replaces theirs, `--force` installs beside them",
            client.title(),
            draft.around.shown(place),
            events.join(", "),
        ));
        return Ok(());
    }
    if client == Client::Copilot && ask.scope == Scope::Project && !ask.force {
        let claude = draft.around.hooks_file(Client::Claude, Scope::Project)?;
        let shared = draft.text(&claude)?.is_some_and(|text| has_hooks(&text));
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
    if client == Client::OpenCode {
        return install_plugin(draft, plan, ask, &place, program);
    }
    if client == Client::Claude && ask.scope == Scope::Project {
        let copilot = found::presence(draft.around, Client::Copilot, Scope::Project);
        if !copilot.hooks.is_empty() && !ask.force {
            plan.warnings.push(
                "Copilot CLI reads `.claude/settings.json` besides `.github/hooks/`, and would \
                 fire twice: run `memory-forge uninstall copilot --scope project`"
                    .to_owned(),
            );
        }
    }
    let wanted = hooks::items(client, ask.hooks, program);
    let is_hook = |item: &Item| item.name.is_none();
    draft.entries(&place, &hooks::seeds(client), is_hook, &wanted)
}

fn install_plugin(
    draft: &mut Draft<'_>,
    plan: &mut Plan,
    ask: &Ask,
    place: &Place,
    program: &Program,
) -> Result<(), SetupError> {
    let edited = draft
        .text(place)?
        .is_some_and(|text| !plugin::is_ours(&text));
    if edited && !ask.force {
        plan.warnings.push(format!(
            "`{}` was edited and is left alone; `--force` writes it anew",
            draft.around.shown(place)
        ));
        return Ok(());
    }
    draft.edit(place, |_| Ok(Some(plugin::text(program))))
}

fn install_skills(
    draft: &mut Draft<'_>,
    plan: &mut Plan,
    ask: &Ask,
    client: Client,
) -> Result<(), SetupError> {
    let files = skills::files(client, ask.scope);
    if files.is_empty() {
        plan.notes
            .push(format!("{} has no place for skills", client.title()));
    }
    for file in files {
        let place = draft.around.place(client, ask.scope, &file.name)?;
        let theirs = draft
            .text(&place)?
            .is_some_and(|text| !skills::is_ours(&text));
        if theirs && !ask.force {
            plan.warnings.push(format!(
                "`{}` was edited and is left alone; `--force` writes it anew",
                draft.around.shown(&place)
            ));
            continue;
        }
        draft.edit(&place, |_| Ok(Some(file.text)))?;
    }
    Ok(())
}

fn install_server(
    draft: &mut Draft<'_>,
    plan: &mut Plan,
    scope: Scope,
    client: Client,
    program: &Program,
) -> Result<(), SetupError> {
    let around = draft.around;
    if client == Client::Copilot && scope == Scope::Project {
        let claude = around.server_file(Client::Claude, Scope::Project)?;
        if draft.text(&claude)?.is_some_and(|text| has_server(&text)) {
            plan.notes
                .push("Copilot CLI reads the server in `.mcp.json` too".to_owned());
            return Ok(());
        }
    }
    let place = around.server_file(client, scope)?;
    let mut foreign = false;
    if client == Client::Codex {
        draft.edit(&place, |file| {
            let there = file.now.map(toml::server).transpose()?;
            foreign = there == Some(toml::Server::Foreign);
            if foreign {
                return Ok(file.now.map(str::to_owned));
            }
            toml::with(file.now, program.word()).map(Some)
        })?;
    } else {
        let item = server_item(client, scope, program);
        if let Some(text) = draft.text(&place)? {
            let found = entries::foreign_server(&text);
            foreign = found.map_err(|broken| around.broken(&place, broken))?;
        }
        if !foreign {
            let is_server = |item: &Item| item.name.is_some();
            draft.entries(&place, &server_seeds(client), is_server, &[item])?;
        }
    }
    if foreign {
        plan.warnings.push(format!(
            "`{}` has a server `{SERVER}` that is not ours; it was left alone",
            around.shown(&place)
        ));
    }
    Ok(())
}

fn server_item(client: Client, scope: Scope, program: &Program) -> Item {
    let word = program.word();
    let (key, value) = match (client, scope) {
        (Client::OpenCode, _) => (
            "mcp",
            json!({"type": "local", "command": [word, "mcp"], "enabled": true}),
        ),
        (Client::Copilot, Scope::User) => (
            "mcpServers",
            json!({"type": "local", "command": word, "args": ["mcp"], "tools": ["*"]}),
        ),
        _ => ("mcpServers", json!({"command": word, "args": ["mcp"]})),
    };
    Item {
        path: vec![key.to_owned()],
        name: Some(SERVER.to_owned()),
        value,
    }
}

fn server_seeds(client: Client) -> Vec<Item> {
    let schema = || Item {
        path: Vec::new(),
        name: Some("$schema".to_owned()),
        value: Value::from("https://opencode.ai/config.json"),
    };
    match client {
        Client::OpenCode => vec![schema()],
        _ => Vec::new(),
    }
}

fn install_stub(
    draft: &mut Draft<'_>,
    plan: &mut Plan,
    ask: &Ask,
    client: Client,
    elsewhere: &Presence,
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
    if is_in_claudes_folder(&place) {
        plan.notes.push(format!(
            "{} finds the lines about memory in `{IN_CLAUDES_FOLDER}` already",
            client.title()
        ));
        return Ok(());
    }
    let creates_agents = draft.text(&place)?.is_none()
        && matches!(&place, Place::Project(path) if path.as_str() == "AGENTS.md");
    if creates_agents && client != Client::Claude && draft.has("CLAUDE.md")? {
        plan.notes
            .push("OpenCode reads `AGENTS.md` instead of `CLAUDE.md` once there is one".to_owned());
    }
    let lines = super::lines_of(draft.around.workspace, ask.scope);
    draft.edit(&place, |file| stub::with(file.now, lines).map(Some))
}

/// Returns the one file that gets the lines for a client, so that clients which
/// read the same file share them.
fn stub_place(
    draft: &mut Draft<'_>,
    client: Client,
    scope: Scope,
) -> Result<Option<Place>, SetupError> {
    let around = draft.around;
    let mut failed = None;
    let read = stub_files_read(around, client, scope, &mut |place| {
        let text = draft.text(place);
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
        if draft.text(place)?.is_some_and(|text| stub::is_in(&text)) {
            return Ok(Some(place.clone()));
        }
    }
    if let Some(first) = read.into_iter().find(|place| !is_in_claudes_folder(place)) {
        return Ok(Some(first));
    }
    if scope == Scope::User {
        return Ok(stub_files(around, client, scope)?.into_iter().next());
    }
    let own = draft.has("CLAUDE.local.md")? || draft.has(IN_CLAUDES_FOLDER)?;
    let name = match client {
        Client::Claude if own || is_below_claudes_own(around) => "CLAUDE.md",
        Client::Gemini => "GEMINI.md",
        _ => "AGENTS.md",
    };
    around.place(client, scope, name).map(Some)
}

/// Returns the files from which a client can take such lines.
fn stub_files(
    around: &Surroundings<'_>,
    client: Client,
    scope: Scope,
) -> Result<Vec<Place>, SetupError> {
    let names: &[&str] = match (client, scope) {
        (Client::Claude, Scope::Project) => &["CLAUDE.md", ".claude/CLAUDE.md", "AGENTS.md"],
        (Client::Codex, Scope::Project) => &["AGENTS.override.md", "AGENTS.md"],
        (Client::OpenCode, Scope::Project) => &["AGENTS.md", "CLAUDE.md"],
        (Client::Gemini, Scope::Project) => &["GEMINI.md", "AGENTS.md"],
        (Client::Copilot, Scope::Project) => &[
            "AGENTS.md",
            "CLAUDE.md",
            "GEMINI.md",
            ".github/copilot-instructions.md",
        ],
        (Client::Cursor, Scope::Project) => &["AGENTS.md"],
        (Client::Claude, Scope::User) => &["CLAUDE.md"],
        (Client::Codex | Client::OpenCode, Scope::User) => &["AGENTS.md"],
        (Client::Gemini, Scope::User) => &["GEMINI.md"],
        (Client::Copilot, Scope::User) => &["copilot-instructions.md"],
        (Client::Cursor, Scope::User) => &[],
    };
    let mut places = Vec::new();
    for name in names {
        places.push(around.place(client, scope, name)?);
    }
    if (client, scope) == (Client::OpenCode, Scope::User) {
        places.push(around.place(Client::Claude, Scope::User, "CLAUDE.md")?);
    }
    Ok(places)
}

/// Returns those of these files that the client reads as the files are now.
/// `text` returns a file's text, or `None`.
pub(super) fn stub_files_read(
    around: &Surroundings<'_>,
    client: Client,
    scope: Scope,
    text: &mut dyn FnMut(&Place) -> Option<String>,
) -> Result<Vec<Place>, SetupError> {
    let all = stub_files(around, client, scope)?;
    let mut there: Vec<Place> = Vec::new();
    for place in all {
        if text(&place).is_some() {
            there.push(place);
        }
    }
    let mut project = |name: &str| -> Result<Option<String>, SetupError> {
        let place = around.place(client, Scope::Project, name)?;
        Ok(text(&place))
    };
    match (client, scope) {
        // Claude Code's own files keep it from reading `AGENTS.md`, unless they
        // import it.
        (Client::Claude, Scope::Project) => {
            let mut own = Vec::new();
            for name in CLAUDES_OWN {
                own.extend(project(name)?);
            }
            if own.iter().any(|text| imports_agents(text)) {
                // Other clients read that one too, so it comes first.
                there.sort_by_key(|place| !is_agents(place));
            } else if !own.is_empty() || is_below_claudes_own(around) {
                there.retain(|place| !is_agents(place));
            }
        }
        (Client::Gemini, Scope::Project) => {
            let settings = project(".gemini/settings.json")?.unwrap_or_default();
            if !lists_agents(&settings) {
                there.retain(|place| !is_agents(place));
            }
        }
        // These clients read the first file alone.
        (Client::Codex, Scope::Project) | (Client::OpenCode, _) => there.truncate(1),
        _ => {}
    }
    Ok(there)
}

fn is_agents(place: &Place) -> bool {
    matches!(place, Place::Project(path) if path.as_str() == "AGENTS.md")
}

/// Files of Claude Code's own. If one of them is in the project, or in a folder
/// above it, Claude Code reads no `AGENTS.md`.
const CLAUDES_OWN: [&str; 3] = ["CLAUDE.md", IN_CLAUDES_FOLDER, "CLAUDE.local.md"];

/// File that Claude Code reads and that people or other tools keep: no lines
/// are added to it.
const IN_CLAUDES_FOLDER: &str = ".claude/CLAUDE.md";

fn is_in_claudes_folder(place: &Place) -> bool {
    matches!(place, Place::Project(path) if path.as_str() == IN_CLAUDES_FOLDER)
}

/// Returns `true` if a folder above the project has such a file. A user's own
/// `~/.claude` does not count, for Claude Code either.
fn is_below_claudes_own(around: &Surroundings<'_>) -> bool {
    let home = around.places.home;
    let above = around.workspace.root().ancestors().skip(1);
    above.take(MAX_FOLDERS_ABOVE).any(|folder| {
        CLAUDES_OWN.iter().any(|name| {
            let is_a_persons = *name == IN_CLAUDES_FOLDER && Some(folder) == home;
            !is_a_persons && folder.join(name).is_file()
        })
    })
}

/// Upper bound for the folders above a project that are searched.
const MAX_FOLDERS_ABOVE: usize = 64;

fn imports_agents(text: &str) -> bool {
    document::parse(text).links.iter().any(|link| {
        let target = link
            .target
            .trim_start_matches("./")
            .trim_start_matches("../");
        link.kind == LinkKind::Import && target == "AGENTS.md"
    })
}

/// Returns `true` if the settings of Gemini CLI name `AGENTS.md`.
fn lists_agents(settings: &str) -> bool {
    let Ok(value) = super::json::read(settings) else {
        return false;
    };
    let names = &value["context"]["fileName"];
    let listed = names.as_array().into_iter().flatten().chain([names]);
    listed
        .filter_map(Value::as_str)
        .any(|name| name == "AGENTS.md")
}

fn uninstall_client(
    draft: &mut Draft<'_>,
    plan: &mut Plan,
    client: Client,
    scope: Scope,
) -> Result<(), SetupError> {
    let around = draft.around;
    let hooks_file = around.hooks_file(client, scope)?;
    let server_file = around.server_file(client, scope)?;
    if client == Client::OpenCode {
        let text = if found::names_us(around, &hooks_file) {
            draft.text(&hooks_file)?
        } else {
            None
        };
        match text {
            Some(text) if plugin::is_ours(&text) => draft.edit(&hooks_file, |_| Ok(None))?,
            Some(_) => plan.warnings.push(format!(
                "`{}` was edited and still runs; delete it if you do not want it",
                around.shown(&hooks_file)
            )),
            None => {}
        }
    } else if found::names_us(around, &hooks_file) {
        draft.entries(&hooks_file, &hooks::seeds(client), |_| true, &[])?;
    }
    for file in skills::files(client, scope) {
        let place = around.place(client, scope, &file.name)?;
        if !found::names_us(around, &place) {
            continue;
        }
        match draft.text(&place)? {
            Some(text) if skills::is_ours(&text) => draft.edit(&place, |_| Ok(None))?,
            Some(_) => plan.warnings.push(format!(
                "`{}` was edited and stays; delete it if you do not want it",
                around.shown(&place)
            )),
            None => {}
        }
    }
    if !found::names_us(around, &server_file) {
        return Ok(());
    }
    if client == Client::Codex {
        return draft.edit(&server_file, |file| match file.now {
            Some(text) => toml::without(text),
            None => Ok(None),
        });
    }
    let seeds = server_seeds(client);
    draft.entries(&server_file, &seeds, |_| true, &[])
}

pub(super) fn has_hooks(text: &str) -> bool {
    let items = entries::ours(text).unwrap_or_default();
    items.iter().any(|item| item.name.is_none())
}

pub(super) fn has_server(text: &str) -> bool {
    let items = entries::ours(text).unwrap_or_default();
    items.iter().any(|item| item.name.is_some())
}

/// Files as they would be after the change, each read once.
struct Draft<'a> {
    around: &'a Surroundings<'a>,
    files: Vec<DraftFile>,
}

struct DraftFile {
    place: Place,
    before: Option<String>,
    now: Option<String>,
    /// State of the file before our entries, as text or as absence; `None` if
    /// unknown.
    record: Option<Option<String>>,
}

/// Input of an edit.
struct View<'a> {
    now: Option<&'a str>,
    record: Option<Option<&'a str>>,
}

impl<'a> Draft<'a> {
    fn new(around: &'a Surroundings<'a>) -> Draft<'a> {
        Draft {
            around,
            files: Vec::new(),
        }
    }

    fn load(&mut self, place: &Place) -> Result<usize, SetupError> {
        if let Some(index) = self.files.iter().position(|file| file.place == *place) {
            return Ok(index);
        }
        let text = self.around.read(place)?;
        // A text without our entries is itself the state before them, and makes
        // an older record obsolete.
        let record = if text.as_deref().is_some_and(has_ours) {
            record(self.around, place)?
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

    fn text(&mut self, place: &Place) -> Result<Option<String>, SetupError> {
        let index = self.load(place)?;
        Ok(self.files[index].now.clone())
    }

    fn project_file(&self, name: &str) -> Result<Place, SetupError> {
        self.around.place(Client::Claude, Scope::Project, name)
    }

    /// Returns `true` if the project has, or would have, a file of this name.
    fn has(&mut self, name: &str) -> Result<bool, SetupError> {
        let place = self.project_file(name)?;
        Ok(self.text(&place)?.is_some())
    }

    fn edit(
        &mut self,
        place: &Place,
        f: impl FnOnce(View<'_>) -> Result<Option<String>, Broken>,
    ) -> Result<(), SetupError> {
        let index = self.load(place)?;
        let file = &mut self.files[index];
        let view = View {
            now: file.now.as_deref(),
            record: file.record.as_ref().map(Option::as_deref),
        };
        let after = f(view).map_err(|broken| self.around.broken(place, broken))?;
        self.files[index].now = after;
        Ok(())
    }

    /// Replaces entries of ours: removes those that `goes` selects, keeps the
    /// others, and adds `wanted`.
    fn entries(
        &mut self,
        place: &Place,
        seeds: &[Item],
        goes: impl Fn(&Item) -> bool,
        wanted: &[Item],
    ) -> Result<(), SetupError> {
        self.edit(place, |file| {
            let there = file.now.map(entries::ours).transpose()?.unwrap_or_default();
            let mut target: Vec<Item> = there.into_iter().filter(|item| !goes(item)).collect();
            target.extend(wanted.iter().cloned());
            // Hooks before servers, the order in which one run adds both.
            target.sort_by_key(|item| item.name.is_some());
            entries::with(file.now, file.record, seeds, &target)
        })
    }

    fn finish(self) -> Vec<PlannedFile> {
        self.files
            .into_iter()
            .filter(|file| file.before != file.now)
            .map(|file| PlannedFile {
                first: !file.before.as_deref().is_some_and(has_ours),
                place: file.place,
                before: file.before,
                after: file.now,
            })
            .collect()
    }
}

/// Returns `true` if a text of any kind has something of ours in it.
fn has_ours(text: &str) -> bool {
    stub::is_in(text)
        || plugin::is_ours(text)
        || skills::is_ours(text)
        || entries::ours(text).is_ok_and(|items| !items.is_empty())
        || toml::server(text) == Ok(toml::Server::Ours)
}

/// Returns the name of the record of a project's file.
fn record_name(path: &RelPath) -> String {
    format!("setup/{}.before.json", path.as_str().replace('/', "__"))
}

/// Returns the state of a file before our entries: from its backup in a home,
/// from the derived files in a project.
fn record(around: &Surroundings<'_>, place: &Place) -> Result<Option<Option<String>>, SetupError> {
    match place {
        Place::User(file) => {
            let backup = file.read_backup()?;
            Ok(backup
                .and_then(|bytes| String::from_utf8(bytes).ok())
                .map(Some))
        }
        Place::Project(path) => {
            // Derived files may be gone, damaged or foreign; the state is
            // unknown then.
            let bytes = around.workspace.read_marked(&record_name(path));
            let value: Option<Value> = bytes.and_then(|it| serde_json::from_slice(&it).ok());
            Ok(value.and_then(|value| match &value["before"] {
                Value::Null => Some(None),
                Value::String(text) => Some(Some(text.clone())),
                _ => None,
            }))
        }
    }
}

impl Surroundings<'_> {
    fn broken(&self, place: &Place, broken: Broken) -> SetupError {
        SetupError::BrokenFile {
            file: self.shown(place),
            broken,
            hint: "Nothing was changed; repair that file and try again",
        }
    }
}

impl Plan {
    /// Writes the changes. Returns the id under which a project's part can be
    /// undone.
    pub fn apply(&self, around: &Surroundings<'_>) -> Result<Option<String>, SetupError> {
        let (mut project, mut user) = (Vec::new(), Vec::new());
        for file in &self.files {
            match &file.place {
                Place::Project(path) => project.push((path, file)),
                Place::User(place) => user.push((place, file)),
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
                workspace.write_marked(&record_name(path), record.as_bytes())?;
            }
        }
        // Compares with the text that was planned from: an edit in between must
        // not be lost.
        let receipt = workspace.change(&self.what, now, |change| {
            for (path, file) in files {
                let there = change.read(path)?;
                if there.as_deref() != file.before.as_deref().map(str::as_bytes) {
                    return Err(Error::ChangedSince {
                        path: workspace.absolute(path),
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
                    (true, _) => Backup::Drop,
                    (false, true) => Backup::Take,
                    (false, false) => Backup::Leave,
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
