//! What hooks keep as evidence, and how it is found again.

use serde_json::{Value, json};
use testkit::TestWorkspace;
use testkit::transcript::LongSession;

use crate::harness::ws;
use crate::mcp_client::Client;
use crate::push::{FAILS, WORK, before, hook, turn};

/// Finds evidence as an agent does. Returns whether a result is about this.
fn finds(client: &mut Client, question: &str, wanted: &str) -> bool {
    let arguments = json!({ "query": question, "scope": "evidence", "limit": 5 });
    let answer = client.call("search_knowledge", arguments);
    let results = answer["structuredContent"]["results"].as_array().cloned();
    let mut results = results.unwrap_or_default().into_iter();
    let start = format!(": {wanted}");
    results.any(|it| {
        it["text"]
            .as_str()
            .is_some_and(|text| text.contains(&start))
    })
}

#[test]
fn after_a_compaction_commands_and_files_are_found_again() {
    let ws = ws(WORK);
    let session = LongSession::draw(26, 400, 300);
    let path = ws.home().join(".claude/projects/x/long.jsonl");
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    let event = |name: &str| {
        json!({"hook_event_name": name, "session_id": "long", "transcript_path": path,
               "source": "compact", "trigger": "auto", "stop_hook_active": false})
    };
    // One short turn, and one that fills the context.
    std::fs::write(&path, session.calls[..40].concat()).expect("written");
    hook(&ws, event("Stop"));
    let all = session.calls.concat();
    assert!(all.len() > 4 << 20, "{} bytes are read at once", all.len());
    std::fs::write(&path, all).expect("written");
    hook(&ws, event("PreCompact"));
    let restored = hook(&ws, event("SessionStart")).expect("a briefing");
    for part in [
        "- changed: `src/",
        "- worked: `",
        "- failed: `",
        "` because `error: ",
        "finds all 400 commands",
    ] {
        assert!(restored.contains(part), "{part} is missing in {restored}");
    }
    let (_, evidence) = restored
        .split_once("What this session showed")
        .expect("evidence");
    let tokens = forge_app::tokens::estimate_tokens(evidence);
    assert!(tokens <= 800, "{tokens} tokens");

    let output = ws.run(&[
        "search",
        "--scope",
        "evidence",
        "--json",
        "-n",
        "5",
        &session.worked[7],
    ]);
    let answer: Value = serde_json::from_str(output.ok()).expect("JSON");
    assert_eq!(answer["results"][0]["text"], session.worked[7]);
    let entries = answer["entries"].as_u64().expect("a number");
    assert!(entries >= 700, "{entries}");
    let words = |command: &str| {
        let words = command.split(|c: char| !c.is_alphanumeric());
        words.collect::<Vec<_>>().join(" ")
    };
    let mut client = Client::legacy(&ws, &[]);
    let mut share = |what: &str, all: &[String], question: &dyn Fn(&str) -> String| {
        let is_found = |it: &&String| finds(&mut client, &question(it), it);
        let found = all.iter().filter(is_found).count();
        println!("{what}: {found} of {} found again", all.len());
        assert!(
            100 * found >= 95 * all.len(),
            "{what}: {found} of {}",
            all.len()
        );
    };
    share("commands that worked", &session.worked, &words);
    share("commands that failed", &session.failed, &words);
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    share("files", &session.files, &name);
}

