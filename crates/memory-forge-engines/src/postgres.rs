//! Maintains the index that many workspaces share, on PostgreSQL with pgvector:
//! a projection of Markdown that can be dropped and pushed again.
//!
//! Callers see synchronous functions; the async runtime stays inside. It never
//! reads the environment and never writes a file.

use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use forge_memory::wire::{SharedIndexStatus, SharedWorkspace};
use forge_text::diagnostic::Diagnostic;
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
mod wait;

pub use admin::parse_member;
pub use connect::{ServerEnvironment, ServerTarget};
pub use pull::WorkspaceSnapshot;
pub use push::{DocumentReadError, IndexPush};
pub use search::{SharedSearch, WorkspaceSelection};
pub use wait::WaitPolicy;

use wait::{format_duration, run_timed};

/// An error of the shared index, with advice.
#[derive(Debug)]
pub struct PostgresError {
    what: String,
    hint: Option<String>,
    /// Whether the caller's request is at fault, rather than the server.
    pub usage: bool,
    cause: ErrorCause,
}

/// Cause of an error, for callers that act on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ErrorCause {
    Other,
    /// The server did not answer in time. The state of the connection is
    /// unknown, so it cannot be used any more.
    Silent,
    /// The server has no free connection, or is starting.
    NoConnection,
    /// Another transaction holds a lock.
    Locked,
    /// The login lacks the right.
    NotAllowed,
}

impl PostgresError {
    /// Returns an error of the caller's request.
    fn usage(what: impl Into<String>, hint: impl Into<String>) -> PostgresError {
        PostgresError {
            what: what.into(),
            hint: Some(hint.into()),
            usage: true,
            cause: ErrorCause::Other,
        }
    }

    /// Returns an error of the server or of the index.
    fn failure(what: impl Into<String>, hint: impl Into<String>) -> PostgresError {
        PostgresError {
            usage: false,
            ..PostgresError::usage(what, hint)
        }
    }

    /// Returns the error of a server that did not answer in time.
    fn no_answer(shown: &str, waited: Duration) -> PostgresError {
        PostgresError {
            cause: ErrorCause::Silent,
            ..PostgresError::failure(
                format!("`{shown}` did not answer in {}", format_duration(waited)),
                "The server may be overloaded, frozen or out of reach; `engine.timeout_ms` sets how long a search waits",
            )
        }
    }

    /// Returns the error of a failed connection. `unused` is why the user's
    /// password file was not used.
    fn connect_failure(
        shown: &str,
        error: tokio_postgres::Error,
        unused: Option<&str>,
    ) -> PostgresError {
        let mut reason = error_message(&error);
        let cause = if is_short_of_connections(&error) {
            ErrorCause::NoConnection
        } else {
            ErrorCause::Other
        };
        let has_none = reason.contains("password missing");
        if has_none {
            reason = "it asks for a password, and there is none".to_owned();
        }
        let what = format!("Cannot connect to `{shown}`: {reason}");
        let hint = if has_none || error.code() == Some(&SqlState::INVALID_PASSWORD) {
            let ways =
                "Give the password as `PGPASSWORD`, in `MEMORY_FORGE_ENGINE_URL` or in `~/.pgpass`";
            match unused {
                Some(why) => format!("{why}. {ways}"),
                None => ways.to_owned(),
            }
        } else if error.code() == Some(&SqlState::INVALID_AUTHORIZATION_SPECIFICATION) {
            "The server's administrator decides in pg_hba.conf who may connect, from where, and whether without TLS".to_owned()
        } else if cause == ErrorCause::NoConnection {
            "Raise `max_connections`, or put a pool between (docs/engines.md)".to_owned()
        } else if reason.contains("does not allow writes") {
            "This server is a replica: name the primary, or all hosts of the cluster, in `engine.url`".to_owned()
        } else if reason.contains("certificate") {
            "`sslrootcert` or `PGSSLROOTCERT` names the PEM file of the authority that signed the server's certificate; the name in the address must be the certificate's".to_owned()
        } else {
            "Is the server running, and may this machine reach it?".to_owned()
        };
        PostgresError {
            cause,
            ..PostgresError::failure(what, hint)
        }
    }
}

impl Diagnostic for PostgresError {
    fn code(&self) -> &'static str {
        match self.cause {
            ErrorCause::Other => "engine.failed",
            ErrorCause::Silent => "engine.silent",
            ErrorCause::NoConnection => "engine.no-connection",
            ErrorCause::Locked => "engine.locked",
            ErrorCause::NotAllowed => "engine.not-allowed",
        }
    }

    fn hints(&self) -> Vec<String> {
        self.hint.iter().cloned().collect()
    }

    fn is_usage(&self) -> bool {
        self.usage
    }
}

