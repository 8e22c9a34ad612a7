//! The pages of `docs/` are true: every command that a page shows with its
//! output is run in a fresh home with the real program, and what it prints is
//! compared with the page. `UPDATE_TUTORIAL=1` writes the present output there.
//!
//! A block of the language `console` holds commands and what they print:
//!
//! ```text
//! $ memory-forge search refunds
//! 1 result (keyword + semantic):
//! …
//! ```
//!
//! A command goes on after a backslash at the end of its line and up to the
//! end of a here-document. A line `…` stands for any number of lines. All
//! blocks of a page are one session: files stay, and `cd` is remembered.
//! Comments of the page arrange the scene:
//!
//! - `<!-- scene: sample -->` begins in `~/shop`, a copy of `examples/sample`
//!   in git, `<!-- scene: lantern -->` in `~/lantern`, one of
//!   `examples/lantern`;
//! - `<!-- scene: now 2026-03-02T08:30:00Z -->` sets the clock.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use regex::Regex;
use testkit::TestWorkspace;

use crate::harness::ws;

/// Pages that must show something that was run; a page that lost its blocks is
/// not a page that passed.
const LEAST_COMMANDS: [(&str, usize); 2] = [("tutorial.md", 20), ("../README.md", 3)];

#[test]
fn the_tutorial_shows_what_the_program_prints() {
    check("tutorial.md");
}

#[test]
fn the_readme_shows_what_the_program_prints() {
    check("../README.md");
}

#[test]
fn every_other_page_shows_what_the_program_prints() {
    for page in pages() {
        if page != "tutorial.md" && !page.starts_with("reference/") {
            check(&page);
        }
    }
}

/// The picture of the README is drawn from what the program prints.
/// `UPDATE_TUTORIAL=1` draws it again.
#[test]
#[cfg(unix)]
fn the_recording_shows_what_the_program_prints() {
    let mut command = Command::new("bash");
    command.arg(docs().join("../scripts/record.sh"));
    if std::env::var_os("UPDATE_TUTORIAL").is_none() {
        command.arg("--check");
    }
    let output = command.arg(env!("CARGO_BIN_EXE_memory-forge")).output();
    let output = output.expect("there is a shell");
    let differences = String::from_utf8_lossy(&output.stdout);
    let problems = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "scripts/record.sh draws another picture:\n{differences}{problems}"
    );
}

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// The Markdown files below `docs/`, by their paths there.
pub(crate) fn pages() -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(docs().join(&folder)).expect("the folder is there");
        for entry in entries {
            let entry = entry.expect("the folder can be read");
            let name = format!("{folder}{}", entry.file_name().to_string_lossy());
            if entry.path().is_dir() {
                folders.push(format!("{name}/"));
            } else if name.ends_with(".md") {
                found.push(name);
            }
        }
    }
    found.sort();
    found
}

fn check(page: &str) {
    let file = docs().join(page);
    let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{page}: {error}"));
    let parts = parts(&text);
    let shown = parts
        .iter()
        .filter(|part| matches!(part, Part::Command { .. }))
        .count();
    let least = LEAST_COMMANDS.iter().find(|(name, _)| *name == page);
    let least = least.map_or(0, |(_, least)| *least);
    assert!(shown >= least, "{page} shows {shown} commands");
    if shown == 0 {
        return;
    }
    let mut scene = Scene::begin();
    let mut after = String::new();
    let mut failures = String::new();
    for part in &parts {
        match part {
            Part::Prose(text) => after += text,
            Part::Direction(words, text) => {
                scene.arrange(words, page);
                after += text;
            }
            Part::Command { typed, said, line } => {
                let printed = scene.run(typed);
                after += typed;
                if agree(said, &printed) {
                    after += said;
                } else {
                    after += &printed;
                    if said.ends_with("\n\n") || said == "\n" {
                        after += "\n";
                    }
                    let command = typed.lines().next().unwrap_or_default();
                    failures += &format!(
                        "docs/{page}:{line}: {command}\n--- the page\n{said}--- the program\n{printed}\n"
                    );
                }
            }
        }
    }
    if std::env::var_os("UPDATE_TUTORIAL").is_some() {
        if after != text {
            fs::write(&file, after).expect("the page can be written");
        }
        return;
    }
    assert!(
        failures.is_empty(),
        "\n{failures}UPDATE_TUTORIAL=1 writes the new output into the page; read it before you commit it\n"
    );
}

