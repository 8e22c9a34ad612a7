//! Each command that writes is killed at random moments of its run, so and so
//! often, with the binary that people use. After each kill everything is as
//! before or as after.

use std::fmt;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::chance::Chance;
use crate::scenarios::{Scenario, runnable_scenarios};
use crate::trial::{Side, Trial};

/// What to run.
pub struct KillEach {
    /// The program.
    pub binary: PathBuf,
    /// Kills of each command.
    pub count: usize,
    pub seed: u64,
    /// Only commands with this in their name.
    pub only: String,
    pub threads: usize,
    /// Whether the program is a debug build, which can be spared its syncs
    /// where nobody is killed.
    pub debug: bool,
}

pub struct KillEachReport {
    pub seed: u64,
    pub seconds: f64,
    rows: Vec<Row>,
}

struct Row {
    name: &'static str,
    usual: Duration,
    /// Further ones that came too late, and do not count.
    late: usize,
    before: usize,
    after: usize,
}

impl KillEach {
    /// Fails with everything that was found, should anything be.
    pub fn run(&self) -> Result<KillEachReport> {
        let started = Instant::now();
        let chosen: Vec<&'static Scenario> = runnable_scenarios()
            .filter(|it| it.name.contains(&self.only))
            .collect();
        let next = AtomicUsize::new(0);
        let rows: Mutex<Vec<Result<Row>>> = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..self.threads.max(1) {
                scope.spawn(|| {
                    while let Some(scenario) = chosen.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let row = self
                            .command(scenario)
                            .with_context(|| format!("seed {}, `{}`", self.seed, scenario.name));
                        rows.lock().expect("nobody panics").push(row);
                    }
                });
            }
        });
        let rows = rows.into_inner().expect("nobody panics").into_iter();
        let mut rows = rows.collect::<Result<Vec<Row>>>()?;
        rows.sort_by_key(|row| row.name);
        Ok(KillEachReport {
            seed: self.seed,
            seconds: started.elapsed().as_secs_f64(),
            rows,
        })
    }

    fn command(&self, scenario: &'static Scenario) -> Result<Row> {
        let trial = Trial::new(scenario, &self.binary, self.debug)?;
        let mut row = Row {
            name: scenario.name,
            usual: trial.usual()?,
            late: 0,
            before: 0,
            after: 0,
        };
        let name = scenario.name.bytes();
        let mut chance = Chance::new(name.fold(self.seed, |sum, byte| {
            sum.wrapping_mul(31).wrapping_add(u64::from(byte))
        }));
        // How long it runs depends on what else runs; the window follows, so
        // that one kill in four or so comes too late, and the last moments of
        // the command have their share.
        let mut window = row.usual;
        let mut number = 0;
        while row.before + row.after < self.count {
            number += 1;
            ensure!(
                number <= 10 * self.count.max(10),
                "it ends before it can be killed"
            );
            let delay = chance.up_to(window);
            let killed = || -> Result<(bool, Side)> {
                Ok((trial.killed(delay)?, trial.settle(number % 8 == 0, false)?))
            };
            let (ended, side) = killed().with_context(|| {
                let after = delay.as_secs_f64() * 1000.0;
                format!("kill {number}, after {after:.3} ms")
            })?;
            ensure!(
                !ended || side == Side::After || trial.is_same(),
                "kill {number} came after the end, and nothing was written"
            );
            match (ended, side) {
                (true, _) => row.late += 1,
                (false, Side::Before) => row.before += 1,
                (false, Side::After) => row.after += 1,
            }
            window = window.mul_f64(if ended { 0.97 } else { 1.01 });
        }
        Ok(row)
    }
}

impl KillEachReport {
    pub fn kills(&self) -> usize {
        self.rows.iter().map(|it| it.before + it.after).sum()
    }
}

impl fmt::Display for KillEachReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = 32;
        writeln!(
            f,
            "{:width$} {:>8} {:>8} {:>8} {:>8} {:>10}",
            "", "kills", "before", "after", "late", "usual ms"
        )?;
        for row in &self.rows {
            let name: String = row.name.chars().take(width).collect();
            writeln!(
                f,
                "{name:width$} {:>8} {:>8} {:>8} {:>8} {:>10.2}",
                row.before + row.after,
                row.before,
                row.after,
                row.late,
                row.usual.as_secs_f64() * 1000.0
            )?;
        }
        write!(
            f,
            "{} commands, {} kills, 0 losses, seed {}, {:.1} seconds",
            self.rows.len(),
            self.kills(),
            self.seed,
            self.seconds
        )
    }
}
