use std::collections::HashMap;

use proptest::prelude::*;

use super::*;
use crate::index::chunk::split_into_passages;
use crate::index::postings::{bm25_score, idf};
use crate::index::terms::TermSplitter;
use forge_text::document::{content_hash, parse_document};

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

fn remove(path: &str) -> IndexChange {
    IndexChange::Remove(path.to_owned())
}

/// Every passage with its score, by path and position, as the index gives them.
fn asked(index: &Index, question: &str) -> Vec<(String, usize, f32)> {
    let slots = index.load_slots().unwrap();
    let terms = TermSplitter::default().distinct_terms(question);
    let words = TextQuery {
        terms: &terms,
        ..TextQuery::default()
    };
    let hits = index
        .find_text_hits(&slots, &words, &|_| true, usize::MAX)
        .unwrap();
    let mut out: Vec<(String, usize, f32)> = hits
        .hits
        .iter()
        .map(|(chunk, score)| {
            let p = index.passages(&[*chunk]).unwrap().remove(0);
            (p.path, p.ordinal, *score)
        })
        .collect();
    out.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
    out
}

/// The same, computed from the texts without any index.
fn naive(files: &HashMap<String, String>, question: &str) -> Vec<(String, usize, f32)> {
    struct Held {
        path: String,
        ordinal: usize,
        frequency: HashMap<String, f32>,
        length: usize,
    }
    let mut terms = TermSplitter::default();
    let mut passages = Vec::new();
    for (path, text) in files {
        let document = parse_document(text.clone());
        let titles = terms.distinct_terms(document.title().unwrap_or(""));
        for (ordinal, chunk) in split_into_passages(&document, PassageSizes::with_limit(60))
            .into_iter()
            .enumerate()
        {
            let mut frequency: HashMap<String, f32> = HashMap::new();
            let mut length = 0;
            terms.for_each_term(&chunk.text, |t| {
                length += 1;
                *frequency.entry(t.to_owned()).or_default() += 1.0;
            });
            let headings = terms.distinct_terms(&chunk.headings.join("\n"));
            for term in headings.into_iter().chain(titles.iter().cloned()) {
                *frequency.entry(term).or_default() += 1.0;
            }
            passages.push(Held {
                path: path.clone(),
                ordinal,
                frequency,
                length,
            });
        }
    }
    let total: usize = passages.iter().map(|p| p.length).sum();
    let average = total as f32 / passages.len().max(1) as f32;
    let mut out = Vec::new();
    for p in &passages {
        let mut score = 0.0;
        for t in terms.distinct_terms(question) {
            let holding = passages.iter().filter(|p| p.frequency.contains_key(&t));
            let rarity = idf(passages.len(), holding.count());
            if let Some(f) = p.frequency.get(&t) {
                score += bm25_score(rarity, *f, p.length as f32, average);
            }
        }
        if score > 0.0 {
            out.push((p.path.clone(), p.ordinal, score));
        }
    }
    out.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
    out
}

fn assert_same(got: &[(String, usize, f32)], expect: &[(String, usize, f32)]) {
    assert_eq!(got.len(), expect.len(), "{got:?}\n{expect:?}");
    for (g, e) in got.iter().zip(expect) {
        assert_eq!((&g.0, g.1), (&e.0, e.1));
        assert!((g.2 - e.2).abs() < 1e-4, "{g:?} {e:?}");
    }
}

#[derive(Debug, Clone)]
enum Step {
    Write(u8, Vec<u8>),
    Remove(u8),
}

const WORDS: [&str; 8] = [
    "apple",
    "retry",
    "payments",
    "queue",
    "# Head\n",
    "snake_case",
    "running",
    "\n\n## Part\n",
];

