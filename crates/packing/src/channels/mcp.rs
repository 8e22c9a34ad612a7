//! MCP: the bundle that desktop clients install, and the entry of the registry.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::Published;
use super::npm::pretty;
use crate::archive::{self, Member, sha256};
use crate::release::{Built, Release};
use crate::table::{
    HOMEPAGE, PROGRAMS, Processor, SERVER, SERVER_SUMMARY, Target, VERSION, download_folder,
};

/// Returns the description of the bundle with the given program inside.
/// Tools and questions to the user come from the template.
pub fn bundle_manifest(template: &[u8], target: &Target) -> Result<Value> {
    let mut manifest: Value = serde_json::from_slice(template).context("the bundle's manifest")?;
    let program = format!("server/{}{}", PROGRAMS[0].name, target.exe_suffix());
    manifest["version"] = json!(VERSION);
    manifest["description"] = json!(SERVER_SUMMARY);
    manifest["server"]["entry_point"] = json!(program);
    manifest["compatibility"]["platforms"] = json!([target.npm().0]);
    Ok(manifest)
}

/// Returns the bundle of a program. It holds one binary, so it is for one
/// platform.
pub(crate) fn bundle(release: &Release, built: &Built) -> Result<Published> {
    let template = release.read("packaging/mcpb/manifest.json")?;
    let manifest = bundle_manifest(&template, built.target)?;
    let path = format!("server/{}{}", built.program.name, built.target.exe_suffix());
    let mut members = vec![
        Member::file("manifest.json", pretty(&manifest)?),
        Member::program(path, built.bytes.clone()),
    ];
    members.extend(release.licences()?);
    Ok((bundle_name(built.target), archive::zip("", &members)?))
}

fn bundle_name(target: &Target) -> String {
    let (os, _, flavour) = target.npm();
    let processor = match target.processor {
        Processor::X64 => "x86_64",
        Processor::Arm64 => "aarch64",
    };
    format!(
        "{}-{VERSION}-{os}-{processor}{flavour}.mcpb",
        PROGRAMS[0].name
    )
}

/// Returns the entry for the registry of MCP servers. It names the packages that
/// are among these files, and nothing that is not published with them.
pub(crate) fn server_entry(files: &[Published]) -> Result<Published> {
    let name = PROGRAMS[0].name;
    let arguments = json!([{ "type": "positional", "value": "mcp" }]);
    let transport = json!({ "type": "stdio" });
    let is_there = |start: &str, end: &str| {
        files
            .iter()
            .any(|(file, _)| file.starts_with(start) && file.ends_with(end))
    };
    let mut packages = Vec::new();
    for (kind, start, end) in [
        ("npm", format!("{name}-{VERSION}.tgz"), ".tgz"),
        (
            "pypi",
            format!("{}-{VERSION}-", name.replace('-', "_")),
            ".whl",
        ),
    ] {
        if is_there(&start, end) {
            packages.push(json!({
                "registryType": kind,
                "identifier": name,
                "version": VERSION,
                "transport": transport,
                "packageArguments": arguments,
            }));
        }
    }
    for (file, bytes) in files.iter().filter(|(file, _)| file.ends_with(".mcpb")) {
        packages.push(json!({
            "registryType": "mcpb",
            "identifier": format!("{}/{file}", download_folder()),
            "version": VERSION,
            "fileSha256": sha256(bytes),
            "transport": transport,
        }));
    }
    let entry = json!({
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": SERVER,
        "title": "Memory Forge",
        "description": SERVER_SUMMARY,
        "repository": { "url": HOMEPAGE, "source": "github" },
        "version": VERSION,
        "packages": packages,
    });
    Ok(("server.json".to_owned(), pretty(&entry)?))
}
