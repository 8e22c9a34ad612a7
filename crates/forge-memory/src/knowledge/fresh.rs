//! An open index that is in step with the files, whatever state it was found
//! in: absent, damaged, locked, or in a folder that cannot be written.

use std::time::Duration;

use jiff::Timestamp;

use super::refresh::{self, Error, Outcome, Refresh};
use crate::index::{Entry, Index, Note};
use crate::routing::manifest::{Manifest, Retired};
use crate::workspace::{Lock, Scan, Workspace};

/// An index that is ready to be queried, with remarks about it.
pub struct Fresh {
    pub index: Index,
    pub catalogue: Vec<Entry>,
    /// The report of the update; `None` if nothing had to be done.
    pub refresh: Option<Refresh>,
    /// Held while the index may be written; dropping it releases the lock.
    pub lock: Option<Lock>,
    pub remarks: Vec<Remark>,
    /// The rows of Tier 3 by which files of the catalogue became archived.
    retired: Retired,
}

/// A remark for people about the index that answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remark {
    /// The index was damaged and was rebuilt.
    Rebuilt(String),
    /// The index of a newer version was left alone.
    Beside { newer: i32, path: String },
    /// Another process is writing: this many files may be answered from older
    /// text.
    Behind { files: usize },
    /// The folder cannot be written, so that the index is in memory.
    InMemory(String),
    /// A folder that could not be listed.
    Unreadable(String),
}

/// The options for opening the index.
pub struct Opening<'a> {
    pub now: Timestamp,
    /// How long to wait for another process that is writing.
    pub wait: Duration,
    /// Whether to read every file again.
    pub force: bool,
    pub progress: &'a mut dyn FnMut(usize, usize),
}

impl Fresh {
    /// Returns the outcome of every file, also if there was nothing to do.
    pub fn outcomes(&self) -> Vec<(String, Outcome)> {
        if let Some(refresh) = &self.refresh {
            return refresh.files.clone();
        }
        let unchanged = self.catalogue.iter().map(|entry| {
            let outcome = match &entry.problem {
                Some(why) => Outcome::Skipped(why.clone()),
                None => Outcome::Unchanged,
            };
            (entry.path.clone(), outcome)
        });
        unchanged.collect()
    }

    /// Returns the reason why the index could not be kept on disk, if any.
    pub fn in_memory(&self) -> Option<&str> {
        self.remarks.iter().find_map(|remark| match remark {
            Remark::InMemory(why) => Some(why.as_str()),
            _ => None,
        })
    }

    fn with_retired(mut self, manifest: Option<&Manifest>) -> Fresh {
        self.retired = retire(&mut self.catalogue, manifest);
        self
    }
}

/// Marks the entries of Tier 3 of the manifest as archived. This runs at each
/// opening, since a row can change while the file that it names does not.
pub fn retire(catalogue: &mut [Entry], manifest: Option<&Manifest>) -> Retired {
    let retired = manifest.map(Manifest::retired).unwrap_or_default();
    for entry in catalogue {
        if entry.scope == "knowledge" && retired.holds(&entry.path) {
            entry.scope = "archive".to_owned();
        }
    }
    retired
}

/// Opens the index and brings it up to date. If it cannot be kept, it is built
/// in memory: a search is answered as long as the files can be read.
pub fn fresh(workspace: &Workspace, opening: &mut Opening) -> Result<Fresh, Error> {
    // One scan serves everything below.
    let (scan, manifest) = workspace.scan_and_manifest();
    Ok(in_step(workspace, &scan, opening)?.with_retired(manifest.as_ref()))
}

