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

use super::{Places, propose};
use crate::bulk::{self, RunReport, Skill, Status, Who};
use crate::document::{self, Edit, content_hash};
use crate::routing::hubs::{self, Hub};
use crate::routing::manifest::{self, Entry, Manifest, Part, Retired, SUMMARY_FORMAT};
use crate::routing::summary::{LONGEST, summary};
use crate::workspace::{Error, Proposal, Receipt, RelPath, Workspace};

const MEMORY: &str = "summaries.json";

/// A plan of the summaries to renew.
#[derive(Debug, Default)]
pub struct Plan {
    pub proposal: Proposal,
    pub tier1: usize,
    pub hub_map: usize,
    pub hub_pages: usize,
    /// Rows without a file, with the list that has them.
    pub lost: Vec<(RelPath, String)>,
    /// Number of people's rows that are kept.
    pub kept: usize,
    remembered: Memory,
    known: Memory,
}

/// Hashes of the summaries that we wrote, by file and target.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Memory {
    rows: BTreeMap<String, String>,
}

impl Plan {
    /// Returns the number of rows that change.
    pub fn changes(&self) -> usize {
        self.tier1 + self.hub_map + self.hub_pages
    }

    /// Stores the hashes of the written summaries. Call it after the proposal
    /// was applied.
    pub(crate) fn remember(&self, workspace: &Workspace) -> Result<(), Error> {
        if self.remembered == self.known {
            return Ok(());
        }
        let text = serde_json::to_vec_pretty(&self.remembered).unwrap_or_default();
        workspace.write_marked(MEMORY, &text)
    }
}

/// Plans all summaries. `force` renews people's rows too.
pub fn plan(workspace: &Workspace, force: bool) -> Result<Plan, Error> {
    let manifest = super::manifest(workspace)?;
    let places = Places::of(workspace);
    let known = recall(workspace);
    let mut look = Look::new(workspace, &manifest, &places, known, force);
    let hubs = hubs::hubs_of(workspace, &manifest);
    for hub in &hubs {
        look.page(hub)?;
    }
    let path = manifest::path();
    let mut edits: Vec<Edit> = Vec::new();
    for entry in manifest.part(Part::Tier1).chain(manifest.part(Part::Tier2)) {
        if let Some(edit) = look.of_file(&path, &manifest, entry) {
            edits.push(edit);
            look.plan.tier1 += 1;
        }
    }
    for (entry, folder) in manifest.hub_map() {
        let hub = hubs.iter().find(|hub| Some(&hub.folder) == folder);
        let Some(hub) = hub else { continue };
        let mut read = |path: &RelPath| workspace.read_text(path).ok();
        let Some(text) = hub_summary(hub, &mut read) else {
            continue;
        };
        if let Some(edit) = look.row(&path, &manifest, entry, &text, &hub.name) {
            edits.push(edit);
            look.plan.hub_map += 1;
        }
    }
    edits.extend(manifest.set_summary_format(SUMMARY_FORMAT));
    // The manifest comes last, behind the pages that it leads to.
    propose(
        &mut look.plan.proposal,
        &path,
        manifest.text(),
        manifest.edited(edits),
    )?;
    Ok(look.plan)
}

/// Plans the pages (`<hub>-index.md`) of some hubs, without the manifest: the
/// part that a manifest without a marker gets as well.
pub fn pages(workspace: &Workspace, hubs: &[&Hub]) -> Result<Plan, Error> {
    let manifest = super::manifest(workspace)?;
    let places = Places::of(workspace);
    let known = recall(workspace);
    let mut look = Look::new(workspace, &manifest, &places, known, false);
    for hub in hubs {
        look.page(hub)?;
    }
    Ok(look.plan)
}

/// The planner of summaries.
struct Look<'a> {
    workspace: &'a Workspace,
    places: &'a Places,
    retired: Retired,
    force: bool,
    plan: Plan,
}

