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
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use forge_text::document::DocumentFormat;

use super::autoload::is_skipped;
use super::included::{IgnoreRules, IncludedFiles, is_vendored};
use super::path::{is_inside_root, is_plain_name};
use super::{DERIVED_FOLDER, FileRole, PathRoles, RelPath, role_with_domains};
use crate::system;

/// The files of a walk and its problems, both sorted by path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkspaceScan {
    /// The documents and the files of other roles that a walk looks at.
    pub files: Vec<ScannedFile>,
    /// What was skipped, and why.
    pub problems: Vec<ScanProblem>,
    /// What the walk passed over in included folders.
    pub left_out: LeftOutCounts,
}

/// Files of included folders that the scan leaves out by default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeftOutCounts {
    /// Folders whose name begins with a dot.
    pub hidden_folders: usize,
    /// Folders with other people's code, or with what a tool made.
    pub vendored_folders: usize,
    /// Files and folders that git ignores.
    pub ignored: usize,
    /// Symbolic links to folders.
    pub links: usize,
}

impl LeftOutCounts {
    fn add(&mut self, other: LeftOutCounts) {
        self.hidden_folders += other.hidden_folders;
        self.vendored_folders += other.vendored_folders;
        self.ignored += other.ignored;
        self.links += other.links;
    }
}

/// All files of the workspace of any kind, and the problems, both sorted by
/// path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkspaceTree {
    /// All files.
    pub files: Vec<ScannedFile>,
    /// What was skipped, and why.
    pub problems: Vec<ScanProblem>,
}

/// A file that a walk found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScannedFile {
    /// The path relative to the root.
    pub path: RelPath,
    /// The size in bytes.
    pub size: u64,
    /// Nanoseconds since 1970; before that it is negative.
    pub mtime_ns: i64,
    /// When its content or its time last changed, by the system's own clock if
    /// that is known. Setting a file's time back advances it.
    pub changed_ns: i64,
    /// The role that decides what features do with it.
    pub role: FileRole,
}

impl ScannedFile {
    /// Returns `true` for a Markdown file.
    pub fn is_markdown(&self) -> bool {
        DocumentFormat::of(self.path.as_str()).is_some_and(DocumentFormat::is_markdown)
    }
}

/// A file or folder that was skipped, and why.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ScanProblem {
    /// Relative to the root, with `/`; what is not UTF-8 in it is replaced.
    pub path: String,
    /// Why it was skipped.
    pub message: String,
}

