//! What agents are given: layers by role and budget, pointers at the start of
//! a session, and to a helper its own memory alone.

use serde_json::Value;
use testkit::TestWorkspace;

use crate::harness::{json, ws};

const SQUAD: &str = "
    //- .agents/SYSTEM.md
    # Protocol
    Report what you did.
    //- .agents/company.md
    # Company
    We sell shovels.
    //- .agents/memory/eng/goals.md
    - Ship billing
    //- .agents/squads/eng/builder.md
    ---
    role: worker
    max_context_tokens: 2000
    ---
    # Builder
    You build.
    //- .agents/memory/eng/builder/MEMORY.md
    - [Api](api.md) — only the builder knows
    //- .agents/memory/eng/tester/state.md
    Only the tester knows.
    //- .agents/memory/ops/twin/MEMORY.md
    - [Ops](ops.md) — of ops
    //- .agents/memory/eng/twin/MEMORY.md
    - [Eng](eng.md) — of eng
    //- knowledge/MEMORY.md
    - [Main](main.md) — everyone may know
    //- .mind/STATE.md
    ## Current Phase
    Build
    ## Next Action
    Finish billing
";

fn hook(ws: &TestWorkspace, input: &str) -> Value {
    json(&ws.feed(input, &[], &["hook"]))
}

fn told(answer: &Value) -> &str {
    let text = answer["hookSpecificOutput"]["additionalContext"].as_str();
    text.unwrap_or_default()
}

fn helper(ws: &TestWorkspace, kind: &str) -> String {
    let input = serde_json::json!({
        "hook_event_name": "SubagentStart", "agent_type": kind, "agent_id": "a1",
    });
    told(&hook(ws, &input.to_string())).to_owned()
}

