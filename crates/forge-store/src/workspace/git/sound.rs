//! Checks whether git may run at all. A folder that came as an archive brings a
//! `.git` of its own making, and git follows what is in it: links into other
//! repositories, pipes without a writer. Nothing is run and nothing is written
//! here.

use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

use super::super::regular::{self, LinkPolicy};
use super::{WorkspaceError, git_error};
use crate::system;

/// The folders of a repository that git reads before it answers.
const REPOSITORY_FOLDERS: [&str; 7] = [
    "info",
    "objects",
    "objects/info",
    "objects/pack",
    "refs",
    "refs/heads",
    "refs/tags",
];
const REPOSITORY_FILES: [&str; 12] = [
    "HEAD",
    "config",
    "config.worktree",
    "index",
    "packed-refs",
    "shallow",
    "info/attributes",
    "info/exclude",
    "info/grafts",
    "info/sparse-checkout",
    "objects/info/alternates",
    "objects/info/commit-graph",
];

/// The files of a work tree that git reads.
const WORKTREE_FILES: [&str; 4] = [".gitattributes", ".gitignore", ".gitmodules", ".mailmap"];

/// Upper bound for bytes of the name of a folder or a branch.
const MAX_REF_NAME_BYTES: u64 = 8192;

/// Refuses a repository that leads elsewhere or would block git. If there is
/// none, git reports that itself.
pub(super) fn check_repository(root: &Path) -> Result<(), WorkspaceError> {
    let is_there = |dir: &&Path| fs::symlink_metadata(dir.join(".git")).is_ok();
    let Some(top) = root.ancestors().find(is_there) else {
        return Ok(());
    };
    let entry = top.join(".git");
    let meta = fs::symlink_metadata(&entry).map_err(|error| git_error(error.to_string()))?;
    if meta.is_dir() {
        check_parts(&entry)?;
    } else if meta.is_file() {
        let folder = resolve_gitdir_file(&entry, top)?;
        if folder.starts_with(top) {
            check_parts(&folder)?;
        } else if !points_back_to(&folder, top, &entry) {
            return Err(refusal_error(
                &entry,
                "names a repository that does not belong to this folder",
            ));
        }
    } else {
        return Err(refusal_error(&entry, "is neither a folder nor a file"));
    }
    for dir in [top, root] {
        for name in WORKTREE_FILES {
            let path = dir.join(name);
            // git passes over links here; what they lead to is not ours.
            if fs::metadata(&path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir()) {
                return Err(refusal_error(&path, "is not a regular file"));
            }
        }
    }
    Ok(())
}

/// Resolves the folder that a `.git` file names, as worktrees and submodules
/// have one.
fn resolve_gitdir_file(entry: &Path, top: &Path) -> Result<PathBuf, WorkspaceError> {
    let text = regular::read_text(entry, LinkPolicy::Refuse, MAX_REF_NAME_BYTES);
    let text = text.map_err(|error| git_error(format!("`{}`: {error}", entry.display())))?;
    let Some(name) = text.trim_end().strip_prefix("gitdir: ") else {
        return Err(refusal_error(entry, "names no repository"));
    };
    system::canonicalize(top.join(name)).map_err(|_| refusal_error(entry, "names no repository"))
}

/// Returns `true` if a repository elsewhere names this folder as its own: a
/// worktree by the file `gitdir`, a submodule by its settings.
fn points_back_to(folder: &Path, top: &Path, entry: &Path) -> bool {
    let same = |name: &str, as_path: &Path| {
        let named = system::canonicalize(folder.join(name.trim()));
        named.is_ok_and(|it| system::canonicalize(as_path).is_ok_and(|own| own == it))
    };
    let read =
        |name: &str| regular::read_text(&folder.join(name), LinkPolicy::Refuse, MAX_CONFIG_BYTES);
    if let Ok(name) = read("gitdir") {
        return same(&name, entry);
    }
    let config = read("config").unwrap_or_default();
    let mut values = config.lines().filter_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == "worktree").then(|| value.trim().trim_matches('"').to_owned())
    });
    values.any(|value| same(&value, top))
}

const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// Checks the parts of a repository that came with the project.
fn check_parts(folder: &Path) -> Result<(), WorkspaceError> {
    let common = folder.join("commondir");
    if fs::symlink_metadata(&common).is_ok() {
        return Err(refusal_error(&common, "names another repository"));
    }
    for name in REPOSITORY_FOLDERS {
        check_kind(&folder.join(name), Metadata::is_dir, "is not a folder")?;
    }
    for name in REPOSITORY_FILES {
        check_kind(
            &folder.join(name),
            Metadata::is_file,
            "is not a regular file",
        )?;
    }
    let head = regular::read_text(&folder.join("HEAD"), LinkPolicy::Refuse, MAX_REF_NAME_BYTES);
    let head = head.unwrap_or_default();
    match head.trim().strip_prefix("ref: refs/") {
        Some(name) => {
            let path = folder.join("refs").join(name);
            check_kind(&path, Metadata::is_file, "is not a regular file")
        }
        None => Ok(()),
    }
}

fn check_kind(
    path: &Path,
    is: impl Fn(&Metadata) -> bool,
    why: &str,
) -> Result<(), WorkspaceError> {
    match fs::symlink_metadata(path) {
        Ok(meta) if !is(&meta) => Err(refusal_error(path, why)),
        _ => Ok(()),
    }
}

fn refusal_error(path: &Path, why: &str) -> WorkspaceError {
    git_error(format!("git was not run: `{}` {why}", path.display()))
}
