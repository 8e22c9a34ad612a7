//! `bench answers`: whether the labels of hits mean what they say. Questions of
//! our own about public documentation trees are asked twice: of the whole tree,
//! and of a copy without the documents that answer them. Questions that nothing
//! in a tree answers stand beside them.
//!
//! The weights are fitted on half of the trees and every figure is reported for
//! the other half. The trees are not part of the repository: whatever is not
//! there is skipped and named.

mod fit;
mod pointers;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, bail, ensure};
use forge_app::recall::HitSignals;
use serde_json::{Value, json};

use super::Program;
use fit::Row;

const QUESTIONS: &str = include_str!("answers/questions.tsv");
/// Questions as people write them to an agent, by a writer who did not know the
/// ranking. A third of them has no answer in its tree.
const PROMPTS: &str = include_str!("answers/prompts.tsv");
/// Copies of a tree, each without the answers to every fourth question.
const COPIES: usize = 4;
/// Trees whose questions fit the weights. All others are reported.
const FITTED: [&str; 4] = ["ripgrep", "basic-memory", "bat", "click"];
/// The modes, each of which has weights of its own.
const MODES: [&str; 2] = ["hybrid", "text"];
/// A folder or a file of these names is no documentation: a changelog says
/// something about everything, so that nothing is ever absent.
const LEFT_OUT: [&str; 8] = [
    "tests",
    "test",
    "skills",
    "vendor",
    "changelogs",
    "node_modules",
    "target",
    ".git",
];

struct Question {
    tree: String,
    /// Paths of documents that answer it; none where nothing does.
    gold: Vec<String>,
    text: String,
}

/// One question to one copy of its tree.
struct Case {
    tree: String,
    question: String,
    mode: &'static str,
    kind: Kind,
    /// Best first.
    hits: Vec<Judged>,
    is_nothing: bool,
    missing: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Answered,
    /// The answering documents were taken out of the tree.
    Removed,
    /// There never was an answer.
    Foreign,
}

struct Judged {
    path: String,
    is_right: bool,
    label: String,
    confidence: f64,
    signals: Vec<f64>,
}

pub(crate) fn run(rest: &[&str]) -> Result<()> {
    let (mut is_fit, mut is_pointers, mut binary, mut out) = (false, false, None, None);
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        match *word {
            "--fit" => is_fit = true,
            "--pointers" => is_pointers = true,
            "--binary" => binary = Some(PathBuf::from(words.next().context("expected a file")?)),
            "--json" => out = Some(PathBuf::from(words.next().context("expected a file")?)),
            other => bail!("unknown option `{other}`"),
        }
    }
    let mut questions = parse_questions(QUESTIONS)?;
    if is_pointers {
        questions.extend(parse_questions(PROMPTS)?);
    }
    let trees = trees(&questions)?;
    if trees.is_empty() {
        println!("skipped: no documentation tree is here");
        return Ok(());
    }
    let binary = match binary {
        Some(path) => fs::canonicalize(&path).with_context(|| path.display().to_string())?,
        None => crate::build_release(None)?,
    };
    let home = crate::target().join("bench/answers/home");
    fs::create_dir_all(&home)?;
    if is_pointers {
        return pointers::run(&binary, &home, &trees, &questions);
    }
    let mut cases = Vec::new();
    for (name, source) in &trees {
        let asked: Vec<&Question> = questions.iter().filter(|it| it.tree == *name).collect();
        cases.extend(ask_tree(&binary, &home, name, source, &asked)?);
    }
    for mode in MODES {
        report(mode, &cases);
    }
    if is_fit {
        for mode in MODES {
            print_fit(mode, &cases);
        }
    }
    if let Some(path) = out {
        let all: Vec<Value> = cases.iter().map(to_json).collect();
        fs::write(path, serde_json::to_string(&all)? + "\n")?;
    }
    Ok(())
}

fn parse_questions(text: &str) -> Result<Vec<Question>> {
    let lines = text
        .lines()
        .filter(|it| !it.starts_with('#') && !it.is_empty());
    lines
        .map(|line| {
            let [tree, gold, text] = line.split('\t').collect::<Vec<_>>()[..] else {
                bail!("not three columns: {line}");
            };
            let gold = gold.split('|').filter(|it| *it != "-");
            Ok(Question {
                tree: tree.to_owned(),
                gold: gold.map(str::to_owned).collect(),
                text: text.to_owned(),
            })
        })
        .collect()
}

