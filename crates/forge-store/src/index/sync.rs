//! Brings the index up to date: files in, files out, vectors in, segments
//! merged. Everything that belongs to one batch changes in one transaction, so
//! a process that dies anywhere leaves the state before or after it.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use super::chunk::DocumentPassage;
use super::postings::{self, SegmentBuilder};
use super::query::{DELETED_LENGTH, SLOT_BYTES, SLOT_PAGE};
use super::store::{Index, announce_index_step, read_counter, sqlite_error};
use super::vectors::{self, PackedVector};
use super::{DocumentKind, DocumentStanding, FileStamp, IndexError};

/// One step of bringing the index up to date.
pub enum IndexChange {
    /// A new file, or a changed one in place of its former content.
    Put(Box<DocumentRecord>),
    /// A file that is gone, by its path.
    Remove(String),
    /// Same content under a new time stamp.
    Restamp(String, FileStamp),
}

/// A file as the index keeps it.
pub struct DocumentRecord {
    /// The path relative to the root.
    pub path: String,
    /// The size and time as they were when it was read.
    pub stamp: FileStamp,
    /// The hash of the content.
    pub hash: String,
    /// The search scope; a word that the caller defines.
    pub scope: String,
    /// The kind of the document.
    pub kind: DocumentKind,
    /// The title of the document.
    pub title: String,
    /// More words that the document goes by: tags, aliases, path.
    pub names: String,
    /// The day of the document, where it names one.
    pub date: Option<String>,
    /// The importance, from 1 to 10.
    pub importance: i64,
    /// Whether another document replaced it.
    pub standing: DocumentStanding,
    /// The documents that it replaces, as the author named them.
    pub supersedes: Vec<String>,
    /// The passages in text order.
    pub chunks: Vec<DocumentPassage>,
    /// The findings of a look at the whole text: bits that the caller defines.
    pub traits: u32,
    /// The reason why it could not be indexed; then there are no passages.
    pub problem: Option<String>,
}

/// Upper bound for segments before the small ones are merged: each costs every term of
/// every query one look-up.
const MAX_SEGMENTS: usize = 10;

impl Index {
    /// Applies one batch in one transaction.
    pub fn apply_changes(&mut self, changes: Vec<IndexChange>) -> Result<(), IndexError> {
        if changes.is_empty() {
            return Ok(());
        }
        self.kept.get_mut().pages = None;
        let path = self.path.clone();
        let mut run = || -> rusqlite::Result<Result<(), postings::DamagedList>> {
            let tx = self
                .db
                // A deferred transaction would fail at its first write if
                // another process wrote since it began.
                .transaction_with_behavior(TransactionBehavior::Immediate)?;
            let mut batch = IndexBatch::begin(&tx)?;
            // Additions first: a renamed or edited file finds the vectors of the
            // passages that it still shares with its old self.
            let mut gone = Vec::new();
            let mut replaced = Vec::new();
            for change in changes.iter() {
                match change {
                    IndexChange::Put(put) => {
                        announce_index_step(&path)?;
                        replaced.push(batch.put_file(put)?);
                    }
                    IndexChange::Remove(path) => gone.push(path.as_str()),
                    IndexChange::Restamp(path, stamp) => {
                        tx.execute(
                            "update file set size = ?2, mtime_ns = ?3, recorded_ns = ?4 where path = ?1",
                            params![path, stamp.size as i64, stamp.mtime_ns, stamp.recorded_ns],
                        )?;
                    }
                }
            }
            for (file, below) in replaced {
                batch.drop_passages(file, below)?;
            }
            for path in gone {
                batch.remove_file(path)?;
            }
            batch.finish()?;
            if let Err(damage) = merge_segments(&tx)? {
                return Ok(Err(damage));
            }
            announce_index_step(&path)?;
            tx.commit()?;
            Ok(Ok(()))
        };
        let done = run();
        self.write_seal();
        done.map_err(|e| sqlite_error(&path, e))?
            .map_err(|e| self.damage_error(e.to_string()))
    }

