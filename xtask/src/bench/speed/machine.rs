//! What a measurement was made with: machine, programs and inputs. A figure
//! without these means nothing later.

use std::path::Path;

use sha2::{Digest, Sha256};

use super::process::Arena;
use super::tree::Tree;

/// Names and values, in the order in which they are printed.
pub(crate) fn inputs(
    arena: &Arena,
    ours: &Path,
    tree: &Tree,
    ripgrep: Option<&Path>,
    git: &Path,
) -> Vec<(&'static str, String)> {
    let version =
        |program: Option<&Path>| program.map_or("absent".to_owned(), |p| first_line(arena, p));
    vec![
        (
            "tree",
            format!(
                "{}: {} files, {:.1} MB",
                tree.name(),
                tree.files(),
                tree.bytes() as f64 / 1e6
            ),
        ),
        ("tree hash", tree.hash().to_owned()),
        ("binary", first_line(arena, ours)),
        ("binary sha256", sha256(ours)),
        ("git", version(Some(git))),
        ("ripgrep", version(ripgrep)),
        ("cpu", cpu_model()),
        (
            "cores",
            std::thread::available_parallelism()
                .map_or(0, usize::from)
                .to_string(),
        ),
        (
            "system",
            format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        ),
    ]
}

fn first_line(arena: &Arena, program: &Path) -> String {
    let output = arena
        .command(program, &["--version".to_owned()], Path::new("."))
        .output();
    let text = output
        .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
        .unwrap_or_default();
    text.lines().next().unwrap_or("unknown").trim().to_owned()
}

fn sha256(file: &Path) -> String {
    let Ok(bytes) = std::fs::read(file) else {
        return "unreadable".to_owned();
    };
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn cpu_model() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("model name"));
    line.and_then(|line| line.split_once(':'))
        .map_or("unknown", |(_, model)| model.trim())
        .to_owned()
}
