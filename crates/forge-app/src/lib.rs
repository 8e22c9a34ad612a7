//! Use cases of Memory Forge: memory for coding agents, kept as Markdown.
//!
//! The library never prints and never reads the environment, the home or
//! current directory, or the clock: callers pass those in. Modules are in
//! reading order; each may use only those above it.
#![warn(missing_docs)]
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

pub use forge_embed as embed;
pub use forge_memory::{
    admit, agents, client, corrections, graph, knowledge, links, mind, model, publish, recall,
    retractions, routing, state_files, teams, thresholds, translations, wire,
};
pub use forge_store::{fault, index, regular, servers, system, trust, workspace};
pub use forge_text::{counts, diagnostic, document, quote, secrets};
/// Tokenizers, estimates and exact counts.
pub mod tokens {
    pub use forge_text::tokens::*;
    pub use forge_tokens::count_tokens;
}

pub mod finding;
pub mod brief;
pub mod inclusion;
pub mod library;
pub mod stats;
pub mod audit;
pub mod indexing;
pub mod record;
pub mod remember;
pub mod forget;
pub mod documents;
pub mod status;
pub mod standing;
pub mod timeline;
pub mod search;
pub mod state_search;
pub mod bulk;
pub mod closets;
pub mod federation;
pub mod upkeep;
pub mod share;
pub mod session;
pub mod evidence;
pub mod push;
pub mod replay;
pub mod doctor;
pub mod check;
pub mod undo;
pub mod export;
pub mod import;
