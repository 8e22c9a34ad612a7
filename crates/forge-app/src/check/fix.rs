//! Plans repairs of findings. Those that lose nothing are one change: marks on
//! superseded decisions, entries of missing files, missing summaries. `lint`
//! confirms each removal of a manifest row; `check` shows all repairs and
//! confirms them at once.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::consolidation::{self, ConsolidationPlan};
use super::survey::WorkspaceSurvey;
use super::workspace::{HubListing, is_dead_entry, lacks_summary};
use crate::bulk::{self, BulkSkill, RunOwner};
use crate::document::{self, Document, TextEdit, day_of_timestamp};
use crate::links::NoteLink;
use crate::mind::{self, MindFile, mark_superseded_decisions};
use crate::routing::manifest::{
    self, Manifest, ManifestEntry, ManifestPart, SUMMARY_FORMAT_VERSION,
};
use crate::upkeep::resummarize;
use crate::workspace::{
    ChangeProposal, ChangeReceipt, ProposedFile, RelPath, Workspace, WorkspaceError,
};

/// A row to remove after a person has confirmed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowRemoval {
    /// The question for the person.
    pub question: String,
    part: ManifestPart,
    target: String,
}

/// Repairs of the findings of `lint`.
#[derive(Debug, Default)]
pub struct LintFix {
    /// Repairs that lose nothing.
    pub safe: ChangeProposal,
    /// Removals to confirm one by one.
    pub removals: Vec<RowRemoval>,
    summaries: Option<resummarize::SummaryPlan>,
}

impl LintFix {
    /// Applies the safe repairs and returns the ids of the changes: one, unless
    /// a page gets a summary and loses a row.
    pub fn apply(
        self,
        workspace: &Workspace,
        now: Timestamp,
    ) -> Result<Vec<String>, WorkspaceError> {
        self.apply_named("Repair by `lint --fix`", workspace, now)
    }

    /// Applies the safe repairs under this title.
    fn apply_named(
        self,
        what: &str,
        workspace: &Workspace,
        now: Timestamp,
    ) -> Result<Vec<String>, WorkspaceError> {
        let mut changes = Vec::new();
        let mut all = self.safe;
        match self.summaries {
            Some(plan) if !has_shared_files(&all, &plan) => {
                all.files.extend(plan.proposal.files.iter().cloned());
                changes.extend(all.apply(workspace, what, now)?.id);
                plan.remember_summaries(workspace)?;
            }
            // Two plans that edit the same page do so from the same text, so
            // the summaries are planned again once the safe repairs are
            // written.
            plan => {
                changes.extend(all.apply(workspace, what, now)?.id);
                if plan.is_some() {
                    let plan = resummarize::plan_summaries(workspace, false)?;
                    changes.extend(plan.proposal.apply(workspace, what, now)?.id);
                    plan.remember_summaries(workspace)?;
                }
            }
        }
        Ok(changes)
    }

    /// Returns the files that would change.
    pub fn proposed_files(&self) -> impl Iterator<Item = &ProposedFile> {
        let summaries = self.summaries.iter().flat_map(|it| &it.proposal.files);
        self.safe.files.iter().chain(summaries)
    }
}

/// Returns `true` if the proposal and the plan change the same file.
fn has_shared_files(proposal: &ChangeProposal, plan: &resummarize::SummaryPlan) -> bool {
    let mut files = plan.proposal.files.iter();
    files.any(|it| proposal.text_after(&it.path).is_some())
}

/// Plans the repairs of `lint`.
pub fn plan_lint_fix(survey: &WorkspaceSurvey<'_>) -> Result<LintFix, WorkspaceError> {
    let workspace = survey.workspace;
    let mut fixes = LintFix::default();
    let decisions = survey.mind.file_path(MindFile::Decisions);
    if let Ok(text) = workspace.read_text(&decisions)
        && let Ok((after, marked)) =
            mark_superseded_decisions(&decisions, text.clone(), day_of_timestamp(survey.now))
        && marked > 0
    {
        fixes.safe.add(decisions, Some(text), after);
    }
    drop_dead_entries(survey, &mut fixes.safe)?;
    let Some(manifest) = survey.manifest() else {
        return Ok(fixes);
    };
    // Summaries of an older format are for `manifest refresh` or `upgrade`.
    let current = manifest
        .summary_format()
        .is_some_and(|it| it >= SUMMARY_FORMAT_VERSION);
    if current && manifest.entries().iter().any(lacks_summary) {
        let plan = resummarize::plan_summaries(workspace, false)?;
        fixes.summaries = Some(plan).filter(|it| !it.proposal.is_empty());
    }
    let dead = manifest
        .entries()
        .iter()
        .filter(|it| is_dead_entry(survey, it));
    fixes
        .removals
        .extend(dead.filter(|it| it.is_table_row()).map(|it| RowRemoval {
            question: format!("Drop the row of [[{}]] from the manifest?", it.target),
            part: it.part,
            target: it.target.clone(),
        }));
    Ok(fixes)
}

