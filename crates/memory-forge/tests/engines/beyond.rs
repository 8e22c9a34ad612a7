//! What `docs/engines.md` promises an organisation: the guide followed to the
//! letter, a backup that is restored, queries for monitoring, and keys by which
//! rows can be spread over servers.

use std::fs;
use std::process::Command;

use testkit::postgres::Version;

use crate::organisation::{Organisation, found, push};

const GUIDE: &str = include_str!("../../../../docs/engines.md");

/// The blocks of a language below a heading.
fn blocks(heading: &str, language: &str) -> Vec<String> {
    let section = GUIDE
        .split(&format!("\n## {heading}\n"))
        .nth(1)
        .unwrap_or_else(|| panic!("the guide has `{heading}`"));
    let section = section.split("\n## ").next().expect("a part");
    let mut blocks = Vec::new();
    let mut open: Option<(usize, Vec<&str>)> = None;
    for line in section.lines() {
        let bare = line.trim_start();
        match &mut open {
            Some((indent, lines)) if bare == "```" => {
                let indent = *indent;
                let cut = |it: &&str| it.get(indent..).unwrap_or("").to_owned();
                blocks.push(lines.iter().map(cut).collect::<Vec<_>>().join("\n"));
                open = None;
            }
            Some((_, lines)) => lines.push(line),
            None if bare == format!("```{language}") => {
                open = Some((line.len() - bare.len(), Vec::new()));
            }
            None => {}
        }
    }
    blocks
}

/// From an empty server to a search by a second person, by the guide's own
/// commands: only the server's name and the port are this machine's.
#[test]
fn the_guide_works_to_the_letter() {
    let Some(org) = Organisation::alone(Version::Fifteen) else {
        return;
    };
    let ws = org.workspace("postgres", "acme", "admin", "all", "");
    let root = ws.root();
    let programs = root.join("programs");
    fs::create_dir_all(&programs).expect("a folder");
    let program = testkit::worker::beside(env!("CARGO_BIN_EXE_memory-forge"));
    std::os::unix::fs::symlink(program, programs.join("memory-forge")).expect("a link");
    org.server
        .program("createdb", "postgres", &["memory"])
        .expect("step 1: a database");
    let steps = blocks("From nothing to a shared index", "sh");
    assert!(steps.len() >= 5, "{steps:?}");
    let settings = blocks("From nothing to a shared index", "toml");
    let (billing, other) = (root.join("billing"), root.join("frontend"));
    for folder in [&billing, &other] {
        fs::create_dir_all(folder.join("knowledge")).expect("a folder");
        let here =
            |it: &String| it.replace("db.example.org", &format!("127.0.0.1:{}", org.server.port));
        let own = here(&settings[0]);
        let own = if folder == &other {
            own.replace("\"billing\"", "\"frontend\"")
        } else {
            own
        };
        fs::write(folder.join("memory-forge.toml"), own).expect("written");
    }
    fs::write(
        billing.join("knowledge/retries.md"),
        "# Retries\n\nAnn decided on three retries.\n",
    )
    .expect("written");
    let mut said = String::new();
    for step in steps.iter().filter(|it| !it.contains("apt install")) {
        let step = step
            .replace("db.example.org", &format!("127.0.0.1:{}", org.server.port))
            .replace('…', "x");
        let output = Command::new("sh")
            .args(["-eu", "-c", &step])
            .current_dir(root)
            .env_clear()
            .env("HOME", ws.home())
            .env("XDG_STATE_HOME", ws.home().join("state"))
            .env("PATH", format!("{}:/usr/bin:/bin", programs.display()))
            .output()
            .expect("sh runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{step}\n{text}\n{errors}");
        said += &text;
    }
    assert!(
        said.contains("billing:knowledge/retries.md"),
        "bob found it: {said}"
    );
    assert!(
        other.join("org/billing/knowledge/retries.md").exists(),
        "{said}"
    );
}

