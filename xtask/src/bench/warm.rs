//! `bench warm`: what a question costs in a process that has been asked before,
//! over a hundred thousand passages: hundreds of different questions to one
//! running server, by full text alone, by vectors alone and by both, and the
//! memory that it holds.
//!
//! Embedding that many passages takes minutes and says nothing about
//! questions. So a few hundred get their real vectors, and each of the others
//! gets one of those with seeded noise, stored by the library's own function.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use forge_app::embed;
use forge_app::index::{Index, PackedVector};

use super::mcp::{INITIALIZE, INITIALIZED, Server, at, call, passages, sha256};
use super::speed::process::Arena;
use super::speed::tree::{Kind, Tree};

/// Files of the generated tree that make about a hundred thousand passages.
const FILES: usize = 11_200;
/// Passages that get the vector that the model gives them.
const REAL: usize = 400;
/// Questions before those that count: the server reads what it keeps.
const WARM_UP: usize = 5;
const MODES: [&str; 3] = ["text", "vector", "hybrid"];

pub(crate) fn run(rest: &[&str]) -> Result<()> {
    let (mut files, mut count, mut binary) = (FILES, 300, None);
    for pair in rest.chunks(2) {
        match *pair {
            ["--files", n] => files = n.parse().context("`--files` takes a number")?,
            ["--questions", n] => count = n.parse().context("`--questions` takes a number")?,
            ["--binary", file] => binary = Some(PathBuf::from(file).canonicalize()?),
            _ => bail!("usage: bench warm [--files N] [--questions N] [--binary FILE]"),
        }
    }
    ensure!(files > 0 && count > 0, "there must be something to measure");
    let binary = match binary {
        Some(binary) => binary,
        None => crate::build_release(None)?,
    };
    let bench = crate::target().join("bench");
    let tree = Tree::prepare(&bench, Kind::Generated, files, "large")?
        .context("generated trees need nothing from outside")?;
    let arena = Arena::new(&bench)?;
    eprintln!("bench: filling the index");
    let index = ["index".to_owned(), "--no-vectors".to_owned()];
    arena.time(&binary, &index, tree.root())?;
    fill(tree.root())?;
    let questions = questions(tree.root(), count + WARM_UP)?;

    println!(
        "tree {} ({} files, {} bytes, {} passages, git tree {})",
        tree.name(),
        tree.files(),
        tree.bytes(),
        passages(&arena, &binary, &tree)?,
        tree.hash()
    );
    println!("binary {} sha256 {}", binary.display(), sha256(&binary)?);
    println!("{count} different questions to one server, after {WARM_UP} others\n");
    println!(
        "{:8} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>11}",
        "", "p50 ms", "p95 ms", "max ms", "cpu p50", "cpu p95", "cpu max", "resident MB"
    );
    for mode in MODES {
        let settings = tree.root().join("memory-forge.toml");
        std::fs::write(&settings, format!("[search]\nmode = \"{mode}\"\n"))?;
        let measured = measure(&arena, &binary, &tree, &questions);
        std::fs::remove_file(&settings)?;
        let (mut wall, mut cpu, resident) = measured?;
        println!(
            "{mode:8} {:>9.2} {:>9.2} {:>9.2} {:>9.2} {:>9.2} {:>9.2} {:>11.1}",
            at(&mut wall, 50),
            at(&mut wall, 95),
            at(&mut wall, 100),
            at(&mut cpu, 50),
            at(&mut cpu, 95),
            at(&mut cpu, 100),
            resident as f64 / 1e6
        );
    }
    println!("\ncpu: what the server ran in all its threads, which a busy machine changes little");
    Ok(())
}

/// Milliseconds of every question that counts, by the clock and of the
/// server's threads, and the bytes that are resident at the end.
fn measure(
    arena: &Arena,
    binary: &Path,
    tree: &Tree,
    questions: &[String],
) -> Result<(Vec<f64>, Vec<f64>, u64)> {
    let mut server = Server::start(arena, binary, tree)?;
    server.ask(INITIALIZE)?;
    server.send(INITIALIZED)?;
    let (mut wall, mut cpu) = (Vec::new(), Vec::new());
    for (number, question) in questions.iter().enumerate() {
        let message = call(number + 2, question);
        let before = server.ran()?;
        let start = std::time::Instant::now();
        let answer = server.ask(&message)?;
        let time = start.elapsed().as_secs_f64() * 1000.0;
        let ran = (server.ran()? - before) * 1000.0;
        ensure!(
            answer["result"]["isError"] != true,
            "`{question}` fails: {}",
            answer["result"]
        );
        if number >= WARM_UP {
            wall.push(time);
            cpu.push(ran);
        }
    }
    let (resident, _) = server.memory()?;
    server.end()?;
    Ok((wall, cpu, resident))
}

/// Gives every passage a vector that has none.
fn fill(root: &Path) -> Result<()> {
    let mut index = open(root)?;
    let model = embed::builtin_embedder();
    index.switch_to_model(model.id(), model.dimensions())?;
    let mut random = Random(11);
    let mut real: Vec<Vec<f32>> = Vec::new();
    loop {
        let texts = index.passages_to_embed(2_000)?;
        if texts.is_empty() {
            return Ok(());
        }
        if real.is_empty() {
            eprintln!("bench: embedding {} passages", texts.len().min(REAL));
            real = texts
                .iter()
                .take(REAL)
                .map(|(_, text)| model.embed(text))
                .collect();
        }
        let vectors: Vec<(u32, PackedVector)> = texts
            .iter()
            .map(|(chunk, _)| {
                let base = &real[random.next() as usize % real.len()];
                let near: Vec<f32> = base.iter().map(|x| x + 0.03 * random.signed()).collect();
                let length = near.iter().map(|x| x * x).sum::<f32>().sqrt();
                let unit: Vec<f32> = near.iter().map(|x| x / length).collect();
                (*chunk, PackedVector::from_floats(&unit))
            })
            .collect();
        index.store_vectors(&vectors)?;
    }
}

/// Questions in words that stand together in some passage, four to eight of
/// them, from anywhere in the tree.
fn questions(root: &Path, count: usize) -> Result<Vec<String>> {
    const STARTS: [&str; 4] = ["how is", "what about", "why does", "where do we have"];
    let index = open(root)?;
    let paths: Vec<String> = index
        .content_hashes()?
        .into_iter()
        .map(|(path, _)| path)
        .collect();
    let mut random = Random(5);
    let mut questions = Vec::new();
    while questions.len() < count {
        let path = &paths[random.next() as usize % paths.len()];
        let passages = index.passages_of_file(path)?;
        let Some(passage) = passages.get(random.next() as usize % passages.len().max(1)) else {
            continue;
        };
        let words: Vec<&str> = passage
            .text
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .collect();
        let length = 4 + random.next() as usize % 5;
        if words.len() < length {
            continue;
        }
        let first = random.next() as usize % (words.len() - length + 1);
        let question = format!(
            "{} {}",
            STARTS[questions.len() % STARTS.len()],
            words[first..first + length].join(" ")
        );
        if !questions.contains(&question) {
            questions.push(question);
        }
    }
    Ok(questions)
}

fn open(root: &Path) -> Result<Index> {
    Index::open_existing(&root.join(".memory-forge"))?.context("the index was just made")
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From minus one to one.
    fn signed(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }
}
