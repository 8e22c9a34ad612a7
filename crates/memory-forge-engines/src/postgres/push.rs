//! Pushes a workspace's documents to the shared index. One push is one
//! transaction: readers see the state before or after it, and an interrupted
//! push has no effect.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use forge_memory::publish::{PublishItem, PublishedDocument, PublishedEdge};
use forge_memory::wire::{IndexPushReport, TeamMember};
use forge_store::index::{DocumentKind, DocumentStanding, PassageTerms};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::schema::{self, AccessPurpose};
use super::search::TypedValue;
use super::wait::{SHORT_LOCK_WAIT, format_duration, run_timed};
use super::{ErrorCause, PostgresEngine, PostgresError, READ_TRANSACTION};

/// Documents to push, and on whose behalf.
pub struct IndexPush<'a> {
    pub workspace: &'a str,
    /// The identity of the workspace, independent of its path; empty without
    /// one.
    pub identity: &'a str,
    pub team: &'a str,
    pub commit: Option<&'a str>,
    pub items: &'a [PublishItem],
    pub edges: &'a [PublishedEdge],
    /// Returns whether this checkout has the commit of an earlier push.
    pub knows: &'a dyn Fn(&str) -> bool,
    /// Whether to replace the push of a commit that this checkout does not
    /// have.
    pub force: bool,
}

/// An error of reading a document.
pub type DocumentReadError = Box<dyn std::error::Error + Send + Sync>;

/// Passages or documents of one statement.
const ROWS_PER_BATCH: usize = 100;

/// Terms that are counted before they are sent.
const MAX_COUNTED_TERMS: usize = 100_000;

