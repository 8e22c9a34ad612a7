//! Finds what a workspace accumulates over weeks: notes that are nearly the
//! same, decisions that contradict each other, files without a link, and a file
//! of decisions that grows too long. Duplicates are only reported; nothing is
//! merged and nothing paraphrased.

use jiff::Timestamp;

use super::duplicates::Candidate;
use super::survey::Survey;
use super::{CheckView, run_checks};
use crate::bulk::{self, Logged, RunReport, Skill, Status, Who};
use crate::document::{Edit, day_of};
use crate::finding::{CheckId, Finding, RepairId, Severity};
use crate::graph::{GRAPH_FILE, render_file};
use crate::mind::{
    Condensed, Error, File, Layout, Shortened, Supersession, annotated, archive_of, condensed, cut,
    shortened,
};
use crate::routing::archives::{ArchiveRow, row_of};
use crate::routing::manifest::{self, Manifest};
use crate::session::{SHORTEN, SHORTEN_BY_HAND};
use crate::thresholds::{DECISIONS_NEARLY_FULL, MAX_DECISION_LINES, MIN_LINES_TO_GATHER};
use crate::workspace::{Proposal, RelPath};

/// The findings of a consolidation, and what it did or would do.
#[derive(Debug, Clone, Default)]
pub struct ConsolidationReport {
    pub duplicates: Vec<Candidate>,
    pub contradictions: Vec<Supersession>,
    /// Broken links, edges without a page, and files in no list.
    pub orphans: Vec<String>,
    pub decisions: DecisionFile,
    /// The effect of compression.
    pub condensed: Condensed,
    /// Number of old decisions that move to the archive.
    pub archived: usize,
    pub last_run: Option<Logged>,
}

/// The file of decisions and its length.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DecisionFile {
    pub path: Option<RelPath>,
    pub lines: usize,
    /// Lines after all changes of `fix`.
    pub after: usize,
}

/// A report with the changes that belong to it.
#[derive(Debug, Clone, Default)]
pub struct Consolidation {
    pub report: ConsolidationReport,
    /// The graph, and with `fix` the decisions, their archive and its row in
    /// the manifest.
    pub proposal: Proposal,
    /// The archive, if the manifest does not list it yet.
    pub(super) listed_archive: Option<RelPath>,
}

/// Returns `true` if there is a workspace to consolidate.
pub fn is_possible(survey: &Survey<'_>) -> bool {
    let has_state = survey.mind.exists() && survey.mind.layout() == Layout::Manifest;
    survey.manifest().is_some() || has_state
}

/// Plans a consolidation. The proposal holds the graph, and with `fix` the
/// marks on contradicted decisions and their compression.
pub fn consolidate(survey: &Survey<'_>, fix: bool) -> Result<Consolidation, Error> {
    let mut done = Consolidation {
        report: ConsolidationReport {
            duplicates: survey.duplicates().to_vec(),
            contradictions: survey.mind.supersessions()?,
            orphans: orphans(survey),
            ..ConsolidationReport::default()
        },
        ..Consolidation::default()
    };
    if let Some(plan) = plan_decisions(survey)? {
        let (report, proposal) = (&mut done.report, &mut done.proposal);
        report.decisions = plan.file();
        report.condensed = plan.condensed;
        report.archived = plan.shortened.as_ref().map_or(0, |it| it.moved);
        if fix {
            if let Some(shortened) = plan.shortened {
                if survey.manifest().is_some_and(|it| !lists(it, &shortened)) {
                    done.listed_archive = Some(shortened.archive.clone());
                }
                list_archive(survey, done.listed_archive.as_ref(), proposal);
                let (before, text) = shortened.archived;
                proposal.add(shortened.archive, before, text);
            }
            proposal.add(plan.path, Some(plan.before), plan.after);
        }
    }
    rewrite_graph(survey, &mut done.proposal);
    Ok(done)
}

impl ConsolidationReport {
    /// Returns `true` if the file of decisions is nearly full.
    pub fn is_urgent(&self) -> bool {
        self.decisions.lines >= DECISIONS_NEARLY_FULL
    }

    /// Converts the report to the counts of the run log.
    pub(super) fn run_report(&self, fixed: bool) -> RunReport {
        let done = self.condensed.pairs + self.condensed.gathered + self.archived;
        RunReport::new(Status::Ok)
            .count("dedup", self.duplicates.len())
            .count("contradictions", self.contradictions.len())
            .count("orphans", self.orphans.len())
            .count("decisions-compressed", if fixed { done } else { 0 })
    }
}

