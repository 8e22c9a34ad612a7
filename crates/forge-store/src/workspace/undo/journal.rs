//! Writes the journal's entries before files change, and rolls them back when a
//! change did not finish.
//!
//! An entry is in a folder of the repository, which others may write to. It is
//! carried out only with a mark that this user's program made here.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::super::disk::{DiskOperation, TempKind, WorkspaceDisk};
use super::super::held::HeldFile;
use super::super::write::{ChangePlan, PlannedWrite};
use super::super::{DERIVED_FOLDER, RelPath, Workspace, WorkspaceError};
use super::{FileEffect, JournalEntry, JournalFile};
use crate::regular::{self, FileReadError, LinkPolicy};
use crate::system;
use crate::trust::{self, FileIdentity, TrustClaim};

/// The entries on disk.
pub(in crate::workspace) struct Journal<'a> {
    workspace: &'a Workspace,
    disk: &'a WorkspaceDisk,
    dir: PathBuf,
}

/// An entry whose change is in progress.
#[derive(Debug)]
pub(in crate::workspace) struct PendingEntry {
    pub(in crate::workspace) id: String,
    folder: PathBuf,
    /// Whether it can be proved later who wrote it. Without that, keeping the
    /// entry is of no use.
    is_marked: bool,
}

impl<'a> Journal<'a> {
    pub(in crate::workspace) fn of(workspace: &'a Workspace) -> Journal<'a> {
        Journal {
            workspace,
            disk: &workspace.disk,
            dir: workspace.derived_folder().join("undo"),
        }
    }

    /// Writes an entry with the bytes before, synced before any file is
    /// changed.
    pub(in crate::workspace) fn begin(
        &self,
        plan: &ChangePlan,
        folders: &[RelPath],
    ) -> Result<PendingEntry, WorkspaceError> {
        self.workspace.create_dir(&self.dir)?;
        let newest = self.newest_number()?;
        let id = format!("{:04}", newest + 1);
        let folder = self.dir.join(format!("{id}{PENDING_SUFFIX}"));
        let record = EntryRecord {
            format: 1,
            id: id.clone(),
            what: plan.what.clone(),
            time: plan.time,
            undoes: plan.undoes.clone(),
            automatic: plan.is_automatic,
            folders: folders.iter().map(RelPath::to_string).collect(),
            files: plan
                .files
                .iter()
                .map(|file| self.describe_file(file))
                .collect(),
        };
        let written = self.write_entry(&folder, &record, plan);
        if written.is_err() {
            // No file was touched yet, and without `entry.json` the next writer
            // would throw this away as well.
            let _ = self.disk.remove_tree(&folder);
        }
        written.map(|is_marked| PendingEntry {
            id,
            folder,
            is_marked,
        })
    }

    /// Marks the change as done: from here on a crash does not roll it back.
    pub(in crate::workspace) fn finish(
        &self,
        pending: &PendingEntry,
    ) -> Result<(), WorkspaceError> {
        if !pending.is_marked {
            return self.discard_entry(&pending.folder);
        }
        let done = self.dir.join(&pending.id);
        let rename = self.disk.rename(&pending.folder, &done);
        rename.map_err(|e| WorkspaceError::from_io("write", &done, e))?;
        self.sync_folder(&self.dir)
    }

    /// Rolls back the first `applied` files of a change that failed.
    pub(in crate::workspace) fn roll_back_after_error(
        &self,
        pending: &PendingEntry,
        applied: usize,
    ) -> Result<(), WorkspaceError> {
        let done = self.dir.join(&pending.id);
        if fs::symlink_metadata(&done).is_ok() {
            let rename = self.disk.rename(&done, &pending.folder);
            rename.map_err(|e| WorkspaceError::from_io("write", &done, e))?;
        }
        // No mark is needed: this process wrote the entry and still holds the
        // lock.
        let path = pending.folder.join(ENTRY_FILE);
        let read = self.disk.read(&path);
        let json = read.map_err(|e| WorkspaceError::from_io("read", &path, e))?;
        let record = self.parse_record(&pending.folder, &json.unwrap_or_default())?;
        self.roll_back_entry(&pending.folder, &record, applied)
    }

    /// Returns the highest number of our entries, 0 without any. Foreign ones
    /// above it are moved aside, because they would decide the next number.
    fn newest_number(&self) -> Result<u64, WorkspaceError> {
        let mut folders = self.entry_folders()?;
        folders.sort_by_key(|folder| folder.number);
        while let Some(newest) = folders.pop() {
            if self.read_marked(&newest.path)?.is_some() {
                return Ok(newest.number);
            }
            self.set_entry_aside(&newest.path)?;
        }
        Ok(0)
    }

    /// Rolls back what a crash left half done. Entries that were not made here
    /// are moved aside: they would carry out the wish of their author.
    pub(in crate::workspace) fn recover(&self) -> Result<(), WorkspaceError> {
        let mut folders = self.entry_folders()?;
        // Newest first, so that the oldest bytes are restored last.
        folders.sort_by_key(|folder| std::cmp::Reverse(folder.number));
        for folder in folders {
            match folder.state {
                PENDING_SUFFIX | DROPPED_SUFFIX if !folder.is_dir => {
                    self.set_entry_aside(&folder.path)?
                }
                PENDING_SUFFIX if fs::symlink_metadata(folder.path.join(ENTRY_FILE)).is_ok() => {
                    match self.read_marked(&folder.path)? {
                        Some(json) => {
                            let record = self.parse_record(&folder.path, &json)?;
                            self.roll_back_entry(&folder.path, &record, usize::MAX)?;
                        }
                        None => self.set_entry_aside(&folder.path)?,
                    }
                }
                // Without `entry.json` it never came to touching a file.
                PENDING_SUFFIX | DROPPED_SUFFIX => self.remove_tree(&folder.path)?,
                _ => {}
            }
        }
        Ok(())
    }

    pub(in crate::workspace) fn prune(&self) -> Result<(), WorkspaceError> {
        let mut folders = self.entry_folders()?;
        folders.retain(|folder| matches!(folder.state, "" | INTERRUPTED_SUFFIX));
        folders.sort_by_key(|folder| std::cmp::Reverse(folder.number));
        for old in folders.iter().skip(MAX_ENTRIES) {
            self.discard_entry(&old.path)?;
        }
        Ok(())
    }

    fn roll_back_entry(
        &self,
        folder: &Path,
        record: &EntryRecord,
        applied: usize,
    ) -> Result<(), WorkspaceError> {
        for file in &record.files {
            let path = RelPath::new(&file.path)?;
            if let Ok(held) = HeldFile::open(self.workspace.root(), &path) {
                let sweep = self.disk.sweep_temp_files(held.folder(), TempKind::Change);
                let target = self.workspace.absolute_path(&path);
                sweep.map_err(|e| WorkspaceError::from_io("remove", &target, e))?;
            }
        }
        let mut edited = false;
        for (index, file) in record.files.iter().enumerate().take(applied) {
            let (path, current, state) = self.file_state_of(file)?;
            match state {
                FileState::Before => {}
                FileState::After => {
                    let after = self.bytes_before(folder, index, file)?;
                    for missing in self.workspace.missing_folders(&path) {
                        self.workspace.make_folder(&missing)?;
                    }
                    self.workspace.place_file(&PlannedWrite {
                        path,
                        before: current,
                        after,
                        mode: file.mode,
                    })?;
                }
                // An edit after the crash is worth more than our rollback.
                FileState::Other => edited = true,
            }
        }
        // Inner folders first, since only empty ones are removed.
        for created in parse_paths(&record.folders)?.iter().rev() {
            if self.workspace.refuse_symlinks(created).is_ok() {
                self.workspace.drop_folder(created)?;
            }
        }
        if edited {
            let kept = self.dir.join(format!("{}{INTERRUPTED_SUFFIX}", record.id));
            let rename = self.disk.rename(folder, &kept);
            return rename.map_err(|e| WorkspaceError::from_io("write", &kept, e));
        }
        self.discard_entry(folder)
    }

    /// Removes an entry such that a crash cannot leave a part of it behind that
    /// would be taken for an entry.
    fn discard_entry(&self, folder: &Path) -> Result<(), WorkspaceError> {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let number = name.split('.').next().unwrap_or_default();
        let dropped = self.dir.join(format!("{number}{DROPPED_SUFFIX}"));
        let rename = self.disk.rename(folder, &dropped);
        rename.map_err(|e| WorkspaceError::from_io("remove", folder, e))?;
        self.sync_folder(&self.dir)?;
        self.remove_tree(&dropped)
    }

    /// Writes the entry and returns whether it has a mark.
    fn write_entry(
        &self,
        folder: &Path,
        record: &EntryRecord,
        plan: &ChangePlan,
    ) -> Result<bool, WorkspaceError> {
        self.workspace.create_dir(folder)?;
        for (index, file) in plan.files.iter().enumerate() {
            if let Some(bytes) = &file.before {
                let path = folder.join(before_name(index));
                let write = self.disk.write_new_file(&path, bytes);
                write.map_err(|e| WorkspaceError::from_io("write", &path, e))?;
            }
        }
        let entry = folder.join(ENTRY_FILE);
        let mut json = serde_json::to_vec_pretty(record).map_err(|e| WorkspaceError::Journal {
            path: entry.clone(),
            message: e.to_string(),
        })?;
        json.push(b'\n');
        let new = folder.join("entry.json.new");
        let io = |e| WorkspaceError::from_io("write", &entry, e);
        // Without a key the change is made all the same; it can then neither be
        // rolled back nor undone, because nothing proves who wrote the entry.
        let mark = self.entry_claim(folder, &json)?.make_mark().ok();
        if let Some(mark) = &mark {
            let write = self
                .disk
                .write_new_file(&folder.join(MARK_FILE), mark.as_bytes());
            write.map_err(io)?;
        }
        self.disk.write_new_file(&new, &json).map_err(io)?;
        // The bytes before must have their names before the entry has its own:
        // an entry that is there is complete.
        self.sync_folder(folder)?;
        self.disk.rename(&new, &entry).map_err(io)?;
        self.sync_folder(folder)?;
        Ok(mark.is_some())
    }

    fn describe_file(&self, file: &PlannedWrite) -> FileRecord {
        let target = self.workspace.absolute_path(&file.path);
        FileRecord {
            path: file.path.to_string(),
            before: file.before.as_deref().map(hash_bytes),
            after: file.after.as_deref().map(hash_bytes),
            mode: fs::symlink_metadata(target)
                .ok()
                .and_then(|meta| system::mode(&meta)),
        }
    }

    /// Compares a file with the change: returns whether it is as before, as
    /// after, or neither, with its bytes.
    pub(super) fn file_state_of(
        &self,
        file: &FileRecord,
    ) -> Result<(RelPath, Option<Vec<u8>>, FileState), WorkspaceError> {
        let path = RelPath::new(&file.path)?;
        let target = self.workspace.absolute_path(&path);
        // A symlink or a folder that has taken its place counts as an edit.
        let replaced = match self.workspace.refuse_symlinks(&path) {
            Err(WorkspaceError::Symlink { .. } | WorkspaceError::NotADirectory { .. }) => true,
            other => {
                other?;
                fs::symlink_metadata(&target).is_ok_and(|meta| !meta.is_file())
            }
        };
        if replaced {
            return Ok((path, None, FileState::Other));
        }
        let read = self.disk.read(&target);
        let current = read.map_err(|e| WorkspaceError::from_io("read", &target, e))?;
        let now = current.as_deref().map(hash_bytes);
        let state = if now == file.before {
            FileState::Before
        } else if now == file.after {
            FileState::After
        } else {
            FileState::Other
        };
        Ok((path, current, state))
    }

    /// Returns `true` if a file differs from what a change left only by these
    /// automatic changes, oldest first: each began where the one before ended.
    pub(super) fn is_automatic_since(
        &self,
        file: &FileRecord,
        current: Option<&[u8]>,
        later: &[&JournalEntry],
    ) -> Result<bool, WorkspaceError> {
        let mut left = file.after.clone();
        for entry in later {
            let record = self.read_record(&self.entry_folder(entry))?;
            let same = |it: &&FileRecord| it.path == file.path && it.before == left;
            if let Some(next) = record.files.iter().find(same) {
                left.clone_from(&next.after);
            }
        }
        Ok(current.map(hash_bytes) == left)
    }

    pub(super) fn bytes_before(
        &self,
        folder: &Path,
        index: usize,
        file: &FileRecord,
    ) -> Result<Option<Vec<u8>>, WorkspaceError> {
        let Some(expected) = &file.before else {
            return Ok(None);
        };
        let path = folder.join(before_name(index));
        let bytes = self
            .disk
            .read(&path)
            .map_err(|e| WorkspaceError::from_io("read", &path, e))?;
        match bytes {
            Some(bytes) if hash_bytes(&bytes) == *expected => Ok(Some(bytes)),
            _ => Err(WorkspaceError::Journal {
                path,
                message: "the bytes before are missing or damaged".to_string(),
            }),
        }
    }

    /// Reads the bytes of `entry.json` if this user's program wrote them on
    /// this machine, into this very folder. Fails only where the system does:
    /// an entry that cannot be read now is not foreign for that.
    fn read_marked(&self, folder: &Path) -> Result<Option<Vec<u8>>, WorkspaceError> {
        let path = folder.join(ENTRY_FILE);
        let io = |e| WorkspaceError::from_io("read", &path, e);
        self.disk
            .announce_step(DiskOperation::Read, &path)
            .map_err(io)?;
        let read = |name: &str, limit: u64| match regular::read_regular(
            &folder.join(name),
            LinkPolicy::Refuse,
            limit,
        ) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(FileReadError::Io(e)) if e.kind() != io::ErrorKind::NotFound => Err(e),
            Err(_) => Ok(None),
        };
        let (Some(json), Some(mark)) = (
            read(ENTRY_FILE, MAX_ENTRY_BYTES).map_err(io)?,
            read(MARK_FILE, MAX_MARK_BYTES).map_err(io)?,
        ) else {
            return Ok(None);
        };
        let claim = self.entry_claim(folder, &json)?;
        let is_ours = claim.matches_mark(&String::from_utf8_lossy(&mark));
        Ok(is_ours.then_some(json))
    }

