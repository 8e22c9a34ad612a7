//! Secrets kept in memory: passwords, keys and tokens that were said once and
//! then stored, copied into logs and indexes, and told to every later session.
//!
//! Every secret is put together when a test runs, so that this file holds none.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use testkit::{Output, TestWorkspace};

use crate::harness::ws;

/// Letters of both cases and digits, the same every time; the middle of every
/// secret here, and so what is looked for.
const CORE: &str = "Zq7Xw3Kd9Rm2Vt8Yb5Nc4Hs6Jf1Lp0Gz";

/// A secret of each well-known kind, with what stands around it.
fn leaks() -> Vec<String> {
    let upper = CORE.to_uppercase();
    let hex = "3f9a1c7e5b2d80463f9a1c7e5b2d8046";
    vec![
        format!("the key is {}{}", concat!("AK", "IA"), &upper[..16]),
        format!("use {}{CORE}abcd", concat!("gh", "p_")),
        format!("use {}{CORE}", concat!("sk-", "ant-api03-")),
        format!("use {}{CORE}99", concat!("sk-", "proj-")),
        format!("{}{}-{CORE}", concat!("xo", "xb-"), "2417893465"),
        format!(
            "https://hooks.{}/T0A1B2C3D/B0A1B2C3D/{CORE}",
            "slack.com/services"
        ),
        format!(
            "https://discord.com/api/{}/123456789012345678/{CORE}{CORE}",
            "webhooks"
        ),
        format!("//registry.example/:_auth{}={CORE}", "Token"),
        format!("machine git.example login ann pass{} {CORE}", "word"),
        format!("client-key-{}: {CORE}{CORE}", "data"),
        format!("postgres://app:{CORE}@db.internal/main"),
        format!("Server=db;User Id=app;Pass{}={CORE};", "word"),
        format!("{}eyJ{}.{}eyJ{CORE}.{CORE}", "", &CORE[..20], ""),
        format!("export STRIPE_{}={CORE}", "KEY"),
        format!("client_{}: {hex}", "secret"),
        format!("Authorization: Bearer {CORE}"),
        format!(
            "-----BEGIN RSA {k}-----\n{CORE}{CORE}\n{CORE}{CORE}\n-----END RSA {k}-----",
            k = "PRIVATE KEY"
        ),
    ]
}

/// Parts of secrets that must be nowhere.
fn marks() -> [String; 3] {
    [
        CORE[4..14].to_owned(),
        CORE.to_uppercase()[4..14].to_owned(),
        "3f9a1c7e5b2d80463f".to_owned(),
    ]
}

#[track_caller]
fn assert_silent(what: &str, text: &str) {
    for mark in marks() {
        assert!(!text.contains(&mark), "{what} tells a secret:\n{text}");
    }
}

/// No file below the workspace but those named holds a part of a secret.
#[track_caller]
fn assert_clean(ws: &TestWorkspace, after: &str, except: &[&str]) {
    let mut open = vec![ws.root().to_owned(), ws.home()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).expect("it is a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
                continue;
            }
            let shown = path.strip_prefix(ws.root()).unwrap_or(&path).to_owned();
            if except.iter().any(|name| shown == Path::new(name)) {
                continue;
            }
            let bytes = fs::read(&path).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            for mark in marks() {
                assert!(
                    !text.contains(&mark),
                    "after `{after}`, {} holds a secret",
                    shown.display()
                );
            }
        }
    }
}

#[track_caller]
fn assert_output(what: &str, output: &Output) {
    assert_silent(what, &output.stdout);
    assert_silent(what, &output.stderr);
}

/// What the server answers to these requests, in the era with sessions.
fn mcp(ws: &TestWorkspace, requests: &[Value]) -> String {
    let first = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    }});
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let mut lines = format!("{first}\n{ready}\n");
    for (at, request) in requests.iter().enumerate() {
        let mut request = request.clone();
        request["jsonrpc"] = "2.0".into();
        request["id"] = (at + 1).into();
        lines.push_str(&format!("{request}\n"));
    }
    let output = ws.feed(lines, &[], &["mcp", "--tools", "all"]);
    assert!(
        output.stdout.lines().count() > requests.len(),
        "every request is answered: {output}"
    );
    format!("{}{}", output.stdout, output.stderr)
}

fn call(tool: &str, arguments: Value) -> Value {
    json!({ "method": "tools/call", "params": { "name": tool, "arguments": arguments } })
}

