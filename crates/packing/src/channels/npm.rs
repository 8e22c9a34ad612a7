//! npm: one package that users name, and one with the program for each platform,
//! of which npm installs the one that fits. No package runs a script at install.

use anyhow::Result;
use serde_json::{Map, Value, json};

use super::Published;
use crate::archive::{self, Member};
use crate::release::{Built, Release};
use crate::table::{HOMEPAGE, LICENCE, Program, SERVER, TARGETS, Target, VERSION};

/// Returns the name of the package with the program for a target.
pub fn package_name(program: &Program, target: &Target) -> String {
    let (os, cpu, flavour) = target.npm();
    format!("{}-{os}-{cpu}{flavour}", program.name)
}

/// Returns the description of the package with the program.
pub fn platform_manifest(program: &Program, target: &Target) -> Value {
    let (os, cpu, _) = target.npm();
    let mut manifest = json!({
        "name": package_name(program, target),
        "version": VERSION,
        "description": format!("The {os} {cpu} program of {}", program.name),
        "license": LICENCE,
        "repository": HOMEPAGE,
        "os": [os],
        "cpu": [cpu],
        "preferUnplugged": true,
        "files": ["bin"],
    });
    match target.system {
        crate::table::System::LinuxGnu => manifest["libc"] = json!(["glibc"]),
        crate::table::System::LinuxMusl => manifest["libc"] = json!(["musl"]),
        _ => {}
    }
    manifest
}

/// Returns the package with the program.
pub(crate) fn platform_package(release: &Release, built: &Built) -> Result<Published> {
    let (program, target) = (built.program, built.target);
    let manifest = platform_manifest(program, target);
    let path = format!("bin/{}{}", program.name, target.exe_suffix());
    let mut members = vec![
        Member::file("package.json", pretty(&manifest)?),
        Member::program(path, built.bytes.clone()),
    ];
    members.extend(release.licences()?);
    for sums in release.sums_beside_program() {
        members.push(Member::file(format!("bin/{}", sums.path), sums.bytes));
    }
    let name = format!("{}-{VERSION}.tgz", package_name(program, target));
    Ok((name, archive::tar_gz("package", &members)?))
}

/// Returns the description of the package that users name.
pub fn wrapper_manifest(program: &Program) -> Value {
    let name = program.name;
    let programs: Map<String, Value> = TARGETS
        .iter()
        .map(|target| (package_name(program, target), json!(VERSION)))
        .collect();
    let mut manifest = json!({
        "name": name,
        "version": VERSION,
        "description": program.summary,
        "license": LICENCE,
        "repository": HOMEPAGE,
        "bin": { name: format!("bin/{name}.js") },
        "files": ["bin"],
        "engines": { "node": ">=18" },
        "optionalDependencies": programs,
    });
    if program.has_commands {
        manifest["mcpName"] = json!(SERVER);
    }
    manifest
}

/// Returns the package that users name: a few lines of JavaScript that start the
/// program of the platform's package.
pub(crate) fn wrapper_package(release: &Release, program: &Program) -> Result<Published> {
    let name = program.name;
    let mut members = vec![
        Member::file("package.json", pretty(&wrapper_manifest(program))?),
        // It starts the program that its own name says.
        Member::program(
            format!("bin/{name}.js"),
            release.read("packaging/npm/memory-forge.js")?,
        ),
        Member::file("README.md", release.read(program.readme)?),
    ];
    members.extend(release.licences()?);
    let file = format!("{name}-{VERSION}.tgz");
    Ok((file, archive::tar_gz("package", &members)?))
}

/// Returns JSON for people, with a line end.
pub(crate) fn pretty(value: &Value) -> Result<Vec<u8>> {
    Ok((serde_json::to_string_pretty(value)? + "\n").into_bytes())
}
