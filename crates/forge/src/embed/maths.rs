//! The arithmetic between the matrix products. Every function is written so
//! that a compiler can use vectors of any width and still get the same bits:
//! sums run over a fixed number of lanes, and nothing is fused. None of them
//! may call into the system's mathematics library, which differs by platform.
//! Loops are plain loops: a call that is not inlined, such as
//! `std::array::from_fn`, would be compiled for the narrow vectors.

use super::container::F32s;

/// Inputs that share a scale, in weights and in activations.
pub(super) const GROUP: usize = 32;
/// Outputs computed side by side.
pub(super) const BLOCK: usize = 16;
pub(super) const HEAD: usize = 32;
/// 1/√[`HEAD`], by which attention divides.
const FACTOR: f32 = 0.176_776_69;
const LANES: usize = 16;
/// Keys scored side by side.
const KEYS: usize = 32;

/// Rows of numbers rounded to 8 bits, with one scale for every [`GROUP`].
#[derive(Default)]
pub(super) struct Rounded {
    pub(super) width: usize,
    pub(super) values: Vec<i8>,
    pub(super) scales: Vec<f32>,
    /// Eight times the sum of the group: weights are stored with an offset of
    /// eight, and this takes it out of a product again.
    pub(super) offsets: Vec<i32>,
}

impl Rounded {
    pub(super) fn rows(&self) -> usize {
        self.values.len() / self.width
    }
}

/// 16 outputs × 32 inputs at half a byte.
pub(super) const BLOCK_BYTES: usize = BLOCK * GROUP / 2;

/// A matrix as the converter lays it out: blocks of 4-bit weights, beside them
/// sixteen scales for each, and a bias for every output.
pub(super) struct Linear {
    pub(super) blocks: &'static [u8],
    pub(super) scales: Halves,
    pub(super) bias: F32s,
}

/// The upper half of an f32, which is a bfloat16.
pub(super) type Halves = &'static [[u8; 2]];

#[inline(always)]
pub(super) fn widen(half: [u8; 2]) -> f32 {
    f32::from_bits(u32::from(u16::from_le_bytes(half)) << 16)
}

/// The product of rows and one matrix. The vector kernels do the same
/// operations in the same order.
#[inline(always)]
pub(super) fn linear(matrix: &Linear, x: &Rounded, out: &mut [f32]) {
    let groups = x.width / GROUP;
    let outputs = matrix.bias.len();
    out.fill(0.0);
    let blocks = matrix.blocks.as_chunks::<BLOCK_BYTES>().0;
    let scales = matrix.scales.as_chunks::<BLOCK>().0;
    for (at, (block, scales)) in blocks.iter().zip(scales).enumerate() {
        let (first_output, group) = (at / groups * BLOCK, at % groups);
        let weights = unpack(block);
        for row in 0..x.rows() {
            let at = row * groups + group;
            let sums = group_sums(&weights, &x.values[at * GROUP..][..GROUP]);
            let to = &mut out[row * outputs + first_output..][..BLOCK];
            for ((to, sum), scale) in to.iter_mut().zip(sums).zip(scales) {
                let sum = (sum - x.offsets[at]) as f32 * x.scales[at];
                *to += sum * widen(*scale);
            }
        }
    }
    for row in out.chunks_exact_mut(outputs) {
        for (to, bias) in row.iter_mut().zip(matrix.bias) {
            *to += f32::from_le_bytes(*bias);
        }
    }
}

/// Four inputs of sixteen outputs.
type Quad = [[i16; 8]; 4 * BLOCK / 8];

#[inline(always)]
fn unpack(packed: &[u8]) -> [Quad; GROUP / 4] {
    let mut weights = [Quad::default(); GROUP / 4];
    let (low, high) = weights.split_at_mut(GROUP / 8);
    let low = low.as_flattened_mut().as_flattened_mut();
    let high = high.as_flattened_mut().as_flattened_mut();
    for ((low, high), byte) in low.iter_mut().zip(high).zip(packed) {
        *low = i16::from(byte & 15);
        *high = i16::from(byte >> 4);
    }
    weights
}

