//! Forgetting documents: which ones to choose, adding them to the list, and
//! restoring them. The files stay as they are: `retractions` owns the list that
//! searches use.

use std::collections::HashSet;

use jiff::{Timestamp, ToSpan};

use super::refresh;
use crate::admit;
use crate::diagnostic::Diagnostic;
use crate::index::{self, FileUsage, Index};
use crate::retractions::{self, ListError};
use crate::workspace::{self, ChangeReceipt, FileRole, RelPath, Workspace, role_by_path};

pub use crate::retractions::{RETRACTION_LIST, Tombstone};

/// The reason why a document cannot be forgotten or restored.
#[derive(Debug, thiserror::Error)]
pub enum ForgetError {
    /// The index cannot be read.
    #[error(transparent)]
    Index(#[from] index::IndexError),
    /// The workspace cannot be read or written; the file system is at fault.
    #[error(transparent)]
    Workspace(#[from] workspace::WorkspaceError),
    /// The caller's reason was refused by the gate.
    #[error(transparent)]
    Refused(#[from] admit::TextRefusal),
    /// The caller named a file that does not exist.
    #[error("There is no document `{path}`")]
    Missing {
        /// The path that was named.
        path: String,
    },
    /// The caller named a file outside `knowledge/`.
    #[error("`{path}` is not a document of `knowledge/`, and only those are forgotten")]
    NotKnowledge {
        /// The path that was named.
        path: String,
    },
    /// The caller named a document that its importance protects.
    #[error("`{path}` has importance {importance}, and from {protect} on nothing is forgotten")]
    Protected {
        /// The document.
        path: String,
        /// Its importance.
        importance: i64,
        /// The importance from which on documents are protected.
        protect: u8,
    },
    /// The caller restores a document that is not on the list.
    #[error("`{path}` is not forgotten")]
    NotForgotten {
        /// The path that was named.
        path: String,
    },
    /// The user's list has a comment or code block that would swallow a new
    /// entry.
    #[error(
        "`{RETRACTION_LIST}` cannot be added to: a comment or code block in it is never closed"
    )]
    OpenEnded,
}

impl Diagnostic for ForgetError {
    fn code(&self) -> &'static str {
        match self {
            ForgetError::Index(error) => error.code(),
            ForgetError::Workspace(error) => error.code(),
            ForgetError::Refused(error) => error.code(),
            ForgetError::Missing { .. } => "forget.missing",
            ForgetError::NotKnowledge { .. } => "forget.not-knowledge",
            ForgetError::Protected { .. } => "forget.protected",
            ForgetError::NotForgotten { .. } => "forget.not-forgotten",
            ForgetError::OpenEnded => "forget.open-ended",
        }
    }

    fn hints(&self) -> Vec<String> {
        let hint = match self {
            ForgetError::Index(error) => return error.hints(),
            ForgetError::Workspace(error) => return error.hints(),
            ForgetError::Refused(error) => return error.hints(),
            ForgetError::NotKnowledge { .. } => return Vec::new(),
            ForgetError::Missing { .. } => {
                "Name it from the root, as `knowledge/notes.md`".to_owned()
            }
            ForgetError::Protected { protect, .. } => {
                format!("Lower `importance` in its front matter below {protect} first")
            }
            ForgetError::NotForgotten { .. } => {
                "`memory-forge stats` lists what is forgotten".to_owned()
            }
            ForgetError::OpenEnded => "Close it, then try again".to_owned(),
        };
        vec![hint]
    }

    fn is_usage(&self) -> bool {
        matches!(self, ForgetError::Index(error) if error.is_usage())
    }
}

impl From<ListError> for ForgetError {
    fn from(error: ListError) -> ForgetError {
        match error {
            ListError::Workspace(error) => ForgetError::Workspace(error),
            ListError::OpenEnded => ForgetError::OpenEnded,
        }
    }
}

/// A document to forget, with its usage and the reason.
#[derive(Debug, Clone, PartialEq)]
pub struct ForgetChoice {
    /// The document.
    pub path: String,
    /// Its importance, from 1 to 10.
    pub importance: i64,
    /// Number of times that it was used.
    pub count: u64,
    /// The day of its last use; none if it was never used.
    pub last: Option<String>,
    /// Why it would be forgotten.
    pub reason: String,
}

/// The documents to forget. Zero is a valid limit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ForgetRequest {
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
pub fn read_forgotten_paths(
    workspace: &Workspace,
) -> Result<HashSet<String>, refresh::RefreshError> {
    Ok(retractions::read_forgotten(workspace)?)
}

/// Returns every entry of the list, in its own order.
pub fn list_tombstones(workspace: &Workspace) -> Result<Vec<Tombstone>, workspace::WorkspaceError> {
    retractions::read_tombstones(workspace)
}

