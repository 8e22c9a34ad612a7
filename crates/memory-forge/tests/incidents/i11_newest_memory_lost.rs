//! The newest memory is lost without a word.

use std::fmt::Write as _;

use serde_json::{Value, json};
use testkit::TestWorkspace;

use crate::harness::{json as parsed, ws};

/// The long form is `cargo xtask soak caps`: 10,000 workspaces.
#[test]
fn random_workspaces_stay_below_every_cap_and_keep_their_newest() {
    let soak = soak::Caps {
        workspaces: 200,
        seed: 20_260_301,
    };
    let report = soak.run().unwrap_or_else(|error| panic!("{error:#}"));
    println!("{report}");
    assert_eq!(report.workspaces, 200);
}

fn start(ws: &TestWorkspace, source: &str) -> String {
    let input = json!({ "hook_event_name": "SessionStart", "source": source, "session_id": "s" });
    let output = ws.feed(input.to_string(), &[], &["hook"]);
    let answer: Value = serde_json::from_str(output.ok()).expect("JSON");
    // The client counts the whole of it.
    assert!(
        output.stdout.chars().count() < 12_000,
        "{}",
        output.stdout.len()
    );
    answer["hookSpecificOutput"]["additionalContext"]
        .as_str()
        .expect("a briefing")
        .to_owned()
}

/// A year of work through the commands, each entry long: after every one the
/// next session is told of it, in fewer bytes than clients take whole.
#[test]
fn the_next_session_is_told_of_the_newest_whatever_came_before() {
    let ws = ws("//- .mind/STATE.md\n# Project State\n");
    let long = "and then there was more to say about it ".repeat(40);
    for number in 0..40 {
        let word = format!("entry{number:03}");
        let text = format!("{word} {long}");
        ws.run(&["mind", "log", &text, "--next", &text]).ok();
        ws.run(&["mind", "decide", &text, "--decision", &text]).ok();
        ws.run(&["mind", "task", "add", &text]).ok();
        ws.run(&["mind", "set", "--next", &text, "--active", &text])
            .ok();
        if number % 8 != 7 {
            continue;
        }
        ws.feed(r#"{"hook_event_name":"PreCompact"}"#, &[], &["hook"])
            .ok();
        for source in ["startup", "resume", "compact", "clear"] {
            let briefing = start(&ws, source);
            assert!(briefing.len() < 10_000, "{}", briefing.len());
            let count = briefing.matches(&word).count();
            assert!(
                count >= 3,
                "{source}, {word} is there {count} times:\n{briefing}"
            );
            assert!(
                briefing.contains("eft out") || briefing.contains("more"),
                "{briefing}"
            );
        }
    }
    // Nothing old is gone either.
    for number in 0..40 {
        let word = format!("entry{number:03}");
        let found = ws.run(&[
            "search", "--scope", "all", "--mode", "text", "--json", &word,
        ]);
        let found = parsed(&found);
        assert_ne!(found["results"], json!([]), "{word}");
    }
}

/// Hundreds of topics, and somebody's own lines at the top: the index stays
/// loadable, the last one remembered is always in it, and what made room is
/// named on the pages behind.
#[test]
fn memory_md_never_drops_its_newest_pointer() {
    let ws = ws("");
    let mut own = "# Memory\n\nRead this first.\n\n".to_owned();
    for number in 0..60 {
        let _ = writeln!(
            own,
            "- A line of my own, number {number}, which I want to see"
        );
    }
    ws.write(".agents/memory/eng/builder/MEMORY.md", own);
    for number in 0..230 {
        let day = format!("2026-{:02}-{:02}", number / 28 % 12 + 1, number % 28 + 1);
        ws.write(
            &format!(".agents/memory/eng/builder/topic-{number:03}.md"),
            format!(
                "---\nname: Topic {number:03}\ndescription: What was learnt about subject {number:03}, told at some length so that lines add up\ntype: project\ndate: {day}\n---\n# Topic {number:03}\n\nWord{number:03}.\n"
            ),
        );
    }
    for number in 0..12 {
        let name = format!("Latest {number:02}");
        let fact = format!("Fact{number:02} is quite unlike the others, as {number} is.");
        let line = [
            "agent",
            "remember",
            &name,
            "--agent",
            "eng/builder",
            "--type",
            "project",
        ];
        ws.run(&[&line[..], &["--content", &fact, "--new"]].concat())
            .ok();
        let index = ws.read(".agents/memory/eng/builder/MEMORY.md");
        assert!(
            index.len() <= 25_000 && index.lines().count() <= 200,
            "{}",
            index.lines().count()
        );
        assert!(index.contains(&name), "{name}:\n{index}");
        assert!(index.contains("A line of my own, number 59"), "{index}");
    }
    // Every topic is still pointed to, here or on a page behind.
    let mut all = String::new();
    for entry in std::fs::read_dir(ws.path(".agents/memory/eng/builder")).expect("ours") {
        let path = entry.expect("an entry").path();
        let name = path
            .file_name()
            .and_then(|it| it.to_str())
            .unwrap_or_default()
            .to_owned();
        if name.starts_with("MEMORY") {
            all.push_str(&std::fs::read_to_string(path).expect("text"));
        }
    }
    for number in 0..230 {
        assert!(all.contains(&format!("topic-{number:03}.md")), "{number}");
    }
}

/// A file that a person let grow beyond what clients load: said, with what to
/// do, and nothing is cut behind their back.
#[test]
fn an_index_that_is_too_long_is_named() {
    let ws = ws("");
    let own: String = (0..400)
        .map(|n| format!("- [T{n}](t{n}.md) — a pointer of mine\n"))
        .collect();
    for n in 0..400 {
        ws.write(
            &format!(".agents/memory/eng/builder/t{n}.md"),
            format!("# T{n}\n\nWord{n}.\n"),
        );
    }
    ws.write(
        ".agents/memory/eng/builder/MEMORY.md",
        format!("# Memory\n\n{own}"),
    );
    let check = ws.run(&["agent", "index", "--check"]);
    assert_eq!(check.status, Some(1), "{check}");
    let told = format!("{}{}", check.stdout, check.stderr);
    assert!(told.contains("MEMORY.md"), "{check}");
    ws.run(&["agent", "index"]).ok();
    let index = ws.read(".agents/memory/eng/builder/MEMORY.md");
    assert!(
        index.len() <= 25_000 && index.lines().count() <= 200,
        "{}",
        index.lines().count()
    );
}
