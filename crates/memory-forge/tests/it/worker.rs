//! The second program: where it is found, what is said where it is missing, and
//! that a bad one stops nothing. Workers that misbehave are shell scripts beside
//! a copy of the program; the real one is asked about a server that is silent.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;
use testkit::{Output, TestWorkspace};

const NOTE: &str = "
    //- knowledge/n.md
    # N

    The walrus sleeps.
    ";

/// Settings with which every search asks the shared index first.
const SHARED: &str = "[engine]\nurl = \"postgres://localhost:1/x\"\ntenant = \"acme\"\n\
    timeout_ms = 1500\n[search]\nengine = \"server\"\n";

/// The program in a folder of its own, with whatever is put beside it.
struct Installation(TempDir);

impl Installation {
    fn new() -> Installation {
        // On the same file system, so that nothing is copied.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        let installation = Installation(folder);
        std::fs::hard_link(env!("CARGO_BIN_EXE_memory-forge"), installation.program())
            .expect("a second name of the program");
        installation
    }

    fn program(&self) -> PathBuf {
        self.0.path().join("memory-forge")
    }

    /// Puts a script there as the worker.
    fn with_worker(self, script: &str) -> Installation {
        write_program(&self.0.path().join("memory-forge-engines"), script);
        self
    }

    fn workspace(&self) -> TestWorkspace {
        let ws = TestWorkspace::files(NOTE).binary(self.program());
        ws.write("memory-forge.toml", SHARED);
        ws
    }
}

/// Writes a script by another process: a file that this one has open while
/// another test starts a program could not be run.
fn write_program(path: &Path, script: &str) {
    let mut shell = Command::new("sh")
        .args(["-c", "cat > \"$0\" && chmod 755 \"$0\""])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .expect("a shell");
    let mut stdin = shell.stdin.take().expect("it is piped");
    let text = format!("#!/bin/sh\n{script}\n");
    stdin.write_all(text.as_bytes()).expect("it reads");
    drop(stdin);
    assert!(shell.wait().expect("it ends").success());
}

fn hello(version: &str) -> String {
    let hello = serde_json::json!({ "hello": { "version": version, "format": 1 } });
    format!("echo '{hello}'")
}

fn own_hello() -> String {
    hello(env!("CARGO_PKG_VERSION"))
}

/// Every command that needs the worker.
const COMMANDS: [&[&str]; 9] = [
    &["search", "walrus", "--scope", "org"],
    &["engine", "search", "walrus"],
    &["engine", "status"],
    &["engine", "push"],
    &["engine", "init"],
    &["graph", "status"],
    &["graph", "push"],
    &["graph", "cypher", "RETURN 1"],
    &["graph", "ask", "blocked", "--engine", "server"],
];

/// The local index answers, and one line says why.
#[track_caller]
fn searches_alone(ws: &TestWorkspace, why: &str) -> Output {
    let output = ws.run(&["search", "walrus"]);
    assert!(output.ok().contains("knowledge/n.md"), "{output}");
    assert_eq!(output.stderr.lines().count(), 1, "{output}");
    assert!(output.stderr.contains(why), "{output}");
    assert!(
        output.stderr.contains("this workspace alone was searched"),
        "{output}"
    );
    output
}

#[test]
fn without_the_worker_a_command_says_how_to_get_it() {
    let installation = Installation::new();
    let ws = installation.workspace().env("PATH", "/usr/bin:/bin");
    for command in COMMANDS {
        let output = ws.run(command);
        let said = output.fails(1);
        assert!(
            said.contains("error: `memory-forge-engines`") && said.contains("cargo install"),
            "{command:?}: {output}"
        );
    }
    searches_alone(&ws, "neither in the folder of `memory-forge` nor on `PATH`");
    // What needs no server needs no worker.
    ws.run(&["engine", "push", "--dry-run"]).ok();
    ws.run(&["graph", "ask", "blocked"]).ok();
}

#[test]
fn it_is_found_on_the_path_and_in_no_relative_folder_of_it() {
    let installation = Installation::new();
    let ws = installation.workspace();
    write_program(&ws.path("memory-forge-engines"), "echo found >&2");
    let (folder, relative) = (ws.root().display().to_string(), ".::bin:/usr/bin:/bin");
    let on_path = ws.feed("", &[("PATH", &folder)], &["engine", "status"]);
    assert!(on_path.fails(1).contains("found"), "{on_path}");
    let in_project = ws.feed("", &[("PATH", relative)], &["engine", "status"]);
    assert!(
        in_project.fails(1).contains("neither in the folder of"),
        "{in_project}"
    );
}

