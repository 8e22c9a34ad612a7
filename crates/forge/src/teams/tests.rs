use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

#[track_caller]
fn merged(kind: Kind, base: &str, ours: &str, theirs: &str) -> Merged {
    merge(kind, base, ours, theirs).expect("they can be merged")
}

/// A clean merge gives this text.
#[track_caller]
fn check(kind: Kind, base: &str, ours: &str, theirs: &str, expect: &str) {
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
        Kind::Sessions,
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
        Kind::Sessions,
        base,
        &with("2026-01-03", "ours"),
        &with("2026-01-02", "theirs"),
        "# Session Log\n\n---\n\n## 2026-01-03 - ours\n- b\n\n---\n\n## 2026-01-02 - theirs\n- b\n\n---\n\n\
         ## 2026-01-01 - first\n- a\n\n---\n",
    );
}

const DECISIONS: &str = "# Decision Log\n\n## DEC-001: One\n- **Decision:** a\n- **Status:** Final\n";

fn decision(number: usize, title: &str, more: &str) -> String {
    format!("\n## DEC-{number:03}: {title}\n- **Decision:** {title} it is{more}\n")
}

#[test]
fn a_decision_under_a_taken_id_gets_the_next_and_keeps_the_old_findable() {
    let ours = format!("{DECISIONS}{}", decision(2, "Ours", ""));
    let theirs = DECISIONS.replace("Final", "Superseded by DEC-002")
        + &decision(2, "Theirs", "")
        + &decision(3, "More", ", see DEC-002 and `DEC-002`");
    let got = merged(Kind::Decisions, DECISIONS, &ours, &theirs);
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
    let again = merged(Kind::Decisions, &theirs, &got.text, &next);
    assert_eq!(again.text, got.text.replace("Theirs it is", "Theirs it is, still"));
    // Once more from the old base adds nothing.
    let twice = merged(Kind::Decisions, DECISIONS, &got.text, &theirs);
    assert_eq!(twice.text, got.text);
    let twice = merged(Kind::Decisions, DECISIONS, &theirs, &got.text);
    assert_eq!(twice.text, got.text);
}

#[test]
fn an_entry_that_both_edited_is_the_only_conflict() {
    let base = format!("{DECISIONS}{}", decision(2, "Two", ""));
    let ours = base.replace("- **Decision:** a", "- **Decision:** b") + &decision(3, "New", "");
    let theirs = base.replace("- **Decision:** a", "- **Decision:** c");
    let got = merged(Kind::Decisions, &base, &ours, &theirs);
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
    let ours = base.replace("**2026-01-01** - one", "~~**2026-01-01** - one~~ (superseded 2026-02-01)");
    let theirs = format!("{base}**2026-01-03** - three\n");
    check(
        Kind::Decisions,
        base,
        &ours,
        &theirs,
        "# Decisions\n\n~~**2026-01-01** - one~~ (superseded 2026-02-01)\n**2026-01-02** - two\n**2026-01-03** - three\n",
    );
}

#[test]
fn compression_on_one_side_and_a_new_entry_on_the_other() {
    let base = format!("{DECISIONS}{}{}", decision(2, "Two", ""), decision(3, "Three", ""));
    let ours = format!(
        "# Decision Log\n\n## Archived Decisions (compressed)\n- DEC-001: One [Final] → ARCHIVE.md\n{}{}",
        decision(2, "Two", ""),
        decision(3, "Three", "")
    );
    let theirs = format!("{base}{}", decision(4, "Four", ""));
    check(
        Kind::Decisions,
        &base,
        &ours,
        &theirs,
        &format!("{ours}{}", decision(4, "Four", "")),
    );
    check(
        Kind::Decisions,
        &base,
        &theirs,
        &ours,
        &format!("{ours}{}", decision(4, "Four", "")),
    );
    // What was edited meanwhile stays, and its line in the list goes.
    let edited = base.replace("Final", "Superseded");
    let got = merged(Kind::Decisions, &base, &ours, &edited);
    assert_eq!(got.conflicts, 0, "{}", got.text);
    assert!(got.text.contains("Superseded") && !got.text.contains("→ ARCHIVE"), "{}", got.text);
}

const TASKS: &str = "# Progress\n\n### In Progress\n- [ ] Build login\n- [ ] Write docs\n\n### Completed\n- [x] Plan (completed 2026-01-01)\n";

