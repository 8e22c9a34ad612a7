//! Turns what clients report, a call of a tool with its result or a prompt,
//! into facts. Texts are redacted whole and then shortened, so that half a
//! secret is never kept.

use std::path::Path;

use serde_json::Value;

use super::command::parse_command;
use super::entry::{CommandFact, EvidenceFact, TestTally};
use super::fault::{find_fault, shows_hidden_failure};
use crate::admit;

/// Maximum characters of a command.
const MAX_COMMAND_CHARS: usize = 300;
/// Maximum characters of an error line, and of what the user wrote.
const MAX_LINE_CHARS: usize = 200;
/// Bytes of a result that are looked at, from its beginning and its end.
const MAX_RESULT_BYTES: usize = 64 << 10;
/// Bytes of a longest path that is kept.
const MAX_PATH_BYTES: usize = 400;

/// What a tool is about to do, as far as keys exist for it. Paths are relative
/// to the workspace where they are inside of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolAction {
    /// A shell command.
    Command {
        /// The command line.
        command: String,
        /// The folder it runs in; `.` for the root of the workspace.
        dir: String,
        /// The absolute path of the workspace, which paths in the command are
        /// relative to.
        root: String,
    },
    /// A read of a file.
    Read {
        /// The file.
        path: String,
        /// Whether the call sets no offset, limit or range of pages.
        is_whole: bool,
    },
    /// An edit of a file, or a write.
    Change {
        /// The file.
        path: String,
        /// Whether the call succeeds without an existing file.
        creates: bool,
    },
    /// A search in a folder or a file, or a listing.
    Search {
        /// The folder or file; of a glob, the folder that its beginning names.
        path: String,
        /// Whether a glob names files: where its folder does not exist, the
        /// client reports no error and finds nothing.
        is_glob: bool,
    },
}

/// The workspace and the folder in which a tool runs.
#[derive(Debug, Clone, Copy)]
pub struct WorkPlace<'a> {
    /// The absolute path of the workspace.
    pub root: &'a Path,
    /// The absolute path that relative paths start from.
    pub cwd: &'a Path,
}

impl WorkPlace<'_> {
    /// Returns a path relative to the workspace, or absolute outside of it.
    pub fn locate(&self, path: &str) -> String {
        let path = path.replace('\\', "/");
        let is_absolute = path.starts_with('/') || path.get(1..3) == Some(":/");
        let full = if is_absolute {
            lexical(&path)
        } else {
            lexical(&format!("{}/{path}", self.cwd.to_string_lossy()))
        };
        below_root(&lexical(&self.root.to_string_lossy()), full)
    }
}

/// Makes an absolute path relative where it is inside of the workspace.
fn below_root(root: &str, full: String) -> String {
    match full.strip_prefix(root) {
        Some("") => ".".to_owned(),
        Some(rest) if rest.starts_with('/') => rest[1..].to_owned(),
        _ => full,
    }
}

/// Resolves `.` and `..` by the names alone.
fn lexical(path: &str) -> String {
    let path = path.replace('\\', "/");
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let start = if path.starts_with('/') { "/" } else { "" };
    format!("{start}{}", parts.join("/"))
}