/// Consolidates as a bulk run. Returns the report, and the id of the change if
/// anything was written.
pub fn run_consolidation(
    survey: &Survey<'_>,
    fix: bool,
    who: &Who,
) -> Result<(ConsolidationReport, Option<String>), Error> {
    let (workspace, now) = (survey.workspace, survey.now);
    let last_run = bulk::last_ok(workspace, Skill::Consolidate);
    let done = bulk::run(workspace, Skill::Consolidate, now, who, || {
        let Consolidation {
            mut report,
            proposal,
            ..
        } = consolidate(survey, fix)?;
        report.last_run = last_run;
        let mut change = None;
        if !proposal.is_empty() {
            let receipt = proposal.apply(workspace, "Consolidate the workspace", now)?;
            change = receipt.id;
        }
        let log = report.run_report(fix);
        Ok::<_, Error>(((report, change), log))
    })?;
    Ok(done.value)
}

/// A plan to compress the file of decisions.
struct DecisionPlan {
    path: RelPath,
    before: String,
    after: String,
    condensed: Condensed,
    shortened: Option<Shortened>,
}

impl DecisionPlan {
    /// Returns the lengths of the file before and after the plan.
    fn file(&self) -> DecisionFile {
        DecisionFile {
            path: Some(self.path.clone()),
            lines: self.before.lines().count(),
            after: self.after.lines().count(),
        }
    }
}