    /// Returns the claim of an entry's mark. The folder's identity is part of
    /// it, so that a copy of an old entry is not carried out again.
    pub(super) fn entry_claim<'c>(
        &'c self,
        folder: &Path,
        json: &'c [u8],
    ) -> Result<TrustClaim<'c>, WorkspaceError> {
        let meta =
            fs::symlink_metadata(folder).map_err(|e| WorkspaceError::from_io("read", folder, e))?;
        Ok(TrustClaim {
            root: self.workspace.root(),
            purpose: "undo",
            identity: FileIdentity::of(folder, &meta),
            content: json,
        })
    }

    fn set_entry_aside(&self, path: &Path) -> Result<(), WorkspaceError> {
        trust::set_aside_foreign(path).map_err(|e| WorkspaceError::from_io("move", path, e))
    }

    pub(super) fn read_record(&self, folder: &Path) -> Result<EntryRecord, WorkspaceError> {
        match self.read_marked(folder)? {
            Some(json) => self.parse_record(folder, &json),
            None => Err(WorkspaceError::Journal {
                path: folder.to_path_buf(),
                message: "it was not made by you on this machine".to_owned(),
            }),
        }
    }

    fn parse_record(&self, folder: &Path, json: &[u8]) -> Result<EntryRecord, WorkspaceError> {
        let broken = |message: String| WorkspaceError::Journal {
            path: folder.to_path_buf(),
            message,
        };
        let record: EntryRecord =
            serde_json::from_slice(json).map_err(|e| broken(e.to_string()))?;
        // The mark proves who wrote it; its content is checked as well.
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        if record.format != 1 {
            return Err(broken(format!("its format {} is unknown", record.format)));
        }
        if name.split('.').next() != Some(&record.id) {
            return Err(broken(format!("its id is `{}`", record.id)));
        }
        let named = record
            .files
            .iter()
            .map(|file| &file.path)
            .chain(&record.folders);
        for path in named {
            let path = RelPath::new(path)?;
            if path.starts_with(DERIVED_FOLDER) {
                return Err(WorkspaceError::Reserved {
                    path: self.workspace.absolute_path(&path),
                });
            }
        }
        Ok(record)
    }

    pub(super) fn entry_folder(&self, entry: &JournalEntry) -> PathBuf {
        let state = if entry.interrupted {
            INTERRUPTED_SUFFIX
        } else {
            ""
        };
        self.dir.join(format!("{}{state}", entry.id))
    }

    /// Returns every entry's folder, in no order.
    pub(super) fn entry_folders(&self) -> Result<Vec<EntryFolder>, WorkspaceError> {
        let io = |e| WorkspaceError::from_io("read", &self.dir, e);
        match fs::symlink_metadata(&self.dir) {
            Ok(meta) if meta.is_symlink() => {
                return Err(WorkspaceError::Symlink {
                    path: self.dir.clone(),
                });
            }
            Ok(meta) if !meta.is_dir() => {
                return Err(WorkspaceError::NotADirectory {
                    path: self.dir.clone(),
                });
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.map_err(io)?,
        };
        let mut folders = Vec::new();
        for entry in fs::read_dir(&self.dir).map_err(io)? {
            let entry = entry.map_err(io)?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            let (number, state) = name.split_at(name.find('.').unwrap_or(name.len()));
            let Some(state) = STATE_SUFFIXES.into_iter().find(|known| *known == state) else {
                continue;
            };
            // Links and files are listed too: they are in the way of an entry
            // of the same name, and none of them has a mark.
            if let Ok(number) = number.parse() {
                folders.push(EntryFolder {
                    number,
                    state,
                    is_dir: entry.file_type().map_err(io)?.is_dir(),
                    path: entry.path(),
                });
            }
        }
        Ok(folders)
    }

    fn sync_folder(&self, dir: &Path) -> Result<(), WorkspaceError> {
        self.disk
            .sync_directory(dir)
            .map_err(|e| WorkspaceError::from_io("sync", dir, e))
    }

    fn remove_tree(&self, path: &Path) -> Result<(), WorkspaceError> {
        self.disk
            .remove_tree(path)
            .map_err(|e| WorkspaceError::from_io("remove", path, e))
    }
}

