//! Finds the folder of the workspace.
//!
//! The caller passes in all hints; nothing here reads the environment, and
//! nothing is created.

use std::fs;
use std::path::{Path, PathBuf};

use super::WorkspaceError;
use crate::system;

/// The hints from which the workspace is found.
#[derive(Debug, Clone, Copy)]
pub struct RootHints<'a> {
    /// `--root`.
    pub flag: Option<&'a Path>,
    /// `MEMORY_FORGE_PROJECT_ROOT`.
    pub env_root: Option<&'a Path>,
    /// `CLAUDE_PROJECT_DIR`, for hooks.
    pub claude_project_dir: Option<&'a Path>,
    /// `cwd` in the JSON that a hook was given.
    pub hook_cwd: Option<&'a Path>,
    /// The current folder.
    pub cwd: &'a Path,
    /// The home of the user, which is never a workspace by itself.
    pub home: Option<&'a Path>,
}

/// The root of a workspace, and how it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceRoot {
    /// Without symlinks.
    pub path: PathBuf,
    /// The hint that decided.
    pub found_by: FoundBy,
}

/// The hint that decided on the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundBy {
    /// The flag `--root`.
    Flag,
    /// The variable `MEMORY_FORGE_PROJECT_ROOT`.
    Env,
    /// The variable `CLAUDE_PROJECT_DIR`.
    ClaudeProjectDir,
    /// The folder that a client named to a hook.
    HookCwd,
    /// The nearest folder that holds this file or folder.
    Marker(&'static str),
    /// The root of the git repository.
    GitRoot,
    /// The current folder, for want of anything else.
    Cwd,
}

/// Finds the root; the first usable hint wins.
///
/// A folder that a person named must exist. A folder that a client names is
/// skipped when it is stale.
pub fn discover_root(hints: &RootHints<'_>) -> Result<WorkspaceRoot, WorkspaceError> {
    let named = [
        (hints.flag, FoundBy::Flag, true),
        (hints.env_root, FoundBy::Env, true),
        (hints.claude_project_dir, FoundBy::ClaudeProjectDir, false),
        (hints.hook_cwd, FoundBy::HookCwd, false),
    ];
    for (hint, found_by, must_exist) in named {
        let Some(hint) = hint.filter(|path| !path.as_os_str().is_empty()) else {
            continue;
        };
        match resolve_folder(&hints.cwd.join(hint)) {
            Ok(path) => return Ok(WorkspaceRoot { path, found_by }),
            Err(error) if must_exist => return Err(error),
            Err(_) => {}
        }
    }
    let cwd = resolve_folder(hints.cwd)?;
    Ok(search_upwards(&cwd, hints.home))
}

/// A folder with one of these at its top is a workspace.
const ROOT_MARKERS: [(&str, MarkerKind); 6] = [
    ("memory-forge.toml", MarkerKind::File),
    (".mind", MarkerKind::Folder),
    ("knowledge", MarkerKind::Folder),
    ("_MANIFEST.md", MarkerKind::File),
    ("memory/status.md", MarkerKind::File),
    (".agents/memory", MarkerKind::Folder),
];

const MAX_LEVELS_UP: usize = 10;

#[derive(Clone, Copy)]
enum MarkerKind {
    File,
    Folder,
}

fn search_upwards(cwd: &Path, home: Option<&Path>) -> WorkspaceRoot {
    let home = home.and_then(|home| system::canonicalize(home).ok());
    let mut git_root = None;
    for (up, dir) in cwd.ancestors().enumerate() {
        // Above the tenth folder only the git root is still looked for.
        let marker = (up <= MAX_LEVELS_UP).then(|| find_marker_in(dir)).flatten();
        if let Some(marker) = marker {
            return WorkspaceRoot {
                path: dir.to_path_buf(),
                found_by: FoundBy::Marker(marker),
            };
        }
        // A worktree and a submodule have a file called `.git`.
        if dir.join(".git").exists() {
            git_root = Some(dir);
            break;
        }
        if home.as_deref() == Some(dir) {
            break;
        }
    }
    let (path, found_by) = match git_root {
        Some(dir) => (dir, FoundBy::GitRoot),
        None => (cwd, FoundBy::Cwd),
    };
    WorkspaceRoot {
        path: path.to_path_buf(),
        found_by,
    }
}

fn find_marker_in(dir: &Path) -> Option<&'static str> {
    let is_there = |(name, kind): &(&str, MarkerKind)| {
        fs::metadata(dir.join(name)).is_ok_and(|meta| match kind {
            MarkerKind::File => meta.is_file(),
            MarkerKind::Folder => meta.is_dir(),
        })
    };
    ROOT_MARKERS
        .iter()
        .find(|m| is_there(m))
        .map(|(name, _)| *name)
}

