//! What `mcp` refuses and what it cuts: sizes, budgets, and arguments that no
//! schema allows. Whatever comes, there is one answer and the server goes on.

use proptest::prelude::*;
use serde_json::{Value, json};
use testkit::TestWorkspace;

use crate::harness::ws;
use crate::mcp_client::{Client, text_of};

#[test]
fn sizes_are_checked_in_order() {
    let ws = ws("");
    let before = ws.tree();
    let mut client = Client::legacy(&ws, &[]);
    let long = "x".repeat(5_121);
    for (arguments, expect) in [
        (json!({ "title": "x".repeat(60_000) }), "Input too large ("),
        (
            json!({ "title": long }),
            "Field \"title\" too large (5121 bytes, max 5120 per field).",
        ),
        (
            json!({ "title": "t", "decision": ["y", long] }),
            "Array item in \"decision\" too large (5121 bytes",
        ),
        (
            json!({ "title": "t" }),
            "Missing required field(s): decision",
        ),
        (
            json!({ "title": "t", "decision": 1 }),
            "Field \"decision\" must be a string",
        ),
    ] {
        let told = client.refused("memory_save_decision", arguments);
        assert!(told.starts_with(expect), "{told}");
    }
    assert_eq!(ws.tree(), before);
}

#[test]
fn a_document_may_be_longer_than_a_field() {
    let ws = ws("");
    let mut client = Client::legacy(&ws, &[]);
    let content = "A line of a long document.\n".repeat(1_500);
    let arguments = json!({ "type": "context", "name": "long", "content": content });
    let result = client.call("save_knowledge", arguments);
    assert_eq!(result["isError"], false, "{result}");
    let diff = result["structuredContent"]["diff"]
        .as_str()
        .expect("a diff");
    assert!(diff.len() < 4_200, "{}", diff.len());
    assert!(diff.contains("more lines of the change"), "{diff}");
}

fn large() -> TestWorkspace {
    let ws = ws("");
    for number in 0..12 {
        let words = format!("The moon number {number} is far away and round. ").repeat(30);
        ws.write(
            &format!("knowledge/moon-{number}.md"),
            format!("# Moon {number}\n\n{words}\n"),
        );
    }
    let state = (0..600)
        .map(|number| format!("- moon {number} is being looked at\n"))
        .collect::<String>();
    ws.write(
        ".mind/STATE.md",
        format!("# Project State\n\n## Active Work\n{state}"),
    );
    ws.write("CLAUDE.md", "A moon a day. ".repeat(2_000));
    ws
}

#[test]
fn budgets_are_kept_and_what_was_left_out_is_told() {
    use forge_app::tokens::{Tokenizer, count_tokens};
    let ws = large();
    let mut client = Client::legacy(&ws, &[]);
    for tokens in [100, 160, 400, 1_500] {
        for (tool, mut arguments) in [
            ("search_knowledge", json!({ "query": "moon", "limit": 12 })),
            ("memory_status", json!({})),
            ("memory_search", json!({ "query": "moon" })),
            ("audit_knowledge", json!({})),
        ] {
            arguments["max_tokens"] = tokens.into();
            let result = client.call(tool, arguments);
            let text = text_of(&result);
            let cost = count_tokens(Tokenizer::O200k, &text);
            assert!(cost <= tokens, "{tool} {tokens}: {cost}\n{text}");
            let data = count_tokens(Tokenizer::O200k, &result["structuredContent"].to_string());
            // The audit's data has figures of its own, and no text of files.
            let figures = if tool == "audit_knowledge" { 80 } else { 0 };
            assert!(data <= tokens + figures, "{tool} {tokens}: {data}");
            if tokens <= 400 && tool != "audit_knowledge" {
                let told = ["Left out", "none fits", "more lines", "more in"];
                assert!(
                    told.iter().any(|it| text.contains(it)),
                    "{tool} {tokens}: {text}"
                );
            }
        }
    }
}

