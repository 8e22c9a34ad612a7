//! Prints what people and programs see. Results go to standard output,
//! everything for a person (progress, notes, questions) to standard error, so
//! that a pipe carries data alone. It never decides what to print.

mod columns;
mod picker;

use std::borrow::Cow;
use std::io::{self, BufRead, BufWriter, Stderr, Stdout, Write};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use forge_app::quote::hidden;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use similar::{ChangeTag, TextDiff};

use crate::report::CommandError;
use crate::settings::Settings;
use forge_app::library::AnswerRemark;

pub(crate) use columns::{columns_of, cut_to_columns, fold_lines};
pub(crate) use picker::{PickerKey, PickerLine};

/// Styles in use, by their meaning. Text must be readable without them.
pub(crate) mod style {
    use super::{AnsiColor, Style};

    pub(crate) const PATH: Style = AnsiColor::Cyan.on_default();
    pub(crate) const HEADING: Style = Style::new().bold();
    pub(crate) const MATCH: Style = AnsiColor::Red.on_default().bold();
    pub(crate) const FAINT: Style = Style::new().dimmed();
    pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
    pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
    pub(crate) const CRITICAL: Style = AnsiColor::Red.on_default().bold();
    pub(crate) const ADDED: Style = AnsiColor::Green.on_default();
    pub(crate) const REMOVED: Style = AnsiColor::Red.on_default();
}

/// Streams of a command. Commands write styled text unconditionally; the
/// streams remove the styles where they are not wanted.
pub(crate) struct Ui {
    stdout: BufWriter<AutoStream<Stdout>>,
    stderr: AutoStream<Stderr>,
    quiet: bool,
    verbose: bool,
    can_ask: bool,
    live: bool,
    /// Columns at which lines on standard output and on standard error are
    /// folded. A pipe gets them whole.
    fold_stdout: Option<usize>,
    fold_stderr: Option<usize>,
}

impl Ui {
    pub(crate) fn new(settings: &Settings) -> Ui {
        let choice = |color| {
            if color {
                ColorChoice::Always
            } else {
                ColorChoice::Never
            }
        };
        Ui {
            stdout: BufWriter::new(AutoStream::new(io::stdout(), choice(settings.color_stdout))),
            stderr: AutoStream::new(io::stderr(), choice(settings.color_stderr)),
            quiet: settings.quiet,
            verbose: settings.verbose,
            can_ask: settings.stdin_terminal && settings.stderr_terminal,
            live: settings.stderr_terminal && !settings.quiet && !settings.dumb_terminal,
            fold_stdout: settings.stdout_terminal.then_some(settings.width),
            fold_stderr: settings.stderr_terminal.then_some(settings.width),
        }
    }

    /// Prints results, made safe by [`make_safe`].
    pub(crate) fn print(&mut self, text: &str) -> Result<(), CommandError> {
        self.stdout
            .write_all(make_safe(text).as_bytes())
            .map_err(|error| CommandError::of_output(&error))
    }

    /// Prints results with a line end. On a terminal long lines are folded
    /// between words.
    pub(crate) fn print_line(&mut self, text: &str) -> Result<(), CommandError> {
        match self.fold_stdout {
            Some(columns) => self.print(&fold_lines(text, columns))?,
            None => self.print(text)?,
        }
        self.print("\n")
    }

    /// Prints results of several lines, each as [`print_line`](Self::line) does.
    pub(crate) fn print_lines(&mut self, text: &str) -> Result<(), CommandError> {
        text.lines().try_for_each(|line| self.print_line(line))
    }

    /// Prints one JSON value, indented as the spec's files are, with a line
    /// end. Hidden characters of its texts are written out, since agents read
    /// it.
    pub(crate) fn print_json(&mut self, value: &impl serde::Serialize) -> Result<(), CommandError> {
        let text = serde_json::to_string_pretty(value)
            .map_err(|error| CommandError::failure(format!("Cannot write JSON: {error}")))?;
        self.print(&hidden::escape_json_for_terminal(&text))?;
        self.print("\n")
    }

