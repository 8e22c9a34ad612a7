//! Finds what a workspace accumulates over weeks: notes that are nearly the
//! same, decisions that contradict each other, files without a link, and a file
//! of decisions that grows too long. Duplicates are only reported; nothing is
//! merged and nothing paraphrased.

use jiff::Timestamp;

use super::duplicates::DuplicateCandidate;
use super::survey::WorkspaceSurvey;
use super::{CheckView, run_checks};
use crate::bulk::{self, BulkSkill, RunLogEntry, RunOwner, RunReport, RunStatus};
use crate::document::{TextEdit, day_of_timestamp};
use crate::finding::{CheckFinding, CheckId, CheckSeverity, RepairId};
use crate::graph::{GRAPH_FILE, render_graph_file};
use crate::mind::{
    CondenseOutcome, MindError, MindFile, ShortenedDecisions, StateLayoutKind, Supersession,
    condense_decisions, decisions_archive_path, mark_superseded_decisions, shorten_decisions,
    truncate_at_word,
};
use crate::routing::archives::{ArchiveRow, archive_row_edit};
use crate::routing::manifest::{self, Manifest};
use crate::session::{SHORTEN_BY_HAND_ADVICE, SHORTEN_COMMAND};
use crate::thresholds::{MAX_DECISION_LINES, MIN_LINES_TO_GATHER, NEARLY_FULL_DECISION_LINES};
use crate::workspace::{ChangeProposal, RelPath};

/// The findings of a consolidation, and what it did or would do.
#[derive(Debug, Clone, Default)]
pub struct ConsolidationReport {
    /// Notes that may be the same.
    pub duplicates: Vec<DuplicateCandidate>,
    /// Decisions that a later one replaced without a mark.
    pub contradictions: Vec<Supersession>,
    /// Broken links, edges without a page, and files in no list.
    pub orphans: Vec<String>,
    /// The file of decisions and its length.
    pub decisions: DecisionFile,
    /// The effect of compression.
    pub condensed: CondenseOutcome,
    /// Number of old decisions that move to the archive.
    pub archived: usize,
    /// The last run that its log records.
    pub last_run: Option<RunLogEntry>,
}

/// The file of decisions and its length.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DecisionFile {
    /// The path; none where there are no decisions.
    pub path: Option<RelPath>,
    /// Its lines now.
    pub lines: usize,
    /// Lines after all changes of `fix`.
    pub after: usize,
}

/// A report with the changes that belong to it.
#[derive(Debug, Clone, Default)]
pub struct ConsolidationPlan {
    /// What was found.
    pub report: ConsolidationReport,
    /// The graph, and with `fix` the decisions, their archive and its row in
    /// the manifest.
    pub proposal: ChangeProposal,
    /// The archive, if the manifest does not list it yet.
    pub(super) listed_archive: Option<RelPath>,
}

/// Returns `true` if there is a workspace to consolidate.
pub fn can_consolidate(survey: &WorkspaceSurvey<'_>) -> bool {
    let has_state =
        survey.mind.has_state_files() && survey.mind.layout_kind() == StateLayoutKind::Manifest;
    survey.manifest().is_some() || has_state
}

/// Plans a consolidation. The proposal holds the graph, and with `fix` the
/// marks on contradicted decisions and their compression.
pub fn plan_consolidation(
    survey: &WorkspaceSurvey<'_>,
    fix: bool,
) -> Result<ConsolidationPlan, MindError> {
    let mut done = ConsolidationPlan {
        report: ConsolidationReport {
            duplicates: survey.duplicate_notes().to_vec(),
            contradictions: survey.mind.find_supersessions()?,
            orphans: list_orphans(survey),
            ..ConsolidationReport::default()
        },
        ..ConsolidationPlan::default()
    };
    if let Some(plan) = plan_decision_file(survey)? {
        let (report, proposal) = (&mut done.report, &mut done.proposal);
        report.decisions = plan.decision_file();
        report.condensed = plan.condensed;
        report.archived = plan.shortened.as_ref().map_or(0, |it| it.moved);
        if fix {
            if let Some(shortened) = plan.shortened {
                if survey
                    .manifest()
                    .is_some_and(|it| !is_archive_listed(it, &shortened))
                {
                    done.listed_archive = Some(shortened.archive.clone());
                }
                propose_archive_row(survey, done.listed_archive.as_ref(), proposal);
                let (before, text) = shortened.archived;
                proposal.add(shortened.archive, before, text);
            }
            proposal.add(plan.path, Some(plan.before), plan.after);
        }
    }
    propose_graph(survey, &mut done.proposal);
    Ok(done)
}

