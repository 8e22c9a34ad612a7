//! Fuses full text and vectors into one ranking.
//!
//! The vector score is added to the text score, scaled by how near the nearest
//! passage is and by how far a passage exceeds its neighbours: if
//! nothing is near, vectors add almost nothing.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::RecallMode;
use crate::index::TextHits;

/// Maximum that vectors add for a nearest passage with identical meaning,
/// relative to 1 for the best text match. Fitted by `training/ranking.py`.
const VECTOR_WEIGHT: f32 = 1.6;
/// Number of nearest passages that form the crowd from which the best one must
/// stand out.
const CROWD_SIZE: usize = 200;
/// Minimum nearness of a passage that only vectors found, where 0 is unrelated
/// and 1 identical. In a pure vector search the minimum is 0.
const MIN_NEARNESS: f32 = 0.15;
/// Share that a file gains for words in passages other than its best one.
const SPREAD_WEIGHT: f32 = 0.25;
/// Bonus for a passage that contains the whole query verbatim.
pub(super) const EXACT_MATCH_BOOST: f32 = 0.3;

/// Evidence for the rank of a passage.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct RankEvidence {
    /// The fused score.
    pub score: f32,
    /// Contribution of each ranking to the score.
    pub(super) by_text: f32,
    pub(super) by_vector: f32,
    /// The score of the full text.
    pub bm25: f32,
    /// The cosine of the vectors.
    pub cosine: f32,
    /// Ranks in the two rankings, from 1; none if a ranking does not contain
    /// it.
    pub text_rank: Option<usize>,
    /// The rank by vectors.
    pub vector_rank: Option<usize>,
    /// Whether it was found by a search for the literal string.
    pub literal: bool,
    /// Whether it contains the whole query.
    pub exact: bool,
    /// Whether its document is of the time that the query names.
    pub dated: bool,
}

/// The candidates of each ranking, best first.
pub(super) struct RankingSides<'a> {
    pub(super) text: &'a [(u32, f32)],
    pub(super) vector: &'a [(u32, f32)],
    pub(super) literal: &'a [u32],
    /// Fixed maximum that vectors add, relative to 1 for the best text match;
    /// none if the nearness of the nearest passage decides.
    pub(super) nearest: Option<f32>,
}

/// Fuses the rankings, best first. `trust` scales the vectors, from 0 to 1,
/// independently of their scores.
pub(super) fn fuse_rankings(
    sides: RankingSides,
    mode: RecallMode,
    unrelated: f32,
    trust: f32,
) -> Vec<(u32, RankEvidence)> {
    let RankingSides {
        text,
        vector,
        literal,
        nearest,
    } = sides;
    let mut all: HashMap<u32, RankEvidence> = HashMap::new();
    for (rank, (chunk, score)) in shared_ranks(text).zip(text) {
        let e = all.entry(*chunk).or_default();
        (e.bm25, e.text_rank) = (*score, Some(rank));
    }
    for (rank, (chunk, cosine)) in shared_ranks(vector).zip(vector) {
        let e = all.entry(*chunk).or_default();
        (e.cosine, e.vector_rank) = (*cosine, Some(rank));
    }
    for chunk in literal {
        all.entry(*chunk).or_default().literal = true;
    }
    let best_text = text.first().map_or(0.0, |t| t.1);
    // With too few passages for a crowd, the unrelated level takes its place:
    // of two passages that are both near, neither is better.
    let (near, far) = match (vector.first(), vector.get(CROWD_SIZE - 1)) {
        (Some(first), Some(last)) => (first.1, last.1),
        (Some(first), None) => (first.1, vector[vector.len() - 1].1.min(unrelated)),
        (None, _) => (0.0, 0.0),
    };
    // Trust vectors only as far as the nearest passage is near at all.
    let confidence = match nearest {
        Some(weight) => weight / VECTOR_WEIGHT,
        None => scale_nearness(near, unrelated).clamp(0.0, 1.0),
    };
    // Every passage has some nearest neighbour: without a floor no search would
    // ever return "not found".
    let floor = match mode {
        RecallMode::Vector => 0.0,
        _ => MIN_NEARNESS,
    };
    all.retain(|_, e| {
        e.text_rank.is_some() || e.literal || scale_nearness(e.cosine, unrelated) >= floor
    });
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
            RecallMode::Text => (by_text, 0.0),
            RecallMode::Vector => (0.0, e.cosine.max(0.0)),
            RecallMode::Hybrid if best_text == 0.0 => (0.0, confidence * by_vector),
            RecallMode::Hybrid => (by_text, trust * VECTOR_WEIGHT * confidence * by_vector),
        };
        e.score = e.by_text + e.by_vector;
        if e.literal {
            e.score = e.score.max(0.5) + EXACT_MATCH_BOOST;
        }
    }
    let mut ranked: Vec<(u32, RankEvidence)> = all.into_iter().collect();
    ranked.sort_by(|a, b| b.1.score.total_cmp(&a.1.score).then(a.0.cmp(&b.0)));
    ranked
}

/// Ranks each file by the evidence of all its passages, since words and meaning
/// may match in different ones. The passage with the best score of its own
/// represents the file.
pub(super) fn pool_by_file(
    ranked: &mut [(u32, RankEvidence)],
    mode: RecallMode,
    found: &TextHits,
    file: impl Fn(u32) -> Option<u32>,
) {
    if mode == RecallMode::Vector {
        return;
    }
    let mut files: HashMap<u32, PooledScore> = HashMap::new();
    for (chunk, evidence) in ranked.iter() {
        let Some(file) = file(*chunk) else { continue };
        let pooled = files.entry(file).or_default();
        pooled.best = pooled.best.max(evidence.score);
        pooled.text = pooled.text.max(evidence.bm25);
        pooled.vector = pooled.vector.max(evidence.by_vector);
    }
    for (file, pooled) in &mut files {
        let spread = found.files.get(file).copied().unwrap_or(0.0);
        pooled.text += SPREAD_WEIGHT * (spread - pooled.text).max(0.0);
    }
    let best_text = files.values().map(|it| it.text).fold(0.0, f32::max);
    for pooled in files.values_mut().filter(|_| best_text > 0.0) {
        pooled.text /= best_text;
    }
    for (chunk, evidence) in ranked.iter_mut() {
        // A literal match keeps the score that it already has.
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
struct PooledScore {
    best: f32,
    text: f32,
    vector: f32,
}

/// Scales a cosine so that 0 is unrelated and 1 identical. Unrelated texts have
/// a cosine far above 0, at a level that depends on the model.
pub(super) fn scale_nearness(cosine: f32, unrelated: f32) -> f32 {
    (cosine - unrelated) / (1.0 - unrelated)
}

/// Returns ranks from 1, best first. Equal scores share a rank, which would
/// otherwise depend on the order of indexing.
fn shared_ranks(scores: &[(u32, f32)]) -> impl Iterator<Item = usize> {
    let mut rank = 0;
    scores.iter().enumerate().map(move |(i, (_, score))| {
        if i == 0 || scores[i - 1].1 != *score {
            rank = i + 1;
        }
        rank
    })
}
