use super::*;

fn legacy() -> RelPath {
    RelPath::new("knowledge/legacy/CLAUDE.md").unwrap()
}

fn stub_of(text: &str, limit: usize) -> StubVerdict {
    let source = RelPath::new("CLAUDE.md").unwrap();
    make_stub(text, &source, &legacy(), limit)
}

/// What stays, without the lines that lead to the rest.
#[track_caller]
fn check(text: &str, expect: &str) {
    let document = document::parse_document(text);
    let stays = KeptLines::select_lines(&document, CommandExtent::Sections).render(&document);
    assert_eq!(stays, expect, "for {text:?}");
}

#[test]
fn what_must_stay() {
    check("# Title\n\nprose\n\nmore\n", "# Title\n");
    check("prose\n", "");
    check(
        "---\na: b\n---\n\n# T\n\nprose\n",
        "---\na: b\n---\n\n# T\n",
    );
    check(
        "# T\n\nprose\n\nSee @docs/a.md for it.\n\n- @b.md\n- c\n",
        "# T\n\nSee @docs/a.md for it.\n\n- @b.md\n",
    );
    check(
        "# T\n\n## Commands\n\n- `make`\n- do it\n\n### More\n\nx\n\n## Why\n\nprose\n",
        "# T\n\n## Commands\n\n- `make`\n- do it\n\n### More\n\nx\n",
    );
    check(
        "# T\n\na\n\nRun it:\n\n```sh\nmake test\n```\n\nb\n",
        "# T\n\nRun it:\n\n```sh\nmake test\n```\n",
    );
    check(
        "# T\n\n## Notes\n\na\n\n```\nnpm test\n```\n\n```rust\nfn a() {}\n```\n",
        "# T\n\n## Notes\n\n```\nnpm test\n```\n",
    );
    check("# T\n\na <!-- keep -->\nb\n", "# T\n\na <!-- keep -->\n");
    check(
        "a\n\n<!-- memory-forge:keep -->\nb\n\n\nc\n<!-- /memory-forge:keep -->\n\nd\n",
        "<!-- memory-forge:keep -->\nb\n\n\nc\n<!-- /memory-forge:keep -->\n",
    );
    check(
        "a\n\n<!-- memory-forge:begin -->\nb\n<!-- memory-forge:end -->\nc\n",
        "<!-- memory-forge:begin -->\nb\n<!-- memory-forge:end -->\n",
    );
    check(
        "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 | <!-- keep -->\n",
        "| a | b |\n|---|---|\n\n| 3 | 4 | <!-- keep -->\n",
    );
}

#[test]
fn where_the_wish_is_unclear_nothing_leaves() {
    check(
        "a\n\n<!-- memory-forge:keep -->\nb\n\nc\n",
        "<!-- memory-forge:keep -->\nb\n\nc\n",
    );
}

#[test]
fn marks_in_code_are_text() {
    check("a\n\n```html\n<!-- memory-forge:keep -->\n```\n\nb\n", "");
}

#[test]
fn line_ends_and_the_mark_of_the_encoding_stay() {
    check(
        "\u{feff}# T\r\n\r\nprose\r\n\r\n## Tests\r\n\r\nx\r\n",
        "\u{feff}# T\r\n\r\n## Tests\r\n\r\nx\r\n",
    );
    check("\u{feff}prose\n\n@a.md\n", "\u{feff}@a.md\n");
}

#[test]
fn the_title_of_a_file_is_not_a_section_about_commands() {
    check(
        "# Build tool\n\nprose\n\n## Why\n\nprose\n",
        "# Build tool\n",
    );
    check(
        "# Why\n\nprose\n\n# Build\n\nmake\n",
        "# Why\n\n# Build\n\nmake\n",
    );
}

#[test]
fn the_stub_leads_to_the_rest() {
    let text = format!("# T\n\n{}\n## Tests\n\nrun `make`\n", "word ".repeat(600));
    let StubVerdict::Stub {
        text: stub_text,
        tokens,
    } = stub_of(&text, 500)
    else {
        panic!("no stub")
    };
    assert_eq!(
        stub_text,
        "# T\n\n<!-- memory-forge:stub:begin -->\n\
         What this project knows is in `knowledge/` and is not loaded automatically.\n\
         Search it before you change something: `memory-forge search \"<question>\"`.\n\
         Without the tool, begin with `knowledge/README.md`.\n\
         The former text of this file is in `knowledge/legacy/CLAUDE.md`.\n\
         <!-- memory-forge:stub:end -->\n\n## Tests\n\nrun `make`\n"
    );
    assert_eq!(tokens, count_tokens(Tokenizer::O200k, &stub_text));
    assert!(tokens < 500);
    assert_eq!(stub_of(&stub_text, 10), StubVerdict::NothingToMove);
}

/// D27: "two marked blocks with two names; neither removes the other".
#[test]
fn d27_the_lines_of_setup_stay_beside_ours() {
    let block = "<!-- memory-forge:begin -->\nmine\n<!-- memory-forge:end -->\n";
    let text = format!("{block}\n{}\n", "word ".repeat(600));
    let StubVerdict::Stub { text, .. } = stub_of(&text, 500) else {
        panic!("no stub")
    };
    assert!(text.ends_with(block), "{text}");
    assert_eq!(text.matches(STUB_BEGIN_MARK).count(), 1, "{text}");
    assert_eq!(text.matches(SETUP_BEGIN_MARK).count(), 1, "{text}");
}

