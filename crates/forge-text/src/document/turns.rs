//! Conversations with an assistant: who speaks in a line.

/// The speaker of a turn in a conversation with an assistant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnSpeaker {
    /// The text is no such conversation.
    Author,
    /// The person who asks.
    User,
    /// The assistant that answers.
    Assistant,
}

/// Parses the speaker at the start of a line, and the rest: `**User:** text`,
/// `## Assistant`, `Human: text`.
pub fn parse_turn(line: &str) -> Option<(TurnSpeaker, &str)> {
    let name = line.trim_start_matches(|c: char| c.is_whitespace() || "#>*_-[".contains(c));
    let end = name
        .find(|c: char| !c.is_alphabetic())
        .unwrap_or(name.len());
    let (name, rest) = name.split_at(end);
    // All names below are in these bounds, and most lines end here.
    if !(2..=12).contains(&name.len()) {
        return None;
    }
    let voice = match name.to_lowercase().as_str() {
        "user" | "human" | "me" | "nutzer" | "benutzer" | "utilisateur" | "usuario" | "usuário"
        | "utente" => TurnSpeaker::User,
        "assistant" | "ai" | "bot" | "claude" | "chatgpt" | "gpt" | "gemini" | "copilot"
        | "model" | "assistent" | "asistente" | "assistente" => TurnSpeaker::Assistant,
        _ => return None,
    };
    let after = rest.trim_start_matches(|c: char| "*_] ".contains(c));
    let heading = line.trim_start().starts_with('#');
    match after.strip_prefix(':') {
        Some(rest) => Some((voice, rest.trim_start_matches(|c: char| "*_ ".contains(c)))),
        None if heading && after.trim().is_empty() => Some((voice, "")),
        None => None,
    }
}
