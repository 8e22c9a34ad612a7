//! A release of a stand-in program, installed in every way that this machine
//! can run. `cargo xtask dist --check` does the same with the real one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use packing::archive::Member;
use packing::channels::Published;
use packing::check::{Outcome, check_ways_in, print_outcomes};
use packing::release::{Built, Release};
use packing::table::{self, PROGRAMS, TARGETS, Target};
use packing::trust;
use serde_json::Value;

/// Answers every question with the path that the checks look for.
const PROGRAM: &str = "#!/bin/sh\necho \"memory-forge, knowledge/tides.md\"\n";

fn repository() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.ancestors().nth(2);
    root.expect("the crate lies two levels below").to_owned()
}

/// A release of both programs for every target.
fn release() -> Release {
    let mut built = Vec::new();
    for program in &PROGRAMS {
        for target in &TARGETS {
            // Of a size at which a flipped bit falls into the program.
            let filler = format!("# {} {}\n", program.name, target.rust).repeat(400);
            let bytes = format!("{PROGRAM}{filler}").into_bytes();
            built.push(Built {
                program,
                target,
                bytes,
            });
        }
    }
    let texts = [
        "man/memory-forge.1",
        "completions/memory-forge.bash",
        "completions/_memory-forge",
    ];
    Release {
        repository: repository(),
        built,
        texts: texts
            .iter()
            .map(|path| Member::file(*path, "text\n"))
            .collect(),
        commit: Some("0".repeat(40)),
        signed_sums: Some((b"sums\n".to_vec(), b"signature\n".to_vec())),
    }
}

fn files(release: &Release) -> BTreeMap<String, Vec<u8>> {
    release
        .pack()
        .expect("a release can be packed")
        .into_iter()
        .collect()
}

