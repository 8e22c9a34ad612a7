//! `closets`: the program keeps, checks and answers from `_CLOSETS.md`.

use testkit::TestWorkspace;

use crate::harness::{json, ws};

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
