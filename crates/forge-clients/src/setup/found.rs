//! Detects what is there already: clients, what `setup` installed for them, and
//! other tools that remember. It only looks, and treats what it cannot read as
//! missing.

use std::path::{Path, PathBuf};

use crate::workspace::regular::{self, Links};
use crate::workspace::{MAX_OUTSIDE_BYTES, RelPath};
use serde_json::Value;

use super::hooks::{EVENTS, name_in};
use super::{
    Client, ClientPlaces, Place, Scope, Surroundings, entries, json, plan, plugin, stub, toml,
};

/// Installation for a client in a scope.
#[derive(Clone, Debug, Default)]
pub struct Presence {
    /// Events by our names, in our order.
    pub hooks: Vec<&'static str>,
    /// The file that hooks are kept in, as people write it.
    pub hooks_file: String,
    /// Whether our MCP server is registered.
    pub server: bool,
    /// Whether it runs the hooks of Claude Code's file.
    pub shares_hooks: bool,
    /// The file that has the lines about memory.
    pub stub: Option<String>,
}

impl Presence {
    /// Returns whether neither hooks nor the server are installed.
    pub fn is_empty_but_for_stub(&self) -> bool {
        self.hooks.is_empty() && !self.server
    }
}

/// Another memory tool that may be at work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Other {
    /// File or setting by which it was recognised.
    pub system: &'static str,
    /// The file or the setting that it was recognised by.
    pub evidence: String,
    /// Expectation for both tools at once.
    pub note: &'static str,
}

/// Finds a program of this name on the `PATH`.
pub fn on_path(places: ClientPlaces<'_>, name: &str) -> Option<PathBuf> {
    let file = if cfg!(windows) {
        format!("{name}.exe")
    } else {
        name.to_owned()
    };
    let found = places.path.iter().map(|folder| folder.join(&file));
    found.into_iter().find(|path| path.is_file())
}

/// Returns the clients that seem to be in use here, each with the reason.
pub fn clients(around: &Surroundings<'_>) -> Vec<(Client, String)> {
    let mut found = Vec::new();
    for client in Client::ALL {
        let program = match client {
            Client::Cursor => "cursor",
            other => other.name(),
        };
        let in_project: &[&str] = match client {
            Client::Claude => &[".claude", "CLAUDE.md"],
            Client::Codex => &[".codex"],
            Client::OpenCode => &[".opencode", "opencode.json", "opencode.jsonc"],
            Client::Gemini => &[".gemini", "GEMINI.md"],
            Client::Copilot => &[".github/copilot-instructions.md", ".github/hooks"],
            Client::Cursor => &[".cursor"],
        };
        let root = around.workspace.root();
        let in_project = in_project.iter().find(|name| root.join(name).exists());
        let in_home = around.home_of(client).ok().map(|(_, folder)| folder);
        let in_home = in_home.filter(|folder| folder.is_dir());
        let why = if let Some(path) = on_path(around.places, program) {
            format!("`{}`", path.display())
        } else if let Some(name) = in_project {
            format!("`{name}`")
        } else if let Some(folder) = in_home {
            format!("`{}`", folder.display())
        } else {
            continue;
        };
        found.push((client, why));
    }
    found
}

/// Returns what is installed for a client in a scope.
pub fn presence(around: &Surroundings<'_>, client: Client, scope: Scope) -> Presence {
    let mut presence = Presence::default();
    if let Ok(place) = around.hooks_file(client, scope) {
        presence.hooks_file = around.shown(&place);
        let text = peek(around, &place).unwrap_or_default();
        let known = |name: &str| EVENTS.iter().find(|e| name_in(client, e) == Some(name));
        if client == Client::OpenCode {
            if plugin::is_ours(&text) {
                let events = EVENTS.iter().filter(|e| name_in(client, e).is_some());
                presence.hooks = events.map(|event| event.name).collect();
            }
        } else {
            let items = entries::ours(&text).unwrap_or_default();
            let names = items.iter().filter(|item| item.name.is_none());
            let names = names.filter_map(|item| item.path.last());
            presence.hooks = names
                .filter_map(|n| known(n))
                .map(|event| event.name)
                .collect();
        }
    }
    if (client, scope) == (Client::Copilot, Scope::Project) {
        let claude = around.hooks_file(Client::Claude, scope).ok();
        let text = claude.and_then(|place| peek(around, &place));
        presence.shares_hooks = text.is_some_and(|text| plan::has_hooks(&text));
    }
    if let Ok(place) = around.server_file(client, scope) {
        let text = peek(around, &place).unwrap_or_default();
        presence.server = if client == Client::Codex {
            toml::server(&text) == Ok(toml::Server::Ours)
        } else {
            plan::has_server(&text)
        };
    }
    let mut text = |place: &Place| peek(around, place);
    let stubs = plan::stub_files_read(around, client, scope, &mut text).unwrap_or_default();
    presence.stub = stubs
        .iter()
        .find(|place| peek(around, place).is_some_and(|text| stub::is_in(&text)))
        .map(|place| around.shown(place));
    presence
}

