//! A question to ranked passages, each with the reasons for its place.
//!
//! It asks a source and nothing else: bringing the index up to date is
//! `knowledge::refresh`, and no file is ever opened here.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use crate::embed::Embedder;
use crate::index::terms::fold;
use crate::index::{Entry, Error, Index, Kind, Packed, Passage, Passages, TermMatch};
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

use source::Embedded;

pub use fuse::Evidence;
pub use question::Question;
pub use source::{Candidates, MOST_LITERAL, Source, Wanted, literals};
pub use standing::replacements;

/// How to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Mode {
    #[default]
    Hybrid,
    Text,
    Vector,
}

impl Mode {
    pub const ALL: [Mode; 3] = [Mode::Hybrid, Mode::Text, Mode::Vector];

    /// Returns a line that says what is compared.
    pub fn about(self) -> &'static str {
        match self {
            Mode::Hybrid => "Words and meaning together",
            Mode::Text => "Words only",
            Mode::Vector => "Meaning only",
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Mode::Hybrid => "hybrid",
            Mode::Text => "text",
            Mode::Vector => "vector",
        }
    }
}

/// A question and its limits.
#[derive(Debug, Clone)]
pub struct Ask<'a> {
    pub question: &'a str,
    pub mode: Mode,
    pub limit: usize,
    /// At most one passage per file.
    pub unique: bool,
    /// Empty means every kind.
    pub kinds: Vec<Kind>,
    /// Scopes to look in; empty means every scope, archived text last.
    pub scopes: Vec<&'a str>,
    pub since: Option<Date>,
    /// The day on which it is asked, from which "two weeks ago" counts.
    pub today: Option<Date>,
    /// Files that are not to be found, though they are indexed.
    pub forgotten: &'a HashSet<String>,
    /// Facts that are wrong: passages that say them stand behind all others,
    /// and tell the correction.
    pub corrections: &'a Corrections,
    pub explain: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Answer {
    pub hits: Vec<Hit>,
    /// The mode that gave the answer, which is not always the one asked for.
    pub mode: Mode,
    /// Why the mode differs from the one asked for.
    pub mode_note: Option<String>,
    /// Passages with a vector, and passages.
    pub embedded: (usize, usize),
    /// Passages that matched beyond the limit.
    pub more: usize,
    /// Documents left out by `since` because they bear no date.
    pub undated: usize,
    /// Corrections of passages that would be among the hits if they did not
    /// repeat what is wrong.
    pub corrections: Vec<Correction>,
}

impl Answer {
    /// Returns `true` if so many passages have no vector yet that the answer may
    /// suffer from it. A few are nothing that the next search does not add.
    pub fn lacks_vectors(&self) -> bool {
        let (embedded, all) = self.embedded;
        self.mode != Mode::Text && all.saturating_sub(embedded) > FEW_PASSAGES
    }

