//! Brings the index in step with the files: an unchanged file costs one `stat`,
//! a changed one is read again, a missing one is dropped. Nothing watches the
//! files; this runs before every search.

use std::fmt::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use jiff::Timestamp;

use super::describe::{DESCRIPTION_VERSION, describe_document, describe_unusable};
use crate::diagnostic::Diagnostic;
use crate::document;
use crate::embed::Embedder;
use crate::index::chunk::PASSAGE_FORMAT_VERSION;
use crate::index::{
    self, CatalogueEntry, DocumentRecord, FileStamp, Index, IndexChange, PackedVector, PassageSizes,
};
use crate::secrets;
use crate::workspace::{self, RelPath, ScannedFile, Workspace, WorkspaceScan};

/// An error while the index is brought up to date.
#[derive(Debug, thiserror::Error)]
pub enum RefreshError {
    /// The index cannot be read or written: it is damaged, locked, or the disk
    /// is full.
    #[error(transparent)]
    Index(#[from] index::IndexError),
    /// The workspace cannot be read; the file system is at fault.
    #[error(transparent)]
    Workspace(#[from] workspace::WorkspaceError),
}

impl Diagnostic for RefreshError {
    fn code(&self) -> &'static str {
        match self {
            RefreshError::Index(error) => error.code(),
            RefreshError::Workspace(error) => error.code(),
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            RefreshError::Index(error) => error.hints(),
            RefreshError::Workspace(error) => error.hints(),
        }
    }

    fn is_usage(&self) -> bool {
        match self {
            RefreshError::Index(error) => error.is_usage(),
            RefreshError::Workspace(error) => error.is_usage(),
        }
    }
}

/// The outcome of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileOutcome {
    /// The index had it already.
    Unchanged,
    /// The index has it for the first time.
    Indexed,
    /// It changed, and its new text is in the index.
    Reindexed,
    /// It is gone, and the index no longer has it.
    Removed,
    /// The file exists and cannot be used; the sentence contains the reason and
    /// the next step.
    Skipped(String),
}

/// A report on bringing the index up to date.
#[derive(Debug, Clone, Default)]
pub struct RefreshReport {
    /// Every file, sorted by path.
    pub files: Vec<(String, FileOutcome)>,
    /// Folders that could not be listed.
    pub problems: Vec<String>,
    /// Number of files that were indexed and can no longer be used.
    pub spoiled: usize,
}

impl RefreshReport {
    /// Returns `true` if the content of the index changed.
    pub fn has_changes(&self) -> bool {
        self.spoiled > 0
            || self.files.iter().any(|(_, o)| {
                matches!(
                    o,
                    FileOutcome::Indexed | FileOutcome::Reindexed | FileOutcome::Removed
                )
            })
    }
}

/// The differences between the files and the index, found by `stat` alone.
#[derive(Debug, Default)]
pub struct IndexDifferences {
    /// New files, changed files, and files whose time stamp proves nothing.
    pub to_read: Vec<ScannedFile>,
    /// Files of the index that no longer exist.
    pub gone: Vec<String>,
    /// Files that did not change.
    pub unchanged: Vec<String>,
    /// Unchanged files that could not be used when they were read.
    pub unusable: Vec<(String, String)>,
    /// Folders that could not be listed.
    pub problems: Vec<String>,
}

impl IndexDifferences {
    /// Returns `true` if nothing has to be read or removed.
    pub fn is_empty(&self) -> bool {
        self.to_read.is_empty() && self.gone.is_empty()
    }
}

/// Compares the files, as a scan found them, with the catalogue.
pub fn find_differences(
    scan: &WorkspaceScan,
    catalogue: &[CatalogueEntry],
    force: bool,
) -> IndexDifferences {
    let mut d = IndexDifferences {
        problems: scan.problems.iter().map(|p| p.to_string()).collect(),
        ..IndexDifferences::default()
    };
    let mut known = catalogue.iter().peekable();
    for found in &scan.files {
        if !is_indexable(found) {
            continue;
        }
        // Both lists are sorted by path, so that one pass compares them.
        while let Some(entry) = known.next_if(|e| e.path.as_str() < found.path.as_str()) {
            d.gone.push(entry.path.clone());
        }
        match known.next_if(|e| e.path == found.path.as_str()) {
            Some(e) if !force && e.stamp.proves_unchanged(found.size, found.changed_ns) => {
                match &e.problem {
                    Some(problem) => d.unusable.push((e.path.clone(), problem.clone())),
                    None => d.unchanged.push(e.path.clone()),
                }
            }
            _ => d.to_read.push(found.clone()),
        }
    }
    d.gone.extend(known.map(|e| e.path.clone()));
    d
}

