//! The memory that Claude Code keeps of a project, in the user's home. It is
//! read and never written.

use std::path::{Path, PathBuf};

use super::pointers::{MAX_INDEX_BYTES, MAX_INDEX_LINES};
use crate::document::linked_items;
use crate::document::{self, LinkKind};
use crate::workspace::{list_beyond_workspace, read_beyond_workspace};

/// The state of a pointer index that another program maintains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaudeIndexReport {
    /// The file.
    pub path: PathBuf,
    /// The number of its lines.
    pub lines: usize,
    /// Its size in bytes.
    pub bytes: usize,
    /// Pointers to missing files, with their lines.
    pub lost: Vec<(usize, String)>,
    /// Files that nothing points to.
    pub unlisted: Vec<String>,
}

impl ClaudeIndexReport {
    /// Returns `true` if the index exceeds the lines or bytes that are loaded.
    pub fn is_too_long(&self) -> bool {
        self.lines > MAX_INDEX_LINES || self.bytes > MAX_INDEX_BYTES
    }
}

/// The names that Claude Code gives to the folders of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectFolders {
    /// The folder of its sessions, named after the folder in which they
    /// started.
    pub sessions: String,
    /// The folder of its memory; worktrees share that of the main checkout.
    pub memory: String,
}

/// Returns the names of the folders that belong to the project at `root`.
pub fn resolve_project_folders(root: &Path) -> ProjectFolders {
    // Claude Code names the memory after the repository, not after a folder in
    // it.
    let top = root.ancestors().find(|it| it.join(".git").exists());
    let top = top.map_or_else(|| root.to_path_buf(), find_main_checkout);
    ProjectFolders {
        sessions: project_slug(root),
        memory: project_slug(&top),
    }
}

/// Returns the folder in which Claude Code keeps the memory of a project.
pub fn claude_memory_folder(root: &Path, home: &Path) -> PathBuf {
    home.join(".claude/projects")
        .join(resolve_project_folders(root).memory)
        .join("memory")
}

/// Returns a path with `-` for everything but ASCII letters and digits, as
/// Claude Code does.
fn project_slug(project: &Path) -> String {
    project
        .to_string_lossy()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect()
}

/// Returns the main checkout of a repository, of which `top` may be a worktree.
fn find_main_checkout(top: &Path) -> PathBuf {
    // `.git` is a small file in a worktree and a folder in a main checkout;
    // reading the folder gives `None`.
    let pointer = read_beyond_workspace(&top.join(".git"), 4096);
    // `gitdir: /main/.git/worktrees/name`
    let main = pointer.as_deref().and_then(|pointer| {
        let git = pointer.trim().strip_prefix("gitdir:")?.trim();
        git.split_once("/.git/worktrees/")
    });
    main.map_or_else(|| top.to_path_buf(), |(main, _)| PathBuf::from(main))
}

/// Checks the index in a folder; `None` if there is no index.
pub fn check_claude_index(folder: &Path) -> Option<ClaudeIndexReport> {
    // A foreign file of any size must not fill the memory.
    const MAX_READ_BYTES: u64 = 10_000_000;
    let path = folder.join("MEMORY.md");
    let text = read_beyond_workspace(&path, MAX_READ_BYTES)?;
    let (lines, bytes) = (text.lines().count(), text.len());
    let document = document::parse_document(text);
    let lost = linked_items::find_linked_items(&document)
        .filter(|it| is_local_document(it.target) && !folder.join(it.target).exists())
        .map(|it| (it.line, it.target.to_owned()))
        .collect();
    let links = document.links.iter();
    let pointed: Vec<&str> = links
        .filter(|link| link.kind != LinkKind::Image)
        .map(|link| link.target.trim_start_matches("./"))
        .collect();
    let unlisted = list_beyond_workspace(folder, 1)
        .iter()
        .filter_map(|file| Some(file.strip_prefix(folder).ok()?.to_str()?.to_owned()))
        .filter(|name| name != "MEMORY.md" && !pointed.contains(&name.as_str()))
        .collect();
    Some(ClaudeIndexReport {
        path,
        lines,
        bytes,
        lost,
        unlisted,
    })
}

fn is_local_document(target: &str) -> bool {
    target.ends_with(".md") && !target.contains(':') && !target.starts_with(['/', '.'])
}
