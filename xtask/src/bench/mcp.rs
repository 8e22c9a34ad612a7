//! `bench mcp`: what the server costs a session, over ten thousand passages:
//! from its start to the first answers as ratios to `true`, one search after
//! another on one connection, and the memory that it holds before and after.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::speed::process::Arena;
use super::speed::tree::{Kind, Tree};

/// Files of the generated tree that make about ten thousand passages.
const FILES: usize = 1_120;
/// Searches whose times are reported.
const SEARCHES: usize = 1_000;

struct Options {
    calls: usize,
    runs: usize,
    files: usize,
    /// Measured instead of a new build, where there is no compiler.
    binary: Option<PathBuf>,
}

pub(crate) fn run(rest: &[&str]) -> Result<()> {
    let options = parse(rest)?;
    let binary = match &options.binary {
        Some(binary) => binary.clone(),
        None => crate::build_release(None)?,
    };
    let bench = crate::target().join("bench");
    let tree = Tree::prepare(&bench, Kind::Generated, options.files, "mcp")?
        .context("generated trees need nothing from outside")?;
    let arena = Arena::new(&bench)?;
    let truth = arena.find("true").context("`true` is needed")?;
    eprintln!("bench: filling index and caches");
    arena.time(&binary, &["index".to_owned()], tree.root())?;
    let passages = passages(&arena, &binary, &tree)?;

    let (mut base, mut first, mut discover, mut search) = (vec![], vec![], vec![], vec![]);
    for round in 0..=options.runs {
        let times = [
            arena.time(&truth, &[], tree.root())?.wall.as_secs_f64(),
            to_answer(&arena, &binary, &tree, &[INITIALIZE.to_owned()])?,
            to_answer(&arena, &binary, &tree, &[discover_request()])?,
            to_answer(
                &arena,
                &binary,
                &tree,
                &[
                    INITIALIZE.to_owned(),
                    INITIALIZED.to_owned(),
                    call(2, QUERIES[0]),
                ],
            )?,
        ];
        // The first round warms the caches.
        if round > 0 {
            for (list, time) in [&mut base, &mut first, &mut discover, &mut search]
                .into_iter()
                .zip(times)
            {
                list.push(time * 1000.0);
            }
        }
    }

    let mut server = Server::start(&arena, &binary, &tree)?;
    server.ask(INITIALIZE)?;
    server.send(INITIALIZED)?;
    let at_start = server.memory()?;
    let mut times = Vec::new();
    for number in 0..SEARCHES {
        times.push(server.search(number)?);
    }
    let after_searches = server.memory()?;
    let mut marks = Vec::new();
    for number in SEARCHES..options.calls.max(SEARCHES) {
        server.search(number)?;
        if (number + 1) % (options.calls / 5).max(1) == 0 {
            marks.push((number + 1, server.memory()?.0));
        }
    }
    let at_end = server.memory()?;
    server.end()?;

    println!(
        "tree {} ({} files, {} bytes, {passages} passages, git tree {})",
        tree.name(),
        tree.files(),
        tree.bytes(),
        tree.hash()
    );
    println!("binary {} sha256 {}", binary.display(), sha256(&binary)?);
    println!(
        "{} rounds, {} calls\n",
        options.runs,
        options.calls.max(SEARCHES)
    );
    println!(
        "{:36} {:>10} {:>10} {:>8}",
        "", "median ms", "p95 ms", "/ true"
    );
    let unit = at(&mut base.clone(), 50);
    for (name, list) in [
        ("true, to its end", &mut base),
        ("start to the answer of initialize", &mut first),
        ("start to the answer of discover", &mut discover),
        ("start to the first search's answer", &mut search),
    ] {
        let median = at(list, 50);
        println!(
            "{name:36} {median:>10.2} {:>10.2} {:>8.2}",
            at(list, 95),
            median / unit
        );
    }
    println!(
        "\n{SEARCHES} searches on one connection: p50 {:.2} ms, p99 {:.2} ms, worst {:.2} ms",
        at(&mut times, 50),
        at(&mut times, 99),
        at(&mut times, 100)
    );
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    println!("\nresident memory, MB (now, highest so far)");
    for (name, (now, most)) in [
        ("at the start".to_owned(), at_start),
        (format!("after {SEARCHES} searches"), after_searches),
        (
            format!("after {} searches", options.calls.max(SEARCHES)),
            at_end,
        ),
    ] {
        println!(
            "  {name:28} {:>8.1} {:>8.1}",
            megabytes(now),
            megabytes(most)
        );
    }
    for (calls, now) in marks {
        println!("  {:28} {:>8.1}", format!("… at {calls}"), megabytes(now));
    }
    Ok(())
}

fn parse(rest: &[&str]) -> Result<Options> {
    let mut options = Options {
        calls: 5_000,
        runs: 31,
        files: FILES,
        binary: None,
    };
    for pair in rest.chunks(2) {
        let [flag, value] = pair else {
            bail!("usage: bench mcp [--calls N] [--runs N] [--files N] [--binary FILE]");
        };
        if *flag == "--binary" {
            options.binary = Some(PathBuf::from(value).canonicalize()?);
            continue;
        }
        let number: usize = value
            .parse()
            .with_context(|| format!("`{flag}` takes a number"))?;
        match *flag {
            "--calls" => options.calls = number,
            "--runs" => options.runs = number.max(1),
            "--files" => options.files = number.max(1),
            other => bail!("Unknown option `{other}`"),
        }
    }
    Ok(options)
}

