//! Parses the JSON that a client sends. Nothing in it is required and nothing
//! is trusted: it may be empty, huge, truncated, not UTF-8, or never end.

use serde_json::Value;

use super::event::SessionEvent;

/// Payload of a client, as far as it could be read.
#[derive(Debug, Default)]
pub struct HookPayload {
    fields: serde_json::Map<String, Value>,
    /// Reason why the input was not a JSON object.
    pub garbled: Option<&'static str>,
}

impl HookPayload {
    /// Parses any bytes.
    pub fn parse(bytes: &[u8]) -> HookPayload {
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_start_matches('\u{feff}').trim();
        if text.is_empty() {
            return HookPayload {
                garbled: Some("the client sent nothing"),
                ..HookPayload::default()
            };
        }
        match serde_json::from_str(text) {
            Ok(Value::Object(fields)) => HookPayload {
                fields,
                garbled: None,
            },
            _ => HookPayload {
                fields: salvage_fields(text),
                garbled: Some("the client sent something that is not a JSON object"),
            },
        }
    }

    /// Returns a field as text, under any of its names; an empty one counts as
    /// absent.
    pub fn text_field(&self, names: &[&str]) -> Option<&str> {
        names
            .iter()
            .find_map(|name| self.fields.get(*name)?.as_str())
            .filter(|text| !text.is_empty())
    }

    /// Returns a field of any type.
    pub fn field(&self, name: &str) -> Option<&Value> {
        self.fields.get(name)
    }

    /// Returns `true` if a field is `true`.
    pub fn is_set(&self, name: &str) -> bool {
        self.fields.get(name).and_then(Value::as_bool) == Some(true)
    }

    /// Returns `true` if there is a field of this name.
    pub fn has_field(&self, name: &str) -> bool {
        self.fields.contains_key(name)
    }

    /// Returns the event that the payload names.
    pub fn named_event(&self) -> Option<SessionEvent> {
        SessionEvent::from_name(self.text_field(&["hook_event_name", "hookEventName", "event"])?)
    }
}

/// Returns `true` if the bytes are a whole JSON value, so that the reader need
/// not wait for more.
pub fn is_whole_json(bytes: &[u8]) -> bool {
    // Most pieces of a long input do not end in a brace; parsing each of them
    // would take quadratic time.
    let may_end = bytes.trim_ascii_end().ends_with(b"}");
    may_end && serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok()
}

/// Extracts text fields of the outermost object from JSON that does not parse,
/// such as a truncated one. Fields of inner objects belong to others: a tool's
/// input has a `cwd` too.
fn salvage_fields(text: &str) -> serde_json::Map<String, Value> {
    // Only fields that we read; others, such as the prompt, can be long.
    const SALVAGED_FIELDS: [&str; 12] = [
        "hook_event_name",
        "session_id",
        "sessionId",
        "cwd",
        "source",
        "trigger",
        "reason",
        "agent_id",
        "agent_type",
        "task_id",
        "task_subject",
        "transcript_path",
    ];
    let mut fields = serde_json::Map::new();
    let mut depth = 0_usize;
    let mut key: Option<String> = None;
    let mut at = 0;
    while let Some(byte) = text.as_bytes().get(at) {
        match byte {
            b'{' | b'[' => {
                depth += 1;
                key = None;
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' => key = None,
            b'"' => {
                let mut strings = serde_json::Deserializer::from_str(&text[at..]).into_iter();
                let Some(Ok(string)) = strings.next() else {
                    break;
                };
                let string: String = string;
                at += strings.byte_offset();
                let rest = text[at..].trim_start();
                match key.take() {
                    _ if depth != 1 => {}
                    None if rest.starts_with(':') => key = Some(string),
                    Some(name) if SALVAGED_FIELDS.contains(&name.as_str()) => {
                        fields.insert(name, Value::String(string));
                    }
                    _ => {}
                }
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_an_answer_too() {
        for bytes in [&b""[..], b"   \n", b"\xef\xbb\xbf"] {
            let payload = HookPayload::parse(bytes);
            assert!(payload.garbled.is_some());
            assert!(payload.named_event().is_none());
        }
    }

    #[test]
    fn what_was_cut_off_still_says_what_it_is() {
        let whole =
            r#"{"session_id":"s1","hook_event_name":"SessionStart","cwd":"/w","prompt":"aaa"}"#;
        let payload = HookPayload::parse(&whole.as_bytes()[..whole.len() - 4]);
        assert_eq!(payload.text_field(&["cwd"]), Some("/w"));
        assert_eq!(payload.named_event(), Some(SessionEvent::SessionStart));
        assert!(payload.garbled.is_some());
    }

    #[test]
    fn what_was_cut_off_is_read_at_its_outermost_level() {
        let part = br#"{"tool_input":{"cwd":"/evil","l":["source","x"]},"note":"\"cwd\": \"/no\"","cwd" : "/w","x":{"sou"#;
        let payload = HookPayload::parse(part);
        assert_eq!(payload.text_field(&["cwd"]), Some("/w"));
        assert_eq!(payload.text_field(&["source"]), None);
    }

    #[test]
    fn bytes_that_are_not_text_are_read_around() {
        let payload = HookPayload::parse(b"{\"hook_event_name\":\"Stop\",\"x\":\"\xff\xfe\"}");
        assert_eq!(payload.named_event(), Some(SessionEvent::Stop));
    }

    #[test]
    fn other_types_than_expected_do_not_matter() {
        let payload = HookPayload::parse(br#"{"cwd":5,"source":null,"stop_hook_active":"yes"}"#);
        assert_eq!(payload.text_field(&["cwd"]), None);
        assert!(!payload.is_set("stop_hook_active"));
        let list = HookPayload::parse(b"[1,2]");
        assert!(list.garbled.is_some());
    }
}
