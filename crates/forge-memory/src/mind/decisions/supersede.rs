//! Finds decisions that later ones replaced, and marks them.
//!
//! A later decision must name what it ends: by id, by date, or by the words
//! after "instead of" and similar triggers. Decisions that are merely about the
//! same topic are left alone. Marking adds to an entry and never removes a
//! word.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use jiff::civil::Date;

use super::{Decision, DecisionForm, id_at_start, parse_decisions};
use crate::document::{self, Document, TextEdit};
use crate::mind::values::{apply_edits, first_date, list_marker_length, parse_labelled};
use crate::mind::{MindError, MindFile, MindStore};

/// A decision that a later one replaced, although its entry does not state so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Supersession {
    /// The decision that was replaced.
    pub older: Decision,
    /// The decision that replaced it.
    pub newer: Decision,
    /// The trigger word, such as "replaces".
    pub word: &'static str,
}

/// The span of a decision in its file, and its successor, if any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionSpan {
    /// Byte range in the file's text.
    pub span: Range<usize>,
    /// A description of what replaced it.
    pub ended: Option<String>,
}

/// Triggers after which, or before which, the replaced thing is named.
const SUPERSEDING_WORDS: [&str; 7] = [
    "supersedes",
    "replaces",
    "instead of",
    "no longer",
    "dropped",
    "reverses",
    "overrides",
];

/// Words that end the description of the replaced thing.
const CLAUSE_END_WORDS: [&str; 12] = [
    "because", "since", "with", "in", "as", "so", "and", "but", "to", "after", "until", "when",
];

/// Words that are too common to compare decisions by.
const COMMON_WORDS: [&str; 63] = [
    "the", "and", "for", "with", "from", "that", "this", "are", "was", "were", "will", "have",
    "has", "had", "not", "all", "any", "our", "use", "used", "using", "uses", "its", "into",
    "than", "then", "them", "they", "their", "also", "only", "over", "per", "via", "now", "new",
    "old", "one", "two", "more", "most", "can", "may", "must", "should", "would", "about", "after",
    "before", "because", "since", "every", "each", "until", "when", "what", "which", "who", "but",
    "keep", "make", "decided", "decision",
];

/// Maximum number of words on either side of the trigger that are examined.
const MAX_REACH_WORDS: usize = 6;

/// Limits that keep comparison from becoming quadratic in the file: things that
/// one decision may end, earlier decisions that each is compared with (latest
/// first), and words by which two decisions are compared.
const MAX_OBJECTS_PER_DECISION: usize = 8;
const MAX_EARLIER_CANDIDATES: usize = 64;
const MAX_COMPARED_WORDS: usize = 128;

impl MindStore<'_> {
    /// Finds unmarked decisions that a later one explicitly replaces.
    pub fn find_supersessions(&self) -> Result<Vec<Supersession>, MindError> {
        let all = self.read_decisions()?;
        let found = match_supersessions(&all).into_iter();
        Ok(found
            .filter(|it| !all[it.older].superseded)
            .map(|it| Supersession {
                older: all[it.older].clone(),
                newer: all[it.newer].clone(),
                word: it.word,
            })
            .collect())
    }

    /// Reads the decisions in the order of the file, each with the index of its
    /// successor, if one is named.
    pub fn read_decision_lineage(&self) -> Result<Vec<(Decision, Option<usize>)>, MindError> {
        let all = self.read_decisions()?;
        let by = find_successors(&all);
        Ok(all.into_iter().zip(by).collect())
    }

    /// Returns the span of each decision in its file, and what replaced it.
    pub fn decision_spans(&self) -> Result<Vec<DecisionSpan>, MindError> {
        let Some(document) = self.parse_document(MindFile::Decisions)? else {
            return Ok(Vec::new());
        };
        let all = parse_decisions(&document);
        let path = self.files.path(MindFile::Decisions);
        let by = find_successors(&all);
        let standing = all.iter().zip(by).map(|(it, by)| {
            let ended = (it.superseded || by.is_some()).then(|| match by {
                Some(by) => match (&all[by].id, all[by].form) {
                    (Some(id), DecisionForm::Block) => format!("{id} ({path}:{})", all[by].line),
                    _ => format!("{path}:{}", all[by].line),
                },
                None => match it.superseded_on {
                    Some(day) => format!("a decision of {day}"),
                    None => "a later decision".to_owned(),
                },
            });
            DecisionSpan {
                span: it.span.clone(),
                ended,
            }
        });
        let mut standing: Vec<DecisionSpan> = standing.collect();
        standing.sort_by_key(|it| it.span.start);
        Ok(standing)
    }
}

