//! Defines the file operations of the write path, each one a step that a test
//! can make fail or stop at.
//!
//! This is the only place that changes anything on disk. It decides nothing:
//! the callers choose what to write, and in which order.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::WorkspaceError;
use crate::fault;
pub(super) use crate::fault::DiskOperation;
use crate::regular::{self, LinkPolicy};
use crate::system;

/// Upper bound for bytes of a file that is changed or journaled.
const MAX_FILE_BYTES: u64 = 256 << 20;

const TEMP_PREFIX: &str = ".memory-forge-";
/// Prefix of temporary files of hooks and bulk runs; see [`TempKind`].
const MACHINE_PREFIX: &str = ".memory-forge-machine-";
const TEMP_SUFFIX: &str = ".tmp";

/// The disk, or in tests one that breaks at a chosen step.
#[derive(Debug, Clone, Default)]
pub(super) struct WorkspaceDisk {
    #[cfg(test)]
    pub(super) fault: Option<std::sync::Arc<Fault>>,
}

impl WorkspaceDisk {
    /// Calls the watcher before an operation; see [`fault`].
    pub(super) fn announce_step(&self, op: DiskOperation, path: &Path) -> io::Result<()> {
        self.announce_step_to(op, path, path)
    }

    fn announce_step_to(&self, op: DiskOperation, path: &Path, to: &Path) -> io::Result<()> {
        #[cfg(test)]
        if let Some(fault) = &self.fault {
            return fault.step(op);
        }
        fault::announce_step(op, path, to)
    }

