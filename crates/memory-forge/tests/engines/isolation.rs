//! Whoever asks learns of their own teams' documents alone, whatever they ask
//! with: by the commands, and as an adversary with a login and psql.

use std::collections::BTreeSet;

use testkit::TestWorkspace;

use crate::organisation::{Organisation, found, json, push};

const TENANTS: [&str; 2] = ["acme", "bolt"];
const TEAMS: [&str; 3] = ["all", "pay", "ops"];
const PEOPLE: [&str; 5] = ["p0", "p1", "p2", "p3", "p4"];

/// A small generator, so that a failure can be had again: the seed is printed.
struct Dice(u64);

impl Dice {
    fn new() -> Dice {
        let seed = match std::env::var("PROPTEST_RNG_SEED") {
            Ok(seed) => seed.parse().unwrap_or(1),
            Err(_) => u64::from(std::process::id()),
        };
        println!("seed {seed}");
        Dice(seed)
    }

    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % sides
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.roll(of.len())]
    }
}

/// Who is a member of what, and may write there.
type Members = BTreeSet<(&'static str, &'static str, &'static str, bool)>;

fn sees(members: &Members, who: &str, tenant: &str, team: &str) -> bool {
    let of = |it: &&(&str, &str, &str, bool)| it.0 == who && it.1 == tenant;
    members
        .iter()
        .filter(of)
        .any(|it| team == "all" || it.2 == team)
}

/// `all` is written by its own members, and not by whoever writes some team.
fn writes(members: &Members, who: &str, tenant: &str, team: &str) -> bool {
    members.contains(&(who_of(who), tenant_of(tenant), team_of(team), true))
}

fn who_of(who: &str) -> &'static str {
    let all = PEOPLE.iter().chain(&["boss", "nobody"]);
    all.copied().find(|it| *it == who).expect("a person")
}

fn tenant_of(name: &str) -> &'static str {
    TENANTS
        .into_iter()
        .find(|it| *it == name)
        .expect("a tenant")
}

fn team_of(name: &str) -> &'static str {
    TEAMS.into_iter().find(|it| *it == name).expect("a team")
}

fn organised(org: &Organisation, dice: &mut Dice) -> Members {
    let mut members = Members::new();
    for who in PEOPLE {
        for tenant in TENANTS {
            for team in TEAMS {
                if dice.roll(3) == 0 {
                    members.insert((who, tenant, team, dice.roll(4) > 0));
                }
            }
        }
    }
    // Somebody who may push everything, so that there is something to see.
    for tenant in TENANTS {
        for team in TEAMS {
            members.insert(("boss", tenant, team, true));
        }
        let of: Vec<String> = members
            .iter()
            .filter(|it| it.1 == tenant)
            .map(|it| format!("{}:{}:{}", it.0, it.2, if it.3 { "write" } else { "read" }))
            .collect();
        let of: Vec<&str> = of.iter().map(String::as_str).collect();
        org.init(tenant, &of).ok();
    }
    // Logins without any membership.
    for who in PEOPLE.iter().chain(&["nobody"]) {
        let login = org.login(who);
        let _ = org.sql("postgres", &format!("create role {login} login"));
    }
    for tenant in TENANTS {
        for team in TEAMS {
            let ws = org.workspace("boss", tenant, &format!("{tenant}-{team}"), team, "");
            ws.write("knowledge/n.md", format!("---\npeople: [{tenant}{team}]\n---\n# Note of {tenant} {team}\n\nThe walrus of {tenant} and {team}.\n"));
            push(&ws);
        }
    }
    members
}

fn nothing_passes_between_tenants_and_teams(org: Organisation) {
    let mut dice = Dice::new();
    let members = organised(&org, &mut dice);
    let state = fingerprint(&org);
    for who in PEOPLE.iter().copied().chain(["nobody"]) {
        for tenant in TENANTS {
            by_commands(&org, &members, who, tenant);
        }
        by_sql(&org, who);
        by_writing(&org, &members, who);
    }
    assert_eq!(
        fingerprint(&org),
        state,
        "somebody wrote what is not theirs"
    );
}

