//! Codex: the stub and skills in its prompt, hooks, and a compaction.

use crate::project::{
    NUDGE, Project, RESTORED, STUB, WORK, counts, goes_without_a_trace, is_briefed,
    is_corrected_at_a_prompt, is_pointed_to_an_answer, loses_no_prompt_without_the_program,
    searches_the_memory,
};

/// Each hook that ran, as `hook: event outcome`. One whose answer has a key
/// that Codex does not know ends as failed.
pub(crate) const UNTRUSTED: &str = "--dangerously-bypass-hook-trust";

pub(crate) fn codex() -> Option<Project> {
    let project = Project::with("codex")?.home(
        ".codex/config.toml",
        r#"
            model = "stand-in"
            model_provider = "stand-in"
            check_for_update_on_startup = false

            [analytics]
            enabled = false

            [model_providers.stand-in]
            name = "Stand-in"
            base_url = "[url]/v1"
            wire_api = "responses"

            [projects."[root]"]
            trust_level = "trusted"
        "#,
    );
    Some(project)
}

/// The hooks that the client says have ended, with their outcome.
fn hooks_run(stderr: &str) -> Vec<&str> {
    let lines = stderr
        .lines()
        .filter_map(|line| line.strip_prefix("hook: "));
    lines.filter(|hook| hook.contains(' ')).collect()
}

#[test]
fn codex_is_told_where_the_work_stands() {
    let Some(project) = codex() else { return };
    project.memory_forge(&["setup", "codex", "--yes"]);
    let prompt = "Where were we?";
    project.model.forget();
    let output = project.run(&["exec", "--strict-config", UNTRUSTED, prompt]);
    assert_eq!(
        hooks_run(&output.stderr),
        [
            "SessionStart Completed",
            "UserPromptSubmit Completed",
            "Stop Completed"
        ],
        "{output}"
    );
    let questions = project.model.questions();
    let text = is_briefed(questions.first().expect("it asked the model"));
    counts(&text, NUDGE, 1);
    counts(&text, prompt, 1);
}

#[test]
fn codex_is_told_in_the_scope_of_a_user() {
    let Some(project) = codex() else { return };
    project.memory_forge(&["setup", "codex", "--scope", "user", "--yes"]);
    let question = project.ask("Where were we?", &["exec", UNTRUSTED, "Where were we?"]);
    counts(&is_briefed(&question), NUDGE, 1);
}

#[test]
fn codex_gets_the_checkpoint_back_after_a_compaction() {
    let Some(project) = codex() else { return };
    project.memory_forge(&["setup", "codex", "--yes"]);
    project.run(&["exec", UNTRUSTED, "Where were we?"]);
    let output = project.run(&[
        "exec",
        UNTRUSTED,
        "-c",
        "model_auto_compact_token_limit=12",
        "resume",
        "--last",
        "And now?",
    ]);
    let hooks = hooks_run(&output.stderr);
    assert!(hooks.contains(&"PreCompact Completed"), "{output}");
    assert!(
        hooks.iter().all(|hook| hook.ends_with(" Completed")),
        "{output}"
    );
    assert!(
        project
            .ws
            .read(".mind/checkpoints/latest.md")
            .contains(WORK)
    );
    let questions = project.model.questions();
    let text = questions.last().expect("it asked the model").text();
    assert!(text.contains("And now?"), "{text}");
    counts(&text, RESTORED, 1);
}

#[test]
fn codex_shows_the_stub_and_skills_in_its_prompt() {
    let Some(project) = codex() else { return };
    project.ws.add(
        "
        //- .agents/skills/tide/SKILL.md
        ---
        name: tide
        description: Reads tide tables by lamplight.
        ---
        Body.
    ",
    );
    project.memory_forge(&["setup", "codex", "--yes"]);
    let output = project.run(&["debug", "prompt-input", "Hello"]);
    counts(&output.stdout, STUB, 1);
    counts(&output.stdout, "Reads tide tables by lamplight.", 1);
}

#[test]
fn codex_starts_after_an_uninstall_and_nothing_is_left() {
    let Some(project) = codex() else { return };
    project.ws.write("AGENTS.md", "# House rules\n\nNo tabs.\n");
    project.ws.write(
        ".codex/config.toml",
        "# mine\nhide_agent_reasoning = true\n",
    );
    goes_without_a_trace(&project, "codex");
    let output = project.run(&["debug", "prompt-input", "Hello"]);
    assert!(output.stdout.contains("No tabs."), "{output}");
    assert!(!output.stdout.contains(STUB), "{output}");
}

#[test]
fn codex_searches_the_memory() {
    let Some(project) = codex() else { return };
    searches_the_memory(
        &project,
        "codex",
        &["exec", UNTRUSTED, "When is high water?"],
    );
}

#[test]
fn codex_loses_no_prompt_without_the_program() {
    let Some(project) = codex() else { return };
    let prompt = "Where were we?";
    let arguments = ["exec", UNTRUSTED, prompt];
    let output = loses_no_prompt_without_the_program(project, "codex", prompt, &arguments);
    assert!(!output.stderr.contains("Failed"), "{output}");
}

/// Codex gets nothing before an action, so a prompt is where it is reached.
#[test]
fn codex_is_corrected_at_a_prompt() {
    let Some(project) = codex() else { return };
    is_corrected_at_a_prompt(&project, "codex", &["exec", UNTRUSTED]);
}

#[test]
fn codex_is_pointed_to_an_answer() {
    let Some(project) = codex() else { return };
    is_pointed_to_an_answer(&project, "codex", &["exec", UNTRUSTED]);
}
