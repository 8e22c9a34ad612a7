//! Renews summaries in the manifest's rows and in hub pages, where the file
//! behind them changed.
//!
//! A row belongs to its author. The hash of each summary that we wrote is
//! stored in `.memory-forge/`, so a row with another text was edited by a
//! person and is kept, and so is one without a hash. Only a row that repeats
//! the name of its file counts as empty. Losing the hashes loses nothing: rows
//! are then kept until `force`.

use std::collections::{BTreeMap, HashSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{LinkTargets, propose_edit};
use crate::bulk::{self, BulkSkill, RunOwner, RunReport, RunStatus};
use crate::document::{self, TextEdit, content_hash};
use crate::routing::hubs::{self, Hub};
use crate::routing::manifest::{
    self, Manifest, ManifestEntry, ManifestPart, RetiredFiles, SUMMARY_FORMAT_VERSION,
};
use crate::routing::summary::{MAX_SUMMARY_CHARS, summarize_document};
use crate::workspace::{ChangeProposal, ChangeReceipt, RelPath, Workspace, WorkspaceError};

const SUMMARY_HASHES_FILE: &str = "summaries.json";

/// A plan of the summaries to renew.
#[derive(Debug, Default)]
pub struct SummaryPlan {
    /// The files that change.
    pub proposal: ChangeProposal,
    /// Number of rows of Tier 1 with a new summary.
    pub tier1: usize,
    /// Number of rows of the Hub Map with a new summary.
    pub hub_map: usize,
    /// Number of rows of hub pages with a new summary.
    pub hub_pages: usize,
    /// Rows without a file, with the list that has them.
    pub lost: Vec<(RelPath, String)>,
    /// Number of people's rows that are kept.
    pub kept: usize,
    remembered: SummaryHashes,
    known: SummaryHashes,
}

/// Hashes of the summaries that we wrote, by file and target.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct SummaryHashes {
    rows: BTreeMap<String, String>,
}

impl SummaryPlan {
    /// Returns the number of rows that change.
    pub fn count_changes(&self) -> usize {
        self.tier1 + self.hub_map + self.hub_pages
    }

    /// Stores the hashes of the written summaries. Call it after the proposal
    /// was applied.
    pub(crate) fn remember_summaries(&self, workspace: &Workspace) -> Result<(), WorkspaceError> {
        if self.remembered == self.known {
            return Ok(());
        }
        let text = serde_json::to_vec_pretty(&self.remembered).unwrap_or_default();
        workspace.write_marked(SUMMARY_HASHES_FILE, &text)
    }
}

/// Plans all summaries. `force` renews people's rows too.
pub fn plan_summaries(workspace: &Workspace, force: bool) -> Result<SummaryPlan, WorkspaceError> {
    let manifest = super::require_manifest(workspace)?;
    let places = LinkTargets::from_workspace(workspace);
    let known = read_summary_hashes(workspace);
    let mut look = SummaryPlanner::new(workspace, &manifest, &places, known, force);
    let hubs = hubs::hubs_of_manifest(workspace, &manifest);
    for hub in &hubs {
        look.plan_page(hub)?;
    }
    let path = manifest::manifest_path();
    let mut edits: Vec<TextEdit> = Vec::new();
    for entry in manifest
        .entries_of(ManifestPart::Tier1)
        .chain(manifest.entries_of(ManifestPart::Tier2))
    {
        if let Some(edit) = look.renew_file_row(&path, &manifest, entry) {
            edits.push(edit);
            look.plan.tier1 += 1;
        }
    }
    for (entry, folder) in manifest.hub_map() {
        let hub = hubs.iter().find(|hub| Some(&hub.folder) == folder);
        let Some(hub) = hub else { continue };
        let mut read = |path: &RelPath| workspace.read_text(path).ok();
        let Some(text) = summarize_hub(hub, &mut read) else {
            continue;
        };
        if let Some(edit) = look.renew_row(&path, &manifest, entry, &text, &hub.name) {
            edits.push(edit);
            look.plan.hub_map += 1;
        }
    }
    edits.extend(manifest.set_summary_format(SUMMARY_FORMAT_VERSION));
    // The manifest comes last, behind the pages that it leads to.
    propose_edit(
        &mut look.plan.proposal,
        &path,
        manifest.text(),
        manifest.text_after_edits(edits),
    )?;
    Ok(look.plan)
}

/// Plans the pages (`<hub>-index.md`) of some hubs, without the manifest: the
/// part that a manifest without a marker gets as well.
pub fn plan_hub_pages(workspace: &Workspace, hubs: &[&Hub]) -> Result<SummaryPlan, WorkspaceError> {
    let manifest = super::require_manifest(workspace)?;
    let places = LinkTargets::from_workspace(workspace);
    let known = read_summary_hashes(workspace);
    let mut look = SummaryPlanner::new(workspace, &manifest, &places, known, false);
    for hub in hubs {
        look.plan_page(hub)?;
    }
    Ok(look.plan)
}

