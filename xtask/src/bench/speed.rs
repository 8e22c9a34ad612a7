//! Speed and size of the release binary as ratios to familiar programs, all in
//! one interleaved run with a warm cache: every round runs each contestant
//! once, in an order that moves on by one, so that a noisy machine disturbs
//! all of them alike. It never edits anything but its own trees.

mod machine;
pub(crate) mod process;
mod report;
pub(crate) mod tree;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use process::{Arena, Sample};
use report::{Contestant, Report, Row, Target};
use tree::{Kind, Tree};

/// A full index takes long; more rounds of it would say little more.
const FULL_INDEX_RUNS: usize = 3;

/// `--version` is over so soon that one start a round would be mostly noise.
const STARTS_PER_ROUND: usize = 5;

struct Options {
    tree: Kind,
    runs: usize,
    files: usize,
    json: Option<PathBuf>,
}

pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    let options = parse(arguments)?;
    let binary = crate::build_release(None)?;
    let target = crate::target();
    let bench = target.join("bench");
    let Some(tree) = Tree::prepare(&bench, options.tree, options.files, "warm")? else {
        return Ok(());
    };
    let cold = Tree::prepare(&bench, options.tree, options.files, "cold")?
        .context("the same tree was there a moment ago")?;
    let arena = Arena::new(&bench)?;
    let report = measure(&arena, &binary, &tree, &cold, options.runs)?;
    println!("{report}");
    if let Some(path) = options.json {
        std::fs::write(&path, report.json())
            .with_context(|| format!("Cannot write {}", path.display()))?;
        println!("JSON written to {}", path.display());
    }
    Ok(())
}

fn parse(arguments: &[&str]) -> Result<Options> {
    let mut options = Options {
        tree: Kind::Generated,
        runs: 11,
        files: 10_000,
        json: None,
    };
    let mut rest = arguments.iter();
    while let Some(&flag) = rest.next() {
        let mut value = || {
            rest.next()
                .copied()
                .with_context(|| format!("`{flag}` needs a value"))
        };
        match flag {
            "--tree" => {
                options.tree = match value()? {
                    "generated" => Kind::Generated,
                    "mdn" => Kind::Mdn,
                    other => bail!("Unknown tree `{other}`: there are `generated` and `mdn`"),
                }
            }
            "--runs" => options.runs = value()?.parse().context("`--runs` takes a number")?,
            "--files" => options.files = value()?.parse().context("`--files` takes a number")?,
            "--json" => options.json = Some(PathBuf::from(value()?)),
            other => bail!("Unknown option `{other}`"),
        }
    }
    if options.runs == 0 || options.files == 0 {
        bail!("`--runs` and `--files` must be at least 1");
    }
    Ok(options)
}

/// The contestants of the interleaved rounds, by their place in the list.
struct Lineup {
    list: Vec<Contestant>,
}

impl Lineup {
    fn add(&mut self, name: &str, program: &Path, arguments: &[&str]) -> usize {
        self.list.push(Contestant::new(name, program, arguments));
        self.list.len() - 1
    }
}

