//! An open index that is in step with the files, whatever state it was found
//! in: absent, damaged, locked, or in a folder that cannot be written.

use std::time::Duration;

use jiff::Timestamp;

use super::refresh::{self, FileOutcome, RefreshError, RefreshReport};
use crate::index::{CatalogueEntry, Index, OpenNote};
use crate::routing::manifest::{Manifest, RetiredFiles};
use crate::workspace::{ProcessLock, Workspace, WorkspaceScan};

/// An index that is ready to be queried, with remarks about it.
pub struct FreshIndex {
    /// The index, in step with the files.
    pub index: Index,
    /// The files that the index knows.
    pub catalogue: Vec<CatalogueEntry>,
    /// The report of the update; `None` if nothing had to be done.
    pub refresh: Option<RefreshReport>,
    /// Held while the index may be written; dropping it releases the lock.
    pub lock: Option<ProcessLock>,
    /// What people should know about the index.
    pub remarks: Vec<IndexRemark>,
    /// The rows of Tier 3 by which files of the catalogue became archived.
    retired: RetiredFiles,
}

/// A remark for people about the index that answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexRemark {
    /// The index was damaged and was rebuilt.
    Rebuilt(String),
    /// The index of a newer version was left alone.
    KeptNewer {
        /// The format of the newer version.
        newer: i32,
        /// The file that is used instead.
        path: String,
    },
    /// Another process is writing: this many files may be answered from older
    /// text.
    Behind {
        /// The number of files that changed since.
        files: usize,
    },
    /// The folder cannot be written, so that the index is in memory.
    InMemory(String),
    /// A folder that could not be listed.
    Unreadable(String),
}

/// The options for opening the index.
pub struct IndexOpening<'a> {
    /// The time of the query.
    pub now: Timestamp,
    /// How long to wait for another process that is writing.
    pub wait: Duration,
    /// Whether to read every file again.
    pub force: bool,
    /// Called with the files that were read so far, and all to read.
    pub progress: &'a mut dyn FnMut(usize, usize),
}

impl FreshIndex {
    /// Returns the outcome of every file, also if there was nothing to do.
    pub fn file_outcomes(&self) -> Vec<(String, FileOutcome)> {
        if let Some(refresh) = &self.refresh {
            return refresh.files.clone();
        }
        let unchanged = self.catalogue.iter().map(|entry| {
            let outcome = match &entry.problem {
                Some(why) => FileOutcome::Skipped(why.clone()),
                None => FileOutcome::Unchanged,
            };
            (entry.path.clone(), outcome)
        });
        unchanged.collect()
    }

    /// Returns the reason why the index could not be kept on disk, if any.
    pub fn in_memory_reason(&self) -> Option<&str> {
        self.remarks.iter().find_map(|remark| match remark {
            IndexRemark::InMemory(why) => Some(why.as_str()),
            _ => None,
        })
    }

    fn with_retired(mut self, manifest: Option<&Manifest>) -> FreshIndex {
        self.retired = archive_retired(&mut self.catalogue, manifest);
        self
    }
}

/// Marks the entries of Tier 3 of the manifest as archived. This runs at each
/// opening, since a row can change while the file that it names does not.
pub fn archive_retired(
    catalogue: &mut [CatalogueEntry],
    manifest: Option<&Manifest>,
) -> RetiredFiles {
    let retired = manifest.map(Manifest::retired_files).unwrap_or_default();
    for entry in catalogue {
        if entry.scope == "knowledge" && retired.contains_path(&entry.path) {
            entry.scope = "archive".to_owned();
        }
    }
    retired
}

/// Opens the index and brings it up to date. If it cannot be kept, it is built
/// in memory: a search is answered as long as the files can be read.
pub fn open_fresh(
    workspace: &Workspace,
    opening: &mut IndexOpening,
) -> Result<FreshIndex, RefreshError> {
    // One scan serves everything below.
    let (scan, manifest) = workspace.scan_and_manifest();
    Ok(open_in_step(workspace, &scan, opening)?.with_retired(manifest.as_ref()))
}

/// Opens the index if it is there and at most `most` files behind, and brings
/// it up to date. Returns `None` where that would take long or another process
/// is writing: for searches without a request.
pub fn open_near(
    workspace: &Workspace,
    most: usize,
    now: Timestamp,
) -> Result<Option<FreshIndex>, RefreshError> {
    let (scan, manifest) = workspace.scan_and_manifest();
    if let Some(fresh) = open_unchanged(workspace, &scan)? {
        return Ok(Some(fresh.with_retired(manifest.as_ref())));
    }
    let Some(index) = Index::open_existing(&workspace.derived_folder())? else {
        return Ok(None);
    };
    let differences = refresh::find_differences(&scan, &index.catalogue()?, false);
    let is_near = refresh::has_current_shape(workspace, &index)?
        && differences.to_read.len() + differences.gone.len() <= most;
    drop(index);
    if !is_near {
        return Ok(None);
    }
    let lock = match workspace.lock_index(Duration::ZERO) {
        Ok(lock) => lock,
        Err(e) if e.is_locked() => return Ok(None),
        Err(e) => return Err(e.into()),
    };
    let mut opening = IndexOpening {
        now,
        wait: Duration::ZERO,
        force: false,
        progress: &mut |_, _| {},
    };
    let fresh = update_kept_index(workspace, &scan, lock, None, &mut opening)?;
    Ok(Some(fresh.with_retired(manifest.as_ref())))
}

