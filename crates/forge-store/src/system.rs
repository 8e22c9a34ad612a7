//! The differences between operating systems, as small functions with one
//! meaning everywhere: opening without following links, the identity of a
//! file, permissions, renames, names that a system refuses. It never decides
//! what is read or written, and no other module of the libraries asks which
//! system it runs on.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as own;
#[cfg(windows)]
use windows as own;

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// Whether a file that is open can be removed by its name.
pub const CAN_REMOVE_OPEN_FILES: bool = cfg!(unix);

/// Returns the name of a program's file in a folder of the `PATH`.
pub fn program_file_name(name: &str) -> String {
    let suffix = if cfg!(windows) { ".exe" } else { "" };
    format!("{name}{suffix}")
}

/// Opens a file without waiting for the other end of a pipe. Links are
/// followed.
pub(crate) fn open_without_waiting(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    own::open_without_waiting(options, path)
}

/// Opens a file without waiting, or fails if its last name is a link; see
/// [`is_link_refusal`].
pub(crate) fn open_no_follow(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    own::open_no_follow(options, path)
}

/// Returns `true` for the error with which a link was refused.
pub(crate) fn is_link_refusal(error: &io::Error) -> bool {
    own::is_link_refusal(error)
}

/// Returns `true` for the error of opening something that is no file: a
/// socket, or a device without a driver.
pub(crate) fn is_device_refusal(error: &io::Error) -> bool {
    own::is_device_refusal(error)
}

/// A volume, and the number of a file on it. Two names of one file have the
/// same; a file that replaces another has a new one.
pub type FileNumber = (u64, u64);

/// Returns the number of the file with this path and metadata, without
/// following a link. It is (0, 0) where the file system numbers no files.
pub fn file_number(path: &Path, meta: &Metadata) -> FileNumber {
    own::file_number(path, meta)
}

/// Returns `true` if the open file still is the one with this name.
pub(crate) fn is_still_named(file: &File, path: &Path) -> bool {
    own::is_still_named(file, path)
}

/// Returns `true` if the file has a second name, a hard link. An archive can
/// bring one that leads to another file of the same archive.
pub(crate) fn has_other_names(path: &Path, meta: &Metadata) -> bool {
    meta.is_file() && own::number_of_names(path, meta) > 1
}

/// Returns the time of birth as far as it belongs to the identity of a file, in
/// nanoseconds since 1970.
pub(crate) fn birth_ns(meta: &Metadata) -> u128 {
    own::birth_ns(meta)
}

/// Returns the time of the last change of the content, in nanoseconds since
/// 1970.
pub(crate) fn modified_ns(meta: &Metadata) -> i64 {
    own::modified_ns(meta)
}

/// Returns the time of the last change of the content or of the file's name
/// and permissions, as far as the system keeps it, in nanoseconds since 1970.
pub(crate) fn changed_ns(meta: &Metadata) -> i64 {
    own::changed_ns(meta)
}

/// Renames a file over another one in one step. Readers see the old file or the
/// new one.
pub(crate) fn rename_over(from: &Path, to: &Path) -> io::Result<()> {
    own::rename_over(from, to)
}

/// Removes a file.
pub(crate) fn remove_file(path: &Path) -> io::Result<()> {
    own::remove_file(path)
}

/// Makes the names in a folder as durable as the files that they belong to.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    own::sync_folder(path)
}

/// Returns the permission bits of a file, on systems that have them.
pub(crate) fn mode(meta: &Metadata) -> Option<u32> {
    own::mode(meta)
}

/// Sets the permission bits that the file is created with; the user's umask
/// reduces them.
pub(crate) fn set_creation_mode(builder: &mut tempfile::Builder<'_, '_>, mode: u32) {
    own::set_creation_mode(builder, mode);
}

/// Gives a new file those bits of `mode` that it was created with.
pub(crate) fn restrict_to_mode(file: &File, mode: u32) -> io::Result<()> {
    own::restrict_to_mode(file, mode)
}

/// Gives a new file the owner and the permissions of the file that it replaces.
pub(crate) fn copy_permissions(file: &File, old: &Metadata) -> io::Result<()> {
    own::copy_permissions(file, old)
}

/// Creates a folder, and those above it, that its owner alone can use.
pub(crate) fn create_private_folders(path: &Path) -> io::Result<()> {
    own::create_private_folders(path)
}

/// Returns `true` if this user owns it and it has none of the `forbidden`
/// permissions.
pub(crate) fn is_private(meta: &Metadata, forbidden: u32) -> bool {
    !meta.is_symlink() && own::is_private(meta, forbidden)
}

