//! `check`: every check of notes and state at once, and their repairs as one
//! change.

use std::collections::BTreeSet;

use serde_json::Value;
use testkit::TestWorkspace;

use crate::harness::ws;
use crate::lint::CLEAN;

/// Standard output as JSON, whatever the exit code.
#[track_caller]
fn json(ws: &TestWorkspace, args: &[&str]) -> Value {
    let output = ws.run(args);
    serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output}"))
}

fn ids(report: &Value) -> Vec<&str> {
    let findings = report["findings"].as_array().expect("findings are a list");
    findings
        .iter()
        .filter_map(|it| it["check"].as_str())
        .collect()
}

/// A workspace with a link that leads nowhere, a decision that was replaced, an
/// entry of a file that is gone and a row of the manifest for another one.
fn broken() -> TestWorkspace {
    let ws = ws(CLEAN);
    ws.write("garden/beans.md", "# Beans\nThey climb. See [[pease]].\n");
    ws.write("garden/peas.md", "# Peas\n");
    ws.write(
        "memory/decisions.md",
        "# Decisions\n\n**2026-01-04** - Seeds from Bloom\n**2026-02-01** - Dropped Bloom\n",
    );
    let closets = ws.read("garden/_CLOSETS.md");
    let gone = format!("{closets}\n## [[parsnip]]\n- subjects: parsnip\n");
    ws.write("garden/_CLOSETS.md", gone);
    let manifest = ws.read("_MANIFEST.md");
    let row = "| [[status]] | Where we are | VOLATILE |";
    let more = format!("{row}\n| [[gone]] | Nobody knows | STABLE |");
    ws.write("_MANIFEST.md", manifest.replace(row, &more));
    ws
}

#[test]
fn findings_are_listed_by_file_with_id_and_advice() {
    let ws = broken();
    let tree = ws.tree();
    let output = ws.run(&["check"]);
    output.fails(1);
    for part in [
        "garden/beans.md\n  ✗ error: line 2: [[pease]] leads nowhere (links.missing)\n      → did you mean [[peas]]?\n",
        "memory/decisions.md\n  ⚠ warning: line 3: \"Seeds from Bloom\" is superseded by line 4",
        "(decisions.superseded)\n      → mark it",
        "(manifest.entries)",
        "(closets.orphan)",
        "2 errors, ",
    ] {
        assert!(output.stdout.contains(part), "{part}: {output}");
    }
    assert!(
        output.stderr.contains("`memory-forge check --fix` repairs"),
        "{output}"
    );
    let error = output.stdout.find("✗").expect("there is an error");
    assert!(
        error < output.stdout.find("⚠").expect("a warning"),
        "{output}"
    );
    assert_eq!(ws.tree(), tree, "looking changes nothing");
}

#[test]
fn json_has_every_finding_and_every_check() {
    let report = json(&broken(), &["check", "--json"]);
    let found: BTreeSet<&str> = ids(&report).into_iter().collect();
    for id in [
        "links.missing",
        "decisions.superseded",
        "manifest.entries",
        "closets.orphan",
    ] {
        assert!(found.contains(id), "{id}: {report:#}");
    }
    let findings = report["findings"].as_array().expect("findings are a list");
    let link = findings.iter().find(|it| it["path"] == "garden/beans.md");
    let link = link.expect("it was found");
    assert_eq!(link["check"], "links.missing");
    assert_eq!(link["line"], 2);
    assert_eq!(link["severity"], "error");
    assert_eq!(link["subject"], "pease");
    assert_eq!(link["fixable"], false);
    let checks = report["checks"].as_array().expect("checks are a list");
    assert!(checks.len() > 20, "{report:#}");
    assert_eq!(report["summary"]["errors"], 2);
}

#[test]
fn a_clean_workspace_passes() {
    let ws = ws(CLEAN);
    ws.write("garden/_CLOSETS.md", "");
    ws.run(&["closets", "build"]).ok();
    let output = ws.run(&["check", "--only", "links", "--only", "manifest"]);
    assert_eq!(output.ok(), "✓ 8 checks: nothing to report\n", "{output}");
}

