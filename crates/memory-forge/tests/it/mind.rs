//! `mind`, as a person or an agent calls it.

use proptest::prelude::*;
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
        "No state found. `memory-forge mind set --phase …` writes the first.\n",
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

/// "What a person or an agent appended to a state file survives every command."
#[test]
fn what_was_appended_by_hand_stays() {
    let ws = ws("");
    let file = ".mind/STATE.md";
    ok(&ws, &["set", "--phase", "P1", "--next", "N1"]);
    let line = "- IMPORTANT never deploy on a Friday";
    ws.write(file, format!("{}{line}\n", ws.read(file)));
    ok(&ws, &["set", "--next", "N2"]);
    let state = ws.read(file);
    let end = format!("## Last Updated\n2026-03-01\n{line}\n");
    assert!(state.ends_with(&end), "{state}");
    // Below a value it stays there, and the value is the tool's.
    ws.write(file, state.replace("N2\n", "N2\n- Ask Petunia first\n"));
    ok(&ws, &["set", "--next", "N3"]);
    let state = ws.read(file);
    assert!(
        state.contains("## Next Action\nN3\n- Ask Petunia first\n"),
        "{state}"
    );
    assert!(ok(&ws, &["show"]).contains("Next     N3\n"));
    // As a part of the value it gives way, and is still found.
    ws.write(
        file,
        state.replace("N3\n", "N3\nbefore the flamingos arrive\n"),
    );
    ok(&ws, &["set", "--next", "N4"]);
    let state = ws.read(file);
    assert!(!state.contains("flamingos"), "{state}");
    let archive = ws.read(".mind/STATE-archive.md");
    assert!(
        archive.contains("\n> before the flamingos arrive\n"),
        "{archive}"
    );
    let found = ws.run(&["search", "--scope", "all", "flamingos arrive"]);
    assert!(
        found.ok().contains("before the flamingos arrive"),
        "{found}"
    );
    // The same again changes nothing.
    let before = ws.tree_of_sources();
    ok(&ws, &["set", "--next", "N4"]);
    assert_eq!(ws.tree_of_sources(), before);
}

#[test]
fn what_was_appended_to_a_status_file_stays() {
    let ws = ws("
        //- _MANIFEST.md
        # Context Routing
        //- memory/status.md
        # Status

        Last updated: 2026-02-01, reviewed by Petunia

        **Phase:** One

        ## In Progress
        - Order the seeds

        ## Next Priorities
        1. Dig
    ");
    let line = "Never water at noon.";
    let file = "memory/status.md";
    ws.write(file, format!("{}\n{line}\n", ws.read(file)));
    ws.run(&[
        "session",
        "update",
        "--in-progress",
        "Sow",
        "--next",
        "Plant",
    ])
    .ok();
    let status = ws.read(file);
    assert!(
        status.contains("Last updated: 2026-03-01, reviewed by Petunia\n"),
        "{status}"
    );
    for text in ["Order the seeds", line] {
        let found = ws.run(&["search", "--scope", "all", text]);
        assert!(found.ok().contains(text), "{found}");
    }
}

/// Every command that writes state files, in either layout.
const WRITERS: [&[&str]; 14] = [
    &[
        "mind", "set", "--phase", "P", "--status", "S", "--next", "N",
    ],
    &["mind", "set", "--active", "A", "--blocked", ""],
    &["mind", "task", "add", "A task"],
    &["mind", "task", "done", "Order"],
    &["mind", "decide", "T", "--decision", "Water at night"],
    &["mind", "log", "What was done"],
    &["mind", "compress"],
    &["mind", "checkpoint"],
    &["idea", "A pond"],
    &[
        "session",
        "update",
        "--in-progress",
        "Sow",
        "--next",
        "Plant",
    ],
    &[
        "session", "end", "--title", "Day", "--did", "Dug.", "--next", "Sow",
    ],
    &["lint", "--fix", "--yes"],
    &["consolidate", "--fix", "--yes"],
    &["doctor", "--fix", "--yes"],
];

/// Files that people write into, in both layouts.
const BY_PEOPLE: [[&str; 4]; 2] = [
    [
        ".mind/STATE.md",
        ".mind/PROGRESS.md",
        ".mind/DECISIONS.md",
        ".mind/SESSION-LOG.md",
    ],
    [
        "memory/status.md",
        "memory/decisions.md",
        "memory/session-log.md",
        "scratch/ideas.md",
    ],
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]

    /// "Any line added anywhere in any state file by hand survives any sequence
    /// of commands and stays findable."
    #[test]
    fn a_line_by_hand_is_found_after_any_commands(
        layout in 0usize..2,
        file in 0usize..4,
        place in 0usize..30,
        form in prop::sample::select(vec!["{}", "- {}", "> {}", "[{}]", "{}:", "**2026-01-01** - {}"]),
        commands in prop::collection::vec(0usize..WRITERS.len(), 1..6),
    ) {
        let fixture = match layout {
            0 => "//- .mind/STATE.md\n# Project State\n",
            _ => {
                "//- _MANIFEST.md\n# Context Routing\n<!-- memex-managed:2.1.3 -->\n\
                 //- memory/status.md\n# Status\n\n## In Progress\n- Order the seeds\n"
            }
        };
        let ws = ws(fixture);
        for writer in [0, 1, 2, 4, 5, 8, 10] {
            ws.run(WRITERS[writer]);
        }
        let path = BY_PEOPLE[layout][file];
        let line = form.replace("{}", "Zebrafinch seven nests");
        let text = ws.read(path);
        let mut lines: Vec<&str> = text.lines().collect();
        // Front matter has fields and no lines; what breaks it is not shown.
        let fields = text.split("\n---\n").next().filter(|_| text.starts_with("---\n"));
        let above = fields.map_or(0, |it| it.lines().count() + 1);
        lines.insert((above + place).min(lines.len()), &line);
        ws.write(path, lines.join("\n") + "\n");
        for writer in &commands {
            ws.run(WRITERS[*writer]);
        }
        let found = ws.run(&["search", "--scope", "all", "Zebrafinch seven nests"]);
        prop_assert!(
            found.ok().contains("Zebrafinch seven nests"),
            "{line:?} in {path} after {commands:?}: {found}"
        );
    }
}
