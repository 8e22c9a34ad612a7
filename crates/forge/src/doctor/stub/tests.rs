use super::*;

fn legacy() -> RelPath {
    RelPath::new("knowledge/legacy/CLAUDE.md").unwrap()
}

/// What stays, without the lines that lead to the rest.
#[track_caller]
fn check(text: &str, expect: &str) {
    let document = document::parse(text);
    let stays = Stays::of(&document, Extent::WithRules).render(&document);
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
    let Verdict::Stub {
        text: stub_text,
        tokens,
    } = stub(&text, &legacy(), 500)
    else {
        panic!("no stub")
    };
    assert_eq!(
        stub_text,
        "# T\n\n<!-- memory-forge:begin -->\n\
         What this project knows is in `knowledge/` and is not loaded by itself.\n\
         Search it before you change something: `memory-forge search \"<question>\"`.\n\
         Without the tool, begin with `knowledge/README.md`.\n\
         The former text of this file is in `knowledge/legacy/CLAUDE.md`.\n\
         <!-- memory-forge:end -->\n\n## Tests\n\nrun `make`\n"
    );
    assert_eq!(tokens, Tokenizer::O200k.count(&stub_text));
    assert!(tokens < 500);
    assert_eq!(stub(&stub_text, &legacy(), 10), Verdict::NothingToMove);
}

#[test]
fn a_block_that_is_there_stays_the_only_one() {
    let block = "<!-- memory-forge:begin -->\nmine\n<!-- memory-forge:end -->\n";
    let text = format!("{block}\n{}\n", "word ".repeat(600));
    let Verdict::Stub { text, .. } = stub(&text, &legacy(), 500) else {
        panic!("no stub")
    };
    assert_eq!(text.matches(BEGIN).count(), 1);
    assert!(text.ends_with(block), "{text}");
    assert!(text.contains("<!-- memory-forge:keep -->"), "{text}");
}

#[test]
fn long_command_sections_shrink_to_their_commands() {
    let text = format!(
        "# T\n\n## Commands\n\n{}\n\n- `make` builds\n",
        "word ".repeat(600)
    );
    let Verdict::Stub { text, .. } = stub(&text, &legacy(), 500) else {
        panic!("no stub")
    };
    assert!(text.ends_with("## Commands\n\n- `make` builds\n"), "{text}");
}

#[test]
fn rules_in_capitals_stay_while_there_is_room() {
    check(
        "# T\n\n## Rules\n\n- be nice\n- NEVER push\n  to main\n- sleep\n\nprose\n",
        "# T\n\n## Rules\n\n- NEVER push\n  to main\n",
    );
    let rules = "- NEVER do this or that\n".repeat(100);
    let text = format!("# T\n\n## Commands\n\nrun `make`\n\n## Rules\n\n{rules}");
    let Verdict::Stub { text, .. } = stub(&text, &legacy(), 500) else {
        panic!("no stub")
    };
    assert!(text.ends_with("## Commands\n\nrun `make`\n"), "{text}");
}

#[test]
fn too_much_that_must_stay_is_said() {
    let text = format!(
        "# T\n\n<!-- memory-forge:keep -->\n{}\n<!-- /memory-forge:keep -->\n\nx\n{}",
        "word ".repeat(600),
        "y ".repeat(400)
    );
    assert!(
        matches!(stub(&text, &legacy(), 500), Verdict::TooMuchMustStay { tokens } if tokens > 600)
    );
}