#[test]
fn a_session_is_told_what_is_known_also_after_a_compaction() {
    let ws = ws(SQUAD);
    for source in ["startup", "compact", "resume"] {
        let input = format!(r#"{{"hook_event_name":"SessionStart","source":"{source}"}}"#);
        let answer = hook(&ws, &input);
        let text = told(&answer);
        assert!(
            text.contains("- [Main](main.md) — everyone may know"),
            "{text}"
        );
        assert!(text.find("Finish billing") < text.find("[Main]"), "{text}");
        assert!(!text.contains("only the builder"), "{text}");
    }
    ws.remove("knowledge/MEMORY.md");
    ws.write("MEMORY.md", "- [Root](root.md) — at the root\n");
    let answer = hook(&ws, r#"{"hook_event_name":"SessionStart"}"#);
    assert!(
        told(&answer).contains("WHAT IS KNOWN (MEMORY.md"),
        "{answer}"
    );
}

#[test]
fn a_helper_gets_only_its_own_memory() {
    let ws = ws(SQUAD);
    let check = |kind: &str, expect: Option<&str>| {
        let text = helper(&ws, kind);
        assert!(text.contains("Finish billing"), "{kind}: {text}");
        for known in [
            "only the builder knows",
            "Only the tester knows.",
            "of ops",
            "of eng",
            "everyone may know",
        ] {
            assert_eq!(
                text.contains(known),
                expect == Some(known),
                "{kind}: {text}"
            );
        }
    };
    check("builder", Some("only the builder knows"));
    check("tester", Some("Only the tester knows."));
    check("eng:builder", Some("only the builder knows"));
    check("some-plugin:builder", Some("only the builder knows"));
    check("eng/twin", Some("of eng"));
    check("ops/twin", Some("of ops"));
    // Nobody can say whose is meant.
    check("twin", None);
    for other in [
        "",
        "knowledge",
        "../eng/builder",
        "eng/../eng/builder",
        "*",
        "Explore",
    ] {
        check(other, None);
    }
    // Also where the work has no state.
    ws.remove(".mind/STATE.md");
    assert!(helper(&ws, "builder").contains("only the builder knows"));
    assert_eq!(helper(&ws, "Explore"), "");
}

#[test]
fn what_each_helper_did_last_is_told_at_the_next_start() {
    let ws = ws(SQUAD);
    for n in 0..30 {
        let kind = if n < 20 {
            "builder".to_owned()
        } else {
            format!("agent{n}")
        };
        helper(&ws, &kind);
        let stop = serde_json::json!({
            "hook_event_name": "SubagentStop", "agent_type": kind, "agent_id": "a1",
            "last_assistant_message":
                format!("Finished part {n}.\nToken ghp_{}", "a1B2".repeat(9)),
        });
        hook(&ws, &stop.to_string());
    }
    let log = ws.read(".mind/.agent-activity");
    assert!(
        log.contains("STOPPED: agent29 (a1) — Finished part 29."),
        "{log}"
    );
    assert!(!log.contains(&"a1B2".repeat(9)), "{log}");
    let answer = hook(&ws, r#"{"hook_event_name":"SessionStart"}"#);
    let text = told(&answer);
    assert_eq!(text.matches("STOPPED: ").count(), 5, "{text}");
    assert!(text.contains("agent29 (a1) — Finished part 29."), "{text}");
    assert!(
        text.contains("6 more agents in .mind/.agent-activity"),
        "{text}"
    );
}

#[test]
fn a_context_is_assembled_with_a_manifest() {
    let ws = ws(SQUAD);
    let asked = [
        "agent", "context", "--for", "run", "--squad", "eng", "--agent", "builder",
    ];
    let text = ws.run(&asked);
    assert!(
        text.ok()
            .starts_with("Context manifest — eng/builder\nscope: run · role: worker · policy: ")
    );
    let json = |more: &[&str]| {
        let output = ws.run(&[&asked[..], &["--json"], more].concat());
        let value: Value = serde_json::from_str(output.ok()).unwrap();
        value
    };
    let manifest = json(&[]);
    assert_eq!(manifest["format"], "context-manifest-v1");
    assert_eq!(manifest["budget"]["chars"], 8000);
    assert_eq!(manifest["budget"]["tokensEst"], 2000);
    assert_eq!(manifest["failed_required"], serde_json::json!([]));
    let memory = &manifest["layers"][4];
    assert_eq!(memory["path"], ".agents/memory/eng/builder/MEMORY.md");
    for key in [
        "id",
        "key",
        "name",
        "description",
        "path",
        "chars",
        "tokens_est",
        "evicted",
        "resolved",
        "failed",
        "stale",
        "staleness_days",
        "outside_budget",
        "required",
        "supporting_sources",
    ] {
        assert!(memory.get(key).is_some(), "{key} in {memory}");
    }
    let prompt = ws.run(&[&asked[..], &["--prompt"]].concat());
    assert!(
        prompt.ok().starts_with("# CONTEXT\n\n## L0 System\n"),
        "{prompt}"
    );
    assert_eq!(json(&["--prompt"])["text"], prompt.ok());
    let before = ws.tree();
    ws.remove(".agents/company.md");
    for more in [&[][..], &["--json"]] {
        let output = ws.run(&[&asked[..], more].concat());
        assert!(
            output
                .fails(1)
                .contains("FAIL LOUD: required layer L1 company is missing"),
            "{output}"
        );
    }
    let short = ws.run(&[&asked[..], &["--prompt"]].concat());
    let there = prompt
        .ok()
        .replace("## L1 Company\n\n# Company\nWe sell shovels.\n\n", "");
    assert_eq!(short.ok(), there, "{short}");
    assert!(
        short.stderr.contains("Left out: required layer L1 company"),
        "{short}"
    );
    assert_eq!(json(&["--prompt"])["text"], short.ok());
    ws.write(".agents/company.md", "# Company\nWe sell shovels.\n");
    assert_eq!(ws.tree(), before);
    ws.write(".agents/context-policy.yml", "roles:\n  worker: [1\n");
    let output = ws.run(&asked);
    assert!(
        output.fails(1).contains("context-policy.yml` line "),
        "{output}"
    );
    ws.remove(".agents/context-policy.yml");
    ws.run(&["agent", "context", "--squad", "eng", "--agent", "undefined"])
        .fails(2);
    ws.run(&[
        "agent",
        "context",
        "--agent",
        "eng/builder",
        "--role",
        "king",
    ])
    .fails(2);
}

/// Seed 002: "If MEMORY.md exists, inject it into context"; "If MEMORY.md
/// doesn't exist, fall back to state.md". Nothing else has to be there.
#[test]
fn a_prompt_has_what_exists_and_leaves_out_what_does_not() {
    let ws = ws("
        //- .agents/memory/eng/builder/MEMORY.md
        - [Api](api.md) — revision 37
        //- .agents/memory/eng/builder/state.md
        The old state.
    ");
    let asked = ["agent", "context", "--agent", "eng/builder", "--prompt"];
    let prompt = ws.run(&asked);
    assert!(
        prompt.ok().contains("- [Api](api.md) — revision 37"),
        "{prompt}"
    );
    assert!(!prompt.stdout.contains("The old state."), "{prompt}");
    ws.remove(".agents/memory/eng/builder/MEMORY.md");
    let prompt = ws.run(&asked);
    assert!(prompt.ok().contains("The old state."), "{prompt}");
    ws.remove(".agents/memory/eng/builder/state.md");
    assert_eq!(ws.run(&asked).ok(), "");
}

/// Seed 002: ".agents/SYSTEM.md — document MEMORY.md as index pattern"; "SYSTEM.md
/// instructions teach agents the two-step save pattern".
#[test]
fn the_two_step_save_is_written_once_and_on_request() {
    let ws = ws("//- .agents/memory/eng/builder/MEMORY.md\n- [Api](api.md) — x\n");
    let before = ws.tree();
    ws.run(&["agent", "context", "--agent", "eng/builder", "--prompt"])
        .ok();
    let shown = ws.run(&["agent", "init", "--dry-run"]);
    assert!(shown.ok().contains("+## Save in two steps"), "{shown}");
    assert_eq!(ws.tree(), before, "nothing is written unasked");
    assert_eq!(
        ws.run(&["agent", "init"]).ok(),
        "✓ Created .agents/SYSTEM.md\n"
    );
    let prompt = ws.run(&["agent", "context", "--agent", "eng/builder", "--prompt"]);
    let text = prompt.ok();
    assert!(text.starts_with("# CONTEXT\n\n## L0 System\n"), "{prompt}");
    assert!(
        text.find("Save in two steps") < text.find("- [Api](api.md)"),
        "{prompt}"
    );
    ws.write(".agents/SYSTEM.md", "mine\n");
    ws.run(&["agent", "init"]).ok();
    assert_eq!(ws.read(".agents/SYSTEM.md"), "mine\n");
}

#[test]
fn a6_feedback_that_was_given_is_read() {
    let ws = ws(SQUAD);
    let given = "Too many files in one change";
    for (agent, reader) in [("eng/builder", "eng/builder"), ("eng/lead", "eng/eng-lead")] {
        ws.run(&["agent", "learn", given, "--rating", "2", "--agent", agent])
            .ok();
        let context = ["agent", "context", "--for", "tick", "--prompt", "--agent"];
        let output = ws.run(&[&context[..], &[reader]].concat());
        assert!(output.ok().contains(given), "{agent}: {output}");
    }
}
