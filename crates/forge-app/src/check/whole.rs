//! Runs the checks of `check` over a whole workspace. Checks of parts that the
//! workspace does not have are skipped with a reason, and a fault that several
//! checks see is reported once.

use super::survey::WorkspaceSurvey;
use super::{CHECK_REGISTRY, CheckDefinition, CheckReport, CheckResult, CheckView};
use crate::finding::{CheckFinding, CheckId, CheckOutcome};
use crate::mind::MindFile;

/// Returns the checks that these words select: ids, or groups such as `links`.
/// Without words these are the checks of [`CheckView::All`]. Fails with the
/// first word that is neither.
pub fn select_checks(words: &[String]) -> Result<Vec<&'static CheckDefinition>, &str> {
    if words.is_empty() {
        return Ok(CheckView::All.checks().collect());
    }
    let is_named =
        |check: &CheckDefinition, word: &str| check.id.as_str() == word || check.id.group() == word;
    for word in words {
        if !CHECK_REGISTRY.iter().any(|it| is_named(it, word)) {
            return Err(word);
        }
    }
    // In the order of `check`, then those that it leaves to other commands.
    let others = CHECK_REGISTRY.iter();
    let others = others.filter(|it| !CheckView::All.check_ids().contains(&it.id));
    let all = CheckView::All.checks().chain(others);
    let chosen = all.filter(|it| words.iter().any(|word| is_named(it, word)));
    Ok(chosen.collect())
}

/// Runs checks over a workspace that may lack the parts that they read.
pub fn check_workspace(
    survey: &WorkspaceSurvey<'_>,
    checks: &[&'static CheckDefinition],
) -> CheckReport {
    let mut report = CheckReport {
        results: Vec::new(),
    };
    for check in checks {
        let mut outcome = match reason_to_skip(survey, check.id) {
            Some(why) => CheckOutcome::Skipped(why.to_owned()),
            None => check.run_check(survey),
        };
        if let CheckOutcome::Found(found) = outcome {
            let is_new = |it: &CheckFinding| !merge_into_known(&mut report, it);
            outcome = CheckOutcome::from_findings(found.into_iter().filter(is_new).collect());
        }
        report.results.push(CheckResult { check, outcome });
    }
    report
}

/// Returns `true` if an earlier check reported the same fault, and raises that
/// one to the worse severity of both.
fn merge_into_known(report: &mut CheckReport, later: &CheckFinding) -> bool {
    let results = report.results.iter_mut();
    let mut findings = results.flat_map(|it| match &mut it.outcome {
        CheckOutcome::Found(found) => found.as_mut_slice(),
        CheckOutcome::Passed(_) | CheckOutcome::Skipped(_) => &mut [],
    });
    let Some(known) = findings.find(|it| is_same_fault(it, later)) else {
        return false;
    };
    known.severity = known.severity.max(later.severity);
    true
}

/// Returns the reason to skip a check whose part of the workspace is missing.
/// Commands about that very part report it instead.
fn reason_to_skip(survey: &WorkspaceSurvey<'_>, check: CheckId) -> Option<&'static str> {
    const NO_STATE_REASON: &str = "no state is kept here";
    let (has_manifest, has_state) = (survey.manifest().is_some(), survey.mind.has_state_files());
    match check {
        CheckId::STATE_STALE if !has_manifest && !has_state => Some(NO_STATE_REASON),
        CheckId::STATE_BLOCKED
        | CheckId::STATE_UNREADABLE
        | CheckId::STATE_UNTOUCHED
        | CheckId::STATE_LARGE
        | CheckId::CLIENTS_UNCONNECTED
            if !has_state =>
        {
            Some(NO_STATE_REASON)
        }
        CheckId::PUSH_SILENCED => {
            let log = survey.workspace.root().join(crate::push::PUSHES_FILE);
            (!log.is_file()).then_some("hooks have brought nothing yet")
        }
        CheckId::PUSH_APPLIES_TO | CheckId::PUSH_NO_MATCH
            if survey.stated_patterns().is_empty() =>
        {
            Some("no document states what it applies to")
        }
        CheckId::DECISIONS_SUPERSEDED | CheckId::DECISIONS_FULL => {
            let path = survey
                .workspace
                .absolute_path(&survey.mind.file_path(MindFile::Decisions));
            (!path.is_file()).then_some("there is no file of decisions")
        }
        CheckId::MANIFEST_UNLISTED
        | CheckId::MANIFEST_FOLDERS
        | CheckId::MANIFEST_SUMMARIES
        | CheckId::MANIFEST_ENTRIES
        | CheckId::CLOSETS_COVERAGE
            if !has_manifest =>
        {
            Some("there is no `_MANIFEST.md`")
        }
        _ if check.group() == "closets" && !has_manifest && !survey.has_closets() => {
            Some("no closets are kept here")
        }
        _ if matches!(check.group(), "links" | "graph" | "notes") => {
            let is_empty = survey.vault().notes().next().is_none();
            is_empty.then_some("there are no notes")
        }
        _ => None,
    }
}

/// Returns `true` for checks of closets, which several commands run in their
/// own ways.
fn is_about_closets(check: CheckId) -> bool {
    let others = [CheckId::LINKS_CLOSETS, CheckId::MANIFEST_UNLISTED];
    check.group() == "closets" || others.contains(&check)
}

/// Returns `true` for checks of names that lead nowhere.
fn is_about_broken_names(check: CheckId) -> bool {
    let all = [
        CheckId::MANIFEST_ENTRIES,
        CheckId::LINKS_MISSING,
        CheckId::GRAPH_DANGLING,
    ];
    all.contains(&check)
}

/// Returns `true` if the later of two findings is about the same fault.
fn is_same_fault(known: &CheckFinding, later: &CheckFinding) -> bool {
    if known.check == later.check {
        return false;
    }
    let same_path = known.path() == later.path();
    let same_subject = known.subject.is_some() && known.subject == later.subject;
    if same_path && known.message == later.message {
        return true;
    }
    let both = |is_about: fn(CheckId) -> bool| is_about(known.check) && is_about(later.check);
    if both(is_about_closets) {
        let same_line = known.line().is_some() && known.place == later.place;
        // The subject of both is the path of the document.
        let no_entry = known.check == CheckId::CLOSETS_MISSING;
        return same_line || same_subject && (no_entry || same_path);
    }
    both(is_about_broken_names) && same_path && same_subject
}
