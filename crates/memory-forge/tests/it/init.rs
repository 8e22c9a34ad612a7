//! A new project, and one that has everything already.

use crate::harness::ws;

#[test]
fn a_repository_is_prepared_once() {
    let ws = ws("//- .gitignore\ntarget\n//- knowledge/a.md\n# A\n\nText.\n");
    ws.git_init();
    let before = ws.tree();
    let output = ws.run(&["init", "--dry-run"]);
    insta::assert_snapshot!(output, @r#"
    exit: 0
    --- stdout
    --- a/knowledge/README.md
    +++ b/knowledge/README.md
    @@ -0,0 +1,7 @@
    +# Knowledge
    +
    +What this project knows, one topic to a file. Search it with `memory-forge search "<question>"`, or with `grep`.
    +
    +<!-- memory-forge:index:begin -->
    +- [A](a.md) — Text.
    +<!-- memory-forge:index:end -->
    --- a/.gitignore
    +++ b/.gitignore
    @@ -1 +1,3 @@
     target
    +.memory-forge/
    +*.local.md
    --- stderr
    Nothing was changed (`--dry-run`)
    "#);
    assert_eq!(ws.tree(), before);
    assert!(ws.run(&["init"]).fails(2).contains("pass `--yes` to "));

    let output = ws.run(&["init", "--yes"]);
    assert!(
        output
            .ok()
            .ends_with("✓ Created knowledge/README.md\n✓ Updated .gitignore\n"),
        "{output}"
    );
    assert_eq!(
        ws.read(".gitignore"),
        "target\n.memory-forge/\n*.local.md\n"
    );
    let prepared = ws.tree_of_sources();
    assert_eq!(
        ws.run(&["init", "--yes"]).ok(),
        "✓ Everything is in place\n"
    );
    assert_eq!(ws.tree_of_sources(), prepared);
    assert!(!ws.git(&["status", "--porcelain"]).contains(".memory-forge"));
}

#[test]
fn what_is_there_is_not_touched() {
    let ws = ws("//- knowledge/README.md\nmine\n");
    assert_eq!(
        ws.run(&["init", "--yes"]).ok(),
        "✓ Everything is in place\n"
    );
    assert_eq!(ws.read("knowledge/README.md"), "mine\n");
    assert!(!ws.exists(".gitignore"));
}

/// Seed 000: "`knowledge/README.md` # Human index". `init`, `save` and `index`
/// keep its list; what a person wrote around it survives; a search never
/// writes it.
#[test]
fn the_human_index_follows_the_documents() {
    let ws = ws("//- knowledge/a.md\n# A\n\nText.\n");
    ws.run(&["init", "--yes"]).ok();
    let mine = format!(
        "Mine before.\n{}\nMine behind.\n",
        ws.read("knowledge/README.md")
    );
    ws.write("knowledge/README.md", &mine);
    let save = [
        "save",
        "context",
        "retry-policy",
        "--content",
        "Retry three times.",
    ];
    let saved = ws.run(&save);
    saved.ok();
    assert!(
        saved.stderr.contains("Listed in `knowledge/README.md`"),
        "{saved}"
    );
    let a = "- [A](a.md) — Text.\n";
    let retry = "- [Retry Policy](retry-policy.md) — Retry three times.\n";
    let with_retry = mine.replace(a, &format!("{a}{retry}"));
    assert_eq!(ws.read("knowledge/README.md"), with_retry);

    ws.write("knowledge/a.md", "# Aleph\n\nOther text.\n");
    ws.write("knowledge/b.md", "# B\n\nNew.\n");
    ws.run(&["search", "other text"]).ok();
    assert_eq!(
        ws.read("knowledge/README.md"),
        with_retry,
        "a search writes nothing"
    );
    let index = ws.run(&["index"]);
    assert!(
        index.ok().contains("↻ knowledge/README.md (reindexed)"),
        "{index}"
    );
    let lines = format!("- [Aleph](a.md) — Other text.\n- [B](b.md) — New.\n{retry}");
    let followed = with_retry.replace(&format!("{a}{retry}"), &lines);
    assert_eq!(ws.read("knowledge/README.md"), followed);
    // Idempotent, and the index knows the new list already.
    let again = ws.run(&["index"]);
    assert!(
        again
            .ok()
            .contains("Summary: 4 indexed, 0 updated, 0 removed"),
        "{again}"
    );
    assert_eq!(ws.read("knowledge/README.md"), followed);
    assert_eq!(
        ws.run(&["init", "--yes"]).ok(),
        "✓ Everything is in place\n"
    );

    ws.remove("knowledge/b.md");
    ws.run(&["index"]).ok();
    let gone = followed.replace("- [B](b.md) — New.\n", "");
    assert_eq!(ws.read("knowledge/README.md"), gone);
    assert!(
        ws.run(&["doctor"])
            .stdout
            .contains("✓ readme: Lists every document")
    );
    // One undo takes back a document and its line.
    ws.run(&["save", "context", "c", "--content", "See you."])
        .ok();
    ws.run(&["doctor", "--undo"]).ok();
    assert_eq!(ws.read("knowledge/README.md"), gone);
    assert!(!ws.exists("knowledge/c.md"));
}

/// A README that a person wrote has no list, and none is begun unasked.
#[test]
fn a_readme_without_a_list_is_left_alone() {
    let ws = ws("//- knowledge/README.md\nmine\n//- knowledge/a.md\n# A\n");
    ws.run(&["save", "context", "b", "--content", "Text."]).ok();
    ws.run(&["index"]).ok();
    assert_eq!(ws.read("knowledge/README.md"), "mine\n");
    let ws = crate::harness::ws("//- knowledge/a.md\n# A\n");
    ws.run(&["save", "context", "b", "--content", "Text."]).ok();
    ws.run(&["index"]).ok();
    assert!(
        !ws.exists("knowledge/README.md"),
        "only `init` and `doctor` begin one"
    );
}

/// The contract: "`init` (… `--template web-app|cli|library`, `--dry-run`)".
#[test]
fn a_template_brings_documents_to_fill_in() {
    for (template, document) in [
        ("web-app", "knowledge/architecture.md"),
        ("cli", "knowledge/commands.md"),
        ("library", "knowledge/public-api.md"),
    ] {
        let ws = ws("");
        let before = ws.tree();
        let shown = ws.run(&["init", "--template", template, "--dry-run"]);
        assert!(shown.ok().contains(&format!("+++ b/{document}")), "{shown}");
        assert_eq!(ws.tree(), before);
        let made = ws.run(&["init", "--template", template, "--yes"]);
        assert!(
            made.ok().contains(&format!("✓ Created {document}\n")),
            "{made}"
        );
        let name = document.strip_prefix("knowledge/").unwrap();
        assert!(
            ws.read("knowledge/README.md")
                .contains(&format!("]({name}) — "))
        );
        let prepared = ws.tree_of_sources();
        let again = ws.run(&["init", "--template", template, "--yes"]);
        assert_eq!(again.ok(), "✓ Everything is in place\n");
        assert_eq!(ws.tree_of_sources(), prepared);
    }
    let ws = ws("");
    ws.run(&["init", "--template", "spaceship"]).fails(2);
    ws.run(&["init", "--template", "cli", "--workspace"])
        .fails(2);
}
