//! `bench recall`: how well questions find their documents. Every set becomes
//! workspaces of Markdown files on disk, the release binary indexes them and is
//! asked each question, and its answers are scored beside what full text
//! alone, vectors alone and plain reciprocal-rank fusion give in the same run.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::files;
use super::sets::{self, Group, Question};
use scores::{NAMES, Scores, chance, interval, mean};

pub(crate) mod scores;

/// What is compared. The third is no mode of the product: places in the two
/// lists before it, each counting 1 / (60 + place).
const SYSTEMS: [&str; 4] = ["text", "vectors", "rrf", "hybrid"];
const HYBRID: usize = 3;
/// Tokens in which evidence has to fit.
const BUDGETS: [usize; 4] = [500, 1000, 2000, 4000];
/// How deep the two lists are that reciprocal-rank fusion sees.
const DEPTH: usize = 100;

struct Options {
    sets: Vec<String>,
    json: Option<PathBuf>,
    binary: Option<PathBuf>,
    dump: Option<PathBuf>,
    budgets: bool,
}

pub(crate) fn run(rest: &[&str]) -> Result<()> {
    if let ["compare", before, after] = rest {
        return compare(before.as_ref(), after.as_ref());
    }
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
    let mut stored = json!({ "sets": {} });
    let mut dumped = String::new();
    for set in &options.sets {
        let groups = sets::load(&data, set)?;
        let workspaces = Workspaces::make(&binary, set, &groups)?;
        if options.dump.is_some() {
            dump(&workspaces, set, &groups, &mut dumped)?;
            continue;
        }
        let asked = ask_all(&workspaces, &groups, options.budgets)?;
        report(set, &workspaces, &asked, options.budgets);
        stored["sets"][set] = to_json(&workspaces, &asked);
    }
    if let Some(path) = &options.dump {
        fs::write(path, dumped)?;
    } else if let Some(path) = &options.json {
        fs::write(path, serde_json::to_string(&stored)? + "\n")?;
    }
    Ok(())
}

fn parse(rest: &[&str]) -> Result<Options> {
    let mut options = Options {
        sets: Vec::new(),
        json: None,
        binary: None,
        dump: None,
        budgets: true,
    };
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        let mut file = || words.next().map(PathBuf::from).context("expected a file");
        match *word {
            "--json" => options.json = Some(file()?),
            "--binary" => options.binary = Some(file()?),
            "--dump" => options.dump = Some(file()?),
            "--no-budgets" => options.budgets = false,
            name if sets::SETS.contains(&name) => options.sets.push(name.to_owned()),
            name => bail!("unknown set `{name}`; known are {}", sets::SETS.join(", ")),
        }
    }
    if options.sets.is_empty() {
        options.sets = sets::SETS.map(str::to_owned).to_vec();
    }
    Ok(options)
}

/// The groups of a set on disk, each with an index of its own.
struct Workspaces {
    binary: PathBuf,
    home: PathBuf,
    folders: Vec<PathBuf>,
    passages: u64,
    index_bytes: u64,
    text_bytes: u64,
    /// What indexing took, and how many passages were given vectors meanwhile.
    seconds: f64,
    embedded: u64,
}

