//! The agent clients that we know how to set up, by name.

use clap::ValueEnum;

/// The agent clients that can be set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Client {
    Claude,
    Codex,
    #[value(name = "opencode")]
    OpenCode,
    Gemini,
    Copilot,
    Cursor,
}

impl Client {
    pub(crate) const ALL: [Client; 6] = [
        Client::Claude,
        Client::Codex,
        Client::OpenCode,
        Client::Gemini,
        Client::Copilot,
        Client::Cursor,
    ];

    /// As it is typed.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Client::Claude => "claude",
            Client::Codex => "codex",
            Client::OpenCode => "opencode",
            Client::Gemini => "gemini",
            Client::Copilot => "copilot",
            Client::Cursor => "cursor",
        }
    }

    /// As its makers write it.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Client::Claude => "Claude Code",
            Client::Codex => "Codex",
            Client::OpenCode => "OpenCode",
            Client::Gemini => "Gemini CLI",
            Client::Copilot => "Copilot CLI",
            Client::Cursor => "Cursor",
        }
    }
}
