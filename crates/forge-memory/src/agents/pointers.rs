//! `MEMORY.md`: one line for each topic, always loaded, and so never longer
//! than its caps. It contains pointers; the topics are read on demand.
//!
//! Lines that the user wrote stay as they are, in their order. Pointers that do
//! not fit move to pages behind the index, and come back when there is room;
//! the newest pointer always stays.

use std::collections::HashMap;

use jiff::Timestamp;

use super::topics::{self, TopicFile};
use super::{AgentError, MemoryHome};
use crate::document;
use crate::document::linked_items;
use crate::index::Index;
use crate::knowledge::readme::ReadmeEntry;
use crate::workspace::{self, ChangeReceipt, RelPath, Workspace, WorkspaceChange};

mod settle;
mod units;

use settle::{IndexTexts, PointerCandidate};

/// The index that is shared with the team.
pub const POINTER_INDEX_FILE: &str = "MEMORY.md";
/// The index that stays on this machine.
pub const PRIVATE_INDEX_FILE: &str = "MEMORY.local.md";
/// The file that is read where there is no index yet.
pub const FALLBACK_FILE: &str = "state.md";

/// Maximum number of lines of an index: clients cut off the rest.
pub const MAX_INDEX_LINES: usize = 200;
/// Maximum size of an index: clients cut off the rest.
pub const MAX_INDEX_BYTES: usize = 25_000;

/// Maximum length of the title in a generated line.
const MAX_TITLE_CHARS: usize = 80;
/// Maximum length of the description in a generated line.
const MAX_DESCRIPTION_CHARS: usize = 160;

/// The result of bringing the indexes of a memory up to date.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PointerReport {
    /// The files that changed, or that a check would change.
    pub changed: Vec<RelPath>,
    /// Topics that had no pointer.
    pub added: Vec<RelPath>,
    /// Pointers to files that are missing, or that others do not have.
    pub lost: Vec<LostPointer>,
    /// The indexes with their current size.
    pub files: Vec<IndexFile>,
    /// Number of topics in the memory.
    pub topics: usize,
    /// Files that could not be read.
    pub problems: Vec<String>,
    /// The receipt of the change; none if nothing was written.
    pub receipt: Option<ChangeReceipt>,
}

/// A pointer whose file is missing, or is missing for others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostPointer {
    /// The index that contains the pointer.
    pub file: RelPath,
    /// The line of the pointer.
    pub line: usize,
    /// The path that it names.
    pub target: String,
}

/// The size of an index, and what does not fit into it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexFile {
    /// The file of the index.
    pub path: RelPath,
    /// The number of its lines.
    pub lines: usize,
    /// Its size in bytes.
    pub bytes: usize,
    /// Number of topics that only the pages behind the index point to.
    pub more: usize,
    /// Whether the file was longer than clients load.
    pub was_too_long: bool,
}

/// Brings the indexes of a memory up to date. Keeps pointers to missing files
/// unless `drop_lost` is set: the user may have written them.
pub fn update_pointer_indexes(
    workspace: &Workspace,
    home: &MemoryHome,
    drop_lost: bool,
    now: Timestamp,
) -> Result<PointerReport, AgentError> {
    let mut indexed = PointerReport::default();
    let what = format!("Index the memory of {home}");
    let receipt = workspace.change(&what, now, |change| {
        let plan = plan_pointers(workspace, home, &[], drop_lost, now, |path| {
            change.read_text(path)
        })?;
        plan.stage_files(change);
        indexed = plan.indexed;
        Ok(())
    })?;
    indexed.receipt = Some(receipt);
    Ok(indexed)
}

/// Reports what [`update_pointer_indexes`] would do, without changing a file.
pub fn check_pointer_indexes(
    workspace: &Workspace,
    home: &MemoryHome,
    now: Timestamp,
) -> Result<PointerReport, AgentError> {
    let read = |path: &RelPath| workspace.read_text_if_present(path);
    Ok(plan_pointers(workspace, home, &[], false, now, read)?.indexed)
}

/// Files with the text that they should have, `None` for those to remove.
#[derive(Debug, Default)]
pub(super) struct PointerPlan {
    pub(super) files: Vec<(RelPath, Option<String>)>,
    pub(super) indexed: PointerReport,
}

