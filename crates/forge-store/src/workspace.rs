//! The folder that holds a project's memory, and the only writer of its files.
//!
//! Every change of a user's file goes through [`Workspace::change`], so that
//! the rules on links, locks and undo hold in one place. Reads go through
//! [`Workspace::read`] or [`crate::regular`], which both have a limit. Nothing
//! here parses Markdown, prints, or looks at the environment or the clock.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use forge_text::diagnostic::Diagnostic;

mod autoload;
mod config;
mod disk;
pub mod git;
mod held;
mod identity;
mod ignore;
mod included;
mod lock;
mod outside;
mod path;
mod proposal;
mod role;
mod root;
mod scan;
mod leftovers;
mod undo;
mod write;

use crate::system;

pub use crate::regular::{self, FileReadError, LinkPolicy};
pub use autoload::{
    AutoloadFile, AutoloadScan, is_foreign, list_beyond_workspace, read_beyond_workspace,
};
pub use config::{
    AuditConfig, CONFIG_FILE, ConfigProblem, EngineConfig, ForgetConfig, IndexConfig, KeyDoc,
    KnowledgeConfig, MindConfig, PushMode, RecallConfig, SearchConfig, SearchMode, WorkspaceConfig,
    config_reference, with_included,
};
pub use disk::is_temp_name;
pub use identity::{WorkspaceIdentity, workspace_identity};
pub use ignore::{IgnoreRule, propose_ignore_rules};
pub use included::{IncludedFiles, is_vendored};
pub use lock::ProcessLock;
pub use outside::{
    BACKUP_SUFFIX, BackupAction, MAX_OUTSIDE_BYTES, OutsideChange, OutsideFile, change_outside,
    lock_outside,
};
pub use path::{PRIVATE_SUFFIX, PathError, RelPath, quote_shell_word, slugify_name};
pub use proposal::{ChangeProposal, ProposedFile, ProposedMove};
pub use role::{FileRole, PathRoles, role_by_path, role_with_domains};
pub use root::{FoundBy, RootHints, WorkspaceRoot, discover_root};
pub use scan::{LeftOutCounts, ScanProblem, ScannedFile, WorkspaceScan, WorkspaceTree};
pub use undo::{
    ChangeAuthor, FileEffect, JournalEntry, JournalFile, TracedFile, UndoReport, UnfinishedEntry,
};
pub use write::{ChangeReceipt, FileChange, WorkspaceChange};

/// The folder for everything that can be rebuilt, directly below the root.
pub const DERIVED_FOLDER: &str = ".memory-forge";

/// The time that a write waits for another one before it gives up.
pub const LOCK_WAIT: Duration = Duration::from_secs(5);

/// A project's folder with its settings. Cheap to open and safe to share
/// between threads; every write takes its own lock.
#[derive(Debug, Clone)]
pub struct Workspace {
    root: PathBuf,
    config: WorkspaceConfig,
    /// What `[knowledge]` of the settings includes, if anything.
    included: Option<Arc<IncludedFiles>>,
    problems: Vec<ConfigProblem>,
    disk: disk::WorkspaceDisk,
    lock_wait: Duration,
}

impl Workspace {
    /// Opens the workspace at `root`, which must be a folder. Settings that are
    /// wrong do not keep it from opening; they are in [`Workspace::problems`].
    pub fn open(root: &Path) -> Result<Workspace, WorkspaceError> {
        let root =
            system::canonicalize(root).map_err(|e| WorkspaceError::from_io("open", root, e))?;
        if !root.is_dir() {
            return Err(WorkspaceError::NotADirectory { path: root });
        }
        let (config, problems) = WorkspaceConfig::load(&root);
        Ok(Workspace {
            root,
            included: IncludedFiles::of(&config.knowledge).map(Arc::new),
            config,
            problems,
            disk: disk::WorkspaceDisk::default(),
            lock_wait: LOCK_WAIT,
        })
    }

