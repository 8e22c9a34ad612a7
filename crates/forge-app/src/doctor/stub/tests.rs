use super::*;

fn legacy() -> RelPath {
    RelPath::new("knowledge/legacy/CLAUDE.md").unwrap()
}

fn stub_of(text: &str, limit: usize) -> Result<FileParts, StubRefusal> {
    let source = RelPath::new("CLAUDE.md").unwrap();
    make_stub(text, &source, &legacy(), limit, &SectionChoices::new())
}

fn skill_parts(text: &str, limit: usize) -> FileParts {
    split_skill(text, "references/details.md", limit, &SectionChoices::new()).unwrap()
}

/// What stays, without the lines that lead to the rest.
#[track_caller]
fn check(text: &str, expect: &str) {
    let document = document::parse_document(text);
    // Text that is too short for a line that leads to it would stay.
    let choices = SectionChoices::new();
    let mut stays = KeptLines::of(&document, CommandExtent::Sections, &choices, "x", 0);
    stays.pointers.clear();
    let stays = stays.render(&document);
    assert_eq!(stays, expect, "for {text:?}");
}

#[test]
fn what_must_stay() {
    check("# Title\n\n## Why\n\nprose\n\nmore\n", "# Title\n");
    check(
        "---\na: b\n---\n\n# T\n\n## Why\n\nprose\n",
        "---\na: b\n---\n\n# T\n",
    );
    check(
        "# T\n\n## A\n\nprose\n\nSee @docs/a.md for it.\n\n- @b.md\n- c\n",
        "# T\n\n## A\n\nSee @docs/a.md for it.\n\n- @b.md\n",
    );
    check(
        "# T\n\n## Commands\n\n- `make`\n- do it\n\n### More\n\nx\n\n## Why\n\nprose\n",
        "# T\n\n## Commands\n\n- `make`\n- do it\n\n### More\n\nx\n",
    );
    check(
        "# T\n\n## A\n\na\n\nRun it:\n\n```sh\nmake test\n```\n\nb\n",
        "# T\n\n## A\n\nRun it:\n\n```sh\nmake test\n```\n",
    );
    check(
        "# T\n\n## Data\n\na\n\n```\nnpm test\n```\n\n```rust\nfn a() {}\n```\n",
        "# T\n\n## Data\n\n```\nnpm test\n```\n",
    );
    check(
        "# T\n\n## A\n\na <!-- keep -->\nb\n",
        "# T\n\n## A\n\na <!-- keep -->\n",
    );
    check(
        "## A\n\na\n\n<!-- memory-forge:keep -->\nb\n\n\nc\n<!-- /memory-forge:keep -->\n\nd\n",
        "## A\n\n<!-- memory-forge:keep -->\nb\n\n\nc\n<!-- /memory-forge:keep -->\n",
    );
    check(
        "## A\n\na\n\n<!-- memory-forge:begin -->\nb\n<!-- memory-forge:end -->\nc\n",
        "## A\n\n<!-- memory-forge:begin -->\nb\n<!-- memory-forge:end -->\n",
    );
    check(
        "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 | <!-- keep -->\n",
        "| a | b |\n|---|---|\n| 3 | 4 | <!-- keep -->\n",
    );
}

/// A file that still reads as a whole begins with what it is about.
#[test]
fn the_introduction_stays() {
    check(
        "# T\n\nA tool for shells.\n\nIt was slow once.\n",
        "# T\n\nA tool for shells.\n",
    );
    check("# T\n\n## Why\n\nA tool for shells.\n", "# T\n");
}

#[test]
fn where_the_wish_is_unclear_nothing_leaves() {
    check(
        "## A\n\na\n\n<!-- memory-forge:keep -->\nb\n\nc\n",
        "## A\n\n<!-- memory-forge:keep -->\nb\n\nc\n",
    );
}

#[test]
fn marks_in_code_are_text() {
    check(
        "# T\n\n## A\n\na\n\n```html\n<!-- memory-forge:keep -->\n```\n\nb\n",
        "# T\n",
    );
}

