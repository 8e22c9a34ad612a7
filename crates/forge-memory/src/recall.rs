//! Ranks passages for a query, each with evidence for its rank.
//!
//! Reads only from a passage source: never brings the index up to date, and
//! never opens a file.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use crate::embed::Embedder;
use crate::index::terms::fold_text;
use crate::index::{
    CatalogueEntry, DocumentKind, Index, IndexError, PackedVector, PassageCounts, StoredPassage,
    TermMatch,
};
use crate::retractions::{Correction, Corrections};

use crate::quote;

pub mod closets;
mod common;
pub mod context;
mod dates;
mod fuse;
pub mod pack;
mod question;
#[cfg(test)]
mod ranking_tests;
pub mod snippet;
mod source;
mod standing;

use source::IndexSource;

pub use fuse::RankEvidence;
pub use question::ParsedQuestion;
pub use source::{
    CandidateRequest, CandidateSet, MAX_LITERAL_PASSAGES, PassageSource, literal_strings,
};
pub use standing::resolve_replacements;

/// The rankings that a search uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum RecallMode {
    #[default]
    Hybrid,
    Text,
    Vector,
}

impl RecallMode {
    /// Every mode.
    pub const ALL: [RecallMode; 3] = [RecallMode::Hybrid, RecallMode::Text, RecallMode::Vector];

    /// Returns a line that states what is compared.
    pub fn description(self) -> &'static str {
        match self {
            RecallMode::Hybrid => "Words and meaning together",
            RecallMode::Text => "Words only",
            RecallMode::Vector => "Meaning only",
        }
    }

    /// Returns the name of the mode in options and output.
    pub fn name(self) -> &'static str {
        match self {
            RecallMode::Hybrid => "hybrid",
            RecallMode::Text => "text",
            RecallMode::Vector => "vector",
        }
    }
}

/// A query with its filters and limits.
#[derive(Debug, Clone)]
pub struct RecallQuery<'a> {
    pub question: &'a str,
    pub mode: RecallMode,
    pub limit: usize,
    /// Returns at most one passage per file.
    pub unique: bool,
    /// Kinds to search; empty means every kind.
    pub kinds: Vec<DocumentKind>,
    /// Scopes to search; empty means every scope, archived text last.
    pub scopes: Vec<&'a str>,
    pub since: Option<Date>,
    /// The date of the query, to which "two weeks ago" is relative.
    pub today: Option<Date>,
    /// Files that are indexed but never returned.
    pub forgotten: &'a HashSet<String>,
    /// Corrected facts: passages that repeat one rank last and carry the
    /// correction.
    pub corrections: &'a Corrections,
    pub explain: bool,
}

/// The hits for a query, and what limits their completeness.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RecallAnswer {
    pub hits: Vec<RecallHit>,
    /// The mode that was used, which may differ from the requested one.
    pub mode: RecallMode,
    /// Why the mode differs from the requested one.
    pub mode_note: Option<String>,
    /// Number of passages with a vector, and of all passages.
    pub embedded: (usize, usize),
    /// Number of matching passages beyond the limit.
    pub more: usize,
    /// Number of documents that `since` excluded because they have no date.
    pub undated: usize,
    /// Corrections of passages that would be hits if they did not repeat a
    /// corrected fact.
    pub corrections: Vec<Correction>,
}

impl RecallAnswer {
    /// Returns an empty answer, for a workspace without an index.
    pub fn empty() -> RecallAnswer {
        RecallAnswer {
            hits: Vec::new(),
            mode: RecallMode::Text,
            mode_note: None,
            embedded: (0, 0),
            more: 0,
            undated: 0,
            corrections: Vec::new(),
        }
    }
}

/// A passage that matches a query.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RecallHit {
    pub passage: StoredPassage,
    /// From 0 to 1, relative to the best possible for this query.
    pub score: f32,
    /// Share of the query that the passage covers, from 0 to 1.
    pub relevance: f32,
    pub evidence: RankEvidence,
    /// The path of the document that replaced this one.
    pub replaced_by: Option<String>,
    /// Corrections of facts that the passage repeats.
    pub corrections: Vec<Correction>,
    /// Contribution of each term; only filled if requested.
    pub terms: Vec<TermMatch>,
    /// A description of an instruction to agents in the passage, if it seems to
    /// contain one.
    pub order: Option<Cow<'static, str>>,
    /// Ranges of `passage.text` that match the query.
    pub matches: Vec<std::ops::Range<usize>>,
}