impl fmt::Display for PostgresError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for PostgresError {}

impl From<tokio_postgres::Error> for PostgresError {
    fn from(error: tokio_postgres::Error) -> PostgresError {
        let code = error.code();
        let hint = if error.is_closed() {
            Some("The connection was lost; unfinished changes were rolled back. Run it again")
        } else if code == Some(&SqlState::INSUFFICIENT_PRIVILEGE) {
            Some(
                "Ask the administrator of the shared index for `memory-forge engine member add` with your login and team",
            )
        } else if code == Some(&SqlState::UNDEFINED_TABLE)
            || code == Some(&SqlState::INVALID_SCHEMA_NAME)
        {
            Some("`memory-forge engine init` prepares the server, once")
        } else if code == Some(&SqlState::READ_ONLY_SQL_TRANSACTION) {
            Some("This server is a replica: push to the primary")
        } else if code == Some(&SqlState::QUERY_CANCELED) {
            Some("`engine.timeout_ms` sets how long a search may take")
        } else {
            None
        };
        PostgresError {
            what: format!("The shared index answered: {}", error_message(&error)),
            hint: hint.map(str::to_owned),
            usage: false,
            cause: if code == Some(&SqlState::LOCK_NOT_AVAILABLE) {
                ErrorCause::Locked
            } else if code == Some(&SqlState::INSUFFICIENT_PRIVILEGE) {
                ErrorCause::NotAllowed
            } else {
                ErrorCause::Other
            },
        }
    }
}

/// Returns `true` if another attempt in a moment may succeed. PgBouncer has no
/// error code for it, hence the text.
fn is_short_of_connections(error: &tokio_postgres::Error) -> bool {
    let by_code = [SqlState::TOO_MANY_CONNECTIONS, SqlState::CANNOT_CONNECT_NOW];
    let message = error.as_db_error().map_or("", |it| it.message());
    error.code().is_some_and(|it| by_code.contains(it))
        || message.contains("no more connections allowed")
}

/// Returns the server's message, or why there is none.
fn error_message(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(db_error) => db_error.message().to_owned(),
        None => match std::error::Error::source(error) {
            Some(why) => format!("{error}: {why}"),
            None => error.to_string(),
        },
    }
}

/// A connection, on behalf of one tenant.
pub struct PostgresEngine {
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
    client: Client,
    tenant: String,
    patience: WaitPolicy,
    /// Set after a timeout: the state of the connection is then unknown.
    is_lost: AtomicBool,
    pub shown: String,
}

impl Drop for PostgresEngine {
    fn drop(&mut self) {
        // In the background, because a name is resolved on a thread that cannot
        // be interrupted, and an ordinary shutdown would wait for it.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Role that a host needs, if there are several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostRole {
    /// Any host that answers, also a replica.
    Any,
    /// The host that accepts writes.
    Primary,
}

impl PostgresEngine {
    /// Connects with the time limits of an ordinary command.
    pub fn open(target: &ServerTarget, tenant: &str) -> Result<PostgresEngine, PostgresError> {
        PostgresEngine::open_with(target, tenant, HostRole::Any, WaitPolicy::default())
    }

