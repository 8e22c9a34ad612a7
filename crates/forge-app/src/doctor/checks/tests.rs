use super::*;
use crate::knowledge::fresh::{IndexOpening, open_fresh};
use std::time::Duration;
use testkit::TestWorkspace;

fn indexed(ws: &TestWorkspace) {
    let workspace = Workspace::open(ws.root()).unwrap();
    let mut opening = IndexOpening {
        now: "2026-03-01T09:00:00Z".parse().unwrap(),
        wait: Duration::from_secs(1),
        force: false,
        progress: &mut |_, _| {},
    };
    open_fresh(&workspace, &mut opening).unwrap();
}

/// `check level path:line message`, for one check or for all that are not ok.
fn findings(ws: &TestWorkspace, wanted: &str) -> Vec<String> {
    let workspace = Workspace::open(ws.root()).unwrap();
    let mut shown = Vec::new();
    for (check, outcome) in diagnosed(&workspace) {
        let is_wanted = wanted == check;
        match outcome {
            CheckOutcome::Passed(said) => {
                shown.extend(
                    said.filter(|_| is_wanted)
                        .map(|it| format!("{check} ok {it}")),
                );
            }
            CheckOutcome::Skipped(why) if is_wanted => shown.push(format!("{check} skipped {why}")),
            CheckOutcome::Skipped(_) => {}
            CheckOutcome::Found(found) => {
                for f in found.iter().filter(|_| is_wanted || wanted.is_empty()) {
                    assert!(f.advice.is_some(), "what is not ok says what to do: {f:#?}");
                    let place = f.place.as_ref().map(|it| format!(" {it}"));
                    let level = match f.severity {
                        CheckSeverity::Error => "problem",
                        other => other.name(),
                    };
                    let line =
                        format!("{check} {level}{} {}", place.unwrap_or_default(), f.message);
                    shown.push(line.replace(&*ws.root().to_string_lossy(), "[root]"));
                }
            }
        }
    }
    shown
}

/// What `doctor` reports, under the names that it prints.
fn diagnosed(workspace: &Workspace) -> Vec<(&'static str, CheckOutcome)> {
    const NAMES: [(CheckId, &str); 14] = [
        (CheckId::SETTINGS_INVALID, "settings"),
        (CheckId::KNOWLEDGE_UNREADABLE, "knowledge"),
        (CheckId::KNOWLEDGE_FRONT_MATTER, "front matter"),
        (CheckId::FILES_SECRET, "secrets"),
        (CheckId::STATE_CONFLICT, "state"),
        (CheckId::INDEX_DAMAGED, "index"),
        (CheckId::INDEX_SEARCH, "search"),
        (CheckId::KNOWLEDGE_README, "readme"),
        (CheckId::KNOWLEDGE_FORGOTTEN, "forgotten"),
        (CheckId::AUTOLOAD_SIZE, "autoload"),
        (CheckId::UNDO_JOURNAL, "undo"),
        (CheckId::HOOKS_FAILED, "hooks"),
        (CheckId::GIT_TRACKED, "git"),
        (CheckId::FILES_LEFTOVER, "leftovers"),
    ];
    let mut all = check_settings(workspace);
    all.extend(diagnose_workspace(workspace, ReadingDepth::Full));
    let named = |(id, outcome)| {
        let name = NAMES.iter().find(|(it, _)| *it == id);
        (name.expect("every check has a name").1, outcome)
    };
    all.into_iter().map(named).collect()
}

#[test]
fn a_healthy_workspace_is_looked_at_in_full() {
    let ws = TestWorkspace::files(
        "//- knowledge/a.md\n---\ndate: 2026-01-01\n---\n\n# A\n\nRetry three times.\n//- CLAUDE.md\n# T\n",
    );
    let workspace = Workspace::open(ws.root()).unwrap();
    let readme = readme::refresh_list(None, &readme::list_documents(&workspace, &[])).unwrap();
    ws.write(readme::README_PATH, readme);
    indexed(&ws);
    assert_eq!(findings(&ws, ""), Vec::<String>::new());
    assert_eq!(
        findings(&ws, "index"),
        [
            "index ok 2 files and 1 passages, 0 of them with a vector; all pages read, all files compared"
        ]
    );
    assert_eq!(
        findings(&ws, "search"),
        ["search ok A question made from `knowledge/a.md` found its passage, by words"]
    );
    let checks = diagnosed(&workspace);
    let checks: Vec<&str> = checks.iter().map(|(check, _)| *check).collect();
    assert_eq!(
        checks,
        [
            "settings",
            "knowledge",
            "front matter",
            "secrets",
            "index",
            "search",
            "readme",
            "forgotten",
            "autoload",
            "undo",
            "git",
            "leftovers"
        ]
    );
}