fn text_of(words: &[u8]) -> String {
    let text: Vec<&str> = words
        .iter()
        .map(|w| WORDS[*w as usize % WORDS.len()])
        .collect();
    format!("{}\n", text.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// However the index came to be, it answers like one made from the files.
    #[test]
    fn any_history_scores_like_the_files(
        batches in proptest::collection::vec(
            proptest::collection::vec(
                prop_oneof![
                    3 => (0u8..6, proptest::collection::vec(any::<u8>(), 0..60)).prop_map(|(f, w)| Step::Write(f, w)),
                    1 => (0u8..6).prop_map(Step::Remove),
                ],
                1..4,
            ),
            1..20,
        ),
    ) {
        let mut index = Index::in_memory().unwrap();
        let mut files: HashMap<String, String> = HashMap::new();
        for batch in batches {
            // One batch names a file once, as a scan does.
            let mut changes: HashMap<String, IndexChange> = HashMap::new();
            for step in batch {
                match step {
                    Step::Write(f, words) => {
                        let path = format!("knowledge/f{f}.md");
                        let text = text_of(&words);
                        changes.insert(path.clone(), put(&path, &text));
                        files.insert(path, text);
                    }
                    Step::Remove(f) => {
                        let path = format!("knowledge/f{f}.md");
                        changes.insert(path.clone(), remove(&path));
                        files.remove(&path);
                    }
                }
            }
            index.apply_changes(changes.into_values().collect()).unwrap();
        }
        prop_assert_eq!(index.verify().unwrap(), Vec::<String>::new());
        for question in ["apple retry", "payments running", "snake_case head part"] {
            assert_same(&asked(&index, question), &naive(&files, question));
        }
    }
}

#[test]
fn an_edit_keeps_the_vectors_of_what_did_not_change() {
    let mut index = Index::in_memory().unwrap();
    index.switch_to_model("test", 4).unwrap();
    let long = |tail: &str| {
        format!(
            "# T\n\n{}\n\n## B\n\n{}{tail}\n",
            "one ".repeat(40),
            "two ".repeat(40)
        )
    };
    index.apply_changes(vec![put("a.md", &long(""))]).unwrap();
    let todo = index.passages_to_embed(100).unwrap();
    assert_eq!(todo.len(), 2);
    let vectors: Vec<(u32, PackedVector)> = todo
        .iter()
        .map(|(id, _)| (*id, PackedVector::from_floats(&[1.0, 0.0, 0.0, 0.0])))
        .collect();
    index.store_vectors(&vectors).unwrap();
    index
        .apply_changes(vec![put("a.md", &long("changed"))])
        .unwrap();
    assert_eq!(
        index.passages_to_embed(100).unwrap().len(),
        1,
        "only the edited section waits"
    );
    index
        .apply_changes(vec![put("b.md", &long("changed")), remove("a.md")])
        .unwrap();
    assert_eq!(
        index.passages_to_embed(100).unwrap().len(),
        1,
        "a renamed file keeps them too"
    );
    let slots = index.load_slots().unwrap();
    let near = index
        .find_vector_hits(
            &slots,
            &PackedVector::from_floats(&[1.0, 0.0, 0.0, 0.0]),
            &|_| true,
            10,
        )
        .unwrap();
    assert_eq!(near.len(), 1);
    assert_eq!(index.verify().unwrap(), Vec::<String>::new());
}

#[test]
fn vectors_kept_for_the_next_question_follow_every_change() {
    let folder = tempfile::tempdir().unwrap();
    let mut ours = Index::open(folder.path()).unwrap().index;
    ours.switch_to_model("test", 4).unwrap();
    ours.apply_changes(vec![
        put("a.md", "one"),
        put("b.md", "two"),
        put("c.md", "three"),
    ])
    .unwrap();
    let ids: Vec<u32> = ours
        .passages_to_embed(9)
        .unwrap()
        .iter()
        .map(|it| it.0)
        .collect();
    let x = PackedVector::from_floats(&[1.0, 0.0, 0.0, 0.0]);
    let near = |index: &Index| -> Vec<u32> {
        let slots = index.load_slots().unwrap();
        let hits = index.find_vector_hits(&slots, &x, &|_| true, 10).unwrap();
        hits.iter().map(|hit| hit.0).collect()
    };
    let kept = |index: &Index| index.kept.borrow().pages.is_some();
    ours.store_vectors(&[(ids[0], x.clone())]).unwrap();
    assert_eq!(near(&ours), ids[..1]);
    assert!(!kept(&ours), "one question needs nothing kept");
    assert_eq!(near(&ours), ids[..1]);
    assert!(kept(&ours), "the second does");
    assert_eq!(near(&ours), ids[..1]);

    let mut theirs = Index::open_existing(folder.path()).unwrap().unwrap();
    theirs.store_vectors(&[(ids[1], x.clone())]).unwrap();
    assert_eq!(near(&ours), ids[..2], "another process embedded");
    ours.store_vectors(&[(ids[2], x.clone())]).unwrap();
    assert_eq!(near(&ours), ids, "we embedded");
    theirs.apply_changes(vec![remove("a.md")]).unwrap();
    assert_eq!(near(&ours), ids[1..], "another process removed a file");
    ours.apply_changes(vec![remove("b.md")]).unwrap();
    assert_eq!(near(&ours), ids[2..], "we did");
    theirs.switch_to_model("other", 4).unwrap();
    assert!(
        near(&ours).is_empty(),
        "another model, nothing embedded yet"
    );
    theirs.record_uses(&["c.md"], "2026-03-01T09:00:00Z");
    theirs.store_vectors(&[(ids[2], x.clone())]).unwrap();
    assert_eq!(near(&ours), ids[2..]);
    ours.clear().unwrap();
    assert!(near(&ours).is_empty());
}

#[test]
fn another_model_drops_vectors_and_keeps_text() {
    let mut index = Index::in_memory().unwrap();
    index.switch_to_model("one", 4).unwrap();
    index.apply_changes(vec![put("a.md", "some text")]).unwrap();
    let (id, _) = index.passages_to_embed(1).unwrap()[0].clone();
    index
        .store_vectors(&[(id, PackedVector::from_floats(&[1.0; 4]))])
        .unwrap();
    assert_eq!(index.counts().unwrap().embedded, 1);
    // A new model may have as many dimensions as the one before.
    assert!(!index.has_vectors_of_model("two", 4).unwrap());
    index.switch_to_model("two", 4).unwrap();
    assert!(
        index.has_vectors_of_model("two", 4).unwrap()
            && !index.has_vectors_of_model("one", 4).unwrap()
    );
    assert_eq!(index.counts().unwrap().embedded, 0);
    assert!(
        index
            .passages_to_embed(9)
            .unwrap()
            .iter()
            .any(|(waiting, _)| *waiting == id)
    );
    assert_eq!(asked(&index, "text").len(), 1);
}

#[test]
fn prefixes_reach_words_through_their_stems() {
    let mut index = Index::in_memory().unwrap();
    index
        .apply_changes(vec![
            put("a.md", "Authentication happens here"),
            put("b.md", "nothing"),
        ])
        .unwrap();
    let slots = index.load_slots().unwrap();
    for prefix in ["auth", "authenti", "authenticat"] {
        let words = TextQuery {
            prefixes: &[PrefixTerm(prefix.to_owned())],
            ..TextQuery::default()
        };
        let hits = index.find_text_hits(&slots, &words, &|_| true, 10).unwrap();
        assert_eq!(hits.hits.len(), 1, "{prefix}*");
    }
}

#[test]
fn a_stamp_proves_nothing_when_the_file_was_read_in_the_same_moment() {
    let stamp = |mtime, recorded| FileStamp {
        size: 3,
        mtime_ns: mtime,
        recorded_ns: recorded,
    };
    let second = 1_000_000_000;
    assert!(stamp(second, 2 * second).proves_unchanged(3, second));
    assert!(
        !stamp(second, 2 * second).proves_unchanged(4, second),
        "another size"
    );
    assert!(
        !stamp(second, 2 * second).proves_unchanged(3, second + 1),
        "another time"
    );
    assert!(
        !stamp(second, second + 1).proves_unchanged(3, second),
        "too close to tell"
    );
    assert!(
        !stamp(3 * second, 2 * second).proves_unchanged(3, 3 * second),
        "from the future"
    );
}

mod opening {
    use super::*;
    use std::fs;

    fn directory() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    #[test]
    fn absent_then_ours() {
        let dir = directory();
        assert!(Index::open_existing(dir.path()).unwrap().is_none());
        assert_eq!(
            Index::open(dir.path()).unwrap().note,
            Some(OpenNote::Created)
        );
        assert_eq!(Index::open(dir.path()).unwrap().note, None);
        assert!(Index::open_existing(dir.path()).unwrap().is_some());
    }

    #[test]
    fn garbage_empty_and_foreign_files_are_replaced() {
        let foreign = {
            let dir = directory();
            let db = rusqlite::Connection::open(dir.path().join("x.db")).unwrap();
            db.execute_batch("create table files(path text); create table chunks(id text);")
                .unwrap();
            drop(db);
            fs::read(dir.path().join("x.db")).unwrap()
        };
        for bytes in [Vec::new(), b"garbage".to_vec(), vec![0xff; 10_000], foreign] {
            let dir = directory();
            fs::write(dir.path().join("index.db"), &bytes).unwrap();
            assert!(Index::open_existing(dir.path()).unwrap().is_none());
            let mut opened = Index::open(dir.path()).unwrap();
            assert!(
                matches!(opened.note, Some(OpenNote::Rebuilt(_))),
                "{:?}",
                opened.note
            );
            opened
                .index
                .apply_changes(vec![put("a.md", "text")])
                .unwrap();
            assert_eq!(asked(&opened.index, "text").len(), 1);
        }
    }

    #[test]
    fn a_newer_index_is_left_alone() {
        let dir = directory();
        drop(Index::open(dir.path()).unwrap());
        let db = rusqlite::Connection::open(dir.path().join("index.db")).unwrap();
        db.execute_batch("pragma journal_mode = delete; pragma user_version = 999;")
            .unwrap();
        drop(db);
        let before = fs::read(dir.path().join("index.db")).unwrap();
        for _ in 0..2 {
            let mut opened = Index::open(dir.path()).unwrap();
            assert!(matches!(
                opened.note,
                Some(OpenNote::KeptNewer { newer: 999, .. })
            ));
            opened
                .index
                .apply_changes(vec![put("a.md", "text")])
                .unwrap();
        }
        assert_eq!(fs::read(dir.path().join("index.db")).unwrap(), before);
        assert_eq!(
            asked(&Index::open_existing(dir.path()).unwrap().unwrap(), "text").len(),
            1
        );
    }

    /// Damage anywhere is an error that says so, or no damage that matters; it
    /// is never a crash.
    #[test]
    fn damage_at_any_page_is_noticed_or_harmless() {
        let dir = directory();
        let mut index = Index::open(dir.path()).unwrap().index;
        let text = |i: usize| {
            format!(
                "# File {i}\n\n{} number{i}\n",
                "some words here ".repeat(40)
            )
        };
        index
            .apply_changes(
                (0..40)
                    .map(|i| put(&format!("f{i}.md"), &text(i)))
                    .collect(),
            )
            .unwrap();
        index.checkpoint_log();
        drop(index);
        let path = dir.path().join("index.db");
        let good = fs::read(&path).unwrap();
        for page in 0..good.len() / 8192 {
            for kind in 0..2 {
                let mut bad = good.clone();
                let at = page * 8192;
                match kind {
                    0 => bad[at..at + 8192].fill(0xa5),
                    _ => bad.truncate(at),
                }
                for suffix in ["-wal", "-shm"] {
                    let _ = fs::remove_file(dir.path().join(format!("index.db{suffix}")));
                }
                fs::write(&path, &bad).unwrap();
                let Ok(opened) = Index::open(dir.path()) else {
                    continue;
                };
                let index = opened.index;
                let slots = match index.load_slots() {
                    Ok(slots) => slots,
                    Err(e) => {
                        assert!(e.is_damage(), "{e}");
                        continue;
                    }
                };
                let terms = TermSplitter::default().distinct_terms("number7 words");
                let words = TextQuery {
                    terms: &terms,
                    pairs: &[(0, 1)],
                    ..TextQuery::default()
                };
                if let Ok(hits) = index.find_text_hits(&slots, &words, &|_| true, 100) {
                    let ids: Vec<u32> = hits.hits.iter().map(|h| h.0).collect();
                    let _ = index.passages(&ids);
                }
                let _ = index.catalogue();
                let _ = index.verify();
            }
        }
    }
}

#[test]
fn a_damaged_number_is_damage_and_never_a_size() {
    for (key, value) in [
        ("next_chunk", -1),
        ("next_chunk", i64::MAX),
        ("next_chunk", 4_000_000_000),
        ("chunks", -5),
        ("terms", i64::MIN),
        ("dimensions", 1 << 39),
        ("next_file", i64::MAX),
    ] {
        let mut index = Index::in_memory().unwrap();
        index
            .apply_changes(vec![put("a.md", "# A\n\ntides\n")])
            .unwrap();
        let set = "insert or replace into meta(key, value) values(?, ?)";
        index
            .db
            .execute(set, rusqlite::params![key, value])
            .unwrap();
        let refused = [
            index.load_slots().err(),
            index.counts().err(),
            index
                .apply_changes(vec![put("b.md", "# B\n\nmoon\n")])
                .err(),
        ];
        let refused: Vec<IndexError> = refused.into_iter().flatten().collect();
        assert!(!refused.is_empty(), "{key} = {value}");
        assert!(refused.iter().all(IndexError::is_damage), "{refused:?}");
    }
}

/// `zeroblob(9e8)` in a foreign index once took 0.9 GB.
#[test]
fn values_above_the_limit_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let index = Index::open(folder.path()).unwrap().index;
    let length = |bytes: u32| {
        let ask = "select length(zeroblob(?))";
        index.db.query_row(ask, [bytes], |row| row.get::<_, u32>(0))
    };
    assert_eq!(length(1 << 20).unwrap(), 1 << 20);
    assert!(length((64 << 20) + 1).is_err());
}

