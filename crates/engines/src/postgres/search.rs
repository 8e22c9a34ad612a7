//! A question to the shared index. Candidates of both sides come by one
//! statement; ranking them is `recall`'s, as for any other source.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};

use forge::index::terms::fold;
use forge::index::{
    self, Holding, Kind, Packed, Passage, Passages, Shelf, Standing, TermMatch, TextHits, Words,
    bm25, idf,
};
use forge::recall::{Ask, Candidates, MOST_LITERAL, Mode, Source, Wanted, literals};
use tokio_postgres::Row;

use super::push::{number, word};
use super::vector::HalfVec;
use super::{Engine, Error, READ, schema};

const SQL: &str = include_str!("search.sql");

/// Passages that rare words may bring as candidates. With an index that ranks,
/// common words bring theirs by it.
const CANDIDATES: f64 = 20_000.0;
const CANDIDATES_BESIDE_BM25: f64 = 1_500.0;
/// What the ranking index brings, and how many passages it may read for that.
const RANKED: usize = 500;
const MOST_READ_RANKED: f64 = 40_000.0;
/// Up to this many vectors are all compared; above, the index is asked.
const EXACT: usize = 20_000;
/// Above this many passages a string that no word leads to is not looked for
/// in every text.
const MOST_SCANNED: usize = 50_000;
/// Words that a prefix stands for, at most.
const MOST_EXPANSIONS: i64 = 200;

/// Which workspaces are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Within<'a> {
    /// All that the caller may see.
    Everything,
    Workspace(&'a str),
}

/// The shared index in one state, for one question.
pub struct Search<'a> {
    engine: &'a Engine,
    counts: Passages,
    model: String,
    /// Whether an index that ranks words is asked.
    ranks: Cell<bool>,
    /// The one workspace that is asked.
    only: Option<i64>,
    seen: RefCell<Seen>,
}

/// Numbers there are longer than ours, so passages and documents get short
/// ones in the order in which they are met.
#[derive(Default)]
struct Seen {
    chunks: Vec<Chunk>,
    by_chunk: HashMap<i64, u32>,
    by_doc: HashMap<i64, u32>,
    texts: HashMap<u32, String>,
    replaced: HashMap<String, String>,
    weights: Vec<f32>,
    average: f32,
}

struct Chunk {
    id: i64,
    doc: u32,
    length: u16,
}

impl Seen {
    fn doc(&mut self, id: i64) -> u32 {
        let next = self.by_doc.len() as u32;
        *self.by_doc.entry(id).or_insert(next)
    }

    fn chunk(&mut self, id: i64, doc: i64) -> u32 {
        let doc = self.doc(doc);
        let next = self.chunks.len() as u32;
        let chunk = *self.by_chunk.entry(id).or_insert(next);
        if chunk == next {
            self.chunks.push(Chunk { id, doc, length: 0 });
        }
        chunk
    }
}

fn elsewhere(error: Error) -> index::Error {
    index::Error::Elsewhere(Box::new(error))
}

impl Engine {
    async fn begin_asking(&self) -> Result<(), Error> {
        self.begin(READ).await?;
        // Nearest first although rows of others are left out on the way. Every
        // table is read by an index, also before its statistics are gathered,
        // which those who push may not do.
        let settings =
            "set local hnsw.iterative_scan = strict_order; set local hnsw.ef_search = 400;
             set local hnsw.max_scan_tuples = 40000; set local work_mem = '64MB'; set local jit = off;
             set local enable_seqscan = off";
        Ok(self.client.batch_execute(settings).await?)
    }

