use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

#[track_caller]
fn merged(kind: MergeKind, base: &str, ours: &str, theirs: &str) -> MergeOutcome {
    merge_texts(kind, base, ours, theirs).expect("they can be merged")
}

/// A clean merge gives this text.
#[track_caller]
fn check(kind: MergeKind, base: &str, ours: &str, theirs: &str, expect: &str) {
    let got = merged(kind, base, ours, theirs);
    assert_eq!(got.text, expect);
    assert_eq!(got.conflicts, 0);
}

const LOG: &str = "# Session Log\n\n## Session 1 — 2026-01-01\n- **Summary:** first\n";

fn session(number: usize, said: &str) -> String {
    format!("\n## Session {number} — 2026-01-02\n- **Summary:** {said}\n")
}

#[test]
fn sessions_of_both_sides_stand_one_after_the_other() {
    check(
        MergeKind::Sessions,
        LOG,
        &format!("{LOG}{}", session(2, "ours")),
        &format!("{LOG}{}", session(2, "theirs")),
        &format!(
            "{LOG}{}\n## Session 3 — 2026-01-02\n- **Formerly:** Session 2\n- **Summary:** theirs\n",
            session(2, "ours")
        ),
    );
}

#[test]
fn a_dated_log_keeps_its_newest_first() {
    let base = "# Session Log\n\n---\n\n## 2026-01-01 - first\n- a\n\n---\n";
    let with = |date: &str, what: &str| {
        let entry = format!("---\n\n## {date} - {what}\n- b\n\n---\n\n## 2026-01-01");
        base.replacen("---\n\n## 2026-01-01", &entry, 1)
    };
    check(
        MergeKind::Sessions,
        base,
        &with("2026-01-03", "ours"),
        &with("2026-01-02", "theirs"),
        "# Session Log\n\n---\n\n## 2026-01-03 - ours\n- b\n\n---\n\n## 2026-01-02 - theirs\n- b\n\n---\n\n\
         ## 2026-01-01 - first\n- a\n\n---\n",
    );
}

const DECISIONS: &str =
    "# Decision Log\n\n## DEC-001: One\n- **Decision:** a\n- **Status:** Final\n";

fn decision(number: usize, title: &str, more: &str) -> String {
    format!("\n## DEC-{number:03}: {title}\n- **Decision:** {title} it is{more}\n")
}

#[test]
fn a_decision_under_a_taken_id_gets_the_next_and_keeps_the_old_findable() {
    let ours = format!("{DECISIONS}{}", decision(2, "Ours", ""));
    let theirs = DECISIONS.replace("Final", "Superseded by DEC-002")
        + &decision(2, "Theirs", "")
        + &decision(3, "More", ", see DEC-002 and `DEC-002`");
    let got = merged(MergeKind::Decisions, DECISIONS, &ours, &theirs);
    assert_eq!(
        got.text,
        "# Decision Log\n\n## DEC-001: One\n- **Decision:** a\n- **Status:** Superseded by DEC-004\n\n\
         ## DEC-002: Ours\n- **Decision:** Ours it is\n\n\
         ## DEC-004: Theirs\n- **Formerly:** DEC-002\n- **Decision:** Theirs it is\n\n\
         ## DEC-003: More\n- **Decision:** More it is, see DEC-004 and `DEC-002`\n"
    );
    assert_eq!(got.renamed, [("DEC-002".to_owned(), "DEC-004".to_owned())]);
    assert_eq!(got.conflicts, 0);
    // The branch goes on, from where it was.
    let next = theirs.replace("Theirs it is", "Theirs it is, still");
    let again = merged(MergeKind::Decisions, &theirs, &got.text, &next);
    assert_eq!(
        again.text,
        got.text.replace("Theirs it is", "Theirs it is, still")
    );
    // Once more from the old base adds nothing.
    let twice = merged(MergeKind::Decisions, DECISIONS, &got.text, &theirs);
    assert_eq!(twice.text, got.text);
    let twice = merged(MergeKind::Decisions, DECISIONS, &theirs, &got.text);
    assert_eq!(twice.text, got.text);
}