/// Returns what a call will do; none for tools without keys and for inputs of
/// an unknown form.
pub fn planned_action(tool: &str, input: &Value, place: WorkPlace<'_>) -> Option<ToolAction> {
    let text = |names: &[&str]| {
        let value = names.iter().find_map(|name| input.get(*name)?.as_str());
        value.filter(|text| !text.trim().is_empty())
    };
    let path = |names: &[&str]| {
        let path = text(names).filter(|path| path.len() <= MAX_PATH_BYTES)?;
        (!path.chars().any(char::is_control)).then(|| place.locate(path))
    };
    const PATH_KEYS: [&str; 6] = [
        "file_path",
        "path",
        "notebook_path",
        "target_file",
        "filePath",
        "absolute_path",
    ];
    match tool {
        "Bash" | "exec_command" | "shell" | "Shell" | "run_shell_command" | "local_shell"
        | "bash" | "run_terminal_cmd" => {
            let command = match input.get("command").or_else(|| input.get("cmd"))? {
                Value::String(text) => text.clone(),
                Value::Array(words) => join_words(words)?,
                _ => return None,
            };
            let dir = text(&["workdir", "cwd", "dir_path"])
                .map_or_else(|| place.locate("."), |dir| place.locate(dir));
            let root = lexical(&place.root.to_string_lossy());
            (!command.trim().is_empty()).then_some(ToolAction::Command { command, dir, root })
        }
        "Read" | "read_file" | "view" | "read" => Some(ToolAction::Read {
            path: path(&PATH_KEYS)?,
            is_whole: ["offset", "limit", "pages", "start_line", "view_range"]
                .iter()
                .all(|name| input.get(*name).is_none_or(Value::is_null)),
        }),
        "Edit" | "MultiEdit" | "NotebookEdit" | "replace" | "search_replace" | "edit"
        | "str_replace" => Some(ToolAction::Change {
            path: path(&PATH_KEYS)?,
            // An edit of nothing makes a new file.
            creates: input.get("old_string").and_then(Value::as_str) == Some(""),
        }),
        "Write" | "write_file" | "create" | "write" => Some(ToolAction::Change {
            path: path(&PATH_KEYS)?,
            creates: true,
        }),
        "Glob" | "glob" => {
            let folder = text(&["path", "dir_path"]).unwrap_or(".");
            let within = glob_folder(text(&["pattern"])?);
            let is_absolute = within.starts_with('/') || within.get(1..3) == Some(":/");
            let named = if is_absolute {
                within.to_owned()
            } else {
                format!("{folder}/{within}")
            };
            let fits = named.len() <= MAX_PATH_BYTES && !named.chars().any(char::is_control);
            fits.then(|| ToolAction::Search {
                path: place.locate(&named),
                is_glob: true,
            })
        }
        "Grep" | "LS" | "grep" | "list_directory" => Some(ToolAction::Search {
            path: path(&["path", "dir_path"])?,
            is_glob: false,
        }),
        _ => None,
    }
}

/// Returns the folder that the beginning of a glob names: `src/api` of
/// `src/api/*.rs` and of `src/api/a.rs`. It is empty without a folder.
pub(crate) fn glob_folder(pattern: &str) -> &str {
    let literal = pattern.find(['*', '?', '[', '{']).unwrap_or(pattern.len());
    let end = pattern[..literal].rfind('/').unwrap_or(0);
    &pattern[..end]
}

/// Joins the words of a command; `["bash", "-lc", "ls"]` is `ls`.
fn join_words(words: &[Value]) -> Option<String> {
    let words: Vec<&str> = words.iter().map(Value::as_str).collect::<Option<_>>()?;
    Some(match &words[..] {
        [shell, flag, script] if shell.ends_with("sh") && flag.starts_with('-') => {
            (*script).to_owned()
        }
        _ => words.join(" "),
    })
}

/// The end of a call, as a client reports it.
#[derive(Debug, Clone, Copy)]
pub struct ToolOutcome<'a> {
    /// The text of the result, as the client returned it: neither redacted nor
    /// shortened.
    pub text: &'a str,
    /// Whether the client marked it as an error.
    pub is_error: bool,
    /// The size of the file on disk, for a read.
    pub bytes: Option<u64>,
}

/// Returns the facts of a call that has ended.
pub fn observe_result(action: &ToolAction, outcome: ToolOutcome<'_>) -> Vec<EvidenceFact> {
    let text = cut_middle(outcome.text);
    let text = text.trim_start();
    let words = match how_it_ended(text) {
        CallEnding::Refused(words) => Some(words),
        CallEnding::Unknown => return Vec::new(),
        CallEnding::Ended => None,
    };
    let text = text.strip_prefix("<tool_use_error>").unwrap_or(text);
    match action {
        ToolAction::Command { command, .. } if words.is_some() => vec![EvidenceFact::Refused {
            command: keep_line(command, MAX_COMMAND_CHARS),
            words: keep_line(words.unwrap_or_default(), MAX_LINE_CHARS),
        }],
        _ if words.is_some() => Vec::new(),
        ToolAction::Command { command, dir, root } => {
            observe_command(command, (dir, root), text, outcome)
        }
        ToolAction::Read { path, is_whole } => {
            if is_too_large(text) {
                let bytes = outcome.bytes;
                let path = path.clone();
                return if *is_whole {
                    vec![EvidenceFact::TooLarge { path, bytes }]
                } else {
                    Vec::new()
                };
            }
            observe_path(path, text, outcome.is_error, |path| EvidenceFact::Read {
                path,
            })
        }
        ToolAction::Change { path, .. } => observe_path(path, text, outcome.is_error, |path| {
            EvidenceFact::Changed { path }
        }),
        ToolAction::Search { path, .. } => {
            if reports_missing(text) {
                vec![EvidenceFact::Missing { path: path.clone() }]
            } else {
                Vec::new()
            }
        }
    }
}

