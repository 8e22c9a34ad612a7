//! A look over the whole tree, for what may lie anywhere in it: files that
//! agents load, and temporary files that a crash left behind.
//!
//! Slower than a scan, so it is for commands that a person waits for. It opens
//! no file, follows no symlink, and passes over what others install or build.

use std::fs;

use super::disk::is_temp_name;
use super::path::is_plain_name;
use super::{RelPath, ScanProblem, Workspace};

/// What a look over the tree found, sorted by path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Survey {
    /// `CLAUDE.md` and `AGENTS.md` as regular files, at any depth.
    pub context_files: Vec<RelPath>,
    /// The same names as symlinks, which are never written through.
    pub linked: Vec<RelPath>,
    /// Temporary files of ours that nobody will finish.
    pub leftovers: Vec<RelPath>,
    /// Folders that could not be looked into.
    pub problems: Vec<ScanProblem>,
}

/// Folders that hold other people's files, or nothing worth looking at.
const PASSED_OVER: [&str; 14] = [
    ".cache",
    ".memory-forge",
    ".next",
    ".tox",
    ".venv",
    "__pycache__",
    "bower_components",
    "build",
    "dist",
    "node_modules",
    "site-packages",
    "target",
    "vendor",
    "venv",
];

impl Workspace {
    /// Looks over the whole tree.
    pub fn survey(&self) -> Survey {
        let mut survey = Survey::default();
        let mut folders = vec![String::new()];
        while let Some(folder) = folders.pop() {
            if let Err(e) = self.look_into(&folder, &mut folders, &mut survey) {
                survey.problems.push(ScanProblem {
                    path: folder,
                    message: format!("cannot be looked into: {e}"),
                });
            }
        }
        survey.context_files.sort();
        survey.linked.sort();
        survey.leftovers.sort();
        survey.problems.sort();
        survey
    }

    fn look_into(
        &self,
        folder: &str,
        folders: &mut Vec<String>,
        survey: &mut Survey,
    ) -> std::io::Result<()> {
        for entry in fs::read_dir(self.root().join(folder))? {
            let entry = entry?;
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| is_plain_name(name)) else {
                continue;
            };
            let path = match folder {
                "" => name.to_owned(),
                folder => format!("{folder}/{name}"),
            };
            let kind = entry.file_type()?;
            if kind.is_dir() {
                if !PASSED_OVER.contains(&name) {
                    folders.push(path);
                }
                continue;
            }
            let list = match name {
                // Below `knowledge/` they are documents like any other.
                "CLAUDE.md" | "AGENTS.md" if !path.starts_with("knowledge/") => {
                    if kind.is_symlink() {
                        &mut survey.linked
                    } else {
                        &mut survey.context_files
                    }
                }
                _ if kind.is_file() && is_temp_name(&entry.file_name()) => &mut survey.leftovers,
                _ => continue,
            };
            list.push(RelPath::from_checked(path));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::TestWorkspace;

    #[test]
    fn finds_context_files_at_any_depth_and_nothing_that_was_installed() {
        let ws = TestWorkspace::files(
            "
            //- CLAUDE.md
            //- packages/a/AGENTS.md
            //- .claude/CLAUDE.md
            //- knowledge/legacy/CLAUDE.md
            //- node_modules/x/CLAUDE.md
            //- target/doc/AGENTS.md
            //- docs/.memory-forge-Ab12.tmp
            //- docs/claude.md
            ",
        );
        let survey = Workspace::open(ws.root()).unwrap().survey();
        let shown = |paths: &[RelPath]| {
            let paths: Vec<&str> = paths.iter().map(RelPath::as_str).collect();
            paths.join(" ")
        };
        assert_eq!(
            shown(&survey.context_files),
            ".claude/CLAUDE.md CLAUDE.md packages/a/AGENTS.md"
        );
        assert_eq!(shown(&survey.leftovers), "docs/.memory-forge-Ab12.tmp");
        assert_eq!(survey.problems, []);
    }

    #[test]
    #[cfg(unix)]
    fn a_symlink_is_told_apart() {
        let ws = TestWorkspace::files("//- AGENTS.md\nx\n");
        std::os::unix::fs::symlink("AGENTS.md", ws.path("CLAUDE.md")).unwrap();
        let survey = Workspace::open(ws.root()).unwrap().survey();
        assert_eq!(survey.linked, [RelPath::new("CLAUDE.md").unwrap()]);
        assert_eq!(survey.context_files, [RelPath::new("AGENTS.md").unwrap()]);
    }
}
