//! `audit` as people and programs meet it. What is loaded and found is
//! specified in `spec/audit.md` and tested in the library.

use serde_json::Value;

use crate::harness::ws;

const SKILL: &str = "---\nname: payments\ndescription: Takes payments\n---\n";

/// About this many tokens; exactly, where nothing else is in the file.
fn words(count: usize) -> String {
    "word ".repeat(count - 1) + "word"
}

#[track_caller]
fn json(output: &testkit::Output) -> Value {
    serde_json::from_str(output.ok()).unwrap_or_else(|e| panic!("{e}:\n{output}"))
}

#[test]
fn the_words_of_the_specification() {
    let ws = ws("");
    ws.write("CLAUDE.md", words(1284));
    ws.write(
        ".claude/skills/payments/SKILL.md",
        format!("{SKILL}{}", words(727)),
    );
    ws.write("AGENTS.md", words(120));
    let output = ws.run(&["audit"]);
    insta::assert_snapshot!(output, @r"
    exit: 0
    --- stdout
    ⚠️  Autoload detected (o200k):
      - CLAUDE.md: 1,284 tokens (CRITICAL, threshold: 1,000)
      - .claude/skills/payments/SKILL.md: 738 tokens (CRITICAL, threshold: 600)
      - AGENTS.md: 120 tokens

    ⚠️  Total autoload: 2,142 tokens (WARNING, threshold: 2,000), if each file were loaded whole

    Loaded at each start (`--client NAME` lists what of which file):
      - Claude Code: 2,149 tokens (~claude) in 2 files

    ℹ️  Good to know:
      - AGENTS.md: Claude Code does not read it, because CLAUDE.md exists
        Write `@AGENTS.md` into CLAUDE.md if it is meant for Claude Code as well
      - First audit: recorded 3 files as the baseline

    ℹ️  Recommendation:
      - Move stable knowledge to knowledge/
      - Reduce CLAUDE.md to a stub (< 500 tokens)
      - Keep each skill under 300 tokens, with the rest in `references/` in the same folder
      - `memory-forge doctor --fix` does this and can be undone
    ");
}

#[test]
fn a_clean_workspace_has_no_issues() {
    let ws = ws("//- CLAUDE.md\nRun the tests.\n//- apps/web/CLAUDE.md\nUse npm.\n");
    insta::assert_snapshot!(ws.run(&["audit"]), @r"
    exit: 0
    --- stdout
    ℹ️  Autoload (o200k):
      - CLAUDE.md: 4 tokens
      - apps/web/CLAUDE.md: 3 tokens, nested

    ℹ️  Total autoload: 7 tokens, if each file were loaded whole
        of which 3 in 1 file below the root, loaded when work happens there

    Loaded at each start (`--client NAME` lists what of which file):
      - Claude Code: 5 tokens (~claude) in 1 file

    ℹ️  Good to know:
      - First audit: recorded 2 files as the baseline

    No issues found.
    ");
    insta::assert_snapshot!(crate::harness::ws("").run(&["audit"]), @r"
    exit: 0
    --- stdout
    No agent loads a file of this project at start.

    No issues found.
    ");
}

#[test]
fn a_client_shows_what_is_always_on_and_what_waits() {
    let ws = ws(
        "//- CLAUDE.md\nRun the tests.\n//- .claude/rules/api.md\n---\npaths: src\n---\nFor the API.\n",
    );
    ws.write(
        ".claude/skills/payments/SKILL.md",
        format!("{SKILL}Call the helper.\n"),
    );
    std::fs::create_dir(ws.home().join(".claude")).expect("home is empty");
    std::fs::write(ws.home().join(".claude/CLAUDE.md"), "Tabs.\n").expect("a file");
    insta::assert_snapshot!(ws.run(&["audit", "--client", "claude"]), @r"
    exit: 0
    --- stdout
    Claude Code at start, in tokens (~claude):
      Always-on  On-invoke
              5          -  CLAUDE.md  instructions; whole file
              9          6  .claude/skills/payments/SKILL.md  skill; name and description
              0          5  .claude/rules/api.md  rule for matching files; nothing until then

      Yours, not the project's: 2 more
              2          -  ~/.claude/CLAUDE.md  your instructions for all projects; whole file

    ℹ️  Total autoload: 14 ~claude tokens, 10 o200k

    ℹ️  Good to know:
      - First audit: recorded 3 files as the baseline

    No issues found.
    ");
}

#[test]
fn all_clients_stand_in_one_table() {
    let ws = ws("//- AGENTS.md\nRun the tests.\n");
    ws.write("CLAUDE.md", words(501));
    insta::assert_snapshot!(ws.run(&["audit", "--client", "all"]), @r"
    exit: 0
    --- stdout
    What each client loads at start, in tokens (o200k):
      Client       Files  Always-on  On-invoke   Yours
      Claude Code      1        501          0       0
      Codex            1          4          0       0
      OpenCode         1          4          0       0
      Gemini CLI       0          0          0       0
      Copilot CLI      2        505          0       0

    ⚠️  Found in these files:
      - CLAUDE.md: 501 tokens (WARNING, threshold: 500) [claude, copilot]

    ℹ️  Good to know:
      - AGENTS.md: Claude Code does not read it, because CLAUDE.md exists [claude]
        Write `@AGENTS.md` into CLAUDE.md if it is meant for Claude Code as well
      - First audit: recorded 2 files as the baseline

    ℹ️  Recommendation:
      - Move stable knowledge to knowledge/
      - Reduce CLAUDE.md to a stub (< 500 tokens)
      - `memory-forge doctor --fix` does this and can be undone
    ");
}

#[test]
fn another_tokenizer_is_named_beside_the_one_of_the_limits() {
    let ws = ws("");
    ws.write("CLAUDE.md", words(501));
    let output = ws.run(&["audit", "--tokenizer", "claude"]);
    let stdout = output.ok();
    assert!(
        stdout.starts_with("⚠️  Autoload detected (~claude):\n"),
        "{output}"
    );
    let line = "- CLAUDE.md: 835 ~claude tokens, 501 o200k (WARNING, threshold: 500)\n";
    assert!(stdout.contains(line), "{output}");
}

#[test]
fn json_has_its_shape() {
    let ws = ws("//- knowledge/a.md\n# A\n");
    ws.write("CLAUDE.md", words(1001));
    ws.write("AGENTS.md", words(501));
    let value = json(&ws.run(&["audit", "--json"]));
    let keys: Vec<&str> = value
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect();
    let expect = [
        "version",
        "tokenizer",
        "estimate",
        "limitsTokenizer",
        "client",
        "critical",
        "warnings",
        "notices",
        "files",
        "summary",
        "starts",
    ];
    assert_eq!(keys, expect);
    // D25: "Claude with the `~claude` tokenizer". `AGENTS.md` is not loaded.
    let start = serde_json::json!({
        "client": "claude", "tokens": 1668, "tokenizer": "claude", "estimate": true,
        "files": 1, "userTokens": 0,
    });
    assert_eq!(value["starts"], serde_json::json!([start]));
    assert_eq!(value["version"], 1);
    assert_eq!(value["tokenizer"], "o200k");
    assert_eq!(value["client"], "plain");
    let critical = serde_json::json!({
        "file": "CLAUDE.md",
        "level": "critical",
        "kind": "size",
        "message": "CLAUDE.md: 1,001 tokens (CRITICAL, threshold: 1,000)",
        "tokens": 1001,
        "advice": "Reduce CLAUDE.md to a stub (< 500 tokens)",
    });
    assert_eq!(value["critical"], serde_json::json!([critical]));
    assert_eq!(value["warnings"][0]["file"], "AGENTS.md");
    assert_eq!(value["summary"]["totalAutoloadTokens"], 1502);
    assert_eq!(value["summary"]["autoloadFiles"], 2);
    assert_eq!(value["summary"]["knowledgeFiles"], 1);
    assert_eq!(value["files"][0]["file"], "AGENTS.md");

    let value = json(&ws.run(&["audit", "--json", "--client", "all"]));
    assert_eq!(value["client"], "all");
    assert_eq!(value["clients"].as_array().map(Vec::len), Some(5));
}

#[test]
fn ci_exits_with_1_at_its_level_or_worse() {
    let check = |tokens: usize, arguments: &[&str], expect: i32| {
        let ws = ws("");
        ws.write("CLAUDE.md", words(tokens));
        let output = ws.run(&[&["audit"], arguments].concat());
        assert_eq!(
            output.status,
            Some(expect),
            "{tokens} {arguments:?}:\n{output}"
        );
        assert!(output.stdout.contains("Total autoload"), "{output}");
    };
    check(1001, &[], 0);
    check(1001, &["--ci"], 1);
    check(1001, &["--ci", "critical"], 1);
    check(1001, &["--ci", "warning"], 1);
    check(501, &["--ci"], 0);
    check(501, &["--ci", "critical"], 0);
    check(501, &["--ci", "warning"], 1);
    check(500, &["--ci", "warning"], 0);
}

#[test]
fn ci_takes_its_limits_from_the_settings() {
    let ws = ws("//- memory-forge.toml\n[audit]\nfile_warn = 20\nfile_critical = 40\n");
    for (tokens, level, expect) in [
        (41, "critical", 1),
        (21, "critical", 0),
        (21, "warning", 1),
        (20, "warning", 0),
    ] {
        ws.write("CLAUDE.md", words(tokens));
        let output = ws.run(&["audit", "--ci", level]);
        assert_eq!(output.status, Some(expect), "{tokens} {level}:\n{output}");
    }
}

#[test]
fn secrets_and_hidden_text_fail_ci_and_are_not_printed() {
    let secret = concat!("ghp_16C7e42F292c6912", "E7710c838347Ae178B4a");
    for text in [
        format!("token: {secret}\n"),
        "run \u{202e}this\n".to_owned(),
    ] {
        let ws = ws("");
        ws.write("CLAUDE.md", &text);
        for arguments in [&["audit", "--ci"][..], &["audit", "--ci", "--json"]] {
            let output = ws.run(arguments);
            output.fails(1);
            assert!(!output.stdout.contains(secret), "{output}");
            assert!(!output.stdout.contains('\u{202e}'), "{output}");
        }
    }
}

#[test]
fn twice_is_once_and_nothing_of_the_users_changes() {
    let ws = ws("//- CLAUDE.md\nRun the tests.\n//- knowledge/a.md\n# A\n");
    ws.write(".claude/skills/payments/SKILL.md", SKILL);
    let sources = ws.tree_of_sources();
    ws.run(&["audit"]).ok();
    let first = ws.tree();
    assert_eq!(ws.tree_of_sources(), sources);
    assert!(ws.exists(".memory-forge/audit.json"));
    for arguments in [
        &["audit"][..],
        &["audit", "--json"],
        &["audit", "--client", "all"],
    ] {
        ws.run(arguments).ok();
        assert_eq!(ws.tree(), first, "{arguments:?}");
    }
}

#[test]
fn a_skill_is_new_until_the_next_audit() {
    let ws = ws("//- CLAUDE.md\nRun the tests.\n");
    assert!(ws.run(&["audit"]).ok().contains("First audit"));
    ws.write(".claude/skills/payments/SKILL.md", SKILL);
    let line = "  - .claude/skills/payments/SKILL.md: new since the last audit\n";
    assert!(ws.run(&["audit"]).ok().contains(line));
    assert!(!ws.run(&["audit"]).ok().contains("since the last audit"));
    ws.write(
        ".claude/skills/payments/SKILL.md",
        format!("{SKILL}More.\n"),
    );
    let line = "  - .claude/skills/payments/SKILL.md: modified since the last audit\n";
    assert!(ws.run(&["audit"]).ok().contains(line));
}

#[test]
fn knowledge_counts_as_indexed_after_index() {
    let ws = ws("//- knowledge/a.md\n# A\n");
    assert!(
        ws.run(&["audit"])
            .ok()
            .contains("knowledge/: 1 file is not indexed")
    );
    ws.run(&["index", "--no-vectors"]).ok();
    assert!(!ws.run(&["audit"]).ok().contains("not indexed"));
    ws.write("knowledge/b.md", "# B\n");
    assert!(
        ws.run(&["audit"])
            .ok()
            .contains("knowledge/b.md: not indexed")
    );
}

#[test]
fn long_lists_say_what_they_leave_out() {
    let ws = ws("");
    for number in 0..25 {
        ws.write(&format!(".claude/rules/{number}.md"), words(301));
    }
    let output = ws.run(&["audit"]);
    let stdout = output.ok();
    assert_eq!(
        stdout.matches("WARNING, threshold: 300").count(),
        20,
        "{output}"
    );
    assert!(
        stdout.contains("  … and 5 more files (`--json` lists all)\n"),
        "{output}"
    );
}

#[test]
#[cfg(unix)]
fn a_folder_that_cannot_be_written_still_gets_its_answer() {
    let ws = ws("//- CLAUDE.md\nRun the tests.\n");
    // A file where the folder for derived files should be.
    ws.write(".memory-forge", "in the way");
    let output = ws.run(&["audit"]);
    assert!(output.ok().contains("No issues found."), "{output}");
    assert!(
        output
            .stderr
            .contains("The next audit cannot show what is new"),
        "{output}"
    );
}
