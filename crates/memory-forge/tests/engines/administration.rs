//! Whoever administers the shared index: members who come and go, groups,
//! tokens, other formats, other owners, and a check that finds what is wrong.

use crate::organisation::{Organisation, found, json, push};
use testkit::TestWorkspace;

const NOTE: &str = "//- knowledge/n.md\n# Note\n\nThe walrus sleeps.\n";

fn admin(org: &Organisation) -> TestWorkspace {
    org.workspace("postgres", "acme", "admin", "all", "")
}

fn finds(org: &Organisation, who: &str) -> bool {
    let ws = org.workspace(who, "acme", "probe", "pay", "");
    !found(&ws, "walrus", &[]).is_empty()
}

fn members_come_and_go(org: Organisation) {
    let admin = admin(&org);
    let absent = admin.run(&["engine", "member", "add", "x"]);
    assert!(absent.fails(1).contains("engine init"), "{absent}");
    org.init("acme", &["ann:pay"]).ok();
    push(&org.workspace("ann", "acme", "w", "pay", NOTE));
    let bob = org.login("bob");
    let add = ["engine", "member", "add", &bob, "--team", "pay", "--read"];
    let added = admin.run(&add);
    assert!(added.ok().contains("may read in the team `pay`"), "{added}");
    assert!(added.stderr.contains("no password"), "{added}");
    admin.run(&add).ok();
    assert!(finds(&org, "bob"));
    let mine = org.workspace("bob", "acme", "mine", "pay", NOTE);
    assert!(
        mine.run(&["engine", "push"])
            .fails(2)
            .contains("may not push")
    );
    let listed = json(&admin.run(&["engine", "member", "list", "--json"]));
    let logins: Vec<&str> = listed["members"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|it| it["login"].as_str())
        .collect();
    assert_eq!(logins, [org.login("ann"), bob.clone()]);
    assert!(
        admin
            .run(&["engine", "member", "list"])
            .ok()
            .contains("may read")
    );

    // Whoever is removed sees nothing, and a new person of that name neither.
    let remove = ["engine", "member", "remove", &bob, "--yes"];
    assert!(admin.run(&remove).ok().contains("no rights"));
    assert!(!finds(&org, "bob"));
    assert!(admin.run(&remove).ok().contains("had no rights of its own"));
    admin.run(&add).ok();
    assert!(finds(&org, "bob"));
    org.sql("postgres", &format!("drop role {bob}"))
        .expect("nothing holds the login");
    org.sql("postgres", &format!("create role {bob} login"))
        .expect("another bob");
    assert!(!finds(&org, "bob"), "the new bob inherits nothing");
    let listed = admin.run(&["engine", "member", "list"]);
    assert!(listed.ok().contains("dropped or replaced"), "{listed}");
    let checked = admin.run(&["engine", "check"]);
    assert!(
        checked.fails(1).is_empty() && checked.stdout.contains("is gone"),
        "{checked}"
    );
    admin
        .run(&["engine", "member", "remove", &bob, "--drop-login", "--yes"])
        .ok();
    assert_eq!(
        org.count(&format!(
            "select count(*) from pg_roles where rolname = '{bob}'"
        )),
        0
    );
    admin.run(&["engine", "check"]).ok();
    // What everybody reads is written by those alone for whom it was said.
    let added = admin.run(&["engine", "member", "add", &org.login("dan")]);
    assert!(added.ok().contains("may read in the team `all`"), "{added}");
    let dan = org.workspace("dan", "acme", "d", "all", NOTE);
    let refused = dan.run(&["engine", "push"]);
    assert!(refused.fails(2).contains("may not push"), "{refused}");
    let all = [
        "engine",
        "member",
        "add",
        &org.login("dan"),
        "--team",
        "all",
    ];
    admin.run(&all).ok();
    push(&dan);
    let stranger = org.workspace("ann", "acme", "x", "pay", "");
    let refused = stranger.run(&["engine", "member", "list"]);
    assert!(
        refused.fails(1).contains("does not administer"),
        "{refused}"
    );
}

