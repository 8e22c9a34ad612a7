//! Searches the shared index. Candidates by words and by vectors come from one
//! statement; `recall` ranks them as for any other source.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use forge_memory::recall::{
    CandidateRequest, CandidateSet, MAX_LITERAL_PASSAGES, PassageSource, RecallMode, RecallQuery,
    literal_strings,
};
use forge_store::index::terms::fold_text;
use forge_store::index::{
    self, DocumentKind, DocumentStanding, PackedVector, PassageCounts, PassageReader, PassageTerms,
    StoredPassage, TermMatch, TextHits, TextQuery, bm25_score, idf,
};
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use super::push::term_number;
use super::schema::{self, AccessPurpose};
use super::{ErrorCause, PostgresEngine, PostgresError, READ_TRANSACTION, pull};

/// Passages that rare words may contribute as candidates.
const MAX_TERM_CANDIDATES: f64 = 20_000.0;
/// Vectors that are compared exactly; above, the vector index is used.
const MAX_EXACT_VECTORS: i64 = 20_000;
/// Passages of the largest index in which a literal string is searched in every
/// text.
const MAX_SCANNED_PASSAGES: usize = 50_000;
/// Words that a prefix expands to.
const MAX_PREFIX_TERMS: i32 = 200;

/// Workspaces to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkspaceSelection<'a> {
    /// All that the caller may see.
    Everything,
    Workspace(&'a str),
}

/// A search in one state of the shared index.
pub struct SharedSearch<'a> {
    engine: &'a PostgresEngine,
    counts: PassageCounts,
    model: String,
    /// The only workspace to search.
    only: Option<i64>,
    /// Workspace names that two teams have, so that results name the team too.
    doubles: Vec<String>,
    seen: RefCell<PassageNumbers>,
}

/// Number of a passage or a document on the server: its workspace's, and its
/// own.
type RemoteKey = (i64, i32);

/// Local numbers of passages and documents. Numbers on the server are longer,
/// so these get short ones in the order of their first occurrence.
#[derive(Default)]
struct PassageNumbers {
    chunks: Vec<NumberedPassage>,
    by_chunk: HashMap<RemoteKey, u32>,
    by_doc: HashMap<RemoteKey, u32>,
    texts: HashMap<u32, String>,
    replaced: HashMap<String, String>,
    names: HashMap<u32, String>,
    weights: Vec<f32>,
    average: f32,
}

/// A passage with its numbers.
struct NumberedPassage {
    key: RemoteKey,
    doc: u32,
    length: u16,
}

impl PassageNumbers {
    /// Returns the local number of a document.
    fn document_number(&mut self, key: RemoteKey) -> u32 {
        let next = self.by_doc.len() as u32;
        *self.by_doc.entry(key).or_insert(next)
    }

    /// Returns the local number of a passage.
    fn passage_number(&mut self, (workspace, id): RemoteKey, doc: i32) -> u32 {
        let doc = self.document_number((workspace, doc));
        let next = self.chunks.len() as u32;
        let chunk = *self.by_chunk.entry((workspace, id)).or_insert(next);
        if chunk == next {
            self.chunks.push(NumberedPassage {
                key: (workspace, id),
                doc,
                length: 0,
            });
        }
        chunk
    }
}

/// Converts an error to one of the index.
fn to_index_error(error: PostgresError) -> index::IndexError {
    index::IndexError::Remote(index::RemoteError {
        message: error.what,
        hint: error.hint,
        is_usage: error.usage,
    })
}

