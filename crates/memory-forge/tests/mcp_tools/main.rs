//! The protocol's own tools against `memory-forge mcp`, and the packer's
//! against our manifest. `scripts/mcp-tools.sh` fetches them; where one is
//! missing, its tests count as skipped.

#![cfg(unix)]

mod distribution;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use testkit::TestWorkspace;
use testkit::mcp_tools::{McpTool, conformance};

const TOKEN: &str = "a-token-of-the-tests-alone";

const MEMORY: &str = "
    //- knowledge/tides.md
    # Tides

    High water is at noon, and the harbour closes an hour before.
    //- .mind/STATE.md
    # State

    ## Current Phase
    Grey heron counts the boats
";

pub(crate) fn tool(name: &str) -> Option<McpTool> {
    McpTool::with(env!("CARGO_TARGET_TMPDIR"), name)
}

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The real server on HTTP, and its port.
fn start_http(ws: &TestWorkspace) -> (Server, u16) {
    let child = Command::new(env!("CARGO_BIN_EXE_memory-forge"))
        .args(["mcp", "--http"])
        .current_dir(ws.root())
        .env_clear()
        .env("HOME", ws.home())
        .env("MEMORY_FORGE_MCP_TOKEN", TOKEN)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let mut server = Server(child.expect("the program was built"));
    let errors = server.0.stderr.take().expect("it is a pipe");
    let mut said = String::new();
    for line in BufReader::new(errors).lines().map_while(Result::ok) {
        if let Some(rest) = line.split("http://127.0.0.1:").nth(1)
            && let Some(port) = rest.split('/').next().and_then(|port| port.parse().ok())
        {
            return (server, port);
        }
        said.push_str(&line);
    }
    panic!("it never said where it listens: {said}");
}

#[track_caller]
fn conforms(version: &str, at_least: u32) {
    let Some(suite) = tool("conformance") else {
        return;
    };
    let ws = TestWorkspace::files(MEMORY);
    let (_server, port) = start_http(&ws);
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let expected = here.join("tests/mcp_tools/expected-failures.yml");
    let (output, passed, _) = conformance(&suite, port, TOKEN, version, Some(&expected));
    output.ok();
    assert!(passed >= at_least, "{passed} checks:\n{output}");
}

#[test]
fn conformance_of_2025_11_25() {
    conforms("2025-11-25", 46);
}

#[test]
fn conformance_of_2026_07_28() {
    conforms("2026-07-28", 94);
}

#[track_caller]
fn the_inspector_has_nothing_to_say(era: &str) {
    let Some(inspector) = tool("inspector") else {
        return;
    };
    let ws = TestWorkspace::files(MEMORY);
    let root = ws.root().to_string_lossy().into_owned();
    let cases: [(&[&str], &str); 5] = [
        (&["tools/list", "--strict"], "search_knowledge"),
        (
            &[
                "tools/call",
                "--tool-name",
                "search_knowledge",
                "--tool-arg",
                "query=high water",
            ],
            "knowledge/tides.md",
        ),
        (&["resources/list"], "memory-forge://"),
        (&["resources/templates/list"], "uriTemplate"),
        (&["prompts/list"], "briefing"),
    ];
    for (case, expect) in cases {
        let program = env!("CARGO_BIN_EXE_memory-forge");
        let mut arguments = vec!["--cli", program, "mcp", "--tools", "all", "--cwd", &root];
        arguments.extend(["--protocol-era", era, "--method"]);
        arguments.extend(case);
        let output = inspector.run(&arguments);
        assert!(output.ok().contains(expect), "{era} {case:?}: {output}");
        assert_eq!(output.stderr, "", "{era} {case:?}: {output}");
    }
}

#[test]
fn the_inspector_has_nothing_to_say_in_the_era_of_sessions() {
    the_inspector_has_nothing_to_say("legacy");
}

#[test]
fn the_inspector_has_nothing_to_say_in_the_era_without() {
    the_inspector_has_nothing_to_say("modern");
}
