//! Splits text into token ids, as the uncased BERT tokenizer does it: control
//! characters dropped, accents stripped, lower case, punctuation and ideographs
//! on their own, then the longest known pieces from the left. It never reads
//! further than the model can.
//!
//! One deliberate difference from the reference: `[SEP]` or `[MASK]` in a
//! user's text is text, not a control token.

use unicode_normalization::UnicodeNormalization;

use super::container::{ModelContainer, ModelError};

pub(super) const UNKNOWN_ID: u16 = 0;
const BEGIN_ID: u16 = 1;
const END_ID: u16 = 2;

/// The largest number of ids, with the two marks at the ends.
pub(super) const MAX_TOKENS: usize = 256;
/// The id of `the`, the most common word.
const FIRST_WORD_ID: usize = 1000;
/// The length up to which a word is looked up; a longer one is unknown as a
/// whole.
const MAX_WORD_CHARS: usize = 100;
/// Entries for each start that the file stores.
const ENTRIES_PER_START: usize = 16;
/// The mark of a piece that continues a word.
const CONTINUATION_MARK: &[u8] = b"##";

pub(super) struct WordPiece {
    text: &'static [u8],
    /// The length of every entry, and the start of every sixteenth.
    lengths: &'static [u8],
    starts: &'static [[u8; 4]],
    slots: &'static [[u8; 2]],
    classes: &'static [[u8; 4]],
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum CharAction {
    Keep,
    Drop,
    Accent,
    Punctuation,
    Ideograph,
}

impl WordPiece {
    pub(super) fn new(container: &ModelContainer) -> Result<WordPiece, ModelError> {
        let lengths = container.section("vocab.lengths")?;
        let slots = container.section("vocab.slots")?.as_chunks().0;
        if lengths.len() <= usize::from(END_ID) || lengths.len() >= usize::from(u16::MAX) {
            return Err(ModelError::Size("vocab.lengths".to_owned()));
        }
        // In a full table, the search for an unknown piece would never end.
        if slots.len() < 2 * lengths.len() {
            return Err(ModelError::Size("vocab.slots".to_owned()));
        }
        Ok(WordPiece {
            text: container.section("vocab.text")?,
            lengths,
            starts: container
                .section_items("vocab.starts", lengths.len().div_ceil(ENTRIES_PER_START))?,
            slots,
            classes: container.section("classes")?.as_chunks().0,
        })
    }

    /// Returns the number of entries.
    pub(super) fn vocabulary_size(&self) -> usize {
        self.lengths.len()
    }

    /// Checks that every entry is within the text and where a search expects
    /// it, and that nothing else is there.
    pub(super) fn check(&self) -> Result<(), ModelError> {
        let wrong = |name: &str| Err(ModelError::Values(name.to_owned()));
        let mut at = 0;
        for (id, &length) in self.lengths.iter().enumerate() {
            if id % ENTRIES_PER_START == 0
                && u32::from_le_bytes(self.starts[id / ENTRIES_PER_START]) as usize != at
            {
                return wrong("vocab.starts");
            }
            at += usize::from(length);
        }
        if at != self.text.len() {
            return wrong("vocab.text");
        }
        // As the converter fills it: then searches are short and end.
        let mut slots = vec![u16::MAX; self.slots.len()];
        for id in 0..self.lengths.len() as u16 {
            let mut slot = hash_piece(b"", self.entry_text(id)) % slots.len();
            while slots[slot] != u16::MAX {
                slot = (slot + 1) % slots.len();
            }
            slots[slot] = id;
        }
        if self
            .slots
            .iter()
            .map(|id| u16::from_le_bytes(*id))
            .ne(slots)
        {
            return wrong("vocab.slots");
        }
        let from = |entry: &[u8; 4]| u32::from_le_bytes(*entry) >> 3;
        if self.classes.first().map(from) != Some(0) || !self.classes.is_sorted_by_key(from) {
            return wrong("classes");
        }
        Ok(())
    }

