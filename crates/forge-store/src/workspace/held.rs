//! Holds a folder open while something in it is written. Between a check of a
//! path and its use, the folder may be replaced by a link: a checkout does
//! that, and so does an attacker. A path through the open folder stays in the
//! folder that was checked.
//!
//! Where an open folder has no path of its own, the check alone must do.

use std::path::{Path, PathBuf};

use super::{RelPath, WorkspaceError};
use crate::system::{self, OpenFolder};

/// A file in a folder that is held open.
#[derive(Debug)]
pub(super) struct HeldFile {
    path: PathBuf,
    _folder: Option<OpenFolder>,
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
    pub(super) fn open(root: &Path, file: &RelPath) -> Result<HeldFile, WorkspaceError> {
        let opened = OpenFolder::open(root).map_err(|e| WorkspaceError::from_io("open", root, e));
        let Some(mut folder) = opened? else {
            let path = system::join(root, file.as_str());
            for above in path.ancestors().skip(1).take_while(|it| *it != root) {
                check_folder(above)?;
            }
            return Ok(HeldFile {
                path,
                _folder: None,
            });
        };
        let mut shown = root.to_path_buf();
        let mut names = file.components();
        let last = names.next_back().unwrap_or_default();
        for name in names {
            shown.push(name);
            let next = folder.enter(name);
            folder = next.map_err(|error| open_error(&shown, error))?;
        }
        Ok(HeldFile {
            path: folder.path_of(last),
            _folder: Some(folder),
        })
    }
}

/// Fails if something else than a folder is in the place of one. A folder that is
/// missing is reported by its use.
fn check_folder(path: &Path) -> Result<(), WorkspaceError> {
    let path = path.to_path_buf();
    match std::fs::symlink_metadata(&path) {
        Ok(meta) if meta.is_symlink() => Err(WorkspaceError::Symlink { path }),
        Ok(meta) if !meta.is_dir() => Err(WorkspaceError::NotADirectory { path }),
        _ => Ok(()),
    }
}

fn open_error(path: &Path, error: std::io::Error) -> WorkspaceError {
    match check_folder(path) {
        Ok(()) => WorkspaceError::from_io("open", path, error),
        Err(refused) => refused,
    }
}

#[cfg(test)]
mod tests;
