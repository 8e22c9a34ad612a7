//! Finds our entries in a client's JSON, brings them to what is wanted, and
//! restores the file as it was without them. Entries of others are never
//! touched.

use std::borrow::Cow;

use serde_json::Value;

use super::hooks;
use super::json::{self, ItemSelector, JsonItem, SyntaxProblem};

/// The name of our server in every client.
pub const SERVER_NAME: &str = "memory-forge";

/// Names that clients have for the object of their servers.
const SERVER_KEYS: [&str; 2] = ["mcpServers", "mcp"];

/// File without our entries, and whether that is exact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseText {
    /// The file, or none where there was none.
    pub text: Option<String>,
    /// Whether the text is surely what was there before, to the byte.
    pub exact: bool,
}

/// Returns our entries of a file, as items that `add_items` would add again.
pub fn our_entries(text: &str) -> Result<Vec<JsonItem>, SyntaxProblem> {
    Ok(find_our_entries(&json::read_value(text)?)
        .into_iter()
        .map(|f| f.item)
        .collect())
}

/// Returns the file with exactly these entries of ours. Seeds are added where
/// they are missing, and only together with an entry.
pub fn with_entries(
    current: Option<&str>,
    record: Option<Option<&str>>,
    seeds: &[JsonItem],
    wanted: &[JsonItem],
) -> Result<Option<String>, SyntaxProblem> {
    let there = current.map(our_entries).transpose()?.unwrap_or_default();
    // The file stays byte for byte if its entries are right already.
    if same_entries(&there, wanted) {
        return Ok(current.map(str::to_owned));
    }
    let base = without_entries(current, record, seeds)?.text;
    if wanted.is_empty() {
        return Ok(base);
    }
    add_entries(base.as_deref(), seeds, wanted).map(Some)
}

/// Returns the file as it was before our entries were added. `record` is what
/// is known of that; it is trusted if adding our entries to it gives the file
/// as it is.
pub fn without_entries(
    current: Option<&str>,
    record: Option<Option<&str>>,
    seeds: &[JsonItem],
) -> Result<BaseText, SyntaxProblem> {
    let exact = |text: Option<&str>| BaseText {
        text: text.map(str::to_owned),
        exact: true,
    };
    let Some(text) = current else {
        return Ok(exact(None));
    };
    let found = find_our_entries(&json::read_value(text)?);
    if found.is_empty() {
        return Ok(exact(current));
    }
    if found.iter().all(|f| f.inner.is_none()) {
        let as_they_stand: Vec<JsonItem> = found.iter().map(|f| f.item.clone()).collect();
        // If an event had an empty list before, our entry is at that place in
        // the file, although entries were added in the order of events.
        let mut as_they_came = as_they_stand.clone();
        as_they_came.sort_by_key(|item| match (&item.name, item.path.last()) {
            (None, Some(event)) => hooks::event_position(event),
            _ => usize::MAX,
        });
        for items in [as_they_stand, as_they_came] {
            for before in record.into_iter().chain([None]) {
                if add_entries(before, seeds, &items).as_deref() == Ok(text) {
                    return Ok(exact(before));
                }
            }
        }
    }
    let mut left = text.to_owned();
    // From the last to the first, so that positions stay true.
    for found in found.iter().rev() {
        left = found.remove_from(&left)?;
    }
    Ok(BaseText {
        text: Some(left),
        exact: false,
    })
}

/// Returns `true` if these settings run `memory-forge hook` at an event, by our
/// entry or by a call that the user wrote. Settings that cannot be read run
/// nothing.
pub fn calls_us(text: &str, event: &str) -> bool {
    let Ok(value) = json::read_value(text) else {
        return false;
    };
    if value.get("disableAllHooks") == Some(&Value::Bool(true)) {
        return false;
    }
    let handlers = |group: &Value| -> Vec<Value> {
        let inner = group.get("hooks").and_then(Value::as_array);
        inner.cloned().unwrap_or_else(|| vec![group.clone()])
    };
    let groups = value.get("hooks").and_then(|hooks| hooks.get(event));
    let groups = groups.and_then(Value::as_array).into_iter().flatten();
    groups.flat_map(handlers).any(|handler| {
        handler_line(&handler)
            .is_some_and(|line| line.contains("memory-forge") && line.contains(" hook"))
    })
}

/// Returns what the predecessor's scripts have in a file: the events that run
/// them, and its server.
pub(super) fn predecessor_names(text: &str) -> Vec<String> {
    let value = json::read_value(text).unwrap_or_default();
    let mut names: Vec<String> = find_predecessors(&value)
        .into_iter()
        .filter_map(|found| found.item.name.or(found.item.path.last().cloned()))
        .collect();
    names.dedup();
    names
}

