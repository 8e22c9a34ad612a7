use testkit::TestWorkspace;

use super::*;

/// A text of exactly this many `o200k` tokens.
fn text_of(tokens: usize) -> String {
    let text = "word ".repeat(tokens.saturating_sub(1)) + if tokens > 0 { "word" } else { "" };
    assert_eq!(count_tokens(Tokenizer::O200k, &text), tokens);
    text
}

fn options<'a>(view: AuditView, home: &'a Path) -> AuditOptions<'a> {
    AuditOptions {
        view,
        tokenizer: Tokenizer::O200k,
        home: Some(home),
        now: "2026-03-01T09:00:00Z".parse().expect("a time"),
    }
}

fn audit_as(ws: &TestWorkspace, view: AuditView) -> AuditReport {
    let workspace = Workspace::open(ws.root()).expect("it is a folder");
    audit_workspace(&workspace, &options(view, &ws.home()))
}

fn audit(ws: &TestWorkspace) -> AuditReport {
    audit_as(ws, AuditView::Plain)
}

fn messages(report: &AuditReport, kind: AuditFindingKind) -> Vec<String> {
    let of_kind = report.findings.iter().filter(|f| f.kind == kind);
    of_kind.map(|f| f.message.clone()).collect()
}

/// Writes the state as the command does.
fn keep(ws: &TestWorkspace, report: &AuditReport) {
    if let Some(state) = &report.state {
        let workspace = Workspace::open(ws.root()).expect("it is a folder");
        let json = state.to_json();
        let kept = workspace.write_marked(STATE_FILE, json.as_bytes());
        kept.expect("the folder can be written");
    }
}

#[test]
fn limits_of_files_are_exceeded_only_above() {
    let check = |path: &str, tokens: usize, expect: Option<(AuditLevel, &str)>| {
        let ws = TestWorkspace::empty();
        ws.write(path, text_of(tokens));
        let report = audit(&ws);
        let found: Vec<_> = report
            .findings
            .iter()
            .filter(|f| f.kind == AuditFindingKind::Size)
            .collect();
        let found: Vec<_> = found
            .iter()
            .map(|f| (f.level, f.message.as_str()))
            .collect();
        assert_eq!(
            found,
            expect.into_iter().collect::<Vec<_>>(),
            "{path} {tokens}"
        );
        assert_eq!(report.items[0].level, expect.map(|(level, _)| level));
    };
    use AuditLevel::{Critical, Warning};
    for path in ["CLAUDE.md", "AGENTS.md"] {
        check(path, 500, None);
        let message = format!("{path}: 501 tokens (WARNING, threshold: 500)");
        check(path, 501, Some((Warning, &message)));
        let message = format!("{path}: 1,000 tokens (WARNING, threshold: 500)");
        check(path, 1000, Some((Warning, &message)));
        let message = format!("{path}: 1,001 tokens (CRITICAL, threshold: 1,000)");
        check(path, 1001, Some((Critical, &message)));
    }
    for path in [
        ".claude/rules/a.md",
        ".codex/a.md",
        ".opencode/command/a.md",
    ] {
        check(path, 300, None);
        let message = format!("{path}: 301 tokens (WARNING, threshold: 300)");
        check(path, 301, Some((Warning, &message)));
        let message = format!("{path}: 600 tokens (WARNING, threshold: 300)");
        check(path, 600, Some((Warning, &message)));
        let message = format!("{path}: 601 tokens (CRITICAL, threshold: 600)");
        check(path, 601, Some((Critical, &message)));
    }
}

#[test]
fn the_limit_of_the_total_is_exceeded_only_above() {
    let check = |files: &[usize], expect: &[&str]| {
        let ws = TestWorkspace::empty();
        for (number, tokens) in files.iter().enumerate() {
            ws.write(&format!(".claude/rules/{number}.md"), text_of(*tokens));
        }
        assert_eq!(messages(&audit(&ws), AuditFindingKind::Total), expect);
    };
    check(&[1000, 1000], &[]);
    check(
        &[1000, 1001],
        &["Total autoload: 2,001 tokens (WARNING, threshold: 2,000)"],
    );
    check(
        &[2500, 2500],
        &["Total autoload: 5,000 tokens (WARNING, threshold: 2,000)"],
    );
    check(
        &[2500, 2501],
        &["Total autoload: 5,001 tokens (CRITICAL, threshold: 5,000)"],
    );
}

