//! The questions about work: what is blocked and by what, who is idle, what
//! takes longest, what was completed, whose work is sent back, what a decision
//! touches, how two notes are connected.
//!
//! Each question is answered in one place, from what a [`GraphSource`] selects: the
//! graph in memory or one on a server. So both give the same rows.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use super::critical;
use super::{GraphNode, GraphRelation, NodeKind, RelationLink, WorkStanding, WorkspaceGraph};
use crate::quote;

/// A node as answers contain it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NodeSummary {
    /// The id, which stays the same as long as the thing exists.
    pub id: String,
    /// The name for people.
    pub name: String,
    /// The label.
    pub kind: NodeKind,
    /// The progress of the work.
    pub standing: WorkStanding,
    /// The status as its author wrote it.
    pub status: Option<String>,
    /// The day on which it was completed.
    pub completed: Option<String>,
    /// The estimate, or 1 without one.
    pub weight: u32,
    /// Number of times that a checker sent it back.
    pub rejections: u32,
}

/// A relation with both of its ends.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RelatedPair {
    /// The node where it begins.
    pub from: NodeSummary,
    /// The type of the relation.
    pub relation: GraphRelation,
    /// The node that it leads to.
    pub to: NodeSummary,
}

/// A selection of nodes; a filter that is not set does not apply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NodeSelection<'s> {
    /// Nodes with this label.
    pub kind: Option<NodeKind>,
    /// Only open items, neither done nor dropped.
    pub open: bool,
    /// Nodes with this progress.
    pub standing: Option<WorkStanding>,
    /// Completed on this day or later.
    pub completed_since: Option<&'s str>,
}

/// A graph that can be queried. Order does not matter: answers are sorted.
pub trait GraphSource {
    /// The error of a source that cannot answer.
    type Error;

    /// Returns the node with this id.
    fn find_node(&mut self, id: &str) -> Result<Option<NodeSummary>, Self::Error>;

    /// Returns the nodes that match.
    fn select_nodes(&mut self, select: &NodeSelection<'_>)
    -> Result<Vec<NodeSummary>, Self::Error>;

    /// Returns the relations of one type whose ends both match.
    fn select_relations(
        &mut self,
        relation: GraphRelation,
        from: &NodeSelection<'_>,
        to: &NodeSelection<'_>,
    ) -> Result<Vec<RelatedPair>, Self::Error>;

    /// Returns every relation that begins or ends at one of these.
    fn relations_around(&mut self, nodes: &[NodeSummary]) -> Result<Vec<RelatedPair>, Self::Error>;
}

/// A question about the work in a graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum GraphQuestion {
    /// Items that cannot continue, and what they wait for.
    Blocked,
    /// Tasks at work, and their assignees.
    Active,
    /// Agents and people without an open task.
    Idle,
    /// The longest chain of items that wait for each other.
    CriticalPath,
    /// Tasks that were completed on this day or later.
    Done {
        /// The first day.
        since: String,
    },
    /// Makers, and how many of their tasks were sent back.
    Rejections,
    /// Everything that a decision touches.
    Impact {
        /// The id of the decision.
        id: String,
        /// The number of relations to follow.
        depth: usize,
    },
    /// The shortest path between two nodes.
    Path {
        /// The id of the first node.
        from: String,
        /// The id of the last node.
        to: String,
    },
}

/// The answer to a [`GraphQuestion`], with one variant each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum GraphAnswer {
    /// Items that cannot continue.
    Blocked(Vec<BlockedItem>),
    /// Tasks at work.
    Active(Vec<ActiveTask>),
    /// Agents and people without an open task.
    Idle(Vec<NodeSummary>),
    /// The longest chain.
    CriticalPath(CriticalPath),
    /// Tasks that were completed.
    Done(Vec<NodeSummary>),
    /// Makers with their records.
    Rejections(Vec<MakerRecord>),
    /// `None` if there is no such node.
    Impact(Option<Vec<TouchedNode>>),
    /// The shortest path.
    Path(GraphPath),
}

/// An item that cannot continue, and what it waits for; the list is empty where
/// only its status is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockedItem {
    /// The item that waits.
    pub item: NodeSummary,
    /// The items that it waits for.
    pub by: Vec<NodeSummary>,
}

/// A task at work, and its assignees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActiveTask {
    /// The task.
    pub task: NodeSummary,
    /// Its assignees.
    pub assigned: Vec<NodeSummary>,
}