#[test]
fn tables_of_another_shape_are_damage() {
    let index = Index::in_memory().unwrap();
    index
        .db
        .execute_batch("drop table usage; create table usage(x);")
        .unwrap();
    assert!(index.usage().is_err_and(|error| error.is_damage()));
}

#[test]
fn a_header_that_makes_the_index_read_only_is_damage() {
    for at in [18, 19, 59] {
        let folder = tempfile::tempdir().unwrap();
        let mut index = Index::open(folder.path()).unwrap().index;
        index
            .apply_changes(vec![put("a.md", "# A\n\ntides\n")])
            .unwrap();
        index.checkpoint_log();
        drop(index);
        let path = folder.path().join("index.db");
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[at] = 9;
        std::fs::write(&path, bytes).unwrap();
        let mut opened = Index::open(folder.path()).unwrap();
        assert!(matches!(opened.note, Some(OpenNote::Rebuilt(_))), "{at}");
        let written = opened
            .index
            .apply_changes(vec![put("b.md", "# B\n\nmoon\n")]);
        assert!(written.is_ok(), "{at}: {written:?}");
    }
}

#[test]
fn an_index_cut_short_within_a_page_is_damage() {
    let folder = tempfile::tempdir().unwrap();
    let mut index = Index::open(folder.path()).unwrap().index;
    index
        .apply_changes(vec![put("a.md", "# A\n\ntides\n")])
        .unwrap();
    index.checkpoint_log();
    drop(index);
    let path = folder.path().join("index.db");
    let whole = std::fs::read(&path).unwrap();
    for cut in [1, 700, 8_191] {
        std::fs::write(&path, &whole[..whole.len() - cut]).unwrap();
        let index = Index::open(folder.path()).unwrap().index;
        let asked = [
            index.verify().err(),
            index.load_slots().err(),
            index.catalogue().err(),
        ];
        for error in asked.into_iter().flatten() {
            assert!(error.is_damage(), "{cut}: {error:?}");
        }
    }
}

