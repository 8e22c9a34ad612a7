//! The one writer: several files change together, or not at all.
//!
//! Under the lock, the bytes before are journaled and synced; then every file
//! is put into place by a rename; then the journal entry is marked as done. An
//! entry that a crash left pending is rolled back by the next writer, so no
//! reader of finished work sees half of a change. Nothing is written through a
//! symlink, into `.git`, or without the lock.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::disk::{DiskOperation, FilePermissions, PlaceError, TempKind, is_temp_name};
use super::held::HeldFile;
use super::undo::Journal;
use super::{DERIVED_FOLDER, ProcessLock, RelPath, Workspace, WorkspaceError, decode_text};
use crate::regular::{self, LinkPolicy};
use crate::system;
use crate::trust::{self, FileIdentity, TrustClaim};

/// A change in preparation, inside of [`Workspace::change`]. Reading returns
/// what was staged.
#[derive(Debug)]
pub struct WorkspaceChange<'a> {
    workspace: &'a Workspace,
    staged: BTreeMap<RelPath, StagedFile>,
    folders_to_drop: Vec<RelPath>,
    is_automatic: bool,
}

/// The result of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeReceipt {
    /// The id for [`Workspace::undo`]; none when nothing had to change.
    pub id: Option<String>,
    /// The files that were written or removed.
    pub files: Vec<RelPath>,
    /// The same files with their bytes before and after, as the writer saw them
    /// under its lock.
    pub changes: Vec<FileChange>,
}

impl ChangeReceipt {
    /// Returns what became of one file, if it changed.
    pub fn change_of_file(&self, path: &RelPath) -> Option<&FileChange> {
        self.changes.iter().find(|it| it.path == *path)
    }
}

/// A file before and after a change; none means that there was, or is, no file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// The file.
    pub path: RelPath,
    /// Its bytes before.
    pub before: Option<Vec<u8>>,
    /// Its bytes after.
    pub after: Option<Vec<u8>>,
}

impl FileChange {
    /// Returns the text before; what is not UTF-8 is replaced.
    pub fn before_text(&self) -> Cow<'_, str> {
        decode_lossy(&self.before)
    }

    /// Returns the text after; what is not UTF-8 is replaced.
    pub fn after_text(&self) -> Cow<'_, str> {
        decode_lossy(&self.after)
    }
}

fn decode_lossy(bytes: &Option<Vec<u8>>) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes.as_deref().unwrap_or_default())
}

impl WorkspaceChange<'_> {
    /// Reads a file as this change would leave it; `None` if there is none.
    pub fn read(&mut self, path: &RelPath) -> Result<Option<Vec<u8>>, WorkspaceError> {
        match self.staged.get(path) {
            Some(StagedFile {
                after: StagedState::Write(bytes),
                ..
            }) => Ok(Some(bytes.clone())),
            Some(StagedFile {
                after: StagedState::Remove,
                ..
            }) => Ok(None),
            Some(StagedFile {
                before: Some(before),
                ..
            }) => Ok(before.clone()),
            _ => {
                let before = self.workspace.read_if_present(path)?;
                // What was seen is what the result was made from, so it is what
                // must still be there when the result is written.
                let staged = self.staged.entry(path.clone()).or_default();
                staged.before = Some(before.clone());
                Ok(before)
            }
        }
    }

    /// Reads a file as UTF-8 text, as this change would leave it.
    pub fn read_text(&mut self, path: &RelPath) -> Result<Option<String>, WorkspaceError> {
        let absolute = self.workspace.absolute_path(path);
        let bytes = self.read(path)?;
        bytes.map(|bytes| decode_text(&absolute, bytes)).transpose()
    }

    /// Stages the file's new content, whether or not it exists.
    pub fn write(&mut self, path: &RelPath, bytes: impl Into<Vec<u8>>) {
        self.staged.entry(path.clone()).or_default().after = StagedState::Write(bytes.into());
    }

    /// Stages a file that must not exist yet.
    pub fn create(
        &mut self,
        path: &RelPath,
        bytes: impl Into<Vec<u8>>,
    ) -> Result<(), WorkspaceError> {
        let absolute = self.workspace.absolute_path(path);
        // A dangling symlink and a folder are in the way as much as a file is.
        let in_the_way = match self.staged.get(path).map(|staged| &staged.after) {
            Some(StagedState::Write(_)) => true,
            Some(StagedState::Remove) => false,
            Some(StagedState::Keep) | None => fs::symlink_metadata(&absolute).is_ok(),
        };
        if in_the_way {
            return Err(WorkspaceError::Exists { path: absolute });
        }
        let staged = self.staged.entry(path.clone()).or_default();
        if matches!(staged.after, StagedState::Keep) {
            staged.before = Some(None);
        }
        staged.after = StagedState::Write(bytes.into());
        Ok(())
    }

    /// Stages the removal of a file; one that is not there is fine.
    pub fn remove(&mut self, path: &RelPath) {
        self.staged.entry(path.clone()).or_default().after = StagedState::Remove;
    }

    /// Stages the removal of a folder, if it is empty in the end. Inner folders
    /// come after the outer ones.
    pub fn drop_folder_if_empty(&mut self, path: &RelPath) {
        self.folders_to_drop.push(path.clone());
    }

    /// Marks a change that the program makes on its own, such as a list that is
    /// derived from other files: an undo without an id passes it over.
    pub fn mark_automatic(&mut self) {
        self.is_automatic = true;
    }
}

