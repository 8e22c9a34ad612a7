//! The user's other workspaces: a registry of them, and one question to all;
//! and the servers that the user agreed to.
//!
//! Nothing is written beyond those two lists. Another workspace is asked by what
//! it keeps for readers, its manifest and closets, and by its index where it
//! has one; what cannot be asked is named and passed over.

mod ask;
mod registry;
mod servers;

pub use ask::{Answered, FromSource, ask};
pub use registry::{Added, Error, Registry, Source};
pub use servers::Servers;
