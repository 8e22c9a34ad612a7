//! Defines which events each client reports, in which shape, and the command
//! that they run. It must never write a command that blocks a session when the
//! program is missing: the shell checks first, and exits with 0.

use serde_json::{Map, Value, json};

use super::AgentClient;
use super::json::JsonItem;

/// Set of hooks to install.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HookSet {
    /// Start, prompt, compaction, stop and end of a session
    #[default]
    Default,
    /// The default set, and the events of subagents and tasks
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
    pub fn description(self) -> &'static str {
        match self {
            HookSet::Default => "Start, prompt, compaction, stop and end of a session",
            HookSet::All => "The default set, and the events of subagents and tasks",
            HookSet::None => "None",
        }
    }
}

/// Event by our name for it, which is Claude Code's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HookEvent {
    /// The name, which is Claude Code's.
    pub name: &'static str,
    seconds: u64,
    /// Whether `--hooks default` includes it.
    default: bool,
    /// What it costs the model, in tokens.
    pub cost: &'static str,
}

/// Every event that a set can install.
pub const HOOK_EVENTS: [HookEvent; 12] = [
    hook_event(
        "SessionStart",
        15,
        true,
        "≤ 2,500 tokens a start: the briefing",
    ),
    hook_event(
        "UserPromptSubmit",
        5,
        true,
        "≤ 50 tokens a prompt: the nudge",
    ),
    hook_event("PreCompact", 10, true, "none: writes the checkpoint"),
    hook_event(
        "Stop",
        10,
        true,
        "none, or ≤ 50 tokens when the state is stale",
    ),
    hook_event("SessionEnd", 5, true, "none: notes the end"),
    hook_event("PostCompact", 5, false, "none"),
    hook_event(
        "SubagentStart",
        5,
        false,
        "≤ 600 tokens a helper: the primer",
    ),
    hook_event("SubagentStop", 5, false, "≤ 50 tokens a helper"),
    hook_event("TaskCompleted", 5, false, "none: notes the task"),
    hook_event(
        "PreToolUse",
        5,
        true,
        "none, or ≤ 60 tokens where something about the action is known",
    ),
    hook_event("PostToolUse", 5, false, "none: notes the result"),
    hook_event("PostToolUseFailure", 5, false, "none: notes the failure"),
];

/// Tools whose calls are reported: those that have keys.
const REPORTED_TOOLS: &str = "Bash|Read|Edit|MultiEdit|Write|NotebookEdit|Grep|Glob";

/// Events of calls of tools. Only Claude Code is known to take context for
/// them.
const TOOL_EVENTS: [&str; 3] = ["PreToolUse", "PostToolUse", "PostToolUseFailure"];

const fn hook_event(
    name: &'static str,
    seconds: u64,
    default: bool,
    cost: &'static str,
) -> HookEvent {
    HookEvent {
        name,
        seconds,
        default,
        cost,
    }
}

/// Returns the client's name for an event, or `None` if it has no such event.
pub fn client_event_name(client: AgentClient, event: &HookEvent) -> Option<&'static str> {
    let name = event.name;
    match client {
        AgentClient::Claude => Some(name),
        _ if TOOL_EVENTS.contains(&name) => None,
        AgentClient::Codex => (name != "TaskCompleted").then_some(name),
        AgentClient::Gemini => match name {
            "SessionStart" | "SessionEnd" => Some(name),
            "UserPromptSubmit" => Some("BeforeAgent"),
            "PreCompact" => Some("PreCompress"),
            "Stop" => Some("AfterAgent"),
            _ => None,
        },
        // Copilot sends the event's name on standard input only for hooks in
        // these names, not in its own camel case.
        AgentClient::Copilot => match name {
            "PostCompact" | "TaskCompleted" => None,
            _ => Some(name),
        },
        AgentClient::Cursor => match name {
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
        AgentClient::OpenCode => match name {
            "SessionStart" | "PreCompact" | "Stop" | "SessionEnd" => Some(name),
            _ => None,
        },
    }
}

/// Returns the position of an event in the order of `HOOK_EVENTS`, by any client's
/// name for it.
pub(super) fn event_position(name: &str) -> usize {
    let is_called = |event: &HookEvent| {
        let mut clients = AgentClient::ALL.iter();
        clients.any(|client| client_event_name(*client, event) == Some(name))
    };
    HOOK_EVENTS
        .iter()
        .position(is_called)
        .unwrap_or(HOOK_EVENTS.len())
}

/// Returns the events of a set that a client has.
pub fn events_in_set(client: AgentClient, set: HookSet) -> Vec<&'static HookEvent> {
    HOOK_EVENTS
        .iter()
        .filter(|event| match set {
            HookSet::None => false,
            HookSet::Default => event.default,
            HookSet::All => true,
        })
        .filter(|event| client_event_name(client, event).is_some())
        .collect()
}

