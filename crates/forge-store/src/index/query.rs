//! Searches the index: passages by term, by prefix, by literal string, by
//! vector. Only reads; `recall` combines the scores.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension};
use serde::{Deserialize, Serialize};

use super::postings::{self, TermPosting, bm25_score, idf};
use super::reread::{self, IndexPassages, PassageReader};
use super::store::{Index, read_counter};
use super::terms::fold_text;
use super::vectors::{self, PackedVector};
use super::{DocumentKind, DocumentStanding, IndexError};

/// Passages per page of the table that holds lengths and owners.
pub(super) const SLOT_PAGE: u32 = 4096;
/// A length (u16) and a file id (u32).
pub(super) const SLOT_BYTES: usize = 6;
/// The length that marks a deleted passage.
pub(super) const DELETED_LENGTH: u16 = u16::MAX;

/// Upper bound for terms that a prefix may match; a prefix of more is not a query but
/// a list of the dictionary.
const MAX_PREFIX_EXPANSIONS: usize = 200;

/// The length and the file of every passage, by passage id.
pub struct PassageSlots {
    data: Vec<u8>,
    count: usize,
    average: f32,
}

impl PassageSlots {
    pub(super) fn load(db: &Connection) -> rusqlite::Result<PassageSlots> {
        let next = read_counter(db, "next_chunk")?;
        let pages: i64 =
            db.query_row("select coalesce(max(page) + 1, 0) from slot", [], |row| {
                row.get(0)
            })?;
        let last: Option<u32> = db.query_row("select max(id) from chunk", [], |r| r.get(0))?;
        let there = last.map_or(0, |last| last as usize + 1);
        // More passages than there is room for means damage, and no room is
        // made for them. An index that was emptied continues its numbers and
        // has no page.
        let room = pages.saturating_mul(i64::from(SLOT_PAGE));
        if there as i64 > room || (pages > 0 && next > room) {
            return Err(rusqlite::Error::IntegralValueOutOfRange(0, next));
        }
        let next = (next as usize).min(there);
        let count = read_counter(db, "chunks")? as usize;
        let terms = read_counter(db, "terms")?;
        let mut data = vec![0xff; next * SLOT_BYTES];
        let mut statement = db.prepare("select page, data from slot")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let page: u32 = row.get(0)?;
            let bytes = row.get_ref(1)?.as_blob()?;
            let start = (page as usize).saturating_mul(SLOT_PAGE as usize * SLOT_BYTES);
            if start < data.len() {
                let end = (start + bytes.len()).min(data.len());
                data[start..end].copy_from_slice(&bytes[..end - start]);
            }
        }
        Ok(PassageSlots {
            data,
            count,
            average: terms as f32 / count.max(1) as f32,
        })
    }

    /// Returns the length in terms; `None` for a passage that is deleted or
    /// never existed.
    pub fn length(&self, chunk: u32) -> Option<u16> {
        let at = chunk as usize * SLOT_BYTES;
        let bytes = self.data.get(at..at + 2)?;
        let length = u16::from_le_bytes([bytes[0], bytes[1]]);
        (length != DELETED_LENGTH).then_some(length)
    }

    /// Returns the file of a passage; `None` for one that is deleted or never
    /// existed.
    pub fn file(&self, chunk: u32) -> Option<u32> {
        self.length(chunk)?;
        let at = chunk as usize * SLOT_BYTES + 2;
        let b = self.data.get(at..at + 4)?;
        Some(u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
    }

    /// Counts the passages that are not deleted.
    pub fn count_live(&self) -> usize {
        (0..self.len() as u32)
            .filter(|c| self.length(*c).is_some())
            .count()
    }

    fn len(&self) -> usize {
        self.data.len() / SLOT_BYTES
    }
}

/// A term that matches everything that begins like it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrefixTerm(pub String);

/// A full-text query.
#[derive(Debug, Clone, Copy, Default)]
pub struct TextQuery<'a> {
    /// The terms to find, as the tokenizer makes them.
    pub terms: &'a [String],
    /// The weight of each term, from 0 to 1; 1 if missing.
    pub weights: &'a [f32],
    /// Pairs of neighbouring terms, as places in `terms`.
    pub pairs: &'a [(usize, usize)],
    /// The terms of which only the beginning is known.
    pub prefixes: &'a [PrefixTerm],
}

impl TextQuery<'_> {
    /// Returns the weight of a term.
    pub fn term_weight(&self, at: usize) -> f32 {
        self.weights.get(at).copied().unwrap_or(1.0)
    }
}

