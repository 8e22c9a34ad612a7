//! Imports basic-memory's notes: Markdown with `title`, `type`, `permalink` and
//! `tags`, observations (`- [category] …`) and relations (`- relates_to
//! [[Target]]`). The text is kept; `[[Title]]` and permalinks find their notes
//! here too.

use std::path::Path;

use super::land::ImportWriter;
use super::notes::{self, NoteImportSpec};
use super::{ImportError, ImportOptions, ImportReport};
use crate::document::Document;
use crate::workspace::Workspace;

/// Imports the notes of a basic-memory folder.
pub fn import_basic_memory(
    workspace: &Workspace,
    folder: &Path,
    options: &ImportOptions,
) -> Result<ImportReport, ImportError> {
    let folder = notes::require_folder(folder)?;
    let mut landing = ImportWriter::new(workspace, options)?;
    let kind = NoteImportSpec {
        source: "basic-memory",
        id: "",
        folder: "knowledge/basic-memory",
        folders: true,
        names: note_names,
    };
    for note in notes::find_notes(folder, options, &mut landing.report) {
        notes::import_note(workspace, &note, &kind, &mut landing)?;
    }
    landing.finish()
}

/// Returns the names by which links mean a note: its title and its permalink.
fn note_names(document: &Document) -> Vec<String> {
    let front = document.front_matter.as_ref();
    let keys = ["title", "permalink"];
    let names = keys.iter().filter_map(|key| front?.text(key));
    names.map(str::to_owned).collect()
}