#[derive(Debug, PartialEq)]
enum Part {
    Prose(String),
    /// The words of a comment `<!-- scene: … -->`, and its line.
    Direction(Vec<String>, String),
    Command {
        /// With the `$ ` before it and every line that belongs to it.
        typed: String,
        said: String,
        line: usize,
    },
}

/// A page in pieces that make the page again when they are put together.
fn parts(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut inside = false;
    let mut lines = (1..).zip(text.split_inclusive('\n')).peekable();
    while let Some((number, line)) = lines.next() {
        let plain = line.trim_end();
        if inside && let Some(command) = plain.strip_prefix("$ ") {
            let mut typed = line.to_owned();
            let mut end = here_document(command);
            let mut last = plain.to_owned();
            while end.is_some() || last.ends_with('\\') {
                let Some((_, more)) = lines.next() else { break };
                typed += more;
                last = more.trim_end().to_owned();
                match &end {
                    Some(word) if last == *word => {
                        end = None;
                        last.clear();
                    }
                    Some(_) => {}
                    None => end = here_document(&last),
                }
            }
            let mut said = String::new();
            let fence_or_command = |next: &str| next.starts_with("```") || next.starts_with("$ ");
            while let Some((_, next)) = lines.next_if(|(_, next)| !fence_or_command(next)) {
                said += next;
            }
            parts.push(Part::Command {
                typed,
                said,
                line: number,
            });
            continue;
        }
        if plain.starts_with("```") {
            inside = !inside && plain == "```console";
        }
        let direction = plain
            .strip_prefix("<!-- scene: ")
            .and_then(|rest| rest.strip_suffix(" -->"));
        match direction {
            Some(words) if !inside => {
                let words = words.split_whitespace().map(str::to_owned).collect();
                parts.push(Part::Direction(words, line.to_owned()));
            }
            _ => parts.push(Part::Prose(line.to_owned())),
        }
    }
    parts
}

/// The word that ends the text which a command is given, where it is given any.
fn here_document(command: &str) -> Option<String> {
    let (_, rest) = command.split_once("<<")?;
    let word = rest.split_whitespace().next()?;
    Some(word.trim_matches(['\'', '"']).to_owned())
}

/// What is not the same in every run or on every machine: marks of fences,
/// commits, how near a meaning is to the last digit, the size of a database.
fn varying() -> Regex {
    Regex::new(
        r"(data [0-9a-f]{16}|commit [0-9a-f]{12}|(score|cosine) [0-9.]+|Index size: +[0-9,]+)",
    )
    .expect("it is a constant")
}

/// Whether the page shows what was printed. Blank lines at the end only part
/// commands.
fn agree(said: &str, printed: &str) -> bool {
    let varying = varying();
    let lines = |text: &str| -> Vec<String> {
        let lines = text.trim_end().lines();
        lines
            .map(|line| {
                varying
                    .replace_all(line.trim_end(), "‹varies›")
                    .into_owned()
            })
            .collect()
    };
    let (said, printed) = (lines(said), lines(printed));
    let mut pieces = said.split(|line| line == "…");
    let first = pieces.next().unwrap_or_default();
    if !printed.starts_with(first) {
        return false;
    }
    let mut at = first.len();
    let rest: Vec<&[String]> = pieces.collect();
    let Some((last, between)) = rest.split_last() else {
        return at == printed.len();
    };
    for piece in between {
        let Some(found) = find(&printed[at..], piece) else {
            return false;
        };
        at += found + piece.len();
    }
    printed[at..].ends_with(last)
}

fn find(lines: &[String], piece: &[String]) -> Option<usize> {
    if piece.is_empty() {
        return Some(0);
    }
    lines
        .windows(piece.len())
        .position(|window| window == piece)
}

/// A home of its own in which a page is played.
struct Scene {
    workspace: TestWorkspace,
    folder: PathBuf,
    now: String,
}

impl Scene {
    fn begin() -> Scene {
        let workspace = ws("");
        let home = workspace.home();
        testkit::copy(
            &docs().join("../examples"),
            &home.join("memory-forge/examples"),
        );
        Scene {
            folder: home,
            workspace,
            now: testkit::workspace::NOW.to_owned(),
        }
    }

