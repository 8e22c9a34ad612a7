//! The graph of a workspace: notes with the typed edges of their front matter
//! and their links, the state of the work, decisions and tasks.
//!
//! Everything is derived from Markdown and can be rebuilt at any time. Nothing
//! here writes a file or calls a model.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::document::YamlValue;
use crate::links::{
    self, NAMING_KEYS, NoteVault, VaultNote, find_naming_key, fold_name, reference_target,
};
use crate::quote;
use crate::workspace::{FileRole, RelPath};

pub mod ask;
mod critical;
mod export;
mod ids;
mod markdown;
mod pull;
mod relation;
mod state;
mod svg;
mod walk;
mod work;

#[cfg(test)]
mod tests;

pub use export::escape_xml;
pub use export::{render_dot, render_graphml};
pub use markdown::{
    GRAPH_FILE_PATH as GRAPH_FILE, draw_graph_file, render_graph_file, render_markdown,
};
pub use pull::{PulledState, pull_state};
pub use relation::{GraphRelation, RelationLink};
pub use svg::{MAX_DRAWN_NODES, render_svg};
pub use walk::{GraphFilter, PathStep};
pub use work::{NodeWork, WorkStanding};

/// Nodes in the order of their ids, edges in that of their nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkspaceGraph {
    /// The nodes.
    pub nodes: Vec<GraphNode>,
    /// The edges.
    pub edges: Vec<GraphEdge>,
    /// Number of Markdown files that were read.
    pub notes: usize,
}

/// A note, a person, a decision, a task or another thing in the graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphNode {
    /// The path of a file, or an id such as DEC-007, person:alice, task:ship-it
    /// or missing:x. It stays the same as long as the thing exists.
    pub id: String,
    /// The displayed name: for a note the shortest name that links can use.
    pub name: String,
    /// The label of the node.
    pub kind: NodeKind,
    /// The file that it comes from; none for a thing that is only named.
    pub path: Option<RelPath>,
    /// The title, if it differs from the name.
    pub title: Option<String>,
    /// `type`, `status` and `date` of the front matter, or of the entry.
    pub type_name: Option<String>,
    /// The status as its author wrote it.
    pub status: Option<String>,
    /// The date as its author wrote it.
    pub date: Option<String>,
    /// Its properties as a piece of work.
    pub work: NodeWork,
    /// Whether it is a note with front matter.
    pub has_front_matter: bool,
}

/// The labels that graph databases get as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum NodeKind {
    /// A project.
    Project,
    /// A task of a list or a note about one.
    Task,
    /// An agent.
    Agent,
    /// A person.
    Person,
    /// A decision.
    Decision,
    /// A file of the project outside knowledge, or a result of work.
    Artifact,
    /// A document of the knowledge.
    Knowledge,
    /// Named in a note, and not found.
    Missing,
}

impl NodeKind {
    /// All kinds, in the order of the legend.
    pub const ALL: [NodeKind; 8] = [
        NodeKind::Project,
        NodeKind::Task,
        NodeKind::Agent,
        NodeKind::Person,
        NodeKind::Decision,
        NodeKind::Artifact,
        NodeKind::Knowledge,
        NodeKind::Missing,
    ];

    /// Returns the label of the kind.
    pub fn name(self) -> &'static str {
        match self {
            NodeKind::Project => "Project",
            NodeKind::Task => "Task",
            NodeKind::Agent => "Agent",
            NodeKind::Person => "Person",
            NodeKind::Decision => "Decision",
            NodeKind::Artifact => "Artifact",
            NodeKind::Knowledge => "Knowledge",
            NodeKind::Missing => "Missing",
        }
    }

    /// Returns the kind with this label.
    pub fn from_name(name: &str) -> Option<NodeKind> {
        NodeKind::ALL.into_iter().find(|it| it.name() == name)
    }
}

/// A typed edge between two nodes, named by their indexes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GraphEdge {
    /// The node where it begins.
    pub from: u32,
    /// The node that it leads to.
    pub to: u32,
    /// What it means.
    pub kind: EdgeKind,
}

/// The meaning of an edge: a key of the front matter, or a plain link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EdgeKind {
    /// People that the note is about.
    People,
    /// Projects that the note belongs to.
    Projects,
    /// Something that it replaces.
    Supersedes,
    /// Something that replaces it.
    SupersededBy,
    /// Something that waits for it.
    Blocks,
    /// Something that it waits for.
    BlockedBy,
    /// The maker of it.
    MadeBy,
    /// The person or agent that works on it.
    AssignedTo,
    /// Something larger that it belongs to.
    PartOf,
    /// A result of it.
    Produced,
    /// The one that checked it.
    CheckedBy,
    /// The one that verified it.
    VerifiedBy,
    /// Those that it directs.
    Commands,
    /// The one that it reports to.
    ReportsTo,
    /// Someone that it knows.
    Knows,
    /// A plain link.
    Links,
}

