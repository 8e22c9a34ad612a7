//! An audit for programs. Keys are added, never renamed or removed, as long as
//! `version` stays the same.

use forge::audit::{self, Item, Report};
use serde_json::{Value, json};

use super::Merged;

pub(super) fn one(report: &Report, findings: &[Merged]) -> Value {
    let mut value = json!({
        "version": 1,
        "tokenizer": report.tokenizer.to_string(),
        "estimate": report.tokenizer.is_estimate(),
        "limitsTokenizer": report.judge.to_string(),
        "client": report.view.id(),
    });
    for (name, level) in LEVELS {
        value[name] = findings_as_json(findings, level);
    }
    value["files"] = report.items.iter().map(item_as_json).collect();
    value["summary"] = summary_as_json(report);
    value
}

pub(super) fn several(reports: &[Report], findings: &[Merged]) -> Value {
    let first = &reports[0];
    let mut value = json!({
        "version": 1,
        "tokenizer": first.tokenizer.to_string(),
        "estimate": first.tokenizer.is_estimate(),
        "limitsTokenizer": first.judge.to_string(),
        "client": "all",
    });
    for (name, level) in LEVELS {
        value[name] = findings_as_json(findings, level);
    }
    value["clients"] = reports
        .iter()
        .map(|report| {
            json!({
                "client": report.view.id(),
                "files": report.items.iter().map(item_as_json).collect::<Value>(),
                "summary": summary_as_json(report),
            })
        })
        .collect();
    value
}

const LEVELS: [(&str, audit::Level); 3] = [
    ("critical", audit::Level::Critical),
    ("warnings", audit::Level::Warning),
    ("notices", audit::Level::Notice),
];

fn findings_as_json(findings: &[Merged], level: audit::Level) -> Value {
    let wanted = findings.iter().filter(|one| one.finding.level == level);
    wanted
        .map(|one| {
            let finding = one.finding;
            let mut value = json!({
                "file": finding.file,
                "level": level.name().to_lowercase(),
                "kind": finding.kind.id(),
                "message": finding.message,
            });
            if let Some(line) = finding.line {
                value["line"] = line.into();
            }
            if let Some(tokens) = finding.tokens {
                value["tokens"] = tokens.into();
            }
            if let Some(advice) = &finding.advice {
                value["advice"] = advice.as_str().into();
            }
            if !one.everywhere {
                value["clients"] = one.views.iter().map(|view| view.id()).collect();
            }
            value
        })
        .collect()
}

fn item_as_json(item: &Item) -> Value {
    json!({
        "file": item.path,
        "tokens": item.always,
        "wholeTokens": item.whole,
        "onInvokeTokens": item.on_invoke,
        "origin": item.origin.id(),
        "why": item.why,
        "part": item.part,
        "nested": item.nested,
        "level": item.level.map(|level| level.name().to_lowercase()),
    })
}

fn summary_as_json(report: &Report) -> Value {
    let summary = &report.summary;
    json!({
        "totalAutoloadTokens": summary.autoload_tokens,
        "autoloadFiles": summary.autoload_files,
        "knowledgeFiles": summary.knowledge_files,
        "nestedTokens": summary.nested_tokens,
        "onInvokeTokens": summary.on_invoke_tokens,
        "userTokens": summary.beyond_tokens,
    })
}
