//! `SessionEnd` never runs, and what it would have kept is lost.

use std::fs;
use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use testkit::TestWorkspace;

use crate::harness::ws;
use crate::i01_children_without_bound::provoke::{STATE, ended, set_time};

/// Ahead of every real time, so that files have the times of their sessions.
const BEGIN: u64 = 2_050_000_000;
const HOUR: u64 = 3_600;

fn moment(session: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(BEGIN + session * HOUR)
}

fn shown(session: u64) -> String {
    let second = i64::try_from(BEGIN + session * HOUR).expect("small");
    jiff::Timestamp::from_second(second)
        .expect("a time")
        .to_string()
}

fn hook(ws: &TestWorkspace, session: u64, payload: &Value) -> String {
    let now = shown(session);
    let output = ws.feed(
        payload.to_string(),
        &[("MEMORY_FORGE_NOW", &now)],
        &["hook"],
    );
    let answer: Value = serde_json::from_str(output.ok()).expect("JSON");
    answer["hookSpecificOutput"]["additionalContext"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

fn start(ws: &TestWorkspace, session: u64) -> String {
    let id = format!("session-{session}");
    let payload =
        json!({ "hook_event_name": "SessionStart", "source": "startup", "session_id": id });
    hook(ws, session, &payload)
}

/// Bytes and number of the files that hooks keep beside the state.
fn kept(ws: &TestWorkspace) -> (usize, u64) {
    let mut count = 0;
    let mut bytes = 0;
    for folder in [
        ".mind",
        ".mind/checkpoints",
        ".memory-forge",
        ".memory-forge/undo",
    ] {
        for entry in fs::read_dir(ws.path(folder))
            .into_iter()
            .flatten()
            .flatten()
        {
            let is_markdown = entry.path().extension().is_some_and(|it| it == "md");
            count += 1;
            if !is_markdown || folder != ".mind" {
                bytes += entry.metadata().map_or(0, |it| it.len());
            }
        }
    }
    (count, bytes)
}

/// A thousand sessions, each of which changes a file and is then gone without
/// a word: each is written down by the next start, once, with its own file,
/// and what hooks keep for themselves does not grow.
#[test]
fn a_thousand_sessions_without_an_end() {
    const SESSIONS: u64 = 1_000;
    let ws = ws(STATE);
    ws.git_init();
    ws.commit("first");
    let mut early = (0, 0);
    // A machine that is very busy makes a hook miss its deadline; then the
    // client starts the session once more.
    let mut missed = 0;
    for session in 0..SESSIONS {
        let mut briefing = start(&ws, session);
        let mut told = true;
        while briefing.is_empty() {
            missed += 1;
            told = false;
            assert!(missed < 20, "hooks miss their deadline all the time");
            briefing = start(&ws, session);
        }
        assert!(briefing.len() < 10_000, "{}", briefing.len());
        assert!(briefing.contains("Finish login"), "{session}: {briefing}");
        if session > 0 {
            let closed = briefing.contains("was closed without a summary");
            assert!(closed || !told, "{session}: {briefing}");
            ws.remove(&format!("src/work-{}.rs", session - 1));
        }
        let path = format!("src/work-{session}.rs");
        ws.write(&path, "fn main() {}\n");
        set_time(&ws.path(&path), moment(session) + Duration::from_secs(600));
        if session % 10 == 3 {
            hook(
                &ws,
                session,
                &json!({ "hook_event_name": "Stop", "session_id": format!("session-{session}") }),
            );
            hook(
                &ws,
                session,
                &json!({ "hook_event_name": "PreCompact", "trigger": "auto" }),
            );
        }
        if session == 100 {
            early = kept(&ws);
        }
    }
    start(&ws, SESSIONS);
    let late = kept(&ws);
    assert!(late.0 <= early.0 + 20, "files: {early:?} then {late:?}");
    assert!(
        late.1 <= early.1 * 2 + 100_000,
        "bytes: {early:?} then {late:?}"
    );
    // Every session is there once, with the file that it changed.
    let mut all = ws.read(".mind/SESSION-LOG.md");
    if ws.exists(".mind/ARCHIVE.md") {
        all.push_str(&ws.read(".mind/ARCHIVE.md"));
    }
    for session in 0..SESSIONS {
        let name = format!("src/work-{session}.rs");
        let count = all.lines().filter(|line| line.contains(&name)).count();
        let once = count == 1 || (count > 1 && missed > 0);
        assert!(once, "{name} is there {count} times");
    }
    assert!(all.contains("Began the form"), "what people wrote stays");
    // What was missed is known, and nothing else.
    let doctor = ws.run(&["doctor"]);
    assert_eq!(doctor.stdout.contains("hooks:"), missed > 0, "{doctor}");
}

/// The session dies between any two of its hooks, or in one of them: whatever
/// a checkpoint kept is told to the next.
#[test]
fn checkpoints_bring_back_what_the_session_knew() {
    for last in ["PreCompact", "Stop", "UserPromptSubmit"] {
        let ws = ws(STATE);
        ws.git_init();
        ws.commit("first");
        start(&ws, 0);
        ws.run(&["mind", "set", "--next", "Solder the third joint"])
            .ok();
        ws.run(&["mind", "task", "add", "Buy solder"]).ok();
        hook(
            &ws,
            0,
            &json!({ "hook_event_name": "PreCompact", "trigger": "auto" }),
        );
        hook(
            &ws,
            0,
            &json!({ "hook_event_name": last, "session_id": "session-0" }),
        );
        ws.write("src/joint.rs", "// third\n");
        set_time(
            &ws.path("src/joint.rs"),
            moment(0) + Duration::from_secs(60),
        );
        // No end. Somebody empties the state before the next one starts.
        ws.write(".mind/STATE.md", "# Project State\n");
        let payload = json!({ "hook_event_name": "SessionStart", "source": "compact", "session_id": "session-0" });
        let told = hook(&ws, 1, &payload);
        assert!(told.contains("Solder the third joint"), "{last}: {told}");
        assert!(told.contains("Buy solder"), "{last}: {told}");
        let told = start(&ws, 2);
        assert!(told.contains("closed without a summary"), "{last}: {told}");
        assert!(
            ws.read(".mind/SESSION-LOG.md").contains("src/joint.rs"),
            "{last}"
        );
    }
}

/// SIGKILL in the middle of each hook, at many moments: the next session
/// starts, everything people wrote is there, and nothing is half done.
#[test]
fn hooks_that_are_killed_at_any_moment_lose_nothing() {
    let ws = ws(STATE);
    ws.git_init();
    ws.commit("first");
    let files = [".mind/STATE.md", ".mind/PROGRESS.md", ".mind/DECISIONS.md"];
    let before: Vec<String> = files.iter().map(|path| ws.read(path)).collect();
    let mut session = 0;
    for event in [
        "SessionStart",
        "Stop",
        "PreCompact",
        "SessionEnd",
        "SubagentStop",
        "TaskCompleted",
    ] {
        for step in 0..10 {
            session += 1;
            let path = format!("src/{event}-{step}.rs");
            ws.write(&path, "x\n");
            set_time(&ws.path(&path), moment(session) + Duration::from_secs(60));
            let mut child = ws
                .command()
                .arg("hook")
                .env("MEMORY_FORGE_NOW", shown(session))
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("it can be started");
            let payload = json!({ "hook_event_name": event, "session_id": format!("session-{session}"), "agent_id": "a", "task_id": "1" });
            let mut stdin = child.stdin.take().expect("a pipe");
            let _ = stdin.write_all(payload.to_string().as_bytes());
            drop(stdin);
            // Where the knife falls; nothing depends on where.
            std::thread::sleep(Duration::from_millis(step * 3));
            let _ = child.kill();
            ended(child, event);
            let told = start(&ws, session);
            assert!(told.contains("Finish login"), "{event}, {step}: {told}");
            for (path, text) in files.iter().zip(&before) {
                assert_eq!(&ws.read(path), text, "{event}, {step}: {path}");
            }
            assert!(
                ws.read(".mind/SESSION-LOG.md").contains("Began the form"),
                "{event}"
            );
        }
    }
    // Leftovers of what was cut off are gone with the next write.
    ws.run(&["mind", "log", "All is well"]).ok();
    start(&ws, session + 1);
    let doctor = ws.run(&["doctor"]);
    assert!(
        doctor.stdout.contains("No temporary file was left behind"),
        "{doctor}"
    );
}

/// The end is told twice, late, or for a session that is over: it is written
/// once.
#[test]
fn an_end_that_comes_after_all_is_written_once() {
    let ws = ws(STATE);
    ws.git_init();
    ws.commit("first");
    start(&ws, 0);
    ws.write("src/a.rs", "x\n");
    set_time(&ws.path("src/a.rs"), moment(0) + Duration::from_secs(60));
    start(&ws, 1);
    let log = ws.read(".mind/SESSION-LOG.md");
    assert_eq!(log.matches("src/a.rs").count(), 1, "{log}");
    // The first session's end arrives now, again and again.
    for _ in 0..3 {
        let late = json!({ "hook_event_name": "SessionEnd", "session_id": "session-0", "reason": "logout" });
        hook(&ws, 1, &late);
    }
    start(&ws, 2);
    let log = ws.read(".mind/SESSION-LOG.md");
    assert_eq!(log.matches("src/a.rs").count(), 1, "{log}");
}