fn json(files: &BTreeMap<String, Vec<u8>>, name: &str) -> Value {
    let bytes = files
        .get(name)
        .unwrap_or_else(|| panic!("there is no `{name}`"));
    serde_json::from_slice(bytes).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn every_way_in_installs_a_program_that_answers() {
    let host = Target::from_name("x86_64-unknown-linux-gnu").expect("it is in the table");
    let outcomes = check_ways_in(&release(), host).unwrap_or_else(|error| panic!("{error:?}"));
    print_outcomes(&mut std::io::stdout(), &outcomes).expect("there is an output");
    let always = [
        "checksums",
        "archive",
        "install.sh",
        "OCI image",
        "cargo-binstall",
    ];
    for (name, outcome) in outcomes {
        if always.contains(&name) {
            assert_eq!(outcome, Outcome::Works, "{name}");
        }
    }
}

#[test]
fn the_same_programs_give_the_same_bytes() {
    assert!(release().pack().expect("packed") == release().pack().expect("packed"));
}

#[test]
fn every_target_is_in_every_channel_that_knows_its_system() {
    let files = files(&release());
    let ends = |end: &str| files.keys().filter(|name| name.ends_with(end)).count();
    for target in &TARGETS {
        for program in &PROGRAMS {
            assert!(files.contains_key(&table::archive_name(program, target)));
        }
    }
    assert_eq!(ends(".whl"), 2 * TARGETS.len());
    assert_eq!(ends(".tgz"), 2 * (TARGETS.len() + 1));
    assert_eq!(ends(".mcpb"), TARGETS.len());
    assert_eq!(ends(".deb"), 4);
    assert_eq!(ends(".rb"), 2);
    assert_eq!(ends(".scoop.json"), 2);
    assert_eq!(ends("-oci.tar"), 2);
    assert!(files.contains_key("install.sh") && files.contains_key("install.ps1"));
}

#[test]
fn no_placeholder_is_left_in_a_script() {
    let files = files(&release());
    for name in ["install.sh", "install.ps1"] {
        let text = String::from_utf8_lossy(&files[name]);
        let left = text.lines().find(|line| {
            let mut words = line.split('@').skip(1).step_by(2);
            words.any(|word| !word.is_empty() && word.chars().all(|c| c.is_ascii_uppercase()))
        });
        assert_eq!(left, None, "{name}");
    }
}

#[test]
fn manifests_of_windows_name_the_archive_and_its_checksum() {
    let files = files(&release());
    let target = Target::from_name("x86_64-pc-windows-msvc").expect("it is in the table");
    let archive = table::archive_name(&PROGRAMS[0], target);
    let sum = packing::archive::sha256(&files[&archive]);
    let scoop = json(&files, "memory-forge.scoop.json");
    let entry = &scoop["architecture"]["64bit"];
    assert_eq!(entry["hash"], sum.as_str());
    assert!(
        entry["url"]
            .as_str()
            .is_some_and(|url| url.ends_with(&archive))
    );
    let installer = String::from_utf8_lossy(&files["MemoryForge.MemoryForge.installer.yaml"]);
    assert!(installer.contains(&sum.to_uppercase()), "{installer}");
    let script = String::from_utf8_lossy(&files["install.ps1"]);
    assert!(script.contains(&sum), "{script}");
}

/// The registry's own limits, and its proof that the packages are ours: the name
/// as visible text, as comments do not reach its page.
#[test]
fn the_registry_s_entry_names_what_is_published_and_nothing_else() {
    let all = files(&release());
    let entry = json(&all, "server.json");
    assert_eq!(entry["version"], table::VERSION);
    let description = entry["description"].as_str().expect("a text");
    assert!(
        (1..=100).contains(&description.chars().count()),
        "{description}"
    );
    let packages = entry["packages"].as_array().expect("a list");
    assert_eq!(packages.len(), 2 + TARGETS.len());
    for package in packages {
        let kind = package["registryType"].as_str().expect("a text");
        assert_eq!(package["transport"]["type"], "stdio");
        if kind == "mcpb" {
            let address = package["identifier"].as_str().expect("a text");
            let name = address.rsplit('/').next().expect("a name");
            let sum = packing::archive::sha256(&all[name]);
            assert_eq!(package["fileSha256"], sum.as_str(), "{name}");
        } else {
            assert!(["npm", "pypi"].contains(&kind), "{kind}");
            assert_eq!(package["packageArguments"][0]["value"], "mcp");
        }
    }
    for readme in ["README.md", PROGRAMS[0].readme] {
        let text = std::fs::read_to_string(repository().join(readme)).expect("it is there");
        let mark = format!("mcp-name: {}", table::SERVER);
        let is_visible = |line: &str| line.contains(&mark) && !line.contains("<!--");
        assert!(
            text.lines().any(is_visible),
            "{readme} has no line `{mark}`"
        );
    }

    let mut small = release();
    small
        .built
        .retain(|built| built.target.rust == "x86_64-unknown-linux-gnu");
    let entry = json(&files(&small), "server.json");
    assert_eq!(entry["packages"].as_array().map(Vec::len), Some(3));
}

#[test]
fn the_bill_of_materials_has_what_is_compiled_in_and_no_tools_of_tests() {
    let (name, bytes) = trust::bill_of_materials(&repository()).expect("it is drawn");
    let files: BTreeMap<String, Vec<u8>> = [(name.clone(), bytes)].into();
    let bill = json(&files, &name);
    assert_eq!(bill["bomFormat"], "CycloneDX");
    let components = bill["components"].as_array().expect("a list");
    let find = |name: &str| components.iter().find(|it| it["name"] == name);
    let sqlite = find("libsqlite3-sys").expect("SQLite is compiled in");
    assert!(
        sqlite["hashes"][0]["content"]
            .as_str()
            .is_some_and(|sum| sum.len() == 64)
    );
    assert!(sqlite["licenses"][0]["expression"].is_string(), "{sqlite}");
    assert!(find("memory-forge").is_some() && find("proptest").is_none());
    assert!(find("insta").is_none() && find("testkit").is_none());
    let known: Vec<&Value> = components.iter().map(|it| &it["bom-ref"]).collect();
    for entry in bill["dependencies"].as_array().expect("a list") {
        for used in entry["dependsOn"].as_array().expect("a list") {
            assert!(known.contains(&used), "{used}");
        }
    }
}

#[test]
fn the_provenance_names_every_file_and_the_commit() {
    let files: Vec<Published> = release().pack().expect("packed");
    let table: BTreeMap<String, Vec<u8>> = files.iter().cloned().collect();
    let statement = json(&table, trust::PROVENANCE_FILE);
    let subjects = statement["subject"].as_array().expect("a list");
    // All but the statement itself and the list of checksums.
    assert_eq!(subjects.len(), files.len() - 2);
    let sources = &statement["predicate"]["buildDefinition"]["resolvedDependencies"];
    assert_eq!(sources[0]["digest"]["gitCommit"], "0".repeat(40).as_str());
}

/// Texts that marketplaces read from the repository itself, not from a release.
#[test]
fn plugins_have_the_version_and_the_text_of_the_table() {
    for (file, version, text) in [
        (
            ".claude-plugin/marketplace.json",
            None,
            "/plugins/0/description",
        ),
        (
            "plugin/.claude-plugin/plugin.json",
            Some("/version"),
            "/description",
        ),
        (
            "plugin/.codex-plugin/plugin.json",
            Some("/version"),
            "/description",
        ),
    ] {
        let path = repository().join(file);
        let value: Value =
            serde_json::from_slice(&std::fs::read(path).expect("it is there")).expect("JSON");
        assert_eq!(
            value.pointer(text).and_then(Value::as_str),
            Some(table::PLUGIN_SUMMARY),
            "{file}"
        );
        if let Some(version) = version {
            assert_eq!(
                value.pointer(version),
                Some(&Value::from(table::VERSION)),
                "{file}"
            );
        }
    }
}
