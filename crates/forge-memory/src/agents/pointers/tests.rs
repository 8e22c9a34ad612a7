use std::collections::HashSet;

use proptest::prelude::*;
use testkit::TestWorkspace;

use super::settle::{PointerAllocation, allocate_pointers};
use super::*;

const NOW: &str = "2026-03-01T09:00:00Z";

fn now() -> Timestamp {
    NOW.parse().expect("a constant that is a time")
}

/// Topics `t0.md`, `t1.md`, …; a higher number is newer and worth more.
fn candidates(count: usize, description: &str) -> Vec<PointerCandidate> {
    (0..count)
        .map(|n| PointerCandidate {
            target: format!("t{n}.md"),
            line: pointer_line(&format!("T{n}"), &format!("t{n}.md"), description),
            worth: n as f64,
            written: (
                Timestamp::from_second(n as i64).expect("small"),
                Timestamp::UNIX_EPOCH,
            ),
        })
        .collect()
}

fn settled(
    texts: &IndexTexts,
    candidates: &[PointerCandidate],
    drop_lost: bool,
) -> PointerAllocation {
    let known: HashSet<&str> = candidates.iter().map(|it| it.target.as_str()).collect();
    let exists = |target: &str| known.contains(target) || target == "state.md";
    allocate_pointers(&POINTER_SHELVES[0], texts, candidates, &exists, drop_lost)
}

fn of(index: &str) -> IndexTexts {
    IndexTexts {
        index: Some(index.to_owned()),
        pages: Vec::new(),
    }
}

#[track_caller]
fn check(before: &str, topics: usize, expect: &str) {
    let after = settled(&of(before), &candidates(topics, "why"), false).texts;
    assert_eq!(after.index.as_deref(), Some(expect), "for {before:?}");
    assert!(after.pages.is_empty());
    let again = settled(&after, &candidates(topics, "why"), false).texts;
    assert_eq!(again, after, "twice is once");
}

#[test]
fn new_pointers_stand_first_and_nothing_else_moves() {
    check("", 2, "- [T1](t1.md) — why\n- [T0](t0.md) — why\n");
    check(
        "- [Mine](t0.md) — my words\n",
        2,
        "- [T1](t1.md) — why\n- [Mine](t0.md) — my words\n",
    );
    check(
        "# Memory\r\n\r\nIntro.\r\n\r\n* [Mine](t0.md)\r\n",
        2,
        "# Memory\r\n\r\nIntro.\r\n\r\n- [T1](t1.md) — why\r\n* [Mine](t0.md)\r\n",
    );
    check(
        "\u{feff}# Memory\n\n<!-- keep -->\n\n## People\n\n- [Mine](t0.md)\n",
        2,
        "\u{feff}# Memory\n\n<!-- keep -->\n\n- [T1](t1.md) — why\n\n## People\n\n- [Mine](t0.md)\n",
    );
    check(
        "# Memory\n\nno list yet",
        1,
        "# Memory\n\nno list yet\n\n- [T0](t0.md) — why\n",
    );
    check(
        "- People\n  - [Mine](t0.md)\n",
        2,
        "- [T1](t1.md) — why\n- People\n  - [Mine](t0.md)\n",
    );
    // Where a fence is never closed, the end of the file is code.
    check(
        "text\n\n```\nopen",
        1,
        "- [T0](t0.md) — why\n\ntext\n\n```\nopen",
    );
    check(
        "---\na: b\n---\n```\nopen",
        1,
        "---\na: b\n---\n\n- [T0](t0.md) — why\n\n```\nopen",
    );
    // A mention in a sentence leads there too.
    check(
        "See [it](t0.md) and [[t1]].\n",
        2,
        "See [it](t0.md) and [[t1]].\n",
    );
    check(
        "- [x](state.md)\n- [y](https://a.b/c.md)\n- [z](../up.md)\n",
        0,
        "- [x](state.md)\n- [y](https://a.b/c.md)\n- [z](../up.md)\n",
    );
}

