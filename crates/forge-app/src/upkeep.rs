//! Keeping a workspace in order: summaries in its manifest, domains, the
//! archive, upgrades, and a first order for files that have none. Everything
//! is a plan that can be looked at; the manifest is always written with or
//! after what it speaks of, never before.

use crate::admit;
use crate::document::EditError;
use crate::links::Names;
use crate::routing::hubs::Hub;
use crate::routing::manifest::{Manifest, Mode};
use crate::workspace::{Error, Move, Proposal, RelPath, Role, Workspace, role_in};

pub mod archive;
pub mod domain;
pub mod organise;
pub mod resummarize;
pub mod scaffold;
pub mod upgrade;

/// Refuses names and texts that hold a secret.
fn refuse(text: &str) -> Result<(), Error> {
    admit::refuse_secrets([text]).map_err(|refused| Error::Refused(refused.to_string()))
}

/// The manifest, or what to do where there is none.
fn manifest(workspace: &Workspace) -> Result<Manifest, Error> {
    match Manifest::load(workspace)? {
        Some(manifest) if manifest.mode() != Mode::Absent => Ok(manifest),
        Some(_) => Err(Error::Refused(
            "`_MANIFEST.md` has neither a marker nor tiers, so it is no manifest; \
             move it away and run `memory-forge init --workspace`"
                .to_owned(),
        )),
        None => Err(Error::Refused(
            "There is no `_MANIFEST.md`; run `memory-forge init --workspace` first".to_owned(),
        )),
    }
}

/// Every file of the workspace by the names that links use.
struct Places {
    paths: Vec<RelPath>,
    names: Names,
}

impl Places {
    fn of(workspace: &Workspace) -> Places {
        let files = workspace.tree().files.into_iter();
        let paths: Vec<RelPath> = files.map(|file| file.path).collect();
        let names = Names::new(paths.iter().map(RelPath::as_str));
        Places { paths, names }
    }

    /// The file that a link in `from` leads to.
    fn find(&self, target: &str, from: &str) -> Option<&RelPath> {
        let file = self.names.resolve(target, from).file()?;
        self.paths.get(file as usize)
    }

    /// How a link names a file: by its stem where that is enough.
    fn link(&self, path: &RelPath) -> String {
        let whole = path.as_str().strip_suffix(".md").unwrap_or(path.as_str());
        match self.names.named(path.stem()) {
            [_] => path.stem().to_owned(),
            _ => whole.to_owned(),
        }
    }
}

/// A hub as it will be once files have moved and `domains` are domains.
fn planned_hub(
    workspace: &Workspace,
    name: &str,
    folder: &RelPath,
    domains: &[String],
    moves: &[Move],
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
        .filter(|it| role_in(it, domains) == Role::Knowledge)
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
fn propose(
    proposal: &mut Proposal,
    path: &RelPath,
    before: &str,
    after: Result<String, EditError>,
) -> Result<(), Error> {
    let after = after.map_err(|e| Error::Refused(format!("`{path}`: {e}")))?;
    proposal.add(path.clone(), Some(before.to_owned()), after);
    Ok(())
}
