//! `soak kills` and `soak writers`: long checks of the release binary. They
//! print what they did and fail at the first thing that is lost or torn.

use std::time::{SystemTime, UNIX_EPOCH};

use ::soak::{Kills, Writers};
use anyhow::{Context, Result, bail};

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
