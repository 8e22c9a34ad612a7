//! Ends the program: errors with hints, exit codes, closed pipes, panics. It
//! decides what people read after an error and never tries to repair anything.
//!
//! Exit codes: 0 done, 1 it failed or a check found something, 2 the request
//! itself was wrong.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt;
use std::io::{self, Write};
use std::panic::{self, UnwindSafe};
use std::process::ExitCode;

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use forge_app::diagnostic::Diagnostic;
use forge_app::wire;

use crate::cli;
use crate::settings::{MessageStyle, ProcessEnvironment};
use crate::ui::{self, escape_hidden};

/// Prints the program's name and version.
pub(crate) fn print_version() -> ExitCode {
    let line = concat!("memory-forge ", env!("CARGO_PKG_VERSION"), "\n");
    // A closed pipe is no error: the reader does not need the rest.
    let _ = io::stdout().write_all(line.as_bytes());
    ExitCode::SUCCESS
}

/// Prints the first steps. A call without a command is no success, so it goes
/// to standard error and exits with 2.
pub(crate) fn print_getting_started() -> ExitCode {
    let _ = io::stderr().write_all(cli::GETTING_STARTED.as_bytes());
    ExitCode::from(2)
}

/// Exit codes that scripts can rely on.
#[cfg(test)]
pub(crate) const CODES: [(u8, &str); 3] = [
    (0, "done; for a check, nothing was found"),
    (
        1,
        "it failed, a check found something (`audit --ci`, `check`, `doctor`, `lint`, `links check`), or a search found nothing relevant",
    ),
    (2, "the request itself was wrong; nothing was changed"),
];

/// Outcome of a command without an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandExit {
    Success,
    /// It ran as requested, and the answer is no: `audit --ci` above its limit.
    Failure,
}

impl CommandExit {
    pub(crate) fn exit_code(self) -> ExitCode {
        match self {
            CommandExit::Success => ExitCode::SUCCESS,
            CommandExit::Failure => ExitCode::from(1),
        }
    }
}

/// Cause of an error, which decides the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureKind {
    /// The user's request was wrong: exit code 2.
    Usage,
    /// The request was valid and could not be carried out: exit code 1.
    Failure,
    /// The reader of our output has gone away, as `head` does: exit code 0, and
    /// nothing is printed.
    ClosedOutput,
}

/// Error as people see it: what happened, then what to do about it.
#[derive(Debug)]
pub(crate) struct CommandError {
    kind: FailureKind,
    /// Stable name of a library's error, for programs.
    code: Option<Cow<'static, str>>,
    message: String,
    hints: Vec<String>,
}

impl CommandError {
    /// Returns an error of the user's request.
    pub(crate) fn usage(message: impl Into<String>) -> CommandError {
        CommandError {
            kind: FailureKind::Usage,
            code: None,
            message: message.into(),
            hints: Vec::new(),
        }
    }

    /// Returns an error in carrying out a valid request.
    pub(crate) fn failure(message: impl Into<String>) -> CommandError {
        CommandError {
            kind: FailureKind::Failure,
            code: None,
            message: message.into(),
            hints: Vec::new(),
        }
    }

    /// Returns a library's error with its code and its hints. Both may hold
    /// text of files, so characters that drive a terminal are written out.
    pub(crate) fn of_library(error: &dyn Diagnostic) -> CommandError {
        let shown = |text: &str| escape_hidden(text).into_owned();
        CommandError {
            kind: if error.is_usage() {
                FailureKind::Usage
            } else {
                FailureKind::Failure
            },
            code: Some(Cow::Borrowed(error.code())),
            message: shown(&error.to_string()),
            hints: error.hints().iter().map(|hint| shown(hint)).collect(),
        }
    }