impl std::fmt::Display for ScanProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}`: {}", self.path, self.message)
    }
}

/// The folders of knowledge in every workspace.
const MEMORY_FOLDERS: [&str; 2] = ["knowledge", ".agents/memory"];

/// Files that a scan wants from a folder and from those below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScanExtent {
    /// Markdown, wherever a folder of memory holds it.
    Memory,
    /// Documents that the settings include.
    Included,
    /// Files of every kind, without other people's code and what is rebuilt.
    Everything,
}

/// A folder that waits to be listed.
struct ScanFolder {
    /// Relative to the root.
    path: String,
    extent: ScanExtent,
    /// Ignore rules of git that apply to the folder. They are read where the
    /// settings include something, and only there.
    rules: Option<Arc<IgnoreRules>>,
    /// Whether git ignores it, with all that is below.
    is_ignored: bool,
}

pub(super) fn scan_memory(root: &Path, roles: &PathRoles) -> WorkspaceScan {
    let mut problems = Vec::new();
    let mut memory = outermost_folders(roles.domains());
    memory.retain(|folder| can_enter(root, folder, &mut problems));
    let folder = |path: &String| ScanFolder {
        path: path.clone(),
        extent: ScanExtent::Memory,
        rules: None,
        is_ignored: false,
    };
    let mut folders: Vec<ScanFolder> = memory.iter().map(folder).collect();
    if roles.included().is_some() {
        folders.push(ScanFolder {
            path: String::new(),
            extent: ScanExtent::Included,
            rules: IgnoreRules::above(root),
            is_ignored: false,
        });
    }
    let mut found = walk_folders(root, roles, &memory, folders);
    found.problems.extend(problems);
    found.problems.sort_unstable();
    found
}

pub(super) fn scan_tree(root: &Path, roles: &PathRoles) -> WorkspaceTree {
    let has_rules = roles.included().is_some();
    let whole = ScanFolder {
        path: String::new(),
        extent: ScanExtent::Everything,
        rules: has_rules.then(|| IgnoreRules::above(root)).flatten(),
        is_ignored: false,
    };
    let WorkspaceScan {
        files, problems, ..
    } = walk_folders(root, roles, &[], vec![whole]);
    WorkspaceTree { files, problems }
}

fn walk_folders(
    root: &Path,
    roles: &PathRoles,
    memory: &[String],
    folders: Vec<ScanFolder>,
) -> WorkspaceScan {
    let threads = thread::available_parallelism()
        .map_or(2, NonZero::get)
        .clamp(2, 8);
    let walk = ScanWalk {
        root,
        roles,
        memory,
        queue: Mutex::new(FolderQueue {
            folders,
            busy: threads,
        }),
        more: Condvar::new(),
        idle: AtomicUsize::new(0),
    };
    let mut found = WorkspaceScan::default();
    thread::scope(|scope| {
        let workers: Vec<_> = (1..threads).map(|_| scope.spawn(|| walk.work())).collect();
        found = walk.work();
        for worker in workers {
            match worker.join() {
                Ok(part) => {
                    found.files.extend(part.files);
                    found.problems.extend(part.problems);
                    found.left_out.add(part.left_out);
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
    roles: &'a PathRoles,
    /// Folders of memory, which are walked by themselves.
    memory: &'a [String],
    queue: Mutex<FolderQueue>,
    more: Condvar,
    /// The number of idle threads; read without the lock.
    idle: AtomicUsize,
}

struct FolderQueue {
    /// Folders that another thread may list.
    folders: Vec<ScanFolder>,
    /// Threads that are listing, and may find more. Each of them calls
    /// [`ScanWalk::work`].
    busy: usize,
}

impl ScanWalk<'_> {
    /// Lists folders until none is left and no thread can find more. A
    /// thread keeps what it finds to itself while the others are busy as well,
    /// so that the lock is rarely needed.
    fn work(&self) -> WorkspaceScan {
        let mut found = WorkspaceScan::default();
        let mut absolute = PathBuf::new();
        let mut own = Vec::new();
        loop {
            let Some(folder) = own.pop().or_else(|| self.take()) else {
                return found;
            };
            absolute.clear();
            absolute.push(self.root);
            absolute.push(&folder.path);
            if let Err(e) = self.list(&folder, &absolute, &mut own, &mut found) {
                found.problems.push(unreadable_problem(folder.path, &e));
            }
            // A lock for each folder would cost more than listing it. `Relaxed`
            // is enough, since an old count only delays the sharing.
            if own.len() > 1 && self.idle.load(Ordering::Relaxed) > 0 {
                self.share(&mut own);
            }
        }
    }

    /// Takes a folder from another thread, or `None` when the walk is over.
    fn take(&self) -> Option<ScanFolder> {
        let mut queue = self.lock();
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

    /// Gives away the older half, which is nearer to the root and has more below it.
    fn share(&self, own: &mut Vec<ScanFolder>) {
        let half = own.len() / 2;
        self.lock().folders.extend(own.drain(..half));
        self.more.notify_all();
    }

    fn list(
        &self,
        folder: &ScanFolder,
        absolute: &Path,
        own: &mut Vec<ScanFolder>,
        found: &mut WorkspaceScan,
    ) -> io::Result<()> {
        if folder.extent == ScanExtent::Included {
            return self.list_included(folder, absolute, own, found);
        }
        let rules = self.rules_in(folder);
        let is_everything = folder.extent == ScanExtent::Everything;
        for entry in fs::read_dir(absolute)? {
            let entry = entry?;
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| is_plain_name(name)) else {
                self.report_name(&folder.path, &entry, found);
                continue;
            };
            let is_markdown = is_markdown(name);
            let is_wanted = is_markdown || is_everything;
            let kind = match entry.file_type() {
                Ok(kind) => kind,
                Err(e) => {
                    found
                        .problems
                        .push(unreadable_problem(join_path(&folder.path, name), &e));
                    continue;
                }
            };
            if kind.is_dir() {
                if name.starts_with('.') || is_everything && is_skipped(name, name) {
                    continue;
                }
                let path = join_path(&folder.path, name);
                if is_markdown {
                    found.problems.push(scan_problem(
                        &path,
                        "is a folder, although it is named like a document",
                    ));
                }
                let is_ignored = folder.is_ignored || self.is_ignored(&path, rules.as_ref(), true);
                own.push(ScanFolder {
                    is_ignored,
                    ..folder.inner(path, &rules)
                });
            } else if kind.is_symlink() {
                self.follow(join_path(&folder.path, name), is_wanted, is_markdown, found);
            // macOS leaves files that begin with `._` next to the real ones.
            } else if is_wanted && !name.starts_with("._") {
                let path = join_path(&folder.path, name);
                if !kind.is_file() {
                    if is_markdown {
                        found
                            .problems
                            .push(scan_problem(&path, "is not a regular file"));
                    }
                    continue;
                }
                match entry.metadata() {
                    Ok(meta) => {
                        let mut file = self.found(path, &meta);
                        if file.role == FileRole::Knowledge
                            && (folder.is_ignored
                                || self.is_ignored(file.path.as_str(), rules.as_ref(), false))
                        {
                            file.role = role_with_domains(&file.path, self.roles.domains());
                        }
                        found.files.push(file);
                    }
                    Err(e) => found.problems.push(unreadable_problem(path, &e)),
                }
            }
        }
        Ok(())
    }

    /// Lists a folder outside of memory for what the settings include. Problems
    /// with other files there are not reported.
    fn list_included(
        &self,
        folder: &ScanFolder,
        absolute: &Path,
        own: &mut Vec<ScanFolder>,
        found: &mut WorkspaceScan,
    ) -> io::Result<()> {
        let Some(included) = self.roles.included() else {
            return Ok(());
        };
        let rules = self.rules_in(folder);
        for entry in fs::read_dir(absolute)? {
            let entry = entry?;
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| is_plain_name(name)) else {
                continue;
            };
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if kind.is_dir() {
                let path = join_path(&folder.path, name);
                if self.may_enter_included(included, &path, name, rules.as_ref(), found) {
                    own.push(folder.inner(path, &rules));
                }
                continue;
            }
            if name.starts_with("._") || DocumentFormat::of(name).is_none() {
                let is_folder = || entry.path().is_dir();
                if kind.is_symlink()
                    && included.may_hold(&join_path(&folder.path, name))
                    && is_folder()
                {
                    found.left_out.links += 1;
                }
                continue;
            }
            let path = join_path(&folder.path, name);
            if !included.matches(&path) {
                continue;
            }
            if self.is_ignored(&path, rules.as_ref(), false) {
                found.left_out.ignored += 1;
                continue;
            }
            let file = if kind.is_symlink() {
                self.followed_included(path)
            } else {
                let meta = entry.metadata().ok().filter(Metadata::is_file);
                meta.map(|meta| self.found(path, &meta))
            };
            let is_ours =
                |it: &ScannedFile| matches!(it.role, FileRole::Knowledge | FileRole::Archive);
            found.files.extend(file.filter(is_ours));
        }
        Ok(())
    }

    fn may_enter_included(
        &self,
        included: &IncludedFiles,
        path: &str,
        name: &str,
        rules: Option<&Arc<IgnoreRules>>,
        found: &mut WorkspaceScan,
    ) -> bool {
        let is_memory = self.memory.iter().any(|folder| folder == path);
        let is_others = is_skipped(path, name) && !is_vendored(name) || name == DERIVED_FOLDER;
        if is_memory || is_others || !included.may_hold(path) {
            return false;
        }
        if name.starts_with('.') && !included.names(name) {
            found.left_out.hidden_folders += 1;
            return false;
        }
        if is_vendored(name) && !included.names(name) {
            found.left_out.vendored_folders += 1;
            return false;
        }
        let is_ignored = self.is_ignored(path, rules, true);
        found.left_out.ignored += usize::from(is_ignored);
        !is_ignored
    }

    /// A link is a document of its own where what it leads to is none, and is
    /// not loaded by agents either.
    fn followed_included(&self, path: String) -> Option<ScannedFile> {
        let real = system::canonicalize(self.root.join(&path)).ok()?;
        let meta = fs::metadata(&real).ok().filter(Metadata::is_file)?;
        let inside = real.strip_prefix(self.root).ok()?.to_str()?;
        let target = RelPath::new(inside).ok()?;
        let is_free =
            is_inside_root(self.root, &real) && self.roles.of(&target) == FileRole::Untracked;
        is_free.then(|| self.found(path, &meta))
    }

    /// Returns git's ignore rules for a folder, which are needed only if the
    /// settings include something.
    fn rules_in(&self, folder: &ScanFolder) -> Option<Arc<IgnoreRules>> {
        let is_wanted = self.roles.included().is_some() && folder.extent != ScanExtent::Memory;
        is_wanted
            .then(|| IgnoreRules::inside(self.root, &folder.path, folder.rules.clone()))
            .flatten()
    }

    fn is_ignored(&self, path: &str, rules: Option<&Arc<IgnoreRules>>, is_folder: bool) -> bool {
        rules.is_some_and(|rules| rules.ignores(self.root, path, is_folder))
    }

    /// A symlinked file counts when what it leads to is inside; a symlinked
    /// folder never does, so that no walk can run in circles.
    fn follow(&self, path: String, is_wanted: bool, is_markdown: bool, found: &mut WorkspaceScan) {
        let absolute = self.root.join(&path);
        let target =
            system::canonicalize(&absolute).and_then(|real| Ok((fs::metadata(&real)?, real)));
        match target {
            Ok((meta, _)) if meta.is_dir() => {
                found.problems.push(scan_problem(
                    &path,
                    "is a symlink to a folder, which is not followed",
                ));
            }
            _ if !is_wanted => {}
            Ok((meta, real)) if meta.is_file() && is_inside_root(self.root, &real) => {
                found.files.push(self.found(path, &meta));
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

    fn found(&self, path: String, meta: &Metadata) -> ScannedFile {
        let path = RelPath::from_checked(path);
        let role = self.roles.of(&path);
        ScannedFile {
            path,
            size: meta.len(),
            mtime_ns: system::modified_ns(meta),
            changed_ns: system::changed_ns(meta),
            role,
        }
    }

    /// Reports a name that cannot be written down, but only if it may be a
    /// document's.
    fn report_name(&self, folder: &str, entry: &DirEntry, found: &mut WorkspaceScan) {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if name.starts_with('.') || !(is_dir || is_markdown(&name)) {
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

    fn lock(&self) -> MutexGuard<'_, FolderQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ScanFolder {
    /// A folder below this one, where the same is wanted.
    fn inner(&self, path: String, rules: &Option<Arc<IgnoreRules>>) -> ScanFolder {
        ScanFolder {
            path,
            extent: self.extent,
            rules: rules.clone(),
            is_ignored: self.is_ignored,
        }
    }
}

fn is_markdown(name: &str) -> bool {
    DocumentFormat::of(name).is_some_and(DocumentFormat::is_markdown)
}

/// Whether the folder is there and reached without a symlink.
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

#[cfg(test)]
mod tests;
