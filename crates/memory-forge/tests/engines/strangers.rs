//! A server that is somebody else's: it proves its name before it hears a
//! question, it asks for a password, and the user's own file may hold that.
//! On PostgreSQL 15, since the other one was built without TLS.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use testkit::TestWorkspace;
use testkit::postgres::Version;

use crate::organisation::{Organisation, found, push};

const RULES: &str = "[req]
distinguished_name = name
[name]
[authority]
basicConstraints = critical, CA:TRUE
[server]
basicConstraints = CA:FALSE
subjectAltName = DNS:localhost
";

/// Makes a certificate and its key, as `<name>.pem` and `<name>.key`.
fn certificate(folder: &Path, name: &str, more: &[&str]) -> bool {
    let made = Command::new("openssl")
        .current_dir(folder)
        .args(["req", "-x509", "-config", "rules", "-nodes", "-days", "2"])
        .args(["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"])
        .args(["-extensions", name, "-subj", &format!("/CN={name}")])
        .args(["-keyout", &format!("{name}.key")])
        .args(["-out", &format!("{name}.pem")])
        .args(more)
        .output();
    made.is_ok_and(|it| it.status.success())
}

#[test]
fn a_server_elsewhere_proves_its_name_and_asks_for_a_password() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    fs::write(folder.join("rules"), RULES).expect("written");
    let signer = ["-CA", "authority.pem", "-CAkey", "authority.key"];
    if !certificate(folder, "authority", &[]) || !certificate(folder, "server", &signer) {
        return testkit::skip("there is no openssl 3 to make certificates with");
    }
    let Some(org) = Organisation::alone(Version::Fifteen) else {
        return;
    };
    org.init("acme", &["ann"]).ok();
    let ann = org.login("ann");
    let made = |name: &str| fs::read_to_string(folder.join(name)).expect("it was made");
    org.server
        .require_tls(&made("server.pem"), &made("server.key"));
    let given = format!("alter role {ann} password 'a:b c'");
    org.sql("postgres", &given).expect("a password");

    let ws = org.workspace("ann", "acme", "w", "all", "");
    let ws = ws.env("USER", &ann);
    ws.write("knowledge/walrus.md", "# Walrus\n\nThe walrus sleeps.\n");
    fs::create_dir_all(ws.home()).expect("a home");
    let authority = folder.join("authority.pem");
    let address = |ws: &TestWorkspace, host: &str, rest: &str| {
        let (port, database) = (org.server.port, &org.database);
        ws.write(
            "memory-forge.toml",
            format!(
                "[engine]\nurl = \"postgres://{host}:{port}/{database}?{rest}\"\ntenant = \"acme\"\nworkspace = \"w\"\n"
            ),
        );
    };
    let verified = format!("sslmode=verify-full&sslrootcert={}", authority.display());
    let refused = |ws: &TestWorkspace, why: &str| {
        let output = ws.run(&["engine", "push"]);
        let told = output.fails(1);
        assert!(told.contains(why) && !told.contains("a:b c"), "{told}");
    };

    address(&ws, "localhost", &verified);
    refused(&ws, "`~/.pgpass`");
    let port = org.server.port;
    let passwords = ws.home().join(".pgpass");
    fs::write(
        &passwords,
        format!("# mine\nlocalhost:1:*:*:other\nlocalhost:{port}:*:{ann}:a\\:b c\n"),
    )
    .expect("written");
    fs::set_permissions(&passwords, fs::Permissions::from_mode(0o644)).expect("set");
    refused(&ws, "others may read it");
    fs::set_permissions(&passwords, fs::Permissions::from_mode(0o600)).expect("set");
    assert_eq!(push(&ws)["added"], 1);
    assert_eq!(found(&ws, "where does the walrus sleep", &[]).len(), 1);

    // The environment goes before the file.
    let ws = ws.env("PGPASSWORD", "wrong");
    refused(&ws, "password authentication failed");
    let ws = ws.env("PGPASSWORD", "a:b c");
    assert_eq!(push(&ws)["unchanged"], 1);

    // Not the name of the certificate, not the authority, not encrypted.
    address(&ws, "127.0.0.1", &verified);
    refused(&ws, "certificate");
    address(&ws, "localhost", "sslmode=verify-full");
    refused(&ws, "certificate");
    address(&ws, "localhost", "sslmode=disable");
    refused(&ws, "pg_hba.conf");
}
