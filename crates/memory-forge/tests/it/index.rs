//! `index`: what it says, what it keeps, and that nothing it keeps can be lost
//! or get out of step with the files.

use std::fs::File;
use std::process::{Child, Stdio};
use std::time::{Duration, SystemTime};

use forge_app::workspace::Workspace;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use serde_json::{Value, json};
use testkit::TestWorkspace;

use crate::harness::{answer, found, json, ws};

const MANIFEST: &str = ".memory-forge/manifest.json";

fn manifest(ws: &TestWorkspace) -> Value {
    serde_json::from_str(&ws.read(MANIFEST)).expect("the manifest is JSON")
}

#[test]
fn the_example_of_the_spec_word_for_word() {
    let ws = ws("
        //- knowledge/api-patterns.md
        # API patterns
        //- knowledge/error-handling.md
        # Errors
        //- knowledge/old-doc.md
        # Old
    ");
    assert_eq!(
        ws.run(&["index"]).to_string(),
        "exit: 0\n--- stdout\n\
         + knowledge/api-patterns.md (indexed)\n\
         + knowledge/error-handling.md (indexed)\n\
         + knowledge/old-doc.md (indexed)\n\n\
         Summary: 3 indexed, 0 updated, 0 removed\n"
    );
    ws.write("knowledge/error-handling.md", "# Errors\n\nRetry once.\n");
    ws.remove("knowledge/old-doc.md");
    assert_eq!(
        ws.run(&["index"]).to_string(),
        "exit: 0\n--- stdout\n\
         ✓ knowledge/api-patterns.md (unchanged)\n\
         ↻ knowledge/error-handling.md (reindexed)\n\
         ✗ knowledge/old-doc.md (removed from index)\n\n\
         Summary: 1 indexed, 1 updated, 1 removed\n"
    );
}

#[test]
fn a_changed_file_loses_its_old_passages_and_a_deleted_one_all() {
    let ws = ws("//- knowledge/a.md\n# A\n\nalpha\n//- knowledge/b.md\n# B\n\nbravo\n");
    ws.run(&["index"]).ok();
    ws.write("knowledge/a.md", "# A\n\nomega\n");
    ws.remove("knowledge/b.md");
    let result = json(&ws.run(&["index", "--json"]));
    assert_eq!(
        result,
        json!({
            "version": 1,
            "files": [
                { "path": "knowledge/a.md", "outcome": "reindexed" },
                { "path": "knowledge/b.md", "outcome": "removed" },
            ],
            "summary": { "new": 0, "updated": 1, "removed": 1, "unchanged": 0, "skipped": 0 },
            "index": { "files": 1, "passages": 1, "embedded": 1 },
        })
    );
    let text = ["--mode", "text"];
    assert_eq!(found(&ws, "omega", &text), ["knowledge/a.md"]);
    assert!(found(&ws, "alpha", &text).is_empty());
    assert!(found(&ws, "bravo", &text).is_empty());
}

#[test]
fn a_renamed_file_is_one_removed_and_one_added() {
    let ws = ws("//- knowledge/old-name.md\n# Rates\n\nzebra\n");
    ws.run(&["index"]).ok();
    ws.remove("knowledge/old-name.md");
    ws.write("knowledge/sub/new-name.md", "# Rates\n\nzebra\n");
    assert_eq!(
        ws.run(&["index"]).ok(),
        "✗ knowledge/old-name.md (removed from index)\n\
         + knowledge/sub/new-name.md (indexed)\n\n\
         Summary: 1 indexed, 0 updated, 1 removed\n"
    );
    let found = found(&ws, "zebra", &["--mode", "text"]);
    assert_eq!(found, ["knowledge/sub/new-name.md"]);
}

#[test]
fn cosmetic_changes_do_not_reindex() {
    let ws = ws("//- knowledge/a.md\n# A\n\none\ntwo\n");
    ws.run(&["index"]).ok();
    let before = ws.read(MANIFEST);
    for cosmetic in [
        "# A\r\n\r\none\r\ntwo\r\n",
        "# A   \n\none\t\ntwo \t \n",
        "# A \r\n  \r\none\r\ntwo\r\n",
        "# A\n\none\ntwo\n",
    ] {
        ws.write("knowledge/a.md", cosmetic);
        let said = ws.run(&["index"]);
        assert!(
            said.ok().starts_with("✓ knowledge/a.md (unchanged)\n"),
            "{cosmetic:?}: {said}"
        );
        assert_eq!(ws.read("knowledge/a.md"), cosmetic);
    }
    assert_eq!(ws.read(MANIFEST), before);
    ws.write("knowledge/a.md", "# A\n\none\n two\n");
    assert!(ws.run(&["index"]).ok().starts_with("↻"), "leading spaces");
}

#[test]
fn k1_force_rebuilds() {
    let ws = ws("//- knowledge/a.md\n# A\n\nalpha\n//- knowledge/b.md\n# B\n\nbravo\n");
    ws.run(&["index"]).ok();
    let before = answer(&ws, "alpha", &[]);
    assert_eq!(
        ws.run(&["index", "--force"]).ok(),
        "↻ knowledge/a.md (reindexed)\n\
         ↻ knowledge/b.md (reindexed)\n\n\
         Summary: 0 indexed, 2 updated, 0 removed\n"
    );
    let counts = &json(&ws.run(&["index", "--json"]))["index"];
    assert_eq!(*counts, json!({ "files": 2, "passages": 2, "embedded": 2 }));
    assert_eq!(answer(&ws, "alpha", &[]), before);
}

#[test]
fn k1_a_manifest_that_claims_everything_is_done_is_not_believed() {
    let ws = ws("//- knowledge/a.md\n# A\n\nalpha\n");
    ws.run(&["index"]).ok();
    for name in ["index.db", "index.db-wal", "index.db-shm"] {
        let _ = std::fs::remove_file(ws.path(".memory-forge").join(name));
    }
    assert!(ws.run(&["index"]).ok().starts_with("+ knowledge/a.md"));
    assert_eq!(found(&ws, "alpha", &["--mode", "text"]).len(), 1);
}

#[test]
fn the_manifest_is_what_other_tools_expect() {
    let ws = ws("").now("2026-05-06T07:08:09.0101112Z");
    // The normalised text is `# A\n\ntext\n`.
    ws.write("knowledge/deep/er/a.md", "# A  \r\n\r\ntext\t\r\n");
    ws.write("knowledge/README.md", "# A\n\ntext\n");
    ws.run(&["index"]).ok();
    let hash = "d94b8455fa367c90f8acd874ebf748ecbf693fbc009f8dacadd99c7936d6932b";
    assert_eq!(
        ws.read(MANIFEST),
        format!(
            "{{\n  \"files\": {{\n    \"knowledge/README.md\": \"{hash}\",\n    \
             \"knowledge/deep/er/a.md\": \"{hash}\"\n  }},\n  \
             \"lastIndexed\": \"2026-05-06T07:08:09.010Z\"\n}}\n"
        )
    );
}

#[test]
fn last_indexed_moves_only_when_something_changed() {
    let ws = ws("//- knowledge/a.md\n# A\n").now("2026-03-01T00:00:00Z");
    ws.run(&["index"]).ok();
    let first = ws.read(MANIFEST);
    let ws = ws.now("2026-03-02T00:00:00Z");
    for arguments in [&["index"][..], &["search", "a"], &["stats"]] {
        ws.run(arguments).ok();
        assert_eq!(ws.read(MANIFEST), first, "{arguments:?}");
    }
    ws.remove(MANIFEST);
    ws.run(&["index"]).ok();
    assert_eq!(ws.read(MANIFEST), first, "written again as it was");
    ws.write("knowledge/a.md", "# A\n\nmore\n");
    ws.run(&["search", "a", "--mode", "text"]).ok();
    assert_eq!(manifest(&ws)["lastIndexed"], "2026-03-02T00:00:00.000Z");
}

#[test]
fn a_file_that_became_unusable_leaves_the_manifest() {
    let ws = ws("//- knowledge/a.md\n# A\n\nalpha\n//- knowledge/b.md\n# B\n");
    ws.run(&["index"]).ok();
    ws.write("knowledge/a.md", b"# A\n\nalpha \xff\n");
    ws.run(&["index"]).ok();
    let files = &manifest(&ws)["files"];
    assert!(files.get("knowledge/a.md").is_none(), "{files}");
    assert!(files.get("knowledge/b.md").is_some(), "{files}");
    assert!(found(&ws, "alpha", &["--mode", "text"]).is_empty());
}

/// A time stamp that is not older than the reading proves nothing. One in the
/// future never is, which makes the race certain instead of likely.
#[test]
fn an_edit_that_keeps_size_and_time_is_noticed() {
    let ws = ws("//- knowledge/a.md\n# A\n\nalpha\n");
    let time = SystemTime::now() + Duration::from_secs(3600);
    let stamp = || {
        let file = File::options().write(true).open(ws.path("knowledge/a.md"));
        file.and_then(|file| file.set_modified(time)).expect("ours");
    };
    stamp();
    ws.run(&["index"]).ok();
    assert!(ws.run(&["index"]).ok().starts_with("✓"), "its hash decides");
    ws.write("knowledge/a.md", "# A\n\nomega\n");
    stamp();
    assert_eq!(found(&ws, "omega", &["--mode", "text"]).len(), 1);
    assert!(found(&ws, "alpha", &["--mode", "text"]).is_empty());
}

/// Every row of the spec's tables, and paths that only look like knowledge.
#[test]
fn only_markdown_inside_knowledge_is_indexed() {
    let ws = ws("");
    let never = [
        "CLAUDE.md",
        "CLAUDE.local.md",
        "AGENTS.md",
        "GEMINI.md",
        "README.md",
        "docs/a.md",
        ".claude/skills/pay/SKILL.md",
        ".claude/knowledge/x.md",
        ".claude/agents/a.md",
        ".codex/skills/a/SKILL.md",
        ".codex/knowledge/a.md",
        ".opencode/skill/a/SKILL.md",
        ".opencode/a.md",
        ".agents/skills/a/SKILL.md",
        ".cursor/rules/a.md",
        ".github/copilot-instructions.md",
        ".memory-forge/note.md",
        "src/myknowledge/x.md",
        "src/knowledge/x.md",
        "myknowledge/x.md",
        "knowledge.md",
        "knowledge/a.txt",
        "knowledge/a.md.bak",
        "knowledge/.claude/x.md",
        "knowledge/.hidden/x.md",
        "packages/web/AGENTS.md",
    ];
    let always = [
        "knowledge/README.md",
        "knowledge/a.md",
        "knowledge/deep/er/b.md",
        "knowledge/legacy/CLAUDE.md",
    ];
    for path in never.iter().chain(&always) {
        ws.write(path, "# T\n\nquokka\n");
    }
    let before = ws.tree_of_sources();
    ws.run(&["index"]).ok();
    let files: Vec<String> = manifest(&ws)["files"]
        .as_object()
        .expect("a map")
        .keys()
        .cloned()
        .collect();
    assert_eq!(files, always);
    let mut found = found(&ws, "quokka", &["--scope", "all", "-n", "50"]);
    found.sort();
    assert_eq!(found, always);
    assert_eq!(ws.tree_of_sources(), before);
}

/// Knowledge stays readable without the tool: nothing but the derived folder
/// is added, and that folder hides itself from git.
#[test]
fn the_derived_folder_ignores_itself() {
    let ws = ws("//- knowledge/a.md\n# A\n");
    ws.git_init();
    ws.commit("first");
    ws.run(&["index"]).ok();
    ws.run(&["search", "a"]).ok();
    assert!(ws.exists(".memory-forge/index.db"));
    assert_eq!(
        ws.git(&["status", "--porcelain", "--untracked-files=all"]),
        ""
    );
}

#[test]
fn where_there_is_no_knowledge_nothing_is_created() {
    let ws = ws("//- src/main.rs\nfn main() {}\n");
    let before = ws.tree();
    let output = ws.run(&["search", "x"]);
    assert_eq!(output.stdout, "No matching results found.\n");
    let output = ws.run(&["index"]);
    assert_eq!(output.ok(), "\nSummary: 0 indexed, 0 updated, 0 removed\n");
    assert!(output.stderr.contains("memory-forge init"), "{output}");
    ws.run(&["stats"]).ok();
    assert_eq!(ws.tree(), before);
}

#[test]
fn k4_the_first_run_makes_its_folder() {
    let ws = ws("//- knowledge/a.md\n# A\n");
    ws.run(&["index"]).ok();
    assert!(ws.exists(MANIFEST));
}

#[test]
fn k6_a_moved_workspace_keeps_its_index() {
    let ws = ws("//- knowledge/a.md\n# A\n\nalpha\n");
    ws.write("knowledge/bad.md", b"\xff\n");
    ws.run(&["index"]).ok();
    let moved = ws.root().with_file_name("moved");
    std::fs::rename(ws.root(), &moved).expect("the same file system");
    std::fs::create_dir(ws.root()).expect("it was just moved away");
    let flag = moved.to_str().expect("UTF-8");
    let output = ws.run(&["--root", flag, "index"]);
    assert_eq!(
        output.ok(),
        "✓ knowledge/a.md (unchanged)\n! knowledge/bad.md (skipped)\n\n\
         Summary: 1 indexed, 0 updated, 0 removed\n"
    );
    assert!(!output.stderr.contains("[root]"), "{output}");
    let output = ws.run(&[
        "--root", flag, "search", "alpha", "--mode", "text", "--json",
    ]);
    assert_eq!(json(&output)["results"][0]["path"], "knowledge/a.md");
}

#[test]
fn k7_two_workspaces_in_one_process_stay_apart() {
    use forge_app::knowledge::fresh::{IndexOpening, open_fresh};
    let (one, two) = (
        ws("//- knowledge/a.md\n# A\n"),
        ws("//- knowledge/b.md\n# B\n//- knowledge/c.md\n# C\n"),
    );
    let open = |ws: &TestWorkspace| {
        let workspace = Workspace::open(ws.root()).expect("it is there");
        let mut opening = IndexOpening {
            now: "2026-03-01T09:00:00Z".parse().expect("a time"),
            wait: Duration::ZERO,
            force: false,
            progress: &mut |_, _| {},
        };
        open_fresh(&workspace, &mut opening).expect("nobody else has it")
    };
    let (first, second) = (open(&one), open(&two));
    assert_eq!(first.index.counts().expect("open").files, 1);
    assert_eq!(second.index.counts().expect("open").files, 2);
    assert!(one.exists(MANIFEST) && two.exists(MANIFEST));
}

#[test]
fn k15_help_says_what_is_indexed() {
    let help = ws("").run(&["index", "--help"]);
    let text = help.ok();
    assert!(text.contains("knowledge/"), "{help}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("are never indexed"), "{help}");
    assert!(!text.contains("SKILL.md"), "{help}");
}

#[test]
fn many_unchanged_files_are_counted_and_listed_on_request() {
    let ws = ws("");
    for i in 0..201 {
        ws.write(&format!("knowledge/f{i:03}.md"), "# F\n");
    }
    ws.run(&["index", "--no-vectors"]).ok();
    ws.write("knowledge/f100.md", "# G\n");
    assert!(ws.run(&["index", "--no-vectors"]).ok().lines().count() > 200);
    ws.write("knowledge/new.md", "# N\n");
    let output = ws.run(&["index", "--no-vectors"]);
    assert_eq!(
        output.ok(),
        "+ knowledge/new.md (indexed)\n\
         ✓ 201 more files (unchanged; `--all` lists them)\n\n\
         Summary: 202 indexed, 0 updated, 0 removed\n"
    );
    let all = ws.run(&["index", "--no-vectors", "--all"]);
    assert_eq!(all.ok().lines().count(), 202 + 2);
}

/// Paths and words of random workspaces. Few of each, so that names collide,
/// scores tie, and edits undo one another.
const PATHS: [&str; 6] = [
    "knowledge/a.md",
    "knowledge/b.md",
    "knowledge/sub/a.md",
    "knowledge/archive/z.md",
    "knowledge/README.md",
    "knowledge/2026-02-03-c.md",
];
const WORDS: [&str; 10] = [
    "retry",
    "payments",
    "\n\n## Refunds\n\n",
    "snake_case",
    "# Title\n\n",
    "queue",
    "---\ndeprecated: true\n---\n",
    "\n\n```sh\ndeploy --dry-run\n```\n\n",
    "設計",
    "retries the queue of payments when the broker is away.",
];
const QUESTIONS: [&str; 5] = [
    "retry payments",
    "what happens when the broker is down",
    "\"the queue of\"",
    "--dry-run",
    "設計 snake_case refund*",
];

#[derive(Debug, Clone)]
enum Step {
    Write(usize, Vec<usize>),
    Remove(usize),
    Rename(usize, usize),
    Index,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0..PATHS.len(), prop::collection::vec(0..WORDS.len(), 0..25))
            .prop_map(|(path, words)| Step::Write(path, words)),
        1 => (0..PATHS.len()).prop_map(Step::Remove),
        1 => (0..PATHS.len(), 0..PATHS.len()).prop_map(|(from, to)| Step::Rename(from, to)),
        2 => Just(Step::Index),
    ];
    prop::collection::vec(step, 1..14)
}