/// Opens the index in step with a scan, on disk if possible.
fn open_in_step(
    workspace: &Workspace,
    scan: &WorkspaceScan,
    opening: &mut IndexOpening,
) -> Result<FreshIndex, RefreshError> {
    let mut damage = None;
    if !opening.force {
        match open_unchanged(workspace, scan) {
            Ok(Some(fresh)) => return Ok(fresh),
            Ok(None) => {}
            // Damage is kept as the reason for the rebuild; other errors of the
            // index repeat under the lock.
            Err(RefreshError::Index(e)) if e.is_damage() => damage = Some(e.to_string()),
            Err(RefreshError::Index(_)) => {}
            Err(e) => return Err(e),
        }
    }
    if let Some(fresh) = open_empty(workspace, scan)? {
        return Ok(fresh);
    }
    let lock = match workspace.lock_index(opening.wait) {
        Ok(lock) => lock,
        Err(e) if e.is_locked() => return open_behind(workspace, scan, e.into()),
        Err(e) => return build_in_memory(workspace, scan, opening, e.to_string()),
    };
    // An index on a full or read-only disk must not cost the answer.
    update_kept_index(workspace, scan, lock, damage, opening)
        .or_else(|e| build_in_memory(workspace, scan, opening, e.to_string()))
}

/// Reuses an index that was open before, or opens it again. Reads nothing again
/// if neither the files nor the index itself changed.
pub fn reopen_fresh(
    workspace: &Workspace,
    before: FreshIndex,
    opening: &mut IndexOpening,
) -> Result<FreshIndex, RefreshError> {
    // An answer from older text must not become permanent in a server.
    let behind = |remark: &IndexRemark| matches!(remark, IndexRemark::Behind { .. });
    let usable = !opening.force
        && !before.remarks.iter().any(behind)
        && before.index.is_as_opened()
        && (before.in_memory_reason().is_some() || has_manifest_json(workspace));
    if usable {
        let (scan, manifest) = workspace.scan_and_manifest();
        let unchanged = refresh::is_in_step(&scan, &before.catalogue)
            && refresh::has_current_shape(workspace, &before.index)?;
        if unchanged {
            let mut before = before;
            // A row of the manifest can change while no document does.
            if manifest
                .as_ref()
                .map(Manifest::retired_files)
                .unwrap_or_default()
                != before.retired
            {
                before.catalogue = before.index.catalogue()?;
                before = before.with_retired(manifest.as_ref());
            }
            let kept = before.remarks.into_iter();
            let mut remarks: Vec<IndexRemark> = kept
                .filter(|remark| {
                    matches!(
                        remark,
                        IndexRemark::InMemory(_) | IndexRemark::KeptNewer { .. }
                    )
                })
                .collect();
            remarks.extend(scan_remarks(&scan));
            return Ok(FreshIndex {
                refresh: None,
                lock: None,
                remarks,
                ..before
            });
        }
    }
    // Closed before it is opened again, since a rebuild replaces the file.
    drop(before);
    open_fresh(workspace, opening)
}

/// Returns `true` if the listing for other tools exists.
fn has_manifest_json(workspace: &Workspace) -> bool {
    let manifest = workspace.derived_folder().join("manifest.json");
    manifest.symlink_metadata().is_ok()
}

/// Opens the index in its file and brings it up to date under the lock.
fn update_kept_index(
    workspace: &Workspace,
    scan: &WorkspaceScan,
    lock: ProcessLock,
    damage: Option<String>,
    opening: &mut IndexOpening,
) -> Result<FreshIndex, RefreshError> {
    let opened = Index::open(&workspace.derived_folder())?;
    let mut remarks = Vec::new();
    let is_new = matches!(opened.note, Some(OpenNote::Created | OpenNote::Rebuilt(_)));
    match opened.note {
        Some(OpenNote::Rebuilt(why)) => remarks.push(IndexRemark::Rebuilt(why)),
        Some(OpenNote::KeptNewer { newer, path }) => remarks.push(IndexRemark::KeptNewer {
            newer,
            path: path.display().to_string(),
        }),
        Some(OpenNote::Created) | None => {}
    }
    let mut index = opened.index;
    // A file that was just created or rebuilt cannot have the damage that was
    // found before.
    if let Some(why) = damage
        && !is_new
    {
        index = index.rebuild()?;
        remarks.push(IndexRemark::Rebuilt(why));
    }
    // Damage may show only when rows are written. One rebuild is enough, since
    // the file is new then.
    let report = match run_refresh(workspace, scan, &mut index, &lock, opening) {
        Err(RefreshError::Index(e)) if e.is_damage() => {
            remarks.push(IndexRemark::Rebuilt(e.to_string()));
            index = index.rebuild()?;
            run_refresh(workspace, scan, &mut index, &lock, opening)?
        }
        other => other?,
    };
    remarks.extend(unreadable_remarks(report.problems.clone()));
    Ok(FreshIndex {
        catalogue: index.catalogue()?,
        index,
        refresh: Some(report),
        lock: Some(lock),
        remarks,
        retired: RetiredFiles::default(),
    })
}

