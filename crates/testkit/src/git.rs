//! Git in a temporary directory: a fixed identity, fixed dates, no global or
//! system configuration. Equal fixtures give equal commit ids everywhere.

use std::path::Path;
use std::process::{Command, Output};

/// The date of commits that do not name their own.
pub const DATE: &str = "2026-03-01T09:00:00+00:00";

/// A `git` command for `root` that no configuration of the machine reaches.
pub fn command(root: &Path, date: &str) -> Command {
    let mut command = Command::new("git");
    command.current_dir(root).env_clear();
    for name in ["PATH", "SystemRoot"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command
        .env("HOME", root)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env(
            "GIT_CONFIG_GLOBAL",
            if cfg!(windows) { "NUL" } else { "/dev/null" },
        )
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_AUTHOR_NAME", "Test")
        .env("GIT_AUTHOR_EMAIL", "test@example.com")
        .env("GIT_AUTHOR_DATE", date)
        .env("GIT_COMMITTER_NAME", "Test")
        .env("GIT_COMMITTER_EMAIL", "test@example.com")
        .env("GIT_COMMITTER_DATE", date)
        .env("LC_ALL", "C");
    command
}

/// Returns `true` if git is installed.
pub fn is_installed() -> bool {
    Command::new("git").arg("--version").output().is_ok()
}

/// Returns `true` if git is not installed, after saying that the test is skipped.
pub fn is_missing() -> bool {
    let is_missing = !is_installed();
    if is_missing {
        crate::skip("git is missing");
    }
    is_missing
}

/// Runs a command of git.
///
/// # Panics
/// When git is missing; `cargo xtask cross` counts that test as skipped.
#[track_caller]
pub fn output(mut command: Command) -> Output {
    command.output().unwrap_or_else(|error| {
        if cfg!(windows) && error.kind() == std::io::ErrorKind::NotFound {
            crate::skip("git is missing");
        }
        panic!("cannot run git: {error}")
    })
}

/// Runs git and gives its standard output without the last line end.
///
/// # Panics
/// When git is missing or fails.
#[track_caller]
pub fn run(root: &Path, date: &str, arguments: &[&str]) -> String {
    let mut command = command(root, date);
    command.args(arguments);
    let output = output(command);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "git {arguments:?} failed: {stderr}"
    );
    String::from_utf8_lossy(&output.stdout)
        .trim_end_matches('\n')
        .to_owned()
}
