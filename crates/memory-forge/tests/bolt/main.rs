//! The graph on real servers: Neo4j and ArcadeDB, held to the same suite.
//! `scripts/engines.sh` fetches them; where one is missing, its tests count as
//! skipped.

#![cfg(unix)]

mod program;
mod random;
mod waits;

use std::time::{Duration, Instant};

use forge_app::graph::ask::{EmbeddedGraph, GraphAnswer, GraphQuestion, answer_question};
use forge_app::graph::{NodeKind, WorkspaceGraph};
use memory_forge_engines::bolt::{BoltError, BoltGraph, GraphAddress, NodeScope};
use testkit::bolt::BoltServer;

use random::Chance;

const TMP: &str = env!("CARGO_TARGET_TMPDIR");

pub(crate) fn address(server: &BoltServer) -> GraphAddress {
    GraphAddress {
        url: server.url(),
        user: server.user.to_owned(),
        password: server.password.to_owned(),
        database: server.database.map(str::to_owned),
        authority: None,
    }
}

/// A connection for a workspace of this test alone. The port is open before
/// the database answers.
pub(crate) fn connected(server: &BoltServer, workspace: &str) -> BoltGraph {
    let since = Instant::now();
    loop {
        let scope = NodeScope::new("tests", workspace).expect("a plain name");
        match BoltGraph::connect(&address(server), scope) {
            Ok(server) => return server,
            Err(error) if since.elapsed() > Duration::from_secs(240) => panic!("{error}"),
            Err(_) => std::thread::sleep(Duration::from_millis(200)),
        }
    }
}

/// Each check on each server, as tests of their own.
macro_rules! on_both {
    ($($check:ident),* $(,)?) => {
        mod neo4j {
            $(#[test]
            fn $check() {
                if let Some(server) = testkit::bolt::BoltServer::neo4j(super::TMP) {
                    super::$check(server);
                }
            })*
        }
        mod arcadedb {
            $(#[test]
            fn $check() {
                if let Some(server) = testkit::bolt::BoltServer::arcadedb(super::TMP) {
                    super::$check(server);
                }
            })*
        }
    };
}

on_both!(
    rows_are_those_of_the_embedded_graph,
    a_push_twice_is_a_push_once,
    workspaces_in_one_database_do_not_touch_each_other,
    what_was_damaged_is_repaired,
    pushers_at_the_same_time_leave_one_graph,
    hostile_words_stay_words,
    free_queries_read_and_have_a_cap,
    a_newer_format_is_left_alone,
    nobody_there_is_told_at_once,
    the_programs_story,
    a_push_that_was_killed_is_finished_by_the_next,
);

fn questions(graph: &WorkspaceGraph) -> Vec<GraphQuestion> {
    let id = |at: usize| graph.nodes[at % graph.nodes.len()].id.clone();
    let mut all = vec![
        GraphQuestion::Blocked,
        GraphQuestion::Active,
        GraphQuestion::Idle,
        GraphQuestion::CriticalPath,
        GraphQuestion::Done {
            since: "2026-11-15".to_owned(),
        },
        GraphQuestion::Rejections,
        GraphQuestion::Impact {
            id: "no such node".to_owned(),
            depth: 2,
        },
    ];
    for at in 0..4 {
        all.push(GraphQuestion::Impact {
            id: id(at * 5),
            depth: 3,
        });
        all.push(GraphQuestion::Path {
            from: id(at),
            to: id(at * 7 + 3),
        });
    }
    all
}

fn embedded(graph: &WorkspaceGraph, question: &GraphQuestion) -> GraphAnswer {
    match answer_question(&mut EmbeddedGraph::new(graph), question) {
        Ok(answer) => answer,
        Err(never) => match never {},
    }
}

#[track_caller]
fn assert_same_rows(server: &mut BoltGraph, graph: &WorkspaceGraph) {
    for question in questions(graph) {
        let there = answer_question(server, &question).expect("the server answers");
        assert_eq!(there, embedded(graph, &question), "{question:?}");
    }
}