fn measure(arena: &Arena, ours: &Path, tree: &Tree, cold: &Tree, runs: usize) -> Result<Report> {
    let ripgrep = arena.find("rg");
    if ripgrep.is_none() {
        eprintln!(
            "skipped: no `rg` here, so nothing is compared with it (Debian package `ripgrep`)"
        );
    }
    let git = arena
        .find("git")
        .context("`git` is needed (Debian package `git`)")?;
    let truth = arena.find("true").context("`true` is needed")?;

    let mut full = Contestant::new(
        "index --no-vectors, from nothing",
        ours,
        &["index", "--no-vectors"],
    );
    for round in 0..FULL_INDEX_RUNS.min(runs) {
        progress("first index", round, FULL_INDEX_RUNS.min(runs));
        cold.forget_index()?;
        full.take(arena, cold.root());
    }

    eprintln!("bench: filling index and caches");
    // Vectors of a whole tree take minutes; those of an earlier run are kept.
    let mut fill = Contestant::new(
        "index, with the vectors that were missing",
        ours,
        &["index"],
    );
    fill.take(arena, tree.root());
    let mut lineup = Lineup { list: Vec::new() };
    let (rare, common) = tree.words();
    let index = lineup.add("index, nothing changed", ours, &["index"]);
    let status = lineup.add("git status --porcelain", &git, &["status", "--porcelain"]);
    let text = lineup.add(
        "search --mode text, rare word",
        ours,
        &["search", "--mode", "text", rare],
    );
    let text_common = lineup.add(
        "search --mode text, frequent word",
        ours,
        &["search", "--mode", "text", common],
    );
    let hybrid = lineup.add(
        "search --mode hybrid, rare word",
        ours,
        &["search", "--mode", "hybrid", rare],
    );
    let changed = lineup.add(
        "one file changed, search --mode text",
        ours,
        &["search", "--mode", "text", rare],
    );
    lineup.list[changed].edits = true;
    let changed_hybrid = lineup.add(
        "one file changed, search --mode hybrid",
        ours,
        &["search", "--mode", "hybrid", rare],
    );
    lineup.list[changed_hybrid].edits = true;
    let version = lineup.add("--version", ours, &["--version"]);
    lineup.list[version].repeat = STARTS_PER_ROUND;
    let nothing = lineup.add("true", &truth, &[]);
    lineup.list[nothing].repeat = STARTS_PER_ROUND;
    let rg = ripgrep.as_ref().map(|rg| {
        let mut add = |word| {
            lineup.add(
                &format!("rg -c {word}"),
                rg,
                &["--no-config", "-c", word, "knowledge"],
            )
        };
        (add(rare), add(common))
    });

    // One unmeasured round settles git's index, ours, and the page cache.
    for round in 0..=runs {
        progress("round", round, runs + 1);
        let count = lineup.list.len();
        for step in 0..count {
            let contestant = &mut lineup.list[(round + step) % count];
            if round == 0 {
                contestant.warm_up(arena, tree)?;
            } else {
                contestant.race(arena, tree, round)?;
            }
        }
    }
    tree.restore()?;

    let of = |place: usize| &lineup.list[place];
    let megabytes = cold.bytes() as f64 / 1e6;
    let mut rows = vec![
        Row::rate(
            "first index, text, MB/min and core",
            &full,
            megabytes,
            Target::AtLeast(200.0),
        ),
        Row::ratio(
            "index, nothing changed / git status",
            of(index),
            of(status),
            3.0,
        ),
        Row::versus(
            "search text, rare word / rg",
            of(text),
            rg.map(|(rare, _)| of(rare)),
            1.0,
        ),
        Row::versus(
            "search text, frequent word / rg",
            of(text_common),
            rg.map(|(_, common)| of(common)),
            1.0,
        ),
        Row::versus(
            "search hybrid / rg",
            of(hybrid),
            rg.map(|(rare, _)| of(rare)),
            3.0,
        ),
        Row::ratio(
            "one file changed, text / unchanged",
            of(changed),
            of(text),
            1.5,
        ),
        Row::ratio(
            "one file changed, hybrid / unchanged",
            of(changed_hybrid),
            of(hybrid),
            1.5,
        ),
        Row::ratio("--version / true", of(version), of(nothing), 3.0),
    ];
    let mine = [&full, &fill]
        .into_iter()
        .chain([index, text, text_common, hybrid, changed, changed_hybrid].map(of));
    let peak = mine
        .flat_map(|contestant| contestant.samples())
        .map(|sample| sample.max_rss)
        .max();
    rows.push(Row::size(
        "peak resident memory, MB",
        peak,
        Target::Below(150.0),
    ));
    let size = std::fs::metadata(ours).ok().map(|metadata| metadata.len());
    rows.push(Row::size("release binary, MB", size, Target::AtMost(40.0)));

    let mut contestants = vec![full, fill];
    contestants.extend(lineup.list);
    Ok(Report {
        runs,
        inputs: machine::inputs(arena, ours, tree, ripgrep.as_deref(), &git),
        rows,
        contestants,
    })
}

impl Contestant {
    /// Runs once, unmeasured. A failure here will show in the measured rounds.
    fn warm_up(&self, arena: &Arena, tree: &Tree) -> Result<()> {
        if self.edits {
            tree.edit(0)?;
        }
        let _ = arena.time(&self.program, &self.arguments, tree.root());
        Ok(())
    }

    fn race(&mut self, arena: &Arena, tree: &Tree, round: usize) -> Result<()> {
        for _ in 0..self.repeat {
            if self.edits {
                tree.edit(round)?;
            }
            self.take(arena, tree.root());
        }
        Ok(())
    }

    fn take(&mut self, arena: &Arena, directory: &Path) {
        let taken: Result<Sample> = arena.time(&self.program, &self.arguments, directory);
        self.record(taken);
    }
}

fn progress(what: &str, done: usize, total: usize) {
    eprintln!("bench: {what} {} of {total}", done + 1);
}
