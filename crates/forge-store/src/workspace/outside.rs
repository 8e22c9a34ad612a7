//! Changes files outside of every workspace: the settings that clients keep in
//! a person's home.
//!
//! There is no journal there, so each file that is changed for the first time
//! leaves a copy of its bytes in the same folder, and a change of several files
//! that fails half way is reverted. Nothing is written through a symlink, and
//! nothing over bytes that the caller has not seen.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::disk::{DiskOperation, FilePermissions, PlaceError, TempKind, WorkspaceDisk};
use super::{LOCK_WAIT, ProcessLock, WorkspaceError, decode_text};

/// The suffix of the copy of a file from before the first change.
pub const BACKUP_SUFFIX: &str = ".memory-forge-backup";

/// Upper bound for bytes of a settings file; a larger one is not read.
pub const MAX_OUTSIDE_BYTES: u64 = 64 * 1024 * 1024;

/// A file below a folder that may be written to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutsideFile {
    /// The folder above which links are the person's own arrangement; below it
    /// nothing may be a link.
    pub base: PathBuf,
    /// The file itself.
    pub path: PathBuf,
}

/// A change of one file; `None` means no file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutsideChange {
    /// The file that changes.
    pub file: OutsideFile,
    /// The bytes before.
    pub before: Option<Vec<u8>>,
    /// The bytes after.
    pub after: Option<Vec<u8>>,
    /// What happens to the copy of the file.
    pub backup: BackupAction,
}

/// The action on the copy of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackupAction {
    /// Keep the bytes before. Where there was no file, an older copy goes.
    Take,
    /// A copy from before the first change is there already.
    Leave,
    /// The copy has served.
    Drop,
}

impl OutsideFile {
    /// Reads the file; `None` if it is missing. A link on the way to it is
    /// refused, because what is read here is meant to be written back.
    pub fn read(&self) -> Result<Option<Vec<u8>>, WorkspaceError> {
        self.refuse_unsafe()?;
        let path = &self.path;
        match fs::metadata(path) {
            Ok(meta) if meta.len() > MAX_OUTSIDE_BYTES => Err(WorkspaceError::TooLarge {
                path: path.clone(),
                size: meta.len(),
                limit: MAX_OUTSIDE_BYTES,
            }),
            _ => WorkspaceDisk::default()
                .read(path)
                .map_err(|e| WorkspaceError::from_io("read", path, e)),
        }
    }

    /// Reads the file as UTF-8 text.
    pub fn read_text(&self) -> Result<Option<String>, WorkspaceError> {
        let bytes = self.read()?;
        bytes
            .map(|bytes| decode_text(&self.path, bytes))
            .transpose()
    }

    /// Reads the copy from before the first change, if there is one.
    pub fn read_backup(&self) -> Result<Option<Vec<u8>>, WorkspaceError> {
        self.backup_file().read()
    }

    fn backup_file(&self) -> OutsideFile {
        let mut name = self.path.clone().into_os_string();
        name.push(BACKUP_SUFFIX);
        OutsideFile {
            base: self.base.clone(),
            path: name.into(),
        }
    }

    /// Returns the folders between the base and the file, outermost first.
    fn folders(&self) -> Vec<PathBuf> {
        let mut folders: Vec<PathBuf> = self
            .path
            .ancestors()
            .skip(1)
            .take_while(|folder| folder.starts_with(&self.base) && *folder != self.base)
            .map(Path::to_owned)
            .collect();
        folders.reverse();
        folders
    }

    fn refuse_unsafe(&self) -> Result<(), WorkspaceError> {
        if !self.path.starts_with(&self.base) {
            return Err(WorkspaceError::Outside {
                path: self.path.clone(),
            });
        }
        for folder in self.folders() {
            match fs::symlink_metadata(&folder) {
                Ok(meta) if meta.is_symlink() => {
                    return Err(WorkspaceError::Symlink { path: folder });
                }
                Ok(meta) if !meta.is_dir() => {
                    return Err(WorkspaceError::NotADirectory { path: folder });
                }
                _ => {}
            }
        }
        let path = self.path.clone();
        match fs::symlink_metadata(&path) {
            Ok(meta) if meta.is_symlink() => Err(WorkspaceError::Symlink { path }),
            Ok(meta) if !meta.is_file() => Err(WorkspaceError::NotAFile { path }),
            _ => Ok(()),
        }
    }
}