/// Program that a client is to call and that is missing. Its hooks stay silent
/// then, by design, and nothing is remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The client whose settings call it.
    pub client: Client,
    /// The file that names it.
    pub file: String,
    /// Path, or name that is not on the `PATH`.
    pub program: String,
}

/// Finds missing programs that our entries in clients' files call.
pub fn missing_programs(around: &Surroundings<'_>) -> Vec<Missing> {
    let mut missing: Vec<Missing> = Vec::new();
    for client in Client::ALL {
        for scope in Scope::ALL {
            let files = [
                around.hooks_file(client, scope),
                around.server_file(client, scope),
            ];
            for place in files.into_iter().flatten() {
                let text = peek(around, &place).unwrap_or_default();
                let mut programs = entries::programs(&text);
                programs.extend(plugin::program_of(&text));
                programs.extend(toml::program(&text));
                for program in programs {
                    let one = Missing {
                        client,
                        file: around.shown(&place),
                        program,
                    };
                    if !is_there(around.places, &one.program) && !missing.contains(&one) {
                        missing.push(one);
                    }
                }
            }
        }
    }
    missing
}

fn is_there(places: ClientPlaces<'_>, program: &str) -> bool {
    if program.contains(['/', '\\']) {
        Path::new(program).is_file()
    } else {
        on_path(places, program.trim_end_matches(".exe")).is_some()
    }
}

/// Returns steps that people must take themselves before a client runs
/// anything.
pub fn advice(client: Client, scope: Scope) -> impl Iterator<Item = &'static str> {
    let advice = match (client, scope) {
        (Client::Claude, Scope::Project) => Some(
            "Claude Code holds a project's hooks until you trust the folder: start `claude` here \
             once and agree",
        ),
        (Client::Codex, Scope::Project) => Some(
            "Codex skips new hooks in silence until you trust the folder and the hooks: start \
             `codex` here, agree, open `/hooks` and review them; again after each change",
        ),
        (Client::Codex, Scope::User) => Some(
            "Codex skips new hooks in silence until you trust them: start `codex`, open `/hooks` \
             and review them; again after each change",
        ),
        (Client::Gemini, Scope::Project) => Some(
            "Gemini CLI reads a project's settings only in folders that you trust: start `gemini` \
             here once and agree",
        ),
        (Client::Copilot, Scope::Project) => Some(
            "Copilot CLI runs a project's hooks only in folders that you trust: start `copilot` \
             here once and agree",
        ),
        (Client::OpenCode, _) => Some(
            "OpenCode fetches its own plugin package when it first sees a plugin; without a \
             network that one start takes minutes",
        ),
        _ => None,
    };
    advice.into_iter()
}

