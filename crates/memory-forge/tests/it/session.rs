//! `session start`, `update` and `end`, as hooks and agents call them.

use std::fs::File;
use std::time::{Duration, SystemTime};

use testkit::TestWorkspace;

use crate::harness::{json, ws};

const WORKSPACE: &str = "
    //- _MANIFEST.md
    # Context Routing
    <!-- memex-managed:2.1.3 -->
    <!-- summary-format-version:2 -->

    ## Tier 1 - Always Load
    | File | Summary | Volatility |
    |---|---|---|
    | [[status]] | Where we are | VOLATILE |

    ## Tier 3 - Archive
    | File | Reason | Date |
    |---|---|---|

    ## Hub Map
    | Domain | Hub | Summary |
    |---|---|---|
    | Garden | [[garden/_CLOSETS]] | Beds and seeds |
    //- memory/status.md
    # Status

    Last updated: 2026-02-28

    **Phase:** Spring

    ## Active Focus
    Sow the beds

    ## In Progress
    - Order the seeds

    ## Blocked
    - Waiting for the water meter

    ## Next Priorities
    1. Dig
    2. Plant
    //- memory/session-log.md
    # Session Log

    ---

    ## 2026-02-27 - Second

    - Measured the beds.
    - Ordered compost.

    ---

    ## 2026-02-20 - First

    - Drew a plan.

    ---
    //- memory/decisions.md
    # Decisions

    **2026-02-01** - Grow beans

    **2026-02-20** - Order seeds from the cooperative
    //- garden/beans.md
    # Beans
    They climb. The shed holds the poles.
    //- garden/_CLOSETS.md
    # Closets: garden

    <!-- memex-closets:1.0 -->

    ## [[beans]]
    - subjects: beans
";

fn workspace() -> TestWorkspace {
    let ws = ws(WORKSPACE);
    for path in [
        "memory/status.md",
        "memory/session-log.md",
        "memory/decisions.md",
    ] {
        age(&ws, path, 0);
    }
    age(&ws, "garden/beans.md", 600);
    ws
}

/// Lets a file be so many seconds old.
fn age(ws: &TestWorkspace, path: &str, seconds: u64) {
    let file = File::options().write(true).open(ws.path(path)).unwrap();
    let then = SystemTime::now() - Duration::from_secs(seconds);
    file.set_modified(then).unwrap();
}

#[test]
fn the_briefing_has_its_labels_in_order() {
    let ws = workspace();
    let output = ws.run(&["session", "start"]);
    assert_eq!(
        output.ok(),
        "\
**Status:** Spring - Sow the beds
**Last session:** 2026-02-27 - Second
- Measured the beds.
- Ordered compost.
**In flight:** Order the seeds
**Blocked:** Waiting for the water meter
**Relevant decisions:**
- 2026-02-20 - Order seeds from the cooperative
**Ideas inbox:** Empty.

→ **Start session** - continue with the next priority
→ **Update first** - bring status and decisions up to date
"
    );
    assert_eq!(output.stderr, "");
}

#[test]
fn everything_that_can_be_wrong_fits_into_twenty_lines() {
    let ws = workspace();
    ws.write(
        "memory/status.md",
        "# Status\n\n**Phase:** P\n\nLast updated: 2026-02-10\n\n## Blocked\n- Water meter\n",
    );
    age(&ws, "memory/status.md", 3600);
    age(&ws, "memory/session-log.md", 3600);
    age(&ws, "garden/beans.md", 0);
    ws.remove("garden/_CLOSETS.md");
    ws.remove("memory/decisions.md");
    let manifest = ws.read("_MANIFEST.md");
    ws.write("_MANIFEST.md", manifest.replace("2.1.3", "1.4"));
    for n in 1..4 {
        ws.write(&format!("kitchen/n{n}.md"), "# N\n");
    }
    ws.write("loose.md", "# Loose\n");
    for path in [
        "kitchen/n1.md",
        "kitchen/n2.md",
        "kitchen/n3.md",
        "loose.md",
    ] {
        age(&ws, path, 600);
    }
    let output = ws.run(&["session", "start", "what", "about", "the", "Garden?"]);
    let text = output.ok();
    for expect in [
        "**Stale:** Last updated 2026-02-10, 19 days ago.\n",
        "Warning: the last session was not closed: garden/beans.md",
        "Stale blockers: Water meter (since 2026-02-10)\n",
        "Untracked content detected: kitchen/ (3 files); loose.md\n",
        "Upgrade available — workspace is on v1; run `memory-forge upgrade`.",
        "Closets missing for 1 of 1 hubs — run `memory-forge closets build` to backfill.",
        "2 more remarks",
    ] {
        assert!(text.contains(expect), "{expect}\n{text}");
    }
    assert!(
        text.lines().filter(|it| !it.is_empty()).count() <= 20,
        "{text}"
    );
    let value = json(&ws.run(&["session", "start", "--json", "garden"]));
    assert_eq!(value["domains"][0]["closets"], "garden/_CLOSETS.md");
    assert_eq!(value["notes"][0], "memory/decisions.md is missing");
    assert_eq!(value["unclean"], "garden/beans.md");
}

