//! What `audit` counts for a client, against what the client sends: the tokens
//! that a project's files add to the first question.

use forge_app::tokens::{Tokenizer, count_tokens};
use serde_json::Value;

use crate::claude::claude;
use crate::codex::codex;
use crate::copilot::copilot;
use crate::gemini::{MODEL, gemini};
use crate::opencode::opencode;
use crate::project::Project;
use crate::stand_in::Request;

/// The largest difference, as a part of what is sent. The audit counts no words
/// that a client puts around a whole file, such as its path.
const MAX_DIFFERENCE: f64 = 0.05;

const PROMPT: &str = "What is the first rule?";

/// About 3,500 tokens of prose.
fn prose(subject: &str) -> String {
    let line = |number: usize| {
        format!("- Rule {number} of {subject}: measure the tide before the boat leaves the pier.\n")
    };
    (1..=200).map(line).collect()
}

/// Instructions as projects have them, for every client: imports, front matter,
/// a comment, files for some paths only, and a folder that is not entered.
fn add_instructions(project: &Project) {
    let write = |path: &str, text: String| project.ws.write(path, text);
    let agents = prose("agents");
    write("AGENTS.md", format!("# For agents\n\n{agents}"));
    let comment = format!("<!-- For people: {}-->", "not for agents. ".repeat(30));
    let house = prose("the house");
    write(
        "CLAUDE.md",
        format!(
            "---\nowner: harbour\n---\n# House rules\n\n{comment}\n\n@docs/pier.md\n\n{house}\n`@docs/quoted.md`\n"
        ),
    );
    write("docs/pier.md", format!("# Pier\n\n{}", prose("the pier")));
    write("docs/quoted.md", prose("a quotation"));
    write(
        "GEMINI.md",
        format!("# House rules\n\n@docs/crane.md\n\n{}", prose("gemini")),
    );
    write("docs/crane.md", prose("the crane"));
    write(
        ".github/copilot-instructions.md",
        format!("Read @../docs/pier.md, please.\n\n{}", prose("copilot")),
    );
    write(".claude/rules/always.md", prose("every file"));
    write(
        ".claude/rules/scoped.md",
        format!("---\npaths: \"src/**\"\n---\n{}", prose("the source")),
    );
    write(
        ".github/instructions/all.instructions.md",
        format!("---\napplyTo: \"**\"\n---\n{}", prose("all files")),
    );
    write(
        ".github/instructions/some.instructions.md",
        format!("---\napplyTo: \"src/**\"\n---\n{}", prose("some files")),
    );
    write("src/CLAUDE.md", prose("nested files"));
}

/// Skills, commands and agents, of which clients load a description alone.
fn add_skills(project: &Project) {
    let page = |name: &str, about: &str| {
        format!(
            "---\nname: {name}\ndescription: {about}\n---\n\n{}",
            prose(name)
        )
    };
    for number in 1..=40 {
        let about = format!(
            "Reads tide table number {number} by lamplight and says when the boat can leave. Use \
             it before a voyage, when the harbour master asks for the depth at the pier, and \
             whenever the moon has changed since the last entry in the log."
        );
        let name = format!("tide-{number}");
        for folder in [".agents/skills", ".claude/skills"] {
            let path = format!("{folder}/{name}/SKILL.md");
            project.ws.write(&path, page(&name, &about));
        }
    }
    let write = |path: &str, text: String| project.ws.write(path, text);
    write(
        ".claude/skills/silent/SKILL.md",
        format!(
            "---\nname: silent\ndescription: Only for people.\ndisable-model-invocation: true\n---\n{}",
            prose("silence")
        ),
    );
    write(
        ".claude/commands/moor.md",
        page("moor", "Moors the boat at the pier."),
    );
    write(
        ".claude/agents/diver.md",
        page("diver", "Dives for the anchor."),
    );
}