/// What has to be run before work counts as done is written as plain pairs.
#[test]
fn what_is_to_be_verified_stays() {
    let checks = "## Verification\n\n- `web/**`: the linter plus the tests of that folder.\n\
                  - Schema changes: the generator, and one test for each reader.\n";
    check(
        &format!("# T\n\n{checks}\n## Why\n\nprose\n"),
        &format!("# T\n\n{checks}"),
    );
}

/// Commands stay, and many are in lists below a heading of another kind.
#[test]
fn commands_in_lists_stay() {
    let modules = "## Modules\n\n- They are in `modules/`.\n- The seals came later.\n- The otters \
                   came first.\n- Tests: `make otter-test` or `make seal-test`\n";
    check(
        &format!("# T\n\n{modules}\nThey began as one.\n"),
        "# T\n\n## Modules\n\n- Tests: `make otter-test` or `make seal-test`\n",
    );
    check(
        "# T\n\n## Why\n\nThe list comes from `git ls-files`, which was fast enough.\n",
        "# T\n",
    );
}

/// A blank line in an item separates its list from the paragraph behind it.
#[test]
fn blank_lines_between_lines_that_stay_are_left_alone() {
    let steps = "1. **Verify.** Always run in this order:\n   - `make build`\n   - `make test`\n\n   \
                 Never push before failures are fixed.\n2. Never force a push.\n";
    check(
        &format!("# T\n\n## A\n\nprose\n\n{steps}\nmore\n"),
        &format!("# T\n\n## A\n\n{steps}"),
    );
}

#[test]
fn a_label_has_no_space_where_a_mark_was() {
    for (text, label) in [
        (
            "- This is the **Otter SDK**, a kit (`docs/`)",
            "This is the Otter SDK, a kit (docs/)",
        ),
        ("See [the page](a.md), `b.md`.", "See the page, b.md"),
        ("Read @docs/a.md first", "Read docs/a.md first"),
    ] {
        assert_eq!(short_label(text), label);
    }
}

#[test]
fn line_ends_and_the_mark_of_the_encoding_stay() {
    check(
        "\u{feff}# T\r\n\r\n## Why\r\n\r\nprose\r\n\r\n## Tests\r\n\r\nx\r\n",
        "\u{feff}# T\r\n\r\n## Tests\r\n\r\nx\r\n",
    );
    check(
        "\u{feff}## A\n\nprose\n\n@a.md\n",
        "\u{feff}## A\n\n@a.md\n",
    );
}

#[test]
fn the_title_of_a_file_is_not_a_section_about_commands() {
    check("# Build tool\n\n## Why\n\nprose\n", "# Build tool\n");
    check(
        "# Why\n\n## A\n\nprose\n\n# Build\n\nmake\n",
        "# Why\n\n# Build\n\nmake\n",
    );
}

#[test]
fn where_something_was_a_line_says_what_and_where() {
    let why = "The old parser lost text when a fence was left open. ".repeat(12);
    let text = format!(
        "# T\n\n## Rules\n\n- Never push.\n\n## Architecture\n\n{why}\n\n### Flow\n\n{why}\n\n\
         ## Files\n\n{why}\n\n## Style\n\nUse tabs.\n\n## Server\n\nNever stop it.\n\n{why}\n\n\
         ```rust\nfn main() {{}}\n```\n"
    );
    let parts = stub_of(&text, 500).unwrap();
    let (_, rest) = parts
        .stays
        .split_once("<!-- memory-forge:stub:end -->\n")
        .unwrap();
    assert_eq!(
        rest,
        "\n## Rules\n\n- Never push.\n\n\
         > Moved to `knowledge/legacy/CLAUDE.md`: Architecture; Files\n\n\
         ## Style\n\nUse tabs.\n\n## Server\n\nNever stop it.\n\n\
         > Moved to `knowledge/legacy/CLAUDE.md`: “The old parser lost text when a fence…”; rust example\n"
    );
    // Word for word, under its headings.
    assert_eq!(
        parts.moved,
        format!(
            "# T\n\n## Architecture\n\n{why}\n\n### Flow\n\n{why}\n\n## Files\n\n{why}\n\n\
             ## Server\n\n{why}\n\n```rust\nfn main() {{}}\n```\n"
        )
    );
}

