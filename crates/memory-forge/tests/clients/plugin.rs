//! The plugin in the clients that it is made for: installed as people install
//! it, into a home of its own. What the model is told of it is read from what
//! the client sends.

use std::path::PathBuf;

use forge_app::tokens::{Tokenizer, count_tokens};
use serde_json::{Value, json};

use crate::claude::claude;
use crate::codex::{UNTRUSTED, codex};
use crate::copilot::copilot;
use crate::gemini::{MODEL, gemini};
use crate::opencode::opencode;
use crate::project::{BRIEFING, NEXT, NUDGE, PHASE, Project, WORK, counts};

/// What the model may start by itself.
const AUTONOMOUS: [&str; 7] = [
    "memory-forge",
    "session-start",
    "session-end",
    "update",
    "idea",
    "lint",
    "cross-search",
];
/// What only people start.
const EXPLICIT: [&str; 11] = [
    "init",
    "upgrade",
    "add-domain",
    "archive",
    "wikilinks",
    "resummarize",
    "reindex",
    "consolidate",
    "search",
    "link-workspace",
    "unlink-workspace",
];
const AGENTS: [&str; 3] = ["mind", "orchestrator", "builder"];

/// Words of a skill's listing that stand nowhere else.
const EXPLICIT_WORDS: [&str; 3] = [
    "Put a file into the archive, with the reason.",
    "Renew the summaries in the manifest.",
    "Take a workspace off the list",
];

const PROMPT: &str = "Where were we?";

fn repository() -> String {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let root = root.canonicalize().expect("the repository is there");
    root.to_string_lossy().into_owned()
}

fn in_plugin(path: &str) -> String {
    format!("{}/plugin/{path}", repository())
}

/// Adds the marketplace and installs the plugin.
fn installed(project: Project, install: &str) -> Project {
    project.run(&["plugin", "marketplace", "add", &repository()]);
    project.run(&["plugin", install, "memory-forge@memory-forge"]);
    project
}

/// The briefing and the nudge came once each, whoever brought them.
#[track_caller]
fn is_told_once(text: &str) {
    counts(text, BRIEFING, 1);
    counts(text, NUDGE, 1);
    for mark in [PHASE, NEXT, WORK] {
        assert!(text.contains(mark), "{mark}:\n{text}");
    }
}

#[track_caller]
fn is_told_nothing(text: &str) {
    counts(text, BRIEFING, 0);
    counts(text, NUDGE, 0);
}

/// The server answers about this project, not about the plugin's folder.
#[track_caller]
fn server_finds(project: &Project, arguments: &[&str]) {
    project.ws.add(
        "
        //- knowledge/tides.md
        # Tides

        High water at the old pier comes with the seventh bell.
    ",
    );
    project.model.forget();
    let query = json!({"query": "high water at the pier"});
    project.model.will_call("search_knowledge", query);
    let output = project.run(arguments);
    let questions = project.model.questions();
    let came_back = questions
        .iter()
        .any(|question| question.text().contains("with the seventh bell"));
    let last = questions
        .last()
        .map(|question| question.body["messages"].to_string());
    assert!(
        came_back,
        "nothing came back from the server\n{output}\n{last:?}"
    );
}

/// Nothing on the `PATH` but the system's programs.
fn without_program(project: Project) -> Project {
    project.env("PATH", "/usr/bin:/bin")
}

/// The tokens that `audit --plugin` counts at every start.
fn counted(project: &Project, folder: &str, client: &str) -> Value {
    let arguments = ["audit", "--plugin", folder, "--client", client, "--json"];
    let report = project.memory_forge(&arguments);
    let report: Value = serde_json::from_str(&report).expect("it prints JSON");
    report["clients"][0].clone()
}