    /// Returns an error of the worker program, as safe for a terminal as one of
    /// a library.
    pub(crate) fn of_worker(error: wire::WorkerError) -> CommandError {
        let shown = |text: &str| escape_hidden(text).into_owned();
        CommandError {
            kind: if error.is_usage {
                FailureKind::Usage
            } else {
                FailureKind::Failure
            },
            code: Some(Cow::Owned(shown(&error.code))),
            message: shown(&error.message),
            hints: error.hints.iter().map(|hint| shown(hint)).collect(),
        }
    }

    /// Adds a hint. Hints are printed in the order in which they were added.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> CommandError {
        self.hints.push(hint.into());
        self
    }

    /// Returns the error for a failed write of results.
    pub(crate) fn of_output(error: &io::Error) -> CommandError {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return CommandError {
                kind: FailureKind::ClosedOutput,
                code: None,
                message: "Standard output was closed".to_owned(),
                hints: Vec::new(),
            };
        }
        CommandError::failure(format!("Cannot write to standard output: {error}"))
    }

    pub(crate) fn code(&self) -> Option<&str> {
        self.code.as_deref()
    }

    pub(crate) fn is_usage(&self) -> bool {
        self.kind == FailureKind::Usage
    }

    /// Returns the message and the hints, each on its own line.
    pub(crate) fn message_with_hints(&self) -> String {
        let mut text_with_hint = self.message.clone();
        for hint in &self.hints {
            text_with_hint.push('\n');
            text_with_hint.push_str(hint);
        }
        text_with_hint
    }

    pub(crate) fn is_closed_output(&self) -> bool {
        self.kind == FailureKind::ClosedOutput
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Causes follow the message, separated by colons. Never by `{:?}`: with
/// `RUST_BACKTRACE` set that resolves a backtrace, which takes longer than most
/// commands.
impl From<anyhow::Error> for CommandError {
    fn from(error: anyhow::Error) -> CommandError {
        match error.downcast::<CommandError>() {
            Ok(error) => error,
            Err(error) => CommandError::failure(format!("{error:#}")),
        }
    }
}

impl std::error::Error for CommandError {}

/// Errors of the libraries, each with its code and its hints. A macro, since
/// the compiler has no way to say "every type that implements this trait".
macro_rules! from_library {
    ($($error:ty),* $(,)?) => {$(
        impl From<$error> for CommandError {
            fn from(error: $error) -> CommandError {
                CommandError::of_library(&error)
            }
        }
    )*};
}

from_library!(
    forge_app::admit::TextRefusal,
    forge_app::agents::AgentError,
    forge_app::closets::ClosetsError,
    forge_app::corrections::CorrectionError,
    forge_app::federation::RegistryError,
    forge_app::import::ImportError,
    forge_app::index::IndexError,
    forge_app::knowledge::forget::ForgetError,
    forge_app::knowledge::refresh::RefreshError,
    forge_app::knowledge::save::SaveError,
    forge_app::brief::ContextError,
    forge_app::links::RenameError,
    forge_app::mind::MindError,
    forge_app::remember::RememberError,
    forge_app::share::ShareError,
    forge_app::undo::UndoError,
    forge_app::workspace::WorkspaceError,
    forge_app::workspace::PathError,
    forge_clients::setup::SetupError,
);

impl CommandError {
    /// Returns clap's error in our own words.
    fn of_parser(error: &clap::Error, words: &[OsString]) -> CommandError {
        let part = |kind| {
            error
                .get(kind)
                .map(context_text)
                .filter(|text| !text.is_empty())
        };
        let argument = part(ContextKind::InvalidArg).unwrap_or_default();
        let value = part(ContextKind::InvalidValue);
        let message = match error.kind() {
            ErrorKind::InvalidSubcommand => {
                format!(
                    "Unknown command `{}`",
                    part(ContextKind::InvalidSubcommand).unwrap_or_default()
                )
            }
            ErrorKind::UnknownArgument => format!("Unexpected argument `{argument}`"),
            ErrorKind::InvalidValue | ErrorKind::ValueValidation => match &value {
                Some(value) => format!("Invalid value `{value}` for `{argument}`"),
                None => format!("`{argument}` needs a value"),
            },
            ErrorKind::MissingRequiredArgument => format!("Missing: `{argument}`"),
            ErrorKind::ArgumentConflict => match part(ContextKind::PriorArg) {
                Some(prior) if prior == argument => format!("`{argument}` was given twice"),
                Some(prior) => format!("`{argument}` cannot be used together with `{prior}`"),
                None => format!("`{argument}` cannot be used here"),
            },
            ErrorKind::MissingSubcommand => "Missing: a command".to_owned(),
            _ => first_paragraph(error),
        };
        let mut report = CommandError::usage(message);
        for kind in [
            ContextKind::SuggestedSubcommand,
            ContextKind::SuggestedArg,
            ContextKind::SuggestedValue,
        ] {
            if let Some(better) = part(kind) {
                report = report.hint(format!(
                    "Did you mean `{}`?",
                    better.replace(", ", "` or `")
                ));
            }
        }
        if let Some(valid) = part(ContextKind::ValidValue) {
            report = report.hint(format!("Possible values: {}", valid.replace(", ", " · ")));
        }
        if error.kind() == ErrorKind::ValueValidation
            && let Some(source) = std::error::Error::source(error)
        {
            report = report.hint(explain_value_error(&source.to_string()));
        }
        if error.kind() == ErrorKind::UnknownArgument && argument.starts_with('-') {
            report = report.hint(format!("To pass `{argument}` as text, put `--` before it"));
        }
        let command = cli::resolve_command_name(words);
        report.hint(format!("Run `{command} --help` to see its options"))
    }
}

/// Runs the program so that a panic, which is always a defect of ours, ends in
/// a short message and exit code 1.
pub(crate) fn run_guarded(program: impl FnOnce() -> ExitCode + UnwindSafe) -> ExitCode {
    panic::set_hook(Box::new(|info| {
        let what = info.payload_as_str().unwrap_or("no message");
        let place = info
            .location()
            .map(|place| format!(" at {}:{}", place.file(), place.line()));
        let backtrace = std::backtrace::Backtrace::capture();
        let mut stderr = io::stderr().lock();
        // If standard error fails as well, there is no way left to report.
        let _ = writeln!(
            stderr,
            "error: Memory Forge has a defect and stopped: {}{}\n\n\
             hint: Your files are safe, and an interrupted write is rolled back by the next one\n\
             hint: Please report this line, with `RUST_BACKTRACE=1` if it can be repeated",
            ui::make_safe(what),
            place.unwrap_or_default()
        );
        if backtrace.status() == std::backtrace::BacktraceStatus::Captured {
            let _ = writeln!(stderr, "\n{backtrace}");
        }
    }));
    panic::catch_unwind(program).unwrap_or(ExitCode::from(1))
}

/// Ends a run without a parsed command: help or a version that was requested,
/// the overview if no command was given, or an error.
pub(crate) fn end_unparsed(error: clap::Error, words: &[OsString]) -> ExitCode {
    let overview = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    if error.use_stderr() && !overview {
        let error = CommandError::of_parser(&error, words);
        return print_failure(&error, ProcessEnvironment::observe().message_style());
    }
    match error.print() {
        Ok(()) if overview => ExitCode::from(2),
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => end_command(
            Err(CommandError::of_output(&error)),
            MessageStyle::default(),
        ),
    }
}

/// Reports the outcome of a command and returns the process's exit code.
pub(crate) fn end_command(
    result: Result<CommandExit, CommandError>,
    look: MessageStyle,
) -> ExitCode {
    for notice in forge_app::trust::take_notices() {
        let _ = writeln!(io::stderr(), "warning: {}", ui::escape_hidden(&notice));
    }
    match result {
        Ok(exit) => exit.exit_code(),
        Err(error) if error.is_closed_output() => CommandExit::Success.exit_code(),
        Err(error) => print_failure(&error, look),
    }
}

/// Prints an error for people and returns its exit code.
pub(crate) fn print_failure(error: &CommandError, look: MessageStyle) -> ExitCode {
    let choice = if look.color {
        ColorChoice::Always
    } else {
        ColorChoice::Never
    };
    let mut stderr = AutoStream::new(io::stderr(), choice).lock();
    // If standard error is closed, only the exit code remains.
    let text = render_error(error);
    let text = ui::make_safe(&text);
    let text = match look.fold {
        Some(columns) => ui::fold_lines(&text, columns),
        None => text.into_owned(),
    };
    let _ = stderr.write_all(text.as_bytes());
    match error.kind {
        FailureKind::Usage => ExitCode::from(2),
        FailureKind::Failure | FailureKind::ClosedOutput => ExitCode::from(1),
    }
}

fn render_error(error: &CommandError) -> String {
    const ERROR_STYLE: Style = AnsiColor::Red.on_default().bold();
    const HINT_STYLE: Style = AnsiColor::Cyan.on_default().bold();
    let mut text = format!(
        "{ERROR_STYLE}error:{ERROR_STYLE:#} {}\n",
        error.message.trim_end()
    );
    if !error.hints.is_empty() {
        text.push('\n');
    }
    for hint in &error.hints {
        text.push_str(&format!("{HINT_STYLE}hint:{HINT_STYLE:#} {hint}\n"));
    }
    text
}

fn context_text(value: &ContextValue) -> String {
    match value {
        ContextValue::String(text) => text.clone(),
        ContextValue::Strings(texts) => texts.join(", "),
        ContextValue::StyledStr(text) => text.to_string(),
        ContextValue::StyledStrs(texts) => texts
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(", "),
        ContextValue::Number(number) => number.to_string(),
        _ => String::new(),
    }
}

fn first_paragraph(error: &clap::Error) -> String {
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    capitalize_first(text.split("\n\n").next().unwrap_or(text).trim())
}

/// Turns the reason of a value parser into advice. Those of numbers come from
/// the standard library and from clap, and speak of digits and Rust's ranges.
fn explain_value_error(reason: &str) -> String {
    if reason == "invalid digit found in string" {
        return "Give a whole number".to_owned();
    }
    let range = reason.split_once(" is not in ").map(|(_, range)| range);
    match range.and_then(|range| range.split_once("..=")) {
        Some((least, most)) => format!("Give a number from {least} to {most}"),
        None => capitalize_first(reason),
    }
}

fn capitalize_first(text: &str) -> String {
    let mut chars = text.chars();
    chars
        .next()
        .map(|first| first.to_uppercase().chain(chars).collect())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_shows_its_causes_and_hints() {
        let cause = anyhow::anyhow!("Permission denied").context("Cannot read `knowledge/a.md`");
        let error = CommandError::from(cause)
            .hint("Check its owner")
            .hint("Or leave it out");
        assert_eq!(
            anstream::adapter::strip_str(&render_error(&error)).to_string(),
            "error: Cannot read `knowledge/a.md`: Permission denied\n\n\
             hint: Check its owner\nhint: Or leave it out\n"
        );
    }

    #[test]
    fn a_command_error_survives_the_way_through_anyhow() {
        let error = CommandError::usage("No").hint("Yes");
        let back = CommandError::from(anyhow::Error::from(error));
        assert_eq!((back.kind, back.hints.len()), (FailureKind::Usage, 1));
    }

    #[test]
    fn a_closed_pipe_is_not_an_error_and_a_full_disk_is() {
        let closed = io::Error::from(io::ErrorKind::BrokenPipe);
        assert!(CommandError::of_output(&closed).is_closed_output());
        let full = io::Error::from(io::ErrorKind::StorageFull);
        assert!(!CommandError::of_output(&full).is_closed_output());
    }
}
