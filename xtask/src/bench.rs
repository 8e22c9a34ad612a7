//! Benchmarks: each prints what it measured, on what, and with which inputs.
//! They never judge by a single run.

pub(crate) mod answers;
pub(crate) mod closets;
pub(crate) mod first_hour;
pub(crate) mod growth;
pub(crate) mod hooks;
pub(crate) mod mcp;
pub(crate) mod links;
pub(crate) mod recall;
pub(crate) mod replay;
pub(crate) mod rules;
pub(crate) mod secrets;
mod sets;
pub(crate) mod speed;
pub(crate) mod view;
pub(crate) mod warm;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};
use serde_json::Value;

/// Where the public benchmark data lies, if it is here. It is never part of
/// the repository.
fn data_folder() -> Option<PathBuf> {
    let folder = std::env::var_os("MEMORY_FORGE_BENCH_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/bench"),
        PathBuf::from,
    );
    folder.is_dir().then_some(folder)
}

/// The program in one workspace, with nothing of this machine's surroundings.
struct Program<'a> {
    binary: &'a Path,
    home: &'a Path,
    folder: &'a Path,
}

impl Program<'_> {
    /// Runs it on a day, and returns what it wrote to standard output.
    fn run(&self, arguments: &[&str], day: Option<&str>) -> Result<Vec<u8>> {
        let mut command = Command::new(self.binary);
        command
            .args(arguments)
            .current_dir(self.folder)
            .env_clear()
            .env("HOME", self.home)
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("MEMORY_FORGE_PROJECT_ROOT", self.folder);
        if let Some(day) = day {
            command.env("MEMORY_FORGE_NOW", format!("{day}T23:59:59Z"));
        }
        let output = command.output()?;
        // A search that finds nothing relevant ends with 1 and still answers.
        let is_answer = output.status.code() == Some(1) && output.stdout.starts_with(b"{");
        if !output.status.success() && !is_answer {
            bail!(
                "`memory-forge {}` failed in {}: {}",
                arguments.join(" "),
                self.folder.display(),
                String::from_utf8_lossy(&output.stderr)
            );
        }
        Ok(output.stdout)
    }
}

/// The ids of the files that an answer names, best first.
fn files(answer: &Value) -> Vec<String> {
    let results = answer["results"].as_array();
    results
        .into_iter()
        .flatten()
        .filter_map(|hit| {
            let name = hit["path"].as_str()?.strip_prefix("knowledge/")?;
            Some(name.strip_suffix(".md")?.to_owned())
        })
        .collect()
}
