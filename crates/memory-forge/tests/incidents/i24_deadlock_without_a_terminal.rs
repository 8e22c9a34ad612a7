//! A deadlock where nobody is there to answer.

use std::process::{Command, Stdio};

use serde_json::Value;
use testkit::{Output, TestWorkspace};

use crate::harness::ws;
use crate::i01_children_without_bound::provoke::{
    COMMANDS, HOUSE, below, can, ended, house, quiet, words,
};

/// Runs without a terminal, in a session of its own, as a service or a runner
/// of a pipeline does.
#[track_caller]
fn headless(ws: &TestWorkspace, line: &[&str]) -> Output {
    let mut command = below(ws, &["setsid", "--wait"], line);
    command.env("CI", "true").env("TERM", "dumb");
    quiet(&mut command, &line.join(" "))
}

#[test]
#[cfg(target_os = "linux")]
fn every_command_ends_with_its_code_without_a_terminal() {
    if !can(&["setsid", "--wait", "true"]) {
        return;
    }
    let ws = house();
    for (line, code) in COMMANDS {
        let output = headless(&ws, &words(line));
        assert_eq!(output.status, Some(*code), "{line}: {output}");
        assert!(!output.stdout.contains('\u{1b}'), "{line}: {output}");
        assert!(!output.stderr.contains('\u{1b}'), "{line}: {output}");
    }
}

/// Commands that would ask: they end with 2, say how to answer beforehand, and
/// nothing has changed. On standard input is whatever there may be.
#[test]
#[cfg(target_os = "linux")]
fn a_question_that_nobody_can_answer_is_an_error_and_no_wait() {
    if !can(&["setsid", "--wait", "true"]) {
        return;
    }
    let ws = house();
    ws.run(&["index"]).ok();
    // Twice within a day is a question for bulk work.
    ws.run(&["manifest", "refresh", "--force"]).ok();
    let mut asked = 0;
    for line in [
        &["init"][..],
        &["setup", "claude"],
        &["setup", "--git"],
        &["uninstall"],
        &["forget", "knowledge/old.md"],
        &["forget", "--max-files", "1"],
        &["links", "apply"],
        &["links", "rename", "garden/peas.md", "garden/sweet.md"],
        &["lint", "--fix"],
        &["check", "--fix"],
        &["doctor", "--fix"],
        &["doctor", "--undo"],
        &["domain", "add", "legal", "--move", "garden/peas.md"],
        &["share", "knowledge/plan.local.md"],
        &["export", "native", "knowledge/tides.md"],
        &["upgrade"],
        &["consolidate"],
    ] {
        // An input that never ends must not be taken for a person.
        for open in [false, true] {
            let before = ws.tree_of_sources();
            let mut command = below(&ws, &["setsid", "--wait"], line);
            command
                .env("CI", "true")
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
            command.stdin(if open { Stdio::piped() } else { Stdio::null() });
            let mut child = command.spawn().expect("it can be started");
            let input = child.stdin.take();
            let output = ended(child, &line.join(" "));
            drop(input);
            let code = output.status.expect("not by a signal");
            assert!(code <= 2, "{line:?}: {output}");
            if code == 2 && output.stderr.contains("Not a terminal") {
                asked += 1;
                let agrees = ["--yes", "--force"];
                let named = agrees.iter().any(|flag| output.stderr.contains(flag));
                assert!(named, "{line:?}: {output}");
                assert_eq!(ws.tree_of_sources(), before, "{line:?}");
            }
        }
    }
    assert!(asked >= 20, "{asked}");
}

/// The text that `git merge` leaves where two people changed one thing.
fn with_conflict(text: &str) -> String {
    let (head, tail) = text.split_at(text.find("\n\n").map_or(text.len(), |at| at + 2));
    format!("{head}<<<<<<< HEAD\nOur side of it.\n=======\nTheir side of it.\n>>>>>>> work\n{tail}")
}

