//! The policy of contexts: which layers exist, which role gets which of them,
//! and within what budget. It is built in and changed by
//! `.agents/context-policy.yml`: roles are merged into the built-in ones,
//! layers replace them.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::ContextError;
use crate::document::{self, YamlValue as Yaml};
use crate::workspace::{RelPath, Workspace};

/// Path of a workspace's own policy.
pub const POLICY_FILE: &str = ".agents/context-policy.yml";

/// The frequency with which a layer changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayerChannel {
    /// Hardly ever: instructions and direction.
    Static,
    /// From session to session: memory.
    Session,
    /// From turn to turn: today's work of others.
    Turn,
}

/// A layer of a context: its files and its rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextLayer {
    /// The number of the layer, by which roles name it.
    pub id: u8,
    /// The key of the layer, by which caps name it.
    pub key: String,
    /// Its name for people.
    pub name: String,
    /// What it contains, as a sentence.
    pub description: String,
    /// The first path that exists is read.
    pub paths: Vec<String>,
    /// Every path that exists is read in addition.
    pub also: Vec<String>,
    /// Whether a context without it is a failure.
    pub required: bool,
    /// Whether it does not count against the budget.
    pub outside_budget: bool,
    /// Number of days after which it is stale; 0 means never.
    pub decay_days: u32,
    /// Where in the prompt it belongs.
    pub channel: LayerChannel,
}

/// The layers and the budget of a role.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RolePolicy {
    /// The layers by number, in the order in which they are packed.
    pub layers: Vec<u8>,
    /// The budget in characters.
    pub budget_chars: usize,
    /// Maximum number of characters, by the key of a layer.
    pub caps: BTreeMap<String, usize>,
}

/// The layers and roles of a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextPolicy {
    /// The roles by name.
    pub roles: BTreeMap<String, RolePolicy>,
    /// Sorted by id.
    pub layers: Vec<ContextLayer>,
    /// The first 16 hexadecimal digits of the SHA-256 of the whole policy.
    pub hash: String,
}

impl ContextPolicy {
    /// Reads the policy of a workspace, or returns the built-in one.
    pub fn read(workspace: &Workspace) -> Result<ContextPolicy, ContextError> {
        let path = RelPath::new(POLICY_FILE).expect("a constant that is a valid path");
        match workspace.read_text_if_present(&path)? {
            Some(text) => ContextPolicy::parse(&text),
            None => ContextPolicy::from_json(&built_in_policy()),
        }
    }

    /// Merges YAML into the built-in policy.
    pub fn parse(yaml: &str) -> Result<ContextPolicy, ContextError> {
        let entries = document::parse_yaml(yaml).map_err(|error| ContextError::Policy {
            line: (error.line > 0).then_some(error.line),
            message: error.message,
        })?;
        let mut policy = built_in_policy();
        for (key, value) in entries {
            let value = yaml_to_json(&value);
            match key.as_str() {
                "roles" => merge_json(&mut policy["roles"], value),
                "layers" if !value.is_null() => policy["layers"] = value,
                "layers" | "version" => {}
                other => {
                    return Err(policy_error(format!(
                        "`{other}` is not a key of a policy; the keys are `roles` and `layers`"
                    )));
                }
            }
        }
        ContextPolicy::from_json(&policy)
    }

    /// Builds the policy from its JSON form. Fails with the first invalid
    /// entry.
    fn from_json(policy: &Value) -> Result<ContextPolicy, ContextError> {
        let layers = policy["layers"]
            .as_array()
            .ok_or_else(|| policy_error("`layers` is not a list"))?;
        let mut layers: Vec<ContextLayer> =
            layers.iter().map(parse_layer).collect::<Result<_, _>>()?;
        layers.sort_by_key(|it| it.id);
        if let Some(twice) = layers.windows(2).find(|it| it[0].id == it[1].id) {
            return Err(policy_error(format!(
                "two layers have the id {}",
                twice[0].id
            )));
        }
        let roles = policy["roles"]
            .as_object()
            .ok_or_else(|| policy_error("`roles` is not a map"))?;
        let roles = roles
            .iter()
            .map(|(name, value)| Ok((name.to_lowercase(), parse_role(name, value, &layers)?)))
            .collect::<Result<_, ContextError>>()?;
        Ok(ContextPolicy {
            roles,
            layers,
            hash: hash_policy(policy),
        })
    }
}

