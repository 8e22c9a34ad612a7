//! `bench replay`: what `replay` finds in real coding sessions, beside needs
//! that a person labelled in them. The sessions are public data that is not
//! part of this repository; where it is absent, that is printed and nothing is
//! measured. Rules are fitted on the first half of the sessions alone.

mod exported;
mod labels;
mod negatives;

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use flate2::read::GzDecoder;
use serde_json::Value;

use super::speed::process::wait;
use exported::{ExportedSession, SessionRoots, read_session, write_transcript};
use labels::LabelledEvents;

/// The arguments of the benchmark.
struct ReplayBench {
    part: String,
    binary: PathBuf,
    /// Labels of a second reader.
    second: Option<PathBuf>,
    /// How often the sessions are repeated, for times.
    repeat: usize,
    json: Option<PathBuf>,
}

pub(crate) fn run(rest: &[&str]) -> Result<()> {
    let mut part = "first".to_owned();
    let (mut binary, mut second, mut json, mut repeat) = (None, None, None, 0);
    let mut only_negatives = false;
    let mut words = rest.iter();
    while let Some(&word) = words.next() {
        let mut value = || {
            let value = words
                .next()
                .with_context(|| format!("`{word}` needs a value"));
            value.map(|it| (*it).to_owned())
        };
        match word {
            "--part" => part = value()?,
            "--binary" => binary = Some(PathBuf::from(value()?)),
            "--second" => second = Some(PathBuf::from(value()?)),
            "--json" => json = Some(PathBuf::from(value()?)),
            "--repeat" => repeat = value()?.parse().context("`--repeat` takes a number")?,
            "--negatives" => only_negatives = true,
            _ => bail!(
                "usage: bench replay [--part first|second|all] [--negatives] [--repeat N] [--second FILE] [--json FILE] [--binary FILE]"
            ),
        }
    }
    let binary = match binary {
        Some(path) => fs::canonicalize(&path).with_context(|| path.display().to_string())?,
        None => crate::build_release(None)?.canonicalize()?,
    };
    let bench = ReplayBench {
        part,
        binary,
        second,
        repeat,
        json,
    };
    let sessions = read_dev_sessions()?;
    if only_negatives {
        return negatives::run(&bench.binary, &sessions);
    }
    if sessions.is_empty() {
        return Ok(());
    }
    if bench.repeat > 0 {
        return bench.time_repeated(&sessions);
    }
    bench.measure(&sessions)?;
    bench.measure_other_projects()
}

/// Reads the sessions of one project; none where the data is absent.
fn read_dev_sessions() -> Result<Vec<ExportedSession>> {
    let files = read_archive("specstory-dev.tar.gz", ".md")?;
    let sessions: Vec<ExportedSession> = files
        .iter()
        .filter_map(|(name, bytes)| {
            let name = name.rsplit('/').next()?;
            read_session(name, &String::from_utf8_lossy(bytes))
        })
        .collect();
    Ok(sessions)
}

/// Reads the files of an archive of the data with this ending, by name.
fn read_archive(archive: &str, ending: &str) -> Result<Vec<(String, Vec<u8>)>> {
    let path = super::data_folder().map(|it| it.join(archive));
    let Some(path) = path.filter(|it| it.is_file()) else {
        println!("skipped: no {archive} in MEMORY_FORGE_BENCH_DATA");
        return Ok(Vec::new());
    };
    let file = fs::File::open(&path).with_context(|| path.display().to_string())?;
    let mut files = Vec::new();
    for entry in tar::Archive::new(GzDecoder::new(file)).entries()? {
        let mut entry = entry?;
        let name = entry.path()?.display().to_string();
        if name.ends_with(ending) {
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes)?;
            files.push((name, bytes));
        }
    }
    files.sort();
    Ok(files)
}

impl ReplayBench {
    /// Replays the sessions and compares them with the labels.
    fn measure(&self, sessions: &[ExportedSession]) -> Result<()> {
        let roots = SessionRoots::find(sessions);
        let folder = tempfile::tempdir()?;
        let mut events = LabelledEvents::default();
        for session in sessions {
            let written = write_transcript(session, &roots.of_session(session), "", 0);
            let name = session.name.replace(".md", ".jsonl");
            fs::write(folder.path().join(&name), &written.text)?;
            events.lines.insert(name, written.events);
        }
        events.order = label_order(sessions);
        println!("{} files, part {}", sessions.len(), self.part);
        self.print_report(folder.path())?;
        let report = self.replay(folder.path(), &self.part)?;
        if let Some(path) = &self.json {
            fs::write(path, serde_json::to_string_pretty(&report)? + "\n")?;
        }
        let Some(needs) = labels::read_needs()? else {
            return Ok(());
        };
        events.compare(&report, &needs);
        if let Some(path) = &self.second {
            labels::compare_readers(&needs, path)?;
        }
        Ok(())
    }

