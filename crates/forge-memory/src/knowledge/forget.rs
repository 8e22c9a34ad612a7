//! Forgetting documents: which ones to choose, adding them to the list, and
//! restoring them. The files stay as they are: `retractions` owns the list that
//! searches use.

use std::collections::HashSet;

use jiff::{Timestamp, ToSpan};

use super::refresh;
use crate::admit;
use crate::diagnostic::Diagnostic;
use crate::index::{self, Index, Usage};
use crate::retractions::{self, ListError};
use crate::workspace::{self, Receipt, RelPath, Role, Workspace, role_by_path};

pub use crate::retractions::{LIST, Tombstone};

/// The reason why a document cannot be forgotten or restored.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The index cannot be read.
    #[error(transparent)]
    Index(#[from] index::Error),
    /// The workspace cannot be read or written; the file system is at fault.
    #[error(transparent)]
    Workspace(#[from] workspace::Error),
    /// The caller's reason was refused by the gate.
    #[error(transparent)]
    Refused(#[from] admit::Refusal),
    /// The caller named a file that does not exist.
    #[error("There is no document `{path}`")]
    Missing { path: String },
    /// The caller named a file outside `knowledge/`.
    #[error("`{path}` is not a document of `knowledge/`, and only those are forgotten")]
    NotKnowledge { path: String },
    /// The caller named a document that its importance protects.
    #[error("`{path}` has importance {importance}, and from {protect} on nothing is forgotten")]
    Protected {
        path: String,
        importance: i64,
        protect: u8,
    },
    /// The caller restores a document that is not on the list.
    #[error("`{path}` is not forgotten")]
    NotForgotten { path: String },
    /// The user's list has a comment or code block that would swallow a new
    /// entry.
    #[error("`{LIST}` cannot be added to: a comment or code block in it is never closed")]
    OpenEnded,
}

impl Diagnostic for Error {
    fn code(&self) -> &'static str {
        match self {
            Error::Index(error) => error.code(),
            Error::Workspace(error) => error.code(),
            Error::Refused(error) => error.code(),
            Error::Missing { .. } => "forget.missing",
            Error::NotKnowledge { .. } => "forget.not-knowledge",
            Error::Protected { .. } => "forget.protected",
            Error::NotForgotten { .. } => "forget.not-forgotten",
            Error::OpenEnded => "forget.open-ended",
        }
    }

    fn hints(&self) -> Vec<String> {
        let hint = match self {
            Error::Index(error) => return error.hints(),
            Error::Workspace(error) => return error.hints(),
            Error::Refused(error) => return error.hints(),
            Error::NotKnowledge { .. } => return Vec::new(),
            Error::Missing { .. } => "Name it from the root, as `knowledge/notes.md`".to_owned(),
            Error::Protected { protect, .. } => {
                format!("Lower `importance` in its front matter below {protect} first")
            }
            Error::NotForgotten { .. } => "`memory-forge stats` lists what is forgotten".to_owned(),
            Error::OpenEnded => "Close it, then try again".to_owned(),
        };
        vec![hint]
    }

    fn is_usage(&self) -> bool {
        matches!(self, Error::Index(error) if error.is_usage())
    }
}

impl From<ListError> for Error {
    fn from(error: ListError) -> Error {
        match error {
            ListError::Workspace(error) => Error::Workspace(error),
            ListError::OpenEnded => Error::OpenEnded,
        }
    }
}

/// A document to forget, with its usage and the reason.
#[derive(Debug, Clone, PartialEq)]
pub struct Chosen {
    pub path: String,
    pub importance: i64,
    pub count: u64,
    pub last: Option<String>,
    pub reason: String,
}

/// The documents to forget. Zero is a valid limit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Documents that the user named, relative to the root.
    pub paths: Vec<RelPath>,
    /// The reason for those.
    pub reason: Option<String>,
    /// Maximum number of documents to keep.
    pub max_files: Option<usize>,
    /// Number of days after which a document that no search found is forgotten.
    pub max_age_days: Option<u32>,
}

/// Returns the paths that the list contains, relative to the root.
pub fn forgotten(workspace: &Workspace) -> Result<HashSet<String>, refresh::Error> {
    Ok(retractions::read_forgotten(workspace)?)
}

/// Returns every entry of the list, in its own order.
pub fn list(workspace: &Workspace) -> Result<Vec<Tombstone>, workspace::Error> {
    retractions::read_tombstones(workspace)
}