/// Counts the files whose content differs from the index. A file that was
/// written in the moment of its indexing has a stamp that proves nothing, so
/// that its text decides.
pub fn count_behind(
    workspace: &Workspace,
    scan: &WorkspaceScan,
    index: &Index,
    catalogue: &[CatalogueEntry],
) -> Result<usize, index::IndexError> {
    if !has_current_shape(workspace, index)? {
        return Ok(catalogue.len());
    }
    if is_in_step(scan, catalogue) {
        return Ok(0);
    }
    let differences = find_differences(scan, catalogue, false);
    let mut behind = differences.gone.len();
    for file in &differences.to_read {
        let known = index.content_hash_of(file.path.as_str())?;
        let same = match workspace.read_text(&file.path) {
            Ok(text) => known.is_some_and(|hash| hash == document::content_hash(&text)),
            // The index too has no text of an unreadable file.
            Err(_) => known.is_some(),
        };
        behind += usize::from(!same);
    }
    Ok(behind)
}

/// Returns `true` if [`find_differences`] would find none, without building its
/// lists: both sides are sorted by path.
pub fn is_in_step(scan: &WorkspaceScan, catalogue: &[CatalogueEntry]) -> bool {
    let mut found = scan.files.iter().filter(|found| is_indexable(found));
    let mut known = catalogue.iter();
    let same = |found: &ScannedFile| {
        known.next().is_some_and(|entry| {
            entry.path == found.path.as_str()
                && entry.stamp.proves_unchanged(found.size, found.changed_ns)
        })
    };
    found.all(same) && known.next().is_none()
}

/// Returns `true` for documents of their own. Routing files lead to others,
/// except the README that people write.
fn is_indexable(found: &ScannedFile) -> bool {
    found.role != workspace::FileRole::Routing || found.path.as_str() == "knowledge/README.md"
}

/// Size of the text that is written in one transaction. Larger batches make
/// fewer segments, smaller ones lose less when a run is interrupted.
const BATCH_BYTES: usize = 24 << 20;

