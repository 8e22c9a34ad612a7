//! A workspace with everything in it, and the page served from it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use serde_json::Value;
use testkit::TestWorkspace;

/// A shop's payments: documents that link, decisions of which one replaced
/// another, sessions, a state with a blocker, files that are too large, and a
/// past in git.
pub(crate) fn shop() -> TestWorkspace {
    let ws = TestWorkspace::empty().binary(env!("CARGO_BIN_EXE_memory-forge"));
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/sample");
    testkit::copy(&sample, ws.root());
    ws.git_init();
    ws.commit_at("Payments: first notes", "2026-01-12T09:00:00Z");
    ws.write(
        "AGENTS.md",
        "# Agents\n\nRun the tests before every commit.\n",
    );
    ws.commit_at("Tell agents about the tests", "2026-01-28T09:00:00Z");
    // Rules stay in a repair, what happened once moves away.
    let rules = "# Rules\n\n- Amounts are integers in the smallest unit.\n\n## Background\n\n";
    let history =
        "Amounts were floating-point numbers until a thousand of them were off by a cent.\n\n";
    ws.write("CLAUDE.md", format!("{rules}{}", history.repeat(140)));
    ws.commit_at("Write all rules down", "2026-02-20T09:00:00Z");
    for arguments in [
        &[
            "mind",
            "set",
            "--phase",
            "Refunds",
            "--status",
            "Webhooks done, refunds half way",
            "--active",
            "Partial refunds in the ledger",
            "--active",
            "Retry of failed webhooks",
            "--blocked",
            "The bank's sandbox is down until Thursday",
            "--next",
            "Write the reconciliation job and run it against last month's ledger",
        ][..],
        &[
            "mind",
            "decide",
            "Refunds",
            "-d",
            "Refund through the card network at once",
            "-r",
            "Customers see it the same day",
        ],
        &[
            "mind",
            "decide",
            "Queue for webhooks",
            "-d",
            "Webhooks go through a queue of their own",
        ],
        &[
            "mind",
            "decide",
            "Refunds in a batch",
            "-d",
            "Supersedes DEC-001: refunds are collected and sent once a day",
            "-r",
            "The network charges for each call",
            "--by",
            "Ada",
        ],
        &[
            "mind",
            "log",
            "Ledger keeps refunds as entries of their own",
            "--completed",
            "Schema for refunds",
        ],
        &[
            "mind",
            "log",
            "Webhooks are retried with a growing delay",
            "--completed",
            "Retry",
            "--next",
            "Reconciliation",
        ],
        &["mind", "checkpoint"],
    ] {
        ws.run(arguments).ok();
    }
    ws.write("knowledge/map.svg", "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"40\" height=\"20\"><rect width=\"40\" height=\"20\" fill=\"teal\"/></svg>");
    ws.write("knowledge/reconciliation.md", "---\ntype: how-to\nstatus: draft\ndate: 2026-02-25\npeople: [\"[[Ada]]\"]\n---\n# Reconciliation\n\nCompares the [[ledger]] with the bank's file, see [[refunds]] and [[nowhere]].\n\n![Map](map.svg)\n\n| file | when |\n|---|--:|\n| `bank.csv` | 06:00 |\n\n- [x] read the file\n- [ ] report what differs\n");
    ws.write(
        "knowledge/private.local.md",
        "# Salary of the team\n\nOnly mine.\n",
    );
    ws.commit_at("Plan the reconciliation", "2026-02-26T09:00:00Z");
    ws
}

/// The page while the command runs; ended when dropped.
pub(crate) struct Page {
    child: Child,
    /// With the token behind `#`.
    pub(crate) address: String,
}

/// The same workspace in a folder whose name can be shown.
pub(crate) fn named(ws: &TestWorkspace, name: &str) -> PathBuf {
    let place = ws.root().with_file_name(name);
    let copied = std::process::Command::new("cp")
        .arg("-a")
        .args([ws.root(), &place])
        .status();
    assert!(copied.is_ok_and(|it| it.success()), "cp is everywhere");
    place
}

impl Page {
    #[track_caller]
    pub(crate) fn of(ws: &TestWorkspace) -> Page {
        Page::at(ws, ws.root())
    }

    #[track_caller]
    pub(crate) fn at(ws: &TestWorkspace, root: &Path) -> Page {
        let child = ws
            .command()
            .args(["view", "--no-open", "--root"])
            .arg(root)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn();
        let mut child = child.expect("the program was built");
        let output = child.stdout.take().expect("it is piped");
        let mut address = String::new();
        let _ = BufReader::new(output).read_line(&mut address);
        let page = Page {
            child,
            address: address.trim().to_owned(),
        };
        assert!(page.address.starts_with("http://127.0.0.1:"), "{address}");
        page
    }

    pub(crate) fn origin(&self) -> &str {
        self.address.split("/#").next().unwrap_or_default()
    }

    pub(crate) fn token(&self) -> &str {
        self.address.split("token=").nth(1).unwrap_or_default()
    }

    /// Status and body of a question.
    #[track_caller]
    pub(crate) fn ask(&self, method: &str, what: &str, body: &str) -> (u16, Value) {
        let place = self.origin().trim_start_matches("http://");
        let mut stream = TcpStream::connect(place).expect("it listens");
        let head = format!(
            "{method} /api/{what} HTTP/1.1\r\nHost: {place}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.token(),
            body.len()
        );
        stream.write_all(head.as_bytes()).expect("it reads");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("it answers");
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
        let status = head.split(' ').nth(1).and_then(|it| it.parse().ok());
        let value = serde_json::from_str(body).unwrap_or_else(|_| Value::String(body.to_owned()));
        (status.unwrap_or(0), value)
    }

    #[track_caller]
    pub(crate) fn get(&self, what: &str) -> Value {
        let (status, value) = self.ask("GET", what, "");
        assert_eq!(status, 200, "{what}: {value}");
        value
    }

    pub(crate) fn post(&self, what: &str, body: &Value) -> (u16, Value) {
        self.ask("POST", what, &body.to_string())
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
