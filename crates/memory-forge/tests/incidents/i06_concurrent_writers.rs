//! Concurrent writers that corrupt the store: random schedules of commands in
//! several processes at once, and afterwards everything that was confirmed is
//! there once, under an id of its own, in files that parse, and can be undone.

use std::collections::HashSet;
use std::sync::Barrier;

use forge_app::document;
use forge_app::mind::MindStore;
use forge_app::workspace::Workspace;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use testkit::TestWorkspace;

use crate::harness::{found, ws};

const MEMORY: &str = "
    //- knowledge/office.md
    # Office

    The lease ends in 2027.
    //- .mind/STATE.md
    # Project State

    ## House rules
    Mine, and they stay.

    ## Next Action
    Nothing
    //- .mind/PROGRESS.md
    # Progress Tracker

    ### In Progress
    - [ ] Carry the ledger over
    //- .mind/DECISIONS.md
    # Decision Log

    ## DEC-001: Way of the early days
    - **Decision:** measured first
    //- .mind/SESSION-LOG.md
    # Session Log

    ## Session 1 — 2026-02-20 10:00:00
    - **Summary:** Began
    //- .agents/memory/eng/builder/MEMORY.md
    - [Mine](mine.md) — by hand
    //- .agents/memory/eng/builder/mine.md
    # Mine

    By hand.
    //- scratch/ideas.md
    # Ideas
";

