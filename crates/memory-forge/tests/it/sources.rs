//! A person's other workspaces are asked from wherever they are, and nothing
//! is ever written there.

use crate::harness::ws;
use testkit::TestWorkspace;

/// One workspace with the tests' own, and two others in the home of its user.
fn three() -> TestWorkspace {
    let ws = ws("
        //- knowledge/here.md
        # Here

        Mike visits on Monday.
    ");
    let other = |path: &str, text: &str| {
        let file = ws.home().join(path);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("made");
        std::fs::write(file, text).expect("written");
    };
    other(
        "club/_MANIFEST.md",
        "# Context Routing\n\n## Hub Map\n\n| Domain | Hub | Summary |\n|---|---|---|\n| Trips | [[trips/_CLOSETS]] | Mike plans a.b trips |\n",
    );
    other(
        "club/trips/_CLOSETS.md",
        "# Closets: trips\n\n<!-- memex-closets:1.0 -->\n\n## [[alps]]\n- subjects: hiking\n- people: [[Mike]]\n- dates: 2026-07-01\n",
    );
    other(
        "club/node_modules/x/_CLOSETS.md",
        "## [[mike]]\n- people: Mike\n",
    );
    other(
        "work/knowledge/keys.md",
        "# Keys\n\nMike keeps the keys --force.\n",
    );
    ws
}

fn register(ws: &TestWorkspace) {
    for name in ["club", "work"] {
        let path = ws.home().join(name);
        let output = ws.run(&["sources", "add", name, path.to_str().expect("UTF-8")]);
        assert!(
            output.ok().contains(&format!("Registered '{name}' → ")),
            "{output}"
        );
    }
}

#[test]
fn every_source_is_asked_by_its_closets_and_its_index() {
    let ws = three();
    register(&ws);
    let work = ws.home().join("work");
    let root = work.to_str().expect("UTF-8");
    ws.run(&["index", "--root", root]).ok();

    let output = ws.run(&["search", "mike", "--scope", "sources"]);
    let text = output.ok();
    assert!(
        text.starts_with("Searching 2 source(s) for: mike\n"),
        "{output}"
    );
    assert!(text.contains("=== club ("), "{output}");
    assert!(text.contains("trips/_CLOSETS.md:"), "{output}");
    assert!(text.contains("_MANIFEST.md:"), "{output}");
    assert!(text.contains("work/knowledge/keys.md:"), "{output}");
    assert!(!text.contains("node_modules"), "{output}");
    assert!(
        !text.contains("here.md"),
        "this workspace has its own search: {output}"
    );
    assert!(text.contains("across 2 sources"), "{output}");
}

#[test]
fn asking_writes_nothing_there() {
    let ws = three();
    register(&ws);
    let before = tree(&ws, "club") + &tree(&ws, "work");
    ws.run(&["search", "mike", "--scope", "sources"]).ok();
    assert_eq!(before, tree(&ws, "club") + &tree(&ws, "work"));
}

fn tree(ws: &TestWorkspace, name: &str) -> String {
    fn list(folder: &std::path::Path, out: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).expect("readable").flatten() {
            let path = entry.path();
            if path.is_dir() {
                list(&path, out)
            } else {
                out.push(format!(
                    "{} {}",
                    path.display(),
                    std::fs::read_to_string(&path).expect("text")
                ))
            }
        }
    }
    let mut files = Vec::new();
    list(&ws.home().join(name), &mut files);
    files.sort();
    files.join("\n")
}

#[test]
fn a_source_that_is_kept_out_is_not_asked() {
    let ws = three();
    register(&ws);
    let set = ws.run(&["sources", "set", "club", "--searchable", "false"]);
    assert_eq!(set.ok(), "Source 'club' searchable=false\n");
    let output = ws.run(&["search", "mike", "--scope", "sources"]);
    assert!(!output.ok().contains("club"), "{output}");
    ws.run(&["sources", "set", "work", "--searchable", "false"])
        .ok();
    let none = ws.run(&["search", "mike", "--scope", "sources"]);
    assert_eq!(none.ok(), "No searchable sources registered.\n");
}

#[test]
fn a_source_that_is_gone_is_named_and_passed_over() {
    let ws = three();
    register(&ws);
    std::fs::remove_dir_all(ws.home().join("work")).expect("removed");
    let output = ws.run(&["search", "mike", "--scope", "sources"]);
    assert!(output.ok().contains("_CLOSETS.md"), "{output}");
    assert!(
        output.stderr.contains("Skipped `work`: path missing: "),
        "{output}"
    );
    let list = ws.run(&["sources", "list"]);
    assert!(list.ok().contains("path missing"), "{list}");
}

#[test]
fn w16_a_query_that_looks_like_an_option_is_text() {
    let ws = three();
    register(&ws);
    let root = ws.home().join("work");
    ws.run(&["index", "--root", root.to_str().expect("UTF-8")])
        .ok();
    let output = ws.run(&["search", "--scope", "sources", "--", "--force"]);
    assert!(output.ok().contains("keys.md"), "{output}");
}

#[test]
fn w17_a_query_is_no_pattern() {
    let ws = three();
    register(&ws);
    let hit = ws.run(&["search", "\"a.b\"", "--scope", "sources", "--json"]);
    assert!(hit.ok().contains("plans a.b trips"), "{hit}");
    let miss = ws.run(&["search", "\"M.ke\"", "--scope", "sources", "--json"]);
    assert!(!miss.ok().contains("_MANIFEST"), "{miss}");
}

#[test]
fn the_list_and_its_mistakes() {
    let ws = three();
    let empty = ws.run(&["sources", "list"]);
    assert!(empty.ok().starts_with("No sources registered."), "{empty}");
    assert!(empty.stdout.contains(".memex/sources.md"), "{empty}");
    register(&ws);
    let list = ws.run(&["sources", "list"]);
    assert!(
        list.ok()
            .contains("  ✓ club                     [home]/club  (registered 2026-03-01)"),
        "{list}"
    );
    let again = ws.run(&["sources", "add", "club", "."]);
    assert!(
        again
            .fails(2)
            .contains("source name 'club' already registered"),
        "{again}"
    );
    let nope = ws.run(&["sources", "remove", "nope"]);
    assert!(nope.fails(2).contains("no source named 'nope'"), "{nope}");
    ws.run(&["sources", "remove", "club"]).ok();
    assert!(!ws.run(&["sources", "list"]).ok().contains("club"));
}

#[test]
fn passages_for_a_prompt_are_fenced_and_fit_the_budget() {
    let ws = three();
    register(&ws);
    let output = ws.run(&[
        "search",
        "mike",
        "--scope",
        "sources",
        "--context",
        "--budget",
        "300",
    ]);
    assert!(output.ok().contains("<data "), "{output}");
    assert!(
        output.stderr.contains("of 300 tokens (o200k) used"),
        "{output}"
    );
}

#[test]
fn w18_bytes_that_are_no_text_and_other_people_s_code_do_not_disturb() {
    let ws = three();
    register(&ws);
    let bad = ws.home().join("club/bad");
    std::fs::create_dir_all(&bad).expect("made");
    std::fs::write(bad.join("_CLOSETS.md"), b"## [[mike]]\n\xff\xfe\0 Mike\n").expect("written");
    let output = ws.run(&["search", "mike", "--scope", "sources"]);
    assert!(output.ok().contains("trips/_CLOSETS.md:"), "{output}");
    assert!(!output.stdout.contains("node_modules"), "{output}");
    assert!(
        output
            .stderr
            .contains("club: bad/_CLOSETS.md: line 2 is not UTF-8"),
        "{output}"
    );
}
