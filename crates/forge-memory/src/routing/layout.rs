//! Resolves where the files of a workspace with a manifest are: as its Config
//! table states, else in the usual place, else a file of that name in any
//! folder. Looks at names, and never creates anything.

use std::collections::VecDeque;
use std::fs;

use super::manifest::{self, Manifest, ManifestPart};
use crate::state_files;
use crate::workspace::{FileRole, RelPath, Workspace, is_foreign, role_with_domains};

/// A file that every session reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StateFile {
    /// Where the work stands.
    Status,
    /// The log of sessions.
    SessionLog,
    /// The decisions.
    Decisions,
    /// The words of the project.
    Glossary,
    /// The inbox of ideas.
    Ideas,
}

impl StateFile {
    /// Every state file.
    pub const ALL: [StateFile; 5] = [
        StateFile::Status,
        StateFile::SessionLog,
        StateFile::Decisions,
        StateFile::Glossary,
        StateFile::Ideas,
    ];

    /// Returns the key in the Config table.
    pub fn config_key(self) -> &'static str {
        match self {
            StateFile::Status => "status",
            StateFile::SessionLog => "session-log",
            StateFile::Decisions => "decisions",
            StateFile::Glossary => "glossary",
            StateFile::Ideas => "ideas",
        }
    }

    /// Returns `true` if a path has the name of this file.
    fn has_name_of(self, path: &RelPath) -> bool {
        path.file_name().strip_suffix(".md") == Some(self.config_key())
    }

    /// Returns the usual paths, of which new files get the first.
    fn usual_paths(self) -> &'static [&'static str] {
        match self {
            StateFile::Status => &[state_files::STATE_FILE.manifest],
            StateFile::SessionLog => &[state_files::SESSION_LOG_FILE.manifest],
            StateFile::Decisions => &[state_files::DECISIONS_FILE.manifest],
            StateFile::Glossary => &[state_files::GLOSSARY_FILE],
            StateFile::Ideas => &[state_files::IDEAS_FILE.manifest, "ideas.md"],
        }
    }
}

/// Returns `true` if the state is in the files of a workspace: it has a
/// manifest, or a status file in its usual place, which needs no configuration.
pub fn has_workspace_layout(workspace: &Workspace) -> bool {
    let there = |path: &str| workspace.root().join(path).is_file();
    there(manifest::MANIFEST_FILE)
        || StateFile::Status
            .usual_paths()
            .iter()
            .any(|path| there(path))
}

/// Resolves the path of a file, whether or not it exists.
pub fn resolve_state_file(
    workspace: &Workspace,
    manifest: Option<&Manifest>,
    file: StateFile,
) -> RelPath {
    resolve_state_files(workspace, manifest, [file])[0].clone()
}

/// Resolves several files as [`resolve_state_file`] does, with one walk for all those that
/// are in no usual place.
pub fn resolve_state_files<const N: usize>(
    workspace: &Workspace,
    manifest: Option<&Manifest>,
    files: [StateFile; N],
) -> [RelPath; N] {
    let in_place = files.map(|file| {
        let known = configured_path(workspace, manifest, file);
        known.or_else(|| existing_usual_files(workspace, file).into_iter().next())
    });
    let mut lost = files.to_vec();
    lost.retain(|file| {
        let at = files.iter().position(|it| it == file);
        at.is_some_and(|at| in_place[at].is_none())
    });
    let found = if lost.is_empty() {
        Vec::new()
    } else {
        find_by_name(workspace, manifest, &lost)
    };
    let mut in_place = in_place.into_iter();
    files.map(|file| {
        let by_name = || found.iter().find(|path| file.has_name_of(path)).cloned();
        let path = in_place.next().flatten().or_else(by_name);
        path.unwrap_or_else(|| constant_path(file.usual_paths()[0]))
    })
}

/// Lists the existing state files, wherever they are.
pub fn existing_state_files(workspace: &Workspace, manifest: Option<&Manifest>) -> Vec<RelPath> {
    let all = resolve_state_files(workspace, manifest, StateFile::ALL).into_iter();
    all.filter(|path| workspace.absolute_path(path).is_file())
        .collect()
}

/// Several files that could be the same state file, where the manifest does not
/// decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateFileRivalry {
    /// The state file.
    pub file: StateFile,
    /// The file that is used.
    pub used: RelPath,
    /// The files that compete with it.
    pub others: Vec<RelPath>,
}