fn by_commands(org: &Organisation, members: &Members, who: &'static str, tenant: &'static str) {
    let ws: TestWorkspace = org.workspace(who, tenant, "probe", "all", "//- knowledge/p.md\n# P\n");
    let expect: BTreeSet<String> = TEAMS
        .iter()
        .filter(|team| sees(members, who, tenant, team))
        .map(|team| format!("{tenant}-{team}:knowledge/n.md"))
        .collect();
    let hits: BTreeSet<String> = found(&ws, "walrus", &["-n", "50"]).into_iter().collect();
    assert_eq!(hits, expect, "{who} searches {tenant}");
    let status = json(&ws.run(&["engine", "status", "--json"]));
    let names: BTreeSet<String> = status["workspaces"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|it| format!("{}:knowledge/n.md", it["name"].as_str().expect("a name")))
        .collect();
    assert_eq!(names, expect, "{who} lists {tenant}");
    for other in TENANTS {
        for team in TEAMS {
            let name = format!("{other}-{team}");
            let pulled = ws.run(&["engine", "pull", &name]);
            let may = other == tenant && sees(members, who, tenant, team);
            assert_eq!(
                pulled.stderr.contains("no workspace"),
                !may,
                "{who} pulls {name}: {pulled}"
            );
            if other == tenant && !writes(members, who, tenant, team) {
                let ws = org.workspace(who, tenant, &name, team, "//- knowledge/n.md\n# Mine\n");
                let pushed = ws.run(&["engine", "push", "--force"]);
                assert!(pushed.fails(2).contains("You may not push"), "{pushed}");
                let dropped = ws.run(&["engine", "drop", "--yes"]);
                assert!(
                    dropped.status == Some(1) || dropped.stdout.contains("does not exist"),
                    "{who} drops {name}: {dropped}"
                );
            }
        }
    }
}

/// No table, no role and no object is anybody's: whatever is tried is refused.
fn by_sql(org: &Organisation, who: &str) {
    let tables = org.sql("postgres", "select string_agg(c.oid::regclass::text, ' ') from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'mf' and c.relkind in ('r', 'p')");
    let tables = tables.expect("the superuser sees all");
    assert!(tables.split(' ').count() > 12, "{tables}");
    let mut refused: Vec<String> = Vec::new();
    for table in tables.split(' ') {
        for sql in [
            format!("select count(*) from {table}"),
            format!("select from {table} limit 1"),
            format!("delete from {table}"),
            format!("insert into {table} default values"),
            format!("truncate {table}"),
            format!("lock table {table} in access share mode"),
            format!("explain select * from {table}"),
            format!("explain analyze select * from {table}"),
            format!("alter table {table} disable row level security"),
            format!("create policy mine on {table} using (true)"),
            format!("copy {table} to stdout"),
            format!(
                "create trigger t after insert on {table} execute function suppress_redundant_updates_trigger()"
            ),
        ] {
            refused.push(sql);
        }
    }
    let internal = [
        "rights('acme')",
        "readable('acme')",
        "seen(1, '{1}')",
        "parts('chunk', '{1}')",
        "written('acme', 1)",
        "random_id()",
    ];
    refused.extend(internal.map(|it| format!("select mf.{it}")));
    refused.extend(
        [
            "set role mf_owner",
            "set session authorization postgres",
            "create table mf.mine (a int)",
            "create function mf.mine() returns int language sql as 'select 1'",
            "create or replace function mf.about(of text) returns table (key text, value text) language sql as 'select 1, 2'",
            "alter function mf.search owner to session_user",
            "grant select on mf.chunk to public",
            // What PostgreSQL counts of rows, and who else logs in.
            "select reltuples from pg_class",
            "select relpages from pg_class",
            "select * from pg_stat_user_tables",
            "select * from pg_stat_activity",
            "select * from pg_statio_user_tables",
            "select pg_stat_get_live_tuples('mf.chunk'::regclass)",
            "select pg_relation_size('mf.document'::regclass)",
            "select pg_total_relation_size('mf.document'::regclass)",
            "select pg_database_size(current_database())",
            "select pg_tablespace_size('pg_default')",
            "select * from pg_locks",
            "select * from pg_lock_status()",
            "select pg_blocking_pids(1)",
            "select * from pg_stat_xact_user_tables",
            "select pg_stat_get_xact_tuples_returned('mf.workspace'::regclass)",
            "select * from pg_roles",
            "select * from pg_user",
            "select * from pg_auth_members",
            "select * from pg_statistic",
        ]
        .map(str::to_owned),
    );
    let script = refused.join(";\n") + ";\n";
    let said = org.server.session(&org.login(who), &org.database, &script);
    let errors = said.lines().filter(|it| it.starts_with("ERROR:")).count();
    if errors != refused.len() {
        for sql in &refused {
            let said = org.sql(who, sql);
            assert!(said.is_err(), "{who} may: {sql}: {said:?}");
        }
        panic!("{who}: {errors} of {} were refused: {said}", refused.len());
    }
    // Names of tenants and teams are in no catalogue.
    let everywhere = "select coalesce(string_agg(pg_get_expr(relpartbound, oid), ' '), '') || string_agg(relname, ' ')
        || (select coalesce(string_agg(description, ' '), '') from pg_description where classoid = 'pg_class'::regclass and objoid > 16384)
        || (select count(*)::text from pg_stats where schemaname = 'mf') from pg_class";
    let shown = org.sql(who, everywhere).expect("the catalogue is there");
    for name in ["acme", "bolt"] {
        assert!(!shown.contains(name), "{who}: {name}");
    }
    assert!(
        shown.ends_with('0'),
        "statistics of columns are kept from {who}"
    );
}

