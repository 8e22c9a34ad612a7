//! Connects to servers that a team may run in addition to the files: their
//! content is made from Markdown, and can be dropped and made again.
//!
//! Nothing here is loaded by a hook, and nothing here writes a user's file. The
//! program of this crate is a worker: `memory-forge` starts it for one request.
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

pub mod bolt;
pub mod postgres;
pub mod worker;
