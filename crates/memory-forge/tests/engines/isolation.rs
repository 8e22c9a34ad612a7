//! Whoever asks sees the rows of their own teams, whatever they ask with.

use std::collections::BTreeSet;

use testkit::TestWorkspace;

use crate::organisation::{Organisation, found, json};

const TENANTS: [&str; 2] = ["acme", "bolt"];
const TEAMS: [&str; 3] = ["all", "pay", "ops"];
const PEOPLE: [&str; 5] = ["p0", "p1", "p2", "p3", "p4"];

/// A small generator, so that a failure can be had again: the seed is told.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % sides
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

fn writes(members: &Members, who: &str, tenant: &str, team: &str) -> bool {
    let of = |it: &&(&str, &str, &str, bool)| it.0 == who && it.1 == tenant && it.3;
    members
        .iter()
        .filter(of)
        .any(|it| team == "all" || it.2 == team)
}

fn nothing_passes_between_tenants_and_teams(org: Organisation) {
    let seed = match std::env::var("PROPTEST_RNG_SEED") {
        Ok(seed) => seed.parse().unwrap_or(1),
        Err(_) => u64::from(std::process::id()),
    };
    let mut dice = Dice(seed);
    println!("seed {seed}");
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
    // A login without any membership, and one that was never granted a role.
    for who in ["nobody", "p0", "p1", "p2", "p3", "p4"] {
        let login = org.login(who);
        let _ = org.sql("postgres", None, &format!("create role {login} login"));
        let _ = org.sql("postgres", None, &format!("grant mf_writer to {login}"));
    }
    for tenant in TENANTS {
        for team in TEAMS {
            let files = format!(
                "//- knowledge/n.md\n---\npeople: [{tenant}{team}]\n---\n# Note of {tenant} {team}\n\nThe walrus of {tenant} and {team}.\n"
            );
            let name = format!("{tenant}-{team}");
            let ws = org.workspace("boss", tenant, &name, team, &files);
            json(&ws.run(&["engine", "push", "--json"]));
        }
    }
    let state = fingerprint(&org);
    let everyone: Vec<&str> = PEOPLE.iter().copied().chain(["nobody"]).collect();
    for who in everyone {
        for tenant in TENANTS {
            by_commands(&org, &members, who, tenant);
            by_sql(&org, &members, who, tenant, &mut dice);
        }
        let none = org.sql(who, None, "select count(*) from mf.chunk");
        assert_eq!(none.as_deref(), Ok("0"), "{who} without a tenant");
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
            // Takes nothing over, and drops nothing, that is another team's.
            if !writes(members, who, other, team) {
                let thief =
                    org.workspace(who, other, &name, team, "//- knowledge/n.md\n# Stolen\n");
                thief.run(&["engine", "push", "--force"]).fails(2);
                let dropped = thief.run(&["engine", "drop", "--yes"]);
                assert!(
                    !dropped.stdout.contains("Took"),
                    "{who} drops {name}: {dropped}"
                );
            }
        }
    }
}