/// The planner of summaries.
struct SummaryPlanner<'a> {
    workspace: &'a Workspace,
    places: &'a LinkTargets,
    retired: RetiredFiles,
    force: bool,
    plan: SummaryPlan,
}

impl<'a> SummaryPlanner<'a> {
    /// Returns a planner with an empty plan.
    fn new(
        workspace: &'a Workspace,
        manifest: &Manifest,
        places: &'a LinkTargets,
        known: SummaryHashes,
        force: bool,
    ) -> SummaryPlanner<'a> {
        SummaryPlanner {
            workspace,
            places,
            retired: manifest.retired_files(),
            force,
            plan: SummaryPlan {
                remembered: known.clone(),
                known,
                ..SummaryPlan::default()
            },
        }
    }

    /// Plans a hub page: summaries of its rows, and new rows for documents of
    /// the hub that it does not link to.
    fn plan_page(&mut self, hub: &Hub) -> Result<(), WorkspaceError> {
        let Some(path) = &hub.index else {
            return Ok(());
        };
        let Ok(before) = self.workspace.read_text(path) else {
            return Ok(());
        };
        let mut page = Manifest::parse_page(before.as_str());
        let unlisted = self.find_unlisted(hub, path, &page);
        if !unlisted.is_empty() && !page.has_table() {
            page = Manifest::parse_page(page.with_table());
        }
        let mut edits = Vec::new();
        for entry in page.entries() {
            edits.extend(self.renew_file_row(path, &page, entry));
        }
        for file in unlisted {
            edits.extend(self.add_row(path, &page, file));
        }
        self.plan.hub_pages += edits.len();
        if edits.is_empty() {
            return Ok(());
        }
        propose_edit(
            &mut self.plan.proposal,
            path,
            &before,
            page.text_after_edits(edits),
        )
    }

    /// Returns the documents of a hub that its page does not link to.
    fn find_unlisted<'h>(&self, hub: &'h Hub, path: &RelPath, page: &Manifest) -> Vec<&'h RelPath> {
        let links = page.document().links.iter();
        let listed: HashSet<&RelPath> = links
            .filter_map(|link| {
                let target = link.target.trim_end_matches(".md");
                self.places.find_target(target, path.as_str())
            })
            .collect();
        let members = hub.members.iter();
        members.filter(|it| !listed.contains(it)).collect()
    }

    /// Returns the edit that adds a row for a document.
    fn add_row(&mut self, path: &RelPath, page: &Manifest, file: &RelPath) -> Option<TextEdit> {
        let text = self.workspace.read_text(file).ok()?;
        let summary = shorten_summary(&summarize_document(
            &document::parse_document(text),
            file.stem(),
        ));
        let target = self.places.link_name(file);
        let status = if self.retired.contains_path(file.as_str()) {
            "Archived"
        } else {
            "Active"
        };
        let edit = page.add_file_row(&target, &summary, status)?;
        let shown = document::unescape_cell_text(&document::escape_cell_text(&summary));
        let key = format!("{path} {target}");
        self.plan.remembered.rows.insert(key, content_hash(&shown));
        Some(edit)
    }

    /// Returns the edit that renews the row of a file.
    fn renew_file_row(
        &mut self,
        page: &RelPath,
        list: &Manifest,
        entry: &ManifestEntry,
    ) -> Option<TextEdit> {
        if !list.has_summary_cell(entry) || entry.target.is_empty() {
            return None;
        }
        let Some(path) = self
            .places
            .find_target(&entry.target, page.as_str())
            .cloned()
        else {
            let lost = (page.clone(), entry.target.clone());
            self.plan.lost.push(lost);
            return None;
        };
        let text = self.workspace.read_text(&path).ok()?;
        let document = document::parse_document(text);
        let title = document.title().unwrap_or_default().to_owned();
        self.renew_row(
            page,
            list,
            entry,
            &shorten_summary(&summarize_document(&document, path.stem())),
            &title,
        )
    }

    /// Returns the edit that sets the summary of a row, unless it should be
    /// kept.
    fn renew_row(
        &mut self,
        page: &RelPath,
        list: &Manifest,
        entry: &ManifestEntry,
        new: &str,
        title: &str,
    ) -> Option<TextEdit> {
        if new.is_empty() || !list.has_summary_cell(entry) {
            return None;
        }
        let key = format!("{page} {}", entry.target);
        let now = content_hash(&entry.text);
        // The stored hash is that of the text in the row, so it was not edited
        // since.
        let ours = self.plan.known.rows.get(&key) == Some(&now);
        // Compared in the form in which a cell is read back.
        if entry.text == document::unescape_cell_text(&document::escape_cell_text(new)) {
            self.plan.remembered.rows.insert(key, now);
            return None;
        }
        if !self.force && !ours && !is_uninformative(&entry.text, &entry.target, title) {
            self.plan.kept += 1;
            return None;
        }
        let shown = document::unescape_cell_text(&document::escape_cell_text(new));
        self.plan.remembered.rows.insert(key, content_hash(&shown));
        list.set_summary(entry, new)
    }
}

