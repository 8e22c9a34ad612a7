//! Renders an audit for programs. Keys are added, never renamed or removed, as
//! long as `version` stays the same.

use std::cmp::Reverse;
use std::collections::HashMap;

use forge_text::quote::hidden::escape_for_terminal;
use serde_json::{Value, json};

use super::{AuditFinding, AuditItem, AuditLevel, AuditReport, AuditView};

/// Finding with the views in which it was made, where that is not in all of
/// them.
pub struct MergedFinding<'a> {
    /// The finding, as the first of its views has it.
    pub finding: &'a AuditFinding,
    views: Vec<AuditView>,
    /// Whether every view has the finding.
    pub is_everywhere: bool,
}

impl MergedFinding<'_> {
    /// Returns the message, with the views unless they are all.
    pub fn message(&self) -> String {
        let message = escape_for_terminal(&self.finding.message).into_owned();
        if self.is_everywhere {
            return message;
        }
        let views: Vec<&str> = self.views.iter().map(|view| view.id()).collect();
        format!("{message} [{}]", views.join(", "))
    }
}

/// Returns the findings of several views, each once, the most severe first.
pub fn merge_findings(reports: &[AuditReport]) -> Vec<MergedFinding<'_>> {
    let mut all: Vec<MergedFinding> = Vec::new();
    let mut known = HashMap::new();
    for report in reports {
        for finding in &report.findings {
            let key = (finding.kind.id(), finding.level, &finding.message);
            let at = *known.entry(key).or_insert_with(|| {
                all.push(MergedFinding {
                    finding,
                    views: Vec::new(),
                    is_everywhere: false,
                });
                all.len() - 1
            });
            all[at].views.push(report.view);
        }
    }
    for one in &mut all {
        one.is_everywhere = one.views.len() == reports.len();
    }
    // Each report is sorted; the merged list has to be sorted again.
    all.sort_by_key(|one| Reverse(one.finding.level));
    all
}

/// Returns an audit of one view or of several as JSON.
pub fn to_json(reports: &[AuditReport]) -> Value {
    let findings = merge_findings(reports);
    match reports {
        [report] => report_json(report, &findings),
        several_reports => combined_json(several_reports, &findings),
    }
}

fn report_json(report: &AuditReport, findings: &[MergedFinding]) -> Value {
    let mut value = json!({
        "version": 1,
        "tokenizer": report.tokenizer.to_string(),
        "estimate": report.tokenizer.is_estimate(),
        "limitsTokenizer": report.judge.to_string(),
        "client": report.view.id(),
    });
    for (name, level) in LEVEL_KEYS {
        value[name] = findings_as_json(findings, level);
    }
    value["files"] = report.items.iter().map(item_as_json).collect();
    value["summary"] = summary_as_json(report);
    value
}

fn combined_json(reports: &[AuditReport], findings: &[MergedFinding]) -> Value {
    let first = &reports[0];
    let mut value = json!({
        "version": 1,
        "tokenizer": first.tokenizer.to_string(),
        "estimate": first.tokenizer.is_estimate(),
        "limitsTokenizer": first.judge.to_string(),
        "client": "all",
    });
    for (name, level) in LEVEL_KEYS {
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

const LEVEL_KEYS: [(&str, AuditLevel); 3] = [
    ("critical", AuditLevel::Critical),
    ("warnings", AuditLevel::Warning),
    ("notices", AuditLevel::Notice),
];

fn findings_as_json(findings: &[MergedFinding], level: AuditLevel) -> Value {
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
            if !one.is_everywhere {
                value["clients"] = one.views.iter().map(|view| view.id()).collect();
            }
            value
        })
        .collect()
}

fn item_as_json(item: &AuditItem) -> Value {
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

fn summary_as_json(report: &AuditReport) -> Value {
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