/// The longest chain of items that wait for each other.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CriticalPath {
    /// In the order in which they have to be done.
    pub steps: Vec<NodeSummary>,
    /// The sum of the estimates of the steps.
    pub weight: u64,
    /// Items that wait for themselves, and are on no chain.
    pub rings: Vec<Vec<NodeSummary>>,
}

/// A maker, and how many of its tasks were sent back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MakerRecord {
    /// The person or agent.
    pub maker: NodeSummary,
    /// Tasks that it made.
    pub tasks: usize,
    /// Tasks that were sent back at least once.
    pub rejected: usize,
    /// Number of times that its tasks were sent back.
    pub rejections: u64,
}

/// A node that a decision touches: by which relation, and from which node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TouchedNode {
    /// Number of relations from the decision.
    pub distance: usize,
    /// The node that is touched.
    pub node: NodeSummary,
    /// The relation by which it is reached.
    pub relation: GraphRelation,
    /// The id of the node from which it is reached.
    pub from: String,
}

/// The shortest path between two nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum GraphPath {
    /// No node has this id.
    Unknown(String),
    /// No path joins the two.
    None,
    /// The path.
    Found {
        /// The first node.
        start: Box<NodeSummary>,
        /// The steps from there.
        hops: Vec<PathHop>,
    },
}

/// One step of a path: the relation, its direction, and the node that it leads
/// to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathHop {
    /// The type of the relation.
    pub relation: GraphRelation,
    /// Whether it is walked against its direction.
    pub against: bool,
    /// The node that it leads to.
    pub to: NodeSummary,
}

/// A selection that matches every node.
const ANY_NODE: NodeSelection<'static> = NodeSelection {
    kind: None,
    open: false,
    standing: None,
    completed_since: None,
};

/// Computes the answer to a question. Lists are in the order of ids unless the
/// question has an order of its own.
pub fn answer_question<S: GraphSource>(
    source: &mut S,
    question: &GraphQuestion,
) -> Result<GraphAnswer, S::Error> {
    Ok(match question {
        GraphQuestion::Blocked => GraphAnswer::Blocked(list_blocked(source)?),
        GraphQuestion::Active => GraphAnswer::Active(list_active(source)?),
        GraphQuestion::Idle => GraphAnswer::Idle(list_idle(source)?),
        GraphQuestion::CriticalPath => GraphAnswer::CriticalPath(find_critical_path(source)?),
        GraphQuestion::Done { since } => GraphAnswer::Done(list_done(source, since)?),
        GraphQuestion::Rejections => GraphAnswer::Rejections(count_rejections(source)?),
        GraphQuestion::Impact { id, depth } => {
            GraphAnswer::Impact(trace_impact(source, id, *depth)?)
        }
        GraphQuestion::Path { from, to } => {
            GraphAnswer::Path(find_shortest_path(source, from, to)?)
        }
    })
}

/// Returns open items that wait for open ones, and tasks with the status alone.
fn list_blocked<S: GraphSource>(source: &mut S) -> Result<Vec<BlockedItem>, S::Error> {
    let mut found: BTreeMap<String, BlockedItem> = BTreeMap::new();
    let marked_blocked = NodeSelection {
        standing: Some(WorkStanding::Blocked),
        kind: Some(NodeKind::Task),
        ..ANY_NODE
    };
    for item in source.select_nodes(&marked_blocked)? {
        let by = Vec::new();
        found.insert(item.id.clone(), BlockedItem { item, by });
    }
    for RelatedPair { from, to, .. } in list_waits(source)? {
        let id = from.id.clone();
        let blocked = found.entry(id).or_insert_with(|| BlockedItem {
            item: from,
            by: Vec::new(),
        });
        blocked.by.push(to);
    }
    let mut all: Vec<BlockedItem> = found.into_values().collect();
    for one in &mut all {
        one.by.sort();
        one.by.dedup();
    }
    Ok(all)
}

/// Returns the pairs of open items of which one waits for the other. People and
/// agents never wait.
fn list_waits<S: GraphSource>(source: &mut S) -> Result<Vec<RelatedPair>, S::Error> {
    let open = NodeSelection {
        open: true,
        ..ANY_NODE
    };
    let mut waits = source.select_relations(GraphRelation::BlockedBy, &open, &open)?;
    waits.retain(|it| is_work_item(it.from.kind));
    Ok(waits)
}

/// Returns `true` unless the kind is a person or an agent.
fn is_work_item(kind: NodeKind) -> bool {
    !matches!(kind, NodeKind::Agent | NodeKind::Person)
}

