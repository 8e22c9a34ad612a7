//! Maintenance that deletes without asking: every command that tidies up, over
//! workspaces full of what people wrote. No line goes away; without a yes
//! nothing goes at all; and an undo brings back every byte.

use std::collections::HashSet;

use ::soak::SCENARIOS;
use testkit::TestWorkspace;

use crate::harness::ws;

/// Commands that keep a workspace in order. What people wrote is none of their
/// business, except to move it.
const MAINTENANCE: [&str; 18] = [
    "lint",
    "check · fix",
    "consolidate",
    "doctor · fix",
    "mind compress",
    "workspace closets build",
    "workspace manifest refresh",
    "workspace upgrade",
    "agent index",
    "agent rotate",
    "links apply",
    "workspace archive",
    "graph write",
    "graph pull",
    "init · apply",
    "forget",
    "index · force",
    "hook · SessionStart of a session that follows one left open",
];

fn workspace(name: &str) -> (&'static ::soak::Scenario, TestWorkspace) {
    let scenario = SCENARIOS.iter().find(|it| it.name == name);
    let scenario = scenario.unwrap_or_else(|| panic!("there is no `{name}`"));
    let ws = ws(scenario.files);
    if let Some(make) = scenario.make {
        make(&ws);
    }
    // What nobody but its author knows.
    for (path, line) in ws
        .tree_of_sources()
        .lines()
        .filter_map(|it| it.split_once(' '))
    {
        if path.ends_with(".md") && !path.starts_with('_') {
            let mut text = ws.read(path);
            text.push_str(&format!("\nA remark of mine, {line}. <!-- private -->\n"));
            ws.write(path, text);
        }
    }
    ws.write("loose/notes.txt", "mine\n");
    for arguments in scenario.first {
        ws.run(arguments);
    }
    (scenario, ws)
}

/// Every line of prose that stands somewhere in the user's files.
fn lines(ws: &TestWorkspace) -> HashSet<String> {
    let mut lines = HashSet::new();
    for (path, _) in files(ws) {
        let text = String::from_utf8(ws.read_bytes(&path)).unwrap_or_default();
        lines.extend(text.lines().map(words));
    }
    lines
}

/// A line without the marks that make a link of a word or strike it out, and
/// without where its links lead: a file that moves takes them along.
fn words(line: &str) -> String {
    let mut line = line
        .trim()
        .replace("[[", "")
        .replace("]]", "")
        .replace("~~", "");
    while let Some(from) = line.find("](")
        && let Some(to) = line[from..].find(')')
    {
        line.replace_range(from..=from + to, "");
    }
    line
}

fn files(ws: &TestWorkspace) -> Vec<(String, String)> {
    let tree = ws.tree_of_sources();
    let files = tree.lines().filter_map(|line| line.split_once(' '));
    let machine = |path: &str| {
        path.starts_with(".mind/.")
            || path.starts_with(".mind/checkpoints/")
            || path.starts_with(".mind/evidence/")
            || path.starts_with("memory/.")
    };
    files
        .filter(|(path, _)| !machine(path))
        .map(|(path, hash)| (path.to_owned(), hash.to_owned()))
        .collect()
}

#[test]
fn no_line_of_a_person_goes_away() {
    for name in MAINTENANCE {
        let (scenario, ws) = workspace(name);
        let before = lines(&ws);
        let output = ws.feed(scenario.input, &[], scenario.run);
        assert!(matches!(output.status, Some(0 | 1)), "{name}: {output}");
        let after = lines(&ws);
        let gone: Vec<&String> = before
            .difference(&after)
            .filter(|line| is_prose(line, &after))
            .collect();
        assert!(gone.is_empty(), "`{name}` took away {gone:#?}");
        assert_eq!(ws.read("loose/notes.txt"), "mine\n");
    }
}

/// Rows of tables, headings of pointers and values with a date are the
/// program's own, and so is a line that stands inside of another now.
fn is_prose(line: &str, after: &HashSet<String>) -> bool {
    let own = line.starts_with('|')
        || line.starts_with("<!-- memex")
        || line.starts_with("<!-- summary-format")
        || line.starts_with("Last updated:")
        || line.starts_with("- [Gone");
    !own && !after.iter().any(|it| it.contains(line))
}

#[test]
fn without_a_yes_nothing_is_changed() {
    for name in MAINTENANCE {
        let (scenario, ws) = workspace(name);
        if !scenario.run.contains(&"--yes") {
            continue;
        }
        let asked: Vec<&str> = scenario
            .run
            .iter()
            .copied()
            .filter(|it| *it != "--yes")
            .collect();
        let before = (files(&ws), lines(&ws));
        let output = ws.run(&asked);
        // Repairs that lose nothing need no question; they only add.
        if name == "lint" {
            let after = lines(&ws);
            assert!(before.1.iter().all(|it| !is_prose(it, &after)), "{output}");
            continue;
        }
        assert_eq!(files(&ws), before.0, "`{name}` did not ask: {output}");
    }
}

#[test]
fn consolidate_proposes_and_merges_nothing() {
    let (_, ws) = workspace("consolidate");
    let before = files(&ws);
    let output = ws.run(&["consolidate"]);
    assert!(output.stdout.contains("DEDUP"), "{output}");
    assert_eq!(files(&ws), before, "{output}");
}

/// Of every command, maintenance or not: one undo after another, back to the
/// first byte.
#[test]
fn an_undo_brings_back_every_byte_of_every_command() {
    let mut undone = 0;
    for scenario in SCENARIOS {
        // The home has copies beside its files, a merge is git's to undo, and a
        // page that is exported is a folder of its own.
        let elsewhere = scenario.name.ends_with("· user")
            || ["sources", "merge", "export native", "view", "doctor · undo"]
                .iter()
                .any(|it| scenario.name.starts_with(it));
        if elsewhere || scenario.only_derived {
            continue;
        }
        let (scenario, ws) = workspace(scenario.name);
        if scenario.git {
            ws.git_init();
            ws.commit("first");
        }
        let entries = journal(&ws);
        let before = files(&ws);
        ws.feed(scenario.input, &[], scenario.run);
        let changed = files(&ws) != before;
        let mut more: Vec<String> = journal(&ws).difference(&entries).cloned().collect();
        more.sort_by(|a, b| b.cmp(a));
        assert!(
            !more.is_empty() || !changed,
            "`{}` is not in the journal",
            scenario.name
        );
        // By their ids: lists that the program derives are passed over otherwise.
        for id in &more {
            ws.run(&["doctor", "--undo", id, "--yes"]).ok();
        }
        assert_eq!(files(&ws), before, "`{}` cannot be undone", scenario.name);
        undone += usize::from(changed);
    }
    assert!(undone > 35, "only {undone} commands changed anything");
}

fn journal(ws: &TestWorkspace) -> HashSet<String> {
    let entries = std::fs::read_dir(ws.path(".memory-forge/undo"));
    let entries = entries.into_iter().flatten().flatten();
    entries
        .map(|it| it.file_name().to_string_lossy().into_owned())
        .collect()
}
