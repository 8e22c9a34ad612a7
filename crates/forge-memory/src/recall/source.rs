//! Defines where passages come from. The index of a workspace is one source, an
//! index that many workspaces share is another; ranking does not know which one
//! it reads.

use std::collections::{HashMap, HashSet};

use super::question::ParsedQuestion;
use super::{ARCHIVE_SCOPE, RecallMode, RecallQuery, standing};
use crate::index::{
    CatalogueEntry, Index, IndexError, PackedVector, PassageCounts, PassageSlots, StoredPassage,
    TermMatch, TextHits, TextQuery,
};
use crate::translations::PageFamilies;

/// A source of ranked candidates and their passages. Numbers of passages and
/// files belong to the source, and are valid as long as it exists.
pub trait PassageSource {
    /// Counts the passages, and those with a vector.
    fn count_passages(&self) -> Result<PassageCounts, IndexError>;

    /// Returns `true` if its vectors are those of this model.
    fn has_model(&self, id: &str, dimensions: usize) -> Result<bool, IndexError>;

    /// Finds the candidates of each ranking, within the filters of `ask`.
    fn find_candidates(
        &self,
        ask: &RecallQuery,
        wanted: &CandidateRequest,
    ) -> Result<CandidateSet, IndexError>;

    /// Returns the file of a candidate.
    fn file_of(&self, chunk: u32) -> Option<u32>;

    /// Reads passages in the given order; missing ones are left out.
    fn read_passages(&self, chunks: &[u32]) -> Result<Vec<StoredPassage>, IndexError>;

    /// Finds which of these documents were replaced: path → path of the last
    /// document in the chain of replacements.
    fn find_replacements(
        &self,
        paths: &HashSet<&str>,
    ) -> Result<HashMap<String, String>, IndexError>;

    /// Reads the first passage of a document, if the filters allow it.
    fn opening_passage(
        &self,
        ask: &RecallQuery,
        path: &str,
    ) -> Result<Option<StoredPassage>, IndexError>;

    /// Groups the documents that `ask` allows by pages that are there in several
    /// languages; none where the source does not know.
    fn page_families(&self, _ask: &RecallQuery) -> PageFamilies {
        PageFamilies::default()
    }

    /// Whether any passage that `ask` allows holds a string; none where the
    /// source does not know.
    fn holds(&self, _ask: &RecallQuery, _string: &str) -> Result<Option<bool>, IndexError> {
        Ok(None)
    }

    /// Returns the vector score of the nearest passage, if the best text match
    /// counts as 1. None lets its nearness decide.
    fn nearest_weight(&self) -> Option<f32> {
        None
    }

    /// Explains what each term adds to the score of one passage.
    fn explain_passage(&self, words: &TextQuery, chunk: u32) -> Result<Vec<TermMatch>, IndexError>;
}

/// The candidates to find, and how many of them.
pub struct CandidateRequest<'a> {
    /// The parsed question.
    pub question: &'a ParsedQuestion,
    /// The rankings to use.
    pub mode: RecallMode,
    /// The query as a vector, if vectors are searched.
    pub query: Option<&'a PackedVector>,
    /// Maximum number of candidates per ranking.
    pub text_pool: usize,
    /// Maximum number of candidates by vectors.
    pub vector_pool: usize,
}

/// The candidates that a source found.
#[derive(Debug, Default)]
pub struct CandidateSet {
    /// Candidates by full text.
    pub text: TextHits,
    /// Passages with their cosines, nearest first.
    pub vector: Vec<(u32, f32)>,
    /// Passages that contain an exact string of the query, found by reading the
    /// text because the index has no term for it.
    pub literal: Vec<u32>,
    /// Number of documents that `since` excluded because they have no date.
    pub undated: usize,
}

