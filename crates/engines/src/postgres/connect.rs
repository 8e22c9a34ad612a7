//! From an address to a connection: who may carry a password, and when a
//! server must prove who it is. No password is ever read from a file of a
//! repository, and none is written anywhere; the user's own `~/.pgpass` is read.

use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use rustls::pki_types::{CertificateDer, ServerName, pem::PemObject};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, NoTls, TlsConnect};
use tokio_postgres::{Client, Config};

use super::{Error, passfile};

/// What the user's environment says about the server, by the names that every
/// client of PostgreSQL knows.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    /// `MEMORY_FORGE_ENGINE_URL`, which goes before the configuration.
    pub url: Option<String>,
    pub host: Option<String>,
    pub port: Option<String>,
    pub user: Option<String>,
    pub password: Option<String>,
    pub database: Option<String>,
    pub sslmode: Option<String>,
    pub sslrootcert: Option<String>,
    /// The user's file of passwords, which need not be there.
    pub passfile: Option<PathBuf>,
    /// Whom to log in as where nothing else says it.
    pub login: Option<String>,
}

/// Whether the server has to prove who it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Proof {
    /// A certificate for its name, by an authority that is trusted.
    Full,
    /// None: it is this machine, or the user said so.
    None,
}

/// A server that can be connected to.
#[derive(Debug, Clone)]
pub struct Target {
    config: Config,
    proof: Proof,
    root: Option<String>,
    /// Why the user's file of passwords was not used.
    unused: Option<String>,
    /// `host:port/database`, to be shown.
    pub shown: String,
    /// Where it leads, and whether it may be overheard: what a user agrees to.
    pub address: String,
    /// The user's own environment named it, or it is this machine.
    pub is_users_own: bool,
}

