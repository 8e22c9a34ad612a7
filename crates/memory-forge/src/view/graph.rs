//! Answers with notes, people, decisions and tasks and their edges, as short
//! rows: a page draws thousands of them.

use forge_app::graph::{EdgeKind, NodeKind};
use serde_json::{Value, json};

use super::{PageAnswer, PageRefusal, QuestionContext, QuestionInput, clean_text};

/// Upper bounds for a readable picture; the nodes with the most edges are kept.
const MAX_NODES: usize = 10_000;
const MAX_EDGES: usize = 60_000;

pub(super) fn answer_graph(
    visit: &QuestionContext,
    _: &QuestionInput,
) -> Result<PageAnswer, PageRefusal> {
    let known = visit.known_documents();
    let whole = &known.graph;
    let mut degrees = vec![0_usize; whole.nodes.len()];
    for edge in &whole.edges {
        degrees[edge.from as usize] += 1;
        degrees[edge.to as usize] += 1;
    }
    let mut chosen: Vec<u32> = (0..whole.nodes.len() as u32).collect();
    chosen.sort_by_key(|node| (std::cmp::Reverse(degrees[*node as usize]), *node));
    chosen.truncate(MAX_NODES);
    // Back in the graph's own order, which does not change with the number of
    // edges.
    chosen.sort_unstable();
    let part = whole.subgraph_of(&chosen);
    let kinds = NodeKind::ALL;
    let edge_kinds = EdgeKind::ALL;
    let place = |all: &[EdgeKind], kind| all.iter().position(|it| *it == kind).unwrap_or(0);
    let nodes: Vec<Value> = part
        .nodes
        .iter()
        .map(|node| {
            let kind = kinds.iter().position(|it| *it == node.kind).unwrap_or(0);
            let title = node.title.as_deref().unwrap_or(&node.name);
            json!([
                clean_text(title),
                kind,
                node.path.as_ref().map(|it| it.as_str()),
                node.type_name.as_deref().map(clean_text),
                node.status.as_deref().map(clean_text),
                node.date,
            ])
        })
        .collect();
    let edges: Vec<Value> = part
        .edges
        .iter()
        .take(MAX_EDGES)
        .map(|edge| json!([edge.from, edge.to, place(&edge_kinds, edge.kind)]))
        .collect();
    Ok(json!({
        "version": 1,
        "kinds": kinds.map(NodeKind::name), "edgeKinds": edge_kinds.map(EdgeKind::name),
        "nodes": nodes, "edges": edges,
        "leftOut": {
            "nodes": whole.nodes.len() - part.nodes.len(),
            "edges": whole.edges.len() - part.edges.len().min(MAX_EDGES),
        },
    })
    .into())
}
