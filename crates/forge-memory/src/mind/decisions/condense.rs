//! Condenses a long file of dated decisions without rewording it: a decision
//! absorbs the one it replaced, and decisions of one week about one topic move
//! below a common line. No word is lost, and none is added except dates and
//! words of the decisions themselves.

use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::civil::Date;

use super::forms::strip_annotation;
use super::supersede::{self, content_words};
use super::{Decision, DecisionForm, parse_decisions};
use crate::document::{self, Document, TextEdit};
use crate::mind::MindError;
use crate::mind::values::{self, apply_edits, list_marker_length};

/// Counts of condensed decisions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CondenseOutcome {
    /// Number of decisions that absorbed the one they replaced.
    pub pairs: usize,
    /// Number of weeks that were gathered, and of decisions in them.
    pub clusters: usize,
    /// Number of decisions in these weeks.
    pub gathered: usize,
}

impl CondenseOutcome {
    /// Returns `true` if nothing was condensed.
    pub fn is_noop(&self) -> bool {
        self.pairs + self.clusters == 0
    }
}

/// Number of decisions of a week from which they get a common line.
const MIN_CLUSTER_DECISIONS: usize = 3;
/// Maximum number of later decisions of the same week that each decision is
/// compared with. No person decides more in a week, but a file may contain any
/// number, and comparison is quadratic.
const MAX_COMPARED_DECISIONS: usize = 64;

/// Joins superseded pairs and gathers weeks of related decisions. Idempotent: a
/// second run changes nothing.
pub fn condense_decisions(
    path: &impl ToString,
    text: String,
) -> Result<(String, CondenseOutcome), MindError> {
    let mut done = CondenseOutcome::default();
    let mut after = text.clone();
    let mut kept = HashSet::new();
    // A joined pair may allow another one: repeat until nothing changes, with a
    // bound.
    for _ in 0..supersede::MAX_ROUNDS {
        let (joined, pairs) = join_pairs(path, &after, &mut kept)?;
        let (gathered, weeks, count) = gather_clusters(path, &joined)?;
        after = gathered;
        done.pairs += pairs;
        done.clusters += weeks;
        done.gathered += count;
        if pairs + weeks == 0 {
            break;
        }
    }
    kept.extend(collect_facts(&after));
    if collect_facts(&text).is_subset(&kept) {
        Ok((after, done))
    } else {
        Err(lost_words_error(path))
    }
}

fn lost_words_error(path: &impl ToString) -> MindError {
    MindError::Unsafe {
        path: path.to_string(),
        why: "a decision would not be found in its own words",
    }
}

fn collect_facts(text: &str) -> HashSet<String> {
    let document = document::parse_document(text.to_owned());
    let lines = parse_decisions(&document).into_iter();
    lines
        .filter(|it| it.form == DecisionForm::Line)
        .filter_map(|it| extract_fact(&it.text).map(str::to_owned))
        .collect()
}

/// Returns the statement of a dated line, without markers and dates around it.
fn extract_fact(line: &str) -> Option<&str> {
    let line = line.trim();
    let line = list_marker_length(line).map_or(line, |it| line[it.min(line.len())..].trim_start());
    let line = strip_annotation(line).trim_end();
    let whole = line.strip_prefix("~~").and_then(|it| it.strip_suffix("~~"));
    let line = whole.unwrap_or(line);
    let (_, rest) = line.strip_prefix("**")?.split_once("**")?;
    let fact = rest
        .trim_start()
        .trim_start_matches(['-', '–', '—', ':'])
        .trim();
    let inner = fact.strip_prefix("~~").and_then(|it| it.strip_suffix("~~"));
    Some(inner.unwrap_or(fact)).filter(|it| !it.is_empty())
}

/// Finds dated entries at the left edge that consist of one line.
fn find_plain_lines(document: &Document, all: &[Decision]) -> HashSet<usize> {
    let alone = |it: &Decision| {
        let rest = &document.text[it.span.end..];
        let next = rest.lines().next().unwrap_or("");
        let is_continued = next.starts_with([' ', '\t']) && !next.trim().is_empty();
        let outer = !document.span_text(&it.span).starts_with([' ', '\t']);
        it.form == DecisionForm::Line
            && it.date.is_some()
            && outer
            && !is_continued
            && extract_fact(&it.text).is_some()
    };
    (0..all.len()).filter(|at| alone(&all[*at])).collect()
}

/// Joins each superseded pair into `**new** - fact; replaces old (was date)`.
/// Adds the joined facts to `kept`, so that the caller can verify that none was
/// lost.
fn join_pairs(
    path: &impl ToString,
    text: &str,
    kept: &mut HashSet<String>,
) -> Result<(String, usize), MindError> {
    let document = document::parse_document(text.to_owned());
    let all = parse_decisions(&document);
    let plain = find_plain_lines(&document, &all);
    let mut busy = HashSet::new();
    let mut edits = Vec::new();
    let mut joined = Vec::new();
    for found in supersede::match_supersessions(&all) {
        let (older, newer) = (&all[found.older], &all[found.newer]);
        let both = [found.older, found.newer];
        let fits = both
            .iter()
            .all(|at| plain.contains(at) && !busy.contains(at))
            && !newer.superseded
            && older
                .superseded_on
                .is_none_or(|day| Some(day) == newer.date);
        let (Some(old), Some(day)) = (extract_fact(&older.text), older.date) else {
            continue;
        };
        if !fits {
            continue;
        }
        busy.extend(both);
        let line = document.span_text(&newer.span);
        let end = newer.span.start + line.trim_end().len();
        let words = format!("; replaces {old} (was {day})");
        joined.push(format!("{}{words}", line.trim()));
        edits.push(TextEdit {
            span: end..end,
            text: words,
        });
        edits.push(document.delete_lines(span_with_gap(&document, older)));
        kept.insert(old.to_owned());
        kept.extend(extract_fact(&newer.text).map(str::to_owned));
    }
    let after = apply_edits(path, text, edits)?;
    let lines: HashSet<&str> = after.lines().map(str::trim).collect();
    if joined.iter().all(|it| lines.contains(it.as_str())) {
        Ok((after, joined.len()))
    } else {
        Err(lost_words_error(path))
    }
}

