//! How the index ranks the words of a question, neighbours included.

use super::ParsedQuestion;
use crate::document::{content_hash, parse_document};
use crate::index::chunk::split_into_passages;
use crate::index::{
    DocumentKind, DocumentRecord, DocumentStanding, FileStamp, Index, IndexChange, PassageSizes,
};

fn put(path: &str, text: &str) -> IndexChange {
    let document = parse_document(text.to_owned());
    IndexChange::Put(Box::new(DocumentRecord {
        path: path.to_owned(),
        stamp: FileStamp {
            size: text.len() as u64,
            mtime_ns: 1,
            recorded_ns: i64::MAX,
        },
        hash: content_hash(text),
        scope: "knowledge".to_owned(),
        kind: DocumentKind::Knowledge,
        title: document.title().unwrap_or("").to_owned(),
        names: String::new(),
        date: None,
        importance: 5,
        standing: DocumentStanding::Current,
        supersedes: Vec::new(),
        chunks: split_into_passages(&document, PassageSizes::with_limit(60)),
        traits: 0,
        problem: None,
    }))
}

/// Paths by full text, best first, as a question would ask: with neighbours.
fn best_for(index: &Index, question: &str) -> Vec<(String, f32)> {
    let slots = index.load_slots().unwrap();
    let question = ParsedQuestion::read(question);
    let found = index
        .find_text_hits(&slots, &question.query_words(), &|_| true, 10)
        .unwrap();
    let named = |(chunk, score): &(u32, f32)| {
        let passage = index.passages(&[*chunk]).unwrap().remove(0);
        let why = index
            .explain_score(&slots, &question.query_words(), *chunk)
            .unwrap();
        let explained: f32 = why.iter().map(|it| it.score).sum();
        assert!((explained - score).abs() < 1e-4, "{why:?} is not {score}");
        (passage.path, *score)
    };
    found.hits.iter().map(named).collect()
}

#[test]
fn words_side_by_side_as_in_the_question_count_more() {
    let mut index = Index::in_memory().unwrap();
    index
        .apply_changes(vec![
            put("a.md", "A blue car stood before the red door."),
            put("b.md", "A red car stood before the blue door."),
        ])
        .unwrap();
    let red = best_for(&index, "Where is the red car?");
    assert_eq!(red[0].0, "b.md");
    assert!(red[0].1 > red[1].1, "{red:?}");
    let blue = best_for(&index, "Where is the blue car?");
    assert_eq!(blue[0].0, "a.md");
    // The other way round they are no neighbours.
    let turned = best_for(&index, "car red");
    assert_eq!(turned[0].1, turned[1].1, "{turned:?}");
}

#[test]
fn what_the_user_says_counts_more_than_what_the_assistant_says() {
    let mut index = Index::in_memory().unwrap();
    index
        .apply_changes(vec![
            put(
                "a.md",
                "**User:** I like old towns.\n\n**Assistant:** Then move to Lisbon.\n",
            ),
            put(
                "b.md",
                "**User:** Then move to Lisbon.\n\n**Assistant:** I like old towns.\n",
            ),
            put("c.md", "Then move to Lisbon.\n\nI like old towns. So so.\n"),
        ])
        .unwrap();
    let found = best_for(&index, "Lisbon");
    assert_eq!(found[0].0, "b.md");
    assert!(found[0].1 > found[1].1, "{found:?}");
    let headed = [put(
        "b.md",
        "## User\n\nThen move to Lisbon. I like old towns.\n",
    )];
    index.apply_changes(headed.into()).unwrap();
    assert_eq!(best_for(&index, "Lisbon")[0].0, "b.md");
}

#[test]
fn words_of_every_script_are_found_within_running_text() {
    let texts = [
        (
            "zh.md",
            "请先打开保管库，然后同步所有的笔记。",
            "如何同步笔记",
        ),
        (
            "ja.md",
            "設定画面で同期を有効にしてください。",
            "同期の設定",
        ),
        (
            "ko.md",
            "설정에서 동기화를 켜면 노트가 보관됩니다.",
            "동기화 설정",
        ),
        ("th.md", "เปิดการซิงค์ในหน้าการตั้งค่าก่อน", "การซิงค์"),
        (
            "ru.md",
            "Сначала включите синхронизацию хранилища.",
            "СИНХРОНИЗАЦИЮ",
        ),
        (
            "el.md",
            "Ενεργοποιήστε τον συγχρονισμό σημειώσεων.",
            "συγχρονισμο",
        ),
        ("ar.md", "قم بتفعيل المُزامَنة من الإعدادات.", "المزامنة"),
        ("he.md", "הפעילו סנכרון בהגדרות תחילה.", "סנכרון"),
        ("de.md", "Die Überprüfung läuft über Nacht.", "uberprufung"),
        (
            "code.md",
            "Call `syncVault()` in src/sync_vault.rs.",
            "sync_vault",
        ),
    ];
    let mut index = Index::in_memory().unwrap();
    index
        .apply_changes(texts.iter().map(|it| put(it.0, it.1)).collect())
        .unwrap();
    for (path, _, question) in texts {
        let found = best_for(&index, question);
        let first = found.first().map(|it| it.0.as_str());
        assert_eq!(first, Some(path), "{question}: {found:?}");
    }
}
