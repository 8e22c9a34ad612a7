//! `stats` and `preview`: what the index holds, and how a file is cut.

use serde_json::json;

use crate::harness::{json, ws};

#[test]
fn without_an_index_it_says_how_to_make_one() {
    let ws = ws("//- knowledge/a.md\n# A\n");
    let before = ws.tree();
    assert_eq!(
        ws.run(&["stats"]).to_string(),
        "exit: 0\n--- stdout\nNo index found. Run `memory-forge index` to create one.\n"
    );
    assert_eq!(json(&ws.run(&["stats", "--json"]))["index"], json!(null));
    assert_eq!(ws.tree(), before);
}

#[test]
fn it_counts_what_the_index_holds() {
    let ws = ws("
        //- knowledge/a.md
        # A

        quokka
        //- knowledge/b.md
        ---
        name: b
        description: of b
        ---
        # B
        //- knowledge/archive/c.md
        # C
    ");
    ws.write("knowledge/bad.md", b"\xff\n");
    ws.run(&["index"]).ok();
    ws.run(&["search", "quokka", "--mode", "text"]).ok();
    ws.write("knowledge/new.md", "# New\n");
    let output = ws.run(&["stats"]);
    let text = output.ok();
    for line in [
        "Files:        3 (2 knowledge, 1 skill)",
        "Scopes:       1 archive, 2 knowledge",
        "Last indexed: 2026-03-01T09:00:00.000Z",
        "Use: 2 of 3 files never appeared in a result",
        "      1×  knowledge/a.md (last 2026-03-01)",
        "Skipped: 1",
        "  knowledge/bad.md: line 1 is not UTF-8; convert the file to UTF-8 to have it used",
    ] {
        assert!(text.lines().any(|l| l == line), "{line}: {output}");
    }
    assert!(
        text.contains("Passages:     3, 3 with a vector (model: "),
        "{output}"
    );
    assert!(text.contains("the next search reads them"), "{output}");
}

#[test]
fn k5_an_edit_keeps_the_statistics() {
    let ws = ws("//- knowledge/a.md\n# A\n\nquokka\n");
    let uses = || json(&ws.run(&["stats", "--json"]))["usage"][0]["found"].clone();
    ws.run(&["search", "quokka", "--mode", "text"]).ok();
    ws.run(&["search", "quokka", "--mode", "text"]).ok();
    assert_eq!(uses(), 2);
    ws.write("knowledge/a.md", "# A\n\nquokka again\n");
    ws.run(&["index"]).ok();
    assert_eq!(uses(), 2);
    ws.run(&["index", "--force"]).ok();
    assert_eq!(uses(), 2);
}

/// Types that can never be indexed are not counted.
#[test]
fn k14_only_types_that_can_be_there_are_shown() {
    let ws = ws("//- knowledge/a.md\n# A\n//- CLAUDE.md\n# C\n//- AGENTS.md\n# A\n");
    ws.run(&["index"]).ok();
    let output = ws.run(&["stats"]);
    let text = output.ok().to_lowercase();
    assert!(
        !text.contains("claude") && !text.contains("agents"),
        "{output}"
    );
    let types = &json(&ws.run(&["stats", "--json"]))["index"]["types"];
    assert_eq!(*types, json!({ "knowledge": 1 }));
}

#[test]
fn a_preview_shows_passages_and_problems() {
    let ws = ws("
        //- knowledge/a.md
        ---
        title: [broken
        ---
        # A

        one
        //- CLAUDE.md
        # C
    ");
    let before = ws.tree();
    let output = ws.run(&["preview", "knowledge/a.md"]);
    assert!(output.ok().starts_with("1. A  lines 1–6, ~"), "{output}");
    assert!(output.ok().contains("    one\n"), "{output}");
    assert!(
        output.stderr.contains("warning: `knowledge/a.md` line "),
        "{output}"
    );
    let value = json(&ws.run(&["preview", "knowledge/a.md", "--json"]));
    assert_eq!(value["role"], "knowledge");
    assert_eq!(value["passages"][0]["lines"], json!([1, 6]));
    let output = ws.run(&["preview", "CLAUDE.md"]);
    assert!(
        output
            .stderr
            .contains("is not indexed: its role is autoload"),
        "{output}"
    );
    assert_eq!(ws.tree(), before);
}

#[test]
fn a_preview_of_what_is_not_there_fails() {
    let ws = ws("//- knowledge/a.md\n# A\n");
    let output = ws.run(&["preview", "knowledge/b.md"]);
    assert!(output.fails(1).contains("knowledge/b.md"), "{output}");
    // An absolute path of Windows begins with a drive.
    let elsewhere = if cfg!(windows) {
        r"C:\windows\win.ini"
    } else {
        "/etc/passwd"
    };
    let output = ws.run(&["preview", elsewhere]);
    assert!(
        output.fails(2).contains("is not inside the workspace"),
        "{output}"
    );
    let output = ws.run(&["preview", "../home/x.md"]);
    output.fails(2);
}

#[test]
fn a_preview_takes_paths_from_where_it_is_called() {
    let ws = ws("//- knowledge/a.md\n# A\n").cwd("knowledge");
    for path in ["a.md", "./a.md", "../knowledge/a.md", "knowledge/a.md"] {
        assert!(
            ws.run(&["preview", path]).ok().starts_with("1. A"),
            "{path}"
        );
    }
}

/// The earlier knowledge tool had `memory`, `list`, `clear` and `preload`: each
/// answers with what does its work here, and none of them writes a file.
#[test]
fn commands_of_an_earlier_tool_answer() {
    let ws = crate::harness::ws("//- knowledge/a.md\n# A\n\nText.\n//- CLAUDE.md\nx\n");
    assert_eq!(ws.run(&["clear"]).ok(), "No index found.\n");
    assert_eq!(ws.run(&["list"]).ok(), "knowledge/a.md\n");
    assert!(!ws.exists(".memory-forge"), "looking creates nothing");
    ws.run(&["index"]).ok();
    let before = ws.tree_of_sources();
    assert_eq!(ws.run(&["memory"]).ok(), ws.run(&["stats"]).ok());
    assert_eq!(ws.run(&["list", "--discover"]).ok(), "knowledge/a.md\n");
    let cleared = ws.run(&["clear"]);
    assert!(
        cleared
            .ok()
            .contains("`memory-forge index --force` rebuilds it"),
        "{cleared}"
    );
    let preloaded = ws.run(&["preload"]);
    assert!(preloaded.ok().contains("is ready"), "{preloaded}");
    assert_eq!(ws.tree_of_sources(), before);
    let help = ws.run(&["--help"]);
    assert!(!help.ok().contains("preload"), "they are not advertised");
}
