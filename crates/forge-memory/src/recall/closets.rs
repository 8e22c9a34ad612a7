//! Searches closets: an entry is one passage and represents the file that it
//! describes. Every query to closets is ranked here. Reads only entries, never
//! the files.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use jiff::civil::Date;

use super::source::{CandidateRequest, CandidateSet, PassageSource, literal_strings};
use super::{ParsedQuestion, RecallAnswer, RecallMode, RecallQuery};
use crate::document::when;
use crate::embed::Embedder;
use crate::index::terms::{TermSplitter, fold_text};
use crate::index::{
    DocumentKind, DocumentStanding, IndexError, PassageCounts, StoredPassage, TermMatch, TextHits,
    TextQuery,
};
use crate::quote;
use crate::routing::closets::{ClosetEntry, ClosetField, ListedEntry, is_empty_word};
use crate::tokens;

/// The scope of closet entries in an answer.
pub const CLOSETS_SCOPE: &str = "closets";

/// Weight of a word in each field, in the order of [`ClosetField::ALL`].
const FIELD_WEIGHTS: [f32; 6] = [1.0, 1.2, 1.0, 1.0, 0.4, 0.2];
/// BM25's saturation of repeated words.
const BM25_K1: f32 = 1.2;
/// BM25's normalization by length.
const BM25_B: f32 = 0.3;
/// Text score of an entry that matches the query by a date alone; low enough to
/// rank below any word.
const DATE_ONLY_SCORE: f32 = 0.001;
/// Maximum that vectors add, relative to 1 for the best text match. Entries are
/// short and to the point, so a near one counts whatever its distance.
const VECTOR_WEIGHT: f32 = 1.4;
/// Maximum number of entries that are compared by vectors, best by words first.
/// Each takes about ten milliseconds.
pub const MAX_EMBEDDED_ENTRIES: usize = 60;

/// Ranks closet entries for a query. If `field` is given, only that field of
/// each entry is searched. The `chunk` of a hit is the index of its entry in
/// `listed`. If each file counts once, entries of missing files are excluded.
pub fn rank_entries(
    listed: &[ListedEntry],
    embedder: Option<&dyn Embedder>,
    field: Option<ClosetField>,
    ask: &RecallQuery,
) -> Result<RecallAnswer, IndexError> {
    let mut files: HashMap<&str, u32> = HashMap::new();
    let owners = listed.iter().map(|it| {
        let next = files.len() as u32;
        let path = it.path.as_deref().unwrap_or(&it.text);
        *files.entry(path).or_insert(next)
    });
    let entries = ClosetSource {
        owners: owners.collect(),
        listed,
        field,
        embedder,
        today: ask.today,
        words: RefCell::default(),
        dates: RefCell::default(),
    };
    super::rank_from_source(&entries, embedder, ask)
}

/// Returns the fields of an entry that match a query, best first, with the
/// values that do.
pub fn matching_fields(
    entry: &ClosetEntry,
    question: &str,
    only: Option<ClosetField>,
    today: Option<Date>,
) -> Vec<(ClosetField, Vec<String>)> {
    let mut terms = TermSplitter::default();
    let wanted = content_terms(&mut terms, question);
    let whens = when::find_date_ranges(question, today);
    let mut found: Vec<(usize, ClosetField, Vec<String>)> = Vec::new();
    for field in selected_fields(only) {
        let mut values = Vec::new();
        for value in entry.values(field) {
            let of_value = terms.distinct_terms(value);
            let mut shared = wanted.iter().filter(|w| of_value.contains(w)).count();
            if field == ClosetField::Dates && overlaps_named_date(value, &whens) {
                shared += 1;
            }
            if shared > 0 {
                values.push((shared, quote::sanitize_text(value).into_owned()));
            }
        }
        values.sort_by_key(|value| std::cmp::Reverse(value.0));
        if let Some((most, _)) = values.first() {
            found.push((*most, field, values.into_iter().map(|it| it.1).collect()));
        }
    }
    // Of two fields that match equally well, prefer the one that explains more.
    let rank = |field: ClosetField| match field {
        ClosetField::People => 0,
        ClosetField::Decisions => 1,
        ClosetField::Claims => 2,
        ClosetField::Dates => 3,
        ClosetField::Subjects | ClosetField::Status => 4,
    };
    found.sort_by_key(|it| (std::cmp::Reverse(it.0), rank(it.1)));
    found.into_iter().map(|it| (it.1, it.2)).collect()
}