/// Returns the built-in policy, in the form that a file would have.
fn built_in_policy() -> Value {
    let memory = ".agents/memory";
    let own = format!("{memory}/{{squad}}/{{agent}}");
    json!({
        "roles": {
            "scanner": { "layers": [0, 1, 2, 3, 4], "budget_chars": 50_000, "caps": { "state": 2_000 } },
            "worker": { "layers": [0, 1, 2, 3, 4, 5], "budget_chars": 60_000 },
            "verifier": { "layers": [0, 1, 2, 3, 4, 5], "budget_chars": 60_000, "caps": { "state": 2_000 } },
            "lead": { "layers": [0, 1, 2, 3, 4, 5, 6], "budget_chars": 80_000 },
            "coo": { "layers": [0, 1, 2, 3, 4, 5, 6], "budget_chars": 100_000 },
        },
        "layers": [
            {
                "id": 0, "key": "system", "name": "System",
                "description": "The protocol that every agent follows",
                "paths": [".agents/SYSTEM.md", ".agents/config/SYSTEM.md", ".agents/config/approval-instructions.md"],
                "required": true, "outside_budget": true, "decay_days": 0, "channel": "static",
            },
            {
                "id": 1, "key": "company", "name": "Company",
                "description": "What the company is and wants",
                "paths": [format!("{memory}/company/strategy.md"), ".agents/company.md".to_owned(), format!("{memory}/company/directives.md")],
                "required": true, "outside_budget": false, "decay_days": 14, "channel": "static",
            },
            {
                "id": 2, "key": "goals", "name": "Goals",
                "description": "What the squad works towards, and the founder's direction for this cycle",
                "paths": [format!("{memory}/{{squad}}/goals.md")],
                "also": [
                    format!("{memory}/{{squad}}/priorities.md"),
                    format!("{memory}/company/founder-context.md"),
                    format!("{memory}/{{squad}}/founder-alignment.md"),
                ],
                "required": true, "outside_budget": false, "decay_days": 14, "channel": "static",
            },
            {
                "id": 3, "key": "agent", "name": "Agent",
                "description": "The agent's own definition",
                "paths": [".agents/squads/{squad}/{agent}.md"],
                "required": false, "outside_budget": false, "decay_days": 0, "channel": "static",
            },
            {
                "id": 4, "key": "state", "name": "Memory",
                "description": "What the agent remembers: its pointers, else its state",
                "paths": [format!("{own}/MEMORY.md"), format!("{own}/state.md")],
                "required": false, "outside_budget": false, "decay_days": 7, "channel": "session",
            },
            {
                "id": 5, "key": "feedback", "name": "Feedback (act on this first)",
                "description": "Feedback on the agent's work",
                "paths": [format!("{own}/feedback.md"), format!("{memory}/{{squad}}/feedback.md")],
                "also": [format!("{memory}/{{squad}}/feedback.md")],
                "required": false, "outside_budget": false, "decay_days": 30, "channel": "session",
            },
            {
                "id": 6, "key": "supporting", "name": "Supporting",
                "description": "Today's briefing, the squad's open work and the learnings of other squads",
                "paths": [format!("{memory}/daily-briefing.md")],
                "also": [format!("{memory}/{{squad}}/active-work.md"), format!("{memory}/{{ctx}}/shared/learnings.md")],
                "required": false, "outside_budget": false, "decay_days": 1, "channel": "turn",
            },
        ],
    })
}

