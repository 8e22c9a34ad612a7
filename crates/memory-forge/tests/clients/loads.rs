//! What `audit` counts for a client, against what the client sends: the text
//! that project files add to a question.

use forge_app::tokens::{Tokenizer, count_tokens};
use serde_json::Value;

use crate::codex::codex;
use crate::project::Project;

/// The largest difference that is no error of the audit: clients put a path or
/// a tag around each file.
const MAX_DIFFERENCE: f64 = 0.05;

const PROMPT: &str = "What is the first rule?";

/// Prose of a file, so long that a client's own words around it hardly count.
fn prose(subject: &str) -> String {
    let line = |number: usize| {
        format!("- Rule {number} of {subject}: measure the tide before the boat leaves the pier.\n")
    };
    (1..=60).map(line).collect()
}

/// Files as projects have them: an import, front matter, a comment, a skill
/// whose body waits, and a file in a folder that is not entered.
fn add_files(project: &Project) {
    let ws = &project.ws;
    ws.write("AGENTS.md", format!("# For agents\n\n{}", prose("agents")));
    ws.write(
        "CLAUDE.md",
        format!(
            "---\nowner: harbour\n---\n# House rules\n\n<!-- For people: {} -->\n\n@docs/pier.md\n\n{}",
            "not for agents. ".repeat(30),
            prose("the house")
        ),
    );
    ws.write("GEMINI.md", format!("# House rules\n\n{}", prose("gemini")));
    ws.write("docs/pier.md", format!("# Pier\n\n{}", prose("the pier")));
    for folder in [".claude/skills", ".agents/skills"] {
        ws.write(
            &format!("{folder}/tide/SKILL.md"),
            format!(
                "---\nname: tide\ndescription: Reads tide tables by lamplight.\n---\n\n{}",
                prose("the skill")
            ),
        );
    }
    ws.write("src/CLAUDE.md", prose("the source"));
}

/// Tokens that the first question of a session has because of the project's
/// files, and those that `audit` counts.
#[track_caller]
fn sent_and_counted(project: &Project, client: &str, arguments: &[&str]) -> (f64, f64) {
    let count = |text: &str| count_tokens(Tokenizer::O200k, text) as f64;
    let counted = || {
        let arguments = [
            "audit",
            "--client",
            client,
            "--tokenizer",
            "o200k",
            "--json",
        ];
        let report = project.memory_forge(&arguments);
        let report: Value = serde_json::from_str(&report).expect("it prints JSON");
        let files = report["files"].as_array().expect("files are a list");
        let tokens = files.iter().filter_map(|file| file["tokens"].as_f64());
        tokens.sum::<f64>()
    };
    let (empty, counted_empty) = (project.ask(PROMPT, arguments), counted());
    add_files(project);
    let (full, counted_full) = (project.ask(PROMPT, arguments), counted());
    (
        count(&full.text()) - count(&empty.text()),
        counted_full - counted_empty,
    )
}

#[track_caller]
fn audit_is_right(project: &Project, client: &str, arguments: &[&str]) {
    let (sent, counted) = sent_and_counted(project, client, arguments);
    assert!(sent > 500.0, "{client} sent {sent} tokens of the files");
    let difference = (counted - sent).abs() / sent;
    assert!(
        difference <= MAX_DIFFERENCE,
        "{client} sent {sent} tokens of the files, audit counts {counted}: {:.1} % apart",
        difference * 100.0
    );
}

#[test]
fn codex_sends_what_audit_counts() {
    let Some(project) = codex() else { return };
    audit_is_right(&project, "codex", &["exec", PROMPT]);
}