const STATE: &str = "
    //- .mind/STATE.md
    # Project State

    ## Current Phase
    Build

    ## Next Action
    Ship it
    //- .mind/PROGRESS.md
    # Progress

    ### In Progress
    - [ ] login
    //- knowledge/a.md
    # Tides
    High water at noon.
    //- _MANIFEST.md
    # Manifest
";

#[test]
fn no_door_lets_a_secret_into_a_file() {
    let ws = ws(STATE);
    for (at, leak) in leaks().into_iter().enumerate() {
        let said = format!("Remember this: {leak}\n");
        let one = said.replace('\n', " ");
        let doors: Vec<Vec<&str>> = vec![
            vec!["save", "context", "deploy-notes", "--content", &said],
            vec![
                "save",
                "skill",
                "deploy",
                "--description",
                "d",
                "--trigger",
                "t",
                "--content",
                &said,
            ],
            vec!["idea", &one],
            vec!["mind", "set", "--next", &one],
            vec!["mind", "set", "--active", &one],
            vec!["mind", "decide", "Keys", "--decision", &one],
            vec![
                "mind",
                "decide",
                "Keys",
                "--decision",
                "x",
                "--rationale",
                &one,
            ],
            vec!["mind", "task", "add", &one],
            vec!["mind", "log", &one],
            vec!["mind", "log", "Did it", "--completed", &one],
            vec!["session", "update", "--focus", &one],
            vec!["session", "end", "--title", "T", "--did", &one],
            vec![
                "agent",
                "remember",
                "deploy",
                "--agent",
                "eng/builder",
                "--content",
                &said,
            ],
            vec!["agent", "remember", "deploy", "--content", &said],
            vec!["agent", "learn", &one, "--squad", "eng"],
            vec!["forget", "--fact", &one, "--instead", "something else"],
        ];
        // Every kind of secret at a few doors, and a token at all of them: they
        // ask one function.
        let tried = doors.iter().enumerate();
        let tried = tried.filter(|(door, _)| at == 1 || (at + door).is_multiple_of(4));
        for (_, door) in tried {
            let output = ws.run(door);
            assert_eq!(
                output.status,
                Some(1),
                "`{}` of {leak:.20}…: {output}",
                door[..2].join(" ")
            );
            assert_output(&door[..2].join(" "), &output);
            assert_clean(&ws, &door[..2].join(" "), &[]);
        }
        let answers = mcp(
            &ws,
            &[
                call(
                    "save_knowledge",
                    json!({ "type": "context", "name": "n", "content": said }),
                ),
                call("memory_update_state", json!({ "next_action": one })),
                call("memory_update_state", json!({ "blockers": [one] })),
                call(
                    "memory_save_decision",
                    json!({ "title": "t", "decision": one }),
                ),
                call("memory_save_progress", json!({ "task": one })),
                call("correct_knowledge", json!({ "fact": one, "reason": one })),
                call("memory_save_session", json!({ "summary": one })),
            ],
        );
        assert_eq!(
            answers.matches("seems to contain a secret").count(),
            7,
            "{answers}"
        );
        assert_silent("mcp", &answers);
        assert_clean(&ws, "mcp", &[]);
    }
}