    /// Connects to a host of this role, with these time limits.
    pub fn open_with(
        target: &ServerTarget,
        tenant: &str,
        need: HostRole,
        patience: WaitPolicy,
    ) -> Result<PostgresEngine, PostgresError> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| {
            PostgresError::failure(format!("Cannot start: {error}"), "Try it again")
        })?;
        match runtime.block_on(target.connect(need, &patience)) {
            Ok((client, shown)) => Ok(PostgresEngine {
                runtime: Some(runtime),
                client,
                tenant: tenant.to_owned(),
                patience,
                is_lost: AtomicBool::new(false),
                shown,
            }),
            Err(error) => {
                runtime.shutdown_background();
                Err(error)
            }
        }
    }

    /// Runs an operation within the time limit. After a timeout the connection
    /// is never used again, not even for a rollback, which would not be
    /// answered either.
    fn run_limited<T>(
        &self,
        work: impl Future<Output = Result<T, PostgresError>>,
    ) -> Result<T, PostgresError> {
        let left = self.patience.time_left();
        self.run_unlimited(async {
            match tokio::time::timeout(left, work).await {
                Ok(outcome) => outcome,
                Err(_) => Err(self.no_answer_error()),
            }
        })
    }

    /// Runs an operation that limits its own steps.
    fn run_unlimited<T>(
        &self,
        work: impl Future<Output = Result<T, PostgresError>>,
    ) -> Result<T, PostgresError> {
        let runtime = self
            .runtime
            .as_ref()
            .ok_or_else(|| self.no_answer_error())?;
        if self.is_lost.load(Ordering::Relaxed) {
            return Err(self.no_answer_error());
        }
        let outcome = runtime.block_on(work);
        if let Err(error) = &outcome
            && error.cause == ErrorCause::Silent
        {
            self.is_lost.store(true, Ordering::Relaxed);
        }
        outcome
    }

    /// Returns the error of a timeout on this connection.
    fn no_answer_error(&self) -> PostgresError {
        PostgresError::no_answer(&self.shown, self.patience.total_limit())
    }

    /// Begins a transaction. Names in it resolve to the server's own objects: a
    /// login that may create objects in `public` cannot substitute an operator
    /// or a function.
    async fn begin_transaction(
        &self,
        how: &str,
        lock: Option<Duration>,
    ) -> Result<(), PostgresError> {
        let begin = format!(
            "begin {how}; set local search_path = pg_catalog, pg_temp; {}",
            self.patience.transaction_settings(lock)
        );
        let left = self.patience.time_left();
        run_timed(left, &self.shown, self.client.batch_execute(&begin)).await
    }

    /// Ends a transaction with this command.
    async fn end_transaction(&self, how: &str) -> Result<(), PostgresError> {
        let left = self.patience.time_left();
        run_timed(left, &self.shown, self.client.batch_execute(how)).await
    }

    /// Runs an operation in a transaction of its own, within the limit.
    fn run_transaction<T>(
        &self,
        how: &str,
        work: impl AsyncFnOnce(&Client) -> Result<T, PostgresError>,
    ) -> Result<T, PostgresError> {
        self.run_limited(self.in_transaction(how, None, work))
    }

    /// Runs an operation in a transaction that waits for locks no longer than
    /// `lock`.
    async fn in_transaction<T>(
        &self,
        how: &str,
        lock: Option<Duration>,
        work: impl AsyncFnOnce(&Client) -> Result<T, PostgresError>,
    ) -> Result<T, PostgresError> {
        self.begin_transaction(how, lock).await?;
        match work(&self.client).await {
            Ok(done) => {
                self.end_transaction("commit").await?;
                Ok(done)
            }
            Err(error) => {
                // The first error is the one to show.
                if error.cause != ErrorCause::Silent {
                    let _ = self.end_transaction("rollback").await;
                }
                Err(error)
            }
        }
    }

    /// Returns how far a replica is behind, if the server is one. A member may
    /// not see the state of its connection to the primary, so a broken one is
    /// not noticed while all received data is applied.
    pub fn replica_lag(&self) -> Result<Option<Duration>, PostgresError> {
        let sql = "select case when pg_is_in_recovery()
                and pg_last_wal_receive_lsn() is distinct from pg_last_wal_replay_lsn()
            then extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp())::float8 end";
        let rows = self.run_limited(async { Ok(self.client.query_typed(sql, &[]).await?) })?;
        let seconds: Option<f64> = rows.first().and_then(|row| row.get(0));
        Ok(seconds.filter(|it| *it > 0.0).map(Duration::from_secs_f64))
    }

    /// Reads the status, as far as the caller may see it.
    pub fn read_status(&self) -> Result<SharedIndexStatus, PostgresError> {
        self.run_transaction(READ_TRANSACTION, async |client| {
            let known = schema::check_format(client, &self.tenant, schema::AccessPurpose::Read).await?;
            let sql = "select current_setting('server_version'), session_user::text, pg_is_in_recovery()";
            let about = client.query_typed(sql, &[]).await?;
            let row = about.first().ok_or_else(|| {
                PostgresError::failure("The server does not answer", "Run it again")
            })?;
            let rows = client
                .query_typed(
                    "select name, team, generation, commit_id, pushed_at, pushed_by, documents, chunks,
                     embedded from mf.workspaces($1, null)",
                    &[(&self.tenant, Type::TEXT)],
                )
                .await?;
            let workspaces = rows.iter().map(|row| SharedWorkspace {
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
            Ok(SharedIndexStatus {
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

/// Transaction that reads one state of the index, whatever others write.
const READ_TRANSACTION: &str = "isolation level repeatable read read only";
