use std::collections::VecDeque;

use proptest::prelude::*;
use testkit::TestWorkspace;

use super::*;
use crate::graph::{NodeWork, build_graph};
use crate::links::NoteVault;
use crate::mind::MindStore;
use crate::workspace::Workspace;

fn graph(fixture: &str) -> WorkspaceGraph {
    let ws = TestWorkspace::files(fixture);
    let workspace = Workspace::open(ws.root()).expect("it is a folder");
    let vault = NoteVault::read(&workspace);
    build_graph(&vault).with_state(&vault, &MindStore::open(&workspace))
}

fn answer(graph: &WorkspaceGraph, question: &GraphQuestion) -> GraphAnswer {
    match answer_question(&mut EmbeddedGraph::new(graph), question) {
        Ok(answer) => answer,
        Err(never) => match never {},
    }
}

fn ids(entries: &[NodeSummary]) -> Vec<&str> {
    entries.iter().map(|it| it.id.as_str()).collect()
}

const TEAM: &str = "
    //- .mind/PROGRESS.md
    # Progress Tracker
    ### In Progress
    - [ ] Write the lexer [assigned-to:: Ann] [estimate:: 3] [made-by:: Ann]
    - [ ] Write the parser [blocked-by:: Write the lexer] [assigned-to:: Ben] [rejections:: 2] [made-by:: Ben]
    ### Blocked
    - [ ] Sign the contract
    ### Not Started
    - [ ] Ship (blocked-by:: Write the parser, DEC-002) ^ship
    ### Completed
    - [x] Plan [made-by:: Ann] [assigned-to:: Cid] (completed 2026-11-15)
    - [x] Old [made-by:: Ben] (completed 2026-11-01)
    //- .mind/DECISIONS.md
    # Decision Log

    ## DEC-001: Use Rust
    - **Decision:** See [[grammar]]
    - **Status:** Final

    ## DEC-002: Which licence
    - **Decision:** Open
    - **Status:** Pending
    //- grammar.md
    # Grammar
    //- tools.md
    Because of [[grammar]].
    //- dora.md
    ---
    type: agent
    status: offline
    ---
    //- site.md
    ---
    type: task
    status: in review
    part-of: [[Web]]
    assigned-to: Ann
    produced: src/site.css
    ---
    //- knowledge/talk.md
    ---
    commands: [git, make]
    produced: a podcast
    ---
    ";

#[test]
fn blocked_tasks_come_with_what_they_wait_for() {
    let graph = graph(TEAM);
    let GraphAnswer::Blocked(rows) = answer(&graph, &GraphQuestion::Blocked) else {
        panic!("another answer");
    };
    let shown: Vec<(&str, Vec<&str>)> = rows
        .iter()
        .map(|it| (it.item.id.as_str(), ids(&it.by)))
        .collect();
    let expect = [
        ("task:ship", vec!["DEC-002", "task:write-the-parser"]),
        ("task:sign-the-contract", vec![]),
        ("task:write-the-parser", vec!["task:write-the-lexer"]),
    ];
    assert_eq!(shown, expect);
}

#[test]
fn idle_are_those_without_an_open_task() {
    let graph = graph(TEAM);
    let GraphAnswer::Idle(rows) = answer(&graph, &GraphQuestion::Idle) else {
        panic!("another answer");
    };
    assert_eq!(ids(&rows), ["agent:cid"], "Dora is away, the others work");
}

#[test]
fn m11_the_critical_path_is_found_and_weighs_estimates() {
    let graph = graph(TEAM);
    let GraphAnswer::CriticalPath(path) = answer(&graph, &GraphQuestion::CriticalPath) else {
        panic!("another answer");
    };
    let expect = ["task:write-the-lexer", "task:write-the-parser", "task:ship"];
    assert_eq!(ids(&path.steps), expect);
    assert_eq!((path.weight, path.rings.len()), (5, 0));
}

#[test]
fn rings_are_told_and_stand_in_nobodys_way() {
    let graph = graph(
        "//- a.md\n---\ntype: task\nblocked-by: [[b]]\n---\n//- b.md\n---\ntype: task\nblocks: [[a]]\nblocked-by: [[a]]\n---\n//- c.md\n---\ntype: task\n---\n",
    );
    let GraphAnswer::CriticalPath(path) = answer(&graph, &GraphQuestion::CriticalPath) else {
        panic!("another answer");
    };
    assert_eq!(ids(&path.steps), ["c.md"]);
    assert_eq!(ids(&path.rings[0]), ["a.md", "b.md"]);
}

#[test]
fn what_was_done_and_who_was_sent_back() {
    let graph = graph(TEAM);
    let since = "2026-11-15".to_owned();
    let GraphAnswer::Done(rows) = answer(&graph, &GraphQuestion::Done { since }) else {
        panic!("another answer");
    };
    assert_eq!(ids(&rows), ["task:plan"]);
    let GraphAnswer::Rejections(rows) = answer(&graph, &GraphQuestion::Rejections) else {
        panic!("another answer");
    };
    let shown: Vec<(&str, usize, usize, u64)> = rows
        .iter()
        .map(|it| (it.maker.id.as_str(), it.tasks, it.rejected, it.rejections))
        .collect();
    assert_eq!(shown, [("agent:ben", 2, 1, 2), ("agent:ann", 2, 0, 0)]);
}

