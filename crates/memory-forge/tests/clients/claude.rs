//! Claude Code: the briefing, the nudge, a compaction, and what it loads by
//! itself.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::project::{
    ADDS_THE_REMOTE, BRIEFING, FAILS, NUDGE, PHASE, PUSH, Project, RESTORED, STUB, WORK, counts,
    fails_as_in_an_earlier_session, goes_without_a_trace, is_briefed, is_corrected_at_a_prompt,
    is_pointed_to_an_answer, loses_no_prompt_without_the_program, runs_what_failed_again,
    searches_the_memory,
};
use crate::stand_in::Request;

pub(crate) fn claude() -> Option<Project> {
    let project = Project::with("claude")?
        .env("ANTHROPIC_BASE_URL", "[url]")
        .env("ANTHROPIC_API_KEY", "none")
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("DISABLE_AUTOUPDATER", "1")
        .env("DISABLE_TELEMETRY", "1")
        .env("DISABLE_ERROR_REPORTING", "1");
    Some(project)
}

/// The hooks that the client says it ran, as `event status`, and nothing in
/// its log about one that went wrong.
#[track_caller]
fn hooks_run(log: &str) -> Vec<String> {
    for line in log.lines() {
        let bad = ["validation failed", "Hook output does not", "hook error"];
        let about_us = line.contains("memory-forge");
        assert!(
            !(about_us && bad.iter().any(|word| line.contains(word))),
            "{line}"
        );
    }
    let ours = log.lines().filter(|line| {
        line.contains("memory-forge hook ; exit 0]") && line.contains(" with status ")
    });
    ours.map(|line| {
        let event = line.split("[DEBUG] ").nth(1).unwrap_or(line);
        let event = event
            .trim_start_matches("Hooks: ")
            .split(' ')
            .next()
            .unwrap_or(event);
        let status = line.rsplit(" with status ").next().unwrap_or_default();
        format!("{event} {}", status.split(' ').next().unwrap_or(status))
    })
    .collect()
}

#[test]
fn claude_is_told_where_the_work_stands() {
    let Some(project) = claude() else { return };
    project.memory_forge(&["setup", "claude", "--yes"]);
    let log = project.ws.home().join("debug.log");
    let log = log.to_string_lossy();
    let question = project.ask(
        "Where were we?",
        &["-p", "Where were we?", "--debug-file", &log],
    );
    counts(&is_briefed(&question), NUDGE, 1);
    let log = std::fs::read_to_string(&*log).expect("the client wrote its log");
    assert_eq!(
        hooks_run(&log),
        [
            "SessionStart:startup 0",
            "UserPromptSubmit 0",
            "Stop 0",
            "SessionEnd:other 0"
        ]
    );
}

#[test]
fn claude_is_told_in_the_scope_of_a_user() {
    let Some(project) = claude() else { return };
    project.memory_forge(&["setup", "claude", "--scope", "user", "--yes"]);
    let question = project.ask("Where were we?", &["-p", "Where were we?"]);
    counts(&is_briefed(&question), NUDGE, 1);
}

#[test]
fn claude_gets_the_checkpoint_back_after_a_compaction() {
    let Some(project) = claude() else { return };
    project.memory_forge(&["setup", "claude", "--yes"]);
    project.ask("Where were we?", &["-p", "Where were we?"]);
    let log = project.ws.home().join("debug.log");
    let log = log.to_string_lossy();
    project.run(&["-p", "/compact", "--continue", "--debug-file", &log]);
    let said = std::fs::read_to_string(&*log).expect("the client wrote its log");
    let hooks = hooks_run(&said);
    for event in ["PreCompact:manual 0", "SessionStart:compact 0"] {
        assert!(
            hooks.iter().any(|hook| hook == event),
            "{event} in {hooks:?}"
        );
    }
    assert!(
        project
            .ws
            .read(".mind/checkpoints/latest.md")
            .contains(WORK)
    );

    let question = project.ask("And now?", &["-p", "And now?", "--continue"]);
    let text = question.text();
    assert!(
        !text.contains("Where were we?"),
        "this was compacted:\n{text}"
    );
    assert!(!text.contains("validation failed"), "{text}");
    counts(&text, RESTORED, 1);
    assert!(text.contains(PHASE) && text.contains(WORK), "{text}");
}