/// "On a terminal a person … can change it before anything is written."
#[test]
fn a_person_chooses_what_becomes_of_a_section() {
    let why = "The old parser lost text when a fence was left open. ".repeat(12);
    let text = format!(
        "# T\n\n## Rules\n\n- Never push.\n- @docs/a.md\n\n## Design\n\n{why}\n\n## Files\n\n{why}\n"
    );
    let source = RelPath::new("CLAUDE.md").unwrap();
    let plain = stub_of(&text, 100).unwrap();
    let number = |title: &str| {
        let mut sections = plain.sections.iter();
        sections.find(|it| it.title == title).unwrap().number
    };
    let choices = SectionChoices::from([
        (number("Rules"), SectionChoice::Move),
        (number("Design"), SectionChoice::Keep),
    ]);
    let parts = make_stub(&text, &source, &legacy(), 100, &choices).unwrap();
    assert!(parts.stays.contains(&why), "{}", parts.stays);
    assert!(!parts.stays.contains("- Never push"), "{}", parts.stays);
    assert!(parts.stays.contains("- @docs/a.md"), "imports always stay");
    assert!(parts.moved.contains("- Never push."), "{}", parts.moved);
    let files = |parts: &FileParts| {
        let section = parts.sections.iter().find(|it| it.title == "Files");
        section.map(|it| (it.tokens, it.moved > 0))
    };
    assert_eq!(files(&plain), files(&parts));
}

#[test]
fn the_stub_leads_to_the_rest() {
    let text = format!(
        "# T\n\n## Why\n\n{}\n## Tests\n\nrun `make`\n",
        "word ".repeat(600)
    );
    let parts = stub_of(&text, 500).unwrap();
    assert_eq!(
        parts.stays,
        "# T\n\n<!-- memory-forge:stub:begin -->\n\
         More about this project is in `knowledge/`, which is not loaded automatically. Search it\n\
         before you change something: `memory-forge search \"<question>\"`, or begin with\n\
         `knowledge/README.md`.\n\
         <!-- memory-forge:stub:end -->\n\n\
         > Moved to `knowledge/legacy/CLAUDE.md`: Why\n\n## Tests\n\nrun `make`\n"
    );
    assert_eq!(parts.tokens, count_tokens(Tokenizer::O200k, &parts.stays));
    assert!(parts.tokens < 500);
    assert_eq!(stub_of(&parts.stays, 10), Err(StubRefusal::NothingToMove));
}

/// D27: "two marked blocks with two names; neither removes the other". What
/// is shortened with the lines of `setup` in it is what is shortened without
/// them, with the lines added.
#[test]
fn d27_the_lines_of_setup_stay_beside_ours() {
    use forge_clients::setup::stub::{StubLines, with_stub, without_stub};
    let why = "word ".repeat(600);
    for text in [
        format!("# T\n\n## Rules\n\nNever push.\n\n## Why\n\n{why}"),
        format!("# T\n\n## Why\n\n{why}\n\n## Rules\n\nNever push."),
        format!("# T\r\n\r\n## Why\r\n\r\n{why}\r\n\r\n## Rules\r\n\r\nNever push.\r\n"),
        format!("## Why\n\n{why}\n\n\n"),
    ] {
        let alone = stub_of(&text, 500).unwrap().stays;
        let both = with_stub(Some(&text), StubLines::Usual).unwrap();
        let both = stub_of(&both, 500).unwrap().stays;
        assert_eq!(both, with_stub(Some(&alone), StubLines::Usual).unwrap());
        assert_eq!(without_stub(&both), Ok(Some(alone)));
        assert_eq!(both.matches(STUB_BEGIN_MARK).count(), 1, "{both}");
        assert_eq!(both.matches(SETUP_BEGIN_MARK).count(), 1, "{both}");
    }
}

