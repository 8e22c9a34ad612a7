//! Vectors as signed bytes in pages, and the exact scan over them.
//!
//! A page holds [`PAGE`] slots, one per passage id; a slot is a scale (f32,
//! zero while the passage is not embedded) and `dimensions` bytes. Reading
//! pages in order is as fast as a flat file, and a page is one row.

/// Passages per page.
pub(super) const PAGE: u32 = 1024;

pub(super) fn slot_bytes(dimensions: usize) -> usize {
    4 + dimensions
}

pub(super) fn page_bytes(dimensions: usize) -> usize {
    PAGE as usize * slot_bytes(dimensions)
}

/// A vector as it is stored: bytes and the factor that turns them back.
#[derive(Debug, Clone, PartialEq)]
pub struct Packed {
    pub scale: f32,
    pub values: Vec<i8>,
}

impl Packed {
    pub fn from(vector: &[f32]) -> Packed {
        let largest = vector.iter().fold(0f32, |m, v| m.max(v.abs()));
        if largest <= 0.0 || !largest.is_finite() {
            // No direction: a tiny scale marks it as done without a similarity.
            return Packed {
                scale: f32::MIN_POSITIVE,
                values: vec![0; vector.len()],
            };
        }
        let scale = largest / 127.0;
        Packed {
            scale,
            values: vector.iter().map(|v| (v / scale).round() as i8).collect(),
        }
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.scale.to_le_bytes().to_vec();
        bytes.extend(self.values.iter().map(|v| *v as u8));
        bytes
    }
}

/// Calls `each` with the slot and cosine of every embedded passage of a page.
pub(super) fn scan_page(page: &[u8], query: &Packed, mut each: impl FnMut(u32, f32)) {
    let slot = slot_bytes(query.values.len());
    for (i, bytes) in page.chunks_exact(slot).enumerate() {
        let (scale, values) = bytes.split_at(4);
        let scale = f32::from_le_bytes([scale[0], scale[1], scale[2], scale[3]]);
        if scale == 0.0 {
            continue;
        }
        let dot = dot(&query.values, values);
        each(i as u32, dot as f32 * scale * query.scale);
    }
}

/// Dot product of signed bytes; the second slice holds them as raw bytes.
fn dot(a: &[i8], b: &[u8]) -> i32 {
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("avx2") {
        // SAFETY: the feature was just detected; the function has no other
        // requirement than that.
        return unsafe { dot_avx2(a, b) };
    }
    dot_plain(a, b)
}

#[inline(always)]
fn dot_plain(a: &[i8], b: &[u8]) -> i32 {
    a.iter()
        .zip(b)
        .map(|(a, b)| *a as i16 as i32 * (*b as i8) as i16 as i32)
        .sum()
}

/// The plain loop, compiled for wider registers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn dot_avx2(a: &[i8], b: &[u8]) -> i32 {
    dot_plain(a, b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_empty_slot_is_skipped_and_a_full_one_found() {
        let query = Packed::from(&[1.0, 0.0, 0.0, 0.0]);
        let mut page = vec![0u8; page_bytes(4)];
        let stored = Packed::from(&[0.6, 0.8, 0.0, 0.0]).to_bytes();
        page[7 * 8..8 * 8].copy_from_slice(&stored);
        let mut seen = Vec::new();
        scan_page(&page, &query, |slot, cosine| seen.push((slot, cosine)));
        assert_eq!(seen.len(), 1);
        assert_eq!(seen[0].0, 7);
        assert!((seen[0].1 - 0.6).abs() < 0.01, "{seen:?}");
    }

    #[test]
    fn a_text_without_direction_is_embedded_but_near_nothing() {
        let zero = Packed::from(&[0.0; 8]);
        assert!(zero.scale > 0.0);
        let mut cosines = Vec::new();
        scan_page(&zero.to_bytes(), &Packed::from(&[1.0; 8]), |_, c| {
            cosines.push(c)
        });
        assert_eq!(cosines, [0.0]);
    }

    proptest! {
        #[test]
        fn every_kernel_agrees(pairs in proptest::collection::vec((any::<i8>(), any::<u8>()), 0..500)) {
            let (a, b): (Vec<i8>, Vec<u8>) = pairs.into_iter().unzip();
            prop_assert_eq!(dot(&a, &b), dot_plain(&a, &b));
        }
    }
}