impl Workspaces {
    /// Kept between runs: a file is written only where it differs, and
    /// indexing what is indexed takes no time.
    fn make(binary: &Path, set: &str, groups: &[Group]) -> Result<Workspaces> {
        let root = crate::target().join("bench/recall");
        let home = root.join("home");
        fs::create_dir_all(&home)?;
        let mut all = Workspaces {
            binary: binary.to_owned(),
            home,
            folders: Vec::new(),
            passages: 0,
            index_bytes: 0,
            text_bytes: 0,
            seconds: 0.0,
            embedded: 0,
        };
        for (at, group) in groups.iter().enumerate() {
            let folder = root.join(set).join(at.to_string());
            let knowledge = folder.join("knowledge");
            fs::create_dir_all(&knowledge)?;
            let mut there: HashMap<String, ()> = fs::read_dir(&knowledge)?
                .filter_map(|entry| Some((entry.ok()?.file_name().into_string().ok()?, ())))
                .collect();
            for file in &group.files {
                let name = format!("{}.md", file.id);
                let path = knowledge.join(&name);
                all.text_bytes += file.text.len() as u64;
                let same = there.remove(&name).is_some()
                    && fs::read(&path).is_ok_and(|bytes| bytes == file.text.as_bytes());
                if !same {
                    fs::write(&path, &file.text)?;
                }
            }
            for (name, ()) in there {
                fs::remove_file(knowledge.join(name))?;
            }
            let before = all.stats(&folder)?.0;
            let begin = Instant::now();
            all.ask(&folder, &["index"], None)?;
            all.seconds += begin.elapsed().as_secs_f64();
            let (embedded, passages) = all.stats(&folder)?;
            ensure!(
                embedded == passages,
                "{}: not all embedded",
                folder.display()
            );
            all.embedded += embedded.saturating_sub(before);
            all.passages += passages;
            all.index_bytes += fs::metadata(folder.join(".memory-forge/index.db"))?.len();
            all.folders.push(folder);
            eprint!(
                "\r{set}: {} of {} workspaces indexed ",
                at + 1,
                groups.len()
            );
        }
        eprintln!();
        Ok(all)
    }

    /// Passages with a vector, and passages.
    fn stats(&self, folder: &Path) -> Result<(u64, u64)> {
        if !folder.join(".memory-forge/index.db").exists() {
            return Ok((0, 0));
        }
        // A search that looks at nothing tells how much has a vector.
        let answer = self.ask(folder, &["search", "--json", "-n", "1", "x"], None)?;
        let answer: Value = serde_json::from_slice(&answer)?;
        let number = |name: &str| answer["embedded"][name].as_u64().unwrap_or(0);
        Ok((number("passages"), number("of")))
    }

    fn ask(&self, folder: &Path, arguments: &[&str], now: Option<&str>) -> Result<Vec<u8>> {
        let program = super::Program {
            binary: &self.binary,
            home: &self.home,
            folder,
        };
        program.run(arguments, now)
    }

    fn search(&self, at: usize, question: &Question, more: &[&str]) -> Result<Value> {
        let mut arguments = vec!["search", "--json"];
        arguments.extend(more);
        arguments.extend(["--", question.text.as_str()]);
        let answer = self.ask(&self.folders[at], &arguments, question.date.as_deref())?;
        Ok(serde_json::from_slice(&answer)?)
    }
}

/// What one question found.
struct Asked {
    id: String,
    kind: String,
    scores: [Scores; 4],
    /// Share of the gold files of which something stands within each budget.
    within: [f64; BUDGETS.len()],
    milliseconds: f64,
    /// In the ten passages that were returned, as estimated.
    tokens: f64,
}

fn ask_all(workspaces: &Workspaces, groups: &[Group], budgets: bool) -> Result<Vec<Asked>> {
    let jobs: Vec<(usize, &Question)> = groups
        .iter()
        .enumerate()
        .flat_map(|(at, group)| group.questions.iter().map(move |q| (at, q)))
        .collect();
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Result<Asked>)>> = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some((group, question)) = jobs.get(at) else {
                        break;
                    };
                    let asked = ask_one(workspaces, *group, question, budgets);
                    done.lock().expect("no thread panics").push((at, asked));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no thread panics");
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, asked)| asked).collect()
}

fn ask_one(
    workspaces: &Workspaces,
    group: usize,
    question: &Question,
    budgets: bool,
) -> Result<Asked> {
    let depth = DEPTH.to_string();
    let list = |mode: &str| -> Result<Vec<String>> {
        let more = ["--unique", "-n", &depth, "--mode", mode];
        Ok(files(&workspaces.search(group, question, &more)?))
    };
    let (text, vectors) = (list("text")?, list("vector")?);
    let begin = Instant::now();
    let answer = workspaces.search(group, question, &["--unique", "-n", "10"])?;
    let milliseconds = begin.elapsed().as_secs_f64() * 1000.0;
    let hybrid = files(&answer);
    let both = reciprocal(&[&text, &vectors]);
    let mut within = [0.0; BUDGETS.len()];
    if budgets {
        for (within, budget) in within.iter_mut().zip(BUDGETS) {
            let answer = workspaces.search(group, question, &["--budget", &budget.to_string()])?;
            let found = files(&answer);
            let held = question.gold.iter().filter(|id| found.contains(id)).count();
            *within = held as f64 / question.gold.len() as f64;
        }
    }
    Ok(Asked {
        id: question.id.clone(),
        kind: question.kind.clone(),
        scores: [&text, &vectors, &both, &hybrid].map(|found| Scores::of(found, &question.gold)),
        within,
        milliseconds,
        tokens: tokens(&answer),
    })
}

