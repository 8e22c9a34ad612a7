//! Announces every operation that changes something on disk before it happens,
//! so that a test can make it fail, or end the process in front of it.
//!
//! The caller sets the watcher, and only a build with debug assertions can have
//! one: a release contains nothing that could be switched on.

use std::io;
use std::path::Path;
#[cfg(debug_assertions)]
use std::path::PathBuf;
#[cfg(debug_assertions)]
use std::sync::OnceLock;

/// The kinds of operations. They are separate because a full disk still renames
/// and removes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskOperation {
    /// Taking a lock.
    Lock,
    /// Reading a file.
    Read,
    /// Making a folder.
    CreateDir,
    /// Making a file.
    Create,
    /// Writing bytes to a file.
    Write,
    /// Setting a file's mode.
    Mode,
    /// Syncing a file.
    Sync,
    /// Renaming a file.
    Rename,
    /// Removing a file or a folder.
    Remove,
    /// Syncing a folder, so that a rename in it lasts.
    SyncDir,
    /// A part of a transaction of the index, which has a journal of its own.
    Index,
}

/// A watcher of operations. It gets the operation, its file and, for a rename,
/// the new name; an error that it returns becomes the error of the operation.
#[cfg(debug_assertions)]
pub type FaultWatcher = dyn Fn(DiskOperation, &Path, &Path) -> io::Result<()> + Send + Sync;

#[cfg(debug_assertions)]
static WATCH: OnceLock<Box<FaultWatcher>> = OnceLock::new();

/// Sets the watcher of this process, once.
#[cfg(debug_assertions)]
pub fn set_watcher(
    watch: impl Fn(DiskOperation, &Path, &Path) -> io::Result<()> + Send + Sync + 'static,
) {
    let _ = WATCH.set(Box::new(watch));
}

/// Resolves a path that leads through a folder that is held open.
#[cfg(debug_assertions)]
fn resolve_held_path(path: &Path) -> PathBuf {
    let through = || {
        let rest = path.strip_prefix("/proc/self/fd").ok()?;
        let held = Path::new("/proc/self/fd").join(rest.components().next()?);
        let inside: PathBuf = rest.components().skip(1).collect();
        let folder = std::fs::read_link(held).ok()?;
        Some(if inside.as_os_str().is_empty() {
            folder
        } else {
            folder.join(inside)
        })
    };
    through().unwrap_or_else(|| path.to_owned())
}

/// Calls the watcher before an operation. In a release it does nothing.
pub(crate) fn announce_step(op: DiskOperation, path: &Path, to: &Path) -> io::Result<()> {
    #[cfg(debug_assertions)]
    if let Some(watch) = WATCH.get() {
        return watch(op, &resolve_held_path(path), &resolve_held_path(to));
    }
    let _ = (op, path, to);
    Ok(())
}

pub(crate) fn is_watched() -> bool {
    #[cfg(debug_assertions)]
    return WATCH.get().is_some();
    #[cfg(not(debug_assertions))]
    false
}
