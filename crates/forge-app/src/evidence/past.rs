//! Evidence of past sessions, which an import reads. Each transcript is read
//! from where the last reading ended, and an entry that a hook has recorded is
//! not recorded again.

use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::transcript::{self, MAX_IMPORTED_BYTES};
use super::{TranscriptSource, keeps_evidence, read_evidence, store_entries};
use crate::workspace::{Workspace, WorkspaceError};
use forge_memory::evidence::{EvidenceEntry, EvidenceLimits};
use forge_store::regular;

/// Evidence that was read and is not stored yet. It is stored once, since each
/// time the whole log is written.
#[derive(Debug, Default)]
pub(crate) struct PastEvidence {
    entries: Vec<EvidenceEntry>,
    /// Transcripts, with where their reading ended.
    ends: Vec<(PathBuf, u64)>,
}

impl PastEvidence {
    /// Reads what is new in the transcript of a session that ran in `cwd`. A
    /// session of another project is no evidence about this one.
    pub(crate) fn read(
        &mut self,
        workspace: &Workspace,
        path: &Path,
        session: &str,
        cwd: Option<&str>,
    ) {
        let root = workspace.root();
        let cwd = Path::new(cwd.unwrap_or_default());
        let is_here = cwd.starts_with(root)
            || regular::canonicalize(cwd).is_ok_and(|it| {
                let root = regular::canonicalize(root);
                root.is_ok_and(|root| it.starts_with(root))
            });
        let Some(folder) = path.parent().filter(|_| is_here) else {
            return;
        };
        // The person named the file or the client's folder.
        let homes = [folder.to_path_buf()];
        let source = TranscriptSource {
            path,
            session,
            cwd,
            homes: &homes,
        };
        if let Some(part) = transcript::read_new(workspace, &source, MAX_IMPORTED_BYTES) {
            self.entries.extend(part.entries);
            self.ends.push((path.to_owned(), part.end));
        }
    }

    /// Stores the entries and returns how many are new. With `dry_run`, only
    /// counts them.
    pub(crate) fn store(
        mut self,
        workspace: &Workspace,
        dry_run: bool,
        now: Timestamp,
    ) -> Result<usize, WorkspaceError> {
        let limits = EvidenceLimits::default();
        let oldest = now.as_second().saturating_sub(limits.max_age_seconds);
        self.entries.retain(|entry| entry.at >= oldest);
        if dry_run {
            let mut log = read_evidence(workspace);
            return Ok(log.add(self.entries, now.as_second(), &limits));
        }
        if !keeps_evidence(workspace) {
            return Ok(0);
        }
        let added = store_entries(workspace, self.entries, "", now)?;
        for (path, end) in &self.ends {
            transcript::keep_position(workspace, path, *end)?;
        }
        Ok(added)
    }
}