/// A merge that nobody finished, in each file of the memory: every command ends,
/// both sides stay word for word, and it is said where people look.
#[test]
fn files_with_an_unfinished_merge_in_them() {
    let state = "
        //- .mind/STATE.md
        # Project State

        ## Next Action
        Ship
        //- .mind/DECISIONS.md
        # Decision Log

        ## DEC-001: One
        - **Decision:** Yes
        //- .mind/PROGRESS.md
        # Progress Tracker

        ### In Progress
        - [ ] Build
        //- .mind/SESSION-LOG.md
        # Session Log

        ## Session 1 — 2026-02-28 10:00:00
        - **Summary:** Began
        //- knowledge/tides.md
        # Tides

        High water at noon.
    ";
    for path in [
        ".mind/STATE.md",
        ".mind/DECISIONS.md",
        ".mind/PROGRESS.md",
        ".mind/SESSION-LOG.md",
        "knowledge/tides.md",
    ] {
        let ws = ws(state);
        ws.git_init();
        ws.commit("first");
        let marked = with_conflict(&ws.read(path));
        ws.write(path, &marked);
        let doctor = ws.run(&["doctor"]);
        doctor.fails(1);
        let told = format!("{path}:3: Git left both sides of a merge in it");
        assert!(doctor.stdout.contains(&told), "{path}: {doctor}");
        let hook = ws.feed(
            r#"{"hook_event_name":"SessionStart","session_id":"s"}"#,
            &[],
            &["hook"],
        );
        let answer: Value = serde_json::from_str(hook.ok()).expect("JSON");
        if path.starts_with(".mind") {
            let text = answer.to_string();
            assert!(text.contains("unfinished git merge"), "{path}: {text}");
        }
        for line in [
            &["mind", "show"][..],
            &["mind", "set", "--next", "Sail"],
            &["mind", "decide", "Two", "--decision", "No"],
            &["mind", "task", "add", "Paint"],
            &["mind", "log", "Went on"],
            &["mind", "compress"],
            &["mind", "health"],
            &["index"],
            &["search", "side"],
            &["status"],
            &["lint"],
            &["check"],
            &["session", "start"],
        ] {
            let output = ws.run(line);
            assert!(
                output.status.is_some_and(|code| code <= 1),
                "{path}, {line:?}: {output}"
            );
        }
        for event in ["Stop", "PreCompact", "SessionEnd"] {
            let payload = format!(r#"{{"hook_event_name":"{event}","session_id":"s"}}"#);
            ws.feed(payload, &[], &["hook"]).ok();
        }
        let after = ws.read(path);
        let both = "<<<<<<< HEAD\nOur side of it.\n=======\nTheir side of it.\n>>>>>>> work\n";
        assert!(after.contains(both), "{path}: {after}");
    }
}

/// Two branches change one entry, and git merges in a pipeline with our driver:
/// it ends with a conflict that can be seen, both sides in the file, and the
/// rest of the memory merged.
#[test]
#[cfg(target_os = "linux")]
fn a_merge_in_a_pipeline_ends_with_a_note_and_both_sides() {
    if !can(&["setsid", "--wait", "true"]) {
        return;
    }
    let ws = ws(
        "//- .mind/DECISIONS.md\n# Decision Log\n\n## DEC-001: One\n- **Decision:** a\n- **Status:** Final\n",
    );
    ws.git_init();
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_memory-forge"));
    let path = format!(
        "{}:/usr/bin:/bin",
        program.parent().expect("a folder").display()
    );
    ws.feed(
        "",
        &[("PATH", &path)],
        &["setup", "--git", "--absolute", "--yes"],
    )
    .ok();
    ws.commit("first");
    for (branch, side, id) in [("one", "b", "Left"), ("two", "c", "Right")] {
        ws.git(&["checkout", "--quiet", "-b", branch, "main"]);
        ws.write(
            ".mind/DECISIONS.md",
            format!("# Decision Log\n\n## DEC-001: One\n- **Decision:** {side}\n- **Status:** Final\n\n## DEC-002: {id}\n- **Decision:** x\n- **Status:** Final\n"),
        );
        ws.commit(branch);
    }
    let mut merge = Command::new("setsid");
    merge
        .args([
            "--wait",
            "git",
            "-c",
            "user.name=a",
            "-c",
            "user.email=b",
            "merge",
            "--no-edit",
            "one",
        ])
        .current_dir(ws.root())
        .env_clear()
        .env("PATH", &path)
        .env("HOME", ws.home())
        .env("CI", "true")
        .env("GIT_CONFIG_NOSYSTEM", "1");
    let output = quiet(&mut merge, "git merge");
    assert_eq!(output.status, Some(1), "{output}");
    let text = ws.read(".mind/DECISIONS.md");
    for part in [
        "<<<<<<< ",
        "- **Decision:** b",
        "- **Decision:** c",
        ">>>>>>> ",
        "Left",
        "Right",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let told = format!("{}{}", output.stdout, output.stderr);
    assert!(told.contains("CONFLICT"), "{output}");
    assert!(
        ws.run(&["doctor"]).stdout.contains("Git left both sides"),
        "{text}"
    );
    // A session starts in the middle of it.
    let hook = ws.feed(r#"{"hook_event_name":"SessionStart"}"#, &[], &["hook"]);
    assert!(hook.ok().contains("unfinished git merge"), "{hook}");
}

/// A sandbox: no home, no git, a root that cannot be written, one variable.
#[test]
#[cfg(target_os = "linux")]
fn a_sandbox_with_nothing_in_it() {
    let ws = ws(HOUSE);
    ws.write("README.md", "a\n");
    for (line, _) in COMMANDS {
        let mut command = Command::new(env!("CARGO_BIN_EXE_memory-forge"));
        command.env_clear().current_dir(ws.root()).args(words(line));
        let output = quiet(&mut command, line);
        assert!(
            output.status.is_some_and(|code| code <= 2),
            "{line}: {output}"
        );
        assert!(!output.stderr.contains("defect"), "{line}: {output}");
    }
}
