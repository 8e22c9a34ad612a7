//! Connects to a server by its address: which sources may contain a password,
//! and when a server must prove its identity. No password is ever read from a
//! file of a repository, and none is written; the user's own `~/.pgpass` is
//! read.

use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use rustls::pki_types::{CertificateDer, ServerName, pem::PemObject};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, NoTls, TlsConnect};
use tokio_postgres::{Client, Config};

use super::wait::{CONNECT_TIMEOUT, WaitPolicy};
use super::{ErrorCause, HostRole, PostgresError, passfile};

/// Settings that detect a dead network. They do not detect a frozen server.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(15);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
const KEEPALIVE_RETRIES: u32 = 3;
const UNACKNOWLEDGED_TIMEOUT: Duration = Duration::from_secs(30);

/// Pause before a server without a free connection is tried again.
const RETRY_PAUSE: Duration = Duration::from_millis(250);

/// Settings of the user's environment, by the names that every PostgreSQL
/// client uses.
#[derive(Debug, Clone, Default)]
pub struct ServerEnvironment {
    /// `MEMORY_FORGE_ENGINE_URL`, which overrides the configuration.
    pub url: Option<String>,
    pub host: Option<String>,
    pub port: Option<String>,
    pub user: Option<String>,
    pub password: Option<String>,
    pub database: Option<String>,
    pub sslmode: Option<String>,
    pub sslrootcert: Option<String>,
    /// The user's password file, which may be missing.
    pub passfile: Option<PathBuf>,
    /// The login, if no other setting names one.
    pub login: Option<String>,
}

/// Whether the server must prove its identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ServerProof {
    /// By a certificate for its name, from a trusted authority.
    Full,
    /// Not at all: it is on this machine, or the user disabled it.
    None,
}

/// One host of an address.
#[derive(Debug, Clone)]
struct HostConfig {
    config: Config,
    /// Why the user's password file was not used.
    unused: Option<String>,
    /// `host:port/database`, for messages.
    shown: String,
}

/// A server that can be connected to. If the address names several hosts, each
/// is tried in turn with a limit of its own: one that accepts and stays silent
/// must not keep the others from being tried.
#[derive(Debug, Clone)]
pub struct ServerTarget {
    servers: Vec<HostConfig>,
    proof: ServerProof,
    root: Option<String>,
    /// All hosts, ports and the database, for messages.
    pub shown: String,
    /// The address and whether it is encrypted: what a user approves.
    pub address: String,
    /// Whether the user's own environment named it, or it is on this machine.
    pub is_users_own: bool,
}

