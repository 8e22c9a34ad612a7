//! Defines the tools as data: names, parameters, effects and answers. Schemas
//! and checks are made from the same table and cannot disagree. The wording is
//! short because every session pays for it.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

/// Tool, with what a client is shown about it.
#[derive(Debug)]
pub(crate) struct ToolSpec {
    pub(crate) name: &'static str,
    about: &'static str,
    pub(crate) fields: &'static [ToolField],
    effect: ToolEffect,
    answers: ToolAnswerForm,
    /// Whether a session needs it, so that it is listed by default.
    usual: bool,
}

/// Parameter of a tool.
#[derive(Debug)]
pub(crate) struct ToolField {
    pub(crate) name: &'static str,
    pub(crate) kind: ToolFieldKind,
    pub(crate) required: bool,
    about: &'static str,
}

/// Kind of a parameter's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolFieldKind {
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
enum ToolEffect {
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
enum ToolAnswerForm {
    Passages,
    Text,
    Change,
    Figures,
}

const fn optional_field(name: &'static str, kind: ToolFieldKind, about: &'static str) -> ToolField {
    ToolField {
        name,
        kind,
        required: false,
        about,
    }
}

const fn required_field(name: &'static str, kind: ToolFieldKind, about: &'static str) -> ToolField {
    ToolField {
        required: true,
        ..optional_field(name, kind, about)
    }
}

/// Lower bound for `max_tokens`; fewer tokens hold no useful answer.
pub(crate) const MIN_ANSWER_TOKENS: i64 = 100;

const MAX_TOKENS_FIELD: ToolField = optional_field(
    "max_tokens",
    ToolFieldKind::Integer {
        least: MIN_ANSWER_TOKENS,
        most: 100_000,
    },
    "",
);

pub(crate) const SEARCH_SCOPES: [&str; 7] = [
    "knowledge",
    "state",
    "closets",
    "agents",
    "archive",
    "evidence",
    "all",
];

/// All tools, in the order in which they are listed.
pub(crate) static ALL_TOOLS: [ToolSpec; 13] = [
    ToolSpec {
        name: "search_knowledge",
        about: "Search what this repository's memory knows. Use it before answering or deciding.",
        fields: &[
            required_field(
                "query",
                ToolFieldKind::Text,
                "Question or words; \"quoted\" = verbatim",
            ),
            optional_field(
                "limit",
                ToolFieldKind::Integer { least: 1, most: 20 },
                "Default 3",
            ),
            optional_field("scope", ToolFieldKind::Choice(&SEARCH_SCOPES, &[]), ""),
            optional_field(
                "source_type",
                ToolFieldKind::Choice(&["all", "knowledge", "skill"], &["claude-md", "agents-md"]),
                "",
            ),
            optional_field("unique_files", ToolFieldKind::Flag, "Default true"),
            MAX_TOKENS_FIELD,
        ],
        effect: ToolEffect::Reads,
        answers: ToolAnswerForm::Passages,
        usual: true,
    },
    ToolSpec {
        name: "save_knowledge",
        about: "Save something learnt as a new file: context (fact, convention) or skill (fix for a recurring problem).",
        fields: &[
            required_field(
                "type",
                ToolFieldKind::Choice(&["context", "skill"], &[]),
                "",
            ),
            required_field("name", ToolFieldKind::Text, ""),
            required_field("content", ToolFieldKind::Document, "Markdown, no secrets"),
            optional_field("description", ToolFieldKind::Text, "Skill"),
            optional_field("trigger", ToolFieldKind::Text, "Skill: when"),
            optional_field("problem", ToolFieldKind::Text, "Skill"),
            optional_field(
                "importance",
                ToolFieldKind::Integer { least: 1, most: 10 },
                "Default 5",
            ),
        ],
        effect: ToolEffect::Adds,
        answers: ToolAnswerForm::Change,
        usual: true,
    },
    ToolSpec {
        name: "correct_knowledge",
        about: "Record that something known is wrong, e.g. when the user says so.",
        fields: &[
            required_field("fact", ToolFieldKind::Text, "As it is written"),
            optional_field("instead", ToolFieldKind::Text, "What holds"),
            optional_field("reason", ToolFieldKind::Text, ""),
        ],
        effect: ToolEffect::Replaces,
        answers: ToolAnswerForm::Change,
        usual: true,
    },
    ToolSpec {
        name: "index_knowledge",
        about: "Bring the index up to date; searches also do this automatically.",
        fields: &[optional_field(
            "force",
            ToolFieldKind::Flag,
            "Rebuild it from all files",
        )],
        effect: ToolEffect::AddsOnce,
        answers: ToolAnswerForm::Figures,
        usual: false,
    },
    ToolSpec {
        name: "knowledge_stats",
        about: "What the index holds, what is used, what was forgotten.",
        fields: &[],
        effect: ToolEffect::Reads,
        answers: ToolAnswerForm::Figures,
        usual: false,
    },
    ToolSpec {
        name: "audit_knowledge",
        about: "What agents load at every start and what is too large.",
        fields: &[MAX_TOKENS_FIELD],
        effect: ToolEffect::Reads,
        answers: ToolAnswerForm::Figures,
        usual: false,
    },
    ToolSpec {
        name: "forget_knowledge",
        about: "Take the least used documents out of searches. Files stay; importance 8 and above is kept.",
        fields: &[
            optional_field(
                "max_files",
                ToolFieldKind::Integer {
                    least: 0,
                    most: 1_000_000,
                },
                "Maximum number of documents to keep",
            ),
            optional_field(
                "max_age_days",
                ToolFieldKind::Integer {
                    least: 0,
                    most: 36_500,
                },
                "Days without a hit",
            ),
        ],
        effect: ToolEffect::Replaces,
        answers: ToolAnswerForm::Change,
        usual: false,
    },
    ToolSpec {
        name: "memory_status",
        about: "Where the work stands: phase, active work, blockers, next action.",
        fields: &[MAX_TOKENS_FIELD],
        effect: ToolEffect::Reads,
        answers: ToolAnswerForm::Text,
        usual: true,
    },
    ToolSpec {
        name: "memory_search",
        about: "Find words in state, tasks, decisions, sessions and their archive.",
        fields: &[
            required_field("query", ToolFieldKind::Text, ""),
            MAX_TOKENS_FIELD,
        ],
        effect: ToolEffect::Reads,
        answers: ToolAnswerForm::Text,
        usual: false,
    },
    ToolSpec {
        name: "memory_update_state",
        about: "Replace the given parts of the state.",
        fields: &[
            optional_field("phase", ToolFieldKind::Text, ""),
            optional_field("status", ToolFieldKind::Text, ""),
            optional_field("active_work", ToolFieldKind::Texts, ""),
            optional_field("blockers", ToolFieldKind::Texts, ""),
            optional_field("next_action", ToolFieldKind::Text, ""),
        ],
        effect: ToolEffect::Replaces,
        answers: ToolAnswerForm::Change,
        usual: true,
    },
    ToolSpec {
        name: "memory_save_decision",
        about: "Record a decision under the next id.",
        fields: &[
            required_field("title", ToolFieldKind::Text, ""),
            required_field("decision", ToolFieldKind::Text, ""),
            optional_field("rationale", ToolFieldKind::Text, ""),
            optional_field("decided_by", ToolFieldKind::Text, ""),
            optional_field("status", ToolFieldKind::Text, "Default Final"),
        ],
        effect: ToolEffect::Adds,
        answers: ToolAnswerForm::Change,
        usual: true,
    },
    ToolSpec {
        name: "memory_save_progress",
        about: "Add a task, or complete the one that matches.",
        fields: &[
            required_field("task", ToolFieldKind::Text, ""),
            optional_field(
                "action",
                ToolFieldKind::Choice(&["add", "complete"], &[]),
                "",
            ),
            optional_field("section", ToolFieldKind::Text, "Default In Progress"),
        ],
        effect: ToolEffect::Adds,
        answers: ToolAnswerForm::Change,
        usual: true,
    },
    ToolSpec {
        name: "memory_save_session",
        about: "Log what this session did, at its end.",
        fields: &[
            required_field("summary", ToolFieldKind::Text, ""),
            optional_field("completed", ToolFieldKind::Texts, ""),
            optional_field("decisions", ToolFieldKind::Texts, ""),
            optional_field("blockers", ToolFieldKind::Texts, ""),
            optional_field("next", ToolFieldKind::Text, ""),
        ],
        effect: ToolEffect::Adds,
        answers: ToolAnswerForm::Change,
        usual: true,
    },
];

/// Parameters of older servers that are accepted and not listed.
pub(crate) const UNLISTED_FIELDS: [(&str, ToolField); 1] = [(
    "memory_save_progress",
    optional_field(
        "completed",
        ToolFieldKind::Flag,
        "The same as action complete",
    ),
)];

/// Alternative names of fields, with the tool and the field's own name. The
/// command line has `--next` for both tools.
pub(crate) const FIELD_ALIASES: [(&str, &str, &str); 2] = [
    ("memory_update_state", "next", "next_action"),
    ("memory_save_session", "next_action", "next"),
];

pub(crate) fn find_tool(name: &str) -> Option<&'static ToolSpec> {
    ALL_TOOLS.iter().find(|spec| spec.name == name)
}