fn always_on(counted: &Value, kinds: &[&str]) -> usize {
    let parts = counted["components"].as_array().expect("parts are a list");
    let wanted = parts
        .iter()
        .filter(|part| kinds.iter().any(|kind| part["component"] == *kind));
    let sum: u64 = wanted.filter_map(|part| part["alwaysOn"].as_u64()).sum();
    usize::try_from(sum).expect("a plugin is small")
}

/// Tokens of the lines in a request that begin like this.
fn sent(text: &str, start: &str, tokenizer: Tokenizer) -> usize {
    let lines = text.lines().filter(|line| line.starts_with(start));
    let lines: Vec<String> = lines.map(|line| format!("{line}\n")).collect();
    // Names of tools are counted together, the other lines one by one.
    if start.starts_with('-') {
        lines.iter().map(|line| count_tokens(tokenizer, line)).sum()
    } else {
        count_tokens(tokenizer, &lines.concat())
    }
}

#[test]
fn claude_finds_nothing_wrong_with_the_plugin() {
    let Some(project) = claude() else { return };
    let (market, plugin) = (repository(), in_plugin(""));
    let validate = ["plugin", "validate"];
    for folder in [&market, &plugin] {
        project.run(&[validate[0], validate[1], folder, "--strict"]);
    }
    let directory = ["--strict", "--profile", "directory"];
    let arguments = [&validate[..], &[plugin.as_str()], &directory].concat();
    let said = project.run(&arguments).stdout;
    assert!(!said.contains("warning"), "{said}");
}

#[test]
fn claude_has_the_plugin() {
    let Some(project) = claude() else { return };
    let project = installed(project, "install");
    let listed = project.run(&["plugin", "list", "--json"]);
    let listed: Value = serde_json::from_str(&listed.stdout).expect("it prints JSON");
    assert_eq!(listed[0]["id"], "memory-forge@memory-forge");
    assert_eq!(listed[0]["enabled"], true);
    assert_eq!(listed[0]["version"], env!("CARGO_PKG_VERSION"));
    let servers = project.run(&["mcp", "list"]);
    assert!(servers.stdout.contains("Connected"), "{servers}");

    let text = project.ask(PROMPT, &["-p", PROMPT]).text();
    is_told_once(&text);
    for name in AUTONOMOUS {
        counts(&text, &format!("- memory-forge:{name}: "), 1);
    }
    for name in EXPLICIT {
        counts(&text, &format!("- memory-forge:{name}: "), 0);
    }
    for name in AGENTS {
        counts(&text, &format!("- memory-forge:{name}: "), 1);
    }
    counts(&text, "mcp__plugin_memory-forge_memory-forge__", 8);

    // What is counted are the lines that were sent.
    let counted = counted(&project, &in_plugin(""), "claude");
    let of = |kinds: &[&str]| always_on(&counted, kinds);
    assert_eq!(
        of(&["skill", "agent"]),
        sent(&text, "- memory-forge:", Tokenizer::Claude)
    );
    assert_eq!(
        of(&["tools"]),
        sent(
            &text,
            "mcp__plugin_memory-forge_memory-forge__",
            Tokenizer::Claude
        )
    );
    assert!(counted["alwaysOn"].as_u64() < Some(1_000), "{counted}");

    // People start the others, with what they typed.
    let text = project
        .ask("high water", &["-p", "/memory-forge:search high water"])
        .text();
    assert!(text.contains("Answer from the passages"), "{text}");

    project.run(&["plugin", "disable", "memory-forge@memory-forge"]);
    is_told_nothing(&project.ask(PROMPT, &["-p", PROMPT]).text());
    project.run(&["plugin", "enable", "memory-forge@memory-forge"]);
    is_told_once(&project.ask(PROMPT, &["-p", PROMPT]).text());
}

#[test]
fn claude_searches_through_the_plugin() {
    let Some(project) = claude() else { return };
    let project = installed(project, "install").env("ENABLE_TOOL_SEARCH", "false");
    let tool = "mcp__plugin_memory-forge_memory-forge__search_knowledge";
    server_finds(
        &project,
        &["-p", "When is high water?", "--allowedTools", tool],
    );
}

