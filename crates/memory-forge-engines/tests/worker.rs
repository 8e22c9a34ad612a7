//! The worker as `memory-forge` starts it: one request in, lines out, without
//! any server but one that stays silent.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use forge_memory::wire::{
    GraphOperation, IndexOperation, ProgramVersion, WorkerOperation, WorkerRequest,
};
use serde_json::{Value, json};

fn start(root: &Path, environment: &[(&str, &str)]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_memory-forge-engines"))
        .arg(root)
        .env_clear()
        .env("HOME", root)
        .env("XDG_STATE_HOME", root.join("state"))
        .env("USER", "ann")
        .envs(environment.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the worker starts")
}

/// Sends a line and keeps standard input open until the answer is there, as
/// `memory-forge` does. Returns every line.
#[track_caller]
fn answered(root: &Path, environment: &[(&str, &str)], line: &str) -> Vec<Value> {
    let mut child = start(root, environment);
    let mut stdin = child.stdin.take().expect("it is piped");
    writeln!(stdin, "{line}").expect("it reads");
    let stdout = BufReader::new(child.stdout.take().expect("it is piped"));
    let lines = stdout.lines().map(|line| {
        let line = line.expect("text");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    });
    let lines: Vec<Value> = lines.collect();
    drop(stdin);
    child.wait().expect("it ends");
    lines
}

fn request(operation: WorkerOperation) -> String {
    let request = WorkerRequest {
        program: ProgramVersion::current(),
        now: jiff::Timestamp::UNIX_EPOCH,
        operation,
    };
    serde_json::to_string(&request).expect("plain data")
}

fn status() -> String {
    request(WorkerOperation::Index {
        tenant: "acme".to_owned(),
        operation: IndexOperation::Status,
    })
}

fn graph_status() -> String {
    request(WorkerOperation::Graph(GraphOperation::Status))
}

fn workspace(settings: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("memory-forge.toml"), settings).expect("written");
    folder
}

#[test]
fn it_names_its_version_before_anything_else() {
    let folder = workspace("");
    let lines = answered(folder.path(), &[], &status());
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        lines[0],
        json!({ "hello": { "version": version, "format": 1 } })
    );
    let failed = &lines[1]["failed"];
    let message = failed["message"].as_str().expect("a message");
    assert!(message.contains("no shared index configured"), "{message}");
    assert_eq!(lines.len(), 2);
}

#[test]
fn another_version_and_what_is_no_request_are_refused() {
    let folder = workspace("");
    let other = json!({ "program": { "version": "99.0.0", "format": 1 }, "operation": "new" });
    let lines = answered(folder.path(), &[], &other.to_string());
    let failed = &lines[1]["failed"];
    assert_eq!(failed["code"], "engine.worker-version", "{failed}");
    for line in ["", "{}", "[1, 2", "null", "\u{1}"] {
        let lines = answered(folder.path(), &[], line);
        let message = lines[1]["failed"]["message"].as_str().expect("a message");
        assert!(message.contains("Unknown request"), "{line}: {message}");
    }
}

/// Consent is the worker's to enforce, whoever starts it.
#[test]
fn a_server_of_a_project_needs_consent() {
    let folder = workspace(
        "[engine]\nurl = \"postgres://db.evil.example/x\"\n[graph]\nurl = \"bolt://203.0.113.7\"\n",
    );
    let refused = |line: &str| answered(folder.path(), &[], line)[1]["not-agreed"].clone();
    let index = refused(&status());
    assert_eq!(index["address"], "postgres://db.evil.example:5432");
    assert_eq!(index["variable"], "MEMORY_FORGE_ENGINE_URL");
    let graph = refused(&graph_status());
    assert_eq!(graph["address"], "bolt://203.0.113.7");
    assert_eq!(graph["variable"], "MEMORY_FORGE_GRAPH_URL");
}

/// It waits for a server for minutes, but for nobody who is gone.
#[test]
fn it_ends_with_its_standard_input() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    let folder = workspace("[graph]\nworkspace = \"w\"\n");
    let url = format!("bolt://127.0.0.1:{port}");
    let mut child = start(folder.path(), &[("MEMORY_FORGE_GRAPH_URL", &url)]);
    let mut stdin = child.stdin.take().expect("it is piped");
    writeln!(stdin, "{}", graph_status()).expect("it reads");
    let (mut connection, _) = listener.accept().expect("it connects");
    drop(stdin);
    let mut bytes = [0; 1024];
    while let Ok(1..) = connection.read(&mut bytes) {}
    assert_eq!(child.wait().expect("it ends").code(), Some(1));
}

#[test]
fn by_hand_it_says_what_it_is() {
    let program = env!("CARGO_BIN_EXE_memory-forge-engines");
    let version = Command::new(program).arg("--version").output();
    let version = version.expect("it starts").stdout;
    assert_eq!(
        String::from_utf8_lossy(&version),
        format!("memory-forge-engines {}\n", env!("CARGO_PKG_VERSION"))
    );
    let none = Command::new(program).stdin(Stdio::null()).output();
    let none = none.expect("it starts");
    assert_eq!(none.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&none.stderr).contains("started by memory-forge"));
}