#[test]
fn an_entry_that_both_edited_is_the_only_conflict() {
    let base = format!("{DECISIONS}{}", decision(2, "Two", ""));
    let ours = base.replace("- **Decision:** a", "- **Decision:** b") + &decision(3, "New", "");
    let theirs = base.replace("- **Decision:** a", "- **Decision:** c");
    let got = merged(MergeKind::Decisions, &base, &ours, &theirs);
    assert_eq!(got.conflicts, 1);
    assert_eq!(
        got.text,
        format!(
            "# Decision Log\n\n<<<<<<< ours\n## DEC-001: One\n- **Decision:** b\n- **Status:** Final\n=======\n\
             ## DEC-001: One\n- **Decision:** c\n- **Status:** Final\n>>>>>>> theirs\n{}{}",
            decision(2, "Two", ""),
            decision(3, "New", "")
        )
    );
}

#[test]
fn dated_lines_and_numbered_items_unite() {
    let base = "# Decisions\n\n**2026-01-01** - one\n**2026-01-02** - two\n";
    let ours = base.replace(
        "**2026-01-01** - one",
        "~~**2026-01-01** - one~~ (superseded 2026-02-01)",
    );
    let theirs = format!("{base}**2026-01-03** - three\n");
    check(
        MergeKind::Decisions,
        base,
        &ours,
        &theirs,
        "# Decisions\n\n~~**2026-01-01** - one~~ (superseded 2026-02-01)\n**2026-01-02** - two\n**2026-01-03** - three\n",
    );
}

#[test]
fn compression_on_one_side_and_a_new_entry_on_the_other() {
    let base = format!(
        "{DECISIONS}{}{}",
        decision(2, "Two", ""),
        decision(3, "Three", "")
    );
    let ours = format!(
        "# Decision Log\n\n## Archived Decisions (compressed)\n- DEC-001: One [Final] → ARCHIVE.md\n{}{}",
        decision(2, "Two", ""),
        decision(3, "Three", "")
    );
    let theirs = format!("{base}{}", decision(4, "Four", ""));
    check(
        MergeKind::Decisions,
        &base,
        &ours,
        &theirs,
        &format!("{ours}{}", decision(4, "Four", "")),
    );
    check(
        MergeKind::Decisions,
        &base,
        &theirs,
        &ours,
        &format!("{ours}{}", decision(4, "Four", "")),
    );
    // What was edited meanwhile stays, and its line in the list goes.
    let edited = base.replace("Final", "Superseded");
    let got = merged(MergeKind::Decisions, &base, &ours, &edited);
    assert_eq!(got.conflicts, 0, "{}", got.text);
    assert!(
        got.text.contains("Superseded") && !got.text.contains("→ ARCHIVE"),
        "{}",
        got.text
    );
}

const TASKS: &str = "# Progress\n\n### In Progress\n- [ ] Build login\n- [ ] Write docs\n\n### Completed\n- [x] Plan (completed 2026-01-01)\n";

#[test]
fn tasks_by_every_pair_of_edits() {
    let ticked = |date: &str| {
        TASKS.replace(
            "[ ] Build login",
            &format!("[x] Build login (completed {date})"),
        )
    };
    let reworded = TASKS.replace("Build login", "Build login page");
    let removed = TASKS.replace("- [ ] Build login\n", "");
    let moved = removed.replace("### Completed\n", "### Completed\n- [ ] Build login\n");
    let merge = |ours: &str, theirs: &str| {
        let got = merged(MergeKind::Progress, TASKS, ours, theirs);
        (got.text, got.conflicts)
    };
    let both = |one: &str, two: &str, expect: String| {
        assert_eq!(merge(one, two), (expect.clone(), 0));
        assert_eq!(merge(two, one), (expect, 0), "the other way");
    };
    both(
        &ticked("2026-02-01"),
        &ticked("2026-02-02"),
        ticked("2026-02-01"),
    );
    both(
        &ticked("2026-02-01"),
        &reworded,
        TASKS.replace(
            "[ ] Build login",
            "[x] Build login page (completed 2026-02-01)",
        ),
    );
    both(&ticked("2026-02-01"), &removed, ticked("2026-02-01"));
    both(&removed, TASKS, removed.clone());
    both(
        &ticked("2026-02-01"),
        &moved,
        moved.replace("[ ] Build login", "[x] Build login (completed 2026-02-01)"),
    );
    both(
        &moved,
        &removed.replace("docs", "the docs"),
        moved.replace("docs", "the docs"),
    );
    let (text, conflicts) = merge(&reworded, &removed);
    assert_eq!(conflicts, 1);
    assert!(
        text.contains(
            "<<<<<<< ours\n- [ ] Build login page\n=======\n>>>>>>> theirs\n- [ ] Write docs"
        ),
        "{text}"
    );
    let other = TASKS.replace("Build login", "Build login form");
    assert_eq!(merge(&reworded, &other).1, 1);
}

