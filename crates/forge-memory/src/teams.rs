//! Shares state and memory through git: merges two versions of a file entry by
//! entry, and keeps private files private.
//!
//! Pure text: the same three texts give the same bytes on every machine. A
//! merge that would lose or change an entry is refused.

use std::fmt;

use crate::document;
use crate::state_files;
use crate::workspace::{RelPath, Workspace};

mod align;
mod numbers;
pub mod private;
mod task;
mod three;
mod units;
mod weave;

/// Files that can be merged by entry, by their content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Sessions,
    Decisions,
    Progress,
    Archive,
    /// `MEMORY.md`.
    Pointers,
    Learnings,
    /// `STATE.md` and `status.md`, section by section.
    State,
}

impl Kind {
    /// Determines the kind by the file name alone; none for files that git
    /// merges as usual.
    pub fn of(path: &str) -> Option<Kind> {
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        Some(match name.to_ascii_lowercase().as_str() {
            "session-log.md" | "session-log-archive.md" => Kind::Sessions,
            "decisions.md" => Kind::Decisions,
            "progress.md" => Kind::Progress,
            "archive.md" => Kind::Archive,
            "memory.md" => Kind::Pointers,
            "learnings.md" => Kind::Learnings,
            "state.md" | "status.md" => Kind::State,
            name if name.starts_with("memory-more") => Kind::Pointers,
            _ => return None,
        })
    }
}

/// Name prefix of the pages after a full `MEMORY.md`. The line that links to
/// them contains a count, which the next writer recomputes.
const OVERFLOW: &str = "MEMORY-more";

/// Patterns for `.gitattributes` that select the files with entries.
pub const PATTERNS: [&str; 12] = [
    state_files::STATE.mind,
    state_files::PROGRESS.mind,
    state_files::DECISIONS.mind,
    state_files::SESSION_LOG.mind,
    state_files::ARCHIVE.mind,
    state_files::STATE.manifest,
    state_files::DECISIONS.manifest,
    state_files::SESSION_LOG.manifest,
    state_files::ARCHIVE.manifest,
    "**/MEMORY.md",
    "**/MEMORY-more*.md",
    ".agents/memory/**/learnings.md",
];

/// The result of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// The merged text, with markers around each conflicting entry.
    pub text: String,
    pub conflicts: usize,
    /// Entries that were renumbered: old and new names.
    pub renamed: Vec<(String, String)>,
}

/// The reason why three texts cannot be merged by entry. Git's own merge still
/// can.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotMerged {
    /// A text already has conflict markers; the user has to resolve them first.
    Markers,
    /// A text has a lone carriage return, only some have a byte order mark, or
    /// the result would not be parsed into the intended entries.
    Unsafe,
}

impl fmt::Display for NotMerged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NotMerged::Markers => "there are conflict markers in it already",
            NotMerged::Unsafe => "its entries cannot be told apart safely",
        })
    }
}

/// Merges two versions with a common base.
pub fn merge(kind: Kind, base: &str, ours: &str, theirs: &str) -> Result<Merged, NotMerged> {
    let whole = |text: &str| Merged {
        text: text.to_owned(),
        conflicts: 0,
        renamed: Vec::new(),
    };
    if ours == theirs || base == theirs {
        return Ok(whole(ours));
    }
    if base == ours {
        return Ok(whole(theirs));
    }
    if [base, ours, theirs].iter().any(|it| has_markers(it)) {
        return Err(NotMerged::Markers);
    }
    // Git recognizes a marker only at the start of a line: not after a byte
    // order mark, and not after a carriage return that ends a line only for us.
    const BOM: char = '\u{feff}';
    if let (Some(ours), Some(theirs)) = (ours.strip_prefix(BOM), theirs.strip_prefix(BOM)) {
        let mut merged = merge(kind, base.strip_prefix(BOM).unwrap_or(base), ours, theirs)?;
        if has_markers(merged.text.lines().next().unwrap_or_default()) {
            return Err(NotMerged::Unsafe);
        }
        merged.text.insert(0, BOM);
        return Ok(merged);
    }
    let odd = |it: &&str| it.starts_with(BOM) || has_lone_returns(it);
    if [base, ours, theirs].iter().any(odd) {
        return Err(NotMerged::Unsafe);
    }
    let texts = [base, ours, theirs].map(document::parse);
    let [base, ours, theirs] = [&texts[0], &texts[1], &texts[2]];
    let base = units::pieces(base, kind);
    let mut ours = units::pieces(ours, kind);
    let mut theirs = units::pieces(theirs, kind);
    let follow = three::settle_names(&base, &mut ours, &mut theirs);
    let three = three::three(kind, false, &base, &ours, &theirs, follow);
    let order = weave::order(kind, &three);
    let (text, expected) = weave::ours_only(&three, &order);
    let read = document::parse(text);
    let read = units::pieces(&read, kind).units;
    // The result must parse back into exactly the intended pieces; otherwise an
    // entry could be lost or changed.
    if !read
        .iter()
        .map(|it| it.text)
        .eq(expected.iter().map(|it| &it[..]))
    {
        return Err(NotMerged::Unsafe);
    }
    let renames = three.renames.iter();
    Ok(Merged {
        text: weave::text(&three, &order),
        conflicts: weave::conflicts(&three),
        renamed: renames
            .map(|((series, old), new)| (series.name(*old), series.name(*new)))
            .collect(),
    })
}

/// Merges what is nested below an item, item by item; returns none on a
/// conflict.
fn woven_finely(kind: Kind, base: &str, ours: &str, theirs: &str) -> Option<String> {
    let texts = [base, ours, theirs].map(document::parse);
    let [base, ours, theirs] = [&texts[0], &texts[1], &texts[2]];
    let base = units::fine_pieces(base, kind);
    let ours = units::fine_pieces(ours, kind);
    let theirs = units::fine_pieces(theirs, kind);
    let follow = Default::default();
    let three = three::three(kind, true, &base, &ours, &theirs, follow);
    let order = weave::order(kind, &three);
    (weave::conflicts(&three) == 0).then(|| weave::text(&three, &order))
}

/// The attribute in `.gitattributes` that makes git call our merge driver.
pub const ATTRIBUTE: &str = "merge=memory-forge";

/// Returns `true` if the workspace's `.gitattributes` names the driver.
pub fn names_driver(workspace: &Workspace) -> bool {
    let path = RelPath::new(".gitattributes");
    let text = path.ok().and_then(|it| workspace.text_if_there(&it).ok()?);
    let meant = |line: &str| !line.trim_start().starts_with('#') && line.contains(ATTRIBUTE);
    text.is_some_and(|text| text.lines().any(meant))
}

fn has_lone_returns(text: &str) -> bool {
    let bytes = text.as_bytes();
    memchr::memchr_iter(b'\r', bytes).any(|at| bytes.get(at + 1) != Some(&b'\n'))
}

fn has_markers(text: &str) -> bool {
    let mark = |line: &str| line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> ");
    text.lines().any(mark)
}

#[cfg(test)]
mod tests;