#[test]
fn without_a_budget_there_is_a_cap() {
    let ws = large();
    let mut client = Client::legacy(&ws, &[]);
    let text = client.text("memory_status", json!({}));
    assert!(text.len() <= 24_000, "{}", text.len());
    let text = client.text("search_knowledge", json!({ "query": "moon", "limit": 20 }));
    assert!(text.len() <= 24_000, "{}", text.len());
    ws.write("knowledge/huge.md", "line of text\n".repeat(20_000));
    let answer = client.ask(
        "resources/read",
        json!({ "uri": "memory-forge://knowledge/huge.md" }),
    );
    let contents = &answer["result"]["contents"][0];
    let text = contents["text"].as_str().expect("a text");
    assert!(text.len() <= 100_000, "{}", text.len());
    assert!(
        text.ends_with("more lines left out]\n"),
        "{}",
        &text[text.len() - 80..]
    );
    assert!(
        contents["_meta"]["memory-forge/leftOutLines"].is_u64(),
        "{}",
        contents["_meta"]
    );
}

const TOOLS: [&str; 13] = [
    "search_knowledge",
    "index_knowledge",
    "knowledge_stats",
    "audit_knowledge",
    "forget_knowledge",
    "save_knowledge",
    "correct_knowledge",
    "memory_status",
    "memory_search",
    "memory_update_state",
    "memory_save_decision",
    "memory_save_progress",
    "memory_save_session",
];

const FIELDS: [&str; 29] = [
    "query",
    "limit",
    "scope",
    "source_type",
    "unique_files",
    "max_tokens",
    "force",
    "max_files",
    "max_age_days",
    "type",
    "name",
    "content",
    "description",
    "trigger",
    "problem",
    "importance",
    "phase",
    "status",
    "active_work",
    "blockers",
    "next_action",
    "title",
    "decision",
    "fact",
    "instead",
    "reason",
    "task",
    "action",
    "summary",
];

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (0_i64..12).prop_map(Value::from),
        ".{0,40}".prop_map(Value::from),
        prop::sample::select(vec![
            "skill", "context", "complete", "all", "state", "../x", "## DEC-7"
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(".{0,8}", inner, 0..4)
                .prop_map(|map| map.into_iter().collect()),
        ]
    })
}

fn any_arguments() -> impl Strategy<Value = Value> {
    let field = prop_oneof![
        9 => prop::sample::select(FIELDS.to_vec()).prop_map(str::to_owned),
        1 => ".{0,12}",
    ];
    let fields = prop::collection::btree_map(field, any_json(), 0..8);
    prop_oneof![
        9 => fields.prop_map(|map| map.into_iter().collect::<Value>()),
        1 => any_json(),
    ]
}

#[test]
fn whatever_the_arguments_are_there_is_one_answer() {
    let ws = ws("//- knowledge/a.md\n# A\n\nSome words.\n//- .mind/STATE.md\n# Project State\n");
    let outside = || {
        let folder = ws.root().parent().expect("it lies in a folder");
        std::fs::read_dir(folder).expect("it can be listed").count()
    };
    let before = outside();
    let client = std::cell::RefCell::new(Client::legacy(&ws, &[]));
    let config = ProptestConfig {
        cases: 300,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let calls = (prop::sample::select(TOOLS.to_vec()), any_arguments());
    proptest::test_runner::TestRunner::new(config)
        .run(&calls, |(tool, arguments)| {
            let params = json!({ "name": tool, "arguments": arguments });
            let answer = client.borrow_mut().ask("tools/call", params);
            let result = answer
                .get("result")
                .is_some_and(|it| it["content"].is_array());
            let error = answer["error"]["code"].is_i64();
            prop_assert!(result != error, "{answer}");
            Ok(())
        })
        .expect("every call is answered");
    let mut client = client.into_inner();
    client.text("memory_status", json!({}));
    let (code, rest, told) = client.end();
    assert_eq!((code, rest), (Some(0), Vec::new()));
    assert!(!told.contains("defect"), "{told}");
    assert_eq!(outside(), before);
}
