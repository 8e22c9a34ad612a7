//! What tells an agent where things are, so that it reads the minimum: the
//! manifest, hubs with their closets, and the upkeep of both.

use crate::workspace::{Scan, Workspace};
use manifest::Manifest;

pub mod bulk;
pub mod closets;
pub mod hubs;
pub mod layout;
pub mod manifest;
pub mod summary;

/// Every Markdown file of the workspace, the manifest's domains included. This
/// is the one way to scan: [`Workspace::scan`] does not read a file and so
/// knows no domains.
pub fn scan(workspace: &Workspace) -> Scan {
    scan_by(workspace, Manifest::read(workspace).as_ref())
}

/// As [`scan`], for whoever has read the manifest.
pub fn scan_by(workspace: &Workspace, manifest: Option<&Manifest>) -> Scan {
    match manifest {
        Some(manifest) => workspace.scan_with(&manifest.domains()),
        None => workspace.scan(),
    }
}