fn tokens(answer: &Value) -> f64 {
    let texts = answer["results"].as_array().into_iter().flatten();
    let texts = texts.filter_map(|hit| hit["text"].as_str());
    texts.map(forge_app::tokens::estimate_tokens).sum::<usize>() as f64
}

fn reciprocal(lists: &[&Vec<String>]) -> Vec<String> {
    let mut scores: BTreeMap<&String, f64> = BTreeMap::new();
    for list in lists {
        for (at, id) in list.iter().enumerate() {
            *scores.entry(id).or_default() += 1.0 / (61.0 + at as f64);
        }
    }
    let mut ranked: Vec<_> = scores.into_iter().collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
    ranked.into_iter().map(|(id, _)| id.clone()).collect()
}

fn report(set: &str, workspaces: &Workspaces, asked: &[Asked], budgets: bool) {
    println!(
        "\n{set}: n = {}, {} workspaces, {:.1} MB of text, {} passages, index {:.1} MB",
        asked.len(),
        workspaces.folders.len(),
        workspaces.text_bytes as f64 / 1e6,
        workspaces.passages,
        workspaces.index_bytes as f64 / 1e6,
    );
    if workspaces.embedded > 0 {
        println!(
            "  indexed in {:.0} s: {:.0} passages a second, vectors included",
            workspaces.seconds,
            workspaces.embedded as f64 / workspaces.seconds
        );
    }
    let heads = NAMES.map(|name| format!("{name:>18}")).concat();
    println!("  {:10}{heads}", "");
    for (at, system) in SYSTEMS.iter().enumerate() {
        let cells = (0..NAMES.len()).map(|figure| {
            let values = column(asked, at, figure);
            let (low, high) = interval(&values);
            let text = format!(
                "{:.1} ({:.1}–{:.1})",
                100.0 * mean(&values),
                100.0 * low,
                100.0 * high
            );
            format!("{text:>18}")
        });
        println!("  {system:10}{}", cells.collect::<String>());
    }
    if budgets {
        let cells = BUDGETS.iter().enumerate().map(|(at, budget)| {
            let values: Vec<f64> = asked.iter().map(|a| a.within[at]).collect();
            format!("{budget}: {:.1}", 100.0 * mean(&values))
        });
        println!(
            "  evidence within a budget of tokens  {}",
            cells.collect::<Vec<_>>().join("   ")
        );
    }
    let mut times: Vec<f64> = asked.iter().map(|a| a.milliseconds).collect();
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    println!(
        "  one search, process and all: p50 {:.1} ms, p95 {:.1} ms; {:.0} tokens returned",
        at(0.5),
        at(0.95),
        mean(&asked.iter().map(|a| a.tokens).collect::<Vec<_>>())
    );
    let mut kinds: BTreeMap<&str, Vec<&Asked>> = BTreeMap::new();
    for one in asked {
        kinds.entry(&one.kind).or_default().push(one);
    }
    for (kind, of) in kinds.iter().filter(|_| kinds.len() > 1) {
        let of_system = |system: usize, figure: usize| {
            let values: Vec<f64> = of.iter().map(|a| a.scores[system].list()[figure]).collect();
            100.0 * mean(&values)
        };
        let mean = |figure: usize| of_system(HYBRID, figure);
        println!(
            "    {kind:28} n = {:3}  any@1 {:.1}  frac@5 {:.1}  all@5 {:.1}  R@10 {:.1}  NDCG@10 {:.1} (text {:.1}, vectors {:.1})",
            of.len(),
            mean(0),
            mean(2),
            mean(3),
            mean(4),
            mean(5),
            of_system(0, 5),
            of_system(1, 5)
        );
    }
}

