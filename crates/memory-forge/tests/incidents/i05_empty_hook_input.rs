//! A hook that gets nothing on its input, and a silent loss of everything.

use std::fs;
use std::process::Command;

use serde_json::Value;
use testkit::TestWorkspace;

use crate::harness::ws;
use crate::i01_children_without_bound::provoke::{STATE, can, quiet};

/// The command that `setup` writes for an event, as the client's shell runs it,
/// with this on its input.
fn as_installed(ws: &TestWorkspace, command: &str, input: &str) -> std::process::Output {
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_memory-forge"));
    let folder = binary.parent().expect("it lies in a folder");
    let path = format!("{}:/usr/bin:/bin", folder.display());
    let payload = ws.root().with_file_name("payload");
    fs::write(&payload, input).expect("ours");
    Command::new("sh")
        .args(["-c", command])
        .current_dir(ws.root())
        .env_clear()
        .env("HOME", ws.home())
        .env("PATH", path)
        .env("MEMORY_FORGE_NOW", testkit::workspace::NOW)
        .stdin(fs::File::open(&payload).expect("just written"))
        .output()
        .expect("there is a shell")
}

/// Every command of a client's file of hooks.
fn commands(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                match value.as_str() {
                    Some(text) if key == "command" || key == "bash" => found.push(text.to_owned()),
                    _ => commands(value, found),
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|value| commands(value, found)),
        _ => {}
    }
}

#[track_caller]
fn doctor_counts(ws: &TestWorkspace, count: usize) {
    let doctor = ws.run(&["doctor"]);
    doctor.fails(1);
    let told = format!("✗ hooks: problem: .mind/.hook-failures: Hooks failed, {count} in all");
    assert!(doctor.stdout.contains(&told), "{told}:\n{doctor}");
    assert!(
        doctor.stdout.contains("the client sent nothing"),
        "{doctor}"
    );
    let json: Value = serde_json::from_str(&ws.run(&["doctor", "--json"]).stdout).expect("JSON");
    assert_eq!(json["worst"], "problem");
}

/// The hooks of every client as `setup` writes them, each called with nothing:
/// every one of them is counted.
#[test]
#[cfg(unix)]
fn each_call_without_input_is_counted_and_doctor_fails() {
    if !can(&["sh", "-c", "true"]) {
        return;
    }
    let mut tried = 0;
    for (client, file) in [
        ("claude", ".claude/settings.json"),
        ("codex", ".codex/hooks.json"),
        ("gemini", ".gemini/settings.json"),
        ("copilot", ".github/hooks/memory-forge.json"),
        ("cursor", ".cursor/hooks.json"),
    ] {
        let ws = ws(STATE);
        ws.run(&["index"]).ok();
        ws.run(&["setup", client, "--hooks", "all", "--yes"]).ok();
        let settings: Value = serde_json::from_str(&ws.read(file)).expect("JSON");
        let mut all = Vec::new();
        commands(&settings["hooks"], &mut all);
        assert!(all.len() >= 5, "{client}: {settings}");
        let mut failed = 0;
        for command in &all {
            for input in ["", "\n  \n"] {
                let output = as_installed(&ws, command, input);
                assert!(output.status.success(), "{client}: {output:?}");
                let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
                assert!(answer.is_object(), "{client}: {answer}");
                failed += 1;
                tried += 1;
            }
        }
        doctor_counts(&ws, failed);
    }
    assert!(tried > 60, "{tried}");
}

/// Weeks of it: the file stays small, and the number is still the whole.
#[test]
fn thousands_are_counted_in_a_small_file() {
    let ws = ws(STATE);
    ws.run(&["index"]).ok();
    let before =
        "[2026-02-01T00:00:00Z] #21590 An event that nobody named: the client sent nothing\n";
    ws.write(".mind/.hook-failures", before.repeat(150));
    for _ in 0..60 {
        ws.feed("", &[], &["hook"]).ok();
    }
    doctor_counts(&ws, 21_650);
    let size = ws.read(".mind/.hook-failures").len();
    assert!(size < 40_000, "{size}");
}

/// Many sessions lose their input at once; not one is missed.
#[test]
fn failures_at_once_are_all_counted() {
    let ws = ws(STATE);
    ws.run(&["index"]).ok();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..5 {
                    let mut command = ws.command();
                    quiet(command.arg("hook"), "hook").ok();
                }
            });
        }
    });
    doctor_counts(&ws, 40);
}

/// Where the event is known by the argument alone, its work is done all the
/// same, and still it counts as a failure: the session was not told.
#[test]
fn what_can_be_done_without_input_is_done() {
    let ws = ws(STATE);
    ws.run(&["index"]).ok();
    let output = ws.feed("", &[], &["hook", "session-start"]);
    assert!(output.ok().contains("Finish login"), "{output}");
    ws.feed("", &[], &["hook", "pre-compact"]).ok();
    assert!(ws.exists(".mind/checkpoints/latest.md"));
    doctor_counts(&ws, 2);
    // Settled: deleted, and doctor is content.
    ws.remove(".mind/.hook-failures");
    let doctor = ws.run(&["doctor"]);
    assert!(!doctor.ok().contains("hooks:"), "{doctor}");
}

/// A full input is no failure, of any event.
#[test]
fn a_call_with_input_is_not_counted() {
    let ws = ws(STATE);
    for event in [
        "SessionStart",
        "Stop",
        "PreCompact",
        "SessionEnd",
        "NoSuchEvent",
    ] {
        let input = format!(r#"{{"hook_event_name":"{event}","session_id":"s"}}"#);
        ws.feed(input, &[], &["hook"]).ok();
    }
    assert!(!ws.exists(".mind/.hook-failures"));
}