/// Every function that writes, with every workspace that is not the caller's to
/// change: one answer, the same as for a workspace that does not exist.
fn by_writing(org: &Organisation, members: &Members, who: &'static str) {
    let listed = org.sql("postgres", "select string_agg(w.id || ' ' || t.name || ' ' || g.name, ',') from mf.workspace w join mf.tenant t on t.id = w.tenant join mf.team g on g.id = w.team");
    let listed = listed.expect("the superuser sees all");
    let mut foreign: Vec<i64> = vec![1];
    for line in listed.split(',') {
        let mut parts = line.split(' ');
        let id = parts.next().expect("an id").parse().expect("a number");
        let (tenant, team) = (parts.next().expect("it"), parts.next().expect("it"));
        if !writes(members, who, tenant, team) {
            foreign.push(id);
        }
    }
    let mut script = String::new();
    let mut count = 0;
    for tenant in TENANTS {
        for call in WRITES {
            for id in &foreign {
                let tenant = format!("'{tenant}'");
                let call = call.replace("%T", &tenant).replace("%W", &id.to_string());
                script += &format!("select {call};\n");
                count += 1;
            }
        }
    }
    let said = org.server.session(&org.login(who), &org.database, &script);
    let errors: Vec<&str> = said.lines().filter(|it| it.starts_with("ERROR:")).collect();
    assert_eq!(errors.len(), count, "{who}: {said}");
    let same = |it: &&str| *it == "ERROR:  this workspace is not yours to change";
    assert!(errors.iter().all(same), "{who}: {errors:?}");
}

const WRITES: [&str; 8] = [
    "mf.held(%T, %W)",
    "mf.remove_documents(%T, %W, '{1,2,3}')",
    "mf.add_documents(%T, %W, '{1}', '{knowledge/n.md}', '{h}', '{knowledge}', '{f}', '{t}', '{n}', '{2020-01-01}', '{0}', '{f}', '{x}', '{x}', '{\"{}\"}', '{planted}')",
    "mf.add_passages(%T, %W, '{1}', '{1}', '{0}', '{1}', '{1}', '{1}', '{1}', '{knowledge}', '{f}', '{2020-01-01}', '{h}', '{planted}', '{1}', '{1}', '{1}', '{f}', '{}')",
    "mf.add_terms(%T, %W, '{1}', '{1}', '{planted}')",
    "mf.clear_edges(%T, %W)",
    "mf.add_edges(%T, %W, '{a}', '{b}', '{c}')",
    "mf.end_push(%T, %W, 'c', 'i', 'e', 1)",
];

fn fingerprint(org: &Organisation) -> String {
    org.sql(
        "postgres",
        "select md5(string_agg(x, ',' order by x)) from (select team || name || coalesce(commit_id, '') || generation || pushed_by as x from mf.workspace
         union all select team || path || text from mf.document
         union all select team || text from mf.chunk union all select team || h::text || n::text || workspace::text from mf.term
         union all select team || source || target from mf.edge) as t",
    )
    .expect("the superuser sees all")
}

/// For random data and a random caller: every statement that the caller may
/// issue gives the same result, notices, error texts and pages that were read
/// included, whatever is in rows that they may not see.
fn hidden_rows_change_no_answer(shared: Organisation) {
    stays_the_same(shared, script);
}

/// The same for statements that write, each taken back.
fn hidden_rows_change_no_write(shared: Organisation) {
    stays_the_same(shared, writing);
}

/// Makes a script from numbers of workspaces and of words.
type Script = fn(&mut Dice, &[&str], &[&str]) -> String;

