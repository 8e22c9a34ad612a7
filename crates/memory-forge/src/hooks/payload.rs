//! The JSON that a client sends. Nothing in it is required, and nothing about
//! it is believed: it may be empty, huge, cut off, not UTF-8, or never end.

use std::io::Read;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::event::Event;

/// More than this is not read; no field that we use is that far in.
const MOST_BYTES: usize = 8 << 20;
/// How long to wait for the next piece of input.
const PATIENCE: Duration = Duration::from_millis(700);
/// Enough for a JSON text as deep as the parser goes.
const STACK: usize = 512 * 1024;

#[derive(Debug, Default)]
pub(super) struct Payload {
    fields: serde_json::Map<String, Value>,
    /// Whether anything came that was not JSON, or nothing at all.
    pub(super) garbled: Option<&'static str>,
}

impl Payload {
    pub(super) fn parse(bytes: &[u8]) -> Payload {
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_start_matches('\u{feff}').trim();
        if text.is_empty() {
            return Payload {
                garbled: Some("the client sent nothing"),
                ..Payload::default()
            };
        }
        match serde_json::from_str(text) {
            Ok(Value::Object(fields)) => Payload {
                fields,
                garbled: None,
            },
            _ => Payload {
                fields: salvage(text),
                garbled: Some("the client sent something that is not a JSON object"),
            },
        }
    }

    /// A field as text, under any of its names; empty counts as absent.
    pub(super) fn text(&self, names: &[&str]) -> Option<&str> {
        names
            .iter()
            .find_map(|name| self.fields.get(*name)?.as_str())
            .filter(|text| !text.is_empty())
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        self.fields.get(name).and_then(Value::as_bool) == Some(true)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.fields.contains_key(name)
    }

    pub(super) fn event(&self) -> Option<Event> {
        Event::named(self.text(&["hook_event_name", "hookEventName", "event"])?)
    }
}

/// Standard input while it is being read, on a thread of its own: some clients
/// never close their end, and nobody can wait for them any other way.
pub(super) struct Reading {
    all: Arc<Mutex<Vec<u8>>>,
    /// Told of each piece; ends with the reading.
    pieces: mpsc::Receiver<()>,
}

impl Reading {
    /// Starts to read until the end, until a whole object is there, or until
    /// it is too much. The thread then goes on with `afterwards`.
    pub(super) fn start(afterwards: impl FnOnce() + Send + 'static) -> Reading {
        let all = Arc::new(Mutex::new(Vec::new()));
        let (sender, pieces) = mpsc::channel();
        let shared = Arc::clone(&all);
        // Without a thread there is nothing to be read.
        let _ = std::thread::Builder::new()
            .stack_size(STACK)
            .spawn(move || {
                let mut stdin = std::io::stdin().lock();
                let mut buffer = vec![0; 64 * 1024];
                loop {
                    let read = stdin.read(&mut buffer).unwrap_or(0);
                    if read == 0 || add(&mut locked(&shared), &buffer[..read]) {
                        break;
                    }
                    if sender.send(()).is_err() {
                        // Nobody waited so long, nor for what comes afterwards.
                        return;
                    }
                }
                drop(sender);
                afterwards();
            });
        Reading { all, pieces }
    }

    /// What came until the end, or until nothing came any more, and whether
    /// the reading has ended.
    pub(super) fn wait(self, deadline: Instant) -> (Payload, bool) {
        let ended = loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.pieces.recv_timeout(PATIENCE.min(left)) {
                Ok(()) => {}
                Err(RecvTimeoutError::Disconnected) => break true,
                Err(RecvTimeoutError::Timeout) => break false,
            }
        };
        (Payload::parse(&locked(&self.all)), ended)
    }
}

fn locked(all: &Mutex<Vec<u8>>) -> MutexGuard<'_, Vec<u8>> {
    all.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds a piece, and says whether that is all.
fn add(all: &mut Vec<u8>, piece: &[u8]) -> bool {
    all.extend_from_slice(piece);
    if all.len() > MOST_BYTES {
        all.truncate(MOST_BYTES);
        return true;
    }
    let whole = all.trim_ascii_end().ends_with(b"}");
    whole && serde_json::from_slice::<serde::de::IgnoredAny>(all).is_ok()
}

/// Text fields of the outermost object of a JSON text that does not parse,
/// such as one that was cut off. What lies deeper is somebody else's: a tool's
/// input has a `cwd` too.
fn salvage(text: &str) -> serde_json::Map<String, Value> {
    const WANTED: [&str; 12] = [
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
                    Some(name) if WANTED.contains(&name.as_str()) => {
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
            let payload = Payload::parse(bytes);
            assert!(payload.garbled.is_some());
            assert!(payload.event().is_none());
        }
    }

    #[test]
    fn what_was_cut_off_still_says_what_it_is() {
        let whole =
            r#"{"session_id":"s1","hook_event_name":"SessionStart","cwd":"/w","prompt":"aaa"}"#;
        let payload = Payload::parse(&whole.as_bytes()[..whole.len() - 4]);
        assert_eq!(payload.text(&["cwd"]), Some("/w"));
        assert_eq!(payload.event(), Some(Event::SessionStart));
        assert!(payload.garbled.is_some());
    }

    #[test]
    fn what_was_cut_off_is_read_at_its_outermost_level() {
        let part = br#"{"tool_input":{"cwd":"/evil","l":["source","x"]},"note":"\"cwd\": \"/no\"","cwd" : "/w","x":{"sou"#;
        let payload = Payload::parse(part);
        assert_eq!(payload.text(&["cwd"]), Some("/w"));
        assert_eq!(payload.text(&["source"]), None);
    }

    #[test]
    fn bytes_that_are_not_text_are_read_around() {
        let payload = Payload::parse(b"{\"hook_event_name\":\"Stop\",\"x\":\"\xff\xfe\"}");
        assert_eq!(payload.event(), Some(Event::Stop));
    }

    #[test]
    fn other_types_than_expected_do_not_matter() {
        let payload = Payload::parse(br#"{"cwd":5,"source":null,"stop_hook_active":"yes"}"#);
        assert_eq!(payload.text(&["cwd"]), None);
        assert!(!payload.flag("stop_hook_active"));
        let list = Payload::parse(b"[1,2]");
        assert!(list.garbled.is_some());
    }
}