#[test]
fn claude_starts_after_an_uninstall_and_nothing_is_left() {
    let Some(project) = claude() else { return };
    project.ws.write("CLAUDE.md", "# House rules\n\nNo tabs.\n");
    project.ws.write(
        ".claude/settings.json",
        "{\n  \"model\": \"sonnet\" // mine\n}\n",
    );
    let before = project.ws.tree_of_sources();
    goes_without_a_trace(&project, "claude");
    let text = project.ask("Hello", &["-p", "Hello"]).text();
    assert!(text.contains("No tabs."), "{text}");
    assert!(!text.contains(PHASE) && !text.contains(STUB), "{text}");
    assert_eq!(project.ws.tree_of_sources(), before);
}

/// What `/context` says is loaded at the start: files by their path, skills,
/// commands and agents by their name.
fn loaded_by_claude(project: &Project) -> BTreeSet<String> {
    let output = project.run(&["-p", "/context"]);
    let mut loaded = BTreeSet::new();
    let mut table = "";
    for line in output.stdout.lines() {
        if let Some(title) = line.strip_prefix("### ") {
            table = title;
        }
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let (Some(first), Some(second)) = (cells.get(1), cells.get(2)) else {
            continue;
        };
        match table {
            "Memory Files" if second.starts_with('/') => loaded.insert((*second).to_owned()),
            "Skills" | "Custom Agents" if ["Project", "User"].contains(second) => {
                loaded.insert(format!(
                    "{} {first}",
                    if table == "Skills" { "skill" } else { "agent" }
                ))
            }
            _ => false,
        };
    }
    loaded
}

/// The same, as `audit` has it.
fn loaded_by_audit(project: &Project) -> BTreeSet<String> {
    let json = project.memory_forge(&["audit", "--client", "claude", "--json"]);
    let report: Value = serde_json::from_str(&json).expect("audit prints JSON");
    let files = report["files"].as_array().expect("files are a list");
    let at_start = files
        .iter()
        .filter(|file| file["tokens"].as_u64() > Some(0));
    let name = |file: &Value| {
        let path = file["file"].as_str().expect("a file has a path");
        let parts: Vec<&str> = path.trim_end_matches(".md").split('/').collect();
        match parts[..] {
            [.., "skills", name, "SKILL"] | [.., "commands", name] => format!("skill {name}"),
            [.., "agents", name] => format!("agent {name}"),
            _ => match path.strip_prefix("~/") {
                Some(rest) => project.ws.home().join(rest).display().to_string(),
                None => project.ws.path(path).display().to_string(),
            },
        }
    };
    at_start.map(name).collect()
}

#[track_caller]
fn both_load(project: &Project, some: &[&str]) {
    let (client, audit) = (loaded_by_claude(project), loaded_by_audit(project));
    assert_eq!(
        client, audit,
        "the client on the left, the audit on the right"
    );
    for name in some {
        assert!(
            client.iter().any(|found| found.ends_with(name)),
            "{name} in {client:?}"
        );
    }
}

