//! Which files hold the state: `.mind/`, or the `memory/` folder of a
//! workspace with a manifest. Looks at names, and never creates anything.

use std::fs;

use crate::document::{self, BlockKind};
use crate::workspace::{RelPath, Workspace};

/// A file by what it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum File {
    State,
    Progress,
    Decisions,
    SessionLog,
    /// Where compression puts what is old.
    Archive,
}

/// Whose formats the files have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// `.mind/STATE.md` and its siblings.
    Mind,
    /// `memory/status.md` and its siblings, where a `_MANIFEST.md` is.
    Manifest,
}

#[derive(Debug, Clone)]
pub(super) struct Files {
    pub(super) layout: Layout,
    state: RelPath,
    progress: RelPath,
    decisions: RelPath,
    session_log: RelPath,
    archive: RelPath,
}

const MANIFEST: &str = "_MANIFEST.md";
const IN_MIND: [&str; 4] = ["STATE.md", "PROGRESS.md", "DECISIONS.md", "SESSION-LOG.md"];

impl Files {
    pub(super) fn resolve(workspace: &Workspace) -> Files {
        let in_mind = || {
            let folder = workspace.root().join(super::FOLDER);
            IN_MIND.iter().any(|name| folder.join(name).is_file())
        };
        if !workspace.root().join(MANIFEST).is_file() || in_mind() {
            return Files::mind();
        }
        Files::manifest(workspace)
    }

    pub(super) fn path(&self, which: File) -> &RelPath {
        match which {
            File::State => &self.state,
            File::Progress => &self.progress,
            File::Decisions => &self.decisions,
            File::SessionLog => &self.session_log,
            File::Archive => &self.archive,
        }
    }

    fn mind() -> Files {
        Files {
            layout: Layout::Mind,
            state: known(".mind/STATE.md"),
            progress: known(".mind/PROGRESS.md"),
            decisions: known(".mind/DECISIONS.md"),
            session_log: known(".mind/SESSION-LOG.md"),
            archive: known(".mind/ARCHIVE.md"),
        }
    }

    /// For each file: what the manifest's Config table says, else the usual
    /// place, else a file of that name elsewhere, else the usual place again.
    fn manifest(workspace: &Workspace) -> Files {
        let configured = configured(workspace);
        let find = |name: &str| {
            let wanted = name.trim_end_matches(".md");
            let told = configured
                .iter()
                .find(|(key, _)| key == wanted)
                .map(|(_, path)| path.clone());
            let usual = known(&format!("memory/{name}"));
            let there = |path: &RelPath| workspace.absolute(path).is_file();
            told.or_else(|| there(&usual).then(|| usual.clone()))
                .or_else(|| by_name(workspace, name))
                .unwrap_or(usual)
        };
        let state = find("status.md");
        let session_log = find("session-log.md");
        let archive = session_log
            .as_str()
            .strip_suffix(".md")
            .and_then(|stem| RelPath::new(&format!("{stem}-archive.md")).ok())
            .unwrap_or_else(|| known("memory/session-log-archive.md"));
        Files {
            layout: Layout::Manifest,
            progress: state.clone(),
            state,
            decisions: find("decisions.md"),
            session_log,
            archive,
        }
    }
}

/// Where ideas are, or would be made: by the manifest, by custom, by name.
pub(super) fn ideas(workspace: &Workspace) -> RelPath {
    let told = configured(workspace)
        .into_iter()
        .find(|(key, _)| key == "ideas")
        .map(|(_, path)| path);
    let usual = ["scratch/ideas.md", "ideas.md"].map(known);
    let there = |path: &&RelPath| workspace.absolute(path).is_file();
    told.or_else(|| usual.iter().find(there).cloned())
        .or_else(|| by_name(workspace, "ideas.md"))
        .unwrap_or_else(|| usual[0].clone())
}

fn known(path: &str) -> RelPath {
    RelPath::new(path).expect("a relative path without anything odd in it")
}

/// Rows of the manifest's Config table whose value is a Markdown file:
/// `| Session log | [[notes/log]] |` gives `session-log` and `notes/log.md`.
fn configured(workspace: &Workspace) -> Vec<(String, RelPath)> {
    let Ok(text) = workspace.read_text(&known(MANIFEST)) else {
        return Vec::new();
    };
    let document = document::parse(text);
    let Some(section) = document
        .find_section("Config")
        .or_else(|| document.find_section("Configuration"))
    else {
        return Vec::new();
    };
    let own = &document.sections[section].own;
    let mut rows = Vec::new();
    for block in &document.blocks {
        if block.kind != BlockKind::Table
            || block.span.start < own.start
            || block.span.end > own.end
        {
            continue;
        }
        for line in document.str(&block.span).lines() {
            let mut cells = line.trim().trim_matches('|').split('|').map(str::trim);
            let (Some(key), Some(value)) = (cells.next(), cells.next()) else {
                continue;
            };
            let key = key.trim_matches(['`', '*']).to_lowercase();
            let key = key.trim_end_matches(".md").replace([' ', '_'], "-");
            let value = value
                .trim_matches('`')
                .trim_start_matches("[[")
                .trim_end_matches("]]");
            let value = match value.ends_with(".md") {
                true => value.to_owned(),
                false => format!("{value}.md"),
            };
            if let Ok(path) = RelPath::new(&value)
                && workspace.absolute(&path).is_file()
            {
                rows.push((key, path));
            }
        }
    }
    rows
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
