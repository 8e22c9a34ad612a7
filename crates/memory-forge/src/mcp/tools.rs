//! Defines the tools as data: names, parameters, effects and answers. Schemas
//! and checks are made from the same table and cannot disagree. The wording is
//! short because every session pays for it.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

/// Tool, with what a client is shown about it.
#[derive(Debug)]
pub(crate) struct Spec {
    pub(crate) name: &'static str,
    about: &'static str,
    pub(crate) fields: &'static [Field],
    effect: Effect,
    answers: Answers,
    /// Whether a session needs it, so that it is listed by default.
    usual: bool,
}

/// Parameter of a tool.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) required: bool,
    about: &'static str,
}

/// Kind of a parameter's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    /// As long as a call may be: a document is not a field of a form.
    Document,
    /// Several texts; one alone may come without a list.
    Texts,
    Integer {
        least: i64,
        most: i64,
    },
    Flag,
    /// One of these words, or of further ones that are accepted and not listed.
    Choice(&'static [&'static str], &'static [&'static str]),
}

/// Effect of a call on the files.
#[derive(Debug, Clone, Copy)]
enum Effect {
    Reads,
    /// Adds and never replaces.
    Adds,
    /// Adds, and is idempotent.
    AddsOnce,
    /// Replaces, and is idempotent.
    Replaces,
}

/// Form of an answer, which decides its schema.
#[derive(Debug, Clone, Copy)]
enum Answers {
    Passages,
    Text,
    Change,
    Figures,
}

const fn field(name: &'static str, kind: Kind, about: &'static str) -> Field {
    Field {
        name,
        kind,
        required: false,
        about,
    }
}

const fn needed(name: &'static str, kind: Kind, about: &'static str) -> Field {
    Field {
        required: true,
        ..field(name, kind, about)
    }
}

/// Lower bound for `max_tokens`; fewer tokens hold no useful answer.
pub(crate) const LEAST_TOKENS: i64 = 100;

const MAX_TOKENS: Field = field(
    "max_tokens",
    Kind::Integer {
        least: LEAST_TOKENS,
        most: 100_000,
    },
    "",
);

pub(crate) const SCOPES: [&str; 6] = ["knowledge", "state", "closets", "agents", "archive", "all"];

