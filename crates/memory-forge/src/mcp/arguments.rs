//! Checks the arguments of a call once, in the order of older servers, and
//! reads them by name. An invalid one is an answer, never the end of the
//! server.

use rmcp::model::JsonObject;
use serde_json::Value;

use super::tools::{FIELD_ALIASES, ToolField, ToolFieldKind, ToolSpec, UNLISTED_FIELDS};
use crate::paths::nearest_name;

/// Upper bound for a call's arguments as JSON.
const MAX_CALL_BYTES: usize = 51_200;
/// Upper bound for a text, alone or in a list. A document may be as long as the
/// call.
const MAX_FIELD_BYTES: usize = 5_120;
/// Upper bound for a field's name in a message, since names come from the
/// caller too.
const MAX_NAME_CHARS: usize = 60;

/// Arguments that fit the tool they are for.
#[derive(Debug)]
pub(crate) struct ToolArguments {
    given: JsonObject,
}

impl ToolArguments {
    /// Checks sizes, names, required fields and kinds, in this order.
    ///
    /// A field that the tool does not know is refused: a misspelt name would
    /// otherwise be ignored, and the caller would believe that it had an
    /// effect.
    pub(crate) fn check_call(
        spec: &ToolSpec,
        mut given: JsonObject,
    ) -> Result<ToolArguments, String> {
        let size = serde_json::to_string(&given).map_or(usize::MAX, |text| text.len());
        if size > MAX_CALL_BYTES {
            return Err(format!(
                "Input too large ({size} bytes, max {MAX_CALL_BYTES}). Reduce input size."
            ));
        }
        rename_aliases(spec, &mut given)?;
        for (name, value) in &given {
            let kind = find_field(spec, name).map(|field| field.kind);
            if kind != Some(ToolFieldKind::Document) {
                check_size(name, value)?;
            }
        }
        if let Some(name) = given.keys().find(|name| find_field(spec, name).is_none()) {
            return Err(unknown_field(spec, name));
        }
        given.retain(|_, value| !value.is_null());
        let missing: Vec<&str> = spec
            .fields
            .iter()
            .filter(|field| field.required && !given.contains_key(field.name))
            .map(|field| field.name)
            .collect();
        if !missing.is_empty() {
            return Err(format!("Missing required field(s): {}", missing.join(", ")));
        }
        for (name, value) in &given {
            if let Some(field) = find_field(spec, name) {
                check_kind(field, value)?;
            }
        }
        Ok(ToolArguments { given })
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.given.get(name)?.as_str()
    }

    pub(crate) fn owned_text(&self, name: &str) -> Option<String> {
        self.text(name).map(str::to_owned)
    }

    pub(crate) fn texts(&self, name: &str) -> Option<Vec<String>> {
        match self.given.get(name)? {
            Value::String(one) => Some(vec![one.clone()]),
            Value::Array(all) => Some(
                all.iter()
                    .filter_map(|it| it.as_str().map(str::to_owned))
                    .collect(),
            ),
            _ => None,
        }
    }

    pub(crate) fn integer(&self, name: &str) -> Option<i64> {
        parse_integer(self.given.get(name)?)
    }

    /// Returns a number that was checked not to be negative.
    pub(crate) fn count(&self, name: &str) -> Option<usize> {
        usize::try_from(self.integer(name)?).ok()
    }

    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        self.given.get(name)?.as_bool()
    }

    /// Returns every text in it, to be checked before anything is written.
    pub(crate) fn all_texts(&self) -> Vec<&str> {
        let mut texts = Vec::new();
        for value in self.given.values() {
            match value {
                Value::String(text) => texts.push(text.as_str()),
                Value::Array(all) => texts.extend(all.iter().filter_map(Value::as_str)),
                _ => {}
            }
        }
        texts
    }
}

/// Renames fields of older servers to the names that they have here.
fn rename_aliases(spec: &ToolSpec, given: &mut JsonObject) -> Result<(), String> {
    let of_tool = FIELD_ALIASES.iter().filter(|(tool, ..)| *tool == spec.name);
    for (_, alias, name) in of_tool {
        let Some(value) = given.remove(*alias) else {
            continue;
        };
        if given.get(*name).is_some_and(|it| !it.is_null()) {
            return Err(format!(
                "Fields \"{alias}\" and \"{name}\" mean the same; give one of them"
            ));
        }
        given.insert((*name).to_owned(), value);
    }
    Ok(())
}

