//! Renders the result of an import, for people and as JSON. No secret is ever
//! here: the library returns counts.

use forge_app::counts::count_noun;
use forge_app::import::{
    ImportOutcome, ImportReport, ImportTally, ImportedDocument, StateProposal, StateProposalKind,
};
use serde_json::{Value, json};

use crate::report::CommandError;
use crate::ui::{Ui, escape_hidden};

/// Upper bounds for the lines of a kind that people are shown; JSON has all of
/// them.
const MAX_SHOWN_LINES: usize = 20;
const MAX_DRY_RUN_LINES: usize = 200;

pub(super) fn show_report(
    report: &ImportReport,
    dry_run: bool,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    let listed: Vec<&ImportedDocument> = report
        .files
        .iter()
        .filter(|file| file.outcome != ImportOutcome::Unchanged)
        .collect();
    let most = if dry_run {
        MAX_DRY_RUN_LINES
    } else {
        MAX_SHOWN_LINES
    };
    for file in listed.iter().take(most) {
        let entries = match file.entries {
            1 => String::new(),
            count => format!(" ({count} entries)"),
        };
        let path = escape_hidden(file.path.as_str());
        ui.print_line(&format!(
            "{} {path}{entries}",
            outcome_word(file.outcome, dry_run)
        ))?;
    }
    if listed.len() > most {
        ui.print_line(&format!(
            "… and {} more; `--json` lists all",
            listed.len() - most
        ))?;
    }
    let count = |outcome| report.count_outcome(outcome);
    let written =
        count(ImportOutcome::New) + count(ImportOutcome::Updated) + count(ImportOutcome::Replaced);
    let done = if dry_run { "Would write" } else { "Written" };
    ui.print_line(&format!(
        "{done}: {} new, {} updated, {} replaced; {} unchanged, {} kept",
        count(ImportOutcome::New),
        count(ImportOutcome::Updated),
        count(ImportOutcome::Replaced),
        count(ImportOutcome::Unchanged),
        count(ImportOutcome::Kept),
    ))?;
    if let Some(line) = evidence_line(report, dry_run) {
        ui.print_line(&line)?;
    }
    show_proposals(report, ui)?;
    show_remarks(report, ui);
    if dry_run {
        ui.note("Nothing was written (`--dry-run`)");
    } else if written > 0 {
        ui.note("A search finds them from now on; `memory-forge doctor --undo` reverts the import");
    }
    Ok(())
}

/// Returns the line about evidence, if there is any. A run that finds nothing
/// new says that all of it is there.
fn evidence_line(report: &ImportReport, dry_run: bool) -> Option<String> {
    let evidence = report.evidence;
    let added = match evidence.added {
        0 => "0 new".to_owned(),
        added => format!("{} about commands and files", count_noun(added, "fact")),
    };
    let known = match evidence.known_sessions {
        0 if evidence.added == 0 => return None,
        0 => String::new(),
        known => format!(", {} already imported", count_noun(known, "session")),
    };
    let kept = if dry_run { "Would keep" } else { "Kept" };
    Some(format!("{kept} as evidence: {added}{known}"))
}

fn show_proposals(report: &ImportReport, ui: &mut Ui) -> Result<(), CommandError> {
    if report.proposals.is_empty() {
        return Ok(());
    }
    ui.print_line("\nProposed for .mind/, where nothing was changed:")?;
    for proposal in &report.proposals {
        ui.print_line(&format!("  {}", escape_hidden(&proposal_command(proposal))))?;
    }
    Ok(())
}