/// Parses one layer.
fn parse_layer(value: &Value) -> Result<ContextLayer, ContextError> {
    let map = value
        .as_object()
        .ok_or_else(|| policy_error("a layer is not a map"))?;
    let id = value["id"]
        .as_u64()
        .and_then(|id| u8::try_from(id).ok())
        .ok_or_else(|| policy_error("a layer has no `id` from 0 to 255"))?;
    let here = |what: &str| policy_error(format!("layer {id}: {what}"));
    for key in map.keys() {
        const KNOWN_KEYS: [&str; 10] = [
            "id",
            "key",
            "name",
            "description",
            "paths",
            "also",
            "required",
            "outside_budget",
            "decay_days",
            "channel",
        ];
        if !KNOWN_KEYS.contains(&key.as_str()) {
            return Err(here(&format!("`{key}` is not a key of a layer")));
        }
    }
    let text = |key: &str| match &value[key] {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(document::escape_markdown_line(text))),
        _ => Err(here(&format!("`{key}` is not a text"))),
    };
    let flag = |key: &str| match &value[key] {
        Value::Null => Ok(false),
        Value::Bool(flag) => Ok(*flag),
        _ => Err(here(&format!("`{key}` is neither `true` nor `false`"))),
    };
    let paths = |key: &str| -> Result<Vec<String>, ContextError> {
        let list = match &value[key] {
            Value::Null => return Ok(Vec::new()),
            Value::String(one) => vec![one.clone()],
            Value::Array(all) => all
                .iter()
                .map(|it| it.as_str().map(str::to_owned))
                .collect::<Option<_>>()
                .ok_or_else(|| here(&format!("`{key}` is not a list of paths")))?,
            _ => return Err(here(&format!("`{key}` is not a list of paths"))),
        };
        for path in &list {
            check_path_template(path)
                .map_err(|why| here(&format!("`{path}` is refused: {why}")))?;
        }
        Ok(list)
    };
    let key = text("key")?.ok_or_else(|| here("it has no `key`"))?;
    let decay = match &value["decay_days"] {
        Value::Null => 0,
        days => days
            .as_u64()
            .and_then(|days| u32::try_from(days).ok())
            .ok_or_else(|| here("`decay_days` is not a number of days"))?,
    };
    let channel = match value["channel"].as_str() {
        Some("static") => LayerChannel::Static,
        Some("session") => LayerChannel::Session,
        Some("turn") => LayerChannel::Turn,
        Some(_) => return Err(here("`channel` must be `static`, `session` or `turn`")),
        // The channels of the built-in layers with these ids.
        None if id <= 3 => LayerChannel::Static,
        None if id <= 5 => LayerChannel::Session,
        None => LayerChannel::Turn,
    };
    let layer = ContextLayer {
        id,
        name: text("name")?.unwrap_or_else(|| key.clone()),
        description: text("description")?.unwrap_or_default(),
        paths: paths("paths")?,
        also: paths("also")?,
        required: flag("required")?,
        outside_budget: flag("outside_budget")?,
        decay_days: decay,
        channel,
        key,
    };
    if layer.paths.is_empty() && layer.also.is_empty() {
        Err(here("it has no `paths`"))
    } else {
        Ok(layer)
    }
}

