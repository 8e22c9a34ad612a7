//! How a server's process begins and ends, seen from outside with the fixture
//! in `examples/`.

#![cfg(target_os = "linux")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

const DEADLINE: Duration = Duration::from_secs(30);

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}"#;
const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"test_simple_text","arguments":{}}}"#;

/// Cargo builds examples beside the tests' folder.
fn fixture() -> PathBuf {
    let this = std::env::current_exe().expect("a test has a file");
    let profile = this.ancestors().nth(2).expect("it lies in deps/");
    profile.join("examples/fixture")
}

fn start() -> Child {
    Command::new(fixture())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the fixture was built")
}

/// A server that has answered once.
fn greeted() -> (Child, BufReader<std::process::ChildStdout>) {
    let mut child = start();
    say(&mut child, INITIALIZE);
    let mut output = BufReader::new(child.stdout.take().expect("it is a pipe"));
    let mut line = String::new();
    output.read_line(&mut line).expect("it answers");
    assert!(line.contains("protocolVersion"), "{line}");
    (child, output)
}

fn say(child: &mut Child, line: &str) {
    let input = child.stdin.as_mut().expect("it is a pipe");
    writeln!(input, "{line}").expect("it reads");
}

#[track_caller]
fn ended(child: &mut Child) -> ExitStatus {
    let begun = Instant::now();
    while begun.elapsed() < DEADLINE {
        if let Some(status) = child.try_wait().expect("it is our child") {
            return status;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let _ = child.kill();
    panic!("not ended after {DEADLINE:?}");
}

fn signal(process: u32, name: &str) {
    let sent = Command::new("/bin/kill")
        .args([&format!("-{name}"), &process.to_string()])
        .status();
    assert!(sent.expect("there is a kill").success());
}

/// What is gone may still stand in the table until somebody asks for it.
fn runs(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let state = stat
        .rsplit(") ")
        .next()
        .and_then(|rest| rest.chars().next());
    state.is_some_and(|state| state != 'Z' && state != 'X')
}

#[test]
fn the_end_of_input_ends_it_with_zero() {
    let mut silent = start();
    drop(silent.stdin.take());
    assert_eq!(ended(&mut silent).code(), Some(0), "nothing was ever said");

    let mut child = start();
    say(&mut child, INITIALIZE);
    say(&mut child, CALL);
    drop(child.stdin.take());
    let mut answers = String::new();
    let mut output = child.stdout.take().expect("it is a pipe");
    output.read_to_string(&mut answers).expect("it is text");
    assert_eq!(answers.lines().count(), 2, "{answers}");
    assert_eq!(ended(&mut child).code(), Some(0));
    let mut log = String::new();
    let mut errors = child.stderr.take().expect("it is a pipe");
    errors.read_to_string(&mut log).expect("it is text");
    assert_eq!(log, "", "a good session has no log");
}

#[test]
fn signals_end_it_with_zero() {
    for name in ["TERM", "INT", "HUP"] {
        let (mut child, _output) = greeted();
        signal(child.id(), name);
        assert_eq!(ended(&mut child).code(), Some(0), "{name}");
    }
}

#[test]
fn a_signal_ends_it_although_nobody_reads() {
    let (mut child, output) = greeted();
    let mut input = child.stdin.take().expect("it is a pipe");
    // Blocks when all pipes are full, and ends with the server.
    let flood = std::thread::spawn(move || while writeln!(input, "{CALL}").is_ok() {});
    std::thread::sleep(Duration::from_millis(300));
    signal(child.id(), "TERM");
    assert_eq!(ended(&mut child).code(), Some(0));
    flood.join().expect("it ends with the pipe");
    drop(output);
}

#[test]
fn a_closed_output_ends_it_quietly() {
    let (mut child, output) = greeted();
    drop(output);
    say(&mut child, CALL);
    assert_eq!(ended(&mut child).code(), Some(0));
    let mut log = String::new();
    let mut errors = child.stderr.take().expect("it is a pipe");
    errors.read_to_string(&mut log).expect("it is text");
    assert!(!log.contains("panicked"), "{log}");
}

#[test]
fn the_death_of_its_parent_ends_it_with_its_input_open() {
    let mut parent = Command::new("/bin/sh")
        .args(["-c", "exec 3<&0; \"$0\" <&3 & echo $! >&2; wait"])
        .arg(fixture())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("there is a shell");
    let mut number = String::new();
    let errors = parent.stderr.take().expect("it is a pipe");
    BufReader::new(errors)
        .read_line(&mut number)
        .expect("it is told");
    let server: u32 = number.trim().parse().expect("it is a number");
    say(&mut parent, INITIALIZE);
    let mut line = String::new();
    let output = parent.stdout.take().expect("it is a pipe");
    BufReader::new(output)
        .read_line(&mut line)
        .expect("it answers");
    assert!(runs(server), "{line}");

    parent.kill().expect("it is our child");
    parent.wait().expect("it is our child");
    let begun = Instant::now();
    while runs(server) {
        assert!(begun.elapsed() < DEADLINE, "it outlived its parent");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The kernel's signal comes with the end of the *thread* that started us.
#[test]
fn the_end_of_a_thread_of_its_parent_does_not_end_it() {
    let started = std::thread::spawn(greeted);
    let (mut child, mut output) = started.join().expect("it starts");
    std::thread::sleep(Duration::from_millis(200));
    say(&mut child, CALL);
    let mut line = String::new();
    output.read_line(&mut line).expect("it answers");
    assert!(line.contains("simple text response"), "{line}");
    drop(child.stdin.take());
    assert_eq!(ended(&mut child).code(), Some(0));
}

/// Resident memory in kilobytes.
fn resident(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number
        .expect("the kernel tells")
        .parse()
        .expect("it is a number")
}

#[test]
fn memory_stays_flat_over_many_calls_and_much_garbage() {
    let (mut child, mut output) = greeted();
    let mut line = String::new();
    let mut after = |calls: u32, child: &mut Child| {
        for _ in 0..calls {
            say(child, CALL);
            line.clear();
            output.read_line(&mut line).expect("it answers");
        }
        resident(child.id())
    };
    let before = after(2_000, &mut child);
    let grown = after(20_000, &mut child).saturating_sub(before);
    assert!(grown < 4_096, "{grown} KB more after 20,000 calls");

    let input = child.stdin.as_mut().expect("it is a pipe");
    let piece = vec![b'x'; 1_000_000];
    for _ in 0..40 {
        input.write_all(&piece).expect("it reads");
    }
    writeln!(input).expect("it reads");
    let mut refused = String::new();
    output.read_line(&mut refused).expect("it answers");
    assert!(refused.contains("-32600"), "{refused}");
    let highest = fs::read_to_string(format!("/proc/{}/status", child.id())).expect("it runs");
    let highest = highest.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let highest = highest.and_then(|line| line.split_whitespace().next());
    let highest: u64 = highest
        .expect("the kernel tells")
        .parse()
        .expect("a number");
    assert!(
        highest < before + 32_768,
        "{highest} KB at most, from {before} KB"
    );
}

/// The server, and the port and token that it told.
fn start_http() -> (Child, u16, String) {
    let mut child = Command::new(fixture())
        .arg("--http")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the fixture was built");
    let mut line = String::new();
    let output = child.stdout.take().expect("it is a pipe");
    BufReader::new(output)
        .read_line(&mut line)
        .expect("it tells its address");
    let (url, token) = line.trim().split_once(' ').expect("an address and a token");
    let port = url.strip_prefix("http://127.0.0.1:");
    let port = port.and_then(|rest| rest.strip_suffix("/mcp"));
    let port = port
        .expect("it is on the loopback")
        .parse()
        .expect("a port");
    (child, port, token.to_owned())
}

#[test]
fn http_listens_on_the_loopback_alone() {
    let (mut child, port, _) = start_http();
    let mut found = Vec::new();
    for table in ["tcp", "tcp6"] {
        let table = fs::read_to_string(format!("/proc/{}/net/{table}", child.id()));
        for line in table.unwrap_or_default().lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let listening = fields[3] == "0A";
            if let Some((address, number)) = fields[1].split_once(':')
                && listening
                && u16::from_str_radix(number, 16) == Ok(port)
            {
                found.push(address.to_owned());
            }
        }
    }
    assert_eq!(found, ["0100007F"], "127.0.0.1, as the kernel writes it");
    signal(child.id(), "TERM");
    assert_eq!(ended(&mut child).code(), Some(0));
}

#[test]
fn http_memory_stays_flat_over_many_calls() {
    let (mut child, port, token) = start_http();
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    let meta = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"test_simple_text","arguments":{{}},"_meta":{meta}}}}}"#
    );
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: test_simple_text\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut reader = BufReader::new(stream.try_clone().expect("it is open"));
    let mut after = |calls: u32, process: u32| {
        for _ in 0..calls {
            stream.write_all(request.as_bytes()).expect("it reads");
            // The last chunk of the answer is an empty one.
            let mut line = String::new();
            while line != "0\r\n" {
                line.clear();
                let length = reader.read_line(&mut line).expect("it answers");
                assert_ne!(length, 0, "the connection stays open");
                assert!(
                    !line.starts_with("HTTP") || line.contains(" 200 "),
                    "{line}"
                );
            }
            reader.read_line(&mut line).expect("it answers");
        }
        resident(process)
    };
    let before = after(500, child.id());
    let grown = after(3_000, child.id()).saturating_sub(before);
    assert!(grown < 4_096, "{grown} KB more after 3,000 calls");
    signal(child.id(), "TERM");
    assert_eq!(ended(&mut child).code(), Some(0));
}