/// Maximum number of passes over a file; a later run handles the rest.
pub(super) const MAX_ROUNDS: usize = 16;

/// Marks every unmarked supersession, and returns how many there were. A mark
/// can reveal another supersession, so it repeats until none is left; each
/// round leaves fewer decisions unmarked, which bounds the loop.
pub fn mark_superseded_decisions(
    path: &impl ToString,
    mut text: String,
    today: Date,
) -> Result<(String, usize), MindError> {
    let mut total = 0;
    for _ in 0..MAX_ROUNDS {
        let (after, count) = mark_one_round(path, text, today)?;
        total += count;
        text = after;
        if count == 0 {
            break;
        }
    }
    Ok((text, total))
}

fn mark_one_round(
    path: &impl ToString,
    text: String,
    today: Date,
) -> Result<(String, usize), MindError> {
    let document = document::parse_document(text);
    let all = parse_decisions(&document);
    let mut edits = Vec::new();
    let mut done = HashSet::new();
    for found in match_supersessions(&all) {
        let (older, newer) = (&all[found.older], &all[found.newer]);
        if !older.superseded && done.insert(found.older) {
            edits.extend(annotation_edit(&document, older, newer, today));
        }
    }
    if edits.is_empty() {
        return Ok((document.text, 0));
    }
    let count = done.len();
    let after = apply_edits(path, &document.text, edits)?;
    let marked = parse_decisions(&document::parse_document(after.clone()));
    let safe = marked.len() == all.len() && done.iter().all(|&at| marked[at].superseded);
    if safe {
        Ok((after, count))
    } else {
        Err(MindError::Unsafe {
            path: path.to_string(),
            why: "a marked decision would not be read as one",
        })
    }
}

/// Finds the successor of each decision.
fn find_successors(all: &[Decision]) -> Vec<Option<usize>> {
    let mut by: Vec<Option<usize>> = vec![None; all.len()];
    for found in match_supersessions(all) {
        by[found.older].get_or_insert(found.newer);
    }
    let by_id: HashMap<&str, usize> = index_by_id(all);
    let by_day = group_by_day(all);
    for (at, decision) in all.iter().enumerate() {
        if by[at].is_some() || !decision.superseded {
            continue;
        }
        let status = decision.status.as_deref().unwrap_or("");
        let named = mentioned_ids(status)
            .find_map(|id| by_id.get(id.as_str()).copied())
            .filter(|other| *other != at);
        // If several decisions have that day, none of them is certain to be
        // meant.
        let dated = || {
            let same = by_day.get(&decision.superseded_on?)?;
            match same[same.partition_point(|it| *it <= at)..] {
                [only] => Some(only),
                _ => None,
            }
        };
        by[at] = named.or_else(dated);
    }
    by
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SupersessionMatch {
    pub(super) older: usize,
    pub(super) newer: usize,
    word: &'static str,
}

/// The words of a decision, and the things that it ends.
struct DecisionWords {
    all: HashSet<String>,
    /// The words without those that name what it ended itself.
    kept: HashSet<String>,
    /// Words spelled like a name: `MySQL`, `PR-12`.
    names: HashSet<String>,
    objects: Vec<SupersededObject>,
}

struct SupersededObject {
    word: &'static str,
    text: String,
    terms: Vec<String>,
}

/// Finds every explicitly stated supersession, marked or not, in the order of
/// the decisions that state it.
pub(super) fn match_supersessions(all: &[Decision]) -> Vec<SupersessionMatch> {
    let words: Vec<DecisionWords> = all
        .iter()
        .map(|it| DecisionWords::from_text(&statement_text(it)))
        .collect();
    let mut with: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, words) in words.iter().enumerate() {
        for word in &words.kept {
            with.entry(word).or_default().push(at);
        }
    }
    let by_id = index_by_id(all);
    let by_day = group_by_day(all);
    let mut found: Vec<SupersessionMatch> = Vec::new();
    let mut known: HashSet<(usize, usize)> = HashSet::new();
    for (newer, own) in words.iter().enumerate() {
        for object in &own.objects {
            let mut add = |older: usize| {
                if known.insert((older, newer)) {
                    found.push(SupersessionMatch {
                        older,
                        newer,
                        word: object.word,
                    });
                }
            };
            let named: Vec<usize> = mentioned_ids(&object.text)
                .filter_map(|id| by_id.get(id.as_str()).copied())
                .filter(|older| *older < newer)
                .collect();
            if !named.is_empty() {
                named.into_iter().for_each(&mut add);
                continue;
            }
            let day = first_date(&object.text);
            let candidates: HashSet<usize> = match day {
                Some(day) => latest_before(by_day.get(&day), newer).collect(),
                None => object
                    .terms
                    .iter()
                    .filter_map(|term| with.get(term.as_str()))
                    // A word in more than a quarter of the decisions does not
                    // identify one.
                    .filter(|places| places.len() <= (all.len() / 4).max(3))
                    .flat_map(|places| latest_before(Some(places), newer))
                    .filter(|&older| !is_dated_later(&all[older], &all[newer]))
                    .collect(),
            };
            if let ([only], Some(_)) = (&Vec::from_iter(&candidates)[..], day) {
                add(**only);
                continue;
            }
            let best = candidates
                .into_iter()
                .filter_map(|older| match day {
                    Some(_) => {
                        Some((count_shared_words(&words[older], own), older)).filter(|it| it.0 > 0)
                    }
                    None => Some((score_match(&words[older], own, object)?, older)),
                })
                .max();
            if let Some((_, older)) = best {
                add(older);
            }
        }
    }
    found
}

