//! A migration that destroys data: an index of another version, two versions
//! of the program on one workspace, workspaces of old formats.

use std::fs;

use ::soak::OLD;
use testkit::TestWorkspace;

use crate::harness::{json, ws};

const NOTES: &str = "
    //- knowledge/office.md
    # Office

    The lease ends in 2027.
    //- knowledge/beds.md
    # Beds

    Forty poles.
";

/// Where an SQLite file keeps the version of its user.
const VERSION_AT: usize = 60;

fn answer(ws: &TestWorkspace) -> String {
    let output = ws.run(&["search", "--json", "--", "when does the lease end"]);
    output.ok().to_owned()
}

/// The index as it stands in the file, with nothing left in the log.
fn settled(ws: &TestWorkspace) -> Vec<u8> {
    let path = ws.path(".memory-forge/index.db");
    let db = rusqlite::Connection::open(&path).expect("a database");
    db.query_row("pragma wal_checkpoint(truncate)", [], |_| Ok(()))
        .expect("nobody else is here");
    drop(db);
    for end in ["-wal", "-shm"] {
        fs::remove_file(ws.path(&format!(".memory-forge/index.db{end}"))).ok();
    }
    fs::read(&path).expect("it is there")
}

#[test]
fn an_index_of_any_older_version_is_made_anew() {
    let ws = ws(NOTES);
    let fresh = answer(&ws);
    let sources = ws.tree_of_sources();
    for version in [2i32, 0, -1, i32::MIN] {
        let mut db = settled(&ws);
        db[VERSION_AT..VERSION_AT + 4].copy_from_slice(&version.to_be_bytes());
        ws.write(".memory-forge/index.db", db);
        let output = ws.run(&["search", "--json", "--", "when does the lease end"]);
        assert_eq!(output.ok(), fresh, "version {version}");
        assert!(
            output.stderr.contains("older version"),
            "it says what it did: {output}"
        );
        assert_eq!(answer(&ws), fresh);
    }
    assert_eq!(ws.tree_of_sources(), sources);
}

#[test]
fn an_index_of_a_newer_version_is_left_to_its_owner() {
    let ws = ws(NOTES);
    let fresh = answer(&ws);
    for version in [4i32, 77, i32::MAX] {
        let mut db = settled(&ws);
        db[VERSION_AT..VERSION_AT + 4].copy_from_slice(&version.to_be_bytes());
        ws.write(".memory-forge/index.db", &db);
        for _ in 0..3 {
            assert_eq!(answer(&ws), fresh, "version {version}");
        }
        ws.run(&["index", "--force"]).ok();
        ws.run(&[
            "save",
            "context",
            &format!("v{version}"),
            "--content",
            "New.",
        ])
        .ok();
        assert!(answer(&ws).contains("knowledge/office.md"));
        assert!(
            ws.read_bytes(".memory-forge/index.db") == db,
            "the newer index was touched"
        );
        // Its owner goes away.
        ws.remove(".memory-forge/index.db");
        ws.remove(&format!("knowledge/v{version}.md"));
        assert_eq!(answer(&ws), fresh);
    }
}

