//! Figures and how they are shown: a table of ratios with their targets, and
//! below it each contestant's own times. It measures nothing.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};

use super::process::Sample;

/// A program with arguments and what was measured of it.
pub(crate) struct Contestant {
    pub(crate) name: String,
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
    /// A file is edited before each of its runs; the edit is not measured.
    pub(crate) edits: bool,
    pub(crate) repeat: usize,
    samples: Vec<Sample>,
    failure: Option<String>,
}

impl Contestant {
    pub(crate) fn new(name: &str, program: &Path, arguments: &[&str]) -> Contestant {
        Contestant {
            name: name.to_owned(),
            program: program.to_owned(),
            arguments: arguments.iter().map(ToString::to_string).collect(),
            edits: false,
            repeat: 1,
            samples: Vec::new(),
            failure: None,
        }
    }

    /// A contestant that fails once is out: its times would mean nothing.
    pub(crate) fn record(&mut self, taken: Result<Sample>) {
        match taken {
            Ok(sample) => self.samples.push(sample),
            Err(error) => self.failure = Some(format!("{error:#}")),
        }
    }

    pub(crate) fn samples(&self) -> &[Sample] {
        if self.failure.is_some() {
            &[]
        } else {
            &self.samples
        }
    }

    fn wall(&self) -> Option<Spread> {
        Spread::of(self.samples().iter().map(|sample| sample.wall))
    }

    fn cpu(&self) -> Option<Spread> {
        Spread::of(self.samples().iter().map(|sample| sample.cpu))
    }

    fn max_rss(&self) -> Option<u64> {
        self.samples().iter().map(|sample| sample.max_rss).max()
    }
}

/// Median, best and nearly worst of several runs.
#[derive(Clone, Copy)]
struct Spread {
    median: Duration,
    min: Duration,
    p95: Duration,
}

impl Spread {
    fn of(times: impl Iterator<Item = Duration>) -> Option<Spread> {
        let mut times: Vec<Duration> = times.collect();
        times.sort_unstable();
        let last = times.len().checked_sub(1)?;
        let middle = (times[last / 2] + times[times.len() / 2]) / 2;
        // The nearest rank: the smallest time that 95 of 100 do not exceed.
        let rank = (times.len() * 95).div_ceil(100) - 1;
        Some(Spread {
            median: middle,
            min: times[0],
            p95: times[rank],
        })
    }
}

#[derive(Clone, Copy)]
pub(crate) enum Target {
    AtLeast(f64),
    AtMost(f64),
    Below(f64),
}

impl Target {
    fn met(self, value: f64) -> bool {
        match self {
            Target::AtLeast(limit) => value >= limit,
            Target::AtMost(limit) => value <= limit,
            Target::Below(limit) => value < limit,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::AtLeast(limit) => write!(f, ">= {limit}"),
            Target::AtMost(limit) => write!(f, "<= {limit}"),
            Target::Below(limit) => write!(f, "< {limit}"),
        }
    }
}

/// One measure with its target. `value` is what the target is about.
pub(crate) struct Row {
    measure: String,
    ours: String,
    peer: String,
    value: Result<f64, String>,
    /// The same of the fastest runs, which a busy machine disturbs least.
    best: Option<f64>,
    target: Target,
}

impl Row {
    pub(crate) fn ratio(measure: &str, ours: &Contestant, peer: &Contestant, at_most: f64) -> Row {
        let times = outcome(ours).and_then(|mine| Ok((mine, outcome(peer)?)));
        let value = times.map(|(mine, theirs)| mine.as_secs_f64() / theirs.as_secs_f64());
        let shown =
            |contestant: &Contestant| contestant.wall().map_or("-".to_owned(), |w| ms(w.median));
        Row {
            measure: measure.to_owned(),
            ours: shown(ours),
            peer: shown(peer),
            value,
            best: ours
                .wall()
                .zip(peer.wall())
                .map(|(mine, theirs)| mine.min.as_secs_f64() / theirs.min.as_secs_f64()),
            target: Target::AtMost(at_most),
        }
    }