/// Returns the tools to list: those of every session, `all`, or a list of
/// names. Tools that are not listed can still be called.
pub(crate) fn select_tools(names: &[String]) -> Result<Vec<&'static ToolSpec>, String> {
    if names.is_empty() {
        return Ok(ALL_TOOLS.iter().filter(|spec| spec.usual).collect());
    }
    if names.iter().any(|name| name == "all") {
        return Ok(ALL_TOOLS.iter().collect());
    }
    if let Some(unknown) = names.iter().find(|name| find_tool(name).is_none()) {
        return Err(unknown.clone());
    }
    // In our order whatever theirs, so that a listing never varies.
    let wanted = |spec: &&ToolSpec| names.iter().any(|name| name == spec.name);
    Ok(ALL_TOOLS.iter().filter(wanted).collect())
}

/// The usual listing, as clients get it that load every schema at their start.
pub(crate) fn listing() -> String {
    let usual = ALL_TOOLS.iter().filter(|spec| spec.usual);
    let listing: Vec<Tool> = usual.map(ToolSpec::to_tool).collect();
    serde_json::to_string(&listing).expect("tools are plain data")
}

/// The names of the usual tools, which is all that Claude Code loads of them at
/// its start.
pub(crate) fn names() -> String {
    let usual = ALL_TOOLS.iter().filter(|spec| spec.usual);
    let names = usual.map(|spec| format!("mcp__memory-forge__{}", spec.name));
    names.collect::<Vec<_>>().join("\n")
}

