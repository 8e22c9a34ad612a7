//! Extracts the entry of a document. Pure: the same text gives the same entry,
//! whatever other files contain.
//!
//! Values are selected by new information per length: candidates are facts in
//! their own words and short phrases, each worth the rarity of the words that
//! no selected value has yet.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap, HashSet};

use jiff::civil::Date;

use super::prose::{self, ProseSentence, SentencePlace, document_sentences};
use super::words::{self, has_word};
use super::{ClosetEntry, ClosetField, MAX_ENTRY_CHARS, people};
use crate::document::{self, Document, TurnSpeaker, document_date, escape_markdown_line, when};
use crate::index::terms::TermSplitter;
use crate::secrets;

/// Inputs of an entry apart from the text.
#[derive(Debug, Clone, Copy)]
pub struct EntryContext<'a> {
    /// The name of the entry.
    pub name: &'a str,
    /// Whether the file is in an archive.
    pub archived: bool,
}

const MAX_DATES: usize = 10;
const MAX_DECISIONS: usize = 4;
const MAX_VALUE_CHARS: usize = 240;
/// Length above which parts of a sentence are candidates too.
const SPLIT_SENTENCE_CHARS: usize = 110;
/// Factor for the worth of a whole sentence over its words. It contains small
/// words without information, and yet states more than the phrases in it.
const SENTENCE_WORTH_FACTOR: f32 = 2.8;
/// Maximum number of words in a phrase.
const MAX_PHRASE_WORDS: usize = 4;

/// Extracts the entry of a document, with at most [`MAX_ENTRY_CHARS`] characters.
pub fn extract_entry(document: &Document, context: &EntryContext) -> ClosetEntry {
    // An entry is copied to another file, so it must not contain secrets.
    match secrets::redact_secrets(&document.text) {
        Cow::Borrowed(_) => build_entry(document, context),
        Cow::Owned(text) => build_entry(&document::parse_document(text), context),
    }
}

fn build_entry(document: &Document, context: &EntryContext) -> ClosetEntry {
    let sentences = document_sentences(document);
    let date = document_date(document, context.name);
    let mut entry = ClosetEntry {
        people: people::find_people(document, &sentences),
        dates: collect_dates(&sentences, date),
        status: document_status(document, context),
        ..ClosetEntry::default()
    };
    let room = target_entry_chars(document)
        .saturating_sub(entry_overhead(context.name) + fields_length(&entry));
    let mut pool = CandidatePool::default();
    pool.offer_names(document);
    for (at, sentence) in sentences.iter().enumerate() {
        pool.offer_sentence(at, sentence);
    }
    pool.fill_entry(room, &mut entry);
    shorten_entry(&mut entry, context.name);
    entry
}

/// Returns the target length: about a tenth of the text, so that reading
/// entries is cheap, but enough for a short file to be found.
fn target_entry_chars(document: &Document) -> usize {
    let length = document.body.len();
    (length * 23 / 200).clamp(490, 1420).min(MAX_ENTRY_CHARS)
}

/// Returns the length of heading, stamp and line ends.
pub(super) fn entry_overhead(name: &str) -> usize {
    name.chars().count() + 56
}

fn fields_length(entry: &ClosetEntry) -> usize {
    let lines = entry.render_lines();
    lines.iter().map(|line| line.chars().count() + 1).sum()
}

/// Removes whole values while an entry is too long, from the longest field
/// first. The last resort if names are long.
pub(super) fn shorten_entry(entry: &mut ClosetEntry, name: &str) {
    while entry_overhead(name) + fields_length(entry) > MAX_ENTRY_CHARS {
        let longest = ClosetField::ALL[..5]
            .iter()
            .copied()
            .filter(|field| !entry.values(*field).is_empty())
            .max_by_key(|field| entry.render_field(*field).chars().count());
        match longest.and_then(|field| entry.values_mut(field)) {
            Some(values) => values.pop(),
            None => break,
        };
    }
}

fn document_status(document: &Document, context: &EntryContext) -> String {
    let front = document.front_matter.as_ref();
    let by_front = front
        .and_then(|front| front.text("status"))
        .map(|status| status.trim().to_lowercase())
        .filter(|status| {
            (1..=20).contains(&status.len())
                && status
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b == b'-')
        });
    let replaced = front.is_some_and(|front| {
        [
            "superseded-by",
            "superseded_by",
            "replaced-by",
            "replaced_by",
        ]
        .iter()
        .any(|key| front.list(key).iter().any(|by| !by.trim().is_empty()))
    });
    match by_front {
        Some(status) => status,
        None if replaced => "superseded".to_owned(),
        None if context.archived => "archived".to_owned(),
        None => "active".to_owned(),
    }
}

