//! Vectors as signed bytes in pages, and the exact scan over them.
//!
//! A page holds [`PASSAGES_PER_PAGE`] slots, one per passage id; a slot is a scale (f32,
//! zero while the passage is not embedded) and `dimensions` bytes. Reading
//! pages in order is as fast as a flat file, and a page is one row.

/// Passages per page.
pub(super) const PASSAGES_PER_PAGE: u32 = 1024;

pub(super) fn vector_slot_bytes(dimensions: usize) -> usize {
    4 + dimensions
}

pub(super) fn vector_page_bytes(dimensions: usize) -> usize {
    PASSAGES_PER_PAGE as usize * vector_slot_bytes(dimensions)
}

/// A vector as it is stored: bytes and the factor that turns them back.
#[derive(Debug, Clone, PartialEq)]
pub struct PackedVector {
    /// The factor that turns the bytes into numbers.
    pub scale: f32,
    /// A byte for each dimension.
    pub values: Vec<i8>,
}

impl PackedVector {
    /// Packs a vector as signed bytes.
    pub fn from_floats(vector: &[f32]) -> PackedVector {
        let largest = vector.iter().fold(0f32, |m, v| m.max(v.abs()));
        if largest <= 0.0 || !largest.is_finite() {
            // No direction: a tiny scale marks it as done without a similarity.
            return PackedVector {
                scale: f32::MIN_POSITIVE,
                values: vec![0; vector.len()],
            };
        }
        let scale = largest / 127.0;
        PackedVector {
            scale,
            values: vector.iter().map(|v| (v / scale).round() as i8).collect(),
        }
    }

    /// Serializes the vector as a slot of a page.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.scale.to_le_bytes().to_vec();
        bytes.extend(self.values.iter().map(|v| *v as u8));
        bytes
    }

    /// Reads the bytes of [`PackedVector::to_bytes`]; `None` if they hold no vector.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<PackedVector> {
        let (scale, values) = bytes.split_first_chunk::<4>()?;
        let scale = f32::from_le_bytes(*scale);
        (scale > 0.0).then(|| PackedVector {
            scale,
            values: values.iter().map(|v| *v as i8).collect(),
        })
    }

    /// Returns the numbers of the vector, as precise as bytes are.
    pub fn values(&self) -> impl Iterator<Item = f32> + '_ {
        self.values.iter().map(|v| f32::from(*v) * self.scale)
    }
}

/// Calls `each` with the slot and cosine of every embedded passage of a page.
pub(super) fn scan_vector_page(page: &[u8], query: &PackedVector, each: impl FnMut(u32, f32)) {
    #[cfg(target_arch = "x86_64")]
    {
        if std::is_x86_feature_detected!("avx512bw")
            && std::is_x86_feature_detected!("avx512vnni")
            && query.values.len().is_multiple_of(64)
        {
            // SAFETY: the features were just detected, and the length checked;
            // the function has no other requirements.
            return unsafe { scan_avx512(page, query, each) };
        }
        if std::is_x86_feature_detected!("avx2") {
            // SAFETY: the feature was just detected; the function has no other
            // requirement than that.
            return unsafe { scan_avx2(page, query, each) };
        }
    }
    scan_slots(page, query, dot_product, each);
}

#[inline(always)]
fn scan_slots(
    page: &[u8],
    query: &PackedVector,
    dot: impl Fn(&[i8], &[u8]) -> i32,
    mut each: impl FnMut(u32, f32),
) {
    let slot = vector_slot_bytes(query.values.len());
    for (i, bytes) in page.chunks_exact(slot).enumerate() {
        let (scale, values) = bytes.split_at(4);
        let scale = f32::from_le_bytes([scale[0], scale[1], scale[2], scale[3]]);
        // The passage has no vector yet.
        if scale == 0.0 {
            continue;
        }
        let dot = dot(&query.values, values);
        each(i as u32, dot as f32 * scale * query.scale);
    }
}

/// Computes the dot product of signed bytes; the second slice holds them as raw
/// bytes.
#[inline(always)]
fn dot_product(a: &[i8], b: &[u8]) -> i32 {
    a.iter()
        .zip(b)
        .map(|(a, b)| *a as i16 as i32 * (*b as i8) as i16 as i32)
        .sum()
}

/// Runs the plain loop, compiled for wider registers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn scan_avx2(page: &[u8], query: &PackedVector, each: impl FnMut(u32, f32)) {
    scan_slots(page, query, dot_product, each);
}

