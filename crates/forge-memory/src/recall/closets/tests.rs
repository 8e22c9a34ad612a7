use super::*;
use crate::document::parse_document;
use crate::embed;
use crate::retractions::Corrections;
use crate::routing::closets::{EntryContext, extract_entry};

fn listed(name: &str, text: &str) -> ListedEntry {
    let context = EntryContext {
        name,
        archived: false,
    };
    let entry = extract_entry(&parse_document(text), &context);
    ListedEntry {
        name: name.to_owned(),
        path: Some(format!("a/{name}.md")),
        hub: "a".to_owned(),
        archived: false,
        closets: "a/_CLOSETS.md".to_owned(),
        lines: (1, 1),
        text: format!("## [[{name}]]\n{}", entry.render_lines().join("\n")),
        notes: String::new(),
        entry,
    }
}

fn three() -> [ListedEntry; 3] {
    [
        listed(
            "a",
            "---\ndate: 2026-01-05\n---\nI am allergic to coffee.\n",
        ),
        listed(
            "b",
            "---\ndate: 2026-03-05\n---\nWe switched from Jira to Linear.\n",
        ),
        listed(
            "c",
            "---\ndate: 2025-06-05\n---\nDinner with my friend Mike about boats.\n",
        ),
    ]
}

/// Names of the entries found, best first, and the mode that found them.
fn found(
    all: &[ListedEntry],
    question: &str,
    mode: RecallMode,
    embedder: Option<&dyn Embedder>,
) -> (Vec<String>, RecallAnswer) {
    let (forgotten, corrections) = (HashSet::new(), Corrections::from_list(Vec::new()));
    let query = RecallQuery {
        question,
        mode,
        limit: 5,
        unique: true,
        kinds: Vec::new(),
        scopes: Vec::new(),
        since: None,
        today: Date::new(2026, 3, 20).ok(),
        forgotten: &forgotten,
        corrections: &corrections,
        explain: true,
    };
    let answer = rank_entries(all, embedder, None, &query).expect("it answers");
    let hits = answer.hits.iter();
    let names = hits.map(|hit| all[hit.passage.chunk as usize].name.clone());
    (names.collect(), answer)
}

#[test]
fn a_question_is_answered_by_field() {
    let all = three();
    let best = |question: &str| {
        let (names, answer) = found(&all, question, RecallMode::Text, None);
        let entry = &all[answer.hits[0].passage.chunk as usize].entry;
        let why = matching_fields(entry, question, None, Date::new(2026, 3, 20).ok());
        (names[0].clone(), why.first().map(|it| it.0))
    };
    assert_eq!(
        best("what about Mike?"),
        ("c".to_owned(), Some(ClosetField::People))
    );
    assert_eq!(best("when did I switch to Linear?").0, "b");
    assert_eq!(best("what am I allergic to").0, "a");
    assert_eq!(
        best("what happened this month"),
        ("b".to_owned(), Some(ClosetField::Dates))
    );
    assert_eq!(
        best("in January"),
        ("a".to_owned(), Some(ClosetField::Dates))
    );
}

#[test]
fn phrases_prefixes_and_strings_are_found_as_in_every_scope() {
    let all = three();
    let names = |question: &str| found(&all, question, RecallMode::Text, None).0;
    assert_eq!(names("\"from Jira to Linear\""), ["b"]);
    assert!(names("\"from Linear to Jira\"").is_empty());
    assert_eq!(names("allerg*"), ["a"]);
    assert_eq!(names("inea"), ["b"]);
    assert!(names("zebra").is_empty());
}

/// "vectors for entries … a warning where a mode is not available"
#[test]
fn meaning_finds_what_no_word_does_and_the_lack_of_a_model_is_reported() {
    let all = three();
    let question = "which beverage makes me ill";
    let model = Some(embed::builtin_embedder());
    let (names, answer) = found(&all, question, RecallMode::Vector, model);
    assert_eq!(names[0], "a");
    assert_eq!((answer.mode, answer.mode_note), (RecallMode::Vector, None));
    let (_, answer) = found(&all, question, RecallMode::Hybrid, None);
    assert_eq!(answer.mode, RecallMode::Text);
    assert!(answer.mode_note.is_some());
}

#[test]
fn forgotten_and_older_files_are_left_out() {
    let all = three();
    let forgotten = HashSet::from(["a/a.md".to_owned()]);
    let query = |since: Option<Date>, forgotten: &HashSet<String>| {
        let corrections = Corrections::from_list(Vec::new());
        let query = RecallQuery {
            question: "allergic Linear Mike",
            mode: RecallMode::Text,
            limit: 5,
            unique: true,
            kinds: Vec::new(),
            scopes: Vec::new(),
            since,
            today: None,
            forgotten,
            corrections: &corrections,
            explain: false,
        };
        let answer = rank_entries(&all, None, None, &query).expect("it answers");
        let mut paths: Vec<String> = answer.hits.into_iter().map(|h| h.passage.path).collect();
        paths.sort();
        paths
    };
    assert_eq!(query(None, &forgotten), ["a/b.md", "a/c.md"]);
    let since = Date::new(2026, 2, 1).ok();
    assert_eq!(query(since, &HashSet::new()), ["a/b.md"]);
}