impl PostgresEngine {
    /// Begins a search. As long as it is held, all its queries see one state.
    pub fn begin_search(
        &self,
        within: WorkspaceSelection,
    ) -> Result<SharedSearch<'_>, PostgresError> {
        self.run_limited(async {
            self.begin_transaction(READ_TRANSACTION, None).await?;
            let begun = self.open_search(within).await;
            // A server that does not answer would not answer a rollback either.
            if let Err(error) = &begun
                && error.cause != ErrorCause::Silent
            {
                let _ = self.end_transaction("rollback").await;
            }
            begun
        })
    }

    /// Reads the size of the index and the workspace to search.
    async fn open_search(
        &self,
        within: WorkspaceSelection<'_>,
    ) -> Result<SharedSearch<'_>, PostgresError> {
        let known = schema::check_format(&self.client, &self.tenant, AccessPurpose::Read).await?;
        let only: Option<i64> = match within {
            WorkspaceSelection::Everything => None,
            WorkspaceSelection::Workspace(name) => {
                let row = pull::find_workspace(&self.client, &self.tenant, name).await?;
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
        Ok(SharedSearch {
            engine: self,
            counts: PassageCounts {
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

impl Drop for SharedSearch<'_> {
    fn drop(&mut self) {
        // Nothing was written: if the server does not answer, it ends the
        // transaction itself when the connection closes.
        let _ = self
            .engine
            .run_limited(self.engine.end_transaction("rollback"));
    }
}

/// A value with its type. Statements are not prepared by name, since a
/// connection pool may pass each one to another session.
pub(super) type TypedValue<'a> = (&'a (dyn ToSql + Sync), Type);

/// Filters of a search, as the SQL functions take them.
struct SearchFilter {
    scopes: Option<Vec<String>>,
    skills: Option<Vec<bool>>,
    since: Option<String>,
}

impl SharedSearch<'_> {
    /// Calls an SQL function, with the tenant as its first argument.
    async fn call_function(
        &self,
        sql: &str,
        more: &[TypedValue<'_>],
    ) -> Result<Vec<Row>, PostgresError> {
        let mut values: Vec<TypedValue> = vec![(&self.engine.tenant, Type::TEXT)];
        values.extend(more.iter().map(|(value, kind)| (*value, kind.clone())));
        Ok(self.engine.client.query_typed(sql, &values).await?)
    }

    /// Builds the filters of a query.
    fn build_filter(&self, ask: &RecallQuery) -> SearchFilter {
        let scopes = ask.scopes.iter().map(|it| (*it).to_owned()).collect();
        let skills = ask
            .kinds
            .iter()
            .map(|it| *it == DocumentKind::Skill)
            .collect();
        SearchFilter {
            scopes: (!ask.scopes.is_empty()).then_some(scopes),
            skills: (!ask.kinds.is_empty()).then_some(skills),
            since: ask.since.map(|it| it.to_string()),
        }
    }

    /// Returns the numbers of all terms, each with its group and weight: a
    /// prefix is one group of all words that begin with it.
    async fn number_terms(
        &self,
        words: &TextQuery<'_>,
    ) -> Result<(Vec<i32>, Vec<i32>, Vec<f32>), PostgresError> {
        let (mut hs, mut gs, mut ws) = (Vec::new(), Vec::new(), Vec::new());
        for (at, term) in words.terms.iter().enumerate() {
            hs.push(term_number(term));
            gs.push(at as i32);
            ws.push(words.term_weight(at));
        }
        for (at, prefix) in (words.terms.len()..).zip(words.prefixes) {
            let folded = fold_text(&prefix.0);
            let end = format!("{folded}{}", char::MAX);
            let rows = self
                .call_function(
                    "select term from mf.beginning($1, $2, $3, $4)",
                    &[
                        (&folded, Type::TEXT),
                        (&end, Type::TEXT),
                        (&MAX_PREFIX_TERMS, Type::INT4),
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
            let mut numbers: Vec<i32> = terms.iter().map(|term| term_number(term)).collect();
            numbers.sort_unstable();
            for h in numbers {
                hs.push(h);
                gs.push(at as i32);
                ws.push(words.term_weight(at));
            }
        }
        Ok((hs, gs, ws))
    }

    /// Fetches candidates by words and by vectors, in one statement.
    async fn fetch_candidates(
        &self,
        ask: &RecallQuery<'_>,
        wanted: &CandidateRequest<'_>,
    ) -> Result<CandidateSet, PostgresError> {
        let words = wanted.question.query_words();
        let (hs, gs, ws) = match wanted.mode {
            RecallMode::Vector => Default::default(),
            _ => self.number_terms(&words).await?,
        };
        let filter = self.build_filter(ask);
        let query: Option<Vec<f32>> = wanted.query.map(|it: &PackedVector| it.values().collect());
        let (text_pool, vector_pool) = (wanted.text_pool as i64, wanted.vector_pool as i64);
        let rows = self
            .call_function(
                "select side, workspace, id, doc, score, extra, body
                 from mf.search($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
                &[
                    (&self.only, Type::INT8),
                    (&hs, Type::INT4_ARRAY),
                    (&gs, Type::INT4_ARRAY),
                    (&ws, Type::FLOAT4_ARRAY),
                    (&MAX_TERM_CANDIDATES, Type::FLOAT8),
                    (&text_pool, Type::INT8),
                    (&filter.scopes, Type::TEXT_ARRAY),
                    (&filter.skills, Type::BOOL_ARRAY),
                    (&filter.since, Type::TEXT),
                    (&query, Type::FLOAT4_ARRAY),
                    (&vector_pool, Type::INT8),
                    (&ask.unique, Type::BOOL),
                    (&MAX_EXACT_VECTORS, Type::INT8),
                ],
            )
            .await?;
        Ok(self.parse_candidates(&rows, &words))
    }

    /// Parses the rows of that statement.
    fn parse_candidates(&self, rows: &[Row], words: &TextQuery) -> CandidateSet {
        let mut seen = self.seen.borrow_mut();
        let mut found = CandidateSet::default();
        // One result has rows of five kinds, by `side`: `n` the size of the
        // index, `d` document frequencies, `t` hits by words, `v` hits by
        // vectors, and otherwise the score of a whole file.
        let (mut passages, mut holding) = (0, HashMap::new());
        for row in rows {
            let side: &str = row.get(0);
            let key: RemoteKey = (row.get(1), row.get(2));
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
                    let chunk = seen.passage_number(key, doc);
                    seen.chunks[chunk as usize].length = extra as u16;
                    if let Some(text) = row.get(6) {
                        seen.texts.insert(chunk, text);
                    }
                    found.text.hits.push((chunk, score as f32));
                }
                "v" => {
                    let chunk = seen.passage_number(key, doc);
                    found.vector.push((chunk, score as f32));
                }
                _ => {
                    let doc = seen.document_number((key.0, doc));
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
                df => words.term_weight(at) * idf(passages, df),
            };
            if df > 0 {
                found.text.ideal += bm25_score(weight, 2.0, seen.average, seen.average);
            }
            seen.weights.push(weight);
            found.text.holding.push((term, df));
        }
        found
    }

    /// Finds passages that contain a string, also within a word.
    async fn find_literal(
        &self,
        ask: &RecallQuery<'_>,
        string: &str,
    ) -> Result<Vec<u32>, PostgresError> {
        let needle = fold_text(string);
        // The scan reads every text, which is too slow for a large index.
        if needle.trim().is_empty() || self.counts.chunks > MAX_SCANNED_PASSAGES {
            return Ok(Vec::new());
        }
        let filter = self.build_filter(ask);
        let most = MAX_LITERAL_PASSAGES as i64;
        let rows = self
            .call_function(
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
            .map(|row| seen.passage_number((row.get(0), row.get(1)), row.get(2)))
            .collect())
    }

    /// Counts the passages without a date, which `since` excludes.
    async fn count_undated(&self, ask: &RecallQuery<'_>) -> Result<usize, PostgresError> {
        if ask.since.is_none() {
            return Ok(0);
        }
        let filter = self.build_filter(ask);
        let rows = self
            .call_function(
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
    async fn fetch_passages(
        &self,
        workspaces: &[i64],
        ids: &[i32],
        paths: Option<&[&str]>,
    ) -> Result<Vec<StoredPassage>, PostgresError> {
        let rows = self
            .call_function(
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
        let passage = |row| parse_passage(row, &self.doubles, &mut seen);
        Ok(rows.iter().map(passage).collect())
    }
}

/// Formats the name of a document: its workspace and path, and its team if two
/// teams have a workspace of that name.
fn format_place(team: Option<&str>, workspace: &str, path: &str) -> String {
    match team {
        Some(team) => format!("{team}/{workspace}:{path}"),
        None => format!("{workspace}:{path}"),
    }
}

/// Parses a passage.
fn parse_passage(row: &Row, doubles: &[String], seen: &mut PassageNumbers) -> StoredPassage {
    let chunk = seen.passage_number((row.get(0), row.get(1)), row.get(2));
    seen.chunks[chunk as usize].length = row.get::<_, i32>(21) as u16;
    seen.names.insert(chunk, row.get(7));
    let workspace: &str = row.get(3);
    let is_double = doubles.iter().any(|it| it == workspace);
    let team = is_double.then(|| row.get::<_, &str>(4));
    let path = format_place(team, workspace, row.get(5));
    if let Some(by) = row.get::<_, Option<&str>>(14) {
        let by = format_place(team, workspace, by);
        seen.replaced.insert(path.clone(), by);
    }
    let headings: &str = row.get(16);
    StoredPassage {
        chunk,
        file: seen.chunks[chunk as usize].doc,
        path,
        title: row.get(6),
        scope: row.get(8),
        kind: if row.get(9) {
            DocumentKind::Skill
        } else {
            DocumentKind::Knowledge
        },
        date: row.get(10),
        importance: i64::from(row.get::<_, i16>(11)),
        standing: match (row.get::<_, bool>(12), row.get::<_, Option<String>>(13)) {
            (_, Some(by)) => DocumentStanding::SupersededBy(by),
            (true, None) => DocumentStanding::Deprecated,
            _ => DocumentStanding::Current,
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
struct AnswerShelf<'a>(&'a PassageNumbers);

impl PassageReader for AnswerShelf<'_> {
    fn length_and_file(&self, chunk: u32) -> Option<(u16, u32)> {
        let it = self.0.chunks.get(chunk as usize)?;
        Some((it.length, it.doc))
    }

    fn passage_text(&self, chunk: u32) -> Result<String, index::IndexError> {
        Ok(self.0.texts.get(&chunk).cloned().unwrap_or_default())
    }
}

impl PassageSource for SharedSearch<'_> {
    fn count_passages(&self) -> Result<PassageCounts, index::IndexError> {
        Ok(PassageCounts { ..self.counts })
    }

    fn has_model(&self, id: &str, dimensions: usize) -> Result<bool, index::IndexError> {
        Ok(self.model == format!("{id}/{dimensions}"))
    }

    fn find_candidates(
        &self,
        ask: &RecallQuery,
        wanted: &CandidateRequest,
    ) -> Result<CandidateSet, index::IndexError> {
        let run = async {
            let mut found = self.fetch_candidates(ask, wanted).await?;
            found.undated = self.count_undated(ask).await?;
            Ok(found)
        };
        let mut found = self.engine.run_limited(run).map_err(to_index_error)?;
        {
            let seen = self.seen.borrow();
            let (words, average) = (wanted.question.query_words(), seen.average);
            let text: &mut TextHits = &mut found.text;
            index::rerank_hits(&AnswerShelf(&seen), &words, &seen.weights, average, text)?;
        }
        for string in literal_strings(wanted.question, &found.text, wanted.mode) {
            let hits = self.engine.run_limited(self.find_literal(ask, &string));
            found.literal.extend(hits.map_err(to_index_error)?);
        }
        Ok(found)
    }

    fn file_of(&self, chunk: u32) -> Option<u32> {
        let seen = self.seen.borrow();
        seen.chunks.get(chunk as usize).map(|it| it.doc)
    }

    fn read_passages(&self, chunks: &[u32]) -> Result<Vec<StoredPassage>, index::IndexError> {
        let (workspaces, ids): (Vec<i64>, Vec<i32>) = {
            let seen = self.seen.borrow();
            let known = chunks.iter().filter_map(|it| seen.chunks.get(*it as usize));
            known.map(|it| it.key).unzip()
        };
        let found = self
            .engine
            .run_limited(self.fetch_passages(&workspaces, &ids, None));
        let found = found.map_err(to_index_error)?;
        let mut by_chunk: HashMap<u32, StoredPassage> =
            found.into_iter().map(|it| (it.chunk, it)).collect();
        Ok(chunks.iter().filter_map(|it| by_chunk.remove(it)).collect())
    }

    fn find_replacements(
        &self,
        _: &HashSet<&str>,
    ) -> Result<HashMap<String, String>, index::IndexError> {
        // Each passage brought along what replaced its document.
        Ok(self.seen.borrow().replaced.clone())
    }

    fn opening_passage(
        &self,
        ask: &RecallQuery,
        path: &str,
    ) -> Result<Option<StoredPassage>, index::IndexError> {
        let Some((workspace, path)) = path.split_once(':') else {
            return Ok(None);
        };
        let found = self.engine.run_limited(async {
            let row =
                pull::find_workspace(&self.engine.client, &self.engine.tenant, workspace).await?;
            self.fetch_passages(&[row.get(0)], &[], Some(&[path])).await
        });
        let fits = |it: &StoredPassage| {
            (ask.scopes.is_empty() || ask.scopes.contains(&it.scope.as_str()))
                && (ask.kinds.is_empty() || ask.kinds.contains(&it.kind))
                && ask.since.is_none_or(|since| {
                    it.date
                        .as_ref()
                        .is_some_and(|date| *date >= since.to_string())
                })
        };
        Ok(found.map_err(to_index_error)?.into_iter().find(fits))
    }

    fn explain_passage(
        &self,
        words: &TextQuery,
        chunk: u32,
    ) -> Result<Vec<TermMatch>, index::IndexError> {
        let Some(passage) = self.read_passages(&[chunk])?.into_iter().next() else {
            return Ok(Vec::new());
        };
        let seen = self.seen.borrow();
        let length = seen.chunks[chunk as usize].length;
        let names = seen.names.get(&chunk).map_or("", String::as_str);
        let names = format!("{} {names}", passage.title);
        let headings = passage.headings.join("\n");
        let (held, _) = PassageTerms::default().count_terms(&names, &headings, &passage.text);
        let mut matches: Vec<TermMatch> = Vec::new();
        for (term, weight) in words.terms.iter().zip(&seen.weights) {
            if let Some(it) = held.get(term) {
                matches.push(TermMatch {
                    term: term.clone(),
                    idf: *weight,
                    body: it.body,
                    in_headings: it.in_headings,
                    in_title: it.in_title,
                    score: bm25_score(*weight, it.frequency(), f32::from(length), seen.average),
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