/// The hits of a full-text query.
#[derive(Debug, Default)]
pub struct TextHits {
    /// Best first; all passages that tie with the last are included.
    pub hits: Vec<(u32, f32)>,
    /// Each term with the number of passages that hold it.
    pub holding: Vec<(String, usize)>,
    /// The score of a passage of average length that holds every known term
    /// once, in heading and body.
    pub ideal: f32,
    /// The score by file: of its best passage for each term, summed over the
    /// terms.
    pub files: HashMap<u32, f32>,
}

/// The reason why a passage matched a term.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TermMatch {
    /// The term.
    pub term: String,
    /// The weight of the term by its rarity.
    pub idf: f32,
    /// The number of occurrences in the text.
    pub body: u32,
    /// Whether a heading has it.
    pub in_headings: bool,
    /// Whether the title has it.
    pub in_title: bool,
    /// The share of the passage's score that it gives.
    pub score: f32,
}

/// A passage with everything that a result shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredPassage {
    /// The number of the passage.
    pub chunk: u32,
    /// The number of its file in the catalogue.
    pub file: u32,
    /// The path of its file, relative to the root.
    pub path: String,
    /// The title of the document.
    pub title: String,
    /// The scope of the document; a word that the caller defines.
    pub scope: String,
    /// The kind of the document.
    pub kind: DocumentKind,
    /// The day of the document, where it names one.
    pub date: Option<String>,
    /// The importance of the document, from 1 to 10.
    pub importance: i64,
    /// Whether another document replaced it.
    pub standing: DocumentStanding,
    /// The place of the passage in its document, from 0.
    pub ordinal: usize,
    /// The titles from the outermost heading to its own.
    pub headings: Vec<String>,
    /// The first and last line in the file, counted from 1.
    pub lines: (usize, usize),
    /// The size by an estimate.
    pub tokens: usize,
    /// The text of the passage.
    pub text: String,
}

impl Index {
    /// Loads the lengths and files of all passages, which every search needs.
    pub fn load_slots(&self) -> Result<PassageSlots, IndexError> {
        self.with_connection(PassageSlots::load)
    }

    /// Scores every passage that holds any of the terms.
    pub fn find_text_hits(
        &self,
        slots: &PassageSlots,
        words: &TextQuery,
        allow: &dyn Fn(u32) -> bool,
        pool: usize,
    ) -> Result<TextHits, IndexError> {
        let mut scores = vec![0f32; slots.len()];
        let mut touched: Vec<u32> = Vec::new();
        let mut holding = Vec::new();
        let mut ideal = 0.0;
        let mut weights = Vec::new();
        let mut files: Vec<f32> = Vec::new();
        let mut add = |file: u32, score: f32| {
            let file = file as usize;
            if file >= files.len() {
                files.resize(file + 1, 0.0);
            }
            files[file] += score;
        };
        let lists = words
            .terms
            .iter()
            .map(|t| Ok((t.clone(), self.term_postings(slots, t)?)))
            .chain(
                words
                    .prefixes
                    .iter()
                    .map(|p| Ok((format!("{}*", p.0), self.prefix_postings(slots, p)?))),
            );
        for (at, list) in lists.enumerate() {
            let (term, list): (String, Vec<TermPosting>) = list?;
            let rarity = words.term_weight(at) * idf(slots.count, list.len());
            weights.push(if list.is_empty() { 0.0 } else { rarity });
            if !list.is_empty() {
                ideal += bm25_score(rarity, 2.0, slots.average, slots.average);
            }
            // Passages of a file have neighbouring numbers.
            let mut best: Option<(u32, f32)> = None;
            for p in &list {
                let length = slots.length(p.chunk).unwrap_or(0) as f32;
                let score = &mut scores[p.chunk as usize];
                if *score == 0.0 {
                    touched.push(p.chunk);
                }
                let added = bm25_score(rarity, p.frequency(), length, slots.average);
                *score += added;
                let Some(file) = slots.file(p.chunk) else {
                    continue;
                };
                match &mut best {
                    Some((last, most)) if *last == file => *most = most.max(added),
                    _ => {
                        if let Some((file, most)) = best.replace((file, added)) {
                            add(file, most);
                        }
                    }
                }
            }
            if let Some((file, most)) = best {
                add(file, most);
            }
            holding.push((term, list.len()));
        }
        let hits = touched
            .into_iter()
            .filter(|c| slots.file(*c).is_some_and(allow))
            .map(|c| (c, scores[c as usize]))
            .collect();
        let mut found = TextHits {
            hits: take_best_hits(hits, pool),
            holding,
            ideal,
            files: (0..).zip(files).filter(|(_, score)| *score > 0.0).collect(),
        };
        let shelf = IndexPassages(self, slots);
        reread::rerank_hits(&shelf, words, &weights, slots.average, &mut found)?;
        Ok(found)
    }