/// Several administrators at once, and somebody who holds every lock that a
/// member can hold: each ends, and what was asked is there once.
fn administrators_and_locks_do_not_meet(org: Organisation) {
    org.init("acme", &["ann:pay", "bob:pay:read"]).ok();
    let admins: Vec<TestWorkspace> = (0..4).map(|_| admin(&org)).collect();
    let running: Vec<std::process::Child> = admins
        .iter()
        .enumerate()
        .map(|(at, ws)| {
            let login = org.login(&format!("new{at}"));
            let mut command = ws.command();
            command.args(["engine", "member", "add", &login, "--team", "fresh"]);
            let quiet = std::process::Stdio::null;
            command.stdin(quiet()).stdout(quiet());
            command
                .stderr(std::process::Stdio::piped())
                .spawn()
                .expect("it starts")
        })
        .collect();
    for child in running {
        let output = child.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
    }
    assert_eq!(
        org.count("select count(*) from mf.team where name = 'fresh'"),
        1
    );
    // Advisory locks of every name that pushes ever waited for, and of numbers.
    let ws = org.workspace("ann", "acme", "w", "pay", NOTE);
    let held = "select pg_advisory_lock(hashtextextended('mf:acme/w', 0)), pg_advisory_lock(hashtextextended('mf:init', 0));
        select pg_advisory_lock(n) from generate_series(0, 1000) as n;
        \\! echo held
        select pg_sleep(3600);\n";
    let mut holder = org.server.holding(&org.login("bob"), &org.database, held);
    push(&ws);
    ws.write("knowledge/n.md", "# Note\n\nThe walrus wakes.\n");
    assert_eq!(push(&ws)["changed"], 1);
    admin(&org).run(&["engine", "init"]).ok();
    let _ = holder.kill();
    let _ = holder.wait();
}

/// A role of the server stands for a group that a directory keeps.
fn a_group_of_the_server_is_a_member(org: Organisation) {
    org.init("acme", &["ann:pay"]).ok();
    push(&org.workspace("ann", "acme", "w", "pay", NOTE));
    let (carl, group) = (org.login("carl"), org.login("ldap_pay"));
    org.sql(
        "postgres",
        &format!("create role {carl} login; create role {group} nologin"),
    )
    .expect("roles");
    let admin = admin(&org);
    let add = [
        "engine", "member", "add", &group, "--team", "pay", "--group",
    ];
    admin.run(&add).ok();
    assert!(!finds(&org, "carl"));
    org.sql("postgres", &format!("grant {group} to {carl}"))
        .expect("the directory lets him in");
    assert!(finds(&org, "carl"));
    // Whoever is in a group keeps its rights, and is named.
    let own = ["engine", "member", "add", &carl, "--team", "pay"];
    admin.run(&own).ok();
    for rest in [&[][..], &["--team", "pay"], &[]] {
        let remove = [&["engine", "member", "remove", &carl, "--yes"], rest].concat();
        let removed = admin.run(&remove);
        assert!(!removed.ok().contains("has no rights"), "{removed}");
        assert!(removed.stderr.contains(&group), "{removed}");
    }
    assert!(finds(&org, "carl"));
    org.sql("postgres", &format!("revoke {group} from {carl}"))
        .expect("and out");
    assert!(!finds(&org, "carl"));
    let remove = ["engine", "member", "remove", &carl, "--yes"];
    assert!(!admin.run(&remove).stderr.contains(&group));
    let unknown = admin.run(&["engine", "member", "add", "no_such_role", "--group"]);
    assert!(unknown.fails(2).contains("no role"), "{unknown}");
}

/// A job in CI may push its one workspace, and read nothing.
fn a_token_pushes_one_workspace(org: Organisation) {
    org.init("acme", &["ann:pay", "ci:pay:push=billing"]).ok();
    push(&org.workspace("ann", "acme", "other", "pay", NOTE));
    let ci = org.workspace(
        "ci",
        "acme",
        "billing",
        "pay",
        "//- knowledge/b.md\n# B\n\nThe heron.\n",
    );
    assert_eq!(push(&ci)["added"], 1);
    ci.write("knowledge/b.md", "# B\n\nThe heron flies.\n");
    assert_eq!(push(&ci)["changed"], 1);
    assert!(found(&ci, "heron", &[]).is_empty(), "not even its own");
    assert!(found(&ci, "walrus", &[]).is_empty());
    assert!(
        ci.run(&["engine", "pull", "other"])
            .fails(2)
            .contains("no workspace")
    );
    for (name, team) in [("other", "pay"), ("billing", "all"), ("new", "pay")] {
        let ws = org.workspace("ci", "acme", name, team, NOTE);
        let refused = ws.run(&["engine", "push", "--force"]);
        assert!(
            refused.fails(2).contains("may not push"),
            "{name} {team}: {refused}"
        );
    }
    let ann = org.workspace("ann", "acme", "x", "pay", "");
    assert_eq!(found(&ann, "heron", &["--mode", "text"]).len(), 1);
}

