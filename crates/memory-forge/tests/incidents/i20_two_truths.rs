//! Two truths that fight: files and an index that disagree.

use std::fs;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use testkit::TestWorkspace;

use crate::harness::{answer, ws};
use crate::i01_children_without_bound::mcp_client::Client;
use crate::i01_children_without_bound::provoke::set_time;

const QUESTIONS: [&str; 5] = ["amber", "basalt", "chalk", "stone of the harbour", "word7"];

/// What the program answers as it stands.
fn answers(ws: &TestWorkspace) -> Vec<Value> {
    QUESTIONS
        .iter()
        .map(|question| plain(&answer(ws, question, &["-n", "20"])))
        .collect()
}

/// Places and texts; no figures that depend on when something was looked at.
fn plain(answer: &Value) -> Value {
    let results = answer["results"].as_array().expect("a list");
    results
        .iter()
        .map(|hit| json!([hit["path"], hit["lines"], hit["text"]]))
        .collect()
}

/// The answers must be those of an index that is built from the files now,
/// elsewhere, by nobody who knew the old ones.
#[track_caller]
fn answers_are_fresh(ws: &TestWorkspace, case: &str) {
    let now = answers(ws);
    let fresh = self::ws("");
    copy(ws, &fresh);
    assert_eq!(now, answers(&fresh), "{case}");
    let check = ws.run(&["doctor"]);
    assert!(
        !check.stdout.contains("did not find its passage"),
        "{case}: {check}"
    );
}

fn copy(from: &TestWorkspace, to: &TestWorkspace) {
    for line in from.tree_of_sources().lines() {
        let path = line.rsplit_once(' ').map_or(line, |(path, _)| path);
        if path.ends_with('/') {
            continue;
        }
        to.write(path, from.read_bytes(path));
    }
}

fn stones() -> TestWorkspace {
    let ws = ws("");
    for (name, stone) in [("a", "Amber"), ("b", "Basalt"), ("c", "Chalk")] {
        ws.write(
            &format!("knowledge/{name}.md"),
            format!("# {stone}\n\nThe stone of the harbour is {stone}.\n\n## More\n\nIt is old.\n"),
        );
    }
    for number in 0..10 {
        ws.write(
            &format!("knowledge/n{number}.md"),
            format!("# N{number}\n\nword{number} stone\n"),
        );
    }
    ws.git_init();
    ws.write(".gitignore", ".memory-forge/\n");
    ws.commit("first");
    ws
}

#[test]
fn files_that_are_edited_by_hand_between_commands() {
    let ws = stones();
    answers_are_fresh(&ws, "at first");
    ws.write(
        "knowledge/a.md",
        "# Amber\n\nThe stone of the harbour is now Basalt.\n",
    );
    answers_are_fresh(&ws, "an edit");
    ws.remove("knowledge/b.md");
    answers_are_fresh(&ws, "a deletion");
    fs::rename(ws.path("knowledge/c.md"), ws.path("knowledge/a.md")).expect("ours");
    answers_are_fresh(&ws, "one over another");
    fs::create_dir(ws.path("knowledge/n1")).expect("ours");
    fs::rename(ws.path("knowledge/n1.md"), ws.path("knowledge/n1/n1.md")).expect("ours");
    answers_are_fresh(&ws, "a move");
    ws.write("knowledge/n2.md", "");
    answers_are_fresh(&ws, "emptied");
}

/// Times that lie: kept by an editor, set back by an unpacker, from the future,
/// before 1970, the same on all files.
#[test]
fn times_that_lie_do_not_hide_an_edit() {
    let ws = stones();
    answers(&ws);
    let file = ws.path("knowledge/a.md");
    let text = |word: &str| format!("# Amber\n\nThe stone of the harbour is {word}.\n");
    let times = [
        SystemTime::now() + Duration::from_secs(10 * 365 * 86_400),
        UNIX_EPOCH + Duration::from_secs(1),
        UNIX_EPOCH,
        SystemTime::now() - Duration::from_secs(3_600),
    ];
    for (round, time) in times.into_iter().enumerate() {
        // The same length each time, so that only the content tells.
        let word = ["opals", "agate", "beryl", "flint"][round];
        fs::write(&file, text(word)).expect("ours");
        set_time(&file, time);
        let found = answer(&ws, word, &["--mode", "text"]);
        assert_eq!(
            found["results"][0]["path"], "knowledge/a.md",
            "{word}: {found}"
        );
        answers_are_fresh(&ws, word);
    }
    // An edit that keeps size and time, right after the index was made.
    for round in 0..5 {
        let word = format!("gem{round:02}");
        fs::write(&file, text(&word)).expect("ours");
        answers(&ws);
        let time = fs::metadata(&file)
            .and_then(|it| it.modified())
            .expect("it has one");
        let word = format!("ore{round:02}");
        fs::write(&file, text(&word)).expect("ours");
        set_time(&file, time);
        let found = answer(&ws, &word, &["--mode", "text"]);
        assert_eq!(
            found["results"][0]["path"], "knowledge/a.md",
            "{word}: {found}"
        );
    }
}