#[test]
fn long_command_sections_shrink_to_their_commands() {
    let text = format!(
        "# T\n\n## Commands\n\n{}\n\n- `make` builds\n",
        "word ".repeat(600)
    );
    let text = stub_of(&text, 500).unwrap().stays;
    assert!(text.contains("## Commands\n\n> Moved to"), "{text}");
    assert!(text.ends_with("\n\n- `make` builds\n"), "{text}");
}

/// D26: "Rules stay: sentences that order or forbid (always, never, must, do
/// not, only, required …), commands, imports, and lists made of them."
#[test]
fn d26_rules_stay() {
    check(
        "# T\n\n## Data\n\n- it is nice\n- NEVER push\n  to main\n- sleeping\n\nprose\n",
        "# T\n\n## Data\n\n- NEVER push\n  to main\n",
    );
    check(
        "# T\n\n## A\n\nIt was rewritten in spring.\n\nMoney is in cents and\nmust not be a float.\n",
        "# T\n\n## A\n\nMoney is in cents and\nmust not be a float.\n",
    );
    check(
        "# T\n\n## A\n\nOnly Ada deploys.\n\nA token is required.\n\nPrices grew in May.\n",
        "# T\n\n## A\n\nOnly Ada deploys.\n\nA token is required.\n",
    );
    // A list made of orders stays whole, with the line that introduces it.
    check(
        "# T\n\n## A\n\nIn code:\n\n- Use tabs.\n- Two blank lines.\n- Run `make`.\n\nAda likes it.\n",
        "# T\n\n## A\n\nIn code:\n\n- Use tabs.\n- Two blank lines.\n- Run `make`.\n",
    );
    // What a rule refers to stays with it.
    check(
        "# T\n\n## Data\n\nThese are non-negotiable:\n\n- Cents\n- Euros\n\nAda likes it.\n",
        "# T\n\n## Data\n\nThese are non-negotiable:\n\n- Cents\n- Euros\n",
    );
    check(
        "# T\n\n## A\n\n- If it fails, run it again:\n  - once\n  - with a log\n- Ada\n- Bob\n",
        "# T\n\n## A\n\n- If it fails, run it again:\n  - once\n  - with a log\n",
    );
    check(
        "# T\n\n## A\n\nCommit messages must look like this:\n\n```\ntype: what\n```\n\nprose\n",
        "# T\n\n## A\n\nCommit messages must look like this:\n\n```\ntype: what\n```\n",
    );
    // An item that stays keeps the item around it.
    check(
        "# T\n\n## Files\n\n- `api/` the server\n  - `v1/` old\n  - never edit `gen/`\n- `cli/` the tool\n",
        "# T\n\n## Files\n\n- `api/` the server\n  - never edit `gen/`\n",
    );
    // Under such a heading everything short is a rule.
    check(
        "# T\n\n## Conventions\n\n- snake_case for functions\n- 4 spaces\n",
        "# T\n\n## Conventions\n\n- snake_case for functions\n- 4 spaces\n",
    );
    // A line that begins with a name in code is text.
    check(
        "# T\n\n## A\n\n`gate` must never run twice.\n\n`core` holds parsers.\n",
        "# T\n\n## A\n\n`gate` must never run twice.\n",
    );
    // A long explanation may say `only`; `never` always counts.
    let long =
        "It was only slow because the cache had been cold for weeks since nobody had asked it \
                anything at all in the meantime, as we learned. "
            .repeat(6);
    check(&format!("# T\n\n## A\n\n{long}\n"), "# T\n");
    let mixed = format!("{long}Never call it twice. {long}");
    check(
        &format!("# T\n\n## A\n\n{mixed}\n\nAda likes it.\n"),
        &format!("# T\n\n## A\n\n{mixed}\n"),
    );
}