    /// Returns between two and [`MAX_TOKENS`] ids, the marks at the ends
    /// included.
    pub(super) fn token_ids(&self, text: &str) -> Vec<u16> {
        let mut ids = vec![BEGIN_ID];
        let mut word = String::new();
        for c in self.normalize_chars(text) {
            let alone = self.char_action(c) == CharAction::Punctuation;
            if alone || c.is_whitespace() {
                self.push_pieces(&word, &mut ids);
                word.clear();
            }
            if alone {
                self.push_pieces(c.encode_utf8(&mut [0; 4]), &mut ids);
            } else if !c.is_whitespace() {
                word.push(c);
            }
            if ids.len() >= MAX_TOKENS {
                break;
            }
        }
        self.push_pieces(&word, &mut ids);
        ids.truncate(MAX_TOKENS - 1);
        ids.push(END_ID);
        ids
    }

    /// Returns the rank of a whole word behind the marks and single characters
    /// with which the vocabulary begins; common words come first.
    pub(super) fn word_rank(&self, word: &str) -> Option<usize> {
        let id = self.piece_id(b"", word.as_bytes())?;
        usize::from(id).checked_sub(FIRST_WORD_ID)
    }

    fn normalize_chars<'a>(&'a self, text: &'a str) -> impl Iterator<Item = char> + 'a {
        text.chars()
            .filter_map(|c| match self.char_action(c) {
                CharAction::Drop => None,
                CharAction::Ideograph => Some([Some(' '), Some(c), Some(' ')]),
                _ => Some([Some(c), None, None]),
            })
            .flat_map(|some| some.into_iter().flatten())
            .nfd()
            .filter(|&c| self.char_action(c) != CharAction::Accent)
            .flat_map(char::to_lowercase)
    }

    fn char_action(&self, c: char) -> CharAction {
        if c.is_ascii() {
            return match c {
                '\t' | '\n' | '\r' => CharAction::Keep,
                _ if c.is_ascii_control() => CharAction::Drop,
                _ if c.is_ascii_punctuation() => CharAction::Punctuation,
                _ => CharAction::Keep,
            };
        }
        let change = |entry: &[u8; 4]| u32::from_le_bytes(*entry);
        let after = self
            .classes
            .partition_point(|entry| change(entry) >> 3 <= u32::from(c));
        // The first entry is for the character zero, so there is one before.
        match change(&self.classes[after - 1]) & 7 {
            1 => CharAction::Drop,
            2 => CharAction::Accent,
            3 => CharAction::Punctuation,
            4 => CharAction::Ideograph,
            _ => CharAction::Keep,
        }
    }

    fn push_pieces(&self, word: &str, ids: &mut Vec<u16>) {
        if word.is_empty() {
            return;
        }
        if word.chars().count() > MAX_WORD_CHARS {
            ids.push(UNKNOWN_ID);
            return;
        }
        let before = ids.len();
        let mut start = 0;
        while start < word.len() {
            let prefix = if start == 0 {
                &b""[..]
            } else {
                CONTINUATION_MARK
            };
            let longest = (start + 1..=word.len())
                .rev()
                .filter(|&end| word.is_char_boundary(end))
                .find_map(|end| {
                    let id = self.piece_id(prefix, &word.as_bytes()[start..end])?;
                    Some((id, end))
                });
            let Some((id, end)) = longest else {
                ids.truncate(before);
                ids.push(UNKNOWN_ID);
                return;
            };
            ids.push(id);
            start = end;
        }
    }

    fn piece_id(&self, prefix: &[u8], piece: &[u8]) -> Option<u16> {
        let mut slot = hash_piece(prefix, piece) % self.slots.len();
        // The table is half empty, so the search ends.
        loop {
            let id = u16::from_le_bytes(self.slots[slot]);
            if id == u16::MAX {
                return None;
            }
            if self.entry_text(id).strip_prefix(prefix) == Some(piece) {
                return Some(id);
            }
            slot = (slot + 1) % self.slots.len();
        }
    }

    fn entry_text(&self, id: u16) -> &'static [u8] {
        let id = usize::from(id);
        let first = id / ENTRIES_PER_START * ENTRIES_PER_START;
        let before: usize = self.lengths[first..id]
            .iter()
            .copied()
            .map(usize::from)
            .sum();
        let start = u32::from_le_bytes(self.starts[id / ENTRIES_PER_START]) as usize + before;
        &self.text[start..start + usize::from(self.lengths[id])]
    }
}

/// Computes FNV-1a; the converter fills the table with the same function.
fn hash_piece(prefix: &[u8], piece: &[u8]) -> usize {
    let hash = prefix
        .iter()
        .chain(piece)
        .fold(0x811c_9dc5_u32, |hash, &byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        });
    (hash ^ (hash >> 16)) as usize
}