/// Reads what differs from a scan and brings the index up to date. The caller
/// holds the index lock, taken at `recorded_ns` by the file system's clock. The
/// scan may be older than the lock: a file that changed in between shows another
/// stamp at the next one.
pub fn refresh_index(
    workspace: &Workspace,
    scan: &WorkspaceScan,
    index: &mut Index,
    force: bool,
    recorded_ns: i64,
    now: Timestamp,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<RefreshReport, RefreshError> {
    let report = apply_differences(workspace, scan, index, force, recorded_ns, progress)?;
    write_manifest_json(workspace, index, report.has_changes() || force, now)?;
    Ok(report)
}

/// Fills an index that is not kept: nothing is written to the folder.
pub fn fill_index(
    workspace: &Workspace,
    scan: &WorkspaceScan,
    index: &mut Index,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<RefreshReport, RefreshError> {
    apply_differences(workspace, scan, index, true, 0, progress)
}

/// Reads the files that differ and applies the changes in batches.
fn apply_differences(
    workspace: &Workspace,
    scan: &WorkspaceScan,
    index: &mut Index,
    force: bool,
    recorded_ns: i64,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<RefreshReport, RefreshError> {
    let catalogue = index.catalogue()?;
    // The same text has other passages under other rules. It is read again;
    // vectors of passages that stay the same are kept.
    let is_stale = !has_current_shape(workspace, index)?;
    let d = find_differences(scan, &catalogue, force || is_stale);
    let entry = |path: &str| {
        let at = catalogue.binary_search_by(|e| e.path.as_str().cmp(path));
        at.ok().map(|at| &catalogue[at])
    };
    if force {
        index.clear()?;
    }
    let total = d.to_read.len();
    let mut report = RefreshReport {
        problems: d.problems,
        ..RefreshReport::default()
    };
    let mut batch: Vec<IndexChange> = d.gone.iter().cloned().map(IndexChange::Remove).collect();
    let mut bytes = 0;
    let mut done = 0;
    let mut failure = None;
    read_files(
        workspace,
        index,
        &d.to_read,
        force || is_stale,
        recorded_ns,
        |index, read| {
            done += 1;
            progress(done, total);
            match read {
                ReadOutcome::Same(path, stamp) => {
                    batch.push(IndexChange::Restamp(path.as_str().to_owned(), stamp));
                    report
                        .files
                        .push((path.as_str().to_owned(), FileOutcome::Unchanged));
                }
                ReadOutcome::Vanished(path) => {
                    if entry(path.as_str()).is_some() {
                        batch.push(IndexChange::Remove(path.as_str().to_owned()));
                        report
                            .files
                            .push((path.as_str().to_owned(), FileOutcome::Removed));
                    }
                }
                ReadOutcome::Put(put) => {
                    let before = entry(&put.path);
                    let outcome = match &put.problem {
                        Some(problem) => FileOutcome::Skipped(problem.clone()),
                        None if before.is_some() => FileOutcome::Reindexed,
                        None => FileOutcome::Indexed,
                    };
                    if put.problem.is_some() && before.is_some_and(|e| e.problem.is_none()) {
                        report.spoiled += 1;
                    }
                    report.files.push((put.path.clone(), outcome));
                    bytes += put.stamp.size as usize;
                    batch.push(IndexChange::Put(put));
                }
            }
            if bytes >= BATCH_BYTES {
                bytes = 0;
                if let Err(e) = index.apply_changes(std::mem::take(&mut batch)) {
                    failure = Some(e);
                    return false;
                }
            }
            true
        },
    )?;
    if let Some(e) = failure {
        return Err(e.into());
    }
    index.apply_changes(batch)?;
    if is_stale {
        // After the last batch, so that an interrupted run is repeated.
        index.store_value(SHAPE_KEY, &passage_shape(workspace))?;
    }
    report
        .files
        .extend(d.gone.into_iter().map(|p| (p, FileOutcome::Removed)));
    report
        .files
        .extend(d.unchanged.into_iter().map(|p| (p, FileOutcome::Unchanged)));
    report.files.extend(
        d.unusable
            .into_iter()
            .map(|(p, why)| (p, FileOutcome::Skipped(why))),
    );
    report.files.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(report)
}

/// The key under which an index keeps the shape of its passages.
const SHAPE_KEY: &str = "shape";

/// Returns `true` if the passages of the index were made by the rules that are
/// in force now.
pub fn has_current_shape(workspace: &Workspace, index: &Index) -> Result<bool, index::IndexError> {
    Ok(index.stored_value(SHAPE_KEY)?.as_deref() == Some(passage_shape(workspace).as_str()))
}

/// Returns everything but a file's own text that decides what its passages are.
/// The model has a note of its own, since other vectors need no other passages;
/// the format of the tables is the database's own version.
fn passage_shape(workspace: &Workspace) -> String {
    let chunk_tokens = workspace.config().index.chunk_tokens;
    let redaction = secrets::RULES_HASH;
    format!(
        "passages {PASSAGE_FORMAT_VERSION}, fields {DESCRIPTION_VERSION}, redaction {redaction:016x}, \
         at most {chunk_tokens} tokens"
    )
}

/// The result of reading one file.
enum ReadOutcome {
    Put(Box<DocumentRecord>),
    Same(RelPath, FileStamp),
    Vanished(RelPath),
}

/// Reads and parses on all cores, hands over one by one on this thread.
fn read_files(
    workspace: &Workspace,
    index: &mut Index,
    files: &[ScannedFile],
    force: bool,
    recorded_ns: i64,
    mut each: impl FnMut(&mut Index, ReadOutcome) -> bool,
) -> Result<(), RefreshError> {
    let sizes = PassageSizes::with_limit(workspace.config().index.chunk_tokens);
    let mut hashes = std::collections::HashMap::new();
    if !force {
        for found in files {
            if let Some(hash) = index.content_hash_of(found.path.as_str())? {
                hashes.insert(found.path.as_str().to_owned(), hash);
            }
        }
    }
    let one = |found: &ScannedFile| {
        read_file(
            workspace,
            found,
            hashes.get(found.path.as_str()),
            recorded_ns,
            sizes,
        )
    };
    // Starting threads costs more than reading a few files.
    if files.len() < 8 {
        for found in files {
            if !each(index, one(found)) {
                break;
            }
        }
        return Ok(());
    }
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism()
        .map_or(2, |n| n.get())
        .clamp(1, 8);
    std::thread::scope(|scope| {
        // Bounded, so that readers cannot fill the memory while a batch is
        // written.
        let (sender, receiver) = mpsc::sync_channel(256);
        for _ in 0..threads {
            let (sender, next, one) = (sender.clone(), &next, &one);
            scope.spawn(move || {
                while let Some(found) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    // The receiver is gone because a batch failed, and the run
                    // ends.
                    if sender.send(one(found)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        for read in receiver {
            if !each(index, read) {
                break;
            }
        }
    });
    Ok(())
}

/// Reads and describes one file, unless its content is unchanged.
fn read_file(
    workspace: &Workspace,
    found: &ScannedFile,
    known: Option<&String>,
    recorded_ns: i64,
    sizes: PassageSizes,
) -> ReadOutcome {
    let stamp = FileStamp {
        size: found.size,
        mtime_ns: found.changed_ns,
        recorded_ns,
    };
    let path = found.path.clone();
    let text = match workspace.read_text(&path) {
        Ok(text) => text,
        Err(e) if e.is_not_found() => return ReadOutcome::Vanished(path),
        Err(e) => {
            return ReadOutcome::Put(Box::new(describe_unusable(
                &path,
                found.role,
                stamp,
                e.reason(),
            )));
        }
    };
    let hash = document::content_hash(&text);
    if known == Some(&hash) {
        return ReadOutcome::Same(path, stamp);
    }
    let (_, put) = describe_document(&path, found.role, stamp, hash, &text, sizes);
    ReadOutcome::Put(Box::new(put))
}

/// Writes `manifest.json` for people and other tools. Leaves it alone if
/// nothing changed, so that `lastIndexed` is the time of the last change.
fn write_manifest_json(
    workspace: &Workspace,
    index: &Index,
    changed: bool,
    now: Timestamp,
) -> Result<(), RefreshError> {
    let there = workspace.derived_folder().join("manifest.json").exists();
    if !changed && there {
        return Ok(());
    }
    let stamp = match index.stored_value("last_indexed")? {
        Some(stamp) if !changed => stamp,
        _ => {
            let stamp = format!("{now:.3}");
            index.store_value("last_indexed", &stamp)?;
            stamp
        }
    };
    // Written by hand because it has a line for every file, and a search after
    // one change waits for it.
    let mut text = String::from("{\n  \"files\": {");
    for (i, (path, hash)) in index.content_hashes()?.iter().enumerate() {
        let comma = if i > 0 { "," } else { "" };
        let path = serde_json::Value::from(path.as_str());
        let _ = write!(text, "{comma}\n    {path}: \"{hash}\"");
    }
    let end = if text.ends_with('{') { "}" } else { "\n  }" };
    let _ = writeln!(text, "{end},\n  \"lastIndexed\": \"{stamp}\"\n}}");
    workspace.write_derived("manifest.json", text.as_bytes())?;
    Ok(())
}

/// Passages that each thread embeds between two calls of `keep_going`.
const EMBED_STEP_PASSAGES: usize = 8;

/// Embeds passages that have no vector yet, those that are `needed` before all
/// others, in committed batches, until none is left or `keep_going` returns `false`.
/// It receives the numbers of done and waiting passages.
pub fn embed_passages(
    index: &mut Index,
    embedder: &dyn Embedder,
    needed: &[u32],
    keep_going: &mut dyn FnMut(usize, usize) -> bool,
) -> Result<usize, RefreshError> {
    index.switch_to_model(embedder.id(), embedder.dimensions())?;
    let counts = index.counts()?;
    let waiting = counts.chunks - counts.embedded;
    let threads = std::thread::available_parallelism()
        .map_or(2, |n| n.get())
        .clamp(1, 8);
    let mut done = 0;
    let mut needed = needed;
    while keep_going(done, waiting) {
        let most = if done == 0 {
            threads
        } else {
            threads * EMBED_STEP_PASSAGES
        };
        let texts = if needed.is_empty() {
            index.passages_to_embed(most)?
        } else {
            let (now, later) = needed.split_at(most.min(needed.len()));
            needed = later;
            index.to_embed_of(now)?
        };
        if texts.is_empty() {
            if needed.is_empty() && index.passages_to_embed(1)?.is_empty() {
                break;
            }
            continue;
        }
        let share = texts.len().div_ceil(threads);
        let vectors: Vec<(u32, PackedVector)> = std::thread::scope(|scope| {
            let workers: Vec<_> = texts
                .chunks(share)
                .map(|part| {
                    scope.spawn(move || {
                        part.iter()
                            .map(|(id, text)| {
                                (*id, PackedVector::from_floats(&embedder.embed(text)))
                            })
                            .collect::<Vec<_>>()
                    })
                })
                .collect();
            workers
                .into_iter()
                // Passages of a thread that panicked stay without vectors and
                // are embedded by the next run.
                .flat_map(|w| w.join().unwrap_or_default())
                .collect()
        });
        if vectors.is_empty() {
            break;
        }
        done += vectors.len();
        index.store_vectors(&vectors)?;
    }
    Ok(done)
}

impl FileOutcome {
    /// Returns how many files had this outcome.
    pub fn count_in(&self, files: &[(String, FileOutcome)]) -> usize {
        files.iter().filter(|(_, it)| it == self).count()
    }
}
