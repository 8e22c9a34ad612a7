//! Maintains the log of closed sessions, in the folder that a client gives its
//! plugin. It is not a part of a workspace and never required: a line that
//! cannot be written is dropped, and a missing log is an empty one.

use std::path::Path;

use jiff::{SignedDuration, Timestamp};

use crate::workspace::{self, BackupAction, OutsideChange, OutsideFile, Workspace, change_outside};

/// File name of the log, which other tools read.
pub const CLOSE_LOG_FILE: &str = "session-closes.log";

/// Lines that the log keeps; older ones are dropped.
const MAX_LOG_LINES: usize = 1_000;

/// Time within which two lines describe one close: a command and the client's
/// own event may both report it.
const SAME_CLOSE_WINDOW: SignedDuration = SignedDuration::from_mins(5);

/// Attempts to write, since another session may write at the same moment.
const MAX_WRITE_ATTEMPTS: usize = 3;

/// Appends a line for a workspace whose session was closed cleanly.
pub(super) fn log_close(
    folder: &Path,
    workspace: &Workspace,
    now: Timestamp,
) -> Result<(), workspace::WorkspaceError> {
    let mut tries = 0;
    loop {
        tries += 1;
        match append_close_line(folder, workspace, now) {
            Err(workspace::WorkspaceError::ChangedSince { .. }) if tries < MAX_WRITE_ATTEMPTS => {}
            done => return done,
        }
    }
}

/// Appends the line once, unless the last one describes the same close.
fn append_close_line(
    folder: &Path,
    workspace: &Workspace,
    now: Timestamp,
) -> Result<(), workspace::WorkspaceError> {
    let file = OutsideFile {
        base: folder.to_owned(),
        path: folder.join(CLOSE_LOG_FILE),
    };
    let before = file.read()?;
    let text = String::from_utf8_lossy(before.as_deref().unwrap_or_default()).into_owned();
    let name = workspace_log_name(workspace);
    let mut lines: Vec<&str> = text.lines().collect();
    let last = lines
        .iter()
        .rev()
        .find_map(|line| parse_close_time(line, &name));
    let again = |last: Timestamp| now.duration_since(last).abs() < SAME_CLOSE_WINDOW;
    if last.is_some_and(again) {
        return Ok(());
    }
    let line = format!("{}  {name}  clean", now.strftime("%Y-%m-%dT%H:%M:%SZ"));
    lines.push(&line);
    let first = lines.len().saturating_sub(MAX_LOG_LINES);
    let after = lines[first..].join("\n") + "\n";
    let change = OutsideChange {
        file,
        before,
        after: Some(after.into_bytes()),
        backup: BackupAction::Leave,
    };
    change_outside(&[change], &[])
}

/// Parses when this workspace was closed; `None` for a line of another one.
fn parse_close_time(line: &str, name: &str) -> Option<Timestamp> {
    let (when, rest) = line.split_once("  ")?;
    let (whose, _) = rest.rsplit_once("  ")?;
    (whose == name).then(|| when.parse().ok()).flatten()
}

/// Returns the name of the folder as a field of one line; two spaces separate
/// the fields.
fn workspace_log_name(workspace: &Workspace) -> String {
    let name = workspace.root().file_name().unwrap_or_default();
    let name = name.to_string_lossy();
    let words: Vec<&str> = name
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
        .collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::TestWorkspace;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    /// Seed 003: "`session-closes.log`. Appended by session-end to track clean
    /// closes", with the line of the contract: `TS  <basename>  clean`.
    #[test]
    fn each_clean_close_is_a_line() {
        let ws = TestWorkspace::empty();
        let root = ws.path("my  shop");
        std::fs::create_dir(&root).unwrap();
        let workspace = Workspace::open(&root).unwrap();
        let folder = ws.path("data/plugin");
        let log = |when| log_close(&folder, &workspace, at(when)).unwrap();
        log("2026-03-01T09:00:00Z");
        log("2026-03-01T09:01:00Z");
        log("2026-03-01T17:00:00Z");
        assert_eq!(
            ws.read("data/plugin/session-closes.log"),
            "2026-03-01T09:00:00Z  my shop  clean\n2026-03-01T17:00:00Z  my shop  clean\n"
        );
    }

    #[test]
    fn the_log_stays_short_and_what_is_odd_stays_in_it() {
        let ws = TestWorkspace::empty();
        let workspace = Workspace::open(ws.root()).unwrap();
        let folder = ws.path("data");
        let old = "garbage\n".repeat(1_500);
        ws.write("data/session-closes.log", &old);
        log_close(&folder, &workspace, at("2026-03-01T09:00:00Z")).unwrap();
        let text = ws.read("data/session-closes.log");
        assert_eq!(text.lines().count(), MAX_LOG_LINES);
        assert!(text.ends_with("  clean\n"), "{text}");
    }

    #[test]
    #[cfg(unix)]
    fn a_link_is_not_written_through() {
        let ws = TestWorkspace::files("//- mine.txt\nmine\n//- data/x\n\n");
        let workspace = Workspace::open(ws.root()).unwrap();
        std::os::unix::fs::symlink("../mine.txt", ws.path("data/session-closes.log")).unwrap();
        let folder = ws.path("data");
        assert!(log_close(&folder, &workspace, at("2026-03-01T09:00:00Z")).is_err());
        assert_eq!(ws.read("mine.txt"), "mine\n");
    }
}
