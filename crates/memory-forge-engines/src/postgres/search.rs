//! Searches the shared index. Candidates by words and by vectors come from one
//! statement; `recall` ranks them as for any other source.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use forge_memory::recall::{Ask, Candidates, MOST_LITERAL, Mode, Source, Wanted, literals};
use forge_store::index::terms::fold;
use forge_store::index::{
    self, Holding, Kind, Packed, Passage, Passages, Shelf, Standing, TermMatch, TextHits, Words,
    bm25, idf,
};
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use super::push::number;
use super::schema::{self, Purpose};
use super::{Engine, Error, ErrorCause, READ, pull};

/// Passages that rare words may contribute as candidates.
const CANDIDATES: f64 = 20_000.0;
/// Vectors that are compared exactly; above, the vector index is used.
const EXACT: i64 = 20_000;
/// Passages of the largest index in which a literal string is searched in every
/// text.
const MOST_SCANNED: usize = 50_000;
/// Words that a prefix expands to.
const MOST_EXPANSIONS: i32 = 200;

/// Workspaces to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Within<'a> {
    /// All that the caller may see.
    Everything,
    Workspace(&'a str),
}

/// A search in one state of the shared index.
pub struct Search<'a> {
    engine: &'a Engine,
    counts: Passages,
    model: String,
    /// The only workspace to search.
    only: Option<i64>,
    /// Workspace names that two teams have, so that results name the team too.
    doubles: Vec<String>,
    seen: RefCell<Seen>,
}

/// Number of a passage or a document on the server: its workspace's, and its
/// own.
type Key = (i64, i32);

/// Local numbers of passages and documents. Numbers on the server are longer,
/// so these get short ones in the order of their first occurrence.
#[derive(Default)]
struct Seen {
    chunks: Vec<Chunk>,
    by_chunk: HashMap<Key, u32>,
    by_doc: HashMap<Key, u32>,
    texts: HashMap<u32, String>,
    replaced: HashMap<String, String>,
    names: HashMap<u32, String>,
    weights: Vec<f32>,
    average: f32,
}

/// A passage with its numbers.
struct Chunk {
    key: Key,
    doc: u32,
    length: u16,
}

impl Seen {
    /// Returns the local number of a document.
    fn doc(&mut self, key: Key) -> u32 {
        let next = self.by_doc.len() as u32;
        *self.by_doc.entry(key).or_insert(next)
    }

    /// Returns the local number of a passage.
    fn chunk(&mut self, (workspace, id): Key, doc: i32) -> u32 {
        let doc = self.doc((workspace, doc));
        let next = self.chunks.len() as u32;
        let chunk = *self.by_chunk.entry((workspace, id)).or_insert(next);
        if chunk == next {
            self.chunks.push(Chunk {
                key: (workspace, id),
                doc,
                length: 0,
            });
        }
        chunk
    }
}

/// Converts an error to one of the index.
fn remote(error: Error) -> index::Error {
    index::Error::Remote(index::RemoteError {
        message: error.what,
        hint: error.hint,
        is_usage: error.usage,
    })
}

impl Engine {
    /// Begins a search. As long as it is held, all its queries see one state.
    pub fn search(&self, within: Within) -> Result<Search<'_>, Error> {
        self.run(async {
            self.begin(READ, None).await?;
            let begun = self.begin_asking(within).await;
            // A server that does not answer would not answer a rollback either.
            if let Err(error) = &begun
                && error.cause != ErrorCause::Silent
            {
                let _ = self.end("rollback").await;
            }
            begun
        })
    }

    /// Reads the size of the index and the workspace to search.
    async fn begin_asking(&self, within: Within<'_>) -> Result<Search<'_>, Error> {
        let known = schema::check(&self.client, &self.tenant, Purpose::Read).await?;
        let only: Option<i64> = match within {
            Within::Everything => None,
            Within::Workspace(name) => {
                let row = pull::find(&self.client, &self.tenant, name).await?;
                Some(row.get(0))
            }
        };
        let sql = "select chunks, embedded, doubles from mf.overview($1, $2)";
        let rows = self
            .client
            .query_typed(sql, &[(&self.tenant, Type::TEXT), (&only, Type::INT8)])
            .await?;
        let count = |at: usize| {
            let row = rows.first();
            row.map_or(0, |row| row.get::<_, i64>(at) as usize)
        };
        Ok(Search {
            engine: self,
            counts: Passages {
                chunks: count(0),
                embedded: count(1),
            },
            model: known.model,
            only,
            doubles: rows.first().map_or_else(Vec::new, |row| row.get(2)),
            seen: RefCell::default(),
        })
    }
}

