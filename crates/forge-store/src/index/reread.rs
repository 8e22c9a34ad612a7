//! Reranks the best passages of a full-text search by what the lists do not
//! contain: which words are neighbours, and who is speaking. "Red car" is more
//! than red and car, and in a conversation with an assistant, the user's words
//! report the facts. So the text of the best passages is read again.

use std::collections::HashMap;

use rusqlite::OptionalExtension;

use super::IndexError;
use super::postings::bm25_score;
use super::query::{self, PassageSlots, TermMatch, TextHits, TextQuery};
use super::store::Index;
use super::terms::{TermInitials, TermSplitter};
use forge_text::document::{TurnSpeaker, parse_turn};

/// The number of best passages that are read.
const REREAD_HITS: usize = 64;
/// Upper bound for passages that are read, however many tie.
pub const MAX_REREAD_HITS: usize = 4 * REREAD_HITS;
/// The share of the weight of two words that their being neighbours adds.
const PAIR_WEIGHT: f32 = 0.2;
/// The share of a word's weight that is added if the user speaks it.
const USER_WORD_WEIGHT: f32 = 0.3;

/// A query, prepared for reading passages.
struct RereadQuery<'a> {
    /// Term → its number, of those that some passage holds.
    terms: HashMap<&'a str, usize>,
    /// Numbers of two terms → the pair's own.
    pairs: HashMap<(usize, usize), usize>,
    /// The weight of each pair, and of each term in the user's words.
    pair_weights: Vec<f32>,
    user_weights: Vec<f32>,
    starts: TermInitials,
}

/// The occurrences of each pair, and of each term in the user's words.
struct RereadCounts {
    pairs: Vec<u32>,
    user_counts: Vec<u32>,
}