/// Two teams may each have a workspace of one name; a name that stands for two
/// is asked about.
fn teams_do_not_take_names_from_each_other(org: Organisation) {
    org.init(
        "acme",
        &["ann:pay", "bob:ops", "both:pay:read", "both:ops:read"],
    )
    .ok();
    push(&org.workspace("ann", "acme", "site", "pay", NOTE));
    push(&org.workspace("bob", "acme", "site", "ops", NOTE));
    let both = org.workspace("both", "acme", "x", "pay", "");
    let mut hits = found(&both, "walrus", &[]);
    hits.sort();
    assert_eq!(hits, ["ops/site:knowledge/n.md", "pay/site:knowledge/n.md"]);
    let asked = both.run(&["engine", "pull", "site"]);
    assert!(asked.fails(2).contains("`ops/site`, `pay/site`"), "{asked}");
    both.run(&["engine", "pull", "ops/site"]).ok();
    let ann = org.workspace("ann", "acme", "y", "pay", "");
    assert_eq!(found(&ann, "walrus", &[]), ["site:knowledge/n.md"]);
    // It moves to another team of theirs by what it is, and not by its name.
    org.init("acme", &["ann:ops"]).ok();
    let to_ops = |ws: &TestWorkspace| {
        let settings = ws.read("memory-forge.toml");
        ws.write("memory-forge.toml", settings.replace("\"pay\"", "\"ops\""));
        assert_eq!(push(ws)["added"], 1);
    };
    let moved = org.workspace("ann", "acme", "mine", "pay", NOTE);
    moved.git_init();
    moved.commit("one");
    push(&moved);
    to_ops(&moved);
    let count = |name: &str| {
        org.count(&format!(
            "select count(*) from mf.workspace where name = '{name}'"
        ))
    };
    assert_eq!(count("mine"), 1);
    let unknown = org.workspace("ann", "acme", "unknown", "pay", NOTE);
    push(&unknown);
    to_ops(&unknown);
    assert_eq!(count("unknown"), 2, "nothing says that they are the same");
    let known = org.workspace("ann", "acme", "known", "pay", NOTE);
    push(&known);
    known.git_init();
    known.commit("one");
    to_ops(&known);
    assert_eq!(count("known"), 2);
}

fn tenants_are_listed_and_dropped(org: Organisation) {
    org.init("acme", &["ann:pay"]).ok();
    org.init("bolt", &["bob:pay"]).ok();
    push(&org.workspace("ann", "acme", "w", "pay", NOTE));
    let bob = org.workspace("bob", "bolt", "w", "pay", NOTE);
    push(&bob);
    let admin = admin(&org);
    let all = admin.run(&["engine", "tenant", "list"]);
    assert!(
        all.ok().contains("acme  teams all, pay") && all.stdout.contains("bolt"),
        "{all}"
    );
    let asked = admin.run(&["engine", "tenant", "drop", "acme"]);
    assert!(
        asked.status != Some(0) || asked.stderr.contains("Nothing was changed"),
        "{asked}"
    );
    admin
        .run(&["engine", "tenant", "drop", "acme", "--yes"])
        .ok();
    assert_eq!(org.count("select count(*) from mf.workspace"), 1);
    assert_eq!(org.count("select count(*) from mf.chunk"), 1);
    assert_eq!(found(&bob, "walrus", &[]).len(), 1);
    let again = admin.run(&["engine", "tenant", "drop", "acme", "--yes"]);
    assert!(again.fails(1).contains("no organisation"), "{again}");
    let dropped = admin.run(&["engine", "drop", "--everything", "--yes"]);
    assert!(
        dropped.ok().contains("bolt"),
        "each that is gone is named: {dropped}"
    );
}