/// `tools` of an agent is what it gets: only the builder can change a file.
#[test]
fn claude_gives_the_agents_their_tools() {
    let Some(project) = claude() else { return };
    let project = installed(project, "install").env("ENABLE_TOOL_SEARCH", "false");
    agents_have(&project, "/name", ["Bash", "Edit", "Write"], "Agent");
    // By `setup` the server has another name, and the plugin's is dropped.
    project.memory_forge(&["setup", "claude", "--scope", "user", "--yes"]);
    agents_have(&project, "/name", ["Bash", "Edit", "Write"], "Agent");
}

#[test]
fn copilot_gives_the_agents_their_tools() {
    let Some(project) = copilot() else { return };
    let project = installed(project, "install");
    agents_have(
        &project,
        "/function/name",
        ["bash", "edit", "create"],
        "task",
    );
}

#[track_caller]
fn agents_have(project: &Project, name_at: &str, hands: [&str; 3], delegates: &str) {
    for agent in AGENTS {
        let name = format!("memory-forge:{agent}");
        let question = project.ask("Hello", &["-p", "Hello", "--agent", &name]);
        let tools = question.body["tools"].as_array().expect("tools are a list");
        let tools = tools
            .iter()
            .filter_map(|tool| tool.pointer(name_at)?.as_str());
        let tools: Vec<&str> = tools.collect();
        for hand in hands {
            assert_eq!(
                tools.contains(&hand),
                agent == "builder",
                "{agent}: {tools:?}"
            );
        }
        assert_eq!(
            tools.contains(&delegates),
            agent == "orchestrator",
            "{agent}: {tools:?}"
        );
        let writes = tools.iter().any(|t| t.ends_with("memory_update_state"));
        assert_eq!(writes, agent != "builder", "{agent}: {tools:?}");
    }
}

/// What an agent of ours did is part of the next briefing.
#[test]
fn claude_tells_the_next_session_what_agents_did() {
    let Some(project) = claude() else { return };
    let project = installed(project, "install");
    let agent = json!({
        "description": "Keep notes",
        "prompt": "Write down that the hull is red.",
        "subagent_type": "memory-forge:mind",
    });
    project.model.will_call("Agent", agent);
    project.run(&["-p", "Have it written down."]);
    let asked = project.model.questions();
    let helper = asked.iter().map(|question| question.text());
    let helper: Vec<String> = helper
        .filter(|text| text.contains("You keep this project's memory, and"))
        .collect();
    assert!(!helper.is_empty(), "the agent was never asked");
    let log = project.ws.read(".mind/.agent-activity");
    for word in ["STARTED", "STOPPED", "memory-forge:mind"] {
        assert!(log.contains(word), "{word}: {log}");
    }
    let text = project.ask(PROMPT, &["-p", PROMPT]).text();
    assert!(text.contains("memory-forge:mind"), "{text}");
    assert!(text.contains("STOPPED"), "{text}");
}

#[test]
fn claude_is_told_once_where_setup_and_plugin_meet() {
    let Some(project) = claude() else { return };
    let project = installed(project, "install");
    project.memory_forge(&["setup", "claude", "--yes"]);
    is_told_once(&project.ask(PROMPT, &["-p", PROMPT]).text());
    project.memory_forge(&["uninstall", "claude", "--yes"]);
    project.memory_forge(&["setup", "claude", "--scope", "user", "--yes"]);
    let text = project.ask(PROMPT, &["-p", PROMPT]).text();
    is_told_once(&text);
    // Claude Code drops a plugin's server that runs the same command.
    counts(&text, "__search_knowledge", 1);
    project.memory_forge(&["uninstall", "claude", "--yes"]);
    is_told_once(&project.ask(PROMPT, &["-p", PROMPT]).text());
}