    /// Removes all files and passages; usage counts stay. Ids of passages are
    /// not reused, so a vector that is still being computed for an old passage
    /// cannot be taken for that of a new one.
    pub fn clear(&mut self) -> Result<(), IndexError> {
        self.kept.get_mut().pages = None;
        let path = self.path.clone();
        let mut run = || -> rusqlite::Result<()> {
            let tx = self
                .db
                .transaction_with_behavior(TransactionBehavior::Immediate)?;
            tx.execute_batch(
                "delete from file; delete from chunk; delete from segment; delete from post;
                 delete from slot; delete from vector;
                 delete from meta where key in ('chunks', 'terms');",
            )?;
            announce_index_step(&path)?;
            tx.commit()
        };
        let done = run();
        self.write_seal();
        done.map_err(|e| sqlite_error(&path, e))
    }

    /// Ensures that stored vectors come from this model; those of another model
    /// are dropped, the text stays.
    pub fn switch_to_model(&mut self, id: &str, dimensions: usize) -> Result<(), IndexError> {
        if self.has_vectors_of_model(id, dimensions)? {
            return Ok(());
        }
        self.kept.get_mut().pages = None;
        let model = format!("{id}/{dimensions}");
        let path = self.path.clone();
        let mut run = || -> rusqlite::Result<()> {
            let tx = self
                .db
                .transaction_with_behavior(TransactionBehavior::Immediate)?;
            tx.execute("delete from vector", [])?;
            tx.execute("update chunk set embedded = 0 where embedded <> 0", [])?;
            tx.execute(
                "insert or replace into meta(key, value) values('model', ?)",
                [&model],
            )?;
            tx.execute(
                "insert or replace into meta(key, value) values('dimensions', ?)",
                [dimensions as i64],
            )?;
            announce_index_step(&path)?;
            tx.commit()
        };
        let done = run();
        self.write_seal();
        done.map_err(|e| sqlite_error(&path, e))
    }

    /// Returns `true` if stored vectors come from this model.
    pub fn has_vectors_of_model(&self, id: &str, dimensions: usize) -> Result<bool, IndexError> {
        let stored = self.stored_value("model")?;
        Ok(stored.is_some_and(|m| m == format!("{id}/{dimensions}")))
    }

    /// Returns passages that have no vector yet: id, and the text to embed with
    /// its headings in front.
    pub fn passages_to_embed(&self, most: usize) -> Result<Vec<(u32, String)>, IndexError> {
        self.with_connection(|db| {
            let mut statement = db.prepare(
                "select c.id, f.title, c.headings, c.text from chunk c join file f on f.id = c.file
                 where c.embedded = 0 order by c.id limit ?",
            )?;
            let rows = statement.query_map([most as i64], |r| {
                let (title, headings, text): (String, String, String) =
                    (r.get(1)?, r.get(2)?, r.get(3)?);
                Ok((r.get(0)?, embedding_text(&title, &headings, &text)))
            })?;
            rows.collect()
        })
    }

    /// Returns those of these passages that have no vector yet.
    pub fn to_embed_of(&self, passages: &[u32]) -> Result<Vec<(u32, String)>, IndexError> {
        self.with_connection(|db| {
            let mut statement = db.prepare_cached(
                "select f.title, c.headings, c.text from chunk c join file f on f.id = c.file
                 where c.id = ? and c.embedded = 0",
            )?;
            let mut found = Vec::with_capacity(passages.len());
            for id in passages {
                let mut rows = statement.query([id])?;
                if let Some(r) = rows.next()? {
                    let (title, headings, text): (String, String, String) =
                        (r.get(0)?, r.get(1)?, r.get(2)?);
                    found.push((*id, embedding_text(&title, &headings, &text)));
                }
            }
            Ok(found)
        })
    }

