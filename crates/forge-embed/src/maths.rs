//! Computes what is between the matrix products. Every function is written so
//! that a compiler can use vectors of any width and still get the same bits:
//! sums run over a fixed number of lanes, and nothing is fused. None of them
//! may call into the system's mathematics library, which differs by platform.
//! Loops are plain loops: a call that is not inlined, such as
//! `std::array::from_fn`, would be compiled for the narrow vectors.

use super::container::F32s;

/// Inputs that share a scale, in weights and in activations.
pub(super) const GROUP_INPUTS: usize = 32;
/// Outputs computed side by side.
pub(super) const BLOCK_OUTPUTS: usize = 16;
pub(super) const HEAD_WIDTH: usize = 32;
/// 1/√[`HEAD_WIDTH`], by which attention divides.
const ATTENTION_SCALE: f32 = 0.176_776_69;
const SUM_LANES: usize = 16;
/// Magnitudes up to this count as zero: dividing by them would overflow.
const MIN_MAGNITUDE: f32 = 1e-30;

/// Rows of numbers rounded to 8 bits, with one scale for every [`GROUP_INPUTS`].
#[derive(Default)]
pub(super) struct QuantizedRows {
    pub(super) width: usize,
    pub(super) values: Vec<i8>,
    pub(super) scales: Vec<f32>,
    /// Minus eight times the sum of the group: weights are stored with an
    /// offset of eight, and this takes it out of a product again.
    pub(super) offsets: Vec<i32>,
}

impl QuantizedRows {
    pub(super) fn rows(&self) -> usize {
        self.values.len() / self.width
    }
}

/// 16 outputs × 32 inputs at half a byte.
pub(super) const BLOCK_BYTES: usize = BLOCK_OUTPUTS * GROUP_INPUTS / 2;

/// A matrix as the converter lays it out: blocks of 4-bit weights, sixteen
/// scales for each, and a bias for every output.
pub(super) struct LinearLayer {
    pub(super) blocks: &'static [u8],
    pub(super) scales: Halves,
    pub(super) bias: F32s,
}

/// The upper half of an f32, which is a bfloat16.
pub(super) type Halves = &'static [[u8; 2]];

#[inline(always)]
pub(super) fn widen_bfloat16(half: [u8; 2]) -> f32 {
    f32::from_bits(u32::from(u16::from_le_bytes(half)) << 16)
}