impl Workspace {
    /// Changes files: `f` stages what it wants, and then all of it happens or
    /// none. `what` is a short sentence for the journal.
    pub fn change(
        &self,
        what: &str,
        now: jiff::Timestamp,
        f: impl FnOnce(&mut WorkspaceChange<'_>) -> Result<(), WorkspaceError>,
    ) -> Result<ChangeReceipt, WorkspaceError> {
        self.change_within(self.lock_wait, what, now, f)
    }

    /// Changes files as [`Workspace::change`], with another wait for the lock.
    pub fn change_within(
        &self,
        wait: Duration,
        what: &str,
        now: jiff::Timestamp,
        f: impl FnOnce(&mut WorkspaceChange<'_>) -> Result<(), WorkspaceError>,
    ) -> Result<ChangeReceipt, WorkspaceError> {
        let ((), receipt) = self.run_transaction(wait, what, now, f)?;
        Ok(receipt)
    }

    /// Changes files as [`Workspace::change`], for work that returns a value
    /// and fails in ways of its own. An error leaves every file as it was.
    pub fn change_with<T, E: From<WorkspaceError>>(
        &self,
        what: &str,
        now: jiff::Timestamp,
        f: impl FnOnce(&mut WorkspaceChange<'_>) -> Result<T, E>,
    ) -> Result<(T, ChangeReceipt), E> {
        self.run_transaction(self.lock_wait, what, now, f)
    }

    fn run_transaction<T, E: From<WorkspaceError>>(
        &self,
        wait: Duration,
        what: &str,
        now: jiff::Timestamp,
        f: impl FnOnce(&mut WorkspaceChange<'_>) -> Result<T, E>,
    ) -> Result<(T, ChangeReceipt), E> {
        // Held while `f` reads and stages: what it stages is made from the
        // files that are replaced.
        let _lock = self.lock_for_writing(wait)?;
        let mut change = WorkspaceChange {
            workspace: self,
            staged: BTreeMap::new(),
            folders_to_drop: Vec::new(),
            is_automatic: false,
        };
        let value = f(&mut change)?;
        let is_automatic = change.is_automatic;
        let folders_to_drop = std::mem::take(&mut change.folders_to_drop);
        let files = self.staged_differences(change.staged)?;
        let receipt = self.commit_plan(ChangePlan {
            what: what.to_string(),
            time: now,
            undoes: None,
            is_automatic,
            files,
            folders_to_drop,
        })?;
        Ok((value, receipt))
    }

    /// Writes a file that can be rebuilt, below `.memory-forge/`: all of it or
    /// none, without sync and journal. `name` may have folders in it. A reader
    /// must not trust it: see [`Workspace::write_marked`].
    pub fn write_derived(&self, name: &str, bytes: &[u8]) -> Result<(), WorkspaceError> {
        let path = RelPath::new(DERIVED_FOLDER)?.join(name)?;
        // If a lock file were replaced, two processes could hold the lock.
        if name.ends_with(".lock") || path.starts_with(".memory-forge/undo") {
            return Err(WorkspaceError::Reserved {
                path: self.absolute_path(&path),
            });
        }
        self.prepare_derived()?;
        self.clear_way_to_derived(&path)?;
        self.refuse_unsafe(&path)?;
        let target = self.absolute_path(&path);
        let _lock = self.lock_derived()?;
        for folder in self.missing_folders(&path) {
            self.make_folder(&folder)?;
        }
        let held = HeldFile::open(&self.root, &path)?;
        let io = |e| WorkspaceError::from_io("write", &target, e);
        self.disk
            .sweep_temp_files(held.folder(), TempKind::Change)
            .map_err(io)?;
        self.disk
            .replace_unsynced(held.path(), bytes, TempKind::Change)
            .map_err(io)
    }

    /// Writes as [`Workspace::write_derived`], for a file that is trusted
    /// later: a mark next to it proves that this user's program wrote it here.
    pub fn write_marked(&self, name: &str, bytes: &[u8]) -> Result<(), WorkspaceError> {
        self.write_derived(name, bytes)?;
        // Without a key it is not believed, as if it had not been written.
        if let Some(mark) = self
            .claim_derived(name, bytes)
            .and_then(|it| it.make_mark().ok())
        {
            self.write_derived(&format!("{name}{MARK_SUFFIX}"), mark.as_bytes())?;
        }
        Ok(())
    }

    /// Reads a file that [`Workspace::write_marked`] wrote here, and no other
    /// file in its place.
    pub fn read_marked(&self, name: &str) -> Option<Vec<u8>> {
        let path = RelPath::new(DERIVED_FOLDER).ok()?.join(name).ok()?;
        let marked = RelPath::new(DERIVED_FOLDER)
            .ok()?
            .join(&format!("{name}{MARK_SUFFIX}"))
            .ok()?;
        self.refuse_symlinks(&path).ok()?;
        let bytes = regular::read_regular(
            &self.absolute_path(&path),
            LinkPolicy::Refuse,
            MAX_MARKED_BYTES,
        )
        .ok()?;
        let mark = regular::read_regular(
            &self.absolute_path(&marked),
            LinkPolicy::Refuse,
            MAX_MARK_BYTES,
        )
        .ok()?;
        let mark = String::from_utf8(mark).ok()?;
        let is_ours = self.claim_derived(name, &bytes)?.matches_mark(&mark);
        is_ours.then_some(bytes)
    }

    /// Returns the claim of a derived file's mark: in the folder that is there
    /// now, its name has this content.
    fn claim_derived<'c>(&'c self, name: &'c str, bytes: &'c [u8]) -> Option<TrustClaim<'c>> {
        let folder = self.derived_folder();
        Some(TrustClaim {
            root: &self.root,
            purpose: name,
            identity: FileIdentity::of(&folder, &fs::symlink_metadata(&folder).ok()?),
            content: bytes,
        })
    }

    /// Moves aside what is in the way of a derived file: a link or a folder in
    /// its place, or a link in the place of a folder above it. A repository can
    /// bring all of these.
    fn clear_way_to_derived(&self, path: &RelPath) -> Result<(), WorkspaceError> {
        let mut absolute = self.root.clone();
        let mut names = path.components().peekable();
        while let Some(name) = names.next() {
            absolute.push(name);
            let is_last = names.peek().is_none();
            let Ok(meta) = fs::symlink_metadata(&absolute) else {
                return Ok(());
            };
            let fits = if is_last {
                // A second name of a file elsewhere, which an archive can make:
                // a lock would write into that file.
                meta.is_file() && !system::has_other_names(&absolute, &meta)
            } else {
                meta.is_dir()
            };
            if !fits && name != DERIVED_FOLDER {
                let aside = trust::set_aside_foreign(&absolute);
                return aside.map_err(|e| WorkspaceError::from_io("move", &absolute, e));
            }
        }
        Ok(())
    }

    /// Takes a lock on a file in `.memory-forge/`, which is there.
    pub(super) fn take_derived_lock(
        &self,
        name: &str,
        what: &str,
        wait: Duration,
    ) -> Result<ProcessLock, WorkspaceError> {
        let path = self.derived_folder().join(name);
        self.disk
            .announce_step(DiskOperation::Lock, &path)
            .map_err(|e| WorkspaceError::from_io("lock", &path, e))?;
        self.clear_way_to_derived(&RelPath::new(DERIVED_FOLDER)?.join(name)?)?;
        ProcessLock::take(&path, what, wait)
    }

    /// Writes a file of the machine's below `.mind/`, such as a checkpoint:
    /// whole or not at all, synced, and without a journal, in which copies
    /// would crowd out what a person may want to undo.
    pub fn write_machine(&self, path: &RelPath, bytes: &[u8]) -> Result<(), WorkspaceError> {
        let (target, held, _lock) = self.lock_machine_file(path)?;
        let io = |e| WorkspaceError::from_io("write", &target, e);
        self.disk
            .replace_file(
                held.path(),
                bytes,
                TempKind::Machine,
                FilePermissions::New,
                || Ok::<_, io::Error>(()),
            )
            .map_err(io)?;
        self.disk
            .sync_directory(held.folder())
            .map_err(|e| WorkspaceError::from_io("sync", &target, e))
    }

    /// Writes as [`Workspace::write_machine`] without the sync, for what is
    /// written at every turn: a loss of power may remove it, a crash does not
    /// tear it.
    pub fn write_machine_unsynced(
        &self,
        path: &RelPath,
        bytes: &[u8],
    ) -> Result<(), WorkspaceError> {
        let (target, held, _lock) = self.lock_machine_file(path)?;
        self.disk
            .replace_unsynced(held.path(), bytes, TempKind::Machine)
            .map_err(|e| WorkspaceError::from_io("write", &target, e))
    }

    /// Adds a line to a log of events below `.mind/`, without sync and journal.
    /// A log of more than `most` lines keeps the newest `keep`.
    pub fn append_machine(
        &self,
        path: &RelPath,
        line: &str,
        most: usize,
        keep: usize,
    ) -> Result<(), WorkspaceError> {
        let (target, held, _lock) = self.lock_machine_file(path)?;
        self.append_and_cut(held.path(), &target, line, most, keep)
    }

    /// Appends as [`Workspace::append_machine`], for a line that depends on
    /// what is there already.
    pub fn append_machine_after(
        &self,
        path: &RelPath,
        line: impl FnOnce(&str) -> String,
        most: usize,
        keep: usize,
    ) -> Result<(), WorkspaceError> {
        let (target, held, _lock) = self.lock_machine_file(path)?;
        let io = |e| WorkspaceError::from_io("read", &target, e);
        let there = self.disk.read(held.path()).map_err(io)?.unwrap_or_default();
        let line = line(&String::from_utf8_lossy(&there));
        self.append_and_cut(held.path(), &target, &line, most, keep)
    }

    fn append_and_cut(
        &self,
        held: &Path,
        target: &Path,
        line: &str,
        most: usize,
        keep: usize,
    ) -> Result<(), WorkspaceError> {
        let io = |e| WorkspaceError::from_io("write", target, e);
        let mut bytes = line.as_bytes().to_vec();
        bytes.push(b'\n');
        self.disk.append_line(held, bytes).map_err(io)?;
        // Too short for so many lines: there is no need to count them.
        if fs::metadata(held).is_ok_and(|meta| meta.len() <= most as u64) {
            return Ok(());
        }
        self.cut_machine(held, target, most, keep).map(drop)
    }

    /// Cuts a log of more than `most` lines to the newest `keep`, and returns
    /// how many lines it had and has.
    pub fn rotate_machine(
        &self,
        path: &RelPath,
        most: usize,
        keep: usize,
    ) -> Result<(usize, usize), WorkspaceError> {
        if !self.absolute_path(path).is_file() {
            return Ok((0, 0));
        }
        let (target, held, _lock) = self.lock_machine_file(path)?;
        self.cut_machine(held.path(), &target, most, keep)
    }

    /// Reads a file that [`Workspace::change_marked_machine`] wrote here, and no
    /// other file in its place: a clone or a pull can bring one, whose lines
    /// would reach an agent as facts about this machine.
    pub fn read_marked_machine(&self, path: &RelPath) -> Option<Vec<u8>> {
        self.refuse_symlinks(path).ok()?;
        let target = self.absolute_path(path);
        let bytes =
            regular::read_regular(&target, LinkPolicy::Refuse, MAX_MARKED_MACHINE_BYTES).ok()?;
        let content = self.marked_content(path, &bytes)?.len();
        Some(bytes[bytes.len() - content..].to_vec())
    }

    /// Replaces a file of the machine's by what `change` makes of its content,
    /// whole or not at all and without sync. The first line is a mark under the
    /// user's key. A file without a valid mark is moved aside and counts as
    /// empty. `change` returns `None` to leave the file as it is.
    pub fn change_marked_machine(
        &self,
        path: &RelPath,
        change: impl FnOnce(&[u8]) -> Option<Vec<u8>>,
    ) -> Result<(), WorkspaceError> {
        let (target, held, _lock) = self.lock_machine_file(path)?;
        let io = |e| WorkspaceError::from_io("write", &target, e);
        let there = self.disk.read(held.path()).map_err(io)?.unwrap_or_default();
        let content = self.marked_content(path, &there);
        let Some(after) = change(content.unwrap_or_default()) else {
            return Ok(());
        };
        if content.is_none() && !there.is_empty() {
            trust::set_aside_foreign(held.path()).map_err(io)?;
        }
        let ignore = held.folder().join(".gitignore");
        if path.as_str().starts_with(".mind/evidence/") && ignore.symlink_metadata().is_err() {
            // An older `.mind/.gitignore` does not name this folder.
            self.disk
                .replace_unsynced(&ignore, IGNORE_ALL, TempKind::Machine)
                .map_err(io)?;
        }
        let mark = self
            .claim_machine_content(path, &after)
            .and_then(|it| it.make_mark().ok());
        // Without a key nothing would be believed later.
        let Some(mark) = mark else {
            return Ok(());
        };
        let mut bytes = format!("{MACHINE_MARK_START}{mark}\n").into_bytes();
        bytes.extend_from_slice(&after);
        self.disk
            .replace_unsynced(held.path(), &bytes, TempKind::Machine)
            .map_err(io)
    }

    /// Returns what follows the mark, if the mark is valid.
    fn marked_content<'b>(&self, path: &RelPath, bytes: &'b [u8]) -> Option<&'b [u8]> {
        let end = memchr::memchr(b'\n', bytes)?;
        let line = std::str::from_utf8(&bytes[..end]).ok()?;
        let mark = line.strip_prefix(MACHINE_MARK_START)?;
        let content = &bytes[end + 1..];
        let claim = self.claim_machine_content(path, content)?;
        claim.matches_mark(mark).then_some(content)
    }

