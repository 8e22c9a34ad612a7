//! Pushes the graph of a workspace to the server: the differences from what is
//! there, and nothing else.
//!
//! A push compares with the nodes themselves, so the next one completes an
//! interrupted push. It takes a number when it begins and marks the graph as
//! complete at its end, if no other push began in between.

use std::collections::{BTreeMap, HashMap};

use forge_memory::graph::{Graph, Kind, Relation};
use forge_memory::wire::GraphPushReport;
use forge_text::quote;
use neo4rs::BoltType;

use super::{Error, Scope, Server, column, list, map};

/// Format version of the nodes. A server with a higher one is left alone.
const FORMAT: i64 = 1;

/// Attempts of a push that others overtake.
const ATTEMPTS: usize = 10;

/// Rows of one message.
const BATCH: usize = 500;

/// State of the last push, as the server has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    pub complete: bool,
    pub digest: String,
    pub nodes: i64,
    pub relations: i64,
    pub at: String,
}

/// A node as it is written.
struct Record {
    key: String,
    kind: Kind,
    hash: String,
    properties: Vec<(&'static str, BoltType)>,
}

/// A relation by the keys of its nodes.
type Triple = (String, Relation, String);

/// Returns the hash of all that a push of this graph would write.
pub fn digest(graph: &Graph, scope: &Scope) -> String {
    let (records, triples) = projected(graph, scope);
    sum(&records, &triples)
}

/// Hashes nodes and relations.
fn sum(records: &[Record], triples: &[Triple]) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&FORMAT.to_le_bytes());
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
fn projected(graph: &Graph, scope: &Scope) -> (Vec<Record>, Vec<Triple>) {
    let graph = graph.shared();
    let text = |text: &str| BoltType::from(quote::clean(text).into_owned());
    let some = |value: Option<&str>| value.map_or_else(|| BoltType::from(None::<String>), text);
    let mut records: Vec<Record> = Vec::with_capacity(graph.nodes.len());
    for node in &graph.nodes {
        let (work, standing) = (&node.work, node.standing());
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
        let hash = blake3::hash(format!("{FORMAT}{properties:?}").as_bytes());
        records.push(Record {
            key: scope.key(&node.id),
            kind: node.kind,
            hash: hash.to_hex()[..32].to_owned(),
            properties,
        });
    }
    let keys: Vec<String> = records.iter().map(|it| it.key.clone()).collect();
    let mut triples: Vec<Triple> = graph
        .relations()
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

impl Server {
    /// Pushes the graph. `at` is the time, for people; `force` compares even if
    /// the server has the same hash.
    ///
    /// A push that was overtaken begins again, so that the last one to end has
    /// seen everything that the others wrote.
    pub fn push(&mut self, graph: &Graph, at: &str, force: bool) -> Result<GraphPushReport, Error> {
        for attempt in 0..ATTEMPTS {
            // A repeated push compares the nodes even if the hash is the same:
            // the other push may have written in between.
            match self.push_once(graph, at, force || attempt > 0) {
                Err(Error::Overtaken) => {}
                outcome => return outcome,
            }
        }
        Err(Error::Overtaken)
    }

    /// Pushes once. Fails if another push begins in between.
    fn push_once(
        &mut self,
        graph: &Graph,
        at: &str,
        force: bool,
    ) -> Result<GraphPushReport, Error> {
        let (records, triples) = projected(graph, &self.scope);
        let digest = sum(&records, &triples);
        let mut pushed = GraphPushReport {
            nodes: records.len(),
            relations: triples.len(),
            ..GraphPushReport::default()
        };
        if let Some(there) = self.standing()?
            && there.complete
            && there.digest == digest
            && !force
        {
            return Ok(pushed);
        }
        self.prepare()?;
        let generation = self.begin()?;
        let (nodes, relations) = (self.nodes_there()?, self.relations_there()?);

        // A node that changed its kind is another node.
        let kinds: HashMap<&str, Kind> = records
            .iter()
            .map(|it| (it.key.as_str(), it.kind))
            .collect();
        // A node with another kind has another label, so it is removed and
        // written as a new one.
        let stays = |key: &str| {
            let there = nodes.get(key).map(|(kind, _)| *kind);
            there.is_some() && there == kinds.get(key).copied()
        };
        let gone: Vec<(Kind, BoltType)> = nodes
            .iter()
            .filter(|(key, _)| !stays(key))
            .map(|(key, (kind, _))| (*kind, key.as_str().into()))
            .collect();
        pushed.removed += gone.len();
        for (kind, keys) in batches(gone) {
            let kind = kind.name();
            self.write(
                self.query(&format!(
                    "UNWIND $keys AS key \
                     MATCH (n:{kind} {{forge_key: key, tenant: $tenant, workspace: $workspace}}) \
                     DETACH DELETE n"
                ))
                .param("keys", list(keys)),
            )?;
        }

        let differs = |record: &&Record| {
            let there = nodes.get(&record.key);
            !there.is_some_and(|(kind, hash)| *kind == record.kind && *hash == record.hash)
        };
        let new: Vec<(Kind, BoltType)> = records
            .iter()
            .filter(differs)
            .map(|record| (record.kind, self.row(record)))
            .collect();
        pushed.written += new.len();
        for (kind, rows) in batches(new) {
            let kind = kind.name();
            self.write(
                self.query(&format!(
                    "UNWIND $rows AS row \
                     MERGE (n:{kind} {{forge_key: row.key}}) SET n += row.properties"
                ))
                .param("rows", list(rows)),
            )?;
        }
        self.relate(&relations, &triples, &kinds, &stays, &mut pushed)?;
        self.finish(generation, &digest, &pushed, at)?;
        Ok(pushed)
    }

    /// Removes relations that are gone, and adds new ones.
    fn relate(
        &self,
        there: &BTreeMap<Triple, usize>,
        triples: &[Triple],
        kinds: &HashMap<&str, Kind>,
        stays: &dyn Fn(&str) -> bool,
        pushed: &mut GraphPushReport,
    ) -> Result<(), Error> {
        type Group = (Kind, Relation, Kind);
        let wanted = |triple: &Triple| triples.binary_search(triple).is_ok();
        let row = |(from, _, to): &Triple| {
            map([("from", from.as_str().into()), ("to", to.as_str().into())])
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
        for ((from, relation, to), rows) in batches(old) {
            let (from, relation, to) = (from.name(), relation.name(), to.name());
            self.write(
                self.query(&format!(
                    "UNWIND $rows AS row \
                     MATCH (a:{from} {{forge_key: row.from, tenant: $tenant, workspace: $workspace}})\
                     -[r:{relation} {{tenant: $tenant, workspace: $workspace}}]->\
                     (b:{to} {{forge_key: row.to, tenant: $tenant, workspace: $workspace}}) \
                     DELETE r"
                ))
                .param("rows", list(rows)),
            )?;
        }
        for ((from, relation, to), rows) in batches(new) {
            let (from, relation, to) = (from.name(), relation.name(), to.name());
            self.write(
                self.query(&format!(
                    "UNWIND $rows AS row \
                     MATCH (a:{from} {{forge_key: row.from, tenant: $tenant, workspace: $workspace}}) \
                     MATCH (b:{to} {{forge_key: row.to, tenant: $tenant, workspace: $workspace}}) \
                     MERGE (a)-[r:{relation} {{tenant: $tenant, workspace: $workspace}}]->(b)"
                ))
                .param("rows", list(rows)),
            )?;
        }
        Ok(())
    }

    /// Returns the parameters that write a node.
    fn row(&self, record: &Record) -> BoltType {
        let mut properties = match map([
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
        map([
            ("key", record.key.as_str().into()),
            ("properties", BoltType::Map(properties)),
        ])
    }

    /// Returns the state of the last push; `None` without one.
    pub fn standing(&mut self) -> Result<Option<Standing>, Error> {
        let rows = self.read(
            self.query(
                "MATCH (p:ForgePush {forge_key: $key, tenant: $tenant, workspace: $workspace}) \
                 RETURN p.format AS format, p.complete AS complete, p.digest AS digest, \
                 p.nodes AS nodes, p.relations AS relations, p.at AS at",
            )
            .param("key", self.scope.key("")),
        )?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        let found: i64 = column(row, "format")?;
        if found > FORMAT {
            return Err(Error::Newer {
                found,
                known: FORMAT,
            });
        }
        let number = |name| column::<Option<i64>>(row, name).map(Option::unwrap_or_default);
        let text = |name| column::<Option<String>>(row, name).map(Option::unwrap_or_default);
        Ok(Some(Standing {
            complete: column::<Option<bool>>(row, "complete")?.unwrap_or(false),
            digest: text("digest")?,
            nodes: number("nodes")?,
            relations: number("relations")?,
            at: text("at")?,
        }))
    }

    /// Creates constraints and indexes that are missing.
    fn prepare(&self) -> Result<(), Error> {
        let labels = Kind::ALL.map(Kind::name).into_iter().chain(["ForgePush"]);
        for label in labels {
            let name = label.to_lowercase();
            self.schema(&format!(
                "CREATE CONSTRAINT forge_{name}_key IF NOT EXISTS \
                 FOR (n:{label}) REQUIRE n.forge_key IS UNIQUE"
            ))?;
            self.schema(&format!(
                "CREATE INDEX forge_{name}_scope IF NOT EXISTS \
                 FOR (n:{label}) ON (n.tenant, n.workspace)"
            ))?;
        }
        Ok(())
    }

    /// Runs a statement that changes the schema. `IF NOT EXISTS` can fail when
    /// another push creates the same at the same moment; the next attempt finds
    /// theirs.
    fn schema(&self, statement: &str) -> Result<(), Error> {
        let mut outcome = Ok(());
        for _ in 0..3 {
            outcome = self.write(neo4rs::query(statement)).map(|_| ());
            match &outcome {
                Ok(()) => break,
                Err(Error::Server(why)) if why.contains("AlreadyExists") => return Ok(()),
                Err(_) => {}
            }
        }
        outcome
    }

    /// Begins a push and returns its number.
    fn begin(&self) -> Result<i64, Error> {
        let rows = self.write(
            self.query(
                "MERGE (p:ForgePush {forge_key: $key}) \
                 ON CREATE SET p.tenant = $tenant, p.workspace = $workspace, p.generation = 1 \
                 ON MATCH SET p.generation = p.generation + 1 \
                 SET p.complete = false, p.format = $format RETURN p.generation AS generation",
            )
            .param("key", self.scope.key(""))
            .param("format", FORMAT),
        )?;
        let row = rows
            .first()
            .ok_or_else(|| Error::Server("it gave a push no number".to_owned()))?;
        column(row, "generation")
    }

    /// Marks the push as complete. Fails if another one has begun.
    fn finish(
        &self,
        generation: i64,
        digest: &str,
        pushed: &GraphPushReport,
        at: &str,
    ) -> Result<(), Error> {
        let rows = self.write(
            self.query(
                "MATCH (p:ForgePush {forge_key: $key, tenant: $tenant, workspace: $workspace}) \
                 WHERE p.generation = $generation \
                 SET p.complete = true, p.digest = $digest, p.nodes = $nodes, \
                 p.relations = $relations, p.at = $at RETURN p.generation AS generation",
            )
            .param("key", self.scope.key(""))
            .param("generation", generation)
            .param("digest", digest)
            .param("nodes", pushed.nodes as i64)
            .param("relations", pushed.relations as i64)
            .param("at", at),
        )?;
        // No row matches once another push has taken the next number.
        if rows.is_empty() {
            Err(Error::Overtaken)
        } else {
            Ok(())
        }
    }

    /// Reads the keys of all nodes, each with its kind and hash.
    fn nodes_there(&self) -> Result<BTreeMap<String, (Kind, String)>, Error> {
        let mut there = BTreeMap::new();
        for kind in Kind::ALL {
            let rows = self.read(self.query(&format!(
                "MATCH (n:{} {{tenant: $tenant, workspace: $workspace}}) \
                 RETURN n.forge_key AS key, n.hash AS hash",
                kind.name()
            )))?;
            for row in rows {
                let hash: Option<String> = column(&row, "hash")?;
                there.insert(column(&row, "key")?, (kind, hash.unwrap_or_default()));
            }
        }
        Ok(there)
    }

    /// Reads all relations, and how often each exists.
    fn relations_there(&self) -> Result<BTreeMap<Triple, usize>, Error> {
        let mut there = BTreeMap::new();
        for kind in Kind::ALL {
            let rows = self.read(self.query(&format!(
                "MATCH (a:{} {{tenant: $tenant, workspace: $workspace}})-[r]->\
                 (b {{tenant: $tenant, workspace: $workspace}}) \
                 WHERE r.tenant = $tenant AND r.workspace = $workspace \
                 RETURN a.forge_key AS from, type(r) AS relation, b.forge_key AS to",
                kind.name()
            )))?;
            for row in rows {
                let name: String = column(&row, "relation")?;
                if let Some(relation) = Relation::of(&name) {
                    let triple = (column(&row, "from")?, relation, column(&row, "to")?);
                    *there.entry(triple).or_default() += 1;
                }
            }
        }
        Ok(there)
    }

    /// Removes everything of this workspace and returns the number of nodes.
    pub fn drop_all(&mut self) -> Result<usize, Error> {
        let mut removed = 0;
        for label in Kind::ALL.map(Kind::name).into_iter().chain(["ForgePush"]) {
            loop {
                let rows = self.read(self.query(&format!(
                    "MATCH (n:{label} {{tenant: $tenant, workspace: $workspace}}) \
                     RETURN n.forge_key AS key LIMIT {BATCH}"
                )))?;
                if rows.is_empty() {
                    break;
                }
                let keys: Result<Vec<BoltType>, Error> = rows
                    .iter()
                    .map(|row| column::<String>(row, "key").map(BoltType::from))
                    .collect();
                let keys = keys?;
                removed += if label == "ForgePush" { 0 } else { keys.len() };
                self.write(
                    self.query(&format!(
                        "UNWIND $keys AS key MATCH (n:{label} \
                         {{forge_key: key, tenant: $tenant, workspace: $workspace}}) \
                         DETACH DELETE n"
                    ))
                    .param("keys", list(keys)),
                )?;
            }
        }
        Ok(removed)
    }
}

/// Groups rows, in batches that fit a message.
fn batches<G: Ord + Copy>(rows: Vec<(G, BoltType)>) -> Vec<(G, Vec<BoltType>)> {
    let mut groups: BTreeMap<G, Vec<BoltType>> = BTreeMap::new();
    for (group, row) in rows {
        groups.entry(group).or_default().push(row);
    }
    let mut batches = Vec::new();
    for (group, rows) in groups {
        for batch in rows.chunks(BATCH) {
            batches.push((group, batch.to_vec()));
        }
    }
    batches
}