/// Returns the number of a term. Two terms with the same number are mistaken
/// for each other, which affects about one word in ten thousand queries.
pub(super) fn term_number(term: &str) -> i32 {
    let hash = blake3::hash(term.as_bytes());
    let bytes = hash.as_bytes();
    i32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

impl PostgresEngine {
    /// Returns the model of the stored vectors.
    pub fn read_model(&self) -> Result<String, PostgresError> {
        self.run_transaction(READ_TRANSACTION, async |client| {
            let known = schema::check_format(client, &self.tenant, AccessPurpose::Write).await?;
            Ok(known.model)
        })
    }

    /// Updates the shared index to the state of the workspace.
    pub fn push_workspace(
        &self,
        push: &IndexPush,
        read: &mut dyn FnMut(&PublishItem) -> Result<Option<PublishedDocument>, DocumentReadError>,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<IndexPushReport, PostgresError> {
        // The first attempt waits for a lock only briefly, so that the user
        // learns early why nothing happens.
        let first = self.push_once(push, Some(SHORT_LOCK_WAIT), read, progress);
        match first {
            Err(error) if error.cause == ErrorCause::Locked => {
                let limit = format_duration(self.patience.total_limit());
                self.patience.notify(&format!(
                    "Another push of `{}` is running; waiting up to {limit} for it",
                    push.workspace
                ));
            }
            outcome => return outcome,
        }
        let second = self.push_once(push, None, read, progress);
        second.map_err(|error| match error.cause {
            ErrorCause::Locked => PostgresError::failure(
                format!("Another push of `{}` has not ended", push.workspace),
                "Nothing was pushed; push again when it has ended",
            ),
            _ => error,
        })
    }

    /// Pushes once, as one transaction; each of its statements has a limit.
    fn push_once(
        &self,
        push: &IndexPush,
        lock: Option<Duration>,
        read: &mut dyn FnMut(&PublishItem) -> Result<Option<PublishedDocument>, DocumentReadError>,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<IndexPushReport, PostgresError> {
        self.run_unlimited(self.in_transaction("", lock, async |client| {
            let known = schema::check_format(client, &self.tenant, AccessPurpose::Write);
            run_timed(self.patience.time_left(), &self.shown, known).await?;
            let mut work = PushWork::begin(self, push).await?;
            work.run_push(push, read, progress).await
        }))
    }

    /// Removes a workspace from the index. Returns `false` if it does not
    /// exist.
    pub fn drop_workspace(&self, name: &str, team: &str) -> Result<bool, PostgresError> {
        self.run_transaction("", async |client| {
            schema::check_format(client, &self.tenant, AccessPurpose::Write).await?;
            let sql = "select id, team from mf.workspaces($1, $2)";
            let found = client
                .query_typed(sql, &[(&self.tenant, Type::TEXT), (&name, Type::TEXT)])
                .await?;
            let of_team = found.iter().find(|row| row.get::<_, &str>(1) == team);
            let Some(row) = of_team.or(found.first()) else {
                return Ok(false);
            };
            let id: i64 = row.get(0);
            let sql = "select mf.drop_workspace($1, $2)";
            client
                .query_typed(sql, &[(&self.tenant, Type::TEXT), (&id, Type::INT8)])
                .await?;
            Ok(true)
        })
    }
}

/// A push in progress.
struct PushWork<'a> {
    engine: &'a PostgresEngine,
    tenant: &'a str,
    workspace: i64,
    generation: i64,
    commit: Option<String>,
    edges_hash: String,
    /// The next number of a document or a passage of this workspace.
    next_id: i32,
    holding: PassageTerms,
    documents: DocumentColumns,
    passages: PassageColumns,
    /// Number of passages by term, not yet sent. They are sent together, since
    /// a row for each term and document would leave as many dead rows.
    counted: BTreeMap<i32, (String, i64)>,
}

/// Documents to send, column by column.
#[derive(Default)]
struct DocumentColumns {
    ids: Vec<i32>,
    paths: Vec<String>,
    hashes: Vec<String>,
    scopes: Vec<String>,
    skills: Vec<bool>,
    titles: Vec<String>,
    names: Vec<String>,
    dates: Vec<Option<String>>,
    importances: Vec<i16>,
    deprecated: Vec<bool>,
    superseded_by: Vec<Option<String>>,
    replaced_by: Vec<Option<String>>,
    fields: Vec<String>,
    texts: Vec<String>,
}

/// Passages to send, column by column; lists of lists are flat.
#[derive(Default)]
struct PassageColumns {
    ids: Vec<i32>,
    docs: Vec<i32>,
    ordinals: Vec<i32>,
    first_lines: Vec<i32>,
    last_lines: Vec<i32>,
    tokens: Vec<i32>,
    lengths: Vec<i32>,
    scopes: Vec<String>,
    skills: Vec<bool>,
    dates: Vec<Option<String>>,
    headings: Vec<String>,
    texts: Vec<String>,
    /// Number of terms of each passage.
    sizes: Vec<i32>,
    terms: Vec<i32>,
    freqs: Vec<i16>,
    /// Whether each passage has a vector.
    vectored: Vec<bool>,
    vectors: Vec<f32>,
}

/// Runs one statement of a push, within its limit.
async fn run_statement(
    engine: &PostgresEngine,
    sql: &str,
    values: &[TypedValue<'_>],
) -> Result<Vec<Row>, PostgresError> {
    let answer = engine.client.query_typed(sql, values);
    run_timed(engine.patience.time_left(), &engine.shown, answer).await
}

impl<'a> PushWork<'a> {
    /// Begins a push, which locks the workspace. Fails if another repository
    /// has this name, or a commit that this checkout does not have.
    async fn begin(
        engine: &'a PostgresEngine,
        push: &IndexPush<'a>,
    ) -> Result<PushWork<'a>, PostgresError> {
        let tenant = engine.tenant.as_str();
        let rows = run_statement(
            engine,
            "select id, generation, commit_id, edges_hash, identity, next_id
             from mf.begin_push($1, $2, $3, $4)",
            &[
                (&tenant, Type::TEXT),
                (&push.team, Type::TEXT),
                (&push.workspace, Type::TEXT),
                (&push.identity, Type::TEXT),
            ],
        )
        .await
        .map_err(|error| match error.cause {
            ErrorCause::NotAllowed => push_denied_error(tenant, push),
            _ => error,
        })?;
        // The workspace is locked now, so later statements may wait for the
        // usual time.
        let settings = engine.patience.transaction_settings(None);
        let set = engine.client.batch_execute(&settings);
        run_timed(engine.patience.time_left(), &engine.shown, set).await?;
        let row = rows
            .first()
            .ok_or_else(|| push_denied_error(tenant, push))?;
        let identity: String = row.get(4);
        let work = PushWork {
            engine,
            tenant,
            workspace: row.get(0),
            generation: row.get(1),
            commit: row.get(2),
            edges_hash: row.get(3),
            next_id: row.get(5),
            holding: PassageTerms::default(),
            documents: DocumentColumns::default(),
            passages: PassageColumns::default(),
            counted: BTreeMap::new(),
        };
        if !identity.is_empty()
            && !push.identity.is_empty()
            && identity != push.identity
            && !push.force
        {
            return Err(PostgresError::usage(
                format!(
                    "`{}` is the name of another repository there",
                    push.workspace
                ),
                "Set `engine.workspace` in `memory-forge.toml` to a name of its own, or `--force` to take that one over",
            ));
        }
        if let Some(there) = &work.commit
            && !push.force
            && push.commit != Some(there)
            && !(push.knows)(there)
        {
            return Err(PostgresError::failure(
                format!(
                    "The shared index has commit {}, which this checkout does not know",
                    there.chars().take(12).collect::<String>()
                ),
                "`git pull` first, or `--force` to put this state in its place",
            ));
        }
        Ok(work)
    }

    /// Runs one statement of this push.
    async fn run_query(
        &self,
        sql: &str,
        values: &[TypedValue<'_>],
    ) -> Result<Vec<Row>, PostgresError> {
        run_statement(self.engine, sql, values).await
    }

    /// Pushes the differences: removes old documents, sends new ones, replaces
    /// edges.
    async fn run_push(
        &mut self,
        push: &IndexPush<'_>,
        read: &mut dyn FnMut(&PublishItem) -> Result<Option<PublishedDocument>, DocumentReadError>,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<IndexPushReport, PostgresError> {
        let rows = self
            .run_query(
                "select path, hash, id from mf.held($1, $2)",
                &[(&self.tenant, Type::TEXT), (&self.workspace, Type::INT8)],
            )
            .await?;
        let mut there: HashMap<String, (String, i32)> = rows
            .iter()
            .map(|row| (row.get(0), (row.get(1), row.get(2))))
            .collect();
        let mut done = IndexPushReport::default();
        let mut old = Vec::new();
        let mut wanted = Vec::new();
        for item in push.items {
            match there.remove(item.path.as_str()) {
                Some((hash, _)) if hash == item.hash => done.unchanged += 1,
                Some((_, id)) => {
                    old.push(id);
                    wanted.push((item, true));
                }
                None => wanted.push((item, false)),
            }
        }
        done.removed = there.len();
        old.extend(there.into_values().map(|(_, id)| id));
        self.remove_documents(&old).await?;
        for (at, (item, known)) in wanted.iter().enumerate() {
            progress(at, wanted.len());
            let published = read(item).map_err(|error| {
                PostgresError::failure(
                    format!("Cannot read `{}`: {error}", item.path),
                    "Nothing was pushed; make it readable and push again",
                )
            })?;
            let Some(published) = published else {
                done.removed += usize::from(*known);
                continue;
            };
            if *known {
                done.changed += 1;
            } else {
                done.added += 1;
            }
            done.chunks += published.put.chunks.len();
            done.secrets += published.secrets;
            self.add_document(published);
            if self.passages.ids.len() >= ROWS_PER_BATCH
                || self.documents.ids.len() >= ROWS_PER_BATCH
            {
                self.send_batches().await?;
            }
            if self.counted.len() > MAX_COUNTED_TERMS {
                self.send_terms().await?;
            }
        }
        self.send_batches().await?;
        self.send_terms().await?;
        let edges_changed = self.replace_edges(push.edges).await?;
        let commit_changed = push.commit.is_some() && push.commit != self.commit.as_deref();
        let changed = done.added + done.changed + done.removed > 0;
        if changed || edges_changed || commit_changed || self.generation == 0 {
            self.generation = self.end_push(push).await?;
        }
        done.generation = self.generation;
        Ok(done)
    }

    /// Ends the push and returns its generation.
    async fn end_push(&self, push: &IndexPush<'_>) -> Result<i64, PostgresError> {
        let rows = self
            .run_query(
                "select mf.end_push($1, $2, $3, $4, $5, $6)",
                &[
                    (&self.tenant, Type::TEXT),
                    (&self.workspace, Type::INT8),
                    (&push.commit, Type::TEXT),
                    (&push.identity, Type::TEXT),
                    (&self.edges_hash, Type::TEXT),
                    (&self.next_id, Type::INT4),
                ],
            )
            .await?;
        Ok(rows.first().map_or(self.generation, |row| row.get(0)))
    }

    /// Removes documents, and their share of the counts of terms.
    async fn remove_documents(&mut self, documents: &[i32]) -> Result<(), PostgresError> {
        if documents.is_empty() {
            return Ok(());
        }
        self.run_query(
            "select mf.remove_documents($1, $2, $3)",
            &[
                (&self.tenant, Type::TEXT),
                (&self.workspace, Type::INT8),
                (&documents, Type::INT4_ARRAY),
            ],
        )
        .await?;
        Ok(())
    }

    /// Returns the next number.
    fn take_number(&mut self) -> i32 {
        let id = self.next_id;
        self.next_id += 1;
        id
    }

    /// Adds a document and its passages to the next batch.
    fn add_document(&mut self, it: PublishedDocument) {
        let doc = self.take_number();
        let put = it.put;
        let is_skill = put.kind == DocumentKind::Skill;
        let (deprecated, superseded_by) = match put.standing {
            DocumentStanding::Current => (false, None),
            DocumentStanding::Deprecated => (true, None),
            DocumentStanding::SupersededBy(by) => (true, Some(by)),
        };
        let names = format!("{} {}", put.title, put.names);
        for (ordinal, (chunk, vector)) in put.chunks.into_iter().zip(it.vectors).enumerate() {
            let headings = chunk.headings.join("\n");
            let (held, length) = self.holding.count_terms(&names, &headings, &chunk.text);
            // Two terms with the same number count as one.
            let mut freqs: BTreeMap<i32, i64> = BTreeMap::new();
            let mut seen = HashSet::new();
            for (term, held) in held {
                let h = term_number(&term);
                *freqs.entry(h).or_default() += held.frequency() as i64;
                if seen.insert(h) {
                    self.counted.entry(h).or_insert((term, 0)).1 += 1;
                }
            }
            let id = self.take_number();
            let to = &mut self.passages;
            to.ids.push(id);
            to.docs.push(doc);
            to.ordinals.push(ordinal as i32);
            to.first_lines.push(chunk.lines.0 as i32);
            to.last_lines.push(chunk.lines.1 as i32);
            to.tokens.push(chunk.tokens as i32);
            to.lengths.push(i32::from(length));
            to.scopes.push(put.scope.clone());
            to.skills.push(is_skill);
            to.dates.push(put.date.clone());
            to.headings.push(headings);
            to.texts.push(chunk.text);
            to.sizes.push(freqs.len() as i32);
            to.terms.extend(freqs.keys());
            // The server stores a frequency in two bytes.
            let most = i64::from(i16::MAX);
            to.freqs
                .extend(freqs.values().map(|n| (*n).min(most) as i16));
            to.vectored.push(vector.is_some());
            to.vectors.extend(vector.iter().flat_map(|it| it.values()));
        }
        let to = &mut self.documents;
        to.ids.push(doc);
        to.paths.push(it.path.to_string());
        to.hashes.push(it.hash);
        to.scopes.push(put.scope);
        to.skills.push(is_skill);
        to.titles.push(put.title);
        to.names.push(put.names);
        to.dates.push(put.date);
        to.importances.push(put.importance as i16);
        to.deprecated.push(deprecated);
        to.superseded_by.push(superseded_by);
        to.replaced_by.push(it.replaced_by);
        to.fields.push(it.fields);
        to.texts.push(it.text);
    }

    /// Sends the collected documents and passages.
    async fn send_batches(&mut self) -> Result<(), PostgresError> {
        let it = std::mem::take(&mut self.documents);
        if !it.ids.is_empty() {
            self.run_query(
                    "select mf.add_documents($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)",
                    &[
                        (&self.tenant, Type::TEXT),
                        (&self.workspace, Type::INT8),
                        (&it.ids, Type::INT4_ARRAY),
                        (&it.paths, Type::TEXT_ARRAY),
                        (&it.hashes, Type::TEXT_ARRAY),
                        (&it.scopes, Type::TEXT_ARRAY),
                        (&it.skills, Type::BOOL_ARRAY),
                        (&it.titles, Type::TEXT_ARRAY),
                        (&it.names, Type::TEXT_ARRAY),
                        (&it.dates, Type::TEXT_ARRAY),
                        (&it.importances, Type::INT2_ARRAY),
                        (&it.deprecated, Type::BOOL_ARRAY),
                        (&it.superseded_by, Type::TEXT_ARRAY),
                        (&it.replaced_by, Type::TEXT_ARRAY),
                        (&it.fields, Type::TEXT_ARRAY),
                        (&it.texts, Type::TEXT_ARRAY),
                    ],
                )
                .await?;
        }
        let it = std::mem::take(&mut self.passages);
        if !it.ids.is_empty() {
            self.run_query(
                    "select mf.add_passages($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)",
                    &[
                        (&self.tenant, Type::TEXT),
                        (&self.workspace, Type::INT8),
                        (&it.ids, Type::INT4_ARRAY),
                        (&it.docs, Type::INT4_ARRAY),
                        (&it.ordinals, Type::INT4_ARRAY),
                        (&it.first_lines, Type::INT4_ARRAY),
                        (&it.last_lines, Type::INT4_ARRAY),
                        (&it.tokens, Type::INT4_ARRAY),
                        (&it.lengths, Type::INT4_ARRAY),
                        (&it.scopes, Type::TEXT_ARRAY),
                        (&it.skills, Type::BOOL_ARRAY),
                        (&it.dates, Type::TEXT_ARRAY),
                        (&it.headings, Type::TEXT_ARRAY),
                        (&it.texts, Type::TEXT_ARRAY),
                        (&it.sizes, Type::INT4_ARRAY),
                        (&it.terms, Type::INT4_ARRAY),
                        (&it.freqs, Type::INT2_ARRAY),
                        (&it.vectored, Type::BOOL_ARRAY),
                        (&it.vectors, Type::FLOAT4_ARRAY),
                    ],
                )
                .await?;
        }
        Ok(())
    }

    /// Sends the collected counts of terms.
    async fn send_terms(&mut self) -> Result<(), PostgresError> {
        let counted = std::mem::take(&mut self.counted);
        let hs: Vec<i32> = counted.keys().copied().collect();
        let ns: Vec<i64> = counted.values().map(|it| it.1).collect();
        let terms: Vec<&str> = counted.values().map(|it| it.0.as_str()).collect();
        self.run_query(
            "select mf.add_terms($1, $2, $3, $4, $5)",
            &[
                (&self.tenant, Type::TEXT),
                (&self.workspace, Type::INT8),
                (&hs, Type::INT4_ARRAY),
                (&ns, Type::INT8_ARRAY),
                (&terms, Type::TEXT_ARRAY),
            ],
        )
        .await?;
        Ok(())
    }

    /// Replaces all edges, if any of them changed. Returns whether it did.
    async fn replace_edges(&mut self, edges: &[PublishedEdge]) -> Result<bool, PostgresError> {
        let mut hasher = blake3::Hasher::new();
        for PublishedEdge { from, kind, to } in edges {
            hasher.update(format!("{from}\n{kind}\n{to}\n\n").as_bytes());
        }
        let hash = hasher.finalize().to_hex()[..32].to_owned();
        if hash == self.edges_hash {
            return Ok(false);
        }
        let of = [
            (&self.tenant as _, Type::TEXT),
            (&self.workspace as _, Type::INT8),
        ];
        self.run_query("select mf.clear_edges($1, $2)", &of).await?;
        for some in edges.chunks(10_000) {
            let from: Vec<&str> = some.iter().map(|it| it.from.as_str()).collect();
            let kind: Vec<&str> = some.iter().map(|it| it.kind).collect();
            let to: Vec<&str> = some.iter().map(|it| it.to.as_str()).collect();
            self.run_query(
                "select mf.add_edges($1, $2, $3, $4, $5)",
                &[
                    (&self.tenant, Type::TEXT),
                    (&self.workspace, Type::INT8),
                    (&from, Type::TEXT_ARRAY),
                    (&kind, Type::TEXT_ARRAY),
                    (&to, Type::TEXT_ARRAY),
                ],
            )
            .await?;
        }
        self.edges_hash = hash;
        Ok(true)
    }
}

/// Returns the error of a push without the right to it.
fn push_denied_error(tenant: &str, push: &IndexPush) -> PostgresError {
    let who = if push.team == TeamMember::EVERYONE_TEAM {
        "Everybody reads the team `all`, and only its own members write it".to_owned()
    } else {
        format!("You are not a member of `{}` who may write", push.team)
    };
    PostgresError::usage(
        format!(
            "You may not push `{}` for the team `{}` of `{tenant}`",
            push.workspace, push.team
        ),
        format!(
            "{who}: ask for `memory-forge engine member add LOGIN --team {}`",
            push.team
        ),
    )
}
