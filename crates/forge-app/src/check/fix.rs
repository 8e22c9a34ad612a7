//! Plans repairs of findings. Those that lose nothing are one change: marks on
//! superseded decisions, entries of missing files, missing summaries. `lint`
//! confirms each removal of a manifest row; `check` shows all repairs and
//! confirms them at once.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::consolidation::{self, Consolidation};
use super::survey::Survey;
use super::workspace::{Registered, is_dead, lacks_summary};
use crate::bulk::{self, Skill, Who};
use crate::document::{self, Document, Edit, day_of};
use crate::links::NoteLink;
use crate::mind::{self, File, annotated};
use crate::routing::manifest::{self, Entry, Manifest, Part, SUMMARY_FORMAT};
use crate::upkeep::resummarize;
use crate::workspace::{Error, Proposal, Proposed, Receipt, RelPath, Workspace};

/// A row to remove after a person has confirmed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removal {
    pub question: String,
    part: Part,
    target: String,
}

/// Repairs of the findings of `lint`.
#[derive(Debug, Default)]
pub struct LintFix {
    /// Repairs that lose nothing.
    pub safe: Proposal,
    /// Removals to confirm one by one.
    pub removals: Vec<Removal>,
    summaries: Option<resummarize::Plan>,
}

impl LintFix {
    /// Applies the safe repairs and returns the ids of the changes: one, unless
    /// a page gets a summary and loses a row.
    pub fn apply(self, workspace: &Workspace, now: Timestamp) -> Result<Vec<String>, Error> {
        self.apply_as("Repair by `lint --fix`", workspace, now)
    }

    /// Applies the safe repairs under this title.
    fn apply_as(
        self,
        what: &str,
        workspace: &Workspace,
        now: Timestamp,
    ) -> Result<Vec<String>, Error> {
        let mut changes = Vec::new();
        let mut all = self.safe;
        match self.summaries {
            Some(plan) if !meets(&all, &plan) => {
                all.files.extend(plan.proposal.files.iter().cloned());
                changes.extend(all.apply(workspace, what, now)?.id);
                plan.remember(workspace)?;
            }
            // Two plans that edit the same page do so from the same text, so
            // the summaries are planned again once the safe repairs are
            // written.
            plan => {
                changes.extend(all.apply(workspace, what, now)?.id);
                if plan.is_some() {
                    let plan = resummarize::plan(workspace, false)?;
                    changes.extend(plan.proposal.apply(workspace, what, now)?.id);
                    plan.remember(workspace)?;
                }
            }
        }
        Ok(changes)
    }

    /// Returns the files that would change.
    pub fn files(&self) -> impl Iterator<Item = &Proposed> {
        let summaries = self.summaries.iter().flat_map(|it| &it.proposal.files);
        self.safe.files.iter().chain(summaries)
    }
}

/// Returns `true` if the proposal and the plan change the same file.
fn meets(proposal: &Proposal, plan: &resummarize::Plan) -> bool {
    let mut files = plan.proposal.files.iter();
    files.any(|it| proposal.after(&it.path).is_some())
}

/// Plans the repairs of `lint`.
pub fn plan_lint_fix(survey: &Survey<'_>) -> Result<LintFix, Error> {
    let workspace = survey.workspace;
    let mut fixes = LintFix::default();
    let decisions = survey.mind.file(File::Decisions);
    if let Ok(text) = workspace.read_text(&decisions)
        && let Ok((after, marked)) = annotated(&decisions, text.clone(), day_of(survey.now))
        && marked > 0
    {
        fixes.safe.add(decisions, Some(text), after);
    }
    drop_dead(survey, &mut fixes.safe)?;
    let Some(manifest) = survey.manifest() else {
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
            question: format!("Drop the row of [[{}]] from the manifest?", it.target),
            part: it.part,
            target: it.target.clone(),
        }));
    Ok(fixes)
}

/// Removes confirmed rows from the manifest.
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
        if let Ok(after) = manifest.edited(edits_that_remove(&manifest, removals)) {
            change.write(&path, after);
        }
        Ok(())
    })
}

/// Returns the edits that remove these rows.
fn edits_that_remove(manifest: &Manifest, removals: &[Removal]) -> Vec<Edit> {
    let agreed = |entry: &&Entry| {
        let same = |it: &Removal| it.part == entry.part && it.target == entry.target;
        removals.iter().any(same)
    };
    let rows = manifest.entries().iter().filter(agreed);
    rows.filter_map(|it| manifest.unlist(it)).collect()
}

