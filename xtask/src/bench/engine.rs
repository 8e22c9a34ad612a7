//! `bench engine`: the shared index on a real server, which it starts. `parity`
//! asks both engines the same questions in one run; `scale` fills the server
//! with passages cut from public Markdown and measures pushing and asking.

use std::collections::HashSet;
use std::io::Read;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use engines::postgres::{Engine, Environment, Member, Push, Target, Within};
use forge::corrections::Corrections;
use forge::embed::{self, Embedder};
use forge::index::Packed;
use forge::knowledge::fresh::{self, Opening};
use forge::knowledge::{describe, refresh};
use forge::publish::{self, Include, Item, Published};
use forge::recall::{self, Ask, Mode};
use forge::workspace::{RelPath, Role, Workspace};
use testkit::postgres::{Postgres, Version};

use super::recall::scores::{Scores, interval, mean};
use super::sets;

const TENANT: &str = "bench";
const LOGIN: &str = "bencher";

struct Options {
    version: Version,
    groups: usize,
    words: Vec<String>,
}

pub(crate) fn run(rest: &[&str]) -> Result<()> {
    let [what, rest @ ..] = rest else {
        bail!("usage: bench engine parity|scale");
    };
    let mut options = Options {
        version: Version::Eighteen,
        groups: usize::MAX,
        words: Vec::new(),
    };
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        match *word {
            "--server" => {
                options.version = match words.next() {
                    Some(&"15") => Version::Fifteen,
                    Some(&"18") => Version::Eighteen,
                    _ => bail!("`--server` takes 15 or 18"),
                }
            }
            "--groups" => {
                let count = words.next().context("`--groups` takes a number")?;
                options.groups = count.parse()?;
            }
            other => options.words.push(other.to_owned()),
        }
    }
    let tmp = crate::target().join("tmp");
    let settings = "-c shared_buffers=2GB -c maintenance_work_mem=1GB -c max_wal_size=8GB -c effective_cache_size=8GB";
    let server = Postgres::start_with(&tmp.to_string_lossy(), options.version, settings);
    let Some(server) = server else { return Ok(()) };
    let made = server.sql("postgres", "postgres", "create database bench");
    made.map_err(anyhow::Error::msg)?;
    let model = embed::builtin();
    let admin = connect(&server, "postgres")?;
    let member = Member {
        login: LOGIN.to_owned(),
        team: "all".to_owned(),
        writes: true,
    };
    admin.init(model.id(), model.dimensions(), &[member])?;
    let status = admin.status()?;
    println!(
        "PostgreSQL {}, BM25 index: {}, model {}",
        status.server, status.bm25, status.model
    );
    match *what {
        "parity" => parity(&server, &options, model),
        "scale" => scale(&server, &options, model),
        other => bail!("`bench engine {other}` is not known"),
    }
}

fn connect(server: &Postgres, login: &str) -> Result<Engine> {
    let target = Target::read(&server.url(login, "bench"), &Environment::default())?;
    Ok(Engine::open(&target, TENANT)?)
}

fn asking<'a>(
    question: &'a str,
    forgotten: &'a HashSet<String>,
    corrections: &'a Corrections,
    today: Option<jiff::civil::Date>,
) -> Ask<'a> {
    Ask {
        question,
        mode: Mode::Hybrid,
        limit: 10,
        unique: true,
        kinds: Vec::new(),
        scopes: vec!["knowledge", "routing"],
        since: None,
        today,
        forgotten,
        corrections,
        explain: false,
    }
}