#[test]
fn pointers_to_nothing_are_told_and_stay_until_asked() {
    let before = of(
        "- [Gone](gone.md) — was here\n  and more\n- [Mine](t0.md)\n\n```\n- [No](code.md)\n```\n",
    );
    let topics = candidates(1, "why");
    let told = settled(&before, &topics, false);
    assert_eq!(told.lost, [(0, 1, "gone.md".to_owned())]);
    assert_eq!(told.texts, before);
    let fixed = settled(&before, &topics, true);
    let expect = "- [Mine](t0.md)\n\n```\n- [No](code.md)\n```\n";
    assert_eq!(fixed.texts, of(expect));
}

#[test]
fn what_does_not_fit_moves_to_a_page_and_comes_back() {
    let full = settled(&IndexTexts::default(), &candidates(260, "why"), false);
    let index = full.texts.index.clone().expect("there are topics");
    assert!(units::count_lines(&index) <= MAX_INDEX_LINES);
    assert_eq!(full.texts.pages.len(), 1);
    assert!(index.starts_with("- [T259](t259.md) — why\n"));
    assert!(!index.contains("(t0.md)"), "the least valuable went");
    let note = format!(
        "- [{} more memories](MEMORY-more.md) — look there when nothing here fits\n",
        full.more
    );
    assert!(index.ends_with(&note), "{index}");
    assert!(full.texts.pages[0].starts_with("# More memories\n\n- ["));
    assert_eq!(units::count_lines(&index) - 1 + full.more, 260);
    // Most topics are gone, and there is room again.
    let few: Vec<PointerCandidate> = candidates(260, "why").into_iter().take(150).collect();
    let back = settled(&full.texts, &few, true);
    assert!(back.texts.pages.is_empty(), "{:?}", back.texts.pages);
    let index = back.texts.index.expect("there are topics");
    assert_eq!(units::count_lines(&index), 150, "{index}");
    assert!(index.contains("(t0.md)") && !index.contains("MEMORY-more"));
}

#[test]
fn long_descriptions_meet_the_cap_in_bytes() {
    let topics = candidates(150, &"é wörd ".repeat(60));
    let full = settled(&IndexTexts::default(), &topics, false);
    let index = full.texts.index.expect("there are topics");
    assert!(index.len() <= MAX_INDEX_BYTES && full.more > 0);
    assert!(index.contains("(t149.md)"));
}

#[test]
fn many_pages_are_linked_one_after_the_other() {
    let topics = candidates(900, "why");
    let full = settled(&IndexTexts::default(), &topics, false);
    assert_eq!(full.texts.pages.len(), 4);
    for (number, page) in full.texts.pages.iter().enumerate() {
        assert!(units::count_lines(page) <= MAX_INDEX_LINES && page.len() <= MAX_INDEX_BYTES);
        let next = format!(
            "- [More memories](MEMORY-more-{}.md) — the next page\n",
            number + 2
        );
        assert_eq!(page.contains(&next), number < 3, "{page}");
    }
    assert_eq!(settled(&full.texts, &topics, false).texts, full.texts);
}

