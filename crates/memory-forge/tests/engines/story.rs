//! From an empty server to an index that a team shares, by the commands alone.

use crate::organisation::{Organisation, found, json, push};

const PAY: &str = "
//- knowledge/refunds.md
# Refunds

A refund is paid within fourteen days. The key is AKIA2E0A8F3B244C9986 in production.

//- knowledge/old-refunds.md
---
superseded_by: refunds
---
# Refunds of old

A refund is paid within thirty days.

//- knowledge/mine.local.md
# Mine

Nobody else should read about the zeppelin.

//- .agents/memory/tester/topics/flaky.md
# Flaky

The zeppelin test is flaky.
";

fn push_search_pull(org: Organisation) {
    let init = org.init("acme", &["ann:pay", "bob:pay", "eve:ops"]);
    assert!(init.ok().contains("Prepared"), "{init}");
    assert!(org.init("acme", &["ann:pay"]).ok().contains("is prepared"));
    let ann = org.workspace("ann", "acme", "pay", "pay", PAY);
    let first = push(&ann);
    assert_eq!(first["added"], 2, "{first}");
    assert_eq!(first["kept"], 2, "private and agents' notes stay: {first}");
    assert_eq!(first["secretsMasked"], 1, "{first}");
    let again = push(&ann);
    assert_eq!((&again["added"], &again["changed"]), (&0.into(), &0.into()));
    assert_eq!(again["generation"], first["generation"], "twice is once");

    let bob = org.workspace(
        "bob",
        "acme",
        "bobs",
        "pay",
        "//- knowledge/x.md\n# X\n\nNothing.\n",
    );
    let hits = found(&bob, "how long does a refund take", &[]);
    assert_eq!(hits[0], "pay:knowledge/refunds.md", "{hits:?}");
    assert_eq!(hits[1], "pay:knowledge/old-refunds.md", "{hits:?}");
    assert!(found(&bob, "zeppelin", &["--mode", "text"]).is_empty());
    let answer = json(&bob.run(&["search", "--scope", "org", "--json", "refund"]));
    let told = answer.to_string();
    assert!(!told.contains("AKIA2E0A8F3B244C9986"), "{told}");
    assert!(
        told.contains("Superseded by pay:knowledge/refunds.md"),
        "{told}"
    );
    let context = bob.run(&["search", "--scope", "org", "--context", "refund"]);
    assert!(context.ok().contains("<data "), "{context}");
    let there = org.sql("postgres", "select string_agg(text, ' ') from mf.document");
    assert!(!there.expect("documents").contains("AKIA2E0A8F3B244C9986"));

    let eve = org.workspace("eve", "acme", "ops", "ops", "");
    assert!(found(&eve, "refund", &[]).is_empty(), "another team");
    assert!(
        eve.run(&["engine", "pull", "pay"])
            .fails(2)
            .contains("no workspace")
    );

    let pulled = bob.run(&["engine", "pull", "pay"]);
    assert!(pulled.ok().contains("2 written"), "{pulled}");
    assert!(
        bob.read("org/pay/knowledge/refunds.md")
            .contains("fourteen days")
    );
    let tree = bob.tree_of_sources();
    bob.run(&["engine", "pull", "pay"]).ok();
    assert_eq!(bob.tree_of_sources(), tree, "twice is once");
    assert_eq!(push(&bob)["added"], 1, "what was pulled is not pushed");

    ann.write(
        "knowledge/refunds.md",
        "# Refunds\n\nPaid within ten days.\n",
    );
    ann.remove("knowledge/old-refunds.md");
    let second = push(&ann);
    assert_eq!(
        (&second["changed"], &second["removed"]),
        (&1.into(), &1.into()),
        "{second}"
    );
    assert_eq!(second["generation"], 2);
    assert_eq!(found(&bob, "refund", &[]), ["pay:knowledge/refunds.md"]);
    assert_eq!(org.count("select count(*) from mf.chunk c join mf.workspace w on w.id = c.workspace where w.name = 'pay'"), 1);
    sums_agree(&org);

    let status = json(&bob.run(&["engine", "status", "--json"]));
    assert_eq!(status["teams"], serde_json::json!(["all", "pay"]));
    assert_eq!(
        status["workspaces"].as_array().map(Vec::len),
        Some(2),
        "{status}"
    );
    bob.run(&["engine", "status"]).ok();

    assert!(
        ann.run(&["engine", "drop", "--yes"])
            .ok()
            .contains("Removed")
    );
    assert!(found(&bob, "refund", &[]).is_empty());
    assert_eq!(
        org.count("select count(*) from mf.chunk"),
        1,
        "bob's is left"
    );
    let refused = ann.run(&["engine", "drop", "--everything", "--yes"]);
    assert!(
        refused.fails(1).contains("does not administer"),
        "{refused}"
    );
    org.workspace("postgres", "acme", "admin", "all", "")
        .run(&["engine", "drop", "--everything", "--yes"])
        .ok();
    assert!(
        bob.run(&["engine", "search", "x"])
            .fails(1)
            .contains("engine init")
    );
}