#[test]
fn claude_does_not_feel_that_the_program_is_absent() {
    let Some(project) = claude() else { return };
    let project = without_program(installed(project, "install"));
    let log = project.ws.home().join("debug.log");
    let log = log.to_string_lossy();
    let arguments = ["-p", PROMPT, "--debug-file", &log];
    is_told_nothing(&project.ask(PROMPT, &arguments).text());
    let log = std::fs::read_to_string(&*log).expect("the client wrote its log");
    let ended = log.lines().filter(|line| {
        line.contains("memory-forge hook --plugin ; exit 0]") && line.contains(" status ")
    });
    let ended: Vec<&str> = ended.collect();
    assert!(ended.len() >= 3, "{log}");
    for line in ended {
        assert!(line.contains(" status 0"), "{line}");
    }
}

#[test]
fn codex_has_the_plugin() {
    let Some(project) = codex() else { return };
    let project = installed(project, "add");
    let listed = project.run(&["plugin", "list"]);
    assert!(listed.stdout.contains("installed, enabled"), "{listed}");
    let prompt = project.run(&["debug", "prompt-input", "Hello"]).stdout;
    for name in AUTONOMOUS {
        counts(&prompt, &format!("- memory-forge:{name}: "), 1);
    }
    for name in EXPLICIT {
        counts(&prompt, &format!("- memory-forge:{name}: "), 0);
    }

    // JSON in which line ends are escaped.
    let lines = prompt.replace("\\n", "\n");
    let counted = counted(&project, &in_plugin(""), "codex");
    assert_eq!(
        always_on(&counted, &["skill"]),
        sent(&lines, "- memory-forge:", Tokenizer::O200k)
    );

    project.model.forget();
    let output = project.run(&["exec", UNTRUSTED, PROMPT]);
    for event in ["SessionStart", "UserPromptSubmit", "Stop"] {
        let ended = format!("hook: {event} Completed");
        assert!(output.stderr.contains(&ended), "{output}");
    }
    assert!(!output.stderr.contains("hooks.json"), "{output}");
    let questions = project.model.questions();
    is_told_once(&questions.first().expect("it asked the model").text());
    server_finds(&project, &["exec", UNTRUSTED, "When is high water?"]);
}

#[test]
fn codex_is_told_once_where_setup_and_plugin_meet() {
    let Some(project) = codex() else { return };
    let project = installed(project, "add");
    for scope in ["project", "user"] {
        project.memory_forge(&["setup", "codex", "--scope", scope, "--yes"]);
        is_told_once(&project.ask(PROMPT, &["exec", UNTRUSTED, PROMPT]).text());
        project.memory_forge(&["uninstall", "codex", "--yes"]);
    }
}

#[test]
fn codex_does_not_feel_that_the_program_is_absent() {
    let Some(project) = codex() else { return };
    let project = without_program(installed(project, "add"));
    project.model.forget();
    let output = project.run(&["exec", UNTRUSTED, PROMPT]);
    assert!(!output.stderr.contains("Failed"), "{output}");
    let questions = project.model.questions();
    is_told_nothing(&questions.first().expect("it asked the model").text());
}

#[test]
fn copilot_has_the_plugin() {
    let Some(project) = copilot() else { return };
    let project = installed(project, "install");
    let listed = project.run(&["plugin", "list"]).stdout;
    assert!(listed.contains("memory-forge@memory-forge"), "{listed}");
    let skills = project.run(&["skill", "list"]).stdout;
    for name in AUTONOMOUS.into_iter().chain(EXPLICIT) {
        assert!(skills.contains(&format!("  {name} - ")), "{name}: {skills}");
    }
    let text = project.ask(PROMPT, &["-p", PROMPT]).text();
    is_told_once(&text);
    for name in AUTONOMOUS {
        counts(&text, &format!("<name>{name}</name>"), 1);
    }
    for name in EXPLICIT {
        counts(&text, &format!("<name>{name}</name>"), 0);
    }
    for name in AGENTS {
        counts(&text, &format!("- **memory-forge:{name}**: "), 1);
    }
    let allowed = ["--allow-tool", "memory-forge"];
    server_finds(
        &project,
        &["-p", "When is high water?", allowed[0], allowed[1]],
    );
}

