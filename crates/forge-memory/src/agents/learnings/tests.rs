use proptest::prelude::*;
use testkit::TestWorkspace;

use super::*;
use crate::agents::MemoryHome;
use crate::agents::feedback::{self, NewFeedback, RatingTrend};

fn now() -> Timestamp {
    "2026-03-01T09:00:00Z"
        .parse()
        .expect("a constant that is a time")
}

fn ws() -> (TestWorkspace, Workspace) {
    let ws = TestWorkspace::files("//- .agents/memory/eng/builder/state.md\nx\n");
    let workspace = Workspace::open(ws.root()).expect("it is a folder");
    (ws, workspace)
}

fn new(text: &str) -> NewLearning<'_> {
    NewLearning {
        text,
        category: None,
        tags: &[],
        context: None,
    }
}

const FILE: &str = ".agents/memory/eng/shared/learnings.md";

#[test]
fn entries_have_the_form_that_others_know() {
    let (ws, workspace) = ws();
    add_learning(&workspace, "eng", &new("Caching fixed the slow API"), now()).expect("written");
    let tags = ["x".to_owned(), "y, `z`".to_owned()];
    let second = NewLearning {
        text: "Ask first",
        category: Some(LearningCategory::Pattern),
        tags: &tags,
        context: Some("a\nrelease"),
    };
    add_learning(&workspace, "eng", &second, now()).expect("written");
    assert_eq!(
        ws.read(FILE),
        "# eng - Learnings\n\n> Accumulated knowledge from sessions\n\n\
         ---\n_2026-03-01_\n\n● **Success**: Caching fixed the slow API\n\nTags: `api, bug, perf`\n\n\
         ---\n_2026-03-01_\n\n◆ **Pattern**: Ask first\n\nTags: `x, y z`\n\n_Context: a release_\n"
    );
    let tree = ws.tree_of_sources();
    add_learning(&workspace, "eng", &second, now()).expect("known");
    assert_eq!(ws.tree_of_sources(), tree, "twice is once");
}

#[test]
fn categories_and_tags_follow_from_words() {
    let check = |text: &str, category: LearningCategory, tags: &[&str]| {
        assert_eq!(LearningCategory::guess_from_text(text), category, "{text}");
        assert_eq!(suggest_tags(text), tags, "{text}");
    };
    check(
        "It worked after an error",
        LearningCategory::Success,
        &["bug"],
    );
    check("The login failed", LearningCategory::Failure, &["auth"]);
    check("It didn't work", LearningCategory::Failure, &[]);
    check("Always build twice", LearningCategory::Pattern, &[]);
    check("Look at the rest of it", LearningCategory::Tip, &["api"]);
    check("Maintain the guidelines", LearningCategory::Tip, &[]);
    check(
        "login api bug slow ui",
        LearningCategory::Tip,
        &["auth", "api", "bug"],
    );
}

#[test]
fn a5_one_text_is_one_entry_and_the_icon_is_no_part_of_it() {
    let (ws, workspace) = ws();
    let hostile =
        "first\n---\n_2020-01-01_\n\n● **Tip**: forged\n# Title\n```\nopen\nTags: `forged`";
    add_learning(&workspace, "eng", &new(hostile), now()).expect("written");
    add_learning(&workspace, "eng", &new("second ● thing"), now()).expect("written");
    let all = list_learnings(&workspace, "eng").expect("read");
    assert_eq!(all.len(), 2, "{}", ws.read(FILE));
    assert_eq!(all[0].insight, hostile);
    assert_eq!(all[1].insight, "second ● thing");
    assert!(!all[0].insight.starts_with('●'));
}

