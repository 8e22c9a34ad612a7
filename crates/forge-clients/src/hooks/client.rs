//! Detects which client calls, and writes the answer in its form.
//!
//! The payload decides, because a client started from another's shell inherits
//! its environment; the environment decides only where the payload does not.

use crate::client::Client;
use crate::quote::hidden;
use serde_json::{Value, json};

use super::event::Event;
use super::payload::Payload;

/// Returns the client that calls, or none where nothing is recognised.
pub fn detect_client(payload: &Payload, in_claude: bool, in_gemini: bool) -> Option<Client> {
    // Only Copilot calls a fresh start `new`.
    let start_by_copilot = payload.text(&["source"]) == Some("new");
    let own_name = payload.text(&["hook_event_name"]).unwrap_or_default();
    if payload.has("conversation_id") || payload.has("cursor_version") {
        return Some(Client::Cursor);
    }
    // Copilot also runs the hooks of Claude Code's file, and then speaks almost
    // like Claude Code; Gemini has a time as well, but names of its own.
    let claudes_word = matches!(
        own_name,
        "UserPromptSubmit" | "Stop" | "PreCompact" | "SubagentStart" | "SubagentStop"
    );
    let almost_claude = payload.has("timestamp")
        && !payload.has("turn_id")
        && (claudes_word || !payload.has("transcript_path"));
    if payload.has("sessionId") || start_by_copilot || almost_claude {
        return Some(Client::Copilot);
    }
    if matches!(own_name, "BeforeAgent" | "AfterAgent" | "PreCompress")
        || (payload.has("timestamp") && payload.has("transcript_path") && !payload.has("turn_id"))
    {
        return Some(Client::Gemini);
    }
    let codex_start =
        own_name == "SessionStart" && payload.has("model") && payload.has("permission_mode");
    if payload.has("turn_id") || codex_start {
        return Some(Client::Codex);
    }
    match (in_claude, in_gemini) {
        (true, _) => Some(Client::Claude),
        (false, true) => Some(Client::Gemini),
        _ => None,
    }
}

/// Returns the answer to print.
///
/// Codex rejects keys that an event does not have, so nothing is ever sent in
/// two shapes. Claude Code rejects context before a compaction, and shows the
/// rejection to the user and the model. A client that is not recognised, and
/// our own plugin in OpenCode, read the form that most clients have.
pub fn write_reply(
    client: Option<Client>,
    event: Event,
    payload: &Payload,
    context: Option<&str>,
) -> String {
    let Some(text) = context else {
        return "{}".to_owned();
    };
    // Hidden characters are written out: the text may come from files, and the
    // agent should see what it holds.
    let text = &*hidden::shown(text);
    // The client's own name for the event, if it sent one.
    let name = payload
        .text(&["hook_event_name"])
        .filter(|_| !matches!(client, None | Some(Client::OpenCode)))
        .unwrap_or(event.name());
    let answer: Value = match client {
        Some(Client::Copilot) => json!({ "additionalContext": text }),
        Some(Client::Cursor) => match event {
            Event::SessionStart => json!({ "additional_context": text }),
            _ => json!({}),
        },
        Some(Client::Claude | Client::Codex | Client::Gemini) if !event.carries_context() => {
            json!({})
        }
        _ => {
            json!({ "hookSpecificOutput": { "hookEventName": name, "additionalContext": text } })
        }
    };
    answer.to_string()
}

/// Returns `true` if text at the end of a turn makes this client continue
/// instead of stopping. A reminder is not worth that.
pub fn continues_after_stop_output(client: Option<Client>) -> bool {
    client == Some(Client::Claude)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(payload: &str, expect: Client) {
        let payload = Payload::parse(payload.as_bytes());
        assert_eq!(
            detect_client(&payload, true, false),
            Some(expect),
            "{payload:?}"
        );
    }

    #[test]
    fn the_payload_tells_the_client() {
        check(
            r#"{"hook_event_name":"SessionStart","session_id":"a","transcript_path":"t","cwd":"/","source":"startup"}"#,
            Client::Claude,
        );
        check(
            r#"{"hook_event_name":"SessionStart","source":"startup","model":"m","permission_mode":"default"}"#,
            Client::Codex,
        );
        check(
            r#"{"hook_event_name":"UserPromptSubmit","turn_id":"1","prompt":"x"}"#,
            Client::Codex,
        );
        check(
            r#"{"hook_event_name":"BeforeAgent","prompt":"x"}"#,
            Client::Gemini,
        );
        check(
            r#"{"session_id":"a","transcript_path":"t","cwd":"/","hook_event_name":"SessionStart","timestamp":"2026","source":"startup"}"#,
            Client::Gemini,
        );
        check(
            r#"{"session_id":"a","transcript_path":"t","cwd":"/","hook_event_name":"SessionEnd","timestamp":"2026","reason":"exit"}"#,
            Client::Gemini,
        );
        check(
            r#"{"hook_event_name":"SessionStart","session_id":"a","timestamp":"2026","cwd":"/","source":"new","initial_prompt":"x"}"#,
            Client::Copilot,
        );
        check(
            r#"{"hook_event_name":"UserPromptSubmit","session_id":"a","timestamp":"2026","cwd":"/","prompt":"x"}"#,
            Client::Copilot,
        );
        check(
            r#"{"hook_event_name":"Stop","session_id":"a","timestamp":"2026","cwd":"/","transcript_path":"t","stop_hook_active":false}"#,
            Client::Copilot,
        );
        check(
            r#"{"sessionId":"a","timestamp":1,"source":"new"}"#,
            Client::Copilot,
        );
        check(
            r#"{"conversation_id":"a","hook_event_name":"sessionStart"}"#,
            Client::Cursor,
        );
    }

    #[test]
    fn each_client_gets_its_own_shape() {
        let payload = Payload::parse(br#"{"hook_event_name":"SessionStart"}"#);
        let reply = |client| write_reply(client, Event::SessionStart, &payload, Some("hi"));
        let specific =
            r#"{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"hi"}}"#;
        for client in [
            Some(Client::Claude),
            Some(Client::Codex),
            Some(Client::Gemini),
            Some(Client::OpenCode),
            None,
        ] {
            assert_eq!(reply(client), specific);
        }
        assert_eq!(
            reply(Some(Client::Copilot)),
            r#"{"additionalContext":"hi"}"#
        );
        assert_eq!(
            reply(Some(Client::Cursor)),
            r#"{"additional_context":"hi"}"#
        );
        assert_eq!(
            write_reply(Some(Client::Claude), Event::Stop, &payload, None),
            "{}"
        );
    }

    #[test]
    fn no_client_sees_a_key_it_would_reject() {
        let payload = Payload::parse(br#"{"hook_event_name":"PreCompact","turn_id":"1"}"#);
        for event in [
            Event::PreCompact,
            Event::Stop,
            Event::SubagentStop,
            Event::SessionEnd,
        ] {
            for client in [Client::Claude, Client::Codex, Client::Gemini] {
                let reply = write_reply(Some(client), event, &payload, Some("x"));
                assert_eq!(reply, "{}", "{client:?}");
            }
        }
    }
}
