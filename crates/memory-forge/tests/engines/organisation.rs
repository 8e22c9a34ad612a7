//! A database of its own on a shared server, and workspaces that push to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use testkit::postgres::{Postgres, Version, shared};
use testkit::{Output, TestWorkspace};

pub(crate) struct Organisation {
    pub(crate) server: Arc<Postgres>,
    pub(crate) version: Version,
    pub(crate) database: String,
}

static NEXT: AtomicUsize = AtomicUsize::new(0);

impl Organisation {
    pub(crate) fn on(version: Version) -> Option<Organisation> {
        let server = shared(env!("CARGO_TARGET_TMPDIR"), version)?;
        Some(Organisation::at(server, version))
    }

    /// A server that no other test uses.
    pub(crate) fn alone(version: Version) -> Option<Organisation> {
        let server = Postgres::start(env!("CARGO_TARGET_TMPDIR"), version)?;
        Some(Organisation::at(Arc::new(server), version))
    }

    /// A server that no other test uses and that does nothing unasked, so that
    /// what a statement reads can be counted.
    pub(crate) fn quiet(version: Version) -> Option<Organisation> {
        let settings = "-c autovacuum=off";
        let server = Postgres::start_with(env!("CARGO_TARGET_TMPDIR"), version, settings)?;
        Some(Organisation::at(Arc::new(server), version))
    }

    fn at(server: Arc<Postgres>, version: Version) -> Organisation {
        let database = format!("t{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let made = server.sql(
            "postgres",
            "postgres",
            &format!("create database {database}"),
        );
        made.expect("a database can be made");
        Organisation {
            server,
            version,
            database,
        }
    }

    /// Logins are the whole server's, so each test has its own.
    pub(crate) fn login(&self, name: &str) -> String {
        format!("{name}_{}", self.database)
    }

    pub(crate) fn url(&self, name: &str) -> String {
        let login = match name {
            "postgres" => name.to_owned(),
            name => self.login(name),
        };
        self.server.url(&login, &self.database)
    }

    /// Prepares the server; members are `name`, which pushes for `all`,
    /// `name:team`, `name:team:read`.
    pub(crate) fn init(&self, tenant: &str, members: &[&str]) -> Output {
        let ws = self.workspace("postgres", tenant, "admin", "all", "");
        let mut arguments = vec!["engine".to_owned(), "init".to_owned()];
        for member in members {
            let (name, rest) = member.split_at(member.find(':').unwrap_or(member.len()));
            let rest = if rest.is_empty() { ":all" } else { rest };
            arguments.push("--member".to_owned());
            arguments.push(format!("{}{rest}", self.login(name)));
        }
        ws.run(&arguments)
    }

    /// A workspace of somebody, for a tenant and a team. A search waits long,
    /// because tests share a busy machine.
    pub(crate) fn workspace(
        &self,
        who: &str,
        tenant: &str,
        name: &str,
        team: &str,
        files: &str,
    ) -> TestWorkspace {
        let ws = TestWorkspace::files(files)
            .binary(testkit::worker::beside(env!("CARGO_BIN_EXE_memory-forge")));
        let url = self.url(who);
        ws.write(
            "memory-forge.toml",
            format!(
                "[engine]\nurl = \"{url}\"\ntenant = \"{tenant}\"\nteam = \"{team}\"\nworkspace = \"{name}\"\ntimeout_ms = 30000\n"
            ),
        );
        ws
    }

    /// Runs SQL as somebody.
    pub(crate) fn sql(&self, who: &str, sql: &str) -> Result<String, String> {
        let login = match who {
            "postgres" => who.to_owned(),
            who => self.login(who),
        };
        self.server.sql(&login, &self.database, sql)
    }

    /// A number that the superuser sees, above all rights.
    pub(crate) fn count(&self, sql: &str) -> i64 {
        let told = self.sql("postgres", sql).expect(sql);
        told.parse().unwrap_or_else(|_| panic!("{sql}: {told}"))
    }
}

#[track_caller]
pub(crate) fn json(output: &Output) -> Value {
    serde_json::from_str(output.ok()).unwrap_or_else(|error| panic!("{error}: {output}"))
}

#[track_caller]
pub(crate) fn push(ws: &TestWorkspace) -> Value {
    json(&ws.run(&["engine", "push", "--json"]))
}

/// Paths that a search of the organisation finds, best first.
#[track_caller]
pub(crate) fn found(ws: &TestWorkspace, question: &str, flags: &[&str]) -> Vec<String> {
    let mut arguments = vec!["engine", "search", "--json"];
    arguments.extend(flags);
    arguments.extend(["--", question]);
    paths(&answer(&ws.run(&arguments)))
}

/// The answer of a search, which ends with 1 where it finds nothing.
#[track_caller]
pub(crate) fn answer(output: &Output) -> Value {
    let answer: Value =
        serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output}"));
    let code = i32::from(paths(&answer).is_empty());
    assert_eq!(output.status, Some(code), "{output}");
    answer
}

pub(crate) fn paths(answer: &Value) -> Vec<String> {
    let results = answer["results"].as_array().expect("results are a list");
    let path = |result: &Value| result["path"].as_str().map(str::to_owned);
    results.iter().filter_map(path).collect()
}
