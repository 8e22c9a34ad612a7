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

use client::{detect_client, write_reply};
use event::Event;
use forge_app::client::Client;
use input::Reading;
use payload::Payload;
use settings_call::SessionFolders;

use crate::settings::Process;

/// Time limit of a hook. Nothing it does takes this long; a disk or a lock that
/// hangs might.
const DEADLINE: Duration = Duration::from_millis(2_500);
/// Time limit at the end of a session, for which clients allow about a second.
const DEADLINE_AT_END: Duration = Duration::from_millis(900);

/// Time for the empty answer and the note after the deadline.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// Answers one event. `arguments` are the words behind `hook`.
pub(crate) fn run(arguments: &[String]) -> ExitCode {
    // A message on standard error would be shown to the user by some clients.
    panic::set_hook(Box::new(|_| {}));
    let asked = Asked::read(arguments);
    let event = asked.event;
    let deadline = Instant::now()
        + match event {
            Some(Event::SessionEnd) => DEADLINE_AT_END,
            _ => DEADLINE,
        };
    // One thread, since starting one takes about as long as the answer: the
    // thread that has read the input is free to watch the deadline.
    let reading = Reading::start(move || watch(event, deadline));
    let answer = panic::catch_unwind(AssertUnwindSafe(|| {
        let process = Process::observe();
        let (payload, ended) = reading.wait(deadline);
        if !ended {
            let _ = std::thread::Builder::new().spawn(move || watch(event, deadline));
        }
        answer(&asked, &process, &payload)
    }));
    say(&answer.unwrap_or_else(|_| "{}".to_owned()));
    ExitCode::SUCCESS
}

/// Request of the command line; unknown words are ignored.
#[derive(Default)]
struct Asked {
    event: Option<Event>,
    client: Option<Client>,
    root: Option<String>,
    /// Whether a plugin calls, besides which the settings may call as well.
    by_plugin: bool,
}

impl Asked {
    fn read(arguments: &[String]) -> Asked {
        let mut asked = Asked::default();
        let mut rest = arguments.iter().map(String::as_str);
        while let Some(argument) = rest.next() {
            let (name, value) = match argument.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (argument, None),
            };
            match name {
                "--client" => {
                    let value = value.or_else(|| rest.next()).unwrap_or_default();
                    asked.client = Client::parse(value);
                }
                "--root" | "--path" | "-p" => {
                    asked.root = value.or_else(|| rest.next()).map(str::to_owned);
                }
                "--plugin" => asked.by_plugin = true,
                _ => asked.event = asked.event.or(Event::named(name)),
            }
        }
        asked
    }
}

fn answer(asked: &Asked, process: &Process, payload: &Payload) -> String {
    let Some(event) = payload.event().or(asked.event) else {
        if let Some(what) = payload.garbled {
            events::unnamed(what, payload, process, asked.root.as_deref());
        }
        return "{}".to_owned();
    };
    let client = asked
        .client
        .or_else(|| detect_client(payload, process.in_claude(), process.in_gemini()));
    let folders = SessionFolders {
        cwd: process.cwd(),
        claude_project_dir: process.claude_project_dir(),
        places: process.client_places(),
    };
    // The call of the settings answers; a second answer would brief twice.
    if asked.by_plugin && settings_call::answers(client, payload, &folders) {
        return "{}".to_owned();
    }
    let context = events::handle(event, client, payload, process, asked.root.as_deref());
    write_reply(client, event, payload, context.as_deref())
}

/// Whether the answer was printed; locked while that happens, so that it is
/// printed once.
static SAID: Mutex<bool> = Mutex::new(false);

/// Prints the answer unless one was printed before. Returns `true` if it did.
fn say(text: &str) -> bool {
    let mut said = match SAID.lock() {
        Ok(said) => said,
        Err(poisoned) => poisoned.into_inner(),
    };
    if *said {
        return false;
    }
    *said = true;
    let mut stdout = std::io::stdout().lock();
    // A client that closed its end does not want the answer.
    let _ = writeln!(stdout, "{}", text.trim_end());
    let _ = stdout.flush();
    true
}

/// Warns the user where no client takes context: at the end of a session.
/// Standard error may be closed.
fn warn(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Prints an empty answer, leaves a note and ends the process when the deadline
/// has passed.
fn watch(event: Option<Event>, deadline: Instant) {
    std::thread::sleep(deadline.saturating_duration_since(Instant::now()));
    let (done, is_done) = mpsc::channel();
    // The cause of the delay may block this as well: a disk, or an answer on
    // its way to a reader that never comes. So it runs on a thread that is
    // given up.
    let last = std::thread::Builder::new().spawn(move || {
        if say("{}") {
            events::took_too_long(event, Process::observe().now());
        }
        let _ = done.send(());
    });
    if last.is_ok() {
        let _ = is_done.recv_timeout(LAST_WORDS);
    }
    std::process::exit(0);
}
