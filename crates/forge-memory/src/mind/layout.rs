//! Resolves which files hold the state: `.mind/`, or the `memory/` folder of a
//! workspace with a manifest. Looks at names, and never creates anything.

use crate::routing::layout::{self, StateFile};
use crate::routing::manifest::{self, Manifest};
use crate::state_files::{self, MEMORY_FOLDER, MIND_FOLDER};
use crate::workspace::{PathError, RelPath, Workspace};

/// A state file by its purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MindFile {
    /// Where the work stands.
    State,
    /// The tasks.
    Progress,
    /// The decisions.
    Decisions,
    /// The log of sessions.
    SessionLog,
    /// The file to which compression moves old entries.
    Archive,
}

/// The layout that determines paths and formats of the state files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateLayoutKind {
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
    pub(super) layout: StateLayoutKind,
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
    /// manifest uses its own, and [`StateLayout::shadowed_files`] lists the files of
    /// the other layout.
    pub fn resolve(workspace: &Workspace) -> StateLayout {
        let mind = StateLayout::for_mind();
        let managed = workspace.root().join(manifest::MANIFEST_FILE).is_file();
        // Without a manifest, a status file counts only if `.mind/STATE.md`
        // does not exist: the layout never switches silently.
        let alone = || {
            let in_mind = workspace.absolute_path(&mind.state).is_file();
            !in_mind && layout::has_workspace_layout(workspace)
        };
        if !managed && !alone() {
            return mind;
        }
        let of_manifest = StateLayout::for_manifest(workspace, managed);
        let (theirs, ours) = (
            of_manifest.existing_files(workspace),
            mind.existing_files(workspace),
        );
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
    pub fn kind(&self) -> StateLayoutKind {
        self.layout
    }

    /// Returns why this layout is used.
    pub fn reason(&self) -> LayoutReason {
        self.reason
    }

    /// Lists existing state files of the layout that is not in use, which
    /// nothing reads or writes. Computed on request, so that a prompt does not
    /// wait for it.
    pub fn shadowed_files(&self, workspace: &Workspace) -> Vec<RelPath> {
        let other = match self.layout {
            StateLayoutKind::Manifest => StateLayout::for_mind(),
            StateLayoutKind::Mind if layout::has_workspace_layout(workspace) => {
                StateLayout::for_manifest(workspace, true)
            }
            StateLayoutKind::Mind => return Vec::new(),
        };
        other.existing_files(workspace)
    }

    /// Lists existing state files, without the archive. Files that were found
    /// by name alone do not count: any project may have a `docs/status.md`.
    fn existing_files(&self, workspace: &Workspace) -> Vec<RelPath> {
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
        let there = |path: &RelPath| counts(path) && workspace.absolute_path(path).is_file();
        let present = paths.into_iter().filter(|path| there(path));
        present.cloned().collect()
    }

    /// Returns the path of a file, whether or not it exists.
    pub fn path(&self, which: MindFile) -> &RelPath {
        match which {
            MindFile::State => &self.state,
            MindFile::Progress => &self.progress,
            MindFile::Decisions => &self.decisions,
            MindFile::SessionLog => &self.session_log,
            MindFile::Archive => &self.archive,
        }
    }

    fn for_mind() -> StateLayout {
        StateLayout {
            layout: StateLayoutKind::Mind,
            reason: LayoutReason::Default,
            configured: false,
            state: constant_path(state_files::STATE_FILE.mind),
            progress: constant_path(state_files::PROGRESS_FILE.mind),
            decisions: constant_path(state_files::DECISIONS_FILE.mind),
            session_log: constant_path(state_files::SESSION_LOG_FILE.mind),
            archive: constant_path(state_files::ARCHIVE_FILE.mind),
        }
    }

    fn for_manifest(workspace: &Workspace, managed: bool) -> StateLayout {
        let manifest = Manifest::read(workspace);
        let files = [
            StateFile::Status,
            StateFile::SessionLog,
            StateFile::Decisions,
        ];
        let [state, session_log, decisions] =
            layout::resolve_state_files(workspace, manifest.as_ref(), files);
        let archive = session_log
            .as_str()
            .strip_suffix(".md")
            .and_then(|stem| RelPath::new(&format!("{stem}-archive.md")).ok())
            .unwrap_or_else(|| constant_path(state_files::ARCHIVE_FILE.manifest));
        let configured = (manifest.as_ref())
            .is_some_and(|it| it.config_value(StateFile::Status.config_key()).is_some());
        StateLayout {
            layout: StateLayoutKind::Manifest,
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
    pub(super) fn replaced_state_path(&self, workspace: &Workspace) -> Result<RelPath, PathError> {
        const MAX_ARCHIVE_BYTES: u64 = 32 << 10;
        let path = self.state.as_str();
        let stem = path.strip_suffix(".md").unwrap_or(path);
        let mut archive = RelPath::new(&format!("{stem}-archive.md"))?;
        let is_full = |path: &RelPath| {
            let about = workspace.absolute_path(path).symlink_metadata();
            about.is_ok_and(|it| it.len() > MAX_ARCHIVE_BYTES)
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
pub(super) fn resolve_ideas_path(workspace: &Workspace) -> RelPath {
    let manifest = Manifest::read(workspace);
    layout::resolve_state_file(workspace, manifest.as_ref(), StateFile::Ideas)
}

fn constant_path(path: &str) -> RelPath {
    RelPath::new(path).expect("the path is relative and valid")
}

#[cfg(test)]
mod tests {
    use testkit::TestWorkspace;

    use super::*;

    fn check(files: &str, expect: (StateLayoutKind, LayoutReason, &str, &[&str])) {
        let files = TestWorkspace::files(files);
        let workspace = Workspace::open(files.root()).expect("a workspace");
        let layout = StateLayout::resolve(&workspace);
        let shadowed = layout.shadowed_files(&workspace);
        let shadowed: Vec<&str> = shadowed.iter().map(RelPath::as_str).collect();
        let found = (
            layout.kind(),
            layout.reason(),
            layout.path(MindFile::State).as_str(),
            &shadowed[..],
        );
        assert_eq!(found, expect);
    }

    #[test]
    fn one_layout_is_used_and_the_other_is_named() {
        use StateLayoutKind::{Manifest, Mind};
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