enum CallEnding<'a> {
    Ended,
    /// The user refused it, with these words.
    Refused(&'a str),
    /// It did not run, or nothing is known of its end.
    Unknown,
}

fn how_it_ended(text: &str) -> CallEnding<'_> {
    const REFUSALS: [&str; 3] = [
        "The user doesn't want to proceed with this tool use",
        "The user doesn’t want to proceed with this tool use",
        "Permission for this tool use was denied",
    ];
    const NOT_RUN: [&str; 4] = [
        "[Request interrupted",
        "<tool_use_error>Sibling tool call",
        "<tool_use_error>Cancelled",
        "The user doesn't want to take this action right now",
    ];
    if REFUSALS.iter().any(|start| text.starts_with(start)) {
        let words = text
            .split_once("the user said:")
            .map_or("", |(_, words)| words);
        // The client's own advice to the model follows the user's words.
        let words = words.split("\n\nNote:").next().unwrap_or_default();
        return CallEnding::Refused(words.trim());
    }
    if NOT_RUN.iter().any(|start| text.starts_with(start)) {
        return CallEnding::Unknown;
    }
    CallEnding::Ended
}

fn observe_command(
    command: &str,
    (dir, root): (&str, &str),
    text: &str,
    outcome: ToolOutcome<'_>,
) -> Vec<EvidenceFact> {
    let (exit, output) = split_exit_code(text);
    let failed = match exit {
        Some(code) => code != 0,
        None => outcome.is_error,
    };
    let is_hidden = !failed && shows_hidden_failure(command, output);
    let found = (failed || is_hidden)
        .then(|| find_fault(command, output))
        .flatten();
    let error = match &found {
        Some(found) => found.line.clone(),
        None if failed || is_hidden => first_error_line(output).to_owned(),
        None => String::new(),
    };
    let mut facts = missing_operands(command, (dir, root), output);
    facts.push(EvidenceFact::Command(CommandFact {
        dir: if dir == "." {
            String::new()
        } else {
            dir.to_owned()
        },
        command: keep_line(command, MAX_COMMAND_CHARS),
        worked: !failed && !is_hidden,
        exit,
        error: keep_line(&error, MAX_LINE_CHARS),
        fault: found.map(|it| it.fault),
        tests: count_tests(output),
    }));
    facts
}

/// Splits the exit code that clients put in front of the output.
fn split_exit_code(text: &str) -> (Option<i32>, &str) {
    let code = |rest: &str| {
        let end = rest
            .find(|c: char| c != '-' && !c.is_ascii_digit())
            .unwrap_or(rest.len());
        rest[..end].parse().ok()
    };
    for mark in ["Exit code ", "Process exited with code ", "Exit Code: "] {
        if let Some(at) = text[..text.floor_char_boundary(400)].find(mark)
            && (at == 0 || text[..at].ends_with('\n'))
        {
            let rest = &text[at + mark.len()..];
            let output = rest.split_once('\n').map_or("", |(_, output)| output);
            return (code(rest), output);
        }
    }
    (None, text)
}

/// Returns the paths of a command that its programs report as missing.
fn missing_operands(command: &str, (dir, root): (&str, &str), output: &str) -> Vec<EvidenceFact> {
    const MARK: &str = ": No such file or directory";
    let commands = parse_command(command);
    let mut missing = Vec::new();
    for line in output.lines().take(40) {
        let Some((program, rest)) = line.strip_suffix(MARK).and_then(|it| it.split_once(": "))
        else {
            continue;
        };
        let named = rest.rsplit_once(' ').map_or(rest, |(before, last)| {
            // `cannot access 'x'`, `can't read x`; a path may have spaces.
            if before.contains("cannot") || before.contains("can't") {
                last
            } else {
                rest
            }
        });
        let named = named.trim_matches(['\'', '"', '‘', '’', '`']);
        // A `cd` in front moves what the later programs are given.
        let mut dir = dir.to_owned();
        let mut found = None;
        for it in &commands {
            let mut operands = it.operands().filter(|word| !word.is_expanded);
            if it.program() == program && operands.any(|word| word.text == named) {
                found = Some(join_dir(&dir, root, named));
                break;
            }
            if it.program() == "cd"
                && let Some(target) = it.operands().next()
            {
                dir = join_dir(&dir, root, &target.text);
            }
        }
        if let Some(path) = found.filter(|_| named.len() <= MAX_PATH_BYTES && missing.len() < 4) {
            missing.push(EvidenceFact::Missing { path });
        }
    }
    missing
}

