//! Reads the evidence of all checkouts of a repository: what failed in one of
//! them fails in the others. Only files under this user's key are read, and
//! another checkout's file is never written.

use std::path::Path;

use super::read_evidence;
use crate::workspace::{Workspace, git};
use forge_memory::evidence::{EVIDENCE_FILE, EvidenceEntry, EvidenceLog};

/// Other checkouts whose evidence is read.
const MAX_OTHER_CHECKOUTS: usize = 8;
/// Newest entries of another checkout that are read.
const MAX_OTHER_ENTRIES: usize = 1_000;

/// Entries of several logs, sorted by time.
#[derive(Debug, Default)]
pub(super) struct EvidenceCollection {
    pub(super) entries: Vec<EvidenceEntry>,
    /// The log and the place in it of each entry.
    places: Vec<(usize, usize)>,
    /// The folders in front of the names of logs; empty for this checkout.
    folders: Vec<String>,
}

impl EvidenceCollection {
    /// Returns the file and the line of an entry. The first line is a mark.
    pub(super) fn place(&self, at: usize) -> (String, usize) {
        let (log, place) = self.places[at];
        (format!("{}{EVIDENCE_FILE}", self.folders[log]), place + 2)
    }

    /// Returns the line of an entry of this checkout's log; `None` for others.
    pub(super) fn own_line(&self, at: usize) -> Option<usize> {
        let (log, place) = *self.places.get(at)?;
        (log == 0).then_some(place + 2)
    }

    /// Keeps the entries for which `keep` returns `true`.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(usize, &EvidenceEntry) -> bool) {
        let kept: Vec<usize> = (0..self.entries.len())
            .filter(|&at| keep(at, &self.entries[at]))
            .collect();
        self.places = kept.iter().map(|&at| self.places[at]).collect();
        let mut entries = std::mem::take(&mut self.entries);
        let mut at = 0;
        let mut next = kept.iter().peekable();
        entries.retain(|_| {
            let is_kept = next.next_if(|it| **it == at).is_some();
            at += 1;
            is_kept
        });
        self.entries = entries;
    }
}

/// Reads the log of this checkout and those of others.
pub(super) fn read_everywhere(workspace: &Workspace) -> EvidenceCollection {
    merge_others(workspace, read_evidence(workspace))
}

/// Adds the newest entries of other checkouts to a log of this one.
pub(super) fn merge_others(workspace: &Workspace, own: EvidenceLog) -> EvidenceCollection {
    let mut all: Vec<(EvidenceEntry, (usize, usize))> = Vec::new();
    let own = own.entries.into_iter().enumerate();
    all.extend(own.map(|(at, entry)| (entry, (0, at))));
    let mut folders = vec![String::new()];
    for root in git::list_other_worktrees(workspace.root())
        .iter()
        .take(MAX_OTHER_CHECKOUTS)
    {
        let Some(log) = read_other(root) else {
            continue;
        };
        let first = log.entries.len().saturating_sub(MAX_OTHER_ENTRIES);
        let newest = log.entries.into_iter().enumerate().skip(first);
        all.extend(newest.map(|(at, entry)| (entry, (folders.len(), at))));
        folders.push(format!("{}/", root.display()));
    }
    if folders.len() > 1 {
        // A stable sort: the order within a log stays.
        all.sort_by_key(|(entry, _)| entry.at);
    }
    let (entries, places) = all.into_iter().unzip();
    EvidenceCollection {
        entries,
        places,
        folders,
    }
}

fn read_other(root: &Path) -> Option<EvidenceLog> {
    let other = Workspace::open(root).ok()?;
    let log = read_evidence(&other);
    (!log.entries.is_empty()).then_some(log)
}
