//! Lists the files that agents load automatically, wherever they are in the
//! tree.
//!
//! Nested projects have instruction files of their own, so the whole tree is
//! walked, apart from folders that hold other people's code or derived files.
//! It lists and never opens a file; files beyond the workspace are read by the
//! two functions at the end, which never write and never fail.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::path::{is_inside_root, is_plain_name};
use super::regular::{self, LinkPolicy};
use super::role::is_autoload;
use super::{DERIVED_FOLDER, RelPath, ScanProblem, Workspace};
use crate::system;

/// The files of a walk and its problems, both sorted by path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AutoloadScan {
    /// The files that agents load.
    pub files: Vec<AutoloadFile>,
    /// What was skipped, and why.
    pub problems: Vec<ScanProblem>,
}

/// A file that agents load automatically.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AutoloadFile {
    /// The path relative to the root.
    pub path: RelPath,
    /// The target of the symlink, if the file is one.
    pub real: Option<RelPath>,
}

impl Workspace {
    /// Finds every Markdown file that some client may load without a request.
    pub fn find_autoload_files(&self) -> AutoloadScan {
        let mut walk = AutoloadWalk {
            root: self.root(),
            found: AutoloadScan::default(),
        };
        walk.walk_folder("", self.root(), &mut Vec::new());
        walk.found.files.sort_by(|a, b| a.path.cmp(&b.path));
        walk.found.problems.sort();
        walk.found
    }
}

/// Reads a file beyond the workspace, such as a person's own instructions.
/// Returns `None` if it is missing, not a regular file, or larger than
/// `limit`.
pub fn read_beyond_workspace(path: &Path, limit: u64) -> Option<String> {
    let bytes = regular::read_regular(path, LinkPolicy::Follow, limit).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Lists the Markdown files below a folder beyond the workspace, sorted. Links
/// are followed as clients follow them, `depth` folders down and no further.
pub fn list_beyond_workspace(folder: &Path, depth: usize) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![(folder.to_path_buf(), depth)];
    let mut listed = 0;
    while let Some((folder, depth)) = folders.pop() {
        // Links may lead in circles, which `depth` alone does not keep short.
        listed += 1;
        if listed > MAX_FOLDER_ENTRIES {
            break;
        }
        let Ok(entries) = fs::read_dir(&folder) else {
            continue;
        };
        for path in entries.flatten().take(MAX_FOLDER_ENTRIES).map(|e| e.path()) {
            if path.is_dir() {
                if depth > 0 {
                    folders.push((path, depth - 1));
                }
            } else if path.extension().is_some_and(|e| e == "md") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// Upper bound for entries of a folder of instructions; a folder with more is
/// something else.
const MAX_FOLDER_ENTRIES: usize = 10_000;

/// Other people's code, and what can be rebuilt.
const SKIPPED_FOLDERS: [&str; 10] = [
    ".git",
    ".hg",
    ".jj",
    ".svn",
    ".venv",
    "__pycache__",
    "node_modules",
    "target",
    "venv",
    DERIVED_FOLDER,
];

struct AutoloadWalk<'a> {
    root: &'a Path,
    found: AutoloadScan,
}

impl AutoloadWalk<'_> {
    /// Walks `folder`, whose place on disk is `absolute`. `trail` holds the
    /// folders that symlinks on the way led to, so that no walk runs in
    /// circles.
    fn walk_folder(&mut self, folder: &str, absolute: &Path, trail: &mut Vec<PathBuf>) {
        let entries = match fs::read_dir(absolute) {
            Ok(entries) => entries,
            Err(e) => return self.add_problem(folder, &format!("cannot be read: {e}")),
        };
        for entry in entries {
            let Ok(entry) = entry else { continue };
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| is_plain_name(name)) else {
                continue;
            };
            let path = match folder {
                "" => name.to_string(),
                _ => format!("{folder}/{name}"),
            };
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if kind.is_symlink() {
                self.follow_link(&path, &entry.path(), trail);
            } else if kind.is_dir() {
                if !is_skipped(&path, name) {
                    self.walk_folder(&path, &entry.path(), trail);
                }
            } else if kind.is_file() && is_loaded_path(&path) {
                self.add_file(path, &entry.path(), !trail.is_empty());
            }
        }
    }

    fn follow_link(&mut self, path: &str, absolute: &Path, trail: &mut Vec<PathBuf>) {
        let holds = can_hold_loaded(path);
        if !holds && !is_loaded_path(path) {
            return;
        }
        let real = match system::canonicalize(absolute) {
            Ok(real) => real,
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                return self.add_problem(path, "is a symlink to something that does not exist");
            }
            Err(e) => return self.add_problem(path, &format!("cannot be read: {e}")),
        };
        if !is_inside_root(self.root, &real) {
            self.add_problem(path, "is a symlink that leads out of the workspace");
        } else if real.is_dir() {
            let circle = absolute.starts_with(&real) || trail.iter().any(|t| t.starts_with(&real));
            if circle {
                self.add_problem(path, "is a symlink to a folder that contains it");
            } else if holds && trail.len() < 8 {
                trail.push(real.clone());
                self.walk_folder(path, &real, trail);
                trail.pop();
            }
        } else if is_loaded_path(path) {
            self.add_file(path.to_string(), &real, true);
        }
    }

    fn add_file(&mut self, path: String, absolute: &Path, linked: bool) {
        let real = || {
            let real = system::canonicalize(absolute).ok()?;
            let real = real.strip_prefix(self.root).ok()?.to_str()?;
            RelPath::new(real).ok()
        };
        let real = if linked { real() } else { None };
        let path = RelPath::from_checked(path);
        self.found.files.push(AutoloadFile { path, real });
    }

    fn add_problem(&mut self, path: &str, message: &str) {
        self.found.problems.push(ScanProblem {
            path: if path.is_empty() { "." } else { path }.to_string(),
            message: message.to_string(),
        });
    }
}

