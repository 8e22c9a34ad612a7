//! `upgrade`: from the first format to the current one.

use testkit::TestWorkspace;

use crate::harness::{json, ws};

const OLD: &str = "\
//- _MANIFEST.md
# Context Routing
<!-- memex-managed:1.4.0 -->

Keep me.

## Tier 1 - Always Load

| File | Purpose | Freshness |
|---|---|---|
| [[memory/status]] |  | Daily |

## Hub Map

| Domain | Hub | Summary |
|---|---|---|
| Legal | [[legal-index]] |  |
| People | [[people/_CLOSETS]] |  |
//- memory/status.md
# Status

We build things.
//- legal/legal-index.md
| File | Purpose | Status |
|---|---|---|
| [[lease]] | Rent and terms | Active |
//- legal/lease.md
# Lease

It ends on 2027-01-31.
//- people/anna.md
# Anna

Anna Berg runs the office.
";

fn old() -> TestWorkspace {
    ws(OLD)
}

#[test]
fn w7_a_dry_run_takes_no_lock_and_writes_nothing() {
    let ws = old();
    ws.write(
        "memory/.upgrade.lock",
        "2026-03-01T08:59:00Z  pid=1  agent=x\n",
    );
    let before = ws.tree();
    let output = ws.run(&["upgrade", "--dry-run"]);
    let expect = "\
• The marker is of version 1.4.0
• Summaries are of the first format
• `memory/` has no closets of the current format
• No closets: Legal, People
1. Resummarize: fill and renew the summaries of the manifest
2. Reindex: build the closets of Legal, People, memory
3. Set the marker to 2.1.3
";
    assert_eq!(output.ok(), expect);
    assert_eq!(ws.tree(), before);
    ws.run(&["upgrade"]).fails(1);
}

#[test]
fn an_old_workspace_becomes_current_once() {
    let ws = old();
    let (lease, anna) = (ws.read("legal/lease.md"), ws.read("people/anna.md"));
    ws.run(&["upgrade"]).ok();
    let manifest = ws.read("_MANIFEST.md");
    assert!(manifest.starts_with("# Context Routing\n<!-- memex-managed:2.1.3 -->\n<!-- summary-format-version:2 -->\n\nKeep me.\n"), "{manifest}");
    assert!(
        manifest.contains("We build things") && manifest.contains(" | Daily |"),
        "{manifest}"
    );
    for closets in [
        "legal/_CLOSETS.md",
        "people/_CLOSETS.md",
        "memory/_CLOSETS.md",
    ] {
        assert!(
            ws.read(closets).contains("<!-- memex-closets:1."),
            "{closets}"
        );
    }
    assert!(
        ws.read("legal/legal-index.md")
            .contains("| Rent and terms |"),
        "people's words stay"
    );
    assert_eq!(
        (ws.read("legal/lease.md"), ws.read("people/anna.md")),
        (lease, anna)
    );
    let log = ws.read("memory/.upgrade-runs.log");
    assert_eq!(
        log,
        "2026-03-01T09:00:00Z  from=1.4.0 to=2.1.3 resummarize=yes reindex=yes hubs=3 files=3  status=ok\n"
    );
    assert!(!ws.exists("memory/.upgrade.lock") && !ws.exists("memory/.reindex.lock"));

    let once = ws.tree_of_sources();
    assert_eq!(
        ws.run(&["upgrade"]).ok(),
        "✓ The workspace is current (version 2.1.3)\n"
    );
    assert_eq!(ws.tree_of_sources(), once);
}

#[test]
fn w5_closets_of_hubs_without_a_page_are_missed_too() {
    let ws = old();
    let answer = json(&ws.run(&["upgrade", "--dry-run", "--json"]));
    assert!(
        answer["signals"]
            .to_string()
            .contains("No closets: Legal, People"),
        "{answer}"
    );
}

#[test]
fn an_upgrade_that_was_cut_off_goes_on() {
    let ws = old();
    // A folder in the place of closets stops it behind the summaries.
    ws.write("people/_CLOSETS.md/x.md", "x");
    ws.run(&["upgrade"]).fails(1);
    let manifest = ws.read("_MANIFEST.md");
    assert!(
        manifest.contains("memex-managed:1.4.0"),
        "the marker comes last: {manifest}"
    );
    assert!(manifest.contains("We build things"), "what was done stays");
    assert!(ws.exists("memory/.upgrade.lock"), "left in place on error");
    ws.remove("people/_CLOSETS.md");
    let refused = ws.run(&["upgrade"]);
    assert!(
        refused.fails(1).contains("Upgrade already running"),
        "{refused}"
    );
    let later = ws.now("2026-03-01T09:31:00Z");
    later.run(&["upgrade"]).ok();
    assert!(later.read("_MANIFEST.md").contains("memex-managed:2.1.3"));
    assert!(!later.exists("memory/.upgrade.lock"));
}

#[test]
fn a_manifest_without_a_marker_is_refused_with_advice() {
    let ws = ws("//- _MANIFEST.md\n# Map\n\n## Tier 1\n\n| File | Purpose |\n|---|---|\n");
    let before = ws.tree();
    let output = ws.run(&["upgrade"]);
    assert!(
        output
            .fails(1)
            .contains("run `memory-forge init --workspace`"),
        "{output}"
    );
    assert_eq!(ws.tree(), before);
    ws.write("_MANIFEST.md", "<!-- memex-managed:9.0 -->\n");
    assert!(
        ws.run(&["upgrade"])
            .fails(1)
            .contains("update memory-forge")
    );
}