impl<'a> Look<'a> {
    /// Returns a planner with an empty plan.
    fn new(
        workspace: &'a Workspace,
        manifest: &Manifest,
        places: &'a Places,
        known: Memory,
        force: bool,
    ) -> Look<'a> {
        Look {
            workspace,
            places,
            retired: manifest.retired(),
            force,
            plan: Plan {
                remembered: known.clone(),
                known,
                ..Plan::default()
            },
        }
    }

    /// Plans a hub page: summaries of its rows, and new rows for documents of
    /// the hub that it does not link to.
    fn page(&mut self, hub: &Hub) -> Result<(), Error> {
        let Some(path) = &hub.index else {
            return Ok(());
        };
        let Ok(before) = self.workspace.read_text(path) else {
            return Ok(());
        };
        let mut page = Manifest::parse_page(before.as_str());
        let unlisted = self.unlisted(hub, path, &page);
        if !unlisted.is_empty() && !page.has_table() {
            page = Manifest::parse_page(page.with_table());
        }
        let mut edits = Vec::new();
        for entry in page.entries() {
            edits.extend(self.of_file(path, &page, entry));
        }
        for file in unlisted {
            edits.extend(self.new_row(path, &page, file));
        }
        self.plan.hub_pages += edits.len();
        if edits.is_empty() {
            return Ok(());
        }
        propose(&mut self.plan.proposal, path, &before, page.edited(edits))
    }

    /// Returns the documents of a hub that its page does not link to.
    fn unlisted<'h>(&self, hub: &'h Hub, path: &RelPath, page: &Manifest) -> Vec<&'h RelPath> {
        let links = page.document().links.iter();
        let listed: HashSet<&RelPath> = links
            .filter_map(|link| {
                let target = link.target.trim_end_matches(".md");
                self.places.find(target, path.as_str())
            })
            .collect();
        let members = hub.members.iter();
        members.filter(|it| !listed.contains(it)).collect()
    }

    /// Returns the edit that adds a row for a document.
    fn new_row(&mut self, path: &RelPath, page: &Manifest, file: &RelPath) -> Option<Edit> {
        let text = self.workspace.read_text(file).ok()?;
        let summary = short(&summary(&document::parse(text), file.stem()));
        let target = self.places.link(file);
        let status = if self.retired.holds(file.as_str()) {
            "Archived"
        } else {
            "Active"
        };
        let edit = page.add_file(&target, &summary, status)?;
        let shown = document::cell_shown(&document::cell_text(&summary));
        let key = format!("{path} {target}");
        self.plan.remembered.rows.insert(key, content_hash(&shown));
        Some(edit)
    }

    /// Returns the edit that renews the row of a file.
    fn of_file(&mut self, page: &RelPath, list: &Manifest, entry: &Entry) -> Option<Edit> {
        if !list.has_text(entry) || entry.target.is_empty() {
            return None;
        }
        let Some(path) = self.places.find(&entry.target, page.as_str()).cloned() else {
            let lost = (page.clone(), entry.target.clone());
            self.plan.lost.push(lost);
            return None;
        };
        let text = self.workspace.read_text(&path).ok()?;
        let document = document::parse(text);
        let title = document.title().unwrap_or_default().to_owned();
        self.row(
            page,
            list,
            entry,
            &short(&summary(&document, path.stem())),
            &title,
        )
    }

    /// Returns the edit that sets the summary of a row, unless it should be
    /// kept.
    fn row(
        &mut self,
        page: &RelPath,
        list: &Manifest,
        entry: &Entry,
        new: &str,
        title: &str,
    ) -> Option<Edit> {
        if new.is_empty() || !list.has_text(entry) {
            return None;
        }
        let key = format!("{page} {}", entry.target);
        let now = content_hash(&entry.text);
        // The stored hash is that of the text in the row, so it was not edited
        // since.
        let ours = self.plan.known.rows.get(&key) == Some(&now);
        // Compared in the form in which a cell is read back.
        if entry.text == document::cell_shown(&document::cell_text(new)) {
            self.plan.remembered.rows.insert(key, now);
            return None;
        }
        if !self.force && !ours && !says_nothing(&entry.text, &entry.target, title) {
            self.plan.kept += 1;
            return None;
        }
        let shown = document::cell_shown(&document::cell_text(new));
        self.plan.remembered.rows.insert(key, content_hash(&shown));
        list.set_text(entry, new)
    }
}

/// Returns `true` if a summary adds nothing to the name of the file.
fn says_nothing(summary: &str, target: &str, title: &str) -> bool {
    const EMPTY: [&str; 16] = [
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
        .all(|word| named.contains(word) || EMPTY.contains(&word.as_str()))
}

/// Summarizes a hub by the titles of its documents.
pub(super) fn hub_summary(
    hub: &Hub,
    read: &mut dyn FnMut(&RelPath) -> Option<String>,
) -> Option<String> {
    /// Members whose titles fill a summary even if each has only a few letters.
    const MOST: usize = 60;
    let mut out = String::new();
    let mut named = 0;
    for path in hub.members.iter().take(MOST) {
        let Some(text) = read(path) else {
            continue;
        };
        let document = document::parse(text);
        let title = document.title().unwrap_or(path.stem()).trim().to_owned();
        let more = format!("; and {} more", hub.members.len());
        let length = out.chars().count() + title.chars().count() + more.len() + 2;
        if length > LONGEST {
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
fn short(text: &str) -> String {
    let line: Vec<&str> = text.split_whitespace().collect();
    let line = line.join(" ");
    if line.chars().count() <= LONGEST {
        return line;
    }
    let cut: String = line.chars().take(LONGEST - 1).collect();
    let end = cut.rfind(' ').unwrap_or(cut.len());
    format!("{}…", &cut[..end])
}

/// Reads the stored hashes. Missing or foreign ones count as none.
fn recall(workspace: &Workspace) -> Memory {
    let text = workspace.read_marked(MEMORY).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

/// Applies a plan as a bulk run. Returns `None` if there is nothing to do, and
/// then takes no lock and writes no log.
pub fn run(
    workspace: &Workspace,
    plan: &Plan,
    now: Timestamp,
    who: &Who,
) -> Result<Option<Receipt>, Error> {
    if plan.proposal.is_empty() {
        plan.remember(workspace)?;
        return Ok(None);
    }
    let status = if plan.lost.is_empty() {
        Status::Ok
    } else {
        Status::Partial
    };
    let done = bulk::run(workspace, Skill::Resummarize, now, who, || {
        let receipt = plan.proposal.apply(workspace, "Refresh summaries", now)?;
        plan.remember(workspace)?;
        let report = RunReport::new(status)
            .count("tier1", plan.tier1)
            .count("hubmap", plan.hub_map)
            .count("hubinteriors", plan.hub_pages);
        Ok::<_, Error>((receipt, report))
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
                says_nothing(summary, "legal/lease-2026", "The lease"),
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
        let cut = short(&text);
        assert!(
            cut.chars().count() <= LONGEST && cut.ends_with("word…"),
            "{cut}"
        );
        assert_eq!(short("a\n b"), "a b");
    }
}
