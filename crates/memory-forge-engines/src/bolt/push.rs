//! Pushes the graph of a workspace to the server: the differences from what is
//! there, and nothing else.
//!
//! A push compares with the nodes themselves, so the next one completes an
//! interrupted push. It takes a number when it begins and marks the graph as
//! complete at its end, if no other push began in between.

use std::collections::{BTreeMap, HashMap};

use forge_memory::graph::{GraphRelation, NodeKind, WorkspaceGraph};
use forge_memory::wire::GraphPushReport;
use forge_text::quote;
use neo4rs::BoltType;

use super::{BoltError, BoltGraph, NodeScope, bolt_list, bolt_map, read_column};

/// Format version of the nodes. A server with a higher one is left alone.
const GRAPH_FORMAT: i64 = 1;

/// Attempts of a push that others overtake.
const MAX_PUSH_ATTEMPTS: usize = 10;

/// Rows of one message.
const MAX_BATCH_ROWS: usize = 500;

/// State of the last push, as the server has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphPushState {
    pub complete: bool,
    pub digest: String,
    pub nodes: i64,
    pub relations: i64,
    pub at: String,
}

/// A node as it is written.
struct NodeRecord {
    key: String,
    kind: NodeKind,
    hash: String,
    properties: Vec<(&'static str, BoltType)>,
}

/// A relation by the keys of its nodes.
type RelationTriple = (String, GraphRelation, String);

/// Returns the hash of all that a push of this graph would write.
pub fn compute_digest(graph: &WorkspaceGraph, scope: &NodeScope) -> String {
    let (records, triples) = project_graph(graph, scope);
    digest_records(&records, &triples)
}

/// Hashes nodes and relations.
fn digest_records(records: &[NodeRecord], triples: &[RelationTriple]) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&GRAPH_FORMAT.to_le_bytes());
    let mut add = |text: &str| {
        // The length separates the texts: otherwise `ab`, `c` and `a`, `bc`
        // would have the same hash.
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    };
    for record in records {
        add(&record.key);
        add(&record.hash);
    }
    for (from, relation, to) in triples {
        add(from);
        add(relation.name());
        add(to);
    }
    hasher.finalize().to_hex().to_string()
}

/// Returns nodes and relations in the order of their keys, without private
/// notes, and with credentials redacted.
fn project_graph(
    graph: &WorkspaceGraph,
    scope: &NodeScope,
) -> (Vec<NodeRecord>, Vec<RelationTriple>) {
    let graph = graph.shared_part();
    let text = |text: &str| BoltType::from(quote::sanitize_text(text).into_owned());
    let some = |value: Option<&str>| value.map_or_else(|| BoltType::from(None::<String>), text);
    let mut records: Vec<NodeRecord> = Vec::with_capacity(graph.nodes.len());
    for node in &graph.nodes {
        let (work, standing) = (&node.work, node.work_standing());
        let properties = vec![
            ("id", node.id.as_str().into()),
            ("name", text(&node.name)),
            ("kind", node.kind.name().into()),
            ("title", some(node.title.as_deref())),
            ("type", some(node.type_name.as_deref())),
            ("status", some(node.status.as_deref())),
            ("date", some(node.date.as_deref())),
            ("path", some(node.path.as_ref().map(|it| it.as_str()))),
            ("standing", standing.name().into()),
            ("open", standing.is_open().into()),
            ("priority", some(work.priority.as_deref())),
            ("phase", some(work.phase.as_deref())),
            ("completed", some(work.completed.as_deref())),
            ("weight", i64::from(work.weight()).into()),
            ("rejections", i64::from(work.rejections).into()),
        ];
        // The format is a part of the hash, so that a new one writes every node
        // again.
        let hash = blake3::hash(format!("{GRAPH_FORMAT}{properties:?}").as_bytes());
        records.push(NodeRecord {
            key: scope.node_key(&node.id),
            kind: node.kind,
            hash: hash.to_hex()[..32].to_owned(),
            properties,
        });
    }
    let keys: Vec<String> = records.iter().map(|it| it.key.clone()).collect();
    let mut triples: Vec<RelationTriple> = graph
        .list_relations()
        .into_iter()
        .map(|link| {
            let (from, to) = (link.from as usize, link.to as usize);
            (keys[from].clone(), link.relation, keys[to].clone())
        })
        .collect();
    records.sort_by(|a, b| a.key.cmp(&b.key));
    records.dedup_by(|a, b| a.key == b.key);
    triples.sort();
    triples.dedup();
    (records, triples)
}