/// Changes all files from before to after, or leaves all of them as they are.
/// Folders in `drop_if_empty` are removed at the end if they are empty.
pub fn change_outside(
    changes: &[OutsideChange],
    drop_if_empty: &[OutsideFile],
) -> Result<(), WorkspaceError> {
    change_outside_with(&WorkspaceDisk::default(), changes, drop_if_empty)
}

/// Takes the lock of a file that several processes may change, `.<name>.lock`
/// in the same folder; a missing folder is made.
pub fn lock_outside(file: &OutsideFile, what: &str) -> Result<ProcessLock, WorkspaceError> {
    file.refuse_unsafe()?;
    let disk = WorkspaceDisk::default();
    for folder in file.folders() {
        if fs::symlink_metadata(&folder).is_err() {
            let create = disk.create_dir(&folder);
            create.map_err(|e| WorkspaceError::from_io("create", &folder, e))?;
        }
    }
    let mut name = OsString::from(".");
    name.push(file.path.file_name().unwrap_or_default());
    name.push(".lock");
    let path = file.path.with_file_name(name);
    disk.announce_step(DiskOperation::Lock, &path)
        .map_err(|e| WorkspaceError::from_io("lock", &path, e))?;
    ProcessLock::take(&path, what, LOCK_WAIT)
}

fn change_outside_with(
    disk: &WorkspaceDisk,
    changes: &[OutsideChange],
    drop_if_empty: &[OutsideFile],
) -> Result<(), WorkspaceError> {
    // Everything that can be refused is refused before the first write.
    for change in changes {
        change.file.refuse_unsafe()?;
        change.file.backup_file().refuse_unsafe()?;
        let read_only = fs::metadata(&change.file.path).is_ok_and(|m| m.permissions().readonly());
        if read_only {
            return Err(WorkspaceError::ReadOnly {
                path: change.file.path.clone(),
            });
        }
        check_unchanged(disk, &change.file.path, change.before.as_deref())?;
    }
    // Temporary files that a crash left in a folder go with the next change
    // there.
    for change in changes {
        if let Some(folder) = change.file.path.parent() {
            let sweep = disk.sweep_temp_files(folder, TempKind::Change);
            sweep.map_err(|e| WorkspaceError::from_io("remove", folder, e))?;
        }
    }
    let mut made = Vec::new();
    for (index, change) in changes.iter().enumerate() {
        if let Err(error) = place_change(disk, change, &mut made) {
            // Best effort, newest first; the bytes before are still in memory.
            for done in changes[..=index].iter().rev() {
                let put_back = put_file(
                    disk,
                    &done.file,
                    done.after.as_deref(),
                    done.before.as_deref(),
                );
                // A full disk may refuse even that; then the copy is all there
                // is of the bytes before.
                let restored = put_back.is_ok()
                    || disk
                        .read(&done.file.path)
                        .is_ok_and(|now| now == done.before);
                if restored && done.backup == BackupAction::Take {
                    let _ = disk.remove_file(&done.file.backup_file().path);
                }
            }
            for folder in made.iter().rev() {
                let _ = disk.remove_empty_dir(folder);
            }
            return Err(error);
        }
    }
    for change in changes.iter().filter(|c| c.backup == BackupAction::Drop) {
        remove_synced(disk, &change.file.backup_file().path)?;
    }
    for folder in drop_if_empty {
        check_folder(folder)?;
        let remove = disk.remove_empty_dir(&folder.path);
        if remove.map_err(|e| WorkspaceError::from_io("remove", &folder.path, e))? {
            sync_folder_of(disk, &folder.path)?;
        }
    }
    Ok(())
}

