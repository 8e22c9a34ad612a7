//! Opens the index file in any state: absent, ours, older, newer, someone
//! else's, or damaged. Every state but "newer" ends with a usable index at the
//! usual place; a newer one is left alone and ours gets a path of its own.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};

use super::mark::{self, Origin, beside, workspace_of};
use super::sync::embedding_text;
use super::vectors::Kept;
use super::{Entry, Error, Kind, Stamp, Standing};
use crate::fault::{self, Op};
use crate::regular::{self, Links};
use crate::trust;

/// "MFrg": marks an SQLite file as ours.
const APPLICATION: i32 = 0x4d46_7267;
/// The version of the format. Raised whenever the tables or the meaning of
/// their content change; an index of another version is rebuilt, never
/// converted.
const VERSION: i32 = 3;

/// The version that replaces [`VERSION`] in a process that plays another
/// version of the program; 0 means none.
#[cfg(debug_assertions)]
static PRETENDED: std::sync::atomic::AtomicI32 = std::sync::atomic::AtomicI32::new(0);

/// Replaces the version of this process, for tests of two versions on one
/// workspace.
#[cfg(debug_assertions)]
pub fn pretend_version(version: i32) {
    PRETENDED.store(version, std::sync::atomic::Ordering::Relaxed);
}

fn version() -> i32 {
    #[cfg(debug_assertions)]
    if let pretended @ 1.. = PRETENDED.load(std::sync::atomic::Ordering::Relaxed) {
        return pretended;
    }
    VERSION
}

/// The statements as SQLite keeps them, so that an opened file can be compared
/// with them word for word.
const SCHEMA: &str = "
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
    pub(super) kept: RefCell<Kept>,
    opened: Witness,
    /// The file as this program last left it; see [`Index::seal`].
    sealed: RefCell<Option<String>>,
}

/// The state of the file by which an open index notices that others changed or
/// replaced it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Witness {
    /// Counts the commits of all other connections.
    commits: i64,
    /// Device and number of the file, where the system has them.
    file: (u64, u64),
}

impl Witness {
    fn of(db: &Connection, path: &Path) -> rusqlite::Result<Witness> {
        #[cfg(unix)]
        let file = {
            use std::os::unix::fs::MetadataExt;
            // A file that is gone is not the one that was opened.
            path.symlink_metadata()
                .map_or((0, 0), |it| (it.dev(), it.ino()))
        };
        #[cfg(not(unix))]
        let file = (0, u64::from(path.is_file()));
        let commits = db.query_row("pragma data_version", [], |row| row.get(0))?;
        Ok(Witness { commits, file })
    }
}

/// An index and what was done to open it.
pub struct Opened {
    pub index: Index,
    pub note: Option<Note>,
}

/// A note to the user about the opening.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    Created,
    /// The old file was removed and the index was rebuilt, for this reason.
    Rebuilt(String),
    /// The file was written by a newer version; this one keeps its own file.
    Beside {
        newer: i32,
        path: PathBuf,
    },
}

/// The number of files, passages, vectors and terms in the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    pub files: usize,
    pub chunks: usize,
    pub embedded: usize,
    pub terms_total: u64,
}

/// The number of passages, and of those with a vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passages {
    pub chunks: usize,
    pub embedded: usize,
}

