//! Implements [`Source`] for a server, for the predefined questions: it
//! selects, and the answer is made from that by the same code as for the
//! embedded graph.

use std::collections::BTreeMap;

use forge_memory::graph::ask::{Entry, Related, Select, Source};
use forge_memory::graph::{Kind, Relation, Standing};
use neo4rs::{BoltType, Query, Row};

use super::{Error, Server, column, list};

/// Nodes of one query.
const BATCH: usize = 500;

impl Source for Server {
    type Error = Error;

    fn node(&mut self, id: &str) -> Result<Option<Entry>, Error> {
        for kind in Kind::ALL {
            let query = format!(
                "MATCH (n:{} {{forge_key: $key, tenant: $tenant, workspace: $workspace}}) \
                 RETURN {}",
                kind.name(),
                columns("n")
            );
            let query = self.query(&query).param("key", self.scope.key(id));
            if let Some(row) = self.read(query)?.first() {
                return entry(row, "n").map(Some);
            }
        }
        Ok(None)
    }

    fn nodes(&mut self, select: &Select<'_>) -> Result<Vec<Entry>, Error> {
        let mut found = Vec::new();
        for kind in kinds(select) {
            let query = self.query(&format!(
                "MATCH (n:{} {{tenant: $tenant, workspace: $workspace}}) WHERE {} RETURN {}",
                kind.name(),
                condition("n", select),
                columns("n")
            ));
            for row in self.read(given(query, "n", select))? {
                found.push(entry(&row, "n")?);
            }
        }
        Ok(found)
    }

    fn relations(
        &mut self,
        relation: Relation,
        from: &Select<'_>,
        to: &Select<'_>,
    ) -> Result<Vec<Related>, Error> {
        let mut found = Vec::new();
        for kind in kinds(from) {
            let label = to.kind.map(|it| format!(":{}", it.name()));
            let query = self.query(&format!(
                "MATCH (a:{} {{tenant: $tenant, workspace: $workspace}})\
                 -[r:{} {{tenant: $tenant, workspace: $workspace}}]->\
                 (b{} {{tenant: $tenant, workspace: $workspace}}) \
                 WHERE {} AND {} RETURN {}, {}",
                kind.name(),
                relation.name(),
                label.unwrap_or_default(),
                condition("a", from),
                condition("b", to),
                columns("a"),
                columns("b"),
            ));
            let query = given(given(query, "a", from), "b", to);
            for row in self.read(query)? {
                found.push(Related {
                    from: entry(&row, "a")?,
                    relation,
                    to: entry(&row, "b")?,
                });
            }
        }
        Ok(found)
    }

    fn around(&mut self, nodes: &[Entry]) -> Result<Vec<Related>, Error> {
        let mut by_kind: BTreeMap<Kind, Vec<String>> = BTreeMap::new();
        for node in nodes {
            let key = self.scope.key(&node.id);
            by_kind.entry(node.kind).or_default().push(key);
        }
        let mut found = Vec::new();
        for (kind, keys) in by_kind {
            for batch in keys.chunks(BATCH) {
                for (left, right) in [("-", "->"), ("<-", "-")] {
                    let keys = batch.iter().map(|it| BoltType::from(it.as_str()));
                    let query = format!(
                        "UNWIND $keys AS key \
                         MATCH (n:{} {{forge_key: key, tenant: $tenant, workspace: $workspace}})\
                         {left}[r]{right}(m {{tenant: $tenant, workspace: $workspace}}) \
                         WHERE r.tenant = $tenant AND r.workspace = $workspace \
                         RETURN type(r) AS relation, {}, {}",
                        kind.name(),
                        columns("n"),
                        columns("m"),
                    );
                    let query = self.query(&query).param("keys", list(keys.collect()));
                    for row in self.read(query)? {
                        let name: String = column(&row, "relation")?;
                        // Other programs may have added relations of their own.
                        let Some(relation) = Relation::of(&name) else {
                            continue;
                        };
                        let (n, m) = (entry(&row, "n")?, entry(&row, "m")?);
                        let (from, to) = match left {
                            "-" => (n, m),
                            _ => (m, n),
                        };
                        found.push(Related { from, relation, to });
                    }
                }
            }
        }
        found.sort();
        found.dedup();
        Ok(found)
    }
}

/// Returns the kinds of a selection.
fn kinds(select: &Select<'_>) -> Vec<Kind> {
    match select.kind {
        Some(kind) => vec![kind],
        None => Kind::ALL.to_vec(),
    }
}

/// Returns the condition of a selection; its values are parameters named after
/// `node`.
fn condition(node: &str, select: &Select<'_>) -> String {
    let mut all = vec![format!("{node}.tenant = $tenant")];
    if select.open {
        all.push(format!("{node}.open = true"));
    }
    if select.standing.is_some() {
        all.push(format!("{node}.standing = ${node}_standing"));
    }
    if select.completed_since.is_some() {
        all.push(format!("{node}.completed >= ${node}_since"));
    }
    all.join(" AND ")
}

/// Sets the parameters of a condition.
fn given(mut query: Query, node: &str, select: &Select<'_>) -> Query {
    if let Some(standing) = select.standing {
        query = query.param(&format!("{node}_standing"), standing.name());
    }
    if let Some(since) = select.completed_since {
        query = query.param(&format!("{node}_since"), since);
    }
    query
}

/// Returns the properties of an [`Entry`] as columns.
fn columns(node: &str) -> String {
    let all = [
        "id",
        "name",
        "kind",
        "standing",
        "status",
        "completed",
        "weight",
        "rejections",
    ];
    let all = all.map(|it| format!("{node}.{it} AS {node}_{it}"));
    all.join(", ")
}

/// Reads an entry from the columns of a node.
fn entry(row: &Row, node: &str) -> Result<Entry, Error> {
    let name = |it: &str| format!("{node}_{it}");
    let known = |it: &str| Error::Server(format!("`{it}` is no word that this program wrote"));
    let kind: String = column(row, &name("kind"))?;
    let standing: String = column(row, &name("standing"))?;
    let number = |it: &str| {
        let number: i64 = column(row, &name(it))?;
        u32::try_from(number).map_err(|_| known(it))
    };
    Ok(Entry {
        id: column(row, &name("id"))?,
        name: column(row, &name("name"))?,
        kind: Kind::of(&kind).ok_or_else(|| known(&kind))?,
        standing: Standing::of(&standing).ok_or_else(|| known(&standing))?,
        status: column(row, &name("status"))?,
        completed: column(row, &name("completed"))?,
        weight: number("weight")?,
        rejections: number("rejections")?,
    })
}
