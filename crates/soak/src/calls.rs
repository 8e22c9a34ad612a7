//! One server and one client that calls it without end, as a session of many
//! days does: what the server holds after the first thousand calls is what it
//! may hold after all of them.

use std::fmt;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::seeded::Seeded;

/// Calls until everything that is loaded once is loaded.
const WARM: usize = 1_000;

/// What to run.
pub struct Calls {
    /// The program.
    pub binary: PathBuf,
    pub calls: usize,
}

/// What came of it.
pub struct CallsReport {
    pub calls: usize,
    pub seconds: f64,
    /// Calls so far and resident kilobytes then; the first is after [`WARM`].
    pub marks: Vec<(usize, u64)>,
    pub highest: u64,
    pub threads: (u64, u64),
    pub files: (usize, usize),
}

impl CallsReport {
    /// By how much of itself the memory has grown since the thousandth call.
    pub fn grown(&self) -> f64 {
        let of = |mark: Option<&(usize, u64)>| mark.map_or(0.0, |mark| mark.1 as f64);
        let (first, last) = (of(self.marks.first()), of(self.marks.last()));
        (last - first) / first
    }
}

impl Calls {
    /// Fails where a call is not answered, or a thread or an open file is left
    /// behind by one.
    pub fn run(&self) -> Result<CallsReport> {
        let seeded = Seeded::new(&self.binary)?;
        for number in 0..40 {
            let words = format!("The tide of day {number} came late and low. ").repeat(30);
            let text = format!("# Day {number}\n\n{words}\n");
            seeded.ws.write(&format!("knowledge/day-{number}.md"), text);
        }
        let started = Instant::now();
        let mut server = Server::start(&seeded)?;
        let mut marks = Vec::new();
        let (mut threads, mut files) = ((0, 0), (0, 0));
        for number in 1..=self.calls.max(WARM) {
            server.call(number)?;
            if number == WARM {
                marks.push((number, server.field("VmRSS:")?));
                threads.0 = server.field("Threads:")?;
                files.0 = server.open_files()?;
            } else if number % (self.calls / 5).max(WARM) == 0 {
                marks.push((number, server.field("VmRSS:")?));
            }
        }
        threads.1 = server.field("Threads:")?;
        files.1 = server.open_files()?;
        // Threads for blocking work come and go within a fixed number.
        ensure!(
            threads.1 <= threads.0 + 8 && files.1 <= files.0 + 4,
            "threads {threads:?}, open files {files:?}"
        );
        let highest = server.field("VmHWM:")?;
        server.end()?;
        Ok(CallsReport {
            calls: self.calls.max(WARM),
            seconds: started.elapsed().as_secs_f64(),
            marks,
            highest,
            threads,
            files,
        })
    }
}

struct Server {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Server {
    fn start(seeded: &Seeded) -> Result<Server> {
        let mut child = seeded
            .ws
            .command()
            .arg("mcp")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("the server cannot be started")?;
        let stdin = child.stdin.take().context("a pipe was asked for")?;
        let stdout = child.stdout.take().context("a pipe was asked for")?;
        let mut server = Server {
            child,
            stdin,
            stdout: BufReader::new(stdout),
        };
        server.ask(&json!({
            "jsonrpc": "2.0", "id": 0, "method": "initialize",
            "params": { "protocolVersion": "2025-06-18", "capabilities": {},
                "clientInfo": { "name": "soak", "version": "1" } },
        }))?;
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        writeln!(server.stdin, "{ready}")?;
        Ok(server)
    }

    /// All that a session asks, and now and then what it should not.
    fn call(&mut self, number: usize) -> Result<()> {
        let tool = |name: &str, arguments: Value| json!({ "name": name, "arguments": arguments });
        let (method, params) = match number % 100 {
            0 => (
                "tools/call",
                tool(
                    "memory_update_state",
                    json!({ "next_action": format!("Step {number}") }),
                ),
            ),
            7 => ("tools/list", json!({})),
            13 => ("resources/list", json!({})),
            19 => (
                "resources/read",
                json!({ "uri": "memory-forge://knowledge/tides.md" }),
            ),
            29 => ("tools/call", tool("no_such_tool", json!({}))),
            31 => ("no/such/method", json!({})),
            37 => (
                "tools/call",
                tool("search_knowledge", json!({ "query": 7 })),
            ),
            41 => ("prompts/get", json!({ "name": "briefing" })),
            n if n % 10 == 1 => ("tools/call", tool("memory_status", json!({}))),
            n if n % 10 == 2 => (
                "tools/call",
                tool("memory_search", json!({ "query": "ledger" })),
            ),
            n => {
                let query = format!("the low tide of day {n} and word{number}");
                (
                    "tools/call",
                    tool("search_knowledge", json!({ "query": query })),
                )
            }
        };
        let request = json!({ "jsonrpc": "2.0", "id": number, "method": method, "params": params });
        let answer = self
            .ask(&request)
            .with_context(|| format!("call {number}, `{method}`"))?;
        ensure!(answer["id"] == number, "call {number} got {answer}");
        Ok(())
    }

    fn ask(&mut self, request: &Value) -> Result<Value> {
        writeln!(self.stdin, "{request}")?;
        self.stdin.flush()?;
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        serde_json::from_str(&line).with_context(|| format!("the server answered {line:?}"))
    }

    /// A number of the process, as the kernel tells it.
    fn field(&self, name: &str) -> Result<u64> {
        let path = format!("/proc/{}/status", self.child.id());
        let text = std::fs::read_to_string(path).context("memory is read from /proc")?;
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|line| line.split_whitespace().next());
        Ok(number.context("the kernel tells it")?.parse()?)
    }

    fn open_files(&self) -> Result<usize> {
        let folder = format!("/proc/{}/fd", self.child.id());
        Ok(std::fs::read_dir(folder)?.count())
    }

    fn end(self) -> Result<()> {
        let Server {
            mut child, stdin, ..
        } = self;
        drop(stdin);
        ensure!(child.wait()?.success(), "the server failed at its end");
        Ok(())
    }
}

impl fmt::Display for CallsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:>12} {:>12}", "calls", "resident kB")?;
        for (calls, kilobytes) in &self.marks {
            writeln!(f, "{calls:>12} {kilobytes:>12}")?;
        }
        writeln!(
            f,
            "highest {} kB; threads {} then {}; open files {} then {}",
            self.highest, self.threads.0, self.threads.1, self.files.0, self.files.1
        )?;
        write!(
            f,
            "{} calls, all answered, {:+.1} % since call {WARM}, {:.1} seconds",
            self.calls,
            self.grown() * 100.0,
            self.seconds
        )
    }
}