/// Maximum number of candidates per ranking.
const CANDIDATES_PER_RANKING: usize = 200;
/// Maximum number of candidates per ranking if each file counts once.
const UNIQUE_CANDIDATES_PER_RANKING: usize = 1000;
/// Number of passages that are read at a time.
const READ_BATCH_PASSAGES: usize = 128;
/// Maximum number of candidates for a phrase, which may rank low among passages
/// with its words.
const PHRASE_CANDIDATES: usize = 5000;
/// Factor for the score of a passage that is no longer valid.
pub(crate) const OUTDATED_SCORE_FACTOR: f32 = 0.5;

/// Ranks passages of one workspace for a query.
pub fn rank_passages(
    index: &Index,
    catalogue: &[CatalogueEntry],
    embedder: Option<&dyn Embedder>,
    ask: &RecallQuery,
) -> Result<RecallAnswer, IndexError> {
    // One transaction: the answer shows one state of the index, and its file is
    // locked once instead of at every statement.
    let _one_state = index.snapshot()?;
    rank_from_source(&IndexSource::new(index, catalogue)?, embedder, ask)
}

/// Ranks passages of any source, which must not change during the call.
pub fn rank_from_source(
    source: &dyn PassageSource,
    embedder: Option<&dyn Embedder>,
    ask: &RecallQuery,
) -> Result<RecallAnswer, IndexError> {
    let counts = source.count_passages()?;
    // One file may fill all candidates and hide the others: then search again
    // with all passages as candidates.
    let wide = ask.unique && counts.chunks > UNIQUE_CANDIDATES_PER_RANKING;
    let answer = rank_with_pool(source, embedder, ask, UNIQUE_CANDIDATES_PER_RANKING, counts)?;
    if wide && answer.hits.len() < ask.limit {
        rank_with_pool(source, embedder, ask, counts.chunks, counts)
    } else {
        Ok(answer)
    }
}