#[test]
fn evidence_is_searched_by_words_and_shown_with_its_circumstances() {
    let ws = ws(WORK);
    let quoted = "psql -c \"select 1 from orders\"";
    turn(
        &ws,
        "s1",
        &[
            (
                "cargo test -p api",
                "Exit code 101\nerror: could not compile `api`",
            ),
            (
                "cd api && cargo test -p api",
                "test result: ok. 3 passed; 0 failed; 0 ignored",
            ),
            (quoted, "1"),
        ],
    );
    let shown = ws.run(&["search", "--scope", "evidence", "cargo", "test"]);
    for part in [
        "2 results in evidence:",
        "failed: cargo test -p api",
        "error: could not compile",
        "exit code 101, 1 day ago (.mind/evidence/log.jsonl:2)",
        "worked: cd api && cargo test -p api",
        "3 passed, 0 failed",
    ] {
        assert!(shown.ok().contains(part), "{part} is missing in {shown}");
    }
    // Quotes in a command do not make the question literal.
    let json = ws.run(&[
        "search",
        "--scope",
        "evidence",
        "--json",
        "psql \"orders select\"",
    ]);
    let answer: Value = serde_json::from_str(json.ok()).expect("JSON");
    assert_eq!(answer["results"][0]["text"], quoted);
    assert_eq!(answer["results"][0]["kind"], "worked");
    let none = ws.run(&["search", "--scope", "evidence", "kubernetes"]);
    none.fails(1);
    assert!(
        none.stdout.contains("Nothing in evidence matches."),
        "{none}"
    );
    let refused = ws.run(&["search", "--scope", "evidence", "cargo", "--as-of", "HEAD"]);
    assert!(
        refused.fails(2).contains("`--as-of` is about documents"),
        "{refused}"
    );
    // Nothing of it is in a search of documents.
    let documents = ws.run(&[
        "search", "cargo", "test", "--scope", "all", "--mode", "text",
    ]);
    assert!(!documents.stdout.contains("cargo"), "{documents}");
}

const ALL: &str = "[recall]\npush = \"all\"\n";

const NO_DATABASE: &str = "Exit code 2\nerror: could not connect to port 5432 of the database";

/// A command has failed, as Claude Code reports it.
fn failed(ws: &TestWorkspace, session: &str, command: &str, error: &str) -> Option<String> {
    hook(
        ws,
        json!({
            "hook_event_name": "PostToolUseFailure", "session_id": session, "tool_name": "Bash",
            "tool_use_id": "f", "tool_input": {"command": command}, "error": error,
        }),
    )
}

#[test]
fn an_error_that_took_several_steps_before_comes_with_its_solution() {
    let ws = ws(WORK);
    turn(
        &ws,
        "s1",
        &[
            ("make test", NO_DATABASE),
            ("make lint", "fine"),
            ("make docs", "fine"),
            ("docker compose up -d db", "started"),
            ("make test", "all pass"),
            // Solved at once, each time.
            (
                "gofmt -l src",
                "Exit code 1\nerror: src/a.go is not formatted as it must be",
            ),
            ("gofmt -w src", "done"),
            ("gofmt -l src", "done"),
        ],
    );
    assert_eq!(failed(&ws, "s2", "make test", NO_DATABASE), None);
    ws.write("memory-forge.toml", ALL);
    // The port differs from one time to the next.
    let text = failed(
        &ws,
        "s3",
        "cd . && make test",
        &NO_DATABASE.replace("5432", "6001"),
    );
    let text = text.expect("a solution");
    assert!(
        text.contains("after 4 steps, by \"docker compose up -d db\""),
        "{text}"
    );
    assert!(text.contains(".mind/evidence/log.jsonl:5"), "{text}");
    assert_eq!(
        failed(&ws, "s3", "make test", NO_DATABASE),
        None,
        "once a session"
    );
    let other = "Exit code 2\nerror: there is no rule to make this target";
    assert_eq!(failed(&ws, "s4", "make test", other), None);
    let gofmt = "Exit code 1\nerror: src/a.go is not formatted as it must be";
    assert_eq!(failed(&ws, "s4", "gofmt -l src", gofmt), None);
    let why = ws.run(&["why"]);
    assert!(
        why.ok().contains("PostToolUseFailure, solved before"),
        "{why}"
    );
}

const RULES: &str = "
    //- .mind/STATE.md
    # Project State
    //- memory-forge.toml
    [recall]
    push = \"all\"
    //- knowledge/payments.md
    # Payments

    Refunds are in `src/billing/refund.go`.

    - The file `src/billing/ledger.go` is generated and must never be edited by hand.
    - Never run `npm publish` from a branch.
    - Always run `npm test` first.
    //- src/billing/ledger.go
    package billing
    //- src/billing/refund.go
    package billing
";

