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
pub mod confidence;
pub mod context;
mod dates;
mod families;
mod fuse;
pub mod pack;
mod question;
#[cfg(test)]
mod ranking_tests;
pub mod snippet;
mod source;
mod standing;

use confidence::{AnswerContext, QuestionScale};
use source::IndexSource;

pub use confidence::{ConfidenceLabel, HitSignals, find_certain_hit, withhold_noise};
pub use fuse::RankEvidence;
pub use question::ParsedQuestion;
pub use source::{
    CandidateRequest, CandidateSet, MAX_LITERAL_PASSAGES, PassageSource, literal_strings,
};
pub use standing::resolve_replacements;

/// The rankings that a search uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum RecallMode {
    /// Full text and vectors together.
    #[default]
    Hybrid,
    /// Full text alone.
    Text,
    /// Vectors alone.
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
    /// The question in a person's words.
    pub question: &'a str,
    /// The rankings to use.
    pub mode: RecallMode,
    /// Maximum number of hits.
    pub limit: usize,
    /// Returns at most one passage per file.
    pub unique: bool,
    /// Kinds to search; empty means every kind.
    pub kinds: Vec<DocumentKind>,
    /// Scopes to search; empty means every scope, archived text last.
    pub scopes: Vec<&'a str>,
    /// The first day of the documents to search.
    pub since: Option<Date>,
    /// The date of the query, to which "two weeks ago" is relative.
    pub today: Option<Date>,
    /// Files that are indexed but never returned.
    pub forgotten: &'a HashSet<String>,
    /// Corrected facts: passages that repeat one rank last and carry the
    /// correction.
    pub corrections: &'a Corrections,
    /// Whether to explain each score term by term.
    pub explain: bool,
}

/// The hits for a query, and what limits their completeness.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RecallAnswer {
    /// The hits, best first.
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
    /// Tokens of the question that look like code and are in no document.
    #[serde(default)]
    pub missing: Vec<String>,
    /// Whether no hit is relevant, including hits beyond the limit.
    pub is_noise: bool,
    /// Hits that were withheld because none of them is relevant, and the
    /// nearest of them.
    #[serde(default)]
    pub withheld: usize,
    /// The nearest of the hits that were withheld.
    #[serde(default)]
    pub nearest: Vec<RecallHit>,
}

impl RecallAnswer {
    /// Returns `true` if so many passages have no vector yet that the answer may
    /// suffer from it. A few are nothing that the next search does not add.
    pub fn lacks_vectors(&self) -> bool {
        let (embedded, all) = self.embedded;
        self.mode != RecallMode::Text && all.saturating_sub(embedded) > FEW_PASSAGES
    }

    /// An empty answer, for a workspace without an index.
    pub fn empty() -> RecallAnswer {
        RecallAnswer {
            hits: Vec::new(),
            mode: RecallMode::Text,
            mode_note: None,
            embedded: (0, 0),
            more: 0,
            undated: 0,
            corrections: Vec::new(),
            missing: Vec::new(),
            is_noise: false,
            withheld: 0,
            nearest: Vec::new(),
        }
    }
}

/// A passage that matches a query.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RecallHit {
    /// The passage.
    pub passage: StoredPassage,
    /// From 0 to 1, relative to the best possible for this query.
    pub score: f32,
    /// Share of the query that the passage covers, from 0 to 1.
    pub relevance: f32,
    /// How likely it answers the question, 0 to 1; comparable across questions.
    #[serde(default)]
    pub confidence: f32,
    /// What the confidence was made from.
    #[serde(default)]
    pub signals: HitSignals,
    /// Whether it contains the whole query, as a phrase or term by term.
    #[serde(default)]
    pub is_literal: bool,
    /// Why it has its rank.
    pub evidence: RankEvidence,
    /// The path of the document that replaced this one.
    pub replaced_by: Option<String>,
    /// The language of the page by its path, where the page is there in several.
    #[serde(default)]
    pub language: Option<String>,
    /// The paths of the same page in other languages.
    #[serde(default)]
    pub translations: Vec<String>,
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

impl RecallHit {
    /// Returns how far it is to be trusted.
    pub fn label(&self) -> ConfidenceLabel {
        ConfidenceLabel::of(self.confidence)
    }
}

/// Number of hits that decide whether an answer is noise, independent of the
/// limit.
const MIN_JUDGED_HITS: usize = 5;
/// Number of passages that each ranking contributes to the fusion.
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

