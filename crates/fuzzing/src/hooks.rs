//! What clients send to hooks: read whatever it is, and answered with one JSON
//! object that carries the text as it was.

use forge_clients::client::AgentClient;
use forge_clients::hooks::client::{detect_client, render_reply};
use forge_clients::hooks::event::SessionEvent;
use forge_clients::hooks::payload::HookPayload;
use serde_json::Value;

const FIELDS: [&str; 6] = [
    "hook_event_name",
    "session_id",
    "cwd",
    "source",
    "reason",
    "transcript_path",
];

pub(crate) fn run(data: &[u8]) {
    let payload = HookPayload::parse(data);
    let event = payload.named_event();
    let client = detect_client(&payload, true, false);
    let context = String::from_utf8_lossy(data);
    let event = event.unwrap_or(SessionEvent::SessionStart);
    for client in [
        client,
        None,
        Some(AgentClient::Copilot),
        Some(AgentClient::Claude),
    ] {
        let reply = render_reply(client, event, &payload, Some(&context));
        assert!(!reply.contains('\n'));
        let reply: Value = serde_json::from_str(&reply).expect("a reply is JSON");
        let fields = reply.as_object().expect("a reply is an object");
        let specific = fields.get("hookSpecificOutput").unwrap_or(&reply);
        let text = specific.get("additionalContext");
        let text = text.or(specific.get("additional_context"));
        // As it came, but for characters that a reader would not see.
        let shown = forge_app::quote::hidden::escape_for_terminal(&context);
        assert!(text.is_none_or(|text| *text == *shown));
        assert_eq!(render_reply(client, event, &payload, None), "{}");
    }
    let Ok(Value::Object(_)) = serde_json::from_slice(data) else {
        return;
    };
    // Cut off anywhere, it says nothing that the whole does not say.
    let step = data.len() / 16 + 1;
    for cut in (0..data.len()).step_by(step) {
        let part = HookPayload::parse(&data[..cut]);
        for name in FIELDS {
            let value = part.text_field(&[name]);
            let said = || values(&context, name);
            assert!(
                value.is_none_or(|value| said().iter().any(|it| it == value)),
                "{name}: {value:?} of {context}, cut at {cut}"
            );
        }
    }
}

/// Every text that the outermost object has under a name; there may be two.
fn values(text: &str, name: &str) -> Vec<String> {
    use jsonc_parser::ast::Value as Node;
    let parsed = jsonc_parser::parse_to_ast(text, &Default::default(), &Default::default());
    let Ok(Some(Node::Object(object))) = parsed.map(|it| it.value) else {
        return Vec::new();
    };
    let named = object
        .properties
        .into_iter()
        .filter(|it| it.name.as_str() == name);
    named
        .filter_map(|it| match it.value {
            Node::StringLit(text) => Some(text.value.into_owned()),
            _ => None,
        })
        .collect()
}