impl ServerTarget {
    /// Reads the address from the environment or from `configured`, a file that
    /// everyone gets and that must not contain a password.
    pub fn read(
        configured: &str,
        environment: &ServerEnvironment,
    ) -> Result<ServerTarget, PostgresError> {
        let by_user = environment.url.as_deref().filter(|it| !it.is_empty());
        let url = by_user.unwrap_or(configured);
        let (url, options) = take_tls_options(url);
        let mut config: Config = if url.is_empty() {
            Config::new()
        } else {
            // The text of the address may contain a password, so it is not
            // shown.
            url.parse().map_err(|error: tokio_postgres::Error| {
                // The text of the address may hold a password: it is not shown.
                PostgresError::usage(
                    format!("The address of the shared index is not one: {error}"),
                    "Write it as `postgres://user@host:5432/database`",
                )
            })?
        };
        if by_user.is_none() && config.get_password().is_some() {
            return Err(PostgresError::usage(
                "`engine.url` in `memory-forge.toml` holds a password",
                "Take it out, and give it as `PGPASSWORD` or in `MEMORY_FORGE_ENGINE_URL`",
            ));
        }
        let env = |value: &Option<String>| value.clone().filter(|it| !it.is_empty());
        let by_file = by_user.is_none() && !config.get_hosts().is_empty();
        if config.get_hosts().is_empty() {
            let host = env(&environment.host).ok_or_else(|| {
                PostgresError::failure(
                    "There is no shared index configured",
                    "Set `engine.url` in `memory-forge.toml`, or `MEMORY_FORGE_ENGINE_URL`, to `postgres://host/database`",
                )
            })?;
            config.host(&host);
        }
        if config.get_ports().is_empty()
            && let Some(port) = env(&environment.port).and_then(|it| it.parse().ok())
        {
            config.port(port);
        }
        if config.get_user().is_none()
            && let Some(user) = env(&environment.user).or_else(|| env(&environment.login))
        {
            config.user(&user);
        }
        if config.get_dbname().is_none()
            && let Some(name) = env(&environment.database)
        {
            config.dbname(&name);
        }
        if config.get_password().is_none()
            && let Some(password) = env(&environment.password)
        {
            config.password(password);
        }
        config.application_name("memory-forge");
        config.connect_timeout(CONNECT_TIMEOUT);
        config.keepalives_idle(KEEPALIVE_IDLE);
        config.keepalives_interval(KEEPALIVE_INTERVAL);
        config.keepalives_retries(KEEPALIVE_RETRIES);
        config.tcp_user_timeout(UNACKNOWLEDGED_TIMEOUT);
        let mode = options.mode.or_else(|| env(&environment.sslmode));
        // `hostaddr` is where the connection really goes, so a local name alone
        // is not enough.
        let here = config.get_hosts().iter().all(is_local_host)
            && config.get_hostaddrs().iter().all(IpAddr::is_loopback);
        let proof = match mode.as_deref() {
            Some("disable") => ServerProof::None,
            Some("allow" | "prefer" | "require" | "verify-ca" | "verify-full") => ServerProof::Full,
            Some(other) => {
                return Err(PostgresError::usage(
                    format!("`sslmode={other}` is not known"),
                    "Use `verify-full`, or `disable` on a network that you trust",
                ));
            }
            None if here => ServerProof::None,
            None => ServerProof::Full,
        };
        config.ssl_mode(match proof {
            ServerProof::Full => SslMode::Require,
            ServerProof::None => SslMode::Disable,
        });
        let address = format_address(&config, proof);
        let servers = split_hosts(&config, environment.passfile.as_deref())?;
        let database = config.get_dbname().or(config.get_user()).unwrap_or("");
        let places: Vec<&str> = servers
            .iter()
            .map(|it| it.shown.trim_end_matches(&format!("/{database}")))
            .collect();
        Ok(ServerTarget {
            shown: format!("{}/{database}", places.join(",")),
            address,
            is_users_own: here || !by_file,
            root: options.root.or_else(|| env(&environment.sslrootcert)),
            servers,
            proof,
        })
    }

    /// Returns each host as a target of its own, in the order of the address.
    pub fn hosts(&self) -> Vec<ServerTarget> {
        let one = |server: &HostConfig| ServerTarget {
            shown: server.shown.clone(),
            servers: vec![server.clone()],
            ..self.clone()
        };
        self.servers.iter().map(one).collect()
    }

    /// Connects to the first suitable host, and returns its name as well. As
    /// long as none has a free connection, all are tried again.
    pub(super) async fn connect(
        &self,
        need: HostRole,
        patience: &WaitPolicy,
    ) -> Result<(Client, String), PostgresError> {
        let started = Instant::now();
        let mut is_reported = false;
        loop {
            let error = match self.try_hosts(need, patience).await {
                Ok(connected) => return Ok(connected),
                Err(error) => error,
            };
            if error.cause != ErrorCause::NoConnection
                || started.elapsed() >= patience.no_connection
            {
                return Err(error);
            }
            if !is_reported {
                is_reported = true;
                patience.notify(&format!(
                    "{error}; waiting up to {} for a free connection",
                    super::format_duration(patience.no_connection)
                ));
            }
            tokio::time::sleep(RETRY_PAUSE).await;
        }
    }

    /// Tries each host once.
    async fn try_hosts(
        &self,
        need: HostRole,
        patience: &WaitPolicy,
    ) -> Result<(Client, String), PostgresError> {
        let mut errors: Vec<PostgresError> = Vec::new();
        for (at, server) in self.servers.iter().enumerate() {
            let limit = patience.login_limit(self.servers.len() - at);
            let login = self.log_in(server, need);
            match tokio::time::timeout(limit, login).await {
                Ok(Ok(client)) => return Ok((client, server.shown.clone())),
                Ok(Err(error)) => errors.push(error),
                Err(_) => errors.push(PostgresError::no_answer(&server.shown, limit)),
            }
        }
        // A busy host is worth another attempt, whatever the errors of the
        // others are.
        let busy = errors
            .iter()
            .position(|it| it.cause == ErrorCause::NoConnection);
        let all: Vec<String> = errors.iter().map(ToString::to_string).collect();
        let Some(chosen) = busy.or(errors.len().checked_sub(1)) else {
            return Err(PostgresError::usage(
                "The address of the shared index names no host",
                "Write it as `postgres://user@host:5432/database`",
            ));
        };
        let mut error = errors.swap_remove(chosen);
        error.what = all.join("; ");
        Err(error)
    }

