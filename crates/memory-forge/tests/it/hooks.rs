//! Hooks as clients call them: JSON in, JSON out, exit code 0, whatever
//! happens.

use serde_json::Value;
use testkit::{Output, TestWorkspace};

use crate::harness::ws;

const STATE: &str = "
    //- .mind/STATE.md
    # Project State

    ## Current Phase
    Phase 2: Build

    ## Current Status
    Login half done

    ## Active Work
    - login form

    ## Blocked Items
    - waiting for keys

    ## Next Action
    Finish login

    ## Last Updated
    2026-03-01
    //- .mind/PROGRESS.md
    # Progress Tracker

    ### In Progress
    - [ ] Build login page
    //- .mind/DECISIONS.md
    # Decision Log

    ## DEC-001: Use SQLite
    - **Date:** 2026-02-01
    - **Decision:** One file is enough
    - **Status:** Final
    //- .mind/SESSION-LOG.md
    # Session Log

    ## Session 1 — 2026-02-28 10:00:00
    - **Summary:** Began the form
";

fn hook(ws: &TestWorkspace, input: &str) -> Value {
    json(&ws.feed(input, &[], &["hook"]))
}

fn json(output: &Output) -> Value {
    assert_eq!(output.ok().lines().count(), 1, "{output}");
    serde_json::from_str(output.ok()).unwrap_or_else(|e| panic!("{e}: {output}"))
}

fn context(answer: &Value) -> &str {
    answer["hookSpecificOutput"]["additionalContext"]
        .as_str()
        .unwrap_or_else(|| panic!("no context in {answer}"))
}

