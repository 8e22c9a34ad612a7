//! Stores which passages hold which term, how often and where: packed lists,
//! and the exact field-weighted BM25 over them.
//!
//! A list is delta-coded: for each passage the distance to the one before it,
//! then how often the term occurs in the body with two bits for "also in the
//! headings" and "also in the title". Decoding checks every step, so a damaged
//! list is an error and never a wrong answer.

use std::collections::HashMap;

use super::terms::TermSplitter;

// Both were fitted together with the weights in `reread`.
/// The `k1` of BM25: how strongly it damps repetition.
pub const BM25_K1: f32 = 0.9;
/// The `b` of BM25: how strongly it discounts long passages.
pub const BM25_B: f32 = 0.7;
/// The occurrences in the body that one in a heading counts as.
pub(super) const HEADING_WEIGHT: f32 = 1.0;
/// Number of occurrences in the body that one in the title, tags, aliases or
/// path counts as.
pub(super) const TITLE_WEIGHT: f32 = 1.0;

/// The occurrences of one term in one passage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TermPosting {
    pub chunk: u32,
    pub body: u32,
    pub in_headings: bool,
    pub in_title: bool,
}

impl TermPosting {
    /// Returns the term frequency for BM25.
    pub(super) fn frequency(&self) -> f32 {
        self.body as f32
            + if self.in_headings {
                HEADING_WEIGHT
            } else {
                0.0
            }
            + if self.in_title { TITLE_WEIGHT } else { 0.0 }
    }
}

/// Computes the score that a term adds to one passage.
pub fn bm25_score(idf: f32, frequency: f32, length: f32, average_length: f32) -> f32 {
    let norm = BM25_K1 * (1.0 - BM25_B + BM25_B * length / average_length.max(1.0));
    idf * frequency * (BM25_K1 + 1.0) / (frequency + norm)
}

/// Computes the inverse document frequency of a term; never negative.
pub fn idf(passages: usize, holding: usize) -> f32 {
    let (n, df) = (passages as f32, holding as f32);
    (1.0 + (n - df + 0.5) / (df + 0.5)).ln()
}

/// A counter of the terms in passages, for an index that stores them another
/// way.
#[derive(Default)]
pub struct PassageTerms {
    terms: TermSplitter,
}

/// The occurrences of a term in a passage, by field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TermCounts {
    /// The number of occurrences in the text.
    pub body: u32,
    /// Whether a heading above the passage has it.
    pub in_headings: bool,
    /// Whether the title or another name of the document has it.
    pub in_title: bool,
}

impl TermCounts {
    /// Returns the term frequency for BM25.
    pub fn frequency(&self) -> f32 {
        let TermCounts {
            body,
            in_headings,
            in_title,
        } = *self;
        TermPosting {
            chunk: 0,
            body,
            in_headings,
            in_title,
        }
        .frequency()
    }
}

impl PassageTerms {
    /// Returns every term of a passage with its occurrences, and the length in
    /// terms.
    pub fn count_terms(
        &mut self,
        title: &str,
        headings: &str,
        body: &str,
    ) -> (HashMap<String, TermCounts>, u16) {
        let mut held: HashMap<String, TermCounts> = HashMap::new();
        let mut length = 0u32;
        let mut at = |term: &str, note: fn(&mut TermCounts)| match held.get_mut(term) {
            Some(known) => note(known),
            None => note(held.entry(term.to_owned()).or_default()),
        };
        self.terms.for_each_term(body, |term| {
            length += 1;
            at(term, |it| it.body += 1);
        });
        self.terms
            .for_each_term(headings, |term| at(term, |it| it.in_headings = true));
        self.terms
            .for_each_term(title, |term| at(term, |it| it.in_title = true));
        // `u16::MAX` marks a deleted passage.
        (held, length.min(u16::MAX as u32 - 1) as u16)
    }
}

/// Collects the postings of one batch of passages, to be written as a segment.
#[derive(Default)]
pub(super) struct SegmentBuilder {
    terms: TermSplitter,
    ids: HashMap<Box<str>, u32>,
    lists: Vec<PostingList>,
    /// Terms of the passage at hand: id → (body, headings, title).
    here: HashMap<u32, (u32, bool, bool)>,
}

#[derive(Default)]
struct PostingList {
    last: u32,
    bytes: Vec<u8>,
}

impl SegmentBuilder {
    /// Adds one passage. Ids must grow from call to call. Returns its length in
    /// terms, which BM25 needs.
    pub(super) fn add_passage(
        &mut self,
        chunk: u32,
        title: &str,
        headings: &str,
        body: &str,
    ) -> u16 {
        self.here.clear();
        let mut length = 0u32;
        let (ids, lists, here) = (&mut self.ids, &mut self.lists, &mut self.here);
        let mut id_of = |term: &str| match ids.get(term) {
            Some(id) => *id,
            None => {
                let id = lists.len() as u32;
                ids.insert(term.into(), id);
                lists.push(PostingList::default());
                id
            }
        };
        self.terms.for_each_term(body, |t| {
            length += 1;
            here.entry(id_of(t)).or_default().0 += 1;
        });
        self.terms
            .for_each_term(headings, |t| here.entry(id_of(t)).or_default().1 = true);
        self.terms
            .for_each_term(title, |t| here.entry(id_of(t)).or_default().2 = true);
        for (id, (body, in_headings, in_title)) in self.here.drain() {
            self.lists[id as usize].push_posting(TermPosting {
                chunk,
                body,
                in_headings,
                in_title,
            });
        }
        // `u16::MAX` marks a deleted passage.
        length.min(u16::MAX as u32 - 1) as u16
    }

