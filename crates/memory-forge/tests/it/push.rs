//! What hooks bring before an action, and where it comes from: transcripts of
//! earlier sessions, as a client writes them.

use serde_json::{Value, json};
use testkit::TestWorkspace;

use crate::harness::ws;

pub(crate) const WORK: &str = "
    //- .mind/STATE.md
    # Project State

    ## Next Action
    Finish login
    //- knowledge/migrations.md
    ---
    applies-to: [\"db/**\", \"npm publish\"]
    ---
    # Migrations

    Migrations are never edited once they are merged.
    //- db/1.sql
    select 1
    //- src/registry.go
    package src
";

/// Sends an event as Claude Code does, and returns the text for the agent.
pub(crate) fn hook(ws: &TestWorkspace, event: Value) -> Option<String> {
    let output = ws.feed(event.to_string(), &[], &["hook", "--client=claude"]);
    assert!(output.stderr.is_empty(), "{output}");
    let answer: Value = serde_json::from_str(output.ok()).expect("one JSON object");
    let shown = &answer["hookSpecificOutput"];
    assert!(answer.get("decision").is_none() && shown.get("permissionDecision").is_none());
    shown["additionalContext"].as_str().map(str::to_owned)
}

pub(crate) fn before(
    ws: &TestWorkspace,
    session: &str,
    tool: &str,
    input: Value,
) -> Option<String> {
    hook(
        ws,
        json!({
            "hook_event_name": "PreToolUse", "session_id": session, "tool_name": tool,
            "tool_use_id": "next", "tool_input": input,
        }),
    )
}

/// Writes a transcript into the home and ends a turn with it.
pub(crate) fn turn(ws: &TestWorkspace, session: &str, calls: &[(&str, &str)]) {
    let mut text = String::new();
    for (at, (command, result)) in calls.iter().enumerate() {
        let id = format!("{session}-{at}");
        let call = json!({"type": "assistant", "timestamp": "2026-02-27T10:00:00Z", "message": {"content": [
            {"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}}]}});
        let result = json!({"type": "user", "timestamp": "2026-02-27T10:00:01Z", "message": {"content": [
            {"type": "tool_result", "tool_use_id": id, "content": result,
             "is_error": result.starts_with("Exit code")}]}});
        text += &format!("{call}\n{result}\n");
    }
    let path = ws
        .home()
        .join(format!(".claude/projects/x/{session}.jsonl"));
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    std::fs::write(&path, text).expect("written");
    hook(
        ws,
        json!({"hook_event_name": "Stop", "session_id": session, "stop_hook_active": false,
               "transcript_path": path}),
    );
}

pub(crate) const FAILS: (&str, &str) = ("cat -A src/a.go", "Exit code 1\ncat: illegal option -- A");

#[test]
fn what_failed_in_one_session_is_said_in_the_next() {
    let ws = ws(WORK);
    turn(&ws, "s1", &[FAILS, ("cat -vet src/a.go", "package a")]);
    let cat = || json!({"command": "sed -n 3p db/1.sql | cat -A"});
    let text = before(&ws, "s2", "Bash", cat()).expect("a fact");
    for part in [
        "cat -A",
        "never worked",
        "cat -vet src/a.go",
        ".mind/evidence/log.jsonl:2",
    ] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
    assert_eq!(before(&ws, "s2", "Bash", cat()), None);
    assert_eq!(
        before(&ws, "s2", "Bash", json!({"command": "cat db/1.sql"})),
        None
    );
    let why = ws.run(&["why"]);
    assert!(
        why.ok().contains("failed before: outcome not known yet"),
        "{why}"
    );
    turn(&ws, "s2", &[("cat -A db/1.sql", "it works now")]);
    assert_eq!(before(&ws, "s3", "Bash", cat()), None);
}

#[test]
fn rules_and_paths_are_said_before_the_action_they_are_about() {
    let ws = ws(WORK);
    ws.git_init();
    ws.commit("All");
    hook(
        &ws,
        json!({"hook_event_name": "SessionStart", "session_id": "s1", "source": "startup"}),
    );
    let edit = |path: &str| json!({"file_path": path, "old_string": "1", "new_string": "2"});
    let text = before(&ws, "s1", "Edit", edit("db/1.sql")).expect("a rule");
    assert!(
        text.contains("never edited once") && text.contains("knowledge/migrations.md:6"),
        "{text}"
    );
    let text = before(&ws, "s1", "Read", json!({"file_path": "pkg/registry.go"}));
    assert!(text.is_some_and(|it| it.contains("src/registry.go")));
    assert_eq!(
        before(&ws, "s1", "Read", json!({"file_path": "src/registry.go"})),
        None
    );
    let why = ws.run(&["why", "--command", "npm publish"]);
    assert!(why.ok().contains("never edited once"), "{why}");
}

#[test]
fn pushing_can_be_turned_off() {
    let ws = ws(WORK);
    turn(&ws, "s1", &[FAILS]);
    let event = json!({"hook_event_name": "PreToolUse", "session_id": "s2", "tool_name": "Bash",
        "tool_use_id": "x", "tool_input": {"command": "cat -A y"}});
    let off = ws.feed(
        event.to_string(),
        &[("MEMORY_FORGE_PUSH", "off")],
        &["hook", "--client=claude"],
    );
    assert_eq!(off.ok().trim(), "{}");
    ws.write("memory-forge.toml", "[recall]\npush = \"off\"\n");
    assert_eq!(
        before(&ws, "s2", "Bash", json!({"command": "cat -A y"})),
        None
    );
    assert!(!ws.exists(".mind/.pushes"));
}

#[test]
fn bad_input_brings_nothing_and_breaks_nothing() {
    let ws = ws(WORK);
    turn(&ws, "s1", &[FAILS]);
    let long = "cat x ".repeat(200_000);
    for (tool, input) in [
        ("Bash", json!(null)),
        ("Bash", json!(["cat", "-A"])),
        ("Bash", json!({"command": 7})),
        ("Bash", json!({"command": long})),
        ("Unknown", json!({"command": "cat -A x"})),
        ("Read", json!({"file_path": "\u{0}"})),
        ("Read", json!({"file_path": "/../../../etc/passwd"})),
    ] {
        assert_eq!(before(&ws, "s2", tool, input), None, "{tool}");
    }
    hook(&ws, json!({"hook_event_name": "PreToolUse"}));
    assert!(!ws.exists(".mind/.hook-failures"));
}

/// A project with a rule about files and a command.
pub(crate) fn project_with_a_rule() -> TestWorkspace {
    ws(WORK)
}

/// Writes the transcripts of three sessions in which the same command failed.
pub(crate) fn write_transcripts(ws: &TestWorkspace) {
    let record = |day: u32| {
        let time = format!("2026-02-{day:02}T10:00:00Z");
        let call = json!({"type": "assistant", "sessionId": format!("d{day}"), "cwd": "/w", "timestamp": time,
            "message": {"content": [{"type": "tool_use", "id": format!("c{day}"), "name": "Bash",
            "input": {"command": FAILS.0}}]}});
        let result = json!({"type": "user", "timestamp": time, "message": {"content": [
            {"type": "tool_result", "tool_use_id": format!("c{day}"), "content": FAILS.1, "is_error": true}]}});
        ws.write(
            format!("t/{day}.jsonl").as_str(),
            format!("{call}\n{result}\n"),
        );
    };
    (1..4).for_each(record);
}

#[test]
fn a_replay_counts_needs_and_pushes() {
    let ws = ws(WORK);
    write_transcripts(&ws);
    let before = ws.tree();
    let output = ws.run(&["replay", "t", "--json"]);
    let report: Value = serde_json::from_str(output.ok()).expect("JSON");
    assert_eq!(
        report["total"],
        json!({"pushes": 2, "right": 2, "contradicted": 0, "needs": 2, "met": 2})
    );
    assert_eq!(ws.tree(), before);
    let shown = ws.run(&["replay", "t"]);
    assert!(
        shown.ok().contains("3 sessions") && !shown.ok().contains('%'),
        "{shown}"
    );
}