/// Finds state files that compete. A domain may have its own file of that name,
/// so files in domains compete only with each other, and only if there is no
/// other.
pub fn find_rivalries(workspace: &Workspace, manifest: Option<&Manifest>) -> Vec<StateFileRivalry> {
    let domains = manifest.map(Manifest::domains).unwrap_or_default();
    let in_domain = |path: &RelPath| role_with_domains(path, &domains) == FileRole::Knowledge;
    let named = find_by_name(workspace, manifest, &StateFile::ALL);
    let mut found = Vec::new();
    for file in StateFile::ALL {
        if configured_path(workspace, manifest, file).is_some() {
            continue;
        }
        let mut all = existing_usual_files(workspace, file);
        let unusual = |path: &&RelPath| !file.usual_paths().contains(&path.as_str());
        let others = named.iter().filter(|path| file.has_name_of(path));
        all.extend(others.filter(unusual).cloned());
        if all.first().is_some_and(|used| !in_domain(used)) {
            all.retain(|path| !in_domain(path));
        }
        if all.len() > 1 {
            let used = all.remove(0);
            let others = all;
            found.push(StateFileRivalry { file, used, others });
        }
    }
    found
}

impl StateFileRivalry {
    /// Describes the conflict. Only a person can decide which file is right.
    pub fn message(&self) -> String {
        let others: Vec<&str> = self.others.iter().map(RelPath::as_str).collect();
        format!(
            "{} is used as the file of {}, and {} has the same name",
            self.used,
            self.file.config_key(),
            others.join(", ")
        )
    }

    /// Returns what to do about it.
    pub fn advice(&self) -> String {
        format!(
            "decide which one holds: name it in Tier 1 of _MANIFEST.md as [[{}]], or rename the other",
            self.used.as_str().trim_end_matches(".md")
        )
    }
}

/// Returns the path that the manifest states: in its Config table, or in a row
/// of Tier 1 with a path.
fn configured_path(
    workspace: &Workspace,
    manifest: Option<&Manifest>,
    file: StateFile,
) -> Option<RelPath> {
    let manifest = manifest?;
    let tier1 = manifest
        .entries_of(ManifestPart::Tier1)
        .map(|it| it.target.as_str());
    let named = tier1.filter(|it| {
        it.rsplit_once('/')
            .is_some_and(|(_, it)| it == file.config_key())
    });
    manifest
        .config_value(file.config_key())
        .into_iter()
        .chain(named)
        .filter_map(|target| RelPath::new(&format!("{target}.md")).ok())
        .find(|path| workspace.absolute_path(path).is_file())
}

fn existing_usual_files(workspace: &Workspace, file: StateFile) -> Vec<RelPath> {
    let paths = file.usual_paths().iter().map(|path| constant_path(path));
    paths
        .filter(|path| workspace.absolute_path(path).is_file())
        .collect()
}

/// Maximum number of folders to search, the shallowest first. Hooks search too
/// if a file is in no usual place, and a prompt waits for them.
const MAX_SEARCHED_FOLDERS: usize = 1_000;

/// Finds every file with one of these names, the most likely first: outside of
/// domains, then the shallowest, then by path.
fn find_by_name(
    workspace: &Workspace,
    manifest: Option<&Manifest>,
    files: &[StateFile],
) -> Vec<RelPath> {
    let mut found: Vec<RelPath> = Vec::new();
    let mut folders = VecDeque::from([String::new()]);
    let mut looked = 0;
    while let Some(folder) = folders.pop_front() {
        looked += 1;
        if looked > MAX_SEARCHED_FOLDERS {
            break;
        }
        let Ok(entries) = fs::read_dir(workspace.root().join(&folder)) else {
            continue;
        };
        for entry in entries.flatten() {
            let (Ok(kind), Ok(own)) = (entry.file_type(), entry.file_name().into_string()) else {
                continue;
            };
            let path = if folder.is_empty() {
                own.clone()
            } else {
                format!("{folder}/{own}")
            };
            if kind.is_dir() && !own.starts_with('.') && !is_foreign(&own) {
                folders.push_back(path);
            } else if kind.is_file() && own.ends_with(".md") {
                let path = RelPath::new(&path).ok();
                found.extend(path.filter(|path| files.iter().any(|file| file.has_name_of(path))));
            }
        }
    }
    let domains = manifest.map(Manifest::domains).unwrap_or_default();
    found.retain(|path| role_with_domains(path, &domains) != FileRole::Archive);
    found.sort_by_key(|path| {
        let inside = role_with_domains(path, &domains) == FileRole::Knowledge;
        (inside, path.components().count(), path.clone())
    });
    found
}

fn constant_path(path: &str) -> RelPath {
    RelPath::new(path).expect("the path is relative and valid")
}