fn parity(server: &Postgres, options: &Options, model: &dyn Embedder) -> Result<()> {
    let Some(data) = super::data_folder() else {
        println!("skipped: no benchmark data");
        return Ok(());
    };
    let engine = connect(server, LOGIN)?;
    let names: Vec<String> = match options.words.is_empty() {
        true => sets::SETS.map(str::to_owned).to_vec(),
        false => options.words.clone(),
    };
    for set in &names {
        let groups = sets::load(&data, set)?;
        let (mut here, mut there) = (Vec::new(), Vec::new());
        let (mut passages, mut same) = (0, 0);
        let taken = groups.len().min(options.groups);
        for (at, group) in groups.iter().take(taken).enumerate() {
            let folder = tempfile::tempdir()?;
            std::fs::create_dir(folder.path().join("knowledge"))?;
            for file in &group.files {
                let path = folder
                    .path()
                    .join("knowledge")
                    .join(format!("{}.md", file.id));
                std::fs::write(path, &file.text)?;
            }
            let workspace = Workspace::open(folder.path())?;
            let now = jiff::Timestamp::UNIX_EPOCH;
            let mut opening = Opening {
                now,
                wait: Duration::from_secs(5),
                force: false,
                progress: &mut |_, _| {},
            };
            let mut fresh = fresh::fresh(&workspace, &mut opening)?;
            refresh::embed(&mut fresh.index, model, &mut |_, _| true)?;
            passages += fresh.index.passage_counts()?.chunks;
            let name = format!("{set}-{at}");
            push_workspace(&engine, &workspace, &fresh, &name, model)?;
            let forgotten = HashSet::new();
            let corrections = Corrections::default();
            let search = engine.search(Within::Workspace(&name))?;
            for question in &group.questions {
                let today = question.date.as_ref().and_then(|it| it.parse().ok());
                let ask = asking(&question.text, &forgotten, &corrections, today);
                let ours = recall::ask(&fresh.index, &fresh.catalogue, Some(model), &ask)?;
                let theirs = recall::ask_of(&search, Some(model), &ask)?;
                let ids = |answer: &recall::Answer| -> Vec<String> {
                    let paths = answer.hits.iter().map(|hit| hit.passage.path.as_str());
                    let stem = |path: &str| {
                        let name = path.rsplit('/').next().unwrap_or(path);
                        name.trim_end_matches(".md").to_owned()
                    };
                    paths.map(stem).collect()
                };
                let (ours, theirs) = (ids(&ours), ids(&theirs));
                same += usize::from(ours == theirs);
                here.push(Scores::of(&ours, &question.gold).frac5);
                there.push(Scores::of(&theirs, &question.gold).frac5);
            }
            drop(search);
            engine.drop_workspace(&name)?;
            eprint!("\r{set}: {} of {taken} groups ", at + 1);
        }
        eprintln!();
        ensure!(!here.is_empty(), "{set} has no question");
        let shown = |values: &[f64]| {
            let (low, high) = interval(values);
            format!(
                "{:.1} ({:.1}–{:.1})",
                100.0 * mean(values),
                100.0 * low,
                100.0 * high
            )
        };
        println!(
            "{set}: n = {}, {taken} workspaces, {passages} passages\n  frac@5  embedded {}  postgres {}  difference {:+.2} points; {same} answers are the same ten files in the same order",
            here.len(),
            shown(&here),
            shown(&there),
            100.0 * (mean(&there) - mean(&here)),
        );
    }
    Ok(())
}

fn push_workspace(
    engine: &Engine,
    workspace: &Workspace,
    fresh: &fresh::Fresh,
    name: &str,
    model: &dyn Embedder,
) -> Result<()> {
    let include = Include::default();
    let id = Some(model.id());
    let (items, _) = publish::list(workspace, &fresh.index, &fresh.catalogue, include, id)?;
    engine.push(
        &pushing(name, &items),
        &mut |item| publish::read(workspace, &fresh.index, item, Some(model)).map_err(Into::into),
        &mut |_, _| {},
    )?;
    Ok(())
}

fn pushing<'a>(name: &'a str, items: &'a [Item]) -> Push<'a> {
    Push {
        workspace: name,
        identity: "",
        team: "all",
        commit: None,
        items,
        edges: &[],
        knows: &|_| true,
        force: false,
    }
}

/// Passages of one workspace, and how many push and ask at once.
const A_WORKSPACE: usize = 1000;
const AT_ONCE: usize = 10;
/// Passages whose vectors the model makes; others get one of these with noise.
const REAL: usize = 300;
/// Questions for each figure.
const QUESTIONS: usize = 300;

/// A generator whose every run is the same.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }
}

