//! Windows.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use winapi_util::file::{Information, information};

use super::FileNumber;

/// Opens a link itself and not what it leads to (`FILE_FLAG_OPEN_REPARSE_POINT`).
const OPEN_LINK_ITSELF: u32 = 0x0020_0000;
/// Opens folders too (`FILE_FLAG_BACKUP_SEMANTICS`).
const OPEN_FOLDERS_TOO: u32 = 0x0200_0000;

const ERROR_ACCESS_DENIED: i32 = 5;
const ERROR_SHARING_VIOLATION: i32 = 32;
/// The error for a link in a place where none is followed.
const ERROR_STOPPED_ON_SYMLINK: i32 = 681;

pub(super) fn open_without_waiting(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    options.open(path)
}

pub(super) fn open_no_follow(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let file = options.custom_flags(OPEN_LINK_ITSELF).open(path)?;
    if file.metadata()?.is_symlink() {
        return Err(io::Error::from_raw_os_error(ERROR_STOPPED_ON_SYMLINK));
    }
    Ok(file)
}

pub(super) fn is_link_refusal(error: &io::Error) -> bool {
    error.raw_os_error() == Some(ERROR_STOPPED_ON_SYMLINK)
}

pub(super) fn is_device_refusal(_error: &io::Error) -> bool {
    false
}

/// Reads what the system knows of a file or a folder, and not of what a link
/// leads to. Metadata does not have it: it needs an open file.
fn read_information(path: &Path) -> io::Result<Information> {
    let file = OpenOptions::new()
        // Neither reading nor writing: also for files without permission.
        .access_mode(0)
        .custom_flags(OPEN_LINK_ITSELF | OPEN_FOLDERS_TOO)
        .open(path)?;
    information(&file)
}

fn number(information: &Information) -> FileNumber {
    (information.volume_serial_number(), information.file_index())
}

pub(super) fn file_number(path: &Path, _meta: &Metadata) -> FileNumber {
    read_information(path).map_or((0, 0), |it| number(&it))
}

pub(super) fn is_still_named(file: &File, path: &Path) -> bool {
    // Since Windows 10 an open file can be removed, and its name taken again.
    match (information(file), read_information(path)) {
        (Ok(held), Ok(named)) => number(&held) == number(&named),
        _ => false,
    }
}

pub(super) fn number_of_names(path: &Path, _meta: &Metadata) -> u64 {
    read_information(path).map_or(1, |it| it.number_of_links())
}

pub(super) fn birth_ns(_meta: &Metadata) -> u128 {
    // The number of a file counts how often its record was used, so that it alone
    // is the identity. The time of birth is not: a file that takes the name of one
    // that was just removed gets its time, too.
    0
}

pub(super) fn modified_ns(meta: &Metadata) -> i64 {
    meta.modified().map_or(0, since_1970)
}

pub(super) fn changed_ns(meta: &Metadata) -> i64 {
    // A copy keeps the time of its content and has a birth of its own.
    modified_ns(meta).max(meta.created().map_or(0, since_1970))
}

fn since_1970(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |n| -n),
    }
}

pub(super) fn rename_over(from: &Path, to: &Path) -> io::Result<()> {
    retry(|| fs::rename(from, to))
}

pub(super) fn remove_file(path: &Path) -> io::Result<()> {
    retry(|| fs::remove_file(path))
}

/// Tries again while another program has the file open: scanners, indexers and
/// editors open every new file for some milliseconds.
fn retry(step: impl Fn() -> io::Result<()>) -> io::Result<()> {
    let mut pause = Duration::from_millis(1);
    loop {
        let result = step();
        let is_in_use = result.as_ref().is_err_and(|error| {
            matches!(
                error.raw_os_error(),
                Some(ERROR_ACCESS_DENIED | ERROR_SHARING_VIOLATION)
            )
        });
        // 1 + 2 + 4 … + 64 ms.
        if !is_in_use || pause > Duration::from_millis(64) {
            return result;
        }
        thread::sleep(pause);
        pause *= 2;
    }
}

pub(super) fn sync_folder(_path: &Path) -> io::Result<()> {
    // A folder cannot be synced, and the file system orders renames itself.
    Ok(())
}

pub(super) fn mode(_meta: &Metadata) -> Option<u32> {
    None
}

pub(super) fn set_creation_mode(_builder: &mut tempfile::Builder<'_, '_>, _mode: u32) {}

pub(super) fn restrict_to_mode(_file: &File, _mode: u32) -> io::Result<()> {
    Ok(())
}

pub(super) fn copy_permissions(_file: &File, _old: &Metadata) -> io::Result<()> {
    // A new file inherits the permissions of its folder.
    Ok(())
}

pub(super) fn create_private_folders(path: &Path) -> io::Result<()> {
    // What is below the profile of a user inherits that others cannot read it.
    fs::create_dir_all(path)
}

pub(super) fn is_private(_meta: &Metadata, _forbidden: u32) -> bool {
    true
}

pub(super) fn user_number() -> u32 {
    0
}

pub(super) fn current_path_of(_file: &File) -> Option<PathBuf> {
    None
}

/// Open folders have no paths.
#[derive(Debug)]
pub(super) enum OpenFolder {}

impl OpenFolder {
    pub(super) fn open(_path: &Path) -> io::Result<Option<OpenFolder>> {
        Ok(None)
    }

    pub(super) fn enter(&self, _name: &str) -> io::Result<OpenFolder> {
        match *self {}
    }

    pub(super) fn path_of(&self, _name: &str) -> PathBuf {
        match *self {}
    }
}