/// Plans the compression of decisions; `None` without a file of them.
fn plan_decisions(survey: &Survey<'_>) -> Result<Option<DecisionPlan>, Error> {
    let path = survey.mind.file(File::Decisions);
    let Ok(before) = survey.workspace.read_text(&path) else {
        return Ok(None);
    };
    let mut after = before.clone();
    let mut gathered = Condensed::default();
    if before.lines().count() >= MIN_LINES_TO_GATHER {
        (after, gathered) = condensed(&path, after)?;
    }
    // Marked before it is shortened, so that an archived decision carries its
    // mark with it.
    (after, _) = annotated(&path, after, day_of(survey.now))?;
    let archive = archive_of(&path).and_then(|it| survey.workspace.read_text(&it).ok());
    let mut shortened = shortened(&path, &after, archive)?;
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
pub(super) fn decisions_full(survey: &Survey<'_>) -> Vec<Finding> {
    const CHECK: CheckId = CheckId::DECISIONS_FULL;
    let plan = match plan_decisions(survey) {
        Ok(Some(plan)) => plan,
        Ok(None) => return Vec::new(),
        Err(error) => {
            let finding = Finding::new(CHECK, Severity::Warning, error.to_string());
            return vec![finding.advice("repair the file")];
        }
    };
    let DecisionFile { lines, after, .. } = plan.file();
    if lines < DECISIONS_NEARLY_FULL {
        return Vec::new();
    }
    let path = &plan.path;
    let message = format!("{path} has {lines} lines of at most {MAX_DECISION_LINES}");
    let finding = Finding::new(CHECK, Severity::Warning, message).in_file(path);
    vec![if after < DECISIONS_NEARLY_FULL {
        finding
            .advice(format!("run `{SHORTEN}`"))
            .repaired_by(RepairId::ShortenDecisions)
    } else {
        finding.advice(SHORTEN_BY_HAND)
    }]
}

/// Lists the findings about files and links that nothing refers to.
fn orphans(survey: &Survey<'_>) -> Vec<String> {
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
    let line = |it: &Finding| match (&it.place, &it.subject) {
        (Some(place), Some(link)) if it.check == CheckId::LINKS_MISSING => {
            format!("{place} [[{link}]] leads nowhere")
        }
        _ => it.message.clone(),
    };
    report.findings().map(line).collect()
}

/// Returns `true` if the manifest lists the archive.
fn lists(manifest: &Manifest, shortened: &Shortened) -> bool {
    manifest.retired().holds(shortened.archive.as_str())
}

/// Returns the edit that lists an archive of decisions in Tier 3.
pub(super) fn row_of_archive(
    manifest: &Manifest,
    archive: &RelPath,
    now: Timestamp,
) -> Option<Edit> {
    let row = ArchiveRow {
        target: archive.as_str().trim_end_matches(".md"),
        about: "Older decisions",
    };
    row_of(manifest, &row, now)
}

/// Adds the row of an archive to the proposal, if the manifest lacks it.
fn list_archive(survey: &Survey<'_>, archive: Option<&RelPath>, proposal: &mut Proposal) {
    let (Some(manifest), Some(archive)) = (survey.manifest(), archive) else {
        return;
    };
    if let Some(edit) = row_of_archive(manifest, archive, survey.now)
        && let Ok(after) = manifest.edited(vec![edit])
    {
        proposal.add(manifest::path(), Some(manifest.text().to_owned()), after);
    }
}

/// Adds the graph to the proposal. It is derived from the front matter, so it
/// is drawn again as a whole.
fn rewrite_graph(survey: &Survey<'_>, proposal: &mut Proposal) {
    let Ok(path) = RelPath::new(GRAPH_FILE) else {
        return;
    };
    // Without typed edges there is nothing to draw.
    if survey.manifest().is_none() || survey.graph().typed().next().is_none() {
        return;
    }
    let before = survey.workspace.read_text(&path).ok();
    proposal.add(path, before, render_file(survey.graph()));
}

/// Lines that each section of the report shows.
const MAX_SHOWN: usize = 20;

impl ConsolidationReport {
    /// Renders the report under the headings that other tools parse.
    pub fn render(&self, fixed: bool) -> String {
        let mut out = String::from("Consolidate Report\n\n");
        let duplicates: Vec<String> = self.duplicates.iter().map(Candidate::line).collect();
        part(&mut out, "DEDUP", &duplicates, "No duplicate candidates.");
        let said = |text: &str| cut(text, 80);
        let contradictions: Vec<String> = self
            .contradictions
            .iter()
            .map(|it| {
                let (older, newer) = (&it.older, &it.newer);
                format!(
                    "line {} \"{}\" is superseded by line {} \"{}\"{}",
                    older.line,
                    said(&older.title),
                    newer.line,
                    said(newer.decision.as_deref().unwrap_or(&newer.title)),
                    if fixed { " (marked)" } else { "" },
                )
            })
            .collect();
        let none = "No contradictions.";
        part(&mut out, "DECISIONS CONTRADICTIONS", &contradictions, none);
        part(&mut out, "ORPHANS", &self.orphans, "No orphans.");
        part(
            &mut out,
            "DECISIONS COMPRESSION",
            &self.compression(fixed),
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
    fn compression(&self, fixed: bool) -> Vec<String> {
        let DecisionFile { path, lines, after } = &self.decisions;
        let Some(path) = path else {
            return vec!["There is no file of decisions.".to_owned()];
        };
        if *lines < MIN_LINES_TO_GATHER {
            return vec![format!(
                "{path} has {lines} lines; nothing to do below {MIN_LINES_TO_GATHER}."
            )];
        }
        let Condensed {
            pairs,
            clusters,
            gathered,
        } = self.condensed;
        let verb = if fixed { "were" } else { "can be" };
        let mut said = vec![if self.condensed.is_nothing() {
            format!("{path} has {lines} lines; nothing can be gathered.")
        } else {
            format!(
                "{path} has {lines} lines; {pairs} pairs {verb} joined, {gathered} decisions {verb} gathered in {clusters} weeks."
            )
        }];
        if self.archived > 0 {
            said.push(format!(
                "{} older decisions {verb} moved to the archive beside it, word for word.",
                self.archived
            ));
        }
        if self.is_urgent() && !fixed && *after < DECISIONS_NEARLY_FULL {
            said.push(format!(
                "WARNING: {lines} lines of at most {MAX_DECISION_LINES}; run `{SHORTEN}`."
            ));
        } else if self.is_urgent() && *after >= DECISIONS_NEARLY_FULL {
            said.push(format!(
                "WARNING: {after} lines of at most {MAX_DECISION_LINES}; {SHORTEN_BY_HAND}."
            ));
        }
        said
    }
}

/// Renders a section: its title, its first lines, and how many more there are.
fn part(out: &mut String, title: &str, lines: &[String], none: &str) {
    out.push_str(&format!("{title}\n"));
    if lines.is_empty() {
        out.push_str(&format!("  {none}\n"));
    }
    for line in lines.iter().take(MAX_SHOWN) {
        out.push_str(&format!("  {line}\n"));
    }
    if lines.len() > MAX_SHOWN {
        let more = lines.len() - MAX_SHOWN;
        out.push_str(&format!("  and {more} more; `--json` lists them all\n"));
    }
    out.push('\n');
}
