//! The protocol's own tools against the fixture, which stands on the same
//! transports as the real server. `scripts/mcp-tools.sh` fetches the tools;
//! where one is missing, its tests count as skipped.

#![cfg(unix)]

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use testkit::mcp_tools::{McpTool, conformance};

/// Cargo builds examples beside the tests' folder.
fn fixture() -> PathBuf {
    let this = std::env::current_exe().expect("a test has a file");
    let profile = this.ancestors().nth(2).expect("it lies in deps/");
    profile.join("examples/fixture")
}

fn tool(name: &str) -> Option<McpTool> {
    McpTool::with(env!("CARGO_TARGET_TMPDIR"), name)
}

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The fixture on HTTP, with its port and its token.
fn start_http() -> (Server, u16, String) {
    let mut child = Command::new(fixture())
        .arg("--http")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the fixture was built");
    let mut line = String::new();
    let output = child.stdout.take().expect("it is a pipe");
    let read = BufReader::new(output).read_line(&mut line);
    read.expect("it tells its address");
    let (url, token) = line.trim().split_once(' ').expect("an address and a token");
    let port = url.trim_end_matches("/mcp").rsplit(':').next();
    let port = port.and_then(|port| port.parse().ok());
    (Server(child), port.expect("a port"), token.to_owned())
}

/// No scenario is excused here: what fails is a fault of our transport, of the
/// SDK or of the fixture.
#[track_caller]
fn all_scenarios_pass(version: &str, at_least: u32) {
    let Some(suite) = tool("conformance") else {
        return;
    };
    let (_server, port, token) = start_http();
    let (output, passed, failed) = conformance(&suite, port, &token, version, None);
    assert_eq!(failed, 0, "{output}");
    // A suite that runs nothing would pass as well.
    assert!(passed >= at_least, "{passed} checks:\n{output}");
    output.ok();
}

#[test]
fn conformance_of_2025_11_25() {
    all_scenarios_pass("2025-11-25", 83);
}

#[test]
fn conformance_of_2026_07_28() {
    all_scenarios_pass("2026-07-28", 153);
}

#[test]
fn the_inspector_has_nothing_to_say() {
    let Some(inspector) = tool("inspector") else {
        return;
    };
    let fixture = fixture();
    let fixture = fixture.to_string_lossy();
    for era in ["legacy", "modern"] {
        let cases: [&[&str]; 4] = [
            &["tools/list", "--strict"],
            &["tools/call", "--tool-name", "test_simple_text"],
            &["resources/list"],
            &["prompts/list"],
        ];
        for case in cases {
            let mut arguments = vec!["--cli", &*fixture, "--protocol-era", era, "--method"];
            arguments.extend(case);
            let output = inspector.run(&arguments);
            output.ok();
            assert_eq!(output.stderr, "", "{era} {case:?}: {output}");
        }
    }
}
