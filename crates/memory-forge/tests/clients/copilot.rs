//! Copilot CLI: its own hooks and Claude Code's, instructions, a checkpoint.

use crate::project::{
    NUDGE, PHASE, Project, STUB, WORK, counts, goes_without_a_trace, is_briefed,
    is_corrected_at_a_prompt, is_pointed_to_an_answer, loses_no_prompt_without_the_program,
    searches_the_memory,
};

pub(crate) fn copilot() -> Option<Project> {
    let project = Project::with("copilot")?
        .home(".copilot/config.json", r#"{"trusted_folders": ["[root]"]}"#)
        .env("COPILOT_OFFLINE", "true")
        .env("COPILOT_AUTO_UPDATE", "false")
        .env("COPILOT_PROVIDER_BASE_URL", "[url]/v1")
        .env("COPILOT_PROVIDER_API_KEY", "none")
        .env("COPILOT_MODEL", "stand-in");
    Some(project)
}

#[track_caller]
fn is_told(project: &Project) {
    let question = project.ask("Where were we?", &["-p", "Where were we?"]);
    counts(&is_briefed(&question), NUDGE, 1);
    let tree = project.ws.tree();
    assert!(
        tree.contains(".mind/.last-activity "),
        "it was told of the stop:\n{tree}"
    );
    assert!(
        tree.contains("session-end-latest.md "),
        "and of the end:\n{tree}"
    );
}

#[test]
fn copilot_is_told_where_the_work_stands() {
    let Some(project) = copilot() else { return };
    project.memory_forge(&["setup", "copilot", "--yes"]);
    is_told(&project);
    project.run(&["--continue", "-p", "/compact"]);
    assert!(
        project
            .ws
            .read(".mind/checkpoints/latest.md")
            .contains(WORK)
    );
}

#[test]
fn copilot_is_told_once_where_claude_is_set_up_too() {
    let Some(project) = copilot() else { return };
    project.memory_forge(&["setup", "claude", "copilot", "--yes"]);
    is_told(&project);
}

#[test]
fn copilot_is_told_in_the_scope_of_a_user() {
    let Some(project) = copilot() else { return };
    project.memory_forge(&["setup", "copilot", "--scope", "user", "--yes"]);
    is_told(&project);
}

/// A word about old notes at the end of a turn must not begin another one.
#[test]
fn copilot_stops_when_the_state_is_old() {
    let Some(project) = copilot() else { return };
    project.memory_forge(&["setup", "copilot", "--yes"]);
    project.make_state_old();
    project.ask("Where were we?", &["-p", "Where were we?"]);
    assert_eq!(project.model.questions().len(), 1);
}

#[test]
fn copilot_lists_the_stub_and_starts_after_an_uninstall() {
    let Some(project) = copilot() else { return };
    project.memory_forge(&["setup", "copilot", "--yes"]);
    let listed = project.run(&["instruction", "list"]);
    assert!(listed.stdout.contains("AGENTS.md"), "{listed}");
    project.memory_forge(&["uninstall", "copilot", "--yes"]);
    let listed = project.run(&["instruction", "list"]);
    assert!(!listed.stdout.contains("AGENTS.md"), "{listed}");

    project.ws.write("AGENTS.md", "# House rules\n\nNo tabs.\n");
    let before = project.ws.tree_of_sources();
    goes_without_a_trace(&project, "copilot");
    let text = project.ask("Hello", &["-p", "Hello"]).text();
    assert!(text.contains("No tabs."), "{text}");
    assert!(!text.contains(PHASE) && !text.contains(STUB), "{text}");
    assert_eq!(project.ws.tree_of_sources(), before);
}

#[test]
fn copilot_searches_the_memory() {
    let Some(project) = copilot() else { return };
    searches_the_memory(
        &project,
        "copilot",
        &["-p", "When is high water?", "--allow-tool", "memory-forge"],
    );
}

#[test]
fn copilot_loses_no_prompt_without_the_program() {
    let Some(project) = copilot() else { return };
    let prompt = "Where were we?";
    let arguments = ["-p", prompt];
    let output = loses_no_prompt_without_the_program(project, "copilot", prompt, &arguments);
    assert!(!output.stderr.contains("Failed"), "{output}");
}

#[test]
fn copilot_is_corrected_at_a_prompt() {
    let Some(project) = copilot() else { return };
    is_corrected_at_a_prompt(&project, "copilot", &["-p"]);
}

#[test]
fn copilot_is_pointed_to_an_answer() {
    let Some(project) = copilot() else { return };
    is_pointed_to_an_answer(&project, "copilot", &["-p"]);
}
