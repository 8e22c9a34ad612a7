//! The questions about work: what is blocked and by what, who is idle, what
//! takes longest, what was completed, whose work is sent back, what a decision
//! touches, how two notes are connected.
//!
//! Each question is answered in one place, from what a [`Source`] selects: the
//! graph in memory or one on a server. So both give the same rows.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use super::critical;
use super::{Graph, Kind, Link, Node, Relation, Standing};
use crate::quote;

/// A node as answers contain it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Entry {
    pub id: String,
    pub name: String,
    pub kind: Kind,
    pub standing: Standing,
    pub status: Option<String>,
    pub completed: Option<String>,
    pub weight: u32,
    pub rejections: u32,
}

/// A relation with both of its ends.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Related {
    pub from: Entry,
    pub relation: Relation,
    pub to: Entry,
}

/// A selection of nodes; a filter that is not set does not apply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Select<'s> {
    pub kind: Option<Kind>,
    /// Only open items, neither done nor dropped.
    pub open: bool,
    pub standing: Option<Standing>,
    /// Completed on this day or later.
    pub completed_since: Option<&'s str>,
}

/// A graph that can be queried. Order does not matter: answers are sorted.
pub trait Source {
    type Error;

    /// Returns the node with this id.
    fn node(&mut self, id: &str) -> Result<Option<Entry>, Self::Error>;

    /// Returns the nodes that match.
    fn nodes(&mut self, select: &Select<'_>) -> Result<Vec<Entry>, Self::Error>;

    /// Returns the relations of one type whose ends both match.
    fn relations(
        &mut self,
        relation: Relation,
        from: &Select<'_>,
        to: &Select<'_>,
    ) -> Result<Vec<Related>, Self::Error>;

    /// Returns every relation that begins or ends at one of these.
    fn around(&mut self, nodes: &[Entry]) -> Result<Vec<Related>, Self::Error>;
}

/// A question about the work in a graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Question {
    Blocked,
    Active,
    Idle,
    CriticalPath,
    /// Tasks that were completed on this day or later.
    Done {
        since: String,
    },
    Rejections,
    Impact {
        id: String,
        depth: usize,
    },
    Path {
        from: String,
        to: String,
    },
}

/// The answer to a [`Question`], with one variant each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    Blocked(Vec<Blocked>),
    Active(Vec<Active>),
    Idle(Vec<Entry>),
    CriticalPath(CriticalPath),
    Done(Vec<Entry>),
    Rejections(Vec<Maker>),
    /// `None` if there is no such node.
    Impact(Option<Vec<Touched>>),
    Path(Way),
}

/// An item that cannot continue, and what it waits for; the list is empty where
/// only its status is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocked {
    pub item: Entry,
    pub by: Vec<Entry>,
}

/// A task at work, and its assignees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Active {
    pub task: Entry,
    pub assigned: Vec<Entry>,
}

/// The longest chain of items that wait for each other.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CriticalPath {
    /// In the order in which they have to be done.
    pub steps: Vec<Entry>,
    pub weight: u64,
    /// Items that wait for themselves, and are on no chain.
    pub rings: Vec<Vec<Entry>>,
}

/// A maker, and how many of its tasks were sent back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Maker {
    pub maker: Entry,
    pub tasks: usize,
    /// Tasks that were sent back at least once.
    pub rejected: usize,
    pub rejections: u64,
}

/// A node that a decision touches: by which relation, and from which node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Touched {
    pub distance: usize,
    pub node: Entry,
    pub relation: Relation,
    pub from: String,
}

/// The shortest path between two nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Way {
    /// No node has this id.
    Unknown(String),
    None,
    Found {
        start: Box<Entry>,
        hops: Vec<Hop>,
    },
}

/// One step of a path: the relation, its direction, and the node that it leads
/// to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hop {
    pub relation: Relation,
    pub against: bool,
    pub to: Entry,
}

/// A selection that matches every node.
const ANY: Select<'static> = Select {
    kind: None,
    open: false,
    standing: None,
    completed_since: None,
};

