//! Runs `memory-forge hook`, which agent clients call at every start, prompt
//! and stop. It is a hot path: no command-line parser (its errors exit with 2,
//! which erases the user's prompt), no vocabulary, no model, no index, no async
//! runtime.
//!
//! In every case it prints one JSON object and exits with 0 within its
//! deadline. Errors are recorded for `doctor`.

mod events;
mod input;

use std::io::Write;
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

use forge_clients::hooks::{client, event, payload, settings_call};

use client::{detect_client, render_reply};
use event::SessionEvent;
use forge_app::client::AgentClient;
use input::InputReader;
use payload::HookPayload;
use settings_call::SessionFolders;

use crate::settings::ProcessEnvironment;

/// Time limit of a hook. Nothing it does takes this long; a disk or a lock that
/// hangs might.
const HOOK_DEADLINE: Duration = Duration::from_millis(2_500);
/// Time limit at the end of a session, for which clients allow about a second.
const SESSION_END_DEADLINE: Duration = Duration::from_millis(900);

/// Time for the empty answer and the note after the deadline.
const LATE_ANSWER_WAIT: Duration = Duration::from_millis(300);

/// Answers one event. `arguments` are the words behind `hook`.
pub(crate) fn run_hook(arguments: &[String]) -> ExitCode {
    // A message on standard error would be shown to the user by some clients.
    panic::set_hook(Box::new(|_| {}));
    let asked = HookCall::parse_words(arguments);
    let event = asked.event;
    let deadline = Instant::now()
        + match event {
            Some(SessionEvent::SessionEnd) => SESSION_END_DEADLINE,
            _ => HOOK_DEADLINE,
        };
    // One thread, since starting one takes about as long as the answer: the
    // thread that has read the input is free to watch the deadline.
    let reading = InputReader::start_reading(move || watch_deadline(event, deadline));
    let answer = panic::catch_unwind(AssertUnwindSafe(|| {
        let process = ProcessEnvironment::observe();
        let (payload, ended) = reading.wait_for_payload(deadline);
        if !ended {
            let _ = std::thread::Builder::new().spawn(move || watch_deadline(event, deadline));
        }
        answer_event(&asked, &process, &payload)
    }));
    print_answer(&answer.unwrap_or_else(|_| "{}".to_owned()));
    ExitCode::SUCCESS
}

/// Request of the command line; unknown words are ignored.
#[derive(Default)]
struct HookCall {
    event: Option<SessionEvent>,
    client: Option<AgentClient>,
    root: Option<String>,
    /// Whether a plugin calls, besides which the settings may call as well.
    by_plugin: bool,
}

impl HookCall {
    fn parse_words(arguments: &[String]) -> HookCall {
        let mut asked = HookCall::default();
        let mut rest = arguments.iter().map(String::as_str);
        while let Some(argument) = rest.next() {
            let (name, value) = match argument.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (argument, None),
            };
            match name {
                "--client" => {
                    let value = value.or_else(|| rest.next()).unwrap_or_default();
                    asked.client = AgentClient::from_name(value);
                }
                "--root" | "--path" | "-p" => {
                    asked.root = value.or_else(|| rest.next()).map(str::to_owned);
                }
                "--plugin" => asked.by_plugin = true,
                _ => asked.event = asked.event.or(SessionEvent::from_name(name)),
            }
        }
        asked
    }
}

fn answer_event(asked: &HookCall, process: &ProcessEnvironment, payload: &HookPayload) -> String {
    let Some(event) = payload.named_event().or(asked.event) else {
        if let Some(what) = payload.garbled {
            events::note_unnamed_event(what, payload, process, asked.root.as_deref());
        }
        return "{}".to_owned();
    };
    let client = asked
        .client
        .or_else(|| detect_client(payload, process.is_in_claude(), process.is_in_gemini()));
    let folders = SessionFolders {
        cwd: process.cwd(),
        claude_project_dir: process.claude_project_dir(),
        places: process.client_places(),
    };
    // The call of the settings answers; a second answer would brief twice.
    if asked.by_plugin && settings_call::settings_call_us(client, payload, &folders) {
        return "{}".to_owned();
    }
    let context = events::handle_event(event, client, payload, process, asked.root.as_deref());
    render_reply(client, event, payload, context.as_deref())
}

/// Whether the answer was printed; locked while that happens, so that it is
/// printed once.
static IS_ANSWERED: Mutex<bool> = Mutex::new(false);

/// Prints the answer unless one was printed before. Returns `true` if it did.
fn print_answer(text: &str) -> bool {
    let mut said = match IS_ANSWERED.lock() {
        Ok(said) => said,
        Err(poisoned) => poisoned.into_inner(),
    };
    if *said {
        return false;
    }
    *said = true;
    let mut stdout = std::io::stdout().lock();
    let text = text.trim_end();
    // A client that closed its end does not want the answer.
    let _ = if cfg!(windows) {
        writeln!(stdout, "{}", escape_to_ascii(text))
    } else {
        writeln!(stdout, "{text}")
    };
    let _ = stdout.flush();
    true
}

/// Returns JSON with every character outside of ASCII as an escape. PowerShell
/// decodes what a program prints by the code page of the console, which is not
/// UTF-8 by default.
fn escape_to_ascii(json: &str) -> String {
    use std::fmt::Write;
    let mut text = String::with_capacity(json.len());
    for character in json.chars() {
        if character.is_ascii() {
            text.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            // Writing to a string cannot fail.
            let _ = write!(text, "\\u{unit:04x}");
        }
    }
    text
}

/// Warns the user where no client takes context: at the end of a session.
/// Standard error may be closed.
fn warn_user(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Prints an empty answer, leaves a note and ends the process when the deadline
/// has passed.
fn watch_deadline(event: Option<SessionEvent>, deadline: Instant) {
    std::thread::sleep(deadline.saturating_duration_since(Instant::now()));
    let (done, is_done) = mpsc::channel();
    // The cause of the delay may block this as well: a disk, or an answer on
    // its way to a reader that never comes. So it runs on a thread that is
    // given up.
    let last = std::thread::Builder::new().spawn(move || {
        if print_answer("{}") {
            events::note_missed_deadline(event, ProcessEnvironment::observe().now());
        }
        let _ = done.send(());
    });
    if last.is_ok() {
        let _ = is_done.recv_timeout(LATE_ANSWER_WAIT);
    }
    std::process::exit(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_escaped_answer_is_the_same_json_in_ascii() {
        let json = r#"{"text":"≤ 2 \"Jörg\" 𝄞"}"#;
        let escaped = escape_to_ascii(json);
        assert!(escaped.is_ascii(), "{escaped}");
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("JSON");
        assert_eq!(read(&escaped), read(json));
    }
}
