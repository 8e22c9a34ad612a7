//! A workspace's documents into the shared index. One push is one transaction:
//! who reads sees the state before or after it, and a push that was cut off
//! anywhere has not happened.

use std::collections::{BTreeMap, HashMap, HashSet};

use forge::index::{Holding, Kind, Standing};
use forge::publish::{Edge, Item, Published};
use postgres_types::ToSql;
use tokio_postgres::{Client, Statement};

use super::vector::HalfVec;
use super::{Engine, Error, schema};

/// What is pushed, and in whose name.
pub struct Push<'a> {
    pub workspace: &'a str,
    /// What the workspace is known by wherever it lies; empty where nothing is.
    pub identity: &'a str,
    pub team: &'a str,
    pub commit: Option<&'a str>,
    pub items: &'a [Item],
    pub edges: &'a [Edge],
    /// Whether this checkout has the commit that was pushed before.
    pub knows: &'a dyn Fn(&str) -> bool,
    /// Push although somebody else pushed what this checkout does not know.
    pub force: bool,
}

/// What a push did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pushed {
    pub added: usize,
    pub changed: usize,
    pub removed: usize,
    pub unchanged: usize,
    pub chunks: usize,
    pub secrets: usize,
    pub generation: i64,
}

/// Why a document could not be read.
pub type Unread = Box<dyn std::error::Error + Send + Sync>;

/// Passages that are sent together.
const BATCH: usize = 100;

/// Passages that wait for the end of a push to be ranked.
const MOST_RANKED: usize = 200_000;

/// Terms that are counted before they are sent.
const MOST_COUNTED: usize = 100_000;

/// Others who push the same workspace wait here, until the transaction ends.
pub(super) async fn lock(client: &Client, tenant: &str, workspace: &str) -> Result<(), Error> {
    let name = format!("mf:{tenant}/{workspace}");
    let lock = "select pg_advisory_xact_lock(hashtextextended($1, 0))";
    client.query(lock, &[&name]).await?;
    Ok(())
}

