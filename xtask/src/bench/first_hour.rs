//! `bench first-hour`: what a newcomer has after `init --yes` in a repository
//! that we did not make. Each repository is copied, with an empty home beside
//! it; then the program is asked our own questions about its documents, and
//! everything is taken out again. The tree must then be as it was, to the byte.
//!
//! The repositories are not part of ours: their folders are arguments, and the
//! name of a folder says which questions belong to it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const QUESTIONS: &str = include_str!("first_hour/questions.tsv");
/// Hits that a person looks at.
const SHOWN: usize = 3;
/// Commands until the first answer: `init --yes` and `search`.
const COMMANDS: usize = 2;

/// A repository of the list, with what is asked about it.
#[derive(Default)]
struct Subject {
    kind: String,
    questions: Vec<(Vec<String>, String)>,
}

/// What happened in one repository.
struct Hour {
    name: String,
    kind: String,
    documents: u64,
    init: Duration,
    first: Duration,
    search: Duration,
    answered: usize,
    right: usize,
    /// The same by counting words, as a search with grep does.
    by_words: usize,
    absent: usize,
    strong: usize,
    vectors: String,
    audit: Duration,
    loaded: String,
    undo_is_exact: bool,
    uninstall_is_exact: bool,
    missed: Vec<String>,
}

pub(crate) fn run(rest: &[&str]) -> Result<()> {
    let (mut binary, mut out, mut folders) = (None, None, Vec::new());
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        match *word {
            "--binary" => binary = Some(PathBuf::from(words.next().context("expected a file")?)),
            "--json" => out = Some(PathBuf::from(words.next().context("expected a file")?)),
            other if other.starts_with('-') => bail!("unknown option `{other}`"),
            folder => folders.push(PathBuf::from(folder)),
        }
    }
    let subjects = subjects()?;
    if folders.is_empty() {
        let names: Vec<&str> = subjects.keys().map(String::as_str).collect();
        bail!(
            "name checked-out repositories; there are questions for {}",
            names.join(", ")
        );
    }
    let binary = match binary {
        Some(path) => fs::canonicalize(&path).with_context(|| path.display().to_string())?,
        None => crate::build_release(None)?,
    };
    let mut hours = Vec::new();
    for folder in &folders {
        let folder = fs::canonicalize(folder).with_context(|| folder.display().to_string())?;
        let name = folder.file_name().context("a folder has a name")?;
        let name = name.to_string_lossy().into_owned();
        let Some(subject) = subjects.get(&name) else {
            println!("skipped: there are no questions for `{name}`");
            continue;
        };
        eprintln!("{name} …");
        hours.push(spend(&binary, &name, subject, &folder)?);
    }
    print_table(&hours);
    if let Some(path) = out {
        let all: Vec<Value> = hours.iter().map(to_json).collect();
        fs::write(path, serde_json::to_string_pretty(&all)? + "\n")?;
    }
    Ok(())
}

fn subjects() -> Result<BTreeMap<String, Subject>> {
    let mut subjects: BTreeMap<String, Subject> = BTreeMap::new();
    let lines = QUESTIONS.lines().filter(|it| !it.starts_with('#'));
    for line in lines {
        let [name, gold, text] = line.split('\t').collect::<Vec<_>>()[..] else {
            bail!("not three columns: {line}");
        };
        let subject = subjects.entry(name.to_owned()).or_default();
        if gold == "=" {
            subject.kind = text.to_owned();
        } else {
            let gold = gold.split('|').filter(|it| *it != "-");
            let gold = gold.map(str::to_owned).collect();
            subject.questions.push((gold, text.to_owned()));
        }
    }
    Ok(subjects)
}

/// The program as a newcomer has it: on the path, with nothing in the home.
struct Newcomer<'a> {
    binary: &'a Path,
    folder: PathBuf,
    home: PathBuf,
}

impl Newcomer<'_> {
    fn run(&self, arguments: &[&str]) -> Result<(Output, Duration)> {
        let beside = self.binary.parent().context("a file is in a folder")?;
        let mut path = vec![beside.to_owned()];
        path.extend(std::env::split_paths(
            &std::env::var_os("PATH").unwrap_or_default(),
        ));
        let start = Instant::now();
        let output = Command::new(self.binary)
            .args(arguments)
            .current_dir(&self.folder)
            .env_clear()
            .env("HOME", &self.home)
            .env("PATH", std::env::join_paths(path)?)
            .output()?;
        let code = output.status.code();
        ensure!(
            matches!(code, Some(0 | 1)),
            "`memory-forge {}` ended with {code:?}: {}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr)
        );
        Ok((output, start.elapsed()))
    }

    fn json(&self, arguments: &[&str]) -> Result<(Value, Duration)> {
        let (output, wall) = self.run(arguments)?;
        let value = serde_json::from_slice(&output.stdout)
            .with_context(|| format!("`{}` printed no JSON", arguments.join(" ")))?;
        Ok((value, wall))
    }
}