/// Prints what people should know to standard error.
fn show_remarks(report: &ImportReport, ui: &mut Ui) {
    let kept: Vec<&ImportedDocument> = report
        .files
        .iter()
        .filter(|file| file.outcome == ImportOutcome::Kept)
        .collect();
    for file in kept.iter().take(MAX_SHOWN_LINES) {
        ui.warn(&format!(
            "`{}` was edited here and its source has changed: it stays as it is (`--force` replaces it)",
            escape_hidden(file.path.as_str())
        ));
    }
    for skipped in report.skipped.iter().take(MAX_SHOWN_LINES) {
        let what = escape_hidden(&skipped.what);
        let text = format!("`{what}` was not imported: {}", escape_hidden(&skipped.why));
        if skipped.failed {
            ui.warn(&text)
        } else {
            ui.note(&text)
        }
    }
    for problem in report.problems.iter().take(MAX_SHOWN_LINES) {
        let (file, why) = (escape_hidden(&problem.file), escape_hidden(&problem.why));
        match problem.line {
            Some(line) => ui.warn(&format!("Skipped {file}:{line}: {why}")),
            None => ui.warn(&format!("{file}: {why}")),
        }
    }
    let more = kept.len().saturating_sub(MAX_SHOWN_LINES)
        + report.skipped.len().saturating_sub(MAX_SHOWN_LINES)
        + report.problems.len().saturating_sub(MAX_SHOWN_LINES)
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

pub(super) fn report_json(report: &ImportReport, dry_run: bool) -> Value {
    let files: Vec<Value> = report.files.iter().map(file_json).collect();
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
        .map(|it| json!({ "from": it.from, "text": it.text, "command": proposal_command(it) }))
        .collect();
    let count = |outcome| report.count_outcome(outcome);
    json!({
        "version": 1,
        "dryRun": dry_run,
        "new": count(ImportOutcome::New),
        "updated": count(ImportOutcome::Updated),
        "replaced": count(ImportOutcome::Replaced),
        "unchanged": count(ImportOutcome::Unchanged),
        "kept": count(ImportOutcome::Kept),
        "older": report.older,
        "beyondLimit": report.beyond_limit,
        "redacted": report.tally.redacted,
        "hidden": report.tally.hidden,
        "files": files,
        "skipped": skipped,
        "problems": problems,
        "moreProblems": report.more_problems,
        "proposals": proposals,
        "evidence": report.evidence.added,
        "evidenceKnownSessions": report.evidence.known_sessions,
        "changes": report.changes,
    })
}

fn file_json(file: &ImportedDocument) -> Value {
    let ImportTally { redacted, hidden } = &file.tally;
    json!({
        "path": file.path.as_str(),
        "sourceId": file.source_id,
        "outcome": match file.outcome {
            ImportOutcome::New => "new",
            ImportOutcome::Updated => "updated",
            ImportOutcome::Unchanged => "unchanged",
            ImportOutcome::Kept => "kept",
            ImportOutcome::Replaced => "replaced",
        },
        "entries": file.entries,
        "redacted": redacted,
        "hidden": hidden,
    })
}

fn outcome_word(outcome: ImportOutcome, dry_run: bool) -> &'static str {
    match (outcome, dry_run) {
        (ImportOutcome::New, true) => "Would write",
        (ImportOutcome::New, false) => "✓ New",
        (ImportOutcome::Updated, true) => "Would update",
        (ImportOutcome::Updated, false) => "✓ Updated",
        (ImportOutcome::Replaced, true) => "Would replace",
        (ImportOutcome::Replaced, false) => "✓ Replaced",
        (ImportOutcome::Kept, _) => "Kept as edited",
        (ImportOutcome::Unchanged, _) => "Unchanged",
    }
}

/// Returns the command that would do what is proposed.
fn proposal_command(proposal: &StateProposal) -> String {
    // Nothing in single quotes acts in a POSIX shell.
    let text = format!("'{}'", proposal.text.replace('\'', r"'\''"));
    match proposal.what {
        StateProposalKind::Task => format!("memory-forge mind task add {text}"),
        StateProposalKind::Active => format!("memory-forge mind set --active {text}"),
        StateProposalKind::Next => format!("memory-forge mind set --next {text}"),
    }
}