#[test]
fn a_rule_that_names_a_file_or_a_command_comes_before_it_is_touched() {
    let ws = ws(RULES);
    let start = |session: &str| {
        let event =
            json!({"hook_event_name": "SessionStart", "session_id": session, "source": "startup"});
        hook(&ws, event);
    };
    let edit = |session: &str, path: &str| {
        let input = json!({"file_path": path, "old_string": "a", "new_string": "b"});
        before(&ws, session, "Edit", input)
    };
    let run =
        |session: &str, command: &str| before(&ws, session, "Bash", json!({"command": command}));
    start("s1");
    let text = edit("s1", "src/billing/ledger.go").expect("a rule");
    assert!(
        text.contains("is generated and must never be edited"),
        "{text}"
    );
    assert!(text.contains("knowledge/payments.md:5"), "{text}");
    let text = run("s1", "npm publish --tag next").expect("a rule");
    assert!(text.contains("Never run"), "{text}");
    // No rule is about these, or running it is what the rule wants.
    assert_eq!(edit("s1", "src/billing/refund.go"), None);
    assert_eq!(run("s1", "npm test"), None);
    assert_eq!(run("s1", "npm run build"), None);
    // A client that loads the document knows the rule.
    ws.write("CLAUDE.md", "# Project\n\n@knowledge/payments.md\n");
    start("s2");
    assert_eq!(edit("s2", "src/billing/ledger.go"), None);
    // By default, only documents that state what they apply to are keys.
    ws.write("CLAUDE.md", "# Project\n");
    ws.write("memory-forge.toml", "");
    start("s3");
    assert_eq!(edit("s3", "src/billing/ledger.go"), None);
}

#[test]
fn a_rule_about_the_only_file_of_a_name_comes_before_it_is_edited() {
    let ws = ws(RULES);
    ws.write(
        "knowledge/build.md",
        "# Build\n\n- Never edit `Makefile` by hand.\n- Versions are in `Cargo.toml` only.\n",
    );
    for path in ["Makefile", "Cargo.toml", "docs/Makefile"] {
        ws.write(path, "all:\n");
    }
    ws.git_init();
    ws.git(&["add", "Makefile", "Cargo.toml"]);
    let edit = |session: &str, path: &str| {
        let event =
            json!({"hook_event_name": "SessionStart", "session_id": session, "source": "startup"});
        hook(&ws, event);
        before(&ws, session, "Edit", json!({"file_path": path}))
    };
    let text = edit("s1", "Makefile").expect("a rule");
    assert!(text.contains("Never edit `Makefile`"), "{text}");
    assert!(text.contains("knowledge/build.md:3"), "{text}");
    // Another file, or one that is mentioned in passing.
    assert_eq!(edit("s1", "docs/Makefile"), None);
    assert_eq!(edit("s1", "Cargo.toml"), None);
    // Two of a name: which one is meant is not certain.
    ws.git(&["add", "docs/Makefile"]);
    assert_eq!(edit("s2", "Makefile"), None);
}

