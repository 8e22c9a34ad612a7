//! What the specification of the workspace layer promises, quoted, and held by
//! the program as a user runs it.

use testkit::TestWorkspace;

use crate::harness::{json, ws};

const MANIFEST: &str = "
    //- _MANIFEST.md
    # Context Routing
    <!-- memex-managed:2.1.3 -->
    <!-- summary-format-version:2 -->

    ## Tier 1 - Always Load
    | File | Summary | Volatility |
    |---|---|---|

    ## Tier 3 - Archive
    | File | Reason | Date |
    |---|---|---|

    ## Hub Map
    | Domain | Hub | Summary |
    |---|---|---|
";

/// "Search (find the file by name in the workspace)": any folder, and never a
/// second file beside it.
#[test]
fn state_files_are_found_by_name_in_any_folder() {
    let ws = ws(MANIFEST);
    ws.write(
        "working/desk/status.md",
        "# Status\n\nLast updated: 2026-02-28\n\n**Phase:** Deep\n",
    );
    ws.write("working/desk/session-log.md", "# Session Log\n\n---\n");
    ws.write("working/notes/old/decisions.md", "# Decisions\n");
    ws.write("working/notes/glossary.md", "# Glossary\n");
    ws.write("working/scratch/ideas.md", "# Ideas\n");
    let start = ws.run(&["session", "start"]);
    assert!(start.ok().contains("**Status:** Deep"), "{start}");
    assert!(!start.ok().contains("Untracked"), "{start}");
    let idea = ws.run(&["idea", "Sell crumbs"]);
    assert!(idea.ok().contains("working/scratch/ideas.md"), "{idea}");
    ws.run(&[
        "session",
        "end",
        "--title",
        "Day",
        "--did",
        "Baked.",
        "--decision",
        "Rye",
        "--next",
        "Sleep",
    ])
    .ok();
    assert!(ws.read("working/desk/status.md").contains("1. Sleep"));
    assert!(ws.read("working/desk/session-log.md").contains("- Baked."));
    assert!(ws.read("working/notes/old/decisions.md").contains("Rye"));
    for second in [
        "memory/status.md",
        "memory/session-log.md",
        "memory/decisions.md",
        "memory/glossary.md",
        "scratch/ideas.md",
        "ideas.md",
        ".mind/STATE.md",
    ] {
        assert!(!ws.exists(second), "{second}");
    }
}

/// Two files that could be meant: one is used, and every reader says so until
/// the manifest decides.
#[test]
fn two_files_of_one_name_are_reported_until_the_manifest_decides() {
    let ws = ws(MANIFEST);
    ws.write("memory/status.md", "# Status\n\nLast updated: 2026-02-28\n");
    ws.write("a/ideas.md", "# Ideas\n");
    ws.write("b/c/ideas.md", "# Ideas\n");
    let said = "a/ideas.md is used as the file of ideas, and b/c/ideas.md has the same name";
    for args in [&["session", "start"][..], &["idea", "one"], &["lint"]] {
        let output = ws.run(args);
        let all = format!("{}{}", output.stdout, output.stderr);
        assert!(all.contains(said), "{args:?}: {all}");
    }
    let manifest = ws.read("_MANIFEST.md");
    let row = "|---|---|---|\n| [[b/c/ideas]] | Inbox | VOLATILE |\n\n## Tier 3";
    ws.write(
        "_MANIFEST.md",
        manifest.replace("|---|---|---|\n\n## Tier 3", row),
    );
    let idea = ws.run(&["idea", "two"]);
    assert!(idea.ok().contains("b/c/ideas.md"), "{idea}");
    assert!(!idea.stderr.contains("same name"), "{idea}");
}