impl Target {
    /// `configured` comes from a file that everyone gets, and must not hold a
    /// password.
    pub fn read(configured: &str, environment: &Environment) -> Result<Target, Error> {
        let by_user = environment.url.as_deref().filter(|it| !it.is_empty());
        let url = by_user.unwrap_or(configured);
        let (url, options) = without_tls_options(url);
        let mut config: Config = match url.is_empty() {
            true => Config::new(),
            false => url.parse().map_err(|error: tokio_postgres::Error| {
                // The text of the address may hold a password: it is not shown.
                Error::usage(
                    format!("The address of the shared index is not one: {error}"),
                    "Write it as `postgres://user@host:5432/database`",
                )
            })?,
        };
        if by_user.is_none() && config.get_password().is_some() {
            return Err(Error::usage(
                "`engine.url` in `memory-forge.toml` holds a password",
                "Take it out, and give it as `PGPASSWORD` or in `MEMORY_FORGE_ENGINE_URL`",
            ));
        }
        let env = |value: &Option<String>| value.clone().filter(|it| !it.is_empty());
        let by_file = by_user.is_none() && !config.get_hosts().is_empty();
        if config.get_hosts().is_empty() {
            let host = env(&environment.host).ok_or_else(|| {
                Error::failure(
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
        let mut unused = None;
        if config.get_password().is_none()
            && let Some(path) = &environment.passfile
        {
            match by_file_of_passwords(&config, path) {
                Ok(Some(password)) => {
                    config.password(password);
                }
                Ok(None) => {}
                Err(why) => unused = Some(why),
            }
        }
        config.application_name("memory-forge");
        config.connect_timeout(Duration::from_secs(10));
        let mode = options.mode.or_else(|| env(&environment.sslmode));
        // An address beside the name is where it really goes.
        let here = config.get_hosts().iter().all(is_here)
            && config.get_hostaddrs().iter().all(IpAddr::is_loopback);
        let proof = match mode.as_deref() {
            Some("disable") => Proof::None,
            Some("allow" | "prefer" | "require" | "verify-ca" | "verify-full") => Proof::Full,
            Some(other) => {
                return Err(Error::usage(
                    format!("`sslmode={other}` is not known"),
                    "Use `verify-full`, or `disable` on a network that you trust",
                ));
            }
            None if here => Proof::None,
            None => Proof::Full,
        };
        config.ssl_mode(match proof {
            Proof::Full => SslMode::Require,
            Proof::None => SslMode::Disable,
        });
        Ok(Target {
            shown: shown(&config),
            address: address(&config, proof),
            is_users_own: here || !by_file,
            root: options.root.or_else(|| env(&environment.sslrootcert)),
            unused,
            config,
            proof,
        })
    }

    pub(super) async fn connect(&self) -> Result<Client, Error> {
        let failed = |error| Error::connect(&self.shown, error, self.unused.as_deref());
        match self.proof {
            Proof::None => {
                let (client, connection) = self.config.connect(NoTls).await.map_err(failed)?;
                tokio::spawn(connection);
                Ok(client)
            }
            Proof::Full => {
                let tls = Tls(Arc::new(self.tls()?));
                let (client, connection) = self.config.connect(tls).await.map_err(failed)?;
                tokio::spawn(connection);
                Ok(client)
            }
        }
    }

    fn tls(&self) -> Result<ClientConfig, Error> {
        let mut roots = RootCertStore::empty();
        if let Some(file) = &self.root {
            let unusable = |why: String| {
                let what = format!("The certificates in `{file}` cannot be used: {why}");
                Error::usage(what, "`sslrootcert` names a PEM file")
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
            return Err(Error::usage(
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

/// One password is for one server: with several hosts none is looked up.
fn by_file_of_passwords(config: &Config, path: &Path) -> Result<Option<String>, String> {
    let [host] = config.get_hosts() else {
        return Ok(None);
    };
    let login = config.get_user().unwrap_or_default();
    let wanted = passfile::Wanted {
        host: match host {
            Host::Tcp(name) => name,
            #[cfg(unix)]
            Host::Unix(_) => "localhost",
        },
        port: config.get_ports().first().copied().unwrap_or(5432),
        database: config.get_dbname().unwrap_or(login),
        login,
    };
    passfile::look_up(path, &wanted)
}

struct TlsOptions {
    mode: Option<String>,
    root: Option<String>,
}

/// The client library knows fewer modes than everyone writes, so they are
/// taken out of the address and decided on here.
fn without_tls_options(url: &str) -> (String, TlsOptions) {
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
    let query = match rest.is_empty() {
        true => String::new(),
        false => format!("?{}", rest.join("&")),
    };
    (format!("{address}{query}"), options)
}

/// Whether nothing leaves this machine.
fn is_here(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<IpAddr>().is_ok_and(|it| it.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

fn address(config: &Config, proof: Proof) -> String {
    let hosts = config.get_hosts().iter().map(|host| match host {
        Host::Tcp(name) => name.clone(),
        #[cfg(unix)]
        Host::Unix(path) => path.display().to_string(),
    });
    let hosts = hosts.chain(config.get_hostaddrs().iter().map(IpAddr::to_string));
    let hosts: Vec<String> = hosts.collect();
    let ports: Vec<String> = config.get_ports().iter().map(u16::to_string).collect();
    let ports = match ports.is_empty() {
        true => "5432".to_owned(),
        false => ports.join(","),
    };
    let open = match proof {
        Proof::Full => "",
        Proof::None => "?sslmode=disable",
    };
    format!("postgres://{}:{ports}{open}", hosts.join(","))
}

fn shown(config: &Config) -> String {
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(name)) => name.clone(),
        #[cfg(unix)]
        Some(Host::Unix(path)) => path.display().to_string(),
        None => String::new(),
    };
    let port = config.get_ports().first().copied().unwrap_or(5432);
    let name = config.get_dbname().or(config.get_user()).unwrap_or("");
    format!("{host}:{port}/{name}")
}

#[derive(Clone)]
struct Tls(Arc<ClientConfig>);

struct Connector(Arc<ClientConfig>, ServerName<'static>);

struct Stream<S>(tokio_rustls::client::TlsStream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for Tls {
    type Stream = Stream<S>;
    type TlsConnect = Connector;
    type Error = io::Error;

    fn make_tls_connect(&mut self, domain: &str) -> io::Result<Connector> {
        let name = ServerName::try_from(domain.to_owned());
        let name = name.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        Ok(Connector(self.0.clone(), name))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for Connector {
    type Stream = Stream<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Stream<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        let Connector(config, name) = self;
        let connector = tokio_rustls::TlsConnector::from(config);
        Box::pin(async move { connector.connect(name, stream).await.map(Stream) })
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> tokio_postgres::tls::TlsStream for Stream<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Stream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, into)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Stream<S> {
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
    use super::*;

    fn read(url: &str) -> Result<Target, Error> {
        Target::read(url, &Environment::default())
    }

    #[test]
    fn only_this_machine_need_not_prove_itself() {
        for (url, expect) in [
            ("postgres://a@localhost/x", Proof::None),
            ("postgres://a@127.0.0.1:5433/x", Proof::None),
            ("postgres://a@db.example.org/x", Proof::Full),
            ("postgres://a@db.example.org/x?sslmode=require", Proof::Full),
            ("postgres://a@db.example.org/x?sslmode=prefer", Proof::Full),
            ("postgres://a@db.example.org/x?sslmode=disable", Proof::None),
            ("postgres://a@localhost/x?sslmode=verify-full", Proof::Full),
        ] {
            assert_eq!(read(url).expect(url).proof, expect, "{url}");
        }
        assert!(read("postgres://a@h/x?sslmode=maybe").is_err());
    }

    #[test]
    fn a_password_comes_from_the_user_alone() {
        let error = read("postgres://a:secret@localhost/x").expect_err("a password");
        assert!(!error.to_string().contains("secret"), "{error}");
        let by_user = Environment {
            url: Some("postgres://a:secret@localhost/x".to_owned()),
            ..Environment::default()
        };
        let target = Target::read("", &by_user).expect("the user may");
        assert_eq!(target.shown, "localhost:5432/x");
    }

    #[test]
    fn without_an_address_it_says_what_to_set() {
        let error = read("").expect_err("none");
        assert!(error.hint().is_some_and(|it| it.contains("engine.url")));
        let by_user = Environment {
            host: Some("db".to_owned()),
            port: Some("6000".to_owned()),
            database: Some("team".to_owned()),
            ..Environment::default()
        };
        let target = Target::read("", &by_user).expect("a host");
        assert_eq!(target.shown, "db:6000/team");
    }
}