/// Collects the file's own date, then the dates that it names, relative ones
/// with their words.
fn collect_dates(sentences: &[ProseSentence], own: Option<Date>) -> Vec<String> {
    let mut out: Vec<String> = own.iter().map(Date::to_string).collect();
    let mut seen: HashSet<String> = out.iter().cloned().collect();
    let mut late = Vec::new();
    for sentence in sentences {
        for when in when::find_date_ranges(&sentence.text, own) {
            let day = when.to_compact_text();
            // The file's own date is in the list already.
            if !seen.insert(day.clone()) {
                continue;
            }
            let words = &sentence.text[when.span.clone()];
            let value = if when.relative {
                format!(
                    "{day} (\"{}\")",
                    escape_markdown_line(words).replace(['"', ','], "")
                )
            } else {
                day
            };
            match sentence.voice {
                TurnSpeaker::Assistant => late.push(value),
                _ => out.push(value),
            }
        }
    }
    out.append(&mut late);
    out.truncate(MAX_DATES);
    out
}

#[derive(Default)]
struct CandidatePool {
    terms: TermSplitter,
    ids: HashMap<String, usize>,
    /// How often each term occurs in the text.
    counts: Vec<u32>,
    candidates: Vec<EntryCandidate>,
    offered: HashSet<String>,
}

struct EntryCandidate {
    field: ClosetField,
    text: String,
    /// Term ids and their weights.
    term_weights: Vec<(usize, f32)>,
    factor: f32,
    /// Position in the text, which orders the values of the entry.
    at: usize,
    /// The sentence that it is from: only one candidate per sentence is
    /// selected. 0 excludes none.
    sentence: usize,
}

impl CandidatePool {
    /// Offers title, aliases and tags, which the author chose to describe the
    /// text.
    fn offer_names(&mut self, document: &Document) {
        if let Some(title) = document.title() {
            self.offer_candidate(ClosetField::Subjects, title, 2.0, 0, 0);
        }
        if let Some(front) = &document.front_matter {
            for key in ["aliases", "alias", "tags", "keywords", "projects", "topics"] {
                for value in front.list(key) {
                    let value = value.trim_start_matches("[[").trim_end_matches("]]");
                    self.offer_candidate(ClosetField::Subjects, value, 1.5, 0, 0);
                }
            }
        }
    }

    fn offer_sentence(&mut self, at: usize, sentence: &ProseSentence) {
        let text = strip_throat_clearing(&sentence.text);
        let spoken = sentence.voice != TurnSpeaker::Assistant;
        let question = text.ends_with('?');
        let lower = text.to_lowercase();
        let at = at + 1;
        let decides = spoken && !question && reports_decision(&lower);
        if spoken && !question && sentence.place != SentencePlace::Heading {
            let stated = statement_worth(&lower, sentence);
            if decides || stated > 0.0 {
                let field = if decides {
                    ClosetField::Decisions
                } else {
                    ClosetField::Claims
                };
                let worth = SENTENCE_WORTH_FACTOR * if decides { 1.0 } else { stated };
                if text.chars().count() <= MAX_VALUE_CHARS {
                    self.offer_candidate(field, text, worth, at, at);
                }
                if text.chars().count() > SPLIT_SENTENCE_CHARS {
                    for clause in prose::split_clauses(text) {
                        let clause = strip_throat_clearing(clause);
                        let length = clause.chars().count();
                        if (12..=MAX_VALUE_CHARS).contains(&length) && length < text.len() {
                            self.offer_candidate(ClosetField::Claims, clause, worth * 0.95, at, at);
                        }
                    }
                }
            }
        }
        let factor = match (sentence.voice, sentence.place) {
            (TurnSpeaker::Assistant, SentencePlace::Running) => 0.25,
            (TurnSpeaker::Assistant, _) => 0.35,
            (_, SentencePlace::Heading) => 1.5,
            _ => 1.0,
        };
        for phrase in split_phrases(text) {
            self.offer_candidate(ClosetField::Subjects, phrase, factor, at, 0);
        }
    }