/// Unpacks an index of an older or of this format and marks it as made here.
fn unpack_fixture(packed: &[u8], directory: &std::path::Path) {
    let path = directory.join("index.db");
    let mut bytes = Vec::new();
    let mut gz = flate2::read::GzDecoder::new(packed);
    std::io::Read::read_to_end(&mut gz, &mut bytes).unwrap();
    std::fs::write(&path, bytes).unwrap();
    let db = rusqlite::Connection::open(&path).unwrap();
    db.set_db_config(
        rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE,
        true,
    )
    .unwrap();
    let token = db.query_row("select value from meta where key = 'token'", [], |row| {
        row.get(0)
    });
    let token: String = token.unwrap_or_default();
    super::mark::write_mark(&path, if token.is_empty() { "0" } else { &token }).unwrap();
}

/// Each format that was ever written is kept here, so that a program which
/// meets one knows it: older ones are rebuilt with a reason, this one is used.
#[test]
fn an_index_of_every_format_is_opened() {
    let older = [
        (include_bytes!("fixtures/v1.db.gz").as_slice(), 1),
        (include_bytes!("fixtures/v2.db.gz").as_slice(), 2),
    ];
    for (packed, version) in older {
        let folder = tempfile::tempdir().unwrap();
        unpack_fixture(packed, folder.path());
        assert!(Index::open_existing(folder.path()).unwrap().is_none());
        let opened = Index::open(folder.path()).unwrap();
        let why = format!("it was of the older version {version}");
        assert_eq!(opened.note, Some(OpenNote::Rebuilt(why)));
        assert_eq!(opened.index.counts().unwrap().files, 0);
    }
    let folder = tempfile::tempdir().unwrap();
    unpack_fixture(include_bytes!("fixtures/v3.db.gz"), folder.path());
    let index = Index::open_existing(folder.path()).unwrap();
    let index = index.expect("this format; raise VERSION and keep the fixture if it changed");
    assert_eq!(index.counts().unwrap().files, 1);
    assert_eq!(asked(&index, "harbour").len(), 1);
}