#[test]
fn limits_come_from_the_configuration() {
    let ws =
        TestWorkspace::files("//- memory-forge.toml\n[audit]\nfile_warn = 2\nfile_critical = 3\n");
    ws.write("CLAUDE.md", text_of(4));
    let expect = ["CLAUDE.md: 4 tokens (CRITICAL, threshold: 3)"];
    assert_eq!(messages(&audit(&ws), AuditFindingKind::Size), expect);
}

#[test]
fn limits_are_compared_with_the_counts_they_were_chosen_for() {
    let ws = TestWorkspace::empty();
    ws.write("CLAUDE.md", text_of(490));
    ws.write("AGENTS.md", text_of(501));
    let workspace = Workspace::open(ws.root()).expect("it is a folder");
    let options = AuditOptions {
        tokenizer: Tokenizer::Claude,
        ..options(AuditView::Plain, ws.root())
    };
    let report = audit_workspace(&workspace, &options);
    // 2,504 characters, of which three make a token.
    let expect = ["AGENTS.md: 835 ~claude tokens, 501 o200k (WARNING, threshold: 500)"];
    assert_eq!(messages(&report, AuditFindingKind::Size), expect);
    assert_eq!(report.summary.autoload_tokens, 835 + 817);
}

#[test]
fn k11_nested_files_are_audited() {
    let ws = TestWorkspace::empty();
    ws.write("CLAUDE.md", text_of(10));
    ws.write("apps/web/CLAUDE.md", text_of(501));
    ws.write("libs/.claude/skills/a/SKILL.md", text_of(301));
    ws.write("node_modules/x/CLAUDE.md", text_of(2000));
    let report = audit(&ws);
    let expect = [
        "apps/web/CLAUDE.md: 501 tokens (WARNING, threshold: 500)",
        "libs/.claude/skills/a/SKILL.md: 301 tokens (WARNING, threshold: 300)",
    ];
    assert_eq!(messages(&report, AuditFindingKind::Size), expect);
    let nested: Vec<bool> = report.items.iter().map(|item| item.nested).collect();
    assert_eq!(nested, [false, true, true]);
    assert_eq!(
        (report.summary.nested_files, report.summary.nested_tokens),
        (2, 802)
    );
}

#[test]
fn a_small_workspace_has_no_issues() {
    let ws = TestWorkspace::files(
        "
        //- CLAUDE.md
        # Project
        Run `cargo test`.
        //- knowledge/README.md
        # Index
        ",
    );
    let report = audit(&ws);
    assert_eq!(
        report.worst_level(),
        Some(AuditLevel::Notice),
        "{:?}",
        report.findings
    );
    assert_eq!(report.summary.autoload_files, 1);
    assert_eq!(report.summary.knowledge_files, 1);
    assert_eq!(audit(&TestWorkspace::empty()).worst_level(), None);
}

#[test]
fn new_and_modified_skills_are_named_once() {
    let ws =
        TestWorkspace::files("//- .claude/skills/a/SKILL.md\n---\nname: a\ndescription: A\n---\n");
    let report = audit(&ws);
    assert_eq!(messages(&report, AuditFindingKind::FirstAudit).len(), 1);
    assert!(messages(&report, AuditFindingKind::New).is_empty());
    keep(&ws, &report);

    let report = audit(&ws);
    assert_eq!(report.findings, [], "nothing changed");
    assert!(report.state.is_none(), "so that nothing is written");

    ws.write(
        ".claude/skills/a/SKILL.md",
        "---\nname: a\ndescription: B\n---\n",
    );
    ws.write(
        ".codex/skills/b/SKILL.md",
        "---\nname: b\ndescription: B\n---\n",
    );
    ws.write("CLAUDE.md", "Not a skill.\n");
    let report = audit(&ws);
    let expect = [".claude/skills/a/SKILL.md: modified since the last audit"];
    assert_eq!(messages(&report, AuditFindingKind::Modified), expect);
    assert_eq!(
        messages(&report, AuditFindingKind::New),
        [".codex/skills/b/SKILL.md: new since the last audit"]
    );
    keep(&ws, &report);
    assert_eq!(audit(&ws).findings, []);

    // Line ends and trailing spaces are no modification.
    ws.write(
        ".claude/skills/a/SKILL.md",
        "---\r\nname: a\r\ndescription: B  \r\n---\r\n",
    );
    assert_eq!(audit(&ws).findings, []);

    ws.write(".memory-forge/audit.json", "garbage");
    assert_eq!(messages(&audit(&ws), AuditFindingKind::FirstAudit).len(), 1);
}