/// Steps of which some are missing are no way to do something.
#[test]
fn numbered_steps_stay_together() {
    let steps = "# T\n\n## Server\n\n1. Open the ledger.\n2. The totals appear.\n3. Ada looks at them.\n4. Never close it by hand.\n";
    check(steps, steps);
    // Also with what is below each of them, and in a description.
    let below = "# T\n\n## Structure\n\n1. The parser\n   - in Rust\n2. The ledger\n   - never in memory\n   - one file\n3. The page\n";
    check(below, below);
    // A paragraph between two steps does not end the list.
    check(
        "# T\n\n## Server\n\n1. Never stop it.\n\nIt is old.\n\n2. The totals appear.\n",
        "# T\n\n## Server\n\n1. Never stop it.\n\n2. The totals appear.\n",
    );
    // None of which is a rule, they move.
    check(
        "# T\n\n## Server\n\n1. The parser\n2. The ledger, not the page\n3. The printer\n",
        "# T\n",
    );
    // Numbers that begin again are another list.
    check(
        "# T\n\n## Server\n\n1. Never stop it.\n2. The totals appear.\n\nBooks\n\n1. The ledger\n2. The journal\n",
        "# T\n\n## Server\n\n1. Never stop it.\n2. The totals appear.\n",
    );
}

#[test]
fn steps_stay_together_where_only_commands_stay() {
    let text = format!(
        "# T\n\n## Commands\n\n{}\n\n1. Start the\n   server\n2. Enter `make`\n   and wait\n3. Look at the page\n",
        "word ".repeat(600)
    );
    let text = stub_of(&text, 500).unwrap().stays;
    let steps = "\n\n1. Start the\n   server\n2. Enter `make`\n   and wait\n3. Look at the page\n";
    assert!(text.ends_with(steps), "{text}");
}

/// "Step 2" without "Step 1" is as unclear in headings as in a list.
#[test]
fn the_headings_of_steps_stay_together() {
    check(
        "# T\n\n## Step 1: Open\n\nIt was slow.\n\n## Step 2: Count\n\nNever stop.\n\n## Server\n\nIt is old.\n\n### Phase 1\n\nIt was new.\n",
        "# T\n\n## Step 1: Open\n\n## Step 2: Count\n\nNever stop.\n",
    );
}

#[test]
fn a_list_half_of_which_are_commands_stays_whole() {
    let text = format!(
        "# T\n\n## Commands\n\n{}\n\n- Builds: `make`\n- Place: the north\n- Pages: `make pages`\n- Ada\n",
        "word ".repeat(600)
    );
    let text = stub_of(&text, 500).unwrap().stays;
    let list = "\n\n- Builds: `make`\n- Place: the north\n- Pages: `make pages`\n- Ada\n";
    assert!(text.ends_with(list), "{text}");
}

/// What is left of a list is either the list or a rule that reads alone.
#[test]
fn a_list_stays_whole_or_leaves_only_rules_that_read_alone() {
    let half = "# T\n\n## Server\n\nOf the ledger:\n\n- Never edit it.\n- Totals are in cents.\n- It must be open.\n- Ada wrote it.\n";
    check(half, half);
    // What introduces it says what it is about.
    let introduced = "# T\n\n## Server\n\nOf the ledger:\n\n- Never edit it.\n- Totals are in cents.\n- Ada wrote it.\n";
    check(introduced, introduced);
    check(
        "# T\n\n## Server\n\n- Never edit the ledger.\n- Totals are in cents.\n- Ada wrote it.\n",
        "# T\n\n## Server\n\n- Never edit the ledger.\n",
    );
    let torn =
        "# T\n\n## Server\n\n- The journal is a file.\n- This must stay so.\n- Ada wrote it.\n";
    check(torn, torn);
    // A description that a hint of a rule is in goes with its list.
    check(
        "# T\n\n## Server\n\n- A ledger, not in memory\n- A page\n- A printer\n",
        "# T\n",
    );
}

