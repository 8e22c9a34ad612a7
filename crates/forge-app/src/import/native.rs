//! Imports Claude Code's own memory: the topic files of the project, and those
//! of its agents. Nothing there is changed, and files that were exported from
//! here are skipped.

use std::path::{Path, PathBuf};

use super::land::ImportWriter;
use super::notes::{self, NoteImportSpec, SourceNote};
use super::{ImportError, ImportOptions, ImportReport, derive_file_stem};
use crate::agents::claude::resolve_project_folders;
use crate::document::{self, Document};
use crate::export;
use crate::workspace::{Workspace, read_beyond_workspace};

/// Imports Claude Code's memory of the project; `claude` is its folder,
/// `~/.claude`.
pub fn import_claude_memory(
    workspace: &Workspace,
    claude: &Path,
    options: &ImportOptions,
) -> Result<ImportReport, ImportError> {
    let mut landing = ImportWriter::new(workspace, options)?;
    let memory = claude_memory_folder(workspace, claude);
    let kind = NoteImportSpec {
        source: "claude-memory",
        id: "memory/",
        folder: "knowledge/claude",
        folders: false,
        names: topic_names,
    };
    import_topics(workspace, &memory, &kind, options, &mut landing)?;
    if !memory.is_dir() {
        let why = "Claude Code has no memory of this project";
        landing
            .report
            .add_skipped(memory.display().to_string(), why);
    }
    for (scope, folder) in list_agent_folders(workspace, claude) {
        for agent in list_agents(&folder) {
            let shown = agent
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let Some(name) = derive_file_stem(&shown) else {
                let why = "its name has no letters to name a folder with";
                landing.report.add_skipped(agent.display().to_string(), why);
                continue;
            };
            let kind = NoteImportSpec {
                source: "claude-agent-memory",
                id: &format!("{scope}/{shown}/"),
                folder: &format!(".agents/memory/claude/{name}"),
                folders: false,
                names: topic_names,
            };
            import_topics(workspace, &agent, &kind, options, &mut landing)?;
        }
    }
    landing.finish()
}

/// Returns the folder in which Claude Code keeps the memory of a workspace.
pub fn claude_memory_folder(workspace: &Workspace, claude: &Path) -> PathBuf {
    let name = resolve_project_folders(workspace.root()).memory;
    claude.join("projects").join(name).join("memory")
}

/// Imports the topic files of a folder.
fn import_topics(
    workspace: &Workspace,
    folder: &Path,
    kind: &NoteImportSpec,
    options: &ImportOptions,
    landing: &mut ImportWriter,
) -> Result<(), ImportError> {
    for note in notes::find_notes(folder, options, &mut landing.report) {
        if let Some(why) = reason_not_a_topic(&note) {
            landing
                .report
                .add_skipped(note.file.display().to_string(), why);
            continue;
        }
        notes::import_note(workspace, &note, kind, landing)?;
    }
    Ok(())
}

/// Returns the reason to skip a note: our own export, or an index that only
/// points to other files. Older indexes contain the memory itself and are
/// imported.
fn reason_not_a_topic(note: &SourceNote) -> Option<&'static str> {
    let text = read_beyond_workspace(&note.file, 1 << 20)?;
    if export::is_own_export(&text) {
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
fn list_agent_folders(workspace: &Workspace, claude: &Path) -> Vec<(&'static str, PathBuf)> {
    let project = workspace.root().join(".claude");
    vec![
        ("agent-memory", project.join("agent-memory")),
        ("agent-memory-local", project.join("agent-memory-local")),
        ("agent-memory-user", claude.join("agent-memory")),
    ]
}

/// Lists the folders of agents.
fn list_agents(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|it| it.is_dir()));
    let mut agents: Vec<PathBuf> = folders.map(|entry| entry.path()).collect();
    agents.sort();
    agents
}

/// Returns the name of a topic, by which links mean it.
fn topic_names(document: &Document) -> Vec<String> {
    let front = document.front_matter.as_ref();
    let name = front.and_then(|front| front.text("name"));
    name.map(document::escape_markdown_line)
        .into_iter()
        .collect()
}
