//! The knowledge at a git revision, as an index in memory. Nothing is checked
//! out: files are read from git's objects.

use super::describe::{describe_document, describe_unusable};
use super::refresh::RefreshError;
use crate::document::{self, DocumentFormat};
use crate::index::{CatalogueEntry, FileStamp, Index, IndexChange, PassageSizes};
use crate::routing::manifest::{self, Manifest};
use crate::workspace::{FileRole, RelPath, Workspace, git};

/// An index of the knowledge at a git revision.
pub struct PastKnowledge {
    /// The index, in memory.
    pub index: Index,
    /// The documents of that revision.
    pub catalogue: Vec<CatalogueEntry>,
    /// The id of the commit.
    pub commit: String,
    /// The day of the commit.
    pub date: String,
}

/// Number of files read from git at a time, which bounds memory.
const BATCH_FILES: usize = 500;

/// Indexes the knowledge of a revision in memory. Fails if git does not know
/// the revision.
pub fn index_revision(
    workspace: &Workspace,
    rev: &str,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<PastKnowledge, RefreshError> {
    let rev = git::resolve_revision(workspace.root(), rev)?;
    let all = git::list_files_at(workspace.root(), &rev, "")?;
    // The domains that the manifest had at that revision.
    let manifest = all.iter().find(|(path, _)| path == manifest::MANIFEST_FILE);
    let manifest = match manifest {
        Some((_, blob)) => git::read_blobs(workspace.root(), &[blob.as_str()])?.pop(),
        None => None,
    };
    let domains = manifest
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .map(|text| Manifest::parse(text).domains())
        .unwrap_or_default();
    let roles = workspace.roles_with(domains);
    let files: Vec<(RelPath, FileRole, String)> = all
        .into_iter()
        .filter(|(path, _)| DocumentFormat::of(path).is_some())
        .filter_map(|(path, blob)| {
            let path = RelPath::new(&path).ok()?;
            let role = roles.of(&path);
            let inside = path.starts_with("knowledge")
                || roles
                    .domains()
                    .iter()
                    .any(|domain| path.starts_with(domain))
                || roles.includes(&path);
            let wanted = matches!(
                role,
                FileRole::Knowledge | FileRole::Archive | FileRole::Agent
            ) && (inside || role == FileRole::Agent)
                || path.as_str() == "knowledge/README.md";
            wanted.then_some((path, role, blob))
        })
        .collect();
    let sizes = PassageSizes::with_limit(workspace.config().index.chunk_tokens);
    let mut index = Index::in_memory()?;
    let mut done = 0;
    for batch in files.chunks(BATCH_FILES) {
        let ids: Vec<&str> = batch.iter().map(|(_, _, blob)| blob.as_str()).collect();
        let blobs = git::read_blobs(workspace.root(), &ids)?;
        let mut changes = Vec::new();
        for ((path, role, _), bytes) in batch.iter().zip(blobs) {
            done += 1;
            progress(done, files.len());
            let stamp = FileStamp {
                size: bytes.len() as u64,
                mtime_ns: 0,
                recorded_ns: 0,
            };
            let put = match String::from_utf8(bytes) {
                Ok(text) => {
                    let hash = document::content_hash(&text);
                    describe_document(path, *role, stamp, hash, &text, sizes).1
                }
                Err(_) => describe_unusable(path, *role, stamp, "it is not UTF-8".to_owned()),
            };
            changes.push(IndexChange::Put(Box::new(put)));
        }
        index.apply_changes(changes)?;
    }
    Ok(PastKnowledge {
        catalogue: index.catalogue()?,
        index,
        commit: rev.commit,
        date: rev.date.to_string(),
    })
}