/// Groups the decisions by day, in their order.
fn group_by_day(all: &[Decision]) -> HashMap<Date, Vec<usize>> {
    let mut days: HashMap<Date, Vec<usize>> = HashMap::new();
    for (at, decision) in all.iter().enumerate() {
        if let Some(day) = decision.date {
            days.entry(day).or_default().push(at);
        }
    }
    days
}

/// Returns the latest indices before `newer`, at most [`MAX_EARLIER_CANDIDATES`].
fn latest_before(places: Option<&Vec<usize>>, newer: usize) -> impl Iterator<Item = usize> {
    let places = places.map_or(&[][..], Vec::as_slice);
    let earlier = &places[..places.partition_point(|it| *it < newer)];
    earlier.iter().rev().take(MAX_EARLIER_CANDIDATES).copied()
}

/// Scores how likely `older` is what `object` names; returns none if the
/// evidence is too weak.
fn score_match(
    older: &DecisionWords,
    newer: &DecisionWords,
    object: &SupersededObject,
) -> Option<usize> {
    let named: Vec<&String> = object
        .terms
        .iter()
        .filter(|term| older.kept.contains(*term))
        .collect();
    let by_name = named
        .iter()
        .any(|term| older.names.contains(*term) || newer.names.contains(*term));
    let shared = count_shared_words(older, newer);
    // A shared name is evidence enough; otherwise two words must be shared.
    (by_name && !named.is_empty() || !named.is_empty() && shared >= 2)
        .then_some(named.len() * 4 + shared)
}

fn count_shared_words(older: &DecisionWords, newer: &DecisionWords) -> usize {
    older.kept.intersection(&newer.all).count()
}

fn is_dated_later(older: &Decision, newer: &Decision) -> bool {
    matches!((older.date, newer.date), (Some(older), Some(newer)) if older > newer)
}

/// Returns the text of an entry by which it is compared: title and decision,
/// without rationale.
fn statement_text(decision: &Decision) -> String {
    match &decision.decision {
        Some(text) if decision.form == DecisionForm::Block => {
            // `Superseded by …` describes its own end and would match as a
            // trigger; only the status before it counts.
            let status = decision.status.as_deref().unwrap_or("");
            let status = match (decision.superseded, status.split_once("(was ")) {
                (true, Some((_, was))) => was.strip_suffix(')').unwrap_or(was),
                (true, None) => "",
                (false, _) => status,
            };
            format!("{}. {text}. {status}", decision.title)
        }
        Some(text) => text.clone(),
        None => decision.title.clone(),
    }
}