/// Somebody without rights above all others prepares the server, and pgvector
/// is in a schema of its own.
fn an_owner_of_the_database_is_enough(shared: Organisation) {
    // Roles are the whole server's.
    let Some(org) = Organisation::alone(shared.version) else {
        return;
    };
    drop(shared);
    let owner = org.login("dba");
    let database = &org.database;
    for sql in [
        format!("create role {owner} login createrole"),
        format!("alter database {database} owner to {owner}"),
        "create schema extensions; create extension vector schema extensions".to_owned(),
        format!("grant usage on schema extensions to {owner} with grant option"),
    ] {
        org.sql("postgres", &sql).expect(&sql);
    }
    let dba = org.workspace("dba", "acme", "admin", "all", "");
    let ann = org.login("ann");
    let made = dba.run(&["engine", "init", "--member", &format!("{ann}:pay")]);
    assert!(made.ok().contains("Prepared"), "{made}");
    push(&org.workspace("ann", "acme", "w", "pay", NOTE));
    assert!(finds(&org, "ann"));
    assert!(!finds(&org, "dba"), "an administrator is no member");
    dba.run(&[
        "engine",
        "member",
        "add",
        &org.login("bob"),
        "--team",
        "pay",
    ])
    .ok();
    dba.run(&["engine", "upgrade", "--yes"]).ok();
    let checked = dba.run(&["engine", "check"]);
    // Before 16, whoever may act as the owner inherits its rights, and is told.
    let inherits = checked.stdout.contains("inherits the rights of the owner");
    assert_eq!(
        inherits,
        org.version == testkit::postgres::Version::Fifteen,
        "{checked}"
    );
    assert!(
        checked.stdout.contains("sizes and row counts"),
        "what nobody but a superuser can hide is named: {checked}"
    );
    let dropped = dba.run(&["engine", "drop", "--everything", "--yes"]);
    assert!(dropped.ok().contains("acme"), "{dropped}");
    let made = dba.run(&["engine", "init", "--member", &format!("{ann}:pay")]);
    assert!(made.ok().contains("Prepared"), "{made}");
    dba.run(&["engine", "drop", "--everything", "--yes"]).ok();
    // Without the right to make roles, that login owns it.
    org.sql("postgres", &format!("alter role {owner} nocreaterole"))
        .expect("less");
    let made = dba.run(&["engine", "init", "--member", &format!("{ann}:pay")]);
    assert!(made.ok().contains("Prepared"), "{made}");
    push(&org.workspace("ann", "acme", "w", "pay", NOTE));
    let new = dba.run(&["engine", "member", "add", "nobody_yet"]);
    assert!(new.fails(1).contains("may not create it"), "{new}");
}

fn a_check_finds_what_is_wrong(org: Organisation) {
    org.init("acme", &["ann:pay"]).ok();
    push(&org.workspace("ann", "acme", "w", "pay", NOTE));
    let admin = admin(&org);
    let check = || admin.run(&["engine", "check"]);
    assert!(check().ok().contains("Nothing is wrong"), "{}", check());
    let shown = check();
    assert!(
        shown.stdout.contains("connect to other databases") && shown.stdout.contains("template1"),
        "{shown}"
    );
    let ann = org.login("ann");
    for (spoil, expect, mend) in [
        (
            format!("grant select on mf.document to {ann}"),
            "right on the table mf.document",
            format!("revoke all on mf.document from {ann}"),
        ),
        (
            format!("grant select (text) on mf.chunk to {ann}"),
            "columns of mf.chunk",
            format!("revoke select (text) on mf.chunk from {ann}"),
        ),
        (
            "grant create on schema mf to public".to_owned(),
            "may create objects",
            "revoke create on schema mf from public".to_owned(),
        ),
        (
            format!("grant create on schema public to {ann}"),
            "may create objects in the schema public",
            format!("revoke create on schema public from {ann}"),
        ),
        (
            "grant execute on function mf.rights to public".to_owned(),
            "mf.rights",
            "revoke execute on function mf.rights from public".to_owned(),
        ),
        (
            "alter table mf.term disable row level security".to_owned(),
            "mf.term",
            "alter table mf.term enable row level security".to_owned(),
        ),
        (
            format!("grant mf_owner to {ann}"),
            "reads every tenant",
            format!("revoke mf_owner from {ann}"),
        ),
        (
            format!("alter role {ann} bypassrls"),
            "above all rights",
            format!("alter role {ann} nobypassrls"),
        ),
        (
            "alter index mf.term_term rename to gone".to_owned(),
            "term_term",
            "alter index mf.gone rename to term_term".to_owned(),
        ),
        (
            "alter index mf.member_role rename to gone".to_owned(),
            "member_role",
            "alter index mf.gone rename to member_role".to_owned(),
        ),
        (
            "alter index mf.chunk_vec rename to gone".to_owned(),
            "chunk_vec",
            "alter index mf.gone rename to chunk_vec".to_owned(),
        ),
    ] {
        org.sql("postgres", &spoil).expect(&spoil);
        let found = check();
        assert_eq!(found.status, Some(1), "{spoil}: {found}");
        assert!(found.stdout.contains(expect), "{spoil}: {found}");
        org.sql("postgres", &mend).expect(&mend);
        check().ok();
    }
    let found = json(&admin.run(&["engine", "check", "--json"]));
    assert_eq!(found["ok"], true, "{found}");
}

