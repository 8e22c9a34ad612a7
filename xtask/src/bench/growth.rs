//! `bench growth`: how the CPU time and the peak memory of every command grow
//! with their input. Each runs over each pattern at n, 2n, 4n and 8n bytes; the
//! slope of the logarithms is the exponent, and one above the limit fails.

mod commands;
mod files;
mod patterns;
mod structures;
mod workspace;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use commands::Measured;
use patterns::{Layout, Pattern};
use workspace::Workspace;

use super::speed::process::Sample;

/// Work that is proportional to its input has 1; the rest is noise.
const MAX_EXPONENT: f64 = 1.2;

/// The sizes, as multiples of the smallest.
const SIZES: [usize; 4] = [1, 2, 4, 8];

/// What the largest input must cost beyond an empty workspace, before its
/// growth counts: less is mostly the start of a process.
const CPU_FLOOR: Duration = Duration::from_millis(120);
const MEMORY_FLOOR: u64 = 24 << 20;

/// CPU time below this is noise and counts as this much.
const CPU_NOISE: Duration = Duration::from_millis(4);
/// What half of the largest input must hold beyond an empty workspace: less is
/// hidden by what the program holds at another moment.
const MEMORY_VISIBLE: u64 = 4 << 20;
const MEMORY_NOISE: u64 = 1 << 20;

/// An exponent above the limit counts where the largest input costs this much;
/// below, it is measured again with larger inputs, up to so many bytes.
const CPU_CERTAIN: Duration = Duration::from_secs(1);
const MAX_BYTES: usize = 4_000_000;

/// A suspicious pair is measured so often; the least of each size counts.
const ATTEMPTS: usize = 3;

struct Options {
    only: Vec<String>,
    commands: Vec<String>,
    bytes: usize,
    drawn: usize,
    seed: u64,
    binary: Option<PathBuf>,
    /// Each pattern meets some of the commands, so that each command meets some
    /// of the patterns.
    cover: bool,
}

/// So many commands meet a pattern in a run that covers.
const COVER_SHARE: usize = 8;

pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    if let ["files", rest @ ..] = arguments {
        return files::run(rest);
    }
    let options = parse(arguments)?;
    let binary = match &options.binary {
        Some(binary) => binary
            .canonicalize()
            .with_context(|| format!("Cannot find {}", binary.display()))?,
        None => crate::build_release(None)?,
    };
    let bench = crate::target().join("bench/growth");
    std::fs::create_dir_all(&bench)?;
    let bench = bench.canonicalize()?;
    every_command_is_measured(&binary, &bench)?;
    let measured: Vec<Measured> = commands::all()
        .filter(|it| options.commands.is_empty() || matches(&options.commands, &it.name()))
        .collect();
    let chosen: Vec<Pattern> = patterns::all(options.seed, options.drawn)
        .into_iter()
        .filter(|it| options.only.is_empty() || matches(&options.only, &it.name))
        .collect();
    println!(
        "{} commands over {} patterns of {} to {} bytes, seed {}",
        measured.len(),
        chosen.len(),
        options.bytes / 8,
        options.bytes,
        options.seed
    );
    println!("{:56} CPU ms at n, 2n, 4n, 8n; exponent; MB; exponent", "");
    let arena = Bench {
        binary,
        bench,
        measured,
        covers: options.cover,
        empty: RefCell::default(),
    };
    let mut worst: BTreeMap<String, f64> = BTreeMap::new();
    let mut failures = Vec::new();
    let mut above = 0;
    let mut pairs = 0;
    for (at, pattern) in chosen.iter().enumerate() {
        let commands = arena.measured.len();
        let share = if options.cover {
            share(at, commands, chosen.len())
        } else {
            (0..commands).collect()
        };
        pairs += share.len();
        for row in arena.pattern(pattern, options.bytes, &share)? {
            above += 1;
            println!("{row}");
            let exponent = worst.entry(row.command.clone()).or_insert(0.0);
            *exponent = exponent.max(row.exponent());
            if row.fails() {
                failures.push(row);
            }
        }
    }
    println!(
        "\n{above} of {pairs} pairs cost enough to be judged; the largest exponent of each command:"
    );
    for (command, exponent) in worst {
        println!("  {exponent:5.2}  {command}");
    }
    if failures.is_empty() {
        println!("No exponent is above {MAX_EXPONENT}");
        return Ok(());
    }
    println!("\nAbove {MAX_EXPONENT}:");
    for row in &failures {
        println!("{row}");
    }
    bail!("{} pairs grow faster than their input", failures.len())
}

