//! `bench engine scale`: fills the server with passages cut from public
//! Markdown, by ten at once, and asks it. On the way the primary dies in the
//! middle of a push, and its replica takes over.

use std::collections::HashSet;
use std::io::Read;
use std::ops::Range;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use forge_app::corrections::Corrections;
use forge_app::embed::Embedder;
use forge_app::index::PackedVector;
use forge_app::knowledge::describe;
use forge_app::publish::{PublishItem, PublishedDocument};
use forge_app::recall::{self, RecallMode};
use forge_app::wire::IndexPushReport;
use forge_app::workspace::{FileRole, RelPath};
use memory_forge_engines::postgres::{PostgresEngine, WorkspaceSelection};
use testkit::postgres::Postgres;

use super::{LOGIN, Options, TEAM, TENANT, asking, connect, connect_to, member, pushing};

/// Passages of one workspace, and how many push and ask at once.
const A_WORKSPACE: usize = 1000;
const AT_ONCE: usize = 10;
/// Passages of one document.
const A_DOCUMENT: usize = 5;
/// Passages whose vectors the model makes; others get one of these with noise.
const REAL: usize = 300;
/// Workspaces of a small team.
const SMALL: usize = 2;
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

pub(super) fn run(primary: Postgres, options: &Options, model: &dyn Embedder) -> Result<()> {
    let count: usize = match options.words.first() {
        Some(count) => count.replace('_', "").parse()?,
        None => 1_000_000,
    };
    let count = count.max(2 * A_WORKSPACE).next_multiple_of(A_WORKSPACE);
    let Some(data) = super::data_folder() else {
        println!("skipped: no benchmark data");
        return Ok(());
    };
    let paragraphs = paragraphs(&data)?;
    let mut dice = Dice(20_261_116);
    let real: Vec<Vec<f32>> = (0..REAL)
        .map(|_| model.embed(&paragraphs[dice.roll(paragraphs.len())]))
        .collect();
    let workspaces = count / A_WORKSPACE;
    println!(
        "{count} passages of {} paragraphs in {workspaces} workspaces",
        paragraphs.len()
    );

    let contents = Contents {
        paragraphs: &paragraphs,
        real: &real,
    };
    let last = (workspaces / 10).max(1);
    let begin = Instant::now();
    let pushed = push(
        &primary,
        &contents,
        0..workspaces - last,
        &AtomicUsize::new(0),
    );
    let passages = pushed? * A_WORKSPACE;
    let took = begin.elapsed().as_secs_f64();
    println!(
        "push: {AT_ONCE} at once, {passages} passages in {took:.0} s, {:.0} a second",
        passages as f64 / took
    );
    let questions = questions(&paragraphs);
    let server = take_over(
        &primary,
        &contents,
        workspaces - last..workspaces,
        &questions,
        model,
    )?;
    complete(&server, count)?;
    let sql = |sql: &str| {
        server
            .sql("postgres", "bench", sql)
            .map_err(anyhow::Error::msg)
    };
    sql("analyze")?;
    println!("size: {}", sql(
        "select string_agg(name || ' ' || pg_size_pretty(bytes), ', ' order by bytes desc) from (
            select split_part(c.relname, '_', 1) as name, sum(pg_total_relation_size(c.oid)) as bytes
            from pg_class c join pg_namespace n on n.oid = c.relnamespace
            where n.nspname = 'mf' and c.relkind = 'r' group by 1) as x",
    )?);
    println!("indexes of passages: {}", sql(
        "select string_agg(c.relname || ' ' || pg_size_pretty(pg_relation_size(c.oid)), ', ') from pg_index i
         join pg_class c on c.oid = i.indexrelid join pg_class t on t.oid = i.indrelid
         where t.relname like 'chunk\\_%' and t.relkind = 'r' and pg_relation_size(c.oid) > 1000000",
    )?);

    let url = server.url(LOGIN, "bench");
    ask_in_all_ways(&url, &questions, model)?;
    small_teams(&server, &contents, &questions, model)?;
    if options.keep {
        println!("left running: {url}");
        std::mem::forget(server);
    }
    Ok(())
}