/// An index of format 2, as the version before wrote it: everything is there
/// afterwards, except what was planted in another's workspace.
fn an_older_index_is_brought_forward(org: Organisation) {
    for role in ["mf_owner", "mf_reader", "mf_writer", "mf_seeker"] {
        let _ = org.sql("postgres", &format!("create role {role} nologin"));
    }
    for who in ["ann", "bob", "eve"] {
        let login = org.login(who);
        let make = format!("create role {login} login; grant mf_writer to {login}");
        org.sql("postgres", &make).expect("a login");
    }
    org.sql("postgres", "grant mf_reader to mf_writer")
        .expect("as it was");
    let old = include_str!("fixtures/format_2.sql").replace("_fx", &format!("_{}", org.database));
    org.sql("postgres", "create extension vector")
        .expect("pgvector");
    org.sql("postgres", &old).expect("the old index");
    // What any writer could add there: a passage to a document of `all`, and rows
    // whose numbers and names are chosen.
    org.sql(
        "postgres",
        "insert into mf.chunk select tenant, team, workspace, 900, doc, 1, first_line, last_line, tokens, length, scope,
             skill, date, headings, 'A zeppelin was added.', terms, freqs, vec from mf.chunk where id = 8;
         insert into mf.chunk select tenant, team, workspace, 901, doc, 2, first_line, last_line, tokens, -1, scope,
             skill, date, headings, text, terms || null::integer, freqs, vec from mf.chunk where id = 8;
         insert into mf.document select tenant, team, workspace, 7, 'knowledge/seven.md', hash, scope, skill, title, names,
             date, importance, deprecated, superseded_by, replaced_by, fields, text from mf.document where id = 2;
         insert into mf.document select tenant, team, workspace, 4, 'knowledge/repeated.md', hash, scope, skill, title, names,
             date, importance, deprecated, superseded_by, replaced_by, fields, text from mf.document where id = 2;
         insert into mf.workspace (tenant, team, id, name) values ('acme', 'ops', 1, 'one'), ('acme', 'ops', 1, 'pay/wa')",
    )
    .expect("format 2 lets them");
    let ann = org.workspace("ann", "acme", "wa", "pay", "");
    let refused = ann.run(&["engine", "search", "refund"]);
    assert!(refused.fails(1).contains("engine upgrade"), "{refused}");
    let kept = org.init("acme", &[]);
    assert!(
        kept.fails(1).contains("engine upgrade"),
        "nothing is dropped: {kept}"
    );
    let admin = admin(&org);
    let asked = admin.run(&["engine", "upgrade"]);
    assert!(!asked.stdout.contains("Upgraded"), "{asked}");
    let done = admin.run(&["engine", "upgrade", "--yes"]);
    assert!(done.ok().contains("from format 2 to 3"), "{done}");
    assert!(
        done.stderr.contains("next push of each workspace replaces"),
        "{done}"
    );
    assert_eq!(found(&ann, "refund", &[])[0], "wa:knowledge/refunds.md");
    assert_eq!(
        found(&ann, "coffee", &["--mode", "text"])[0],
        "wb:knowledge/coffee.md"
    );
    assert!(found(&ann, "planted", &["--mode", "text"]).is_empty());
    assert_eq!(org.count("select count(*) from mf.document"), 5);
    crate::story::sums_agree(&org);
    let zeppelins = "select count(*) from mf.chunk where text like '%zeppelin%'";
    assert_eq!(org.count(zeppelins), 1, "it looks like any other");
    let bob = org.workspace(
        "bob",
        "acme",
        "wb",
        "all",
        "//- knowledge/coffee.md\n# Coffee\n\nCoffee is in the kitchen.\n",
    );
    assert_eq!(push(&bob)["changed"], 1, "although it is as it was");
    assert_eq!(org.count(zeppelins), 0);
    let eve = org.workspace("eve", "acme", "x", "ops", "");
    assert_eq!(
        found(&eve, "refund coffee", &["--mode", "text"]),
        ["wb:knowledge/coffee.md"]
    );
    // Who wrote `all` because they wrote some team does so no longer.
    let all = org.workspace("ann", "acme", "wb", "all", NOTE);
    assert!(
        all.run(&["engine", "push", "--force"])
            .fails(2)
            .contains("may not push")
    );
    ann.write("knowledge/refunds.md", "# Refunds\n\nAt once.\n");
    let pushed = push(&ann);
    assert_eq!(
        (&pushed["changed"], &pushed["removed"]),
        (&1.into(), &3.into()),
        "{pushed}"
    );
    crate::story::sums_agree(&org);
    let checked = admin.run(&["engine", "check"]);
    checked.ok();
}

