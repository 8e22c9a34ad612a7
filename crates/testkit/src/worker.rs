//! The second program, `memory-forge-engines`, beside the first. Cargo builds
//! programs of a test's own package alone, so tests that need it ask here.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Returns `program`, the `memory-forge` that a test was given, with the worker
/// beside it built from the same sources.
///
/// It is built as one of the whole workspace: for one package alone, cargo
/// would choose other features and build most of it again. Where
/// `MEMORY_FORGE_WORKER_IS_BUILT` is set, as by `test.sh`, it has to be there.
#[track_caller]
pub fn beside(program: &str) -> PathBuf {
    static BUILT: OnceLock<()> = OnceLock::new();
    let program = PathBuf::from(program);
    let worker = format!("memory-forge-engines{}", std::env::consts::EXE_SUFFIX);
    let worker = program.with_file_name(worker);
    BUILT.get_or_init(|| {
        if std::env::var_os("MEMORY_FORGE_WORKER_IS_BUILT").is_none() || !worker.is_file() {
            build(&program);
        }
    });
    assert!(
        worker.is_file(),
        "`cargo build --workspace --bin memory-forge-engines` did not make {}",
        worker.display()
    );
    program
}

fn build(program: &Path) {
    let folder = program.parent().expect("a program is in a folder");
    let target = folder.parent().expect("a profile's folder is in `target`");
    let profile = match folder.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(profile) => profile,
    };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--quiet", "--locked", "--workspace"])
        .args(["--bin", "memory-forge-engines", "--profile", profile])
        .arg("--target-dir")
        .arg(target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status();
    assert!(
        built.is_ok_and(|it| it.success()),
        "the worker is not built: `cargo build --workspace --bin memory-forge-engines`"
    );
}
