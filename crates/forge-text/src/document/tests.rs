//! Parsing and editing as a whole; each part has its own tests beside it.

use proptest::prelude::*;

use super::*;

/// Pieces of Markdown that act on each other when put in any order.
const PIECES: &[&str] = &[
    "# One\n",
    "## Two\n",
    "### Three ##\n",
    "Setext\n---\n",
    "Other\n===\n",
    "text ",
    "word\n",
    "\n",
    "\n\n",
    "---\n",
    "===\n",
    "***\n",
    "```\n",
    "```rust\n",
    "~~~\n",
    "`code`",
    "``",
    "- item\n",
    "- [ ] task\n",
    "  - [x] nested\n",
    "1. one\n",
    "* ",
    "> quote\n",
    "> # quoted\n",
    ">",
    "| a | b |\n|---|---|\n",
    "| [[t\\|T]] |\n",
    "<div>\n",
    "</div>\n",
    "<!-- c -->\n",
    "<!--",
    "-->",
    "<pre>\n",
    "<?",
    "[[note]]",
    "![[img]]",
    "[[a|b",
    "]]",
    "[a](b)",
    "![i](j)",
    "\n[r]: u\n",
    "\n[^1]: n\n",
    "    code\n",
    "\t",
    " ",
    "é",
    "😀",
    "\0",
    " ^id\n",
    "@a/b.md ",
    "https://x.org/y ",
    "2026-01-02 ",
    "3 March 2026 ",
    "**b**",
    "\\",
    "&amp;",
    "<b>",
    "a: b\n",
    "   ## Indented\n",
    "\u{c}",
];

fn markdown() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..24).prop_map(|it| it.concat())
}

/// With front matter, a byte order mark or other line ends now and then.
fn file() -> impl Strategy<Value = String> {
    let head = prop::sample::select(vec!["", "", "", "---\na: 1\n---\n", "---\n\n", "---\n"]);
    (any::<bool>(), head, markdown(), 0..4_u8).prop_map(|(bom, head, body, ends)| {
        let text = format!("{head}{body}");
        let text = match ends {
            0 => text.replace('\n', "\r\n"),
            1 => text.replace('\n', "\r"),
            _ => text,
        };
        if bom { format!("\u{feff}{text}") } else { text }
    })
}

fn hostile() -> impl Strategy<Value = String> {
    let pieces = [
        "# Evil",
        "## Evil",
        "Evil",
        "\n",
        "\r\n",
        "\r",
        "---",
        "===",
        "```",
        "~~~",
        "- x",
        "1. x",
        "| a | b |",
        "|---|",
        "> q",
        "<!--",
        "-->",
        "<div>",
        "<script>",
        "</x>",
        "[[",
        "]]",
        "|",
        "$&",
        "$1",
        "\\",
        "    ",
        "\t",
        "...",
        "+++",
        "[r]: u",
        "[^1]: n",
        "- [ ] t",
        "[ ] t",
        "@~/.ssh/id",
        "^id",
        "\0",
        "\u{2028}",
        "\u{85}",
        ": ",
        "é",
        " ",
        "*",
        "_",
        "***",
        "- - -",
        "`",
        "#",
    ];
    prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..10).prop_map(|it| it.concat())
}