#[test]
fn long_command_sections_shrink_to_their_commands() {
    let text = format!(
        "# T\n\n## Commands\n\n{}\n\n- `make` builds\n",
        "word ".repeat(600)
    );
    let StubVerdict::Stub { text, .. } = stub_of(&text, 500) else {
        panic!("no stub")
    };
    assert!(text.ends_with("## Commands\n\n- `make` builds\n"), "{text}");
}

/// D26: "Rules stay: sentences that order or forbid (always, never, must, do
/// not, only, required …), commands, imports, and lists made of them."
#[test]
fn d26_rules_stay() {
    check(
        "# T\n\n## Rules\n\n- be nice\n- NEVER push\n  to main\n- sleep\n\nprose\n",
        "# T\n\n## Rules\n\n- NEVER push\n  to main\n",
    );
    check(
        "# T\n\nIt was rewritten in spring.\n\nMoney is in cents and\nmust not be a float.\n",
        "# T\n\nMoney is in cents and\nmust not be a float.\n",
    );
    check(
        "# T\n\nOnly Ada deploys.\n\nA token is required.\n\nPrices grew in May.\n",
        "# T\n\nOnly Ada deploys.\n\nA token is required.\n",
    );
    // A list made of orders stays whole, with the line that introduces it.
    check(
        "# T\n\nIn code:\n\n- Use tabs.\n- Two blank lines.\n- Run `make`.\n\nAda likes it.\n",
        "# T\n\nIn code:\n\n- Use tabs.\n- Two blank lines.\n- Run `make`.\n",
    );
    // A long explanation may say `only`; `never` always counts.
    let long = "It was only slow because the cache had been cold for weeks. ".repeat(6);
    check(&format!("# T\n\n{long}\n"), "# T\n");
    // Of a long paragraph the sentences stay that order something.
    let mixed = format!("{long}Never call it twice. {long}");
    check(
        &format!("# T\n\n{mixed}\n\nend\n"),
        "# T\n\nNever call it twice.\n",
    );
    let orders = "Write small functions. Name a test after what it shows. ".repeat(6);
    check(&format!("# T\n\n{orders}\n"), &format!("# T\n\n{orders}\n"));
}

/// D26: "where 500 tokens cannot be reached it moves what it can and states
/// the rest".
#[test]
fn d26_what_can_move_moves_although_rules_alone_are_too_much() {
    let rules = "- NEVER do this or that\n".repeat(100);
    let text = format!(
        "# T\n\n## Rules\n\n{rules}\n## Why\n\n{}\n",
        "word ".repeat(600)
    );
    let StubVerdict::Stub { text: stub, tokens } = stub_of(&text, 500) else {
        panic!("no stub")
    };
    assert!(
        tokens > 500 && stub.contains(&rules) && !stub.contains("word"),
        "{stub}"
    );
    let again = stub_of(&stub, 500);
    assert!(!matches!(again, StubVerdict::Stub { .. }), "{again:?}");
}

/// "An import that it makes redundant is written as a path."
#[test]
fn an_import_of_something_that_a_search_finds_becomes_a_path() {
    let text = format!(
        "# T\n\nSee @knowledge/refunds.md and @docs/style.md.\n\n{}\n",
        "word ".repeat(600)
    );
    let StubVerdict::Stub { text: stub, .. } = stub_of(&text, 500) else {
        panic!("no stub")
    };
    assert!(
        stub.contains("See `knowledge/refunds.md` and @docs/style.md."),
        "{stub}"
    );
    let nested = RelPath::new("packages/a/CLAUDE.md").unwrap();
    let text = text.replace("@knowledge", "@../../knowledge");
    let StubVerdict::Stub { text: below, .. } = super::make_stub(&text, &nested, &legacy(), 500)
    else {
        panic!("no stub")
    };
    assert!(below.contains("See `knowledge/refunds.md` and"), "{below}");
}

#[test]
fn a_skill_keeps_its_rules_and_every_line_is_in_one_of_its_parts() {
    let why = "The old parser lost text when a fence was left open. ".repeat(60);
    let text = format!(
        "---\nname: a\ndescription: b\n---\n\n# A\n\nNever guess.\n\n## Background\n\n{why}\n\n\
         ```rust\nfn main() {{}}\n```\n\n## Steps\n\n1. Run `make`.\n2. Read the report.\n\n```sh\nmake\n```\n"
    );
    let parts = split_skill(&text, "references/details.md", 300).unwrap();
    assert_eq!(
        parts.core,
        "---\nname: a\ndescription: b\n---\n\n# A\n\n\
         Explanations are in `references/details.md`; read it when you need them. <!-- keep -->\n\n\
         Never guess.\n\n## Steps\n\n1. Run `make`.\n2. Read the report.\n\n```sh\nmake\n```\n"
    );
    assert_eq!(
        parts.moved,
        format!("# A\n\n## Background\n\n{why}\n\n```rust\nfn main() {{}}\n```\n")
    );
    assert!(parts.tokens <= 300);
    for line in text.lines() {
        let there = parts.core.contains(line) || parts.moved.contains(line);
        assert!(there, "{line}");
    }
}

#[test]
fn too_much_that_must_stay_is_said() {
    let text = format!(
        "# T\n\n<!-- memory-forge:keep -->\n{}\n<!-- /memory-forge:keep -->\n\nx\n{}",
        "word ".repeat(600),
        "internationalisation ".repeat(25)
    );
    assert!(matches!(stub_of(&text, 500), StubVerdict::TooMuchMustStay { tokens } if tokens > 600));
}