    /// Reads a file; `None` if it is missing. Fails if it is not a regular file
    /// or has more than [`MAX_FILE_BYTES`].
    pub(super) fn read(&self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        self.announce_step(DiskOperation::Read, path)?;
        match regular::read_regular(path, LinkPolicy::Refuse, MAX_FILE_BYTES) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(e) if e.is_not_found() => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    /// Makes one folder and syncs its name. A folder that is there already is
    /// fine; a link to one is not.
    pub(super) fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.announce_step(DiskOperation::CreateDir, path)?;
        match fs::create_dir(path) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                return if fs::symlink_metadata(path)?.is_dir() {
                    Ok(())
                } else {
                    Err(io::ErrorKind::NotADirectory.into())
                };
            }
            other => other?,
        }
        match path.parent() {
            Some(parent) => self.sync_directory(parent),
            None => Ok(()),
        }
    }

    /// Writes a new file, synced except for its name.
    pub(super) fn write_new_file(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.announce_step(DiskOperation::Create, path)?;
        let file = File::create_new(path)?;
        self.fill_file(file, path, bytes)
    }

    /// Replaces a file: a temporary one in the same folder is filled and
    /// synced, then renamed over it. `check` is the last step before the
    /// rename.
    pub(super) fn replace_file<E: From<io::Error>>(
        &self,
        path: &Path,
        bytes: &[u8],
        temp: TempKind,
        like: FilePermissions<'_>,
        check: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        let dir = path.parent().unwrap_or(path);
        self.announce_step(DiskOperation::Create, path)?;
        let (file, temp) = temp.create_with(dir, like.creation_mode())?;
        let placed = self
            .fill_with_permissions(file, &temp, bytes, like)
            .map_err(E::from)
            .and_then(|()| check())
            .and_then(|()| self.rename(&temp, path).map_err(E::from));
        if placed.is_err() {
            // When even this fails, the next writer sweeps it up by its name.
            let _ = self.remove_file(&temp);
        }
        placed
    }

    /// Replaces a file as [`WorkspaceDisk::replace_file`] without any sync: every reader sees
    /// all of it or none, and a loss of power may remove it.
    pub(super) fn replace_unsynced(
        &self,
        path: &Path,
        bytes: &[u8],
        temp: TempKind,
    ) -> io::Result<()> {
        let dir = path.parent().unwrap_or(path);
        self.announce_step(DiskOperation::Create, path)?;
        let (mut file, temp) = temp.create(dir)?;
        let placed = self
            .write_all_bytes(&mut file, &temp, bytes)
            .and_then(|()| self.rename(&temp, path));
        if placed.is_err() {
            let _ = self.remove_file(&temp);
        }
        placed
    }

    /// Appends a line in one write. A line that an earlier write left
    /// incomplete is ended first.
    pub(super) fn append_line(&self, path: &Path, mut bytes: Vec<u8>) -> io::Result<()> {
        use std::io::{Read, Seek, SeekFrom};
        self.announce_step(DiskOperation::Create, path)?;
        let mut options = File::options();
        options.read(true).append(true).create(true);
        // It was not a symlink when it was checked; this refuses one that
        // replaced it since.
        let mut file = system::open_no_follow(&mut options, path)?;
        let mut last = [b'\n'];
        if file.metadata()?.len() > 0 {
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
        }
        if last != [b'\n'] {
            bytes.insert(0, b'\n');
        }
        self.write_all_bytes(&mut file, path, &bytes)
    }

    pub(super) fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.announce_step_to(DiskOperation::Rename, from, to)?;
        system::rename_over(from, to)
    }

    /// Removes a file; one that is gone already is fine.
    pub(super) fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.announce_step(DiskOperation::Remove, path)?;
        match system::remove_file(path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    /// Removes a folder if it is empty, and returns whether it is gone.
    pub(super) fn remove_empty_dir(&self, path: &Path) -> io::Result<bool> {
        self.announce_step(DiskOperation::Remove, path)?;
        match fs::remove_dir(path) {
            Ok(()) => Ok(true),
            Err(e) => match e.kind() {
                io::ErrorKind::NotFound => Ok(true),
                // A file that has taken its place is not ours to remove.
                io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotADirectory => Ok(false),
                _ => Err(e),
            },
        }
    }

    /// Removes a folder of ours with the files in it.
    pub(super) fn remove_tree(&self, path: &Path) -> io::Result<()> {
        self.announce_step(DiskOperation::Remove, path)?;
        match fs::remove_dir_all(path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    /// Syncs a folder: names in it become as durable as the files they belong
    /// to.
    pub(super) fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.announce_step(DiskOperation::SyncDir, path)?;
        if self.really_syncs() {
            system::sync_folder(path)?;
        }
        Ok(())
    }

    /// Removes temporary files of one kind that a crash left in a folder.
    pub(super) fn sweep_temp_files(&self, dir: &Path, temp: TempKind) -> io::Result<()> {
        let entries = match fs::read_dir(dir) {
            Ok(entries) => entries,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(e) => return Err(e),
        };
        for entry in entries {
            let entry = entry?;
            if temp.matches_name(&entry.file_name()) && entry.file_type()?.is_file() {
                self.remove_file(&entry.path())?;
            }
        }
        Ok(())
    }

    fn fill_with_permissions(
        &self,
        file: File,
        path: &Path,
        bytes: &[u8],
        like: FilePermissions<'_>,
    ) -> io::Result<()> {
        if !matches!(like, FilePermissions::New) {
            self.announce_step(DiskOperation::Mode, path)?;
            like.apply(&file)?;
        }
        self.fill_file(file, path, bytes)
    }

    fn fill_file(&self, mut file: File, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.write_all_bytes(&mut file, path, bytes)?;
        self.announce_step(DiskOperation::Sync, path)?;
        if self.really_syncs() {
            file.sync_all()?;
        }
        Ok(())
    }

    /// Writes bytes in one step, or in two if a test watches, so that a write
    /// that is cut off has written a part.
    fn write_all_bytes(&self, file: &mut File, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.announce_step(DiskOperation::Write, path)?;
        let half = if self.is_watched() {
            bytes.len() / 2
        } else {
            0
        };
        if half > 0 {
            file.write_all(&bytes[..half])?;
            self.announce_step(DiskOperation::Write, path)?;
        }
        file.write_all(&bytes[half..])
    }

    /// Tests of many crashes would spend all their time in syncs that prove
    /// nothing, as the machine under them does not lose power.
    fn really_syncs(&self) -> bool {
        !self.is_watched()
    }

    fn is_watched(&self) -> bool {
        #[cfg(test)]
        if self.fault.is_some() {
            return true;
        }
        fault::is_watched()
    }
}

/// An error of putting a file into place: from the disk, or from our own check.
pub(super) enum PlaceError {
    Disk(io::Error),
    Refused(WorkspaceError),
}

impl From<io::Error> for PlaceError {
    fn from(error: io::Error) -> PlaceError {
        PlaceError::Disk(error)
    }
}

impl PlaceError {
    pub(super) fn into_error(self, path: &Path) -> WorkspaceError {
        match self {
            PlaceError::Disk(error) => WorkspaceError::from_io("write", path, error),
            PlaceError::Refused(error) => error,
        }
    }
}

/// The permissions that a new file gets.
#[derive(Debug, Clone, Copy)]
pub(super) enum FilePermissions<'a> {
    /// The defaults of the process.
    New,
    /// The file that is replaced.
    File(&'a Metadata),
    /// A file that was removed and had these.
    Mode(u32),
}

impl FilePermissions<'_> {
    /// Returns the permissions to create the file with; the user's umask
    /// reduces them.
    fn creation_mode(self) -> u32 {
        match self {
            FilePermissions::Mode(_) => 0o777,
            FilePermissions::New | FilePermissions::File(_) => 0o666,
        }
    }

    fn apply(self, file: &File) -> io::Result<()> {
        match self {
            FilePermissions::New => Ok(()),
            FilePermissions::Mode(mode) => system::restrict_to_mode(file, mode),
            FilePermissions::File(old) => system::copy_permissions(file, old),
        }
    }
}

