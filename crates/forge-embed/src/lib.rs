//! Turns text into vectors with a model, and defines the trait by which another
//! model can replace it. It never downloads anything, never opens a file, never
//! starts a thread and parses nothing at start-up: the weights are used in
//! place.
#![warn(missing_docs)]
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

mod container;
mod encoder;
mod kernels;
mod maths;
#[cfg(test)]
mod tests;
mod wordpiece;

use std::sync::LazyLock;

pub use container::ModelError;
use encoder::BertEncoder;

/// A model file with more bytes than this is not read.
pub const MAX_MODEL_BYTES: u64 = 256 << 20;

/// An encoder of texts as unit-length vectors. Vectors of different `id`s are
/// never compared.
pub trait Embedder: Send + Sync {
    /// Returns the id of the model, which changes with its vectors.
    fn id(&self) -> &str;
    /// Returns the length of the vectors.
    fn dimensions(&self) -> usize;
    /// Returns the cosine of unrelated texts. Models differ in it, and without
    /// it a cosine has no meaning.
    fn unrelated_cosine(&self) -> f32 {
        0.0
    }
    /// Returns the vector of a passage, which an index keeps. Empty or unknown
    /// text gives a zero vector, never NaN.
    fn embed(&self, text: &str) -> Vec<f32>;
    /// Returns the vector of a query, to compare with those of passages. A
    /// model may read the one query more deeply than the many passages.
    fn embed_query(&self, question: &str) -> Vec<f32> {
        self.embed(question)
    }
}

/// Returns how many words are more common than this one, by the order of the
/// encoder's vocabulary; `None` for a word that is not in it and therefore
/// rare. The word is in lower case.
pub fn count_commoner_words(word: &str) -> Option<usize> {
    shared_encoder().word_rank(word)
}

/// Returns the encoder inside the binary. `model/MODEL.md` documents how it was
/// made.
///
/// It reads the first 254 tokens of a text (some 180 words) and ignores the
/// rest, so the caller cuts longer texts. The same text gives the same bits on
/// every processor.
pub fn builtin_embedder() -> &'static dyn Embedder {
    shared_encoder()
}

/// Loads a model from the bytes of a file that `cargo xtask convert-model`
/// wrote. Fails on anything else. The bytes stay for as long as the process
/// runs, so the caller keeps the result.
///
/// Its id is a hash of the bytes: vectors of two files are never compared.
pub fn embedder_from_file(bytes: &[u8]) -> Result<&'static dyn Embedder, ModelError> {
    let sum = blake3::hash(bytes).to_hex();
    let id = format!("file-{}", &sum[..16]);
    // Rows of weights never straddle two cache lines, as in the built-in file.
    let mut room = vec![0; bytes.len() + 64];
    let at = room.as_ptr().align_offset(64).min(64);
    room[at..at + bytes.len()].copy_from_slice(bytes);
    // Leaked, because the encoder is used in place for the rest of the process.
    let room: &'static [u8] = room.leak();
    let encoder = BertEncoder::from_file(&room[at..at + bytes.len()], id)?;
    Ok(Box::leak(Box::new(encoder)))
}

fn shared_encoder() -> &'static BertEncoder {
    static ENCODER: LazyLock<BertEncoder> = LazyLock::new(BertEncoder::builtin);
    &ENCODER
}
