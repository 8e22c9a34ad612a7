//! A correction sticks whatever the spelling, and touches nothing else.

use proptest::prelude::*;
use testkit::TestWorkspace;

use super::normal::{normalize_phrase, normalize_text};
use super::*;
use crate::admit::admit_text;
use crate::diagnostic::Diagnostic;
use crate::workspace::Workspace;

fn now() -> jiff::Timestamp {
    "2026-11-15T10:00:00Z".parse().unwrap()
}

fn open(files: &TestWorkspace) -> Workspace {
    Workspace::open(files.root()).unwrap()
}

fn of(fact: &str, instead: Option<&str>) -> Corrections {
    Corrections::from_list(vec![Correction {
        fact: fact.to_owned(),
        instead: instead.map(str::to_owned),
        reason: None,
        date: None,
        line: 1,
    }])
}

#[test]
fn every_spelling_is_found_and_nothing_that_means_something_else() {
    let check = |fact: &str, text: &str, expect: bool| {
        let found = !of(fact, None).check_text(text).is_empty();
        assert_eq!(
            found,
            expect,
            "{fact:?} in {text:?}: {:?}",
            normalize_text(text)
        );
    };
    let fact = "The API limit is 100 requests";
    for text in [
        "the api limit is 100 requests",
        "We know: THE **API limit** is `100` requests!",
        "> The _API_\n> limit is\n> \"100\" requests.",
        "- The [API](https://x.y/z) limit is 100 [[requests]], so wait.",
        "# The API limit is 100 requests",
        "The [[api|API]] limit\u{a0}is **100** requ\u{ad}ests",
        "| The API limit is 100 requests | yes |",
        "“The API limit is 100 requests”—so they say",
        "The <b>API</b> limit is&nbsp;100 requests",
        "Ｔhe API limit is １００ requests",
        "> 3. The API limit is\n> 100 requests\n4. Next",
    ] {
        check(fact, text, true);
    }
    for text in [
        "The API limit is 1000 requests",
        "The API limit is 100.5 requests",
        "The API limit is -100 requests",
        "The API limit is ~100 requests",
        "The API limit is not 100 requests",
        "API limit: 100 requests",
        "The API limit is\n\n100 requests",
        "- The API limit is\n- 100 requests",
        "requests 100 is limit API The",
        "Other: The API limit is 100 requestsx",
        "",
    ] {
        check(fact, text, false);
    }
    check("default is -1", "The default is 1.", false);
    check("uses C++", "It uses C.", false);
    check("x != y", "x = y", false);
    check("max_files is 5", "`max_files` is 5", true);
    check("returns Vec<u8>", "it returns Vec<String>", false);
    // A wrapped line may begin with a number; a list does.
    check("the limit is 100", "We know the limit is\n100. Well.", true);
    check("the limit is 100", "1. the limit is\n2. 100", false);
    check("默认端口是8080", "我们的默认端口是8080吗", true);
    check("默认端口是8080", "默认端口是8081", false);
    check("straße ist gesperrt", "STRASSE IST GESPERRT", true);
}

#[test]
fn a_replacement_that_repeats_the_fact_can_be_said() {
    let it = of("The limit is 100", Some("The limit is 100 per minute"));
    assert!(
        it.check_text("Note that the limit is 100 per minute.")
            .is_empty()
    );
    assert_eq!(it.check_text("The limit is 100.").len(), 1);
    let both = "The limit is 100 per minute. Before: the limit is 100.";
    assert_eq!(it.check_text(both).len(), 1);
}

