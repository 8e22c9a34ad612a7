//! Lists files by reading folders and nothing else.
//!
//! The walk of memory runs before every search, so it must cost no more than
//! `git status`: one listing per folder, one stat per file, several threads. It
//! never opens a file, and no entry that cannot be read keeps the others from
//! being found.

use std::fs::{self, DirEntry, Metadata};
use std::io;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::autoload::is_skipped;
use super::path::{is_inside_root, is_plain_name};
use super::{FileRole, RelPath, role_with_domains};

/// The files of a walk and its problems, both sorted by path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkspaceScan {
    pub files: Vec<ScannedFile>,
    pub problems: Vec<ScanProblem>,
}

/// All files of the workspace of any kind, and the problems, both sorted by
/// path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkspaceTree {
    pub files: Vec<ScannedFile>,
    pub problems: Vec<ScanProblem>,
}

/// A file that a walk found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScannedFile {
    pub path: RelPath,
    pub size: u64,
    /// Nanoseconds since 1970; before that it is negative.
    pub mtime_ns: i64,
    /// When its content or its time last changed, by the system's own clock if
    /// that is known. Setting a file's time back advances it.
    pub changed_ns: i64,
    pub role: FileRole,
}

impl ScannedFile {
    /// Returns `true` for a Markdown file.
    pub fn is_markdown(&self) -> bool {
        self.path.as_str().ends_with(".md")
    }
}

/// A file or folder that was skipped, and why.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ScanProblem {
    /// Relative to the root, with `/`; what is not UTF-8 in it is replaced.
    pub path: String,
    pub message: String,
}