/// What is counted beside the passages is what they add up to.
pub(crate) fn sums_agree(org: &Organisation) {
    let wrong = org.count(
        "select count(*) from (
             select w.id, w.chunks, w.documents, w.terms, w.embedded,
                 (select count(*) from mf.chunk c where c.workspace = w.id) as c,
                 (select count(*) from mf.document d where d.workspace = w.id) as d,
                 (select coalesce(sum(length), 0) from mf.chunk c where c.workspace = w.id) as t,
                 (select count(vec) from mf.chunk c where c.workspace = w.id) as e
             from mf.workspace w) as x where (chunks, documents, terms, embedded) <> (c, d, t, e)",
    );
    assert_eq!(wrong, 0, "workspaces whose counts are wrong");
    let wrong = org.count(
        "select count(*) from (select workspace, h, count(*) as n from mf.chunk, unnest(terms) as h group by 1, 2) as a
         full join mf.term t using (workspace, h) where a.n is distinct from t.n",
    );
    assert_eq!(wrong, 0, "terms whose counts are wrong");
}

fn schemas_of_other_versions(org: Organisation) {
    org.init("acme", &["ann"]).ok();
    let ann = org.workspace("ann", "acme", "pay", "all", PAY);
    push(&ann);
    let set = |key: &str, value: &str| {
        let sql = format!("update mf.meta set value = '{value}' where key = '{key}'");
        org.sql("postgres", &sql).expect("it is set");
    };
    // A newer one that can still be read: asking goes on while programs are
    // updated, and pushing waits.
    set("schema", "99");
    assert!(!found(&ann, "refund", &[]).is_empty());
    ann.run(&["engine", "pull", "pay"]).ok();
    let refused = ann.run(&["engine", "push"]);
    assert!(refused.fails(1).contains("newer version"), "{refused}");
    set("reads", "99");
    for arguments in [
        &["engine", "push"][..],
        &["engine", "search", "refund"],
        &["engine", "status"],
        &["engine", "pull", "pay"],
    ] {
        let output = ann.run(arguments);
        let said = output.fails(1);
        assert!(
            said.contains("newer version") && said.contains("Update memory-forge"),
            "{output}"
        );
    }
    assert!(org.init("acme", &[]).fails(1).contains("newer version"));
    let admin = org.workspace("postgres", "acme", "admin", "all", "");
    let upgrade = ["engine", "upgrade", "--yes"];
    assert!(admin.run(&upgrade).fails(1).contains("newer version"));
    // An older one is never thrown away by `init`.
    set("schema", "1");
    for arguments in [&["engine", "push"][..], &["engine", "init"]] {
        let refused = admin.run(arguments);
        assert!(refused.fails(1).contains("engine upgrade"), "{refused}");
    }
    assert!(admin.run(&upgrade).fails(1).contains("Format 1 cannot"));
    set("schema", "3");
    set("reads", "3");
    assert!(admin.run(&upgrade).ok().contains("already"));
    assert!(!found(&ann, "refund", &[]).is_empty(), "nothing was lost");
}

