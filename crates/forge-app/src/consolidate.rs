//! What a workspace gathers over weeks and nobody looks for: notes that are
//! nearly the same, decisions that contradict each other, what is linked from
//! nowhere, and a file of decisions that grows too long. Duplicates are only
//! ever named; nothing is merged and nothing paraphrased.

mod dedup;

#[cfg(test)]
mod tests;

pub use dedup::{Candidate, Why};

use crate::document::day_of;
use jiff::Timestamp;

use crate::bulk::{self, Logged, RunReport, Skill, Status, Who};
use crate::graph::{GRAPH_FILE, render_file};
use crate::links;
use crate::lint::{Survey, orphans_of};
use crate::mind::{
    Condensed, Error, File, MAX_LINES, NEARLY_FULL, Supersession, annotated, archive_of, condensed,
    cut, shortened,
};
use crate::routing::archives::{ArchiveRow, with_archive};
use crate::routing::manifest;
use crate::session::{SHORTEN, SHORTEN_BY_HAND};
use crate::workspace::{Proposal, RelPath};

#[derive(Debug, Clone, Default)]
pub struct Report {
    pub duplicates: Vec<Candidate>,
    pub contradictions: Vec<Supersession>,
    /// Links that lead nowhere, edges without a page, files in no list.
    pub orphans: Vec<String>,
    pub decisions: DecisionFile,
    /// What compression would do, or did.
    pub condensed: Condensed,
    /// Old decisions that would move to the archive, or did.
    pub archived: usize,
    pub last_run: Option<Logged>,
}

/// The file of decisions and its length.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DecisionFile {
    pub path: Option<RelPath>,
    pub lines: usize,
    /// Lines after everything that `fix` does.
    pub after: usize,
}

/// Lines from which decisions are compressed.
const COMPRESS: usize = 60;

/// Looks at everything. The proposal holds the graph, and with `fix` the marks
/// on contradicted decisions and their compression.
pub fn consolidate(
    survey: &Survey<'_>,
    fix: bool,
    now: Timestamp,
) -> Result<(Report, Proposal), Error> {
    let mut report = Report {
        duplicates: dedup::candidates(&survey.vault),
        contradictions: survey.mind.supersessions()?,
        orphans: orphans(survey),
        ..Report::default()
    };
    let mut proposal = Proposal::default();
    let path = survey.mind.file(File::Decisions);
    if let Ok(text) = survey.workspace.read_text(&path) {
        report.decisions = DecisionFile {
            path: Some(path.clone()),
            lines: text.lines().count(),
            after: 0,
        };
        let mut after = text.clone();
        if report.decisions.lines >= COMPRESS {
            let (shorter, done) = condensed(&path, after.clone())?;
            report.condensed = done;
            after = shorter;
        }
        let (mut after, _) = annotated(&path, after, day_of(now))?;
        let archive = archive_of(&path).and_then(|it| survey.workspace.read_text(&it).ok());
        if let Some(shorter) = shortened(&path, &after, archive)? {
            report.archived = shorter.moved;
            after = shorter.text;
            if fix {
                list_archive(survey, &shorter.archive, now, &mut proposal);
                let (before, text) = shorter.archived;
                proposal.add(shorter.archive, before, text);
            }
        }
        report.decisions.after = after.lines().count();
        if fix {
            proposal.add(path, Some(text), after);
        }
    }
    rewrite_graph(survey, &mut proposal);
    Ok((report, proposal))
}

/// Consolidates as a bulk run, and returns what was found with the id of the
/// change, where there was something to write.
pub fn run(
    survey: &Survey<'_>,
    fix: bool,
    now: Timestamp,
    who: &Who,
) -> Result<(Report, Option<String>), Error> {
    let workspace = survey.workspace;
    let last_run = bulk::last_ok(workspace, Skill::Consolidate);
    let done = bulk::run(workspace, Skill::Consolidate, now, who, || {
        let (mut report, proposal) = consolidate(survey, fix, now)?;
        report.last_run = last_run;
        let mut change = None;
        if !proposal.is_empty() {
            let receipt = proposal.apply(workspace, "Consolidate the workspace", now)?;
            change = receipt.id;
        }
        let compressed = report.condensed.pairs + report.condensed.gathered + report.archived;
        let log = RunReport::new(Status::Ok)
            .count("dedup", report.duplicates.len())
            .count("contradictions", report.contradictions.len())
            .count("orphans", report.orphans.len())
            .count("decisions-compressed", if fix { compressed } else { 0 });
        Ok::<_, Error>(((report, change), log))
    })?;
    Ok(done.value)
}

fn orphans(survey: &Survey<'_>) -> Vec<String> {
    let mut found = Vec::new();
    for it in links::check(&survey.vault).missing() {
        found.push(format!(
            "{}:{} [[{}]] leads nowhere",
            it.path, it.line, it.link
        ));
    }
    found.extend(orphans_of(survey));
    found
}

/// A row of Tier 3 for the archive of decisions.
fn list_archive(survey: &Survey<'_>, archive: &RelPath, now: Timestamp, proposal: &mut Proposal) {
    let Some(manifest) = survey.manifest.as_ref() else {
        return;
    };
    if manifest.retired().holds(archive.as_str()) {
        return;
    }
    let row = ArchiveRow {
        target: archive.as_str().trim_end_matches(".md"),
        about: "Older decisions",
    };
    if let Some(after) = with_archive(manifest, &row, now) {
        proposal.add(manifest::path(), Some(manifest.text().to_owned()), after);
    }
}

/// The graph is a picture of the front matter and is drawn anew.
fn rewrite_graph(survey: &Survey<'_>, proposal: &mut Proposal) {
    let Ok(path) = RelPath::new(GRAPH_FILE) else {
        return;
    };
    if survey.manifest.is_none() || survey.graph.typed().next().is_none() {
        return;
    }
    let before = survey.workspace.read_text(&path).ok();
    proposal.add(path, before, render_file(&survey.graph));
}

/// Lines of a part that are shown.
const SHOWN: usize = 20;

impl Report {
    pub fn is_urgent(&self) -> bool {
        self.decisions.lines >= NEARLY_FULL
    }

    /// Under the headings that other tools know.
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

    fn compression(&self, fixed: bool) -> Vec<String> {
        let DecisionFile { path, lines, after } = &self.decisions;
        let Some(path) = path else {
            return vec!["There is no file of decisions.".to_owned()];
        };
        if *lines < COMPRESS {
            return vec![format!(
                "{path} has {lines} lines; nothing to do below {COMPRESS}."
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
        if self.is_urgent() && !fixed && *after < NEARLY_FULL {
            said.push(format!(
                "WARNING: {lines} lines of at most {MAX_LINES}; run `{SHORTEN}`."
            ));
        } else if self.is_urgent() && *after >= NEARLY_FULL {
            said.push(format!(
                "WARNING: {after} lines of at most {MAX_LINES}; {SHORTEN_BY_HAND}."
            ));
        }
        said
    }
}

fn part(out: &mut String, title: &str, lines: &[String], none: &str) {
    out.push_str(&format!("{title}\n"));
    if lines.is_empty() {
        out.push_str(&format!("  {none}\n"));
    }
    for line in lines.iter().take(SHOWN) {
        out.push_str(&format!("  {line}\n"));
    }
    if lines.len() > SHOWN {
        let more = lines.len() - SHOWN;
        out.push_str(&format!("  and {more} more; `--json` lists them all\n"));
    }
    out.push('\n');
}
