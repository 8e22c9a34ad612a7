//! Rotation of files that grow: the oldest entries move to an archive next to
//! the file, word for word, and a line links to it. Entries without a date
//! stay, since their age is unknown.

use jiff::Timestamp;
use jiff::civil::Date;

use super::learnings::{self, DatedEntry};
use super::topics::STATE_FILES;
use super::{AGENT_MEMORY_FOLDER, AgentError, MemoryHome, list_subfolders};
use crate::document::{self, Document};
use crate::workspace::{self, ChangeReceipt, RelPath, Workspace, WorkspaceChange};

/// Size above which a file is rotated.
pub const ROTATE_ABOVE_BYTES: usize = 12_000;

/// A file above the cap, before and after its rotation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RotatedFile {
    /// The file that is too long.
    pub path: RelPath,
    /// The archive that entries move to.
    pub archive: RelPath,
    /// Number of entries that moved.
    pub moved: usize,
    /// Its size in bytes before.
    pub before: usize,
    /// Its size in bytes after.
    pub after: usize,
}

impl RotatedFile {
    /// Returns `true` if the file is still too long because no entry was old
    /// enough to move.
    pub fn is_too_long(&self, max_bytes: usize) -> bool {
        self.after > max_bytes
    }
}

/// The result of rotating files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RotationReport {
    /// Files above the cap.
    pub files: Vec<RotatedFile>,
    /// The receipt of the change; none if nothing moved.
    pub receipt: Option<ChangeReceipt>,
}

/// Lists the files of an agent that grow.
pub fn list_agent_files(home: &MemoryHome) -> Result<Vec<RelPath>, AgentError> {
    let files = STATE_FILES.iter().map(|name| home.file_path(name));
    files.collect()
}

/// Lists the files that squads share and that belong to no agent.
pub fn list_shared_files(workspace: &Workspace) -> Vec<RelPath> {
    let root = RelPath::new(AGENT_MEMORY_FOLDER).expect("a constant that is a valid path");
    let squads = list_subfolders(workspace, &root);
    let files = squads
        .iter()
        .filter_map(|squad| learnings::learnings_path(squad).ok());
    let mut files: Vec<RelPath> = files.collect();
    files.sort();
    files
}

/// Rotates these files in one change. A dry run only reports what would move.
pub fn rotate_files(
    workspace: &Workspace,
    files: &[RelPath],
    max_bytes: usize,
    dry_run: bool,
    now: Timestamp,
) -> Result<RotationReport, AgentError> {
    let mut rotation = RotationReport::default();
    if dry_run {
        for path in files {
            let archive = archive_path(path)?;
            let plan = plan_rotation(
                path,
                &archive,
                workspace.read_text_if_present(path)?,
                max_bytes,
            )?;
            rotation.files.extend(plan.map(|it| it.rotated));
        }
        return Ok(rotation);
    }
    let rotated = |change: &mut WorkspaceChange<'_>| -> Result<Vec<RotatedFile>, AgentError> {
        let mut done = Vec::new();
        for path in files {
            let archive = archive_path(path)?;
            let text = change.read_text(path)?;
            let Some(plan) = plan_rotation(path, &archive, text, max_bytes)? else {
                continue;
            };
            if plan.rotated.moved > 0 {
                let there = change.read_text(&archive)?;
                change.write(&archive, append_to_archive(path, there, &plan.moved));
                change.write(path, plan.text.as_bytes());
            }
            done.push(plan.rotated);
        }
        Ok(done)
    };
    let (done, receipt) = workspace.change_with("Rotate agents' files", now, rotated)?;
    rotation.files = done;
    rotation.receipt = Some(receipt);
    Ok(rotation)
}

/// Returns the path of a file's archive, which is in the same folder.
fn archive_path(path: &RelPath) -> Result<RelPath, workspace::WorkspaceError> {
    let name = format!("{}-archive.md", path.stem());
    let folder = path.parent();
    Ok(match folder {
        Some(folder) => folder.join(&name)?,
        None => RelPath::new(&name)?,
    })
}

struct RotationPlan {
    text: String,
    moved: Vec<String>,
    rotated: RotatedFile,
}

