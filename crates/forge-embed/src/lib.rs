//! The model that turns text into vectors, and the boundary behind which
//! another can stand. It never downloads anything, never opens a file, never
//! starts a thread and parses nothing at start-up: the weights are used where
//! they lie.
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

mod container;
mod encoder;
mod kernels;
mod maths;
#[cfg(test)]
mod tests;
mod wordpiece;

use std::sync::LazyLock;

pub use container::Unusable;
use encoder::Encoder;

/// A model file with more bytes than this is not read.
pub const MOST_BYTES: u64 = 256 << 20;

/// Text to unit-length vectors. Vectors of different `id`s are never compared.
pub trait Embedder: Send + Sync {
    fn id(&self) -> &str;
    fn dimensions(&self) -> usize;
    /// The cosine at which texts that have nothing to do with one another
    /// stand. Models differ in that, and a cosine says little without it.
    fn unrelated(&self) -> f32 {
        0.0
    }
    /// The vector of a passage, which is what an index keeps. Empty or unknown
    /// text gives a zero vector, never NaN.
    fn embed(&self, text: &str) -> Vec<f32>;
    /// The vector of a question, to be compared with those of passages. A
    /// model may read the one question more deeply than the many passages.
    fn embed_query(&self, question: &str) -> Vec<f32> {
        self.embed(question)
    }
}

/// How many words are more common than this one, by the order of the encoder's
/// vocabulary; none for a word that is not in it, which is a rare one. The
/// word is in lower case.
pub fn commoner_words(word: &str) -> Option<usize> {
    encoder().word_rank(word)
}

/// The encoder inside the binary. `model/MODEL.md` tells how it was made.
///
/// It reads the first 254 tokens of a text (some 180 words) and ignores the
/// rest, so longer texts are for the caller to cut. The same text gives the
/// same bits on every processor.
pub fn builtin() -> &'static dyn Embedder {
    encoder()
}

/// A model from the bytes of a file that `cargo xtask convert-model` wrote.
/// Anything else is an error. The bytes stay for as long as the process runs,
/// so whoever asks keeps the answer.
///
/// Its id is a sum of the bytes: vectors of two files are never compared.
pub fn of_file(bytes: &[u8]) -> Result<&'static dyn Embedder, Unusable> {
    let sum = blake3::hash(bytes).to_hex();
    let id = format!("file-{}", &sum[..16]);
    // Rows of weights never straddle two cache lines, as in the built-in file.
    let mut room = vec![0; bytes.len() + 64];
    let at = room.as_ptr().align_offset(64).min(64);
    room[at..at + bytes.len()].copy_from_slice(bytes);
    let room: &'static [u8] = room.leak();
    let encoder = Encoder::of_file(&room[at..at + bytes.len()], id)?;
    Ok(Box::leak(Box::new(encoder)))
}

fn encoder() -> &'static Encoder {
    static ENCODER: LazyLock<Encoder> = LazyLock::new(Encoder::builtin);
    &ENCODER
}
