//! A real PostgreSQL server in a temporary folder, on a port of its own, as a
//! user without rights; stopped when dropped, also by a panic.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, Weak};

use tempfile::TempDir;

/// What is started, by its name in `scripts/engines.sh`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    Fifteen,
    Eighteen,
}

impl Version {
    fn name(self) -> &'static str {
        match self {
            Version::Fifteen => "postgres-15",
            Version::Eighteen => "postgres-18",
        }
    }

    fn programs(self) -> &'static str {
        match self {
            Version::Fifteen => "usr/lib/postgresql/15/bin",
            Version::Eighteen => "pgserver/pginstall/bin",
        }
    }
}

pub struct Postgres {
    home: PathBuf,
    version: Version,
    folder: TempDir,
    settings: String,
    pub port: u16,
}

static SHARED: Mutex<[Weak<Postgres>; 2]> = Mutex::new([Weak::new(), Weak::new()]);

/// One server for all tests that run at the moment, or a note that the running
/// test is skipped. `tmpdir` is `CARGO_TARGET_TMPDIR`.
pub fn shared(tmpdir: &str, version: Version) -> Option<Arc<Postgres>> {
    let mut all = SHARED
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    let place = &mut all[version as usize];
    if let Some(running) = place.upgrade() {
        return Some(running);
    }
    let started = Arc::new(Postgres::start(tmpdir, version)?);
    *place = Arc::downgrade(&started);
    Some(started)
}

impl Postgres {
    /// A server of its own, or a note that the running test is skipped.
    pub fn start(tmpdir: &str, version: Version) -> Option<Postgres> {
        Postgres::start_with(tmpdir, version, "")
    }

    /// The same with settings: `-c shared_buffers=2GB`.
    pub fn start_with(tmpdir: &str, version: Version, settings: &str) -> Option<Postgres> {
        let home = crate::fetched::program(tmpdir, "engines", version.name())?;
        let mut server = Postgres::prepare(home, version);
        server.settings = settings.to_owned();
        let data = server.data();
        let made = server
            .command("initdb")
            .args([
                "-D",
                &data,
                "-A",
                "trust",
                "-U",
                "postgres",
                "--no-sync",
                "-E",
                "UTF8",
            ])
            .output()
            .expect("initdb runs");
        assert!(
            made.status.success(),
            "{}",
            String::from_utf8_lossy(&made.stderr)
        );
        Some(server.started())
    }

    fn prepare(home: PathBuf, version: Version) -> Postgres {
        let folder = tempfile::Builder::new()
            .prefix("memory-forge-pg-")
            .tempdir();
        let folder = folder.expect("a temporary directory can be made");
        give_away(folder.path());
        Postgres {
            home,
            version,
            folder,
            settings: String::new(),
            port: 0,
        }
    }

