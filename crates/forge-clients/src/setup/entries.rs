//! Finds our entries in a client's JSON, brings them to what is wanted, and
//! restores the file as it was without them. Entries of others are never
//! touched.

use serde_json::Value;

use super::hooks;
use super::json::{self, Broken, Item, Which};

/// The name of our server in every client.
pub const SERVER: &str = "memory-forge";

/// Names that clients have for the object of their servers.
const SERVER_KEYS: [&str; 2] = ["mcpServers", "mcp"];

/// File without our entries, and whether that is exact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base {
    /// The file, or none where there was none.
    pub text: Option<String>,
    /// Whether the text is surely what was there before, to the byte.
    pub exact: bool,
}

/// Returns our entries of a file, as items that `add_all` would add again.
pub fn ours(text: &str) -> Result<Vec<Item>, Broken> {
    Ok(find(&json::read(text)?)
        .into_iter()
        .map(|f| f.item)
        .collect())
}

/// Returns the file with exactly these entries of ours. Seeds are added where
/// they are missing, and only together with an entry.
pub fn with(
    current: Option<&str>,
    record: Option<Option<&str>>,
    seeds: &[Item],
    wanted: &[Item],
) -> Result<Option<String>, Broken> {
    let there = current.map(ours).transpose()?.unwrap_or_default();
    // The file stays byte for byte if its entries are right already.
    if same(&there, wanted) {
        return Ok(current.map(str::to_owned));
    }
    let base = without(current, record, seeds)?.text;
    if wanted.is_empty() {
        return Ok(base);
    }
    install(base.as_deref(), seeds, wanted).map(Some)
}

/// Returns the file as it was before our entries were added. `record` is what
/// is known of that; it is trusted if adding our entries to it gives the file
/// as it is.
pub fn without(
    current: Option<&str>,
    record: Option<Option<&str>>,
    seeds: &[Item],
) -> Result<Base, Broken> {
    let exact = |text: Option<&str>| Base {
        text: text.map(str::to_owned),
        exact: true,
    };
    let Some(text) = current else {
        return Ok(exact(None));
    };
    let found = find(&json::read(text)?);
    if found.is_empty() {
        return Ok(exact(current));
    }
    if found.iter().all(|f| f.inner.is_none()) {
        let as_they_stand: Vec<Item> = found.iter().map(|f| f.item.clone()).collect();
        // If an event had an empty list before, our entry is at that place in
        // the file, although entries were added in the order of events.
        let mut as_they_came = as_they_stand.clone();
        as_they_came.sort_by_key(|item| match (&item.name, item.path.last()) {
            (None, Some(event)) => hooks::place_of(event),
            _ => usize::MAX,
        });
        for items in [as_they_stand, as_they_came] {
            for before in record.into_iter().chain([None]) {
                if install(before, seeds, &items).as_deref() == Ok(text) {
                    return Ok(exact(before));
                }
            }
        }
    }
    let mut left = text.to_owned();
    // From the last to the first, so that positions stay true.
    for found in found.iter().rev() {
        left = found.remove(&left)?;
    }
    Ok(Base {
        text: Some(left),
        exact: false,
    })
}

/// Returns `true` if these settings run `memory-forge hook` at an event, by our
/// entry or by a call that the user wrote. Settings that cannot be read run
/// nothing.
pub fn calls_us(text: &str, event: &str) -> bool {
    let Ok(value) = json::read(text) else {
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
        let text = |key| handler.get(key).and_then(Value::as_str);
        let command = text("command").or(text("bash"));
        command.is_some_and(|command| command.contains("memory-forge") && command.contains(" hook"))
    })
}

/// Returns what the predecessor's scripts have in a file: the events that run
/// them, and its server.
pub(super) fn predecessors(text: &str) -> Vec<String> {
    let value = json::read(text).unwrap_or_default();
    let mut names: Vec<String> = find_predecessors(&value)
        .into_iter()
        .filter_map(|found| found.item.name.or(found.item.path.last().cloned()))
        .collect();
    names.dedup();
    names
}

/// Returns the file without the entries of the predecessor.
pub(super) fn without_predecessors(text: &str) -> Result<String, Broken> {
    let mut left = text.to_owned();
    // From the last to the first, so that positions stay true.
    for found in find_predecessors(&json::read(text)?).iter().rev() {
        left = found.remove(&left)?;
    }
    Ok(left)
}

