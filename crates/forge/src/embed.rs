//! The model that turns text into vectors, and the boundary behind which
//! another can stand. It never downloads anything, never starts a thread and
//! parses nothing at start-up: the weights are used where the linker put them.

mod container;
mod encoder;
mod kernels;
mod maths;
#[cfg(test)]
mod tests;
mod wordpiece;

use std::sync::LazyLock;

use encoder::Encoder;

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

/// The encoder inside the binary. `embed/MODEL.md` tells how it was made.
///
/// It reads the first 254 tokens of a text (some 180 words) and ignores the
/// rest, so longer texts are for the caller to cut. The same text gives the
/// same bits on every processor.
pub fn builtin() -> &'static dyn Embedder {
    encoder()
}

fn encoder() -> &'static Encoder {
    static ENCODER: LazyLock<Encoder> = LazyLock::new(Encoder::builtin);
    &ENCODER
}