impl DecisionWords {
    fn from_text(text: &str) -> DecisionWords {
        let tokens = tokenize_words(text);
        let mut names = HashSet::new();
        for token in &tokens {
            let written = &text[token.start..token.end];
            let inner = written
                .chars()
                .skip(1)
                .any(|c| c.is_uppercase() || c.is_ascii_digit());
            let first = written.starts_with(char::is_uppercase) && !token.begins;
            if inner || first {
                names.insert(token.term.clone());
            }
        }
        // `…; replaces old (was 2026-01-03)` has absorbed what it ended, so it
        // ends nothing else.
        let taken_in = text.rsplit_once("(was ").is_some_and(|(_, rest)| {
            let day = rest.get(..10).and_then(|it| it.parse::<Date>().ok());
            day.is_some() && text.contains("; replaces ")
        });
        let mut objects = Vec::new();
        let mut ended = HashSet::new();
        let lower = text.to_lowercase();
        // Lower-casing may change the length; offsets would then not match the
        // text.
        let searched = if lower.len() == text.len() {
            &lower
        } else {
            text
        };
        'words: for word in SUPERSEDING_WORDS {
            for (at, _) in searched.match_indices(word) {
                if objects.len() == MAX_OBJECTS_PER_DECISION {
                    break 'words;
                }
                let end = at + word.len();
                let whole = !searched[..at].ends_with(char::is_alphanumeric)
                    && !searched[end..].starts_with(char::is_alphanumeric);
                if !whole {
                    continue;
                }
                let after: Vec<&DecisionToken> = tokens
                    [tokens.partition_point(|it| it.start < end)..]
                    .iter()
                    .take(MAX_REACH_WORDS)
                    .take_while({
                        let mut last = end;
                        move |it| {
                            let gap = &text[last..it.start];
                            last = it.end;
                            !gap.contains(['.', ';', ':', '(', ')', '—', '–', '\n'])
                                && !CLAUSE_END_WORDS.contains(&it.term.as_str())
                        }
                    })
                    .collect();
                let passive = matches!(word, "no longer" | "dropped");
                let before: Vec<&DecisionToken> = if passive {
                    tokens[..tokens.partition_point(|it| it.end <= at)]
                        .iter()
                        .rev()
                        .take(MAX_REACH_WORDS)
                        .take_while({
                            let mut last = at;
                            move |it| {
                                let gap = &text[it.end..last];
                                last = it.start;
                                !gap.contains(['.', ';', ':', '(', ')', '—', '–', '\n', ','])
                            }
                        })
                        .collect()
                } else {
                    Vec::new()
                };
                let to = after.last().map_or(end, |it| it.end);
                let terms: Vec<String> = before
                    .iter()
                    .chain(&after)
                    .map(|it| it.term.clone())
                    .filter(|it| is_content_term(it))
                    .collect();
                ended.extend(after.iter().map(|it| it.term.clone()));
                if taken_in {
                    continue;
                }
                objects.push(SupersededObject {
                    word,
                    text: rest_of_clause(text, end, to),
                    terms,
                });
            }
        }
        let all: HashSet<String> = tokens
            .into_iter()
            .map(|it| it.term)
            .filter(|it| is_content_term(it))
            .take(MAX_COMPARED_WORDS)
            .collect();
        let kept = all.difference(&ended).cloned().collect();
        DecisionWords {
            all,
            kept,
            names,
            objects,
        }
    }
}

/// Returns the rest of the clause, since ids and dates may be in brackets or
/// after a colon.
fn rest_of_clause(text: &str, from: usize, at_least: usize) -> String {
    let rest = &text[from..];
    let end = rest.find(['.', ';', '\n']).unwrap_or(rest.len());
    text[from..(from + end).max(at_least)].to_owned()
}

/// Returns the words of a text that identify its topic.
pub fn content_words(text: &str) -> HashSet<String> {
    let terms = tokenize_words(text).into_iter().map(|it| it.term);
    terms.filter(|it| is_content_term(it)).collect()
}

struct DecisionToken {
    start: usize,
    end: usize,
    term: String,
    /// Whether it begins a sentence, where a capital letter means nothing.
    begins: bool,
}

fn tokenize_words(text: &str) -> Vec<DecisionToken> {
    let mut found: Vec<DecisionToken> = Vec::new();
    let mut start: Option<usize> = None;
    let inside = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '\'');
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        match (start, inside(c)) {
            (None, true) => start = Some(at),
            (Some(from), false) => {
                let word = text[from..at].trim_end_matches(['-', '\'']);
                let last = found.last().map_or(0, |it| it.end);
                let begins = found.is_empty() || text[last..from].contains(['.', ':', '?', '!']);
                found.push(DecisionToken {
                    start: from,
                    end: from + word.len(),
                    term: normalize_term(word),
                    begins,
                });
                start = None;
            }
            _ => {}
        }
    }
    found
}

