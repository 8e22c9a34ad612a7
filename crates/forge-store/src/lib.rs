//! The folder that holds the memory, and the index derived from it.
//!
//! All reading of the user's files is here, and all writing goes through one
//! writer. This crate never reads the clock or the environment, never prints,
//! and knows nothing of what a document means to an agent: the caller passes
//! the time and the paths in. Modules in reading order; each may use only those
//! above it, and `index` never uses `workspace`.
#![warn(missing_docs)]
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

pub mod fault;
pub mod system;
pub mod regular;
pub mod trust;
pub mod workspace;
pub mod manifest;
pub mod servers;
pub mod index;
