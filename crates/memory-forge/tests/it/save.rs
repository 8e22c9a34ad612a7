//! Something was learnt; it is written down, found, and never written over.

use crate::harness::ws;

#[test]
fn a_note_is_saved_and_found_at_once() {
    let ws = ws("");
    let output = ws.run(&[
        "save",
        "context",
        "retry-policy",
        "--content",
        "Retry three times, then park.",
    ]);
    assert_eq!(output.ok(), "✓ Saved knowledge/retry-policy.md\n");
    assert_eq!(output.stderr, "Indexed: a search finds it from now on\n");
    assert_eq!(
        ws.read("knowledge/retry-policy.md"),
        "# Retry Policy\n\nRetry three times, then park.\n\n---\n\n_Added: 2026-03-01_\n"
    );
    assert!(
        ws.run(&["stats"]).ok().contains("Files:        1 "),
        "it is in the index"
    );
    assert!(
        ws.run(&["search", "park"])
            .ok()
            .contains("knowledge/retry-policy.md")
    );
    let again = ws.run(&["save", "context", "Retry Policy", "-c", "other"]);
    insta::assert_snapshot!(again, @r"
    exit: 1
    --- stderr
    error: `knowledge/retry-policy.md` already exists

    hint: Choose another name, or edit that file
    ");
}

#[test]
fn a_note_can_be_piped_in() {
    let ws = ws("").stdin("# Mine\n\n- a\n- b\n");
    ws.run(&["save", "context", "notes", "-i", "9"]).ok();
    assert_eq!(
        ws.read("knowledge/notes.md"),
        "---\nimportance: 9\n---\n\n# Notes\n\n## Mine\n\n- a\n- b\n\n---\n\n_Added: 2026-03-01_\n"
    );
}

#[test]
fn what_cannot_be_saved_is_refused_and_leaves_nothing() {
    let ws = ws("");
    let check = |arguments: &[&str], code: i32, expect: &str| {
        let output = ws.run(arguments);
        assert!(output.fails(code).starts_with(expect), "{output}");
        assert!(
            !ws.exists("knowledge") && !ws.exists(".claude"),
            "{arguments:?}"
        );
    };
    check(
        &["save", "context", "x"],
        1,
        "error: There is no text to save\n",
    );
    check(
        &["save", "context", "", "-c", "x"],
        2,
        "error: `` has no letters",
    );
    check(
        &["save", "context", "../../Evil", "-c", "x"],
        2,
        "error: `../../Evil` contains a path separator",
    );
    check(
        &["save", "skill", "con", "-c", "x"],
        2,
        "error: `con` is a reserved name",
    );
    check(
        &["save", "skill", "x", "-c", "x", "--into-context"],
        2,
        "error: `--into-context` is for",
    );
    let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let output = ws.run(&["save", "context", "x", "-c", &token]);
    insta::assert_snapshot!(output, @r"
    exit: 1
    --- stderr
    error: The text seems to contain a secret (github-token)

    hint: Remove it, and state where it is kept instead
    ");
}

#[test]
fn a_skill_goes_where_agents_look() {
    let ws = ws("");
    let skill = [
        "save",
        "skill",
        "flaky-webhooks",
        "-d",
        "Webhook tests fail",
        "-t",
        "timeout",
        "-c",
        "Freeze the clock.",
    ];
    let output = ws.run(&[&skill[..], &["--client", "codex,copilot"]].concat());
    insta::assert_snapshot!(output, @r"
    exit: 0
    --- stdout
    ✓ Saved .claude/skills/flaky-webhooks/SKILL.md
    ✓ Saved .opencode/skill/flaky-webhooks/SKILL.md
    ✓ Saved .codex/skills/flaky-webhooks/SKILL.md
    ✓ Saved .agents/skills/flaky-webhooks/SKILL.md
    --- stderr
    Agents load it automatically, so it is audited and not indexed
    ");
    insta::assert_snapshot!(ws.read(".claude/skills/flaky-webhooks/SKILL.md"), @r"
    ---
    name: flaky-webhooks
    description: |
      Webhook tests fail
    author: Memory Forge
    version: 1.0.0
    date: 2026-03-01
    importance: 5
    ---

    # Flaky Webhooks

    ## Problem

    No problem description provided.

    ## Trigger Conditions

    timeout

    ## Solution

    Freeze the clock.

    ## Verification

    (Add verification steps here)
    ");
    let again = ws.run(&skill);
    assert!(
        again
            .fails(1)
            .contains("`.claude/skills/flaky-webhooks/SKILL.md` already exists"),
        "{again}"
    );
    assert!(
        !ws.run(&["search", "clock"]).stdout.contains("SKILL.md"),
        "skills are not indexed"
    );
    ws.run(&["doctor", "--undo"]).ok();
    assert!(!ws.exists(".claude") && !ws.exists(".opencode") && !ws.exists(".agents"));
}

#[test]
fn a_note_of_a_module_goes_to_its_context_file() {
    let files = "
        //- knowledge/a.md
        # A
        //- packages/api/CLAUDE.md
        # Api
        //- packages/api/src/x.rs
    ";
    let ws = ws(files).cwd("packages/api/src");
    let output = ws.run(&["save", "context", "ports", "-c", "Use 8080."]);
    assert!(
        output.stderr.contains("If it holds in `packages/api` only, `--into-context` adds it to `packages/api/CLAUDE.md` instead"),
        "{output}"
    );
    let output = ws.run(&[
        "save",
        "context",
        "ports",
        "-c",
        "Use 8080.",
        "--into-context",
    ]);
    assert_eq!(output.ok(), "✓ Saved packages/api/CLAUDE.md\n");
    assert_eq!(
        ws.read("packages/api/CLAUDE.md"),
        "# Api\n\n## Ports\n\nUse 8080.\n"
    );
    let again = ws.run(&["save", "context", "ports", "-c", "x", "--into-context"]);
    assert!(again.fails(1).contains("already exists"), "{again}");
}

#[test]
fn programs_get_the_paths_as_json() {
    let ws = ws("");
    let output = ws.run(&["save", "context", "a", "-c", "x", "--json"]);
    let json: serde_json::Value = serde_json::from_str(output.ok()).unwrap();
    assert_eq!(json["files"][0], "knowledge/a.md");
    assert_eq!(json["indexed"], true);
}