proptest! {
    /// Places are judged while they are found, and as if all were known.
    #[test]
    fn a_fact_is_said_where_no_replacement_is_around_it(
        fact in "(x1|y2)( (x1|y2)){0,2}",
        before in "((x1|y2) ){0,2}",
        after in "( (x1|y2)){0,2}",
        text in "(x1|y2)( (x1|y2)){0,12}",
    ) {
        let instead = format!("{before}{fact}{after}");
        let places = |what: &str| -> Vec<Range<usize>> {
            let (what, text) = (normalize_phrase(what), normalize_text(&text));
            let starts = (0..text.len()).filter(|at| text[*at..].starts_with(&what));
            starts.map(|at| at..at + what.len()).collect()
        };
        let right = places(&instead);
        let covered = |it: &Range<usize>| {
            right.iter().any(|all| all.start <= it.start && it.end <= all.end)
        };
        let expect = places(&fact).iter().any(|it| !covered(it));
        let found = !of(&fact, Some(&instead)).check_text(&text).is_empty();
        prop_assert_eq!(found, expect, "{:?} instead of {:?} in {:?}", instead, fact, text);
    }
}

/// A clone may bring a list of any size: "A fact is a statement, not a
/// document".
#[test]
fn what_is_too_long_for_a_fact_is_none() {
    let long = "word ".repeat(101);
    let list = format!("# Forgotten\n\n## Corrected facts\n\n- \"{long}\"\n- \"The port is 80\"\n");
    let files = TestWorkspace::files("//- knowledge/a.md\n# A\n");
    files.write(RETRACTION_LIST, &list);
    let read = Corrections::read(&open(&files)).unwrap();
    let facts: Vec<&str> = read.all().iter().map(|it| it.fact.as_str()).collect();
    assert_eq!(facts, ["The port is 80"]);
}

#[test]
fn without_a_list_nothing_is_compared() {
    let none = Corrections::default();
    assert!(none.is_empty() && none.check_text("anything").is_empty());
    let files = TestWorkspace::files("//- knowledge/a.md\n# A\n");
    let before = files.tree();
    admit_text(&open(&files), "anything").unwrap();
    assert_eq!(files.tree(), before);
}

#[test]
fn a_fact_is_listed_changed_and_lifted() {
    let files = TestWorkspace::files("//- knowledge/a.md\n# A\n");
    let workspace = open(&files);
    let fact = "The port is 8080";
    let done = correct_fact(
        &workspace,
        &NewCorrection {
            fact,
            instead: Some("The port is 9090"),
            reason: Some("moved behind the proxy"),
        },
        now(),
    )
    .unwrap();
    assert_eq!(done.before, None);
    let list = files.read(RETRACTION_LIST);
    assert_eq!(
        list.lines().last().unwrap(),
        "- \"The port is 8080\" — corrected 2026-11-15, instead \"The port is 9090\": moved behind the proxy"
    );
    let corrections = Corrections::read(&workspace).unwrap();
    let hit = corrections.check_text("It says the **port** is 8080.");
    assert_eq!(
        hit[0].describe(),
        "Corrected 2026-11-15: \"The port is 8080\" is wrong; instead: \"The port is 9090\" (moved behind the proxy)"
    );
    // Twice is once, and another spelling is the same fact.
    let again = NewCorrection {
        fact: "the PORT is `8080`.",
        ..NewCorrection::default()
    };
    let twice = correct_fact(&workspace, &again, now()).unwrap();
    assert_eq!(twice.receipt.id, None);
    assert_eq!(files.read(RETRACTION_LIST), list);
    // What is said later about it holds.
    let changed = NewCorrection {
        instead: Some("The port is 9191"),
        ..again
    };
    let changed = correct_fact(&workspace, &changed, now()).unwrap();
    assert_eq!(
        changed.correction.instead.as_deref(),
        Some("The port is 9191")
    );
    assert_eq!(Corrections::read(&workspace).unwrap().all().len(), 1);
    let error = admit_text(&workspace, "The port is 8080").unwrap_err();
    assert!(error.to_string().contains("The port is 9191"), "{error}");
    let hint = &error.hints()[0];
    assert!(
        hint.contains("`memory-forge restore --fact 'the PORT is"),
        "{hint}"
    );
    let lifted =
        remove_corrections(&workspace, Some(&["THE PORT is 8080".to_owned()]), now()).unwrap();
    assert_eq!(lifted.corrections.len(), 1);
    admit_text(&workspace, "The port is 8080").unwrap();
    assert!(matches!(
        remove_corrections(&workspace, Some(&["The port is 8080".to_owned()]), now()),
        Err(CorrectionError::NotCorrected { .. })
    ));
}

