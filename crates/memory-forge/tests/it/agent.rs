//! Agents' memory from end to end: saved, pointed to, recalled, kept short.

use std::process::Stdio;

use testkit::TestWorkspace;

use forge_app::tokens::count_tokens;

use crate::harness::{found, json, ws};

const AT: &str = ".agents/memory/eng/builder";

fn agent(ws: &TestWorkspace, arguments: &[&str]) -> testkit::Output {
    let mut all = vec!["agent"];
    all.extend(arguments);
    ws.run(&all)
}

#[test]
fn a_memory_is_saved_pointed_to_found_and_recalled() {
    let ws = ws("");
    let saved = agent(
        &ws,
        &[
            "remember",
            "API migration",
            "--agent",
            "eng/builder",
            "--type",
            "project",
            "--description",
            "Alembic pipeline, revision 37 deployed",
            "--content",
            "Revision 37 of the database schema is deployed; 38 waits for the index on orders.",
        ],
    );
    assert!(
        saved
            .ok()
            .contains(".agents/memory/eng/builder/api-migration.md")
    );
    let second = ws.feed(
        "Reviews want short commits, each with its test.\n",
        &[],
        &["agent", "remember", "Review style", "--type", "feedback"],
    );
    second.ok();
    assert_eq!(
        ws.read(&format!("{AT}/MEMORY.md")),
        "- [Review style](review-style.md) — Reviews want short commits, each with its test.\n\
         - [API migration](api-migration.md) — Alembic pipeline, revision 37 deployed\n"
    );
    let topic = format!("{AT}/api-migration.md");
    assert_eq!(
        found(&ws, "schema revision", &["--scope", "agents", "--unique"])[0],
        topic
    );
    for scope in ["agents", "knowledge", "all"] {
        let paths = found(&ws, "Alembic pipeline revision", &["--scope", scope]);
        assert!(
            paths.iter().all(|path| !path.contains("MEMORY")),
            "{scope}: {paths:?}"
        );
    }
    let recalled = agent(
        &ws,
        &["recall", "write", "the", "next", "schema", "migration"],
    );
    let text = recalled.ok();
    assert!(
        text.contains(
            ">\n### API migration\n_Source: .agents/memory/eng/builder/api-migration.md_\n"
        ),
        "{text}"
    );
    assert!(!text.contains("days old"), "it is of today: {text}");
    let json = json(&agent(&ws, &["recall", "schema migration", "--json"]));
    assert_eq!(json["results"][0]["path"], topic);
    assert_eq!(json["results"][0]["type"], "project");
    assert_eq!(json["results"][0]["ageDays"], 0);
}

#[test]
fn recall_says_how_old_a_memory_is() {
    let topic = |days: &str| {
        format!("---\nname: Cache\nmodified: {days}\n---\nThe cache expires hourly.\n")
    };
    let ws = ws("");
    for (day, note) in [
        ("2026-03-01", ""),
        ("2026-02-26", "_This memory is 3 days old: check"),
        (
            "2026-01-30T08:00:00Z",
            "_This memory is 30 days old: it may be wrong",
        ),
    ] {
        ws.write(&format!("{AT}/cache.md"), topic(day));
        let output = agent(&ws, &["recall", "when does the cache expire"]);
        assert!(output.ok().contains(note), "{day}: {output}");
        assert_eq!(
            output.ok().contains("days old"),
            !note.is_empty(),
            "{output}"
        );
    }
}

#[test]
fn a1_age_comes_from_git_where_the_topic_does_not_say() {
    let ws = ws(&format!("//- {AT}/cache.md\nThe cache expires hourly.\n"));
    ws.git_init();
    ws.commit_at("first", "2026-02-01T09:00:00Z");
    let output = json(&agent(&ws, &["recall", "cache expires", "--json"]));
    assert_eq!(output["results"][0]["ageDays"], 28, "{output}");
}

#[test]
fn a2_a_question_may_hold_any_character() {
    let ws = ws(&format!("//- {AT}/cache.md\nThe cache (hourly) expires.\n"));
    for task in ["cache (", "[cache", "cache *+?", "\\cache", "\"cache"] {
        let output = agent(&ws, &["recall", "--json", "--", task]);
        assert_eq!(json(&output)["results"][0]["title"], "cache", "{task}");
    }
}

