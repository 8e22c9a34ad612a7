//! Another model than the built-in one: chosen by a path of the workspace or
//! by the user, and never trusted.

use std::path::Path;

use testkit::{Output, TestWorkspace};

use crate::harness::ws;

const NOTES: &str = "
    //- knowledge/payments.md
    # Payments

    A charge that failed is tried again three times.
    //- knowledge/birds.md
    # Birds

    The heron stands in the shallow water and waits.
";

/// The built-in model, which is also a file.
fn model() -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../forge-embed/model");
    let file = std::fs::read_dir(folder)
        .expect("the sources are here")
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|it| it == "bin"));
    std::fs::read(file.expect("the model is part of the sources")).expect("it can be read")
}

/// Where a section of a model file lies: after 16 bytes comes a table of names
/// with place and length.
fn section(file: &[u8], name: &str) -> std::ops::Range<usize> {
    let entries = file[16..].as_chunks::<32>().0;
    let entry = entries.iter().find(|it| it.starts_with(name.as_bytes()));
    let entry = entry.expect("the model has that section");
    let number = |at: usize| {
        let bytes = entry[at..].first_chunk().expect("an entry has 32 bytes");
        u32::from_le_bytes(*bytes) as usize
    };
    number(24)..number(24) + number(28)
}

/// Which model the stored vectors come from, and how many there are.
fn stored(ws: &TestWorkspace) -> (String, i64) {
    let db = rusqlite::Connection::open(ws.path(".memory-forge/index.db")).expect("an index");
    let ask = |sql: &str| db.query_row(sql, [], |row| row.get::<_, rusqlite::types::Value>(0));
    let model = match ask("select value from meta where key = 'model'") {
        Ok(rusqlite::types::Value::Text(model)) => model,
        other => panic!("no model: {other:?}"),
    };
    match ask("select count(*) from chunk where embedded = 1") {
        Ok(rusqlite::types::Value::Integer(count)) => (model, count),
        other => panic!("no count: {other:?}"),
    }
}

fn search(ws: &TestWorkspace) -> Output {
    ws.run(&["search", "--mode", "vector", "wading bird"])
}

#[test]
fn a_model_of_the_workspace_takes_the_place_of_the_built_in_one() {
    let ws = ws(NOTES);
    ws.run(&["index"]).ok();
    let (before, count) = stored(&ws);
    assert!(
        before.starts_with("forge-") && count == 2,
        "{before} {count}"
    );

    ws.write("models/own.bin", model());
    // Time enough for every vector, on a busy machine too.
    ws.write(
        "memory-forge.toml",
        "[search]\nmodel = \"models/own.bin\"\nembed_budget_ms = 60000\n",
    );
    let output = search(&ws);
    assert!(output.ok().contains("birds.md"), "{output}");
    assert_eq!(output.stderr, "");
    let (after, count) = stored(&ws);
    assert!(after.starts_with("file-") && count == 2, "{after} {count}");

    // Other bytes are another model, whatever they are called.
    let mut other = model();
    other.push(0);
    ws.write("models/own.bin", other);
    search(&ws).ok();
    assert_ne!(stored(&ws).0, after);
}

#[test]
fn a_model_that_cannot_be_used_is_a_warning_and_the_words_still_answer() {
    let ws = ws(NOTES);
    ws.run(&["index"]).ok();
    let before = stored(&ws);
    ws.write(
        "memory-forge.toml",
        "[search]\nmodel = \"models/own.bin\"\n",
    );
    let check = |why: &str| {
        let output = ws.run(&["search", "heron"]);
        assert!(output.ok().contains("birds.md"), "{output}");
        for part in ["`search.model`", "`models/own.bin`", why, "keyword only"] {
            assert!(output.stderr.contains(part), "no {part}: {output}");
        }
        assert_eq!(stored(&ws), before, "stored vectors stay");
    };
    check("cannot read it");
    ws.write("models/own.bin", "not a model");
    check("it is not a model file of this program");
    ws.write("models/own.bin", &model()[..5_000_000]);
    check("it is cut short");
    // A table of words that is full would be searched without end.
    let mut hostile = model();
    let slots = section(&hostile, "vocab.slots");
    hostile[slots].fill(0);
    ws.write("models/own.bin", hostile);
    check("contains invalid values");
}

#[test]
fn a_repository_names_no_file_outside_of_itself() {
    let outside = TestWorkspace::empty();
    outside.write("own.bin", model());
    let path = outside.path("own.bin").display().to_string();
    for named in [path.as_str(), "../own.bin", "models/../../own.bin"] {
        let ws = ws(NOTES);
        let text = format!("[search]\nmodel = {}\n", serde_json::json!(named));
        ws.write("memory-forge.toml", text);
        let output = search(&ws);
        assert!(output.ok().contains("birds.md"), "{output}");
        assert!(
            output.stderr.contains("a path inside the workspace"),
            "{output}"
        );
        assert!(stored(&ws).0.starts_with("forge-"), "the default applies");
    }
    #[cfg(unix)]
    {
        let ws = ws(NOTES);
        std::os::unix::fs::symlink(&path, ws.path("own.bin")).expect("a link");
        ws.write("memory-forge.toml", "[search]\nmodel = \"own.bin\"\n");
        let output = ws.run(&["search", "heron"]);
        assert!(output.ok().contains("birds.md"), "{output}");
        assert!(output.stderr.contains("keyword only"), "{output}");
    }
}

#[test]
fn the_user_may_name_any_file_and_wins() {
    let elsewhere = TestWorkspace::empty();
    elsewhere.write("own.bin", model());
    let path = elsewhere.path("own.bin").display().to_string();
    let user = ws(NOTES).env("MEMORY_FORGE_MODEL", &path);
    user.write("memory-forge.toml", "[search]\nmodel = \"not/there.bin\"\n");
    let output = search(&user);
    assert!(output.ok().contains("birds.md"), "{output}");
    assert_eq!(output.stderr, "");
    assert!(stored(&user).0.starts_with("file-"));

    // A relative one would mean another file in each project.
    let relative = ws(NOTES).env("MEMORY_FORGE_MODEL", "own.bin");
    let output = relative.run(&["search", "heron"]);
    assert!(output.ok().contains("birds.md"), "{output}");
    assert!(output.stderr.contains("`MEMORY_FORGE_MODEL`"), "{output}");
    assert!(output.stderr.contains("absolute"), "{output}");
}