    /// Prints a remark for people. Silent under `--quiet`.
    pub(crate) fn note(&mut self, text: &str) {
        if !self.quiet {
            self.write_remark(text);
        }
    }

    /// Prints a remark under `--verbose` only.
    pub(crate) fn detail(&mut self, text: &str) {
        if self.verbose {
            self.write_remark(text);
        }
    }

    /// Prints a warning; the command continues. `--quiet` does not hide it.
    pub(crate) fn warn(&mut self, text: &str) {
        let style = style::WARNING;
        self.write_remark(&format!("{style}warning:{style:#} {text}"));
    }

    /// Prints remarks of the library.
    pub(crate) fn show_remarks(&mut self, remarks: &[AnswerRemark]) {
        for remark in remarks {
            match remark {
                AnswerRemark::Note(text) => self.note(text),
                AnswerRemark::Warning(text) => self.warn(text),
            }
        }
    }

    /// Returns `true` if a user can answer a question.
    pub(crate) fn can_ask(&self) -> bool {
        self.can_ask
    }

    /// Asks before something is changed. `yes` is the command's `--yes`.
    /// Without a terminal it fails, since no answer is no consent.
    pub(crate) fn confirm(&mut self, question: &str, yes: bool) -> Result<bool, CommandError> {
        if !yes && !self.can_ask {
            let action = action_of(question);
            return Err(CommandError::usage(format!(
                "Not a terminal: pass `--yes` to {action}"
            )));
        }
        self.confirm_or(question, yes, "")
    }

    /// Asks as above, for commands with other options; `otherwise` names the
    /// one that agrees without a terminal.
    pub(crate) fn confirm_or(
        &mut self,
        question: &str,
        yes: bool,
        otherwise: &str,
    ) -> Result<bool, CommandError> {
        if yes {
            return Ok(true);
        }
        if !self.can_ask {
            let refused = CommandError::usage(format!("Not a terminal: {question}"));
            return Err(refused.hint(otherwise));
        }
        // Results so far are what the question is about.
        self.flush()?;
        let _ = write!(self.stderr, "{} [y/N] ", make_safe(question));
        let _ = self.stderr.flush();
        let mut answer = String::new();
        io::stdin()
            .lock()
            .read_line(&mut answer)
            .map_err(|error| CommandError::failure(format!("Cannot read the answer: {error}")))?;
        Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
    }

    /// Asks for a line of text. Returns `None` without a terminal, or if the
    /// input ended instead.
    pub(crate) fn ask_line(&mut self, question: &str) -> Result<Option<String>, CommandError> {
        if !self.can_ask {
            return Ok(None);
        }
        self.flush()?;
        let _ = write!(self.stderr, "{} ", make_safe(question));
        let _ = self.stderr.flush();
        let mut answer = String::new();
        let read = io::stdin()
            .lock()
            .read_line(&mut answer)
            .map_err(|error| CommandError::failure(format!("Cannot read the answer: {error}")))?;
        Ok((read > 0).then(|| answer.trim().to_owned()))
    }

    /// Draws these lines over the `drawn` ones that begin at the cursor, and
    /// leaves the cursor at the end of the first.
    fn draw_over(&mut self, lines: &[String], drawn: usize) {
        let is_colored = self.stderr.current_choice() != ColorChoice::Never;
        // The stream of ours would take the moves of the cursor out. A closed
        // one must not stop the work.
        let mut stderr = io::stderr().lock();
        let _ = stderr.write_all(redraw_safe(lines, drawn, is_colored).as_bytes());
        let _ = stderr.flush();
    }

    /// Returns what reads single keys of the terminal.
    fn open_keys(&self) -> console::Term {
        console::Term::stderr()
    }

    /// Shows a progress bar on standard error, on a terminal only.
    pub(crate) fn show_progress(&self, what: &str, total: u64) -> ProgressLine {
        ProgressLine::begin(what, total, self.live)
    }

