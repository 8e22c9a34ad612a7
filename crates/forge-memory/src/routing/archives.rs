//! Lists the archives that the program makes in Tier 3 of the manifest: of
//! closets, of the session log, of decisions. Rows that people wrote are never
//! changed.

use jiff::Timestamp;

use super::manifest::{self, Manifest, ManifestPart, NewManifestEntry};
use crate::document::{TextEdit, day_of_timestamp};
use crate::workspace::{WorkspaceChange, WorkspaceError};

/// A row that lists an archive.
pub struct ArchiveRow<'a> {
    /// The link target of the row, without `.md`.
    pub target: &'a str,
    /// A description of the archive's content.
    pub about: &'a str,
}

/// Lists an archive in the manifest unless it `is_listed`, and returns whether
/// it was added. Does nothing without a manifest.
pub fn list_archive(
    change: &mut WorkspaceChange<'_>,
    row: &ArchiveRow<'_>,
    now: Timestamp,
    is_listed: impl FnOnce(&Manifest) -> bool,
) -> Result<bool, WorkspaceError> {
    let path = manifest::manifest_path();
    let Some(text) = change.read_text(&path)? else {
        return Ok(false);
    };
    let manifest = Manifest::parse(text);
    if is_listed(&manifest) {
        return Ok(false);
    }
    // If the row cannot be added without changing other rows, people have to
    // add it.
    let edit = archive_row_edit(&manifest, row, now);
    let after = edit.and_then(|edit| manifest.text_after_edits(vec![edit]).ok());
    let is_added = after.is_some();
    if let Some(after) = after {
        change.write(&path, after);
    }
    Ok(is_added)
}

/// Returns the edit that lists an archive, if one is needed.
pub fn archive_row_edit(
    manifest: &Manifest,
    row: &ArchiveRow<'_>,
    now: Timestamp,
) -> Option<TextEdit> {
    let new = NewManifestEntry {
        name: "",
        target: row.target,
        text: row.about,
        note: &day_of_timestamp(now).to_string(),
    };
    manifest.list_entry(ManifestPart::Tier3, &new)
}