    /// Starts it on some free port; another program may be faster in taking it.
    fn started(mut self) -> Postgres {
        for _ in 0..10 {
            let free = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr());
            self.port = free.expect("the loopback has a free port").port();
            if self.run() {
                return self;
            }
        }
        panic!("the server does not start:\n{}", self.log());
    }

    fn run(&self) -> bool {
        let options = format!(
            "-h 127.0.0.1 -p {} -k {} -c fsync=off -c max_connections=60 {}",
            self.port,
            self.folder.path().display(),
            self.settings
        );
        let log = self.folder.path().join("log");
        let status = self
            .command("pg_ctl")
            .args(["-D", &self.data(), "-w", "-t", "120", "-l"])
            .arg(log)
            .args(["-o", &options, "start"])
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .status();
        status.is_ok_and(|it| it.success())
    }

    /// A copy that follows this one and only reads.
    pub fn replica(&self) -> Postgres {
        let mut copy = Postgres::prepare(self.home.clone(), self.version);
        copy.settings.clone_from(&self.settings);
        let made = copy
            .command("pg_basebackup")
            .args([
                "-h",
                "127.0.0.1",
                "-p",
                &self.port.to_string(),
                "-U",
                "postgres",
            ])
            .args([
                "-c",
                "fast",
                "-R",
                "-X",
                "stream",
                "--no-sync",
                "-D",
                &copy.data(),
            ])
            .output()
            .expect("pg_basebackup runs");
        assert!(
            made.status.success(),
            "{}",
            String::from_utf8_lossy(&made.stderr)
        );
        copy.started()
    }

    /// PgBouncer in transaction mode before this server, with `size` connections
    /// for each of these logins, or a note that the running test is skipped.
    pub fn pool(&self, tmpdir: &str, logins: &[&str], size: usize) -> Option<ConnectionPool> {
        let home = crate::fetched::program(tmpdir, "engines", "pgbouncer")?;
        let folder = tempfile::Builder::new()
            .prefix("memory-forge-pool-")
            .tempdir()
            .expect("a temporary directory can be made");
        give_away(folder.path());
        let users: String = logins.iter().map(|it| format!("\"{it}\" \"\"\n")).collect();
        self.write(&folder.path().join("users"), &users);
        for _ in 0..10 {
            let free = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr());
            let port = free.expect("the loopback has a free port").port();
            let settings = format!(
                "[databases]\n* = host=127.0.0.1 port={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
                 listen_port = {port}\nunix_socket_dir =\nauth_type = trust\nauth_file = {}\n\
                 pool_mode = transaction\ndefault_pool_size = {size}\nmax_client_conn = 100\n",
                self.port,
                folder.path().join("users").display()
            );
            self.write(&folder.path().join("settings"), &settings);
            let mut command = unprivileged(home.join("usr/sbin/pgbouncer"));
            let mut child = command
                .arg(folder.path().join("settings"))
                .env("LD_LIBRARY_PATH", home.join("usr/lib/x86_64-linux-gnu"))
                .stdout(std::process::Stdio::null())
                .stderr(std::process::Stdio::null())
                .spawn()
                .expect("pgbouncer runs");
            while child.try_wait().is_ok_and(|it| it.is_none()) {
                if std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
                    return Some(ConnectionPool {
                        port,
                        child,
                        _folder: folder,
                    });
                }
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
        }
        panic!("pgbouncer does not start");
    }

    /// From now on a login needs its password, and a connection from this
    /// machine has to be encrypted; the superuser's need not. The certificate
    /// and its key are PEM.
    pub fn require_tls(&self, certificate: &str, key: &str) {
        let data = self.folder.path().join("data");
        for (name, text) in [("server.crt", certificate), ("server.key", key)] {
            self.write(&data.join(name), text);
        }
        let rules =
            "host all postgres 127.0.0.1/32 trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n";
        self.write(&data.join("pg_hba.conf"), rules);
        self.sql("postgres", "postgres", "alter system set ssl = on")
            .expect("the server can encrypt");
        self.sql("postgres", "postgres", "select pg_reload_conf()")
            .expect("it reads its settings again");
        let on = || self.sql("postgres", "postgres", "show ssl").as_deref() == Ok("on");
        while !on() {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }

    /// A file that the server alone may read.
    fn write(&self, path: &Path, text: &str) {
        use std::os::unix::fs::PermissionsExt;
        std::fs::write(path, text).expect("a file can be written");
        let own = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(path, own).expect("it is ours");
        give_away(path);
    }

    /// Ends it as a power cut would.
    pub fn kill(&self) {
        let mut stop = self.command("pg_ctl");
        stop.args(["-D", &self.data(), "-m", "immediate", "-w", "stop"]);
        let _ = stop.output();
    }

    /// Freezes it: the kernel goes on accepting connections, and nobody answers.
    /// It goes on when the result is dropped.
    pub fn freeze(&self) -> FrozenServer {
        let pids = self.processes();
        assert!(!pids.is_empty(), "the server runs");
        FrozenServer::stop(pids)
    }

    /// The postmaster and its children.
    fn processes(&self) -> Vec<String> {
        let file = self.folder.path().join("data/postmaster.pid");
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let Some(postmaster) = text.lines().next().map(str::to_owned) else {
            return Vec::new();
        };
        let children = format!("/proc/{postmaster}/task/{postmaster}/children");
        let children = std::fs::read_to_string(children).unwrap_or_default();
        let children = children.split_whitespace().map(str::to_owned);
        std::iter::once(postmaster).chain(children).collect()
    }

    /// Stops it in good order and starts it again at the same place.
    pub fn restart(&self) {
        let mut stop = self.command("pg_ctl");
        stop.args(["-D", &self.data(), "-m", "fast", "-w", "stop"]);
        let _ = stop.output();
        assert!(self.run(), "the server does not start:\n{}", self.log());
    }

    /// Makes a replica the primary.
    pub fn promote(&self) {
        let mut promote = self.command("pg_ctl");
        promote.args(["-D", &self.data(), "-w", "-t", "120", "promote"]);
        let done = promote.output().expect("pg_ctl runs");
        assert!(
            done.status.success(),
            "{}",
            String::from_utf8_lossy(&done.stderr)
        );
    }

    pub fn url(&self, login: &str, database: &str) -> String {
        format!("postgres://{login}@127.0.0.1:{}/{database}", self.port)
    }

    /// What raw SQL gives for a login, one row a line, or what the server says.
    pub fn sql(&self, login: &str, database: &str, sql: &str) -> Result<String, String> {
        let output = self
            .command("psql")
            .args(["-h", "127.0.0.1", "-p", &self.port.to_string()])
            .args(["-U", login, "-d", database, "-X", "-q", "-A", "-t"])
            .args(["-v", "ON_ERROR_STOP=1", "-c", sql])
            .output()
            .expect("psql runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        if output.status.success() {
            Ok(text(&output.stdout))
        } else {
            Err(text(&output.stderr))
        }
    }

    /// Runs one of the server's own programs against it, such as `pg_dump`, and
    /// returns what it prints.
    pub fn program(&self, name: &str, login: &str, arguments: &[&str]) -> Result<String, String> {
        let output = self
            .command(name)
            .args(["-h", "127.0.0.1", "-p", &self.port.to_string(), "-U", login])
            .args(arguments)
            .output()
            .expect("it runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() {
            Ok(text(&output.stdout))
        } else {
            Err(text(&output.stderr))
        }
    }

    /// Starts a session of psql that prints `held` when it has what it wants, and
    /// keeps it until it is killed.
    pub fn holding(&self, login: &str, database: &str, script: &str) -> std::process::Child {
        use std::io::{BufRead, BufReader, Write};
        let mut session = self
            .command("psql")
            .args(["-h", "127.0.0.1", "-p", &self.port.to_string()])
            .args(["-U", login, "-d", database, "-X", "-q", "-A", "-t"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("psql runs");
        let mut input = session.stdin.take().expect("it is piped");
        input.write_all(script.as_bytes()).expect("psql reads");
        drop(input);
        let output = BufReader::new(session.stdout.take().expect("it is piped"));
        let mut lines = output.lines().map_while(Result::ok);
        assert!(lines.any(|it| it == "held"), "the session holds nothing");
        session
    }

    /// Everything that a session of psql prints, rows, notices and errors alike;
    /// it goes on after an error.
    pub fn session(&self, login: &str, database: &str, script: &str) -> String {
        use std::io::Write;
        let mut session = self
            .command("psql")
            .args(["-h", "127.0.0.1", "-p", &self.port.to_string()])
            .args(["-U", login, "-d", database, "-X", "-q", "-A", "-t"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .expect("psql runs");
        let mut input = session.stdin.take().expect("it is piped");
        let script = script.to_owned();
        let writer = std::thread::spawn(move || input.write_all(script.as_bytes()));
        let output = session.wait_with_output().expect("psql ends");
        writer.join().expect("it writes").expect("psql reads");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        format!("{}\n---\n{}", text(&output.stdout), text(&output.stderr))
    }

    fn data(&self) -> String {
        self.folder.path().join("data").display().to_string()
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    fn command(&self, program: &str) -> Command {
        let program = self.home.join(self.version.programs()).join(program);
        let mut command = unprivileged(program);
        command
            .current_dir(self.folder.path())
            .env("LC_ALL", "C")
            .env(
                "LD_LIBRARY_PATH",
                self.home.join("usr/lib/x86_64-linux-gnu"),
            );
        command
    }
}

/// A program as a user without rights: servers refuse to run as root.
fn unprivileged(program: PathBuf) -> Command {
    if is_root() {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=nobody", "--regid=nogroup", "--clear-groups"]);
        command.arg(program);
        command
    } else {
        Command::new(program)
    }
}

/// A pool of connections before a server; ends when dropped.
pub struct ConnectionPool {
    pub port: u16,
    child: std::process::Child,
    _folder: TempDir,
}

impl Drop for ConnectionPool {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server that is frozen until this is dropped, also by a panic.
pub struct FrozenServer(Vec<String>);

impl FrozenServer {
    pub(crate) fn stop(pids: Vec<String>) -> FrozenServer {
        signal("-STOP", &pids);
        FrozenServer(pids)
    }
}

impl Drop for FrozenServer {
    fn drop(&mut self) {
        signal("-CONT", &self.0);
    }
}

fn signal(which: &str, pids: &[String]) {
    let _ = Command::new("kill").arg(which).args(pids).status();
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.kill();
    }
}

/// To `nobody`, since the server refuses to run as root.
fn give_away(path: &Path) {
    if is_root() {
        let (nobody, nogroup) = (65534, 65534);
        std::os::unix::fs::chown(path, Some(nobody), Some(nogroup))
            .expect("root may give away what is its own");
    }
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    Path::new("/proc/self")
        .metadata()
        .is_ok_and(|it| it.uid() == 0)
}
