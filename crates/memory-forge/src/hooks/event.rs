//! The events of a session, under the names that clients have for them.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    SessionStart,
    UserPromptSubmit,
    Stop,
    PreCompact,
    PostCompact,
    SessionEnd,
    SubagentStart,
    SubagentStop,
    TaskCompleted,
}

impl Event {
    /// The event that a client or a person means, in any client's spelling.
    pub(super) fn named(name: &str) -> Option<Event> {
        let plain: String = name
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .map(|c| c.to_ascii_lowercase())
            .collect();
        Some(match plain.as_str() {
            "sessionstart" => Event::SessionStart,
            "userpromptsubmit"
            | "userpromptsubmitted"
            | "userpromptcontext"
            | "beforeagent"
            | "beforesubmitprompt" => Event::UserPromptSubmit,
            "stop" | "stopcheckpoint" | "afteragent" | "agentstop" => Event::Stop,
            "precompact" | "precompress" => Event::PreCompact,
            "postcompact" => Event::PostCompact,
            "sessionend" => Event::SessionEnd,
            "subagentstart" => Event::SubagentStart,
            "subagentstop" => Event::SubagentStop,
            "taskcompleted" => Event::TaskCompleted,
            _ => return None,
        })
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Event::SessionStart => "SessionStart",
            Event::UserPromptSubmit => "UserPromptSubmit",
            Event::Stop => "Stop",
            Event::PreCompact => "PreCompact",
            Event::PostCompact => "PostCompact",
            Event::SessionEnd => "SessionEnd",
            Event::SubagentStart => "SubagentStart",
            Event::SubagentStop => "SubagentStop",
            Event::TaskCompleted => "TaskCompleted",
        }
    }

    /// Whether clients with strict schemas take context for it.
    pub(super) fn carries_context(self) -> bool {
        matches!(
            self,
            Event::SessionStart | Event::UserPromptSubmit | Event::SubagentStart
        )
    }
}