/// Computes the answer to a question. Lists are in the order of ids unless the
/// question has an order of its own.
pub fn ask<S: Source>(source: &mut S, question: &Question) -> Result<Answer, S::Error> {
    Ok(match question {
        Question::Blocked => Answer::Blocked(blocked(source)?),
        Question::Active => Answer::Active(active(source)?),
        Question::Idle => Answer::Idle(idle(source)?),
        Question::CriticalPath => Answer::CriticalPath(critical_path(source)?),
        Question::Done { since } => Answer::Done(done(source, since)?),
        Question::Rejections => Answer::Rejections(rejections(source)?),
        Question::Impact { id, depth } => Answer::Impact(impact(source, id, *depth)?),
        Question::Path { from, to } => Answer::Path(path(source, from, to)?),
    })
}

/// Returns open items that wait for open ones, and tasks with the status alone.
fn blocked<S: Source>(source: &mut S) -> Result<Vec<Blocked>, S::Error> {
    let mut found: BTreeMap<String, Blocked> = BTreeMap::new();
    let says_so = Select {
        standing: Some(Standing::Blocked),
        kind: Some(Kind::Task),
        ..ANY
    };
    for item in source.nodes(&says_so)? {
        let by = Vec::new();
        found.insert(item.id.clone(), Blocked { item, by });
    }
    for Related { from, to, .. } in waits(source)? {
        let id = from.id.clone();
        let blocked = found.entry(id).or_insert_with(|| Blocked {
            item: from,
            by: Vec::new(),
        });
        blocked.by.push(to);
    }
    let mut all: Vec<Blocked> = found.into_values().collect();
    for one in &mut all {
        one.by.sort();
        one.by.dedup();
    }
    Ok(all)
}

/// Returns the pairs of open items of which one waits for the other. People and
/// agents never wait.
fn waits<S: Source>(source: &mut S) -> Result<Vec<Related>, S::Error> {
    let open = Select { open: true, ..ANY };
    let mut waits = source.relations(Relation::BlockedBy, &open, &open)?;
    waits.retain(|it| is_item(it.from.kind));
    Ok(waits)
}

/// Returns `true` unless the kind is a person or an agent.
fn is_item(kind: Kind) -> bool {
    !matches!(kind, Kind::Agent | Kind::Person)
}

/// Returns tasks at work with their assignees, without blocked ones.
fn active<S: Source>(source: &mut S) -> Result<Vec<Active>, S::Error> {
    let at_work = Select {
        kind: Some(Kind::Task),
        standing: Some(Standing::Active),
        ..ANY
    };
    let blocked: BTreeSet<String> = waits(source)?.into_iter().map(|it| it.from.id).collect();
    let mut found: BTreeMap<String, Active> = BTreeMap::new();
    for task in source.nodes(&at_work)? {
        let assigned = Vec::new();
        found.insert(task.id.clone(), Active { task, assigned });
    }
    // A task is either blocked or at work.
    found.retain(|id, _| !blocked.contains(id));
    for related in source.relations(Relation::AssignedTo, &at_work, &ANY)? {
        if let Some(active) = found.get_mut(&related.from.id) {
            active.assigned.push(related.to);
        }
    }
    let mut all: Vec<Active> = found.into_values().collect();
    for one in &mut all {
        one.assigned.sort();
    }
    Ok(all)
}