/// Chooses the documents to forget, least important first. Skips documents that
/// are forgotten already, and protected ones; fails if a protected document is
/// named.
pub fn choose(
    workspace: &Workspace,
    index: &Index,
    wanted: &Wanted,
    now: Timestamp,
) -> Result<Vec<Chosen>, Error> {
    admit::refuse_secrets(wanted.reason.as_deref())?;
    let protect = workspace.config().forget.protect_importance;
    let gone: HashSet<String> = list(workspace)?.into_iter().map(|t| t.path).collect();
    let usage = index.usage()?;
    let mut chosen = Vec::new();
    for path in &wanted.paths {
        named(workspace, path, &usage, protect, wanted, &mut chosen)?;
    }
    let mut least_first = candidates(index, usage, &gone)?;
    let documents = least_first.len();
    least_first.retain(|u| u.importance < i64::from(protect));
    least_first.sort_by(|a, b| {
        (a.importance, a.count, &a.last, &a.path).cmp(&(b.importance, b.count, &b.last, &b.path))
    });
    if let Some(days) = wanted.max_age_days {
        // A number of days beyond the calendar matches only documents that no
        // search ever found.
        let cutoff = now
            .checked_sub((i64::from(days) * 24).hours())
            .unwrap_or(Timestamp::MIN);
        let is_old = |u: &&Usage| {
            u.last
                .as_deref()
                .and_then(moment)
                .is_none_or(|t| t < cutoff)
        };
        for old in least_first.iter().filter(is_old) {
            let reason = match &old.last {
                Some(_) => format!("not found by a search for {days} days"),
                None => "never found by a search".to_owned(),
            };
            chosen.push(because(old, reason));
        }
    }
    if let Some(most) = wanted.max_files {
        // Protected documents stay and count.
        let too_many = documents.saturating_sub(most).min(least_first.len());
        for least in &least_first[..too_many] {
            chosen.push(because(least, format!("beyond the {most} to keep")));
        }
    }
    // The first reason for a document wins.
    let mut seen = gone;
    chosen.retain(|c| seen.insert(c.path.clone()));
    Ok(chosen)
}

/// Adds documents to the list of forgotten ones.
pub fn forget(workspace: &Workspace, chosen: &[Chosen], now: Timestamp) -> Result<Receipt, Error> {
    let documents: Vec<(&str, &str)> = chosen
        .iter()
        .map(|it| (it.path.as_str(), it.reason.as_str()))
        .collect();
    let what = what("Forget", chosen.iter().map(|c| &*c.path));
    Ok(retractions::add_documents(
        workspace, &what, &documents, now,
    )?)
}

/// Removes documents from the list, all of them for `None`. Returns the paths.
pub fn restore(
    workspace: &Workspace,
    paths: Option<&[RelPath]>,
    now: Timestamp,
) -> Result<(Vec<String>, Receipt), Error> {
    let listed: HashSet<String> = list(workspace)?.into_iter().map(|t| t.path).collect();
    let mut restored: Vec<String> = match paths {
        None => listed.iter().cloned().collect(),
        Some(paths) => paths.iter().map(RelPath::to_string).collect(),
    };
    restored.sort();
    restored.dedup();
    if let Some(path) = restored.iter().find(|path| !listed.contains(*path)) {
        return Err(Error::NotForgotten { path: path.clone() });
    }
    let what = what("Restore", restored.iter().map(|p| &**p));
    let receipt = retractions::remove_documents(workspace, &what, &restored, now)?;
    Ok((restored, receipt))
}

/// Adds a document that the user named. Fails if it is missing, protected or
/// outside `knowledge/`.
fn named(
    workspace: &Workspace,
    path: &RelPath,
    usage: &[Usage],
    protect: u8,
    wanted: &Wanted,
    chosen: &mut Vec<Chosen>,
) -> Result<(), Error> {
    let name = path.to_string();
    if !path.starts_with("knowledge")
        || !matches!(role_by_path(path), Role::Knowledge | Role::Archive)
    {
        return Err(Error::NotKnowledge { path: name });
    }
    if !workspace.absolute(path).is_file() {
        return Err(Error::Missing { path: name });
    }
    // A file that could not be indexed has no usage and can still be forgotten.
    let known = usage.iter().find(|u| u.path == name).cloned();
    let known = known.unwrap_or(Usage {
        path: name.clone(),
        importance: 5,
        last: None,
        count: 0,
    });
    if known.importance >= i64::from(protect) {
        return Err(Error::Protected {
            path: name,
            importance: known.importance,
            protect,
        });
    }
    let reason = wanted
        .reason
        .clone()
        .unwrap_or_else(|| "by hand".to_owned());
    chosen.push(because(&known, reason));
    Ok(())
}

/// Returns the usage of documents that a search of knowledge finds.
fn candidates(
    index: &Index,
    usage: Vec<Usage>,
    gone: &HashSet<String>,
) -> Result<Vec<Usage>, index::Error> {
    let found: HashSet<String> = index
        .catalogue()?
        .into_iter()
        .filter(|e| e.scope == "knowledge" && !gone.contains(&e.path))
        .map(|e| e.path)
        .collect();
    Ok(usage
        .into_iter()
        .filter(|u| found.contains(&u.path))
        .collect())
}

fn because(usage: &Usage, reason: String) -> Chosen {
    Chosen {
        path: usage.path.clone(),
        importance: usage.importance,
        count: usage.count,
        last: usage.last.clone(),
        reason,
    }
}

fn moment(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}

fn what<'a>(verb: &str, paths: impl ExactSizeIterator<Item = &'a str>) -> String {
    let count = paths.len();
    match (count, paths.last()) {
        (1, Some(path)) => format!("{verb} {path}"),
        _ => format!("{verb} {count} documents"),
    }
}

#[cfg(test)]
mod tests;