impl ConsolidationReport {
    /// Returns `true` if the file of decisions is nearly full.
    pub fn is_urgent(&self) -> bool {
        self.decisions.lines >= NEARLY_FULL_DECISION_LINES
    }

    /// Converts the report to the counts of the run log.
    pub(super) fn run_report(&self, fixed: bool) -> RunReport {
        let done = self.condensed.pairs + self.condensed.gathered + self.archived;
        RunReport::new(RunStatus::Ok)
            .with_count("dedup", self.duplicates.len())
            .with_count("contradictions", self.contradictions.len())
            .with_count("orphans", self.orphans.len())
            .with_count("decisions-compressed", if fixed { done } else { 0 })
    }
}

/// Consolidates as a bulk run. Returns the report, and the id of the change if
/// anything was written.
pub fn run_consolidation(
    survey: &WorkspaceSurvey<'_>,
    fix: bool,
    who: &RunOwner,
) -> Result<(ConsolidationReport, Option<String>), MindError> {
    let (workspace, now) = (survey.workspace, survey.now);
    let last_run = bulk::last_successful_run(workspace, BulkSkill::Consolidate);
    let done = bulk::run_under_lock(workspace, BulkSkill::Consolidate, now, who, || {
        let ConsolidationPlan {
            mut report,
            proposal,
            ..
        } = plan_consolidation(survey, fix)?;
        report.last_run = last_run;
        let mut change = None;
        if !proposal.is_empty() {
            let receipt = proposal.apply(workspace, "Consolidate the workspace", now)?;
            change = receipt.id;
        }
        let log = report.run_report(fix);
        Ok::<_, MindError>(((report, change), log))
    })?;
    Ok(done.value)
}

/// A plan to compress the file of decisions.
struct DecisionPlan {
    path: RelPath,
    before: String,
    after: String,
    condensed: CondenseOutcome,
    shortened: Option<ShortenedDecisions>,
}

impl DecisionPlan {
    /// Returns the lengths of the file before and after the plan.
    fn decision_file(&self) -> DecisionFile {
        DecisionFile {
            path: Some(self.path.clone()),
            lines: self.before.lines().count(),
            after: self.after.lines().count(),
        }
    }
}

/// Plans the compression of decisions; `None` without a file of them.
fn plan_decision_file(survey: &WorkspaceSurvey<'_>) -> Result<Option<DecisionPlan>, MindError> {
    let path = survey.mind.file_path(MindFile::Decisions);
    let Ok(before) = survey.workspace.read_text(&path) else {
        return Ok(None);
    };
    let mut after = before.clone();
    let mut gathered = CondenseOutcome::default();
    if before.lines().count() >= MIN_LINES_TO_GATHER {
        (after, gathered) = condense_decisions(&path, after)?;
    }
    // Marked before it is shortened, so that an archived decision carries its
    // mark with it.
    (after, _) = mark_superseded_decisions(&path, after, day_of_timestamp(survey.now))?;
    let archive = decisions_archive_path(&path).and_then(|it| survey.workspace.read_text(&it).ok());
    let mut shortened = shorten_decisions(&path, &after, archive)?;
    if let Some(shorter) = &mut shortened {
        after = std::mem::take(&mut shorter.text);
    }
    Ok(Some(DecisionPlan {
        path,
        before,
        after,
        condensed: gathered,
        shortened,
    }))
}

