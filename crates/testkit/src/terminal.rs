//! A program on a terminal: a real one of the system's for the program, and
//! what a person would see of it for the test. Lines that were drawn over,
//! such as progress, are gone here as they are there.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// What is on the terminal when the program has ended.
pub struct Screen {
    pub status: Option<i32>,
    /// Everything that was sent to it.
    pub bytes: Vec<u8>,
    lines: Vec<Vec<Cell>>,
}

#[derive(Clone, PartialEq)]
struct Cell {
    character: char,
    /// The parameters of the style it was written in, `1;31` for instance.
    style: String,
}

/// Runs a program on a terminal with so many columns, at which somebody has
/// typed this.
///
/// # Panics
/// When the system has no terminal to give, or the program cannot be started.
pub fn run(mut command: Command, columns: u16, typed: &str) -> Screen {
    let (master, slave) = pair(columns);
    let other = |slave: &OwnedFd| slave.try_clone().expect("it is open");
    command
        .stdin(other(&slave))
        .stdout(other(&slave))
        .stderr(slave);
    let mut child = command.spawn().expect("the program can be started");
    // The last copies of its side, but for the program's own.
    drop(command);
    let mut master = File::from(master);
    master
        .write_all(typed.as_bytes())
        .expect("a terminal takes what is typed");
    let mut bytes = Vec::new();
    let mut some = [0; 4096];
    // When the program has ended, reading fails.
    while let Ok(read @ 1..) = master.read(&mut some) {
        bytes.extend_from_slice(&some[..read]);
    }
    let status = child.wait().expect("it was started").code();
    let lines = drawn(&String::from_utf8_lossy(&bytes));
    Screen {
        status,
        bytes,
        lines,
    }
}

fn pair(columns: u16) -> (OwnedFd, OwnedFd) {
    let make = || -> rustix::io::Result<(OwnedFd, OwnedFd)> {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        let name = ptsname(&master, Vec::new())?;
        let path = OsStr::from_bytes(name.to_bytes());
        let slave = open(path, OFlags::RDWR | OFlags::NOCTTY, Mode::empty())?;
        let size = Winsize {
            ws_row: 50,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&slave, size)?;
        Ok((master, slave))
    };
    make().expect("the system has pseudo terminals")
}

impl Screen {
    /// The text alone.
    pub fn text(&self) -> String {
        self.rendered(|_| String::new())
    }

    /// The text, with `‹1;31›` where a style begins and `‹›` where it ends.
    pub fn styled(&self) -> String {
        self.rendered(|style| format!("‹{style}›"))
    }

    fn rendered(&self, mark: impl Fn(&str) -> String) -> String {
        let mut text = String::new();
        for line in &self.lines {
            let blank = |cell: &Cell| cell.character == ' ';
            let end = line
                .iter()
                .rposition(|it| !blank(it))
                .map_or(0, |at| at + 1);
            let mut now = "";
            for cell in &line[..end] {
                if cell.style != now {
                    text += &mark(&cell.style);
                    now = &cell.style;
                }
                text.push(cell.character);
            }
            if !now.is_empty() {
                text += &mark("");
            }
            text.push('\n');
        }
        let lines = text.trim_end_matches('\n').len();
        text.truncate(lines);
        text.push('\n');
        text
    }
}

/// Follows the sequences that programs of ours use: styles, lines that are
/// cleared, and the cursor going up.
fn drawn(text: &str) -> Vec<Vec<Cell>> {
    let mut lines: Vec<Vec<Cell>> = vec![Vec::new()];
    let (mut row, mut column) = (0, 0);
    let mut style = String::new();
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\r' => column = 0,
            '\n' => {
                row += 1;
                if row == lines.len() {
                    lines.push(Vec::new());
                }
            }
            '\u{1b}' if characters.next_if_eq(&'[').is_some() => {
                let mut parameters = String::new();
                let end = loop {
                    match characters.next() {
                        Some(c) if c.is_ascii_digit() || ";?".contains(c) => parameters.push(c),
                        end => break end,
                    }
                };
                match end {
                    Some('m') if matches!(parameters.as_str(), "" | "0") => style.clear(),
                    Some('m') if style.is_empty() => style = parameters,
                    Some('m') => style += &format!(";{parameters}"),
                    Some('K') if parameters == "2" => lines[row].clear(),
                    Some('K') => lines[row].truncate(column),
                    Some('A') => {
                        let up: usize = parameters.parse().unwrap_or(1);
                        row = row.saturating_sub(up);
                    }
                    _ => {}
                }
            }
            character => {
                let line = &mut lines[row];
                let blank = Cell {
                    character: ' ',
                    style: String::new(),
                };
                if line.len() <= column {
                    line.resize(column + 1, blank);
                }
                line[column] = Cell {
                    character,
                    style: style.clone(),
                };
                column += 1;
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, columns: u16, typed: &str) -> Screen {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        run(command, columns, typed)
    }

    #[test]
    fn a_program_sees_a_terminal_of_this_width() {
        let screen = shell("test -t 0 && test -t 1 && test -t 2 && stty size", 132, "");
        assert_eq!(
            (screen.status, screen.text().as_str()),
            (Some(0), "50 132\n")
        );
    }

    #[test]
    fn what_is_typed_is_read_and_shown() {
        let screen = shell("read answer; echo got $answer; exit 3", 80, "yes\n");
        assert_eq!(screen.status, Some(3));
        assert_eq!(screen.text(), "yes\ngot yes\n");
    }

    #[test]
    fn what_was_drawn_over_is_gone() {
        let screen = shell(
            r"printf 'work 1/2\r\033[2Kdone\n\033[1;31mred\033[0m x'",
            80,
            "",
        );
        assert_eq!(screen.text(), "done\nred x\n");
        assert_eq!(screen.styled(), "done\n‹1;31›red‹› x\n");
    }
}
