//! Chooses the lines for agents in a workspace with a manifest, and the file
//! that gets them when a workspace is started.

use crate::routing::manifest::{Manifest, Mode};
use crate::workspace::{Proposal, RelPath, Workspace};

use super::stub::{self, Lines};
use super::{Scope, SetupError};

/// Returns the lines that a file gets. Those in a home hold for all projects,
/// so that only those of a project mention its manifest.
pub fn lines_of(workspace: &Workspace, scope: Scope) -> Lines {
    let managed = Manifest::read(workspace).is_some_and(|it| it.mode() != Mode::Absent);
    if managed && scope == Scope::Project {
        Lines::Workspace
    } else {
        Lines::Usual
    }
}

/// Adds the lines to the proposal for a new workspace: where lines of ours are
/// already, else in `CLAUDE.md`. `.claude/CLAUDE.md` is read and never edited.
pub fn propose(workspace: &Workspace, proposal: &mut Proposal) -> Result<(), SetupError> {
    let read = |name: &str| -> Result<(RelPath, Option<String>), SetupError> {
        let path = RelPath::new(name)?;
        // A link is never written through; its target may be edited.
        let path = match std::fs::read_link(workspace.absolute(&path)) {
            Ok(target) => target
                .to_str()
                .and_then(|it| RelPath::new(it).ok())
                .unwrap_or(path),
            Err(_) => path,
        };
        let text = if is_link(workspace, &path) {
            None
        } else {
            workspace.text_if_there(&path)?
        };
        Ok((path, text))
    };
    let ours = |text: &Option<String>| text.as_deref().is_some_and(stub::is_in);
    if ours(&read(".claude/CLAUDE.md")?.1) {
        return Ok(());
    }
    let agents = read("AGENTS.md")?;
    let (path, before) = match read("CLAUDE.md")? {
        claude if !ours(&claude.1) && ours(&agents.1) => agents,
        claude => claude,
    };
    if is_link(workspace, &path) {
        return Ok(());
    }
    let after = stub::with(before.as_deref(), Lines::Workspace).map_err(|broken| {
        SetupError::BrokenFile {
            file: path.to_string(),
            broken,
            hint: "Repair it, or leave the lines out with `--no-claude-md`",
        }
    })?;
    proposal.add(path, before, after);
    Ok(())
}

fn is_link(workspace: &Workspace, path: &RelPath) -> bool {
    let meta = workspace.absolute(path).symlink_metadata();
    meta.is_ok_and(|meta| meta.file_type().is_symlink())
}
