//! Stores the graph on a server that speaks Bolt: Neo4j, or another one with
//! openCypher. A workspace's nodes and relations are written there, queried,
//! and removed again.
//!
//! Values travel only as parameters, and labels and types come from closed
//! lists. Every node has a tenant and a workspace, and so has every pattern
//! that matches one: workspaces in one database do not see each other.

use std::future::Future;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use forge_text::diagnostic::Diagnostic;
use neo4rs::{BoltList, BoltMap, BoltString, BoltType, ConfigBuilder, Query, Row};

mod cypher;
mod push;
mod source;
mod values;

pub use cypher::find_writing_clause;
pub use push::compute_digest;

/// Time limits of the login and of every answer after it.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(5);
const ANSWER_TIMEOUT: Duration = Duration::from_secs(120);
/// Time limit of all operations together, if the caller sets none.
const DEFAULT_TOTAL_TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// Address of a server, with the user who connects. The password comes from the
/// caller, who read it from the environment.
#[derive(Clone)]
pub struct GraphAddress {
    /// `bolt://`, `bolt+s://`, `neo4j://` or `neo4j+s://`.
    pub url: String,
    pub user: String,
    pub password: String,
    pub database: Option<String>,
    /// A private certificate authority, as PEM.
    pub authority: Option<PathBuf>,
}

/// Tenant and workspace whose nodes are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeScope {
    tenant: String,
    workspace: String,
}

/// Errors of a graph server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BoltError {
    /// The settings contain an invalid tenant or workspace name.
    #[error("`{0}` cannot name a tenant or a workspace: use letters, digits, `.`, `_` and `-`")]
    Name(String),
    /// The settings contain an address that cannot be used.
    #[error("The graph's address cannot be used: {0}")]
    Address(String),
    /// The server cannot be reached.
    #[error("`{url}` cannot be reached: {why}")]
    Connect { url: String, why: String },
    /// The server refused a query or answered unexpectedly.
    #[error("The graph server refused: {0}")]
    Server(String),
    /// The server did not answer in time.
    #[error("The graph server did not answer in {} s", .0.as_secs())]
    Silent(Duration),
    /// The server refused the user or the password.
    #[error("The graph server refused the login as `{user}`: {why}")]
    Login { user: String, why: String },
    /// The settings name a database that the server does not have.
    #[error("The graph server has no database `{0}`")]
    NoDatabase(String),
    /// A newer version of this program wrote the graph.
    #[error("The graph on the server has format {found}, and this program knows {known}")]
    Newer { found: i64, known: i64 },
    /// Another push of the same workspace began during this one.
    #[error(
        "Another push of this workspace ran at the same time; the graph may contain parts of both"
    )]
    Overtaken,
    /// The caller's query writes, and writing was not requested.
    #[error("The query writes (`{0}`)")]
    Writes(String),
}

impl Diagnostic for BoltError {
    fn code(&self) -> &'static str {
        match self {
            BoltError::Name(_) => "graph.invalid-name",
            BoltError::Address(_) => "graph.invalid-address",
            BoltError::Connect { .. } => "graph.unreachable",
            BoltError::Server(_) => "graph.refused",
            BoltError::Silent(_) => "graph.silent",
            BoltError::Login { .. } => "graph.login",
            BoltError::NoDatabase(_) => "graph.no-database",
            BoltError::Newer { .. } => "graph.newer-format",
            BoltError::Overtaken => "graph.overtaken",
            BoltError::Writes(_) => "graph.query-writes",
        }
    }

    fn is_usage(&self) -> bool {
        matches!(
            self,
            BoltError::Name(_) | BoltError::Address(_) | BoltError::Writes(_)
        )
    }

    fn hints(&self) -> Vec<String> {
        let hint = match self {
            BoltError::Name(_) => {
                "`tenant` and `workspace` belong below `[graph]` in `memory-forge.toml`"
            }
            BoltError::Address(_) => {
                "Set `MEMORY_FORGE_GRAPH_URL`, `_USER` and `_PASSWORD`; `_AUTHORITY` names a PEM file"
            }
            BoltError::Connect { .. } => {
                "Check that the server runs, and `MEMORY_FORGE_GRAPH_URL`, `_USER` and `_PASSWORD`"
            }
            BoltError::Newer { .. } => "A newer memory-forge wrote it: update this one",
            BoltError::Overtaken => "Run `memory-forge graph push` again",
            BoltError::Writes(_) => "`--write` allows it, after a question",
            BoltError::Login { .. } => {
                "Set `MEMORY_FORGE_GRAPH_USER` and `MEMORY_FORGE_GRAPH_PASSWORD`; a first password has to be changed on the server"
            }
            BoltError::NoDatabase(_) => {
                "Set `MEMORY_FORGE_GRAPH_DATABASE`, or `database` below `[graph]` in `memory-forge.toml`; empty is the server's own default"
            }
            BoltError::Silent(_) | BoltError::Server(_) => {
                "`memory-forge graph push` repairs a push that was cut off"
            }
        };
        vec![hint.to_owned()]
    }
}