/// Computes the product of rows and one matrix. The vector kernels do the same
/// operations in the same order.
#[inline(always)]
pub(super) fn multiply_rows(matrix: &LinearLayer, x: &QuantizedRows, out: &mut [f32]) {
    let groups = x.width / GROUP_INPUTS;
    let outputs = matrix.bias.len();
    out.fill(0.0);
    let blocks = matrix.blocks.as_chunks::<BLOCK_BYTES>().0;
    let scales = matrix.scales.as_chunks::<BLOCK_OUTPUTS>().0;
    for (at, (block, scales)) in blocks.iter().zip(scales).enumerate() {
        let (first_output, group) = (at / groups * BLOCK_OUTPUTS, at % groups);
        let weights = unpack_weights(block);
        for row in 0..x.rows() {
            let at = row * groups + group;
            let sums = group_sums(&weights, &x.values[at * GROUP_INPUTS..][..GROUP_INPUTS]);
            let to = &mut out[row * outputs + first_output..][..BLOCK_OUTPUTS];
            for ((to, sum), scale) in to.iter_mut().zip(sums).zip(scales) {
                let sum = (sum + x.offsets[at]) as f32 * x.scales[at];
                *to += sum * widen_bfloat16(*scale);
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
type Quad = [[i16; 8]; 4 * BLOCK_OUTPUTS / 8];

#[inline(always)]
fn unpack_weights(packed: &[u8]) -> [Quad; GROUP_INPUTS / 4] {
    let mut weights = [Quad::default(); GROUP_INPUTS / 4];
    let (low, high) = weights.split_at_mut(GROUP_INPUTS / 8);
    let low = low.as_flattened_mut().as_flattened_mut();
    let high = high.as_flattened_mut().as_flattened_mut();
    for ((low, high), byte) in low.iter_mut().zip(high).zip(packed) {
        *low = i16::from(byte & 15);
        *high = i16::from(byte >> 4);
    }
    weights
}

#[inline(always)]
fn group_sums(weights: &[Quad; GROUP_INPUTS / 4], values: &[i8]) -> [i32; BLOCK_OUTPUTS] {
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
pub(super) fn round(x: &[f32], width: usize, to: &mut QuantizedRows) {
    to.width = width;
    to.values.clear();
    to.values.resize(x.len(), 0);
    to.scales.clear();
    to.offsets.clear();
    let groups = x.as_chunks::<GROUP_INPUTS>().0;
    for (group, values) in groups
        .iter()
        .zip(to.values.as_chunks_mut::<GROUP_INPUTS>().0)
    {
        let mut sizes = [0f32; 8];
        for eight in group.as_chunks::<8>().0 {
            for (size, x) in sizes.iter_mut().zip(eight) {
                *size = larger_of_two(*size, x.abs());
            }
        }
        let largest = largest_of(sizes);
        let to_steps = if largest > MIN_MAGNITUDE {
            127.0 / largest
        } else {
            0.0
        };
        let mut steps = [0i32; GROUP_INPUTS];
        let mut sum = 0;
        for (step, &x) in steps.iter_mut().zip(group) {
            *step = nearest_integer(x * to_steps).1;
            sum += *step;
        }
        for (value, &step) in values.iter_mut().zip(&steps) {
            *value = step as i8;
        }
        to.scales.push(largest / 127.0);
        to.offsets.push(-8 * sum);
    }
}

/// Computes `x = norm(x + added)`, row by row.
#[inline(always)]
pub(super) fn add_and_norm(x: &mut [f32], added: &[f32], gain: F32s, bias: F32s) {
    let width = gain.len();
    for (row, added) in x.chunks_exact_mut(width).zip(added.chunks_exact(width)) {
        for (x, added) in row.iter_mut().zip(added) {
            *x += added;
        }
        let mean = sum_lanes(row, |x| x) / width as f32;
        let variance = sum_lanes(row, |x| (x - mean) * (x - mean)) / width as f32;
        // The epsilon of BERT, with which the weights were trained.
        let factor = 1.0 / (variance + 1e-12).sqrt();
        for ((x, gain), bias) in row.iter_mut().zip(gain).zip(bias) {
            *x = (*x - mean) * factor * f32::from_le_bytes(*gain) + f32::from_le_bytes(*bias);
        }
    }
}

/// Computes the exact form, `x·Φ(x)`, with the error function to seven decimals
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
        let erf = (1.0 - poly * exp_nonpositive(-size * size)).copysign(z);
        *x = 0.5 * *x * (1.0 + erf);
    }
}

/// Rows that are attended to side by side.
pub(super) const QUERIES_PER_TILE: usize = 8;
/// Steps of a query's or key's largest coordinate: 32 products of two such
/// numbers fit into 31 bits.
const FINE_STEPS: f32 = 4095.0;
/// Steps of a value's largest coordinate: 256 products with a weight of at
/// most [`FINE_STEPS`] fit into 31 bits.
const COARSE_STEPS: f32 = 2047.0;
/// The largest number of tokens in a text; with more, the sums would overflow.
pub(super) const MAX_KEYS: usize = 256;

/// Two numbers of 16 bits that are multiplied and added together, the first in
/// the low half.
pub(super) type Pair = i32;
pub(super) type Columns = [Pair; BLOCK_OUTPUTS];
/// The pairs of every row side by side, as many as there are columns.
pub(super) type PairRows = [[Pair; MAX_KEYS / 2]; QUERIES_PER_TILE];

#[inline(always)]
fn pack_pair(low: i32, high: i32) -> Pair {
    (low & 0xffff) | (high << 16)
}

/// Computes `out[q][c]`, the products of row `q` of `rows` with column `c`,
/// pair by pair. The vector kernels compute the same sums, which are exact.
#[inline(always)]
pub(super) fn pair_sums(
    rows: &PairRows,
    columns: &[Columns],
) -> [[i32; BLOCK_OUTPUTS]; QUERIES_PER_TILE] {
    let mut sums = [[0; BLOCK_OUTPUTS]; QUERIES_PER_TILE];
    for (at, columns) in columns.iter().enumerate() {
        for (sums, row) in sums.iter_mut().zip(rows) {
            let a = row[at];
            for (sum, &b) in sums.iter_mut().zip(columns) {
                *sum += i32::from(a as i16) * i32::from(b as i16) + (a >> 16) * (b >> 16);
            }
        }
    }
    sums
}

/// The buffers of attention, kept between texts so that they are allocated
/// once.
#[derive(Default)]
pub(super) struct AttentionBuffers {
    /// A head's keys: blocks of 16 keys, in each 16 pairs of coordinates.
    keys: Vec<Columns>,
    /// A head's values: two halves of 16 coordinates, in each pairs of keys.
    values: [Vec<Columns>; 2],
    scores: Vec<[f32; BLOCK_OUTPUTS]>,
}

/// Computes the attention of every head. `qkv` holds query, key and value of a
/// token side by side. Products are of integers, which is faster than numbers
/// with a fraction and the same everywhere. `pair_sums` is the kernel for them.
#[inline(always)]
pub(super) fn attention(
    qkv: &[f32],
    width: usize,
    out: &mut [f32],
    room: &mut AttentionBuffers,
    pair_sums: impl Fn(&PairRows, &[Columns]) -> [[i32; BLOCK_OUTPUTS]; QUERIES_PER_TILE],
) {
    let rows = qkv.len() / (3 * width);
    assert!(rows <= MAX_KEYS, "sums of more keys may overflow");
    let blocks = rows.div_ceil(BLOCK_OUTPUTS);
    room.scores.clear();
    room.scores
        .resize(blocks * QUERIES_PER_TILE, [0.0; BLOCK_OUTPUTS]);
    // First a few queries, then how much of every key each of them gets. Rows
    // of queries that are not there count for nothing.
    let mut pairs: PairRows = [[0; MAX_KEYS / 2]; QUERIES_PER_TILE];
    for head in (0..width).step_by(HEAD_WIDTH) {
        let part = |row: usize, which: usize| -> &[f32; HEAD_WIDTH] {
            qkv[row * 3 * width + which * width + head..]
                .first_chunk()
                .expect("heads fill a row")
        };
        let steps = |which: usize, most: f32| -> f32 {
            let mut sizes = [0f32; 8];
            for row in 0..rows {
                for eight in part(row, which).as_chunks::<8>().0 {
                    for (size, x) in sizes.iter_mut().zip(eight) {
                        *size = larger_of_two(*size, x.abs());
                    }
                }
            }
            let largest = largest_of(sizes);
            if largest > MIN_MAGNITUDE {
                most / largest
            } else {
                0.0
            }
        };
        let (query_steps, key_steps) = (steps(0, FINE_STEPS), steps(1, FINE_STEPS));
        let value_steps = steps(2, COARSE_STEPS);
        let score_step = match query_steps * key_steps {
            0.0 => 0.0,
            product => ATTENTION_SCALE / product,
        };
        let value_step = if value_steps > 0.0 {
            1.0 / value_steps
        } else {
            0.0
        };

        room.keys.clear();
        room.keys
            .resize(blocks * HEAD_WIDTH / 2, [0; BLOCK_OUTPUTS]);
        for values in &mut room.values {
            values.clear();
            values.resize(blocks * BLOCK_OUTPUTS / 2, [0; BLOCK_OUTPUTS]);
        }
        for row in 0..rows {
            let mut steps = [0i32; HEAD_WIDTH];
            for (step, &x) in steps.iter_mut().zip(part(row, 1)) {
                *step = nearest_integer(x * key_steps).1;
            }
            let keys = &mut room.keys[row / BLOCK_OUTPUTS * (HEAD_WIDTH / 2)..][..HEAD_WIDTH / 2];
            for (columns, two) in keys.iter_mut().zip(steps.as_chunks::<2>().0) {
                columns[row % BLOCK_OUTPUTS] = pack_pair(two[0], two[1]);
            }
            for (step, &x) in steps.iter_mut().zip(part(row, 2)) {
                *step = nearest_integer(x * value_steps).1;
            }
            let (first, second) = steps.split_at(BLOCK_OUTPUTS);
            for (values, half) in room.values.iter_mut().zip([first, second]) {
                for (to, &step) in values[row / 2].iter_mut().zip(half) {
                    *to |= match row % 2 {
                        0 => pack_pair(step, 0),
                        _ => pack_pair(0, step),
                    };
                }
            }
        }

        for first in (0..rows).step_by(QUERIES_PER_TILE) {
            let here = (rows - first).min(QUERIES_PER_TILE);
            for (query, row) in pairs.iter_mut().enumerate().take(here) {
                let mut steps = [0i32; HEAD_WIDTH];
                for (step, &x) in steps.iter_mut().zip(part(first + query, 0)) {
                    *step = nearest_integer(x * query_steps).1;
                }
                for (to, two) in row.iter_mut().zip(steps.as_chunks::<2>().0) {
                    *to = pack_pair(two[0], two[1]);
                }
            }
            // The scores of one query lie together.
            for (block, keys) in room
                .keys
                .as_chunks::<{ HEAD_WIDTH / 2 }>()
                .0
                .iter()
                .enumerate()
            {
                let sums = pair_sums(&pairs, keys);
                for (query, sums) in sums.iter().enumerate() {
                    let scores = &mut room.scores[query * blocks + block];
                    for (score, &sum) in scores.iter_mut().zip(sums) {
                        *score = sum as f32 * score_step;
                    }
                }
            }
            let mut totals = [0i32; QUERIES_PER_TILE];
            for (query, (total, row)) in totals.iter_mut().zip(&mut pairs).enumerate().take(here) {
                let scores = room.scores[query * blocks..][..blocks].as_flattened_mut();
                // Places behind the last token must win nothing.
                scores[rows..].fill(f32::MIN);
                let mut highest = [f32::MIN; 8];
                for scores in scores.as_chunks::<8>().0 {
                    for (highest, &score) in highest.iter_mut().zip(scores) {
                        *highest = larger_of_two(*highest, score);
                    }
                }
                let highest = largest_of(highest);
                let mut lanes = [0i32; 16];
                for (to, scores) in row
                    .as_chunks_mut::<8>()
                    .0
                    .iter_mut()
                    .zip(scores.as_chunks::<16>().0)
                {
                    let mut steps = [0i32; 16];
                    for ((step, lane), score) in steps.iter_mut().zip(&mut lanes).zip(scores) {
                        *step = nearest_integer(exp_nonpositive(score - highest) * FINE_STEPS).1;
                        *lane += *step;
                    }
                    for (to, two) in to.iter_mut().zip(steps.as_chunks::<2>().0) {
                        *to = pack_pair(two[0], two[1]);
                    }
                }
                *total = lanes.iter().sum();
            }
            for (half, values) in room.values.iter().enumerate() {
                let sums = pair_sums(&pairs, values);
                for query in 0..here {
                    let at = (first + query) * width + head + half * BLOCK_OUTPUTS;
                    let factor = value_step / totals[query] as f32;
                    for (to, &sum) in out[at..][..BLOCK_OUTPUTS].iter_mut().zip(&sums[query]) {
                        *to = sum as f32 * factor;
                    }
                }
            }
        }
    }
}

/// Computes a sum over a multiple of [`SUM_LANES`] numbers.
#[inline(always)]
fn sum_lanes(x: &[f32], of: impl Fn(f32) -> f32) -> f32 {
    let mut lanes = [0f32; SUM_LANES];
    for x in x.as_chunks::<SUM_LANES>().0 {
        for (lane, &x) in lanes.iter_mut().zip(x) {
            *lane += of(x);
        }
    }
    lanes.into_iter().fold(0.0, |a, b| a + b)
}

/// Computes the largest number as a tree, since a chain of comparisons would be
/// compiled to branches.
#[inline(always)]
fn largest_of(mut x: [f32; 8]) -> f32 {
    for left in [4, 2, 1] {
        for i in 0..left {
            x[i] = larger_of_two(x[i], x[i + left]);
        }
    }
    x[0]
}

#[inline(always)]
fn larger_of_two(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

/// Rounds a number below four million, and returns it as both types. Adding
/// 1.5·2²³ pushes the fraction out of the mantissa.
#[inline(always)]
fn nearest_integer(x: f32) -> (f32, i32) {
    const ROUNDING_PUSH: f32 = 12_582_912.0;
    let pushed = x + ROUNDING_PUSH;
    (
        pushed - ROUNDING_PUSH,
        pushed.to_bits().wrapping_sub(ROUNDING_PUSH.to_bits()) as i32,
    )
}

/// Computes e to the power of a number that is not positive, to seven digits.
#[inline(always)]
fn exp_nonpositive(x: f32) -> f32 {
    // Below this, the result would leave the normal numbers.
    let x = larger_of_two(x, -87.0);
    let (n, exponent) = nearest_integer(x * std::f32::consts::LOG2_E);
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
            let off = (f64::from(exp_nonpositive(x)) / expect - 1.0).abs();
            assert!(off < 1e-6, "exp({x}) is off by {off:e}");
        }
        assert!(exp_nonpositive(f32::MIN) < 1e-37);
        assert_eq!(exp_nonpositive(0.0), 1.0);
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
        let mut x = vec![0f32; 2 * GROUP_INPUTS];
        x[GROUP_INPUTS] = -2.0;
        x[GROUP_INPUTS + 1] = 1.0;
        let mut rounded = QuantizedRows::default();
        round(&x, 2 * GROUP_INPUTS, &mut rounded);
        assert_eq!(rounded.scales[0], 0.0);
        assert_eq!(rounded.offsets, [0, -8 * (-127 + 64)]);
        assert_eq!(rounded.values[GROUP_INPUTS..GROUP_INPUTS + 2], [-127, 64]);
    }
}