/// So many passages are embedded within the time that a search has for it, so
/// that there is no need to choose.
pub const FEW_PASSAGES: usize = 16;

/// Number of text matches that are embedded first.
const NEEDED_FIRST: usize = 200;

/// Numbers the passages that the words of a question find, the best first. Their
/// vectors are what the question needs most, where not all passages have one.
pub fn found_by_words(
    index: &Index,
    catalogue: &[CatalogueEntry],
    ask: &RecallQuery,
) -> Result<Vec<u32>, IndexError> {
    let _one_state = index.snapshot()?;
    let question = ParsedQuestion::read(ask.question);
    let wanted = CandidateRequest {
        question: &question,
        mode: RecallMode::Text,
        query: None,
        text_pool: NEEDED_FIRST,
        vector_pool: 0,
    };
    let found = IndexSource::new(index, catalogue)?.find_candidates(ask, &wanted)?;
    let ranked = found.text.hits.into_iter().map(|(chunk, _)| chunk);
    Ok(ranked.take(NEEDED_FIRST).collect())
}

/// Ranks passages of any source. The source must not change during the ranking.
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
    let ranked_count = ranked.len();
    if !ask.unique {
        ranked.truncate(if question.phrases.is_empty() {
            CANDIDATES_PER_RANKING * 2
        } else {
            PHRASE_CANDIDATES
        });
    }
    let scale = QuestionScale::new(
        &question,
        &AnswerContext {
            passages: counts.chunks,
            holding: &text_hits.holding,
            ideal: text_hits.ideal,
            vector: &vector_hits,
            mode,
            trust,
            unrelated,
            is_embedded: counts.embedded == counts.chunks,
        },
    );
    let needed = reorder_head_size(ask, &question);
    let families = source.page_families(ask);
    let mut hits: Vec<RecallHit> = Vec::new();
    let mut files = HashSet::new();
    let mut pages = HashSet::new();
    let ideal = text_hits.ideal;
    for batch in ranked.chunks(READ_BATCH_PASSAGES) {
        let ids: Vec<u32> = batch.iter().map(|(chunk, _)| *chunk).collect();
        let by_chunk: HashMap<u32, RankEvidence> = batch.iter().copied().collect();
        for passage in source.read_passages(&ids)? {
            if !question.allows_passage(&passage.text) {
                continue;
            }
            files.insert(passage.file);
            pages.extend(families.find(&passage.path).map(|(family, _)| family));
            let evidence = by_chunk[&passage.chunk];
            let near = fuse::scale_nearness(evidence.cosine, unrelated);
            hits.push(build_hit(passage, evidence, near, ideal, &question));
        }
        let at_hand = if ask.unique { files.len() } else { hits.len() };
        // Of a page in twelve languages one is shown: others must be read too.
        let is_enough = pages.is_empty() || pages.len() >= ask.limit.max(MIN_JUDGED_HITS);
        if at_hand >= needed && is_enough {
            break;
        }
    }

    dates::boost_dated_hits(&mut hits, &question.plain, ask.today);
    standing::apply_standing(source, ask, &mut hits, OUTDATED_SCORE_FACTOR)?;
    sort_hits(&mut hits);
    let other_languages = families::collapse_families(&mut hits, &families, &question.plain);
    if !ask.corrections.is_empty() {
        for hit in &mut hits {
            // Headings are shown with the text, and may repeat a fact alone.
            let headings = hit.passage.headings.join("\n\n");
            let with_headings = format!("{headings}\n\n{}", hit.passage.text);
            let found = ask.corrections.check_text(&with_headings);
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
        let found = ranked_count.saturating_sub(other_languages);
        found.max(hits.len())
    } else {
        hits.len()
    };
    let best = best_documents(&hits);
    // A fixed number is judged, so that a smaller limit never turns an answer
    // into noise.
    hits.truncate(ask.limit.max(MIN_JUDGED_HITS));
    for hit in &mut hits {
        redact_hit(hit);
        let marks = snippet::marks(&hit.passage.text, &question);
        judge(hit, &scale, &question, &marks, &best);
        hit.matches = snippet::matches_of(&hit.passage.text, &question, &marks);
        if ask.explain {
            hit.terms = source.explain_passage(&question.query_words(), hit.passage.chunk)?;
        }
    }
    let mut missing = missing(source, ask, &question, &text_hits.holding)?;
    missing.retain(|token| {
        !hits
            .iter()
            .any(|hit| is_file_name(token, &hit.passage.path))
    });
    let mut answer = RecallAnswer {
        more: found.saturating_sub(hits.len().min(ask.limit)),
        hits,
        mode,
        mode_note,
        embedded: (counts.embedded, counts.chunks),
        undated,
        corrections: Vec::new(),
        missing,
        is_noise: false,
        withheld: 0,
        nearest: Vec::new(),
    };
    confidence::cap(&mut answer);
    answer.is_noise = confidence::is_noise(&answer);
    answer.hits.truncate(ask.limit);
    answer.corrections = extra_corrections(corrections, &answer.hits);
    Ok(answer)
}