/// The clock of the machine jumps by decades, both ways, with edits between.
#[test]
fn a_clock_that_jumps_makes_no_difference() {
    let ws = stones();
    let mut number = 0;
    for now in [
        "2026-03-01T09:00:00Z",
        "1990-01-01T00:00:00Z",
        "2099-12-31T23:59:59Z",
        "1970-01-01T00:00:01Z",
        "2026-03-01T08:59:59Z",
        "2026-03-01T09:00:00Z",
    ] {
        let ask = |word: &str| {
            let output = ws.feed(
                "",
                &[("MEMORY_FORGE_NOW", now)],
                &["search", "--mode", "text", "--json", word],
            );
            let value: Value = serde_json::from_str(&output.stdout).expect("JSON");
            value["results"].as_array().map_or(0, Vec::len)
        };
        number += 1;
        let word = format!("jump{number}");
        ws.write("knowledge/a.md", format!("# A\n\n{word} stone\n"));
        assert_eq!(ask(&word), 1, "{now}");
        assert_eq!(ask(&format!("jump{}", number - 1)), 0, "{now}");
        let state = [("MEMORY_FORGE_NOW", now)];
        let title = format!("At {now}");
        ws.feed("", &state, &["mind", "decide", &title, "--decision", "x"])
            .ok();
        ws.feed("", &state, &["mind", "log", &title]).ok();
        ws.feed(
            r#"{"hook_event_name":"SessionStart","session_id":"s"}"#,
            &state,
            &["hook"],
        )
        .ok();
        ws.feed(r#"{"hook_event_name":"PreCompact"}"#, &state, &["hook"])
            .ok();
    }
    let decisions = ws.read(".mind/DECISIONS.md");
    for id in 1..=6 {
        assert_eq!(
            decisions.matches(&format!("## DEC-{id:03}: ")).count(),
            1,
            "{decisions}"
        );
    }
    answers_are_fresh(&ws, "after all of it");
}

/// The index is deleted, replaced by an older one of this workspace, by one of
/// another workspace, and restored from a backup.
#[test]
fn an_index_from_elsewhere_or_from_before_is_not_believed() {
    let ws = stones();
    answers(&ws);
    let old = ws.read_bytes(".memory-forge/index.db");
    ws.write(
        "knowledge/a.md",
        "# Amber\n\nNow it is Chalk, the stone of the harbour.\n",
    );
    ws.remove("knowledge/n7.md");
    answers(&ws);
    ws.write(".memory-forge/index.db", &old);
    answers_are_fresh(&ws, "an older index");
    let other = self::ws("");
    for number in 0..10 {
        other.write(
            &format!("knowledge/n{number}.md"),
            format!("# Other {number}\n\nword{number} amber\n"),
        );
    }
    answers(&other);
    ws.write(
        ".memory-forge/index.db",
        other.read_bytes(".memory-forge/index.db"),
    );
    answers_are_fresh(&ws, "another workspace's index");
    ws.remove(".memory-forge");
    answers_are_fresh(&ws, "none");
    ws.write(".memory-forge/manifest.json", "{\"files\":{}}");
    answers_are_fresh(&ws, "an empty list");
}

/// A server runs while branches are changed under it, files are edited by hand
/// and the index is thrown away: each of its answers is that of the files.
#[test]
fn a_checkout_under_a_running_server() {
    let ws = stones();
    ws.git(&["checkout", "--quiet", "-b", "work"]);
    ws.write("knowledge/a.md", "# Amber\n\nOn the branch it is Chalk.\n");
    ws.write("knowledge/new.md", "# New\n\nbasalt and word7\n");
    ws.remove("knowledge/c.md");
    ws.commit("second");
    let mut client = Client::legacy(&ws, &[]);
    let mut compare = |case: &str| {
        for question in QUESTIONS {
            let arguments = json!({ "query": question, "limit": 20, "max_tokens": 8_000 });
            let result = client.call("search_knowledge", arguments);
            let hits = result["structuredContent"]["results"]
                .as_array()
                .expect("a list")
                .clone();
            let mut told: Vec<(String, String)> = hits
                .iter()
                .map(|hit| (hit["path"].to_string(), hit["lines"].to_string()))
                .collect();
            let fresh = self::ws("");
            copy(&ws, &fresh);
            let fresh = answer(&fresh, question, &["-n", "20"]);
            let mut expect: Vec<(String, String)> = fresh["results"]
                .as_array()
                .expect("a list")
                .iter()
                .map(|hit| (hit["path"].to_string(), hit["lines"].to_string()))
                .collect();
            told.sort();
            expect.sort();
            assert_eq!(told, expect, "{case}: {question}");
        }
    };
    compare("on the branch");
    for round in 0..3 {
        for branch in ["main", "work"] {
            ws.git(&["checkout", "--quiet", branch]);
            compare(&format!("{branch}, round {round}"));
        }
    }
    ws.remove(".memory-forge");
    compare("the index is gone");
    ws.git(&["checkout", "--quiet", "main"]);
    ws.run(&["index", "--force"]).ok();
    compare("built by another");
    assert_eq!(client.end().0, Some(0));
}