fn check_invariants(document: &Document) -> Result<(), TestCaseError> {
    let text = document.text.as_str();
    let spans = (document.sections.iter())
        .flat_map(|it| [&it.heading, &it.own, &it.span])
        .chain(document.blocks.iter().map(|it| &it.span))
        .chain(document.links.iter().map(|it| &it.span))
        .chain(document.tasks.iter().flat_map(|it| [&it.span, &it.mark]))
        .chain(document.code.iter().map(|it| &it.span))
        .chain(document.block_ids.iter().map(|it| &it.span))
        .chain(document.dates.iter().map(|it| &it.span))
        .chain(document.problems.iter().map(|it| &it.span))
        .chain(&document.inline_code)
        .chain(&document.comments);
    for span in spans {
        prop_assert!(text.get(span.clone()).is_some(), "{span:?}");
    }
    // Headings and own texts tile the body.
    let mut at = document.body.start;
    for section in &document.sections {
        prop_assert_eq!(section.heading.start, at);
        prop_assert_eq!(section.heading.end, section.own.start);
        prop_assert!(section.span.end >= section.own.end);
        at = section.own.end;
        let parent = section.parent.map(|parent| &document.sections[parent]);
        prop_assert!(
            parent.is_none_or(|it| it.level < section.level && it.span.end >= section.span.end)
        );
    }
    prop_assert_eq!(at, document.body.end);
    // Blocks are disjoint, in order, and no text lies between them.
    let mut at = document.body.start;
    for block in &document.blocks {
        prop_assert!(block.span.start >= at && !block.span.is_empty());
        prop_assert!(text[at..block.span.start].trim_ascii().is_empty());
        at = block.span.end;
    }
    prop_assert!(text[at..].trim_ascii().is_empty());
    for pair in document.links.windows(2) {
        prop_assert!(pair[0].span.start <= pair[1].span.start);
    }
    for code in &document.code {
        prop_assert!(document.is_in_code(code.span.start));
    }
    Ok(())
}

type Outlined = (u8, String, Option<usize>);

/// Sections without the brackets in their titles: whether `[r]` is a link
/// hangs on a definition that an edit may take away.
fn outlined(document: &Document) -> Vec<Outlined> {
    (document.sections.iter())
        .map(|it| (it.level, it.title.replace(['[', ']'], ""), it.parent))
        .collect()
}

/// A setext heading whose first line is indented like code is one only while a
/// link definition stands right above it.
fn leans_on_a_definition(document: &Document) -> bool {
    let indented = |heading: &str| heading.starts_with("    ") || heading.starts_with('\t');
    (document.sections.iter()).any(|it| indented(document.span_text(&it.heading)))
}

fn edited(document: &Document, edit: TextEdit) -> Document {
    parse_document(apply_edits(&document.text, vec![edit]).expect("edits of a document fit it"))
}