#[test]
fn copilot_is_told_once_where_setup_and_plugin_meet() {
    let Some(project) = copilot() else { return };
    let project = installed(project, "install");
    for arguments in [
        &["setup", "copilot", "--yes"][..],
        &["setup", "claude", "--yes"],
        &["setup", "copilot", "--scope", "user", "--yes"],
    ] {
        project.memory_forge(arguments);
        is_told_once(&project.ask(PROMPT, &["-p", PROMPT]).text());
        project.memory_forge(&["uninstall", "--yes"]);
    }
}

#[test]
fn copilot_does_not_feel_that_the_program_is_absent() {
    let Some(project) = copilot() else { return };
    let project = without_program(installed(project, "install"));
    is_told_nothing(&project.ask(PROMPT, &["-p", PROMPT]).text());
}

#[test]
fn gemini_has_the_extension() {
    let Some(project) = gemini() else { return };
    let folder = in_plugin("gemini");
    let trusted = json!({"[root]": "TRUST_FOLDER", folder.as_str(): "TRUST_FOLDER"});
    let project = project.home(".gemini/trustedFolders.json", &trusted.to_string());
    let said = project.run(&["extensions", "validate", &folder]);
    let said = format!("{}{}", said.stdout, said.stderr);
    assert!(said.contains("successfully validated"), "{said}");
    project.run(&["extensions", "install", &folder, "--consent"]);
    let listed = project.run(&["extensions", "list"]);
    let listed = format!("{}{}", listed.stdout, listed.stderr);
    assert!(listed.contains("memory-forge"), "{listed}");

    let arguments = ["-p", PROMPT, MODEL[0], MODEL[1]];
    let text = project.ask(PROMPT, &arguments).text();
    is_told_once(&text);
    for name in AUTONOMOUS {
        counts(&text, &format!("<name>{name}</name>"), 1);
    }
    for words in EXPLICIT_WORDS {
        counts(&text, words, 0);
    }
    let place = ".gemini/extensions/memory-forge/skills/idea/SKILL.md</location>";
    counts(&text, place, 1);
    counts(
        &text,
        "Memory of this repository, kept as Markdown in it.",
        1,
    );
    project.memory_forge(&["setup", "gemini", "--yes"]);
    is_told_once(&project.ask(PROMPT, &arguments).text());
    project.memory_forge(&["uninstall", "gemini", "--yes"]);
    server_finds(
        &project,
        &[
            "-p",
            "When is high water?",
            MODEL[0],
            MODEL[1],
            "--approval-mode",
            "yolo",
        ],
    );
}

#[test]
fn opencode_has_the_plugin() {
    let Some(project) = opencode() else { return };
    let url = format!("file://{}", in_plugin("opencode/index.js"));
    let config = json!({"$schema": "https://opencode.ai/config.json", "plugin": [url]});
    project.ws.write("opencode.json", config.to_string());
    let skills = project.run(&["debug", "skill"]).stdout;
    let arguments = ["run", "--title", "t", PROMPT];
    let text = project.ask(PROMPT, &arguments).text();
    counts(&text, BRIEFING, 1);
    for name in AUTONOMOUS {
        assert!(skills.contains(&format!("\"{name}\"")), "{name}: {skills}");
    }
    for words in EXPLICIT_WORDS {
        counts(&text, words, 0);
        assert!(!skills.contains(words), "{words}: {skills}");
    }
    // The file that `setup` writes is loaded as well, and does nothing.
    project.memory_forge(&["setup", "opencode", "--yes"]);
    counts(&project.ask(PROMPT, &arguments).text(), BRIEFING, 1);
    project.memory_forge(&["uninstall", "opencode", "--yes"]);
    server_finds(&project, &["run", "When is high water?"]);
}