    /// Sets how long a lock is waited for, instead of [`LOCK_WAIT`]: a hook has
    /// less time than that for everything.
    pub fn with_lock_wait(mut self, for_a_lock: Duration) -> Workspace {
        self.lock_wait = for_a_lock;
        self
    }

    /// Returns the root without symlinks.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the settings.
    pub fn config(&self) -> &WorkspaceConfig {
        &self.config
    }

    /// Returns the problems of the settings.
    pub fn problems(&self) -> &[ConfigProblem] {
        &self.problems
    }

    /// Returns the folder for everything that can be rebuilt.
    pub fn derived_folder(&self) -> PathBuf {
        self.root.join(DERIVED_FOLDER)
    }

    /// Returns the place of a path of this workspace on disk.
    pub fn absolute_path(&self, path: &RelPath) -> PathBuf {
        system::join(&self.root, path.as_str())
    }

    /// Returns the path of the file that reading `path` opens, after symlinks.
    /// `None` if there is no file, or one outside.
    pub fn resolve_real_path(&self, path: &RelPath) -> Option<RelPath> {
        let real = system::canonicalize(self.absolute_path(path)).ok()?;
        if !path::is_inside_root(&self.root, &real) {
            return None;
        }
        RelPath::new(real.strip_prefix(&self.root).ok()?.to_str()?).ok()
    }

    /// Returns `true` if a file is private by its name or by the name of the
    /// file that it links to. A path that cannot be resolved counts as private.
    pub fn is_private(&self, path: &RelPath) -> bool {
        path.is_private()
            || self
                .resolve_real_path(path)
                .is_none_or(|it| it.is_private())
    }

    /// Reads the bytes of a file. A symlink is followed only if its target is
    /// inside the workspace and outside of `.git`.
    pub fn read(&self, path: &RelPath) -> Result<Vec<u8>, WorkspaceError> {
        self.read_up_to_limit(path, self.config.index.max_file_bytes)
    }

    /// Reads a file with the caller's limit, for files that are not documents.
    pub fn read_up_to_limit(&self, path: &RelPath, limit: u64) -> Result<Vec<u8>, WorkspaceError> {
        let absolute = self.absolute_path(path);
        let real = system::canonicalize(&absolute)
            .map_err(|e| WorkspaceError::from_io("read", &absolute, e))?;
        if real != absolute && !path::is_inside_root(&self.root, &real) {
            return Err(WorkspaceError::Outside { path: absolute });
        }
        // A link that took its place by now is not followed.
        let file = regular::open_regular(&real, LinkPolicy::Refuse)
            .map_err(|e| e.into_error(&absolute))?;
        // A folder may have become a link since the look above.
        let elsewhere =
            |place: &PathBuf| *place != real && !path::is_inside_root(&self.root, place);
        if system::current_path_of(&file)
            .as_ref()
            .is_some_and(elsewhere)
        {
            return Err(WorkspaceError::Outside { path: absolute });
        }
        regular::read_open_file(file, limit).map_err(|e| e.into_error(&absolute))
    }

    /// Reads the text of a file exactly as it is: BOM and CRLF included.
    pub fn read_text(&self, path: &RelPath) -> Result<String, WorkspaceError> {
        decode_text(&self.absolute_path(path), self.read(path)?)
    }