/// Splits an entry into texts to embed: each fact alone, and subjects and
/// people in groups that fit the model.
pub fn embedding_pieces(entry: &ClosetEntry, only: Option<ClosetField>) -> Vec<String> {
    const MAX_GROUP_BYTES: usize = 240;
    let mut out = Vec::new();
    let wants = |field: ClosetField| only.is_none_or(|only| only == field);
    for field in [ClosetField::Claims, ClosetField::Decisions] {
        if wants(field) {
            out.extend(entry.values(field).iter().cloned());
        }
    }
    for field in [ClosetField::Subjects, ClosetField::People] {
        if !wants(field) {
            continue;
        }
        let mut group = String::new();
        for value in entry.values(field) {
            if group.len() + value.len() > MAX_GROUP_BYTES && !group.is_empty() {
                out.push(std::mem::take(&mut group));
            }
            if !group.is_empty() {
                group.push_str(", ");
            }
            group.push_str(value);
        }
        if !group.is_empty() {
            out.push(group);
        }
    }
    out
}

struct ClosetSource<'a> {
    listed: &'a [ListedEntry],
    /// The file number of each entry.
    owners: Vec<u32>,
    field: Option<ClosetField>,
    embedder: Option<&'a dyn Embedder>,
    today: Option<Date>,
    /// Kept from the search, to explain its hits.
    words: RefCell<TextScores>,
    /// The dates that the query names.
    dates: RefCell<Vec<when::DateRange>>,
}

impl PassageSource for ClosetSource<'_> {
    fn count_passages(&self) -> Result<PassageCounts, IndexError> {
        let embedded = match self.embedder {
            Some(_) => self.listed.len(),
            None => 0,
        };
        Ok(PassageCounts {
            chunks: self.listed.len(),
            embedded,
        })
    }

    fn has_model(&self, _: &str, _: usize) -> Result<bool, IndexError> {
        Ok(self.embedder.is_some())
    }

    fn find_candidates(
        &self,
        ask: &RecallQuery,
        wanted: &CandidateRequest,
    ) -> Result<CandidateSet, IndexError> {
        let question = wanted.question;
        let (allowed, undated) = self.allowed_entries(ask);
        let words = TextScores::for_question(self.listed, question, self.field);
        let mut by_text: Vec<(u32, f32)> = allowed
            .iter()
            .map(|at| (*at, words.total_score(*at as usize)))
            .collect();
        sort_scored(&mut by_text);
        let mut found = CandidateSet {
            undated,
            ..CandidateSet::default()
        };
        if let (Some(query), Some(embedder)) = (wanted.query, self.embedder) {
            // An entry without a word of the query may still be near it; if
            // there are few entries, all of them are compared.
            let near: Vec<u32> = by_text
                .iter()
                .take(MAX_EMBEDDED_ENTRIES)
                .map(|it| it.0)
                .collect();
            let query: Vec<f32> = query.values().collect();
            found.vector = self.rank_by_vector(&near, &query, embedder);
        }
        self.dates
            .replace(when::find_date_ranges(&question.plain, self.today));
        if wanted.mode != RecallMode::Vector {
            // "What happened in March?" has no useful word except its date.
            for (at, score) in by_text.iter_mut().filter(|it| it.1 == 0.0) {
                if self.has_named_date(*at as usize) {
                    *score = DATE_ONLY_SCORE;
                }
            }
            by_text.retain(|it| it.1 > 0.0);
            found.text = TextHits {
                hits: by_text,
                holding: words.document_frequencies(),
                ideal: words.ideal_score(),
                files: HashMap::new(),
            };
        }
        for string in literal_strings(question, &found.text, wanted.mode) {
            let string = fold_text(&string);
            let holds = |at: &&u32| fold_text(&self.visible_text(**at as usize)).contains(&string);
            found.literal.extend(allowed.iter().filter(holds));
        }
        self.words.replace(words);
        Ok(found)
    }

    fn file_of(&self, chunk: u32) -> Option<u32> {
        self.owners.get(chunk as usize).copied()
    }

    fn read_passages(&self, chunks: &[u32]) -> Result<Vec<StoredPassage>, IndexError> {
        let known = chunks
            .iter()
            .filter(|at| (**at as usize) < self.listed.len());
        Ok(known.map(|at| self.entry_passage(*at)).collect())
    }

    fn find_replacements(&self, _: &HashSet<&str>) -> Result<HashMap<String, String>, IndexError> {
        Ok(HashMap::new())
    }

    fn opening_passage(
        &self,
        _: &RecallQuery,
        _: &str,
    ) -> Result<Option<StoredPassage>, IndexError> {
        Ok(None)
    }

    fn nearest_weight(&self) -> Option<f32> {
        Some(VECTOR_WEIGHT)
    }

    fn explain_passage(&self, _: &TextQuery, chunk: u32) -> Result<Vec<TermMatch>, IndexError> {
        let in_title = |term: &String| {
            let name = &self.listed[chunk as usize].name;
            TermSplitter::default()
                .distinct_terms(&split_name(name))
                .contains(term)
        };
        Ok(self.words.borrow().explain_entry(chunk as usize, in_title))
    }
}

