//! Commands that write are killed at a random moment, one after another, in
//! one workspace. After each, an ordinary command must find everything as it
//! was or as it was to be, and nothing in between.

mod script;

use std::fmt;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use jiff::Timestamp;

use crate::chance::Chance;
use crate::inspect;
use crate::seeded::Seeded;
use script::{Kind, Script, Step};

/// What to run.
pub struct Kills {
    /// The program.
    pub binary: PathBuf,
    pub count: usize,
    pub seed: u64,
}

/// What came of it; that nothing was lost goes without saying, as a loss ends
/// the run.
pub struct KillsReport {
    pub kills: usize,
    pub seed: u64,
    pub seconds: f64,
    rows: Vec<Row>,
    unfinished: usize,
    kept: usize,
}

struct Row {
    kind: Kind,
    /// Of undisturbed runs, the latest last.
    times: Vec<Duration>,
    before: usize,
    after: usize,
}

impl Row {
    fn new(kind: Kind) -> Row {
        Row {
            kind,
            times: Vec::new(),
            before: 0,
            after: 0,
        }
    }

    /// The median of the last few undisturbed runs.
    fn usual(&self) -> Duration {
        let mut last = self.times[self.times.len().saturating_sub(MEASURED)..].to_vec();
        last.sort();
        last.get(last.len() / 2).copied().unwrap_or_default()
    }
}

impl KillsReport {
    /// Kills that came before the command had ended.
    pub fn before_the_end(&self) -> usize {
        self.rows.iter().map(|it| it.before).sum()
    }
}

impl Kills {
    /// Fails at the first violation, with the seed and what was found.
    pub fn run(&self) -> Result<KillsReport> {
        let started = Instant::now();
        let mut soak = Soak {
            seeded: Seeded::new(&self.binary)?,
            script: Script::default(),
            hour: 0,
        };
        let others = soak.seeded.others();
        let mut rows: Vec<Row> = Kind::ALL.map(Row::new).into();
        for _ in 0..MEASURED {
            soak.measure(&mut rows).context("before the first kill")?;
        }
        let mut chance = Chance::new(self.seed);
        let (mut unfinished, mut kept) = (0, 0);
        for round in 1..=self.count {
            // Files grow and machines have moods: what is usual changes.
            if round % MEASURED_EVERY == 0 {
                soak.measure(&mut rows)
                    .with_context(|| format!("seed {}, before kill {round}", self.seed))?;
            }
            let place = *chance.one_of(&(0..rows.len()).collect::<Vec<_>>());
            let row = &mut rows[place];
            let delay = chance.up_to(row.usual());
            let outcome = soak.round(round, row.kind, delay).with_context(|| {
                format!(
                    "seed {}, kill {round}: `{}` after {:.3} ms",
                    self.seed,
                    row.kind.name(),
                    delay.as_secs_f64() * 1000.0
                )
            })?;
            if outcome.completed {
                row.after += 1
            } else {
                row.before += 1
            }
            unfinished += usize::from(outcome.unfinished);
            kept += usize::from(outcome.kept);
        }
        ensure!(
            soak.seeded.others() == others,
            "seed {}: files outside of `.mind/` have changed",
            self.seed
        );
        Ok(KillsReport {
            kills: self.count,
            seed: self.seed,
            seconds: started.elapsed().as_secs_f64(),
            rows,
            unfinished,
            kept,
        })
    }
}

struct Soak {
    seeded: Seeded,
    script: Script,
    hour: usize,
}

struct Outcome {
    completed: bool,
    /// The kill left something that had to be cleared away.
    unfinished: bool,
    /// What a killed command was to write is there all the same.
    kept: bool,
}

/// Undisturbed runs of each command before the first kill.
const MEASURED: usize = 5;
/// Kills after which each runs undisturbed once more.
const MEASURED_EVERY: usize = 50;

impl Soak {
    /// Runs every command once, undisturbed, and notes how long it took.
    fn measure(&mut self, rows: &mut [Row]) -> Result<()> {
        for row in rows {
            if row.kind == Kind::TaskDone && !self.script.has_open_task() {
                self.follow(Kind::TaskAdd)?;
            }
            let step = self.next(row.kind);
            let start = Instant::now();
            self.ordinary(&step)
                .with_context(|| format!("undisturbed, `{}`", row.kind.name()))?;
            row.times.push(start.elapsed());
            self.script.settle(&step, true);
        }
        self.check()?;
        Ok(())
    }

