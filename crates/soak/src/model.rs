//! The crash model: for every command that writes, and for every operation on
//! a file that it makes, the process ends there, that operation fails, or the
//! disk is full from there on. Nothing is left to chance.

use std::fmt;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use crate::scenarios::{Scenario, runnable_scenarios};
use crate::trial::{Side, Trial};

/// What to run.
pub struct CrashModel {
    /// The program, built with debug assertions: only such a build breaks on
    /// purpose.
    pub binary: PathBuf,
    /// Only scenarios whose name has this in it.
    pub only: String,
    /// Which operations are interrupted: one of so many, from the first on.
    pub every: usize,
    /// How many scenarios at once.
    pub threads: usize,
}

pub struct CrashReport {
    rows: Vec<Row>,
    /// What was wrong, by scenario.
    pub wrong: Vec<String>,
    pub seconds: f64,
}

#[derive(Default)]
struct Row {
    name: &'static str,
    steps: usize,
    index_steps: usize,
    interruptions: usize,
    before: usize,
    after: usize,
}

/// Operations that a full disk refuses.
const GROWS: [&str; 5] = ["CreateDir", "Create", "Write", "Sync", "Index"];

/// The exit code of a program that aborts on Windows, which has no signals.
const ABORTED_ON_WINDOWS: i32 = -1_073_740_791;

/// More than this of one scenario say nothing new.
const MOST_WRONG: usize = 4;

impl CrashModel {
    pub fn run(&self) -> CrashReport {
        let started = Instant::now();
        let chosen: Vec<&'static Scenario> = runnable_scenarios()
            .filter(|it| it.name.contains(&self.only))
            .collect();
        let next = AtomicUsize::new(0);
        let rows = Mutex::new(Vec::new());
        let wrong = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..self.threads.max(1) {
                scope.spawn(|| {
                    while let Some(scenario) = chosen.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let mut told = Vec::new();
                        let row = self.scenario(scenario, &mut told);
                        match row {
                            Ok(row) => rows.lock().expect("nobody panics").push(row),
                            Err(error) => told.push(format!("{error:#}")),
                        }
                        let told = told.iter().map(|it| format!("`{}`: {it}", scenario.name));
                        wrong.lock().expect("nobody panics").extend(told);
                    }
                });
            }
        });
        let mut rows = rows.into_inner().expect("nobody panics");
        rows.sort_by_key(|row: &Row| row.name);
        CrashReport {
            rows,
            wrong: wrong.into_inner().expect("nobody panics"),
            seconds: started.elapsed().as_secs_f64(),
        }
    }

    fn scenario(&self, scenario: &'static Scenario, wrong: &mut Vec<String>) -> Result<Row> {
        let trial = Trial::new(scenario, &self.binary, true)?;
        let trace = trial.trace()?;
        ensure!(!trace.is_empty(), "it announces no operation at all");
        if let Err(error) = survives_loss_of_power(&trace) {
            wrong.push(format!("loss of power: {error:#}"));
        }
        let mut row = Row {
            name: scenario.name,
            steps: trace.len(),
            index_steps: trace.iter().filter(|step| step[0] == "Index").count(),
            ..Row::default()
        };
        for k in (0..trace.len()).step_by(self.every.max(1)) {
            for kind in ["stop", "fail", "full"] {
                let [op, path, to] = &trace[k];
                // Before an operation that takes no room, a full disk is as
                // before the next one.
                if kind != "stop" && scenario.only_stops {
                    continue;
                }
                if kind == "full" && !GROWS.contains(&op.as_str()) {
                    continue;
                }
                let fault = format!("{kind}:{k}");
                let searching = kind == "stop" || op == "Index";
                let to = if to == path { "" } else { to };
                let context = || format!("{fault} of {}, {op} {path} {to}", trace.len());
                match interrupt(&trial, &fault, searching).with_context(context) {
                    Ok(Side::Before) => row.before += 1,
                    Ok(Side::After) => row.after += 1,
                    Err(error) => wrong.push(format!("{error:#}")),
                }
                row.interruptions += 1;
                if wrong.len() >= MOST_WRONG {
                    bail!("and no further");
                }
            }
        }
        Ok(row)
    }
}

