//! What the lists do not know of a passage: which words stand side by side, and
//! who says them. "Red car" is more than red and car, and in a conversation
//! with an assistant it is the user who tells what was the case. So the
//! passages that are best by their words are read once more.

use std::collections::HashMap;

use rusqlite::OptionalExtension;

use super::Error;
use super::postings::bm25;
use super::query::{self, Slots, TermMatch, TextHits, Words};
use super::store::Index;
use super::terms::{Starts, Terms};
use forge_text::document::{Voice, turn};

/// How many of the best passages are read.
const READ: usize = 64;
/// No more than this many are read, however many are equally good.
pub const MOST_READ: usize = 4 * READ;
/// What two words that are neighbours add, beside what both do.
const PAIR: f32 = 0.2;
/// What a word adds that the user says, beside what it does anyway.
const TOLD: f32 = 0.3;

/// A question, ready for reading.
struct Reading<'a> {
    /// Term → its number, of those that some passage holds.
    terms: HashMap<&'a str, usize>,
    /// Numbers of two terms → the pair's own.
    pairs: HashMap<(usize, usize), usize>,
    /// What each pair adds, and what each term does that is told.
    pair_weights: Vec<f32>,
    told_weights: Vec<f32>,
    starts: Starts,
}

/// How often a passage holds each pair, and each term in the user's words.
struct Read {
    pairs: Vec<u32>,
    told: Vec<u32>,
}

impl<'a> Reading<'a> {
    /// `weights` are those of the terms, 0 where no passage holds a term.
    fn new(words: &Words<'a>, weights: &[f32]) -> Reading<'a> {
        let mut terms = HashMap::new();
        let mut starts = Starts::default();
        for (at, term) in words
            .terms
            .iter()
            .enumerate()
            .filter(|it| weights[it.0] > 0.0)
        {
            terms.insert(term.as_str(), at);
            starts.add(term);
        }
        let mut pairs = HashMap::new();
        let mut pair_weights = Vec::new();
        for (a, b) in words.pairs {
            if weights[*a] > 0.0 && weights[*b] > 0.0 && !pairs.contains_key(&(*a, *b)) {
                pairs.insert((*a, *b), pair_weights.len());
                pair_weights.push(PAIR * (weights[*a] + weights[*b]));
            }
        }
        Reading {
            terms,
            pairs,
            pair_weights,
            told_weights: weights.iter().map(|weight| TOLD * weight).collect(),
            starts,
        }
    }

    fn read(&self, text: &str, terms: &mut Terms) -> Read {
        let mut read = Read {
            pairs: vec![0; self.pair_weights.len()],
            told: vec![0; self.told_weights.len()],
        };
        let mut before: Option<usize> = None;
        let mut voice = Voice::Author;
        for line in text.lines() {
            if let Some((speaks, _)) = turn(line) {
                voice = speaks;
            }
            terms.each_starting(line, &self.starts, |term| {
                let here = term.and_then(|term| self.terms.get(term).copied());
                if let Some(at) = here.filter(|_| voice == Voice::User) {
                    read.told[at] += 1;
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

/// Equals are read together or not at all: which of them comes first depends
/// on the order in which files were indexed.
fn how_many(hits: &[(u32, f32)]) -> usize {
    let Some((_, last)) = hits.get(READ - 1) else {
        return hits.len();
    };
    let with_equals = hits.partition_point(|hit| hit.1 >= *last);
    if with_equals <= MOST_READ {
        with_equals
    } else {
        hits.partition_point(|hit| hit.1 > *last)
    }
}

/// Passages that may be read again, and how long each is.
pub trait Shelf {
    /// Its length in terms and its file.
    fn place(&self, chunk: u32) -> Option<(u16, u32)>;
    fn text(&self, chunk: u32) -> Result<String, Error>;
}

/// Lifts the passages in which words of the question are neighbours, as they
/// are in the question, and those in which the user says them. `weights` are
/// those of the terms, 0 where no passage holds a term.
pub fn reread(
    shelf: &dyn Shelf,
    words: &Words,
    weights: &[f32],
    average: f32,
    found: &mut TextHits,
) -> Result<(), Error> {
    let reading = Reading::new(words, weights);
    if reading.terms.is_empty() {
        return Ok(());
    }
    let mut terms = Terms::default();
    let most = how_many(&found.hits);
    for (chunk, score) in &mut found.hits[..most] {
        let read = reading.read(&shelf.text(*chunk)?, &mut terms);
        let place = shelf.place(*chunk);
        let length = place.map_or(0, |it| it.0) as f32;
        let pairs = read.pairs.iter().zip(&reading.pair_weights);
        let told = read.told.iter().zip(&reading.told_weights);
        for (count, weight) in pairs.chain(told).filter(|it| *it.0 > 0) {
            *score += bm25(*weight, *count as f32, length, average);
        }
        if let Some(all) = place.and_then(|it| found.files.get_mut(&it.1)) {
            *all = all.max(*score);
        }
    }
    query::sort(&mut found.hits);
    Ok(())
}

/// What reading added to the score of one passage.
pub fn explain(
    text: &str,
    length: u16,
    words: &Words,
    weights: &[f32],
    average: f32,
) -> Vec<TermMatch> {
    let reading = Reading::new(words, weights);
    let read = reading.read(text, &mut Terms::default());
    let name = |(a, b): &(usize, usize)| format!("{} {}", words.terms[*a], words.terms[*b]);
    let pairs = reading.pairs.iter().map(|(pair, at)| {
        let weight = reading.pair_weights[*at];
        (name(pair), read.pairs[*at], weight)
    });
    let told = read.told.iter().zip(&reading.told_weights).zip(words.terms);
    let told = told.map(|((count, weight), term)| (format!("user: {term}"), *count, *weight));
    let matches = pairs.chain(told).filter(|(_, count, _)| *count > 0);
    matches
        .map(|(term, body, idf)| TermMatch {
            term,
            idf,
            body,
            in_headings: false,
            in_title: false,
            score: bm25(idf, body as f32, f32::from(length), average),
        })
        .collect()
}

/// The passages of an index.
pub(super) struct OfIndex<'a>(pub(super) &'a Index, pub(super) &'a Slots);

impl Shelf for OfIndex<'_> {
    fn place(&self, chunk: u32) -> Option<(u16, u32)> {
        Some((self.1.length(chunk)?, self.1.file(chunk)?))
    }

    fn text(&self, chunk: u32) -> Result<String, Error> {
        self.0.read(|db| {
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
        assert_eq!(how_many(&hits(3, 5)), 8);
        assert_eq!(how_many(&hits(60, 10)), 70);
        assert_eq!(how_many(&hits(60, 1000)), 60);
        assert_eq!(how_many(&hits(64, 1000)), 64);
    }
}