/// All tools, in the order in which they are listed.
pub(crate) static ALL: [Spec; 13] = [
    Spec {
        name: "search_knowledge",
        about: "Search what this repository's memory knows. Use it before answering or deciding.",
        fields: &[
            needed(
                "query",
                Kind::Text,
                "Question or words; \"quoted\" = verbatim",
            ),
            field("limit", Kind::Integer { least: 1, most: 20 }, "Default 3"),
            field("scope", Kind::Choice(&SCOPES, &[]), ""),
            field(
                "source_type",
                Kind::Choice(&["all", "knowledge", "skill"], &["claude-md", "agents-md"]),
                "",
            ),
            field("unique_files", Kind::Flag, "Default true"),
            MAX_TOKENS,
        ],
        effect: Effect::Reads,
        answers: Answers::Passages,
        usual: true,
    },
    Spec {
        name: "save_knowledge",
        about: "Save something learnt as a new file: context (fact, convention) or skill (fix for a recurring problem).",
        fields: &[
            needed("type", Kind::Choice(&["context", "skill"], &[]), ""),
            needed("name", Kind::Text, ""),
            needed("content", Kind::Document, "Markdown, no secrets"),
            field("description", Kind::Text, "Skill"),
            field("trigger", Kind::Text, "Skill: when to use it"),
            field("problem", Kind::Text, "Skill"),
            field(
                "importance",
                Kind::Integer { least: 1, most: 10 },
                "Default 5",
            ),
        ],
        effect: Effect::Adds,
        answers: Answers::Change,
        usual: true,
    },
    Spec {
        name: "correct_knowledge",
        about: "Record that something known is wrong, e.g. when the user says so.",
        fields: &[
            needed("fact", Kind::Text, "As it is written"),
            field("instead", Kind::Text, "What holds"),
            field("reason", Kind::Text, ""),
        ],
        effect: Effect::Replaces,
        answers: Answers::Change,
        usual: true,
    },
    Spec {
        name: "index_knowledge",
        about: "Bring the index up to date; searches do this by themselves.",
        fields: &[field("force", Kind::Flag, "Build it anew")],
        effect: Effect::AddsOnce,
        answers: Answers::Figures,
        usual: false,
    },
    Spec {
        name: "knowledge_stats",
        about: "What the index holds, what is used, what was forgotten.",
        fields: &[],
        effect: Effect::Reads,
        answers: Answers::Figures,
        usual: false,
    },
    Spec {
        name: "audit_knowledge",
        about: "What agents load at every start and what is too large.",
        fields: &[MAX_TOKENS],
        effect: Effect::Reads,
        answers: Answers::Figures,
        usual: false,
    },
    Spec {
        name: "forget_knowledge",
        about: "Take the least used documents out of searches. Files stay; importance 8 and above is kept.",
        fields: &[
            field(
                "max_files",
                Kind::Integer {
                    least: 0,
                    most: 1_000_000,
                },
                "Keep at most so many",
            ),
            field(
                "max_age_days",
                Kind::Integer {
                    least: 0,
                    most: 36_500,
                },
                "Not found for so long",
            ),
        ],
        effect: Effect::Replaces,
        answers: Answers::Change,
        usual: false,
    },
    Spec {
        name: "memory_status",
        about: "Where the work stands: phase, active work, blockers, next action.",
        fields: &[MAX_TOKENS],
        effect: Effect::Reads,
        answers: Answers::Text,
        usual: true,
    },
    Spec {
        name: "memory_search",
        about: "Find words in state, tasks, decisions, sessions and their archive.",
        fields: &[needed("query", Kind::Text, ""), MAX_TOKENS],
        effect: Effect::Reads,
        answers: Answers::Text,
        usual: false,
    },
    Spec {
        name: "memory_update_state",
        about: "Replace the given parts of the state.",
        fields: &[
            field("phase", Kind::Text, ""),
            field("status", Kind::Text, ""),
            field("active_work", Kind::Texts, ""),
            field("blockers", Kind::Texts, ""),
            field("next_action", Kind::Text, ""),
        ],
        effect: Effect::Replaces,
        answers: Answers::Change,
        usual: true,
    },
    Spec {
        name: "memory_save_decision",
        about: "Record a decision under the next id.",
        fields: &[
            needed("title", Kind::Text, ""),
            needed("decision", Kind::Text, ""),
            field("rationale", Kind::Text, ""),
            field("decided_by", Kind::Text, ""),
            field("status", Kind::Text, "Default Final"),
        ],
        effect: Effect::Adds,
        answers: Answers::Change,
        usual: true,
    },
    Spec {
        name: "memory_save_progress",
        about: "Add a task, or complete the one that matches.",
        fields: &[
            needed("task", Kind::Text, ""),
            field("action", Kind::Choice(&["add", "complete"], &[]), ""),
            field("section", Kind::Text, "Default In Progress"),
        ],
        effect: Effect::Adds,
        answers: Answers::Change,
        usual: true,
    },
    Spec {
        name: "memory_save_session",
        about: "Log what this session did, at its end.",
        fields: &[
            needed("summary", Kind::Text, ""),
            field("completed", Kind::Texts, ""),
            field("decisions", Kind::Texts, ""),
            field("blockers", Kind::Texts, ""),
            field("next", Kind::Text, ""),
        ],
        effect: Effect::Adds,
        answers: Answers::Change,
        usual: true,
    },
];

/// Parameters of older servers that are accepted and not listed.
pub(crate) const UNLISTED: [(&str, Field); 1] = [(
    "memory_save_progress",
    field("completed", Kind::Flag, "The same as action complete"),
)];

/// Alternative names of fields, with the tool and the field's own name. The
/// command line has `--next` for both tools.
pub(crate) const ALIASES: [(&str, &str, &str); 2] = [
    ("memory_update_state", "next", "next_action"),
    ("memory_save_session", "next_action", "next"),
];

