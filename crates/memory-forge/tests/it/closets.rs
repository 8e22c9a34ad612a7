//! `closets`: the program keeps, checks and answers from `_CLOSETS.md`.

use testkit::TestWorkspace;

use crate::harness::{answer, found, json, paths, ws};
use crate::mcp_client::Client;

const MANIFEST: &str = "//- _MANIFEST.md
# Context Routing
<!-- memex-managed:2.1.3 -->
<!-- summary-format-version:2 -->

## Tier 1 - Always Load

| File | Summary | Volatility |
|---|---|---|

## Tier 2 - By Domain

### Legal
Closets: [[legal/_CLOSETS]]

## Tier 3 - Archive

| File | Reason | Date |
|---|---|---|

## Hub Map

| Domain | Hub | Summary |
|---|---|---|
| Legal | [[legal/_CLOSETS]] | Contracts |
//- memory/status.md
# Status

Last updated: 2026-03-01
";

fn workspace() -> TestWorkspace {
    ws(&format!(
        "{MANIFEST}//- legal/lease.md\n---\ndate: 2026-02-03\n---\n# Lease\n\n\
         We dropped the Berlin office. My landlord Tobias said yes.\n\
         //- legal/nda.md\nI never sign an NDA without Maria Lopez.\n"
    ))
}

#[test]
fn building_twice_changes_nothing_and_is_logged() {
    let ws = workspace();
    let said = ws.run(&["closets", "build"]);
    assert!(
        said.ok()
            .ends_with("hubs=2 files=3 refreshed=3 skipped=0\n"),
        "{said}"
    );
    let once = (ws.read("legal/_CLOSETS.md"), ws.read("memory/_CLOSETS.md"));
    let said = ws.run(&["closets", "build"]);
    assert!(
        said.ok()
            .ends_with("hubs=2 files=3 refreshed=0 skipped=3\n"),
        "{said}"
    );
    let twice = (ws.read("legal/_CLOSETS.md"), ws.read("memory/_CLOSETS.md"));
    assert_eq!(once, twice);
    assert!(once.1.contains("<!-- memex-closets:1.1 -->"), "{}", once.1);
    let log = ws.read("memory/.reindex-runs.log");
    assert!(
        log.contains("hubs=2 files=3 refreshed=3 skipped=0  status=ok")
            || log.contains("hubs=2 files=3 refreshed=3 skipped=0 status=ok"),
        "{log}"
    );
    assert!(!ws.exists("memory/.reindex.lock"));
}

#[test]
fn w1_a_new_archive_is_listed_by_a_link_that_leads_to_it() {
    let ws = workspace();
    for at in 0..35 {
        ws.write(
            &format!("legal/case{at:02}.md"),
            format!("I won case {at}.\n"),
        );
    }
    ws.run(&["closets", "build"]).ok();
    let manifest = ws.read("_MANIFEST.md");
    assert!(
        manifest.contains("[[legal/_CLOSETS-archive]]"),
        "{manifest}"
    );
    assert!(ws.exists("legal/_CLOSETS-archive.md"));
    ws.run(&["closets", "build", "--force"]).ok();
    assert_eq!(ws.read("_MANIFEST.md"), manifest);
}

/// Closets, an archive, the manifest's row for it and the graph are one change.
#[test]
fn one_undo_reverts_a_build_byte_for_byte() {
    let ws = workspace();
    ws.write(
        "legal/terms.md",
        "---\nsupersedes: \"[[nda]]\"\n---\n# Terms\n\nI sign these instead.\n",
    );
    for at in 0..35 {
        ws.write(
            &format!("legal/case{at:02}.md"),
            format!("I won case {at}.\n"),
        );
    }
    // What the run itself keeps beside the lock is no change of a person's.
    let sources = |ws: &TestWorkspace| -> String {
        let tree = ws.tree_of_sources();
        let lines = tree.split_inclusive('\n');
        lines
            .filter(|line| !line.contains(".reindex-runs.log"))
            .collect()
    };
    let before = sources(&ws);
    let said = ws.run(&["closets", "build"]);
    assert!(said.stderr.contains("Rebuilt memory/.graph.md"), "{said}");
    let built = sources(&ws);
    for made in [
        "legal/_CLOSETS.md",
        "legal/_CLOSETS-archive.md",
        "memory/_CLOSETS.md",
        "memory/.graph.md",
    ] {
        assert!(built.contains(made), "{built}");
    }
    assert!(ws.read("_MANIFEST.md").contains("_CLOSETS-archive"));

    // The graph has the closets that were made with it.
    let again = ws.run(&["closets", "build", "--force"]);
    assert!(!again.stderr.contains("Rebuilt"), "{again}");
    assert_eq!(sources(&ws), built);

    ws.run(&["doctor", "--undo", "--yes"]).ok();
    assert_eq!(sources(&ws), before);
}