/// How many nodes and relations of a workspace there are.
fn counted(server: &mut BoltGraph) -> (i64, i64) {
    let mut count = |query: &str| {
        let table = server.run_cypher(query, false, 10).expect("it only reads");
        table.rows[0][0].as_i64().expect("a number")
    };
    let nodes = count(
        "MATCH (n {tenant: $tenant, workspace: $workspace}) WHERE n.id IS NOT NULL \
         RETURN count(n) AS c",
    );
    let relations =
        count("MATCH (a {tenant: $tenant, workspace: $workspace})-[r]->(b) RETURN count(r) AS c");
    (nodes, relations)
}

#[track_caller]
fn assert_counts(server: &mut BoltGraph, graph: &WorkspaceGraph) {
    let expect = (
        graph.nodes.len() as i64,
        graph.list_relations().len() as i64,
    );
    assert_eq!(counted(server), expect);
}

fn rows_are_those_of_the_embedded_graph(on: &BoltServer) {
    let mut server = connected(on, "random");
    for seed in 0..5 {
        let mut chance = Chance::new(seed);
        let mut graph = random::graph(&mut chance, 25, 45);
        // Each push meets what the last one left: other nodes, other kinds.
        for _ in 0..2 {
            server
                .push_graph(&graph, "now", false)
                .expect("it is pushed");
            assert_same_rows(&mut server, &graph);
            assert_counts(&mut server, &graph);
            graph = random::changed(&mut chance, &graph);
        }
    }
}

fn a_push_twice_is_a_push_once(on: &BoltServer) {
    let mut server = connected(on, "twice");
    let mut chance = Chance::new(7);
    let graph = random::graph(&mut chance, 40, 80);
    let first = server
        .push_graph(&graph, "first", false)
        .expect("it is pushed");
    assert_eq!(first.written, first.nodes + first.relations);
    for force in [false, true] {
        let again = server
            .push_graph(&graph, "again", force)
            .expect("it is pushed");
        assert_eq!((again.written, again.removed), (0, 0), "force: {force}");
    }
    assert_counts(&mut server, &graph);
    let mut less = graph.clone();
    less.nodes[3].status = Some("another word".to_owned());
    let changed = server
        .push_graph(&less, "less", false)
        .expect("it is pushed");
    assert_eq!(
        (changed.written, changed.removed),
        (1, 0),
        "one node, no more"
    );
    let none = WorkspaceGraph::default();
    server
        .push_graph(&none, "none", false)
        .expect("it is pushed");
    assert_eq!(counted(&mut server), (0, 0), "deletions are pushed too");
}

fn workspaces_in_one_database_do_not_touch_each_other(on: &BoltServer) {
    let mut chance = Chance::new(11);
    let (ours, theirs) = (
        random::graph(&mut chance, 20, 40),
        random::graph(&mut chance, 30, 60),
    );
    let mut one = connected(on, "shared-a");
    let mut other = connected(on, "shared-b");
    // Another tenant may call its workspace the same.
    let scope = NodeScope::new("others", "shared-a").expect("plain names");
    let mut third = BoltGraph::connect(&address(on), scope).expect("it answered before");
    one.push_graph(&ours, "now", false).expect("it is pushed");
    other
        .push_graph(&theirs, "now", false)
        .expect("it is pushed");
    third
        .push_graph(&theirs, "now", false)
        .expect("it is pushed");
    assert_same_rows(&mut one, &ours);
    assert_same_rows(&mut other, &theirs);
    assert_same_rows(&mut third, &theirs);
    assert_eq!(
        one.drop_workspace().expect("it is dropped"),
        ours.nodes.len()
    );
    assert_eq!(counted(&mut one), (0, 0));
    assert!(one.read_push_state().expect("it answers").is_none());
    assert_same_rows(&mut other, &theirs);
    assert_counts(&mut third, &theirs);
}