/// What a member of a small team waits beside everything that others have, and
/// in a tenant of that size: the cost is to follow what one may see.
fn small_teams(
    server: &Postgres,
    contents: &Contents,
    questions: &[String],
    model: &dyn Embedder,
) -> Result<()> {
    let admin = server.url("postgres", "bench");
    for (tenant, login) in [(TENANT, "beside"), ("little", "alone")] {
        let admin = connect_to(&admin, tenant)?;
        admin.prepare_server(model.id(), model.dimensions(), &[member(login, "small")])?;
        let engine = connect_to(&server.url(login, "bench"), tenant)?;
        for at in 0..SMALL {
            fill(&engine, at, "small", contents)?;
        }
    }
    server
        .sql("postgres", "bench", "analyze")
        .map_err(anyhow::Error::msg)?;
    // In turn, so that both meet the same machine.
    let mut times = [Vec::new(), Vec::new()];
    for some in questions.chunks(30) {
        for (at, (tenant, login)) in [(TENANT, "beside"), ("little", "alone")].iter().enumerate() {
            let url = server.url(login, "bench");
            times[at].extend(ask_all(
                (&url, tenant),
                some,
                RecallMode::Hybrid,
                1,
                model,
                None,
            )?);
        }
    }
    let [mut beside, mut alone] = times;
    let ratio = at(&mut beside, 50) / at(&mut alone, 50);
    let seen = SMALL * A_WORKSPACE;
    report(&format!("search, who sees {seen} of all, hybrid"), beside);
    report(&format!("search, in a tenant of {seen}, hybrid"), alone);
    println!("a small team waits {ratio:.2} times as long as a tenant of its size");
    Ok(())
}

/// Asks a server that was left running.
pub(super) fn ask(options: &Options, model: &dyn Embedder) -> Result<()> {
    let [url] = options.words.as_slice() else {
        bail!("usage: bench engine ask URL");
    };
    let Some(data) = super::data_folder() else {
        println!("skipped: no benchmark data");
        return Ok(());
    };
    let questions = questions(&paragraphs(&data)?);
    ask_in_all_ways(url, &questions, model)
}

fn ask_in_all_ways(url: &str, questions: &[String], model: &dyn Embedder) -> Result<()> {
    for mode in [RecallMode::Text, RecallMode::Vector, RecallMode::Hybrid] {
        let times = ask_all((url, TENANT), questions, mode, 1, model, None)?;
        report(&format!("search, one at a time, {}", mode.name()), times);
    }
    let begin = Instant::now();
    let times = ask_all(
        (url, TENANT),
        questions,
        RecallMode::Hybrid,
        AT_ONCE,
        model,
        None,
    )?;
    let rate = times.len() as f64 / begin.elapsed().as_secs_f64();
    report(
        &format!("search, {AT_ONCE} at once, hybrid, {rate:.0} a second"),
        times,
    );
    Ok(())
}

/// What is pushed.
struct Contents<'a> {
    paragraphs: &'a [String],
    real: &'a [Vec<f32>],
}

/// Pushes these workspaces, ten at once, and says how many of them were not
/// there; `done` counts them while they come.
fn push(
    server: &Postgres,
    contents: &Contents,
    workspaces: Range<usize>,
    done: &AtomicUsize,
) -> Result<usize> {
    let next = AtomicUsize::new(workspaces.start);
    let new = AtomicUsize::new(0);
    let begin = Instant::now();
    together(AT_ONCE, || {
        let engine = connect(server, LOGIN)?;
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= workspaces.end {
                return Ok(());
            }
            let pushed = fill(&engine, at, TEAM, contents)?;
            new.fetch_add(usize::from(pushed.added > 0), Ordering::Relaxed);
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            if done.is_multiple_of(20) {
                let rate = (done * A_WORKSPACE) as f64 / begin.elapsed().as_secs_f64();
                eprint!("\r{at} workspaces, {rate:.0} passages a second ");
            }
        }
    })?;
    eprintln!();
    Ok(new.into_inner())
}