fn spend(binary: &Path, name: &str, subject: &Subject, source: &Path) -> Result<Hour> {
    let place = crate::target().join("bench/first-hour").join(name);
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    let newcomer = Newcomer {
        binary,
        folder: place.join(name),
        home: place.join("home"),
    };
    fs::create_dir_all(&newcomer.home)?;
    let copied = Command::new("cp")
        .arg("-a")
        .arg(source)
        .arg(&newcomer.folder)
        .status()?;
    ensure!(copied.success(), "cannot copy {}", source.display());
    let before = fingerprint(&newcomer.folder)?;

    let texts = markdown_below(&newcomer.folder, before.keys())?;
    let (_, init) = newcomer.run(&["init", "--yes"])?;
    let mut times = Vec::new();
    let (mut answered, mut right, mut by_words, mut absent, mut strong) = (0, 0, 0, 0, 0);
    let mut missed = Vec::new();
    for (gold, question) in &subject.questions {
        let count = SHOWN.to_string();
        let (answer, wall) =
            newcomer.json(&["search", "--json", "-n", &count, "--", question.as_str()])?;
        times.push(wall);
        let hits = answer["results"].as_array().cloned().unwrap_or_default();
        let top: Vec<&str> = hits.iter().filter_map(|it| it["path"].as_str()).collect();
        if gold.is_empty() {
            absent += 1;
            if hits.iter().any(|it| it["label"] == "strong") {
                strong += 1;
                missed.push(format!("{question} → strong: {}", top.join(", ")));
            }
        } else {
            answered += 1;
            let counted = rank_by_words(&texts, question);
            let is_right = |path: &&str| gold.iter().any(|it| it == path);
            by_words += usize::from(counted.iter().take(SHOWN).any(is_right));
            if top.iter().any(|path| gold.iter().any(|it| it == path)) {
                right += 1;
            } else {
                missed.push(format!("{question} → {}", top.join(", ")));
            }
        }
    }
    let first = times.first().copied().unwrap_or_default();
    times.sort();
    let search = times.get(times.len() / 2).copied().unwrap_or_default();
    let (status, _) = newcomer.json(&["status", "--json"])?;
    let index = &status["index"];
    let vectors = format!("{} of {}", index["embedded"], index["passages"]);
    let (_, audit) = newcomer.run(&["audit"])?;
    let loaded = status["tokens"]["alwaysOn"].as_array();
    let loaded = loaded.into_iter().flatten();
    let loaded = loaded.filter_map(|it| it["count"].as_u64()).max();

    // The cache is derived, and grows with every command.
    let sources = |folder: &Path| -> Result<BTreeMap<_, _>> {
        let mut files = fingerprint(folder)?;
        files.retain(|path, _| !path.starts_with(".memory-forge"));
        Ok(files)
    };
    let prepared = sources(&newcomer.folder)?;
    newcomer.run(&["doctor", "--fix", "--dry-run"])?;
    let looked = sources(&newcomer.folder)? == prepared;
    newcomer.run(&["doctor", "--fix", "--yes"])?;
    let undo_is_exact = if sources(&newcomer.folder)? == prepared {
        looked
    } else {
        newcomer.run(&["doctor", "--undo"])?;
        looked && sources(&newcomer.folder)? == prepared
    };
    newcomer.run(&["doctor", "--fix", "--yes"])?;
    newcomer.run(&["setup", "claude", "codex", "--yes"])?;
    newcomer.run(&["uninstall", "--all", "--yes"])?;
    let after = fingerprint(&newcomer.folder)?;
    for (path, _) in before.iter().filter(|it| after.get(it.0) != Some(it.1)) {
        missed.push(format!("changed or gone: {path}"));
    }
    for path in after.keys().filter(|it| !before.contains_key(*it)) {
        missed.push(format!("left behind: {path}"));
    }
    Ok(Hour {
        name: name.to_owned(),
        kind: subject.kind.clone(),
        documents: index["files"].as_u64().unwrap_or_default(),
        init,
        first,
        search,
        answered,
        right,
        by_words,
        absent,
        strong,
        vectors,
        audit,
        loaded: loaded.map_or_else(|| "-".to_owned(), |it| it.to_string()),
        undo_is_exact,
        uninstall_is_exact: before == after,
        missed,
    })
}

