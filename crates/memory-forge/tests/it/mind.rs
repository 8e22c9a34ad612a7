//! `mind`, as a person or an agent calls it.

use testkit::TestWorkspace;

use crate::harness::ws;

#[track_caller]
fn ok(ws: &TestWorkspace, arguments: &[&str]) -> String {
    ws.run(&[&["mind"], arguments].concat()).ok().to_owned()
}

#[test]
fn a_memory_grows_from_nothing() {
    let ws = ws("");
    let check = |arguments: &[&str], expect: &str| assert_eq!(ok(&ws, arguments), expect);
    check(
        &["show"],
        "No state found. `memory-forge mind set` writes the first.\n",
    );
    assert_eq!(ws.tree(), "", "looking creates nothing");
    check(
        &["set", "--phase", "P1", "--active", "a", "--active", "b"],
        "STATE.md created. Phase: P1\n",
    );
    check(&["set", "--next", "N"], "STATE.md updated. Phase: P1\n");
    check(
        &["decide", "T", "--decision", "D"],
        "Decision DEC-001 saved: T\n",
    );
    check(&["task", "add", "Do it"], "Added to In Progress: Do it\n");
    check(
        &["task", "add", "Later", "-s", "Not Started"],
        "Added to Not Started: Later\n",
    );
    check(&["task", "done", "do"], "Marked complete: Do it\n");
    check(
        &["log", "S", "--completed", "x", "--next", "n"],
        "Session 1 logged.\n",
    );
    check(
        &["checkpoint"],
        "Checkpoint written: .mind/checkpoints/latest.md\n",
    );
    check(
        &["show"],
        "\
Phase    P1
Status   not set
Active   a; b
Blocked  none
Next     N
Updated  2026-03-01

Not Started
- [ ] Later

Decisions (1, newest first)
- DEC-001: T

Last session
Session 1 — 2026-03-01 09:00:00: S
",
    );
    check(&["set", "--active", ""], "STATE.md updated. Phase: P1\n");
    assert!(ws.read(".mind/STATE.md").contains("## Active Work\nNone\n"));
    assert!(ok(&ws, &["show", "briefing"]).contains("--- CURRENT STATE (.mind/STATE.md) ---"));
    assert!(ok(&ws, &["show", "progress"]).contains("- [x] Do it (completed 2026-03-01)\n"));
}

#[test]
fn json_has_every_part() {
    let ws = ws(
        "//- .mind/STATE.md\n# S\n\n## Current Phase\nP\n//- .mind/PROGRESS.md\n### In Progress\n- [ ] a\n",
    );
    let all: serde_json::Value = serde_json::from_str(&ok(&ws, &["show", "--json"])).expect("JSON");
    assert_eq!(all["version"], 1);
    assert_eq!(all["layout"], "mind");
    assert_eq!(all["state"]["phase"], "P");
    assert_eq!(all["tasks"][0]["section"], "In Progress");
    assert_eq!(all["decisions"], serde_json::json!([]));
    assert_eq!(all["sessions"], serde_json::json!([]));
    let state = ok(&ws, &["show", "state", "--json"]);
    assert!(!state.contains("tasks"), "{state}");
}

#[test]
fn m19_a_task_that_is_not_there_is_an_error() {
    let ws = ws("//- .mind/PROGRESS.md\n### In Progress\n- [ ] Build login\n- [ ] Build search\n");
    let before = ws.tree_of_sources();
    let none = ws.run(&["mind", "task", "done", "zzz"]);
    assert_eq!(
        none.fails(1),
        "error: No open task matches `zzz`\n\n\
         hint: Open: Build login (In Progress)\nhint: Open: Build search (In Progress)\n"
    );
    let several = ws.run(&["mind", "task", "done", "build"]);
    assert_eq!(
        several.fails(1),
        "error: `build` matches 2 open tasks\n\n\
         hint: Matches: Build login (In Progress)\nhint: Matches: Build search (In Progress)\n\
         hint: Name one of them in full\n"
    );
    assert_eq!(none.stdout + &several.stdout, "");
    assert_eq!(ws.tree_of_sources(), before);
}

#[test]
fn requests_without_sense_are_refused() {
    let ws = ws("");
    assert_eq!(
        ws.run(&["mind", "set"]).fails(2),
        "error: Nothing to set\n\nhint: Name at least one of `--phase`, `--status`, `--active`, `--blocked`, `--next`\n"
    );
    ws.run(&["mind", "decide", "T"]).fails(2);
    ws.run(&["mind", "decide", " ", "--decision", "D"]).fails(2);
    ws.run(&["mind", "log", ""]).fails(2);
    ws.run(&["mind"]).fails(2);
    assert!(!ws.exists(".mind"));
}

