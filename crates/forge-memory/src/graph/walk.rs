//! Queries of the graph: which nodes and edges match, what is around a node,
//! and how one leads to another. Results are always in the same order.

use std::collections::{HashSet, VecDeque};

use super::{EdgeKind, GraphEdge, NodeKind, WorkspaceGraph};
use crate::links::fold_name;

/// A filter for nodes and edges; a field that is not set does not apply.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GraphFilter {
    /// Nodes with this label.
    pub kind: Option<NodeKind>,
    /// Nodes with this `type` in their front matter.
    pub type_name: Option<String>,
    /// Nodes with this status.
    pub status: Option<String>,
    /// Dates as `2026-03-01`, both included.
    pub since: Option<String>,
    /// Nodes up to this day.
    pub until: Option<String>,
    /// Edges of these kinds; empty means all.
    pub edges: Vec<EdgeKind>,
}

/// An edge on a way, and whether it is walked against its direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathStep {
    /// The edge.
    pub edge: GraphEdge,
    /// Whether it is walked against its direction.
    pub against: bool,
}

impl GraphFilter {
    /// Returns `true` if a node matches; notes without a type count as `other`.
    pub fn matches_node(&self, graph: &WorkspaceGraph, node: u32) -> bool {
        let node = graph.node(node);
        let same = |wanted: &Option<String>, have: &str| {
            wanted
                .as_deref()
                .is_none_or(|it| fold_name(it) == fold_name(have))
        };
        let date = node.date.as_deref().unwrap_or("");
        self.kind.is_none_or(|kind| kind == node.kind)
            && same(
                &self.type_name,
                node.type_name.as_deref().unwrap_or("other"),
            )
            && same(&self.status, node.status.as_deref().unwrap_or(""))
            && self
                .since
                .as_deref()
                .is_none_or(|it| !date.is_empty() && date >= it)
            && self
                .until
                .as_deref()
                .is_none_or(|it| !date.is_empty() && (date <= it || date.starts_with(it)))
    }

    /// Returns `true` if the kind of an edge matches.
    fn matches_edge(&self, edge: &GraphEdge) -> bool {
        self.edges.is_empty() || self.edges.contains(&edge.kind)
    }
}

impl WorkspaceGraph {
    /// Returns the nodes that match, without missing ones unless the filter
    /// selects a kind.
    pub fn select_nodes(&self, filter: &GraphFilter) -> Vec<u32> {
        (0..self.nodes.len() as u32)
            .filter(|index| filter.matches_node(self, *index))
            .filter(|index| filter.kind.is_some() || self.node(*index).kind != NodeKind::Missing)
            .collect()
    }

    /// Returns the edges that match and begin at a node that matches.
    pub fn select_edges(&self, filter: &GraphFilter) -> Vec<GraphEdge> {
        let fits =
            |edge: &&GraphEdge| filter.matches_edge(edge) && filter.matches_node(self, edge.from);
        self.edges.iter().filter(fits).copied().collect()
    }

    /// Returns the nodes within `depth` steps of a node, itself included.
    pub fn nodes_around(&self, node: u32, depth: usize, filter: &GraphFilter) -> Vec<u32> {
        let neighbours = self.list_neighbours(filter, false);
        let mut seen = HashSet::from([node]);
        let mut reach = vec![node];
        for _ in 0..depth {
            let mut next = Vec::new();
            for at in &reach {
                for (to, _) in &neighbours[*at as usize] {
                    if seen.insert(*to) {
                        next.push(*to);
                    }
                }
            }
            if next.is_empty() {
                break;
            }
            reach = next;
        }
        let mut seen: Vec<u32> = seen.into_iter().collect();
        seen.sort_unstable();
        seen
    }

    /// Returns the graph of these nodes alone.
    pub fn subgraph_of(&self, nodes: &[u32]) -> WorkspaceGraph {
        let mut place = vec![None; self.nodes.len()];
        for (new, old) in (0u32..).zip(nodes) {
            place[*old as usize] = Some(new);
        }
        let edges = self.edges.iter().filter_map(|edge| {
            Some(GraphEdge {
                from: place[edge.from as usize]?,
                to: place[edge.to as usize]?,
                kind: edge.kind,
            })
        });
        WorkspaceGraph {
            edges: edges.collect(),
            nodes: nodes.iter().map(|it| self.node(*it).clone()).collect(),
            notes: self.notes,
        }
    }

    /// Returns the shortest path from one node to another. Follows edges both
    /// ways unless `directed` is set.
    pub fn shortest_path(
        &self,
        from: u32,
        to: u32,
        filter: &GraphFilter,
        directed: bool,
    ) -> Option<Vec<PathStep>> {
        let neighbours = self.list_neighbours(filter, directed);
        let mut came: Vec<Option<PathStep>> = vec![None; self.nodes.len()];
        let mut queue = VecDeque::from([from]);
        let mut seen = HashSet::from([from]);
        while let Some(at) = queue.pop_front() {
            if at == to {
                break;
            }
            for (next, step) in &neighbours[at as usize] {
                if seen.insert(*next) {
                    came[*next as usize] = Some(*step);
                    queue.push_back(*next);
                }
            }
        }
        let mut steps = Vec::new();
        let mut at = to;
        while at != from {
            let step = came[at as usize]?;
            at = if step.against {
                step.edge.to
            } else {
                step.edge.from
            };
            steps.push(step);
        }
        steps.reverse();
        Some(steps)
    }

    /// Lists for each node the neighbours within one step; typed edges first.
    fn list_neighbours(&self, filter: &GraphFilter, directed: bool) -> Vec<Vec<(u32, PathStep)>> {
        let mut neighbours = vec![Vec::new(); self.nodes.len()];
        for edge in self.edges.iter().filter(|edge| filter.matches_edge(edge)) {
            let step = |against| PathStep {
                edge: *edge,
                against,
            };
            neighbours[edge.from as usize].push((edge.to, step(false)));
            if !directed {
                neighbours[edge.to as usize].push((edge.from, step(true)));
            }
        }
        for list in &mut neighbours {
            // This order decides between paths of equal length.
            list.sort_by_key(|(to, step)| (!step.edge.kind.is_typed(), *to, step.against));
        }
        neighbours
    }
}