#[test]
fn a_helper_starts_with_what_is_known_about_its_task() {
    let ws = ws(WORK);
    ws.write("memory-forge.toml", ALL);
    turn(&ws, "s1", &[FAILS, ("cat -vet src/a.go", "package a")]);
    let start = json!({"hook_event_name": "SessionStart", "session_id": "s2", "source": "startup"});
    hook(&ws, start);
    let task =
        "Look for tabs with `cat -A src/registry.go`, then change `db/2.sql`.\n\n```\nls src\n```";
    let call = |id: &str, kind: &str, prompt: &str| {
        let content = json!([{"type": "tool_use", "id": id, "name": "Task",
            "input": {"subagent_type": kind, "prompt": prompt}}]);
        format!(
            "{}\n",
            json!({"type": "assistant", "message": {"content": content}})
        )
    };
    let path = ws.home().join(".claude/projects/x/s2.jsonl");
    let ended = json!({"type": "user", "message": {"content": [
        {"type": "tool_result", "tool_use_id": "t0", "content": "done"}]}});
    let text = call("t0", "explorer", "Run `cat -A x`") + &format!("{ended}\n");
    std::fs::write(&path, &text).expect("written");
    let helper = |id: &str| {
        let event = json!({"hook_event_name": "SubagentStart", "session_id": "s2", "agent_id": id,
            "agent_type": "explorer", "transcript_path": path});
        hook(&ws, event).unwrap_or_default()
    };
    // The task of a helper that has ended is not the task of this one.
    assert!(!helper("a1").contains("never worked"));
    std::fs::write(&path, text + &call("t1", "explorer", task)).expect("written");
    let brief = helper("a2");
    assert!(
        brief.contains("\"cat -A\" has never worked here"),
        "{brief}"
    );
    assert!(brief.contains("Migrations are never edited"), "{brief}");
    assert_eq!(brief.matches("[Memory] <data").count(), 2, "{brief}");
    // A second helper does not see what the first one got, nor its session.
    let cat = json!({"command": "cat -A db/2.sql"});
    assert!(before(&ws, "s2", "Bash", cat).is_some());
    assert!(helper("a4").contains("never worked"));
    // Of two that start at once, neither task is certain to be this one's, until
    // the client names the helper in the result of the call.
    let text = text_of(&path) + &call("t2", "explorer", "Read `README.md`");
    std::fs::write(&path, &text).expect("written");
    assert!(!helper("a5").contains("never worked"));
    let result = |call: &str, id: &str| {
        let content = json!([{"type": "tool_result", "tool_use_id": call, "content": "launched"}]);
        let result = json!({"type": "user", "message": {"content": content},
            "toolUseResult": {"isAsync": true, "agentId": id}});
        format!("{result}\n")
    };
    let named = result("t1", "a6") + &result("t2", "a7");
    std::fs::write(&path, text + &named).expect("written");
    assert!(helper("a6").contains("never worked"));
    assert!(!helper("a7").contains("never worked"));
    ws.write("memory-forge.toml", "");
    assert!(!helper("a3").contains("never worked"));
}

fn text_of(path: &std::path::Path) -> String {
    std::fs::read_to_string(path).expect("written before")
}

#[test]
fn what_followed_in_a_helper_is_seen_in_its_own_calls() {
    let ws = ws(WORK);
    ws.write("memory-forge.toml", ALL);
    turn(&ws, "s1", &[FAILS, ("cat -vet src/a.go", "package a")]);
    let path = ws.home().join(".claude/projects/x/s2.jsonl");
    let helpers = ws.home().join(".claude/projects/x/s2/subagents");
    std::fs::create_dir_all(&helpers).expect("made");
    let task = json!({"type": "assistant", "message": {"content": [{"type": "tool_use",
        "id": "t1", "name": "Agent", "input": {"subagent_type": "explorer",
            "prompt": "Look for tabs with `cat -A src/registry.go`"}}]}});
    std::fs::write(&path, format!("{task}\n")).expect("written");
    let event = |name: &str, id: &str, more: Value| {
        let mut event = json!({"hook_event_name": name, "session_id": "s2", "agent_id": id,
            "agent_type": "explorer", "transcript_path": path});
        for (name, value) in more.as_object().into_iter().flatten() {
            event[name] = value.clone();
        }
        hook(&ws, event).unwrap_or_default()
    };
    let ends = |id: &str, command: &str, result: &str, last: &str| {
        let call = json!({"type": "assistant", "isSidechain": true, "message": {"content": [
            {"type": "tool_use", "id": format!("{id}-0"), "name": "Bash",
             "input": {"command": command}}]}});
        let result = json!({"type": "user", "isSidechain": true, "message": {"content": [
            {"type": "tool_result", "tool_use_id": format!("{id}-0"), "content": result,
             "is_error": result.starts_with("Exit code")}]}});
        let answer = json!({"type": "assistant", "isSidechain": true, "message": {"content": [
            {"type": "text", "text": "Done."}]}});
        let later = json!({"type": "attachment"});
        let own = helpers.join(format!("agent-{id}.jsonl"));
        std::fs::write(&own, format!("{call}\n{result}\n{answer}\n{later}\n")).expect("written");
        event(
            "SubagentStop",
            id,
            json!({"agent_transcript_path": own, "last_assistant_message": last}),
        );
    };
    let outcomes = || {
        let why = ws.run(&["why", "--json"]);
        let why: Value = serde_json::from_str(why.ok()).expect("JSON");
        let pushes = why["pushes"].as_array().expect("a list");
        let outcomes = pushes.iter().map(|it| it["outcome"].clone());
        outcomes.collect::<Vec<_>>()
    };
    assert!(event("SubagentStart", "a1", json!({})).contains("never worked"));
    assert_eq!(outcomes(), [Value::Null]);
    // A transcript that lacks the end may lack the call that matters.
    ends("a1", "cat src/a.go", "package a", "Something else.");
    assert_eq!(outcomes(), [Value::Null]);
    ends("a1", "cat src/a.go", "package a", "Done.");
    assert_eq!(outcomes(), [json!("avoided")]);
    event("SubagentStart", "a2", json!({}));
    ends("a2", FAILS.0, FAILS.1, "Done.");
    assert_eq!(outcomes(), [json!("ignored"), json!("avoided")]);
    // What a helper got before a call of its own is judged in the same way.
    let call = json!({"tool_name": "Bash", "tool_use_id": "a3-0",
        "tool_input": {"command": FAILS.0}});
    assert!(event("PreToolUse", "a3", call).contains("never worked"));
    ends("a3", FAILS.0, "package a", "Done.");
    assert_eq!(outcomes()[0], "contradicted");
    let screen = ws.run(&["status"]);
    assert!(
        screen
            .ok()
            .contains(": 1 avoided, 1 ignored, 1 contradicted;"),
        "{screen}"
    );
    assert!(!ws.read(".mind/evidence/log.jsonl").contains("a3-0"));
}

