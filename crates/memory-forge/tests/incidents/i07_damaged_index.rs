//! A damaged index that kills the process or answers wrong: whatever became of
//! the file, the program lives and answers as with a fresh one.

use std::fs;

use serde_json::Value;
use testkit::TestWorkspace;

use crate::harness::{json, ws};

const QUESTIONS: [&str; 2] = ["when does the lease of the office end", "\"forty poles\""];

/// Enough files for a tree of several levels, with overflowing rows.
fn filled() -> TestWorkspace {
    let ws = ws("");
    for number in 0..12 {
        let more = format!("Bed {number} takes forty poles and {number} bags of seed. ").repeat(9);
        ws.write(
            &format!("knowledge/bed-{number:02}.md"),
            format!("# Bed {number}\n\n{more}\n\n## Soil\n\nClay, word{number}.\n"),
        );
    }
    ws.write(
        "knowledge/office.md",
        "# Office\n\nThe lease of the office ends in 2027.\n",
    );
    // An index that cannot be written is embedded by each search again, and on
    // a busy machine the usual time is not enough for that.
    ws.write("memory-forge.toml", "[search]\nembed_budget_ms = 60000\n");
    ws
}

/// By words first, as the index is found; then by words and vectors, once all
/// of those are there, as how many a search makes is a matter of time.
fn answers(ws: &TestWorkspace, vectors: bool) -> Vec<Value> {
    let ask = |question: &str, mode: &str| {
        let arguments = [
            "search", "--json", "-n", "5", "--mode", mode, "--", question,
        ];
        json(&ws.run(&arguments))["results"].clone()
    };
    let mut answers: Vec<Value> = QUESTIONS.iter().map(|it| ask(it, "text")).collect();
    if vectors {
        ws.run(&["index"]);
        answers.push(ask(QUESTIONS[0], "hybrid"));
    }
    answers
}

/// Everything that belongs to the index, put back at will.
struct Sound {
    ws: TestWorkspace,
    db: Vec<u8>,
    fresh: Vec<Value>,
}

impl Sound {
    fn new() -> Sound {
        let ws = filled();
        ws.run(&["index"]).ok();
        let fresh = answers(&ws, true);
        // One file, with nothing left in its log.
        let path = ws.path(".memory-forge/index.db");
        let db = rusqlite::Connection::open(&path).expect("it is a database");
        db.query_row("pragma wal_checkpoint(truncate)", [], |_| Ok(()))
            .expect("nobody else is here");
        drop(db);
        let db = fs::read(&path).expect("it is there");
        assert!(db.len() > 24 * 4096, "{} bytes are few", db.len());
        Sound { ws, db, fresh }
    }

    fn put(&self, db: &[u8]) {
        for name in [
            "index.db",
            "index.db-wal",
            "index.db-shm",
            "index.db-journal",
        ] {
            let path = self.ws.path(".memory-forge").join(name);
            if path.is_dir() {
                fs::remove_dir_all(&path).expect("it is ours");
            } else if path.exists() {
                fs::remove_file(&path).expect("it is ours");
            }
        }
        self.ws.write(".memory-forge/index.db", db);
    }

    #[track_caller]
    fn answers_as_if_fresh(&self, what: &str) {
        self.answers_with(true, what);
    }

    /// Vectors take their time; where many cases are alike, one in eight asks
    /// for them.
    #[track_caller]
    fn answers_with(&self, vectors: bool, what: &str) {
        for (now, fresh) in answers(&self.ws, vectors).iter().zip(&self.fresh) {
            assert_eq!(now, fresh, "{what}");
        }
    }
}

#[test]
fn every_page_in_turn_is_garbage_or_zero() {
    let sound = Sound::new();
    let sources = sound.ws.tree_of_sources();
    let pages = sound.db.len() / 4096;
    for page in 0..pages {
        let range = page * 4096..(page + 1) * 4096;
        for (what, fill) in [("garbage", true), ("zero", false)] {
            let mut db = sound.db.clone();
            for (at, byte) in db[range.clone()].iter_mut().enumerate() {
                *byte = if fill {
                    (at * 131 + page * 17 + 89) as u8
                } else {
                    0
                };
            }
            sound.put(&db);
            sound.answers_with(page % 8 == 0, &format!("page {page} of {pages} is {what}"));
        }
    }
    assert_eq!(sound.ws.tree_of_sources(), sources);
}

