//! Defines where passages come from. The index of a workspace is one source, an
//! index that many workspaces share is another; ranking does not know which one
//! it reads.

use std::collections::{HashMap, HashSet};

use super::question::Question;
use super::{ARCHIVE, Ask, Mode, standing};
use crate::index::{
    Entry, Error, Index, Packed, Passage, Passages, Slots, TermMatch, TextHits, Words,
};

/// A source of ranked candidates and their passages. Numbers of passages and
/// files belong to the source, and are valid as long as it exists.
pub trait Source {
    /// Counts the passages, and those with a vector.
    fn counts(&self) -> Result<Passages, Error>;

    /// Returns `true` if its vectors are those of this model.
    fn has_model(&self, id: &str, dimensions: usize) -> Result<bool, Error>;

    /// Finds the candidates of each ranking, within the filters of `ask`.
    fn candidates(&self, ask: &Ask, wanted: &Wanted) -> Result<Candidates, Error>;

    /// Returns the file of a candidate.
    fn file(&self, chunk: u32) -> Option<u32>;

    /// Reads passages in the given order; missing ones are left out.
    fn passages(&self, chunks: &[u32]) -> Result<Vec<Passage>, Error>;

    /// Finds which of these documents were replaced: path → path of the last
    /// document in the chain of replacements.
    fn replaced(&self, paths: &HashSet<&str>) -> Result<HashMap<String, String>, Error>;

    /// Reads the first passage of a document, if the filters allow it.
    fn opening(&self, ask: &Ask, path: &str) -> Result<Option<Passage>, Error>;

    /// Whether any passage that `ask` allows holds a string; none where the
    /// source cannot tell.
    fn holds(&self, _ask: &Ask, _string: &str) -> Result<Option<bool>, Error> {
        Ok(None)
    }

    /// What the nearest passage gets by vectors, where the best text match
    /// counts as 1. None lets its nearness decide.
    fn nearest(&self) -> Option<f32> {
        None
    }

    /// Explains what each term adds to the score of one passage.
    fn explain(&self, words: &Words, chunk: u32) -> Result<Vec<TermMatch>, Error>;
}

/// The candidates to find, and how many of them.
pub struct Wanted<'a> {
    pub question: &'a Question,
    pub mode: Mode,
    /// The query as a vector, if vectors are searched.
    pub query: Option<&'a Packed>,
    /// Maximum number of candidates per ranking.
    pub text_pool: usize,
    pub vector_pool: usize,
}

/// The candidates that a source found.
#[derive(Debug, Default)]
pub struct Candidates {
    pub text: TextHits,
    /// Passages with their cosines, nearest first.
    pub vector: Vec<(u32, f32)>,
    /// Passages that contain a string which no term leads to.
    pub literal: Vec<u32>,
    /// Number of documents that `since` excluded because they have no date.
    pub undated: usize,
}

/// Returns strings to search in the text itself, since no term leads to them:
/// an exact string that exists is never missed.
pub fn literals(question: &Question, found: &TextHits, mode: Mode) -> Vec<String> {
    if mode == Mode::Vector {
        return Vec::new();
    }
    let mut strings = question.phrases.clone();
    let lone = question.phrases.is_empty()
        && question.prefixes.is_empty()
        && !question.plain.contains(char::is_whitespace);
    let unknown = found
        .holding
        .first()
        .is_none_or(|(_, holding)| *holding == 0);
    if lone && unknown || (found.hits.is_empty() && question.prefixes.is_empty()) {
        strings.push(question.plain.clone());
    }
    strings
}

/// Maximum number of passages per literal string.
pub const MOST_LITERAL: usize = 200;

/// The index of one workspace, with the current catalogue of its files.
pub(super) struct Embedded<'a> {
    index: &'a Index,
    catalogue: &'a [Entry],
    slots: Slots,
    /// Files that were archived after they were indexed.
    archived: HashSet<u32>,
}

