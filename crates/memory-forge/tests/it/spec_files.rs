//! Runs the specifications in `spec/` that speak of commands and files, with
//! the program itself. Each explains its format at its top.

use testkit::{TestWorkspace, spec};

use crate::harness::ws;

#[test]
fn spec_state_files() {
    check(
        include_str!("../../../../spec/state-files.md"),
        16,
        &["mind"],
    );
}

#[test]
fn spec_manifest() {
    check(include_str!("../../../../spec/manifest.md"), 7, &[]);
}

#[test]
fn spec_closets() {
    check(include_str!("../../../../spec/closets.md"), 3, &[]);
}

#[test]
fn spec_memory_index() {
    let text = include_str!("../../../../spec/memory-index.md");
    check(text, 12, &["agent"]);
}

/// Runs every case of a text that has at least `least` of them. Each command
/// begins with the words of `command`.
#[track_caller]
fn check(text: &str, least: usize, command: &[&str]) {
    let cases = spec::cases(text);
    assert!(cases.len() >= least, "the specification was not read");
    let mut failures = String::new();
    for case in cases {
        let ws = ws("");
        let mut said = String::new();
        for (info, text) in &case.blocks {
            let words: Vec<&str> = info.split_whitespace().collect();
            let found = match words[..] {
                ["file", path] => {
                    ws.write(path, text);
                    continue;
                }
                ["file", path, "crlf"] => {
                    ws.write(path, text.replace('\n', "\r\n"));
                    continue;
                }
                ["run"] => {
                    let lines = text.lines();
                    lines.for_each(|line| said.push_str(&run(&ws, command, line)));
                    continue;
                }
                ["after", path] => without_hashes(&ws.read(path)),
                ["says"] => said.clone(),
                ["read", what] => read(&ws, what),
                _ => panic!("{}: unknown block `{info}`", case.name),
            };
            if found != *text {
                failures += &format!(
                    "{} / {info}\n--- expected\n{text}--- found\n{found}\n",
                    case.name
                );
            }
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
}

/// One command of a case, and its answer without hints.
fn run(ws: &TestWorkspace, command: &[&str], line: &str) -> String {
    let mut arguments: Vec<String> = command.iter().map(|it| (*it).to_owned()).collect();
    for (index, part) in line.split('"').enumerate() {
        match index % 2 {
            0 => arguments.extend(part.split_whitespace().map(str::to_owned)),
            _ => arguments.push(part.to_owned()),
        }
    }
    let output = ws.run(&arguments);
    let error = output.stderr.lines().find(|it| it.starts_with("error:"));
    match error {
        Some(error) => format!("{error}\n"),
        None => output.stdout,
    }
}

/// The stamps of closets are hashes, which say nothing to a reader.
fn without_hashes(text: &str) -> String {
    let line = |line: &str| {
        if line.starts_with("<!-- forge ") {
            "<!-- forge -->\n".to_owned()
        } else {
            line.to_owned()
        }
    };
    text.split_inclusive('\n').map(line).collect()
}

fn read(ws: &TestWorkspace, what: &str) -> String {
    let part = match what {
        "tasks" => "progress",
        other => other,
    };
    let output = ws.run(&["mind", "show", part, "--json"]);
    let json: serde_json::Value = serde_json::from_str(output.ok()).expect("JSON");
    let text = |value: &serde_json::Value| value.as_str().unwrap_or("-").to_owned();
    let list = |value: &serde_json::Value| value.as_array().cloned().unwrap_or_default();
    let lines: Vec<String> = match what {
        "state" => {
            let state = &json["state"];
            let mut lines = vec![
                format!("phase: {}", text(&state["phase"])),
                format!("status: {}", text(&state["status"])),
            ];
            for key in ["active", "blocked"] {
                let items = list(&state[key]);
                lines.extend(items.iter().map(|it| format!("{key}: {}", text(it))));
            }
            lines.push(format!("next: {}", text(&state["next"])));
            lines
        }
        "tasks" => list(&json["tasks"])
            .iter()
            .map(|it| {
                let mark = if it["done"] == true { "x" } else { "-" };
                let day = it["completed"].as_str().map(|it| format!(" {it}"));
                format!(
                    "{mark} {} ({}){}",
                    text(&it["text"]),
                    text(&it["section"]),
                    day.unwrap_or_default()
                )
            })
            .collect(),
        "decisions" => list(&json["decisions"])
            .iter()
            .map(|it| {
                let void = if it["superseded"] == true {
                    " (superseded)"
                } else {
                    ""
                };
                format!("{} {}{void}", text(&it["id"]), text(&it["title"]))
            })
            .collect(),
        "sessions" => list(&json["sessions"])
            .iter()
            .map(|it| {
                let body = text(&it["text"]);
                let summary = body.split("**Summary:** ").nth(1).unwrap_or("-");
                let summary = summary.lines().next().unwrap_or("-");
                format!("{} {summary}", it["number"])
            })
            .collect(),
        _ => panic!("unknown word `{what}` behind `read`"),
    };
    lines.into_iter().map(|line| line + "\n").collect()
}
