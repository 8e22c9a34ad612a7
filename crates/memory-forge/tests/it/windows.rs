//! What `setup` writes on Windows, run as the clients run it there: without a
//! shell, or by `cmd`. PowerShell is tested where it is installed.

use std::fs;
use std::io::Write;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use testkit::TestWorkspace;

const FOLDER: &str = "Jörg Müller/it's a project";
const START: &str = r#"{"hook_event_name":"SessionStart","source":"startup","session_id":"s"}"#;

/// A workspace and the program in folders of a user whose name has a space and
/// letters outside of ASCII.
fn project() -> TestWorkspace {
    let ws = TestWorkspace::empty();
    ws.write(
        &format!("{FOLDER}/knowledge/tides.md"),
        "# Tides\n\nHigh water at noon.\n",
    );
    let program = ws.path("Jörg Müller/bin/memory-forge.exe");
    fs::create_dir_all(program.parent().expect("a folder")).expect("it can be made");
    fs::copy(env!("CARGO_BIN_EXE_memory-forge"), &program).expect("it can be copied");
    ws.binary(program).cwd(FOLDER)
}

fn set_up(ws: &TestWorkspace, client: &str) {
    ws.run(&["setup", client, "--absolute", "--yes"]).ok();
}

fn read_json(ws: &TestWorkspace, path: &str) -> Value {
    serde_json::from_str(&ws.read(&format!("{FOLDER}/{path}"))).expect("it is JSON")
}

/// Runs a program in the project with the environment of `ws` and this `PATH`.
fn run(ws: &TestWorkspace, program: &str, arguments: &[&str], path: &str, input: &str) -> Output {
    let prepared = ws.command();
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .envs(
            prepared
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .env("PATH", path)
        .current_dir(ws.path(FOLDER))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("it can be started");
    let mut stdin = child.stdin.take().expect("it is a pipe");
    // A program that is missing reads nothing.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    child.wait_with_output().expect("it ends")
}

fn system_path() -> String {
    let root = std::env::var("SystemRoot").unwrap_or_else(|_| r"C:\windows".to_owned());
    format!(r"{root}\system32")
}

#[test]
fn claude_code_starts_hooks_and_server_without_a_shell() {
    let ws = project();
    set_up(&ws, "claude");
    let settings = read_json(&ws, ".claude/settings.json");
    let handler = &settings["hooks"]["SessionStart"][0]["hooks"][0];
    let program = handler["command"].as_str().expect("a program");
    assert!(
        program.ends_with(r"Jörg Müller\bin\memory-forge.exe"),
        "{program}"
    );
    assert!(!program.starts_with(r"\\?\"), "{program}");
    assert_eq!(handler["args"], json!(["hook"]));
    let output = run(&ws, program, &["hook"], "", START);
    assert!(output.status.success(), "{output:?}");
    assert!(!output.stdout.is_empty(), "a briefing");
    // What a console decodes by its own code page is plain ASCII.
    assert!(output.stdout.is_ascii(), "{output:?}");

    let server = &read_json(&ws, ".mcp.json")["mcpServers"]["memory-forge"];
    assert_eq!(server["command"], program, "no `cmd /c` in front");
    let arguments: Vec<&str> = server["args"]
        .as_array()
        .expect("arguments")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}});
    let output = run(&ws, program, &arguments, "", &format!("{initialize}\n"));
    let answer = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(answer.contains("protocolVersion"), "{output:?}");
}

#[test]
fn a_line_of_a_hook_works_in_cmd() {
    let ws = project();
    set_up(&ws, "codex");
    let hooks = read_json(&ws, ".codex/hooks.json");
    let line = hooks["hooks"]["SessionStart"][0]["hooks"][0]["command"]
        .as_str()
        .expect("a line");
    // The path has spaces, so the `PATH` has to find the program.
    assert_eq!(line, "memory-forge hook --client codex ; exit 0");
    let folder = ws.path("Jörg Müller/bin");
    let path = format!("{};{}", folder.display(), system_path());
    let output = run(&ws, "cmd", &["/C", line], &path, START);
    assert!(output.status.success(), "{output:?}");
    let answer: Value = serde_json::from_slice(&output.stdout).expect("an answer in JSON");
    assert!(answer["hookSpecificOutput"].is_object(), "{answer}");
}

/// 2 is the code by which a hook blocks a prompt.
#[test]
fn a_missing_program_blocks_nothing_in_cmd() {
    let ws = project();
    let line = "memory-forge hook --client codex ; exit 0";
    let output = run(&ws, "cmd", &["/C", line], &system_path(), START);
    assert_ne!(output.status.code(), Some(2), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
}

#[test]
fn paths_of_answers_and_of_the_index_have_slashes() {
    let ws = project();
    let output = ws.run(&["search", "high water", "--mode", "text", "--json"]);
    let answer: Value = serde_json::from_str(output.ok()).expect("JSON");
    assert_eq!(answer["results"][0]["path"], "knowledge/tides.md");
    // A path is accepted as Windows writes it.
    let output = ws.run(&["closets", "show", r"knowledge\tides.md"]);
    assert_ne!(output.status, Some(2), "{output}");
}

#[test]
fn names_of_devices_are_no_files() {
    let ws = project();
    for name in [
        "aux.md",
        "knowledge/NUL.md",
        "knowledge/a.md. ",
        "knowledge/a.md:stream",
    ] {
        let output = ws.run(&["forget", name, "--yes"]);
        assert_ne!(output.status, Some(0), "{name}: {output}");
    }
}
