//! The mark of an index file: proof that this user's program made the database
//! and its log on this machine (see [`crate::trust`]).
//!
//! SQLite trusts four files: the database, its log (`-wal`), a rollback journal
//! (`-journal`) and shared memory (`-shm`). The mark vouches for the first two.
//! A rollback journal exists only while an index is being created, so one next
//! to a finished index is foreign. Shared memory is rebuilt from the log by the
//! first process that opens the database.

use std::fs::Metadata;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::regular::{self, LinkPolicy};
use crate::trust::{FileIdentity, NoKey, TrustClaim};

/// The origin of the file at the path of an index.
pub(super) enum IndexOrigin {
    Absent,
    /// Made here. `log_is_missing` where another program removed the log.
    Ours {
        token: String,
        log_is_missing: bool,
    },
    /// Not to be opened, and why.
    Foreign(&'static str),
}

/// Looks at the files of an index without opening any of them but the mark.
pub(super) fn index_origin(path: &Path) -> io::Result<IndexOrigin> {
    let Some(database) = metadata_if_present(path)? else {
        return Ok(IndexOrigin::Absent);
    };
    if !database.is_file() {
        return Ok(IndexOrigin::Foreign("it was not a regular file"));
    }
    if metadata_if_present(&sibling_path(path, "-journal"))?.is_some() {
        return Ok(IndexOrigin::Foreign("its creation was cut off"));
    }
    if metadata_if_present(&sibling_path(path, "-shm"))?.is_some_and(|shm| !shm.is_file()) {
        return Ok(IndexOrigin::Foreign(
            "its shared memory was not a regular file",
        ));
    }
    let Some(mark) = IndexMark::read(path) else {
        return Ok(IndexOrigin::Foreign(NOT_MADE_HERE));
    };
    if !mark.vouches_for(path, "index", &database, &mark.database) {
        return Ok(IndexOrigin::Foreign(NOT_MADE_HERE));
    }
    let log = metadata_if_present(&sibling_path(path, "-wal"))?;
    let log_is_missing = log.is_none();
    if let Some(log) = log
        && !(log.is_file() && mark.vouches_for(path, "index log", &log, &mark.log))
    {
        return Ok(IndexOrigin::Foreign(
            "its write-ahead log was not written by this program",
        ));
    }
    Ok(IndexOrigin::Ours {
        token: mark.token,
        log_is_missing,
    })
}

const NOT_MADE_HERE: &str = "it was not made by you on this machine";

/// Marks the database and its log as made here. `token` is also inside of the
/// database, so that other bytes written into the same file fail as well.
pub(super) fn write_mark(path: &Path, token: &str) -> Result<(), MarkError> {
    let mut text = token.to_owned();
    for (suffix, purpose) in [("", "index"), ("-wal", "index log")] {
        let meta = sibling_path(path, suffix).symlink_metadata()?;
        let mark = index_claim(path, purpose, &meta, token).make_mark()?;
        text.push(' ');
        text.push_str(&mark);
    }
    text.push('\n');
    Ok(replace_file(&sibling_path(path, ".mark"), text.as_bytes())?)
}

/// An error of making a mark.
#[derive(Debug, thiserror::Error)]
pub(super) enum MarkError {
    #[error(transparent)]
    Key(#[from] NoKey),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Replaces a small file next to an index. A temporary file is renamed over it,
/// so that a link there is replaced and never followed.
pub(super) fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    let mut temp = tempfile::Builder::new()
        .prefix(".memory-forge-")
        .suffix(".tmp")
        .tempfile_in(folder)?;
    temp.write_all(bytes)?;
    temp.persist(path).map_err(|failed| failed.error)?;
    Ok(())
}

/// Returns the path of a file next to an index: the index's path with this
/// suffix.
pub(super) fn sibling_path(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

struct IndexMark {
    token: String,
    database: String,
    log: String,
}

/// A token and two hashes, all in hexadecimal digits.
const MAX_MARK_BYTES: u64 = 256;

impl IndexMark {
    fn read(path: &Path) -> Option<IndexMark> {
        let bytes = regular::read_regular(
            &sibling_path(path, ".mark"),
            LinkPolicy::Refuse,
            MAX_MARK_BYTES,
        )
        .ok()?;
        let text = String::from_utf8(bytes).ok()?;
        let mut words = text.split_whitespace().map(str::to_owned);
        Some(IndexMark {
            token: words.next()?,
            database: words.next()?,
            log: words.next()?,
        })
    }

    fn vouches_for(&self, path: &Path, purpose: &str, meta: &Metadata, mark: &str) -> bool {
        index_claim(path, purpose, meta, &self.token).matches_mark(mark)
    }
}

fn index_claim<'a>(
    path: &'a Path,
    purpose: &'a str,
    meta: &Metadata,
    token: &'a str,
) -> TrustClaim<'a> {
    TrustClaim {
        root: workspace_of(path),
        purpose,
        identity: FileIdentity::of(path, meta),
        content: token.as_bytes(),
    }
}

/// Returns the workspace of an index: the folder of derived files is directly
/// in it.
pub(super) fn workspace_of(path: &Path) -> &Path {
    path.parent().and_then(Path::parent).unwrap_or(path)
}

fn metadata_if_present(path: &Path) -> io::Result<Option<Metadata>> {
    match path.symlink_metadata() {
        Ok(meta) => Ok(Some(meta)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
