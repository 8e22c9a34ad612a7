//! Reads coding sessions that were exported as Markdown and writes them as
//! transcripts: a heading for each turn and a fold for each call become the
//! lines that Claude Code writes. What the export does not have (arguments of
//! edits, limits of reads, folders) is not made up.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

/// A session as it was exported.
pub(super) struct ExportedSession {
    /// The name of its file.
    pub(super) name: String,
    pub(super) id: String,
    pub(super) bytes: usize,
    pub(super) events: Vec<ExportedEvent>,
}

/// A turn, a thought or a call.
pub(super) struct ExportedEvent {
    /// `YYYY-MM-DD HH:MM:SS` in UTC; empty where the export has no time.
    pub(super) at: String,
    /// Whether it belongs to a helper that the agent started.
    pub(super) is_helper: bool,
    pub(super) kind: EventKind,
}

pub(super) enum EventKind {
    Prompt(String),
    Answer(String),
    Call {
        tool: String,
        input: Value,
        result: String,
    },
}

/// The heading of a turn.
struct Heading<'a> {
    is_user: bool,
    is_helper: bool,
    at: &'a str,
}

fn parse_heading(line: &str) -> Option<Heading<'_>> {
    let inside = line.strip_prefix("_**")?.strip_suffix("**_")?;
    let (is_user, rest) = match inside.strip_prefix("User") {
        Some(rest) => (true, rest),
        None => (false, inside.strip_prefix("Agent")?),
    };
    let (is_helper, rest) = match rest.strip_prefix(" - sidechain") {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    let rest = rest.trim_start();
    let is_empty_or_enclosed = rest.is_empty() || rest.starts_with('(') && rest.ends_with(')');
    if !is_empty_or_enclosed {
        return None;
    }
    Some(Heading {
        is_user,
        is_helper,
        at: find_time(rest).unwrap_or_default(),
    })
}

/// Finds `YYYY-MM-DD`, a space or `T`, and `HH:MM:SS`.
fn find_time(text: &str) -> Option<&str> {
    const FORM: &[u8] = b"0000-00-00 00:00:00";
    let bytes = text.as_bytes();
    let starts = 0..bytes.len().saturating_sub(FORM.len() - 1);
    let fits = |from: &usize| {
        FORM.iter()
            .zip(&bytes[*from..])
            .all(|(form, byte)| match form {
                b'0' => byte.is_ascii_digit(),
                b' ' => matches!(byte, b' ' | b'T'),
                other => byte == other,
            })
    };
    let from = starts.into_iter().find(fits)?;
    text.get(from..from + FORM.len())
}

/// Returns `true` for a line after which a fold has ended.
fn follows_fold(line: &str) -> bool {
    parse_heading(line).is_some()
        || ["---", "<tool-use", "<!--"]
            .iter()
            .any(|start| line.starts_with(start))
}

/// Reads a session; `None` where the file does not name one.
pub(super) fn read_session(name: &str, text: &str) -> Option<ExportedSession> {
    let lines: Vec<&str> = text.split('\n').collect();
    let id = lines.iter().take(12).find_map(|line| {
        let rest = line.strip_prefix("<!-- ")?.split_once(" Session ")?.1;
        Some(rest.split(' ').next()?.to_owned())
    })?;
    let mut reader = EventReader::default();
    let mut at = 0;
    while let Some(&line) = lines.get(at) {
        at += 1;
        if let Some(heading) = parse_heading(line) {
            if reader.is_quoted(&heading) {
                reader.text.push(line);
            } else {
                reader.begin(heading);
            }
        } else if line.starts_with("<tool-use ") && reader.is_agent() {
            reader.end_text();
            let end = find_fold_end(&lines, at - 1);
            reader.add(read_call(&lines[at - 1..end]));
            at = end;
        } else {
            reader.text.push(line);
        }
    }
    reader.end_text();
    Some(ExportedSession {
        name: name.to_owned(),
        id,
        bytes: text.len(),
        events: reader.events,
    })
}

/// Returns the line after a fold that starts at `from`. A fold may quote
/// another one, so its end counts only where a session goes on.
fn find_fold_end(lines: &[&str], from: usize) -> usize {
    let ends = |at: &usize| {
        let line = lines[*at];
        let is_end = line.ends_with("</details></tool-use>") || line.starts_with("</tool-use>");
        let next = lines[at + 1..].iter().find(|it| !it.trim().is_empty());
        is_end && next.is_none_or(|it| follows_fold(it))
    };
    (from..lines.len())
        .find(ends)
        .map_or(lines.len(), |at| at + 1)
}