/// A session that was left open in a transaction stops neither those who ask nor
/// whoever adds a team or drops a tenant.
fn an_open_session_stops_nobody(org: Organisation) {
    org.init("acme", &["ann:pay", "bob:pay:read"]).ok();
    org.init("bolt", &["ben:pay"]).ok();
    push(&org.workspace("ann", "acme", "w", "pay", NOTE));
    let ben = org.workspace("ben", "bolt", "w", "pay", NOTE);
    push(&ben);
    let admin = admin(&org);
    let end = |mut session: std::process::Child, who: &str| {
        let login = org.login(who);
        let end = format!(
            "select count(pg_terminate_backend(pid, 10000)) from pg_stat_activity where usename = '{login}' and datname = current_database()"
        );
        assert_eq!(org.count(&end), 1);
        let _ = session.wait();
    };
    let open = |who: &str, first: &str| {
        let script = format!("begin;\n{first};\n\\! echo held\nselect pg_sleep(3600);\n");
        org.server.holding(&org.login(who), &org.database, &script)
    };
    let timed = |run: &mut dyn FnMut()| {
        let began = std::time::Instant::now();
        run();
        began.elapsed().as_secs()
    };
    let reads = "select count(*) from mf.literal('acme', null, 'walrus', null, null, null, 9), mf.undated('acme', null, null, null), mf.beginning('acme', 'w', 'x', 9), mf.overview('acme', null), mf.workspaces('acme', null)";
    let reader = open("bob", reads);
    let add =
        |team: &str| admin.run(&["engine", "member", "add", &org.login("new"), "--team", team]);
    assert!(
        timed(&mut || {
            add("fresh").ok();
        }) < 10
    );
    assert!(finds(&org, "ann"));
    let drop = |tenant: &str| admin.run(&["engine", "tenant", "drop", tenant, "--yes"]);
    assert!(
        timed(&mut || {
            drop("bolt").ok();
        }) < 10
    );
    assert_eq!(found(&ben, "walrus", &[]).len(), 0);
    let parts = "select count(*) from pg_inherits where inhparent in ('mf.chunk'::regclass, 'mf.document'::regclass, 'mf.term'::regclass)";
    assert_eq!(org.count(parts), 9, "of the teams `all`, `pay` and `fresh`");
    // A push that was begun and left: it is named, and the others go on.
    let writer = open(
        "ann",
        "select mf.end_push('acme', id, null, '', '', 1) from mf.begin_push('acme', 'pay', 'w', '')",
    );
    let refused = add("later");
    let said = refused.fails(1);
    assert!(
        said.contains("in use by") && said.contains(&org.login("ann")),
        "{refused}"
    );
    assert!(finds(&org, "bob"));
    end(writer, "ann");
    add("later").ok();
    // A tenant goes although somebody still reads in it; its tables go later.
    assert!(
        timed(&mut || {
            drop("acme").ok();
        }) < 20
    );
    assert_eq!(org.count("select (select count(*) from mf.document) + (select count(*) from mf.chunk) + (select count(*) from mf.term)"), 0);
    assert!(org.count(parts) > 0);
    assert!(
        admin
            .run(&["engine", "check"])
            .ok()
            .contains("are left, and empty")
    );
    end(reader, "bob");
    org.init("acme", &["ann:pay"]).ok();
    add("pay").ok();
    assert_eq!(org.count(parts), 6, "of the teams `all` and `pay`");
}

