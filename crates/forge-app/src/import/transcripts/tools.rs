//! Formats tool calls as one line each: the name, the main argument, and the
//! head of the result. It works for unknown tools.

use serde_json::Value;

/// Keys of the main argument, the most significant first.
const TELLING_KEYS: [&str; 18] = [
    "command",
    "cmd",
    "file_path",
    "notebook_path",
    "pattern",
    "query",
    "path",
    "url",
    "skill",
    "subject",
    "description",
    "prompt",
    "question",
    "name",
    "title",
    "message",
    "text",
    "id",
];

/// Formats a call, such as `Bash: cargo test`.
pub(super) fn format_call(name: &str, input: &Value) -> String {
    let input = match input {
        // Codex keeps arguments as JSON in a text.
        Value::String(text) => match serde_json::from_str(text) {
            Ok(value @ (Value::Object(_) | Value::Array(_))) => value,
            _ => {
                return format_line(
                    name,
                    &list_patched_files(text).unwrap_or_else(|| find_first_line(text)),
                );
            }
        },
        other => other.clone(),
    };
    let telling = TELLING_KEYS
        .iter()
        .map(|key| &input[*key])
        .find(|value| !value.is_null() && *value != "");
    let point = match telling {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(words)) => join_command(words),
        Some(other) => other.to_string(),
        None if input.as_object().is_none_or(serde_json::Map::is_empty) => String::new(),
        None => input.to_string(),
    };
    format_line(name, &list_patched_files(&point).unwrap_or(point))
}

/// Formats a name and an argument.
fn format_line(name: &str, point: &str) -> String {
    let name = name.trim();
    let name = if name.is_empty() { "tool" } else { name };
    if point.trim().is_empty() {
        name.to_owned()
    } else {
        format!("{name}: {}", point.trim())
    }
}

/// Joins the words of a command; `["bash", "-lc", "ls"]` is `ls`.
fn join_command(words: &[Value]) -> String {
    let words: Vec<String> = words
        .iter()
        .map(|word| {
            word.as_str()
                .map_or_else(|| word.to_string(), str::to_owned)
        })
        .collect();
    match &words[..] {
        [shell, flag, script] if shell.ends_with("sh") && flag.starts_with('-') => script.clone(),
        _ => words.join(" "),
    }
}

/// Lists the files that a patch changes.
fn list_patched_files(text: &str) -> Option<String> {
    if !text.contains("*** Begin Patch") {
        return None;
    }
    let files = text.lines().filter_map(|line| {
        let rest = line.trim().strip_prefix("*** ")?;
        let (what, file) = rest.split_once(" File: ")?;
        matches!(what, "Add" | "Update" | "Delete").then(|| file.trim())
    });
    let files: Vec<&str> = files.take(20).collect();
    (!files.is_empty()).then(|| files.join(", "))
}

/// Returns the first line that is not blank.
fn find_first_line(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty());
    line.unwrap_or_default().to_owned()
}

/// Returns the text of a result in any form, without colours.
pub(super) fn result_text(value: &Value) -> String {
    strip_colours(extract_text(value))
}

/// Removes `ESC [ … m` and similar sequences, which programs write for
/// terminals.
fn strip_colours(text: String) -> String {
    if !text.contains('\u{1b}') {
        return text;
    }
    let mut clean = String::with_capacity(text.len());
    let mut parts = text.split("\u{1b}[");
    clean.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let numbers = part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        match numbers.strip_prefix(|c: char| c.is_ascii_alphabetic()) {
            Some(rest) => clean.push_str(rest),
            None => clean.push_str(&format!("\u{1b}[{part}")),
        }
    }
    clean
}

/// Extracts the text of a value.
fn extract_text(value: &Value) -> String {
    match value {
        Value::String(text) => match serde_json::from_str::<Value>(text) {
            Ok(Value::Object(fields)) if fields.get("output").is_some_and(Value::is_string) => {
                fields["output"].as_str().unwrap_or_default().to_owned()
            }
            _ => text.clone(),
        },
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| match part {
                Value::String(text) => Some(text.as_str()),
                other => other["text"].as_str(),
            });
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Object(fields) => {
            let text = ["content", "output", "text"]
                .iter()
                .find_map(|key| fields.get(*key));
            text.filter(|it| !it.is_object())
                .map(extract_text)
                .unwrap_or_default()
        }
        _ => String::new(),
    }
}

/// Returns the first line, and how many more there are.
pub(super) fn summarize_head(text: &str) -> String {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let Some(first) = lines.next() else {
        return String::new();
    };
    let first: String = first.trim().chars().take(180).collect();
    match lines.count() {
        0 => first,
        more => format!("{first} (+{})", super::pluralize_count(more, "line")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_call_is_one_line() {
        let check =
            |name: &str, input: Value, expect: &str| assert_eq!(format_call(name, &input), expect);
        check(
            "Bash",
            json!({"description": "List", "command": "ls -la"}),
            "Bash: ls -la",
        );
        check(
            "Read",
            json!({"file_path": "/a/b.rs", "limit": 5}),
            "Read: /a/b.rs",
        );
        check(
            "shell",
            json!("{\"command\":[\"bash\",\"-lc\",\"ls\"]}"),
            "shell: ls",
        );
        check(
            "apply_patch",
            json!(
                "*** Begin Patch\n*** Add File: a.txt\n+x\n*** Update File: b.txt\n*** End Patch"
            ),
            "apply_patch: a.txt, b.txt",
        );
        check("Odd", json!({"zeta": 1}), "Odd: {\"zeta\":1}");
        check("Nothing", json!({}), "Nothing");
        check("", Value::Null, "tool");
    }

    #[test]
    fn a_result_is_its_first_line() {
        let check =
            |value: Value, expect: &str| assert_eq!(summarize_head(&result_text(&value)), expect);
        check(json!("\none\ntwo\nthree\n"), "one (+2 lines)");
        check(
            json!([{"type": "text", "text": "a"}, {"type": "image"}]),
            "a",
        );
        check(json!("{\"output\":\"done\\n\",\"metadata\":{}}"), "done");
        check(json!({"content": [{"text": "x"}]}), "x");
        check(json!("\u{1b}[1;32mok\u{1b}[0m"), "ok");
        check(json!(7), "");
    }
}