/// Returns agents, and people who were ever assigned a task, that have no open
/// task and no status of being busy or away.
fn idle<S: Source>(source: &mut S) -> Result<Vec<Entry>, S::Error> {
    let agents = Select {
        kind: Some(Kind::Agent),
        ..ANY
    };
    let mut all: BTreeMap<String, Entry> = BTreeMap::new();
    for agent in source.nodes(&agents)? {
        all.insert(agent.id.clone(), agent);
    }
    let mut busy = BTreeSet::new();
    for related in source.relations(Relation::AssignedTo, &ANY, &ANY)? {
        if related.from.kind == Kind::Task && related.from.standing.is_open() {
            busy.insert(related.to.id.clone());
        }
        if matches!(related.to.kind, Kind::Person | Kind::Agent) {
            all.insert(related.to.id.clone(), related.to);
        }
    }
    let away = |entry: &Entry| {
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
fn critical_path<S: Source>(source: &mut S) -> Result<CriticalPath, S::Error> {
    let tasks = Select {
        kind: Some(Kind::Task),
        open: true,
        ..ANY
    };
    let mut items: BTreeMap<String, Entry> = BTreeMap::new();
    for task in source.nodes(&tasks)? {
        items.insert(task.id.clone(), task);
    }
    let mut pairs = Vec::new();
    for Related { from, to, .. } in waits(source)? {
        if is_item(to.kind) {
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
    let chain = critical::longest(&weights, &pairs);
    let entries: Vec<&Entry> = items.values().collect();
    let told = |places: &[usize]| places.iter().map(|it| entries[*it].clone()).collect();
    Ok(CriticalPath {
        steps: told(&chain.steps),
        weight: chain.weight,
        rings: chain.rings.iter().map(|ring| told(ring)).collect(),
    })
}

/// Returns completed tasks, the newest first.
fn done<S: Source>(source: &mut S, since: &str) -> Result<Vec<Entry>, S::Error> {
    let mut done = source.nodes(&Select {
        kind: Some(Kind::Task),
        standing: Some(Standing::Done),
        completed_since: Some(since),
        open: false,
    })?;
    done.sort_by(|a, b| b.completed.cmp(&a.completed).then_with(|| a.cmp(b)));
    Ok(done)
}

/// Returns makers by the share of their tasks that was sent back, the highest
/// first.
fn rejections<S: Source>(source: &mut S) -> Result<Vec<Maker>, S::Error> {
    let tasks = Select {
        kind: Some(Kind::Task),
        ..ANY
    };
    let mut makers: BTreeMap<String, Maker> = BTreeMap::new();
    for Related { from, to, .. } in source.relations(Relation::MadeBy, &tasks, &ANY)? {
        let maker = makers.entry(to.id.clone()).or_insert_with(|| Maker {
            maker: to,
            tasks: 0,
            rejected: 0,
            rejections: 0,
        });
        maker.tasks += 1;
        maker.rejected += usize::from(from.rejections > 0);
        maker.rejections += u64::from(from.rejections);
    }
    let mut makers: Vec<Maker> = makers.into_values().collect();
    // Compares the rates as whole numbers: a/b > c/d if a·d > c·b.
    makers.sort_by(|a, b| (b.rejected * a.tasks).cmp(&(a.rejected * b.tasks)));
    Ok(makers)
}

/// Returns what refers to a node, waits for it or is a part of it, what it
/// produced or replaced, and the same of those; at the first step also what the
/// node itself links to.
fn impact<S: Source>(
    source: &mut S,
    id: &str,
    depth: usize,
) -> Result<Option<Vec<Touched>>, S::Error> {
    let Some(start) = source.node(id)? else {
        return Ok(None);
    };
    let mut seen = BTreeSet::from([start.id.clone()]);
    let mut edge = vec![start];
    let mut all = Vec::new();
    for distance in 1..=depth {
        let here: BTreeSet<String> = edge.iter().map(|it| it.id.clone()).collect();
        let mut found: BTreeMap<String, Touched> = BTreeMap::new();
        for Related { from, relation, to } in source.around(&edge)? {
            let onward = match relation {
                Relation::BlockedBy | Relation::PartOf => false,
                Relation::Produced | Relation::Supersedes => true,
                Relation::LinksTo => distance == 1 && here.contains(&from.id),
                // Relations to people and agents are not followed: a person is
                // connected to all of their work.
                _ => continue,
            };
            let (at, next) = if onward { (from, to) } else { (to, from) };
            if !here.contains(&at.id) || seen.contains(&next.id) {
                continue;
            }
            let touched = Touched {
                distance,
                relation,
                from: at.id,
                node: next,
            };
            let key = |it: &Touched| (it.relation, it.from.clone());
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
fn path<S: Source>(source: &mut S, from: &str, to: &str) -> Result<Way, S::Error> {
    let Some(start) = source.node(from)? else {
        return Ok(Way::Unknown(from.to_owned()));
    };
    if source.node(to)?.is_none() {
        return Ok(Way::Unknown(to.to_owned()));
    }
    // Each node with the step that led to it.
    let mut came: HashMap<String, (String, Hop)> = HashMap::new();
    let mut seen = BTreeSet::from([start.id.clone()]);
    let mut edge = vec![start.clone()];
    while !edge.is_empty() && !seen.contains(to) {
        let here: BTreeSet<String> = edge.iter().map(|it| it.id.clone()).collect();
        let mut steps = Vec::new();
        for Related { from, relation, to } in source.around(&edge)? {
            for (at, next, against) in [(&from, &to, false), (&to, &from, true)] {
                if here.contains(&at.id) && !seen.contains(&next.id) {
                    let is_link = relation == Relation::LinksTo;
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
                let hop = Hop {
                    relation,
                    against,
                    to,
                };
                came.insert(hop.to.id.clone(), (at, hop));
            }
        }
    }
    if !seen.contains(to) {
        return Ok(Way::None);
    }
    let mut hops = Vec::new();
    let mut at = to.to_owned();
    while let Some((before, hop)) = came.remove(&at) {
        hops.push(hop);
        at = before;
    }
    hops.reverse();
    let start = Box::new(start);
    Ok(Way::Found { start, hops })
}

impl Select<'_> {
    /// Returns `true` if a node matches all filters that are set.
    pub fn fits(&self, entry: &Entry) -> bool {
        self.kind.is_none_or(|it| it == entry.kind)
            && (!self.open || entry.standing.is_open())
            && self.standing.is_none_or(|it| it == entry.standing)
            && self
                .completed_since
                .is_none_or(|since| entry.completed.as_deref().is_some_and(|it| it >= since))
    }
}

impl Entry {
    /// Returns the summary of a node, without credentials that a name or status
    /// may contain.
    pub fn of(node: &Node) -> Entry {
        Entry {
            id: node.id.clone(),
            name: quote::clean(&node.name).into_owned(),
            kind: node.kind,
            standing: node.standing(),
            status: (node.status.as_deref()).map(|it| quote::clean(it).into_owned()),
            completed: node.work.completed.clone(),
            weight: node.work.weight(),
            rejections: node.work.rejections,
        }
    }
}

/// The graph in memory, with the relations that begin or end at each node.
pub struct Embedded<'g> {
    graph: &'g Graph,
    links: Vec<Link>,
    /// Positions in `links`, for each node.
    touching: Vec<Vec<u32>>,
}

impl<'g> Embedded<'g> {
    /// Indexes the relations of a graph by their ends.
    pub fn new(graph: &'g Graph) -> Embedded<'g> {
        let links = graph.relations();
        let mut touching = vec![Vec::new(); graph.nodes.len()];
        for (at, link) in (0..).zip(&links) {
            touching[link.from as usize].push(at);
            touching[link.to as usize].push(at);
        }
        Embedded {
            graph,
            links,
            touching,
        }
    }

    fn entry(&self, node: u32) -> Entry {
        Entry::of(self.graph.node(node))
    }

    fn related(&self, link: &Link) -> Related {
        Related {
            from: self.entry(link.from),
            relation: link.relation,
            to: self.entry(link.to),
        }
    }
}

impl Source for Embedded<'_> {
    type Error = std::convert::Infallible;

    fn node(&mut self, id: &str) -> Result<Option<Entry>, Self::Error> {
        Ok(self.graph.position(id).map(|it| self.entry(it)))
    }

    fn nodes(&mut self, select: &Select<'_>) -> Result<Vec<Entry>, Self::Error> {
        let all = self.graph.nodes.iter().map(Entry::of);
        Ok(all.filter(|it| select.fits(it)).collect())
    }

    fn relations(
        &mut self,
        relation: Relation,
        from: &Select<'_>,
        to: &Select<'_>,
    ) -> Result<Vec<Related>, Self::Error> {
        let of_it = self.links.iter().filter(|it| it.relation == relation);
        let all = of_it.map(|link| self.related(link));
        Ok(all
            .filter(|it| from.fits(&it.from) && to.fits(&it.to))
            .collect())
    }

    fn around(&mut self, nodes: &[Entry]) -> Result<Vec<Related>, Self::Error> {
        let places = nodes.iter().filter_map(|it| self.graph.position(&it.id));
        let links: BTreeSet<u32> = places
            .flat_map(|it| self.touching[it as usize].iter().copied())
            .collect();
        let links = links.into_iter().map(|it| &self.links[it as usize]);
        Ok(links.map(|link| self.related(link)).collect())
    }
}

#[cfg(test)]
mod tests;