/// The owner of a temporary file. Changes and the files that hooks keep are
/// written in the same folder under two locks: a sweep under one of them must
/// not remove what is being written under the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TempKind {
    Change,
    Machine,
}

impl TempKind {
    fn matches_name(self, name: &OsStr) -> bool {
        let machine = name
            .as_encoded_bytes()
            .starts_with(MACHINE_PREFIX.as_bytes());
        is_temp_name(name) && machine == (self == TempKind::Machine)
    }

    fn create(self, dir: &Path) -> io::Result<(File, PathBuf)> {
        self.create_with(dir, FilePermissions::New.creation_mode())
    }

    fn create_with(self, dir: &Path, mode: u32) -> io::Result<(File, PathBuf)> {
        let mut builder = tempfile::Builder::new();
        builder.suffix(TEMP_SUFFIX).prefix(match self {
            TempKind::Change => TEMP_PREFIX,
            TempKind::Machine => MACHINE_PREFIX,
        });
        system::set_creation_mode(&mut builder, mode);
        // Removing it is a step like any other, not something that dropping does.
        let (file, path) = builder.disable_cleanup(true).tempfile_in(dir)?.into_parts();
        Ok((file, path.to_path_buf()))
    }
}

/// Returns `true` for the name of a temporary file, which a write leaves if it
/// is cut off.
pub fn is_temp_name(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.starts_with(TEMP_PREFIX.as_bytes()) && name.ends_with(TEMP_SUFFIX.as_bytes())
}

/// A disk that breaks, for tests.
#[cfg(test)]
#[derive(Debug)]
pub(super) struct Fault {
    /// The step that breaks, counted from 0.
    pub(super) at: usize,
    pub(super) kind: FaultKind,
    pub(super) steps: std::sync::atomic::AtomicUsize,
}

#[cfg(test)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FaultKind {
    /// Every operation fails from this step on, as after a crash.
    Crash,
    /// This one step fails.
    Once(io::ErrorKind),
    /// From this step on nothing can grow, but files can be renamed and removed.
    Full,
}

#[cfg(test)]
impl Fault {
    fn step(&self, op: DiskOperation) -> io::Result<()> {
        let step = self.steps.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let grows = matches!(
            op,
            DiskOperation::CreateDir
                | DiskOperation::Create
                | DiskOperation::Write
                | DiskOperation::Sync
        );
        match self.kind {
            FaultKind::Crash if step >= self.at => Err(io::Error::other("crashed")),
            FaultKind::Once(kind) if step == self.at => Err(kind.into()),
            FaultKind::Full if step >= self.at && grows => Err(io::ErrorKind::StorageFull.into()),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
impl WorkspaceDisk {
    pub(super) fn breaking(at: usize, kind: FaultKind) -> WorkspaceDisk {
        WorkspaceDisk {
            fault: Some(std::sync::Arc::new(Fault {
                at,
                kind,
                steps: Default::default(),
            })),
        }
    }

    /// Returns a disk that works and skips the syncs.
    pub(super) fn quick() -> WorkspaceDisk {
        WorkspaceDisk::breaking(usize::MAX, FaultKind::Crash)
    }

    pub(super) fn steps(&self) -> usize {
        let fault = self.fault.as_ref().expect("only counted on a test disk");
        fault.steps.load(std::sync::atomic::Ordering::SeqCst)
    }
}