#[test]
fn knowledge_that_is_not_indexed_is_named() {
    let ws = TestWorkspace::files("//- knowledge/a.md\n# A\n//- knowledge/b.md\n# B\n");
    let expect = ["knowledge/: 2 files are not indexed; there is no index yet"];
    assert_eq!(messages(&audit(&ws), AuditFindingKind::NotIndexed), expect);

    let workspace = Workspace::open(ws.root()).expect("it is a folder");
    let mut opening = crate::knowledge::fresh::IndexOpening {
        now: "2026-03-01T09:00:00Z".parse().expect("a time"),
        wait: std::time::Duration::from_secs(5),
        force: false,
        progress: &mut |_, _| {},
    };
    ws.write("knowledge/bad.md", b"ok\n\xff\n");
    drop(crate::knowledge::fresh::open_fresh(&workspace, &mut opening).expect("an index"));
    ws.write("knowledge/c.md", "# C\n");
    ws.write("knowledge/a.md", "# A, edited\n");
    let report = audit(&ws);
    let found = messages(&report, AuditFindingKind::NotIndexed);
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(
        found[0].starts_with("knowledge/bad.md: not indexed: "),
        "{found:?}"
    );
    assert!(found[0].contains("line 2 is not UTF-8"), "{found:?}");
    assert_eq!(found[1], "knowledge/a.md: changed since it was indexed");
    assert_eq!(found[2], "knowledge/c.md: not indexed");
}

const BLOCK: &str = "Use the retry helper for every call to the payment provider.\n\
    Never call it twice with one idempotency key, and never from a background job.\n\n\
    - Timeouts are thirty seconds, and the third attempt is the last one.\n\
    - Log the request id, never the card number, and alert on the fifth failure.\n";

#[test]
fn repeated_text_is_found_and_says_who_pays() {
    let ws = TestWorkspace::empty();
    for name in ["CLAUDE.md", "AGENTS.md", ".github/copilot-instructions.md"] {
        ws.write(name, format!("# {name}\n\n{BLOCK}"));
    }
    let expect = "AGENTS.md and CLAUDE.md repeat 64 tokens (o200k) of \
        .github/copilot-instructions.md:3; Copilot pays this 3 times";
    for view in [AuditView::Plain, AuditView::Client(AgentClient::Copilot)] {
        assert_eq!(
            messages(&audit_as(&ws, view), AuditFindingKind::Repeated),
            [expect]
        );
    }
    assert!(
        messages(
            &audit_as(&ws, AuditView::Client(AgentClient::Claude)),
            AuditFindingKind::Repeated
        )
        .is_empty()
    );
}

#[test]
fn copies_that_are_never_loaded_together_are_no_repetition() {
    let skill = format!("---\nname: a\ndescription: A\n---\n{BLOCK}");
    let check = |paths: &[&str]| {
        let ws = TestWorkspace::empty();
        for path in paths {
            ws.write(path, &skill);
        }
        assert_eq!(
            messages(&audit(&ws), AuditFindingKind::Repeated),
            [""; 0],
            "{paths:?}"
        );
    };
    check(&[".claude/skills/a/SKILL.md", ".opencode/skill/a/SKILL.md"]);
    check(&["apps/a/CLAUDE.md", "apps/b/CLAUDE.md"]);
}

#[test]
fn knowledge_in_autoload_is_found() {
    let ws = TestWorkspace::files("//- CLAUDE.md\nSee @knowledge/b.md and this:\n");
    ws.write("AGENTS.md", format!("# Agents\n\n{BLOCK}"));
    ws.write(
        "knowledge/a.md",
        format!("---\ntitle: A\n---\n# A\n\n{BLOCK}"),
    );
    ws.write("knowledge/b.md", "# B\n");
    ws.write("knowledge/legacy/AGENTS.md", BLOCK);
    let report = audit(&ws);
    let expect = [
        "AGENTS.md:3 repeats 64 tokens (o200k) of knowledge/a.md:6",
        "knowledge/b.md: loaded at every start, imported by CLAUDE.md",
    ];
    assert_eq!(
        messages(&report, AuditFindingKind::RepeatsKnowledge),
        expect
    );
}