#[test]
fn what_introduces_a_list_keeps_it() {
    for introduction in [
        "Before ANY of these operations:",
        "**Before any of these operations:**",
        "It is fast. When one of these happens:",
        "These are non-negotiable:",
    ] {
        for section in ["Server", "Structure"] {
            let text =
                format!("# T\n\n## {section}\n\n{introduction}\n\n- a migration\n- a new region\n");
            check(&text, &text);
        }
    }
    // A file that begins with a list says what it is about with it.
    let about = "# T\n\nA tool for:\n\n- shells\n- pages\n";
    check(about, about);
    check(
        "# T\n\n## Server\n\nThere are three:\n\n- north\n- south\n- west\n",
        "# T\n",
    );
}

#[test]
fn descriptions_move() {
    // Verbs that are nouns as well begin descriptions.
    check(
        "# T\n\n## Server\n\n- **V1**: Record store abstraction\n- Query engine\n- Test fixtures\n",
        "# T\n",
    );
    check(
        "# T\n\n## Server\n\n- Record the decision\n- Query engine\n- Test fixtures\n",
        "# T\n\n## Server\n\n- Record the decision\n",
    );
    // Rows without the others are no table.
    check(
        "# T\n\n## API\n\n| Call | What |\n|---|---|\n| `a` | Delete a task |\n| `b` | Tasks |\n| `c` | Users |\n",
        "# T\n",
    );
    let rules = "# T\n\n## API\n\n| Task | Read this |\n|---|---|\n| a | b |\n| c | d |\n";
    check(rules, rules);
    check(
        "# T\n\n## Project structure\n\n```\nsrc/\n├── a.rs  # never empty\n```\n\n- `src/`: Run loop\n",
        "# T\n",
    );
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
    let parts = stub_of(&text, 500).unwrap();
    assert!(
        parts.tokens > 500 && parts.stays.contains(&rules) && !parts.stays.contains("word"),
        "{}",
        parts.stays
    );
    assert!(stub_of(&parts.stays, 500).is_err());
}

/// "An import that it makes redundant is written as a path."
#[test]
fn an_import_of_something_that_a_search_finds_becomes_a_path() {
    let text = format!(
        "# T\n\nSee @knowledge/refunds.md and @docs/style.md.\n\n## Why\n\n{}\n",
        "word ".repeat(600)
    );
    let stub = stub_of(&text, 500).unwrap().stays;
    assert!(
        stub.contains("See `knowledge/refunds.md` and @docs/style.md."),
        "{stub}"
    );
    let nested = RelPath::new("packages/a/CLAUDE.md").unwrap();
    let text = text.replace("@knowledge", "@../../knowledge");
    let choices = SectionChoices::new();
    let parts = super::make_stub(&text, &nested, &legacy(), 500, &choices);
    let below = parts.unwrap().stays;
    assert!(below.contains("See `knowledge/refunds.md` and"), "{below}");
}

#[test]
fn a_skill_keeps_its_rules_and_every_line_is_in_one_of_its_parts() {
    let why = "The old parser lost text when a fence was left open. ".repeat(60);
    let text = format!(
        "---\nname: a\ndescription: b\n---\n\n# A\n\nNever guess.\n\n## Background\n\n{why}\n\n\
         ```rust\nfn main() {{}}\n```\n\n## Steps\n\n1. Run `make`.\n2. Read the report.\n\n```sh\nmake\n```\n"
    );
    let parts = skill_parts(&text, 300);
    assert_eq!(
        parts.stays,
        "---\nname: a\ndescription: b\n---\n\n# A\n\n\
         Never guess.\n\n> Moved to `references/details.md`: Background\n\n## Steps\n\n1. Run `make`.\n2. Read the report.\n\n```sh\nmake\n```\n"
    );
    assert_eq!(
        parts.moved,
        format!("# A\n\n## Background\n\n{why}\n\n```rust\nfn main() {{}}\n```\n")
    );
    assert!(parts.tokens <= 300);
    for line in text.lines() {
        let there = parts.stays.contains(line) || parts.moved.contains(line);
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
    assert!(matches!(
        stub_of(&text, 500),
        Err(StubRefusal::TooMuchMustStay { tokens }) if tokens > 600
    ));
}