impl ClosetSource<'_> {
    /// Returns the entries that pass the filters, and how many were excluded
    /// because they have no date.
    fn allowed_entries(&self, ask: &RecallQuery) -> (Vec<u32>, usize) {
        let mut undated = 0;
        let mut allowed = Vec::new();
        for (at, it) in self.listed.iter().enumerate() {
            let path = it.path.as_ref();
            let forgotten = path.is_some_and(|path| ask.forgotten.contains(path));
            if forgotten || ask.unique && path.is_none() {
                continue;
            }
            let ends = || {
                it.entry
                    .dates
                    .iter()
                    .filter_map(|date| when::parse_date_range(date_prefix(date)))
            };
            match ask.since {
                Some(_) if ends().next().is_none() => undated += 1,
                Some(since) if ends().all(|(_, to)| to < since) => {}
                _ => allowed.push(at as u32),
            }
        }
        (allowed, undated)
    }

    /// Returns `true` if an entry has a date that the query names.
    fn has_named_date(&self, at: usize) -> bool {
        let whens = self.dates.borrow();
        let mut dates = self.listed[at].entry.dates.iter();
        self.field.is_none_or(|field| field == ClosetField::Dates)
            && dates.any(|date| overlaps_named_date(date, &whens))
    }

    /// Returns the searched text of an entry: all of it, or one field.
    fn visible_text(&self, at: usize) -> String {
        let it = &self.listed[at];
        match self.field {
            Some(field) => it.entry.render_field(field),
            None => it.text.clone(),
        }
    }

    /// Ranks entries by vector, nearest first: half of the score is the
    /// similarity of the whole entry, half that of its best piece.
    fn rank_by_vector(
        &self,
        near: &[u32],
        query: &[f32],
        embedder: &dyn Embedder,
    ) -> Vec<(u32, f32)> {
        let (listed, field) = (self.listed, self.field);
        let one = |at: &u32| {
            let pieces = embedding_pieces(&listed[*at as usize].entry, field);
            let vectors = pieces.iter().map(|piece| embedder.embed(piece));
            (*at, entry_similarity(query, vectors))
        };
        // Embedding dominates, at about ten milliseconds per entry, and entries
        // are independent of one another.
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get().min(8));
        let share = near.len().div_ceil(threads).max(1);
        let mut hits: Vec<(u32, f32)> = std::thread::scope(|scope| {
            let parts = near.chunks(share);
            let workers: Vec<_> = parts
                .map(|part| scope.spawn(move || part.iter().map(one).collect::<Vec<_>>()))
                .collect();
            let done = workers.into_iter();
            done.flat_map(|worker| worker.join().unwrap_or_default())
                .collect()
        });
        sort_scored(&mut hits);
        hits
    }

    fn entry_passage(&self, chunk: u32) -> StoredPassage {
        let it = &self.listed[chunk as usize];
        let text = self.visible_text(chunk as usize);
        let (path, lines) = match &it.path {
            Some(path) => (path, (1, 1)),
            None => (&it.closets, it.lines),
        };
        let whens = self.dates.borrow();
        let fitting = it
            .entry
            .dates
            .iter()
            .find(|date| overlaps_named_date(date, &whens));
        let date = fitting.or(it.entry.dates.first());
        StoredPassage {
            chunk,
            file: self.owners[chunk as usize],
            path: path.clone(),
            title: it.name.clone(),
            scope: CLOSETS_SCOPE.to_owned(),
            kind: DocumentKind::Knowledge,
            date: date.map(|date| date_prefix(date).to_owned()),
            importance: 5,
            standing: match it.entry.status.to_lowercase().as_str() {
                "superseded" | "deprecated" | "obsolete" => DocumentStanding::Deprecated,
                _ => DocumentStanding::Current,
            },
            ordinal: chunk as usize,
            headings: vec![format!("Closets: {}", it.hub), format!("[[{}]]", it.name)],
            lines,
            tokens: tokens::estimate_tokens(&text),
            text,
        }
    }
}

