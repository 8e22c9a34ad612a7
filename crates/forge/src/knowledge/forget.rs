//! Forgetting is a list that people can read and edit: `knowledge/_FORGOTTEN.md`.
//! The files stay as they are; what the list names is not found by a search.

use std::collections::HashSet;

use super::refresh::Error;
use crate::document::{self, LinkKind};
use crate::workspace::{RelPath, Workspace};

/// Where forgotten files are listed.
pub const LIST: &str = "knowledge/_FORGOTTEN.md";

/// Paths that the list names, relative to the root.
pub fn forgotten(workspace: &Workspace) -> Result<HashSet<String>, Error> {
    let path = RelPath::new(LIST).expect("a constant that is a valid path");
    let text = match workspace.read_text(&path) {
        Ok(text) => text,
        Err(e) if e.is_not_found() => return Ok(HashSet::new()),
        Err(e) => return Err(e.into()),
    };
    let document = document::parse(text);
    Ok(document
        .links
        .iter()
        .filter(|link| link.kind == LinkKind::Inline)
        .map(|link| format!("knowledge/{}", link.target))
        .collect())
}