/// Ranks passages for a query, in six stages:
///
/// 1. Parses the query and resolves the mode.
/// 2. Collects candidates by text, vector and literal string.
/// 3. Fuses them into one ranking.
/// 4. Reads the best passages and drops those without the phrases.
/// 5. Boosts dates, lowers outdated documents, and moves passages that repeat
///    corrected facts to the end.
/// 6. Redacts the hits that fit the limit, and explains them.
///
/// `unique_pool` limits the candidates per ranking if each file counts once.
fn rank_with_pool(
    source: &dyn PassageSource,
    embedder: Option<&dyn Embedder>,
    ask: &RecallQuery,
    unique_pool: usize,
    counts: PassageCounts,
) -> Result<RecallAnswer, IndexError> {
    let question = ParsedQuestion::read(ask.question);
    let unrelated = embedder.map_or(0.0, Embedder::unrelated_cosine);
    let mut mode = ask.mode;
    let mut mode_note = None;
    let mut query = None;
    if mode != RecallMode::Text {
        // While vectors of another model are being replaced, some of them
        // remain, and they cannot be compared with a query vector of this
        // model.
        let ours = match embedder {
            Some(it) => source.has_model(it.id(), it.dimensions())?,
            None => false,
        };
        match embedder {
            Some(embedder) if counts.embedded > 0 && ours => {
                query = Some(PackedVector::from_floats(
                    &embedder.embed_query(&question.plain),
                ));
            }
            _ => {
                mode = RecallMode::Text;
                mode_note = (counts.chunks > 0).then(|| match embedder {
                    Some(_) => "no passage has a vector yet".to_owned(),
                    None => "there is no model that can be used".to_owned(),
                });
            }
        }
    }
    let wanted = CandidateRequest {
        question: &question,
        mode,
        query: query.as_ref(),
        text_pool: match (ask.unique, question.phrases.is_empty()) {
            (true, true) => unique_pool,
            (true, false) => unique_pool.max(PHRASE_CANDIDATES),
            (false, true) => CANDIDATES_PER_RANKING,
            (false, false) => PHRASE_CANDIDATES,
        },
        // In a hybrid search only the nearest vectors matter; see `fuse`.
        vector_pool: if ask.unique
            && (mode == RecallMode::Vector || unique_pool > UNIQUE_CANDIDATES_PER_RANKING)
        {
            unique_pool
        } else {
            CANDIDATES_PER_RANKING
        },
    };
    let CandidateSet {
        text: text_hits,
        vector: vector_hits,
        literal,
        undated,
    } = source.find_candidates(ask, &wanted)?;

    // A user who chose another model chose it for their own language.
    let trust = if embedder.is_some_and(|it| it.id() == crate::embed::builtin_embedder().id()) {
        question.english_share()
    } else {
        1.0
    };
    let sides = fuse::RankingSides {
        text: &text_hits.hits,
        vector: &vector_hits,
        literal: &literal,
        nearest: source.nearest_weight(),
    };
    let mut ranked = fuse::fuse_rankings(sides, mode, unrelated, trust);
    if ask.unique {
        fuse::pool_by_file(&mut ranked, mode, &text_hits, |chunk| source.file_of(chunk));
    }
    let more_than_asked = ranked.len();
    if !ask.unique {
        ranked.truncate(if question.phrases.is_empty() {
            CANDIDATES_PER_RANKING * 2
        } else {
            PHRASE_CANDIDATES
        });
    }
    let needed = reorder_head_size(ask, &question);
    let mut hits: Vec<RecallHit> = Vec::new();
    let mut files = HashSet::new();
    let ideal = text_hits.ideal;
    for batch in ranked.chunks(READ_BATCH_PASSAGES) {
        let ids: Vec<u32> = batch.iter().map(|(chunk, _)| *chunk).collect();
        let by_chunk: HashMap<u32, RankEvidence> = batch.iter().copied().collect();
        for passage in source.read_passages(&ids)? {
            if !question.allows_passage(&passage.text) {
                continue;
            }
            files.insert(passage.file);
            let evidence = by_chunk[&passage.chunk];
            let near = fuse::scale_nearness(evidence.cosine, unrelated);
            hits.push(build_hit(passage, evidence, near, ideal, &question));
        }
        let at_hand = if ask.unique { files.len() } else { hits.len() };
        if at_hand >= needed {
            break;
        }
    }

    dates::boost_dated_hits(&mut hits, &question.plain, ask.today);
    standing::apply_standing(source, ask, &mut hits, OUTDATED_SCORE_FACTOR)?;
    sort_hits(&mut hits);
    if !ask.corrections.is_empty() {
        for hit in &mut hits {
            // Headings are shown with the text, and may repeat a fact alone.
            let headings = hit.passage.headings.join("\n\n");
            let said = format!("{headings}\n\n{}", hit.passage.text);
            let found = ask.corrections.check_text(&said);
            hit.corrections = found.into_iter().cloned().collect();
        }
        sort_hits(&mut hits);
    }
    if ask.unique {
        let mut seen = HashSet::new();
        hits.retain(|h| seen.insert(h.passage.file));
    }
    let corrections = corrections_beyond_limit(&hits, ask.limit);
    let found = if question.phrases.is_empty() {
        more_than_asked.max(hits.len())
    } else {
        hits.len()
    };
    hits.truncate(ask.limit);
    for hit in &mut hits {
        redact_hit(hit);
        hit.matches = snippet::find_matches(&hit.passage.text, &question);
        if ask.explain {
            hit.terms = source.explain_passage(&question.query_words(), hit.passage.chunk)?;
        }
    }
    let corrections = extra_corrections(corrections, &hits);
    Ok(RecallAnswer {
        more: found.saturating_sub(hits.len()),
        hits,
        mode,
        mode_note,
        embedded: (counts.embedded, counts.chunks),
        undated,
        corrections,
    })
}

/// Redacts a hit for every kind of output: removes credentials and writes
/// hidden characters as escapes.
pub(crate) fn redact_hit(hit: &mut RecallHit) {
    let passage = &mut hit.passage;
    let order = quote::find_orders(&passage.text)
        .into_iter()
        .find(|it| it.grave);
    hit.order = order.map(|it| Cow::Borrowed(it.about));
    if let Cow::Owned(text) = quote::sanitize_part(&passage.text).text {
        passage.text = text;
    }
    for heading in passage.headings.iter_mut().chain([&mut passage.title]) {
        if let Cow::Owned(text) = quote::sanitize_text(heading) {
            *heading = text;
        }
    }
}

