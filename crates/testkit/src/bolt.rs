//! Real graph servers, each started once a test binary and gone with it.

use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::fetched;

/// How long a server may take to open its port; Java on a busy machine is slow.
const PATIENCE: Duration = Duration::from_secs(240);

pub struct BoltServer {
    pub name: &'static str,
    pub port: u16,
    pub user: &'static str,
    pub password: &'static str,
    pub database: Option<&'static str>,
    /// The certificate of the authority that signed the server's, where it
    /// speaks TLS as well.
    pub authority: Option<PathBuf>,
    folder: PathBuf,
    /// Its end of the pipe: when it closes, also because this process died, the
    /// shell on the other end ends the server and deletes its folder.
    _child: Child,
}

impl BoltServer {
    pub fn url(&self) -> String {
        format!("bolt://127.0.0.1:{}", self.port)
    }

    /// Skips the running test where there is no Neo4j. `tmpdir` is
    /// `CARGO_TARGET_TMPDIR`.
    pub fn neo4j(tmpdir: &str) -> Option<&'static BoltServer> {
        static SERVER: OnceLock<BoltServer> = OnceLock::new();
        let home = fetched::program(tmpdir, "engines", "neo4j")?;
        Some(SERVER.get_or_init(|| started(|folder, port| neo4j(&home, folder, port, false))))
    }

    /// One of its own that checks passwords; the first one is `neo4j`, and has to
    /// be changed.
    pub fn neo4j_with_login(tmpdir: &str) -> Option<BoltServer> {
        let home = fetched::program(tmpdir, "engines", "neo4j")?;
        Some(started(|folder, port| neo4j(&home, folder, port, true)))
    }

    /// Stops the process, so that the kernel accepts and nobody answers, until
    /// the result is dropped.
    pub fn freeze(&self) -> crate::postgres::FrozenServer {
        let pid = std::fs::read_to_string(self.folder.join("pid")).expect("it runs");
        crate::postgres::FrozenServer::stop(vec![pid.trim().to_owned()])
    }

    /// Skips the running test where there is no ArcadeDB.
    pub fn arcadedb(tmpdir: &str) -> Option<&'static BoltServer> {
        static SERVER: OnceLock<BoltServer> = OnceLock::new();
        let home = fetched::program(tmpdir, "engines", "arcadedb")?;
        Some(SERVER.get_or_init(|| started(|folder, port| arcadedb(&home, folder, port))))
    }
}

/// A server as it is before its process.
struct Plan {
    name: &'static str,
    user: &'static str,
    password: &'static str,
    database: Option<&'static str>,
    authority: Option<PathBuf>,
    program: PathBuf,
    arguments: Vec<String>,
}

fn neo4j(home: &Path, folder: &Path, port: u16, login: bool) -> Plan {
    let conf = folder.join("conf");
    std::fs::create_dir_all(&conf).expect("a folder can be made");
    let authority = certificates(folder);
    let tls = match authority {
        Some(_) => format!(
            "server.bolt.tls_level=OPTIONAL\n\
             dbms.ssl.policy.bolt.enabled=true\n\
             dbms.ssl.policy.bolt.base_directory={}\n\
             dbms.ssl.policy.bolt.private_key=server.key\n\
             dbms.ssl.policy.bolt.public_certificate=server.crt\n\
             dbms.ssl.policy.bolt.client_auth=NONE\n",
            folder.join("tls").display()
        ),
        None => String::new(),
    };
    let settings = format!(
        "server.bolt.listen_address=127.0.0.1:{port}\n\
         server.http.enabled=false\n\
         server.https.enabled=false\n\
         dbms.security.auth_enabled={login}\n\
         dbms.usage_report.enabled=false\n\
         server.memory.pagecache.size=64m\n\
         db.tx_log.preallocate=false\n\
         db.tx_log.rotation.size=1m\n{tls}"
    );
    std::fs::write(conf.join("neo4j.conf"), settings).expect("a file can be written");
    let java = ["-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"];
    let mut arguments: Vec<String> = java.iter().map(|it| (*it).to_owned()).collect();
    arguments.extend([
        "-cp".to_owned(),
        format!("{}/lib/*", home.display()),
        "org.neo4j.server.CommunityEntryPoint".to_owned(),
        format!("--home-dir={}", folder.display()),
        format!("--config-dir={}", conf.display()),
        "--console-mode".to_owned(),
    ]);
    Plan {
        name: "Neo4j",
        user: "neo4j",
        password: "unchecked",
        database: None,
        authority,
        program: PathBuf::from("java"),
        arguments,
    }
}