pub(crate) fn find(name: &str) -> Option<&'static Spec> {
    ALL.iter().find(|spec| spec.name == name)
}

/// Returns the tools to list: those of every session, `all`, or a list of
/// names. Tools that are not listed can still be called.
pub(crate) fn chosen(names: &[String]) -> Result<Vec<&'static Spec>, String> {
    if names.is_empty() {
        return Ok(ALL.iter().filter(|spec| spec.usual).collect());
    }
    if names.iter().any(|name| name == "all") {
        return Ok(ALL.iter().collect());
    }
    if let Some(unknown) = names.iter().find(|name| find(name).is_none()) {
        return Err(unknown.clone());
    }
    // In our order whatever theirs, so that a listing never varies.
    let wanted = |spec: &&Spec| names.iter().any(|name| name == spec.name);
    Ok(ALL.iter().filter(wanted).collect())
}

/// The usual listing, as clients get it that load every schema at their start.
pub(crate) fn listing() -> String {
    let usual = ALL.iter().filter(|spec| spec.usual);
    let listing: Vec<Tool> = usual.map(Spec::listed).collect();
    serde_json::to_string(&listing).expect("tools are plain data")
}

/// The names of the usual tools, which is all that Claude Code loads of them at
/// its start.
pub(crate) fn names() -> String {
    let usual = ALL.iter().filter(|spec| spec.usual);
    let names = usual.map(|spec| format!("mcp__memory-forge__{}", spec.name));
    names.collect::<Vec<_>>().join("\n")
}

impl Spec {
    /// Returns `true` if it keeps what the caller wrote.
    pub(crate) fn writes_text(&self) -> bool {
        let text = |field: &Field| matches!(field.kind, Kind::Text | Kind::Document | Kind::Texts);
        !matches!(self.effect, Effect::Reads) && self.fields.iter().any(text)
    }

    /// Returns the tool as clients see it.
    pub(crate) fn listed(&self) -> Tool {
        Tool::new(self.name, self.about, Arc::new(self.input()))
            .with_raw_output_schema(Arc::new(self.answers.schema()))
            .with_annotations(self.effect.annotations())
    }

    fn input(&self) -> JsonObject {
        let mut schema = JsonObject::new();
        schema.insert("type".to_owned(), "object".into());
        let properties = self
            .fields
            .iter()
            .map(|field| (field.name.to_owned(), field.schema()));
        schema.insert("properties".to_owned(), Value::Object(properties.collect()));
        let required: Vec<&str> = self
            .fields
            .iter()
            .filter(|field| field.required)
            .map(|field| field.name)
            .collect();
        if !required.is_empty() {
            schema.insert("required".to_owned(), json!(required));
        }
        schema
    }
}

impl Field {
    fn schema(&self) -> Value {
        let mut schema = match self.kind {
            Kind::Text | Kind::Document => json!({ "type": "string" }),
            Kind::Texts => json!({ "type": "array", "items": { "type": "string" } }),
            Kind::Integer { least, most } => {
                json!({ "type": "integer", "minimum": least, "maximum": most })
            }
            Kind::Flag => json!({ "type": "boolean" }),
            Kind::Choice(words, _) => json!({ "type": "string", "enum": words }),
        };
        if !self.about.is_empty() {
            schema["description"] = self.about.into();
        }
        schema
    }
}

impl Effect {
    /// Returns the annotations, without those that the protocol assumes anyway.
    fn annotations(self) -> ToolAnnotations {
        let closed = ToolAnnotations::new().open_world(false);
        match self {
            Effect::Reads => closed.read_only(true),
            Effect::Adds => closed.destructive(false),
            Effect::AddsOnce => closed.destructive(false).idempotent(true),
            Effect::Replaces => closed.destructive(true).idempotent(true),
        }
    }
}

