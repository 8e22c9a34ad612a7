//! Searches the user's other workspaces: a registry of them, and one query to
//! all.
//!
//! Nothing is written except the registry. Another workspace is searched
//! through its manifest and closets, and through its index if it has one; a
//! workspace that cannot be searched is reported and skipped.

mod ask;
mod registry;

pub use ask::{SourceAnswer, SourceResponse, search_sources};
pub use registry::{RegistryError, SourceRegistration, SourceRegistry, SourceWorkspace};
