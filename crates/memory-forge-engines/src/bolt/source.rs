//! Implements [`GraphSource`] for a server, for the predefined questions: it
//! selects, and the answer is made from that by the same code as for the
//! embedded graph.

use std::collections::BTreeMap;

use forge_memory::graph::ask::{GraphSource, NodeSelection, NodeSummary, RelatedPair};
use forge_memory::graph::{GraphRelation, NodeKind, WorkStanding};
use neo4rs::{BoltType, Query, Row};

use super::{BoltError, BoltGraph, bolt_list, read_column};

/// Nodes of one query.
const NODES_PER_QUERY: usize = 500;

impl GraphSource for BoltGraph {
    type Error = BoltError;

    fn find_node(&mut self, id: &str) -> Result<Option<NodeSummary>, BoltError> {
        for kind in NodeKind::ALL {
            let query = format!(
                "MATCH (n:{} {{forge_key: $key, tenant: $tenant, workspace: $workspace}}) \
                 RETURN {}",
                kind.name(),
                entry_columns("n")
            );
            let query = self
                .scoped_query(&query)
                .param("key", self.scope.node_key(id));
            if let Some(row) = self.read_rows(query)?.first() {
                return read_entry(row, "n").map(Some);
            }
        }
        Ok(None)
    }

    fn select_nodes(&mut self, select: &NodeSelection<'_>) -> Result<Vec<NodeSummary>, BoltError> {
        let mut found = Vec::new();
        for kind in selected_kinds(select) {
            let query = self.scoped_query(&format!(
                "MATCH (n:{} {{tenant: $tenant, workspace: $workspace}}) WHERE {} RETURN {}",
                kind.name(),
                where_condition("n", select),
                entry_columns("n")
            ));
            for row in self.read_rows(bind_selection(query, "n", select))? {
                found.push(read_entry(&row, "n")?);
            }
        }
        Ok(found)
    }

    fn select_relations(
        &mut self,
        relation: GraphRelation,
        from: &NodeSelection<'_>,
        to: &NodeSelection<'_>,
    ) -> Result<Vec<RelatedPair>, BoltError> {
        let mut found = Vec::new();
        for kind in selected_kinds(from) {
            let label = to.kind.map(|it| format!(":{}", it.name()));
            let query = self.scoped_query(&format!(
                "MATCH (a:{} {{tenant: $tenant, workspace: $workspace}})\
                 -[r:{} {{tenant: $tenant, workspace: $workspace}}]->\
                 (b{} {{tenant: $tenant, workspace: $workspace}}) \
                 WHERE {} AND {} RETURN {}, {}",
                kind.name(),
                relation.name(),
                label.unwrap_or_default(),
                where_condition("a", from),
                where_condition("b", to),
                entry_columns("a"),
                entry_columns("b"),
            ));
            let query = bind_selection(bind_selection(query, "a", from), "b", to);
            for row in self.read_rows(query)? {
                found.push(RelatedPair {
                    from: read_entry(&row, "a")?,
                    relation,
                    to: read_entry(&row, "b")?,
                });
            }
        }
        Ok(found)
    }

    fn relations_around(&mut self, nodes: &[NodeSummary]) -> Result<Vec<RelatedPair>, BoltError> {
        let mut by_kind: BTreeMap<NodeKind, Vec<String>> = BTreeMap::new();
        for node in nodes {
            let key = self.scope.node_key(&node.id);
            by_kind.entry(node.kind).or_default().push(key);
        }
        let mut found = Vec::new();
        for (kind, keys) in by_kind {
            for batch in keys.chunks(NODES_PER_QUERY) {
                for (left, right) in [("-", "->"), ("<-", "-")] {
                    let keys = batch.iter().map(|it| BoltType::from(it.as_str()));
                    let query = format!(
                        "UNWIND $keys AS key \
                         MATCH (n:{} {{forge_key: key, tenant: $tenant, workspace: $workspace}})\
                         {left}[r]{right}(m {{tenant: $tenant, workspace: $workspace}}) \
                         WHERE r.tenant = $tenant AND r.workspace = $workspace \
                         RETURN type(r) AS relation, {}, {}",
                        kind.name(),
                        entry_columns("n"),
                        entry_columns("m"),
                    );
                    let query = self
                        .scoped_query(&query)
                        .param("keys", bolt_list(keys.collect()));
                    for row in self.read_rows(query)? {
                        let name: String = read_column(&row, "relation")?;
                        // Other programs may have added relations of their own.
                        let Some(relation) = GraphRelation::from_name(&name) else {
                            continue;
                        };
                        let (n, m) = (read_entry(&row, "n")?, read_entry(&row, "m")?);
                        let (from, to) = match left {
                            "-" => (n, m),
                            _ => (m, n),
                        };
                        found.push(RelatedPair { from, relation, to });
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
fn selected_kinds(select: &NodeSelection<'_>) -> Vec<NodeKind> {
    match select.kind {
        Some(kind) => vec![kind],
        None => NodeKind::ALL.to_vec(),
    }
}

/// Returns the condition of a selection; its values are parameters named after
/// `node`.
fn where_condition(node: &str, select: &NodeSelection<'_>) -> String {
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
fn bind_selection(mut query: Query, node: &str, select: &NodeSelection<'_>) -> Query {
    if let Some(standing) = select.standing {
        query = query.param(&format!("{node}_standing"), standing.name());
    }
    if let Some(since) = select.completed_since {
        query = query.param(&format!("{node}_since"), since);
    }
    query
}

/// Returns the properties of an [`Entry`] as columns.
fn entry_columns(node: &str) -> String {
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
fn read_entry(row: &Row, node: &str) -> Result<NodeSummary, BoltError> {
    let name = |it: &str| format!("{node}_{it}");
    let known = |it: &str| BoltError::Server(format!("`{it}` was not written by this program"));
    let kind: String = read_column(row, &name("kind"))?;
    let standing: String = read_column(row, &name("standing"))?;
    let number = |it: &str| {
        let number: i64 = read_column(row, &name(it))?;
        u32::try_from(number).map_err(|_| known(it))
    };
    Ok(NodeSummary {
        id: read_column(row, &name("id"))?,
        name: read_column(row, &name("name"))?,
        kind: NodeKind::from_name(&kind).ok_or_else(|| known(&kind))?,
        standing: WorkStanding::from_name(&standing).ok_or_else(|| known(&standing))?,
        status: read_column(row, &name("status"))?,
        completed: read_column(row, &name("completed"))?,
        weight: number("weight")?,
        rejections: number("rejections")?,
    })
}
