//! A question to entries, best first, with the fields that answer it. It reads
//! entries alone and opens no file.

use std::collections::HashMap;

use jiff::civil::Date;

use super::{Entry, Field};
use crate::document::when;
use crate::embed::Embedder;
use crate::index::terms::Terms;

/// An entry and where it stands.
#[derive(Debug, Clone)]
pub struct Listed {
    /// As the heading names the file.
    pub name: String,
    /// The file that it describes, where it is there.
    pub path: Option<String>,
    /// The name of the hub.
    pub hub: String,
    /// Whether it stands in the archive of its hub.
    pub archived: bool,
    pub entry: Entry,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// Its place in what was asked.
    pub at: usize,
    pub score: f32,
    /// The fields that answer, best first, with their values that do.
    pub fields: Vec<(Field, Vec<String>)>,
}

/// How much a word counts in each field, in the order of [`Field::ALL`]; the
/// last is for the name of the file.
const WEIGHTS: [f32; 7] = [1.0, 1.2, 1.0, 1.0, 0.4, 0.2, 1.0];
const K1: f32 = 1.2;
const B: f32 = 0.3;
/// What the vectors can add where the best text match counts as 1.
const VECTORS: f32 = 1.4;
/// How many entries get vectors.
const POOL: usize = 60;
/// What a date of the question adds when the entry has it too.
const ON_DATE: f32 = 0.15;

/// Ranks entries for a question. Dates in it are counted from `now`. Without
/// an embedder only words count. What no word and no vector speaks for is left
/// out.
pub fn ask(
    listed: &[Listed],
    question: &str,
    field: Option<Field>,
    embedder: Option<&dyn Embedder>,
    now: Option<Date>,
) -> Vec<Hit> {
    let mut terms = Terms::default();
    let wanted: Vec<String> = content(&mut terms, question);
    let whens = when::find(question, now);
    let by_text = text_scores(listed, &wanted, field, &mut terms);
    let best = by_text.iter().copied().fold(0.0, f32::max);
    let near_enough = pool(&by_text);
    let by_vector =
        embedder.map(|embedder| vector_scores(listed, &near_enough, question, field, embedder));
    let (near, far) = by_vector.as_ref().map_or((0.0, 0.0), |scores| {
        (
            scores.iter().copied().fold(0.0, f32::max),
            scores.iter().copied().fold(f32::MAX, f32::min),
        )
    });
    let unrelated = embedder.map_or(0.0, |embedder| embedder.unrelated().max(0.2));
    let mut hits: Vec<Hit> = Vec::new();
    for (at, it) in listed.iter().enumerate() {
        let mut score = if best > 0.0 { by_text[at] / best } else { 0.0 };
        if let Some(scores) = &by_vector
            && near > far
            && near > unrelated
        {
            score += VECTORS * (scores[at] - far) / (near - far);
        }
        let dated = on_date(&it.entry, &whens);
        if dated && field.is_none_or(|field| field == Field::Dates) {
            score += ON_DATE;
        }
        if score <= 0.0 {
            continue;
        }
        hits.push(Hit {
            at,
            score,
            fields: Vec::new(),
        });
    }
    hits.sort_by(|a, b| {
        b.score
            .total_cmp(&a.score)
            .then_with(|| listed[a.at].name.cmp(&listed[b.at].name))
            .then(a.at.cmp(&b.at))
    });
    hits
}

/// Fills in which fields of a hit answer the question, and with what.
pub fn reasons(
    hit: &mut Hit,
    listed: &[Listed],
    question: &str,
    only: Option<Field>,
    now: Option<Date>,
) {
    let mut terms = Terms::default();
    let wanted = content(&mut terms, question);
    let whens = when::find(question, now);
    let entry = &listed[hit.at].entry;
    let mut found: Vec<(usize, Field, Vec<String>)> = Vec::new();
    for field in Field::ALL {
        if only.is_some_and(|only| only != field) {
            continue;
        }
        let mut most = 0;
        let mut values = Vec::new();
        for value in entry.values(field) {
            let of_value = terms.of(value);
            let mut shared = wanted.iter().filter(|w| of_value.contains(w)).count();
            if field == Field::Dates && date_fits(value, &whens) {
                shared += 1;
            }
            if shared > 0 {
                values.push((shared, value.clone()));
                most = most.max(shared);
            }
        }
        if most > 0 {
            values.sort_by_key(|value| std::cmp::Reverse(value.0));
            found.push((most, field, values.into_iter().map(|v| v.1).collect()));
        }
    }
    // Of two that answer alike, the field that says more about why.
    let telling = |field: Field| match field {
        Field::People => 0,
        Field::Decisions => 1,
        Field::Claims => 2,
        Field::Dates => 3,
        Field::Subjects | Field::Status => 4,
    };
    found.sort_by_key(|it| (std::cmp::Reverse(it.0), telling(it.1)));
    hit.fields = found.into_iter().map(|it| (it.1, it.2)).collect();
}

