//! `cargo xtask mcpb`: the bundle that desktop clients install, made of a
//! release binary by the pinned packer, which also checks it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    let target = crate::target();
    let binary = match arguments {
        [] => crate::build_release(None)?,
        ["--binary", path] => PathBuf::from(path),
        _ => bail!("expected nothing, or --binary FILE"),
    };
    let stage = target.join("mcpb/stage");
    let bundle = stage_bundle(&stage, &binary)?;
    let bundle = target.join("mcpb").join(bundle);
    let manifest = stage.join("manifest.json");
    mcpb(&target, &["validate".as_ref(), &manifest])?;
    mcpb(&target, &["pack".as_ref(), &stage, &bundle])?;
    println!("{}", bundle.display());
    Ok(())
}

/// Lays out what goes into the bundle, and gives the bundle's name. It holds
/// one binary, so it is for one platform.
fn stage_bundle(stage: &Path, binary: &Path) -> Result<String> {
    if stage.exists() {
        fs::remove_dir_all(stage)?;
    }
    fs::create_dir_all(stage.join("server"))?;
    let suffix = std::env::consts::EXE_SUFFIX;
    let program = format!("server/memory-forge{suffix}");
    fs::copy(binary, stage.join(&program)).with_context(|| binary.display().to_string())?;
    for text in ["LICENSE-MIT", "LICENSE-APACHE"] {
        fs::copy(crate::repository().join(text), stage.join(text)).context(text)?;
    }
    let from = crate::repository().join("packaging/mcpb/manifest.json");
    let mut manifest: Value = serde_json::from_str(&fs::read_to_string(from)?)?;
    let platform = match std::env::consts::OS {
        "macos" => "darwin",
        "windows" => "win32",
        other => other,
    };
    manifest["server"]["entry_point"] = json!(program);
    manifest["compatibility"]["platforms"] = json!([platform]);
    let text = serde_json::to_string_pretty(&manifest)?;
    fs::write(stage.join("manifest.json"), text + "\n")?;
    let version = manifest["version"].as_str().unwrap_or_default();
    let processor = std::env::consts::ARCH;
    Ok(format!(
        "memory-forge-{version}-{platform}-{processor}.mcpb"
    ))
}

fn mcpb(target: &Path, arguments: &[&Path]) -> Result<()> {
    let list = fs::read_to_string(target.join("mcp-tools/paths.env"));
    let list = list.context("run scripts/mcp-tools.sh first")?;
    let path = |name: &str| {
        let found = list.lines().find_map(|line| line.strip_prefix(name));
        found.with_context(|| format!("no {name} in target/mcp-tools/paths.env"))
    };
    let done = Command::new(path("node=")?)
        .arg(path("mcpb=")?)
        .args(arguments)
        .status()?;
    ensure!(done.success(), "mcpb {} failed", arguments[0].display());
    Ok(())
}