    /// The vector of a passage with this title and text, if one is known.
    pub fn find_vector_of(
        &self,
        title: &str,
        chunk: &DocumentPassage,
    ) -> Result<Option<PackedVector>, IndexError> {
        let text = embedding_text(title, &chunk.headings.join("\n"), &chunk.text);
        let digest = blake3::hash(text.as_bytes());
        let hash = &digest.as_bytes()[..16];
        let bytes = self.with_connection(|db| known_vector(db, stored_dimensions(db)?, hash))?;
        Ok(bytes.and_then(|bytes| PackedVector::from_bytes(&bytes)))
    }

    /// Stores vectors. A passage that went away in the meantime is passed over.
    pub fn store_vectors(&mut self, vectors: &[(u32, PackedVector)]) -> Result<(), IndexError> {
        self.kept.get_mut().pages = None;
        let path = self.path.clone();
        let mut run = || -> rusqlite::Result<()> {
            let tx = self
                .db
                .transaction_with_behavior(TransactionBehavior::Immediate)?;
            for (chunk, packed) in vectors {
                let here = tx.execute("update chunk set embedded = 1 where id = ?", [chunk])?;
                if here == 1 {
                    write_vector(&tx, *chunk, &packed.to_bytes())?;
                }
            }
            announce_index_step(&path)?;
            tx.commit()
        };
        let done = run();
        self.write_seal();
        done.map_err(|e| sqlite_error(&path, e))
    }
}

/// Returns the length of the vectors. A number that no model has means damage.
fn stored_dimensions(db: &Connection) -> rusqlite::Result<usize> {
    let value = read_counter(db, "dimensions")?;
    if value <= 1 << 16 {
        Ok(value as usize)
    } else {
        Err(rusqlite::Error::IntegralValueOutOfRange(0, value))
    }
}

/// Returns the text of a passage for the model: title and headings, then the
/// text.
pub fn embedding_text(title: &str, headings: &str, text: &str) -> String {
    let mut out = String::with_capacity(title.len() + headings.len() + text.len() + 4);
    if !title.is_empty() && !headings.starts_with(title) {
        out.push_str(title);
        out.push('\n');
    }
    if !headings.is_empty() {
        out.push_str(headings);
        out.push('\n');
    }
    out.push_str(text);
    out
}

/// Finds the vector of any passage with the same text.
fn known_vector(
    db: &Connection,
    dimensions: usize,
    hash: &[u8],
) -> rusqlite::Result<Option<Vec<u8>>> {
    if dimensions == 0 {
        return Ok(None);
    }
    let twin: Option<u32> = db
        .prepare_cached("select id from chunk where hash = ? and embedded = 1 limit 1")?
        .query_row([hash], |r| r.get(0))
        .optional()?;
    let Some(twin) = twin else { return Ok(None) };
    let (page, slot) = (
        twin / vectors::PASSAGES_PER_PAGE,
        twin % vectors::PASSAGES_PER_PAGE,
    );
    let size = vectors::vector_slot_bytes(dimensions);
    let mut blob = match db.blob_open(c"main", c"vector", c"data", page as i64, true) {
        Ok(blob) => blob,
        // The page of this passage was never written.
        Err(_) => return Ok(None),
    };
    let mut bytes = vec![0; size];
    use std::io::{Read, Seek, SeekFrom};
    let read = blob
        .seek(SeekFrom::Start((slot as usize * size) as u64))
        .and_then(|_| blob.read_exact(&mut bytes));
    Ok(read.is_ok().then_some(bytes))
}

struct IndexBatch<'a> {
    tx: &'a Transaction<'a>,
    postings: SegmentBuilder,
    slots: HashMap<u32, Vec<u8>>,
    first_chunk: u32,
    next_chunk: u32,
    next_file: i64,
    live: i64,
    terms: i64,
    dimensions: usize,
}

