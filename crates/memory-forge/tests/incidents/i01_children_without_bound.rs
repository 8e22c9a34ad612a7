//! Child processes without bound, gigabytes of memory.

// Shared by all rows; they are declared here, with the first of them.
#[allow(dead_code)]
#[path = "../it/mcp_client.rs"]
pub(crate) mod mcp_client;
#[path = "provoke.rs"]
pub(crate) mod provoke;

use std::collections::BTreeSet;
use std::fs;
use std::process::Stdio;

use serde_json::json;
use testkit::TestWorkspace;

use crate::harness::ws;
use mcp_client::Client;
use provoke::{COMMANDS, below, can, ended, house, quiet, run, words};

/// The list of commands is the whole program.
#[test]
fn the_list_has_every_command() {
    let help = ws("").run(&["help", "--all"]);
    let names: BTreeSet<&str> = help
        .ok()
        .lines()
        // In groups, each under a heading of its own.
        .skip_while(|line| !line.starts_with("Usage:"))
        .take_while(|line| *line != "Options:")
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| !name.is_empty())
        .collect();
    let mut tried: BTreeSet<&str> = COMMANDS.iter().map(|(line, _)| words(line)[0]).collect();
    // Names of an earlier tool, which help does not list.
    for hidden in ["clear", "list", "memory", "preload"] {
        assert!(tried.remove(hidden), "{hidden}");
    }
    // Names that commands had before they moved below another one.
    for moved in [
        "archive", "closets", "domain", "idea", "manifest", "session", "sources", "upgrade",
    ] {
        assert!(tried.remove(moved), "{moved}");
    }
    assert_eq!(tried, names);
}

/// A folder of programs that write down that they were called, as the whole of
/// the `PATH`. Only git is real behind its trap.
#[cfg(unix)]
fn traps(ws: &TestWorkspace) -> String {
    use std::os::unix::fs::PermissionsExt;
    let folder = ws.home().join("traps");
    fs::create_dir_all(&folder).expect("ours");
    let called = ws.home().join("called");
    for name in [
        "git",
        "sh",
        "bash",
        "node",
        "npm",
        "npx",
        "bun",
        "python",
        "python3",
        "uv",
        "uvx",
        "curl",
        "wget",
        "pgrep",
        "ps",
        "kill",
        "cat",
        "rm",
        "docker",
        "ollama",
        "claude",
        "codex",
        "gemini",
        "opencode",
        "copilot",
        "cursor",
        "sqlite3",
        "memory-forge",
        "xdg-open",
        "open",
    ] {
        let then = match name {
            "git" => "exec /usr/bin/git \"$@\"",
            _ => "exit 0",
        };
        let text = format!("#!/bin/sh\necho {name} >> '{}'\n{then}\n", called.display());
        let file = folder.join(name);
        fs::write(&file, text).expect("ours");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("ours");
    }
    folder.display().to_string()
}

/// With everything on the `PATH` a trap, all commands do their work and git is
/// the one program that is ever started.
#[test]
#[cfg(unix)]
fn no_command_starts_a_program_but_git() {
    if !can(&["/usr/bin/git", "--version"]) {
        return;
    }
    let ws = house();
    let path = traps(&ws);
    let ws = ws.env("PATH", &path);
    for (line, code) in COMMANDS {
        let output = run(&ws, line);
        assert_eq!(output.status, Some(*code), "{line}: {output}");
    }
    let called = fs::read_to_string(ws.home().join("called")).unwrap_or_default();
    let names: BTreeSet<&str> = called.lines().collect();
    assert_eq!(names, BTreeSet::from(["git"]), "git for certain: {called}");
}

