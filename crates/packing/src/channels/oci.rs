//! OCI: an image layout with the static program and nothing else, for every
//! Linux that has one.

use anyhow::Result;
use serde_json::{Value, json};

use super::Published;
use crate::archive::{self, Member, sha256};
use crate::release::Release;
use crate::table::{HOMEPAGE, LICENCE, Program, System, VERSION};

const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

/// Returns the layout as a tar, if there is a static program.
pub(crate) fn layout(release: &Release, program: &Program) -> Result<Option<Published>> {
    let mut blobs = Vec::new();
    let mut manifests = Vec::new();
    let is_static = |system| system == System::LinuxMusl;
    for built in release
        .built
        .iter()
        .filter(|built| built.program == program && is_static(built.target.system))
    {
        let path = format!("usr/local/bin/{}", program.name);
        let mut members = vec![Member::program(path, built.bytes.clone())];
        for sums in release.sums_beside_program() {
            let path = format!("usr/local/share/{}/{}", program.name, sums.path);
            members.push(Member::file(path, sums.bytes));
        }
        let tar = archive::tar("", &members)?;
        let layer = add_blob(&mut blobs, LAYER, archive::gzip(&tar)?);
        let architecture = built.target.debian();
        let config = json!({
            "architecture": architecture,
            "os": "linux",
            "config": {
                "Entrypoint": [format!("/usr/local/bin/{}", program.name)],
                "WorkingDir": "/workspace",
                "Labels": {
                    "org.opencontainers.image.title": program.name,
                    "org.opencontainers.image.version": VERSION,
                    "org.opencontainers.image.source": HOMEPAGE,
                    "org.opencontainers.image.licenses": LICENCE,
                },
            },
            "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{}", sha256(&tar))] },
        });
        let config = add_blob(&mut blobs, CONFIG, serde_json::to_vec(&config)?);
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": config,
            "layers": [layer],
        });
        let mut entry = add_blob(&mut blobs, MANIFEST, serde_json::to_vec(&manifest)?);
        entry["platform"] = json!({ "architecture": architecture, "os": "linux" });
        entry["annotations"] = json!({ "org.opencontainers.image.ref.name": VERSION });
        manifests.push(entry);
    }
    if manifests.is_empty() {
        return Ok(None);
    }
    let index = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": manifests });
    blobs.push(Member::file("index.json", serde_json::to_vec(&index)?));
    let version = json!({ "imageLayoutVersion": "1.0.0" });
    blobs.push(Member::file("oci-layout", serde_json::to_vec(&version)?));
    let name = format!("{}-v{VERSION}-oci.tar", program.name);
    Ok(Some((name, archive::tar("", &blobs)?)))
}

fn add_blob(blobs: &mut Vec<Member>, kind: &str, bytes: Vec<u8>) -> Value {
    let sum = sha256(&bytes);
    let descriptor = json!({
        "mediaType": kind,
        "digest": format!("sha256:{sum}"),
        "size": bytes.len(),
    });
    blobs.push(Member::file(format!("blobs/sha256/{sum}"), bytes));
    descriptor
}