fn interrupt(trial: &Trial, fault: &str, searching: bool) -> Result<Side> {
    let output = trial.broken(fault)?;
    let is_hook = trial.scenario.command() == "hook";
    if fault.starts_with("stop:") {
        ensure!(
            matches!(output.status, None | Some(ABORTED_ON_WINDOWS)),
            "it did not come to that operation: {output}"
        );
    } else {
        ensure!(
            output.status.is_some() && !output.stderr.contains("panicked"),
            "an error of the disk ended it: {output}"
        );
        ensure!(
            !is_hook || output.status == Some(0),
            "a hook always succeeds: {output}"
        );
    }
    let side = trial
        .settle(searching, output.stdout.contains("[INCOMPLETE]"))
        .with_context(|| format!("{output}"))?;
    // A server answers in its own way, and a hook has nobody to tell.
    let tells = !is_hook && trial.scenario.command() != "mcp";
    let claims = tells && output.status == Some(0);
    ensure!(
        side == Side::After || !claims || trial.is_same(),
        "it says that it succeeded, and nothing was written: {output}"
    );
    Ok(side)
}

/// What a loss of power may take is what was not synced: bytes before they are
/// renamed over a person's file, and names before the change counts as done.
fn survives_loss_of_power(trace: &[[String; 3]]) -> Result<()> {
    let is_folder = |path: &str| {
        let below = format!("{path}/");
        trace.iter().any(|step| step[1].starts_with(&below))
    };
    let folder = |path: &str| path.rsplit_once('/').map_or("", |it| it.0).to_owned();
    let mut unsynced_bytes: Vec<&str> = Vec::new();
    let mut unsynced_names: Vec<(String, &str)> = Vec::new();
    for [op, path, to] in trace {
        match op.as_str() {
            "Write" => unsynced_bytes.push(path),
            "Sync" => unsynced_bytes.retain(|it| it != path),
            "SyncDir" => unsynced_names.retain(|(name, _)| name != path),
            "Rename" if path.ends_with(".pending") => {
                ensure!(
                    unsynced_names.is_empty(),
                    "the change counts as done, and these names were not synced: {unsynced_names:?}"
                );
                unsynced_names.push((folder(to), to));
            }
            "Rename" if is_lasting(to) => {
                ensure!(
                    !unsynced_bytes.contains(&path.as_str()),
                    "`{to}` gets bytes that were not synced"
                );
                unsynced_names.push((folder(to), to));
            }
            // A folder is only tried, and stays where it is not empty.
            "Remove" if is_folder(path) => {}
            "Remove" if is_lasting(path) && !path.ends_with(".tmp") => {
                unsynced_names.push((folder(path), path));
            }
            _ => {}
        }
    }
    ensure!(
        unsynced_names.is_empty(),
        "it ended, and these names were not synced: {unsynced_names:?}"
    );
    Ok(())
}

/// Whether a loss of power must not take it: not the caches, and not what
/// hooks keep at every turn.
fn is_lasting(path: &str) -> bool {
    let derived = path.contains("/.memory-forge/") && !path.ends_with("/entry.json");
    let of_hooks = ["/.mind/.", "/.mind/evidence/", "/memory/."]
        .iter()
        .any(|it| path.contains(it));
    !derived && !of_hooks
}

impl CrashReport {
    pub fn interruptions(&self) -> usize {
        self.rows.iter().map(|it| it.interruptions).sum()
    }

    pub fn commands(&self) -> usize {
        self.rows.len()
    }
}

impl fmt::Display for CrashReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = 32;
        writeln!(
            f,
            "{:width$} {:>6} {:>6} {:>14} {:>8} {:>8}",
            "", "steps", "index", "interruptions", "before", "after"
        )?;
        for row in &self.rows {
            let name: String = row.name.chars().take(width).collect();
            writeln!(
                f,
                "{name:width$} {:>6} {:>6} {:>14} {:>8} {:>8}",
                row.steps, row.index_steps, row.interruptions, row.before, row.after
            )?;
        }
        let steps: usize = self.rows.iter().map(|it| it.steps).sum();
        write!(
            f,
            "{} ways to write, {steps} operations, {} interruptions, {} half states, {:.1} seconds",
            self.rows.len(),
            self.interruptions(),
            self.wrong.len(),
            self.seconds
        )
    }
}