fn what_was_damaged_is_repaired(on: &BoltServer) {
    let mut server = connected(on, "damaged");
    let mut chance = Chance::new(13);
    let graph = random::graph(&mut chance, 30, 60);
    server
        .push_graph(&graph, "now", false)
        .expect("it is pushed");
    // What a push that was cut off, or a hand, may leave.
    for damage in [
        "MATCH (n:Task {tenant: $tenant, workspace: $workspace}) DETACH DELETE n",
        "MATCH (a {tenant: $tenant, workspace: $workspace})-[r:BLOCKED_BY]->(b) DELETE r",
        "MATCH (n:Agent {tenant: $tenant, workspace: $workspace}) SET n.hash = 'other', n.name = 'x'",
        "MATCH (a:Knowledge {tenant: $tenant, workspace: $workspace}), \
         (b:Artifact {tenant: $tenant, workspace: $workspace}) \
         MERGE (a)-[:KNOWS {tenant: $tenant, workspace: $workspace}]->(b)",
        "CREATE (n:Task {tenant: $tenant, workspace: $workspace, forge_key: 'tests/damaged/extra', id: 'extra'})",
    ] {
        let refused = server.run_cypher(damage, false, 1);
        assert!(matches!(refused, Err(BoltError::Writes(_))), "{damage}");
        server
            .run_cypher(damage, true, 1)
            .expect("the server writes");
        server
            .run_cypher(
                "MATCH (p:ForgePush {tenant: $tenant, workspace: $workspace}) \
                 SET p.complete = false",
                true,
                1,
            )
            .expect("the server writes");
        server
            .push_graph(&graph, "again", false)
            .expect("it is pushed");
        assert_same_rows(&mut server, &graph);
        assert_counts(&mut server, &graph);
    }
}

fn pushers_at_the_same_time_leave_one_graph(on: &BoltServer) {
    let mut chance = Chance::new(17);
    let graph = random::graph(&mut chance, 30, 60);
    let mut server = connected(on, "crowd");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut server = connected(on, "crowd");
                match server.push_graph(&graph, "now", false) {
                    Ok(_) => {}
                    Err(error) => panic!("{error}"),
                }
            });
        }
    });
    // Whoever ended last saw what the others wrote, so nothing is left to do.
    let last = server
        .push_graph(&graph, "last", false)
        .expect("it is pushed");
    assert_eq!((last.written, last.removed), (0, 0));
    assert_counts(&mut server, &graph);
    assert_same_rows(&mut server, &graph);
}

fn hostile_words_stay_words(on: &BoltServer) {
    let mut server = connected(on, "hostile");
    let mut graph = random::graph(&mut Chance::new(19), 12, 30);
    let words = [
        "'}) DETACH DELETE n //",
        "\"; MATCH (n) DETACH DELETE n",
        "`Task` {x: 1}",
        "\\u0027}) RETURN 1 //",
        "$tenant",
        "line\nbreak\ttab",
        "ünïcödé — 漢字 🦀",
        "",
    ];
    for (at, word) in words.iter().enumerate() {
        graph.nodes[at].name = (*word).to_owned();
        graph.nodes[at].status = Some((*word).to_owned());
        graph.nodes[at].id = format!("{:02}{word}", at);
    }
    graph.nodes.sort_by(|a, b| a.id.cmp(&b.id));
    server
        .push_graph(&graph, "now", false)
        .expect("it is pushed");
    assert_counts(&mut server, &graph);
    assert_same_rows(&mut server, &graph);
    let long = "x".repeat(5000);
    graph.nodes[11].id = format!("zz{long}");
    server
        .push_graph(&graph, "now", false)
        .expect("it is pushed");
    assert_same_rows(&mut server, &graph);
}