    /// Returns the score that each term adds to one passage.
    pub fn explain_score(
        &self,
        slots: &PassageSlots,
        words: &TextQuery,
        chunk: u32,
    ) -> Result<Vec<TermMatch>, IndexError> {
        let mut matches = Vec::new();
        let mut weights = Vec::new();
        for (at, term) in words.terms.iter().enumerate() {
            let list = self.term_postings(slots, term)?;
            let rarity = words.term_weight(at) * idf(slots.count, list.len());
            weights.push(if list.is_empty() { 0.0 } else { rarity });
            if let Some(p) = list.iter().find(|p| p.chunk == chunk) {
                let length = slots.length(chunk).unwrap_or(0) as f32;
                matches.push(TermMatch {
                    term: term.clone(),
                    idf: rarity,
                    body: p.body,
                    in_headings: p.in_headings,
                    in_title: p.in_title,
                    score: bm25_score(rarity, p.frequency(), length, slots.average),
                });
            }
        }
        let length = slots.length(chunk).unwrap_or(0);
        let text = IndexPassages(self, slots).passage_text(chunk)?;
        let again = reread::explain_rerank(&text, length, words, &weights, slots.average);
        matches.extend(again);
        matches.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.term.cmp(&b.term)));
        Ok(matches)
    }

    /// Finds the passages nearest to a vector, by exact scan.
    pub fn find_vector_hits(
        &self,
        slots: &PassageSlots,
        query: &PackedVector,
        allow: &dyn Fn(u32) -> bool,
        pool: usize,
    ) -> Result<Vec<(u32, f32)>, IndexError> {
        let page_bytes = vectors::vector_page_bytes(query.values.len());
        let mut hits: Vec<(u32, f32)> = Vec::new();
        // Only what beats the pool's worst so far is kept, so memory stays
        // small however many passages there are.
        let mut floor = f32::NEG_INFINITY;
        self.each_vector_page(|page, bytes| {
            if bytes.len() != page_bytes {
                return;
            }
            vectors::scan_vector_page(bytes, query, |slot, cosine| {
                // A page of a number that is none belongs to no passage.
                let chunk = page
                    .saturating_mul(vectors::PASSAGES_PER_PAGE)
                    .saturating_add(slot);
                if cosine > floor && slots.file(chunk).is_some_and(allow) {
                    hits.push((chunk, cosine));
                }
            });
            if hits.len() > pool * 4 {
                hits = take_best_hits(std::mem::take(&mut hits), pool);
                floor = hits.last().map_or(floor, |h| h.1 - f32::EPSILON);
            }
        })?;
        Ok(take_best_hits(hits, pool))
    }

    /// Calls `each` for the pages of vectors in their order. The first query
    /// reads them from the file; later ones from memory, as long as no other
    /// process changes them.
    fn each_vector_page(&self, mut each: impl FnMut(u32, &[u8])) -> Result<(), IndexError> {
        let mut kept = self.kept.borrow_mut();
        self.with_connection(|db| {
            let version = db.query_row("pragma data_version", [], |row| row.get(0))?;
            if kept.version != version {
                kept.pages = None;
            }
            if let Some(pages) = &kept.pages {
                pages.iter().for_each(|(page, bytes)| each(*page, bytes));
                return Ok(());
            }
            let keep = kept.has_been_queried && {
                let size = "select coalesce(sum(length(data)), 0) from vector";
                db.query_row(size, [], |row| row.get::<_, i64>(0))?
                    <= vectors::MAX_CACHED_BYTES as i64
            };
            let mut pages = Vec::new();
            let mut statement = db.prepare("select page, data from vector order by page")?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let page: u32 = row.get(0)?;
                let bytes = row.get_ref(1)?.as_blob()?;
                each(page, bytes);
                if keep {
                    pages.push((page, bytes.to_vec()));
                }
            }
            *kept = vectors::PageCache {
                has_been_queried: true,
                version,
                pages: keep.then_some(pages),
            };
            Ok(())
        })
    }

    /// Finds passages whose folded text contains a string at any place: the way
    /// to text that no term can find.
    pub fn find_literal_hits(
        &self,
        slots: &PassageSlots,
        string: &str,
        allow: &dyn Fn(u32) -> bool,
        most: usize,
    ) -> Result<Vec<u32>, IndexError> {
        let needle = fold_text(string);
        if needle.trim().is_empty() {
            return Ok(Vec::new());
        }
        let finder = memchr::memmem::Finder::new(needle.as_bytes());
        self.with_connection(|db| {
            let mut found = Vec::new();
            let mut statement = db.prepare("select c.id, c.text from file f join chunk c on c.file = f.id order by f.path, c.id")?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let chunk: u32 = row.get(0)?;
                if !slots.file(chunk).is_some_and(allow) {
                    continue;
                }
                let text = row.get_ref(1)?.as_str()?;
                if finder.find(fold_text(text).as_bytes()).is_some() {
                    found.push(chunk);
                    if found.len() == most {
                        break;
                    }
                }
            }
            Ok(found)
        })
    }

    /// Returns the passages with these ids, in the given order; deleted ones
    /// are left out.
    pub fn passages(&self, chunks: &[u32]) -> Result<Vec<StoredPassage>, IndexError> {
        self.with_connection(|db| {
            let mut statement = db.prepare_cached(&format!("{SELECT_PASSAGE} where c.id = ?"))?;
            let mut passages = Vec::with_capacity(chunks.len());
            for chunk in chunks {
                if let Some(p) = statement.query_row([chunk], read_passage_row).optional()? {
                    passages.push(p);
                }
            }
            Ok(passages)
        })
    }

    /// Returns all passages of a file, in text order.
    pub fn passages_of_file(&self, path: &str) -> Result<Vec<StoredPassage>, IndexError> {
        self.with_connection(|db| {
            let mut statement = db.prepare(&format!(
                "{SELECT_PASSAGE} where f.path = ? order by c.ordinal"
            ))?;
            statement.query_map([path], read_passage_row)?.collect()
        })
    }

    /// Returns the documents that replace others: the name that they give, and
    /// their path.
    pub fn replacements(&self) -> Result<Vec<(String, String)>, IndexError> {
        self.with_connection(|db| {
            let mut statement = db.prepare(
                "select supersedes, path from file where supersedes <> '' order by path",
            )?;
            let rows = statement
                .query_map([], |r| Ok((r.get::<_, String>(0)?, r.get::<_, String>(1)?)))?;
            let mut out = Vec::new();
            for row in rows {
                let (names, path) = row?;
                out.extend(names.lines().map(|n| (n.to_owned(), path.clone())));
            }
            Ok(out)
        })
    }

    /// Checks that every list decodes, and that together they hold as many
    /// words of each passage as it has.
    pub(super) fn check_postings(
        &self,
        slots: &PassageSlots,
        wrong: &mut Vec<String>,
    ) -> Result<(), IndexError> {
        let mut words: Vec<u32> = vec![0; slots.len()];
        let bad = self.with_connection(|db| {
            let mut statement =
                db.prepare("select p.list from segment s cross join post p on p.segment = s.id")?;
            let mut rows = statement.query([])?;
            let mut bad = 0;
            while let Some(row) = rows.next()? {
                let decoded = postings::decode_postings(row.get_ref(0)?.as_blob()?, |posting| {
                    if slots.length(posting.chunk).is_some()
                        && let Some(words) = words.get_mut(posting.chunk as usize)
                    {
                        *words = words.saturating_add(posting.body);
                    }
                });
                bad += usize::from(decoded.is_err());
            }
            Ok(bad)
        })?;
        if bad > 0 {
            wrong.push(format!("{bad} posting lists are damaged"));
        }
        let most = u32::from(u16::MAX) - 1;
        let short = (0..slots.len() as u32)
            .filter_map(|chunk| Some((chunk, u32::from(slots.length(chunk)?))))
            .filter(|(chunk, length)| words[*chunk as usize].min(most) != *length)
            .count();
        if short > 0 {
            wrong.push(format!(
                "{short} passages are not found by all of their words"
            ));
        }
        Ok(())
    }

    fn term_postings(
        &self,
        slots: &PassageSlots,
        term: &str,
    ) -> Result<Vec<TermPosting>, IndexError> {
        let mut out = Vec::new();
        let mut damaged = false;
        self.with_connection(|db| {
            let mut statement = db.prepare_cached(
                // `cross` fixes the order of the tables: left to itself, the
                // planner reads every list there is.
                "select p.list from segment s cross join post p on p.segment = s.id and p.term = ?1 order by s.id",
            )?;
            let mut rows = statement.query([term])?;
            while let Some(row) = rows.next()? {
                damaged |= postings::decode_postings(row.get_ref(0)?.as_blob()?, |p| {
                    if slots.length(p.chunk).is_some() {
                        out.push(p);
                    }
                })
                .is_err();
            }
            Ok(())
        })?;
        if damaged {
            return Err(self.damage_error("a posting list does not decode"));
        }
        Ok(out)
    }

    /// Returns the postings of every term that begins like the prefix, as one
    /// term. Words are stored stemmed, so the stem of a matching word may be
    /// shorter than the prefix; those are included and checked against the text
    /// later.
    fn prefix_postings(
        &self,
        slots: &PassageSlots,
        prefix: &PrefixTerm,
    ) -> Result<Vec<TermPosting>, IndexError> {
        let folded = fold_text(&prefix.0);
        let mut terms: Vec<String> = self.with_connection(|db| {
            let mut statement = db.prepare_cached(
                "select distinct p.term from segment s cross join post p on p.segment = s.id
                 and p.term >= ?1 and p.term < ?2 limit ?3",
            )?;
            let end = format!("{folded}{}", char::MAX);
            statement
                .query_map(
                    rusqlite::params![folded, end, MAX_PREFIX_EXPANSIONS as i64],
                    |r| r.get(0),
                )?
                .collect()
        })?;
        for cut in folded.char_indices().map(|(i, _)| i).filter(|i| *i >= 3) {
            terms.push(folded[..cut].to_owned());
            // The stemmer turns a final `y` into `i`.
            terms.push(format!("{}i", &folded[..cut]));
        }
        let mut merged: HashMap<u32, TermPosting> = HashMap::new();
        for term in terms {
            for p in self.term_postings(slots, &term)? {
                merged
                    .entry(p.chunk)
                    .and_modify(|m| {
                        m.body = m.body.saturating_add(p.body);
                        m.in_headings |= p.in_headings;
                        m.in_title |= p.in_title;
                    })
                    .or_insert(p);
            }
        }
        let mut list: Vec<TermPosting> = merged.into_values().collect();
        list.sort_unstable_by_key(|p| p.chunk);
        Ok(list)
    }
}