/// Way to call the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProgramPath {
    /// Whichever the `PATH` finds.
    OnPath,
    /// This one file. A path that is not UTF-8 cannot be written into JSON.
    At(String),
}

impl ProgramPath {
    /// Returns it for an entry that starts the program without a shell.
    pub fn as_word(&self) -> &str {
        match self {
            ProgramPath::OnPath => PROGRAM_NAME,
            ProgramPath::At(path) => path,
        }
    }

    /// Returns it as a word for a shell.
    pub fn as_shell_word(&self) -> String {
        match self {
            ProgramPath::OnPath => PROGRAM_NAME.to_owned(),
            ProgramPath::At(path) => quote_for_shell(path),
        }
    }
}

const PROGRAM_NAME: &str = "memory-forge";
/// Check in front of the command: a shell without the program exits with 0.
const PATH_CHECK_PREFIX: &str = "command -v memory-forge >/dev/null 2>&1 || exit 0; ";

/// Returns the shell command of a client's hooks, which get the event on
/// standard input. Other clients read Claude Code's file too, so its command
/// names no client.
pub(super) fn hook_command(client: AgentClient, program: &ProgramPath) -> String {
    let client = match client {
        AgentClient::Claude => String::new(),
        other => format!(" --client {}", other.name()),
    };
    match program {
        ProgramPath::OnPath => format!("{PATH_CHECK_PREFIX}{PROGRAM_NAME} hook{client}"),
        ProgramPath::At(path) => {
            let path = quote_for_shell(path);
            format!("test -x {path} || exit 0; {path} hook{client}")
        }
    }
}