/// Plans both indexes. `overlay` contains topics that are about to be written;
/// the closure reads files as they are.
pub(super) fn plan_pointers(
    workspace: &Workspace,
    home: &MemoryHome,
    overlay: &[(RelPath, String)],
    drop_lost: bool,
    now: Timestamp,
    mut read: impl FnMut(&RelPath) -> Result<Option<String>, workspace::WorkspaceError>,
) -> Result<PointerPlan, workspace::WorkspaceError> {
    let (topics, problems) = topics::list_topics(workspace, home, overlay);
    let uses = read_use_counts(workspace);
    let mut plan = PointerPlan::default();
    plan.indexed.topics = topics.len();
    plan.indexed.problems = problems;
    for shelf in &POINTER_SHELVES {
        let candidates: Vec<PointerCandidate> = topics
            .iter()
            .filter(|topic| topic.is_private() == shelf.private)
            .map(|topic| build_candidate(topic, &uses, now))
            .collect();
        let index_path = home.folder().join(shelf.index)?;
        let names = shelf.list_page_names(workspace, home);
        let mut before = IndexTexts {
            index: read(&index_path)?,
            pages: Vec::new(),
        };
        for name in &names {
            before.pages.extend(read(&home.folder().join(name)?)?);
        }
        // Nothing is created for a memory without topics.
        if before == IndexTexts::default() && candidates.is_empty() {
            continue;
        }
        // The shared index must not name a private topic, in whatever case its
        // ending is written.
        let exists = |target: &str| shelf.can_point_to(workspace, home, target);
        let allocated = settle::allocate_pointers(shelf, &before, &candidates, &exists, drop_lost);
        for (page, line, target) in allocated.lost {
            let name = match page {
                0 => shelf.index.to_owned(),
                page => names.get(page - 1).cloned().unwrap_or_default(),
            };
            let file = home.folder().join(&name)?;
            plan.indexed.lost.push(LostPointer { file, line, target });
        }
        for target in allocated.added {
            plan.indexed.added.push(home.folder().join(&target)?);
        }
        let after = allocated.texts;
        let text = after.index.clone().unwrap_or_default();
        let was = before.index.clone().unwrap_or_default();
        plan.indexed.files.push(IndexFile {
            path: index_path.clone(),
            lines: units::count_lines(&text),
            bytes: text.len(),
            more: allocated.more,
            was_too_long: units::count_lines(&was) > MAX_INDEX_LINES || was.len() > MAX_INDEX_BYTES,
        });
        if after.index != before.index {
            plan.put_file(index_path, after.index);
        }
        let written: Vec<String> = (1..=after.pages.len())
            .map(|n| shelf.page_name(n))
            .collect();
        for (name, text) in written.iter().zip(after.pages) {
            let path = home.folder().join(name)?;
            // An unchanged page must not be reported as changed.
            if read(&path)?.as_deref() != Some(text.as_str()) {
                plan.put_file(path, Some(text));
            }
        }
        for name in names.iter().filter(|name| !written.contains(name)) {
            plan.put_file(home.folder().join(name)?, None);
        }
    }
    Ok(plan)
}

impl PointerPlan {
    /// Stages the planned files in a change.
    pub(super) fn stage_files(&self, change: &mut WorkspaceChange<'_>) {
        for (path, after) in &self.files {
            match after {
                Some(text) => change.write(path, text.as_bytes()),
                None => change.remove(path),
            }
        }
    }

    fn put_file(&mut self, path: RelPath, after: Option<String>) {
        self.indexed.changed.push(path.clone());
        self.files.push((path, after));
    }
}

/// Returns the name of the index that points to a topic.
pub(super) fn index_name_of(path: &RelPath) -> &'static str {
    let private = path.is_private();
    POINTER_SHELVES[usize::from(private)].index
}

