//! Every way to call the program: the commands that write and those that read,
//! the events of hooks, the tools of the server.

use std::process::Command;

use ::soak::{READERS, SCENARIOS};
use serde_json::{Value, json};
use testkit::TestWorkspace;

use crate::binary;

#[derive(Clone)]
pub(crate) struct Case {
    pub(crate) name: String,
    files: String,
    home: &'static str,
    git: bool,
    make: Option<fn(&TestWorkspace)>,
    first: Vec<Vec<String>>,
    pub(crate) run: Vec<String>,
    pub(crate) input: String,
}

impl Case {
    /// A hook ends with 0 and one JSON object, whatever happens.
    pub(crate) fn is_hook(&self) -> bool {
        self.run[0] == "hook"
    }

    /// The workspace in which it has something to do.
    pub(crate) fn workspace(&self) -> TestWorkspace {
        let ws = TestWorkspace::files(&self.files).binary(binary());
        // Claude Code names a project's folder by its path.
        let root = ws.root().to_string_lossy();
        let slug = root.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        for file in testkit::fixture::parse(self.home) {
            let path = ws.home().join(file.path.replace("[slug]", &slug));
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent).expect("the home is ours");
            }
            std::fs::write(path, file.text).expect("the home is ours");
        }
        if self.git {
            ws.git_init();
            ws.commit("first");
        }
        if let Some(make) = self.make {
            make(&ws);
        }
        for arguments in &self.first {
            ws.run(arguments);
        }
        ws
    }
}

pub(crate) fn all() -> Vec<Case> {
    let mut cases: Vec<Case> = SCENARIOS.iter().map(writer).collect();
    cases.extend(READERS.iter().map(|(name, run)| reader(name, run)));
    cases.extend(MORE.iter().map(|run| reader(&run.join(" "), run)));
    for (event, more) in EVENTS {
        for layout in [Layout::Mind, Layout::Both] {
            cases.push(hook(event, more, layout));
        }
    }
    cases.extend(QUESTIONS.iter().map(|(tool, arguments)| {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": tool, "arguments": parsed(arguments) } });
        server(&format!("mcp · {tool}"), &[call])
    }));
    cases.push(server(
        "mcp · resources and prompts",
        &[
            json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/list" }),
            json!({ "jsonrpc": "2.0", "id": 2, "method": "prompts/list" }),
            json!({ "jsonrpc": "2.0", "id": 3, "method": "resources/read",
                "params": { "uri": "memory://knowledge/office.md" } }),
        ],
    ));
    cases
}

/// Ways to read that the list of commands does not tell apart.
const MORE: &[&[&str]] = &[
    &["search", "seeds", "--scope", "all", "--json"],
    &["search", "seeds", "--as-of", "HEAD"],
    &["search", "seeds", "--context"],
    &["mind", "health", "--json"],
    &["doctor"],
    &["doctor", "--json"],
    &["audit", "--json"],
    &["status", "--json"],
    &["lint"],
    &["check"],
    &["consolidate"],
    &["upgrade"],
    &["links", "apply"],
    &["agent", "index", "--check"],
    &["preview", "CLAUDE.md"],
    &["why"],
    &["why", "--read", "src/main.rs"],
    &["why", "--prompt", "Where does the build put its files?"],
    &["replay", "t"],
    &["session", "start", "--json"],
];

/// Every event, with what clients send along.
const EVENTS: [(&str, &str); 11] = [
    ("SessionStart", ",\"source\":\"startup\""),
    ("UserPromptSubmit", ",\"prompt\":\"how do seeds grow\""),
    ("Stop", ""),
    ("PreCompact", ",\"trigger\":\"auto\""),
    ("PostCompact", ""),
    ("SessionEnd", ",\"reason\":\"logout\""),
    (
        "SubagentStart",
        ",\"agent_type\":\"reviewer\",\"agent_id\":\"a1\"",
    ),
    (
        "SubagentStop",
        ",\"agent_type\":\"reviewer\",\"agent_id\":\"a1\"",
    ),
    (
        "TaskCompleted",
        ",\"task_id\":\"7\",\"task_subject\":\"Read the ledger\"",
    ),
    (
        "PreToolUse",
        ",\"tool_name\":\"Bash\",\"tool_use_id\":\"c1\",\"tool_input\":{\"command\":\"cat -A x.md\"}",
    ),
    (
        "PostToolUse",
        ",\"tool_name\":\"Bash\",\"tool_use_id\":\"c2\",\"tool_input\":{\"command\":\"ls\"},\"tool_response\":{\"stdout\":\"a\"}",
    ),
];

