//! Runs `spec/links.md`: each case is a vault, and what its links mean.

use std::fmt::Write;

use forge_memory::graph;
use forge_memory::links::{self, LinkTrouble, NoteVault};
use forge_store::workspace::{RelPath, Workspace};
use testkit::TestWorkspace;
use testkit::spec::{Case, cases};

#[test]
fn links_as_specified() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../spec/links.md");
    let text = std::fs::read_to_string(path).expect("the specification is there");
    let cases = cases(&text);
    assert!(cases.len() > 20, "only {} cases", cases.len());
    let mut failures = Vec::new();
    for case in &cases {
        for (info, expect) in &case.blocks {
            let words: Vec<&str> = info.split_whitespace().collect();
            let found = match words[..] {
                ["files"] => continue,
                ["check"] => with(case, |_, workspace| check(workspace)),
                ["suggest"] => with(case, |_, workspace| suggest(workspace)),
                ["apply"] => with(case, |ws, workspace| apply(ws, workspace, false)),
                ["apply", "all"] => with(case, |ws, workspace| apply(ws, workspace, true)),
                ["rename", old, new] => with(case, |ws, workspace| rename(ws, workspace, old, new)),
                ["edges"] => with(case, |_, workspace| edges(workspace)),
                _ => panic!("{}: unknown block `{info}`", case.name),
            };
            if found != *expect {
                failures.push(format!("{} ({info}):\n{found}", case.name));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn with(case: &Case, f: impl Fn(&TestWorkspace, &Workspace) -> String) -> String {
    let ws = TestWorkspace::empty();
    ws.add(case.block("files").expect("a case has files"));
    let workspace = Workspace::open(ws.root()).expect("it is a folder");
    f(&ws, &workspace)
}

fn check(workspace: &Workspace) -> String {
    let report = links::check_links(&NoteVault::read(workspace));
    let mut out = String::new();
    for one in &report.troubles {
        let trouble = match &one.trouble {
            LinkTrouble::Missing { nearest: None } => "missing".to_owned(),
            LinkTrouble::Missing {
                nearest: Some(name),
            } => format!("missing, perhaps {name}"),
            LinkTrouble::NoSuchPlace => "no such place".to_owned(),
            LinkTrouble::Ambiguous(files) => {
                let files: Vec<&str> = files.iter().map(|it| it.as_str()).collect();
                format!("ambiguous: {}", files.join(", "))
            }
        };
        let _ = writeln!(out, "{}:{} {}: {trouble}", one.path, one.line, one.link);
    }
    for one in &report.closets {
        let line = one.line.map_or(String::new(), |line| format!(":{line}"));
        let _ = writeln!(out, "{}{line} {}", one.path, one.message);
    }
    out
}

fn suggest(workspace: &Workspace) -> String {
    let vault = NoteVault::read(workspace);
    let mut out = String::new();
    for one in links::suggest_mentions(workspace, &vault, &[]) {
        let _ = writeln!(
            out,
            "{}:{} {} -> {}",
            one.path,
            one.line,
            one.text,
            one.render_link()
        );
    }
    out
}

fn apply(ws: &TestWorkspace, workspace: &Workspace, all: bool) -> String {
    let applied = links::link_mentions(workspace, &NoteVault::read(workspace), &[], all);
    let files: Vec<RelPath> = applied
        .proposal
        .files
        .iter()
        .map(|it| it.path.clone())
        .collect();
    applied
        .proposal
        .apply(workspace, "Test", now())
        .expect("nothing is in the way");
    let again = links::link_mentions(workspace, &NoteVault::read(workspace), &[], all);
    assert!(again.proposal.is_empty(), "twice is not once: {again:?}");
    shown(ws, &files)
}

fn rename(ws: &TestWorkspace, workspace: &Workspace, old: &str, new: &str) -> String {
    let before = ws.tree_of_sources();
    let vault = NoteVault::read(workspace);
    // The words of a block's head are split at spaces.
    let old = RelPath::new(&old.replace("%20", " ")).expect("a path");
    let to = links::resolve_destination(&vault, &old, new).expect("a path");
    let renaming = links::rename_file(workspace, &vault, &old, &to).expect("it can be renamed");
    assert_eq!(renaming.left_alone, []);
    let files: Vec<RelPath> = renaming
        .proposal
        .files
        .iter()
        .map(|it| it.path.clone())
        .collect();
    renaming
        .proposal
        .apply(workspace, "Test", now())
        .expect("nothing is in the way");
    let out = format!("{old} -> {to}\n{}", shown(ws, &files));
    workspace.undo(None, now()).expect("it can be undone");
    assert_eq!(ws.tree_of_sources(), before, "undone");
    out
}

fn shown(ws: &TestWorkspace, files: &[RelPath]) -> String {
    let mut files = files.to_vec();
    files.sort();
    let mut out = String::new();
    for path in files {
        let _ = write!(out, "//- {path}\n{}", ws.read(path.as_str()));
    }
    out
}

fn edges(workspace: &Workspace) -> String {
    let graph = graph::build_graph(&NoteVault::read(workspace));
    let mut out = String::new();
    for edge in &graph.edges {
        let (from, to) = (&graph.node(edge.from).name, &graph.node(edge.to).id);
        let _ = writeln!(out, "{from} {} -> {to}", edge.kind.name());
    }
    for edge in graph.dangling_edges() {
        let (from, to) = (&graph.node(edge.from).name, &graph.node(edge.to).name);
        let _ = writeln!(out, "dangling: {from} {} -> {to}", edge.kind.name());
    }
    out
}

fn now() -> jiff::Timestamp {
    "2026-03-01T09:00:00Z".parse().expect("a time")
}
