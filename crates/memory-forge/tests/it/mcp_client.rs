//! A client of `memory-forge mcp` on standard input and output: one line out,
//! one line back, and every line that comes back must be of the protocol.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};
use testkit::TestWorkspace;

/// Far more than any answer takes; a hang shall not last for ever.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    next: u64,
    /// What each request carries in the newer protocol.
    meta: Option<Value>,
}

impl Client {
    /// Starts the server and says nothing yet.
    #[track_caller]
    pub(crate) fn start(ws: &TestWorkspace, arguments: &[&str]) -> Client {
        let mut child = ws
            .command()
            .arg("mcp")
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server can be started");
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().expect("standard output is a pipe");
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        Client {
            child,
            stdin,
            lines,
            next: 1,
            meta: None,
        }
    }

    /// A session of the older protocol.
    #[track_caller]
    pub(crate) fn legacy(ws: &TestWorkspace, arguments: &[&str]) -> Client {
        let mut client = Client::start(ws, arguments);
        client.initialize("2025-06-18");
        client
    }

    #[track_caller]
    pub(crate) fn initialize(&mut self, version: &str) -> Value {
        let answer = self.ask(
            "initialize",
            json!({
                "protocolVersion": version, "capabilities": {},
                "clientInfo": { "name": "test", "version": "1" },
            }),
        );
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        answer["result"].clone()
    }

    /// A client of the newer protocol: every request says who asks.
    #[track_caller]
    pub(crate) fn modern(ws: &TestWorkspace) -> Client {
        let mut client = Client::start(ws, &[]);
        client.meta = Some(json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        }));
        client
    }

    pub(crate) fn send(&mut self, message: &Value) {
        let stdin = self.stdin.as_mut().expect("the input is open");
        let line = format!("{message}\n");
        stdin.write_all(line.as_bytes()).expect("the server reads");
        stdin.flush().expect("the server reads");
    }

    /// A request and its answer, which is the next line.
    #[track_caller]
    pub(crate) fn ask(&mut self, method: &str, mut params: Value) -> Value {
        if let Some(meta) = &self.meta {
            params["_meta"] = meta.clone();
        }
        let id = self.next;
        self.next += 1;
        let mut request = json!({ "jsonrpc": "2.0", "id": id, "method": method });
        if params.as_object().is_some_and(|map| !map.is_empty()) {
            request["params"] = params;
        }
        self.send(&request);
        let answer = self.line();
        assert_eq!(answer["id"], id, "{method}: {answer}");
        answer
    }

    #[track_caller]
    fn line(&mut self) -> Value {
        let line = self
            .lines
            .recv_timeout(PATIENCE)
            .unwrap_or_else(|error| panic!("no answer: {error}"));
        let value: Value = serde_json::from_str(&line)
            .unwrap_or_else(|error| panic!("not of the protocol: {error}: {line}"));
        assert_eq!(value["jsonrpc"], "2.0", "{line}");
        value
    }

    #[track_caller]
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.ask(
            "tools/call",
            json!({ "name": tool, "arguments": arguments }),
        );
        assert!(answer.get("error").is_none(), "{tool}: {answer}");
        answer["result"].clone()
    }

    /// The first text of a result that is not an error.
    #[track_caller]
    pub(crate) fn text(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], false, "{tool}: {result}");
        assert!(result["structuredContent"].is_object(), "{tool}: {result}");
        text_of(&result)
    }

    /// The text of a result that is an error.
    #[track_caller]
    pub(crate) fn refused(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], true, "{tool}: {result}");
        text_of(&result)
    }

    /// Sends SIGTERM.
    pub(crate) fn terminate(&self) {
        let id = self.child.id().to_string();
        let sent = std::process::Command::new("kill").arg(&id).status();
        assert!(sent.is_ok_and(|status| status.success()), "it runs");
    }

    /// Ends the input; gives the exit code, what was left on standard output,
    /// and standard error.
    pub(crate) fn end(mut self) -> (Option<i32>, Vec<String>, String) {
        drop(self.stdin.take());
        let mut told = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            let _ = stderr.read_to_string(&mut told);
        }
        let status = self.child.wait().expect("it was started");
        (status.code(), self.lines.iter().collect(), told)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn text_of(result: &Value) -> String {
    result["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("no text: {result}"))
        .to_owned()
}