/// The number of entries that are kept.
const MAX_ENTRIES: usize = 50;

const ENTRY_FILE: &str = "entry.json";
/// The proof of who wrote `entry.json`; see [`crate::trust`].
const MARK_FILE: &str = "entry.mark";
const MAX_MARK_BYTES: u64 = 128;
const MAX_ENTRY_BYTES: u64 = 64 << 20;
pub(super) const PENDING_SUFFIX: &str = ".pending";
pub(super) const INTERRUPTED_SUFFIX: &str = ".interrupted";
pub(super) const DROPPED_SUFFIX: &str = ".dropped";
const STATE_SUFFIXES: [&str; 4] = ["", PENDING_SUFFIX, INTERRUPTED_SUFFIX, DROPPED_SUFFIX];

pub(super) struct EntryFolder {
    pub(super) number: u64,
    pub(super) state: &'static str,
    pub(super) is_dir: bool,
    pub(super) path: PathBuf,
}

pub(super) enum FileState {
    Before,
    After,
    Other,
}

/// `entry.json`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct EntryRecord {
    pub(super) format: u32,
    pub(super) id: String,
    pub(super) what: String,
    pub(super) time: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) undoes: Option<String>,
    /// Made by the program on its own, not at a person's request.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) automatic: bool,
    /// The folders that the change made, outermost first.
    pub(super) folders: Vec<String>,
    pub(super) files: Vec<FileRecord>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FileRecord {
    pub(super) path: String,
    /// BLAKE3 of the bytes; none means that there was no file.
    pub(super) before: Option<String>,
    pub(super) after: Option<String>,
    /// Unix permissions before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) mode: Option<u32>,
}

impl EntryRecord {
    pub(super) fn into_entry(
        self,
        undone: bool,
        interrupted: bool,
    ) -> Result<JournalEntry, WorkspaceError> {
        let files = self.files.into_iter().map(|file| {
            let effect = match (&file.before, &file.after) {
                (None, _) => FileEffect::Created,
                (_, None) => FileEffect::Removed,
                _ => FileEffect::Changed,
            };
            Ok(JournalFile {
                path: RelPath::new(&file.path)?,
                effect,
            })
        });
        Ok(JournalEntry {
            files: files.collect::<Result<_, WorkspaceError>>()?,
            id: self.id,
            what: self.what,
            time: self.time,
            undoes: self.undoes,
            automatic: self.automatic,
            undone,
            interrupted,
        })
    }
}

pub(super) fn parse_paths(texts: &[String]) -> Result<Vec<RelPath>, WorkspaceError> {
    let paths = texts.iter().map(|text| RelPath::new(text));
    Ok(paths.collect::<Result<_, _>>()?)
}

fn before_name(index: usize) -> String {
    format!("{index}.before")
}

pub(super) fn hash_bytes(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}