fn normalize_term(word: &str) -> String {
    let word = word.to_lowercase();
    let word = word.strip_suffix("'s").unwrap_or(&word);
    match word.strip_suffix('s') {
        Some(stem) if stem.len() > 3 && !stem.ends_with('s') => stem.to_owned(),
        _ => word.to_owned(),
    }
}

fn is_content_term(term: &str) -> bool {
    term.chars().count() > 2 && !COMMON_WORDS.contains(&term)
}

fn index_by_id(all: &[Decision]) -> HashMap<&str, usize> {
    let mut by: HashMap<&str, usize> = HashMap::new();
    for (at, decision) in all.iter().enumerate() {
        if decision.form == DecisionForm::Block
            && let Some(id) = decision.id.as_deref()
        {
            by.entry(id).or_insert(at);
        }
    }
    by
}

/// Finds every `DEC-007` of a text.
fn mentioned_ids(text: &str) -> impl Iterator<Item = String> + '_ {
    text.char_indices()
        .filter(|(at, c)| {
            matches!(c, 'D' | 'd') && !text[..*at].ends_with(|c: char| c.is_alphanumeric())
        })
        .filter_map(|(at, _)| id_at_start(&text[at..]).map(|(id, _)| id))
}

/// Returns the edit that marks an entry as superseded.
fn annotation_edit(
    document: &Document,
    older: &Decision,
    newer: &Decision,
    today: Date,
) -> Option<TextEdit> {
    let day = newer.date.unwrap_or(today);
    if older.form == DecisionForm::Block {
        return Some(block_status_edit(document, older, newer, day));
    }
    let line = document.span_text(&older.span);
    let text = line.trim_end();
    let indent = text.len() - text.trim_start().len();
    let mark = list_marker_length(text.trim_start()).unwrap_or(0);
    let body = (indent + mark).min(text.len());
    let body = body + (text[body..].len() - text[body..].trim_start().len());
    let fact = &text[body..];
    // Existing strike-through inside would end the new one too early.
    let struck = if fact.contains('~') || fact.ends_with('\\') {
        format!("{fact} (superseded {day})")
    } else {
        format!("~~{fact}~~ (superseded {day})")
    };
    Some(TextEdit {
        span: older.span.start + body..older.span.start + text.len(),
        text: struck,
    })
}

/// Returns the edit that sets
/// `- **Status:** Superseded by DEC-009 (was Final)`.
fn block_status_edit(
    document: &Document,
    older: &Decision,
    newer: &Decision,
    day: Date,
) -> TextEdit {
    let by = match (&newer.id, newer.form) {
        (Some(id), DecisionForm::Block) => format!("Superseded by {id}"),
        _ => format!("Superseded {day}"),
    };
    let place = document
        .sections
        .partition_point(|it| it.heading.start < older.span.start || it.level == 0);
    let section = &document.sections[place];
    debug_assert_eq!(
        section.span, older.span,
        "a block is a section of the document it was read from"
    );
    let mut at = section.own.start;
    let mut behind = None;
    for line in document.span_text(&section.own).split_inclusive('\n') {
        let text = line.trim_end();
        let lead = text.len() - text.trim_start().len();
        let mark = list_marker_length(text.trim_start()).unwrap_or(0);
        let body = (lead + mark).min(text.len());
        if let Some((key, value)) =
            parse_labelled(&text[body..]).filter(|_| !document.is_in_code(at))
        {
            if key == "status" {
                let from = at + text.len() - value.len();
                let was = if value.is_empty() {
                    String::new()
                } else {
                    format!(" (was {value})")
                };
                let gap = if document.text[..from].ends_with([' ', '\t']) {
                    ""
                } else {
                    " "
                };
                return TextEdit {
                    span: from..at + text.len(),
                    text: format!("{gap}{by}{was}"),
                };
            }
            behind = Some((at + text.len(), &text[..body]));
        } else if let Some((end, _)) = &mut behind
            && text.starts_with([' ', '\t'])
        {
            // A continuation line of the field.
            *end = at + text.len();
        }
        at += line.len();
    }
    let nl = document.newline();
    match behind {
        Some((end, mark)) => TextEdit {
            span: end..end,
            text: format!("{nl}{mark}**Status:** {by}"),
        },
        None => document.append_to_section(place, &format!("- **Status:** {by}")),
    }
}
