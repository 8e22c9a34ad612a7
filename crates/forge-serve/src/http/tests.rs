use std::io::{Read, Write};

use rmcp::model::ServerConfig;
use serde_json::json;

use super::*;

struct Plain;

impl ServerHandler for Plain {
    fn get_info(&self) -> ServerConfig {
        let info = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "plain", "version": "0"},
        });
        serde_json::from_value(info).expect("it is the specification's shape")
    }
}

const TOKEN: &str = "a token for tests";

/// Runs the server while `ask` talks to it, and then ends it.
fn with_server(ask: impl FnOnce(SocketAddr) + Send + 'static) {
    let runtime = crate::build_runtime().expect("a runtime can be had");
    runtime.block_on(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let asking = tokio::task::spawn_blocking(move || ask(address));
        let door = Arc::new(McpEndpoint::new(|| Plain, TOKEN.to_owned()));
        let (done, stop) = tokio::sync::oneshot::channel::<()>();
        let serving = tokio::spawn(async move {
            let ending = door.clone();
            let answer = move |request| {
                let door = door.clone();
                async move { door.answer_request(request).await }
            };
            serve_connections(listener, answer, stop, ending.close_sessions()).await;
        });
        let asked = asking.await;
        drop(done);
        let ended = tokio::time::timeout(Duration::from_secs(10), serving).await;
        ended
            .expect("it ends when told")
            .expect("it does not panic");
        asked.expect("what was expected came");
    });
}

/// Status line and headers, and the body, of one request on one connection.
fn ask(address: SocketAddr, head: &str, body: &str) -> (String, String) {
    let mut stream = std::net::TcpStream::connect(address).expect("it listens");
    let length = body.len();
    let request = format!("{head}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it reads");
    // A server that refuses may close before it has read everything.
    let _ = stream.write_all(body.as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    (head.to_ascii_lowercase(), body.to_owned())
}

fn status(head: &str) -> &str {
    head.split(' ').nth(1).unwrap_or(head)
}

const POST: &str = "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream";
const SHOWN: &str = "\r\nAuthorization: Bearer a token for tests";
const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}"#;

#[test]
fn only_who_shows_the_token_is_served() {
    with_server(|address| {
        let cases = [
            ("", "401"),
            ("\r\nAuthorization: Bearer a token for testz", "401"),
            (
                "\r\nAuthorization: Bearer a token for tests and more",
                "401",
            ),
            ("\r\nAuthorization: Bearer ", "401"),
            ("\r\nAuthorization: Basic a token for tests", "401"),
            (
                "\r\nAuthorization: Bearer a token for tests\r\nAuthorization: Bearer x",
                "401",
            ),
            ("\r\nAuthorization: Bearer a token for tests", "200"),
            ("\r\nauthorization: bearer a token for tests", "200"),
        ];
        for (shown, expect) in cases {
            let (head, _) = ask(address, &format!("{POST}{shown}"), INITIALIZE);
            assert_eq!(status(&head), expect, "{shown}: {head}");
            let challenged = head.contains("www-authenticate: bearer");
            assert_eq!(challenged, expect == "401", "{head}");
        }
    });
}

#[test]
fn names_that_are_not_the_loopback_s_are_refused() {
    with_server(|address| {
        let post = |line: &str| POST.replace("Host: 127.0.0.1", line);
        let cases = [
            ("Host: localhost", "200"),
            ("Host: LOCALHOST:80", "200"),
            ("Host: [::1]:3000", "200"),
            ("Host: 127.0.0.1:1", "200"),
            ("Host: evil.example", "403"),
            ("Host: localhost.evil.example", "403"),
            ("Host: 127.0.0.1.evil.example", "403"),
            ("Host: localhost:80@evil.example", "403"),
            ("Host: 0.0.0.0", "403"),
            ("Host: ", "403"),
            ("Host: localhost\r\nHost: localhost", "403"),
            ("X-Host: localhost", "403"),
            ("Host: localhost\r\nOrigin: http://localhost:5173", "200"),
            ("Host: localhost\r\nOrigin: https://127.0.0.1", "200"),
            ("Host: localhost\r\nOrigin: http://evil.example", "403"),
            (
                "Host: localhost\r\nOrigin: http://localhost.evil.example",
                "403",
            ),
            ("Host: localhost\r\nOrigin: null", "403"),
            ("Host: localhost\r\nOrigin: file://localhost", "403"),
            (
                "Host: localhost\r\nOrigin: http://localhost\r\nOrigin: http://evil.example",
                "403",
            ),
        ];
        for (line, expect) in cases {
            let (head, _) = ask(address, &format!("{}{SHOWN}", post(line)), INITIALIZE);
            assert_eq!(status(&head), expect, "{line}: {head}");
        }
        // The name in the request's own address counts as well.
        let absolute = POST.replace("POST /mcp", "POST http://evil.example/mcp");
        let (head, _) = ask(address, &format!("{absolute}{SHOWN}"), INITIALIZE);
        assert_eq!(status(&head), "403", "{head}");
    });
}

