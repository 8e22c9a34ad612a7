//! Answers with findings, and repairs them as `doctor --fix` does: shown first,
//! and applied only as shown.

use forge_app::quote;
use forge_app::{audit, doctor};
use serde_json::{Value, json};

use super::overview::audit_reports;
use super::{PageAnswer, PageRefusal, QuestionContext, QuestionInput, clean_text};

/// Upper bound for the findings of each level.
const MAX_FINDINGS_PER_LEVEL: usize = 300;
/// Upper bound for the lines of a diff.
const MAX_DIFF_LINES: usize = 2_000;

pub(super) fn answer_audit(
    visit: &QuestionContext,
    _: &QuestionInput,
) -> Result<PageAnswer, PageRefusal> {
    let reports = audit_reports(visit);
    let mut value = audit::to_json(&reports[1..]);
    let mut left_out = 0;
    for level in ["critical", "warnings", "notices"] {
        if let Some(findings) = value[level].as_array_mut() {
            left_out += findings.len().saturating_sub(MAX_FINDINGS_PER_LEVEL);
            findings.truncate(MAX_FINDINGS_PER_LEVEL);
        }
    }
    let repaired = doctor::plan_repair(&visit.workspace, &[], visit.now);
    let files = repaired.proposal.files.iter();
    value["repairable"] = files.map(|file| file.path.as_str()).collect();
    value["leftOut"] = left_out.into();
    // A person has seen these findings, the next audit has not: only `audit`
    // keeps the baseline.
    Ok(clean_value(value).into())
}

pub(super) fn plan_repair(
    visit: &QuestionContext,
    _: &QuestionInput,
) -> Result<PageAnswer, PageRefusal> {
    let repair = doctor::plan_repair(&visit.workspace, &[], visit.now);
    let files: Vec<Value> = repair
        .proposal
        .files
        .iter()
        .map(|file| {
            let before = file.before.as_deref().unwrap_or_default();
            json!({
                "path": file.path.as_str(), "created": file.before.is_none(),
                "diff": diff_rows(before, &file.after),
            })
        })
        .collect();
    let left_alone: Vec<Value> = repair
        .left_alone
        .iter()
        .map(|one| json!({ "path": one.path.as_str(), "why": clean_text(&one.why) }))
        .collect();
    Ok(json!({
        "version": 1, "plan": repair.proposal.version(), "files": files,
        "leftAlone": left_alone,
    })
    .into())
}

pub(super) fn apply_repair(
    visit: &QuestionContext,
    given: &QuestionInput,
) -> Result<PageAnswer, PageRefusal> {
    let repair = doctor::plan_repair(&visit.workspace, &[], visit.now);
    if repair.proposal.is_empty() {
        return Err(PageRefusal::new(404, "There is nothing to repair"));
    }
    if given.required_text("plan")? != repair.proposal.version() {
        let why = "The files changed since this repair was shown; look at it again";
        return Err(PageRefusal::new(409, why));
    }
    let what = doctor::REPAIR_TITLE;
    let receipt = repair.proposal.apply(&visit.workspace, what, visit.now)?;
    let files: Vec<&str> = receipt.files.iter().map(|path| path.as_str()).collect();
    Ok(json!({ "version": 1, "change": receipt.id, "files": files }).into())
}

/// Renders a unified diff as rows: the kind of line, and its text.
pub(super) fn diff_rows(before: &str, after: &str) -> Value {
    let text = crate::ui::plain_diff(&quote::sanitize_text(before), &quote::sanitize_text(after));
    let mut rows: Vec<Value> = Vec::new();
    let mut left_out = 0;
    for line in text.lines() {
        if rows.len() == MAX_DIFF_LINES {
            left_out += 1;
            continue;
        }
        let (sign, rest) = line.split_at(line.chars().next().map_or(0, char::len_utf8));
        rows.push(json!([sign, rest]));
    }
    json!({ "rows": rows, "leftOut": left_out })
}

/// Cleans all texts of a value, since messages name files, and a file can have
/// any name.
fn clean_value(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(clean_text(&text)),
        Value::Array(all) => all.into_iter().map(clean_value).collect(),
        Value::Object(all) => all
            .into_iter()
            .map(|(key, it)| (key, clean_value(it)))
            .collect(),
        other => other,
    }
}