/// Returns the file without the entries of the predecessor.
pub(super) fn remove_predecessors(text: &str) -> Result<String, SyntaxProblem> {
    let mut left = text.to_owned();
    // From the last to the first, so that positions stay true.
    for found in find_predecessors(&json::read_value(text)?).iter().rev() {
        left = found.remove_from(&left)?;
    }
    Ok(left)
}

fn find_predecessors(value: &Value) -> Vec<FoundEntry> {
    let mut found = find_hooks(value, hooks::is_predecessor_command);
    let server = value.get(SERVER_KEYS[0]).and_then(|all| all.get("memory"));
    let words = server.map(server_words).unwrap_or_default().join(" ");
    let words = words.replace('\\', "/").to_lowercase();
    // The name is common; the program shows whose server it is.
    if words.contains("memory-mcp/") || words.contains("memoryforge") {
        found.push(FoundEntry {
            item: JsonItem {
                path: vec![SERVER_KEYS[0].to_owned()],
                name: Some("memory".to_owned()),
                value: server.cloned().unwrap_or_default(),
            },
            index: 0,
            inner: None,
        });
    }
    found
}

/// Returns the programs that our entries in a file call.
pub(super) fn called_programs(text: &str) -> Vec<String> {
    let Ok(value) = json::read_value(text) else {
        return Vec::new();
    };
    let mut programs = Vec::new();
    for found in find_our_entries(&value) {
        let value = &found.item.value;
        let inner = value.get("hooks").and_then(Value::as_array);
        let handlers = inner.into_iter().flatten().chain([value]);
        let commands = handlers.filter_map(handler_line);
        programs.extend(commands.filter_map(|line| hooks::command_program(&line)));
        if found.item.name.is_some() {
            programs.extend(server_words(value).first().map(|it| (*it).to_owned()));
        }
    }
    programs
}

/// Returns `true` if a server of our name is not ours.
pub fn has_foreign_server(text: &str) -> Result<bool, SyntaxProblem> {
    let value = json::read_value(text)?;
    Ok(SERVER_KEYS.iter().any(|key| {
        let server = value.get(key).and_then(|servers| servers.get(SERVER_NAME));
        server.is_some_and(|server| !is_our_server(server))
    }))
}

fn add_entries(
    before: Option<&str>,
    seeds: &[JsonItem],
    items: &[JsonItem],
) -> Result<String, SyntaxProblem> {
    let text = json::add_items(before.unwrap_or("{}\n"), seeds)?;
    json::add_items(&text, items)
}

fn same_entries(a: &[JsonItem], b: &[JsonItem]) -> bool {
    a.len() == b.len() && a.iter().all(|item| b.contains(item))
}

/// Entry of ours in a file, with its position.
struct FoundEntry {
    item: JsonItem,
    index: usize,
    /// The position of our handler in a group that has others as well.
    inner: Option<usize>,
}

impl FoundEntry {
    fn remove_from(&self, text: &str) -> Result<String, SyntaxProblem> {
        let path: Vec<&str> = self.item.path.iter().map(String::as_str).collect();
        if let Some(inner) = self.inner {
            return json::remove_inner_item(text, &path, self.index, "hooks", inner);
        }
        match &self.item.name {
            Some(name) => json::remove_item(text, &path, ItemSelector::Property(name)),
            None => json::remove_item(text, &path, ItemSelector::Element(self.index)),
        }
    }
}

/// Finds the hooks whose commands satisfy `is_meant`. A group that has no other
/// handlers is found as a whole.
fn find_hooks(value: &Value, is_meant: impl Fn(&str) -> bool) -> Vec<FoundEntry> {
    let is_meant = |handler: &Value| handler_line(handler).is_some_and(|line| is_meant(&line));
    let mut found = Vec::new();
    let events = value.get("hooks").and_then(Value::as_object);
    for (event, groups) in events.into_iter().flatten() {
        for (index, group) in groups.as_array().into_iter().flatten().enumerate() {
            let item = JsonItem {
                path: vec!["hooks".to_owned(), event.clone()],
                name: None,
                value: group.clone(),
            };
            let handlers = group.get("hooks").and_then(Value::as_array);
            let all = |list: &[Value]| list.iter().all(is_meant) && !list.is_empty();
            if is_meant(group) || handlers.is_some_and(|list| all(list)) {
                let inner = None;
                found.push(FoundEntry { item, index, inner });
                continue;
            }
            for (inner, handler) in handlers.into_iter().flatten().enumerate() {
                if is_meant(handler) {
                    found.push(FoundEntry {
                        item: item.clone(),
                        index,
                        inner: Some(inner),
                    });
                }
            }
        }
    }
    found
}