impl BoltGraph {
    /// Pushes the graph. `at` is the time, for people; `force` compares even if
    /// the server has the same hash.
    ///
    /// A push that was overtaken begins again, so that the last one to end has
    /// seen everything that the others wrote.
    pub fn push_graph(
        &mut self,
        graph: &WorkspaceGraph,
        at: &str,
        force: bool,
    ) -> Result<GraphPushReport, BoltError> {
        for attempt in 0..MAX_PUSH_ATTEMPTS {
            // A repeated push compares the nodes even if the hash is the same:
            // the other push may have written in between.
            match self.push_once(graph, at, force || attempt > 0) {
                Err(BoltError::Overtaken) => {}
                outcome => return outcome,
            }
        }
        Err(BoltError::Overtaken)
    }

    /// Pushes once. Fails if another push begins in between.
    fn push_once(
        &mut self,
        graph: &WorkspaceGraph,
        at: &str,
        force: bool,
    ) -> Result<GraphPushReport, BoltError> {
        let (records, triples) = project_graph(graph, &self.scope);
        let digest = digest_records(&records, &triples);
        let mut pushed = GraphPushReport {
            nodes: records.len(),
            relations: triples.len(),
            ..GraphPushReport::default()
        };
        if let Some(there) = self.read_push_state()?
            && there.complete
            && there.digest == digest
            && !force
        {
            return Ok(pushed);
        }
        self.prepare_schema()?;
        let generation = self.begin_push()?;
        let (nodes, relations) = (self.read_nodes()?, self.read_relations()?);

        // A node that changed its kind is another node.
        let kinds: HashMap<&str, NodeKind> = records
            .iter()
            .map(|it| (it.key.as_str(), it.kind))
            .collect();
        // A node with another kind has another label, so it is removed and
        // written as a new one.
        let stays = |key: &str| {
            let there = nodes.get(key).map(|(kind, _)| *kind);
            there.is_some() && there == kinds.get(key).copied()
        };
        let gone: Vec<(NodeKind, BoltType)> = nodes
            .iter()
            .filter(|(key, _)| !stays(key))
            .map(|(key, (kind, _))| (*kind, key.as_str().into()))
            .collect();
        pushed.removed += gone.len();
        for (kind, keys) in group_batches(gone) {
            let kind = kind.name();
            self.write_rows(
                self.scoped_query(&format!(
                    "UNWIND $keys AS key \
                     MATCH (n:{kind} {{forge_key: key, tenant: $tenant, workspace: $workspace}}) \
                     DETACH DELETE n"
                ))
                .param("keys", bolt_list(keys)),
            )?;
        }

        let differs = |record: &&NodeRecord| {
            let there = nodes.get(&record.key);
            !there.is_some_and(|(kind, hash)| *kind == record.kind && *hash == record.hash)
        };
        let new: Vec<(NodeKind, BoltType)> = records
            .iter()
            .filter(differs)
            .map(|record| (record.kind, self.node_row(record)))
            .collect();
        pushed.written += new.len();
        for (kind, rows) in group_batches(new) {
            let kind = kind.name();
            self.write_rows(
                self.scoped_query(&format!(
                    "UNWIND $rows AS row \
                     MERGE (n:{kind} {{forge_key: row.key}}) SET n += row.properties"
                ))
                .param("rows", bolt_list(rows)),
            )?;
        }
        self.push_relations(&relations, &triples, &kinds, &stays, &mut pushed)?;
        self.finish_push(generation, &digest, &pushed, at)?;
        Ok(pushed)
    }

