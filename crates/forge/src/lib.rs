//! Memory for coding agents, kept as Markdown.
//!
//! The library never prints and never reads the environment, the home or
//! current directory, or the clock: whoever calls it passes those in.
//! Modules in reading order; each may use only those above it.

pub mod fault;
pub mod regular;
pub mod trust;
pub mod document;
pub mod tokens;
pub mod secrets;
pub mod quote;
pub mod embed;

pub mod workspace;
pub mod corrections;
pub mod links;
pub mod index;

pub mod routing;

pub mod mind;
pub mod teams;
pub mod recall;
pub mod knowledge;
pub mod agents;
pub mod layers;
pub mod federation;
pub mod graph;
pub mod publish;
pub mod upkeep;
pub mod session;
pub mod lint;
pub mod consolidate;
pub mod audit;
pub mod doctor;
pub mod export;
pub mod import;
