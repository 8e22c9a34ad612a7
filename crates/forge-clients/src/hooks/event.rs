//! Defines the events of a session, under the names that clients have for them.

/// An event of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionEvent {
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
    /// A tool is about to run.
    PreToolUse,
    /// A tool has run.
    PostToolUse,
    /// A tool has failed.
    PostToolUseFailure,
}

impl SessionEvent {
    /// Returns the event that a client or a person means, in any client's spelling.
    pub fn from_name(name: &str) -> Option<SessionEvent> {
        let plain: String = name
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .map(|c| c.to_ascii_lowercase())
            .collect();
        Some(match plain.as_str() {
            "sessionstart" => SessionEvent::SessionStart,
            "userpromptsubmit"
            | "userpromptsubmitted"
            | "userpromptcontext"
            | "beforeagent"
            | "beforesubmitprompt" => SessionEvent::UserPromptSubmit,
            "stop" | "stopcheckpoint" | "afteragent" | "agentstop" => SessionEvent::Stop,
            "precompact" | "precompress" => SessionEvent::PreCompact,
            "postcompact" => SessionEvent::PostCompact,
            "sessionend" => SessionEvent::SessionEnd,
            "subagentstart" => SessionEvent::SubagentStart,
            "subagentstop" => SessionEvent::SubagentStop,
            "taskcompleted" => SessionEvent::TaskCompleted,
            "pretooluse" => SessionEvent::PreToolUse,
            "posttooluse" => SessionEvent::PostToolUse,
            "posttoolusefailure" => SessionEvent::PostToolUseFailure,
            _ => return None,
        })
    }

    /// Returns our name for it, which is Claude Code's.
    pub fn name(self) -> &'static str {
        match self {
            SessionEvent::SessionStart => "SessionStart",
            SessionEvent::UserPromptSubmit => "UserPromptSubmit",
            SessionEvent::Stop => "Stop",
            SessionEvent::PreCompact => "PreCompact",
            SessionEvent::PostCompact => "PostCompact",
            SessionEvent::SessionEnd => "SessionEnd",
            SessionEvent::SubagentStart => "SubagentStart",
            SessionEvent::SubagentStop => "SubagentStop",
            SessionEvent::TaskCompleted => "TaskCompleted",
            SessionEvent::PreToolUse => "PreToolUse",
            SessionEvent::PostToolUse => "PostToolUse",
            SessionEvent::PostToolUseFailure => "PostToolUseFailure",
        }
    }

    /// Returns `true` for the events of one call of a tool.
    pub fn is_of_tool(self) -> bool {
        matches!(
            self,
            SessionEvent::PreToolUse | SessionEvent::PostToolUse | SessionEvent::PostToolUseFailure
        )
    }

    /// Returns `true` if clients with strict schemas take context for it.
    pub fn carries_context(self) -> bool {
        matches!(
            self,
            SessionEvent::SessionStart
                | SessionEvent::UserPromptSubmit
                | SessionEvent::SubagentStart
        )
    }
}