#[inline(always)]
fn group_sums(weights: &[Quad; GROUP / 4], values: &[i8]) -> [i32; BLOCK] {
    // At most 8·15·127 in a lane, which 16 bits hold.
    let mut lanes = Quad::default();
    for (quad, four) in weights.iter().zip(values.as_chunks::<4>().0) {
        let twice: [i16; 8] = std::array::from_fn(|i| i16::from(four[i % 4]));
        for (lanes, weights) in lanes.iter_mut().zip(quad) {
            for i in 0..8 {
                lanes[i] += weights[i] * twice[i];
            }
        }
    }
    let lanes = lanes.as_flattened().as_chunks::<4>().0;
    std::array::from_fn(|o| lanes[o].iter().map(|&lane| i32::from(lane)).sum())
}

#[inline(always)]
pub(super) fn round(x: &[f32], width: usize, to: &mut Rounded) {
    to.width = width;
    to.values.clear();
    to.values.resize(x.len(), 0);
    to.scales.clear();
    to.offsets.clear();
    let groups = x.as_chunks::<GROUP>().0;
    for (group, values) in groups.iter().zip(to.values.as_chunks_mut::<GROUP>().0) {
        let mut sizes = [0f32; 8];
        for eight in group.as_chunks::<8>().0 {
            for (size, x) in sizes.iter_mut().zip(eight) {
                *size = larger(*size, x.abs());
            }
        }
        let largest = largest_of(sizes);
        let to_steps = if largest > 0.0 { 127.0 / largest } else { 0.0 };
        let mut steps = [0i32; GROUP];
        let mut sum = 0;
        for (step, &x) in steps.iter_mut().zip(group) {
            *step = nearest(x * to_steps).1;
            sum += *step;
        }
        for (value, &step) in values.iter_mut().zip(&steps) {
            *value = step as i8;
        }
        to.scales.push(largest / 127.0);
        to.offsets.push(8 * sum);
    }
}

/// `x = norm(x + added)`, row by row.
#[inline(always)]
pub(super) fn add_and_norm(x: &mut [f32], added: &[f32], gain: F32s, bias: F32s) {
    let width = gain.len();
    for (row, added) in x.chunks_exact_mut(width).zip(added.chunks_exact(width)) {
        for (x, added) in row.iter_mut().zip(added) {
            *x += added;
        }
        let mean = sum(row, |x| x) / width as f32;
        let variance = sum(row, |x| (x - mean) * (x - mean)) / width as f32;
        let factor = 1.0 / (variance + 1e-12).sqrt();
        for ((x, gain), bias) in row.iter_mut().zip(gain).zip(bias) {
            *x = (*x - mean) * factor * f32::from_le_bytes(*gain) + f32::from_le_bytes(*bias);
        }
    }
}

/// The exact form, `x·Φ(x)`, with the error function to seven decimals
/// (Abramowitz and Stegun 7.1.26).
#[inline(always)]
pub(super) fn gelu(x: &mut [f32]) {
    for x in x {
        let z = *x * std::f32::consts::FRAC_1_SQRT_2;
        let size = z.abs();
        let t = 1.0 / (1.0 + 0.327_591_1 * size);
        let poly = t
            * (0.254_829_6
                + t * (-0.284_496_74 + t * (1.421_413_7 + t * (-1.453_152 + t * 1.061_405_4))));
        let erf = (1.0 - poly * exp(-size * size)).copysign(z);
        *x = 0.5 * *x * (1.0 + erf);
    }
}

/// Attention of every head. `qkv` holds query, key and value of a token side
/// by side.
#[inline(always)]
pub(super) fn attention(qkv: &[f32], width: usize, out: &mut [f32]) {
    let rows = qkv.len() / (3 * width);
    let padded = rows.next_multiple_of(KEYS);
    let mut keys = vec![[0f32; KEYS]; padded / KEYS * HEAD];
    let mut scores = vec![[0f32; KEYS]; padded / KEYS];
    for head in (0..width).step_by(HEAD) {
        let part = |row: usize, which: usize| -> &[f32; HEAD] {
            qkv[row * 3 * width + which * width + head..]
                .first_chunk()
                .expect("heads fill a row")
        };
        for row in 0..rows {
            for (d, &value) in part(row, 1).iter().enumerate() {
                keys[row / KEYS * HEAD + d][row % KEYS] = value;
            }
        }
        for row in 0..rows {
            let mut query = *part(row, 0);
            for q in &mut query {
                *q *= FACTOR;
            }
            let mut highest = [f32::MIN; 8];
            for (scores, keys) in scores.iter_mut().zip(keys.as_chunks::<HEAD>().0) {
                let mut sums = [0f32; KEYS];
                for (q, keys) in query.iter().zip(keys) {
                    for (sum, key) in sums.iter_mut().zip(keys) {
                        *sum += q * key;
                    }
                }
                *scores = sums;
            }
            let scores = scores.as_flattened_mut();
            // Places behind the last token must win nothing.
            scores[rows..].fill(f32::MIN);
            for scores in scores.as_chunks::<8>().0 {
                for (highest, &score) in highest.iter_mut().zip(scores) {
                    *highest = larger(*highest, score);
                }
            }
            let highest = largest_of(highest);
            for score in scores.iter_mut() {
                *score = exp(*score - highest);
            }
            scores[rows..].fill(0.0);
            let total = sum(scores, |x| x);

            let mut mixed = [0f32; HEAD];
            for (key, score) in scores[..rows].iter().enumerate() {
                for (mixed, value) in mixed.iter_mut().zip(part(key, 2)) {
                    *mixed += score * value;
                }
            }
            let to = &mut out[row * width + head..][..HEAD];
            for (to, mixed) in to.iter_mut().zip(mixed) {
                *to = mixed / total;
            }
        }
    }
}

