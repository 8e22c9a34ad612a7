//! Lists the files of a workspace with their roles: the one scan.
//!
//! The manifest's domains decide what is knowledge outside of `knowledge/`, so
//! it is read at each listing and never cached: upkeep changes it and lists
//! again. Nothing else in the program lists documents.

use super::Manifest;
use crate::workspace::{
    FileRole, RelPath, Workspace, WorkspaceScan, WorkspaceTree, role_with_domains,
};

impl Workspace {
    /// Lists every Markdown file that is memory, domains included, with its
    /// size and time.
    pub fn scan(&self) -> WorkspaceScan {
        self.scan_and_manifest().0
    }

    /// Lists as [`Workspace::scan`], with the manifest that was read for it.
    pub fn scan_and_manifest(&self) -> (WorkspaceScan, Option<Manifest>) {
        let manifest = Manifest::read(self);
        let scan = self.scan_with_domains(&domains_of(manifest.as_ref()));
        (scan, manifest)
    }

    /// Lists every file of the workspace of whatever kind. Folders with a dot,
    /// other people's code and build outputs are left out.
    pub fn tree(&self) -> WorkspaceTree {
        self.tree_with_domains(&domains_of(Manifest::read(self).as_ref()))
    }

    /// Returns the role of a path. It reads the manifest: for many paths use a
    /// listing, which has their roles.
    pub fn role(&self, path: &RelPath) -> FileRole {
        role_with_domains(path, &domains_of(Manifest::read(self).as_ref()))
    }
}

impl Manifest {
    /// Lists the memory of its workspace, for callers that have read it.
    pub fn scan(&self, workspace: &Workspace) -> WorkspaceScan {
        workspace.scan_with_domains(&self.domains())
    }

    /// Lists every file of its workspace, for callers that have read it.
    pub fn tree(&self, workspace: &Workspace) -> WorkspaceTree {
        workspace.tree_with_domains(&self.domains())
    }
}

fn domains_of(manifest: Option<&Manifest>) -> Vec<String> {
    manifest.map(Manifest::domains).unwrap_or_default()
}