fn entry_similarity(query: &[f32], vectors: impl Iterator<Item = Vec<f32>>) -> f32 {
    let dot = |a: &[f32], b: &[f32]| -> f32 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    let mut whole = vec![0f32; query.len()];
    let mut best = 0f32;
    for vector in vectors {
        best = best.max(dot(query, &vector));
        whole.iter_mut().zip(&vector).for_each(|(w, v)| *w += v);
    }
    let length = dot(&whole, &whole).sqrt();
    let whole = if length > 0.0 {
        dot(query, &whole) / length
    } else {
        0.0
    };
    (whole + best) / 2.0
}

/// BM25 scores of every entry for the terms of a query.
#[derive(Default)]
struct TextScores {
    terms: Vec<String>,
    idf: Vec<f32>,
    holding: Vec<usize>,
    /// Weighted occurrences, by entry and term.
    counts: Vec<f32>,
    /// BM25's length normalization, by entry.
    norms: Vec<f32>,
}

impl TextScores {
    fn for_question(
        listed: &[ListedEntry],
        question: &ParsedQuestion,
        only: Option<ClosetField>,
    ) -> TextScores {
        let mut splitter = TermSplitter::default();
        let mut terms = content_terms(&mut splitter, &question.plain);
        let places: HashMap<String, usize> = terms.iter().cloned().zip(0..).collect();
        let prefixes: Vec<String> = question
            .prefixes
            .iter()
            .map(|it| fold_text(&it.0))
            .collect();
        let whole_terms = terms.len();
        terms.extend(prefixes.iter().map(|prefix| format!("{prefix}*")));
        let mut counts = vec![0f32; listed.len() * terms.len()];
        let mut lengths = vec![0f32; listed.len()];
        for (row, it) in listed.iter().enumerate() {
            let counts = &mut counts[row * terms.len()..(row + 1) * terms.len()];
            let mut count = |text: &str, weight: f32| {
                splitter.for_each_with_place(text, |place, term| {
                    lengths[row] += 1.0;
                    if let Some(at) = places.get(term) {
                        counts[*at] += weight;
                    }
                    if prefixes.is_empty() {
                        return;
                    }
                    let word = fold_text(&text[place]);
                    let begins = |prefix: &String| word.starts_with(prefix.as_str());
                    for at in (0..prefixes.len()).filter(|at| begins(&prefixes[*at])) {
                        counts[whole_terms + at] += weight;
                    }
                });
            };
            for field in selected_fields(only) {
                for value in it.entry.values(field) {
                    count(value, FIELD_WEIGHTS[field as usize]);
                }
            }
            if only.is_none() {
                count(&split_name(&it.name), 1.0);
                count(&it.notes, 1.0);
            }
        }
        let n = listed.len() as f32;
        let mean = (lengths.iter().sum::<f32>() / n.max(1.0)).max(1.0);
        let holding: Vec<usize> = (0..terms.len())
            .map(|at| {
                let column = counts.iter().skip(at).step_by(terms.len());
                column.filter(|count| **count > 0.0).count()
            })
            .collect();
        let idf = holding.iter().map(|holding| {
            let holding = *holding as f32;
            (1.0 + (n - holding + 0.5) / (holding + 0.5)).ln()
        });
        TextScores {
            idf: idf.collect(),
            norms: lengths
                .iter()
                .map(|length| BM25_K1 * (1.0 - BM25_B + BM25_B * length / mean))
                .collect(),
            holding,
            counts,
            terms,
        }
    }

