//! Repairs. Those that lose nothing are one change: marks on superseded
//! decisions, entries of files that are gone, summaries that are missing. Rows
//! of the manifest are taken out one by one, each by its own yes.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::checks::{Registered, is_dead, lacks_summary};
use super::{Level, Survey};
use crate::document::{self, Document, Edit, day_of};
use crate::links::NoteLink;
use crate::mind::{File, annotated};
use crate::routing::manifest::{self, Entry, Manifest, Part, SUMMARY_FORMAT};
use crate::upkeep::resummarize;
use crate::workspace::{Error, Proposal, Proposed, Receipt, RelPath, Workspace};

/// A row to take out, if a person says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removal {
    pub level: Level,
    pub question: String,
    part: Part,
    target: String,
}

/// What can be done about the findings.
#[derive(Debug, Default)]
pub struct Fixes {
    /// Repairs that lose nothing.
    pub safe: Proposal,
    /// What to ask about, one by one.
    pub removals: Vec<Removal>,
    summaries: Option<resummarize::Plan>,
}

impl Fixes {
    /// Carries the safe repairs out and gives the ids of the changes: one,
    /// unless a page gets both a summary and loses a row.
    pub fn apply(self, workspace: &Workspace, now: Timestamp) -> Result<Vec<String>, Error> {
        const WHAT: &str = "Repair by `lint --fix`";
        let mut changes = Vec::new();
        let mut all = self.safe;
        match self.summaries {
            Some(plan) if !meets(&all, &plan) => {
                all.files.extend(plan.proposal.files.iter().cloned());
                changes.extend(all.apply(workspace, WHAT, now)?.id);
                plan.remember(workspace)?;
            }
            plan => {
                changes.extend(all.apply(workspace, WHAT, now)?.id);
                if plan.is_some() {
                    let plan = resummarize::plan(workspace, false)?;
                    changes.extend(plan.proposal.apply(workspace, WHAT, now)?.id);
                    plan.remember(workspace)?;
                }
            }
        }
        Ok(changes)
    }

    /// What would change, file by file.
    pub fn files(&self) -> impl Iterator<Item = &Proposed> {
        let summaries = self.summaries.iter().flat_map(|it| &it.proposal.files);
        self.safe.files.iter().chain(summaries)
    }
}

fn meets(proposal: &Proposal, plan: &resummarize::Plan) -> bool {
    let mut files = plan.proposal.files.iter();
    files.any(|it| proposal.after(&it.path).is_some())
}

/// Plans the repairs.
pub fn fixes(survey: &Survey<'_>, now: Timestamp) -> Result<Fixes, Error> {
    let workspace = survey.workspace;
    let mut fixes = Fixes::default();
    let decisions = survey.mind.file(File::Decisions);
    if let Ok(text) = workspace.read_text(&decisions)
        && let Ok((after, marked)) = annotated(&decisions, text.clone(), day_of(now))
        && marked > 0
    {
        fixes.safe.add(decisions, Some(text), after);
    }
    drop_dead(survey, &mut fixes.safe)?;
    let Some(manifest) = &survey.manifest else {
        return Ok(fixes);
    };
    // Summaries of an older format are for `manifest refresh` or `upgrade`.
    let current = manifest
        .summary_format()
        .is_some_and(|it| it >= SUMMARY_FORMAT);
    if current && manifest.entries().iter().any(lacks_summary) {
        let plan = resummarize::plan(workspace, false)?;
        fixes.summaries = Some(plan).filter(|it| !it.proposal.is_empty());
    }
    let dead = manifest.entries().iter().filter(|it| is_dead(survey, it));
    fixes
        .removals
        .extend(dead.filter(|it| it.is_row()).map(|it| Removal {
            level: match it.part {
                Part::Tier3 => Level::Info,
                _ => Level::Warn,
            },
            question: format!("Drop the row of [[{}]] from the manifest?", it.target),
            part: it.part,
            target: it.target.clone(),
        }));
    Ok(fixes)
}

/// Takes rows out of the manifest that were agreed to.
pub fn remove(
    workspace: &Workspace,
    removals: &[Removal],
    now: Timestamp,
) -> Result<Receipt, Error> {
    workspace.change("Drop rows of the manifest", now, |change| {
        let path = manifest::path();
        let Some(text) = change.read_text(&path)? else {
            return Ok(());
        };
        let manifest = Manifest::parse(text);
        let agreed = |entry: &&Entry| {
            let same = |it: &Removal| it.part == entry.part && it.target == entry.target;
            removals.iter().any(same)
        };
        let rows = manifest.entries().iter().filter(agreed);
        let edits: Vec<Edit> = rows.filter_map(|it| manifest.unlist(it)).collect();
        if let Ok(after) = manifest.edited(edits) {
            change.write(&path, after);
        }
        Ok(())
    })
}

/// The bytes of the entry of a list that a link stands for: a closet by its
/// heading, a row of a hub page by its first link. Other links are no entries.
pub(super) fn entry_of(
    document: &Document,
    link: &NoteLink,
    is_closets: bool,
) -> Option<std::ops::Range<usize>> {
    let at = link.span.start;
    // Headings stand in text order behind the preamble; a list may have any
    // number of them, and of links on one line.
    let behind = document
        .sections
        .partition_point(|it| it.level == 0 || it.heading.start <= at);
    let above = behind.checked_sub(1).map(|it| &document.sections[it]);
    if let Some(section) = above.filter(|it| it.heading.contains(&at)) {
        return (is_closets && section.level > 1).then(|| section.span.clone());
    }
    let line = document.line_of(at);
    let start = document.line_starts[line - 1];
    let end = document.line_starts.get(line).copied();
    let end = end.unwrap_or(document.text.len());
    let before = document.text[start..at].trim();
    let row = before == "|" && !is_closets;
    let recent = is_closets
        && before == "-"
        && above.is_some_and(|it| it.title.eq_ignore_ascii_case("Recently Archived"));
    (row || recent).then_some(start..end)
}

fn drop_dead(survey: &Survey<'_>, proposal: &mut Proposal) -> Result<(), Error> {
    let mut lists: BTreeMap<RelPath, bool> = BTreeMap::new();
    for hub in survey.hubs.iter().filter(|it| !it.is_memory()) {
        for (list, _, _) in Registered::of(survey, hub).dead {
            let is_closets = hub.index.as_ref() != Some(&list);
            lists.insert(list, is_closets);
        }
    }
    for (list, is_closets) in lists {
        let text = survey.workspace.read_text(&list)?;
        let document = document::parse(text.clone());
        let index = survey.vault.position(&list);
        let note = index.and_then(|it| survey.vault.file(it).note.as_ref());
        let (Some(index), Some(note)) = (index, note) else {
            continue;
        };
        let mut edits: Vec<Edit> = Vec::new();
        for link in &note.links {
            let missing = survey.vault.resolve(index, link).file().is_none();
            if let Some(span) = entry_of(&document, link, is_closets)
                && missing
                && link.is_wiki()
                && edits.last().is_none_or(|it| it.span.end <= span.start)
            {
                edits.push(document.take_out(span));
            }
        }
        if let Ok(after) = document::apply(&text, edits) {
            proposal.add(list, Some(text), after);
        }
    }
    Ok(())
}
