//! Reads Codex's rollouts: `{timestamp, type, payload}` a line. `response_item`
//! is what the model read and wrote, `event_msg` what was shown of it, so the
//! same text occurs twice and is imported once.

use std::path::Path;

use jiff::Timestamp;
use serde_json::Value;

use super::super::jsonl;
use super::{TranscriptFormat, TranscriptSession};

/// The reader of a rollout.
pub(super) struct CodexReader {
    session: TranscriptSession,
    /// The last prompt and the last answer, while no other entry follows.
    prompt: Option<String>,
    answer: Option<String>,
    started: bool,
}

impl CodexReader {
    pub(super) fn new() -> CodexReader {
        CodexReader {
            session: TranscriptSession::new(TranscriptFormat::Codex),
            prompt: None,
            answer: None,
            started: false,
        }
    }

    /// Reads one record.
    pub(super) fn read_record(&mut self, record: &Value) {
        let when = self.session.note_time(record);
        let payload = &record["payload"];
        match record["type"].as_str() {
            Some("session_meta") => self.read_meta(payload),
            Some("turn_context") => self.session.learn_once(|it| &mut it.cwd, &payload["cwd"]),
            Some("response_item") => self.read_item(payload, when),
            Some("event_msg") => self.read_event(payload, when),
            Some("compacted") => {
                let text = payload["message"].as_str().unwrap_or_default();
                self.session.add_compacted(when, text);
            }
            // The form before there was a payload.
            None => self.read_meta(record),
            Some(_) => self.read_item(record, when),
        }
    }

    /// Returns the session.
    pub(super) fn finish(self) -> TranscriptSession {
        self.session
    }

    /// Reads the metadata of the session.
    fn read_meta(&mut self, meta: &Value) {
        // A fork also has the metadata of its origin; only the first record
        // counts.
        if std::mem::replace(&mut self.started, true) {
            return;
        }
        for key in ["id", "session_id"] {
            self.session.learn_once(|it| &mut it.id, &meta[key]);
        }
        self.session.learn_once(|it| &mut it.cwd, &meta["cwd"]);
        self.session
            .learn_once(|it| &mut it.version, &meta["cli_version"]);
        self.session
            .learn_once(|it| &mut it.branch, &meta["git"]["branch"]);
        self.session.note_time(meta);
    }

    /// Reads an item that the model read or wrote.
    fn read_item(&mut self, item: &Value, when: Option<Timestamp>) {
        let id = item["call_id"].as_str();
        let name = item["name"].as_str().unwrap_or_default();
        match item["type"].as_str().unwrap_or_default() {
            "message" => match item["role"].as_str() {
                Some("user") => self.add_prompt(when, &message_text(&item["content"])),
                Some("assistant") => self.add_answer(when, &message_text(&item["content"])),
                // What the developers of the client and its hooks say.
                _ => self
                    .session
                    .count_left_out("texts that clients and hooks put in"),
            },
            "reasoning" => self.session.count_left_out("thoughts"),
            "function_call" => self.add_tool_call(when, id, name, &item["arguments"]),
            "custom_tool_call" => self.add_tool_call(when, id, name, &item["input"]),
            "local_shell_call" => self.add_tool_call(when, id, "shell", &item["action"]),
            "web_search_call" => self.add_tool_call(when, id, "web_search", &item["action"]),
            "function_call_output" | "custom_tool_call_output" => {
                let failed = item["output"]["success"] == false;
                self.session.add_result(id, &item["output"], failed);
            }
            _ => {}
        }
    }

    /// Reads an event that the user was shown.
    fn read_event(&mut self, event: &Value, when: Option<Timestamp>) {
        let text = event["message"].as_str().unwrap_or_default();
        match event["type"].as_str().unwrap_or_default() {
            "user_message" => self.add_prompt(when, text),
            "agent_message" => self.add_answer(when, text),
            _ => {}
        }
    }

    /// Adds a prompt, unless it repeats the last one.
    fn add_prompt(&mut self, when: Option<Timestamp>, text: &str) {
        if self.prompt.as_deref() == Some(text.trim()) {
            return;
        }
        if self.session.add_prompt(when, text).is_some() {
            self.prompt = Some(text.trim().to_owned());
            self.answer = None;
        }
    }

    /// Adds an answer, unless it repeats the last one.
    fn add_answer(&mut self, when: Option<Timestamp>, text: &str) {
        if self.answer.as_deref() == Some(text.trim()) {
            return;
        }
        if self.session.add_answer(when, text).is_some() {
            self.answer = Some(text.trim().to_owned());
            self.prompt = None;
        }
    }

    /// Adds a tool call.
    fn add_tool_call(
        &mut self,
        when: Option<Timestamp>,
        id: Option<&str>,
        name: &str,
        input: &Value,
    ) {
        self.session.add_tool_call(when, id, name, input);
        (self.prompt, self.answer) = (None, None);
    }
}

/// Returns the text of a message.
fn message_text(content: &Value) -> String {
    if let Some(text) = content.as_str() {
        return text.to_owned();
    }
    let parts = content.as_array().into_iter().flatten();
    let texts = parts.filter_map(|part| match part["type"].as_str() {
        Some("input_text" | "output_text" | "text") => part["text"].as_str(),
        Some("input_image") => Some("(a picture)"),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

/// Returns `true` if a session took place in a workspace, by its first lines.
/// Sessions of sub-agents do not count.
pub(super) fn is_session_of(path: &Path, root: &Path) -> bool {
    let (mut seen, mut is) = (0, false);
    let read = jsonl::for_each_object(path, |_, record| {
        let meta = match record.get("payload") {
            Some(payload) => payload,
            None => record,
        };
        seen += 1;
        let helper = meta["source"].get("subagent").is_some();
        if let Some(cwd) = meta["cwd"].as_str() {
            is = Path::new(cwd).starts_with(root) && !helper;
            return false;
        }
        seen < 16
    });
    read.is_ok() && is
}