impl Index {
    /// Opens `directory/index.db`, creating or replacing it where needed. The
    /// directory must exist. While it runs, the caller holds the index lock if
    /// the file may have to be replaced; see [`Index::open_existing`].
    pub fn open(directory: &Path) -> Result<Opened, Error> {
        let path = directory.join("index.db");
        match state(&path)? {
            State::Ours(made) => match Index::sound(&path, &made) {
                Ok(index) => Ok(Opened { index, note: None }),
                // Its header is in order, and what follows is not.
                Err(Error::Damaged { why, .. }) => Ok(Opened {
                    index: Index::create(&path)?,
                    note: Some(Note::Rebuilt(why)),
                }),
                Err(other) => Err(other),
            },
            State::Absent => Ok(Opened {
                index: Index::create(&path)?,
                note: Some(Note::Created),
            }),
            // The newer program keeps its file: if each version replaced the
            // other's, both would rebuild in turn.
            State::Newer(newer) => {
                let path = directory.join(format!("index.v{}.db", version()));
                let index = match state(&path)? {
                    State::Ours(made) => match Index::sound(&path, &made) {
                        Err(e) if e.is_damage() => Index::create(&path)?,
                        other => other?,
                    },
                    State::Absent => Index::create(&path)?,
                    _ => Index::create(&path)?,
                };
                Ok(Opened {
                    index,
                    note: Some(Note::Beside { newer, path }),
                })
            }
            State::Other(why) => Ok(Opened {
                index: Index::create(&path)?,
                note: Some(Note::Rebuilt(why)),
            }),
        }
    }

    /// Opens the index only if it is there and ours; needs no lock.
    pub fn open_existing(directory: &Path) -> Result<Option<Index>, Error> {
        let path = directory.join("index.db");
        let (path, state) = match state(&path)? {
            State::Newer(_) => {
                let path = directory.join(format!("index.v{}.db", version()));
                let state = state(&path)?;
                (path, state)
            }
            state => (path, state),
        };
        match state {
            // Opening makes the log again, and the mark with it: that takes the
            // lock.
            State::Ours(made) if !made.log_is_missing => Index::sound(&path, &made).map(Some),
            _ => Ok(None),
        }
    }

    /// Opens the index of another workspace, if it is there and ours, without
    /// the right to change it.
    pub fn open_read_only(directory: &Path) -> Result<Option<Index>, Error> {
        let path = directory.join("index.db");
        let State::Ours(made) = state(&path)? else {
            return Ok(None);
        };
        if made.log_is_missing {
            return Ok(None);
        }
        let db = hardened(&path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        db.execute_batch("pragma query_only = on; pragma temp_store = memory;")
            .map_err(|e| sqlite(&path, e))?;
        let index = Index {
            db,
            path,
            kept: RefCell::default(),
            opened: Witness::default(),
            sealed: RefCell::default(),
        };
        index.refuse_other_content(&made.token)?;
        Ok(Some(index))
    }

    /// Removes a damaged index and creates an empty one. The caller holds the
    /// lock.
    pub fn rebuild(self) -> Result<Index, Error> {
        let path = self.path.clone();
        // Closed first: Windows removes no open file.
        drop(self.db);
        Index::create(&path)
    }

    /// Creates an index that exists as long as the process.
    pub fn in_memory() -> Result<Index, Error> {
        let path = PathBuf::from(":memory:");
        let db = Connection::open_in_memory().map_err(|e| sqlite(&path, e))?;
        let index = Index {
            db,
            path,
            kept: RefCell::default(),
            opened: Witness::default(),
            sealed: RefCell::default(),
        };
        index.prepare()?;
        Ok(index)
    }

    /// Returns the path of the database.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Starts a read transaction. While it is held, all queries see one state
    /// of the index, whatever other processes write, and the file is locked
    /// once instead of for each query.
    pub fn snapshot(&self) -> Result<impl Sized + '_, Error> {
        let transaction = self.db.unchecked_transaction();
        transaction.map_err(|e| sqlite(&self.path, e))
    }

    /// Returns the counts of the index. Counting files reads all their rows.
    pub fn counts(&self) -> Result<Counts, Error> {
        let Passages { chunks, embedded } = self.passage_counts()?;
        self.read(|db| {
            let files =
                db.query_row("select count(*) from file where problem is null", [], |r| {
                    r.get::<_, i64>(0)
                })?;
            Ok(Counts {
                files: files as usize,
                chunks,
                embedded,
                terms_total: number(db, "terms")? as u64,
            })
        })
    }