impl NodeScope {
    /// Returns the scope of these names. Fails for names with other characters
    /// than letters, digits, `.`, `_` and `-`.
    pub fn new(tenant: &str, workspace: &str) -> Result<NodeScope, BoltError> {
        for name in [tenant, workspace] {
            let plain = |it: u8| it.is_ascii_alphanumeric() || b"._-".contains(&it);
            // No slash, since that separates the parts of a node's key.
            if name.is_empty() || name.len() > 100 || !name.bytes().all(plain) {
                return Err(BoltError::Name(name.to_owned()));
            }
        }
        Ok(NodeScope {
            tenant: tenant.to_owned(),
            workspace: workspace.to_owned(),
        })
    }

    /// Returns the name of the tenant.
    pub fn tenant(&self) -> &str {
        &self.tenant
    }

    /// Returns the name of the workspace.
    pub fn workspace(&self) -> &str {
        &self.workspace
    }

    /// Returns the key of a node, unique in the whole database: names of
    /// tenants and workspaces contain no slash. A very long id would not fit an
    /// index, so its hash replaces it.
    fn node_key(&self, id: &str) -> String {
        let (tenant, workspace) = (&self.tenant, &self.workspace);
        match id.len() {
            0..=1000 => format!("{tenant}/{workspace}/{id}"),
            _ => format!("{tenant}/{workspace}//{}", blake3::hash(id.as_bytes())),
        }
    }
}

impl GraphAddress {
    /// Checks the address before anything is sent.
    pub fn validate_url(&self) -> Result<(), BoltError> {
        let refuse = |why: &str| Err(BoltError::Address(why.to_owned()));
        let Some((scheme, rest)) = self.url.split_once("://") else {
            return refuse("it has no `bolt://` or `bolt+s://` in front");
        };
        if rest.split('/').next().unwrap_or("").contains('@') {
            return refuse("user and password do not belong in it");
        }
        match scheme {
            "bolt" | "bolt+s" | "neo4j" | "neo4j+s" => Ok(()),
            "bolt+ssc" | "neo4j+ssc" => refuse(
                "an unchecked certificate protects nothing; use `+s` and name your \
                 authority's certificate",
            ),
            _ => refuse("only `bolt`, `bolt+s`, `neo4j` and `neo4j+s` are known"),
        }
    }

    /// Returns scheme, host and port, without a path.
    pub fn server_origin(&self) -> String {
        let (scheme, rest) = self.url.split_once("://").unwrap_or(("bolt", &self.url));
        let host = rest.split(['/', '?', '#']).next().unwrap_or("");
        format!("{scheme}://{host}")
    }

    /// Returns `true` if the server is on this machine.
    pub fn is_local(&self) -> bool {
        let rest = self.url.split_once("://").map_or("", |it| it.1);
        let host = rest.split(['/', '?']).next().unwrap_or("");
        let host = match host.strip_prefix('[') {
            Some(inner) => inner.split(']').next().unwrap_or(""),
            None => host.split(':').next().unwrap_or(""),
        };
        matches!(host, "localhost" | "127.0.0.1" | "::1")
    }

    /// Returns `true` if a password would travel unencrypted to another
    /// machine.
    pub fn is_password_exposed(&self) -> bool {
        let scheme = self.url.split_once("://").map_or("", |it| it.0);
        !scheme.ends_with("+s") && !self.is_local() && !self.password.is_empty()
    }
}

/// A connection, and the scope of its nodes.
pub struct BoltGraph {
    /// `None` only while it is dropped.
    runtime: Option<tokio::runtime::Runtime>,
    graph: neo4rs::Graph,
    scope: NodeScope,
    user: String,
    database: String,
    limit: Duration,
    deadline: Instant,
    /// Set after a timeout: the state of the connection is then unknown.
    is_lost: AtomicBool,
}

