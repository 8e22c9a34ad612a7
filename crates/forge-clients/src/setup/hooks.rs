//! Defines which events each client reports, in which shape, and the command
//! that they run. It must never write a command that blocks a session when the
//! program is missing, or that means something else in another shell: the same
//! file is read on every system that a team works on.

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

/// End of every command line. Where the program is missing, `sh`, `bash`, `zsh`,
/// `fish` and PowerShell then report success; Gemini CLI denies the prompt at any
/// code above 1, and others warn at each event. `cmd`, and a client that starts
/// the program without a shell, pass the words on as arguments, and `hook`
/// ignores arguments that it does not know.
const QUIET_END: &str = " ; exit 0";

/// Check in front of the commands of earlier versions, for a POSIX shell alone.
const FORMER_PATH_CHECK: &str = "command -v memory-forge >/dev/null 2>&1 || exit 0; ";

/// Shell that a client starts for a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HookShell {
    /// `sh`, or `$SHELL`: every client where paths begin with a slash, and Git's
    /// shell on Windows.
    Posix,
    /// `cmd /C`, to which the client passes the line as one argument.
    Cmd,
    /// `powershell -Command`, of either version.
    PowerShell,
}

/// Returns the arguments of a client's hooks, which get the event on standard
/// input. Other clients read Claude Code's file too, so its command names no
/// client.
fn hook_arguments(client: AgentClient) -> Vec<&'static str> {
    match client {
        AgentClient::Claude => vec!["hook"],
        other => vec!["hook", "--client", other.name()],
    }
}

/// Returns the command line of a client's hooks for a shell. It is the same for
/// each shell unless the program's path has to be quoted.
fn hook_line(client: AgentClient, program: &ProgramPath, shell: HookShell) -> String {
    let word = match program {
        ProgramPath::OnPath => PROGRAM_NAME.to_owned(),
        ProgramPath::At(path) if is_plain_word(path, shell) => path.clone(),
        ProgramPath::At(path) => match shell {
            HookShell::Posix => quote_for_shell(path),
            HookShell::PowerShell => format!("& '{}'", path.replace('\'', "''")),
            // A quoted path would arrive at `cmd` with backslashes before the
            // quotes, so the `PATH` has to find the program.
            HookShell::Cmd => PROGRAM_NAME.to_owned(),
        },
    };
    format!("{word} {}{QUIET_END}", hook_arguments(client).join(" "))
}

/// Returns the shell in which a client runs hooks on the system of this program.
fn hook_shell(client: AgentClient, program: &ProgramPath) -> HookShell {
    match (client, program) {
        (_, ProgramPath::OnPath) => HookShell::Posix,
        (_, ProgramPath::At(path)) if !is_windows_path(path) => HookShell::Posix,
        (AgentClient::Codex, _) => HookShell::Cmd,
        _ => HookShell::PowerShell,
    }
}

/// Returns `true` if a client cannot run hooks by this path, and needs the
/// program on the `PATH`.
pub(super) fn needs_path_entry(client: AgentClient, program: &ProgramPath) -> bool {
    let shell = hook_shell(client, program);
    let ProgramPath::At(path) = program else {
        return false;
    };
    shell == HookShell::Cmd && !is_plain_word(path, shell)
}

/// Returns `true` for an absolute path of Windows, with a drive or a server.
fn is_windows_path(path: &str) -> bool {
    let bytes = path.as_bytes();
    let has_drive = bytes.len() > 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':';
    (has_drive && matches!(bytes[2], b'\\' | b'/')) || path.starts_with(r"\\")
}