/// Returns tasks at work with their assignees, without blocked ones.
fn list_active<S: GraphSource>(source: &mut S) -> Result<Vec<ActiveTask>, S::Error> {
    let at_work = NodeSelection {
        kind: Some(NodeKind::Task),
        standing: Some(WorkStanding::Active),
        ..ANY_NODE
    };
    let blocked: BTreeSet<String> = list_waits(source)?
        .into_iter()
        .map(|it| it.from.id)
        .collect();
    let mut found: BTreeMap<String, ActiveTask> = BTreeMap::new();
    for task in source.select_nodes(&at_work)? {
        let assigned = Vec::new();
        found.insert(task.id.clone(), ActiveTask { task, assigned });
    }
    // A task is either blocked or at work.
    found.retain(|id, _| !blocked.contains(id));
    for related in source.select_relations(GraphRelation::AssignedTo, &at_work, &ANY_NODE)? {
        if let Some(active) = found.get_mut(&related.from.id) {
            active.assigned.push(related.to);
        }
    }
    let mut all: Vec<ActiveTask> = found.into_values().collect();
    for one in &mut all {
        one.assigned.sort();
    }
    Ok(all)
}

/// Returns agents, and people who were ever assigned a task, that have no open
/// task and no status of being busy or away.
fn list_idle<S: GraphSource>(source: &mut S) -> Result<Vec<NodeSummary>, S::Error> {
    let agents = NodeSelection {
        kind: Some(NodeKind::Agent),
        ..ANY_NODE
    };
    let mut all: BTreeMap<String, NodeSummary> = BTreeMap::new();
    for agent in source.select_nodes(&agents)? {
        all.insert(agent.id.clone(), agent);
    }
    let mut busy = BTreeSet::new();
    for related in source.select_relations(GraphRelation::AssignedTo, &ANY_NODE, &ANY_NODE)? {
        if related.from.kind == NodeKind::Task && related.from.standing.is_open() {
            busy.insert(related.to.id.clone());
        }
        if matches!(related.to.kind, NodeKind::Person | NodeKind::Agent) {
            all.insert(related.to.id.clone(), related.to);
        }
    }
    let away = |entry: &NodeSummary| {
        let status = entry.status.as_deref().unwrap_or("").trim();
        ["offline", "working", "busy", "blocked", "away", "retired"]
            .iter()
            .any(|it| status.eq_ignore_ascii_case(it))
    };
    let all = all.into_values();
    Ok(all
        .filter(|it| !busy.contains(&it.id) && !away(it))
        .collect())
}

/// Finds the longest chain of open tasks and the items that they wait for.
fn find_critical_path<S: GraphSource>(source: &mut S) -> Result<CriticalPath, S::Error> {
    let tasks = NodeSelection {
        kind: Some(NodeKind::Task),
        open: true,
        ..ANY_NODE
    };
    let mut items: BTreeMap<String, NodeSummary> = BTreeMap::new();
    for task in source.select_nodes(&tasks)? {
        items.insert(task.id.clone(), task);
    }
    let mut pairs = Vec::new();
    for RelatedPair { from, to, .. } in list_waits(source)? {
        if is_work_item(to.kind) {
            pairs.push((from.id.clone(), to.id.clone()));
            items.insert(to.id.clone(), to);
        }
        items.insert(from.id.clone(), from);
    }
    let place: HashMap<&str, usize> = items.keys().map(String::as_str).zip(0..).collect();
    let weights: Vec<u32> = items.values().map(|it| it.weight).collect();
    let pairs: Vec<(usize, usize)> = pairs
        .iter()
        .map(|(item, blocker)| (place[item.as_str()], place[blocker.as_str()]))
        .collect();
    let chain = critical::find_longest_chain(&weights, &pairs);
    let entries: Vec<&NodeSummary> = items.values().collect();
    let clone_entries = |places: &[usize]| places.iter().map(|it| entries[*it].clone()).collect();
    Ok(CriticalPath {
        steps: clone_entries(&chain.steps),
        weight: chain.weight,
        rings: chain.rings.iter().map(|ring| clone_entries(ring)).collect(),
    })
}

/// Returns completed tasks, the newest first.
fn list_done<S: GraphSource>(source: &mut S, since: &str) -> Result<Vec<NodeSummary>, S::Error> {
    let mut done = source.select_nodes(&NodeSelection {
        kind: Some(NodeKind::Task),
        standing: Some(WorkStanding::Done),
        completed_since: Some(since),
        open: false,
    })?;
    done.sort_by(|a, b| b.completed.cmp(&a.completed).then_with(|| a.cmp(b)));
    Ok(done)
}

