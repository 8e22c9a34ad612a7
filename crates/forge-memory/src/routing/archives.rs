//! Rows of Tier 3 for the archives that the program makes: of closets, of the
//! session log, of decisions. Rows of people's are never changed.

use jiff::Timestamp;

use super::manifest::{self, Manifest, New, Part};
use crate::document::{Edit, day_of};
use crate::workspace::{Change, Error};

/// A row that lists an archive.
pub struct ArchiveRow<'a> {
    /// What the row leads to, without `.md`.
    pub target: &'a str,
    /// What is in the archive.
    pub about: &'a str,
}

/// Lists an archive in the manifest, unless it `is_listed`, and returns whether
/// it was added. Without a manifest nothing is done.
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
    // A row that cannot be added without changing others is left to people.
    let edit = row_of(&manifest, row, now);
    let after = edit.and_then(|edit| manifest.edited(vec![edit]).ok());
    let is_added = after.is_some();
    if let Some(after) = after {
        change.write(&path, after);
    }
    Ok(is_added)
}

/// Returns the edit that lists an archive, where there is one to make.
pub fn row_of(manifest: &Manifest, row: &ArchiveRow<'_>, now: Timestamp) -> Option<Edit> {
    let new = New {
        name: "",
        target: row.target,
        text: row.about,
        note: &day_of(now).to_string(),
    };
    manifest.list(Part::Tier3, &new)
}
