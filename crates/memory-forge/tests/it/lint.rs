//! `lint`: the nine checks, their report and their repairs.

use crate::harness::ws;
use testkit::TestWorkspace;

pub(crate) const CLEAN: &str = "
    //- _MANIFEST.md
    # Context Routing
    <!-- memex-managed:2.1.3 -->
    <!-- summary-format-version:2 -->

    ## Tier 1 - Always Load
    | File | Summary | Volatility |
    |---|---|---|
    | [[status]] | Where we are | VOLATILE |

    ## Tier 2 - By Domain
    ### Garden
    Closets: [[garden/_CLOSETS]]

    ## Hub Map
    | Domain | Hub | Summary |
    |---|---|---|
    | Garden | [[garden/_CLOSETS]] | Beds and seeds |
    //- memory/status.md
    # Status

    Last updated: 2026-02-28

    **Phase:** Spring
    //- memory/_CLOSETS.md
    # Closets: memory

    <!-- memex-closets:1.1 -->
    //- memory/decisions.md
    # Decisions

    **2026-02-01** - Seeds come from Bloom
    //- garden/beans.md
    # Beans
    They climb.
    //- garden/_CLOSETS.md
    # Closets: garden

    <!-- memex-closets:1.0 -->

    ## [[beans]]
    - subjects: beans
    - people: [[Nobody Yet]]
";

#[test]
fn a_clean_workspace_passes() {
    let ws = ws(CLEAN);
    let tree = ws.tree();
    assert_eq!(
        ws.run(&["lint"]).ok(),
        "\
Workspace Health Report

STATUS FRESHNESS: PASS
DECISION CONSISTENCY: PASS
ORPHAN FILES: PASS
ORPHAN FOLDERS: PASS
STALE BLOCKERS: PASS
CLOSETS COVERAGE: PASS
TYPED-EDGE GRAPH: PASS
SUMMARY FORMAT VERSION: PASS
MANIFEST CONSISTENCY: PASS

Summary: 0 warnings, 0 info across 9 checks
All checks passed. Workspace is clean.
"
    );
    assert_eq!(ws.tree(), tree, "checking changes nothing");
}

/// A workspace with something for every check.
fn broken() -> TestWorkspace {
    let ws = ws(CLEAN);
    ws.write(
        "memory/status.md",
        "# Status\n\nLast updated: 2026-02-10\n\n## Blocked\n- Water meter\n",
    );
    ws.write(
        "memory/decisions.md",
        "# Decisions\n\n**2026-02-01** - Seeds come from Bloom\n**2026-02-20** - Seeds from the cooperative instead of Bloom\n",
    );
    ws.write(
        "garden/peas.md",
        "---\nsupersedes: \"[[lentils]]\"\n---\n# Peas\n",
    );
    ws.write(
        "garden/_CLOSETS.md",
        "# Closets: garden\n\n<!-- memex-closets:1.0 -->\n\n## [[gone]]\n- subjects: gone\n\n## [[beans]]\n- subjects: beans\n",
    );
    ws.write("kitchen/soup.md", "# Soup\n");
    let manifest = ws.read("_MANIFEST.md");
    let manifest = manifest
        .replace(
            "<!-- summary-format-version:2 -->",
            "<!-- summary-format-version:1 -->",
        )
        .replace(
            "| [[status]] | Where we are | VOLATILE |\n",
            "| [[status]] | Where we are | VOLATILE |\n| [[contacts]] | People | STABLE |\n",
        )
        + "| Shed | [[shed/_CLOSETS]] | Tools |\n\n## Tier 3 - Archive\n| File | Reason | Date |\n|---|---|---|\n| [[lost]] | Old | 2026-01-01 |\n";
    ws.write("_MANIFEST.md", manifest);
    ws
}

