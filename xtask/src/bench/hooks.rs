//! `bench hooks`: what a hook costs at every prompt and before every action,
//! and a search in which nothing has changed, as ratios to starting `true` and
//! `node -e 0`, in one interleaved run over a megabyte of state; then a session
//! of 500 calls of tools. With `--against`, another build of the program takes
//! part, in a workspace of its own.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

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
/// `[n]` is another number at each run: what was shown in a session is not
/// shown again.
const FAILED: &str = r#"{"hook_event_name":"PreToolUse","session_id":"s[n]","tool_name":"Bash","tool_use_id":"c","tool_input":{"command":"cat -A src/main.rs"}}"#;
/// One that a document answers, so that there is something to say.
const QUESTION: &str = r#"{"hook_event_name":"UserPromptSubmit","session_id":"s[n]","prompt":"How often is a failed payment attempted again?"}"#;
const STOP: &str = r#"{"hook_event_name":"Stop","session_id":"s","stop_hook_active":false}"#;
const START: &str = r#"{"hook_event_name":"SessionStart","session_id":"s","source":"startup"}"#;
const COMPACT: &str = r#"{"hook_event_name":"SessionStart","session_id":"s","source":"compact"}"#;

const CLAUDE: &[&str] = &["hook", "--client=claude"];

/// The least that a hook on Node can do: read the event and answer.
const NODE_HOOK: &str = "process.stdin.resume().on('end', () => process.stdout.write('{}'))";

/// Calls of tools in a long session.
const CALLS: usize = 500;

/// Passages beside which a question is answered.
const PASSAGES: usize = 10_000;

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
    let mut other = |name: &str, program: &str, arguments: &[&str], input| {
        let Some(program) = arena.find(program) else {
            println!("skipped: no `{program}` here to compare with");
            return;
        };
        all.push(Contestant {
            name: name.to_owned(),
            program,
            arguments: arguments.iter().map(|it| (*it).to_owned()).collect(),
            input,
            folder: folder.clone(),
            samples: Vec::new(),
        });
    };
    other("true", "true", &[], None);
    other("node -e 0", "node", &["-e", "0"], None);
    other("a hook on Node", "node", &["-e", NODE_HOOK], Some(TOOL));
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
        let asking = bench.path().join(format!("asking{at}"));
        fill(&asking)?;
        add_passages(&asking)?;
        std::fs::write(
            asking.join("memory-forge.toml"),
            "[recall]\npush = \"all\"\n",
        )?;
        arena.time(program, &["index".to_owned()], &asking)?;
        // It reads again what was written just before.
        let search = ["search".to_owned(), "payment".to_owned()];
        arena.time(program, &search, &asking)?;
        let mut ours = |name: &str, words: &[&str], input: Option<&'static str>| {
            let is_question = input == Some(QUESTION);
            all.push(Contestant {
                name: format!("{name}{build}"),
                program: program.clone(),
                arguments: words.iter().map(|it| (*it).to_owned()).collect(),
                input,
                folder: if is_question { &asking } else { &folder }.clone(),
                samples: Vec::new(),
            });
        };
        ours("UserPromptSubmit", &["hook"], Some(PROMPT));
        ours("PreToolUse, nothing to say", CLAUDE, Some(TOOL));
        ours("PreToolUse, a missing path", CLAUDE, Some(MISSING));
        ours("PreToolUse, something to say", CLAUDE, Some(FAILED));
        ours("a question, `push = \"all\"`", CLAUDE, Some(QUESTION));
        ours("Stop", &["hook"], Some(STOP));
        ours("SessionStart", &["hook"], Some(START));
        ours("SessionStart after compaction", &["hook"], Some(COMPACT));
        ours("unchanged search", &["search", "measured way"], None);
    }
    for round in 0..rounds + WARM {
        let count = all.len();
        for step in 0..count {
            let contestant = &mut all[(round + step) % count];
            let sample = once(&arena, contestant, bench.path(), round)?;
            if round >= WARM {
                contestant.samples.push(sample);
            }
        }
    }
    println!("{bytes} bytes of state, {DOCUMENTS} documents, {rounds} rounds");
    println!(
        "{:34} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "", "CPU ms", "/ true", "wall ms", "p95", "/ true", "MB"
    );
    let base = &all[0];
    for contestant in &all {
        let cpu = contestant.quantile(0.5, |it| it.cpu);
        let wall = contestant.quantile(0.5, |it| it.wall);
        println!(
            "{:34} {cpu:>8.2} {:>8.2} {wall:>8.2} {:>8.2} {:>8.2} {:>8.1}",
            contestant.name,
            cpu / base.quantile(0.5, |it| it.cpu),
            contestant.quantile(0.95, |it| it.wall),
            wall / base.quantile(0.5, |it| it.wall),
            contestant.max_megabytes(),
        );
    }
    for (at, program) in programs.iter().enumerate() {
        // An older build, to compare with, may know no pointers.
        let pushes = bench.path().join(format!("asking{at}/.mind/.pushes"));
        let is_answered = pushes.exists();
        ensure!(at > 0 || is_answered, "the question was not answered");
        let folder = bench.path().join(format!("workspace{at}"));
        time_session(&arena, program, &folder)?;
    }
    Ok(())
}

