//! Shares with their intervals. A share of few pushes is never given: below
//! [`MIN_PUSHES_FOR_SHARES`] the doors print counts alone.

use super::ReplayedItem;

/// Pushes below which no percentage is given.
pub const MIN_PUSHES_FOR_SHARES: usize = 30;

/// Returns the interval of a share that 95 % of samples of this size have, in
/// thousandths, by Wilson's formula.
pub fn share_interval(part: usize, all: usize) -> (usize, usize) {
    if all == 0 {
        return (0, 1000);
    }
    const Z: f64 = 1.96;
    let (n, share) = (all as f64, part as f64 / all as f64);
    let middle = share + Z * Z / (2.0 * n);
    let spread = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    let of = |value: f64| {
        (value / (1.0 + Z * Z / n) * 1000.0)
            .round()
            .clamp(0.0, 1000.0) as usize
    };
    (of(middle - spread), of(middle + spread))
}

/// Returns the interval of the share of right pushes, in thousandths, when the
/// different items are drawn again: pushes of one item are not independent.
/// The drawing always begins with the same seed.
pub fn resampled_interval(items: &[ReplayedItem]) -> (usize, usize) {
    const DRAWINGS: usize = 2_000;
    let mut state: u64 = 0x2545_f491_4f6c_dd1d;
    let mut draw = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % items.len() as u64) as usize
    };
    if items.is_empty() {
        return (0, 1000);
    }
    let mut shares: Vec<usize> = (0..DRAWINGS)
        .map(|_| {
            let (mut right, mut pushes) = (0, 0);
            for _ in items {
                let counts = &items[draw()].counts;
                right += counts.right;
                pushes += counts.pushes;
            }
            right * 1000 / pushes.max(1)
        })
        .collect();
    shares.sort_unstable();
    (shares[DRAWINGS / 40], shares[DRAWINGS - 1 - DRAWINGS / 40])
}
