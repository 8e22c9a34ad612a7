//! MCP servers that outlive their client.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::TestWorkspace;

use crate::harness::ws;
use crate::i01_children_without_bound::mcp_client::Client;
#[cfg(target_os = "linux")]
use crate::i01_children_without_bound::processes_of;
use crate::i01_children_without_bound::provoke::{PATIENCE, ended, house, run, served};

/// Waits until no process is left in a workspace.
#[track_caller]
fn all_gone(ws: &TestWorkspace, why: &str) {
    let start = Instant::now();
    while !processes_of(ws).is_empty() {
        assert!(start.elapsed() < PATIENCE, "{why}: a server goes on");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The next client is served, and a command writes: no lock was left.
#[track_caller]
fn the_next_one_works(ws: &TestWorkspace, why: &str) {
    let title = format!("After {why}");
    run(ws, &format!("mind|decide|{title}|--decision|Go on")).ok();
    run(ws, "index|--force").ok();
    let mut client = Client::legacy(ws, &[]);
    client.text("search_knowledge", json!({ "query": "high water" }));
    client.text(
        "memory_save_decision",
        json!({ "title": why, "decision": "x" }),
    );
    assert_eq!(client.end().0, Some(0), "{why}");
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#;

fn server(ws: &TestWorkspace) -> Child {
    ws.command()
        .arg("mcp")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it can be started")
}

#[test]
#[cfg(target_os = "linux")]
fn a_server_ends_with_its_input_at_any_point_of_the_protocol() {
    let ws = house();
    let call = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"search_knowledge","arguments":{"query":"water"}}}"#;
    for said in [
        String::new(),
        "{".to_owned(),
        "garbage\n".to_owned(),
        format!("{INITIALIZE}\n"),
        format!("{INITIALIZE}\n{}", &call[..40]),
        format!("{INITIALIZE}\n{call}\n"),
        "Content-Length: 99999\r\n\r\n{".to_owned(),
    ] {
        let mut child = server(&ws);
        let mut stdin = child.stdin.take().expect("a pipe");
        let _ = stdin.write_all(said.as_bytes());
        drop(stdin);
        let output = ended(child, "mcp");
        assert_eq!(output.status, Some(0), "{said:?}: {output}");
        all_gone(&ws, "the end of input");
    }
    the_next_one_works(&ws, "ends");
}

/// The client dies by SIGKILL while somebody else still holds the pipe open, so
/// that no end of input ever comes.
#[test]
#[cfg(target_os = "linux")]
fn a_server_whose_client_was_killed_ends_although_its_pipes_stay_open() {
    let ws = house();
    for stubborn in [false, true] {
        // The shell is the client, and the test keeps its own ends of the pipes.
        // A shell gives what it starts beside itself no input unless told.
        let script = if stubborn {
            "exec 3<&0; setsid \"$0\" mcp <&3 & echo $!; wait"
        } else {
            "exec 3<&0; \"$0\" mcp <&3 & echo $!; wait"
        };
        let plain = ws.command();
        let mut client = Command::new("sh");
        client.args(["-c", script]).arg(plain.get_program());
        client.current_dir(ws.root()).env_clear();
        for (name, value) in plain.get_envs() {
            client.env(name, value.unwrap_or_default());
        }
        let mut client = client
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("there is a shell");
        let mut stdin = client.stdin.take().expect("a pipe");
        let mut stdout = BufReader::new(client.stdout.take().expect("a pipe"));
        // It is at work when the client dies.
        writeln!(stdin, "{INITIALIZE}").expect("it reads");
        let mut line = String::new();
        while !line.contains("serverInfo") {
            line.clear();
            assert_ne!(stdout.read_line(&mut line).expect("text"), 0, "it answers");
        }
        assert!(!processes_of(&ws).is_empty());
        client.kill().expect("it runs");
        client.wait().expect("it was started");
        all_gone(&ws, "the death of its client");
        drop((stdin, stdout));
    }
    the_next_one_works(&ws, "orphans");
}

/// A client that asks and asks and never reads: the server holds a bounded
/// amount and ends with its input.
#[test]
#[cfg(target_os = "linux")]
fn a_client_that_stops_reading_does_not_keep_a_server() {
    let ws = house();
    let mut child = server(&ws);
    let mut stdin = child.stdin.take().expect("a pipe");
    let stdout = child.stdout.take().expect("a pipe");
    // More answers than the pipe takes; the writer blocks when nobody reads.
    let flood = std::thread::spawn(move || {
        let mut sent = stdin
            .write_all(format!("{INITIALIZE}\n").as_bytes())
            .is_ok();
        let mut id = 2;
        while sent && id < 200_000 {
            let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list"}}"#);
            sent = stdin
                .write_all(line.as_bytes())
                .and_then(|()| stdin.write_all(b"\n"))
                .is_ok();
            id += 1;
        }
        id
    });
    // It is stuck when it reads no more.
    let process = child.id();
    let read = || -> u64 {
        let io = fs::read_to_string(format!("/proc/{process}/io")).unwrap_or_default();
        let line = io.lines().find_map(|line| line.strip_prefix("rchar: "));
        line.and_then(|it| it.parse().ok()).unwrap_or(0)
    };
    let start = Instant::now();
    let mut last = (0, 0);
    while last.1 < 100 {
        let now = read();
        last = (
            now,
            if now == last.0 && now > 1_000 {
                last.1 + 1
            } else {
                0
            },
        );
        assert!(start.elapsed() < PATIENCE, "it reads without end: {now}");
        std::thread::sleep(Duration::from_millis(20));
    }
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("it runs");
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let resident: u64 = resident
        .and_then(|it| it.split_whitespace().next()?.parse().ok())
        .expect("the kernel tells it");
    assert!(
        resident < 200_000,
        "{resident} kB for a client that does not read"
    );
    // The client dies: both its ends close.
    drop(stdout);
    let output = ended(child, "mcp");
    assert_eq!(output.status, Some(0), "{output}");
    assert!(
        flood.join().expect("it does not panic") < 200_000,
        "it was held back"
    );
    all_gone(&ws, "a client that does not read");
    the_next_one_works(&ws, "flood");
}

/// SIGKILL of the server itself at any moment: whoever comes next is not locked
/// out, and finds a whole memory.
#[test]
#[cfg(target_os = "linux")]
fn a_server_that_was_killed_locks_nobody_out() {
    let ws = house();
    for round in 0..12 {
        let mut child = server(&ws);
        let mut stdin = child.stdin.take().expect("a pipe");
        let mut out = child.stdout.take().expect("a pipe");
        let save = format!(
            r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"memory_save_decision","arguments":{{"title":"Round {round:02}","decision":"x"}}}}}}"#
        );
        let _ = writeln!(stdin, "{INITIALIZE}\n{save}");
        let mut byte = [0];
        let _ = out.read(&mut byte);
        // Somewhere between nothing and all of the write.
        std::thread::sleep(Duration::from_millis(round * 2));
        child.kill().expect("it was started");
        let _ = child.wait();
        run(&ws, &format!("mind|decide|Next {round:02}|--decision|y")).ok();
    }
    let decisions = ws.read("memory/decisions.md");
    for round in 0..12 {
        let next = format!("Next {round:02}");
        assert_eq!(decisions.matches(&next).count(), 1, "{decisions}");
        let cut = format!("Round {round:02}");
        assert!(decisions.matches(&cut).count() <= 1, "{decisions}");
    }
    the_next_one_works(&ws, "kills");
}

/// On HTTP a server belongs to whoever started it: it ends by a signal, at
/// once, with connections open and idle.
#[test]
#[cfg(target_os = "linux")]
fn an_idle_server_on_http_ends_by_a_signal_with_open_connections() {
    let ws = ws("//- knowledge/tides.md\n# Tides\n\nHigh water at noon.\n")
        .env("MEMORY_FORGE_MCP_TOKEN", "0123456789abcdef0123456789abcdef");
    for signal in ["TERM", "INT", "HUP"] {
        let (child, address) = served(&ws, &[]);
        let idle: Vec<_> = (0..8)
            .map(|_| std::net::TcpStream::connect(&address).expect("it listens"))
            .collect();
        let mut half = std::net::TcpStream::connect(&address).expect("it listens");
        half.write_all(b"POST /mcp HTTP/1.1\r\nHost: ")
            .expect("it reads");
        let sent = Command::new("kill")
            .arg(format!("-{signal}"))
            .arg(child.id().to_string())
            .status();
        assert!(sent.is_ok_and(|status| status.success()));
        let output = ended(child, "mcp --http");
        assert_eq!(output.status, Some(0), "{signal}: {output}");
        drop((idle, half));
        all_gone(&ws, signal);
    }
}
