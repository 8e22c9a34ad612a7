//! Links between files: checked, proposed, added, and kept when a file moves.

use crate::harness::{json, unpack_bench, ws};
use testkit::TestWorkspace;

fn team() -> TestWorkspace {
    ws("
        //- index.md
        # Index

        [[glossary]], [[plan#Gone]], [[Roadmpa]], [b](missing.md) and the Glossary.
        //- work/Glossary.md
        Words. See the plan and the road map.
        //- work/plan.md
        # Plan
        //- work/roadmap.md
        ---
        aliases: [road map]
        ---
        //- work/_CLOSETS.md
        ## [[burnt]]
    ")
}

#[test]
fn check_lists_what_is_broken_with_its_line_and_the_nearest_name() {
    let output = team().run(&["links", "check"]);
    insta::assert_snapshot!(output, @r"
    exit: 1
    --- stdout
    BROKEN WIKILINKS (1 found):
      index.md:3: [[Roadmpa]] -> did you mean [[roadmap]]?
    BROKEN MARKDOWN LINKS (1 found):
      index.md:3: (missing.md)
    MISSING HEADINGS AND BLOCKS (1 found):
      index.md:3: [[plan#Gone]]
    CLOSETS ISSUES (2 found):
      work/_CLOSETS.md: missing memex-closets version marker
      work/_CLOSETS.md:1: closet entry [[burnt]] points to missing file
    --- stderr
    5 links in 5 notes were checked
    ");
}

#[test]
fn a_clean_vault_says_so_in_the_words_of_old() {
    let clean = ws("//- a.md\n[[b]]\n//- b.md\n");
    let output = clean.run(&["links", "check"]);
    assert_eq!(
        output.ok(),
        "CLEAN - zero broken wikilinks, closets valid\n"
    );
    let output = ws("//- x/_CLOSETS.md\n# Closets: x\n").run(&["links", "check"]);
    assert!(
        output
            .ok()
            .ends_with("CLEAN wikilinks (closets issues above are warnings)\n"),
        "{output}"
    );
}

#[test]
fn check_can_be_narrowed_and_printed_for_programs() {
    let ws = team();
    let output = ws.run(&["links", "check", "--files", "work/plan.md"]);
    assert_eq!(
        output.ok(),
        "CLEAN - zero broken wikilinks, closets valid\n"
    );
    let output = ws.run(&["links", "check", "--json"]);
    output.fails(1);
    let value: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(value["broken"], 2);
    assert_eq!(value["troubles"][1]["nearest"], "roadmap");
    assert_eq!(value["troubles"][1]["line"], 3);
    let output = ws.run(&["links", "check", "--files", "nope.md"]);
    assert!(
        output.fails(2).contains("There is no file `nope.md`"),
        "{output}"
    );
    let output = ws.run(&["links", "check", "--limit", "0"]);
    assert!(
        output
            .stdout
            .contains("… and 1 more; `--json` lists all of them"),
        "{output}"
    );
}

#[test]
fn mentions_are_listed_and_exact_ones_become_links() {
    let ws = team();
    let output = ws.run(&["links", "suggest"]);
    assert_eq!(
        output.ok(),
        "PLAIN TEXT REFERENCES (2 found):\n  \
         work/Glossary.md:1: \"plan\" -> [[plan]]\n  \
         work/Glossary.md:1: \"road map\" -> [[roadmap]]\n"
    );
    let before = ws.tree_of_sources();
    let output = ws.run(&["links", "apply", "--dry-run"]);
    assert!(
        output
            .ok()
            .contains("+Words. See the [[plan]] and the road map."),
        "{output}"
    );
    assert_eq!(ws.tree_of_sources(), before);
    let output = ws.run(&["links", "apply"]);
    assert!(output.fails(2).contains("pass `--yes` to "), "{output}");
    let output = ws.run(&["links", "apply", "--yes"]);
    assert!(
        output.ok().ends_with("✓ Added 1 link in 1 file\n"),
        "{output}"
    );
    let once = ws.tree_of_sources();
    assert_eq!(
        ws.run(&["links", "apply", "--yes"]).ok(),
        "✓ Nothing to link\n"
    );
    assert_eq!(ws.tree_of_sources(), once, "twice is once");
    ws.run(&["links", "apply", "--all", "--yes"]).ok();
    assert_eq!(
        ws.read("work/Glossary.md"),
        "Words. See the [[plan]] and the [[roadmap|road map]].\n"
    );
    ws.run(&["doctor", "--undo"]).ok();
    ws.run(&["doctor", "--undo"]).ok();
    assert_eq!(ws.tree_of_sources(), before);
}

#[test]
fn nothing_to_suggest_is_said_in_the_words_of_old() {
    let output = ws("//- a.md\nNothing.\n").run(&["links", "suggest"]);
    assert_eq!(
        output.ok(),
        "No plain text file references found - all references use wikilinks\n"
    );
}

#[test]
fn a_rename_takes_its_links_along_and_comes_back_with_one_undo() {
    let ws = team();
    let before = ws.tree_of_sources();
    let output = ws.run(&["links", "rename", "glossary", "words", "--yes"]);
    insta::assert_snapshot!(output, @r"
    exit: 0
    --- stdout
    work/Glossary.md → work/words.md
    --- a/index.md
    +++ b/index.md
    @@ -1,3 +1,3 @@
     # Index
     
    -[[glossary]], [[plan#Gone]], [[Roadmpa]], [b](missing.md) and the Glossary.
    +[[words]], [[plan#Gone]], [[Roadmpa]], [b](missing.md) and the Glossary.
    ✓ Renamed; rewrote 1 link in 1 file
    --- stderr
    `memory-forge doctor --undo 0001` restores the exact bytes
    ");
    assert!(!ws.exists("work/Glossary.md"));
    assert_eq!(
        ws.read("work/words.md"),
        "Words. See the plan and the road map.\n"
    );
    ws.run(&["doctor", "--undo"]).ok();
    assert_eq!(ws.tree_of_sources(), before);
}

#[test]
fn a_rename_that_cannot_be_is_refused() {
    let ws = team();
    let before = ws.tree_of_sources();
    let refused = |old: &str, new: &str, expect: &str| {
        let output = ws.run(&["links", "rename", old, new, "--yes"]);
        assert_ne!(output.status, Some(0), "{output}");
        assert!(output.stderr.contains(expect), "{output}");
    };
    refused("nope", "x", "There is no file `nope`");
    refused("plan", "roadmap", "`work/roadmap.md` exists already");
    refused("plan", "../../out", "leads upwards");
    refused("plan", "a[b", "No link can hold");
    refused("plan", "plan", "has that name already");
    assert_eq!(ws.tree_of_sources(), before);
    let output = ws.run(&["links", "rename", "plan", "x", "--dry-run", "--json"]);
    let value = json(&output);
    assert_eq!(
        (&value["to"], &value["changed"]),
        (&"work/x.md".into(), &false.into())
    );
    assert_eq!(ws.tree_of_sources(), before);
}

/// Obsidian's own help: what is reported there is missing there. Its archive
/// has no attachments, and one page links to an example that does not exist.
#[test]
fn the_help_of_obsidian_has_no_false_alarm() {
    let ws = ws("");
    if !unpack_bench("md/obsidian-help-en.tar.gz", ws.root()) {
        return;
    }
    let output = ws.run(&["links", "check", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(value["notes"], 173);
    let troubles = value["troubles"].as_array().expect("a list");
    for trouble in troubles {
        let link = trouble["link"].as_str().expect("a text");
        let target = link.split('#').next().unwrap_or(link);
        let attachment = [".svg", ".png", ".jpg", ".jpeg", ".mp4", ".ogg"]
            .iter()
            .any(|ending| target.ends_with(ending));
        assert!(
            attachment || matches!(target, "Example" | "Example.md"),
            "{trouble}"
        );
    }
}
