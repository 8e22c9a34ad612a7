//! Opens the index file in any state: absent, ours, older, newer, someone
//! else's, or damaged. Every state but "newer" ends with a usable index at the
//! usual place; a newer one is left alone and ours gets a path of its own.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};

use super::mark::{self, IndexOrigin, sibling_path, workspace_of};
use super::sync::embedding_text;
use super::vectors::PageCache;
use super::{CatalogueEntry, DocumentKind, DocumentStanding, FileStamp, IndexError};
use crate::fault::{self, DiskOperation};
use crate::regular::{self, LinkPolicy};
use crate::system::{self, FileNumber};
use crate::trust;

/// "MFrg": marks an SQLite file as ours.
const APPLICATION_ID: i32 = 0x4d46_7267;
/// The version of the format. Raised whenever the tables or the meaning of
/// their content change; an index of another version is rebuilt, never
/// converted.
const INDEX_FORMAT_VERSION: i32 = 3;

/// The version that replaces [`INDEX_FORMAT_VERSION`] in a process that plays another
/// version of the program; 0 means none.
#[cfg(debug_assertions)]
static PRETENDED_VERSION: std::sync::atomic::AtomicI32 = std::sync::atomic::AtomicI32::new(0);

/// Replaces the version of this process, for tests of two versions on one
/// workspace.
#[cfg(debug_assertions)]
pub fn pretend_version(version: i32) {
    PRETENDED_VERSION.store(version, std::sync::atomic::Ordering::Relaxed);
}

fn format_version() -> i32 {
    #[cfg(debug_assertions)]
    if let pretended @ 1.. = PRETENDED_VERSION.load(std::sync::atomic::Ordering::Relaxed) {
        return pretended;
    }
    INDEX_FORMAT_VERSION
}

/// The statements as SQLite keeps them, so that an opened file can be compared
/// with them word for word.
const SCHEMA_SQL: &str = "
CREATE TABLE meta(key text primary key, value) without rowid;
CREATE TABLE file(
    id integer primary key, path text not null unique,
    size integer not null, mtime_ns integer not null, recorded_ns integer not null,
    hash text not null, scope text not null, kind integer not null,
    title text not null, date text, importance integer not null,
    deprecated integer not null, superseded_by text, supersedes text not null,
    tokens integer not null, traits integer not null, problem text);
CREATE TABLE chunk(
    id integer primary key, file integer not null, ordinal integer not null,
    first_line integer not null, last_line integer not null,
    headings text not null, tokens integer not null,
    hash blob not null, embedded integer not null, text text not null);
CREATE INDEX chunk_of_file on chunk(file);
CREATE INDEX chunk_by_hash on chunk(hash);
CREATE INDEX chunk_to_embed on chunk(id) where embedded = 0;
CREATE TABLE segment(id integer primary key, chunks integer not null);
CREATE TABLE post(segment integer, term text, list blob not null, primary key(segment, term)) without rowid;
CREATE TABLE slot(page integer primary key, data blob not null);
CREATE TABLE vector(page integer primary key, data blob not null);
CREATE TABLE usage(path text primary key, last text not null, count integer not null) without rowid;
";

/// The open index.
pub struct Index {
    pub(super) db: Connection,
    pub(super) path: PathBuf,
    pub(super) kept: RefCell<PageCache>,
    opened: FileWitness,
    /// The file as this program last left it; see [`Index::write_seal`].
    sealed: RefCell<Option<String>>,
}

/// The state of the file by which an open index notices that others changed or
/// replaced it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct FileWitness {
    /// Counts the commits of all other connections.
    commits: i64,
    file: FileNumber,
}

impl FileWitness {
    fn of(db: &Connection, path: &Path) -> rusqlite::Result<FileWitness> {
        // A file that is gone is not the one that was opened.
        let meta = path.symlink_metadata();
        let file = meta.map_or((0, 0), |meta| system::file_number(path, &meta));
        let commits = db.query_row("pragma data_version", [], |row| row.get(0))?;
        Ok(FileWitness { commits, file })
    }
}

