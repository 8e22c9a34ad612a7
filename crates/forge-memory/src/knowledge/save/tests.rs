use super::*;
use proptest::prelude::*;
use testkit::TestWorkspace;

fn now() -> Timestamp {
    "2026-03-01T09:00:00Z".parse().unwrap()
}

fn note<'a>(name: &'a str, content: &'a str) -> NewDocument<'a> {
    NewDocument {
        name,
        content,
        importance: 5,
    }
}

fn ability<'a>(name: &'a str, content: &'a str) -> NewSkill<'a> {
    NewSkill {
        name,
        content,
        description: None,
        trigger: None,
        problem: None,
        importance: 5,
        clients: &[],
    }
}

fn open(ws: &TestWorkspace) -> Workspace {
    Workspace::open(ws.root()).unwrap()
}

#[test]
fn a_note_becomes_a_document() {
    let ws = TestWorkspace::empty();
    let saved = save_document(
        &open(&ws),
        &note("retry-policy", "Retry three times.\n"),
        now(),
    )
    .unwrap();
    assert_eq!(saved.title, "Retry Policy");
    assert_eq!(
        ws.read("knowledge/retry-policy.md"),
        "# Retry Policy\n\nRetry three times.\n\n---\n\n_Added: 2026-03-01_\n"
    );
}

#[test]
fn importance_is_kept_where_it_is_not_the_usual() {
    let ws = TestWorkspace::empty();
    let important = NewDocument {
        importance: 9,
        ..note("Key Facts", "x")
    };
    save_document(&open(&ws), &important, now()).unwrap();
    assert!(
        ws.read("knowledge/key-facts.md")
            .starts_with("---\nimportance: 9\n---\n\n# Key Facts\n")
    );
}

#[test]
fn a_skill_is_written_for_every_client_that_loads_it() {
    let ws = TestWorkspace::empty();
    let one = NewSkill {
        description: Some("Webhook tests fail\nat random: \"now\""),
        trigger: Some("timeout in webhook_spec"),
        clients: &[
            AgentClient::Codex,
            AgentClient::Gemini,
            AgentClient::Copilot,
        ],
        ..ability("flaky-webhooks", "Freeze the clock.")
    };
    let saved = save_skill(&open(&ws), &one, now()).unwrap();
    let files: Vec<&str> = saved.files.iter().map(RelPath::as_str).collect();
    assert_eq!(
        files,
        [
            ".claude/skills/flaky-webhooks/SKILL.md",
            ".opencode/skill/flaky-webhooks/SKILL.md",
            ".codex/skills/flaky-webhooks/SKILL.md",
            ".agents/skills/flaky-webhooks/SKILL.md",
        ]
    );
    let text = "---\nname: flaky-webhooks\ndescription: |\n  Webhook tests fail\n  at random: \"now\"\n\
        author: Memory Forge\nversion: 1.0.0\ndate: 2026-03-01\nimportance: 5\n---\n\n# Flaky Webhooks\n\n\
        ## Problem\n\nNo problem description provided.\n\n## Trigger Conditions\n\ntimeout in webhook_spec\n\n\
        ## Solution\n\nFreeze the clock.\n\n## Verification\n\n(Add verification steps here)\n";
    for file in files {
        assert_eq!(ws.read(file), text);
    }
}

#[test]
fn nothing_that_exists_is_overwritten_and_nothing_is_half_written() {
    let ws =
        TestWorkspace::files("//- knowledge/a.md\nmine\n//- .opencode/skill/a/SKILL.md\nmine\n");
    let before = ws.tree_of_sources();
    let refused = save_document(&open(&ws), &note("A", "x"), now()).unwrap_err();
    assert_eq!(refused.to_string(), "`knowledge/a.md` already exists");
    let refused = save_skill(&open(&ws), &ability("a", "x"), now()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "`.opencode/skill/a/SKILL.md` already exists"
    );
    assert_eq!(ws.tree_of_sources(), before);
}

