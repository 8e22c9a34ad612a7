//! `soak crash`, `kills`, `story`, `writers`, `mcp` and `caps`: long checks of
//! the program and of the library. They print what they did and fail at the
//! first thing that is lost, torn or too large. All but the first run the
//! release binary.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use ::soak::{Calls, Caps, CrashModel, KillEach, Kills, Writers};
use anyhow::{Context, Result, bail, ensure};

/// The crash model, which needs a build that can break on purpose.
pub(crate) fn crash(rest: &[&str]) -> Result<()> {
    let mut model = CrashModel {
        binary: match binary(rest)? {
            Some(binary) => binary,
            None => crate::build_debug()?,
        },
        only: String::new(),
        every: 1,
        threads: threads(),
    };
    each_option(rest, |name, value| match name {
        "--only" => {
            model.only = value.to_owned();
            Ok(())
        }
        "--threads" => number(&mut model.threads, name, value),
        "--binary" => Ok(()),
        _ => bail!("usage: soak crash [--only NAME] [--threads N] [--binary FILE]"),
    })?;
    let report = model.run();
    println!("{report}");
    ensure!(report.wrong.is_empty(), "{}", report.wrong.join("\n\n"));
    Ok(())
}

/// Every command that writes, each killed so often.
pub(crate) fn kills(rest: &[&str]) -> Result<()> {
    let mut soak = KillEach {
        binary: binary_or_release(rest)?,
        count: 1_000,
        seed: seconds()?,
        only: String::new(),
        threads: threads(),
        debug: false,
    };
    each_option(rest, |name, value| match name {
        "--count" => number(&mut soak.count, name, value),
        "--seed" => number(&mut soak.seed, name, value),
        "--threads" => number(&mut soak.threads, name, value),
        "--binary" => Ok(()),
        "--only" => {
            soak.only = value.to_owned();
            Ok(())
        }
        _ => bail!(
            "usage: soak kills [--count N] [--seed N] [--only NAME] [--threads N] [--binary FILE]"
        ),
    })?;
    // A switch that breaks things has no place in what people install.
    let program = std::fs::read(&soak.binary)?;
    let switch = b"MEMORY_FORGE_FAULT";
    ensure!(
        !program.windows(switch.len()).any(|it| it == switch),
        "the release has the tests' switch in it"
    );
    println!("{}", soak.run()?);
    Ok(())
}

/// Many kills in one workspace that grows.
pub(crate) fn story(rest: &[&str]) -> Result<()> {
    let mut soak = Kills {
        binary: binary_or_release(rest)?,
        count: 1_000,
        seed: seconds()?,
    };
    each_option(rest, |name, value| match name {
        "--count" => number(&mut soak.count, name, value),
        "--seed" => number(&mut soak.seed, name, value),
        "--binary" => Ok(()),
        _ => bail!("usage: soak story [--count N] [--seed N] [--binary FILE]"),
    })?;
    println!("{}", soak.run()?);
    Ok(())
}

pub(crate) fn writers(rest: &[&str]) -> Result<()> {
    let mut soak = Writers {
        binary: binary_or_release(rest)?,
        processes: 64,
        writes: 100,
    };
    each_option(rest, |name, value| match name {
        "--processes" => number(&mut soak.processes, name, value),
        "--writes" => number(&mut soak.writes, name, value),
        "--binary" => Ok(()),
        _ => bail!("usage: soak writers [--processes N] [--writes N] [--binary FILE]"),
    })?;
    println!("{}", soak.run()?);
    Ok(())
}

/// The memory of the server must not grow with the number of calls.
pub(crate) fn mcp(rest: &[&str]) -> Result<()> {
    const MOST_GROWN: f64 = 0.10;
    let mut calls = 100_000;
    each_option(rest, |name, value| match name {
        "--calls" => number(&mut calls, name, value),
        "--binary" => Ok(()),
        _ => bail!("usage: soak mcp [--calls N] [--binary FILE]"),
    })?;
    let binary = binary_or_release(rest)?;
    let report = Calls { binary, calls }.run()?;
    println!("{report}");
    ensure!(
        report.grown() < MOST_GROWN,
        "the server grows with its calls"
    );
    Ok(())
}

pub(crate) fn caps(rest: &[&str]) -> Result<()> {
    let mut soak = Caps {
        workspaces: 10_000,
        seed: 1,
    };
    each_option(rest, |name, value| match name {
        "--workspaces" => number(&mut soak.workspaces, name, value),
        "--seed" => number(&mut soak.seed, name, value),
        _ => bail!("usage: soak caps [--workspaces N] [--seed N]"),
    })?;
    println!("{}", soak.run()?);
    Ok(())
}

fn binary_or_release(rest: &[&str]) -> Result<PathBuf> {
    match binary(rest)? {
        Some(binary) => Ok(binary),
        None => crate::build_release(None),
    }
}

/// The program of `--binary`, where it was built before. It is run in other
/// folders than this one.
fn binary(rest: &[&str]) -> Result<Option<PathBuf>> {
    let Some(at) = rest.iter().position(|it| *it == "--binary") else {
        return Ok(None);
    };
    let file = rest.get(at + 1).context("`--binary` takes a file")?;
    let whole = std::fs::canonicalize(file).with_context(|| format!("no program `{file}`"))?;
    Ok(Some(whole))
}

fn seconds() -> Result<u64> {
    Ok(SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs())
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from)
}

fn each_option(rest: &[&str], mut take: impl FnMut(&str, &str) -> Result<()>) -> Result<()> {
    for pair in rest.chunks(2) {
        take(pair[0], pair.get(1).copied().unwrap_or_default())?;
    }
    Ok(())
}

fn number<T: std::str::FromStr>(target: &mut T, name: &str, value: &str) -> Result<()> {
    *target = value
        .parse()
        .ok()
        .with_context(|| format!("`{name}` takes a number"))?;
    Ok(())
}
