use proptest::prelude::*;

use crate::document::{YamlValue, apply_edits, parse_document};

fn check(text: &str, key: &str, value: &str, expect: &str) {
    let edit = parse_document(text).set_front_matter(key, value);
    assert_eq!(
        apply_edits(text, vec![edit]).unwrap(),
        expect,
        "{key}: {value}"
    );
}

#[test]
fn an_entry_is_replaced_where_it_stands() {
    check("---\na: 1\nb: 2\n---\n", "a", "x", "---\na: x\nb: 2\n---\n");
    check(
        "---\na:   1  # why\nb: 2\n---\nbody",
        "a",
        "x y",
        "---\na:   x y  # why\nb: 2\n---\nbody",
    );
    check(
        "---\na: 'it''s # no' # yes\n---\n",
        "a",
        "x",
        "---\na: x # yes\n---\n",
    );
    check(
        "---\na: [1, \"]\"] # c\nb: 2\n---\n",
        "a",
        "x",
        "---\na: x # c\nb: 2\n---\n",
    );
    check("---\na:\nb: 2\n---\n", "a", "x", "---\na: x\nb: 2\n---\n");
    check(
        "---\na: # c\nb: 2\n---\n",
        "a",
        "x",
        "---\na: x # c\nb: 2\n---\n",
    );
    check("---\n\"a\" : 1\n---\n", "a", "x", "---\n\"a\" : x\n---\n");
    check(
        "---\r\na: 1\r\nb: 2\r\n---\r\n",
        "a",
        "x",
        "---\r\na: x\r\nb: 2\r\n---\r\n",
    );
}

#[test]
fn values_of_several_lines_are_replaced_whole() {
    check(
        "---\na:\n  - 1\n  # in\n  - 2\n# out\nb: 2\n---\n",
        "a",
        "x",
        "---\na: x\n# out\nb: 2\n---\n",
    );
    check(
        "---\na:\n- 1\n- 2\nb: 2\n---\n",
        "a",
        "x",
        "---\na: x\nb: 2\n---\n",
    );
    check(
        "---\na: # head\n  k: v\nb: 2\n---\n",
        "a",
        "x",
        "---\na: x # head\nb: 2\n---\n",
    );
    check(
        "---\na: |\n  one: 1\n\n  two\n\nb: 2\n---\n",
        "a",
        "x",
        "---\na: x\n\nb: 2\n---\n",
    );
    check(
        "---\na: [1,\n  2\n]\nb: 2\n---\n",
        "a",
        "x",
        "---\na: x\nb: 2\n---\n",
    );
    check(
        "---\na: \"one\n  two\"\nb: 2\n---\n",
        "a",
        "x",
        "---\na: x\nb: 2\n---\n",
    );
}

#[test]
fn an_entry_is_added_at_the_end() {
    check(
        "---\na: |\n  text\n# end\n---\n",
        "b",
        "x",
        "---\na: |\n  text\n# end\nb: x\n---\n",
    );
    check("---\n---\nbody\n", "b", "x", "---\nb: x\n---\nbody\n");
}

#[test]
fn a_block_is_created() {
    check("", "a", "1", "---\na: 1\n---\n");
    check("# T\n", "a", "1", "---\na: 1\n---\n\n# T\n");
    check(
        "\u{feff}# T\r\n",
        "a",
        "1",
        "\u{feff}---\r\na: 1\r\n---\r\n\r\n# T\r\n",
    );
    check(
        "---\nnever closed\n",
        "a",
        "1",
        "---\na: 1\n---\n\n---\nnever closed\n",
    );
}

#[test]
fn quotes_stand_where_yaml_needs_them() {
    for (value, written) in [
        ("plain text", "plain text"),
        ("8", "8"),
        ("true", "true"),
        ("2026-01-02", "2026-01-02"),
        ("a: b", "\"a: b\""),
        ("a #b", "\"a #b\""),
        ("", "\"\""),
        ("null", "\"null\""),
        ("~", "\"~\""),
        ("yes", "\"yes\""),
        ("1.0", "\"1.0\""),
        ("007", "\"007\""),
        (" x", "\" x\""),
        ("[[a]]", "\"[[a]]\""),
        ("two\nlines", "\"two\\nlines\""),
        ("say \"hi\" \\", "say \"hi\" \\"),
        ("- x", "\"- x\""),
        ("---", "\"---\""),
        ("@a", "\"@a\""),
    ] {
        check(
            "---\nk: 0\n---\n",
            "k",
            value,
            &format!("---\nk: {written}\n---\n"),
        );
    }
}

#[test]
fn the_same_value_changes_nothing() {
    for text in [
        "---\nk: 'x'\n---\n",
        "---\nk:    x # c\n---\n",
        "---\nk: |-\n  x\n---\n",
    ] {
        check(text, "k", "x", text);
    }
}

#[test]
fn entries_on_one_line_are_written_as_lines() {
    check(
        "---\n{a: 1, b: [x, 'y z']}\n---\n",
        "a",
        "2",
        "---\na: 2\nb: [x, \"y z\"]\n---\n",
    );
}