/// Joins a folder as [`ToolAction::Command`] has it with a path in it. The
/// result is relative to the workspace where it is inside of it.
pub fn join_dir(dir: &str, root: &str, path: &str) -> String {
    let joined = join_path(dir, path);
    if joined == "." {
        joined
    } else {
        below_root(root, joined)
    }
}

/// Joins a folder as [`ToolAction::Command`] has it with a path in it.
pub(crate) fn join_path(dir: &str, path: &str) -> String {
    let joined = if path.starts_with('/') || dir == "." {
        lexical(path)
    } else {
        lexical(&format!("{dir}/{path}"))
    };
    if joined.is_empty() {
        ".".to_owned()
    } else {
        joined
    }
}

fn observe_path(
    path: &str,
    text: &str,
    is_error: bool,
    done: impl FnOnce(String) -> EvidenceFact,
) -> Vec<EvidenceFact> {
    let path = path.to_owned();
    if is_error || text.len() < 2_000 {
        if reports_missing(text) {
            return vec![EvidenceFact::Missing { path }];
        }
        if is_error || text.starts_with("EISDIR") || text.starts_with("Error") {
            return Vec::new();
        }
    }
    vec![done(path)]
}

/// Returns `true` if a result begins with the report of a missing path.
fn reports_missing(text: &str) -> bool {
    let head = &text[..text.floor_char_boundary(200)];
    let head = head.strip_prefix("Error: ").unwrap_or(head);
    [
        "File does not exist",
        "ENOENT",
        "Path does not exist",
        "Directory does not exist",
    ]
    .iter()
    .any(|it| head.starts_with(it))
        || head.contains("No such file or directory (os error 2)")
}

fn is_too_large(text: &str) -> bool {
    let head = &text[..text.floor_char_boundary(300)];
    head.contains("exceeds maximum allowed")
}

/// Returns the first line that reports an error, or the first line.
fn first_error_line(output: &str) -> &str {
    const WORDS: [&str; 12] = [
        "error",
        "fatal",
        "fail",
        "panic",
        "undefined",
        "cannot",
        "not found",
        "no such",
        "unknown",
        "invalid",
        "denied",
        "unable",
    ];
    let lines = || {
        let is_noise = |line: &&str| {
            line.is_empty()
                || line.starts_with("=== ")
                || line.starts_with("--- PASS")
                || *line == "PASS"
        };
        output
            .lines()
            .map(str::trim)
            .filter(move |line| !is_noise(line))
            .take(60)
    };
    let reports = |line: &&str| {
        let line = line[..line.floor_char_boundary(400)].to_ascii_lowercase();
        WORDS.iter().any(|word| line.contains(word))
    };
    lines()
        .find(reports)
        .or_else(|| lines().next())
        .unwrap_or_default()
}

/// Counts tests by the summary lines of common runners.
fn count_tests(output: &str) -> Option<TestTally> {
    let mut tally = TestTally {
        passed: 0,
        failed: 0,
    };
    let mut found = false;
    for line in output.lines() {
        let line = line[..line.floor_char_boundary(300)].trim();
        let is_summary = line.starts_with("test result:")
            || line.starts_with("Tests:")
            || line.starts_with("====") && line.ends_with('=')
            || line.starts_with("Tests ");
        if is_summary {
            let number_before = |word: &str| {
                let before = line.split(word).next().filter(|it| it.len() < line.len())?;
                before
                    .trim_end()
                    .rsplit(|c: char| !c.is_ascii_digit())
                    .next()?
                    .parse()
                    .ok()
            };
            let (passed, failed): (Option<usize>, Option<usize>) =
                (number_before(" passed"), number_before(" failed"));
            found |= passed.is_some() || failed.is_some();
            tally.passed += passed.unwrap_or(0);
            tally.failed += failed.unwrap_or(0);
        } else if line.starts_with("--- PASS: ") {
            (tally.passed, found) = (tally.passed + 1, true);
        } else if line.starts_with("--- FAIL: ") {
            (tally.failed, found) = (tally.failed + 1, true);
        }
    }
    found.then_some(tally)
}

