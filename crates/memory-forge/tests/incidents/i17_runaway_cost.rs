//! Runaway cost: tools that call a model or a service at every turn, and tell
//! an agent more than it can pay for.

#![cfg(target_os = "linux")]

use std::fs;
use std::process::{Command, Stdio};

use serde_json::json;
use testkit::TestWorkspace;

use crate::harness::{json as parsed, ws};

fn project() -> TestWorkspace {
    let ws = ws("
        //- knowledge/a.md
        # Zephyr
        The zephyr host moved in May. See [[b]] and https://example.org/x.
        //- knowledge/b.md
        # Borealis
        ![image](https://example.org/pixel.png)
        //- .mind/STATE.md
        # Project State

        ## Current Phase
        Build

        ## Next Action
        Ship it
        //- _MANIFEST.md
        # Manifest
    ");
    ws.git_init();
    ws.commit("first");
    // A place to fetch from, should anybody try.
    ws.git(&["remote", "add", "origin", "https://example.org/x.git"]);
    ws
}

const COMMANDS: &[&[&str]] = &[
    &["index", "--force"],
    &["search", "zephyr"],
    &["search", "zephyr", "--mode", "vector", "--context"],
    &["search", "zephyr", "--scope", "all", "--json"],
    &["search", "zephyr", "--as-of", "HEAD"],
    &["save", "context", "one", "--content", "The zephyr host."],
    &["forget", "knowledge/one.md", "--yes"],
    &["restore", "knowledge/one.md"],
    &["stats"],
    &["audit"],
    &["doctor"],
    &["status"],
    &["mind", "show"],
    &["mind", "set", "--next", "go on"],
    &["mind", "log", "Did it"],
    &["mind", "compress"],
    &["session", "start"],
    &["session", "end", "--title", "T", "--did", "it"],
    &["closets", "build"],
    &["manifest", "refresh", "--yes"],
    &["check"],
    &["lint"],
    &["consolidate"],
    &["links", "check"],
    &["graph", "show"],
    &["graph", "ask", "blocked"],
    &["graph", "pull", "--state"],
    &[
        "agent",
        "remember",
        "topic",
        "--agent",
        "eng/builder",
        "--content",
        "The zephyr host.",
    ],
    &["agent", "recall", "zephyr", "--agent", "eng/builder"],
    &["export"],
    &["setup", "claude", "--yes", "--project"],
    &["uninstall", "claude", "--yes"],
    &["--version"],
    &["--help"],
];

fn hooks() -> Vec<String> {
    let event = |name: &str| json!({ "hook_event_name": name, "session_id": "s", "prompt": "go" });
    [
        "SessionStart",
        "UserPromptSubmit",
        "PreCompact",
        "Stop",
        "SubagentStart",
        "SubagentStop",
        "SessionEnd",
    ]
    .map(|name| event(name).to_string())
    .to_vec()
}

/// Runs the program under `strace`, children and all, and gives the calls that
/// make or use a socket of a network.
fn sockets(ws: &TestWorkspace, arguments: &[&str], input: &str) -> Vec<String> {
    let log = ws.root().with_file_name("sockets.log");
    let program = ws.command();
    let mut strace = Command::new("strace");
    strace
        .args([
            "-f",
            "-qq",
            "-e",
            "trace=socket,connect,bind,sendto,sendmsg",
            "-o",
        ])
        .arg(&log)
        .arg(program.get_program())
        .args(arguments)
        .current_dir(ws.root())
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    for (name, value) in program.get_envs() {
        if let Some(value) = value {
            strace.env(name, value);
        }
    }
    let mut child = strace.spawn().expect("strace is here");
    let mut stdin = child.stdin.take().expect("it is a pipe");
    let _ = std::io::Write::write_all(&mut stdin, input.as_bytes());
    drop(stdin);
    let _ = child.wait();
    let calls = fs::read_to_string(&log).unwrap_or_default();
    calls
        .lines()
        .filter(|line| line.contains("AF_INET") || line.contains("AF_NETLINK"))
        .map(str::to_owned)
        .collect()
}

fn strace_works(ws: &TestWorkspace) -> bool {
    let traced = Command::new("strace")
        .args(["-qq", "-e", "trace=none", "true"])
        .current_dir(ws.root())
        .output();
    let works = traced.is_ok_and(|output| output.status.success());
    if !works {
        testkit::skip("strace cannot be used here");
    }
    works
}

#[test]
fn no_command_and_no_hook_opens_a_socket_of_a_network() {
    let ws = project();
    if !strace_works(&ws) {
        return;
    }
    for arguments in COMMANDS {
        let found = sockets(&ws, arguments, "");
        assert!(found.is_empty(), "{arguments:?}: {found:?}");
    }
    for payload in hooks() {
        let found = sockets(&ws, &["hook"], &payload);
        assert!(found.is_empty(), "{payload}: {found:?}");
    }
    let first = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } }});
    let search = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "search_knowledge", "arguments": { "query": "zephyr" } } });
    let found = sockets(&ws, &["mcp"], &format!("{first}\n{search}\n"));
    assert!(found.is_empty(), "mcp: {found:?}");
    // The trap works: the one thing that listens is seen to.
    ws.write("token", "a-token-of-some-length\n");
    let taken = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
    let port = taken.local_addr().expect("it is bound").port().to_string();
    let listen = ["mcp", "--http", "--token-file", "token", "--port", &port];
    let found = sockets(&ws, &listen, "").join("\n");
    assert!(found.contains("127.0.0.1"), "{found}");
}