/// The rest is pushed while the primary and a replica are asked; halfway the
/// primary dies, the replica takes its place, and all of the rest is pushed once
/// more.
fn take_over(
    primary: &Postgres,
    contents: &Contents,
    rest: Range<usize>,
    questions: &[String],
    model: &dyn Embedder,
) -> Result<Postgres> {
    let begin = Instant::now();
    let replica = primary.replica();
    println!("replica: made in {:.0} s", begin.elapsed().as_secs_f64());
    let done = AtomicUsize::new(0);
    let dead = AtomicBool::new(false);
    let half = AT_ONCE / 2;
    let times = std::thread::scope(|scope| {
        let (done, dead, rest) = (&done, &dead, &rest);
        let pushing = scope.spawn(move || push(primary, contents, rest.clone(), done));
        scope.spawn(move || {
            while done.load(Ordering::Relaxed) < rest.len().div_ceil(2) && !pushing.is_finished() {
                std::thread::sleep(Duration::from_millis(5));
            }
            dead.store(true, Ordering::Relaxed);
            primary.kill();
        });
        let ask = move |server: &Postgres| {
            let url = server.url(LOGIN, "bench");
            ask_all(
                (&url, TENANT),
                questions,
                RecallMode::Hybrid,
                half,
                model,
                Some(dead),
            )
        };
        let beside = scope.spawn(move || ask(primary));
        let of_replica = ask(&replica)?;
        let of_primary = beside.join().expect("no thread panics")?;
        anyhow::Ok([("the primary", of_primary), ("the replica", of_replica)])
    })?;
    ensure!(
        done.load(Ordering::Relaxed) >= rest.len().div_ceil(2),
        "pushing failed before the primary was killed"
    );
    for (server, times) in times {
        report(
            &format!("search while {AT_ONCE} push, {half} at once on {server}, hybrid"),
            times,
        );
    }
    let begin = Instant::now();
    replica.promote();
    let took = begin.elapsed().as_secs_f64();
    let there = "select count(*) from mf.workspace";
    let there = replica
        .sql("postgres", "bench", there)
        .map_err(anyhow::Error::msg)?;
    println!(
        "primary killed after {} of {} workspaces of the rest; its replica took over in {took:.1} s and has {there} workspaces",
        done.load(Ordering::Relaxed),
        rest.len()
    );
    let missing = push(&replica, contents, rest, &AtomicUsize::new(0))?;
    println!("pushed again: {missing} workspaces were missing");
    let begin = Instant::now();
    let done =
        connect(&replica, "postgres")?.prepare_server(model.id(), model.dimensions(), &[])?;
    for note in &done.notes {
        println!("init, {:.0} s: {note}", begin.elapsed().as_secs_f64());
    }
    Ok(replica)
}

/// All documents are there once, and what is counted is what there is.
fn complete(server: &Postgres, count: usize) -> Result<()> {
    let sql = "select (select count(*) from mf.chunk), (select count(*) from mf.document),
        (select sum(chunks) from mf.workspace), (select sum(documents) from mf.workspace),
        (select count(distinct (workspace, path)) from mf.document),
        (select count(*) from mf.workspace where generation <> 1)";
    let told = server
        .sql("postgres", "bench", sql)
        .map_err(anyhow::Error::msg)?;
    let documents = count / A_DOCUMENT;
    let expect = format!("{count}|{documents}|{count}|{documents}|{documents}|0");
    ensure!(told == expect, "the server has {told}, not {expect}");
    println!("complete: {count} passages in {documents} documents, none lost, none twice");
    Ok(())
}

/// Words in a row of some paragraphs.
fn questions(paragraphs: &[String]) -> Vec<String> {
    let mut dice = Dice(20_261_117);
    let mut question = || {
        let text = &paragraphs[dice.roll(paragraphs.len())];
        let words: Vec<&str> = text.split_whitespace().collect();
        let from = dice.roll(words.len().saturating_sub(8).max(1));
        words[from..words.len().min(from + 8)]
            .join(" ")
            .replace(['"', '“', '”', '*'], "")
    };
    (0..QUESTIONS).map(|_| question()).collect()
}

/// The same work in several threads; the first failure is the whole one's.
fn together(count: usize, work: impl Fn() -> Result<()> + Sync) -> Result<()> {
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..count).map(|_| scope.spawn(&work)).collect();
        let ends: Vec<Result<()>> = all
            .into_iter()
            .map(|it| it.join().expect("no thread panics"))
            .collect();
        ends.into_iter().collect()
    })
}