/// Updates a topic's line if it still is the line that we generated. A line in
/// other words belongs to its author.
pub(super) fn reword_pointer(
    change: &mut WorkspaceChange<'_>,
    workspace: &Workspace,
    home: &MemoryHome,
    before: &TopicFile,
    after: &TopicFile,
) -> Result<(), workspace::WorkspaceError> {
    let of = |topic: &TopicFile| {
        let line = pointer_line(&topic.title, &topic.target, &topic.description);
        format!("- {line}")
    };
    let (old, new) = (of(before), of(after));
    if old == new {
        return Ok(());
    }
    let shelf = &POINTER_SHELVES[usize::from(before.is_private())];
    let mut names = vec![shelf.index.to_owned()];
    names.extend(shelf.list_page_names(workspace, home));
    for name in names {
        let path = home.folder().join(&name)?;
        let Some(text) = change.read_text(&path)? else {
            continue;
        };
        let document = document::parse_document(text);
        let entries = linked_items::find_linked_items(&document)
            .filter(|it| document.span_text(&it.span).trim_end_matches(['\n', '\r']) == old);
        let edits = entries.map(|it| document::TextEdit {
            span: it.span.start..it.span.start + old.len(),
            text: new.clone(),
        });
        let edits: Vec<document::TextEdit> = edits.collect();
        if edits.is_empty() {
            continue;
        }
        let text = document::apply_edits(&document.text, edits);
        let text = text.map_err(|error| workspace::WorkspaceError::Refused(error.to_string()))?;
        change.write(&path, text);
    }
    Ok(())
}

/// Returns the first sentence of a text that has no description.
pub(super) fn first_sentence(text: &str) -> String {
    let path = RelPath::new("x.md").expect("a constant that is a valid path");
    ReadmeEntry::new(path, text).summary
}

/// Renders the line of a topic, without its marker.
pub(super) fn pointer_line(title: &str, target: &str, description: &str) -> String {
    let link = linked_items::format_link(&truncate_chars(title, MAX_TITLE_CHARS), target);
    let mut text = String::new();
    let mut escaped = false;
    // A link in a description would be a pointer of its own.
    for c in truncate_chars(
        &document::escape_markdown_line(description),
        MAX_DESCRIPTION_CHARS,
    )
    .chars()
    {
        if matches!(c, '[' | '<') && !escaped {
            text.push('\\');
        }
        text.push(c);
        escaped = c == '\\' && !escaped;
    }
    if text.is_empty() {
        link
    } else {
        format!("{link} — {text}")
    }
}

/// Builds the candidate of a topic from its age and use count.
fn build_candidate(
    topic: &TopicFile,
    uses: &HashMap<String, u64>,
    now: Timestamp,
) -> PointerCandidate {
    // A date in the future must not stay the newest forever.
    let written = topic.written.min(now);
    let used = uses.get(topic.path.as_str()).copied().unwrap_or(0);
    PointerCandidate {
        target: topic.target.clone(),
        line: pointer_line(&topic.title, &topic.target, &topic.description),
        worth: compute_worth(topic.importance, age_in_days(written, now), used),
        // The file's time orders topics of one moment.
        written: (written, topic.modified),
    }
}

/// Returns the worth of a pointer: importance, age and use count weigh alike,
/// each from 0 to 1. A month halves the part for age, three uses give half of
/// the part for use.
fn compute_worth(importance: u8, days: f64, uses: u64) -> f64 {
    let uses = uses as f64;
    f64::from(importance) / 10.0 + 30.0 / (30.0 + days) + uses / (uses + 3.0)
}

/// Returns the days between two moments as a fraction, never below 0.
pub(super) fn age_in_days(written: Timestamp, now: Timestamp) -> f64 {
    let seconds = now.as_second().saturating_sub(written.as_second()).max(0);
    seconds as f64 / 86_400.0
}

/// Returns how often each file was found, as far as an index knows.
fn read_use_counts(workspace: &Workspace) -> HashMap<String, u64> {
    // Without an index every use count is 0, and the order comes from
    // importance and age.
    let index = Index::open_read_only(&workspace.derived_folder())
        .ok()
        .flatten();
    let usage = index.and_then(|index| index.usage().ok());
    let of = |it: crate::index::FileUsage| (it.path, it.count);
    usage.unwrap_or_default().into_iter().map(of).collect()
}