fn unified(text: &str) -> String {
    text.replace("\r\n", "\n")
        .replace('\r', "\n")
        .trim_matches([' ', '\t', '\n', '\u{c}'])
        .to_owned()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn any_markdown_keeps_the_invariants(text in file()) {
        check_invariants(&parse_document(text))?;
    }

    #[test]
    fn any_text_keeps_the_invariants(text in any::<String>()) {
        check_invariants(&parse_document(text))?;
    }

    #[test]
    fn the_plain_view_keeps_the_invariants(text in markdown()) {
        let deep = format!("{}\n{text}", "> ".repeat(300));
        let document = parse_document(deep);
        prop_assert_eq!(document.problems.len(), 1);
        check_invariants(&document)?;
    }

    #[test]
    fn line_ends_do_not_change_the_outline(text in markdown()) {
        let outline = |text: String| {
            let document = parse_document(text);
            let lines = |span: &std::ops::Range<usize>| document.line_range(span);
            let blocks: Vec<_> = document.blocks.iter().map(|it| (it.kind, lines(&it.span))).collect();
            let links: Vec<_> = document.links.iter().map(|it| (it.kind, it.target.clone(), lines(&it.span))).collect();
            let tasks: Vec<_> = document.tasks.iter().map(|it| (it.text.clone(), lines(&it.span))).collect();
            (outlined(&document), blocks, links, tasks)
        };
        let expect = outline(text.clone());
        prop_assert_eq!(&outline(text.replace('\n', "\r\n")), &expect);
        prop_assert_eq!(&outline(text.replace('\n', "\r")), &expect);
    }

    #[test]
    fn replacing_a_section_changes_its_own_text_alone(text in file(), body in hostile(), pick in any::<prop::sample::Index>()) {
        let document = parse_document(text);
        prop_assume!(!leans_on_a_definition(&document));
        let section = pick.index(document.sections.len());
        let body = escape_markdown_block(&body);
        let after = edited(&document, document.replace_section(section, &body));
        check_invariants(&after)?;
        prop_assert_eq!(outlined(&after), outlined(&document), "{:?}", after.text);
        for (index, (new, old)) in after.sections.iter().zip(&document.sections).enumerate() {
            prop_assert_eq!(after.span_text(&new.heading).trim_end(), document.span_text(&old.heading).trim_end());
            let expect = if index == section { body.clone() } else { unified(document.span_text(&old.own)) };
            prop_assert_eq!(unified(after.span_text(&new.own)), expect);
        }
        let again = edited(&after, after.replace_section(section, &body));
        prop_assert_eq!(&again.text, &after.text);
    }

    #[test]
    fn appending_keeps_what_was_there(text in file(), new in hostile(), pick in any::<prop::sample::Index>()) {
        let document = parse_document(text);
        prop_assume!(!leans_on_a_definition(&document));
        let section = pick.index(document.sections.len());
        let new = escape_markdown_block(&new);
        let edit = document.append_to_section(section, &new);
        prop_assert!(document.span_text(&edit.span).trim_ascii().is_empty());
        let after = edited(&document, edit);
        check_invariants(&after)?;
        prop_assert_eq!(outlined(&after), outlined(&document), "{:?}", after.text);
        let own = unified(after.span_text(&after.sections[section].own));
        prop_assert!(own.starts_with(&unified(document.span_text(&document.sections[section].own))));
        prop_assert!(own.ends_with(&new));
    }

    #[test]
    fn a_new_section_comes_last(text in file(), title in hostile(), body in hostile(), level in 0..9_u8) {
        let document = parse_document(text);
        prop_assume!(!leans_on_a_definition(&document));
        let edit = document.append_section(level, &title, &escape_markdown_block(&body));
        let after = edited(&document, edit);
        check_invariants(&after)?;
        prop_assert!(after.text.starts_with(&document.text));
        let old: Vec<_> = outlined(&document).into_iter().map(|it| (it.0, it.1)).collect();
        let new: Vec<_> = outlined(&after).into_iter().map(|it| (it.0, it.1)).collect();
        prop_assert_eq!(&new[..new.len() - 1], &old[..], "{:?}", after.text);
        let last = after.sections.last().unwrap();
        prop_assert_eq!(last.level, level.clamp(1, 6));
        prop_assert_eq!(unified(after.span_text(&last.own)), escape_markdown_block(&body));
    }

    #[test]
    fn a_task_changes_one_byte(text in file(), done in any::<bool>()) {
        let document = parse_document(text);
        prop_assume!(!leans_on_a_definition(&document));
        for index in 0..document.tasks.len() {
            let after = edited(&document, document.set_task_done(index, done));
            prop_assert_eq!(after.text.len(), document.text.len());
            prop_assert_eq!(after.tasks.len(), document.tasks.len());
            prop_assert_eq!(after.tasks[index].done, done);
            prop_assert_eq!(outlined(&after), outlined(&document));
        }
    }

    #[test]
    fn inert_text_is_one_plain_block_each(text in prop_oneof![hostile(), any::<String>()]) {
        let line = escape_markdown_line(&text);
        prop_assert!(!line.contains(char::is_control));
        prop_assert_eq!(&escape_markdown_line(&line), &line);
        let block = escape_markdown_block(&text);
        prop_assert_eq!(&escape_markdown_block(&block), &block);
        for inert in [line.clone(), block, format!("- {line}\n"), format!("para\n{line}")] {
            let document = parse_document(inert);
            prop_assert!(document.front_matter.is_none());
            prop_assert_eq!(document.sections.len(), 1);
            prop_assert!(document.blocks.iter().all(|it| matches!(it.kind, BlockKind::Paragraph | BlockKind::List)), "{:?} {:?}", &document.text, document.blocks);
            prop_assert!(document.tasks.is_empty() && document.code.is_empty() && document.comments.is_empty());
            prop_assert!(document.block_ids.is_empty());
            let found = document.links.iter().find(|it| matches!(it.kind, LinkKind::Wiki | LinkKind::Embed | LinkKind::Import | LinkKind::Reference));
            prop_assert_eq!(found, None);
        }
        // In a table cell it is one cell.
        let table = format!("| {line} | end |\n|---|---|\n| {line} | end |\n");
        let document = parse_document(table.as_str());
        prop_assert_eq!(document.blocks.len(), 1);
        prop_assert_eq!(document.blocks[0].kind, BlockKind::Table, "{}", table);
    }

    #[test]
    fn edits_leave_every_other_byte_alone(text in ".{0,40}", cuts in prop::collection::vec(any::<prop::sample::Index>(), 6), news in prop::collection::vec(".{0,5}", 3)) {
        let bounds: Vec<usize> = (0..=text.len()).filter(|at| text.is_char_boundary(*at)).collect();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| bounds[cut.index(bounds.len())]).collect();
        cuts.sort_unstable();
        let mut expect = String::new();
        let mut edits = Vec::new();
        let mut at = 0;
        for (pair, new) in cuts.chunks(2).zip(&news) {
            expect += &text[at..pair[0]];
            expect += new;
            at = pair[1];
            edits.push(TextEdit { span: pair[0]..pair[1], text: new.clone() });
        }
        expect += &text[at..];
        prop_assert_eq!(apply_edits(&text, edits).unwrap(), expect);
    }
}

