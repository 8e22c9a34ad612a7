//! Finds transcripts: the named ones, or those that clients keep of a
//! workspace. It reads names and first lines, and follows no link.

use std::path::{Path, PathBuf};

use super::super::{ImportError, ImportReport};
use super::{ClientHomes, codex};
use crate::agents::claude::resolve_project_folders;
use crate::workspace::Workspace;

/// A transcript to import.
pub(super) struct FoundTranscript {
    pub(super) path: PathBuf,
    /// Whether the caller named the file itself, and not its folder.
    pub(super) explicit: bool,
}

/// Finds the named transcripts: files, and all files in named folders.
pub(super) fn find_named(
    paths: &[PathBuf],
    report: &mut ImportReport,
) -> Result<Vec<FoundTranscript>, ImportError> {
    let mut found = Vec::new();
    for path in paths {
        if path.is_dir() {
            found.extend(find_below(path, report));
        } else if path.exists() {
            found.push(FoundTranscript {
                path: path.clone(),
                explicit: true,
            });
        } else {
            return Err(ImportError::Missing { path: path.clone() });
        }
    }
    Ok(found)
}

/// Finds the transcripts of the workspace.
pub(super) fn find_for_workspace(
    workspace: &Workspace,
    homes: &ClientHomes,
    report: &mut ImportReport,
) -> Vec<FoundTranscript> {
    let mut found = Vec::new();
    let root = workspace.root();
    if let Some(claude) = &homes.claude {
        let folders = resolve_project_folders(root);
        let mut names = vec![folders.sessions, folders.memory];
        names.dedup();
        for name in names {
            found.extend(find_below(&claude.join("projects").join(name), report));
        }
    }
    if let Some(codex) = &homes.codex {
        // Codex keeps the sessions of all projects in one place.
        let mut other = find_below(&codex.join("sessions"), report);
        other.retain(|it| codex::is_session_of(&it.path, root));
        found.extend(other);
    }
    if found.is_empty() {
        let folders = [&homes.claude, &homes.codex].into_iter().flatten();
        for folder in folders {
            report.add_skipped(
                folder.display().to_string(),
                "it has no session of this project",
            );
        }
    }
    found
}

/// Levels of folders, enough for `sessions/2026/11/15/`.
const MAX_FOLDER_DEPTH: usize = 8;
const MAX_FOLDER_ENTRIES: usize = 200_000;

/// Finds every `.jsonl` file in a folder, without those of sub-agents, whose
/// work is an entry of the session that called them. Links are not followed.
fn find_below(folder: &Path, report: &mut ImportReport) -> Vec<FoundTranscript> {
    let mut found = Vec::new();
    let mut folders = vec![(folder.to_path_buf(), MAX_FOLDER_DEPTH)];
    let (mut entries_seen, mut helpers) = (0, 0);
    while let Some((folder, depth)) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries.flatten() {
            entries_seen += 1;
            if entries_seen > MAX_FOLDER_ENTRIES {
                report.add_skipped(
                    folder.display().to_string(),
                    "there are too many files in it",
                );
                return found;
            }
            let path = entry.path();
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if kind.is_dir() && depth > 0 {
                folders.push((path, depth - 1));
            } else if kind.is_file() && path.extension().is_some_and(|it| it == "jsonl") {
                if file_name_of(&path).starts_with("agent-") {
                    helpers += 1
                } else {
                    found.push(FoundTranscript {
                        path,
                        explicit: false,
                    })
                }
            }
        }
    }
    if helpers > 0 {
        let what = format!("{}: agent-*.jsonl ({helpers})", folder.display());
        report.add_skipped(what, "subagents are part of the session that called them; name the file of one to import it alone");
    }
    found
}

/// Returns the name of a file.
pub(super) fn file_name_of(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}