fn by_sql(org: &Organisation, members: &Members, who: &str, tenant: &str, dice: &mut Dice) {
    let visible: Vec<&str> = TEAMS
        .iter()
        .copied()
        .filter(|team| sees(members, who, tenant, team))
        .collect();
    let expect = visible.len().to_string();
    for sql in [
        "select count(*) from mf.workspace",
        "select count(*) from mf.document",
        "select count(*) from mf.chunk",
        "select count(distinct (tenant, team)) from mf.chunk where text like '%walrus%'",
        "select count(*) from mf.chunk where id in (select id from mf.ranked)
         or not exists (select 1 from mf.meta where key = 'bm25' and value = 'yes')",
        "select count(distinct team) from mf.term",
        "select count(distinct team) from mf.edge",
        "select count(*) from (select id from mf.chunk order by vec <#> (select vec from mf.chunk limit 1) limit 100) as x",
        "select count(*) from mf.chunk where tenant in ('acme', 'bolt')",
    ] {
        assert_eq!(
            org.sql(who, Some(tenant), sql).as_deref(),
            Ok(expect.as_str()),
            "{who} in {tenant}: {sql}"
        );
    }
    // The one function that looks past the policies, asked for everything.
    let all = "select count(*) from mf.scored((select array_agg(n) from generate_series(0, 0) as n),
        (select array_agg(n::bigint) from generate_series(1, 3000) as n), (select array_agg(h) from (select unnest(terms) as h from mf.chunk) as x),
        (select array_agg(1.0::float8) from (select unnest(terms) as h from mf.chunk) as x), 1, null, null, null, null, 1000)";
    assert_eq!(
        org.sql(who, Some(tenant), all).as_deref(),
        Ok(expect.as_str()),
        "{who} in {tenant}: scored"
    );
    let other = TENANTS[usize::from(tenant == TENANTS[0])];
    let team = TEAMS[dice.roll(3)];
    let mut refused = vec![
        // Rows for another tenant than the transaction's.
        format!("insert into mf.workspace (tenant, team, name) values ('{other}', '{team}', 'x')"),
        format!("insert into mf.edge values ('{other}', 'all', 1, 'a', 'b', 'c')"),
        "select * from mf.member".to_owned(),
        "select * from mf.tenant".to_owned(),
        "insert into mf.member values ('acme', 'pay', session_user, true)".to_owned(),
        "update mf.meta set value = '7'".to_owned(),
        "alter table mf.chunk disable row level security".to_owned(),
        "alter table mf.chunk no force row level security".to_owned(),
        "drop policy reads on mf.chunk".to_owned(),
        "create policy mine on mf.chunk using (true)".to_owned(),
        "set role mf_owner; select count(*) from mf.chunk".to_owned(),
        "set role mf_seeker; select count(*) from mf.chunk".to_owned(),
        "set session authorization postgres".to_owned(),
        "create or replace function mf.teams() returns setof text language sql as 'select ''pay'''"
            .to_owned(),
        "truncate mf.chunk".to_owned(),
        "truncate mf.ranked".to_owned(),
        "drop policy reads on mf.ranked".to_owned(),
        "copy mf.chunk to program 'cat'".to_owned(),
        "set row_security = off; select count(*) from mf.chunk".to_owned(),
    ];
    let partitions = org.sql("postgres", None, "select string_agg(inhrelid::regclass::text, ' ') from pg_inherits where inhparent in ('mf.chunk'::regclass, 'mf.ranked'::regclass, 'mf.document'::regclass, 'mf.term'::regclass, 'mf.edge'::regclass)");
    for partition in partitions.expect("partitions").split(' ') {
        refused.push(format!("select count(*) from {partition}"));
        refused.push(format!("delete from {partition}"));
    }
    for team in TEAMS
        .iter()
        .filter(|team| !writes(members, who, tenant, team))
    {
        refused.push(format!(
            "insert into mf.workspace (tenant, team, name) values ('{tenant}', '{team}', 'x')"
        ));
    }
    for sql in &refused {
        let told = org.sql(who, Some(tenant), sql);
        assert!(told.is_err(), "{who} in {tenant} may: {sql}: {told:?}");
    }
    // What is not seen is not changed: none of these finds a row.
    for team in TEAMS
        .iter()
        .filter(|team| !writes(members, who, tenant, team))
    {
        for sql in [
            format!(
                "with x as (delete from mf.chunk where team = '{team}' returning 1) select count(*) from x"
            ),
            format!(
                "with x as (update mf.document set text = 'x' where team = '{team}' returning 1) select count(*) from x"
            ),
            format!(
                "with x as (update mf.workspace set commit_id = 'x' where team = '{team}' returning 1) select count(*) from x"
            ),
        ] {
            assert_eq!(
                org.sql(who, Some(tenant), &sql).as_deref(),
                Ok("0"),
                "{who} in {tenant}: {sql}"
            );
        }
    }
    // Giving one's own rows away is refused as well.
    for team in TEAMS
        .iter()
        .filter(|team| writes(members, who, tenant, team))
    {
        let sql = format!("update mf.workspace set tenant = '{other}' where team = '{team}'");
        let told = org.sql(who, Some(tenant), &sql);
        assert!(told.is_err(), "{who} in {tenant}: {sql}: {told:?}");
    }
}

fn fingerprint(org: &Organisation) -> String {
    org.sql(
        "postgres",
        None,
        "select md5(string_agg(x, ',' order by x)) from (select tenant || team || name || coalesce(commit_id, '') as x from mf.workspace
         union all select tenant || team || path || text from mf.document
         union all select tenant || team || text from mf.chunk union all select tenant || team || words from mf.ranked
         union all select tenant || team || source || target from mf.edge) as t",
    )
    .expect("the superuser sees all")
}

on_both!(nothing_passes_between_tenants_and_teams);