/// None of these hangs: the limits of a search are 1.5 s here.
#[test]
fn a_worker_that_misbehaves_is_an_error_and_stops_no_search() {
    let dies = "echo 'it broke' >&2; exit 3";
    let silent = "exec sleep 1000";
    let hangs = format!("{}; exec sleep 1000", own_hello());
    let garbage = format!("{}; echo '<html>'; exec sleep 1000", own_hello());
    let other = format!("{}; exec sleep 1000", hello("99.0.0"));
    let early = "echo '{\"note\":\"x\"}'; exec sleep 1000";
    let cut = format!("{}; printf '{{\"done\":'", own_hello());
    for (script, why) in [
        (dies, "ended without an answer: it broke"),
        (silent, "did not answer in 1.5 s"),
        (&hangs, "did not answer in 2.5 s"),
        (
            &garbage,
            "answered with a line that its protocol does not have",
        ),
        (&other, "is of version 99.0.0"),
        (early, "before it named its version"),
        (&cut, "ended without an answer"),
    ] {
        let installation = Installation::new().with_worker(script);
        let ws = installation.workspace();
        searches_alone(&ws, why);
        let org = ws.run(&["search", "walrus", "--scope", "org"]);
        assert!(org.fails(1).contains(why), "{why}: {org}");
    }
}

#[test]
fn another_version_is_refused_with_the_way_to_get_this_one() {
    let installation = Installation::new().with_worker(&format!("{}; cat", hello("99.0.0")));
    let output = installation.workspace().run(&["engine", "status"]);
    assert!(output.fails(1).contains("hint: `cargo install"), "{output}");
}

/// What a server sent may hold what a terminal would act on.
#[test]
fn what_the_worker_says_is_safe_for_a_terminal() {
    let says = r#"echo '{"warning":"a\u001b[2Jb"}'; echo '{"failed":{"code":"x","message":"c\u001b]0;d","hints":["e\u0007"],"is_usage":true}}'"#;
    let script = format!("{}; {says}", own_hello());
    let installation = Installation::new().with_worker(&script);
    let output = installation.workspace().run(&["engine", "status"]);
    let said = output.fails(2);
    assert!(!said.contains(['\u{1b}', '\u{7}']), "{output}");
    assert!(
        said.contains("warning: a") && said.contains("hint: e"),
        "{output}"
    );
}

/// "No hook loads or starts the worker": not even where every search would.
#[test]
fn no_hook_starts_it() {
    let installation = Installation::new();
    let mark = installation.0.path().join("started");
    let installation = installation.with_worker(&format!("touch '{}'", mark.display()));
    let ws = installation.workspace();
    for event in [
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "PreCompact",
        "SubagentStart",
        "SubagentStop",
        "Stop",
        "SessionEnd",
    ] {
        let event = serde_json::json!({
            "hook_event_name": event, "session_id": "one", "prompt": "where does the walrus sleep",
            "tool_name": "Read", "tool_input": { "file_path": "knowledge/n.md" },
        });
        ws.feed(event.to_string(), &[], &["hook"]).ok();
    }
    assert!(!mark.exists(), "a hook started the worker");
    searches_alone(&ws, "ended without an answer");
    assert!(mark.exists(), "a search does");
}

/// A program that asks the real worker, which has connected to a server that
/// says nothing.
fn waiting_for_a_server() -> (std::process::Child, TcpStream, TestWorkspace) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    let ws = TestWorkspace::files(NOTE);
    let ws = ws.binary(testkit::worker::beside(env!("CARGO_BIN_EXE_memory-forge")));
    ws.write("memory-forge.toml", "[graph]\nworkspace = \"w\"\n");
    let mut command = ws.command();
    command
        .env("MEMORY_FORGE_GRAPH_URL", format!("bolt://127.0.0.1:{port}"))
        .args(["graph", "status"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0);
    let child = command.spawn().expect("the program starts");
    let (connection, _) = listener.accept().expect("the worker connects");
    (child, connection, ws)
}

/// Waits until the other side is gone: the system closes what a process had.
#[track_caller]
fn ends(mut connection: TcpStream) {
    let mut bytes = [0; 1024];
    while let Ok(1..) = connection.read(&mut bytes) {}
}

#[test]
fn a_program_that_is_killed_leaves_no_worker_behind() {
    let (mut child, connection, _ws) = waiting_for_a_server();
    child.kill().expect("it is ours");
    child.wait().expect("it ends");
    ends(connection);
}

#[test]
fn an_interrupt_ends_both() {
    let (mut child, connection, _ws) = waiting_for_a_server();
    let group = format!("-{}", child.id());
    let sent = Command::new("kill").args(["-INT", "--", &group]).status();
    assert!(sent.expect("kill is there").success());
    let status = child.wait().expect("it ends");
    // By the signal; on a busy machine the worker may be gone before it arrives,
    // and then with an error.
    assert!(!status.success(), "{status}");
    ends(connection);
}