/// Returns the span of an entry with the blank line after it, if another blank
/// line precedes it.
fn span_with_gap(document: &Document, entry: &Decision) -> std::ops::Range<usize> {
    let before = document.text[..entry.span.start].lines().next_back();
    let mut lines = document.text[entry.span.end..].split_inclusive('\n');
    let gap = match (before.map(str::trim), lines.next()) {
        (Some("") | None, Some(next)) if next.trim().is_empty() => next.len(),
        _ => 0,
    };
    entry.span.start..entry.span.end + gap
}

/// Gathers related decisions of a week below `**first–last** - topic`,
/// verbatim.
fn gather_clusters(path: &impl ToString, text: &str) -> Result<(String, usize, usize), MindError> {
    let document = document::parse_document(text.to_owned());
    let all = parse_decisions(&document);
    let plain = find_plain_lines(&document, &all);
    let mut weeks: BTreeMap<(i16, i8), Vec<usize>> = BTreeMap::new();
    for (at, decision) in all.iter().enumerate() {
        if let Some(date) = decision.date.filter(|_| plain.contains(&at)) {
            let week = date.iso_week_date();
            weeks
                .entry((week.year(), week.week()))
                .or_default()
                .push(at);
        }
    }
    let words: HashMap<usize, HashSet<String>> = (plain.iter())
        .map(|at| {
            (
                *at,
                content_words(extract_fact(&all[*at].text).unwrap_or("")),
            )
        })
        .collect();
    let mut edits = Vec::new();
    let (mut clusters, mut gathered) = (0, 0);
    for week in weeks.into_values() {
        let mut taken = HashSet::new();
        for (place, first) in week.iter().enumerate() {
            if taken.contains(first) {
                continue;
            }
            let near = week[place..].iter().take(MAX_COMPARED_DECISIONS).copied();
            let group: Vec<usize> = near
                .filter(|at| !taken.contains(at) && has_overlap(&words[first], &words[at]))
                .collect();
            if group.len() >= MIN_CLUSTER_DECISIONS {
                clusters += 1;
                gathered += group.len();
                gather_group(&document, &all, &group, &words, &mut edits);
                taken.extend(group);
            }
        }
    }
    Ok((apply_edits(path, text, edits)?, clusters, gathered))
}

/// Returns `true` if the sets share at least half of the words of the smaller
/// one.
fn has_overlap(a: &HashSet<String>, b: &HashSet<String>) -> bool {
    let least = a.len().min(b.len());
    least > 0 && a.intersection(b).count() * 2 >= least
}

fn gather_group(
    document: &Document,
    all: &[Decision],
    group: &[usize],
    words: &HashMap<usize, HashSet<String>>,
    edits: &mut Vec<TextEdit>,
) {
    let nl = document.newline();
    let dates: Vec<Date> = group.iter().filter_map(|at| all[*at].date).collect();
    let (from, to) = (dates.iter().min(), dates.iter().max());
    let (Some(from), Some(to)) = (from, to) else {
        return;
    };
    // The topic: words that all of them share, in the spelling and order of the
    // first.
    let first = extract_fact(&all[group[0]].text).unwrap_or("");
    let common = |word: &&str| {
        let term = content_words(word);
        !term.is_empty()
            && term
                .iter()
                .all(|it| group.iter().all(|at| words[at].contains(it)))
    };
    let mut topic: Vec<&str> = first
        .split(|c: char| !(c.is_alphanumeric() || c == '-' || c == '_'))
        .filter(common)
        .collect();
    topic.dedup();
    let topic = if topic.is_empty() {
        values::truncate_at_word(first, 60)
    } else {
        topic.join(" ")
    };
    let bullet = match list_marker_length(all[group[0]].text.trim()) {
        Some(_) => "- ",
        None => "",
    };
    let mut text = format!("{bullet}**{from}–{to}** - {topic}{nl}");
    let inner = "  ";
    let mut in_order: Vec<&Decision> = group.iter().map(|at| &all[*at]).collect();
    in_order.sort_by_key(|it| it.span.start);
    for it in &in_order {
        let line = it.text.trim();
        let line = list_marker_length(line).map_or(line, |length| line[length..].trim_start());
        text.push_str(&format!("{inner}- {line}{nl}"));
    }
    let last = document.span_text(&in_order[0].span);
    if !last.ends_with(['\n', '\r']) {
        text.truncate(text.len() - nl.len());
    }
    for (at, it) in in_order.iter().enumerate() {
        edits.push(match at {
            0 => TextEdit {
                span: it.span.clone(),
                text: text.clone(),
            },
            _ => document.delete_lines(span_with_gap(document, it)),
        });
    }
}
