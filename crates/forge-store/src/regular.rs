//! Opens regular files without waiting and reads them up to a limit.
//!
//! A repository may hold anything under any name: a pipe without a writer, a
//! link to `/dev/zero`, a file of any size. Every file of a repository is
//! opened here. This module decides nothing about which paths are allowed, and
//! it never writes.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::Path;

use forge_text::diagnostic::Diagnostic;

use crate::system;

/// The treatment of a symlink in the place of the file. Links in the folders
/// above it are followed either way; a caller for which they matter checks
/// them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkPolicy {
    /// The file that the link leads to is read.
    Follow,
    /// A link is an error.
    Refuse,
}

/// The reason why a file was not read.
#[derive(Debug, thiserror::Error)]
pub enum FileReadError {
    /// The path is a symlink, and the caller refuses them.
    #[error("it is a symlink")]
    Link,
    /// The path is a folder, a pipe, a device or a socket.
    #[error("it is not a regular file")]
    NotAFile,
    /// The file exceeds the caller's limit.
    #[error("it has {size} bytes, more than {limit}")]
    TooLarge {
        /// The size of the file in bytes.
        size: u64,
        /// The limit of the caller.
        limit: u64,
    },
    /// The file was to be text, and is not UTF-8.
    #[error("line {line} is not UTF-8")]
    NotUtf8 {
        /// The first line that is not UTF-8.
        line: usize,
    },
    /// The system failed, also because there is no file.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Diagnostic for FileReadError {
    fn code(&self) -> &'static str {
        match self {
            FileReadError::Link => "file.symlink",
            FileReadError::NotAFile => "file.not-a-file",
            FileReadError::TooLarge { .. } => "file.too-large",
            FileReadError::NotUtf8 { .. } => "file.not-utf8",
            FileReadError::Io(_) => "file.io",
        }
    }
}

impl FileReadError {
    /// Returns `true` if there is no file at that path.
    pub fn is_not_found(&self) -> bool {
        matches!(self, FileReadError::Io(error) if error.kind() == io::ErrorKind::NotFound)
    }
}

impl From<FileReadError> for io::Error {
    fn from(error: FileReadError) -> io::Error {
        match error {
            FileReadError::Io(error) => error,
            other => io::Error::other(other.to_string()),
        }
    }
}

/// Opens a regular file for reading. No other file is ever waited for or read
/// from, not even one that takes the file's place at this moment.
pub fn open_regular(path: &Path, links: LinkPolicy) -> Result<File, FileReadError> {
    // A look before opening: to open a device can have effects of its own.
    let named = match links {
        LinkPolicy::Follow => fs::metadata(path)?,
        LinkPolicy::Refuse => fs::symlink_metadata(path)?,
    };
    check_regular(&named)?;
    let mut options = File::options();
    options.read(true);
    let opened = match links {
        LinkPolicy::Follow => system::open_without_waiting(&mut options, path),
        LinkPolicy::Refuse => system::open_no_follow(&mut options, path),
    };
    let file = opened.map_err(classify_open_error)?;
    // Another file may have taken its place since the look.
    check_regular(&file.metadata()?)?;
    Ok(file)
}

/// Reads a regular file that has at most `limit` bytes.
pub fn read_regular(path: &Path, links: LinkPolicy, limit: u64) -> Result<Vec<u8>, FileReadError> {
    read_open_file(open_regular(path, links)?, limit)
}

/// Reads a text of at most `limit` bytes from a path on the command line. That
/// may be a pipe, as a shell makes one of `<(…)`.
pub fn read_user_file(path: &Path, limit: u64) -> Result<String, FileReadError> {
    decode_utf8(read_open_file(File::open(path)?, limit)?)
}

/// Reads an open file that has at most `limit` bytes.
pub fn read_open_file(file: File, limit: u64) -> Result<Vec<u8>, FileReadError> {
    let size = file.metadata()?.len();
    if size > limit {
        return Err(FileReadError::TooLarge { size, limit });
    }
    let mut bytes = Vec::with_capacity(size as usize);
    // It may grow after it was measured, and some files claim to have no bytes.
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    let size = bytes.len() as u64;
    if size > limit {
        Err(FileReadError::TooLarge { size, limit })
    } else {
        Ok(bytes)
    }
}

