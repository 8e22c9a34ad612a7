//! Runs `spec/audit.md`: each case is a workspace, and what the audit says
//! about it.

use std::path::Path;

use forge_clients::audit::{self, AuditLevel, AuditOptions, AuditReport, AuditView, FileOrigin};
use forge_clients::client::AgentClient;
use forge_store::workspace::Workspace;
use forge_text::tokens::Tokenizer;
use testkit::spec::{Case, cases};
use testkit::{TestWorkspace, fixture};

#[test]
fn audit_as_specified() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../spec/audit.md");
    let text = std::fs::read_to_string(path).expect("the specification is there");
    let mut failures = Vec::new();
    let cases = cases(&text);
    assert!(cases.len() > 20, "only {} cases", cases.len());
    for case in &cases {
        let (ws, root) = workspace(case);
        for (info, expect) in &case.blocks {
            let words: Vec<&str> = info.split_whitespace().collect();
            let found = match words[..] {
                ["loads", view] => loads(&report(&ws, &root, view)),
                ["findings", view] => findings(&report(&ws, &root, view)),
                ["files" | "home", ..] => continue,
                _ => panic!("{}: unknown block `{info}`", case.name),
            };
            if found != *expect {
                failures.push(format!("{} ({info}):\n{found}", case.name));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The files of a case; `files in <folder>` makes that folder the workspace,
/// with the repository around it.
fn workspace(case: &Case) -> (TestWorkspace, std::path::PathBuf) {
    let ws = TestWorkspace::empty();
    let mut root = ws.root().to_path_buf();
    for (info, text) in &case.blocks {
        let words: Vec<&str> = info.split_whitespace().collect();
        match words[..] {
            ["files"] => ws.add(text),
            ["files", "in", folder] => {
                ws.git_init();
                ws.add(text);
                root = ws.path(folder);
            }
            ["home"] => write(&ws.home(), text),
            _ => {}
        }
    }
    (ws, root)
}

fn write(folder: &Path, text: &str) {
    for file in fixture::parse(text) {
        let path = folder.join(&file.path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("folders can be made");
        std::fs::write(path, file.text).expect("files can be written");
    }
}

fn report(ws: &TestWorkspace, root: &Path, view: &str) -> AuditReport {
    let client = AgentClient::from_name(view);
    let view = match client {
        Some(client) => AuditView::Client(client),
        None => {
            assert_eq!(view, "plain", "an unknown view");
            AuditView::Plain
        }
    };
    let workspace = Workspace::open(root).expect("it is a folder");
    let home = ws.home();
    let options = AuditOptions {
        view,
        tokenizer: Tokenizer::O200k,
        home: Some(&home),
        now: "2026-03-01T09:00:00Z".parse().expect("a time"),
    };
    audit::audit_workspace(&workspace, &options)
}

fn loads(report: &AuditReport) -> String {
    let mut text = String::new();
    for item in &report.items {
        let invoke = item.on_invoke.map_or(String::new(), |n| format!(" + {n}"));
        let whose = match item.origin {
            FileOrigin::Project if item.nested => " [nested]",
            FileOrigin::Project => "",
            FileOrigin::Above => " [above]",
            FileOrigin::User => " [yours]",
        };
        let path = match item.origin {
            FileOrigin::Above => item.path.rsplit('/').next().unwrap_or(""),
            _ => &item.path,
        };
        let line = format!(
            "{}{invoke} {path}{whose}: {}; {}\n",
            item.always, item.why, item.part
        );
        text.push_str(&line);
    }
    text
}

fn findings(report: &AuditReport) -> String {
    let mut text = String::new();
    for finding in &report.findings {
        if finding.kind != audit::AuditFindingKind::FirstAudit {
            let level = match finding.level {
                AuditLevel::Notice => "notice",
                AuditLevel::Warning => "warning",
                AuditLevel::Critical => "critical",
            };
            text.push_str(&format!("{level}: {}\n", finding.message));
        }
    }
    text
}
