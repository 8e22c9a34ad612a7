//! Where the state is kept, by name: each file under both of its spellings, and
//! the folders that hold them. Names alone: `mind::StateLayout` decides which
//! spelling a workspace uses, and other modules write no such path themselves.

/// The folder for state in a workspace without a manifest, and for the small
/// files that hooks keep under both layouts: that it exists proves nothing.
pub const MIND_FOLDER: &str = ".mind";
/// The folder for state in a workspace with a manifest.
pub const MEMORY_FOLDER: &str = "memory";
/// Folders that may hold state; the role decides about each file.
pub const STATE_FOLDERS: [&str; 3] = [MIND_FOLDER, MEMORY_FOLDER, "scratch"];
/// What hooks keep of the state before a compaction.
pub const CHECKPOINTS_FOLDER: &str = ".mind/checkpoints";

/// One file of the state under both layouts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateSpelling {
    pub mind: &'static str,
    pub manifest: &'static str,
}

pub const STATE: StateSpelling = StateSpelling {
    mind: ".mind/STATE.md",
    manifest: "memory/status.md",
};
/// With a manifest, tasks are a part of the status.
pub const PROGRESS: StateSpelling = StateSpelling {
    mind: ".mind/PROGRESS.md",
    manifest: STATE.manifest,
};
pub const DECISIONS: StateSpelling = StateSpelling {
    mind: ".mind/DECISIONS.md",
    manifest: "memory/decisions.md",
};
pub const SESSION_LOG: StateSpelling = StateSpelling {
    mind: ".mind/SESSION-LOG.md",
    manifest: "memory/session-log.md",
};
/// With a manifest, old decisions stay where they are.
pub const ARCHIVE: StateSpelling = StateSpelling {
    mind: ".mind/ARCHIVE.md",
    manifest: "memory/session-log-archive.md",
};
pub const IDEAS: StateSpelling = StateSpelling {
    mind: ".mind/IDEAS.md",
    manifest: "scratch/ideas.md",
};
/// Only a workspace with a manifest has one of its own.
pub const GLOSSARY: &str = "memory/glossary.md";