    /// Begins to ask. While it is held, all questions see one state.
    pub fn search(&self, within: Within) -> Result<Search<'_>, Error> {
        self.runtime.block_on(async {
            self.begin_asking().await?;
            let known = schema::check(&self.client).await?;
            let name = match within {
                Within::Everything => None,
                Within::Workspace(name) => Some(name),
            };
            let row = self
                .client
                .query_one(
                    "select coalesce(sum(chunks), 0)::bigint, coalesce(sum(embedded), 0)::bigint,
                     max(id), count(*) from mf.workspace where $1::text is null or name = $1",
                    &[&name],
                )
                .await?;
            if let Some(name) = name
                && row.get::<_, i64>(3) == 0
            {
                let _ = self.end("rollback").await;
                return Err(Error::usage(
                    format!("There is no workspace `{name}` that you may see"),
                    "`memory-forge engine status` lists those that you may",
                ));
            }
            Ok(Search {
                engine: self,
                counts: Passages {
                    chunks: row.get::<_, i64>(0) as usize,
                    embedded: row.get::<_, i64>(1) as usize,
                },
                model: known.model,
                ranks: Cell::new(known.ranks),
                only: name.and_then(|_| row.get(2)),
                seen: RefCell::default(),
            })
        })
    }
}

impl Drop for Search<'_> {
    fn drop(&mut self) {
        let _ = self.engine.runtime.block_on(self.engine.end("rollback"));
    }
}

/// What may answer, as the statements take it.
struct Filter {
    scopes: Option<Vec<String>>,
    skills: Option<Vec<bool>>,
    since: Option<String>,
    workspaces: Option<Vec<i64>>,
}

