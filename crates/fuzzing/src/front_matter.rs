//! Front matter: one entry changes, reads back as it was meant, and every other
//! entry and the body stay.

use forge_app::document::{YamlValue, apply_edits, parse_document};

use crate::input::{choice, texts};

const KEYS: [&str; 6] = ["title", "tags", "k", "odd key: #", "é", "true"];

/// `pick ␞ value ␞ text`.
pub(crate) fn run(data: &[u8]) {
    let [pick, value, text] = texts(data);
    let key = KEYS[choice(&pick, KEYS.len())];
    let before = parse_document(text.as_str());
    let whole = before.problems.is_empty();
    let values: Vec<&str> = value.split(',').collect();
    for (edit, list) in [
        (before.set_front_matter(key, &value), false),
        (before.set_front_matter_list(key, &values), true),
    ] {
        let after = apply_edits(&text, vec![edit]).expect("an edit of a document fits it");
        let body = &text[before.body.clone()];
        assert!(after.ends_with(body), "{after:?}");
        let after = parse_document(after);
        crate::document::holds(&after);
        if !whole {
            continue;
        }
        let shown = &after.text;
        assert_eq!(after.problems, [], "{shown:?}");
        assert!(after.span_text(&after.body).ends_with(body), "{shown:?}");
        let new = after.front_matter.as_ref().expect("it was set");
        let read = new.get(key).expect("it was set");
        if list {
            assert_eq!(new.list(key), values, "{shown:?}")
        } else {
            let scalar = !matches!(
                read,
                YamlValue::List(_) | YamlValue::Map(_) | YamlValue::Null
            );
            assert!(scalar, "{shown:?}");
            assert_eq!(read.to_string(), value, "{shown:?}");
        }
        let old = before.front_matter.iter().flat_map(|it| &it.entries);
        for (name, value) in old.filter(|(name, _)| name != key) {
            assert!(same(new.get(name), value), "{name}: {shown:?}");
        }
        let again = if list {
            after.set_front_matter_list(key, &values)
        } else {
            after.set_front_matter(key, &value)
        };
        assert_eq!(apply_edits(shown, vec![again]).as_ref(), Ok(shown));
    }
}

/// `.nan` is not equal to itself.
fn same(new: Option<&YamlValue>, old: &YamlValue) -> bool {
    new.is_some_and(|new| new == old || format!("{new:?}") == format!("{old:?}"))
}