/// The scope of archived text, which ranks last.
const ARCHIVE_SCOPE: &str = "archive";

/// Merges two answers, best first. Their scores are comparable, since each is
/// relative to what its source could find.
pub fn merge_answers(mut a: RecallAnswer, b: RecallAnswer, limit: usize) -> RecallAnswer {
    let found = a.more + b.more + a.hits.len() + b.hits.len();
    a.hits.extend(b.hits);
    sort_hits(&mut a.hits);
    a.corrections.extend(b.corrections);
    a.corrections
        .extend(corrections_beyond_limit(&a.hits, limit));
    a.hits.truncate(limit);
    a.corrections = extra_corrections(a.corrections, &a.hits);
    a.more = found - a.hits.len();
    a
}

/// Appends hits of the second answer to the first, up to the limit.
pub fn append_answer(mut a: RecallAnswer, mut b: RecallAnswer, limit: usize) -> RecallAnswer {
    let found = a.more + b.more + a.hits.len() + b.hits.len();
    b.hits.truncate(limit.saturating_sub(a.hits.len()));
    a.hits.append(&mut b.hits);
    a.corrections.append(&mut b.corrections);
    a.corrections = extra_corrections(a.corrections, &a.hits);
    a.more = found - a.hits.len();
    a
}

/// Returns the corrections of hits beyond the limit whose scores are not.
fn corrections_beyond_limit(hits: &[RecallHit], limit: usize) -> Vec<Correction> {
    let mut scores: Vec<f32> = hits.iter().map(|h| h.score).collect();
    scores.sort_by(|a, b| b.total_cmp(a));
    let Some(least) = limit.checked_sub(1).and_then(|at| scores.get(at)) else {
        return Vec::new();
    };
    let beyond = hits.iter().skip(limit).filter(|h| h.score >= *least);
    beyond.flat_map(|h| h.corrections.clone()).collect()
}

/// Removes duplicates and corrections that a hit already carries.
fn extra_corrections(all: Vec<Correction>, hits: &[RecallHit]) -> Vec<Correction> {
    let mut out: Vec<Correction> = Vec::new();
    for one in all {
        let told = hits.iter().any(|h| h.corrections.contains(&one));
        if !told && !out.contains(&one) {
            out.push(one);
        }
    }
    out
}

/// Returns how many hits must be read before they are reordered and truncated.
fn reorder_head_size(ask: &RecallQuery, question: &ParsedQuestion) -> usize {
    let spare = if question.phrases.is_empty() { 2 } else { 4 };
    (ask.limit * spare).max(50)
}

fn build_hit(
    passage: StoredPassage,
    evidence: RankEvidence,
    near: f32,
    ideal: f32,
    question: &ParsedQuestion,
) -> RecallHit {
    let exact = question.occurs_in(&fold_text(&passage.text));
    let coverage = if ideal > 0.0 {
        (evidence.bm25 / ideal).min(1.0)
    } else {
        0.0
    };
    RecallHit {
        score: evidence.score + if exact { fuse::EXACT_MATCH_BOOST } else { 0.0 },
        relevance: coverage
            .max(near)
            .max(if exact { 1.0 } else { 0.0 })
            .clamp(0.0, 1.0),
        evidence: RankEvidence { exact, ..evidence },
        passage,
        replaced_by: None,
        corrections: Vec::new(),
        terms: Vec::new(),
        order: None,
        matches: Vec::new(),
    }
}

/// Sorts hits: best first, archived text after that, passages that repeat a
/// corrected fact last. Equal scores sort by path, so that an index that was
/// built in another order gives the same answer.
pub(crate) fn sort_hits(hits: &mut [RecallHit]) {
    hits.sort_by(|a, b| {
        let archived = |h: &RecallHit| h.passage.scope == ARCHIVE_SCOPE;
        let wrong = |h: &RecallHit| !h.corrections.is_empty();
        (wrong(a), archived(a))
            .cmp(&(wrong(b), archived(b)))
            .then(b.score.total_cmp(&a.score))
            .then_with(|| a.passage.path.cmp(&b.passage.path))
            .then(a.passage.ordinal.cmp(&b.passage.ordinal))
    });
    let top = hits.iter().map(|h| h.score).fold(0.0, f32::max);
    if top > 1.0 {
        hits.iter_mut().for_each(|h| h.score /= top);
    }
}