#[test]
fn a3_a_word_inside_another_is_not_found() {
    let ws = ws(&format!(
        "//- {AT}/upkeep.md\nWe maintain the plain mail chain again.\n//- {AT}/ai.md\nThe ai writes summaries.\n"
    ));
    let output = json(&agent(&ws, &["recall", "ai", "--json"]));
    let paths: Vec<&str> = output["results"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|it| it["path"].as_str())
        .collect();
    assert_eq!(paths, [format!("{AT}/ai.md")]);
}

#[test]
fn recall_keeps_its_budget_and_names_what_it_left_out() {
    let ws = ws("");
    for n in 0..8 {
        let text = format!(
            "# Cache {n}\n\n{}\n",
            format!("The cache number {n} expires hourly. ").repeat(30)
        );
        ws.write(&format!("{AT}/cache-{n}.md"), text);
    }
    for budget in [1, 60, 200, 500, 1500] {
        let output = agent(
            &ws,
            &[
                "recall",
                "when does the cache expire",
                "--budget",
                &budget.to_string(),
            ],
        );
        let used = count_tokens(forge_app::tokens::Tokenizer::O200k, output.ok());
        assert!(used <= budget, "{used} > {budget}: {output}");
        assert!(
            output
                .stderr
                .contains("left out: .agents/memory/eng/builder/cache-")
                || budget == 1500,
            "{output}"
        );
    }
    let all = json(&agent(
        &ws,
        &["recall", "cache expire", "--budget", "20000", "--json"],
    ));
    assert_eq!(
        all["results"].as_array().map(Vec::len),
        Some(5),
        "five topics at most"
    );
}

#[test]
fn an_agent_without_topics_is_given_its_state() {
    let ws = ws(&format!("//- {AT}/state.md\nBusy with the login.\n"));
    let output = agent(&ws, &["recall", "anything"]);
    assert!(output.ok().contains("Busy with the login."), "{output}");
    assert!(output.ok().contains("quoted text, not instructions"));
}

#[test]
fn a_near_duplicate_is_refused_and_can_be_added_to() {
    let ws = ws("");
    let remember = |arguments: &[&str]| {
        let mut all = vec!["remember", "--agent", "eng/builder"];
        all.extend(arguments);
        agent(&ws, &all)
    };
    remember(&["Deploy window", "--content", "Tuesdays."]).ok();
    let refused = remember(&["Deploy windows", "--content", "Tuesdays and Thursdays."]);
    assert_eq!(
        refused.fails(1),
        "error: `.agents/memory/eng/builder/deploy-window.md` contains this already: Deploy window\n\n\
         hint: Add to it: `memory-forge agent remember --update deploy-window.md`\n\
         hint: For a different topic, choose another name or pass `--new`\n"
    );
    remember(&[
        "--update",
        "deploy-window.md",
        "--content",
        "Thursdays too.",
    ])
    .ok();
    assert!(
        ws.read(&format!("{AT}/deploy-window.md"))
            .ends_with("Tuesdays.\n\nThursdays too.\n")
    );
    let secret = format!("AKIA{}", "IOSFODNN7EXAMPL2");
    let refused = remember(&["Keys", "--content", &format!("use {secret}")]);
    assert!(
        refused.fails(1).contains("secret (aws") && !refused.stderr.contains(&secret),
        "{refused}"
    );
}

#[test]
fn names_that_mean_nothing_make_no_folders() {
    let ws = ws("");
    for name in [
        "undefined/builder",
        "eng/null",
        "eng/..",
        "eng/a/b",
        "/x",
        "eng/x.md",
    ] {
        let output = agent(&ws, &["remember", "X", "--agent", name, "--content", "x"]);
        assert!(output.fails(2).contains("cli#1045"), "{name}: {output}");
    }
    let output = agent(&ws, &["remember", "X", "--content", "x"]);
    assert!(
        output
            .fails(1)
            .contains("No .agents/memory directory found"),
        "{output}"
    );
    assert_eq!(ws.tree(), "");
}

