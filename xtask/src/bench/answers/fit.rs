//! A logistic model with weights that are never negative, and how well scores
//! part two groups.

/// One hit: what speaks for it, and whether it was right.
pub(super) struct Row {
    pub(super) signals: Vec<f64>,
    pub(super) is_right: bool,
    pub(super) weight: f64,
}

pub(super) struct Model {
    pub(super) bias: f64,
    pub(super) weights: Vec<f64>,
}

impl Model {
    pub(super) fn confidence(&self, signals: &[f64]) -> f64 {
        let sum: f64 = signals.iter().zip(&self.weights).map(|(x, w)| x * w).sum();
        1.0 / (1.0 + (-self.bias - sum).exp())
    }
}

/// How strongly weights are pulled to zero, per row.
const PULL: f64 = 0.002;
const STEPS: usize = 6_000;

/// Fits by gradient descent with a momentum; weights below zero are set to it.
pub(super) fn fit(rows: &[Row]) -> Model {
    let width = rows.first().map_or(0, |it| it.signals.len());
    let total: f64 = rows.iter().map(|it| it.weight).sum();
    let mut model = Model {
        bias: -1.0,
        weights: vec![0.5; width],
    };
    let mut speed = vec![0.0; width + 1];
    for _ in 0..STEPS {
        let mut slope = vec![0.0; width + 1];
        for row in rows {
            let target = f64::from(u8::from(row.is_right));
            let error = row.weight * (model.confidence(&row.signals) - target) / total;
            for (slope, signal) in slope.iter_mut().zip(&row.signals) {
                *slope += error * signal;
            }
            slope[width] += error;
        }
        for (at, speed) in speed.iter_mut().enumerate() {
            let pull = model.weights.get(at).map_or(0.0, |it| PULL * it);
            *speed = 0.9 * *speed - 0.5 * (slope[at] + pull);
            match model.weights.get_mut(at) {
                Some(weight) => *weight = (*weight + *speed).max(0.0),
                None => model.bias += *speed,
            }
        }
    }
    model
}

/// The chance that one of `yes` is above one of `no`; ties count half.
pub(super) fn auc(yes: &[f64], no: &[f64]) -> f64 {
    let pairs = yes.iter().flat_map(|a| no.iter().map(move |b| (a, b)));
    let points: f64 = pairs
        .map(|(a, b)| match a.total_cmp(b) {
            std::cmp::Ordering::Greater => 1.0,
            std::cmp::Ordering::Equal => 0.5,
            std::cmp::Ordering::Less => 0.0,
        })
        .sum();
    points / (yes.len() * no.len()).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_that_part_two_groups_have_an_auc_of_one() {
        assert_eq!(auc(&[0.9, 0.8], &[0.1, 0.2]), 1.0);
        assert_eq!(auc(&[0.5], &[0.5]), 0.5);
        assert_eq!(auc(&[0.1], &[0.9]), 0.0);
    }

    #[test]
    fn what_speaks_for_a_hit_gets_a_weight_and_noise_gets_none() {
        let rows: Vec<Row> = (0..200)
            .map(|i| Row {
                signals: vec![f64::from(u8::from(i % 2 == 0)), f64::from(i % 3) / 2.0],
                is_right: i % 2 == 0,
                weight: 1.0,
            })
            .collect();
        let model = fit(&rows);
        assert!(model.weights[0] > 2.0, "{:?}", model.weights);
        assert!(model.weights[1] < 0.2, "{:?}", model.weights);
        assert!(model.confidence(&[1.0, 0.5]) > 0.8);
    }
}