#[test]
fn a_command_in_a_hint_runs_nothing_else() {
    let it = of("it's $(rm -rf x) `y`", None);
    let lifted = it.all()[0].restore_command();
    assert_eq!(
        lifted,
        r"memory-forge restore --fact 'it'\''s $(rm -rf x) `y`'"
    );
}

#[test]
fn lines_that_people_wrote_count_and_stay() {
    let files = TestWorkspace::files("");
    let text = "# Forgotten\r\n\r\n- [a](a.md) — forgotten 2026-01-01: old\r\n\r\n## Corrected facts\r\n\r\nOurs.\r\n\r\n- The sky is green\r\n* \"Water is dry\"\r\n\r\n```\r\n- Code is code\r\n```\r\n\r\n## Other\r\n\r\n- Not a fact here\r\n";
    files.write(RETRACTION_LIST, text);
    let workspace = open(&files);
    let known = Corrections::read(&workspace).unwrap();
    let facts: Vec<&str> = known.all().iter().map(|it| it.fact.as_str()).collect();
    assert_eq!(facts, ["The sky is green", "Water is dry"]);
    let new = NewCorrection {
        fact: "Fire is cold",
        ..NewCorrection::default()
    };
    correct_fact(&workspace, &new, now()).unwrap();
    remove_corrections(&workspace, Some(&["Fire is cold".to_owned()]), now()).unwrap();
    let after = files.read(RETRACTION_LIST);
    for line in text.lines() {
        assert!(after.contains(line), "{line:?} in {after:?}");
    }
    assert!(!after.replace("\r\n", "").contains('\n'), "{after:?}");
}

#[test]
fn what_would_refuse_everything_is_refused_itself() {
    let files = TestWorkspace::files("");
    let workspace = open(&files);
    let error = |fact: &str, instead: Option<&str>| {
        let new = NewCorrection {
            fact,
            instead,
            ..NewCorrection::default()
        };
        correct_fact(&workspace, &new, now())
            .unwrap_err()
            .to_string()
    };
    assert!(error("Kubernetes", None).contains("one word"));
    assert!(error("  **—** ", None).contains("no fact"));
    assert!(error("a b", Some("A `b`.")).contains("is the same as the fact"));
    assert!(error(&"long ".repeat(200), None).contains("500 characters"));
    let host = NewCorrection {
        fact: "db-old.example.com",
        ..NewCorrection::default()
    };
    correct_fact(&workspace, &host, now()).unwrap();
    assert!(error("The host is x1", Some("It is db-old.example.com")).contains("repeats"));
}

#[test]
fn documents_are_listed_before_facts() {
    let files = TestWorkspace::files("//- knowledge/a.md\n# A\n\n//- knowledge/b.md\n# B\n");
    let workspace = open(&files);
    let new = NewCorrection {
        fact: "A is B",
        ..NewCorrection::default()
    };
    correct_fact(&workspace, &new, now()).unwrap();
    for path in ["knowledge/a.md", "knowledge/b.md"] {
        let chosen = crate::knowledge::forget::ForgetChoice {
            path: path.to_owned(),
            importance: 5,
            count: 0,
            last: None,
            reason: "old".to_owned(),
        };
        crate::knowledge::forget::forget_documents(&workspace, &[chosen], now()).unwrap();
    }
    let list = files.read(RETRACTION_LIST);
    let at = |what: &str| {
        list.find(what)
            .unwrap_or_else(|| panic!("{what} in {list}"))
    };
    assert!(at("(a.md)") < at("(b.md)") && at("(b.md)") < at("## Corrected facts"));
    assert_eq!(
        crate::knowledge::forget::list_tombstones(&workspace)
            .unwrap()
            .len(),
        2
    );
    assert_eq!(Corrections::read(&workspace).unwrap().all().len(), 1);
}