#[test]
fn new_tasks_and_sections_of_both_sides() {
    let ours = TASKS.replace(
        "- [ ] Write docs\n",
        "- [ ] Write docs\n- [ ] Ours\n\n### Blocked\n- [ ] Key\n",
    );
    let theirs = TASKS.replace(
        "- [ ] Write docs\n",
        "- [ ] Write docs\n- [ ] Theirs\n\n### Blocked\n- [ ] Door\n",
    );
    check(
        MergeKind::Progress,
        TASKS,
        &ours,
        &theirs,
        "# Progress\n\n### In Progress\n- [ ] Build login\n- [ ] Write docs\n- [ ] Ours\n- [ ] Theirs\n\n\
         ### Blocked\n- [ ] Key\n- [ ] Door\n\n### Completed\n- [x] Plan (completed 2026-01-01)\n",
    );
}

#[test]
fn what_is_nested_is_merged_item_by_item() {
    let base = "- [ ] Ship\n  - [ ] one\n  - [ ] two\n";
    check(
        MergeKind::Progress,
        base,
        "- [ ] Ship\n  - [x] one\n  - [ ] two\n",
        "- [ ] Ship\n  - [ ] one\n  - [x] two\n  - [ ] three\n",
        "- [ ] Ship\n  - [x] one\n  - [x] two\n  - [ ] three\n",
    );
}

#[test]
fn pointers_unite_by_their_target() {
    let base = "# Memory\n\n- [A](a.md) — one\n";
    check(
        MergeKind::Pointers,
        base,
        "# Memory\n\n- [A](a.md) — better\n- [B](b.md) — two\n",
        "# Memory\n\n- [A](a.md) — one\n- [B](b.md) — two\n- [C](c.md) — three\n",
        "# Memory\n\n- [A](a.md) — better\n- [B](b.md) — two\n- [C](c.md) — three\n",
    );
    let got = merged(
        MergeKind::Pointers,
        base,
        &format!("{base}- [B](b.md) — this\n"),
        &format!("{base}- [B](b.md) — that\n"),
    );
    assert_eq!(got.conflicts, 1);
}

#[test]
fn the_count_of_what_overflowed_is_no_conflict() {
    let with =
        |count: &str| format!("- [A](a.md) — one\n- [{count}](MEMORY-more.md) — look there\n");
    check(
        MergeKind::Pointers,
        &with("1 more memory"),
        &with("2 more memories"),
        &with("3 more memories"),
        &with("2 more memories"),
    );
}

#[test]
fn learnings_with_and_without_rules() {
    let base = "# x - Learnings\n\n> Accumulated\n\n---\n_2026-01-01_\n● **Success**: it\n";
    let one = |text: &str| format!("{base}\n---\n_2026-01-02_\n→ **Tip**: {text}\n\nTags: `a`\n");
    check(
        MergeKind::Learnings,
        base,
        &one("ours"),
        &one("theirs"),
        &format!(
            "{}\n---\n_2026-01-02_\n→ **Tip**: theirs\n\nTags: `a`\n",
            one("ours")
        ),
    );
}

#[test]
fn state_is_merged_by_section_and_dates_are_no_conflict() {
    let base = "# Project State\n\n## Current Phase\nP1\n\n## Blocked Items\nNone.\n\n## Last Updated\n2026-01-01\n";
    let ours = base.replace("P1", "P2").replace("2026-01-01", "2026-01-05");
    let theirs = base
        .replace("None.", "- a key")
        .replace("2026-01-01", "2026-01-03");
    check(
        MergeKind::State,
        base,
        &ours,
        &theirs,
        "# Project State\n\n## Current Phase\nP2\n\n## Blocked Items\n- a key\n\n## Last Updated\n2026-01-05\n",
    );
    let other = base.replace("P1", "P3");
    let got = merged(MergeKind::State, base, &ours, &other);
    assert_eq!(got.conflicts, 1);
    assert!(
        got.text
            .contains("## Current Phase\n<<<<<<< ours\nP2\n=======\nP3\n>>>>>>> theirs\n"),
        "{}",
        got.text
    );
}