/// Returns the error for an unknown field, with the name that was most likely
/// meant.
fn unknown_field(spec: &ToolSpec, name: &str) -> String {
    let fields = || spec.fields.iter().map(|field| field.name);
    let refused = format!("Unknown field \"{}\" for {}", shorten_name(name), spec.name);
    match nearest_name(name, fields()) {
        Some(meant) => format!("{refused}. Did you mean \"{meant}\"?"),
        None if spec.fields.is_empty() => format!("{refused}, which takes no fields"),
        None => {
            let all: Vec<&str> = fields().collect();
            format!("{refused}. It takes {}", all.join(", "))
        }
    }
}

fn find_field(spec: &ToolSpec, name: &str) -> Option<&'static ToolField> {
    let spec = super::tools::find_tool(spec.name)?;
    let unlisted = || {
        UNLISTED_FIELDS
            .iter()
            .find(|(tool, field)| *tool == spec.name && field.name == name)
            .map(|(_, field)| field)
    };
    spec.fields
        .iter()
        .find(|field| field.name == name)
        .or_else(unlisted)
}

fn check_size(name: &str, value: &Value) -> Result<(), String> {
    let name = shorten_name(name);
    match value {
        Value::String(text) if text.len() > MAX_FIELD_BYTES => Err(format!(
            "Field \"{name}\" too large ({} bytes, max {MAX_FIELD_BYTES} per field). Reduce input size.",
            text.len()
        )),
        Value::Array(all) => {
            let long = |it: &&str| it.len() > MAX_FIELD_BYTES;
            match all.iter().filter_map(Value::as_str).find(long) {
                Some(text) => Err(format!(
                    "Array item in \"{name}\" too large ({} bytes, max {MAX_FIELD_BYTES} per item). Reduce input size.",
                    text.len()
                )),
                None => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

fn check_kind(field: &ToolField, value: &Value) -> Result<(), String> {
    let wrong = |what: &str| Err(format!("Field \"{}\" must be {what}", field.name));
    match field.kind {
        ToolFieldKind::Text | ToolFieldKind::Document if !value.is_string() => wrong("a string"),
        ToolFieldKind::Texts => match value {
            Value::String(_) => Ok(()),
            Value::Array(all) if all.iter().all(Value::is_string) => Ok(()),
            _ => wrong("a list of strings"),
        },
        ToolFieldKind::Integer { least, most } => match parse_integer(value) {
            Some(number) if (least..=most).contains(&number) => Ok(()),
            Some(_) => wrong(&format!("from {least} to {most}")),
            None => wrong("a whole number"),
        },
        ToolFieldKind::Flag if !value.is_boolean() => wrong("true or false"),
        ToolFieldKind::Choice(words, besides) => {
            let word = value.as_str().unwrap_or_default();
            if words.contains(&word) || besides.contains(&word) {
                Ok(())
            } else {
                wrong(&format!("one of {}", words.join(", ")))
            }
        }
        ToolFieldKind::Text | ToolFieldKind::Document | ToolFieldKind::Flag => Ok(()),
    }
}

/// Parses a whole number. Some clients write every number with a decimal point.
fn parse_integer(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| {
        let number = value.as_f64()?;
        (number.fract() == 0.0 && number.abs() < 1e15).then_some(number as i64)
    })
}

fn shorten_name(name: &str) -> String {
    match name.char_indices().nth(MAX_NAME_CHARS) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tools::find_tool;
    use super::*;

    #[track_caller]
    fn refused(tool: &str, given: Value) -> String {
        checked(tool, given).expect_err("it is refused")
    }

    fn checked(tool: &str, given: Value) -> Result<ToolArguments, String> {
        let Value::Object(given) = given else {
            panic!("arguments are an object")
        };
        ToolArguments::check_call(find_tool(tool).expect("it is known"), given)
    }

    #[test]
    fn sizes_come_before_what_is_missing_and_that_before_kinds() {
        let long = "x".repeat(5_121);
        let check = |given, expect: &str| {
            assert_eq!(refused("memory_save_decision", given), expect);
        };
        check(
            json!({ "title": "x".repeat(51_200) }),
            "Input too large (51212 bytes, max 51200). Reduce input size.",
        );
        check(
            json!({ "title": long }),
            "Field \"title\" too large (5121 bytes, max 5120 per field). Reduce input size.",
        );
        check(
            json!({ "rationale": [1, long] }),
            "Array item in \"rationale\" too large (5121 bytes, max 5120 per item). Reduce input size.",
        );
        check(
            json!({ "rationale": 3 }),
            "Missing required field(s): title, decision",
        );
        check(
            json!({ "title": null, "decision": "d" }),
            "Missing required field(s): title",
        );
        check(
            json!({ "title": "t", "decision": 3 }),
            "Field \"decision\" must be a string",
        );
    }

    #[test]
    fn limits_are_of_bytes_and_the_last_one_fits() {
        let fits = json!({ "title": "é".repeat(2_560), "decision": "d" });
        assert!(checked("memory_save_decision", fits).is_ok());
        let over = json!({ "title": "é".repeat(2_561), "decision": "d" });
        assert!(refused("memory_save_decision", over).contains("5122 bytes"));
    }

    #[test]
    fn a_document_may_fill_the_call() {
        let given = json!({ "type": "context", "name": "n", "content": "x".repeat(50_000) });
        assert!(checked("save_knowledge", given).is_ok());
    }

    #[test]
    fn numbers_lists_and_words_are_read_with_patience() {
        let given = json!({ "query": "q", "limit": 4.0, "source_type": "claude-md" });
        let arguments = checked("search_knowledge", given).expect("all of it is understood");
        assert_eq!(arguments.count("limit"), Some(4));
        let given = json!({ "summary": "s", "completed": "one" });
        let arguments = checked("memory_save_session", given).expect("a text is a list of one");
        assert_eq!(arguments.texts("completed"), Some(vec!["one".to_owned()]));
        let check = |given, expect: &str| assert_eq!(refused("search_knowledge", given), expect);
        check(
            json!({ "query": "q", "limit": 0 }),
            "Field \"limit\" must be from 1 to 20",
        );
        check(
            json!({ "query": "q", "limit": "3" }),
            "Field \"limit\" must be a whole number",
        );
        check(
            json!({ "query": "q", "scope": "moon" }),
            "Field \"scope\" must be one of knowledge, state, closets, agents, archive, evidence, all",
        );
    }

    /// D32: "unknown or misspelt arguments are refused with the nearest name,
    /// never ignored".
    #[test]
    fn d32_unknown_fields_are_refused_with_the_nearest_name() {
        let check = |tool: &str, given, expect: &str| assert_eq!(refused(tool, given), expect);
        check(
            "search_knowledge",
            json!({ "query": "q", "limits": 3 }),
            "Unknown field \"limits\" for search_knowledge. Did you mean \"limit\"?",
        );
        check(
            "memory_update_state",
            json!({ "active_wrok": ["a"] }),
            "Unknown field \"active_wrok\" for memory_update_state. Did you mean \"active_work\"?",
        );
        check(
            "memory_search",
            json!({ "query": "q", "zzz": null }),
            "Unknown field \"zzz\" for memory_search. It takes query, max_tokens",
        );
        check(
            "knowledge_stats",
            json!({ "verbose": true }),
            "Unknown field \"verbose\" for knowledge_stats, which takes no fields",
        );
        // A misspelt required field is named before it is missed.
        check(
            "memory_save_decision",
            json!({ "titel": "t", "decision": "d" }),
            "Unknown field \"titel\" for memory_save_decision. Did you mean \"title\"?",
        );
    }

    #[test]
    fn next_is_accepted_for_next_action() {
        let given = json!({ "next": "N" });
        let arguments = checked("memory_update_state", given).expect("it is understood");
        assert_eq!(arguments.text("next_action"), Some("N"));
        let given = json!({ "summary": "s", "next_action": "N" });
        let arguments = checked("memory_save_session", given).expect("it is understood");
        assert_eq!(arguments.text("next"), Some("N"));
        assert_eq!(
            refused(
                "memory_update_state",
                json!({ "next": "a", "next_action": "b" })
            ),
            "Fields \"next\" and \"next_action\" mean the same; give one of them"
        );
        assert_eq!(
            refused("memory_update_state", json!({ "next": 3 })),
            "Field \"next_action\" must be a string"
        );
    }
}