/// The trees that are here, by name.
fn trees(questions: &[Question]) -> Result<BTreeMap<String, PathBuf>> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../real");
    let folder = std::env::var_os("MEMORY_FORGE_BENCH_TREES").map_or(beside, PathBuf::from);
    let mut found = BTreeMap::new();
    let mut names: Vec<String> = questions.iter().map(|it| it.tree.clone()).collect();
    names.dedup();
    for name in names {
        if name == "rust-book" {
            match unpacked_book()? {
                Some(path) => drop(found.insert(name, path)),
                None => println!("skipped: rust-book is not in the benchmark data"),
            }
        } else if folder.join(&name).is_dir() {
            let path = folder.join(&name);
            found.insert(name, path);
        } else {
            println!(
                "skipped: no tree `{name}`; put a clone of it at {}, or name the folder in MEMORY_FORGE_BENCH_TREES",
                folder.join(&name).display()
            );
        }
    }
    Ok(found)
}

fn unpacked_book() -> Result<Option<PathBuf>> {
    let archive = super::data_folder().map(|it| it.join("md/rust-book.tar.gz"));
    let Some(archive) = archive.filter(|it| it.is_file()) else {
        return Ok(None);
    };
    let folder = crate::target().join("bench/answers/source");
    fs::create_dir_all(&folder)?;
    let status = Command::new("tar")
        .arg("-xzf")
        .arg(archive)
        .arg("-C")
        .arg(&folder)
        .status()?;
    ensure!(status.success(), "cannot unpack the book");
    Ok(Some(folder.join("rust-book")))
}

/// Relative paths of the documentation of a tree.
fn documents(root: &Path, below: &str, found: &mut Vec<String>) -> Result<()> {
    let mut entries: Vec<_> = fs::read_dir(root.join(below))?.collect::<Result<_, _>>()?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        let path = if below.is_empty() {
            name.clone()
        } else {
            format!("{below}/{name}")
        };
        let lower = name.to_lowercase();
        if LEFT_OUT.contains(&lower.as_str()) || lower.starts_with("changelog") {
            continue;
        }
        let kind = entry.file_type()?;
        // Hidden folders have instructions for agents.
        if kind.is_dir() && !name.starts_with('.') {
            documents(root, &path, found)?;
        } else if kind.is_file() && lower.ends_with(".md") {
            found.push(path);
        }
    }
    Ok(())
}

/// A tree and its copies, ready to be asked.
struct AskedTree {
    paths: Vec<String>,
    /// The whole tree first.
    folders: Vec<PathBuf>,
}

/// Makes the copies of a tree below a folder of this name, each with these
/// settings, and indexes them.
fn copy_tree(
    (binary, home): (&Path, &Path),
    (bench, settings): (&str, &str),
    (name, source): (&str, &Path),
    questions: &[&Question],
) -> Result<AskedTree> {
    let mut paths = Vec::new();
    documents(source, "", &mut paths)?;
    for question in questions {
        let lost = question.gold.iter().find(|it| !paths.contains(it));
        if let Some(lost) = lost {
            println!("{name}: `{lost}` is not in this version of the tree");
        }
    }
    let mut folders = Vec::new();
    for copy in 0..=COPIES {
        let folder = crate::target().join(format!("bench/{bench}/{name}/{copy}"));
        let knowledge = folder.join("knowledge");
        fs::create_dir_all(&knowledge)?;
        fs::write(folder.join("memory-forge.toml"), settings)?;
        let is_out = |path: &String| {
            let here = questions
                .iter()
                .enumerate()
                .filter(|it| it.0 % COPIES + 1 == copy);
            here.flat_map(|it| &it.1.gold).any(|gold| gold == path)
        };
        for path in &paths {
            let to = knowledge.join(path);
            if is_out(path) {
                let _ = fs::remove_file(&to);
                continue;
            }
            let bytes = fs::read(source.join(path))?;
            if fs::read(&to).is_ok_and(|it| it == bytes) {
                continue;
            }
            fs::create_dir_all(to.parent().context("a file is in a folder")?)?;
            fs::write(&to, bytes)?;
        }
        Program {
            binary,
            home,
            folder: &folder,
        }
        .run(&["index"], None)?;
        eprintln!(
            "{name}: copy {copy} of {COPIES} indexed, {} documents",
            paths.len()
        );
        folders.push(folder);
    }
    Ok(AskedTree { paths, folders })
}

