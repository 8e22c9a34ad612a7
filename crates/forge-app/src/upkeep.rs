//! Maintains a workspace: summaries in its manifest, domains, the archive,
//! upgrades, and a first order for unsorted files.
//!
//! Every operation is a plan that can be reviewed first; the manifest is always
//! written with or after the files that it names, never before.

use crate::admit;
use crate::document::EditError;
use crate::links::LinkNames;
use crate::routing::hubs::Hub;
use crate::routing::manifest::{Manifest, ManifestMode};
use crate::workspace::{
    ChangeProposal, FileRole, ProposedMove, RelPath, Workspace, WorkspaceError, role_with_domains,
};

pub mod archive;
pub mod domain;
pub mod organise;
pub mod resummarize;
pub mod scaffold;
pub mod upgrade;

/// Fails if the text contains a secret.
fn reject_secrets(text: &str) -> Result<(), WorkspaceError> {
    admit::refuse_secrets([text]).map_err(|refused| WorkspaceError::Refused(refused.to_string()))
}

/// Reads the manifest. Fails with advice if there is none.
fn require_manifest(workspace: &Workspace) -> Result<Manifest, WorkspaceError> {
    match Manifest::load(workspace)? {
        Some(manifest) if manifest.mode() != ManifestMode::Absent => Ok(manifest),
        Some(_) => Err(WorkspaceError::Refused(
            "`_MANIFEST.md` has neither a marker nor tiers, so it is not a manifest; \
             move it away and run `memory-forge init --workspace`"
                .to_owned(),
        )),
        None => Err(WorkspaceError::Refused(
            "There is no `_MANIFEST.md`; run `memory-forge init --workspace` first".to_owned(),
        )),
    }
}

/// Every file of the workspace, by the names that links use.
struct LinkTargets {
    paths: Vec<RelPath>,
    names: LinkNames,
}

impl LinkTargets {
    /// Reads the files of the workspace.
    fn from_workspace(workspace: &Workspace) -> LinkTargets {
        let files = workspace.tree().files.into_iter();
        let paths: Vec<RelPath> = files.map(|file| file.path).collect();
        let names = LinkNames::new(paths.iter().map(RelPath::as_str));
        LinkTargets { paths, names }
    }

    /// Finds the file that a link in `from` leads to.
    fn find_target(&self, target: &str, from: &str) -> Option<&RelPath> {
        let file = self.names.resolve(target, from).opened_file()?;
        self.paths.get(file as usize)
    }

    /// Returns the text with which a link names a file: its stem if that is
    /// unique, else its path.
    fn link_name(&self, path: &RelPath) -> String {
        let whole = path.as_str().strip_suffix(".md").unwrap_or(path.as_str());
        match self.names.files_named(path.stem()) {
            [_] => path.stem().to_owned(),
            _ => whole.to_owned(),
        }
    }
}

/// Builds a hub as it will be after these moves, once `domains` are domains.
fn plan_hub(
    workspace: &Workspace,
    name: &str,
    folder: &RelPath,
    domains: &[String],
    moves: &[ProposedMove],
) -> Hub {
    let inner: Vec<&String> = domains
        .iter()
        .filter(|it| it.as_str() != folder.as_str())
        .filter(|it| RelPath::new(it).is_ok_and(|it| it.starts_with(folder.as_str())))
        .collect();
    let after = |path: RelPath| match moves.iter().find(|it| it.from == path) {
        Some(it) => it.to.clone(),
        None => path,
    };
    let files = workspace.tree().files.into_iter();
    let mut members: Vec<RelPath> = files
        .map(|it| after(it.path))
        .filter(|it| it.starts_with(folder.as_str()) && !it.is_private())
        .filter(|it| !inner.iter().any(|inner| it.starts_with(inner)))
        .filter(|it| role_with_domains(it, domains) == FileRole::Knowledge)
        .collect();
    members.sort();
    Hub {
        name: name.to_owned(),
        folder: folder.clone(),
        index: None,
        members,
    }
}

/// Adds an edited file to a proposal.
fn propose_edit(
    proposal: &mut ChangeProposal,
    path: &RelPath,
    before: &str,
    after: Result<String, EditError>,
) -> Result<(), WorkspaceError> {
    let after = after.map_err(|e| WorkspaceError::Refused(format!("`{path}`: {e}")))?;
    proposal.add(path.clone(), Some(before.to_owned()), after);
    Ok(())
}
