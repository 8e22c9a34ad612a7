//! Graphs by chance, the same on every machine.

use forge_app::graph::{EdgeKind, GraphEdge, GraphNode, NodeKind, NodeWork, WorkspaceGraph};

pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Chance {
        Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % most
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

const STATUS: [Option<&str>; 9] = [
    None,
    Some("pending"),
    Some("in_progress"),
    Some("blocked"),
    Some("Done"),
    Some("cancelled"),
    Some("Final"),
    Some("idle"),
    Some("offline"),
];

fn node(chance: &mut Chance, number: usize) -> GraphNode {
    // Work is what most questions are about.
    let kind = match chance.below(2) {
        0 => NodeKind::Task,
        _ => NodeKind::ALL[chance.below(NodeKind::ALL.len())],
    };
    let status = chance.one(&STATUS);
    let day = |chance: &mut Chance| format!("2026-11-{:02}", 13 + chance.below(4));
    GraphNode {
        id: format!("n{number:03}"),
        name: format!("Name {}", chance.below(1000)),
        kind,
        path: None,
        title: Some(format!("Title {number}")).filter(|_| chance.below(2) == 0),
        type_name: None,
        status: status.map(str::to_owned),
        date: None,
        work: NodeWork {
            completed: Some(day(chance)).filter(|_| chance.below(2) == 0),
            estimate: Some(1 + chance.below(9) as u32).filter(|_| chance.below(2) == 0),
            rejections: chance.below(3) as u32,
            ..NodeWork::default()
        },
        has_front_matter: false,
    }
}

fn edges(chance: &mut Chance, nodes: usize, count: usize) -> Vec<GraphEdge> {
    const OFTEN: [EdgeKind; 4] = [
        EdgeKind::BlockedBy,
        EdgeKind::Blocks,
        EdgeKind::AssignedTo,
        EdgeKind::MadeBy,
    ];
    let mut edges: Vec<GraphEdge> = (0..count)
        .map(|_| GraphEdge {
            from: chance.below(nodes) as u32,
            to: chance.below(nodes) as u32,
            kind: match chance.below(2) {
                0 => chance.one(&OFTEN),
                _ => chance.one(&EdgeKind::ALL),
            },
        })
        .filter(|edge| edge.from != edge.to)
        .collect();
    edges.sort_unstable();
    edges.dedup();
    edges
}

pub(crate) fn graph(chance: &mut Chance, nodes: usize, count: usize) -> WorkspaceGraph {
    WorkspaceGraph {
        nodes: (0..nodes).map(|number| node(chance, number)).collect(),
        edges: edges(chance, nodes, count),
        notes: 0,
    }
}

/// Some nodes are gone, some are others, and so are some edges.
pub(crate) fn changed(chance: &mut Chance, graph: &WorkspaceGraph) -> WorkspaceGraph {
    let kept: Vec<u32> = (0..graph.nodes.len() as u32)
        .filter(|_| chance.below(5) > 0)
        .collect();
    let mut graph = graph.subgraph_of(&kept);
    let count = graph.nodes.len();
    for at in 0..count {
        if chance.below(5) == 0 {
            let id = graph.nodes[at].id.clone();
            graph.nodes[at] = node(chance, at);
            graph.nodes[at].id = id;
        }
    }
    graph.edges.retain(|_| chance.below(4) > 0);
    graph.edges.extend(edges(chance, count, 15));
    graph.edges.sort_unstable();
    graph.edges.dedup();
    graph
}