/// Returns `true` if a folder of this name holds other people's code or rebuilt
/// files.
pub fn is_foreign(name: &str) -> bool {
    SKIPPED_FOLDERS.contains(&name)
}

pub(super) fn is_skipped(path: &str, name: &str) -> bool {
    // Claude Code keeps whole copies of the repository in its worktrees.
    is_foreign(name) || path.ends_with(".claude/worktrees")
}

fn is_loaded_path(path: &str) -> bool {
    // Every file of the tree comes by here, and hardly any has such a name: a
    // path is made of none before that is known.
    let is_markdown = path.ends_with(".md") || path.ends_with(".mdc");
    is_markdown && (is_autoload(path) || is_of_another_client(path)) && is_own_path(path)
}

/// Returns `true` for a path of the workspace that is not derived.
fn is_own_path(path: &str) -> bool {
    RelPath::new(path).is_ok_and(|path| !path.starts_with(DERIVED_FOLDER))
}

fn is_of_another_client(path: &str) -> bool {
    path.rsplit('/').next() == Some("AGENTS.override.md")
        || [
            ".github/skills/",
            ".github/instructions/",
            ".gemini/skills/",
        ]
        .iter()
        .any(|folder| path.starts_with(folder))
}

/// Returns `true` if a folder of this name would hold files that are loaded.
fn can_hold_loaded(path: &str) -> bool {
    is_loaded_path(&format!("{path}/x.md"))
        || matches!(path, ".agents" | ".cursor" | ".github" | ".gemini")
        || [".agents", ".cursor"]
            .iter()
            .any(|name| path.ends_with(&format!("/{name}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::TestWorkspace;

    fn listed(ws: &TestWorkspace) -> Vec<String> {
        let workspace = Workspace::open(ws.root()).expect("it is a folder");
        let show = |f: AutoloadFile| match f.real {
            Some(real) => format!("{} = {real}", f.path),
            None => f.path.to_string(),
        };
        workspace
            .find_autoload_files()
            .files
            .into_iter()
            .map(show)
            .collect()
    }

    #[test]
    fn files_are_found_at_any_depth() {
        let ws = TestWorkspace::files(
            "
            //- CLAUDE.md
            //- apps/web/AGENTS.md
            //- apps/web/.claude/skills/a/SKILL.md
            //- .cursor/rules/a.mdc
            //- .github/copilot-instructions.md
            //- .opencode/agent/x.md
            //- .claude/settings.json
            //- README.md
            //- knowledge/a.md
            //- node_modules/x/CLAUDE.md
            //- target/CLAUDE.md
            //- .memory-forge/CLAUDE.md
            //- .claude/worktrees/w/CLAUDE.md
            ",
        );
        let expect = [
            ".cursor/rules/a.mdc",
            ".github/copilot-instructions.md",
            ".opencode/agent/x.md",
            "CLAUDE.md",
            "apps/web/.claude/skills/a/SKILL.md",
            "apps/web/AGENTS.md",
        ];
        assert_eq!(listed(&ws), expect);
    }

    #[test]
    #[cfg(unix)]
    fn links_are_followed_inside_and_named_when_they_lead_out() {
        use std::os::unix::fs::symlink;
        let ws = TestWorkspace::files("//- CLAUDE.md\nx\n//- .agents/skills/a/SKILL.md\ny\n");
        symlink("CLAUDE.md", ws.path("AGENTS.md")).expect("not there yet");
        std::fs::create_dir(ws.path(".claude")).expect("not there yet");
        symlink("../.agents/skills", ws.path(".claude/skills")).expect("not there yet");
        symlink("../..", ws.path(".agents/skills/loop")).expect("not there yet");
        symlink("/etc", ws.path(".codex")).expect("not there yet");
        symlink("gone", ws.path("GEMINI.md")).expect("not there yet");
        let expect = [
            ".agents/skills/a/SKILL.md",
            ".claude/skills/a/SKILL.md = .agents/skills/a/SKILL.md",
            "AGENTS.md = CLAUDE.md",
            "CLAUDE.md",
        ];
        assert_eq!(listed(&ws), expect);
        let workspace = Workspace::open(ws.root()).expect("it is a folder");
        let problems = workspace.find_autoload_files().problems;
        let paths: Vec<&str> = problems.iter().map(|p| p.path.as_str()).collect();
        let expect = [
            ".agents/skills/loop",
            ".claude/skills/loop",
            ".codex",
            "GEMINI.md",
        ];
        assert_eq!(paths, expect, "{problems:?}");
    }

    #[test]
    fn beyond_the_workspace_what_cannot_be_read_is_nothing() {
        let ws = TestWorkspace::files("//- a.md\nhello\n//- d/e/f.md\n");
        assert_eq!(
            read_beyond_workspace(&ws.path("a.md"), 100).as_deref(),
            Some("hello\n")
        );
        for (path, limit) in [("a.md", 3), ("gone.md", 100), ("d", 100)] {
            assert_eq!(read_beyond_workspace(&ws.path(path), limit), None, "{path}");
        }
        assert_eq!(list_beyond_workspace(ws.root(), 1), [ws.path("a.md")]);
        assert_eq!(
            list_beyond_workspace(ws.root(), 2),
            [ws.path("a.md"), ws.path("d/e/f.md")]
        );
        assert!(list_beyond_workspace(&ws.path("gone"), 1).is_empty());
    }
}