/// Checks a folder to drop like a file, except that it is a folder.
fn check_folder(folder: &OutsideFile) -> Result<(), WorkspaceError> {
    let inside = OutsideFile {
        base: folder.base.clone(),
        path: folder.path.join("x"),
    };
    inside.refuse_unsafe()
}

fn place_change(
    disk: &WorkspaceDisk,
    change: &OutsideChange,
    made: &mut Vec<PathBuf>,
) -> Result<(), WorkspaceError> {
    if change.after.is_some() {
        let mut above: Vec<&Path> = change.file.path.ancestors().skip(1).collect();
        above.reverse();
        for folder in above.into_iter().map(Path::to_owned) {
            if fs::symlink_metadata(&folder).is_err() {
                // Noted before: it may fail after the folder is there.
                made.push(folder.clone());
                let create = disk.create_dir(&folder);
                create.map_err(|e| WorkspaceError::from_io("create", &folder, e))?;
            }
        }
    }
    if change.backup == BackupAction::Take {
        let backup = change.file.backup_file();
        let old = disk
            .read(&backup.path)
            .map_err(|e| WorkspaceError::from_io("read", &backup.path, e))?;
        if old != change.before {
            put_backup(disk, &backup, &change.file.path, change.before.as_deref())?;
        }
    }
    put_file(
        disk,
        &change.file,
        change.before.as_deref(),
        change.after.as_deref(),
    )
}

/// Replaces a file that holds `before` by one that holds `after`.
fn put_file(
    disk: &WorkspaceDisk,
    file: &OutsideFile,
    before: Option<&[u8]>,
    after: Option<&[u8]>,
) -> Result<(), WorkspaceError> {
    let path = &file.path;
    file.refuse_unsafe()?;
    let Some(bytes) = after else {
        check_unchanged(disk, path, before)?;
        return remove_synced(disk, path);
    };
    let old = fs::symlink_metadata(path).ok();
    let like = old
        .as_ref()
        .map_or(FilePermissions::New, FilePermissions::File);
    let check = || check_unchanged(disk, path, before).map_err(PlaceError::Refused);
    disk.replace_file(path, bytes, TempKind::Change, like, check)
        .map_err(|e| e.into_error(path))?;
    sync_folder_of(disk, path)
}

/// Writes the copy of a file with that file's permissions: private content must
/// not become readable through it.
fn put_backup(
    disk: &WorkspaceDisk,
    file: &OutsideFile,
    model: &Path,
    bytes: Option<&[u8]>,
) -> Result<(), WorkspaceError> {
    let path = &file.path;
    let Some(bytes) = bytes else {
        return remove_synced(disk, path);
    };
    let meta = fs::symlink_metadata(model).ok();
    let like = meta
        .as_ref()
        .map_or(FilePermissions::New, FilePermissions::File);
    disk.replace_file(path, bytes, TempKind::Change, like, || {
        Ok::<_, io::Error>(())
    })
    .map_err(|e| WorkspaceError::from_io("write", path, e))?;
    sync_folder_of(disk, path)
}

/// Removes a file for good; one that is gone, folder and all, is fine.
fn remove_synced(disk: &WorkspaceDisk, path: &Path) -> Result<(), WorkspaceError> {
    disk.remove_file(path)
        .map_err(|e| WorkspaceError::from_io("remove", path, e))?;
    sync_folder_of(disk, path)
}

fn sync_folder_of(disk: &WorkspaceDisk, path: &Path) -> Result<(), WorkspaceError> {
    let dir = path.parent().unwrap_or(path);
    if !dir.is_dir() {
        return Ok(());
    }
    disk.sync_directory(dir)
        .map_err(|e| WorkspaceError::from_io("sync", dir, e))
}

fn check_unchanged(
    disk: &WorkspaceDisk,
    path: &Path,
    before: Option<&[u8]>,
) -> Result<(), WorkspaceError> {
    let now = disk
        .read(path)
        .map_err(|e| WorkspaceError::from_io("read", path, e))?;
    if now.as_deref() == before {
        return Ok(());
    }
    Err(WorkspaceError::ChangedSince {
        path: path.to_owned(),
    })
}

#[cfg(test)]
mod tests;
