//! Defines which events each client reports, in which shape, and the command
//! that they run. It must never write a command that blocks a session when the
//! program is missing: the shell checks first, and exits with 0.

use serde_json::{Map, Value, json};

use super::Client;
use super::json::Item;

/// How many hooks to install.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HookSet {
    /// Start, prompt, compaction, stop and end of a session
    #[default]
    Default,
    /// Those, and what helpers and tasks report
    All,
    /// None
    None,
}

impl HookSet {
    /// Every set, the usual one first.
    pub const ALL: [HookSet; 3] = [HookSet::Default, HookSet::All, HookSet::None];

    /// Returns the word that a person types.
    pub fn name(self) -> &'static str {
        match self {
            HookSet::Default => "default",
            HookSet::All => "all",
            HookSet::None => "none",
        }
    }

    /// Returns the meaning, for a list of possible values.
    pub fn about(self) -> &'static str {
        match self {
            HookSet::Default => "Start, prompt, compaction, stop and end of a session",
            HookSet::All => "Those, and what helpers and tasks report",
            HookSet::None => "None",
        }
    }
}

/// Event by our name for it, which is Claude Code's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The name, which is Claude Code's.
    pub name: &'static str,
    seconds: u64,
    /// Whether `--hooks default` includes it.
    default: bool,
    /// What it costs the model, in tokens.
    pub cost: &'static str,
}

/// Every event that a set can install.
pub const EVENTS: [Event; 9] = [
    event(
        "SessionStart",
        15,
        true,
        "≤ 2,500 tokens a start: the briefing",
    ),
    event(
        "UserPromptSubmit",
        5,
        true,
        "≤ 50 tokens a prompt: the nudge",
    ),
    event("PreCompact", 10, true, "none: writes the checkpoint"),
    event(
        "Stop",
        10,
        true,
        "none, or ≤ 50 tokens when the state is stale",
    ),
    event("SessionEnd", 5, true, "none: notes the end"),
    event("PostCompact", 5, false, "none"),
    event(
        "SubagentStart",
        5,
        false,
        "≤ 600 tokens a helper: the primer",
    ),
    event("SubagentStop", 5, false, "≤ 50 tokens a helper"),
    event("TaskCompleted", 5, false, "none: notes the task"),
];

const fn event(name: &'static str, seconds: u64, default: bool, cost: &'static str) -> Event {
    Event {
        name,
        seconds,
        default,
        cost,
    }
}

/// Returns the client's name for an event, or `None` if it has no such event.
pub fn name_in(client: Client, event: &Event) -> Option<&'static str> {
    let name = event.name;
    match client {
        Client::Claude => Some(name),
        Client::Codex => (name != "TaskCompleted").then_some(name),
        Client::Gemini => match name {
            "SessionStart" | "SessionEnd" => Some(name),
            "UserPromptSubmit" => Some("BeforeAgent"),
            "PreCompact" => Some("PreCompress"),
            "Stop" => Some("AfterAgent"),
            _ => None,
        },
        // Copilot sends the event's name on standard input only for hooks in
        // these names, not in its own camel case.
        Client::Copilot => match name {
            "PostCompact" | "TaskCompleted" => None,
            _ => Some(name),
        },
        Client::Cursor => match name {
            "SessionStart" => Some("sessionStart"),
            "UserPromptSubmit" => Some("beforeSubmitPrompt"),
            "PreCompact" => Some("preCompact"),
            "Stop" => Some("stop"),
            "SessionEnd" => Some("sessionEnd"),
            "SubagentStart" => Some("subagentStart"),
            "SubagentStop" => Some("subagentStop"),
            _ => None,
        },
        // OpenCode's plugin calls them by our names.
        Client::OpenCode => match name {
            "SessionStart" | "PreCompact" | "Stop" | "SessionEnd" => Some(name),
            _ => None,
        },
    }
}

/// Returns the position of an event in the order of `EVENTS`, by any client's
/// name for it.
pub(super) fn place_of(name: &str) -> usize {
    let is_called = |event: &Event| {
        let mut clients = Client::ALL.iter();
        clients.any(|client| name_in(*client, event) == Some(name))
    };
    EVENTS.iter().position(is_called).unwrap_or(EVENTS.len())
}

/// Returns the events of a set that a client has.
pub fn events_of(client: Client, set: HookSet) -> Vec<&'static Event> {
    EVENTS
        .iter()
        .filter(|event| match set {
            HookSet::None => false,
            HookSet::Default => event.default,
            HookSet::All => true,
        })
        .filter(|event| name_in(client, event).is_some())
        .collect()
}

/// Way to call the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Program {
    /// Whichever the `PATH` finds.
    OnPath,
    /// This one file. A path that is not UTF-8 cannot be written into JSON.
    At(String),
}

impl Program {
    /// Returns it for an entry that starts the program without a shell.
    pub fn word(&self) -> &str {
        match self {
            Program::OnPath => NAME,
            Program::At(path) => path,
        }
    }

