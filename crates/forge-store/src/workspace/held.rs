//! Holds a folder open while something in it is written. Between a check of a
//! path and its use, the folder may be replaced by a link: a checkout does
//! that, and so does an attacker. A path through the open folder stays in the
//! folder that was checked.
//!
//! On Linux an open folder has a path of its own. Elsewhere the check alone
//! must do.

use std::path::{Path, PathBuf};

use super::{RelPath, WorkspaceError};

/// A file in a folder that is held open.
#[derive(Debug)]
pub(super) struct HeldFile {
    path: PathBuf,
    #[cfg(target_os = "linux")]
    _folder: Option<std::fs::File>,
}

impl AsRef<Path> for HeldFile {
    fn as_ref(&self) -> &Path {
        &self.path
    }
}

impl HeldFile {
    /// Returns the path by which the system reaches the file now.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the same for the folder that holds it.
    pub(super) fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }

    /// Opens the folders on the way to a file one by one, none of which may be
    /// a link.
    #[cfg(target_os = "linux")]
    pub(super) fn open(root: &Path, file: &RelPath) -> Result<HeldFile, WorkspaceError> {
        let absolute = root.join(file.as_str());
        let Some(mut folder) =
            open_root(root).map_err(|e| WorkspaceError::from_io("open", root, e))?
        else {
            return Ok(HeldFile {
                path: absolute,
                _folder: None,
            });
        };
        let mut shown = root.to_path_buf();
        let mut names = file.components();
        let last = names.next_back().unwrap_or_default();
        for name in names {
            shown.push(name);
            let next = open_folder(&proc_path(&folder, name));
            folder = next.map_err(|error| open_error(&shown, error))?;
        }
        Ok(HeldFile {
            path: proc_path(&folder, last),
            _folder: Some(folder),
        })
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn open(root: &Path, file: &RelPath) -> Result<HeldFile, WorkspaceError> {
        Ok(HeldFile {
            path: root.join(file.as_str()),
        })
    }
}

/// Returns the current path of an open file, if the system knows it.
pub(super) fn current_path_of(file: &std::fs::File) -> Option<PathBuf> {
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd;
        let place = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()?;
        place.is_absolute().then_some(place)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = file;
        None
    }
}

/// Opens the root, if open folders have paths at all: without `/proc` they have
/// none.
#[cfg(target_os = "linux")]
fn open_root(root: &Path) -> std::io::Result<Option<std::fs::File>> {
    let folder = open_folder(root)?;
    let there = std::fs::metadata(proc_path(&folder, ".")).is_ok();
    Ok(there.then_some(folder))
}

#[cfg(target_os = "linux")]
fn open_folder(path: &Path) -> std::io::Result<std::fs::File> {
    use std::os::unix::fs::OpenOptionsExt;
    std::fs::File::options()
        .read(true)
        // `O_PATH` also opens a folder that the user may enter and not read.
        .custom_flags(libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW)
        .open(path)
}

#[cfg(target_os = "linux")]
fn proc_path(folder: &std::fs::File, name: &str) -> PathBuf {
    use std::os::fd::AsRawFd;
    PathBuf::from(format!("/proc/self/fd/{}/{name}", folder.as_raw_fd()))
}

#[cfg(target_os = "linux")]
fn open_error(path: &Path, error: std::io::Error) -> WorkspaceError {
    let path = path.to_path_buf();
    match std::fs::symlink_metadata(&path) {
        Ok(meta) if meta.is_symlink() => WorkspaceError::Symlink { path },
        Ok(meta) if !meta.is_dir() => WorkspaceError::NotADirectory { path },
        _ => WorkspaceError::from_io("open", &path, error),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