#[test]
fn names_and_texts_that_cannot_be_saved_are_refused() {
    let ws = TestWorkspace::empty();
    let check = |name: &str, content: &str, expect: &str| {
        let refused = save_document(&open(&ws), &note(name, content), now()).unwrap_err();
        assert_eq!(refused.to_string(), expect);
        assert!(!ws.exists("knowledge"), "{name:?}");
    };
    check("", "x", "`` has no letters or digits to name a file with");
    check(
        "../../Evil Name",
        "x",
        "`../../Evil Name` contains a path separator; give the name alone",
    );
    check("a", " \n\t", "There is no text to save");
    check(
        "API Index",
        "x",
        "`knowledge/api-index.md` would not be a document: names that end in `-index` or `-archive` have a meaning of their own",
    );
    let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let refused =
        save_document(&open(&ws), &note("a", &format!("use {token}")), now()).unwrap_err();
    assert!(
        matches!(
            refused,
            SaveError::Refused(admit::TextRefusal::Secret { .. })
        ),
        "{refused}"
    );
    assert!(!refused.to_string().contains("a1B2c3"), "{refused}");
}

#[test]
fn headings_move_below_the_one_that_they_stand_under() {
    let check = |content: &str, level: u8, expect: &str| {
        assert_eq!(lower_headings(content, level), expect, "for {content:?}")
    };
    check("text", 2, "text");
    check("# A\n\n## B\n", 2, "## A\n\n### B");
    check("### A\n\n#### B\n", 2, "### A\n\n#### B");
    check(
        "# A #\n\ntext\n\n###### Z",
        3,
        "### A #\n\ntext\n\n###### Z",
    );
    check("Two\nlines\n===\n\nB\n---\n", 2, "## Two lines\n\n### B");
    check("```\n# not one\n```\n# A", 2, "```\n# not one\n```\n## A");
    check("---\na: b\n---\ntext", 2, "```yaml\na: b\n```\ntext");
    check("\u{feff}\r\n# A\r\n", 2, "## A");
}

#[test]
fn an_open_fence_is_closed() {
    let ws = TestWorkspace::empty();
    save_document(&open(&ws), &note("a", "~~~~sh\nmake"), now()).unwrap();
    assert_eq!(
        ws.read("knowledge/a.md"),
        "# A\n\n~~~~sh\nmake\n~~~~\n\n---\n\n_Added: 2026-03-01_\n"
    );
}

#[test]
fn a_note_goes_to_the_nearest_module() {
    let ws = TestWorkspace::files(
        "
        //- packages/a/src/x.rs
        //- packages/a/CLAUDE.md
        # A
        //- services/b/AGENTS.md
        # B
        //- services/b/CLAUDE.md
        # B
        //- apps/c/src/x.rs
        //- packages/a/libs/d/x.rs
        ",
    );
    let check = |folder: &str, client, module: Option<&str>, expect: &[&str]| {
        let route = route_note(&open(&ws), Some(&ws.path(folder)), client);
        assert_eq!(
            route.module.as_ref().map(RelPath::as_str),
            module,
            "{folder}"
        );
        let files: Vec<&str> = route.files.iter().map(RelPath::as_str).collect();
        assert_eq!(files, expect, "{folder}");
    };
    check(
        "packages/a/src",
        None,
        Some("packages/a"),
        &["packages/a/CLAUDE.md"],
    );
    check(
        "packages/a",
        None,
        Some("packages/a"),
        &["packages/a/CLAUDE.md"],
    );
    check(
        "services/b",
        None,
        Some("services/b"),
        &["services/b/CLAUDE.md", "services/b/AGENTS.md"],
    );
    check("apps/c/src", None, Some("apps/c"), &["AGENTS.md"]);
    check(
        "apps/c/src",
        Some(AgentClient::Claude),
        Some("apps/c"),
        &["CLAUDE.md"],
    );
    check("apps", Some(AgentClient::Codex), None, &["AGENTS.md"]);
    check(
        "packages/a/libs/d",
        None,
        Some("packages/a/libs/d"),
        &["packages/a/CLAUDE.md"],
    );
    ws.write("CLAUDE.md", "# Root\n");
    check("apps/c/src", None, Some("apps/c"), &["CLAUDE.md"]);
    check("", Some(AgentClient::Codex), None, &["CLAUDE.md"]);
}

