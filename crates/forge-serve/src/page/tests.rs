use std::io::{Read, Write};
use std::net::Ipv4Addr;
use std::time::Duration;

use tokio::net::TcpListener;

use super::*;

const TOKEN: &str = "a token for tests";
const SHOWN: &str = "\r\nAuthorization: Bearer a token for tests";
const ASSETS: &[Asset] = &[Asset {
    path: "/index.html",
    kind: "text/html; charset=utf-8",
    bytes: b"<!doctype html>page",
}];

/// Runs a page whose data is what it was asked, while `ask` talks to it.
fn with_page(ask: impl FnOnce(SocketAddr) + Send + 'static) {
    let runtime = crate::build_runtime().expect("a runtime can be had");
    runtime.block_on(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let asking = tokio::task::spawn_blocking(move || ask(address));
        let echo = |asked: PageRequest| PageReply {
            status: 200,
            kind: "text/plain; charset=utf-8",
            body: format!(
                "{:?} {} {} {}",
                asked.method,
                asked.name,
                asked.query,
                asked.body.len()
            )
            .into_bytes()
            .into(),
        };
        let door = Arc::new(PageEndpoint {
            token: TOKEN.to_owned(),
            port: address.port(),
            assets: ASSETS,
            answer: Arc::new(echo),
            places: Semaphore::new(MAX_CONCURRENT_QUESTIONS),
        });
        let (done, stop) = tokio::sync::oneshot::channel::<()>();
        let serving = tokio::spawn(async move {
            let answer = move |request| {
                let door = door.clone();
                async move { door.answer_request(request).await }
            };
            serve_connections(listener, answer, stop, async {}).await;
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

/// Head and body of the answer to one request.
fn ask(address: SocketAddr, head: &str, body: &[u8]) -> (String, String) {
    let mut stream = std::net::TcpStream::connect(address).expect("it listens");
    let length = body.len();
    let request = format!("{head}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it reads");
    // A server that refuses may close before it has read everything.
    let _ = stream.write_all(body);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    (head.to_ascii_lowercase(), body.to_owned())
}

#[track_caller]
fn check(address: SocketAddr, head: &str, status: &str) {
    let (answered, body) = ask(address, head, b"");
    let found = answered.split(' ').nth(1).unwrap_or_default();
    assert_eq!(found, status, "{head}\n{answered}\n{body}");
}

#[test]
fn data_needs_the_token_and_the_page_does_not() {
    with_page(|address| {
        let get = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1");
        check(address, &get("/"), "200");
        check(address, &get("/index.html"), "200");
        check(address, &get("/api/overview"), "401");
        let wrong = "\r\nAuthorization: Bearer a token for testz";
        check(address, &(get("/api/overview") + wrong), "401");
        check(
            address,
            &get("/api/overview?token=a%20token%20for%20tests"),
            "401",
        );
        let cookie = "\r\nCookie: token=a token for tests";
        check(address, &(get("/api/overview") + cookie), "401");
        let (_, body) = ask(address, &(get("/api/a?q=b") + SHOWN), b"");
        assert_eq!(body, "Get a q=b 0");
    });
}

#[test]
fn there_is_nothing_but_the_page_and_its_data() {
    with_page(|address| {
        for path in [
            "/.git/config",
            "/assets/",
            "/../etc/passwd",
            "/index.html/",
            "//",
            "/api",
        ] {
            check(
                address,
                &format!("GET {path} HTTP/1.1\r\nHost: localhost{SHOWN}"),
                "404",
            );
        }
        for method in ["PUT", "DELETE", "OPTIONS", "HEAD"] {
            check(
                address,
                &format!("{method} / HTTP/1.1\r\nHost: localhost{SHOWN}"),
                "405",
            );
        }
        check(address, "POST / HTTP/1.1\r\nHost: localhost", "405");
    });
}

#[test]
fn other_names_and_other_pages_are_refused_even_with_the_token() {
    with_page(|address| {
        let port = address.port();
        let get =
            |host: &str, more: &str| format!("GET /api/a HTTP/1.1\r\nHost: {host}{SHOWN}{more}");
        check(address, &get("127.0.0.1", ""), "200");
        check(address, &get("evil.example", ""), "403");
        check(address, &get(&format!("evil.example:{port}"), ""), "403");
        let from = |origin: &str| format!("\r\nOrigin: {origin}");
        check(
            address,
            &get("127.0.0.1", &from(&format!("http://127.0.0.1:{port}"))),
            "200",
        );
        for origin in [
            "null",
            "http://evil.example",
            "http://127.0.0.1:1",
            "file://",
        ] {
            check(address, &get("127.0.0.1", &from(origin)), "403");
        }
        for (site, status) in [
            ("same-origin", "200"),
            ("none", "200"),
            ("cross-site", "403"),
            ("same-site", "403"),
        ] {
            check(
                address,
                &get("127.0.0.1", &format!("\r\nSec-Fetch-Site: {site}")),
                status,
            );
        }
    });
}

#[test]
fn what_writes_is_json_and_not_too_long() {
    with_page(|address| {
        let post = format!("POST /api/save HTTP/1.1\r\nHost: 127.0.0.1{SHOWN}");
        check(address, &post, "415");
        check(
            address,
            &format!("{post}\r\nContent-Type: text/plain"),
            "415",
        );
        let json = format!("{post}\r\nContent-Type: application/json; charset=utf-8");
        let (_, body) = ask(address, &json, b"{}");
        assert_eq!(body, "Post save  2");
        let (head, _) = ask(address, &json, &vec![b' '; MAX_BODY_BYTES + 1]);
        assert!(head.contains(" 413 "), "{head}");
        // Without a length it is cut off while it comes.
        let mut stream = std::net::TcpStream::connect(address).expect("it listens");
        let head = format!("{json}\r\nTransfer-Encoding: chunked\r\n\r\n");
        stream.write_all(head.as_bytes()).expect("it reads");
        let part = vec![b' '; 1 << 20];
        for _ in 0..10 {
            let size = format!("{:x}\r\n", part.len());
            let sent = stream
                .write_all(size.as_bytes())
                .and_then(|()| stream.write_all(&part))
                .and_then(|()| stream.write_all(b"\r\n"));
            if sent.is_err() {
                break;
            }
        }
        let mut answer = [0; 12];
        if stream.read_exact(&mut answer).is_ok() {
            assert_eq!(&answer, b"HTTP/1.1 413");
        }
    });
}

#[test]
fn every_answer_forbids_what_a_page_must_not_do() {
    with_page(|address| {
        let paths = ["/", "/nothing", "/api/a"];
        for path in paths {
            let (head, _) = ask(
                address,
                &format!("GET {path} HTTP/1.1\r\nHost: localhost"),
                b"",
            );
            for (name, value) in ANSWER_HEADERS {
                let line = format!("{name}: {value}").to_ascii_lowercase();
                assert!(head.contains(&line), "{path}: no {name}\n{head}");
            }
            assert!(!head.contains("set-cookie"), "{head}");
            assert!(!head.contains("access-control"), "{head}");
        }
        let policy = ANSWER_HEADERS[0].1;
        assert!(policy.starts_with("default-src 'none'"));
        for loose in ["unsafe", "data:", "http", "*"] {
            assert!(!policy.contains(loose), "{policy}");
        }
    });
}

/// Connections that say nothing do not keep a person waiting: the oldest of
/// them are closed, as many as room is needed for, and no request waits until
/// their headers are overdue.
#[test]
fn silent_connections_make_room_for_a_request() {
    const SILENT: usize = 200;
    with_page(|address| {
        let silent: Vec<std::net::TcpStream> = (0..SILENT)
            .map(|_| std::net::TcpStream::connect(address).expect("it listens"))
            .collect();
        let (head, body) = ask(address, "GET / HTTP/1.1\r\nHost: 127.0.0.1", b"");
        assert!(head.contains(" 200 "), "{head}");
        assert!(body.ends_with("page"), "{body}");
        let is_open = |mut stream: &std::net::TcpStream| {
            stream.set_nonblocking(true).expect("it is a socket");
            let read = stream.read(&mut [0; 1]);
            read.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
        };
        // Had the request waited for overdue headers, the first 128 were closed.
        let open = silent[..128].iter().filter(|it| is_open(it)).count();
        assert!(
            open >= 128 - (SILENT + 1 - 128),
            "only {open} were left open"
        );
        assert!(silent[128..].iter().all(is_open));
    });
}

/// A connection that is waiting for its next request is closed only when all
/// that never asked are gone.
#[test]
fn a_connection_that_asked_outlives_silent_ones() {
    with_page(|address| {
        let mut kept = std::net::TcpStream::connect(address).expect("it listens");
        let request = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
        let mut answer = vec![0; 4096];
        let mut ask_again = || {
            kept.write_all(request).expect("it is open");
            let read = kept.read(&mut answer).expect("it is open");
            String::from_utf8_lossy(&answer[..read]).into_owned()
        };
        assert!(ask_again().starts_with("HTTP/1.1 200"));
        let silent: Vec<std::net::TcpStream> = (0..300)
            .map(|_| std::net::TcpStream::connect(address).expect("it listens"))
            .collect();
        let (head, _) = ask(address, "GET / HTTP/1.1\r\nHost: 127.0.0.1", b"");
        assert!(head.contains(" 200 "), "{head}");
        assert!(ask_again().starts_with("HTTP/1.1 200"));
        drop(silent);
    });
}
