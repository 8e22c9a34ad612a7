//! Manifest and closets as something to search: few and small, so their index
//! is made anew each time and lives in memory.

use super::describe::of_text;
use super::refresh::Error;
use crate::index::{Change, Index, Sizes};
use crate::recall::{self, Answer, Ask, Mode};
use crate::workspace::{RelPath, Role, Workspace};

/// Asks the maps of a workspace by full text; none where it has none. Files
/// that cannot be read are added to `notes`.
pub fn ask(
    workspace: &Workspace,
    ask: &Ask<'_>,
    notes: &mut Vec<String>,
) -> Result<Option<Answer>, Error> {
    let sizes = Sizes::up_to(workspace.config().index.chunk_tokens);
    let mut changes = Vec::new();
    for path in files(workspace) {
        let text = match workspace.read_text(&path) {
            Ok(text) => text,
            Err(error) => {
                notes.push(format!("{path}: {}", error.reason()));
                continue;
            }
        };
        let (_, put) = of_text(&path, Role::Routing, text, sizes);
        changes.push(Change::Put(Box::new(put)));
    }
    if changes.is_empty() {
        return Ok(None);
    }
    let mut index = Index::in_memory()?;
    index.apply(changes)?;
    let catalogue = index.catalogue()?;
    let ask = Ask {
        mode: Mode::Text,
        scopes: Vec::new(),
        kinds: Vec::new(),
        since: None,
        ..ask.clone()
    };
    Ok(Some(recall::ask(&index, &catalogue, None, &ask)?))
}

/// The manifest and every closets file, archives included.
fn files(workspace: &Workspace) -> Vec<RelPath> {
    let named = |path: &RelPath| {
        let name = path.as_str().rsplit('/').next().unwrap_or_default();
        path.as_str() == "_MANIFEST.md" || matches!(name, "_CLOSETS.md" | "_CLOSETS-archive.md")
    };
    let paths = workspace.tree().files.into_iter().map(|found| found.path);
    paths.filter(named).collect()
}
