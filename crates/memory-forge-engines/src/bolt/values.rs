//! Converts values of the server to JSON.

use neo4rs::{BoltList, BoltMap, BoltType};
use serde_json::{Map, Value as Json, json};

/// Converts a value.
pub(super) fn value_to_json(value: &BoltType) -> Json {
    match value {
        BoltType::Null(_) => Json::Null,
        BoltType::Boolean(it) => it.value.into(),
        BoltType::Integer(it) => it.value.into(),
        BoltType::Float(it) => it.value.into(),
        BoltType::String(it) => it.value.as_str().into(),
        BoltType::List(it) => list_to_json(it),
        BoltType::Map(it) => map_to_json(it),
        BoltType::Node(it) => {
            json!({ "labels": list_to_json(&it.labels), "properties": map_to_json(&it.properties) })
        }
        BoltType::Relation(it) => {
            json!({ "type": it.typ.value, "properties": map_to_json(&it.properties) })
        }
        BoltType::UnboundedRelation(it) => {
            json!({ "type": it.typ.value, "properties": map_to_json(&it.properties) })
        }
        BoltType::Path(it) => {
            json!({ "nodes": list_to_json(&it.nodes), "relationships": list_to_json(&it.rels) })
        }
        // Times, points and bytes: the server writes them better than we could.
        _ => "(a value that `toString()` can show)".into(),
    }
}

/// Converts a list.
fn list_to_json(values: &BoltList) -> Json {
    values.value.iter().map(value_to_json).collect()
}

/// Converts a map, in the order of its keys, since the server's order varies.
fn map_to_json(values: &BoltMap) -> Json {
    let mut entries: Vec<(&str, Json)> = values
        .value
        .iter()
        .map(|(key, value)| (key.value.as_str(), value_to_json(value)))
        .collect();
    entries.sort_by(|a, b| a.0.cmp(b.0));
    let entries = entries
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value));
    Json::Object(entries.collect::<Map<_, _>>())
}
