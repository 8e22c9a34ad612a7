//! The description by which desktop clients know the server.

use std::path::{Path, PathBuf};

use serde_json::Value;
use testkit::TestWorkspace;

fn repository() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.ancestors().nth(2);
    root.expect("the crate lies two levels below").to_owned()
}

fn json(path: &str) -> Value {
    let text = std::fs::read_to_string(repository().join(path)).expect("the file is there");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn the_bundle_has_the_version_of_the_program() {
    let ours = env!("CARGO_PKG_VERSION");
    assert_eq!(json("packaging/mcpb/manifest.json")["version"], ours);
}

#[test]
fn the_packer_accepts_the_manifest() {
    let Some(packer) = super::tool("mcpb") else {
        return;
    };
    let manifest = repository().join("packaging/mcpb/manifest.json");
    let output = packer.run(&["validate", &*manifest.to_string_lossy()]);
    assert!(output.ok().contains("passes"), "{output}");
    assert_eq!(output.stderr, "", "{output}");
}

#[test]
fn the_manifest_names_the_tools_that_are_listed() {
    let ws = TestWorkspace::files("").binary(env!("CARGO_BIN_EXE_memory-forge"));
    let listed = ws.run(&["mcp", "--list", "--json"]);
    let listed: Value = serde_json::from_str(listed.ok()).expect("it is JSON");
    let names = |tools: &Value| -> Vec<String> {
        let tools = tools.as_array().expect("a list");
        let mut names: Vec<String> = tools
            .iter()
            .filter_map(|tool| Some(tool["name"].as_str()?.to_owned()))
            .collect();
        names.sort();
        names
    };
    let manifest = json("packaging/mcpb/manifest.json");
    assert_eq!(names(&manifest["tools"]), names(&listed["tools"]));
}

/// What the bundle starts is a command line that our program understands.
#[test]
fn the_bundle_s_command_line_is_ours() {
    let ws = TestWorkspace::files("").binary(env!("CARGO_BIN_EXE_memory-forge"));
    let manifest = json("packaging/mcpb/manifest.json");
    let arguments = manifest["server"]["mcp_config"]["args"].as_array();
    let root = ws.root().to_string_lossy().into_owned();
    let arguments: Vec<String> = arguments
        .expect("a list")
        .iter()
        .map(|argument| argument.as_str().expect("a string"))
        .map(|argument| argument.replace("${user_config.repository}", &root))
        .collect();
    let mut words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    words.push("--list");
    ws.run(&words).ok();
}