/// An index and what was done to open it.
pub struct OpenedIndex {
    /// The open index.
    pub index: Index,
    /// What a user should know about the opening.
    pub note: Option<OpenNote>,
}

/// A note to the user about the opening.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OpenNote {
    /// There was no index, and an empty one was made.
    Created,
    /// The old file was removed and the index was rebuilt, for this reason.
    Rebuilt(String),
    /// The file was written by a newer version; this one keeps its own file.
    KeptNewer {
        /// The format of the newer version.
        newer: i32,
        /// The file that is used instead.
        path: PathBuf,
    },
}

/// The number of files, passages, vectors and terms in the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IndexCounts {
    /// The number of files.
    pub files: usize,
    /// The number of passages.
    pub chunks: usize,
    /// The number of passages with a vector.
    pub embedded: usize,
    /// The number of terms in all passages, repetitions included.
    pub terms_total: u64,
}

/// The number of passages, and of those with a vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassageCounts {
    /// The number of passages.
    pub chunks: usize,
    /// The number of these with a vector.
    pub embedded: usize,
}

impl Index {
    /// Opens `directory/index.db`, creating or replacing it where needed. The
    /// directory must exist. While it runs, the caller holds the index lock if
    /// the file may have to be replaced; see [`Index::open_existing`].
    pub fn open(directory: &Path) -> Result<OpenedIndex, IndexError> {
        let path = directory.join("index.db");
        match index_state(&path)? {
            IndexState::Ours(made) => match Index::open_marked(&path, &made) {
                Ok(index) => Ok(OpenedIndex { index, note: None }),
                // Its header is in order, and what follows is not.
                Err(IndexError::Damaged { why, .. }) => Ok(OpenedIndex {
                    index: Index::create(&path)?,
                    note: Some(OpenNote::Rebuilt(why)),
                }),
                Err(other) => Err(other),
            },
            IndexState::Absent => Ok(OpenedIndex {
                index: Index::create(&path)?,
                note: Some(OpenNote::Created),
            }),
            // The newer program keeps its file: if each version replaced the
            // other's, both would rebuild in turn.
            IndexState::Newer(newer) => {
                let path = directory.join(format!("index.v{}.db", format_version()));
                let index = match index_state(&path)? {
                    IndexState::Ours(made) => match Index::open_marked(&path, &made) {
                        Err(e) if e.is_damage() => Index::create(&path)?,
                        other => other?,
                    },
                    IndexState::Absent => Index::create(&path)?,
                    _ => Index::create(&path)?,
                };
                Ok(OpenedIndex {
                    index,
                    note: Some(OpenNote::KeptNewer { newer, path }),
                })
            }
            IndexState::Other(why) => Ok(OpenedIndex {
                index: Index::create(&path)?,
                note: Some(OpenNote::Rebuilt(why)),
            }),
        }
    }