    /// Returns it as a word for a shell.
    pub fn in_shell(&self) -> String {
        match self {
            Program::OnPath => NAME.to_owned(),
            Program::At(path) => quoted(path),
        }
    }
}

const NAME: &str = "memory-forge";
/// Check in front of the command: a shell without the program exits with 0.
const LOOK: &str = "command -v memory-forge >/dev/null 2>&1 || exit 0; ";

/// Returns the shell command of a client's hooks, which get the event on
/// standard input. Other clients read Claude Code's file too, so its command
/// names no client.
pub(super) fn command(client: Client, program: &Program) -> String {
    let client = match client {
        Client::Claude => String::new(),
        other => format!(" --client {}", other.name()),
    };
    match program {
        Program::OnPath => format!("{LOOK}{NAME} hook{client}"),
        Program::At(path) => {
            let path = quoted(path);
            format!("test -x {path} || exit 0; {path} hook{client}")
        }
    }
}

/// The hook scripts of MemoryForge, the predecessor of this program.
const SCRIPTS: [&str; 8] = [
    "session-start",
    "user-prompt-context",
    "stop-checkpoint",
    "pre-compact",
    "session-end",
    "subagent-start",
    "subagent-stop",
    "task-completed",
];

/// Returns `true` if a command runs one of those scripts, by a relative path
/// or, where they were installed for all projects, by an absolute one.
pub(super) fn is_predecessors(command: &str) -> bool {
    let command = command.replace('\\', "/");
    let runs = |name: &str, end: &str| command.contains(&format!("scripts/hooks/{name}.{end}"));
    (SCRIPTS.iter()).any(|name| runs(name, "js") || runs(name, "sh"))
}

/// Returns `true` for a command that `setup` writes, in any of its forms. A
/// command that does more belongs to the user.
pub(super) fn is_ours(command: &str) -> bool {
    program_of(command).is_some()
}

/// Returns the program that a command of ours calls: a name, or a path.
pub(super) fn program_of(command: &str) -> Option<String> {
    let mut rest = command.trim();
    if let Some(after) = rest.strip_prefix(LOOK) {
        rest = after;
    } else if let Some(after) = rest.strip_prefix("test -x ")
        && let Some((_, after)) = word(after)
        && let Some(after) = after.strip_prefix(" || exit 0; ")
    {
        rest = after;
    }
    let (program, rest) = word(rest)?;
    let file = program.rsplit(['/', '\\']).next().unwrap_or_default();
    let arguments = rest.strip_prefix(" hook")?;
    let known_arguments = match arguments.strip_prefix(" --client ") {
        Some(client) => Client::ALL.iter().any(|known| known.name() == client),
        None => arguments.is_empty(),
    };
    let ours = matches!(file, "memory-forge" | "memory-forge.exe") && known_arguments;
    ours.then_some(program)
}

/// Returns the entries of a client's hooks file for a set of hooks.
pub fn items(client: Client, set: HookSet, program: &Program) -> Vec<Item> {
    let command = command(client, program);
    events_of(client, set)
        .into_iter()
        .filter_map(|event| {
            let name = name_in(client, event)?;
            Some(Item {
                path: vec!["hooks".to_owned(), name.to_owned()],
                name: None,
                value: handler(client, event, &command),
            })
        })
        .collect()
}

/// Returns the entries that a hooks file needs besides hooks.
pub fn seeds(client: Client) -> Vec<Item> {
    let version = || Item {
        path: Vec::new(),
        name: Some("version".to_owned()),
        value: json!(1),
    };
    match client {
        Client::Copilot | Client::Cursor => vec![version()],
        _ => Vec::new(),
    }
}

fn handler(client: Client, event: &Event, command: &str) -> Value {
    match client {
        Client::Claude | Client::OpenCode => {
            let matcher = "startup|resume|clear|compact|fork";
            group(
                event,
                matcher,
                json!({"type": "command", "command": command, "timeout": event.seconds}),
            )
        }
        Client::Codex => {
            // Codex allows a second at the end of a session, whatever the entry
            // requests.
            let seconds = if event.name == "SessionEnd" {
                1
            } else {
                event.seconds
            };
            group(
                event,
                "startup|resume|clear|compact",
                json!({"type": "command", "command": command, "timeout": seconds}),
            )
        }
        // Gemini compares matchers of sessions as a whole, so there is none.
        Client::Gemini => json!({"hooks": [{
            "name": NAME,
            "type": "command",
            "command": command,
            "timeout": event.seconds * 1000,
        }]}),
        Client::Copilot => json!({
            "type": "command",
            "bash": command,
            "powershell": powershell(command),
            "timeoutSec": event.seconds,
        }),
        Client::Cursor => json!({"command": command, "timeout": event.seconds}),
    }
}

