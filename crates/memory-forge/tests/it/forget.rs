//! A document is taken out of searches, and comes back only when somebody
//! says so.

use crate::harness::ws;
use testkit::TestWorkspace;

fn shop() -> TestWorkspace {
    ws("
        //- knowledge/billing (old).md
        # Old billing

        Invoices were printed.
        //- knowledge/refunds.md
        ---
        importance: 9
        ---
        # Refunds

        Invoices are refunded.
        //- knowledge/style.md
        # Style

        Invoices are blue.
    ")
}

fn finds(ws: &TestWorkspace, path: &str) -> bool {
    ws.run(&["search", "--mode", "text", "invoices"])
        .stdout
        .contains(path)
}

#[test]
fn k2_forgotten_files_come_back_with_restore() {
    let ws = shop();
    let file = "knowledge/billing (old).md";
    let bytes = ws.read_bytes(file);
    assert!(finds(&ws, file));
    let output = ws.run(&[
        "forget",
        file,
        "--yes",
        "--reason",
        "replaced by the new one",
    ]);
    insta::assert_snapshot!(output, @r"
    exit: 0
    --- stdout
    knowledge/billing (old).md (importance 5, found 1 time, last 2026-03-01): replaced by the new one
    ✓ Forgot 1 document; listed in knowledge/_FORGOTTEN.md
    --- stderr
    The files are untouched; `memory-forge restore` brings them back
    ");
    assert!(!finds(&ws, file));
    assert_eq!(ws.read_bytes(file), bytes, "the file is untouched");

    // Neither a rebuild nor a new clone brings it back.
    ws.run(&["index", "--force"]).ok();
    assert!(!finds(&ws, file));
    ws.remove(".memory-forge");
    assert!(!finds(&ws, file));
    assert!(ws.run(&["stats"]).ok().contains(file), "stats shows it");

    let output = ws.run(&["restore", file]);
    assert_eq!(output.ok(), format!("✓ Restored {file}\n"));
    assert!(finds(&ws, file));
    let again = ws.run(&["restore", file]);
    assert!(
        again
            .fails(1)
            .starts_with("error: `knowledge/billing (old).md` is not forgotten"),
        "{again}"
    );
}

#[test]
fn k12_zero_is_a_number() {
    let ws = shop();
    let output = ws.run(&["forget", "--max-files", "0", "--yes"]);
    assert!(output.ok().contains("✓ Forgot 2 documents"), "{output}");
    assert!(
        finds(&ws, "knowledge/refunds.md"),
        "importance 9 is protected"
    );
    assert!(!finds(&ws, "knowledge/style.md"));
    let output = ws.run(&["restore", "--all"]);
    assert_eq!(
        output.ok(),
        "✓ Restored knowledge/billing (old).md\n✓ Restored knowledge/style.md\n"
    );
    let output = ws.run(&["forget", "--max-age", "0", "--yes"]);
    assert!(output.ok().contains("✓ Forgot 2 documents"), "{output}");
}

#[test]
fn least_used_documents_go_first() {
    let ws = shop();
    ws.run(&["search", "--mode", "text", "blue"]).ok();
    let output = ws.run(&["forget", "--max-files", "2", "--dry-run"]);
    assert_eq!(
        output.ok(),
        "knowledge/billing (old).md (importance 5, never found): beyond the 2 to keep\n"
    );
    assert!(!ws.exists("knowledge/_FORGOTTEN.md"));
    let output = ws.run(&["forget", "--max-age", "30", "--json", "--yes"]);
    let json: serde_json::Value = serde_json::from_str(output.ok()).unwrap();
    assert_eq!(
        json["forgotten"].as_array().map(Vec::len),
        Some(1),
        "{json}"
    );
    assert_eq!(json["forgotten"][0]["path"], "knowledge/billing (old).md");
}

#[test]
fn what_was_used_long_ago_is_old() {
    let ws = shop().now("2026-01-01T00:00:00Z");
    ws.run(&["search", "--mode", "text", "invoices"]).ok();
    let output = ws.run(&["forget", "--max-age", "30", "--dry-run"]);
    assert_eq!(output.ok(), "No stale documents found to forget.\n");
    let ws = ws.now("2026-03-01T00:00:00Z");
    let output = ws.run(&["forget", "--max-age", "30", "--dry-run"]);
    assert!(
        output
            .ok()
            .contains("knowledge/style.md (importance 5, found 1 time, last 2026-01-01)"),
        "{output}"
    );
}

#[test]
fn requests_that_cannot_be_met_are_refused() {
    let ws = shop();
    insta::assert_snapshot!(ws.run(&["forget"]), @r"
    exit: 2
    --- stderr
    error: Specify at least one of a path, `--max-files`, `--max-age` or `--fact`

    hint: Run `memory-forge forget --help` to see its options
    ");
    insta::assert_snapshot!(ws.run(&["forget", "refunds.md", "--yes"]), @r"
    exit: 1
    --- stderr
    error: `knowledge/refunds.md` has importance 9, and from 8 on nothing is forgotten

    hint: Lower `importance` in its front matter below 8 first
    ");
    insta::assert_snapshot!(ws.run(&["forget", "knowledge/nope.md", "--yes"]), @r"
    exit: 1
    --- stderr
    error: There is no document `knowledge/nope.md`

    hint: Name it from the root, as `knowledge/notes.md`
    ");
    let output = ws.run(&["forget", "knowledge/style.md"]);
    assert!(output.fails(2).contains("pass `--yes` to "), "{output}");
    assert!(!ws.exists("knowledge/_FORGOTTEN.md"));
}