#[test]
fn a_start_is_told_where_the_work_stands() {
    let ws = ws(STATE);
    let answer = hook(
        &ws,
        r#"{"hook_event_name":"SessionStart","source":"startup","session_id":"s1"}"#,
    );
    assert_eq!(
        answer["hookSpecificOutput"]["hookEventName"],
        "SessionStart"
    );
    let text = context(&answer);
    for part in [
        "=== SESSION BRIEFING ===",
        "Finish login",
        "waiting for keys",
        "DEC-001",
        "Build login page",
        "Began the form",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
    assert!(text.len() < 10_000);
}

#[test]
fn a_start_without_memory_creates_nothing() {
    let ws = ws("
        //- README.md
        # Hi
    ");
    let before = ws.tree();
    let answer = hook(&ws, r#"{"hook_event_name":"SessionStart"}"#);
    assert!(context(&answer).contains("no state file found"), "{answer}");
    for event in [
        "UserPromptSubmit",
        "Stop",
        "PreCompact",
        "SessionEnd",
        "SubagentStart",
        "SubagentStop",
        "TaskCompleted",
    ] {
        let answer = hook(&ws, &format!(r#"{{"hook_event_name":"{event}"}}"#));
        assert_eq!(answer, serde_json::json!({}), "{event}");
    }
    assert_eq!(ws.tree(), before);
}

#[test]
fn a_prompt_gets_one_line() {
    let ws = ws(STATE);
    let answer = hook(
        &ws,
        r#"{"hook_event_name":"UserPromptSubmit","prompt":"go"}"#,
    );
    assert_eq!(
        context(&answer),
        "[Memory] Phase: Phase 2: Build | Next: Finish login | BLOCKED: waiting for keys | (Read .mind/STATE.md for details)"
    );
}

#[test]
fn a_compaction_keeps_a_checkpoint_and_the_next_start_brings_it_back() {
    let ws = ws(STATE);
    hook(&ws, r#"{"hook_event_name":"PreCompact","trigger":"auto"}"#);
    let checkpoint = ws.read(".mind/checkpoints/latest.md");
    assert!(checkpoint.contains("Login half done"), "{checkpoint}");
    ws.write(
        ".mind/STATE.md",
        "# Project State\n\n## Current Phase\nPhase 3\n\n## Next Action\nShip\n",
    );
    let answer = hook(
        &ws,
        r#"{"hook_event_name":"SessionStart","source":"compact"}"#,
    );
    let text = context(&answer);
    assert!(
        text.contains("=== CONTEXT RESTORED (post-compaction) ==="),
        "{text}"
    );
    assert!(
        text.contains("Phase 3") && text.contains("Login half done"),
        "{text}"
    );
}

#[test]
fn helpers_and_tasks_are_noted_and_surface_at_the_next_start() {
    let ws = ws(STATE);
    let start = hook(
        &ws,
        r#"{"hook_event_name":"SubagentStart","agent_type":"builder","agent_id":"a1"}"#,
    );
    let primer = context(&start);
    assert!(
        primer.contains("Finish login") && primer.len() < 4_000,
        "{primer}"
    );
    hook(
        &ws,
        r#"{"hook_event_name":"SubagentStop","agent_type":"builder","agent_id":"a1"}"#,
    );
    hook(
        &ws,
        r#"{"hook_event_name":"TaskCompleted","task_id":"7","task_subject":"Do X"}"#,
    );
    assert!(
        ws.read(".mind/.agent-activity")
            .contains("STARTED: builder (a1)")
    );
    assert!(
        ws.read(".mind/.agent-activity")
            .contains("STOPPED: builder (a1)")
    );
    assert!(
        ws.read(".mind/.task-completions")
            .contains("COMPLETED: #7 — Do X (by: self)")
    );
    let answer = hook(&ws, r#"{"hook_event_name":"SessionStart"}"#);
    assert!(context(&answer).contains("Do X"), "{answer}");
}

#[test]
fn a_stop_reminds_of_old_state_but_never_keeps_claude_talking() {
    let ws = ws(STATE).now("2030-01-01T00:00:00Z");
    let input = r#"{"hook_event_name":"Stop","stop_hook_active":false}"#;
    assert!(context(&hook(&ws, input)).starts_with("[Memory] Reminder: .mind/STATE.md"));
    let in_claude = ws.feed(input, &[("CLAUDECODE", "1")], &["hook"]);
    assert_eq!(json(&in_claude), serde_json::json!({}));
    let active = hook(&ws, r#"{"hook_event_name":"Stop","stop_hook_active":true}"#);
    assert_eq!(active, serde_json::json!({}));
}

#[test]
fn each_client_is_answered_in_its_own_shape() {
    let ws = ws(STATE);
    let copilot = hook(
        &ws,
        r#"{"hook_event_name":"SessionStart","source":"new","timestamp":"2026-03-01T00:00:00Z","initial_prompt":"x"}"#,
    );
    assert!(copilot["additionalContext"].is_string(), "{copilot}");
    let gemini = hook(
        &ws,
        r#"{"hook_event_name":"BeforeAgent","prompt":"x","timestamp":"t","transcript_path":"p"}"#,
    );
    assert_eq!(gemini["hookSpecificOutput"]["hookEventName"], "BeforeAgent");
    let codex = hook(
        &ws,
        r#"{"hook_event_name":"PreCompact","turn_id":"t","trigger":"auto"}"#,
    );
    assert_eq!(codex, serde_json::json!({}), "a key that it would reject");
    let forced = ws.feed(
        r#"{"hook_event_name":"SessionStart"}"#,
        &[],
        &["hook", "--client", "copilot"],
    );
    assert!(json(&forced)["additionalContext"].is_string());
}

/// `cmd`, and a client that starts the program without a shell, pass the end of
/// the line on as arguments.
#[test]
fn the_end_of_a_line_that_no_shell_read_is_ignored() {
    let ws = ws(STATE);
    let start = r#"{"hook_event_name":"SessionStart","source":"startup"}"#;
    let words = ["hook", "--client", "codex", ";", "exit", "0"];
    let answer = json(&ws.feed(start, &[], &words));
    assert!(context(&answer).contains("Phase 2: Build"), "{answer}");
}

#[test]
fn whatever_comes_in_the_exit_code_is_zero() {
    let ws = ws(STATE);
    let long = format!(
        r#"{{"hook_event_name":"UserPromptSubmit","prompt":"{}"}}"#,
        "x".repeat(3 << 20)
    );
    let inputs: [&[u8]; 9] = [
        b"",
        b"not json",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe\x00",
        br#"{"hook_event_name":"NoSuchEvent"}"#,
        br#"{"hook_event_name":"SessionStart","cwd":"/nowhere/at/all"}"#,
        long.as_bytes(),
    ];
    for input in inputs {
        let output = ws.feed(input, &[], &["hook"]);
        let answer = json(&output);
        assert!(answer.is_object(), "{output}");
        assert_eq!(output.stderr, "", "{output}");
    }
    for arguments in [
        &["hook", "--nonsense"][..],
        &["hook", "stop", "--client"],
        &["hook", "--client", "nobody", "pre-tool-use"],
        &["hook", "session-start", "extra", "--root"],
        &["--root", "/nowhere", "hook", "stop"],
    ] {
        let output = ws.feed("", &[], arguments);
        assert!(json(&output).is_object(), "{output}");
    }
}

#[test]
fn an_argument_names_the_event_when_the_input_does_not() {
    let ws = ws(STATE);
    let output = ws.feed("", &[], &["hook", "user-prompt-submit"]);
    assert!(context(&json(&output)).contains("Finish login"));
}

#[test]
fn input_that_never_ends_is_not_waited_for() {
    use std::io::{Read, Write};
    use std::process::{Command, Stdio};
    let ws = ws(STATE);
    let mut child = Command::new(env!("CARGO_BIN_EXE_memory-forge"))
        .arg("hook")
        .current_dir(ws.root())
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("it was piped");
    stdin
        .write_all(br#"{"hook_event_name":"UserPromptSubmit","prompt":"x"}"#)
        .expect("it reads");
    // The pipe stays open until the answer is there.
    let mut answer = String::new();
    child
        .stdout
        .take()
        .expect("it was piped")
        .read_to_string(&mut answer)
        .expect("text");
    assert!(answer.contains("Finish login"), "{answer}");
    assert!(child.wait().expect("it ends").success());
    drop(stdin);
}

#[test]
fn m6_a_session_is_closed_by_the_next_with_its_own_changes_alone() {
    let ws = ws(STATE);
    ws.git_init();
    ws.write("old.txt", "there before\n");
    for path in ["old.txt", ".mind/SESSION-LOG.md"] {
        let file = std::fs::File::options()
            .append(true)
            .open(ws.path(path))
            .expect("it is there");
        file.set_modified(std::time::UNIX_EPOCH)
            .expect("times can be set");
    }
    hook(
        &ws,
        r#"{"hook_event_name":"SessionStart","session_id":"one"}"#,
    );
    ws.write("src/näme with space.rs", "fn main() {}\n");
    let later = ws.now("2031-01-01T00:00:00Z");
    let answer = hook(
        &later,
        r#"{"hook_event_name":"SessionStart","session_id":"two"}"#,
    );
    let log = later.read(".mind/SESSION-LOG.md");
    assert!(log.contains("(auto-captured)"), "{log}");
    assert!(log.contains("src/näme with space.rs"), "{log}");
    assert!(!log.contains("old.txt"), "it was changed before: {log}");
    assert!(
        context(&answer).contains("closed without a summary"),
        "{answer}"
    );
    let again = hook(
        &later,
        r#"{"hook_event_name":"SessionStart","session_id":"two"}"#,
    );
    assert!(context(&again).contains("BRIEFING"));
    assert_eq!(later.read(".mind/SESSION-LOG.md"), log, "once is enough");
}

#[test]
fn what_went_wrong_is_kept_for_doctor() {
    let ws = ws(STATE);
    ws.feed("garbage", &[], &["hook", "stop"]);
    let noted = ws.read(".mind/.hook-failures");
    assert!(
        noted.contains("Stop") && noted.contains("not a JSON object"),
        "{noted}"
    );
    assert!(!noted.contains("garbage"), "never what was sent");
    let doctor = ws.run(&["doctor"]);
    assert!(doctor.stdout.contains("Hooks failed, 1 in all"), "{doctor}");
}

#[test]
fn a_start_archives_what_has_grown_old_and_loses_nothing() {
    let ws = ws(STATE);
    let old: String = (1..=80)
        .map(|i| format!("## Session {i} — 2026-01-01 10:00:00\n- **Summary:** Part {i} of the long work, told at some length so that it adds up to something\n- **Next session:** part {}\n\n", i + 1))
        .collect();
    ws.write(".mind/SESSION-LOG.md", format!("# Session Log\n\n{old}"));
    let start = r#"{"hook_event_name":"SessionStart","session_id":"s"}"#;
    let answer = hook(&ws, start);
    assert!(context(&answer).contains("Part 80"), "{answer}");
    let (log, archive) = (ws.read(".mind/SESSION-LOG.md"), ws.read(".mind/ARCHIVE.md"));
    assert!(!log.contains("## Session 3 "), "{log}");
    for i in 1..=80 {
        let entry = format!("## Session {i} ");
        assert!(log.contains(&entry) || archive.contains(&entry), "{entry}");
    }
    let before = ws.tree();
    hook(&ws, start);
    assert_eq!(ws.tree(), before, "twice is once");
}

#[test]
fn what_hooks_keep_does_not_show_in_git() {
    let ws = ws(STATE);
    ws.git_init();
    ws.commit("first");
    for event in [
        "SessionStart",
        "Stop",
        "PreCompact",
        "SubagentStop",
        "SessionEnd",
    ] {
        hook(
            &ws,
            &format!(r#"{{"hook_event_name":"{event}","session_id":"s"}}"#),
        );
    }
    let status = ws.git(&["status", "--porcelain", "--untracked-files=all"]);
    assert_eq!(status.trim(), "?? .mind/.gitignore");
}

#[test]
fn a_session_is_told_the_same_words_twice_and_another_one_others() {
    let ws = ws(STATE);
    let told = |session: &str| {
        let input = format!(
            r#"{{"hook_event_name":"SessionStart","source":"resume","session_id":"{session}"}}"#
        );
        context(&hook(&ws, &input)).to_owned()
    };
    assert_eq!(told("one"), told("one"));
    assert_ne!(told("one"), told("two"));
}

const IN_MEMORY: &str = "
    //- _MANIFEST.md
    # Context Routing
    <!-- memex-managed:2.1.3 -->
    //- memory/status.md
    # Status

    **Phase:** Spring

    ## Next Priorities
    1. Dig
";

/// "A hook names `.mind/PROGRESS.md` also where state is in `memory/`; creating
/// it switches the layout and hides the state."
#[test]
fn hooks_name_the_files_that_hold_the_state() {
    let ws = ws(IN_MEMORY);
    let stop = r#"{"hook_event_name":"SubagentStop","agent_type":"b","agent_id":"1"}"#;
    let answer = hook(&ws, stop);
    let text = context(&answer);
    assert!(text.contains("memory/status.md"), "{text}");
    assert!(!text.contains(".mind/"), "{text}");
    // An agent that made the other file all the same hides nothing.
    ws.write(".mind/PROGRESS.md", "# Progress Tracker\n");
    let start = hook(&ws, r#"{"hook_event_name":"SessionStart"}"#);
    let text = context(&start);
    assert!(text.contains("Spring"), "{text}");
    let said = "The state is in `memory/status.md`; `.mind/PROGRESS.md` also exists";
    assert!(text.contains(said), "{text}");
    let doctor = ws.run(&["doctor"]);
    assert!(doctor.stdout.contains(said), "{doctor}");
    let status = ws.run(&["status", "--json"]);
    assert!(status.ok().contains(said), "{status}");
}

fn set_modified(ws: &TestWorkspace, path: &str, moment: &str) {
    let moment: jiff::Timestamp = moment.parse().expect("a moment");
    let file = std::fs::File::options().write(true).open(ws.path(path));
    let file = file.expect("the file is there");
    file.set_modified(moment.into())
        .expect("its time can be set");
}

/// A client's name, what it sends at a prompt, and its environment.
type Prompt = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

/// A prompt as each client that takes context with it announces one.
const PROMPTS: [Prompt; 5] = [
    (
        "claude",
        r#"{"hook_event_name":"UserPromptSubmit","session_id":"a","transcript_path":"t"}"#,
        &[("CLAUDECODE", "1")],
    ),
    (
        "codex",
        r#"{"hook_event_name":"UserPromptSubmit","turn_id":"1","prompt":"x"}"#,
        &[],
    ),
    (
        "gemini",
        r#"{"hook_event_name":"BeforeAgent","prompt":"x"}"#,
        &[],
    ),
    (
        "copilot",
        r#"{"hook_event_name":"UserPromptSubmit","session_id":"a","timestamp":"2030","prompt":"x"}"#,
        &[],
    ),
    (
        "another",
        r#"{"hook_event_name":"UserPromptSubmit","prompt":"x"}"#,
        &[],
    ),
];

/// "State older than 30 minutes: the reminder reaches the agent in every client.
/// Where a client takes no context at Stop (Claude Code), it comes with the next
/// prompt or start; SessionEnd warns on stderr."
#[test]
fn old_state_is_told_with_the_next_prompt_in_every_client() {
    let ws = ws(STATE).now("2030-01-01T01:00:00Z");
    set_modified(&ws, ".mind/STATE.md", "2030-01-01T00:00:00Z");
    let prompt = |(name, input, env): Prompt| {
        let answer = ws.feed(input, env, &["hook"]).ok().to_owned();
        assert!(answer.contains("Finish login"), "{name}: {answer}");
        answer
    };
    let overdue = ".mind/STATE.md was last updated 60 minutes ago";
    for client in PROMPTS {
        // Nobody worked yet: it is old because nobody was there.
        assert!(!prompt(client).contains(overdue), "{}", client.0);
    }
    let stop = r#"{"hook_event_name":"Stop"}"#;
    ws.feed(stop, &[("CLAUDECODE", "1")], &["hook"]).ok();
    for client in PROMPTS {
        let answer = prompt(client);
        assert!(answer.contains(overdue), "{}: {answer}", client.0);
        let answer: Value = serde_json::from_str(&answer).expect("JSON");
        let specific = &answer["hookSpecificOutput"]["additionalContext"];
        let text = specific.as_str().or(answer["additionalContext"].as_str());
        let text = text.unwrap_or_else(|| panic!("no context in {answer}"));
        assert!(text.chars().count() <= 200, "{text}");
    }
    let start = hook(&ws, r#"{"hook_event_name":"SessionStart"}"#);
    let said = "The state was last written 60 minutes ago.";
    assert!(context(&start).contains(said), "{start}");
    let end = ws.feed(
        r#"{"hook_event_name":"SessionEnd","reason":"exit"}"#,
        &[],
        &["hook"],
    );
    assert_eq!(json(&end), serde_json::json!({}));
    let warned = "[Memory] WARNING: .mind/STATE.md was last updated 60 minutes ago.\n";
    assert!(end.stderr.starts_with(warned), "{end}");
    // Written down, it is told no more.
    set_modified(&ws, ".mind/STATE.md", "2030-01-01T00:59:00Z");
    for client in PROMPTS {
        assert!(!prompt(client).contains("last updated"), "{}", client.0);
    }
    let end = ws.feed(
        r#"{"hook_event_name":"SessionEnd","reason":"exit"}"#,
        &[],
        &["hook"],
    );
    assert_eq!(end.stderr, "", "{end}");
}

/// D11: "checkpoint at Stop and PreCompact".
#[test]
fn a_stop_keeps_a_checkpoint_where_something_changed() {
    let ws = ws(STATE);
    let stop = r#"{"hook_event_name":"Stop","stop_hook_active":false}"#;
    hook(&ws, stop);
    let first = ws.read(".mind/checkpoints/latest.md");
    assert!(first.contains("## Trigger: stop"), "{first}");
    assert!(first.contains("Login half done"), "{first}");
    hook(&ws, stop);
    assert_eq!(ws.read(".mind/checkpoints/latest.md"), first);
    let state = ws.read(".mind/STATE.md");
    ws.write(".mind/STATE.md", state.replace("half done", "done"));
    hook(&ws, r#"{"hook_event_name":"Stop","stop_hook_active":true}"#);
    let second = ws.read(".mind/checkpoints/latest.md");
    assert!(second.contains("Login done"), "{second}");
}

/// "The SessionStart hook's briefing has, in a workspace, what `session start`
/// has: the manifest's summary, ideas, staleness, untracked files; capped."
#[test]
fn a_start_in_a_workspace_is_told_what_session_start_tells() {
    let ws = ws("
        //- _MANIFEST.md
        # Context Routing
        <!-- memex-managed:2.1.3 -->

        ## Hub Map
        | Domain | Hub | Summary |
        |---|---|---|
        | Garden | [[garden/_CLOSETS]] | Beds and seeds |
        //- memory/status.md
        # Status

        Last updated: 2026-02-10

        **Phase:** Spring

        ## Blocked
        - Waiting for the water meter
        //- garden/beds.md
        # Beds
        //- scratch/ideas.md
        # Ideas

        ### A pond - 2026-02-01
        Dig one.
        //- letters/a.md
        # A
        //- letters/b.md
        # B
        //- letters/c.md
        # C
        //- loose.md
        # Loose
    ");
    let parts = [
        "**Stale:** Last updated 2026-02-10, 19 days ago.",
        "**Ideas inbox:** 1 idea, the newest: A pond",
        "Untracked content detected: letters/ (3 files); loose.md",
        "Stale blockers: Waiting for the water meter",
    ];
    let own = ws.run(&["session", "start"]).ok().to_owned();
    let answer = hook(&ws, r#"{"hook_event_name":"SessionStart"}"#);
    let text = context(&answer);
    for part in parts {
        assert!(own.contains(part), "{part}: {own}");
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(text.contains("--- WORKSPACE ---"), "{text}");
    assert!(text.contains("Domains: Garden (Beds and seeds)"), "{text}");
    assert!(!text.contains("Start session"), "{text}");
    // However much there is, the caps hold.
    for n in 0..300 {
        ws.write(&format!("folder{n:03}/{}.md", "x".repeat(60)), "# X\n");
        ws.write(&format!("loose{n:03}{}.md", "y".repeat(60)), "# Y\n");
    }
    let answer = hook(&ws, r#"{"hook_event_name":"SessionStart"}"#);
    let text = context(&answer);
    assert!(text.len() < 10_000 && text.contains("Spring"), "{text}");
}