impl std::fmt::Display for ScanProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}`: {}", self.path, self.message)
    }
}

/// The folders of knowledge in every workspace.
const MEMORY_FOLDERS: [&str; 2] = ["knowledge", ".agents/memory"];

/// The files that a walk lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScanExtent {
    /// Markdown, wherever a folder of memory holds it.
    Memory,
    /// Files of every kind, without other people's code and what is rebuilt.
    Everything,
}

pub(super) fn scan_memory(root: &Path, domains: &[String]) -> WorkspaceScan {
    let mut problems = Vec::new();
    let mut folders = outermost_folders(domains);
    folders.retain(|folder| can_enter(root, folder, &mut problems));
    let mut found = walk_folders(root, domains, folders, ScanExtent::Memory);
    found.problems.extend(problems);
    found.problems.sort_unstable();
    found
}

pub(super) fn scan_tree(root: &Path, domains: &[String]) -> WorkspaceTree {
    let WorkspaceScan { files, problems } =
        walk_folders(root, domains, vec![String::new()], ScanExtent::Everything);
    WorkspaceTree { files, problems }
}

fn walk_folders(
    root: &Path,
    domains: &[String],
    folders: Vec<String>,
    extent: ScanExtent,
) -> WorkspaceScan {
    let threads = thread::available_parallelism()
        .map_or(2, NonZero::get)
        .clamp(2, 8);
    let walk = ScanWalk::new(root, domains, folders, extent, threads);
    let mut found = WorkspaceScan::default();
    thread::scope(|scope| {
        let workers: Vec<_> = (1..threads)
            .map(|_| scope.spawn(|| walk.run_worker()))
            .collect();
        found = walk.run_worker();
        for worker in workers {
            match worker.join() {
                Ok(part) => {
                    found.files.extend(part.files);
                    found.problems.extend(part.problems);
                }
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    found.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    found.problems.sort_unstable();
    found
}

/// Returns the folders to walk, none of them inside another.
fn outermost_folders(domains: &[String]) -> Vec<String> {
    let named = domains
        .iter()
        .filter_map(|domain| RelPath::new(domain).ok());
    let mut folders: Vec<RelPath> = named.collect();
    folders.extend(MEMORY_FOLDERS.map(|folder| RelPath::from_checked(folder.to_string())));
    folders.sort();
    folders.dedup();
    let all = folders.clone();
    let is_inner = |one: &RelPath| all.iter().any(|o| o != one && one.starts_with(o.as_str()));
    folders.retain(|folder| !is_inner(folder));
    folders
        .into_iter()
        .map(|folder| folder.to_string())
        .collect()
}

/// The state that the threads share.
struct ScanWalk<'a> {
    root: &'a Path,
    domains: &'a [String],
    extent: ScanExtent,
    queue: Mutex<FolderQueue>,
    more: Condvar,
    /// The number of idle threads; read without the lock.
    idle: AtomicUsize,
}

struct FolderQueue {
    /// Folders that any thread may list, relative to the root.
    folders: Vec<String>,
    /// Threads that are listing, and may find more.
    busy: usize,
}

impl<'a> ScanWalk<'a> {
    /// Prepares a walk. Each of `threads` must call [`ScanWalk::run_worker`].
    fn new(
        root: &'a Path,
        domains: &'a [String],
        folders: Vec<String>,
        extent: ScanExtent,
        threads: usize,
    ) -> Self {
        let busy = threads;
        ScanWalk {
            root,
            domains,
            extent,
            queue: Mutex::new(FolderQueue { folders, busy }),
            more: Condvar::new(),
            idle: AtomicUsize::new(0),
        }
    }

    /// Lists folders until none are left and no thread can find more. A thread
    /// keeps what it finds to itself while the others are busy as well, so that
    /// the lock is rarely needed.
    fn run_worker(&self) -> WorkspaceScan {
        let mut found = WorkspaceScan::default();
        let mut absolute = PathBuf::new();
        let mut own = Vec::new();
        loop {
            let Some(folder) = own.pop().or_else(|| self.take_folder()) else {
                return found;
            };
            absolute.clear();
            absolute.push(self.root);
            absolute.push(&folder);
            if let Err(e) = self.list_folder(&folder, &absolute, &mut own, &mut found) {
                found.problems.push(unreadable_problem(folder, &e));
            }
            // A lock for each folder would cost more than listing it. `Relaxed`
            // is enough, since an old count only delays the sharing.
            if own.len() > 1 && self.idle.load(Ordering::Relaxed) > 0 {
                self.share_folders(&mut own);
            }
        }
    }

    /// Takes a folder of another thread; `None` when the walk is over.
    fn take_folder(&self) -> Option<String> {
        let mut queue = self.lock_queue();
        queue.busy -= 1;
        self.idle.fetch_add(1, Ordering::Relaxed);
        loop {
            if let Some(folder) = queue.folders.pop() {
                queue.busy += 1;
                self.idle.fetch_sub(1, Ordering::Relaxed);
                return Some(folder);
            }
            if queue.busy == 0 {
                self.more.notify_all();
                return None;
            }
            queue = self
                .more
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Moves the older half to the queue, which is higher in the tree and has
    /// more below it.
    fn share_folders(&self, own: &mut Vec<String>) {
        let half = own.len() / 2;
        self.lock_queue().folders.extend(own.drain(..half));
        self.more.notify_all();
    }

    fn list_folder(
        &self,
        folder: &str,
        absolute: &Path,
        own: &mut Vec<String>,
        found: &mut WorkspaceScan,
    ) -> io::Result<()> {
        for entry in fs::read_dir(absolute)? {
            let entry = entry?;
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| is_plain_name(name)) else {
                self.report_name(folder, &entry, found);
                continue;
            };
            let is_markdown = name.ends_with(".md");
            let is_wanted = is_markdown || self.extent == ScanExtent::Everything;
            let kind = match entry.file_type() {
                Ok(kind) => kind,
                Err(e) => {
                    found
                        .problems
                        .push(unreadable_problem(join_path(folder, name), &e));
                    continue;
                }
            };
            if kind.is_dir() {
                if name.starts_with('.')
                    || self.extent == ScanExtent::Everything && is_skipped(name, name)
                {
                    continue;
                }
                let path = join_path(folder, name);
                if is_markdown {
                    found.problems.push(scan_problem(
                        &path,
                        "is a folder, although it is named like a document",
                    ));
                }
                own.push(path);
            } else if kind.is_symlink() {
                self.follow_symlink(join_path(folder, name), is_wanted, is_markdown, found);
            // macOS leaves files that begin with `._` next to the real ones.
            } else if is_wanted && !name.starts_with("._") {
                let path = join_path(folder, name);
                if !kind.is_file() {
                    if is_markdown {
                        found
                            .problems
                            .push(scan_problem(&path, "is not a regular file"));
                    }
                    continue;
                }
                match entry.metadata() {
                    Ok(meta) => found.files.push(self.scanned_file(path, &meta)),
                    Err(e) => found.problems.push(unreadable_problem(path, &e)),
                }
            }
        }
        Ok(())
    }

    /// Follows a symlink to a file inside the workspace. A symlinked folder is
    /// never followed, so that no walk can run in circles.
    fn follow_symlink(
        &self,
        path: String,
        is_wanted: bool,
        is_markdown: bool,
        found: &mut WorkspaceScan,
    ) {
        let absolute = self.root.join(&path);
        let target = fs::canonicalize(&absolute).and_then(|real| Ok((fs::metadata(&real)?, real)));
        match target {
            Ok((meta, _)) if meta.is_dir() => {
                found.problems.push(scan_problem(
                    &path,
                    "is a symlink to a folder, which is not followed",
                ));
            }
            _ if !is_wanted => {}
            Ok((meta, real)) if meta.is_file() && is_inside_root(self.root, &real) => {
                found.files.push(self.scanned_file(path, &meta));
            }
            // Files that are not documents are never reported as missing.
            _ if !is_markdown => {}
            Ok((meta, _)) if meta.is_file() => found.problems.push(scan_problem(
                &path,
                "is a symlink that leads out of the workspace",
            )),
            Ok(_) => found
                .problems
                .push(scan_problem(&path, "is not a regular file")),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                found.problems.push(scan_problem(
                    &path,
                    "is a symlink to a file that does not exist",
                ));
            }
            Err(e) => found.problems.push(unreadable_problem(path, &e)),
        }
    }

    fn scanned_file(&self, path: String, meta: &Metadata) -> ScannedFile {
        let path = RelPath::from_checked(path);
        let role = role_with_domains(&path, self.domains);
        ScannedFile {
            path,
            size: meta.len(),
            mtime_ns: mtime_ns(meta),
            changed_ns: changed_ns(meta),
            role,
        }
    }

    /// Reports a name that cannot be written down, but only if it may be a
    /// document's.
    fn report_name(&self, folder: &str, entry: &DirEntry, found: &mut WorkspaceScan) {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if name.starts_with('.') || !(is_dir || name.ends_with(".md")) {
            return;
        }
        let shown: String = name
            .chars()
            .map(|c| if c.is_control() { '\u{fffd}' } else { c })
            .collect();
        let why = "has a name that is not UTF-8 or not portable; rename it to have it used";
        found
            .problems
            .push(scan_problem(&join_path(folder, &shown), why));
    }

    fn lock_queue(&self) -> MutexGuard<'_, FolderQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns `true` if the folder is there and reached without a symlink.
fn can_enter(root: &Path, folder: &str, problems: &mut Vec<ScanProblem>) -> bool {
    let mut absolute = root.to_path_buf();
    for name in folder.split('/') {
        absolute.push(name);
        match fs::symlink_metadata(&absolute) {
            Ok(meta) if meta.is_dir() => {}
            Ok(meta) if meta.is_symlink() => {
                problems.push(scan_problem(
                    folder,
                    "is reached by a symlink, which is not followed",
                ));
                return false;
            }
            Err(e)
                if !matches!(
                    e.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                problems.push(unreadable_problem(folder.to_string(), &e));
                return false;
            }
            _ => return false,
        }
    }
    true
}

fn scan_problem(path: &str, message: &str) -> ScanProblem {
    ScanProblem {
        path: path.to_string(),
        message: message.to_string(),
    }
}

fn unreadable_problem(path: String, error: &io::Error) -> ScanProblem {
    let message = match error.kind() {
        io::ErrorKind::NotFound => "vanished while it was looked at".to_string(),
        _ => format!("cannot be read: {error}"),
    };
    ScanProblem { path, message }
}

fn join_path(folder: &str, name: &str) -> String {
    let mut path = String::with_capacity(folder.len() + 1 + name.len());
    if !folder.is_empty() {
        path.push_str(folder);
        path.push('/');
    }
    path.push_str(name);
    path
}

#[cfg(unix)]
fn mtime_ns(meta: &Metadata) -> i64 {
    use std::os::unix::fs::MetadataExt;
    meta.mtime()
        .saturating_mul(1_000_000_000)
        .saturating_add(meta.mtime_nsec())
}

#[cfg(unix)]
fn changed_ns(meta: &Metadata) -> i64 {
    use std::os::unix::fs::MetadataExt;
    let changed = meta.ctime().saturating_mul(1_000_000_000);
    changed
        .saturating_add(meta.ctime_nsec())
        .max(mtime_ns(meta))
}

#[cfg(not(unix))]
fn changed_ns(meta: &Metadata) -> i64 {
    mtime_ns(meta)
}

#[cfg(not(unix))]
fn mtime_ns(meta: &Metadata) -> i64 {
    use std::time::UNIX_EPOCH;
    let Ok(time) = meta.modified() else { return 0 };
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |n| -n),
    }
}

#[cfg(test)]
mod tests;