/// Lines as people write them, and as nobody should.
fn hand_written() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        8 => (0..40usize).prop_map(|n| format!("- [Topic {n}](t{n}.md) — by hand")),
        2 => (0..40usize).prop_map(|n| format!("  * [Nested {n}](./t{n}.md)")),
        1 => (0..40usize).prop_map(|n| format!("      - [Deep {n}](t{n}.md)")),
        1 => (0..9usize).prop_map(|n| format!("{n}. [Numbered](t{n}.md)")),
        2 => (0..40usize).prop_map(|n| format!("See [[t{n}]] or [it](t{n}.md).")),
        2 => Just("- [Gone](gone.md) — no file".to_owned()),
        1 => Just("- [57 more memories](MEMORY-more.md) — look there when nothing here fits".to_owned()),
        1 => Just("- [More](MEMORY-more.md) — my own words".to_owned()),
        3 => "[a-z ]{0,40}",
        2 => "#{1,4} [a-z]{1,8}",
        2 => Just("# More memories".to_owned()),
        1 => Just("```".to_owned()),
        1 => Just("<!-- a comment".to_owned()),
        1 => Just("-->".to_owned()),
        1 => Just("<div>".to_owned()),
        1 => Just("> - [Quoted](t1.md)".to_owned()),
        1 => Just("  continued".to_owned()),
        1 => Just("---".to_owned()),
        1 => Just("[ref]: t2.md".to_owned()),
        4 => Just(String::new()),
        1 => (100..30_000usize).prop_map(|n| "x".repeat(n)),
        1 => (2_000..3_000usize).prop_map(|n| format!("- [Long](t39.md) {}", "y".repeat(n))),
    ];
    let lines = prop_oneof![
        4 => prop::collection::vec(piece.clone(), 0..40),
        1 => prop::collection::vec(piece, 150..400),
    ];
    (lines, prop_oneof![Just("\n"), Just("\r\n")], any::<bool>()).prop_map(|(lines, nl, ends)| {
        let text = lines.join(nl);
        if ends { text + nl } else { text }
    })
}

/// Lines that hold something, without those of ours.
fn lines_of(texts: &IndexTexts) -> Vec<String> {
    let all = texts.index.iter().chain(&texts.pages);
    all.flat_map(|text| text.lines())
        .map(str::to_owned)
        .filter(|line| !line.trim().is_empty())
        .filter(|line| !line.contains("](MEMORY-more") && line.trim_end() != "# More memories")
        .filter(|line| line != settle::MOVED_MARK)
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]
    #[test]
    fn any_index_keeps_its_promises(
        text in hand_written(),
        page in prop_oneof![2 => Just(None), 1 => hand_written().prop_map(Some)],
        count in prop_oneof![Just(0usize), 1..40usize, 150..420usize],
        width in 0..300usize,
    ) {
        let before = IndexTexts { index: Some(text), pages: page.into_iter().collect() };
        let topics = candidates(count, &"d ".repeat(width));
        let after = settled(&before, &topics, false);
        let index = after.texts.index.clone().expect("it was there");
        // The caps hold.
        prop_assert!(index.len() <= MAX_INDEX_BYTES, "{} bytes", index.len());
        prop_assert!(units::count_lines(&index) <= MAX_INDEX_LINES, "{} lines", units::count_lines(&index));
        for page in &after.texts.pages {
            let longest = page.lines().map(str::len).max().unwrap_or(0);
            prop_assert!(page.len() <= MAX_INDEX_BYTES || longest > MAX_INDEX_BYTES - 1_000);
            prop_assert!(units::count_lines(page) <= MAX_INDEX_LINES);
        }
        // Twice is once.
        let again = settled(&after.texts, &topics, false);
        prop_assert_eq!(&again.texts, &after.texts);
        // Every topic can be found, the newest in the index itself.
        let known: HashSet<String> = topics.iter().map(|it| it.target.clone()).collect();
        let names = units::PointerTargets { shelf: &POINTER_SHELVES[0], topics: &known, exists: &|_| true };
        let here = units::find_targets(&index, &names);
        if let Some(newest) = topics.last() {
            prop_assert!(here.contains(&newest.target), "the newest is lost in {}", index);
        }
        let all: HashSet<String> = after.texts.pages.iter()
            .flat_map(|page| units::find_targets(page, &names)).chain(here).collect();
        for topic in &topics {
            prop_assert!(all.contains(&topic.target), "{} is lost", topic.target);
        }
        // What somebody wrote is there word for word.
        // A line that stood there twice may be there once.
        let left: HashSet<String> = lines_of(&after.texts).into_iter().collect();
        for line in lines_of(&before) {
            prop_assert!(left.contains(&line), "{:?} was dropped", line);
        }
    }

    #[test]
    fn the_order_of_lines_that_stay_is_kept(text in hand_written(), count in 0..300usize) {
        let before = of(&text);
        let after = settled(&before, &candidates(count, "why"), false).texts;
        let index = after.index.unwrap_or_default();
        let mut lines = text.lines().filter(|line| line.contains("by hand"));
        for line in index.lines().filter(|line| line.contains("by hand")) {
            prop_assert!(lines.any(|it| it == line), "{:?} moved", line);
        }
    }
}