/// The best scores of two different documents, with their files.
fn best_documents(hits: &[RecallHit]) -> [Option<(u32, f32)>; 2] {
    let mut best: [Option<(u32, f32)>; 2] = [None, None];
    for hit in hits {
        let this = (hit.passage.file, hit.score);
        match best {
            [Some(first), _] if first.0 == this.0 => {
                best[0] = Some((first.0, first.1.max(this.1)));
            }
            [Some(first), _] if this.1 > first.1 => best = [Some(this), Some(first)],
            [Some(_), Some(second)] if this.1 <= second.1 => {}
            [Some(_), _] => best[1] = Some(this),
            [None, _] => best[0] = Some(this),
        }
    }
    best
}

/// Sets how likely a hit answers the question.
fn judge(
    hit: &mut RecallHit,
    scale: &QuestionScale,
    question: &ParsedQuestion,
    marks: &[(std::ops::Range<usize>, usize)],
    best: &[Option<(u32, f32)>; 2],
) {
    let others = best.iter().flatten().filter(|it| it.0 != hit.passage.file);
    let other = others.map(|it| it.1).fold(0.0, f32::max);
    hit.signals = scale.signals(hit, marks, other);
    hit.confidence = scale.confidence(&hit.signals, &hit.evidence);
    let evidence = &hit.evidence;
    let quoted = !question.phrases.is_empty() || question.terms.is_empty();
    let exact = evidence.literal || evidence.exact || quoted;
    // A lone identifier is a question for the places that hold it.
    let lone = question.is_identifier() && hit.signals.coverage >= 0.999;
    hit.is_literal =
        exact || evidence.dated || hit.signals.coverage >= 0.999 || scale.has_identifier(marks);
    if evidence.literal || quoted || lone {
        hit.confidence = confidence::raise(hit.confidence, hit.score >= other);
    }
}

/// Tokens of the question that look like code and that no document has.
fn missing(
    source: &dyn PassageSource,
    ask: &RecallQuery,
    question: &ParsedQuestion,
    holding: &[(String, usize)],
) -> Result<Vec<String>, IndexError> {
    let mut missing: Vec<String> = Vec::new();
    for token in question.tokens.iter().filter(|it| it.is_code()) {
        let Some(term) = token.terms.first().map(|at| &question.terms[*at]) else {
            continue;
        };
        let held = holding.iter().find(|it| it.0 == *term);
        // Terms of words that were not counted are not known to be missing.
        if held.is_none_or(|it| it.1 > 0) || missing.contains(&token.text) {
            continue;
        }
        // The index has no terms for parts of words, so the text itself is searched.
        if source.holds(ask, &token.text)? == Some(false) {
            missing.push(token.text.clone());
        }
        if missing.len() == MAX_MISSING {
            break;
        }
    }
    Ok(missing)
}

/// Whether a token names this file: no text has to contain the name of a file
/// for the file to be what was meant.
fn is_file_name(token: &str, path: &str) -> bool {
    let at = path.len().checked_sub(token.len());
    at.is_some_and(|at| {
        let (folder, name) = path.as_bytes().split_at(at);
        name.eq_ignore_ascii_case(token.as_bytes()) && (folder.is_empty() || folder.ends_with(b"/"))
    })
}

/// A question of ten thousand unknown words is not answered with all of them.
const MAX_MISSING: usize = 3;

/// Makes a hit what may be shown: credentials are taken out of it and hidden
/// characters written out, here and for every kind of output.
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
    // What one of both has is not missing.
    a.missing.retain(|token| b.missing.contains(token));
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
        let is_shown = hits.iter().any(|h| h.corrections.contains(&one));
        if !is_shown && !out.contains(&one) {
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
        confidence: 0.0,
        signals: HitSignals::default(),
        is_literal: false,
        replaced_by: None,
        language: None,
        translations: Vec::new(),
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
