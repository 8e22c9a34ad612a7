//! Decides which files of the memory an agent may read by name: never what
//! agents load, what is derived, nor anything outside, whatever a link points
//! to.

use crate::mind::{MindFile, MindStore};
use crate::system;
use crate::workspace::{FileRole, PathRoles, RelPath, ScannedFile, Workspace};

/// State files in the order in which they are listed.
const LISTED_STATE_FILES: [MindFile; 5] = [
    MindFile::State,
    MindFile::Progress,
    MindFile::Decisions,
    MindFile::SessionLog,
    MindFile::Archive,
];

/// Lists the wanted files that belong to the memory and may be read.
pub fn list_readable_files(
    workspace: &Workspace,
    wanted: &dyn Fn(&RelPath) -> bool,
) -> Vec<ScannedFile> {
    let mut files = workspace.scan().files;
    let roles = workspace.roles();
    files.retain(|found| {
        wanted(&found.path)
            && is_readable_role(found.role)
            && is_target_readable(workspace, &roles, &found.path)
    });
    files
}

/// Returns `true` if a file may be read by name.
pub fn is_readable(workspace: &Workspace, path: &RelPath) -> bool {
    is_readable_role(workspace.role(path))
        && is_target_readable(workspace, &workspace.roles(), path)
}

/// Lists the state files, each once.
pub fn list_state_files(workspace: &Workspace) -> Vec<RelPath> {
    let mind = MindStore::open(workspace);
    let mut files: Vec<RelPath> = Vec::new();
    for path in LISTED_STATE_FILES.map(|which| mind.file_path(which)) {
        if !files.contains(&path) {
            files.push(path);
        }
    }
    files
}

/// A link may lead to a file that is not for reading.
fn is_target_readable(workspace: &Workspace, roles: &PathRoles, path: &RelPath) -> bool {
    let absolute = workspace.absolute_path(path);
    let real = || {
        let real = system::canonicalize(&absolute).ok()?;
        let real = real.strip_prefix(workspace.root()).ok()?.to_str()?;
        RelPath::new(&real.replace('\\', "/")).ok()
    };
    real().is_some_and(|real| is_readable_role(roles.of(&real)))
}

/// Returns `true` if files of this role may be read.
fn is_readable_role(role: FileRole) -> bool {
    match role {
        FileRole::Knowledge
        | FileRole::Routing
        | FileRole::Agent
        | FileRole::State
        | FileRole::Archive => true,
        FileRole::Derived | FileRole::Autoload | FileRole::Untracked => false,
    }
}
