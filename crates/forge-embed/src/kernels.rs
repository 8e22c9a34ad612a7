//! The same arithmetic on the widest vectors that the processor has. All
//! `unsafe` code of the encoder is in this file. No level may give other bits
//! than the portable one: integer sums are exact, and the few operations on
//! floating-point numbers keep the order of `maths::multiply_rows`.

use super::container::F32s;
use super::encoder::{FEED_FORWARD_WIDTH, HIDDEN_WIDTH};
use super::maths::{
    self, AttentionBuffers, BLOCK_OUTPUTS, GROUP_INPUTS, LinearLayer, QuantizedRows,
};

/// The instructions that the processor has. Only this file can make one, so
/// that holding a level proves that its instructions are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SimdLevel(SimdKind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SimdKind {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// With the byte products of VNNI; implies [`SimdKind::Avx2`].
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// Every 64-bit ARM has it.
    #[cfg(target_arch = "aarch64")]
    Neon,
}

impl SimdLevel {
    /// Returns the levels of this processor, from the plainest to the fastest.
    pub(super) fn available() -> Vec<SimdLevel> {
        #[cfg_attr(
            not(any(target_arch = "x86_64", target_arch = "aarch64")),
            expect(unused_mut)
        )]
        let mut levels = vec![SimdLevel(SimdKind::Portable)];
        #[cfg(target_arch = "aarch64")]
        levels.push(SimdLevel(SimdKind::Neon));
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            levels.push(SimdLevel(SimdKind::Avx2));
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vnni")
            {
                levels.push(SimdLevel(SimdKind::Avx512));
            }
        }
        levels
    }

    pub(super) fn best() -> SimdLevel {
        *SimdLevel::available()
            .last()
            .expect("the portable level is always there")
    }
}

/// Computes `out = x · weights + bias`.
pub(super) fn multiply_rows(
    level: SimdLevel,
    matrix: &LinearLayer,
    x: &QuantizedRows,
    out: &mut [f32],
) {
    // The kernels rely on these sizes.
    let groups = x.width / GROUP_INPUTS;
    let LinearLayer {
        blocks,
        scales,
        bias,
    } = matrix;
    assert!(x.width.is_multiple_of(GROUP_INPUTS) && bias.len().is_multiple_of(BLOCK_OUTPUTS));
    assert_eq!(
        blocks.len(),
        bias.len() / BLOCK_OUTPUTS * groups * maths::BLOCK_BYTES
    );
    assert_eq!(scales.len(), bias.len() * groups);
    assert_eq!(x.values.len(), x.rows() * x.width);
    assert_eq!(x.scales.len(), x.rows() * groups);
    assert_eq!(x.offsets.len(), x.rows() * groups);
    assert_eq!(out.len(), x.rows() * bias.len());
    match x.width {
        HIDDEN_WIDTH => multiply_rows_of_width::<HIDDEN_WIDTH>(level, matrix, x, out),
        FEED_FORWARD_WIDTH => multiply_rows_of_width::<FEED_FORWARD_WIDTH>(level, matrix, x, out),
        other => unreachable!("no layer is {other} wide"),
    }
}

/// Computes the product for one width. A width that the compiler knows makes
/// every address within a tile a constant. The sizes were checked by
/// [`multiply_rows`].
fn multiply_rows_of_width<const WIDTH: usize>(
    level: SimdLevel,
    matrix: &LinearLayer,
    x: &QuantizedRows,
    out: &mut [f32],
) {
    match level.0 {
        SimdKind::Portable => maths::multiply_rows(matrix, x, out),
        // SAFETY: a level is made only after its features were detected, and
        // the sizes were checked.
        #[cfg(target_arch = "x86_64")]
        SimdKind::Avx2 => unsafe { x86::linear_avx2::<WIDTH>(matrix, x, out) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        SimdKind::Avx512 => unsafe { x86::linear_avx512::<WIDTH>(matrix, x, out) },
        // SAFETY: NEON is part of the architecture; sizes as above.
        #[cfg(target_arch = "aarch64")]
        SimdKind::Neon => unsafe { arm::linear_neon::<WIDTH>(matrix, x, out) },
    }
}

/// Compiles a function of `maths` a second time for wider vectors.
macro_rules! on_every_level {
    ($($name:ident($($arg:ident: $type:ty),*);)*) => {$(
        pub(super) fn $name(level: SimdLevel, $($arg: $type),*) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2")]
                fn wide($($arg: $type),*) {
                    maths::$name($($arg),*);
                }
                #[target_feature(enable = "avx2,avx512f,avx512bw")]
                fn wider($($arg: $type),*) {
                    maths::$name($($arg),*);
                }
                match level.0 {
                    SimdKind::Portable => {}
                    // SAFETY: the level has detected AVX2.
                    SimdKind::Avx2 => return unsafe { wide($($arg),*) },
                    // SAFETY: the level has detected these too.
                    SimdKind::Avx512 => return unsafe { wider($($arg),*) },
                }
            }
            let SimdLevel(_) = level;
            maths::$name($($arg),*);
        }
    )*};
}