/// Checks whether the file of decisions is nearly full.
pub(super) fn check_decisions_full(survey: &WorkspaceSurvey<'_>) -> Vec<CheckFinding> {
    const CHECK_ID: CheckId = CheckId::DECISIONS_FULL;
    let plan = match plan_decision_file(survey) {
        Ok(Some(plan)) => plan,
        Ok(None) => return Vec::new(),
        Err(error) => {
            let finding = CheckFinding::new(CHECK_ID, CheckSeverity::Warning, error.to_string());
            return vec![finding.with_advice("repair the file")];
        }
    };
    let DecisionFile { lines, after, .. } = plan.decision_file();
    if lines < NEARLY_FULL_DECISION_LINES {
        return Vec::new();
    }
    let path = &plan.path;
    let message = format!("{path} has {lines} lines of at most {MAX_DECISION_LINES}");
    let finding = CheckFinding::new(CHECK_ID, CheckSeverity::Warning, message).in_file(path);
    vec![if after < NEARLY_FULL_DECISION_LINES {
        finding
            .with_advice(format!("run `{SHORTEN_COMMAND}`"))
            .with_repair(RepairId::ShortenDecisions)
    } else {
        finding.with_advice(SHORTEN_BY_HAND_ADVICE)
    }]
}

/// Lists the findings about files and links that nothing refers to.
fn list_orphans(survey: &WorkspaceSurvey<'_>) -> Vec<String> {
    let orphans = CheckView::Consolidate.checks();
    let orphans = orphans.filter(|it| {
        let checks = [
            CheckId::LINKS_MISSING,
            CheckId::MANIFEST_UNLISTED,
            CheckId::GRAPH_DANGLING,
        ];
        checks.contains(&it.id)
    });
    let report = run_checks(survey, orphans);
    let line = |it: &CheckFinding| match (&it.place, &it.subject) {
        (Some(place), Some(link)) if it.check == CheckId::LINKS_MISSING => {
            format!("{place} [[{link}]] leads nowhere")
        }
        _ => it.message.clone(),
    };
    report.findings().map(line).collect()
}

/// Returns `true` if the manifest lists the archive.
fn is_archive_listed(manifest: &Manifest, shortened: &ShortenedDecisions) -> bool {
    manifest
        .retired_files()
        .contains_path(shortened.archive.as_str())
}

/// Returns the edit that lists an archive of decisions in Tier 3.
pub(super) fn archive_listing_edit(
    manifest: &Manifest,
    archive: &RelPath,
    now: Timestamp,
) -> Option<TextEdit> {
    let row = ArchiveRow {
        target: archive.as_str().trim_end_matches(".md"),
        about: "Older decisions",
    };
    archive_row_edit(manifest, &row, now)
}

/// Adds the row of an archive to the proposal, if the manifest lacks it.
fn propose_archive_row(
    survey: &WorkspaceSurvey<'_>,
    archive: Option<&RelPath>,
    proposal: &mut ChangeProposal,
) {
    let (Some(manifest), Some(archive)) = (survey.manifest(), archive) else {
        return;
    };
    if let Some(edit) = archive_listing_edit(manifest, archive, survey.now)
        && let Ok(after) = manifest.text_after_edits(vec![edit])
    {
        proposal.add(
            manifest::manifest_path(),
            Some(manifest.text().to_owned()),
            after,
        );
    }
}

/// Adds the graph to the proposal. It is derived from the front matter, so it
/// is drawn again as a whole.
fn propose_graph(survey: &WorkspaceSurvey<'_>, proposal: &mut ChangeProposal) {
    let Ok(path) = RelPath::new(GRAPH_FILE) else {
        return;
    };
    // Without typed edges there is nothing to draw.
    if survey.manifest().is_none() || survey.graph().typed_edges().next().is_none() {
        return;
    }
    let before = survey.workspace.read_text(&path).ok();
    proposal.add(path, before, render_graph_file(survey.graph()));
}

