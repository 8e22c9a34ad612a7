//! Separates files that this user's program made on this machine from files
//! that a clone, a pull or an archive brought.
//!
//! `.memory-forge/` is in the repository, so an author of the repository can
//! put anything there. A file that the program trusts in that folder therefore
//! carries a mark: a hash under a key that never enters a repository, over the
//! purpose of the file and its identity (inode and time of birth). A repository
//! cannot know the key, and cannot choose the inode and birth time that a
//! checkout gives to a file.
//!
//! This module never decides what happens to a file without a valid mark.

use std::fs::{self, Metadata};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, RwLock};

use forge_text::diagnostic::Diagnostic;

use crate::regular::{self, LinkPolicy};
use crate::system;

const KEY_BYTES: usize = 32;
const KEY_FILE: &str = "key";

/// Folders that may hold the key, in the order in which they are tried.
static KEY_FOLDERS: RwLock<Vec<KeyFolder>> = RwLock::new(Vec::new());

/// Notices about files that were moved aside, not yet reported.
static NOTICES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The prefix of the names of files that were moved aside.
pub const FOREIGN_PREFIX: &str = "foreign-";

/// A folder of the user's that may hold the key, read once per process.
struct KeyFolder {
    path: PathBuf,
    /// The path without links, as far as it exists.
    real: OnceLock<PathBuf>,
    key: OnceLock<TrustKey>,
}

#[derive(Clone, Copy)]
struct TrustKey([u8; KEY_BYTES]);

/// An error for a user none of whose folders can keep a key, so nothing can be
/// marked. The environment is at fault: no home, or one that is read-only or
/// readable by others.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the key that marks files as made here cannot be stored in any of your folders, so files of `.memory-forge/` are not used"
)]
pub struct NoKey;

impl Diagnostic for NoKey {
    fn code(&self) -> &'static str {
        "trust.no-key"
    }
}

/// Returns the folders of the user's that may hold the key, the preferred one
/// first: below the folder for the state of programs, below the one that lasts
/// until the user logs out, and below the one for temporary files. Those after
/// the first serve where the home is missing or cannot be written.
pub fn key_folders(
    state: Option<PathBuf>,
    runtime: Option<PathBuf>,
    temporary: &Path,
) -> Vec<PathBuf> {
    let below = |folder: PathBuf| folder.join("memory-forge");
    // The folder is shared, so the user's number keeps users apart.
    let last = temporary.join(format!("memory-forge-{}", system::user_number()));
    let own = state.map(below).into_iter().chain(runtime.map(below));
    own.chain([last]).collect()
}

/// Adds folders that may hold the key, the preferred one first. A process that
/// never calls this has a key of its own, which ends with it.
pub fn add_key_folders(folders: impl IntoIterator<Item = PathBuf>) {
    let Ok(mut known) = KEY_FOLDERS.write() else {
        return;
    };
    for path in folders {
        if !known.iter().any(|folder| folder.path == path) {
            known.push(KeyFolder {
                path,
                real: OnceLock::new(),
                key: OnceLock::new(),
            });
        }
    }
}

/// The identity of a file, independent of its name and content. An attacker who
/// replaces the file gets another identity: archives and checkouts cannot set
/// the time of birth. The device is left out because some file systems get a
/// new number at every mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileIdentity {
    /// 0 on file systems that number no files.
    inode: u64,
    born_ns: u128,
}

impl FileIdentity {
    /// Reads the identity of the file or folder with this path and metadata.
    pub fn of(path: &Path, meta: &Metadata) -> FileIdentity {
        let (_, inode) = system::file_number(path, meta);
        FileIdentity {
            inode,
            born_ns: system::birth_ns(meta),
        }
    }

    fn to_bytes(self) -> [u8; 24] {
        let mut bytes = [0; 24];
        bytes[..8].copy_from_slice(&self.inode.to_le_bytes());
        bytes[8..].copy_from_slice(&self.born_ns.to_le_bytes());
        bytes
    }
}

/// The claim that a mark vouches for.
#[derive(Debug, Clone, Copy)]
pub struct TrustClaim<'a> {
    /// The workspace: a key inside of it is never used.
    pub root: &'a Path,
    /// The kind of file, so that a mark cannot serve for another kind.
    pub purpose: &'a str,
    /// The file itself, whatever its path and content are.
    pub identity: FileIdentity,
    /// What the mark vouches for beyond the file's identity.
    pub content: &'a [u8],
}

impl TrustClaim<'_> {
    /// Returns the mark under the preferred key, which is made where none
    /// exists yet.
    pub fn make_mark(&self) -> Result<String, NoKey> {
        let key = preferred_key(self.root)?;
        Ok(self.mark_under(&key).to_hex().to_string())
    }

    /// Returns `true` if the mark was made for this claim under a key of this
    /// user.
    pub fn matches_mark(&self, mark: &str) -> bool {
        // Hashes compare in constant time.
        let Ok(mark) = blake3::Hash::from_hex(mark.trim_ascii()) else {
            return false;
        };
        let Ok(folders) = KEY_FOLDERS.read() else {
            return false;
        };
        if folders.is_empty() {
            return process_key().is_ok_and(|key| self.mark_under(key) == mark);
        }
        folders
            .iter()
            .filter(|folder| !folder.is_inside_workspace(self.root))
            .filter_map(|folder| folder.load_key(MissingKeyPolicy::Accept))
            .any(|key| self.mark_under(&key) == mark)
    }

    fn mark_under(&self, key: &TrustKey) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&key.0);
        // Lengths before the parts, so that no two claims hash the same bytes.
        for part in [
            self.purpose.as_bytes(),
            &self.identity.to_bytes(),
            self.content,
        ] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        hasher.finalize()
    }
}