#[test]
fn broken_yaml_is_edited_by_lines() {
    check(
        "---\na: b: c\nd: 1\n---\n",
        "d",
        "2",
        "---\na: b: c\nd: 2\n---\n",
    );
    check(
        "---\na: b: c # x\nd: 1\n---\n",
        "a",
        "2",
        "---\na: 2 # x\nd: 1\n---\n",
    );
}

#[test]
fn a_name_that_is_there_twice_is_told_however_it_is_written() {
    for yaml in [
        "a: 1\na: 2\n",
        "1: a\n\"1\": b\n",
        "{~: a, \"null\": b}\n",
        "a: {true: 1, 'true': 2}\n",
    ] {
        let document = parse_document(format!("---\n{yaml}---\nbody\n"));
        let told = &document.problems[0].message;
        assert!(told.contains("appears twice"), "{yaml}: {told}");
        assert_eq!(document.span_text(&document.body), "body\n");
    }
}

#[test]
fn lists_are_written_on_one_line() {
    let text = "---\ntags:\n  - a\nb: 1\n---\n";
    let edit =
        parse_document(text).set_front_matter_list("tags", &["x", "y z", "true", "1", "a,b"]);
    let new = apply_edits(text, vec![edit]).unwrap();
    assert_eq!(
        new,
        "---\ntags: [x, \"y z\", \"true\", \"1\", \"a,b\"]\nb: 1\n---\n"
    );
    let tags = parse_document(new).front_matter.unwrap();
    assert_eq!(tags.list("tags"), ["x", "y z", "true", "1", "a,b"]);
}

const ENTRIES: &[&str] = &[
    "a: 1\n",
    "a: text with spaces # and a comment\n",
    "a:\n  - x\n  - 'y'\n",
    "a:\n- x\n- k: v\n  l: w\n",
    "a: |\n  block: scalar\n\n  # not a comment\n",
    "a: >-\n  folded\n  text\n",
    "a: \"quoted: # \\\" text\"\n",
    "a: 'single '' # quote'   # comment\n",
    "a: [x, \"]\", {k: v}] # comment\n",
    "a: [\n  x,\n  y\n]\n",
    "a:\n",
    "a: # only a comment\n",
    "a:\n  nested:\n    deep: 1\n  other: 2\n",
    "a: plain\n  going on\n",
    "a: https://example.org/#x\n",
    "\"a\": quoted key\n",
];

fn front_matter() -> impl Strategy<Value = String> {
    let between = prop::sample::select(vec!["", "", "# comment\n", "\n", "# [[x]]: y\n\n"]);
    let entry = prop::sample::select(ENTRIES.to_vec());
    prop::collection::vec((between, entry), 0..6).prop_map(|entries| {
        let mut yaml = String::new();
        for (index, (between, entry)) in entries.iter().enumerate() {
            // A blank line behind the opening would make it a rule.
            yaml += if yaml.is_empty() {
                between.trim_start()
            } else {
                between
            };
            yaml += &entry.replacen('a', &format!("k{index}"), 1);
        }
        yaml
    })
}

fn scalar_value() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~]{0,12}",
        "\\PC{0,8}",
        any::<String>(),
        "[-+0-9._exo]{1,6}",
        prop::sample::select(vec![
            "true", "null", "~", "- a", "a: b", "&a", "*a", "!t", "|", "> x", "'", "\"", "{", "}",
            "# c", "a #c", "\u{85}", "\u{feff}", "\0", "a\r\nb", "...", "---"
        ])
        .prop_map(str::to_owned),
    ]
}

proptest! {
    #[test]
    fn a_value_reads_back_and_the_others_stay(
        yaml in front_matter(),
        key in prop::sample::select(vec!["k0", "k1", "k2", "k9", "odd key: #"]),
        value in scalar_value(),
        crlf in any::<bool>(),
    ) {
        let mut text = format!("---\n{yaml}---\n# T\n");
        if crlf {
            text = text.replace('\n', "\r\n");
        }
        let before = parse_document(text.as_str());
        prop_assert_eq!(&before.problems, &[]);
        let edit = before.set_front_matter(key, &value);
        let after = parse_document(apply_edits(&text, vec![edit.clone()]).unwrap());
        prop_assert_eq!(&after.problems, &[], "{}", after.text);
        let (old, new) = (before.front_matter.unwrap(), after.front_matter.unwrap());
        let read = new.get(key).unwrap();
        prop_assert!(!matches!(read, YamlValue::List(_) | YamlValue::Map(_) | YamlValue::Null));
        prop_assert_eq!(read.to_string(), value);
        for (name, value) in &old.entries {
            prop_assert!(name == key || new.get(name) == Some(value), "{}", name);
        }
        // Full-line comments outside of the value are all still there.
        let comments = |text: &str| text.lines().filter(|line| line.starts_with('#')).count();
        prop_assert_eq!(comments(&after.text), comments(&text));
        prop_assert_eq!(after.text.contains('\r'), crlf);
    }
}
