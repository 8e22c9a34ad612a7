//! `manifest show|refresh` and `archive`, and what the manifest changes for
//! everyone who looks for files.

use testkit::TestWorkspace;

use crate::harness::{found, json, ws};

const FILES: &str = "\
//- _MANIFEST.md
# Context Routing
<!-- memex-managed:2.1.3 -->
<!-- summary-format-version:1 -->

A remark of mine.

## Tier 1 - Always Load

| File | Summary | Volatility |
|---|---|---|
| [[memory/status]] | Status | VOLATILE |
| [[memory/glossary]] | Words that only we use | STABLE |

## Tier 2 - By Domain

### Legal

Closets: [[legal/_CLOSETS]]

| File | Summary |
|---|---|
| [[lease]] | |
| [[gone]] | |

## Hub Map

| Domain | Hub | Summary |
|---|---|---|
| Legal | [[legal/_CLOSETS]] | |
//- memory/status.md
# Status

We build the billing engine.
//- memory/glossary.md
# Glossary

Text.
//- working/legal/lease.md
# Lease

The office lease ends in 2027 | maybe.
//- working/legal/nda.md
# NDA with Acme

Signed in zanzibar.
//- working/legal/legal-index.md
| File | Purpose | Status |
|:--|---|---|
| [[lease]] |  | Active |
| [[nda]] | Ours | Active |
//- working/legal/_CLOSETS.md
# Closets: Legal

<!-- memex-closets:1.0 -->

## [[lease]]
- subjects: office
- status: active
";

fn crlf(ws: &TestWorkspace, path: &str) {
    let text = ws.read(path);
    ws.write(path, text.replace('\n', "\r\n"));
}

#[test]
fn domains_of_the_hub_map_are_searched_as_knowledge() {
    let ws = ws(FILES);
    assert_eq!(found(&ws, "zanzibar", &[]), ["working/legal/nda.md"]);
    ws.remove("_MANIFEST.md");
    assert_eq!(found(&ws, "zanzibar", &[]), Vec::<String>::new());
}

#[test]
fn refresh_fills_what_says_nothing_and_keeps_what_people_wrote() {
    let ws = ws(FILES);
    crlf(&ws, "_MANIFEST.md");
    let before = ws.read("_MANIFEST.md");
    let tree = ws.tree_of_sources();
    let output = ws.run(&["manifest", "refresh", "--dry-run"]);
    assert!(output.ok().contains("billing engine"), "{output}");
    assert_eq!(ws.tree_of_sources(), tree, "a dry run takes no lock");

    let output = ws.run(&["manifest", "refresh"]);
    output.ok();
    assert!(
        output.stderr.contains("`_MANIFEST.md` lists `gone`"),
        "{output}"
    );
    let after = ws.read("_MANIFEST.md");
    for (before, after) in before.lines().zip(after.lines()) {
        match before.split(" | ").next() {
            Some("| [[memory/status]]") => assert!(after.contains("billing engine"), "{after}"),
            Some("| [[lease]]") => assert!(after.contains("2027"), "{after}"),
            Some("| Legal") => assert!(after.contains("Lease; NDA with Acme"), "{after}"),
            Some("<!-- summary-format-version:1 -->") => assert!(after.contains(":2 -->")),
            _ => assert_eq!(after, before, "what people wrote stays"),
        }
    }
    assert_eq!(
        after.matches("\r\n").count(),
        before.matches("\r\n").count()
    );
    let page = ws.read("working/legal/legal-index.md");
    assert!(
        page.contains("2027") && page.ends_with("| Active |\n| [[nda]] | Ours | Active |\n"),
        "{page}"
    );
    assert_eq!(
        ws.read("memory/.resummarize-runs.log"),
        "2026-03-01T09:00:00Z  tier1=2 hubmap=1 hubinteriors=1  status=partial\n"
    );
    assert!(!ws.exists("memory/.resummarize.lock"));

    let once = ws.tree_of_sources();
    assert_eq!(
        ws.run(&["manifest", "refresh"]).ok(),
        "✓ Every summary is up to date\n"
    );
    assert_eq!(ws.tree_of_sources(), once, "twice is once");
}

#[test]
fn a_row_of_ours_follows_its_file_and_one_that_was_edited_does_not() {
    let ws = ws(FILES);
    ws.run(&["manifest", "refresh"]).ok();
    ws.write(
        "memory/status.md",
        "# Status\n\nWe test the billing engine.\n",
    );
    ws.write(
        "working/legal/lease.md",
        "# Lease\n\nThe lease was moved to 2031.\n",
    );
    let text = ws.read("_MANIFEST.md");
    let edited = text.lines().map(|line| {
        if line.starts_with("| [[memory/status]]") {
            "| [[memory/status]] | Mine | VOLATILE |\n".to_owned()
        } else {
            format!("{line}\n")
        }
    });
    ws.write("_MANIFEST.md", edited.collect::<String>());
    ws.run(&["manifest", "refresh"]).ok();
    let text = ws.read("_MANIFEST.md");
    assert!(text.contains("| [[memory/status]] | Mine |"), "{text}");
    assert!(text.contains("2031"), "{text}");
    // Without its memory the tool keeps its hands off.
    ws.remove(".memory-forge");
    ws.write(
        "working/legal/lease.md",
        "# Lease\n\nThe lease was moved to 2041.\n",
    );
    let before = ws.read("_MANIFEST.md");
    ws.run(&["manifest", "refresh"]).ok();
    assert_eq!(ws.read("_MANIFEST.md"), before);
    ws.run(&["manifest", "refresh", "--force"]).ok();
    assert!(ws.read("_MANIFEST.md").contains("2041"));
}

