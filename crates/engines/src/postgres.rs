//! The index that many workspaces share, on PostgreSQL with pgvector: a
//! projection of Markdown that can be dropped and pushed again.
//!
//! Whoever calls it sees plain functions; the async runtime stays inside. It
//! never reads the environment and never writes a file.

use std::fmt;

use tokio::runtime::{Builder, Runtime};
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;

mod admin;
mod check;
mod connect;
mod passfile;
mod pull;
mod push;
mod schema;
mod search;

pub use admin::{Access, EVERYONE, Listed, Member, Removed, Tenant};
pub use check::{Finding, Severity};
pub use connect::{Environment, Target};
pub use pull::Pulled;
pub use push::{Push, Pushed, Unread};
pub use schema::{Initialised, Upgraded};
pub use search::{Search, Within};

/// What went wrong, and what can be done about it.
#[derive(Debug)]
pub struct Error {
    what: String,
    hint: Option<String>,
    /// Whether the request was wrong, rather than the server.
    pub usage: bool,
}

impl Error {
    fn usage(what: impl Into<String>, hint: impl Into<String>) -> Error {
        Error {
            what: what.into(),
            hint: Some(hint.into()),
            usage: true,
        }
    }

    fn failure(what: impl Into<String>, hint: impl Into<String>) -> Error {
        Error {
            usage: false,
            ..Error::usage(what, hint)
        }
    }

    /// `unused` is why the user's file of passwords was not used.
    fn connect(shown: &str, error: tokio_postgres::Error, unused: Option<&str>) -> Error {
        let mut told = message(&error);
        let has_none = told.contains("password missing");
        if has_none {
            told = "it asks for a password, and there is none".to_owned();
        }
        let what = format!("Cannot connect to `{shown}`: {told}");
        let hint = if has_none || error.code() == Some(&SqlState::INVALID_PASSWORD) {
            let ways =
                "Give the password as `PGPASSWORD`, in `MEMORY_FORGE_ENGINE_URL` or in `~/.pgpass`";
            match unused {
                Some(why) => format!("{why}. {ways}"),
                None => ways.to_owned(),
            }
        } else if error.code() == Some(&SqlState::INVALID_AUTHORIZATION_SPECIFICATION) {
            "Whoever runs the server decides in its pg_hba.conf who may connect, from where, and whether without TLS".to_owned()
        } else if told.contains("certificate") {
            "`sslrootcert` or `PGSSLROOTCERT` names the PEM file of the authority that signed the server's certificate; the name in the address must be the certificate's".to_owned()
        } else {
            "Is the server running, and may this machine reach it?".to_owned()
        };
        Error::failure(what, hint)
    }

    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Error {}

impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Error {
        let code = error.code();
        let hint = if error.is_closed() {
            Some(
                "The connection was lost; what was not finished is as if it had not begun. Run it again",
            )
        } else if code == Some(&SqlState::INSUFFICIENT_PRIVILEGE) {
            Some(
                "Ask whoever administers the shared index for `memory-forge engine member add` with your login and team",
            )
        } else if code == Some(&SqlState::UNDEFINED_TABLE)
            || code == Some(&SqlState::INVALID_SCHEMA_NAME)
        {
            Some("`memory-forge engine init` prepares the server, once")
        } else if code == Some(&SqlState::READ_ONLY_SQL_TRANSACTION) {
            Some("This server is a replica: push to the primary")
        } else {
            None
        };
        Error {
            what: format!("The shared index answered: {}", message(&error)),
            hint: hint.map(str::to_owned),
            usage: false,
        }
    }
}

/// What the server said, or why nothing was heard of it.
fn message(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(said) => said.message().to_owned(),
        None => match std::error::Error::source(error) {
            Some(why) => format!("{error}: {why}"),
            None => error.to_string(),
        },
    }
}

/// A connection, in the name of one tenant.
pub struct Engine {
    runtime: Runtime,
    client: Client,
    tenant: String,
    pub shown: String,
}

/// A workspace as the shared index knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shared {
    pub name: String,
    pub team: String,
    pub generation: i64,
    pub commit: Option<String>,
    /// RFC 3339, by the server's clock.
    pub pushed_at: String,
    pub pushed_by: String,
    pub documents: u64,
    pub chunks: u64,
    pub embedded: u64,
}

/// How the server stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    pub server: String,
    pub login: String,
    pub replica: bool,
    pub schema: u32,
    pub model: String,
    pub teams: Vec<String>,
    pub workspaces: Vec<Shared>,
}

impl Engine {
    pub fn open(target: &Target, tenant: &str) -> Result<Engine, Error> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime
            .map_err(|error| Error::failure(format!("Cannot start: {error}"), "Try it again"))?;
        let client = runtime.block_on(target.connect())?;
        Ok(Engine {
            runtime,
            client,
            tenant: tenant.to_owned(),
            shown: target.shown.clone(),
        })
    }

    /// Begins a transaction. Names in it are the server's own: whoever may create
    /// something in `public` cannot put an operator or a function in its way.
    async fn begin(&self, how: &str) -> Result<(), Error> {
        let begin = format!("begin {how}; set local search_path = pg_catalog, pg_temp");
        Ok(self.client.batch_execute(&begin).await?)
    }

    async fn end(&self, how: &str) -> Result<(), Error> {
        Ok(self.client.batch_execute(how).await?)
    }

    /// Runs something in a transaction of its own.
    fn within<T>(
        &self,
        how: &str,
        work: impl AsyncFnOnce(&Client) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.runtime.block_on(async {
            self.begin(how).await?;
            match work(&self.client).await {
                Ok(done) => {
                    self.end("commit").await?;
                    Ok(done)
                }
                Err(error) => {
                    // The first error is the one to tell.
                    let _ = self.end("rollback").await;
                    Err(error)
                }
            }
        })
    }

    /// What is there, as far as the caller may see it.
    pub fn status(&self) -> Result<Status, Error> {
        self.within(READ, async |client| {
            let known = schema::check(client, &self.tenant, schema::Purpose::Read).await?;
            let sql = "select current_setting('server_version'), session_user::text, pg_is_in_recovery()";
            let about = client.query_typed(sql, &[]).await?;
            let row = about.first().ok_or_else(|| {
                Error::failure("The server answers nothing", "Run it again")
            })?;
            let rows = client
                .query_typed(
                    "select name, team, generation, commit_id, pushed_at, pushed_by, documents, chunks,
                     embedded from mf.workspaces($1, null)",
                    &[(&self.tenant, Type::TEXT)],
                )
                .await?;
            let workspaces = rows.iter().map(|row| Shared {
                name: row.get(0),
                team: row.get(1),
                generation: row.get(2),
                commit: row.get(3),
                pushed_at: row.get(4),
                pushed_by: row.get(5),
                documents: row.get::<_, i64>(6) as u64,
                chunks: row.get::<_, i64>(7) as u64,
                embedded: row.get::<_, i64>(8) as u64,
            });
            Ok(Status {
                server: row.get(0),
                login: row.get(1),
                replica: row.get(2),
                schema: known.version,
                model: known.model,
                teams: known.teams,
                workspaces: workspaces.collect(),
            })
        })
    }
}

/// One state of the index, whoever writes meanwhile.
const READ: &str = "isolation level repeatable read read only";
