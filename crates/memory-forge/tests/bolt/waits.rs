//! Servers that stay silent, that check passwords, and every form of address.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use memory_forge_engines::bolt::{BoltError, BoltGraph, NodeScope};
use testkit::bolt::BoltServer;
use testkit::{Output, TestWorkspace};

use crate::{TMP, address};

const NOTES: &str = "
    //- memory-forge.toml
    [graph]
    tenant = \"tests\"
    workspace = \"waits\"
    //- tasks/lexer.md
    ---
    type: task
    status: open
    blocked-by: [[parser]]
    ---
    # Lexer
    //- tasks/parser.md
    ---
    type: task
    status: open
    ---
    # Parser
    //- tasks/own.local.md
    ---
    type: task
    status: open
    blocked-by: [[parser]]
    ---
    # Own
    //- me.local/diary.md
    ---
    type: task
    status: open
    blocked-by: [[lexer]]
    ---
    # Diary
    ";

fn workspace(url: &str, user: &str, password: &str) -> TestWorkspace {
    TestWorkspace::files(NOTES)
        .binary(testkit::worker::beside(env!("CARGO_BIN_EXE_memory-forge")))
        .env("MEMORY_FORGE_GRAPH_URL", url)
        .env("MEMORY_FORGE_GRAPH_USER", user)
        .env("MEMORY_FORGE_GRAPH_PASSWORD", password)
}

/// An upper bound that nothing but a missing deadline reaches.
#[track_caller]
fn soon(ws: &TestWorkspace, arguments: &[&str]) -> Output {
    let started = Instant::now();
    let output = ws.run(arguments);
    assert!(started.elapsed() < Duration::from_secs(60), "{arguments:?}");
    output
}

#[test]
fn a_silent_server_is_reported_in_seconds() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    std::thread::spawn(move || {
        let held: Vec<_> = listener.incoming().collect();
        drop(held);
    });
    let ws = workspace(&format!("bolt://127.0.0.1:{port}"), "neo4j", "x");
    for arguments in [
        &["graph", "status"][..],
        &["graph", "push"],
        &["graph", "ask", "blocked", "--engine", "server"],
    ] {
        let output = soon(&ws, arguments);
        assert!(
            output.fails(1).contains("did not answer in 5 s"),
            "{output}"
        );
    }
}

/// Private notes are left out by both engines, whatever makes them private.
#[test]
fn the_embedded_engine_leaves_out_what_a_server_does_not_get() {
    let ws = workspace("bolt://127.0.0.1:1", "neo4j", "x");
    std::os::unix::fs::symlink("own.local.md", ws.path("tasks/link.md")).expect("a link");
    ws.write(
        "tasks/AKIA2E0A8F3B244C9986.md",
        "---\ntype: task\nstatus: open\nblocked-by: [[parser]]\n---\n# Key\n",
    );
    let blocked = ws.run(&["graph", "ask", "blocked", "--json"]);
    for hidden in ["own", "diary", "link", "AKIA2E0A8F3B244C9986"] {
        assert!(!blocked.ok().contains(hidden), "{hidden}: {blocked}");
    }
    assert!(blocked.ok().contains("lexer"), "{blocked}");
    // Other commands are for the person alone.
    assert!(ws.run(&["graph", "query"]).ok().contains("own"));
}

#[test]
fn passwords_databases_and_addresses_have_their_own_messages() {
    let Some(server) = BoltServer::neo4j_with_login(TMP) else {
        return;
    };
    let here = format!("127.0.0.1:{}", server.port);
    let ask = ["graph", "status"];
    // The port is open before the database answers.
    let first =
        workspace(&server.url(), "neo4j", "neo4j").env("MEMORY_FORGE_GRAPH_DATABASE", "system");
    let change = "ALTER CURRENT USER SET PASSWORD FROM 'neo4j' TO 'four-words'";
    let started = Instant::now();
    loop {
        let output = first.run(&["graph", "cypher", "--write", "--yes", change]);
        if output.status == Some(0) {
            break;
        }
        assert!(started.elapsed() < Duration::from_secs(240), "{output}");
        std::thread::sleep(Duration::from_millis(500));
    }
    let wrong = soon(&workspace(&server.url(), "neo4j", "three-words"), &ask);
    let said = wrong.fails(1);
    assert!(
        said.contains("refused the login as `neo4j`")
            && said.contains("MEMORY_FORGE_GRAPH_PASSWORD"),
        "{wrong}"
    );
    assert!(!said.contains("three-words"), "{wrong}");
    let ws = workspace(&server.url(), "neo4j", "four-words");
    let nowhere = workspace(&server.url(), "neo4j", "four-words")
        .env("MEMORY_FORGE_GRAPH_DATABASE", "nowhere");
    let output = soon(&nowhere, &ask);
    let said = output.fails(1);
    assert!(
        said.contains("no database `nowhere`") && said.contains("MEMORY_FORGE_GRAPH_DATABASE"),
        "{output}"
    );
    ws.run(&["graph", "push"]).ok();
    let embedded = ws.run(&["graph", "ask", "blocked", "--json"]);
    let by_server = ws.run(&["graph", "ask", "blocked", "--json", "--engine", "server"]);
    assert_eq!(embedded.ok(), by_server.ok());

    // Every form of address. The certificate is for 127.0.0.1.
    let mut forms = vec![format!("neo4j://{here}")];
    if server.authority.is_some() {
        forms.extend([format!("bolt+s://{here}"), format!("neo4j+s://{here}")]);
    }
    for url in forms {
        let mut ws = workspace(&url, "neo4j", "four-words");
        if let Some(authority) = &server.authority {
            ws = ws.env(
                "MEMORY_FORGE_GRAPH_AUTHORITY",
                &authority.display().to_string(),
            );
        }
        let output = soon(&ws, &ask);
        assert!(output.ok().contains("Pushed at"), "{url}: {output}");
    }

    // Frozen between two questions.
    let mut to = address(&server);
    to.password = "four-words".to_owned();
    let scope = NodeScope::new("tests", "waits").expect("plain names");
    let connected = BoltGraph::connect(&to, scope).expect("it answers");
    let mut connected = connected.with_limit(Duration::from_secs(2));
    let frozen = server.freeze();
    let started = Instant::now();
    assert!(matches!(
        connected.read_push_state(),
        Err(BoltError::Silent(_))
    ));
    assert!(
        matches!(connected.read_push_state(), Err(BoltError::Silent(_))),
        "lost"
    );
    assert!(started.elapsed() < Duration::from_secs(20));
    let output = soon(&ws, &ask);
    assert!(output.fails(1).contains("did not answer"), "{output}");
    drop(frozen);
    assert!(soon(&ws, &ask).ok().contains("Pushed at"));
}