/// Text that would be structure, if it could.
const HOSTILE: [&str; 6] = [
    "plain",
    "$& \\1 ${x}",
    "\n## DEC-900: no heading\n- [ ] no task",
    "\n---\nfront: matter\n---\n",
    "[[no link|x]] | a cell |",
    "<!-- no comment \u{202e}",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deed {
    Decide,
    TaskAdd,
    Log,
    Set,
    Save,
    Remember,
    Learn,
    Idea,
    // These add nothing, and move or look at what others wrote.
    Compress,
    Checkpoint,
    Stop,
    Index,
    Search,
    PointersFix,
}

const DEEDS: [Deed; 14] = [
    Deed::Decide,
    Deed::TaskAdd,
    Deed::Log,
    Deed::Set,
    Deed::Save,
    Deed::Remember,
    Deed::Learn,
    Deed::Idea,
    Deed::Compress,
    Deed::Checkpoint,
    Deed::Stop,
    Deed::Index,
    Deed::Search,
    Deed::PointersFix,
];

#[derive(Debug, Clone)]
struct Step {
    deed: Deed,
    hostile: &'static str,
}

/// What each of several processes does, one after another.
fn schedules() -> impl Strategy<Value = Vec<Vec<Step>>> {
    let step = (
        prop::sample::select(&DEEDS[..]),
        prop::sample::select(&HOSTILE[..]),
    );
    let step = step.prop_map(|(deed, hostile)| Step { deed, hostile });
    prop::collection::vec(prop::collection::vec(step, 1..5), 2..6)
}

#[test]
fn any_schedule_of_commands_leaves_every_entry_once() {
    let mut runner = TestRunner::new(Config {
        cases: 12,
        max_shrink_iters: 24,
        rng_seed: RngSeed::Fixed(6),
        failure_persistence: None,
        ..Config::default()
    });
    runner
        .run(&schedules(), |schedule| {
            play(&schedule);
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
}

fn play(schedule: &[Vec<Step>]) {
    let ws = ws(MEMORY);
    let before = people(&ws);
    let start = Barrier::new(schedule.len());
    let written: Vec<(Deed, String)> = std::thread::scope(|scope| {
        let of = |(process, steps): (usize, &Vec<Step>)| {
            let (ws, start, steps) = (&ws, &start, steps.clone());
            scope.spawn(move || {
                start.wait();
                let mut written = Vec::new();
                for (number, step) in steps.iter().enumerate() {
                    let word = format!("zq{process}x{number}y");
                    act(ws, step, &word);
                    written.push((step.deed, word));
                }
                written
            })
        };
        let processes: Vec<_> = schedule.iter().enumerate().map(of).collect();
        let joined = processes
            .into_iter()
            .flat_map(|it| it.join().expect("it ended"));
        joined.collect()
    });
    every_entry_is_found(&ws, &written);
    ids_are_distinct_and_files_parse(&ws, &written);
    twice_is_once(&ws);
    undo_gives_the_bytes_back(&ws, &before);
}

/// One command, tried again while others hold the lock for long.
fn act(ws: &TestWorkspace, step: &Step, word: &str) {
    let text = format!("{word} {}", step.hostile);
    let mut input = "";
    let arguments: Vec<&str> = match step.deed {
        Deed::Decide => vec!["mind", "decide", &text, "--decision", &text],
        Deed::TaskAdd => vec!["mind", "task", "add", &text],
        Deed::Log => vec!["mind", "log", &text],
        Deed::Set => vec!["mind", "set", "--next", &text],
        Deed::Save => vec!["save", "context", word, "--content", &text],
        Deed::Remember => vec![
            "agent",
            "remember",
            word,
            "--agent",
            "eng/builder",
            "--type",
            "project",
            "--content",
            &text,
        ],
        Deed::Learn => vec!["agent", "learn", &text, "--squad", "eng"],
        Deed::Idea => vec!["idea", "--", &text],
        Deed::Compress => vec!["mind", "compress"],
        Deed::Checkpoint => vec!["mind", "checkpoint"],
        Deed::Stop => {
            input = "{\"hook_event_name\":\"Stop\"}";
            vec!["hook"]
        }
        Deed::Index => vec!["index"],
        Deed::Search => vec!["search", "lease"],
        Deed::PointersFix => vec!["agent", "index", "--fix"],
    };
    for _ in 0..20 {
        let output = ws.feed(input, &[], &arguments);
        if output.status == Some(0) {
            return;
        }
        assert!(
            output.stderr.contains("in use by another process"),
            "{arguments:?}: {output}"
        );
    }
    panic!("{arguments:?}: it never got its turn");
}

/// L1 and L3: whatever was confirmed is found.
fn every_entry_is_found(ws: &TestWorkspace, written: &[(Deed, String)]) {
    let mut last_words = Vec::new();
    for (deed, word) in written {
        match deed {
            Deed::Set => last_words.push(word.as_str()),
            Deed::Decide
            | Deed::TaskAdd
            | Deed::Log
            | Deed::Save
            | Deed::Remember
            | Deed::Learn
            | Deed::Idea => {
                let paths = found(ws, word, &["--scope", "all", "--mode", "text"]);
                assert!(!paths.is_empty(), "`{word}` of {deed:?} is not found");
            }
            _ => {}
        }
    }
    let state = ws.read(".mind/STATE.md");
    let said = last_words.iter().filter(|word| state.contains(**word));
    assert_eq!(said.count(), usize::from(!last_words.is_empty()), "{state}");
}

/// L3, L4 and L5: no id twice, no text that became structure.
fn ids_are_distinct_and_files_parse(ws: &TestWorkspace, written: &[(Deed, String)]) {
    let count = |deed| written.iter().filter(|it| it.0 == deed).count();
    let workspace = Workspace::open(ws.root()).expect("a workspace");
    let mind = MindStore::open(&workspace);
    let decisions = mind.read_decisions().expect("they parse");
    let ids: HashSet<_> = decisions.iter().map(|it| it.id.clone()).collect();
    assert_eq!(ids.len(), decisions.len(), "{ids:?}");
    assert_eq!(decisions.len(), 1 + count(Deed::Decide));
    let sessions = mind.read_sessions().expect("they parse");
    assert_eq!(sessions.len(), 1 + count(Deed::Log));
    let progress = mind
        .read_progress()
        .expect("it parses")
        .expect("it is there");
    assert_eq!(progress.tasks.len(), 1 + count(Deed::TaskAdd));
    for (path, _) in people(ws) {
        let text = ws.read(&path);
        let parsed = document::parse_document(text.clone());
        assert!(parsed.problems.is_empty(), "{path}: {:?}", parsed.problems);
        assert!(text.ends_with('\n'), "`{path}` ends in the middle");
    }
    let rules = ws.read(".mind/STATE.md");
    assert!(rules.contains("## House rules\nMine, and they stay.\n"));
}

/// L2.
fn twice_is_once(ws: &TestWorkspace) {
    for command in [
        &["mind", "compress"][..],
        &["agent", "index", "--fix"],
        &["agent", "rotate"],
        &["lint", "--fix", "--yes"],
        &["check", "--fix", "--yes"],
    ] {
        ws.run(command);
        let once = people(ws);
        ws.run(command);
        assert!(people(ws) == once, "{command:?} twice is not once");
    }
}

/// L6: one undo after another, back to the first byte.
fn undo_gives_the_bytes_back(ws: &TestWorkspace, before: &[(String, Vec<u8>)]) {
    for _ in 0..60 {
        let output = ws.run(&["doctor", "--undo", "--yes"]);
        if output.status != Some(0) {
            assert!(output.stderr.contains("nothing to undo"), "{output}");
            assert!(people(ws) == before, "{:?}", people(ws));
            return;
        }
    }
    panic!("there is no end of what can be undone");
}

/// Every file that people or commands wrote, without what the machine keeps.
fn people(ws: &TestWorkspace) -> Vec<(String, Vec<u8>)> {
    let tree = ws.tree_of_sources();
    let files = tree.lines().filter_map(|line| line.split_once(' '));
    let files = files.filter(|(path, _)| {
        !path.starts_with(".mind/.") && !path.starts_with(".mind/checkpoints/")
    });
    files
        .map(|(path, _)| (path.to_owned(), ws.read_bytes(path)))
        .collect()
}