impl<'a> IndexBatch<'a> {
    fn begin(tx: &'a Transaction<'a>) -> rusqlite::Result<IndexBatch<'a>> {
        let next = read_counter(tx, "next_chunk")?;
        // Some ids must be left to give out.
        let next = u32::try_from(next)
            .ok()
            .filter(|next| *next < u32::MAX / 2)
            .ok_or(rusqlite::Error::IntegralValueOutOfRange(0, next))?;
        Ok(IndexBatch {
            tx,
            postings: SegmentBuilder::default(),
            slots: HashMap::new(),
            first_chunk: next,
            next_chunk: next,
            next_file: read_counter(tx, "next_file")?.max(1),
            live: read_counter(tx, "chunks")?,
            terms: read_counter(tx, "terms")?,
            dimensions: stored_dimensions(tx)?,
        })
    }

    /// Writes the new state of a file and returns its id with the first of its
    /// new passages: all before that one are of the old state.
    fn put_file(&mut self, put: &DocumentRecord) -> rusqlite::Result<(i64, u32)> {
        let known: Option<i64> = self
            .tx
            .prepare_cached("select id from file where path = ?")?
            .query_row([&put.path], |r| r.get(0))
            .optional()?;
        let id = known.unwrap_or_else(|| {
            self.next_file += 1;
            self.next_file - 1
        });
        let (deprecated, superseded_by) = match &put.standing {
            DocumentStanding::Current => (false, None),
            DocumentStanding::Deprecated => (true, None),
            DocumentStanding::SupersededBy(by) => (true, Some(by)),
        };
        self.tx
            .prepare_cached(
                "insert or replace into file(id, path, size, mtime_ns, recorded_ns, hash, scope, kind, title,
                 date, importance, deprecated, superseded_by, supersedes, tokens, traits, problem)
                 values(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17)",
            )?
            .execute(params![
                id,
                put.path,
                put.stamp.size as i64,
                put.stamp.mtime_ns,
                put.stamp.recorded_ns,
                put.hash,
                put.scope,
                (put.kind == DocumentKind::Skill) as i64,
                put.title,
                put.date,
                put.importance,
                deprecated,
                superseded_by,
                put.supersedes.join("\n"),
                put.chunks.iter().map(|c| c.tokens as i64).sum::<i64>(),
                put.traits,
                put.problem,
            ])?;
        let first = self.next_chunk;
        for (ordinal, chunk) in put.chunks.iter().enumerate() {
            self.add_passage(id, ordinal, put, chunk)?;
        }
        Ok((id, first))
    }

    fn add_passage(
        &mut self,
        file: i64,
        ordinal: usize,
        put: &DocumentRecord,
        chunk: &DocumentPassage,
    ) -> rusqlite::Result<()> {
        let id = self.next_chunk;
        self.next_chunk += 1;
        let headings = chunk.headings.join("\n");
        let digest = blake3::hash(embedding_text(&put.title, &headings, &chunk.text).as_bytes());
        let hash = &digest.as_bytes()[..16];
        let vector = known_vector(self.tx, self.dimensions, hash)?;
        self.tx
            .prepare_cached(
                "insert into chunk(id, file, ordinal, first_line, last_line, headings, tokens, hash, embedded, text)
                 values(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)",
            )?
            .execute(params![
                id,
                file,
                ordinal as i64,
                chunk.lines.0 as i64,
                chunk.lines.1 as i64,
                headings,
                chunk.tokens as i64,
                hash,
                vector.is_some(),
                chunk.text
            ])?;
        if let Some(bytes) = vector {
            write_vector(self.tx, id, &bytes)?;
        }
        let names = format!("{} {}", put.title, put.names);
        let length = self
            .postings
            .add_passage(id, &names, &headings, &chunk.text);
        self.live += 1;
        self.terms += length as i64;
        self.write_slot(id, length, file as u32)
    }

    fn drop_passages(&mut self, file: i64, below: u32) -> rusqlite::Result<()> {
        let old: Vec<u32> = self
            .tx
            .prepare_cached("select id from chunk where file = ? and id < ?")?
            .query_map(params![file, below], |r| r.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        for chunk in &old {
            let length = self.slot_length(*chunk)?;
            self.live -= 1;
            self.terms -= length as i64;
            self.write_slot(*chunk, DELETED_LENGTH, 0)?;
            clear_vector(self.tx, *chunk, self.dimensions)?;
        }
        self.tx
            .prepare_cached("delete from chunk where file = ? and id < ?")?
            .execute(params![file, below])?;
        Ok(())
    }

    fn remove_file(&mut self, path: &str) -> rusqlite::Result<()> {
        let id: Option<i64> = self
            .tx
            .query_row("select id from file where path = ?", [path], |r| r.get(0))
            .optional()?;
        if let Some(id) = id {
            self.drop_passages(id, u32::MAX)?;
            self.tx.execute("delete from file where id = ?", [id])?;
        }
        Ok(())
    }

    fn finish(self) -> rusqlite::Result<()> {
        let mut write = self
            .tx
            .prepare("insert or replace into slot(page, data) values(?, ?)")?;
        for (page, data) in &self.slots {
            write.execute(params![page, data])?;
        }
        let mut meta = self
            .tx
            .prepare("insert or replace into meta(key, value) values(?, ?)")?;
        meta.execute(params!["next_chunk", self.next_chunk])?;
        meta.execute(params!["next_file", self.next_file])?;
        meta.execute(params!["chunks", self.live])?;
        meta.execute(params!["terms", self.terms])?;
        if self.next_chunk > self.first_chunk {
            self.tx.execute(
                "insert into segment(chunks) values(?)",
                [self.next_chunk - self.first_chunk],
            )?;
            let segment = self.tx.last_insert_rowid();
            let mut insert = self
                .tx
                .prepare("insert into post(segment, term, list) values(?, ?, ?)")?;
            for (term, list) in self.postings.finish() {
                insert.execute(params![segment, term.as_ref(), list])?;
            }
        }
        Ok(())
    }

    fn load_slot_page(&mut self, page: u32) -> rusqlite::Result<&mut Vec<u8>> {
        if !self.slots.contains_key(&page) {
            let stored: Option<Vec<u8>> = self
                .tx
                .query_row("select data from slot where page = ?", [page], |r| r.get(0))
                .optional()?;
            let mut data = stored.unwrap_or_default();
            data.resize(SLOT_PAGE as usize * SLOT_BYTES, 0xff);
            self.slots.insert(page, data);
        }
        Ok(self.slots.get_mut(&page).expect("inserted above"))
    }

    fn write_slot(&mut self, chunk: u32, length: u16, file: u32) -> rusqlite::Result<()> {
        let at = (chunk % SLOT_PAGE) as usize * SLOT_BYTES;
        let page = self.load_slot_page(chunk / SLOT_PAGE)?;
        page[at..at + 2].copy_from_slice(&length.to_le_bytes());
        page[at + 2..at + 6].copy_from_slice(&file.to_le_bytes());
        Ok(())
    }

    fn slot_length(&mut self, chunk: u32) -> rusqlite::Result<u16> {
        let at = (chunk % SLOT_PAGE) as usize * SLOT_BYTES;
        let page = self.load_slot_page(chunk / SLOT_PAGE)?;
        Ok(u16::from_le_bytes([page[at], page[at + 1]]))
    }
}

