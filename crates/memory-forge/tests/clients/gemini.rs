//! Gemini CLI: hooks from the project's settings, the stub, and a checkpoint.

use crate::project::{
    NUDGE, PHASE, Project, STUB, WORK, counts, goes_without_a_trace, is_briefed,
    is_corrected_at_a_prompt, is_pointed_to_an_answer, loses_no_prompt_without_the_program,
    program, searches_the_memory,
};

pub(crate) fn gemini() -> Option<Project> {
    let project = Project::with("gemini")?
        .run_by(&program("node")?)
        .home(
            ".gemini/trustedFolders.json",
            r#"{"[root]": "TRUST_FOLDER"}"#,
        )
        .home(
            ".gemini/settings.json",
            r#"{
                "security": {"auth": {"selectedType": "gemini-api-key"}},
                "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
                "privacy": {"usageStatisticsEnabled": false}
            }"#,
        )
        .env("GEMINI_API_KEY", "none")
        .env("GOOGLE_GEMINI_BASE_URL", "[url]");
    Some(project)
}

/// A model of its own, so that it does not ask another which one to take.
pub(crate) const MODEL: [&str; 2] = ["--model", "gemini-2.5-pro"];

#[test]
fn gemini_is_told_where_the_work_stands() {
    let Some(project) = gemini() else { return };
    project.memory_forge(&["setup", "gemini", "--yes"]);
    project.model.forget();
    let output = project.run(&["-p", "Where were we?", MODEL[0], MODEL[1], "--debug"]);
    let questions = project.model.questions();
    let text = is_briefed(questions.last().expect("it asked the model"));
    counts(&text, NUDGE, 1);
    counts(&text, "Where were we?", 1);
    for event in [
        "SessionStart",
        "BeforeAgent",
        "PreCompress",
        "AfterAgent",
        "SessionEnd",
    ] {
        let ran = format!("Hook execution for {event}: 1 hooks executed successfully");
        assert!(output.stderr.contains(&ran), "{event}: {output}");
    }
    assert!(
        project
            .ws
            .read(".mind/checkpoints/latest.md")
            .contains(WORK)
    );
}

#[test]
fn gemini_is_told_in_the_scope_of_a_user() {
    let Some(project) = gemini() else { return };
    project.memory_forge(&["setup", "gemini", "--scope", "user", "--yes"]);
    let prompt = "Where were we?";
    let question = project.ask(prompt, &["-p", prompt, MODEL[0], MODEL[1]]);
    counts(&is_briefed(&question), NUDGE, 1);
}

#[test]
fn gemini_starts_after_an_uninstall_and_nothing_is_left() {
    let Some(project) = gemini() else { return };
    project.ws.write("GEMINI.md", "# House rules\n\nNo tabs.\n");
    project.ws.write(
        ".gemini/settings.json",
        "{\n  // mine\n  \"ui\": {\"hideTips\": true}\n}\n",
    );
    let before = project.ws.tree_of_sources();
    goes_without_a_trace(&project, "gemini");
    project.memory_forge(&["setup", "gemini", "--mcp", "--yes"]);
    let output = project.run(&["mcp", "list"]);
    let said = format!("{}{}", output.stdout, output.stderr);
    assert!(said.contains("memory-forge"), "{said}");
    project.memory_forge(&["uninstall", "gemini", "--yes"]);
    let text = project
        .ask("Hello", &["-p", "Hello", MODEL[0], MODEL[1]])
        .text();
    assert!(text.contains("No tabs."), "{text}");
    assert!(!text.contains(PHASE) && !text.contains(STUB), "{text}");
    assert_eq!(project.ws.tree_of_sources(), before);
}

#[test]
fn gemini_searches_the_memory() {
    let Some(project) = gemini() else { return };
    searches_the_memory(
        &project,
        "gemini",
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

/// A hook that ends with a code above 1, as a shell does without the program,
/// makes Gemini CLI deny the prompt.
#[test]
fn gemini_loses_no_prompt_without_the_program() {
    let Some(project) = gemini() else { return };
    let prompt = "Where were we?";
    let arguments = ["-p", prompt, MODEL[0], MODEL[1]];
    loses_no_prompt_without_the_program(project, "gemini", prompt, &arguments);
}

/// Why the line ends with `exit 0`. If this fails, the client has changed, and
/// the end of the line may go.
#[test]
fn gemini_denies_a_prompt_when_a_shell_does_not_find_the_program() {
    let Some(project) = gemini() else { return };
    project.memory_forge(&["setup", "gemini", "--yes"]);
    let settings = project.ws.read(".gemini/settings.json");
    let without_end = settings.replace(" ; exit 0", "");
    assert_ne!(settings, without_end);
    project.ws.write(".gemini/settings.json", &without_end);
    let project = project.env("PATH", "/usr/bin:/bin");
    project.model.forget();
    let prompt = "Where were we?";
    let output = project.run(&["-p", prompt, MODEL[0], MODEL[1]]);
    let asked = project.model.questions();
    let arrived = asked
        .iter()
        .any(|question| question.text().contains(prompt));
    assert!(!arrived, "{output}");
}

#[test]
fn gemini_is_corrected_at_a_prompt() {
    let Some(project) = gemini() else { return };
    is_corrected_at_a_prompt(&project, "gemini", &[MODEL[0], MODEL[1], "-p"]);
}

#[test]
fn gemini_is_pointed_to_an_answer() {
    let Some(project) = gemini() else { return };
    is_pointed_to_an_answer(&project, "gemini", &[MODEL[0], MODEL[1], "-p"]);
}
