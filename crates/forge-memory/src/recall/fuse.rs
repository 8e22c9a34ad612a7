//! Full text and vectors made into one ranking.
//!
//! The vector score is added to the text score, scaled by how near the nearest
//! passage is and by how far a passage stands out from the crowd of its
//! neighbours: where nothing is near, vectors add next to nothing.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::Mode;
use crate::index::TextHits;

/// What the vectors would add if the nearest passage said the very same, where
/// the best text match counts as 1. Fitted by `training/ranking.py`.
const VECTOR_WEIGHT: f32 = 1.6;
/// How many of the nearest are the crowd that the best one stands out from.
const CROWD: usize = 200;
/// What only vectors found must be this near to count as found, where 0 is
/// unrelated and 1 is the same. Asked for vectors alone, all that is not
/// unrelated counts.
const NEAR: f32 = 0.15;
/// How much a file gets for words that stand in others of its passages than the
/// best one.
const SPREAD: f32 = 0.25;
/// What is added when the whole question stands in the passage word for word.
pub(super) const EXACT: f32 = 0.3;

/// Why a passage stands where it does.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Evidence {
    pub score: f32,
    /// What each side added to it.
    pub(super) by_text: f32,
    pub(super) by_vector: f32,
    pub bm25: f32,
    pub cosine: f32,
    /// Places in the two rankings, from 1; none when a side did not find it.
    pub text_rank: Option<usize>,
    pub vector_rank: Option<usize>,
    /// Found by looking for the string itself.
    pub literal: bool,
    /// The whole question stands in it.
    pub exact: bool,
    /// Its document is of the time that the question names.
    pub dated: bool,
}

/// What each way of looking found, best first.
pub(super) struct Sides<'a> {
    pub(super) text: &'a [(u32, f32)],
    pub(super) vector: &'a [(u32, f32)],
    pub(super) literal: &'a [u32],
    /// What the nearest gets by vectors where the best text match counts as 1;
    /// none where that depends on how near it is.
    pub(super) nearest: Option<f32>,
}

/// Merges both rankings, best first. `trust` is how far the vectors are to be
/// believed, from 0 to 1, whatever they say themselves.
pub(super) fn fuse(sides: Sides, mode: Mode, unrelated: f32, trust: f32) -> Vec<(u32, Evidence)> {
    let Sides {
        text,
        vector,
        literal,
        nearest,
    } = sides;
    let mut all: HashMap<u32, Evidence> = HashMap::new();
    for (rank, (chunk, score)) in ranks(text).zip(text) {
        let e = all.entry(*chunk).or_default();
        (e.bm25, e.text_rank) = (*score, Some(rank));
    }
    for (rank, (chunk, cosine)) in ranks(vector).zip(vector) {
        let e = all.entry(*chunk).or_default();
        (e.cosine, e.vector_rank) = (*cosine, Some(rank));
    }
    for chunk in literal {
        all.entry(*chunk).or_default().literal = true;
    }
    let best_text = text.first().map_or(0.0, |t| t.1);
    // Where there are too few passages to be a crowd, what is unrelated stands
    // for it: of two passages that are both near, neither stands out.
    let (near, far) = match (vector.first(), vector.get(CROWD - 1)) {
        (Some(first), Some(last)) => (first.1, last.1),
        (Some(first), None) => (first.1, vector[vector.len() - 1].1.min(unrelated)),
        (None, _) => (0.0, 0.0),
    };
    // Vectors count as far as they found something that is near at all.
    let confidence = match nearest {
        Some(weight) => weight / VECTOR_WEIGHT,
        None => nearness(near, unrelated).clamp(0.0, 1.0),
    };
    // Every passage has some neighbour: without a floor nothing would ever be
    // "not found".
    let floor = match mode {
        Mode::Vector => 0.0,
        _ => NEAR,
    };
    all.retain(|_, e| e.text_rank.is_some() || e.literal || nearness(e.cosine, unrelated) >= floor);
    for e in all.values_mut() {
        let by_text = if best_text > 0.0 {
            e.bm25 / best_text
        } else {
            0.0
        };
        let by_vector = if near > far && e.vector_rank.is_some() {
            ((e.cosine - far) / (near - far)).max(0.0)
        } else {
            0.0
        };
        (e.by_text, e.by_vector) = match mode {
            Mode::Text => (by_text, 0.0),
            Mode::Vector => (0.0, e.cosine.max(0.0)),
            Mode::Hybrid if best_text == 0.0 => (0.0, confidence * by_vector),
            Mode::Hybrid => (by_text, trust * VECTOR_WEIGHT * confidence * by_vector),
        };
        e.score = e.by_text + e.by_vector;
        if e.literal {
            e.score = e.score.max(0.5) + EXACT;
        }
    }
    let mut ranked: Vec<(u32, Evidence)> = all.into_iter().collect();
    ranked.sort_by(|a, b| b.1.score.total_cmp(&a.1.score).then(a.0.cmp(&b.0)));
    ranked
}

/// Where a file counts once, it counts with the best of all its passages: the
/// words may stand in one and the meaning in another. The passage that is best
/// by itself stands for the file.
pub(super) fn pool(
    ranked: &mut [(u32, Evidence)],
    mode: Mode,
    found: &TextHits,
    file: impl Fn(u32) -> Option<u32>,
) {
    if mode == Mode::Vector {
        return;
    }
    let mut files: HashMap<u32, Pooled> = HashMap::new();
    for (chunk, evidence) in ranked.iter() {
        let Some(file) = file(*chunk) else { continue };
        let pooled = files.entry(file).or_default();
        pooled.best = pooled.best.max(evidence.score);
        pooled.text = pooled.text.max(evidence.bm25);
        pooled.vector = pooled.vector.max(evidence.by_vector);
    }
    for (file, pooled) in &mut files {
        let spread = found.files.get(file).copied().unwrap_or(0.0);
        pooled.text += SPREAD * (spread - pooled.text).max(0.0);
    }
    let best_text = files.values().map(|it| it.text).fold(0.0, f32::max);
    for pooled in files.values_mut().filter(|_| best_text > 0.0) {
        pooled.text /= best_text;
    }
    for (chunk, evidence) in ranked.iter_mut() {
        // What was looked for as a string keeps the place that this gave it.
        if let Some(pooled) = file(*chunk).and_then(|file| files.get(&file))
            && pooled.best > 0.0
            && !evidence.literal
        {
            evidence.score *= (pooled.text + pooled.vector) / pooled.best;
        }
    }
    ranked.sort_by(|a, b| b.1.score.total_cmp(&a.1.score).then(a.0.cmp(&b.0)));
}

#[derive(Default)]
struct Pooled {
    best: f32,
    text: f32,
    vector: f32,
}

/// A cosine on the scale from unrelated, 0, to the same, 1.
pub(super) fn nearness(cosine: f32, unrelated: f32) -> f32 {
    (cosine - unrelated) / (1.0 - unrelated)
}

/// Places from 1, best first. Equals share a place, or it would depend on the
/// order in which files were indexed.
fn ranks(scores: &[(u32, f32)]) -> impl Iterator<Item = usize> {
    let mut rank = 0;
    scores.iter().enumerate().map(move |(i, (_, score))| {
        if i == 0 || scores[i - 1].1 != *score {
            rank = i + 1;
        }
        rank
    })
}