    pub(crate) fn versus(
        measure: &str,
        ours: &Contestant,
        peer: Option<&Contestant>,
        at_most: f64,
    ) -> Row {
        match peer {
            Some(peer) => Row::ratio(measure, ours, peer, at_most),
            None => Row {
                measure: measure.to_owned(),
                ours: ours.wall().map_or("-".to_owned(), |wall| ms(wall.median)),
                peer: "absent".to_owned(),
                value: Err("skipped: no peer".to_owned()),
                best: None,
                target: Target::AtMost(at_most),
            },
        }
    }

    /// Megabytes for each minute of CPU time, which is what one core does.
    pub(crate) fn rate(measure: &str, ours: &Contestant, megabytes: f64, target: Target) -> Row {
        let value = outcome(ours)
            .and_then(|_| ours.cpu().ok_or_else(|| "not measured".to_owned()))
            .map(|cpu| megabytes / (cpu.median.as_secs_f64() / 60.0));
        let ours = ours
            .cpu()
            .map_or("-".to_owned(), |cpu| format!("{} CPU", ms(cpu.median)));
        Row {
            measure: measure.to_owned(),
            ours,
            peer: "-".to_owned(),
            value,
            best: None,
            target,
        }
    }

    pub(crate) fn size(measure: &str, bytes: Option<u64>, target: Target) -> Row {
        let value = bytes
            .map(|bytes| bytes as f64 / 1e6)
            .ok_or_else(|| "not measured".to_owned());
        let ours = bytes.map_or("-".to_owned(), |bytes| {
            format!("{:.1} MB", bytes as f64 / 1e6)
        });
        Row {
            measure: measure.to_owned(),
            ours,
            peer: "-".to_owned(),
            value,
            best: None,
            target,
        }
    }

    fn verdict(&self) -> String {
        match &self.value {
            Ok(value) if self.target.met(*value) => "ok".to_owned(),
            Ok(_) => "miss".to_owned(),
            Err(why) => why.clone(),
        }
    }
}

/// A contestant's median, or why there is none.
fn outcome(contestant: &Contestant) -> Result<Duration, String> {
    match (&contestant.failure, contestant.wall()) {
        (Some(failure), _) => Err(format!("failed: {failure}")),
        (None, Some(wall)) => Ok(wall.median),
        (None, None) => Err("not measured".to_owned()),
    }
}

pub(crate) struct Report {
    pub(crate) runs: usize,
    pub(crate) inputs: Vec<(&'static str, String)>,
    pub(crate) rows: Vec<Row>,
    pub(crate) contestants: Vec<Contestant>,
}

impl Report {
    pub(crate) fn json(&self) -> String {
        let inputs: serde_json::Map<String, Value> = self
            .inputs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), json!(value)))
            .collect();
        let rows: Vec<Value> = self.rows.iter().map(row_json).collect();
        let contestants: Vec<Value> = self.contestants.iter().map(contestant_json).collect();
        let value = json!({
            "version": 1, "runs": self.runs, "inputs": inputs, "measures": rows, "contestants": contestants,
        });
        format!("{value:#}\n")
    }
}

fn row_json(row: &Row) -> Value {
    json!({
        "measure": row.measure,
        "value": row.value.as_ref().ok(),
        "value_of_fastest": row.best,
        "target": row.target.to_string(),
        "verdict": row.verdict(),
    })
}