    fn term_count(&self, row: usize, at: usize) -> f32 {
        self.counts[row * self.terms.len() + at]
    }

    fn term_score(&self, row: usize, at: usize) -> f32 {
        let count = self.term_count(row, at);
        self.idf[at] * count * (BM25_K1 + 1.0) / (count + self.norms[row])
    }

    fn total_score(&self, row: usize) -> f32 {
        (0..self.terms.len())
            .map(|at| self.term_score(row, at))
            .sum()
    }

    /// Returns the score of an average entry that contains every known term.
    fn ideal_score(&self) -> f32 {
        let known = self.idf.iter().zip(&self.holding);
        let known = known.filter(|(_, holding)| **holding > 0);
        known.map(|(idf, _)| idf).sum()
    }

    fn document_frequencies(&self) -> Vec<(String, usize)> {
        let terms = self.terms.iter().cloned();
        terms.zip(self.holding.iter().copied()).collect()
    }

    fn explain_entry(&self, row: usize, in_title: impl Fn(&String) -> bool) -> Vec<TermMatch> {
        let found = (0..self.terms.len()).filter(|at| self.term_count(row, *at) > 0.0);
        found
            .map(|at| TermMatch {
                term: self.terms[at].clone(),
                idf: self.idf[at],
                body: self.term_count(row, at).ceil() as u32,
                in_headings: false,
                in_title: in_title(&self.terms[at]),
                score: self.term_score(row, at),
            })
            .collect()
    }
}

fn selected_fields(only: Option<ClosetField>) -> impl Iterator<Item = ClosetField> {
    let wanted = move |field: &ClosetField| only.is_none_or(|only| only == *field);
    ClosetField::ALL.into_iter().filter(wanted)
}

/// Returns the terms of a query without stop words, unless it has nothing else.
fn content_terms(terms: &mut TermSplitter, question: &str) -> Vec<String> {
    let mut all: Vec<(String, bool)> = Vec::new();
    terms.for_each_with_place(question, |span, term| {
        let word = question[span].to_lowercase();
        let entry = (term.to_owned(), is_empty_word(&word));
        if !all.contains(&entry) {
            all.push(entry);
        }
    });
    if all.iter().any(|it| !it.1) {
        all.retain(|it| !it.1);
    }
    let mut seen = HashSet::new();
    all.retain(|it| seen.insert(it.0.clone()));
    all.into_iter().map(|it| it.0).collect()
}

fn split_name(name: &str) -> String {
    name.replace(['-', '_', '/'], " ")
}

/// Returns the date of a value such as `2026-03-12 ("last Thursday")`.
fn date_prefix(value: &str) -> &str {
    value.split(" (").next().unwrap_or(value)
}

fn overlaps_named_date(value: &str, whens: &[when::DateRange]) -> bool {
    when::parse_date_range(date_prefix(value))
        .is_some_and(|(from, to)| whens.iter().any(|when| when.overlaps(from, to)))
}

/// Sorts scores, best first; equal ones in the order of the closets.
fn sort_scored(hits: &mut [(u32, f32)]) {
    hits.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
}

#[cfg(test)]
mod tests;
