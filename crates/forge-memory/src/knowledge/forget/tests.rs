use super::*;
use crate::knowledge::fresh::{IndexOpening, open_fresh};
use crate::retractions::{ABOUT_DOCUMENTS as ABOUT, DOCUMENTS_OPENING as TITLE};
use proptest::prelude::*;
use std::time::Duration;
use testkit::TestWorkspace;

const NOW: &str = "2026-03-01T09:00:00Z";

fn now() -> Timestamp {
    NOW.parse().unwrap()
}

/// A workspace, open, with an index of it.
fn open(ws: &TestWorkspace) -> (Workspace, Index) {
    let workspace = Workspace::open(ws.root()).unwrap();
    let mut opening = IndexOpening {
        now: now(),
        wait: Duration::from_secs(1),
        force: false,
        progress: &mut |_, _| {},
    };
    let index = open_fresh(&workspace, &mut opening).unwrap().index;
    (workspace, index)
}

fn one(path: &str) -> ForgetChoice {
    ForgetChoice {
        path: path.to_owned(),
        importance: 5,
        count: 0,
        last: None,
        reason: "by hand".to_owned(),
    }
}

fn paths(chosen: &[ForgetChoice]) -> Vec<&str> {
    chosen.iter().map(|c| c.path.as_str()).collect()
}

/// Ten days ago to today, by number of uses and importance.
const FIVE: &str = "
    //- knowledge/README.md
    # Index
    //- knowledge/key.md
    ---
    importance: 8
    ---
    never forget
    //- knowledge/low.md
    ---
    importance: 2
    ---
    low
    //- knowledge/often.md
    often
    //- knowledge/old.md
    old
    //- knowledge/never.md
    never
    //- knowledge/archive/x.md
    put away
";

fn used(index: &Index) {
    index.record_uses(&["knowledge/often.md"], "2026-02-28T00:00:00Z");
    index.record_uses(&["knowledge/often.md"], "2026-02-28T00:00:00Z");
    index.record_uses(&["knowledge/low.md"], "2026-02-28T00:00:00Z");
    index.record_uses(&["knowledge/old.md"], "2026-01-01T00:00:00Z");
}

#[test]
fn least_important_then_least_used_then_oldest() {
    let ws = TestWorkspace::files(FIVE);
    let (workspace, index) = open(&ws);
    used(&index);
    let check = |wanted: ForgetRequest, expect: &[&str]| {
        let chosen = choose_documents(&workspace, &index, &wanted, now()).unwrap();
        assert_eq!(paths(&chosen), expect, "{wanted:?}");
    };
    let files = |n| ForgetRequest {
        max_files: Some(n),
        ..ForgetRequest::default()
    };
    let days = |n| ForgetRequest {
        max_age_days: Some(n),
        ..ForgetRequest::default()
    };
    check(files(5), &[]);
    check(files(4), &["knowledge/low.md"]);
    check(
        files(2),
        &["knowledge/low.md", "knowledge/never.md", "knowledge/old.md"],
    );
    check(days(30), &["knowledge/never.md", "knowledge/old.md"]);
    check(
        ForgetRequest {
            max_files: Some(4),
            max_age_days: Some(30),
            paths: vec![RelPath::new("knowledge/old.md").unwrap()],
            reason: None,
        },
        &["knowledge/old.md", "knowledge/never.md", "knowledge/low.md"],
    );
}

#[test]
fn k12_zero_is_a_number() {
    let ws = TestWorkspace::files(FIVE);
    let (workspace, index) = open(&ws);
    used(&index);
    let all = [
        "knowledge/low.md",
        "knowledge/never.md",
        "knowledge/old.md",
        "knowledge/often.md",
    ];
    for wanted in [
        ForgetRequest {
            max_files: Some(0),
            ..ForgetRequest::default()
        },
        ForgetRequest {
            max_age_days: Some(0),
            ..ForgetRequest::default()
        },
    ] {
        let chosen = choose_documents(&workspace, &index, &wanted, now()).unwrap();
        assert_eq!(paths(&chosen), all, "{wanted:?}");
    }
}

#[test]
fn what_cannot_be_forgotten_is_refused_with_the_reason() {
    let ws = TestWorkspace::files(FIVE);
    let (workspace, index) = open(&ws);
    let check = |path: &str, expect: &str| {
        let wanted = ForgetRequest {
            paths: vec![RelPath::new(path).unwrap()],
            ..ForgetRequest::default()
        };
        let refused = choose_documents(&workspace, &index, &wanted, now()).unwrap_err();
        assert_eq!(refused.to_string(), expect);
    };
    check(
        "knowledge/key.md",
        "`knowledge/key.md` has importance 8, and from 8 on nothing is forgotten",
    );
    check(
        "knowledge/nope.md",
        "There is no document `knowledge/nope.md`",
    );
    check(
        "knowledge/README.md",
        "`knowledge/README.md` is not a document of `knowledge/`, and only those are forgotten",
    );
    check(
        "CLAUDE.md",
        "`CLAUDE.md` is not a document of `knowledge/`, and only those are forgotten",
    );
}

