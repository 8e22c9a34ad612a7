//! The program itself against a server: a team's story, and a push that dies.

use std::process::Stdio;
use std::time::{Duration, Instant};

use forge_app::graph;
use forge_app::links::NoteVault;
use forge_app::mind::MindStore;
use forge_app::workspace::Workspace;
use memory_forge_engines::bolt::compute_digest;
use serde_json::Value;
use testkit::bolt::BoltServer;
use testkit::{Output, TestWorkspace};

use crate::connected;

const TEAM: &str = "
    //- memory-forge.toml
    [graph]
    tenant = \"tests\"
    workspace = \"NAME\"
    //- .mind/STATE.md
    # Project State

    ## Current Phase
    Ovens

    ## Blocked Items
    None.
    //- .mind/PROGRESS.md
    # Progress Tracker
    ### In Progress
    - [ ] Write the lexer [assigned-to:: Ann] [estimate:: 3] [made-by:: Ann]
    - [ ] Write the parser [blocked-by:: Write the lexer] [rejections:: 2] [made-by:: Ben]
    ### Not Started
    - [ ] Ship (blocked-by:: Write the parser, DEC-002) ^ship
    ### Completed
    - [x] Plan [made-by:: Ann] [assigned-to:: Cid] (completed 2026-03-01)
    //- .mind/DECISIONS.md
    # Decision Log

    ## DEC-001: Use Rust
    - **Decision:** See [[grammar]]
    - **Status:** Final

    ## DEC-002: Which licence
    - **Decision:** Open, and [[grammar]] depends on it
    - **Status:** Pending
    //- grammar.md
    # Grammar
    //- tools.md
    Because of [[grammar]].
    //- diary.local.md
    ---
    projects: [[nowhere]]
    ---
    Only for me.
    ";

const QUESTIONS: [&[&str]; 8] = [
    &["blocked"],
    &["active"],
    &["idle"],
    &["critical-path"],
    &["done"],
    &["rejections"],
    &["impact", "DEC-001"],
    &["path", "ship", "tools"],
];

fn team(on: &BoltServer, name: &str) -> TestWorkspace {
    let ws = TestWorkspace::files(&TEAM.replace("NAME", name))
        .binary(testkit::worker::beside(env!("CARGO_BIN_EXE_memory-forge")))
        .now("2026-03-02T09:00:00Z")
        .env("MEMORY_FORGE_GRAPH_URL", &on.url())
        .env("MEMORY_FORGE_GRAPH_USER", on.user)
        .env("MEMORY_FORGE_GRAPH_PASSWORD", on.password);
    match on.database {
        Some(database) => ws.env("MEMORY_FORGE_GRAPH_DATABASE", database),
        None => ws,
    }
}

fn json(output: &Output) -> Value {
    serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}:\n{output}"))
}