#[test]
fn an_empty_folder_claims_nothing() {
    let ws = TestWorkspace::empty();
    assert_eq!(findings(&ws, ""), Vec::<String>::new());
    assert_eq!(
        findings(&ws, "index"),
        ["index ok Not needed: there are no documents to index"]
    );
    assert_eq!(
        findings(&ws, "search"),
        ["search skipped Not tried, since there is no index to ask"]
    );
    assert!(!ws.exists(".memory-forge"), "looking creates nothing");
}

#[test]
fn files_that_searches_leave_out_are_named_with_their_line() {
    let ws = TestWorkspace::files(
        "//- memory-forge.toml\n[index]\nmax_file_bytes = 1024\nmax_bytes = 1\n",
    );
    ws.write("knowledge/latin.md", b"one\ntwo \xe9\n");
    ws.write("knowledge/large.md", "x".repeat(2000));
    ws.write("knowledge/broken.md", "---\na: [\nb: c\n---\n\ntext\n");
    let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    ws.write("knowledge/secret.md", format!("one\nuse {token}\n"));
    let found = findings(&ws, "");
    let has = |part: &str| {
        assert!(
            found.iter().any(|line| line.contains(part)),
            "{part}: {found:#?}"
        )
    };
    has("settings warning memory-forge.toml:3 ");
    has("knowledge problem knowledge/latin.md:2 `knowledge/latin.md` line 2 is not UTF-8");
    has("knowledge problem knowledge/large.md `knowledge/large.md` has 2000 bytes");
    has("front matter warning knowledge/broken.md:");
    has("secrets problem knowledge/secret.md:2 Looks like a secret (");
    assert!(!found.concat().contains("a1B2c3"), "{found:#?}");
}

#[test]
fn an_index_is_read_and_compared_and_not_believed() {
    let ws = TestWorkspace::files(
        "//- knowledge/a.md\n# A\n\nRetry three times.\n//- knowledge/README.md\nmine\n",
    );
    assert_eq!(
        findings(&ws, "index"),
        ["index warning There is no index yet"]
    );
    indexed(&ws);
    assert_eq!(findings(&ws, ""), Vec::<String>::new());
    ws.write("knowledge/b.md", "new\n");
    ws.remove("knowledge/a.md");
    assert_eq!(
        findings(&ws, "index"),
        ["index warning 2 files differ from what was indexed"]
    );
    ws.write(".memory-forge/index.db", "not a database");
    assert_eq!(
        findings(&ws, "index"),
        [
            "index problem `.memory-forge/index.db` is not used: this version of the program did not make it here"
        ]
    );
    assert_eq!(
        findings(&ws, "search"),
        ["search skipped Not tried, since there is no index to ask"]
    );
}

#[test]
fn a_damaged_index_is_a_problem() {
    let ws = TestWorkspace::empty();
    for n in 0..60 {
        ws.write(
            &format!("knowledge/{n}.md"),
            format!("# Note {n}\n\n{}\n", "some words to fill it. ".repeat(40)),
        );
    }
    indexed(&ws);
    let workspace = Workspace::open(ws.root()).unwrap();
    Index::open_existing(&workspace.derived_folder())
        .unwrap()
        .unwrap()
        .checkpoint_log();
    let mut bytes = ws.read_bytes(".memory-forge/index.db");
    let len = bytes.len();
    for byte in &mut bytes[len / 4..3 * len / 4] {
        *byte = 0xa5;
    }
    ws.write(".memory-forge/index.db", bytes);
    let found = findings(&ws, "index");
    assert!(
        found.iter().any(|line| line.starts_with("index problem ")),
        "{found:#?}"
    );
}

