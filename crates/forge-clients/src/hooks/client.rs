//! Detects which client calls, and writes the answer in its form.
//!
//! The payload decides, because a client started from another's shell inherits
//! its environment; the environment decides only where the payload does not.

use crate::client::AgentClient;
use crate::quote::hidden;
use serde_json::{Value, json};

use super::event::SessionEvent;
use super::payload::HookPayload;

/// Returns the client that calls, or none where nothing is recognised.
pub fn detect_client(
    payload: &HookPayload,
    in_claude: bool,
    in_gemini: bool,
) -> Option<AgentClient> {
    // Only Copilot calls a fresh start `new`.
    let start_by_copilot = payload.text_field(&["source"]) == Some("new");
    let own_name = payload.text_field(&["hook_event_name"]).unwrap_or_default();
    if payload.has_field("conversation_id") || payload.has_field("cursor_version") {
        return Some(AgentClient::Cursor);
    }
    // Copilot also runs the hooks of Claude Code's file, and then speaks almost
    // like Claude Code; Gemini has a time as well, but names of its own.
    let claudes_word = matches!(
        own_name,
        "UserPromptSubmit" | "Stop" | "PreCompact" | "SubagentStart" | "SubagentStop"
    );
    let almost_claude = payload.has_field("timestamp")
        && !payload.has_field("turn_id")
        && (claudes_word || !payload.has_field("transcript_path"));
    if payload.has_field("sessionId") || start_by_copilot || almost_claude {
        return Some(AgentClient::Copilot);
    }
    if matches!(own_name, "BeforeAgent" | "AfterAgent" | "PreCompress")
        || (payload.has_field("timestamp")
            && payload.has_field("transcript_path")
            && !payload.has_field("turn_id"))
    {
        return Some(AgentClient::Gemini);
    }
    let codex_start = own_name == "SessionStart"
        && payload.has_field("model")
        && payload.has_field("permission_mode");
    if payload.has_field("turn_id") || codex_start {
        return Some(AgentClient::Codex);
    }
    match (in_claude, in_gemini) {
        (true, _) => Some(AgentClient::Claude),
        (false, true) => Some(AgentClient::Gemini),
        _ => None,
    }
}

