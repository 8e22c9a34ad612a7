//! `bench closets`: how well entries alone find files, without their text.
//! Conversations become Markdown files, the product writes their closets, and
//! questions are asked of the closets as they were read back. Full text of the
//! same files is asked in the same run.

use std::collections::HashMap;
use std::sync::Mutex;

use anyhow::{Result, bail};
use forge::embed::{self, Embedder};
use forge::index::terms::Terms;
use forge::routing::closets::ask::{Listed, ask};
use forge::routing::closets::build::{self, Build};
use forge::workspace::Workspace;
use jiff::Timestamp;

use super::recall::scores::{Scores, interval};
use super::sets::{self, File, Group};

pub(crate) fn run(rest: &[&str]) -> Result<()> {
    let Some(data) = super::data_folder() else {
        println!(
            "skipped: no benchmark data; set MEMORY_FORGE_BENCH_DATA or put it at ../shared/bench"
        );
        return Ok(());
    };
    let mut sets = Vec::new();
    let mut most = usize::MAX;
    let mut misses = false;
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        match *word {
            "--misses" => misses = true,
            "--groups" => most = words.next().and_then(|n| n.parse().ok()).unwrap_or(most),
            name => sets.push(name),
        }
    }
    if sets.is_empty() {
        sets = vec!["longmemeval", "locomo"];
    }
    for set in sets {
        let mut groups = match set {
            "longmemeval" | "locomo" => sets::load(&data, set)?,
            _ => bail!("unknown set `{set}`; known are longmemeval and locomo"),
        };
        // Questions come sorted by kind, so a part is taken evenly.
        let step = groups.len().div_ceil(most.max(1)).max(1);
        groups = groups.into_iter().step_by(step).collect();
        measure(set, &groups, misses)?;
    }
    Ok(())
}

const SYSTEMS: [&str; 4] = [
    "closets",
    "closets, words only",
    "closets, vectors only",
    "full text, BM25",
];

fn measure(set: &str, groups: &[Group], show: bool) -> Result<()> {
    let model = Remembered {
        model: embed::builtin(),
        known: Mutex::new(HashMap::new()),
    };
    let mut scores: [Vec<Scores>; 4] = Default::default();
    let mut kinds: HashMap<String, Vec<f64>> = HashMap::new();
    let (mut text_size, mut entry_size, mut files) = (0, 0, 0);
    let mut building = 0.0;
    for group in groups {
        let folder = tempfile::tempdir()?;
        std::fs::create_dir(folder.path().join("knowledge"))?;
        for File { id, text } in &group.files {
            std::fs::write(folder.path().join(format!("knowledge/{id}.md")), text)?;
            text_size += text.chars().count();
        }
        files += group.files.len();
        let workspace = Workspace::open(folder.path())?;
        let begin = cpu_seconds();
        let hubs = build::hubs(&workspace)?;
        for hub in &hubs {
            let options = Build {
                force: false,
                dry_run: false,
            };
            build::build(&workspace, hub, options, Timestamp::UNIX_EPOCH)?;
            for path in [hub.closets(), hub.closets_archive()] {
                entry_size += workspace
                    .read_text(&path)
                    .map_or(0, |text| text.chars().count());
            }
        }
        building += cpu_seconds() - begin;
        let listed = build::listed(&workspace, &hubs)?;
        // Names of files are ids here and must not help.
        let mut nameless = listed.clone();
        nameless.iter_mut().for_each(|it| it.name.clear());
        let full = FullText::new(&group.files);
        for question in &group.questions {
            let now = question.date.as_deref().and_then(|d| d.parse().ok());
            let found = |model: Option<&dyn Embedder>| -> Vec<String> {
                ask(&nameless, &question.text, None, model, now)
                    .iter()
                    .map(|hit| listed[hit.at].name.clone())
                    .collect()
            };
            let both = found(Some(&model));
            let score = Scores::of(&both, &question.gold);
            if show && score.frac5 < 1.0 {
                println!("--- {} | {} | {:?}", question.kind, question.text, score);
                for id in &question.gold {
                    let rank = both.iter().position(|it| it == id);
                    let it = listed.iter().find(|it| it.name == *id);
                    println!("  rank {rank:?}");
                    for line in it.map(|it| it.entry.lines()).unwrap_or_default() {
                        println!("     {line}");
                    }
                }
            }
            kinds
                .entry(question.kind.clone())
                .or_default()
                .push(score.frac5);
            scores[0].push(score);
            scores[1].push(Scores::of(&found(None), &question.gold));
            let vectors = vectors_only(&nameless, &listed, &question.text, &model);
            scores[2].push(Scores::of(&vectors, &question.gold));
            scores[3].push(Scores::of(&full.ask(&question.text), &question.gold));
        }
    }
    println!(
        "{set}: n = {}, {files} files, {text_size} characters; closets {entry_size} = {:.1} % ({:.0} a file)",
        scores[0].len(),
        100.0 * entry_size as f64 / text_size as f64,
        entry_size as f64 / files as f64,
    );
    println!(
        "  built with {building:.1} s of processor time: {:.0} MB a minute",
        text_size as f64 / 1e6 / (building / 60.0).max(1e-9)
    );
    println!(
        "  {:22} any@1   any@5   frac@5 (95 %)         all@5   ndcg@10",
        ""
    );
    for (name, scores) in SYSTEMS.iter().zip(&scores) {
        println!("  {name:22} {}", summary(scores));
    }
    let mut kinds: Vec<_> = kinds.into_iter().collect();
    kinds.sort_by(|a, b| a.0.cmp(&b.0));
    for (kind, fracs) in kinds {
        let mean = fracs.iter().sum::<f64>() / fracs.len() as f64;
        println!(
            "    frac@5 {kind:28} n = {:3}  {:.1}",
            fracs.len(),
            100.0 * mean
        );
    }
    Ok(())
}