/// Returns the correction that a prompt is, by its first words. Most prompts
/// are none; a new wish is no correction.
pub fn observe_prompt(prompt: &str) -> Option<EvidenceFact> {
    const STARTS: [&str; 14] = [
        "no,",
        "no.",
        "nope",
        "don't ",
        "do not ",
        "stop ",
        "wrong",
        "that's wrong",
        "that is wrong",
        "i said ",
        "i told you",
        "not what i",
        "never ",
        "please don't",
    ];
    let head = prompt[..prompt.floor_char_boundary(4_000)].trim_start();
    let lower = head[..head.floor_char_boundary(40)]
        .to_lowercase()
        .replace('’', "'");
    let is_correction = STARTS.iter().any(|start| lower.starts_with(start));
    is_correction.then(|| EvidenceFact::Corrected {
        words: keep_line(head, MAX_LINE_CHARS),
    })
}

/// Redacts a text, makes it one line and shortens it.
fn keep_line(text: &str, most: usize) -> String {
    // Far more than is kept, so that a secret is found whole.
    let text = &text[..text.floor_char_boundary(16 << 10)];
    let clean = admit::redact_text(text);
    let mut line = String::new();
    for (count, c) in clean.trim().chars().enumerate() {
        if count >= most {
            line.push('…');
            break;
        }
        line.push(if c.is_control() { ' ' } else { c });
    }
    line
}