pub(super) const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;
pub(super) const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// Questions as people ask them, over the words of the generated tree.
const QUERIES: [&str; 8] = [
    "how is the saltmarsh group used in billing",
    "billing",
    "which people call the gateway first",
    "the ledger and the reports",
    "how long would it take to find the first number",
    "shipping",
    "what was made of the water in storage",
    "saltmarsh",
];

fn discover_request() -> String {
    json!({
        "jsonrpc": "2.0", "id": 1, "method": "server/discover",
        "params": { "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": { "name": "bench", "version": "1" },
        } },
    })
    .to_string()
}

pub(super) fn call(id: usize, query: &str) -> String {
    json!({
        "jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": { "name": "search_knowledge", "arguments": { "query": query } },
    })
    .to_string()
}

/// Seconds from before the start to the answer of the last of these.
fn to_answer(arena: &Arena, binary: &Path, tree: &Tree, messages: &[String]) -> Result<f64> {
    let start = Instant::now();
    let mut server = Server::start(arena, binary, tree)?;
    for message in messages {
        if message.contains("\"id\"") {
            drop(server.ask(message)?)
        } else {
            server.send(message)?
        }
    }
    let time = start.elapsed().as_secs_f64();
    server.end()?;
    Ok(time)
}

pub(super) struct Server {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Server {
    pub(super) fn start(arena: &Arena, binary: &Path, tree: &Tree) -> Result<Server> {
        let mut command: Command = arena.command(binary, &["mcp".to_owned()], tree.root());
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("Cannot start the server")?;
        let stdin = child.stdin.take().context("a pipe was asked for")?;
        let stdout = child.stdout.take().context("a pipe was asked for")?;
        Ok(Server {
            child,
            stdin,
            stdout: BufReader::new(stdout),
        })
    }

    pub(super) fn send(&mut self, message: &str) -> Result<()> {
        self.stdin.write_all(message.as_bytes())?;
        self.stdin.write_all(b"\n")?;
        self.stdin.flush()?;
        Ok(())
    }

    pub(super) fn ask(&mut self, message: &str) -> Result<Value> {
        self.send(message)?;
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        let answer: Value = serde_json::from_str(&line).context("The server's answer")?;
        if answer.get("result").is_none() {
            bail!("The server refused: {line}");
        }
        Ok(answer)
    }

    /// Milliseconds of one search; an answer without passages measures nothing.
    fn search(&mut self, number: usize) -> Result<f64> {
        let message = call(number + 2, QUERIES[number % QUERIES.len()]);
        let start = Instant::now();
        let answer = self.ask(&message)?;
        let time = start.elapsed().as_secs_f64() * 1000.0;
        if answer["result"]["structuredContent"]["results"] == json!([]) {
            bail!("`{}` finds nothing", QUERIES[number % QUERIES.len()]);
        }
        Ok(time)
    }

    /// Resident bytes now, and the most there ever were.
    pub(super) fn memory(&self) -> Result<(u64, u64)> {
        let path = PathBuf::from(format!("/proc/{}/status", self.child.id()));
        let text = std::fs::read_to_string(&path).context("Memory is read from /proc")?;
        let field = |name: &str| -> Result<u64> {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            let number = line.and_then(|line| line.split_whitespace().nth(0));
            Ok(number.context("the kernel tells it")?.parse::<u64>()? * 1024)
        };
        Ok((field("VmRSS:")?, field("VmHWM:")?))
    }

    /// Seconds that the server has run on any processor, in all its threads.
    #[cfg(target_os = "linux")]
    pub(super) fn ran(&self) -> Result<f64> {
        let pid = libc::pid_t::try_from(self.child.id()).context("Process ids fit")?;
        let mut clock = 0;
        let mut time = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: both pointers are to live values of the right type.
        let failed = unsafe {
            libc::clock_getcpuclockid(pid, &raw mut clock) != 0
                || libc::clock_gettime(clock, &raw mut time) != 0
        };
        if failed {
            bail!("The server's clock cannot be read");
        }
        Ok(time.tv_sec as f64 + time.tv_nsec as f64 / 1e9)
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn ran(&self) -> Result<f64> {
        bail!("this benchmark reads a clock that only Linux has")
    }

    pub(super) fn end(self) -> Result<()> {
        let Server {
            mut child, stdin, ..
        } = self;
        drop(stdin);
        let status = child.wait()?;
        if !status.success() {
            bail!("The server failed");
        }
        Ok(())
    }
}

pub(super) fn passages(arena: &Arena, binary: &Path, tree: &Tree) -> Result<u64> {
    let arguments = ["stats".to_owned(), "--json".to_owned()];
    let output = arena.command(binary, &arguments, tree.root()).output()?;
    let stats: Value = serde_json::from_slice(&output.stdout).context("The statistics")?;
    stats["index"]["passages"]
        .as_u64()
        .context("There is no index")
}

pub(super) fn at(times: &mut [f64], percent: usize) -> f64 {
    times.sort_by(f64::total_cmp);
    times[(times.len() * percent / 100).min(times.len() - 1)]
}

pub(super) fn sha256(path: &Path) -> Result<String> {
    use sha2::{Digest, Sha256};
    let digest = Sha256::digest(std::fs::read(path)?);
    Ok(digest
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect())
}