/// The terms of a question without those that say nothing, unless nothing else
/// is there.
fn content(terms: &mut Terms, question: &str) -> Vec<String> {
    let mut all = Vec::new();
    terms.each_with_place(question, |span, term| {
        let raw = question[span].to_lowercase();
        let entry = (term.to_owned(), super::words::is_empty_word(&raw));
        if !all.contains(&entry) {
            all.push(entry);
        }
    });
    let telling: Vec<String> = all
        .iter()
        .filter(|it| !it.1)
        .map(|it| it.0.clone())
        .collect();
    match telling.is_empty() {
        true => all.into_iter().map(|it| it.0).collect(),
        false => telling,
    }
}

fn text_scores(
    listed: &[Listed],
    wanted: &[String],
    only: Option<Field>,
    terms: &mut Terms,
) -> Vec<f32> {
    let places: HashMap<&str, usize> = wanted
        .iter()
        .enumerate()
        .map(|(at, term)| (term.as_str(), at))
        .collect();
    let mut counts = vec![0f32; listed.len() * wanted.len()];
    let mut lengths = vec![0f32; listed.len()];
    for (row, it) in listed.iter().enumerate() {
        let mut count = |text: &str, weight: f32| {
            terms.each(text, |term| {
                lengths[row] += 1.0;
                if let Some(at) = places.get(term) {
                    counts[row * wanted.len() + at] += weight;
                }
            });
        };
        for (at, field) in Field::ALL.into_iter().enumerate() {
            if only.is_none_or(|only| only == field) {
                for value in it.entry.values(field) {
                    count(value, WEIGHTS[at]);
                }
            }
        }
        if only.is_none() {
            count(&it.name.replace(['-', '_', '/'], " "), WEIGHTS[6]);
        }
    }
    let n = listed.len() as f32;
    let mean = (lengths.iter().sum::<f32>() / n.max(1.0)).max(1.0);
    let idf: Vec<f32> = (0..wanted.len())
        .map(|at| {
            let holding = (0..listed.len())
                .filter(|row| counts[row * wanted.len() + at] > 0.0)
                .count() as f32;
            (1.0 + (n - holding + 0.5) / (holding + 0.5)).ln()
        })
        .collect();
    (0..listed.len())
        .map(|row| {
            let norm = K1 * (1.0 - B + B * lengths[row] / mean);
            (0..wanted.len())
                .map(|at| {
                    let count = counts[row * wanted.len() + at];
                    idf[at] * count * (K1 + 1.0) / (count + norm)
                })
                .sum()
        })
        .collect()
}

/// The entries that get vectors: all of a few, the best by words of many,
/// since each one costs some ten milliseconds.
fn pool(by_text: &[f32]) -> Vec<bool> {
    let mut order: Vec<usize> = (0..by_text.len()).collect();
    order.sort_by(|a, b| by_text[*b].total_cmp(&by_text[*a]).then(a.cmp(b)));
    let mut near_enough = vec![false; by_text.len()];
    order
        .into_iter()
        .take(POOL)
        .for_each(|at| near_enough[at] = true);
    near_enough
}

/// Likeness of the whole entry and of its best piece, added.
fn vector_scores(
    listed: &[Listed],
    near_enough: &[bool],
    question: &str,
    only: Option<Field>,
    embedder: &dyn Embedder,
) -> Vec<f32> {
    let query = embedder.embed_query(question);
    let dot = |a: &[f32], b: &[f32]| -> f32 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    listed
        .iter()
        .zip(near_enough)
        .map(|(it, near_enough)| {
            if !near_enough {
                return 0.0;
            }
            let mut whole = vec![0f32; query.len()];
            let mut best = 0f32;
            for piece in pieces(&it.entry, only) {
                let vector = embedder.embed(&piece);
                best = best.max(dot(&query, &vector));
                whole.iter_mut().zip(&vector).for_each(|(w, v)| *w += v);
            }
            let length = dot(&whole, &whole).sqrt();
            let whole = if length > 0.0 {
                dot(&query, &whole) / length
            } else {
                0.0
            };
            whole + best
        })
        .collect()
}

/// What is embedded of an entry: each fact alone, and subjects in groups that
/// the model can read whole.
pub fn pieces(entry: &Entry, only: Option<Field>) -> Vec<String> {
    const GROUP: usize = 240;
    let mut out = Vec::new();
    let wants = |field: Field| only.is_none_or(|only| only == field);
    for field in [Field::Claims, Field::Decisions] {
        if wants(field) {
            out.extend(entry.values(field).iter().cloned());
        }
    }
    for field in [Field::Subjects, Field::People] {
        if !wants(field) {
            continue;
        }
        let mut group = String::new();
        for value in entry.values(field) {
            if group.len() + value.len() > GROUP && !group.is_empty() {
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

fn on_date(entry: &Entry, whens: &[when::When]) -> bool {
    !whens.is_empty() && entry.dates.iter().any(|value| date_fits(value, whens))
}

fn date_fits(value: &str, whens: &[when::When]) -> bool {
    let day = value.split(" (").next().unwrap_or(value);
    when::read(day).is_some_and(|(from, to)| whens.iter().any(|when| when.overlaps(from, to)))
}
