//! The model that turns text into vectors, and the boundary behind which
//! another can stand. It never downloads anything.

/// Text to unit-length vectors. Vectors of different `id`s are never compared.
pub trait Embedder: Send + Sync {
    fn id(&self) -> &str;
    fn dimensions(&self) -> usize;
    /// Empty or unknown text gives a zero vector, never NaN.
    fn embed(&self, text: &str) -> Vec<f32>;
}
