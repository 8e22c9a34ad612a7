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
pub mod untracked;

/// Every Markdown file of the workspace, the manifest's domains included. This
/// is the one way to scan: [`Workspace::scan_with`] reads no file and so knows
/// no domains.
pub fn scan(workspace: &Workspace) -> Scan {
    scan_by(workspace, Manifest::read(workspace).as_ref())
}

/// As [`scan`], for whoever has read the manifest.
pub fn scan_by(workspace: &Workspace, manifest: Option<&Manifest>) -> Scan {
    workspace.scan_with(&manifest.map(Manifest::domains).unwrap_or_default())
}
