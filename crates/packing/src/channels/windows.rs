//! Windows: the manifests of Scoop and winget, which fetch the zip.

use anyhow::Result;
use serde_json::json;

use super::npm::pretty;
use super::{Archive, Published};
use crate::table::{AUTHOR, HOMEPAGE, LICENCE, Processor, Program, System, VERSION, archive_stem};

/// The version of winget's schema.
const WINGET_SCHEMA: &str = "1.6.0";

/// Returns the manifests of a program, if there is an archive for Windows.
pub(crate) fn manifests(program: &Program, archives: &[&Archive<'_>]) -> Result<Vec<Published>> {
    let is_for_windows = |archive: &&&Archive<'_>| archive.target.system == System::Windows;
    let archives: Vec<_> = archives.iter().filter(is_for_windows).collect();
    if archives.is_empty() {
        return Ok(Vec::new());
    }
    let name = program.name;
    let mut scoop = json!({
        "version": VERSION,
        "description": program.summary,
        "homepage": HOMEPAGE,
        "license": LICENCE.replace(" OR ", "|"),
        "architecture": {},
        "bin": format!("{name}.exe"),
    });
    let id = if program.has_commands {
        "MemoryForge.MemoryForge"
    } else {
        "MemoryForge.Engines"
    };
    let mut installers = String::new();
    for archive in archives {
        let (scoop_name, winget_name) = match archive.target.processor {
            Processor::X64 => ("64bit", "x64"),
            Processor::Arm64 => ("arm64", "arm64"),
        };
        let folder = archive_stem(program, archive.target);
        scoop["architecture"][scoop_name] = json!({
            "url": archive.address(),
            "hash": archive.sum,
            "extract_dir": folder,
        });
        installers += &format!(
            "- Architecture: {winget_name}\n  InstallerUrl: {}\n  InstallerSha256: {}\n  \
             NestedInstallerFiles:\n  - RelativeFilePath: {folder}\\{name}.exe\n    \
             PortableCommandAlias: {name}\n",
            archive.address(),
            archive.sum.to_uppercase(),
        );
    }
    let head = format!("PackageIdentifier: {id}\nPackageVersion: {VERSION}\n");
    let tail = |kind: &str| format!("ManifestType: {kind}\nManifestVersion: {WINGET_SCHEMA}\n");
    let version = format!("{head}DefaultLocale: en-US\n{}", tail("version"));
    let installer = format!(
        "{head}InstallerType: zip\nNestedInstallerType: portable\nInstallers:\n{installers}{}",
        tail("installer")
    );
    let locale = format!(
        "{head}PackageLocale: en-US\nPublisher: {AUTHOR}\nPackageName: {name}\n\
         PackageUrl: {HOMEPAGE}\nLicense: {LICENCE}\nShortDescription: {}\n{}",
        program.summary,
        tail("defaultLocale")
    );
    Ok(vec![
        (format!("{name}.scoop.json"), pretty(&scoop)?),
        (format!("{id}.yaml"), version.into_bytes()),
        (format!("{id}.installer.yaml"), installer.into_bytes()),
        (format!("{id}.locale.en-US.yaml"), locale.into_bytes()),
    ])
}