/// The commands that meet the pattern at this place, in their order: the next
/// ones in turn, so that all patterns together meet every command.
fn share(at: usize, commands: usize, patterns: usize) -> Vec<usize> {
    let size = COVER_SHARE.max(commands.div_ceil(patterns.max(1)));
    let size = size.min(commands);
    let mut share: Vec<usize> = (0..size).map(|it| (at * size + it) % commands).collect();
    share.sort_unstable();
    share
}

fn matches(words: &[String], name: &str) -> bool {
    words.iter().any(|word| name.contains(word.as_str()))
}

fn parse(arguments: &[&str]) -> Result<Options> {
    let mut options = Options {
        only: Vec::new(),
        commands: Vec::new(),
        bytes: 400_000,
        drawn: 40,
        seed: 1,
        binary: None,
        cover: false,
    };
    let mut rest = arguments.iter();
    while let Some(&flag) = rest.next() {
        if flag == "--cover" {
            options.cover = true;
            continue;
        }
        let value = rest
            .next()
            .copied()
            .with_context(|| format!("`{flag}` needs a value"))?;
        let number = || {
            value
                .parse::<usize>()
                .with_context(|| format!("`{flag}` takes a number"))
        };
        match flag {
            "--only" => options.only.push(value.to_owned()),
            "--command" => options.commands.push(value.to_owned()),
            "--bytes" => options.bytes = number()?.max(800),
            "--drawn" => options.drawn = number()?,
            "--seed" => options.seed = number()? as u64,
            "--binary" => options.binary = Some(value.into()),
            other => bail!("Unknown option `{other}`"),
        }
    }
    Ok(options)
}

/// A command that is not in the table would never be measured.
fn every_command_is_measured(binary: &std::path::Path, bench: &std::path::Path) -> Result<()> {
    let workspace = Workspace::empty(bench, Layout::Mind)?;
    let help = workspace.output(binary, &["help"])?;
    let mut missing = Vec::new();
    for line in help.lines() {
        // `  name  What it does`, below a heading for each group.
        let Some(rest) = line.strip_prefix("  ").filter(|it| !it.starts_with(' ')) else {
            continue;
        };
        let name = rest.split_whitespace().next().unwrap_or_default();
        let is_command = name.bytes().all(|b| b.is_ascii_lowercase()) && !name.is_empty();
        let known =
            commands::all().any(|it| it.command() == name) || commands::CONSTANT.contains(&name);
        if is_command && !known {
            missing.push(name.to_owned());
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    bail!("Not in the table of `bench growth`: {}", missing.join(", "))
}

struct Bench {
    binary: PathBuf,
    bench: PathBuf,
    measured: Vec<Measured>,
    /// Whether commands that nobody measures are passed over, also where they
    /// write; otherwise every pattern meets a workspace with a history.
    covers: bool,
    /// What every command costs in an empty workspace, by layout.
    empty: RefCell<Vec<(Layout, Vec<Sample>)>>,
}

/// One command over one pattern, with what the smallest to the largest input
/// cost beyond an empty workspace.
struct Row {
    command: String,
    pattern: String,
    cpu: Vec<Duration>,
    memory: Vec<u64>,
}

impl Row {
    fn cpu_exponent(&self) -> Option<f64> {
        let values = self.cpu.iter().map(Duration::as_secs_f64);
        (self.cpu.last()? >= &CPU_FLOOR)
            .then(|| slope(values.map(|it| it.max(CPU_NOISE.as_secs_f64()))))
    }

    /// By how the last two steps differ. A peak is the largest of several
    /// moments and no sum, so that small inputs do not show in it, and a slope
    /// through all sizes would be too steep.
    fn memory_exponent(&self) -> Option<f64> {
        let &[.., quarter, half, whole] = self.memory.as_slice() else {
            return None;
        };
        let step = |from: u64, to: u64| to.saturating_sub(from).max(MEMORY_NOISE) as f64;
        (whole >= MEMORY_FLOOR && half >= MEMORY_VISIBLE)
            .then(|| (step(half, whole) / step(quarter, half)).log2())
    }

    fn exponent(&self) -> f64 {
        let all = [self.cpu_exponent(), self.memory_exponent()];
        all.into_iter().flatten().fold(0.0, f64::max)
    }

    fn fails(&self) -> bool {
        self.exponent() > MAX_EXPONENT
    }

    /// Keeps the least of two measurements.
    fn least(&mut self, other: &Row) {
        for (mine, other) in self.cpu.iter_mut().zip(&other.cpu) {
            *mine = (*mine).min(*other);
        }
        for (mine, other) in self.memory.iter_mut().zip(&other.memory) {
            *mine = (*mine).min(*other);
        }
    }
}

impl std::fmt::Display for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = format!("{} · {}", self.command, self.pattern);
        write!(f, "{name:56}")?;
        for cpu in &self.cpu {
            write!(f, " {:6.0}", cpu.as_secs_f64() * 1000.0)?;
        }
        let exponent = |it: Option<f64>| it.map_or("   -".to_owned(), |it| format!("{it:4.2}"));
        write!(f, "  {} ", exponent(self.cpu_exponent()))?;
        for memory in &self.memory {
            write!(f, " {:5.1}", *memory as f64 / 1e6)?;
        }
        write!(f, "  {}", exponent(self.memory_exponent()))
    }
}