impl EdgeKind {
    /// All kinds of edges, in the order in which they are listed.
    pub const ALL: [EdgeKind; 16] = [
        EdgeKind::People,
        EdgeKind::Projects,
        EdgeKind::Supersedes,
        EdgeKind::SupersededBy,
        EdgeKind::Blocks,
        EdgeKind::BlockedBy,
        EdgeKind::MadeBy,
        EdgeKind::AssignedTo,
        EdgeKind::PartOf,
        EdgeKind::Produced,
        EdgeKind::CheckedBy,
        EdgeKind::VerifiedBy,
        EdgeKind::Commands,
        EdgeKind::ReportsTo,
        EdgeKind::Knows,
        EdgeKind::Links,
    ];

    /// Returns the key of the front matter, or `links` for a plain link.
    pub fn name(self) -> &'static str {
        match self {
            EdgeKind::People => "people",
            EdgeKind::Projects => "projects",
            EdgeKind::Supersedes => "supersedes",
            EdgeKind::SupersededBy => "superseded-by",
            EdgeKind::Blocks => "blocks",
            EdgeKind::BlockedBy => "blocked-by",
            EdgeKind::MadeBy => "made-by",
            EdgeKind::AssignedTo => "assigned-to",
            EdgeKind::PartOf => "part-of",
            EdgeKind::Produced => "produced",
            EdgeKind::CheckedBy => "checked-by",
            EdgeKind::VerifiedBy => "verified-by",
            EdgeKind::Commands => "commands",
            EdgeKind::ReportsTo => "reports-to",
            EdgeKind::Knows => "knows",
            EdgeKind::Links => "links",
        }
    }

    /// Returns the relation of this edge, and `true` if the relation points the
    /// other way.
    pub fn to_relation(self) -> (GraphRelation, bool) {
        match self {
            EdgeKind::People | EdgeKind::Knows => (GraphRelation::Knows, false),
            EdgeKind::Projects | EdgeKind::PartOf => (GraphRelation::PartOf, false),
            EdgeKind::Supersedes => (GraphRelation::Supersedes, false),
            EdgeKind::SupersededBy => (GraphRelation::Supersedes, true),
            EdgeKind::Blocks => (GraphRelation::BlockedBy, true),
            EdgeKind::BlockedBy => (GraphRelation::BlockedBy, false),
            EdgeKind::MadeBy => (GraphRelation::MadeBy, false),
            EdgeKind::AssignedTo => (GraphRelation::AssignedTo, false),
            EdgeKind::Produced => (GraphRelation::Produced, false),
            EdgeKind::CheckedBy => (GraphRelation::CheckedBy, false),
            EdgeKind::VerifiedBy => (GraphRelation::VerifiedBy, false),
            EdgeKind::Commands => (GraphRelation::Commands, false),
            EdgeKind::ReportsTo => (GraphRelation::ReportsTo, false),
            EdgeKind::Links => (GraphRelation::LinksTo, false),
        }
    }

    /// Returns `true` if the edge leads to a person or an agent, who needs no
    /// page.
    fn names_someone(self) -> bool {
        matches!(
            self,
            EdgeKind::AssignedTo
                | EdgeKind::MadeBy
                | EdgeKind::CheckedBy
                | EdgeKind::VerifiedBy
                | EdgeKind::Commands
                | EdgeKind::ReportsTo
        )
    }

    /// Returns `true` if front matter uses the key for other things too.
    /// Without brackets such a key counts only in notes about work.
    fn is_work_edge(self) -> bool {
        self.names_someone()
            || matches!(
                self,
                EdgeKind::PartOf | EdgeKind::Produced | EdgeKind::Knows
            )
    }

    /// Returns `true` if the author stated what the edge means.
    pub fn is_typed(self) -> bool {
        self != EdgeKind::Links
    }

    /// Returns the kind with this key.
    pub fn from_name(name: &str) -> Option<EdgeKind> {
        EdgeKind::ALL.into_iter().find(|it| it.name() == name)
    }
}

impl WorkspaceGraph {
    /// Returns the node with this index. Panics if there is none.
    pub fn node(&self, index: u32) -> &GraphNode {
        &self.nodes[index as usize]
    }

