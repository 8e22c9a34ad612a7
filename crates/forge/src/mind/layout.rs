//! Which files hold the state: `.mind/`, or the `memory/` folder of a
//! workspace with a manifest. Looks at names, and never creates anything.

use crate::routing::layout::{self, StateFile};
use crate::routing::manifest::{self, Manifest};
use crate::workspace::{RelPath, Workspace};

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
    /// `memory/status.md` and its siblings, where a `_MANIFEST.md` is.
    Manifest,
}

#[derive(Debug, Clone)]
pub(super) struct Files {
    pub(super) layout: Layout,
    state: RelPath,
    progress: RelPath,
    decisions: RelPath,
    session_log: RelPath,
    archive: RelPath,
}

const IN_MIND: [&str; 4] = ["STATE.md", "PROGRESS.md", "DECISIONS.md", "SESSION-LOG.md"];

impl Files {
    pub(super) fn resolve(workspace: &Workspace) -> Files {
        let in_mind = || {
            let folder = workspace.root().join(super::FOLDER);
            IN_MIND.iter().any(|name| folder.join(name).is_file())
        };
        if !workspace.root().join(manifest::FILE).is_file() || in_mind() {
            return Files::mind();
        }
        Files::manifest(workspace)
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
            state: known(".mind/STATE.md"),
            progress: known(".mind/PROGRESS.md"),
            decisions: known(".mind/DECISIONS.md"),
            session_log: known(".mind/SESSION-LOG.md"),
            archive: known(".mind/ARCHIVE.md"),
        }
    }

    fn manifest(workspace: &Workspace) -> Files {
        let manifest = Manifest::read(workspace);
        let find = |file| layout::resolve(workspace, manifest.as_ref(), file);
        let state = find(StateFile::Status);
        let session_log = find(StateFile::SessionLog);
        let archive = session_log
            .as_str()
            .strip_suffix(".md")
            .and_then(|stem| RelPath::new(&format!("{stem}-archive.md")).ok())
            .unwrap_or_else(|| known("memory/session-log-archive.md"));
        Files {
            layout: Layout::Manifest,
            progress: state.clone(),
            state,
            decisions: find(StateFile::Decisions),
            session_log,
            archive,
        }
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