/// Chooses the documents to forget, least important first. Skips documents that
/// are forgotten already, and protected ones; fails if a protected document is
/// named.
pub fn choose_documents(
    workspace: &Workspace,
    index: &Index,
    wanted: &ForgetRequest,
    now: Timestamp,
) -> Result<Vec<ForgetChoice>, ForgetError> {
    admit::refuse_secrets(wanted.reason.as_deref())?;
    let protect = workspace.config().forget.protect_importance;
    let gone: HashSet<String> = list_tombstones(workspace)?
        .into_iter()
        .map(|t| t.path)
        .collect();
    let usage = index.usage()?;
    let mut chosen = Vec::new();
    for path in &wanted.paths {
        choose_named(workspace, path, &usage, protect, wanted, &mut chosen)?;
    }
    let mut least_first = list_candidates(index, usage, &gone)?;
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
        let is_old = |u: &&FileUsage| {
            u.last
                .as_deref()
                .and_then(parse_timestamp)
                .is_none_or(|t| t < cutoff)
        };
        for old in least_first.iter().filter(is_old) {
            let reason = match &old.last {
                Some(_) => format!("in no result for {days} days"),
                None => "never appeared in a result".to_owned(),
            };
            chosen.push(choice_with_reason(old, reason));
        }
    }
    if let Some(most) = wanted.max_files {
        // Protected documents stay and count.
        let too_many = documents.saturating_sub(most).min(least_first.len());
        for least in &least_first[..too_many] {
            chosen.push(choice_with_reason(
                least,
                format!("beyond the {most} to keep"),
            ));
        }
    }
    // The first reason for a document wins.
    let mut seen = gone;
    chosen.retain(|c| seen.insert(c.path.clone()));
    Ok(chosen)
}

/// Adds documents to the list of forgotten ones.
pub fn forget_documents(
    workspace: &Workspace,
    chosen: &[ForgetChoice],
    now: Timestamp,
) -> Result<ChangeReceipt, ForgetError> {
    let documents: Vec<(&str, &str)> = chosen
        .iter()
        .map(|it| (it.path.as_str(), it.reason.as_str()))
        .collect();
    let what = describe_change("Forget", chosen.iter().map(|c| &*c.path));
    Ok(retractions::add_documents(
        workspace, &what, &documents, now,
    )?)
}

/// Removes documents from the list, all of them for `None`. Returns the paths.
pub fn restore_documents(
    workspace: &Workspace,
    paths: Option<&[RelPath]>,
    now: Timestamp,
) -> Result<(Vec<String>, ChangeReceipt), ForgetError> {
    let listed: HashSet<String> = list_tombstones(workspace)?
        .into_iter()
        .map(|t| t.path)
        .collect();
    let mut restored: Vec<String> = match paths {
        None => listed.iter().cloned().collect(),
        Some(paths) => paths.iter().map(RelPath::to_string).collect(),
    };
    restored.sort();
    restored.dedup();
    if let Some(path) = restored.iter().find(|path| !listed.contains(*path)) {
        return Err(ForgetError::NotForgotten { path: path.clone() });
    }
    let what = describe_change("Restore", restored.iter().map(|p| &**p));
    let receipt = retractions::remove_documents(workspace, &what, &restored, now)?;
    Ok((restored, receipt))
}

/// Adds a document that the user named. Fails if it is missing, protected or
/// outside `knowledge/`.
fn choose_named(
    workspace: &Workspace,
    path: &RelPath,
    usage: &[FileUsage],
    protect: u8,
    wanted: &ForgetRequest,
    chosen: &mut Vec<ForgetChoice>,
) -> Result<(), ForgetError> {
    let name = path.to_string();
    if !path.starts_with("knowledge")
        || !matches!(role_by_path(path), FileRole::Knowledge | FileRole::Archive)
    {
        return Err(ForgetError::NotKnowledge { path: name });
    }
    if !workspace.absolute_path(path).is_file() {
        return Err(ForgetError::Missing { path: name });
    }
    // A file that could not be indexed has no usage and can still be forgotten.
    let known = usage.iter().find(|u| u.path == name).cloned();
    let known = known.unwrap_or(FileUsage {
        path: name.clone(),
        importance: 5,
        last: None,
        count: 0,
    });
    if known.importance >= i64::from(protect) {
        return Err(ForgetError::Protected {
            path: name,
            importance: known.importance,
            protect,
        });
    }
    let reason = wanted
        .reason
        .clone()
        .unwrap_or_else(|| "by hand".to_owned());
    chosen.push(choice_with_reason(&known, reason));
    Ok(())
}

/// Returns the usage of documents that a search of knowledge finds.
fn list_candidates(
    index: &Index,
    usage: Vec<FileUsage>,
    gone: &HashSet<String>,
) -> Result<Vec<FileUsage>, index::IndexError> {
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

fn choice_with_reason(usage: &FileUsage, reason: String) -> ForgetChoice {
    ForgetChoice {
        path: usage.path.clone(),
        importance: usage.importance,
        count: usage.count,
        last: usage.last.clone(),
        reason,
    }
}

fn parse_timestamp(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}

fn describe_change<'a>(verb: &str, paths: impl ExactSizeIterator<Item = &'a str>) -> String {
    let count = paths.len();
    match (count, paths.last()) {
        (1, Some(path)) => format!("{verb} {path}"),
        _ => format!("{verb} {count} documents"),
    }
}

#[cfg(test)]
mod tests;
