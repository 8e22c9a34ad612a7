//! Imports basic-memory's notes: Markdown with `title`, `type`, `permalink` and
//! `tags`, observations (`- [category] …`) and relations (`- relates_to
//! [[Target]]`). The text is kept; `[[Title]]` and permalinks find their notes
//! here too.

use std::path::Path;

use super::land::Landing;
use super::notes::{self, Kind};
use super::{Error, Options, Report};
use crate::document::Document;
use crate::workspace::Workspace;

/// Imports the notes of a basic-memory folder.
pub fn run(workspace: &Workspace, folder: &Path, options: &Options) -> Result<Report, Error> {
    let folder = notes::folder(folder)?;
    let mut landing = Landing::new(workspace, options)?;
    let kind = Kind {
        source: "basic-memory",
        id: "",
        folder: "knowledge/basic-memory",
        folders: true,
        names,
    };
    for note in notes::below(folder, options, &mut landing.report) {
        notes::place(workspace, &note, &kind, &mut landing)?;
    }
    landing.finish()
}

/// Returns the names by which links mean a note: its title and its permalink.
fn names(document: &Document) -> Vec<String> {
    let front = document.front_matter.as_ref();
    let keys = ["title", "permalink"];
    let names = keys.iter().filter_map(|key| front?.text(key));
    names.map(str::to_owned).collect()
}