/// Whoever may create something in `public` does not run as the administrator
/// who checks the installation.
fn operators_of_others_are_not_used(org: Organisation) {
    org.init("acme", &["ann:pay"]).ok();
    let ann = org.login("ann");
    org.sql(
        "postgres",
        &format!("grant create on schema public to {ann}; grant select on mf.meta to {ann}"),
    )
    .expect("a careless grant");
    let evil = format!(
        "create function public.evil(a text, b regclass) returns text language plpgsql as $$ begin
             execute 'alter role {ann} superuser'; return a; end $$;
         create operator public.|| (leftarg = text, rightarg = regclass, function = public.evil);
         create function public.evil(a text, b text) returns boolean language plpgsql as $$ begin
             execute 'alter role {ann} superuser'; return true; end $$;
         create operator public.<@ (leftarg = text, rightarg = text, function = public.evil)"
    );
    org.sql("ann", &evil).expect("she may");
    let admin = admin(&org);
    let checked = admin.run(&["engine", "check"]);
    assert!(checked.stdout.contains("mf.meta"), "{checked}");
    assert!(
        checked
            .stdout
            .contains("create objects in the schema public"),
        "{checked}"
    );
    admin.run(&["engine", "member", "list"]).ok();
    admin.run(&["engine", "upgrade", "--yes"]).ok();
    let is_super = format!("select count(*) from pg_roles where rolname = '{ann}' and rolsuper");
    assert_eq!(org.count(&is_super), 0);
}

/// Rows that scoring would stumble over are refused, without a word about the
/// tables, and a writer's own counts break no search.
fn a_writer_breaks_nobodys_search(org: Organisation) {
    org.init("acme", &["ann:pay", "pub:all", "pub:pay:read"])
        .ok();
    push(&org.workspace("ann", "acme", "w", "pay", NOTE));
    let evil = org.workspace("pub", "acme", "evil", "all", NOTE);
    push(&evil);
    let id = org.count("select id from mf.workspace where name = 'evil'");
    let h = org.count("select distinct h from mf.term where term like 'walrus%'");
    let passage = |length: &str, sizes: &str, terms: &str, freqs: &str| {
        format!(
            "mf.add_passages('acme', {id}, '{{90}}', '{{1}}', '{{0}}', '{{1}}', '{{1}}', '{{1}}', '{{{length}}}', '{{knowledge}}', '{{f}}', '{{null}}', '{{h}}', '{{x}}', '{{{sizes}}}', '{terms}', '{freqs}', '{{f}}', '{{}}')"
        )
    };
    let refused = [
        passage("1", "2", &format!("{{{h},null}}"), "{1,1}"),
        passage("1", "2", &format!("{{1,{h}}}"), "{1}"),
        passage("1", "1", &format!("{{{h}}}"), "{0}"),
        passage("1", "1", &format!("{{{h}}}"), "{null}"),
        passage("-1", "1", &format!("{{{h}}}"), "{1}"),
        passage("1", "1", &format!("{{{{{h}}}}}"), "{{1}}"),
        passage("null", "1", &format!("{{{h}}}"), "{1}"),
        format!(
            "mf.add_documents('acme', {id}, '{{null}}', '{{p}}', '{{h}}', '{{k}}', '{{f}}', '{{t}}', '{{n}}', '{{null}}', '{{0}}', '{{f}}', '{{null}}', '{{null}}', '{{\"{{}}\"}}', '{{x}}')"
        ),
        format!("mf.add_terms('acme', {id}, '{{null}}', '{{1}}', '{{x}}')"),
        "mf.begin_push('acme', 'all', 'pay/w', '')".to_owned(),
        "mf.begin_push('acme', 'all', '', '')".to_owned(),
    ];
    for call in &refused {
        let said = org.sql("pub", &format!("select {call}")).expect_err(call);
        let teams = org.sql(
            "postgres",
            "select string_agg(to_hex(id) || '|' || id, '|') from mf.team",
        );
        for number in teams.expect("numbers").split('|') {
            assert!(!said.contains(number), "{call}: {said}");
        }
    }
    for n in ["9223372036854775807", "-9223372036854775807", "0"] {
        let add = format!("select mf.add_terms('acme', {id}, '{{{h}}}', '{{{n}}}', '{{walrus}}')");
        org.sql("pub", &add).expect("a claim");
        let ann = org.workspace("ann", "acme", "x", "pay", "");
        assert_eq!(found(&ann, "walrus", &[]).len(), 2, "after {n}");
    }
    // Nobody says how many there are but the server.
    let ends = format!("select mf.end_push('acme', {id}, null, '', 'e', -5)");
    org.sql("pub", &ends).expect("a push ends");
    org.sql(
        "postgres",
        &format!("delete from mf.term where workspace = {id}"),
    )
    .expect("cleaned");
    evil.write("knowledge/n.md", "# Note\n\nThe walrus wakes.\n");
    push(&evil);
    let wrong = "select count(*) from mf.workspace w where chunks <> (select count(*) from mf.chunk c where c.workspace = w.id)";
    assert_eq!(org.count(wrong), 0);
}

