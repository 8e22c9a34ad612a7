//! A workspace whose state files are full of what people write into them:
//! sections that the program does not know, code that looks like structure,
//! one file with CRLF. Every line of it is the user's and must outlive
//! whatever the checks do.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, ensure};
use testkit::TestWorkspace;

pub(crate) const STATE: &str = ".mind/STATE.md";
pub(crate) const PROGRESS: &str = ".mind/PROGRESS.md";
pub(crate) const DECISIONS: &str = ".mind/DECISIONS.md";
pub(crate) const SESSIONS: &str = ".mind/SESSION-LOG.md";
pub(crate) const ARCHIVE: &str = ".mind/ARCHIVE.md";
pub(crate) const FILES: [&str; 5] = [STATE, PROGRESS, DECISIONS, SESSIONS, ARCHIVE];

/// Far enough ahead that no file of the workspace was written after it: what
/// a session left open then counts as not described, and hooks write it down.
const START: &str = "2035-01-01T09:00:00Z";

/// A filled workspace and the lines that must stay.
pub(crate) struct Seeded {
    pub(crate) ws: TestWorkspace,
    /// Every line with the number of times that it stands in the files.
    lines: HashMap<String, usize>,
}

impl Seeded {
    pub(crate) fn new(binary: &Path) -> Result<Seeded> {
        let ws = TestWorkspace::files(OTHERS).binary(binary);
        let mut lines = HashMap::new();
        for (path, text) in [
            (STATE, state()),
            (PROGRESS, progress()),
            (DECISIONS, decisions()),
            (SESSIONS, sessions()),
        ] {
            // A line that begins with `%` is a value of the program's own,
            // which it may replace.
            for line in text.lines() {
                if !line.trim().is_empty() && !line.starts_with('%') {
                    *lines.entry(line.to_owned()).or_default() += 1;
                }
            }
            let mut text = text.replace("\n%", "\n");
            if path == PROGRESS {
                text = text.replace('\n', "\r\n");
            }
            ws.write(path, text);
        }
        // What changed is found by git where there is one.
        if testkit::git::is_installed() {
            ws.git_init();
            ws.commit("first");
        }
        ws.write("src/open.rs", "fn work_in_progress() {}\n");
        // Changed in every session that is still to come.
        let file = std::fs::File::options()
            .write(true)
            .open(ws.path("src/open.rs"))?;
        file.set_modified(SystemTime::now() + Duration::from_secs(20 * 365 * 86_400))?;
        Ok(Seeded { ws, lines })
    }

    /// The hour of a round, so that days pass and things grow old.
    pub(crate) fn moment(round: usize) -> Result<jiff::Timestamp> {
        let start: jiff::Timestamp = START.parse().context("a constant")?;
        let hours = i64::try_from(round).context("few rounds")?;
        Ok(start + jiff::SignedDuration::from_hours(hours))
    }

    /// The state files and the archive as they are now; the archive may be
    /// missing.
    pub(crate) fn texts(&self) -> Result<Vec<(&'static str, String)>> {
        let mut texts = Vec::new();
        for path in FILES {
            if path == ARCHIVE && !self.ws.exists(path) {
                continue;
            }
            let text = std::fs::read_to_string(self.ws.path(path))
                .with_context(|| format!("`{path}` cannot be read as text"))?;
            ensure!(
                text.ends_with('\n'),
                "`{path}` ends in the middle of a line"
            );
            texts.push((path, text));
        }
        Ok(texts)
    }