on_every_level! {
    round(x: &[f32], width: usize, to: &mut QuantizedRows);
    add_and_norm(x: &mut [f32], added: &[f32], gain: F32s, bias: F32s);
    gelu(x: &mut [f32]);
}

/// Computes attention with the level's own products; see [`maths::attention`].
pub(super) fn attention(
    level: SimdLevel,
    qkv: &[f32],
    width: usize,
    out: &mut [f32],
    room: &mut AttentionBuffers,
) {
    match level.0 {
        SimdKind::Portable => maths::attention(qkv, width, out, room, maths::pair_sums),
        // SAFETY: a level is made only after its features were detected.
        #[cfg(target_arch = "x86_64")]
        SimdKind::Avx2 => unsafe { x86::attention_avx2(qkv, width, out, room) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        SimdKind::Avx512 => unsafe { x86::attention_avx512(qkv, width, out, room) },
        // SAFETY: NEON is part of the architecture.
        #[cfg(target_arch = "aarch64")]
        SimdKind::Neon => unsafe { arm::attention_neon(qkv, width, out, room) },
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
/// The place of a tile of rows, with everything that a kernel needs to know.
#[derive(Clone, Copy)]
struct RowTile<'a> {
    /// One block of 16 outputs, all its groups, and their scales.
    block: &'a [u8],
    scales: &'a [[u8; 2]],
    bias: &'a [[u8; 4]; BLOCK_OUTPUTS],
    x: &'a QuantizedRows,
    first_row: usize,
    first_output: usize,
    outputs: usize,
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! tiles {
    ($name:ident, $features:literal, $tile:ident, [$($size:literal),*]) => {
        /// # Safety
        /// The processor has the features, and the sizes agree as
        /// `super::multiply_rows` checks; `WIDTH` is the width of `x`.
        #[target_feature(enable = $features)]
        pub(super) unsafe fn $name<const WIDTH: usize>(
            matrix: &LinearLayer,
            x: &QuantizedRows,
            out: &mut [f32],
        ) {
            let groups = WIDTH / GROUP_INPUTS;
            let blocks = matrix.blocks.chunks_exact(groups * BLOCK_BYTES);
            let scales = matrix.scales.chunks_exact(groups * BLOCK_OUTPUTS);
            let biases = matrix.bias.as_chunks::<BLOCK_OUTPUTS>().0;
            for (b, ((block, scales), bias)) in blocks.zip(scales).zip(biases).enumerate() {
                let mut row = 0;
                while row < x.rows() {
                    let tile = RowTile {
                        block,
                        scales,
                        bias,
                        x,
                        first_row: row,
                        first_output: b * BLOCK_OUTPUTS,
                        outputs: matrix.bias.len(),
                    };
                    $(if x.rows() - row >= $size {
                        // SAFETY: passed on from the caller; the rows of
                        // the tile exist.
                        unsafe { $tile::<$size, WIDTH>(tile, out) };
                        row += $size;
                        continue;
                    })*
                    unreachable!("the last size is one row");
                }
            }
        }
    };
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
impl RowTile<'_> {
    /// Returns four activations of a row as one number, ready to be repeated.
    ///
    /// # Safety
    ///
    /// `at + 4` is within the row.
    #[inline(always)]
    unsafe fn four<const WIDTH: usize>(&self, row: usize, at: usize) -> i32 {
        debug_assert!((self.first_row + row) * WIDTH + at + 4 <= self.x.values.len());
        // The row's place is added last, so that it becomes a constant of the
        // instruction.
        // SAFETY: the caller keeps the index within the values; an
        // unaligned read needs no more.
        unsafe {
            self.x
                .values
                .as_ptr()
                .add(self.first_row * WIDTH + at)
                .add(row * WIDTH)
                .cast::<i32>()
                .read_unaligned()
        }
    }

    /// Returns the scale and the offset of a group of a row.
    ///
    /// # Safety
    ///
    /// Row and group exist.
    #[inline(always)]
    unsafe fn group<const WIDTH: usize>(&self, row: usize, group: usize) -> (f32, i32) {
        let groups = WIDTH / GROUP_INPUTS;
        debug_assert!((self.first_row + row) * groups + group < self.x.scales.len());
        let first = self.first_row * groups + group;
        // SAFETY: there are as many scales and offsets as groups in all rows.
        unsafe {
            (
                *self.x.scales.as_ptr().add(first).add(row * groups),
                *self.x.offsets.as_ptr().add(first).add(row * groups),
            )
        }
    }

    #[inline(always)]
    fn out<'a>(&self, row: usize, out: &'a mut [f32]) -> &'a mut [f32; BLOCK_OUTPUTS] {
        let at = (self.first_row + row) * self.outputs + self.first_output;
        out[at..].first_chunk_mut().expect("blocks fill a row")
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::RowTile;
    use crate::maths::{
        self, AttentionBuffers, BLOCK_BYTES, BLOCK_OUTPUTS, Columns, GROUP_INPUTS, LinearLayer,
        MAX_KEYS, PairRows, QUERIES_PER_TILE, QuantizedRows,
    };

    #[target_feature(enable = "avx2")]
    pub(super) fn attention_avx2(
        qkv: &[f32],
        width: usize,
        out: &mut [f32],
        room: &mut AttentionBuffers,
    ) {
        maths::attention(qkv, width, out, room, |rows, columns| {
            pair_sums_avx2(rows, columns)
        });
    }

    #[target_feature(enable = "avx2,avx512f,avx512bw,avx512vnni")]
    pub(super) fn attention_avx512(
        qkv: &[f32],
        width: usize,
        out: &mut [f32],
        room: &mut AttentionBuffers,
    ) {
        maths::attention(qkv, width, out, room, |rows, columns| {
            pair_sums_avx512(rows, columns)
        });
    }

    #[target_feature(enable = "avx2")]
    fn pair_sums_avx2(
        rows: &PairRows,
        columns: &[Columns],
    ) -> [[i32; BLOCK_OUTPUTS]; QUERIES_PER_TILE] {
        let mut out = [[0; BLOCK_OUTPUTS]; QUERIES_PER_TILE];
        // Half of the rows at a time, so that sums stay in registers.
        for first in (0..QUERIES_PER_TILE).step_by(4) {
            let mut sums = [[_mm256_setzero_si256(); 2]; 4];
            let rows = &rows[first..first + 4];
            for (at, columns) in columns.iter().enumerate().take(MAX_KEYS / 2) {
                for half in 0..2 {
                    // SAFETY: 16 numbers are two times 32 bytes.
                    let columns =
                        unsafe { _mm256_loadu_si256(columns.as_ptr().add(8 * half).cast()) };
                    for (sums, row) in sums.iter_mut().zip(rows) {
                        let product = _mm256_madd_epi16(_mm256_set1_epi32(row[at]), columns);
                        sums[half] = _mm256_add_epi32(sums[half], product);
                    }
                }
            }
            for (out, sums) in out[first..].iter_mut().zip(sums) {
                for (half, sum) in sums.into_iter().enumerate() {
                    // SAFETY: 16 numbers are two times 32 bytes.
                    unsafe { _mm256_storeu_si256(out.as_mut_ptr().add(8 * half).cast(), sum) };
                }
            }
        }
        out
    }

    #[target_feature(enable = "avx2,avx512f,avx512bw,avx512vnni")]
    fn pair_sums_avx512(
        rows: &PairRows,
        columns: &[Columns],
    ) -> [[i32; BLOCK_OUTPUTS]; QUERIES_PER_TILE] {
        let mut sums = [_mm512_setzero_si512(); QUERIES_PER_TILE];
        for (at, columns) in columns.iter().enumerate().take(MAX_KEYS / 2) {
            // SAFETY: 16 numbers are 64 bytes.
            let columns = unsafe { _mm512_loadu_si512(columns.as_ptr().cast()) };
            for (sum, row) in sums.iter_mut().zip(rows) {
                *sum = _mm512_dpwssd_epi32(*sum, columns, _mm512_set1_epi32(row[at]));
            }
        }
        let mut out = [[0; BLOCK_OUTPUTS]; QUERIES_PER_TILE];
        for (out, sum) in out.iter_mut().zip(sums) {
            // SAFETY: 16 numbers are 64 bytes.
            unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), sum) };
        }
        out
    }

    tiles!(linear_avx2, "avx2", tile_avx2, [4, 2, 1]);
    tiles!(
        linear_avx512,
        "avx2,avx512f,avx512bw,avx512vnni",
        tile_avx512,
        [12, 8, 4, 2, 1]
    );

    /// Computes a tile with AVX2.
    ///
    /// # Safety
    ///
    /// AVX2 is there, the tile's rows exist and its sizes agree.
    #[target_feature(enable = "avx2")]
    unsafe fn tile_avx2<const ROWS: usize, const WIDTH: usize>(tile: RowTile<'_>, out: &mut [f32]) {
        let low_half = _mm256_set1_epi8(15);
        let ones = _mm256_set1_epi16(1);
        let mut totals = [[_mm256_setzero_ps(); 2]; ROWS];
        for (g, block) in tile.block.as_chunks::<BLOCK_BYTES>().0.iter().enumerate() {
            // A lane holds at most 8·2·15·127 = 30,480: 16 bits suffice.
            let mut sums = [[_mm256_setzero_si256(); 2]; ROWS];
            for quad in 0..4 {
                for half in 0..2 {
                    // SAFETY: 32 bytes at 64·quad + 32·half end within the
                    // block's 256.
                    let packed = unsafe {
                        _mm256_loadu_si256(block.as_ptr().add(64 * quad + 32 * half).cast())
                    };
                    let low = _mm256_and_si256(packed, low_half);
                    let high = _mm256_and_si256(_mm256_srli_epi16::<4>(packed), low_half);
                    for (row, sums) in sums.iter_mut().enumerate() {
                        // SAFETY: a group has 32 values, of which these are
                        // 4·quad.. and 4·quad + 16..
                        let (a, b) = unsafe {
                            let at = g * GROUP_INPUTS + 4 * quad;
                            (
                                tile.four::<WIDTH>(row, at),
                                tile.four::<WIDTH>(row, at + 16),
                            )
                        };
                        let a = _mm256_maddubs_epi16(low, _mm256_set1_epi32(a));
                        let b = _mm256_maddubs_epi16(high, _mm256_set1_epi32(b));
                        sums[half] = _mm256_add_epi16(sums[half], _mm256_add_epi16(a, b));
                    }
                }
            }
            for (row, (sums, totals)) in sums.iter().zip(&mut totals).enumerate() {
                // SAFETY: the tile's rows exist, and so does the group.
                let (scale, offset) = unsafe { tile.group::<WIDTH>(row, g) };
                for half in 0..2 {
                    let sum = _mm256_madd_epi16(sums[half], ones);
                    let sum = _mm256_add_epi32(sum, _mm256_set1_epi32(offset));
                    let sum = _mm256_mul_ps(_mm256_cvtepi32_ps(sum), _mm256_set1_ps(scale));
                    // SAFETY: 8 of a group's 16 scales begin at 8·half.
                    let weight = unsafe {
                        _mm_loadu_si128(
                            tile.scales
                                .as_ptr()
                                .add(g * BLOCK_OUTPUTS + 8 * half)
                                .cast(),
                        )
                    };
                    let weight = _mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(weight));
                    let weight = _mm256_castsi256_ps(weight);
                    totals[half] = _mm256_add_ps(totals[half], _mm256_mul_ps(sum, weight));
                }
            }
        }
        for (row, totals) in totals.iter().enumerate() {
            let out = tile.out(row, out);
            for (half, &total) in totals.iter().enumerate() {
                // SAFETY: bias and output hold 16 numbers each.
                unsafe {
                    let bias = _mm256_loadu_ps(tile.bias.as_ptr().add(8 * half).cast());
                    _mm256_storeu_ps(out.as_mut_ptr().add(8 * half), _mm256_add_ps(total, bias));
                }
            }
        }
    }

    /// Computes a tile with AVX-512.
    ///
    /// # Safety
    ///
    /// AVX-512 with VNNI is there, the tile's rows exist and its sizes agree.
    #[target_feature(enable = "avx2,avx512f,avx512bw,avx512vnni")]
    unsafe fn tile_avx512<const ROWS: usize, const WIDTH: usize>(
        tile: RowTile<'_>,
        out: &mut [f32],
    ) {
        let low_half = _mm512_set1_epi8(15);
        let mut totals = [_mm512_setzero_ps(); ROWS];
        for (g, block) in tile.block.as_chunks::<BLOCK_BYTES>().0.iter().enumerate() {
            let mut sums = [_mm512_setzero_si512(); ROWS];
            for (row, sum) in sums.iter_mut().enumerate() {
                // SAFETY: the tile's rows exist, and so does the group.
                *sum = _mm512_set1_epi32(unsafe { tile.group::<WIDTH>(row, g) }.1);
            }
            for quad in 0..4 {
                // SAFETY: 64 bytes at 64·quad end within the block's 256.
                let packed = unsafe { _mm512_loadu_si512(block.as_ptr().add(64 * quad).cast()) };
                let low = _mm512_and_si512(packed, low_half);
                let high = _mm512_and_si512(_mm512_srli_epi16::<4>(packed), low_half);
                for (row, sum) in sums.iter_mut().enumerate() {
                    // SAFETY: a group has 32 values, of which these are
                    // 4·quad.. and 4·quad + 16..
                    let (a, b) = unsafe {
                        let at = g * GROUP_INPUTS + 4 * quad;
                        (
                            tile.four::<WIDTH>(row, at),
                            tile.four::<WIDTH>(row, at + 16),
                        )
                    };
                    *sum = _mm512_dpbusd_epi32(*sum, low, _mm512_set1_epi32(a));
                    *sum = _mm512_dpbusd_epi32(*sum, high, _mm512_set1_epi32(b));
                }
            }
            // SAFETY: every group has 16 scales of two bytes.
            let weight =
                unsafe { _mm256_loadu_si256(tile.scales.as_ptr().add(g * BLOCK_OUTPUTS).cast()) };
            let weight = _mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(weight));
            let weight = _mm512_castsi512_ps(weight);
            for (row, (sum, total)) in sums.iter().zip(&mut totals).enumerate() {
                // SAFETY: as above.
                let scale = _mm512_set1_ps(unsafe { tile.group::<WIDTH>(row, g) }.0);
                let sum = _mm512_mul_ps(_mm512_cvtepi32_ps(*sum), scale);
                *total = _mm512_add_ps(*total, _mm512_mul_ps(sum, weight));
            }
        }
        for (row, total) in totals.iter().enumerate() {
            // SAFETY: bias and output hold 16 numbers each.
            unsafe {
                let bias = _mm512_loadu_ps(tile.bias.as_ptr().cast());
                _mm512_storeu_ps(tile.out(row, out).as_mut_ptr(), _mm512_add_ps(*total, bias));
            }
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod arm {
    use std::arch::aarch64::*;

    use super::RowTile;
    use crate::maths::{
        self, AttentionBuffers, BLOCK_BYTES, BLOCK_OUTPUTS, Columns, GROUP_INPUTS, LinearLayer,
        MAX_KEYS, PairRows, QUERIES_PER_TILE, QuantizedRows,
    };

    #[target_feature(enable = "neon")]
    pub(super) fn attention_neon(
        qkv: &[f32],
        width: usize,
        out: &mut [f32],
        room: &mut AttentionBuffers,
    ) {
        maths::attention(qkv, width, out, room, |rows, columns| {
            pair_sums_neon(rows, columns)
        });
    }

    #[target_feature(enable = "neon")]
    fn pair_sums_neon(
        rows: &PairRows,
        columns: &[Columns],
    ) -> [[i32; BLOCK_OUTPUTS]; QUERIES_PER_TILE] {
        let mut out = [[0; BLOCK_OUTPUTS]; QUERIES_PER_TILE];
        // A quarter of the rows at a time, so that sums stay in registers.
        for first in (0..QUERIES_PER_TILE).step_by(2) {
            let mut sums = [[vdupq_n_s32(0); 4]; 2];
            let rows = &rows[first..first + 2];
            for (at, columns) in columns.iter().enumerate().take(MAX_KEYS / 2) {
                for part in 0..4 {
                    // SAFETY: 16 numbers are four times 16 bytes.
                    let columns = unsafe { vld1q_s32(columns.as_ptr().add(4 * part)) };
                    let low = vmovn_s32(columns);
                    let high = vshrn_n_s32::<16>(columns);
                    for (sums, row) in sums.iter_mut().zip(rows) {
                        let a = row[at];
                        sums[part] = vmlal_n_s16(sums[part], low, a as i16);
                        sums[part] = vmlal_n_s16(sums[part], high, (a >> 16) as i16);
                    }
                }
            }
            for (out, sums) in out[first..].iter_mut().zip(sums) {
                for (part, sum) in sums.into_iter().enumerate() {
                    // SAFETY: 16 numbers are four times 16 bytes.
                    unsafe { vst1q_s32(out.as_mut_ptr().add(4 * part), sum) };
                }
            }
        }
        out
    }

    tiles!(linear_neon, "neon", tile_neon, [2, 1]);

    /// Computes a tile with NEON.
    ///
    /// # Safety
    ///
    /// The tile's rows exist and its sizes agree.
    #[target_feature(enable = "neon")]
    unsafe fn tile_neon<const ROWS: usize, const WIDTH: usize>(tile: RowTile<'_>, out: &mut [f32]) {
        let low_half = vdupq_n_u8(15);
        let mut totals = [[vdupq_n_f32(0.0); 4]; ROWS];
        for (g, block) in tile.block.as_chunks::<BLOCK_BYTES>().0.iter().enumerate() {
            // Four outputs at a time, two to a register. A lane holds at most
            // 8·15·127 = 15,240: 16 bits suffice.
            let mut sums = [[[vdupq_n_s16(0); 2]; 4]; ROWS];
            for quad in 0..4 {
                let mut values = [[vdup_n_s8(0); 2]; ROWS];
                for (row, values) in values.iter_mut().enumerate() {
                    // SAFETY: a group has 32 values, of which these are
                    // 4·quad.. and 4·quad + 16..
                    let (a, b) = unsafe {
                        let at = g * GROUP_INPUTS + 4 * quad;
                        (
                            tile.four::<WIDTH>(row, at),
                            tile.four::<WIDTH>(row, at + 16),
                        )
                    };
                    *values = [a, b].map(|four| vreinterpret_s8_s32(vdup_n_s32(four)));
                }
                for part in 0..4 {
                    // SAFETY: 16 bytes at 64·quad + 16·part end within the
                    // block's 256.
                    let packed = unsafe { vld1q_u8(block.as_ptr().add(64 * quad + 16 * part)) };
                    let low = vreinterpretq_s8_u8(vandq_u8(packed, low_half));
                    let high = vreinterpretq_s8_u8(vshrq_n_u8::<4>(packed));
                    for (sums, [a, b]) in sums.iter_mut().zip(values) {
                        let [first, second] = &mut sums[part];
                        *first = vmlal_s8(*first, vget_low_s8(low), a);
                        *first = vmlal_s8(*first, vget_low_s8(high), b);
                        *second = vmlal_s8(*second, vget_high_s8(low), a);
                        *second = vmlal_s8(*second, vget_high_s8(high), b);
                    }
                }
            }
            for (row, (sums, totals)) in sums.iter().zip(&mut totals).enumerate() {
                // SAFETY: the tile's rows exist, and so does the group.
                let (scale, offset) = unsafe { tile.group::<WIDTH>(row, g) };
                for part in 0..4 {
                    let [first, second] = sums[part];
                    let sum = vpaddq_s32(vpaddlq_s16(first), vpaddlq_s16(second));
                    let sum = vcvtq_f32_s32(vaddq_s32(sum, vdupq_n_s32(offset)));
                    let sum = vmulq_f32(sum, vdupq_n_f32(scale));
                    // SAFETY: 4 of a group's 16 scales begin at 4·part.
                    let weight = unsafe {
                        vld1_u16(
                            tile.scales
                                .as_ptr()
                                .add(g * BLOCK_OUTPUTS + 4 * part)
                                .cast(),
                        )
                    };
                    let weight = vreinterpretq_f32_u32(vshlq_n_u32::<16>(vmovl_u16(weight)));
                    totals[part] = vaddq_f32(totals[part], vmulq_f32(sum, weight));
                }
            }
        }
        for (row, totals) in totals.iter().enumerate() {
            let out = tile.out(row, out);
            for (part, &total) in totals.iter().enumerate() {
                // SAFETY: bias and output hold 16 numbers each.
                unsafe {
                    let bias = vld1q_f32(tile.bias.as_ptr().add(4 * part).cast());
                    vst1q_f32(out.as_mut_ptr().add(4 * part), vaddq_f32(total, bias));
                }
            }
        }
    }
}
