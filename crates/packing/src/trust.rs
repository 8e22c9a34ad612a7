//! What lets others check a release: checksums, the bill of materials and the
//! provenance. It makes no keys and no signatures: the owner of a release signs
//! with a program of theirs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::archive::sha256;
use crate::channels::Published;
use crate::channels::npm::pretty;
use crate::release::Built;
use crate::table::{HOMEPAGE, LICENCE, PROGRAMS, VERSION};

/// Checksums of every other file of a release.
pub const SUMS_FILE: &str = "SHA256SUMS";
/// The bill of materials, in the format of CycloneDX.
pub const BILL_FILE: &str = "memory-forge.cdx.json";
/// The provenance, an in-toto statement with the predicate of SLSA.
pub const PROVENANCE_FILE: &str = "memory-forge.intoto.json";
/// Checksums of the programs of a release, which is in every archive.
pub const PROGRAM_SUMS_FILE: &str = "memory-forge.sums";
/// The signature of that file, in the format of minisign.
pub const PROGRAM_SIGNATURE_FILE: &str = "memory-forge.sums.minisig";

/// Reports whether a program has the section in which cargo-auditable keeps the
/// list of crates. The name is the same in programs of every system.
pub fn lists_its_crates(program: &[u8]) -> bool {
    const SECTION: &[u8] = b".dep-v0";
    program.windows(SECTION.len()).any(|part| part == SECTION)
}

/// Returns the checksums of files, a line each.
pub fn sums(files: &[Published]) -> String {
    files
        .iter()
        .map(|(name, bytes)| format!("{}  {name}\n", sha256(bytes)))
        .collect()
}

/// Returns the checksums of the programs, by which `doctor --self` knows its own
/// file: `<sum>  <target>/<file>`.
pub fn program_sums(built: &[Built]) -> String {
    built
        .iter()
        .map(|it| {
            let file = format!("{}{}", it.program.name, it.target.exe_suffix());
            format!("{}  {}/{file}\n", sha256(&it.bytes), it.target.rust)
        })
        .collect()
}

/// Compares a folder of published files with their checksums, and the statement
/// about their origin with both. Every file has to be in the list.
pub fn verify(folder: &Path) -> Result<usize> {
    let read = |name: &str| {
        let path = folder.join(name);
        std::fs::read(&path).with_context(|| format!("Cannot read `{}`", path.display()))
    };
    let list = String::from_utf8(read(SUMS_FILE)?).context("the checksums are not UTF-8")?;
    let mut listed = BTreeMap::new();
    for line in list.lines() {
        let (sum, name) = line
            .split_once("  ")
            .context("a malformed line of checksums")?;
        ensure!(
            !name.contains(['/', '\\']),
            "`{name}` is not the name of a file"
        );
        let found = sha256(&read(name)?);
        ensure!(
            found == sum,
            "`{name}` has the checksum {found} instead of {sum}"
        );
        listed.insert(name.to_owned(), sum.to_owned());
    }
    for entry in std::fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let is_signature = name
            .strip_suffix(".minisig")
            .is_some_and(|of| of == SUMS_FILE);
        if name != SUMS_FILE && !is_signature && !listed.contains_key(&name) {
            bail!("`{name}` is not among the checksums");
        }
    }
    let statement: Value = serde_json::from_slice(&read(PROVENANCE_FILE)?)?;
    for subject in statement["subject"].as_array().into_iter().flatten() {
        let name = subject["name"].as_str().unwrap_or_default();
        let sum = subject["digest"]["sha256"].as_str().unwrap_or_default();
        ensure!(
            listed.get(name).map(String::as_str) == Some(sum),
            "the provenance speaks of another `{name}`"
        );
    }
    Ok(listed.len())
}

/// Returns the bill of materials: every crate that is compiled into a program or
/// runs while it is built, from the lock file.
pub fn bill_of_materials(repository: &Path) -> Result<Published> {
    let lock: toml::Table = std::fs::read_to_string(repository.join("Cargo.lock"))
        .context("Cannot read `Cargo.lock`")?
        .parse()?;
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["metadata", "--format-version", "1", "--locked", "--offline"])
        .current_dir(repository)
        .output()
        .context("Cannot run `cargo metadata`")?;
    ensure!(
        output.status.success(),
        "`cargo metadata` failed: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    Ok((BILL_FILE.to_owned(), pretty(&draw_bill(&metadata, &lock)?)?))
}