#[test]
fn the_list_reads_like_a_note() {
    let ws = TestWorkspace::files("//- knowledge/old billing.md\nx\n");
    let workspace = Workspace::open(ws.root()).unwrap();
    forget_documents(&workspace, &[one("knowledge/old billing.md")], now()).unwrap();
    assert_eq!(
        ws.read(RETRACTION_LIST),
        format!(
            "{TITLE}{ABOUT}- [knowledge/old billing.md](old%20billing.md) — forgotten 2026-03-01: by hand\n"
        )
    );
    assert_eq!(
        list_tombstones(&workspace).unwrap(),
        [Tombstone {
            path: "knowledge/old billing.md".to_owned(),
            date: Some("2026-03-01".parse().unwrap()),
            reason: Some("by hand".to_owned()),
            exists: true,
            line: 5,
        }]
    );
}

#[test]
fn hand_edits_stay_byte_for_byte() {
    let by_hand = "\u{feff}# Gone\r\n\r\nSee [the policy](policy.md).\r\n\r\n* [a](a.md)\r\n- [b](<b b.md>) too old \r\n<!-- mine -->";
    let ws = TestWorkspace::empty();
    ws.write(RETRACTION_LIST, by_hand);
    let workspace = Workspace::open(ws.root()).unwrap();
    let named: Vec<_> = list_tombstones(&workspace)
        .unwrap()
        .into_iter()
        .map(|t| (t.path, t.reason))
        .collect();
    assert_eq!(
        named,
        [
            ("knowledge/a.md".to_owned(), None),
            ("knowledge/b b.md".to_owned(), Some("too old".to_owned())),
        ]
    );
    forget_documents(&workspace, &[one("knowledge/c.md")], now()).unwrap();
    let line = "- [knowledge/c.md](c.md) — forgotten 2026-03-01: by hand\r\n";
    assert_eq!(ws.read(RETRACTION_LIST), format!("{by_hand}\r\n{line}"));
    let b = [RelPath::new("knowledge/b b.md").unwrap()];
    restore_documents(&workspace, Some(&b), now()).unwrap();
    let without = by_hand.replace("- [b](<b b.md>) too old \r\n", "");
    assert_eq!(ws.read(RETRACTION_LIST), format!("{without}\r\n{line}"));
}

#[test]
fn a_list_that_would_swallow_the_line_is_left_alone() {
    let ws = TestWorkspace::files("//- knowledge/_FORGOTTEN.md\n```\nopen\n");
    let workspace = Workspace::open(ws.root()).unwrap();
    let before = ws.tree_of_sources();
    let refused = forget_documents(&workspace, &[one("knowledge/a.md")], now()).unwrap_err();
    assert!(matches!(refused, ForgetError::OpenEnded), "{refused}");
    assert_eq!(ws.tree_of_sources(), before);
}

#[test]
fn restoring_what_is_not_forgotten_says_so() {
    let ws = TestWorkspace::files("//- knowledge/a.md\nx\n");
    let workspace = Workspace::open(ws.root()).unwrap();
    let a = [RelPath::new("knowledge/a.md").unwrap()];
    let refused = restore_documents(&workspace, Some(&a), now()).unwrap_err();
    assert_eq!(refused.to_string(), "`knowledge/a.md` is not forgotten");
    assert_eq!(
        restore_documents(&workspace, None, now()).unwrap().0,
        Vec::<String>::new()
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_name_is_forgotten_and_restored(
        names in prop::collection::hash_set("[a-z ()\\[\\]<>#%&*_`!'é日.-]{1,10}", 1..5),
        reason in "[ -~\n]{0,40}",
    ) {
        let ws = TestWorkspace::empty();
        let workspace = Workspace::open(ws.root()).unwrap();
        let mut chosen: Vec<ForgetChoice> = Vec::new();
        for name in names {
            if let Ok(path) = RelPath::new(&format!("knowledge/{name}.md")) {
                chosen.push(ForgetChoice { reason: reason.clone(), ..one(path.as_str()) });
            }
        }
        forget_documents(&workspace, &chosen, now()).unwrap();
        let gone = read_forgotten_paths(&workspace).unwrap();
        let expect: HashSet<String> = chosen.iter().map(|c| c.path.clone()).collect();
        prop_assert_eq!(&gone, &expect);
        // Twice is once.
        let first = ws.read(RETRACTION_LIST);
        let dates: Vec<_> = list_tombstones(&workspace).unwrap().into_iter().map(|t| t.date).collect();
        prop_assert!(dates.iter().all(Option::is_some), "{}", first);
        let (restored, _) = restore_documents(&workspace, None, now()).unwrap();
        prop_assert_eq!(restored.len(), expect.len());
        prop_assert_eq!(ws.read(RETRACTION_LIST), format!("{TITLE}{ABOUT}"));
    }
}