/// Returns makers by the share of their tasks that was sent back, the highest
/// first.
fn count_rejections<S: GraphSource>(source: &mut S) -> Result<Vec<MakerRecord>, S::Error> {
    let tasks = NodeSelection {
        kind: Some(NodeKind::Task),
        ..ANY_NODE
    };
    let mut makers: BTreeMap<String, MakerRecord> = BTreeMap::new();
    for RelatedPair { from, to, .. } in
        source.select_relations(GraphRelation::MadeBy, &tasks, &ANY_NODE)?
    {
        let maker = makers.entry(to.id.clone()).or_insert_with(|| MakerRecord {
            maker: to,
            tasks: 0,
            rejected: 0,
            rejections: 0,
        });
        maker.tasks += 1;
        maker.rejected += usize::from(from.rejections > 0);
        maker.rejections += u64::from(from.rejections);
    }
    let mut makers: Vec<MakerRecord> = makers.into_values().collect();
    // Compares the rates as whole numbers: a/b > c/d if a·d > c·b.
    makers.sort_by(|a, b| (b.rejected * a.tasks).cmp(&(a.rejected * b.tasks)));
    Ok(makers)
}

/// Returns what refers to a node, waits for it or is a part of it, what it
/// produced or replaced, and the same of those; at the first step also what the
/// node itself links to.
fn trace_impact<S: GraphSource>(
    source: &mut S,
    id: &str,
    depth: usize,
) -> Result<Option<Vec<TouchedNode>>, S::Error> {
    let Some(start) = source.find_node(id)? else {
        return Ok(None);
    };
    let mut seen = BTreeSet::from([start.id.clone()]);
    let mut edge = vec![start];
    let mut all = Vec::new();
    for distance in 1..=depth {
        let here: BTreeSet<String> = edge.iter().map(|it| it.id.clone()).collect();
        let mut found: BTreeMap<String, TouchedNode> = BTreeMap::new();
        for RelatedPair { from, relation, to } in source.relations_around(&edge)? {
            let onward = match relation {
                GraphRelation::BlockedBy | GraphRelation::PartOf => false,
                GraphRelation::Produced | GraphRelation::Supersedes => true,
                GraphRelation::LinksTo => distance == 1 && here.contains(&from.id),
                // Relations to people and agents are not followed: a person is
                // connected to all of their work.
                _ => continue,
            };
            let (at, next) = if onward { (from, to) } else { (to, from) };
            if !here.contains(&at.id) || seen.contains(&next.id) {
                continue;
            }
            let touched = TouchedNode {
                distance,
                relation,
                from: at.id,
                node: next,
            };
            let key = |it: &TouchedNode| (it.relation, it.from.clone());
            let known = found.entry(touched.node.id.clone());
            let known = known.or_insert_with(|| touched.clone());
            // Of several relations to one node, the first by type and source is
            // reported.
            if key(&touched) < key(known) {
                *known = touched;
            }
        }
        if found.is_empty() {
            break;
        }
        seen.extend(found.keys().cloned());
        edge = found.values().map(|it| it.node.clone()).collect();
        all.extend(found.into_values());
    }
    Ok(Some(all))
}

/// Finds the shortest path, layer by layer. Of equals, typed relations come
/// before links, then the order of ids decides.
fn find_shortest_path<S: GraphSource>(
    source: &mut S,
    from: &str,
    to: &str,
) -> Result<GraphPath, S::Error> {
    let Some(start) = source.find_node(from)? else {
        return Ok(GraphPath::Unknown(from.to_owned()));
    };
    if source.find_node(to)?.is_none() {
        return Ok(GraphPath::Unknown(to.to_owned()));
    }
    // Each node with the step that led to it.
    let mut came: HashMap<String, (String, PathHop)> = HashMap::new();
    let mut seen = BTreeSet::from([start.id.clone()]);
    let mut edge = vec![start.clone()];
    while !edge.is_empty() && !seen.contains(to) {
        let here: BTreeSet<String> = edge.iter().map(|it| it.id.clone()).collect();
        let mut steps = Vec::new();
        for RelatedPair { from, relation, to } in source.relations_around(&edge)? {
            for (at, next, against) in [(&from, &to, false), (&to, &from, true)] {
                if here.contains(&at.id) && !seen.contains(&next.id) {
                    let is_link = relation == GraphRelation::LinksTo;
                    let order = (is_link, at.id.clone(), relation, against);
                    steps.push((order, next.clone()));
                }
            }
        }
        steps.sort();
        edge = Vec::new();
        for ((_, at, relation, against), to) in steps {
            if seen.insert(to.id.clone()) {
                edge.push(to.clone());
                let hop = PathHop {
                    relation,
                    against,
                    to,
                };
                came.insert(hop.to.id.clone(), (at, hop));
            }
        }
    }
    if !seen.contains(to) {
        return Ok(GraphPath::None);
    }
    let mut hops = Vec::new();
    let mut at = to.to_owned();
    while let Some((before, hop)) = came.remove(&at) {
        hops.push(hop);
        at = before;
    }
    hops.reverse();
    let start = Box::new(start);
    Ok(GraphPath::Found { start, hops })
}

