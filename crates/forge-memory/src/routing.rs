//! Leads an agent to the right files, so that it reads the minimum: the
//! manifest, hubs with their closets, and the upkeep of both.

pub use forge_store::manifest;

pub mod archives;
pub mod closets;
pub mod hubs;
pub mod layout;
pub mod summary;
pub mod untracked;