fn write_vector(db: &Connection, chunk: u32, bytes: &[u8]) -> rusqlite::Result<()> {
    use std::io::{Seek, SeekFrom, Write};
    let (page, slot) = (
        chunk / vectors::PASSAGES_PER_PAGE,
        chunk % vectors::PASSAGES_PER_PAGE,
    );
    db.prepare_cached("insert or ignore into vector(page, data) values(?, zeroblob(?))")?
        .execute(params![
            page,
            (vectors::PASSAGES_PER_PAGE as usize * bytes.len()) as i64
        ])?;
    let mut blob = db.blob_open(c"main", c"vector", c"data", page as i64, false)?;
    blob.seek(SeekFrom::Start((slot as usize * bytes.len()) as u64))
        .and_then(|_| blob.write_all(bytes))
        .map_err(|e| rusqlite::Error::ToSqlConversionFailure(Box::new(e)))
}

fn clear_vector(db: &Connection, chunk: u32, dimensions: usize) -> rusqlite::Result<()> {
    let there: Option<i64> = db
        .prepare_cached("select page from vector where page = ?")?
        .query_row([chunk / vectors::PASSAGES_PER_PAGE], |r| r.get(0))
        .optional()?;
    if there.is_none() || dimensions == 0 {
        return Ok(());
    }
    write_vector(db, chunk, &vec![0; vectors::vector_slot_bytes(dimensions)])
}