/// Words as people write facts with.
fn words() -> impl Strategy<Value = Vec<String>> {
    let word = "[a-zA-Zéß]{1,6}|-?[0-9]{1,4}|[a-z]{2}_[a-z]{2}|v[0-9]\\.[0-9]";
    prop::collection::vec(word, 2..7)
}

/// One spelling of a word.
fn spelled(word: &str, how: u8) -> String {
    match how % 8 {
        0 => word.to_uppercase(),
        1 => word.to_lowercase(),
        2 => format!("**{word}**"),
        3 => format!("_{word}_"),
        4 => format!("`{word}`"),
        5 => format!("“{word}”"),
        6 => format!("[{word}](https://example.com/x_y)"),
        _ => word.to_owned(),
    }
}

proptest! {
    #[test]
    fn whatever_the_spelling_the_tombstone_holds(
        words in words(),
        hows in prop::collection::vec(any::<u8>(), 7),
        spaces in prop::collection::vec(prop::sample::select(vec![" ", "  ", "\t", "\n", "\u{a0}", " \n "]), 7),
        before in "([a-z]{1,5}[,:]? ){0,3}",
        after in "[.!?,;:]{0,2}( [a-z]{1,5}){0,3}",
    ) {
        let fact = words.join(" ");
        let mut text = before;
        for (index, word) in words.iter().enumerate() {
            if index > 0 {
                text.push_str(spaces[index]);
            }
            text.push_str(&spelled(word, hows[index]));
        }
        text.push_str(&after);
        prop_assert_eq!(of(&fact, None).check_text(&text).len(), 1, "{:?} {:?}", fact, text);
    }

    #[test]
    fn sharing_words_is_not_saying_so(words in words(), seed in any::<usize>()) {
        let fact = normalize_text(&words.join(" "));
        let mut other = words.clone();
        other.rotate_left(1 + seed % (words.len() - 1));
        other.dedup();
        let text = normalize_text(&other.join(" "));
        prop_assume!(!text.contains(&fact));
        prop_assert!(of(&words.join(" "), None).check_text(&other.join(" ")).is_empty());
        // Nor is the beginning of it, nor a longer word at its end.
        let part = words[..words.len() - 1].join(" ");
        prop_assume!(!normalize_text(&part).contains(&fact));
        prop_assert!(of(&words.join(" "), None).check_text(&part).is_empty());
        let longer = format!("{}x", words.join(" "));
        prop_assert!(of(&words.join(" "), None).check_text(&longer).is_empty());
    }

    #[test]
    fn the_list_gives_back_what_it_was_given(
        fact in "[!-z~é“”][ -~é“”]{3,40}",
        instead in "[ -~é]{0,30}",
        reason in "[ -~\n]{0,30}",
    ) {
        // Bars around it are those of the row that it was taken from.
        let instead = instead.trim_matches(['|', '\'', '"', ' ']);
        let files = TestWorkspace::files("");
        let workspace = open(&files);
        let new = NewCorrection { fact: &fact, instead: Some(instead), reason: Some(&reason) };
        let Ok(done) = correct_fact(&workspace, &new, now()) else { return Ok(()) };
        prop_assert_eq!(normalize_phrase(&done.correction.fact), normalize_text(&fact));
        prop_assert_eq!(
            normalize_phrase(done.correction.instead.as_deref().unwrap_or_default()),
            normalize_text(instead)
        );
        prop_assert!(admit_text(&workspace, fact.as_str()).is_err());
        let again = correct_fact(&workspace, &new, now()).unwrap();
        prop_assert_eq!(again.receipt.id, None);
    }

    #[test]
    fn any_text_can_be_compared(text in "[ -~\n\t*_`|<>\\[\\]é日\u{200b}]{0,200}") {
        let once = normalize_text(&text);
        prop_assert!(once.starts_with(' ') && once.ends_with(' '));
    }
}
