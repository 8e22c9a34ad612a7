use testkit::TestWorkspace;

use super::*;
use crate::mind::Mind;
use crate::workspace::Workspace;

fn opened(fixture: &str) -> (TestWorkspace, Workspace) {
    let ws = TestWorkspace::files(fixture);
    let workspace = Workspace::open(ws.root()).expect("it is a folder");
    (ws, workspace)
}

fn graph(fixture: &str) -> Graph {
    let (_ws, workspace) = opened(fixture);
    build(&Vault::read(&workspace))
}

fn typed(graph: &Graph) -> Vec<String> {
    let shown = |edge: &Edge| {
        let (from, to) = (&graph.node(edge.from).name, &graph.node(edge.to).name);
        format!("{from} {} -> {to}", edge.kind.name())
    };
    graph.typed().map(shown).collect()
}

const TEAM: &str = "
    //- d0.md
    ---
    type: decision
    status: superseded
    date: 2025-11-02
    ---
    //- d1.md
    ---
    type: decision
    status: active
    date: 2026-01-05
    people: [[Alice]], [[Bob]]
    supersedes: \"[[d0]]\"
    ---
    See [[notes]].
    //- notes.md
    Nothing links from [[here]].
    //- Alice.md
    ---
    type: person
    ---
    //- lonely.md
    ";

#[test]
fn w13_block_lists_give_edges() {
    let graph = graph(
        "//- a.md\n---\npeople:\n  - \"[[Ann]]\"\n  - Ben\nblocks:\n- '[[b]]'\n---\n//- b.md\n",
    );
    assert_eq!(
        typed(&graph),
        ["a blocks -> b", "a people -> Ann", "a people -> Ben"]
    );
}

#[test]
fn w14_people_without_a_page_are_no_danglers() {
    let graph = graph("//- a.md\n---\npeople: [\"[[Ann]]\"]\nblocks: \"[[gone]]\"\n---\n");
    let dangling: Vec<&str> = graph
        .dangling()
        .map(|edge| graph.node(edge.to).name.as_str())
        .collect();
    assert_eq!(dangling, ["gone"]);
}

#[test]
fn w15_notes_of_one_name_are_told_apart() {
    let graph = graph(
        "//- a/x.md\n---\nblocks: \"[[b/x#Part]]\"\n---\n//- b/x.md\n---\nblocked-by: \"[[a/x.md]]\"\n---\n",
    );
    assert_eq!(
        typed(&graph),
        ["a/x blocks -> b/x", "b/x blocked-by -> a/x"]
    );
    let text = render_markdown(&graph);
    assert!(
        text.contains("### [[a/x]]\n\n- `blocks` → [[b/x]]\n"),
        "{text}"
    );
}

#[test]
fn the_graph_file_is_the_interchange_format() {
    let graph = graph(TEAM);
    insta::assert_snapshot!(render_markdown(&graph), @r"");
}

#[test]
fn ways_lead_along_edges() {
    let graph = graph(TEAM);
    let at = |id: &str| graph.position(id).expect("it is there");
    let way = graph.path(at("Alice.md"), at("d0.md"), &Filter::default(), false);
    let shown: Vec<(EdgeKind, bool)> = way
        .expect("there is one")
        .iter()
        .map(|it| (it.edge.kind, it.against))
        .collect();
    assert_eq!(
        shown,
        [(EdgeKind::People, true), (EdgeKind::Supersedes, false)]
    );
    assert_eq!(
        graph.path(at("Alice.md"), at("d0.md"), &Filter::default(), true),
        None
    );
    assert_eq!(
        graph.path(at("lonely.md"), at("d0.md"), &Filter::default(), false),
        None
    );
    assert_eq!(
        graph.path(at("d0.md"), at("d0.md"), &Filter::default(), false),
        Some(Vec::new())
    );
}

#[test]
fn questions_are_answered_by_type_status_date_and_edge() {
    let graph = graph(TEAM);
    let names = |filter: &Filter| -> Vec<String> {
        graph
            .select(filter)
            .iter()
            .map(|it| graph.node(*it).name.clone())
            .collect()
    };
    let decisions = Filter {
        type_name: Some("Decision".to_owned()),
        ..Filter::default()
    };
    assert_eq!(names(&decisions), ["d0", "d1"]);
    let active = Filter {
        status: Some("active".to_owned()),
        ..decisions.clone()
    };
    assert_eq!(names(&active), ["d1"]);
    let recent = Filter {
        since: Some("2026".to_owned()),
        ..Filter::default()
    };
    assert_eq!(names(&recent), ["d1"]);
    let early = Filter {
        until: Some("2025-11".to_owned()),
        ..Filter::default()
    };
    assert_eq!(names(&early), ["d0"]);
    let edges = graph.select_edges(&Filter {
        edges: vec![EdgeKind::Supersedes],
        ..Filter::default()
    });
    assert_eq!(edges.len(), 1);
}

#[test]
fn state_adds_decisions_and_tasks() {
    let (_ws, workspace) = opened(
        "
        //- .mind/DECISIONS.md
        # Decision Log

        ## DEC-001: Queue
        - **Date:** 2026-01-01
        - **Decided by:** Ann
        - **Decision:** See [[queue]]
        - **Status:** Superseded by DEC-002

        ## DEC-002: Bus
        - **Decision:** Take the bus
        - **Status:** Final
        //- .mind/PROGRESS.md
        ### In Progress
        - [ ] Write [[queue]]
        //- queue.md
        ",
    );
    let vault = Vault::read(&workspace);
    let graph = build(&vault).with_state(&vault, &Mind::open(&workspace));
    let shown: Vec<String> = graph
        .edges
        .iter()
        .map(|edge| {
            let (from, to) = (&graph.node(edge.from).id, &graph.node(edge.to).id);
            format!("{from} {} -> {to}", edge.kind.name())
        })
        .collect();
    insta::assert_debug_snapshot!(shown, @"");
}

#[test]
fn exports_hold_hostile_names() {
    let graph = graph("//- a\"<&>.md\n---\nblocks: [\"x\\\"]];<y>&\"]\n---\n[[b]]\n//- b.md\n");
    let dot = dot(&graph);
    assert!(dot.contains("label=\"a\\\"<&>\""), "{dot}");
    let xml = graphml(&graph);
    assert!(xml.contains("a&quot;&lt;&amp;&gt;"), "{xml}");
    assert!(!xml.contains("<y>"), "{xml}");
    let picture = svg(&graph);
    assert!(
        picture.starts_with("<svg ") && picture.ends_with("</svg>\n"),
        "{picture}"
    );
    assert!(!picture.contains("<y>"), "{picture}");
    assert!(
        !render_markdown(&graph).contains("]];"),
        "{}",
        render_markdown(&graph)
    );
}

#[test]
fn a_picture_is_the_same_every_time_and_says_what_it_leaves_out() {
    let mut files = String::new();
    for note in 0..500 {
        files.push_str(&format!("//- n{note}.md\n[[n{}]]\n", note / 2));
    }
    let graph = graph(&files);
    let picture = svg(&graph);
    assert_eq!(picture, svg(&graph));
    assert!(picture.contains("100 with fewer edges are not drawn"));
    assert!(!picture.contains("NaN"));
}