/// Paragraphs of the public Markdown.
fn paragraphs(data: &Path) -> Result<Vec<String>> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(data.join("md"))? {
        let file = std::fs::File::open(entry?.path())?;
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(file));
        for entry in archive.entries()? {
            let mut entry = entry?;
            if entry.path()?.extension().is_none_or(|it| it != "md") {
                continue;
            }
            let mut text = String::new();
            if entry.read_to_string(&mut text).is_err() {
                continue;
            }
            let long = |it: &&str| (80..1500).contains(&it.len());
            all.extend(text.split("\n\n").filter(long).map(str::to_owned));
        }
        if all.len() > 200_000 {
            break;
        }
    }
    ensure!(
        all.len() > 1000,
        "there is too little Markdown in {}",
        data.display()
    );
    Ok(all)
}

fn scale(server: &Postgres, options: &Options, model: &dyn Embedder) -> Result<()> {
    let count: usize = match options.words.first() {
        Some(count) => count.replace('_', "").parse()?,
        None => 1_000_000,
    };
    let Some(data) = super::data_folder() else {
        println!("skipped: no benchmark data");
        return Ok(());
    };
    let paragraphs = paragraphs(&data)?;
    let mut dice = Dice(20_261_116);
    let real: Vec<Vec<f32>> = (0..REAL)
        .map(|_| model.embed(&paragraphs[dice.roll(paragraphs.len())]))
        .collect();
    let workspaces = count.div_ceil(A_WORKSPACE);
    println!(
        "{count} passages of {} paragraphs in {workspaces} workspaces",
        paragraphs.len()
    );

    let next = AtomicUsize::new(0);
    let begin = Instant::now();
    let failure: Mutex<Option<anyhow::Error>> = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                let work = || -> Result<()> {
                    let engine = connect(server, LOGIN)?;
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        if at >= workspaces {
                            return Ok(());
                        }
                        let size = A_WORKSPACE.min(count - at * A_WORKSPACE);
                        fill(&engine, at, size, &paragraphs, &real)?;
                        if at % 20 == 19 {
                            let rate = (at + 1) as f64 * A_WORKSPACE as f64
                                / begin.elapsed().as_secs_f64();
                            eprint!("\r{} workspaces, {rate:.0} passages a second ", at + 1);
                        }
                    }
                };
                if let Err(error) = work() {
                    *failure.lock().expect("no thread panics") = Some(error);
                }
            });
        }
    });
    eprintln!();
    if let Some(error) = failure.into_inner().expect("no thread panics") {
        return Err(error);
    }
    let took = begin.elapsed().as_secs_f64();
    println!(
        "push: {AT_ONCE} at once, {took:.0} s, {:.0} passages a second",
        count as f64 / took
    );
    let sql = |sql: &str| {
        server
            .sql("postgres", "bench", sql)
            .map_err(anyhow::Error::msg)
    };
    sql("analyze")?;
    println!("size: {}", sql(
        "select string_agg(name || ' ' || pg_size_pretty(bytes), ', ' order by bytes desc) from (
            select c.relname as name, sum(pg_total_relation_size(i.inhrelid)) as bytes
            from pg_inherits i join pg_class c on c.oid = i.inhparent
            where c.relkind = 'p' group by 1) as x",
    )?);
    println!("indexes of passages: {}", sql(
        "select string_agg(c.relname || ' ' || pg_size_pretty(pg_relation_size(c.oid)), ', ') from pg_index i
         join pg_class c on c.oid = i.indexrelid join pg_class t on t.oid = i.indrelid
         where t.relname like 'chunk\\_%' and t.relkind = 'r'",
    )?);

    let questions: Vec<String> = (0..QUESTIONS)
        .map(|_| {
            let text = &paragraphs[dice.roll(paragraphs.len())];
            let words: Vec<&str> = text.split_whitespace().collect();
            let from = dice.roll(words.len().saturating_sub(8).max(1));
            words[from..words.len().min(from + 8)]
                .join(" ")
                .replace(['"', '“', '”', '*'], "")
        })
        .collect();
    for mode in [Mode::Text, Mode::Vector, Mode::Hybrid] {
        let times = ask_all(server, &questions, mode, 1, model)?;
        report(&format!("search, one at a time, {}", mode.name()), times);
    }
    let begin = Instant::now();
    let times = ask_all(server, &questions, Mode::Hybrid, AT_ONCE, model)?;
    let rate = times.len() as f64 / begin.elapsed().as_secs_f64();
    report(
        &format!("search, {AT_ONCE} at once, hybrid, {rate:.0} a second"),
        times,
    );
    Ok(())
}

