//! Servers that accept and stay silent, that are short of connections, that
//! lag, and that are replaced: nothing waits without an end, and what can be
//! answered elsewhere is.
//!
//! The limit of [`soon`] is not a measurement: without deadlines these commands
//! never end.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::Stdio;
use std::time::{Duration, Instant};

use forge_app::diagnostic::Diagnostic;
use memory_forge_engines::postgres::{
    HostRole, IndexPush, PostgresEngine, ServerEnvironment, ServerTarget, WaitPolicy,
};
use testkit::postgres::Version;
use testkit::{Output, TestWorkspace};

use crate::organisation::{Organisation, found, json, push};

const NOTE: &str = "//- knowledge/n.md\n# N\n\nThe walrus sleeps.\n";

/// Runs a command that has to end by itself.
#[track_caller]
fn soon(ws: &TestWorkspace, arguments: &[&str]) -> Output {
    fed(ws, "", arguments)
}

#[track_caller]
fn fed(ws: &TestWorkspace, input: &str, arguments: &[&str]) -> Output {
    let mut command = ws.command();
    command.args(arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    stdin.write_all(input.as_bytes()).expect("it reads");
    drop(stdin);
    let started = Instant::now();
    while child.try_wait().expect("it can be asked").is_none() {
        if started.elapsed() > Duration::from_secs(40) {
            child.kill().expect("it can be ended");
            panic!("{arguments:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = child.wait_with_output().expect("it ended");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Output {
        status: output.status.code(),
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
    }
}

/// The default limit, and the shared index for every search.
fn asks_the_server(ws: &TestWorkspace) {
    let settings = ws
        .read("memory-forge.toml")
        .replace("timeout_ms = 30000", "timeout_ms = 3000");
    ws.write(
        "memory-forge.toml",
        settings + "\n[search]\nengine = \"server\"\n",
    );
}

/// Passes bytes on until the client sends `word`; from then on the connection
/// is silent, as a frozen server's is.
fn silent_after(port: u16, word: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let own = listener.local_addr().expect("bound").port();
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || {
                let Ok(server) = TcpStream::connect(("127.0.0.1", port)) else {
                    return;
                };
                let mut answers = (server.try_clone().expect("a socket"), client.try_clone());
                std::thread::spawn(move || {
                    if let Ok(client) = &mut answers.1 {
                        let _ = std::io::copy(&mut answers.0, client);
                        let _ = client.shutdown(Shutdown::Both);
                    }
                });
                let (mut client, mut server) = (client, server);
                let mut buffer = vec![0; 1 << 16];
                while let Ok(n @ 1..) = client.read(&mut buffer) {
                    let bytes = &buffer[..n];
                    if bytes.windows(word.len()).any(|it| it == word.as_bytes()) {
                        // Until the client gives up: then the server learns of it.
                        while let Ok(1..) = client.read(&mut buffer) {}
                        let _ = server.shutdown(Shutdown::Both);
                        return;
                    }
                    if server.write_all(bytes).is_err() {
                        return;
                    }
                }
                let _ = server.shutdown(Shutdown::Both);
            });
        }
    });
    own
}

/// Accepts and says nothing, from the first byte on.
fn silent() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let own = listener.local_addr().expect("bound").port();
    std::thread::spawn(move || {
        let held: Vec<_> = listener.incoming().collect();
        drop(held);
    });
    own
}