#[test]
fn what_is_not_there_is_skipped_and_named_only_when_asked() {
    let nothing = ws("");
    let output = nothing.run(&["check"]);
    assert!(
        output.ok().contains("skipped: nothing to report"),
        "{output}"
    );
    assert!(!output.stderr.contains("Skipped"), "{output}");
    let output = nothing.run(&["check", "--verbose"]);
    assert!(
        output
            .stderr
            .contains("Skipped state.stale: no state is kept here"),
        "{output}"
    );
    assert!(
        output
            .stderr
            .contains("Skipped manifest.entries: there is no `_MANIFEST.md`")
    );
    // Knowledge alone: links are looked at, closets are nobody's duty.
    let knowledge = ws("//- knowledge/a.md\n# A\n\nSee [[gone]].\n");
    let report = json(&knowledge, &["check", "--json"]);
    assert_eq!(ids(&report), ["links.missing"], "{report:#}");
    // State alone.
    let state = ws("//- .mind/STATE.md\n# Project State\n");
    let report = json(&state, &["check", "--json", "--only", "state"]);
    assert!(ids(&report).contains(&"state.stale"), "{report:#}");
}

#[test]
fn a_selection_runs_alone_and_a_wrong_one_is_refused() {
    let ws = broken();
    let only = |words: &[&str]| {
        let mut args = vec!["check", "--json"];
        for word in words {
            args.extend(["--only", word]);
        }
        json(&ws, &args)
    };
    let links = only(&["links"]);
    assert_eq!(
        ids(&links),
        ["links.missing", "links.missing", "links.closets"]
    );
    assert_eq!(
        ids(&only(&["decisions.superseded"])),
        ["decisions.superseded"]
    );
    let both = only(&["links.missing", "decisions"]);
    assert_eq!(
        ids(&both),
        ["decisions.superseded", "links.missing", "links.missing"]
    );
    // Those of `doctor` run by name.
    assert!(ids(&only(&["index"])).contains(&"index.damaged"));
    let output = ws.run(&["check", "--only", "lnks.missing"]);
    output.fails(2);
    assert!(
        output.stderr.contains("Did you mean `links.missing`?"),
        "{output}"
    );
}

#[test]
fn the_list_has_every_id_once() {
    let output = ws("").run(&["check", "--list"]);
    let shown: Vec<&str> = output.ok().lines().collect();
    assert!(
        shown.iter().any(|it| it.starts_with("links.missing ")),
        "{output}"
    );
    let listed = json(&ws(""), &["check", "--list", "--json"]);
    assert_eq!(listed["checks"].as_array().map(Vec::len), Some(shown.len()));
}

#[test]
fn long_results_are_capped_and_say_so() {
    let ws = ws("");
    for file in 0..9 {
        let links: Vec<String> = (0..20).map(|n| format!("[[gone {file} {n}]]\n")).collect();
        ws.write(&format!("knowledge/{file}.md"), links.join("\n"));
    }
    let output = ws.run(&["check"]);
    output.fails(1);
    let shown = output.stdout.matches("✗ error").count();
    assert_eq!(shown, 50, "{output}");
    assert!(
        output.stdout.contains("… and 130 more: 130 links.missing"),
        "{output}"
    );
    let output = ws.run(&["check", "--limit", "3"]);
    assert_eq!(output.stdout.matches("✗ error").count(), 3);
    assert_eq!(ids(&json(&ws, &["check", "--json"])).len(), 180);
}

