//! What a memory means: knowledge, state, agents' memory, links, the map of a
//! workspace, and how a query finds its passages.
//!
//! Files, index and git are reached through `forge-store` alone. This crate
//! never prints and never reads the environment, the home or current directory,
//! or the clock: the caller passes those in. It loads no vocabulary, since
//! hooks use it at every prompt. Modules are in reading order; each may use
//! only those above it.
#![warn(missing_docs)]
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

use forge_embed as embed;
use forge_store::{index, workspace};
use forge_text::{counts, diagnostic, document, quote, secrets, tokens};
/// The facts among retractions, under the name that most callers use.
pub use retractions as corrections;

pub mod thresholds;
pub mod client;
pub mod state_files;
pub mod model;
pub mod retractions;
pub mod admit;
pub mod links;
pub mod routing;
pub mod mind;
pub mod teams;
pub mod translations;
pub mod recall;
pub mod evidence;
pub mod push;
pub mod knowledge;
pub mod agents;
pub mod brief;
pub mod graph;
pub mod publish;
pub mod wire;