#[derive(Default)]
struct EventReader<'a> {
    events: Vec<ExportedEvent>,
    turn: Option<Heading<'a>>,
    text: Vec<&'a str>,
    /// The latest time so far.
    last: &'a str,
}

impl<'a> EventReader<'a> {
    fn is_agent(&self) -> bool {
        self.turn.as_ref().is_some_and(|it| !it.is_user)
    }

    /// Returns `true` for the heading of an older session inside a text.
    fn is_quoted(&self, heading: &Heading<'_>) -> bool {
        let is_older = !heading.at.is_empty() && heading.at < self.last;
        let day = |time: &str| time.get(..10).map(str::to_owned);
        is_older && !heading.is_helper && day(heading.at) != day(self.last)
    }

    fn begin(&mut self, mut heading: Heading<'a>) {
        self.end_text();
        if heading.at.is_empty() {
            heading.at = self.last;
        }
        self.last = self.last.max(heading.at);
        self.turn = Some(heading);
    }

    fn end_text(&mut self) {
        let text = std::mem::take(&mut self.text).join("\n");
        let text = text.trim();
        let text = text.strip_suffix("---").unwrap_or(text).trim().to_owned();
        let Some(turn) = self.turn.as_ref().filter(|_| !text.is_empty()) else {
            return;
        };
        let is_user = turn.is_user;
        self.add(if is_user {
            EventKind::Prompt(text)
        } else {
            EventKind::Answer(text)
        });
    }

    fn add(&mut self, kind: EventKind) {
        let (at, is_helper) = self
            .turn
            .as_ref()
            .map_or(("", false), |it| (it.at, it.is_helper));
        self.events.push(ExportedEvent {
            at: at.to_owned(),
            is_helper,
            kind,
        });
    }
}

fn read_call(lines: &[&str]) -> EventKind {
    let tool = lines[0]
        .split_once("data-tool-name=\"")
        .and_then(|(_, rest)| rest.split('"').next())
        .unwrap_or_default()
        .to_owned();
    let body = lines.join("\n");
    let body = body.trim_end();
    let body = body.strip_suffix("</details></tool-use>").unwrap_or(body);
    let body = body.split_once("</summary>").map_or(body, |(_, rest)| rest);
    let (mut before, mut result) = split_fence(body);
    let command = match result.strip_prefix("bash\n") {
        // Its command has a fence of its own, before that of the result.
        Some(rest) => {
            let (command, rest) = rest.split_once("\n```").unwrap_or((rest, ""));
            result = split_fence(rest).1;
            command
        }
        None => before
            .split_once('`')
            .and_then(|(_, rest)| rest.rsplit_once('`'))
            .map_or("", |(command, _)| command),
    };
    let command = command.trim().to_owned();
    let result = result.split_once('\n').map_or("", |(_, text)| text);
    let result = result.trim_end();
    let result = result.strip_suffix("```").unwrap_or(result).trim_end();
    before = before.trim();
    let quoted: Vec<&str> = before.split('`').skip(1).step_by(2).collect();
    let named = |name: &str| {
        let mut parts = before.split('`');
        let mark = format!("{name} ");
        std::iter::from_fn(move || Some((parts.next()?, parts.next()?)))
            .find(|(words, _)| words.ends_with(&mark))
            .map(|(_, value)| value.to_owned())
    };
    let path = quoted
        .first()
        .map_or_else(|| path_of_result(result), |it| (*it).to_owned());
    let input = match tool.as_str() {
        "Bash" | "exec_command" | "Shell" | "run_shell_command" => json!({ "command": command }),
        "Grep" | "Glob" | "LS" => json!({ "pattern": named("pattern"), "path": named("path") }),
        "Read" => match first_line_number(result) {
            // A read that begins later had an offset.
            Some(number) if number > 1 => json!({ "file_path": path, "offset": number }),
            _ => json!({ "file_path": path }),
        },
        "Write" => json!({ "file_path": path, "content": "" }),
        _ => json!({ "file_path": path, "old_string": "?", "new_string": "!" }),
    };
    EventKind::Call {
        tool,
        input,
        result: result.to_owned(),
    }
}