impl<'a> Embedded<'a> {
    pub(super) fn new(index: &'a Index, catalogue: &'a [Entry]) -> Result<Embedded<'a>, Error> {
        let archived = catalogue.iter().filter(|entry| entry.scope == ARCHIVE);
        Ok(Embedded {
            index,
            catalogue,
            slots: index.slots()?,
            archived: archived.map(|entry| entry.id).collect(),
        })
    }

    /// Returns which file ids pass the filters, and how many were excluded
    /// because they have no date.
    fn allowed_files(&self, ask: &Ask) -> (Vec<bool>, usize) {
        let ids = self.catalogue.iter().map(|e| e.id as usize + 1);
        let mut allowed = vec![false; ids.max().unwrap_or(0)];
        let mut undated = 0;
        let since = ask.since.map(|d| d.to_string());
        for entry in self.catalogue {
            let fits = (ask.scopes.is_empty() || ask.scopes.contains(&entry.scope.as_str()))
                && (ask.kinds.is_empty() || ask.kinds.contains(&entry.kind))
                && !ask.forgotten.contains(&entry.path);
            if !fits {
                continue;
            }
            let recent = match (&since, &entry.date) {
                (None, _) => true,
                (Some(since), Some(date)) => date >= since,
                (Some(_), None) => {
                    undated += 1;
                    false
                }
            };
            allowed[entry.id as usize] = recent;
        }
        (allowed, undated)
    }
}

impl Source for Embedded<'_> {
    fn counts(&self) -> Result<Passages, Error> {
        self.index.passage_counts()
    }

    fn has_model(&self, id: &str, dimensions: usize) -> Result<bool, Error> {
        self.index.has_model(id, dimensions)
    }

    fn candidates(&self, ask: &Ask, wanted: &Wanted) -> Result<Candidates, Error> {
        let (index, slots) = (self.index, &self.slots);
        let (allowed, undated) = self.allowed_files(ask);
        let allow = |file: u32| allowed.get(file as usize).copied().unwrap_or(false);
        let mut found = Candidates {
            undated,
            ..Candidates::default()
        };
        if let Some(query) = wanted.query {
            found.vector = index.vector_hits(slots, query, &allow, wanted.vector_pool)?;
        }
        let question = wanted.question;
        if wanted.mode != Mode::Vector {
            found.text = index.text_hits(slots, &question.words(), &allow, wanted.text_pool)?;
        }
        for string in literals(question, &found.text, wanted.mode) {
            let hits = index.literal_hits(slots, &string, &allow, MOST_LITERAL)?;
            found.literal.extend(hits);
        }
        Ok(found)
    }

    fn file(&self, chunk: u32) -> Option<u32> {
        self.slots.file(chunk)
    }

    fn passages(&self, chunks: &[u32]) -> Result<Vec<Passage>, Error> {
        let mut passages = self.index.passages(chunks)?;
        for passage in &mut passages {
            if self.archived.contains(&passage.file) {
                passage.scope = ARCHIVE.to_owned();
            }
        }
        Ok(passages)
    }

    fn replaced(&self, _: &HashSet<&str>) -> Result<HashMap<String, String>, Error> {
        standing::replacements(self.index, self.catalogue)
    }

    fn opening(&self, ask: &Ask, path: &str) -> Result<Option<Passage>, Error> {
        let (allowed, _) = self.allowed_files(ask);
        let allow = |entry: &Entry| allowed.get(entry.id as usize).copied().unwrap_or(false);
        if self.catalogue.iter().any(|e| e.path == path && allow(e)) {
            Ok(self.index.passages_of(path)?.into_iter().next())
        } else {
            Ok(None)
        }
    }

    fn holds(&self, ask: &Ask, string: &str) -> Result<Option<bool>, Error> {
        let (allowed, _) = self.allowed_files(ask);
        let allow = |file: u32| allowed.get(file as usize).copied().unwrap_or(false);
        let hits = self.index.literal_hits(&self.slots, string, &allow, 1)?;
        Ok(Some(!hits.is_empty()))
    }

    fn explain(&self, words: &Words, chunk: u32) -> Result<Vec<TermMatch>, Error> {
        self.index.explain(&self.slots, words, chunk)
    }
}