    /// Returns the claim of a marked file: in the folder that is there now, its
    /// name has this content.
    fn claim_machine_content<'c>(
        &'c self,
        path: &'c RelPath,
        content: &'c [u8],
    ) -> Option<TrustClaim<'c>> {
        let folder = self.absolute_path(&path.parent()?);
        Some(TrustClaim {
            root: &self.root,
            purpose: path.as_str(),
            identity: FileIdentity::of(&folder, &fs::symlink_metadata(&folder).ok()?),
            content,
        })
    }

    /// Removes a file of the machine's; one that is gone already is fine.
    pub fn remove_machine(&self, path: &RelPath) -> Result<(), WorkspaceError> {
        if fs::symlink_metadata(self.absolute_path(path)).is_err() {
            return Ok(());
        }
        let (target, held, _lock) = self.lock_machine_file(path)?;
        self.disk
            .remove_file(held.path())
            .map_err(|e| WorkspaceError::from_io("remove", &target, e))
    }

    /// Writes a file that names the process at work. It is created exclusively;
    /// if one is there already, `may_replace` gets its bytes and the seconds of
    /// its time, and decides.
    pub fn claim_machine(
        &self,
        path: &RelPath,
        bytes: &[u8],
        may_replace: impl FnOnce(&[u8], i64) -> Result<(), WorkspaceError>,
    ) -> Result<(), WorkspaceError> {
        let (target, held, _lock) = self.lock_machine_file(path)?;
        let io = |e| WorkspaceError::from_io("write", &target, e);
        if let Some(there) = self.disk.read(held.path()).map_err(io)? {
            let modified = fs::metadata(&held).and_then(|meta| meta.modified());
            let since = modified
                .ok()
                .and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
            may_replace(&there, since.map_or(0, |it| it.as_secs() as i64))?;
            self.disk.remove_file(held.path()).map_err(io)?;
        }
        self.disk.write_new_file(held.path(), bytes).map_err(io)
    }

    /// Cuts at line ends, so that no character is cut in two.
    fn cut_machine(
        &self,
        held: &Path,
        target: &Path,
        most: usize,
        keep: usize,
    ) -> Result<(usize, usize), WorkspaceError> {
        let io = |e| WorkspaceError::from_io("write", target, e);
        let bytes = self.disk.read(held).map_err(io)?.unwrap_or_default();
        let lines: Vec<&[u8]> = bytes
            .split_inclusive(|byte| *byte == b'\n')
            .filter(|line| !line.trim_ascii().is_empty())
            .collect();
        if lines.len() <= most {
            return Ok((lines.len(), lines.len()));
        }
        let kept = &lines[lines.len() - keep.min(lines.len())..];
        self.disk
            .replace_unsynced(held, &kept.concat(), TempKind::Machine)
            .map_err(io)?;
        Ok((lines.len(), kept.len()))
    }

    /// Takes the lock for the machine's files, after checking that this is one
    /// of them.
    fn lock_machine_file(
        &self,
        path: &RelPath,
    ) -> Result<(PathBuf, HeldFile, ProcessLock), WorkspaceError> {
        let target = self.absolute_path(path);
        let in_mind = path.as_str().strip_prefix(".mind/").is_some_and(|name| {
            name.starts_with('.')
                || name.starts_with("checkpoints/")
                || name.starts_with("evidence/")
        });
        if !in_mind && !is_bulk_run_file(path) {
            return Err(WorkspaceError::Refused(format!(
                "`{path}` is not one of the files that hooks and bulk runs keep"
            )));
        }
        self.prepare_derived()?;
        self.refuse_unsafe(path)?;
        let folder = path.components().next().unwrap_or_default();
        let lock =
            self.take_derived_lock("machine.lock", &format!("`{folder}`"), self.lock_wait)?;
        if in_mind {
            self.sweep_machine()?;
        }
        for folder in self.missing_folders(path) {
            self.make_folder(&folder)?;
        }
        if in_mind {
            self.keep_machine_files_out_of_git()?;
        }
        let held = HeldFile::open(&self.root, path)?;
        Ok((target, held, lock))
    }

    /// Writes a `.gitignore` for the machine's files, which change at every
    /// turn and belong in no commit. The rule is in their own folder, so that
    /// no other `.gitignore` is touched; one that is there already is left as
    /// it is.
    fn keep_machine_files_out_of_git(&self) -> Result<(), WorkspaceError> {
        const GIT_IGNORE_RULES: &str = "# What hooks keep at every turn; the state itself is in the Markdown files.\n.*\n!.gitignore\ncheckpoints/\n";
        let ignore = RelPath::new(".mind/.gitignore")?;
        let path = self.absolute_path(&ignore);
        if path.symlink_metadata().is_ok() {
            return Ok(());
        }
        let held = HeldFile::open(&self.root, &ignore)?;
        let io = |e| WorkspaceError::from_io("write", &path, e);
        self.disk
            .replace_unsynced(held.path(), GIT_IGNORE_RULES.as_bytes(), TempKind::Machine)
            .map_err(io)
    }

    /// Removes temporary files in both folders: a checkpoint that was cut off
    /// may be the last one for days, while other files are written at every
    /// turn.
    fn sweep_machine(&self) -> Result<(), WorkspaceError> {
        for folder in [".mind", ".mind/checkpoints", ".mind/evidence"] {
            let folder = RelPath::new(folder)?;
            let dir = self.absolute_path(&folder);
            if self.refuse_symlinks(&folder).is_ok() {
                let sweep = self.disk.sweep_temp_files(&dir, TempKind::Machine);
                sweep.map_err(|e| WorkspaceError::from_io("remove", &dir, e))?;
            }
        }
        Ok(())
    }

    /// Ensures everything that a write needs: the folder for derived files, the
    /// lock, and no half-done change.
    pub(super) fn lock_for_writing(&self, wait: Duration) -> Result<ProcessLock, WorkspaceError> {
        self.prepare_derived()?;
        let lock = self.take_derived_lock("write.lock", "The workspace", wait)?;
        Journal::of(self).recover()?;
        Ok(lock)
    }

    /// Removes `.memory-forge/` with everything in it, the journal of changes
    /// included. One that is not there is fine.
    pub fn remove_derived_folder(&self) -> Result<(), WorkspaceError> {
        let dir = self.derived_folder();
        if fs::symlink_metadata(&dir).is_err() {
            return Ok(());
        }
        // No other writer may be at work: its journal is in this folder.
        let lock = self.lock_for_writing(self.lock_wait)?;
        // The lock is an open file in this folder.
        let _lock = system::CAN_REMOVE_OPEN_FILES.then_some(lock);
        self.disk
            .remove_tree(&dir)
            .map_err(|e| WorkspaceError::from_io("remove", &dir, e))
    }

    /// Creates `.memory-forge/` when it is first needed, out of git's sight.
    pub(super) fn prepare_derived(&self) -> Result<(), WorkspaceError> {
        let dir = self.derived_folder();
        match fs::symlink_metadata(&dir) {
            // A repository could bring a link and choose where we write.
            Ok(meta) if meta.is_symlink() => return Err(WorkspaceError::Symlink { path: dir }),
            Ok(meta) if !meta.is_dir() => return Err(WorkspaceError::NotADirectory { path: dir }),
            Ok(_) => {}
            Err(e) if e.kind() == io::ErrorKind::NotFound => self.create_dir(&dir)?,
            Err(e) => return Err(WorkspaceError::from_io("open", &dir, e)),
        }
        let ignore = dir.join(".gitignore");
        // A repository can bring one that ignores nothing.
        if regular::read_regular(&ignore, LinkPolicy::Refuse, IGNORE_ALL.len() as u64)
            .is_ok_and(|it| it == IGNORE_ALL)
        {
            return Ok(());
        }
        let _lock = self.lock_derived()?;
        self.clear_way_to_derived(&RelPath::new(DERIVED_FOLDER)?.join(".gitignore")?)?;
        self.disk
            .sweep_temp_files(&dir, TempKind::Change)
            .map_err(|e| WorkspaceError::from_io("remove", &dir, e))?;
        let write = self.disk.replace_file(
            &ignore,
            IGNORE_ALL,
            TempKind::Change,
            FilePermissions::New,
            || Ok::<_, io::Error>(()),
        );
        write.map_err(|e| WorkspaceError::from_io("write", &ignore, e))
    }

    /// Applies a plan under the lock that the caller holds.
    pub(super) fn commit_plan(&self, plan: ChangePlan) -> Result<ChangeReceipt, WorkspaceError> {
        if plan.files.is_empty() {
            return Ok(ChangeReceipt {
                id: None,
                files: Vec::new(),
                changes: Vec::new(),
            });
        }
        let mut folders = Vec::new();
        for file in &plan.files {
            self.refuse_unsafe(&file.path)?;
            if file.after.is_some() {
                for folder in self.missing_folders(&file.path) {
                    if !folders.contains(&folder) {
                        folders.push(folder);
                    }
                }
            }
        }
        let journal = Journal::of(self);
        let pending = journal.begin(&plan, &folders)?;
        let mut applied = 0;
        let outcome = self
            .apply_plan(&plan, &folders, &mut applied)
            .and_then(|()| journal.finish(&pending));
        if let Err(error) = outcome {
            // When this fails as well, the entry stays pending and the next
            // writer takes over.
            let _ = journal.roll_back_after_error(&pending, applied);
            return Err(error);
        }
        // Old entries that cannot be dropped now are dropped another time, and
        // so are temporary files of other processes.
        let _ = journal.prune();
        let _ = self.sweep_derived();
        Ok(ChangeReceipt {
            id: Some(pending.id),
            files: plan.files.iter().map(|file| file.path.clone()).collect(),
            changes: plan
                .files
                .into_iter()
                .map(PlannedWrite::into_change)
                .collect(),
        })
    }

    fn apply_plan(
        &self,
        plan: &ChangePlan,
        folders: &[RelPath],
        applied: &mut usize,
    ) -> Result<(), WorkspaceError> {
        for folder in folders {
            self.make_folder(folder)?;
        }
        for file in &plan.files {
            // Counted before: a failure may come after the rename.
            *applied += 1;
            match self.place_file(file) {
                Err(error @ WorkspaceError::ChangedSince { .. }) => {
                    *applied -= 1;
                    return Err(error);
                }
                other => other?,
            }
        }
        for folder in plan.folders_to_drop.iter().rev() {
            self.drop_folder(folder)?;
        }
        Ok(())
    }

    /// Brings one file from its state before to its state after.
    pub(super) fn place_file(&self, file: &PlannedWrite) -> Result<(), WorkspaceError> {
        let target = self.absolute_path(&file.path);
        self.refuse_symlinks(&file.path)?;
        let held = HeldFile::open(&self.root, &file.path)?;
        // Checked right before the rename: editors take no lock of ours.
        let unchanged = || {
            let now = self
                .disk
                .read(held.path())
                .map_err(|e| WorkspaceError::from_io("read", &target, e))?;
            if now.as_deref() == file.before.as_deref() {
                Ok(())
            } else {
                Err(WorkspaceError::ChangedSince {
                    path: target.clone(),
                })
            }
        };
        match &file.after {
            Some(bytes) => {
                let old = fs::symlink_metadata(&held).ok();
                let like = match (&old, file.mode) {
                    (Some(meta), _) => FilePermissions::File(meta),
                    (None, Some(mode)) => FilePermissions::Mode(mode),
                    (None, None) => FilePermissions::New,
                };
                self.disk
                    .replace_file(held.path(), bytes, TempKind::Change, like, || {
                        unchanged().map_err(PlaceError::Refused)
                    })
                    .map_err(|e| e.into_error(&target))?;
            }
            None => {
                unchanged()?;
                let remove = self.disk.remove_file(held.path());
                remove.map_err(|e| WorkspaceError::from_io("remove", &target, e))?;
            }
        }
        self.disk
            .sync_directory(held.folder())
            .map_err(|e| WorkspaceError::from_io("sync", &target, e))
    }

    pub(super) fn drop_folder(&self, folder: &RelPath) -> Result<(), WorkspaceError> {
        self.refuse_symlinks(folder)?;
        let path = self.absolute_path(folder);
        let held = match HeldFile::open(&self.root, folder) {
            Ok(held) => held,
            Err(error) if error.is_not_found() => return Ok(()),
            Err(error) => return Err(error),
        };
        let remove = self.disk.remove_empty_dir(held.path());
        remove
            .map(drop)
            .map_err(|e| WorkspaceError::from_io("remove", &path, e))
    }

    /// Makes a folder of the workspace; what is above it is there already.
    pub(super) fn make_folder(&self, folder: &RelPath) -> Result<(), WorkspaceError> {
        let held = HeldFile::open(&self.root, folder)?;
        let create = self.disk.create_dir(held.path());
        create.map_err(|e| WorkspaceError::from_io("create", &self.absolute_path(folder), e))
    }

    pub(super) fn create_dir(&self, path: &Path) -> Result<(), WorkspaceError> {
        let create = self.disk.create_dir(path);
        create.map_err(|e| WorkspaceError::from_io("create", path, e))
    }

    /// Returns the folders above a path that do not exist, outermost first.
    pub(super) fn missing_folders(&self, path: &RelPath) -> Vec<RelPath> {
        let mut missing = Vec::new();
        let mut folder = path.parent();
        while let Some(this) = folder {
            if fs::symlink_metadata(self.absolute_path(&this)).is_ok() {
                break;
            }
            folder = this.parent();
            missing.push(this);
        }
        missing.reverse();
        missing
    }

    /// Fails if there is a symlink on the way to a path, and names it.
    pub(super) fn refuse_symlinks(&self, path: &RelPath) -> Result<(), WorkspaceError> {
        let mut absolute = self.root.clone();
        for name in path.components() {
            absolute.push(name);
            match fs::symlink_metadata(&absolute) {
                Ok(meta) if meta.is_symlink() => {
                    return Err(WorkspaceError::Symlink { path: absolute });
                }
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::NotFound => break,
                Err(e) if e.kind() == io::ErrorKind::NotADirectory => {
                    absolute.pop();
                    return Err(WorkspaceError::NotADirectory { path: absolute });
                }
                Err(e) => return Err(WorkspaceError::from_io("open", &absolute, e)),
            }
        }
        Ok(())
    }

    fn refuse_unsafe(&self, path: &RelPath) -> Result<(), WorkspaceError> {
        self.refuse_symlinks(path)?;
        let absolute = self.absolute_path(path);
        match fs::symlink_metadata(&absolute) {
            Ok(meta) if !meta.is_file() => Err(WorkspaceError::NotAFile { path: absolute }),
            // A rename would get past this, but the permission was set on
            // purpose.
            Ok(meta) if meta.permissions().readonly() => {
                Err(WorkspaceError::ReadOnly { path: absolute })
            }
            _ => Ok(()),
        }
    }

    pub(super) fn read_if_present(
        &self,
        path: &RelPath,
    ) -> Result<Option<Vec<u8>>, WorkspaceError> {
        match self.read(path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the staged changes that would change anything.
    fn staged_differences(
        &self,
        staged: BTreeMap<RelPath, StagedFile>,
    ) -> Result<Vec<PlannedWrite>, WorkspaceError> {
        let mut files = Vec::new();
        for (path, staged) in staged {
            let after = match staged.after {
                StagedState::Keep => continue,
                StagedState::Write(bytes) => Some(bytes),
                StagedState::Remove => None,
            };
            if path.is_derived() {
                return Err(WorkspaceError::Reserved {
                    path: self.absolute_path(&path),
                });
            }
            self.refuse_symlinks(&path)?;
            let before = match staged.before {
                Some(before) => before,
                None => self.read_if_present(&path)?,
            };
            if before != after {
                let mode = None;
                files.push(PlannedWrite {
                    path,
                    before,
                    after,
                    mode,
                });
            }
        }
        // The manifest makes a workspace of what it lists, so it comes last.
        files.sort_by_key(|file| file.path.file_name() == "_MANIFEST.md");
        Ok(files)
    }

    /// Removes temporary files of derived files that were cut off. Others may
    /// be writing one at this moment, so it takes their lock, without waiting
    /// for it, and only if there is something to remove.
    fn sweep_derived(&self) -> Result<(), WorkspaceError> {
        let dir = self.derived_folder();
        let io = |e| WorkspaceError::from_io("remove", &dir, e);
        let mut entries = fs::read_dir(&dir).map_err(io)?;
        if entries.any(|it| it.is_ok_and(|it| is_temp_name(&it.file_name()))) {
            let _lock = self.lock_derived_within(Duration::ZERO)?;
            self.disk
                .sweep_temp_files(&dir, TempKind::Change)
                .map_err(io)?;
        }
        Ok(())
    }

    fn lock_derived(&self) -> Result<ProcessLock, WorkspaceError> {
        self.lock_derived_within(self.lock_wait)
    }

    fn lock_derived_within(&self, wait: Duration) -> Result<ProcessLock, WorkspaceError> {
        self.take_derived_lock("derived.lock", "`.memory-forge`", wait)
    }
}

/// Keeps everything in `.memory-forge/` out of git.
const IGNORE_ALL: &[u8] = b"*\n";

/// The suffix of a mark, added to the name of the file that it vouches for.
const MARK_SUFFIX: &str = ".mark";
/// The beginning of the first line of a marked file of the machine's.
const MACHINE_MARK_START: &str = "# Made here: ";
/// The size of the largest marked file of the machine's that is read.
const MAX_MARKED_MACHINE_BYTES: u64 = 4 << 20;
const MAX_MARK_BYTES: u64 = 128;
/// Upper bound for bytes of a derived file that is trusted.
const MAX_MARKED_BYTES: u64 = 64 << 20;

/// Locks and logs of bulk runs, whose names other tools know.
fn is_bulk_run_file(path: &RelPath) -> bool {
    let skill = path.as_str().strip_prefix("memory/.").and_then(|name| {
        let lock = name.strip_suffix(".lock");
        lock.or_else(|| name.strip_suffix("-runs.log"))
    });
    matches!(
        skill,
        Some("consolidate" | "reindex" | "resummarize" | "upgrade")
    )
}

/// Several files that are to change together.
#[derive(Debug)]
pub(super) struct ChangePlan {
    pub(super) what: String,
    pub(super) time: jiff::Timestamp,
    pub(super) undoes: Option<String>,
    pub(super) is_automatic: bool,
    pub(super) files: Vec<PlannedWrite>,
    /// Folders to remove at the end where they are empty, outermost first.
    pub(super) folders_to_drop: Vec<RelPath>,
}

#[derive(Debug)]
pub(super) struct PlannedWrite {
    pub(super) path: RelPath,
    /// The bytes that must be there now; none means no file.
    pub(super) before: Option<Vec<u8>>,
    pub(super) after: Option<Vec<u8>>,
    /// The permissions to give a file that comes back.
    pub(super) mode: Option<u32>,
}

impl PlannedWrite {
    fn into_change(self) -> FileChange {
        FileChange {
            path: self.path,
            before: self.before,
            after: self.after,
        }
    }
}

#[derive(Debug, Default)]
struct StagedFile {
    /// The bytes on disk, once they have been looked at.
    before: Option<Option<Vec<u8>>>,
    after: StagedState,
}

#[derive(Debug, Default)]
enum StagedState {
    #[default]
    Keep,
    Write(Vec<u8>),
    Remove,
}

#[cfg(test)]
mod tests;
