//! `bench closets`: how well closets find files, through the commands that
//! people and agents use. Conversations become Markdown files, the program
//! writes their closets and is asked each question; the full text of the same
//! files is asked in the same run.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::recall::scores::{Scores, interval};
use super::sets::{self, File, Group, Question};

/// What is asked, each with how many files as are scored.
const SYSTEMS: [(&str, &[&str]); 5] = [
    ("closets show", &["closets", "show"]),
    (
        "search --scope closets",
        &["search", "--scope", "closets", "--unique"],
    ),
    (
        "  --mode text",
        &["search", "--scope", "closets", "--unique", "--mode", "text"],
    ),
    (
        "  --mode vector",
        &[
            "search", "--scope", "closets", "--unique", "--mode", "vector",
        ],
    ),
    (
        "search --mode text",
        &["search", "--unique", "--mode", "text"],
    ),
];
const DEPTH: &str = "10";

struct Options {
    sets: Vec<String>,
    groups: usize,
    binary: Option<PathBuf>,
    misses: bool,
    /// The first so many of [`SYSTEMS`].
    systems: usize,
}

pub(crate) fn run(rest: &[&str]) -> Result<()> {
    let options = parse(rest)?;
    let Some(data) = super::data_folder() else {
        println!(
            "skipped: no benchmark data; set MEMORY_FORGE_BENCH_DATA or put it at ../shared/bench"
        );
        return Ok(());
    };
    let binary = match &options.binary {
        Some(path) => fs::canonicalize(path).with_context(|| path.display().to_string())?,
        None => crate::build_release(None)?,
    };
    for set in &options.sets {
        let mut groups = sets::load(&data, set)?;
        // Questions come sorted by kind, so a part is taken evenly.
        let step = groups.len().div_ceil(options.groups.max(1)).max(1);
        groups = groups.into_iter().step_by(step).collect();
        measure(set, &groups, &binary, &options)?;
    }
    Ok(())
}

fn parse(rest: &[&str]) -> Result<Options> {
    let mut options = Options {
        sets: Vec::new(),
        groups: usize::MAX,
        binary: None,
        misses: false,
        systems: SYSTEMS.len(),
    };
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        let mut next = || words.next().copied().context("expected a value");
        match *word {
            "--misses" => options.misses = true,
            "--groups" => options.groups = next()?.parse()?,
            "--systems" => options.systems = next()?.parse()?,
            "--binary" => options.binary = Some(next()?.into()),
            "longmemeval" | "locomo" => options.sets.push((*word).to_owned()),
            _ => bail!("unknown set `{word}`; known are longmemeval and locomo"),
        }
    }
    if options.sets.is_empty() {
        options.sets = ["longmemeval", "locomo"].map(str::to_owned).to_vec();
    }
    Ok(options)
}

/// What one group of files gave.
#[derive(Default)]
struct Measured {
    text: usize,
    closets: usize,
    /// By question: its kind, and the scores and milliseconds of each system.
    questions: Vec<(String, Vec<(Scores, f64)>)>,
}

fn measure(set: &str, groups: &[Group], binary: &Path, options: &Options) -> Result<()> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<Result<Measured>>> = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(group) = groups.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let measured = measure_group(group, binary, options);
                    let mut done = done.lock().unwrap_or_else(|it| it.into_inner());
                    done.push(measured);
                    eprint!(
                        "\r{set}: {} of {} workspaces asked ",
                        done.len(),
                        groups.len()
                    );
                }
            });
        }
    });
    eprintln!();
    let done = done.into_inner().unwrap_or_else(|it| it.into_inner());
    let done: Vec<Measured> = done.into_iter().collect::<Result<_>>()?;
    report(
        set,
        groups,
        &done,
        &SYSTEMS[..options.systems.min(SYSTEMS.len())],
    );
    Ok(())
}