/// Splits at the first fence that starts a line.
fn split_fence(text: &str) -> (&str, &str) {
    match text.split_once("\n```") {
        Some((before, rest)) => (before, rest),
        None => (text, ""),
    }
}

/// Returns the path that the result of an edit names.
fn path_of_result(result: &str) -> String {
    let after = ["The file ", "created successfully at: "]
        .iter()
        .find_map(|mark| result.split_once(mark))
        .map_or("", |(_, rest)| rest);
    after
        .split_whitespace()
        .next()
        .unwrap_or_default()
        .to_owned()
}

fn first_line_number(result: &str) -> Option<u64> {
    result.split_once('→')?.0.trim().parse().ok()
}

/// The folders in which sessions ran, which the export does not have: what
/// stands before relative paths where the same paths are absolute.
pub(super) struct SessionRoots<'a> {
    relative: BTreeSet<&'a str>,
    /// The folder of a session without absolute paths.
    common: String,
}

impl<'a> SessionRoots<'a> {
    pub(super) fn find(sessions: &'a [ExportedSession]) -> SessionRoots<'a> {
        let inputs = sessions.iter().flat_map(file_paths);
        let mut roots = SessionRoots {
            relative: inputs.filter_map(|path| path.strip_prefix("./")).collect(),
            common: String::new(),
        };
        let all = sessions.iter().flat_map(file_paths);
        roots.common = roots.vote(all).unwrap_or_else(|| "/w".to_owned());
        roots
    }

    /// Returns the folder of one session, as that session spells it: file
    /// systems may ignore case, and a session keeps to one spelling.
    pub(super) fn of_session(&self, session: &ExportedSession) -> String {
        let own = self.vote(file_paths(session));
        own.unwrap_or_else(|| self.common.clone())
    }

    fn vote<'p>(&self, paths: impl Iterator<Item = &'p str>) -> Option<String> {
        let mut votes: BTreeMap<&str, usize> = BTreeMap::new();
        for path in paths.filter(|path| path.starts_with('/')) {
            for (at, _) in path.match_indices('/').skip(1) {
                if self.relative.contains(&path[at + 1..]) {
                    *votes.entry(&path[..at]).or_default() += 1;
                }
            }
        }
        let best = votes.into_iter().max_by_key(|(_, count)| *count);
        best.map(|(root, _)| root.to_owned())
    }
}

/// Returns the paths of files in a session's calls.
fn file_paths(session: &ExportedSession) -> impl Iterator<Item = &str> {
    session.events.iter().filter_map(|it| match &it.kind {
        EventKind::Call { input, .. } => input["file_path"].as_str(),
        _ => None,
    })
}

/// A transcript with the number of the event of each of its lines.
pub(super) struct WrittenTranscript {
    pub(super) text: String,
    pub(super) events: Vec<usize>,
}

/// Writes a session as Claude Code does. `suffix` makes another session of it,
/// and `days` moves it into the future.
pub(super) fn write_transcript(
    session: &ExportedSession,
    root: &str,
    suffix: &str,
    days: i64,
) -> WrittenTranscript {
    let id = format!("{}{suffix}", session.id);
    let mut written = WrittenTranscript {
        text: String::new(),
        events: Vec::new(),
    };
    // Calls without a time of their own come right after those before them;
    // where a session has none, it is as old as its file's name.
    let mut now = start_of_name(&session.name);
    for (number, event) in session.events.iter().enumerate() {
        now = parse_time(&event.at).unwrap_or(now);
        let time = jiff::Timestamp::from_second(now + days * 24 * 3600)
            .map_or_else(|_| String::new(), |it| it.to_string());
        let record = |kind: &str, content: Value| {
            json!({
                "type": kind, "sessionId": id, "cwd": root, "timestamp": time,
                "isSidechain": event.is_helper, "message": {"role": kind, "content": content},
            })
        };
        let lines = match &event.kind {
            EventKind::Prompt(text) => vec![record("user", text.as_str().into())],
            EventKind::Answer(text) => {
                vec![record("assistant", json!([{"type": "text", "text": text}]))]
            }
            EventKind::Call {
                tool,
                input,
                result,
            } => {
                let call = format!("{id}-{number}");
                vec![
                    record(
                        "assistant",
                        json!([{"type": "tool_use", "id": call, "name": tool, "input": input}]),
                    ),
                    record(
                        "user",
                        json!([{"type": "tool_result", "tool_use_id": call, "content": result,
                                "is_error": is_error(result)}]),
                    ),
                ]
            }
        };
        for line in lines {
            written.text += &format!("{line}\n");
            written.events.push(number);
        }
    }
    written
}

