//! Claude Code: the briefing, the nudge, a compaction, and what it loads by
//! itself.

use crate::project::{BRIEFING, NEXT, NUDGE, PHASE, Project, RESTORED, STUB, WORK, counts};

fn claude() -> Option<Project> {
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
    let ours = log
        .lines()
        .filter(|line| line.contains("memory-forge hook]") && line.contains(" with status "));
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
    let text = question.text();
    counts(&text, BRIEFING, 1);
    counts(&text, NUDGE, 1);
    counts(&text, STUB, 1);
    for mark in [PHASE, NEXT, WORK] {
        assert!(text.contains(mark), "{mark}:\n{text}");
    }
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
    project.memory_forge(&["setup", "claude", "--hooks", "all", "--yes"]);
    assert_ne!(project.ws.tree_of_sources(), before);
    project.memory_forge(&["uninstall", "claude", "--yes"]);
    assert_eq!(project.ws.tree_of_sources(), before);
    let text = project.ask("Hello", &["-p", "Hello"]).text();
    assert!(text.contains("No tabs."), "{text}");
    assert!(!text.contains(PHASE) && !text.contains(STUB), "{text}");
    assert_eq!(project.ws.tree_of_sources(), before);
}
