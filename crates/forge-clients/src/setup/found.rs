//! Detects what is there already: clients, what `setup` installed for them, and
//! other tools that remember. It only looks, and treats what it cannot read as
//! missing.

use std::path::{Path, PathBuf};

use crate::workspace::regular::{self, LinkPolicy};
use crate::workspace::{MAX_OUTSIDE_BYTES, RelPath};
use serde_json::Value;

use forge_store::system;

use super::hooks::{HOOK_EVENTS, client_event_name};
use super::{
    AgentClient, ClientFile, ClientPlaces, SetupScope, SetupSurroundings, entries, json, plan,
    plugin, stub, toml,
};

/// Installation for a client in a scope.
#[derive(Clone, Debug, Default)]
pub struct ClientPresence {
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

impl ClientPresence {
    /// Returns whether neither hooks nor the server are installed.
    pub fn is_empty_but_for_stub(&self) -> bool {
        self.hooks.is_empty() && !self.server
    }
}

/// Another memory tool that may be at work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherMemory {
    /// File or setting by which it was recognised.
    pub system: &'static str,
    /// The file or the setting that it was recognised by.
    pub evidence: String,
    /// Expectation for both tools at once.
    pub note: &'static str,
}

/// Finds a program of this name on the `PATH`.
pub fn find_on_path(places: ClientPlaces<'_>, name: &str) -> Option<PathBuf> {
    let file = system::program_file_name(name);
    let found = places.path.iter().map(|folder| folder.join(&file));
    found.into_iter().find(|path| path.is_file())
}

