//! `bench growth files`: what `status` and `doctor` cost over very many files,
//! as ratios to a search in which nothing has changed.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use super::commands::{Input, Measured};
use super::patterns::Layout;
use super::workspace::Workspace;

/// The most that looking at everything may cost, in unchanged searches.
const MAX_RATIO: f64 = 3.0;

pub(super) fn run(arguments: &[&str]) -> Result<()> {
    let mut files = 200_000;
    let mut binary: Option<PathBuf> = None;
    let mut rest = arguments.iter();
    while let Some(&flag) = rest.next() {
        let value = *rest
            .next()
            .with_context(|| format!("`{flag}` needs a value"))?;
        match flag {
            "--files" => files = value.parse().context("`--files` takes a number")?,
            "--binary" => binary = Some(value.into()),
            other => bail!("Unknown option `{other}`"),
        }
    }
    let binary = match binary {
        Some(binary) => binary.canonicalize().context("Cannot find the binary")?,
        None => crate::build_release(None)?,
    };
    let bench = crate::target().join("bench/growth-files");
    std::fs::create_dir_all(&bench)?;
    let workspace = Workspace::empty(&bench.canonicalize()?, Layout::Mind)?;
    eprintln!("bench: writing {files} files");
    for at in 0..files {
        let folder = workspace.root().join(format!("knowledge/n{}", at / 1000));
        if at % 1000 == 0 {
            std::fs::create_dir_all(&folder)?;
        }
        let text = format!("# Note {at}\n\nThe word{at} of this note, in one short line.\n");
        std::fs::write(folder.join(format!("note{at}.md")), text)?;
    }
    let cpu = |line: &'static str| {
        let measured = Measured {
            line,
            input: Input::Nothing,
        };
        let (sample, _) = workspace.measure(&binary, &measured)?;
        println!(
            "{:32} {:8.2} s CPU  {:6.0} MB",
            measured.name(),
            sample.cpu.as_secs_f64(),
            sample.max_rss as f64 / 1e6
        );
        Ok::<f64, anyhow::Error>(sample.cpu.as_secs_f64())
    };
    cpu("index|--no-vectors")?;
    // A stamp that is as young as the reading proves nothing: once more.
    cpu("search|--mode|text|word77")?;
    let search = cpu("search|--mode|text|word77")?;
    let mut failures = Vec::new();
    for line in ["status", "doctor"] {
        let ratio = cpu(line)? / search;
        println!("{line} / unchanged search: {ratio:.2}");
        if ratio > MAX_RATIO {
            failures.push(line);
        }
    }
    if failures.is_empty() {
        return Ok(());
    }
    bail!("More than {MAX_RATIO} searches: {}", failures.join(", "))
}
