//! Resolves which files hold the state: `.mind/`, or the `memory/` folder of a
//! workspace with a manifest. Looks at names, and never creates anything.

use crate::routing::layout::{self, StateFile};
use crate::routing::manifest::{self, Manifest};
use crate::state_files::{self, MEMORY_FOLDER, MIND_FOLDER};
use crate::workspace::{PathError, RelPath, Workspace};

/// A state file by its purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum File {
    State,
    Progress,
    Decisions,
    SessionLog,
    /// The file to which compression moves old entries.
    Archive,
}

/// The layout that determines paths and formats of the state files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// `.mind/STATE.md` and its siblings.
    Mind,
    /// `memory/status.md` and its siblings, with or without `_MANIFEST.md`.
    Manifest,
}

/// The reason why a layout is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayoutReason {
    /// The manifest's Config table names the state.
    Configured,
    /// A manifest exists.
    Manifest,
    /// A status file exists in its usual place, and `.mind/STATE.md` does not.
    StatusFile,
    /// A manifest exists, but the state is in `.mind/`.
    StateInMind,
    /// Neither a manifest nor a state file exists.
    Default,
}

/// The paths of a workspace's state files. Every caller resolves them here, so
/// that all of them agree.
#[derive(Debug, Clone)]
pub struct StateLayout {
    pub(super) layout: Layout,
    reason: LayoutReason,
    /// Whether the manifest itself states where the state is.
    configured: bool,
    state: RelPath,
    progress: RelPath,
    decisions: RelPath,
    session_log: RelPath,
    archive: RelPath,
}

impl StateLayout {
    /// Decides between the two layouts; nothing else does. The main file
    /// decides, so that a stray `.mind/PROGRESS.md` next to `memory/status.md`
    /// does not hide the state; if both main files exist, a workspace with a
    /// manifest uses its own, and [`StateLayout::shadowed`] lists the files of
    /// the other layout.
    pub fn resolve(workspace: &Workspace) -> StateLayout {
        let mind = StateLayout::mind();
        let managed = workspace.root().join(manifest::FILE).is_file();
        // Without a manifest, a status file counts only if `.mind/STATE.md`
        // does not exist: the layout never switches silently.
        let alone = || {
            let in_mind = workspace.absolute(&mind.state).is_file();
            !in_mind && layout::is_workspace(workspace)
        };
        if !managed && !alone() {
            return mind;
        }
        let of_manifest = StateLayout::manifest(workspace, managed);
        let (theirs, ours) = (of_manifest.present(workspace), mind.present(workspace));
        let use_mind = !theirs.contains(&of_manifest.state)
            && (ours.contains(&mind.state) || theirs.is_empty() && !ours.is_empty());
        if use_mind {
            StateLayout {
                reason: LayoutReason::StateInMind,
                ..mind
            }
        } else {
            of_manifest
        }
    }

    /// Returns the layout.
    pub fn kind(&self) -> Layout {
        self.layout
    }

    /// Returns why this layout is used.
    pub fn reason(&self) -> LayoutReason {
        self.reason
    }

    /// Lists existing state files of the layout that is not in use, which
    /// nothing reads or writes. Computed on request, so that a prompt does not
    /// wait for it.
    pub fn shadowed(&self, workspace: &Workspace) -> Vec<RelPath> {
        let other = match self.layout {
            Layout::Manifest => StateLayout::mind(),
            Layout::Mind if layout::is_workspace(workspace) => {
                StateLayout::manifest(workspace, true)
            }
            Layout::Mind => return Vec::new(),
        };
        other.present(workspace)
    }

    /// Lists existing state files, without the archive. Files that were found
    /// by name alone do not count: any project may have a `docs/status.md`.
    fn present(&self, workspace: &Workspace) -> Vec<RelPath> {
        let mut paths = vec![
            &self.state,
            &self.progress,
            &self.decisions,
            &self.session_log,
        ];
        paths.dedup();
        let in_place = |path: &RelPath| {
            let folder = path.parent();
            let folder = folder.as_ref().map(RelPath::as_str);
            folder == Some(MIND_FOLDER) || folder == Some(MEMORY_FOLDER)
        };
        let counts = |path: &RelPath| in_place(path) || self.configured && *path == self.state;
        let there = |path: &RelPath| counts(path) && workspace.absolute(path).is_file();
        let present = paths.into_iter().filter(|path| there(path));
        present.cloned().collect()
    }

    /// Returns the path of a file, whether or not it exists.
    pub fn path(&self, which: File) -> &RelPath {
        match which {
            File::State => &self.state,
            File::Progress => &self.progress,
            File::Decisions => &self.decisions,
            File::SessionLog => &self.session_log,
            File::Archive => &self.archive,
        }
    }