fn stays_the_same(shared: Organisation, script: Script) {
    let version = shared.version;
    drop(shared);
    let Some(org) = Organisation::quiet(version) else {
        return;
    };
    let mut dice = Dice::new();
    let boss = [
        "boss:all",
        "boss:pay",
        "boss:ops",
        "reader:pay:read",
        "writer:pay",
        "publisher:all",
        "ci:ops:push=mine",
    ];
    org.init("acme", &boss).ok();
    org.init("bolt", &["boss:all", "boss:pay", "elsewhere:pay"])
        .ok();
    let nobody = format!("create role {} login", org.login("nobody"));
    org.sql("postgres", &nobody).expect("a login");
    let (group, grouped) = (org.login("group"), org.login("grouped"));
    let make = format!("create role {group}; create role {grouped} login in role {group}");
    org.sql("postgres", &make).expect("a group");
    let admin = org.workspace("postgres", "acme", "admin", "all", "");
    admin
        .run(&[
            "engine", "member", "add", &group, "--group", "--team", "pay",
        ])
        .ok();
    let visible = |tenant: &str, team: &str, name: &str| {
        let ws = org.workspace("boss", tenant, name, team, "");
        for at in 0..4 {
            ws.write(
                &format!("knowledge/v{at}.md"),
                format!(
                    "# Visible {at}\n\nThe heron of {team} has {at} eggs.\n\n## More\n\nA nest.\n"
                ),
            );
        }
        push(&ws);
    };
    for (tenant, team) in [("acme", "all"), ("acme", "pay"), ("bolt", "pay")] {
        visible(tenant, team, &format!("open-{team}"));
    }
    let hidden = org.workspace("boss", "acme", "secret", "ops", "");
    hidden.write(
        "knowledge/s.md",
        "# Plan\n\nThe walrus merger closes in May.\n",
    );
    push(&hidden);
    let strange = org.workspace("boss", "bolt", "strange", "all", "");
    strange.write(
        "knowledge/s.md",
        "# Other\n\nThe walrus of another tenant.\n",
    );
    push(&strange);
    let ids = org
        .sql(
            "postgres",
            "select string_agg(id::text, ',') from mf.workspace",
        )
        .expect("ids");
    let ids: Vec<&str> = ids.split(',').collect();
    let words = org.sql(
        "postgres",
        "select string_agg(distinct h::text, ',') from mf.term",
    );
    let words = words.expect("numbers of words");
    let words: Vec<&str> = words.split(',').collect();
    let callers = ["reader", "writer", "publisher", "ci", "nobody", "grouped"];
    let scripts: Vec<(&str, String)> = callers
        .iter()
        .map(|who| (*who, script(&mut dice, &ids, &words)))
        .collect();
    let answers = || -> Vec<String> {
        let run = |(who, script): &(&str, String)| {
            org.server.session(&org.login(who), &org.database, script)
        };
        scripts.iter().map(run).collect()
    };
    let settle = || {
        org.sql("postgres", "vacuum").expect("it is cleaned");
        org.sql("postgres", "analyze").expect("statistics");
    };
    settle();
    let before = answers();
    assert!(
        before.iter().any(|it| it.contains("knowledge/v0.md")),
        "some see their own: {before:?}"
    );
    assert!(
        !before
            .iter()
            .any(|it| it.contains("walrus") || it.contains("merger"))
    );

    // More, other and longer rows, some of the words that others use; then none.
    for at in 0..10 + dice.roll(40) {
        let dated = dice.one(&["", "---\ndate: 2024-05-01\n---\n"]);
        let mut text = format!("{dated}# Merger {at}\n\n");
        for _ in 0..1 + dice.roll(200) {
            text += dice.one(&[
                "walrus", "heron", "nest", "merger", "May", "eggs", "pay", "zzz",
            ]);
            text += dice.one(&[" ", " ", ". ", "\n\n## More\n\n"]);
        }
        hidden.write(&format!("knowledge/m{at}.md"), text);
    }
    hidden.write("knowledge/s.md", "# Nothing\n\nThe zzz.\n");
    push(&hidden);
    settle();
    let same = |now: Vec<String>, when: &str| {
        for ((who, script), (now, before)) in scripts.iter().zip(now.iter().zip(&before)) {
            if now != before {
                let line = now.lines().zip(before.lines()).position(|(a, b)| a != b);
                let line = line.unwrap_or_default();
                panic!(
                    "{who} {when}: line {line}: {:?} was {:?}\n{script}",
                    now.lines().nth(line),
                    before.lines().nth(line)
                );
            }
        }
    };
    same(answers(), "after more was pushed");
    org.sql("postgres", "update mf.chunk set freqs = (select array_agg(32767::smallint) from unnest(terms)), length = 2147483647, text = '' where workspace in (select id from mf.workspace where name = 'secret');
        update mf.workspace set chunks = 9223372036854775807, terms = 9223372036854775807, embedded = 9223372036854775807 where name in ('secret', 'strange');
        update mf.term set n = 9223372036854775807 where workspace in (select id from mf.workspace where name in ('secret', 'strange'));
        update mf.document set date = null, text = E'\\\\x', path = 'knowledge/v0.md' where path = 'knowledge/s.md'").expect("a superuser may");
    settle();
    same(answers(), "after it was spoiled");
    org.sql(
        "postgres",
        "delete from mf.workspace where name in ('secret', 'strange')",
    )
    .expect("a superuser may");
    settle();
    same(answers(), "after it was gone");
}

/// Statements with hostile and ordinary arguments, under settings that an
/// adversary would try.
fn script(dice: &mut Dice, ids: &[&str], words: &[&str]) -> String {
    const SETTINGS: [&str; 17] = [
        "reset all",
        "set enable_indexscan = off; set enable_bitmapscan = off; set enable_indexonlyscan = off",
        "set enable_indexscan = off; set enable_bitmapscan = off; set enable_indexonlyscan = off; set enable_nestloop = off; set enable_hashjoin = off; set work_mem = '64kB'",
        "set enable_nestloop = off; set enable_mergejoin = off; set work_mem = '64kB'; set hash_mem_multiplier = 1",
        "set random_page_cost = 100000; set seq_page_cost = 0; set cpu_operator_cost = 1000; set geqo_threshold = 2",
        "set enable_seqscan = off",
        "set enable_hashjoin = off; set enable_mergejoin = off",
        "set enable_nestloop = off; set enable_material = off",
        "set jit = on; set jit_above_cost = 0",
        "set enable_partition_pruning = off",
        "set parallel_setup_cost = 0; set parallel_tuple_cost = 0; set min_parallel_table_scan_size = 0; set max_parallel_workers_per_gather = 4",
        "set plan_cache_mode = force_generic_plan",
        "set row_security = off",
        "set client_min_messages = debug1; set debug_print_plan = on; set debug_print_rewritten = on",
        "set search_path = pg_temp, public, mf",
        "set work_mem = '64kB'; set hnsw.ef_search = 1",
        "set statement_timeout = '30s'; set from_collapse_limit = 1; set join_collapse_limit = 1",
    ];
    const NUMBERS: [&str; 8] = [
        "0",
        "1",
        "-1",
        "1e308",
        "'infinity'",
        "'nan'",
        "1e-308",
        "20000",
    ];
    const POOLS: [&str; 5] = ["10", "0", "100000", "1", "-1"];
    let mut all =
        String::from("create temp table document (id int); create temp table chunk (id int);\n");
    for _ in 0..60 {
        let tenant = dice.one(&["'acme'", "'bolt'", "'none'", "''", "null"]);
        let which = match dice.roll(3) {
            0 => "null".to_owned(),
            _ => ids[dice.roll(ids.len())].to_owned(),
        };
        let some: Vec<&str> = (0..1 + dice.roll(4))
            .map(|_| words[dice.roll(words.len())])
            .collect();
        let hs = format!("'{{{}}}'::int[]", some.join(","));
        let groups: Vec<String> = (0..some.len()).map(|it| it.to_string()).collect();
        let gs = format!("'{{{}}}'::int[]", groups.join(","));
        let ws: Vec<&str> = some
            .iter()
            .map(|_| dice.one(&["1", "0", "-1", "1e38", "\"infinity\"", "\"nan\"", "1e-38"]))
            .collect();
        let ws = format!("'{{{}}}'::real[]", ws.join(","));
        let query = match dice.roll(3) {
            0 => "null".to_owned(),
            1 => "'{1,2}'::real[]".to_owned(),
            _ => "(select array_agg(0.05::real) from generate_series(1, 384))".to_owned(),
        };
        let call = match dice.roll(9) {
            0 => format!(
                "mf.literal({tenant}, {which}, '{}', null, null, null, 50)",
                dice.one(&["walrus", "heron", "", "%", "merger closes"])
            ),
            1 => format!("mf.pull({tenant}, {which})"),
            2 => format!(
                "mf.beginning({tenant}, '{}', '{}', {})",
                dice.one(&["", "w", "m", "her", "walrus", "merg", "walr"]),
                dice.one(&["zzzz", "x", "mf", "walrut", "merh", "wals"]),
                dice.one(&["200", "-1", "2147483647"])
            ),
            3 => format!(
                "mf.passages({tenant}, '{{{}}}'::bigint[], (select array_agg(n) from generate_series(1, 60) as n), null) as p",
                vec![which.replace("null", ids[0]); 60].join(",")
            ),
            4 => format!(
                "mf.passages({tenant}, '{{{}}}'::bigint[], null, '{{knowledge/s.md,knowledge/v0.md}}'::text[]) as p",
                [ids.join(","), ids.join(",")]
                    .join(",")
                    .split(',')
                    .take(2)
                    .collect::<Vec<_>>()
                    .join(",")
            ),
            5 => format!(
                "{}({tenant}, {which})",
                dice.one(&["mf.overview", "mf.held"])
            ),
            7 => format!(
                "mf.undated({tenant}, {which}, {}, {})",
                dice.one(&["null", "'{knowledge}'"]),
                dice.one(&["null", "'{f}'"])
            ),
            6 => format!(
                "mf.workspaces({tenant}, {})",
                dice.one(&[
                    "null",
                    "'secret'",
                    "'ops/secret'",
                    "'open-pay'",
                    "'strange'"
                ])
            ),
            _ => format!(
                "mf.search({tenant}, {which}, {hs}, {gs}, {ws}, {}::float8, {}, null, null, {}, {query}, {}, {}, {})",
                dice.one(&NUMBERS),
                dice.one(&POOLS),
                dice.one(&["null", "'2020-01-01'", "''"]),
                dice.one(&POOLS),
                dice.one(&["true", "false"]),
                dice.one(&["0", "20000"])
            ),
        };
        let settings = dice.one(&SETTINGS);
        all += &format!("{settings};\nselect * from {call};\n");
        if dice.roll(2) == 0 {
            // The catalogue is in the session's caches by then.
            all += &format!(
                "\\o /dev/null\nselect * from {call};\n\\o\nexplain (analyze, buffers, costs off, timing off, summary off) select * from {call};\n"
            );
        }
        all += "reset all;\n";
    }
    for id in ids {
        for call in ["mf.pull", "mf.held", "mf.overview"] {
            all += &format!("select * from {call}('acme', {id});\n");
        }
    }
    for sql in [
        "select * from mf.about('acme')",
        "select * from mf.about('bolt')",
        "select count(*) from mf.chunk",
        "explain analyze select * from mf.term",
        "select * from pg_stats where schemaname = 'mf'",
        "select reltuples from pg_class where relname = 'document'",
        "select pg_relation_size('mf.document')",
        "begin; select * from mf.begin_push('acme', 'ops', 'secret', ''); rollback",
        "begin; select * from mf.begin_push('acme', 'ops', 'mine2', ''); rollback",
        "begin; select generation, commit_id from mf.begin_push('acme', 'pay', 'secret', ''); rollback",
        "begin; select generation, commit_id from mf.begin_push('acme', 'all', 'secret', ''); rollback",
        "select * from mf.begin_push('bolt', 'all', 'strange', '')",
    ] {
        all += &format!("{sql};\nrollback;\n");
    }
    all
}

/// Statements that write, with arguments of every kind, as the caller or as
/// whoever pushes half of something; each is taken back.
fn writing(dice: &mut Dice, ids: &[&str], words: &[&str]) -> String {
    let mut all = String::new();
    for _ in 0..60 {
        let tenant = dice.one(&["'acme'", "'acme'", "'bolt'", "'none'", "null"]);
        let id = ids[dice.roll(ids.len())];
        let h = words[dice.roll(words.len())];
        let number = dice.one(&["1", "2", "3", "0", "-1", "2147483647", "null"]);
        let path = dice.one(&["knowledge/v0.md", "knowledge/s.md", "new.md"]);
        let name = dice.one(&[
            "'secret'",
            "'strange'",
            "'open-pay'",
            "'mine'",
            "'a/b'",
            "null",
        ]);
        let team = dice.one(&["'ops'", "'pay'", "'all'", "'none'", "null"]);
        let origin = dice.one(&["''", "'x'", "null"]);
        let call = match dice.roll(9) {
            0 => format!(
                "generation, commit_id, identity from mf.begin_push({tenant}, {team}, {name}, {origin})"
            ),
            1 => format!("mf.remove_documents({tenant}, {id}, '{{{number},1}}')"),
            2 => format!(
                "mf.add_documents({tenant}, {id}, '{{{number}}}', '{{{path}}}', '{{h}}', '{{knowledge}}', '{{f}}', '{{t}}', '{{n}}', '{{null}}', '{{0}}', '{{f}}', '{{null}}', '{{null}}', '{{\"{{}}\"}}', '{{x}}')"
            ),
            3 => format!(
                "mf.add_passages({tenant}, {id}, '{{{number}}}', '{{{number}}}', '{{0}}', '{{1}}', '{{1}}', '{{1}}', '{{{number}}}', '{{knowledge}}', '{{f}}', '{{null}}', '{{h}}', '{{x}}', '{{1}}', '{{{h}}}', '{{{}}}', '{{f}}', '{{}}')",
                dice.one(&["1", "0", "-1", "null"])
            ),
            4 => format!("mf.add_terms({tenant}, {id}, '{{{h}}}', '{{{number}}}', '{{planted}}')"),
            5 => format!("mf.clear_edges({tenant}, {id})"),
            6 => format!("mf.add_edges({tenant}, {id}, '{{a}}', '{{b}}', '{{c}}')"),
            7 => format!("mf.end_push({tenant}, {id}, 'c', {origin}, 'e', {number})"),
            _ => format!("mf.drop_workspace({tenant}, {id})"),
        };
        let settings = dice.one(&REVEALING);
        all += &format!(
            "begin;\n{settings};\nselect {call};\nselect * from mf.held({tenant}, {id});\nrollback;\nbegin;\nselect {call};\nselect name, team, generation, documents, chunks, embedded from mf.workspaces({tenant}, null);\nselect term from mf.beginning({tenant}, '', 'zzzz', 1000);\nselect side, id, score, extra from mf.search({tenant}, null, '{{{h}}}', '{{0}}', '{{1}}', 20000, 50, null, null, null, null, 0, true, 0);\nrollback;\nreset all;\n"
        );
    }
    all
}

/// Planner settings that make a scan of hidden rows show itself.
const REVEALING: [&str; 4] = [
    "reset all",
    "set enable_indexscan = off; set enable_bitmapscan = off; set enable_indexonlyscan = off; set enable_nestloop = off; set enable_hashjoin = off; set work_mem = '64kB'",
    "set enable_indexscan = off; set enable_bitmapscan = off; set enable_indexonlyscan = off; set enable_nestloop = off; set enable_mergejoin = off; set work_mem = '64kB'",
    "set enable_partition_pruning = off; set random_page_cost = 100000; set cpu_operator_cost = 100; set enable_sort = off; set enable_hashagg = off",
];

/// Pages, temporary files and rows that statements touch, once everything that
/// they need is in the caches of their session.
fn measured(org: &Organisation, who: &str, calls: &[String]) -> Vec<String> {
    let mut script = String::new();
    for settings in REVEALING {
        for call in calls {
            script += &format!(
                "{settings};\n\\o /dev/null\nselect * from {call};\nselect * from {call};\n\\o\n\\echo == {call}\nexplain (analyze, buffers, costs off, timing off, summary off) select * from {call};\nreset all;\n"
            );
        }
    }
    let said = org.server.session(&org.login(who), &org.database, &script);
    assert!(said.contains("Buffers"), "{said}");
    let said = said.split("\n---\n").next().unwrap_or_default();
    said.split("== ").map(|it| it.trim().to_owned()).collect()
}

/// Rows of another team, another tenant, and more tenants and members, as many
/// as an organisation has.
const CROWD: &str = "
    insert into mf.workspace (tenant, team, name, chunks, documents, terms, embedded)
    select g.tenant, g.id, 'bulk', 2000, 2000, 6000, 2000 from mf.team g where g.name = 'ops';
    insert into mf.document (tenant, team, workspace, id, path, hash, scope, skill, title, names, date,
        importance, deprecated, fields, text)
    select w.tenant, w.team, w.id, n, 'knowledge/' || n || '.md', 'h', 'knowledge', false, 'T', 'n', null,
        5, false, '{}', 'The walrus ' || n
    from mf.workspace w, generate_series(1, 2000) as n where w.name = 'bulk';
    insert into mf.chunk (tenant, team, workspace, id, doc, ordinal, first_line, last_line, tokens, length,
        scope, skill, date, headings, text, terms, freqs, vec)
    select w.tenant, w.team, w.id, 2000 + n, n, 0, 1, 3, 3, 3, 'knowledge', false, null, '',
        'The walrus ' || n, array[n, 10000 + n % 10, 20000], '{1,1,1}',
        (select array_agg(sin(n * i)::real) from generate_series(1, 384) as i)::public.halfvec
    from mf.workspace w, generate_series(1, 2000) as n where w.name = 'bulk';
    insert into mf.term (tenant, team, workspace, h, n, term)
    select w.tenant, w.team, w.id, n, 1, 'walrus' || n
    from mf.workspace w, generate_series(1, 20000) as n where w.name = 'bulk';
    insert into mf.tenant (name) select 'other' || n from generate_series(1, 20) as n";

/// A small team's question costs the same however much others have: not a page
/// and not a temporary file more, under any planner setting.
fn hidden_rows_cost_nothing(shared: Organisation) {
    let version = shared.version;
    drop(shared);
    let Some(org) = Organisation::quiet(version) else {
        return;
    };
    org.init("acme", &["ann:pay", "reader:pay:read", "eve:ops"])
        .ok();
    org.init("bolt", &["eve:ops"]).ok();
    let ann = org.workspace("ann", "acme", "open", "pay", "");
    for at in 0..5 {
        let text = format!("# Visible {at}\n\nThe heron has {at} eggs.\n");
        ann.write(&format!("knowledge/v{at}.md"), text);
    }
    push(&ann);
    let id = org.count("select id from mf.workspace");
    let vector = "(select array_agg(0.05::real) from generate_series(1, 384))";
    let words = org.sql("postgres", "select string_agg(h::text, ',') from mf.term");
    let words = words.expect("numbers of words");
    let count = words.split(',').count();
    let calls: Vec<String> = ["acme", "bolt", "nope"]
        .iter()
        .flat_map(|tenant| {
            [
                format!("mf.beginning('{tenant}', 'w', 'x', 200)"),
                format!("mf.beginning('{tenant}', 'walrus1', 'walrus2', 200)"),
                format!("mf.beginning('{tenant}', 'h', 'i', 200)"),
                format!("mf.undated('{tenant}', null, null, null)"),
                format!("mf.undated('{tenant}', {id}, null, null)"),
                format!("mf.pull('{tenant}', {id})"),
                format!("mf.workspaces('{tenant}', null)"),
                format!("mf.workspaces('{tenant}', 'bulk')"),
                format!("mf.overview('{tenant}', null)"),
                format!("mf.about('{tenant}')"),
                format!("mf.literal('{tenant}', null, 'walrus', null, null, null, 50)"),
                format!("mf.passages('{tenant}', '{{{id},{id}}}', '{{2,4}}', null) as p"),
                format!("mf.passages('{tenant}', '{{{id}}}', null, '{{knowledge/v0.md}}') as p"),
                format!(
                    "mf.search('{tenant}', null, '{{{words}}}', array(select generate_series(1, {count})), array_fill(1::real, array[{count}]), 20000, 50, null, null, null, {vector}, 50, true, 20000)"
                ),
                format!(
                    "mf.search('{tenant}', null, '{{20000,10001}}', '{{0,1}}', '{{1,1}}', 20000, 50, null, null, null, {vector}, 50, true, 0)"
                ),
            ]
        })
        .collect();
    let settle = || {
        org.sql("postgres", "vacuum").expect("it is cleaned");
        org.sql("postgres", "analyze").expect("statistics");
        org.sql("postgres", "checkpoint").expect("it is written");
    };
    settle();
    let before = measured(&org, "reader", &calls);
    // A tenant that is not the caller's is like one that does not exist.
    let unlike = |of: &Vec<String>| -> Vec<(String, String)> {
        let named = |tenant: &str| -> Vec<String> {
            of.iter()
                .filter(|it| it.contains(tenant))
                .map(|it| it.replace(tenant, "(T"))
                .collect()
        };
        assert_eq!(named("(bolt").len(), named("(nope").len());
        assert!(!named("(bolt").is_empty());
        let pairs = named("(bolt").into_iter().zip(named("(nope"));
        pairs.filter(|(a, b)| a != b).collect()
    };
    assert_eq!(unlike(&before), []);
    org.sql("postgres", CROWD).expect("a crowd");
    settle();
    let after = measured(&org, "reader", &calls);
    for (now, before) in after.iter().zip(&before) {
        assert_eq!(now, before);
    }
    assert_eq!(unlike(&after), []);
}

on_both!(
    hidden_rows_cost_nothing,
    nothing_passes_between_tenants_and_teams,
    hidden_rows_change_no_answer,
    hidden_rows_change_no_write,
);
