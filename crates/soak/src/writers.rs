//! Many processes write into the same four files at once. Afterwards every
//! entry is there once, under an id of its own, and nothing else has changed.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use forge_app::mind::MindStore;
use forge_app::workspace::Workspace;
use jiff::Timestamp;

use crate::inspect;
use crate::seeded::{DECISIONS, SESSIONS, Seeded};

/// What to run.
pub struct Writers {
    /// The program.
    pub binary: PathBuf,
    /// How many run at any moment.
    pub processes: usize,
    /// How many each place runs, one after another.
    pub writes: usize,
}

pub struct WritersReport {
    pub processes: usize,
    pub writes: usize,
    /// Entries written, by kind.
    pub decisions: usize,
    pub tasks: usize,
    pub sessions: usize,
    pub states: usize,
    /// Writes that gave up waiting for the lock and were tried again.
    pub locked: usize,
    pub seconds: f64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Decide,
    TaskAdd,
    Log,
    Set,
}

/// A write that succeeded, and what the program said.
struct Written {
    kind: Kind,
    title: String,
    said: String,
}

const KINDS: [Kind; 4] = [Kind::Decide, Kind::TaskAdd, Kind::Log, Kind::Set];
/// What the program says when it has waited long enough.
const LOCKED: &str = "is in use by another process";

impl Writers {
    /// Fails with what was found, should anything be lost, doubled or torn.
    pub fn run(&self) -> Result<WritersReport> {
        let seeded = Seeded::new(&self.binary)?;
        let now = Seeded::moment(0)?;
        let before = Counts::read(&seeded)?;
        let others = seeded.others();
        let locked = AtomicUsize::new(0);
        let started = Instant::now();
        let written: Vec<Vec<Written>> = std::thread::scope(|scope| {
            let place = |process| {
                let (seeded, locked) = (&seeded, &locked);
                scope.spawn(move || self.place(process, seeded, now, locked))
            };
            let places: Vec<_> = (0..self.processes).map(place).collect();
            let joined = places.into_iter().map(|it| match it.join() {
                Ok(result) => result,
                Err(_) => bail!("a thread of the check panicked"),
            });
            joined.collect::<Result<_>>()
        })?;
        let seconds = started.elapsed().as_secs_f64();
        inspect::check(&seeded.ws, now)?;
        seeded.check_lines(&seeded.texts()?)?;
        ensure!(
            seeded.others() == others,
            "files outside of `.mind/` have changed"
        );
        check_state(&seeded, &written)?;
        let all: Vec<&Written> = written.iter().flatten().collect();
        check_entries(&seeded, &all, &before)?;
        let count = |kind| all.iter().filter(|it| it.kind == kind).count();
        Ok(WritersReport {
            processes: self.processes,
            writes: self.writes,
            decisions: count(Kind::Decide),
            tasks: count(Kind::TaskAdd),
            sessions: count(Kind::Log),
            states: count(Kind::Set),
            locked: locked.into_inner(),
            seconds,
        })
    }

    /// The writes of one place, one process after another.
    fn place(
        &self,
        process: usize,
        seeded: &Seeded,
        now: Timestamp,
        locked: &AtomicUsize,
    ) -> Result<Vec<Written>> {
        let mut done = Vec::new();
        for write in 0..self.writes {
            let kind = KINDS[(process + write) % KINDS.len()];
            let title = format!("word-{process:04}-{write:05} was here");
            let arguments: Vec<&str> = match kind {
                Kind::Decide => vec!["mind", "decide", &title, "--decision", "Do it"],
                Kind::TaskAdd => vec!["mind", "task", "add", &title],
                Kind::Log => vec!["mind", "log", &title],
                Kind::Set => vec!["mind", "set", "--next", &title],
            };
            let said = loop {
                let output = seeded
                    .ws
                    .command()
                    .args(&arguments)
                    .env("MEMORY_FORGE_NOW", now.to_string())
                    .output()
                    .context("the program cannot be started")?;
                if output.status.success() {
                    break String::from_utf8(output.stdout)?;
                }
                let told = String::from_utf8_lossy(&output.stderr);
                ensure!(
                    told.contains(LOCKED),
                    "`{}` ended with {}: {told}",
                    arguments.join(" "),
                    output.status
                );
                locked.fetch_add(1, Ordering::Relaxed);
            };
            done.push(Written { kind, title, said });
        }
        Ok(done)
    }
}

/// How many entries there are, and their numbers.
struct Counts {
    decisions: Vec<u64>,
    sessions: Vec<u64>,
    tasks: usize,
}

