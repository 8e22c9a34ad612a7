//! `consolidate`: what gathers over weeks.

use crate::harness::{json, ws};
use testkit::TestWorkspace;

fn workspace(decisions: &str) -> TestWorkspace {
    let ws = ws("
        //- _MANIFEST.md
        # Context Routing
        <!-- memex-managed:2.1.3 -->

        ## Hub Map
        | Domain | Hub | Summary |
        |---|---|---|
        | Garden | [[garden/_CLOSETS]] | Beds |
        //- memory/status.md
        # Status
        //- garden/_CLOSETS.md
        # Closets: garden

        <!-- memex-closets:1.0 -->

        ## [[tomato]]
        ## [[tomatos]]
        ## [[2026-01-01-walk]]
        ## [[2026-01-02-walk]]
        //- garden/tomato.md
        ---
        type: reference
        people: [Ann]
        ---
        # Tomato
        //- garden/tomatos.md
        # Tomatos, see [[nowhere]]
        //- garden/2026-01-01-walk.md
        # Walk
        //- garden/2026-01-02-walk.md
        # Walk
    ");
    ws.write("memory/decisions.md", decisions);
    ws
}

#[test]
fn the_report_has_its_headings_and_merges_nothing() {
    let ws = workspace(
        "# Decisions\n\n**2026-01-04** - Seeds from Bloom\n**2026-02-01** - Dropped Bloom\n",
    );
    let output = ws.run(&["consolidate"]);
    assert_eq!(
        output.ok(),
        "\
Consolidate Report

DEDUP
  garden/tomato.md, garden/tomatos.md (names 1 letter apart)

DECISIONS CONTRADICTIONS
  line 3 \"Seeds from Bloom\" is superseded by line 4 \"Dropped Bloom\"

ORPHANS
  garden/tomatos.md:1 [[nowhere]] leads nowhere

DECISIONS COMPRESSION
  memory/decisions.md has 4 lines; nothing to do below 60.

Last run: never
"
    );
    assert!(
        ws.read("memory/.graph.md")
            .starts_with("# Memex Typed-Edge Graph\n")
    );
    assert!(!ws.exists("memory/.consolidate.lock"));
    assert_eq!(
        ws.read("memory/.consolidate-runs.log"),
        "2026-03-01T09:00:00Z  dedup=1 contradictions=1 orphans=1 decisions-compressed=0  status=ok\n"
    );
    assert!(
        ws.read("memory/decisions.md")
            .contains("\n**2026-01-04** - Seeds from Bloom\n")
    );
}

#[test]
fn a_second_run_of_the_day_wants_a_yes_and_changes_nothing() {
    let ws = workspace("**2026-01-04** - Seeds from Bloom\n**2026-02-01** - Dropped Bloom\n");
    ws.run(&["consolidate", "--fix"]).ok();
    assert_eq!(
        ws.read("memory/decisions.md"),
        "~~**2026-01-04** - Seeds from Bloom~~ (superseded 2026-02-01)\n**2026-02-01** - Dropped Bloom\n"
    );
    let refused = ws.run(&["consolidate", "--fix"]);
    assert!(
        refused.fails(2).contains("ran less than a day ago"),
        "{refused}"
    );
    // What the message names exists and ends the question.
    let advice = "hint: Pass `--force` to run it again now\n";
    assert!(refused.stderr.ends_with(advice), "{refused}");
    assert!(!refused.stderr.contains("--yes"), "{refused}");
    let decisions = ws.read("memory/decisions.md");
    let graph = ws.read("memory/.graph.md");
    let again = ws.run(&["consolidate", "--fix", "--force"]);
    assert!(again.ok().contains("No contradictions."), "{again}");
    assert!(
        again.ok().contains("Last run: 2026-03-01T09:00:00Z"),
        "{again}"
    );
    assert_eq!(ws.read("memory/decisions.md"), decisions);
    assert_eq!(ws.read("memory/.graph.md"), graph);
}

#[test]
fn a_lock_keeps_others_out() {
    let ws = workspace("");
    ws.write(
        "memory/.consolidate.lock",
        "2026-03-01T08:50:00Z  pid=1  agent=x\n",
    );
    let output = ws.run(&["consolidate", "--force"]);
    assert!(
        output
            .fails(1)
            .contains("Consolidate already running (lock at memory/.consolidate.lock)."),
        "{output}"
    );
}

#[test]
fn w8_a_log_with_either_set_of_counts_is_a_run() {
    for counts in [
        "dedup=1 contradictions=2 orphans=3",
        "dedup=1 decisions-contradictions=2 orphans=3 decisions-compressed=4",
    ] {
        let ws = workspace("");
        ws.write(
            "memory/.consolidate-runs.log",
            format!("2026-02-01T09:00:00Z  {counts}  status=ok\n"),
        );
        let value = json(&ws.run(&["consolidate", "--json"]));
        assert_eq!(value["last_run"], "2026-02-01T09:00:00Z", "{counts}");
    }
}

/// Sixty lines and more: a pair, a week about one thing, and noise.
fn long() -> String {
    let mut text = String::from("# Decisions\n\n");
    for n in 0..56 {
        text.push_str(&format!(
            "**2025-10-{:02}** - Fact number{n} of thing{n}\n",
            n % 28 + 1
        ));
    }
    text.push_str("**2026-01-05** - Printer paper is A5\n**2026-01-06** - Printer paper comes from Ahlstrom\n**2026-01-08** - Printer paper weighs 120 grams\n");
    text.push_str("**2026-01-20** - Tickets live in Jira | board 7\n**2026-02-01** - Tickets live in the repository instead of Jira\n");
    text
}

#[test]
fn long_decisions_are_gathered_in_their_own_words() {
    let ws = workspace(&long());
    let dry = ws.run(&["consolidate"]);
    assert!(
        dry.ok()
            .contains("1 pairs can be joined, 3 decisions can be gathered in 1 weeks."),
        "{dry}"
    );
    assert_eq!(ws.read("memory/decisions.md"), long());
    ws.run(&["consolidate", "--fix", "--force"]).ok();
    let text = ws.read("memory/decisions.md");
    assert!(
        text.ends_with("**2026-01-05–2026-01-08** - Printer paper\n  - **2026-01-05** - Printer paper is A5\n  - **2026-01-06** - Printer paper comes from Ahlstrom\n  - **2026-01-08** - Printer paper weighs 120 grams\n\
         **2026-02-01** - Tickets live in the repository instead of Jira; replaces Tickets live in Jira | board 7 (was 2026-01-20)\n"),
        "{text}"
    );
    ws.run(&["consolidate", "--fix", "--force"]).ok();
    assert_eq!(ws.read("memory/decisions.md"), text, "twice is once");
    let found = json(&ws.run(&["search", "--scope", "state", "--json", "Ahlstrom"]));
    assert_eq!(found["results"][0]["path"], "memory/decisions.md");
    let shown = ws.run(&["mind", "show", "decisions", "--json"]);
    assert!(shown.ok().contains("comes from Ahlstrom"), "{shown}");
    ws.run(&["mind", "decide", "Ink", "--decision", "Black"])
        .ok();
    assert!(
        ws.read("memory/decisions.md")
            .ends_with("\n**2026-03-01** - Ink: Black\n")
    );
}

#[test]
fn a_file_that_is_full_is_a_warning() {
    let lines: Vec<String> = (0..95)
        .map(|n| format!("**2025-10-01** - Word{n}"))
        .collect();
    let ws = workspace(&(lines.join("\n") + "\n"));
    let output = ws.run(&["consolidate"]);
    output.fails(1);
    assert!(
        output.stdout.contains("WARNING: 95 lines of at most 100"),
        "{output}"
    );
}
