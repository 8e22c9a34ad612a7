//! exploration
use crate::claude::claude;
use crate::codex::{codex, UNTRUSTED};
use crate::copilot::copilot;
use crate::project::Project;
fn repo() -> String { format!("{}/../..", env!("CARGO_MANIFEST_DIR")) }
fn dump(name: &str, project: &Project) {
    let q = project.model.questions();
    let v: Vec<_> = q.iter().map(|r| r.body.clone()).collect();
    std::fs::write(format!("/tmp/pl/{name}.json"), serde_json::to_string_pretty(&v).unwrap()).unwrap();
}
#[test]
fn x_claude() {
    let Some(project) = claude() else { return };
    project.run(&["plugin", "marketplace", "add", &repo()]);
    project.run(&["plugin", "install", "memory-forge@memory-forge"]);
    let log = project.ws.home().join("debug.log");
    let o = project.run(&["-p", "Where were we?", "--debug-file", &log.to_string_lossy()]);
    println!("{o}");
    std::fs::copy(&log, "/tmp/pl/claude.log").unwrap();
    dump("claude", &project);
    project.model.forget();
    let o = project.run(&["-p", "/memory-forge:search high water"]);
    println!("{o}");
    dump("claude-search", &project);
    project.model.forget();
    let o = project.run(&["-p", "hello", "--agent", "memory-forge:mind"]);
    println!("{o}");
    dump("claude-agent", &project);
    println!("{}", project.run(&["-p", "/context"]));
}
#[test]
fn x_codex() {
    let Some(project) = codex() else { return };
    project.run(&["plugin", "marketplace", "add", &repo()]);
    project.run(&["plugin", "add", "memory-forge@memory-forge"]);
    let o = project.run(&["exec", UNTRUSTED, "Where were we?"]);
    println!("{o}");
    dump("codex", &project);
}
#[test]
fn x_copilot() {
    let Some(project) = copilot() else { return };
    println!("{}", project.run(&["plugin", "marketplace", "add", &repo()]));
    println!("{}", project.run(&["plugin", "install", "memory-forge@memory-forge"]));
    let o = project.run(&["-p", "Where were we?"]);
    println!("{o}");
    dump("copilot", &project);
}