fn fill(
    engine: &PostgresEngine,
    at: usize,
    team: &str,
    contents: &Contents,
) -> Result<IndexPushReport> {
    let Contents { paragraphs, real } = contents;
    let mut dice = Dice(1 + at as u64 * 7919);
    let items: Vec<PublishItem> = (0..A_WORKSPACE / A_DOCUMENT)
        .map(|n| PublishItem {
            path: RelPath::new(&format!("knowledge/n{n}.md")).expect("a path"),
            hash: format!("{at}-{n}"),
            scope: "knowledge".to_owned(),
            replaced_by: None,
        })
        .collect();
    let pushed = engine.push_workspace(
        &pushing(&format!("w{at}"), team, &items),
        &mut |item| {
            let mut text = format!("# Note {}\n", item.path.stem());
            for part in 0..A_DOCUMENT {
                let paragraph = &paragraphs[dice.roll(paragraphs.len())];
                text += &format!("\n## Part {part}\n\n{}\n", paragraph.replace('#', ""));
            }
            let sizes = forge_app::index::PassageSizes { most: 500, aim: 1 };
            let (_, mut put) =
                describe::describe_text(&item.path, FileRole::Knowledge, &text, sizes);
            put.chunks = parts(&text, &put.title);
            let vectors = put
                .chunks
                .iter()
                .map(|_| Some(noisy(&real[dice.roll(real.len())], &mut dice)));
            Ok(Some(PublishedDocument {
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
    Ok(pushed)
}

/// One passage a part, however small.
fn parts(text: &str, title: &str) -> Vec<forge_app::index::DocumentPassage> {
    let parts = text.split("\n## ").skip(1);
    parts
        .enumerate()
        .map(|(at, part)| forge_app::index::DocumentPassage {
            headings: vec![title.to_owned(), format!("Part {at}")],
            lines: (at * 4 + 3, at * 4 + 6),
            text: format!("## {part}"),
            tokens: forge_app::tokens::estimate_tokens(part),
        })
        .collect()
}

fn noisy(vector: &[f32], dice: &mut Dice) -> PackedVector {
    let mut noisy: Vec<f32> = vector
        .iter()
        .map(|v| v + (dice.roll(2001) as f32 - 1000.0) / 1000.0 * 0.06)
        .collect();
    let length = noisy.iter().map(|v| v * v).sum::<f32>().sqrt();
    noisy.iter_mut().for_each(|v| *v /= length);
    PackedVector::from_floats(&noisy)
}

/// Milliseconds of every question, asked on connections that stay open; with
/// `until` they are asked over and over until it is set.
fn ask_all(
    (url, tenant): (&str, &str),
    questions: &[String],
    mode: RecallMode,
    at_once: usize,
    model: &dyn Embedder,
    until: Option<&AtomicBool>,
) -> Result<Vec<f64>> {
    let next = AtomicUsize::new(0);
    let times: Mutex<Vec<f64>> = Mutex::new(Vec::new());
    together(at_once, || {
        let engine = connect_to(url, tenant)?;
        let (forgotten, corrections) = (HashSet::new(), Corrections::default());
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let over = match until {
                Some(until) => until.load(Ordering::Relaxed),
                None => at >= questions.len(),
            };
            if over {
                return Ok(());
            }
            let question = &questions[at % questions.len()];
            let mut ask = asking(question, &forgotten, &corrections, None);
            (ask.mode, ask.unique) = (mode, false);
            let begin = Instant::now();
            let answered = engine
                .begin_search(WorkspaceSelection::Everything)
                .map_err(anyhow::Error::from);
            let answered =
                answered.and_then(|it| Ok(recall::rank_from_source(&it, Some(model), &ask)?));
            match answered {
                Err(_) if until.is_some_and(|it| it.load(Ordering::Relaxed)) => return Ok(()),
                other => drop(other?),
            }
            let took = begin.elapsed().as_secs_f64() * 1000.0;
            times.lock().expect("no thread panics").push(took);
        }
    })?;
    Ok(times.into_inner().expect("no thread panics"))
}

fn report(what: &str, mut times: Vec<f64>) {
    if times.is_empty() {
        return println!("{what}: no answer in that time");
    }
    println!(
        "{what}: p50 {:.1} ms, p95 {:.1} ms, max {:.1} ms (n = {})",
        at(&mut times, 50),
        at(&mut times, 95),
        at(&mut times, 100),
        times.len()
    );
}

/// The time that `percent` of all were shorter than.
fn at(times: &mut [f64], percent: usize) -> f64 {
    times.sort_by(f64::total_cmp);
    times[(times.len() * percent / 100).min(times.len() - 1)]
}
