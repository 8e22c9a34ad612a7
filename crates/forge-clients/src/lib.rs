//! Describes agent clients: what each loads at its start, where it keeps its
//! settings, and what its hooks send.
//!
//! It never runs a client, never prints, and never reads the environment, the
//! home or the clock: the caller passes those in. Modules in reading order;
//! each may use only those above it.
#![warn(missing_docs)]
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

pub use forge_memory::client;
use forge_memory::{agents, graph, knowledge, mind, routing, teams};
use forge_store::{index, workspace};
use forge_text::{counts, diagnostic, document, quote, secrets};

/// Tokenizers, estimates and exact counts.
mod tokens {
    pub(crate) use forge_text::tokens::*;
    pub(crate) use forge_tokens::count_tokens;
}

pub mod audit;
pub mod setup;
pub mod hooks;