const CALLS: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}\n\
    {\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n\
    {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"search_knowledge\",\"arguments\":{\"query\":\"walrus\"}}}\n";

fn a_frozen_server_stops_nothing(shared: Organisation) {
    let Some(org) = Organisation::alone(shared.version) else {
        return;
    };
    drop(shared);
    org.init("acme", &["ann"]).ok();
    let ws = org.workspace("ann", "acme", "w", "all", NOTE);
    push(&ws);
    asks_the_server(&ws);
    let asked = soon(&ws, &["search", "walrus"]);
    assert!(asked.ok().contains("w:knowledge/n.md"), "{asked}");
    let frozen = org.server.freeze();
    let alone = soon(&ws, &["search", "walrus"]);
    assert!(alone.ok().contains("knowledge/n.md"), "{alone}");
    assert_eq!(alone.stderr.lines().count(), 1, "one line: {alone}");
    assert!(
        alone.stderr.contains("did not answer in 3")
            && alone.stderr.contains("this workspace alone was searched"),
        "{alone}"
    );
    let told = fed(&ws, CALLS, &["mcp"]);
    assert!(
        told.ok().contains("knowledge/n.md") && told.stdout.contains("did not answer"),
        "{told}"
    );
    for arguments in [
        &["engine", "search", "walrus"][..],
        &["engine", "status"],
        &["engine", "push"],
        &["engine", "pull", "w"],
        &["engine", "member", "list"],
    ] {
        let output = soon(&ws, arguments);
        assert!(output.fails(1).contains("did not answer"), "{output}");
    }
    drop(frozen);
    let asked = soon(&ws, &["search", "walrus"]);
    assert!(asked.ok().contains("w:knowledge/n.md"), "{asked}");
}

fn silence_at_any_step_of_a_question_ends(org: Organisation) {
    org.init("acme", &["ann"]).ok();
    let ws = org.workspace("ann", "acme", "w", "all", NOTE);
    push(&ws);
    let settings = ws.read("memory-forge.toml");
    for word in ["begin", "mf.overview", "mf.search", "mf.passages"] {
        let port = silent_after(org.server.port, word);
        let through = settings.replace(&format!(":{}/", org.server.port), &format!(":{port}/"));
        ws.write("memory-forge.toml", through);
        asks_the_server(&ws);
        let output = soon(&ws, &["search", "walrus"]);
        assert!(output.ok().contains("knowledge/n.md"), "{word}: {output}");
        assert!(output.stderr.contains("did not answer"), "{word}: {output}");
    }
    // The answer is there already; only its end is not confirmed.
    let port = silent_after(org.server.port, "rollback");
    let through = settings.replace(&format!(":{}/", org.server.port), &format!(":{port}/"));
    ws.write("memory-forge.toml", through);
    asks_the_server(&ws);
    let output = soon(&ws, &["search", "walrus"]);
    assert!(output.ok().contains("w:knowledge/n.md"), "{output}");
}

fn the_primary_answers_for_a_silent_replica(org: Organisation) {
    org.init("acme", &["ann"]).ok();
    let ws = org.workspace("ann", "acme", "w", "all", NOTE);
    push(&ws);
    let settings = ws.read("memory-forge.toml");
    let replicas = [
        silent(),
        silent_after(org.server.port, "mf.overview"),
        silent_after(org.server.port, "mf.search"),
        1,
    ];
    for port in replicas {
        let (login, name) = (org.login("ann"), &org.database);
        let replica = format!("replica = \"postgres://{login}@127.0.0.1:{port}/{name}\"\n");
        ws.write("memory-forge.toml", format!("{settings}{replica}"));
        asks_the_server(&ws);
        let output = soon(&ws, &["search", "walrus"]);
        assert!(output.ok().contains("w:knowledge/n.md"), "{output}");
        assert_eq!(output.stderr.lines().count(), 1, "{output}");
        assert!(output.stderr.contains("trying the primary"), "{output}");
    }
}

/// A name that is looked up for long cannot be interrupted; the command ends
/// all the same. Nothing listens to port 9 of a documentation address.
#[test]
fn an_address_that_swallows_packets_ends() {
    let ws = TestWorkspace::files(NOTE)
        .binary(testkit::worker::beside(env!("CARGO_BIN_EXE_memory-forge")));
    let ws = ws.env(
        "MEMORY_FORGE_ENGINE_URL",
        "postgres://a@192.0.2.1:9/x?sslmode=disable",
    );
    ws.write(
        "memory-forge.toml",
        "[engine]\ntenant = \"acme\"\n[search]\nengine = \"server\"\n",
    );
    let output = soon(&ws, &["search", "walrus"]);
    assert!(output.ok().contains("knowledge/n.md"), "{output}");
    assert!(output.stderr.contains("alone was searched"), "{output}");
    soon(&ws, &["engine", "status"]).fails(1);
}

fn a_push_waits_for_a_connection(org: Organisation) {
    org.init("acme", &["ann"]).ok();
    let ws = org.workspace("ann", "acme", "w", "all", NOTE);
    let login = org.login("ann");
    org.sql(
        "postgres",
        &format!("alter role {login} connection limit 0"),
    )
    .expect("a limit");
    let mut command = ws.command();
    command.args(["engine", "push"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("the program starts");
    std::thread::sleep(Duration::from_secs(3));
    org.sql(
        "postgres",
        &format!("alter role {login} connection limit 5"),
    )
    .expect("no limit");
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert_eq!(said.matches("waiting up to 60 s").count(), 1, "{said}");
    assert!(said.contains("too many connections"), "{said}");

    // And not for ever.
    org.sql(
        "postgres",
        &format!("alter role {login} connection limit 0"),
    )
    .expect("a limit");
    let target =
        ServerTarget::read(&org.url("ann"), &ServerEnvironment::default()).expect("an address");
    let patience = WaitPolicy::default().with_connection_wait(Duration::from_secs(1));
    let Err(error) = PostgresEngine::open_with(&target, "acme", HostRole::Primary, patience) else {
        panic!("there is no connection");
    };
    assert!(
        error.to_string().contains("too many connections"),
        "{error}"
    );
    assert!(error.hints()[0].contains("max_connections"));
    // A search does not wait: this workspace has an index of its own.
    asks_the_server(&ws);
    let output = soon(&ws, &["search", "walrus"]);
    assert!(output.ok().contains("knowledge/n.md"), "{output}");
}

fn a_push_reports_that_it_waits_for_another(org: Organisation) {
    org.init("acme", &["ann"]).ok();
    let ws = org.workspace("ann", "acme", "w", "all", NOTE);
    push(&ws);
    ws.write("knowledge/m.md", "# M\n\nA heron.\n");
    let mut other = org.server.holding(
        "postgres",
        &org.database,
        "begin; select from mf.workspace where name = 'w' for update;\n\\echo held\nselect pg_sleep(6);\n",
    );
    let output = soon(&ws, &["engine", "push", "--json"]);
    assert_eq!(json(&output)["added"], 1, "{output}");
    assert!(
        output.stderr.contains("Another push of `w` is running"),
        "{output}"
    );
    other.kill().ok();
    other.wait().ok();
}

/// A push without documents, which goes through the same steps.
fn push_by(engine: &PostgresEngine) -> Result<(), String> {
    let push = IndexPush {
        workspace: "w",
        identity: "",
        team: "all",
        commit: None,
        items: &[],
        edges: &[],
        knows: &|_| true,
        force: true,
    };
    let pushed = engine.push_workspace(&push, &mut |_| Ok(None), &mut |_, _| {});
    pushed.map(|_| ()).map_err(|error| error.to_string())
}

/// The limits of commands are minutes, so they are shortened here.
fn silence_at_any_step_of_a_command_ends(org: Organisation) {
    org.init("acme", &["ann"]).ok();
    push(&org.workspace("ann", "acme", "w", "all", NOTE));
    let open = |port: u16, limit: u64| {
        let (login, name) = (org.login("ann"), &org.database);
        let url = format!("postgres://{login}@127.0.0.1:{port}/{name}");
        let target = ServerTarget::read(&url, &ServerEnvironment::default()).expect("an address");
        let patience = WaitPolicy::for_each_step(Duration::from_secs(limit));
        PostgresEngine::open_with(&target, "acme", HostRole::Primary, patience).expect("it answers")
    };
    let started = Instant::now();
    for word in ["begin", "mf.begin_push", "mf.held", "mf.end_push", "commit"] {
        let engine = open(silent_after(org.server.port, word), 2);
        let error = push_by(&engine).expect_err(word);
        assert!(error.contains("did not answer in 2 s"), "{word}: {error}");
        let lost = engine.read_status().expect_err("the connection is lost");
        assert!(lost.to_string().contains("did not answer"), "{lost}");
    }
    let engine = open(silent_after(org.server.port, "mf.workspaces"), 2);
    let error = engine.read_status().expect_err("silence").to_string();
    assert!(error.contains("did not answer in 2 s"), "{error}");
    let engine = open(silent_after(org.server.port, "mf.pull"), 2);
    let error = engine.pull_workspace("w").expect_err("silence").to_string();
    assert!(error.contains("did not answer in 2 s"), "{error}");
    assert!(started.elapsed() < Duration::from_secs(60));

    // Another push that never ends is waited for, and not for ever.
    let mut other = org.server.holding(
        "postgres",
        &org.database,
        "begin; select from mf.workspace where name = 'w' for update;\n\\echo held\nselect pg_sleep(30);\n",
    );
    let error = push_by(&open(org.server.port, 5)).expect_err("it is locked");
    other.kill().ok();
    other.wait().ok();
    assert!(error.contains("has not ended"), "{error}");
}

/// Both hosts stand in one address, in either order: a push finds the one that
/// can be written to, before and after a replica was promoted.
fn a_push_finds_the_primary_among_several_hosts(shared: Organisation) {
    let Some(org) = Organisation::alone(shared.version) else {
        return;
    };
    drop(shared);
    org.init("acme", &["ann"]).ok();
    let ws = org.workspace("ann", "acme", "w", "all", NOTE);
    let replica = org.server.replica();
    let (login, name) = (org.login("ann"), &org.database);
    let (one, two) = (org.server.port, replica.port);
    for (first, second) in [(two, one), (one, two)] {
        ws.write(
            "memory-forge.toml",
            format!(
                "[engine]\nurl = \"postgres://{login}@127.0.0.1:{first},127.0.0.1:{second}/{name}\"\n\
                 tenant = \"acme\"\nworkspace = \"w\"\ntimeout_ms = 30000\n"
            ),
        );
        push(&ws);
    }
    org.server.kill();
    ws.write("knowledge/m.md", "# M\n\nA heron.\n");
    let refused = soon(&ws, &["engine", "push"]);
    assert!(
        refused.fails(1).contains("does not allow writes"),
        "{refused}"
    );
    assert_eq!(found(&ws, "walrus", &[]), ["w:knowledge/n.md"], "read on");
    replica.promote();
    assert_eq!(push(&ws)["added"], 1);
    assert_eq!(found(&ws, "heron", &[])[0], "w:knowledge/m.md");
}

fn a_replica_that_is_far_behind_is_not_asked(shared: Organisation) {
    let Some(org) = Organisation::alone(shared.version) else {
        return;
    };
    drop(shared);
    org.init("acme", &["ann"]).ok();
    let ws = org.workspace("ann", "acme", "w", "all", NOTE);
    push(&ws);
    let replica = org.server.replica();
    let url = replica.url(&org.login("ann"), &org.database);
    let settings = ws.read("memory-forge.toml");
    ws.write(
        "memory-forge.toml",
        format!("{settings}replica = \"{url}\"\nmax_lag_s = 1\n"),
    );
    // Something that the replica has applied, so that it knows a time.
    org.sql("postgres", "create table marks (n int)")
        .expect("sql");
    let applied = || {
        let at = replica.sql("postgres", &org.database, "select count(*) from marks");
        at.is_ok()
    };
    while !applied() {
        std::thread::sleep(Duration::from_millis(50));
    }
    let output = ws.run(&["engine", "search", "walrus"]);
    assert!(output.ok().contains("w:knowledge/n.md"), "{output}");
    assert_eq!(output.stderr, "", "the replica answers");

    replica
        .sql("postgres", &org.database, "select pg_wal_replay_pause()")
        .expect("it pauses");
    ws.write("knowledge/m.md", "# M\n\nA heron.\n");
    push(&ws);
    std::thread::sleep(Duration::from_secs(3));
    let output = ws.run(&["engine", "search", "heron"]);
    assert!(output.ok().contains("w:knowledge/m.md"), "{output}");
    assert!(
        output.stderr.contains("s behind; trying the primary"),
        "{output}"
    );
    replica
        .sql("postgres", &org.database, "select pg_wal_replay_resume()")
        .expect("it goes on");
}

/// Through PgBouncer in transaction mode, where each transaction may have
/// another connection: fewer connections than askers, and a push meanwhile.
fn everything_works_through_a_pool(org: Organisation) {
    org.init("acme", &["ann", "bob"]).ok();
    let (ann, bob) = (org.login("ann"), org.login("bob"));
    let tmpdir = env!("CARGO_TARGET_TMPDIR");
    let Some(pool) = org.server.pool(tmpdir, &[&ann, &bob], 2) else {
        return;
    };
    let through = |who: &str, name: &str, files: &str| {
        let ws = org.workspace(who, "acme", name, "all", files);
        let settings = ws.read("memory-forge.toml");
        let (direct, pooled) = (format!(":{}/", org.server.port), format!(":{}/", pool.port));
        ws.write("memory-forge.toml", settings.replace(&direct, &pooled));
        ws
    };
    let writer = through("ann", "w", NOTE);
    assert_eq!(push(&writer)["added"], 1);
    let reader = through("bob", "r", "");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            // The document that is pushed meanwhile may come second, by its vector.
            scope.spawn(|| assert_eq!(found(&reader, "walrus", &[])[0], "w:knowledge/n.md"));
        }
        scope.spawn(|| {
            writer.write("knowledge/m.md", "# M\n\nA heron.\n");
            assert_eq!(push(&writer)["added"], 1);
        });
    });
    assert_eq!(found(&reader, "heron", &[])[0], "w:knowledge/m.md");
    reader.run(&["engine", "pull", "w"]).ok();
    assert!(
        reader
            .run(&["engine", "status"])
            .ok()
            .contains("2 documents")
    );
    // Nothing of one asker's settings is left for the next one.
    let left = org.sql("ann", "show statement_timeout").expect("sql");
    assert_eq!(left, "0");
}

/// What is private stays here by the file that is read: by any case, by any
/// folder above it, and behind a symlink; so does a name that holds a secret.
fn private_notes_stay_here(org: Organisation) {
    org.init("acme", &["ann"]).ok();
    let ws = org.workspace(
        "ann",
        "acme",
        "w",
        "all",
        "//- knowledge/n.md\n# N\n\nA walrus. See [[link]] and [[diary]].\n\
         //- knowledge/a.LOCAL.md\n# A\n\nA zeppelin.\n\
         //- knowledge/me.local/diary.md\n# B\n\nA zeppelin.\n\
         //- knowledge/real.local.md\n# C\n\nA zeppelin.\n\
         //- knowledge/AKIA2E0A8F3B244C9986.md\n# D\n\nA zeppelin.\n\
         //- .agents/memory/tester/topics/flaky.md\n# E\n\nA zeppelin.\n",
    );
    let link = |to: &str, at: &str| std::os::unix::fs::symlink(to, ws.path(at)).expect("a link");
    link("real.local.md", "knowledge/link.md");
    link(
        "../.agents/memory/tester/topics/flaky.md",
        "knowledge/of-agents.md",
    );
    let listed = ws.run(&["engine", "push", "--dry-run"]);
    assert_eq!(listed.ok(), "knowledge/n.md\n", "{listed}");
    let pushed = push(&ws);
    assert_eq!(pushed["added"], 1, "{pushed}");
    let there = org.sql(
        "postgres",
        "select string_agg(path || text || fields || names, ' ') from mf.document",
    );
    let there = there.expect("documents")
        + &org
            .sql(
                "postgres",
                "select coalesce(string_agg(e::text, ' '), '') from mf.edge e",
            )
            .expect("edges");
    for word in [
        "zeppelin",
        "AKIA2E0A8F3B244C9986",
        "real.local",
        "diary.md",
        "flaky.md",
    ] {
        assert!(!there.contains(word), "{word}: {there}");
    }
    let private = json(&ws.run(&["engine", "push", "--json", "--private"]));
    assert_eq!(private["added"], 4, "asked for: {private}");
}

on_both!(
    everything_works_through_a_pool,
    private_notes_stay_here,
    a_frozen_server_stops_nothing,
    silence_at_any_step_of_a_question_ends,
    silence_at_any_step_of_a_command_ends,
    the_primary_answers_for_a_silent_replica,
    a_push_waits_for_a_connection,
    a_push_reports_that_it_waits_for_another,
    a_push_finds_the_primary_among_several_hosts,
    a_replica_that_is_far_behind_is_not_asked,
);

/// The user's own variable may be set and empty, as CI leaves it where a secret
/// is missing: then it says nothing.
#[test]
fn an_empty_variable_is_unset() {
    let Some(org) = Organisation::on(Version::Fifteen) else {
        return;
    };
    org.init("acme", &["ann"]).ok();
    let ws = org.workspace("ann", "acme", "w", "all", NOTE);
    let ws = ws.env("MEMORY_FORGE_ENGINE_URL", "").env("PGHOST", "");
    assert_eq!(push(&ws)["added"], 1);
    let replica = format!("replica = \"{}\"\n", org.url("ann"));
    let settings = ws.read("memory-forge.toml");
    ws.write("memory-forge.toml", format!("{settings}{replica}"));
    assert_eq!(
        found(&ws, "walrus", &[]).len(),
        1,
        "the replica is used too"
    );
}