/// Merges the small segments into one when there are too many, leaving out
/// passages that are gone; when most are gone, merges all.
fn merge_segments(tx: &Transaction) -> rusqlite::Result<Result<(), postings::DamagedList>> {
    let segments: Vec<(i64, i64)> = tx
        .prepare_cached("select id, chunks from segment order by id")?
        .query_map([], |r| Ok((r.get(0)?, r.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let held = segments
        .iter()
        .fold(0, |sum: i64, s| sum.saturating_add(s.1));
    let live = read_counter(tx, "chunks")?;
    // The constant keeps a small index from being merged at every edit.
    let mostly_gone = held > 2 * live + 1000;
    if segments.len() <= MAX_SEGMENTS && !mostly_gone {
        return Ok(Ok(()));
    }
    let chosen: Vec<(i64, i64)> = if mostly_gone {
        segments
    } else {
        // Merging a segment of half the index for a one-file edit would make
        // that edit slow; the rest together is small.
        let largest = segments.iter().map(|s| s.1).max().unwrap_or(0);
        let small = segments
            .iter()
            .filter(|s| s.1.saturating_mul(4) < largest)
            .count();
        let keep_large = small + 1 >= MAX_SEGMENTS / 2;
        segments
            .into_iter()
            .filter(|s| !keep_large || s.1.saturating_mul(4) < largest)
            .collect()
    };
    let slots = super::query::PassageSlots::load(tx)?;
    let mut merged: HashMap<String, Vec<postings::TermPosting>> = HashMap::new();
    let mut read = tx.prepare("select term, list from post where segment = ?")?;
    for (segment, _) in &chosen {
        let mut rows = read.query([segment])?;
        while let Some(row) = rows.next()? {
            let term: String = row.get(0)?;
            let list = row.get_ref(1)?.as_blob()?;
            let into = merged.entry(term).or_default();
            if let Err(damage) = postings::decode_postings(list, |p| {
                if slots.length(p.chunk).is_some() {
                    into.push(p);
                }
            }) {
                return Ok(Err(damage));
            }
        }
    }
    drop(read);
    for (segment, _) in &chosen {
        tx.execute("delete from post where segment = ?", [segment])?;
        tx.execute("delete from segment where id = ?", [segment])?;
    }
    let mut terms: Vec<(String, Vec<postings::TermPosting>)> = merged
        .into_iter()
        .filter(|(_, list)| !list.is_empty())
        .collect();
    terms.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    let mut ids: Vec<u32> = terms
        .iter()
        .flat_map(|(_, l)| l.iter().map(|p| p.chunk))
        .collect();
    ids.sort_unstable();
    ids.dedup();
    tx.execute("insert into segment(chunks) values(?)", [ids.len() as i64])?;
    let segment = tx.last_insert_rowid();
    let mut insert = tx.prepare("insert into post(segment, term, list) values(?, ?, ?)")?;
    for (term, mut list) in terms {
        list.sort_unstable_by_key(|p| p.chunk);
        insert.execute(params![segment, term, postings::encode_postings(&list)])?;
    }
    Ok(Ok(()))
}
