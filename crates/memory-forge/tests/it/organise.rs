//! `init` in a folder that has notes already, and the start of a workspace.

use crate::harness::{found, json, ws};

const NOTES: &str = "\
//- legal/lease.md
# Lease of the shop

The landlord raises the rent. Tenant and landlord sign the contract.
//- legal/permits.md
# Permits

The landlord and the city sign the contract. See [rent](../misc/rent-increase.md).
//- recipes/rye.md
# Rye bread

Flour, water, salt and sourdough. Bake the dough for an hour.
//- recipes/rolls.md
# Rolls

Flour, butter and dough. Bake them early. See lease and [[baguette]].
//- misc/rent-increase.md
# Rent increase

The landlord wants more rent; the contract of the tenant says no. See [rye](../recipes/rye.md).
//- misc/baguette.md
# Baguette

Dough of flour, water and salt. Bake it hot. Deprecated.
";

#[test]
fn a_plan_is_written_edited_applied_and_undone() {
    let ws = ws(NOTES);
    let before = ws.tree_of_sources();
    let answer = json(&ws.run(&["init", "--organise", "--json"]));
    assert_eq!(answer["moves"].as_array().unwrap().len(), 2, "{answer}");
    assert_eq!(ws.tree_of_sources(), before, "JSON alone writes nothing");

    let output = ws.run(&["init", "--organise"]);
    assert!(
        output.ok().starts_with(
            "✓ Wrote memory-forge-plan.toml: 2 domains, 2 moves, 1 stale files, 0 links"
        ),
        "{output}"
    );
    let again = ws.run(&["init", "--organise"]);
    assert!(
        again.fails(1).contains("already exists"),
        "an edited plan is not lost: {again}"
    );

    // A line that is deleted is not done.
    let text = ws.read("memory-forge-plan.toml");
    let kept: String = text
        .split_inclusive('\n')
        .filter(|line| !line.contains("from = \"misc/baguette.md\""))
        .collect();
    ws.write("memory-forge-plan.toml", kept);
    let planned = ws.tree_of_sources();
    let asked = ws.run(&["init", "--apply", "memory-forge-plan.toml"]);
    assert!(asked.fails(2).contains("pass `--yes` to "), "{asked}");
    ws.run(&["init", "--apply", "memory-forge-plan.toml", "--dry-run"])
        .ok();
    assert_eq!(ws.tree_of_sources(), planned, "nothing moves unasked");

    ws.run(&["init", "--apply", "memory-forge-plan.toml", "--yes"])
        .ok();
    assert!(ws.exists("misc/baguette.md") && !ws.exists("misc/rent-increase.md"));
    assert!(!ws.read("legal/permits.md").contains("misc/rent-increase"));
    assert!(
        ws.read("recipes/rolls.md")
            .contains("See [[lease]] and [[baguette]]")
    );
    let manifest = ws.read("_MANIFEST.md");
    assert!(
        manifest.contains("| Legal | [[legal/_CLOSETS]] | "),
        "{manifest}"
    );
    assert!(
        manifest
            .contains("| [[misc/baguette]] | has the word \"deprecated\" in line 3 | 2026-03-01 |"),
        "{manifest}"
    );
    assert!(ws.exists("recipes/_CLOSETS.md") && ws.exists("memory/status.md"));
    ws.run(&["links", "check"]).ok();
    assert_eq!(
        found(&ws, "landlord wants more rent", &[])[0],
        "legal/rent-increase.md"
    );

    ws.run(&["doctor", "--undo", "--yes"]).ok();
    assert_eq!(
        ws.tree_of_sources(),
        planned,
        "one undo takes all of it back"
    );
}

#[test]
fn a_plan_that_does_not_fit_any_more_changes_nothing() {
    let ws = ws(NOTES);
    ws.run(&["init", "--organise", "--plan", "plan.toml"]).ok();
    ws.write("legal/rent-increase.md", "# Somebody was faster\n");
    let before = ws.tree_of_sources();
    let output = ws.run(&["init", "--apply", "plan.toml", "--yes"]);
    assert!(
        output.fails(1).contains("legal/rent-increase.md"),
        "{output}"
    );
    assert_eq!(ws.tree_of_sources(), before);
    ws.write("plan.toml", "version = 1\nmoves = [ { from = \"a\" } ]\n");
    let output = ws.run(&["init", "--apply", "plan.toml", "--yes"]);
    assert!(output.fails(1).contains("line 2"), "{output}");
}