impl Drop for Search<'_> {
    fn drop(&mut self) {
        // Nothing was written: if the server does not answer, it ends the
        // transaction itself when the connection closes.
        let _ = self.engine.run(self.engine.end("rollback"));
    }
}

/// A value with its type. Statements are not prepared by name, since a
/// connection pool may pass each one to another session.
pub(super) type Value<'a> = (&'a (dyn ToSql + Sync), Type);

/// Filters of a search, as the SQL functions take them.
struct Filter {
    scopes: Option<Vec<String>>,
    skills: Option<Vec<bool>>,
    since: Option<String>,
}

impl Search<'_> {
    /// Calls an SQL function, with the tenant as its first argument.
    async fn call(&self, sql: &str, more: &[Value<'_>]) -> Result<Vec<Row>, Error> {
        let mut values: Vec<Value> = vec![(&self.engine.tenant, Type::TEXT)];
        values.extend(more.iter().map(|(value, kind)| (*value, kind.clone())));
        Ok(self.engine.client.query_typed(sql, &values).await?)
    }

    /// Builds the filters of a query.
    fn filter(&self, ask: &Ask) -> Filter {
        let scopes = ask.scopes.iter().map(|it| (*it).to_owned()).collect();
        let skills = ask.kinds.iter().map(|it| *it == Kind::Skill).collect();
        Filter {
            scopes: (!ask.scopes.is_empty()).then_some(scopes),
            skills: (!ask.kinds.is_empty()).then_some(skills),
            since: ask.since.map(|it| it.to_string()),
        }
    }

    /// Returns the numbers of all terms, each with its group and weight: a
    /// prefix is one group of all words that begin with it.
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
                .call(
                    "select term from mf.beginning($1, $2, $3, $4)",
                    &[
                        (&folded, Type::TEXT),
                        (&end, Type::TEXT),
                        (&MOST_EXPANSIONS, Type::INT4),
                    ],
                )
                .await?;
            let mut terms: HashSet<String> = rows.iter().map(|row| row.get(0)).collect();
            // Terms are stems, which may be shorter than the prefix.
            for cut in folded.char_indices().map(|(i, _)| i).filter(|i| *i >= 3) {
                terms.insert(folded[..cut].to_owned());
                // A stemmer may replace the next letter by `i`, as in `happy`
                // and `happi`.
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

    /// Fetches candidates by words and by vectors, in one statement.
    async fn both_sides(&self, ask: &Ask<'_>, wanted: &Wanted<'_>) -> Result<Candidates, Error> {
        let words = wanted.question.words();
        let (hs, gs, ws) = match wanted.mode {
            Mode::Vector => Default::default(),
            _ => self.numbers(&words).await?,
        };
        let filter = self.filter(ask);
        let query: Option<Vec<f32>> = wanted.query.map(|it: &Packed| it.values().collect());
        let (text_pool, vector_pool) = (wanted.text_pool as i64, wanted.vector_pool as i64);
        let rows = self
            .call(
                "select side, workspace, id, doc, score, extra, body
                 from mf.search($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
                &[
                    (&self.only, Type::INT8),
                    (&hs, Type::INT4_ARRAY),
                    (&gs, Type::INT4_ARRAY),
                    (&ws, Type::FLOAT4_ARRAY),
                    (&CANDIDATES, Type::FLOAT8),
                    (&text_pool, Type::INT8),
                    (&filter.scopes, Type::TEXT_ARRAY),
                    (&filter.skills, Type::BOOL_ARRAY),
                    (&filter.since, Type::TEXT),
                    (&query, Type::FLOAT4_ARRAY),
                    (&vector_pool, Type::INT8),
                    (&ask.unique, Type::BOOL),
                    (&EXACT, Type::INT8),
                ],
            )
            .await?;
        Ok(self.read(&rows, &words))
    }

    /// Parses the rows of that statement.
    fn read(&self, rows: &[Row], words: &Words) -> Candidates {
        let mut seen = self.seen.borrow_mut();
        let mut found = Candidates::default();
        // One result has rows of five kinds, by `side`: `n` the size of the
        // index, `d` document frequencies, `t` hits by words, `v` hits by
        // vectors, and otherwise the score of a whole file.
        let (mut passages, mut holding) = (0, HashMap::new());
        for row in rows {
            let side: &str = row.get(0);
            let key: Key = (row.get(1), row.get(2));
            let doc: i32 = row.get(3);
            let (score, extra): (f64, f64) = (row.get(4), row.get(5));
            match side {
                "n" => {
                    passages = score as usize;
                    seen.average = extra as f32;
                }
                "d" => {
                    holding.insert(key.1 as usize, score as usize);
                }
                "t" => {
                    let chunk = seen.chunk(key, doc);
                    seen.chunks[chunk as usize].length = extra as u16;
                    if let Some(text) = row.get(6) {
                        seen.texts.insert(chunk, text);
                    }
                    found.text.hits.push((chunk, score as f32));
                }
                "v" => {
                    let chunk = seen.chunk(key, doc);
                    found.vector.push((chunk, score as f32));
                }
                _ => {
                    let doc = seen.doc((key.0, doc));
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

    /// Finds passages that contain a string, also within a word.
    async fn literal(&self, ask: &Ask<'_>, string: &str) -> Result<Vec<u32>, Error> {
        let needle = fold(string);
        // The scan reads every text, which is too slow for a large index.
        if needle.trim().is_empty() || self.counts.chunks > MOST_SCANNED {
            return Ok(Vec::new());
        }
        let filter = self.filter(ask);
        let most = MOST_LITERAL as i64;
        let rows = self
            .call(
                "select workspace, id, doc from mf.literal($1, $2, $3, $4, $5, $6, $7)",
                &[
                    (&self.only, Type::INT8),
                    (&needle, Type::TEXT),
                    (&filter.scopes, Type::TEXT_ARRAY),
                    (&filter.skills, Type::BOOL_ARRAY),
                    (&filter.since, Type::TEXT),
                    (&most, Type::INT8),
                ],
            )
            .await?;
        let mut seen = self.seen.borrow_mut();
        Ok(rows
            .iter()
            .map(|row| seen.chunk((row.get(0), row.get(1)), row.get(2)))
            .collect())
    }

    /// Counts the passages without a date, which `since` excludes.
    async fn undated(&self, ask: &Ask<'_>) -> Result<usize, Error> {
        if ask.since.is_none() {
            return Ok(0);
        }
        let filter = self.filter(ask);
        let rows = self
            .call(
                "select mf.undated($1, $2, $3, $4)",
                &[
                    (&self.only, Type::INT8),
                    (&filter.scopes, Type::TEXT_ARRAY),
                    (&filter.skills, Type::BOOL_ARRAY),
                ],
            )
            .await?;
        Ok(rows.first().map_or(0, |row| row.get::<_, i64>(0) as usize))
    }

    /// Fetches passages by their numbers, or the first ones of documents by
    /// paths.
    async fn fetch(
        &self,
        workspaces: &[i64],
        ids: &[i32],
        paths: Option<&[&str]>,
    ) -> Result<Vec<Passage>, Error> {
        let rows = self
            .call(
                "select workspace, id, doc, name, team, path, title, names, scope, skill, date,
                 importance, deprecated, superseded_by, replaced_by, ordinal, headings, first_line,
                 last_line, tokens, body, length from mf.passages($1, $2, $3, $4)",
                &[
                    (&workspaces, Type::INT8_ARRAY),
                    (&ids, Type::INT4_ARRAY),
                    (&paths, Type::TEXT_ARRAY),
                ],
            )
            .await?;
        let mut seen = self.seen.borrow_mut();
        let passage = |row| passage(row, &self.doubles, &mut seen);
        Ok(rows.iter().map(passage).collect())
    }
}

/// Formats the name of a document: its workspace and path, and its team if two
/// teams have a workspace of that name.
fn place(team: Option<&str>, workspace: &str, path: &str) -> String {
    match team {
        Some(team) => format!("{team}/{workspace}:{path}"),
        None => format!("{workspace}:{path}"),
    }
}

/// Parses a passage.
fn passage(row: &Row, doubles: &[String], seen: &mut Seen) -> Passage {
    let chunk = seen.chunk((row.get(0), row.get(1)), row.get(2));
    seen.chunks[chunk as usize].length = row.get::<_, i32>(21) as u16;
    seen.names.insert(chunk, row.get(7));
    let workspace: &str = row.get(3);
    let is_double = doubles.iter().any(|it| it == workspace);
    let team = is_double.then(|| row.get::<_, &str>(4));
    let path = place(team, workspace, row.get(5));
    if let Some(by) = row.get::<_, Option<&str>>(14) {
        let by = place(team, workspace, by);
        seen.replaced.insert(path.clone(), by);
    }
    let headings: &str = row.get(16);
    Passage {
        chunk,
        file: seen.chunks[chunk as usize].doc,
        path,
        title: row.get(6),
        scope: row.get(8),
        kind: if row.get(9) {
            Kind::Skill
        } else {
            Kind::Knowledge
        },
        date: row.get(10),
        importance: i64::from(row.get::<_, i16>(11)),
        standing: match (row.get::<_, bool>(12), row.get::<_, Option<String>>(13)) {
            (_, Some(by)) => Standing::SupersededBy(by),
            (true, None) => Standing::Deprecated,
            _ => Standing::Current,
        },
        ordinal: row.get::<_, i32>(15) as usize,
        headings: headings.lines().map(str::to_owned).collect(),
        lines: (
            row.get::<_, i32>(17) as usize,
            row.get::<_, i32>(18) as usize,
        ),
        tokens: row.get::<_, i32>(19) as usize,
        text: row.get(20),
    }
}

/// The texts of the candidates, for reading them again.
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
        let mut found = self.engine.run(run).map_err(remote)?;
        {
            let seen = self.seen.borrow();
            let (words, average) = (wanted.question.words(), seen.average);
            let text: &mut TextHits = &mut found.text;
            index::reread(&OfAnswer(&seen), &words, &seen.weights, average, text)?;
        }
        for string in literals(wanted.question, &found.text, wanted.mode) {
            let hits = self.engine.run(self.literal(ask, &string));
            found.literal.extend(hits.map_err(remote)?);
        }
        Ok(found)
    }

    fn file(&self, chunk: u32) -> Option<u32> {
        let seen = self.seen.borrow();
        seen.chunks.get(chunk as usize).map(|it| it.doc)
    }

    fn passages(&self, chunks: &[u32]) -> Result<Vec<Passage>, index::Error> {
        let (workspaces, ids): (Vec<i64>, Vec<i32>) = {
            let seen = self.seen.borrow();
            let known = chunks.iter().filter_map(|it| seen.chunks.get(*it as usize));
            known.map(|it| it.key).unzip()
        };
        let found = self.engine.run(self.fetch(&workspaces, &ids, None));
        let found = found.map_err(remote)?;
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
        let found = self.engine.run(async {
            let row = pull::find(&self.engine.client, &self.engine.tenant, workspace).await?;
            self.fetch(&[row.get(0)], &[], Some(&[path])).await
        });
        let fits = |it: &Passage| {
            (ask.scopes.is_empty() || ask.scopes.contains(&it.scope.as_str()))
                && (ask.kinds.is_empty() || ask.kinds.contains(&it.kind))
                && ask.since.is_none_or(|since| {
                    it.date
                        .as_ref()
                        .is_some_and(|date| *date >= since.to_string())
                })
        };
        Ok(found.map_err(remote)?.into_iter().find(fits))
    }

    fn explain(&self, words: &Words, chunk: u32) -> Result<Vec<TermMatch>, index::Error> {
        let Some(passage) = self.passages(&[chunk])?.into_iter().next() else {
            return Ok(Vec::new());
        };
        let seen = self.seen.borrow();
        let length = seen.chunks[chunk as usize].length;
        let names = seen.names.get(&chunk).map_or("", String::as_str);
        let names = format!("{} {names}", passage.title);
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
