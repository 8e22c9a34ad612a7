//! Edges as a graph database has them: a closed list of relations, each in one
//! direction, from whichever side it was written.

use serde::{Deserialize, Serialize};

use super::WorkspaceGraph;
use crate::quote;
use crate::workspace::RelPath;

/// The types of relationships. No other ever reaches a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum GraphRelation {
    /// From a task to the one that works on it.
    AssignedTo,
    /// From an item to one that it waits for.
    BlockedBy,
    /// From a result to the one that checked it.
    CheckedBy,
    /// From an agent to those that it directs.
    Commands,
    /// From a person to one that it knows.
    Knows,
    /// A plain link.
    LinksTo,
    /// From a result to its maker.
    MadeBy,
    /// From a part to the whole.
    PartOf,
    /// From a task to its result.
    Produced,
    /// From an agent to the one that directs it.
    ReportsTo,
    /// From an item to the one that it replaces.
    Supersedes,
    /// From a result to the one that verified it.
    VerifiedBy,
}

impl GraphRelation {
    /// All types of relations.
    pub const ALL: [GraphRelation; 12] = [
        GraphRelation::AssignedTo,
        GraphRelation::BlockedBy,
        GraphRelation::CheckedBy,
        GraphRelation::Commands,
        GraphRelation::Knows,
        GraphRelation::LinksTo,
        GraphRelation::MadeBy,
        GraphRelation::PartOf,
        GraphRelation::Produced,
        GraphRelation::ReportsTo,
        GraphRelation::Supersedes,
        GraphRelation::VerifiedBy,
    ];

    /// Returns the name of the type in a graph database.
    pub fn name(self) -> &'static str {
        match self {
            GraphRelation::AssignedTo => "ASSIGNED_TO",
            GraphRelation::BlockedBy => "BLOCKED_BY",
            GraphRelation::CheckedBy => "CHECKED_BY",
            GraphRelation::Commands => "COMMANDS",
            GraphRelation::Knows => "KNOWS",
            GraphRelation::LinksTo => "LINKS_TO",
            GraphRelation::MadeBy => "MADE_BY",
            GraphRelation::PartOf => "PART_OF",
            GraphRelation::Produced => "PRODUCED",
            GraphRelation::ReportsTo => "REPORTS_TO",
            GraphRelation::Supersedes => "SUPERSEDES",
            GraphRelation::VerifiedBy => "VERIFIED_BY",
        }
    }

    /// Returns the type with this name.
    pub fn from_name(name: &str) -> Option<GraphRelation> {
        GraphRelation::ALL.into_iter().find(|it| it.name() == name)
    }
}

/// One relation between two nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelationLink {
    /// The node where it begins, by its index.
    pub from: u32,
    /// The type of the relation.
    pub relation: GraphRelation,
    /// The node that it leads to, by its index.
    pub to: u32,
}

impl WorkspaceGraph {
    /// Returns every relation once, in order. A relation that two notes state
    /// from both sides is one.
    pub fn list_relations(&self) -> Vec<RelationLink> {
        let mut all: Vec<RelationLink> = self
            .edges
            .iter()
            .map(|edge| {
                let (relation, reversed) = edge.kind.to_relation();
                let (from, to) = if reversed {
                    (edge.to, edge.from)
                } else {
                    (edge.from, edge.to)
                };
                RelationLink { from, relation, to }
            })
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Returns the graph without private notes.
    pub fn shared_part(&self) -> WorkspaceGraph {
        self.shared_part_by(&RelPath::is_private)
    }

    /// Returns the graph without the files that the caller knows to be private:
    /// only a workspace knows where symlinks lead. Drops files whose name
    /// contains a secret too, because the name is the id.
    pub fn shared_part_by(&self, is_private: &dyn Fn(&RelPath) -> bool) -> WorkspaceGraph {
        let private = |index: &u32| {
            let path = self.node(*index).path.as_ref();
            path.is_some_and(|path| {
                is_private(path)
                    || !quote::sanitize_with_report(path.as_str())
                        .secrets
                        .is_empty()
            })
        };
        let mut kept: Vec<bool> = (0..self.nodes.len() as u32)
            .map(|index| !private(&index))
            .collect();
        // A node that only private notes name is as private as they are.
        let mut named = vec![false; self.nodes.len()];
        for edge in self.edges.iter().filter(|it| kept[it.from as usize]) {
            named[edge.to as usize] = true;
        }
        let by_private: Vec<u32> = self
            .edges
            .iter()
            .filter(|edge| !kept[edge.from as usize])
            .map(|edge| edge.to)
            .collect();
        for to in by_private {
            let has_own_page = self.node(to).path.is_some();
            if !named[to as usize] && !has_own_page && !self.node(to).is_state_entry() {
                kept[to as usize] = false;
            }
        }
        let nodes: Vec<u32> = (0..).zip(kept).filter(|it| it.1).map(|it| it.0).collect();
        self.subgraph_of(&nodes)
    }
}