fn column(asked: &[Asked], system: usize, figure: usize) -> Vec<f64> {
    asked
        .iter()
        .map(|a| a.scores[system].list()[figure])
        .collect()
}

/// Every question's figures, so that runs can be compared question by
/// question.
fn to_json(workspaces: &Workspaces, asked: &[Asked]) -> Value {
    let questions: serde_json::Map<String, Value> = asked
        .iter()
        .map(|a| {
            let scores: serde_json::Map<String, Value> = SYSTEMS
                .iter()
                .zip(&a.scores)
                .map(|(system, scores)| ((*system).to_owned(), json!(scores.list())))
                .collect();
            let value = json!({
                "kind": a.kind, "scores": scores, "within": a.within,
                "milliseconds": a.milliseconds, "tokens": a.tokens,
            });
            (a.id.clone(), value)
        })
        .collect();
    json!({
        "figures": NAMES,
        "budgets": BUDGETS,
        "passages": workspaces.passages,
        "indexBytes": workspaces.index_bytes,
        "indexed": { "passages": workspaces.embedded, "seconds": workspaces.seconds },
        "questions": questions,
    })
}

/// Two runs, question by question: what changed, and how likely by chance.
fn compare(before: &Path, after: &Path) -> Result<()> {
    let read = |path: &Path| -> Result<Value> {
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        Ok(serde_json::from_str(&text)?)
    };
    let (before, after) = (read(before)?, read(after)?);
    println!(
        "{:14} {:10} {:>9} {:>9} {:>9}   95 % of the difference   chance",
        "set", "figure", "before", "after", "change"
    );
    let sets = before["sets"].as_object().cloned().unwrap_or_default();
    for (set, old) in &sets {
        let new = &after["sets"][set];
        let Some(questions) = old["questions"].as_object() else {
            continue;
        };
        for (figure, name) in NAMES.iter().enumerate() {
            let pairs: Vec<(f64, f64)> = questions
                .iter()
                .filter_map(|(id, old)| {
                    let of = |value: &Value| value["scores"]["hybrid"][figure].as_f64();
                    Some((of(old)?, of(&new["questions"][id])?))
                })
                .collect();
            if pairs.is_empty() {
                continue;
            }
            let differences: Vec<f64> = pairs.iter().map(|(a, b)| b - a).collect();
            let (low, high) = interval(&differences);
            let side = |of: fn(&(f64, f64)) -> f64| {
                100.0 * mean(&pairs.iter().map(of).collect::<Vec<_>>())
            };
            println!(
                "{set:14} {name:10} {:9.1} {:9.1} {:+9.1}   {:+.1} to {:+.1} {:>16.3}",
                side(|p| p.0),
                side(|p| p.1),
                100.0 * mean(&differences),
                100.0 * low,
                100.0 * high,
                chance(&differences),
            );
        }
    }
    Ok(())
}

/// What a script needs to fit the fusion: for each question the passages that
/// each side found, with their scores.
fn dump(workspaces: &Workspaces, set: &str, groups: &[Group], out: &mut String) -> Result<()> {
    for (at, group) in groups.iter().enumerate() {
        for question in &group.questions {
            let side = |mode: &str, score: &str| -> Result<Vec<Value>> {
                let answer = workspaces.search(at, question, &["-n", "200", "--mode", mode])?;
                let names = files(&answer);
                let hits = answer["results"].as_array().cloned().unwrap_or_default();
                Ok(names
                    .into_iter()
                    .zip(hits)
                    .map(|(id, hit)| json!([id, hit["lines"], hit["why"][score], hit["relevance"]]))
                    .collect())
            };
            let record = json!({
                "set": set,
                "group": group.name,
                "id": question.id,
                "kind": question.kind,
                "question": question.text,
                "date": question.date,
                "gold": question.gold,
                "query": forge_app::embed::builtin_embedder().embed_query(&question.text),
                "text": side("text", "bm25")?,
                "vector": side("vector", "cosine")?,
            });
            out.push_str(&record.to_string());
            out.push('\n');
        }
        eprint!("\r{set}: {} of {} groups asked ", at + 1, groups.len());
    }
    eprintln!();
    Ok(())
}