/// "Nothing writes around the check": reasons, names and texts of every command
/// that writes, and a secret with a character in it that nobody sees.
#[test]
fn no_reason_name_or_disguise_gets_around_the_check() {
    let token = format!("{}{CORE}abcd", concat!("gh", "p_"));
    let masked = format!("{}\u{200b}{}", &token[..9], &token[9..]);
    for secret in [&token, &masked] {
        let ws = ws(STATE);
        ws.write("ops/_index.md", "# Ops\n");
        ws.write("ops/host.md", "# Host\n\nMoved.\n");
        ws.write(
            "_MANIFEST.md",
            "# Manifest\n\n## Hub Map\n\n| Domain | Hub | Summary |\n|---|---|---|\n| Ops | [[ops/_CLOSETS]] | x |\n",
        );
        ws.run(&["index"]).ok();
        let said = format!("because of {secret} it is");
        let doors: Vec<Vec<&str>> = vec![
            vec!["forget", "knowledge/a.md", "--reason", &said, "--yes"],
            vec!["archive", "ops/host.md", "--reason", &said],
            vec!["domain", "add", secret, "--yes"],
            vec!["save", "context", "notes", "--content", &said],
            vec!["idea", &said],
            vec!["mind", "set", "--next", &said],
            vec!["mind", "decide", "Keys", "--decision", &said],
            vec!["mind", "task", "add", &said],
            vec!["mind", "log", &said],
            vec!["session", "end", "--title", "T", "--did", &said],
            vec!["agent", "remember", "deploy", "--content", &said],
            vec!["agent", "learn", &said, "--squad", "eng"],
            vec!["forget", "--fact", &said, "--instead", "something else"],
        ];
        for door in doors {
            let output = ws.run(&door);
            assert_ne!(
                output.status,
                Some(0),
                "`{}`: {output}",
                door[..2].join(" ")
            );
            assert_clean(&ws, &door[..2].join(" "), &[]);
        }
        let fresh = crate::harness::ws("//- notes.md\n# Notes\n");
        let output = fresh.run(&["init", "--workspace", &said, "--yes"]);
        assert_ne!(output.status, Some(0), "init --workspace: {output}");
        assert_clean(&fresh, "init --workspace", &[]);
        let answers = mcp(
            &ws,
            &[
                call(
                    "save_knowledge",
                    json!({ "type": "context", "name": "n", "content": said }),
                ),
                call("memory_update_state", json!({ "next_action": said })),
                call(
                    "memory_save_decision",
                    json!({ "title": "t", "decision": said }),
                ),
                call("memory_save_progress", json!({ "task": said })),
                call("correct_knowledge", json!({ "fact": said, "reason": said })),
                call("memory_save_session", json!({ "summary": said })),
            ],
        );
        let refused = answers.matches("seems to contain a secret").count();
        assert_eq!(refused, 6, "{answers}");
        assert_clean(&ws, "mcp", &[]);
    }
}

/// "A secret longer than a passage is redacted whole": it is looked for in the
/// document, not in the passage.
#[test]
fn a_secret_longer_than_a_passage_is_told_nowhere() {
    let ws = ws("//- CLAUDE.md\n# Rules\n");
    let long = CORE.repeat(200);
    let lines: String = (0..400).map(|_| format!("{}\n", &long[..64])).collect();
    ws.write(
        "knowledge/zephyr.md",
        format!(
            "# Zephyr host\n\nzephyr token: {long}\n\nclient-key-{}: {long}\n\n```\n-----BEGIN RSA {k}-----\n{lines}-----END RSA {k}-----\n```\n\nzephyr end.\n",
            "data",
            k = "PRIVATE KEY"
        ),
    );
    for arguments in [
        &["search", "zephyr", "--json", "-n", "50"][..],
        &["search", "zephyr", "--context", "-n", "50"],
        &["search", CORE, "--context", "-n", "50"],
    ] {
        let output = ws.run(arguments);
        let told = output.stdout.replace(CORE, "asked");
        let told = if arguments[1] == CORE {
            told
        } else {
            output.stdout.clone()
        };
        assert_silent(&arguments.join(" "), &told);
    }
    let lines = ws.run(&["search", "zephyr end", "--json"]).stdout;
    let answer: Value = serde_json::from_str(&lines).expect("JSON");
    let last = &answer["results"][0]["lines"][1];
    assert!(
        last.as_u64() >= Some(400),
        "places stay what they are: {answer:#}"
    );
}