fn resolve_folder(path: &Path) -> Result<PathBuf, WorkspaceError> {
    let real = system::canonicalize(path).map_err(|e| WorkspaceError::from_io("open", path, e))?;
    if real.is_dir() {
        Ok(real)
    } else {
        Err(WorkspaceError::NotADirectory { path: real })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree of folders (ending in `/`) and files, and what is found from
    /// `cwd` in it. Paths in hints are relative to the tree.
    fn check(tree: &[&str], hints: &[(&str, &str)], expect: Result<(&str, FoundBy), ()>) {
        let dir = tempfile::tempdir().unwrap();
        let top = system::canonicalize(dir.path()).unwrap();
        for entry in tree {
            let path = top.join(entry);
            if entry.ends_with('/') {
                fs::create_dir_all(path).unwrap();
            } else {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, "").unwrap();
            }
        }
        let hint = |name| {
            let found = hints.iter().find(|(n, _)| *n == name);
            found.map(|(_, path)| match *path {
                "" => PathBuf::new(),
                path => top.join(path),
            })
        };
        let cwd = hint("cwd").unwrap();
        let (flag, env, claude, hook) = (hint("flag"), hint("env"), hint("claude"), hint("hook"));
        // The temporary folder stands in for home unless a test says
        // otherwise, so that nothing above it is looked at.
        let home = hint("home").unwrap_or_else(|| top.clone());
        let got = discover_root(&RootHints {
            flag: flag.as_deref(),
            env_root: env.as_deref(),
            claude_project_dir: claude.as_deref(),
            hook_cwd: hook.as_deref(),
            cwd: &cwd,
            home: Some(&home),
        });
        let expect = expect.map(|(path, found_by)| (top.join(path), found_by));
        let got = got.map(|root| (root.path, root.found_by)).map_err(|_| ());
        let strip = |r: Result<(PathBuf, FoundBy), ()>| {
            r.map(|(p, f)| (p.components().collect::<PathBuf>(), f))
        };
        assert_eq!(strip(got), strip(expect), "for {tree:?} {hints:?}");
    }

    #[test]
    fn named_folders_in_order() {
        use FoundBy::*;
        let tree = ["f/", "e/", "c/", "h/", "w/knowledge/"];
        let all = [
            ("cwd", "w"),
            ("hook", "h"),
            ("claude", "c"),
            ("env", "e"),
            ("flag", "f"),
        ];
        check(&tree, &all, Ok(("f", Flag)));
        check(&tree, &all[..4], Ok(("e", Env)));
        check(&tree, &all[..3], Ok(("c", ClaudeProjectDir)));
        check(&tree, &all[..2], Ok(("h", HookCwd)));
        check(&tree, &all[..1], Ok(("w", Marker("knowledge"))));
    }

    #[test]
    fn a_named_folder_must_exist_and_a_stale_hint_need_not() {
        use FoundBy::*;
        let tree = ["w/.mind/", "file"];
        check(&tree, &[("cwd", "w"), ("flag", "gone")], Err(()));
        check(&tree, &[("cwd", "w"), ("flag", "file")], Err(()));
        check(&tree, &[("cwd", "w"), ("env", "gone")], Err(()));
        check(
            &tree,
            &[("cwd", "w"), ("env", "")],
            Ok(("w", Marker(".mind"))),
        );
        check(
            &tree,
            &[("cwd", "w"), ("claude", "gone"), ("hook", "gone")],
            Ok(("w", Marker(".mind"))),
        );
        check(&tree, &[("cwd", "gone")], Err(()));
    }

    #[test]
    fn the_nearest_marker_wins() {
        use FoundBy::*;
        for (file, marker) in [
            ("w/memory-forge.toml", "memory-forge.toml"),
            ("w/.mind/", ".mind"),
            ("w/knowledge/", "knowledge"),
            ("w/_MANIFEST.md", "_MANIFEST.md"),
            ("w/.agents/memory/", ".agents/memory"),
        ] {
            check(
                &[file, "w/a/b/"],
                &[("cwd", "w/a/b")],
                Ok(("w", Marker(marker))),
            );
        }
        check(
            &["w/.mind/", "w/a/knowledge/", "w/a/b/"],
            &[("cwd", "w/a/b")],
            Ok(("w/a", Marker("knowledge"))),
        );
        // A file called `knowledge` and a folder called `_MANIFEST.md` are not markers.
        check(
            &["w/knowledge", "w/a/"],
            &[("cwd", "w/a")],
            Ok(("w/a", Cwd)),
        );
        check(
            &["w/_MANIFEST.md/", "w/a/"],
            &[("cwd", "w/a")],
            Ok(("w/a", Cwd)),
        );
    }

    #[test]
    fn not_above_the_git_root_or_home_and_at_most_ten_up() {
        use FoundBy::*;
        let inside = ["knowledge/", "repo/.git/", "repo/a/"];
        check(&inside, &[("cwd", "repo/a")], Ok(("repo", GitRoot)));
        check(
            &["repo/knowledge/", "repo/.git/", "repo/a/"],
            &[("cwd", "repo/a")],
            Ok(("repo", Marker("knowledge"))),
        );
        check(
            &["knowledge/", "repo/.git", "repo/a/"],
            &[("cwd", "repo/a")],
            Ok(("repo", GitRoot)),
        );
        check(
            &["knowledge/", "home/a/"],
            &[("cwd", "home/a"), ("home", "home")],
            Ok(("home/a", Cwd)),
        );
        check(
            &["home/knowledge/", "home/a/"],
            &[("cwd", "home/a"), ("home", "home")],
            Ok(("home", Marker("knowledge"))),
        );
        let ten = "w/1/2/3/4/5/6/7/8/9/10";
        let eleven = "w/1/2/3/4/5/6/7/8/9/10/11";
        let tree = ["w/.mind/", "w/1/2/3/4/5/6/7/8/9/10/11/"];
        check(&tree, &[("cwd", ten)], Ok(("w", Marker(".mind"))));
        check(&tree, &[("cwd", eleven)], Ok((eleven, Cwd)));
        let tree = ["w/.git/", "w/1/2/3/4/5/6/7/8/9/10/11/"];
        check(&tree, &[("cwd", eleven)], Ok(("w", GitRoot)));
    }
}