/// Truncates a text to at most `most` characters, at a space if one is near.
fn truncate_chars(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => {
            let head = &text[..end];
            // Cuts at a space only if that keeps two thirds of the text.
            let word = head.rfind(' ').filter(|at| at * 3 > end * 2);
            let head = head[..word.unwrap_or(end)].trim_end_matches(['\\', ' ']);
            format!("{head}…")
        }
    }
}

/// An index with the pages behind it.
#[derive(Debug)]
struct PointerShelf {
    index: &'static str,
    /// The ending of the names of its pages.
    suffix: &'static str,
    private: bool,
}

const POINTER_SHELVES: [PointerShelf; 2] = [
    PointerShelf {
        index: POINTER_INDEX_FILE,
        suffix: ".md",
        private: false,
    },
    PointerShelf {
        index: PRIVATE_INDEX_FILE,
        suffix: workspace::PRIVATE_SUFFIX,
        private: true,
    },
];

/// The prefix of the names of pages.
const PAGE_NAME_PREFIX: &str = "MEMORY-more";

impl PointerShelf {
    /// Returns the file name of a page, counted from 1.
    fn page_name(&self, number: usize) -> String {
        match number {
            1 => format!("{PAGE_NAME_PREFIX}{}", self.suffix),
            _ => format!("{PAGE_NAME_PREFIX}-{number}{}", self.suffix),
        }
    }

    /// Lists the pages that exist, in their order.
    fn list_page_names(&self, workspace: &Workspace, home: &MemoryHome) -> Vec<String> {
        let names = workspace.markdown_files_in(home.folder().as_str());
        let number = |path: &RelPath| -> Option<usize> {
            let name = path.file_name();
            let middle = name
                .strip_prefix(PAGE_NAME_PREFIX)?
                .strip_suffix(self.suffix)?;
            match middle.strip_prefix('-') {
                None => middle.is_empty().then_some(1),
                Some(digits) => {
                    let number = digits.parse().ok()?;
                    // Only names that we generate: `MEMORY-more-01.md` belongs
                    // to the user.
                    (self.page_name(number) == name).then_some(number)
                }
            }
        };
        let mut numbers: Vec<usize> = names.iter().filter_map(number).collect();
        numbers.sort_unstable();
        numbers
            .iter()
            .map(|number| self.page_name(*number))
            .collect()
    }

    /// Returns the heading that each page begins with.
    fn page_title(&self) -> &'static str {
        "# More memories"
    }

    /// Renders the line that leads from the index to its pages.
    fn more_pages_line(&self, more: usize) -> String {
        let page = self.page_name(1);
        match more {
            0 => format!("- [More notes]({page}) — what did not fit here"),
            1 => format!("- [1 more memory]({page}) — look there when nothing here fits"),
            _ => format!("- [{more} more memories]({page}) — look there when nothing here fits"),
        }
    }

    /// Renders the line that leads from one page to the next.
    fn next_page_line(&self, number: usize) -> String {
        format!(
            "- [More memories]({}) — the next page",
            self.page_name(number)
        )
    }

    /// Returns `true` if a line is a generated one, whatever its number.
    fn is_generated_line(&self, text: &str, target: &str) -> bool {
        if !target.starts_with(PAGE_NAME_PREFIX) {
            return false;
        }
        let text = text.trim();
        let digits: String = text
            .chars()
            .skip_while(|c| !c.is_ascii_digit())
            .take_while(char::is_ascii_digit)
            .collect();
        let more = digits.parse().unwrap_or(0);
        let middle = target
            .strip_prefix(PAGE_NAME_PREFIX)
            .and_then(|rest| rest.strip_suffix(self.suffix))
            .and_then(|rest| rest.strip_prefix('-'));
        let number = middle.and_then(|digits| digits.parse().ok());
        text == self.more_pages_line(more)
            || number.is_some_and(|number| text == self.next_page_line(number))
    }

    /// Returns `true` if a file exists and is available to those who read this
    /// index.
    fn can_point_to(&self, workspace: &Workspace, home: &MemoryHome, target: &str) -> bool {
        let Ok(path) = home.folder().join(target) else {
            return false;
        };
        (self.private || !path.is_private())
            && workspace.absolute_path(&path).symlink_metadata().is_ok()
    }
}

#[cfg(test)]
mod tests;