#[test]
fn there_is_one_path_and_a_limit() {
    with_server(|address| {
        for path in [
            "/",
            "/mcp/",
            "/mcp/x",
            "/MCP",
            "//mcp",
            "/.well-known/oauth-protected-resource",
        ] {
            let head = POST.replace("/mcp", path) + SHOWN;
            let (head, _) = ask(address, &head, INITIALIZE);
            assert_eq!(status(&head), "404", "{path}: {head}");
        }
        let (head, _) = ask(
            address,
            &format!("{POST}{SHOWN}").replace("POST", "PUT"),
            INITIALIZE,
        );
        assert_eq!(status(&head), "405", "{head}");
        let (head, _) = ask(
            address,
            &format!("{POST}{SHOWN}").replace("POST", "OPTIONS"),
            "",
        );
        assert_eq!(status(&head), "405", "{head}");
        assert!(!head.contains("access-control"), "{head}");
        let filler = "x".repeat(MAX_MESSAGE_BYTES);
        let long =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"a":"{filler}"}}}}"#);
        let (head, _) = ask(address, &format!("{POST}{SHOWN}"), &long);
        assert_eq!(status(&head), "413", "{head}");
        let (head, _) = ask(address, &format!("{POST}{SHOWN}"), "hello");
        assert_eq!(&status(&head)[..1], "4", "{head}");
        let (head, _) = ask(address, &format!("{POST}{SHOWN}"), INITIALIZE);
        assert_eq!(status(&head), "200", "and life goes on: {head}");
    });
}

#[test]
fn sessions_are_bounded() {
    with_server(|address| {
        let mut sessions = Vec::new();
        for _ in 0..MAX_SESSIONS + 10 {
            let (head, _) = ask(address, &format!("{POST}{SHOWN}"), INITIALIZE);
            let session = head
                .lines()
                .find_map(|line| line.strip_prefix("mcp-session-id: "));
            sessions.push(session.expect("this era has sessions").to_owned());
        }
        let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        let alive = |session: &str| {
            let head = format!("{POST}{SHOWN}\r\nMcp-Session-Id: {session}");
            status(&ask(address, &head, ping).0).to_owned()
        };
        assert_eq!(alive(&sessions[0]), "404", "the oldest has gone");
        assert_eq!(alive(sessions.last().expect("there are some")), "200");
        let open = sessions.iter().filter(|session| alive(session) == "200");
        assert_eq!(open.count(), MAX_SESSIONS);
    });
}

#[test]
fn it_ends_although_a_client_listens() {
    with_server(|address| {
        let (head, _) = ask(address, &format!("{POST}{SHOWN}"), INITIALIZE);
        let session = head
            .lines()
            .find_map(|line| line.strip_prefix("mcp-session-id: "));
        let session = session.expect("this era has sessions");
        let mut stream = std::net::TcpStream::connect(address).expect("it listens");
        let listen = format!(
            "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream{SHOWN}\r\nMcp-Session-Id: {session}\r\n\r\n"
        );
        stream.write_all(listen.as_bytes()).expect("it reads");
        let mut some = [0; 12];
        stream.read_exact(&mut some).expect("it answers");
        assert_eq!(&some, b"HTTP/1.1 200");
        // Left open; `with_server` then has ten seconds to end.
        std::mem::forget(stream);
    });
}

#[test]
fn the_comparison_knows_equal_from_different() {
    assert!(is_same_secret(b"abc", b"abc"));
    for other in ["", "ab", "abcd", "abd", "xbc", "ABC"] {
        assert!(!is_same_secret(other.as_bytes(), b"abc"), "{other}");
    }
}
