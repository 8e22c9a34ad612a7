//! Decisions that end others.

use proptest::prelude::*;

use super::*;
use crate::mind::decisions::supersede::mark_superseded_decisions;

/// The pairs of lines that are found, older first.
#[track_caller]
fn check(text: &str, expect: &[(usize, usize)]) {
    let it = Fixture::new("//- _MANIFEST.md\n# M\n");
    it.files.write("memory/decisions.md", text);
    let found = it.mind().find_supersessions().unwrap();
    let found: Vec<_> = found
        .iter()
        .map(|it| (it.older.line, it.newer.line))
        .collect();
    assert_eq!(found, expect, "{text}");
}

#[test]
fn what_is_said_in_words_is_found() {
    check(
        "**2026-01-03** - Use MySQL for storage\n**2026-02-01** - Use Postgres instead of MySQL\n",
        &[(1, 2)],
    );
    check(
        "**2026-01-03** - Deploy every Friday\n**2026-02-01** - We no longer deploy on Fridays\n",
        &[(1, 2)],
    );
    check(
        "**2026-01-03** - Tickets live in Jira\n**2026-01-04** - Lunch at noon\n**2026-02-01** - Dropped Jira, tickets live in the repository\n",
        &[(1, 3)],
    );
    check(
        "**2026-01-03** - Tickets live in Jira\n**2026-02-01** - The Jira board is no longer used\n",
        &[(1, 2)],
    );
    check(
        "**2026-01-03** - Ship monthly\n**2026-01-03** - Sleep\n**2026-02-01** - Ship weekly; replaces the decision of 2026-01-03 to ship monthly\n",
        &[(1, 3)],
    );
}

#[test]
fn ids_and_dates_are_as_good_as_words() {
    check(
        "## DEC-001: Queue\n- **Decision:** RabbitMQ\n\n## DEC-002: Work\n- **Decision:** In the database. Supersedes DEC-001.\n",
        &[(1, 4)],
    );
    check(
        "**2026-01-03** - Blue\n**2026-02-01** - Green, replaces 2026-01-03\n",
        &[(1, 2)],
    );
}

#[test]
fn what_is_merely_alike_is_left_alone() {
    for text in [
        // The same subject without a word that ends anything.
        "**2026-01-03** - Use MySQL for storage\n**2026-02-01** - MySQL runs on port 3307\n",
        // What is chosen is not what ends.
        "**2026-01-03** - Postgres for analytics\n**2026-02-01** - Use Postgres instead of MySQL\n",
        // One plain word in common.
        "**2026-01-03** - Monthly invoices go to Ann\n**2026-02-01** - Ship weekly instead of monthly\n",
        // A later decision is not ended by an earlier one.
        "**2026-01-03** - Use Postgres instead of MySQL\n**2026-02-01** - MySQL for the archive\n",
        // It ended MySQL itself and is not about it.
        "**2026-01-03** - Use Postgres instead of MySQL\n**2026-02-01** - Redis instead of MySQL\n",
        // Marked already, in either way.
        "~~**2026-01-03** - Use MySQL~~ (superseded 2026-02-01)\n**2026-02-01** - Use Postgres instead of MySQL\n",
        "**2026-01-03** - ~~Use MySQL~~ (superseded 2026-02-01)\n**2026-02-01** - Use Postgres instead of MySQL\n",
    ] {
        check(text, &[]);
    }
}

#[test]
fn marking_keeps_the_entry_and_happens_once() {
    let check = |text: &str, expect: &str| {
        let today = "2026-03-01".parse().unwrap();
        let (once, _) = mark_superseded_decisions(&"d.md", text.to_owned(), today).unwrap();
        assert_eq!(once, expect);
        let (twice, count) = mark_superseded_decisions(&"d.md", once.clone(), today).unwrap();
        assert_eq!((twice, count), (once, 0));
    };
    check(
        "# Decisions\r\n\r\n- **2026-01-03** - Use MySQL  \r\n- **2026-02-01** - Postgres instead of MySQL\r\n",
        "# Decisions\r\n\r\n- ~~**2026-01-03** - Use MySQL~~ (superseded 2026-02-01)  \r\n- **2026-02-01** - Postgres instead of MySQL\r\n",
    );
    check(
        "## Decisions\n1. Use ~~My~~SQL at Acme\n2. Postgres instead of Acme\n",
        "## Decisions\n1. Use ~~My~~SQL at Acme (superseded 2026-03-01)\n2. Postgres instead of Acme\n",
    );
    check(
        "## DEC-001: Queue\n- **Decision:** RabbitMQ\n- **Status:** Final\n\nMore.\n\n## DEC-002: Work\n- **Decision:** Replaces DEC-001\n",
        "## DEC-001: Queue\n- **Decision:** RabbitMQ\n- **Status:** Superseded by DEC-002 (was Final)\n\nMore.\n\n## DEC-002: Work\n- **Decision:** Replaces DEC-001\n",
    );
    check(
        "## DEC-001: Queue\n- **Decision:** RabbitMQ\n  on two machines\n\n## DEC-002: Work\n- **Decision:** Overrides DEC-001\n",
        "## DEC-001: Queue\n- **Decision:** RabbitMQ\n  on two machines\n- **Status:** Superseded by DEC-002\n\n## DEC-002: Work\n- **Decision:** Overrides DEC-001\n",
    );
}

