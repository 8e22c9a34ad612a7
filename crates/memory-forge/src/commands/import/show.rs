//! Renders the result of an import, for people and as JSON. No secret is ever
//! here: the library returns counts.

use forge_app::import::{Landed, Outcome, Proposed, Report, StateProposal, Tally};
use serde_json::{Value, json};

use crate::report::CommandError;
use crate::ui::{Ui, printable};

/// Upper bounds for the lines of a kind that people are shown; JSON has all of
/// them.
const MOST: usize = 20;
const MOST_DRY: usize = 200;

pub(super) fn text(report: &Report, dry_run: bool, ui: &mut Ui) -> Result<(), CommandError> {
    let told: Vec<&Landed> = report
        .files
        .iter()
        .filter(|file| file.outcome != Outcome::Unchanged)
        .collect();
    let most = if dry_run { MOST_DRY } else { MOST };
    for file in told.iter().take(most) {
        let entries = match file.entries {
            1 => String::new(),
            count => format!(" ({count} entries)"),
        };
        let path = printable(file.path.as_str());
        ui.line(&format!("{} {path}{entries}", word(file.outcome, dry_run)))?;
    }
    if told.len() > most {
        ui.line(&format!(
            "… and {} more; `--json` lists all",
            told.len() - most
        ))?;
    }
    let count = |outcome| report.count(outcome);
    let written = count(Outcome::New) + count(Outcome::Updated) + count(Outcome::Replaced);
    let done = if dry_run { "Would write" } else { "Written" };
    ui.line(&format!(
        "{done}: {} new, {} updated, {} replaced; {} unchanged, {} kept",
        count(Outcome::New),
        count(Outcome::Updated),
        count(Outcome::Replaced),
        count(Outcome::Unchanged),
        count(Outcome::Kept),
    ))?;
    proposals(report, ui)?;
    remarks(report, ui);
    if dry_run {
        ui.note("Nothing was written (`--dry-run`)");
    } else if written > 0 {
        ui.note("A search finds them from now on; `memory-forge doctor --undo` takes them back");
    }
    Ok(())
}

fn proposals(report: &Report, ui: &mut Ui) -> Result<(), CommandError> {
    if report.proposals.is_empty() {
        return Ok(());
    }
    ui.line("\nProposed for .mind/, where nothing was changed:")?;
    for proposal in &report.proposals {
        ui.line(&format!("  {}", printable(&command(proposal))))?;
    }
    Ok(())
}

/// Prints what people should know to standard error.
fn remarks(report: &Report, ui: &mut Ui) {
    let kept: Vec<&Landed> = report
        .files
        .iter()
        .filter(|file| file.outcome == Outcome::Kept)
        .collect();
    for file in kept.iter().take(MOST) {
        ui.warn(&format!(
            "`{}` was edited here and its source has changed: it stays as it is (`--force` replaces it)",
            printable(file.path.as_str())
        ));
    }
    for skipped in report.skipped.iter().take(MOST) {
        let what = printable(&skipped.what);
        let text = format!("`{what}` was not imported: {}", printable(&skipped.why));
        if skipped.failed {
            ui.warn(&text)
        } else {
            ui.note(&text)
        }
    }
    for problem in report.problems.iter().take(MOST) {
        let (file, why) = (printable(&problem.file), printable(&problem.why));
        match problem.line {
            Some(line) => ui.warn(&format!("{file}:{line} was passed over: {why}")),
            None => ui.warn(&format!("{file}: {why}")),
        }
    }
    let more = kept.len().saturating_sub(MOST)
        + report.skipped.len().saturating_sub(MOST)
        + report.problems.len().saturating_sub(MOST)
        + report.more_problems;
    if more > 0 {
        ui.warn(&format!(
            "{more} more of these; `--json` lists most of them"
        ));
    }
    let secrets: usize = report.tally.redacted.values().sum();
    if secrets > 0 {
        let rules: Vec<String> = report
            .tally
            .redacted
            .iter()
            .map(|(rule, count)| format!("{rule} ({count})"))
            .collect();
        ui.note(&format!(
            "{secrets} secrets were taken out: {}",
            rules.join(", ")
        ));
    }
    if report.tally.hidden > 0 {
        ui.note(&format!(
            "{} hidden characters were written out",
            report.tally.hidden
        ));
    }
    for (count, why) in [
        (report.older, "`--since`"),
        (report.beyond_limit, "`--limit`"),
    ] {
        if count > 0 {
            ui.note(&format!("{count} left out by {why}"));
        }
    }
}

pub(super) fn json(report: &Report, dry_run: bool) -> Value {
    let files: Vec<Value> = report.files.iter().map(file).collect();
    let skipped: Vec<Value> = report
        .skipped
        .iter()
        .map(|it| json!({ "what": it.what, "why": it.why, "failed": it.failed }))
        .collect();
    let problems: Vec<Value> = report
        .problems
        .iter()
        .map(|it| json!({ "file": it.file, "line": it.line, "why": it.why }))
        .collect();
    let proposals: Vec<Value> = report
        .proposals
        .iter()
        .map(|it| json!({ "from": it.from, "text": it.text, "command": command(it) }))
        .collect();
    let count = |outcome| report.count(outcome);
    json!({
        "version": 1,
        "dryRun": dry_run,
        "new": count(Outcome::New),
        "updated": count(Outcome::Updated),
        "replaced": count(Outcome::Replaced),
        "unchanged": count(Outcome::Unchanged),
        "kept": count(Outcome::Kept),
        "older": report.older,
        "beyondLimit": report.beyond_limit,
        "redacted": report.tally.redacted,
        "hidden": report.tally.hidden,
        "files": files,
        "skipped": skipped,
        "problems": problems,
        "moreProblems": report.more_problems,
        "proposals": proposals,
        "changes": report.changes,
    })
}

fn file(file: &Landed) -> Value {
    let Tally { redacted, hidden } = &file.tally;
    json!({
        "path": file.path.as_str(),
        "sourceId": file.source_id,
        "outcome": match file.outcome {
            Outcome::New => "new",
            Outcome::Updated => "updated",
            Outcome::Unchanged => "unchanged",
            Outcome::Kept => "kept",
            Outcome::Replaced => "replaced",
        },
        "entries": file.entries,
        "redacted": redacted,
        "hidden": hidden,
    })
}

fn word(outcome: Outcome, dry_run: bool) -> &'static str {
    match (outcome, dry_run) {
        (Outcome::New, true) => "Would write",
        (Outcome::New, false) => "✓ New",
        (Outcome::Updated, true) => "Would update",
        (Outcome::Updated, false) => "✓ Updated",
        (Outcome::Replaced, true) => "Would replace",
        (Outcome::Replaced, false) => "✓ Replaced",
        (Outcome::Kept, _) => "Kept as edited",
        (Outcome::Unchanged, _) => "Unchanged",
    }
}

/// Returns the command that would do what is proposed.
fn command(proposal: &StateProposal) -> String {
    // Nothing in single quotes acts in a POSIX shell.
    let text = format!("'{}'", proposal.text.replace('\'', r"'\''"));
    match proposal.what {
        Proposed::Task => format!("memory-forge mind task add {text}"),
        Proposed::Active => format!("memory-forge mind set --active {text}"),
        Proposed::Next => format!("memory-forge mind set --next {text}"),
    }
}
