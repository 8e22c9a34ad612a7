//! `cargo xtask fuzz`: builds the targets of `crates/fuzzing` with libFuzzer
//! and gives each its CPU minutes. What it finds lies below the target folder;
//! only `fuzz keep` changes the corpus of the repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::bench::speed::process;

const CARGO_FUZZ: &str = "0.13.1";
/// More than any target needs; one that grows meets it within minutes.
const MOST_MEGABYTES: usize = 1024;
/// An input that takes longer hangs, also on a busy machine.
const LONGEST_SECONDS: usize = 20;
/// How many files of each target the repository keeps beside those by hand.
const KEPT: usize = 40;

pub(crate) fn run(rest: &[&str]) -> Result<()> {
    let mut minutes = 10.0;
    let mut names = Vec::new();
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        match *word {
            "--minutes" => {
                let value = words.next().and_then(|value| value.parse().ok());
                minutes = value.context("`--minutes` takes a number")?;
            }
            name => names.push(name),
        }
    }
    let program = build()?;
    println!(
        "{:<15} {:>11} {:>7} {:>8} {:>6} {:>7} {:>8}",
        "target", "executions", "CPU min", "edges", "files", "MB", "crashes"
    );
    let mut crashed = Vec::new();
    for target in &chosen(&program, &names)? {
        let done = fuzz(&program, target, Duration::from_secs_f64(minutes * 60.0))?;
        println!(
            "{:<15} {:>11} {:>7.1} {:>8} {:>6} {:>7} {:>8}",
            target.name,
            done.executions,
            done.cpu.as_secs_f64() / 60.0,
            done.edges,
            done.files,
            done.megabytes,
            done.crashes.len()
        );
        crashed.extend(done.crashes);
    }
    if crashed.is_empty() {
        return Ok(());
    }
    for path in &crashed {
        println!("{}", path.display());
    }
    bail!(
        "{} inputs crash, hang or grow; copy each to `fuzz/corpus/<target>/`, where \
         `cargo test -p fuzzing` shows what is wrong, and leave it there with the fix",
        crashed.len()
    )
}

/// Copies what reaches something new, the smallest first.
pub(crate) fn keep(names: &[&str]) -> Result<()> {
    let program = build()?;
    for target in &chosen(&program, names)? {
        let fresh = folder("merged", target)?;
        fs::remove_dir_all(&fresh)?;
        fs::create_dir_all(&fresh)?;
        let kept = kept(target);
        let mut command = command(&program, target);
        command
            .arg("-set_cover_merge=1")
            .arg(&fresh)
            .arg(&kept)
            .arg(folder("corpus", target)?);
        ensure!(command.output()?.status.success(), "the merge failed");
        let mut files = files(&fresh);
        files.sort_by_key(|path| (fs::metadata(path).map_or(0, |it| it.len()), path.clone()));
        for path in files.into_iter().take(KEPT) {
            let name = path.file_name().expect("a file has a name");
            fs::copy(&path, kept.join(name))?;
        }
        println!("{:<15} {} files", target.name, self::files(&kept).len());
    }
    Ok(())
}

struct Done {
    executions: u64,
    cpu: Duration,
    edges: String,
    files: usize,
    megabytes: u64,
    crashes: Vec<PathBuf>,
}