impl Counts {
    fn read(seeded: &Seeded) -> Result<Counts> {
        let workspace = Workspace::open(seeded.ws.root())?;
        let progress = MindStore::open(&workspace).read_progress()?;
        Ok(Counts {
            decisions: inspect::numbers(&seeded.ws, DECISIONS, "DEC-")?,
            sessions: inspect::numbers(&seeded.ws, SESSIONS, "Session ")?,
            tasks: progress.context("the tasks are gone")?.tasks.len(),
        })
    }
}

/// Nobody's half of a state: the last word of the last writer, whoever it was.
fn check_state(seeded: &Seeded, written: &[Vec<Written>]) -> Result<()> {
    let workspace = Workspace::open(seeded.ws.root())?;
    let state = MindStore::open(&workspace)
        .read_state()?
        .context("the state is gone")?;
    let last_words: Vec<&str> = written
        .iter()
        .filter_map(|of| of.iter().rfind(|it| it.kind == Kind::Set))
        .map(|it| it.title.as_str())
        .collect();
    let next = state.next.unwrap_or_default();
    ensure!(
        last_words.is_empty() || last_words.contains(&next.as_str()),
        "the next action is `{next}`, which nobody said last"
    );
    Ok(())
}

fn check_entries(seeded: &Seeded, written: &[&Written], before: &Counts) -> Result<()> {
    let after = Counts::read(seeded)?;
    let workspace = Workspace::open(seeded.ws.root())?;
    let mind = MindStore::open(&workspace);
    let decisions = mind.read_decisions()?;
    let sessions = mind.read_sessions()?;
    let progress = mind.read_progress()?.context("the tasks are gone")?;
    let titles = |kind| -> HashMap<String, usize> {
        let texts: Vec<String> = match kind {
            Kind::Decide => decisions.iter().map(|it| it.title.clone()).collect(),
            Kind::TaskAdd => progress.tasks.iter().map(|it| it.text.clone()).collect(),
            Kind::Log => sessions
                .iter()
                .filter_map(|it| it.one_line_summary())
                .collect(),
            Kind::Set => Vec::new(),
        };
        let mut counts = HashMap::new();
        for text in texts {
            *counts.entry(text).or_default() += 1;
        }
        counts
    };
    for (kind, now, earlier) in [
        (Kind::Decide, after.decisions.len(), before.decisions.len()),
        (Kind::Log, after.sessions.len(), before.sessions.len()),
        (Kind::TaskAdd, after.tasks, before.tasks),
    ] {
        let titles = titles(kind);
        let ours: Vec<_> = written.iter().filter(|it| it.kind == kind).collect();
        for it in &ours {
            let count = titles.get(&it.title).copied().unwrap_or(0);
            ensure!(count == 1, "`{}` is there {count} times", it.title);
        }
        ensure!(
            now == earlier + ours.len(),
            "there were {earlier} entries, {} were written, and there are {now}",
            ours.len()
        );
    }
    check_numbers(written, Kind::Decide, "Decision DEC-", &before.decisions)?;
    check_numbers(written, Kind::Log, "Session ", &before.sessions)
}

/// The numbers that the program told its callers are new and distinct.
fn check_numbers(written: &[&Written], kind: Kind, says: &str, old: &[u64]) -> Result<()> {
    let mut seen: HashSet<u64> = old.iter().copied().collect();
    for it in written.iter().filter(|it| it.kind == kind) {
        let rest = it.said.strip_prefix(says).unwrap_or_default();
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        let number = digits.parse().with_context(|| it.said.clone())?;
        ensure!(seen.insert(number), "`{says}{number}` was told twice");
    }
    Ok(())
}

impl fmt::Display for WritersReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let together = self.decisions + self.tasks + self.sessions + self.states;
        writeln!(
            f,
            "{} processes at once, {} writes each",
            self.processes, self.writes
        )?;
        for (what, count) in [
            ("decisions", self.decisions),
            ("tasks", self.tasks),
            ("sessions", self.sessions),
            ("states", self.states),
        ] {
            writeln!(f, "{what:12} {count:>8}")?;
        }
        writeln!(f, "{:12} {together:>8}", "together")?;
        writeln!(
            f,
            "{} waited 5 s for the lock, said so, and were tried again",
            self.locked
        )?;
        write!(
            f,
            "{together} entries, 0 lost, 0 doubled, ids distinct, all files parse, {:.1} seconds, {:.0} writes a second",
            self.seconds,
            together as f64 / self.seconds
        )
    }
}