/// Rebuilds an index that proved to be damaged during a query.
pub fn rebuild_index(
    workspace: &Workspace,
    opening: &mut IndexOpening,
    why: String,
) -> Result<FreshIndex, RefreshError> {
    let (scan, manifest) = workspace.scan_and_manifest();
    let fresh = match workspace.lock_index(opening.wait) {
        Ok(lock) => update_kept_index(workspace, &scan, lock, Some(why), opening)
            .or_else(|e| build_in_memory(workspace, &scan, opening, e.to_string())),
        Err(_) => build_in_memory(workspace, &scan, opening, why),
    };
    Ok(fresh?.with_retired(manifest.as_ref()))
}

fn run_refresh(
    workspace: &Workspace,
    scan: &WorkspaceScan,
    index: &mut Index,
    lock: &ProcessLock,
    opening: &mut IndexOpening,
) -> Result<RefreshReport, RefreshError> {
    refresh::refresh_index(
        workspace,
        scan,
        index,
        opening.force,
        lock.taken_ns(),
        opening.now,
        opening.progress,
    )
}

/// Returns an empty index if there is nothing to index and never was, so that
/// no folder is created.
fn open_empty(
    workspace: &Workspace,
    scan: &WorkspaceScan,
) -> Result<Option<FreshIndex>, RefreshError> {
    if workspace
        .derived_folder()
        .join("index.db")
        .symlink_metadata()
        .is_ok()
    {
        return Ok(None);
    }
    let differences = refresh::find_differences(scan, &[], false);
    if !differences.is_empty() {
        return Ok(None);
    }
    Ok(Some(FreshIndex {
        index: Index::in_memory()?,
        catalogue: Vec::new(),
        refresh: None,
        lock: None,
        remarks: unreadable_remarks(differences.problems),
        retired: RetiredFiles::default(),
    }))
}

fn scan_remarks(scan: &WorkspaceScan) -> Vec<IndexRemark> {
    unreadable_remarks(scan.problems.iter().map(ToString::to_string).collect())
}

fn unreadable_remarks(problems: Vec<String>) -> Vec<IndexRemark> {
    problems.into_iter().map(IndexRemark::Unreadable).collect()
}

/// Opens the index if nothing changed, which is the usual case.
fn open_unchanged(
    workspace: &Workspace,
    scan: &WorkspaceScan,
) -> Result<Option<FreshIndex>, RefreshError> {
    let Some(index) = Index::open_existing(&workspace.derived_folder())? else {
        return Ok(None);
    };
    let catalogue = index.catalogue()?;
    // A removed `manifest.json` is written again.
    if !refresh::is_in_step(scan, &catalogue)
        || !has_manifest_json(workspace)
        || !refresh::has_current_shape(workspace, &index)?
    {
        return Ok(None);
    }
    Ok(Some(FreshIndex {
        index,
        catalogue,
        refresh: None,
        lock: None,
        remarks: scan_remarks(scan),
        retired: RetiredFiles::default(),
    }))
}

/// Opens the last committed state of an index that another process is still
/// writing.
fn open_behind(
    workspace: &Workspace,
    scan: &WorkspaceScan,
    locked: RefreshError,
) -> Result<FreshIndex, RefreshError> {
    let Some(index) = Index::open_existing(&workspace.derived_folder())? else {
        return Err(locked);
    };
    let catalogue = index.catalogue()?;
    let d = refresh::find_differences(scan, &catalogue, false);
    let files = d.to_read.len() + d.gone.len();
    Ok(FreshIndex {
        index,
        catalogue,
        refresh: None,
        lock: None,
        remarks: vec![IndexRemark::Behind { files }],
        retired: RetiredFiles::default(),
    })
}

/// Builds the index in memory, from all files.
fn build_in_memory(
    workspace: &Workspace,
    scan: &WorkspaceScan,
    opening: &mut IndexOpening,
    why: String,
) -> Result<FreshIndex, RefreshError> {
    let mut index = Index::in_memory()?;
    let report = refresh::fill_index(workspace, scan, &mut index, opening.progress)?;
    let mut remarks = vec![IndexRemark::InMemory(why)];
    remarks.extend(unreadable_remarks(report.problems.clone()));
    Ok(FreshIndex {
        catalogue: index.catalogue()?,
        index,
        refresh: Some(report),
        lock: None,
        remarks,
        retired: RetiredFiles::default(),
    })
}