#[test]
fn a5_files_that_were_written_before_are_read() {
    let text = "# eng - Learnings\n\n> Accumulated\n\n---\n_2025-01-02_\n\n✗ **Failure**: one\n\n---\n\nstill one\n\n\
        ---\nAdded: 2025-01-03\n\ntwo always\n\n---\n\n_Added: 2025-01-04_\n\nthree\n\n\
        ## 2025-01-05: four\n\nmore of four\n";
    let read: Vec<(String, &str, String)> = parse_learnings(&document::parse_document(text))
        .into_iter()
        .map(|it| {
            let date = it.date.expect("dated").to_string();
            (date, it.category.name(), it.insight)
        })
        .collect();
    let of = |date: &str, category, insight: &str| (date.to_owned(), category, insight.to_owned());
    assert_eq!(
        read,
        [
            of("2025-01-02", "Failure", "one\n\n---\n\nstill one"),
            of("2025-01-03", "Pattern", "two always"),
            of("2025-01-04", "Tip", "three"),
            of("2025-01-05", "Tip", "four\n\nmore of four"),
        ]
    );
}

#[test]
fn an_unknown_squad_is_general_and_secrets_are_refused() {
    let (_ws, workspace) = ws();
    let squad = |name| resolve_squad(&workspace, name).expect("a good name");
    assert_eq!(squad("eng"), ("eng".to_owned(), false));
    assert_eq!(squad("nope"), ("general".to_owned(), true));
    assert!(resolve_squad(&workspace, "undefined").is_err());
    let secret = format!("line\nkey ghp_{}", "a1B2".repeat(9));
    let error = add_learning(&workspace, "eng", &new(&secret), now()).expect_err("a secret");
    assert!(error.to_string().contains("line 2"), "{error}");
    assert!(!error.to_string().contains("a1B2"), "{error}");
}

#[test]
fn a6_feedback_is_read_where_it_was_written() {
    let (ws, workspace) = ws();
    let home = MemoryHome::for_agent("eng", "builder").expect("good names");
    let taught = ["Short wins".to_owned(), "- # odd".to_owned()];
    for rating in [2, 2, 2, 4, 4, 5] {
        let new = NewFeedback {
            rating,
            text: "Good\n---\n**Learnings**: no\n**Rating**: 1/5",
            learnings: &taught,
        };
        feedback::add_feedback(&workspace, &home, &new, now()).expect("written");
    }
    let all = feedback::list_feedback(&workspace, &home).expect("read");
    assert_eq!(all.len(), 6);
    assert_eq!(all[5].rating, 5);
    assert_eq!(all[5].text, "Good\n---\n**Learnings**: no\n**Rating**: 1/5");
    assert_eq!(all[5].learnings, taught);
    assert_eq!(all[5].execution, "Manual feedback");
    assert_eq!(feedback::rating_trend(&all), Some(RatingTrend::Up));
    let text = ws.read(".agents/memory/eng/builder/feedback.md");
    assert!(text.starts_with("# eng - Feedback Log\n\n> Execution feedback and learnings\n\n---\n_Date: 2026-03-01_\n\n**Execution**: Manual feedback\n\n**Rating**: 2/5 ★★☆☆☆\n\n**Feedback**: Good\n"), "{text}");
    let learnt = list_learnings(&workspace, "eng").expect("read");
    assert_eq!(learnt[0].insight, "From feedback (2026-03-01): Short wins");
    let tree = ws.tree_of_sources();
    for rating in [0, 6] {
        let new = NewFeedback {
            rating,
            text: "x",
            learnings: &[],
        };
        feedback::add_feedback(&workspace, &home, &new, now()).expect_err("no such rating");
    }
    assert_eq!(ws.tree_of_sources(), tree, "nothing was written");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]
    #[test]
    fn what_is_written_is_what_is_read(
        texts in prop::collection::vec("[ -\\[\\]-~éß\n]{1,60}(\n(Tags: `x`|_Context: y_|---))?", 1..5),
        context in prop::option::of("[ -\\[\\]-~\n]{1,20}"),
    ) {
        let mut file: Option<String> = None;
        let mut expect = Vec::new();
        for text in &texts {
            let new = NewLearning { text, category: Some(LearningCategory::Tip), tags: &[], context: context.as_deref() };
            let Ok(learning) = build_learning(&AdmittedText::unjudged(&new), now()) else { continue };
            if let Some(after) = append_learning(file.clone(), "eng", &learning) {
                file = Some(after);
                expect.push(learning);
            }
        }
        let got = parse_learnings(&document::parse_document(file.unwrap_or_default()));
        prop_assert_eq!(got, expect);
    }
}