fn group(event: &Event, sources: &str, handler: Value) -> Value {
    let mut group = Map::new();
    // Other events have no sources to match.
    if event.name == "SessionStart" {
        group.insert("matcher".to_owned(), sources.into());
    }
    group.insert("hooks".to_owned(), Value::Array(vec![handler]));
    Value::Object(group)
}

/// Returns the command for PowerShell, which has no `command -v`.
fn powershell(command: &str) -> String {
    // The check is for a POSIX shell; PowerShell has its own.
    let call = command.split_once("; ").map_or(command, |(_, call)| call);
    match call.strip_prefix(NAME) {
        Some(arguments) => format!(
            "if (Get-Command {NAME} -ErrorAction SilentlyContinue) {{ $input | {NAME}{arguments} }}"
        ),
        None => match word(call) {
            Some((path, arguments)) => {
                let path = format!("'{}'", path.replace('\'', "''"));
                format!("if (Test-Path {path}) {{ $input | & {path}{arguments} }}")
            }
            None => String::new(),
        },
    }
}

/// Quotes a word for a POSIX shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Returns the first word of a command and the rest, undoing the quotes.
fn word(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut rest = text;
    loop {
        if let Some(inner) = rest.strip_prefix('\'') {
            let (part, after) = inner.split_once('\'')?;
            value.push_str(part);
            rest = after;
        } else if let Some(inner) = rest.strip_prefix('"') {
            let (part, after) = inner.split_once('"')?;
            value.push_str(part);
            rest = after;
        } else if let Some(after) = rest.strip_prefix("\\'") {
            value.push('\'');
            rest = after;
        } else {
            let end = rest
                .find(|c: char| c.is_whitespace() || "'\"\\;&|<>()$`".contains(c))
                .unwrap_or(rest.len());
            if end == 0 {
                break;
            }
            value.push_str(&rest[..end]);
            rest = &rest[end..];
        }
    }
    (!value.is_empty()).then_some((value, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_setup_writes_are_ours() {
        for client in Client::ALL {
            for path in [
                "/usr/bin/memory-forge",
                "/it's/a dir/memory-forge",
                "C:\\x\\memory-forge.exe",
            ] {
                let command = command(client, &Program::At(path.to_owned()));
                assert!(is_ours(&command), "{command}");
            }
            assert!(is_ours(&command(client, &Program::OnPath)));
        }
        assert!(is_ours("memory-forge hook"));
        assert!(is_ours("\"/a b/memory-forge\" hook"));
    }

    #[test]
    fn commands_that_do_more_or_less_are_not_ours() {
        for command in [
            "memory-forge audit --ci",
            "memory-forge hook && ./mine.sh",
            "memory-forge hook; rm x",
            "./mine.sh; memory-forge hook",
            "memory-forge-dev hook",
            "echo memory-forge hook",
            "memory-forge hook --client mine",
            "",
        ] {
            assert!(!is_ours(command), "{command}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn an_absent_program_ends_quietly_with_0() {
        for program in [
            Program::OnPath,
            Program::At("/not there/it's/memory-forge".to_owned()),
        ] {
            let output = std::process::Command::new("/bin/sh")
                .args(["-c", &command(Client::Codex, &program)])
                .env("PATH", "/nowhere")
                .output()
                .expect("there is a shell");
            assert!(output.status.success(), "{program:?}");
            assert!(output.stdout.is_empty() && output.stderr.is_empty());
        }
    }

    #[test]
    #[cfg(unix)]
    fn a_path_with_spaces_and_quotes_is_run() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().expect("a folder can be made");
        let folder = dir.path().join("it's a \"dir\" $HOME");
        std::fs::create_dir(&folder).expect("made");
        let path = folder.join(NAME);
        std::fs::write(&path, "#!/bin/sh\nprintf '%s|' \"$@\"; cat\n").expect("written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("set");
        let program = Program::At(path.to_str().expect("UTF-8").to_owned());
        let output = std::process::Command::new("/bin/sh")
            .args(["-c", &command(Client::Gemini, &program)])
            .stdin(std::process::Stdio::null())
            .output()
            .expect("there is a shell");
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "hook|--client|gemini|"
        );
    }

    #[test]
    fn sets_hold_what_the_client_has() {
        let names = |client, set| -> Vec<&str> {
            let events = events_of(client, set);
            events.iter().filter_map(|e| name_in(client, e)).collect()
        };
        let default = [
            "SessionStart",
            "UserPromptSubmit",
            "PreCompact",
            "Stop",
            "SessionEnd",
        ];
        assert_eq!(names(Client::Claude, HookSet::Default), default);
        assert_eq!(names(Client::Claude, HookSet::All).len(), 9);
        assert!(!names(Client::Codex, HookSet::All).contains(&"TaskCompleted"));
        assert!(names(Client::Gemini, HookSet::Default).contains(&"BeforeAgent"));
        assert!(names(Client::Cursor, HookSet::None).is_empty());
    }
}