/// Removes confirmed rows from the manifest.
pub fn remove_rows(
    workspace: &Workspace,
    removals: &[RowRemoval],
    now: Timestamp,
) -> Result<ChangeReceipt, WorkspaceError> {
    workspace.change("Drop rows of the manifest", now, |change| {
        let path = manifest::manifest_path();
        let Some(text) = change.read_text(&path)? else {
            return Ok(());
        };
        let manifest = Manifest::parse(text);
        if let Ok(after) = manifest.text_after_edits(row_removal_edits(&manifest, removals)) {
            change.write(&path, after);
        }
        Ok(())
    })
}

/// Returns the edits that remove these rows.
fn row_removal_edits(manifest: &Manifest, removals: &[RowRemoval]) -> Vec<TextEdit> {
    let agreed = |entry: &&ManifestEntry| {
        let same = |it: &RowRemoval| it.part == entry.part && it.target == entry.target;
        removals.iter().any(same)
    };
    let rows = manifest.entries().iter().filter(agreed);
    rows.filter_map(|it| manifest.remove_entry(it)).collect()
}

/// Repairs of `lint --fix` and `consolidate --fix` together, with all rows of
/// missing files removed.
#[derive(Debug, Default)]
pub struct CheckFix {
    /// In the order of [`CheckFix::proposed_files`]: one change, unless a page gets a
    /// summary and loses a row.
    lint: LintFix,
    consolidation: Option<ConsolidationPlan>,
}

/// Plans every repair, without writing.
pub fn plan_check_fix(survey: &WorkspaceSurvey<'_>) -> Result<CheckFix, mind::MindError> {
    let mut fix = CheckFix::default();
    let has_state = survey.mind.has_state_files();
    if survey.manifest().is_none() && !has_state {
        return Ok(fix);
    }
    fix.lint = plan_lint_fix(survey)?;
    let removals = std::mem::take(&mut fix.lint.removals);
    let manifest_path = manifest::manifest_path();
    let mut archive = None;
    if consolidation::can_consolidate(survey) {
        let consolidated = consolidation::plan_consolidation(survey, true)?;
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
        && !has_shared_files(&fix.lint.safe, plan)
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
    let mut edits = row_removal_edits(&base, &removals);
    edits
        .extend(archive.and_then(|it| consolidation::archive_listing_edit(&base, &it, survey.now)));
    // If the edits cannot be made without touching other rows, the manifest
    // stays as it is.
    let after = base
        .text_after_edits(edits)
        .unwrap_or_else(|_| base.text().to_owned());
    fix.lint.safe.add(manifest_path, Some(before), after);
    Ok(fix)
}

impl CheckFix {
    /// Returns the files that would change.
    pub fn proposed_files(&self) -> impl Iterator<Item = &ProposedFile> {
        self.lint.proposed_files()
    }

    /// Applies all repairs and returns the ids of the changes. Decisions are
    /// shortened under the lock of consolidation, and its log gets a line.
    pub fn apply(
        self,
        workspace: &Workspace,
        who: &RunOwner,
        now: Timestamp,
    ) -> Result<Vec<String>, WorkspaceError> {
        const CHANGE_TITLE: &str = "Repair by `check --fix`";
        let lint = self.lint;
        let Some(consolidation) = self.consolidation else {
            return lint.apply_named(CHANGE_TITLE, workspace, now);
        };
        let done = bulk::run_under_lock(workspace, BulkSkill::Consolidate, now, who, || {
            let changes = lint.apply_named(CHANGE_TITLE, workspace, now)?;
            Ok::<_, WorkspaceError>((changes, consolidation.report.run_report(true)))
        })?;
        Ok(done.value)
    }
}

/// Returns the bytes of the list entry that a link represents: a closet for a
/// link in its heading, a row of a hub page for its first link. Returns `None`
/// for other links.
pub(super) fn entry_span(
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
    let line = document.line_number_at(at);
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
fn drop_dead_entries(
    survey: &WorkspaceSurvey<'_>,
    proposal: &mut ChangeProposal,
) -> Result<(), WorkspaceError> {
    let mut lists: BTreeMap<RelPath, bool> = BTreeMap::new();
    for hub in survey.hubs().iter().filter(|it| !it.is_memory_hub()) {
        for (list, _, _) in HubListing::read_lists(survey, hub).dead {
            let is_closets = hub.index.as_ref() != Some(&list);
            lists.insert(list, is_closets);
        }
    }
    for (list, is_closets) in lists {
        let text = survey.workspace.read_text(&list)?;
        let document = document::parse_document(text.clone());
        let index = survey.vault().position_of(&list);
        let note = index.and_then(|it| survey.vault().file(it).note.as_ref());
        let (Some(index), Some(note)) = (index, note) else {
            continue;
        };
        let mut edits: Vec<TextEdit> = Vec::new();
        for link in &note.links {
            let missing = survey.vault().resolve(index, link).opened_file().is_none();
            // An entry may have several links; it is removed once, since edits
            // must not overlap.
            if let Some(span) = entry_span(&document, link, is_closets)
                && missing
                && link.is_wikilink()
                && edits.last().is_none_or(|it| it.span.end <= span.start)
            {
                edits.push(document.delete_lines(span));
            }
        }
        if let Ok(after) = document::apply_edits(&text, edits) {
            proposal.add(list, Some(text), after);
        }
    }
    Ok(())
}