#[test]
fn check_finds_what_is_out_of_date() {
    let ws = workspace();
    let said = ws.run(&["closets", "check"]);
    said.fails(1);
    assert!(
        said.stdout.contains("the hub `Legal` has no closets"),
        "{said}"
    );
    ws.run(&["closets", "build"]).ok();
    ws.run(&["closets", "check"]).ok();
    ws.write("legal/nda.md", "I always sign.\n");
    ws.write("legal/new.md", "I am new.\n");
    ws.remove("legal/lease.md");
    let said = ws.run(&["closets", "check"]);
    said.fails(1);
    for finding in [
        "closet entry [[nda]] is older than its file",
        "closet entry [[lease]] points to missing file",
        "no entry for `legal/new.md`",
    ] {
        assert!(said.stdout.contains(finding), "{finding}: {said}");
    }
}

#[test]
fn show_answers_by_field_and_from_the_archive_last() {
    let ws = workspace();
    ws.run(&["closets", "build"]).ok();
    let said = ws.run(&["closets", "show", "Berlin office"]);
    assert!(said.ok().starts_with("[[lease]]"), "{said}");
    assert!(
        said.stdout
            .contains("  decisions: We dropped the Berlin office"),
        "{said}"
    );
    let found = json(&ws.run(&["closets", "show", "Maria", "--field", "people", "--json"]));
    assert_eq!(found["results"][0]["entry"], "nda");
    assert_eq!(found["results"][0]["path"], "legal/nda.md");
    assert_eq!(found["results"][0]["matched"]["people"][0], "Maria Lopez");
    // A question is text, not an option and not a pattern.
    ws.run(&["closets", "show", "--", "-e (["]).ok();
}

#[test]
fn a_dry_run_shows_the_change_and_makes_none() {
    let ws = workspace();
    let said = ws.run(&["closets", "build", "--dry-run", "--hub", "legal"]);
    assert!(said.ok().contains("+## [[nda]]"), "{said}");
    assert!(!ws.exists("legal/_CLOSETS.md") && !ws.exists("memory/.reindex-runs.log"));
    let said = ws.run(&["closets", "build", "--hub", "nope"]);
    assert!(said.fails(2).contains("There is no hub `nope`"), "{said}");
}