fn take(ws: &TestWorkspace, step: &Step) {
    match step {
        Step::Write(path, words) => {
            let words: Vec<&str> = words.iter().map(|word| WORDS[*word]).collect();
            ws.write(PATHS[*path], words.join(" ") + "\n");
        }
        Step::Remove(path) => drop(std::fs::remove_file(ws.path(PATHS[*path]))),
        Step::Rename(from, to) => {
            if ws.exists(PATHS[*from]) {
                let text = ws.read(PATHS[*from]);
                ws.remove(PATHS[*from]);
                ws.write(PATHS[*to], text);
            }
        }
        Step::Index => drop(ws.run(&["index"]).ok()),
    }
}

fn answers(ws: &TestWorkspace) -> Vec<Value> {
    ws.run(&["index"]).ok();
    let mut answers = Vec::new();
    for mode in ["text", "hybrid"] {
        for question in QUESTIONS {
            answers.push(answer(
                ws,
                question,
                &["--mode", mode, "--scope", "all", "-n", "20", "--explain"],
            ));
        }
    }
    answers
}

/// Everything derived can be deleted: what is built anew answers the same, to
/// the last digit, whatever edits the old one went through.
#[test]
fn a_deleted_index_comes_back_the_same() {
    let config = Config {
        cases: 10,
        rng_seed: RngSeed::Fixed(42),
        failure_persistence: None,
        ..Config::default()
    };
    let result = TestRunner::new(config).run(&steps(), |steps| {
        let ws = ws("//- knowledge/start.md\n# Start\n\nretry the queue\n");
        for step in &steps {
            take(&ws, step);
        }
        let before = answers(&ws);
        ws.remove(".memory-forge");
        let after = answers(&ws);
        for (before, after) in before.iter().zip(&after) {
            prop_assert_eq!(before, after);
        }
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

/// A workspace that takes a while to index.
fn large() -> TestWorkspace {
    let ws = ws("");
    for i in 0..60 {
        let body = format!("shared word{i} ").repeat(20);
        ws.write(
            &format!("knowledge/f{i}.md"),
            format!("# File {i}\n\n{body}\n\n## Part\n\nneedle{i}\n"),
        );
    }
    ws
}

fn start(ws: &TestWorkspace, arguments: &[&str]) -> Child {
    ws.command()
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program can be started")
}

#[track_caller]
fn ends_well(child: Child) -> String {
    let output = child.wait_with_output().expect("it was started");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    assert!(!stderr.contains("damaged"), "{stderr}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn several_processes_at_once_are_safe() {
    let ws = large();
    for round in 0..3 {
        let fresh = round == 1;
        if fresh {
            ws.remove(".memory-forge");
        }
        ws.write("knowledge/f7.md", format!("# Seven\n\nround{round}\n"));
        let writers: Vec<Child> = (0..2)
            .map(|_| start(&ws, &["index", "--no-vectors"]))
            .collect();
        let round = format!("round{round}");
        let readers: Vec<Child> = (0..4)
            .map(|_| start(&ws, &["search", "--mode", "text", "--json", &round]))
            .collect();
        for writer in writers {
            assert!(ends_well(writer).contains("Summary: "));
        }
        for reader in readers {
            let said: Value = serde_json::from_str(&ends_well(reader)).expect("JSON");
            assert_eq!(said["results"][0]["path"], "knowledge/f7.md");
        }
    }
    let counts = &json(&ws.run(&["index", "--no-vectors", "--json"]))["index"];
    assert_eq!(counts["files"], 60);
}

/// The pauses only choose where the knife falls; nothing depends on where.
#[test]
fn a_run_that_is_killed_anywhere_is_repaired_by_the_next() {
    let ws = large();
    let sources = ws.tree_of_sources();
    let questions = ["shared word3", "needle41", "what is in file seven"];
    let ask = || {
        let answer = |question| answer(&ws, question, &["--mode", "text", "-n", "30"]);
        questions.map(|question| answer(question)["results"].to_string())
    };
    ws.run(&["index", "--no-vectors"]).ok();
    let expect = ask();
    for round in 0..30u64 {
        match round % 5 {
            // On a busy machine the run before was killed before it made one.
            0 if ws.exists(".memory-forge") => ws.remove(".memory-forge"),
            1 => ws.write("knowledge/f3.md", format!("# Other {round}\n")),
            _ => {}
        }
        let flags: &[&str] = match round % 3 {
            0 => &["index", "--force"],
            1 => &["index"],
            _ => &["index", "--force", "--no-vectors"],
        };
        let mut child = start(&ws, flags);
        std::thread::sleep(Duration::from_micros(500 + round * 1700 % 40_000));
        child.kill().expect("it is ours");
        child.wait().expect("it is ours");
        if round % 5 == 1 {
            let body = "shared word3 ".repeat(20);
            ws.write(
                "knowledge/f3.md",
                format!("# File 3\n\n{body}\n\n## Part\n\nneedle3\n"),
            );
        }
        if round % 10 == 9 {
            assert!(ask() == expect, "after round {round}: {:?}", ask());
        }
    }
    assert!(ask() == expect, "{:?}", ask());
    ws.run(&["index"]).ok();
    assert!(ask() == expect, "{:?}", ask());
    assert_eq!(ws.tree_of_sources(), sources);
}

#[test]
fn a_reader_is_not_blocked_by_a_writer() {
    let ws = ws("//- knowledge/a.md\n# A\n\nalpha\n");
    // A file that was just written is read once more before its time proves
    // that it is unchanged; that needs the lock, and a clock that has moved on.
    for _ in 0..6 {
        std::thread::sleep(Duration::from_millis(20));
        ws.run(&["index"]).ok();
    }
    let workspace = Workspace::open(ws.root()).expect("it is there");
    let lock = workspace.lock_index(Duration::ZERO).expect("nobody has it");
    for mode in ["text", "hybrid"] {
        let output = ws.run(&["search", "alpha", "--mode", mode]);
        assert!(output.ok().contains("knowledge/a.md:"), "{output}");
        assert_eq!(output.stderr, "", "{mode}");
    }
    let output = ws.run(&["stats"]);
    assert!(output.ok().contains("Files:        1"), "{output}");
    // With a change that it cannot take in, it says so and answers all the same.
    ws.write("knowledge/b.md", "# B\n");
    let output = ws.run(&["search", "alpha", "--mode", "text"]);
    assert!(output.ok().contains("knowledge/a.md:"), "{output}");
    assert_eq!(
        output.stderr,
        "warning: Another process is updating the index; \
         answers from 1 changed file may be out of date\n"
    );
    drop(lock);
    assert!(ws.run(&["index"]).ok().contains("+ knowledge/b.md"));
}