fn measure_group(group: &Group, binary: &Path, options: &Options) -> Result<Measured> {
    let folder = tempfile::tempdir()?;
    let home = tempfile::tempdir()?;
    let program = super::Program {
        binary,
        home: home.path(),
        folder: folder.path(),
    };
    fs::create_dir(folder.path().join("knowledge"))?;
    let mut measured = Measured::default();
    for File { id, text } in &group.files {
        fs::write(folder.path().join(format!("knowledge/{id}.md")), text)?;
        measured.text += text.chars().count();
    }
    program.run(&["closets", "build"], None)?;
    for name in ["_CLOSETS.md", "_CLOSETS-archive.md"] {
        let path = folder.path().join("knowledge").join(name);
        measured.closets += fs::read_to_string(path).map_or(0, |text| text.chars().count());
    }
    for question in &group.questions {
        let mut scores = Vec::new();
        for (name, arguments) in SYSTEMS.iter().take(options.systems) {
            let begin = Instant::now();
            let files = ask(&program, arguments, question)?;
            let milliseconds = begin.elapsed().as_secs_f64() * 1000.0;
            let score = Scores::of(&files, &question.gold);
            if options.misses && scores.is_empty() && score.frac5 < 1.0 {
                println!(
                    "--- {name} | {} | {} | {score:?}",
                    question.kind, question.text
                );
                for id in &question.gold {
                    println!("  {id} is at {:?}", files.iter().position(|it| it == id));
                }
            }
            scores.push((score, milliseconds));
        }
        measured.questions.push((question.kind.clone(), scores));
    }
    Ok(measured)
}

/// The ids of the files found, best first.
fn ask(program: &super::Program, arguments: &[&str], question: &Question) -> Result<Vec<String>> {
    let more = ["-n", DEPTH, "--json", "--", question.text.as_str()];
    let arguments = [arguments, &more].concat();
    let answer = program.run(&arguments, question.date.as_deref())?;
    let answer: Value = serde_json::from_slice(&answer)?;
    Ok(super::files(&answer))
}

fn report(set: &str, groups: &[Group], done: &[Measured], systems: &[(&str, &[&str])]) {
    let files: usize = groups.iter().map(|group| group.files.len()).sum();
    let text: usize = done.iter().map(|it| it.text).sum();
    let closets: usize = done.iter().map(|it| it.closets).sum();
    let questions: Vec<_> = done.iter().flat_map(|it| &it.questions).collect();
    println!(
        "{set}: n = {}, {files} files, {text} characters; closets {closets} = {:.1} % ({:.0} a file)",
        questions.len(),
        100.0 * closets as f64 / text as f64,
        closets as f64 / files as f64,
    );
    println!(
        "  {:24} any@1   any@5   frac@5 (95 %)         all@5   ndcg@10   ms (median)",
        ""
    );
    for (at, (name, _)) in systems.iter().enumerate() {
        let scores: Vec<Scores> = questions.iter().map(|it| it.1[at].0).collect();
        let mut times: Vec<f64> = questions.iter().map(|it| it.1[at].1).collect();
        times.sort_by(f64::total_cmp);
        let median = times.get(times.len() / 2).copied().unwrap_or_default();
        println!("  {name:24} {}   {median:6.0}", summary(&scores));
    }
    let mut kinds: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (kind, scores) in &questions {
        kinds.entry(kind).or_default().push(scores[0].0.frac5);
    }
    for (kind, fracs) in kinds {
        let mean = fracs.iter().sum::<f64>() / fracs.len() as f64;
        println!(
            "    frac@5 {kind:28} n = {:3}  {:.1}",
            fracs.len(),
            100.0 * mean
        );
    }
}

fn summary(scores: &[Scores]) -> String {
    let mean = |of: fn(&Scores) -> f64| {
        100.0 * scores.iter().map(of).sum::<f64>() / scores.len().max(1) as f64
    };
    let fractions: Vec<f64> = scores.iter().map(|s| s.frac5).collect();
    let (low, high) = interval(&fractions);
    format!(
        "{:5.1}   {:5.1}   {:5.1} ({:.1} to {:.1})   {:5.1}   {:5.1}",
        mean(|s| s.any1),
        mean(|s| s.any5),
        mean(|s| s.frac5),
        100.0 * low,
        100.0 * high,
        mean(|s| s.all5),
        mean(|s| s.ndcg10)
    )
}