/// Returns the beginning and the end of a long result.
fn cut_middle(text: &str) -> std::borrow::Cow<'_, str> {
    if text.len() <= MAX_RESULT_BYTES {
        return text.into();
    }
    let head = &text[..text.floor_char_boundary(MAX_RESULT_BYTES / 2)];
    let tail = &text[text.ceil_char_boundary(text.len() - MAX_RESULT_BYTES / 2)..];
    format!("{head}\n{tail}").into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn place() -> WorkPlace<'static> {
        WorkPlace {
            root: Path::new("/w/app"),
            cwd: Path::new("/w/app/cli"),
        }
    }

    fn act(tool: &str, input: Value) -> Option<ToolAction> {
        planned_action(tool, &input, place())
    }

    fn facts(tool: &str, input: Value, text: &str) -> Vec<String> {
        let action = act(tool, input).expect("a known tool");
        let outcome = ToolOutcome {
            text,
            is_error: text.starts_with("Exit code") || text.starts_with("Error"),
            bytes: Some(7),
        };
        let facts = observe_result(&action, outcome);
        facts
            .iter()
            .map(|it| serde_json::to_string(it).expect("JSON"))
            .collect()
    }

    #[test]
    fn calls_of_clients_are_understood() {
        let read = |path: &str, is_whole| {
            Some(ToolAction::Read {
                path: path.to_owned(),
                is_whole,
            })
        };
        assert_eq!(
            act("Read", json!({"file_path": "/w/app/a.md"})),
            read("a.md", true)
        );
        assert_eq!(
            act("Read", json!({"file_path": "../b/../c.md", "limit": 3})),
            read("c.md", false)
        );
        assert_eq!(
            act("read_file", json!({"path": "/etc/x"})),
            read("/etc/x", true)
        );
        assert_eq!(
            act(
                "shell",
                json!({"command": ["bash", "-lc", "ls"], "workdir": "/w/app"})
            ),
            Some(ToolAction::Command {
                command: "ls".to_owned(),
                dir: ".".to_owned(),
                root: "/w/app".to_owned(),
            })
        );
        let glob = |input: Value| match act("Glob", input) {
            Some(ToolAction::Search { path, is_glob }) => (path, is_glob),
            other => panic!("{other:?}"),
        };
        for (input, folder) in [
            (json!({"pattern": "src/**/*.rs"}), "cli/src"),
            (json!({"pattern": "*.rs"}), "cli"),
            (json!({"pattern": "*.rs", "path": "/w/app/docs"}), "docs"),
            (json!({"pattern": "a/{b,c}/d", "path": null}), "cli/a"),
            (json!({"pattern": "/w/app/src/*.rs", "path": "docs"}), "src"),
        ] {
            assert_eq!(glob(input), (folder.to_owned(), true));
        }
        for (tool, input) in [
            ("Glob", json!({"path": "src"})),
            ("Bash", json!({"command": 7})),
            ("Bash", json!("ls")),
            ("Bash", json!(null)),
            ("Read", json!({"file_path": "a\u{0}b"})),
            ("Read", json!({"file_path": "x".repeat(10_000)})),
            ("Mystery", json!({"command": "ls"})),
        ] {
            assert_eq!(act(tool, input.clone()), None, "{tool} {input}");
        }
    }

    #[test]
    fn results_become_facts() {
        let command = |text: &str, result: &str| facts("Bash", json!({"command": text}), result);
        assert_eq!(
            command("ls x", "Exit code 1\nls: x: No such file or directory"),
            [
                r#"{"kind":"missing","path":"cli/x"}"#,
                r#"{"kind":"command","dir":"cli","command":"ls x","worked":false,"exit":1,"error":"ls: x: No such file or directory"}"#,
            ]
        );
        // Inside of the workspace, a path is relative however it was written.
        let missing = |text: &str, result: &str| command(text, result).swap_remove(0);
        assert_eq!(
            missing(
                "cat /w/app/docs/a.md",
                "Exit code 1\ncat: /w/app/docs/a.md: No such file or directory"
            ),
            r#"{"kind":"missing","path":"docs/a.md"}"#
        );
        assert_eq!(
            missing(
                "cd /w/app/docs && cat a.md",
                "Exit code 1\ncat: a.md: No such file or directory"
            ),
            r#"{"kind":"missing","path":"docs/a.md"}"#
        );
        assert_eq!(
            missing(
                "cat /w/apple/a.md",
                "Exit code 1\ncat: /w/apple/a.md: No such file or directory"
            ),
            r#"{"kind":"missing","path":"/w/apple/a.md"}"#
        );
        let hidden = command("cat -A a | head", "cat: illegal option -- A");
        assert!(
            hidden[0].contains(r#""worked":false"#) && hidden[0].contains(r#""option":"-A""#),
            "{hidden:?}"
        );
        let tests = command(
            "cargo test",
            "test result: ok. 3 passed; 0 failed; 1 ignored",
        );
        assert!(
            tests[0].contains(r#""tests":{"passed":3,"failed":0}"#),
            "{tests:?}"
        );
        assert_eq!(
            command(
                "./app run",
                "The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you how to proceed, the user said:\nI test it myself"
            ),
            [r#"{"kind":"refused","command":"./app run","words":"I test it myself"}"#]
        );
        assert!(command("ls", "[Request interrupted by user for tool use]").is_empty());
        let read = |result: &str| facts("Read", json!({"file_path": "a.md"}), result);
        assert_eq!(read("1 text"), [r#"{"kind":"read","path":"cli/a.md"}"#]);
        assert_eq!(
            read("File does not exist."),
            [r#"{"kind":"missing","path":"cli/a.md"}"#]
        );
        assert_eq!(
            read("File content (30000 tokens) exceeds maximum allowed tokens (25000)."),
            [r#"{"kind":"too-large","path":"cli/a.md","bytes":7}"#]
        );
    }

    #[test]
    fn secrets_are_redacted_before_they_are_shortened() {
        let key = format!("ghp_{}", "a1B2c3D4e5".repeat(4));
        let text = format!("curl -H 'Authorization: Bearer {key}' {}", "x".repeat(400));
        let all = facts("Bash", json!({"command": text}), "ok").join("");
        assert!(!all.contains("a1B2c3D4e5"), "{all}");
        let prompt = observe_prompt(&format!("no, use {key}"));
        assert!(!format!("{prompt:?}").contains("a1B2c3D4e5"), "{prompt:?}");
    }

    #[test]
    fn only_prompts_that_correct_are_corrections() {
        assert!(observe_prompt("No, use `rg` for that").is_some());
        assert!(observe_prompt("I told you: never push").is_some());
        for prompt in [
            "yes",
            "proceed",
            "Add a page",
            "nothing works yet",
            "notes are fine",
            "",
        ] {
            assert_eq!(observe_prompt(prompt), None, "{prompt}");
        }
    }

    #[test]
    fn huge_results_are_cut() {
        let long = "x y\n".repeat(1 << 20);
        assert_eq!(facts("Bash", json!({"command": "ls"}), &long).len(), 1);
        assert!(cut_middle(&long).len() <= MAX_RESULT_BYTES + 1);
    }
}