#[test]
fn it_is_cut_short_at_every_page() {
    let sound = Sound::new();
    for end in (0..sound.db.len()).step_by(4096) {
        for end in [end, end + 1] {
            sound.put(&sound.db[..end.min(sound.db.len())]);
            sound.answers_with(end % (8 * 4096) == 0, &format!("cut at {end}"));
        }
    }
}

#[test]
fn what_stands_in_its_place_is_no_index_of_ours() {
    let sound = Sound::new();
    let header = |at: usize, bytes: &[u8]| {
        let mut db = sound.db.clone();
        db[at..at + bytes.len()].copy_from_slice(bytes);
        db
    };
    for (what, db) in [
        ("nothing in it", Vec::new()),
        ("one byte", vec![7]),
        ("text", b"# Not a database\n".repeat(1000)),
        ("a garbled header", header(0, &[0x5a; 100])),
        ("no schema", header(100, &[0; 64])),
        ("a page size of nobody", header(16, &[0, 3])),
        ("another program's mark", header(68, &[1, 2, 3, 4])),
        ("random bytes behind a good header", {
            let mut db = sound.db.clone();
            for (at, byte) in db[100..].iter_mut().enumerate() {
                *byte = (at * 7919 + at / 13) as u8;
            }
            db
        }),
    ] {
        sound.put(&db);
        sound.answers_as_if_fresh(what);
    }
    // A real database of another program.
    sound.put(&[]);
    fs::remove_file(sound.ws.path(".memory-forge/index.db")).expect("just written");
    let db = rusqlite::Connection::open(sound.ws.path(".memory-forge/index.db")).expect("new");
    db.execute_batch("create table chunk(id, text); insert into chunk values(1, 'theirs')")
        .expect("a table");
    drop(db);
    sound.answers_as_if_fresh("a foreign database");
}

#[test]
fn a_log_of_another_database_or_of_garbage() {
    let sound = Sound::new();
    for (what, wal) in [
        ("garbage", vec![0xa5; 40_000]),
        ("zero", vec![0; 40_000]),
        (
            "a header alone",
            b"\x37\x7f\x06\x82\x00\x2d\xe2\x18\x00\x00\x20\x00".to_vec(),
        ),
    ] {
        for name in ["index.db-wal", "index.db-journal", "index.db-shm"] {
            sound.put(&sound.db);
            sound.ws.write(&format!(".memory-forge/{name}"), &wal);
            sound.answers_as_if_fresh(&format!("{name}: {what}"));
        }
    }
}

/// A folder in its place cannot be used and is not ours to delete: it is moved
/// aside.
#[test]
fn a_folder_in_its_place() {
    let sound = Sound::new();
    sound.put(&[]);
    fs::remove_file(sound.ws.path(".memory-forge/index.db")).expect("just written");
    sound
        .ws
        .write(".memory-forge/index.db/notes.md", "# Mine\n");
    sound.answers_as_if_fresh("a folder");
    let tree = sound.ws.tree();
    let kept = tree.lines().find(|line| line.contains("notes.md"));
    assert!(
        kept.is_some_and(|line| line.contains("/foreign-")),
        "{tree}"
    );
}

#[cfg(unix)]
#[test]
fn it_cannot_be_written() {
    use std::os::unix::fs::PermissionsExt;
    let sound = Sound::new();
    sound.put(&sound.db);
    let folder = sound.ws.path(".memory-forge");
    // As root, modes forbid nothing; elsewhere nobody may mount.
    let locked = || {
        let mounted = crate::i10_full_disk::Mount::read_only(&folder);
        if mounted.is_none() {
            fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).expect("ours");
        }
        mounted
    };
    let unlock = |mounted: Option<crate::i10_full_disk::Mount>| {
        if mounted.is_none() {
            fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).expect("ours");
        }
    };
    let mounted = locked();
    sound.answers_as_if_fresh("read-only and current");
    unlock(mounted);
    // Read-only and out of date: what is new is found all the same.
    sound
        .ws
        .write("knowledge/late.md", "# Late\n\nThe quokka came late.\n");
    let mounted = locked();
    let output = sound.ws.run(&["search", "--json", "--", "quokka"]);
    unlock(mounted);
    assert!(output.ok().contains("knowledge/late.md"), "{output}");
}