/// A sum over a multiple of [`LANES`] numbers.
#[inline(always)]
fn sum(x: &[f32], of: impl Fn(f32) -> f32) -> f32 {
    let mut lanes = [0f32; LANES];
    for x in x.as_chunks::<LANES>().0 {
        for (lane, &x) in lanes.iter_mut().zip(x) {
            *lane += of(x);
        }
    }
    lanes.into_iter().fold(0.0, |a, b| a + b)
}

/// A tree, since a chain of comparisons would be compiled to branches.
#[inline(always)]
fn largest_of(mut x: [f32; 8]) -> f32 {
    for left in [4, 2, 1] {
        for i in 0..left {
            x[i] = larger(x[i], x[i + left]);
        }
    }
    x[0]
}

#[inline(always)]
fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

/// The nearest integer of a number below four million, as both types. Adding
/// 1.5·2²³ pushes the fraction out of the mantissa.
#[inline(always)]
fn nearest(x: f32) -> (f32, i32) {
    const PUSH: f32 = 12_582_912.0;
    let pushed = x + PUSH;
    (
        pushed - PUSH,
        pushed.to_bits().wrapping_sub(PUSH.to_bits()) as i32,
    )
}

/// e to the power of a number that is not positive, to seven digits.
#[inline(always)]
fn exp(x: f32) -> f32 {
    let x = larger(x, -87.0);
    let (n, exponent) = nearest(x * std::f32::consts::LOG2_E);
    // ln 2 in two parts, of which the first is exact in a product with n.
    let r = x - n * 0.693_359_4 + n * 2.121_944_4e-4;
    let poly = 1.0
        + r * (1.0
            + r * (0.5
                + r * (1.666_666_5e-1
                    + r * (4.166_579_6e-2 + r * (8.333_452e-3 + r * 1.398_199_9e-3)))));
    poly * f32::from_bits(((exponent + 127) << 23) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_exact_to_a_millionth() {
        for i in 0..=8600 {
            let x = -(i as f32) / 100.0;
            let expect = f64::from(x).exp();
            let off = (f64::from(exp(x)) / expect - 1.0).abs();
            assert!(off < 1e-6, "exp({x}) is off by {off:e}");
        }
        assert!(exp(f32::MIN) < 1e-37);
        assert_eq!(exp(0.0), 1.0);
    }

    #[test]
    fn gelu_of_known_points() {
        fn check(x: f32, expect: f32) {
            let mut values = [x];
            gelu(&mut values);
            assert!((values[0] - expect).abs() < 1e-6, "{x} gives {}", values[0]);
        }
        check(0.0, 0.0);
        check(1.0, 0.841_344_7);
        check(-1.0, -0.158_655_25);
        check(2.0, 1.954_499_7);
        check(30.0, 30.0);
        check(-30.0, 0.0);
    }

    #[test]
    fn rounding_keeps_zero_groups_and_signs() {
        let mut x = vec![0f32; 2 * GROUP];
        x[GROUP] = -2.0;
        x[GROUP + 1] = 1.0;
        let mut rounded = Rounded::default();
        round(&x, 2 * GROUP, &mut rounded);
        assert_eq!(rounded.scales[0], 0.0);
        assert_eq!(rounded.offsets, [0, 8 * (-127 + 64)]);
        assert_eq!(rounded.values[GROUP..GROUP + 2], [-127, 64]);
    }
}