    /// Shows progress of work in several stages, each with a bar of its own.
    pub(crate) fn watch_stages(&self) -> impl FnMut(&'static str, usize, usize) + use<> {
        let live = self.live;
        let mut stage: Option<(&'static str, ProgressLine)> = None;
        move |what, done, total| {
            if !live {
                return;
            }
            if stage.as_ref().is_none_or(|(now, _)| *now != what) {
                stage = Some((what, ProgressLine::begin(what, 0, live)));
            }
            if let Some((_, bar)) = &stage {
                bar.set(done as u64, total as u64);
            }
        }
    }

    /// Shows what is being done until the value is dropped, for work that takes
    /// longer than a moment and cannot be counted.
    pub(crate) fn show_busy(&self, what: &'static str) -> BusyLine {
        BusyLine::begin(what, self.live)
    }

    /// Prints what would change in a file.
    pub(crate) fn print_diff(
        &mut self,
        path: &str,
        old: &str,
        new: &str,
    ) -> Result<(), CommandError> {
        let text = unified_diff(path, old, new);
        self.print(&text)
    }

    /// Writes what is still buffered. Only here does a closed or full standard
    /// output surely show.
    pub(crate) fn finish(mut self) -> Result<(), CommandError> {
        self.flush()
    }

    /// Writes what is buffered so far, for commands that continue after their
    /// first result.
    pub(crate) fn flush(&mut self) -> Result<(), CommandError> {
        self.stdout
            .flush()
            .map_err(|error| CommandError::of_output(&error))
    }

    fn write_remark(&mut self, text: &str) {
        // On a terminal both streams meet: a remark belongs behind what was
        // printed before it.
        let _ = self.stdout.flush();
        let text = make_safe(text);
        let folded = self.fold_stderr.map(|columns| fold_lines(&text, columns));
        // A closed standard error must not stop the work.
        let _ = writeln!(self.stderr, "{}", folded.as_deref().unwrap_or(&text));
    }
}

/// Delay of progress; work that is done by then needs none.
const PROGRESS_DELAY: Duration = Duration::from_millis(400);

/// Progress bar that disappears when the work is done or abandoned.
pub(crate) struct ProgressLine {
    bar: ProgressBar,
    live: bool,
    begun: Instant,
}

impl ProgressLine {
    fn begin(what: &str, total: u64, live: bool) -> ProgressLine {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{msg} [{bar:32}] {human_pos}/{human_len} {eta}")
            .expect("the template is a constant and valid");
        bar.set_style(style.progress_chars("=> "));
        bar.set_message(what.to_owned());
        ProgressLine {
            bar,
            live,
            begun: Instant::now(),
        }
    }