const SELECT_PASSAGE: &str = "select c.id, c.file, f.path, f.title, f.scope, f.kind, f.date, f.importance,
    f.deprecated, f.superseded_by, c.ordinal, c.headings, c.first_line, c.last_line, c.tokens, c.text
    from chunk c join file f on f.id = c.file";

fn read_passage_row(r: &rusqlite::Row) -> rusqlite::Result<StoredPassage> {
    let headings: String = r.get(11)?;
    Ok(StoredPassage {
        chunk: r.get(0)?,
        file: r.get(1)?,
        path: r.get(2)?,
        title: r.get(3)?,
        scope: r.get(4)?,
        kind: if r.get::<_, i64>(5)? == 1 {
            DocumentKind::Skill
        } else {
            DocumentKind::Knowledge
        },
        date: r.get(6)?,
        importance: r.get(7)?,
        standing: match (r.get::<_, bool>(8)?, r.get::<_, Option<String>>(9)?) {
            (_, Some(by)) => DocumentStanding::SupersededBy(by),
            (true, None) => DocumentStanding::Deprecated,
            _ => DocumentStanding::Current,
        },
        ordinal: r.get::<_, i64>(10)? as usize,
        headings: headings.lines().map(str::to_owned).collect(),
        lines: (r.get::<_, i64>(12)? as usize, r.get::<_, i64>(13)? as usize),
        tokens: r.get::<_, i64>(14)? as usize,
        text: r.get(15)?,
    })
}

/// Returns the best `pool` hits, best first, with everything that ties with the
/// last.
fn take_best_hits(mut hits: Vec<(u32, f32)>, pool: usize) -> Vec<(u32, f32)> {
    if hits.len() > pool && pool > 0 {
        let (_, nth, _) = hits.select_nth_unstable_by(pool - 1, |a, b| b.1.total_cmp(&a.1));
        let floor = nth.1;
        hits.retain(|h| h.1 >= floor);
    }
    sort_hits_by_score(&mut hits);
    hits
}

/// Sorts hits best first, and equal ones by their ids.
pub(super) fn sort_hits_by_score(hits: &mut [(u32, f32)]) {
    hits.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
}