/// Returns `true` if a summary adds nothing to the name of the file.
fn is_uninformative(summary: &str, target: &str, title: &str) -> bool {
    const FILLER_WORDS: [&str; 16] = [
        "a",
        "an",
        "and",
        "doc",
        "docs",
        "document",
        "documents",
        "file",
        "files",
        "for",
        "notes",
        "of",
        "tbd",
        "the",
        "todo",
        "folder",
    ];
    let words = |text: &str| -> Vec<String> {
        let text = text.to_lowercase();
        let words = text.split(|c: char| !c.is_alphanumeric());
        words
            .filter(|it| !it.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let named = [words(target), words(title)].concat();
    words(summary)
        .iter()
        .all(|word| named.contains(word) || FILLER_WORDS.contains(&word.as_str()))
}

/// Summarizes a hub by the titles of its documents.
pub(super) fn summarize_hub(
    hub: &Hub,
    read: &mut dyn FnMut(&RelPath) -> Option<String>,
) -> Option<String> {
    /// Members whose titles fill a summary even if each has only a few letters.
    const MAX_READ_MEMBERS: usize = 60;
    let mut out = String::new();
    let mut named = 0;
    for path in hub.members.iter().take(MAX_READ_MEMBERS) {
        let Some(text) = read(path) else {
            continue;
        };
        let document = document::parse_document(text);
        let title = document.title().unwrap_or(path.stem()).trim().to_owned();
        let more = format!("; and {} more", hub.members.len());
        let length = out.chars().count() + title.chars().count() + more.len() + 2;
        if length > MAX_SUMMARY_CHARS {
            break;
        }
        if !out.is_empty() {
            out.push_str("; ");
        }
        out.push_str(&title);
        named += 1;
    }
    let left = hub.members.len() - named;
    if left > 0 && named > 0 {
        out.push_str(&format!("; and {left} more"));
    }
    (named > 0).then_some(out)
}

/// Shortens a summary to one line within its limit, cut between words.
fn shorten_summary(text: &str) -> String {
    let line: Vec<&str> = text.split_whitespace().collect();
    let line = line.join(" ");
    if line.chars().count() <= MAX_SUMMARY_CHARS {
        return line;
    }
    let cut: String = line.chars().take(MAX_SUMMARY_CHARS - 1).collect();
    let end = cut.rfind(' ').unwrap_or(cut.len());
    format!("{}…", &cut[..end])
}

/// Reads the stored hashes. Missing or foreign ones count as none.
fn read_summary_hashes(workspace: &Workspace) -> SummaryHashes {
    let text = workspace
        .read_marked(SUMMARY_HASHES_FILE)
        .unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

/// Applies a plan as a bulk run. Returns `None` if there is nothing to do, and
/// then takes no lock and writes no log.
pub fn run_summaries(
    workspace: &Workspace,
    plan: &SummaryPlan,
    now: Timestamp,
    who: &RunOwner,
) -> Result<Option<ChangeReceipt>, WorkspaceError> {
    if plan.proposal.is_empty() {
        plan.remember_summaries(workspace)?;
        return Ok(None);
    }
    let status = if plan.lost.is_empty() {
        RunStatus::Ok
    } else {
        RunStatus::Partial
    };
    let done = bulk::run_under_lock(workspace, BulkSkill::Resummarize, now, who, || {
        let receipt = plan.proposal.apply(workspace, "Refresh summaries", now)?;
        plan.remember_summaries(workspace)?;
        let report = RunReport::new(status)
            .with_count("tier1", plan.tier1)
            .with_count("hubmap", plan.hub_map)
            .with_count("hubinteriors", plan.hub_pages);
        Ok::<_, WorkspaceError>((receipt, report))
    })?;
    Ok(Some(done.value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_that_only_repeats_the_name_says_nothing() {
        let check = |summary: &str, expect: bool| {
            assert_eq!(
                is_uninformative(summary, "legal/lease-2026", "The lease"),
                expect,
                "{summary}"
            );
        };
        check("", true);
        check("TBD", true);
        check("Lease 2026", true);
        check("The lease document", true);
        check("Rent and notice periods", false);
        check("Lease until 2027", false);
    }

    #[test]
    fn a_long_summary_is_cut_between_words() {
        let text = "word ".repeat(80);
        let cut = shorten_summary(&text);
        assert!(
            cut.chars().count() <= MAX_SUMMARY_CHARS && cut.ends_with("word…"),
            "{cut}"
        );
        assert_eq!(shorten_summary("a\n b"), "a b");
    }
}