    /// Reads a text as [`Workspace::read_text`]; `None` if there is no such
    /// file.
    pub fn read_text_if_present(&self, path: &RelPath) -> Result<Option<String>, WorkspaceError> {
        match self.read_text(path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Lists the Markdown files of the folders that hold memory, by stat alone.
    /// Only `manifest` may call it: it knows which `domains` there are, and a
    /// caller who does not would see other files than everybody else.
    pub(crate) fn scan_with_domains(&self, domains: Vec<String>) -> WorkspaceScan {
        scan::scan_memory(&self.root, &self.roles_with(domains))
    }

    /// Lists every file of the workspace, by stat alone. See [`Self::scan_with_domains`].
    pub(crate) fn tree_with_domains(&self, domains: Vec<String>) -> WorkspaceTree {
        scan::scan_tree(&self.root, &self.roles_with(domains))
    }

    /// Returns the roles of paths in a tree with these domains, such as an
    /// earlier one. [`Workspace::roles`] is for the files as they are.
    pub fn roles_with(&self, domains: Vec<String>) -> PathRoles {
        PathRoles::new(domains, self.included.clone())
    }

    /// Lists as if the settings included all of this, whatever they include.
    pub fn scan_including(&self, config: &KnowledgeConfig) -> WorkspaceScan {
        let included = IncludedFiles::of(config).map(Arc::new);
        scan::scan_memory(&self.root, &PathRoles::new(Vec::new(), included))
    }

    /// Returns `true` if git would ignore this path, by the rules in files.
    pub(crate) fn is_ignored(&self, path: &RelPath) -> bool {
        included::is_ignored(&self.root, path.as_str())
    }

    /// Returns the Markdown files directly in a folder, sorted.
    pub fn markdown_files_in(&self, folder: &str) -> Vec<RelPath> {
        let Ok(entries) = std::fs::read_dir(self.root.join(folder)) else {
            return Vec::new();
        };
        let mut paths: Vec<RelPath> = entries
            .flatten()
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| name.ends_with(".md"))
            .filter_map(|name| RelPath::new(&format!("{folder}/{name}")).ok())
            .collect();
        paths.sort();
        paths
    }

    /// Takes the lock that guards the index, or gives up after `wait`.
    pub fn lock_index(&self, wait: Duration) -> Result<ProcessLock, WorkspaceError> {
        self.take_named_lock("index.lock", "The index", wait)
    }

    /// Takes the lock for computing vectors, if it is free. It is not the
    /// index's own: computing takes minutes, and searches must continue during
    /// it.
    pub fn lock_vectors(&self) -> Result<ProcessLock, WorkspaceError> {
        self.take_named_lock("vectors.lock", "The list of vectors", Duration::ZERO)
    }

    fn take_named_lock(
        &self,
        name: &str,
        what: &str,
        wait: Duration,
    ) -> Result<ProcessLock, WorkspaceError> {
        self.prepare_derived()?;
        self.take_derived_lock(name, what, wait)
    }
}

impl FileReadError {
    /// Converts to the workspace's error about this path.
    pub(crate) fn into_error(self, path: &Path) -> WorkspaceError {
        let path = path.to_path_buf();
        match self {
            FileReadError::Link => WorkspaceError::Symlink { path },
            FileReadError::NotAFile => WorkspaceError::NotAFile { path },
            FileReadError::TooLarge { size, limit } => {
                WorkspaceError::TooLarge { path, size, limit }
            }
            FileReadError::NotUtf8 { line } => WorkspaceError::NotUtf8 { path, line },
            FileReadError::Io(source) => WorkspaceError::from_io("read", &path, source),
        }
    }
}

/// An error with files. Every message names the file, and [`Diagnostic::hints`]
/// what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkspaceError {
    /// The system failed at an operation; `source` has the reason.
    #[error("Could not {doing} `{}`: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The operation, as a verb: `read`, `write`.
        doing: &'static str,
        /// The reason of the operating system.
        source: io::Error,
    },
    /// The file is not UTF-8 text: its author must convert it.
    #[error("`{}` line {line} is not UTF-8", path.display())]
    NotUtf8 {
        /// The file.
        path: PathBuf,
        /// The first line that is not UTF-8.
        line: usize,
    },
    /// The file exceeds the limit of the settings.
    #[error("`{}` has {size} bytes, more than the {limit} that `index.max_file_bytes` allows", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size in bytes.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// The path, or a symlink on the way, leads out of the workspace.
    #[error("`{}` leads out of the workspace", path.display())]
    Outside {
        /// The path as it was given.
        path: PathBuf,
    },
    /// The file to write, or a folder above it, is a symlink.
    #[error("`{}` is a symlink and is never written through", path.display())]
    Symlink {
        /// The symlink.
        path: PathBuf,
    },
    /// The caller wants to write a file that the program rebuilds.
    #[error("`{}` belongs to Memory Forge and is rebuilt when needed", path.display())]
    Reserved {
        /// The file that may not be written.
        path: PathBuf,
    },
    /// Another process held the lock for too long. Nothing was written.
    #[error("{what} is in use by another process (waited {:.1} s)", waited.as_secs_f32())]
    Locked {
        /// What is locked, as the subject of a sentence.
        what: String,
        /// How long the caller waited.
        waited: Duration,
    },
    /// The file to create is already there.
    #[error("`{}` already exists", path.display())]
    Exists {
        /// The file that is already there.
        path: PathBuf,
    },
    /// The file was edited since it was read. Nothing is overwritten.
    #[error("`{}` was edited in the meantime", path.display())]
    ChangedSince {
        /// The file that was edited.
        path: PathBuf,
    },
    /// There is a file where a folder is needed.
    #[error("`{}` is not a folder", path.display())]
    NotADirectory {
        /// The file in the place of the folder.
        path: PathBuf,
    },
    /// There is something else where a file is needed, such as a folder.
    #[error("`{}` is not a regular file", path.display())]
    NotAFile {
        /// What is in the place of the file.
        path: PathBuf,
    },
    /// The user may not write the file or its folder.
    #[error("`{}` may not be written", path.display())]
    ReadOnly {
        /// The file or folder that may not be written.
        path: PathBuf,
    },
    /// The disk or the quota is full. Nothing was changed.
    #[error("No space left to write `{}`", path.display())]
    Full {
        /// The file that was to be written.
        path: PathBuf,
    },
    /// The user named a change that the journal does not have.
    #[error("There is no change `{id}` to undo")]
    NoSuchChange {
        /// The id that the user named.
        id: String,
    },
    /// The journal has no change that an undo may choose.
    #[error("There is nothing to undo")]
    NothingToUndo,
    /// An entry of the journal is damaged, or was made elsewhere.
    #[error("The journal entry `{}` cannot be read: {message}", path.display())]
    Journal {
        /// The file of the entry.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// git failed, is missing, or must not run in this repository.
    #[error("{message}")]
    Git {
        /// The error of git, or why git was not called.
        message: String,
    },
    /// A name is no valid path of the workspace: the request was wrong.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The caller of [`Workspace::change`] refused the change by its own rules.
    #[error("{0}")]
    Refused(String),
}

