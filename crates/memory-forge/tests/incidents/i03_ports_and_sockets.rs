//! Port conflicts, zombie sockets, a machine locked out.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};

use serde_json::json;
use testkit::TestWorkspace;

use crate::harness::ws;
use crate::i01_children_without_bound::mcp_client::Client;
use crate::i01_children_without_bound::provoke::{
    COMMANDS, below, can, ended, house, quiet, served, words,
};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// Without any network at all, not even loopback, every command does what it
/// always does.
#[test]
#[cfg(target_os = "linux")]
fn every_command_works_without_a_network() {
    if !can(&["unshare", "-n", "true"]) {
        return;
    }
    let ws = house();
    for (line, code) in COMMANDS {
        let output = quiet(&mut below(&ws, &["unshare", "-n"], &words(line)), line);
        assert_eq!(output.status, Some(*code), "{line}: {output}");
    }
}

/// No command opens a socket of any kind: the kernel is asked.
#[test]
#[cfg(target_os = "linux")]
fn no_command_opens_a_socket() {
    if !can(&["strace", "-f", "-o", "/dev/null", "true"]) {
        return;
    }
    let ws = house();
    let trace = ws.home().join("trace").display().to_string();
    let wrapper = [
        "strace",
        "-f",
        "-qq",
        "-e",
        "trace=socket,bind,listen,connect",
        "-e",
        "signal=none",
        "-o",
        &trace,
    ];
    for (line, code) in COMMANDS {
        let output = quiet(&mut below(&ws, &wrapper, &words(line)), line);
        assert_eq!(output.status, Some(*code), "{line}: {output}");
        let text = std::fs::read_to_string(&trace).expect("it was traced");
        let sockets: Vec<&str> = text
            .lines()
            .filter(|call| call.contains("socket("))
            .collect();
        assert_eq!(sockets, Vec::<&str>::new(), "{line}");
    }
}

/// Neither does the server that clients start, while it is at work. Its
/// runtime has a pair of connected sockets of its own for signals, which have
/// no name and listen to nobody.
#[test]
#[cfg(target_os = "linux")]
fn the_usual_server_listens_nowhere() {
    let ws = house();
    let mut client = Client::legacy(&ws, &[]);
    client.text("search_knowledge", json!({ "query": "high water" }));
    client.text("memory_update_state", json!({ "phase": "Build" }));
    for server in crate::i01_children_without_bound::processes_of(&ws) {
        assert_eq!(listening(server), Vec::<String>::new());
    }
    assert_eq!(client.end().0, Some(0));
}

/// The addresses at which a process listens, by its open files.
#[cfg(target_os = "linux")]
fn listening(process: u32) -> Vec<String> {
    let files = std::fs::read_dir(format!("/proc/{process}/fd")).expect("it runs");
    let ours: Vec<String> = files
        .flatten()
        .filter_map(|file| {
            let to = std::fs::read_link(file.path()).ok()?;
            let to = to.to_str()?.strip_prefix("socket:[")?;
            Some(to.trim_end_matches(']').to_owned())
        })
        .collect();
    let mut found = Vec::new();
    for table in ["tcp", "tcp6", "udp", "udp6"] {
        let text = std::fs::read_to_string(format!("/proc/{process}/net/{table}"));
        for line in text.unwrap_or_default().lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            if fields
                .get(9)
                .is_some_and(|inode| ours.iter().any(|it| it == inode))
            {
                found.push(format!("{table} {}", fields[1]));
            }
        }
    }
    // A name in the file system or the abstract one would be a door as well.
    let text = std::fs::read_to_string(format!("/proc/{process}/net/unix")).unwrap_or_default();
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let is_ours = fields
            .get(6)
            .is_some_and(|inode| ours.iter().any(|it| it == inode));
        if is_ours && fields.len() > 7 {
            found.push(format!("unix {}", fields[7]));
        }
    }
    found
}

struct Http {
    child: Child,
    address: String,
}

impl Http {
    fn start(ws: &TestWorkspace, port: &str) -> Http {
        let (child, address) = served(ws, &["--port", port]);
        Http { child, address }
    }

    fn port(&self) -> &str {
        self.address.rsplit(':').next().expect("there is a port")
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn tides() -> TestWorkspace {
    ws("//- knowledge/tides.md\n# Tides\n\nHigh water at noon.\n//- .mind/STATE.md\n# Project State\n\n## Next Action\nShip it\n")
        .env("MEMORY_FORGE_MCP_TOKEN", TOKEN)
}

#[test]
fn servers_at_once_get_ports_of_their_own_on_the_loopback_alone() {
    let ws = tides();
    let servers: Vec<Http> = (0..4).map(|_| Http::start(&ws, "0")).collect();
    let mut ports: Vec<&str> = servers.iter().map(Http::port).collect();
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports.len(), 4);
    for server in &servers {
        assert!(
            server.address.starts_with("127.0.0.1:"),
            "{}",
            server.address
        );
        #[cfg(target_os = "linux")]
        {
            let places = listening(server.child.id());
            assert_eq!(places.len(), 1, "{places:?}");
            assert!(places[0].starts_with("tcp 0100007F:"), "{places:?}");
        }
        let mut stream = TcpStream::connect(&server.address).expect("it listens");
        write!(
            stream,
            "GET /mcp HTTP/1.1\r\nHost: {}\r\n\r\n",
            server.address
        )
        .expect("it reads");
        let mut line = String::new();
        BufReader::new(stream)
            .read_line(&mut line)
            .expect("it answers");
        assert!(
            line.starts_with("HTTP/1.1 4"),
            "nobody without the token: {line}"
        );
    }
}

/// Somebody has the port: the server says so and ends, and nothing else minds.
#[test]
fn a_taken_port_is_an_error_and_nobody_else_s_problem() {
    let ws = tides();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("bound").port().to_string();
    let child = ws
        .command()
        .args(["mcp", "--http", "--port", &port])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it can be started");
    let output = ended(child, "mcp --http");
    let said = output.fails(1);
    assert!(said.contains(&port) && said.contains("in use"), "{output}");
    assert_eq!(output.stdout, "");
    // Hooks, commands and the usual server never look at a port.
    let hook = ws.feed(r#"{"hook_event_name":"SessionStart"}"#, &[], &["hook"]);
    assert!(hook.ok().contains("Ship it"), "{hook}");
    ws.run(&["search", "noon"]).ok();
    let mut client = Client::legacy(&ws, &[]);
    client.text("search_knowledge", json!({ "query": "noon" }));
    assert_eq!(client.end().0, Some(0));
}

/// A server that was killed with connections open: its port can be had again
/// at once.
#[test]
fn the_port_of_a_killed_server_is_free_again() {
    let ws = tides();
    let first = Http::start(&ws, "0");
    let port = first.port().to_owned();
    let open = TcpStream::connect(&first.address).expect("it listens");
    drop(first);
    let second = Http::start(&ws, &port);
    assert_eq!(second.port(), port);
    TcpStream::connect(&second.address).expect("it listens");
    drop(open);
}