impl Answers {
    fn schema(self) -> JsonObject {
        let text = || json!({ "type": "string" });
        let (properties, required) = match self {
            Answers::Passages => (
                json!({ "results": { "type": "array", "items": {
                    "type": "object",
                    "properties": {
                        "path": text(),
                        "lines": { "type": "array", "items": { "type": "integer" } },
                        "text": text(),
                    },
                } } }),
                "results",
            ),
            Answers::Text => (json!({ "text": text() }), "text"),
            Answers::Change => (json!({ "message": text(), "diff": text() }), "message"),
            Answers::Figures => (json!({ "message": text() }), "message"),
        };
        let schema = json!({ "type": "object", "properties": properties, "required": [required] });
        match schema {
            Value::Object(schema) => schema,
            _ => unreachable!("an object was written above"),
        }
    }
}

#[cfg(test)]
mod tests {
    use forge_app::tokens::{Tokenizer, count_tokens};

    use super::*;

    fn listing(names: &[&str]) -> String {
        let names: Vec<String> = names.iter().map(|it| (*it).to_owned()).collect();
        let tools: Vec<Tool> = chosen(&names)
            .expect("they are known")
            .iter()
            .map(|spec| spec.listed())
            .collect();
        serde_json::to_string(&tools).expect("tools are JSON")
    }

    #[test]
    fn the_usual_listing_costs_less_than_1200_tokens() {
        let cost = count_tokens(Tokenizer::O200k, &listing(&[]));
        assert!(cost < 1_200, "{cost} tokens (o200k):\n{}", listing(&[]));
    }

    #[test]
    fn what_a_session_needs_is_listed_and_the_rest_by_choice() {
        let names = |given: &[&str]| {
            let given: Vec<String> = given.iter().map(|it| (*it).to_owned()).collect();
            let specs = chosen(&given).expect("they are known");
            specs.iter().map(|spec| spec.name).collect::<Vec<_>>()
        };
        assert_eq!(
            names(&[]),
            [
                "search_knowledge",
                "save_knowledge",
                "correct_knowledge",
                "memory_status",
                "memory_update_state",
                "memory_save_decision",
                "memory_save_progress",
                "memory_save_session"
            ]
        );
        assert_eq!(names(&["all"]).len(), 13);
        assert_eq!(
            names(&["memory_status", "search_knowledge"]),
            ["search_knowledge", "memory_status"]
        );
        assert_eq!(chosen(&["x".to_owned()]).err(), Some("x".to_owned()));
    }

    /// Clients that turn schemas into those of other systems know no unions
    /// with null, and no lists of types.
    #[test]
    fn schemas_are_plain() {
        fn plain(value: &Value, tool: &str) {
            match value {
                Value::Object(map) => {
                    if let Some(kind) = map.get("type").filter(|it| !it.is_object()) {
                        assert!(kind.is_string() && kind != "null", "{tool}: {kind}");
                    }
                    for word in ["anyOf", "oneOf", "allOf", "$ref", "$defs", "nullable"] {
                        assert!(!map.contains_key(word), "{tool}: {word}");
                    }
                    map.values().for_each(|value| plain(value, tool));
                }
                Value::Array(all) => all.iter().for_each(|value| plain(value, tool)),
                Value::Null => panic!("{tool}: null"),
                _ => {}
            }
        }
        for spec in &ALL {
            let tool = serde_json::to_value(spec.listed()).expect("a tool is JSON");
            for schema in ["inputSchema", "outputSchema"] {
                assert_eq!(tool[schema]["type"], "object", "{}", spec.name);
                plain(&tool[schema], spec.name);
            }
            let annotations = &tool["annotations"];
            assert_eq!(annotations["openWorldHint"], false, "{}", spec.name);
        }
    }

    #[test]
    fn annotations_say_what_a_tool_does() {
        let hint = |name: &str, hint: &str| {
            let spec = find(name).expect("it is known");
            serde_json::to_value(spec.listed()).expect("JSON")["annotations"][hint].clone()
        };
        assert_eq!(hint("search_knowledge", "readOnlyHint"), true);
        assert_eq!(hint("save_knowledge", "destructiveHint"), false);
        assert_eq!(hint("forget_knowledge", "destructiveHint"), true);
        assert_eq!(hint("memory_update_state", "idempotentHint"), true);
    }
}