/// Returns the clients that seem to be in use here, each with the reason.
pub fn detect_clients(around: &SetupSurroundings<'_>) -> Vec<(AgentClient, String)> {
    let mut found = Vec::new();
    for client in AgentClient::ALL {
        let program = match client {
            AgentClient::Cursor => "cursor",
            other => other.name(),
        };
        let in_project: &[&str] = match client {
            AgentClient::Claude => &[".claude", "CLAUDE.md"],
            AgentClient::Codex => &[".codex"],
            AgentClient::OpenCode => &[".opencode", "opencode.json", "opencode.jsonc"],
            AgentClient::Gemini => &[".gemini", "GEMINI.md"],
            AgentClient::Copilot => &[".github/copilot-instructions.md", ".github/hooks"],
            AgentClient::Cursor => &[".cursor"],
        };
        let root = around.workspace.root();
        let in_project = in_project.iter().find(|name| root.join(name).exists());
        let in_home = around.client_folder(client).ok().map(|(_, folder)| folder);
        let in_home = in_home.filter(|folder| folder.is_dir());
        let why = if let Some(path) = find_on_path(around.places, program) {
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
pub fn client_presence(
    around: &SetupSurroundings<'_>,
    client: AgentClient,
    scope: SetupScope,
) -> ClientPresence {
    let mut presence = ClientPresence::default();
    if let Ok(place) = around.hooks_file(client, scope) {
        presence.hooks_file = around.display_path(&place);
        let text = peek_text(around, &place).unwrap_or_default();
        let known = |name: &str| {
            HOOK_EVENTS
                .iter()
                .find(|e| client_event_name(client, e) == Some(name))
        };
        if client == AgentClient::OpenCode {
            if plugin::is_our_plugin(&text) {
                let events = HOOK_EVENTS
                    .iter()
                    .filter(|e| client_event_name(client, e).is_some());
                presence.hooks = events.map(|event| event.name).collect();
            }
        } else {
            let items = entries::our_entries(&text).unwrap_or_default();
            let names = items.iter().filter(|item| item.name.is_none());
            let names = names.filter_map(|item| item.path.last());
            presence.hooks = names
                .filter_map(|n| known(n))
                .map(|event| event.name)
                .collect();
        }
    }
    if (client, scope) == (AgentClient::Copilot, SetupScope::Project) {
        let claude = around.hooks_file(AgentClient::Claude, scope).ok();
        let text = claude.and_then(|place| peek_text(around, &place));
        presence.shares_hooks = text.is_some_and(|text| plan::has_hooks(&text));
    }
    if let Ok(place) = around.server_file(client, scope) {
        let text = peek_text(around, &place).unwrap_or_default();
        presence.server = if client == AgentClient::Codex {
            toml::server_table(&text) == Ok(toml::ServerTable::Ours)
        } else {
            plan::has_server(&text)
        };
    }
    let mut text = |place: &ClientFile| peek_text(around, place);
    let stubs = plan::stub_files_in_use(around, client, scope, &mut text).unwrap_or_default();
    presence.stub = stubs
        .iter()
        .find(|place| peek_text(around, place).is_some_and(|text| stub::has_stub(&text)))
        .map(|place| around.display_path(place));
    presence
}

/// Program that a client is to call and that is missing. Its hooks stay silent
/// then, by design, and nothing is remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingProgram {
    /// The client whose settings call it.
    pub client: AgentClient,
    /// The file that names it.
    pub file: String,
    /// Path, or name that is not on the `PATH`.
    pub program: String,
}

/// Finds missing programs that our entries in clients' files call.
pub fn find_missing_programs(around: &SetupSurroundings<'_>) -> Vec<MissingProgram> {
    let mut missing: Vec<MissingProgram> = Vec::new();
    for client in AgentClient::ALL {
        for scope in SetupScope::ALL {
            let files = [
                around.hooks_file(client, scope),
                around.server_file(client, scope),
            ];
            for place in files.into_iter().flatten() {
                let text = peek_text(around, &place).unwrap_or_default();
                let mut programs = entries::called_programs(&text);
                programs.extend(plugin::plugin_program(&text));
                programs.extend(toml::server_program(&text));
                for program in programs {
                    let one = MissingProgram {
                        client,
                        file: around.display_path(&place),
                        program,
                    };
                    if !program_exists(around.places, &one.program) && !missing.contains(&one) {
                        missing.push(one);
                    }
                }
            }
        }
    }
    missing
}

fn program_exists(places: ClientPlaces<'_>, program: &str) -> bool {
    if program.contains(['/', '\\']) {
        Path::new(program).is_file()
    } else {
        find_on_path(places, program.trim_end_matches(".exe")).is_some()
    }
}

/// Returns steps that people must take themselves before a client runs
/// anything.
pub fn setup_advice(client: AgentClient, scope: SetupScope) -> impl Iterator<Item = &'static str> {
    let advice = match (client, scope) {
        (AgentClient::Claude, SetupScope::Project) => Some(
            "Claude Code holds a project's hooks until you trust the folder: start `claude` here \
             once and agree",
        ),
        (AgentClient::Codex, SetupScope::Project) => Some(
            "Codex skips new hooks in silence until you trust the folder and the hooks: start \
             `codex` here, agree, open `/hooks` and review them; again after each change",
        ),
        (AgentClient::Codex, SetupScope::User) => Some(
            "Codex skips new hooks in silence until you trust them: start `codex`, open `/hooks` \
             and review them; again after each change",
        ),
        (AgentClient::Gemini, SetupScope::Project) => Some(
            "Gemini CLI reads a project's settings only in folders that you trust: start `gemini` \
             here once and agree",
        ),
        (AgentClient::Copilot, SetupScope::Project) => Some(
            "Copilot CLI runs a project's hooks only in folders that you trust: start `copilot` \
             here once and agree",
        ),
        (AgentClient::OpenCode, _) => Some(
            "OpenCode fetches its own plugin package when it first sees a plugin; without a \
             network that one start takes minutes",
        ),
        _ => None,
    };
    advice.into_iter()
}

/// Finds other memory tools in the project or the home.
pub fn find_other_memories(around: &SetupSurroundings<'_>) -> Vec<OtherMemory> {
    let mut found = Vec::new();
    let root = around.workspace.root();
    let mut note = |system, evidence: String, note| {
        if !found
            .iter()
            .any(|other: &OtherMemory| other.system == system)
        {
            found.push(OtherMemory {
                system,
                evidence,
                note,
            });
        }
    };
    const RUNS_IN_PARALLEL_NOTE: &str = "both brief the model at the start, so you pay twice";
    const FILES_ONLY_NOTE: &str = "only files; they stay as they are";
    const PREDECESSOR_NOTE: &str = "its hooks and ours would both brief; `memory-forge setup --migrate` \
                               replaces its entries and keeps `.mind/`";
    let marks: [(&str, &str, &str); 9] = [
        (".claude-mem", "claude-mem", RUNS_IN_PARALLEL_NOTE),
        (".claude-memory", "claude-mem", RUNS_IN_PARALLEL_NOTE),
        (".claude/ledger", "Continuous-Claude", RUNS_IN_PARALLEL_NOTE),
        (".ledger", "Continuous-Claude", RUNS_IN_PARALLEL_NOTE),
        (".toon", "super-claude-kit", RUNS_IN_PARALLEL_NOTE),
        ("TOON.md", "super-claude-kit", RUNS_IN_PARALLEL_NOTE),
        (
            ".claude/cognitive",
            "claude-cognitive",
            RUNS_IN_PARALLEL_NOTE,
        ),
        ("memory-bank", "memory-bank", FILES_ONLY_NOTE),
        (
            ".memoryforge-version",
            "MemoryForge scripts",
            PREDECESSOR_NOTE,
        ),
    ];
    for (path, system, text) in marks {
        if root.join(path).exists() {
            note(system, path.to_owned(), text);
        }
    }
    for name in ["CLAUDE.md", "AGENTS.md"] {
        let text = RelPath::new(name).ok().map(ClientFile::Project);
        let text = text
            .and_then(|place| peek_text(around, &place))
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
    for client in AgentClient::ALL {
        for scope in SetupScope::ALL {
            let files = [
                around.hooks_file(client, scope),
                around.server_file(client, scope),
            ];
            for place in files.into_iter().flatten() {
                let Some(text) = peek_text(around, &place) else {
                    continue;
                };
                for (system, word) in mentioned_tools(&text) {
                    let evidence = format!("{}: {word}", around.display_path(&place));
                    let text = match system {
                        "MemoryForge scripts" => PREDECESSOR_NOTE,
                        _ => RUNS_IN_PARALLEL_NOTE,
                    };
                    note(system, evidence, text);
                }
            }
        }
    }
    found
}

/// Returns tools that a client's settings name in servers, hooks or plugins.
fn mentioned_tools(text: &str) -> Vec<(&'static str, String)> {
    const KNOWN_TOOLS: [(&str, &str); 11] = [
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
    if let Ok(value) = json::read_value(text) {
        for key in ["hooks", "mcpServers", "mcp", "enabledPlugins", "plugin"] {
            collect_strings(&value[key], &mut words);
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
    for (needle, system) in KNOWN_TOOLS {
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
fn collect_strings(value: &Value, words: &mut Vec<String>) {
    match value {
        Value::String(text) => words.push(text.clone()),
        Value::Array(list) => list.iter().for_each(|value| collect_strings(value, words)),
        Value::Object(map) => {
            for (key, value) in map {
                words.push(key.clone());
                collect_strings(value, words);
            }
        }
        _ => {}
    }
}

/// Returns `true` if a file mentions us at all. One that does not is left
/// alone, even if it is broken or behind a link.
pub(super) fn mentions_us(around: &SetupSurroundings<'_>, place: &ClientFile) -> bool {
    let bytes = peek_bytes(around, place).unwrap_or_default();
    bytes
        .windows(PROGRAM_NAME.len())
        .any(|part| part == PROGRAM_NAME)
}

const PROGRAM_NAME: &[u8] = b"memory-forge";

/// Returns a file's text for inspection only; an unreadable file counts as
/// missing.
pub(super) fn peek_text(around: &SetupSurroundings<'_>, place: &ClientFile) -> Option<String> {
    String::from_utf8(peek_bytes(around, place)?).ok()
}

/// Returns the bytes of a file for inspection only. Links in the home are the
/// user's own arrangement and are followed; those of a project must stay inside
/// it.
fn peek_bytes(around: &SetupSurroundings<'_>, place: &ClientFile) -> Option<Vec<u8>> {
    match place {
        ClientFile::Project(path) => around
            .workspace
            .read_up_to_limit(path, MAX_PROJECT_FILE_BYTES)
            .ok(),
        ClientFile::User(file) => {
            regular::read_regular(&file.path, LinkPolicy::Follow, MAX_OUTSIDE_BYTES).ok()
        }
    }
}

/// Upper bound for a project's settings and instructions.
const MAX_PROJECT_FILE_BYTES: u64 = 1 << 20;