#[test]
fn bytes_that_nobody_touched_stay() {
    let base = "\u{feff}# Decision Log\r\n\r\n<!-- mine -->\r\n\r\n```\r\n## DEC-009: no\r\n```\r\n\r\n\r\n## DEC-001: One  \r\n- a\t\r\n";
    let ours = format!("{base}\r\n## DEC-002: Two\r\n- b\r\n");
    let theirs = format!("{base}\r\n## DEC-003: Three\r\n- c");
    check(
        MergeKind::Decisions,
        base,
        &ours,
        &theirs,
        &format!("{ours}\r\n## DEC-003: Three\r\n- c"),
    );
}

#[test]
fn what_cannot_be_told_apart_is_left_to_git() {
    let open = format!("{DECISIONS}```\nnever closed\n");
    let other = format!("{DECISIONS}{}", decision(2, "Two", ""));
    assert_eq!(
        merge_texts(MergeKind::Decisions, DECISIONS, &open, &other),
        Err(MergeRefusal::Unsafe)
    );
    let marked = format!("{DECISIONS}<<<<<<< HEAD\n");
    assert_eq!(
        merge_texts(MergeKind::Decisions, DECISIONS, &marked, &other),
        Err(MergeRefusal::Markers)
    );
}

#[test]
fn renamed_headings_pair_in_one_order() {
    // Whether the inner headings pair depends on the outer ones, and tables
    // with a seed of their own gave now this and now that.
    let base = "# C\n---\nx\n### A\n\n<!-- c -->\n---\n  - [ ] cb\ny\n## D\n";
    let ours = "# C\n## C\nx\n### A\n\n---\n  - [ ] cb\n## E\n- [ ] c\ny\n## D\n";
    let theirs = "a\n---\nx\n# B\nd\n### A\n\n<!-- c -->\n---\n  - [ ] cb\ny\n\n";
    let first = merge_texts(MergeKind::State, base, ours, theirs);
    for _ in 0..50 {
        assert_eq!(merge_texts(MergeKind::State, base, ours, theirs), first);
    }
}

#[test]
fn names_tell_what_a_file_holds() {
    for (path, kind) in [
        (".mind/SESSION-LOG.md", Some(MergeKind::Sessions)),
        ("memory/decisions.md", Some(MergeKind::Decisions)),
        (".agents/memory/a/b/MEMORY.md", Some(MergeKind::Pointers)),
        ("src/a.md", None),
    ] {
        assert_eq!(MergeKind::from_path(path), kind, "{path}");
    }
}

/// What makes an entry itself: its text without its own number.
fn entries(kind: MergeKind, text: &str) -> BTreeSet<String> {
    let document = document::parse_document(text);
    let units = units::split_pieces(&document, kind).units;
    let entries = units.iter().filter(|it| {
        matches!(
            it.what,
            units::MergeUnitKind::Entry | units::MergeUnitKind::Item
        )
    });
    entries.map(|it| it.same.clone()).collect()
}

fn numbers_of(kind: MergeKind, text: &str) -> Vec<String> {
    let document = document::parse_document(text);
    let units = units::split_pieces(&document, kind).units;
    let numbered = units.iter().filter(|it| it.numbered.is_some());
    numbered.map(|it| it.key.clone()).collect()
}

fn kind() -> impl Strategy<Value = MergeKind> {
    prop::sample::select(vec![
        MergeKind::Sessions,
        MergeKind::Decisions,
        MergeKind::Progress,
        MergeKind::Archive,
        MergeKind::Pointers,
        MergeKind::Learnings,
        MergeKind::State,
    ])
}

fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => "[a-z $|#>*`~\\[\\]()!-]{0,20}",
        2 => Just(String::new()),
        1 => Just("```".to_owned()),
        1 => Just("<!-- c -->".to_owned()),
        1 => Just("---".to_owned()),
        1 => Just("None.".to_owned()),
        2 => "- \\[[ x]\\] [a-c]{1,2}",
        1 => "  - \\[[ x]\\] [a-c]{1,2}",
        1 => "- \\[[a-c]\\]\\([a-c].md\\) — [a-c]",
        1 => "#{1,3} [A-C]",
        2 => "## DEC-00[1-4]: [a-c]",
        1 => "- \\*\\*Formerly:\\*\\* DEC-00[1-4]",
        1 => "see DEC-00[1-4]",
        2 => "## Session [1-4] — 2026-01-0[1-9]",
        1 => "## 2026-01-0[1-9] - [a-c]",
        1 => "\\*\\*2026-01-0[1-9]\\*\\* - [a-c]",
        1 => Just("日本語 é".to_owned()),
    ]
}