impl<'a> RereadQuery<'a> {
    /// Prepares a query. `weights` are those of the terms, 0 if no passage
    /// holds a term.
    fn new(words: &TextQuery<'a>, weights: &[f32]) -> RereadQuery<'a> {
        let mut terms = HashMap::new();
        let mut starts = TermInitials::default();
        for (at, term) in words
            .terms
            .iter()
            .enumerate()
            .filter(|it| weights[it.0] > 0.0)
        {
            terms.insert(term.as_str(), at);
            starts.add_term(term);
        }
        let mut pairs = HashMap::new();
        let mut pair_weights = Vec::new();
        for (a, b) in words.pairs {
            if weights[*a] > 0.0 && weights[*b] > 0.0 && !pairs.contains_key(&(*a, *b)) {
                pairs.insert((*a, *b), pair_weights.len());
                pair_weights.push(PAIR_WEIGHT * (weights[*a] + weights[*b]));
            }
        }
        RereadQuery {
            terms,
            pairs,
            pair_weights,
            user_weights: weights
                .iter()
                .map(|weight| USER_WORD_WEIGHT * weight)
                .collect(),
            starts,
        }
    }

    fn count_matches(&self, text: &str, terms: &mut TermSplitter) -> RereadCounts {
        let mut read = RereadCounts {
            pairs: vec![0; self.pair_weights.len()],
            user_counts: vec![0; self.user_weights.len()],
        };
        let mut before: Option<usize> = None;
        let mut voice = TurnSpeaker::Author;
        for line in text.lines() {
            if let Some((speaks, _)) = parse_turn(line) {
                voice = speaks;
            }
            terms.for_each_starting(line, &self.starts, |term| {
                let here = term.and_then(|term| self.terms.get(term).copied());
                if let Some(at) = here.filter(|_| voice == TurnSpeaker::User) {
                    read.user_counts[at] += 1;
                }
                if let (Some(a), Some(b)) = (before, here)
                    && let Some(pair) = self.pairs.get(&(a, b))
                {
                    read.pairs[*pair] += 1;
                }
                before = here;
            });
        }
        read
    }
}

/// Returns how many hits are read. Ties are read together or not at all: which
/// of them comes first depends on the order in which files were indexed.
fn rerank_count(hits: &[(u32, f32)]) -> usize {
    let Some((_, last)) = hits.get(REREAD_HITS - 1) else {
        return hits.len();
    };
    let with_equals = hits.partition_point(|hit| hit.1 >= *last);
    if with_equals <= MAX_REREAD_HITS {
        with_equals
    } else {
        hits.partition_point(|hit| hit.1 > *last)
    }
}

/// A source of passages that may be read again, with their lengths.
pub trait PassageReader {
    /// Returns its length in terms and its file.
    fn length_and_file(&self, chunk: u32) -> Option<(u16, u32)>;
    /// Returns its text.
    fn passage_text(&self, chunk: u32) -> Result<String, IndexError>;
}

/// Raises the score of passages in which words of the query are neighbours, as
/// they are in the query, and of those in which the user speaks them. `weights`
/// are those of the terms, 0 if no passage holds a term.
pub fn rerank_hits(
    shelf: &dyn PassageReader,
    words: &TextQuery,
    weights: &[f32],
    average: f32,
    found: &mut TextHits,
) -> Result<(), IndexError> {
    let reading = RereadQuery::new(words, weights);
    if reading.terms.is_empty() {
        return Ok(());
    }
    let mut terms = TermSplitter::default();
    let most = rerank_count(&found.hits);
    for (chunk, score) in &mut found.hits[..most] {
        let read = reading.count_matches(&shelf.passage_text(*chunk)?, &mut terms);
        let place = shelf.length_and_file(*chunk);
        let length = place.map_or(0, |it| it.0) as f32;
        let pairs = read.pairs.iter().zip(&reading.pair_weights);
        let user_counts = read.user_counts.iter().zip(&reading.user_weights);
        for (count, weight) in pairs.chain(user_counts).filter(|it| *it.0 > 0) {
            *score += bm25_score(*weight, *count as f32, length, average);
        }
        if let Some(all) = place.and_then(|it| found.files.get_mut(&it.1)) {
            *all = all.max(*score);
        }
    }
    query::sort_hits_by_score(&mut found.hits);
    Ok(())
}

/// Returns the score that reading added to one passage.
pub fn explain_rerank(
    text: &str,
    length: u16,
    words: &TextQuery,
    weights: &[f32],
    average: f32,
) -> Vec<TermMatch> {
    let reading = RereadQuery::new(words, weights);
    let read = reading.count_matches(text, &mut TermSplitter::default());
    let name = |(a, b): &(usize, usize)| format!("{} {}", words.terms[*a], words.terms[*b]);
    let pairs = reading.pairs.iter().map(|(pair, at)| {
        let weight = reading.pair_weights[*at];
        (name(pair), read.pairs[*at], weight)
    });
    let user_counts = read
        .user_counts
        .iter()
        .zip(&reading.user_weights)
        .zip(words.terms);
    let user_counts =
        user_counts.map(|((count, weight), term)| (format!("user: {term}"), *count, *weight));
    let matches = pairs.chain(user_counts).filter(|(_, count, _)| *count > 0);
    matches
        .map(|(term, body, idf)| TermMatch {
            term,
            idf,
            body,
            in_headings: false,
            in_title: false,
            score: bm25_score(idf, body as f32, f32::from(length), average),
        })
        .collect()
}

/// The passages of an index.
pub(super) struct IndexPassages<'a>(pub(super) &'a Index, pub(super) &'a PassageSlots);

impl PassageReader for IndexPassages<'_> {
    fn length_and_file(&self, chunk: u32) -> Option<(u16, u32)> {
        Some((self.1.length(chunk)?, self.1.file(chunk)?))
    }

    fn passage_text(&self, chunk: u32) -> Result<String, IndexError> {
        self.0.with_connection(|db| {
            let mut statement = db.prepare_cached("select text from chunk where id = ?")?;
            let text = statement.query_row([chunk], |r| r.get(0)).optional()?;
            Ok(text.unwrap_or_default())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_are_read_together_or_not_at_all() {
        let hits = |better: usize, equal: usize| -> Vec<(u32, f32)> {
            let scores = [2.0].repeat(better).into_iter().chain([1.0].repeat(equal));
            (0..).zip(scores).collect()
        };
        assert_eq!(rerank_count(&hits(3, 5)), 8);
        assert_eq!(rerank_count(&hits(60, 10)), 70);
        assert_eq!(rerank_count(&hits(60, 1000)), 60);
        assert_eq!(rerank_count(&hits(64, 1000)), 64);
    }
}