/// Plans the rotation of a file; `None` below the cap. The newest entry always
/// stays.
fn plan_rotation(
    path: &RelPath,
    archive: &RelPath,
    text: Option<String>,
    max_bytes: usize,
) -> Result<Option<RotationPlan>, AgentError> {
    let Some(text) = text.filter(|text| text.len() > max_bytes) else {
        return Ok(None);
    };
    let document = document::parse_document(text);
    let entries = learnings::find_dated_entries(&document);
    let pointer = format!("Older entries: [{0}]({0})", archive.file_name());
    let before = document.text.len();
    // Leaves a quarter free, so that not every new entry moves an old one.
    let aim = max_bytes - max_bytes / 4;
    let has_pointer = document.text.lines().any(|line| line.trim() == pointer);
    // The new pointer line takes room too.
    let mut size = before + if has_pointer { 0 } else { pointer.len() + 4 };
    let mut moving: Vec<&DatedEntry> = Vec::new();
    let by_age = sort_by_age(&entries);
    // The newest entry stays, even if it alone is too long.
    for entry in by_age.iter().take(by_age.len().saturating_sub(1)) {
        if size <= aim {
            break;
        }
        size -= entry.span.len();
        moving.push(entry);
    }
    // In rare files an entry decides how its neighbour reads (a rule below a
    // line of text makes a heading of it); such a file stays as it is. Moving
    // fewer entries would not be idempotent: the next run would move the rest.
    let mut text = document.text.clone();
    if !moving.is_empty() {
        let pointer = (!has_pointer).then_some(&pointer);
        let shorter = remove_entries(&document, &entries, &moving, pointer);
        if reads_as_before(&document, &entries, &moving, &shorter) {
            text = shorter;
        } else {
            moving.clear();
        }
    }
    let moved: Vec<String> = moving
        .iter()
        .map(|entry| document.span_text(&entry.span).to_owned())
        .collect();
    let rotated = RotatedFile {
        path: path.clone(),
        archive: archive.clone(),
        moved: moved.len(),
        before,
        after: text.len(),
    };
    Ok(Some(RotationPlan {
        text,
        moved,
        rotated,
    }))
}

/// Returns `true` if the entries that stay are exactly the entries of the new
/// text.
fn reads_as_before(
    document: &Document,
    entries: &[DatedEntry],
    moving: &[&DatedEntry],
    text: &str,
) -> bool {
    let after = document::parse_document(text);
    let left = learnings::find_dated_entries(&after);
    let stays = |entry: &&DatedEntry| !moving.contains(entry);
    let kept = entries
        .iter()
        .filter(stays)
        .map(|it| document.span_text(&it.span).trim_end());
    // An entry may have got a blank line at its end.
    left.iter()
        .map(|it| after.span_text(&it.span).trim_end())
        .eq(kept)
}

/// Sorts entries, oldest first. Equal dates keep the order of time in the file:
/// most files grow at their end, and one that grows at its top shows it by its
/// dates.
fn sort_by_age(entries: &[DatedEntry]) -> Vec<&DatedEntry> {
    let dates: Vec<Date> = entries.iter().filter_map(|it| it.date).collect();
    let newest_first = dates.first() > dates.last();
    let mut order: Vec<(usize, &DatedEntry)> = entries.iter().enumerate().collect();
    order.sort_by_key(|(at, entry)| {
        let at = if newest_first {
            entries.len() - at
        } else {
            *at
        };
        (entry.date, at)
    });
    order.into_iter().map(|(_, entry)| entry).collect()
}

/// Removes entries, and adds a line before the first entry that links to the
/// archive.
fn remove_entries(
    document: &Document,
    entries: &[DatedEntry],
    moving: &[&DatedEntry],
    pointer: Option<&String>,
) -> String {
    let newline = document.newline();
    let first = entries.first().map_or(0, |entry| entry.span.start);
    let mut out = document.text[..first].to_owned();
    if let Some(pointer) = pointer {
        if !out.is_empty() && !out.ends_with(['\n', '\r']) {
            out.push_str(newline);
        }
        if !out.trim_start_matches('\u{feff}').is_empty()
            && out
                .lines()
                .next_back()
                .is_some_and(|it| !it.trim().is_empty())
        {
            out.push_str(newline);
        }
        out.push_str(&format!("{pointer}{newline}{newline}"));
    }
    let mut follows_a_gap = false;
    for entry in entries {
        if moving.contains(&entry) {
            follows_a_gap = true;
            continue;
        }
        // Where an entry went, its neighbours meet: a rule right below a line
        // of text would make a heading of that line.
        if follows_a_gap && !ends_with_blank_line(&out) {
            if !out.ends_with(['\n', '\r']) {
                out.push_str(newline);
            }
            out.push_str(newline);
        }
        follows_a_gap = false;
        out.push_str(document.span_text(&entry.span));
    }
    out
}

/// Returns `true` if a block that is appended starts a block of its own.
fn ends_with_blank_line(text: &str) -> bool {
    text.lines()
        .next_back()
        .is_none_or(|it| it.trim().is_empty())
}

/// Returns the archive with more entries at its end.
fn append_to_archive(path: &RelPath, there: Option<String>, moved: &[String]) -> String {
    let there = there.unwrap_or_default();
    let newline = document::parse_document(there.as_str()).newline();
    let mut out = there;
    if out.trim().is_empty() {
        out.push_str(&format!("# Archive of {}\n", path.file_name()));
    }
    for entry in moved {
        if !out.ends_with(['\n', '\r']) {
            out.push_str(newline);
        }
        // A rule right below a line of text would make a heading of it.
        if !ends_with_blank_line(&out) {
            out.push_str(newline);
        }
        out.push_str(entry);
    }
    out
}

#[cfg(test)]
mod tests;
