//! What a ranking is worth for one question, means over many with their
//! intervals, and whether two runs differ.

use std::collections::HashSet;

/// One question's figures, each from 0 to 1.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Scores {
    pub(crate) any1: f64,
    pub(crate) any5: f64,
    pub(crate) frac5: f64,
    pub(crate) all5: f64,
    pub(crate) frac10: f64,
    pub(crate) ndcg10: f64,
    pub(crate) mrr: f64,
}

/// Names of the figures, as they are printed and stored.
pub(crate) const NAMES: [&str; 7] = [
    "any@1", "any@5", "frac@5", "all@5", "R@10", "NDCG@10", "MRR",
];

impl Scores {
    pub(crate) fn of(found: &[String], gold: &HashSet<String>) -> Scores {
        let within = |k: usize| found.iter().take(k).filter(|id| gold.contains(*id)).count();
        let gain = |rank: usize| 1.0 / (rank as f64 + 2.0).log2();
        let dcg: f64 = found
            .iter()
            .take(10)
            .enumerate()
            .filter(|(_, id)| gold.contains(*id))
            .map(|(rank, _)| gain(rank))
            .sum();
        let ideal: f64 = (0..gold.len().min(10)).map(gain).sum();
        let first = found.iter().position(|id| gold.contains(id));
        let size = gold.len().max(1) as f64;
        Scores {
            any1: f64::from(first == Some(0)),
            any5: f64::from(within(5) > 0),
            frac5: within(5) as f64 / size,
            all5: f64::from(within(5) == gold.len()),
            frac10: within(10) as f64 / size,
            ndcg10: dcg / ideal.max(1e-9),
            mrr: first.map_or(0.0, |rank| 1.0 / (rank as f64 + 1.0)),
        }
    }

    /// In the order of [`NAMES`].
    pub(crate) fn list(&self) -> [f64; 7] {
        [
            self.any1,
            self.any5,
            self.frac5,
            self.all5,
            self.frac10,
            self.ndcg10,
            self.mrr,
        ]
    }
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// 95 % of the means that samples of these questions would have had:
/// bootstrap, 10,000 draws with a fixed seed.
pub(crate) fn interval(values: &[f64]) -> (f64, f64) {
    if values.is_empty() {
        return (0.0, 0.0);
    }
    let mut draw = Draw(42);
    let mut means: Vec<f64> = (0..10_000)
        .map(|_| {
            let sum: f64 = (0..values.len())
                .map(|_| values[draw.below(values.len())])
                .sum();
            sum / values.len() as f64
        })
        .collect();
    means.sort_by(f64::total_cmp);
    (means[250], means[9749])
}

/// How often chance alone would part two runs as far as they stand apart, by
/// swapping the two figures of each question at random.
pub(crate) fn chance(differences: &[f64]) -> f64 {
    let observed = differences.iter().sum::<f64>().abs();
    let mut draw = Draw(7);
    let rounds = 10_000;
    let as_far = (0..rounds)
        .filter(|_| {
            let sum: f64 = differences
                .iter()
                .map(|d| if draw.below(2) == 0 { *d } else { -d })
                .sum();
            sum.abs() >= observed - 1e-12
        })
        .count();
    as_far as f64 / rounds as f64
}

/// The same numbers on every machine.
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(names: &[&str]) -> Vec<String> {
        names.iter().map(|n| (*n).to_owned()).collect()
    }

    #[test]
    fn a_ranking_is_scored_as_the_protocol_says() {
        let gold: HashSet<String> = ids(&["a", "b"]).into_iter().collect();
        let s = Scores::of(&ids(&["x", "a", "y", "z", "w", "b"]), &gold);
        assert_eq!((s.any1, s.any5, s.frac5, s.all5), (0.0, 1.0, 0.5, 0.0));
        assert_eq!((s.frac10, s.mrr), (1.0, 0.5));
        let dcg = 1.0 / 3f64.log2() + 1.0 / 7f64.log2();
        assert!((s.ndcg10 - dcg / (1.0 + 1.0 / 3f64.log2())).abs() < 1e-9);
        assert_eq!(Scores::of(&[], &gold).list(), [0.0; 7]);
    }

    #[test]
    fn chance_tells_a_real_difference_from_none() {
        assert!(chance(&[0.1; 40]) < 0.001);
        let none: Vec<f64> = (0..40)
            .map(|i| if i % 2 == 0 { 0.1 } else { -0.1 })
            .collect();
        assert!(chance(&none) > 0.9);
        let (low, high) = interval(&[0.0, 1.0, 0.0, 1.0]);
        assert!(low < 0.5 && high > 0.5);
    }
}
