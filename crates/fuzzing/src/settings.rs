//! Files of clients: what is put into them comes out again, and the file is
//! then what it was before, to the byte.

use forge_clients::client::AgentClient;
use forge_clients::setup::hooks::{HookSet, ProgramPath};
use forge_clients::setup::json::JsonItem;
use forge_clients::setup::{entries, git, hooks, json, stub, toml};
use serde_json::Value;

use crate::input::{choice, texts};

/// `pick ␞ program ␞ text`.
pub(crate) fn json(data: &[u8]) {
    let [pick, program, text] = texts(data);
    let client = AgentClient::ALL[choice(&pick, AgentClient::ALL.len())];
    let program = if program.is_empty() {
        ProgramPath::OnPath
    } else {
        ProgramPath::At(format!("{program}/memory-forge"))
    };
    let seeds = hooks::hook_seeds(client);
    let mut wanted = hooks::hook_items(client, HookSet::All, &program);
    wanted.push(JsonItem {
        path: vec!["mcpServers".to_owned()],
        name: Some(entries::SERVER_NAME.to_owned()),
        value: serde_json::json!({"command": program.as_word(), "args": ["mcp"]}),
    });
    let (Ok(before), Ok(ours)) = (json::read_value(&text), entries::our_entries(&text)) else {
        return;
    };
    if !ours.is_empty() || entries::has_foreign_server(&text) != Ok(false) {
        // Taking them out is no promise about bytes, but one about the rest.
        if let Ok(base) = entries::without_entries(Some(&text), None, &seeds) {
            let left = base.text.unwrap_or_default();
            assert_eq!(entries::our_entries(&left), Ok(Vec::new()), "{left:?}");
        }
        return;
    }
    let Ok(installed) = entries::with_entries(Some(&text), None, &seeds, &wanted) else {
        return;
    };
    let installed = installed.expect("there is something to install");
    let again = entries::with_entries(Some(&installed), None, &seeds, &wanted);
    assert_eq!(again.as_ref(), Ok(&Some(installed.clone())));
    let there = entries::our_entries(&installed).expect("what was written can be read");
    assert_eq!(there.len(), wanted.len(), "{installed}");
    assert!(
        wanted.iter().all(|item| there.contains(item)),
        "{installed}"
    );

    let record = Some(Some(text.as_str()));
    let base = entries::without_entries(Some(&installed), record, &seeds);
    let base = base.expect("what was written can be read");
    assert_eq!(
        (base.text.as_deref(), base.exact),
        (Some(text.as_str()), true)
    );

    // Nobody remembers the file from before: still, nothing of it is lost.
    let base = entries::without_entries(Some(&installed), None, &seeds);
    let Some(left) = base.expect("what was written can be read").text else {
        // As if the file had been made for it.
        assert_eq!(before, serde_json::json!({}));
        return;
    };
    let left = json::read_value(&left).expect("what is left can be read");
    let mut before = before;
    for seed in &seeds {
        let name = seed.name.as_deref().expect("seeds are properties");
        if let Value::Object(fields) = &mut before {
            fields.entry(name).or_insert(seed.value.clone());
        }
    }
    assert_eq!(pruned(left), pruned(before), "{installed}");
    for comment in ["//", "/*"] {
        let count = |text: &str| text.matches(comment).count();
        assert!(count(&installed) >= count(&text), "{installed}");
    }
}

/// Without containers that hold nothing: ours take an empty one with them.
fn pruned(value: Value) -> Value {
    let Value::Object(mut fields) = value else {
        return value;
    };
    for key in ["hooks", "mcpServers", "mcp"] {
        let Some(inner) = fields.get_mut(key) else {
            continue;
        };
        if let Value::Object(inner) = inner {
            inner.retain(|_, it| it.as_array().is_none_or(|it| !it.is_empty()));
        }
        if inner.as_object().is_some_and(|it| it.is_empty()) {
            fields.shift_remove(key);
        }
    }
    Value::Object(fields)
}

/// `program ␞ text`.
pub(crate) fn toml(data: &[u8]) {
    let [program, text] = texts(data);
    let program = format!("{program}/memory-forge");
    if toml::server_table(&text) != Ok(toml::ServerTable::Absent) {
        let _ = toml::without_server(&text).map(|left| {
            let left = left.unwrap_or_default();
            assert_ne!(
                toml::server_table(&left),
                Ok(toml::ServerTable::Ours),
                "{left:?}"
            );
        });
        return;
    }
    let Ok(with) = toml::with_server(Some(&text), &program) else {
        return;
    };
    assert_eq!(
        toml::server_table(&with),
        Ok(toml::ServerTable::Ours),
        "{with:?}"
    );
    assert_eq!(toml::with_server(Some(&with), &program).as_ref(), Ok(&with));
    assert_eq!(toml::without_server(&with), Ok(Some(text)), "{with:?}");
}

/// Lines of ours in `AGENTS.md` and in `.gitattributes`.
pub(crate) fn lines(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if !stub::has_stub(&text)
        && let Ok(with) = stub::with_stub(Some(&text), stub::StubLines::Usual)
    {
        assert!(stub::has_stub(&with), "{with:?}");
        assert_eq!(
            stub::with_stub(Some(&with), stub::StubLines::Usual).as_ref(),
            Ok(&with)
        );
        assert_eq!(stub::without_stub(&with), Ok(Some(text.to_string())));
    }
    if !git::has_driver_lines(&text) {
        let with = git::with_driver_lines(Some(&text));
        assert!(git::has_driver_lines(&with), "{with:?}");
        assert_eq!(git::with_driver_lines(Some(&with)), with);
        assert_eq!(git::without_driver_lines(&with), Some(text.to_string()));
    }
}