#[test]
fn secrets_and_hidden_text_are_critical_and_never_shown() {
    let secret = concat!("ghp_16C7e42F292c6912", "E7710c838347Ae178B4a");
    let ws = TestWorkspace::empty();
    ws.write(
        "CLAUDE.md",
        format!("# A\n\ntoken = \"{secret}\"\n\u{202e}hidden\n"),
    );
    let report = audit(&ws);
    let found: Vec<_> = report
        .findings_at(AuditLevel::Critical)
        .map(|f| (f.kind, f.line))
        .collect();
    assert_eq!(
        found,
        [
            (AuditFindingKind::Secret, Some(3)),
            (AuditFindingKind::Hidden, Some(4))
        ]
    );
    assert!(!format!("{report:?}").contains(&secret[4..]));
}

#[test]
#[cfg(unix)]
fn files_that_cannot_be_read_are_named_and_the_rest_is_counted() {
    let ws = TestWorkspace::files("//- CLAUDE.md\nfine\n");
    ws.write("AGENTS.md", b"\xff\xfe");
    std::os::unix::fs::symlink("/etc/hostname", ws.path("GEMINI.md")).expect("not there yet");
    let report = audit(&ws);
    let found = messages(&report, AuditFindingKind::Unreadable);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found[0].contains("AGENTS.md` line 1 is not UTF-8"),
        "{found:?}"
    );
    assert!(
        found[1].contains("`GEMINI.md` is a symlink that leads out"),
        "{found:?}"
    );
    assert_eq!(report.summary.autoload_files, 1);
}

#[test]
#[cfg(unix)]
fn a_file_with_two_names_counts_once() {
    let ws = TestWorkspace::files("//- CLAUDE.md\nfine\n");
    std::os::unix::fs::symlink("CLAUDE.md", ws.path("AGENTS.md")).expect("not there yet");
    let report = audit(&ws);
    assert_eq!(report.items.len(), 1);
    assert!(messages(&report, AuditFindingKind::Ignored).is_empty());
    assert_eq!(
        audit_as(&ws, AuditView::Client(AgentClient::Copilot))
            .items
            .len(),
        2
    );
}

#[test]
fn claude_code_reads_nothing_of_huge_files() {
    let ws = TestWorkspace::empty();
    ws.write("CLAUDE.md", "word ".repeat((4 << 20) / 5 + 1));
    let report = audit_as(&ws, AuditView::Client(AgentClient::Claude));
    assert_eq!(report.items[0].always, 0);
    assert_eq!(messages(&report, AuditFindingKind::Cut).len(), 1);
}

#[test]
fn codex_cuts_in_the_middle_of_a_file() {
    let check = |bytes: usize, cut: bool| {
        let ws = TestWorkspace::empty();
        ws.write("AGENTS.md", "a".repeat(bytes));
        let report = audit_as(&ws, AuditView::Client(AgentClient::Codex));
        assert_eq!(
            messages(&report, AuditFindingKind::Cut).len(),
            usize::from(cut),
            "{bytes}"
        );
        assert_eq!(report.items[0].part == "first 32,768 bytes", cut, "{bytes}");
    };
    check(32_768, false);
    check(32_769, true);
}

#[test]
fn codex_drops_the_nearer_file_when_the_outer_one_used_up_the_limit() {
    let ws = TestWorkspace::empty();
    ws.git_init();
    ws.write("AGENTS.md", "a".repeat(40_000));
    ws.write("sub/AGENTS.md", "near\n");
    ws.write("sub/knowledge/a.md", "# A\n");
    let workspace = Workspace::open(&ws.path("sub")).expect("it is a folder");
    let report = audit_workspace(
        &workspace,
        &options(AuditView::Client(AgentClient::Codex), &ws.home()),
    );
    let near = &report.items[0];
    assert_eq!((near.path.as_str(), near.always), ("AGENTS.md", 0));
    assert_eq!(near.part, "nothing: files above used up the limit");
    let above = &report.items[1];
    assert_eq!(
        (above.origin, above.part.as_str()),
        (FileOrigin::Above, "first 32,768 bytes")
    );
}

#[test]
fn claude_code_reads_the_folders_above() {
    let ws = TestWorkspace::files(
        "
        //- CLAUDE.md
        above
        //- sub/AGENTS.md
        not read
        ",
    );
    let workspace = Workspace::open(&ws.path("sub")).expect("it is a folder");
    let report = audit_workspace(
        &workspace,
        &options(AuditView::Client(AgentClient::Claude), &ws.home()),
    );
    let items: Vec<_> = report
        .items
        .iter()
        .map(|i| (i.origin, i.path.ends_with("ws/CLAUDE.md")))
        .collect();
    assert_eq!(items, [(FileOrigin::Above, true)]);
    assert_eq!(
        report.summary.autoload_tokens, 0,
        "it is not this project's"
    );
}

