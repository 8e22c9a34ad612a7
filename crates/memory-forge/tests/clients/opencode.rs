//! OpenCode: the plugin, the briefing in the system prompt, and a compaction.

use crate::project::{
    BRIEFING, PHASE, Project, RESTORED, WORK, counts, goes_without_a_trace, is_briefed,
    searches_the_memory,
};

pub(crate) fn opencode() -> Option<Project> {
    let project = Project::with("opencode")?
        .home(
            "opencode.json",
            r#"{
                "autoupdate": false,
                "share": "disabled",
                "model": "stand-in/large",
                "small_model": "stand-in/large",
                "provider": {"stand-in": {
                    "npm": "@ai-sdk/openai-compatible",
                    "name": "Stand-in",
                    "options": {"baseURL": "[url]/v1", "apiKey": "none"},
                    "models": {
                        "large": {"name": "l", "limit": {"context": 400000, "output": 1000}},
                        "small": {"name": "s", "limit": {"context": 50000, "output": 1000}}
                    }
                }}
            }"#,
        )
        .env("OPENCODE_DISABLE_AUTOUPDATE", "1")
        .env("OPENCODE_DISABLE_MODELS_FETCH", "1")
        .env("OPENCODE_DISABLE_LSP_DOWNLOAD", "1")
        .env("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1")
        // It would fetch a package for plugins, which ours does not need.
        .env("npm_config_registry", "[url]/packages/");
    let config = project.ws.home().join("opencode.json");
    Some(project.env("OPENCODE_CONFIG", &config.to_string_lossy()))
}

#[test]
fn opencode_is_told_where_the_work_stands() {
    let Some(project) = opencode() else { return };
    project.memory_forge(&["setup", "opencode", "--yes"]);
    let question = project.ask("Where were we?", &["run", "--title", "t", "Where were we?"]);
    is_briefed(&question);
    assert!(
        project.ws.exists(".mind/.last-activity"),
        "it was told of the stop"
    );
}

#[test]
fn opencode_is_told_in_the_scope_of_a_user() {
    let Some(project) = opencode() else { return };
    project.memory_forge(&["setup", "opencode", "--scope", "user", "--yes"]);
    is_briefed(&project.ask("Where were we?", &["run", "--title", "t", "Where were we?"]));
}

#[test]
fn opencode_gets_the_checkpoint_back_after_a_compaction() {
    let Some(project) = opencode() else { return };
    project.memory_forge(&["setup", "opencode", "--yes"]);
    let long = "Where were we? ".repeat(6_000);
    project.run(&["run", "--title", "t", &long, &long, &long]);
    // The other model has less room than that took.
    project.model.forget();
    let output = project.run(&["run", "-c", "-m", "stand-in/small", "And now?"]);
    assert!(
        project
            .ws
            .read(".mind/checkpoints/latest.md")
            .contains(WORK)
    );
    let questions = project.model.questions();
    let summary = questions.first().expect("it asked for a summary").text();
    assert!(
        summary.contains("PRE-COMPACTION STATE CHECKPOINT"),
        "{output}"
    );
    let text = questions.last().expect("it went on").text();
    counts(&text, RESTORED, 1);
    counts(&text, BRIEFING, 0);
    assert!(text.contains(PHASE) && text.contains(WORK), "{text}");
}

#[test]
fn opencode_takes_the_configuration_and_starts_after_an_uninstall() {
    let Some(project) = opencode() else { return };
    project.ws.add(
        "
        //- opencode.jsonc
        {
          // mine
          \"username\": \"skipper\"
        }
        //- AGENTS.md
        # House rules

        No tabs.
        //- .agents/skills/tide/SKILL.md
        ---
        name: tide
        description: Reads tide tables by lamplight.
        ---
        Body.
    ",
    );
    goes_without_a_trace(&project, "opencode");
    project.memory_forge(&["setup", "opencode", "--mcp", "--yes"]);
    let output = project.run(&["debug", "config"]);
    for word in [
        "skipper",
        ".opencode/plugin/memory-forge.js",
        "\"memory-forge\": {",
    ] {
        assert!(output.stdout.contains(word), "{word}: {output}");
    }
    let output = project.run(&["debug", "skill"]);
    assert!(
        output.stdout.contains("Reads tide tables by lamplight."),
        "{output}"
    );
    project.memory_forge(&["uninstall", "opencode", "--yes"]);
    let output = project.run(&["debug", "config"]);
    assert!(output.stdout.contains("skipper"), "{output}");
    assert!(!output.stdout.contains("memory-forge.js"), "{output}");
    assert_eq!(project.ws.read("AGENTS.md"), "# House rules\n\nNo tabs.\n");
}

#[test]
fn opencode_searches_the_memory() {
    let Some(project) = opencode() else { return };
    searches_the_memory(&project, "opencode", &["run", "When is high water?"]);
}