    /// Returns the index of the node with this id.
    pub fn position_of(&self, id: &str) -> Option<u32> {
        let found = self.nodes.binary_search_by(|node| node.id.as_str().cmp(id));
        found.ok().map(|index| index as u32)
    }

    /// Returns the typed edges to notes that do not exist. People need no page.
    pub fn dangling_edges(&self) -> impl Iterator<Item = &GraphEdge> {
        self.edges
            .iter()
            .filter(|edge| edge.kind.is_typed() && self.node(edge.to).kind == NodeKind::Missing)
    }

    /// Returns the edges whose author stated what they mean.
    pub fn typed_edges(&self) -> impl Iterator<Item = &GraphEdge> {
        self.edges.iter().filter(|edge| edge.kind.is_typed())
    }

    /// Counts the notes with front matter.
    pub fn count_front_matter(&self) -> usize {
        self.nodes
            .iter()
            .filter(|node| node.has_front_matter)
            .count()
    }
}

/// Builds the graph of all notes. [`WorkspaceGraph::with_state`] adds the state files.
pub fn build_graph(vault: &NoteVault) -> WorkspaceGraph {
    let mut builder = GraphBuilder::default();
    let mut notes = 0;
    for (index, _, note) in vault.notes() {
        notes += 1;
        let from = builder.add_file(vault, index);
        for key in NAMING_KEYS {
            let kind = EdgeKind::from_name(key).unwrap_or(EdgeKind::Links);
            let about_work = builder.nodes[from as usize].is_about_work();
            for (name, bracketed) in names_under_key(note, key) {
                let is_explicit = !kind.is_work_edge() || bracketed || about_work;
                if let Some(to) = builder.add_named(vault, index, &name, kind, is_explicit) {
                    builder.add_edge(from, to, kind);
                }
            }
        }
        for link in &note.links {
            let typed = link
                .key
                .as_deref()
                .is_some_and(|key| find_naming_key(key).is_some());
            // A link under a naming key has its typed edge already.
            let local = !link.target.is_empty() && !typed;
            if let Some(file) = local.then(|| vault.resolve(index, link).opened_file()).flatten()
                // A note that links to itself has no edge.
                && file != index
            {
                let to = builder.add_file(vault, file);
                builder.add_edge(from, to, EdgeKind::Links);
            }
        }
    }
    let mut graph = builder.finish();
    graph.notes = notes;
    graph
}

/// Collects the names under a key of the front matter, and whether each has
/// brackets.
fn names_under_key(note: &VaultNote, key: &str) -> Vec<(String, bool)> {
    let linked = note.links.iter().filter(|link| {
        link.key.as_deref().and_then(find_naming_key) == Some(key) && !link.target.is_empty()
    });
    let mut names: Vec<(String, bool)> = linked.map(|link| (link.target.clone(), true)).collect();
    let spelled = note.front_matter.iter().flatten().map(|(name, _)| name);
    for spelled in spelled.filter(|name| find_naming_key(name) == Some(key)) {
        for text in note.plain_names(spelled) {
            // Notes may have commas in their names, people do not.
            let people = EdgeKind::from_name(key).is_some_and(|it| it.names_someone());
            let parts = if people || key == "people" {
                text.split(',').collect()
            } else {
                vec![text]
            };
            names.extend(
                parts
                    .into_iter()
                    .map(|it| (reference_target(it).to_owned(), false)),
            );
        }
    }
    names.retain(|(name, _)| !name.is_empty());
    names
}

/// Collects nodes by their ids; [`GraphBuilder::finish`] sorts them.
#[derive(Default)]
struct GraphBuilder {
    nodes: Vec<GraphNode>,
    by_id: HashMap<String, u32>,
    edges: Vec<GraphEdge>,
}

impl GraphBuilder {
    /// Continues with an existing graph, to add to it.
    fn from_graph(graph: WorkspaceGraph) -> GraphBuilder {
        let ids = graph.nodes.iter().map(|node| node.id.clone());
        GraphBuilder {
            by_id: ids.zip(0..).collect(),
            nodes: graph.nodes,
            edges: graph.edges,
        }
    }

    fn add_node(&mut self, node: GraphNode) -> u32 {
        let next = self.nodes.len() as u32;
        // A known id keeps its node: many notes name the same person.
        let index = *self.by_id.entry(node.id.clone()).or_insert(next);
        if index == next {
            self.nodes.push(node);
        }
        index
    }