fn decisions_file() -> impl Strategy<Value = String> {
    let fact = "(Use |Drop |)(MySQL|Jira|Redis|blue paint|~~x~~|`a`|é [a-z]{1,6})( instead of| no longer| replaces| dropped|)( MySQL| Jira| DEC-00[1-4]| blue paint| 2026-01-0[1-3]|)";
    let entry = (fact, 1..9u8, 0..5u8).prop_map(|(fact, day, form)| match form {
        0 | 1 => format!("**2026-01-0{day}** - {fact}"),
        2 => format!("- **2026-01-0{day}** - {fact}  "),
        3 => format!("\n## DEC-00{day}: {fact}\n- **Decision:** {fact}\n- **Status:** Final"),
        _ => format!("{day}. {fact}"),
    });
    (
        prop::collection::vec(entry, 0..12),
        prop_oneof![Just("\n"), Just("\r\n")],
    )
        .prop_map(|(lines, end)| {
            let text = format!("# Decisions\n\n{}\n", lines.join("\n"));
            text.replace('\n', end)
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn marking_twice_is_marking_once_and_loses_no_word(text in decisions_file()) {
        let today = "2026-03-01".parse().unwrap();
        // What would not be read as before is refused, and then nothing changes.
        if let Ok((once, _)) = mark_superseded_decisions(&"d.md", text.clone(), today) {
            let (twice, _) = mark_superseded_decisions(&"d.md", once.clone(), today).unwrap();
            prop_assert_eq!(&twice, &once);
            let words = |text: &str| -> Vec<String> {
                text.split(|c: char| !c.is_alphanumeric()).map(str::to_owned).collect()
            };
            let after = words(&once);
            let mut rest = after.iter();
            for word in words(&text).iter().filter(|it| !it.is_empty()) {
                prop_assert!(rest.any(|it| it == word), "{} is gone from\n{}", word, once);
            }
        }
    }
}

/// Decisions of one week about few things, and others.
fn long_file() -> impl Strategy<Value = String> {
    let fact = "(Printer|Paper|Jira|MySQL|tea)( paper| board| tea|)( instead of Jira| instead of MySQL| no longer tea|)( [a-z]{3,6}|)( ~~x~~|)";
    let entry = (fact, 1..28u8, prop::bool::ANY, 0..8u8).prop_map(|(fact, day, bullet, more)| {
        let mark = if bullet { "- " } else { "" };
        let more = match more {
            0 => "\n",
            1 => "\n  more of it",
            _ => "",
        };
        format!("{mark}**2026-01-{day:02}** - {fact}{more}")
    });
    (
        prop::collection::vec(entry, 0..24),
        prop_oneof![Just("\n"), Just("\r\n")],
    )
        .prop_map(|(lines, end)| {
            let text = format!("# Decisions\n\n{}\n", lines.join("\n"));
            text.replace('\n', end)
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn gathering_twice_is_gathering_once_and_loses_no_word(text in long_file()) {
        let before = crate::mind::decisions::parse_decisions(&document::parse_document(text.clone()));
        if let Ok((once, done)) = crate::mind::condense_decisions(&"d.md", text.clone()) {
            let (twice, again) = crate::mind::condense_decisions(&"d.md", once.clone()).unwrap();
            prop_assert!(again.is_noop(), "{:?}\n{}\n{}", again, once, twice);
            prop_assert_eq!(&twice, &once);
            let words = |text: &str| -> Vec<String> {
                let mut words: Vec<String> = text
                    .split(|c: char| !c.is_alphanumeric())
                    .map(str::to_owned)
                    .collect();
                words.sort();
                words
            };
            // The days of marks on what was taken in say what its new line says.
            let after = words(&once);
            for word in words(&text) {
                prop_assert!(after.binary_search(&word).is_ok(), "{} is gone from\n{}", word, once);
            }
            let left = crate::mind::decisions::parse_decisions(&document::parse_document(once.clone())).len();
            prop_assert_eq!(left + done.pairs, before.len(), "{}", once);
        }
    }
}

/// A file of decisions may be as long as somebody makes it: neither the check
/// that no word is lost nor the comparison of decisions reads it again for
/// each of them.
#[test]
fn very_many_decisions_are_gathered_and_marked() {
    const MANY: usize = 8_000;
    let today = "2026-03-01".parse().unwrap();
    let one_day: String = (0..MANY)
        .map(|i| {
            format!(
                "**2026-01-02** - Take way{i} of thing{}, replaces way{} of 2026-01-02\n",
                i / 2,
                i / 3
            )
        })
        .collect();
    let (after, done) = crate::mind::condense_decisions(&"d.md", one_day.clone()).unwrap();
    assert!(done.pairs > 0, "{done:?}");
    let left = crate::mind::decisions::parse_decisions(&document::parse_document(after));
    assert_eq!(left.len() + done.pairs, MANY);
    let (marked, count) = mark_superseded_decisions(&"d.md", one_day, today).unwrap();
    assert!(count > 0);
    assert_eq!(marked.matches("(superseded 2026-01-02)").count(), count);
}