/// Lines that each section of the report shows.
const MAX_LINES_PER_SECTION: usize = 20;

impl ConsolidationReport {
    /// Renders the report under the headings that other tools parse.
    pub fn render(&self, fixed: bool) -> String {
        let mut out = String::from("Consolidate Report\n\n");
        let duplicates: Vec<String> = self
            .duplicates
            .iter()
            .map(DuplicateCandidate::render_line)
            .collect();
        render_section(&mut out, "DEDUP", &duplicates, "No duplicate candidates.");
        let excerpt = |text: &str| truncate_at_word(text, 80);
        let contradictions: Vec<String> = self
            .contradictions
            .iter()
            .map(|it| {
                let (older, newer) = (&it.older, &it.newer);
                format!(
                    "line {} \"{}\" is superseded by line {} \"{}\"{}",
                    older.line,
                    excerpt(&older.title),
                    newer.line,
                    excerpt(newer.decision.as_deref().unwrap_or(&newer.title)),
                    if fixed { " (marked)" } else { "" },
                )
            })
            .collect();
        let none = "No contradictions.";
        render_section(&mut out, "DECISIONS CONTRADICTIONS", &contradictions, none);
        render_section(&mut out, "ORPHANS", &self.orphans, "No orphans.");
        render_section(
            &mut out,
            "DECISIONS COMPRESSION",
            &self.render_compression(fixed),
            "",
        );
        let last = self.last_run.as_ref().map(|it| it.when.to_string());
        out.push_str(&format!(
            "Last run: {}\n",
            last.as_deref().unwrap_or("never")
        ));
        out
    }

    /// Renders the section about compression.
    fn render_compression(&self, fixed: bool) -> Vec<String> {
        let DecisionFile { path, lines, after } = &self.decisions;
        let Some(path) = path else {
            return vec!["There is no file of decisions.".to_owned()];
        };
        if *lines < MIN_LINES_TO_GATHER {
            return vec![format!(
                "{path} has {lines} lines; nothing to do below {MIN_LINES_TO_GATHER}."
            )];
        }
        let CondenseOutcome {
            pairs,
            clusters,
            gathered,
        } = self.condensed;
        let verb = if fixed { "were" } else { "can be" };
        let mut sentences = vec![if self.condensed.is_noop() {
            format!("{path} has {lines} lines; nothing can be gathered.")
        } else {
            format!(
                "{path} has {lines} lines; {pairs} pairs {verb} joined, {gathered} decisions {verb} gathered in {clusters} weeks."
            )
        }];
        if self.archived > 0 {
            sentences.push(format!(
                "{} older decisions {verb} moved word for word to the archive in the same folder.",
                self.archived
            ));
        }
        if self.is_urgent() && !fixed && *after < NEARLY_FULL_DECISION_LINES {
            sentences.push(format!(
                "WARNING: {lines} lines of at most {MAX_DECISION_LINES}; run `{SHORTEN_COMMAND}`."
            ));
        } else if self.is_urgent() && *after >= NEARLY_FULL_DECISION_LINES {
            sentences.push(format!(
                "WARNING: {after} lines of at most {MAX_DECISION_LINES}; {SHORTEN_BY_HAND_ADVICE}."
            ));
        }
        sentences
    }
}

/// Renders a section: its title, its first lines, and how many more there are.
fn render_section(out: &mut String, title: &str, lines: &[String], none: &str) {
    out.push_str(&format!("{title}\n"));
    if lines.is_empty() {
        out.push_str(&format!("  {none}\n"));
    }
    for line in lines.iter().take(MAX_LINES_PER_SECTION) {
        out.push_str(&format!("  {line}\n"));
    }
    if lines.len() > MAX_LINES_PER_SECTION {
        let more = lines.len() - MAX_LINES_PER_SECTION;
        out.push_str(&format!("  and {more} more; `--json` lists them all\n"));
    }
    out.push('\n');
}