    fn add_file(&mut self, vault: &NoteVault, index: u32) -> u32 {
        let file = vault.file(index);
        if let Some(known) = self.by_id.get(file.path.as_str()) {
            return *known;
        }
        let note = file.note.as_ref();
        let field = |key: &str| {
            let entries = note?.front_matter.as_deref()?;
            let (_, value) = entries.iter().find(|(name, _)| name == key)?;
            match value {
                YamlValue::Null | YamlValue::List(_) | YamlValue::Map(_) => None,
                value => Some(value.to_string().trim().to_owned()).filter(|it| !it.is_empty()),
            }
        };
        let type_name = field("type");
        let kind = match type_name.as_deref().map(fold_name).as_deref() {
            Some("decision") => NodeKind::Decision,
            Some("project") => NodeKind::Project,
            Some("person") => NodeKind::Person,
            Some("task") => NodeKind::Task,
            Some("agent") => NodeKind::Agent,
            _ if note.is_some() && file.role == FileRole::Knowledge => NodeKind::Knowledge,
            _ => NodeKind::Artifact,
        };
        self.add_node(GraphNode {
            id: file.path.to_string(),
            name: vault.link_name(index).to_owned(),
            kind,
            path: Some(file.path.clone()),
            title: note.and_then(|note| note.title.clone()),
            type_name,
            status: field("status"),
            date: field("date"),
            work: NodeWork::from_fields(|keys| keys.iter().find_map(|key| field(key))),
            has_front_matter: note.is_some_and(|note| note.front_matter.is_some()),
        })
    }

    /// Returns the node that a name in the front matter of a note means. A name
    /// without a file becomes a node only if the author surely meant a
    /// reference.
    fn add_named(
        &mut self,
        vault: &NoteVault,
        from: u32,
        name: &str,
        kind: EdgeKind,
        is_explicit: bool,
    ) -> Option<u32> {
        let path = vault.file(from).path.as_str();
        match vault.names.resolve(name, path).opened_file() {
            Some(file) => Some(self.add_file(vault, file)),
            None => is_explicit.then(|| self.add_unknown(name, kind)),
        }
    }

    /// Adds a node for a name without a page: a person or agent, an artifact, a
    /// piece of knowledge, or a missing page.
    fn add_unknown(&mut self, name: &str, kind: EdgeKind) -> u32 {
        match kind {
            EdgeKind::People => self.add_person(name),
            EdgeKind::Produced => self.add_fileless("artifact", name, NodeKind::Artifact),
            EdgeKind::Knows => self.add_fileless("knowledge", name, NodeKind::Knowledge),
            kind if kind.names_someone() => self.add_fileless("agent", name, NodeKind::Agent),
            _ => self.add_fileless("missing", name, NodeKind::Missing),
        }
    }

    fn add_person(&mut self, name: &str) -> u32 {
        self.add_fileless("person", name, NodeKind::Person)
    }

    /// Adds a node that has no file. Names that differ in case alone are one
    /// node.
    fn add_fileless(&mut self, what: &str, name: &str, kind: NodeKind) -> u32 {
        // The name is text of a note and may contain a credential.
        let name = quote::sanitize_text(name.strip_suffix(".md").unwrap_or(name));
        self.add_node(GraphNode {
            id: format!("{what}:{}", links::fold_name(&name)),
            name: name.into_owned(),
            kind,
            path: None,
            title: None,
            type_name: None,
            status: None,
            date: None,
            work: NodeWork::default(),
            has_front_matter: false,
        })
    }

    fn add_edge(&mut self, from: u32, to: u32, kind: EdgeKind) {
        if from != to {
            self.edges.push(GraphEdge { from, to, kind });
        }
    }

    /// Sorts nodes by id and edges by node, drops duplicate edges, and returns
    /// the graph.
    fn finish(self) -> WorkspaceGraph {
        let mut order: Vec<u32> = (0..self.nodes.len() as u32).collect();
        order.sort_by(|a, b| self.nodes[*a as usize].id.cmp(&self.nodes[*b as usize].id));
        // From the old index to the new one.
        let mut place = vec![0u32; order.len()];
        for (new, old) in (0..).zip(&order) {
            place[*old as usize] = new;
        }
        let mut nodes: Vec<Option<GraphNode>> = self.nodes.into_iter().map(Some).collect();
        let mut edges: Vec<GraphEdge> = self
            .edges
            .into_iter()
            .map(|edge| GraphEdge {
                from: place[edge.from as usize],
                to: place[edge.to as usize],
                kind: edge.kind,
            })
            .collect();
        edges.sort_unstable();
        edges.dedup();
        WorkspaceGraph {
            nodes: order
                .into_iter()
                .filter_map(|old| nodes[old as usize].take())
                .collect(),
            edges,
            notes: 0,
        }
    }
}
