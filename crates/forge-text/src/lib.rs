//! Text, and nothing but text: Markdown documents, credentials in them, and
//! quoting for agents and terminals.
//!
//! Every function here is pure. This crate never opens a file, never reads the
//! clock or the environment, and never prints. Modules in reading order; each
//! may use only those above it.
#![warn(missing_docs)]
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

mod work;
pub mod counts;
pub mod diagnostic;
pub mod document;
pub mod tokens;
pub mod secrets;
pub mod quote;
