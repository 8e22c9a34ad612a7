//! Chooses the lines for agents in a workspace with a manifest, and the file
//! that gets them when a workspace is started.

use crate::routing::manifest::{Manifest, ManifestMode};
use crate::workspace::{ChangeProposal, RelPath, Workspace};

use super::stub::{self, StubLines};
use super::{SetupError, SetupScope};

/// Returns the lines that a file gets. Those in a home hold for all projects,
/// so that only those of a project mention its manifest.
pub fn stub_lines_for(workspace: &Workspace, scope: SetupScope) -> StubLines {
    let managed = Manifest::read(workspace).is_some_and(|it| it.mode() != ManifestMode::Absent);
    if managed && scope == SetupScope::Project {
        StubLines::Workspace
    } else {
        StubLines::Usual
    }
}

/// Adds the lines to the proposal for a new workspace: where lines of ours are
/// already, else in `CLAUDE.md`. `.claude/CLAUDE.md` is read and never edited.
pub fn propose_stub_lines(
    workspace: &Workspace,
    proposal: &mut ChangeProposal,
) -> Result<(), SetupError> {
    let read = |name: &str| -> Result<(RelPath, Option<String>), SetupError> {
        let path = RelPath::new(name)?;
        // A link is never written through; its target may be edited.
        let target = is_link(workspace, &path).then(|| workspace.resolve_real_path(&path));
        let path = target.flatten().unwrap_or(path);
        let text = if is_link(workspace, &path) {
            None
        } else {
            workspace.read_text_if_present(&path)?
        };
        Ok((path, text))
    };
    let ours = |text: &Option<String>| text.as_deref().is_some_and(stub::has_stub);
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
    let after = stub::with_stub(before.as_deref(), StubLines::Workspace).map_err(|broken| {
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
    let meta = workspace.absolute_path(path).symlink_metadata();
    meta.is_ok_and(|meta| meta.file_type().is_symlink())
}
