//! Decides which files of the memory an agent may read by name: never what
//! agents load, what is derived, nor anything outside, whatever a link points
//! to.

use crate::mind::{File, Mind};
use crate::workspace::{Found, PathRoles, RelPath, Role, Workspace};

/// State files in the order in which they are listed.
const STATE: [File; 5] = [
    File::State,
    File::Progress,
    File::Decisions,
    File::SessionLog,
    File::Archive,
];

/// Lists the wanted files that belong to the memory and may be read.
pub fn readable_files(workspace: &Workspace, wanted: &dyn Fn(&RelPath) -> bool) -> Vec<Found> {
    let mut files = workspace.scan().files;
    let roles = workspace.roles();
    files.retain(|found| {
        wanted(&found.path)
            && may_be_read(found.role)
            && leads_to_memory(workspace, &roles, &found.path)
    });
    files
}

/// Returns `true` if a file may be read by name.
pub fn is_readable(workspace: &Workspace, path: &RelPath) -> bool {
    may_be_read(workspace.role(path)) && leads_to_memory(workspace, &workspace.roles(), path)
}

/// Lists the state files, each once.
pub fn state_files(workspace: &Workspace) -> Vec<RelPath> {
    let mind = Mind::open(workspace);
    let mut files: Vec<RelPath> = Vec::new();
    for path in STATE.map(|which| mind.file(which)) {
        if !files.contains(&path) {
            files.push(path);
        }
    }
    files
}

/// A link may lead to a file that is not for reading.
fn leads_to_memory(workspace: &Workspace, roles: &PathRoles, path: &RelPath) -> bool {
    let absolute = workspace.absolute(path);
    let real = || {
        let real = absolute.canonicalize().ok()?;
        let real = real.strip_prefix(workspace.root()).ok()?.to_str()?;
        RelPath::new(&real.replace('\\', "/")).ok()
    };
    real().is_some_and(|real| may_be_read(roles.of(&real)))
}

/// Returns `true` if files of this role may be read.
fn may_be_read(role: Role) -> bool {
    match role {
        Role::Knowledge | Role::Routing | Role::Agent | Role::State | Role::Archive => true,
        Role::Derived | Role::Autoload | Role::Untracked => false,
    }
}