#[test]
fn lines_that_are_taken_out_leave_the_line_ends_of_others() {
    for (text, span, expect) in [
        ("a\nb\n\nc\n", 2..4, "a\n\nc\n"),
        ("a\r\nb\r\n\r\nc\r\n", 3..6, "a\r\n\r\nc\r\n"),
        ("a\rb\r\rc\r", 2..4, "a\r\rc\r"),
        ("a\rb\n\nc\n", 2..4, "a\r\r\nc\n"),
    ] {
        let document = parse_document(text);
        let edit = document.delete_lines(span);
        assert_eq!(apply_edits(text, vec![edit]).unwrap(), expect);
    }
}

#[test]
fn edits_that_do_not_fit_are_refused() {
    let edit = |start: usize, end: usize| TextEdit {
        span: start..end,
        text: "x".to_owned(),
    };
    let check = |edits: Vec<TextEdit>, expect: &str| {
        assert_eq!(apply_edits("aéb", edits).unwrap_err().to_string(), expect);
    };
    check(
        vec![edit(0, 9)],
        "Edit of bytes 0..9 is outside of a text of 4 bytes",
    );
    check(
        vec![edit(2, 2)],
        "Edit of bytes 2..2 would cut a character in two",
    );
    check(
        vec![edit(1, 4), edit(0, 3)],
        "Edits of bytes 0..3 and 1..4 overlap",
    );
    assert_eq!(
        apply_edits("ab", vec![edit(1, 1), edit(1, 2), edit(0, 1)]).unwrap(),
        "xxx"
    );
}

fn check_replace(text: &str, title: &str, body: &str, expect: &str) {
    let document = parse_document(text);
    let section = document.find_section(title).unwrap_or(0);
    assert_eq!(
        edited(&document, document.replace_section(section, body)).text,
        expect
    );
}

#[test]
fn replacing_keeps_the_lines_around() {
    check_replace("# A\n\nold\n\n# B\n", "a", "new", "# A\n\nnew\n\n# B\n");
    check_replace("# A\nold\n# B\n", "a", "new", "# A\nnew\n\n# B\n");
    check_replace("# A\n\nold", "a", "new\n", "# A\n\nnew\n");
    check_replace("# A", "a", "new", "# A\n\nnew\n");
    check_replace("# A\n# B\n", "a", "new", "# A\n\nnew\n\n# B\n");
    check_replace("# A\n\nold\n\n# B\n", "a", "", "# A\n\n# B\n");
    check_replace(
        "# A\r\n\r\nold\r\n",
        "a",
        "1\n\n2",
        "# A\r\n\r\n1\r\n\r\n2\r\n",
    );
    check_replace("# A\n", "", "new", "new\n\n# A\n");
    check_replace(
        "---\na: 1\n---\n# A\n",
        "",
        "new",
        "---\na: 1\n---\n\nnew\n\n# A\n",
    );
    check_replace("Title\n---\n", "", "new", "new\n\nTitle\n---\n");
    check_replace("# A\nold\n\nB\n---\n", "a", "new", "# A\nnew\n\nB\n---\n");
}

fn check_append(text: &str, title: &str, new: &str, expect: &str) {
    let document = parse_document(text);
    let section = document.find_section(title).unwrap_or(0);
    assert_eq!(
        edited(&document, document.append_to_section(section, new)).text,
        expect
    );
}