#[test]
fn a_run_that_holds_the_lock_keeps_others_out() {
    let ws = ws(FILES);
    ws.write(
        "memory/.resummarize.lock",
        "2026-03-01T08:45:00Z  pid=1  agent=x\n",
    );
    let before = ws.read("_MANIFEST.md");
    let refused = ws.run(&["manifest", "refresh", "--force"]);
    let message = "error: Resummarize already running (lock at memory/.resummarize.lock). ";
    assert!(refused.fails(1).contains(message), "{refused}");
    assert_eq!(ws.read("_MANIFEST.md"), before);
    ws.write(
        "memory/.resummarize.lock",
        "2026-03-01T08:30:00Z  pid=1  agent=x\n",
    );
    ws.run(&["manifest", "refresh"]).ok();
    assert!(!ws.exists("memory/.resummarize.lock"));
}

#[test]
fn a_second_run_of_the_day_is_asked_about() {
    let ws = ws(FILES);
    ws.write(
        "memory/.resummarize-runs.log",
        "2026-03-01T01:00:00Z  tier1=1  status=ok\n",
    );
    let output = ws.run(&["manifest", "refresh"]);
    assert!(
        output
            .fails(2)
            .contains("Resummarize ran less than a day ago"),
        "{output}"
    );
    assert!(output.stderr.contains("`--force`"), "{output}");
    assert!(output.stderr.contains("`--dry-run`"), "{output}");
    assert!(!output.stderr.contains("--yes"), "{output}");
    ws.run(&["manifest", "refresh", "--dry-run"]).ok();
    ws.run(&["manifest", "refresh", "--force"]).ok();
}

#[test]
fn show_tells_mode_and_rows() {
    let ws = ws(FILES);
    let answer = json(&ws.run(&["manifest", "show", "--json"]));
    assert_eq!(answer["mode"], "full");
    assert_eq!(answer["domains"], serde_json::json!(["working/legal"]));
    assert_eq!(answer["tier1"][1]["text"], "Words that only we use");
    let shown = ws.run(&["manifest", "show"]);
    assert!(
        shown.ok().starts_with("Mode: full, version 2.1.3\n"),
        "{shown}"
    );
    ws.remove("_MANIFEST.md");
    let answer = json(&ws.run(&["manifest", "show", "--json"]));
    assert_eq!(answer["mode"], "absent");
    let output = ws.run(&["manifest", "refresh"]);
    assert!(
        output.fails(1).contains("There is no `_MANIFEST.md`"),
        "{output}"
    );
}

#[test]
fn a_file_goes_to_the_archive_and_comes_back() {
    let ws = ws(FILES);
    crlf(&ws, "_MANIFEST.md");
    assert_eq!(
        found(&ws, "office lease", &["--scope", "archive"]),
        Vec::<String>::new()
    );
    let before = ws.tree_of_sources();
    let archive = [
        "archive",
        "working/legal/lease.md",
        "--reason",
        "Ended | over\n## now",
    ];
    ws.run(&archive).ok();
    let manifest = ws.read("_MANIFEST.md");
    assert!(!manifest.contains("| [[lease]] | |"), "{manifest}");
    assert!(
        manifest.ends_with("## Tier 3 - Archive\r\n\r\n| File | Reason | Date |\r\n|---|---|---|\r\n| [[lease]] | Ended \\| over ## now | 2026-03-01 |\r\n"),
        "{manifest}"
    );
    assert!(
        ws.read("working/legal/legal-index.md")
            .contains("| [[lease]] |  | Archived |")
    );
    assert!(
        ws.read("working/legal/_CLOSETS.md")
            .contains("- status: archived\n")
    );
    assert!(ws.exists("working/legal/lease.md"));
    // The file did not change, and is archived all the same.
    assert_eq!(
        found(&ws, "office lease", &["--scope", "archive"]),
        ["working/legal/lease.md"]
    );
    assert!(!found(&ws, "office lease", &[]).contains(&"working/legal/lease.md".to_owned()));
    let all = found(&ws, "office lease Acme", &["--scope", "all"]);
    assert_eq!(
        all.last().map(String::as_str),
        Some("working/legal/lease.md"),
        "{all:?}"
    );

    let once = ws.tree_of_sources();
    let output = ws.run(&archive);
    assert!(output.ok().contains("in the archive already"), "{output}");
    assert_eq!(ws.tree_of_sources(), once);
    ws.run(&["doctor", "--undo", "--yes"]).ok();
    assert_eq!(ws.tree_of_sources(), before);
    assert_eq!(found(&ws, "office lease", &[])[0], "working/legal/lease.md");
}

#[test]
fn tier_1_is_not_archived() {
    let ws = ws(FILES);
    let before = ws.tree_of_sources();
    for file in [
        "memory/status.md",
        "memory/decisions.md",
        "_MANIFEST.md",
        "working/legal/_CLOSETS.md",
    ] {
        let output = ws.run(&["archive", file, "--reason", "x"]);
        assert!(!output.fails(1).is_empty(), "{output}");
    }
    let output = ws.run(&["archive", "memory/status.md", "--reason", "x"]);
    assert!(output.fails(1).contains("is in Tier 1"), "{output}");
    ws.run(&["archive", "working/legal/lease.md", "--reason", " "])
        .fails(2);
    assert_eq!(ws.tree_of_sources(), before);
}