/// Runs libFuzzer until the CPU time is spent: it counts by the wall, and on a
/// busy machine that is several rounds.
fn fuzz(program: &Path, target: &Target, budget: Duration) -> Result<Done> {
    let corpus = folder("corpus", target)?;
    let crashes = folder("crashes", target)?;
    let log = folder("logs", target)?.join("last");
    let mut done = Done {
        executions: 0,
        cpu: Duration::ZERO,
        edges: String::new(),
        files: 0,
        megabytes: 0,
        crashes: Vec::new(),
    };
    while done.cpu + Duration::from_secs(2) < budget && files(&crashes).is_empty() {
        let left = (budget - done.cpu).as_secs().max(1);
        let mut command = command(program, target);
        command
            .arg(format!("-artifact_prefix={}/", crashes.display()))
            .arg(format!("-max_total_time={left}"))
            .arg("-print_final_stats=1")
            .arg(&corpus)
            .arg(kept(target))
            .stdout(fs::File::create(&log)?)
            .stderr(fs::File::options().append(true).open(&log)?);
        let (sample, _) = process::wait(command)?;
        let told = fs::read(&log)?;
        let told = String::from_utf8_lossy(&told);
        ensure!(
            told.contains("INITED") || !files(&crashes).is_empty(),
            "{told}"
        );
        done.cpu += sample.cpu;
        done.megabytes = done.megabytes.max(sample.max_rss >> 20);
        let executed = after(&told, "stat::number_of_executed_units:");
        done.executions += executed.and_then(|it| it.parse::<u64>().ok()).unwrap_or(0);
        done.edges = after(&told, " cov: ").unwrap_or_default().to_owned();
    }
    done.files = files(&corpus).len();
    done.crashes = files(&crashes);
    Ok(done)
}

/// The word behind the last place where libFuzzer says this.
fn after<'a>(told: &'a str, what: &str) -> Option<&'a str> {
    let (_, rest) = told.rsplit_once(what)?;
    rest.split_whitespace().next()
}

fn command(program: &Path, target: &Target) -> Command {
    let mut command = Command::new(program);
    command
        .env("MEMORY_FORGE_FUZZ", &target.name)
        .arg(format!("-max_len={}", target.longest))
        .arg(format!("-timeout={LONGEST_SECONDS}"))
        .arg(format!("-report_slow_units={LONGEST_SECONDS}"))
        .arg(format!("-rss_limit_mb={MOST_MEGABYTES}"));
    command
}

/// With the pinned toolchain: coverage needs no nightly one, only sanitizers
/// do, and what is ours is safe Rust but for two files.
fn build() -> Result<PathBuf> {
    let folder = crate::target().join("fuzz");
    let own = crate::target().join("tools/bin/cargo-fuzz");
    let tool = if own.is_file() {
        own
    } else {
        PathBuf::from("cargo-fuzz")
    };
    let status = Command::new(tool)
        .args(["build", "--sanitizer", "none", "--release"])
        .args(["--fuzz-dir", "fuzz", "forge"])
        .env("CARGO_TARGET_DIR", &folder)
        .current_dir(crate::repository())
        .status()
        .with_context(|| {
            format!(
                "cargo-fuzz is missing; `cargo install cargo-fuzz --version {CARGO_FUZZ} --locked \
                 --root target/tools` installs it"
            )
        })?;
    ensure!(status.success(), "the build failed");
    let triples = fs::read_dir(&folder)?.filter_map(|it| Some(it.ok()?.path()));
    let mut programs = triples.map(|it| it.join("release/forge"));
    programs
        .find(|it| it.is_file())
        .context("there is no program after the build")
}

struct Target {
    name: String,
    longest: usize,
}

/// The targets of these names, or all. The program knows them.
fn chosen(program: &Path, names: &[&str]) -> Result<Vec<Target>> {
    let output = Command::new(program)
        .env("MEMORY_FORGE_FUZZ", "?")
        .output()?;
    let mut targets = Vec::new();
    for line in String::from_utf8(output.stdout)?.lines() {
        let (name, longest) = line.split_once(' ').context("a name and a length")?;
        targets.push(Target {
            name: name.to_owned(),
            longest: longest.parse()?,
        });
    }
    let known: Vec<String> = targets.iter().map(|it| it.name.clone()).collect();
    if let Some(odd) = names
        .iter()
        .find(|name| !known.iter().any(|it| it == *name))
    {
        bail!("there is no target `{odd}`; there are {}", known.join(", "));
    }
    targets.retain(|it| names.is_empty() || names.contains(&it.name.as_str()));
    Ok(targets)
}

/// The corpus of the repository.
fn kept(target: &Target) -> PathBuf {
    crate::repository().join("fuzz/corpus").join(&target.name)
}

fn folder(what: &str, target: &Target) -> Result<PathBuf> {
    let folder = crate::target().join("fuzz").join(what).join(&target.name);
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|it| Some(it.ok()?.path())).collect()
}
