//! What tells an agent where things are, so that it reads the minimum: the
//! manifest, hubs with their closets, and the upkeep of both.

pub mod closets;
pub mod hubs;
pub mod manifest;
pub mod summary;