    /// Returns every term with its list, sorted by term, which is the order in
    /// which they are stored.
    pub(super) fn finish(self) -> Vec<(Box<str>, Vec<u8>)> {
        let mut lists = self.lists;
        let mut out: Vec<(Box<str>, Vec<u8>)> = self
            .ids
            .into_iter()
            .map(|(term, id)| (term, std::mem::take(&mut lists[id as usize].bytes)))
            .collect();
        out.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        out
    }
}

impl PostingList {
    fn push_posting(&mut self, p: TermPosting) {
        write_varint(&mut self.bytes, p.chunk - self.last);
        // Bounded, so that it fits into 32 bits with the two flags.
        let packed = (p.body.min(1 << 20) << 2) | ((p.in_headings as u32) << 1) | p.in_title as u32;
        write_varint(&mut self.bytes, packed);
        self.last = p.chunk;
    }
}

/// Packs postings that are sorted by passage.
pub(super) fn encode_postings(postings: &[TermPosting]) -> Vec<u8> {
    let mut list = PostingList::default();
    postings.iter().for_each(|p| list.push_posting(*p));
    list.bytes
}

/// A list that does not decode: the index is damaged and must be rebuilt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a posting list is damaged")]
pub(super) struct DamagedList;

/// Calls `each` for every posting of a packed list.
pub(super) fn decode_postings(
    bytes: &[u8],
    mut each: impl FnMut(TermPosting),
) -> Result<(), DamagedList> {
    let mut at = 0;
    let mut chunk = 0u32;
    let mut first = true;
    while at < bytes.len() {
        let step = read_varint(bytes, &mut at)?;
        // A passage is in a list once, so no distance is zero.
        if step == 0 && !first {
            return Err(DamagedList);
        }
        first = false;
        chunk = chunk.checked_add(step).ok_or(DamagedList)?;
        let packed = read_varint(bytes, &mut at)?;
        each(TermPosting {
            chunk,
            body: packed >> 2,
            in_headings: packed & 2 != 0,
            in_title: packed & 1 != 0,
        });
    }
    Ok(())
}

fn write_varint(out: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn read_varint(bytes: &[u8], at: &mut usize) -> Result<u32, DamagedList> {
    let mut value = 0u32;
    for shift in [0, 7, 14, 21, 28] {
        let byte = *bytes.get(*at).ok_or(DamagedList)?;
        *at += 1;
        // The fifth byte holds the last four of 32 bits.
        if shift == 28 && byte > 0x0f {
            return Err(DamagedList);
        }
        value |= ((byte & 0x7f) as u32) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(DamagedList)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn postings(bytes: &[u8]) -> Vec<TermPosting> {
        let mut out = Vec::new();
        decode_postings(bytes, |p| out.push(p)).expect("a list that was just written");
        out
    }

    #[test]
    fn a_term_knows_its_passages_and_fields() {
        let mut b = SegmentBuilder::default();
        b.add_passage(
            3,
            "Payments",
            "Retry policy",
            "retry the payment, then retry",
        );
        b.add_passage(700, "Other", "", "nothing here but payment");
        let lists: HashMap<_, _> = b.finish().into_iter().collect();
        assert_eq!(
            postings(&lists["retri"]),
            [TermPosting {
                chunk: 3,
                body: 2,
                in_headings: true,
                in_title: false
            }]
        );
        assert_eq!(
            postings(&lists["payment"]),
            [
                TermPosting {
                    chunk: 3,
                    body: 1,
                    in_headings: false,
                    in_title: true
                },
                TermPosting {
                    chunk: 700,
                    body: 1,
                    in_headings: false,
                    in_title: false
                },
            ]
        );
    }

    proptest! {
        #[test]
        fn lists_survive_packing(entries in proptest::collection::btree_map(0u32..5_000_000, (0u32..5000, any::<bool>(), any::<bool>()), 1..200)) {
            let mut list = PostingList::default();
            let expect: Vec<TermPosting> = entries.into_iter()
                .map(|(chunk, (body, in_headings, in_title))| TermPosting { chunk, body, in_headings, in_title })
                .collect();
            expect.iter().for_each(|p| list.push_posting(*p));
            prop_assert_eq!(postings(&list.bytes), expect);
        }

        #[test]
        fn damage_is_an_error_and_never_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = decode_postings(&bytes, |_| {});
        }
    }
}