/// "A user who drops `status.md` into `memory/` gets a working system without
/// any configuration."
#[test]
fn a_status_file_alone_is_a_workspace() {
    let ws = ws(
        "//- memory/status.md\n# Status\n\nLast updated: 2026-02-28\n\n**Phase:** Spring\n//- src/lib.rs\n// code\n",
    );
    let start = ws.run(&["session", "start"]);
    assert!(start.ok().contains("**Status:** Spring"), "{start}");
    let below = ws
        .command()
        .current_dir(ws.path("src"))
        .args(["mind", "show"])
        .output()
        .expect("the program starts");
    let below = String::from_utf8_lossy(&below.stdout);
    assert!(below.contains("Spring"), "{below}");
    assert!(
        !ws.run(&["status"])
            .ok()
            .contains("none yet; `memory-forge init`")
    );
    ws.run(&[
        "session",
        "end",
        "--title",
        "Day",
        "--did",
        "Dug.",
        "--decision",
        "Grow beans",
    ])
    .ok();
    ws.run(&["mind", "set", "--next", "Plant"]).ok();
    assert!(ws.read("memory/session-log.md").contains("- Dug."));
    assert!(ws.read("memory/decisions.md").contains("Grow beans"));
    assert!(ws.read("memory/status.md").contains("1. Plant"));
    ws.run(&["lint"]).ok();
    ws.run(&["consolidate"]).ok();
    assert!(!ws.exists(".mind/STATE.md") && !ws.exists("_MANIFEST.md"));
}

/// A hub without documents has its closets file, "so that `lint`, `upgrade` and
/// `session start` stop asking".
#[test]
fn an_empty_hub_gets_its_closets_file() {
    let ws = ws(MANIFEST);
    ws.write("memory/status.md", "# Status\n\nLast updated: 2026-02-28\n");
    ws.write("garden/plan.txt", "later\n");
    let row = "| Garden | [[garden/_CLOSETS]] | Beds |\n| Shed | [[shed/_CLOSETS]] | Tools |\n";
    ws.write("_MANIFEST.md", ws.read("_MANIFEST.md") + row);
    let check = ws.run(&["closets", "check"]);
    assert!(check.stdout.contains("garden/_CLOSETS.md"), "{check}");
    let start = ws.run(&["session", "start"]);
    assert!(start.ok().contains("Closets missing for 1 of 1"), "{start}");
    ws.run(&["closets", "build"]).ok();
    assert!(ws.exists("garden/_CLOSETS.md") && !ws.exists("shed"));
    ws.run(&["closets", "check"]).ok();
    assert!(
        !ws.run(&["session", "start"])
            .ok()
            .contains("Closets missing")
    );
    assert!(!ws.run(&["lint"]).stdout.contains("CLOSETS COVERAGE: 1"));
    let upgrade = ws.run(&["upgrade"]);
    assert!(
        upgrade.ok().contains("The workspace is current"),
        "{upgrade}"
    );
}