    fn offer_candidate(
        &mut self,
        field: ClosetField,
        text: &str,
        factor: f32,
        at: usize,
        sentence: usize,
    ) {
        let text = match field {
            ClosetField::Subjects => clean_subject(text),
            _ => clean_value(text, field),
        };
        if text.is_empty() {
            return;
        }
        let mut term_weights: Vec<(usize, f32)> = Vec::new();
        let mut known: HashSet<usize> = HashSet::new();
        let mut words: Vec<(std::ops::Range<usize>, String)> = Vec::new();
        self.terms
            .for_each_with_place(&text, |span, term| words.push((span, term.to_owned())));
        for (span, term) in words {
            let raw = &text[span.clone()];
            let capital = span.start > 0 && raw.starts_with(char::is_uppercase);
            let weight = words::word_weight(&raw.to_lowercase());
            if weight == 0.0 {
                continue;
            }
            let id = match self.ids.get(&term) {
                Some(id) => *id,
                None => {
                    self.ids.insert(term, self.counts.len());
                    self.counts.push(0);
                    self.counts.len() - 1
                }
            };
            self.counts[id] += 1;
            if known.insert(id) {
                term_weights.push((id, weight + if capital { 0.15 } else { 0.0 }));
            }
        }
        if term_weights.is_empty()
            || !self
                .offered
                .insert(format!("{}{}", field.name(), text.to_lowercase()))
        {
            return;
        }
        self.candidates.push(EntryCandidate {
            field,
            text,
            term_weights,
            factor,
            at,
            sentence,
        });
    }

    /// Selects the candidates with most information per length until the room
    /// is used. A candidate's gain only falls as others are selected, so a
    /// candidate that is best by an old gain, and still best after recomputing
    /// it, is the best of all.
    fn fill_entry(mut self, room: usize, entry: &mut ClosetEntry) {
        let mut covered = vec![0u8; self.counts.len()];
        // Names of people have their own field, so their words count as
        // covered.
        for name in &entry.people {
            for term in self.terms.distinct_terms(name) {
                if let Some(id) = self.ids.get(&term) {
                    covered[*id] = 1;
                }
            }
        }
        let mut used = HashSet::new();
        let mut taken: Vec<usize> = Vec::new();
        let mut left = room;
        let mut decisions = 0;
        let counts = &self.counts;
        let gain = |candidate: &EntryCandidate, covered: &[u8]| {
            let weight_gain: f32 = candidate
                .term_weights
                .iter()
                .map(|(id, weight)| {
                    let often = 1.0 + 0.25 * (counts[*id] as f32).ln();
                    weight * often * [1.0, 0.25, 0.08][covered[*id] as usize]
                })
                .sum();
            // The constant is the cost of starting a new value, which makes a
            // phrase better than its words one by one.
            candidate.factor * weight_gain / (candidate.text.chars().count() as f32 + 8.0)
        };
        let mut heap: BinaryHeap<RankedCandidate> = self
            .candidates
            .iter()
            .enumerate()
            .map(|(at, candidate)| RankedCandidate(gain(candidate, &covered), at))
            .collect();
        while let Some(RankedCandidate(old, at)) = heap.pop() {
            let candidate = &self.candidates[at];
            let cost = candidate.text.chars().count() + 4;
            let full = candidate.field == ClosetField::Decisions && decisions == MAX_DECISIONS;
            if cost > left || full || used.contains(&candidate.sentence) {
                continue;
            }
            let now = gain(candidate, &covered);
            // A negligible fall is not worth another round through the heap.
            if now < old * 0.999 {
                heap.push(RankedCandidate(now, at));
                continue;
            }
            // A phrase whose words are all covered adds nothing.
            let is_covered = candidate
                .term_weights
                .iter()
                .all(|(id, _)| covered[*id] > 0);
            if is_covered && candidate.field == ClosetField::Subjects {
                continue;
            }
            left -= cost;
            decisions += (candidate.field == ClosetField::Decisions) as usize;
            for (id, _) in &candidate.term_weights {
                covered[*id] = (covered[*id] + 1).min(2);
            }
            if candidate.sentence > 0 {
                used.insert(candidate.sentence);
            }
            taken.push(at);
        }
        taken.sort_by_key(|at| (self.candidates[*at].at, *at));
        for at in taken {
            let candidate = &self.candidates[at];
            if let Some(values) = entry.values_mut(candidate.field) {
                values.push(candidate.text.clone());
            }
        }
    }
}

/// A candidate by gain, then by position, so that equal gains have a stable
/// order.
struct RankedCandidate(f32, usize);

impl Ord for RankedCandidate {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0).then(other.1.cmp(&self.1))
    }
}

impl PartialOrd for RankedCandidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for RankedCandidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for RankedCandidate {}

fn strip_throat_clearing(text: &str) -> &str {
    let mut text = text;
    'again: loop {
        for opening in words::THROAT_CLEARING {
            let head = text.get(..opening.len());
            if head.is_some_and(|head| head.eq_ignore_ascii_case(opening)) {
                text = text[opening.len()..].trim_start();
                continue 'again;
            }
        }
        return text;
    }
}