#[test]
fn a_repair_is_shown_asked_about_and_one_change() {
    let ws = broken();
    let before = ws.tree_of_sources();
    // Without a terminal the answer is no.
    ws.run(&["check", "--fix"]).fails(2);
    assert_eq!(ws.tree_of_sources(), before);
    let shown = ws.run(&["check", "--fix", "--dry-run"]);
    for part in ["-| [[gone]]", "-## [[parsnip]]", "+~~**2026-01-04**"] {
        assert!(shown.stdout.contains(part), "{part}: {shown}");
    }
    assert_eq!(ws.tree_of_sources(), before, "{shown}");
    let fixed = json(&ws, &["check", "--fix", "--yes", "--json"]);
    let changes = fixed["changes"].as_array().expect("changes are a list");
    assert_eq!(changes.len(), 1, "{fixed:#}");
    let still = ids(&fixed);
    for id in ["decisions.superseded", "manifest.entries", "closets.orphan"] {
        assert!(!still.contains(&id), "{id}: {fixed:#}");
    }
    // A link is a person's.
    assert!(still.contains(&"links.missing"), "{fixed:#}");
    let after = ws.tree_of_sources();
    let again = ws.run(&["check", "--fix", "--yes"]);
    assert!(again.stderr.contains("Nothing to repair"), "{again}");
    assert_eq!(ws.tree_of_sources(), after, "twice is once");
    ws.run(&["undo"]).ok();
    for (path, text) in [
        ("_MANIFEST.md", "[[gone]]"),
        ("garden/_CLOSETS.md", "[[parsnip]]"),
    ] {
        assert!(ws.read(path).contains(text), "{path}");
    }
}

/// The same as `consolidate --fix` does, with its lock and its log.
#[test]
fn a_long_file_of_decisions_is_shortened_with_the_rest() {
    let ws = broken();
    let mut text = String::from("# Decisions\n\n");
    for n in 0..110 {
        let (month, day) = (n / 28 + 1, n % 28 + 1);
        text += &format!("**2025-{month:02}-{day:02}** - Choice {n} about bed {n}\n");
    }
    ws.write("memory/decisions.md", &text);
    let report = json(&ws, &["check", "--json", "--only", "decisions.full"]);
    assert_eq!(ids(&report), ["decisions.full"]);
    let fixed = json(&ws, &["check", "--fix", "--yes", "--json"]);
    assert_eq!(
        fixed["changes"].as_array().map(Vec::len),
        Some(1),
        "{fixed:#}"
    );
    assert!(!ids(&fixed).contains(&"decisions.full"), "{fixed:#}");
    let archive = ws.read("memory/decisions-archive.md");
    let kept = ws.read("memory/decisions.md");
    for n in 0..110 {
        let choice = format!("Choice {n} about bed {n}");
        let is_there = |text: &str| text.contains(&choice);
        assert!(is_there(&archive) || is_there(&kept), "{choice}");
    }
    let manifest = ws.read("_MANIFEST.md");
    assert!(manifest.contains("decisions-archive"), "{manifest}");
    assert!(!manifest.contains("[[gone]]"), "{manifest}");
    assert!(
        ws.read("memory/.consolidate-runs.log")
            .contains("status=ok")
    );
    assert!(!ws.exists("memory/.consolidate.lock"));
}

#[test]
fn a_rule_that_hooks_can_never_bring_is_reported_with_its_line() {
    let ws = ws("
        //- knowledge/schema.md
        ---
        title: Schema
        applies-to: [db/**, *.sql]
        ---
        # Schema

        Migrations are never edited.
        //- knowledge/release.md
        ---
        applies-to: [\"tools/release/**\", \"npm publish\"]
        ---
        # Releases

        CI publishes.
        //- src/a.rs
    ");
    let output = ws.run(&["check", "--only", "push"]);
    assert_eq!(output.status, Some(1), "{output}");
    for part in [
        "`applies-to:` cannot be read, so hooks never bring this document",
        "Write a list of texts, each in quotes",
        "`tools/release/**` in `applies-to:` fits nothing: there is no folder `tools/release`",
    ] {
        assert!(output.stdout.contains(part), "{part}: {output}");
    }
    let found = json(&ws, &["check", "--only", "push", "--json"]);
    assert_eq!(ids(&found), ["push.applies-to", "push.no-match"]);
    let place = |at: usize| {
        let finding = &found["findings"][at];
        (finding["path"].clone(), finding["line"].clone())
    };
    assert_eq!(place(0), ("knowledge/schema.md".into(), 3.into()));
    assert_eq!(place(1), ("knowledge/release.md".into(), 2.into()));
    ws.write(
        "knowledge/schema.md",
        "---\napplies-to: [\"src/**\", \"*.sql\"]\n---\n# Schema\n\nA rule.\n",
    );
    ws.write("tools/release/run.sh", "");
    ws.run(&["check", "--only", "push"]).ok();
}
