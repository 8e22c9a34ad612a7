//! `cargo xtask bench engine`: the shared index on a real server, which it starts. `parity`
//! asks both engines the same questions in one run; `scale` is in its own file,
//! with `ask`, which asks a server that `scale --keep` left. It is here, so that
//! no other developer command builds TLS and drivers of databases.

#![cfg(unix)]

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use forge_app::corrections::Corrections;
use forge_app::embed::{self, Embedder};
use forge_app::knowledge::fresh::{self, IndexOpening};
use forge_app::knowledge::refresh;
use forge_app::publish::{self, PublishItem, PublishScope};
use forge_app::recall::{self, RecallMode, RecallQuery};
use forge_app::wire::{MemberAccess, TeamMember};
use forge_app::workspace::Workspace;
use memory_forge_engines::postgres::{
    IndexPush, PostgresEngine, ServerEnvironment, ServerTarget, WorkspaceSelection,
};
use testkit::postgres::{Postgres, Version};

use scores::{Scores, interval, mean};

mod scale;

// Sources of xtask, which uses the rest of them.
#[allow(dead_code)]
#[path = "../../../../xtask/src/bench/recall/scores.rs"]
mod scores;
#[allow(dead_code)]
#[path = "../../../../xtask/src/bench/sets.rs"]
mod sets;

const TENANT: &str = "bench";
const LOGIN: &str = "bencher";
/// The team that has almost everything.
const TEAM: &str = "large";

struct Options {
    version: Version,
    groups: usize,
    /// Leaves the filled server running, to be looked at.
    keep: bool,
    words: Vec<String>,
}

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    run(&words)
}

fn run(rest: &[&str]) -> Result<()> {
    let [what, rest @ ..] = rest else {
        bail!("usage: bench engine parity|scale|ask");
    };
    let mut options = Options {
        version: Version::Eighteen,
        groups: usize::MAX,
        keep: false,
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
            "--keep" => options.keep = true,
            other => options.words.push(other.to_owned()),
        }
    }
    ensure!(
        ["parity", "scale", "ask"].contains(what),
        "`bench engine {what}` is not known; there are parity, scale and ask"
    );
    let model = embed::builtin_embedder();
    if *what == "ask" {
        return scale::ask(&options, model);
    }
    let tmp = target().join("tmp");
    // What a search over a million passages reads fits into 4 GB.
    let settings = "-c shared_buffers=4GB -c maintenance_work_mem=1GB -c max_wal_size=4GB -c effective_cache_size=8GB";
    let server = Postgres::start_with(&tmp.to_string_lossy(), options.version, settings);
    let Some(server) = server else { return Ok(()) };
    let made = server.sql("postgres", "postgres", "create database bench");
    made.map_err(anyhow::Error::msg)?;
    let admin = connect(&server, "postgres")?;
    let of_large = member(LOGIN, TEAM);
    admin.prepare_server(model.id(), model.dimensions(), &[of_large])?;
    let status = admin.read_status()?;
    println!("PostgreSQL {}, model {}", status.server, status.model);
    match *what {
        "parity" => parity(&server, &options, model),
        _ => scale::run(server, &options, model),
    }
}

fn member(login: &str, team: &str) -> TeamMember {
    TeamMember {
        login: login.to_owned(),
        team: team.to_owned(),
        access: MemberAccess::Write,
        is_group: false,
    }
}

fn connect(server: &Postgres, login: &str) -> Result<PostgresEngine> {
    connect_to(&server.url(login, "bench"), TENANT)
}

fn connect_to(url: &str, tenant: &str) -> Result<PostgresEngine> {
    let target = ServerTarget::read(url, &ServerEnvironment::default())?;
    Ok(PostgresEngine::open(&target, tenant)?)
}

fn asking<'a>(
    question: &'a str,
    forgotten: &'a HashSet<String>,
    corrections: &'a Corrections,
    today: Option<jiff::civil::Date>,
) -> RecallQuery<'a> {
    RecallQuery {
        question,
        mode: RecallMode::Hybrid,
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
    let Some(data) = data_folder() else {
        println!("skipped: no benchmark data");
        return Ok(());
    };
    let engine = connect(server, LOGIN)?;
    let names: Vec<String> = if options.words.is_empty() {
        sets::SETS.map(str::to_owned).to_vec()
    } else {
        options.words.clone()
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
            let mut opening = IndexOpening {
                now,
                wait: Duration::from_secs(5),
                force: false,
                progress: &mut |_, _| {},
            };
            let mut fresh = fresh::open_fresh(&workspace, &mut opening)?;
            refresh::embed_passages(&mut fresh.index, model, &mut |_, _| true)?;
            passages += fresh.index.passage_counts()?.chunks;
            let name = format!("{set}-{at}");
            push_workspace(&engine, &workspace, &fresh, &name, model)?;
            let forgotten = HashSet::new();
            let corrections = Corrections::default();
            let search = engine.begin_search(WorkspaceSelection::Workspace(&name))?;
            for question in &group.questions {
                let today = question.date.as_ref().and_then(|it| it.parse().ok());
                let ask = asking(&question.text, &forgotten, &corrections, today);
                let ours =
                    recall::rank_passages(&fresh.index, &fresh.catalogue, Some(model), &ask)?;
                let theirs = recall::rank_from_source(&search, Some(model), &ask)?;
                let ids = |answer: &recall::RecallAnswer| -> Vec<String> {
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
            engine.drop_workspace(&name, TEAM)?;
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
    engine: &PostgresEngine,
    workspace: &Workspace,
    fresh: &fresh::FreshIndex,
    name: &str,
    model: &dyn Embedder,
) -> Result<()> {
    let include = PublishScope::default();
    let id = Some(model.id());
    let (items, _) =
        publish::list_publishable(workspace, &fresh.index, &fresh.catalogue, include, id)?;
    engine.push_workspace(
        &pushing(name, TEAM, &items),
        &mut |item| {
            publish::read_published(workspace, &fresh.index, item, Some(model), include)
                .map_err(Into::into)
        },
        &mut |_, _| {},
    )?;
    Ok(())
}

fn pushing<'a>(name: &'a str, team: &'a str, items: &'a [PublishItem]) -> IndexPush<'a> {
    IndexPush {
        workspace: name,
        identity: "",
        team,
        commit: None,
        items,
        edges: &[],
        knows: &|_| true,
        force: false,
    }
}

/// Where cargo builds.
fn target() -> PathBuf {
    let named = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    named.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"))
}

/// Where the public benchmark data lies, if it is here. It is never part of
/// the repository.
fn data_folder() -> Option<PathBuf> {
    let folder = std::env::var_os("MEMORY_FORGE_BENCH_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/bench"),
        PathBuf::from,
    );
    folder.is_dir().then_some(folder)
}