fn reports_decision(lower: &str) -> bool {
    words::DECISION_VERBS.iter().any(|verb| {
        memchr::memmem::find_iter(lower.as_bytes(), verb.as_bytes()).any(|at| {
            // `picked up` and `dropped by` are not decisions.
            let behind = &lower[at + verb.len()..];
            let another = [" up", " off", " by", " out", " in "];
            !lower[..at].ends_with(char::is_alphanumeric)
                && !another.iter().any(|it| behind.starts_with(it))
        })
    })
}

/// Rates how likely a sentence in lower case is a fact that its speaker states:
/// about themselves, or with a number, a denial or a requirement. From 0 to 1.
fn statement_worth(lower: &str, sentence: &ProseSentence) -> f32 {
    if lower.split(' ').count() < 3
        || words::INTRODUCTION_OPENINGS
            .iter()
            .any(|it| lower.starts_with(it))
    {
        return 0.0;
    }
    let words = || {
        lower
            .split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’')
            .filter(|word| !word.is_empty())
    };
    if words().any(|word| has_word(words::FIRST_PERSON_WORDS, &word.replace('’', "'"))) {
        return 1.0;
    }
    let firm = words()
        .any(|word| word.bytes().any(|b| b.is_ascii_digit()) || has_word(words::FIRM_WORDS, word));
    match (firm, sentence.voice, sentence.place) {
        // Lists that a user pastes are rarely about the user.
        (_, TurnSpeaker::User, SentencePlace::Item) => 0.0,
        (true, _, _) => 0.7,
        (false, TurnSpeaker::User, _) => 0.6,
        (false, _, _) => 0.0,
    }
}

/// Splits text into runs of informative words, at most four long.
fn split_phrases(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut run: Vec<std::ops::Range<usize>> = Vec::new();
    let mut flush = |run: &mut Vec<std::ops::Range<usize>>| {
        for part in run.chunks(MAX_PHRASE_WORDS) {
            // Trim words of small talk at the ends.
            let weak = |span: &std::ops::Range<usize>| {
                words::word_weight(&text[span.clone()].to_lowercase()) < 0.2
            };
            let first = part.iter().position(|span| !weak(span));
            let last = part.iter().rposition(|span| !weak(span));
            if let (Some(first), Some(last)) = (first, last) {
                out.push(&text[part[first].start..part[last].end]);
                // A single word may fit where the run does not.
                if last > first {
                    for span in &part[first..=last] {
                        if !weak(span) {
                            out.push(&text[span.clone()]);
                        }
                    }
                }
            }
        }
        run.clear();
    };
    let mut at = 0;
    while let Some(skip) = text[at..].find(|c: char| c.is_alphanumeric() || c == '$' || c == '€')
    {
        let start = at + skip;
        let rest = &text[start..];
        let mut length = rest
            .find(|c: char| {
                c.is_whitespace()
                    || matches!(c, ',' | ';' | '(' | ')' | '"' | '“' | '”' | '—' | '–')
            })
            .unwrap_or(rest.len());
        let word = rest[..length].trim_end_matches(|c: char| !c.is_alphanumeric() && c != '%');
        length = length.max(1);
        let gap = &text[at..start];
        if gap.chars().any(|c| !c.is_whitespace()) || gap.is_empty() && at > 0 {
            flush(&mut run);
        }
        let lower = word.to_lowercase();
        if word.is_empty() || words::word_weight(&lower) == 0.0 || word.len() > 60 {
            flush(&mut run);
        } else {
            run.push(start..start + word.len());
            if word.len() < length {
                flush(&mut run);
            }
        }
        at = start + length;
        while !text.is_char_boundary(at) {
            at += 1;
        }
    }
    flush(&mut run);
    out
}

/// Cleans a subject, which must not contain commas, since commas separate
/// subjects.
fn clean_subject(text: &str) -> String {
    let plain = prose::plain_text(text).replace([',', ';', '"'], " ");
    let plain = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    let plain =
        inert_value(plain.trim_matches(|c: char| {
            !c.is_alphanumeric() && !matches!(c, '$' | '€' | '%' | '+' | '#')
        }));
    if plain.chars().count() > 80 {
        String::new()
    } else {
        plain
    }
}

/// Cleans a value: a claim is written in quotation marks, decisions are
/// separated by semicolons.
pub(super) fn clean_value(text: &str, field: ClosetField) -> String {
    let text = prose::plain_text(text);
    let text = match field {
        ClosetField::Decisions => text.replace("; ", ", "),
        _ => text.replace('"', "'"),
    };
    inert_value(text.trim_end_matches(['.', ' ']))
}

/// Removes characters that would end a value, or become a link, a comment or
/// HTML.
fn inert_value(text: &str) -> String {
    let mut text = text.replace("](", "] (").replace(['[', ']'], "");
    if text.contains('<') {
        text = text.replace('<', "‹");
    }
    escape_markdown_line(&text)
}
