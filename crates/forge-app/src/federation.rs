//! The user's other workspaces: a registry of them, and one question to all.
//!
//! Nothing is written beyond that list. Another workspace is asked by what
//! it keeps for readers, its manifest and closets, and by its index where it
//! has one; what cannot be asked is named and passed over.

mod ask;
mod registry;

pub use ask::{Answered, FromSource, ask};
pub use registry::{Added, Error, Registry, Source};