/// Returns the number by which the system knows the user, 0 where it has none.
pub fn user_number() -> u32 {
    own::user_number()
}

/// Returns the current path of an open file, if the system knows it.
pub(crate) fn current_path_of(file: &File) -> Option<PathBuf> {
    own::current_path_of(file)
}

/// A folder that is open and has a path that stays with it, whatever takes its
/// name. Only Linux has such paths.
#[derive(Debug)]
pub(crate) struct OpenFolder(own::OpenFolder);

impl OpenFolder {
    /// Opens a folder; `None` if open folders have no paths here.
    pub(crate) fn open(path: &Path) -> io::Result<Option<OpenFolder>> {
        Ok(own::OpenFolder::open(path)?.map(OpenFolder))
    }

    /// Opens a folder that is directly in this one and not a link.
    pub(crate) fn enter(&self, name: &str) -> io::Result<OpenFolder> {
        self.0.enter(name).map(OpenFolder)
    }

    /// Returns the path of a name in this folder.
    pub(crate) fn path_of(&self, name: &str) -> PathBuf {
        self.0.path_of(name)
    }
}

/// Returns why this system cannot have a file of that name; `None` if it can.
pub(crate) fn refused_name(name: &str) -> Option<&'static str> {
    if cfg!(windows) {
        refused_on_windows(name)
    } else {
        None
    }
}

/// Returns why Windows would take a name for something else than a file of that
/// name. Pure, so that it is tested on every system.
fn refused_on_windows(name: &str) -> Option<&'static str> {
    if name.contains(':') {
        // A stream of a file is the file under another name.
        return Some("has a colon, which a name may not contain");
    }
    if name.contains(['<', '>', '"', '|', '?', '*']) {
        return Some("has a character that a name may not contain");
    }
    if name.ends_with(['.', ' ']) {
        return Some("ends with a dot or a space, which Windows drops");
    }
    // `aux.md` is the device `AUX` too.
    let stem = name.split('.').next().unwrap_or(name).trim_end();
    is_device_name(stem).then_some("has the name of a device")
}

fn is_device_name(stem: &str) -> bool {
    let upper = stem.to_uppercase();
    if ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"].contains(&upper.as_str()) {
        return true;
    }
    let rest = upper.strip_prefix("COM").or(upper.strip_prefix("LPT"));
    rest.is_some_and(|it| {
        let mut characters = it.chars();
        // The superscripts are digits for these names too.
        let digit = characters
            .next()
            .is_some_and(|it| "123456789¹²³".contains(it));
        digit && characters.next().is_none()
    })
}

/// Returns the path of a file without links, as people and other programs write
/// it. The system's own answer begins with `\\?\` on Windows, which neither `cmd`
/// nor git accepts as a folder to work in.
pub fn canonicalize(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    let real = std::fs::canonicalize(path)?;
    match real.to_str().and_then(strip_verbatim_prefix) {
        Some(short) if cfg!(windows) => Ok(PathBuf::from(short)),
        _ => Ok(real),
    }
}

/// Joins a path with `/` to a folder, with the separators of this system.
pub(crate) fn join(folder: &Path, path: &str) -> PathBuf {
    if cfg!(windows) {
        folder.join(path.replace('/', "\\"))
    } else {
        folder.join(path)
    }
}

/// Returns a path as text with `/` between names, as reports show it on every
/// system.
pub fn with_slashes(path: &Path) -> String {
    let text = path.display().to_string();
    if cfg!(windows) {
        text.replace('\\', "/")
    } else {
        text
    }
}

/// Returns the path without the prefix `\\?\`, or `None` if it has none or would
/// mean something else without it. The standard library puts the prefix back
/// where a path is too long without it.
fn strip_verbatim_prefix(path: &str) -> Option<String> {
    let rest = path.strip_prefix(r"\\?\")?;
    let (short, names) = match rest.strip_prefix(r"UNC\") {
        Some(share) => (format!(r"\\{share}"), share),
        None => {
            let (drive, names) = rest.split_once(":\\")?;
            let is_drive = drive.len() == 1 && drive.as_bytes()[0].is_ascii_alphabetic();
            (is_drive.then(|| rest.to_owned())?, names)
        }
    };
    let is_plain = |name: &str| name.is_empty() || refused_on_windows(name).is_none();
    (!names.contains('/') && names.split('\\').all(is_plain)).then_some(short)
}

#[cfg(test)]
mod tests;