/// Returns `true` if a shell takes this path as one word without quotes.
fn is_plain_word(path: &str, shell: HookShell) -> bool {
    path.chars().all(|c| match c {
        '/' | '.' | '_' | '-' | ':' => true,
        '\\' => shell != HookShell::Posix,
        _ => c.is_alphanumeric(),
    })
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
/// Understands the lines of earlier versions, so that `setup` renews them and
/// `uninstall` removes them.
pub(super) fn command_program(command: &str) -> Option<String> {
    let mut rest = command.trim();
    if let Some(after) = rest.strip_prefix(FORMER_PATH_CHECK) {
        rest = after;
    } else if let Some(after) = rest.strip_prefix("test -x ")
        && let Some((_, after)) = take_word(after)
        && let Some(after) = after.strip_prefix(" || exit 0; ")
    {
        rest = after;
    }
    let rest = rest.strip_suffix(QUIET_END).unwrap_or(rest);
    let (program, rest) = take_program(rest)?;
    let file = program.rsplit(['/', '\\']).next().unwrap_or_default();
    let arguments = rest.strip_prefix(" hook")?;
    let known_arguments = match arguments.strip_prefix(" --client ") {
        Some(client) => AgentClient::ALL.iter().any(|known| known.name() == client),
        None => arguments.is_empty(),
    };
    let ours = matches!(file, "memory-forge" | "memory-forge.exe") && known_arguments;
    ours.then_some(program)
}

/// Returns the program at the start of a line and the rest, in the writing of
/// any of the shells.
fn take_program(line: &str) -> Option<(String, &str)> {
    if let Some(mut rest) = line.strip_prefix("& '") {
        // PowerShell doubles a quote inside of quotes.
        let mut path = String::new();
        loop {
            let (part, after) = rest.split_once('\'')?;
            path.push_str(part);
            match after.strip_prefix('\'') {
                Some(after) => {
                    path.push('\'');
                    rest = after;
                }
                None => return Some((path, after)),
            }
        }
    }
    if is_windows_path(line) {
        let end = line.find(char::is_whitespace)?;
        let path = &line[..end];
        return is_plain_word(path, HookShell::Cmd).then(|| (path.to_owned(), &line[end..]));
    }
    take_word(line)
}

/// Returns the line of a handler without a shell: its program and arguments,
/// quoted where a shell would need it.
pub(super) fn line_of_words<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let quoted = words.into_iter().map(|word| {
        if !word.is_empty() && is_plain_word(word, HookShell::Posix) {
            word.to_owned()
        } else {
            quote_for_shell(word)
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// Returns the entries of a client's hooks file for a set of hooks.
pub fn hook_items(client: AgentClient, set: HookSet, program: &ProgramPath) -> Vec<JsonItem> {
    events_in_set(client, set)
        .into_iter()
        .filter_map(|event| {
            let name = client_event_name(client, event)?;
            Some(JsonItem {
                path: vec!["hooks".to_owned(), name.to_owned()],
                name: None,
                value: event_handler(client, event, program),
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

fn event_handler(client: AgentClient, event: &HookEvent, program: &ProgramPath) -> Value {
    let command = hook_line(client, program, hook_shell(client, program));
    match client {
        AgentClient::Claude | AgentClient::OpenCode => {
            let matcher = "startup|resume|clear|compact|fork";
            hook_group(event, matcher, claude_handler(event, program, &command))
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
            "bash": hook_line(client, program, HookShell::Posix),
            "powershell": hook_line(client, program, HookShell::PowerShell),
            "timeoutSec": event.seconds,
        }),
        AgentClient::Cursor => json!({"command": command, "timeout": event.seconds}),
    }
}

/// Returns the handler for Claude Code, which runs a line by Git's shell or by
/// PowerShell on Windows, whichever is there: no quoted path works in both, so
/// one with a drive is started without a shell. Other clients drop `args`, which
/// does not matter in a file of this machine's user.
fn claude_handler(event: &HookEvent, program: &ProgramPath, line: &str) -> Value {
    match program {
        ProgramPath::At(path) if is_windows_path(path) => json!({
            "type": "command",
            "command": path,
            "args": hook_arguments(AgentClient::Claude),
            "timeout": event.seconds,
        }),
        _ => json!({"type": "command", "command": line, "timeout": event.seconds}),
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

    /// Paths that users have, on Unix and on Windows.
    const PATHS: [&str; 9] = [
        "/usr/bin/memory-forge",
        "/it's/a dir/memory-forge",
        "/home/jörg/.cargo/bin/memory-forge",
        "C:\\x\\memory-forge.exe",
        "C:/x/memory-forge.exe",
        "C:\\Program Files\\it's\\memory-forge.exe",
        "C:\\Users\\Jörg Müller\\memory-forge.exe",
        "\\\\server\\share\\memory-forge.exe",
        "\\\\server\\my share\\memory-forge.exe",
    ];

    /// Lines of earlier versions, which only a POSIX shell understood.
    const FORMER_LINES: [&str; 4] = [
        "command -v memory-forge >/dev/null 2>&1 || exit 0; memory-forge hook",
        "command -v memory-forge >/dev/null 2>&1 || exit 0; memory-forge hook --client codex",
        "test -x '/usr/bin/memory-forge' || exit 0; '/usr/bin/memory-forge' hook --client gemini",
        "test -x '/it'\\''s/memory-forge' || exit 0; '/it'\\''s/memory-forge' hook",
    ];

    /// Returns every line in the entries of a client.
    fn lines(client: AgentClient, program: &ProgramPath) -> Vec<String> {
        let text = |handler: &Value, key: &str| handler[key].as_str().map(str::to_owned);
        let mut lines = Vec::new();
        for item in hook_items(client, HookSet::All, program) {
            let handler = item.value.pointer("/hooks/0").unwrap_or(&item.value);
            if handler.get("args").is_none() {
                let keys = ["command", "bash", "powershell"];
                lines.extend(keys.iter().filter_map(|key| text(handler, key)));
            }
        }
        lines
    }

    #[test]
    fn one_line_serves_every_shell() {
        for client in AgentClient::ALL {
            let mut lines = lines(client, &ProgramPath::OnPath);
            lines.dedup();
            let [line] = &lines[..] else {
                panic!("{lines:?}")
            };
            assert!(line.starts_with("memory-forge hook"), "{line}");
            // None of these means the same in all three.
            assert!(!line.contains(['"', '\'', '&', '|', '<', '>', '$', '%', '`', '\\']));
        }
    }

    #[test]
    fn commands_that_setup_writes_are_ours() {
        for client in AgentClient::ALL {
            for path in PATHS {
                let program = ProgramPath::At(path.to_owned());
                for line in lines(client, &program) {
                    let by_name = needs_path_entry(client, &program);
                    let expect = if by_name { PROGRAM_NAME } else { path };
                    assert_eq!(command_program(&line).as_deref(), Some(expect), "{line}");
                }
            }
        }
        for line in FORMER_LINES {
            assert!(is_our_command(line), "{line}");
        }
        assert!(is_our_command("memory-forge hook"));
        assert!(is_our_command("\"/a b/memory-forge\" hook"));
    }

    #[test]
    fn a_path_of_windows_is_written_as_each_client_runs_it() {
        let check = |client, path: &str, expect: Value| {
            let items = hook_items(client, HookSet::Default, &ProgramPath::At(path.to_owned()));
            let value = &items[1].value;
            let handler = value.pointer("/hooks/0").unwrap_or(value);
            for (key, expect) in expect.as_object().expect("it is an object") {
                assert_eq!(&handler[key], expect, "{client:?} {path}");
            }
        };
        let (plain, spaces) = ("C:\\x\\memory-forge.exe", "C:\\a b\\memory-forge.exe");
        for path in [plain, spaces] {
            let expect = json!({"command": path, "args": ["hook"]});
            check(AgentClient::Claude, path, expect);
        }
        let expect = json!({"command": "C:\\x\\memory-forge.exe hook --client codex ; exit 0"});
        check(AgentClient::Codex, plain, expect);
        let expect = json!({"command": "memory-forge hook --client codex ; exit 0"});
        check(AgentClient::Codex, spaces, expect);
        let quoted = "& 'C:\\a b\\memory-forge.exe' hook --client";
        let expect = json!({"command": format!("{quoted} gemini ; exit 0")});
        check(AgentClient::Gemini, spaces, expect);
        let expect = json!({
            "bash": "'C:\\a b\\memory-forge.exe' hook --client copilot ; exit 0",
            "powershell": format!("{quoted} copilot ; exit 0"),
        });
        check(AgentClient::Copilot, spaces, expect);
    }

    /// A user's name has a space or letters outside of ASCII, or the program is on
    /// a network drive. `'` is doubled for PowerShell and needs no quotes in JSON.
    #[test]
    fn every_client_gets_a_path_of_windows_that_its_shell_takes_as_one_word() {
        let plain = [
            r"C:\Users\Jörg\memory-forge.exe",
            r"\\server\share\memory-forge.exe",
        ];
        let quoted = [
            r"C:\Users\Jörg Müller\memory-forge.exe",
            r"C:\Program Files (x86)\a&b\memory-forge.exe",
            r"C:\Users\it's\memory-forge.exe",
            r"\\server\my share\memory-forge.exe",
        ];
        for (path, is_plain) in plain
            .map(|path| (path, true))
            .into_iter()
            .chain(quoted.map(|path| (path, false)))
        {
            let program = ProgramPath::At(path.to_owned());
            let in_powershell = if is_plain {
                path.to_owned()
            } else {
                format!("& '{}'", path.replace('\'', "''"))
            };
            for client in AgentClient::ALL {
                let end = format!("hook --client {} ; exit 0", client.name());
                let expect = match client {
                    // Started without a shell.
                    AgentClient::Claude | AgentClient::OpenCode => Vec::new(),
                    AgentClient::Codex if is_plain => vec![format!("{path} {end}")],
                    AgentClient::Codex => vec![format!("memory-forge {end}")],
                    AgentClient::Copilot => vec![
                        format!("{} {end}", quote_for_shell(path)),
                        format!("{in_powershell} {end}"),
                    ],
                    AgentClient::Gemini | AgentClient::Cursor => {
                        vec![format!("{in_powershell} {end}")]
                    }
                };
                let mut written = lines(client, &program);
                written.sort();
                written.dedup();
                let mut expect = expect;
                expect.sort();
                assert_eq!(written, expect, "{client:?} {path}");
                let handlers = hook_items(client, HookSet::Default, &program);
                let starts_alone = handlers.iter().any(|item| {
                    let handler = item.value.pointer("/hooks/0");
                    handler.is_some_and(|it| it["command"] == path && it["args"].is_array())
                });
                let is_claude = matches!(client, AgentClient::Claude | AgentClient::OpenCode);
                assert_eq!(starts_alone, is_claude, "{client:?} {path}");
            }
            // The server is an entry of program and arguments.
            assert_eq!(program.as_word(), path);
        }
    }

    #[test]
    fn commands_that_do_more_or_less_are_not_ours() {
        for command in [
            "memory-forge audit --ci",
            "memory-forge hook && ./mine.sh",
            "memory-forge hook; rm x",
            "memory-forge hook ; exit 1",
            "./mine.sh; memory-forge hook",
            "memory-forge-dev hook",
            "echo memory-forge hook",
            "memory-forge hook --client mine",
            "& 'C:\\a b\\other.exe' hook",
            "& 'C:\\a b\\memory-forge.exe",
            "C:\\x\\memory-forge.exe & del hook",
            "",
        ] {
            assert!(!is_our_command(command), "{command}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn an_absent_program_ends_with_0_and_an_empty_answer() {
        for program in [
            ProgramPath::OnPath,
            ProgramPath::At("/not there/it's/memory-forge".to_owned()),
        ] {
            for client in AgentClient::ALL {
                let output = std::process::Command::new("/bin/sh")
                    .args(["-c", &hook_line(client, &program, HookShell::Posix)])
                    .env("PATH", "/nowhere")
                    .output()
                    .expect("there is a shell");
                assert!(output.status.success(), "{program:?}");
                assert!(output.stdout.is_empty());
            }
        }
    }

    #[test]
    #[cfg(unix)]
    fn a_path_with_spaces_and_quotes_is_run() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().expect("a folder can be made");
        let folder = dir.path().join("it's a \"dir\" $HOME für Jörg");
        std::fs::create_dir(&folder).expect("made");
        let path = folder.join(PROGRAM_NAME);
        std::fs::write(&path, "#!/bin/sh\nprintf '%s|' \"$@\"; cat\n").expect("written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("set");
        let program = ProgramPath::At(path.to_str().expect("UTF-8").to_owned());
        let line = hook_line(AgentClient::Gemini, &program, HookShell::Posix);
        let output = std::process::Command::new("/bin/sh")
            .args(["-c", &line])
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