/// Where the audit takes a project to lie, so that its counts are the same on
/// each machine. Gemini CLI and OpenCode send the path with each skill.
const ROOT: &str = "/home/user/work/project";

/// Returns the text of a question without ids and settings, which differ from
/// run to run, and without the tree of file names that Gemini CLI sends of any
/// project.
fn prompt_text(project: &Project, question: &Request) -> String {
    let fields = ["system", "systemInstruction", "instructions", "tools"];
    let fields = fields
        .into_iter()
        .chain(["input", "messages", "contents"])
        .map(|key| &question.body[key]);
    let mut lines = Vec::new();
    for field in fields {
        collect_text(field, &mut lines);
    }
    let root = project.ws.root().to_string_lossy();
    let is_tree = |line: &&str| line.trim_start().starts_with(['│', '├', '└']);
    let lines = lines.iter().flat_map(|text| text.lines());
    lines
        .filter(|line| !is_tree(line))
        .map(|line| format!("{}\n", line.replace(&*root, ROOT)))
        .collect()
}

fn collect_text(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::String(text) => out.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| collect_text(item, out)),
        Value::Object(fields) => {
            let is_text = |(key, _): &(&String, &Value)| !matches!(key.as_str(), "id" | "call_id");
            let fields = fields.iter().filter(is_text);
            fields.for_each(|(_, field)| collect_text(field, out));
        }
        _ => {}
    }
}

/// Compares what the files of a project add to the first question with what
/// `audit` says that they cost, in each tokenizer that it has.
#[track_caller]
fn audit_is_right(project: &Project, client: &str, arguments: &[&str], add_files: fn(&Project)) {
    let without = prompt_text(project, &project.ask(PROMPT, arguments));
    add_files(project);
    project.ws.commit("add files for agents");
    let with = prompt_text(project, &project.ask(PROMPT, arguments));
    for (name, tokenizer) in [("o200k", Tokenizer::O200k), ("claude", Tokenizer::Claude)] {
        let count = |text: &str| count_tokens(tokenizer, text) as f64;
        let sent = count(&with) - count(&without);
        let report = ["audit", "--client", client, "--tokenizer", name, "--json"];
        let report = project.memory_forge(&report);
        let report: Value = serde_json::from_str(&report).expect("it prints JSON");
        let counted = report["summary"]["totalAutoloadTokens"].as_f64();
        let counted = counted.expect("a number");
        println!(
            "{client}, {name}: {sent} tokens sent, {counted} counted, {:+.1} %",
            (counted - sent) / sent * 100.0
        );
        assert!(sent > 2_000.0, "{client} sent {sent} tokens of the files");
        let difference = (counted - sent) / sent;
        assert!(
            difference.abs() <= MAX_DIFFERENCE,
            "{client}: {sent} {name} tokens sent, {counted} counted, {:+.1} %: {:#}",
            difference * 100.0,
            report["files"]
        );
    }
}

#[track_caller]
fn audit_counts_loads(client: &str, open: fn() -> Option<Project>, arguments: &[&str]) {
    for add_files in [add_instructions as fn(&Project), add_skills] {
        let Some(project) = open() else { return };
        audit_is_right(&project, client, arguments, add_files);
    }
}

#[test]
fn audit_counts_what_claude_loads() {
    audit_counts_loads("claude", claude, &["-p", PROMPT]);
}

#[test]
fn audit_counts_what_codex_loads() {
    audit_counts_loads("codex", codex, &["exec", PROMPT]);
}

#[test]
fn audit_counts_what_opencode_loads() {
    audit_counts_loads("opencode", opencode, &["run", "--title", "t", PROMPT]);
}

#[test]
fn audit_counts_what_gemini_loads() {
    audit_counts_loads("gemini", gemini, &["-p", PROMPT, MODEL[0], MODEL[1]]);
}

#[test]
fn audit_counts_what_copilot_loads() {
    audit_counts_loads("copilot", copilot, &["-p", PROMPT]);
}