/// Returns strings to search in the text itself, since no term leads to them:
/// an exact string that exists is never missed.
pub fn literal_strings(
    question: &ParsedQuestion,
    found: &TextHits,
    mode: RecallMode,
) -> Vec<String> {
    if mode == RecallMode::Vector {
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
pub const MAX_LITERAL_PASSAGES: usize = 200;

/// The index of one workspace, with the current catalogue of its files.
pub(super) struct IndexSource<'a> {
    index: &'a Index,
    catalogue: &'a [CatalogueEntry],
    slots: PassageSlots,
    /// Files that were archived after they were indexed.
    archived: HashSet<u32>,
}

impl<'a> IndexSource<'a> {
    pub(super) fn new(
        index: &'a Index,
        catalogue: &'a [CatalogueEntry],
    ) -> Result<IndexSource<'a>, IndexError> {
        let archived = catalogue
            .iter()
            .filter(|entry| entry.scope == ARCHIVE_SCOPE);
        Ok(IndexSource {
            index,
            catalogue,
            slots: index.load_slots()?,
            archived: archived.map(|entry| entry.id).collect(),
        })
    }

    /// Returns which file ids pass the filters, and how many were excluded
    /// because they have no date.
    fn allowed_files(&self, ask: &RecallQuery) -> (Vec<bool>, usize) {
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

impl PassageSource for IndexSource<'_> {
    fn count_passages(&self) -> Result<PassageCounts, IndexError> {
        self.index.passage_counts()
    }

    fn has_model(&self, id: &str, dimensions: usize) -> Result<bool, IndexError> {
        self.index.has_vectors_of_model(id, dimensions)
    }

    fn find_candidates(
        &self,
        ask: &RecallQuery,
        wanted: &CandidateRequest,
    ) -> Result<CandidateSet, IndexError> {
        let (index, slots) = (self.index, &self.slots);
        let (allowed, undated) = self.allowed_files(ask);
        let allow = |file: u32| allowed.get(file as usize).copied().unwrap_or(false);
        let mut found = CandidateSet {
            undated,
            ..CandidateSet::default()
        };
        if let Some(query) = wanted.query {
            found.vector = index.find_vector_hits(slots, query, &allow, wanted.vector_pool)?;
        }
        let question = wanted.question;
        if wanted.mode != RecallMode::Vector {
            found.text =
                index.find_text_hits(slots, &question.query_words(), &allow, wanted.text_pool)?;
        }
        for string in literal_strings(question, &found.text, wanted.mode) {
            let hits = index.find_literal_hits(slots, &string, &allow, MAX_LITERAL_PASSAGES)?;
            found.literal.extend(hits);
        }
        Ok(found)
    }

    fn file_of(&self, chunk: u32) -> Option<u32> {
        self.slots.file(chunk)
    }

    fn read_passages(&self, chunks: &[u32]) -> Result<Vec<StoredPassage>, IndexError> {
        let mut passages = self.index.passages(chunks)?;
        for passage in &mut passages {
            if self.archived.contains(&passage.file) {
                passage.scope = ARCHIVE_SCOPE.to_owned();
            }
        }
        Ok(passages)
    }

    fn find_replacements(&self, _: &HashSet<&str>) -> Result<HashMap<String, String>, IndexError> {
        standing::resolve_replacements(self.index, self.catalogue)
    }

    fn opening_passage(
        &self,
        ask: &RecallQuery,
        path: &str,
    ) -> Result<Option<StoredPassage>, IndexError> {
        let (allowed, _) = self.allowed_files(ask);
        let allow =
            |entry: &CatalogueEntry| allowed.get(entry.id as usize).copied().unwrap_or(false);
        if self.catalogue.iter().any(|e| e.path == path && allow(e)) {
            Ok(self.index.passages_of_file(path)?.into_iter().next())
        } else {
            Ok(None)
        }
    }

    fn page_families(&self, ask: &RecallQuery) -> PageFamilies {
        let (allowed, _) = self.allowed_files(ask);
        let allow = |entry: &&CatalogueEntry| {
            let is_allowed = allowed.get(entry.id as usize).copied();
            is_allowed.unwrap_or(false)
        };
        let entries = self.catalogue.iter().filter(allow);
        let paths: Vec<&str> = entries.map(|entry| entry.path.as_str()).collect();
        PageFamilies::of_paths(&paths)
    }

    fn holds(&self, ask: &RecallQuery, string: &str) -> Result<Option<bool>, IndexError> {
        let (allowed, _) = self.allowed_files(ask);
        let allow = |file: u32| allowed.get(file as usize).copied().unwrap_or(false);
        let hits = self
            .index
            .find_literal_hits(&self.slots, string, &allow, 1)?;
        Ok(Some(!hits.is_empty()))
    }

    fn explain_passage(&self, words: &TextQuery, chunk: u32) -> Result<Vec<TermMatch>, IndexError> {
        self.index.explain_score(&self.slots, words, chunk)
    }
}