/// The slope of a straight line through the logarithms, by least squares.
fn slope(values: impl Iterator<Item = f64>) -> f64 {
    let points: Vec<(f64, f64)> = SIZES
        .iter()
        .zip(values)
        .map(|(size, value)| ((*size as f64).ln(), value.ln()))
        .collect();
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|it| it.0), mean(|it| it.1));
    let rise: f64 = points.iter().map(|it| (it.0 - x) * (it.1 - y)).sum();
    let run: f64 = points.iter().map(|it| (it.0 - x).powi(2)).sum();
    rise / run
}

impl Bench {
    /// The commands that the pattern's largest size makes work, measured at
    /// every size.
    fn pattern(&self, pattern: &Pattern, bytes: usize, share: &[usize]) -> Result<Vec<Row>> {
        let empty = self.empty(pattern)?;
        let largest = self.pass(pattern, bytes, Some(share))?;
        let beyond = |at: usize, sample: &Sample| {
            (
                sample.cpu.saturating_sub(empty[at].cpu),
                sample.max_rss.saturating_sub(empty[at].max_rss),
            )
        };
        let costly = |at: &usize| {
            let (cpu, memory) = beyond(*at, &largest[*at]);
            cpu >= CPU_FLOOR || memory >= MEMORY_FLOOR
        };
        let costly: Vec<usize> = share.iter().copied().filter(costly).collect();
        if costly.is_empty() {
            return Ok(Vec::new());
        }
        let mut rows = self.rows(pattern, bytes, &costly, Some(&largest), &beyond)?;
        for _ in 1..ATTEMPTS {
            let suspects = (0..rows.len()).filter(|at| rows[*at].fails());
            let suspects: Vec<usize> = suspects.collect();
            if suspects.is_empty() {
                break;
            }
            let again: Vec<usize> = suspects.iter().map(|at| costly[*at]).collect();
            let again = self.rows(pattern, bytes, &again, None, &beyond)?;
            for (at, again) in suspects.iter().zip(&again) {
                rows[*at].least(again);
            }
        }
        self.confirm(pattern, bytes, &costly, &mut rows, &beyond)?;
        Ok(rows)
    }

    /// Measures what still looks steep with larger inputs, where noise and work
    /// that begins at some size do not show: what grows faster than its input
    /// does so there as well.
    fn confirm(
        &self,
        pattern: &Pattern,
        bytes: usize,
        costly: &[usize],
        rows: &mut [Row],
        beyond: &dyn Fn(usize, &Sample) -> (Duration, u64),
    ) -> Result<()> {
        let mut bytes = bytes;
        loop {
            let is_small = |row: &Row| row.cpu.last().is_some_and(|it| *it < CPU_CERTAIN);
            let suspects = (0..rows.len()).filter(|at| rows[*at].fails() && is_small(&rows[*at]));
            let suspects: Vec<usize> = suspects.collect();
            if suspects.is_empty() || bytes >= MAX_BYTES {
                return Ok(());
            }
            bytes *= 4;
            let again: Vec<usize> = suspects.iter().map(|at| costly[*at]).collect();
            let again = self.rows(pattern, bytes, &again, None, beyond)?;
            for (at, again) in suspects.into_iter().zip(again) {
                rows[at] = again;
            }
        }
    }

    fn rows(
        &self,
        pattern: &Pattern,
        bytes: usize,
        costly: &[usize],
        largest: Option<&[Sample]>,
        beyond: &dyn Fn(usize, &Sample) -> (Duration, u64),
    ) -> Result<Vec<Row>> {
        let mut passes = Vec::new();
        for size in SIZES {
            passes.push(match largest {
                Some(largest) if size == SIZES[SIZES.len() - 1] => largest.to_vec(),
                _ => self.pass(pattern, bytes * size / SIZES[SIZES.len() - 1], Some(costly))?,
            });
        }
        let row = |at: &usize| {
            let values = passes.iter().map(|pass| beyond(*at, &pass[*at]));
            let (cpu, memory) = values.unzip();
            Row {
                command: self.measured[*at].name(),
                pattern: pattern.name.clone(),
                cpu,
                memory,
            }
        };
        Ok(costly.iter().map(row).collect())
    }

