//! State files as something to search: few and small, so their index is made
//! anew each time and lives in memory.

use super::describe::describe;
use super::refresh::Error;
use crate::document;
use crate::index::{Change, Entry, Index, Sizes, Stamp};
use crate::workspace::{RelPath, Role, Workspace, role};

/// Folders that may hold state; the role decides about each file. What was
/// archived beside the state it came from is found with it.
const FOLDERS: [&str; 3] = [".mind", "memory", "scratch"];

pub fn index(workspace: &Workspace) -> Result<(Index, Vec<Entry>), Error> {
    let sizes = Sizes::up_to(workspace.config().index.chunk_tokens);
    let mut changes = Vec::new();
    for path in paths(workspace) {
        let Ok(text) = workspace.read_text(&path) else {
            continue;
        };
        let stamp = Stamp {
            size: text.len() as u64,
            mtime_ns: 0,
            recorded_ns: 0,
        };
        let hash = document::content_hash(&text);
        let put = describe(
            &path,
            Role::State,
            stamp,
            hash,
            &document::parse(text),
            sizes,
        );
        changes.push(Change::Put(Box::new(put)));
    }
    let mut index = Index::in_memory()?;
    index.apply(changes)?;
    let catalogue = index.catalogue()?;
    Ok((index, catalogue))
}

fn paths(workspace: &Workspace) -> Vec<RelPath> {
    let mut paths = Vec::new();
    for folder in FOLDERS {
        paths.extend(
            workspace
                .markdown_in(folder)
                .into_iter()
                .filter(|path| matches!(role(path, &[]), Role::State | Role::Archive)),
        );
    }
    paths
}