#[test]
fn what_fails_in_one_worktree_is_known_in_the_others() {
    let ws = ws("
        //- main/.mind/STATE.md
        # Project State
        //- other/.mind/STATE.md
        # Project State
    ");
    let entry = ws.path("main/.git/worktrees/other");
    let other = ws.path("other/.git");
    ws.write("main/.git/HEAD", "ref: refs/heads/main\n");
    ws.write(
        "main/.git/worktrees/other/gitdir",
        format!("{}\n", other.display()),
    );
    ws.write("main/.git/worktrees/other/commondir", "../..\n");
    ws.write("other/.git", format!("gitdir: {}\n", entry.display()));
    let event = |place: &str, event: Value| {
        let root = ws.path(place).to_string_lossy().into_owned();
        let output = ws.feed(
            event.to_string(),
            &[],
            &["hook", "--client=claude", "--root", &root],
        );
        let answer: Value = serde_json::from_str(output.ok()).expect("one JSON object");
        let text = &answer["hookSpecificOutput"]["additionalContext"];
        text.as_str().map(str::to_owned)
    };
    let ends = |place: &str, command: &str, error: &str| {
        event(
            place,
            json!({
                "hook_event_name": "PostToolUseFailure", "session_id": place, "tool_name": "Bash",
                "tool_use_id": command, "tool_input": {"command": command}, "error": error,
            }),
        );
    };
    ends("main", FAILS.0, FAILS.1);
    ends("other", "make", "Exit code 2\nmake: nothing is here");
    let next = json!({"hook_event_name": "PreToolUse", "session_id": "s2", "tool_name": "Bash",
        "tool_use_id": "n", "tool_input": {"command": "cat -A x"}});
    let text = event("other", next).expect("what failed in the main checkout");
    assert!(text.contains("never worked here"), "{text}");
    let root = ws.path("other").to_string_lossy().into_owned();
    let found = ws.run(&[
        "--root", &root, "search", "--scope", "evidence", "cat", "--json",
    ]);
    let answer: Value = serde_json::from_str(found.ok()).expect("JSON");
    assert_eq!(answer["results"][0]["text"], FAILS.0);
    let path = answer["results"][0]["path"].as_str().expect("a path");
    assert!(path.ends_with("main/.mind/evidence/log.jsonl"), "{path}");
}

#[test]
fn prompts_of_any_kind_are_answered_and_nothing_of_them_is_kept() {
    let ws = ws(WORK);
    ws.write("memory-forge.toml", ALL);
    let secret = format!("ghp_{}", "a1B2c3D4e5".repeat(4));
    let log = "2026-03-01T09:00:00Z error: cannot connect to 10.0.0.1:5432\n".repeat(10_000);
    for prompt in [
        "word ".repeat(1 << 18),
        "\u{0}\u{1b}[2J\u{fffd}\u{202e}".repeat(1_000),
        log,
        format!("Use {secret} for the upload"),
        String::new(),
    ] {
        hook(
            &ws,
            json!({"hook_event_name": "UserPromptSubmit", "session_id": "s1", "prompt": prompt}),
        );
    }
    assert!(!ws.exists(".mind/evidence/log.jsonl") && !ws.exists(".mind/.pushes"));
    hook(
        &ws,
        json!({"hook_event_name": "UserPromptSubmit", "session_id": "s1",
        "prompt": format!("No, never use {secret}")}),
    );
    failed(
        &ws,
        "s1",
        &format!("curl -u me:{secret} x"),
        &format!("Exit code 7\nerror: {secret} is refused"),
    );
    let kept = ws.read(".mind/evidence/log.jsonl");
    assert!(
        kept.contains("corrected") && kept.contains("curl"),
        "{kept}"
    );
    assert!(!kept.contains("a1B2c3D4e5"), "{kept}");
    assert!(!ws.exists(".mind/.hook-failures"));
}

#[test]
fn calls_of_any_form_and_order_are_answered() {
    let ws = ws(WORK);
    ws.write("memory-forge.toml", ALL);
    let event = |name: &str, tool: Value, input: Value, response: Value| {
        json!({"hook_event_name": name, "session_id": "s1", "tool_use_id": "c1",
               "tool_name": tool, "tool_input": input, "tool_response": response, "error": response})
    };
    for name in ["PostToolUse", "PostToolUseFailure", "PreToolUse"] {
        for (tool, input) in [
            (json!("Bash"), json!("ls")),
            (json!("Bash"), json!(["ls"])),
            (json!("Bash"), json!(null)),
            (json!("Bash"), json!({"command": {"a": 1}})),
            (json!("Mystery"), json!({"command": "ls"})),
            (json!(7), json!({"command": "ls"})),
            (json!(null), json!(7)),
        ] {
            assert_eq!(
                hook(&ws, event(name, tool, input, json!([{"text": 7}]))),
                None,
                "{name}"
            );
        }
    }
    // A result before its call, an end before a start, a call that never ends.
    hook(
        &ws,
        json!({"hook_event_name": "SubagentStop", "session_id": "s1"}),
    );
    hook(
        &ws,
        json!({"hook_event_name": "SessionEnd", "session_id": "s1", "reason": "other"}),
    );
    hook(
        &ws,
        event(
            "PostToolUse",
            json!("Bash"),
            json!({"command": "ls src"}),
            json!("registry.go"),
        ),
    );
    hook(
        &ws,
        event(
            "PreToolUse",
            json!("Bash"),
            json!({"command": "ls src"}),
            json!(null),
        ),
    );
    hook(
        &ws,
        event(
            "PostToolUse",
            json!("Bash"),
            json!({"command": "ls src"}),
            json!("registry.go"),
        ),
    );
    hook(
        &ws,
        json!({"hook_event_name": "SessionStart", "session_id": "s1", "source": "resume"}),
    );
    let kept = ws.read(".mind/evidence/log.jsonl");
    assert_eq!(kept.matches("\"ls src\"").count(), 1, "{kept}");
    assert!(!ws.exists(".mind/.hook-failures"));
}

#[test]
fn transcripts_that_are_links_elsewhere_huge_or_unknown_are_passed_over() {
    let ws = ws(WORK);
    let folder = ws.home().join(".claude/projects/x");
    std::fs::create_dir_all(&folder).expect("made");
    let ends = |path: &std::path::Path| {
        hook(
            &ws,
            json!({"hook_event_name": "Stop", "session_id": "s1", "stop_hook_active": false,
            "transcript_path": path}),
        );
        ws.exists(".mind/evidence/log.jsonl")
    };
    let line = |id: &str| {
        let call = json!({"type": "assistant", "timestamp": "2026-02-27T10:00:00Z", "message": {"content": [
            {"type": "tool_use", "id": id, "name": "Bash", "input": {"command": FAILS.0}}]}});
        let result = json!({"type": "user", "timestamp": "2026-02-27T10:00:00Z", "message": {"content": [
            {"type": "tool_result", "tool_use_id": id, "content": FAILS.1, "is_error": true}]}});
        format!("{call}\n{result}\n")
    };
    let put = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).expect("written");
        path
    };
    ws.write("elsewhere.jsonl", line("a"));
    assert!(!ends(&ws.path("elsewhere.jsonl")), "outside of the home");
    #[cfg(unix)]
    {
        let link = folder.join("link.jsonl");
        std::os::unix::fs::symlink(ws.path("elsewhere.jsonl"), &link).expect("a link");
        assert!(!ends(&link), "a link");
    }
    assert!(!ends(&folder), "a folder");
    assert!(!ends(&put("other.txt", &line("b"))), "another kind of file");
    assert!(!ends(&put(
        "unknown.jsonl",
        "{\"kind\":\"v9\",\"events\":[]}\n[1]\n\u{0}\n"
    )));
    let cut = line("c");
    assert!(
        !ends(&put("cut.jsonl", &cut[..cut.len() - 60])),
        "the result is cut"
    );
    // Two gigabytes, of which only the end is read.
    let huge = put("huge.jsonl", "");
    let mut file = std::fs::File::options()
        .append(true)
        .open(&huge)
        .expect("opened");
    file.set_len(2 << 30).expect("a sparse file");
    std::io::Write::write_all(&mut file, format!("\n{}", line("d")).as_bytes()).expect("written");
    assert!(ends(&huge), "what is at its end");
    assert_eq!(
        ws.read(".mind/evidence/log.jsonl")
            .matches("cat -A")
            .count(),
        1
    );
}

