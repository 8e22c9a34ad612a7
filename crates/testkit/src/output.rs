//! What a program did, as a value that reads well in a snapshot.

use std::fmt;

/// Exit status and both streams of a finished program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The exit code; `None` when a signal ended the program.
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Output {
    /// The program must have succeeded; gives its standard output.
    #[track_caller]
    pub fn ok(&self) -> &str {
        assert_eq!(self.status, Some(0), "expected success:\n{self}");
        &self.stdout
    }

    /// The program must have ended with this code; gives its standard error.
    #[track_caller]
    pub fn fails(&self, code: i32) -> &str {
        assert_eq!(
            self.status,
            Some(code),
            "expected exit code {code}:\n{self}"
        );
        &self.stderr
    }
}

/// Everything at once, for one inline snapshot. Parts without text are left
/// out.
impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.status {
            Some(code) => writeln!(f, "exit: {code}")?,
            None => writeln!(f, "exit: killed by a signal")?,
        }
        for (name, text) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if text.is_empty() {
                continue;
            }
            writeln!(f, "--- {name}")?;
            f.write_str(text)?;
            if !text.ends_with('\n') {
                writeln!(f, "⏎ (no newline at the end)")?;
            }
        }
        Ok(())
    }
}