fn fill(
    engine: &Engine,
    at: usize,
    size: usize,
    paragraphs: &[String],
    real: &[Vec<f32>],
) -> Result<()> {
    /// Passages of one document.
    const A_DOCUMENT: usize = 5;
    let mut dice = Dice(1 + at as u64 * 7919);
    let items: Vec<Item> = (0..size.div_ceil(A_DOCUMENT))
        .map(|n| Item {
            path: RelPath::new(&format!("knowledge/n{n}.md")).expect("a path"),
            hash: format!("{at}-{n}"),
            scope: "knowledge".to_owned(),
            replaced_by: None,
        })
        .collect();
    engine.push(
        &pushing(&format!("w{at}"), &items),
        &mut |item| {
            let mut text = format!("# Note {}\n", item.path.stem());
            for part in 0..A_DOCUMENT {
                let paragraph = &paragraphs[dice.roll(paragraphs.len())];
                text += &format!("\n## Part {part}\n\n{}\n", paragraph.replace('#', ""));
            }
            let sizes = forge::index::Sizes { most: 500, aim: 1 };
            let (_, mut put) = describe::of_text(&item.path, Role::Knowledge, text.clone(), sizes);
            put.chunks = parts(&text, &put.title);
            let vectors = put
                .chunks
                .iter()
                .map(|_| Some(noisy(&real[dice.roll(real.len())], &mut dice)));
            Ok(Some(Published {
                path: item.path.clone(),
                hash: item.hash.clone(),
                vectors: vectors.collect(),
                put,
                text,
                fields: "{}".to_owned(),
                replaced_by: None,
                secrets: 0,
            }))
        },
        &mut |_, _| {},
    )?;
    Ok(())
}

/// One passage a part, however small.
fn parts(text: &str, title: &str) -> Vec<forge::index::Chunk> {
    let parts = text.split("\n## ").skip(1);
    parts
        .enumerate()
        .map(|(at, part)| forge::index::Chunk {
            headings: vec![title.to_owned(), format!("Part {at}")],
            lines: (at * 4 + 3, at * 4 + 6),
            text: format!("## {part}"),
            tokens: forge::tokens::estimate(part),
        })
        .collect()
}

fn noisy(vector: &[f32], dice: &mut Dice) -> Packed {
    let mut noisy: Vec<f32> = vector
        .iter()
        .map(|v| v + (dice.roll(2001) as f32 - 1000.0) / 1000.0 * 0.06)
        .collect();
    let length = noisy.iter().map(|v| v * v).sum::<f32>().sqrt();
    noisy.iter_mut().for_each(|v| *v /= length);
    Packed::from(&noisy)
}

/// Milliseconds of every question, asked on connections that stay open.
fn ask_all(
    server: &Postgres,
    questions: &[String],
    mode: Mode,
    at_once: usize,
    model: &dyn Embedder,
) -> Result<Vec<f64>> {
    let next = AtomicUsize::new(0);
    let times: Mutex<Vec<f64>> = Mutex::new(Vec::new());
    let failure: Mutex<Option<anyhow::Error>> = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                let work = || -> Result<()> {
                    let engine = connect(server, LOGIN)?;
                    let (forgotten, corrections) = (HashSet::new(), Corrections::default());
                    while let Some(question) = questions.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let mut ask = asking(question, &forgotten, &corrections, None);
                        (ask.mode, ask.unique) = (mode, false);
                        let begin = Instant::now();
                        let search = engine.search(Within::Everything)?;
                        recall::ask_of(&search, Some(model), &ask)?;
                        drop(search);
                        let took = begin.elapsed().as_secs_f64() * 1000.0;
                        times.lock().expect("no thread panics").push(took);
                    }
                    Ok(())
                };
                if let Err(error) = work() {
                    *failure.lock().expect("no thread panics") = Some(error);
                }
            });
        }
    });
    match failure.into_inner().expect("no thread panics") {
        Some(error) => Err(error),
        None => Ok(times.into_inner().expect("no thread panics")),
    }
}

fn report(what: &str, mut times: Vec<f64>) {
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    println!(
        "{what}: p50 {:.1} ms, p95 {:.1} ms, max {:.1} ms (n = {})",
        at(0.5),
        at(0.95),
        at(1.0),
        times.len()
    );
}