    /// Replays transcripts of other projects, each a project of its own.
    fn measure_other_projects(&self) -> Result<()> {
        let (mut sessions, mut moments, mut pushes) = (0, 0, 0);
        for (name, bytes) in read_archive("transcripts.tar.gz", ".jsonl")? {
            let folder = tempfile::tempdir()?;
            fs::write(folder.path().join("session.jsonl"), bytes)?;
            let report = self.replay(folder.path(), "all")?;
            let number = |field: &str| report[field].as_u64().unwrap_or_default();
            sessions += number("sessions");
            moments += number("moments");
            let brought = report["total"]["pushes"].as_u64().unwrap_or_default();
            if brought > 0 {
                println!("{brought} pushes in {name}");
            }
            pushes += brought;
        }
        println!("\nOther projects: {sessions} sessions, {moments} moments, {pushes} pushes");
        Ok(())
    }

    /// Measures the time of many sessions: the same ones with new ids, each
    /// time later.
    fn time_repeated(&self, sessions: &[ExportedSession]) -> Result<()> {
        const DAYS_APART: i64 = 300;
        let roots = SessionRoots::find(sessions);
        let folder = tempfile::tempdir()?;
        let mut bytes = 0;
        for round in 0..self.repeat {
            for session in sessions {
                let days = DAYS_APART * i64::try_from(round)?;
                let written = write_transcript(
                    session,
                    &roots.of_session(session),
                    &format!("-{round}"),
                    days,
                );
                bytes += written.text.len();
                let name = format!("{round}-{}l", session.name.replace(".md", ".json"));
                fs::write(folder.path().join(name), written.text)?;
            }
        }
        let mut command = self.command(folder.path(), "all");
        let out = folder.path().join("out");
        command.arg("--json").stdout(fs::File::create(&out)?);
        let (sample, code) = wait(command)?;
        if code != Some(0) {
            bail!("`memory-forge replay` failed");
        }
        let report: Value = serde_json::from_slice(&fs::read(&out)?)?;
        println!(
            "{} sessions, {} moments, {:.1} MB: {:.1} s, {:.1} s of CPU, {} MB of memory",
            report["sessions"],
            report["moments"],
            bytes as f64 / 1e6,
            sample.wall.as_secs_f64(),
            sample.cpu.as_secs_f64(),
            sample.max_rss >> 20
        );
        Ok(())
    }

    fn command(&self, folder: &Path, part: &str) -> Command {
        let mut command = Command::new(&self.binary);
        command
            .args(["replay", "--part", part])
            .arg(folder)
            .current_dir(folder)
            .env_clear()
            .env("HOME", folder)
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .stdin(Stdio::null());
        command
    }

    /// Prints what a person sees.
    fn print_report(&self, folder: &Path) -> Result<()> {
        let output = self.command(folder, &self.part).arg("--verbose").output()?;
        print!("{}", String::from_utf8_lossy(&output.stdout));
        print!("{}", String::from_utf8_lossy(&output.stderr));
        Ok(())
    }

    fn replay(&self, folder: &Path, part: &str) -> Result<Value> {
        let output = self.command(folder, part).arg("--json").output()?;
        if !output.status.success() {
            bail!(
                "`memory-forge replay` failed: {}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }
}

/// Returns the ids of the sessions in the order that the labels count: by the
/// time in the name of the largest copy.
fn label_order(sessions: &[ExportedSession]) -> Vec<String> {
    let mut largest: Vec<&ExportedSession> = Vec::new();
    for session in sessions {
        match largest.iter_mut().find(|it| it.id == session.id) {
            Some(other) if other.bytes < session.bytes => *other = session,
            Some(_) => {}
            None => largest.push(session),
        }
    }
    largest.sort_by_key(|it| it.name.get(..20).map(str::to_owned));
    largest.into_iter().map(|it| it.id.clone()).collect()
}