    fn round(&mut self, round: usize, kind: Kind, delay: Duration) -> Result<Outcome> {
        if kind == Kind::TaskDone && !self.script.has_open_task() {
            self.follow(Kind::TaskAdd)?;
        }
        let step = self.next(kind);
        let completed = self.killed(&step, delay)?;
        let unfinished = !inspect::unfinished(self.seeded.ws.root())?.is_empty();
        self.script.settle(&step, completed);
        // One writer of state and one of the small files: each clears away
        // what was left of its own kind.
        let writers = [Kind::Log, Kind::Decide, Kind::TaskAdd, Kind::Set];
        self.follow(writers[round % writers.len()])?;
        self.follow(Kind::Stop)?;
        let kept = self.check()?;
        Ok(Outcome {
            completed,
            unfinished,
            kept: kept && !completed,
        })
    }

    fn next(&mut self, kind: Kind) -> Step {
        self.hour += 1;
        self.script.next(kind)
    }

    fn now(&self) -> Result<Timestamp> {
        Seeded::moment(self.hour)
    }

    fn follow(&mut self, kind: Kind) -> Result<()> {
        let step = self.next(kind);
        self.ordinary(&step)
            .with_context(|| format!("afterwards, `{}`", kind.name()))?;
        self.script.settle(&step, true);
        Ok(())
    }

    fn ordinary(&self, step: &Step) -> Result<()> {
        let now = self.now()?.to_string();
        let arguments: Vec<&str> = step.arguments.iter().map(String::as_str).collect();
        let environment = [("MEMORY_FORGE_NOW", now.as_str())];
        let output = self
            .seeded
            .ws
            .feed(step.input.clone(), &environment, &arguments);
        ensure!(output.status == Some(0), "it did not succeed:\n{output}");
        Ok(())
    }

    /// Starts it, kills it after `delay`, and says whether it had ended.
    fn killed(&self, step: &Step, delay: Duration) -> Result<bool> {
        let mut command = self.seeded.ws.command();
        command
            .args(&step.arguments)
            .env("MEMORY_FORGE_NOW", self.now()?.to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let start = Instant::now();
        let mut child = command.spawn().context("the program cannot be started")?;
        if let Some(mut stdin) = child.stdin.take() {
            // Whoever does not read closes the pipe.
            let _ = stdin.write_all(&step.input);
        }
        std::thread::sleep(delay.saturating_sub(start.elapsed()));
        let ended = child.try_wait()?.is_some();
        child.kill()?;
        let status = child.wait()?;
        if status.success() {
            return Ok(true);
        }
        if ended || (cfg!(unix) && status.code().is_some()) {
            let mut told = String::new();
            if let Some(mut stderr) = child.stderr.take() {
                stderr.read_to_string(&mut told)?;
            }
            bail!("it ended by itself with {status}: {told}");
        }
        Ok(false)
    }

    /// Everything that must hold now. Says whether a promise that a killed
    /// command could not confirm was kept.
    fn check(&mut self) -> Result<bool> {
        inspect::check(&self.seeded.ws, self.now()?)?;
        let texts = self.seeded.texts()?;
        self.seeded.check_lines(&texts)?;
        self.script.check(&texts)
    }
}

impl fmt::Display for KillsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:24} {:>8} {:>16} {:>12} {:>10}",
            "", "kills", "before its end", "after it", "usual ms"
        )?;
        let (mut before, mut after) = (0, 0);
        for row in &self.rows {
            writeln!(
                f,
                "{:24} {:>8} {:>16} {:>12} {:>10.2}",
                row.kind.name(),
                row.before + row.after,
                row.before,
                row.after,
                row.usual().as_secs_f64() * 1000.0
            )?;
            before += row.before;
            after += row.after;
        }
        writeln!(
            f,
            "{:24} {:>8} {before:>16} {after:>12}",
            "together", self.kills
        )?;
        writeln!(
            f,
            "{} left something half done, which the next command cleared away",
            self.unfinished
        )?;
        writeln!(
            f,
            "{} came after the write and before the end: what was written stands",
            self.kept
        )?;
        write!(
            f,
            "{} kills, 0 losses, seed {}, {:.1} seconds",
            self.kills, self.seed, self.seconds
        )
    }
}