#[test]
fn claude_loads_what_audit_says_it_loads() {
    let Some(project) = claude() else { return };
    let project = project
        .home(".claude/CLAUDE.md", "# Me\n\n@more.md\n")
        .home(".claude/more.md", "More of me.\n")
        .home(".claude/rules/mine.md", "My rule.\n")
        .home(
            ".claude/skills/own/SKILL.md",
            "---\nname: own\ndescription: Mine.\n---\n",
        );
    project.ws.add(
        "
        //- CLAUDE.md
        # House rules

        Read @docs/one.md and not `@docs/quoted.md` nor (@docs/glued.md) or @docs/comma.md, please.

        ```
        @docs/fenced.md
        ```
        //- .claude/CLAUDE.md
        # In the folder
        //- CLAUDE.local.md
        # Local
        //- AGENTS.md
        # Not read beside the others
        //- docs/one.md
        One. @two.md
        //- docs/two.md
        Two. @three.md
        //- docs/three.md
        Three. @four.md
        //- docs/four.md
        Four. @five.md
        //- docs/five.md
        Five is one hop too far.
        //- docs/comma.md
        A comma too much.
        //- docs/glued.md
        In brackets.
        //- docs/quoted.md
        Quoted.
        //- docs/fenced.md
        Fenced.
        //- .claude/rules/always.md
        Always.
        //- .claude/rules/deep/cursor.md
        ---
        globs: src/**
        ---
        A key of another client.
        //- .claude/rules/scoped.md
        ---
        paths: [\"src/**\"]
        ---
        Only there.
        //- .claude/skills/tide/SKILL.md
        ---
        name: tide
        description: Reads tide tables.
        ---
        Body.
        //- .claude/skills/silent/SKILL.md
        ---
        name: silent
        description: Nobody but the user calls it.
        disable-model-invocation: true
        ---
        Body.
        //- .claude/commands/moor.md
        ---
        description: Moors the boat.
        ---
        Body.
        //- .claude/agents/diver.md
        ---
        name: diver
        description: Dives.
        ---
        Body.
        //- .agents/skills/elsewhere/SKILL.md
        ---
        name: elsewhere
        description: For other clients.
        ---
        Body.
        //- src/CLAUDE.md
        # When files here are read
    ",
    );
    both_load(
        &project,
        &[
            "/CLAUDE.md",
            "docs/four.md",
            "deep/cursor.md",
            "skill tide",
            "agent diver",
        ],
    );
}

#[test]
fn claude_loads_agents_md_where_audit_says_so() {
    let Some(project) = claude() else { return };
    let project = project.home(".claude/CLAUDE.md", "# Me\n");
    project.ws.add(
        "
        //- AGENTS.md
        # For all agents

        @docs/one.md
        //- docs/one.md
        One.
    ",
    );
    both_load(&project, &["/AGENTS.md", "docs/one.md"]);
    project.memory_forge(&["setup", "claude", "--yes"]);
    both_load(&project, &["/AGENTS.md", "docs/one.md"]);
}

/// A server in a project's file waits for a yes, which this setting gives. By
/// default the model has to look for tools before it can call one.
#[test]
fn claude_searches_the_memory() {
    let Some(project) = claude() else { return };
    let project = project.env("ENABLE_TOOL_SEARCH", "false");
    let settings = r#"{"enableAllProjectMcpServers": true}"#;
    searches_the_memory(
        &project,
        "claude",
        &[
            "-p",
            "When is high water?",
            "--settings",
            settings,
            "--allowedTools",
            "mcp__memory-forge__search_knowledge",
        ],
    );
}

#[test]
fn claude_loses_no_prompt_without_the_program() {
    let Some(project) = claude() else { return };
    let prompt = "Where were we?";
    let output = loses_no_prompt_without_the_program(project, "claude", prompt, &["-p", prompt]);
    assert_eq!(output.stderr, "", "{output}");
}

/// The entry that `setup` writes for a path of Windows: the program and its
/// arguments apart, so that a space in the path needs no quotes.
#[test]
fn claude_starts_a_program_in_a_folder_with_spaces_without_a_shell() {
    let Some(project) = claude() else { return };
    let folder = project.ws.home().join("Jörg's programs & more");
    std::fs::create_dir(&folder).expect("the home can be written");
    let program = folder.join("memory-forge");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_memory-forge"), &program).expect("made");
    let handler = serde_json::json!({
        "type": "command", "command": program, "args": ["hook"], "timeout": 15,
    });
    let settings = serde_json::json!({"hooks": {
        "SessionStart": [{"hooks": [handler]}],
        "UserPromptSubmit": [{"hooks": [handler]}],
    }});
    project
        .ws
        .write(".claude/settings.json", settings.to_string());
    let text = project
        .ask("Where were we?", &["-p", "Where were we?"])
        .text();
    counts(&text, BRIEFING, 1);
    counts(&text, NUDGE, 1);
}

/// The model runs what failed in an earlier session: with the result of the
/// call, it reads what the memory has about it.
#[test]
fn claude_shows_the_model_what_failed_before_when_it_is_run_again() {
    let Some(project) = claude() else { return };
    project.memory_forge(&["setup", "claude", "--yes"]);
    let arguments = ["-p", "Look at main.c", "--allowedTools", "Bash"];
    let text = runs_what_failed_again(&project, "Bash", &arguments);
    counts(&text, PUSH, 1);
    let line = text.lines().find(|line| line.contains(PUSH));
    let line = line.expect("it was counted");
    for part in ["[Memory]", "cat --frobnicate", ".mind/evidence/log.jsonl:"] {
        assert!(line.contains(part), "{part} in {line}");
    }
    let why = project.memory_forge(&["why"]);
    assert!(why.contains("failed before"), "{why}");
}

#[test]
fn claude_shows_the_model_nothing_where_pushing_is_off() {
    let Some(project) = claude() else { return };
    let project = project.env("MEMORY_FORGE_PUSH", "off");
    project.memory_forge(&["setup", "claude", "--yes"]);
    let arguments = ["-p", "Look at main.c", "--allowedTools", "Bash"];
    let text = runs_what_failed_again(&project, "Bash", &arguments);
    counts(&text, PUSH, 0);
    assert!(!project.ws.exists(".mind/.pushes"));
}

/// A command fails with an error that took several steps before: with its
/// result, the model reads what solved it.
#[test]
fn claude_shows_the_model_what_solved_an_error_before() {
    let Some(project) = claude() else { return };
    project.memory_forge(&["setup", "claude", "--hooks", "all", "--yes"]);
    let arguments = ["-p", "Push the backup", "--allowedTools", "Bash"];
    let text = fails_as_in_an_earlier_session(&project, "Bash", &arguments);
    counts(&text, ADDS_THE_REMOTE, 1);
    let line = text.lines().find(|line| line.contains(ADDS_THE_REMOTE));
    let line = line.expect("it was counted");
    assert!(line.contains("[Memory]"), "{line}");
    assert!(line.contains(".mind/evidence/log.jsonl:"), "{line}");
    let pushes = project.ws.read(".mind/.pushes");
    counts(&pushes, "\"event\":\"PostToolUseFailure\"", 1);
    let why = project.memory_forge(&["why"]);
    assert!(why.contains("solved before"), "{why}");
}

#[test]
fn claude_shows_the_model_no_solution_where_pushing_is_off() {
    let Some(project) = claude() else { return };
    project.memory_forge(&["setup", "claude", "--hooks", "all", "--yes"]);
    let project = project.env("MEMORY_FORGE_PUSH", "off");
    let arguments = ["-p", "Push the backup", "--allowedTools", "Bash"];
    let text = fails_as_in_an_earlier_session(&project, "Bash", &arguments);
    counts(&text, ADDS_THE_REMOTE, 0);
}

/// A helper does not see what its session was shown: the facts about its task
/// are in its own first question to the model, and its calls show what followed.
#[test]
fn claude_shows_a_helper_what_is_known_about_its_task() {
    let Some(project) = claude() else { return };
    project
        .ws
        .write("memory-forge.toml", "[recall]\npush = \"all\"\n");
    project.memory_forge(&["setup", "claude", "--hooks", "all", "--yes"]);
    let command = |text: &str| serde_json::json!({ "command": text });
    project.model.will_call("Bash", command(FAILS));
    project.run(&["-p", "Look at main.c", "--allowedTools", "Bash"]);

    const PROMPT: &str = "Let another one look";
    let task = format!("Run `{FAILS}` and report what it prints.");
    let helper = serde_json::json!({
        "description": "Look at main.c", "prompt": task, "subagent_type": "general-purpose",
    });
    project.model.forget();
    project.model.will_call("Agent", helper);
    let works = command("cat src/main.c");
    project.model.will_call_in_a_helper("Bash", works, PROMPT);
    let output = project.run(&["-p", PROMPT, "--allowedTools", "Agent,Bash"]);
    let questions = project.model.questions();
    let of_helper = |it: &&Request| {
        let text = it.text();
        text.contains(&task) && !text.contains(PROMPT)
    };
    let first = questions.iter().find(of_helper);
    let text = first
        .unwrap_or_else(|| panic!("no helper started\n{output}"))
        .text();
    counts(&text, PUSH, 1);
    let pushes = project.ws.read(".mind/.pushes");
    counts(&pushes, "\"event\":\"SubagentStart\"", 1);
    let why = project.memory_forge(&["why"]);
    assert!(why.contains("failed before: avoided"), "{why}\n{pushes}");
}

#[test]
fn claude_is_corrected_at_a_prompt() {
    let Some(project) = claude() else { return };
    is_corrected_at_a_prompt(&project, "claude", &["-p"]);
}

#[test]
fn claude_is_pointed_to_an_answer() {
    let Some(project) = claude() else { return };
    is_pointed_to_an_answer(&project, "claude", &["-p"]);
}
