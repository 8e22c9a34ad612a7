//! Detects whether a client's own settings already call us for an event. A
//! plugin's hooks run besides those of the settings, and the model would be
//! briefed twice; so the plugin's call answers nothing. Reads a few small files
//! and never fails.

use std::path::{Path, PathBuf};

use crate::client::AgentClient;
use crate::workspace::regular::{self, LinkPolicy};

use super::payload::HookPayload;
use crate::setup::{ClientPlaces, calls_us};

/// Upper bound for a settings file; a longer file is something else.
const MAX_SETTINGS_BYTES: u64 = 4 << 20;
/// Upper bound for the folders above the session's that are searched.
const MAX_FOLDERS_UP: usize = 32;

/// Folders that decide which settings a client reads in a session.
#[derive(Clone, Copy, Debug, Default)]
pub struct SessionFolders<'a> {
    /// The current directory.
    pub cwd: Option<&'a Path>,
    /// `CLAUDE_PROJECT_DIR`, which Claude Code sets for its hooks.
    pub claude_project_dir: Option<&'a Path>,
    /// The folders of clients in the home.
    pub places: ClientPlaces<'a>,
}

/// Returns `true` if the client's own settings call us for this event.
pub fn settings_call_us(
    client: Option<AgentClient>,
    payload: &HookPayload,
    folders: &SessionFolders<'_>,
) -> bool {
    // The client's own name for the event, under which its settings list it
    // too.
    let Some(event) = payload.text_field(&["hook_event_name", "hookEventName"]) else {
        return false;
    };
    hook_files(client, payload, folders)
        .iter()
        .filter_map(|file| read_small_text(file))
        // Parsing takes longer than searching, and most settings do not mention
        // us.
        .any(|text| text.contains("memory-forge") && calls_us(&text, event))
}

/// Returns the files of hooks that the client reads in this session, without
/// those of plugins.
fn hook_files(
    client: Option<AgentClient>,
    payload: &HookPayload,
    folders: &SessionFolders<'_>,
) -> Vec<PathBuf> {
    let here = payload.text_field(&["cwd"]).map(Path::new).or(folders.cwd);
    let places = folders.places;
    let config_folder = |folder: Option<&Path>, name: &str| {
        let folder = folder.map(Path::to_owned);
        folder.or_else(|| places.home.map(|home| home.join(name)))
    };
    let mut files = Vec::new();
    let mut of = |inside: &[PathBuf], names: &[&str]| {
        for folder in inside {
            files.extend(names.iter().map(|name| folder.join(name)));
        }
    };
    let above = here.map(up_to_repository).unwrap_or_default();
    match client {
        // Claude Code reads the folder that it was started in, and no other.
        None | Some(AgentClient::Claude | AgentClient::OpenCode) => {
            let project = folders.claude_project_dir.or(here).map(Path::to_owned);
            let project: Vec<PathBuf> = project.into_iter().collect();
            of(
                &project,
                &[".claude/settings.json", ".claude/settings.local.json"],
            );
            let own = config_folder(places.claude_config_dir, ".claude");
            of(own.as_slice(), &["settings.json"]);
        }
        Some(AgentClient::Codex) => {
            of(&above, &[".codex/hooks.json"]);
            let own = config_folder(places.codex_home, ".codex");
            of(own.as_slice(), &["hooks.json"]);
        }
        Some(AgentClient::Copilot) => {
            of(
                &above,
                &[
                    ".github/hooks/memory-forge.json",
                    ".claude/settings.json",
                    ".claude/settings.local.json",
                ],
            );
            let own = config_folder(places.copilot_home, ".copilot");
            of(own.as_slice(), &["hooks/memory-forge.json"]);
        }
        Some(AgentClient::Gemini) => {
            of(&above, &[".gemini/settings.json"]);
            let own = config_folder(None, ".gemini");
            of(own.as_slice(), &["settings.json"]);
        }
        Some(AgentClient::Cursor) => of(&above, &[".cursor/hooks.json"]),
    }
    files
}

/// Returns the folders from this one up to the repository's root.
fn up_to_repository(folder: &Path) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for folder in folder.ancestors().take(MAX_FOLDERS_UP) {
        folders.push(folder.to_owned());
        if folder.join(".git").exists() {
            return folders;
        }
    }
    // Without a repository only the folder itself counts.
    folders.truncate(1);
    folders
}

fn read_small_text(path: &Path) -> Option<String> {
    regular::read_text(path, LinkPolicy::Follow, MAX_SETTINGS_BYTES).ok()
}