/// Finds other memory tools in the project or the home.
pub fn others(around: &Surroundings<'_>) -> Vec<Other> {
    let mut found = Vec::new();
    let root = around.workspace.root();
    let mut note = |system, evidence: String, note| {
        if !found.iter().any(|other: &Other| other.system == system) {
            found.push(Other {
                system,
                evidence,
                note,
            });
        }
    };
    const BESIDE: &str = "works beside us; both brief the model at the start, so you pay twice";
    const FILES: &str = "only files; they stay as they are";
    const PREDECESSOR: &str = "its hooks and ours would both brief; `memory-forge setup --migrate` \
                               replaces its entries and keeps `.mind/`";
    let marks: [(&str, &str, &str); 9] = [
        (".claude-mem", "claude-mem", BESIDE),
        (".claude-memory", "claude-mem", BESIDE),
        (".claude/ledger", "Continuous-Claude", BESIDE),
        (".ledger", "Continuous-Claude", BESIDE),
        (".toon", "super-claude-kit", BESIDE),
        ("TOON.md", "super-claude-kit", BESIDE),
        (".claude/cognitive", "claude-cognitive", BESIDE),
        ("memory-bank", "memory-bank", FILES),
        (".memoryforge-version", "MemoryForge scripts", PREDECESSOR),
    ];
    for (path, system, text) in marks {
        if root.join(path).exists() {
            note(system, path.to_owned(), text);
        }
    }
    for name in ["CLAUDE.md", "AGENTS.md"] {
        let text = RelPath::new(name).ok().map(Place::Project);
        let text = text
            .and_then(|place| peek(around, &place))
            .unwrap_or_default();
        if text.contains("# The Mind Protocol") {
            let evidence = format!("{name}: The Mind Protocol");
            note(
                "Mind Protocol",
                evidence,
                "the same `.mind/` files are used; the section can go, as hooks do its work",
            );
        }
    }
    for client in Client::ALL {
        for scope in Scope::ALL {
            let files = [
                around.hooks_file(client, scope),
                around.server_file(client, scope),
            ];
            for place in files.into_iter().flatten() {
                let Some(text) = peek(around, &place) else {
                    continue;
                };
                for (system, word) in mentions(&text) {
                    let evidence = format!("{}: {word}", around.shown(&place));
                    let text = match system {
                        "MemoryForge scripts" => PREDECESSOR,
                        _ => BESIDE,
                    };
                    note(system, evidence, text);
                }
            }
        }
    }
    found
}

/// Returns tools that a client's settings name in servers, hooks or plugins.
fn mentions(text: &str) -> Vec<(&'static str, String)> {
    const TOOLS: [(&str, &str); 11] = [
        ("claude-mem", "claude-mem"),
        ("mem0", "mem0"),
        ("basic-memory", "basic-memory"),
        ("server-memory", "MCP memory server"),
        ("supermemory", "supermemory"),
        ("mempalace", "MemPalace"),
        ("cognee", "cognee"),
        ("hindsight", "hindsight"),
        ("memsearch", "memsearch"),
        ("scripts/hooks/session-start", "MemoryForge scripts"),
        ("memory-mcp/", "MemoryForge scripts"),
    ];
    let mut words = Vec::new();
    if let Ok(value) = json::read(text) {
        for key in ["hooks", "mcpServers", "mcp", "enabledPlugins", "plugin"] {
            strings(&value[key], &mut words);
        }
    } else {
        // TOML: the lines that name servers and commands.
        words.extend(
            text.lines()
                .filter(|l| l.contains("mcp_servers") || l.contains("command"))
                .map(str::to_owned),
        );
    }
    let mut found = Vec::new();
    for (needle, system) in TOOLS {
        if let Some(word) = words
            .iter()
            .find(|word| word.to_lowercase().contains(needle))
        {
            found.push((system, word.trim().to_owned()));
        }
    }
    found
}

/// Collects every key and every text below a value.
fn strings(value: &Value, words: &mut Vec<String>) {
    match value {
        Value::String(text) => words.push(text.clone()),
        Value::Array(list) => list.iter().for_each(|value| strings(value, words)),
        Value::Object(map) => {
            for (key, value) in map {
                words.push(key.clone());
                strings(value, words);
            }
        }
        _ => {}
    }
}

/// Returns `true` if a file mentions us at all. One that does not is left
/// alone, even if it is broken or behind a link.
pub(super) fn names_us(around: &Surroundings<'_>, place: &Place) -> bool {
    let bytes = look(around, place).unwrap_or_default();
    bytes.windows(NAME.len()).any(|part| part == NAME)
}

const NAME: &[u8] = b"memory-forge";

/// Returns a file's text for inspection only; an unreadable file counts as
/// missing.
pub(super) fn peek(around: &Surroundings<'_>, place: &Place) -> Option<String> {
    String::from_utf8(look(around, place)?).ok()
}

/// Returns the bytes of a file for inspection only. Links in the home are the
/// user's own arrangement and are followed; those of a project must stay inside
/// it.
fn look(around: &Surroundings<'_>, place: &Place) -> Option<Vec<u8>> {
    match place {
        Place::Project(path) => around.workspace.read_at_most(path, MAX_PROJECT_BYTES).ok(),
        Place::User(file) => regular::read(&file.path, Links::Follow, MAX_OUTSIDE_BYTES).ok(),
    }
}

/// Upper bound for a project's settings and instructions.
const MAX_PROJECT_BYTES: u64 = 1 << 20;
