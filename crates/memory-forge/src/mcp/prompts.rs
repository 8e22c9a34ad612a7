//! Serves prompts that a person picks in a client: the state of the work, what
//! is worth keeping, and how to end a session.

use forge_app::brief::{BriefRequest, build_brief};
use forge_app::mind::MindStore;
use forge_app::workspace::Workspace;
use jiff::Timestamp;
use rmcp::ErrorData;
use rmcp::model::{
    GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role as Speaker,
};

use super::reply::{fence_text, one_line};

/// Upper bound for the bytes of an argument.
const MAX_ARGUMENT_BYTES: usize = 5_120;

const EXTRACT_PROMPT: &str = "\
Look back over this session and decide what is worth keeping. Go down this list and stop at the first line that applies.

1. Nothing was investigated or found out, or none of it will be needed again: save nothing and say so.
2. It is a trivial fix, a setting used once, a guess that was not verified, or already there (check with search_knowledge): save nothing.
3. Something in the memory turned out to be wrong: correct_knowledge with what holds instead.
4. An error or a workaround that can be recognised when it comes back: save_knowledge with type skill. Give the problem, the exact trigger (message, symptom, situation) and a solution that was tried.
5. A pattern, a convention or a fact about this project: save_knowledge with type context. It goes to knowledge/ and is found by searching.
6. It holds in one module of a monorepo only: propose it for that module's CLAUDE.md or AGENTS.md instead, in a line or two; where both exist, for both.
7. A choice between ways: memory_save_decision with the rationale.

Before saving, check that each entry is reusable, has specific triggers or names, is complete and tested, and holds no secret. One subject an entry. Importance is 5; 8 and above only for what must never be forgotten.";

const CLOSE_PROMPT: &str = "\
End this session so that the next one can continue without questions.

1. memory_save_progress: complete the tasks that are done, add those that came up.
2. memory_save_decision for each decision that is not recorded yet.
3. memory_update_state: phase, active work, blockers (an empty list if none) and the one next action.
4. Is there something that will be needed again? Save it with save_knowledge; most sessions have nothing.
5. memory_save_session with a summary of two or three sentences: what was done, what is left, what to do first.

Write facts, not intentions, and no secrets.";

pub(super) fn list_prompts() -> Vec<Prompt> {
    let argument = |name, about: &str| {
        PromptArgument::new(name)
            .with_description(about)
            .with_required(false)
    };
    vec![
        Prompt::new("briefing", Some("Where the work stands"), None),
        Prompt::new(
            "extract-knowledge",
            Some("Decide what of this session is worth keeping, and keep it"),
            Some(vec![argument("topic", "Look at this only")]),
        ),
        Prompt::new(
            "close-session",
            Some("Write down where the work stands before the session ends"),
            Some(vec![argument("note", "Something that must be in the log")]),
        ),
    ]
}

pub(super) fn get_prompt(
    workspace: &Workspace,
    name: &str,
    given: &JsonObject,
    now: Timestamp,
    nonce: &str,
) -> Result<GetPromptResult, ErrorData> {
    let with = |text, label, given| append_argument(text, label, given, nonce);
    let text = match name {
        "briefing" => render_briefing(workspace, now, nonce)?,
        "extract-knowledge" => with(
            EXTRACT_PROMPT,
            "Look at this only",
            text_argument(given, "topic")?,
        ),
        "close-session" => with(
            CLOSE_PROMPT,
            "This must be in the log",
            text_argument(given, "note")?,
        ),
        other => {
            let message = format!("Unknown prompt: {}", one_line(other));
            return Err(ErrorData::invalid_params(message, None));
        }
    };
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(
        Speaker::User,
        text,
    )]))
}

fn text_argument<'a>(given: &'a JsonObject, name: &str) -> Result<Option<&'a str>, ErrorData> {
    let wrong = |what: &str| {
        let message = format!("Argument \"{name}\" must be {what}");
        Err(ErrorData::invalid_params(message, None))
    };
    match given.get(name).filter(|value| !value.is_null()) {
        None => Ok(None),
        Some(value) => match value.as_str() {
            Some(text) if text.len() > MAX_ARGUMENT_BYTES => {
                wrong(&format!("at most {MAX_ARGUMENT_BYTES} bytes"))
            }
            Some(text) => Ok(Some(text).filter(|text| !text.trim().is_empty())),
            None => wrong("a string"),
        },
    }
}

fn append_argument(text: &str, label: &str, given: Option<&str>, nonce: &str) -> String {
    match given {
        Some(given) => format!("{text}\n\n{label}:\n{}", fence_text(given, nonce)),
        None => text.to_owned(),
    }
}

fn render_briefing(
    workspace: &Workspace,
    now: Timestamp,
    nonce: &str,
) -> Result<String, ErrorData> {
    let request = BriefRequest::for_session(nonce, now);
    let made = build_brief(&MindStore::open(workspace), &request);
    let made = made.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    Ok(made.unwrap_or_default().text)
}
