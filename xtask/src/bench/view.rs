//! `bench view`: the page over a generated workspace in Chromium: first paint,
//! each page, answers to questions, and frames while the graph settles.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use testkit::browser::Browser;

const QUESTIONS: [&str; 12] = [
    "harbour ledger",
    "who signs the copper contract",
    "meadow",
    "retry of a failed signal",
    "timber prices",
    "velvet orchard",
    "how is the lantern lit",
    "anchor",
    "bridge toll",
    "copper and timber",
    "what does the granite need",
    "willow",
];
const WORDS: [&str; 16] = [
    "harbour", "ledger", "orchard", "signal", "timber", "velvet", "copper", "meadow", "lantern",
    "anchor", "bridge", "granite", "willow", "contract", "price", "retry",
];

pub(crate) fn run(rest: &[&str]) -> Result<()> {
    let (mut files, mut runs, mut binary) = (5_000, 5, None);
    let mut rest = rest.iter();
    while let Some(flag) = rest.next() {
        let value = rest
            .next()
            .with_context(|| format!("`{flag}` takes a value"))?;
        match *flag {
            "--files" => files = value.parse()?,
            "--runs" => runs = value.parse()?,
            "--binary" => binary = Some(PathBuf::from(value)),
            _ => bail!("usage: bench view [--files N] [--runs N] [--binary FILE]"),
        }
    }
    let binary = match binary {
        Some(binary) => binary,
        None => crate::build_release(None)?,
    };
    let root = generated(files)?;
    let start = Instant::now();
    let indexed = Command::new(&binary)
        .args(["index", "--root"])
        .arg(&root)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    ensure!(indexed.success(), "`index` failed");
    println!("{files} generated documents in {}", root.display());
    println!("  index                          {:8.0} ms", ms(start));

    let start = Instant::now();
    let server = Server::start(&binary, &root)?;
    println!("  start of the server            {:8.0} ms", ms(start));
    let beside = crate::target().join("tmp").display().to_string();
    let browser = Browser::start(&beside, 1280, 900).context("Run `scripts/browser.sh` first")?;
    let mut paints = Vec::new();
    let mut shown = Vec::new();
    for _ in 0..runs {
        browser.open("about:blank");
        let start = Instant::now();
        browser.open(&server.address);
        browser.wait_for("the overview", "return !!document.querySelector('.now')");
        shown.push(ms(start));
        let paint = browser.wait_for(
            "a paint",
            "const it = performance.getEntriesByName('first-contentful-paint')[0]; return it && it.startTime",
        );
        paints.push(paint.as_f64().unwrap_or(0.0));
    }
    report("first paint", &mut paints);
    report("overview complete", &mut shown);
    for (name, place, there) in [
        (
            "graph drawn",
            "graph",
            "document.querySelector('canvas') && document.querySelector('canvas').dataset.settled",
        ),
        ("timeline", "timeline", "document.querySelector('.time')"),
        (
            "list of documents",
            "documents",
            "document.querySelectorAll('tbody tr').length",
        ),
        (
            "one document",
            "document/knowledge/n00001.md",
            "document.querySelector('.prose')",
        ),
        ("audit", "audit", "document.querySelector('.card')"),
    ] {
        let mut times = Vec::new();
        for _ in 0..runs {
            browser.script(
                "document.getElementById('main').replaceChildren(); location.hash = '#/none'",
                &[],
            );
            browser.wait_for("a pause", "return !!document.querySelector('.now')");
            let script = format!(
                "const done = arguments[arguments.length - 1], start = performance.now(); document.getElementById('main').replaceChildren(); location.hash = '#/{place}'; (function look() {{ if ({there}) done(performance.now() - start); else requestAnimationFrame(look); }})()"
            );
            times.push(browser.script_later(&script, &[]).as_f64().unwrap_or(0.0));
        }
        report(name, &mut times);
    }
    let mut answers = Vec::new();
    for _ in 0..runs {
        for question in QUESTIONS {
            let script = "const done = arguments[arguments.length - 1], q = arguments[0]; import(new URL('/server.js', location)).then(({ query }) => { const start = performance.now(); query('search', { q, limit: 12 }).then(() => done(performance.now() - start)); })";
            let took = browser.script_later(script, &[json!(question)]);
            answers.push(took.as_f64().unwrap_or(0.0));
        }
    }
    report("search, asked to answered", &mut answers);
    frames(&browser);
    Ok(())
}

/// How often the picture is drawn while it settles.
fn frames(browser: &Browser) {
    browser.script("location.hash = '#/graph'", &[]);
    browser.wait_for(
        "the picture",
        "return !!document.querySelector('canvas[data-settled]')",
    );
    let script = "const done = arguments[arguments.length - 1], gaps = []; let last = performance.now(), start = last; (function frame(now) { if (now) { gaps.push(now - last); last = now; } if (performance.now() - start < 4000) requestAnimationFrame(frame); else { gaps.sort((a, b) => a - b); done([gaps.length / 4, gaps[Math.floor(gaps.length * 0.95)]]); } })()";
    let told: Value = browser.script_later(script, &[]);
    println!(
        "  graph while it settles         {:8.0} frames a second, 95 % within {:.0} ms",
        told[0].as_f64().unwrap_or(0.0),
        told[1].as_f64().unwrap_or(0.0)
    );
}

fn ms(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}

fn report(what: &str, times: &mut [f64]) {
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share).round() as usize];
    println!(
        "  {what:<30} {:8.0} ms, 95 % within {:.0} ms ({} times)",
        at(0.5),
        at(0.95),
        times.len()
    );
}

struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(binary: &Path, root: &Path) -> Result<Server> {
        let mut child = Command::new(binary)
            .args(["view", "--no-open", "--root"])
            .arg(root)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let output = child.stdout.take().context("it is piped")?;
        let mut address = String::new();
        BufReader::new(output).read_line(&mut address)?;
        let address = address.trim().to_owned();
        let server = Server { child, address };
        ensure!(!server.address.is_empty(), "`view` printed no address");
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Documents that link to one another, the same on every machine.
fn generated(files: usize) -> Result<PathBuf> {
    let root = crate::target().join(format!("bench/view-{files}"));
    if root.join("finished").is_file() {
        return Ok(root);
    }
    let mut seed = 11_u64;
    let mut next = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) as usize % below
    };
    for file in 0..files {
        let folder = format!("knowledge/{}", WORDS[file % WORDS.len()]);
        let path = match file {
            1 => root.join("knowledge/n00001.md"),
            file => root.join(format!("{folder}/n{file:05}.md")),
        };
        std::fs::create_dir_all(path.parent().context("it has a folder")?)?;
        let mut text = format!(
            "---\ntype: {}\nstatus: {}\ndate: 2026-{:02}-{:02}\n---\n# {} {} {file}\n\n",
            ["note", "how-to", "decision"][next(3)],
            ["draft", "final"][next(2)],
            next(12) + 1,
            next(28) + 1,
            WORDS[next(WORDS.len())],
            WORDS[next(WORDS.len())],
        );
        for _ in 0..4 + next(8) {
            for _ in 0..12 + next(20) {
                text.push_str(WORDS[next(WORDS.len())]);
                text.push(' ');
            }
            // Few documents are linked often, most rarely.
            let to = next(files).min(next(files));
            text.push_str(&format!("see [[n{to:05}]].\n\n"));
        }
        std::fs::write(path, text)?;
    }
    std::fs::write(root.join("finished"), "")?;
    Ok(root)
}