    /// Logs in to one host.
    async fn log_in(&self, server: &HostConfig, need: HostRole) -> Result<Client, PostgresError> {
        let failed =
            |error| PostgresError::connect_failure(&server.shown, error, server.unused.as_deref());
        let mut config = server.config.clone();
        // Only the server itself knows whether it is the primary.
        if need == HostRole::Primary && self.servers.len() > 1 {
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        match self.proof {
            ServerProof::None => {
                let (client, connection) = config.connect(NoTls).await.map_err(failed)?;
                tokio::spawn(connection);
                Ok(client)
            }
            ServerProof::Full => {
                let tls = TlsFactory(Arc::new(self.tls_config()?));
                let (client, connection) = config.connect(tls).await.map_err(failed)?;
                tokio::spawn(connection);
                Ok(client)
            }
        }
    }

    /// Returns the TLS settings, with the configured authority or those of the
    /// system.
    fn tls_config(&self) -> Result<ClientConfig, PostgresError> {
        let mut roots = RootCertStore::empty();
        if let Some(file) = &self.root {
            let unusable = |why: String| {
                let what = format!("The certificates in `{file}` cannot be used: {why}");
                PostgresError::usage(what, "`sslrootcert` names a PEM file")
            };
            let all = CertificateDer::pem_file_iter(file).map_err(|e| unusable(e.to_string()))?;
            for one in all {
                let one = one.map_err(|e| unusable(e.to_string()))?;
                roots.add(one).map_err(|e| unusable(e.to_string()))?;
            }
        } else {
            let found = rustls_native_certs::load_native_certs();
            roots.add_parsable_certificates(found.certs);
        }
        if roots.is_empty() {
            return Err(PostgresError::usage(
                "No certificate of an authority was found, so the server cannot prove who it is",
                "Name a PEM file with `sslrootcert`",
            ));
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("the provider has the usual versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(config)
    }
}

/// Splits an address into hosts, each with its port, and with its own line of
/// the user's password file.
fn split_hosts(all: &Config, passfile: Option<&Path>) -> Result<Vec<HostConfig>, PostgresError> {
    let (hosts, addresses, ports) = (all.get_hosts(), all.get_hostaddrs(), all.get_ports());
    if !addresses.is_empty() && addresses.len() != hosts.len()
        || ports.len() > 1 && ports.len() != hosts.len()
    {
        return Err(PostgresError::usage(
            "The address of the shared index has not one port or `hostaddr` for each host",
            "Write it as `postgres://user@one:5432,two:5432/database`",
        ));
    }
    let mut servers = Vec::new();
    for (at, host) in hosts.iter().enumerate() {
        let port = ports.get(at).or(ports.first()).copied().unwrap_or(5432);
        let mut config = copy_without_hosts(all);
        config.port(port);
        let (name, pass_host) = match host {
            Host::Tcp(name) => {
                config.host(name);
                (name.clone(), name.as_str())
            }
            #[cfg(unix)]
            Host::Unix(path) => {
                config.host_path(path);
                // As for every PostgreSQL client, the password file has the
                // socket as `localhost`.
                (path.display().to_string(), "localhost")
            }
        };
        if let Some(address) = addresses.get(at) {
            config.hostaddr(*address);
        }
        let mut unused = None;
        if config.get_password().is_none()
            && let Some(path) = passfile
        {
            let login = all.get_user().unwrap_or_default();
            let wanted = passfile::PasswordQuery {
                host: pass_host,
                port,
                // As on the server, the default database is named after the
                // login.
                database: all.get_dbname().unwrap_or(login),
                login,
            };
            match passfile::find_password(path, &wanted) {
                Ok(Some(password)) => {
                    config.password(password);
                }
                Ok(None) => {}
                Err(why) => unused = Some(why),
            }
        }
        let database = all.get_dbname().or(all.get_user()).unwrap_or("");
        servers.push(HostConfig {
            shown: format!("{name}:{port}/{database}"),
            config,
            unused,
        });
    }
    Ok(servers)
}

/// Copies settings without hosts and ports, since these can only be added to.
fn copy_without_hosts(all: &Config) -> Config {
    let mut config = Config::new();
    if let Some(user) = all.get_user() {
        config.user(user);
    }
    if let Some(password) = all.get_password() {
        config.password(password);
    }
    if let Some(name) = all.get_dbname() {
        config.dbname(name);
    }
    if let Some(options) = all.get_options() {
        config.options(options);
    }
    if let Some(name) = all.get_application_name() {
        config.application_name(name);
    }
    if let Some(limit) = all.get_connect_timeout() {
        config.connect_timeout(*limit);
    }
    if let Some(limit) = all.get_tcp_user_timeout() {
        config.tcp_user_timeout(*limit);
    }
    if let Some(interval) = all.get_keepalives_interval() {
        config.keepalives_interval(interval);
    }
    if let Some(retries) = all.get_keepalives_retries() {
        config.keepalives_retries(retries);
    }
    config
        .keepalives(all.get_keepalives())
        .keepalives_idle(all.get_keepalives_idle())
        .ssl_mode(all.get_ssl_mode())
        .ssl_negotiation(all.get_ssl_negotiation())
        .channel_binding(all.get_channel_binding())
        .target_session_attrs(all.get_target_session_attrs());
    config
}

/// TLS options of an address.
struct TlsOptions {
    mode: Option<String>,
    root: Option<String>,
}

/// Removes the TLS options from an address. The client library supports fewer
/// modes than users write, so this module handles them.
fn take_tls_options(url: &str) -> (String, TlsOptions) {
    let mut options = TlsOptions {
        mode: None,
        root: None,
    };
    let Some((address, query)) = url.split_once('?') else {
        return (url.to_owned(), options);
    };
    let mut rest = Vec::new();
    for pair in query.split('&') {
        match pair.split_once('=') {
            Some(("sslmode", mode)) => options.mode = Some(mode.to_owned()),
            Some(("sslrootcert", root)) => options.root = Some(root.replace("%2F", "/")),
            _ => rest.push(pair),
        }
    }
    let query = if rest.is_empty() {
        String::new()
    } else {
        format!("?{}", rest.join("&"))
    };
    (format!("{address}{query}"), options)
}

/// Returns `true` if no data leaves this machine.
fn is_local_host(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<IpAddr>().is_ok_and(|it| it.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

/// Returns the address that a user approves.
fn format_address(config: &Config, proof: ServerProof) -> String {
    let hosts = config.get_hosts().iter().map(|host| match host {
        Host::Tcp(name) => name.clone(),
        #[cfg(unix)]
        Host::Unix(path) => path.display().to_string(),
    });
    let hosts = hosts.chain(config.get_hostaddrs().iter().map(IpAddr::to_string));
    let hosts: Vec<String> = hosts.collect();
    let ports: Vec<String> = config.get_ports().iter().map(u16::to_string).collect();
    let ports = if ports.is_empty() {
        "5432".to_owned()
    } else {
        ports.join(",")
    };
    let open = match proof {
        ServerProof::Full => "",
        ServerProof::None => "?sslmode=disable",
    };
    format!("postgres://{}:{ports}{open}", hosts.join(","))
}

/// The TLS settings, as the driver needs them.
#[derive(Clone)]
struct TlsFactory(Arc<ClientConfig>);

/// The TLS settings for one server name.
struct RustlsConnector(Arc<ClientConfig>, ServerName<'static>);

/// An encrypted connection.
struct RustlsStream<S>(tokio_rustls::client::TlsStream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for TlsFactory {
    type Stream = RustlsStream<S>;
    type TlsConnect = RustlsConnector;
    type Error = io::Error;

    fn make_tls_connect(&mut self, domain: &str) -> io::Result<RustlsConnector> {
        let name = ServerName::try_from(domain.to_owned());
        let name = name.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        Ok(RustlsConnector(self.0.clone(), name))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for RustlsConnector {
    type Stream = RustlsStream<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<RustlsStream<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        let RustlsConnector(config, name) = self;
        let connector = tokio_rustls::TlsConnector::from(config);
        Box::pin(async move { connector.connect(name, stream).await.map(RustlsStream) })
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> tokio_postgres::tls::TlsStream for RustlsStream<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for RustlsStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, into)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for RustlsStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use forge_text::diagnostic::Diagnostic;

    use super::*;

    fn read(url: &str) -> Result<ServerTarget, PostgresError> {
        ServerTarget::read(url, &ServerEnvironment::default())
    }

    #[test]
    fn only_this_machine_need_not_prove_itself() {
        for (url, expect) in [
            ("postgres://a@localhost/x", ServerProof::None),
            ("postgres://a@127.0.0.1:5433/x", ServerProof::None),
            ("postgres://a@db.example.org/x", ServerProof::Full),
            (
                "postgres://a@db.example.org/x?sslmode=require",
                ServerProof::Full,
            ),
            (
                "postgres://a@db.example.org/x?sslmode=prefer",
                ServerProof::Full,
            ),
            (
                "postgres://a@db.example.org/x?sslmode=disable",
                ServerProof::None,
            ),
            (
                "postgres://a@localhost/x?sslmode=verify-full",
                ServerProof::Full,
            ),
        ] {
            assert_eq!(read(url).expect(url).proof, expect, "{url}");
        }
        assert!(read("postgres://a@h/x?sslmode=maybe").is_err());
    }

    #[test]
    fn a_password_comes_from_the_user_alone() {
        let error = read("postgres://a:secret@localhost/x").expect_err("a password");
        assert!(!error.to_string().contains("secret"), "{error}");
        let by_user = ServerEnvironment {
            url: Some("postgres://a:secret@localhost/x".to_owned()),
            ..ServerEnvironment::default()
        };
        let target = ServerTarget::read("", &by_user).expect("the user may");
        assert_eq!(target.shown, "localhost:5432/x");
    }

    #[test]
    fn without_an_address_it_says_what_to_set() {
        let error = read("").expect_err("none");
        assert!(error.hints()[0].contains("engine.url"));
        let by_user = ServerEnvironment {
            host: Some("db".to_owned()),
            port: Some("6000".to_owned()),
            database: Some("team".to_owned()),
            ..ServerEnvironment::default()
        };
        let target = ServerTarget::read("", &by_user).expect("a host");
        assert_eq!(target.shown, "db:6000/team");
    }

    #[test]
    fn each_of_several_hosts_has_its_port_and_its_own_password() {
        use std::os::unix::fs::PermissionsExt;
        let file = tempfile::NamedTempFile::new().expect("a file");
        let own = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(file.path(), own).expect("ours");
        std::fs::write(file.path(), "one:5432:*:ann:first\ntwo:6000:*:ann:second\n")
            .expect("written");
        let environment = ServerEnvironment {
            passfile: Some(file.path().to_owned()),
            ..ServerEnvironment::default()
        };
        let url = "postgres://ann@one:5432,two:6000/x?sslmode=disable";
        let target = ServerTarget::read(url, &environment).expect("an address");
        let passwords: Vec<Option<&[u8]>> = target
            .servers
            .iter()
            .map(|it| it.config.get_password())
            .collect();
        assert_eq!(passwords, [Some(&b"first"[..]), Some(&b"second"[..])]);
        assert_eq!(target.shown, "one:5432,two:6000/x");
        let shown: Vec<String> = target.hosts().into_iter().map(|it| it.shown).collect();
        assert_eq!(shown, ["one:5432/x", "two:6000/x"]);
        let url = format!("{url}&target_session_attrs=read-write");
        let target = ServerTarget::read(&url, &environment).expect("an address");
        let kept = |it: &HostConfig| it.config.get_target_session_attrs();
        let wanted = TargetSessionAttrs::ReadWrite;
        assert!(target.servers.iter().all(|it| kept(it) == wanted));
        assert!(read("postgres://a@one,two,three:1/x?port=1,2&sslmode=disable").is_err());
    }

    #[test]
    fn an_empty_address_in_the_environment_is_none() {
        let empty = ServerEnvironment {
            url: Some(String::new()),
            ..ServerEnvironment::default()
        };
        let target =
            ServerTarget::read("postgres://a@db.example.org/x", &empty).expect("an address");
        assert_eq!(target.shown, "db.example.org:5432/x");
        assert!(!target.is_users_own, "the file named it");
    }
}