#[test]
fn a_persons_own_files_are_never_judged() {
    let ws = TestWorkspace::files("//- CLAUDE.md\nx\n");
    let own = ws.home().join(".claude");
    std::fs::create_dir_all(&own).expect("home is empty");
    std::fs::write(own.join("CLAUDE.md"), text_of(6000)).expect("a file");
    let report = audit_as(&ws, AuditView::Client(AgentClient::Claude));
    assert_eq!(report.summary.beyond_tokens, 6000);
    assert_eq!(report.summary.autoload_tokens, 2);
    assert!(
        report.worst_level() <= Some(AuditLevel::Notice),
        "{:?}",
        report.findings
    );
}

#[test]
fn automatic_memory_is_cut() {
    let ws = TestWorkspace::files("//- CLAUDE.md\nx\n");
    let slug: String = ws
        .root()
        .to_string_lossy()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let folder = ws.home().join(".claude/projects").join(slug).join("memory");
    std::fs::create_dir_all(&folder).expect("home is empty");
    let check = |text: String, whole: bool| {
        std::fs::write(folder.join("MEMORY.md"), text).expect("a file");
        let report = audit_as(&ws, AuditView::Client(AgentClient::Claude));
        let memory = report
            .items
            .iter()
            .find(|i| i.path.ends_with("MEMORY.md"))
            .expect("it is loaded");
        assert_eq!(memory.part == "whole file", whole, "{}", memory.part);
        assert_eq!(memory.origin, FileOrigin::User);
        memory.always
    };
    check("- line\n".repeat(200), true);
    let cut = check("- line\n".repeat(201), false);
    assert_eq!(cut, count_tokens(Tokenizer::O200k, &"- line\n".repeat(200)));
    check("é".repeat(24_999) + "\n", true);
    assert_eq!(
        check("é".repeat(25_000) + "\n", false),
        0,
        "no line end to cut at"
    );
}

#[test]
fn worktrees_share_the_memory_of_the_main_checkout() {
    let ws = TestWorkspace::files("//- CLAUDE.md\nx\n");
    ws.write(".git", "gitdir: /main/repo/.git/worktrees/w\n");
    let folder = ws.home().join(".claude/projects/-main-repo/memory");
    std::fs::create_dir_all(&folder).expect("home is empty");
    std::fs::write(folder.join("MEMORY.md"), "remember\n").expect("a file");
    let report = audit_as(&ws, AuditView::Client(AgentClient::Claude));
    assert!(
        report
            .items
            .iter()
            .any(|i| i.path.ends_with("-main-repo/memory/MEMORY.md"))
    );
}

#[test]
fn descriptions_are_cut() {
    let ws = TestWorkspace::empty();
    let long = "word ".repeat(400);
    for folder in [".claude", ".codex"] {
        let path = format!("{folder}/skills/a/SKILL.md");
        ws.write(&path, format!("---\nname: a\ndescription: {long}\n---\n"));
    }
    let always = |client| audit_as(&ws, AuditView::Client(client)).items[0].always;
    assert_eq!(
        always(AgentClient::Claude),
        count_tokens(Tokenizer::O200k, &format!("- a: {}…\n", &long[..1535]))
    );
    let line = format!("- a: {}… (file: r1/a/SKILL.md)\n", &long[..1023]);
    assert_eq!(
        always(AgentClient::Codex),
        count_tokens(Tokenizer::O200k, &line)
    );
    let expect = "has a description of 1,999 characters; clients take 1,024";
    let found = messages(&audit(&ws), AuditFindingKind::Skill);
    assert!(
        found.iter().all(|message| message.contains(expect)),
        "{found:?}"
    );
}

/// Paths of a client's files that cost something at start, with words for the
/// part that is loaded.
fn loaded_parts(ws: &TestWorkspace, client: AgentClient) -> Vec<String> {
    let report = audit_as(ws, AuditView::Client(client));
    let loaded = report.items.iter().filter(|item| item.always > 0);
    loaded
        .map(|item| format!("{}: {}", item.path, item.part))
        .collect()
}