/// Opens the index in step with a scan, on disk if possible.
fn in_step(workspace: &Workspace, scan: &Scan, opening: &mut Opening) -> Result<Fresh, Error> {
    let mut damage = None;
    if !opening.force {
        match unchanged(workspace, scan) {
            Ok(Some(fresh)) => return Ok(fresh),
            Ok(None) => {}
            // Damage is kept as the reason for the rebuild; other errors of the
            // index repeat under the lock.
            Err(Error::Index(e)) if e.is_damage() => damage = Some(e.to_string()),
            Err(Error::Index(_)) => {}
            Err(e) => return Err(e),
        }
    }
    if let Some(fresh) = nothing(workspace, scan)? {
        return Ok(fresh);
    }
    let lock = match workspace.lock_index(opening.wait) {
        Ok(lock) => lock,
        Err(e) if e.is_locked() => return behind(workspace, scan, e.into()),
        Err(e) => return in_memory(workspace, scan, opening, e.to_string()),
    };
    // An index on a full or read-only disk must not cost the answer.
    kept(workspace, scan, lock, damage, opening)
        .or_else(|e| in_memory(workspace, scan, opening, e.to_string()))
}

/// Reuses an index that was open before, or opens it again. Reads nothing again
/// if neither the files nor the index itself changed.
pub fn again(workspace: &Workspace, before: Fresh, opening: &mut Opening) -> Result<Fresh, Error> {
    // An answer from older text must not become permanent in a server.
    let behind = |remark: &Remark| matches!(remark, Remark::Behind { .. });
    let usable = !opening.force
        && !before.remarks.iter().any(behind)
        && before.index.is_as_opened()
        && (before.in_memory().is_some() || manifest_is_there(workspace));
    if usable {
        let (scan, manifest) = workspace.scan_and_manifest();
        let unchanged = refresh::nothing_differs(&scan, &before.catalogue)
            && refresh::has_current_shape(workspace, &before.index)?;
        if unchanged {
            let mut before = before;
            // A row of the manifest can change while no document does.
            if manifest.as_ref().map(Manifest::retired).unwrap_or_default() != before.retired {
                before.catalogue = before.index.catalogue()?;
                before = before.with_retired(manifest.as_ref());
            }
            let kept = before.remarks.into_iter();
            let mut remarks: Vec<Remark> = kept
                .filter(|remark| matches!(remark, Remark::InMemory(_) | Remark::Beside { .. }))
                .collect();
            remarks.extend(unreadable_in(&scan));
            return Ok(Fresh {
                refresh: None,
                lock: None,
                remarks,
                ..before
            });
        }
    }
    // Closed before it is opened again, since a rebuild replaces the file.
    drop(before);
    fresh(workspace, opening)
}

/// Returns `true` if the listing for other tools exists.
fn manifest_is_there(workspace: &Workspace) -> bool {
    let manifest = workspace.derived().join("manifest.json");
    manifest.symlink_metadata().is_ok()
}

/// Opens the index in its file and brings it up to date under the lock.
fn kept(
    workspace: &Workspace,
    scan: &Scan,
    lock: Lock,
    damage: Option<String>,
    opening: &mut Opening,
) -> Result<Fresh, Error> {
    let opened = Index::open(&workspace.derived())?;
    let mut remarks = Vec::new();
    let is_new = matches!(opened.note, Some(Note::Created | Note::Rebuilt(_)));
    match opened.note {
        Some(Note::Rebuilt(why)) => remarks.push(Remark::Rebuilt(why)),
        Some(Note::Beside { newer, path }) => remarks.push(Remark::Beside {
            newer,
            path: path.display().to_string(),
        }),
        Some(Note::Created) | None => {}
    }
    let mut index = opened.index;
    // A file that was just created or rebuilt cannot have the damage that was
    // found before.
    if let Some(why) = damage
        && !is_new
    {
        index = index.rebuild()?;
        remarks.push(Remark::Rebuilt(why));
    }
    // Damage may show only when rows are written. One rebuild is enough, since
    // the file is new then.
    let report = match run(workspace, scan, &mut index, &lock, opening) {
        Err(Error::Index(e)) if e.is_damage() => {
            remarks.push(Remark::Rebuilt(e.to_string()));
            index = index.rebuild()?;
            run(workspace, scan, &mut index, &lock, opening)?
        }
        other => other?,
    };
    remarks.extend(unreadable(report.problems.clone()));
    Ok(Fresh {
        catalogue: index.catalogue()?,
        index,
        refresh: Some(report),
        lock: Some(lock),
        remarks,
        retired: Retired::default(),
    })
}