    /// Removes relations that are gone, and adds new ones.
    fn push_relations(
        &self,
        there: &BTreeMap<RelationTriple, usize>,
        triples: &[RelationTriple],
        kinds: &HashMap<&str, NodeKind>,
        stays: &dyn Fn(&str) -> bool,
        pushed: &mut GraphPushReport,
    ) -> Result<(), BoltError> {
        type Group = (NodeKind, GraphRelation, NodeKind);
        let wanted = |triple: &RelationTriple| triples.binary_search(triple).is_ok();
        let row = |(from, _, to): &RelationTriple| {
            bolt_map([("from", from.as_str().into()), ("to", to.as_str().into())])
        };
        // A removed node has taken its relations with it. A duplicate relation,
        // which some servers allow, is removed and written once.
        let old: Vec<(Group, BoltType)> = there
            .keys()
            .filter(|it| stays(&it.0) && stays(&it.2) && !(wanted(it) && there[*it] == 1))
            .map(|it| {
                let group = (kinds[it.0.as_str()], it.1, kinds[it.2.as_str()]);
                (group, row(it))
            })
            .collect();
        let new: Vec<(Group, BoltType)> = triples
            .iter()
            .filter(|it| !(stays(&it.0) && stays(&it.2) && there.get(*it) == Some(&1)))
            .map(|it| {
                let group = (kinds[it.0.as_str()], it.1, kinds[it.2.as_str()]);
                (group, row(it))
            })
            .collect();
        pushed.removed += old.len();
        pushed.written += new.len();
        for ((from, relation, to), rows) in group_batches(old) {
            let (from, relation, to) = (from.name(), relation.name(), to.name());
            self.write_rows(
                self.scoped_query(&format!(
                    "UNWIND $rows AS row \
                     MATCH (a:{from} {{forge_key: row.from, tenant: $tenant, workspace: $workspace}})\
                     -[r:{relation} {{tenant: $tenant, workspace: $workspace}}]->\
                     (b:{to} {{forge_key: row.to, tenant: $tenant, workspace: $workspace}}) \
                     DELETE r"
                ))
                .param("rows", bolt_list(rows)),
            )?;
        }
        for ((from, relation, to), rows) in group_batches(new) {
            let (from, relation, to) = (from.name(), relation.name(), to.name());
            self.write_rows(
                self.scoped_query(&format!(
                    "UNWIND $rows AS row \
                     MATCH (a:{from} {{forge_key: row.from, tenant: $tenant, workspace: $workspace}}) \
                     MATCH (b:{to} {{forge_key: row.to, tenant: $tenant, workspace: $workspace}}) \
                     MERGE (a)-[r:{relation} {{tenant: $tenant, workspace: $workspace}}]->(b)"
                ))
                .param("rows", bolt_list(rows)),
            )?;
        }
        Ok(())
    }

    /// Returns the parameters that write a node.
    fn node_row(&self, record: &NodeRecord) -> BoltType {
        let mut properties = match bolt_map([
            ("forge_key", record.key.as_str().into()),
            ("tenant", self.scope.tenant.as_str().into()),
            ("workspace", self.scope.workspace.as_str().into()),
            ("hash", record.hash.as_str().into()),
        ]) {
            BoltType::Map(map) => map,
            _ => unreachable!("`map` makes maps"),
        };
        for (name, value) in &record.properties {
            properties.put((*name).into(), value.clone());
        }
        bolt_map([
            ("key", record.key.as_str().into()),
            ("properties", BoltType::Map(properties)),
        ])
    }