fn home() -> MemoryHome {
    MemoryHome::for_agent("eng", "builder").expect("good names")
}

fn opened(ws: &TestWorkspace) -> Workspace {
    Workspace::open(ws.root()).expect("it is a folder")
}

const AT: &str = ".agents/memory/eng/builder";

#[test]
fn topics_are_listed_by_what_they_say_of_themselves() {
    let ws = TestWorkspace::files(&format!(
        "//- {AT}/api.md\n---\nname: API [v2]\ndescription: \"See [x](auth.md) | y\"\ntype: project\n---\nBody.\n\
         //- {AT}/auth.md\n# Login\n\nTokens last an hour. Then they end.\n\
         //- {AT}/me.local.md\n---\nname: Me\ndescription: likes tea\ntype: user\n---\n\
         //- {AT}/old.md\n---\nstatus: archived\n---\n\
         //- {AT}/state.md\nbusy\n//- {AT}/state-archive.md\nold\n//- {AT}/x-index.md\nno\n\
         //- {AT}/deep/er.md\nno\n"
    ));
    let workspace = opened(&ws);
    let done =
        update_pointer_indexes(&workspace, &home(), false, now()).expect("it can be written");
    assert_eq!(done.topics, 3);
    let text = ws.read(&format!("{AT}/MEMORY.md"));
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            "- [API \\[v2\\]](api.md) — See \\[x](auth.md) \\| y",
            "- [Login](auth.md) — Tokens last an hour.",
        ]
    );
    assert_eq!(
        ws.read(&format!("{AT}/MEMORY.local.md")),
        "- [Me](me.local.md) — likes tea\n"
    );
    let tree = ws.tree_of_sources();
    let again =
        update_pointer_indexes(&workspace, &home(), false, now()).expect("it can be written");
    assert_eq!(again.changed, Vec::<RelPath>::new());
    assert_eq!(ws.tree_of_sources(), tree);
}

#[test]
fn a_shared_index_does_not_point_to_what_others_lack() {
    let ws = TestWorkspace::files(&format!(
        "//- {AT}/MEMORY.md\n- [Me](me.local.md)\n//- {AT}/me.local.md\nx\n"
    ));
    let found = check_home(&ws);
    assert_eq!(found.lost.len(), 1);
    assert_eq!(found.lost[0].target, "me.local.md");
    update_pointer_indexes(&opened(&ws), &home(), true, now()).expect("it can be written");
    assert_eq!(ws.read(&format!("{AT}/MEMORY.md")), "");
    assert!(
        ws.read(&format!("{AT}/MEMORY.local.md"))
            .contains("(me.local.md)")
    );
}

fn check_home(ws: &TestWorkspace) -> PointerReport {
    super::check_pointer_indexes(&opened(ws), &home(), now()).expect("it can be read")
}

#[test]
fn knowledge_is_listed_with_its_folders() {
    let ws = TestWorkspace::files(
        "//- knowledge/a b.md\n# A\n//- knowledge/deep/er/c.md\n# C\n\nSee.\n//- knowledge/README.md\n# R\n",
    );
    update_pointer_indexes(&opened(&ws), &MemoryHome::for_knowledge(), false, now())
        .expect("it can be written");
    let text = ws.read("knowledge/MEMORY.md");
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["- [A](a%20b.md)", "- [C](deep/er/c.md) — See."]);
}
