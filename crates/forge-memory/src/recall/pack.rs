//! Packs the best evidence into a budget. The budget is hard: the output never
//! exceeds it by the caller's own measure, and passages that did not fit are
//! named.

use super::{RecallHit, snippet};

/// A passage, or the part of it that fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedPiece {
    /// Index in the list of hits.
    pub hit: usize,
    /// The text of the piece.
    pub text: String,
    /// Whether `text` is shorter than the passage.
    pub cut: bool,
}

/// The pieces that fit into a budget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextPacking {
    /// The pieces in the order of the hits.
    pub pieces: Vec<PackedPiece>,
    /// Indices of hits that did not fit at all.
    pub left_out: Vec<usize>,
    /// The cost of the result.
    pub used: usize,
}

/// Sizes in bytes that are tried if a passage does not fit whole.
const PART_WIDTHS_BYTES: [usize; 3] = [1200, 600, 240];

/// Packs hits in order while they fit. `cost` measures the whole output for the
/// given pieces, including what the caller adds around them.
pub fn pack_hits(
    hits: &[RecallHit],
    budget: usize,
    cost: &dyn Fn(&[PackedPiece], &[usize]) -> usize,
) -> ContextPacking {
    let mut pieces: Vec<PackedPiece> = Vec::new();
    let mut left_out: Vec<usize> = Vec::new();
    for (i, hit) in hits.iter().enumerate() {
        let text = &hit.passage.text;
        let whole = PackedPiece {
            hit: i,
            text: text.clone(),
            cut: false,
        };
        let parts = PART_WIDTHS_BYTES
            .iter()
            .filter(|width| **width < text.len())
            .map(|width| PackedPiece {
                hit: i,
                text: text[snippet::best_window(text, &hit.matches, *width)].to_owned(),
                cut: true,
            });
        // Hits after this one are not placed yet, and naming them in the output
        // costs too.
        let rest: Vec<usize> = left_out.iter().copied().chain(i + 1..hits.len()).collect();
        // Measured by trial, since only the caller knows the cost of the
        // output.
        let fitting = std::iter::once(whole).chain(parts).find(|piece| {
            pieces.push(piece.clone());
            let fits = cost(&pieces, &rest) <= budget;
            pieces.pop();
            fits
        });
        match fitting {
            Some(piece) => pieces.push(piece),
            None => left_out.push(i),
        }
    }
    let used = cost(&pieces, &left_out);
    ContextPacking {
        pieces,
        left_out,
        used,
    }
}