impl WorkspaceError {
    pub(crate) fn from_io(doing: &'static str, path: &Path, source: io::Error) -> WorkspaceError {
        let path = path.to_path_buf();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                WorkspaceError::Full { path }
            }
            io::ErrorKind::ReadOnlyFilesystem => WorkspaceError::ReadOnly { path },
            // A file that must not be read is not a read-only one.
            io::ErrorKind::PermissionDenied if doing != "read" && doing != "open" => {
                WorkspaceError::ReadOnly { path }
            }
            _ => WorkspaceError::Io {
                path,
                doing,
                source,
            },
        }
    }

    /// Returns the message for a place that names the file already, or keeps
    /// it: without the absolute path, which would be wrong once the workspace
    /// is moved.
    pub fn reason(&self) -> String {
        let message = match self {
            WorkspaceError::Io { doing, source, .. } => format!("could not {doing} it: {source}"),
            WorkspaceError::NotUtf8 { line, .. } => format!("line {line} is not UTF-8"),
            WorkspaceError::TooLarge { size, limit, .. } => {
                format!(
                    "it has {size} bytes, more than the {limit} that `index.max_file_bytes` allows"
                )
            }
            WorkspaceError::Outside { .. } => {
                return "it leads out of the workspace; put the file itself here".to_owned();
            }
            WorkspaceError::NotAFile { .. } => "it is not a regular file".to_owned(),
            other => return other.describe(),
        };
        match self.advice() {
            Some(advice) => format!("{message}; {advice}"),
            None => message,
        }
    }

    /// Returns what to do, as the end of a sentence.
    fn advice(&self) -> Option<&'static str> {
        Some(match self {
            WorkspaceError::NotUtf8 { .. } => "convert the file to UTF-8 to have it used",
            WorkspaceError::TooLarge { .. } => "split the file or raise the limit",
            WorkspaceError::Outside { .. } => "use a path inside it",
            WorkspaceError::Symlink { .. } => "write to the file it points to, or replace the link",
            WorkspaceError::Reserved { .. } => "keep notes elsewhere",
            WorkspaceError::Locked { .. } => "nothing was written, try again when it is done",
            WorkspaceError::Exists { .. } => "choose another name or edit that file",
            WorkspaceError::ChangedSince { .. } => {
                "nothing was changed, look at the file and try again"
            }
            WorkspaceError::NotADirectory { .. } => "name an existing folder",
            WorkspaceError::NotAFile { .. } => "move it away",
            WorkspaceError::ReadOnly { .. } => "make it writable and try again",
            WorkspaceError::Full { .. } => "nothing was changed, free some space and try again",
            WorkspaceError::Journal { .. } => "move that folder away to continue without it",
            WorkspaceError::Io { .. }
            | WorkspaceError::NoSuchChange { .. }
            | WorkspaceError::NothingToUndo
            | WorkspaceError::Git { .. }
            | WorkspaceError::Path(_)
            | WorkspaceError::Refused(_) => return None,
        })
    }

    /// Returns `true` if another process held the lock.
    pub fn is_locked(&self) -> bool {
        matches!(self, WorkspaceError::Locked { .. })
    }

    /// Returns `true` if the file is missing.
    pub fn is_not_found(&self) -> bool {
        matches!(self, WorkspaceError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

impl Diagnostic for WorkspaceError {
    fn code(&self) -> &'static str {
        match self {
            WorkspaceError::Io { .. } => "workspace.io",
            WorkspaceError::NotUtf8 { .. } => "workspace.not-utf8",
            WorkspaceError::TooLarge { .. } => "workspace.too-large",
            WorkspaceError::Outside { .. } => "workspace.outside",
            WorkspaceError::Symlink { .. } => "workspace.symlink",
            WorkspaceError::Reserved { .. } => "workspace.reserved",
            WorkspaceError::Locked { .. } => "workspace.locked",
            WorkspaceError::Exists { .. } => "workspace.exists",
            WorkspaceError::ChangedSince { .. } => "workspace.changed-since",
            WorkspaceError::NotADirectory { .. } => "workspace.not-a-folder",
            WorkspaceError::NotAFile { .. } => "workspace.not-a-file",
            WorkspaceError::ReadOnly { .. } => "workspace.read-only",
            WorkspaceError::Full { .. } => "workspace.disk-full",
            WorkspaceError::NoSuchChange { .. } => "undo.no-such-change",
            WorkspaceError::NothingToUndo => "undo.nothing",
            WorkspaceError::Journal { .. } => "undo.unreadable-entry",
            WorkspaceError::Git { .. } => "git.failed",
            WorkspaceError::Path(error) => error.code(),
            WorkspaceError::Refused(_) => "workspace.refused",
        }
    }

    fn hints(&self) -> Vec<String> {
        self.advice().map(capitalize_sentence).into_iter().collect()
    }
}

fn capitalize_sentence(sentence: &str) -> String {
    let mut chars = sentence.chars();
    chars
        .next()
        .map(|first| first.to_uppercase().chain(chars).collect())
        .unwrap_or_default()
}

pub(crate) fn decode_text(path: &Path, bytes: Vec<u8>) -> Result<String, WorkspaceError> {
    regular::decode_utf8(bytes).map_err(|e| e.into_error(path))
}

#[cfg(test)]
mod tests;
