//! Resolves hubs: the folders of the manifest's Hub Map, and which files belong
//! to them.

use std::collections::BTreeSet;

use super::manifest::Manifest;
use crate::document;
use crate::workspace::{
    FileRole, RelPath, Workspace, WorkspaceError, role_by_path, role_with_domains,
};

/// A folder of documents that is described by a closets file, a hub page, or
/// both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hub {
    /// The name in the Hub Map.
    pub name: String,
    /// The folder, relative to the root.
    pub folder: RelPath,
    /// The hub page `<name>-index.md`, if there is one.
    pub index: Option<RelPath>,
    /// The documents, sorted by path, without closets, hub pages and archives
    /// of closets.
    pub members: Vec<RelPath>,
}

impl Hub {
    /// Returns `true` for the hub of the state files, whose closets keep every
    /// entry.
    pub fn is_memory_hub(&self) -> bool {
        self.folder.as_str() == MEMORY_HUB_FOLDER
    }

    /// Returns the path of the hub's closets.
    pub fn closets_path(&self) -> RelPath {
        self.path_of_file(CLOSETS_FILE)
    }

    /// Returns the path of the archive of the hub's closets.
    pub fn closets_archive_path(&self) -> RelPath {
        self.path_of_file(CLOSETS_ARCHIVE_FILE)
    }

    fn path_of_file(&self, name: &str) -> RelPath {
        self.folder.join(name).expect("a plain name in a folder")
    }
}

const MEMORY_HUB_FOLDER: &str = "memory";

/// File name of a hub's closets.
pub const CLOSETS_FILE: &str = "_CLOSETS.md";
/// File name of the archive of a hub's closets.
pub const CLOSETS_ARCHIVE_FILE: &str = "_CLOSETS-archive.md";

/// Lists the hubs of a workspace in the order of the Hub Map, with `memory/` at
/// the end. Returns an empty list without a manifest.
pub fn load_hubs(workspace: &Workspace) -> Result<Vec<Hub>, WorkspaceError> {
    match Manifest::load(workspace)? {
        Some(manifest) => Ok(hubs_of_manifest(workspace, &manifest)),
        None => Ok(Vec::new()),
    }
}

/// Lists the hubs as [`load_hubs`] does, from a manifest that was already read.
pub fn hubs_of_manifest(workspace: &Workspace, manifest: &Manifest) -> Vec<Hub> {
    let domains = manifest.domains();
    let files: Vec<RelPath> = manifest
        .scan(workspace)
        .files
        .into_iter()
        .filter(|found| found.role == FileRole::Knowledge && !found.path.is_private())
        .map(|found| found.path)
        .collect();
    let mut hubs: Vec<Hub> = Vec::new();
    for (entry, folder) in manifest.hub_map() {
        let Some(folder) = folder else { continue };
        let listed = hubs.iter().any(|hub| hub.folder == *folder);
        if listed || !domains.iter().any(|it| it == folder.as_str()) {
            continue;
        }
        let name = if entry.name.is_empty() {
            folder.file_name().to_owned()
        } else {
            entry.name.clone()
        };
        hubs.push(Hub {
            index: find_hub_page(workspace, &entry.target, folder),
            members: folder_members(&files, folder, &domains),
            folder: folder.clone(),
            name,
        });
    }
    for hub in &mut hubs {
        add_linked_members(workspace, hub, &domains);
    }
    // A row without its folder is reported by the manifest's check: closets
    // cannot be built for it.
    hubs.retain(|hub| !hub.members.is_empty() || workspace.absolute_path(&hub.folder).is_dir());
    hubs.extend(memory_hub(workspace));
    hubs
}

