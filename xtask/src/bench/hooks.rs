//! `bench hooks`: what a hook costs at every prompt, as ratios to starting
//! `true` and `node -e 0`, in one interleaved run over a megabyte of state.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

struct Contestant {
    name: &'static str,
    program: String,
    arguments: Vec<String>,
    input: Option<&'static str>,
    times: Vec<f64>,
}

const PROMPT: &str = r#"{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt":"go on"}"#;
const STOP: &str = r#"{"hook_event_name":"Stop","session_id":"s","stop_hook_active":false}"#;
const START: &str = r#"{"hook_event_name":"SessionStart","session_id":"s","source":"startup"}"#;
const COMPACT: &str = r#"{"hook_event_name":"SessionStart","session_id":"s","source":"compact"}"#;

pub(crate) fn run(rest: &[&str]) -> Result<()> {
    let rounds: usize = match rest {
        [] => 200,
        ["--runs", n] => n.parse().context("`--runs` takes a number")?,
        _ => bail!("usage: bench hooks [--runs N]"),
    };
    let binary = crate::build_release(None)?.display().to_string();
    let folder = tempfile::tempdir()?;
    fill(folder.path())?;
    let inputs = tempfile::tempdir()?;
    let ours = |name, input| Contestant {
        name,
        program: binary.clone(),
        arguments: vec!["hook".to_owned()],
        input: Some(input),
        times: Vec::new(),
    };
    let other = |name: &'static str, program: &str, arguments: &[&str]| Contestant {
        name,
        program: program.to_owned(),
        arguments: arguments.iter().map(|it| (*it).to_owned()).collect(),
        input: None,
        times: Vec::new(),
    };
    let mut all = vec![
        other("true", "true", &[]),
        ours("UserPromptSubmit", PROMPT),
        ours("Stop", STOP),
        ours("SessionStart", START),
        ours("SessionStart after compaction", COMPACT),
    ];
    if Command::new("node").arg("--version").output().is_ok() {
        all.push(other("node -e 0", "node", &["-e", "0"]));
    } else {
        println!("skipped: no `node` here to compare with");
    }
    for round in 0..=rounds {
        let count = all.len();
        for step in 0..count {
            let contestant = &mut all[(round + step) % count];
            let time = once(contestant, folder.path(), inputs.path())?;
            // The first round warms the caches.
            if round > 0 {
                contestant.times.push(time);
            }
        }
    }
    let median = |c: &Contestant| {
        let mut times = c.times.clone();
        times.sort_by(f64::total_cmp);
        (times[times.len() / 2], times[times.len() * 95 / 100])
    };
    let (base, _) = median(&all[0]);
    let bytes: u64 = std::fs::read_dir(folder.path().join(".mind"))?
        .flatten()
        .filter_map(|it| it.metadata().ok())
        .map(|it| it.len())
        .sum();
    println!("{bytes} bytes of state, {rounds} rounds");
    println!(
        "{:32} {:>10} {:>10} {:>8}",
        "", "median ms", "p95 ms", "/ true"
    );
    for contestant in &all {
        let (time, late) = median(contestant);
        println!(
            "{:32} {time:>10.2} {late:>10.2} {:>8.2}",
            contestant.name,
            time / base
        );
    }
    Ok(())
}

fn once(contestant: &Contestant, folder: &Path, inputs: &Path) -> Result<f64> {
    let mut command = Command::new(&contestant.program);
    command
        .args(&contestant.arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    if let Some(input) = contestant.input {
        let path = inputs.join(contestant.name);
        if !path.exists() {
            std::fs::write(&path, input)?;
        }
        command.stdin(File::open(&path)?);
    }
    let start = Instant::now();
    let status = command.status().context("cannot start a program")?;
    let time = start.elapsed().as_secs_f64() * 1000.0;
    if !status.success() {
        bail!("`{}` failed", contestant.name);
    }
    Ok(time)
}

/// A megabyte of state, as months of work leave it.
fn fill(folder: &Path) -> Result<()> {
    let mind = folder.join(".mind");
    std::fs::create_dir_all(&mind)?;
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
    Ok(())
}