fn draw_bill(metadata: &Value, lock: &toml::Table) -> Result<Value> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let packages: BTreeMap<String, Value> = list(&metadata["packages"])
        .into_iter()
        .map(|package| (text(&package["id"]), package))
        .collect();
    // What a crate needs in its tests alone is in no program.
    let mut edges: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for node in list(&metadata["resolve"]["nodes"]) {
        let used = list(&node["deps"]).into_iter().filter(|dependency| {
            let kinds = list(&dependency["dep_kinds"]);
            kinds.iter().any(|kind| kind["kind"] != "dev")
        });
        let used = used.map(|dependency| text(&dependency["pkg"])).collect();
        edges.insert(text(&node["id"]), used);
    }
    let is_program = |package: &Value| {
        PROGRAMS
            .iter()
            .any(|program| package["name"] == program.name)
    };
    let mut waiting: Vec<String> = packages
        .iter()
        .filter(|(_, package)| is_program(package))
        .map(|(id, _)| id.clone())
        .collect();
    ensure!(
        waiting.len() == PROGRAMS.len(),
        "a program is missing in the workspace"
    );
    let mut reached = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        if reached.insert(id.clone()) {
            waiting.extend(edges.get(&id).cloned().unwrap_or_default());
        }
    }
    let sums = checksums(lock);
    let reference = |package: &Value| {
        let (name, version) = (text(&package["name"]), text(&package["version"]));
        format!("pkg:cargo/{name}@{version}")
    };
    let mut components = BTreeMap::new();
    let mut dependencies = BTreeMap::new();
    for id in &reached {
        let Some(package) = packages.get(id) else {
            continue;
        };
        let (name, version) = (text(&package["name"]), text(&package["version"]));
        let mut component = json!({
            "type": if is_program(package) { "application" } else { "library" },
            "bom-ref": reference(package),
            "name": name,
            "version": version,
            "purl": reference(package),
        });
        if let Some(licence) = package["license"].as_str() {
            // Old crates write a slash for "or".
            let expression = licence.replace('/', " OR ");
            component["licenses"] = json!([{ "expression": expression }]);
        }
        if let Some(sum) = sums.get(&(name, version)) {
            component["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
        }
        let used: BTreeSet<String> = edges
            .get(id)
            .into_iter()
            .flatten()
            .filter_map(|used| packages.get(used).map(reference))
            .collect();
        let needs = json!({ "ref": reference(package), "dependsOn": used });
        dependencies.insert(reference(package), needs);
        components.insert(reference(package), component);
    }
    let components: Vec<Value> = components.into_values().collect();
    let dependencies: Vec<Value> = dependencies.into_values().collect();
    // The same dependencies have the same number.
    let hash = sha256(&serde_json::to_vec(&components)?);
    let serial = format!(
        "urn:uuid:{}-{}-4{}-8{}-{}",
        &hash[..8],
        &hash[8..12],
        &hash[13..16],
        &hash[17..20],
        &hash[20..32]
    );
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": serial,
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": format!("{HOMEPAGE}@{VERSION}"),
                "name": PROGRAMS[0].name,
                "version": VERSION,
                "licenses": [{ "expression": LICENCE }],
            },
        },
        "components": components,
        "dependencies": dependencies,
    }))
}

/// Returns the checksums of the lock file by name and version.
fn checksums(lock: &toml::Table) -> BTreeMap<(String, String), String> {
    let packages = lock.get("package").and_then(toml::Value::as_array);
    let text = |package: &toml::Value, key: &str| {
        let value = package.get(key).and_then(toml::Value::as_str);
        value.map(str::to_owned)
    };
    packages
        .into_iter()
        .flatten()
        .filter_map(|package| {
            let key = (text(package, "name")?, text(package, "version")?);
            Some((key, text(package, "checksum")?))
        })
        .collect()
}

/// Returns the statement about where these files come from: which commit, and
/// which command made them.
pub fn provenance(commit: Option<&str>, files: &[Published]) -> Result<Published> {
    let subjects: Vec<Value> = files
        .iter()
        .map(|(name, bytes)| json!({ "name": name, "digest": { "sha256": sha256(bytes) } }))
        .collect();
    let mut sources = json!({ "uri": format!("git+{HOMEPAGE}@refs/tags/v{VERSION}") });
    if let Some(commit) = commit {
        sources["digest"] = json!({ "gitCommit": commit });
    }
    let builder = std::env::var("MEMORY_FORGE_BUILDER");
    let builder = builder.unwrap_or_else(|_| format!("{HOMEPAGE}#by-hand"));
    let statement = json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": subjects,
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": format!("{HOMEPAGE}/blob/v{VERSION}/CONTRIBUTING.md#releases"),
                "externalParameters": { "command": "cargo xtask dist", "version": VERSION },
                "resolvedDependencies": [sources],
            },
            "runDetails": { "builder": { "id": builder } },
        },
    });
    Ok((PROVENANCE_FILE.to_owned(), pretty(&statement)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_without_the_section_lists_no_crates() {
        let sections = b"\0.text\0.dep-v\0.data\0";
        assert!(!lists_its_crates(sections));
        assert!(lists_its_crates(b"\0.text\0.dep-v0\0.data\0"));
    }
}