fn vectors_only(
    nameless: &[Listed],
    listed: &[Listed],
    question: &str,
    model: &Remembered,
) -> Vec<String> {
    let query = model.embed_query(question);
    let dot = |a: &[f32], b: &[f32]| -> f32 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    let mut scored: Vec<(f32, usize)> = nameless
        .iter()
        .enumerate()
        .map(|(at, it)| {
            let mut whole = vec![0f32; query.len()];
            let mut best = 0f32;
            for piece in forge::routing::closets::ask::pieces(&it.entry, None) {
                let vector = model.embed(&piece);
                best = best.max(dot(&query, &vector));
                whole.iter_mut().zip(&vector).for_each(|(w, v)| *w += v);
            }
            (
                best + dot(&query, &whole) / dot(&whole, &whole).sqrt().max(1e-6),
                at,
            )
        })
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.iter().map(|it| listed[it.1].name.clone()).collect()
}

/// What this process has used of the processor, which other work on the
/// machine does not change.
fn cpu_seconds() -> f64 {
    #[cfg(unix)]
    {
        let mut time = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: it writes into the value that it is given and nothing else.
        unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    }
    #[cfg(not(unix))]
    0.0
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

/// BM25 over whole files with the product's own terms.
struct FullText {
    ids: Vec<String>,
    counts: Vec<HashMap<String, f64>>,
    lengths: Vec<f64>,
}

impl FullText {
    fn new(files: &[File]) -> FullText {
        let mut terms = Terms::default();
        let mut counts = Vec::new();
        let mut lengths = Vec::new();
        for File { text, .. } in files {
            let mut count: HashMap<String, f64> = HashMap::new();
            let mut length = 0.0;
            terms.each(text, |term| {
                length += 1.0;
                *count.entry(term.to_owned()).or_default() += 1.0;
            });
            counts.push(count);
            lengths.push(length);
        }
        FullText {
            ids: files.iter().map(|file| file.id.clone()).collect(),
            counts,
            lengths,
        }
    }

    fn ask(&self, question: &str) -> Vec<String> {
        let wanted = Terms::default().of(question);
        let n = self.ids.len() as f64;
        let mean = self.lengths.iter().sum::<f64>() / n;
        let mut scored: Vec<(f64, usize)> = (0..self.ids.len())
            .map(|at| {
                let score = wanted
                    .iter()
                    .map(|term| {
                        let count = self.counts[at].get(term).copied().unwrap_or(0.0);
                        let holding =
                            self.counts.iter().filter(|c| c.contains_key(term)).count() as f64;
                        let idf = (1.0 + (n - holding + 0.5) / (holding + 0.5)).ln();
                        idf * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * self.lengths[at] / mean))
                    })
                    .sum();
                (score, at)
            })
            .collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        scored.iter().map(|it| self.ids[it.1].clone()).collect()
    }
}

/// The built-in model, which computes each vector once.
struct Remembered {
    model: &'static dyn Embedder,
    known: Mutex<HashMap<String, Vec<f32>>>,
}

impl Embedder for Remembered {
    fn id(&self) -> &str {
        self.model.id()
    }

    fn dimensions(&self) -> usize {
        self.model.dimensions()
    }

    fn unrelated(&self) -> f32 {
        self.model.unrelated()
    }

    fn embed(&self, text: &str) -> Vec<f32> {
        let known = self.known.lock().map(|known| known.get(text).cloned());
        if let Ok(Some(vector)) = known {
            return vector;
        }
        let vector = self.model.embed(text);
        if let Ok(mut known) = self.known.lock() {
            known.insert(text.to_owned(), vector.clone());
        }
        vector
    }

    fn embed_query(&self, question: &str) -> Vec<f32> {
        self.model.embed_query(question)
    }
}