#[test]
fn copilot_imports_a_file_for_each_file_that_names_it() {
    let ws = TestWorkspace::files(
        "
        //- AGENTS.md
        Agents read @docs/pier.md, please.
        //- CLAUDE.md
        The house reads @docs/pier.md and `@docs/quoted.md`.
        //- GEMINI.md
        Here @docs/crane.md is a word.
        //- docs/pier.md
        The pier.
        //- docs/quoted.md
        Quoted.
        //- docs/crane.md
        The crane.
    ",
    );
    assert_eq!(
        loaded_parts(&ws, AgentClient::Copilot),
        [
            "AGENTS.md: whole file",
            "docs/pier.md: whole file",
            "CLAUDE.md: whole file",
            "docs/pier.md: whole file",
            "GEMINI.md: whole file",
        ]
    );
    let report = audit_as(&ws, AuditView::Client(AgentClient::Copilot));
    assert_eq!(messages(&report, AuditFindingKind::Repeated), [""; 0]);
}

#[test]
fn copilot_loads_one_of_several_files_with_the_same_text() {
    let ws = TestWorkspace::empty();
    for name in ["AGENTS.md", "CLAUDE.md", "GEMINI.md"] {
        ws.write(name, format!("# Rules\n\n{BLOCK}"));
    }
    assert_eq!(
        loaded_parts(&ws, AgentClient::Copilot),
        ["AGENTS.md: whole file"]
    );
    let plain = messages(&audit(&ws), AuditFindingKind::Repeated);
    assert!(
        plain
            .iter()
            .all(|message| !message.contains("Copilot pays")),
        "{plain:?}"
    );
}

#[test]
fn copilot_loads_rules_and_agents_of_other_clients() {
    let ws = TestWorkspace::files(
        "
        //- .claude/agents/diver.md
        ---
        name: diver
        description: Dives.
        ---
        Body.
        //- .claude/commands/moor.md
        Moor the boat.
        //- .claude/rules/always.md
        Always.
        //- .claude/rules/scoped.md
        ---
        paths: [\"src/**\"]
        ---
        Only there.
        //- .github/instructions/all.instructions.md
        ---
        applyTo: \"**\"
        ---
        For all.
        //- .github/instructions/some.instructions.md
        ---
        applyTo: \"**/*.ts, **/*.js\"
        ---
        For some.
    ",
    );
    assert_eq!(
        loaded_parts(&ws, AgentClient::Copilot),
        [
            ".claude/agents/diver.md: name and description",
            ".claude/commands/moor.md: name and description",
            ".claude/rules/always.md: whole file",
            ".claude/rules/scoped.md: pattern and description",
            ".github/instructions/all.instructions.md: whole file",
            ".github/instructions/some.instructions.md: pattern and description",
        ]
    );
}

#[test]
fn copilot_names_the_skills_for_which_its_list_has_no_room() {
    let ws = TestWorkspace::empty();
    let about = "Reads the tide. ".repeat(15);
    for number in 100..200 {
        let path = format!(".agents/skills/tide-{number}/SKILL.md");
        let about = about.trim_end();
        ws.write(
            &path,
            format!("---\nname: tide-{number}\ndescription: {about}\n---\n"),
        );
    }
    let loaded = loaded_parts(&ws, AgentClient::Copilot);
    let whole = loaded
        .iter()
        .filter(|load| load.ends_with("name and description"));
    assert_eq!((loaded.len(), whole.count()), (100, 43));
}

#[test]
fn lists_of_skills_have_the_words_that_clients_put_around_them() {
    let ws = TestWorkspace::empty();
    let skill = "---\nname: tide\ndescription: Reads it.\n---\n";
    ws.write(".agents/skills/tide/SKILL.md", skill);
    let element = |place: &str, indent: &str| {
        format!(
            "{indent}<skill>\n{indent}  <name>tide</name>\n{indent}  \
             <description>Reads it.</description>\n{indent}  \
             <location>{place}</location>\n{indent}</skill>\n"
        )
    };
    let path = "/home/user/work/project/.agents/skills/tide/SKILL.md";
    for (client, expect) in [
        (AgentClient::Copilot, element("project", "")),
        (AgentClient::Gemini, element(path, "  ")),
        (AgentClient::OpenCode, element(path, "  ")),
    ] {
        let report = audit_as(&ws, AuditView::Client(client));
        let expect = count_tokens(Tokenizer::O200k, &expect);
        assert_eq!(report.items[0].always, expect, "{client:?}");
    }
}