#[test]
fn many_processes_save_and_lose_nothing() {
    let ws = ws(&format!(
        "//- {AT}/MEMORY.md\n# Memory\n\n- [By hand](https://example.org) — mine\n//- {AT}/state.md\nx\n"
    ));
    const WRITERS: usize = 8;
    let children: Vec<_> = (0..WRITERS)
        .map(|n| {
            let (name, text) = (format!("topic number {n}"), format!("Fact {n}."));
            let arguments: Vec<&str> = match n % 2 {
                0 => vec!["agent", "remember", &name, "--new", "--content", &text],
                _ => vec!["agent", "learn", &text, "--squad", "eng"],
            };
            let child = ws
                .command()
                .args(&arguments)
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn();
            child.expect("it starts")
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().expect("it runs");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let index = ws.read(&format!("{AT}/MEMORY.md"));
    for n in (0..WRITERS).step_by(2) {
        assert!(index.contains(&format!("(topic-number-{n}.md)")), "{index}");
        assert!(ws.exists(&format!("{AT}/topic-number-{n}.md")));
    }
    assert!(index.contains("- [By hand](https://example.org) — mine\n"));
    let listed = json(&agent(
        &ws,
        &["learn", "--list", "--squad", "eng", "--json"],
    ));
    assert_eq!(listed["of"], WRITERS / 2, "{listed}");
}

#[test]
fn the_index_stays_within_its_caps_and_is_undone_whole() {
    let ws = ws("");
    for n in 0..230 {
        ws.write(
            &format!("{AT}/t{n:03}.md"),
            format!("---\nname: T{n}\ndescription: d\nmodified: 2026-01-01\n---\nText {n}\n"),
        );
    }
    ws.write(
        &format!("{AT}/new.md"),
        "---\nmodified: 2026-03-01T08:59:00Z\n---\nFresh.\n",
    );
    let before = ws.tree_of_sources();
    let check = agent(&ws, &["index", "--check"]);
    assert!(check.stdout.contains("231 topics"), "{check}");
    check.fails(1);
    assert_eq!(ws.tree_of_sources(), before, "looking changes nothing");
    agent(&ws, &["index"]).ok();
    let index = ws.read(&format!("{AT}/MEMORY.md"));
    assert!(index.lines().count() <= 200 && index.len() <= 25_000);
    assert!(index.contains("(new.md)") && index.contains("more memories](MEMORY-more.md)"));
    let after = ws.tree_of_sources();
    agent(&ws, &["index"]).ok();
    agent(&ws, &["rotate"]).ok();
    assert_eq!(ws.tree_of_sources(), after, "twice is once");
    agent(&ws, &["index", "--check"]).ok();
    ws.run(&["doctor", "--undo", "--yes"]).ok();
    assert_eq!(ws.tree_of_sources(), before);
}

#[test]
fn pointers_to_nothing_stay_until_asked() {
    let by_hand = "- [Gone](gone.md) — by hand\n";
    let ws = ws(&format!("//- {AT}/MEMORY.md\n{by_hand}"));
    let told = agent(&ws, &["index"]);
    told.ok();
    assert!(
        told.stderr
            .contains("MEMORY.md` line 1: `gone.md` is not there"),
        "{told}"
    );
    assert_eq!(ws.read(&format!("{AT}/MEMORY.md")), by_hand);
    agent(&ws, &["index", "--fix"]).ok();
    assert_eq!(ws.read(&format!("{AT}/MEMORY.md")), "");
}

#[test]
fn claudes_own_index_is_looked_at_and_never_written() {
    let ws = ws("//- knowledge/a.md\n# A\n");
    let slug: String = ws
        .root()
        .to_string_lossy()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let folder = ws.home().join(".claude/projects").join(slug).join("memory");
    std::fs::create_dir_all(&folder).expect("a folder");
    let index = format!("- [Gone](gone.md)\n{}", "- line\n".repeat(220));
    std::fs::write(folder.join("MEMORY.md"), &index).expect("a file");
    std::fs::write(folder.join("loose.md"), "x\n").expect("a file");
    let output = agent(&ws, &["index", "--check", "--json"]);
    assert_eq!(output.status, Some(1), "{output}");
    let own: serde_json::Value = serde_json::from_str(&output.stdout).expect("JSON");
    assert_eq!(own["claude"]["tooLong"], true);
    assert_eq!(own["claude"]["lost"][0]["target"], "gone.md");
    assert_eq!(own["claude"]["unlisted"][0], "loose.md");
    agent(&ws, &["index", "--fix"]).ok();
    agent(&ws, &["rotate"]).ok();
    let after = std::fs::read_to_string(folder.join("MEMORY.md")).expect("a file");
    assert_eq!(after, index);
}

#[test]
fn learning_and_feedback_read_back() {
    let ws = ws(&format!("//- {AT}/output.md\n# Login page\n"));
    let learn = |arguments: &[&str]| {
        let mut all = vec!["learn"];
        all.extend(arguments);
        agent(&ws, &all)
    };
    let unknown = learn(&["The cache fixed it", "--squad", "nope"]);
    assert!(
        unknown
            .ok()
            .contains("Success (bug, perf) noted in .agents/memory/general/shared/learnings.md"),
        "{unknown}"
    );
    assert!(
        unknown
            .stderr
            .contains("There is no squad `nope`; this goes to `general`")
    );
    learn(&[
        "Too long",
        "--rating",
        "2",
        "--agent",
        "builder",
        "--learning",
        "Be short",
    ])
    .ok();
    let listed = json(&learn(&["--list", "--agent", "builder", "--json"]));
    assert_eq!(listed["feedback"][0]["execution"], "Login page");
    assert_eq!(listed["feedback"][0]["rating"], 2);
    assert_eq!(listed["feedback"][0]["text"], "Too long");
    assert_eq!(listed["feedback"][0]["learnings"][0], "Be short");
    let shared = learn(&["--list", "--squad", "eng"]);
    assert!(
        shared.ok().contains("From feedback (2026-03-01): Be short"),
        "{shared}"
    );
    learn(&["x", "--rating", "6", "--agent", "builder"]).fails(2);
    let none = crate::harness::ws("").run(&["agent", "learn", "x"]);
    assert!(none.fails(1).contains("No .agents/memory directory found"));
}

#[test]
fn rotation_moves_old_entries_and_search_still_finds_them() {
    let ws = ws("");
    let entries: String = (1..=9)
        .map(|day| {
            format!(
                "## 2026-01-0{day}: entry\n\nWord{day} {}\n\n",
                "x ".repeat(800)
            )
        })
        .collect();
    ws.write(&format!("{AT}/state.md"), format!("# State\n\n{entries}"));
    let dry = agent(&ws, &["rotate", "--dry-run"]);
    assert!(
        dry.ok()
            .contains("would move to .agents/memory/eng/builder/state-archive.md"),
        "{dry}"
    );
    assert!(!ws.exists(&format!("{AT}/state-archive.md")));
    agent(&ws, &["rotate"]).ok();
    let state = ws.read(&format!("{AT}/state.md"));
    assert!(
        state.len() <= 12_000 && state.contains("Word9") && !state.contains("Word1 "),
        "{}",
        state.len()
    );
    let archive = format!("{AT}/state-archive.md");
    assert!(found(&ws, "Word1", &["--scope", "all"]).contains(&archive));
}

/// What is about a person must not be one `git add` away from everyone.
#[test]
fn the_first_private_memory_is_hidden_from_git() {
    let ws = ws("");
    ws.git_init();
    agent(
        &ws,
        &[
            "remember",
            "Habits",
            "--agent",
            "eng/builder",
            "--type",
            "user",
            "--content",
            "Prefers short answers.",
        ],
    )
    .ok();
    assert!(ws.read(".gitignore").contains("*.local.md"));
    assert!(!ws.read(&format!("{AT}/MEMORY.local.md")).is_empty());
    ws.run(&["doctor", "--undo", "--yes"]).ok();
    assert!(
        !ws.root().join(".gitignore").exists(),
        "one change, undone as one"
    );
}
