//! Fixtures for tests: many files in one string, and temporary workspaces in
//! which programs run without network, global git configuration or real time.
//! It must never be a dependency of shipped code.

pub mod browser;
#[cfg(unix)]
pub mod bolt;
pub mod fetched;
pub mod fixture;
pub mod git;
pub mod mcp_tools;
pub mod output;
#[cfg(unix)]
pub mod postgres;
pub mod skip;
pub mod spec;
#[cfg(unix)]
pub mod terminal;
pub mod worker;
pub mod workspace;

pub use output::Output;
pub use skip::skip;
pub use workspace::{TestWorkspace, copy};
