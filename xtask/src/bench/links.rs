//! `bench links`: `links check` on a large vault as a ratio to reading its
//! files, and `links suggest` on ten thousand notes.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

const VAULT: &str = "obsidian-help-all";
const NOTES: usize = 10_000;

pub(crate) fn run(rest: &[&str]) -> Result<()> {
    let runs: usize = match rest {
        [] => 9,
        ["--runs", n] => n.parse().context("`--runs` takes a number")?,
        _ => bail!("usage: bench links [--runs N]"),
    };
    let binary = crate::build_release(None)?;
    let bench = crate::target().join("bench");
    std::fs::create_dir_all(&bench)?;
    if let Some(root) = unpacked(&bench)? {
        check(&binary, &root, runs)?;
    }
    suggest(&binary, &generated(&bench)?, runs)
}

/// Both in turns, so that a busy machine slows both.
fn check(binary: &Path, root: &Path, runs: usize) -> Result<()> {
    let mut files = Vec::new();
    markdown(root, &mut files)?;
    let (mut reading, mut checking) = (Vec::new(), Vec::new());
    let mut bytes = 0;
    for run in 0..=runs {
        let start = Instant::now();
        bytes = 0;
        for file in &files {
            bytes += std::fs::read(file)?.len();
        }
        let read = start.elapsed().as_secs_f64();
        let checked = timed(binary, root, &["links", "check", "--json"])?;
        // The first round warms the caches.
        if run > 0 {
            reading.push(read);
            checking.push(checked);
        }
    }
    let (read, checked) = (median(&mut reading), median(&mut checking));
    println!("{VAULT}: {} files, {bytes} bytes, {runs} runs", files.len());
    println!("  reading every file, one thread  {:8.1} ms", read * 1e3);
    println!("  links check                     {:8.1} ms", checked * 1e3);
    println!("  ratio                           {:8.2}", checked / read);
    Ok(())
}

fn suggest(binary: &Path, root: &Path, runs: usize) -> Result<()> {
    let mut times = Vec::new();
    for _ in 0..runs {
        times.push(timed(binary, root, &["links", "suggest", "--json"])?);
    }
    println!("{NOTES} generated notes of 60 lines, {runs} runs");
    println!(
        "  links suggest                   {:8.2} s",
        median(&mut times)
    );
    Ok(())
}

/// Exit code 1 means that something was found, which is no failure here.
fn timed(binary: &Path, root: &Path, arguments: &[&str]) -> Result<f64> {
    let start = Instant::now();
    let status = Command::new(binary)
        .args(arguments)
        .arg("--root")
        .arg(root)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .context("Cannot start the program")?;
    if !matches!(status.code(), Some(0 | 1)) {
        bail!("`{}` failed", arguments.join(" "));
    }
    Ok(start.elapsed().as_secs_f64())
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn markdown(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            markdown(&path, files)?;
        } else if path.extension().is_some_and(|it| it == "md") {
            files.push(path);
        }
    }
    Ok(())
}

/// The vault from its archive, or none after saying that it is not here.
fn unpacked(bench: &Path) -> Result<Option<PathBuf>> {
    let root = bench.join(VAULT);
    if root.is_dir() {
        return Ok(Some(root));
    }
    let archive = super::data_folder().map(|data| data.join(format!("md/{VAULT}.tar.gz")));
    let Some(archive) = archive.filter(|archive| archive.is_file()) else {
        eprintln!("skipped: md/{VAULT}.tar.gz is not here; set MEMORY_FORGE_BENCH_DATA");
        return Ok(None);
    };
    let status = Command::new("tar")
        .arg("-xzf")
        .arg(&archive)
        .arg("-C")
        .arg(bench)
        .status()
        .context("Cannot run tar")?;
    if !status.success() || !root.is_dir() {
        bail!("tar could not unpack {}", archive.display());
    }
    Ok(Some(root))
}

/// Notes that speak of one another, the same on every machine.
fn generated(bench: &Path) -> Result<PathBuf> {
    let root = bench.join("links-generated-1");
    let finished = bench.join("links-generated-1.finished");
    if finished.is_file() {
        return Ok(root);
    }
    let mut seed = 7u64;
    let mut next = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) as usize % below
    };
    const WORDS: [&str; 12] = [
        "harbour", "ledger", "orchard", "signal", "timber", "velvet", "copper", "meadow",
        "lantern", "granite", "willow", "beacon",
    ];
    let name = |note: usize| {
        let (a, b) = (WORDS[note % 12], WORDS[note / 12 % 12]);
        format!("{a}-{b}-{}", note / 144)
    };
    for note in 0..NOTES {
        let folder = root.join(format!("area-{}", note % 40));
        std::fs::create_dir_all(&folder)?;
        let mut text = format!("# Note {note}\n\n");
        for line in 0..60 {
            if line % 10 == 0 {
                let other = name(next(NOTES)).replace('-', " ");
                text.push_str(&format!("This one depends on {other} and on its owner.\n"));
            } else {
                let (a, b) = (WORDS[next(12)], WORDS[next(12)]);
                text.push_str(&format!(
                    "A {a} beside the {b}, written down on day {line}.\n"
                ));
            }
        }
        std::fs::write(folder.join(format!("{}.md", name(note))), text)?;
    }
    std::fs::write(finished, "")?;
    Ok(root)
}
