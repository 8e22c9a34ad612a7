//! Others' tools for MCP servers, run offline: the protocol's conformance
//! suite, its inspector, and the packer of desktop bundles.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{Output, fetched};

/// One tool, with the Node that runs it.
pub struct McpTool {
    node: PathBuf,
    script: PathBuf,
}

impl McpTool {
    /// Skips the running test where the tool is absent. `tmpdir` is
    /// `CARGO_TARGET_TMPDIR`.
    pub fn with(tmpdir: &str, name: &str) -> Option<Self> {
        Some(Self {
            node: fetched::program(tmpdir, "mcp-tools", "node")?,
            script: fetched::program(tmpdir, "mcp-tools", name)?,
        })
    }

    /// Runs it to its end in an empty home.
    pub fn run(&self, arguments: &[&(impl AsRef<OsStr> + ?Sized)]) -> Output {
        let home = tempfile::tempdir().expect("a folder can be made");
        let output = Command::new("timeout")
            .arg("180")
            .arg(&self.node)
            .arg(&self.script)
            .args(arguments)
            .current_dir(home.path())
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", home.path())
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .output()
            .expect("the tool was fetched");
        Output {
            status: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// The conformance suite against a server at this port of the loopback. It
/// cannot show a token, so a proxy does. Gives what it printed, and `passed`
/// and `failed` of its last line.
pub fn conformance(
    suite: &McpTool,
    port: u16,
    token: &str,
    version: &str,
    expected_failures: Option<&Path>,
) -> (Output, u32, u32) {
    let url = format!("http://{}/mcp", proxy(port, token));
    let mut arguments = vec!["server", "--url", &url, "--suite", "all"];
    arguments.extend(["--spec-version", version]);
    let expected = expected_failures.map(|path| path.to_string_lossy());
    if let Some(expected) = &expected {
        arguments.extend(["--expected-failures", expected]);
    }
    let output = suite.run(&arguments);
    let total = output
        .stdout
        .lines()
        .find_map(|line| line.strip_prefix("Total: "));
    let numbers: Vec<u32> = total
        .unwrap_or_default()
        .split(|character: char| !character.is_ascii_digit())
        .filter_map(|number| number.parse().ok())
        .collect();
    let [passed, failed] = numbers[..] else {
        panic!("the suite has no total:\n{output}");
    };
    (output, passed, failed)
}

/// Listens on the loopback until the test ends, and hands requests on with the
/// token: one a connection, and all that is said on it.
fn proxy(port: u16, token: &str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback has a free port");
    let address = listener.local_addr().expect("it is bound");
    let token = token.to_owned();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let token = token.clone();
            // Who hangs up in the middle does so as a client might.
            std::thread::spawn(move || drop(hand_on(stream, port, &token)));
        }
    });
    address
}

fn hand_on(mut client: TcpStream, port: u16, token: &str) -> std::io::Result<()> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        client.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let mut server = TcpStream::connect(("127.0.0.1", port))?;
    for line in head.trim_end().split("\r\n") {
        if !line.to_ascii_lowercase().starts_with("connection:") {
            write!(server, "{line}\r\n")?;
        }
    }
    write!(
        server,
        "Connection: close\r\nAuthorization: Bearer {token}\r\n\r\n"
    )?;
    let (mut from, mut to) = (client.try_clone()?, server.try_clone()?);
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.shutdown(std::net::Shutdown::Write);
    });
    std::io::copy(&mut server, &mut client)?;
    client.shutdown(std::net::Shutdown::Both)
}