/// Returns the seconds since 1970 of a time in UTC.
fn parse_time(text: &str) -> Option<i64> {
    let text = format!("{}Z", text.replace(' ', "T"));
    let time: jiff::Timestamp = text.parse().ok()?;
    Some(time.as_second())
}

/// Returns the time in the name of a file, as in `2026-01-02_03-04-05Z-…`.
fn start_of_name(name: &str) -> i64 {
    let time = name.get(..19).unwrap_or_default();
    let (day, hour) = time.split_once('_').unwrap_or_default();
    parse_time(&format!("{day} {}", hour.replace('-', ":"))).unwrap_or(0)
}

/// Returns `true` where Claude Code marks a result as an error.
fn is_error(result: &str) -> bool {
    const STARTS: [&str; 9] = [
        "Exit code ",
        "<tool_use_error>",
        "The user doesn't want to",
        "Permission for this tool use was denied",
        "File does not exist",
        "Error: ",
        "EISDIR",
        "ENOENT",
        "File content (",
    ];
    let text = result.trim_start();
    STARTS.iter().any(|start| text.starts_with(start)) && !text.starts_with("Exit code 0")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: &str = "<!-- Generated, Markdown v2 -->

# A day

<!-- Claude Code Session s-1 (2026-03-01 10:00:00Z) -->

_**User (2026-03-01 10:00:00Z)**_

Mend the build.

_**Agent (model 2026-03-01 10:00:05Z)**_

<tool-use data-tool-type=\"shell\" data-tool-name=\"Bash\"><details>
<summary>Tool use: **Bash**</summary>
Look at it

`cat -A a.go`

```text
Exit code 1
cat: illegal option -- A
```
</details></tool-use>

_**Agent - sidechain (model 2026-03-01T10:00:09.120Z)**_

<tool-use data-tool-type=\"read\" data-tool-name=\"Read\"><details>
<summary>Tool use: **Read**</summary>
 `./src/a.go`

```text
    40→package src
```
</details></tool-use>

_**Agent (model 2026-03-01 10:00:12Z)**_

<tool-use data-tool-type=\"write\" data-tool-name=\"Edit\"><details>
<summary>Tool use: **Edit**</summary>

```
The file /w/src/a.go has been updated
```
</details></tool-use>
";

    #[test]
    fn an_exported_session_becomes_a_transcript() {
        let session = read_session("2026-03-01_09-59-59Z-mend.md", SESSION).unwrap();
        assert_eq!((session.id.as_str(), session.events.len()), ("s-1", 4));
        let all = std::slice::from_ref(&session);
        let root = SessionRoots::find(all).of_session(&session);
        assert_eq!(root, "/w");
        let written = write_transcript(&session, &root, "", 1);
        assert_eq!(written.events, [0, 1, 1, 2, 2, 3, 3]);
        let lines: Vec<Value> = written
            .text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines[0]["timestamp"], "2026-03-02T10:00:00Z");
        assert_eq!(lines[0]["message"]["content"], "Mend the build.");
        let call = &lines[1]["message"]["content"][0];
        assert_eq!(call["input"]["command"], "cat -A a.go");
        let result = &lines[2]["message"]["content"][0];
        assert_eq!(result["is_error"], true);
        assert_eq!(result["content"], "Exit code 1\ncat: illegal option -- A");
        let read = &lines[3]["message"]["content"][0]["input"];
        assert_eq!(*read, json!({"file_path": "./src/a.go", "offset": 40}));
        assert_eq!(lines[3]["isSidechain"], true);
        let edit = &lines[5]["message"]["content"][0]["input"];
        assert_eq!(edit["file_path"], "/w/src/a.go");
    }

    #[test]
    fn a_fold_that_quotes_a_session_ends_at_its_own_end() {
        let quoted = SESSION.replace(
            "cat: illegal option -- A\n",
            "_**User (2026-01-01 08:00:00Z)**_\n</details></tool-use>\nmore\n",
        );
        let session = read_session("x.md", &quoted).unwrap();
        assert_eq!(session.events.len(), 4);
    }
}