impl Drop for BoltGraph {
    fn drop(&mut self) {
        // In the background, because a name is resolved on a thread that cannot
        // be interrupted, and an ordinary shutdown would wait for it.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl BoltGraph {
    /// Connects, and verifies the connection at once.
    pub fn connect(address: &GraphAddress, scope: NodeScope) -> Result<BoltGraph, BoltError> {
        address.validate_url()?;
        // Another crate may have added a second provider, and then neither is
        // the default. An error means that one is installed already, which is
        // as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| BoltError::Address(error.to_string()))?;
        let mut config = ConfigBuilder::default()
            .uri(&address.url)
            .user(&address.user)
            .password(&address.password)
            .max_connections(2)
            .fetch_size(1000)
            .connection_timeout(ANSWER_TIMEOUT);
        if let Some(database) = &address.database {
            config = config.db(database.as_str());
        }
        if let Some(authority) = &address.authority {
            config = config.with_client_certificate(authority);
        }
        let database = address.database.clone().unwrap_or_default();
        let unreachable = |why: String| BoltError::Connect {
            url: address.url.clone(),
            why,
        };
        let config = config.build().map_err(|it| unreachable(it.to_string()))?;
        let graph = runtime.block_on(async {
            let graph = neo4rs::Graph::connect(config)?;
            // A transaction, because the driver would retry a query again and
            // again if no server listens.
            let hello = async { graph.start_txn().await?.rollback().await };
            let hello = tokio::time::timeout(LOGIN_TIMEOUT, hello).await;
            hello.map_err(|_| neo4rs::Error::ConnectionTimedOut)??;
            Ok::<_, neo4rs::Error>(graph)
        });
        match graph {
            Ok(graph) => Ok(BoltGraph {
                graph,
                runtime: Some(runtime),
                scope,
                user: address.user.clone(),
                database,
                limit: DEFAULT_TOTAL_TIMEOUT,
                deadline: Instant::now() + DEFAULT_TOTAL_TIMEOUT,
                is_lost: AtomicBool::new(false),
            }),
            Err(error) => {
                runtime.shutdown_background();
                let known = classify_refusal(&error, &address.user, &database);
                Err(known.unwrap_or_else(|| unreachable(describe_driver_error(error))))
            }
        }
    }

    /// Sets the time limit of everything from now on.
    pub fn with_limit(mut self, limit: Duration) -> BoltGraph {
        self.limit = limit;
        self.deadline = Instant::now() + limit;
        self
    }

    /// Returns the scope of the connection.
    pub fn scope(&self) -> &NodeScope {
        &self.scope
    }

    /// Returns a query with the two parameters that all of ours have.
    fn scoped_query(&self, text: &str) -> Query {
        neo4rs::query(text)
            .param("tenant", self.scope.tenant.as_str())
            .param("workspace", self.scope.workspace.as_str())
    }

    /// Runs a query that writes. The driver retries it after a temporary error,
    /// so every such query must be idempotent.
    fn write_rows(&self, query: Query) -> Result<Vec<Row>, BoltError> {
        self.wait_for(async {
            let mut stream = self.graph.execute(query).await?;
            let mut rows = Vec::new();
            while let Some(row) = stream.next().await? {
                rows.push(row);
            }
            Ok(rows)
        })
    }

    /// Runs a query that reads, and returns its rows.
    fn read_rows(&self, query: Query) -> Result<Vec<Row>, BoltError> {
        self.wait_for(async {
            let mut stream = self.graph.execute_read(query).await?;
            let mut rows = Vec::new();
            while let Some(row) = stream.next().await? {
                rows.push(row);
            }
            Ok(rows)
        })
    }

    /// Waits for an answer within the limit.
    fn wait_for<T>(
        &self,
        work: impl Future<Output = Result<T, neo4rs::Error>>,
    ) -> Result<T, BoltError> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        let limit = left.min(ANSWER_TIMEOUT);
        let silent = || BoltError::Silent(self.limit.min(ANSWER_TIMEOUT));
        let runtime = self.runtime.as_ref().ok_or_else(silent)?;
        // An interrupted exchange leaves the connection in the middle of an
        // answer, so it is never used again.
        if self.is_lost.load(Ordering::Relaxed) || limit.is_zero() {
            return Err(silent());
        }
        let outcome = runtime.block_on(async { tokio::time::timeout(limit, work).await });
        let outcome = outcome.map_err(|_| {
            self.is_lost.store(true, Ordering::Relaxed);
            silent()
        })?;
        outcome.map_err(|error| {
            let known = classify_refusal(&error, &self.user, &self.database);
            known.unwrap_or_else(|| BoltError::Server(describe_driver_error(error)))
        })
    }
}