fn text() -> impl Strategy<Value = String> {
    (
        prop::collection::vec(line(), 0..14),
        prop_oneof![4 => Just("\n"), 1 => Just("\r\n")],
        prop_oneof![3 => Just(true), 1 => Just(false)],
    )
        .prop_map(|(lines, end, closed)| lines.join(end) + if closed { end } else { "" })
}

/// A version of a text: some lines gone, some new.
fn edited(base: String) -> impl Strategy<Value = String> {
    let lines: Vec<String> = base.split_inclusive('\n').map(str::to_owned).collect();
    let count = lines.len();
    (
        prop::collection::vec(prop::bool::weighted(0.85), count),
        prop::collection::vec((0..=count, line()), 0..5),
    )
        .prop_map(move |(keep, added)| {
            let mut out = String::new();
            for at in 0..=count {
                for (_, line) in added.iter().filter(|it| it.0 == at) {
                    out.push_str(line);
                    out.push('\n');
                }
                if at < count && keep[at] {
                    out.push_str(&lines[at]);
                }
            }
            out
        })
}

fn versions() -> impl Strategy<Value = (String, String, String)> {
    text().prop_flat_map(|base| (Just(base.clone()), edited(base.clone()), edited(base)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn pieces_are_the_whole_file(kind in kind(), text in text()) {
        let document = document::parse_document(&text[..]);
        let pieces = units::split_pieces(&document, kind);
        let mut again = String::new();
        for (gap, unit) in pieces.gaps.iter().zip(&pieces.units) {
            prop_assert!(gap.trim().is_empty(), "{gap:?}");
            again.push_str(gap);
            again.push_str(unit.text);
        }
        again.push_str(pieces.gaps[pieces.units.len()]);
        prop_assert_eq!(again, text);
    }

    #[test]
    fn one_side_alone_is_the_result(kind in kind(), base in text(), side in text()) {
        for (ours, theirs) in [(&side, &side), (&base, &side), (&side, &base)] {
            prop_assert_eq!(&merged(kind, &base, ours, theirs).text, &side);
        }
    }

    #[test]
    fn nothing_that_anyone_added_is_lost(kind in kind(), (base, ours, theirs) in versions()) {
        let Ok(got) = merge_texts(kind, &base, &ours, &theirs) else { return Ok(()) };
        prop_assert_eq!(&merge_texts(kind, &base, &ours, &theirs).expect("again"), &got);
        if got.conflicts > 0 {
            return Ok(());
        }
        // Every line that is new on a side is in the result, but for names and
        // boxes, which follow other rules.
        let plain = |line: &str| line.trim().len() > 1 && !line.contains("DEC-")
            && !line.contains("Session") && !line.contains("- [") && line.trim() != "None.";
        for side in [&ours, &theirs] {
            let new = side.lines().filter(|line| plain(line) && !base.contains(line.trim()));
            for line in new {
                prop_assert!(got.text.contains(line.trim()), "{line:?} is gone from\n{}", got.text);
            }
        }
        // A number that was unique on each side is unique.
        let unique = |text: &str| {
            let all = numbers_of(kind, text);
            all.iter().collect::<BTreeSet<_>>().len() == all.len()
        };
        if unique(&base) && unique(&ours) && unique(&theirs) {
            prop_assert!(unique(&got.text), "{}", got.text);
        }
        // Merged with either parent from there on, nothing changes.
        for parent in [&ours, &theirs] {
            prop_assert_eq!(&merged(kind, parent, &got.text, parent).text, &got.text);
            prop_assert_eq!(&merged(kind, parent, parent, &got.text).text, &got.text);
        }
    }
}

/// A log or a list of decisions with entries of its own behind a common part.
fn with_entries(kind: MergeKind, common: usize, own: &[String]) -> String {
    let mut text = "# Log\n".to_owned();
    for number in 1..=common + own.len() {
        let said = if number <= common {
            format!("common {number}")
        } else {
            own[number - common - 1].clone()
        };
        text.push_str(&match kind {
            MergeKind::Decisions => decision(number, &said, ""),
            _ => session(number, &said),
        });
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_order_of_merges_gives_the_same_entries(
        kind in prop::sample::select(vec![MergeKind::Sessions, MergeKind::Decisions]),
        common in 0usize..4,
        counts in prop::collection::vec(1usize..4, 2..6),
        order in any::<prop::sample::Index>(),
    ) {
        let base = with_entries(kind, common, &[]);
        let branches: Vec<String> = counts
            .iter()
            .enumerate()
            .map(|(branch, count)| {
                let own: Vec<String> = (0..*count).map(|it| format!("of {branch} no {it}")).collect();
                with_entries(kind, common, &own)
            })
            .collect();
        let mut expected = entries(kind, &base);
        branches.iter().for_each(|it| expected.extend(entries(kind, it)));
        let mut turned = branches.clone();
        turned.rotate_left(order.index(branches.len()));
        let mut results = Vec::new();
        for branches in [branches, turned] {
            let mut main = base.clone();
            for branch in &branches {
                let got = merged(kind, &base, &main, branch);
                prop_assert_eq!(got.conflicts, 0);
                main = got.text;
                // The same branch once more, from the old base, adds nothing.
                prop_assert_eq!(&merged(kind, &base, &main, branch).text, &main);
            }
            let numbers = numbers_of(kind, &main);
            prop_assert_eq!(numbers.iter().collect::<BTreeSet<_>>().len(), numbers.len());
            prop_assert_eq!(numbers.len(), expected.len());
            results.push(entries(kind, &main));
        }
        prop_assert_eq!(&results[0], &expected);
        prop_assert_eq!(&results[1], &expected);
    }
}

#[test]
fn what_would_hide_a_marker_is_left_to_git() {
    let (base, ours, theirs) = ("- a\n", "- a\n- b\n", "\u{feff}- c\n");
    assert_eq!(
        merge_texts(MergeKind::Pointers, base, ours, theirs),
        Err(MergeRefusal::Unsafe)
    );
    let theirs = "- \rc\n";
    assert_eq!(
        merge_texts(MergeKind::Pointers, base, ours, theirs),
        Err(MergeRefusal::Unsafe)
    );
}

#[test]
fn the_name_of_a_file_decides_how_it_is_merged() {
    let sessions = Some(MergeKind::Sessions);
    let pointers = Some(MergeKind::Pointers);
    for (path, kind) in [
        (".mind/STATE-archive.md", sessions),
        (".mind/STATE-2-archive.md", sessions),
        ("memory/status-archive.md", sessions),
        ("knowledge/README.md", pointers),
        ("apps\\web\\knowledge\\README.md", pointers),
        ("knowledge/_FORGOTTEN.md", pointers),
        (".mind/IDEAS.md", Some(MergeKind::Ideas)),
        ("scratch/ideas.md", Some(MergeKind::Ideas)),
        ("README.md", None),
        ("docs/README.md", None),
        ("my-knowledge/README.md", None),
        ("docs/state-of-the-art-archive.md", None),
    ] {
        assert_eq!(MergeKind::from_path(path), kind, "{path}");
    }
}

/// Ideas share their last line, which belongs to each of them.
#[test]
fn ideas_of_both_sides_stay_whole() {
    let base = "---\ntags: [inbox]\n---\n# Ideas\n";
    let idea = |name: &str| {
        format!("\n### {name} - 2026-03-01\n\n{name}.\n\n-> Suggested route: unrouted\n")
    };
    let first = base.to_owned() + &idea("First");
    for base in [base, &first] {
        let got = merged(
            MergeKind::Ideas,
            base,
            &(base.to_owned() + &idea("Ours")),
            &(base.to_owned() + &idea("Theirs")),
        );
        assert_eq!(got.text, base.to_owned() + &idea("Ours") + &idea("Theirs"));
        assert_eq!(got.conflicts, 0);
    }
    // Each made the inbox with its first idea.
    let ours = base.to_owned() + &idea("Ours");
    let theirs = base.to_owned() + &idea("Theirs");
    let expect = ours.clone() + &idea("Theirs");
    check(MergeKind::Ideas, "", &ours, &theirs, &expect);
    let ours = first.replace("First.", "First, by us.");
    let theirs = first.replace("First.", "First, by them.");
    assert_eq!(
        merged(MergeKind::Ideas, &first, &ours, &theirs).conflicts,
        1
    );
}
