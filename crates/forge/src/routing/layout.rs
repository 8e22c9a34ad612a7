//! Where the files of a workspace with a manifest lie: what its Config table
//! says, else the usual place, else a file of that name elsewhere. Looks at
//! names, and never creates anything.

use std::fs;

use super::manifest::Manifest;
use crate::workspace::{RelPath, Workspace};

/// A file that every session reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StateFile {
    Status,
    SessionLog,
    Decisions,
    Glossary,
    Ideas,
}

impl StateFile {
    pub const ALL: [StateFile; 5] = [
        StateFile::Status,
        StateFile::SessionLog,
        StateFile::Decisions,
        StateFile::Glossary,
        StateFile::Ideas,
    ];

    /// As the Config table calls it.
    pub fn key(self) -> &'static str {
        match self {
            StateFile::Status => "status",
            StateFile::SessionLog => "session-log",
            StateFile::Decisions => "decisions",
            StateFile::Glossary => "glossary",
            StateFile::Ideas => "ideas",
        }
    }

    /// The usual places, the first of them for new files.
    fn usual(self) -> &'static [&'static str] {
        match self {
            StateFile::Status => &["memory/status.md"],
            StateFile::SessionLog => &["memory/session-log.md"],
            StateFile::Decisions => &["memory/decisions.md"],
            StateFile::Glossary => &["memory/glossary.md"],
            StateFile::Ideas => &["scratch/ideas.md", "ideas.md"],
        }
    }
}

/// Where a file is, or would be made.
pub fn resolve(workspace: &Workspace, manifest: Option<&Manifest>, file: StateFile) -> RelPath {
    let usual = || file.usual().iter().map(|path| known(path));
    let there = |path: &RelPath| workspace.absolute(path).is_file();
    configured(workspace, manifest, file)
        .or_else(|| usual().find(there))
        .or_else(|| by_name(workspace, &format!("{}.md", file.key())))
        .unwrap_or_else(|| known(file.usual()[0]))
}

fn configured(
    workspace: &Workspace,
    manifest: Option<&Manifest>,
    file: StateFile,
) -> Option<RelPath> {
    let target = manifest?.config(file.key())?;
    let path = RelPath::new(&format!("{target}.md")).ok()?;
    workspace.absolute(&path).is_file().then_some(path)
}

/// A file of this name at the root or in a folder right below it.
fn by_name(workspace: &Workspace, name: &str) -> Option<RelPath> {
    if workspace.root().join(name).is_file() {
        return RelPath::new(name).ok();
    }
    let mut folders: Vec<String> = fs::read_dir(workspace.root())
        .ok()?
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|folder| !folder.starts_with('.') && folder != "node_modules")
        .collect();
    folders.sort();
    folders
        .into_iter()
        .map(|folder| format!("{folder}/{name}"))
        .find(|path| workspace.root().join(path).is_file())
        .and_then(|path| RelPath::new(&path).ok())
}

fn known(path: &str) -> RelPath {
    RelPath::new(path).expect("a relative path without anything odd in it")
}