/// The kernel's word for it: every program that any process of ours became, and
/// that all of them have ended with their command.
#[test]
#[cfg(target_os = "linux")]
fn the_kernel_sees_no_program_but_git_and_none_is_left() {
    if !can(&["strace", "-f", "-o", "/dev/null", "true"]) {
        return;
    }
    let ws = house();
    let trace = ws.home().join("trace");
    let wrapper = [
        "strace",
        "-f",
        "-qq",
        "-e",
        "trace=execve,process",
        "-e",
        "signal=none",
        "-o",
    ];
    for line in [
        "search|tides",
        "save|context|retry|--content|Retry three times.",
        "status",
        "doctor",
        "mind|log|Login works",
        "session|start",
        "links|check",
        "hook|session-start",
        "hook|session-end",
        "hook|stop",
        "setup|--git|--yes",
        "uninstall|--yes",
    ] {
        let mut arguments: Vec<&str> = wrapper.to_vec();
        let file = trace.display().to_string();
        arguments.push(&file);
        let output = quiet(&mut below(&ws, &arguments, &words(line)), line);
        assert!(
            output.status.is_some_and(|code| code < 2),
            "{line}: {output}"
        );
        let text = fs::read_to_string(&trace).expect("it was traced");
        let mut started = 0;
        for call in text.lines().filter(|call| call.contains("execve(")) {
            // Places on the `PATH` that do not have it are tried as well.
            if !call.contains("= -1 ") {
                started += 1;
                let ours = call.contains("memory-forge\"") || call.contains("/git\"");
                assert!(ours, "{line}: {call}");
            }
        }
        assert!(started >= 1, "{line}: {text}");
        // Each process that was born has ended before the trace did.
        let alive: BTreeSet<&str> = text
            .lines()
            .filter_map(|line| line.split_whitespace().next())
            .collect();
        for process in alive {
            let gone = !std::path::Path::new("/proc")
                .join(process)
                .join("exe")
                .exists();
            assert!(gone, "{line} left process {process} behind");
        }
    }
}

/// Resident and highest memory of a process, in kilobytes.
#[cfg(target_os = "linux")]
fn memory(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number
        .and_then(|it| it.parse().ok())
        .expect("the kernel tells it")
}

/// The processes that a process has started and that are still there.
#[cfg(target_os = "linux")]
fn children(process: u32) -> Vec<String> {
    let mut all = Vec::new();
    for task in fs::read_dir(format!("/proc/{process}/task")).expect("it runs") {
        let file = task.expect("an entry").path().join("children");
        let text = fs::read_to_string(file).unwrap_or_default();
        all.extend(text.split_whitespace().map(str::to_owned));
    }
    all
}

/// The long form is `cargo xtask soak mcp`: 100,000 calls.
#[test]
#[cfg(target_os = "linux")]
fn ten_thousand_calls_do_not_make_the_server_grow() {
    let report = soak::Calls {
        binary: env!("CARGO_BIN_EXE_memory-forge").into(),
        calls: 10_000,
    };
    let report = report.run().unwrap_or_else(|error| panic!("{error:#}"));
    println!("{report}");
    assert!(report.grown() < 0.10, "{report}");
}

/// Many sessions at once are as many servers, each small and without children;
/// they end with their clients, and none waits for another.
#[test]
#[cfg(target_os = "linux")]
fn many_sessions_at_once_are_one_small_process_each() {
    const SESSIONS: usize = 12;
    let ws = house();
    let mut clients: Vec<Client> = (0..SESSIONS).map(|_| Client::legacy(&ws, &[])).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        client.text("search_knowledge", json!({ "query": "high water" }));
        client.text(
            "memory_save_decision",
            json!({ "title": format!("Question {number:02}"), "decision": "Yes" }),
        );
    }
    let servers = processes_of(&ws);
    assert_eq!(servers.len(), SESSIONS, "one process a session");
    for server in &servers {
        assert_eq!(children(*server), Vec::<String>::new());
        assert!(memory(*server) < 200_000, "{} kB", memory(*server));
    }
    for client in clients {
        assert_eq!(client.end().0, Some(0));
    }
    assert_eq!(processes_of(&ws), Vec::<u32>::new());
    for number in 0..SESSIONS {
        let decisions = ws.read("memory/decisions.md");
        let question = format!("Question {number:02}");
        assert_eq!(decisions.matches(&question).count(), 1, "{decisions}");
    }
}

/// Our processes in a workspace, by their current directory.
#[cfg(target_os = "linux")]
pub(crate) fn processes_of(ws: &TestWorkspace) -> Vec<u32> {
    let all = fs::read_dir("/proc").expect("Linux");
    all.flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|id: &u32| {
            fs::read_link(format!("/proc/{id}/cwd")).is_ok_and(|cwd| cwd == ws.root())
                && fs::read_link(format!("/proc/{id}/exe")).is_ok()
        })
        .collect()
}

/// A command that is killed leaves no process behind either.
#[test]
#[cfg(target_os = "linux")]
fn a_killed_command_leaves_no_process() {
    let ws = house();
    for line in [
        "index",
        "doctor",
        "status",
        "mcp",
        "hook|session-start",
        "session|start",
    ] {
        let mut child = ws
            .command()
            .args(words(line))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it can be started");
        child.kill().expect("it was started");
        ended(child, line);
        let waited = std::time::Instant::now();
        while !processes_of(&ws).is_empty() {
            assert!(
                waited.elapsed() < provoke::PATIENCE,
                "{line} left a process"
            );
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
}