    /// What every command costs in an empty workspace of the pattern's layout,
    /// the least of several passes.
    fn empty(&self, pattern: &Pattern) -> Result<Vec<Sample>> {
        let known = self.empty.borrow();
        if let Some((_, samples)) = known.iter().find(|it| it.0 == pattern.layout) {
            return Ok(samples.clone());
        }
        drop(known);
        let mut least = self.pass(pattern, 0, None)?;
        for _ in 1..ATTEMPTS {
            for (least, again) in least.iter_mut().zip(self.pass(pattern, 0, None)?) {
                least.cpu = least.cpu.min(again.cpu);
                least.max_rss = least.max_rss.min(again.max_rss);
            }
        }
        let new = (pattern.layout, least.clone());
        self.empty.borrow_mut().push(new);
        Ok(least)
    }

    /// The wanted commands once, in a new workspace with so many bytes of the
    /// pattern, and those that change what the wanted ones find there.
    fn pass(
        &self,
        pattern: &Pattern,
        bytes: usize,
        wanted: Option<&[usize]>,
    ) -> Result<Vec<Sample>> {
        let workspace = Workspace::filled(&self.bench, pattern, bytes)?;
        let mut samples = Vec::with_capacity(self.measured.len());
        let lines: Vec<&str> = match wanted {
            Some(wanted) => wanted.iter().map(|at| self.measured[*at].line).collect(),
            None => Vec::new(),
        };
        let changes_others = |measured: &Measured| {
            if self.covers {
                commands::is_needed(measured.line, &lines)
            } else {
                !measured.only_reads()
            }
        };
        for (at, measured) in self.measured.iter().enumerate() {
            let is_wanted = wanted.is_none_or(|wanted| wanted.contains(&at));
            if !is_wanted && !changes_others(measured) {
                samples.push(Sample {
                    wall: Duration::ZERO,
                    cpu: Duration::ZERO,
                    max_rss: 0,
                });
                continue;
            }
            let (sample, code) = workspace.measure(&self.binary, measured)?;
            // With 2 a command line was not understood: nothing was measured.
            if code == Some(2) && bytes == 0 && !measured.line.contains("{text}") {
                let said = workspace.last_error();
                bail!("`{}` is not a command line: {said}", measured.name());
            }
            samples.push(sample);
        }
        Ok(samples)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_a_covering_run_meet_every_command() {
        for (commands, patterns) in [(90, 200), (90, 12), (90, 1), (7, 300), (1, 1)] {
            let all = (0..patterns).flat_map(|at| share(at, commands, patterns));
            let all: std::collections::BTreeSet<usize> = all.collect();
            assert_eq!(all.len(), commands, "{commands} over {patterns}");
        }
    }

    #[test]
    fn the_slope_is_the_exponent() {
        for exponent in [0.0, 1.0, 1.5, 2.0] {
            let values = SIZES.iter().map(|size| 3.0 * (*size as f64).powf(exponent));
            assert!((slope(values) - exponent).abs() < 1e-9);
        }
    }

    #[test]
    fn memory_that_another_moment_hides_is_not_mistaken_for_a_square() {
        let row = |memory: [u64; 4]| Row {
            command: String::new(),
            pattern: String::new(),
            cpu: vec![Duration::ZERO; 4],
            memory: memory.map(|it| it << 20).to_vec(),
        };
        // 4.5 MB for each unit, of which 9 are hidden.
        let line = row([0, 0, 9, 27]).memory_exponent();
        assert!(line.is_some_and(|it| it < 1.1), "{line:?}");
        let square = row([1, 3, 13, 51]).memory_exponent();
        assert!(square.is_some_and(|it| it > 1.8), "{square:?}");
        assert_eq!(row([0, 0, 1, 30]).memory_exponent(), None);
    }

    #[test]
    fn patterns_have_their_size_and_are_the_same_in_every_run() {
        let all = patterns::all(7, 30);
        let again = patterns::all(7, 30);
        for (pattern, again) in all.iter().zip(&again) {
            assert_eq!(pattern.name, again.name);
            let text = pattern.text(8000);
            assert_eq!(text, again.text(8000), "{}", pattern.name);
            let other = pattern.text(16_000);
            let ratio = other.len() as f64 / text.len() as f64;
            assert!(
                (1.2..3.0).contains(&ratio),
                "{} grows by {ratio}",
                pattern.name
            );
        }
    }
}