fn free_queries_read_and_have_a_cap(on: &BoltServer) {
    let mut server = connected(on, "free");
    let graph = random::graph(&mut Chance::new(23), 30, 60);
    server
        .push_graph(&graph, "now", false)
        .expect("it is pushed");
    let query = "MATCH (n {workspace: $workspace, tenant: $tenant}) WHERE n.id IS NOT NULL \
                 RETURN n.id AS id ORDER BY id";
    let table = server.run_cypher(query, false, 5).expect("it reads");
    assert_eq!(table.columns, ["id"]);
    assert_eq!((table.rows.len(), table.more), (5, true));
    let table = server.run_cypher(query, false, 100).expect("it reads");
    assert_eq!((table.rows.len(), table.more), (30, false));
    let table = server
        .run_cypher(
            "RETURN 1 AS n, [1, 'a', null] AS l, {a: true} AS m",
            false,
            5,
        )
        .expect("it reads");
    let row = serde_json::json!([[1, [1, "a", null], {"a": true}]]);
    assert_eq!(serde_json::json!(table.rows), row);
    // After a row that was not read to its end, and after an error, the
    // connection still serves.
    assert!(server.run_cypher("MATCH (n RETURN", false, 1).is_err());
    assert_counts(&mut server, &graph);
}

fn a_newer_format_is_left_alone(on: &BoltServer) {
    let mut server = connected(on, "newer");
    let graph = random::graph(&mut Chance::new(29), 5, 5);
    server
        .push_graph(&graph, "now", false)
        .expect("it is pushed");
    let newer = "MATCH (p:ForgePush {tenant: $tenant, workspace: $workspace}) SET p.format = 99";
    server
        .run_cypher(newer, true, 1)
        .expect("the server writes");
    let refused = server.push_graph(&WorkspaceGraph::default(), "now", true);
    assert!(matches!(refused, Err(BoltError::Newer { found: 99, .. })));
    assert_counts(&mut server, &graph);
}

fn nobody_there_is_told_at_once(on: &BoltServer) {
    let scope = NodeScope::new("tests", "nobody").expect("plain names");
    let mut nowhere = address(on);
    nowhere.url = "bolt://127.0.0.1:1".to_owned();
    let error = BoltGraph::connect(&nowhere, scope.clone()).err();
    let error = error.expect("nobody listens").to_string();
    assert!(error.contains("127.0.0.1:1"), "{error}");
    if on.name == "ArcadeDB" {
        let mut wrong = address(on);
        wrong.password = "wrong-password".to_owned();
        connected(on, "nobody");
        let error = BoltGraph::connect(&wrong, scope).err();
        let error = error.expect("the password is wrong").to_string();
        assert!(!error.contains("wrong-password"), "{error}");
    }
}

fn the_programs_story(on: &BoltServer) {
    program::story(on);
}

fn a_push_that_was_killed_is_finished_by_the_next(on: &BoltServer) {
    program::killed(on);
}

#[test]
fn neo4j_over_tls_shows_a_certificate_that_is_checked() {
    let Some(on) = BoltServer::neo4j(TMP) else {
        return;
    };
    let Some(authority) = &on.authority else {
        testkit::skip("there is no openssl to make a certificate with");
        return;
    };
    connected(on, "tls");
    let scope = || NodeScope::new("tests", "tls").expect("plain names");
    let mut secured = address(on);
    secured.url = format!("bolt+s://127.0.0.1:{}", on.port);
    let unknown = BoltGraph::connect(&secured, scope());
    assert!(
        unknown.is_err(),
        "nobody on this machine knows that authority"
    );
    secured.authority = Some(authority.clone());
    let mut server = BoltGraph::connect(&secured, scope()).expect("now it is known");
    let graph = random::graph(&mut Chance::new(31), 10, 20);
    server
        .push_graph(&graph, "now", false)
        .expect("it is pushed");
    assert_counts(&mut server, &graph);
}

#[test]
fn every_kind_is_a_label_and_every_label_a_kind() {
    for kind in NodeKind::ALL {
        assert_eq!(NodeKind::from_name(kind.name()), Some(kind));
    }
    assert_eq!(NodeKind::from_name("ForgePush"), None);
}
