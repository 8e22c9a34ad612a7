//! Defines the events of a session, under the names that clients have for them.

/// An event of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A session begins, resumes, or continues after a compaction.
    SessionStart,
    /// The user sent a prompt.
    UserPromptSubmit,
    /// The agent ended its turn.
    Stop,
    /// The client is about to shorten the conversation.
    PreCompact,
    /// The client has shortened the conversation.
    PostCompact,
    /// The session ends.
    SessionEnd,
    /// A subagent begins.
    SubagentStart,
    /// A subagent ended.
    SubagentStop,
    /// A task of the client's own list is done.
    TaskCompleted,
}

impl Event {
    /// Returns the event that a client or a person means, in any client's spelling.
    pub fn named(name: &str) -> Option<Event> {
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

    /// Returns our name for it, which is Claude Code's.
    pub fn name(self) -> &'static str {
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

    /// Returns `true` if clients with strict schemas take context for it.
    pub fn carries_context(self) -> bool {
        matches!(
            self,
            Event::SessionStart | Event::UserPromptSubmit | Event::SubagentStart
        )
    }
}
