//! What comes from others: licences, sources, versions and build scripts, held
//! to `deny.toml` without a network. Known holes are for `cargo audit`, which
//! needs a list that changes every day.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use toml_edit::DocumentMut;

const REGISTRY: &str = "registry+";

fn read(name: &str) -> DocumentMut {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(name);
    let text = fs::read_to_string(path).expect(name);
    text.parse().expect(name)
}

/// The texts of a list in `deny.toml`; of tables, their `crate`.
fn listed(rules: &DocumentMut, table: &[&str], key: &str) -> Vec<String> {
    let mut item = rules.as_item();
    for step in table {
        item = &item[step];
    }
    let list = item[key].as_array().expect(key).iter();
    list.map(|it| match it.as_inline_table() {
        Some(table) => table["crate"].as_str().expect("a name").to_owned(),
        None => it.as_str().expect("a text").to_owned(),
    })
    .collect()
}

/// The crates of a lock file that are not ours: name, version and its table.
fn locked(lock: &DocumentMut) -> Vec<(String, String, &toml_edit::Table)> {
    let packages = lock["package"].as_array_of_tables().expect("packages");
    let text =
        |table: &toml_edit::Table, key: &str| table[key].as_str().expect("a text").to_owned();
    packages
        .iter()
        .filter(|it| it.contains_key("source"))
        .map(|it| (text(it, "name"), text(it, "version"), it))
        .collect()
}

#[test]
fn every_crate_comes_from_the_registry_with_its_checksum() {
    for file in ["Cargo.lock", "fuzz/Cargo.lock"] {
        let lock = read(file);
        let packages = locked(&lock);
        assert!(packages.len() > 50, "{file} lists what we use");
        for (name, version, table) in packages {
            let source = table["source"].as_str().expect("a text");
            assert!(
                source.starts_with(REGISTRY),
                "{name}@{version} comes from `{source}`; only the registry keeps what it published"
            );
            let sum = table.get("checksum").and_then(|it| it.as_str());
            let whole = sum.is_some_and(|it| it.len() == 64);
            assert!(whole, "{name}@{version} has no checksum in {file}");
        }
    }
}

#[test]
fn no_crate_is_there_twice_or_unwanted() {
    let (lock, rules) = (read("Cargo.lock"), read("deny.toml"));
    let skipped = listed(&rules, &["bans"], "skip");
    let unwanted = listed(&rules, &["bans"], "deny");
    let mut versions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let packages = locked(&lock);
    for (name, version, _) in &packages {
        assert!(
            !unwanted.contains(name),
            "{name} opens connections, and nothing here does; `cargo tree -i {name}` says who wants it"
        );
        let known = format!("{name}@{version}");
        if !skipped.contains(&known) {
            versions
                .entry(name.clone())
                .or_default()
                .push(version.clone());
        }
    }
    for (name, versions) in versions {
        assert_eq!(
            versions.len(),
            1,
            "{name} is there in versions {versions:?}; `cargo update` may join them, else list the \
             older in deny.toml under `skip` with who needs it"
        );
    }
    for known in skipped {
        let there = packages
            .iter()
            .any(|it| format!("{}@{}", it.0, it.1) == known);
        assert!(there, "{known} is gone: take it out of `skip` in deny.toml");
    }
}

/// What cargo knows of all crates, of every platform; none where some were
/// never fetched.
fn metadata() -> Option<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    if !output.status.success() {
        testkit::skip("crates of other platforms are not here; `cargo fetch --locked` gets them");
        return None;
    }
    Some(serde_json::from_slice(&output.stdout).expect("cargo prints JSON"))
}

/// Crates that connect to servers, or that only those use which do.
const CLIENTS: [&str; 25] = [
    "actix-web",
    "async-std",
    "aws-lc-rs",
    "curl",
    "h2",
    "hyper-rustls",
    "hyper-tls",
    "isahc",
    "memory-forge-engines",
    "native-tls",
    "neo4rs",
    "openssl",
    "postgres-protocol",
    "postgres-types",
    "reqwest",
    "ring",
    "rustls",
    "rustls-native-certs",
    "rustls-pki-types",
    "rustls-webpki",
    "sqlx",
    "tokio-postgres",
    "tokio-rustls",
    "ureq",
    "webpki-roots",
];

/// "`memory-forge` has no TLS, no database driver and no HTTP client in its
/// dependency tree": what ships, on every platform, without the tests' crates.
#[test]
#[cfg_attr(windows, ignore = "asks cargo, and the answer is that of every system")]
fn the_program_links_no_client_of_a_server() {
    let tree = |platforms: &[&str]| {
        let output = Command::new(env!("CARGO"))
            .args(["tree", "-e", "normal,build", "-p", "memory-forge"])
            .args(["--prefix", "none", "--format", "{p}|{f}"])
            .args(["--locked", "--offline"])
            .args(platforms)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .expect("cargo runs");
        let tree = String::from_utf8(output.stdout).expect("cargo prints text");
        output.status.success().then_some(tree)
    };
    // Crates of other platforms may never have been fetched.
    let tree = tree(&["--target", "all"]).or_else(|| tree(&[]));
    let tree = tree.expect("the crates of this build are here");
    let mut crates = 0;
    for line in tree.lines().filter(|line| !line.is_empty()) {
        let (package, features) = line.split_once('|').expect("a package with its features");
        let name = package.split(' ').next().unwrap_or_default();
        let features: Vec<&str> = features.trim_end_matches(" (*)").split(',').collect();
        crates += 1;
        assert!(!CLIENTS.contains(&name), "memory-forge links {name}");
        // What serves a page may be asked, and asks nobody.
        if name.starts_with("hyper") {
            assert!(!features.contains(&"client"), "{name} has a client: {line}");
        }
        if name == "rmcp" {
            let is_client = |it: &&str| it.contains("client") || *it == "reqwest";
            assert!(!features.iter().any(is_client), "{line}");
        }
    }
    assert!(crates > 50, "the tree was read: {crates}");
}