    /// Returns the state of the last push; `None` without one.
    pub fn read_push_state(&mut self) -> Result<Option<GraphPushState>, BoltError> {
        let rows = self.read_rows(
            self.scoped_query(
                "MATCH (p:ForgePush {forge_key: $key, tenant: $tenant, workspace: $workspace}) \
                 RETURN p.format AS format, p.complete AS complete, p.digest AS digest, \
                 p.nodes AS nodes, p.relations AS relations, p.at AS at",
            )
            .param("key", self.scope.node_key("")),
        )?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        let found: i64 = read_column(row, "format")?;
        if found > GRAPH_FORMAT {
            return Err(BoltError::Newer {
                found,
                known: GRAPH_FORMAT,
            });
        }
        let number = |name| read_column::<Option<i64>>(row, name).map(Option::unwrap_or_default);
        let text = |name| read_column::<Option<String>>(row, name).map(Option::unwrap_or_default);
        Ok(Some(GraphPushState {
            complete: read_column::<Option<bool>>(row, "complete")?.unwrap_or(false),
            digest: text("digest")?,
            nodes: number("nodes")?,
            relations: number("relations")?,
            at: text("at")?,
        }))
    }

    /// Creates constraints and indexes that are missing.
    fn prepare_schema(&self) -> Result<(), BoltError> {
        let labels = NodeKind::ALL
            .map(NodeKind::name)
            .into_iter()
            .chain(["ForgePush"]);
        for label in labels {
            let name = label.to_lowercase();
            self.run_schema_statement(&format!(
                "CREATE CONSTRAINT forge_{name}_key IF NOT EXISTS \
                 FOR (n:{label}) REQUIRE n.forge_key IS UNIQUE"
            ))?;
            self.run_schema_statement(&format!(
                "CREATE INDEX forge_{name}_scope IF NOT EXISTS \
                 FOR (n:{label}) ON (n.tenant, n.workspace)"
            ))?;
        }
        Ok(())
    }

    /// Runs a statement that changes the schema. `IF NOT EXISTS` can fail when
    /// another push creates the same at the same moment; the next attempt finds
    /// theirs.
    fn run_schema_statement(&self, statement: &str) -> Result<(), BoltError> {
        let mut outcome = Ok(());
        for _ in 0..3 {
            outcome = self.write_rows(neo4rs::query(statement)).map(|_| ());
            match &outcome {
                Ok(()) => break,
                Err(BoltError::Server(why)) if why.contains("AlreadyExists") => return Ok(()),
                Err(_) => {}
            }
        }
        outcome
    }

    /// Begins a push and returns its number.
    fn begin_push(&self) -> Result<i64, BoltError> {
        let rows = self.write_rows(
            self.scoped_query(
                "MERGE (p:ForgePush {forge_key: $key}) \
                 ON CREATE SET p.tenant = $tenant, p.workspace = $workspace, p.generation = 1 \
                 ON MATCH SET p.generation = p.generation + 1 \
                 SET p.complete = false, p.format = $format RETURN p.generation AS generation",
            )
            .param("key", self.scope.node_key(""))
            .param("format", GRAPH_FORMAT),
        )?;
        let row = rows.first().ok_or_else(|| {
            BoltError::Server("the server returned no number for the push".to_owned())
        })?;
        read_column(row, "generation")
    }

    /// Marks the push as complete. Fails if another one has begun.
    fn finish_push(
        &self,
        generation: i64,
        digest: &str,
        pushed: &GraphPushReport,
        at: &str,
    ) -> Result<(), BoltError> {
        let rows = self.write_rows(
            self.scoped_query(
                "MATCH (p:ForgePush {forge_key: $key, tenant: $tenant, workspace: $workspace}) \
                 WHERE p.generation = $generation \
                 SET p.complete = true, p.digest = $digest, p.nodes = $nodes, \
                 p.relations = $relations, p.at = $at RETURN p.generation AS generation",
            )
            .param("key", self.scope.node_key(""))
            .param("generation", generation)
            .param("digest", digest)
            .param("nodes", pushed.nodes as i64)
            .param("relations", pushed.relations as i64)
            .param("at", at),
        )?;
        // No row matches once another push has taken the next number.
        if rows.is_empty() {
            Err(BoltError::Overtaken)
        } else {
            Ok(())
        }
    }

