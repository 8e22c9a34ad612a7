//! `bench recall`: how well questions find their documents, in each mode, in
//! one run: full text alone, vectors alone, both. Documents go through the
//! product's own parser, passages, index and ranking.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use forge::document;
use forge::embed::{self, Embedder};
use forge::index::{Change, Index, Sizes, Stamp};
use forge::knowledge::describe::describe;
use forge::knowledge::refresh;
use forge::recall::{self, Ask, Mode};
use forge::workspace::{RelPath, Role};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Documents that are asked together, and the questions to them.
#[derive(Default)]
struct Group {
    documents: Vec<(String, String)>,
    questions: Vec<(String, HashSet<String>)>,
}

const SETS: [&str; 7] = [
    "cranfield",
    "scifact",
    "cosqa",
    "locomo-turns",
    "locomo",
    "beam",
    "qmsum",
];

pub(crate) fn run(rest: &[&str]) -> Result<()> {
    let wanted: Vec<&str> = match rest {
        [] => SETS.to_vec(),
        names => names.to_vec(),
    };
    let Some(data) = super::data_folder() else {
        println!(
            "skipped: no benchmark data; set MEMORY_FORGE_BENCH_DATA or put it at ../shared/bench"
        );
        return Ok(());
    };
    println!(
        "{:14} {:>5}  {:>22}  {:>22}  {:>22}",
        "set", "n", "text ndcg10/any5/any1", "vector", "hybrid"
    );
    for name in wanted {
        let groups = load(&data, name)?;
        let mut scores = [Scores::default(), Scores::default(), Scores::default()];
        for group in groups.values() {
            measure(group, &mut scores)?;
        }
        let n = scores[0].n;
        let [text, vector, hybrid] = scores.map(|s| s.line());
        println!("{name:14} {n:>5}  {text:>22}  {vector:>22}  {hybrid:>22}");
    }
    Ok(())
}

#[derive(Default)]
struct Scores {
    n: usize,
    ndcg: f64,
    any5: f64,
    any1: f64,
}

impl Scores {
    fn add(&mut self, found: &[String], gold: &HashSet<String>) {
        self.n += 1;
        let gain = |rank: usize| 1.0 / (rank as f64 + 2.0).log2();
        let dcg: f64 = found
            .iter()
            .take(10)
            .enumerate()
            .filter(|(_, d)| gold.contains(*d))
            .map(|(i, _)| gain(i))
            .sum();
        let ideal: f64 = (0..gold.len().min(10)).map(gain).sum();
        self.ndcg += dcg / ideal.max(1e-9);
        self.any5 += found.iter().take(5).any(|d| gold.contains(d)) as u8 as f64;
        self.any1 += found.iter().take(1).any(|d| gold.contains(d)) as u8 as f64;
    }

    fn line(&self) -> String {
        let n = self.n.max(1) as f64 / 100.0;
        format!(
            "{:.1} / {:.1} / {:.1}",
            self.ndcg / n,
            self.any5 / n,
            self.any1 / n
        )
    }
}

fn measure(group: &Group, scores: &mut [Scores; 3]) -> Result<()> {
    let mut index = Index::in_memory()?;
    let mut changes = Vec::new();
    for (i, (_, text)) in group.documents.iter().enumerate() {
        let path = RelPath::new(&format!("knowledge/{i}.md"))?;
        let stamp = Stamp {
            size: 0,
            mtime_ns: 0,
            recorded_ns: 0,
        };
        let document = document::parse(text.clone());
        let put = describe(
            &path,
            Role::Knowledge,
            stamp,
            i.to_string(),
            &document,
            Sizes::up_to(500),
        );
        changes.push(Change::Put(Box::new(put)));
    }
    index.apply(changes)?;
    let model: &dyn Embedder = embed::builtin();
    refresh::embed(&mut index, model, &mut |_, _| true)?;
    let catalogue = index.catalogue()?;
    let nothing = HashSet::new();
    for (question, gold) in &group.questions {
        for (mode, scores) in [Mode::Text, Mode::Vector, Mode::Hybrid]
            .into_iter()
            .zip(scores.iter_mut())
        {
            let ask = Ask {
                question,
                mode,
                limit: 10,
                unique: true,
                kinds: Vec::new(),
                scopes: Vec::new(),
                since: None,
                forgotten: &nothing,
                corrections: &forge::corrections::NONE,
                explain: false,
            };
            let answer = recall::ask(&index, &catalogue, Some(model), &ask)?;
            let found: Vec<String> = answer
                .hits
                .iter()
                .filter_map(|h| {
                    let number: usize = h
                        .passage
                        .path
                        .strip_prefix("knowledge/")?
                        .strip_suffix(".md")?
                        .parse()
                        .ok()?;
                    Some(group.documents[number].0.clone())
                })
                .collect();
            scores.add(&found, gold);
        }
    }
    Ok(())
}

/// The files of a set and the fields that matter in them.
fn load(data: &Path, set: &str) -> Result<BTreeMap<String, Group>> {
    let (documents, questions, group, gold) = match set {
        "cranfield" => ("cranfield/docs", "cranfield/queries", "", "gold"),
        "scifact" => ("scifact/docs", "scifact/queries", "", "gold"),
        "cosqa" => ("cosqa/docs", "cosqa/queries_dev", "", "gold"),
        "locomo-turns" => (
            "locomo/dev-turns",
            "locomo/dev-queries",
            "conv",
            "gold_turns",
        ),
        "locomo" => (
            "locomo/dev-sessions",
            "locomo/dev-queries",
            "conv",
            "gold_sessions",
        ),
        "beam" => ("beam/dev-docs", "beam/dev-queries", "chat", "gold"),
        "qmsum" => ("qmsum/docs_val", "qmsum/queries_val", "scope", "gold"),
        _ => bail!("unknown set `{set}`; known are {}", SETS.join(", ")),
    };
    let field = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    for value in lines(&data.join(documents))? {
        let speaker = value["speaker"]
            .as_str()
            .map(|s| format!("{s}: "))
            .unwrap_or_default();
        let text = format!("{speaker}{}", field(&value, "text"));
        groups
            .entry(field(&value, group))
            .or_default()
            .documents
            .push((field(&value, "id"), text));
    }
    for value in lines(&data.join(questions))? {
        let gold: HashSet<String> = value[gold]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|g| g.as_str().map(str::to_owned))
            .collect();
        if gold.is_empty() || value["type"] == "abstention" {
            continue;
        }
        groups
            .entry(field(&value, group))
            .or_default()
            .questions
            .push((field(&value, "question"), gold));
    }
    Ok(groups)
}

pub(super) fn lines(stem: &Path) -> Result<Vec<Value>> {
    let path = PathBuf::from(format!("{}.jsonl.gz", stem.display()));
    let output = Command::new("gzip")
        .arg("-dc")
        .arg(&path)
        .output()
        .context("cannot run `gzip`")?;
    if !output.status.success() {
        bail!("cannot read `{}`", path.display());
    }
    let sum: [u8; 32] = Sha256::digest(&output.stdout).into();
    let short: String = sum[..6].iter().map(|byte| format!("{byte:02x}")).collect();
    eprintln!("input {} sha256 {short}…", path.display());
    String::from_utf8(output.stdout)?
        .lines()
        .map(|l| Ok(serde_json::from_str(l)?))
        .collect()
}
