//! Lists the archives that the program makes in Tier 3 of the manifest: of
//! closets, of the session log, of decisions. Rows that people wrote are never
//! changed.

use jiff::Timestamp;

use super::manifest::{self, Manifest, New, Part};
use crate::document::{Edit, day_of};
use crate::workspace::{Change, Error};

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
    change: &mut Change<'_>,
    row: &ArchiveRow<'_>,
    now: Timestamp,
    is_listed: impl FnOnce(&Manifest) -> bool,
) -> Result<bool, Error> {
    let path = manifest::path();
    let Some(text) = change.read_text(&path)? else {
        return Ok(false);
    };
    let manifest = Manifest::parse(text);
    if is_listed(&manifest) {
        return Ok(false);
    }
    // If the row cannot be added without changing other rows, people have to
    // add it.
    let edit = row_of(&manifest, row, now);
    let after = edit.and_then(|edit| manifest.edited(vec![edit]).ok());
    let is_added = after.is_some();
    if let Some(after) = after {
        change.write(&path, after);
    }
    Ok(is_added)
}

/// Returns the edit that lists an archive, if one is needed.
pub fn row_of(manifest: &Manifest, row: &ArchiveRow<'_>, now: Timestamp) -> Option<Edit> {
    let new = New {
        name: "",
        target: row.target,
        text: row.about,
        note: &day_of(now).to_string(),
    };
    manifest.list(Part::Tier3, &new)
}