/// Fails if nothing in this workspace can be marked.
pub fn ensure_key(root: &Path) -> Result<(), NoKey> {
    preferred_key(root).map(drop)
}

/// Returns the first key that exists or can be made, in a folder outside of the
/// workspace: a repository that is a person's home could bring its own.
fn preferred_key(root: &Path) -> Result<TrustKey, NoKey> {
    let folders = KEY_FOLDERS.read().map_err(|_| NoKey)?;
    if folders.is_empty() {
        return process_key().copied();
    }
    let mut usable = folders
        .iter()
        .filter(|folder| !folder.is_inside_workspace(root));
    usable
        .find_map(|folder| folder.load_key(MissingKeyPolicy::Create))
        .ok_or(NoKey)
}

/// Returns random bytes as hexadecimal digits, for values that must not be
/// guessed.
pub fn random_token() -> Result<String, NoKey> {
    let TrustKey(bytes) = random_key().ok_or(NoKey)?;
    Ok(blake3::hash(&bytes).to_hex()[..32].to_owned())
}

/// Moves something out of the way of a file of ours, to a free name in the same
/// folder. It was not made by this program, so it is kept.
pub(crate) fn set_aside_foreign(path: &Path) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // A random name, because a counted one could be taken on purpose.
    let token = random_token().map_err(io::Error::other)?;
    let aside = format!("{FOREIGN_PREFIX}{}-{name}", &token[..8]);
    fs::rename(path, path.with_file_name(&aside))?;
    if let Ok(mut notices) = NOTICES.lock() {
        notices.push(format!(
            "`{}` was not made by you on this machine; it was moved aside to `{aside}`",
            path.display()
        ));
    }
    Ok(())
}

/// Takes the sentences about files that were moved aside since the last call: a
/// few, and how many more there were, since a clone can bring thousands.
pub fn take_notices() -> Vec<String> {
    let notices = NOTICES.lock();
    let all = notices.map_or_else(|_| Vec::new(), |mut notices| std::mem::take(&mut notices));
    shorten_notices(all)
}

fn shorten_notices(mut all: Vec<String>) -> Vec<String> {
    const MAX_NOTICES: usize = 3;
    let more = all.len().saturating_sub(MAX_NOTICES);
    if more > 0 {
        all.truncate(MAX_NOTICES);
        all.push(format!(
            "{more} more files in `.memory-forge/` were moved aside for the same reason"
        ));
    }
    all
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum MissingKeyPolicy {
    Create,
    Accept,
}

impl KeyFolder {
    /// Returns `true` if an author of the workspace could write the key.
    fn is_inside_workspace(&self, root: &Path) -> bool {
        let real = self.real.get_or_init(|| {
            // The folder may not exist yet: its nearest parent that does is
            // resolved.
            let mut above = self.path.ancestors();
            above
                .find_map(|folder| {
                    let rest = self.path.strip_prefix(folder).ok()?;
                    Some(system::canonicalize(folder).ok()?.join(rest))
                })
                .unwrap_or_else(|| self.path.clone())
        });
        real.starts_with(root)
    }

    fn load_key(&self, missing: MissingKeyPolicy) -> Option<TrustKey> {
        if let Some(key) = self.key.get() {
            return Some(*key);
        }
        let mut found = read_key_file(&self.path);
        if found.is_none() && missing == MissingKeyPolicy::Create {
            found = create_key(&self.path);
        }
        found.inspect(|key| {
            let _ = self.key.set(*key);
        })
    }
}

/// Returns the key of a process without folders, such as a test of the library.
fn process_key() -> Result<&'static TrustKey, NoKey> {
    static KEY: OnceLock<Option<TrustKey>> = OnceLock::new();
    KEY.get_or_init(random_key).as_ref().ok_or(NoKey)
}

fn random_key() -> Option<TrustKey> {
    let mut bytes = [0; KEY_BYTES];
    getrandom::fill(&mut bytes).ok()?;
    Some(TrustKey(bytes))
}

/// Reads the key of a folder. One that others can read or change is not secret
/// and is not used.
fn read_key_file(folder: &Path) -> Option<TrustKey> {
    if !system::is_private(&folder.symlink_metadata().ok()?, 0o022) {
        return None;
    }
    let file = regular::open_regular(&folder.join(KEY_FILE), LinkPolicy::Refuse).ok()?;
    if !system::is_private(&file.metadata().ok()?, 0o077) {
        return None;
    }
    let bytes = regular::read_open_file(file, KEY_BYTES as u64).ok()?;
    Some(TrustKey(bytes.try_into().ok()?))
}

/// Makes the key of a folder. Of several processes that try at once one wins,
/// and all return its key.
fn create_key(folder: &Path) -> Option<TrustKey> {
    system::create_private_folders(folder).ok()?;
    // A folder that was there may let others replace the key.
    if !system::is_private(&folder.symlink_metadata().ok()?, 0o022) {
        return None;
    }
    let path = folder.join(KEY_FILE);
    // Of several processes, one puts its key there and the others read it.
    if new_key_file(folder)?.persist_noclobber(&path).is_err() && read_key_file(folder).is_none() {
        // A key that is damaged or that others could read is of no use.
        new_key_file(folder)?.persist(&path).ok()?;
    }
    read_key_file(folder)
}

/// Writes a random key to a temporary file, which its owner alone can read.
fn new_key_file(folder: &Path) -> Option<tempfile::NamedTempFile> {
    let TrustKey(bytes) = random_key()?;
    let mut new = tempfile::Builder::new()
        .prefix(".key-")
        .tempfile_in(folder)
        .ok()?;
    new.write_all(&bytes).ok()?;
    new.as_file().sync_all().ok()?;
    Some(new)
}

#[cfg(test)]
mod tests;