    fn arrange(&mut self, words: &[String], page: &str) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words[..] {
            ["now", moment] => self.now = moment.to_owned(),
            ["sample" | "lantern"] => {
                let home = self.workspace.home();
                let (from, to) = match words[0] {
                    "sample" => ("sample", "shop"),
                    other => (other, other),
                };
                let to = home.join(to);
                testkit::copy(&docs().join("../examples").join(from), &to);
                self.folder = to;
                let made =
                    self.run("git init --quiet && git add --all && git commit --quiet -m Start");
                assert_eq!(made, "", "{page}: the sample could not be committed");
            }
            _ => panic!("{page}: nobody knows how to arrange {words:?}"),
        }
    }

    /// What a person would see: both streams, as they come.
    fn run(&mut self, typed: &str) -> String {
        let command = typed.strip_prefix("$ ").unwrap_or(typed);
        // A search makes as many vectors as it has time for, and a page must
        // not depend on how fast a machine is.
        let asks = ["search", "doctor", "stats"];
        if asks
            .iter()
            .any(|it| command.starts_with(&format!("memory-forge {it}")))
        {
            self.shell("memory-forge index --quiet --no-readme > /dev/null");
        }
        self.shell(command)
    }

    fn shell(&mut self, command: &str) -> String {
        let home = self.workspace.home();
        let place = home.with_file_name("place");
        let script = format!("exec 2>&1\n{command}\npwd > '{}'\n", place.display());
        let program = Path::new(env!("CARGO_BIN_EXE_memory-forge"));
        let folder = program.parent().expect("it lies in a folder");
        let paths = std::env::var_os("PATH").unwrap_or_default();
        let paths = std::iter::once(folder.to_owned()).chain(std::env::split_paths(&paths));
        let environment = self.workspace.command();
        let output = Command::new("sh")
            .arg("-c")
            .arg(script)
            .current_dir(&self.folder)
            .env_clear()
            .envs(
                environment
                    .get_envs()
                    .filter_map(|(name, value)| Some((name, value?))),
            )
            .env(
                "PATH",
                std::env::join_paths(paths).expect("they were split"),
            )
            .env("MEMORY_FORGE_NOW", &self.now)
            .env("COLUMNS", "80")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .envs(["AUTHOR", "COMMITTER"].iter().flat_map(|who| {
                [
                    (format!("GIT_{who}_NAME"), "You".to_owned()),
                    (format!("GIT_{who}_EMAIL"), "you@example.com".to_owned()),
                    (format!("GIT_{who}_DATE"), self.now.clone()),
                ]
            }))
            .stdin(Stdio::null())
            .output()
            .expect("there is a shell");
        if let Ok(now_in) = fs::read_to_string(&place) {
            self.folder = PathBuf::from(now_in.trim_end());
        }
        let printed = String::from_utf8_lossy(&output.stdout);
        printed.replace(&*home.to_string_lossy(), "/home/you")
    }
}

#[test]
fn a_page_falls_into_parts_and_is_whole_again() {
    let page = "# A\n<!-- scene: sample -->\n```console\n$ a \\\n  b\nout\n\n$ cat <<'END'\n$ x\nEND\n$ c\n```\n```sh\n$ d\n```\n";
    let parts = parts(page);
    let commands: Vec<(&str, &str)> = parts
        .iter()
        .filter_map(|part| match part {
            Part::Command { typed, said, .. } => Some((typed.as_str(), said.as_str())),
            _ => None,
        })
        .collect();
    assert_eq!(
        commands,
        [
            ("$ a \\\n  b\n", "out\n\n"),
            ("$ cat <<'END'\n$ x\nEND\n", ""),
            ("$ c\n", "")
        ]
    );
    let whole: String = parts
        .iter()
        .map(|part| match part {
            Part::Prose(text) | Part::Direction(_, text) => text.clone(),
            Part::Command { typed, said, .. } => format!("{typed}{said}"),
        })
        .collect();
    assert_eq!(whole, page);
}

#[test]
fn what_is_left_out_is_skipped_and_nothing_else_is() {
    let check = |said: &str, printed: &str, expect| {
        assert_eq!(agree(said, printed), expect, "{said:?} {printed:?}")
    };
    check("a\nb\n\n", "a\nb\n", true);
    check("a\n", "a\nb\n", false);
    check("a\n…\nd\n", "a\nb\nc\nd\n", true);
    check("a\n…\nc\n…\n", "a\nb\nc\nd\n", true);
    check("a\n…\nx\n…\n", "a\nb\nc\nd\n", false);
    check("…\nd\n", "a\nd\ne\n", false);
    check("", "a\n", false);
    check(
        "cosine 0.881; x\n<data 0123456789abcdef>\n",
        "cosine 0.88; x\n<data fedcba9876543210>\n",
        true,
    );
    check("cosine 0.881; x\n", "cosine 0.881; y\n", false);
}