/// What is found where it lies needs no other order.
#[test]
fn init_includes_notes_that_lie_around_and_proposes_no_order() {
    let output = ws(NOTES).run(&["init", "--yes"]);
    output.ok();
    assert!(
        output.stderr.contains("documents in") && !output.stderr.contains("--organise"),
        "{output}"
    );
}

#[test]
fn a_workspace_is_started_with_its_manifest_last() {
    let ws = ws("");
    ws.run(&[
        "init",
        "--workspace",
        "A billing engine\n## Hub Map | x",
        "--yes",
    ])
    .ok();
    let answer = json(&ws.run(&["manifest", "show", "--json"]));
    assert_eq!(answer["mode"], "full");
    assert_eq!(answer["tier1"].as_array().unwrap().len(), 5);
    assert_eq!(answer["hubMap"], serde_json::json!([]));
    assert!(
        ws.read("memory/status.md")
            .contains("## Active Focus\n\n- A billing engine ## Hub Map \\| x\n")
    );
    assert!(
        ws.read("scratch/ideas.md")
            .starts_with("---\ntags: [inbox]\n---\n")
    );
    let once = ws.tree_of_sources();
    assert_eq!(
        ws.run(&["init", "--workspace", "Other", "--yes"]).ok(),
        "Lint: all checks passed\nWikilinks: zero broken\nUntracked: none\nOverall: healthy\n",
        "a current workspace is checked"
    );
    assert_eq!(ws.tree_of_sources(), once);
    // What was made is understood by what reads it.
    let state = json(&ws.run(&["mind", "show", "--json"]));
    assert_eq!(state["state"]["phase"], "Starting", "{state}");
    ws.run(&["links", "check"]).ok();
}

#[test]
fn a_manifest_kept_by_hand_is_adopted() {
    let ws = ws(
        "//- _MANIFEST.md\n# Map\n\nMine.\n\n## Tier 1\n\n## Hub Map\n\n| Domain | Hub | Summary |\n|---|---|---|\n",
    );
    ws.run(&["init", "--workspace", "--yes"]).ok();
    let text = ws.read("_MANIFEST.md");
    assert!(
        text.starts_with("# Map\n<!-- memex-managed:2.1.3 -->\n\nMine.\n"),
        "{text}"
    );
}

/// "On a repository with a working structure the right proposal is none."
#[test]
fn a_repository_of_software_or_of_a_site_keeps_its_order() {
    for file in ["Cargo.toml", "mkdocs.yml", "package.json"] {
        let ws = ws(NOTES);
        ws.write(file, "");
        let output = ws.run(&["init", "--organise"]);
        output.ok();
        assert!(output.stderr.contains("no files to organise"), "{output}");
        assert!(!ws.exists("memory-forge-plan.toml"));
        let output = ws.run(&["init", "--yes"]);
        assert!(!output.stderr.contains("--organise"), "{output}");
    }
}

#[test]
fn what_a_script_reads_stays_and_common_words_are_no_links() {
    let ws = ws(NOTES);
    ws.write("publish.sh", "cp misc/baguette.md out/\n");
    ws.write(
        "legal/config.md",
        "# Config\n\nThe lease of the shop and its terms.\n",
    );
    ws.write(
        "recipes/oven.md",
        "# Oven\n\nThe config of the oven, and dough to bake.\n",
    );
    let answer = json(&ws.run(&["init", "--organise", "--json"]));
    assert!(!answer.to_string().contains("baguette.md\""), "{answer}");
    ws.run(&["init", "--organise"]).ok();
    ws.run(&["init", "--apply", "memory-forge-plan.toml", "--yes"])
        .ok();
    assert!(ws.exists("misc/baguette.md"));
    assert!(
        ws.read("recipes/oven.md")
            .contains("The config of the oven")
    );
}