    /// Of whoever has nothing to be asked.
    pub fn nothing() -> Answer {
        Answer {
            hits: Vec::new(),
            mode: Mode::Text,
            mode_note: None,
            embedded: (0, 0),
            more: 0,
            undated: 0,
            corrections: Vec::new(),
        }
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Hit {
    pub passage: Passage,
    /// 0 to 1, relative to the best that this question could find.
    pub score: f32,
    /// How much of the question the passage covers, 0 to 1.
    pub relevance: f32,
    pub evidence: Evidence,
    /// The path of the document that replaced this one.
    pub replaced_by: Option<String>,
    /// What the passage says that was corrected.
    pub corrections: Vec<Correction>,
    /// Filled when asked to explain.
    pub terms: Vec<TermMatch>,
    /// How the passage orders the agent about, where it seems to.
    pub order: Option<Cow<'static, str>>,
    /// Ranges of `passage.text` that match the question.
    pub matches: Vec<std::ops::Range<usize>>,
}

/// How many passages each side brings to the fusion.
const POOL: usize = 200;
/// The same where each file counts once.
const UNIQUE_POOL: usize = 1000;
/// How many passages are read at a time.
const BATCH: usize = 128;
/// A phrase may stand deep in the list of its words.
const PHRASE_POOL: usize = 5000;
/// A passage that is no longer valid keeps this share of its score.
pub(crate) const OUTDATED: f32 = 0.5;

/// Ranks passages of one workspace for a question.
pub fn ask(
    index: &Index,
    catalogue: &[Entry],
    embedder: Option<&dyn Embedder>,
    ask: &Ask,
) -> Result<Answer, Error> {
    let _one_state = index.snapshot()?;
    ask_of(&Embedded::new(index, catalogue)?, embedder, ask)
}

/// So many passages are embedded within the time that a search has for it, so
/// that there is no need to choose.
pub const FEW_PASSAGES: usize = 16;

/// How many passages the words of a question bring to be embedded first.
const NEEDED_FIRST: usize = 200;

/// Numbers the passages that the words of a question find, the best first. Their
/// vectors are what the question needs most, where not all passages have one.
pub fn found_by_words(index: &Index, catalogue: &[Entry], ask: &Ask) -> Result<Vec<u32>, Error> {
    let _one_state = index.snapshot()?;
    let question = Question::read(ask.question);
    let wanted = Wanted {
        question: &question,
        mode: Mode::Text,
        query: None,
        text_pool: NEEDED_FIRST,
        vector_pool: 0,
    };
    let found = Embedded::new(index, catalogue)?.candidates(ask, &wanted)?;
    let ranked = found.text.hits.into_iter().map(|(chunk, _)| chunk);
    Ok(ranked.take(NEEDED_FIRST).collect())
}

/// Ranks passages of any source. The source shows one state meanwhile.
pub fn ask_of(
    source: &dyn Source,
    embedder: Option<&dyn Embedder>,
    ask: &Ask,
) -> Result<Answer, Error> {
    let counts = source.counts()?;
    // One file may hold more passages than the pool, and hide all others: then
    // the question is asked again of all there are.
    let wide = ask.unique && counts.chunks > UNIQUE_POOL;
    let answer = ask_in(source, embedder, ask, UNIQUE_POOL, counts)?;
    if wide && answer.hits.len() < ask.limit {
        ask_in(source, embedder, ask, counts.chunks, counts)
    } else {
        Ok(answer)
    }
}

/// Ranks passages; `unique_pool` is how many each side brings where a file
/// counts once.
fn ask_in(
    source: &dyn Source,
    embedder: Option<&dyn Embedder>,
    ask: &Ask,
    unique_pool: usize,
    counts: Passages,
) -> Result<Answer, Error> {
    let question = Question::read(ask.question);
    let unrelated = embedder.map_or(0.0, Embedder::unrelated);
    let mut mode = ask.mode;
    let mut mode_note = None;
    let mut query = None;
    if mode != Mode::Text {
        // While another model's vectors are being replaced, some of them are
        // still there, and those say nothing about this model's question.
        let ours = match embedder {
            Some(it) => source.has_model(it.id(), it.dimensions())?,
            None => false,
        };
        match embedder {
            Some(embedder) if counts.embedded > 0 && ours => {
                query = Some(Packed::from(&embedder.embed_query(&question.plain)));
            }
            _ => {
                mode = Mode::Text;
                mode_note = (counts.chunks > 0).then(|| match embedder {
                    Some(_) => "no passage has a vector yet".to_owned(),
                    None => "there is no model that can be used".to_owned(),
                });
            }
        }
    }
    let wanted = Wanted {
        question: &question,
        mode,
        query: query.as_ref(),
        text_pool: match (ask.unique, question.phrases.is_empty()) {
            (true, true) => unique_pool,
            (true, false) => unique_pool.max(PHRASE_POOL),
            (false, true) => POOL,
            (false, false) => PHRASE_POOL,
        },
        // Beside full text only the nearest count; see `fuse`.
        vector_pool: if ask.unique && (mode == Mode::Vector || unique_pool > UNIQUE_POOL) {
            unique_pool
        } else {
            POOL
        },
    };
    let Candidates {
        text: text_hits,
        vector: vector_hits,
        literal,
        undated,
    } = source.candidates(ask, &wanted)?;

    // Whoever chose another model chose it for what they write.
    let trust = if embedder.is_some_and(|it| it.id() == crate::embed::builtin().id()) {
        question.english()
    } else {
        1.0
    };
    let sides = fuse::Sides {
        text: &text_hits.hits,
        vector: &vector_hits,
        literal: &literal,
        nearest: source.nearest(),
    };
    let mut ranked = fuse::fuse(sides, mode, unrelated, trust);
    if ask.unique {
        fuse::pool(&mut ranked, mode, &text_hits, |chunk| source.file(chunk));
    }
    let more_than_asked = ranked.len();
    if !ask.unique {
        ranked.truncate(if question.phrases.is_empty() {
            POOL * 2
        } else {
            PHRASE_POOL
        });
    }
    let needed = head_size(ask, &question);
    let mut hits: Vec<Hit> = Vec::new();
    let mut files = HashSet::new();
    let ideal = text_hits.ideal;
    for batch in ranked.chunks(BATCH) {
        let ids: Vec<u32> = batch.iter().map(|(chunk, _)| *chunk).collect();
        let by_chunk: HashMap<u32, Evidence> = batch.iter().copied().collect();
        for passage in source.passages(&ids)? {
            if !question.allows(&passage.text) {
                continue;
            }
            files.insert(passage.file);
            let evidence = by_chunk[&passage.chunk];
            let near = fuse::nearness(evidence.cosine, unrelated);
            hits.push(hit(passage, evidence, near, ideal, &question));
        }
        let at_hand = if ask.unique { files.len() } else { hits.len() };
        if at_hand >= needed {
            break;
        }
    }

    dates::lift(&mut hits, &question.plain, ask.today);
    standing::apply(source, ask, &mut hits, OUTDATED)?;
    sort(&mut hits);
    if !ask.corrections.is_empty() {
        for hit in &mut hits {
            // Headings are shown beside the text, and may say it alone.
            let headings = hit.passage.headings.join("\n\n");
            let said = format!("{headings}\n\n{}", hit.passage.text);
            let found = ask.corrections.check(&said);
            hit.corrections = found.into_iter().cloned().collect();
        }
        sort(&mut hits);
    }
    if ask.unique {
        let mut seen = HashSet::new();
        hits.retain(|h| seen.insert(h.passage.file));
    }
    let corrections = pushed_out(&hits, ask.limit);
    let found = if question.phrases.is_empty() {
        more_than_asked.max(hits.len())
    } else {
        hits.len()
    };
    hits.truncate(ask.limit);
    for hit in &mut hits {
        shown(hit);
        hit.matches = snippet::matches(&hit.passage.text, &question);
        if ask.explain {
            hit.terms = source.explain(&question.words(), hit.passage.chunk)?;
        }
    }
    let corrections = beside(corrections, &hits);
    Ok(Answer {
        more: found.saturating_sub(hits.len()),
        hits,
        mode,
        mode_note,
        embedded: (counts.embedded, counts.chunks),
        undated,
        corrections,
    })
}

/// Makes a hit what may be shown: credentials are taken out of it and hidden
/// characters written out, here and for every kind of output.
pub(crate) fn shown(hit: &mut Hit) {
    let passage = &mut hit.passage;
    let order = quote::orders(&passage.text).into_iter().find(|it| it.grave);
    hit.order = order.map(|it| Cow::Borrowed(it.about));
    if let Cow::Owned(text) = quote::cleaned_part(&passage.text).text {
        passage.text = text;
    }
    for heading in passage.headings.iter_mut().chain([&mut passage.title]) {
        if let Cow::Owned(text) = quote::clean(heading) {
            *heading = text;
        }
    }
}

/// The scope of what is kept for reference only.
const ARCHIVE: &str = "archive";

/// Two answers as one, best first; the scores of both are relative to what
/// each could find, and so comparable.
pub fn join(mut a: Answer, b: Answer, limit: usize) -> Answer {
    let found = a.more + b.more + a.hits.len() + b.hits.len();
    a.hits.extend(b.hits);
    sort(&mut a.hits);
    a.corrections.extend(b.corrections);
    a.corrections.extend(pushed_out(&a.hits, limit));
    a.hits.truncate(limit);
    a.corrections = beside(a.corrections, &a.hits);
    a.more = found - a.hits.len();
    a
}

/// The first answer, and behind it what the second has for the places left.
pub fn append(mut a: Answer, mut b: Answer, limit: usize) -> Answer {
    let found = a.more + b.more + a.hits.len() + b.hits.len();
    b.hits.truncate(limit.saturating_sub(a.hits.len()));
    a.hits.append(&mut b.hits);
    a.corrections.append(&mut b.corrections);
    a.corrections = beside(a.corrections, &a.hits);
    a.more = found - a.hits.len();
    a
}

/// Corrections of hits that are beyond the limit, though their scores are not.
fn pushed_out(hits: &[Hit], limit: usize) -> Vec<Correction> {
    let mut scores: Vec<f32> = hits.iter().map(|h| h.score).collect();
    scores.sort_by(|a, b| b.total_cmp(a));
    let Some(least) = limit.checked_sub(1).and_then(|at| scores.get(at)) else {
        return Vec::new();
    };
    let beyond = hits.iter().skip(limit).filter(|h| h.score >= *least);
    beyond.flat_map(|h| h.corrections.clone()).collect()
}

/// Each once, without those that hits tell themselves.
fn beside(all: Vec<Correction>, hits: &[Hit]) -> Vec<Correction> {
    let mut out: Vec<Correction> = Vec::new();
    for one in all {
        let told = hits.iter().any(|h| h.corrections.contains(&one));
        if !told && !out.contains(&one) {
            out.push(one);
        }
    }
    out
}

/// How many hits must be at hand before they are re-ordered and cut.
fn head_size(ask: &Ask, question: &Question) -> usize {
    let spare = if question.phrases.is_empty() { 2 } else { 4 };
    (ask.limit * spare).max(50)
}

fn hit(passage: Passage, evidence: Evidence, near: f32, ideal: f32, question: &Question) -> Hit {
    let exact = question.stands_in(&fold(&passage.text));
    let coverage = if ideal > 0.0 {
        (evidence.bm25 / ideal).min(1.0)
    } else {
        0.0
    };
    Hit {
        score: evidence.score + if exact { fuse::EXACT } else { 0.0 },
        relevance: coverage
            .max(near)
            .max(if exact { 1.0 } else { 0.0 })
            .clamp(0.0, 1.0),
        evidence: Evidence { exact, ..evidence },
        passage,
        replaced_by: None,
        corrections: Vec::new(),
        terms: Vec::new(),
        order: None,
        matches: Vec::new(),
    }
}

/// Best first; archived text last, and behind everything what says a fact that
/// was corrected; equal scores in the order of the files, so
/// that an index built in another order answers the same.
pub(crate) fn sort(hits: &mut [Hit]) {
    hits.sort_by(|a, b| {
        let archived = |h: &Hit| h.passage.scope == ARCHIVE;
        let wrong = |h: &Hit| !h.corrections.is_empty();
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