    fn mind() -> StateLayout {
        StateLayout {
            layout: Layout::Mind,
            reason: LayoutReason::Default,
            configured: false,
            state: known(state_files::STATE.mind),
            progress: known(state_files::PROGRESS.mind),
            decisions: known(state_files::DECISIONS.mind),
            session_log: known(state_files::SESSION_LOG.mind),
            archive: known(state_files::ARCHIVE.mind),
        }
    }

    fn manifest(workspace: &Workspace, managed: bool) -> StateLayout {
        let manifest = Manifest::read(workspace);
        let files = [
            StateFile::Status,
            StateFile::SessionLog,
            StateFile::Decisions,
        ];
        let [state, session_log, decisions] =
            layout::resolve_each(workspace, manifest.as_ref(), files);
        let archive = session_log
            .as_str()
            .strip_suffix(".md")
            .and_then(|stem| RelPath::new(&format!("{stem}-archive.md")).ok())
            .unwrap_or_else(|| known(state_files::ARCHIVE.manifest));
        let configured =
            (manifest.as_ref()).is_some_and(|it| it.config(StateFile::Status.key()).is_some());
        StateLayout {
            layout: Layout::Manifest,
            reason: match (configured, managed) {
                (true, _) => LayoutReason::Configured,
                (false, true) => LayoutReason::Manifest,
                (false, false) => LayoutReason::StatusFile,
            },
            configured,
            progress: state.clone(),
            state,
            decisions,
            session_log,
            archive,
        }
    }
}

impl StateLayout {
    /// Returns the file for replaced lines of the state: next to it, because
    /// the archive of the session log is searched for numbers and ids of its
    /// entries. A full file is followed by a new one, so that a change never
    /// rewrites years of lines.
    pub(super) fn replaced_state(&self, workspace: &Workspace) -> Result<RelPath, PathError> {
        const MAX_BYTES: u64 = 32 << 10;
        let path = self.state.as_str();
        let stem = path.strip_suffix(".md").unwrap_or(path);
        let mut archive = RelPath::new(&format!("{stem}-archive.md"))?;
        let is_full = |path: &RelPath| {
            let about = workspace.absolute(path).symlink_metadata();
            about.is_ok_and(|it| it.len() > MAX_BYTES)
        };
        let mut number = 2;
        while is_full(&archive) {
            archive = RelPath::new(&format!("{stem}-{number}-archive.md"))?;
            number += 1;
        }
        Ok(archive)
    }
}

/// Resolves the inbox of ideas: by the manifest, by its usual place, by name.
pub(super) fn ideas(workspace: &Workspace) -> RelPath {
    let manifest = Manifest::read(workspace);
    layout::resolve(workspace, manifest.as_ref(), StateFile::Ideas)
}

fn known(path: &str) -> RelPath {
    RelPath::new(path).expect("a relative path without anything odd in it")
}

#[cfg(test)]
mod tests {
    use testkit::TestWorkspace;

    use super::*;

    fn check(files: &str, expect: (Layout, LayoutReason, &str, &[&str])) {
        let files = TestWorkspace::files(files);
        let workspace = Workspace::open(files.root()).expect("a workspace");
        let layout = StateLayout::resolve(&workspace);
        let shadowed = layout.shadowed(&workspace);
        let shadowed: Vec<&str> = shadowed.iter().map(RelPath::as_str).collect();
        let found = (
            layout.kind(),
            layout.reason(),
            layout.path(File::State).as_str(),
            &shadowed[..],
        );
        assert_eq!(found, expect);
    }

    #[test]
    fn one_layout_is_used_and_the_other_is_named() {
        use Layout::{Manifest, Mind};
        let state = "//- .mind/STATE.md\n# S\n";
        let status = "//- memory/status.md\n# S\n";
        let manifest = "//- _MANIFEST.md\n# M\n";
        check("", (Mind, LayoutReason::Default, ".mind/STATE.md", &[]));
        check(
            &format!("{state}{status}"),
            (
                Mind,
                LayoutReason::Default,
                ".mind/STATE.md",
                &["memory/status.md"],
            ),
        );
        check(
            status,
            (Manifest, LayoutReason::StatusFile, "memory/status.md", &[]),
        );
        check(
            manifest,
            (Manifest, LayoutReason::Manifest, "memory/status.md", &[]),
        );
        check(
            &format!("{manifest}{state}"),
            (Mind, LayoutReason::StateInMind, ".mind/STATE.md", &[]),
        );
        check(
            &format!("{manifest}{state}{status}"),
            (
                Manifest,
                LayoutReason::Manifest,
                "memory/status.md",
                &[".mind/STATE.md"],
            ),
        );
    }
}