impl ToolSpec {
    /// Returns `true` if it keeps what the caller wrote.
    pub(crate) fn writes_text(&self) -> bool {
        let text = |field: &ToolField| {
            matches!(
                field.kind,
                ToolFieldKind::Text | ToolFieldKind::Document | ToolFieldKind::Texts
            )
        };
        !matches!(self.effect, ToolEffect::Reads) && self.fields.iter().any(text)
    }

    /// Returns the tool as clients see it.
    pub(crate) fn to_tool(&self) -> Tool {
        Tool::new(self.name, self.about, Arc::new(self.input_schema()))
            .with_raw_output_schema(Arc::new(self.answers.schema()))
            .with_annotations(self.effect.annotations())
    }

    fn input_schema(&self) -> JsonObject {
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

impl ToolField {
    fn schema(&self) -> Value {
        let mut schema = match self.kind {
            ToolFieldKind::Text | ToolFieldKind::Document => json!({ "type": "string" }),
            ToolFieldKind::Texts => json!({ "type": "array", "items": { "type": "string" } }),
            ToolFieldKind::Integer { least, most } => {
                json!({ "type": "integer", "minimum": least, "maximum": most })
            }
            ToolFieldKind::Flag => json!({ "type": "boolean" }),
            ToolFieldKind::Choice(words, _) => json!({ "type": "string", "enum": words }),
        };
        if !self.about.is_empty() {
            schema["description"] = self.about.into();
        }
        schema
    }
}

impl ToolEffect {
    /// Returns the annotations, without those that the protocol assumes anyway.
    fn annotations(self) -> ToolAnnotations {
        let closed = ToolAnnotations::new().open_world(false);
        match self {
            ToolEffect::Reads => closed.read_only(true),
            ToolEffect::Adds => closed.destructive(false),
            ToolEffect::AddsOnce => closed.destructive(false).idempotent(true),
            ToolEffect::Replaces => closed.destructive(true).idempotent(true),
        }
    }
}

impl ToolAnswerForm {
    fn schema(self) -> JsonObject {
        let text = || json!({ "type": "string" });
        let (properties, required) = match self {
            ToolAnswerForm::Passages => (
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
            ToolAnswerForm::Text => (json!({ "text": text() }), "text"),
            ToolAnswerForm::Change => (json!({ "message": text(), "diff": text() }), "message"),
            ToolAnswerForm::Figures => (json!({ "message": text() }), "message"),
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
        let tools: Vec<Tool> = select_tools(&names)
            .expect("they are known")
            .iter()
            .map(|spec| spec.to_tool())
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
            let specs = select_tools(&given).expect("they are known");
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
        assert_eq!(select_tools(&["x".to_owned()]).err(), Some("x".to_owned()));
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
        for spec in &ALL_TOOLS {
            let tool = serde_json::to_value(spec.to_tool()).expect("a tool is JSON");
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
            let spec = find_tool(name).expect("it is known");
            serde_json::to_value(spec.to_tool()).expect("JSON")["annotations"][hint].clone()
        };
        assert_eq!(hint("search_knowledge", "readOnlyHint"), true);
        assert_eq!(hint("save_knowledge", "destructiveHint"), false);
        assert_eq!(hint("forget_knowledge", "destructiveHint"), true);
        assert_eq!(hint("memory_update_state", "idempotentHint"), true);
    }
}
