use serde_json::json;

use super::*;

fn element(path: &[&str], value: Value) -> JsonItem {
    JsonItem {
        path: path.iter().map(ToString::to_string).collect(),
        name: None,
        value,
    }
}

fn property(path: &[&str], name: &str, value: Value) -> JsonItem {
    JsonItem {
        name: Some(name.to_owned()),
        ..element(path, value)
    }
}

fn added(text: &str, items: &[JsonItem]) -> String {
    add_items(text, items).unwrap_or_else(|broken| panic!("{broken:?}: {text}"))
}

#[test]
fn an_entry_takes_the_shape_of_its_surroundings() {
    let check = |text: &str, expect: &str| {
        let item = element(&["hooks", "Stop"], json!({"run": "x"}));
        assert_eq!(added(text, &[item]), expect);
    };
    check(
        "",
        "{\n  \"hooks\": {\n    \"Stop\": [\n      {\n        \"run\": \"x\"\n      }\n    ]\n  }\n}",
    );
    check(
        "{\n\t\"a\": 1\n}\n",
        "{\n\t\"a\": 1,\n\t\"hooks\": {\n\t\t\"Stop\": [\n\t\t\t{\n\t\t\t\t\"run\": \"x\"\n\t\t\t}\n\t\t]\n\t}\n}\n",
    );
    check(
        "{\r\n    \"hooks\": {\r\n        \"Stop\": [\r\n            { \"run\": \"y\" } // theirs\r\n        ]\r\n    }\r\n}",
        "{\r\n    \"hooks\": {\r\n        \"Stop\": [\r\n            { \"run\": \"y\" }, // theirs\r\n            {\r\n                \"run\": \"x\"\r\n            }\r\n        ]\r\n    }\r\n}",
    );
    check(
        "{\"hooks\": {\"Stop\": [{\"run\": \"y\"}]}}",
        "{\"hooks\": {\"Stop\": [{\"run\": \"y\"}, {\"run\": \"x\"}]}}",
    );
    check(
        "{ // c\n  /* d */ }",
        "{ // c\n  /* d */\n  \"hooks\": {\n    \"Stop\": [\n      {\n        \"run\": \"x\"\n      }\n    ]\n  }\n }",
    );
}

#[test]
fn a_property_that_is_there_stays() {
    let text = "{\"version\": 2}";
    assert_eq!(added(text, &[property(&[], "version", json!(1))]), text);
}

#[test]
fn what_cannot_be_edited_is_told_with_its_line() {
    let check = |text: &str, line: usize, what: &str| {
        let item = element(&["hooks", "Stop"], json!(1));
        let broken = add_items(text, &[item]).expect_err(text);
        assert_eq!((broken.line, broken.what.as_str()), (line, what), "{text}");
    };
    check("{\n  \"a\": 1\n  \"b\": 2\n}", 2, "Expected comma");
    check("[]", 1, "The file's value is not an object");
    check("{\n\"hooks\": []}", 2, "`hooks` is not an object");
    check(
        "{\"hooks\": {\n\n\"Stop\": {}}}",
        3,
        "`hooks.Stop` is not an array",
    );
    check(
        "{\"hooks\": {},\n\"hooks\": {}}",
        2,
        "`hooks` appears twice",
    );
    check("{\"a\": 'b'}", 1, "Single-quoted strings are not allowed");
}

/// Shapes in which people keep their files.
const SHAPES: [&str; 14] = [
    "{}",
    "{}\n",
    "{\n  \"a\": 1\n}\n",
    "{\n\n  \"a\": 1\n\n}\n",
    "{\n\t\"a\": [1, 2],\n\t\"hooks\": {\n\t\t\"Stop\": [\n\t\t\t{ \"run\": \"y\" },\n\t\t],\n\t},\n}\n",
    "// top\n{\n  \"a\": 1, // one\n  /* two */\n  \"b\": 2 // three\n  // four\n}\n// end",
    "{\"hooks\":{\"Stop\":[{\"run\":\"y\"}]},\"z\":null}",
    "{ \"a\": 1, }",
    "{\n  \"hooks\": {\n    \"Start\": [\n      1\n    ]\n  },\n  \"z\": 1\n}",
    "\u{feff}{\n  \"a\": 1\n}\n",
    "{\r\n  \"a\": 1,\r\n  \"hooks\": {\r\n    \"Stop\": [\r\n      1, // c\r\n    ]\r\n  }\r\n}\r\n",
    "{\n    \"hooks\":\n    {\n        \"Stop\":\n        [\n            1\n        ]\n    }\n}",
    "{\n  \"a\": {\n  },\n  \"s\": \"}{][,//\"\n}",
    "{\n  \"hooks\": { \"Stop\": [ 1 ] }\n}\n",
];

#[test]
fn what_was_added_can_be_taken_out_to_the_byte() {
    let items = [
        element(&["hooks", "Start"], json!({"run": "x", "n": [1, 2]})),
        element(&["hooks", "Stop"], json!({"run": "x"})),
        property(&["servers"], "us", json!({"args": ["m"]})),
    ];
    for shape in SHAPES {
        let text = added(shape, &items);
        let value = read_value(&text).expect("what was written can be read");
        let mut back = text.clone();
        for event in ["Start", "Stop"] {
            let list = value["hooks"][event].as_array().expect("it was added");
            let last = ItemSelector::Element(list.len() - 1);
            back = remove_item(&back, &["hooks", event], last).expect("it can be read");
        }
        back =
            remove_item(&back, &["servers"], ItemSelector::Property("us")).expect("it can be read");
        assert_eq!(back, shape, "by way of\n{text}");
    }
}

#[test]
fn entries_of_others_around_ours_survive() {
    let check = |text: &str, index: usize, expect: &str| {
        let left = remove_item(text, &["l"], ItemSelector::Element(index)).expect("it can be read");
        assert_eq!(left, expect);
    };
    check("{\"l\": [1, 2, 3]}", 0, "{\"l\": [2, 3]}");
    check("{\"l\": [1, 2, 3]}", 1, "{\"l\": [1, 3]}");
    check("{\"l\": [1, 2, 3]}", 2, "{\"l\": [1, 2]}");
    check(
        "{\"l\": [\n  1,\n  2, // two\n  3\n]}",
        1,
        "{\"l\": [\n  1, // two\n  3\n]}",
    );
    check("{\"l\": [1], \"m\": 2}", 0, "{\"m\": 2}");
    check("{\"l\": [\n  // why\n  1\n]}", 0, "{\"l\": [\n  // why\n]}");
}