/// Computes products of four bytes at once, of which one side must be unsigned:
/// 128 is added to the stored side, and 128 times the sum of the other side is
/// subtracted again. Sums are exact, so that every way gives the same cosine.
///
/// # Safety
///
/// The query's length is a multiple of 64.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
unsafe fn scan_avx512(page: &[u8], query: &PackedVector, each: impl FnMut(u32, f32)) {
    use std::arch::x86_64::*;
    let sum: i32 = query.values.iter().map(|&v| i32::from(v)).sum();
    let offset = _mm512_set1_epi8(-128);
    scan_slots(
        page,
        query,
        |a, b| {
            let mut sums = [_mm512_setzero_si512(); 2];
            let blocks = a.as_chunks::<64>().0.iter().zip(b.as_chunks::<64>().0);
            for (at, (a, b)) in blocks.enumerate() {
                // SAFETY: both are 64 bytes long.
                let (a, b) = unsafe {
                    (
                        _mm512_loadu_si512(a.as_ptr().cast()),
                        _mm512_loadu_si512(b.as_ptr().cast()),
                    )
                };
                let sum = &mut sums[at % 2];
                *sum = _mm512_dpbusd_epi32(*sum, _mm512_xor_si512(b, offset), a);
            }
            _mm512_reduce_add_epi32(_mm512_add_epi32(sums[0], sums[1])) - 128 * sum
        },
        each,
    );
}

/// Pages that an index keeps in memory, since reading them from its file takes
/// several times as long as the scan.
#[derive(Default)]
pub(super) struct PageCache {
    /// Whether there was a question before. One that stays alone, as that of a
    /// command does, needs nothing kept.
    pub(super) has_been_queried: bool,
    /// Counts the commits of others; the pages hold as long as it stays.
    pub(super) version: i64,
    pub(super) pages: Option<Vec<(u32, Vec<u8>)>>,
}

/// Upper bound for bytes that are kept: the vectors of some 690,000 passages. A larger
/// index is read from its file for every query.
pub(super) const MAX_CACHED_BYTES: usize = 256 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_empty_slot_is_skipped_and_a_full_one_found() {
        let query = PackedVector::from_floats(&[1.0, 0.0, 0.0, 0.0]);
        let mut page = vec![0u8; vector_page_bytes(4)];
        let stored = PackedVector::from_floats(&[0.6, 0.8, 0.0, 0.0]).to_bytes();
        page[7 * 8..8 * 8].copy_from_slice(&stored);
        let mut seen = Vec::new();
        scan_vector_page(&page, &query, |slot, cosine| seen.push((slot, cosine)));
        assert_eq!(seen.len(), 1);
        assert_eq!(seen[0].0, 7);
        assert!((seen[0].1 - 0.6).abs() < 0.01, "{seen:?}");
    }

    #[test]
    fn a_text_without_direction_is_embedded_but_near_nothing() {
        let zero = PackedVector::from_floats(&[0.0; 8]);
        assert!(zero.scale > 0.0);
        let mut cosines = Vec::new();
        scan_vector_page(
            &zero.to_bytes(),
            &PackedVector::from_floats(&[1.0; 8]),
            |_, c| cosines.push(c),
        );
        assert_eq!(cosines, [0.0]);
    }

    proptest! {
        #[test]
        fn every_kernel_agrees(
            (query, page) in (0usize..9).prop_flat_map(|blocks| {
                // Lengths that the widest kernel takes, and others.
                let length = blocks * 32;
                (
                    proptest::collection::vec(any::<i8>(), length),
                    proptest::collection::vec(any::<u8>(), 5 * length),
                )
            })
        ) {
            let query = PackedVector { scale: 0.5, values: query };
            let page: Vec<u8> = match query.values.len() {
                0 => Vec::new(),
                length => page
                    .chunks(length)
                    .flat_map(|values| 1f32.to_le_bytes().into_iter().chain(values.iter().copied()))
                    .collect(),
            };
            #[allow(clippy::type_complexity)] // it is the signature under test
            let all = |scan: &dyn Fn(&mut dyn FnMut(u32, f32))| {
                let mut seen = Vec::new();
                scan(&mut |slot, cosine| seen.push((slot, cosine.to_bits())));
                seen
            };
            let plain = all(&|each| scan_slots(&page, &query, dot_product, each));
            prop_assert_eq!(all(&|each| scan_vector_page(&page, &query, each)), plain.clone());
            #[cfg(target_arch = "x86_64")]
            if std::is_x86_feature_detected!("avx2") {
                // SAFETY: the feature was just detected.
                prop_assert_eq!(all(&|each| unsafe { scan_avx2(&page, &query, each) }), plain);
            }
        }
    }
}
