//! Which files hold the state: `.mind/`, or the `memory/` folder of a
//! workspace with a manifest. Looks at names, and never creates anything.

use crate::routing::layout::{self, StateFile};
use crate::routing::manifest::{self, Manifest};
use crate::workspace::{PathError, RelPath, Workspace};

/// A file by what it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum File {
    State,
    Progress,
    Decisions,
    SessionLog,
    /// Where compression puts what is old.
    Archive,
}

/// Whose formats the files have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// `.mind/STATE.md` and its siblings.
    Mind,
    /// `memory/status.md` and its siblings, with a `_MANIFEST.md` or without.
    Manifest,
}

#[derive(Debug, Clone)]
pub(super) struct Files {
    pub(super) layout: Layout,
    /// Whether the manifest itself says where the state is.
    configured: bool,
    state: RelPath,
    progress: RelPath,
    decisions: RelPath,
    session_log: RelPath,
    archive: RelPath,
}

impl Files {
    /// The one place that decides between the two layouts. The main file
    /// decides, so that a stray `.mind/PROGRESS.md` beside `memory/status.md`
    /// does not hide the state; where both main files exist, a workspace with a
    /// manifest keeps to it, and `Mind::unused_state` names the files of the
    /// other layout.
    pub(super) fn resolve(workspace: &Workspace) -> Files {
        let mind = Files::mind();
        let managed = workspace.root().join(manifest::FILE).is_file();
        // Without a manifest a status file makes a workspace only where
        // `.mind/STATE.md` is not: nothing switches silently.
        let alone = || {
            let in_mind = workspace.absolute(&mind.state).is_file();
            !in_mind && layout::is_workspace(workspace)
        };
        if !managed && !alone() {
            return mind;
        }
        let of_manifest = Files::manifest(workspace);
        let (theirs, ours) = (of_manifest.present(workspace), mind.present(workspace));
        let use_mind = !theirs.contains(&of_manifest.state)
            && (ours.contains(&mind.state) || theirs.is_empty() && !ours.is_empty());
        if use_mind { mind } else { of_manifest }
    }

    /// The state files of the layout that is not in use.
    pub(super) fn unused(&self, workspace: &Workspace) -> Vec<RelPath> {
        let other = match self.layout {
            Layout::Manifest => Files::mind(),
            Layout::Mind if layout::is_workspace(workspace) => Files::manifest(workspace),
            Layout::Mind => return Vec::new(),
        };
        other.present(workspace)
    }

    /// The state files that exist, without the archive. Those that were found by
    /// their name alone do not count: any project may have a `docs/status.md`.
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
            folder == Some(super::FOLDER) || folder == Some("memory")
        };
        let counts = |path: &RelPath| in_place(path) || self.configured && *path == self.state;
        let there = |path: &RelPath| counts(path) && workspace.absolute(path).is_file();
        let present = paths.into_iter().filter(|path| there(path));
        present.cloned().collect()
    }

    pub(super) fn path(&self, which: File) -> &RelPath {
        match which {
            File::State => &self.state,
            File::Progress => &self.progress,
            File::Decisions => &self.decisions,
            File::SessionLog => &self.session_log,
            File::Archive => &self.archive,
        }
    }

    fn mind() -> Files {
        Files {
            layout: Layout::Mind,
            configured: false,
            state: known(".mind/STATE.md"),
            progress: known(".mind/PROGRESS.md"),
            decisions: known(".mind/DECISIONS.md"),
            session_log: known(".mind/SESSION-LOG.md"),
            archive: known(".mind/ARCHIVE.md"),
        }
    }

    fn manifest(workspace: &Workspace) -> Files {
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
            .unwrap_or_else(|| known("memory/session-log-archive.md"));
        Files {
            layout: Layout::Manifest,
            configured: (manifest.as_ref())
                .is_some_and(|it| it.config(StateFile::Status.key()).is_some()),
            progress: state.clone(),
            state,
            decisions,
            session_log,
            archive,
        }
    }
}

impl Files {
    /// Where replaced lines of the state file are kept: beside it, since the
    /// archive of the session log is read for numbers and ids of its entries. A
    /// full file is followed by the next one, so that a change never rewrites
    /// years of lines.
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

/// Where ideas are, or would be made: by the manifest, by custom, by name.
pub(super) fn ideas(workspace: &Workspace) -> RelPath {
    let manifest = Manifest::read(workspace);
    layout::resolve(workspace, manifest.as_ref(), StateFile::Ideas)
}

fn known(path: &str) -> RelPath {
    RelPath::new(path).expect("a relative path without anything odd in it")
}