/// The hook scripts of MemoryForge, the predecessor of this program.
const PREDECESSOR_SCRIPTS: [&str; 8] = [
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
pub(super) fn is_predecessor_command(command: &str) -> bool {
    let command = command.replace('\\', "/");
    let runs = |name: &str, end: &str| command.contains(&format!("scripts/hooks/{name}.{end}"));
    (PREDECESSOR_SCRIPTS.iter()).any(|name| runs(name, "js") || runs(name, "sh"))
}

/// Returns `true` for a command that `setup` writes, in any of its forms. A
/// command that does more belongs to the user.
pub(super) fn is_our_command(command: &str) -> bool {
    command_program(command).is_some()
}

/// Returns the program that a command of ours calls: a name, or a path.
pub(super) fn command_program(command: &str) -> Option<String> {
    let mut rest = command.trim();
    if let Some(after) = rest.strip_prefix(PATH_CHECK_PREFIX) {
        rest = after;
    } else if let Some(after) = rest.strip_prefix("test -x ")
        && let Some((_, after)) = take_word(after)
        && let Some(after) = after.strip_prefix(" || exit 0; ")
    {
        rest = after;
    }
    let (program, rest) = take_word(rest)?;
    let file = program.rsplit(['/', '\\']).next().unwrap_or_default();
    let arguments = rest.strip_prefix(" hook")?;
    let known_arguments = match arguments.strip_prefix(" --client ") {
        Some(client) => AgentClient::ALL.iter().any(|known| known.name() == client),
        None => arguments.is_empty(),
    };
    let ours = matches!(file, "memory-forge" | "memory-forge.exe") && known_arguments;
    ours.then_some(program)
}

/// Returns the entries of a client's hooks file for a set of hooks.
pub fn hook_items(client: AgentClient, set: HookSet, program: &ProgramPath) -> Vec<JsonItem> {
    let command = hook_command(client, program);
    events_in_set(client, set)
        .into_iter()
        .filter_map(|event| {
            let name = client_event_name(client, event)?;
            Some(JsonItem {
                path: vec!["hooks".to_owned(), name.to_owned()],
                name: None,
                value: event_handler(client, event, &command),
            })
        })
        .collect()
}

/// Returns the entries that a hooks file needs besides hooks.
pub fn hook_seeds(client: AgentClient) -> Vec<JsonItem> {
    let version = || JsonItem {
        path: Vec::new(),
        name: Some("version".to_owned()),
        value: json!(1),
    };
    match client {
        AgentClient::Copilot | AgentClient::Cursor => vec![version()],
        _ => Vec::new(),
    }
}

fn event_handler(client: AgentClient, event: &HookEvent, command: &str) -> Value {
    match client {
        AgentClient::Claude | AgentClient::OpenCode => {
            let matcher = "startup|resume|clear|compact|fork";
            hook_group(
                event,
                matcher,
                json!({"type": "command", "command": command, "timeout": event.seconds}),
            )
        }
        AgentClient::Codex => {
            // Codex allows a second at the end of a session, whatever the entry
            // requests.
            let seconds = if event.name == "SessionEnd" {
                1
            } else {
                event.seconds
            };
            hook_group(
                event,
                "startup|resume|clear|compact",
                json!({"type": "command", "command": command, "timeout": seconds}),
            )
        }
        // Gemini compares matchers of sessions as a whole, so there is none.
        AgentClient::Gemini => json!({"hooks": [{
            "name": PROGRAM_NAME,
            "type": "command",
            "command": command,
            "timeout": event.seconds * 1000,
        }]}),
        AgentClient::Copilot => json!({
            "type": "command",
            "bash": command,
            "powershell": powershell_command(command),
            "timeoutSec": event.seconds,
        }),
        AgentClient::Cursor => json!({"command": command, "timeout": event.seconds}),
    }
}

fn hook_group(event: &HookEvent, sources: &str, handler: Value) -> Value {
    let mut group = Map::new();
    // Other events have no sources to match.
    if event.name == "SessionStart" {
        group.insert("matcher".to_owned(), sources.into());
    } else if TOOL_EVENTS.contains(&event.name) {
        group.insert("matcher".to_owned(), REPORTED_TOOLS.into());
    }
    group.insert("hooks".to_owned(), Value::Array(vec![handler]));
    Value::Object(group)
}

/// Returns the command for PowerShell, which has no `command -v`.
fn powershell_command(command: &str) -> String {
    // The check is for a POSIX shell; PowerShell has its own.
    let call = command.split_once("; ").map_or(command, |(_, call)| call);
    match call.strip_prefix(PROGRAM_NAME) {
        Some(arguments) => format!(
            "if (Get-Command {PROGRAM_NAME} -ErrorAction SilentlyContinue) {{ $input | {PROGRAM_NAME}{arguments} }}"
        ),
        None => match take_word(call) {
            Some((path, arguments)) => {
                let path = format!("'{}'", path.replace('\'', "''"));
                format!("if (Test-Path {path}) {{ $input | & {path}{arguments} }}")
            }
            None => String::new(),
        },
    }
}

/// Quotes a word for a POSIX shell.
fn quote_for_shell(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Returns the first word of a command and the rest, undoing the quotes.
fn take_word(text: &str) -> Option<(String, &str)> {
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
        for client in AgentClient::ALL {
            for path in [
                "/usr/bin/memory-forge",
                "/it's/a dir/memory-forge",
                "C:\\x\\memory-forge.exe",
            ] {
                let command = hook_command(client, &ProgramPath::At(path.to_owned()));
                assert!(is_our_command(&command), "{command}");
            }
            assert!(is_our_command(&hook_command(client, &ProgramPath::OnPath)));
        }
        assert!(is_our_command("memory-forge hook"));
        assert!(is_our_command("\"/a b/memory-forge\" hook"));
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
            assert!(!is_our_command(command), "{command}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn an_absent_program_ends_quietly_with_0() {
        for program in [
            ProgramPath::OnPath,
            ProgramPath::At("/not there/it's/memory-forge".to_owned()),
        ] {
            let output = std::process::Command::new("/bin/sh")
                .args(["-c", &hook_command(AgentClient::Codex, &program)])
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
        let path = folder.join(PROGRAM_NAME);
        std::fs::write(&path, "#!/bin/sh\nprintf '%s|' \"$@\"; cat\n").expect("written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("set");
        let program = ProgramPath::At(path.to_str().expect("UTF-8").to_owned());
        let output = std::process::Command::new("/bin/sh")
            .args(["-c", &hook_command(AgentClient::Gemini, &program)])
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
            let events = events_in_set(client, set);
            events
                .iter()
                .filter_map(|e| client_event_name(client, e))
                .collect()
        };
        let default = [
            "SessionStart",
            "UserPromptSubmit",
            "PreCompact",
            "Stop",
            "SessionEnd",
        ];
        let claude: Vec<&str> = default.into_iter().chain(["PreToolUse"]).collect();
        assert_eq!(names(AgentClient::Claude, HookSet::Default), claude);
        assert_eq!(names(AgentClient::Codex, HookSet::Default), default);
        assert_eq!(names(AgentClient::Claude, HookSet::All).len(), 12);
        assert!(!names(AgentClient::Codex, HookSet::All).contains(&"TaskCompleted"));
        assert!(names(AgentClient::Gemini, HookSet::Default).contains(&"BeforeAgent"));
        assert!(names(AgentClient::Cursor, HookSet::None).is_empty());
    }
}
