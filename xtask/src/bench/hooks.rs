//! `bench hooks`: what a hook costs at every prompt, and a search in which
//! nothing has changed, as ratios to starting `true` and `node -e 0`, in one
//! interleaved run over a megabyte of state. With `--against`, another build of
//! the program takes part, in a workspace of its own.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::speed::process::{Arena, Sample, wait};

struct Contestant {
    name: String,
    program: PathBuf,
    arguments: Vec<String>,
    input: Option<&'static str>,
    /// Which workspace it runs in: each build has its own index.
    folder: PathBuf,
    samples: Vec<Sample>,
}

const PROMPT: &str = r#"{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt":"go on"}"#;
const TOOL: &str = r#"{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Bash","tool_use_id":"c","tool_input":{"command":"go test ./... | head -40"}}"#;
const MISSING: &str = r#"{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Read","tool_use_id":"c","tool_input":{"file_path":"src/nowhere.rs"}}"#;
const STOP: &str = r#"{"hook_event_name":"Stop","session_id":"s","stop_hook_active":false}"#;
const START: &str = r#"{"hook_event_name":"SessionStart","session_id":"s","source":"startup"}"#;
const COMPACT: &str = r#"{"hook_event_name":"SessionStart","session_id":"s","source":"compact"}"#;

const CLAUDE: &[&str] = &["hook", "--client=claude"];

/// How many documents an unchanged search looks at.
const DOCUMENTS: usize = 500;

pub(crate) fn run(rest: &[&str]) -> Result<()> {
    let mut rounds = 200;
    let mut binary = None;
    let mut against = Vec::new();
    let mut rest = rest.iter();
    while let Some(&flag) = rest.next() {
        let value = *rest
            .next()
            .with_context(|| format!("`{flag}` needs a value"))?;
        match flag {
            "--runs" => rounds = value.parse().context("`--runs` takes a number")?,
            "--binary" => binary = Some(found(value)?),
            "--against" => against.push(found(value)?),
            _ => bail!("usage: bench hooks [--runs N] [--binary FILE] [--against FILE]..."),
        }
    }
    let bench = tempfile::tempdir()?;
    let arena = Arena::new(bench.path())?;
    let binary = match binary {
        Some(binary) => binary,
        None => crate::build_release(None)?.canonicalize()?,
    };
    let mut programs = vec![binary];
    programs.append(&mut against);

    let mut all = Vec::new();
    let folder = bench.path().to_owned();
    let mut other = |name: &str, program: &str, arguments: &[&str]| {
        let Some(program) = arena.find(program) else {
            println!("skipped: no `{program}` here to compare with");
            return;
        };
        all.push(Contestant {
            name: name.to_owned(),
            program,
            arguments: arguments.iter().map(|it| (*it).to_owned()).collect(),
            input: None,
            folder: folder.clone(),
            samples: Vec::new(),
        });
    };
    other("true", "true", &[]);
    other("node -e 0", "node", &["-e", "0"]);
    let mut bytes = 0;
    for (at, program) in programs.iter().enumerate() {
        let folder = bench.path().join(format!("workspace{at}"));
        bytes = fill(&folder)?;
        let build = match at {
            0 => String::new(),
            _ => format!(", build {at}"),
        };
        println!("{}{build}", program.display());
        remember(&arena, program, &folder)?;
        let mut ours = |name: &str, words: &[&str], input| {
            all.push(Contestant {
                name: format!("{name}{build}"),
                program: program.clone(),
                arguments: words.iter().map(|it| (*it).to_owned()).collect(),
                input,
                folder: folder.clone(),
                samples: Vec::new(),
            });
        };
        ours("UserPromptSubmit", &["hook"], Some(PROMPT));
        ours("PreToolUse, nothing to say", CLAUDE, Some(TOOL));
        ours("PreToolUse, a missing path", CLAUDE, Some(MISSING));
        ours("Stop", &["hook"], Some(STOP));
        ours("SessionStart", &["hook"], Some(START));
        ours("SessionStart after compaction", &["hook"], Some(COMPACT));
        ours("unchanged search", &["search", "measured way"], None);
    }
    for round in 0..rounds + WARM {
        let count = all.len();
        for step in 0..count {
            let contestant = &mut all[(round + step) % count];
            let sample = once(&arena, contestant, bench.path())?;
            if round >= WARM {
                contestant.samples.push(sample);
            }
        }
    }
    println!("{bytes} bytes of state, {DOCUMENTS} documents, {rounds} rounds");
    println!(
        "{:34} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "", "CPU ms", "/ true", "wall ms", "p95", "/ true"
    );
    let base = &all[0];
    for contestant in &all {
        let cpu = contestant.quantile(0.5, |it| it.cpu);
        let wall = contestant.quantile(0.5, |it| it.wall);
        println!(
            "{:34} {cpu:>8.2} {:>8.2} {wall:>8.2} {:>8.2} {:>8.2}",
            contestant.name,
            cpu / base.quantile(0.5, |it| it.cpu),
            contestant.quantile(0.95, |it| it.wall),
            wall / base.quantile(0.5, |it| it.wall),
        );
    }
    Ok(())
}