#[test]
fn each_check_finds_what_it_is_for() {
    let ws = broken();
    // A domain without notes needs its closets; one without a folder is a row
    // that leads nowhere.
    ws.write("attic/boxes.txt", "12\n");
    let shed = "| Shed | [[shed/_CLOSETS]] | Tools |\n";
    let attic = format!("{shed}| Attic | [[attic/_CLOSETS]] | Boxes |\n");
    ws.write(
        "_MANIFEST.md",
        ws.read("_MANIFEST.md").replace(shed, &attic),
    );
    let output = ws.run(&["lint"]);
    output.fails(1);
    let text = &output.stdout;
    for expect in [
        "STATUS FRESHNESS: 1 issues\n  [WARN] memory/status.md was last updated 2026-02-10, 19 days ago -- fix: ",
        "DECISION CONSISTENCY: 1 issues\n  [WARN] memory/decisions.md:3 \"Seeds come from Bloom\" is superseded by line 4 \"Seeds from the cooperative instead of Bloom\" (instead of) -- fix: ",
        "  [WARN] garden/peas.md is in no list of Garden -- fix: ",
        "  [INFO] garden/_CLOSETS.md:5 lists [[gone]], which is not there -- fix: ",
        "ORPHAN FOLDERS: 1 issues\n  [WARN] kitchen/ has 1 Markdown file and is not in the Hub Map -- fix: run `memory-forge domain add kitchen`",
        "STALE BLOCKERS: 1 issues\n  [WARN] \"Water meter\" is blocked since 2026-02-10",
        "CLOSETS COVERAGE: 1 issues\n  [WARN] Attic has no attic/_CLOSETS.md -- fix: ",
        "TYPED-EDGE GRAPH: 1 issues\n  [WARN] ",
        "SUMMARY FORMAT VERSION: 1 issues\n  [WARN] summaries have format 1, and 2 is current",
        "  [WARN] Tier 1 lists [[contacts]], which is not there",
        "  [WARN] Hub Map lists [[shed/_CLOSETS]], which is not there",
        "  [INFO] Tier 3 lists [[lost]], which is not there",
        "across 9 checks\n\nSuggested next actions:\n- STATUS FRESHNESS: ",
    ] {
        assert!(text.contains(expect), "{expect}\n---\n{text}");
    }
    assert!(!text.contains("Nobody Yet"), "people need no page");
    let output = ws.run(&["lint", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(value["checks"].as_array().unwrap().len(), 9);
}

#[test]
fn w5_closets_only_hubs_are_checked() {
    let ws = ws(CLEAN);
    ws.remove("garden/_CLOSETS.md");
    let output = ws.run(&["lint"]);
    output.fails(1);
    assert!(
        output
            .stdout
            .contains("[WARN] Garden has no garden/_CLOSETS.md"),
        "{output}"
    );
    ws.remove("memory/_CLOSETS.md");
    let output = ws.run(&["lint"]);
    assert!(
        output
            .stdout
            .contains("[WARN] memory has no memory/_CLOSETS.md"),
        "{output}"
    );
    // Without a marker nothing of that is a duty.
    let manifest = ws.read("_MANIFEST.md");
    ws.write(
        "_MANIFEST.md",
        manifest.replace("<!-- memex-managed:2.1.3 -->\n", ""),
    );
    let output = ws.run(&["lint"]);
    assert!(output.stdout.contains("CLOSETS COVERAGE: PASS"), "{output}");
    assert!(
        output.stdout.contains("SUMMARY FORMAT VERSION: PASS"),
        "{output}"
    );
}

#[test]
fn repairs_are_one_change_that_can_be_undone() {
    let ws = broken();
    let manifest = ws.read("_MANIFEST.md");
    ws.write(
        "_MANIFEST.md",
        manifest
            .replace("format-version:1", "format-version:2")
            .replace("| Where we are |", "| |"),
    );
    let tree = ws.tree_of_sources();
    let output = ws.run(&["lint", "--fix"]);
    output.fails(1);
    let decisions = ws.read("memory/decisions.md");
    assert!(
        decisions.contains("~~**2026-02-01** - Seeds come from Bloom~~ (superseded 2026-02-20)\n"),
        "{decisions}"
    );
    let closets = ws.read("garden/_CLOSETS.md");
    assert_eq!(
        closets,
        "# Closets: garden\n\n<!-- memex-closets:1.0 -->\n\n## [[beans]]\n- subjects: beans\n"
    );
    let manifest = ws.read("_MANIFEST.md");
    assert!(!manifest.contains("| [[status]] | |"), "{manifest}");
    assert!(
        manifest.contains("[[contacts]]"),
        "rows are dropped after a yes alone"
    );
    assert!(
        output.stderr.contains("Drop the row of [[contacts]]"),
        "{output}"
    );
    let fixed = ws.tree_of_sources();
    ws.run(&["lint", "--fix"]).fails(1);
    assert_eq!(ws.tree_of_sources(), fixed, "twice is once");
    ws.run(&["doctor", "--undo"]).ok();
    assert_eq!(ws.tree_of_sources(), tree, "one change");
}

#[test]
fn a_yes_drops_rows_of_files_that_are_gone() {
    let ws = broken();
    let output = ws.run(&["lint", "--fix", "--yes", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(value["changes"].as_array().unwrap().len(), 2, "{output}");
    let manifest = ws.read("_MANIFEST.md");
    for gone in ["[[contacts]]", "[[shed/_CLOSETS]]", "[[lost]]"] {
        assert!(!manifest.contains(gone), "{gone}\n{manifest}");
    }
    assert!(manifest.contains("| [[status]] | Where we are | VOLATILE |"));
    let fixed = ws.tree_of_sources();
    ws.run(&["lint", "--fix", "--yes"]).fails(1);
    assert_eq!(ws.tree_of_sources(), fixed);
}

#[test]
fn a_memory_without_a_manifest_is_linted_too() {
    let ws = ws("//- .mind/STATE.md\n# Project State\n\n## Last Updated\n2026-02-28\n");
    assert!(ws.run(&["lint"]).ok().contains("All checks passed."));
    assert!(
        crate::harness::ws("")
            .run(&["lint"])
            .fails(1)
            .contains("hint: `memory-forge init --workspace`")
    );
}

#[test]
fn our_examples_are_clean() {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/workspaces");
    for name in ["startup", "nonprofit", "code"] {
        let ws = ws("");
        testkit::copy(&std::path::Path::new(examples).join(name), ws.root());
        let tree = ws.tree_of_sources();
        let lint = ws.run(&["lint"]);
        assert!(lint.ok().contains("All checks passed."), "{name}: {lint}");
        let links = ws.run(&["links", "check"]);
        assert!(
            links
                .ok()
                .contains("CLEAN - zero broken wikilinks, closets valid"),
            "{name}: {links}"
        );
        let graph = ws.run(&["graph", "check"]);
        assert!(graph.ok().contains("no danglers"), "{name}: {graph}");
        assert_eq!(ws.tree_of_sources(), tree);
        let closets = ws.run(&["closets", "build"]);
        assert!(closets.ok().contains("refreshed=0"), "{name}: {closets}");
        for file in tree.lines().filter(|it| it.contains("_CLOSETS")) {
            assert!(ws.tree().contains(file), "{name}: {file} was rebuilt");
        }
    }
}

#[test]
fn a_file_is_listed_by_the_name_that_its_hub_gives_it() {
    let ws = ws("
        //- README.md
        # The whole
        //- _MANIFEST.md
        # Context Routing
        <!-- memex-managed:2.1.3 -->
        <!-- summary-format-version:2 -->

        ## Hub Map

        | Domain | Hub | Summary |
        |---|---|---|
        | Ovens | [[ovens/_CLOSETS]] | Heat |
        //- ovens/README.md
        # Ovens

        The old oven is hot.
    ");
    ws.run(&["closets", "build"]).ok();
    let report = ws.run(&["lint"]).stdout;
    assert!(report.contains("ORPHAN FILES: PASS"), "{report}");
}