/// Another encoding is refused before anything is made.
fn another_encoding_is_refused(org: Organisation) {
    let other = format!("{}_latin", org.database);
    let make = format!(
        "create database {other} encoding 'LATIN1' lc_collate 'C' lc_ctype 'C' template template0"
    );
    org.sql("postgres", &make).expect("a database");
    let ws = admin(&org);
    let settings = ws.read("memory-forge.toml");
    let elsewhere = settings.replace(&org.url("postgres"), &org.server.url("postgres", &other));
    ws.write("memory-forge.toml", elsewhere);
    let refused = ws.run(&["engine", "init"]);
    let said = refused.fails(1);
    assert!(
        said.contains("LATIN1") && said.contains("--encoding UTF8"),
        "{refused}"
    );
}

/// A replica that stands still says nothing of growing lag; its position does.
fn a_replica_that_stands_still_is_found(shared: Organisation) {
    let Some(org) = Organisation::alone(shared.version) else {
        return;
    };
    drop(shared);
    org.init("acme", &["ann:pay"]).ok();
    let admin = admin(&org);
    let replica = org.server.replica();
    let listed = "select count(*) from pg_stat_replication where state = 'streaming'";
    let began = std::time::Instant::now();
    while org.count(listed) == 0 && began.elapsed().as_secs() < 60 {
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    admin.run(&["engine", "check"]).ok();
    replica
        .sql("postgres", "postgres", "select pg_wal_replay_pause()")
        .expect("it stands still");
    for _ in 0..3 {
        org.sql(
            "postgres",
            "create table public.t (a int); drop table public.t",
        )
        .expect("something is written");
        org.sql("postgres", "select pg_switch_wal()")
            .expect("a new segment");
    }
    let checked = admin.run(&["engine", "check"]);
    assert_eq!(checked.status, Some(1), "{checked}");
    assert!(checked.stdout.contains("is behind by"), "{checked}");
}

on_both!(
    an_open_session_stops_nobody,
    operators_of_others_are_not_used,
    a_writer_breaks_nobodys_search,
    another_encoding_is_refused,
    a_replica_that_stands_still_is_found,
    members_come_and_go,
    administrators_and_locks_do_not_meet,
    a_group_of_the_server_is_a_member,
    a_token_pushes_one_workspace,
    teams_do_not_take_names_from_each_other,
    tenants_are_listed_and_dropped,
    an_owner_of_the_database_is_enough,
    a_check_finds_what_is_wrong,
    an_older_index_is_brought_forward,
);