fn found(path: &str) -> Result<PathBuf> {
    Path::new(path)
        .canonicalize()
        .with_context(|| format!("Cannot find {path}"))
}

/// Rounds that fill caches, and let the stamps of the index grow older than the
/// moment of reading, are not counted.
const WARM: usize = 3;

impl Contestant {
    /// In milliseconds.
    fn quantile(&self, part: f64, of: fn(&Sample) -> Duration) -> f64 {
        let mut times: Vec<Duration> = self.samples.iter().map(of).collect();
        times.sort_unstable();
        let at = (times.len() as f64 * part) as usize;
        times
            .get(at.min(times.len().saturating_sub(1)))
            .map_or(0.0, |it| it.as_secs_f64() * 1000.0)
    }
}

fn once(arena: &Arena, contestant: &Contestant, inputs: &Path) -> Result<Sample> {
    let mut command = arena.command(
        &contestant.program,
        &contestant.arguments,
        &contestant.folder,
    );
    command.stdout(Stdio::null()).stderr(Stdio::null());
    if let Some(input) = contestant.input {
        let path = inputs.join(&contestant.name);
        if !path.exists() {
            std::fs::write(&path, input)?;
        }
        command.stdin(File::open(&path)?);
    }
    let (sample, code) = wait(command).context("cannot start a program")?;
    if code != Some(0) {
        bail!("`{}` failed", contestant.name);
    }
    Ok(sample)
}

/// Fills the table of keys to its limit, by the events that fill it in
/// sessions. It is read before every action.
fn remember(arena: &Arena, program: &Path, folder: &Path) -> Result<()> {
    const READ_FILES: usize = 400;
    let arguments: Vec<String> = CLAUDE.iter().map(|it| (*it).to_owned()).collect();
    let input = folder.with_extension("event");
    for i in 0..READ_FILES {
        let event = format!(
            r#"{{"hook_event_name":"PostToolUse","session_id":"r","tool_name":"Read","tool_use_id":"{i}","tool_input":{{"file_path":"src/some/folder/with/a/file{i}.rs"}},"tool_response":{{"content":"1 text"}}}}"#
        );
        std::fs::write(&input, event)?;
        let mut command = arena.command(program, &arguments, folder);
        command.stdin(File::open(&input)?);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        wait(command).context("cannot start a program")?;
    }
    Ok(())
}

/// A megabyte of state, as months of work leave it, and some knowledge. Returns
/// how many bytes the state has.
fn fill(folder: &Path) -> Result<u64> {
    let mind = folder.join(".mind");
    std::fs::create_dir_all(&mind)?;
    let knowledge = folder.join("knowledge");
    std::fs::create_dir_all(&knowledge)?;
    for i in 0..DOCUMENTS {
        std::fs::write(
            knowledge.join(format!("note{i}.md")),
            format!("# Note {i}\n\nThe way that was measured for part {i}.\n"),
        )?;
    }
    let lines = |n: usize, what: &str| -> String {
        (0..n)
            .map(|i| {
                format!("- {what} number {i}, which was looked at, weighed and written down\n")
            })
            .collect()
    };
    let write = |name: &str, text: String| std::fs::write(mind.join(name), text);
    write(
        "STATE.md",
        format!(
            "# Project State\n\n## Current Phase\nPhase 2: Build\n\n## Active Work\n- login\n\n## Blocked Items\n- keys\n\n## Next Action\nFinish login\n\n## Notes\n{}",
            lines(4000, "note")
        ),
    )?;
    write(
        "PROGRESS.md",
        format!(
            "# Progress Tracker\n\n### In Progress\n- [ ] Build login page\n\n### Completed\n{}",
            lines(3000, "[x] task")
        ),
    )?;
    let decisions: String = (1..=1500)
        .map(|i| format!("## DEC-{i:03}: Decision {i}\n- **Date:** 2026-01-01\n- **Decision:** Take way {i}, since it is simpler\n- **Rationale:** It was measured\n- **Status:** Final\n\n"))
        .collect();
    write("DECISIONS.md", format!("# Decision Log\n\n{decisions}"))?;
    let sessions: String = (1..=1500)
        .map(|i| format!("## Session {i} — 2026-01-01 10:00:00\n- **Summary:** Worked on part {i} until it was done\n- **Next session:** part {}\n\n", i + 1))
        .collect();
    write("SESSION-LOG.md", format!("# Session Log\n\n{sessions}"))?;
    let files = std::fs::read_dir(&mind)?.flatten();
    Ok(files
        .filter_map(|it| it.metadata().ok())
        .map(|it| it.len())
        .sum())
}