/// Refuses path templates that lead to archived files or outside the workspace.
fn check_path_template(template: &str) -> Result<(), String> {
    let put_away = |part: &str| ["archive", "tombstoned"].contains(&part.to_lowercase().as_str());
    let plain = ["{squad}", "{agent}", "{ctx}"]
        .iter()
        .fold(template.to_owned(), |path, name| path.replace(name, "x"));
    if plain.contains(['{', '}']) {
        return Err("only `{squad}`, `{agent}` and `{ctx}` are filled in".to_owned());
    }
    if template.split(['/', '\\']).any(put_away) {
        return Err("files below `archive/` or `tombstoned/` are out of use".to_owned());
    }
    match RelPath::new(&plain) {
        Ok(_) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

/// Parses one role.
fn parse_role(
    name: &str,
    value: &Value,
    layers: &[ContextLayer],
) -> Result<RolePolicy, ContextError> {
    let here = |what: &str| policy_error(format!("role `{name}`: {what}"));
    let map = value.as_object().ok_or_else(|| here("it is not a map"))?;
    for key in map.keys() {
        if !["layers", "budget_chars", "caps"].contains(&key.as_str()) {
            return Err(here(&format!("`{key}` is not a key of a role")));
        }
    }
    let number = |value: &Value| value.as_u64().and_then(|it| usize::try_from(it).ok());
    let ids = value["layers"]
        .as_array()
        .ok_or_else(|| here("`layers` is not a list"))?;
    let ids: Vec<u8> = ids
        .iter()
        .map(|it| it.as_u64().and_then(|id| u8::try_from(id).ok()))
        .collect::<Option<_>>()
        .ok_or_else(|| here("`layers` is not a list of numbers"))?;
    if let Some(unknown) = ids.iter().find(|id| !layers.iter().any(|it| it.id == **id)) {
        // A policy with fewer layers than the built-in one need not redefine
        // every built-in role.
        let built_in = usize::from(*unknown) <= 6;
        if !built_in {
            return Err(here(&format!("there is no layer {unknown}")));
        }
    }
    let budget = number(&value["budget_chars"]).filter(|it| *it > 0);
    let caps = match &value["caps"] {
        Value::Null => BTreeMap::new(),
        Value::Object(caps) => caps
            .iter()
            .map(|(key, most)| Some((key.clone(), number(most)?)))
            .collect::<Option<_>>()
            .ok_or_else(|| here("`caps` has a value that is not a number"))?,
        _ => return Err(here("`caps` is not a map")),
    };
    Ok(RolePolicy {
        layers: ids,
        budget_chars: budget.ok_or_else(|| here("`budget_chars` is not a number above 0"))?,
        caps,
    })
}

/// Merges maps key by key, and replaces anything else.
fn merge_json(base: &mut Value, over: Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                merge_json(base.entry(key).or_insert(Value::Null), value);
            }
        }
        // An empty entry changes nothing.
        (_, Value::Null) => {}
        (base, over) => *base = over,
    }
}

/// Converts a YAML value to JSON.
fn yaml_to_json(value: &Yaml) -> Value {
    match value {
        Yaml::Null => Value::Null,
        Yaml::Bool(flag) => (*flag).into(),
        Yaml::Int(number) => (*number).into(),
        Yaml::Float(number) => (*number).into(),
        Yaml::Text(text) => text.as_str().into(),
        Yaml::List(values) => values.iter().map(yaml_to_json).collect(),
        Yaml::Map(entries) => {
            let entries = entries.iter();
            Value::Object(
                entries
                    .map(|(key, value)| (key.clone(), yaml_to_json(value)))
                    .collect(),
            )
        }
    }
}

/// Returns a hash of the whole policy that does not depend on the order of
/// keys.
fn hash_policy(policy: &Value) -> String {
    let text = sort_keys(policy).to_string();
    let digest = Sha256::digest(text.as_bytes());
    digest
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Returns a value with all keys sorted.
fn sort_keys(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let sorted: BTreeMap<&String, Value> = map
                .iter()
                .map(|(key, value)| (key, sort_keys(value)))
                .collect();
            let mut out = Map::new();
            for (key, value) in sorted {
                out.insert(key.clone(), value);
            }
            Value::Object(out)
        }
        Value::Array(all) => all.iter().map(sort_keys).collect(),
        other => other.clone(),
    }
}

/// Returns the error for an invalid policy.
fn policy_error(message: impl Into<String>) -> ContextError {
    ContextError::Policy {
        line: None,
        message: message.into(),
    }
}