    /// No line of the user's is gone or doubled, and line ends are as they were.
    pub(crate) fn check_lines(&self, texts: &[(&str, String)]) -> Result<()> {
        let mut found: HashMap<&str, usize> = HashMap::new();
        for (path, text) in texts {
            for line in text.split_inclusive('\n') {
                let crlf = line.ends_with("\r\n");
                ensure!(
                    *path == ARCHIVE || crlf == (*path == PROGRESS),
                    "`{path}` has other line ends than before: {line:?}"
                );
                *found
                    .entry(line.trim_end_matches(['\r', '\n']))
                    .or_default() += 1;
            }
        }
        for (line, count) in &self.lines {
            let now = found.get(line.as_str()).copied().unwrap_or(0);
            // Fences and rules are written by the program as well.
            let exact = line.contains(MARK);
            ensure!(
                now == *count || (now > *count && !exact),
                "the user's line {line:?} was there {count} times and is there {now} times"
            );
        }
        Ok(())
    }

    /// Everything outside of `.mind/` and of what is derived.
    pub(crate) fn others(&self) -> String {
        let tree = self.ws.tree_of_sources();
        tree.split_inclusive('\n')
            .filter(|line| !line.starts_with(".mind/"))
            .collect()
    }
}

/// A word that only the user's lines have.
const MARK: &str = "§";

const OTHERS: &str = "
    //- README.md
    # A project
    //- src/main.rs
    fn main() {}
    //- knowledge/tides.md
    # Tides
    High water at noon.
";

fn state() -> String {
    let mut text = String::from(
        "# Project State

Written by the team, not by a tool. §1

## Current Phase
%Phase 1: Foundations

## House rules
- Nobody deploys on a Friday §2
- Ask Zoë before touching the ledger — größere Änderungen zuerst §3

## Current Status
%Not set

## Working notes
```sh §4
## Next Action
echo 'a heading inside of code is no heading' §5
```

<!-- Keep this table by hand §6 -->

| service | port §7 |
|---------|---------|
| ledger  | 7001 §8 |

## Active Work
%None

## Next Action
%Not set

## Last Updated
%2034-12-01

## Glossary
",
    );
    fill(&mut text, "Term");
    text
}

fn progress() -> String {
    let mut text = String::from(
        "# Progress Tracker

## Phase 1 §1p

### In Progress
- [ ] Carry the ledger over §2p
  - [ ] one account first §3p

### Blocked
- [ ] Keys for the bank §4p

### Completed
",
    );
    for task in 1..=12 {
        let _ = write!(
            text,
            "- [x] Old task {task} §5p (completed 2034-11-{task:02})\n  - with a remark of its own, {task} §6p\n"
        );
    }
    text.push_str("\n## Ideas\n\n```md §7p\n- [ ] an example, not a task §8p\n```\n\n");
    fill(&mut text, "Idea");
    text
}

fn decisions() -> String {
    let mut text = String::from("# Decision Log\n\nWhat we agreed on, and why. §1d\n\n");
    for number in 1..=14 {
        let _ = write!(
            text,
            "## DEC-{number:03}: Question {number} of the early days §2d
- **Date:** 2034-10-{number:02} §3d-{number}
- **Decision:** Way {number}, since it was measured §4d
- **Rationale:** A table of figures §5d-{number}
- **Status:** Final §6d-{number}

```text §7d-{number}
## DEC-999: this is code §8d-{number}
```

"
        );
        if number == 7 {
            text.push_str("## Reading list §9d\n\n");
            fill(&mut text, "Paper");
        }
    }
    text
}

fn sessions() -> String {
    let mut text = String::from("# Session Log\n\n");
    fill(&mut text, "Remark");
    for number in 1..=9 {
        let _ = write!(
            text,
            "## Session {number} — 2034-11-{number:02} 10:00:00 §1s
- **Summary:** Part {number} came to its end §2s
- **Mood:** tired but content, {number} §3s

```log §4s-{number}
## Session 99 — is a line of output §5s-{number}
```

"
        );
    }
    text
}

/// Enough text that a write of it takes a moment.
fn fill(text: &mut String, what: &str) {
    for line in 1..=40 {
        let _ = writeln!(
            text,
            "- {what} {line}: looked at, weighed and kept, with an ümlaut and `code` §"
        );
    }
    text.push('\n');
}