impl Search<'_> {
    fn filter(&self, ask: &Ask) -> Filter {
        let scopes = ask.scopes.iter().map(|it| (*it).to_owned()).collect();
        let skills = ask.kinds.iter().map(|it| *it == Kind::Skill).collect();
        Filter {
            scopes: (!ask.scopes.is_empty()).then_some(scopes),
            skills: (!ask.kinds.is_empty()).then_some(skills),
            since: ask.since.map(|it| it.to_string()),
            workspaces: self.only.map(|it| vec![it]),
        }
    }

    /// Terms by their numbers, each with its group and weight: a prefix is one
    /// group of all words that begin like it.
    async fn numbers(&self, words: &Words<'_>) -> Result<(Vec<i32>, Vec<i32>, Vec<f32>), Error> {
        let (mut hs, mut gs, mut ws) = (Vec::new(), Vec::new(), Vec::new());
        for (at, term) in words.terms.iter().enumerate() {
            hs.push(number(term));
            gs.push(at as i32);
            ws.push(words.weight(at));
        }
        for (at, prefix) in (words.terms.len()..).zip(words.prefixes) {
            let folded = fold(&prefix.0);
            let end = format!("{folded}{}", char::MAX);
            let rows = self
                .engine
                .client
                .query(
                    "select distinct term from mf.term
                     where term collate \"C\" >= $1 and term collate \"C\" < $2 limit $3",
                    &[&folded, &end, &MOST_EXPANSIONS],
                )
                .await?;
            let mut terms: HashSet<String> = rows.iter().map(|row| row.get(0)).collect();
            // Words are kept as stems, which may be shorter than the prefix.
            for cut in folded.char_indices().map(|(i, _)| i).filter(|i| *i >= 3) {
                terms.insert(folded[..cut].to_owned());
                terms.insert(format!("{}i", &folded[..cut]));
            }
            let mut numbers: Vec<i32> = terms.iter().map(|term| number(term)).collect();
            numbers.sort_unstable();
            for h in numbers {
                hs.push(h);
                gs.push(at as i32);
                ws.push(words.weight(at));
            }
        }
        Ok((hs, gs, ws))
    }

    /// Candidates of both sides. An index that ranks and has lost something, or
    /// cannot be read, is passed over: it is faster, and nothing else.
    async fn both_sides(&self, ask: &Ask<'_>, wanted: &Wanted<'_>) -> Result<Candidates, Error> {
        if self.ranks.get() {
            match self.asked(ask, wanted).await {
                Ok(Some(found)) => return Ok(found),
                Ok(None) => {}
                Err(error) if self.engine.client.is_closed() => return Err(error),
                Err(_) => {
                    self.engine.end("rollback").await?;
                    self.engine.begin_asking().await?;
                }
            }
            self.ranks.set(false);
        }
        Ok(self.asked(ask, wanted).await?.unwrap_or_default())
    }

    /// The one statement; `None` where the ranking index brings less than the
    /// counts of the question's words say there is.
    async fn asked(&self, ask: &Ask<'_>, wanted: &Wanted<'_>) -> Result<Option<Candidates>, Error> {
        let words = wanted.question.words();
        let (hs, gs, ws) = match wanted.mode {
            Mode::Vector => Default::default(),
            _ => self.numbers(&words).await?,
        };
        let filter = self.filter(ask);
        let most_candidates = match self.ranks.get() {
            true => CANDIDATES_BESIDE_BM25,
            false => CANDIDATES,
        };
        let (counted, counts) = self.counts_of(&hs, &filter).await?;
        let (ranked, most_ranked) = match self.ranks.get() {
            true => worth_ranking(&counted, &counts),
            false => Default::default(),
        };
        let also = match ranked.is_empty() {
            // Letters and spaces alone, so it may stand in the statement.
            false => format!(
                "select r.id from mf.ranked r where (select more from chosen)
                 and ($6::text[] is null or r.scope = any ($6)) and ($10::bigint[] is null or r.workspace = any ($10))
                 order by r.words <@> to_bm25query('{}', 'mf.ranked_words') limit {RANKED}",
                ranked.join(" ")
            ),
            true => "select null::bigint as id where false".to_owned(),
        };
        // Whatever is added to the distance keeps the index out of it.
        let nearest = match self.counts.embedded > EXACT {
            true => "c.vec <#> $9::halfvec",
            false => "(c.vec <#> $9::halfvec) + 0",
        };
        let sql = schema::filled(SQL)
            .replace("%ALSO%", &also)
            .replace("%RANKS%", if self.ranks.get() { "true" } else { "false" })
            .replace("%NEAREST%", nearest);
        let vector = wanted.query.map(|it: &Packed| HalfVec::of(it));
        let (text_pool, vector_pool) = (wanted.text_pool as i64, wanted.vector_pool as i64);
        let rows = self
            .engine
            .client
            .query(
                &sql,
                &[
                    &hs,
                    &gs,
                    &ws,
                    &most_candidates,
                    &text_pool,
                    &filter.scopes,
                    &filter.skills,
                    &filter.since,
                    &vector,
                    &filter.workspaces,
                    &vector_pool,
                    &ask.unique,
                    &counted,
                    &counts,
                ],
            )
            .await?;
        let brought = rows.iter().find(|row| row.get::<_, &str>(0) == "a");
        let is_short = brought.is_some_and(|row| {
            let (found, needed): (i64, f64) = (row.get(1), row.get(3));
            // Rows that are being pushed count among its best, and are not seen.
            needed > 0.0 && (found as f64) < most_ranked.min(RANKED as f64) / 2.0
        });
        if is_short {
            return Ok(None);
        }
        Ok(Some(self.read(&rows, &words)))
    }

    /// Terms that are there, the rarest first, and how many passages hold each.
    async fn counts_of(&self, hs: &[i32], filter: &Filter) -> Result<(Vec<i32>, Vec<f64>), Error> {
        if hs.is_empty() {
            return Ok(Default::default());
        }
        let rows = self
            .engine
            .client
            .query(
                "select h, sum(n)::float8 from mf.term where h = any ($1)
                 and ($2::bigint[] is null or workspace = any ($2)) group by h order by 2, 1",
                &[&hs, &filter.workspaces],
            )
            .await?;
        let count = |row: &Row| (row.get::<_, i32>(0), row.get::<_, f64>(1));
        Ok(rows.iter().map(count).unzip())
    }

    /// The rows of the one statement as candidates.
    fn read(&self, rows: &[Row], words: &Words) -> Candidates {
        let mut seen = self.seen.borrow_mut();
        let mut found = Candidates::default();
        let (mut passages, mut holding) = (0, HashMap::new());
        for row in rows {
            let side: &str = row.get(0);
            let (id, doc): (i64, i64) = (row.get(1), row.get(2));
            let (score, extra): (f64, f64) = (row.get(3), row.get(4));
            match side {
                "n" => {
                    passages = score as usize;
                    seen.average = extra as f32;
                }
                "a" => {}
                "d" => {
                    holding.insert(id as usize, score as usize);
                }
                "t" => {
                    let chunk = seen.chunk(id, doc);
                    seen.chunks[chunk as usize].length = extra as u16;
                    if let Some(text) = row.get(5) {
                        seen.texts.insert(chunk, text);
                    }
                    found.text.hits.push((chunk, score as f32));
                }
                "v" => {
                    let chunk = seen.chunk(id, doc);
                    found.vector.push((chunk, score as f32));
                }
                _ => {
                    let doc = seen.doc(doc);
                    found.text.files.insert(doc, score as f32);
                }
            }
        }
        let best = |hits: &mut Vec<(u32, f32)>| {
            hits.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        };
        best(&mut found.text.hits);
        best(&mut found.vector);
        let prefixes = words.prefixes.iter().map(|it| format!("{}*", it.0));
        seen.weights.clear();
        for (at, term) in words.terms.iter().cloned().chain(prefixes).enumerate() {
            let df = holding.get(&at).copied().unwrap_or(0);
            let weight = match df {
                0 => 0.0,
                df => words.weight(at) * idf(passages, df),
            };
            if df > 0 {
                found.text.ideal += bm25(weight, 2.0, seen.average, seen.average);
            }
            seen.weights.push(weight);
            found.text.holding.push((term, df));
        }
        found
    }

    /// Passages that hold a string, wherever it stands in a word.
    async fn literal(&self, ask: &Ask<'_>, string: &str) -> Result<Vec<u32>, Error> {
        let needle = fold(string);
        if needle.trim().is_empty() || self.counts.chunks > MOST_SCANNED {
            return Ok(Vec::new());
        }
        let filter = self.filter(ask);
        let most = MOST_LITERAL as i64;
        let rows = self
            .engine
            .client
            .query(
                "select c.id, c.doc from mf.chunk c join mf.document d on d.id = c.doc
                 where (position($1::text in lower(c.text)) > 0 or position($1 in lower(regexp_replace(
                     normalize(c.text, NFKD), '[\\u0300-\\u036f]', '', 'g'))) > 0)
                   and ($2::text[] is null or c.scope = any ($2)) and ($3::boolean[] is null or c.skill = any ($3))
                   and ($4::text is null or c.date >= $4) and ($5::bigint[] is null or c.workspace = any ($5))
                 order by d.path, c.id limit $6",
                &[&needle, &filter.scopes, &filter.skills, &filter.since, &filter.workspaces, &most],
            )
            .await?;
        let mut seen = self.seen.borrow_mut();
        Ok(rows
            .iter()
            .map(|row| seen.chunk(row.get(0), row.get(1)))
            .collect())
    }

    async fn undated(&self, ask: &Ask<'_>) -> Result<usize, Error> {
        if ask.since.is_none() {
            return Ok(0);
        }
        let filter = self.filter(ask);
        let row = self
            .engine
            .client
            .query_one(
                "select count(*) from mf.document where date is null
                 and ($1::text[] is null or scope = any ($1)) and ($2::boolean[] is null or skill = any ($2))
                 and ($3::bigint[] is null or workspace = any ($3))",
                &[&filter.scopes, &filter.skills, &filter.workspaces],
            )
            .await?;
        Ok(row.get::<_, i64>(0) as usize)
    }

    async fn fetch(
        &self,
        condition: &str,
        value: &(dyn postgres_types::ToSql + Sync),
    ) -> Result<Vec<Passage>, Error> {
        let sql = format!(
            "select c.id, c.doc, w.name, d.path, d.title, c.scope, c.skill, c.date, d.importance,
             d.deprecated, d.superseded_by, d.replaced_by, c.ordinal, c.headings, c.first_line,
             c.last_line, c.tokens, c.text, c.length
             from mf.chunk c join mf.document d on d.id = c.doc join mf.workspace w on w.id = c.workspace
             where {condition}"
        );
        let rows = self.engine.client.query(&sql, &[value]).await?;
        let mut seen = self.seen.borrow_mut();
        Ok(rows.iter().map(|row| passage(row, &mut seen)).collect())
    }
}