/// The tools that only read; those that write are in `soak::SCENARIOS`.
const QUESTIONS: [(&str, &str); 5] = [
    ("search_knowledge", r#"{"query":"seeds"}"#),
    ("knowledge_stats", "{}"),
    ("audit_knowledge", "{}"),
    ("memory_status", "{}"),
    ("memory_search", r#"{"query":"seeds"}"#),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    Mind,
    Both,
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn writer(scenario: &'static ::soak::Scenario) -> Case {
    Case {
        name: scenario.name.to_owned(),
        files: scenario.files.to_owned(),
        home: scenario.home,
        git: scenario.git,
        make: scenario.make,
        first: scenario.first.iter().map(|words| owned(words)).collect(),
        run: owned(scenario.run),
        input: scenario.input.to_owned(),
    }
}

/// Files that some readers look for and that no scenario has.
const ROUND: &str = "
    //- AGENTS.md
    # Shop

    Be kind. @docs/more.md
    //- docs/more.md
    # More

    Seeds are kept dry.
    //- .memoryforge-version
    0.0.1
    //- memory-forge.toml
    [search]
    limit = 5
";

fn reader(name: &str, run: &[&str]) -> Case {
    Case {
        name: name.to_owned(),
        files: format!("{}{}", ::soak::both(), ROUND.trim_start_matches('\n')),
        home: "//- .claude/CLAUDE.md\n# Mine\n\nBe brief.\n",
        git: true,
        make: None,
        first: vec![owned(&["index"])],
        run: owned(run),
        input: String::new(),
    }
}

fn hook(event: &str, more: &str, layout: Layout) -> Case {
    let (name, first): (&str, &[&str]) = match layout {
        Layout::Mind => ("hook, mind", &["hook", "session-start"]),
        Layout::Both => ("hook, workspace", &["index"]),
    };
    let mut case = reader(&format!("{name} · {event}"), &["hook"]);
    if layout == Layout::Mind {
        let state = SCENARIOS.iter().find(|it| it.name == "hook · Stop");
        case.files = state.expect("soak has it").files.to_owned();
    }
    case.first = vec![owned(first)];
    case.input = format!("{{\"hook_event_name\":\"{event}\",\"session_id\":\"s1\"{more}}}");
    case
}

fn server(name: &str, calls: &[Value]) -> Case {
    let mut case = reader(name, &["mcp"]);
    let first = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "t", "version": "1" } }});
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    case.input = format!("{first}\n{ready}\n");
    for call in calls {
        case.input.push_str(&format!("{call}\n"));
    }
    case
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("it is JSON")
}

/// The events that the program knows, from its own list.
pub(crate) fn events() -> Vec<&'static str> {
    let source = include_str!("../../../forge-clients/src/hooks/event.rs");
    let (_, list) = source.split_once("enum SessionEvent {").expect("the list");
    let (list, _) = list.split_once('}').expect("its end");
    let lines = list.lines().map(str::trim);
    let names = lines.filter(|it| !it.starts_with("//"));
    let events = names.map(|it| it.trim_end_matches(','));
    events.filter(|it| !it.is_empty()).collect()
}

/// The tools of the server.
pub(crate) fn tools() -> Vec<String> {
    let mut listing = Command::new(binary());
    listing.args(["mcp", "--tools", "all", "--list", "--json"]);
    let output = listing.output().expect("it can be started");
    let listing: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let tools = listing["tools"].as_array().expect("a list");
    let name = |tool: &Value| tool["name"].as_str().expect("a name").to_owned();
    let names: Vec<String> = tools.iter().map(name).collect();
    assert!(names.len() >= 12, "{listing}");
    names
}