#[test]
fn w3_both_spellings_of_the_sections_are_read_and_kept() {
    let ws = workspace();
    let status = ws.read("memory/status.md");
    let other = status
        .replace("## In Progress", "## What's In Progress")
        .replace("## Blocked", "## What's Blocked");
    ws.write("memory/status.md", &other);
    let text = ws.run(&["session", "start"]).ok().to_owned();
    assert!(text.contains("**In flight:** Order the seeds\n"), "{text}");
    assert!(
        text.contains("**Blocked:** Waiting for the water meter\n"),
        "{text}"
    );
    ws.run(&["session", "update", "--in-progress", "Sow", "--blocked", ""])
        .ok();
    let after = ws.read("memory/status.md");
    assert!(after.contains("## What's In Progress\n- Sow\n"), "{after}");
    assert!(after.contains("## What's Blocked\nNone\n"), "{after}");
    assert_eq!(after.matches("In Progress").count(), 1);
}

#[test]
fn w4_the_newest_entry_is_read_and_not_the_header() {
    let ws = workspace();
    let log = ws.read("memory/session-log.md");
    ws.write(
        "memory/session-log.md",
        log.replace("# Session Log\n", "# Session Log\n\nNewest first.\n"),
    );
    let value = json(&ws.run(&["session", "start", "--json"]));
    assert_eq!(value["last_session"]["title"], "2026-02-27 - Second");
    assert_eq!(value["last_session"]["bullets"][0], "Measured the beds.");
}

#[test]
fn an_update_leaves_the_log_alone_and_marks_what_it_ends() {
    let ws = workspace();
    ws.write(
        "memory/decisions.md",
        "# Decisions\n\n**2026-01-01** - A\n**2026-01-02** - B\n**2026-01-03** - C\n**2026-01-04** - Buy seeds at Bloom\n",
    );
    let log = ws.read("memory/session-log.md");
    let output = ws.run(&[
        "session",
        "update",
        "--focus",
        "Water",
        "--next",
        "Dig",
        "--next",
        "Wait",
        "--decision",
        "Order seeds from the cooperative instead of Bloom",
    ]);
    assert_eq!(
        output.ok(),
        "memory/status.md updated.\nDecision 2026-03-01 saved: Order seeds from the cooperative instead of Bloom\nMarked 1 superseded decision.\n"
    );
    let decisions = ws.read("memory/decisions.md");
    assert!(
        decisions.ends_with("~~**2026-01-04** - Buy seeds at Bloom~~ (superseded 2026-03-01)\n**2026-03-01** - Order seeds from the cooperative instead of Bloom\n"),
        "{decisions}"
    );
    let status = ws.read("memory/status.md");
    assert!(status.contains("Last updated: 2026-03-01\n"), "{status}");
    assert!(status.contains("## Active Focus\nWater\n"), "{status}");
    assert!(
        status.ends_with("## Next Priorities\n1. Dig\n2. Wait\n"),
        "{status}"
    );
    assert_eq!(ws.read("memory/session-log.md"), log);
}

const END: [&str; 12] = [
    "session",
    "end",
    "--title",
    "Third",
    "--did",
    "Dug a bed.",
    "--did",
    "Talked to the shed.",
    "--decision",
    "Water in the evening",
    "--next",
    "Plant",
];