    /// Opens the index only if it is there and ours; needs no lock.
    pub fn open_existing(directory: &Path) -> Result<Option<Index>, IndexError> {
        let path = directory.join("index.db");
        let (path, state) = match index_state(&path)? {
            IndexState::Newer(_) => {
                let path = directory.join(format!("index.v{}.db", format_version()));
                let state = index_state(&path)?;
                (path, state)
            }
            state => (path, state),
        };
        match state {
            // Opening makes the log again, and the mark with it: that takes the
            // lock.
            IndexState::Ours(made) if !made.log_is_missing => {
                Index::open_marked(&path, &made).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Opens the index of another workspace, if it is there and ours, without
    /// the right to change it.
    pub fn open_read_only(directory: &Path) -> Result<Option<Index>, IndexError> {
        let path = directory.join("index.db");
        let IndexState::Ours(made) = index_state(&path)? else {
            return Ok(None);
        };
        if made.log_is_missing {
            return Ok(None);
        }
        let db = open_hardened(&path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        db.execute_batch("pragma query_only = on; pragma temp_store = memory;")
            .map_err(|e| sqlite_error(&path, e))?;
        let index = Index {
            db,
            path,
            kept: RefCell::default(),
            opened: FileWitness::default(),
            sealed: RefCell::default(),
        };
        index.refuse_other_content(&made.token)?;
        Ok(Some(index))
    }

    /// Removes a damaged index and creates an empty one. The caller holds the
    /// lock.
    pub fn rebuild(self) -> Result<Index, IndexError> {
        let path = self.path.clone();
        // Closed first: Windows removes no open file.
        drop(self.db);
        Index::create(&path)
    }

    /// Creates an index that exists as long as the process.
    pub fn in_memory() -> Result<Index, IndexError> {
        let path = PathBuf::from(":memory:");
        let db = Connection::open_in_memory().map_err(|e| sqlite_error(&path, e))?;
        let index = Index {
            db,
            path,
            kept: RefCell::default(),
            opened: FileWitness::default(),
            sealed: RefCell::default(),
        };
        index.create_tables()?;
        Ok(index)
    }

    /// Returns the path of the database.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Starts a read transaction. While it is held, all queries see one state
    /// of the index, whatever other processes write, and the file is locked
    /// once instead of for each query.
    pub fn snapshot(&self) -> Result<impl Sized + '_, IndexError> {
        let transaction = self.db.unchecked_transaction();
        transaction.map_err(|e| sqlite_error(&self.path, e))
    }

    /// Returns the counts of the index. Counting files reads all their rows.
    pub fn counts(&self) -> Result<IndexCounts, IndexError> {
        let PassageCounts { chunks, embedded } = self.passage_counts()?;
        self.with_connection(|db| {
            let files =
                db.query_row("select count(*) from file where problem is null", [], |r| {
                    r.get::<_, i64>(0)
                })?;
            Ok(IndexCounts {
                files: files as usize,
                chunks,
                embedded,
                terms_total: read_counter(db, "terms")? as u64,
            })
        })
    }

    /// Returns the counts that every query needs, without counting files.
    pub fn passage_counts(&self) -> Result<PassageCounts, IndexError> {
        self.with_connection(|db| {
            let waiting: i64 = db
                .prepare_cached("select count(*) from chunk where embedded = 0")?
                .query_row([], |r| r.get(0))?;
            let chunks: i64 = read_counter(db, "chunks")?;
            Ok(PassageCounts {
                chunks: chunks.max(0) as usize,
                embedded: (chunks - waiting).max(0) as usize,
            })
        })
    }

    /// Returns every file in the index, sorted by path.
    pub fn catalogue(&self) -> Result<Vec<CatalogueEntry>, IndexError> {
        self.with_connection(|db| {
            let mut statement = db.prepare(
                "select id, path, size, mtime_ns, recorded_ns, scope, kind, date, deprecated, superseded_by, problem from file",
            )?;
            let mut rows = statement.query([])?;
            let mut entries = Vec::new();
            while let Some(r) = rows.next()? {
                entries.push(CatalogueEntry {
                    id: r.get(0)?,
                    path: r.get(1)?,
                    stamp: FileStamp {
                        size: r.get::<_, i64>(2)? as u64,
                        mtime_ns: r.get(3)?,
                        recorded_ns: r.get(4)?,
                    },
                    scope: r.get(5)?,
                    kind: if r.get::<_, i64>(6)? == 1 { DocumentKind::Skill } else { DocumentKind::Knowledge },
                    date: r.get(7)?,
                    standing: match (r.get::<_, bool>(8)?, r.get::<_, Option<String>>(9)?) {
                        (_, Some(by)) => DocumentStanding::SupersededBy(by),
                        (true, None) => DocumentStanding::Deprecated,
                        _ => DocumentStanding::Current,
                    },
                    problem: r.get(10)?,
                });
            }
            entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
            Ok(entries)
        })
    }

    /// Returns what the caller noted of each file that was read, by its id in
    /// the catalogue; files of which nothing was noted are left out.
    pub fn document_traits(&self) -> Result<HashMap<u32, u32>, IndexError> {
        self.with_connection(|db| {
            let mut statement = db.prepare("select id, traits from file where traits <> 0")?;
            let rows = statement.query_map([], |r| Ok((r.get(0)?, r.get(1)?)))?;
            rows.collect()
        })
    }

    /// Returns the content hash of every indexed file, sorted by path.
    pub fn content_hashes(&self) -> Result<Vec<(String, String)>, IndexError> {
        self.with_connection(|db| {
            let mut statement =
                db.prepare("select path, hash from file where problem is null order by path")?;
            let rows = statement.query_map([], |r| Ok((r.get(0)?, r.get(1)?)))?;
            rows.collect()
        })
    }

    /// Returns the content hash of a file, if it is indexed.
    pub fn content_hash_of(&self, path: &str) -> Result<Option<String>, IndexError> {
        self.with_connection(|db| {
            db.query_row("select hash from file where path = ?", [path], |r| r.get(0))
                .optional()
        })
    }

    /// Returns the value that is stored under a key.
    pub fn stored_value(&self, key: &str) -> Result<Option<String>, IndexError> {
        self.with_connection(|db| {
            db.query_row("select value from meta where key = ?", [key], |r| r.get(0))
                .optional()
        })
    }

    /// Stores a value under a key.
    pub fn store_value(&self, key: &str, value: &str) -> Result<(), IndexError> {
        self.with_connection(|db| {
            announce_index_step(&self.path)?;
            db.execute(
                "insert or replace into meta(key, value) values(?, ?)",
                [key, value],
            )?;
            Ok(())
        })
    }

    /// Counts a use of each file. Losing one is better than waiting for it, so
    /// a busy index is not an error.
    pub fn record_uses(&self, paths: &[&str], now: &str) {
        let _ = self.db.busy_timeout(std::time::Duration::ZERO);
        let _ = self.with_connection(|db| {
            let tx = db.unchecked_transaction()?;
            for path in paths {
                tx.execute(
                    "insert into usage(path, last, count) values(?1, ?2, 1)
                     on conflict(path) do update set last = ?2, count = count + 1",
                    params![path, now],
                )?;
            }
            announce_index_step(&self.path)?;
            tx.commit()
        });
        self.write_seal();
        let _ = self.db.busy_timeout(BUSY_TIMEOUT);
    }

    /// Returns path, importance, last use and number of uses of every indexed
    /// file.
    pub fn usage(&self) -> Result<Vec<FileUsage>, IndexError> {
        self.with_connection(|db| {
            let mut statement = db.prepare(
                "select f.path, f.importance, u.last, coalesce(u.count, 0) from file f
                 left join usage u on u.path = f.path where f.problem is null order by f.path",
            )?;
            let rows = statement.query_map([], |r| {
                Ok(FileUsage {
                    path: r.get(0)?,
                    importance: r.get(1)?,
                    last: r.get(2)?,
                    count: r.get::<_, i64>(3)? as u64,
                })
            })?;
            rows.collect()
        })
    }

    /// Verifies every page and compares the parts with one another. Returns the
    /// problems as sentences; an empty list means that the index is valid.
    pub fn verify(&self) -> Result<Vec<String>, IndexError> {
        let mut wrong: Vec<String> = self.with_connection(|db| {
            // Ten problems are enough: one of them is a reason to rebuild.
            let mut statement = db.prepare("pragma quick_check(10)")?;
            let rows = statement.query_map([], |r| r.get::<_, String>(0))?;
            rows.collect()
        })?;
        wrong.retain(|line| line != "ok");
        let counts = self.counts()?;
        let rows: i64 = self
            .with_connection(|db| db.query_row("select count(*) from chunk", [], |r| r.get(0)))?;
        if rows as usize != counts.chunks {
            wrong.push(format!("{rows} passages stored, {} counted", counts.chunks));
        }
        let slots = self.load_slots()?;
        let live = slots.count_live();
        if live != counts.chunks {
            wrong.push(format!(
                "{live} passages can be found, {} are stored",
                counts.chunks
            ));
        }
        let orphans: i64 = self.with_connection(|db| {
            db.query_row(
                "select count(*) from chunk where file not in (select id from file)",
                [],
                |r| r.get(0),
            )
        })?;
        if orphans > 0 {
            wrong.push(format!("{orphans} passages belong to no file"));
        }
        let altered = self.altered_passages()?;
        if altered > 0 {
            wrong.push(format!(
                "{altered} passages are not the text that was stored"
            ));
        }
        // An index that lost its postings would pass all other checks, because
        // exact strings are found in the texts.
        self.check_postings(&slots, &mut wrong)?;
        Ok(wrong)
    }

    /// Counts the passages whose text does not have the hash that was stored
    /// with it.
    fn altered_passages(&self) -> Result<usize, IndexError> {
        self.with_connection(|db| {
            let mut statement = db.prepare(
                "select f.title, c.headings, c.text, c.hash from chunk c join file f on f.id = c.file",
            )?;
            let mut rows = statement.query([])?;
            let mut altered = 0;
            while let Some(row) = rows.next()? {
                let (title, headings, text): (String, String, String) =
                    (row.get(0)?, row.get(1)?, row.get(2)?);
                let hash = blake3::hash(embedding_text(&title, &headings, &text).as_bytes());
                altered += usize::from(row.get_ref(3)?.as_blob()? != &hash.as_bytes()[..16]);
            }
            Ok(altered)
        })
    }

    /// Moves what was written aside into the main file, so that the next
    /// process starts without replaying it.
    pub fn checkpoint_log(&self) {
        if announce_index_step(&self.path).is_err() {
            return;
        }
        let _ = self
            .db
            // Truncated, so that the log of a large batch does not keep its
            // size.
            .query_row("pragma wal_checkpoint(truncate)", [], |_| Ok(()));
        self.write_seal();
    }

    pub(super) fn with_connection<T>(
        &self,
        f: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, IndexError> {
        f(&self.db).map_err(|e| sqlite_error(&self.path, e))
    }

    pub(super) fn damage_error(&self, why: impl Into<String>) -> IndexError {
        IndexError::Damaged {
            path: self.path.clone(),
            why: why.into(),
        }
    }

    fn open_connection(path: &Path, create: OpenFlags) -> Result<Index, IndexError> {
        let db = open_hardened(path, OpenFlags::SQLITE_OPEN_READ_WRITE | create)?;
        let prepare = || -> rusqlite::Result<FileWitness> {
            // The last process to close would otherwise merge the log each time,
            // and a search would wait for the disk. It would also remove the
            // log, for which the mark vouches.
            db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
            db.execute_batch(
                // With a log, `normal` may lose the last commits to a loss of
                // power, and never damages the file.
                "pragma synchronous = normal; pragma wal_autocheckpoint = 512;
                 pragma temp_store = memory;",
            )?;
            // A server asks often, and pages that it has need no reading; this
            // is the most that is kept, in KiB.
            db.execute_batch("pragma cache_size = -32768;")?;
            FileWitness::of(&db, path)
        };
        let opened = prepare().map_err(|e| sqlite_error(path, e))?;
        Ok(Index {
            db,
            path: path.to_owned(),
            kept: RefCell::default(),
            opened,
            sealed: RefCell::default(),
        })
    }

    /// Opens a file that has a valid mark. It may still differ from what we
    /// left: then all of it is verified. SQLite detects pages that make no
    /// sense, but not pages that lost content.
    fn open_marked(path: &Path, made: &MarkContent) -> Result<Index, IndexError> {
        let index = Index::open_connection(path, OpenFlags::empty())?;
        index.refuse_other_content(&made.token)?;
        if made.log_is_missing {
            // The statement above has made the log again.
            index.write_mark(&made.token)?;
        }
        let now = size_and_mtime(path);
        let sealed = regular::read_regular(
            &sibling_path(path, SEAL_SUFFIX),
            LinkPolicy::Refuse,
            MAX_SEAL_BYTES,
        )
        .ok();
        if now.is_none() || sealed.as_deref() != now.as_deref().map(str::as_bytes) {
            // Others may write at the same time; the parts must be of one
            // moment.
            let moment = index.snapshot()?;
            let wrong = index.verify()?.into_iter().next();
            drop(moment);
            if let Some(why) = wrong {
                return Err(index.damage_error(why));
            }
            index.write_seal();
        } else {
            index.sealed.replace(now);
        }
        Ok(index)
    }

    /// Fails unless the content is what this program put into the file: its
    /// tables word for word, and the token that the mark names.
    fn refuse_other_content(&self, token: &str) -> Result<(), IndexError> {
        let tables = self.with_connection(|db| {
            let mut statement =
                db.prepare("select sql from sqlite_schema where sql is not null order by rowid")?;
            let rows = statement.query_map([], |row| row.get::<_, String>(0))?;
            rows.collect::<rusqlite::Result<Vec<String>>>()
        })?;
        // A foreign schema could have triggers and views that run when we
        // write.
        let expected = SCHEMA_SQL
            .split(';')
            .map(str::trim)
            .filter(|it| !it.is_empty());
        if !tables.iter().map(String::as_str).eq(expected) {
            return Err(self.damage_error("its tables are not those of an index"));
        }
        if self.stored_value(TOKEN_KEY)?.as_deref() != Some(token) {
            return Err(self.damage_error("its content was not made by you on this machine"));
        }
        Ok(())
    }

    /// Marks the files as made here.
    fn write_mark(&self, token: &str) -> Result<(), IndexError> {
        mark::write_mark(&self.path, token).map_err(|failure| match failure {
            mark::MarkError::Key(no_key) => IndexError::NoKey(no_key),
            mark::MarkError::Io(source) => IndexError::Io {
                path: sibling_path(&self.path, ".mark"),
                source,
            },
        })
    }

    /// Notes size and time of the file, where a commit has moved pages into
    /// it. Without the note it is only looked at more closely next time.
    pub(super) fn write_seal(&self) {
        // An index in memory, or one that is only read, has no file to note.
        if self.opened == FileWitness::default() {
            return;
        }
        let now = size_and_mtime(&self.path);
        if let Some(text) = &now
            && *self.sealed.borrow() != now
            && mark::replace_file(&sibling_path(&self.path, SEAL_SUFFIX), text.as_bytes()).is_ok()
        {
            self.sealed.replace(now);
        }
    }

    /// Returns `true` if the file is still the one that was opened, and no
    /// other process has written to it since. Always `true` for an index in
    /// memory.
    pub fn is_as_opened(&self) -> bool {
        self.opened == FileWitness::default()
            || FileWitness::of(&self.db, &self.path).is_ok_and(|now| now == self.opened)
    }

    /// Creates a new index. The files at its path are removed first, also those
    /// that SQLite would take for a part of it.
    fn create(path: &Path) -> Result<Index, IndexError> {
        // Without a key nothing is made that could not be used again.
        trust::ensure_key(workspace_of(path)).map_err(IndexError::NoKey)?;
        let token = trust::random_token().map_err(IndexError::NoKey)?;
        remove_database(path)?;
        let index = Index::open_connection(path, OpenFlags::SQLITE_OPEN_CREATE)?;
        index.create_tables()?;
        // The mark is made last: what a crash leaves before it is replaced.
        index.store_value(TOKEN_KEY, &token)?;
        index.write_mark(&token)?;
        index.write_seal();
        Ok(index)
    }

    fn create_tables(&self) -> Result<(), IndexError> {
        self.with_connection(|db| {
            // The tables are made before the log is switched on, so that the
            // header of the file itself always shows whose it is.
            announce_index_step(&self.path)?;
            db.execute_batch("pragma page_size = 8192; begin immediate;")?;
            let made: i32 = db.query_row("pragma user_version", [], |r| r.get(0))?;
            if made == 0 {
                db.execute_batch(SCHEMA_SQL)?;
                announce_index_step(&self.path)?;
                db.execute_batch(&format!(
                    "pragma application_id = {APPLICATION_ID}; pragma user_version = {};",
                    format_version()
                ))?;
            }
            db.execute_batch("commit")?;
            announce_index_step(&self.path)?;
            db.query_row("pragma journal_mode = wal", [], |_| Ok(()))
        })
    }
}

/// The uses of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct FileUsage {
    /// The path relative to the root.
    pub path: String,
    /// The importance of the document, from 1 to 10.
    pub importance: i64,
    /// The day on which it was last used, where it ever was.
    pub last: Option<String>,
    /// The number of uses.
    pub count: u64,
}

const BUSY_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(5);

/// The suffix of the file that records how the index was left.
const SEAL_SUFFIX: &str = ".seal";

/// Two numbers of at most 20 digits.
const MAX_SEAL_BYTES: u64 = 64;

/// The key under which the database keeps the token that its mark names.
const TOKEN_KEY: &str = "token";

/// Upper bound for bytes of a value; ours are far smaller. SQLite refuses longer ones
/// before it makes room for them.
const MAX_VALUE_BYTES: i32 = 64 << 20;

enum IndexState {
    Absent,
    Ours(MarkContent),
    Newer(i32),
    Other(String),
}

/// The content of the mark of an index.
struct MarkContent {
    token: String,
    log_is_missing: bool,
}

/// Opens a database without trust in what it holds: no links are followed, and
/// nothing in it can run.
fn open_hardened(path: &Path, flags: OpenFlags) -> Result<Connection, IndexError> {
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let open = || -> rusqlite::Result<Connection> {
        let db = Connection::open_with_flags(path, flags)?;
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
        db.set_limit(Limit::SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)?;
        // Content of the database must not open other files.
        db.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
        db.busy_timeout(BUSY_TIMEOUT)?;
        Ok(db)
    };
    open().map_err(|e| sqlite_error(path, e))
}

/// Returns the state of the file at the path, from its mark and its own header,
/// so that a foreign or damaged file is never opened as a database of ours.
fn index_state(path: &Path) -> Result<IndexState, IndexError> {
    use std::io::Read;
    let io = |source| IndexError::Io {
        path: path.to_owned(),
        source,
    };
    let made = match mark::index_origin(path).map_err(io)? {
        IndexOrigin::Absent => return Ok(IndexState::Absent),
        IndexOrigin::Foreign(why) => return Ok(IndexState::Other(why.to_owned())),
        IndexOrigin::Ours {
            token,
            log_is_missing,
        } => MarkContent {
            token,
            log_is_missing,
        },
    };
    let mut header = [0u8; 100];
    let mut file = match regular::open_regular(path, LinkPolicy::Refuse) {
        Ok(file) => file,
        Err(e) if e.is_not_found() => return Ok(IndexState::Absent),
        Err(e) => return Err(io(e.into())),
    };
    match file.read_exact(&mut header) {
        Ok(()) => {}
        Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => {
            // A process that died between creating the file and its first page.
            return Ok(IndexState::Other("it was empty or cut short".into()));
        }
        Err(source) => return Err(io(source)),
    }
    if &header[..16] != b"SQLite format 3\0" {
        return Ok(IndexState::Other("it was not a database".into()));
    }
    let word = |at: usize| {
        i32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
    };
    // With other numbers here SQLite takes the file for one of a later version,
    // which it may not write, or for text in another encoding.
    let as_written = matches!((header[18], header[19]), (1 | 2, 1 | 2)) && word(56) == 1;
    let (format, application) = (word(60), word(68));
    if application == APPLICATION_ID && !as_written {
        return Ok(IndexState::Other("its header was damaged".into()));
    }
    Ok(match (application, format) {
        (APPLICATION_ID, v) if v == format_version() => IndexState::Ours(made),
        (APPLICATION_ID, v) if v > format_version() => IndexState::Newer(v),
        (APPLICATION_ID, v) => IndexState::Other(format!("it was of the older version {v}")),
        _ => IndexState::Other("it belonged to another tool".into()),
    })
}

/// Removes an index with everything that SQLite takes for a part of it. A
/// folder in such a place is not ours, and is moved aside.
fn remove_database(path: &Path) -> Result<(), IndexError> {
    // The mark first: what a crash leaves then counts as foreign and is
    // replaced.
    for suffix in [".mark", SEAL_SUFFIX, "", "-wal", "-shm", "-journal"] {
        let name = sibling_path(path, suffix);
        let step = fault::announce_step(DiskOperation::Remove, path, path);
        let remove = step.and_then(|()| match name.symlink_metadata() {
            Ok(meta) if meta.is_dir() => trust::set_aside_foreign(&name),
            _ => std::fs::remove_file(&name),
        });
        match remove {
            Ok(()) => {}
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(source) => return Err(IndexError::Io { path: name, source }),
        }
    }
    Ok(())
}

/// Formats size and time of a file as a line of text.
fn size_and_mtime(path: &Path) -> Option<String> {
    let meta = path.symlink_metadata().ok()?;
    let since = meta.modified().ok()?.duration_since(std::time::UNIX_EPOCH);
    Some(format!("{} {}\n", meta.len(), since.ok()?.as_nanos()))
}

/// Calls the watcher at a point where a transaction may be cut off.
pub(super) fn announce_index_step(path: &Path) -> rusqlite::Result<()> {
    let step = fault::announce_step(DiskOperation::Index, path, path);
    step.map_err(|e| rusqlite::Error::ToSqlConversionFailure(Box::new(e)))
}

/// Reads a number that the index stores about itself: a count, or the next id.
/// One that no index can reach is damage, and never a size to make room for.
pub(super) fn read_counter(db: &Connection, key: &str) -> rusqlite::Result<i64> {
    let value = db
        .query_row("select value from meta where key = ?", [key], |r| r.get(0))
        .optional()?
        .unwrap_or(0);
    if (0..1 << 40).contains(&value) {
        Ok(value)
    } else {
        Err(rusqlite::Error::IntegralValueOutOfRange(0, value))
    }
}

/// Converts an error of SQLite. Our statements are the same each time, so their
/// failure is the fault of the file, unless it is the system's: a full disk, a
/// lock, a folder that may not be written.
pub(super) fn sqlite_error(path: &Path, source: rusqlite::Error) -> IndexError {
    use rusqlite::ErrorCode as Code;
    let of_the_system = matches!(
        source.sqlite_error_code(),
        Some(
            Code::PermissionDenied
                | Code::OperationAborted
                | Code::DatabaseBusy
                | Code::DatabaseLocked
                | Code::OutOfMemory
                | Code::ReadOnly
                | Code::OperationInterrupted
                | Code::SystemIoFailure
                | Code::DiskFull
                | Code::CannotOpen
                | Code::FileLockingProtocolFailed
                | Code::NoLargeFileSupport
        )
    );
    // SQLite reports a file that was cut within a page as a read error.
    let extended = source.sqlite_error().map(|error| error.extended_code);
    let cut_short = extended == Some(rusqlite::ffi::SQLITE_IOERR_SHORT_READ);
    if of_the_system && !cut_short {
        return IndexError::Sqlite {
            path: path.to_owned(),
            source,
        };
    }
    IndexError::Damaged {
        path: path.to_owned(),
        why: source.to_string(),
    }
}
