//! Imports Claude Code's own memory: the topic files of the project, and those
//! of its agents. Nothing there is changed, and files that were exported from
//! here are skipped.

use std::path::{Path, PathBuf};

use super::land::Landing;
use super::notes::{self, Kind, Note};
use super::{Error, Options, Report, name_from};
use crate::agents::claude::project_folders;
use crate::document::{self, Document};
use crate::export;
use crate::workspace::{Workspace, read_beyond};

/// Imports Claude Code's memory of the project; `claude` is its folder,
/// `~/.claude`.
pub fn run(workspace: &Workspace, claude: &Path, options: &Options) -> Result<Report, Error> {
    let mut landing = Landing::new(workspace, options)?;
    let memory = memory_folder(workspace, claude);
    let kind = Kind {
        source: "claude-memory",
        id: "memory/",
        folder: "knowledge/claude",
        folders: false,
        names,
    };
    topics(workspace, &memory, &kind, options, &mut landing)?;
    if !memory.is_dir() {
        let why = "Claude Code has no memory of this project";
        landing.report.skip(memory.display().to_string(), why);
    }
    for (scope, folder) in agent_folders(workspace, claude) {
        for agent in agents(&folder) {
            let shown = agent
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let Some(name) = name_from(&shown) else {
                let why = "its name has no letters to name a folder with";
                landing.report.skip(agent.display().to_string(), why);
                continue;
            };
            let kind = Kind {
                source: "claude-agent-memory",
                id: &format!("{scope}/{shown}/"),
                folder: &format!(".agents/memory/claude/{name}"),
                folders: false,
                names,
            };
            topics(workspace, &agent, &kind, options, &mut landing)?;
        }
    }
    landing.finish()
}

/// Returns the folder in which Claude Code keeps the memory of a workspace.
pub fn memory_folder(workspace: &Workspace, claude: &Path) -> PathBuf {
    let name = project_folders(workspace.root()).memory;
    claude.join("projects").join(name).join("memory")
}

/// Imports the topic files of a folder.
fn topics(
    workspace: &Workspace,
    folder: &Path,
    kind: &Kind,
    options: &Options,
    landing: &mut Landing,
) -> Result<(), Error> {
    for note in notes::below(folder, options, &mut landing.report) {
        if let Some(why) = not_a_topic(&note) {
            landing.report.skip(note.file.display().to_string(), why);
            continue;
        }
        notes::place(workspace, &note, kind, landing)?;
    }
    Ok(())
}

/// Returns the reason to skip a note: our own export, or an index that only
/// points to other files. Older indexes contain the memory itself and are
/// imported.
fn not_a_topic(note: &Note) -> Option<&'static str> {
    let text = read_beyond(&note.file, 1 << 20)?;
    if export::is_ours(&text) {
        return Some("it was exported from here");
    }
    let is_pointer = |line: &str| {
        let line = line.trim();
        line.is_empty()
            || line.starts_with('#')
            || (line.starts_with("- [") || line.starts_with("* [")) && line.contains(".md)")
    };
    let index = note.name.ends_with("MEMORY.md") && text.lines().all(is_pointer);
    index.then_some("it only points to the other files")
}

/// Returns the folders of agents' memories by scope: shared with the project,
/// local to it, and the user's own.
fn agent_folders(workspace: &Workspace, claude: &Path) -> Vec<(&'static str, PathBuf)> {
    let project = workspace.root().join(".claude");
    vec![
        ("agent-memory", project.join("agent-memory")),
        ("agent-memory-local", project.join("agent-memory-local")),
        ("agent-memory-user", claude.join("agent-memory")),
    ]
}

/// Lists the folders of agents.
fn agents(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|it| it.is_dir()));
    let mut agents: Vec<PathBuf> = folders.map(|entry| entry.path()).collect();
    agents.sort();
    agents
}

/// Returns the name of a topic, by which links mean it.
fn names(document: &Document) -> Vec<String> {
    let front = document.front_matter.as_ref();
    let name = front.and_then(|front| front.text("name"));
    name.map(document::inert_line).into_iter().collect()
}