fn a_backup_comes_back(shared: Organisation) {
    let Some(org) = Organisation::alone(shared.version) else {
        return;
    };
    org.init("acme", &["ann:pay", "bob:pay:read"]).ok();
    let ann = org.workspace(
        "ann",
        "acme",
        "w",
        "pay",
        "//- knowledge/n.md\n# N\n\nThe walrus sleeps.\n",
    );
    push(&ann);
    let dump = org
        .server
        .program("pg_dump", "postgres", &["-n", "mf", "-d", &org.database])
        .expect("a backup");
    let Some(other) = Organisation::alone(shared.version) else {
        return;
    };
    drop(shared);
    let (bob, ann_login) = (org.login("bob"), org.login("ann"));
    for sql in [
        "create extension vector".to_owned(),
        "create role mf_owner nologin".to_owned(),
        // Others come first, so that the numbers of roles differ.
        "create role somebody".to_owned(),
        format!("create role {bob} login; create role {ann_login} login"),
    ] {
        other
            .server
            .sql("postgres", &other.database, &sql)
            .expect(&sql);
    }
    let restored = other.server.session("postgres", &other.database, &dump);
    assert!(!restored.contains("ERROR"), "{restored}");
    let url = |who: &str| other.server.url(who, &other.database);
    let reader = org.workspace("bob", "acme", "x", "pay", "");
    let settings = reader
        .read("memory-forge.toml")
        .replace(&org.url("bob"), &url(&bob));
    reader.write("memory-forge.toml", settings);
    assert!(
        found(&reader, "walrus", &[]).is_empty(),
        "roles of other numbers are others"
    );
    let admin = org.workspace("postgres", "acme", "admin", "all", "");
    let settings = admin
        .read("memory-forge.toml")
        .replace(&org.url("postgres"), &url("postgres"));
    admin.write("memory-forge.toml", settings);
    assert!(
        admin
            .run(&["engine", "check"])
            .stdout
            .contains("engine member renew")
    );
    let renewed = admin.run(&["engine", "member", "renew", "--yes"]);
    assert!(renewed.ok().contains(&bob), "{renewed}");
    assert_eq!(found(&reader, "walrus", &[]), ["w:knowledge/n.md"]);
    assert!(
        admin
            .run(&["engine", "check"])
            .ok()
            .contains("Nothing is wrong")
    );
}

/// Each query that the guide gives for monitoring answers.
fn queries_for_monitoring_answer(org: Organisation) {
    org.init("acme", &["ann:pay"]).ok();
    push(&org.workspace(
        "ann",
        "acme",
        "w",
        "pay",
        "//- knowledge/n.md\n# N\n\nThe walrus.\n",
    ));
    let queries = blocks("Running it", "sql");
    assert!(!queries.is_empty());
    let mut asked = 0;
    for query in queries.iter().flat_map(|it| it.split(';')).map(str::trim) {
        if !query.is_empty() {
            org.sql("postgres", query).expect(query);
            asked += 1;
        }
    }
    assert!(asked >= 4, "{asked}");
}

/// Rows can be spread over servers by tenant: every key of every table with rows
/// of tenants has it, and no key goes from one tenant to another.
fn every_key_has_its_tenant(org: Organisation) {
    org.init("acme", &[]).ok();
    let without = org.sql(
        "postgres",
        "select coalesce(string_agg(c.conrelid::regclass || ' ' || c.conname, ', '), '') from pg_constraint c
         join pg_class t on t.oid = c.conrelid join pg_namespace n on n.oid = t.relnamespace
         where n.nspname = 'mf' and c.contype in ('p', 'u', 'f') and t.relname not in ('meta', 'tenant')
           and not exists (
             select from pg_attribute a where a.attrelid = t.oid and a.attname = 'tenant' and a.attnum = any (c.conkey))",
    );
    assert_eq!(without.as_deref(), Ok(""));
}

on_both!(
    a_backup_comes_back,
    queries_for_monitoring_answer,
    every_key_has_its_tenant,
);