fn find_predecessors(value: &Value) -> Vec<Found> {
    let mut found = find_hooks(value, hooks::is_predecessors);
    let server = value.get(SERVER_KEYS[0]).and_then(|all| all.get("memory"));
    let words = server.map(server_words).unwrap_or_default().join(" ");
    let words = words.replace('\\', "/").to_lowercase();
    // The name is common; the program shows whose server it is.
    if words.contains("memory-mcp/") || words.contains("memoryforge") {
        found.push(Found {
            item: Item {
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
pub(super) fn programs(text: &str) -> Vec<String> {
    let Ok(value) = json::read(text) else {
        return Vec::new();
    };
    let mut programs = Vec::new();
    for found in find(&value) {
        let value = &found.item.value;
        let inner = value.get("hooks").and_then(Value::as_array);
        let handlers = inner.into_iter().flatten().chain([value]);
        let commands = handlers.filter_map(command_of);
        programs.extend(commands.filter_map(hooks::program_of));
        if found.item.name.is_some() {
            programs.extend(server_words(value).first().map(|it| (*it).to_owned()));
        }
    }
    programs
}

/// Returns `true` if a server of our name is not ours.
pub fn foreign_server(text: &str) -> Result<bool, Broken> {
    let value = json::read(text)?;
    Ok(SERVER_KEYS.iter().any(|key| {
        let server = value.get(key).and_then(|servers| servers.get(SERVER));
        server.is_some_and(|server| !is_our_server(server))
    }))
}

fn install(before: Option<&str>, seeds: &[Item], items: &[Item]) -> Result<String, Broken> {
    let text = json::add_all(before.unwrap_or("{}\n"), seeds)?;
    json::add_all(&text, items)
}

fn same(a: &[Item], b: &[Item]) -> bool {
    a.len() == b.len() && a.iter().all(|item| b.contains(item))
}

/// Entry of ours in a file, with its position.
struct Found {
    item: Item,
    index: usize,
    /// The position of our handler in a group that has others as well.
    inner: Option<usize>,
}

impl Found {
    fn remove(&self, text: &str) -> Result<String, Broken> {
        let path: Vec<&str> = self.item.path.iter().map(String::as_str).collect();
        if let Some(inner) = self.inner {
            return json::remove_inner(text, &path, self.index, "hooks", inner);
        }
        match &self.item.name {
            Some(name) => json::remove(text, &path, Which::Property(name)),
            None => json::remove(text, &path, Which::Element(self.index)),
        }
    }
}

/// Finds the hooks whose commands satisfy `is_meant`. A group that has no other
/// handlers is found as a whole.
fn find_hooks(value: &Value, is_meant: impl Fn(&str) -> bool) -> Vec<Found> {
    let is_meant = |handler: &Value| command_of(handler).is_some_and(&is_meant);
    let mut found = Vec::new();
    let events = value.get("hooks").and_then(Value::as_object);
    for (event, groups) in events.into_iter().flatten() {
        for (index, group) in groups.as_array().into_iter().flatten().enumerate() {
            let item = Item {
                path: vec!["hooks".to_owned(), event.clone()],
                name: None,
                value: group.clone(),
            };
            let handlers = group.get("hooks").and_then(Value::as_array);
            let all = |list: &[Value]| list.iter().all(is_meant) && !list.is_empty();
            if is_meant(group) || handlers.is_some_and(|list| all(list)) {
                let inner = None;
                found.push(Found { item, index, inner });
                continue;
            }
            for (inner, handler) in handlers.into_iter().flatten().enumerate() {
                if is_meant(handler) {
                    found.push(Found {
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
fn find(value: &Value) -> Vec<Found> {
    let mut found = find_hooks(value, hooks::is_ours);
    for key in SERVER_KEYS {
        let server = value.get(key).and_then(|servers| servers.get(SERVER));
        if let Some(server) = server.filter(|server| is_our_server(server)) {
            found.push(Found {
                item: Item {
                    path: vec![key.to_owned()],
                    name: Some(SERVER.to_owned()),
                    value: server.clone(),
                },
                index: 0,
                inner: None,
            });
        }
    }
    found
}

fn command_of(handler: &Value) -> Option<&str> {
    let text = |key| handler.get(key).and_then(Value::as_str);
    text("command").or(text("bash"))
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

    use super::super::hooks::{HookSet, Program};
    use super::super::{Client, json::Item};
    use super::*;

    const CLIENTS: [Client; 5] = [
        Client::Claude,
        Client::Codex,
        Client::Gemini,
        Client::Copilot,
        Client::Cursor,
    ];

    fn wanted(client: Client, set: HookSet) -> Vec<Item> {
        let mut items = hooks::items(client, set, &Program::OnPath);
        items.push(Item {
            path: vec!["mcpServers".to_owned()],
            name: Some(SERVER.to_owned()),
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
            let seeds = hooks::seeds(client);
            for shape in shapes() {
                let record = Some(shape.as_deref());
                let mut text = shape.clone();
                for set in [HookSet::All, HookSet::Default, HookSet::Default] {
                    let items = wanted(client, set);
                    let next = with(text.as_deref(), record, &seeds, &items)
                        .unwrap_or_else(|e| panic!("{client:?} {shape:?}: {e:?}"));
                    let there = ours(next.as_deref().expect("it was written"));
                    assert!(same(&there.expect("it can be read"), &items));
                    let again = with(next.as_deref(), record, &seeds, &items);
                    assert_eq!(again, Ok(next.clone()), "twice is once");
                    text = next;
                }
                let back = without(text.as_deref(), record, &seeds).expect("it can be read");
                assert_eq!(back.text, shape, "{client:?}");
                assert!(back.exact);
            }
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
                let text = with(shape, None, &[], &items).expect("it can be read");
                let back = without(text.as_deref(), None, &[]).expect("it can be read");
                assert_eq!(back.text.as_deref(), shape, "{client:?}");
            }
        }
    }

    #[test]
    fn edits_after_setup_are_kept() {
        let items = wanted(Client::Claude, HookSet::Default);
        let before = "{\n  \"a\": 1\n}\n";
        let text = with(Some(before), None, &[], &items)
            .expect("read")
            .expect("text");
        let edited = text.replace("\"a\": 1", "\"a\": 2, \"mine\": [3]");
        let back = without(Some(&edited), Some(Some(before)), &[]).expect("read");
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
        let back = without(Some(text), None, &[]).expect("read").text;
        let expect =
            "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"command\": \"a\"}, {\"command\": \"b\"}]}]}}";
        assert_eq!(back.as_deref(), Some(expect));
    }

    #[test]
    fn a_server_of_our_name_that_is_not_ours_is_seen() {
        let check = |text, expect| assert_eq!(foreign_server(text), Ok(expect), "{text}");
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