fn arcadedb(home: &Path, folder: &Path, port: u16) -> Plan {
    let home = home.join("arcadedb_embedded");
    let set = |name: &str, value: &str| format!("-Darcadedb.{name}={value}");
    Plan {
        name: "ArcadeDB",
        user: "root",
        password: "playwithdata",
        database: Some("forge"),
        authority: None,
        program: home.join("jre/bin/java"),
        arguments: vec![
            "-Xmx512m".to_owned(),
            "-XX:+UseSerialGC".to_owned(),
            set("server.rootPath", &folder.display().to_string()),
            set("server.rootPassword", "playwithdata"),
            set(
                "server.plugins",
                "Bolt:com.arcadedb.bolt.BoltProtocolPlugin",
            ),
            set("bolt.port", &port.to_string()),
            set("bolt.host", "127.0.0.1"),
            set("server.httpIncomingHost", "127.0.0.1"),
            set("server.httpIncomingPort", &free_port().to_string()),
            set("server.defaultDatabases", "forge[root]"),
            "-cp".to_owned(),
            format!("{}/jars/*", home.display()),
            "com.arcadedb.server.ArcadeDBServer".to_owned(),
        ],
    }
}

/// An authority and a certificate by it for the loopback, where there is an
/// `openssl` to make them.
fn certificates(folder: &Path) -> Option<PathBuf> {
    let tls = folder.join("tls");
    std::fs::create_dir_all(&tls).ok()?;
    std::fs::write(tls.join("leaf.ext"), "subjectAltName=IP:127.0.0.1\n").ok()?;
    let steps = [
        "req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=authority -keyout ca.key -out ca.crt",
        "req -newkey rsa:2048 -nodes -subj /CN=server -keyout server.key -out server.csr",
        "x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 30 \
         -extfile leaf.ext -out server.crt",
    ];
    for step in steps {
        let done = Command::new("openssl")
            .args(step.split_whitespace())
            .current_dir(&tls)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        if !done.is_ok_and(|it| it.success()) {
            return None;
        }
    }
    Some(tls.join("ca.crt"))
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback has a free port");
    listener.local_addr().expect("it is bound").port()
}

/// Waits for the port. Somebody else may have taken it meanwhile, so a server
/// that ends at once is started again with another.
fn started(plan: impl Fn(&Path, u16) -> Plan) -> BoltServer {
    let mut log = String::new();
    for _ in 0..3 {
        let folder = tempfile::tempdir().expect("a folder can be made").keep();
        let port = free_port();
        let plan = plan(&folder, port);
        let mut child = Command::new("sh")
            .arg("-c")
            .arg(
                "folder=\"$1\"; shift; \
                 { sh -c 'echo $$ >\"$0/pid\"; exec \"$@\"' \"$folder\" \"$@\" \
                 >\"$folder/said\" 2>&1 </dev/null; echo ended; } & \
                 read -r _; kill -9 $(cat \"$folder/pid\"); wait; rm -rf \"$folder\"",
            )
            .arg("sh")
            .arg(&folder)
            .arg(&plan.program)
            .args(&plan.arguments)
            .current_dir(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("there is a shell");
        let told = child.stdout.take().expect("it is piped");
        let (sender, ended) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let mut line = String::new();
            let _ = BufReader::new(told).read_line(&mut line);
            let _ = sender.send(());
        });
        let since = Instant::now();
        while ended.try_recv().is_err() {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return BoltServer {
                    name: plan.name,
                    port,
                    user: plan.user,
                    password: plan.password,
                    database: plan.database,
                    authority: plan.authority,
                    folder,
                    _child: child,
                };
            }
            assert!(
                since.elapsed() < PATIENCE,
                "{} opened no port:\n{}",
                plan.name,
                std::fs::read_to_string(folder.join("said")).unwrap_or_default()
            );
            std::thread::sleep(Duration::from_millis(100));
        }
        log = std::fs::read_to_string(folder.join("said")).unwrap_or_default();
        drop(child.stdin.take());
        let _ = child.wait();
    }
    panic!("the server ended three times:\n{log}");
}