/// The same answers without any network at all.
#[test]
fn everything_works_without_a_network() {
    let with = project();
    let without = project();
    let works = Command::new("unshare").args(["-rn", "true"]).output();
    if !works.is_ok_and(|output| output.status.success()) {
        testkit::skip("there is no `unshare -rn` here");
        return;
    }
    for arguments in COMMANDS
        .iter()
        .filter(|it| !it.contains(&"setup") && !it.contains(&"uninstall"))
    {
        let expect = with.run(arguments);
        let program = without.command();
        let mut alone = Command::new("unshare");
        alone.arg("-rn").arg(program.get_program()).args(*arguments);
        alone
            .current_dir(without.root())
            .env_clear()
            .stdin(Stdio::null());
        for (name, value) in program.get_envs() {
            if let Some(value) = value {
                alone.env(name, value);
            }
        }
        let output = alone.output().expect("unshare is here");
        assert_eq!(
            output.status.code(),
            expect.status,
            "{arguments:?}: {expect}"
        );
    }
    assert_eq!(with.tree_of_sources(), without.tree_of_sources());
}

/// However much there is, an agent is told so much and no more, and learns what
/// was left out.
#[test]
fn every_answer_has_a_cap() {
    let ws = ws("");
    let line = "The zephyr host was moved again, and again, and again, and again.\n";
    for number in 0..200 {
        ws.write(
            &format!("knowledge/{number}.md"),
            format!("# Zephyr {number}\n\n{}", line.repeat(80)),
        );
    }
    ws.write(
        "knowledge/MEMORY.md",
        format!("- [Z](1.md): {line}").repeat(2_000),
    );
    ws.write(
        ".mind/STATE.md",
        format!("# Project State\n\n## Next Action\n{}", line.repeat(3_000)),
    );
    ws.write(
        ".mind/PROGRESS.md",
        format!(
            "# Progress\n\n### In Progress\n{}",
            format!("- [ ] {line}").repeat(3_000)
        ),
    );
    ws.write(
        ".agents/memory/eng/builder/MEMORY.md",
        format!("- {line}").repeat(3_000),
    );
    let context = |payload: serde_json::Value| {
        let answer = parsed(&ws.feed(payload.to_string(), &[], &["hook"]));
        let text = answer["hookSpecificOutput"]["additionalContext"].as_str();
        text.unwrap_or_default().to_owned()
    };
    let start = context(json!({ "hook_event_name": "SessionStart", "session_id": "s" }));
    assert!(
        start.len() < 10_000 && start.contains("Left out for space"),
        "{}",
        start.len()
    );
    let prompt = context(json!({ "hook_event_name": "UserPromptSubmit", "prompt": "zephyr" }));
    assert!(prompt.chars().count() <= 200, "{prompt}");
    let helper = context(
        json!({ "hook_event_name": "SubagentStart", "agent_type": "builder", "agent_id": "1" }),
    );
    assert!(helper.len() < 10_000, "{}", helper.len());
    let first = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } }});
    let call = |id: usize, tool: &str, arguments: serde_json::Value| {
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": { "name": tool, "arguments": arguments } })
    };
    let lines = format!(
        "{first}\n{}\n{}\n{}\n",
        call(
            1,
            "search_knowledge",
            json!({ "query": "zephyr", "limit": 20, "unique_files": false })
        ),
        call(2, "memory_status", json!({})),
        call(3, "memory_search", json!({ "query": "zephyr" })),
    );
    for answer in ws.feed(lines, &[], &["mcp"]).ok().lines().skip(1) {
        let answer: serde_json::Value = serde_json::from_str(answer).expect("JSON");
        let text = answer["result"]["content"][0]["text"]
            .as_str()
            .expect("a text");
        assert!(text.len() <= 24_000, "{}", text.len());
    }
    let packed = ws.run(&["search", "zephyr", "--budget", "500", "--context"]);
    assert!(
        packed.stderr.contains("of 500 tokens (o200k) used"),
        "{packed}"
    );
}