#[test]
fn hooks_keep_no_secret_and_no_payload() {
    let ws = ws(STATE);
    for leak in leaks() {
        for payload in [
            json!({ "hook_event_name": "UserPromptSubmit", "prompt": leak, "session_id": "s" }),
            json!({ "hook_event_name": "SubagentStart", "agent_type": leak, "agent_id": leak }),
            json!({ "hook_event_name": "SubagentStop", "agent_type": "a", "agent_id": "b",
                    "last_assistant_message": format!("I used {leak} and it worked") }),
            json!({ "hook_event_name": "TaskCompleted", "task_id": "1", "task_subject": leak,
                    "teammate_name": leak }),
            json!({ "hook_event_name": "PreCompact", "trigger": leak }),
            json!({ "hook_event_name": "Stop", "last_assistant_message": leak }),
            json!({ "hook_event_name": "SessionEnd", "reason": leak }),
            json!({ "hook_event_name": "SessionStart", "source": leak, "session_id": "t" }),
        ] {
            let event = payload["hook_event_name"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            let output = ws.feed(payload.to_string(), &[], &["hook"]);
            output.ok();
            assert_output(&event, &output);
            assert_clean(&ws, &event, &[]);
        }
        // Cut off in the middle, as when a client dies: noted, without a word of it.
        let torn = format!("{{\"hook_event_name\": \"Stop\", \"prompt\": \"{leak}");
        assert_output("a torn payload", &ws.feed(torn, &[], &["hook", "Stop"]));
        assert_clean(&ws, "a torn payload", &[]);
    }
}

/// A workspace in which somebody wrote secrets by hand, in every kind of file.
fn leaked(leak: &str) -> TestWorkspace {
    let ws = ws("//- CLAUDE.md\n# Rules\n");
    let files = [
        ("knowledge/deploy.md", format!("# Deploying zephyr\n\nThe zephyr host needs this.\n\n{leak}\n\nThen restart zephyr.\n")),
        ("knowledge/MEMORY.md", format!("# Memory\n\n- [Deploy](deploy.md): {}\n", leak.replace('\n', " "))),
        (".mind/STATE.md", format!("# Project State\n\n## Current Phase\nzephyr\n\n## Next Action\nzephyr {}\n\n## Notes\n{leak}\n", leak.replace('\n', " "))),
        (".mind/PROGRESS.md", format!("# Progress\n\n### In Progress\n- [ ] zephyr {}\n", leak.replace('\n', " "))),
        (".mind/DECISIONS.md", format!("# Decision Log\n\n## DEC-001: zephyr\n- **Date:** 2026-02-01\n- **Decision:** {}\n", leak.replace('\n', " "))),
        (".mind/SESSION-LOG.md", format!("# Session Log\n\n## Session 1 — 2026-02-28 10:00:00\n- **Summary:** zephyr {}\n", leak.replace('\n', " "))),
        (".agents/memory/eng/builder/deploy.md", format!("---\nname: Deploy\ndescription: zephyr\n---\n# Deploy\n\nzephyr {leak}\n")),
        (".agents/memory/eng/builder/MEMORY.md", format!("- [Deploy](deploy.md): zephyr {}\n", leak.replace('\n', " "))),
        ("_MANIFEST.md", "# Manifest\n\n## Hub Map\n\n| Domain | Hub | Summary |\n|---|---|---|\n| Ops | [[ops/_CLOSETS]] | zephyr |\n".to_owned()),
        ("ops/_index.md", "# Ops\n".to_owned()),
        ("ops/host.md", format!("# Host zephyr\n\nThe zephyr host was moved in May.\n\n{leak}\n")),
    ];
    for (path, text) in files {
        ws.write(path, text);
    }
    ws
}

const LEAKED: [&str; 9] = [
    "knowledge/deploy.md",
    "knowledge/MEMORY.md",
    ".mind/STATE.md",
    ".mind/PROGRESS.md",
    ".mind/DECISIONS.md",
    ".mind/SESSION-LOG.md",
    ".agents/memory/eng/builder/deploy.md",
    ".agents/memory/eng/builder/MEMORY.md",
    "ops/host.md",
];

#[test]
fn a_secret_that_is_there_already_is_never_told() {
    for (at, leak) in leaks().into_iter().enumerate() {
        let ws = leaked(&leak);
        let before: Vec<_> = LEAKED.map(|path| ws.read(path)).to_vec();
        for arguments in [
            &["search", "zephyr"][..],
            &["search", "zephyr", "--json", "--scope", "all", "-n", "20"],
            &[
                "search",
                "zephyr",
                "--context",
                "--scope",
                "all",
                "--explain",
            ],
            &["search", "zephyr", "--scope", "state", "--json"],
            &["search", "zephyr", "--scope", "agents", "--context"],
            &["search", "zephyr", "--scope", "closets", "--json"],
            &["search", "zephyr", "--budget", "300", "--context"],
            &["mind", "show"],
            &["mind", "show", "--json"],
            &["mind", "show", "briefing"],
            &["session", "start"],
            &["session", "start", "--json"],
            &["agent", "recall", "zephyr", "--agent", "eng/builder"],
            &[
                "agent",
                "recall",
                "zephyr",
                "--agent",
                "eng/builder",
                "--json",
            ],
            &[
                "agent", "context", "--squad", "eng", "--agent", "builder", "--prompt",
            ],
            &["closets", "build"],
            &["closets", "show", "ops"],
            &["manifest", "refresh", "--yes"],
            &["graph", "show"],
            &["graph", "export", "json"],
            &["graph", "ask", "active", "--json"],
            &["graph", "ask", "critical-path"],
            &["lint"],
            &["check"],
            &["check", "--json"],
            &["status"],
            &["stats"],
            &["audit"],
            &["audit", "--json"],
            &["doctor"],
            &["doctor", "--json"],
        ] {
            // A token, a connection and a key are told nowhere at all; with the
            // others, what is searched and built is looked at.
            let all = matches!(at, 1 | 10 | 16);
            if all || matches!(arguments[0], "search" | "closets" | "manifest") {
                assert_output(&arguments.join(" "), &ws.run(arguments));
            }
        }
        for payload in [
            json!({ "hook_event_name": "SessionStart", "session_id": "s" }),
            json!({ "hook_event_name": "UserPromptSubmit", "prompt": "go", "session_id": "s" }),
            json!({ "hook_event_name": "SubagentStart", "agent_type": "builder", "agent_id": "1" }),
            json!({ "hook_event_name": "PreCompact", "trigger": "auto", "session_id": "s" }),
            json!({ "hook_event_name": "SessionStart", "source": "compact", "session_id": "s" }),
        ] {
            let output = ws.feed(payload.to_string(), &[], &["hook"]);
            assert!(
                output.ok().contains("zephyr") || payload["hook_event_name"] == "PreCompact",
                "{output}"
            );
            assert_output(&payload.to_string(), &output);
        }
        let answers = mcp(
            &ws,
            &[
                call(
                    "search_knowledge",
                    json!({ "query": "zephyr", "scope": "all" }),
                ),
                call("memory_status", json!({})),
                call("memory_search", json!({ "query": "zephyr" })),
                call("memory_search", json!({ "query": CORE })),
                call("memory_save_progress", json!({ "task": "Next to it" })),
                json!({ "method": "resources/read", "params": { "uri": "memory-forge://knowledge/deploy.md" } }),
                json!({ "method": "resources/read", "params": { "uri": "memory-forge://state/STATE.md" } }),
                json!({ "method": "prompts/get", "params": { "name": "briefing" } }),
            ],
        );
        // The word that was searched for is the caller's own.
        assert_silent("mcp", &answers.replace(CORE, "asked"));
        assert!(answers.contains("‹redacted: "), "{answers}");
        // What was derived from the files has none, and the files are untouched.
        let cache = [".memory-forge/index.db", ".memory-forge/index.db-wal"];
        let mut except: Vec<&str> = LEAKED.to_vec();
        except.extend(cache);
        // The undo journal holds what files were before; see SECURITY.md.
        fs::remove_dir_all(ws.path(".memory-forge/undo")).ok();
        assert_clean(&ws, "everything", &except);
        for (path, before) in LEAKED.iter().zip(before) {
            if !path.ends_with("PROGRESS.md") {
                assert_eq!(ws.read(path), before, "{path}");
            }
        }
        // A person who asks for the file sees the file.
        let shown = ws.run(&["preview", "knowledge/deploy.md"]);
        let there = |mark: &String| shown.ok().contains(mark.as_str());
        assert!(marks().iter().any(there), "{shown}");
    }
}

#[test]
fn doctor_and_audit_name_file_and_line_and_not_the_value() {
    let leak = &leaks()[1];
    let ws = leaked(leak);
    ws.write("CLAUDE.md", format!("# Rules\n\n{leak}\n"));
    ws.write(".mind/checkpoints/latest.md", format!("# Old\n{leak}\n"));
    ws.write(".mind/.hook-failures", format!("[then] Stop: {leak}\n"));
    let output = ws.run(&["doctor", "--json"]);
    let report: Value = serde_json::from_str(&output.stdout).expect("JSON");
    let found: Vec<String> = report["findings"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|it| it["check"] == "secrets" && it["level"] == "problem")
        .map(|it| format!("{}:{}", it["path"].as_str().unwrap_or_default(), it["line"]))
        .collect();
    for place in [
        "CLAUDE.md:3",
        "knowledge/deploy.md:5",
        "knowledge/MEMORY.md:3",
        ".mind/STATE.md:10",
        ".mind/DECISIONS.md:5",
        ".mind/checkpoints/latest.md:2",
        ".mind/.hook-failures:1",
        ".agents/memory/eng/builder/deploy.md:7",
        "ops/host.md:5",
    ] {
        assert!(
            found.iter().any(|it| it == place),
            "{place} is not in {found:?}"
        );
    }
    assert_output("doctor", &output);
    assert_eq!(output.status, Some(1), "{output}");
    let audit = ws.run(&["audit"]);
    for place in ["CLAUDE.md:3", ".mind/STATE.md:10", "knowledge/deploy.md:5"] {
        assert!(
            audit
                .stdout
                .contains(&format!("{place}: looks like a secret")),
            "{place}: {audit}"
        );
    }
    assert_output("audit", &audit);
}

#[test]
fn imports_take_secrets_out() {
    for leak in leaks() {
        let ws = ws("//- knowledge/a.md\n# A\n");
        ws.write(
            "notes/one.md",
            format!("# One\n\nBefore.\n\n{leak}\n\nAfter.\n"),
        );
        let line = json!({ "type": "user", "sessionId": "s", "uuid": "u", "timestamp": "2026-02-01T10:00:00Z",
            "cwd": "/x", "message": { "role": "user", "content": format!("Please use {leak} for it") } });
        let answer = json!({ "type": "assistant", "sessionId": "s", "uuid": "v", "timestamp": "2026-02-01T10:01:00Z",
            "cwd": "/x", "message": { "role": "assistant", "content": [{ "type": "text", "text": format!("I used {leak}.") }] } });
        ws.write("logs/s.jsonl", format!("{line}\n{answer}\n"));
        let notes = ws.run(&["import", "basic-memory", "notes"]);
        assert_output("import basic-memory", &notes);
        let logs = ws.run(&["import", "transcripts", "logs"]);
        assert_output("import transcripts", &logs);
        assert!(
            ws.tree().matches("knowledge/").count() > 1,
            "{notes}{logs}{}",
            ws.tree()
        );
        assert_clean(&ws, "import", &["notes/one.md", "logs/s.jsonl"]);
    }
}

/// Documentation that others wrote for everyone: whatever is found there is
/// either an example or a mistake of ours.
#[test]
fn ordinary_documentation_is_not_taken_for_a_leak() {
    for (archive, most) in [
        ("md/rust-book.tar.gz", 0),
        ("md/obsidian-help-en.tar.gz", 2),
    ] {
        let ws = ws("//- knowledge/a.md\n# A\n");
        if !crate::harness::unpack_bench(archive, &ws.path("knowledge")) {
            return;
        }
        let output = ws.run(&["doctor", "--json"]);
        let report: Value = serde_json::from_str(&output.stdout).expect("JSON");
        let findings = report["findings"].as_array().expect("a list");
        let found: Vec<&Value> = findings
            .iter()
            .filter(|it| it["check"] == "secrets" && it["level"] == "problem")
            .collect();
        assert!(found.len() <= most, "{archive}: {found:#?}");
    }
}

/// "Nothing writes around the check": names become folders, files and links,
/// and are shown wherever those are.
#[test]
fn names_with_a_secret_are_refused() {
    let token = format!("{}{CORE}abcd", concat!("gh", "p_"));
    let ws = ws("//- knowledge/a.md\n# A\n\nSee [[b]].\n//- knowledge/b.md\n# B\n");
    ws.write(".agents/memory/eng/lead/state.md", "# State\n");
    let squad = format!("eng/{token}");
    let before = ws.tree_of_sources();
    let attempts: [&[&str]; 6] = [
        &["links", "rename", "knowledge/b.md", &token, "--yes"],
        &[
            "links",
            "rename",
            "knowledge/b.md",
            &format!("{token}/"),
            "--yes",
        ],
        &[
            "agent",
            "remember",
            "T",
            "--agent",
            &squad,
            "--content",
            "Text",
        ],
        &["agent", "learn", "Text", "--tags", &token],
        &["sources", "add", &token, "."],
        &["domain", "add", &token],
    ];
    for attempt in attempts {
        let output = ws.run(attempt);
        assert!(output.status != Some(0), "{attempt:?} is taken: {output}");
        assert!(output.stderr.contains("secret"), "{attempt:?}: {output}");
        assert_silent(&attempt.join(" ").replace(CORE, "…"), &output.stderr);
        assert_clean(&ws, attempt[0], &[]);
    }
    assert_eq!(ws.tree_of_sources(), before);
}