#[test]
fn a_decision_touches_what_it_names_and_what_refers_to_that() {
    let graph = graph(TEAM);
    let question = |id: &str, depth| GraphQuestion::Impact {
        id: id.to_owned(),
        depth,
    };
    let GraphAnswer::Impact(Some(rows)) = answer(&graph, &question("DEC-001", 3)) else {
        panic!("another answer");
    };
    let shown: Vec<(usize, &str)> = rows
        .iter()
        .map(|it| (it.distance, it.node.id.as_str()))
        .collect();
    let expect = [
        (1, "grammar.md"),
        (2, ".mind/DECISIONS.md"),
        (2, "tools.md"),
    ];
    assert_eq!(shown, expect);
    let GraphAnswer::Impact(Some(rows)) = answer(&graph, &question("DEC-002", 1)) else {
        panic!("another answer");
    };
    assert_eq!(rows[0].node.id, "task:ship");
    assert_eq!(
        answer(&graph, &question("DEC-009", 1)),
        GraphAnswer::Impact(None)
    );
}

#[test]
fn keys_that_mean_something_else_elsewhere_make_no_edges_there() {
    let graph = graph(TEAM);
    assert_eq!(graph.position_of("agent:git"), None);
    assert_eq!(graph.position_of("artifact:a podcast"), None);
    assert!(graph.position_of("artifact:src/site.css").is_some());
    assert!(graph.position_of("missing:web").is_some());
}

#[test]
fn a_task_keeps_its_id_when_it_moves_and_when_it_is_done() {
    let id = |text: &str| -> Vec<String> {
        let graph = graph(&format!("//- .mind/PROGRESS.md\n{text}"));
        let tasks = graph.nodes.iter().filter(|it| it.kind == NodeKind::Task);
        tasks.map(|it| it.id.clone()).collect()
    };
    let one = ["task:ship-the-ovens"];
    assert_eq!(id("### Next\n- [ ] Ship the ovens\n"), one);
    let moved = id("### Next\n- [ ] A\n### Done\n- [x] Ship the ovens (completed 2026-11-01)\n");
    assert_eq!(moved, ["task:a", "task:ship-the-ovens"]);
    assert_eq!(id("### Next\n- [ ] Ship the ovens [estimate:: 2]\n"), one);
    assert_eq!(id("### Next\n- [ ] Other words ^ship-the-ovens\n"), one);
    let twice = id("### Next\n- [ ] A\n- [ ] a\n- [ ] …\n");
    assert_eq!(
        twice[1..],
        ["task:a", "task:a#2"],
        "words without letters have a sum"
    );
}

/// A graph of tasks whose links are given.
fn linked(count: usize, edges: &[(usize, usize, usize)]) -> WorkspaceGraph {
    let node = |at: usize| GraphNode {
        id: format!("n{at:02}"),
        name: format!("n{at}"),
        kind: NodeKind::Task,
        path: None,
        title: None,
        type_name: None,
        status: None,
        date: None,
        work: NodeWork::default(),
        has_front_matter: false,
    };
    let kinds = crate::graph::EdgeKind::ALL;
    let edges = edges
        .iter()
        .map(|(from, to, kind)| crate::graph::GraphEdge {
            from: (from % count) as u32,
            to: (to % count) as u32,
            kind: kinds[kind % kinds.len()],
        });
    let mut edges: Vec<_> = edges.filter(|it| it.from != it.to).collect();
    edges.sort_unstable();
    edges.dedup();
    WorkspaceGraph {
        nodes: (0..count).map(node).collect(),
        edges,
        notes: 0,
    }
}

proptest! {
    #[test]
    fn the_shortest_way_is_as_long_as_any_search_finds(
        count in 2usize..12,
        edges in prop::collection::vec((0usize..12, 0usize..12, 0usize..16), 0..24),
        to in 0usize..12,
    ) {
        let graph = linked(count, &edges);
        let to = to % count;
        let mut far = vec![None; count];
        far[0] = Some(0);
        let mut queue = VecDeque::from([0usize]);
        while let Some(at) = queue.pop_front() {
            for edge in &graph.edges {
                let (a, b) = (edge.from as usize, edge.to as usize);
                for (a, b) in [(a, b), (b, a)] {
                    if a == at && far[b].is_none() {
                        far[b] = far[at].map(|it: usize| it + 1);
                        queue.push_back(b);
                    }
                }
            }
        }
        let question = GraphQuestion::Path { from: "n00".into(), to: format!("n{to:02}") };
        let GraphAnswer::Path(way) = answer(&graph, &question) else { panic!("another answer") };
        match way {
            GraphPath::Found { start, hops } => {
                prop_assert_eq!(Some(hops.len()), far[to]);
                let mut at = start.id.clone();
                let links = graph.list_relations();
                for hop in &hops {
                    let (from, into) = if hop.against {

                         (&hop.to.id, &at)
} else {

                         (&at, &hop.to.id)
};
                    let real = links.iter().any(|it| {
                        graph.node(it.from).id == *from
                            && graph.node(it.to).id == *into
                            && it.relation == hop.relation
                    });
                    prop_assert!(real, "{} {:?} {}", from, hop.relation, into);
                    at = hop.to.id.clone();
                }
                prop_assert_eq!(at, format!("n{to:02}"));
            }
            GraphPath::None => prop_assert_eq!(far[to], None),
            GraphPath::Unknown(_) => prop_assert!(false, "both are there"),
        }
    }
}
