//! Answers with findings, and repairs them as `doctor --fix` does: shown first,
//! and applied only as shown.

use forge_app::quote;
use forge_app::{audit, doctor};
use serde_json::{Value, json};

use super::overview::reports;
use super::{Given, Refused, Told, Visit, clean};

/// Upper bound for the findings of each level.
const MOST: usize = 300;
/// Upper bound for the lines of a diff.
const MOST_LINES: usize = 2_000;

pub(super) fn audit(visit: &Visit, _: &Given) -> Result<Told, Refused> {
    let reports = reports(visit);
    let mut value = audit::to_json(&reports[1..]);
    let mut left_out = 0;
    for level in ["critical", "warnings", "notices"] {
        if let Some(findings) = value[level].as_array_mut() {
            left_out += findings.len().saturating_sub(MOST);
            findings.truncate(MOST);
        }
    }
    let repaired = doctor::plan(&visit.workspace, &[], visit.now);
    let files = repaired.proposal.files.iter();
    value["repairable"] = files.map(|file| file.path.as_str()).collect();
    value["leftOut"] = left_out.into();
    // A person has seen these findings, the next audit has not: only `audit`
    // keeps the baseline.
    Ok(masked(value).into())
}

pub(super) fn plan(visit: &Visit, _: &Given) -> Result<Told, Refused> {
    let repair = doctor::plan(&visit.workspace, &[], visit.now);
    let files: Vec<Value> = repair
        .proposal
        .files
        .iter()
        .map(|file| {
            let before = file.before.as_deref().unwrap_or_default();
            json!({
                "path": file.path.as_str(), "created": file.before.is_none(),
                "diff": diff(before, &file.after),
            })
        })
        .collect();
    let left_alone: Vec<Value> = repair
        .left_alone
        .iter()
        .map(|one| json!({ "path": one.path.as_str(), "why": clean(&one.why) }))
        .collect();
    Ok(json!({
        "version": 1, "plan": repair.proposal.version(), "files": files,
        "leftAlone": left_alone,
    })
    .into())
}

pub(super) fn repair(visit: &Visit, given: &Given) -> Result<Told, Refused> {
    let repair = doctor::plan(&visit.workspace, &[], visit.now);
    if repair.proposal.is_empty() {
        return Err(Refused::new(404, "There is nothing to repair"));
    }
    if given.text("plan")? != repair.proposal.version() {
        let why = "The files changed since this repair was shown; look at it again";
        return Err(Refused::new(409, why));
    }
    let what = "Repair by `doctor --fix`";
    let receipt = repair.proposal.apply(&visit.workspace, what, visit.now)?;
    let files: Vec<&str> = receipt.files.iter().map(|path| path.as_str()).collect();
    Ok(json!({ "version": 1, "change": receipt.id, "files": files }).into())
}

/// Renders a unified diff as rows: the kind of line, and its text.
pub(super) fn diff(before: &str, after: &str) -> Value {
    let text = crate::ui::plain_diff(&quote::clean(before), &quote::clean(after));
    let mut rows: Vec<Value> = Vec::new();
    let mut left_out = 0;
    for line in text.lines() {
        if rows.len() == MOST_LINES {
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
fn masked(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(clean(&text)),
        Value::Array(all) => all.into_iter().map(masked).collect(),
        Value::Object(all) => all.into_iter().map(|(key, it)| (key, masked(it))).collect(),
        other => other,
    }
}
