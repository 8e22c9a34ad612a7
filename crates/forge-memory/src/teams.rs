//! Shares state and memory through git: merges two versions of a file entry by
//! entry, and keeps private files private.
//!
//! Pure text: the same three texts give the same bytes on every machine. A
//! merge that would lose or change an entry is refused.

use std::fmt;

use crate::document;
use crate::retractions;
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
pub enum MergeKind {
    /// A log of sessions.
    Sessions,
    /// A file of decisions.
    Decisions,
    /// A list of tasks.
    Progress,
    /// An archive of the state.
    Archive,
    /// `MEMORY.md`.
    Pointers,
    /// Learnings of a squad.
    Learnings,
    /// `STATE.md` and `status.md`, section by section.
    State,
    /// The inbox of ideas, a heading of level 3 each.
    Ideas,
}

impl MergeKind {
    /// Determines the kind by the file name alone, but for the list of
    /// documents, whose name is that of any readme; none for files that git
    /// merges as usual.
    pub fn from_path(path: &str) -> Option<MergeKind> {
        let path = path.replace('\\', "/").to_ascii_lowercase();
        let mut names = path.rsplit('/');
        let name = names.next().unwrap_or(&path);
        Some(match name {
            "readme.md" | "_forgotten.md" if names.next() == Some("knowledge") => {
                MergeKind::Pointers
            }
            "session-log.md" | "session-log-archive.md" => MergeKind::Sessions,
            // What was replaced in the state: dated entries, as in a log.
            name if is_replaced_state(name) => MergeKind::Sessions,
            "decisions.md" => MergeKind::Decisions,
            "progress.md" => MergeKind::Progress,
            "archive.md" => MergeKind::Archive,
            "memory.md" => MergeKind::Pointers,
            "learnings.md" => MergeKind::Learnings,
            "state.md" | "status.md" => MergeKind::State,
            "ideas.md" => MergeKind::Ideas,
            name if name.starts_with("memory-more") => MergeKind::Pointers,
            _ => return None,
        })
    }
}

/// Returns `true` for `state-archive.md` and the numbered files that follow a
/// full one.
fn is_replaced_state(name: &str) -> bool {
    let stem = name.strip_suffix("-archive.md");
    stem.is_some_and(|it| {
        let (first, number) = it.split_once('-').unwrap_or((it, ""));
        matches!(first, "state" | "status") && number.bytes().all(|it| it.is_ascii_digit())
    })
}

/// Name prefix of the pages after a full `MEMORY.md`. The line that links to
/// them contains a count, which the next writer recomputes.
const OVERFLOW_PAGE_PREFIX: &str = "MEMORY-more";

/// Patterns for `.gitattributes` that select the files with entries.
pub const MERGED_FILE_PATTERNS: [&str; 18] = [
    state_files::STATE_FILE.mind,
    state_files::PROGRESS_FILE.mind,
    state_files::DECISIONS_FILE.mind,
    state_files::SESSION_LOG_FILE.mind,
    state_files::ARCHIVE_FILE.mind,
    ".mind/STATE*-archive.md",
    state_files::IDEAS_FILE.mind,
    state_files::STATE_FILE.manifest,
    state_files::DECISIONS_FILE.manifest,
    state_files::SESSION_LOG_FILE.manifest,
    state_files::ARCHIVE_FILE.manifest,
    "memory/status*-archive.md",
    state_files::IDEAS_FILE.manifest,
    "knowledge/README.md",
    retractions::RETRACTION_LIST,
    "**/MEMORY.md",
    "**/MEMORY-more*.md",
    ".agents/memory/**/learnings.md",
];

/// The result of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeOutcome {
    /// The merged text, with markers around each conflicting entry.
    pub text: String,
    /// Number of entries that both sides changed.
    pub conflicts: usize,
    /// Entries that were renumbered: old and new names.
    pub renamed: Vec<(String, String)>,
}

/// The reason why three texts cannot be merged by entry. Git's own merge still
/// can.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeRefusal {
    /// A text already has conflict markers; the user has to resolve them first.
    Markers,
    /// A text has a lone carriage return, only some have a byte order mark, or
    /// the result would not be parsed into the intended entries.
    Unsafe,
}

impl fmt::Display for MergeRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            MergeRefusal::Markers => "it already contains conflict markers",
            MergeRefusal::Unsafe => "its entries cannot be distinguished safely",
        })
    }
}