/// The same skills without the plugin, by `setup --skills`.
#[test]
fn setup_gives_skills_to_clients_without_the_plugin() {
    let Some(project) = claude() else { return };
    project.memory_forge(&["setup", "claude", "--skills", "--yes"]);
    let text = project.ask(PROMPT, &["-p", PROMPT]).text();
    counts(&text, "\n- memory-forge: ", 1);
    for name in AUTONOMOUS.into_iter().skip(1) {
        counts(&text, &format!("- memory-forge-{name}: "), 1);
    }
    for name in EXPLICIT {
        counts(&text, &format!("- memory-forge-{name}: "), 0);
    }
    for name in AGENTS {
        counts(&text, &format!("- memory-forge-{name}: "), 1);
    }
    project.memory_forge(&["uninstall", "claude", "--yes"]);
    let left = project.ws.tree_of_sources();
    assert!(!left.contains(".claude"), "{left}");
}

#[test]
fn setup_gives_skills_to_codex() {
    let Some(project) = codex() else { return };
    project.memory_forge(&["setup", "codex", "--skills", "--yes"]);
    let prompt = project.run(&["debug", "prompt-input", "Hello"]).stdout;
    for name in AUTONOMOUS.into_iter().skip(1) {
        counts(&prompt, &format!("- memory-forge-{name}: "), 1);
    }
    for name in EXPLICIT {
        counts(&prompt, &format!("- memory-forge-{name}: "), 0);
    }
}

#[test]
fn setup_gives_skills_to_copilot() {
    let Some(project) = copilot() else { return };
    project.memory_forge(&["setup", "copilot", "--skills", "--yes"]);
    let text = project.ask(PROMPT, &["-p", PROMPT]).text();
    for name in AUTONOMOUS.into_iter().skip(1) {
        counts(&text, &format!("<name>memory-forge-{name}</name>"), 1);
    }
    for name in EXPLICIT {
        counts(&text, &format!("<name>memory-forge-{name}</name>"), 0);
    }
    for name in AGENTS {
        counts(&text, &format!("- **memory-forge-{name}**: "), 1);
    }
}

#[test]
fn setup_gives_skills_to_gemini() {
    let Some(project) = gemini() else { return };
    project.memory_forge(&["setup", "gemini", "--skills", "--yes"]);
    let text = project
        .ask(PROMPT, &["-p", PROMPT, MODEL[0], MODEL[1]])
        .text();
    for name in AUTONOMOUS.into_iter().skip(1) {
        counts(&text, &format!("<name>memory-forge-{name}</name>"), 1);
    }
    for words in EXPLICIT_WORDS {
        counts(&text, words, 0);
    }
    // A command that people type, with what they typed. Without a terminal
    // Gemini CLI puts a hook's text before it, and then sees no command.
    project.memory_forge(&["uninstall", "gemini", "--yes"]);
    project.memory_forge(&["setup", "gemini", "--skills", "--hooks", "none", "--yes"]);
    let command = "/memory-forge:search the old pier";
    let text = project
        .ask("the old pier", &["-p", command, MODEL[0], MODEL[1]])
        .text();
    assert!(text.contains("Answer from the passages"), "{text}");
}

#[test]
fn setup_gives_skills_to_opencode() {
    let Some(project) = opencode() else { return };
    project.memory_forge(&["setup", "opencode", "--skills", "--yes"]);
    let skills = project.run(&["debug", "skill"]).stdout;
    for name in AUTONOMOUS.into_iter().skip(1) {
        let name = format!("\"memory-forge-{name}\"");
        assert!(skills.contains(&name), "{name}: {skills}");
    }
    for words in EXPLICIT_WORDS {
        assert!(!skills.contains(words), "{words}: {skills}");
    }
    let arguments = ["run", "--command", "memory-forge-search", "the old pier"];
    let text = project.ask("the old pier", &arguments).text();
    assert!(text.contains("Answer from the passages"), "{text}");
}
