//! Files of clients: what is put into them comes out again, and the file is
//! then what it was before, to the byte.

use forge_clients::client::Client;
use forge_clients::setup::hooks::{HookSet, Program};
use forge_clients::setup::json::Item;
use forge_clients::setup::{entries, git, hooks, json, stub, toml};
use serde_json::Value;

use crate::input::{choice, texts};

/// `pick ␞ program ␞ text`.
pub(crate) fn json(data: &[u8]) {
    let [pick, program, text] = texts(data);
    let client = Client::ALL[choice(&pick, Client::ALL.len())];
    let program = if program.is_empty() {
        Program::OnPath
    } else {
        Program::At(format!("{program}/memory-forge"))
    };
    let seeds = hooks::seeds(client);
    let mut wanted = hooks::items(client, HookSet::All, &program);
    wanted.push(Item {
        path: vec!["mcpServers".to_owned()],
        name: Some(entries::SERVER.to_owned()),
        value: serde_json::json!({"command": program.word(), "args": ["mcp"]}),
    });
    let (Ok(before), Ok(ours)) = (json::read(&text), entries::ours(&text)) else {
        return;
    };
    if !ours.is_empty() || entries::foreign_server(&text) != Ok(false) {
        // Taking them out is no promise about bytes, but one about the rest.
        if let Ok(base) = entries::without(Some(&text), None, &seeds) {
            let left = base.text.unwrap_or_default();
            assert_eq!(entries::ours(&left), Ok(Vec::new()), "{left:?}");
        }
        return;
    }
    let Ok(installed) = entries::with(Some(&text), None, &seeds, &wanted) else {
        return;
    };
    let installed = installed.expect("there is something to install");
    let again = entries::with(Some(&installed), None, &seeds, &wanted);
    assert_eq!(again.as_ref(), Ok(&Some(installed.clone())));
    let there = entries::ours(&installed).expect("what was written can be read");
    assert_eq!(there.len(), wanted.len(), "{installed}");
    assert!(
        wanted.iter().all(|item| there.contains(item)),
        "{installed}"
    );

    let record = Some(Some(text.as_str()));
    let base = entries::without(Some(&installed), record, &seeds);
    let base = base.expect("what was written can be read");
    assert_eq!(
        (base.text.as_deref(), base.exact),
        (Some(text.as_str()), true)
    );

    // Nobody remembers the file from before: still, nothing of it is lost.
    let base = entries::without(Some(&installed), None, &seeds);
    let Some(left) = base.expect("what was written can be read").text else {
        // As if the file had been made for it.
        assert_eq!(before, serde_json::json!({}));
        return;
    };
    let left = json::read(&left).expect("what is left can be read");
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
    if toml::server(&text) != Ok(toml::Server::Absent) {
        let _ = toml::without(&text).map(|left| {
            let left = left.unwrap_or_default();
            assert_ne!(toml::server(&left), Ok(toml::Server::Ours), "{left:?}");
        });
        return;
    }
    let Ok(with) = toml::with(Some(&text), &program) else {
        return;
    };
    assert_eq!(toml::server(&with), Ok(toml::Server::Ours), "{with:?}");
    assert_eq!(toml::with(Some(&with), &program).as_ref(), Ok(&with));
    assert_eq!(toml::without(&with), Ok(Some(text)), "{with:?}");
}

/// Lines of ours in `AGENTS.md` and in `.gitattributes`.
pub(crate) fn lines(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if !stub::is_in(&text)
        && let Ok(with) = stub::with(Some(&text), stub::Lines::Usual)
    {
        assert!(stub::is_in(&with), "{with:?}");
        assert_eq!(
            stub::with(Some(&with), stub::Lines::Usual).as_ref(),
            Ok(&with)
        );
        assert_eq!(stub::without(&with), Ok(Some(text.to_string())));
    }
    if !git::is_in(&text) {
        let with = git::with(Some(&text));
        assert!(git::is_in(&with), "{with:?}");
        assert_eq!(git::with(Some(&with)), with);
        assert_eq!(git::without(&with), Some(text.to_string()));
    }
}