/// Converts refusals that the user can resolve to errors of their own.
fn classify_refusal(error: &neo4rs::Error, user: &str, database: &str) -> Option<BoltError> {
    let login = |why: &str| BoltError::Login {
        user: user.to_owned(),
        why: why.to_owned(),
    };
    match error {
        neo4rs::Error::AuthenticationError(why) => Some(login(why)),
        neo4rs::Error::Neo4j(error) if error.code().contains(".Database.DatabaseNotFound") => {
            Some(BoltError::NoDatabase(database.to_owned()))
        }
        neo4rs::Error::Neo4j(error)
            if error.code().contains(".Security.Unauthorized")
                || error.code().contains(".Security.CredentialsExpired") =>
        {
            Some(login(error.message()))
        }
        _ => None,
    }
}

/// Describes an error of the driver for a person.
fn describe_driver_error(error: neo4rs::Error) -> String {
    match error {
        neo4rs::Error::Neo4j(error) => format!("{} ({})", error.message(), error.code()),
        neo4rs::Error::IOError { detail } => detail.to_string(),
        neo4rs::Error::ConnectionTimedOut => {
            format!("it did not answer in {} s", LOGIN_TIMEOUT.as_secs())
        }
        error => error.to_string(),
    }
}

/// Builds a map of parameters.
fn bolt_map<const N: usize>(entries: [(&str, BoltType); N]) -> BoltType {
    let entries = entries
        .into_iter()
        .map(|(key, value)| (BoltString::from(key), value));
    BoltType::Map(entries.collect::<BoltMap>())
}

/// Builds a list of parameters.
fn bolt_list(values: Vec<BoltType>) -> BoltType {
    BoltType::List(BoltList::from(values))
}

/// Reads a column. Fails if it is missing, since this program wrote it.
fn read_column<T>(row: &Row, name: &str) -> Result<T, BoltError>
where
    T: for<'de> serde::Deserialize<'de>,
{
    row.get(name)
        .map_err(|error| BoltError::Server(format!("its answer has no `{name}`: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(url: &str) -> GraphAddress {
        GraphAddress {
            url: url.to_owned(),
            user: "u".to_owned(),
            password: "p".to_owned(),
            database: None,
            authority: None,
        }
    }

    #[test]
    fn addresses_are_checked_before_anything_is_sent() {
        for good in [
            "bolt://h:1",
            "bolt+s://h",
            "neo4j://h/x",
            "neo4j+s://[::1]:7687",
        ] {
            assert!(address(good).validate_url().is_ok(), "{good}");
        }
        for bad in [
            "h:7687",
            "http://h",
            "bolt+ssc://h",
            "bolt://me:secret@h:7687",
        ] {
            assert!(address(bad).validate_url().is_err(), "{bad}");
        }
        let error = address("bolt://me:secret@h")
            .validate_url()
            .expect_err("it holds a password");
        assert!(!error.to_string().contains("secret"), "{error}");
    }

    #[test]
    fn only_this_machine_may_hear_a_password_in_the_clear() {
        let clear = |url| address(url).is_password_exposed();
        assert!(clear("bolt://graph.example:7687") && clear("bolt://127.0.0.1.evil.example"));
        assert!(!clear("bolt+s://graph.example"));
        assert!(!clear("bolt://localhost:7687") && !clear("bolt://[::1]:7687/x"));
    }

    #[test]
    fn keys_of_two_workspaces_are_never_the_same() {
        let key = |tenant, workspace, id: &str| {
            NodeScope::new(tenant, workspace)
                .expect("plain names")
                .node_key(id)
        };
        assert_ne!(key("a", "b", "c"), key("a", "b.c", ""));
        assert!(NodeScope::new("a/b", "c").is_err() && NodeScope::new("", "c").is_err());
        let long = "x".repeat(2000);
        assert!(key("a", "b", &long).len() < 200);
        assert_ne!(key("a", "b", &long), key("a", "b", &format!("{long}y")));
    }
}