/// The program itself plays the newer version. It makes the index its own,
/// once; the older one keeps another beside it, and neither begins anew again.
#[test]
fn two_versions_take_turns() {
    if !cfg!(debug_assertions) {
        return testkit::skip("only a build with debug assertions plays another version");
    }
    let ws = ws(NOTES);
    let fresh = answer(&ws);
    let sources = ws.tree_of_sources();
    let newer = [("MEMORY_FORGE_FAULT", "version:4")];
    let ask = ["search", "--json", "--", "when does the lease end"];
    for turn in 0..6 {
        for (who, environment) in [("the newer", &newer[..]), ("the older", &[])] {
            let output = ws.feed("", environment, &ask);
            assert_eq!(output.ok(), fresh, "turn {turn}, {who}");
            assert_eq!(
                output.stderr.contains("older version"),
                turn == 0 && who == "the newer",
                "turn {turn}, {who}: {output}"
            );
        }
        // Both write, and both find what the other wrote.
        let name = format!("turn-{turn}");
        let environment = if turn % 2 == 0 { &newer[..] } else { &[] };
        ws.feed(
            "",
            environment,
            &[
                "save",
                "context",
                &name,
                "--content",
                &format!("Quokka{turn} sleeps."),
            ],
        )
        .ok();
        for environment in [&newer[..], &[]] {
            let found = ws.feed("", environment, &["search", "--", &format!("quokka{turn}")]);
            assert!(found.ok().contains(&name), "{found}");
        }
        ws.feed("", environment, &["doctor", "--undo", "--yes"])
            .ok();
    }
    assert_eq!(ws.tree_of_sources(), sources);
    let kept: Vec<String> = fs::read_dir(ws.path(".memory-forge"))
        .expect("the cache")
        .map(|it| {
            it.expect("listed")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .filter(|it| it.ends_with(".db"))
        .collect();
    assert_eq!(kept.len(), 2, "one index for each: {kept:?}");
}

#[test]
fn an_upgrade_keeps_every_line_is_done_once_and_can_be_undone() {
    for crlf in [false, true] {
        let ws = ws(OLD);
        if crlf {
            for path in ["_MANIFEST.md", "memory/status.md", "legal/lease.md"] {
                let text = ws.read(path).replace('\n', "\r\n");
                ws.write(path, text);
            }
        }
        let before = ws.tree_of_sources();
        let lines: Vec<(String, String)> = ["memory/status.md", "legal/lease.md", "people/anna.md"]
            .map(|path| (path.to_owned(), ws.read(path)))
            .into();
        let said = ws.run(&["upgrade"]);
        said.ok();
        for (path, text) in &lines {
            assert_eq!(&ws.read(path), text, "{path}");
        }
        let manifest = ws.read("_MANIFEST.md");
        for line in ["Keep me.", "## A section of mine", "Stays as it is."] {
            assert!(manifest.contains(line), "{manifest}");
        }
        assert_eq!(manifest.contains("\r\n"), crlf);
        let once = ws.tree_of_sources();
        // What it says it did is what can be measured: nothing is left to do.
        let dry = ws.run(&["upgrade", "--dry-run"]);
        assert!(!dry.ok().contains('•'), "{dry}");
        let again = ws.run(&["upgrade"]);
        again.ok();
        assert_eq!(people(&ws.tree_of_sources()), people(&once), "{again}");
        while ws.run(&["doctor", "--undo", "--yes"]).status == Some(0) {}
        assert_eq!(people(&ws.tree_of_sources()), people(&before));
    }
}

/// What cannot be read is not reported as done.
#[test]
fn an_upgrade_that_cannot_be_carried_out_says_so() {
    let ws = ws(OLD);
    ws.write("legal/lease.md", b"# Lease\n\xff\xfe broken\n");
    let bytes = ws.read_bytes("legal/lease.md");
    let output = ws.run(&["upgrade"]);
    assert!(output.stderr.contains("legal/lease.md"), "{output}");
    assert_eq!(ws.read_bytes("legal/lease.md"), bytes);

    let ws = self::ws(OLD);
    ws.remove("_MANIFEST.md");
    fs::create_dir(ws.path("_MANIFEST.md")).expect("it is gone");
    let before = ws.tree_of_sources();
    let output = ws.run(&["upgrade"]);
    assert_ne!(output.status, Some(0), "{output}");
    assert_eq!(people(&ws.tree_of_sources()), people(&before));
}

/// A journal of another format is not taken for one of ours.
#[test]
fn a_journal_of_another_format_is_left_alone() {
    let ws = ws(NOTES);
    ws.run(&["save", "context", "late", "--content", "Came late."])
        .ok();
    let entry = ".memory-forge/undo/0001/entry.json";
    let mut value: serde_json::Value = serde_json::from_str(&ws.read(entry)).expect("JSON");
    value["format"] = 9.into();
    ws.write(entry, value.to_string());
    let before = ws.tree_of_sources();
    let output = ws.run(&["doctor", "--undo", "--yes"]);
    assert_ne!(output.status, Some(0), "{output}");
    assert_eq!(ws.tree_of_sources(), before);
    ws.run(&["save", "context", "later", "--content", "Later."])
        .ok();
    ws.run(&["doctor", "--undo", "--yes"]).ok();
    assert_eq!(ws.tree_of_sources(), before);
    let findings = json(&ws.run(&["stats", "--json"]));
    assert!(findings.is_object());
}

/// Without what the machine keeps: locks and logs of bulk runs.
fn people(tree: &str) -> String {
    let kept = tree.lines().filter(|line| !line.starts_with("memory/."));
    kept.map(|line| format!("{line}\n")).collect()
}