#[test]
fn a_workspace_that_cannot_be_written_breaks_no_hook() {
    let ws = ws(WORK);
    turn(&ws, "s1", &[FAILS]);
    // A file in the place of the folder cannot be written into, not even by root.
    std::fs::remove_dir_all(ws.path(".mind/evidence")).expect("removed");
    ws.write(".mind/evidence", "in the way");
    failed(&ws, "s2", FAILS.0, FAILS.1);
    turn(&ws, "s3", &[FAILS]);
    assert_eq!(before(&ws, "s4", "Bash", json!({"command": FAILS.0})), None);
    assert_eq!(ws.read(".mind/evidence"), "in the way");
    let found = ws.run(&["search", "--scope", "evidence", "cat"]);
    found.fails(1);
    assert!(
        found.stdout.contains("Nothing in evidence matches."),
        "{found}"
    );
}

#[cfg(unix)]
#[test]
fn a_read_only_workspace_breaks_no_hook() {
    use std::os::unix::fs::PermissionsExt;
    let ws = ws(WORK);
    turn(&ws, "s1", &[FAILS]);
    let folders = [".mind", ".mind/evidence"].map(|it| ws.path(it));
    let set = |mode: u32| {
        for folder in &folders {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(folder, mode).expect("set");
        }
    };
    set(0o555);
    if std::fs::write(folders[0].join("probe"), "").is_ok() {
        set(0o755);
        return testkit::skip("modes of files mean nothing to this user");
    }
    // What cannot be logged is not brought, since it would come again.
    let text = before(&ws, "s2", "Bash", json!({"command": FAILS.0}));
    failed(&ws, "s2", FAILS.0, FAILS.1);
    hook(
        &ws,
        json!({"hook_event_name": "SessionStart", "session_id": "s2", "source": "compact"}),
    );
    set(0o755);
    assert_eq!(text, None);
}
