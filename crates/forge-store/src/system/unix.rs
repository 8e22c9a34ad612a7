//! Linux, macOS and other systems with POSIX's files.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::FileNumber;

/// Opening a pipe waits for a writer unless it is non-blocking.
const NEVER_WAIT: i32 = libc::O_NONBLOCK | libc::O_NOCTTY;

pub(super) fn open_without_waiting(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    options.custom_flags(NEVER_WAIT).open(path)
}

pub(super) fn open_no_follow(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    options
        .custom_flags(NEVER_WAIT | libc::O_NOFOLLOW)
        .open(path)
}

pub(super) fn is_link_refusal(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ELOOP)
}

pub(super) fn is_device_refusal(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENXIO)
}

pub(super) fn file_number(_path: &Path, meta: &Metadata) -> FileNumber {
    (meta.dev(), meta.ino())
}

pub(super) fn is_still_named(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(held), Ok(named)) => (held.dev(), held.ino()) == (named.dev(), named.ino()),
        _ => false,
    }
}

pub(super) fn number_of_names(_path: &Path, meta: &Metadata) -> u64 {
    meta.nlink()
}

pub(super) fn birth_ns(meta: &Metadata) -> u128 {
    // The number of a removed file is given out again.
    let born = meta.created().ok();
    let since = born.and_then(|it| it.duration_since(UNIX_EPOCH).ok());
    since.map_or(0, |it| it.as_nanos())
}

pub(super) fn modified_ns(meta: &Metadata) -> i64 {
    meta.mtime()
        .saturating_mul(1_000_000_000)
        .saturating_add(meta.mtime_nsec())
}

pub(super) fn changed_ns(meta: &Metadata) -> i64 {
    let changed = meta.ctime().saturating_mul(1_000_000_000);
    changed
        .saturating_add(meta.ctime_nsec())
        .max(modified_ns(meta))
}

pub(super) fn rename_over(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)
}

pub(super) fn remove_file(path: &Path) -> io::Result<()> {
    fs::remove_file(path)
}

pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

pub(super) fn mode(meta: &Metadata) -> Option<u32> {
    Some(meta.permissions().mode() & 0o777)
}

pub(super) fn set_creation_mode(builder: &mut tempfile::Builder<'_, '_>, mode: u32) {
    builder.permissions(Permissions::from_mode(mode));
}

pub(super) fn restrict_to_mode(file: &File, mode: u32) -> io::Result<()> {
    // The file was made with all permissions, so those that it has are what the
    // user's umask leaves.
    let allowed = file.metadata()?.permissions().mode() & 0o777;
    file.set_permissions(Permissions::from_mode(mode & allowed))
}

pub(super) fn copy_permissions(file: &File, old: &Metadata) -> io::Result<()> {
    // The owner first: changing it may clear bits of the mode.
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        // Only a privileged user can give files away; for others the file
        // becomes theirs, as with any editor.
        let _ = fchown(file, Some(old.uid()), Some(old.gid()));
    }
    file.set_permissions(old.permissions())
}

pub(super) fn create_private_folders(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
}

pub(super) fn is_private(meta: &Metadata, forbidden: u32) -> bool {
    meta.uid() == user_number() && meta.mode() & forbidden == 0
}

pub(super) fn user_number() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[cfg(target_os = "linux")]
pub(super) use linux::{OpenFolder, current_path_of};

#[cfg(target_os = "linux")]
mod linux {
    //! Open files have paths of their own in `/proc`.

    use std::os::fd::AsRawFd;

    use super::*;

    pub(in super::super) fn current_path_of(file: &File) -> Option<PathBuf> {
        let place = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()?;
        place.is_absolute().then_some(place)
    }

    #[derive(Debug)]
    pub(in super::super) struct OpenFolder(File);

    impl OpenFolder {
        pub(in super::super) fn open(path: &Path) -> io::Result<Option<OpenFolder>> {
            let folder = open_folder(path)?;
            // Without `/proc` open folders have no paths.
            let has_path = fs::metadata(folder.path_of(".")).is_ok();
            Ok(has_path.then_some(folder))
        }

        pub(in super::super) fn enter(&self, name: &str) -> io::Result<OpenFolder> {
            open_folder(&self.path_of(name))
        }

        pub(in super::super) fn path_of(&self, name: &str) -> PathBuf {
            PathBuf::from(format!("/proc/self/fd/{}/{name}", self.0.as_raw_fd()))
        }
    }

    fn open_folder(path: &Path) -> io::Result<OpenFolder> {
        File::options()
            .read(true)
            // `O_PATH` also opens a folder that the user may enter and not read.
            .custom_flags(libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW)
            .open(path)
            .map(OpenFolder)
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) use elsewhere::{OpenFolder, current_path_of};

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    //! Open files have no paths.

    use super::*;

    pub(in super::super) fn current_path_of(_file: &File) -> Option<PathBuf> {
        None
    }

    #[derive(Debug)]
    pub(in super::super) enum OpenFolder {}

    impl OpenFolder {
        pub(in super::super) fn open(_path: &Path) -> io::Result<Option<OpenFolder>> {
            Ok(None)
        }

        pub(in super::super) fn enter(&self, _name: &str) -> io::Result<OpenFolder> {
            match *self {}
        }

        pub(in super::super) fn path_of(&self, _name: &str) -> PathBuf {
            match *self {}
        }
    }
}
