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
    assert!(ws.run(&["init"]).fails(2).contains("Pass `--yes`"));

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