/// Sends the calls of one long session, one after another, and prints what they
/// cost together. In some there is something to say.
fn time_session(arena: &Arena, program: &Path, folder: &Path) -> Result<()> {
    let mut session = Contestant {
        name: "session".to_owned(),
        program: program.to_owned(),
        arguments: CLAUDE.iter().map(|it| (*it).to_owned()).collect(),
        input: None,
        folder: folder.to_owned(),
        samples: Vec::new(),
    };
    let inputs = folder.with_extension("session");
    std::fs::create_dir_all(&inputs)?;
    for call in 0..CALLS {
        session.input = Some(match call % 50 {
            7 => FAILED,
            23 => MISSING,
            _ => TOOL,
        });
        let sample = once(arena, &session, &inputs, call)?;
        session.samples.push(sample);
    }
    let sum = |of: fn(&Sample) -> Duration| session.samples.iter().map(of).sum::<Duration>();
    println!(
        "{CALLS} calls in a session: {:.2} s, {:.2} s of CPU, p95 {:.2} ms, {:.1} MB at most ({})",
        sum(|it| it.wall).as_secs_f64(),
        sum(|it| it.cpu).as_secs_f64(),
        session.quantile(0.95, |it| it.wall),
        session.max_megabytes(),
        program.display()
    );
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

    /// The most memory that one run held.
    fn max_megabytes(&self) -> f64 {
        let most = self.samples.iter().map(|it| it.max_rss).max();
        most.unwrap_or_default() as f64 / f64::from(1 << 20)
    }
}

fn once(arena: &Arena, contestant: &Contestant, inputs: &Path, number: usize) -> Result<Sample> {
    let mut command = arena.command(
        &contestant.program,
        &contestant.arguments,
        &contestant.folder,
    );
    command.stdout(Stdio::null()).stderr(Stdio::null());
    if let Some(input) = contestant.input {
        let path = inputs.join("input");
        std::fs::write(&path, input.replace("[n]", &number.to_string()))?;
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
    let failed = r#"{"hook_event_name":"PostToolUse","session_id":"f","tool_name":"Bash","tool_use_id":"f","tool_input":{"command":"cat -A src/a.rs"},"tool_response":"Exit code 1\ncat: illegal option -- A"}"#;
    let arguments: Vec<String> = CLAUDE.iter().map(|it| (*it).to_owned()).collect();
    let input = folder.with_extension("event");
    let mut events = vec![failed.to_owned()];
    for i in 0..READ_FILES {
        events.push(format!(
            r#"{{"hook_event_name":"PostToolUse","session_id":"r","tool_name":"Read","tool_use_id":"{i}","tool_input":{{"file_path":"src/some/folder/with/a/file{i}.rs"}},"tool_response":{{"content":"1 text"}}}}"#
        ));
    }
    for event in events {
        std::fs::write(&input, event)?;
        let mut command = arena.command(program, &arguments, folder);
        command.stdin(File::open(&input)?);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        wait(command).context("cannot start a program")?;
    }
    Ok(())
}

/// Adds documents with [`PASSAGES`] passages in all, of words that a generator
/// chooses, and one that answers [`QUESTION`].
fn add_passages(folder: &Path) -> Result<()> {
    const WORDS: [&str; 24] = [
        "server", "client", "queue", "worker", "index", "buffer", "release", "branch", "module",
        "session", "report", "folder", "request", "answer", "limit", "signal", "channel", "table",
        "column", "backup", "thread", "driver", "license", "window",
    ];
    const SECTIONS: usize = 10;
    let mut state = 1u64;
    let mut word = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        WORDS[(state >> 40) as usize % WORDS.len()]
    };
    for document in 0..PASSAGES / SECTIONS {
        let mut text = format!("# Part {document} of the {}\n", word());
        for section in 0..SECTIONS {
            let words: Vec<&str> = (0..140).map(|_| word()).collect();
            text += &format!(
                "\n## Section {section} about a {}\n\n{}.\n",
                word(),
                words.join(" ")
            );
        }
        std::fs::write(folder.join(format!("knowledge/part{document}.md")), text)?;
    }
    let answer =
        "# Retries\n\nA failed payment is attempted again after one minute, at most five times.\n";
    std::fs::write(folder.join("knowledge/retries.md"), answer)?;
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