impl NodeSelection<'_> {
    /// Returns `true` if a node matches all filters that are set.
    pub fn matches_node(&self, entry: &NodeSummary) -> bool {
        self.kind.is_none_or(|it| it == entry.kind)
            && (!self.open || entry.standing.is_open())
            && self.standing.is_none_or(|it| it == entry.standing)
            && self
                .completed_since
                .is_none_or(|since| entry.completed.as_deref().is_some_and(|it| it >= since))
    }
}

impl NodeSummary {
    /// Returns the summary of a node, without credentials that a name or status
    /// may contain.
    pub fn from_node(node: &GraphNode) -> NodeSummary {
        NodeSummary {
            id: node.id.clone(),
            name: quote::sanitize_text(&node.name).into_owned(),
            kind: node.kind,
            standing: node.work_standing(),
            status: (node.status.as_deref()).map(|it| quote::sanitize_text(it).into_owned()),
            completed: node.work.completed.clone(),
            weight: node.work.weight(),
            rejections: node.work.rejections,
        }
    }
}

/// The graph in memory, with the relations that begin or end at each node.
pub struct EmbeddedGraph<'g> {
    graph: &'g WorkspaceGraph,
    links: Vec<RelationLink>,
    /// Positions in `links`, for each node.
    touching: Vec<Vec<u32>>,
}

impl<'g> EmbeddedGraph<'g> {
    /// Indexes the relations of a graph by their ends.
    pub fn new(graph: &'g WorkspaceGraph) -> EmbeddedGraph<'g> {
        let links = graph.list_relations();
        let mut touching = vec![Vec::new(); graph.nodes.len()];
        for (at, link) in (0..).zip(&links) {
            touching[link.from as usize].push(at);
            touching[link.to as usize].push(at);
        }
        EmbeddedGraph {
            graph,
            links,
            touching,
        }
    }

    fn summarize_node(&self, node: u32) -> NodeSummary {
        NodeSummary::from_node(self.graph.node(node))
    }

    fn related_pair(&self, link: &RelationLink) -> RelatedPair {
        RelatedPair {
            from: self.summarize_node(link.from),
            relation: link.relation,
            to: self.summarize_node(link.to),
        }
    }
}

impl GraphSource for EmbeddedGraph<'_> {
    type Error = std::convert::Infallible;

    fn find_node(&mut self, id: &str) -> Result<Option<NodeSummary>, Self::Error> {
        Ok(self.graph.position_of(id).map(|it| self.summarize_node(it)))
    }

    fn select_nodes(
        &mut self,
        select: &NodeSelection<'_>,
    ) -> Result<Vec<NodeSummary>, Self::Error> {
        let all = self.graph.nodes.iter().map(NodeSummary::from_node);
        Ok(all.filter(|it| select.matches_node(it)).collect())
    }

    fn select_relations(
        &mut self,
        relation: GraphRelation,
        from: &NodeSelection<'_>,
        to: &NodeSelection<'_>,
    ) -> Result<Vec<RelatedPair>, Self::Error> {
        let of_it = self.links.iter().filter(|it| it.relation == relation);
        let all = of_it.map(|link| self.related_pair(link));
        Ok(all
            .filter(|it| from.matches_node(&it.from) && to.matches_node(&it.to))
            .collect())
    }

    fn relations_around(&mut self, nodes: &[NodeSummary]) -> Result<Vec<RelatedPair>, Self::Error> {
        let places = nodes.iter().filter_map(|it| self.graph.position_of(&it.id));
        let links: BTreeSet<u32> = places
            .flat_map(|it| self.touching[it as usize].iter().copied())
            .collect();
        let links = links.into_iter().map(|it| &self.links[it as usize]);
        Ok(links.map(|link| self.related_pair(link)).collect())
    }
}

#[cfg(test)]
mod tests;
