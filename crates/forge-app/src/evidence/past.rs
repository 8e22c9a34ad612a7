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
    sessions: Vec<PastSession>,
}

/// What is new in the transcript of one session.
#[derive(Debug)]
struct PastSession {
    transcript: PathBuf,
    /// Whether a hook or an import has read a part of it.
    was_read: bool,
    entries: Vec<EvidenceEntry>,
    /// Where the reading ended.
    end: u64,
}

/// What an import of past sessions adds to the evidence.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ImportedEvidence {
    /// Number of entries that are new.
    pub added: usize,
    /// Number of sessions that were read before and have nothing new.
    pub known_sessions: usize,
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
            self.sessions.push(PastSession {
                transcript: path.to_owned(),
                was_read: part.was_read,
                entries: part.entries,
                end: part.end,
            });
        }
    }

    /// Stores the entries and returns what is new. With `dry_run`, only counts
    /// it.
    pub(crate) fn store(
        mut self,
        workspace: &Workspace,
        dry_run: bool,
        now: Timestamp,
    ) -> Result<ImportedEvidence, WorkspaceError> {
        let limits = EvidenceLimits::default();
        let oldest = now.as_second().saturating_sub(limits.max_age_seconds);
        let mut log = read_evidence(workspace);
        let is_there = log.membership();
        let mut imported = ImportedEvidence::default();
        let mut entries = Vec::new();
        for session in &mut self.sessions {
            session.entries.retain(|entry| entry.at >= oldest);
            // Its entries may be there although its position is not kept.
            let was_read = session.was_read || !session.entries.is_empty();
            let is_known = was_read && session.entries.iter().all(&is_there);
            imported.known_sessions += usize::from(is_known);
            entries.append(&mut session.entries);
        }
        if dry_run {
            imported.added = log.add(entries, now.as_second(), &limits);
            return Ok(imported);
        }
        if !keeps_evidence(workspace) {
            return Ok(imported);
        }
        imported.added = store_entries(workspace, entries, "", now)?;
        for session in &self.sessions {
            transcript::keep_position(workspace, &session.transcript, session.end)?;
        }
        Ok(imported)
    }
}
