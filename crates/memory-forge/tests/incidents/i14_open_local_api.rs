//! A local service that anybody could ask, and paths that led out of it.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::TestWorkspace;

use crate::harness::ws;

const TOKEN: &str = "w5f0c9e3a7b1d2468ace";

struct Server {
    child: Child,
    port: u16,
    /// What it said on standard error until it was ready.
    said: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn serve(ws: &TestWorkspace) -> Server {
    ws.write("token", format!("{TOKEN}\n"));
    let mut child = ws
        .command()
        .args(["mcp", "--http", "--token-file", "token"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut lines = BufReader::new(child.stderr.take().expect("it is a pipe")).lines();
    let mut said = String::new();
    let mut port = None;
    while let Some(Ok(line)) = lines.next() {
        said.push_str(&line);
        said.push('\n');
        if let Some(rest) = line.split("http://127.0.0.1:").nth(1) {
            port = rest.split('/').next().and_then(|it| it.parse().ok());
        }
        if line.contains("Authorization") {
            break;
        }
    }
    Server {
        child,
        port: port.expect("it tells its port"),
        said,
    }
}

/// One request as it is given; the whole answer.
fn raw(port: u16, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .expect("a timeout can be set");
    // A server that refuses may close before it has read everything.
    let _ = stream.write_all(request);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

fn ask(port: u16, method: &str, path: &str, headers: &str, body: &str) -> (u16, String) {
    let request = format!(
        "{method} {path} HTTP/1.1\r\n{headers}Connection: close\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let answer = raw(port, request.as_bytes());
    let status = answer.split(' ').nth(1).and_then(|it| it.parse().ok());
    (status.unwrap_or(0), answer)
}

fn shown() -> String {
    format!("Host: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n")
}

const TYPES: &str =
    "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n";

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}"#;

#[test]
fn nothing_listens_unless_it_is_asked_for() {
    // The real programs open no socket at all: see row 17.
    let ws = ws("//- knowledge/a.md\n# A\n");
    let mut child = ws
        .command()
        .args(["mcp", "--http"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let lines = BufReader::new(child.stderr.take().expect("it is a pipe")).lines();
    let listens = lines
        .map_while(Result::ok)
        .find(|it| it.contains("http://"));
    if listens.is_some() {
        let _ = child.kill();
    }
    let status = child.wait().expect("it ends");
    assert_eq!(listens, None);
    assert_eq!(status.code(), Some(2), "no token, no service");
}

#[test]
fn only_who_shows_the_token_on_the_loopback_is_answered() {
    let ws = ws("//- knowledge/private.md\n# Private\n");
    let server = serve(&ws);
    let ask = |headers: &str| ask(server.port, "POST", "/mcp", headers, INITIALIZE);
    assert_eq!(ask(&shown()).0, 200);
    for (headers, expect) in [
        ("Host: 127.0.0.1\r\n".to_owned(), 401),
        (shown().replace(TOKEN, "w5f0c9e3a7b1d2468acf"), 401),
        (shown().replace(TOKEN, ""), 401),
        (shown().replace(TOKEN, &TOKEN[..19]), 401),
        (shown().replace("Bearer", "Basic"), 401),
        (shown().replace("127.0.0.1", "evil.example"), 403),
        (shown().replace("127.0.0.1", "127.0.0.1.evil.example"), 403),
        (format!("{}Origin: https://evil.example\r\n", shown()), 403),
        (format!("{}Origin: null\r\n", shown()), 403),
    ] {
        let (status, answer) = ask(&headers);
        assert_eq!(status, expect, "{headers}: {answer}");
        assert!(!answer.contains("rivate"), "{answer}");
    }
    // A page in a browser may ask first whether it may ask.
    let preflight = format!(
        "{}Origin: https://evil.example\r\nAccess-Control-Request-Method: POST\r\n",
        shown()
    );
    let (status, answer) = self::ask(server.port, "OPTIONS", "/mcp", &preflight, "");
    assert_eq!(status, 403, "{answer}");
    assert!(
        !answer.to_lowercase().contains("access-control"),
        "{answer}"
    );
}

#[test]
fn there_is_no_directory_and_no_other_path() {
    let ws = ws("//- knowledge/private.md\n# Private\n");
    let server = serve(&ws);
    for path in [
        "/",
        "/knowledge/",
        "/knowledge/private.md",
        "/mcp/",
        "/mcp/../knowledge/private.md",
        "/mcp/%2e%2e/knowledge/private.md",
        "/..%2f..%2fetc/passwd",
        "/../../../../etc/passwd",
        "//etc/passwd",
        "/.git/config",
        "/token",
        "/mcp%00",
        "/mcp;x",
    ] {
        for method in ["GET", "POST"] {
            let (status, answer) = ask(server.port, method, path, &shown(), INITIALIZE);
            assert!(matches!(status, 400 | 404), "{method} {path}: {answer}");
            for told in ["rivate", "root:", TOKEN, "knowledge"] {
                assert!(!answer.contains(told), "{method} {path}: {answer}");
            }
        }
    }
}

#[test]
fn the_token_is_in_no_log_and_no_list_of_processes() {
    let ws = ws("");
    let server = serve(&ws);
    let wrong = shown().replace(TOKEN, "w5f0c9e3a7b1d2468acf");
    let (_, answer) = ask(server.port, "POST", "/mcp", &wrong, INITIALIZE);
    assert!(!answer.contains(TOKEN), "{answer}");
    assert!(!server.said.contains(TOKEN), "{}", server.said);
    let line = fs::read(format!("/proc/{}/cmdline", server.child.id())).unwrap_or_default();
    assert!(!String::from_utf8_lossy(&line).contains(TOKEN));
}

#[test]
fn too_much_is_refused_and_the_next_one_is_served() {
    let ws = ws("");
    let server = serve(&ws);
    let alive = || {
        let (status, answer) = ask(server.port, "POST", "/mcp", &shown(), INITIALIZE);
        assert_eq!(status, 200, "{answer}");
    };
    // One header that never ends, many headers, a long address.
    let long = format!("{}X: {}\r\n", shown(), "x".repeat(1_000_000));
    let many = format!("{}{}", shown(), "X: y\r\n".repeat(5_000));
    for headers in [&long, &many] {
        let (status, _) = ask(server.port, "POST", "/mcp", headers, INITIALIZE);
        assert!(matches!(status, 0 | 400 | 431), "{status}");
        alive();
    }
    let path = format!("/{}", "x".repeat(500_000));
    let (status, _) = ask(server.port, "GET", &path, &shown(), "");
    assert!(matches!(status, 0 | 400 | 404 | 414 | 431), "{status}");
    alive();
    // A length that lies, and one that nobody could hold.
    let lying = format!(
        "POST /mcp HTTP/1.1\r\n{}{TYPES}Content-Length: 99999999999999\r\n\r\n{{",
        shown()
    );
    let answer = raw(server.port, lying.as_bytes());
    assert!(
        answer.contains(" 413 ") || answer.contains(" 400 "),
        "{answer}"
    );
    let twice = format!(
        "POST /mcp HTTP/1.1\r\n{}{TYPES}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
        shown()
    );
    let answer = raw(server.port, twice.as_bytes());
    assert!(answer.contains(" 400 ") || answer.is_empty(), "{answer}");
    let smuggled = format!(
        "POST /mcp HTTP/1.1\r\n{}{TYPES}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n",
        shown()
    );
    let answer = raw(server.port, smuggled.as_bytes());
    assert!(!answer.contains(" 200 "), "{answer}");
    alive();
}

#[test]
fn those_who_never_finish_their_sentence_do_not_block_the_door() {
    let ws = ws("");
    let server = serve(&ws);
    // More than there are places, each with half a request and no token.
    let open: Vec<TcpStream> = (0..200)
        .filter_map(|_| {
            let mut stream = TcpStream::connect(("127.0.0.1", server.port)).ok()?;
            stream.write_all(b"POST /mcp HTTP/1.1\r\nHost: loc").ok()?;
            Some(stream)
        })
        .collect();
    assert!(open.len() > 128);
    let begun = Instant::now();
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).expect("it listens");
    let request = format!(
        "POST /mcp HTTP/1.1\r\n{}Connection: close\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n\r\n{INITIALIZE}",
        shown(),
        INITIALIZE.len()
    );
    stream.write_all(request.as_bytes()).expect("it is taken");
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .expect("a timeout can be set");
    let mut some = [0; 12];
    stream.read_exact(&mut some).expect("it is answered");
    assert_eq!(&some, b"HTTP/1.1 200");
    assert!(
        begun.elapsed() < Duration::from_secs(45),
        "{:?}",
        begun.elapsed()
    );
}

/// Names that lead out of a workspace somewhere, or into what is not memory.
fn hostile() -> Vec<String> {
    let mut names: Vec<String> = [
        "../outside.md",
        "../../outside.md",
        "knowledge/../../outside.md",
        "knowledge/../../home/outside.md",
        "..\\outside.md",
        "knowledge\\..\\..\\outside.md",
        "/tmp/mf-outside.md",
        "/etc/passwd",
        "~/outside.md",
        "C:\\outside.md",
        "c:outside.md",
        "\\\\server\\share\\outside.md",
        "\\\\?\\C:\\outside.md",
        "//server/share/outside.md",
        ".git/config",
        ".GIT/config",
        ".git./config",
        ".git /config",
        "git~1/config",
        "GIT~1/config",
        ".g\u{200c}it/config",
        ".git\u{200d}/config",
        "knowledge/.git/config",
        ".git::$INDEX_ALLOCATION/config",
        "knowledge/a.md::$DATA",
        "...",
        ".. /outside.md",
        ". ./outside.md",
        "knowledge/a\nb.md",
        "knowledge/\u{202e}dm.a",
        "file:///etc/passwd",
        "%2e%2e/outside.md",
        ".Memory-Forge/index.db",
        "CON",
        "nul.md",
        "",
        " ",
        "-",
        "--root=/",
    ]
    .map(str::to_owned)
    .to_vec();
    names.push("x".repeat(5_000));
    names.push("a/".repeat(2_000));
    names.push(format!("{}outside.md", "../".repeat(40)));
    names
}

/// Everything beside the workspace, and its `.git`.
fn beside(ws: &TestWorkspace) -> String {
    let mut lines = Vec::new();
    let top = ws.root().parent().expect("it lies in a folder");
    let mut open = vec![top.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).expect("it is a folder").flatten() {
            let path = entry.path();
            if path == ws.root() {
                open.push(path.join(".git"));
            } else if path.is_dir() {
                lines.push(format!("{}/", path.display()));
                open.push(path);
            } else {
                let bytes = fs::read(&path).unwrap_or_default();
                lines.push(format!("{} {:?}", path.display(), bytes));
            }
        }
    }
    lines.sort();
    lines.join("\n")
}

#[test]
fn no_name_leads_out_of_the_workspace() {
    let ws = ws("
        //- knowledge/a.md
        # A
        //- .mind/STATE.md
        # Project State
        //- _MANIFEST.md
        # Manifest

        ## Hub Map

        | Domain | Hub | Summary |
        |---|---|---|
        | Up | [[../home/_CLOSETS]] | x |
        | Root | [[/_CLOSETS]] | x |
    ");
    ws.git_init();
    fs::write(ws.home().join("outside.md"), "# Canary\ncanary words\n").expect("it can be written");
    fs::write(ws.root().join("../outside.md"), "# Canary\ncanary words\n").expect("it can");
    let before = beside(&ws);
    for (at, name) in hostile().into_iter().enumerate() {
        let doors: Vec<Vec<&str>> = vec![
            vec!["save", "context", &name, "--content", "text"],
            vec![
                "save",
                "skill",
                &name,
                "--description",
                "d",
                "--trigger",
                "t",
                "--content",
                "text",
            ],
            vec!["preview", &name],
            vec!["forget", &name, "--yes"],
            vec!["restore", &name],
            vec![
                "agent",
                "remember",
                &name,
                "--agent",
                "eng/builder",
                "--content",
                "text",
            ],
            vec![
                "agent",
                "remember",
                "x",
                "--agent",
                &name,
                "--content",
                "text",
            ],
            vec!["agent", "learn", "x", "--squad", &name],
            vec!["agent", "context", "--squad", &name, "--agent", &name],
            vec!["agent", "recall", "x", "--agent", &name],
            vec!["domain", "add", &name, "--yes"],
            vec!["domain", "add", "ops", "--move", &name, "--yes"],
            vec!["archive", &name, "--yes"],
            vec!["links", "rename", "knowledge/a.md", &name, "--yes"],
            vec!["links", "rename", &name, "knowledge/b.md", "--yes"],
            vec!["closets", "show", &name],
            vec![
                "session",
                "end",
                "--title",
                "t",
                "--did",
                "x",
                "--touched",
                &name,
            ],
            vec!["idea", "x", "--route", &name],
            vec!["search", "canary", "--as-of", &name],
        ];
        // The plainest names at every door, the others at every third in turn:
        // a door takes any name by the same function.
        let tried = doors
            .iter()
            .enumerate()
            .filter(|(door, _)| at < 6 || (at + door).is_multiple_of(3));
        for (_, door) in tried {
            let output = ws.run(door);
            let told = format!("{:?}: {output}", door);
            assert!(output.status.is_some_and(|it| it < 100), "{told}");
            assert!(!output.stdout.contains("canary words"), "{told}");
            assert!(!output.stdout.contains("root:"), "{told}");
        }
        assert_eq!(beside(&ws), before, "{name:?} changed something outside");
        assert!(!Path::new("/tmp/mf-outside.md").exists());
    }
}

/// Names that are no text, and two that look the same.
#[test]
#[cfg(unix)]
fn names_that_are_no_text_stop_nothing() {
    use std::os::unix::ffi::OsStrExt;
    let ws = ws("//- knowledge/a.md\n# Zephyr\nThe zephyr host.\n");
    for bytes in [
        &b"\xff\xfe.md"[..],
        b"\xed\xa0\x80.md",
        b"a\nb.md",
        b"caf\xc3\xa9.md",
        b"cafe\xcc\x81.md",
    ] {
        let path = ws
            .path("knowledge")
            .join(std::ffi::OsStr::from_bytes(bytes));
        fs::write(path, "# Zephyr\nThe zephyr host, once more.\n").expect("Linux takes any name");
    }
    for arguments in [
        &["index"][..],
        &["search", "zephyr"],
        &["links", "check"],
        &["lint"],
        &["check"],
        &["audit"],
    ] {
        let output = ws.run(arguments);
        assert!(
            matches!(output.status, Some(0 | 1)),
            "{arguments:?}: {output}"
        );
    }
    let found = ws.run(&["search", "zephyr", "-n", "20", "--mode", "text"]);
    assert!(found.ok().contains("knowledge/a.md"), "{found}");
    assert!(!found.stdout.contains('\u{fffd}'), "{found}");
}

/// The same over the protocol, where an agent may have been talked into it.
#[test]
fn no_argument_of_a_call_leads_out_of_the_workspace() {
    let ws = ws("//- knowledge/a.md\n# A\n");
    ws.git_init();
    fs::write(ws.root().join("../outside.md"), "# Canary\ncanary words\n").expect("it can");
    #[cfg(unix)]
    {
        let link = |to: &str, from: &str| {
            std::os::unix::fs::symlink(to, ws.path(from)).expect("a link can be made");
        };
        link("../../outside.md", "knowledge/link.md");
        link("../..", "knowledge/up");
        link("../.git", "knowledge/git");
    }
    let before = beside(&ws);
    let mut lines = format!("{INITIALIZE}\n");
    lines.push_str("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
    let mut id = 0;
    let mut add = |method: &str, params: Value| {
        id += 1;
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        lines.push_str(&format!("{request}\n"));
    };
    let mut names = hostile();
    for link in ["link.md", "up/outside.md", "up/home/x.md", "git/config"] {
        names.push(link.to_owned());
    }
    for name in &names {
        let calls = [
            (
                "save_knowledge",
                json!({ "type": "context", "name": name, "content": "text" }),
            ),
            (
                "save_knowledge",
                json!({ "type": "skill", "name": name, "content": "text", "trigger": "t", "problem": "p" }),
            ),
            ("forget_knowledge", json!({ "path": name })),
            (
                "forget_knowledge",
                json!({ "path": format!("knowledge/{name}") }),
            ),
        ];
        for (tool, arguments) in calls {
            add(
                "tools/call",
                json!({ "name": tool, "arguments": arguments }),
            );
        }
        let encoded: String = name.bytes().map(|byte| format!("%{byte:02X}")).collect();
        for uri in [
            format!("memory-forge://knowledge/{name}"),
            format!("memory-forge://knowledge/{encoded}"),
            format!("memory-forge://state/{name}"),
            format!("memory-forge://{name}"),
            format!("file://{name}"),
        ] {
            add("resources/read", json!({ "uri": uri }));
        }
    }
    add(
        "tools/call",
        json!({ "name": "search_knowledge", "arguments": { "query": "canary words" } }),
    );
    let output = ws.feed(lines, &[], &["mcp"]);
    assert_eq!(
        output.stdout.lines().count(),
        id + 1,
        "every call is answered"
    );
    for told in ["canary words\\n", "root:x:", "repositoryformatversion"] {
        assert!(!output.stdout.contains(told), "{told}");
    }
    assert_eq!(beside(&ws), before);
}