fn ask_tree(
    binary: &Path,
    home: &Path,
    name: &str,
    source: &Path,
    questions: &[&Question],
) -> Result<Vec<Case>> {
    let tree = copy_tree((binary, home), ("answers", ""), (name, source), questions)?;
    let AskedTree { paths, folders } = tree;
    let mut jobs = Vec::new();
    for mode in MODES {
        for (at, question) in questions.iter().enumerate() {
            if question.gold.is_empty() {
                jobs.push((mode, Kind::Foreign, 0, *question));
            } else if question.gold.iter().all(|it| paths.contains(it)) {
                jobs.push((mode, Kind::Answered, 0, *question));
                jobs.push((mode, Kind::Removed, at % COPIES + 1, *question));
            }
        }
    }
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Result<Case>)>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some((mode, kind, copy, question)) =
                    jobs.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    let program = Program {
                        binary,
                        home,
                        folder: &folders[*copy],
                    };
                    let case = ask(&program, mode, *kind, question);
                    let at = jobs.iter().position(|it| {
                        it.0 == *mode && it.1 == *kind && std::ptr::eq(it.3, *question)
                    });
                    let at = at.unwrap_or_default();
                    done.lock().expect("no thread panics").push((at, case));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no thread panics");
    done.sort_by_key(|it| it.0);
    done.into_iter().map(|it| it.1).collect()
}

fn ask(program: &Program, mode: &'static str, kind: Kind, question: &Question) -> Result<Case> {
    let search = |more: &[&str]| -> Result<Value> {
        let mut arguments = vec!["search", "--json", "-n", "5", "--mode", mode];
        arguments.extend(more);
        arguments.extend(["--", question.text.as_str()]);
        Ok(serde_json::from_slice(&program.run(&arguments, None)?)?)
    };
    let all = search(&["--weak"])?;
    let shown = search(&[])?;
    let results = all["results"].as_array().cloned().unwrap_or_default();
    let hits = results.iter().map(|hit| {
        let path = hit["path"]
            .as_str()
            .and_then(|it| it.strip_prefix("knowledge/"));
        let signal = |name: &str| hit["why"]["signals"][name].as_f64().unwrap_or(0.0);
        Judged {
            path: path.unwrap_or_default().to_owned(),
            is_right: kind == Kind::Answered
                && path.is_some_and(|path| question.gold.iter().any(|it| it == path)),
            label: hit["label"].as_str().unwrap_or_default().to_owned(),
            confidence: hit["relevance"].as_f64().unwrap_or(0.0),
            signals: HitSignals::NAMES.map(signal).to_vec(),
        }
    });
    Ok(Case {
        tree: question.tree.clone(),
        question: question.text.clone(),
        mode,
        kind,
        hits: hits.collect(),
        is_nothing: shown["results"].as_array().is_none_or(Vec::is_empty),
        missing: shown["noExactMatch"].as_array().map_or(0, Vec::len),
    })
}