    /// Returns the counts that every query needs, without counting files.
    pub fn passage_counts(&self) -> Result<Passages, Error> {
        self.read(|db| {
            let waiting: i64 = db
                .prepare_cached("select count(*) from chunk where embedded = 0")?
                .query_row([], |r| r.get(0))?;
            let chunks: i64 = number(db, "chunks")?;
            Ok(Passages {
                chunks: chunks.max(0) as usize,
                embedded: (chunks - waiting).max(0) as usize,
            })
        })
    }

    /// Returns every file in the index, sorted by path.
    pub fn catalogue(&self) -> Result<Vec<Entry>, Error> {
        self.read(|db| {
            let mut statement = db.prepare(
                "select id, path, size, mtime_ns, recorded_ns, scope, kind, date, deprecated, superseded_by, problem from file",
            )?;
            let mut rows = statement.query([])?;
            let mut entries = Vec::new();
            while let Some(r) = rows.next()? {
                entries.push(Entry {
                    id: r.get(0)?,
                    path: r.get(1)?,
                    stamp: Stamp {
                        size: r.get::<_, i64>(2)? as u64,
                        mtime_ns: r.get(3)?,
                        recorded_ns: r.get(4)?,
                    },
                    scope: r.get(5)?,
                    kind: if r.get::<_, i64>(6)? == 1 { Kind::Skill } else { Kind::Knowledge },
                    date: r.get(7)?,
                    standing: match (r.get::<_, bool>(8)?, r.get::<_, Option<String>>(9)?) {
                        (_, Some(by)) => Standing::SupersededBy(by),
                        (true, None) => Standing::Deprecated,
                        _ => Standing::Current,
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
    pub fn traits(&self) -> Result<HashMap<u32, u32>, Error> {
        self.read(|db| {
            let mut statement = db.prepare("select id, traits from file where traits <> 0")?;
            let rows = statement.query_map([], |r| Ok((r.get(0)?, r.get(1)?)))?;
            rows.collect()
        })
    }

    /// Returns the content hash of every indexed file, sorted by path.
    pub fn hashes(&self) -> Result<Vec<(String, String)>, Error> {
        self.read(|db| {
            let mut statement =
                db.prepare("select path, hash from file where problem is null order by path")?;
            let rows = statement.query_map([], |r| Ok((r.get(0)?, r.get(1)?)))?;
            rows.collect()
        })
    }

    /// Returns the content hash of a file, if it is indexed.
    pub fn hash_of(&self, path: &str) -> Result<Option<String>, Error> {
        self.read(|db| {
            db.query_row("select hash from file where path = ?", [path], |r| r.get(0))
                .optional()
        })
    }

    /// Returns the value that is stored under a key.
    pub fn note(&self, key: &str) -> Result<Option<String>, Error> {
        self.read(|db| {
            db.query_row("select value from meta where key = ?", [key], |r| r.get(0))
                .optional()
        })
    }

    /// Stores a value under a key.
    pub fn set_note(&self, key: &str, value: &str) -> Result<(), Error> {
        self.read(|db| {
            step(&self.path)?;
            db.execute(
                "insert or replace into meta(key, value) values(?, ?)",
                [key, value],
            )?;
            Ok(())
        })
    }

    /// Counts a use of each file. Losing one is better than waiting for it, so
    /// a busy index is not an error.
    pub fn touch(&self, paths: &[&str], now: &str) {
        let _ = self.db.busy_timeout(std::time::Duration::ZERO);
        let _ = self.read(|db| {
            let tx = db.unchecked_transaction()?;
            for path in paths {
                tx.execute(
                    "insert into usage(path, last, count) values(?1, ?2, 1)
                     on conflict(path) do update set last = ?2, count = count + 1",
                    params![path, now],
                )?;
            }
            step(&self.path)?;
            tx.commit()
        });
        self.seal();
        let _ = self.db.busy_timeout(BUSY);
    }

    /// Returns path, importance, last use and number of uses of every indexed
    /// file.
    pub fn usage(&self) -> Result<Vec<Usage>, Error> {
        self.read(|db| {
            let mut statement = db.prepare(
                "select f.path, f.importance, u.last, coalesce(u.count, 0) from file f
                 left join usage u on u.path = f.path where f.problem is null order by f.path",
            )?;
            let rows = statement.query_map([], |r| {
                Ok(Usage {
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
    pub fn verify(&self) -> Result<Vec<String>, Error> {
        let mut wrong: Vec<String> = self.read(|db| {
            // Ten problems are enough: one of them is a reason to rebuild.
            let mut statement = db.prepare("pragma quick_check(10)")?;
            let rows = statement.query_map([], |r| r.get::<_, String>(0))?;
            rows.collect()
        })?;
        wrong.retain(|line| line != "ok");
        let counts = self.counts()?;
        let rows: i64 =
            self.read(|db| db.query_row("select count(*) from chunk", [], |r| r.get(0)))?;
        if rows as usize != counts.chunks {
            wrong.push(format!("{rows} passages stored, {} counted", counts.chunks));
        }
        let slots = self.slots()?;
        let live = slots.live();
        if live != counts.chunks {
            wrong.push(format!(
                "{live} passages can be found, {} are stored",
                counts.chunks
            ));
        }
        let orphans: i64 = self.read(|db| {
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
    fn altered_passages(&self) -> Result<usize, Error> {
        self.read(|db| {
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
    pub fn settle(&self) {
        if step(&self.path).is_err() {
            return;
        }
        let _ = self
            .db
            // Truncated, so that the log of a large batch does not keep its
            // size.
            .query_row("pragma wal_checkpoint(truncate)", [], |_| Ok(()));
        self.seal();
    }

    pub(super) fn read<T>(
        &self,
        f: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        f(&self.db).map_err(|e| sqlite(&self.path, e))
    }

    pub(super) fn damaged(&self, why: impl Into<String>) -> Error {
        Error::Damaged {
            path: self.path.clone(),
            why: why.into(),
        }
    }

    fn connect(path: &Path, create: OpenFlags) -> Result<Index, Error> {
        let db = hardened(path, OpenFlags::SQLITE_OPEN_READ_WRITE | create)?;
        let prepare = || -> rusqlite::Result<Witness> {
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
            Witness::of(&db, path)
        };
        let opened = prepare().map_err(|e| sqlite(path, e))?;
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
    fn sound(path: &Path, made: &Made) -> Result<Index, Error> {
        let index = Index::connect(path, OpenFlags::empty())?;
        index.refuse_other_content(&made.token)?;
        if made.log_is_missing {
            // The statement above has made the log again.
            index.mark(&made.token)?;
        }
        let now = stamp(path);
        let sealed = regular::read(&beside(path, SEAL), Links::Refuse, MAX_SEAL_BYTES).ok();
        if now.is_none() || sealed.as_deref() != now.as_deref().map(str::as_bytes) {
            // Others may write at the same time; the parts must be of one
            // moment.
            let moment = index.snapshot()?;
            let wrong = index.verify()?.into_iter().next();
            drop(moment);
            if let Some(why) = wrong {
                return Err(index.damaged(why));
            }
            index.seal();
        } else {
            index.sealed.replace(now);
        }
        Ok(index)
    }

    /// Fails unless the content is what this program put into the file: its
    /// tables word for word, and the token that the mark names.
    fn refuse_other_content(&self, token: &str) -> Result<(), Error> {
        let tables = self.read(|db| {
            let mut statement =
                db.prepare("select sql from sqlite_schema where sql is not null order by rowid")?;
            let rows = statement.query_map([], |row| row.get::<_, String>(0))?;
            rows.collect::<rusqlite::Result<Vec<String>>>()
        })?;
        // A foreign schema could have triggers and views that run when we
        // write.
        let expected = SCHEMA.split(';').map(str::trim).filter(|it| !it.is_empty());
        if !tables.iter().map(String::as_str).eq(expected) {
            return Err(self.damaged("its tables are not those of an index"));
        }
        if self.note(TOKEN)?.as_deref() != Some(token) {
            return Err(self.damaged("its content was not made by you on this machine"));
        }
        Ok(())
    }

    /// Marks the files as made here.
    fn mark(&self, token: &str) -> Result<(), Error> {
        mark::write(&self.path, token).map_err(|failure| match failure {
            mark::Failure::Key(no_key) => Error::NoKey(no_key),
            mark::Failure::Io(source) => Error::Io {
                path: beside(&self.path, ".mark"),
                source,
            },
        })
    }

    /// Notes size and time of the file, where a commit has moved pages into
    /// it. Without the note it is only looked at more closely next time.
    pub(super) fn seal(&self) {
        // An index in memory, or one that is only read, has no file to note.
        if self.opened == Witness::default() {
            return;
        }
        let now = stamp(&self.path);
        if let Some(text) = &now
            && *self.sealed.borrow() != now
            && mark::replace(&beside(&self.path, SEAL), text.as_bytes()).is_ok()
        {
            self.sealed.replace(now);
        }
    }

    /// Returns `true` if the file is still the one that was opened, and no
    /// other process has written to it since. Always `true` for an index in
    /// memory.
    pub fn is_as_opened(&self) -> bool {
        self.opened == Witness::default()
            || Witness::of(&self.db, &self.path).is_ok_and(|now| now == self.opened)
    }

    /// Creates a new index. The files at its path are removed first, also those
    /// that SQLite would take for a part of it.
    fn create(path: &Path) -> Result<Index, Error> {
        // Without a key nothing is made that could not be used again.
        trust::ensure_key(workspace_of(path)).map_err(Error::NoKey)?;
        let token = trust::random_token().map_err(Error::NoKey)?;
        remove_database(path)?;
        let index = Index::connect(path, OpenFlags::SQLITE_OPEN_CREATE)?;
        index.prepare()?;
        // The mark is made last: what a crash leaves before it is replaced.
        index.set_note(TOKEN, &token)?;
        index.mark(&token)?;
        index.seal();
        Ok(index)
    }

    fn prepare(&self) -> Result<(), Error> {
        self.read(|db| {
            // The tables are made before the log is switched on, so that the
            // header of the file itself always shows whose it is.
            step(&self.path)?;
            db.execute_batch("pragma page_size = 8192; begin immediate;")?;
            let made: i32 = db.query_row("pragma user_version", [], |r| r.get(0))?;
            if made == 0 {
                db.execute_batch(SCHEMA)?;
                step(&self.path)?;
                db.execute_batch(&format!(
                    "pragma application_id = {APPLICATION}; pragma user_version = {};",
                    version()
                ))?;
            }
            db.execute_batch("commit")?;
            step(&self.path)?;
            db.query_row("pragma journal_mode = wal", [], |_| Ok(()))
        })
    }
}

/// The uses of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Usage {
    pub path: String,
    pub importance: i64,
    pub last: Option<String>,
    pub count: u64,
}

const BUSY: std::time::Duration = std::time::Duration::from_secs(5);

/// The suffix of the file that records how the index was left.
const SEAL: &str = ".seal";

/// Two numbers of at most 20 digits.
const MAX_SEAL_BYTES: u64 = 64;

/// The key under which the database keeps the token that its mark names.
const TOKEN: &str = "token";

/// The most bytes of a value; ours are far smaller. SQLite refuses longer ones
/// before it makes room for them.
const MAX_VALUE_BYTES: i32 = 64 << 20;

enum State {
    Absent,
    Ours(Made),
    Newer(i32),
    Other(String),
}

/// The content of the mark of an index.
struct Made {
    token: String,
    log_is_missing: bool,
}

/// Opens a database without trust in what it holds: no links are followed, and
/// nothing in it can run.
fn hardened(path: &Path, flags: OpenFlags) -> Result<Connection, Error> {
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
        db.busy_timeout(BUSY)?;
        Ok(db)
    };
    open().map_err(|e| sqlite(path, e))
}

/// Returns the state of the file at the path, from its mark and its own header,
/// so that a foreign or damaged file is never opened as a database of ours.
fn state(path: &Path) -> Result<State, Error> {
    use std::io::Read;
    let io = |source| Error::Io {
        path: path.to_owned(),
        source,
    };
    let made = match mark::origin(path).map_err(io)? {
        Origin::Absent => return Ok(State::Absent),
        Origin::Foreign(why) => return Ok(State::Other(why.to_owned())),
        Origin::Ours {
            token,
            log_is_missing,
        } => Made {
            token,
            log_is_missing,
        },
    };
    let mut header = [0u8; 100];
    let mut file = match regular::open(path, Links::Refuse) {
        Ok(file) => file,
        Err(e) if e.is_not_found() => return Ok(State::Absent),
        Err(e) => return Err(io(e.into())),
    };
    match file.read_exact(&mut header) {
        Ok(()) => {}
        Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => {
            // A process that died between creating the file and its first page.
            return Ok(State::Other("it was empty or cut short".into()));
        }
        Err(source) => return Err(io(source)),
    }
    if &header[..16] != b"SQLite format 3\0" {
        return Ok(State::Other("it was not a database".into()));
    }
    let word = |at: usize| {
        i32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
    };
    // With other numbers here SQLite takes the file for one of a later version,
    // which it may not write, or for text in another encoding.
    let as_written = matches!((header[18], header[19]), (1 | 2, 1 | 2)) && word(56) == 1;
    let (format, application) = (word(60), word(68));
    if application == APPLICATION && !as_written {
        return Ok(State::Other("its header was damaged".into()));
    }
    Ok(match (application, format) {
        (APPLICATION, v) if v == version() => State::Ours(made),
        (APPLICATION, v) if v > version() => State::Newer(v),
        (APPLICATION, v) => State::Other(format!("it was of the older version {v}")),
        _ => State::Other("it belonged to another tool".into()),
    })
}

/// Removes an index with everything that SQLite takes for a part of it. A
/// folder in such a place is not ours, and is moved aside.
fn remove_database(path: &Path) -> Result<(), Error> {
    // The mark first: what a crash leaves then counts as foreign and is
    // replaced.
    for suffix in [".mark", SEAL, "", "-wal", "-shm", "-journal"] {
        let name = beside(path, suffix);
        let step = fault::step(Op::Remove, path, path);
        let remove = step.and_then(|()| match name.symlink_metadata() {
            Ok(meta) if meta.is_dir() => trust::set_aside(&name),
            _ => std::fs::remove_file(&name),
        });
        match remove {
            Ok(()) => {}
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(source) => return Err(Error::Io { path: name, source }),
        }
    }
    Ok(())
}

/// Formats size and time of a file as a line of text.
fn stamp(path: &Path) -> Option<String> {
    let meta = path.symlink_metadata().ok()?;
    let since = meta.modified().ok()?.duration_since(std::time::UNIX_EPOCH);
    Some(format!("{} {}\n", meta.len(), since.ok()?.as_nanos()))
}

/// Calls the watcher at a point where a transaction may be cut off.
pub(super) fn step(path: &Path) -> rusqlite::Result<()> {
    let step = fault::step(Op::Index, path, path);
    step.map_err(|e| rusqlite::Error::ToSqlConversionFailure(Box::new(e)))
}

/// Reads a number that the index stores about itself: a count, or the next id.
/// One that no index can reach is damage, and never a size to make room for.
pub(super) fn number(db: &Connection, key: &str) -> rusqlite::Result<i64> {
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
pub(super) fn sqlite(path: &Path, source: rusqlite::Error) -> Error {
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
        return Error::Sqlite {
            path: path.to_owned(),
            source,
        };
    }
    Error::Damaged {
        path: path.to_owned(),
        why: source.to_string(),
    }
}
