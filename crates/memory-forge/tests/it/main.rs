//! Tests of the whole program, and of the source tree itself. A test here
//! shows that the parts are wired together; the parts' own behaviour is tested
//! where they live, which is faster and says more when it fails.

mod advice;
mod agent;
mod audit;
mod bad_input;
mod check;
mod closets;
mod config;
mod corrections;
mod consolidate;
mod crash;
#[cfg(unix)]
mod derived;
mod doctor;
mod domain;
mod export;
mod farewell;
mod forget;
mod frame;
mod graph;
mod harness;
mod hooks;
mod house;
mod idea;
mod import;
mod include;
mod index;
mod init;
mod mcp;
mod mcp_client;
mod mcp_limits;
mod layers;
mod links;
mod lint;
mod manifest;
mod merge;
mod messages;
mod mind;
mod model;
mod older_release;
mod organise;
#[cfg(unix)]
mod pages;
mod plugin;
mod push;
mod save;
mod search;
mod session;
mod setup;
mod soak;
mod sources;
mod spec_files;
mod stats;
mod supply;
#[cfg(unix)]
mod terminal;
mod tidy;
mod upgrade;
#[cfg(windows)]
mod windows;
#[cfg(unix)]
mod worker;
mod workspace_promises;