/// Returns the documents of the folder that are in no inner hub. Files are
/// sorted, so those of a folder are adjacent.
fn folder_members(files: &[RelPath], folder: &RelPath, domains: &[String]) -> Vec<RelPath> {
    let inner: Vec<&String> = domains
        .iter()
        .filter(|it| it.as_str() != folder.as_str())
        .filter(|it| RelPath::new(it).is_ok_and(|it| it.starts_with(folder.as_str())))
        .collect();
    let prefix = format!("{folder}/");
    let first = files.partition_point(|path| path.as_str() < prefix.as_str());
    files[first..]
        .iter()
        .take_while(|path| path.as_str().starts_with(&prefix))
        .filter(|path| !inner.iter().any(|it| path.starts_with(it)))
        .cloned()
        .collect()
}

/// Finds the hub page: the one that the Hub Map names, else
/// `<folder>-index.md`.
fn find_hub_page(workspace: &Workspace, target: &str, folder: &RelPath) -> Option<RelPath> {
    let stem = target.rsplit('/').next().unwrap_or(target);
    let stem = if stem.ends_with("-index") {
        stem.to_owned()
    } else {
        format!("{}-index", folder.file_name())
    };
    let name = format!("{stem}.md");
    let sibling = folder.parent().and_then(|parent| parent.join(&name).ok());
    let named = RelPath::new(&format!("{target}.md")).ok();
    let named = named.filter(|_| target.ends_with("-index"));
    [
        named,
        folder.join(&name).ok(),
        sibling,
        RelPath::new(&name).ok(),
    ]
    .into_iter()
    .flatten()
    .find(|path| workspace.absolute_path(path).is_file())
}

/// Adds documents outside the folder that the hub page links to.
fn add_linked_members(workspace: &Workspace, hub: &mut Hub, domains: &[String]) {
    let Some(text) = hub
        .index
        .as_ref()
        .and_then(|it| workspace.read_text(it).ok())
    else {
        return;
    };
    let mut members: BTreeSet<RelPath> = hub.members.drain(..).collect();
    for link in document::parse_document(text).links {
        let target = link.target.trim_end_matches(".md");
        let Ok(path) = RelPath::new(&format!("{target}.md")) else {
            continue;
        };
        let belongs = matches!(
            role_with_domains(&path, domains),
            FileRole::Untracked | FileRole::Knowledge
        );
        let elsewhere = !domains.iter().any(|domain| path.starts_with(domain));
        if belongs && elsewhere && !path.is_private() && workspace.absolute_path(&path).is_file() {
            members.insert(path);
        }
    }
    hub.members = members.into_iter().collect();
}

/// Returns the hub of the state files, which exists even if the Hub Map does
/// not list it.
fn memory_hub(workspace: &Workspace) -> Option<Hub> {
    let folder = RelPath::new(MEMORY_HUB_FOLDER).ok()?;
    if !workspace.absolute_path(&folder).is_dir() {
        return None;
    }
    Some(build_memory_hub(
        folder,
        workspace.markdown_files_in(MEMORY_HUB_FOLDER),
    ))
}

fn build_memory_hub(folder: RelPath, mut members: Vec<RelPath>) -> Hub {
    members.retain(|path| {
        let kept = !matches!(role_by_path(path), FileRole::Routing | FileRole::Archive);
        kept && !path.file_name().starts_with('.') && !path.is_private()
    });
    Hub {
        name: MEMORY_HUB_FOLDER.to_owned(),
        folder,
        index: None,
        members,
    }
}

/// Returns the hub of the state files of a planned workspace, from the paths
/// that it will have; none if `memory/` will be empty.
pub fn planned_memory_hub<'a>(paths: impl Iterator<Item = &'a RelPath>) -> Option<Hub> {
    let folder = RelPath::new(MEMORY_HUB_FOLDER).ok()?;
    let inside = |path: &&RelPath| path.parent().as_ref() == Some(&folder);
    let mut members: Vec<RelPath> = paths.filter(inside).cloned().collect();
    members.retain(|path| path.as_str().ends_with(".md"));
    members.sort();
    members.dedup();
    (!members.is_empty()).then(|| build_memory_hub(folder.clone(), members))
}

#[cfg(test)]
mod tests;