fn text<'a>(package: &'a Value, key: &str) -> &'a str {
    package[key].as_str().unwrap_or_default()
}

#[test]
#[cfg_attr(windows, ignore = "asks cargo, and the answer is that of every system")]
fn every_licence_is_one_that_we_may_pass_on() {
    let Some(metadata) = metadata() else { return };
    let allowed = listed(&read("deny.toml"), &["licenses"], "allow");
    for package in metadata["packages"].as_array().expect("packages") {
        let (name, licence) = (text(package, "name"), text(package, "license"));
        assert!(
            may_be_used(licence, &allowed),
            "{name} is under `{licence}`, which deny.toml does not allow"
        );
    }
}

/// Path dependencies without a version are only right where nothing is published.
#[test]
#[cfg_attr(windows, ignore = "asks cargo, and the answer is that of every system")]
fn no_crate_of_ours_can_be_published_by_mistake() {
    let Some(metadata) = metadata() else { return };
    let packages = metadata["packages"].as_array().expect("packages").iter();
    let ours: Vec<&Value> = packages.filter(|it| it["source"].is_null()).collect();
    assert!(ours.len() > 5);
    for package in ours {
        let nowhere = package["publish"].as_array().is_some_and(Vec::is_empty);
        let name = text(package, "name");
        assert!(nowhere, "{name} needs `publish = false` in its Cargo.toml");
    }
}

#[test]
#[cfg_attr(windows, ignore = "asks cargo, and the answer is that of every system")]
fn every_build_script_was_read() {
    let Some(metadata) = metadata() else { return };
    let reviewed = listed(
        &read("deny.toml"),
        &["bans", "build"],
        "allow-build-scripts",
    );
    let mut found = Vec::new();
    for package in metadata["packages"].as_array().expect("packages") {
        let builds = |it: &&Value| it["kind"][0] == "custom-build";
        let targets = package["targets"].as_array().expect("targets");
        let Some(script) = targets.iter().find(builds) else {
            continue;
        };
        let name = format!("{}@{}", text(package, "name"), text(package, "version"));
        assert!(
            reviewed.contains(&name),
            "{name} runs a build script that nobody has read. Read `{}`; if it fetches nothing and \
             starts nothing but compilers, list it in deny.toml under `allow-build-scripts`",
            text(script, "src_path")
        );
        found.push(name);
    }
    for name in reviewed {
        assert!(
            found.contains(&name),
            "{name} is gone: take it out of deny.toml"
        );
    }
}

/// Whether an expression such as `(MIT OR X) AND Y` can be met. `/` is how
/// `OR` was once written.
fn may_be_used(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression
        .replace('/', " OR ")
        .replace('(', " ( ")
        .replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut at = 0;
    !words.is_empty() && either(&words, &mut at, allowed) && at == words.len()
}

fn either(words: &[&str], at: &mut usize, allowed: &[String]) -> bool {
    let mut met = both(words, at, allowed);
    while words.get(*at) == Some(&"OR") {
        *at += 1;
        met |= both(words, at, allowed);
    }
    met
}

fn both(words: &[&str], at: &mut usize, allowed: &[String]) -> bool {
    let mut met = one(words, at, allowed);
    while words.get(*at) == Some(&"AND") {
        *at += 1;
        met &= one(words, at, allowed);
    }
    met
}

fn one(words: &[&str], at: &mut usize, allowed: &[String]) -> bool {
    let Some(&word) = words.get(*at) else {
        return false;
    };
    *at += 1;
    if word == "(" {
        let met = either(words, at, allowed);
        *at += 1;
        return met;
    }
    let mut name = word.to_owned();
    if words.get(*at) == Some(&"WITH") {
        name = format!("{word} WITH {}", words.get(*at + 1).unwrap_or(&""));
        *at += 2;
    }
    allowed.contains(&name)
}

#[test]
fn licences_are_read_as_they_are_meant() {
    let allowed = ["MIT", "Zlib", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned);
    let check = |expression: &str, expect: bool| {
        assert_eq!(may_be_used(expression, &allowed), expect, "{expression}");
    };
    check("MIT", true);
    check("MIT OR GPL-3.0", true);
    check("MIT/GPL-3.0", true);
    check("MIT AND GPL-3.0", false);
    check("(GPL-3.0 OR MIT) AND Zlib", true);
    check("(GPL-3.0 OR LGPL-2.1) AND Zlib", false);
    check("Apache-2.0 WITH LLVM-exception OR GPL-3.0", true);
    check("Apache-2.0", false);
    check("GPL-3.0", false);
    check("", false);
}

/// The C parts notice when a buffer overflows. The address is fixed where the
/// loader's work would double a hook: "unless a measurement in one run shows
/// that it costs a prompt hook more than 10 %".
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn the_program_has_stack_protection_and_the_address_that_the_architecture_states() {
    let program = fs::read(env!("CARGO_BIN_EXE_memory-forge")).expect("it was just built");
    // The type in the header of an ELF file: 2 is a fixed address, 3 is none.
    assert_eq!(program[16..18], [2, 0]);
    let guard = b"__stack_chk_fail";
    assert!(program.windows(guard.len()).any(|it| it == guard));
}