#[test]
fn a_section_is_added_once_and_can_be_undone() {
    let ws = TestWorkspace::empty();
    ws.write("CLAUDE.md", "# Root\r\n\r\ntext");
    let workspace = open(&ws);
    let files = [RelPath::new("CLAUDE.md").unwrap()];
    let saved = save_section(
        &workspace,
        &note("retry-policy", "# Big\n\nThree times."),
        &files,
        now(),
    )
    .unwrap();
    assert_eq!(
        ws.read("CLAUDE.md"),
        "# Root\r\n\r\ntext\r\n\r\n## Retry Policy\r\n\r\n### Big\r\n\r\nThree times.\r\n"
    );
    let refused = save_section(&workspace, &note("retry policy", "x"), &files, now()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "A section `Retry policy` already exists in `CLAUDE.md`"
    );
    workspace.undo(saved.receipt.id.as_deref(), now()).unwrap();
    assert_eq!(ws.read("CLAUDE.md"), "# Root\r\n\r\ntext");
}

fn hostile() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just("# H1".to_owned()),
        Just("## Solution".to_owned()),
        Just("Under\n===".to_owned()),
        Just("---".to_owned()),
        Just("```".to_owned()),
        Just("~~~~".to_owned()),
        Just("<!--".to_owned()),
        Just("<div>".to_owned()),
        Just("> quote".to_owned()),
        Just("- item".to_owned()),
        Just("    code".to_owned()),
        Just("name: x".to_owned()),
        "[ -~]{0,30}",
        "\\PC{0,12}",
    ];
    prop::collection::vec(line, 1..8).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_text_breaks_what_is_around_it(
        content in hostile(),
        description in hostile(),
        problem in hostile(),
        trigger in hostile(),
        name in "[a-zA-Z ()#*_`<>\\[\\]-]{1,20}",
    ) {
        prop_assume!(!content.trim().is_empty());
        let Ok(slug) = slugify_name(&name) else { return Ok(()) };
        let title = title_from_name(&name);
        let one = NewSkill {
            description: Some(&description),
            problem: Some(&problem),
            trigger: Some(&trigger),
            ..ability(&name, &content)
        };
        let text = render_skill(&AdmittedText::unjudged(&one), &slug, &title, "2026-03-01".parse().unwrap());
        let document = document::parse_document(text.as_str());
        prop_assert_eq!(
            heading_titles(&document, 2),
            [title.as_str(), "Problem", "Trigger Conditions", "Solution", "Verification"],
            "{}", text
        );
        let front = document.front_matter.as_ref().unwrap();
        let keys: Vec<&str> = front.entries.iter().map(|(key, _)| key.as_str()).collect();
        prop_assert_eq!(keys, ["name", "description", "author", "version", "date", "importance"], "{}", text);
        prop_assert_eq!(front.text("name"), Some(slug.as_str()));
        prop_assert!(document.problems.is_empty(), "{:?}\n{}", document.problems, text);
    }

    #[test]
    fn a_note_keeps_its_words(content in hostile()) {
        prop_assume!(!content.trim().is_empty() && crate::secrets::find_secrets(&content).is_empty());
        let ws = TestWorkspace::empty();
        save_document(&open(&ws), &note("a note", &content), now()).unwrap();
        let text = ws.read("knowledge/a-note.md");
        let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<String>();
        prop_assert!(letters(&text).contains(&letters(&content)), "{}", text);
        prop_assert!(text.ends_with("\n\n---\n\n_Added: 2026-03-01_\n"), "{}", text);
    }
}