#[test]
fn what_was_left_behind_is_named() {
    let ws = TestWorkspace::files(
        "
        //- knowledge/_FORGOTTEN.md
        # Forgotten

        - [gone](gone.md)
        //- knowledge/README.md
        mine
        //- knowledge/.memory-forge-x1.tmp
        //- .memory-forge/undo/0003.pending/entry.json
        //- .memory-forge/undo/0002/entry.json
        nonsense
        ",
    );
    ws.git_init();
    ws.git(&["add", "--force", ".memory-forge"]);
    assert_eq!(
        findings(&ws, "forgotten"),
        [
            "forgotten warning knowledge/_FORGOTTEN.md:3 `knowledge/gone.md` is listed and does not exist"
        ]
    );
    assert_eq!(
        findings(&ws, "leftovers"),
        [
            "leftovers warning knowledge/.memory-forge-x1.tmp Left over from a write that was cut off"
        ]
    );
    let undo = findings(&ws, "undo");
    assert!(
        undo[0].starts_with("undo warning Change 0002 cannot be undone: "),
        "{undo:#?}"
    );
    assert_eq!(
        undo[1],
        "undo warning Change 0003 is under way or was cut off"
    );
    assert_eq!(
        findings(&ws, "git"),
        [
            "git warning `.memory-forge/` is not ignored",
            "git problem git tracks 2 files of `.memory-forge/`"
        ]
    );
}

#[test]
fn context_files_are_counted_wherever_they_are() {
    let ws = TestWorkspace::empty();
    ws.write("CLAUDE.md", "word ".repeat(600));
    ws.write("packages/a/AGENTS.md", "word ".repeat(1200));
    let found = findings(&ws, "autoload");
    assert_eq!(found.len(), 2, "{found:#?}");
    assert!(
        found[0].starts_with("autoload warning CLAUDE.md 601 tokens (o200k)"),
        "{found:#?}"
    );
    assert!(
        found[1].starts_with("autoload problem packages/a/AGENTS.md 1,201 tokens (o200k)"),
        "{found:#?}"
    );
}

/// Documents enough that a sample of three leaves most of them unread.
fn many(ws: &TestWorkspace) {
    for at in 0..12 {
        ws.write(
            &format!("knowledge/note{at:02}.md"),
            format!("---\ndate: 2026-01-01\n---\n\n# Note {at}\n\nThe word{at} of it.\n"),
        );
    }
}

/// Changes rows of the index behind the program's back.
fn edit_index(ws: &TestWorkspace, sql: &str) {
    let db = rusqlite::Connection::open(ws.path(".memory-forge/index.db")).unwrap();
    // The mark vouches for the log, which a last connection would remove.
    let keep = rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
    db.set_db_config(keep, true).unwrap();
    db.execute(sql, []).unwrap();
}

/// Makes stamps as they are a moment after the files were written.
fn prove_stamps(ws: &TestWorkspace) {
    edit_index(ws, "update file set recorded_ns = mtime_ns + 1000000000");
}

const FEW: ReadingDepth = ReadingDepth::Sample { most: 3, turn: 0 };

fn sampled(ws: &TestWorkspace, depth: ReadingDepth) -> Vec<String> {
    let workspace = Workspace::open(ws.root()).unwrap();
    let mut lines = Vec::new();
    for (check, outcome) in diagnose_workspace(&workspace, depth) {
        match outcome {
            CheckOutcome::Passed(message) => {
                lines.extend(message.map(|it| format!("{check} ok {it}")));
            }
            CheckOutcome::Skipped(why) => lines.push(format!("{check} skipped {why}")),
            CheckOutcome::Found(found) => lines.extend(found.iter().map(|it| {
                let path = it.path().map(|path| format!(" {path}")).unwrap_or_default();
                format!("{check} {}{path} {}", it.severity.name(), it.message)
            })),
        }
    }
    lines
}

#[track_caller]
fn has(found: &[String], part: &str) {
    assert!(
        found.iter().any(|it| it.contains(part)),
        "{part}: {found:#?}"
    );
}