/// Finds all entries of ours.
fn find_our_entries(value: &Value) -> Vec<FoundEntry> {
    let mut found = find_hooks(value, hooks::is_our_command);
    for key in SERVER_KEYS {
        let server = value.get(key).and_then(|servers| servers.get(SERVER_NAME));
        if let Some(server) = server.filter(|server| is_our_server(server)) {
            found.push(FoundEntry {
                item: JsonItem {
                    path: vec![key.to_owned()],
                    name: Some(SERVER_NAME.to_owned()),
                    value: server.clone(),
                },
                index: 0,
                inner: None,
            });
        }
    }
    found
}

/// Returns the command line of a hook. One that names its arguments apart is
/// started without a shell.
fn handler_line(handler: &Value) -> Option<Cow<'_, str>> {
    let text = |key| handler.get(key).and_then(Value::as_str);
    let command = text("command").or(text("bash"))?;
    let Some(arguments) = handler.get("args").and_then(Value::as_array) else {
        return Some(Cow::Borrowed(command));
    };
    let arguments = arguments.iter().filter_map(Value::as_str);
    let words = std::iter::once(command).chain(arguments);
    Some(Cow::Owned(hooks::line_of_words(words)))
}

/// Returns the command line of a server, which clients write as a word and its
/// arguments or as one list.
fn server_words(server: &Value) -> Vec<&str> {
    match server.get("command") {
        Some(Value::String(program)) => {
            let arguments = server.get("args").and_then(Value::as_array);
            let arguments = arguments.into_iter().flatten().filter_map(Value::as_str);
            std::iter::once(program.as_str()).chain(arguments).collect()
        }
        Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn is_our_server(server: &Value) -> bool {
    let [program, "mcp", ..] = server_words(server)[..] else {
        return false;
    };
    let file = program.rsplit(['/', '\\']).next().unwrap_or_default();
    matches!(file, "memory-forge" | "memory-forge.exe")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::hooks::{HookSet, ProgramPath};
    use super::super::{AgentClient, json::JsonItem};
    use super::*;

    const CLIENTS: [AgentClient; 5] = [
        AgentClient::Claude,
        AgentClient::Codex,
        AgentClient::Gemini,
        AgentClient::Copilot,
        AgentClient::Cursor,
    ];

    fn wanted(client: AgentClient, set: HookSet) -> Vec<JsonItem> {
        let mut items = hooks::hook_items(client, set, &ProgramPath::OnPath);
        items.push(JsonItem {
            path: vec!["mcpServers".to_owned()],
            name: Some(SERVER_NAME.to_owned()),
            value: json!({"command": "memory-forge", "args": ["mcp"]}),
        });
        items
    }

    fn shapes() -> Vec<Option<String>> {
        let foreign = r#"{
  // mine
  "hooks": {
    "Stop": [
      { "hooks": [{ "type": "command", "command": "./mine.sh" }] }, // stays
    ],
    "stop": [{ "command": "./mine.sh" }]
  },
  "mcpServers": { "other": { "command": "other" } },
}
"#;
        let mut shapes: Vec<Option<String>> = [
            "",
            "\n",
            "{}",
            "{ }",
            "{\n}\n",
            "{\"hooks\":{}}",
            "{\n  \"hooks\": {\n    \"Stop\": []\n  }\n}",
            "{\n  \"a\": 1, // mine\n  \"hooks\": { \"Stop\": [], \"stop\": [] }\n}\n",
            "{\"version\":1,\"hooks\":{}}",
            "\u{feff}{\n\t\"a\": {\n\t\t\"b\": [\n\t\t]\n\t}\n}\n",
            foreign,
        ]
        .iter()
        .map(|text| Some((*text).to_owned()))
        .collect();
        shapes.push(Some(foreign.replace('\n', "\r\n")));
        shapes.push(Some(foreign.replace("  ", "\t")));
        shapes.push(None);
        shapes
    }

    #[test]
    fn what_was_before_comes_back_to_the_byte() {
        for client in CLIENTS {
            let seeds = hooks::hook_seeds(client);
            for shape in shapes() {
                let record = Some(shape.as_deref());
                let mut text = shape.clone();
                for set in [HookSet::All, HookSet::Default, HookSet::Default] {
                    let items = wanted(client, set);
                    let next = with_entries(text.as_deref(), record, &seeds, &items)
                        .unwrap_or_else(|e| panic!("{client:?} {shape:?}: {e:?}"));
                    let there = our_entries(next.as_deref().expect("it was written"));
                    assert!(same_entries(&there.expect("it can be read"), &items));
                    let again = with_entries(next.as_deref(), record, &seeds, &items);
                    assert_eq!(again, Ok(next.clone()), "twice is once");
                    text = next;
                }
                let back =
                    without_entries(text.as_deref(), record, &seeds).expect("it can be read");
                assert_eq!(back.text, shape, "{client:?}");
                assert!(back.exact);
            }
        }
    }

    /// Returns a file with the hooks of an earlier version, whose commands only a
    /// POSIX shell understood.
    fn set_up_by_an_earlier_version(client: AgentClient, before: Option<&str>) -> String {
        let mut items = wanted(client, HookSet::Default);
        for item in &mut items {
            let text = item.value.to_string();
            let text = text.replace(
                "\"memory-forge hook",
                "\"command -v memory-forge >/dev/null 2>&1 || exit 0; memory-forge hook",
            );
            let text = text.replace(" ; exit 0\"", "\"");
            item.value = serde_json::from_str(&text).expect("it is JSON");
        }
        let seeds = hooks::hook_seeds(client);
        add_entries(before, &seeds, &items).expect("it can be read")
    }

    #[test]
    fn entries_of_an_earlier_version_are_renewed_and_removed_to_the_byte() {
        for client in CLIENTS {
            let seeds = hooks::hook_seeds(client);
            for shape in shapes() {
                let record = Some(shape.as_deref());
                let former = set_up_by_an_earlier_version(client, shape.as_deref());
                let back = without_entries(Some(&former), record, &seeds).expect("read");
                assert_eq!((back.text, back.exact), (shape.clone(), true), "{client:?}");

                let items = wanted(client, HookSet::Default);
                let renewed = with_entries(Some(&former), record, &seeds, &items).expect("read");
                let fresh = with_entries(shape.as_deref(), record, &seeds, &items);
                assert_eq!(Ok(renewed), fresh, "{client:?}");
            }
        }
    }

    #[test]
    fn a_hook_without_a_shell_is_found_and_removed() {
        for path in [
            "C:\\a b\\memory-forge.exe",
            "\\\\server\\x\\memory-forge.exe",
        ] {
            let program = ProgramPath::At(path.to_owned());
            let items = hooks::hook_items(AgentClient::Claude, HookSet::Default, &program);
            let before = "{\n  \"a\": 1\n}\n";
            let text = with_entries(Some(before), None, &[], &items).expect("read");
            let text = text.expect("it was written");
            assert!(text.contains("\"args\""), "{text}");
            assert!(calls_us(&text, "UserPromptSubmit"));
            assert_eq!(called_programs(&text), vec![path; items.len()]);
            let back = without_entries(Some(&text), Some(Some(before)), &[]).expect("read");
            assert_eq!((back.text.as_deref(), back.exact), (Some(before), true));
        }
    }

    /// Somebody else's clone has no record of what was there.
    #[test]
    fn without_a_record_files_in_common_shapes_come_back_all_the_same() {
        for client in CLIENTS {
            let items = wanted(client, HookSet::Default);
            for shape in [
                None,
                Some("{}"),
                Some("{\n  \"a\": 1\n}\n"),
                Some("{\n\t\"a\": 1,\n\t\"hooks\": {\n\t\t\"Stop\": [\n\t\t\t1\n\t\t]\n\t}\n}\n"),
            ] {
                let text = with_entries(shape, None, &[], &items).expect("it can be read");
                let back = without_entries(text.as_deref(), None, &[]).expect("it can be read");
                assert_eq!(back.text.as_deref(), shape, "{client:?}");
            }
        }
    }

    #[test]
    fn edits_after_setup_are_kept() {
        let items = wanted(AgentClient::Claude, HookSet::Default);
        let before = "{\n  \"a\": 1\n}\n";
        let text = with_entries(Some(before), None, &[], &items)
            .expect("read")
            .expect("text");
        let edited = text.replace("\"a\": 1", "\"a\": 2, \"mine\": [3]");
        let back = without_entries(Some(&edited), Some(Some(before)), &[]).expect("read");
        assert_eq!(
            back.text.as_deref(),
            Some("{\n  \"a\": 2, \"mine\": [3]\n}\n")
        );
        assert!(!back.exact);
    }

    #[test]
    fn only_our_handler_leaves_a_group_that_somebody_shares_with_us() {
        let text = "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"command\": \"a\"}, \
                    {\"command\": \"memory-forge hook\"}, {\"command\": \"b\"}]}]}}";
        let back = without_entries(Some(text), None, &[]).expect("read").text;
        let expect =
            "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"command\": \"a\"}, {\"command\": \"b\"}]}]}}";
        assert_eq!(back.as_deref(), Some(expect));
    }

    #[test]
    fn a_server_of_our_name_that_is_not_ours_is_seen() {
        let check = |text, expect| assert_eq!(has_foreign_server(text), Ok(expect), "{text}");
        check("{}", false);
        check(
            "{\"mcpServers\": {\"memory-forge\": {\"command\": \"x\"}}}",
            true,
        );
        check(
            "{\"mcp\": {\"memory-forge\": {\"command\": [\"/a/memory-forge\", \"mcp\"]}}}",
            false,
        );
    }
}