#[test]
fn an_end_writes_everything_once() {
    let ws = workspace();
    age(&ws, "memory/status.md", 300);
    age(&ws, "memory/session-log.md", 300);
    ws.write("garden/shed.md", "# Shed\nPoles.\n");
    ws.write(
        "garden/beans.md",
        "# Beans\nThey climb. The Shed holds the poles.\n",
    );
    let output = ws.run(&END);
    let text = output.ok();
    assert!(
        text.starts_with("Session closed.\n- Status: updated memory/status.md\n"),
        "{text}"
    );
    for line in [
        "- Session log: added \"2026-03-01 - Third\"\n",
        "- Decisions: 1 added\n",
        "- Hubs: Garden (",
        "- Wikilinks: 1 added\n",
        "- Wikilinks: zero broken\n",
        "- Ideas inbox: 0\n",
        "consolidate has never run",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert!(!text.contains("[INCOMPLETE]"), "{text}");
    let log = ws.read("memory/session-log.md");
    assert!(
        log.starts_with("# Session Log\n\n---\n\n## 2026-03-01 - Third\n- Dug a bed.\n- Talked to the shed.\n\n---\n\n## 2026-02-27 - Second\n"),
        "{log}"
    );
    assert!(
        ws.read("garden/beans.md")
            .contains("The [[shed|Shed]] holds"),
        "{}",
        ws.read("garden/beans.md")
    );
    assert!(ws.read("garden/_CLOSETS.md").contains("## [[shed]]"));
    let tree = ws.tree_of_sources();
    let again = ws.run(&END);
    assert!(again.ok().contains("- Status: unchanged"), "{again}");
    assert!(
        again
            .ok()
            .contains("\"2026-03-01 - Third\" is there already"),
        "{again}"
    );
    assert!(again.ok().contains("0 added, 1 there already"), "{again}");
    assert_eq!(ws.tree_of_sources(), tree, "twice is once");
}

#[test]
fn a_status_that_says_the_same_is_not_written() {
    let ws = workspace();
    let before = ws.read("memory/status.md");
    let output = ws.run(&["session", "end", "--title", "T", "--phase", "Spring"]);
    assert!(output.ok().contains("- Status: unchanged"), "{output}");
    assert_eq!(ws.read("memory/status.md"), before, "not even its date");
}

#[test]
fn the_eleventh_entry_goes_to_the_archive_word_for_word() {
    let ws = workspace();
    let mut log = String::from("# Session Log\n\n---\n");
    for n in (1..=10).rev() {
        log.push_str(&format!(
            "\n## 2026-02-{n:02} - Day {n}\n\n- Did `{n}` things | ok.\n\n---\n"
        ));
    }
    ws.write("memory/session-log.md", &log);
    ws.write(
        "memory/session-log-archive.md",
        "# Session Log - Archive\n\n## 2025-12-01 - Before\n\n- Old.\n\n---\n",
    );
    let text = ws
        .run(&["session", "end", "--title", "New", "--did", "X."])
        .ok()
        .to_owned();
    assert!(text.contains("; 1 moved to the archive"), "{text}");
    let archive = ws.read("memory/session-log-archive.md");
    assert!(
        archive.starts_with("# Session Log - Archive\n\n## 2026-02-01 - Day 1\n\n- Did `1` things | ok.\n\n---\n\n## 2025-12-01 - Before\n"),
        "{archive}"
    );
    let log = ws.read("memory/session-log.md");
    assert_eq!(log.matches("\n## ").count(), 10);
    assert!(
        ws.read("_MANIFEST.md")
            .contains("| [[session-log-archive]] |"),
        "Tier 3 knows it"
    );
    assert!(ws.run(&["links", "check"]).ok().contains("CLEAN"));
}

#[test]
fn what_happened_may_come_as_json_or_as_markdown() {
    for input in [
        r#"{"title": "Third", "did": ["Dug a bed."], "decisions": ["Water at night"], "next": "Plant"}"#,
        "# Third\n\n- Dug a bed.\n\n## Decisions\n- Water at night\n\n## Next\n1. Plant\n",
    ] {
        let ws = workspace();
        let output = ws.feed(input, &[], &["session", "end", "--from", "-"]);
        assert!(output.ok().starts_with("Session closed."), "{output}");
        assert!(
            ws.read("memory/session-log.md")
                .contains("## 2026-03-01 - Third\n- Dug a bed.\n")
        );
        assert!(
            ws.read("memory/decisions.md")
                .contains("**2026-03-01** - Water at night\n")
        );
        assert!(
            ws.read("memory/status.md")
                .ends_with("## Next Priorities\n1. Plant\n")
        );
    }
    let ws = workspace();
    let wrong = ws.feed(r#"{"titel": "x"}"#, &[], &["session", "end", "--from", "-"]);
    assert!(wrong.fails(2).contains("`titel` is not a key"), "{wrong}");
}

#[test]
fn a_long_file_of_decisions_is_spoken_of() {
    let ws = workspace();
    let lines: Vec<String> = (0..94)
        .map(|n| format!("**2026-01-01** - Fact {n}"))
        .collect();
    ws.write("memory/decisions.md", lines.join("\n") + "\n");
    let text = ws
        .run(&["session", "end", "--title", "T", "--decision", "One more"])
        .ok()
        .to_owned();
    assert!(
        text.contains("memory/decisions.md has 95 lines of at most 100"),
        "{text}"
    );
}

#[test]
fn with_mind_alone_the_state_is_kept_there() {
    let ws = ws("//- .mind/STATE.md\n# Project State\n\n## Current Phase\nBuild\n");
    let text = ws.run(&["session", "start"]).ok().to_owned();
    assert!(text.starts_with("**Status:** Build\n"), "{text}");
    let end = [
        "session",
        "end",
        "--title",
        "Login",
        "--did",
        "Built it.",
        "--decision",
        "Use cookies",
    ];
    ws.run(&end).ok();
    let tree = ws.tree_of_sources();
    ws.run(&end).ok();
    assert_eq!(ws.tree_of_sources(), tree);
    assert!(ws.read(".mind/SESSION-LOG.md").contains("## Session 1 — "));
    assert!(
        ws.read(".mind/DECISIONS.md")
            .contains("## DEC-001: Use cookies\n")
    );
}

#[test]
fn without_anything_there_is_nothing_to_say_or_do() {
    let ws = ws("//- knowledge/a.md\n# A\n");
    let tree = ws.tree();
    let start = ws.run(&["session", "start"]);
    assert!(start.ok().contains("memory-forge init"), "{start}");
    let end = ws.run(&["session", "end", "--title", "T"]);
    assert_eq!((end.ok(), end.stderr.as_str()), ("", ""));
    assert_eq!(ws.tree(), tree);
}

#[test]
fn a_superseded_decision_ranks_below_and_says_what_replaced_it() {
    let ws = workspace();
    ws.write(
        "memory/decisions.md",
        "# Decisions\n\n~~**2026-01-04** - Storage is MySQL storage~~ (superseded 2026-02-01)\n\n**2026-02-01** - Storage is Postgres instead of MySQL\n",
    );
    let answer = json(&ws.run(&["search", "--scope", "state", "--json", "MySQL storage"]));
    let results = answer["results"].as_array().unwrap();
    let line = |at: usize| results[at]["lines"].to_string();
    assert!(results.len() >= 2, "{answer}");
    assert!(line(0).contains('5'), "{answer}");
    let old = results
        .iter()
        .find(|it| it["standing"].is_string())
        .expect("one is superseded");
    assert_eq!(
        old["standing"], "Superseded by memory/decisions.md:5",
        "{answer}"
    );
}

/// "`session end` leaves a closets archive unlisted for ever": the archive that
/// it makes is in Tier 3, also one that an earlier run left out.
#[test]
fn an_archive_of_closets_that_session_end_makes_is_listed() {
    let ws = ws(WORKSPACE);
    for at in 0..35 {
        let text = format!("I sowed bed {at}.\n");
        ws.write(&format!("garden/bed{at:02}.md"), text);
    }
    let end = ["session", "end", "--title", "Sown", "--did", "Sowed."];
    let touched = ["--touched", "garden/bed01.md"];
    ws.run(&[&end[..], &touched[..]].concat()).ok();
    assert!(ws.exists("garden/_CLOSETS-archive.md"));
    let listed = ws.read("_MANIFEST.md");
    assert!(listed.contains("[[garden/_CLOSETS-archive]]"), "{listed}");
    // Ending twice is ending once.
    ws.run(&[&end[..], &touched[..]].concat()).ok();
    assert_eq!(ws.read("_MANIFEST.md"), listed);
    let row = |line: &&str| !line.contains("_CLOSETS-archive");
    let without: Vec<&str> = listed.lines().filter(row).collect();
    ws.write("_MANIFEST.md", without.join("\n") + "\n");
    ws.run(&["closets", "build"]).ok();
    let healed = ws.read("_MANIFEST.md");
    assert!(healed.contains("[[garden/_CLOSETS-archive]]"), "{healed}");
}

/// Seed 003: "`session-closes.log`. Appended by session-end to track clean
/// closes"; "Skills that write to it skip silently if the variable isn't set."
#[test]
fn a_clean_close_is_logged_where_the_client_keeps_the_plugins_data() {
    let ws = workspace();
    let folder = ws.home().join("plugin-data");
    let data = folder.to_string_lossy().into_owned();
    let environment = [("CLAUDE_PLUGIN_DATA", data.as_str())];
    let log = || std::fs::read_to_string(folder.join("session-closes.log")).unwrap_or_default();
    ws.run(&END).ok();
    assert!(!folder.exists(), "without the variable nothing is written");
    ws.feed("", &environment, &END).ok();
    let name = testkit::workspace::canonicalize(ws.root());
    let name = name.file_name().unwrap().to_string_lossy().into_owned();
    let line = format!("2026-03-01T09:00:00Z  {name}  clean\n");
    assert_eq!(log(), line);
    // The client's own event tells of the same close.
    let event = r#"{"hook_event_name":"SessionEnd","session_id":"s","reason":"exit"}"#;
    ws.feed(event, &environment, &["hook"]).ok();
    assert_eq!(log(), line);
    let later = [environment[0], ("MEMORY_FORGE_NOW", "2026-03-01T18:00:00Z")];
    ws.feed(event, &later, &["hook"]).ok();
    assert_eq!(
        log(),
        format!("{line}2026-03-01T18:00:00Z  {name}  clean\n")
    );
    // A folder that cannot be had is no reason to fail.
    let nowhere = [("CLAUDE_PLUGIN_DATA", "/dev/null/x")];
    ws.feed("", &nowhere, &END).ok();
}