#[test]
fn many_documents_are_read_where_the_index_does_not_vouch_for_them() {
    let ws = TestWorkspace::empty();
    many(&ws);
    let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    ws.write("knowledge/secret.md", format!("one\nuse {token}\n"));
    ws.write("knowledge/broken.md", "---\na: [\nb: c\n---\n\ntext\n");
    ws.write(
        "knowledge/merge.md",
        "# M\n\n<<<<<<< a\nx\n=======\ny\n>>>>>>> b\n",
    );
    ws.write("knowledge/latin.md", b"one\ntwo \xe9\n");
    // Without an index everything is read.
    has(&sampled(&ws, FEW), "files.secret error knowledge/secret.md");
    indexed(&ws);
    ws.write("knowledge/later.md", format!("new\n\n{token}\n"));
    for turn in 0..4 {
        let found = sampled(&ws, ReadingDepth::Sample { most: 3, turn });
        has(&found, "files.secret error knowledge/secret.md");
        has(&found, "files.secret error knowledge/later.md");
        has(&found, "knowledge.front-matter warning knowledge/broken.md");
        has(&found, "knowledge.unreadable error knowledge/merge.md");
        has(&found, "knowledge.unreadable error knowledge/latin.md");
        has(
            &found,
            "index.damaged warning 1 file differs from what was indexed",
        );
    }
    for path in ["secret", "broken", "merge", "latin", "later"] {
        ws.remove(&format!("knowledge/{path}.md"));
    }
    indexed(&ws);
    prove_stamps(&ws);
    let found = sampled(&ws, FEW);
    has(&found, "unchanged since the index read them");
    has(
        &found,
        "knowledge.front-matter ok All of it is valid (12 of 12 files have it)",
    );
    let found = sampled(&ws, ReadingDepth::Full);
    has(
        &found,
        "knowledge.unreadable ok Every file is readable text (12 read)",
    );
}

/// A file whose size and times are those that were indexed, with another text:
/// no stamp shows it, and the sample meets it sooner or later.
#[test]
fn an_index_that_is_wrong_about_a_file_of_the_sample_is_not_believed() {
    let ws = TestWorkspace::empty();
    many(&ws);
    let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    ws.write("knowledge/unseen.md", format!("# U\n\n{token}\n"));
    indexed(&ws);
    prove_stamps(&ws);
    edit_index(
        &ws,
        "update file set traits = 0 where path = 'knowledge/unseen.md'",
    );
    edit_index(
        &ws,
        "update file set hash = 'x' where path = 'knowledge/note00.md'",
    );
    let found = sampled(&ws, FEW);
    has(
        &found,
        "index.damaged error knowledge/note00.md The indexed text differs",
    );
    has(&found, "files.secret error knowledge/unseen.md");
}

#[test]
fn a_list_for_people_is_compared_unless_it_is_known_to_be_current() {
    let ws = TestWorkspace::empty();
    many(&ws);
    let workspace = Workspace::open(ws.root()).unwrap();
    let readme = readme::refresh_list(None, &readme::list_documents(&workspace, &[])).unwrap();
    ws.write(readme::README_PATH, &readme);
    indexed(&ws);
    prove_stamps(&ws);
    // Nothing notes for which files it was made: its lines are compared.
    has(
        &sampled(&ws, FEW),
        "knowledge.readme ok Lists every document (12)",
    );
    let now = "2026-03-01T09:00:00Z".parse().unwrap();
    let mut opening = IndexOpening {
        now,
        wait: Duration::from_secs(1),
        force: false,
        progress: &mut |_, _| {},
    };
    let current = open_fresh(&workspace, &mut opening).unwrap();
    assert!(!readme::keep_list(&workspace, &current, now).unwrap());
    drop(current);
    has(
        &sampled(&ws, FEW),
        "knowledge.readme ok Lists every document, as",
    );
    ws.write(readme::README_PATH, readme.replace("Note 7", "Note 8"));
    has(
        &sampled(&ws, FEW),
        "readme warning knowledge/README.md Its list",
    );
}