    /// Reads the keys of all nodes, each with its kind and hash.
    fn read_nodes(&self) -> Result<BTreeMap<String, (NodeKind, String)>, BoltError> {
        let mut there = BTreeMap::new();
        for kind in NodeKind::ALL {
            let rows = self.read_rows(self.scoped_query(&format!(
                "MATCH (n:{} {{tenant: $tenant, workspace: $workspace}}) \
                 RETURN n.forge_key AS key, n.hash AS hash",
                kind.name()
            )))?;
            for row in rows {
                let hash: Option<String> = read_column(&row, "hash")?;
                there.insert(read_column(&row, "key")?, (kind, hash.unwrap_or_default()));
            }
        }
        Ok(there)
    }

    /// Reads all relations, and how often each exists.
    fn read_relations(&self) -> Result<BTreeMap<RelationTriple, usize>, BoltError> {
        let mut there = BTreeMap::new();
        for kind in NodeKind::ALL {
            let rows = self.read_rows(self.scoped_query(&format!(
                "MATCH (a:{} {{tenant: $tenant, workspace: $workspace}})-[r]->\
                 (b {{tenant: $tenant, workspace: $workspace}}) \
                 WHERE r.tenant = $tenant AND r.workspace = $workspace \
                 RETURN a.forge_key AS from, type(r) AS relation, b.forge_key AS to",
                kind.name()
            )))?;
            for row in rows {
                let name: String = read_column(&row, "relation")?;
                if let Some(relation) = GraphRelation::from_name(&name) {
                    let triple = (
                        read_column(&row, "from")?,
                        relation,
                        read_column(&row, "to")?,
                    );
                    *there.entry(triple).or_default() += 1;
                }
            }
        }
        Ok(there)
    }

    /// Removes everything of this workspace and returns the number of nodes.
    pub fn drop_workspace(&mut self) -> Result<usize, BoltError> {
        let mut removed = 0;
        for label in NodeKind::ALL
            .map(NodeKind::name)
            .into_iter()
            .chain(["ForgePush"])
        {
            loop {
                let rows = self.read_rows(self.scoped_query(&format!(
                    "MATCH (n:{label} {{tenant: $tenant, workspace: $workspace}}) \
                     RETURN n.forge_key AS key LIMIT {MAX_BATCH_ROWS}"
                )))?;
                if rows.is_empty() {
                    break;
                }
                let keys: Result<Vec<BoltType>, BoltError> = rows
                    .iter()
                    .map(|row| read_column::<String>(row, "key").map(BoltType::from))
                    .collect();
                let keys = keys?;
                removed += if label == "ForgePush" { 0 } else { keys.len() };
                self.write_rows(
                    self.scoped_query(&format!(
                        "UNWIND $keys AS key MATCH (n:{label} \
                         {{forge_key: key, tenant: $tenant, workspace: $workspace}}) \
                         DETACH DELETE n"
                    ))
                    .param("keys", bolt_list(keys)),
                )?;
            }
        }
        Ok(removed)
    }
}

/// Groups rows, in batches that fit a message.
fn group_batches<G: Ord + Copy>(rows: Vec<(G, BoltType)>) -> Vec<(G, Vec<BoltType>)> {
    let mut groups: BTreeMap<G, Vec<BoltType>> = BTreeMap::new();
    for (group, row) in rows {
        groups.entry(group).or_default().push(row);
    }
    let mut batches = Vec::new();
    for (group, rows) in groups {
        for batch in rows.chunks(MAX_BATCH_ROWS) {
            batches.push((group, batch.to_vec()));
        }
    }
    batches
}
