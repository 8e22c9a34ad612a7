//! Many at once, processes that die, servers that die: the state before or the
//! state after, and nothing lost.

use std::process::{Child, Stdio};
use std::time::Duration;

use testkit::TestWorkspace;
use testkit::postgres::Version;

use crate::organisation::{Organisation, found, json, push};
use crate::story::sums_agree;

fn notes(ws: &TestWorkspace, count: usize, word: &str) {
    for at in 0..count {
        ws.write(
            &format!("knowledge/n{at:03}.md"),
            format!(
                "# Note {at}\n\nThe {word} number {at} is kept in drawer {}.\n",
                at * 7
            ),
        );
    }
}

fn pushing(ws: &TestWorkspace) -> Child {
    ws.command()
        .args(["engine", "push", "--json"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts")
}

fn many_push_at_once(org: Organisation) {
    org.init("acme", &["ann"]).ok();
    let same: Vec<TestWorkspace> = (0..3)
        .map(|_| {
            let ws = org.workspace("ann", "acme", "same", "all", "");
            notes(&ws, 12, "walrus");
            ws
        })
        .collect();
    let others: Vec<TestWorkspace> = (0..3)
        .map(|at| {
            let ws = org.workspace("ann", "acme", &format!("w{at}"), "all", "");
            notes(&ws, 5, "heron");
            ws
        })
        .collect();
    let children: Vec<Child> = same.iter().chain(&others).map(pushing).collect();
    let mut added = 0;
    for child in children {
        let output = child.wait_with_output().expect("it ends");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{text}");
        let told: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        added += told["added"].as_u64().expect("a number");
    }
    assert_eq!(added, 12 + 15, "each document was added by one of them");
    assert_eq!(org.count("select count(*) from mf.document"), 27);
    assert_eq!(
        org.count("select generation from mf.workspace where name = 'same'"),
        1
    );
    sums_agree(&org);
}

fn a_push_that_is_killed_has_not_happened(org: Organisation) {
    org.init("acme", &["ann"]).ok();
    let ws = org.workspace("ann", "acme", "w", "all", "");
    notes(&ws, 30, "walrus");
    push(&ws);
    let mut words = ["heron", "otter"].iter().cycle();
    let mut killed = 0;
    for round in 0..6u64 {
        let word = words.next().expect("a cycle");
        notes(&ws, 30, word);
        let mut child = pushing(&ws);
        // The first at once; the others somewhere on the way, however long that is.
        std::thread::sleep(Duration::from_millis(170 * round));
        killed += usize::from(child.try_wait().expect("it can be asked").is_none());
        let _ = child.kill();
        let _ = child.wait();
        let kinds = org.count("select count(distinct split_part(text, ' ', 5)) from mf.document");
        assert_eq!(kinds, 1, "all of one state");
        assert_eq!(org.count("select count(*) from mf.document"), 30);
        sums_agree(&org);
    }
    assert!(killed > 0, "none was killed in time");
    notes(&ws, 30, "heron");
    push(&ws);
    assert_eq!(
        org.count("select count(*) from mf.document where text like '%heron%'"),
        30
    );
}

/// The primary dies in the middle of a push; its replica goes on.
fn a_replica_answers_and_takes_over(shared: Organisation) {
    let Some(org) = Organisation::alone(shared.version) else {
        return;
    };
    drop(shared);
    org.init("acme", &["ann"]).ok();
    let ws = org.workspace("ann", "acme", "w", "all", "");
    notes(&ws, 20, "walrus");
    push(&ws);
    let replica = org.server.replica();
    let login = org.login("ann");
    let primary = ws.read("memory-forge.toml");
    let configured = |url: &str, more: &str| {
        format!("[engine]\nurl = \"{url}\"\n{more}tenant = \"acme\"\nworkspace = \"w\"\n")
    };
    let copy = replica.url(&login, &org.database);
    ws.write(
        "memory-forge.toml",
        format!("{primary}replica = \"{copy}\"\n"),
    );
    assert!(
        !found(&ws, "walrus number 3", &[]).is_empty(),
        "asked through the replica"
    );
    ws.write("memory-forge.toml", configured(&copy, ""));
    assert!(json(&ws.run(&["engine", "status", "--json"]))["replica"] == true);
    notes(&ws, 25, "heron");
    assert!(
        ws.run(&["engine", "push"])
            .fails(1)
            .contains("push to the primary")
    );

    ws.write("memory-forge.toml", configured(&org.url("ann"), ""));
    let child = pushing(&ws);
    std::thread::sleep(Duration::from_millis(300));
    org.server.kill();
    let _ = child.wait_with_output();
    replica.promote();
    ws.write("memory-forge.toml", configured(&copy, ""));
    // Before or after, by whichever had been committed when the primary died.
    let there = replica.sql(
        "postgres",
        &org.database,
        "select count(*) from mf.document",
    );
    assert!(["20", "25"].contains(&there.expect("it answers").as_str()));
    let resumed = json(&ws.run(&["engine", "push", "--json"]));
    let moved = ["added", "changed", "unchanged"].map(|it| resumed[it].as_u64().expect("a number"));
    assert_eq!(moved.iter().sum::<u64>(), 25, "{resumed}");
    let there = replica.sql(
        "postgres",
        &org.database,
        "select count(*) from mf.document where text like '%heron%'",
    );
    assert_eq!(there.as_deref(), Ok("25"));
    assert!(!found(&ws, "heron number 24", &[]).is_empty());
}

/// At whichever operation on a file it ends: what was pulled is as it was or as
/// it should be, and pulling again brings it. Which server it comes from makes
/// no difference.
#[test]
fn a_pull_that_ends_anywhere_is_before_or_after() {
    let Some(org) = Organisation::on(Version::Eighteen) else {
        return;
    };
    org.init("acme", &["ann"]).ok();
    let source = org.workspace("ann", "acme", "w", "all", "");
    notes(&source, 4, "walrus");
    push(&source);
    let pull = ["engine", "pull", "w"];
    let reader = org.workspace("ann", "acme", "reader", "all", "");
    reader.run(&pull).ok();
    let pulled = |ws: &TestWorkspace| -> Vec<String> {
        let tree = ws.tree_of_sources();
        let lines = tree.lines().filter(|line| line.starts_with("org/"));
        lines.map(str::to_owned).collect()
    };
    let before = pulled(&reader);
    // One more, one less, the others changed.
    notes(&source, 5, "heron");
    source.remove("knowledge/n002.md");
    push(&source);
    let again = || {
        let ws = org.workspace("ann", "acme", "reader", "all", "");
        testkit::copy(reader.root(), ws.root());
        ws
    };
    let ws = again();
    ws.run(&pull).ok();
    let after = pulled(&ws);
    assert_ne!(before, after);
    let mut sides = [0, 0];
    for k in 0.. {
        let ws = again().env("MEMORY_FORGE_FAULT", &format!("stop:{k}"));
        let ended = ws.run(&pull);
        if ended.status == Some(0) {
            break;
        }
        assert_eq!(ended.status, None, "{ended}");
        let ws = ws.env("MEMORY_FORGE_FAULT", "stop:1000000000");
        // The next write puts right what was left.
        ws.run(&["save", "context", "next", "--content", "A note."])
            .ok();
        let now = pulled(&ws);
        assert!(now == before || now == after, "stop:{k}: {now:#?}");
        sides[usize::from(now == after)] += 1;
        ws.run(&pull).ok();
        assert_eq!(pulled(&ws), after, "stop:{k}");
    }
    assert!(sides[0] > 0 && sides[1] > 0, "{sides:?}");
}

on_both!(
    many_push_at_once,
    a_push_that_is_killed_has_not_happened,
    a_replica_answers_and_takes_over,
);