/// The words that the ranking index is asked about, and how many passages hold
/// the most common of them. Its time grows with what it reads, and what stands in
/// every third passage tells little: the rarest of the question's words bring the
/// passages, and all of them score.
fn worth_ranking(hs: &[i32], counts: &[f64]) -> (Vec<String>, f64) {
    let (mut words, mut most, mut read) = (Vec::new(), 0.0, 0.0);
    for (h, count) in hs.iter().zip(counts) {
        read += count;
        if !words.is_empty() && read > MOST_READ_RANKED {
            break;
        }
        words.push(word(*h));
        most = *count;
    }
    (words, most)
}

/// A document of the organisation is named by its workspace and its path.
fn place(workspace: &str, path: &str) -> String {
    format!("{workspace}:{path}")
}

fn passage(row: &Row, seen: &mut Seen) -> Passage {
    let chunk = seen.chunk(row.get(0), row.get(1));
    seen.chunks[chunk as usize].length = row.get::<_, i32>(18) as u16;
    let workspace: &str = row.get(2);
    let path = place(workspace, row.get(3));
    if let Some(by) = row.get::<_, Option<&str>>(11) {
        seen.replaced.insert(path.clone(), place(workspace, by));
    }
    let headings: &str = row.get(13);
    Passage {
        chunk,
        file: seen.chunks[chunk as usize].doc,
        path,
        title: row.get(4),
        scope: row.get(5),
        kind: match row.get(6) {
            true => Kind::Skill,
            false => Kind::Knowledge,
        },
        date: row.get(7),
        importance: i64::from(row.get::<_, i16>(8)),
        standing: match (row.get::<_, bool>(9), row.get::<_, Option<String>>(10)) {
            (_, Some(by)) => Standing::SupersededBy(by),
            (true, None) => Standing::Deprecated,
            _ => Standing::Current,
        },
        ordinal: row.get::<_, i32>(12) as usize,
        headings: headings.lines().map(str::to_owned).collect(),
        lines: (
            row.get::<_, i32>(14) as usize,
            row.get::<_, i32>(15) as usize,
        ),
        tokens: row.get::<_, i32>(16) as usize,
        text: row.get(17),
    }
}