#[test]
fn appending_joins_lists_and_tables() {
    check_append("# A\n- a\n\n# B\n", "A", "- b\n", "# A\n- a\n- b\n\n# B\n");
    check_append("# A\n- a\n# B\n", "A", "- b", "# A\n- a\n- b\n\n# B\n");
    check_append("# A\n1. a", "A", "2. b", "# A\n1. a\n2. b\n");
    check_append("# A\n- a\n", "A", "text", "# A\n- a\n\ntext\n");
    check_append("# A\ntext\n", "A", "- b", "# A\ntext\n\n- b\n");
    check_append("|a|\n|-|\n|b|\n", "", "|c|", "|a|\n|-|\n|b|\n|c|\n");
    check_append("# A\n", "A", "x", "# A\n\nx\n");
}

#[test]
fn what_is_open_is_closed_before_text_is_added() {
    check_append("# A\n````\ncode", "A", "x", "# A\n````\ncode\n````\n\nx\n");
    check_append("<!-- open\n", "", "x", "<!-- open\n-->\n\nx\n");
    check_append("<PRE>\n\n", "", "x", "<PRE>\n</pre>\n\nx\n\n");
    // As the parser sees them, these are open too.
    for open in ["<pre\u{b}", "<PRE>a</PRE>\n", "<style>\n</pre>\n"] {
        let document = parse_document(open);
        let after = edited(&document, document.append_section(2, "B", "x"));
        let last = after.sections.last().expect("there is one");
        assert_eq!(last.title, "B", "{:?}", after.text);
    }
    let document = parse_document("# A\n~~~\n# no\n");
    let after = edited(&document, document.append_section(2, "B #", "x"));
    assert_eq!(after.text, "# A\n~~~\n# no\n~~~\n\n## B \\#\n\nx\n");
    assert_eq!(after.sections[2].title, "B #");
}

#[test]
fn new_text_that_is_left_open_is_closed() {
    check_replace(
        "# A\nold\n\n# B\n",
        "A",
        "```\nx  \n \ny",
        "# A\n```\nx  \n \ny\n```\n\n# B\n",
    );
    check_append(
        "# A\nold\n\n# B\n",
        "A",
        "<!-- x",
        "# A\nold\n\n<!-- x\n-->\n\n# B\n",
    );
}

#[test]
fn unknown_parts_survive() {
    let text = "<!-- keep -->\n# A\nold\n\n```\n# B\n```\n\n## Unknown  \n%% x %%\n";
    let document = parse_document(text);
    let after = edited(&document, document.replace_section(2, "new"));
    assert_eq!(after.text, text.replace("%% x %%", "new"));
}

#[test]
fn inert_lines() {
    for (text, expect) in [
        (
            "plain *text* with `code` and [a](b)",
            "plain *text* with `code` and [a](b)",
        ),
        ("# no", "\\# no"),
        ("#tag", "#tag"),
        ("- no", "\\- no"),
        ("-5 degrees", "-5 degrees"),
        ("---", "\\---"),
        ("12. no", "12\\. no"),
        ("> no", "\\> no"),
        ("a | b", "a \\| b"),
        ("```rust", "\\```rust"),
        ("<!-- no -->", "\\<!-- no -->"),
        ("a <!-- no", "a \\<!-- no"),
        ("<https://x.org>", "<https://x.org>"),
        ("see [[x]]", "see \\[[x]]"),
        ("a\r\nb\n\nc\td", "a b c d"),
        ("a\0b\u{202e}c", "abc"),
        ("[x] done", "\\[x] done"),
        ("[r]: url", "\\[r]: url"),
        (
            "read @~/.ssh/id and me@x.org",
            "read \\@~/.ssh/id and me@x.org",
        ),
        ("end ^id", "end \\^id"),
        ("cost $& \\", "cost $& \\\\"),
        ("  ", ""),
    ] {
        assert_eq!(escape_markdown_line(text), expect, "{text:?}");
    }
    assert_eq!(
        escape_markdown_block("a\n\n    b\r\n# c\n\n"),
        "a\n\nb\n\\# c"
    );
}

