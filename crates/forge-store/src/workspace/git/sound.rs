//! Checks whether git may run at all. A folder that came as an archive brings a
//! `.git` of its own making, and git follows what is in it: links into other
//! repositories, pipes without a writer. Nothing is run and nothing is written
//! here.

use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

use super::super::regular::{self, Links};
use super::{Error, fail};

/// The folders of a repository that git reads before it answers.
const FOLDERS: [&str; 7] = [
    "info",
    "objects",
    "objects/info",
    "objects/pack",
    "refs",
    "refs/heads",
    "refs/tags",
];
const FILES: [&str; 12] = [
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
const BESIDE: [&str; 4] = [".gitattributes", ".gitignore", ".gitmodules", ".mailmap"];

/// The most bytes of the name of a folder or a branch.
const MAX_BYTES: u64 = 8192;

/// Refuses a repository that leads elsewhere or would block git. If there is
/// none, git reports that itself.
pub(super) fn check(root: &Path) -> Result<(), Error> {
    let is_there = |dir: &&Path| fs::symlink_metadata(dir.join(".git")).is_ok();
    let Some(top) = root.ancestors().find(is_there) else {
        return Ok(());
    };
    let entry = top.join(".git");
    let meta = fs::symlink_metadata(&entry).map_err(|error| fail(error.to_string()))?;
    if meta.is_dir() {
        parts(&entry)?;
    } else if meta.is_file() {
        let folder = named_by(&entry, top)?;
        if folder.starts_with(top) {
            parts(&folder)?;
        } else if !points_back(&folder, top, &entry) {
            return Err(refused(&entry, "names a repository that does not name it"));
        }
    } else {
        return Err(refused(&entry, "is neither a folder nor a file"));
    }
    for dir in [top, root] {
        for name in BESIDE {
            let path = dir.join(name);
            // git passes over links here; what they lead to is not ours.
            if fs::metadata(&path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir()) {
                return Err(refused(&path, "is not a regular file"));
            }
        }
    }
    Ok(())
}

/// Resolves the folder that a `.git` file names, as worktrees and submodules
/// have one.
fn named_by(entry: &Path, top: &Path) -> Result<PathBuf, Error> {
    let text = regular::read_text(entry, Links::Refuse, MAX_BYTES);
    let text = text.map_err(|error| fail(format!("`{}`: {error}", entry.display())))?;
    let Some(name) = text.trim_end().strip_prefix("gitdir: ") else {
        return Err(refused(entry, "names no repository"));
    };
    fs::canonicalize(top.join(name)).map_err(|_| refused(entry, "names no repository"))
}

/// Returns `true` if a repository elsewhere names this folder as its own: a
/// worktree by the file `gitdir`, a submodule by its settings.
fn points_back(folder: &Path, top: &Path, entry: &Path) -> bool {
    let same = |name: &str, as_path: &Path| {
        let named = fs::canonicalize(folder.join(name.trim()));
        named.is_ok_and(|it| fs::canonicalize(as_path).is_ok_and(|own| own == it))
    };
    let read = |name: &str| regular::read_text(&folder.join(name), Links::Refuse, MAX_CONFIG);
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

const MAX_CONFIG: u64 = 1 << 20;

/// Checks the parts of a repository that came with the project.
fn parts(folder: &Path) -> Result<(), Error> {
    let common = folder.join("commondir");
    if fs::symlink_metadata(&common).is_ok() {
        return Err(refused(&common, "names another repository"));
    }
    for name in FOLDERS {
        kind(&folder.join(name), Metadata::is_dir, "is not a folder")?;
    }
    for name in FILES {
        kind(
            &folder.join(name),
            Metadata::is_file,
            "is not a regular file",
        )?;
    }
    let head = regular::read_text(&folder.join("HEAD"), Links::Refuse, MAX_BYTES);
    let head = head.unwrap_or_default();
    match head.trim().strip_prefix("ref: refs/") {
        Some(name) => {
            let path = folder.join("refs").join(name);
            kind(&path, Metadata::is_file, "is not a regular file")
        }
        None => Ok(()),
    }
}

fn kind(path: &Path, is: impl Fn(&Metadata) -> bool, why: &str) -> Result<(), Error> {
    match fs::symlink_metadata(path) {
        Ok(meta) if !is(&meta) => Err(refused(path, why)),
        _ => Ok(()),
    }
}

fn refused(path: &Path, why: &str) -> Error {
    fail(format!("git was not asked: `{}` {why}", path.display()))
}
