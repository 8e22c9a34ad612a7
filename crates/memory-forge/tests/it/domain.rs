//! `domain add|list`.

use crate::harness::{json, ws};

const FILES: &str = "\
//- _MANIFEST.md
# Context Routing
<!-- memex-managed:2.1.3 -->
<!-- summary-format-version:2 -->

## Tier 2 - By Domain

### Legal

Closets: [[working/legal/_CLOSETS]]

## Hub Map

| Domain | Hub | Summary |
|---|---|---|
| Legal | [[working/legal/_CLOSETS]] | |
//- working/legal/lease.md
# Lease

See [[interviews]] and [the same](../../interviews.md).
//- working/legal/_CLOSETS.md
# Closets: Legal

<!-- memex-closets:1.0 -->
//- interviews.md
# Interviews

Back to [lease](./working/legal/lease.md).
";

#[test]
fn a_domain_is_made_beside_its_siblings_and_twice_is_once() {
    let ws = ws(FILES);
    let output = ws.run(&["domain", "add", "Customer Research"]);
    assert_eq!(output.ok(), "✓ Domain working/customer-research added\n");
    assert_eq!(
        ws.read("working/customer-research/_CLOSETS.md"),
        "# Closets: Customer Research\n\n<!-- memex-closets:1.0 -->\n"
    );
    let text = ws.read("_MANIFEST.md");
    assert!(
        text.contains(
            "### Customer Research\n\nClosets: [[working/customer-research/_CLOSETS]]\n\n## Hub Map"
        ),
        "{text}"
    );
    assert!(
        text.ends_with("| Customer Research | [[working/customer-research/_CLOSETS]] |  |\n"),
        "{text}"
    );
    let once = ws.tree_of_sources();
    let again = ws.run(&["domain", "add", "customer research"]);
    assert!(again.ok().contains("exists already"), "{again}");
    assert_eq!(ws.tree_of_sources(), once);
    let list = json(&ws.run(&["domain", "list", "--json"]));
    assert_eq!(list["domains"][1]["folder"], "working/customer-research");
    assert_eq!(list["domains"][0]["files"], 1);
}

#[test]
fn a_folder_that_has_notes_becomes_the_domain() {
    let ws = ws(FILES);
    ws.write("notes/recipes/rye.md", "# Rye\n");
    let output = ws.run(&["domain", "add", "recipes"]);
    assert_eq!(
        output.ok(),
        "✓ Domain notes/recipes added; 1 document of it is searched\n"
    );
    ws.write("old/ovens/a.md", "# A\n");
    ws.write("new/ovens/b.md", "# B\n");
    let output = ws.run(&["domain", "add", "new/ovens"]);
    assert_eq!(
        output.ok(),
        "✓ Domain new/ovens added; 1 document of it is searched\n"
    );
    assert!(
        ws.read("_MANIFEST.md")
            .contains("| ovens | [[new/ovens/_CLOSETS]] |")
    );
}

#[test]
fn files_move_with_their_links_in_one_change() {
    let ws = ws(FILES);
    let before = ws.tree_of_sources();
    let asked = ws.run(&["domain", "add", "research", "--move", "interviews.md"]);
    assert!(
        asked.fails(2).contains("pass `--yes` to move 1 file"),
        "{asked}"
    );
    assert_eq!(ws.tree_of_sources(), before);
    ws.run(&[
        "domain",
        "add",
        "research",
        "--move",
        "interviews.md",
        "--yes",
    ])
    .ok();
    assert!(!ws.exists("interviews.md"));
    assert_eq!(
        ws.read("working/research/interviews.md"),
        "# Interviews\n\nBack to [lease](../legal/lease.md).\n"
    );
    assert_eq!(
        ws.read("working/legal/lease.md"),
        "# Lease\n\nSee [[interviews]] and [the same](../research/interviews.md).\n"
    );
    ws.run(&["links", "check"]).ok();
    ws.run(&["doctor", "--undo", "--yes"]).ok();
    assert_eq!(ws.tree_of_sources(), before);
}

#[test]
fn catch_alls_and_taken_names_are_refused() {
    let ws = ws(FILES);
    let before = ws.tree_of_sources();
    let check = |name: &str, expect: &str| {
        let output = ws.run(&["domain", "add", "--", name]);
        assert!(output.fails(1).contains(expect), "{name}: {output}");
    };
    check("Misc", "is a catch-all name");
    check("stuff", "is a catch-all name");
    check("memory", "has a meaning of its own");
    check("../evil", "leads upwards");
    check("🙂", "no letters or digits");
    assert_eq!(ws.tree_of_sources(), before);
    let output = ws.run(&["domain", "add", "legals"]);
    output.ok();
    assert!(
        output.stderr.contains("The domain `legal` exists already"),
        "{output}"
    );
}

#[test]
fn a_hostile_name_makes_no_structure() {
    let ws = ws(FILES);
    ws.run(&[
        "domain",
        "add",
        "a | b\n## Tier 1 - Always Load\n<!-- x -->",
    ])
    .ok();
    let answer = json(&ws.run(&["manifest", "show", "--json"]));
    assert_eq!(answer["tier1"], serde_json::json!([]));
    assert_eq!(answer["domains"][1], "working/a-b-tier-1-always-load-x");
    assert_eq!(answer["hubMap"].as_array().unwrap().len(), 2);
}

#[test]
fn a_manifest_without_a_marker_gets_a_hub_page() {
    let ws = ws("//- _MANIFEST.md\n# Map\n\n## Tier 1\n");
    ws.run(&["domain", "add", "Legal"]).ok();
    assert!(
        ws.read("legal/legal-index.md")
            .contains("| File | Purpose | Status |")
    );
    assert!(!ws.exists("legal/_CLOSETS.md"));
    assert!(
        ws.read("_MANIFEST.md")
            .ends_with("| Legal | [[legal-index]] |  |\n")
    );
    let once = ws.tree_of_sources();
    ws.run(&["domain", "add", "Legal"]).ok();
    assert_eq!(ws.tree_of_sources(), once);
}
