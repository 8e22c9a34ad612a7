//! Lists the other checkouts of a repository by the files of git, without
//! starting it. A folder counts only if it and the repository name each other:
//! files that came with a project could name any folder.

use std::fs;
use std::path::{Path, PathBuf};

use crate::regular::{self, LinkPolicy};
use crate::system;

/// Bytes of a file of git that names a folder.
const MAX_NAME_BYTES: u64 = 4 << 10;
/// Entries of a repository that are looked at.
const MAX_ENTRIES: usize = 64;

/// Returns the other checkouts of the repository whose top is `root`, sorted,
/// the main one among them.
pub fn list_other_worktrees(root: &Path) -> Vec<PathBuf> {
    let Some(common) = common_folder(root) else {
        return Vec::new();
    };
    let mut found: Vec<PathBuf> = Vec::new();
    // A bare repository has no checkout around it.
    if common.file_name().is_some_and(|it| it == ".git") {
        found.extend(common.parent().map(Path::to_path_buf));
    }
    let entries = fs::read_dir(common.join("worktrees")).into_iter().flatten();
    for entry in entries.take(MAX_ENTRIES).flatten() {
        let names = read_name(&entry.path().join("gitdir"));
        let Some(top) = names.and_then(|it| Some(PathBuf::from(it).parent()?.to_owned())) else {
            continue;
        };
        if folder_of_file(&top).is_some_and(|it| is_same(&it, &entry.path())) {
            found.push(top);
        }
    }
    found.retain(|it| !is_same(it, root));
    found.sort();
    found.dedup();
    found
}

/// Returns the folder that all checkouts share.
fn common_folder(root: &Path) -> Option<PathBuf> {
    let entry = root.join(".git");
    let kind = fs::symlink_metadata(&entry).ok()?;
    if kind.is_dir() {
        return Some(entry);
    }
    let own = folder_of_file(root)?;
    let back = read_name(&own.join("gitdir"))?;
    if !is_same(Path::new(&back), &entry) {
        return None;
    }
    let common = own.join(read_name(&own.join("commondir"))?);
    system::canonicalize(common).ok()
}

/// Returns the folder that the file `.git` of a checkout names.
fn folder_of_file(top: &Path) -> Option<PathBuf> {
    let text = read_name(&top.join(".git"))?;
    system::canonicalize(top.join(text.strip_prefix("gitdir: ")?)).ok()
}

fn read_name(path: &Path) -> Option<String> {
    let text = regular::read_text(path, LinkPolicy::Refuse, MAX_NAME_BYTES).ok()?;
    Some(text.trim_end().to_owned())
}

fn is_same(a: &Path, b: &Path) -> bool {
    let real = |path: &Path| system::canonicalize(path).ok();
    real(a).is_some_and(|a| real(b) == Some(a))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: PathBuf, text: &str) {
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }

    /// A repository with a second checkout, as git writes it.
    fn repository(folder: &Path) -> (PathBuf, PathBuf) {
        let (main, other) = (folder.join("main"), folder.join("other"));
        let entry = main.join(".git/worktrees/other");
        write(entry.join("gitdir"), &format!("{}/.git\n", other.display()));
        write(entry.join("commondir"), "../..\n");
        write(
            other.join(".git"),
            &format!("gitdir: {}\n", entry.display()),
        );
        (main, other)
    }

    #[test]
    fn checkouts_of_one_repository_know_each_other() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = system::canonicalize(folder.path()).expect("a path");
        let (main, other) = repository(&folder);
        assert_eq!(list_other_worktrees(&main), std::slice::from_ref(&other));
        assert_eq!(list_other_worktrees(&other), [main]);
        assert!(list_other_worktrees(&folder).is_empty());
    }

    #[test]
    fn a_folder_that_is_only_named_is_no_checkout() {
        let folder = tempfile::tempdir().expect("a folder");
        let (main, other) = repository(folder.path());
        // Another project of the same person, which names no repository of ours.
        write(other.join(".git"), "gitdir: /elsewhere/.git\n");
        assert!(list_other_worktrees(&main).is_empty());
        // A file that names a repository which does not name it back.
        let guest = folder.path().join("guest");
        let entry = main.join(".git/worktrees/other");
        write(
            guest.join(".git"),
            &format!("gitdir: {}\n", entry.display()),
        );
        assert!(list_other_worktrees(&guest).is_empty());
    }
}
