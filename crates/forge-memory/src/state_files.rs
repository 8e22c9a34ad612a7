//! Names the state files: each in both layouts, and the folders that contain
//! them. `mind::StateLayout` decides which layout a workspace uses, and other
//! modules write no such path themselves.

/// The folder for state in a workspace without a manifest, and for the small
/// files of hooks in both layouts: so its existence proves nothing.
pub const MIND_FOLDER: &str = ".mind";
/// The folder for state in a workspace with a manifest.
pub const MEMORY_FOLDER: &str = "memory";
/// Folders that may contain state; the role decides about each file.
pub const STATE_FOLDERS: [&str; 3] = [MIND_FOLDER, MEMORY_FOLDER, "scratch"];
/// The folder for copies of the state that hooks save before a compaction.
pub const CHECKPOINTS_FOLDER: &str = ".mind/checkpoints";

/// The path of one state file in both layouts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateFileSpelling {
    /// The path in `.mind/`.
    pub mind: &'static str,
    /// The path in the `memory/` of a manifest.
    pub manifest: &'static str,
}

/// The state of the work.
pub const STATE_FILE: StateFileSpelling = StateFileSpelling {
    mind: ".mind/STATE.md",
    manifest: "memory/status.md",
};
/// The tasks; with a manifest, a part of the status.
pub const PROGRESS_FILE: StateFileSpelling = StateFileSpelling {
    mind: ".mind/PROGRESS.md",
    manifest: STATE_FILE.manifest,
};
/// The decisions.
pub const DECISIONS_FILE: StateFileSpelling = StateFileSpelling {
    mind: ".mind/DECISIONS.md",
    manifest: "memory/decisions.md",
};
/// The session log.
pub const SESSION_LOG_FILE: StateFileSpelling = StateFileSpelling {
    mind: ".mind/SESSION-LOG.md",
    manifest: "memory/session-log.md",
};
/// The archive. With a manifest, old decisions stay in their file.
pub const ARCHIVE_FILE: StateFileSpelling = StateFileSpelling {
    mind: ".mind/ARCHIVE.md",
    manifest: "memory/session-log-archive.md",
};
/// The inbox of ideas.
pub const IDEAS_FILE: StateFileSpelling = StateFileSpelling {
    mind: ".mind/IDEAS.md",
    manifest: "scratch/ideas.md",
};
/// The glossary of a workspace with a manifest; others have none.
pub const GLOSSARY_FILE: &str = "memory/glossary.md";
