//! Benchmarks: each prints what it measured, on what, and with which inputs.
//! They never judge by a single run.

pub(crate) mod closets;
#[cfg(unix)]
pub(crate) mod engine;
pub(crate) mod hooks;
pub(crate) mod mcp;
pub(crate) mod links;
pub(crate) mod recall;
mod sets;
pub(crate) mod speed;
pub(crate) mod view;
pub(crate) mod warm;

use std::path::{Path, PathBuf};

/// Where the public benchmark data lies, if it is here. It is never part of
/// the repository.
fn data_folder() -> Option<PathBuf> {
    let folder = std::env::var_os("MEMORY_FORGE_BENCH_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/bench"),
        PathBuf::from,
    );
    folder.is_dir().then_some(folder)
}