/// Forty notes, of which ten go to the archive of the closets.
fn forty() -> TestWorkspace {
    let ws = ws("
        //- knowledge/coffee.md
        ---
        date: 2026-01-05
        ---
        # Breakfast

        I am allergic to coffee. I cannot drink it.
    ");
    for at in 0..39 {
        ws.write(
            &format!("knowledge/n{at:02}.md"),
            format!("# Cup {at}\n\nI bought cup number {at} for the office kitchen.\n"),
        );
    }
    ws.run(&["closets", "build"]).ok();
    ws
}

/// The files that `closets show` names, best first.
fn shown(ws: &TestWorkspace, question: &str, n: &str) -> Vec<String> {
    let answer = json(&ws.run(&["closets", "show", question, "-n", n, "--json"]));
    paths(&answer)
}

/// "One ranking for both, archived entries included where they are better."
#[test]
fn show_search_and_the_tool_rank_alike_and_archived_entries_too() {
    let ws = forty();
    let archive = ws.read("knowledge/_CLOSETS-archive.md");
    let archived: Vec<usize> = (0..39)
        .filter(|at| archive.contains(&format!("## [[n{at:02}]]")))
        .collect();
    assert!(archived.len() >= 9, "{archive}");
    let question = format!("where is cup number {}?", archived[0]);
    let by_show = shown(&ws, &question, "5");
    let flags = ["--scope", "closets", "--unique", "-n", "5"];
    assert_eq!(by_show, found(&ws, &question, &flags));
    assert_eq!(by_show, found(&ws, &question, &flags[..2]));
    assert_eq!(by_show[0], format!("knowledge/n{:02}.md", archived[0]));
    let mut client = Client::legacy(&ws, &[]);
    let result = client.call(
        "search_knowledge",
        serde_json::json!({ "query": question, "scope": "closets", "limit": 5 }),
    );
    assert_eq!(by_show, paths(&result["structuredContent"]), "{result}");
}

/// "`--unique` returns as many different files as were asked for, and never a
/// closets file itself."
#[test]
fn unique_names_as_many_files_as_were_asked_for() {
    let ws = forty();
    ws.write(
        "knowledge/_CLOSETS.md",
        ws.read("knowledge/_CLOSETS.md")
            + "\n## [[gone]]\n- subjects: office kitchen cup\n\n## Notes\nA cup by hand.\n",
    );
    for n in [7, 35] {
        let flags = ["--scope", "closets", "--unique", "-n", &n.to_string()];
        let mut files = found(&ws, "cup for the office kitchen", &flags);
        files.sort();
        files.dedup();
        assert_eq!(files.len(), n, "{files:?}");
        for file in files {
            assert!(ws.exists(&file) && !file.contains("_CLOSETS"), "{file}");
        }
    }
    // What only a closets file says is found where files may repeat.
    let by_hand = found(&ws, "\"cup by hand\"", &["--scope", "closets"]);
    assert_eq!(by_hand, ["knowledge/_CLOSETS.md"]);
}

/// "Vectors for entries": no word of the question is in the entry.
#[test]
fn entries_are_found_by_meaning() {
    let ws = forty();
    let question = "which beverage makes me ill";
    let flags = ["--scope", "closets", "--mode", "vector"];
    let said = answer(&ws, question, &flags);
    assert_eq!(said["mode"], "vector");
    assert_eq!(paths(&said)[0], "knowledge/coffee.md");
    assert_eq!(shown(&ws, question, "5")[0], "knowledge/coffee.md");
}

/// "A warning where a mode is not available."
#[test]
fn a_mode_that_is_not_available_is_a_warning() {
    let ws = forty().env("MEMORY_FORGE_MODEL", "/nowhere/model.bin");
    let search = ["search", "coffee", "--scope", "closets", "--mode", "vector"];
    for arguments in [&search[..], &["closets", "show", "coffee"]] {
        let said = ws.run(arguments);
        assert!(said.ok().contains("coffee"), "{said}");
        assert!(
            said.stderr.contains("searching by keyword only"),
            "{arguments:?}: {said}"
        );
        let said = json(&ws.run(&[arguments, &["--json"]].concat()));
        assert_eq!(said["mode"], "text", "{said}");
        assert!(said["modeNote"].is_string(), "{said}");
    }
}

/// "Front matter alone is never a hit", in any scope.
#[test]
fn front_matter_alone_is_never_a_hit() {
    let body = "The heron waits in the shallow water.\n\n".repeat(80);
    let ws = ws("");
    ws.write(
        "knowledge/long.md",
        format!("---\ndescription: zanzibar\n---\n# Herons\n\n{body}\n"),
    );
    ws.write(
        "knowledge/empty.md",
        "---\ndescription: zanzibar madagascar\n---\n",
    );
    ws.write("memory/status.md", "---\nphase: zanzibar\n---\n");
    for scope in ["knowledge", "state", "closets", "all"] {
        let said = answer(&ws, "zanzibar", &["--scope", scope, "-n", "20"]);
        for hit in said["results"].as_array().expect("a list") {
            let text = hit["text"].as_str().expect("text");
            assert!(text.contains("heron"), "{scope}: {hit}");
        }
    }
    let mut paths = found(&ws, "zanzibar", &[]);
    paths.dedup();
    assert_eq!(paths, ["knowledge/long.md"]);
}