/// Reads a regular file of UTF-8 text, byte order mark and line ends included.
pub fn read_text(path: &Path, links: LinkPolicy, limit: u64) -> Result<String, FileReadError> {
    decode_utf8(read_regular(path, links, limit)?)
}

/// Decodes bytes as UTF-8; the error names the line at which they are not.
pub fn decode_utf8(bytes: Vec<u8>) -> Result<String, FileReadError> {
    String::from_utf8(bytes).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        FileReadError::NotUtf8 {
            line: 1 + memchr::memchr_iter(b'\n', good).count(),
        }
    })
}

fn check_regular(meta: &Metadata) -> Result<(), FileReadError> {
    if meta.is_symlink() {
        return Err(FileReadError::Link);
    }
    if meta.is_file() {
        Ok(())
    } else {
        Err(FileReadError::NotAFile)
    }
}

/// Classifies an open error: a link may have taken the file's place.
fn classify_open_error(error: io::Error) -> FileReadError {
    if system::is_link_refusal(&error) {
        FileReadError::Link
    } else if system::is_device_refusal(&error) {
        FileReadError::NotAFile
    } else {
        FileReadError::Io(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    fn pipe(path: &Path) {
        let made = std::process::Command::new("mkfifo").arg(path).status();
        assert!(made.is_ok_and(|it| it.success()), "mkfifo is in coreutils");
    }

    #[test]
    fn a_file_is_read_up_to_its_limit_and_not_beyond() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "12345").unwrap();
        assert_eq!(
            read_regular(&path, LinkPolicy::Refuse, 5).unwrap(),
            b"12345"
        );
        let error = read_regular(&path, LinkPolicy::Refuse, 4).unwrap_err();
        assert!(matches!(
            error,
            FileReadError::TooLarge { size: 5, limit: 4 }
        ));
        let missing = read_regular(&folder.path().join("b"), LinkPolicy::Refuse, 4).unwrap_err();
        assert!(missing.is_not_found());
        fs::write(&path, b"a\nb\n\xff").unwrap();
        let error = read_text(&path, LinkPolicy::Refuse, 9).unwrap_err();
        assert!(matches!(error, FileReadError::NotUtf8 { line: 3 }));
    }

    /// Files of the kernel say that they are empty, and are not.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_that_claims_no_size_is_held_to_the_limit() {
        let error =
            read_regular(Path::new("/proc/self/maps"), LinkPolicy::Refuse, 100).unwrap_err();
        assert!(matches!(error, FileReadError::TooLarge { limit: 100, .. }));
    }

    #[cfg(unix)]
    #[test]
    fn only_regular_files_are_opened() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        pipe(&at("pipe"));
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        fs::create_dir(at("folder")).unwrap();
        for name in ["pipe", "socket", "folder", "/dev/zero", "/dev/tty"] {
            for links in [LinkPolicy::Follow, LinkPolicy::Refuse] {
                let Err(error) = open_regular(&folder.path().join(name), links) else {
                    panic!("{name} was opened");
                };
                // A terminal device exists only where a system has terminals.
                let known = matches!(error, FileReadError::NotAFile) || error.is_not_found();
                assert!(known, "{name}: {error}");
            }
        }
        for target in ["pipe", "folder", "/dev/zero"] {
            let link = at(&format!("to-{}", target.trim_start_matches("/dev/")));
            symlink(target, &link).unwrap();
            let followed = open_regular(&link, LinkPolicy::Follow).unwrap_err();
            assert!(matches!(followed, FileReadError::NotAFile), "{target}");
            let refused = open_regular(&link, LinkPolicy::Refuse).unwrap_err();
            assert!(matches!(refused, FileReadError::Link), "{target}");
        }
        fs::write(at("file"), "a").unwrap();
        symlink("file", at("link")).unwrap();
        assert!(open_regular(&at("link"), LinkPolicy::Follow).is_ok());
        let refused = open_regular(&at("link"), LinkPolicy::Refuse).unwrap_err();
        assert!(matches!(refused, FileReadError::Link));
    }
}
