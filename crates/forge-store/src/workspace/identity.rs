//! Identifies a workspace wherever it is: by the first commit of its history,
//! and by its place in the repository. Renaming the folder, cloning it or
//! adding a worktree changes neither. Nothing is written for it.

use sha2::{Digest, Sha256};

use super::{Workspace, git};

/// The identity of a workspace, which lasts as long as its history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceIdentity {
    /// The first commit, by the way of first parents.
    pub commit: String,
    /// The folder in the repository; empty at its top.
    pub folder: String,
}

impl WorkspaceIdentity {
    /// Returns twelve hexadecimal digits for both together.
    pub fn id(&self) -> String {
        let digest = Sha256::digest(format!("{}\n{}", self.commit, self.folder));
        digest[..6].iter().map(|it| format!("{it:02x}")).collect()
    }
}

/// Returns the identity of a workspace; `None` without git, before the first
/// commit, and in a clone that has only a part of the history.
pub fn workspace_identity(workspace: &Workspace) -> Option<WorkspaceIdentity> {
    Some(WorkspaceIdentity {
        commit: git::first_commit(workspace.root())?,
        folder: git::repository_prefix(workspace.root())?,
    })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use testkit::TestWorkspace;

    use super::*;

    fn of(path: &std::path::Path) -> Option<String> {
        workspace_identity(&Workspace::open(path).expect("a folder")).map(|it| it.id())
    }

    #[test]
    fn renames_clones_and_worktrees_are_the_same_workspace() {
        let ws = TestWorkspace::files("//- a/knowledge/x.md\n# X\n//- b/knowledge/y.md\n# Y\n");
        assert_eq!(of(ws.root()), None, "no repository");
        ws.git_init();
        assert_eq!(of(ws.root()), None, "no commit");
        ws.commit("first");
        let first = of(ws.root()).expect("an identity");
        let inside = of(&ws.path("a")).expect("an identity");
        assert_ne!(first, inside, "a folder of it is another workspace");
        assert_ne!(inside, of(&ws.path("b")).expect("an identity"));
        ws.commit("second");
        assert_eq!(of(ws.root()), Some(first.clone()));
        let beside = ws.root().with_file_name("tree");
        ws.git(&[
            "worktree",
            "add",
            "--quiet",
            "-b",
            "other",
            &beside.to_string_lossy(),
        ]);
        assert_eq!(of(&beside), Some(first.clone()));
        assert_eq!(of(&beside.join("a")), Some(inside));
        let clone = ws.root().with_file_name("clone");
        ws.git(&["clone", "--quiet", ".", &clone.to_string_lossy()]);
        assert_eq!(of(&clone), Some(first.clone()));
        let renamed = ws.root().with_file_name("renamed");
        std::fs::rename(&clone, &renamed).expect("it can be renamed");
        assert_eq!(of(&renamed), Some(first));
        let part = ws.root().with_file_name("part");
        let url = format!("file://{}", renamed.display());
        let done = Command::new("git")
            .args(["clone", "--quiet", "--depth", "1", &url])
            .arg(&part)
            .status();
        if done.is_ok_and(|it| it.success()) {
            assert_eq!(of(&part), None, "its history begins elsewhere");
        }
    }
}