/// A manifest that is kept by hand, with a hub page.
fn by_hand() -> TestWorkspace {
    let ws = ws("
    //- _MANIFEST.md
    # Map

    ## Tier 1 - Always Load
    | File | Summary | Volatility |
    |---|---|---|
    | [[status]] | Where we are | VOLATILE |

    ## Hub Map
    | Domain | Hub | Summary |
    |---|---|---|
    | Garden | [[garden-index]] | Beds and seeds |
    //- memory/status.md
    # Status

    Last updated: 2026-02-28
    //- memory/session-log.md
    # Session Log

    ---
    //- garden/garden-index.md
    # Garden

    | File | Purpose | Status |
    |---|---|---|
    | [[beans]] | Climbers | Active |
    //- garden/beans.md
    # Beans
    They climb.
    ");
    ws.write("garden/peas.md", "# Peas\n\nSow them early, in rows.\n");
    ws
}

/// "Update touched hub files (including informally created domains)", also for
/// a manifest without a marker.
#[test]
fn session_end_keeps_hub_tables_current_in_compatible_mode() {
    let ws = by_hand();
    let end = [
        "session",
        "end",
        "--title",
        "Sowing",
        "--touched",
        "garden/peas.md",
    ];
    let output = ws.run(&end);
    assert!(output.ok().contains("- Hub tables: 1 updated"), "{output}");
    let page = ws.read("garden/garden-index.md");
    let (kept, row) = page.split_at(page.find("| [[peas]] |").unwrap_or(page.len()));
    assert_eq!(
        kept,
        "# Garden\n\n| File | Purpose | Status |\n|---|---|---|\n| [[beans]] | Climbers | Active |\n"
    );
    assert!(
        row.contains("Sow") && row.ends_with(" | Active |\n"),
        "{page}"
    );
    assert!(!ws.exists("garden/_CLOSETS.md"), "no closets unasked");
    assert!(!ws.read("_MANIFEST.md").contains("<!--"));
    let tree = ws.tree_of_sources();
    ws.run(&end).ok();
    assert_eq!(ws.tree_of_sources(), tree, "the same again changes nothing");
    // What we wrote follows its file; what a person wrote stays.
    ws.write("garden/peas.md", "# Peas\n\nPick them in June.\n");
    ws.run(&end).ok();
    let page = ws.read("garden/garden-index.md");
    assert!(page.contains("| Pick") && !page.contains("Sow"), "{page}");
    assert!(page.contains("| [[beans]] | Climbers | Active |"), "{page}");
}

#[test]
fn session_end_keeps_hub_tables_current_beside_closets() {
    let ws = by_hand();
    let manifest = ws.read("_MANIFEST.md");
    let marked = "# Map\n<!-- memex-managed:2.1.3 -->\n<!-- summary-format-version:2 -->";
    ws.write("_MANIFEST.md", manifest.replace("# Map", marked));
    ws.write("garden/garden-index.md", "# Garden\n\nOnly words here.\n");
    ws.run(&[
        "session",
        "end",
        "--title",
        "T",
        "--touched",
        "garden/peas.md",
    ])
    .ok();
    let page = ws.read("garden/garden-index.md");
    assert!(
        page.starts_with("# Garden\n\nOnly words here.\n\n| File | Purpose | Status |\n|---|---|---|\n| [[beans]] |"),
        "{page}"
    );
    assert!(ws.read("garden/_CLOSETS.md").contains("## [[peas]]"));
}

/// "`decisions.md` stays under 100 lines - related entries get compressed."
#[test]
fn decisions_get_below_their_limit_and_stay_findable() {
    let ws = ws(MANIFEST);
    ws.write("memory/status.md", "# Status\n\nLast updated: 2026-02-28\n");
    let lines: Vec<String> = (0..120)
        .map(|n| format!("**2025-10-{:02}** - Word{n} of thing{n}", n % 28 + 1))
        .collect();
    ws.write(
        "memory/decisions.md",
        format!("# Decisions\n\n{}\n", lines.join("\n")),
    );
    let end = ws.run(&["session", "end", "--title", "T", "--decision", "One more"]);
    let advice = "run `memory-forge consolidate --fix --force`";
    assert!(end.ok().contains(advice), "{end}");
    let warned = ws.run(&["consolidate"]);
    assert!(warned.stdout.contains(advice), "{warned}");
    ws.run(&["consolidate", "--fix", "--force"]).ok();
    let left = ws.read("memory/decisions.md");
    assert!(left.lines().count() < 95, "{left}");
    assert!(left.contains("One more"), "the newest stays: {left}");
    for line in &lines {
        let archived = ws.read("memory/decisions-archive.md");
        assert!(left.contains(line) != archived.contains(line), "{line}");
    }
    let found = json(&ws.run(&["search", "--scope", "all", "--json", "Word0"]));
    assert!(!found["results"].as_array().unwrap().is_empty(), "{found}");
    assert!(
        ws.read("_MANIFEST.md")
            .contains("[[memory/decisions-archive]]")
    );
    let tree = ws.tree_of_sources();
    ws.run(&["consolidate", "--fix", "--force"]).ok();
    assert_eq!(ws.read("memory/decisions.md"), left, "twice is once");
    assert_eq!(tree.len(), ws.tree_of_sources().len());
    let again = ws.run(&["session", "end", "--title", "T2"]);
    assert!(!again.ok().contains("of at most 100"), "{again}");
}

/// Where nothing helps, no command is advised.
#[test]
fn a_file_that_cannot_be_shortened_gets_no_such_advice() {
    let ws = ws(MANIFEST);
    ws.write("memory/status.md", "# Status\n\nLast updated: 2026-02-28\n");
    let prose = "A thought that nobody decided.\n\n".repeat(60);
    ws.write("memory/decisions.md", format!("# Decisions\n\n{prose}"));
    for args in [&["session", "end", "--title", "T"][..], &["consolidate"]] {
        let output = ws.run(args);
        assert!(
            output.stdout.contains("a person has to shorten it"),
            "{output}"
        );
        assert!(!output.stdout.contains("--fix --force"), "{output}");
    }
}

/// "Ten entries with dates in the future do not block `session end`."
#[test]
fn entries_of_the_future_do_not_block_session_end() {
    let same: fn(usize) -> String = |_| "2027-05-05".to_owned();
    let falling: fn(usize) -> String = |n| format!("2027-05-{:02}", 20 - n);
    let rising: fn(usize) -> String = |n| format!("2027-05-{:02}", 10 + n);
    for date in [same, falling, rising] {
        let ws = ws(MANIFEST);
        ws.write("memory/status.md", "# Status\n\nLast updated: 2026-02-28\n");
        let entries: Vec<String> = (0..10)
            .map(|n| format!("## {} - Session {n}\n\n- Did {n}.\n\n---\n", date(n)))
            .collect();
        let log = format!("# Session Log\n\n---\n\n{}", entries.join("\n"));
        ws.write("memory/session-log.md", log);
        let decided: Vec<String> = (0..10)
            .map(|n| format!("**{}** - Fact {n}", date(n)))
            .collect();
        ws.write(
            "memory/decisions.md",
            format!("# Decisions\n\n{}\n", decided.join("\n")),
        );
        for title in ["First", "Second"] {
            let end = ws.run(&[
                "session",
                "end",
                "--title",
                title,
                "--did",
                "Worked.",
                "--decision",
                title,
            ]);
            assert!(!end.ok().contains("INCOMPLETE"), "{end}");
        }
        let log = ws.read("memory/session-log.md");
        assert!(log.contains("- First") && log.contains("- Second"), "{log}");
        assert_eq!(log.matches("\n## ").count(), 10, "{log}");
        let archived = ws.read("memory/session-log-archive.md");
        assert_eq!(archived.matches("\n## ").count(), 2, "{archived}");
    }
}

/// The lines of a workspace in `CLAUDE.md`: "session-start invocation,
/// session-end invocation, and the wikilink format rule", at most six.
fn assert_lines(text: &str) {
    let (_, rest) = text
        .split_once("<!-- memory-forge:begin -->\n")
        .unwrap_or_else(|| panic!("no lines: {text}"));
    let (ours, _) = rest
        .split_once("\n<!-- memory-forge:end -->")
        .expect("an end");
    assert!(ours.lines().count() <= 6, "{ours}");
    for rule in [
        "`memory-forge session start`",
        "`memory-forge session end",
        "`[[filename]]`",
    ] {
        assert!(ours.contains(rule), "{rule}: {ours}");
    }
}

/// "Empty workspace: Ask one question ("What are you working on?"), then
/// scaffold everything."
#[cfg(unix)]
#[test]
fn init_asks_its_one_question_on_a_terminal() {
    let ws = ws("");
    let mut command = ws.command();
    command.args(["init", "--workspace"]);
    let screen = testkit::terminal::run(command, 100, "A billing engine\n");
    let text = screen.text();
    assert!(text.contains("What are you working on?"), "{text}");
    assert!(!text.contains("[y/N]"), "one question is enough: {text}");
    assert!(
        ws.read("memory/status.md").contains("- A billing engine"),
        "{text}"
    );
    assert_lines(&ws.read("CLAUDE.md"));
    ws.run(&["lint"]).ok();
}

/// A fresh workspace passes every check, also where notes were there before:
/// "Existing files: scan file content, … build manifest and hubs".
#[test]
fn a_fresh_workspace_passes_lint() {
    for files in [
        "",
        "//- CLAUDE.md\n# Rules\n\nBe kind.\n//- legal/lease.md\n# Lease\n\nSee permits.\n//- legal/permits.md\n# Permits\n\nNone yet.\n//- recipes/rye.md\n# Rye\n\nThe lease allows an oven.\n//- src/main.rs\nfn main() {}\n//- src/notes.md\n# Code\n",
    ] {
        let ws = ws(files);
        ws.run(&["init", "--workspace", "Bread", "--yes"]).ok();
        let lint = ws.run(&["lint"]);
        assert!(lint.ok().contains("Summary: 0 warnings, 0 info"), "{lint}");
        ws.write("misc/z.md", "# Z\n");
        let lint = ws.run(&["lint"]);
        assert!(lint.ok().contains("Summary: 0 warnings, 1 info"), "{lint}");
        ws.remove("misc/z.md");
        assert_lines(&ws.read("CLAUDE.md"));
        ws.run(&["links", "check"]).ok();
        ws.run(&["closets", "check"]).ok();
        let upgrade = ws.run(&["upgrade"]);
        assert!(upgrade.ok().contains("is current"), "{upgrade}");
        if files.is_empty() {
            continue;
        }
        assert!(ws.read("CLAUDE.md").starts_with("# Rules\n\nBe kind.\n"));
        // "Pass 1 (automated): Exact filename matches converted without
        // confirmation."
        assert!(ws.read("legal/lease.md").contains("See [[permits]]."));
        assert!(ws.read("recipes/rye.md").contains("The [[lease]] allows"));
        assert!(ws.read("legal/_CLOSETS.md").contains("## [[lease]]"));
        let undo = ws.run(&["doctor", "--undo", "--yes"]);
        undo.ok();
        assert!(!ws.exists("_MANIFEST.md"), "one undo takes all of it back");
        assert_eq!(ws.read("CLAUDE.md"), "# Rules\n\nBe kind.\n");
    }
}

/// "Distinguish reference types (glossary vs contacts vs quick refs)", "Detect
/// catch-all folders and recommend dissolving them".
#[test]
fn init_tells_references_apart_and_dissolves_catch_alls() {
    let ws = ws("
    //- misc/words.md
    # Words

    | Term | Meaning |
    |---|---|
    | Proof | The last rise |
    | Crumb | The inside |
    | Levain | The starter |
    //- misc/people.md
    # People

    - **Maria** - maria@mill.example
    - **Otto** - otto@mine.example
    - **Ada** - ada@dairy.example
    //- misc/oven.md
    # Oven

    - `oven on` heats it
    - `oven off` cools it
    - `oven log` shows the day
    //- recipes/rye.md
    # Rye bread

    Flour, water and salt. Bake the dough.
    //- recipes/rolls.md
    # Rolls

    Flour, butter and salt. Bake the dough early.
    //- misc/baguette.md
    # Baguette

    Flour, water and salt. Bake the dough hot.
    //- misc/zebra.md
    # Zebra

    Stripes.
    ");
    let started = ws.run(&["init", "--organise", "--json"]);
    let plan = json(&started);
    let kinds: Vec<(&str, &str)> = plan["references"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["file"].as_str().unwrap(), it["kind"].as_str().unwrap()))
        .collect();
    assert_eq!(
        kinds,
        [
            ("misc/oven.md", "quick reference"),
            ("misc/people.md", "contacts"),
            ("misc/words.md", "glossary"),
        ]
    );
    assert_eq!(plan["catch_alls"], serde_json::json!(["misc"]));
    let written = ws.run(&["init", "--organise"]);
    assert!(
        written
            .ok()
            .contains("Catch-all folders to dissolve: misc/"),
        "{written}"
    );
    ws.run(&["init", "--apply", "memory-forge-plan.toml", "--yes"])
        .ok();
    assert!(!ws.exists("misc"), "{}", ws.tree());
    assert!(ws.read("memory/glossary.md").contains("| Proof |"));
    assert!(ws.read("memory/contacts.md").contains("Maria"));
    assert!(ws.exists("recipes/baguette.md") && ws.exists("scratch/zebra.md"));
    assert_lines(&ws.read("CLAUDE.md"));
    let lint = ws.run(&["lint"]);
    assert!(lint.ok().contains("Summary: 0 warnings, 0 info"), "{lint}");
}

/// "Prompts user to run init": an older marker is for `upgrade`, and a current
/// workspace is only looked at.
#[test]
fn init_of_a_workspace_is_the_health_check_or_points_to_upgrade() {
    let ws = ws("");
    ws.run(&["init", "--workspace", "Bread", "--yes"]).ok();
    ws.write("kitchen/soup.md", "# Soup\n\nSee [[nothing]].\n");
    let tree = ws.tree_of_sources();
    let health = ws.run(&["init", "--workspace"]);
    health.fails(1);
    assert_eq!(ws.tree_of_sources(), tree, "looking changes nothing");
    assert_eq!(
        health.stdout,
        "Lint: 1 warnings, 0 info -- see `memory-forge lint`\n\
         Wikilinks: 1 broken -- see `memory-forge links check`\n\
         Untracked: 1 folders and files -- see `memory-forge init --organise`\n\
         Overall: needs attention\n"
    );
    let manifest = ws.read("_MANIFEST.md").replace("2.1.3", "1.4");
    ws.write("_MANIFEST.md", manifest);
    let old = ws.run(&["init", "--workspace", "--yes"]);
    assert!(old.fails(1).contains("Run `memory-forge upgrade`"), "{old}");
    assert!(ws.read("_MANIFEST.md").contains("memex-managed:1.4"));
    ws.run(&["upgrade"]).ok();
}