fn contestant_json(contestant: &Contestant) -> Value {
    let spread = |spread: Option<Spread>| {
        spread.map(|s| {
            json!({
                "median": s.median.as_secs_f64(), "min": s.min.as_secs_f64(), "p95": s.p95.as_secs_f64(),
            })
        })
    };
    json!({
        "name": contestant.name,
        "arguments": contestant.arguments,
        "runs": contestant.samples().len(),
        "wall_seconds": spread(contestant.wall()),
        "cpu_seconds": spread(contestant.cpu()),
        "max_rss_bytes": contestant.max_rss(),
        "failure": contestant.failure,
    })
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.inputs {
            writeln!(f, "{name:<14} {value}")?;
        }
        writeln!(
            f,
            "{:<14} {} interleaved, medians of wall time unless said otherwise\n",
            "rounds", self.runs
        )?;
        let head = [
            "measure", "ours", "peer", "value", "fastest", "target", "verdict",
        ];
        let mut table = vec![head.map(str::to_owned).to_vec()];
        for row in &self.rows {
            let number = |value: Option<f64>| value.map_or("-".to_owned(), |v| format!("{v:.2}"));
            table.push(vec![
                row.measure.clone(),
                row.ours.clone(),
                row.peer.clone(),
                number(row.value.as_ref().ok().copied()),
                number(row.best),
                row.target.to_string(),
                row.verdict(),
            ]);
        }
        write_table(f, &table)?;
        writeln!(f)?;
        let mut table = vec![
            [
                "contestant",
                "runs",
                "median",
                "min",
                "p95",
                "cpu",
                "max rss",
            ]
            .map(str::to_owned)
            .to_vec(),
        ];
        for contestant in &self.contestants {
            let mut cells = vec![
                contestant.name.clone(),
                contestant.samples().len().to_string(),
            ];
            match (contestant.wall(), contestant.cpu()) {
                (Some(wall), Some(cpu)) => {
                    cells.extend([ms(wall.median), ms(wall.min), ms(wall.p95), ms(cpu.median)]);
                    cells.push(format!(
                        "{:.1} MB",
                        contestant.max_rss().unwrap_or(0) as f64 / 1e6
                    ));
                }
                _ => cells.push(contestant.failure.clone().unwrap_or_default()),
            }
            table.push(cells);
        }
        write_table(f, &table)
    }
}

/// Columns as wide as their widest cell. The last cell of a row that ends
/// early is a message and widens nothing.
fn write_table(f: &mut fmt::Formatter<'_>, table: &[Vec<String>]) -> fmt::Result {
    let columns = table[0].len();
    let width = |column: usize| {
        let counts = |row: &&Vec<String>| row.len() == columns || column + 1 < row.len();
        table
            .iter()
            .filter(counts)
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for row in table {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(&format!("{cell:<width$}  "));
        }
        writeln!(f, "{}", line.trim_end())?;
    }
    Ok(())
}

fn ms(time: Duration) -> String {
    let ms = time.as_secs_f64() * 1e3;
    match ms {
        ..10.0 => format!("{ms:.2} ms"),
        ..10_000.0 => format!("{ms:.0} ms"),
        _ => format!("{:.1} s", ms / 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads_are_medians_and_nearest_ranks() {
        let check = |times: &[u64], median, min, p95| {
            let spread =
                Spread::of(times.iter().map(|&t| Duration::from_millis(t))).expect("not empty");
            let got = [spread.median, spread.min, spread.p95].map(|t| t.as_millis());
            assert_eq!(got, [median, min, p95], "{times:?}");
        };
        check(&[5], 5, 5, 5);
        check(&[3, 1, 2], 2, 1, 3);
        check(&[4, 1, 2, 3, 10, 20], 3, 1, 20);
        check(&(1..=100).collect::<Vec<_>>(), 50, 1, 95);
        assert!(Spread::of(std::iter::empty()).is_none());
    }

    #[test]
    fn targets_are_strict_where_they_say_so() {
        assert!(Target::AtMost(3.0).met(3.0));
        assert!(!Target::Below(150.0).met(150.0));
        assert!(Target::AtLeast(200.0).met(200.0));
    }

    #[test]
    fn a_contestant_that_failed_once_has_no_times() {
        let mut contestant = Contestant::new("x", Path::new("x"), &[]);
        let second = Duration::from_secs(1);
        contestant.record(Ok(Sample {
            wall: second,
            cpu: second,
            max_rss: 1,
        }));
        contestant.record(Err(anyhow::anyhow!("broke")));
        let row = Row::ratio("x / y", &contestant, &contestant, 1.0);
        assert_eq!(row.verdict(), "failed: broke");
    }
}