#[test]
fn tasks_by_every_pair_of_edits() {
    let ticked = |date: &str| {
        TASKS.replace("[ ] Build login", &format!("[x] Build login (completed {date})"))
    };
    let reworded = TASKS.replace("Build login", "Build login page");
    let removed = TASKS.replace("- [ ] Build login\n", "");
    let moved = removed.replace("### Completed\n", "### Completed\n- [ ] Build login\n");
    let merge = |ours: &str, theirs: &str| {
        let got = merged(Kind::Progress, TASKS, ours, theirs);
        (got.text, got.conflicts)
    };
    let both = |one: &str, two: &str, expect: String| {
        assert_eq!(merge(one, two), (expect.clone(), 0));
        assert_eq!(merge(two, one), (expect, 0), "the other way");
    };
    both(&ticked("2026-02-01"), &ticked("2026-02-02"), ticked("2026-02-01"));
    both(
        &ticked("2026-02-01"),
        &reworded,
        TASKS.replace("[ ] Build login", "[x] Build login page (completed 2026-02-01)"),
    );
    both(&ticked("2026-02-01"), &removed, ticked("2026-02-01"));
    both(&removed, TASKS, removed.clone());
    both(
        &ticked("2026-02-01"),
        &moved,
        moved.replace("[ ] Build login", "[x] Build login (completed 2026-02-01)"),
    );
    both(&moved, &removed.replace("docs", "the docs"), moved.replace("docs", "the docs"));
    let (text, conflicts) = merge(&reworded, &removed);
    assert_eq!(conflicts, 1);
    assert!(text.contains("<<<<<<< ours\n- [ ] Build login page\n=======\n>>>>>>> theirs\n- [ ] Write docs"), "{text}");
    let other = TASKS.replace("Build login", "Build login form");
    assert_eq!(merge(&reworded, &other).1, 1);
}

#[test]
fn new_tasks_and_sections_of_both_sides() {
    let ours = TASKS.replace("- [ ] Write docs\n", "- [ ] Write docs\n- [ ] Ours\n\n### Blocked\n- [ ] Key\n");
    let theirs = TASKS.replace("- [ ] Write docs\n", "- [ ] Write docs\n- [ ] Theirs\n\n### Blocked\n- [ ] Door\n");
    check(
        Kind::Progress,
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
        Kind::Progress,
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
        Kind::Pointers,
        base,
        "# Memory\n\n- [A](a.md) — better\n- [B](b.md) — two\n",
        "# Memory\n\n- [A](a.md) — one\n- [B](b.md) — two\n- [C](c.md) — three\n",
        "# Memory\n\n- [A](a.md) — better\n- [B](b.md) — two\n- [C](c.md) — three\n",
    );
    let got = merged(
        Kind::Pointers,
        base,
        &format!("{base}- [B](b.md) — this\n"),
        &format!("{base}- [B](b.md) — that\n"),
    );
    assert_eq!(got.conflicts, 1);
}

#[test]
fn learnings_with_and_without_rules() {
    let base = "# x - Learnings\n\n> Accumulated\n\n---\n_2026-01-01_\n● **Success**: it\n";
    let one = |text: &str| format!("{base}\n---\n_2026-01-02_\n→ **Tip**: {text}\n\nTags: `a`\n");
    check(
        Kind::Learnings,
        base,
        &one("ours"),
        &one("theirs"),
        &format!("{}\n---\n_2026-01-02_\n→ **Tip**: theirs\n\nTags: `a`\n", one("ours")),
    );
}

#[test]
fn state_is_merged_by_section_and_dates_are_no_conflict() {
    let base = "# Project State\n\n## Current Phase\nP1\n\n## Blocked Items\nNone.\n\n## Last Updated\n2026-01-01\n";
    let ours = base.replace("P1", "P2").replace("2026-01-01", "2026-01-05");
    let theirs = base.replace("None.", "- a key").replace("2026-01-01", "2026-01-03");
    check(
        Kind::State,
        base,
        &ours,
        &theirs,
        "# Project State\n\n## Current Phase\nP2\n\n## Blocked Items\n- a key\n\n## Last Updated\n2026-01-05\n",
    );
    let other = base.replace("P1", "P3");
    let got = merged(Kind::State, base, &ours, &other);
    assert_eq!(got.conflicts, 1);
    assert!(got.text.contains("## Current Phase\n<<<<<<< ours\nP2\n=======\nP3\n>>>>>>> theirs\n"), "{}", got.text);
}

#[test]
fn bytes_that_nobody_touched_stay() {
    let base = "\u{feff}# Decision Log\r\n\r\n<!-- mine -->\r\n\r\n```\r\n## DEC-009: no\r\n```\r\n\r\n\r\n## DEC-001: One  \r\n- a\t\r\n";
    let ours = format!("{base}\r\n## DEC-002: Two\r\n- b\r\n");
    let theirs = format!("{base}\r\n## DEC-003: Three\r\n- c");
    check(
        Kind::Decisions,
        base,
        &ours,
        &theirs,
        &format!("{ours}\r\n## DEC-003: Three\r\n- c\r\n"),
    );
}

#[test]
fn what_cannot_be_told_apart_is_left_to_git() {
    let open = format!("{DECISIONS}```\nnever closed\n");
    let other = format!("{DECISIONS}{}", decision(2, "Two", ""));
    assert_eq!(merge(Kind::Decisions, DECISIONS, &open, &other), Err(NotMerged::Unsafe));
    let marked = format!("{DECISIONS}<<<<<<< HEAD\n");
    assert_eq!(merge(Kind::Decisions, DECISIONS, &marked, &other), Err(NotMerged::Markers));
}

#[test]
fn names_tell_what_a_file_holds() {
    for (path, kind) in [
        (".mind/SESSION-LOG.md", Some(Kind::Sessions)),
        ("memory/decisions.md", Some(Kind::Decisions)),
        (".agents/memory/a/b/MEMORY.md", Some(Kind::Pointers)),
        ("src/a.md", None),
    ] {
        assert_eq!(Kind::of(path), kind, "{path}");
    }
}