/// Seven sessions, twelve decisions and an old task.
fn grown() -> TestWorkspace {
    let ws = ws("");
    let sessions: String = (1..=7)
        .map(|n| format!("\n## Session {n} — 2026-01-0{n} 10:00:00\n- **Summary:** sum {n}\n- **Completed:** thing {n}\n"))
        .collect();
    ws.write(".mind/SESSION-LOG.md", format!("# Session Log\n{sessions}"));
    let decisions: String = (1..=12)
        .map(|n| format!("\n## DEC-{n:03}: Title {n}\n- **Date:** 2026-01-{n:02}\n- **Decision:** choose flamingo{n}\n- **Rationale:** why {n}\n- **Status:** Final\n"))
        .collect();
    ws.write(".mind/DECISIONS.md", format!("# Decision Log\n{decisions}"));
    ws.write(
        ".mind/PROGRESS.md",
        "# Progress Tracker\n\n### Completed\n- [x] Ancient (completed 2025-12-01)\n",
    );
    ws
}

#[test]
fn compression_reports_and_loses_nothing() {
    let ws = grown();
    let before = ws.tree_of_sources();
    let dry: serde_json::Value =
        serde_json::from_str(&ok(&ws, &["compress", "--dry-run", "--json"])).expect("JSON");
    assert_eq!(dry["dryRun"], true);
    assert_eq!(ws.tree_of_sources(), before);
    let done: serde_json::Value =
        serde_json::from_str(&ok(&ws, &["compress", "--json"])).expect("JSON");
    let keys = |value: &serde_json::Value| -> Vec<String> {
        value
            .as_object()
            .expect("an object")
            .keys()
            .cloned()
            .collect()
    };
    assert_eq!(
        keys(&done),
        [
            "dryRun",
            "sessions",
            "decisions",
            "archive",
            "tracking",
            "backupCleanup",
            "totalTokensSaved",
            "undo"
        ]
    );
    assert_eq!(done["sessions"]["compressed"], 2);
    assert_eq!(done["sessions"]["kept"], 5);
    assert_eq!(done["decisions"]["compressed"], 2);
    assert_eq!(done["archive"]["archived"], 1);
    assert_eq!(done["tracking"][".agent-activity"]["rotated"], false);
    assert_eq!(done["totalTokensSaved"], dry["totalTokensSaved"]);
    // An id and a word that moved are found in both scopes.
    for scope in ["state", "all"] {
        for words in ["DEC-001", "flamingo1", "Ancient"] {
            let found = ws.run(&["search", words, "--scope", scope, "--mode", "text"]);
            assert!(
                found.ok().contains(".mind/ARCHIVE.md"),
                "{scope} {words}: {found}"
            );
        }
    }
    let once = ws.tree_of_sources();
    assert_eq!(
        ok(&ws, &["compress"]),
        "Nothing to compress (sessions: 5, decisions: 10)\n"
    );
    assert_eq!(ws.tree_of_sources(), once);
}

#[test]
fn health_tells_by_its_exit_code() {
    let empty = ws("");
    let output = empty.run(&["mind", "health"]);
    output.fails(1);
    assert!(
        output.stdout.starts_with("error: There is no `.mind/`"),
        "{output}"
    );
    let ws = ws("//- .mind/STATE.md\n# S\n");
    // The file is younger than the fixed clock of tests.
    let output = ws.run(&["mind", "health", "--json"]);
    let health: serde_json::Value = serde_json::from_str(output.ok()).expect("JSON");
    assert_eq!(health["status"], "healthy");
    assert_eq!(health["stateFiles"]["STATE.md"]["exists"], true);
    assert_eq!(health["stateFiles"]["PROGRESS.md"]["exists"], false);
    for key in [
        "version",
        "mindDir",
        "trackingFiles",
        "config",
        "errorLog",
        "mcpConfig",
        "hooksConfig",
        "issues",
    ] {
        assert!(!health[key].is_null(), "{key}: {output}");
    }
}

#[test]
fn control_characters_never_reach_the_terminal() {
    let ws = ws("");
    ws.write(".mind/STATE.md", "# S\n\n## Current Phase\nP\u{1b}[2J\n");
    assert!(!ok(&ws, &["show"]).contains('\u{1b}'));
    assert!(!ok(&ws, &["show", "state"]).contains('\u{1b}'));
}

#[test]
fn a_workspace_with_a_manifest_keeps_its_files() {
    let ws = ws(
        "//- _MANIFEST.md\n# Context Routing\n//- memory/status.md\n# Status\n\n**Phase:** One\n",
    );
    assert_eq!(
        ok(&ws, &["set", "--phase", "Two"]),
        "status.md updated. Phase: Two\n"
    );
    assert_eq!(
        ok(&ws, &["decide", "Q", "--decision", "D"]),
        "Decision 2026-03-01 saved: Q\n"
    );
    assert_eq!(
        ws.read("memory/decisions.md"),
        "# Decisions\n\n**2026-03-01** - Q: D\n"
    );
    assert!(!ws.exists(".mind"));
}