/// Merges two versions with a common base.
pub fn merge_texts(
    kind: MergeKind,
    base: &str,
    ours: &str,
    theirs: &str,
) -> Result<MergeOutcome, MergeRefusal> {
    let whole = |text: &str| MergeOutcome {
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
    if [base, ours, theirs]
        .iter()
        .any(|it| has_conflict_markers(it))
    {
        return Err(MergeRefusal::Markers);
    }
    // Git recognizes a marker only at the start of a line: not after a byte
    // order mark, and not after a carriage return that ends a line only for us.
    const BYTE_ORDER_MARK: char = '\u{feff}';
    if let (Some(ours), Some(theirs)) = (
        ours.strip_prefix(BYTE_ORDER_MARK),
        theirs.strip_prefix(BYTE_ORDER_MARK),
    ) {
        let mut merged = merge_texts(
            kind,
            base.strip_prefix(BYTE_ORDER_MARK).unwrap_or(base),
            ours,
            theirs,
        )?;
        if has_conflict_markers(merged.text.lines().next().unwrap_or_default()) {
            return Err(MergeRefusal::Unsafe);
        }
        merged.text.insert(0, BYTE_ORDER_MARK);
        return Ok(merged);
    }
    let is_unmergeable = |it: &&str| it.starts_with(BYTE_ORDER_MARK) || has_lone_returns(it);
    if [base, ours, theirs].iter().any(is_unmergeable) {
        return Err(MergeRefusal::Unsafe);
    }
    let texts = [base, ours, theirs].map(document::parse_document);
    let [base, ours, theirs] = [&texts[0], &texts[1], &texts[2]];
    let base = units::split_pieces(base, kind);
    let mut ours = units::split_pieces(ours, kind);
    let mut theirs = units::split_pieces(theirs, kind);
    let follow = three::resolve_renamed_mentions(&base, &mut ours, &mut theirs);
    let three = three::merge_three_ways(kind, false, &base, &ours, &theirs, follow);
    let order = weave::order_nodes(kind, &three);
    let (text, expected) = weave::render_ours(&three, &order);
    let read = document::parse_document(text);
    let read = units::split_pieces(&read, kind).units;
    // The result must parse back into exactly the intended pieces; otherwise an
    // entry could be lost or changed.
    if !read
        .iter()
        .map(|it| it.text)
        .eq(expected.iter().map(|it| &it[..]))
    {
        return Err(MergeRefusal::Unsafe);
    }
    let renames = three.renames.iter();
    Ok(MergeOutcome {
        text: weave::render_with_conflicts(&three, &order),
        conflicts: weave::count_conflicts(&three),
        renamed: renames
            .map(|((series, old), new)| (series.format_name(*old), series.format_name(*new)))
            .collect(),
    })
}

/// Merges what is nested below an item, item by item; returns none on a
/// conflict.
fn merge_nested_items(kind: MergeKind, base: &str, ours: &str, theirs: &str) -> Option<String> {
    let texts = [base, ours, theirs].map(document::parse_document);
    let [base, ours, theirs] = [&texts[0], &texts[1], &texts[2]];
    let base = units::split_fine_pieces(base, kind);
    let ours = units::split_fine_pieces(ours, kind);
    let theirs = units::split_fine_pieces(theirs, kind);
    let follow = Default::default();
    let three = three::merge_three_ways(kind, true, &base, &ours, &theirs, follow);
    let order = weave::order_nodes(kind, &three);
    (weave::count_conflicts(&three) == 0).then(|| weave::render_with_conflicts(&three, &order))
}

/// The attribute in `.gitattributes` that makes git call our merge driver.
pub const MERGE_ATTRIBUTE: &str = "merge=memory-forge";

/// Returns `true` if the workspace's `.gitattributes` names the driver.
pub fn has_merge_driver(workspace: &Workspace) -> bool {
    let path = RelPath::new(".gitattributes");
    let text = path
        .ok()
        .and_then(|it| workspace.read_text_if_present(&it).ok()?);
    let meant = |line: &str| !line.trim_start().starts_with('#') && line.contains(MERGE_ATTRIBUTE);
    text.is_some_and(|text| text.lines().any(meant))
}

fn has_lone_returns(text: &str) -> bool {
    let bytes = text.as_bytes();
    memchr::memchr_iter(b'\r', bytes).any(|at| bytes.get(at + 1) != Some(&b'\n'))
}

fn has_conflict_markers(text: &str) -> bool {
    let mark = |line: &str| line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> ");
    text.lines().any(mark)
}

#[cfg(test)]
mod tests;