/// Returns the answer to print.
///
/// Codex rejects keys that an event does not have, so nothing is ever sent in
/// two shapes. Claude Code rejects context before a compaction, and shows the
/// rejection to the user and the model. A client that is not recognised, and
/// our own plugin in OpenCode, read the form that most clients have.
pub fn render_reply(
    client: Option<AgentClient>,
    event: SessionEvent,
    payload: &HookPayload,
    context: Option<&str>,
) -> String {
    let Some(text) = context else {
        return "{}".to_owned();
    };
    // Hidden characters are written out: the text may come from files, and the
    // agent should see what it holds.
    let text = &*hidden::escape_for_terminal(text);
    // The client's own name for the event, if it sent one.
    let name = payload
        .text_field(&["hook_event_name"])
        .filter(|_| !matches!(client, None | Some(AgentClient::OpenCode)))
        .unwrap_or(event.name());
    let answer: Value = match client {
        // Only Claude Code is known to show context before and after an action
        // to the model; the others run the hooks of its file as well.
        Some(client) if event.is_of_tool() && client != AgentClient::Claude => json!({}),
        Some(AgentClient::Claude) if event.is_of_tool() => {
            json!({ "hookSpecificOutput": { "hookEventName": name, "additionalContext": text } })
        }
        Some(AgentClient::Copilot) => json!({ "additionalContext": text }),
        Some(AgentClient::Cursor) => match event {
            SessionEvent::SessionStart => json!({ "additional_context": text }),
            _ => json!({}),
        },
        Some(AgentClient::Claude | AgentClient::Codex | AgentClient::Gemini)
            if !event.carries_context() =>
        {
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
pub fn continues_after_stop_output(client: Option<AgentClient>) -> bool {
    client == Some(AgentClient::Claude)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(payload: &str, expect: AgentClient) {
        let payload = HookPayload::parse(payload.as_bytes());
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
            AgentClient::Claude,
        );
        check(
            r#"{"hook_event_name":"SessionStart","source":"startup","model":"m","permission_mode":"default"}"#,
            AgentClient::Codex,
        );
        check(
            r#"{"hook_event_name":"UserPromptSubmit","turn_id":"1","prompt":"x"}"#,
            AgentClient::Codex,
        );
        check(
            r#"{"hook_event_name":"BeforeAgent","prompt":"x"}"#,
            AgentClient::Gemini,
        );
        check(
            r#"{"session_id":"a","transcript_path":"t","cwd":"/","hook_event_name":"SessionStart","timestamp":"2026","source":"startup"}"#,
            AgentClient::Gemini,
        );
        check(
            r#"{"session_id":"a","transcript_path":"t","cwd":"/","hook_event_name":"SessionEnd","timestamp":"2026","reason":"exit"}"#,
            AgentClient::Gemini,
        );
        check(
            r#"{"hook_event_name":"SessionStart","session_id":"a","timestamp":"2026","cwd":"/","source":"new","initial_prompt":"x"}"#,
            AgentClient::Copilot,
        );
        check(
            r#"{"hook_event_name":"UserPromptSubmit","session_id":"a","timestamp":"2026","cwd":"/","prompt":"x"}"#,
            AgentClient::Copilot,
        );
        check(
            r#"{"hook_event_name":"Stop","session_id":"a","timestamp":"2026","cwd":"/","transcript_path":"t","stop_hook_active":false}"#,
            AgentClient::Copilot,
        );
        check(
            r#"{"sessionId":"a","timestamp":1,"source":"new"}"#,
            AgentClient::Copilot,
        );
        check(
            r#"{"conversation_id":"a","hook_event_name":"sessionStart"}"#,
            AgentClient::Cursor,
        );
    }

    #[test]
    fn each_client_gets_its_own_shape() {
        let payload = HookPayload::parse(br#"{"hook_event_name":"SessionStart"}"#);
        let reply = |client| render_reply(client, SessionEvent::SessionStart, &payload, Some("hi"));
        let specific =
            r#"{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"hi"}}"#;
        for client in [
            Some(AgentClient::Claude),
            Some(AgentClient::Codex),
            Some(AgentClient::Gemini),
            Some(AgentClient::OpenCode),
            None,
        ] {
            assert_eq!(reply(client), specific);
        }
        assert_eq!(
            reply(Some(AgentClient::Copilot)),
            r#"{"additionalContext":"hi"}"#
        );
        assert_eq!(
            reply(Some(AgentClient::Cursor)),
            r#"{"additional_context":"hi"}"#
        );
        assert_eq!(
            render_reply(
                Some(AgentClient::Claude),
                SessionEvent::Stop,
                &payload,
                None
            ),
            "{}"
        );
    }

    #[test]
    fn context_of_an_action_goes_to_claude_code_alone() {
        for event in [
            SessionEvent::PreToolUse,
            SessionEvent::PostToolUse,
            SessionEvent::PostToolUseFailure,
        ] {
            let sent = format!(r#"{{"hook_event_name":"{}","turn_id":"1"}}"#, event.name());
            let payload = HookPayload::parse(sent.as_bytes());
            for client in AgentClient::ALL {
                let reply = render_reply(Some(client), event, &payload, Some("x"));
                assert_eq!(
                    reply.contains("additionalContext"),
                    client == AgentClient::Claude
                );
                // A decision would allow or block the action.
                assert!(!reply.contains("ecision"), "{reply}");
            }
        }
    }

    #[test]
    fn no_client_sees_a_key_it_would_reject() {
        let payload = HookPayload::parse(br#"{"hook_event_name":"PreCompact","turn_id":"1"}"#);
        for event in [
            SessionEvent::PreCompact,
            SessionEvent::Stop,
            SessionEvent::SubagentStop,
            SessionEvent::SessionEnd,
        ] {
            for client in [AgentClient::Claude, AgentClient::Codex, AgentClient::Gemini] {
                let reply = render_reply(Some(client), event, &payload, Some("x"));
                assert_eq!(reply, "{}", "{client:?}");
            }
        }
    }
}
