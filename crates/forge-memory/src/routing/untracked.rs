//! Finds content that the manifest does not cover: folders with notes that are
//! in no hub, and loose notes at the root.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::layout;
use super::manifest::Manifest;
use crate::links::fold_name;
use crate::workspace::{FileRole, RelPath, Workspace, WorkspaceTree};

/// Folders that are never searched.
pub const SKIPPED_FOLDERS: [&str; 13] = [
    ".git",
    ".claude",
    ".obsidian",
    ".memex",
    "memex",
    "node_modules",
    "__pycache__",
    ".venv",
    "venv",
    "dist",
    "build",
    "memory",
    "scratch",
];

/// Files that most repositories have at their root.
const REPOSITORY_FILES: [&str; 7] = [
    "readme",
    "changelog",
    "contributing",
    "license",
    "security",
    "code_of_conduct",
    "architecture",
];

/// Content that a manifest does not cover.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UntrackedContent {
    /// Folders with the number of their notes, sorted.
    pub folders: Vec<(String, usize)>,
    /// Notes in no folder.
    pub loose: Vec<RelPath>,
}

impl UntrackedContent {
    /// Finds untracked content. The tree must have been listed with the domains
    /// of the manifest. State files and files that Tier 3 lists count as
    /// covered, wherever they are.
    pub fn find_in_tree(
        workspace: &Workspace,
        tree: &WorkspaceTree,
        manifest: &Manifest,
    ) -> UntrackedContent {
        let domains = manifest.domains();
        let state = layout::existing_state_files(workspace, Some(manifest));
        let retired = manifest.retired_files();
        let listed: HashSet<String> = manifest
            .entries()
            .iter()
            .map(|it| fold_name(&it.target).into_owned())
            .collect();
        let code = code_folders(tree.files.iter().map(|it| &it.path));
        let mut folders: BTreeMap<String, usize> = BTreeMap::new();
        let mut loose = Vec::new();
        for found in &tree.files {
            let path = found.path.as_str();
            if found.role != FileRole::Untracked
                || !found.is_markdown()
                || is_skipped_path(&found.path)
            {
                continue;
            }
            if state.contains(&found.path) || retired.contains_path(path) {
                continue;
            }
            let Some(folder) = outermost_folder(path, &domains) else {
                let stem = fold_name(found.path.stem());
                let whole = fold_name(path.strip_suffix(".md").unwrap_or(path));
                let known = REPOSITORY_FILES.contains(&stem.as_ref())
                    || listed.contains(stem.as_ref())
                    || listed.contains(whole.as_ref());
                if !known {
                    loose.push(found.path.clone());
                }
                continue;
            };
            // Folders that `init` would not make a domain are not reported as
            // missing.
            let top = found.path.components().next().unwrap_or_default();
            if is_note(&found.path) && !code.contains(top) {
                *folders.entry(folder.to_owned()).or_default() += 1;
            }
        }
        UntrackedContent {
            folders: folders.into_iter().collect(),
            loose,
        }
    }

    /// Keeps only folders with at least this many notes.
    pub fn with_min_notes(mut self, notes: usize) -> UntrackedContent {
        self.folders.retain(|(_, count)| *count >= notes);
        self
    }

    /// Returns `true` if the manifest covers everything.
    pub fn is_empty(&self) -> bool {
        self.folders.is_empty() && self.loose.is_empty()
    }
}

/// Returns `true` if a path is hidden or in a folder that is never searched.
pub fn is_skipped_path(path: &RelPath) -> bool {
    path.components()
        .any(|part| SKIPPED_FOLDERS.contains(&part) || part.starts_with('.'))
}

/// Returns the outermost folder that contains no hub; none for a file at the
/// root.
fn outermost_folder<'a>(path: &'a str, domains: &[String]) -> Option<&'a str> {
    path.match_indices('/')
        .map(|(at, _)| &path[..at])
        .find(|folder| {
            let inside = format!("{folder}/");
            !domains.iter().any(|domain| domain.starts_with(&inside))
        })
}

/// Returns `true` if a file is a note, rather than a document of a software
/// project, wherever it is.
pub fn is_note(path: &RelPath) -> bool {
    const PROJECT_FILES: [&str; 17] = [
        "architecture",
        "authors",
        "changelog",
        "claude",
        "code_of_conduct",
        "code-of-conduct",
        "contributing",
        "governance",
        "history",
        "install",
        "license",
        "maintainers",
        "notice",
        "readme",
        "security",
        "style",
        "support",
    ];
    let stem = path.stem().to_lowercase();
    let project = PROJECT_FILES.contains(&stem.as_str()) || stem.starts_with("license");
    let first = path.components().next().unwrap_or_default();
    let kept = [
        "memory",
        "scratch",
        "node_modules",
        "vendor",
        "target",
        "dist",
        "build",
    ];
    let hidden = path.components().any(|it| it.starts_with('.'));
    path.as_str().ends_with(".md") && !project && !hidden && !kept.contains(&first)
}

/// Returns the top-level folders with more code than notes.
pub fn code_folders<'a>(all: impl Iterator<Item = &'a RelPath>) -> HashSet<&'a str> {
    let mut counts: HashMap<&str, (usize, usize)> = HashMap::new();
    for path in all {
        let Some((top, _)) = path.as_str().split_once('/') else {
            continue;
        };
        let (notes, others) = counts.entry(top).or_default();
        let ending = path.as_str().rsplit('.').next().unwrap_or_default();
        match ending.to_lowercase().as_str() {
            "md" => *notes += 1,
            "png" | "jpg" | "jpeg" | "gif" | "svg" | "webp" | "pdf" | "canvas" | "csv" => {}
            _ => *others += 1,
        }
    }
    let code = counts
        .into_iter()
        .filter(|(_, (notes, others))| others > notes);
    code.map(|(top, _)| top).collect()
}
