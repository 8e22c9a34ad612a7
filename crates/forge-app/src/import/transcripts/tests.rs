use proptest::prelude::*;
use serde_json::json;

use super::super::page::count_entries;
use super::*;

/// Values of every kind under the keys that readers look at.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        prop::sample::select(vec![
            "user",
            "assistant",
            "text",
            "tool_use",
            "tool_result",
            "message",
            "input_text",
            "r1",
            "2026-01-01T00:00:00Z",
            "# x\n```\n[[y]]",
            "compact_boundary",
            "<system-reminder>",
            "</system-reminder>",
            "=== SESSION BRIEFING ===",
            "-999999-01-01T00:00:00Z",
        ])
        .prop_map(Value::from),
    ];
    let keys = prop::sample::select(vec![
        "type",
        "role",
        "content",
        "text",
        "id",
        "tool_use_id",
        "name",
        "input",
        "command",
        "message",
        "payload",
        "call_id",
        "arguments",
        "output",
        "prompt",
        "attachment",
        "is_error",
    ]);
    leaf.prop_recursive(3, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((keys.clone(), inner), 0..5)
                .prop_map(|fields| fields.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()),
        ]
    })
}

/// A record that looks like one of some client's, with anything in it.
fn record() -> impl Strategy<Value = Value> {
    let kinds = prop::sample::select(vec![
        "user",
        "assistant",
        "attachment",
        "summary",
        "system",
        "custom-title",
        "response_item",
        "event_msg",
        "session_meta",
        "compacted",
        "turn_context",
        "message",
        "session",
    ]);
    let id = prop::option::of(prop::sample::select(vec!["r1", "r2", "r3", "r4"]));
    (
        kinds,
        id.clone(),
        id,
        any::<bool>(),
        any::<bool>(),
        value(),
        value(),
    )
        .prop_map(|(kind, uuid, parent, aside, compact, content, payload)| {
            json!({
                "type": kind, "uuid": uuid, "parentUuid": parent, "isSidechain": aside,
                "isCompactSummary": compact, "timestamp": payload["text"], "sessionId": "s",
                "message": { "role": "user", "content": content }, "attachment": content,
                "payload": payload, "summary": content, "role": "user",
            })
        })
}

fn check(bytes: &[u8]) -> Result<(), TestCaseError> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("t.jsonl");
    std::fs::write(&path, bytes).expect("it can be written");
    let (session, lines) = TranscriptSession::read(&path).expect("it can be read");
    let Ok(session) = session else { return Ok(()) };
    if session.page.is_empty() {
        return Ok(());
    }
    let shown = session.page.shown_entries();
    let incoming = session.into_document(&path, lines.hash).expect("a page");
    let document = document::parse_document(incoming.text.as_str());
    prop_assert_eq!(count_entries(&document), shown, "{}", incoming.text);
    prop_assert_eq!(document.problems.len(), 0, "{}", incoming.text);
    prop_assert_eq!(document.links.len(), 0, "{}", incoming.text);
    prop_assert!(incoming.path.starts_with("knowledge/sessions"));
    prop_assert_eq!(incoming.path.components().count(), 3);
    Ok(())
}

proptest! {
    #[test]
    fn any_records_become_a_page_that_reads_back(
        records in prop::collection::vec(record(), 1..12),
        cut in any::<prop::sample::Index>(),
        noise in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let mut bytes: Vec<u8> = Vec::new();
        for record in &records {
            bytes.extend(record.to_string().bytes());
            bytes.push(b'\n');
        }
        check(&bytes)?;
        // Cut off anywhere, and with bytes of any kind in the middle.
        let at = cut.index(bytes.len());
        check(&bytes[..at])?;
        bytes.splice(at..at, noise);
        check(&bytes)?;
    }
}
