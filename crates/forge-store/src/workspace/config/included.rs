//! Adds globs to `memory-forge.toml` and leaves every other byte as it is.

use toml_edit::{Array, DocumentMut, Item, Table, Value};

use super::KnowledgeConfig;

/// Returns the settings with these globs included and excluded as well, or
/// why they cannot be added.
pub fn with_included(text: Option<&str>, more: &KnowledgeConfig) -> Result<String, String> {
    let text = text.unwrap_or_default();
    let (mark, body) = match text.strip_prefix('\u{feff}') {
        Some(body) => ("\u{feff}", body),
        None => ("", text),
    };
    let mut document: DocumentMut = body
        .parse()
        .map_err(|error: toml_edit::TomlError| format!("is not valid TOML: {}", error.message()))?;
    if document.get("knowledge").is_none() {
        let mut table = Table::new();
        table.set_implicit(false);
        document.insert("knowledge", Item::Table(table));
        if !body.trim().is_empty()
            && let Some(Item::Table(table)) = document.get_mut("knowledge")
        {
            table.decor_mut().set_prefix("\n");
        }
    }
    let table = document
        .get_mut("knowledge")
        .and_then(Item::as_table_like_mut)
        .ok_or("has a `knowledge` that is not a table")?;
    for (key, globs) in [("include", &more.include), ("exclude", &more.exclude)] {
        if globs.is_empty() {
            continue;
        }
        let item = table
            .entry(key)
            .or_insert_with(|| Item::Value(Value::Array(Array::new())));
        if let Some(one) = item.as_str().map(str::to_owned) {
            *item = Item::Value(Value::Array(Array::from_iter([one])));
        }
        let array = item
            .as_array_mut()
            .ok_or_else(|| format!("has a `knowledge.{key}` that is not a list"))?;
        for glob in globs {
            if !array.iter().any(|it| it.as_str() == Some(glob)) {
                array.push(glob.as_str());
            }
        }
    }
    let after = document.to_string();
    let after = if body.contains("\r\n") {
        after.replace("\r\n", "\n").replace('\n', "\r\n")
    } else {
        after
    };
    Ok(format!("{mark}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(text: Option<&str>, include: &[&str], exclude: &[&str]) -> String {
        let texts = |globs: &[&str]| globs.iter().map(|it| it.to_string()).collect();
        let more = KnowledgeConfig {
            include: texts(include),
            exclude: texts(exclude),
        };
        with_included(text, &more).expect("the settings are sound")
    }

    #[test]
    fn what_is_there_stays_and_nothing_is_added_twice() {
        assert_eq!(
            add(None, &["docs/**"], &[]),
            "[knowledge]\ninclude = [\"docs/**\"]\n"
        );
        let mine = "# Mine\n[search]\nlimit = 3 # few\n";
        let with = add(Some(mine), &["docs/**"], &["docs/old/**"]);
        assert_eq!(
            with,
            format!("{mine}\n[knowledge]\ninclude = [\"docs/**\"]\nexclude = [\"docs/old/**\"]\n")
        );
        assert_eq!(add(Some(&with), &["docs/**"], &[]), with);
        let one = "[knowledge]\r\ninclude = \"a/**\" # why\r\n";
        let two = add(Some(one), &["b/**"], &[]);
        assert!(
            two.contains("\"a/**\", \"b/**\"]") && !two.contains("\"\n"),
            "{two:?}"
        );
        let inline = add(
            Some("knowledge = { include = [\"a/**\"] }\n"),
            &["b/**"],
            &[],
        );
        assert_eq!(inline, "knowledge = { include = [\"a/**\", \"b/**\"] }\n");
    }

    #[test]
    fn settings_that_cannot_be_read_are_not_changed() {
        let more = KnowledgeConfig {
            include: vec!["docs/**".to_owned()],
            exclude: Vec::new(),
        };
        for text in [
            "[knowledge",
            "knowledge = 3\n",
            "[knowledge]\ninclude = 3\n",
        ] {
            assert!(with_included(Some(text), &more).is_err(), "{text}");
        }
    }
}