/// Rebuilds an index that proved to be damaged during a query.
pub fn rebuilt(workspace: &Workspace, opening: &mut Opening, why: String) -> Result<Fresh, Error> {
    let (scan, manifest) = workspace.scan_and_manifest();
    let fresh = match workspace.lock_index(opening.wait) {
        Ok(lock) => kept(workspace, &scan, lock, Some(why), opening)
            .or_else(|e| in_memory(workspace, &scan, opening, e.to_string())),
        Err(_) => in_memory(workspace, &scan, opening, why),
    };
    Ok(fresh?.with_retired(manifest.as_ref()))
}

fn run(
    workspace: &Workspace,
    scan: &Scan,
    index: &mut Index,
    lock: &Lock,
    opening: &mut Opening,
) -> Result<Refresh, Error> {
    refresh::refresh(
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
fn nothing(workspace: &Workspace, scan: &Scan) -> Result<Option<Fresh>, Error> {
    if workspace
        .derived()
        .join("index.db")
        .symlink_metadata()
        .is_ok()
    {
        return Ok(None);
    }
    let differences = refresh::differences(scan, &[], false);
    if !differences.none() {
        return Ok(None);
    }
    Ok(Some(Fresh {
        index: Index::in_memory()?,
        catalogue: Vec::new(),
        refresh: None,
        lock: None,
        remarks: unreadable(differences.problems),
        retired: Retired::default(),
    }))
}

fn unreadable_in(scan: &Scan) -> Vec<Remark> {
    unreadable(scan.problems.iter().map(ToString::to_string).collect())
}

fn unreadable(problems: Vec<String>) -> Vec<Remark> {
    problems.into_iter().map(Remark::Unreadable).collect()
}

/// Opens the index if nothing changed, which is the usual case.
fn unchanged(workspace: &Workspace, scan: &Scan) -> Result<Option<Fresh>, Error> {
    let Some(index) = Index::open_existing(&workspace.derived())? else {
        return Ok(None);
    };
    let catalogue = index.catalogue()?;
    // A removed `manifest.json` is written again.
    if !refresh::nothing_differs(scan, &catalogue)
        || !manifest_is_there(workspace)
        || !refresh::has_current_shape(workspace, &index)?
    {
        return Ok(None);
    }
    Ok(Some(Fresh {
        index,
        catalogue,
        refresh: None,
        lock: None,
        remarks: unreadable_in(scan),
        retired: Retired::default(),
    }))
}

/// Opens the last committed state of an index that another process is still
/// writing.
fn behind(workspace: &Workspace, scan: &Scan, locked: Error) -> Result<Fresh, Error> {
    let Some(index) = Index::open_existing(&workspace.derived())? else {
        return Err(locked);
    };
    let catalogue = index.catalogue()?;
    let d = refresh::differences(scan, &catalogue, false);
    let files = d.to_read.len() + d.gone.len();
    Ok(Fresh {
        index,
        catalogue,
        refresh: None,
        lock: None,
        remarks: vec![Remark::Behind { files }],
        retired: Retired::default(),
    })
}

/// Builds the index in memory, from all files.
fn in_memory(
    workspace: &Workspace,
    scan: &Scan,
    opening: &mut Opening,
    why: String,
) -> Result<Fresh, Error> {
    let mut index = Index::in_memory()?;
    let report = refresh::build(workspace, scan, &mut index, opening.progress)?;
    let mut remarks = vec![Remark::InMemory(why)];
    remarks.extend(unreadable(report.problems.clone()));
    Ok(Fresh {
        catalogue: index.catalogue()?,
        index,
        refresh: Some(report),
        lock: None,
        remarks,
        retired: Retired::default(),
    })
}
