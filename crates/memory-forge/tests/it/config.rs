//! Every key can be looked up, with where its value comes from.

use crate::harness::ws;

#[test]
fn every_key_has_a_value_an_origin_and_a_sentence() {
    let ws = ws("//- memory-forge.toml\n[search]\nlimit = 7\nlimt = 8\n");
    let output = ws.run(&["config"]);
    let text = output.ok();
    assert!(
        text.contains("search.limit = 7 (memory-forge.toml; default 5)\n    "),
        "{output}"
    );
    assert!(
        text.contains("search.mode = \"hybrid\" (default)\n    "),
        "{output}"
    );
    assert!(
        output.stderr.contains("did you mean `search.limit`?"),
        "{output}"
    );

    let json: serde_json::Value =
        serde_json::from_str(&ws.run(&["config", "--json"]).stdout).unwrap();
    let keys = json["keys"].as_array().unwrap();
    let limit = keys
        .iter()
        .find(|key| key["key"] == "search.limit")
        .unwrap();
    assert_eq!((&limit["value"], &limit["default"]), (&7.into(), &5.into()));
    assert_eq!(limit["origin"], "memory-forge.toml");
    let mode = keys.iter().find(|key| key["key"] == "search.mode").unwrap();
    assert_eq!(
        (&mode["value"], &mode["origin"]),
        (&"hybrid".into(), &"default".into())
    );
    for key in keys {
        assert!(
            text.contains(&format!("{} = ", key["key"].as_str().unwrap())),
            "{key}"
        );
        assert!(
            key["about"]
                .as_str()
                .is_some_and(|about| about.ends_with('.')),
            "{key}"
        );
    }
}

#[test]
fn the_older_file_is_named_where_it_counts() {
    let ws = ws("//- .memoryforge.config.json\n{ \"maxCheckpointFiles\": 3 }\n");
    let output = ws.run(&["config"]);
    assert!(
        output
            .ok()
            .contains("= 3 (.memoryforge.config.json; default 10)"),
        "{output}"
    );
}
