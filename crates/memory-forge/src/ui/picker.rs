//! A few lines at the end of a terminal that are drawn again after each key:
//! what a person types, and below it what there is to choose from. It knows
//! keys and lines, never what they mean.

#[cfg(unix)]
use std::io;

use console::{Key, Term};

use super::{Ui, cut_to_columns, escape_hidden, style};
use crate::report::CommandError;

/// A key, as far as a picker has a use for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PickerKey {
    Character(char),
    Erase,
    EraseWord,
    EraseAll,
    Up,
    Down,
    Accept,
    Leave,
    Other,
}

/// The lines that are drawn, and the keys that are read. Dropping it removes
/// the lines and gives the terminal back as it was.
pub(crate) struct LinePicker<'u> {
    ui: &'u mut Ui,
    keys: Term,
    /// Lines that are on the screen now.
    drawn: usize,
    columns: usize,
    _silent: SilentInput,
}

impl Ui {
    /// Returns `true` if lines can be drawn over and keys be read one by one.
    pub(crate) fn can_pick(&self) -> bool {
        self.can_ask && self.live && self.fold_stdout.is_some()
    }

    /// Begins to draw. The terminal shows no typed characters from here on.
    pub(crate) fn open_picker(&mut self) -> Result<LinePicker<'_>, CommandError> {
        self.flush()?;
        let columns = self.fold_stderr.unwrap_or(80);
        Ok(LinePicker {
            keys: self.open_keys(),
            ui: self,
            drawn: 0,
            columns,
            _silent: SilentInput::begin(),
        })
    }
}

impl LinePicker<'_> {
    /// Draws what was typed behind the prompt, and the lines below it. The
    /// cursor stays behind what was typed.
    pub(crate) fn draw(&mut self, prompt: &str, typed: &str, lines: &[PickerLine]) {
        let heading = style::HEADING;
        let room = self.columns.saturating_sub(prompt.len() + 2);
        let typed = tail_of(&escape_hidden(typed), room);
        let mut drawn = vec![format!("{heading}{prompt}{heading:#} {typed}")];
        let below = lines.iter().map(|PickerLine { text, style }| {
            let text = cut_to_columns(&escape_hidden(text), self.columns.saturating_sub(1));
            format!("{style}{text}{style:#}")
        });
        drawn.extend(below);
        self.ui.draw_over(&drawn, self.drawn);
        self.drawn = drawn.len();
    }

    /// Waits for a key. An input that ended leaves.
    pub(crate) fn read_key(&self) -> PickerKey {
        match self.keys.read_key_raw() {
            Ok(key) => picker_key(key),
            Err(_) => PickerKey::Leave,
        }
    }

    /// Returns `true` if more keys were typed already, so that what they ask
    /// for can be answered at once.
    pub(crate) fn has_waiting_keys(&self) -> bool {
        has_waiting_input()
    }
}

impl Drop for LinePicker<'_> {
    fn drop(&mut self) {
        self.ui.draw_over(&[], self.drawn);
    }
}

/// A line below what is typed.
pub(crate) struct PickerLine {
    pub(crate) text: String,
    pub(crate) style: anstyle::Style,
}

/// The end of a text that is too long for the line.
fn tail_of(text: &str, columns: usize) -> String {
    let mut tail: &str = text;
    while super::columns_of(tail) > columns.max(1) {
        let mut rest = tail.chars();
        rest.next();
        tail = rest.as_str();
    }
    tail.to_owned()
}

fn picker_key(key: Key) -> PickerKey {
    match key {
        Key::Enter => PickerKey::Accept,
        // End of input and the usual way out of a program.
        Key::Escape | Key::CtrlC | Key::Char('\u{4}') => PickerKey::Leave,
        Key::Backspace => PickerKey::Erase,
        Key::Char('\u{17}') => PickerKey::EraseWord,
        Key::Char('\u{15}') => PickerKey::EraseAll,
        Key::ArrowUp | Key::BackTab | Key::Char('\u{10}') => PickerKey::Up,
        Key::ArrowDown | Key::Tab | Key::Char('\u{e}') => PickerKey::Down,
        Key::Char(character) if !character.is_control() => PickerKey::Character(character),
        _ => PickerKey::Other,
    }
}

/// Keeps the terminal from showing keys that are typed while nothing reads
/// them, and from interrupting the program before the lines are removed.
struct SilentInput {
    #[cfg(unix)]
    before: Option<rustix::termios::Termios>,
}

#[cfg(unix)]
impl SilentInput {
    fn begin() -> SilentInput {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        let before = tcgetattr(io::stdin()).ok();
        if let Some(before) = &before {
            let mut silent = before.clone();
            let shown = LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
            silent.local_modes.remove(shown);
            // Keys that were typed before are kept.
            let _ = tcsetattr(io::stdin(), OptionalActions::Drain, &silent);
        }
        SilentInput { before }
    }
}

#[cfg(unix)]
impl Drop for SilentInput {
    fn drop(&mut self) {
        use rustix::termios::{OptionalActions, tcsetattr};
        if let Some(before) = &self.before {
            let _ = tcsetattr(io::stdin(), OptionalActions::Drain, before);
        }
    }
}

#[cfg(not(unix))]
impl SilentInput {
    fn begin() -> SilentInput {
        SilentInput {}
    }
}

#[cfg(unix)]
fn has_waiting_input() -> bool {
    rustix::io::ioctl_fionread(io::stdin()).is_ok_and(|waiting| waiting > 0)
}

#[cfg(not(unix))]
fn has_waiting_input() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_programs_share_mean_the_same_here() {
        for (key, expect) in [
            (Key::Char('a'), PickerKey::Character('a')),
            (Key::Char('é'), PickerKey::Character('é')),
            (Key::Char('\u{15}'), PickerKey::EraseAll),
            (Key::Char('\u{1}'), PickerKey::Other),
            (Key::CtrlC, PickerKey::Leave),
            (Key::Tab, PickerKey::Down),
            (Key::Home, PickerKey::Other),
        ] {
            assert_eq!(picker_key(key.clone()), expect, "{key:?}");
        }
    }

    #[test]
    fn a_long_question_shows_its_end() {
        assert_eq!(tail_of("when are nets mended", 11), "nets mended");
        assert_eq!(tail_of("返金の手順", 4), "手順");
        assert_eq!(tail_of("short", 80), "short");
    }
}