/// The number of a term. Two terms that share one are mistaken for each other,
/// which one word in some ten thousand questions is.
pub(super) fn number(term: &str) -> i32 {
    let hash = blake3::hash(term.as_bytes());
    let bytes = hash.as_bytes();
    i32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

/// The number as a word of plain letters, which no parser takes apart.
pub(super) fn word(number: i32) -> String {
    let nibble = |at: i32| char::from(b'a' + ((number >> (4 * at)) & 15) as u8);
    (0..8).map(nibble).collect()
}

impl Engine {
    /// The model of the vectors there.
    pub fn model(&self) -> Result<String, Error> {
        self.within(super::READ, async |client| {
            Ok(schema::check(client).await?.model)
        })
    }

    /// Brings the shared index to the state of the workspace.
    pub fn push(
        &self,
        push: &Push,
        read: &mut dyn FnMut(&Item) -> Result<Option<Published>, Unread>,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Pushed, Error> {
        self.within("", async |client| {
            let known = schema::check(client).await?;
            lock(client, &self.tenant, push.workspace).await?;
            let mut work = Work::begin(client, &self.tenant, push, known.bm25).await?;
            let done = work.run(push, read, progress).await?;
            Ok(done)
        })
    }
}

/// A push in progress.
struct Work<'a> {
    client: &'a Client,
    tenant: &'a str,
    team: &'a str,
    bm25: bool,
    workspace: i64,
    generation: i64,
    commit: Option<String>,
    edges_hash: String,
    holding: Holding,
    /// Passages that hold a term and are not counted there yet. A row for each
    /// term and document would leave as many dead ones behind.
    counted: BTreeMap<i32, (String, i64)>,
    /// Documents, passages, passages with a vector and terms that came and went.
    change: [i64; 4],
    /// Passages for the index that ranks, with their scopes and words.
    ranked: Vec<(i64, String, String)>,
    /// The statement for a whole batch.
    insert: Option<Statement>,
}

/// A passage ready to be sent.
struct Row {
    id: i64,
    doc: i64,
    ordinal: i32,
    first_line: i32,
    last_line: i32,
    tokens: i32,
    length: i32,
    scope: String,
    skill: bool,
    date: Option<String>,
    headings: String,
    text: String,
    terms: Vec<i32>,
    freqs: Vec<i16>,
    vec: Option<HalfVec>,
}

const COLUMNS: &str = "tenant, team, workspace, id, doc, ordinal, first_line, last_line, tokens, \
     length, scope, skill, date, headings, text, terms, freqs, vec";
const WIDTH: usize = 18;

impl<'a> Work<'a> {
    async fn begin(
        client: &'a Client,
        tenant: &'a str,
        push: &Push<'a>,
        bm25: bool,
    ) -> Result<Work<'a>, Error> {
        let taken = || {
            Error::usage(
                format!(
                    "You may not push `{}` for the team `{}` of `{tenant}`",
                    push.workspace, push.team
                ),
                "Another team may have a workspace of this name (set `engine.workspace`), or you are no member of the team: ask for `memory-forge engine init --member login:team`",
            )
        };
        client
            .execute(
                "insert into mf.workspace (tenant, team, name, identity) values ($1, $2, $3, $4)
                 on conflict do nothing",
                &[&tenant, &push.team, &push.workspace, &push.identity],
            )
            .await
            .map_err(|error| match error.code() {
                Some(&tokio_postgres::error::SqlState::INSUFFICIENT_PRIVILEGE) => taken(),
                _ => error.into(),
            })?;
        let row = client
            .query_opt(
                "select id, generation, commit_id, edges_hash, team, identity from mf.workspace
                 where name = $1",
                &[&push.workspace],
            )
            .await?
            .ok_or_else(taken)?;
        let (team, identity): (String, String) = (row.get(4), row.get(5));
        let mut work = Work {
            client,
            tenant,
            team: push.team,
            bm25,
            workspace: row.get(0),
            generation: row.get(1),
            commit: row.get(2),
            edges_hash: row.get(3),
            holding: Holding::default(),
            counted: BTreeMap::new(),
            change: [0; 4],
            ranked: Vec::new(),
            insert: None,
        };
        if !identity.is_empty()
            && !push.identity.is_empty()
            && identity != push.identity
            && !push.force
        {
            return Err(Error::usage(
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
            return Err(Error::failure(
                format!(
                    "The shared index has commit {}, which this checkout does not know",
                    &there[..there.len().min(12)]
                ),
                "`git pull` first, or `--force` to put this state in its place",
            ));
        }
        if team != push.team {
            work.hand_over().await?;
        }
        Ok(work)
    }

    /// Another team's from now on: its rows go, and come again under the new
    /// one's name.
    async fn hand_over(&mut self) -> Result<(), Error> {
        for table in schema::TABLES {
            let delete = format!("delete from mf.{table} where workspace = $1");
            self.client.execute(&delete, &[&self.workspace]).await?;
        }
        self.client
            .execute(
                "update mf.workspace set team = $2, documents = 0, chunks = 0, embedded = 0,
                 terms = 0, edges_hash = '' where id = $1",
                &[&self.workspace, &self.team],
            )
            .await?;
        self.edges_hash.clear();
        Ok(())
    }

    async fn run(
        &mut self,
        push: &Push<'_>,
        read: &mut dyn FnMut(&Item) -> Result<Option<Published>, Unread>,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Pushed, Error> {
        let rows = self
            .client
            .query(
                "select path, hash, id from mf.document where workspace = $1",
                &[&self.workspace],
            )
            .await?;
        let mut there: HashMap<String, (String, i64)> = rows
            .iter()
            .map(|row| (row.get(0), (row.get(1), row.get(2))))
            .collect();
        let mut done = Pushed::default();
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
        self.remove(&old).await?;
        let mut rows: Vec<Row> = Vec::new();
        for (at, (item, known)) in wanted.iter().enumerate() {
            progress(at, wanted.len());
            let published = read(item).map_err(|error| {
                Error::failure(
                    format!("Cannot read `{}`: {error}", item.path),
                    "Nothing was pushed; make it readable and push again",
                )
            })?;
            let Some(published) = published else {
                done.removed += usize::from(*known);
                continue;
            };
            match known {
                true => done.changed += 1,
                false => done.added += 1,
            }
            done.chunks += published.put.chunks.len();
            done.secrets += published.secrets;
            self.document(published, &mut rows).await?;
            while rows.len() >= BATCH {
                let rest = rows.split_off(BATCH);
                self.chunks(std::mem::replace(&mut rows, rest)).await?;
            }
        }
        self.chunks(rows).await?;
        self.terms().await?;
        let edges_changed = self.edges(push.edges).await?;
        self.rank().await?;
        let commit_changed = push.commit.is_some() && push.commit != self.commit.as_deref();
        let changed = done.added + done.changed + done.removed > 0;
        if changed || edges_changed || commit_changed || self.generation == 0 {
            self.generation += 1;
            let [documents, chunks, embedded, terms] = self.change;
            self.client
                .execute(
                    "update mf.workspace set generation = $2, commit_id = coalesce($3, commit_id),
                     documents = documents + $4, chunks = chunks + $5, embedded = embedded + $6,
                     terms = terms + $7, identity = $8, pushed_at = now(), pushed_by = session_user
                     where id = $1",
                    &[
                        &self.workspace,
                        &self.generation,
                        &push.commit,
                        &documents,
                        &chunks,
                        &embedded,
                        &terms,
                        &push.identity,
                    ],
                )
                .await?;
        }
        done.generation = self.generation;
        Ok(done)
    }

    /// Takes documents out, and what they added to the counts of terms.
    async fn remove(&mut self, documents: &[i64]) -> Result<(), Error> {
        if documents.is_empty() {
            return Ok(());
        }
        let row = self
            .client
            .query_one(
                "with gone as (
                     delete from mf.chunk where workspace = $1 and doc = any ($2)
                     returning id, terms, length, vec is not null as embedded
                 ), unranked as (
                     delete from mf.ranked r using gone where r.workspace = $1 and r.id = gone.id
                 ), less as (
                     update mf.term as t set n = t.n - x.n
                     from (select h, count(*) as n from gone, unnest(gone.terms) as h group by h) as x
                     where t.workspace = $1 and t.h = x.h
                 ), documents as (
                     delete from mf.document where workspace = $1 and id = any ($2) returning 1
                 )
                 select (select count(*) from documents), count(*), count(*) filter (where embedded),
                     coalesce(sum(length), 0)::bigint from gone",
                &[&self.workspace, &documents],
            )
            .await?;
        for (at, change) in self.change.iter_mut().enumerate() {
            *change -= row.get::<_, i64>(at);
        }
        let unused = "delete from mf.term where workspace = $1 and n <= 0";
        self.client.execute(unused, &[&self.workspace]).await?;
        Ok(())
    }

    async fn document(&mut self, it: Published, rows: &mut Vec<Row>) -> Result<(), Error> {
        let count = it.put.chunks.len() as i64;
        let ids = "select nextval('mf.ids') from generate_series(0, $1::bigint)";
        let ids = self.client.query(ids, &[&count]).await?;
        let mut ids = ids.iter().map(|row| row.get::<_, i64>(0));
        let doc = ids.next().expect("one more than there are passages");
        let put = it.put;
        let skill = put.kind == Kind::Skill;
        let (deprecated, superseded_by) = match &put.standing {
            Standing::Current => (false, None),
            Standing::Deprecated => (true, None),
            Standing::SupersededBy(by) => (true, Some(by.as_str())),
        };
        self.client
            .execute(
                "insert into mf.document (tenant, team, workspace, id, path, hash, scope, skill, title,
                 names, date, importance, deprecated, superseded_by, replaced_by, fields, text)
                 values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15,
                 ($16::text)::jsonb, $17)",
                &[
                    &self.tenant,
                    &self.team,
                    &self.workspace,
                    &doc,
                    &it.path.as_str(),
                    &it.hash,
                    &put.scope,
                    &skill,
                    &put.title,
                    &put.names,
                    &put.date,
                    &(put.importance as i16),
                    &deprecated,
                    &superseded_by,
                    &it.replaced_by,
                    &it.fields,
                    &it.text,
                ],
            )
            .await?;
        self.change[0] += 1;
        let names = format!("{} {}", put.title, put.names);
        let chunks = put.chunks.into_iter().zip(it.vectors).zip(ids);
        for (ordinal, ((chunk, vector), id)) in chunks.enumerate() {
            let headings = chunk.headings.join("\n");
            let (held, length) = self.holding.of(&names, &headings, &chunk.text);
            // Two terms of one number are one.
            let mut freqs: BTreeMap<i32, i64> = BTreeMap::new();
            let mut seen = HashSet::new();
            for (term, held) in held {
                let h = number(&term);
                *freqs.entry(h).or_default() += held.frequency() as i64;
                if seen.insert(h) {
                    self.counted.entry(h).or_insert((term, 0)).1 += 1;
                }
            }
            if self.bm25 {
                let repeat = |(h, n): (&i32, &i64)| vec![word(*h); *n as usize].join(" ");
                let words = freqs.iter().map(repeat).collect::<Vec<_>>().join(" ");
                self.ranked.push((id, put.scope.clone(), words));
            }
            self.change[1] += 1;
            self.change[2] += i64::from(vector.is_some());
            self.change[3] += i64::from(length);
            rows.push(Row {
                id,
                doc,
                ordinal: ordinal as i32,
                first_line: chunk.lines.0 as i32,
                last_line: chunk.lines.1 as i32,
                tokens: chunk.tokens as i32,
                length: i32::from(length),
                scope: put.scope.clone(),
                skill,
                date: put.date.clone(),
                headings,
                text: chunk.text,
                terms: freqs.keys().copied().collect(),
                freqs: freqs
                    .values()
                    .map(|n| (*n).min(i16::MAX as i64) as i16)
                    .collect(),
                vec: vector.as_ref().map(HalfVec::of),
            });
        }
        if self.ranked.len() > MOST_RANKED {
            self.rank().await?;
        }
        match self.counted.len() > MOST_COUNTED {
            true => self.terms().await,
            false => Ok(()),
        }
    }

    /// Hands passages to the index that ranks. Others wait from here on, those
    /// who ask too, until the push has ended: so it comes last.
    async fn rank(&mut self) -> Result<(), Error> {
        for some in std::mem::take(&mut self.ranked).chunks(10_000) {
            let ids: Vec<i64> = some.iter().map(|it| it.0).collect();
            let scopes: Vec<&str> = some.iter().map(|it| it.1.as_str()).collect();
            let words: Vec<&str> = some.iter().map(|it| it.2.as_str()).collect();
            self.client
                .execute(
                    "insert into mf.ranked (tenant, team, workspace, id, scope, words)
                     select $1, $2, $3, q.* from unnest($4::bigint[], $5::text[], $6::text[]) as q",
                    &[
                        &self.tenant,
                        &self.team,
                        &self.workspace,
                        &ids,
                        &scopes,
                        &words,
                    ],
                )
                .await?;
        }
        Ok(())
    }

    /// Adds what was counted to the counts there.
    async fn terms(&mut self) -> Result<(), Error> {
        let counted = std::mem::take(&mut self.counted);
        let hs: Vec<i32> = counted.keys().copied().collect();
        let ns: Vec<i64> = counted.values().map(|it| it.1).collect();
        let terms: Vec<&str> = counted.values().map(|it| it.0.as_str()).collect();
        self.client
            .execute(
                "insert into mf.term as t (tenant, team, workspace, h, n, term)
                 select $1, $2, $3, q.h, q.n, q.term
                 from unnest($4::integer[], $5::bigint[], $6::text[]) as q(h, n, term)
                 on conflict (tenant, workspace, h) do update set n = t.n + excluded.n",
                &[&self.tenant, &self.team, &self.workspace, &hs, &ns, &terms],
            )
            .await?;
        Ok(())
    }

    async fn chunks(&mut self, rows: Vec<Row>) -> Result<(), Error> {
        if rows.is_empty() {
            return Ok(());
        }
        let statement = match &self.insert {
            Some(statement) if rows.len() == BATCH => statement.clone(),
            _ => {
                let statement = self.client.prepare(&insert(rows.len())).await?;
                if rows.len() == BATCH {
                    self.insert = Some(statement.clone());
                }
                statement
            }
        };
        let mut values: Vec<&(dyn ToSql + Sync)> = Vec::with_capacity(rows.len() * WIDTH);
        for row in &rows {
            let all: [&(dyn ToSql + Sync); WIDTH] = [
                &self.tenant,
                &self.team,
                &self.workspace,
                &row.id,
                &row.doc,
                &row.ordinal,
                &row.first_line,
                &row.last_line,
                &row.tokens,
                &row.length,
                &row.scope,
                &row.skill,
                &row.date,
                &row.headings,
                &row.text,
                &row.terms,
                &row.freqs,
                &row.vec,
            ];
            values.extend(all);
        }
        self.client.execute(&statement, &values).await?;
        Ok(())
    }

    /// Puts the edges in place as a whole, if they are others than before.
    async fn edges(&mut self, edges: &[Edge]) -> Result<bool, Error> {
        let mut hasher = blake3::Hasher::new();
        for Edge { from, kind, to } in edges {
            hasher.update(format!("{from}\n{kind}\n{to}\n\n").as_bytes());
        }
        let hash = hasher.finalize().to_hex()[..32].to_owned();
        if hash == self.edges_hash {
            return Ok(false);
        }
        let delete = "delete from mf.edge where workspace = $1";
        self.client.execute(delete, &[&self.workspace]).await?;
        for some in edges.chunks(10_000) {
            let from: Vec<&str> = some.iter().map(|it| it.from.as_str()).collect();
            let kind: Vec<&str> = some.iter().map(|it| it.kind).collect();
            let to: Vec<&str> = some.iter().map(|it| it.to.as_str()).collect();
            self.client
                .execute(
                    "insert into mf.edge (tenant, team, workspace, source, kind, target)
                     select $1, $2, $3, q.* from unnest($4::text[], $5::text[], $6::text[]) as q
                     on conflict do nothing",
                    &[&self.tenant, &self.team, &self.workspace, &from, &kind, &to],
                )
                .await?;
        }
        let note = "update mf.workspace set edges_hash = $2 where id = $1";
        self.client.execute(note, &[&self.workspace, &hash]).await?;
        self.edges_hash = hash;
        Ok(true)
    }
}

fn insert(rows: usize) -> String {
    let row = |at: usize| {
        let numbers: Vec<String> = (1..=WIDTH)
            .map(|n| format!("${}", at * WIDTH + n))
            .collect();
        format!("({})", numbers.join(", "))
    };
    let rows: Vec<String> = (0..rows).map(row).collect();
    format!(
        "insert into mf.chunk ({COLUMNS}) values {}",
        rows.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_words_of_letters() {
        assert_eq!(word(0), "aaaaaaaa");
        assert_eq!(word(-1), "pppppppp");
        let words: HashSet<String> = (0..10_000).map(|n| word(number(&n.to_string()))).collect();
        assert_eq!(words.len(), 10_000);
    }
}