fn report(mode: &str, cases: &[Case]) {
    println!("\n{mode}");
    println!(
        "  {:22} {:>8} {:>7} {:>6} {:>12} {:>13} {:>15} {:>15} {:>14}",
        "trees",
        "answered",
        "absent",
        "AUC",
        "right first",
        "strong right",
        "absent: strong",
        "absent: nothing",
        "answers lost"
    );
    let names: Vec<&str> = {
        let mut names: Vec<&str> = cases.iter().map(|it| it.tree.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    let of = |keep: &dyn Fn(&str) -> bool| -> Vec<&Case> {
        cases
            .iter()
            .filter(|it| it.mode == mode && keep(&it.tree))
            .collect()
    };
    line("fitted", &of(&|tree| FITTED.contains(&tree)));
    line("reported", &of(&|tree| !FITTED.contains(&tree)));
    for name in names {
        line(name, &of(&|tree| tree == name));
    }
}

fn line(title: &str, cases: &[&Case]) {
    let answered: Vec<&&Case> = cases
        .iter()
        .filter(|it| it.kind == Kind::Answered)
        .collect();
    let absent: Vec<&&Case> = cases
        .iter()
        .filter(|it| it.kind != Kind::Answered)
        .collect();
    if answered.is_empty() || absent.is_empty() {
        return;
    }
    let score = |case: &&&Case| case.best();
    let yes: Vec<f64> = answered.iter().map(score).collect();
    let no: Vec<f64> = absent.iter().map(score).collect();
    let strong = answered
        .iter()
        .flat_map(|it| &it.hits)
        .filter(|it| it.label == "strong");
    let (all, right) = strong.fold((0, 0), |(all, right), it| {
        (all + 1, right + usize::from(it.is_right))
    });
    let first = answered
        .iter()
        .filter(|it| it.hits.first().is_some_and(|hit| hit.is_right));
    let is_strong = |case: &&&&Case| case.hits.iter().any(|it| it.label == "strong");
    let lost = answered
        .iter()
        .filter(|it| it.is_nothing && it.hits.iter().any(|hit| hit.is_right));
    let share = |part: usize, all: usize| match all {
        0 => "none".to_owned(),
        _ => format!("{part}/{all} {:.0}%", 100.0 * part as f64 / all as f64),
    };
    println!(
        "  {title:22} {:>8} {:>7} {:>6.3} {:>12} {:>13} {:>15} {:>15} {:>14}",
        answered.len(),
        absent.len(),
        fit::auc(&yes, &no),
        share(first.count(), answered.len()),
        share(right, all),
        share(absent.iter().filter(is_strong).count(), absent.len()),
        share(
            absent.iter().filter(|it| it.is_nothing).count(),
            absent.len()
        ),
        share(lost.count(), answered.len()),
    );
}

impl Case {
    /// The confidence of its most confident hit.
    fn best(&self) -> f64 {
        self.hits.iter().map(|it| it.confidence).fold(0.0, f64::max)
    }

    fn rows(&self) -> Vec<Row> {
        let hits = self.hits.iter().enumerate();
        hits.map(|(rank, hit)| Row {
            signals: hit.signals.clone(),
            is_right: hit.is_right,
            // What stands first decides what a reader believes.
            weight: if rank == 0 { 1.0 } else { 0.25 },
        })
        .collect()
    }
}

fn print_fit(mode: &str, cases: &[Case]) {
    let of = |is_fitted: bool| -> Vec<&Case> {
        let cases = cases.iter().filter(|it| it.mode == mode && it.missing == 0);
        cases
            .filter(|it| FITTED.contains(&it.tree.as_str()) == is_fitted)
            .collect()
    };
    for (title, is_fitted) in [("fitted half", true), ("the other half, to compare", false)] {
        let rows: Vec<Row> = of(is_fitted).iter().flat_map(|it| it.rows()).collect();
        let model = fit::fit(&rows);
        let best = |case: &&Case| {
            let scores = case.hits.iter().map(|it| model.confidence(&it.signals));
            scores.fold(0.0, f64::max)
        };
        let other = of(!is_fitted);
        let split = |answered: bool| -> Vec<f64> {
            let cases = other
                .iter()
                .filter(|it| (it.kind == Kind::Answered) == answered);
            cases.map(best).collect()
        };
        println!(
            "\n{mode}: weights from the {title}; AUC on its counterpart {:.3}",
            fit::auc(&split(true), &split(false))
        );
        println!("  bias {:.2}", model.bias);
        for (name, weight) in HitSignals::NAMES.iter().zip(&model.weights) {
            println!("  {name:12} {weight:.2}");
        }
    }
}

fn to_json(case: &Case) -> Value {
    let kind = match case.kind {
        Kind::Answered => "answered",
        Kind::Removed => "removed",
        Kind::Foreign => "foreign",
    };
    let hits = case.hits.iter().map(|it| {
        json!({ "path": it.path, "right": it.is_right, "label": it.label, "confidence": it.confidence, "signals": it.signals })
    });
    json!({
        "tree": case.tree, "question": case.question, "mode": case.mode, "kind": kind,
        "nothing": case.is_nothing, "missing": case.missing, "hits": hits.collect::<Vec<_>>(),
    })
}