fn an_older_checkout_does_not_undo_a_newer_push(org: Organisation) {
    org.init("acme", &["ann"]).ok();
    let ws = org.workspace(
        "ann",
        "acme",
        "pay",
        "all",
        "//- knowledge/a.md\n# A\n\nOne apple.\n",
    );
    ws.git_init();
    ws.commit("one");
    push(&ws);
    ws.write("knowledge/a.md", "# A\n\nTwo apples.\n");
    ws.commit("two");
    push(&ws);
    ws.git(&["checkout", "--quiet", "HEAD~1"]);
    let refused = ws.run(&["engine", "push"]);
    assert!(refused.fails(1).contains("git pull"), "{refused}");
    assert_eq!(
        json(&ws.run(&["engine", "push", "--force", "--json"]))["changed"],
        1
    );
}

/// Whoever asks without naming a scope is answered by the index that the
/// settings name, agents as well as people.
fn the_settings_choose_the_index(org: Organisation) {
    org.init("acme", &["ann:pay", "bob:pay"]).ok();
    push(&org.workspace("ann", "acme", "pay", "pay", PAY));
    let own = "//- knowledge/coffee.md\n# Coffee\n\nA refund of a coffee is a cup of tea.\n";
    let bob = org.workspace("bob", "acme", "bobs", "pay", own);
    let shared = "pay:knowledge/refunds.md";
    let asked = ["search", "--json", "refund"];
    assert!(!bob.run(&asked).ok().contains(shared));

    let settings = bob.read("memory-forge.toml") + "\n[search]\nengine = \"server\"\n";
    bob.write("memory-forge.toml", &settings);
    assert!(bob.run(&asked).ok().contains(shared));
    let mine = bob.run(&["search", "--json", "--scope", "knowledge", "refund"]);
    assert!(mine.ok().contains("coffee.md") && !mine.stdout.contains(shared));
    let calls = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}\n\
        {\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n\
        {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"search_knowledge\",\"arguments\":{\"query\":\"refund\"}}}\n";
    let bob = bob.stdin(calls);
    let told = bob.run(&["mcp"]);
    assert!(told.ok().contains(shared), "{told}");

    let elsewhere = settings.replace(&org.url("bob"), "postgres://127.0.0.1:1/memory");
    assert_ne!(elsewhere, settings);
    bob.write("memory-forge.toml", elsewhere);
    let alone = bob.run(&asked);
    assert!(alone.ok().contains("coffee.md"), "{alone}");
    assert!(
        alone.stderr.contains("this workspace alone was searched"),
        "{alone}"
    );
    let told = bob.run(&["mcp"]);
    assert!(told.ok().contains("coffee.md"), "{told}");
    assert!(
        told.stdout.contains("this workspace alone was searched"),
        "{told}"
    );
}

on_both!(
    push_search_pull,
    the_settings_choose_the_index,
    schemas_of_other_versions,
    an_older_checkout_does_not_undo_a_newer_push,
);

#[test]
fn a_password_in_the_file_is_refused_and_not_shown() {
    let ws = testkit::TestWorkspace::files("//- knowledge/a.md\n# A\n")
        .binary(testkit::worker::beside(env!("CARGO_BIN_EXE_memory-forge")));
    ws.write(
        "memory-forge.toml",
        "[engine]\nurl = \"postgres://ann:hunter2@localhost/x\"\ntenant = \"acme\"\n",
    );
    let output = ws.run(&["engine", "push"]);
    assert!(output.fails(1).contains("PGPASSWORD"), "{output}");
    assert!(!output.stderr.contains("hunter2"), "{output}");
}

#[test]
fn without_a_server_it_says_so() {
    let ws = testkit::TestWorkspace::files("//- knowledge/a.md\n# A\n")
        .binary(testkit::worker::beside(env!("CARGO_BIN_EXE_memory-forge")));
    assert!(
        ws.run(&["engine", "status"])
            .fails(1)
            .contains("engine.tenant")
    );
    ws.write("memory-forge.toml", "[engine]\ntenant = \"acme\"\n");
    assert!(
        ws.run(&["engine", "status"])
            .fails(1)
            .contains("engine.url")
    );
    let listed = ws.run(&["engine", "push", "--dry-run"]);
    assert!(
        listed.ok().contains("knowledge/a.md"),
        "needs no server: {listed}"
    );
}