/// The Markdown of a tree, in lower case.
fn markdown_below<'a>(
    root: &Path,
    names: impl Iterator<Item = &'a String>,
) -> Result<Vec<(String, String)>> {
    let mut texts = Vec::new();
    for name in names {
        let is_markdown = [".md", ".mdx", ".markdown"]
            .iter()
            .any(|it| name.ends_with(it));
        let path = root.join(name);
        if is_markdown && path.is_file() {
            let text = String::from_utf8_lossy(&fs::read(&path)?).to_lowercase();
            texts.push((name.clone(), text));
        }
    }
    Ok(texts)
}

/// Ranks files as a person with grep does: by how many of the question's words
/// of four letters and more they have, then by how often.
fn rank_by_words<'a>(texts: &'a [(String, String)], question: &str) -> Vec<&'a str> {
    let question = question.to_lowercase();
    let words: Vec<&str> = question
        .split(|it: char| !it.is_alphanumeric())
        .filter(|it| it.chars().count() >= 4)
        .collect();
    let mut ranked: Vec<(usize, usize, &str)> = texts
        .iter()
        .map(|(name, text)| {
            let counts = words.iter().map(|word| text.matches(word).count());
            let (kinds, all) = counts.fold((0, 0), |(kinds, all), it| {
                (kinds + usize::from(it > 0), all + it)
            });
            (kinds, all, name.as_str())
        })
        .collect();
    ranked.sort_by(|a, b| (b.0, b.1).cmp(&(a.0, a.1)).then(a.2.cmp(b.2)));
    ranked.into_iter().map(|it| it.2).collect()
}

/// A hash of every file outside of `.git`, the cache included, and every
/// folder.
fn fingerprint(root: &Path) -> Result<BTreeMap<String, Option<Vec<u8>>>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let path = entry.path();
            let name = path.strip_prefix(root)?.to_string_lossy().into_owned();
            let kind = entry.file_type()?;
            if name == ".git" {
                continue;
            }
            if kind.is_dir() {
                found.insert(name, None);
                folders.push(path);
            } else if kind.is_symlink() {
                let target = fs::read_link(&path)?;
                let hash = Sha256::digest(target.to_string_lossy().as_bytes()).to_vec();
                found.insert(name, Some(hash));
            } else {
                found.insert(name, Some(Sha256::digest(fs::read(&path)?).to_vec()));
            }
        }
    }
    Ok(found)
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

fn yes(is: bool) -> &'static str {
    if is { "yes" } else { "no" }
}

fn print_table(hours: &[Hour]) {
    println!(
        "| repository | kind | documents | in the top {SHOWN} | by counting words | absent called strong | commands | `init --yes` | first answer | a search | vectors | at every start | `audit` | undo to the byte | `uninstall --all` to the byte |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    for it in hours {
        println!(
            "| {} | {} | {} | {} of {} | {} | {} of {} | {COMMANDS} | {} | {} | {} | {} | {} | {} | {} | {} |",
            it.name,
            it.kind,
            it.documents,
            it.right,
            it.answered,
            it.by_words,
            it.strong,
            it.absent,
            seconds(it.init),
            seconds(it.init + it.first),
            seconds(it.search),
            it.vectors,
            it.loaded,
            seconds(it.audit),
            yes(it.undo_is_exact),
            yes(it.uninstall_is_exact),
        );
    }
    let sum = |of: fn(&Hour) -> usize| hours.iter().map(of).sum::<usize>();
    println!(
        "\n{} of {} in the top {SHOWN}, {} by counting words; {} of {} absent ones called strong",
        sum(|it| it.right),
        sum(|it| it.answered),
        sum(|it| it.by_words),
        sum(|it| it.strong),
        sum(|it| it.absent),
    );
    for it in hours.iter().filter(|it| !it.missed.is_empty()) {
        println!("\n{}:", it.name);
        for missed in &it.missed {
            println!("  {missed}");
        }
    }
}

fn to_json(it: &Hour) -> Value {
    json!({
        "repository": it.name, "kind": it.kind, "documents": it.documents,
        "right": it.right, "byWords": it.by_words, "answered": it.answered, "strong": it.strong, "absent": it.absent,
        "commands": COMMANDS, "initSeconds": it.init.as_secs_f64(),
        "firstSeconds": it.first.as_secs_f64(), "searchSeconds": it.search.as_secs_f64(),
        "vectors": it.vectors, "loaded": it.loaded, "auditSeconds": it.audit.as_secs_f64(),
        "undoIsExact": it.undo_is_exact, "uninstallIsExact": it.uninstall_is_exact,
        "missed": it.missed,
    })
}
