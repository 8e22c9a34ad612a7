//! `soak kills`, `writers`, `mcp` and `caps`: long checks of the release binary
//! and of the library. They print what they did and fail at the first thing that
//! is lost, torn or too large.

use std::time::{SystemTime, UNIX_EPOCH};

use ::soak::{Calls, Caps, Kills, Writers};
use anyhow::{Context, Result, bail, ensure};

pub(crate) fn kills(rest: &[&str]) -> Result<()> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let mut soak = Kills {
        binary: crate::build_release(None)?,
        count: 1_000,
        seed: now.as_secs(),
    };
    each_option(rest, |name, value| match name {
        "--count" => number(&mut soak.count, name, value),
        "--seed" => number(&mut soak.seed, name, value),
        _ => bail!("usage: soak kills [--count N] [--seed N]"),
    })?;
    println!("{}", soak.run()?);
    Ok(())
}

pub(crate) fn writers(rest: &[&str]) -> Result<()> {
    let mut soak = Writers {
        binary: crate::build_release(None)?,
        processes: 64,
        writes: 100,
    };
    each_option(rest, |name, value| match name {
        "--processes" => number(&mut soak.processes, name, value),
        "--writes" => number(&mut soak.writes, name, value),
        _ => bail!("usage: soak writers [--processes N] [--writes N]"),
    })?;
    println!("{}", soak.run()?);
    Ok(())
}

/// The memory of the server must not grow with the number of calls.
pub(crate) fn mcp(rest: &[&str]) -> Result<()> {
    const MOST_GROWN: f64 = 0.10;
    let mut calls = 100_000;
    let mut binary = None;
    each_option(rest, |name, value| match name {
        "--calls" => number(&mut calls, name, value),
        "--binary" => {
            binary = Some(std::path::Path::new(value).canonicalize()?);
            Ok(())
        }
        _ => bail!("usage: soak mcp [--calls N] [--binary FILE]"),
    })?;
    let binary = match binary {
        Some(binary) => binary,
        None => crate::build_release(None)?,
    };
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