/// Texts that came with the candidates.
struct OfAnswer<'a>(&'a Seen);

impl Shelf for OfAnswer<'_> {
    fn place(&self, chunk: u32) -> Option<(u16, u32)> {
        let it = self.0.chunks.get(chunk as usize)?;
        Some((it.length, it.doc))
    }

    fn text(&self, chunk: u32) -> Result<String, index::Error> {
        Ok(self.0.texts.get(&chunk).cloned().unwrap_or_default())
    }
}

impl Source for Search<'_> {
    fn counts(&self) -> Result<Passages, index::Error> {
        Ok(Passages { ..self.counts })
    }

    fn has_model(&self, id: &str, dimensions: usize) -> Result<bool, index::Error> {
        Ok(self.model == format!("{id}/{dimensions}"))
    }

    fn candidates(&self, ask: &Ask, wanted: &Wanted) -> Result<Candidates, index::Error> {
        let run = async {
            let mut found = self.both_sides(ask, wanted).await?;
            found.undated = self.undated(ask).await?;
            Ok(found)
        };
        let mut found = self.engine.runtime.block_on(run).map_err(elsewhere)?;
        {
            let seen = self.seen.borrow();
            let (words, average) = (wanted.question.words(), seen.average);
            let text: &mut TextHits = &mut found.text;
            index::reread(&OfAnswer(&seen), &words, &seen.weights, average, text)?;
        }
        for string in literals(wanted.question, &found.text, wanted.mode) {
            let hits = self.engine.runtime.block_on(self.literal(ask, &string));
            found.literal.extend(hits.map_err(elsewhere)?);
        }
        Ok(found)
    }

    fn file(&self, chunk: u32) -> Option<u32> {
        let seen = self.seen.borrow();
        seen.chunks.get(chunk as usize).map(|it| it.doc)
    }

    fn passages(&self, chunks: &[u32]) -> Result<Vec<Passage>, index::Error> {
        let ids: Vec<i64> = {
            let seen = self.seen.borrow();
            let known = chunks.iter().filter_map(|it| seen.chunks.get(*it as usize));
            known.map(|it| it.id).collect()
        };
        let found = self
            .engine
            .runtime
            .block_on(self.fetch("c.id = any ($1)", &ids));
        let found = found.map_err(elsewhere)?;
        let mut by_chunk: HashMap<u32, Passage> =
            found.into_iter().map(|it| (it.chunk, it)).collect();
        Ok(chunks.iter().filter_map(|it| by_chunk.remove(it)).collect())
    }

    fn replaced(&self, _: &HashSet<&str>) -> Result<HashMap<String, String>, index::Error> {
        // Each passage brought along what replaced its document.
        Ok(self.seen.borrow().replaced.clone())
    }

    fn opening(&self, ask: &Ask, path: &str) -> Result<Option<Passage>, index::Error> {
        let Some((workspace, path)) = path.split_once(':') else {
            return Ok(None);
        };
        let named = vec![workspace.to_owned(), path.to_owned()];
        let condition = "w.name = ($1::text[])[1] and d.path = ($1::text[])[2] and c.ordinal = 0";
        let found = self.engine.runtime.block_on(self.fetch(condition, &named));
        let fits = |it: &Passage| {
            (ask.scopes.is_empty() || ask.scopes.contains(&it.scope.as_str()))
                && (ask.kinds.is_empty() || ask.kinds.contains(&it.kind))
                && ask.since.is_none_or(|since| {
                    it.date
                        .as_ref()
                        .is_some_and(|date| *date >= since.to_string())
                })
        };
        Ok(found.map_err(elsewhere)?.into_iter().find(fits))
    }

    fn explain(&self, words: &Words, chunk: u32) -> Result<Vec<TermMatch>, index::Error> {
        let Some(passage) = self.passages(&[chunk])?.into_iter().next() else {
            return Ok(Vec::new());
        };
        let seen = self.seen.borrow();
        let id = seen.chunks[chunk as usize].id;
        let length = seen.chunks[chunk as usize].length;
        let names = self.engine.runtime.block_on(async {
            let sql =
                "select d.names from mf.document d join mf.chunk c on c.doc = d.id where c.id = $1";
            let row = self.engine.client.query_opt(sql, &[&id]).await?;
            Ok(row.map_or_else(String::new, |row| row.get::<_, String>(0)))
        });
        let names = format!("{} {}", passage.title, names.map_err(elsewhere)?);
        let headings = passage.headings.join("\n");
        let (held, _) = Holding::default().of(&names, &headings, &passage.text);
        let mut matches: Vec<TermMatch> = Vec::new();
        for (term, weight) in words.terms.iter().zip(&seen.weights) {
            if let Some(it) = held.get(term) {
                matches.push(TermMatch {
                    term: term.clone(),
                    idf: *weight,
                    body: it.body,
                    in_headings: it.in_headings,
                    in_title: it.in_title,
                    score: bm25(*weight, it.frequency(), f32::from(length), seen.average),
                });
            }
        }
        let again =
            index::explain_reading(&passage.text, length, words, &seen.weights, seen.average);
        matches.extend(again);
        matches.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.term.cmp(&b.term)));
        Ok(matches)
    }
}