pub(crate) fn story(on: &BoltServer) {
    connected(on, "story");
    let ws = team(on, "story");
    let unpushed = ws.run(&["graph", "ask", "blocked", "--engine", "server"]);
    assert_eq!(unpushed.status, Some(1), "{unpushed}");
    assert!(unpushed.stderr.contains("graph push"), "{unpushed}");

    let pushed = ws.run(&["graph", "push"]);
    assert!(pushed.ok().starts_with("Pushed "), "{pushed}");
    assert!(ws.run(&["graph", "push"]).ok().starts_with("Unchanged: "));
    let status = ws.run(&["graph", "status"]);
    assert!(status.ok().contains("as the files are"), "{status}");

    for question in QUESTIONS {
        for json in [&[][..], &["--json"]] {
            let mut ask = vec!["graph", "ask"];
            ask.extend(question);
            ask.extend(json);
            let here = ws.run(&ask);
            ask.extend(["--engine", "server"]);
            let there = ws.run(&ask);
            assert_eq!(here.ok(), there.ok(), "{question:?}");
            assert_eq!(there.stderr, "", "{question:?}");
        }
    }
    let blocked = ws.run(&["graph", "ask", "blocked", "--engine", "server"]);
    assert_eq!(
        blocked.ok(),
        "Ship [task:ship] ← waits for DEC-002, Write the parser [task:write-the-parser]\n\
         Write the parser [task:write-the-parser] ← waits for Write the lexer [task:write-the-lexer]\n"
    );

    // The free query that the guide shows.
    let guide = include_str!("../../../../docs/graph.md");
    let (_, query) = guide.split_once("graph cypher '").expect("it shows one");
    let (query, _) = query.split_once('\'').expect("it ends");
    // Other tests push to the same tenant, and an answer has a cap.
    let query = query.replace(
        "{tenant: $tenant}",
        "{tenant: $tenant, workspace: $workspace}",
    );
    let told = ws.run(&["graph", "cypher", &query, "--json"]);
    let table = json(&told);
    let rows: Vec<String> = (table["rows"].as_array().expect("rows").iter())
        .filter(|row| row[0] == "story")
        .map(|row| format!("{} {}", row[1], row[2]))
        .collect();
    for expect in [
        "\"Write the parser\" \"Write the lexer\"",
        "\"Ship\" \"Write the parser\"",
    ] {
        assert!(rows.iter().any(|row| row == expect), "{told}");
    }

    // What is one person's stays there.
    let mine = ws.run(&[
        "graph",
        "cypher",
        "MATCH (n {workspace: $workspace}) WHERE n.id CONTAINS 'diary' OR n.id CONTAINS 'nowhere' \
         RETURN n.id AS id",
        "--json",
    ]);
    assert_eq!(json(&mine)["rows"], serde_json::json!([]));

    let writes = ws.run(&["graph", "cypher", "MATCH (n) DETACH DELETE n"]);
    assert_eq!(writes.status, Some(2), "{writes}");
    assert!(writes.stderr.contains("--write"), "{writes}");
    let unasked = ws.run(&["graph", "cypher", "--write", "CREATE (n:Stray {x: 1})"]);
    assert_ne!(unasked.status, Some(0), "nobody said yes: {unasked}");

    // The view lands in the state file, and goes out again without a trace.
    let state = ws.read_bytes(".mind/STATE.md");
    let pull = ["graph", "pull", "--state", "--engine", "server"];
    assert_eq!(ws.run(&pull).ok(), "Wrote .mind/STATE.md\n");
    let text = ws.read(".mind/STATE.md");
    assert!(
        text.starts_with(&String::from_utf8_lossy(&state).into_owned()),
        "{text}"
    );
    assert!(
        text.contains("- Write the parser — waits for Write the lexer\n"),
        "{text}"
    );
    assert!(text.contains("- Write the lexer — Ann\n"), "{text}");
    assert_eq!(ws.run(&pull).ok(), "Unchanged: .mind/STATE.md\n");
    let embedded = ws.run(&["graph", "pull", "--state"]);
    assert_eq!(embedded.ok(), "Unchanged: .mind/STATE.md\n");
    assert_eq!(ws.read(".mind/STATE.md"), text);
    ws.run(&["graph", "pull", "--state", "--remove"]).ok();
    assert_eq!(ws.read_bytes(".mind/STATE.md"), state);

    // A file that changed is told, and pushed.
    ws.write("tools.md", "No more.\n");
    let behind = ws.run(&["graph", "ask", "idle", "--engine", "server"]);
    assert!(behind.stderr.contains("graph push"), "{behind}");
    let pushed = json(&ws.run(&["graph", "push", "--json"]));
    assert_eq!(pushed["removed"], 1, "the link: {pushed}");

    let unasked = ws.run(&["graph", "drop"]);
    assert_ne!(unasked.status, Some(0), "nobody said yes: {unasked}");
    assert!(ws.run(&["graph", "status"]).ok().contains("Pushed at"));
    let dropped = json(&ws.run(&["graph", "drop", "--yes", "--json"]));
    assert!(dropped["removed"].as_i64() > Some(5), "{dropped}");
    assert!(ws.run(&["graph", "status"]).ok().contains("Never pushed"));

    // The password is in no file, wherever we wrote one.
    for entry in walk(ws.root()).into_iter().chain(walk(&ws.home())) {
        let bytes = std::fs::read(&entry).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(on.password), "{}", entry.display());
    }
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.extend(walk(&entry.path())),
            _ => found.push(entry.path()),
        }
    }
    found
}

/// The program dies in the middle of a push, wherever it is then; the next one
/// leaves what one alone would have.
pub(crate) fn killed(on: &BoltServer) {
    let mut server = connected(on, "killed");
    let ws = team(on, "killed");
    for round in 0..3 {
        for note in 0..150 {
            let (next, other) = ((note * 7 + round) % 150, (note + 1) % 150);
            let text = format!("---\ntype: task\nblocked-by: [[n{other}]]\n---\n[[n{next}]]\n");
            ws.write(&format!("notes/n{note}.md"), text);
        }
        let mut push = ws.command();
        let mut child = push
            .args(["graph", "push", "--force"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program was built");
        // Under way as soon as the server says that it is not whole; a push
        // that was quicker than this look is whole, and killed nobody.
        let since = Instant::now();
        while since.elapsed() < Duration::from_secs(120) {
            let ended = child.try_wait().expect("it is ours").is_some();
            let standing = server.read_push_state().expect("it answers");
            if ended || standing.is_some_and(|it| !it.complete) {
                break;
            }
        }
        let _ = child.kill();
        let _ = child.wait();
        ws.run(&["graph", "push"]).ok();
        let workspace = Workspace::open(ws.root()).expect("it is a folder");
        let vault = NoteVault::read(&workspace);
        let graph = graph::build_graph(&vault).with_state(&vault, &MindStore::open(&workspace));
        let standing = server
            .read_push_state()
            .expect("it answers")
            .expect("it was pushed");
        assert!(standing.complete);
        assert_eq!(standing.digest, compute_digest(&graph, server.scope()));
        let again = server
            .push_graph(&graph, "again", true)
            .expect("it is pushed");
        assert_eq!(
            (again.written, again.removed),
            (0, 0),
            "nothing was left to do"
        );
    }
}