/// Repairs of `lint --fix` and `consolidate --fix` together, with all rows of
/// missing files removed.
#[derive(Debug, Default)]
pub struct CheckFix {
    /// In the order of [`CheckFix::files`]: one change, unless a page gets a
    /// summary and loses a row.
    lint: LintFix,
    consolidation: Option<Consolidation>,
}

/// Plans every repair, without writing.
pub fn plan_fix(survey: &Survey<'_>) -> Result<CheckFix, mind::Error> {
    let mut fix = CheckFix::default();
    let has_state = survey.mind.exists();
    if survey.manifest().is_none() && !has_state {
        return Ok(fix);
    }
    fix.lint = plan_lint_fix(survey)?;
    let removals = std::mem::take(&mut fix.lint.removals);
    let manifest_path = manifest::path();
    let mut archive = None;
    if consolidation::is_possible(survey) {
        let consolidated = consolidation::consolidate(survey, true)?;
        for file in &consolidated.proposal.files {
            if file.path == manifest_path {
                continue;
            }
            // Consolidation also marks decisions, before it shortens them, so
            // its version of the file replaces the one of `lint`.
            fix.lint.safe.files.retain(|it| it.path != file.path);
            fix.lint.safe.files.push(file.clone());
        }
        archive.clone_from(&consolidated.listed_archive);
        fix.consolidation = Some(consolidated);
    }
    let Some(manifest) = survey.manifest() else {
        return Ok(fix);
    };
    let before = manifest.text().to_owned();
    let mut base = before.clone();
    if let Some(plan) = &mut fix.lint.summaries
        && !meets(&fix.lint.safe, plan)
    {
        // The manifest comes last, behind the pages that it leads to.
        for file in plan.proposal.files.drain(..) {
            if file.path == manifest_path {
                base = file.after;
            } else {
                fix.lint.safe.files.push(file);
            }
        }
    }
    // Rows are looked up in the text with the new summaries, so that both
    // become one edit of the manifest.
    let base = Manifest::parse(base);
    let mut edits = edits_that_remove(&base, &removals);
    edits.extend(archive.and_then(|it| consolidation::row_of_archive(&base, &it, survey.now)));
    // If the edits cannot be made without touching other rows, the manifest
    // stays as it is.
    let after = base
        .edited(edits)
        .unwrap_or_else(|_| base.text().to_owned());
    fix.lint.safe.add(manifest_path, Some(before), after);
    Ok(fix)
}

impl CheckFix {
    /// Returns the files that would change.
    pub fn files(&self) -> impl Iterator<Item = &Proposed> {
        self.lint.files()
    }

    /// Applies all repairs and returns the ids of the changes. Decisions are
    /// shortened under the lock of consolidation, and its log gets a line.
    pub fn apply(
        self,
        workspace: &Workspace,
        who: &Who,
        now: Timestamp,
    ) -> Result<Vec<String>, Error> {
        const WHAT: &str = "Repair by `check --fix`";
        let lint = self.lint;
        let Some(consolidation) = self.consolidation else {
            return lint.apply_as(WHAT, workspace, now);
        };
        let done = bulk::run(workspace, Skill::Consolidate, now, who, || {
            let changes = lint.apply_as(WHAT, workspace, now)?;
            Ok::<_, Error>((changes, consolidation.report.run_report(true)))
        })?;
        Ok(done.value)
    }
}

/// Returns the bytes of the list entry that a link represents: a closet for a
/// link in its heading, a row of a hub page for its first link. Returns `None`
/// for other links.
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

/// Adds the removal of list entries of missing files to the proposal.
fn drop_dead(survey: &Survey<'_>, proposal: &mut Proposal) -> Result<(), Error> {
    let mut lists: BTreeMap<RelPath, bool> = BTreeMap::new();
    for hub in survey.hubs().iter().filter(|it| !it.is_memory()) {
        for (list, _, _) in Registered::of(survey, hub).dead {
            let is_closets = hub.index.as_ref() != Some(&list);
            lists.insert(list, is_closets);
        }
    }
    for (list, is_closets) in lists {
        let text = survey.workspace.read_text(&list)?;
        let document = document::parse(text.clone());
        let index = survey.vault().position(&list);
        let note = index.and_then(|it| survey.vault().file(it).note.as_ref());
        let (Some(index), Some(note)) = (index, note) else {
            continue;
        };
        let mut edits: Vec<Edit> = Vec::new();
        for link in &note.links {
            let missing = survey.vault().resolve(index, link).file().is_none();
            // An entry may have several links; it is removed once, since edits
            // must not overlap.
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