#[test]
fn views_of_a_document() {
    let document = parse_document("intro\n# A\n## B\n`x`\n# C\n");
    assert_eq!(document.heading_path(2), ["A", "B"]);
    assert_eq!(document.heading_path(0), [""; 0]);
    assert_eq!(document.find_section(" b "), Some(2));
    assert_eq!(document.find_section(""), None);
    assert_eq!(document.title(), Some("A"));
    assert_eq!(document.line_range(&document.sections[1].span), (2, 4));
    assert_eq!(document.line_number_at(usize::MAX), 5);
    let code = document.text.find('x').unwrap();
    assert!(document.is_in_code(code) && !document.is_in_code(0));
    assert_eq!(parse_document("a\r\nb\r\nc\n").newline(), "\r\n");
    assert_eq!(parse_document("a\rb").newline(), "\r");
    assert_eq!(parse_document("").newline(), "\n");
}

/// Each of these has made some Markdown parser hang, overflow its stack or
/// panic. A quadratic one would take minutes here.
#[test]
fn texts_made_to_hurt() {
    let n = 50_000;
    let ticks: String = (1..600).map(|len| "`".repeat(len) + " ").collect();
    let deeper: String = (0..400).map(|depth| "  ".repeat(depth) + "- a\n").collect();
    for text in [
        ">".repeat(n),
        "> ".repeat(190) + "a\n" + &"b\n".repeat(n),
        "- ".repeat(n),
        "1. ".repeat(n),
        "- ".repeat(190) + "a\n" + &"b\n".repeat(n),
        deeper,
        "[".repeat(100_000),
        "[".repeat(n) + &"]".repeat(n),
        "[a](".repeat(n),
        "![a".repeat(10_000) + &"](b)".repeat(10_000),
        "[[a|] ".repeat(n),
        format!("[[{}|{}", "a".repeat(n), "]x".repeat(n)),
        "*a _b ".repeat(n),
        "*".repeat(n) + "a" + &"*".repeat(n),
        ticks,
        "<a ".repeat(n),
        "x<!-- ".repeat(n),
        "x<![CDATA[ ".repeat(n),
        "a ".repeat(500_000),
        "x".repeat(1_000_000),
        "|a".repeat(5_000) + "\n" + &"|-".repeat(5_000) + "\n" + &"|b|c\n".repeat(5_000),
        "[a]: b\n\n".to_owned() + &"[a] ".repeat(n),
        "[^a]: ".repeat(10_000),
        "```\n".to_owned() + &"x\n".repeat(n),
        "\0".repeat(n),
        "a\r".repeat(n),
        " @a/b".repeat(n),
        "http://".repeat(n),
        format!("http://a{}", ")".repeat(n)),
        "a\n=\n".repeat(n),
        "\\[[".repeat(n),
        " ^a".repeat(n),
        format!("---\na: {}\n---\n", "[".repeat(n)),
        format!("---\n{}---\n", "k: v: w\n".repeat(5_000)),
        format!("---\n{}\n---\n", "- ".repeat(n)),
    ] {
        let document = parse_document(text);
        assert!(check_invariants(&document).is_ok());
    }
}

#[test]
fn what_says_the_same_already_keeps_mixed_line_ends() {
    let document = parse_document("\rA\r# T\nx\r\n");
    let once = edited(&document, document.replace_section(0, "a\nb"));
    let twice = edited(&once, once.replace_section(0, "a\nb"));
    assert_eq!(twice.text, once.text);
}

#[test]
fn a_definition_over_two_lines_is_text_too() {
    for text in ["[: u\n[^]: n", "[a\n]: b", "[a\\]\n]: b"] {
        let document = parse_document(escape_markdown_block(text));
        assert!(
            document
                .blocks
                .iter()
                .all(|it| it.kind == BlockKind::Paragraph),
            "{:?}",
            document.text
        );
    }
}

#[test]
fn a_new_section_behind_a_lone_return_stands_alone() {
    let document = parse_document("<p\nx\ny\r");
    let after = edited(&document, document.append_section(2, "T", ""));
    assert_eq!(after.sections.len(), 2, "{:?}", after.text);
}