    pub(crate) fn set(&self, position: u64, total: u64) {
        if self.live && self.bar.is_hidden() && self.begun.elapsed() > PROGRESS_DELAY {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.set_length(total);
        self.bar.set_position(position);
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Line with the elapsed seconds, drawn by a thread of its own, which
/// disappears when the value is dropped.
pub(crate) struct BusyLine {
    working: Option<(Sender<()>, JoinHandle<()>)>,
}

impl BusyLine {
    fn begin(what: &'static str, live: bool) -> BusyLine {
        if !live {
            return BusyLine { working: None };
        }
        let (done, waiting) = mpsc::channel::<()>();
        let working = thread::spawn(move || {
            if waiting.recv_timeout(PROGRESS_DELAY) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{msg} {spinner} {elapsed}")
                .expect("the template is a constant and valid");
            bar.set_style(style.tick_chars("|/-\\ "));
            bar.set_message(what);
            while waiting.recv_timeout(Duration::from_millis(120)) == Err(RecvTimeoutError::Timeout)
            {
                bar.tick();
            }
            bar.finish_and_clear();
        });
        BusyLine {
            working: Some((done, working)),
        }
    }
}

impl Drop for BusyLine {
    fn drop(&mut self) {
        if let Some((done, working)) = self.working.take() {
            drop(done);
            // A thread that failed to draw has nothing to report.
            let _ = working.join();
        }
    }
}

/// Turns a question into the words after "to": `change 3 files` for
/// `Change 3 files?`.
fn action_of(question: &str) -> String {
    let question = question.split_once("? ").map_or(question, |(it, _)| it);
    let question = question.strip_suffix('?').unwrap_or(question);
    let mut letters = question.chars();
    match letters.next() {
        Some(first) => first.to_lowercase().chain(letters).collect(),
        None => String::new(),
    }
}

/// Renders a unified diff with styles; empty if nothing differs. The text comes
/// from files, so control characters are written out.
pub(crate) fn unified_diff(path: &str, old: &str, new: &str) -> String {
    let diff = TextDiff::from_lines(old, new);
    let mut text = String::new();
    for hunk in diff.unified_diff().context_radius(3).iter_hunks() {
        if text.is_empty() {
            let (bold, path) = (style::HEADING, escape_hidden(path));
            text.push_str(&format!(
                "{bold}--- a/{path}{bold:#}\n{bold}+++ b/{path}{bold:#}\n"
            ));
        }
        let faint = style::FAINT;
        text.push_str(&format!("{faint}{}{faint:#}\n", hunk.header()));
        for change in hunk.iter_changes() {
            let (sign, style) = match change.tag() {
                ChangeTag::Equal => (' ', Style::new()),
                ChangeTag::Delete => ('-', style::REMOVED),
                ChangeTag::Insert => ('+', style::ADDED),
            };
            let line = change.value().trim_end_matches(['\r', '\n']);
            text.push_str(&format!("{style}{sign}{}{style:#}\n", escape_hidden(line)));
            if change.missing_newline() {
                text.push_str("\\ No newline at end of file\n");
            }
        }
    }
    text
}

/// Renders the hunks of a unified diff without styles: ` `, `-`, `+`, `@` or
/// `\\` and the line.
pub(crate) fn plain_diff(old: &str, new: &str) -> String {
    let diff = TextDiff::from_lines(old, new);
    let mut text = String::new();
    for hunk in diff.unified_diff().context_radius(3).iter_hunks() {
        text.push_str(&format!("{}\n", hunk.header()));
        for change in hunk.iter_changes() {
            let sign = match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            };
            let line = change.value().trim_end_matches(['\r', '\n']);
            text.push_str(&format!("{sign}{}\n", escape_hidden(line)));
        }
    }
    text
}

/// Writes out control characters, other than tab and line feed, and all
/// invisible characters of a text that is not ours, without styles.
pub(crate) fn escape_hidden(text: &str) -> Cow<'_, str> {
    hidden::escape_for_terminal(text)
}

/// Sanitizes text as the last step before a stream, which nothing bypasses.
///
/// Keeps escape sequences of our own styles; everything else
/// that drives a terminal or hides from its reader is written out. A text that
/// should have passed through [`escape_hidden`] and did not can change colours at
/// most.
pub(crate) fn make_safe(text: &str) -> Cow<'_, str> {
    if !text.contains('\u{1b}') {
        return hidden::escape_for_terminal(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        shown += &hidden::escape_for_terminal(&rest[..at]);
        rest = &rest[at..];
        let own = OWN_SEQUENCES.into_iter().find(|own| rest.starts_with(own));
        match own {
            Some(own) => shown += own,
            None => shown += &hidden::escape_for_terminal(&rest[..1]),
        }
        rest = &rest[own.map_or(1, str::len)..];
    }
    shown += &hidden::escape_for_terminal(rest);
    Cow::Owned(shown)
}

/// Returns what draws lines over others, each made safe; the moves of the
/// cursor between them are ours.
fn redraw_safe(lines: &[String], drawn: usize, is_colored: bool) -> String {
    const CLEAR_LINE: &str = "\u{1b}[2K";
    let shown = |line: &String| {
        let safe = make_safe(line).into_owned();
        if is_colored {
            safe
        } else {
            anstream::adapter::strip_str(&safe).to_string()
        }
    };
    let mut out = String::new();
    let count = lines.len().max(drawn);
    for at in 0..count {
        out += if at == 0 { "\r" } else { "\n" };
        out += CLEAR_LINE;
        out += &lines.get(at).map(shown).unwrap_or_default();
    }
    if count > 1 {
        out += &format!("\u{1b}[{}A", count - 1);
    }
    out += "\r";
    out += &lines.first().map(shown).unwrap_or_default();
    out
}

/// Escape sequences of which [`style`] consists.
const OWN_SEQUENCES: [&str; 8] = [
    "\u{1b}[0m",
    "\u{1b}[1m",
    "\u{1b}[2m",
    "\u{1b}[4m",
    "\u{1b}[31m",
    "\u{1b}[32m",
    "\u{1b}[33m",
    "\u{1b}[36m",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn a_diff_shows_lines_before_and_after() {
        let diff = unified_diff("CLAUDE.md", "a\nb\nc\n", "a\nB\nc\n");
        let expect = "--- a/CLAUDE.md\n+++ b/CLAUDE.md\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n";
        assert_eq!(plain(&diff), expect);
        assert!(
            diff.contains("\u{1b}["),
            "styled until a stream takes it off"
        );
    }

    #[test]
    fn equal_texts_give_no_diff() {
        assert_eq!(unified_diff("a.md", "same\n", "same\n"), "");
    }

    #[test]
    fn a_missing_final_newline_is_told() {
        let diff = plain(&unified_diff("a.md", "a\n", "a"));
        assert!(
            diff.ends_with("+a\n\\ No newline at end of file\n"),
            "{diff}"
        );
    }

    #[test]
    fn hostile_text_cannot_drive_the_terminal() {
        let check = |text, expect| assert_eq!(escape_hidden(text), expect);
        check("plain é 漢 \t text\n", "plain é 漢 \t text\n");
        check("\u{1b}[2J", "‹U+001B›[2J");
        check("a\u{202e}b\u{200b}", "a‹U+202E›b‹U+200B›");
        check("a\u{0}b\r", "a‹U+0000›b‹U+000D›");
    }

    #[test]
    fn lines_are_drawn_over_without_giving_the_terminal_away() {
        let lines = ["Search: \u{1b}[2J".to_owned(), format!("{}a", style::PATH)];
        assert_eq!(
            redraw_safe(&lines, 3, false),
            "\r\u{1b}[2KSearch: ‹U+001B›[2J\n\u{1b}[2Ka\n\u{1b}[2K\u{1b}[2A\rSearch: ‹U+001B›[2J"
        );
        assert!(redraw_safe(&lines, 0, true).contains("\u{1b}[36ma"));
        assert_eq!(
            redraw_safe(&[], 2, true),
            "\r\u{1b}[2K\n\u{1b}[2K\u{1b}[1A\r"
        );
    }

    #[test]
    fn only_our_own_styles_reach_a_stream() {
        let check = |text: &str, expect: &str| assert_eq!(make_safe(text), expect);
        check("plain\n", "plain\n");
        // The clipboard, the title, the cursor.
        check("\u{1b}]52;c;eA==\u{7}", "‹U+001B›]52;c;eA==‹U+0007›");
        check("\u{1b}]0;x\u{9c}", "‹U+001B›]0;x‹U+009C›");
        check("\u{9b}2J\u{1b}[8m", "‹U+009B›2J‹U+001B›[8m");
        for style in [
            style::PATH,
            style::HEADING,
            style::MATCH,
            style::FAINT,
            style::GOOD,
            style::WARNING,
            style::CRITICAL,
            style::ADDED,
            style::REMOVED,
        ] {
            let text = format!("{style}a{style:#}");
            assert_eq!(make_safe(&text), text);
        }
    }
}
